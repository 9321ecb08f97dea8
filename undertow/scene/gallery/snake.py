"""A soft snake that winds sideways by the joints of its skeleton."""

from __future__ import annotations

import math

from undertow.scene.curves import Sine
from undertow.scene.motion import Rotation
from undertow.scene.objects import Control, Joint, RigidBody
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Box, Capsule, Plane
from undertow.scene.soft import Hold, Soft, SoftBody

CARD = {
    "description": "a snake of 12 driven joints inside a soft body winds sideways over the ground; 4k tets",
    "source": "Schroeder 2011, thesis, figure 4.7, on flat ground",
    "cost": "about ten minutes; --resolution N: elements across the body of 10 cm",
}

PITCH, RADIUS = 0.12, 0.05


def make_scene(joints: int = 12, resolution: int = 3, amplitude: float = 1.0) -> Scene:
    """``joints`` hinges, by turns upright and level; ``resolution`` elements across the body; ``amplitude`` of its
    waves, 0: it lies still."""
    length = joints * PITCH
    bones = [f"bone-{i:02d}" for i in range(joints + 1)]
    places = [(i * PITCH - 0.5 * length, RADIUS + 0.005, 0.0) for i in range(joints + 1)]
    bone = Box(size=(0.07, 0.03, 0.03))
    grip = Box(size=(0.075, 0.06, 0.06))
    objects = {
        "ground": RigidBody(
            shape=Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, 0.0, 0.0), friction=0.7, color=(0.72, 0.70, 0.66)
        ),
        "skin": SoftBody(
            shape=Capsule(radius=RADIUS, length=length),
            position=(0.0, RADIUS + 0.005, 0.0),
            rotation=Rotation(axis=(0.0, 0.0, 1.0), degrees=90.0),
            element_size=2 * RADIUS / resolution,
            density=1000.0,
            youngs_modulus=4e4,
            poisson_ratio=0.4,
            damping=0.01,
            friction=0.7,
            holds=tuple(Hold(shape=grip, position=p, body=name) for name, p in zip(bones, places, strict=True)),
            color=(0.42, 0.55, 0.22),
        ),
    }
    for name, place in zip(bones, places, strict=True):
        objects[name] = RigidBody(shape=bone, position=place, density=6000.0, color=(0.9, 0.9, 0.85))
    for i in range(joints):
        upright = i % 2 == 0
        x = 0.5 * (places[i][0] + places[i + 1][0])
        # a wave that runs along the body to and fro, and one a quarter behind it that lifts the body
        phase = 3 * math.pi * i / joints + (0.0 if upright else 0.5 * math.pi)
        objects[f"joint-{i:02d}"] = Joint(
            kind="hinge",
            parent=bones[i],
            child=bones[i + 1],
            position=(x, RADIUS + 0.005, 0.0),
            axis=(0.0, 1.0, 0.0) if upright else (0.0, 0.0, 1.0),
            control=Control(
                target=Sine(amplitude=amplitude * (28.0 if upright else 7.0), frequency=0.8, phase=phase),
                stiffness=60.0,
                damping=2.0,
            ),
        )
    return Scene(
        name="snake",
        **CARD,
        time=Time(end=4.0, frame_rate=24, max_step=1 / 240),
        objects=objects,
        soft=Soft(tolerance=0.01),
        view=View(camera=Camera(position=(0.5, 1.4, 2.2), look_at=(0.0, 0.0, 0.0))),
    )
