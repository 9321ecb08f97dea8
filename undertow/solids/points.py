"""Points of rigid bodies against the faces of soft ones (thesis 4.5.1 [@schroeder2011]: both directions).

Nodes of soft surfaces are looked up in the signed distances of rigid bodies; corners, edges and small balls that fit
between the nodes are not felt by that. So the probes of rigid shapes, those of the contacts among rigid bodies, are
swept against the triangles of soft surfaces, and those that meet are rows of the implicit solve, or of the impulses of
the explicit schemes: three nodes with the weights of the place, and the point, which moves with its body. In 2D faces
are edges, swept as triangles with a third corner above the plane, whose weight is that of rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from undertow.grid import Array
from undertow.rigid.bodies import RigidBodies, rotation_matrix_of
from undertow.rigid.shapes import BOUND, CAPSULE, CLUSTER, CLUSTER_END, KIND, MIDDLE, RADIUS, SPHERE, CollisionShapes
from undertow.soft import SoftBodies
from undertow.soft.boxes import BoxTree
from undertow.soft.collision import Stencils

ROUND = 2.0
"""Balls and capsules of at least so many elements in radius are felt by the nodes: their points are left out."""

FACING = -0.3
"""A point counts where the normal of its own surface is against that of the face by at least this cosine: the corner
of a block flush with the side of another does not lie on that side."""

_LAYER = 0.02
"""How near a point is taken to touch, and a sweep stops, as a part of an element."""


class RigidPoints:
    """Points of rigid bodies near soft faces, in the step of now.

    triangles (t, 3) of nodes, in 2D edges (t, 2); closed (t,): those of solids, wound outwards; radius (n,) [m]:
    distance that nodes keep; friction (n,); length [m]: size of the elements.
    """

    def __init__(
        self, soft: SoftBodies, rigid: RigidBodies, shapes: CollisionShapes, triangles: Any, closed: Any,
        radius: Array, friction: Array, length: float,
    ) -> None:  # fmt: skip
        self.soft, self.rigid, self.shapes = soft, rigid, shapes
        self.triangles, self.closed = np.ascontiguousarray(triangles, dtype=np.int64), np.asarray(closed, dtype=bool)
        self.radius, self.friction, self.length = radius, friction, length
        self._tree = BoxTree(soft.x[self.triangles].mean(axis=1)) if len(self.triangles) else None
        self.ignored: set[tuple[int, int]] = set()
        """(node, body): triangles that have the node do not touch the body."""
        self.body, self._arm = np.zeros(0, dtype=np.int64), np.zeros((0, 3))
        self._normal, self._round = np.zeros((0, 3)), np.zeros(0)
        self._pairs = np.zeros((0, 2), dtype=np.int64)

    def gather(self, reach: float) -> Any:
        """Take the points that are within reach [m] of a face; the bodies (b,) they belong to."""
        self._pairs = self._pairs[:0]
        self._collect(reach)
        if self._tree is not None and len(self.body):
            x, r = self.soft.x[self.triangles], self.radius[self.triangles].max(axis=1)[:, None] + reach
            self._tree.fit(np.concatenate([x.min(axis=1) - r, x.max(axis=1) + r], axis=1))
            points, own = self.points(), self._round[:, None]
            pairs = self._tree.overlaps(np.concatenate([points - own, points + own], axis=1))
            bodies, nodes = self.body[pairs[:, 0]], self.triangles[pairs[:, 1], 0]
            if self.ignored:
                kept = [(n, b) not in self.ignored for n, b in zip(nodes.tolist(), bodies.tolist(), strict=True)]
                pairs = pairs[np.array(kept, dtype=bool)]
            self._pairs = pairs
        return np.unique(self.body[self._pairs[:, 0]])

    @property
    def near(self) -> bool:
        """Whether any point is within reach."""
        return len(self._pairs) > 0

    def _collect(self, reach: float) -> None:
        """Probes of the bodies that are near the box of all soft bodies."""
        rigid, spec = self.rigid, self.shapes.arrays()
        low, high = self.soft.x.min(axis=0) - reach, self.soft.x.max(axis=0) + reach
        parts: list[tuple[Any, ...]] = [(self.body[:0], self._arm[:0], self._normal[:0], self._round[:0])]
        colliders = [(b, s) for b in range(rigid.count) for s in self.shapes.parts(int(rigid.shape_b[b]))]
        for b, s in colliders:
            bound, radius = spec.number[s, BOUND], spec.number[s, RADIUS]
            smooth = spec.index[s, KIND] in (SPHERE, CAPSULE)
            if not np.isfinite(bound) or (smooth and radius >= ROUND * self.length):
                continue
            far = 2.0 * bound + float(np.linalg.norm(spec.number[s, MIDDLE : MIDDLE + 3]))
            if (rigid.x_b[b] + far < low).any() or (rigid.x_b[b] - far > high).any():
                continue
            first, stop = spec.probe_start[spec.index[s, [CLUSTER, CLUSTER_END]]]
            probes, R = spec.probes[first:stop], rotation_matrix_of(rigid.q_b[b])
            k = len(probes)
            parts.append((np.full(k, b), probes[:, :3] @ R.T, probes[:, 3:] @ R.T, np.full(k, radius)))
        self.body, self._arm, self._normal, self._round = (
            np.concatenate(arrays) for arrays in zip(*parts, strict=True)
        )

    def points(self) -> Array:
        """Where the points are (p, 3) [m]."""
        return np.asarray(self.rigid.x_b[self.body] + self._arm)

    def meeting(self, dt: float, v: Array, twist: Array) -> tuple[Stencils, Any, Array]:
        """Faces that points touch, or meet within dt [s] when nodes move with v (n, 3) and bodies with twist (b, 6):
        stencils whose first node has no weight, the bodies and the arms of the points (m, 3)."""
        n, pairs = self.soft.count, self._pairs
        x = np.concatenate([self.soft.x, self.points()])
        own = twist[self.body]
        u = dt * np.concatenate([v, own[:, :3] + np.cross(own[:, 3:], self._arm)])
        nodes = np.concatenate([n + pairs[:, :1], self.triangles[pairs[:, 1]]], axis=1)
        flat = self.triangles.shape[1] == 2
        if flat:
            above = self.triangles[:, 1]
            nodes = np.concatenate([nodes, len(x) + pairs[:, 1:]], axis=1)
            x, u = np.concatenate([x, x[above] + [0.0, 0.0, self.length]]), np.concatenate([u, u[above]])
        friction = np.sqrt(self.rigid.friction_b[self.body[pairs[:, 0]]] * self.friction[nodes[:, 1]])
        layer = _LAYER * self.length
        found = Stencils.of(np.ascontiguousarray(nodes), np.full(len(nodes), layer), friction, False)
        found.sweep(False, x, u, 0.0)
        kept = self._orient(found, x, pairs)
        target = self._round[pairs[:, 0]] + self.radius[nodes[:, 1]]
        apart = np.einsum("ma,mai,mi->m", found.weight, x[nodes], found.normal)
        after = np.einsum("ma,mai,mi->m", found.weight, (x + u)[nodes], found.normal)
        kept &= (found.time <= 1.0) | (apart < layer) | (after < target)
        facing = np.einsum("mi,mi->m", found.normal, self._normal[pairs[:, 0]]) < FACING
        kept &= facing | (self._round[pairs[:, 0]] > 0)
        # a ball touches where it is nearest, not at its centre
        found.thickness[...] = self.radius[nodes[:, 1]]
        points, part = pairs[kept, 0], found.take(kept)
        if flat:
            part.nodes[:, 3] = part.nodes[:, 2]
            part.weight[:, 2] += part.weight[:, 3]
            part.weight[:, 3], part.normal[:, 2] = 0.0, 0.0
        return part, self.body[points], self._arm[points] - self._round[points, None] * part.normal

    def release(self, part: Stencils, body: Any, arm: Array) -> Array:
        """How far apart (m,) [m] points and faces of ``meeting`` are; the point has no node, so that the first one of
        each stencil has no weight from now on."""
        place = np.einsum("ma,mai->mi", part.weight[:, 1:], self.soft.x[part.nodes[:, 1:]])
        part.weight[:, 0], part.nodes[:, 0] = 0.0, part.nodes[:, 1]
        return np.asarray(np.einsum("mi,mi->m", place + self.rigid.x_b[body] + arm, part.normal))

    def _orient(self, found: Stencils, x: Array, pairs: Any) -> Any:
        """Normals of points on and inside the faces of solids, which are those of the face; which stencils count."""
        p = x[found.nodes]
        out = np.cross(p[:, 2] - p[:, 1], p[:, 3] - p[:, 1])
        out /= np.maximum(np.linalg.norm(out, axis=1), 1e-300)[:, None]
        closed = self.closed[pairs[:, 1]]
        height = np.einsum("mi,mi->m", p[:, 0] - p[:, 1], out)
        # of the faces of a solid the nearest tells whether a point is inside; there it alone counts
        order = np.lexsort((found.distance, pairs[:, 0]))
        first = np.ones(len(order), dtype=bool)
        first[1:] = pairs[order[1:], 0] != pairs[order[:-1], 0]
        nearest = np.zeros(len(order), dtype=bool)
        nearest[order[first]] = True
        sunk = nearest & closed & (height < 0) & (found.distance < self.length)
        inside = np.isin(pairs[:, 0], pairs[sunk, 0])
        touches = closed & (np.abs(height) < _LAYER * self.length) & (found.distance < _LAYER * self.length)
        chosen = np.where(inside, sunk, True)
        flat = (sunk | (touches & ~inside))[:, None]
        found.normal[...] = np.where(flat, out, found.normal)
        return chosen
