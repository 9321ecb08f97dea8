"""A small pillar that is cut beforehand into blocks and long thin splinters drops on the ground and shatters."""

from __future__ import annotations

import random

import numpy as np

from undertow.scene.objects import RigidBody, Rotation
from undertow.scene.scene import Camera, Scene, Solids, Time, View
from undertow.scene.shapes import Hull, Plane

CARD = {
    "description": "a prescored pillar shatters at the frame rate; its thin splinters stay low",
    "source": "Schroeder 2011, thesis, figure 2.1",
    "cost": "about 10 seconds",
}

SIZE = np.array([0.06, 0.24, 0.06])
FOOT = 0.16
"""Height of the part that is cut into splinters [m]; the rest is cut into blocks."""
SPLINTERS, BLOCKS = 30, 6
DROP = 0.5
"""Of the pillar's lower end [m]."""


def _cut(draw: np.random.Generator, lower: np.ndarray, upper: np.ndarray, count: int, along: float) -> list[np.ndarray]:
    """Corners of the Voronoi cells of ``count`` points in a box; cells are about ``along`` times as long in y as wide.

    Two moves of the points half way to the middle of their cells even these out.
    """
    from scipy.spatial import HalfspaceIntersection

    seeds = draw.uniform(lower, upper, size=(count, 3))
    metric = np.array([along**2, 1.0, along**2])
    sides = [(*axis, -high) for axis, high in zip(np.eye(3), upper, strict=True)]
    sides += [(*-axis, low) for axis, low in zip(np.eye(3), lower, strict=True)]
    for last in (False, False, True):
        cells = []
        for i, s in enumerate(seeds):
            planes = list(sides)
            for j, t in enumerate(seeds):
                if i != j:
                    normal = metric * (t - s)
                    planes.append((*normal, -float(normal @ (s + t)) / 2))
            scaled = np.array([np.array(p) / np.linalg.norm(p[:3]) for p in planes])
            cells.append(_without_twins(HalfspaceIntersection(scaled, s).intersections))
        if not last:
            seeds = np.array([0.5 * (s + corners.mean(axis=0)) for s, corners in zip(seeds, cells, strict=True)])
    return cells


def _without_twins(points: np.ndarray) -> np.ndarray:
    """The points without those within 10 micrometres of an earlier one; a corner of many planes comes often."""
    kept: list[np.ndarray] = []
    for point in points:
        if all(np.abs(point - other).max() > 1e-5 for other in kept):
            kept.append(point)
    return np.array(kept)


def make_scene(seed: int = 1, tilt: float = 4.0) -> Scene:
    """The pillar let go half a metre up, leaning by ``tilt`` degrees; ``seed`` turns and shifts it a little."""
    draw = random.Random(seed)
    turn = Rotation(axis=(draw.uniform(-0.3, 0.3), 0.0, 1.0), degrees=tilt + draw.uniform(-1.0, 1.0))
    rotate = np.array(turn.matrix())
    centre = np.array([0.0, SIZE[1] / 2 + DROP + draw.uniform(-0.02, 0.02), 0.0])
    points = np.random.default_rng(3)
    half, cut = SIZE / 2, FOOT - SIZE[1] / 2
    splinters = _cut(points, -half, np.array([half[0], cut, half[2]]), SPLINTERS, 6.0)
    blocks = _cut(points, np.array([-half[0], cut, -half[2]]), half, BLOCKS, 1.0)
    objects = {"ground": RigidBody(shape=Plane(normal=(0, 1, 0)), position=(0, 0, 0), friction=0.6, restitution=0.8)}
    for i, corners in enumerate(splinters + blocks):
        middle = corners.mean(axis=0)
        thin = i < SPLINTERS
        objects[f"{'splinter' if thin else 'block'}-{i:02d}"] = RigidBody(
            shape=Hull(points=tuple(tuple(p) for p in 0.999 * (corners - middle))),
            position=tuple(centre + rotate @ middle),
            rotation=turn,
            density=2400.0,
            friction=0.6,
            restitution=0.8,
            color=(0.36, 0.60, 0.36) if thin else (0.72, 0.70, 0.66),
        )
    return Scene(
        name="pillar",
        **CARD,
        time=Time(end=2.0, frame_rate=30),
        objects=objects,
        solids=Solids(),
        view=View(camera=Camera(position=(0.75, 0.6, 1.6), look_at=(0.0, 0.2, 0.0))),
    )
