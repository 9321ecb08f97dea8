"""A soft maggot under a heavy ring."""

from __future__ import annotations

from undertow.scene.gallery.maggot import LENGTH, RADIUS, make_ground, make_maggot
from undertow.scene.objects import RigidBody
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Torus
from undertow.scene.soft import Soft

CARD = {
    "description": "a ring of its own weight falls on a maggot, which wriggles under it; 1k tets",
    "source": "Schroeder 2011, thesis, figure 4.9 (trapped under a rigid body)",
    "cost": "about three minutes; --resolution N: elements across the body of 12 cm",
}

RING, TUBE = 0.2, 0.04


def make_scene(resolution: int = 3) -> Scene:
    """``resolution`` elements across the body of 0.12 m."""
    maggot = make_maggot("maggot", (0.0, RADIUS + 0.01, 0.0), 0.0, resolution, (0.9, 0.85, 0.7))
    ring = RigidBody(
        shape=Torus(radius=RING, tube=TUBE),
        # the tube comes down across the middle of the maggot
        position=(0.0, 2 * RADIUS + TUBE + 0.04, -RING),
        density=900.0,
        friction=0.6,
        color=(0.72, 0.74, 0.78),
    )
    return Scene(
        name="maggot-trapped",
        **CARD,
        time=Time(end=3.0, frame_rate=24, max_step=1 / 144),
        soft=Soft(tolerance=0.01),
        objects={"ground": make_ground(), **maggot, "ring": ring},
        view=View(camera=Camera(position=(0.45, 0.5, 0.95), look_at=(0.0, 0.06, -0.3 * LENGTH))),
    )
