"""Soft bodies and cloth against each other and themselves: nodes against triangles, edges against edges.

A step proposes velocities; here they are changed so that the surfaces, apart at its start, are apart all along the way
(Bridson, Fedkiw and Anderson 2002; thesis 4.6):

    repel        what is nearer than the thickness does not approach, and parts slowly
    sweep        what would meet on the way loses its approach, with friction, in a few rounds
    join         what still would meet moves as one rigid body, together with what it meets (Provot 1997)

The sweep is conservative: it advances by the distance over the bound of the approach and never past the first contact
(Li, Kaufman and Jiang 2021), so nothing is missed by round-off.
Nodes a against triangle bcd and edge ab against cd are the same thing: four nodes whose weights add up to 0,

    d = sum w_i x_i,     impulse j n on them as w_i,      (sum w_i^2 / m_i) j = change of n . sum w_i v_i
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numba import njit

from undertow.errors import PhysicsError
from undertow.grid import Array, share
from undertow.grid.jitting import borrowing
from undertow.soft.boxes import BoxTree

ROUNDS = 8
"""Rounds of impulses before what is left is joined."""

JOINS = 100
"""Most rounds of joining."""

_MARGIN = 0.05
"""How far nodes may leave the way for which pairs were gathered, as a part of an edge."""

_KEPT = 0.2
"""Part of the distance at the start of a step, or of the thickness if that is less, that a sweep keeps."""


@borrowing
def _dot3(ax, ay, az, bx, by, bz):  # type: ignore[no-untyped-def]
    return ax * bx + ay * by + az * bz


@borrowing
def _near_triangle(p, w):  # type: ignore[no-untyped-def]
    """Weights w (4,) of the shortest vector from triangle 1, 2, 3 to point 0 of p (4, 3) (Ericson 2005, 5.1.5)."""
    abx, aby, abz = p[2, 0] - p[1, 0], p[2, 1] - p[1, 1], p[2, 2] - p[1, 2]
    acx, acy, acz = p[3, 0] - p[1, 0], p[3, 1] - p[1, 1], p[3, 2] - p[1, 2]
    apx, apy, apz = p[0, 0] - p[1, 0], p[0, 1] - p[1, 1], p[0, 2] - p[1, 2]
    d1, d2 = _dot3(abx, aby, abz, apx, apy, apz), _dot3(acx, acy, acz, apx, apy, apz)
    bb, bc, cc = (
        _dot3(abx, aby, abz, abx, aby, abz),
        _dot3(abx, aby, abz, acx, acy, acz),
        _dot3(acx, acy, acz, acx, acy, acz),
    )
    d3, d4 = d1 - bb, d2 - bc
    d5, d6 = d1 - bc, d2 - cc
    w[0] = 1.0
    if d1 <= 0.0 and d2 <= 0.0:
        w[1], w[2], w[3] = -1.0, 0.0, 0.0
        return
    if d3 >= 0.0 and d4 <= d3:
        w[1], w[2], w[3] = 0.0, -1.0, 0.0
        return
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        t = d1 / max(d1 - d3, 1e-300)
        w[1], w[2], w[3] = t - 1.0, -t, 0.0
        return
    if d6 >= 0.0 and d5 <= d6:
        w[1], w[2], w[3] = 0.0, 0.0, -1.0
        return
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        t = d2 / max(d2 - d6, 1e-300)
        w[1], w[2], w[3] = t - 1.0, 0.0, -t
        return
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        t = (d4 - d3) / max((d4 - d3) + (d5 - d6), 1e-300)
        w[1], w[2], w[3] = 0.0, t - 1.0, -t
        return
    s = 1.0 / max(va + vb + vc, 1e-300)
    w[1], w[2], w[3] = -va * s, -vb * s, -vc * s


@borrowing
def _near_edges(p, w):  # type: ignore[no-untyped-def]
    """Weights w (4,) of the shortest vector from edge 2, 3 to edge 0, 1 of p (4, 3) (Ericson 2005, 5.1.9)."""
    ux, uy, uz = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
    vx, vy, vz = p[3, 0] - p[2, 0], p[3, 1] - p[2, 1], p[3, 2] - p[2, 2]
    rx, ry, rz = p[0, 0] - p[2, 0], p[0, 1] - p[2, 1], p[0, 2] - p[2, 2]
    a, e, b = _dot3(ux, uy, uz, ux, uy, uz), _dot3(vx, vy, vz, vx, vy, vz), _dot3(ux, uy, uz, vx, vy, vz)
    c, f = _dot3(ux, uy, uz, rx, ry, rz), _dot3(vx, vy, vz, rx, ry, rz)
    det = a * e - b * b
    # parallel edges: any point of the common part will do
    s = min(max((b * f - c * e) / det, 0.0), 1.0) if det > 1e-12 * a * e else 0.0
    t = (b * s + f) / max(e, 1e-300)
    if t < 0.0:
        t, s = 0.0, min(max(-c / max(a, 1e-300), 0.0), 1.0)
    elif t > 1.0:
        t, s = 1.0, min(max((b - c) / max(a, 1e-300), 0.0), 1.0)
    w[0], w[1], w[2], w[3] = 1.0 - s, s, t - 1.0, -t


@borrowing
def _near(edges, p, w, n):  # type: ignore[no-untyped-def]
    """Distance, its weights w and unit normal n of a stencil of four points p (4, 3)."""
    if edges:
        _near_edges(p, w)
    else:
        _near_triangle(p, w)
    for i in range(3):
        n[i] = w[0] * p[0, i] + w[1] * p[1, i] + w[2] * p[2, i] + w[3] * p[3, i]
    d = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
    if d > 0.0:
        for i in range(3):
            n[i] /= d
    return d


@njit(cache=True, nogil=True)
def _sweep_stencils(nodes, edges, x, u, slack, thickness, out_distance, out_time, out_weight, out_normal, start, stop):  # type: ignore[no-untyped-def]
    """Distance at x (n, 3), and the part of the way u (n, 3) [m] after which four nodes have come as near as ``_KEPT``
    of it or of the thickness (m,), the smaller; 2: never, 3: not even if they came nearer by ``slack`` [m] more;
    weights (m, 4) and normals (m, 3) there, or at x where nothing meets."""
    p, q, w, n = np.zeros((4, 3)), np.zeros((4, 3)), np.zeros(4), np.zeros(3)
    for m in range(start, stop):
        for a in range(4):
            for i in range(3):
                p[a, i], q[a, i] = x[nodes[m, a], i], u[nodes[m, a], i]
        # only relative motion approaches
        for i in range(3):
            mean = 0.25 * (q[0, i] + q[1, i] + q[2, i] + q[3, i])
            for a in range(4):
                q[a, i] -= mean
        first, second = 0.0, 0.0
        for a in range(4):
            size = q[a, 0] * q[a, 0] + q[a, 1] * q[a, 1] + q[a, 2] * q[a, 2]
            if a == 0 or (edges and a == 1):
                first = max(first, size)
            else:
                second = max(second, size)
        bound = sqrt(first) + sqrt(second)
        d = _near(edges, p, w, n)
        out_distance[m], out_time[m] = d, 2.0
        for i in range(4):
            out_weight[m, i] = w[i]
        for i in range(3):
            out_normal[m, i] = n[i]
        least, t = _KEPT * min(d, thickness[m]), 0.0
        if d - least > bound:
            if d - least > bound + slack:
                out_time[m] = 3.0
            continue
        for _ in range(200):
            step = (d - 0.5 * least) / max(bound, 1e-300)
            t += 0.9 * step
            if t > 1.0:
                break
            for a in range(4):
                for i in range(3):
                    p[a, i] += 0.9 * step * q[a, i]
            d = _near(edges, p, w, n)
            if d <= least:
                out_time[m] = t
                for i in range(4):
                    out_weight[m, i] = w[i]
                for i in range(3):
                    out_normal[m, i] = n[i]
                break
        else:
            out_time[m] = t


@njit(cache=True, nogil=True)
def _push_stencils(nodes, weight, normal, wanted, friction, inv_mass, v):  # type: ignore[no-untyped-def]
    """Impulses, one stencil after another, so that each parts with at least ``wanted`` [m/s], with Coulomb friction;
    how many were pushed."""
    count = 0
    for m in range(len(nodes)):
        k, vx, vy, vz = 0.0, 0.0, 0.0, 0.0
        for a in range(4):
            j, w = nodes[m, a], weight[m, a]
            k += w * w * inv_mass[j]
            vx += w * v[j, 0]
            vy += w * v[j, 1]
            vz += w * v[j, 2]
        nx, ny, nz = normal[m, 0], normal[m, 1], normal[m, 2]
        along = vx * nx + vy * ny + vz * nz
        lack = wanted[m] - along
        if lack <= 0.0 or k <= 0.0:
            continue
        count += 1
        vx, vy, vz = vx - along * nx, vy - along * ny, vz - along * nz
        slide = sqrt(vx * vx + vy * vy + vz * vz)
        rub = min(friction[m] * lack / slide, 1.0) if slide > 0.0 else 0.0
        for a in range(4):
            s = weight[m, a] * inv_mass[nodes[m, a]] / k
            v[nodes[m, a], 0] += s * (lack * nx - rub * vx)
            v[nodes[m, a], 1] += s * (lack * ny - rub * vy)
            v[nodes[m, a], 2] += s * (lack * nz - rub * vz)
    return count


@njit(cache=True, nogil=True)
def _mark_crossings(x, edges, triangles, pairs, out_crosses, start, stop):  # type: ignore[no-untyped-def]
    """Whether edge and triangle of each pair cross (Moeller and Trumbore 1997); those with a common node do not."""
    for m in range(start, stop):
        e, t = pairs[m, 0], pairs[m, 1]
        i, j, a, b, c = edges[e, 0], edges[e, 1], triangles[t, 0], triangles[t, 1], triangles[t, 2]
        out_crosses[m] = 0
        if i in (a, b, c) or j in (a, b, c):
            continue
        ux, uy, uz = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[b, 2] - x[a, 2]
        vx, vy, vz = x[c, 0] - x[a, 0], x[c, 1] - x[a, 1], x[c, 2] - x[a, 2]
        dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
        px, py, pz = dy * vz - dz * vy, dz * vx - dx * vz, dx * vy - dy * vx
        det = _dot3(ux, uy, uz, px, py, pz)
        if det == 0.0:
            continue
        sx, sy, sz = x[i, 0] - x[a, 0], x[i, 1] - x[a, 1], x[i, 2] - x[a, 2]
        r = _dot3(sx, sy, sz, px, py, pz) / det
        qx, qy, qz = sy * uz - sz * uy, sz * ux - sx * uz, sx * uy - sy * ux
        q = _dot3(dx, dy, dz, qx, qy, qz) / det
        w = _dot3(vx, vy, vz, qx, qy, qz) / det
        if r >= 0.0 and q >= 0.0 and r + q <= 1.0 and 0.0 <= w <= 1.0:
            out_crosses[m] = 1


@dataclass(frozen=True)
class CollisionReport:
    """pushed: stencils that got an impulse; joined: nodes that moved as rigid bodies; rounds of sweeps."""

    pushed: int = 0
    joined: int = 0
    rounds: int = 0


class SurfaceCollisions:
    """The surfaces of soft bodies: triangles (m, 3) of nodes, segments (s, 2) of ropes, reach (n,) [m]: half the
    thickness of each node, friction (n,). Nodes move with inv_mass (n,), which may change between steps.

    origin (n,): the nodes that they were before bodies tore. What had a node in common still does not touch there: the
    lips of a crack lie on each other when it opens."""

    def __init__(
        self, x: Array, triangles: Any, reach: Array, friction: Array, segments: Any = None, origin: Any = None
    ) -> None:
        from undertow.soft.meshes import edges_of

        ropes = np.zeros((0, 2), dtype=np.int64) if segments is None else np.asarray(segments, dtype=np.int64)
        self.triangles = np.ascontiguousarray(triangles, dtype=np.int64)
        self.edges = np.ascontiguousarray(np.concatenate([edges_of(self.triangles), ropes]))
        self.nodes = np.union1d(self.triangles, ropes)
        self.reach, self.friction = reach, friction
        self._origin = np.arange(len(x)) if origin is None else np.asarray(origin, dtype=np.int64)
        self._triangle_tree = BoxTree(x[self.triangles].mean(axis=1))
        self._edge_tree = BoxTree(x[self.edges].mean(axis=1))
        ends = x[self.edges]
        self._margin = _MARGIN * float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).mean())
        self._near: list[Any] = [np.zeros((0, 4), dtype=np.int64), np.zeros((0, 4), dtype=np.int64)]
        self._yielding = np.zeros(0)
        self._near_x, self._near_way = np.zeros((0, 3)), np.zeros((0, 3))

    def resolve(
        self, x: Array, w: Array, v: Array, dt: float, inv_mass: Array, yielding: Array | None = None
    ) -> CollisionReport:
        """w (n, 3), with which the positions move, so that nothing meets on the way from x to x + dt w.

        The velocities v (n, 3) lose their approach in the same places: what parts things that are too near moves
        positions alone, and no impulse adds energy. yielding (n,) [1/kg]: how far nodes give way in w, inv_mass unless
        it is given: with elasticity beside the masses, light nodes do not crush the elements behind them.
        """
        self._yielding = inv_mass if yielding is None else yielding
        pushed, joined, rounds = 0, 0, 0
        while rounds < ROUNDS:
            rounds += 1
            found = self._find(x, dt * w)
            meets = np.flatnonzero(found.time <= 1.0)
            if not len(meets):
                break
            part = found.take(meets[np.argsort(found.time[meets], kind="stable")])
            pushed += self._push(part, np.zeros(len(meets)), inv_mass, w, v)
        else:
            joined = self._join(x, w, v, dt, inv_mass)
        return CollisionReport(pushed, joined, rounds)

    def repel(self, x: Array, w: Array, v: Array, dt: float, inv_mass: Array) -> None:
        """What is nearer than its thickness does not approach with v, and parts slowly with w (n, 3)."""
        self._yielding = inv_mass
        found = self._find(x, dt * w)
        near = found.distance < found.thickness
        if near.any():
            part = found.take(near)
            # a tenth of the lacking distance per step, as Bridson et al.
            self._push(part, 0.1 * (part.thickness - part.distance) / dt, inv_mass, w, v)

    def meeting(self, x: Array, u: Array) -> Stencils:
        """What is nearer than its thickness at x (n, 3), or would meet on the way u (n, 3) [m]."""
        return self._find(x, u)

    def _push(self, part: Stencils, wanted: Array, inv_mass: Array, w: Array, v: Array) -> int:
        """w parts as wanted, v does not approach."""
        args = part.nodes, part.weight, part.normal
        _push_stencils(*args, np.zeros(len(wanted)), part.friction, inv_mass, v)
        return int(_push_stencils(*args, wanted, part.friction, self._yielding, w))

    def crossings(self, x: Array) -> int:
        """How many edges cross triangles at x (n, 3), each pair counted: 0 for surfaces that have stayed apart."""
        still, nothing = np.zeros_like(x), np.zeros_like(self.reach)
        self._triangle_tree.fit(_boxes(x, still, self.triangles, nothing))
        pairs = self._triangle_tree.overlaps(_boxes(x, still, self.edges, nothing), nodes=(self.edges, self.triangles))
        crosses = np.zeros(len(pairs), dtype=np.int64)
        share(_mark_crossings, len(pairs), 16 * len(pairs), x, self.edges, self.triangles, pairs, crosses)
        return int(crosses.sum())

    def _follow(self, x: Array, u: Array) -> None:
        """Nodes (m, 4) of all stencils that could touch on the way u (n, 3) [m], or on one that differs by at most the
        margin at every node. Only those with a node that has left its way by more are looked for anew."""
        strayed = np.ones(len(x), dtype=bool)
        if np.array_equal(x, self._near_x):
            strayed = ((u - self._near_way) ** 2).sum(axis=1) > self._margin**2
            if not strayed.any():
                return
            self._near_way[strayed] = u[strayed]
        else:
            self._near_x, self._near_way = x.copy(), u.copy()
        for edges in (False, True):
            old = self._near[edges]
            new = np.ascontiguousarray(self._gather(edges, strayed))
            found = self._sweep(edges, new, x, self._near_way)
            new = new[(found.time < 2.5) | (found.distance < found.thickness)]
            kept = old[~strayed[old].any(axis=1)] if len(old) else old
            near = np.concatenate([kept, new])
            # one order, whatever was kept: sweeps push one after the other
            self._near[edges] = np.ascontiguousarray(near[np.lexsort(near.T[::-1])])

    def _gather(self, edges: bool, strayed: Any) -> Any:
        """Stencils of nodes (m, 4) whose boxes overlap on the ways of now, those with a node that has strayed (n,)."""
        things = self.edges if edges else self.triangles
        tree = self._edge_tree if edges else self._triangle_tree
        reach = self.reach + self._margin
        boxes = _boxes(self._near_x, self._near_way, things, reach)
        tree.fit(boxes)
        moved = strayed[things].any(axis=1)
        if edges:
            chosen = np.flatnonzero(moved)
            p = self.edges[chosen]
            pairs = tree.overlaps(
                np.ascontiguousarray(boxes[chosen]), chosen, (self._origin[p], self._origin[self.edges])
            )
            one, two = chosen[pairs[:, 0]], pairs[:, 1]
            one, two = np.minimum(one, two), np.maximum(one, two)
            return np.concatenate([self.edges[one], self.edges[two]], axis=1)
        parts, own = [], _boxes(self._near_x, self._near_way, self.nodes[:, None], reach)
        for kept in (False, True):
            chosen = np.flatnonzero(strayed[self.nodes] != kept)
            if kept and len(chosen):
                # nodes that kept their ways, against triangles that did not
                boxes[~moved, :3], boxes[~moved, 3:] = np.inf, -np.inf
                tree.fit(boxes)
            nodes = self.nodes[chosen]
            pairs = tree.overlaps(
                np.ascontiguousarray(own[chosen]), nodes=(self._origin[nodes[:, None]], self._origin[self.triangles])
            )
            parts.append(np.concatenate([nodes[pairs[:, 0], None], self.triangles[pairs[:, 1]]], axis=1))
        return np.concatenate(parts)

    def _sweep(self, edges: bool, nodes: Any, x: Array, u: Array) -> Stencils:
        """Stencils of nodes (m, 4) of one kind, swept on the way u (n, 3) [m]."""
        thickness = self.reach[nodes[:, 0]] + self.reach[nodes[:, 3]]
        friction = np.sqrt(self.friction[nodes[:, 0]] * self.friction[nodes[:, 3]])
        found = Stencils.of(nodes, thickness, friction, edges)
        found.sweep(edges, x, u, 4.0 * self._margin)
        return found

    def _find(self, x: Array, u: Array) -> Stencils:
        """All stencils that could come nearer than their thickness, or meet, on the way u (n, 3) [m]."""
        self._follow(x, u)
        parts = []
        for edges in (False, True):
            found = self._sweep(edges, self._near[edges], x, u)
            parts.append(found.take((found.time <= 1.0) | (found.distance < found.thickness)))
        return Stencils(*(np.concatenate(arrays) for arrays in zip(*(_fields(p) for p in parts), strict=True)))

    def _join(self, x: Array, w: Array, v: Array, dt: float, inv_mass: Array) -> int:
        """Nodes that would still meet move as rigid bodies, with all that these meet; how many nodes."""
        import scipy.sparse as sparse
        from scipy.sparse.csgraph import connected_components

        n = len(x)
        # a held node weighs so much that what it joins does not move it
        light = float(inv_mass[inv_mass > 0].min()) if (inv_mass > 0).any() else 1.0
        mass = 1.0 / np.where(inv_mass > 0, inv_mass, 1e-9 * light)
        links = np.zeros((0, 2), dtype=np.int64)
        for _ in range(JOINS):
            found = self._find(x, dt * w)
            meets = found.nodes[found.time <= 1.0]
            if not len(meets):
                return len(np.unique(links))
            links = np.unique(np.concatenate([links, meets[:, :2], meets[:, 1:3], meets[:, 2:]]), axis=0)
            graph = sparse.coo_matrix((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(n, n))
            zone = connected_components(graph, directed=False)[1]
            nodes = np.unique(links)
            for z in np.unique(zone[nodes]):
                _make_rigid(nodes[zone[nodes] == z], x, w, dt, mass)
                _make_rigid(nodes[zone[nodes] == z], x, v, dt, mass)
        raise PhysicsError(
            "soft bodies: surfaces would still pass through each other; shorten the time step, or check that they are "
            "apart at the start"
        )


@dataclass
class Stencils:
    """Stencils of four nodes (m, 4), their distance (m,) [m], time of contact (m,) as part of the step, weights (m, 4),
    normals (m, 3), thickness (m,) [m] and friction (m,); edges (m,): 1 for two edges, 0 for a node and a triangle."""

    nodes: Any
    distance: Array
    time: Array
    weight: Array
    normal: Array
    thickness: Array
    friction: Array
    edges: Any

    @staticmethod
    def of(nodes: Any, thickness: Array, friction: Array, edges: bool) -> Stencils:
        """Stencils of nodes (m, 4), not yet swept."""
        m = len(nodes)
        kind = np.full(m, edges, dtype=np.int64)
        return Stencils(nodes, np.zeros(m), np.zeros(m), np.zeros((m, 4)), np.zeros((m, 3)), thickness, friction, kind)

    def sweep(self, edges: bool, x: Array, u: Array, slack: float) -> None:
        """Distances at x (n, 3), and contacts on the way u (n, 3) [m]; all of one kind."""
        m = len(self.nodes)
        share(
            _sweep_stencils, m, 64 * m, self.nodes, edges, x, u, slack, self.thickness,
            self.distance, self.time, self.weight, self.normal,
        )  # fmt: skip

    def take(self, chosen: Any) -> Stencils:
        return Stencils(*(np.ascontiguousarray(array[chosen]) for array in _fields(self)))


def _fields(s: Stencils) -> tuple[Any, ...]:
    return s.nodes, s.distance, s.time, s.weight, s.normal, s.thickness, s.friction, s.edges


def _boxes(x: Array, u: Array, things: Any, reach: Array) -> Array:
    """Boxes (m, 6) of things (m, k) of nodes on their way u, and of what they repel."""
    there, r = x + u, reach[:, None]
    low, high = np.minimum(x, there) - r, np.maximum(x, there) + r
    boxes = np.concatenate([low[things[:, 0]], high[things[:, 0]]], axis=1)
    for a in range(1, things.shape[1]):
        np.minimum(boxes[:, :3], low[things[:, a]], out=boxes[:, :3])
        np.maximum(boxes[:, 3:], high[things[:, a]], out=boxes[:, 3:])
    return boxes


def _rigid_fit(mass: Array, x: Array, v: Array) -> tuple[Array, Array, Array]:
    """Arms (k, 3) from the centre of nodes, their mean velocity (3,) and angular velocity (3,) by their momenta."""
    m = mass[:, None]
    total = float(m.sum())
    centre, mean = (m * x).sum(axis=0) / total, (m * v).sum(axis=0) / total
    r = x - centre
    L = np.cross(r, m * (v - mean)).sum(axis=0)
    inertia = float((m * r * r).sum()) * np.eye(3) - (m * r).T @ r
    return r, mean, np.linalg.pinv(inertia, rcond=1e-10, hermitian=True) @ L


def rigid_motion(mass: Array, x: Array, v: Array) -> Array:
    """Velocities (k, 3) of the rigid motion of nodes that has their momenta."""
    r, mean, omega = _rigid_fit(mass, x, v)
    return np.asarray(mean + np.cross(omega, r))


def _make_rigid(nodes: Any, x: Array, v: Array, dt: float, mass: Array) -> None:
    """Nodes (k,) get the motion of a rigid body with their momenta, turned exactly over the step."""
    r, mean, omega = _rigid_fit(mass[nodes], x[nodes], v[nodes])
    angle = float(np.linalg.norm(omega)) * dt
    turned = r
    # what would turn by more comes near itself on straight ways: it only moves along
    if 0 < angle < 1:
        k = omega * dt / angle
        turned = r * np.cos(angle) + np.cross(k, r) * np.sin(angle) + k * (r @ k)[:, None] * (1 - np.cos(angle))
    v[nodes] = mean + (turned - r) / dt
