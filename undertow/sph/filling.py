"""Room for bodies in a fluid: a body displaces its own volume of particles, whatever its size, shape and place.

A fluid starts as a lattice. Of its places those deepest in a body are cleared, as many as the body's volume holds;
places that are left nearer to its surface than the radius of a particle are moved out to that distance along the
normal. They then crowd their neighbours, until the particles are let settle around the body (``DirectForcing.settle``).

Clearing all places nearer than a radius would be simpler and clears the body's volume too where its faces lie on the
lattice; elsewhere it leaves a gap of up to a spacing all around. Under a free surface the fluid closes it, in a full
box nothing does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any

import numpy as np

from undertow.grid import Array

Distance = Callable[[Array], Array]

PARTS = 3
"""Parts of a cell along each axis, in which the share inside a body is measured."""

_ROUNDS = 4
"""Of moving out: what leaves one body may enter another."""


def share_inside(distance: Distance, depth: Array, places: Array, spacing: float, dimensions: int) -> Array:
    """Share (n,) of the cells of places (n, 3) [m] that lies in the body with the signed distance; depth (n,) [m]: at
    the places.

    A part of a cell counts as far as a plane at its distance, across an axis, leaves it inside: flat faces are exact,
    the volume of a ball is too large by 1 / (3 PARTS^2 R^2) (R in spacings).
    """
    inside = np.where(depth < 0.0, 1.0, 0.0)
    cut = np.flatnonzero(np.abs(depth) < 0.5 * sqrt(dimensions) * spacing)
    steps = ((np.arange(PARTS) + 0.5) / PARTS - 0.5) * spacing
    axes = [steps] * dimensions + [np.zeros(1)] * (3 - dimensions)
    offsets = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    total = np.zeros(len(cut))
    for offset in offsets:
        total += np.clip(0.5 - distance(places[cut] + offset) * (PARTS / spacing), 0.0, 1.0)
    inside[cut] = total / len(offsets)
    return inside


def deepest(depth: Array, wanted: int, spacing: float) -> Any:
    """Which of the places with distances (n,) [m] are the ``wanted`` deepest; among equals an even selection."""
    chosen = np.zeros(len(depth), dtype=bool)
    wanted = min(wanted, len(depth))
    if wanted <= 0:
        return chosen
    # distances that differ by rounding alone are equal
    rank = np.round(depth / (1e-6 * spacing))
    level = np.partition(rank, wanted - 1)[wanted - 1]
    chosen[rank < level] = True
    left = wanted - int(np.count_nonzero(chosen))
    equal = np.flatnonzero(rank == level)
    chosen[equal[((np.arange(left) + 0.5) * len(equal) / left).astype(int)]] = True
    return chosen


def move_out(places: Array, bodies: Sequence[Distance], radius: float, lower: Array, upper: Array) -> tuple[Array, Any]:
    """Places (n, 3) [m] moved to a distance of at least ``radius`` [m] from bodies and walls; whether each got there.

    lower, upper (3,): corners of the room for centres [m], infinite where there is no wall.
    """
    moved = np.array(places, dtype=float)
    for _ in range(_ROUNDS):
        for distance in bodies:
            short = radius - distance(moved)
            rows = np.flatnonzero(short > 0.0)
            if len(rows):
                moved[rows] += short[rows, None] * _normal(distance, moved[rows], radius)
        moved = np.clip(moved, lower, upper)
    room = np.ones(len(moved), dtype=bool)
    for distance in bodies:
        room &= distance(moved) > 0.98 * radius
    return moved, room


def _normal(distance: Distance, points: Array, radius: float) -> Array:
    """Unit normals (n, 3) of the body at points; zero where it has none. In 2D the distance does not change along z."""
    h = 0.1 * radius
    slope = np.zeros_like(points)
    for axis in range(3):
        ahead = np.zeros(3)
        ahead[axis] = h
        slope[:, axis] = distance(points + ahead) - distance(points - ahead)
    size = np.linalg.norm(slope, axis=1, keepdims=True)
    return np.asarray(np.where(size > h, slope / np.maximum(size, 1e-300), 0.0))
