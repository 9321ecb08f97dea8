"""How shapes enter collisions: one entry each, in a frame of the body, which ``rigid.shapes`` packs into arrays.

Kinds: PLANE (half space), SPHERE and CAPSULE (points and segments with a radius), CONVEX (faces, edges and corners of a
box or a convex mesh) and FIELD (all else: torus, cylinder, concave meshes, sheets), which has surface points and a
signed distance, as thesis 2.4.1 has it [@schroeder2011]: corners and sharp edges are always among the points, edges
every ``spacing``. The distance is analytic where the shape has a formula, else a trilinear grid of it. A sheet is
rounded: its points have a radius, which is taken off its distance too.

In a 2D scene shapes are their sections with the x-y plane: discs, polygons (stored as prisms between z = -1 and 1,
whose end faces do not count) and fields on z = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from undertow.geometry.distance import PARAMETERS, TABLE
from undertow.geometry.outline import Outline
from undertow.grid import Array

if TYPE_CHECKING:
    from undertow.geometry.sdf_grid import SdfGrid
    from undertow.geometry.shape import Shape
    from undertow.geometry.sheets import Sheet

PLANE, SPHERE, CAPSULE, CONVEX, FIELD = range(5)

MAX_FACES = 48
"""Convex meshes with more faces are fields: the search for separating axes grows with the square of the edges."""

SHEET_POINTS, SHEET_MARGIN = 32, 8.0
"""Points of a sheet along its longest side; how far its grid of distance goes beyond it, in spacings of the grid."""


class Frame(NamedTuple):
    """Where a body has its principal frame: origin ``centre`` (3,) [m] and axes, the columns of R (3, 3) and the unit
    quaternion q (4,), in the frame of the shape."""

    centre: Array
    R: Array
    q: Array


AT_CENTRE = Frame(np.zeros(3), np.eye(3), np.array([1.0, 0.0, 0.0, 0.0]))
"""The frame of the shape itself."""


class Polytope(NamedTuple):
    """Convex polyhedron: vertices (v, 3), planes (f, 4), loops of corners per face, edges (e, 4)."""

    vertices: Array
    planes: Array
    loops: list[list[int]]
    edges: Any


class CollisionEntry(NamedTuple):
    """One shape in the principal frame of its body, before packing.

    radius [m] of a sphere, a capsule or the points of a sheet; slack [m]: how far a smooth surface may stand out
    between probes; vertices, planes, loops, edges: of a convex shape, as in ``Polytope``; probes (p, 6): points and
    mean normals; formula: kind of the distance formula with its parameters, or TABLE with its values; frame_q, frame_x:
    frame of the formula or table.
    """

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


def round_entry(ends: Array, radius: float, frame: Frame) -> CollisionEntry:
    """Sphere (one end) or capsule (two): the probes are the points of the axis, a radius apart."""
    ends = (ends - frame.centre) @ frame.R
    probes, kind = ends, SPHERE if len(ends) == 1 else CAPSULE
    if kind == CAPSULE:
        count = max(2, int(np.ceil(np.linalg.norm(ends[1] - ends[0]) / radius)) + 1)
        probes = ends[0] + np.linspace(0.0, 1.0, min(count, 33))[:, None] * (ends[1] - ends[0])
    return CollisionEntry(kind, radius=radius, vertices=ends, probes=np.hstack([probes, np.zeros_like(probes)]))


def convex_entry(polytope: Polytope, flat: bool = False) -> CollisionEntry:
    """Probes of a convex shape: its corners and points along its edges (2D: its corners on z = 0)."""
    v, edges = polytope.vertices, polytope.edges
    along = polytope.planes[edges[:, 2], :3] + polytope.planes[edges[:, 3], :3]
    at = np.zeros_like(v)
    for k in (0, 1):
        np.add.at(at, edges[:, k], along)
    if flat:
        probes = np.hstack([v[: len(v) // 2] * np.array([1.0, 1.0, 0.0]), unit_rows(at[: len(v) // 2])])
    else:
        probes = _probe_edges(v, unit_rows(at), edges[:, :2], unit_rows(along), _extent(v) / 16.0)
    return CollisionEntry(
        CONVEX,
        vertices=v,
        planes=polytope.planes,
        loops=tuple(polytope.loops),
        edges=polytope.edges,
        probes=probes,
    )


def field_entry(
    shape: Shape, frame: Frame, finest: float = 1.0 / 128.0, sample: Callable[[float], SdfGrid] | None = None
) -> CollisionEntry:
    """Probes on corners and edges of a surface, and a grid of its distance, as fine as its features ask for, but no
    finer than a share ``finest`` of its size; ``sample`` makes it, by default the shape."""
    vertices, triangles = shape.surface()
    extent = _extent(vertices)
    feature = min(max(shape.thickness(), extent / 48.0), extent / 6.0)
    spacing = max(feature / 8.0, finest * extent)
    table = sample(spacing) if sample else shape.sample(0.0, spacing, 4.0 * spacing)
    return table_entry(probe_mesh(vertices, triangles, feature / 2.0), table, frame)


def table_entry(probes: Array, table: SdfGrid, frame: Frame) -> CollisionEntry:
    """Field of probes (p, 6) and a grid of distance."""
    values = table.values[0]
    return CollisionEntry(
        FIELD,
        probes=_moved(probes, frame),
        formula=TABLE,
        frame_q=frame.q,
        frame_x=frame.centre,
        table_shape=(values.shape[0], values.shape[1], values.shape[2]),
        table_frame=np.array([*table.origin, table.spacing]),
        table=np.ascontiguousarray(values).ravel(),
    )


def sheet_entry(sheet: Sheet, frame: Frame) -> CollisionEntry:
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
    points = sheet.sample_points(sheet.extent() / SHEET_POINTS)
    return CollisionEntry(
        FIELD,
        radius=sheet.contact(),
        probes=_moved(np.hstack([points, np.zeros_like(points)]), frame),
        formula=TABLE,
        frame_q=frame.q,
        frame_x=frame.centre,
        table_shape=(int(counts[2]), int(counts[1]), int(counts[0])),
        table_frame=np.array([*lower, spacing]),
        table=sheet.distance(np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)),
    )


def section_entry(outline: Outline, frame: Frame) -> CollisionEntry:
    """Entry of the section of a shape with the plane z = 0 of the principal frame (2D)."""
    offset = -frame.R.T @ frame.centre
    offset[2] = 0.0
    if outline.radius > 0.0 and len(outline.loops) == 0:
        return round_entry(outline.points + offset, outline.radius, AT_CENTRE)
    if outline.is_convex():
        return convex_entry(_prism(outline.loops[0] + offset), flat=True)
    return _outline_field(outline, offset)


def _outline_field(outline: Outline, offset: Array) -> CollisionEntry:
    """Field of an outline: probes on it, table of its distance in two equal layers about z = 0."""
    points = np.concatenate(outline.loops) + offset
    extent = _extent(points)
    spacing = extent / 192.0
    probes = _moved(outline.sample(extent / 48.0), AT_CENTRE._replace(centre=-offset))
    lower = points.min(axis=0)[:2] - 4.0 * spacing
    counts = np.ceil((points.max(axis=0)[:2] + 4.0 * spacing - lower) / spacing).astype(int) + 1
    x, y = np.meshgrid(*(lower[a] + spacing * np.arange(counts[a]) for a in (0, 1)))
    layer = outline.distance(np.column_stack([x.ravel() - offset[0], y.ravel() - offset[1]]))
    return CollisionEntry(
        FIELD,
        probes=probes,
        formula=TABLE,
        table_shape=(2, int(counts[1]), int(counts[0])),
        table_frame=np.array([*lower, -0.5 * spacing, spacing]),
        table=np.concatenate([layer, layer]),
    )


def plane_entry(normal: Array, frame: Frame) -> CollisionEntry:
    """Half space below the plane through the origin of the shape."""
    return CollisionEntry(PLANE, planes=np.array([[*(frame.R.T @ normal), -normal @ frame.centre]]))


def polytope_entry(surface: tuple[Array, Any], frame: Frame) -> CollisionEntry | None:
    """Entry of a closed surface if it is convex with at most MAX_FACES faces, else None."""
    vertices, triangles = surface
    polytope = find_polytope((vertices - frame.centre) @ frame.R, triangles)
    return None if polytope is None else convex_entry(polytope)


def formula_entry(
    kind: int, parameters: Array, probes: Array, spacing: float, curvature: float, frame: Frame
) -> CollisionEntry:
    """Field of a shape with a formula: probes (p, 6), ``spacing`` [m] apart on curves of radius ``curvature`` [m]."""
    return CollisionEntry(
        FIELD,
        slack=spacing * spacing / (4.0 * curvature),
        probes=_moved(probes, frame),
        formula=kind,
        parameters=parameters,
        frame_q=frame.q,
        frame_x=frame.centre,
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
    planes, count = np.zeros((MAX_FACES + 1, 4)), 0
    for n, d in zip(normals, offsets, strict=True):
        known = planes[:count]
        if not np.any((known[:, :3] @ n > 1.0 - 1e-9) & (np.abs(d - known[:, 3]) < 1e-7 * size)):
            planes[count, :3], planes[count, 3] = n, d
            count += 1
            if count > MAX_FACES or np.max(vertices @ n) > d + 1e-7 * size:
                return None
    return polytope_of(vertices[np.unique(triangles)], planes[:count].copy(), size)


def polytope_of(points: Array, stack: Array, size: float) -> Polytope | None:
    """Faces, edges and corners of a convex solid of some ``size`` [m] from points (n, 3), its corners among them, and
    its planes (f, 4); None where these do not fit."""
    on = np.abs(points @ stack[:, :3].T - stack[:, 3]) < 1e-6 * size
    corner = on.sum(axis=1) >= 3
    points, on = points[corner], on[corner]
    face, member = np.nonzero(on.T)
    many = np.bincount(face, minlength=len(stack))
    if not len(stack) or many.min() < 3:
        return None
    # around the middle of each face, from its first corner on
    first = np.concatenate([[0], np.cumsum(many)])
    middle = np.add.reduceat(points[member], first[:-1]) / many[:, None]
    arm, normal = points[member] - middle[face], stack[face, :3]
    along = unit_rows(arm[first[:-1]])[face]
    across = np.cross(normal, along)
    angle = np.arctan2(np.einsum("ij,ij->i", arm, across), np.einsum("ij,ij->i", arm, along))
    order = member[np.lexsort((angle, face))].tolist()
    loops = [order[start:end] for start, end in zip(first[:-1], first[1:], strict=True)]
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


def unit_rows(vectors: Array) -> Array:
    """Rows (n, 3) of length 1."""
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300))


def _moved(probes: Array, frame: Frame) -> Array:
    """Points and normals (n, 6) in a frame."""
    return np.hstack([(probes[:, :3] - frame.centre) @ frame.R, probes[:, 3:] @ frame.R])


def _probe_edges(vertices: Array, at: Array, edges: Any, along: Array, spacing: float) -> Array:
    """Corners, then points along edges (e, 2), at least one and at most ``spacing`` apart; with normals (n, 6)."""
    start, way = vertices[edges[:, 0]], vertices[edges[:, 1]] - vertices[edges[:, 0]]
    count = np.maximum(np.ceil(np.linalg.norm(way, axis=1) / spacing).astype(np.int64), 2)
    owner = np.repeat(np.arange(len(edges)), count - 1)
    n = np.arange(len(owner)) - np.repeat(np.cumsum(count - 1) - (count - 1), count - 1) + 1
    points = start[owner] + (n / count[owner])[:, None] * way[owner]
    return np.concatenate([np.hstack([vertices, at]), np.hstack([points, along[owner]])])


def probe_mesh(vertices: Array, triangles: Any, spacing: float, turn: float = 0.0) -> Array:
    """Corners and points along edges at which a mesh bends outward, thinned out where smooth; with normals (n, 6).

    Corners on sharp edges are always kept, but where two of these go on in a line that turns by less than ``turn``
    [rad].
    """
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
    sharp = _turning(vertices, edges[outward & (bend < np.cos(np.radians(25.0)))], turn)
    corners, number = np.unique(edges[bent], return_inverse=True)
    at = np.zeros_like(vertices)
    for k in (0, 1):
        np.add.at(at, edges[bent][:, k], (one + two)[bent])
    along = unit_rows((one + two)[bent])
    points = _probe_edges(vertices[corners], unit_rows(at[corners]), number.reshape(-1, 2), along, spacing)
    keep = np.zeros(len(points), dtype=bool)
    keep[np.isin(corners, sharp).nonzero()[0]] = True
    cell = np.round(points[:, :3] / (0.5 * spacing)).astype(np.int64)
    _, chosen = np.unique(cell, axis=0, return_index=True)
    keep[chosen] = True
    return np.ascontiguousarray(points[keep])


def _turning(vertices: Array, edges: Any, turn: float) -> Any:
    """Corners of edges (e, 2) but those where two edges meet in a line that turns by less than an angle [rad]."""
    along = unit_rows(vertices[edges[:, 1]] - vertices[edges[:, 0]])
    total, count = np.zeros_like(vertices), np.bincount(edges.ravel(), minlength=len(vertices))
    np.add.at(total, edges[:, 0], along)
    np.add.at(total, edges[:, 1], -along)
    straight = (count == 2) & (np.linalg.norm(total, axis=1) < 2.0 * np.sin(0.5 * turn))
    return np.flatnonzero((count > 0) & ~straight)
