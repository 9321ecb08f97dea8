"""A rigid and a soft box slide down an incline beside the analytic solution."""

from __future__ import annotations

import math

from undertow.scene.curves import Table
from undertow.scene.motion import PrescribedVelocity, Rotation
from undertow.scene.objects import RigidBody
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Box
from undertow.scene.soft import Soft, SoftBody

CARD = {
    "description": "a rigid (silver) and a soft box (orange, 135 tets) slide down a slope with the analytic one (red)",
    "source": "Schroeder 2011, thesis, figure 4.8",
    "cost": "about a minute; --resolution N: elements along the soft box of 20 cm",
}

DEGREES, FRICTION, SIDE = 30.0, 0.3, 0.2


def make_scene(resolution: int = 3) -> Scene:
    """``resolution`` elements along the soft box of 0.2 m."""
    angle = math.radians(DEGREES)
    along, normal = (math.cos(angle), -math.sin(angle)), (math.sin(angle), math.cos(angle))
    speed = 9.81 * (math.sin(angle) - FRICTION * math.cos(angle))
    box, turned = Box(size=(SIDE, SIDE, SIDE)), Rotation(axis=(0.0, 0.0, 1.0), degrees=-DEGREES)

    def place(z: float) -> tuple[float, float, float]:
        return (0.5 * SIDE * normal[0], 0.5 * SIDE * normal[1], z)

    sliding = Table(times=(0.0, 1.0), values=((0.0, 0.0, 0.0), (speed * along[0], speed * along[1], 0.0)))
    objects = {
        # its upper side goes through the origin
        "incline": RigidBody(
            shape=Box(size=(2.4, 0.1, 1.4)), position=(0.7 * along[0] - 0.05 * normal[0],
            0.7 * along[1] - 0.05 * normal[1], 0.0), rotation=turned, friction=FRICTION, color=(0.7, 0.7, 0.7),
        ),
        "analytic": RigidBody(
            shape=box, position=place(-0.4), rotation=turned, motion=PrescribedVelocity(linear=sliding),
            color=(0.75, 0.33, 0.28),
        ),
        "rigid": RigidBody(
            shape=box, position=place(0.0), rotation=turned, density=1000.0, friction=FRICTION, color=(0.72, 0.74, 0.78)
        ),
        "soft": SoftBody(
            shape=box, position=place(0.4), rotation=turned, element_size=SIDE / resolution, youngs_modulus=2e5,
            damping=2e-3, friction=FRICTION, color=(0.86, 0.62, 0.20),
        ),
    }  # fmt: skip
    return Scene(
        name="incline-mixed",
        **CARD,
        time=Time(end=1.0, frame_rate=24, max_step=1 / 240),
        soft=Soft(tolerance=0.01),
        objects=objects,
        view=View(camera=Camera(position=(1.9, 1.0, 3.6), look_at=(0.6, -0.42, 0.0))),
    )
