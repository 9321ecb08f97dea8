"""Breaking by intersections of closed meshes (thesis 2.4.4, [@schroeder2011]): exact faces, exact mass properties.

The intersections are those of Manifold (Lalish and others, github.com/elalish/manifold), which answers any two closed
meshes with a closed mesh, in one thread, with the same bits every time. Region and body keep their own numbers through
it, by which a triangle is known to come from the pattern or from the surface of the body.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.geometry.fracture_contact import find_planes, uncut
from undertow.geometry.fracture_patterns import PlacedPattern
from undertow.geometry.fragments import Flags, Fragment, make_fragment
from undertow.geometry.meshes import SMALLEST, MeshShape
from undertow.geometry.shape import Shape, Triangles
from undertow.grid import Array

DUST = 1e-14
"""Pieces with less than this share of the body's volume are rounding, as are those smaller than any mesh may be."""


def break_mesh(
    shape: Shape, placed: PlacedPattern, smallest: float, dimensions: int, segments: int
) -> list[Fragment]:
    """Fragments by region, then by volume; smallest: volume [m3; 2D m2] below which they are debris; segments:
    around of the mesh of a round body."""
    from manifold3d import Manifold

    first = int(Manifold.reserve_ids(3))
    vertices, triangles, made = body_surface(shape, dimensions, segments)
    body = _read(vertices, triangles, made, first)
    depth = float(np.ptp(vertices[:, 2])) if dimensions == 2 else None
    lower, upper = vertices.min(axis=0), vertices.max(axis=0)
    whole = None if dimensions == 2 else getattr(shape, "carved", uncut(shape))
    fragments = []
    for label, region in enumerate(placed.pattern.regions):
        corners = placed.to_body(region.vertices)
        if np.any(corners.max(axis=0) < lower) or np.any(corners.min(axis=0) > upper):
            continue
        cutter = _read(corners, region.triangles, np.ones(len(region.triangles), dtype=bool), first + 1)
        found = (body ^ cutter).decompose()
        planes = region_planes(region) if whole is not None and len(found) == 1 else None
        carved = None if whole is None or planes is None else whole.cut(placed.planes_to_body(planes))
        parts = [
            make_fragment(*_write(part, first), label, depth, smallest, carved)
            for part in found
            if part.volume() > DUST * body.volume() and float(np.max(np.diff(_box(part), axis=0))) > 2.0 * SMALLEST
        ]
        fragments += sorted(parts, key=lambda part: -part.volume)
    return fragments


@lru_cache(maxsize=4096)
def region_planes(region: MeshShape) -> Array | None:
    """Planes (k, 4) of a convex region in the box of its pattern, found once; None of another."""
    return find_planes(region)


def _box(part: Any) -> Array:
    """Lower and upper corner (2, 3) [m]."""
    return np.reshape(part.bounding_box(), (2, 3))


def check_mesh(shape: Shape, dimensions: int, segments: int) -> None:
    """Raise for a shape whose surface cannot be cut."""
    _read(*body_surface(shape, dimensions, segments), first=0)


def body_surface(shape: Shape, dimensions: int, segments: int) -> tuple[Array, Triangles, Flags]:
    """Vertices and triangles of a shape, and which of these a fracture has made; in 2D of the prism about z = 0 over
    its section with the x-y plane."""
    check_breakable(shape)
    if dimensions == 2:
        vertices, triangles = extrude_loops(shape.section(np.eye(3)).as_loops())
        return vertices, triangles, _made_sides(shape, vertices, triangles)
    vertices, triangles = shape.surface(segments)
    made = getattr(shape, "interior_t", None)
    return vertices, triangles, np.zeros(len(triangles), dtype=bool) if made is None else made


def check_breakable(shape: Shape) -> None:
    """Raise for shapes without an inside, or without an end."""
    if shape.is_endless or shape.is_sheet or shape.is_animated:
        kind = "a half space" if shape.is_endless else "a thin shell" if shape.is_sheet else "an animated mesh"
        raise UserError(f"fracture: {kind} cannot break; give the body a solid shape")


def extrude_loops(loops: list[Array]) -> tuple[Array, Triangles]:
    """Prism over polygons (n, 3), counter-clockwise around solid and clockwise around holes, as deep as it is wide."""
    from manifold3d import triangulate

    flat = [np.ascontiguousarray(loop[:, :2]) for loop in loops]
    points = np.concatenate(flat)
    n, half = len(points), 0.5 * float(np.max(np.ptp(points, axis=0)))
    cap = np.asarray(triangulate(flat), dtype=np.int64)
    i = np.arange(n)
    counts = [len(loop) for loop in loops]
    starts = np.repeat(np.cumsum([0, *counts[:-1]]), counts)
    j = starts + (i - starts + 1) % np.repeat(counts, counts)
    sides = [np.column_stack([i, j, j + n]), np.column_stack([i, j + n, i + n])]
    vertices = np.concatenate([np.column_stack([points, np.full(n, z)]) for z in (-half, half)])
    return vertices, np.concatenate([cap[:, ::-1], cap + n, *sides])


def _made_sides(shape: Shape, vertices: Array, triangles: Triangles) -> Flags:
    """Which sides of the prism of a fragment lie on triangles that a fracture has made."""
    made = getattr(shape, "interior_t", None)
    if made is None or not made.any():
        return np.zeros(len(triangles), dtype=bool)
    import igl

    middle = np.ascontiguousarray(vertices[triangles].mean(axis=1) * (1.0, 1.0, 0.0))
    nearest = igl.point_mesh_squared_distance(middle, *shape.surface())[1]
    sides = np.ptp(vertices[triangles][:, :, 2], axis=1) > 0.0
    return np.asarray(made[nearest] & sides)


def _read(vertices: Array, triangles: Triangles, made: Flags, first: int) -> Any:
    """A closed mesh with number ``first`` on its own triangles and ``first + 1`` on those that a fracture has made."""
    from manifold3d import Error, Manifold, Mesh64, OpType

    order = np.argsort(made, kind="stable")
    own = int(np.sum(~made))
    runs = [(0, first)] * (own > 0) + [(3 * own, first + 1)] * (own < len(made))
    mesh = Mesh64(
        np.ascontiguousarray(vertices, dtype=np.float64),
        np.ascontiguousarray(triangles[order], dtype=np.uint64),
        run_index=np.array([*(start for start, _ in runs), 3 * len(made)], dtype=np.uint64),
        run_original_id=np.array([number for _, number in runs], dtype=np.uint32),
    )
    found = Manifold(mesh)
    if found.status() != Error.NoError:
        raise UserError(
            f"fracture: the surface of the body cannot be cut ({found.status().name}): it is not closed; mend it, or "
            "break the body by method level_set"
        )
    parts = found.decompose()
    if len(parts) > 1 and all(part.volume() > 0.0 for part in parts):
        # parts that overlap, of a compound, are one solid; those of a solid with a cavity stay as they are
        found = Manifold.batch_boolean(parts, OpType.Add)
    return found


def _write(part: Any, first: int) -> tuple[Array, Triangles, Flags]:
    """Vertices, triangles, and which of these a fracture has made."""
    mesh = part.to_mesh64()
    triangles = np.asarray(mesh.tri_verts, dtype=np.int64)
    made = np.zeros(len(triangles), dtype=bool)
    bounds = np.asarray(mesh.run_index, dtype=np.int64) // 3
    for number, start, end in zip(mesh.run_original_id, bounds[:-1], bounds[1:], strict=True):
        made[start:end] = int(number) != first
    return np.asarray(mesh.vert_properties)[:, :3].copy(), triangles, made
