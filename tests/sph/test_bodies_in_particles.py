"""Bodies in a fluid of particles: lists that are kept, threads, joints, what forces are called, and what is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import undertow as ut
from undertow.solids.rigid_part import RigidPart
from undertow.sph import PERIODIC, WALL, ImplicitFluid, SphBox, SphFluid, SphSettings
from undertow.sph.neighbours import GHOST
from undertow.sph.part import SphPart


def make_scene(dimensions: int, resolution: int = 20, **changes: Any) -> ut.Scene:
    """A basin with a body that falls in and one that is moved about."""
    depth = (0.24,) * (dimensions - 2)
    mid = tuple(0.5 * d for d in depth)
    zero = (0.0,) * (dimensions - 2)
    objects: dict[str, Any] = {
        "water": ut.SphFluid(
            shape=ut.Box(size=(0.6, 0.18, *depth)), position=(0.3, 0.09, *mid), velocity=(0.3, 0.0, *zero)
        ),
        "ball": ut.RigidBody(
            shape=ut.Sphere(radius=0.05), position=(0.2, 0.26, *mid), density=900.0, velocity=(0.5, -1.0, *zero)
        ),
        "paddle": ut.RigidBody(
            shape=ut.Box(size=(0.06, 0.12, 0.2)), position=(0.45, 0.2, *mid),
            motion={"type": "velocity", "linear": [-0.5, 0.0, *zero], "angular": [0.0, 0.0, 4.0]},
        ),
    }  # fmt: skip
    values = {
        "name": "moving",
        "coupling": "direct_forcing",
        "domain": ut.Domain(
            upper=(0.6, 0.45, *depth), resolution=resolution, resolution_along="x", sides={"y_high": "open"}
        ),
        "time": ut.Time(end=0.2, frame_rate=20),
        "objects": {**objects, **changes.pop("objects", {})},
        **changes,
    }
    return ut.Scene(**values)


def missed_neighbours(fluid: Any) -> int:
    """Pairs within the kernel's radius, by brute force over all points as they are now, that no list holds."""
    spec, lists, count = fluid.points.spec, fluid.neighbours.spec, fluid.count
    place, label = spec.place[:count, :3], spec.label[:count]
    wet = (label >= 0) | (label == GHOST)
    missed = 0
    for i in np.flatnonzero(label != GHOST):
        near = np.linalg.norm(place - place[i], axis=1) < fluid.numbers.radius
        near[i] = False
        if label[i] < 0:
            near &= wet
        listed = lists.listed[lists.starts[i] : lists.starts[i + 1]]
        missed += len(np.setdiff1d(np.flatnonzero(near), listed))
    return missed


@pytest.mark.parametrize("dimensions", [2, 3])
def test_lists_that_are_kept_hold_all_neighbours_of_moving_bodies_and_fluid(dimensions: int) -> None:
    sim = ut.Simulation(make_scene(dimensions, 20 if dimensions == 2 else 16), threads=1)
    fluid: Any = sim.part(SphPart).fluid
    kept, moved, last = 0, 0.0, -1
    for n in range(60):
        sim.step()
        fluid.prepare()
        if fluid.rebuilds == last and n % 4 == 0:
            kept += 1
            spec = fluid.points.spec
            way = spec.place[: fluid.count, :3] - spec.origin - spec.built[:, : fluid.count].T
            moved = max(moved, float(np.abs(way).max()))
            assert missed_neighbours(fluid) == 0
        last = fluid.rebuilds
    assert kept >= 4 and fluid.rebuilds > 2 and moved > 1e-3 * fluid.spacing


