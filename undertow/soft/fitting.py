"""Sharp edges and corners of a surface in the elements that fill it.

Isosurface stuffing cuts off what is sharper than its lattice. Here nodes of the elements' surface are moved on to it:

    corners     the nearest node of each that can move there
    edges       nodes near them; sides of elements that span one are halved, and the new node is moved on to it
    the rest    near edges: to the nearest point of the surface

A node moves only as far as the elements around it keep ``LEAST`` of their longest edge as smallest altitude (or
what halving has left). Nothing happens to surfaces without sharp edges, and nothing far from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from undertow.geometry import MeshShape
from undertow.grid import Array
from undertow.soft.meshes import Mesh, surface_of

SHARP = 50.0
"""Degrees by which the normals of two triangles differ at an edge that is kept."""

LEAST = 0.06
"""Smallest altitude over longest edge of elements that a move may make."""


@dataclass(frozen=True)
class Features:
    """Sharp edges: their ends (m, 2, 3) [m], and the corners (k, 3) where they end or turn."""

    edges: Array
    corners: Array

    def nearest(self, points: Array) -> Array:
        """Points (n, 3) of the edges nearest to points (n, 3)."""
        a, along = self.edges[:, 0], self.edges[:, 1] - self.edges[:, 0]
        length = (along * along).sum(axis=1)
        found = np.empty_like(points)
        for i, p in enumerate(points):
            s = np.clip(((p - a) * along).sum(axis=1) / length, 0.0, 1.0)
            q = a + s[:, None] * along
            found[i] = q[((p - q) ** 2).sum(axis=1).argmin()]
        return found


def find_features(vertices: Array, triangles: Any, least: float) -> Features:
    """The edges of a closed surface at which normals turn by more than SHARP, and its corners; edges that together are
    shorter than ``least`` [m] are left out, like those of the slivers of a triangulated level set."""
    import scipy.sparse as sparse
    from scipy.sparse.csgraph import connected_components

    p = vertices[triangles]
    normal = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
    sides = np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    order = np.lexsort((sides[:, 1], sides[:, 0]))
    pairs = order.reshape(-1, 2)
    turned = (normal[pairs[:, 0] // 3] * normal[pairs[:, 1] // 3]).sum(axis=1) < np.cos(np.radians(SHARP))
    sharp = sides[pairs[turned, 0]]
    length = np.linalg.norm(vertices[sharp[:, 0]] - vertices[sharp[:, 1]], axis=1)
    sharp, length = sharp[length > 0], length[length > 0]
    n = len(vertices)
    chain = connected_components(sparse.coo_matrix((length, sharp.T), shape=(n, n)), directed=False)[1][sharp[:, 0]]
    sharp = sharp[np.bincount(chain, length, n)[chain] >= least]
    corners = []
    for v in np.unique(sharp):
        others = sharp[(sharp == v).any(axis=1)]
        ways = vertices[others.sum(axis=1) - v] - vertices[v]
        ways /= np.linalg.norm(ways, axis=1)[:, None]
        if len(ways) != 2 or ways[0] @ ways[1] > -np.cos(np.radians(SHARP)):
            corners.append(v)
    return Features(vertices[sharp], vertices[np.array(corners, dtype=np.int64)])


def measure_quality(points: Array) -> Array:
    """Smallest altitude over longest edge of tetrahedra (m, 4, 3), negative where they are inverted."""
    d = points[:, 1:] - points[:, :1]
    volume = np.linalg.det(d)
    faces = [np.cross(points[:, b] - points[:, a], points[:, c] - points[:, a])
             for a, b, c in ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3))]  # fmt: skip
    area = np.max([np.linalg.norm(f, axis=1) for f in faces], axis=0)
    ends = [points[:, a] - points[:, b] for a in range(4) for b in range(a)]
    longest = np.max([np.linalg.norm(e, axis=1) for e in ends], axis=0)
    return np.asarray(volume / np.maximum(area * longest, 1e-300))


class _Fit:
    """Elements while their nodes are moved."""

    def __init__(self, x: Array, cells: Any) -> None:
        self.x, self.cells = x.copy(), np.array(cells)
        self.fixed = np.zeros(len(x), dtype=bool)
        self._collect()

    def _collect(self) -> None:
        order = np.argsort(self.cells.reshape(-1), kind="stable")
        self._around = order // 4
        self._start = np.searchsorted(self.cells.reshape(-1)[order], np.arange(len(self.x) + 1))

    def around(self, node: int) -> Any:
        """Elements of a node."""
        return self._around[self._start[node] : self._start[node + 1]]

    def move(self, node: int, target: Array, shares: tuple[float, ...] = (1.0,)) -> bool:
        """Move a node by the first share of the way to its target that its elements allow; whether there is one."""
        own = self.around(node)
        mine = self.cells[own] == node
        p = self.x[self.cells[own]]
        floor = min(LEAST, float(measure_quality(p).min()))
        for share in shares:
            place = self.x[node] + share * (target - self.x[node])
            p[mine] = place
            if float(measure_quality(p).min()) >= floor:
                self.x[node] = place
                return True
        return False

    def halve(self, edges: Any) -> Any:
        """A node in the middle of each of some sides (m, 2) of elements; their numbers."""
        new = []
        for a, b in edges:
            both = np.flatnonzero((self.cells == a).any(axis=1) & (self.cells == b).any(axis=1))
            node = len(self.x)
            self.x = np.concatenate([self.x, 0.5 * (self.x[a] + self.x[b])[None]])
            one, two = self.cells[both].copy(), self.cells[both].copy()
            one[one == b], two[two == a] = node, node
            self.cells[both] = one
            self.cells = np.concatenate([self.cells, two])
            new.append(node)
        self.fixed = np.concatenate([self.fixed, np.zeros(len(new), dtype=bool)])
        self._collect()
        return np.array(new, dtype=np.int64)

    def place_corners(self, corners: Array, reach: float) -> None:
        """Each corner (k, 3) gets the nearest surface node within reach [m] that can move there."""
        nodes = np.unique(surface_of(self.cells))
        away = np.linalg.norm(self.x[nodes, None] - corners, axis=2)
        node, corner = np.nonzero(away < reach)
        free = np.ones(len(corners), dtype=bool)
        for k in np.lexsort((node, corner, away[node, corner])):
            b, c = nodes[node[k]], corner[k]
            if free[c] and not self.fixed[b] and self.move(b, corners[c]):
                self.fixed[b], free[c] = True, False

    def place_edges(self, features: Features, reach: float) -> None:
        """Surface nodes within reach [m] of sharp edges move on to them, the nearest first."""
        nodes = np.unique(surface_of(self.cells))
        nodes = nodes[~self.fixed[nodes]]
        near = features.nearest(self.x[nodes])
        away = np.linalg.norm(near - self.x[nodes], axis=1)
        for k in np.argsort(away, kind="stable"):
            if away[k] < reach and self.move(nodes[k], near[k]):
                self.fixed[nodes[k]] = True

    def place_rest(self, solid: MeshShape, features: Features, reach: float) -> None:
        """Surface nodes within reach [m] of sharp edges, but not on them, move to the surface."""
        nodes = np.unique(surface_of(self.cells))
        nodes = nodes[~self.fixed[nodes]]
        nodes = nodes[np.linalg.norm(features.nearest(self.x[nodes]) - self.x[nodes], axis=1) < reach]
        for b, target in zip(nodes, solid.nearest(self.x[nodes]), strict=True):
            self.move(b, target, (1.0, 0.5, 0.25))

    def halve_across(self, solid: MeshShape, features: Features, reach: float) -> None:
        """Sides of the surface whose ends have normals that differ by more than SHARP, neither of them on an edge, are
        halved within reach [m] of it, and their middles moved on to it."""
        triangles = surface_of(self.cells)
        sides = np.unique(np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
        normal = solid.normals(self.x)
        turned = (normal[sides[:, 0]] * normal[sides[:, 1]]).sum(axis=1) < np.cos(np.radians(SHARP))
        sides = sides[turned & ~self.fixed[sides].any(axis=1)]
        middle = self.x[sides].mean(axis=1)
        near = features.nearest(middle)
        chosen = np.linalg.norm(near - middle, axis=1) < reach
        for node, target in zip(self.halve(sides[chosen]), near[chosen], strict=True):
            self.fixed[node] = self.move(node, target)


def fit_edges(solid: MeshShape, x: Array, cells: Any, spacing: float) -> Mesh:
    """Nodes (n, 3) and tetrahedra (m, 4) that fill a solid with elements of ``spacing`` [m], with its sharp edges."""
    features = find_features(solid.vertices, solid.triangles, spacing)
    if not len(features.edges):
        return x, cells
    fit = _Fit(x, cells)
    fit.place_corners(features.corners, spacing)
    fit.place_edges(features, 0.35 * spacing)
    fit.place_rest(solid, features, spacing)
    fit.halve_across(solid, features, 0.6 * spacing)
    fit.place_rest(solid, features, spacing)
    return fit.x, fit.cells
