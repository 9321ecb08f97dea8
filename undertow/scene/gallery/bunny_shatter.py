"""A ball shatters a rabbit into 35 pieces, finest where it hits."""

from __future__ import annotations

from undertow.scene.fracture import Fracture
from undertow.scene.objects import RigidBody, Rotation
from undertow.scene.scene import Camera, Scene, Solids, Time, View
from undertow.scene.shapes import Bunny, Plane, Sphere

CARD = {
    "description": "a ball shatters a rabbit into 35 pieces about the place where it hits (3D)",
    "source": "Schroeder 2011, thesis, figure 2.6",
    "cost": "about a minute",
}


def make_scene(pieces: int = 105) -> Scene:
    """The rabbit on the ground, and the ball on its way; of the regions of the pattern about half meet the rabbit."""
    objects = {
        "ground": RigidBody(shape=Plane(normal=(0, 1, 0)), position=(0, 0, 0), friction=0.6),
        "rabbit": RigidBody(
            shape=Bunny(size=1.0), position=(0.0, 0.5, 0.0), rotation=Rotation(axis=(0, 1, 0), degrees=-25.0),
            density=1200.0, friction=0.5, color=(0.80, 0.62, 0.46),
            fracture=Fracture(
                pattern="voronoi", pieces=pieces, seed=3, options={"grading": 0.5}, strength=60.0, smallest=0.02,
                color=(0.93, 0.90, 0.84),
            ),
        ),
        "ball": RigidBody(
            shape=Sphere(radius=0.12), position=(0.35, 0.50, 1.5), velocity=(-2.2, 0.6, -10.0), density=5000.0,
            friction=0.4, color=(0.42, 0.55, 0.67),
        ),
    }  # fmt: skip
    return Scene(
        name="bunny-shatter",
        **CARD,
        time=Time(end=1.25, frame_rate=24),
        objects=objects,
        solids=Solids(tolerance=1e-3, iterations=8),
        view=View(camera=Camera(position=(1.5, 1.3, 3.2), look_at=(-0.1, 0.4, 0.0))),
    )
