"""Collision shapes: the entries of all unique shapes (``geometry.collision``) packed into arrays for kernels.

Every kind of entry has ``probes``, points (with the radius of a SPHERE or CAPSULE) that are looked up in the distance
of a FIELD, with the mean normal of the surface there, kept in clusters with a bounding sphere, so that a whole cluster
can be passed over.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from undertow.geometry import Shape
from undertow.geometry.collision import CAPSULE, CONVEX, FIELD, PLANE, SPHERE, CollisionEntry, Frame
from undertow.geometry.distance import PARAMETERS
from undertow.grid import Array
from undertow.rigid.bodies import rotation_matrix_of

__all__ = ["CAPSULE", "CONVEX", "FIELD", "PLANE", "SPHERE", "CollisionShapes", "CollisionSpec"]

KIND_NAMES = ("plane", "sphere", "capsule", "convex", "field")

_CLUSTER = 16
"""Probes per cluster, at most."""


KIND, VERTEX, VERTEX_END, FACE, FACE_END, EDGE, EDGE_END = range(7)
CLUSTER, CLUSTER_END, FORMULA, TABLE_START, TABLE_SHAPE = range(7, 12)
"""Columns of ``CollisionSpec.index``; TABLE_SHAPE is three wide: z, y, x."""

RADIUS, SLACK, BOUND, MIDDLE, HALF, OFFSET, TURN, TABLE_FRAME = (PARAMETERS + n for n in (0, 1, 2, 3, 6, 9, 12, 16))
"""Columns of ``CollisionSpec.number`` after the parameters of the formula.

