"""Collision geometry: one packed entry per unique shape, in the principal frame of the bodies that have it.

Kinds: PLANE (half space), SPHERE and CAPSULE (points and segments with a radius), CONVEX (faces, edges and corners of a
box or a convex mesh) and FIELD (all else: torus, cylinder, concave meshes, sheets), which has surface points and a
signed distance, as thesis 2.4.1 has it [@schroeder2011]: corners and sharp edges are always among the points, edges
every ``spacing``. The distance is analytic where the shape has a formula, else a trilinear table of the distance to the
mesh. A sheet is rounded: its points have a radius, which is taken off its distance too.

Every kind has ``probes``, points (with the radius of a SPHERE or CAPSULE) that are looked up in the distance of a
FIELD, with the mean normal of the surface there, kept in clusters with a bounding sphere, so that a whole cluster can
be passed over.

In a 2D scene shapes are their sections with the x-y plane: discs, polygons (stored as prisms between z = -1 and 1,
whose end faces do not count) and fields on z = 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from undertow.errors import UserError
from undertow.geometry import AnalyticShape, Box, Capsule, Cylinder, MeshShape, Plane, Sheet, Sphere, Torus
from undertow.geometry.distance import CYLINDER, PARAMETERS, TABLE, TORUS
from undertow.grid import Array
from undertow.rigid.bodies import rotation_matrix_of
from undertow.rigid.sections import Outline, section_of

PLANE, SPHERE, CAPSULE, CONVEX, FIELD = range(5)
KIND_NAMES = ("plane", "sphere", "capsule", "convex", "field")

MAX_FACES = 48
"""Convex meshes with more faces are fields: the search for separating axes grows with the square of the edges."""

SHEET_POINTS, SHEET_MARGIN = 32, 8.0
"""Points of a sheet along its longest side; how far its table goes beyond it, in spacings of the table."""

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


class Polytope(NamedTuple):
    """Convex polyhedron: vertices (v, 3), planes (f, 4), loops of corners per face, edges (e, 4)."""

    vertices: Array
    planes: Array
    loops: list[list[int]]
    edges: Any


class _Entry(NamedTuple):
    """One shape before packing."""

    kind: int
    radius: float = 0.0
    slack: float = 0.0
    vertices: Array = np.zeros((0, 3))
    planes: Array = np.zeros((0, 4))
    loops: tuple[list[int], ...] = ()
    edges: Any = np.zeros((0, 4), dtype=np.int64)
    probes: Array = np.zeros((0, 6))
    formula: int = -1
    parameters: Array = np.zeros(PARAMETERS)
    frame_q: Array = np.array([1.0, 0.0, 0.0, 0.0])
    frame_x: Array = np.zeros(3)
    table_shape: tuple[int, int, int] = (0, 0, 0)
    table_frame: Array = np.zeros(4)
    table: Array = np.zeros(0)


class CollisionShapes:
    """The library of collision shapes of a simulation; entries are never removed, equal ones are shared."""

    def __init__(self, dimensions: int = 3) -> None:
        self.dimensions = dimensions
        self._entries: list[_Entry] = []
        self._known: dict[object, int] = {}
        self._spec: CollisionSpec | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def add(
        self,
        shape: AnalyticShape | MeshShape | Sheet,
        centre: Array | None = None,
        rotation: Array | None = None,
    ) -> int:
        """Index of the shape; centre (3,) [m] and rotation (4,) of the principal frame in the frame of the shape."""
        c = np.zeros(3) if centre is None else np.asarray(centre, dtype=np.float64)
        q = np.array([1.0, 0.0, 0.0, 0.0]) if rotation is None else np.asarray(rotation, dtype=np.float64)
        identity: object = shape
        if isinstance(shape, MeshShape):
            identity = (shape.vertices.tobytes(), shape.triangles.tobytes())
        key = (identity, c.tobytes(), q.tobytes())
        if key not in self._known:
            self._entries.append(_make_entry(shape, c, q, self.dimensions))
            self._known[key] = len(self._entries) - 1
            self._spec = None
        return self._known[key]

    def arrays(self) -> CollisionSpec:
        """The packed shapes."""
        if self._spec is None:
            self._spec = _pack(self._entries)
        return self._spec

    def kind_name(self, index: int) -> str:
        """plane, sphere, capsule, convex or field."""
        return KIND_NAMES[self._entries[index].kind]


def _make_entry(shape: AnalyticShape | MeshShape | Sheet, centre: Array, rotation: Array, dimensions: int) -> _Entry:
    R = rotation_matrix_of(rotation)  # principal frame to shape
    if isinstance(shape, Plane):
        n = np.asarray(shape.normal)
        return _Entry(PLANE, planes=np.array([[*(R.T @ n), -n @ centre]]))
    if isinstance(shape, Sheet):
        return _sheet_field(shape, centre, R, rotation)
    if dimensions == 2:
        return _make_section(shape, centre, R)
    if isinstance(shape, Sphere):
        return _round_entry(SPHERE, np.zeros((1, 3)), centre, R, shape.radius)
    if isinstance(shape, Capsule):
        ends = np.array([[0.0, -0.5 * shape.length, 0.0], [0.0, 0.5 * shape.length, 0.0]])
        return _round_entry(CAPSULE, ends, centre, R, shape.radius)
    if isinstance(shape, Cylinder | Torus):
        probes, spacing = _probe_ring(shape)
        curvature = shape.radius if isinstance(shape, Cylinder) else shape.tube
        return _Entry(
            FIELD,
            slack=spacing * spacing / (4.0 * curvature),
            probes=_moved(probes, centre, R),
            formula=CYLINDER if isinstance(shape, Cylinder) else TORUS,
            parameters=shape.parameters,
            frame_q=rotation,
            frame_x=centre,
        )
    if isinstance(shape, Box | MeshShape):
        vertices, triangles = shape.surface()
        polytope = find_polytope((vertices - centre) @ R, triangles)
        if polytope is not None:
            return _convex_entry(polytope)
        assert isinstance(shape, MeshShape)
        return _mesh_field(shape, centre, R, rotation)
    raise UserError(f"collision shape: {type(shape).__name__} is not a shape that can collide; use a shape or a mesh")


def _round_entry(kind: int, ends: Array, centre: Array, R: Array, radius: float) -> _Entry:
    """Sphere (one end) or capsule (two): the probes are the points of the axis, a radius apart."""
    ends = (ends - centre) @ R
    probes = ends
    if kind == CAPSULE:
        count = max(2, int(np.ceil(np.linalg.norm(ends[1] - ends[0]) / radius)) + 1)
        probes = ends[0] + np.linspace(0.0, 1.0, min(count, 33))[:, None] * (ends[1] - ends[0])
    return _Entry(kind, radius=radius, vertices=ends, probes=np.hstack([probes, np.zeros_like(probes)]))


def _convex_entry(polytope: Polytope, flat: bool = False) -> _Entry:
    """Probes of a convex shape: its corners and points along its edges (2D: its corners on z = 0)."""
    v, edges = polytope.vertices, polytope.edges
    along = polytope.planes[edges[:, 2], :3] + polytope.planes[edges[:, 3], :3]
    at = np.zeros_like(v)
    for k in (0, 1):
        np.add.at(at, edges[:, k], along)
    if flat:
        probes = np.hstack([v[: len(v) // 2] * np.array([1.0, 1.0, 0.0]), _unit(at[: len(v) // 2])])
    else:
        probes = _probe_edges(v, _unit(at), edges[:, :2], _unit(along), _extent(v) / 16.0)
    return _Entry(
        CONVEX,
        vertices=v,
        planes=polytope.planes,
        loops=tuple(polytope.loops),
        edges=polytope.edges,
        probes=probes,
    )


def _mesh_field(mesh: MeshShape, centre: Array, R: Array, rotation: Array) -> _Entry:
    """Probes on corners and edges of a mesh, and a table of its distance, as fine as its features ask for."""
    extent = _extent(mesh.vertices)
    feature = min(max(mesh.thickness(), extent / 48.0), extent / 6.0)
    probes = _probe_mesh(mesh.vertices, mesh.triangles, feature / 2.0)
    spacing = max(feature / 8.0, extent / 128.0)
    table = mesh.sample(0.0, spacing, 4.0 * spacing)
    values = table.values[0]
    return _Entry(
        FIELD,
        probes=_moved(probes, centre, R),
        formula=TABLE,
        frame_q=rotation,
        frame_x=centre,
        table_shape=(values.shape[0], values.shape[1], values.shape[2]),
        table_frame=np.array([*table.origin, spacing]),
        table=np.ascontiguousarray(values).ravel(),
    )


def _sheet_field(sheet: Sheet, centre: Array, R: Array, rotation: Array) -> _Entry:
    """Points all over a sheet, and a table of its distance; in 2D in two equal layers about z = 0."""
    spacing = sheet.spacing()
    lower, upper = sheet.bounds()
    margin = np.full(3, SHEET_MARGIN * spacing)
    if sheet.dimensions == 2:
        margin[2] = 0.5 * spacing
    lower = lower - margin
    counts = np.ceil((upper + margin - lower) / spacing - 1e-9).astype(int) + 1
    axes = [lower[a] + spacing * np.arange(counts[a]) for a in range(3)]
    z, y, x = np.meshgrid(axes[2], axes[1], axes[0], indexing="ij")
    points = sheet.sample(sheet.extent() / SHEET_POINTS)
    return _Entry(
        FIELD,
        radius=sheet.contact(),
        probes=_moved(np.hstack([points, np.zeros_like(points)]), centre, R),
        formula=TABLE,
        frame_q=rotation,
        frame_x=centre,
        table_shape=(int(counts[2]), int(counts[1]), int(counts[0])),
        table_frame=np.array([*lower, spacing]),
        table=sheet.distance(np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)),
    )


def _make_section(shape: AnalyticShape | MeshShape, centre: Array, R: Array) -> _Entry:
    """Entry of the section of a shape with the plane z = 0 of the principal frame (2D)."""
    outline = section_of(shape, R.T)
    offset = -R.T @ centre
    offset[2] = 0.0
    if outline.radius > 0.0 and len(outline.loops) == 0:
        kind = SPHERE if len(outline.points) == 1 else CAPSULE
        return _round_entry(kind, outline.points + offset, np.zeros(3), np.eye(3), outline.radius)
    if outline.is_convex():
        return _convex_entry(_prism(outline.loops[0] + offset), flat=True)
    return _outline_field(outline, offset)


def _outline_field(outline: Outline, offset: Array) -> _Entry:
    """Field of an outline: probes on it, table of its distance in two equal layers about z = 0."""
    points = np.concatenate(outline.loops) + offset
    extent = _extent(points)
    spacing = extent / 192.0
    probes = _moved(outline.sample(extent / 48.0), -offset, np.eye(3))
    lower = points.min(axis=0)[:2] - 4.0 * spacing
    counts = np.ceil((points.max(axis=0)[:2] + 4.0 * spacing - lower) / spacing).astype(int) + 1
    x, y = np.meshgrid(*(lower[a] + spacing * np.arange(counts[a]) for a in (0, 1)))
    layer = outline.distance(np.column_stack([x.ravel() - offset[0], y.ravel() - offset[1]]))
    return _Entry(
        FIELD,
        probes=probes,
        formula=TABLE,
        table_shape=(2, int(counts[1]), int(counts[0])),
        table_frame=np.array([*lower, -0.5 * spacing, spacing]),
        table=np.concatenate([layer, layer]),
    )


def _prism(loop: Array) -> Polytope:
    """Sides of a prism over a convex polygon, counterclockwise (n, 3), between z = -1 and 1: upper ring first."""
    n = len(loop)
    upper, lower = loop.copy(), loop.copy()
    upper[:, 2], lower[:, 2] = 1.0, -1.0
    following = np.roll(np.arange(n), -1)
    along = loop[following] - loop
    normals = np.stack([along[:, 1], -along[:, 0], np.zeros(n)], axis=1)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    planes = np.column_stack([normals, np.einsum("ij,ij->i", normals, loop)])
    loops = [[i + n, int(following[i]) + n, int(following[i]), i] for i in range(n)]
    edges = np.array([(i + n, i, (i - 1) % n, i) for i in range(n)], dtype=np.int64)
    return Polytope(np.concatenate([upper, lower]), planes, loops, edges)


def find_polytope(vertices: Array, triangles: Any) -> Polytope | None:
    """Faces, edges and corners of a closed mesh if it is convex and has at most MAX_FACES faces, else None."""
    size = _extent(vertices)
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    area = np.linalg.norm(normals, axis=1)
    solid = area > 1e-12 * size * size
    normals = normals[solid] / area[solid, None]
    offsets = np.einsum("ij,ij->i", normals, a[solid])
    planes: list[Array] = []
    for n, d in zip(normals, offsets, strict=True):
        if not any(n @ p[:3] > 1.0 - 1e-9 and abs(d - p[3]) < 1e-7 * size for p in planes):
            planes.append(np.array([*n, d]))
            if len(planes) > MAX_FACES or np.max(vertices @ n) > d + 1e-7 * size:
                return None
    stack = np.array(planes)
    used = np.unique(triangles)
    points = vertices[used]
    on = np.abs(points @ stack[:, :3].T - stack[:, 3]) < 1e-6 * size
    corner = on.sum(axis=1) >= 3
    points, on = points[corner], on[corner]
    loops: list[list[int]] = []
    for f, plane in enumerate(stack):
        members = np.flatnonzero(on[:, f])
        if len(members) < 3:
            return None
        n = plane[:3]
        arm = points[members] - points[members].mean(axis=0)
        e = arm[0] / np.linalg.norm(arm[0])
        angle = np.arctan2(arm @ np.cross(n, e), arm @ e)
        loops.append([int(m) for m in members[np.argsort(angle, kind="stable")]])
    sides: dict[tuple[int, int], list[int]] = {}
    for f, loop in enumerate(loops):
        for i, j in zip(loop, loop[1:] + loop[:1], strict=True):
            sides.setdefault((min(i, j), max(i, j)), []).append(f)
    if any(len(faces) != 2 for faces in sides.values()):
        return None
    edges = np.array([(i, j, *faces) for (i, j), faces in sides.items()], dtype=np.int64)
    return Polytope(np.ascontiguousarray(points), stack, loops, edges)


def _extent(points: Array) -> float:
    """Longest side of the box around points [m]."""
    return float(np.max(points.max(axis=0) - points.min(axis=0)))


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300))


def _moved(probes: Array, centre: Array, R: Array) -> Array:
    """Points and normals (n, 6) in the frame at ``centre`` turned by R."""
    return np.hstack([(probes[:, :3] - centre) @ R, probes[:, 3:] @ R])


def _probe_ring(shape: Cylinder | Torus) -> tuple[Array, float]:
    """Points and normals (n, 6) on a cylinder (rims, lines along the side) or a torus, and their distance on curves."""
    if isinstance(shape, Torus):
        around = 48
        across = max(12, int(np.ceil(around * shape.tube / shape.radius / 2)))
        a, b = (2.0 * np.pi * np.arange(n) / n for n in (around, across))
        r = shape.radius + shape.tube * np.cos(b)[None, :]
        y = np.broadcast_to(shape.tube * np.sin(b)[None, :], (around, across))
        points = np.stack([r * np.sin(a)[:, None], y, r * np.cos(a)[:, None]], axis=-1).reshape(-1, 3)
        line = shape.radius * np.stack([np.sin(a), np.zeros(around), np.cos(a)], axis=1)
        return np.hstack([points, _unit(points - np.repeat(line, across, axis=0))]), 2.0 * np.pi * shape.tube / across
    around = 32
    spacing = 2.0 * np.pi * shape.radius / around
    rows = np.linspace(-0.5, 0.5, min(max(2, int(np.ceil(shape.length / (2.0 * spacing))) + 1), 33)) * shape.length
    a = 2.0 * np.pi * np.arange(around) / around
    ring = np.stack([shape.radius * np.sin(a), np.zeros(around), shape.radius * np.cos(a)], axis=1)
    normals = [
        _unit(ring + shape.radius * np.array([0.0, float(np.sign(y)) * (abs(y) == rows[-1]), 0.0])) for y in rows
    ]
    return np.hstack([np.concatenate([ring + np.array([0.0, y, 0.0]) for y in rows]), np.concatenate(normals)]), spacing


def _probe_edges(vertices: Array, at: Array, edges: Any, along: Array, spacing: float) -> Array:
    """Corners, then points along edges (e, 2), at least one and at most ``spacing`` apart; with normals (n, 6)."""
    parts = [np.hstack([vertices, at])]
    for (i, j), normal in zip(edges, along, strict=True):
        count = int(np.ceil(np.linalg.norm(vertices[j] - vertices[i]) / spacing))
        s = np.arange(1, max(count, 2)) / max(count, 2)
        points = vertices[i] + s[:, None] * (vertices[j] - vertices[i])
        parts.append(np.hstack([points, np.tile(normal, (len(points), 1))]))
    return np.concatenate(parts)


def _probe_mesh(vertices: Array, triangles: Any, spacing: float) -> Array:
    """Corners and points along edges at which a mesh bends outward, thinned out where smooth; with normals (n, 6)."""
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    start = triangles.ravel()
    end = triangles[:, [1, 2, 0]].ravel()
    owner = np.repeat(np.arange(len(triangles)), 3)
    key = np.minimum(start, end) * len(vertices) + np.maximum(start, end)
    order = np.argsort(key, kind="stable")
    first = order[:-1][key[order[:-1]] == key[order[1:]]]
    second = order[1:][key[order[:-1]] == key[order[1:]]]
    one, two = normals[owner[first]], normals[owner[second]]
    bend = np.einsum("ij,ij->i", one, two)
    # the other triangle lies below the plane of this one: nothing touches an edge that bends inward
    tip = triangles[owner[second]].sum(axis=1) - start[second] - end[second]
    outward = np.einsum("ij,ij->i", one, vertices[tip] - vertices[start[first]]) < 0.0
    edges = np.column_stack([start[first], end[first]])
    bent = outward & (bend < np.cos(np.radians(1.0)))
    sharp = edges[outward & (bend < np.cos(np.radians(25.0)))]
    corners, number = np.unique(edges[bent], return_inverse=True)
    at = np.zeros_like(vertices)
    for k in (0, 1):
        np.add.at(at, edges[bent][:, k], (one + two)[bent])
    along = _unit((one + two)[bent])
    points = _probe_edges(vertices[corners], _unit(at[corners]), number.reshape(-1, 2), along, spacing)
    keep = np.zeros(len(points), dtype=bool)
    keep[np.isin(corners, sharp).nonzero()[0]] = True
    cell = np.round(points[:, :3] / (0.5 * spacing)).astype(np.int64)
    _, chosen = np.unique(cell, axis=0, return_index=True)
    keep[chosen] = True
    return np.ascontiguousarray(points[keep])


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


def _bounds(entry: _Entry) -> tuple[Array, Array, float]:
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


def _edge_directions(entry: _Entry) -> Array:
    """Unit vectors (e, 3) along the cross product of the normals of the faces of each edge."""
    along = np.cross(entry.planes[entry.edges[:, 2], :3], entry.planes[entry.edges[:, 3], :3])
    return np.asarray(along / np.linalg.norm(along, axis=1, keepdims=True)) if len(along) else np.zeros((0, 3))


def _starts(counts: list[int]) -> Any:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _stack(parts: list[Array], width: int, kind: Any = np.float64) -> Any:
    return np.ascontiguousarray(np.concatenate([np.zeros((0, width)), *parts]), dtype=kind)


def _pack(entries: list[_Entry]) -> CollisionSpec:
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
