"""Bodies appear, vanish and change during a run, in every kind of scene, and a run that is resumed goes on by bits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.solids.rigid_part import RigidPart

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "frozen"))

from frozen_scenes import SCENES  # noqa: E402

KINDS: dict[str, tuple[tuple[float, ...], str]] = {
    "smoke": ((0.75, 0.95), "disc"),
    "second-order": ((0.75, 0.75), ""),
    "tank-contact": ((0.2, 0.8), "left"),
    "tank-3d": ((0.8, 0.2, 0.8), ""),
    "tank-viscous": ((0.2, 0.8), ""),
    "tank-two-solves": ((0.2, 0.8), ""),
    "tank-joints": ((0.15, 0.15), ""),
    "tank-lumped": ((0.2, 0.8), ""),
    "tank-volume-fraction": ((0.2, 0.8), ""),
    "water-sources": ((0.2, 0.2), ""),
    "water-bodies": ((0.2, 0.85), ""),
    "water-viscous-joint": ((0.2, 0.2), ""),
    "water-lumped": ((0.15, 0.3), ""),
    "water-rigid-fluid": ((0.15, 0.2), ""),
    "solids": ((3.0, 1.0, 0.0), ""),
    "solids-joints": ((5.0, 1.0, 0.0), ""),
    "soft": ((3.0, 1.0, 0.0), ""),
    "attached": ((3.0, 1.0, 0.0), ""),
    "tank-soft": ((0.15, 0.85), ""),
    "tank-soft-contact": ((0.15, 0.85), ""),
    "tank-soft-attached": ((0.15, 0.85), ""),
    "tank-shell-smoke": ((0.15, 0.85), ""),
    "water-soft": ((0.15, 0.85), ""),
    "water-shell": ((0.15, 0.85), ""),
    "wcsph": ((0.2, 0.2), ""),
    "wcsph-penalty-3d": ((0.5, 0.6, 0.5), ""),
    "iisph": ((0.47, 0.15), ""),
}
"""Frozen scenes: where a body appears, and which one vanishes (else the first)."""


def make(kind: str) -> ut.Scene:
    return ut.Scene(name=kind, **SCENES[kind])


def body(kind: str, **values: Any) -> ut.RigidBody:
    """A ball that the fluid of a scene moves, or that does not move where nothing does."""
    scene, place = make(kind), KINDS[kind][0][: make(kind).dimensions]
    density = 500.0 if scene.has_surface or scene.sph_fluids else 2.0
    dynamic = {"density": density} if scene.domain is None or scene.coupling != "none" else {}
    return ut.RigidBody(**{"shape": ut.Sphere(radius=0.09), "position": place, **dynamic, **values})


def same(one: ut.Simulation, other: ut.Simulation) -> None:
    assert one.arrays().keys() == other.arrays().keys() and one.time == other.time
    for name, array in one.arrays().items():
        assert np.asarray(array).tobytes() == np.asarray(other.arrays()[name]).tobytes(), name
        assert name == "joints_target" or np.isfinite(np.asarray(array, dtype=float)).all(), name


def step(sim: ut.Simulation, count: int = 2) -> list[ut.StepReport]:
    return [sim.step() for _ in range(count)]


@pytest.mark.parametrize("kind", KINDS)
def test_bodies_appear_and_vanish_and_a_resumed_run_goes_on_by_bits(kind: str, tmp_path: Path) -> None:
    scene = make(kind)
    sims = [ut.Simulation(scene, threads=threads) for threads in (1, 2)]
    vanishing = KINDS[kind][1] or next(iter(scene.bodies), "late")
    for sim in sims:
        step(sim)
        sim.add("late", body(kind))
        assert sim.bodies.revision == 1 and sim.bodies["late"].origin == "run"
    same(*sims)
    sims[0].save(tmp_path / "added.h5")
    loaded = ut.load(tmp_path / "added.h5", threads=1)
    same(loaded, sims[0])
    for sim in (*sims, loaded):
        step(sim)
        sim.remove(vanishing)
        assert sim.bodies.revision == 2 and vanishing not in sim.bodies
    sims[0].save(tmp_path / "removed.h5")
    again = ut.load(tmp_path / "removed.h5", threads=2)
    for sim in (*sims, loaded, again):
        reports = step(sim)
        assert np.isfinite(list(reports[-1].ledger.values())).all()
        assert list(reports[-1].ledger) == list(ut.Simulation(scene, threads=1).ledger.units)
    same(*sims)
    same(sims[0], loaded)
    same(sims[0], again)


def test_a_body_added_before_the_first_step_is_one_of_the_scene() -> None:
    """Solids alone by bits; in the air above water to the tolerance of the solve, 1e-10 here."""
    for kind, close in (("solids", 0.0), ("water-bodies", 1e-8)):
        scene = make(kind)
        there = ut.Simulation(scene.replace("objects.late", {**body(kind).model_dump(exclude_none=True)}), threads=1)
        added = ut.Simulation(scene, threads=1)
        added.add("late", body(kind))
        for sim in (there, added):
            step(sim, 3)
        for name in ("late", *scene.bodies):
            difference = np.abs(there.body(name).position - added.body(name).position).max()
            assert difference <= close, (kind, name, difference)


def test_what_bodies_bring_and_displace_is_in_the_ledger() -> None:
    sim = ut.Simulation(make("water-bodies"), threads=1)
    start = sim.step().ledger["fluid_volume"]
    sim.add("late", body("water-bodies", position=(0.2, 0.2), density=2000.0, velocity=(0.5, 0.0)))
    report = sim.step()
    area = np.pi * 0.09**2
    assert report.ledger["displaced_volume"] > 0.0
    assert report.ledger["appeared_mass"] == pytest.approx(2000.0 * area, rel=1e-9)
    assert report.ledger["appeared_momentum_x"] == pytest.approx(1000.0 * area, rel=1e-9)
    assert report.ledger["fluid_volume"] + report.ledger["displaced_volume"] == pytest.approx(start, rel=0.01)
    assert "objects.late appeared at t = 0.02 s, mass" in report.events[0] and "displaced" in report.events[0]
    taken = 2000.0 * area * sim.body("late").velocity
    sim.remove("late")
    ledger = sim.step().ledger
    assert ledger["appeared_mass"] == pytest.approx(0.0, abs=1e-9)
    assert ledger["appeared_momentum_x"] == pytest.approx(1000.0 * area - taken[0], rel=1e-9)
    # a hole of air: water is neither made nor lost
    assert abs(ledger["displaced_volume"] - report.ledger["displaced_volume"]) < 0.1 * area
    assert ledger["fluid_volume"] + ledger["displaced_volume"] == pytest.approx(start, rel=0.01)


def test_the_displaced_volume_is_that_of_the_body_to_second_order() -> None:
    errors = []
    for cells in (16, 32):
        sim = ut.Simulation(make("water-bodies").replace("domain.resolution", cells), threads=1)
        sim.add("late", body("water-bodies", position=(0.2, 0.2)))
        errors.append(1.0 - sim.flow.displaced_volume / (np.pi * 0.09**2))
    assert 0.0 < errors[1] < 0.06 and np.log2(errors[0] / errors[1]) > 1.8


def test_a_changed_body_keeps_its_place_and_its_momenta(tmp_path: Path) -> None:
    sim = ut.Simulation(make("solids"), threads=1)
    step(sim)
    before, momenta = sim.body("top"), sim.part(RigidPart).momenta_of("top")
    assert momenta is not None
    sim.replace_body("top", density=1600.0, color=(0.0, 1.0, 0.0))
    after = sim.body("top")
    assert np.allclose(before.position, after.position, atol=1e-14)
    assert np.allclose(after.velocity, 0.5 * before.velocity, rtol=1e-12)
    assert np.array_equal(momenta, sim.part(RigidPart).momenta_of("top"))
    assert sim.bodies["top"].origin == "run" and sim.bodies["top"].identity == 4
    sim.save(tmp_path / "changed.h5")
    other = ut.load(tmp_path / "changed.h5", threads=1)
    for each in (sim, other):
        step(each)
    same(sim, other)


def test_a_simulation_goes_back_to_a_checkpoint_with_other_bodies() -> None:
    sim, plain = ut.Simulation(make("tank-contact"), threads=1), ut.Simulation(make("tank-contact"), threads=1)
    step(sim, 1)
    checkpoint = sim.checkpoint()
    sim.remove("left")
    step(sim, 1)
    sim.restore(checkpoint)
    step(sim, 1)
    step(plain)
    same(sim, plain)


def test_mistakes_name_the_body_the_rule_and_the_remedy() -> None:
    sim = ut.Simulation(make("tank-soft"), threads=1)
    ball = body("tank-soft")
    with pytest.raises(ut.UserError, match="body 'disc': the scene has an object of that name; choose another"):
        sim.add("disc", ball)
    with pytest.raises(ut.UserError, match="objects.heavy and objects.late overlap by .* m at t = 0 s, too deep to be"):
        sim.add("late", ball.model_copy(update={"position": (0.75, 0.55)}))
    with pytest.raises(ut.UserError, match="body 'none': no such solid; the solids are heavy, disc"):
        sim.remove("none")
    with pytest.raises(ut.UserError, match="'disc': is no rigid body; only these are removed during a run"):
        sim.remove("disc")
    with pytest.raises(ut.UserError, match="objects.heavy: a rigid body has no 'weight'; its keys are"):
        sim.replace_body("heavy", weight=3.0)
    assert sim.bodies.revision == 0 and "late" not in sim.bodies
