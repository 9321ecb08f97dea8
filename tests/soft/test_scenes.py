"""Soft scenes of the gallery, small: each by what its physics says, and the creatures by their own control."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.errors import UserError
from undertow.scene import find_scene
from undertow.scene.gallery import armadillo_drop, chain_twist, fish_flop, maggot, pile_1600, snake, tori_pile
from undertow.solids.rigid_part import RigidPart
from undertow.solids.soft_part import SoftPart


def _mass(sim: ut.Simulation) -> float:
    """All that can move [kg]."""
    inverse = sim.part(RigidPart).bodies.inv_mass_b
    return float((1.0 / inverse[inverse > 0]).sum() + sim.part(SoftPart).soft.mass.sum())


def _flop(scene: ut.Scene, name: str, end: float) -> tuple[float, float, float]:
    """(Largest error of the momentum in any step over all that the ground gives, highest speed upwards of the centre
    in the second half, when it has landed [m/s], how far it went over the ground [m])."""
    sim = ut.Simulation(scene, threads=1)
    weight = np.array([0.0, -9.81 * _mass(sim), 0.0])
    given, fastest, error = np.zeros(3), 0.0, 0.0
    start = sim.body(name).position
    while sim.time < end - 1e-9:
        time = sim.time
        row = sim.step().ledger
        # what the ground feels is what it gives, turned round
        given -= (sim.time - time) * sim.body("ground").contact_force
        fastest = max(fastest, float(sim.body(name).velocity[1])) if sim.time > 0.5 * end else 0.0
        momentum = np.array([row[f"momentum_{axis}"] for axis in "xyz"])
        error = max(error, float(np.abs(momentum - given - sim.time * weight).max()))
    way = float(np.linalg.norm((sim.body(name).position - start)[[0, 2]]))
    return error / float(np.linalg.norm(given)), fastest, way


def test_a_fish_throws_itself_up_by_its_joints_alone() -> None:
    """Its momentum is what gravity and the ground give it at all times, since the flesh on the bones is part of their
    mass in the joints; without control it stays where it falls."""
    error, fastest, _ = _flop(fish_flop.make_scene(resolution=10), "fish", 0.45)
    assert error < 3e-4
    _, limp, _ = _flop(fish_flop.make_scene(resolution=10, amplitude=0.0), "fish", 0.45)
    assert fastest > 0.25 and limp < 0.3 * fastest


def test_a_maggot_wriggles_by_its_joints_alone() -> None:
    error, _, way = _flop(maggot.make_scene(resolution=2), "maggot", 0.4)
    assert error < 3e-4 and way > 0.008


def test_a_snake_moves_by_its_joints_alone() -> None:
    """Part of a snake, for part of a period: its centre goes where the ground pushes it, and nowhere when it is
    limp."""
    found = []
    for amplitude in (1.0, 0.0):
        scene = snake.make_scene(joints=4, resolution=2, amplitude=amplitude)
        time = scene.time.model_copy(update={"max_step": 1 / 120})
        found.append(_flop(scene.model_copy(update={"time": time}), "skin", 0.15))
    (error, _, way), (_, _, limp) = found
    assert error < 1e-6 and way > 8e-4 and limp < 0.03 * way


def test_a_chain_hangs_from_its_ends() -> None:
    """A soft ring linked with two rigid ones falls until it hangs on them, and no farther."""
    sim = ut.Simulation(chain_twist.make_scene(resolution=2, links=3, end=400.0), threads=1)
    start, heights = sim.body("link-1").position[1], []
    while sim.time < 0.25:
        sim.step()
        heights.append(start - sim.body("link-1").position[1])
    ends = [float(sim.body(name).contact_force[1]) for name in ("link-0", "link-2")]
    assert 0.01 < max(heights) < 0.12
    assert max(ends) < 0.0


def test_a_pile_of_soft_and_rigid_bodies_loses_energy() -> None:
    """Two of every kind fall on the pegs: nothing gains energy, passes the ground or comes apart."""
    sim = ut.Simulation(pile_1600.make_scene(resolution=1, elements=2), threads=1)
    energy, rows = [], []
    while sim.time < 0.35:
        rows.append(sim.step().ledger)
        energy.append(rows[-1]["energy"])
    assert max(row["soft_contacts"] for row in rows) > 5
    # of the energy of the fall
    rise = max(now - min(energy[: i + 1]) for i, now in enumerate(energy))
    assert rise < 5e-3 * (energy[0] - energy[-1]) and energy[-1] < 0.9 * energy[0]
    assert max(row["joint_error"] for row in rows) < 1e-8
    assert sim.part(SoftPart).soft.x[:, 1].min() > -2e-3


def test_rings_pile_up_without_energy_or_crossings() -> None:
    """Two rings that keep their volume fall on each other, at twice the step of the scene."""
    scene = tori_pile.make_scene(resolution=2)
    sim = ut.Simulation(scene.model_copy(update={"time": ut.Time(end=1.0, frame_rate=24, max_step=1 / 120)}), threads=1)
    rows, crossings = [], 0
    while sim.time < 0.26:
        rows.append(sim.step().ledger)
        crossings += sim.part(SoftPart).soft_solids.surfaces.crossings(sim.part(SoftPart).soft.x)
    energy = [row["energy"] for row in rows]
    assert max(row["soft_collisions"] for row in rows) > 20 and crossings == 0
    assert np.diff(energy).max() < 1e-3 * (energy[0] - energy[-1]) and energy[-1] < 0.7 * energy[0]
    assert max(row["soft_volume_error"] for row in rows) < 2e-3


def test_a_rabbit_keeps_its_volume() -> None:
    """It lands on its ears, whose elements have every node on the ground: rings that nothing can change."""
    sim = ut.Simulation(armadillo_drop.make_scene(resolution=8), threads=1)
    soft = sim.part(SoftPart).soft
    start = soft.volume(soft.parts[0])
    error, most = 0.0, 0.0
    while sim.time < 0.45:
        row = sim.step().ledger
        error, most = max(error, abs(row["soft_volume"] / start - 1.0)), max(most, row["soft_contacts"])
    assert most > 10 and error < 2e-3


def test_the_resolution_of_a_computed_scene() -> None:
    assert find_scene("soft-sphere-drop", resolution=20).objects["plain"].element_size == pytest.approx(0.05)
    balls: Any = find_scene("pile-1600", resolution=2).softs
    assert len(balls) == 4
    assert len(find_scene("maggot-bowl-rings", resolution=3).softs) == 6
    with pytest.raises(UserError, match="--resolution 3: scene 'chain' has no domain of cells"):
        find_scene("chain", resolution=3)
    with pytest.raises(UserError, match="--resolution 0: must be at least 1"):
        find_scene("snake", resolution=0)
