"""Scenes of the thesis in which bodies break, at a small size: what breaks, where, and what is kept."""

from __future__ import annotations

import numpy as np

import undertow as ut
from undertow.scene.gallery import bunny_shatter, table_1000_spheres, wall_realistic
from undertow.solids.rigid_part import RigidPart


def volumes(sim: ut.Simulation, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Masses (n,) and places (n, 3) of the pieces of a body."""
    bodies = sim.part(RigidPart).bodies
    own = [b for b, one in enumerate(bodies.names) if one.startswith(f"{name}/")]
    return bodies.mass_b[own], bodies.x_b[own]


def test_panes_break_finest_where_they_are_hit() -> None:
    """wall-realistic: pieces near the blow are smaller, of three walls; the fourth stays, its ball does not."""
    sim = ut.Simulation(wall_realistic.make_scene(), threads=1)
    while not (report := sim.step()).broken:
        assert sim.time < 0.2
    assert sorted(one.name for one in report.broken) == ["ball-4", "wall-1", "wall-2", "wall-3"]
    for one in report.broken:
        if one.name == "ball-4":
            continue
        mass, place = volumes(sim, one.name)
        assert abs(mass.sum() - 1800.0 * 0.15) < 1e-6
        away = np.linalg.norm((place - one.point)[:, :2], axis=1)
        assert np.median(mass[away < 0.25]) < 0.35 * np.median(mass[away > 0.5])
    assert "wall-4" in sim.bodies


def test_a_rabbit_shatters_into_35_pieces() -> None:
    """bunny-shatter: as many as in the thesis, by a tenth; they weigh as much as it, and gain no energy."""
    sim = ut.Simulation(bunny_shatter.make_scene(), threads=1)
    bodies = sim.part(RigidPart).bodies
    mass, before = bodies.mass_b.sum(), sim.ledger.row()
    while not (report := sim.step()).broken:
        assert sim.time < 0.3
    assert abs(report.broken[0].pieces - 35) <= 4
    assert abs(bodies.mass_b.sum() - mass) < 1e-9 * mass
    assert report.ledger["energy"] < before["energy"] * (1.0 + 1e-9)


def test_spheres_shatter_on_a_table_and_the_table_under_a_large_one() -> None:
    """table-1000-spheres with two: all of it breaks, nothing is lost, and nothing lies below the ground."""
    sim = ut.Simulation(table_1000_spheres.make_scene(2, pieces=6, table_pieces=10), threads=1)
    bodies = sim.part(RigidPart).bodies
    mass = bodies.mass_b.sum()
    broken: set[str] = set()
    while sim.time < 1.0:
        broken |= {one.name for one in sim.step().broken}
    assert {"sphere-0000", "sphere-0001", "table"} <= broken
    assert abs(bodies.mass_b.sum() - mass) < 1e-9 * mass
    assert bodies.x_b[bodies.mass_b > 0.0, 1].min() > -0.01


def test_a_bottle_that_falls_breaks_and_spills() -> None:
    """bottle-drop, with walls of one cell: it breaks when it lands, and its water runs out to both sides."""
    sim = ut.Simulation(ut.scene("bottle-drop", resolution=40), threads=1)
    landed = 0.0
    while sim.time < 0.3:
        broken = sim.step().broken
        landed = landed or sim.time * bool(broken)
    assert 0.05 < landed < 0.12
    across = np.linspace(0.02, 1.18, 59)
    wet = across[sim.sample("level_set", np.column_stack([across, np.full(59, 0.03)])) < 0.0]
    assert wet.min() < 0.49 and wet.max() > 0.71
