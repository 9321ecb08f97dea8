"""A chain of closed rings: each link is held by contact alone."""

from __future__ import annotations

import math

from undertow.scene.objects import RigidBody, Rotation
from undertow.scene.scene import Camera, Scene, Solids, Time, View
from undertow.scene.shapes import Torus

CARD = {
    "description": "a chain of interlocked rings swings from its first link",
    "source": "Schroeder 2011, thesis, section 4.8 (chain), rigid links",
    "cost": "about 20 seconds",
}

RADIUS, TUBE = 0.1, 0.02
PITCH = 2 * (RADIUS - TUBE) - 0.004
"""Distance of neighbouring links: inner edges 4 mm short of touching, so that the chain starts slack."""


def make_scene(links: int = 12, degrees: float = 60.0) -> Scene:
    """``links`` rings hang from the first, which is fixed, in a straight line ``degrees`` off the vertical."""
    angle = math.radians(degrees)
    along = (math.sin(angle), -math.cos(angle), 0.0)
    objects = {}
    for i in range(links):
        place = tuple(PITCH * i * d for d in along[:2])
        # the rings lie along the chain, every second one turned by a quarter about it
        flat = Rotation(axis=(1.0, 0.0, 0.0), degrees=90.0)
        upright = Rotation(axis=(0.0, 0.0, 1.0), degrees=degrees - 90.0)
        objects[f"link-{i:02d}"] = RigidBody(
            shape=Torus(radius=RADIUS, tube=TUBE),
            position=(*place, 0.0),
            rotation=upright if i % 2 else flat,
            friction=0.3,
            density=None if i == 0 else 7850.0,
            color=(0.75, 0.58, 0.30) if i % 2 else (0.55, 0.60, 0.66),
        )
    length = links * PITCH
    return Scene(
        name="chain",
        **CARD,
        time=Time(end=4.0, frame_rate=30, max_step=1 / 240),
        objects=objects,
        # links pull each other through eleven contacts in a row
        solids=Solids(tolerance=1e-4, iterations=400),
        view=View(camera=Camera(position=(0.0, -0.3 * length, 3.0 * length), look_at=(0.0, -0.5 * length, 0.0))),
    )
