"""A semicircular arch of 15 stones without mortar: stands if it is thicker than Heyman's limit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.geometry import MeshShape, Plane
from undertow.solids import SolidsWorld
from undertow.validation.analysis import Quantity, quantity

STONES = 15
RADIUS = 1.0
"""Of the centre line [m]."""
DEPTH = 0.4
RATE = 240


def stone(thickness: float) -> MeshShape:
    """The wedge between two joints, symmetric about the y axis, with the origin in the middle of the arch."""
    half = 0.5 * np.pi / STONES
    inner, outer = RADIUS - 0.5 * thickness, RADIUS + 0.5 * thickness
    outline = [
        (r * np.sin(a), r * np.cos(a)) for r, a in ((inner, -half), (inner, half), (outer, half), (outer, -half))
    ]
    vertices = np.array([(x, y, z) for z in (-0.5 * DEPTH, 0.5 * DEPTH) for x, y in outline])
    quads = [(3, 2, 1, 0), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)]
    triangles = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    return MeshShape(vertices, np.array(triangles), "stone")


def build(thickness: float) -> SolidsWorld:
    """The arch on the ground; its lowest joints are the two that touch it."""
    world = SolidsWorld()
    world.add("ground", Plane(), friction=0.7)
    shape = stone(thickness)
    for i in range(STONES):
        angle = 0.5 * np.pi - (i + 0.5) * np.pi / STONES
        R = np.array([[np.cos(angle), -np.sin(angle), 0.0], [np.sin(angle), np.cos(angle), 0.0], [0.0, 0.0, 1.0]])
        world.add(f"stone {i}", shape, rotation=R, density=2000.0, friction=0.7)
    return world


def largest_move(thickness: float, duration: float, enough: float) -> tuple[float, float]:
    """(largest motion of a stone / radius, time [s]); stops when it is ``enough``."""
    world = build(thickness)
    x = world.bodies.x_b.copy()
    moved = 0.0
    for _ in range(round(duration * RATE)):
        world.step(1.0 / RATE)
        moved = float(np.linalg.norm(world.bodies.x_b - x, axis=1).max()) / RADIUS
        if moved > enough:
            break
    return moved, world.time


def run(full: bool = False) -> Iterator[Quantity]:
    """10 s at thickness / radius 0.15 and 0.08; with ``full`` also closer to the limit."""
    moved, _ = largest_move(0.15, 10.0, 0.5)
    yield quantity("motion_thick", moved, thickness=0.15)
    moved, time = largest_move(0.08, 10.0, 0.5)
    yield quantity("motion_thin", moved, thickness=0.08, time=time)
    for thickness in (0.095, 0.10, 0.115, 0.12) if full else ():
        moved, time = largest_move(thickness, 10.0, 0.5)
        yield quantity(f"motion_{thickness}", moved, info=True, time=time)
