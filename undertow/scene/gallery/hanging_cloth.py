"""A sheet hung by two corners falls over a ball."""

from __future__ import annotations

from undertow.scene.motion import Rotation
from undertow.scene.objects import RigidBody
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Plane, Sphere
from undertow.scene.soft import Cloth, Hold

CARD = {
    "description": "a sheet held at two corners swings down against a ball; 2k triangles",
    "source": "Undertow",
    "cost": "about a minute; --resolution N: elements along the sheet of 1 m",
}


def make_scene(resolution: int = 32) -> Scene:
    """``resolution`` elements along the sheet of 1 m."""
    corner = Sphere(radius=0.02)
    return Scene(
        name="hanging-cloth",
        **CARD,
        time=Time(end=2.0, frame_rate=30, max_step=1 / 120),
        objects={
            "ground": RigidBody(shape=Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, -0.35, 0.0), color=(0.7, 0.7, 0.7)),
            "ball": RigidBody(shape=Sphere(radius=0.2), position=(0.0, 0.45, -0.35), friction=0.3),
            "sheet": Cloth(
                size=(1.0, 1.0),
                position=(0.0, 1.0, 0.0),
                rotation=Rotation(),
                element_size=1.0 / resolution,
                density=0.2,
                stretching=500.0,
                bending=2e-4,
                damping=0.01,
                thickness=0.006,
                holds=(
                    Hold(shape=corner, position=(-0.5, 1.0, -0.5)),
                    Hold(shape=corner, position=(0.5, 1.0, -0.5)),
                ),
            ),
        },
        view=View(camera=Camera(position=(-1.8, 0.9, -2.0), look_at=(0.0, 0.5, -0.3))),
    )
