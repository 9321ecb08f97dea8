"""The surfaces of rigid bodies as triangles, in 2D edges: where walls really are, whatever the nodes of a grid see.

Taken from the shapes once, in pieces of a few cells; what lies inside the body itself, where its parts overlap, is left
out. Chords about what is round are moved out until they enclose the true volume: then int (g.x) n dA over all of a body
is g V about its true centre of volume.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from undertow.coupling.coupled_bodies import CoupledBodies
from undertow.coupling.pieces import SurfaceSpec
from undertow.geometry import Solid
from undertow.grid import Array, Grid

LONGEST = 4.0
"""Longest edge of an element [cells]."""

TWICE = 1e-6
"""A surface around so much more than its body's volume has parts inside the body."""

HALVINGS = 4
"""How often elements that cross another part of their body are halved before they count to one side."""

CHORD = 0.02
"""Chords of curved surfaces lie deeper than their corners by less than this part of their length, and of a cell by five
times that."""


class BodySurfaces:
    """Elements of the surfaces of solids in their own frames.

    corners (m, k, 3): in the frame of their body [m]. body (m,): whose they are.
    """

    def __init__(self, grid: Grid, solids: Sequence[Solid], coupled: CoupledBodies, chosen_b: np.ndarray) -> None:
        """chosen_b (n,): bodies that have a surface here; the first of them are the solids."""
        self.grid, self.solids = grid, solids
        k = grid.dimensions
        found, body = [np.zeros((0, k, 3))], [np.zeros(0, np.int64)]
        for b in np.flatnonzero(chosen_b[: len(solids)]).tolist():
            corners = self._make(solids[b], float(coupled.volume_b[b]))
            found.append(corners)
            body.append(np.full(len(corners), b))
        self.corners, self.body = np.concatenate(found), np.concatenate(body)
        self._element = np.arange(self.corners.size // 3).reshape(-1, k)

    def _make(self, solid: Solid, volume: float) -> Array:
        """Elements (m, k, 3) around the true volume."""
        position, rotation = solid.motion.pose(0.0)
        if self.grid.dimensions == 2:
            loops = solid.shape.section(rotation).as_loops()
            corners = np.concatenate([np.stack([loop, np.roll(loop, -1, axis=0)], axis=1) for loop in loops]) @ rotation
        else:
            vertices, triangles = solid.shape.surface()
            corners = vertices[triangles]
        whole = enclosed(corners, rotation)[0]
        corners, tolerance = halve(corners, longest(corners) > LONGEST * self.grid.dx, self.grid.dx)
        while np.any(long := longest(corners) > LONGEST * self.grid.dx):
            corners, tolerance = halve(corners, long, self.grid.dx, tolerance)
        if whole > (1.0 + TWICE) * volume:
            corners = self._outside(solid, corners, tolerance)
        found, centre = enclosed(corners, rotation)
        if found > 0.0:
            factor = (volume / found) ** (1.0 / self.grid.dimensions)
            corners = centre + factor * (corners - centre)
        return np.ascontiguousarray(corners)

    def _outside(self, solid: Solid, corners: Array, tolerance: Array) -> Array:
        """What lies on the surface of the union of the body's parts."""
        for _ in range(HALVINGS):
            inside = solid.shape.distance(corners.reshape(-1, 3)).reshape(corners.shape[:2]) < -tolerance[:, None]
            kept = ~np.all(inside, axis=1)
            corners, tolerance, crossing = corners[kept], tolerance[kept], np.any(inside[kept], axis=1)
            corners, tolerance = halve(corners, crossing, self.grid.dx, tolerance)
        return corners[solid.shape.distance(corners.mean(axis=1)) >= -tolerance]

    def place(self, time: float) -> SurfaceSpec:
        """The elements where the bodies are now."""
        x = self.corners.copy()
        for b in np.unique(self.body):
            position, rotation = self.solids[b].motion.pose(time)
            of = self.body == b
            x[of] = x[of] @ rotation.T + position
        return SurfaceSpec(self._element, x.reshape(-1, 3), np.zeros((1, 3)))


def longest(corners: Array) -> Array:
    """Longest edge (m,) [m] of elements (m, k, 3)."""
    return np.asarray(np.linalg.norm(corners - np.roll(corners, -1, axis=1), axis=2).max(axis=1))


def halve(corners: Array, chosen: np.ndarray, dx: float, tolerance: Array | None = None) -> tuple[Array, Array]:
    """Elements (m, k, 3), those that are ``chosen`` cut in two across their longest edge, and how deep the chords of
    each may lie (m,) [m]: as of the elements that they are parts of."""
    if tolerance is None:
        tolerance = CHORD * np.minimum(longest(corners), 5.0 * dx)
    whole, k = corners[chosen], corners.shape[1]
    edge = np.linalg.norm(whole - np.roll(whole, -1, axis=1), axis=2)[:, : 1 if k == 2 else 3].argmax(axis=1)
    rows, following = np.arange(len(whole)), (edge + 1) % k
    middle = 0.5 * (whole[rows, edge] + whole[rows, following])
    first, second = whole.copy(), whole.copy()
    first[rows, following], second[rows, edge] = middle, middle
    return (
        np.concatenate([corners[~chosen], first, second]),
        np.concatenate([tolerance[~chosen], tolerance[chosen], tolerance[chosen]]),
    )


def enclosed(corners: Array, rotation: Array) -> tuple[float, Array]:
    """Volume [m3; 2D m2] inside elements (m, k, 3) and its centre (3,); rotation (3, 3): to the plane of a 2D grid."""
    origin = corners.reshape(-1, 3).mean(axis=0)
    p = corners - origin
    if corners.shape[1] == 2:
        # edges about the axis that the rotation turns to z
        part = 0.5 * np.cross(p[:, 0], p[:, 1]) @ rotation[2]
        middle = p.sum(axis=1) / 3.0
    else:
        part = np.einsum("mi,mi->m", p[:, 0], np.cross(p[:, 1], p[:, 2])) / 6.0
        middle = p.sum(axis=1) / 4.0
    volume = float(part.sum())
    return volume, origin + (part @ middle) / volume if volume > 0.0 else origin