def test_lists_that_are_kept_hold_all_neighbours_across_periodic_sides() -> None:
    dx = 0.05
    box = SphBox(
        np.array([0.0, 0.0, -dx / 2]), np.array([1.0, 1.0, dx / 2]), dx, 2, (PERIODIC, PERIODIC, WALL, WALL, WALL, WALL)
    )
    fluid = SphFluid(box, SphSettings(sound_speed=20.0, viscosity=1.0, gravity=(0.0, 0.0, 0.0)))
    fluid.add_fluid(box.lattice(), np.array([1.0, 0.0, 0.0]))
    fluid.begin()
    rows = fluid.fluid_rows()
    fluid.points.spec.motion[rows, 1] = 0.5 * np.sin(2 * np.pi * fluid.points.spec.place[rows, 0])
    kept, last = 0, -1
    for n in range(80):
        fluid.step(min(fluid.limits().values()))
        fluid.prepare()
        if fluid.rebuilds == last and n % 5 == 0:
            kept += 1
            assert missed_neighbours(fluid) == 0
        last = fluid.rebuilds
    assert kept >= 4


def test_bits_with_bodies_do_not_depend_on_the_number_of_threads(handed_over: list[str]) -> None:
    answers = []
    for threads in (1, 2):
        sim = ut.Simulation(make_scene(3, 12, time=ut.Time(end=0.2, frame_rate=20)), threads=threads)
        numba.set_num_threads(threads)
        for _ in range(40):
            sim.step()
        assert sim.scheme.forcing.contacts > 0  # type: ignore[attr-defined]
        answers.append({name: np.array(array) for name, array in sim.arrays().items()})
    assert {"_measure_distances", "_sum_forces", "_sum_reactions", "_fill_neighbours"} <= set(handed_over)
    for name, array in answers[0].items():
        assert np.array_equal(array, answers[1][name]), name


def test_a_weight_on_a_joint_under_water_hangs_with_its_weight_less_its_buoyancy() -> None:
    """The joint's force, and the forces of the fluid by their names: pressure, viscous and control forces."""
    scene = make_scene(2, 24, objects={
        "water": ut.SphFluid(shape=ut.Box(size=(0.6, 0.3)), position=(0.3, 0.15)),
        "ball": ut.RigidBody(shape=ut.Box(size=(0.15, 0.1, 1.0)), position=(0.3, 0.15), density=2500.0),
        "paddle": ut.RigidBody(shape=ut.Box(size=(0.05, 0.05, 1.0)), position=(0.05, 0.4)),
        "pin": ut.Joint(kind="hinge", child="ball", position=(0.3, 0.2)),
    })  # fmt: skip
    sim = ut.Simulation(scene, threads=1)
    forcing: Any = sim.scheme.forcing  # type: ignore[attr-defined]
    sim.advance_to(0.3)
    rows, joints = [], []
    while sim.time < 0.5:
        sim.step()
        found = sim.body_forces("ball")
        rows.append((found.pressure[1], found.viscous[1], found.control[1], found.fluid[1]))
        joints.append(found.joint[1])
    pressure, viscous, control, fluid = np.mean(rows, axis=0)
    volume = 0.15 * 0.1
    assert fluid == pytest.approx(pressure + viscous + control) and viscous == 0.0
    assert fluid == pytest.approx(1000.0 * 9.81 * volume, rel=0.1)
    assert np.mean(joints) == pytest.approx(1500.0 * 9.81 * volume, rel=0.1)
    assert np.abs(sim.part(RigidPart).joints.errors()).max() < 1e-8
    assert not forcing.unfinished_rounds and forcing.rounds > 1


def test_control_forces_are_a_column_of_their_own(tmp_path: Path) -> None:
    run = ut.Simulation(make_scene(2, 20, time=ut.Time(end=0.1, frame_rate=20)), threads=1).run(out=tmp_path / "run")
    table = run.bodies
    ball = np.array(table["body"]) == "ball"
    control = np.array(table["force_control_y"], dtype=float)[ball]
    assert (control > 0).any()
    ledger = run.ledger
    assert {"forcing_contacts", "dropped_contacts", "unfinished_rounds", "unfinished_turns"} <= set(ledger)
    assert max(ledger["forcing_contacts"]) > 0


