"""A pillar that is cut beforehand into many pieces, some of them thin shards, drops on the ground."""

from __future__ import annotations

import random

import numpy as np

from undertow.scene.objects import RigidBody, Rotation
from undertow.scene.scene import Camera, Scene, Solids, Time, View
from undertow.scene.shapes import Hull, Plane

CARD = {
    "description": "a prescored pillar drops and falls apart at the frame rate; its thin shards stay low",
    "source": "Schroeder 2011, thesis, figure 2.1",
    "cost": "about 10 seconds",
}

SIZE = (0.4, 1.6, 0.4)
PIECES = 40


def _cut(seed: int) -> list[np.ndarray]:
    """Corners of the Voronoi cells of points in the pillar, squeezed so that cells near its foot are thin shards."""
    from scipy.spatial import HalfspaceIntersection

    draw = np.random.default_rng(seed)
    # many seeds close together along x near the foot: cells a few millimetres to centimetres thin
    foot = draw.uniform((-0.5, -0.5, -0.5), (0.5, -0.3, 0.5), size=(PIECES // 2, 3))
    rest = draw.uniform((-0.5, -0.3, -0.5), (0.5, 0.5, 0.5), size=(PIECES - PIECES // 2, 3))
    seeds = np.concatenate([foot, rest]) * SIZE
    stretch = np.array([6.0, 1.0, 1.0])  # distances count more along x: plates across x
    sides = [(*(sign * np.eye(3)[a]), -SIZE[a] / 2) for a in range(3) for sign in (1.0, -1.0)]
    cells = []
    for i, s in enumerate(seeds):
        planes = list(sides)
        for j, t in enumerate(seeds):
            if i != j:
                normal = stretch * (t - s)
                planes.append((*normal, -float(normal @ (s + t)) / 2))
        scaled = np.array([np.array(p) / np.linalg.norm(p[:3]) for p in planes])
        corners = HalfspaceIntersection(scaled, s).intersections
        cells.append(_without_twins(corners))
    return cells


def _without_twins(points: np.ndarray) -> np.ndarray:
    """The points without those within 10 micrometres of an earlier one; a corner of many planes comes often."""
    kept: list[np.ndarray] = []
    for point in points:
        if all(np.abs(point - other).max() > 1e-5 for other in kept):
            kept.append(point)
    return np.array(kept)


def make_scene(seed: int = 1, tilt: float = 4.0) -> Scene:
    """The pillar let go 0.4 m above the ground, leaning by ``tilt`` degrees; ``seed`` turns and shifts it a little."""
    draw = random.Random(seed)
    turn = Rotation(axis=(draw.uniform(-0.3, 0.3), 0.0, 1.0), degrees=tilt + draw.uniform(-1.0, 1.0))
    rotate = np.array(turn.matrix())
    centre = np.array([0.0, SIZE[1] / 2 + 0.4 + draw.uniform(-0.02, 0.02), 0.0])
    objects = {"ground": RigidBody(shape=Plane(normal=(0, 1, 0)), position=(0, 0, 0), friction=0.6)}
    for i, corners in enumerate(_cut(3)):
        middle = corners.mean(axis=0)
        foot = middle[1] < -0.3 * SIZE[1]
        objects[f"piece-{i:02d}"] = RigidBody(
            shape=Hull(points=tuple(tuple(p) for p in 0.999 * (corners - middle))),
            position=tuple(centre + rotate @ middle),
            rotation=turn,
            density=2400.0,
            friction=0.6,
            color=(0.36, 0.60, 0.36) if foot else (0.72, 0.70, 0.66),
        )
    return Scene(
        name="pillar",
        **CARD,
        time=Time(end=3.0, frame_rate=30),
        objects=objects,
        solids=Solids(),
        view=View(camera=Camera(position=(2.2, 1.5, 4.2), look_at=(0.0, 0.6, 0.0))),
    )
