"""Contacts of pairs of bodies: points, normals and gaps.

| pair | how |
|---|---|
| plane and sphere, capsule, convex | every corner (with its radius) against the plane |
| spheres and capsules | nearest points of their axes; the ends of the overlap too where they are nearly parallel |
| sphere and convex | exact distance of the centre |
| capsule and convex | its axis clipped against the nearest face, or the nearest edge |
| convex and convex | separating axes, then clipping (``convex.py``) |
| field and anything | probes of each in the signed distance of the other, both ways (thesis 2.4.1 [@schroeder2011]) |

At most 8 contacts per pair of convex shapes, 24 with a field: the deepest, then the ones farthest from those chosen.
Many pairs are shared by threads, each with buffers of its own that are joined in the order of the pairs: the same
contacts in the same order, whatever the number of threads.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from undertow.grid import Array, share
from undertow.grid.jitting import helper, inlined
from undertow.rigid.bodies import BodySpec, rotate, rotate_back
from undertow.rigid.broad import Pairs
from undertow.rigid.convex import APART, GAP, KEY, TAKEN, closest_on_segments, collide_convex
from undertow.rigid.fields import QUERY, convex_distance, unit_vector
from undertow.rigid.probes import add_candidate, probe_field, relative_turn
from undertow.rigid.shapes import (
    BOUND,
    CLUSTER,
    CLUSTER_END,
    CONVEX,
    EDGE,
    EDGE_END,
    FACE,
    FACE_END,
    FIELD,
    HALF,
    KIND,
    MIDDLE,
    PLANE,
    RADIUS,
    VERTEX,
    VERTEX_END,
    CollisionShapes,
    CollisionSpec,
)

MOST_CONVEX = 8
MOST_FIELD = 24
"""Contacts kept per pair."""

PAIR_CELLS = 64
"""A pair costs as much as so many cells of a grid: threads share the pairs of a pile from about 500 on."""

_PARALLEL = 0.02
"""Capsules whose axes enclose an angle of smaller sine touch at two points."""


class ContactSpec(NamedTuple):
    """n contacts, those of a pair consecutive, in the order of the pairs.

    a, b (n,) bodies; point (n, 3) midway between the surfaces [m]; normal (n, 3) unit, from b to a; gap (n,) [m],
    negative where they penetrate; feature (n,): unique within the pair, the same from step to step while the same
    features touch; pair_start (pairs + 1,): contacts of pair k are [pair_start[k], pair_start[k + 1]).
    """

    a: Any
    b: Any
    point: Array
    normal: Array
    gap: Array
    feature: Any
    pair_start: Any


class _Work(NamedTuple):
    """Scratch of one pair: candidates, points whose distance is asked, the second polyhedron in the frame of the first,
    its edges that may touch, polygons being clipped."""

    point: Array
    normal: Array
    measure: Array
    label: Any
    query: Array
    vertices: Array
    planes: Array
    directions: Array
    kept: Any
    along: Array
    polygon: Array
    corner: Any
    turn: Array


class _Buffer:
    """Contacts of a range of pairs, and the scratch for finding them; both are kept."""

    def __init__(self) -> None:
        self.arrays = _allocate(0, 0)
        self._shapes: CollisionSpec | None = None
        self._work: _Work | None = None

    def reserve(self, contacts: int, pairs: int) -> ContactSpec:
        """Room for so many; what was there stays."""
        room, pair_room = len(self.arrays.a), len(self.arrays.pair_start) - 1
        if contacts > room or pairs > pair_room:
            old = self.arrays
            self.arrays = _allocate(max(2 * room, contacts, 64), max(2 * pair_room, pairs, 64))
            for new, was in zip(self.arrays, old, strict=True):
                new[: len(was)] = was
        return self.arrays

    def scratch(self, shapes: CollisionSpec) -> _Work:
        """Scratch for any pair of the shapes."""
        if self._work is None or self._shapes is not shapes:
            self._shapes, self._work = shapes, _make_work(shapes)
        return self._work


class Contacts:
    """Buffers of contacts, filled by ``find_contacts`` and reused; ``spec`` gives views of the ones found.

    The first range of pairs goes straight to its place, those of other threads by way of a buffer of their own.
    """

    def __init__(self) -> None:
        self.count = 0
        self.pairs = 0
        self._all = _Buffer()
        self._free: list[_Buffer] = []
        self._found: dict[int, tuple[int, int, _Buffer]] = {}

    @property
    def spec(self) -> ContactSpec:
        """Views of the contacts found last."""
        arrays = self._all.arrays
        lengths = (*[self.count] * (len(arrays) - 1), self.pairs + 1)
        return ContactSpec(*(array[:n] for array, n in zip(arrays, lengths, strict=True)))

    def _find(
        self, spec: CollisionSpec, shape: Any, x: Array, q: Array, a: Any, b: Any, reach: Array, flat: bool,
        start: int, stop: int,
    ) -> None:  # fmt: skip
        """The contacts of pairs start to stop; called by several threads at once."""
        if start == 0:
            buffer = self._all
        else:
            try:
                buffer = self._free.pop()
            except IndexError:
                buffer = _Buffer()
        arrays, work = buffer.reserve(0, stop - start), buffer.scratch(spec)
        while True:
            found = int(_find_contacts(spec, shape, x, q, a, b, reach, flat, work, arrays, start, stop))
            if found <= len(arrays.a):
                break
            arrays = buffer.reserve(found, stop - start)
        self._found[start] = stop, found, buffer

    def _join(self) -> None:
        """The contacts found by all threads, in the order of the pairs."""
        total = sum(found for _, found, _ in self._found.values())
        arrays = self._all.reserve(total, self.pairs)
        at = 0
        for start in sorted(self._found):
            stop, found, buffer = self._found[start]
            if start > 0:
                for new, part in zip(arrays[:-1], buffer.arrays[:-1], strict=True):
                    new[at : at + found] = part[:found]
                arrays.pair_start[start:stop] = buffer.arrays.pair_start[: stop - start]
                arrays.pair_start[start:stop] += at
                self._free.append(buffer)
            at += found
        arrays.pair_start[self.pairs] = total
        self.count = total


def _allocate(contacts: int, pairs: int) -> ContactSpec:
    whole = [np.zeros(contacts, dtype=np.int64) for _ in range(3)]
    return ContactSpec(
        whole[0],
        whole[1],
        np.zeros((contacts, 3)),
        np.zeros((contacts, 3)),
        np.zeros(contacts),
        whole[2],
        np.zeros(pairs + 1, dtype=np.int64),
    )


def _make_work(shapes: CollisionSpec) -> _Work:
    """Scratch large enough for any pair of the shapes."""

    def most(start: int, end: int) -> int:
        return int(np.max(shapes.index[:, end] - shapes.index[:, start], initial=1))

    clusters = shapes.probe_start[shapes.index[:, [CLUSTER, CLUSTER_END]]]
    probes = int(np.max(clusters[:, 1] - clusters[:, 0], initial=1))
    vertices, faces, edges = most(VERTEX, VERTEX_END), most(FACE, FACE_END), most(EDGE, EDGE_END)
    loop = int(np.max(np.diff(shapes.loop_start), initial=1))
    room = max(2 * probes + 8, 4 * loop + 8, vertices, MOST_FIELD)
    return _Work(
        point=np.zeros((room, 3)),
        normal=np.zeros((room, 3)),
        measure=np.zeros((room, 2)),
        label=np.zeros((room, 2), dtype=np.int64),
        query=np.zeros((room, QUERY)),
        vertices=np.zeros((vertices, 3)),
        planes=np.zeros((faces, 4)),
        directions=np.zeros((edges, 3)),
        kept=np.zeros(edges, dtype=np.int64),
        along=np.zeros((2, edges, faces)),
        polygon=np.zeros((2, 4 * loop + 8, 3)),
        corner=np.zeros((2, 4 * loop + 8, 2), dtype=np.int64),
        turn=np.zeros((3, 3)),
    )


def find_contacts(
    shapes: CollisionShapes,
    bodies: BodySpec,
    x: Array,
    q: Array,
    pairs: Pairs,
    reach: Array,
    contacts: Contacts,
) -> int:
    """Contacts with a gap below reach[a] + reach[b] of all pairs at poses x (n, 3) [m], q (n, 4), into ``contacts``.

    reach (n,) [m], one length per body: how far it may come before the next look. Returns the number of contacts.
    """
    spec, n = shapes.arrays(), len(bodies.kind)
    if not (len(x) == len(q) == len(reach) == n):
        raise ValueError(f"x {x.shape}, q {q.shape}, reach {np.shape(reach)}: need {n} rows, one per body")
    contacts.pairs = pairs.count
    contacts._found.clear()
    share(
        contacts._find, pairs.count, PAIR_CELLS * pairs.count,
        spec, bodies.shape, x, q, pairs.a, pairs.b, reach, shapes.dimensions == 2,
    )  # fmt: skip
    contacts._join()
    return contacts.count


@njit(cache=True, nogil=True)
def _find_contacts(  # type: ignore[no-untyped-def]
    spec, shape, x, q, pair_a, pair_b, reach, flat, work, out, start, stop
):
    """Number of contacts of the pairs from start to stop; where there is no room they are counted only."""
    total = 0
    room = len(out.a)
    for k in range(start, stop):
        a, b = pair_a[k], pair_b[k]
        out.pair_start[k - start] = total
        limit = reach[a] + reach[b]
        if _are_apart(spec, shape[a], shape[b], x[a], q[a], x[b], q[b], limit, work):
            continue
        found = _find_candidates(spec, shape[a], shape[b], x[a], q[a], x[b], q[b], limit, flat, work)
        field = spec.index[shape[a], KIND] == FIELD or spec.index[shape[b], KIND] == FIELD
        size = min(spec.number[shape[a], BOUND], spec.number[shape[b], BOUND])
        found = _choose(found, MOST_FIELD if field else MOST_CONVEX, field, size, work)
        if total + found <= room:
            for n in range(found):
                c = work.label[n, TAKEN]
                out.a[total + n], out.b[total + n] = a, b
                out.gap[total + n], out.feature[total + n] = work.measure[c, GAP], work.label[c, KEY]
                for i in range(3):
                    out.point[total + n, i] = work.point[c, i]
                    out.normal[total + n, i] = work.normal[c, i]
                if flat:
                    nx, ny, _ = unit_vector(work.normal[c, 0], work.normal[c, 1], 0.0)
                    out.normal[total + n, 0], out.normal[total + n, 1], out.normal[total + n, 2] = nx, ny, 0.0
                    out.point[total + n, 2] = 0.0
        total += found
    out.pair_start[stop - start] = total
    return total


@inlined
def _are_apart(spec, sa, sb, xa, qa, xb, qb, reach, work):  # type: ignore[no-untyped-def]
    """Whether a plane along a side of the box around one shape separates it from the other by more than reach.

    Most pairs that the broad phase gives do not touch, the more of them the deeper a pile is.
    """
    p, q = spec.number[sa], spec.number[sb]
    if p[BOUND] == np.inf or q[BOUND] == np.inf:
        return False
    relative_turn(qa, qb, work.turn)
    R = work.turn
    # middle of b's box from that of a's, in the frame of a
    x, y, z = rotate_back(qa, xb[0] - xa[0], xb[1] - xa[1], xb[2] - xa[2])
    x += R[0, 0] * q[MIDDLE] + R[0, 1] * q[MIDDLE + 1] + R[0, 2] * q[MIDDLE + 2] - p[MIDDLE]
    y += R[1, 0] * q[MIDDLE] + R[1, 1] * q[MIDDLE + 1] + R[1, 2] * q[MIDDLE + 2] - p[MIDDLE + 1]
    z += R[2, 0] * q[MIDDLE] + R[2, 1] * q[MIDDLE + 1] + R[2, 2] * q[MIDDLE + 2] - p[MIDDLE + 2]
    for i in range(3):
        away = abs(x if i == 0 else y if i == 1 else z)
        half = abs(R[i, 0]) * q[HALF] + abs(R[i, 1]) * q[HALF + 1] + abs(R[i, 2]) * q[HALF + 2]
        if away > reach + p[HALF + i] + min(half, q[BOUND]):
            return True
        away = abs(R[0, i] * x + R[1, i] * y + R[2, i] * z)
        half = abs(R[0, i]) * p[HALF] + abs(R[1, i]) * p[HALF + 1] + abs(R[2, i]) * p[HALF + 2]
        if away > reach + q[HALF + i] + min(half, p[BOUND]):
            return True
    return False


@inlined
def _find_candidates(spec, sa, sb, xa, qa, xb, qb, reach, flat, work):  # type: ignore[no-untyped-def]
    """Candidates in world coordinates; their number."""
    ka, kb = spec.index[sa, KIND], spec.index[sb, KIND]
    if ka == FIELD or kb == FIELD:
        found = probe_field(spec, sa, xa, qa, sb, xb, qb, reach, 1.0, np.int64(0), work)
        return probe_field(spec, sb, xb, qb, sa, xa, qa, reach, -1.0, found, work)
    if kb == PLANE:
        return _touch_plane(spec, sa, xa, qa, sb, xb, qb, reach, flat, 1.0, work)
    if ka == PLANE:
        return _touch_plane(spec, sb, xb, qb, sa, xa, qa, reach, flat, -1.0, work)
    if ka == CONVEX and kb == CONVEX:
        relative_turn(qa, qb, work.turn)
        x, y, z = rotate_back(qa, xb[0] - xa[0], xb[1] - xa[1], xb[2] - xa[2])
        found = collide_convex(spec, sa, sb, x, y, z, reach, flat, work)
        _to_world(xa, qa, found, work)
        return found
    if ka == CONVEX:
        return _touch_axis(spec, sb, xb, qb, sa, xa, qa, reach, -1.0, work)
    if kb == CONVEX:
        return _touch_axis(spec, sa, xa, qa, sb, xb, qb, reach, 1.0, work)
    return _touch_round(spec, sa, xa, qa, sb, xb, qb, reach, work)


@helper
def _to_world(x, q, count, work):  # type: ignore[no-untyped-def]
    """Candidates from the frame at x, q to the world."""
    for n in range(count):
        px, py, pz = rotate(q, work.point[n, 0], work.point[n, 1], work.point[n, 2])
        work.point[n, 0], work.point[n, 1], work.point[n, 2] = px + x[0], py + x[1], pz + x[2]
        px, py, pz = rotate(q, work.normal[n, 0], work.normal[n, 1], work.normal[n, 2])
        work.normal[n, 0], work.normal[n, 1], work.normal[n, 2] = px, py, pz


@helper
def _world_vertex(spec, v, x, q):  # type: ignore[no-untyped-def]
    px, py, pz = rotate(q, spec.vertices[v, 0], spec.vertices[v, 1], spec.vertices[v, 2])
    return px + x[0], py + x[1], pz + x[2]


@helper
def _touch_plane(spec, s, x, q, plane, xp, qp, reach, flat, sign, work):  # type: ignore[no-untyped-def]
    """Corners of sphere, capsule or polyhedron s near a half space; sign 1 if s is the first body of the pair."""
    f = spec.index[plane, FACE]
    nx, ny, nz = rotate(qp, spec.planes[f, 0], spec.planes[f, 1], spec.planes[f, 2])
    first = spec.index[s, VERTEX]
    r = spec.number[s, RADIUS]
    found = np.int64(0)
    for v in range(first, spec.index[s, VERTEX_END]):
        if flat and spec.index[s, KIND] == CONVEX and spec.vertices[v, 2] < 0.0:
            continue
        px, py, pz = _world_vertex(spec, v, x, q)
        gap = nx * (px - xp[0]) + ny * (py - xp[1]) + nz * (pz - xp[2]) - spec.planes[f, 3] - r
        if gap < reach:
            found = add_candidate(found, px - r * nx, py - r * ny, pz - r * nz, nx, ny, nz, gap, v - first, work)
            if sign < 0.0:
                work.normal[found - 1, 0], work.normal[found - 1, 1], work.normal[found - 1, 2] = -nx, -ny, -nz
    return found


@inlined
def _touch_round(spec, sa, xa, qa, sb, xb, qb, reach, work):  # type: ignore[no-untyped-def]
    """Two spheres or capsules: nearest points of their axes, and ends over the other where they run side by side."""
    a0, a1 = spec.index[sa, VERTEX], spec.index[sa, VERTEX_END] - 1
    b0, b1 = spec.index[sb, VERTEX], spec.index[sb, VERTEX_END] - 1
    ax, ay, az = _world_vertex(spec, a0, xa, qa)
    bx, by, bz = _world_vertex(spec, a1, xa, qa)
    cx, cy, cz = _world_vertex(spec, b0, xb, qb)
    dx, dy, dz = _world_vertex(spec, b1, xb, qb)
    ux, uy, uz, vx, vy, vz = bx - ax, by - ay, bz - az, dx - cx, dy - cy, dz - cz
    s, t, _ = closest_on_segments(ax, ay, az, bx, by, bz, cx, cy, cz, dx, dy, dz)
    found = _touch_balls(
        ax + s * ux, ay + s * uy, az + s * uz, spec.number[sa, RADIUS],
        cx + t * vx, cy + t * vy, cz + t * vz, spec.number[sb, RADIUS], reach, np.int64(0), np.int64(0), work,
    )  # fmt: skip
    uu, vv = ux * ux + uy * uy + uz * uz, vx * vx + vy * vy + vz * vz
    wx, wy, wz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    if found == 0 or uu == 0.0 or vv == 0.0 or wx * wx + wy * wy + wz * wz > _PARALLEL * _PARALLEL * uu * vv:
        return found
    # side by side: one contact per end that lies beside the other axis (the two at the ends of the overlap)
    found = np.int64(0)
    for end in range(2):
        px, py, pz = (ax, ay, az) if end == 0 else (bx, by, bz)
        t = ((px - cx) * vx + (py - cy) * vy + (pz - cz) * vz) / vv
        if 0.0 <= t <= 1.0:
            found = _touch_balls(
                px, py, pz, spec.number[sa, RADIUS], cx + t * vx, cy + t * vy, cz + t * vz, spec.number[sb, RADIUS],
                reach, 1 + end, found, work,
            )  # fmt: skip
        px, py, pz = (cx, cy, cz) if end == 0 else (dx, dy, dz)
        s = ((px - ax) * ux + (py - ay) * uy + (pz - az) * uz) / uu
        if 0.0 < s < 1.0:
            found = _touch_balls(
                ax + s * ux, ay + s * uy, az + s * uz, spec.number[sa, RADIUS], px, py, pz, spec.number[sb, RADIUS],
                reach, 3 + end, found, work,
            )  # fmt: skip
    if found == 0:
        s, t, _ = closest_on_segments(ax, ay, az, bx, by, bz, cx, cy, cz, dx, dy, dz)
        found = _touch_balls(
            ax + s * ux, ay + s * uy, az + s * uz, spec.number[sa, RADIUS],
            cx + t * vx, cy + t * vy, cz + t * vz, spec.number[sb, RADIUS], reach, np.int64(0), np.int64(0), work,
        )  # fmt: skip
    return found


@helper
def _touch_balls(ax, ay, az, ra, bx, by, bz, rb, reach, key, found, work):  # type: ignore[no-untyped-def]
    """Two spheres; concentric ones part upward."""
    dx, dy, dz = ax - bx, ay - by, az - bz
    gap = sqrt(dx * dx + dy * dy + dz * dz) - ra - rb
    if gap >= reach:
        return found
    nx, ny, nz = unit_vector(dx, dy, dz)
    return add_candidate(found, ax - ra * nx, ay - ra * ny, az - ra * nz, nx, ny, nz, gap, key, work)


@helper
def _touch_axis(spec, s, xs, qs, t, xt, qt, reach, sign, work):  # type: ignore[no-untyped-def]
    """Sphere or capsule s and polyhedron t; sign 1 if s is the first body of the pair."""
    first, last = spec.index[s, VERTEX], spec.index[s, VERTEX_END] - 1
    r = spec.number[s, RADIUS]
    px, py, pz = _world_vertex(spec, first, xs, qs)
    ax, ay, az = rotate_back(qt, px - xt[0], py - xt[1], pz - xt[2])
    if first == last:
        gap, nx, ny, nz = convex_distance(spec, t, ax, ay, az, reach + r)
        gap -= r
        if gap >= reach:
            return 0
        found = add_candidate(np.int64(0), ax - r * nx, ay - r * ny, az - r * nz, nx, ny, nz, gap, np.int64(0), work)
    else:
        px, py, pz = _world_vertex(spec, last, xs, qs)
        bx, by, bz = rotate_back(qt, px - xt[0], py - xt[1], pz - xt[2])
        found = _touch_capsule(spec, t, ax, ay, az, bx, by, bz, r, reach, work)
    _to_world(xt, qt, found, work)
    if sign < 0.0:
        for n in range(found):
            for i in range(3):
                work.normal[n, i] = -work.normal[n, i]
    return found


@helper
def _touch_capsule(spec, s, ax, ay, az, bx, by, bz, r, reach, work):  # type: ignore[no-untyped-def]
    """Capsule with axis ab and polyhedron s, in its frame.

    Two points where the axis runs over a face: the ends of the part above it. One where it passes an edge.
    """
    ux, uy, uz = bx - ax, by - ay, bz - az
    face, largest = spec.index[s, FACE], -1e300
    enter, leave = 0.0, 1.0
    for f in range(spec.index[s, FACE], spec.index[s, FACE_END]):
        nx, ny, nz, d = spec.planes[f, 0], spec.planes[f, 1], spec.planes[f, 2], spec.planes[f, 3]
        start, end = nx * ax + ny * ay + nz * az - d, nx * bx + ny * by + nz * bz - d
        if min(start, end) - r >= reach:
            return 0
        if min(start, end) > largest:
            face, largest = f, min(start, end)
        enter, leave = _clip_interval(start, end, enter, leave)
    pierced = enter <= leave
    nx, ny, nz, d = spec.planes[face, 0], spec.planes[face, 1], spec.planes[face, 2], spec.planes[face, 3]
    low, high = _clip_to_face(spec, s, face, ax, ay, az, bx, by, bz)
    start, end = nx * ax + ny * ay + nz * az - d, nx * bx + ny * by + nz * bz - d
    above = 1e300
    if low <= high:
        above = min(start + low * (end - start), start + high * (end - start))
    edge, nearest, at, on = _nearest_edge(spec, s, ax, ay, az, bx, by, bz)
    if pierced or above <= 1.02 * nearest:
        found = np.int64(0)
        for k in range(2):
            t = low if k == 0 else high
            gap = start + t * (end - start) - r
            if low <= high and gap < reach and (k == 0 or high - low > 1e-6):
                px, py, pz = ax + t * ux - r * nx, ay + t * uy - r * ny, az + t * uz - r * nz
                found = add_candidate(found, px, py, pz, nx, ny, nz, gap, ((face - spec.index[s, FACE]) << 8) + k, work)
        return found
    if nearest - r >= reach:
        return 0
    v = spec.index[s, VERTEX]
    i, j = v + spec.edges[edge, 0], v + spec.edges[edge, 1]
    px, py, pz = ax + at * ux, ay + at * uy, az + at * uz
    nx, ny, nz = unit_vector(
        px - spec.vertices[i, 0] - on * (spec.vertices[j, 0] - spec.vertices[i, 0]),
        py - spec.vertices[i, 1] - on * (spec.vertices[j, 1] - spec.vertices[i, 1]),
        pz - spec.vertices[i, 2] - on * (spec.vertices[j, 2] - spec.vertices[i, 2]),
    )
    key = (1 << 32) + edge - spec.index[s, EDGE]
    return add_candidate(np.int64(0), px - r * nx, py - r * ny, pz - r * nz, nx, ny, nz, nearest - r, key, work)


@helper
def _clip_interval(start, end, low, high):  # type: ignore[no-untyped-def]
    """Part [low, high] of the segment on which a linear function from start to end is not positive."""
    if start > 0.0 and end > 0.0:
        return 1.0, 0.0
    if start > 0.0:
        low = max(low, start / (start - end))
    elif end > 0.0:
        high = min(high, start / (start - end))
    return low, high


@helper
def _clip_to_face(spec, s, f, ax, ay, az, bx, by, bz):  # type: ignore[no-untyped-def]
    """Part [low, high] of the segment ab in the prism over face f; low > high if there is none."""
    v = spec.index[s, VERTEX]
    nx, ny, nz = spec.planes[f, 0], spec.planes[f, 1], spec.planes[f, 2]
    first, stop = spec.loop_start[f], spec.loop_start[f + 1]
    low, high = 0.0, 1.0
    for n in range(first, stop):
        i = v + spec.loop[n]
        j = v + spec.loop[n + 1 if n + 1 < stop else first]
        px, py, pz = spec.vertices[i, 0], spec.vertices[i, 1], spec.vertices[i, 2]
        ux, uy, uz = spec.vertices[j, 0] - px, spec.vertices[j, 1] - py, spec.vertices[j, 2] - pz
        mx, my, mz = uy * nz - uz * ny, uz * nx - ux * nz, ux * ny - uy * nx
        start = mx * (ax - px) + my * (ay - py) + mz * (az - pz)
        end = mx * (bx - px) + my * (by - py) + mz * (bz - pz)
        low, high = _clip_interval(start, end, low, high)
        if low > high:
            break
    return low, high


@helper
def _nearest_edge(spec, s, ax, ay, az, bx, by, bz):  # type: ignore[no-untyped-def]
    """(edge in ``spec``, distance, parameter on ab, parameter on the edge)"""
    v = spec.index[s, VERTEX]
    edge, nearest, at, on = -1, 1e300, 0.0, 0.0
    for e in range(spec.index[s, EDGE], spec.index[s, EDGE_END]):
        i, j = v + spec.edges[e, 0], v + spec.edges[e, 1]
        p, q, distance_sq = closest_on_segments(
            ax, ay, az, bx, by, bz,
            spec.vertices[i, 0], spec.vertices[i, 1], spec.vertices[i, 2],
            spec.vertices[j, 0], spec.vertices[j, 1], spec.vertices[j, 2],
        )  # fmt: skip
        if distance_sq < nearest:
            edge, nearest, at, on = e, distance_sq, p, q
    return edge, sqrt(nearest), at, on


@inlined
def _parted(work, m, n, turn):  # type: ignore[no-untyped-def]
    """Squared distance of two candidates, turned normals included."""
    apart, turned = 0.0, 0.0
    for i in range(3):
        apart += (work.point[m, i] - work.point[n, i]) ** 2
        turned += (work.normal[m, i] - work.normal[n, i]) ** 2
    return apart + turn * turned


@inlined
def _choose(count, most, field, size, work):  # type: ignore[no-untyped-def]
    """Numbers of the chosen candidates in ascending order into ``label``; how many.

    The deepest, then again and again the one farthest from all chosen (deep ones count up to 17 times as far), or its
    deepest neighbour; a normal turned by 1 rad counts as far as half the size. Of a field's probes, which come in
    crowds, those that add nothing are left out.
    """
    if count <= most and not field:
        for n in range(count):
            work.label[n, TAKEN] = n
        return count
    if count == 0:
        return 0
    turn = 0.25 * size * size
    least = (0.02 * size) ** 2 if field else 0.0
    last: Any = np.int64(0)
    shallowest: Any = np.int64(0)
    for n in range(count):
        work.measure[n, APART] = 1e300
        if work.measure[n, GAP] < work.measure[last, GAP]:
            last = n
        if work.measure[n, GAP] > work.measure[shallowest, GAP]:
            shallowest = n
    deepest = work.measure[last, GAP]
    scale = 4.0 / max(work.measure[shallowest, GAP] - deepest, 1e-300)
    chosen = 0
    best: Any = np.int64(-1)
    while True:
        work.label[chosen, TAKEN] = last
        chosen += 1
        best, most_apart = np.int64(-1), 0.0
        for n in range(count):
            apart = min(_parted(work, n, last, turn), work.measure[n, APART])
            work.measure[n, APART] = apart
            if apart > least:
                apart /= 1.0 + (scale * (work.measure[n, GAP] - deepest)) ** 2
                if apart > most_apart:
                    best, most_apart = n, apart
        if chosen == most or best < 0:
            break
        last = best
        for n in range(count):
            # its deepest neighbour, rather
            if work.measure[n, GAP] < work.measure[last, GAP] and _parted(work, n, best, turn) <= least:
                last = n
    # ascending: insertion, at most ``most`` numbers
    for i in range(1, chosen):
        value = work.label[i, TAKEN]
        j = i - 1
        while j >= 0 and work.label[j, TAKEN] > value:
            work.label[j + 1, TAKEN] = work.label[j, TAKEN]
            j -= 1
        work.label[j + 1, TAKEN] = value
    return chosen
