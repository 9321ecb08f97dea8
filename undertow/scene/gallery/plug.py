"""A ball sinks into the neck of an hour-glass and stops the water that runs through it."""

from __future__ import annotations

import numpy as np

from undertow.scene.domain import Domain
from undertow.scene.objects import RigidBody, Water
from undertow.scene.scene import Fluid, Scene, Surface, Time, View
from undertow.scene.shapes import Box, Hull, Sphere, Torus

CARD = {
    "description": "a ball sinks into the neck of an hour-glass and stops the water that runs through it",
    "source": "Carlson, Mucha and Turk 2004, section 8 (named there as what their method cannot do)",
    "cost": "about 5 minutes (64 x 128 x 64: 6 s of processor time per frame)",
}

WIDTH, HEIGHT = 0.5, 1.0
MIDDLE = 0.45
"""Height of the neck over the floor [m]."""
RING, TUBE = 0.1, 0.045
"""The lip of the neck is a torus: radius of its centre line and of its tube [m]; the neck is 0.055 m wide."""
BEADS, STEP = 6, 3e-4
"""Beads in the lip that the ball lies on, and how far they stand out [m]: pairs of round bodies touch in one point."""
SLOPE, SECTORS = 1.1, 12
"""Rise of the glass over its radius; pieces that it is made of."""
RADIUS = 0.09
"""Of the ball [m]."""
DROP = 0.12
"""From where the ball starts to where it plugs the neck [m]."""


def seat() -> float:
    """Height of the ball's centre over the middle of the neck where it touches the beads [m]."""
    return float(np.sqrt((RADIUS + TUBE + STEP) ** 2 - RING**2))


def touch() -> float:
    """Height over the middle of the neck at which the ball in its seat meets the lip [m]."""
    return seat() * TUBE / (RADIUS + TUBE)


def _sector(index: int) -> Hull:
    """A piece of the glass from the lip out, about the middle of the neck."""
    outer = 0.75 * WIDTH
    rise = TUBE + SLOPE * (outer - RING)
    half = np.pi / SECTORS
    points = []
    for turn in (-half, half):
        angle = 2 * half * (index + 0.5) + turn
        along = np.array([np.cos(angle), 0.0, np.sin(angle)])
        for reach, height in ((RING, TUBE), (outer, rise)):
            points += [reach * along + (0.0, height, 0.0), reach * along - (0.0, height, 0.0)]
    return Hull(points=tuple(tuple(round(float(x), 9) for x in point) for point in points))


def make_scene(drop: float = DROP, resolution: int = 32) -> Scene:
    """The hour-glass in a square tank, water above the neck, the ball ``drop`` [m] over its seat; seen in section."""
    x, z = WIDTH / 2, WIDTH / 2
    low, high = MIDDLE + touch(), 0.85
    glass = {
        f"glass{i:02d}": RigidBody(shape=_sector(i), position=(x, MIDDLE, z), color=(0.80, 0.84, 0.86))
        for i in range(SECTORS)
    }
    ring = 2 * np.pi * (np.arange(BEADS) + 0.5) / BEADS
    beads = {
        f"bead{i}": RigidBody(
            shape=Sphere(radius=TUBE + STEP), color=(0.80, 0.84, 0.86),
            position=(round(x + RING * float(np.cos(angle)), 9), MIDDLE, round(z + RING * float(np.sin(angle)), 9)),
        )
        for i, angle in enumerate(ring)
    }  # fmt: skip
    return Scene(
        name="plug",
        **CARD,
        coupling="monolithic",
        domain=Domain(
            upper=(WIDTH, HEIGHT, WIDTH), resolution=resolution, resolution_along="x", sides={"y_high": "open"}
        ),
        time=Time(end=3.0, frame_rate=30.0),
        fluid=Fluid(density=998.2, tolerance=1e-4, advection="semi_lagrangian"),
        surface=Surface(volume_bound=0.5),
        objects={
            "pool": Water(
                shape=Box(size=(2 * WIDTH, high - low, 2 * WIDTH)), position=(x, 0.5 * (high + low), z)
            ),
            "lip": RigidBody(
                shape=Torus(radius=RING, tube=TUBE), position=(x, MIDDLE, z), color=(0.80, 0.84, 0.86)
            ),
            **beads,
            **glass,
            "ball": RigidBody(
                shape=Sphere(radius=RADIUS), position=(x, MIDDLE + seat() + drop, z), density=2500.0,
                color=(0.80, 0.30, 0.22),
            ),
        },
        view=View(field="level_set"),
    )  # fmt: skip
