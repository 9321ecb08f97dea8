"""A soft rabbit falls down stairs: its fine surface is carried by coarse elements."""

from __future__ import annotations

from undertow.scene.gallery.soft_sphere_stairs import RISE, STEPS, make_stairs
from undertow.scene.motion import Rotation
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Bunny
from undertow.scene.soft import Soft, SoftBody

CARD = {
    "description": "a soft rabbit falls down stairs, its fine surface carried by coarse elements; about 1k tets",
    "source": "Schroeder 2011, thesis, section 3.5 (armadillo on stairs), with a rabbit",
    "cost": "about a minute; --resolution N: elements along the rabbit, about 45 for the 112k tets of the thesis",
}


def make_scene(resolution: int = 9) -> Scene:
    """``resolution`` elements along the rabbit of 0.5 m."""
    rabbit = SoftBody(
        shape=Bunny(size=0.5),
        position=(0.2, RISE * STEPS + 0.32, 0.0),
        rotation=Rotation(axis=(0.0, 1.0, 0.0), degrees=60.0),
        velocity=(1.0, 0.0, 0.0),
        element_size=0.5 / resolution,
        density=1000.0,
        youngs_modulus=3e4,
        poisson_ratio=0.45,
        model="neo_hookean",
        damping=5e-3,
        incompressible=True,
        embed=True,
        color=(0.62, 0.52, 0.42),
    )
    return Scene(
        name="armadillo-stairs",
        **CARD,
        time=Time(end=2.5, frame_rate=24, max_step=1 / 144),
        soft=Soft(tolerance=0.02),
        objects={**make_stairs(), "rabbit": rabbit},
        view=View(camera=Camera(position=(3.1, 1.9, 4.4), look_at=(1.4, 0.4, 0.0))),
    )
