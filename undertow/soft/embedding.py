"""A fine surface carried by coarse elements (thesis 4.8, 6.2.7 [@schroeder2011]): every point is a mean of the nodes of
one element,

    x = sum_a w_a x_a,     sum_a w_a = 1

with the weights of its place at rest, so that the surface follows every affine motion of its element exactly. Points
outside all elements follow the one they are nearest to, extrapolated.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.grid import Array

_CANDIDATES = 24
"""Elements with the nearest centres that are looked at for a point."""


class Embedding:
    """Points in tetrahedra: nodes (p, 4) and weights (p, 4) of each; triangles (t, 3) of points, wound outwards."""

    def __init__(self, name: str, points: Array, triangles: Any, x: Array, cells: Any, first: int = 0) -> None:
        """points (p, 3) and nodes x (n, 3) [m] at rest, cells (m, 4) of these nodes, which are number ``first`` and on
        of all."""
        from scipy.spatial import cKDTree

        self.triangles = np.asarray(triangles, dtype=np.int64)
        centres = x[cells].mean(axis=1)
        _, near = cKDTree(centres).query(points, k=min(_CANDIDATES, len(cells)))
        near = near.reshape(len(points), -1)
        edges = np.swapaxes(x[cells[:, 1:]] - x[cells[:, :1]], 1, 2)
        inverse = np.linalg.inv(edges)
        rest = np.einsum("pkij,pkj->pki", inverse[near], points[:, None] - x[cells[near, 0]])
        weights = np.concatenate([1.0 - rest.sum(axis=2, keepdims=True), rest], axis=2)
        best = np.argmax(weights.min(axis=2), axis=1)
        chosen = np.arange(len(points)), best
        self.nodes, self.weight = cells[near[chosen]] + first, np.ascontiguousarray(weights[chosen])
        outside = float(-self.weight.min(initial=0.0))
        if outside > 2.0:
            raise UserError(
                f"{name}: a point of the surface lies {outside:.2g} elements outside the elements that carry it; make "
                f"element_size smaller"
            )

    def carry(self, values: Array) -> Array:
        """Means (p, 3) of values (n, 3) of the nodes: positions or velocities."""
        return np.asarray(np.einsum("pa,pai->pi", self.weight, values[self.nodes]))


def split_long(points: Array, triangles: Any, longest: float) -> tuple[Array, Any]:
    """The same surface with no edge longer than ``longest`` [m]: long edges get a node in their middle, until none is
    left. A surface whose straight parts are single triangles could not bend."""
    points, triangles = np.asarray(points, dtype=float), np.asarray(triangles, dtype=np.int64)
    while True:
        ends = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]], axis=2)
        length = np.linalg.norm(points[ends[:, :, 1]] - points[ends[:, :, 0]], axis=2)
        long = length > longest
        if not long.any():
            return points, triangles
        edges, number = np.unique(ends[long], axis=0, return_inverse=True)
        middle = np.full(long.shape, -1)
        middle[long] = len(points) + number.reshape(-1)
        points = np.concatenate([points, points[edges].mean(axis=1)])
        # cut from the middle m of the longest edge, then each half from the middle of its own edge where there is one
        order = (np.argmax(np.where(long, length, 0.0), axis=1)[:, None] + np.arange(3)) % 3
        (a, b, c), (m, n, k) = (np.take_along_axis(t, order, 1).T for t in (triangles, middle))
        parts = [
            (m < 0, a, b, c),
            ((m >= 0) & (k < 0), a, m, c), ((m >= 0) & (k >= 0), a, m, k), ((m >= 0) & (k >= 0), m, c, k),
            ((m >= 0) & (n < 0), m, b, c), ((m >= 0) & (n >= 0), m, b, n), ((m >= 0) & (n >= 0), m, n, c),
        ]  # fmt: skip
        triangles = np.concatenate([np.stack(corners, axis=1)[where] for where, *corners in parts])
