"""Rigid balls on a round sheet of cloth."""

from __future__ import annotations

import math

from undertow.scene.motion import Keyframes
from undertow.scene.objects import RigidBody
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Plane, Sphere, Torus
from undertow.scene.soft import Cloth, Hold, Soft

CARD = {
    "description": "balls fall on a trampoline, which tosses them once; 1.5k triangles, rigid balls alone",
    "source": "Schroeder 2011, thesis, figure 4.4",
    "cost": "about five minutes; --resolution N: elements across the sheet of 2 m",
}


def make_scene(resolution: int = 32, balls: int = 5) -> Scene:
    """``resolution`` elements across the sheet of 2 m."""
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
    objects = {
        "ground": RigidBody(shape=Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, 0.0, 0.0), color=(0.7, 0.7, 0.7)),
        "ring": ring,
        "sheet": sheet,
    }
    for i in range(balls):
        angle = 2 * math.pi * i / balls
        objects[f"ball-{i}"] = RigidBody(
            shape=Sphere(radius=0.12),
            position=(0.35 * math.cos(angle), 1.2 + 0.25 * i, 0.35 * math.sin(angle)),
            density=300.0,
            friction=0.4,
            color=(0.80, 0.36, 0.22) if i % 2 else (0.75, 0.58, 0.30),
        )
    return Scene(
        name="trampoline",
        **CARD,
        time=Time(end=3.0, frame_rate=24, max_step=1 / 192),
        objects=objects,
        soft=Soft(tolerance=0.01),
        view=View(camera=Camera(position=(1.6, 2.4, 3.2), look_at=(0.0, 0.8, 0.0))),
    )
