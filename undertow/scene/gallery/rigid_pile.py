"""A thousand bodies of six kinds fall into a bin and come to rest."""

from __future__ import annotations

import math
import random

from undertow.scene.objects import RigidBody, Rotation
from undertow.scene.scene import Camera, Output, Scene, Solids, Time, View
from undertow.scene.shapes import Box, Capsule, Gear, Hull, Plane, Sphere, Torus

CARD = {
    "description": "1000 mixed bodies fall into a bin",
    "source": "Schroeder 2011, thesis, figure 4.6, rigid bodies alone",
    "cost": "about 4 minutes",
}

SPACING = 0.26
COLORS = (
    (0.80, 0.36, 0.22), (0.25, 0.46, 0.66), (0.88, 0.70, 0.30), (0.36, 0.58, 0.42), (0.62, 0.40, 0.62),
    (0.72, 0.72, 0.70),
)  # fmt: skip


def _crystal() -> Hull:
    """A six-sided double pyramid."""
    ring = [(0.075 * math.cos(a), 0.0, 0.075 * math.sin(a)) for a in (2 * math.pi * i / 6 for i in range(6))]
    return Hull(points=(*ring, (0.0, 0.11, 0.0), (0.0, -0.11, 0.0)))


def make_scene(count: int = 1000) -> Scene:
    """``count`` bodies let go above a square bin, in layers."""
    shapes = (
        Box(size=(0.2, 0.16, 0.12)),
        Sphere(radius=0.09),
        Capsule(radius=0.05, length=0.12),
        _crystal(),
        Torus(radius=0.075, tube=0.028),
        Gear(radius=0.1, thickness=0.05, teeth=8, depth=0.22, hole=0.3),
    )
    share = (6, 5, 4, 3, 1, 1)
    draw = random.Random(7)
    across = max(2, math.ceil((count / 3) ** (1 / 3)))
    width = across * SPACING + 0.1
    objects: dict[str, RigidBody] = {"floor": RigidBody(shape=Plane(normal=(0, 1, 0)), position=(0, 0, 0))}
    height = 0.5 * width
    for name, x, z, size in (
        ("wall-left", -1, 0, (0.1, height, width + 0.2)),
        ("wall-right", 1, 0, (0.1, height, width + 0.2)),
        ("wall-back", 0, -1, (width, height, 0.1)),
        ("wall-front", 0, 1, (width, height, 0.1)),
    ):
        place = (x * (width / 2 + 0.05), height / 2, z * (width / 2 + 0.05))
        objects[name] = RigidBody(shape=Box(size=size), position=place, color=(0.55, 0.56, 0.58))
    for i in range(count):
        layer, cell = divmod(i, across * across)
        row, column = divmod(cell, across)
        kind = draw.choices(range(6), share)[0]
        axis = (draw.gauss(0, 1), draw.gauss(0, 1), draw.gauss(0, 1))
        place = ((column + 0.5) * SPACING - across * SPACING / 2, 0.3 + layer * SPACING,
                 (row + 0.5) * SPACING - across * SPACING / 2)  # fmt: skip
        objects[f"body-{i:04d}"] = RigidBody(
            shape=shapes[kind],
            position=place,
            rotation=Rotation(axis=axis, degrees=draw.uniform(0, 360)),
            density=1000.0,
            friction=0.5,
            color=COLORS[kind],
        )
    reach = 1.9 * width
    return Scene(
        name="rigid-pile",
        **CARD,
        time=Time(end=4.0, frame_rate=30, max_step=1 / 120),
        objects=objects,
        solids=Solids(tolerance=1e-3, iterations=8),
        output=Output(bodies="frames"),
        view=View(camera=Camera(position=(0.8 * reach, 0.8 * reach, 1.2 * reach), look_at=(0, 0.2 * width, 0))),
    )


def make_boxes(count: int) -> Scene:
    """``count`` equal boxes fall on a plane: the pile that peers are timed on."""
    draw = random.Random(0)
    across = math.ceil(math.sqrt(count / 6))
    objects: dict[str, RigidBody] = {"floor": RigidBody(shape=Plane(normal=(0, 1, 0)), position=(0, 0, 0))}
    for i in range(count):
        place = ((i % across) * 0.25, 0.2 + (i // across**2) * 0.25, ((i // across) % across) * 0.25)
        axis = (draw.gauss(0, 1), draw.gauss(0, 1), draw.gauss(0, 1))
        objects[f"box-{i:04d}"] = RigidBody(
            shape=Box(size=(0.2, 0.16, 0.12)),
            position=place,
            rotation=Rotation(axis=axis, degrees=draw.uniform(0, 90)),
            density=1000.0,
            friction=1.0,
        )
    return Scene(
        name="box-pile",
        time=Time(end=2.0, frame_rate=60),
        objects=objects,
        solids=Solids(tolerance=1e-3, iterations=8),
        output=Output(bodies="frames"),
    )
