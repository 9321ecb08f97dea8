"""A ball shatters a tall cylinder into 25 pieces about the place where it hits."""

from __future__ import annotations

from undertow.scene.fracture import Fracture
from undertow.scene.objects import RigidBody
from undertow.scene.scene import Camera, Scene, Solids, Time, View
from undertow.scene.shapes import Cylinder, Plane, Sphere

CARD = {
    "description": "a ball shatters a tall cylinder into about 25 pieces, finest where it hits (3D)",
    "source": "Schroeder 2011, thesis, figure 2.5",
    "cost": "about half a minute",
}


def make_scene(pieces: int = 45) -> Scene:
    """The cylinder on the ground, and the ball on its way; of the regions of the pattern 25 or so meet the cylinder."""
    objects = {
        "ground": RigidBody(shape=Plane(normal=(0, 1, 0)), position=(0, 0, 0), friction=0.6),
        "cylinder": RigidBody(
            shape=Cylinder(radius=0.25, length=1.0),
            position=(0.0, 0.5, 0.0),
            density=2000.0,
            friction=0.5,
            color=(0.42, 0.55, 0.67),
            fracture=Fracture(
                pattern="voronoi", pieces=pieces, seed=3, options={"grading": 0.8}, strength=300.0, smallest=0.02,
                color=(0.86, 0.88, 0.90),
            ),
        ),
        "ball": RigidBody(
            shape=Sphere(radius=0.15),
            position=(1.3, 0.75, 0.15),
            velocity=(-10.0, 0.6, 0.0),
            density=5000.0,
            friction=0.4,
            color=(0.72, 0.26, 0.18),
        ),
    }  # fmt: skip
    return Scene(
        name="cylinder-shatter",
        **CARD,
        time=Time(end=1.25, frame_rate=24),
        objects=objects,
        solids=Solids(tolerance=1e-3, iterations=8),
        view=View(camera=Camera(position=(1.3, 1.4, 3.2), look_at=(-0.1, 0.4, 0.0))),
    )