def test_rounds_that_do_not_agree_are_counted_and_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from undertow.validation.sph_contact.case import make_scene as make_stack

    monkeypatch.setattr("undertow.coupling.direct_forcing.ROUNDS", 2)
    sim = ut.Simulation(make_stack(18), threads=1)
    reports = [sim.step() for _ in range(30)]
    assert sum(report.ledger["unfinished_rounds"] for report in reports) > 1
    said = [event for report in reports for event in report.events if "rounds" in event]
    assert len(said) == 1 and "the ledger counts" in said[0]
    assert reports[-1].ledger["disagreement"] > 0


def test_particles_that_nothing_can_free_are_counted_and_said() -> None:
    """Two prescribed plates close in on a particle: no velocity suits both."""
    moving = {"type": "velocity", "linear": [0.0, 0.2]}
    falling = {"type": "velocity", "linear": [0.0, -0.2]}
    objects = {
        "water": ut.SphFluid(shape=ut.Box(size=(0.024, 0.024)), position=(0.315, 0.165)),
        "ball": ut.RigidBody(shape=ut.Box(size=(0.12, 0.03, 1.0)), position=(0.315, 0.125), motion=moving),
        "paddle": ut.RigidBody(shape=ut.Box(size=(0.12, 0.03, 1.0)), position=(0.315, 0.205), motion=falling),
    }
    sim = ut.Simulation(make_scene(2, 20, gravity=(0.0, 0.0), objects=objects), threads=1)
    assert sim.part(SphPart).fluid.totals.particles == 1
    events: list[str] = []
    while sim.time < 0.12 and not events:
        report = sim.step()
        events += report.events
    assert "squeeze fluid that cannot get away" in events[0] and report.ledger["unfinished_turns"] == 1.0


def test_a_pressure_solve_that_stops_at_its_limit_is_counted_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("undertow.sph.implicit.MOST_SWEEPS", 2)
    sim = ut.Simulation(make_scene(2, 20, sph=ut.Sph(method="iisph")), threads=1)
    reports = [sim.step() for _ in range(12)]
    assert isinstance(sim.part(SphPart).fluid, ImplicitFluid)
    assert sum(report.ledger["pressure_unconverged"] for report in reports) > 1
    said = [event for report in reports for event in report.events if "pressure solve" in event]
    assert len(said) == 1 and reports[-1].ledger["density_error"] > 1e-3 and reports[-1].ledger["sweeps"] == 2


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_source_gives_area_times_speed(dimensions: int) -> None:
    """Particles per second: section x speed / spacing^d, where nothing is in the way."""
    width, speed, end = 0.12, 1.5, 0.25
    size, depth = (0.06, width, width)[:dimensions], (0.12,) * (dimensions - 2)
    no_depth = (0.0,) * (dimensions - 1)
    source = ut.WaterSource(shape=ut.Box(size=size), position=(0.1, 0.3, *depth), velocity=(speed, *no_depth))
    scene = make_scene(dimensions, 20, gravity=(0.0, *no_depth), objects={
        "water": ut.SphFluid(shape=ut.Box(size=(0.06, 0.06, 0.06)[:dimensions]), position=(0.5, 0.06, *depth)),
        "tap": source,
    })  # fmt: skip
    scene = scene.model_copy(update={"objects": {name: scene.objects[name] for name in ("water", "tap")}})
    sim = ut.Simulation(scene, threads=1)
    fluid: Any = sim.part(SphPart).fluid
    before = fluid.totals.particles
    sim.advance_to(end)
    layer = width ** (dimensions - 1) / fluid.spacing ** (dimensions - 1)
    expected = layer * speed * end / fluid.spacing
    assert abs(fluid.totals.particles - before - expected) <= layer * 1.001
    assert fluid.lost == 0


def test_a_force_probe_tells_the_force_of_the_particles() -> None:
    from undertow.run.ledger import probe_rows

    sim = ut.Simulation(make_scene(2, 20, probes={"pull": ut.ForceProbe(objects=("ball",))}), threads=1)
    sim.advance_to(0.1)
    found = {str(row[4]): row[5] for row in probe_rows(sim)}
    assert [found[f"force_{axis}"] for axis in "xyz"] == list(sim.body_forces("ball").fluid)
    assert float(found["force_y"]) > 1.0
