"""Things that stand must stand: ten boxes on each other, and a wall of ten courses of ten bricks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

RATE = 60
BRICK = (0.2, 0.1, 0.1)

SMOKE = {"RATE": 2}


def boxes(count: int = 10) -> dict[str, Any]:
    """Boxes of 0.2 m on each other."""
    box = ut.Box(size=(0.2, 0.2, 0.2))
    return {
        f"box-{i}": ut.RigidBody(shape=box, position=(0.0, 0.1 + 0.2 * i, 0.0), density=1000.0) for i in range(count)
    }


def wall(courses: int = 10, bricks: int = 10) -> dict[str, Any]:
    """Bricks in running bond without mortar, every other course between two half bricks."""
    length, height, depth = BRICK
    whole, half = ut.Box(size=BRICK), ut.Box(size=(0.5 * length, height, depth))
    places = []
    for course in range(courses):
        y, shift = (course + 0.5) * height, 0.5 * length * (course % 2)
        places += [(whole, (i + 0.5) * length + shift, y) for i in range(bricks - course % 2)]
        if course % 2:
            places += [(half, 0.25 * length, y), (half, (bricks - 0.25) * length, y)]
    return {
        f"brick-{i}": ut.RigidBody(shape=shape, position=(x, y, 0.0), density=2000.0)
        for i, (shape, x, y) in enumerate(places)
    }


def stand(objects: dict[str, Any], duration: float) -> tuple[float, float, float]:
    """Largest motion [m] and turn [degrees] at any time, and mean sweeps of the contact solves."""
    ground = ut.RigidBody(shape=ut.Plane(normal=(0, 1, 0)), position=(0, 0, 0))
    time = ut.Time(end=duration, fixed_step=1.0 / RATE)
    sim = ut.Simulation(ut.Scene(name="stack", time=time, objects={"ground": ground, **objects}, solids=ut.Solids()))
    start = {name: sim.body(name) for name in objects}
    moved = turned = sweeps = 0.0
    steps = round(duration * RATE)
    for _ in range(steps):
        sweeps += sim.step().details.iterations / steps
        for name, then in start.items():
            now = sim.body(name)
            moved = max(moved, float(np.linalg.norm(now.position - then.position)))
            # |R - R'| (Frobenius) is 2 sqrt(2) sin(turn / 2), which does not lose small turns as the cosine does
            sine = float(np.linalg.norm(now.matrix - then.matrix)) / np.sqrt(8.0)
            turned = max(turned, 2.0 * float(np.degrees(np.arcsin(min(1.0, sine)))))
    return moved, turned, sweeps


def run(full: bool = False) -> Iterator[Quantity]:
    """Ten boxes for 20 s and the wall for 10 s at 60 Hz."""
    moved, turned, sweeps = stand(boxes(), 20.0)
    yield quantity("motion_10_boxes", moved, sweeps=sweeps)
    yield quantity("turn_10_boxes", turned)
    moved, turned, sweeps = stand(wall(), 10.0)
    yield quantity("motion_wall", moved, sweeps=sweeps)
    yield quantity("turn_wall", turned)
