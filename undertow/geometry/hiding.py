"""Surfaces of solids thinner than two cells: they hide what is behind them, as thin surfaces do (``Occlusion``).

Transport reads around a place as far as two values of the grid. Inside a solid of two cells and more these are values
made from its own side; through a thinner one they are those of the other side. Balls and rods as thin as that have no
other side to speak of and hide nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from undertow.geometry.moments import measure_thickness
from undertow.grid import Array, Grid

if TYPE_CHECKING:
    from undertow.geometry.shape import Placed
    from undertow.geometry.solids import Solid

THIN = 2.0 - 1e-6
"""Cells."""

SEGMENTS = 16
"""Around a round solid, which is two cells thick at most."""


PLATE = 0.25
"""A solid that forces move is a plate where so much of its surface has less than THIN under it: walls of whole cells
are of first order, and one thin limb does not make them the better ones."""


def is_sheet(grid: Grid, thickness: float, x: Array) -> bool:
    """Whether a body with the nodes x (n, 3) is thinner than THIN and wider than that."""
    width = np.sort(np.ptp(x[:, : grid.dimensions], axis=0))[1 - grid.dimensions]
    return bool(thickness < THIN * grid.dx <= width)


class ThinSolids:
    """Surfaces of the parts of solids that are thin sheets: triangles, in 2D the edges of their sections, moved with
    the solids.

    element (m, 3), in 2D (m, 2): nodes. solids: those with such parts. closing: they close faces of the grid, which of
    those that forces move only plates do. Meshes that deform are left out; thin shells hide by their own nodes.
    """

    def __init__(self, grid: Grid, solids: Sequence[Solid], closing: bool = False) -> None:
        planar = grid.dimensions == 2
        self._dimensions = grid.dimensions
        self.solids: list[Solid] = []
        self._parts: list[tuple[list[Placed], list[Placed]]] = []
        """Thin ones and others of each of them."""
        self._own: list[tuple[Solid, Array]] = []
        """Nodes of each thin part in the frame of its solid."""
        element = [np.zeros((0, 2 if planar else 3), dtype=np.int64)]
        for solid in solids:
            if solid.shape.is_animated or solid.shape.is_sheet or solid.thickness(grid.dimensions) >= THIN * grid.dx:
                continue
            rotation, thin, thick = solid.motion.pose(0.0)[1], [], []
            for part in solid.shape_at(0.0).parts_of():
                own, triangles = part.shape.surface(SEGMENTS)
                thickness = part.shape.thickness(grid.dimensions)
                if closing and solid.dynamic and not planar:
                    thickness = max(thickness, measure_thickness(own, triangles, PLATE))
                x = own @ part.rotation.T + part.position
                if planar:
                    own, triangles = find_section(x @ rotation.T, triangles)
                    x = own @ rotation
                if not is_sheet(grid, thickness, own):
                    thick.append(part)
                    continue
                thin.append(part)
                element.append(triangles + self.count)
                self._own.append((solid, x))
            if thin:
                self.solids.append(solid)
                self._parts.append((thin, thick))
        self.element = np.ascontiguousarray(np.concatenate(element))

    @property
    def count(self) -> int:
        """Number of nodes."""
        return sum(len(own) for _, own in self._own)

    def place(self, t: float) -> Array:
        """Nodes (n, 3) [m] at time t."""
        placed = [np.zeros((0, 3))]
        for solid, own in self._own:
            position, rotation = solid.motion.pose(t)
            placed.append(own @ rotation.T + position)
        return np.concatenate(placed)

    def distance(self, solid: Solid, points: Array, t: float, thin: bool) -> Array:
        """Distance [m] of world points (n, 3) from the thin parts of a solid, or from its others; infinite without
        any."""
        if solid not in self.solids:
            return np.full(len(points), np.inf) if thin else solid.distance(points, t, self._dimensions)
        position, rotation = solid.motion.pose(t)
        own = np.array(points) - position
        own[:, self._dimensions :] = 0.0
        own = own @ rotation
        found = np.full(len(points), np.inf)
        for part in self._parts[self.solids.index(solid)][0 if thin else 1]:
            found = np.minimum(found, part.shape.distance((own - part.position) @ part.rotation))
        return found


def find_section(vertices: Array, triangles: np.ndarray) -> tuple[Array, np.ndarray]:
    """Points (n, 3) and edges (m, 2) of the section of a closed mesh across z, next to z = 0."""
    size = float(np.abs(vertices).max())
    # beside the corners that lie on z = 0
    height = vertices[:, 2] - 1.23e-7 * size
    above = height[triangles] > 0.0
    crossed = triangles[above.any(axis=1) & ~above.all(axis=1)]
    ends = []
    for a, b in ((0, 1), (1, 2), (2, 0)):
        # from the lower number to the higher: both triangles of an edge find the same point
        low, high = np.sort(crossed[:, [a, b]], axis=1).T
        cut = (height[low] > 0.0) != (height[high] > 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(cut, height[low] / (height[low] - height[high]), np.nan)
        ends.append(vertices[low] + part[:, None] * (vertices[high] - vertices[low]))
    three = np.stack(ends, axis=1)
    points = three[~np.isnan(three[:, :, 0])]
    rounded = np.round(points[:, :2] / (1e-9 * size))
    _, first, number = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    edges = number.reshape(-1, 2)
    return points[first] * [1.0, 1.0, 0.0], edges[edges[:, 0] != edges[:, 1]]


def measure_soft_thickness(x: Array, element: np.ndarray) -> float:
    """Thickness [m] of a body between its triangles, in 2D its edges (m, 2): the middle of rays shot inwards, because
    the surface of a mesh of tetrahedra may be rough."""
    if element.shape[1] == 3:
        return measure_thickness(x, element, 0.5)
    a, b = x[element[:, 0], :2], x[element[:, 1], :2]
    if np.sum(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) < 0.0:
        element = element[:, ::-1]
    # walls that stand on the edges
    tall, n = float(np.ptp(x[element], axis=(0, 1)).max()), len(x)
    both = np.concatenate([x * [1.0, 1.0, 0.0] - [0.0, 0.0, tall], x * [1.0, 1.0, 0.0] + [0.0, 0.0, tall]])
    p, q = element.T
    walls = np.concatenate([np.stack([p, q, q + n], axis=1), np.stack([p, q + n, p + n], axis=1)])
    return measure_thickness(both, walls, 0.5)
