"""Elements of the surfaces of bodies, triangles and in 2D edges, on which tractions and pressures act."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.geometry.shape import Shape
from undertow.grid import Array

FINE = 96
"""How finely the surface of a rigid body is cut into triangles that traction and pressure act on."""

INSIDE = 1e-9
"""Distance [m] from a region up to which a surface element lies in it."""

COARSE = 1.0 / 8.0
"""Longest edge of an element that is given away as a whole, as part of the size of all of them."""

HALVINGS = 5
"""How often an element that lies in several parts is divided."""

INSET = 1e-3
"""How far from their corners elements are asked where they lie, as part of the way to their middle."""


def area_vectors(p: Array) -> Array:
    """Area times outward normal (m, 3) of triangles (m, 3, 3) [m2], or of edges (m, 2, 3) of 2D outlines that run
    counterclockwise [m]."""
    if p.shape[1] == 3:
        return np.asarray(0.5 * np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]))
    along = p[:, 1] - p[:, 0]
    return np.stack([along[:, 1], -along[:, 0], 0.0 * along[:, 0]], axis=1)


def chosen_elements(where: str, p: Array, region: Callable[[Array], Array] | None) -> Any:
    """Which of the elements (m, k, 3) have their centre in a region (m,)."""
    inside = np.ones(len(p), dtype=bool) if region is None else region(p.mean(axis=1)) <= INSIDE
    if not inside.any():
        raise UserError(f"{where}: no element of the surface has its centre in the region; move or enlarge it")
    return inside


def surface_elements(shape: Shape, position: Array, rotation: Array, dimensions: int) -> Array:
    """The surface of a shape in a pose: triangles (m, 3, 3), in 2D edges (m, 2, 3) of its outline [m]."""
    if dimensions == 3:
        vertices, triangles = shape.surface(FINE)
        return np.asarray((vertices @ rotation.T + position)[triangles])
    loops = shape.section(rotation).as_loops()
    edges = [np.stack([loop, np.roll(loop, -1, axis=0)], axis=1) for loop in loops]
    return np.asarray(np.concatenate(edges) + position)


def share_elements(p: Array, owner: Callable[[Array], Any], count: int) -> list[Array]:
    """Elements (m, k, 3) [m] parted among ``count`` owners of points (n, 3), whose numbers ``owner`` (n,) tells: those
    that lie in several are divided, and the smallest go to the owner of their middle. The sums of area vectors, and of
    their moments, stay what they were to rounding."""
    found: list[list[Array]] = [[p[:0]] for _ in range(count)]
    size = float(np.ptp(p.reshape(-1, 3), axis=0).max(initial=0.0))
    halvings = 0
    while len(p):
        middle = p.mean(axis=1)
        own = owner(middle)
        longest = np.linalg.norm(p - np.roll(p, 1, axis=1), axis=2).max(axis=1)
        whole = longest <= COARSE * size
        if whole.all():
            halvings += 1
        for corner in range(p.shape[1]) if halvings <= HALVINGS else ():
            whole &= owner(p[:, corner] + INSET * (middle - p[:, corner])) == own
        for n in np.unique(own[whole]).tolist():
            found[n].append(p[whole & (own == n)])
        p = _halve(p[~whole])
    return [np.concatenate(parts) for parts in found]


def _halve(p: Array) -> Array:
    """Four triangles (4 m, 3, 3) for each of (m, 3, 3), two edges (2 m, 2, 3) for each of (m, 2, 3)."""
    if p.shape[1] == 2:
        middle = p.mean(axis=1, keepdims=True)
        return np.concatenate([np.concatenate(pair, axis=1) for pair in ((p[:, :1], middle), (middle, p[:, 1:]))])
    a, b, c = p[:, 0], p[:, 1], p[:, 2]
    ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
    parts = (a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)
    return np.concatenate([np.stack(corners, axis=1) for corners in parts])
