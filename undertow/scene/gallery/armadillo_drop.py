"""A soft rabbit that keeps its volume is dropped on the ground, ears first."""

from __future__ import annotations

from undertow.scene.motion import Rotation
from undertow.scene.objects import RigidBody
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Bunny, Plane
from undertow.scene.soft import Soft, SoftBody

CARD = {
    "description": "a soft rabbit that keeps its volume falls on its ears, bends them and rolls over; about 1k tets",
    "source": "Schroeder 2011, thesis, figure 3.5 (an armadillo of 112k tets), with a rabbit",
    "cost": "about two minutes; --resolution N: elements along the rabbit, about 45 for 112k tets",
}

SIZE = 0.5


def make_scene(resolution: int = 9, end: float = 2.0) -> Scene:
    """``resolution`` elements along the rabbit of 0.5 m, ``end`` [s]."""
    rabbit = SoftBody(
        shape=Bunny(size=SIZE),
        position=(0.0, 0.6, 0.0),
        rotation=Rotation(axis=(0.3, 0.0, 1.0), degrees=150.0),
        element_size=SIZE / resolution,
        density=1000.0,
        youngs_modulus=2e4,
        poisson_ratio=0.45,
        model="neo_hookean",
        damping=5e-3,
        incompressible=True,
        embed=True,
        color=(0.62, 0.52, 0.42),
    )
    ground = RigidBody(shape=Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, 0.0, 0.0), color=(0.7, 0.7, 0.7))
    return Scene(
        name="armadillo-drop",
        **CARD,
        time=Time(end=end, frame_rate=24, max_step=1 / 144),
        soft=Soft(tolerance=0.02),
        objects={"ground": ground, "rabbit": rabbit},
        view=View(camera=Camera(position=(0.5, 0.65, 1.5), look_at=(-0.05, 0.2, 0.0))),
    )
