"""A sheet falls over a ball and onto itself."""

from __future__ import annotations

from undertow.scene.motion import Rotation
from undertow.scene.objects import RigidBody
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Plane, Sphere
from undertow.scene.soft import Cloth, Soft

CARD = {
    "description": "a sheet falls over a ball, slides down and folds onto itself; 3.2k triangles",
    "source": "Bridson, Fedkiw and Anderson 2002",
    "cost": "a minute; --resolution N: elements along the sheet, 71 for 10k triangles",
}


def make_scene(resolution: int = 40) -> Scene:
    """``resolution`` elements along the sheet of 1 m; 71 gives 10k triangles, 122 gives 30k."""
    return Scene(
        name="cloth-knot",
        **CARD,
        time=Time(end=4.0, frame_rate=24, max_step=1 / 96),
        objects={
            "ground": RigidBody(shape=Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, 0.0, 0.0), color=(0.7, 0.7, 0.7)),
            "ball": RigidBody(
                shape=Sphere(radius=0.12), position=(0.0, 0.35, 0.0), friction=0.1, color=(0.8, 0.4, 0.25)
            ),
            "sheet": Cloth(
                size=(1.0, 1.0),
                position=(0.08, 0.56, 0.05),
                rotation=Rotation(axis=(0.3, 1.0, 0.2), degrees=15.0),
                element_size=1.0 / resolution,
                density=0.2,
                stretching=200.0,
                bending=2e-5,
                damping=5e-3,
                thickness=4e-3,
                friction=0.2,
            ),
        },
        soft=Soft(stepper="linearised", tolerance=0.02),
        view=View(camera=Camera(position=(1.3, 0.9, 1.5), look_at=(0.05, 0.16, 0.05))),
    )
