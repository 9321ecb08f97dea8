"""Rigid and soft boxes by turns, one on the other."""

from __future__ import annotations

from undertow.scene.objects import RigidBody
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Box, Plane
from undertow.scene.soft import SoftBody

CARD = {
    "description": "a stack of rigid and soft boxes by turns comes to rest; 5 boxes, 320 tets each soft one",
    "source": "Schroeder 2011, thesis, section 4.8 (stack)",
    "cost": "about a minute",
}

SIDE, DENSITY = 0.2, 500.0


def make_scene(boxes: int = 5, resolution: int = 4) -> Scene:
    """``boxes`` of 0.2 m, the lowest rigid, ``resolution`` elements along the soft ones."""
    size = (SIDE, SIDE, SIDE)
    objects: dict[str, RigidBody | SoftBody] = {
        "ground": RigidBody(shape=Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, 0.0, 0.0), color=(0.7, 0.7, 0.7)),
    }
    for i in range(boxes):
        place = (0.0, (i + 0.5) * (SIDE + 0.002), 0.0)
        if i % 2:
            objects[f"box-{i}"] = SoftBody(
                shape=Box(size=size),
                position=place,
                element_size=SIDE / resolution,
                density=DENSITY,
                youngs_modulus=1e5,
                poisson_ratio=0.3,
                damping=0.02,
                color=(0.86, 0.62, 0.20),
            )
        else:
            wide = Box(size=(1.2 * SIDE, SIDE, 1.2 * SIDE))
            objects[f"box-{i}"] = RigidBody(shape=wide, position=place, density=DENSITY, color=(0.55, 0.60, 0.66))
    return Scene(
        name="mixed-stack",
        **CARD,
        time=Time(end=2.0, frame_rate=24, max_step=1 / 192),
        objects=objects,
        view=View(camera=Camera(position=(1.5, 1.1, 2.5), look_at=(0.0, 0.48, 0.0))),
    )
