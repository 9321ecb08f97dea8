"""A stack of rigid and soft boxes at rest: force on the ground, lean, speed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.scene.gallery.mixed_stack import DENSITY, SIDE, make_scene
from undertow.validation.analysis import Quantity, quantity


def settle(boxes: int, resolution: int, end: float) -> tuple[float, float, float]:
    """(Mean force on the ground over the weight, largest sideways shift over the side, largest speed [m/s])."""
    sim = ut.Simulation(make_scene(boxes, resolution))
    forces = []
    while sim.time < end - 1e-9:
        sim.step()
        if sim.time > end - 0.5:
            forces.append(-sim.body("ground").contact_force[1])
    rigid = (boxes + 1) // 2
    weight = 9.81 * DENSITY * SIDE**3 * (1.44 * rigid + (boxes - rigid))
    states = [sim.body(f"box-{i}") for i in range(boxes)]
    lean = max(float(np.abs(np.asarray(s.position)[[0, 2]]).max()) for s in states) / SIDE
    speed = max(float(np.linalg.norm(s.velocity)) for s in states)
    return float(np.mean(forces)) / weight, lean, speed


def run(full: bool = False) -> Iterator[Quantity]:
    """5 boxes, 3 elements along the soft ones (full: 6), 2 s."""
    weight, lean, speed = settle(5, 6 if full else 3, 2.0)
    yield quantity("weight", weight)
    yield quantity("lean", lean)
    yield quantity("speed", speed)
