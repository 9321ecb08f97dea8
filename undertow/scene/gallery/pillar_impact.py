"""A pillar that nobody has cut beforehand falls on its foot and breaks into splinters there by the blow."""

from __future__ import annotations

from undertow.scene.fracture import Fracture
from undertow.scene.objects import RigidBody, Rotation
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Box, Plane

CARD = {
    "description": "a pillar lands on its foot and splinters along its grain by the blow itself (3D)",
    "source": "Schroeder 2011, thesis, figure 2.1",
    "cost": "about half a minute",
}

SIZE = (0.06, 0.24, 0.06)
DROP = 0.5
"""Of the pillar's lower end [m]."""


def make_scene(pieces: int = 36, tilt: float = 4.0) -> Scene:
    """The pillar let go half a metre up, leaning by ``tilt`` degrees."""
    objects = {
        "ground": RigidBody(shape=Plane(normal=(0, 1, 0)), position=(0, 0, 0), friction=0.6, restitution=0.5),
        "pillar": RigidBody(
            shape=Box(size=SIZE),
            position=(0.0, DROP + 0.5 * SIZE[1], 0.0),
            rotation=Rotation(axis=(0.2, 0.0, 1.0), degrees=tilt),
            density=2400.0,
            friction=0.6,
            restitution=0.3,
            color=(0.72, 0.70, 0.66),
            fracture=Fracture(
                pattern="voronoi", pieces=pieces, seed=5, options={"grading": 0.7}, strength=3.0, smallest=0.004,
                color=(0.36, 0.60, 0.36),
            ),
        ),
    }  # fmt: skip
    return Scene(
        name="pillar-impact",
        **CARD,
        time=Time(end=1.2, frame_rate=60),
        objects=objects,
        view=View(camera=Camera(position=(0.55, 0.45, 1.1), look_at=(0.0, 0.14, 0.0))),
    )
