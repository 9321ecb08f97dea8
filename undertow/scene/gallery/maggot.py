"""A soft maggot that wriggles by the two joints of its skeleton."""

from __future__ import annotations

import math

from undertow.scene.curves import Sine
from undertow.scene.motion import Rotation
from undertow.scene.objects import Control, Joint, RigidBody
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Box, Capsule, Plane
from undertow.scene.soft import Hold, Soft, SoftBody

CARD = {
    "description": "a maggot of two driven joints inside a soft body wriggles on the ground; 1k tets",
    "source": "Schroeder 2011, thesis, figure 4.9",
    "cost": "about two minutes; --resolution N: elements across the body of 12 cm",
}

RADIUS, PITCH = 0.06, 0.13
LENGTH = 2 * (PITCH + RADIUS)
"""Of a maggot [m]."""
Point = tuple[float, float, float]
Item = RigidBody | SoftBody | Joint


def make_maggot(
    name: str, place: Point, phase: float, resolution: int, color: Point, heading: float = 0.0, amplitude: float = 35.0
) -> dict[str, Item]:
    """A level maggot of three bones, its middle at ``place``, turned about y by ``heading`` [degrees] from x, which
    bends its joints by ``amplitude`` [degrees]."""
    c, s = math.cos(math.radians(heading)), math.sin(math.radians(heading))

    def at(along: float) -> Point:
        return (place[0] + along * c, place[1], place[2] - along * s)

    bones = [f"{name}-bone-{i}" for i in range(3)]
    places = [at((i - 1) * PITCH) for i in range(3)]
    turned = Rotation(axis=(0.0, 1.0, 0.0), degrees=heading)
    grip = Box(size=(0.08, 0.07, 0.07))
    objects: dict[str, Item] = {
        name: SoftBody(
            shape=Capsule(radius=RADIUS, length=2 * PITCH),
            position=place,
            # the capsule's axis y goes to the heading
            rotation=Rotation(axis=(s, 0.0, c), degrees=90.0),
            element_size=2 * RADIUS / resolution,
            density=1000.0,
            youngs_modulus=3e4,
            poisson_ratio=0.4,
            damping=0.01,
            friction=0.6,
            embed=True,
            holds=tuple(
                Hold(shape=grip, position=p, rotation=turned, body=bone) for bone, p in zip(bones, places, strict=True)
            ),
            color=color,
        )
    }
    for bone, p in zip(bones, places, strict=True):
        objects[bone] = RigidBody(
            shape=Box(size=(0.07, 0.03, 0.03)), position=p, rotation=turned, density=6000.0, color=color
        )
    for i in range(2):
        objects[f"{name}-joint-{i}"] = Joint(
            kind="hinge",
            parent=bones[i],
            child=bones[i + 1],
            position=at((i - 0.5) * PITCH),
            axis=(s, 0.3, c),
            control=Control(
                target=Sine(amplitude=amplitude, frequency=1.5, phase=phase + 0.4 * math.pi * i),
                stiffness=40.0,
                damping=1.5,
            ),
        )
    return objects


def make_ground() -> RigidBody:
    """What maggots lie on."""
    return RigidBody(
        shape=Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, 0.0, 0.0), friction=0.6, color=(0.72, 0.70, 0.66)
    )


def make_scene(resolution: int = 3, amplitude: float = 35.0) -> Scene:
    """``resolution`` elements across the body of 0.12 m, which bends its joints by ``amplitude`` [degrees]."""
    maggot = make_maggot("maggot", (0.0, RADIUS + 0.01, 0.0), 0.0, resolution, (0.9, 0.85, 0.7), amplitude=amplitude)
    return Scene(
        name="maggot",
        **CARD,
        time=Time(end=3.0, frame_rate=24, max_step=1 / 240),
        soft=Soft(tolerance=0.01),
        objects={"ground": make_ground(), **maggot},
        view=View(camera=Camera(position=(0.3, 0.45, 0.9), look_at=(0.0, 0.08, 0.0))),
    )
