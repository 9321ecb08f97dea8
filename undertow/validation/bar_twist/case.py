"""A box on a hinge, turned through a soft bar: its angle, and what rides on the bar."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.rigid.bodies import rotation_matrix_of
from undertow.scene.gallery.bar_twist import TURN, make_scene
from undertow.validation.analysis import Quantity, quantity


def twist(resolution: int, end: float) -> tuple[float, float]:
    """(Mean angle of the follower over the second half of the run [rad], height of the rider at the end [m])."""
    sim = ut.Simulation(make_scene(resolution))
    angle, before, seen = 0.0, 0.0, []
    while sim.time < end - 1e-9:
        sim.step()
        R = rotation_matrix_of(sim.body("follower").rotation)
        now = float(np.arctan2(R[2, 1], R[1, 1]))
        angle += (now - before + np.pi) % (2 * np.pi) - np.pi
        before = now
        if sim.time > 0.5 * end:
            seen.append(angle)
    return float(np.mean(seen)), float(sim.body("rider").position[1])


def run(full: bool = False) -> Iterator[Quantity]:
    """3 elements across the bar (full: 6), 4 s."""
    angle, height = twist(6 if full else 3, 4.0)
    yield quantity("follows", angle / TURN, angle=angle)
    yield quantity("rider", float(height < -0.2), height=height)
