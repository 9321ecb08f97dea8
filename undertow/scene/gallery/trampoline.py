"""Rigid balls and soft rings on a round sheet of cloth."""

from __future__ import annotations

import math

from undertow.scene.motion import Keyframes, Rotation
from undertow.scene.objects import RigidBody
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Plane, Sphere, Torus
from undertow.scene.soft import Cloth, Hold, Soft, SoftBody

CARD = {
    "description": "3 balls and 3 soft rings on a trampoline, which tosses them once; 1.5k triangles, 2k tets",
    "source": "Schroeder 2011, thesis, figure 4.4 (10 balls, 10 rings)",
    "cost": "about five minutes; --resolution N: elements across the sheet of 2 m; bench trampoline: 10 and 10",
}


def make_scene(resolution: int = 32, balls: int = 3, rings: int = 3) -> Scene:
    """``resolution`` elements across the sheet of 2 m, on which ``balls`` and soft ``rings`` fall (10 and 10 in the
    thesis)."""
    times = (0.0, 1.5, 1.6, 1.75, 1.9)
    heights = (0.0, 0.0, -0.15, 0.25, 0.0)
    # a smooth curve through these keys would swing before the toss and beyond it
    places = tuple((0.0, 0.8 + h, 0.0) for h in heights)
    motion = Keyframes(times=times, positions=places, interpolation="linear")
    sheet = Cloth(
        size=(2.0, 2.0),
        outline="disc",
        position=(0.0, 0.8, 0.0),
        element_size=2.0 / resolution,
        density=0.5,
        stretching=3000.0,
        bending=1e-3,
        damping=2e-3,
        thickness=0.02,
        friction=0.4,
        holds=(Hold(shape=Torus(radius=1.0, tube=0.03), position=(0.0, 0.8, 0.0), motion=motion),),
    )
    ring = RigidBody(
        shape=Torus(radius=1.06, tube=0.04), position=(0.0, 0.8, 0.0), motion=motion, color=(0.5, 0.5, 0.5)
    )
    objects: dict[str, RigidBody | SoftBody | Cloth] = {
        "ground": RigidBody(shape=Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, 0.0, 0.0), color=(0.7, 0.7, 0.7)),
        "ring": ring,
        "sheet": sheet,
    }
    # ball, ring, ball, ring: each higher and a golden angle further than the last
    kinds = ["ball", "ring"] * min(balls, rings) + ["ball"] * (balls - rings) + ["ring"] * (rings - balls)
    for i, kind in enumerate(kinds):
        angle = i * math.pi * (3.0 - math.sqrt(5.0))
        position = (0.35 * math.cos(angle), 1.2 + 0.25 * i, 0.35 * math.sin(angle))
        name = f"{kind}-{kinds[:i].count(kind)}"
        if kind == "ball":
            objects[name] = RigidBody(
                shape=Sphere(radius=0.12),
                position=position,
                density=300.0,
                friction=0.4,
                color=(0.80, 0.36, 0.22) if i % 4 else (0.75, 0.58, 0.30),
            )
        else:
            objects[name] = SoftBody(
                shape=Torus(radius=0.12, tube=0.05),
                position=position,
                rotation=Rotation(axis=(math.cos(angle), 0.0, math.sin(angle)), degrees=20.0),
                element_size=0.05,
                density=500.0,
                youngs_modulus=2e4,
                poisson_ratio=0.4,
                damping=5e-3,
                friction=0.4,
                color=(0.25, 0.46, 0.66) if i % 4 == 1 else (0.36, 0.58, 0.42),
            )
    return Scene(
        name="trampoline",
        **CARD,
        time=Time(end=3.0, frame_rate=24, max_step=1 / 192),
        objects=objects,
        soft=Soft(tolerance=0.01),
        view=View(camera=Camera(position=(1.6, 2.4, 3.2), look_at=(0.0, 0.8, 0.0))),
    )
