"""Elastic balls dropped on the ground."""

from __future__ import annotations

from undertow.scene.objects import RigidBody
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Plane, Sphere
from undertow.scene.soft import Soft, SoftBody

CARD = {
    "description": "balls drop: one-rings keep their volume (left), Poisson ratio 0.45, 0.499; 3.5k tets each",
    "source": "Schroeder 2011, thesis, figure 3.2",
    "cost": "about two minutes; --resolution N: elements across a ball, 25 in the thesis (100k tets)",
}


def make_scene(resolution: int = 8) -> Scene:
    """``resolution`` elements across a ball of 1 m; 25 gives the 100k tetrahedra of the thesis."""
    balls = {"rings": (0.45, -1.6), "plain": (0.45, 0.0), "stiff": (0.499, 1.6)}
    colors = {"rings": (0.86, 0.62, 0.20), "plain": (0.36, 0.60, 0.36), "stiff": (0.30, 0.45, 0.70)}
    objects = {
        name: SoftBody(
            shape=Sphere(radius=0.5),
            position=(x, 1.1, 0.0),
            element_size=1.0 / resolution,
            density=1000.0,
            youngs_modulus=3e4,
            poisson_ratio=ratio,
            model="neo_hookean",
            damping=2e-3,
            incompressible=name == "rings",
            color=colors[name],
        )
        for name, (ratio, x) in balls.items()
    }
    ground = RigidBody(shape=Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, 0.0, 0.0), color=(0.7, 0.7, 0.7))
    return Scene(
        name="soft-sphere-drop",
        **CARD,
        time=Time(end=1.5, frame_rate=24, max_step=1 / 96),
        soft=Soft(tolerance=0.05),
        objects={"ground": ground, **objects},
        view=View(camera=Camera(position=(0.0, 1.8, 7.0), look_at=(0.0, 0.5, 0.0))),
    )
