"""Every public method and property of a simulation answers in every kind of scene, or says in words why it cannot."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.solids.rigid_part import RigidPart
from undertow.solids.soft_part import SoftPart

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "frozen"))

from frozen_scenes import SCENES  # noqa: E402

KINDS = (
    "smoke", "tank-contact", "tank-soft-contact", "water-sources", "water-bodies", "water-rigid-fluid", "water-soft",
    "solids", "soft", "wcsph",
)  # fmt: skip


def _still(x: Any, y: Any, z: Any) -> tuple[Any, Any, Any]:
    return 0.0 * x, 0.0 * y, 0.0 * z


CALLS: dict[str, Callable[[ut.Simulation, Path], Any]] = {
    "add": lambda sim, _: sim.add("more", ut.RigidBody(shape=ut.Sphere(radius=0.01), position=[9.0] * 2, density=1.0)),
    "advance_to": lambda sim, _: sim.advance_to(sim.time + 1e-4),
    "arrays": lambda sim, _: sim.arrays(),
    "at_frame": lambda sim, _: sim.at_frame,
    "body": lambda sim, _: [sim.body(name) for _, name in sim.solids()],
    "body_forces": lambda sim, _: [sim.body_forces(name) for _, name in sim.solids()],
    "break_body": lambda sim, _: sim.break_body(next(iter(sim.bodies.entries), "none"), [0.0] * 2, [1.0, 0.0]),
    "checkpoint": lambda sim, _: sim.checkpoint(),
    "contacts": lambda sim, _: sim.contacts().of("floor"),
    "exchange": lambda sim, _: sim.exchange([], []),
    "field": lambda sim, _: [sim.field(name) for name in ("velocity", "pressure", "density")],
    "flow": lambda sim, _: sim.flow.state,
    "frame_data": lambda sim, _: sim.frame_data(),
    "grid": lambda sim, _: sim.grid,
    "joint": lambda sim, _: [sim.joint(name).coordinate for name in sim.scene.joints] or sim.joint("none"),
    "next_frame_time": lambda sim, _: sim.next_frame_time(),
    "nodes": lambda sim, _: [sim.nodes(name) for name in sim.scene.softs] or sim.nodes("none"),
    "part": lambda sim, _: [sim.part(type(part)) for part in sim.parts],
    "particles": lambda sim, _: sim.particles,
    "remake": lambda sim, _: sim.remake(sim.bodies.copy()),
    "remove": lambda sim, _: sim.remove(next(iter(sim.scene.bodies), "none")),
    "replace_body": lambda sim, _: sim.replace_body(next(iter(sim.bodies.entries), "none"), color=(1.0, 0.0, 0.0)),
    "restore": lambda sim, _: sim.restore(sim.checkpoint()),
    "run": lambda sim, folder: None,  # whole runs have tests of their own
    "wall_pressure": lambda sim, _: sim.wall_pressure([[0.5, 0.0]], [0.0, 1.0]),
    "sample": lambda sim, _: [sim.sample(name, [[0.5, 0.2]]) for name in ("velocity", "pressure", "density")],
    "save": lambda sim, folder: sim.save(folder / f"{sim.step_count}.h5"),
    "set_velocity": lambda sim, _: sim.set_velocity(_still),
    "solids": lambda sim, _: sim.solids(),
    "state": lambda sim, _: sim.state,
    "step": lambda sim, _: sim.step(),
    "steps": lambda sim, _: list(sim.steps(until=sim.time + 1e-4)),
    "surface": lambda sim, _: sim.surface(),
    "waters": lambda sim, _: [water.volume for water in sim.waters()] or sim.waters(),
}


def test_every_public_name_is_called() -> None:
    public = {name for name in dir(ut.Simulation) if not name.startswith("_")}
    assert set(CALLS) == public


@pytest.mark.parametrize("kind", KINDS)
def test_it_answers(kind: str, tmp_path: Path) -> None:
    sim = ut.Simulation(ut.Scene(name=kind, **SCENES[kind]), threads=1)
    sim.step()
    for name, call in CALLS.items():
        try:
            call(sim, tmp_path)
        except ut.UserError as error:
            assert ";" in str(error) or ":" in str(error), f"{name}: {error}"  # what, and what to do about it
    row = sim.step().ledger
    assert np.isfinite(list(row.values())).all()
    assert all(name in sim.ledger.units for name in row)


def test_a_part_is_found_by_its_type_or_those_that_there_are_are_named() -> None:
    sim = ut.Simulation(ut.Scene(name="bodies", **SCENES["solids"]))
    assert sim.part(RigidPart) is sim.parts[0]
    with pytest.raises(ut.UserError, match="bodies: the simulation has no SoftPart; its parts are RigidPart, RigidSch"):
        sim.part(SoftPart)


def test_water_starts_from_the_velocity_that_is_set() -> None:
    scene = ut.Scene(name="pool", **SCENES["water-sources"])
    sim = ut.Simulation(scene)
    sim.set_velocity(lambda x, y, z: (0.3 + 0.0 * x, 0.0 * y, 0.0 * z))
    phi = sim.field("level_set")
    inside = phi < -2.0 * sim.flow.grid.dx
    inside[..., :2] = inside[..., -2:] = False  # walls stop what runs into them
    x = sim.flow.grid.cell_centres()[0]
    inside &= np.abs(x - sim.body("paddle").position[0]) > 0.2  # and so does the paddle, which is a thin plate
    assert inside.any() and np.allclose(sim.field("velocity")[0][inside], 0.3)


def test_fields_of_particles_are_those_of_the_fluid() -> None:
    """A linear field of the particles is itself in between, and a fluid at rest has its density."""
    sim = ut.Simulation(ut.Scene(name="particles", **SCENES["wcsph"]))
    particles = sim.particles
    middle = np.median(particles.position, axis=0)
    inside = particles.position[np.linalg.norm(particles.position - middle, axis=1) < 2.0 * particles.spacing]
    assert sim.sample("density", inside) == pytest.approx(np.full(len(inside), 1000.0), rel=0.05)
    assert np.isnan(sim.sample("velocity", [[50.0, 50.0]])).all() and sim.sample("density", [[50.0, 50.0]]) == [0.0]
    assert len(sim.field("pressure")) == len(particles.position)
