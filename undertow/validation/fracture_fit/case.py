"""Fragments fit: put back together they leave no gaps, do not overlap, and stand without glue."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.geometry import (
    PATTERNS,
    Box,
    Fragment,
    Shape,
    Torus,
    align_pattern,
    break_shape,
    make_bunny,
    make_gear,
    make_hull,
    make_pattern,
)
from undertow.validation.analysis import Array, Quantity, quantity

RATE = 60
SIZE = (1.2, 0.8, 0.3)
"""Of the wall that is broken and stands [m]."""

SMOKE = {"RATE": 2}


def make_bodies() -> dict[str, Shape]:
    """What is broken and put together."""
    hull = make_hull(np.random.Generator(np.random.Philox(key=5)).normal(size=(16, 3)))
    return {
        "hull": hull,
        "torus": Torus(0.5, 0.2),
        "gear": make_gear(0.5, 0.3, 9, 0.2, 0.4),
        "bunny": make_bunny(1.0),
    }


def measure_fit(shape: Shape, name: str) -> tuple[float, float]:
    """Largest gap and overlap over the size: signed distances of points on faces of fracture from the nearest other
    fragment, outside and inside of it."""
    lower, upper = shape.bounds()
    placed = align_pattern(
        make_pattern(name, seed=4, pieces=12), (lower, upper), 0.6 * upper + 0.4 * lower, (0.2, 1.0, -0.5)
    )
    fragments = break_shape(shape, placed)
    gap = overlap = 0.0
    for f in fragments:
        points = f.to_parent(points_on(f))
        nearest = np.full(len(points), np.inf)
        for other in fragments:
            if other is not f:
                nearest = np.minimum(nearest, other.shape.distance((points - other.offset) @ other.rotation))
        gap, overlap = max(gap, float(nearest.max())), max(overlap, -float(nearest.min()))
    size = float(np.max(upper - lower))
    return gap / size, overlap / size


def points_on(fragment: Fragment) -> Array:
    """Corners and middles of the triangles that the fracture has made (n, 3), in the fragment's frame."""
    vertices, triangles = fragment.shape.surface()
    made = vertices[triangles[fragment.interior_t]]
    return np.concatenate([made.reshape(-1, 3), made.mean(axis=1)])


def stand(name: str, friction: float, duration: float) -> tuple[float, int]:
    """Largest motion [m] of the pieces of a wall that stand on the ground where they broke, and how many there are."""
    wall = Box(SIZE)
    pattern = make_pattern(name, seed=2, pieces=16)
    point, normal = (0.1, 0.05, 0.5 * SIZE[2]), (0.0, 0.0, 1.0)
    fragments = break_shape(wall, align_pattern(pattern, wall.bounds(), point, normal))
    objects = {"ground": ut.RigidBody(shape=ut.Plane(normal=(0, 1, 0)), position=(0, 0, 0), friction=friction)}
    for n, f in enumerate(fragments):
        corners = f.to_parent(f.shape.surface()[0]) - f.offset
        objects[f"piece-{n}"] = ut.RigidBody(
            shape=ut.Hull(points=tuple(map(tuple, corners.tolist()))),
            position=tuple((f.offset + (0.0, 0.5 * SIZE[1], 0.0)).tolist()),
            density=2000.0,
            friction=friction,
        )
    time = ut.Time(end=duration, fixed_step=1.0 / RATE)
    sim = ut.Simulation(ut.Scene(name="fit", time=time, objects=objects, solids=ut.Solids()))
    start = {key: sim.body(key).position for key in objects if key != "ground"}
    moved = 0.0
    for _ in range(round(duration * RATE)):
        sim.step()
        moved = max(moved, *(float(np.linalg.norm(sim.body(key).position - x)) for key, x in start.items()))
    return moved, len(fragments)


def run(full: bool = False) -> Iterator[Quantity]:
    """Four bodies by each of the patterns; a wall of bricks, and a wall of rays and rings so rough that none of their
    faces slides on another, for a second."""
    fits = {(b, p): measure_fit(shape, p) for b, shape in make_bodies().items() for p in PATTERNS}
    for k, word in enumerate(("gap", "overlap")):
        worst = max(fits, key=lambda key: fits[key][k])
        yield quantity(word, fits[worst][k], body=worst[0], pattern=worst[1])
    for name, friction in (("brick", 0.8), ("radial", 2.0)):
        moved, count = stand(name, friction, 1.0)
        yield quantity(f"moved_{name}", moved / max(SIZE), pieces=count)
