"""Soft and rigid balls and rings and loops of jointed rods fall on pegs."""

from __future__ import annotations

import math
import random

from undertow.scene.gallery.chain_twist import Item, Point, make_loop
from undertow.scene.motion import Rotation
from undertow.scene.objects import RigidBody
from undertow.scene.scene import Camera, Output, Scene, Solids, Time, View
from undertow.scene.shapes import Capsule, Plane, Sphere, Torus
from undertow.scene.soft import Soft, SoftBody

CARD = {
    "description": "soft and rigid balls and rings and loops of jointed rods fall on 25 pegs; 60 bodies, 5k tets",
    "source": "Schroeder 2011, thesis, figure 4.6 (1600 bodies)",
    "cost": "about ten minutes; --resolution N: of each of the five kinds, 160 in the thesis",
}

SPACING, PEGS, GAP = 0.24, 5, 0.2
"""Distances of the bodies at the start and of the pegs [m]; pegs along a side."""
COLORS = ((0.80, 0.36, 0.22), (0.88, 0.70, 0.30), (0.36, 0.58, 0.42), (0.62, 0.40, 0.62), (0.25, 0.46, 0.66))


def make_pegs() -> dict[str, Item]:
    """The ground and 5 x 5 round pegs on it."""
    objects: dict[str, Item] = {
        "ground": RigidBody(shape=Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, 0.0, 0.0), color=(0.7, 0.7, 0.7))
    }
    for i in range(PEGS * PEGS):
        row, column = divmod(i, PEGS)
        middle = 0.5 * (PEGS - 1)
        objects[f"peg-{i:02d}"] = RigidBody(
            shape=Capsule(radius=0.02, length=0.2),
            position=((column - middle) * GAP, 0.1, (row - middle) * GAP),
            color=(0.55, 0.50, 0.44),
        )
    return objects


def make_body(name: str, kind: int, place: Point, rotation: Rotation, elements: int, color: Point) -> dict[str, Item]:
    """A soft ball, soft ring, loop, rigid ball or rigid ring, 0.16 m wide."""
    if kind == 2:
        return make_loop(name, place, rotation, 0.075, 0.014, color)
    shape = Sphere(radius=0.08) if kind in (0, 3) else Torus(radius=0.055, tube=0.025 if kind == 1 else 0.02)
    if kind > 2:
        tone = (0.72, 0.74, 0.78) if kind == 3 else (0.25, 0.40, 0.72)
        return {name: RigidBody(shape=shape, position=place, rotation=rotation, density=1000.0, color=tone)}
    body = SoftBody(
        shape=shape,
        position=place,
        rotation=rotation,
        element_size=(0.16 if kind == 0 else 0.075) / elements,
        density=1000.0,
        youngs_modulus=3e4,
        poisson_ratio=0.4,
        damping=0.01,
        color=color,
    )
    return {name: body}


def make_scene(resolution: int = 6, elements: int = 3, end: float = 2.0) -> Scene:
    """``resolution`` bodies of each kind, a loop counting once; soft ones with ``elements`` across; ``end`` [s]."""
    draw = random.Random(11)
    across = max(2, min(4, math.ceil((5 * resolution / 2) ** (1 / 3))))
    objects = make_pegs()
    kinds = [kind for kind in range(5) for _ in range(resolution)]
    draw.shuffle(kinds)
    for i, kind in enumerate(kinds):
        layer, cell = divmod(i, across * across)
        row, column = divmod(cell, across)
        middle = 0.5 * (across - 1)
        place = (
            (column - middle) * SPACING + draw.uniform(-0.02, 0.02),
            0.36 + layer * SPACING,
            (row - middle) * SPACING + draw.uniform(-0.02, 0.02),
        )
        axis = (draw.gauss(0, 1), draw.gauss(0, 1), draw.gauss(0, 1))
        rotation = Rotation(axis=axis, degrees=draw.uniform(0, 180))
        objects |= make_body(f"body-{i:03d}", kind, place, rotation, elements, COLORS[i % len(COLORS)])
    return Scene(
        name="pile-1600",
        **CARD,
        time=Time(end=end, frame_rate=24, max_step=1 / 240),
        soft=Soft(tolerance=0.02),
        solids=Solids(tolerance=1e-3, iterations=30),
        objects=objects,
        output=Output(bodies="frames"),
        view=View(camera=Camera(position=(1.0, 0.9, 1.7), look_at=(0.0, 0.2, 0.0))),
    )
