"""The surfaces of rigid bodies as triangles, in 2D edges: where walls really are, whatever the nodes of a grid see.

Taken from the shapes once, in pieces of a few cells; what lies inside the body itself, where its parts overlap, is left
out. Chords about what is round are moved out until they enclose the true volume: then int (g.x) n dA over all of a body
is g V about its true centre of volume.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from undertow.geometry.pieces import SurfaceSpec
from undertow.geometry.shape import Placed
from undertow.geometry.solids import Solid
from undertow.grid import Array, Grid

LONGEST = 4.0
"""Longest edge of an element [cells]."""

TWICE = 1e-6
"""A surface around so much more than its body's volume has parts inside the body."""

HALVINGS = {2: 24, 3: 12}
"""How often elements of so many corners that cross another part of their body are halved before they count to one
side."""

CHORD = 0.02
"""Chords of curved surfaces lie deeper than their corners by less than this part of their length, and of a cell by five
times that."""


class BodySurfaces:
    """Elements of the surfaces of solids in their own frames.

    corners (m, k, 3): in the frame of their body [m]. body (m,): whose they are. part (m,): how much of its area each
    stands for, 1 but about the edges between parts of a body: surfaces are closed.
    """

    def __init__(
        self, grid: Grid, solids: Sequence[Solid], volume_b: Array, chosen_b: np.ndarray, time: float = 0.0
    ) -> None:
        """chosen_b (n,): bodies that have a surface here; the first of them are the solids. volume_b (n,): their true
        volumes [m3; 2D m2]. time [s]: of the shapes of those that deform."""
        self.grid, self.solids = grid, solids
        k = grid.dimensions
        found, body, part = [np.zeros((0, k, 3))], [np.zeros(0, np.int64)], [np.zeros(0)]
        for b in np.flatnonzero(chosen_b[: len(solids)]).tolist():
            corners, of = self._make(solids[b], float(volume_b[b]), time)
            found.append(corners)
            part.append(of)
            body.append(np.full(len(corners), b))
        self.corners, self.body, self.part = (np.concatenate(arrays) for arrays in (found, body, part))
        self.x = self.corners
        """Where the corners are in the world [m]."""

    def _make(self, solid: Solid, volume: float, time: float) -> tuple[Array, Array]:
        """Elements (m, k, 3) around the true volume, and how much of its area each stands for (m,)."""
        position, rotation = solid.motion.pose(time)
        rotation = plane_frame(rotation)
        shape = solid.shape_at(time)
        if shape.is_endless:
            # a block about the whole domain, of one size wherever its solid is
            lower, upper = np.array(self.grid.lower), np.array(self.grid.upper)
            reach = np.linalg.norm(np.maximum(np.abs(lower - position), np.abs(upper - position)))
            shape = shape.drawn_to(2.0 ** np.ceil(np.log2(1.5 * float(reach))))
        parts = shape.parts_of()
        first = [self._surface_of(part, rotation) for part in parts]
        origin = np.arange(sum(map(len, first)))
        whole = corners = np.concatenate(first)
        while np.any(long := longest(corners) > LONGEST * self.grid.dx):
            corners, origin = halve(corners, origin, long)
        part = np.ones(len(corners))
        if len(parts) > 1 or enclosed(whole, np.ones(len(whole)), rotation)[0] > (1.0 + TWICE) * volume:
            owner = np.repeat(np.arange(len(parts)), [len(found) for found in first])
            corners = self._outside(parts, Sides(whole, rotation), owner, corners, origin)
            part = close(corners, rotation, volume)
        found, centre = enclosed(corners, part, rotation)
        if found > 0.0 and np.isfinite(volume):
            factor = (volume / found) ** (1.0 / self.grid.dimensions)
            corners = centre + factor * (corners - centre)
        return np.ascontiguousarray(corners), part

    def _surface_of(self, part: Placed, rotation: Array) -> Array:
        """Corners (m, k, 3) in the frame of the body, which is turned by ``rotation`` (3, 3)."""
        shape, position, turn = part
        if self.grid.dimensions == 3:
            vertices, triangles = shape.surface()
            return np.asarray((vertices @ turn.T + position)[triangles])
        loops = [loop + rotation @ position * (1.0, 1.0, 0.0) for loop in shape.section(rotation @ turn).as_loops()]
        return np.concatenate([np.stack([loop, np.roll(loop, -1, axis=0)], axis=1) for loop in loops]) @ rotation

    def _outside(
        self, parts: Sequence[Placed], sides: Sides, owner: np.ndarray, corners: Array, origin: np.ndarray
    ) -> Array:
        """What lies on the surface of the union of the body's parts, once; origin (m,): the side each is a part of,
        owner: the part that a side is of."""
        depth = CHORD * np.minimum(longest(sides.corners), 5.0 * self.grid.dx)

        def covered(points: Array, own: np.ndarray) -> np.ndarray:
            found = sides.lie_on_earlier(points, own)
            # parts that touch cover each other
            raised = points + sides.flat * sides.normal[own]
            for n, (shape, position, turn) in enumerate(parts):
                mine = owner[own] == n
                inside = shape.distance((np.where(mine[:, None], points, raised) - position) @ turn)
                found |= inside < np.where(mine, -depth[own], 0.0)
            return np.asarray(found)

        k = corners.shape[1]
        # cut in two across one edge at a time
        for _ in range(HALVINGS[k]):
            hidden = covered(corners.reshape(-1, 3), np.repeat(origin, k)).reshape(-1, k)
            kept = ~np.all(hidden, axis=1)
            corners, origin, crossing = corners[kept], origin[kept], np.any(hidden[kept], axis=1)
            corners, origin = halve(corners, origin, crossing)
        return corners[~covered(corners.mean(axis=1), origin)]

    def place(self, time: float) -> None:
        """The solids are where they are at ``time`` [s]."""
        self.x = self.corners.copy()
        for b in np.unique(self.body):
            position, rotation = self.solids[b].motion.pose(time)
            of = self.body == b
            self.x[of] = self.x[of] @ rotation.T + position

    def elements(self, chosen: np.ndarray) -> tuple[SurfaceSpec, np.ndarray, Array]:
        """The elements chosen (m,), whose they are, and how much of its area each stands for."""
        x = self.x[chosen]
        element = np.arange(x.size // 3).reshape(-1, self.grid.dimensions)
        return SurfaceSpec(element, x.reshape(-1, 3), np.zeros((1, 3))), self.body[chosen], self.part[chosen]


def plane_frame(rotation: Array) -> Array:
    """The least rotation (3, 3) after which the plane of a 2D grid cuts a body as it does after ``rotation``: whatever
    the body has turned in the plane since, to the bit, so that surfaces do not depend on when they are made."""
    normal = np.round(rotation[2], 9)
    if normal[2] < 0.0:
        flip = np.diag([1.0, -1.0, -1.0])
        return plane_frame(rotation @ flip) @ flip
    normal /= np.linalg.norm(normal)
    x, y, z = normal.tolist()
    s = 1.0 / (1.0 + z)
    return np.array([[1.0 - s * x * x, -s * x * y, -x], [-s * x * y, 1.0 - s * y * y, -y], [x, y, z]])


def true_volume(solid: Solid, dimensions: int, time: float) -> float:
    """Of a solid [m3; 2D m2]; infinite without end."""
    shape = solid.shape_at(time)
    if shape.is_endless:
        return np.inf
    if dimensions == 3:
        return shape.moments().volume
    rotation = solid.motion.pose(time)[1]
    # turned about z alone its section is the one through its x-y plane
    if abs(rotation[2, 2]) > 1.0 - 1e-12:
        return shape.planar_moments().volume
    return shape.section(rotation).measure()[0]


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
        self.normal = normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
        self._inverse = np.linalg.pinv(np.stack([along, other], axis=2))
        self.flat = 1e-6 * float(longest(corners).max())

    def lie_on_earlier(self, points: Array, own: np.ndarray) -> np.ndarray:
        """Whether points (n, 3) of sides ``own`` (n,) lie within an earlier side that faces the same way."""
        found = np.zeros(len(points), dtype=bool)
        for s, normal in enumerate(self.normal):
            near = np.flatnonzero((own > s) & (np.abs((points - self.corners[s, 0]) @ normal) < self.flat))
            near = near[self.normal[own[near]] @ normal > 1.0 - 1e-9]
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
