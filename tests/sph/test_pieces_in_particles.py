"""Bodies that break among particles: pieces of any thickness are there from their first step, and nothing is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.geometry import Box, Solid, Sphere, Static
from undertow.solids.rigid_part import RigidPart
from undertow.sph import boundary_volumes, lattice_sums, sample_piece
from undertow.sph.part import SphPart

METHODS = ("wcsph", "iisph")


def basin(method: str, more: dict[str, Any] | None = None, **rule: Any) -> ut.Scene:
    """A block in water, which breaks into pieces of less than a particle."""
    block = ut.RigidBody(
        shape=ut.Box(size=(0.14, 0.08)), position=(0.3, 0.16), density=700.0, velocity=(0.2, -0.3),
        angular_velocity=(0.0, 0.0, 1.0), fracture={"pattern": "voronoi", "pieces": 14, "strength": 1e9, **rule},
    )  # fmt: skip
    return ut.Scene(
        name="basin", coupling="direct_forcing", sph=ut.Sph(method=method),
        domain=ut.Domain(upper=(0.6, 0.4), resolution=20, resolution_along="x", sides={"y_high": "open"}),
        time=ut.Time(end=0.2, frame_rate=20),
        objects={
            "water": ut.SphFluid(shape=ut.Box(size=(0.6, 0.18)), position=(0.3, 0.09)), "block": block, **(more or {})
        },
    )  # fmt: skip


def momentum(sim: ut.Simulation) -> np.ndarray:
    """Of particles and solids [kg m/s], and about z [kg m2/s]."""
    row = sim.ledger.row()
    return np.array([row[name] + row[f"{name[:-2]}_solids{name[-2:]}"] for name in
                     ("momentum_x", "momentum_y", "angular_momentum_z")])  # fmt: skip


def energy(sim: ut.Simulation) -> float:
    """Kinetic, of particles and solids [J/m]."""
    row = sim.ledger.row()
    return row["kinetic_energy"] + row["kinetic_energy_solids"]


def leaked(sim: ut.Simulation) -> int:
    """Particles that are in a piece, by more than a tenth of one."""
    fluid, rigid, count = sim.part(SphPart).fluid, sim.part(RigidPart), 0
    for entry in rigid.table:
        pose = Static(*rigid.bodies.shape_pose(rigid.bodies.index(entry.name)))
        solid = Solid(entry.name, entry.description.shape, pose)
        count += int((solid.distance(fluid.positions(), 0.0, 2) < -0.1 * fluid.spacing).sum())
    return count


@pytest.mark.parametrize("method", METHODS)
def test_a_body_that_breaks_among_particles_loses_no_momentum_and_no_particle(method: str, tmp_path: Path) -> None:
    sim, whole = (ut.Simulation(basin(method), threads=1) for _ in range(2))
    for _ in range(3):
        sim.step()
    begun = energy(sim)
    before, count = momentum(sim), sim.ledger.row()["particles"]
    broken = sim.break_body("block", at=(0.3, 0.2), along=(0.0, -1.0))
    thinnest = min(entry.description.shape.thickness(2) for entry in sim.bodies)
    assert broken.pieces > 6 and thinnest < 0.5 * sim.part(SphPart).fluid.spacing
    assert momentum(sim) == pytest.approx(before, abs=1e-12 * np.abs(before).max())
    sim.save(tmp_path / "broken.h5")
    other = ut.load(tmp_path / "broken.h5", threads=1)
    for one in (sim, other):
        for _ in range(2):
            one.step()
    for name, array in sim.arrays().items():
        assert np.asarray(array).tobytes() == np.asarray(other.arrays()[name]).tobytes(), name
    sim.advance_to(0.1)
    row = sim.ledger.row()
    assert row["particles"] == count and row["lost_particles"] == 0 and row["displaced_volume"] == 0.0
    assert leaked(sim) == 0
    # the fluid feels the old surface as before: it takes no energy from the event, and moves as around the whole body
    whole.advance_to(0.1)
    assert energy(sim) == pytest.approx(energy(whole), abs=0.02 * begun)


def test_the_load_of_particles_breaks_a_wall() -> None:
    """A block of water strikes a wall that stands on the floor; where it does not, the wall is whole."""
    wall = ut.RigidBody(
        shape=ut.Box(size=(0.035, 0.2)), position=(0.45, 0.101), mass=4.0,
        fracture={"pattern": "voronoi", "pieces": 10, "strength_force": 400.0, "strength_time": 0.01, "smallest": 0.02},
    )  # fmt: skip
    water = ut.SphFluid(shape=ut.Box(size=(0.24, 0.18)), position=(0.12, 0.09), velocity=(2.5, 0.0))
    scene = basin("wcsph").replace("objects.block", wall).replace("objects.water", water)
    sim = ut.Simulation(scene, threads=1)
    count, broken = sim.ledger.row()["particles"], []
    while sim.time < 0.13:
        broken += sim.step().broken
    assert len([one for one in broken if one.name == "block"]) == 1 and broken[0].by == "the fluid"
    assert broken[0].force > 400.0
    assert sim.ledger.row()["particles"] == count and leaked(sim) == 0


def test_small_pieces_among_particles_are_debris() -> None:
    sim = ut.Simulation(basin("wcsph", smallest=0.03), threads=1)
    before = momentum(sim)
    broken = sim.break_body("block", at=(0.3, 0.2), along=(0.0, -1.0))
    assert broken.debris > 0
    assert momentum(sim) == pytest.approx(before, abs=1e-12 * np.abs(before).max())
    for _ in range(5):
        sim.step()
    assert leaked(sim) == 0


@pytest.mark.parametrize("dimensions", [2, 3])
def test_thin_and_small_pieces_have_boundary_particles_in_their_middle(dimensions: int) -> None:
    spacing = 0.02
    plate = Solid("plate", Box((0.2, 0.005, 0.2)), Static(np.array([0.1, 0.2, 0.0]), np.eye(3)))
    points = sample_piece(plate, spacing, dimensions)[0]
    assert (plate.distance(points, 0.0, dimensions) <= 1e-12).all()
    # in 3D one layer for both faces, as points that are nearer than the spacing are thinned out
    assert 10 ** (dimensions - 1) <= len(points) <= 2.2 * 10 ** (dimensions - 1)
    # those of both faces meet in the middle: together they count as one layer
    inner = np.abs(points[:, ::2] - (0.1, 0.0)).max(axis=1) < 0.06
    assert np.abs(points[inner, 1] - 0.2).max() < 0.2 * 0.005
    own = boundary_volumes(points, spacing, dimensions, is_piece=True).sum()
    area = own / (lattice_sums(dimensions).wall * spacing)
    assert 0.9 * 0.2 ** (dimensions - 1) < area < 1.1 * (0.2 + spacing) ** (dimensions - 1)
    crumb = Solid("crumb", Sphere(0.002), Static(np.array([0.1, 0.2, 0.0]), np.eye(3)))
    points = sample_piece(crumb, spacing, dimensions)[0]
    assert len(points) == 1 and crumb.distance(points, 0.0, dimensions) < 0.0