RADIUS of a sphere or capsule; SLACK: how far a smooth surface may stand out between probes; BOUND: radius of the
sphere, HALF (3 wide): half sides of the box around MIDDLE (3); OFFSET (3), TURN (4): principal frame to that of the
formula or table; TABLE_FRAME (4): origin and spacing of the table. Lengths in metres.
"""


class CollisionSpec(NamedTuple):
    """What the kernels see of n shapes: few arrays, because every array is dear to compile.

    index (n, 14), number (n, 24): one row per shape, columns as above; FORMULA is the kind of the distance formula or
    TABLE. Ranges [VERTEX, VERTEX_END) and so on point into: vertices (v, 3); planes (f, 4), normal and offset, n.x <= d
    inside, with the corners of face f in order in loop[loop_start[f] : loop_start[f + 1]], counted from the shape's
    first vertex; edges (e, 4), two corners and two faces counted likewise, and directions (e, 3), unit vectors along
    the first face's normal x the second's; clusters (c, 4) of probes, middle and radius, with the probes (p, 6)
    [probe_start[c], probe_start[c + 1]); tables: values (z, y, x).
    """

    index: Any
    number: Array
    vertices: Array
    planes: Array
    loop_start: Any
    loop: Any
    edges: Any
    directions: Array
    clusters: Array
    probe_start: Any
    probes: Array
    tables: Array


class CollisionShapes:
    """The library of collision shapes of a simulation; entries are never removed, equal ones are shared."""

    def __init__(self, dimensions: int = 3) -> None:
        self.dimensions = dimensions
        self._waiting: list[CollisionEntry] = []
        """Not packed yet."""
        self._known: dict[object, int] = {}
        self._parts: dict[int, list[int]] = {}
        self._spec = self._room = _pack([])

    def __len__(self) -> int:
        return len(self._spec.index) + len(self._waiting)

    def add(self, shape: Shape, centre: Array | None = None, rotation: Array | None = None) -> int:
        """Index of the shape; centre (3,) [m] and rotation (4,) of the principal frame in the frame of the shape."""
        c = np.zeros(3) if centre is None else np.asarray(centre, dtype=np.float64)
        q = np.array([1.0, 0.0, 0.0, 0.0]) if rotation is None else np.asarray(rotation, dtype=np.float64)
        key = (shape.identity(), c.tobytes(), q.tobytes())
        if key not in self._known:
            frame = Frame(c, rotation_matrix_of(q), q)
            self._known[key] = self._put(shape.collision_entry(frame, self.dimensions))
            parts = [self._put(entry) for entry in shape.collision_parts(frame, self.dimensions)]
            self._parts[self._known[key]] = parts or [self._known[key]]
        return self._known[key]

    def _put(self, entry: CollisionEntry) -> int:
        self._waiting.append(entry)
        return len(self) - 1

    def parts(self, index: int) -> list[int]:
        """Shapes by which a shape collides with other bodies: its parts, or itself."""
        return self._parts[index]

    def arrays(self) -> CollisionSpec:
        """The packed shapes."""
        if self._waiting:
            new, self._waiting = _moved_behind(self._spec, _pack(self._waiting)), []
            parts = zip(self._room, self._spec, new, strict=True)
            self._room = CollisionSpec(*(_append(room, len(old), more) for room, old, more in parts))
            ends = (len(old) + len(more) for old, more in zip(self._spec, new, strict=True))
            self._spec = CollisionSpec(*(room[:end] for room, end in zip(self._room, ends, strict=True)))
        return self._spec

    def kind_name(self, index: int) -> str:
        """plane, sphere, capsule, convex or field."""
        return KIND_NAMES[int(self.arrays().index[index, KIND])]


def _make_clusters(points: Array) -> tuple[Array, list[int], Array]:
    """Points in an order in which clusters are consecutive, sizes of the clusters, their middles and radii (c, 4)."""
    groups: list[Any] = []

    def split(members: Any) -> None:
        if len(members) <= _CLUSTER:
            groups.append(members)
            return
        axis = int(np.argmax(np.ptp(points[members, :3], axis=0)))
        members = members[np.argsort(points[members, axis], kind="stable")]
        split(members[: len(members) // 2])
        split(members[len(members) // 2 :])

    if len(points):
        split(np.arange(len(points)))
    balls = np.zeros((len(groups), 4))
    for ball, members in zip(balls, groups, strict=True):
        own = points[members, :3]
        ball[:3] = 0.5 * (own.min(axis=0) + own.max(axis=0))
        ball[3] = np.linalg.norm(own - ball[:3], axis=1).max()
    order = np.concatenate(groups) if groups else np.zeros(0, dtype=np.int64)
    return points[order], [len(g) for g in groups], balls


def _bounds(entry: CollisionEntry) -> tuple[Array, Array, float]:
    """Middle and half (3,) of the box, and radius of the sphere around its middle."""
    if entry.kind == PLANE:
        return np.zeros(3), np.full(3, np.inf), np.inf
    # the ends of the axis, or the probes: all corners, and in 2D on z = 0, where the prism is tall
    points = entry.vertices if entry.kind in (SPHERE, CAPSULE) else entry.probes[:, :3]
    lower, upper = points.min(axis=0), points.max(axis=0)
    middle = 0.5 * (lower + upper)
    # a smooth surface stands out between its probes
    reach = entry.radius + entry.slack
    return middle, 0.5 * (upper - lower) + reach, float(np.linalg.norm(points - middle, axis=1).max() + reach)


def _edge_directions(entry: CollisionEntry) -> Array:
    """Unit vectors (e, 3) along the cross product of the normals of the faces of each edge."""
    along = np.cross(entry.planes[entry.edges[:, 2], :3], entry.planes[entry.edges[:, 3], :3])
    return np.asarray(along / np.linalg.norm(along, axis=1, keepdims=True)) if len(along) else np.zeros((0, 3))


def _starts(counts: list[int]) -> Any:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _stack(parts: list[Array], width: int, kind: Any = np.float64) -> Any:
    return np.ascontiguousarray(np.concatenate([np.zeros((0, width)), *parts]), dtype=kind)


def _pack(entries: list[CollisionEntry]) -> CollisionSpec:
    clustered = [_make_clusters(e.probes) for e in entries]
    sizes = [size for _, groups, _ in clustered for size in groups]
    bounds = [_bounds(e) for e in entries]
    loops = [loop for e in entries for loop in e.loops]
    # faces without a loop (planes) keep the numbering of loops that of planes
    loop_sizes = [n for e in entries for n in ([len(loop) for loop in e.loops] or [0] * len(e.planes))]
    ranges = [
        _starts([len(e.vertices) for e in entries]),
        _starts([len(e.planes) for e in entries]),
        _starts([len(e.edges) for e in entries]),
        _starts([len(groups) for _, groups, _ in clustered]),
    ]
    index, number = np.zeros((len(entries), TABLE_SHAPE + 3), dtype=np.int64), np.zeros((len(entries), TABLE_FRAME + 4))
    table_start = _starts([len(e.table) for e in entries])
    for n, (entry, (middle, half, bound)) in enumerate(zip(entries, bounds, strict=True)):
        both = [int(start[m]) for start in ranges for m in (n, n + 1)]
        index[n] = [entry.kind, *both, entry.formula, table_start[n], *entry.table_shape]
        number[n] = [
            *entry.parameters, entry.radius, entry.slack, bound, *middle, *half,
            *entry.frame_x, *entry.frame_q, *entry.table_frame,
        ]  # fmt: skip
    return CollisionSpec(
        index=index,
        number=number,
        vertices=_stack([e.vertices for e in entries], 3),
        planes=_stack([e.planes for e in entries], 4),
        loop_start=_starts(loop_sizes),
        loop=np.array([i for loop in loops for i in loop], dtype=np.int64),
        edges=_stack([e.edges for e in entries], 4, np.int64),
        directions=_stack([_edge_directions(e) for e in entries], 3),
        clusters=_stack([balls for _, _, balls in clustered], 4),
        probe_start=_starts(sizes),
        probes=_stack([points for points, _, _ in clustered], 6),
        tables=np.concatenate([np.zeros(0), *(e.table for e in entries)]),
    )


def _append(room: Any, count: int, more: Any) -> Any:
    """An array whose first ``count`` rows are those of ``room`` and then ``more``: the same with those written into it
    where they have room, which it gets for half as many again as are needed."""
    need = count + len(more)
    if need > len(room):
        room, old = np.empty((need + need // 2, *more.shape[1:]), dtype=more.dtype), room
        room[:count] = old[:count]
    room[count:need] = more
    return room


def _moved_behind(old: CollisionSpec, new: CollisionSpec) -> CollisionSpec:
    """Packed shapes as they are behind others: what counts from the start of an array goes on where the old one
    ends."""
    index = new.index.copy()
    index[:, VERTEX : VERTEX_END + 1] += len(old.vertices)
    index[:, FACE : FACE_END + 1] += len(old.planes)
    index[:, EDGE : EDGE_END + 1] += len(old.edges)
    index[:, CLUSTER : CLUSTER_END + 1] += len(old.clusters)
    index[:, TABLE_START] += len(old.tables)
    return new._replace(index=index, loop_start=new.loop_start[1:] + len(old.loop),
                        probe_start=new.probe_start[1:] + len(old.probes))  # fmt: skip
