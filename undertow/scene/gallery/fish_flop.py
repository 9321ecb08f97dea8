"""A soft fish on dry land that throws itself about by the four joints of its skeleton."""

from __future__ import annotations

import math
from pathlib import Path

from undertow.scene.curves import Sine
from undertow.scene.gallery.maggot import Item, make_ground
from undertow.scene.motion import Rotation
from undertow.scene.objects import Control, Joint, RigidBody
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Box, Mesh
from undertow.scene.soft import Hold, Soft, SoftBody

CARD = {
    "description": "a fish of four driven joints inside a soft body falls on the ground and flops about; 1.2k tets",
    "source": "Schroeder 2011, thesis, figure 4.10, with a fish of our own",
    "cost": "about three minutes; --resolution N: elements along the fish of 60 cm",
}

FISH = Path(__file__).parent / "meshes" / "fish.obj"
"""0.6 m along x, 0.21 m high, 0.12 m wide."""
BONES = (0.2, 0.1, 0.0, -0.1, -0.2)
"""Places of the bones along the fish [m], nose to tail."""


def make_scene(resolution: int = 14, amplitude: float = 35.0, end: float = 3.0) -> Scene:
    """``resolution`` elements along the fish, which bends every joint by ``amplitude`` [degrees]; ``end`` [s]."""
    height = 0.12
    # it lies on its side, its back towards +z
    lying = Rotation(axis=(1.0, 0.0, 0.0), degrees=90.0)
    names = [f"bone-{i}" for i in range(len(BONES))]
    places = [(x, height, 0.0) for x in BONES]
    grip = Box(size=(0.075, 0.05, 0.06))
    objects: dict[str, Item] = {
        "ground": make_ground(),
        "fish": SoftBody(
            shape=Mesh(file=str(FISH)),
            position=(0.0, height, 0.0),
            rotation=lying,
            element_size=0.6 / resolution,
            density=1000.0,
            youngs_modulus=3e4,
            poisson_ratio=0.4,
            damping=0.01,
            friction=0.6,
            embed=True,
            holds=tuple(Hold(shape=grip, position=p, body=name) for name, p in zip(names, places, strict=True)),
            color=(0.55, 0.65, 0.72),
        ),
    }
    for name, place in zip(names, places, strict=True):
        objects[name] = RigidBody(
            shape=Box(size=(0.06, 0.02, 0.03)), position=place, density=6000.0, color=(0.9, 0.9, 0.85)
        )
    for i in range(len(BONES) - 1):
        objects[f"joint-{i}"] = Joint(
            kind="hinge",
            parent=names[i],
            child=names[i + 1],
            position=(0.5 * (BONES[i] + BONES[i + 1]), height, 0.0),
            axis=(0.0, 0.0, 1.0),
            control=Control(
                target=Sine(amplitude=amplitude, frequency=2.5, phase=-0.15 * math.pi * i), stiffness=60.0, damping=1.5
            ),
        )
    return Scene(
        name="fish-flop",
        **CARD,
        time=Time(end=end, frame_rate=24, max_step=1 / 144),
        soft=Soft(tolerance=0.01),
        objects=objects,
        view=View(camera=Camera(position=(0.35, 0.6, 1.3), look_at=(0.0, 0.12, 0.0))),
    )
