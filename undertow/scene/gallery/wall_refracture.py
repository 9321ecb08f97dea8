"""A ball breaks the corner out of a wall; a second one breaks a large piece that the first has left."""

from __future__ import annotations

from undertow.scene.fracture import Fracture
from undertow.scene.objects import RigidBody
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Box, Plane, Sphere

CARD = {
    "description": "a ball breaks a wall at a corner, a second one breaks one of the large pieces again (3D)",
    "source": "Schroeder 2011, thesis, figure 2.7",
    "cost": "about half a minute",
}


def make_scene(pieces: int = 18) -> Scene:
    """The wall and two balls, the second a quarter of a second behind the first."""
    rule = Fracture(
        pattern="voronoi", pieces=pieces, seed=6, options={"grading": 1.5}, strength=80.0, smallest=0.02
    )  # fmt: skip
    objects = {
        "ground": RigidBody(shape=Plane(normal=(0, 1, 0)), position=(0, 0, 0), friction=0.6),
        "wall": RigidBody(
            shape=Box(size=(1.5, 1.0, 0.1)), position=(0.0, 0.5, 0.0), density=1800.0, friction=0.6,
            color=(0.66, 0.42, 0.33), fracture=rule,
        ),
    }  # fmt: skip
    for n, (x, y, away) in enumerate([(0.55, 0.2, 1.0), (-0.4, 0.55, 3.0)]):
        objects[f"ball-{n + 1}"] = RigidBody(
            shape=Sphere(radius=0.12), position=(x, y, away), velocity=(0.0, 4.905 * (away - 0.1) / 9.0, -9.0),
            density=3000.0, friction=0.4, color=(0.72, 0.26, 0.18),
        )  # fmt: skip
    return Scene(
        name="wall-refracture",
        **CARD,
        time=Time(end=1.5, frame_rate=48),
        objects=objects,
        view=View(camera=Camera(position=(1.2, 1.5, 3.4), look_at=(0.0, 0.35, 0.0))),
    )
