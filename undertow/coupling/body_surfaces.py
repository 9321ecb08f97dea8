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

HALVINGS = 6
"""How often the edges of elements that cross another part of their body are halved before they count to one side."""

CHORD = 0.02
"""Chords of curved surfaces lie deeper than their corners by less than this part of their length, and of a cell by five
times that."""


class BodySurfaces:
    """Elements of the surfaces of solids in their own frames.

    corners (m, k, 3): in the frame of their body [m]. body (m,): whose they are. part (m,): how much of its area each
    stands for, 1 but about the edges between parts of a body: surfaces are closed.
    """

    def __init__(self, grid: Grid, solids: Sequence[Solid], coupled: CoupledBodies, chosen_b: np.ndarray) -> None:
        """chosen_b (n,): bodies that have a surface here; the first of them are the solids."""
        self.grid, self.solids = grid, solids
        k = grid.dimensions
        found, body, part = [np.zeros((0, k, 3))], [np.zeros(0, np.int64)], [np.zeros(0)]
        for b in np.flatnonzero(chosen_b[: len(solids)]).tolist():
            corners, of = self._make(solids[b], float(coupled.volume_b[b]))
            found.append(corners)
            part.append(of)
            body.append(np.full(len(corners), b))
        self.corners, self.body, self.part = (np.concatenate(arrays) for arrays in (found, body, part))
        self._element = np.arange(self.corners.size // 3).reshape(-1, k)

    def _make(self, solid: Solid, volume: float) -> tuple[Array, Array]:
        """Elements (m, k, 3) around the true volume, and how much of its area each stands for (m,)."""
        position, rotation = solid.motion.pose(0.0)
        if self.grid.dimensions == 2:
            loops = solid.shape.section(rotation).as_loops()
            corners = np.concatenate([np.stack([loop, np.roll(loop, -1, axis=0)], axis=1) for loop in loops]) @ rotation
        else:
            vertices, triangles = solid.shape.surface()
            corners = vertices[triangles]
        first, origin = corners, np.arange(len(corners))
        while np.any(long := longest(corners) > LONGEST * self.grid.dx):
            corners, origin = halve(corners, origin, long)
        part = np.ones(len(corners))
        if enclosed(first, np.ones(len(first)), rotation)[0] > (1.0 + TWICE) * volume:
            corners = self._outside(solid, Sides(first, rotation), corners, origin)
            part = close(corners, rotation, volume)
        found, centre = enclosed(corners, part, rotation)
        if found > 0.0:
            factor = (volume / found) ** (1.0 / self.grid.dimensions)
            corners = centre + factor * (corners - centre)
        return np.ascontiguousarray(corners), part

    def _outside(self, solid: Solid, sides: Sides, corners: Array, origin: np.ndarray) -> Array:
        """What lies on the surface of the union of the body's parts, once; origin (m,): the side each is a part of."""
        depth = CHORD * np.minimum(longest(sides.corners), 5.0 * self.grid.dx)

        def covered(points: Array, own: np.ndarray) -> np.ndarray:
            return np.asarray((solid.shape.distance(points) < -depth[own]) | sides.lie_on_earlier(points, own))

        k = corners.shape[1]
        # cut in two across one edge at a time
        for _ in range(HALVINGS * (k - 1)):
            hidden = covered(corners.reshape(-1, 3), np.repeat(origin, k)).reshape(-1, k)
            kept = ~np.all(hidden, axis=1)
            corners, origin, crossing = corners[kept], origin[kept], np.any(hidden[kept], axis=1)
            corners, origin = halve(corners, origin, crossing)
        return corners[~covered(corners.mean(axis=1), origin)]

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


def halve(corners: Array, origin: np.ndarray, chosen: np.ndarray) -> tuple[Array, np.ndarray]:
    """Elements (m, k, 3), those that are ``chosen`` cut in two across their longest edge, and their origins (m,)."""
    whole, k = corners[chosen], corners.shape[1]
    edge = np.linalg.norm(whole - np.roll(whole, -1, axis=1), axis=2)[:, : 1 if k == 2 else 3].argmax(axis=1)
    rows, following = np.arange(len(whole)), (edge + 1) % k
    middle = 0.5 * (whole[rows, edge] + whole[rows, following])
    first, second = whole.copy(), whole.copy()
    first[rows, following], second[rows, edge] = middle, middle
    halves = np.concatenate([corners[~chosen], first, second])
    return halves, np.concatenate([origin[~chosen], origin[chosen], origin[chosen]])


class Sides:
    """The elements (m, k, 3) of a surface whose parts may lie on each other; rotation (3, 3): to the plane of 2D."""

    def __init__(self, corners: Array, rotation: Array) -> None:
        self.corners = corners
        along = corners[:, 1] - corners[:, 0]
        # an edge in 2D is a strip along z
        other = np.broadcast_to(rotation[2], along.shape) if corners.shape[1] == 2 else corners[:, 2] - corners[:, 0]
        normal = area_vectors(corners, rotation)
        self._normal = normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
        self._inverse = np.linalg.pinv(np.stack([along, other], axis=2))
        self._flat = 1e-6 * float(longest(corners).max())

    def lie_on_earlier(self, points: Array, own: np.ndarray) -> np.ndarray:
        """Whether points (n, 3) of sides ``own`` (n,) lie within an earlier side that faces the same way."""
        found = np.zeros(len(points), dtype=bool)
        for s, normal in enumerate(self._normal):
            near = np.flatnonzero((own > s) & (np.abs((points - self.corners[s, 0]) @ normal) < self._flat))
            near = near[self._normal[own[near]] @ normal > 1.0 - 1e-9]
            part = (points[near] - self.corners[s, 0]) @ self._inverse[s].T
            if self.corners.shape[1] == 2:
                inside = (part[:, 0] > 1e-9) & (part[:, 0] < 1.0 - 1e-9)
            else:
                inside = (part > 1e-9).all(axis=1) & (part.sum(axis=1) < 1.0 - 1e-9)
            found[near[inside]] = True
        return found


def area_vectors(corners: Array, rotation: Array) -> Array:
    """Area vectors (m, 3) [m2; 2D m] of elements (m, k, 3), out of the body."""
    along = corners[:, 1] - corners[:, 0]
    if corners.shape[1] == 2:
        return np.asarray(np.cross(along, rotation[2]))
    return np.asarray(0.5 * np.cross(along, corners[:, 2] - corners[:, 0]))


def close(corners: Array, rotation: Array, volume: float) -> Array:
    """Factors (m,) of the areas of elements, next to 1, with which their area vectors add up to nothing and, times
    where they are, to the volume: sum A n = 0 and sum x A n^T = V."""
    dimensions = corners.shape[1]
    area = area_vectors(corners, rotation)
    size = np.maximum(np.linalg.norm(area, axis=1), 1e-300)
    x = corners.mean(axis=1)
    x = (x - x.mean(axis=0)) / volume ** (1.0 / dimensions)
    rows = np.concatenate([np.ones((len(x), 1)), x], axis=1)[:, :, None] * (area / size[:, None])[:, None, :]
    rows = rows.reshape(len(x), -1)
    plane = np.eye(3) if dimensions == 3 else np.eye(3) - np.outer(rotation[2], rotation[2])
    wanted = np.concatenate([np.zeros((1, 3)), plane * volume ** (1.0 - 1.0 / dimensions)]).reshape(-1)
    matrix = rows.T @ (size[:, None] * rows)
    return np.asarray(1.0 + rows @ (np.linalg.pinv(matrix, rcond=1e-10, hermitian=True) @ (wanted - size @ rows)))


def enclosed(corners: Array, part: Array, rotation: Array) -> tuple[float, Array]:
    """Volume [m3; 2D m2] inside elements (m, k, 3), of each so much (m,), and its centre (3,); rotation (3, 3): to the
    plane of a 2D grid."""
    dimensions = corners.shape[1]
    origin = corners.reshape(-1, 3).mean(axis=0)
    p = corners - origin
    cone = part * np.einsum("mi,mi->m", p[:, 0], area_vectors(corners, rotation)) / dimensions
    volume = float(cone.sum())
    middle = p.sum(axis=1) / (dimensions + 1.0)
    return volume, origin + (cone @ middle) / volume if volume > 0.0 else origin
