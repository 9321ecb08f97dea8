"""Soft maggots that wriggle in a bowl among soft rings."""

from __future__ import annotations

import math
import random

from undertow.scene.gallery.maggot import RADIUS
from undertow.scene.gallery.maggot_bowl import LAYER, PER_LAYER, make_bowl
from undertow.scene.motion import Rotation
from undertow.scene.scene import Scene
from undertow.scene.shapes import Torus
from undertow.scene.soft import SoftBody

CARD = {
    "description": "four maggots fall into a bowl, four soft rings on them; 280 tets a maggot, 790 a ring",
    "source": "Schroeder 2011, thesis, figure 4.9 (20 maggots, 20 rings, there rigid ones)",
    "cost": "about half an hour; --resolution N: maggots, and as many rings, 20 in the thesis",
}

RING, TUBE = 0.11, 0.04
COLORS = ((0.80, 0.36, 0.22), (0.25, 0.46, 0.66), (0.36, 0.58, 0.42))


def make_scene(resolution: int = 4, elements: int = 2, end: float = 3.0) -> Scene:
    """``resolution`` maggots and as many rings with ``elements`` across, ``end`` [s]."""
    scene = make_bowl("maggot-bowl-rings", CARD, resolution, elements, end)
    draw = random.Random(7)
    rings = {}
    lowest = 0.03 + RADIUS + LAYER * math.ceil(resolution / PER_LAYER)
    for i in range(resolution):
        layer, slot = divmod(i, PER_LAYER)
        # around the middle of the bowl, every layer turned
        angle = 2 * math.pi * slot / PER_LAYER + 0.6 * layer
        rings[f"ring-{i:02d}"] = SoftBody(
            shape=Torus(radius=RING, tube=TUBE),
            position=(0.19 * math.cos(angle), lowest + 0.12 * layer, 0.19 * math.sin(angle)),
            rotation=Rotation(axis=(math.cos(angle), 0.0, math.sin(angle)), degrees=draw.uniform(0, 8)),
            element_size=2 * TUBE / elements,
            density=1000.0,
            youngs_modulus=3e4,
            poisson_ratio=0.4,
            damping=0.01,
            friction=0.6,
            embed=True,
            color=COLORS[i % len(COLORS)],
        )
    return scene.model_copy(update={"objects": {**scene.objects, **rings}})
