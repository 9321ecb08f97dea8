"""Soft maggots that wriggle in a bowl."""

from __future__ import annotations

import math
import random
from pathlib import Path

from undertow.scene.gallery.maggot import RADIUS, Item, make_maggot
from undertow.scene.objects import RigidBody
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Mesh, Plane
from undertow.scene.soft import Soft

CARD = {
    "description": "five maggots fall into a bowl and wriggle over each other; 300 tets each",
    "source": "Schroeder 2011, thesis, figure 4.9 (20 maggots)",
    "cost": "about ten minutes; --resolution N: maggots, 20 in the thesis",
}

BOWL = Path(__file__).parent / "meshes" / "bowl.obj"
"""Floor at y = 0, rim of 0.6 m radius at 0.35 m."""
PER_LAYER, LAYER = 3, 0.16
"""Maggots side by side, and the height of a layer of them [m]."""


def make_scene(resolution: int = 5, elements: int = 2, end: float = 3.0) -> Scene:
    """``resolution`` maggots with ``elements`` across, ``end`` [s]."""
    return make_bowl("maggot-bowl", CARD, resolution, elements, end)


def make_bowl(name: str, card: dict[str, str], resolution: int, elements: int, end: float) -> Scene:
    """The bowl and its maggots, as the scene ``name``."""
    draw = random.Random(3)
    objects: dict[str, Item] = {
        "ground": RigidBody(shape=Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, -0.05, 0.0), color=(0.7, 0.7, 0.7)),
        "bowl": RigidBody(shape=Mesh(file=str(BOWL)), position=(0.0, 0.0, 0.0), friction=0.6, color=(0.45, 0.52, 0.60)),
    }
    for i in range(resolution):
        layer, slot = divmod(i, PER_LAYER)
        # side by side across the bowl, every layer turned
        heading = 55.0 * layer
        aside = (slot - 1) * 0.17
        turned = math.radians(heading)
        place = (aside * math.sin(turned), 0.03 + RADIUS + LAYER * layer, aside * math.cos(turned))
        shade = 0.75 + 0.25 * draw.random()
        color = (0.95 * shade, 0.88 * shade, 0.68 * shade)
        objects |= make_maggot(f"maggot-{i:02d}", place, draw.uniform(0, 2 * math.pi), elements, color, heading)
    return Scene(
        name=name,
        **card,
        time=Time(end=end, frame_rate=24, max_step=1 / 144),
        soft=Soft(tolerance=0.02),
        objects=objects,
        view=View(camera=Camera(position=(0.8, 1.3, 1.5), look_at=(0.0, 0.05, 0.0))),
    )
