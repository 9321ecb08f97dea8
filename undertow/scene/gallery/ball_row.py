"""A row of rigid and soft balls, hit by a rigid one."""

from __future__ import annotations

from undertow.scene.objects import RigidBody
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Sphere
from undertow.scene.soft import SoftBody

CARD = {
    "description": "a rigid ball hits a row of incompressible soft and rigid balls in space; 1.5k tets each",
    "source": "Schroeder 2011, thesis, figure 4.3",
    "cost": "about a minute; --resolution N: elements across a soft ball",
}

RADIUS, SPEED = 0.1, 2.0


def make_scene(balls: int = 4, resolution: int = 6) -> Scene:
    """``balls`` in the row, soft and rigid by turns, ``resolution`` elements across the soft ones."""
    hit = RigidBody(
        shape=Sphere(radius=RADIUS), position=(-0.4, 0.0, 0.0), density=1000.0, velocity=(SPEED, 0.0, 0.0),
        color=(0.8, 0.36, 0.22),
    )  # fmt: skip
    objects: dict[str, RigidBody | SoftBody] = {"hit": hit}
    for i in range(balls):
        place = (i * (2 * RADIUS + 0.004), 0.0, 0.0)
        if i % 2 == 0:
            objects[f"ball-{i}"] = SoftBody(
                shape=Sphere(radius=RADIUS),
                position=place,
                element_size=2 * RADIUS / resolution,
                density=1000.0,
                youngs_modulus=1e5,
                poisson_ratio=0.45,
                damping=2e-3,
                incompressible=True,
                color=(0.92, 0.78, 0.25),
            )
        else:
            objects[f"ball-{i}"] = RigidBody(
                shape=Sphere(radius=RADIUS), position=place, density=1000.0, color=(0.72, 0.74, 0.78)
            )
    return Scene(
        name="ball-row",
        **CARD,
        gravity=(0.0, 0.0, 0.0),
        time=Time(end=0.8, frame_rate=60, max_step=1 / 480),
        objects=objects,
        view=View(camera=Camera(position=(0.55, 0.8, 2.8), look_at=(0.55, 0.0, 0.0))),
    )
