"""Soft rings that keep their volume fall into a pile."""

from __future__ import annotations

import math
import random

from undertow.scene.motion import Rotation
from undertow.scene.objects import RigidBody
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Box, Plane, Torus
from undertow.scene.soft import Soft, SoftBody

CARD = {
    "description": "rings that keep their volume fall into a pile between four posts; 10 rings of 800 tets",
    "source": "Schroeder 2011, thesis, figure 3.6 (40 rings, 500k tets)",
    "cost": "about ten minutes; --resolution N: rings, 40 in the thesis (make_scene(40, 5): 440k tets)",
}

RADIUS, TUBE = 0.16, 0.06
COLORS = ((0.80, 0.36, 0.22), (0.25, 0.46, 0.66), (0.88, 0.70, 0.30), (0.36, 0.58, 0.42), (0.62, 0.40, 0.62))


def make_scene(resolution: int = 10, elements: int = 2, end: float = 1.5) -> Scene:
    """``resolution`` rings with ``elements`` across their tubes, ``end`` [s]; 40 and 5 make 440k tetrahedra, about as
    many as in the thesis."""
    draw = random.Random(5)
    objects: dict[str, RigidBody | SoftBody] = {
        "ground": RigidBody(shape=Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, 0.0, 0.0), color=(0.7, 0.7, 0.7)),
    }
    # side by side in a layer and apart, so that forty do not fall from 8 m
    across = max(1, round(math.sqrt(resolution / 10)))
    edge = 0.03 + 0.3 * across
    for i, (x, z) in enumerate(((-1, -1), (-1, 1), (1, -1), (1, 1))):
        objects[f"post-{i}"] = RigidBody(
            shape=Box(size=(0.06, 0.5, 0.06)), position=(edge * x, 0.25, edge * z), color=(0.62, 0.60, 0.56)
        )
    for i in range(resolution):
        layer, place = divmod(i, across * across)
        column, row = ((0.5 - 0.5 * across + k) * 0.6 for k in divmod(place, across))
        angle = draw.uniform(0, 2 * math.pi)
        away = 0.07 * draw.random()
        objects[f"ring-{i:02d}"] = SoftBody(
            shape=Torus(radius=RADIUS, tube=TUBE),
            position=(column + away * math.cos(angle), 0.15 + 0.2 * layer, row + away * math.sin(angle)),
            rotation=Rotation(axis=(math.cos(2 * angle), 0.0, math.sin(2 * angle)), degrees=draw.uniform(0, 20)),
            element_size=2 * TUBE / elements,
            density=1000.0,
            youngs_modulus=2e4,
            poisson_ratio=0.45,
            model="neo_hookean",
            damping=5e-3,
            incompressible=True,
            friction=0.3,
            color=COLORS[i % len(COLORS)],
        )
    return Scene(
        name="tori-pile",
        **CARD,
        time=Time(end=end, frame_rate=24, max_step=1 / 240),
        soft=Soft(tolerance=0.02),
        objects=objects,
        view=View(camera=Camera(position=(3.4 * edge, 4.0 * edge, 8.4 * edge), look_at=(0.0, 0.2, 0.1))),
    )
