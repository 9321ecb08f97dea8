"""A soft ball that keeps its volume falls down stairs."""

from __future__ import annotations

from undertow.scene.objects import RigidBody
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Box, Plane, Sphere
from undertow.scene.soft import Soft, SoftBody

CARD = {
    "description": "a soft ball that keeps its volume falls down four stairs; 1.5k tets",
    "source": "Schroeder 2011, thesis, section 3.5 (sphere on stairs)",
    "cost": "about a minute; --resolution N: elements across the ball of 40 cm",
}

RISE, TREAD, STEPS = 0.25, 0.45, 4


def make_stairs() -> dict[str, RigidBody]:
    """The ground and ``STEPS`` stairs that go down along x."""
    objects = {
        "ground": RigidBody(shape=Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, 0.0, 0.0), color=(0.7, 0.7, 0.7))
    }
    for i in range(STEPS):
        height = RISE * (STEPS - i)
        objects[f"stair-{i}"] = RigidBody(
            shape=Box(size=(TREAD, height, 1.6)),
            position=((i + 0.5) * TREAD, 0.5 * height, 0.0),
            color=(0.62, 0.60, 0.56),
        )
    return objects


def make_scene(resolution: int = 6) -> Scene:
    """``resolution`` elements across the ball of 0.4 m."""
    ball = SoftBody(
        shape=Sphere(radius=0.2),
        position=(0.2, RISE * STEPS + 0.25, 0.0),
        velocity=(0.6, 0.0, 0.0),
        element_size=0.4 / resolution,
        density=1000.0,
        youngs_modulus=2e4,
        poisson_ratio=0.45,
        model="neo_hookean",
        damping=2e-3,
        incompressible=True,
        color=(0.86, 0.62, 0.20),
    )
    return Scene(
        name="soft-sphere-stairs",
        **CARD,
        time=Time(end=2.2, frame_rate=24, max_step=1 / 144),
        soft=Soft(tolerance=0.02),
        objects={**make_stairs(), "ball": ball},
        view=View(camera=Camera(position=(2.8, 1.9, 4.4), look_at=(1.25, 0.45, 0.0))),
    )
