"""Collision of soft bodies in the plane: nodes against the edges of outlines.

What ``collision`` does for surfaces, with stencils of a node and an edge: swept as a node and a triangle whose third
corner stands above the plane, so that its weight is that of rounding and goes to the second.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from undertow.grid import Array
from undertow.soft.boxes import BoxTree
from undertow.soft.collision import _MARGIN, Stencils, SurfaceCollisions, _boxes


class OutlineCollisions(SurfaceCollisions):
    """``SurfaceCollisions`` of edges (m, 2) in the x-y plane."""

    def __init__(self, x: Array, edges: Any, reach: Array, friction: Array, origin: Any = None) -> None:
        self.edges = self.triangles = np.ascontiguousarray(edges, dtype=np.int64)
        self.nodes = np.unique(self.edges)
        self.reach, self.friction = reach, friction
        self._origin = np.arange(len(x)) if origin is None else np.asarray(origin, dtype=np.int64)
        self._edge_tree = BoxTree(x[self.edges].mean(axis=1))
        ends = x[self.edges]
        self._size = float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).mean())
        self._margin = _MARGIN * self._size
        self._pairs = np.zeros((0, 2), dtype=np.int64)
        """Node and edge that could touch."""
        self._yielding = np.zeros(0)
        self._near_x, self._near_way = np.zeros((0, 3)), np.zeros((0, 3))

    def crossings(self, x: Array) -> int:
        """How many pairs of edges without a common node cross at x (n, 3)."""
        still, nothing = np.zeros_like(x), np.zeros_like(self.reach)
        boxes = _boxes(x, still, self.edges, nothing)
        self._edge_tree.fit(boxes)
        pairs = self._edge_tree.overlaps(boxes, np.arange(len(boxes)), (self.edges, self.edges))
        a, b, c, d = (x[nodes] for nodes in (*self.edges[pairs[:, 0]].T, *self.edges[pairs[:, 1]].T))
        sides = _side(a, b, c) * _side(a, b, d) < 0, _side(c, d, a) * _side(c, d, b) < 0
        return int((sides[0] & sides[1]).sum())

    def _gather_pairs(self, x: Array, u: Array) -> None:
        self._near_x, self._near_way = x.copy(), u.copy()
        reach = self.reach + self._margin
        self._edge_tree.fit(_boxes(x, u, self.edges, reach))
        boxes = _boxes(x, u, self.nodes[:, None], reach)
        pairs = self._edge_tree.overlaps(boxes, nodes=(self._origin[self.nodes[:, None]], self._origin[self.edges]))
        self._pairs = np.stack([self.nodes[pairs[:, 0]], pairs[:, 1]], axis=1)

    def _find(self, x: Array, u: Array) -> Stencils:
        moved = float(np.abs(u - self._near_way).max(initial=0.0)) if np.array_equal(x, self._near_x) else np.inf
        fresh = not moved * sqrt(3.0) <= self._margin
        if fresh:
            self._gather_pairs(x, u)
        node, edge = self._pairs.T
        ends, above = self.edges[edge], self.edges[:, 1]
        nodes = np.ascontiguousarray(np.concatenate([node[:, None], ends, len(x) + edge[:, None]], axis=1))
        found = Stencils.of(
            nodes, self.reach[node] + self.reach[ends[:, 1]],
            np.sqrt(self.friction[node] * self.friction[ends[:, 1]]), False,
        )  # fmt: skip
        over = np.concatenate([x, x[above] + [0.0, 0.0, self._size]])
        found.sweep(False, over, np.concatenate([u, u[above]]), 4.0 * self._margin)
        if fresh:
            self._pairs = self._pairs[(found.time < 2.5) | (found.distance < found.thickness)]
        part = found.take((found.time <= 1.0) | (found.distance < found.thickness))
        part.nodes[:, 3] = part.nodes[:, 2]
        part.weight[:, 2] += part.weight[:, 3]
        part.weight[:, 3], part.normal[:, 2] = 0.0, 0.0
        return part


def _side(a: Array, b: Array, p: Array) -> Array:
    """Twice the area (m,) of triangles a, b, p."""
    return np.asarray((b[:, 0] - a[:, 0]) * (p[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (p[:, 0] - a[:, 0]))
