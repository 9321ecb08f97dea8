"""Signed distance and outward normal of one collision shape at one point of its principal frame.

Exact for planes, spheres, capsules, convex polyhedra, cylinders and tori; trilinear for meshes.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from undertow.geometry.distance import CYLINDER, TABLE, analytic_distance, table_value
from undertow.grid.jitting import helper, inlined
from undertow.rigid.shapes import (
    BOUND,
    CAPSULE,
    CONVEX,
    EDGE,
    EDGE_END,
    FACE,
    FACE_END,
    FORMULA,
    KIND,
    OFFSET,
    PLANE,
    RADIUS,
    SPHERE,
    TABLE_FRAME,
    TABLE_SHAPE,
    TABLE_START,
    TURN,
    VERTEX,
)

X, Y, Z, LIMIT, LABEL, DISTANCE, NORMAL = range(7)
QUERY = NORMAL + 3
"""Columns of an array of points whose distance is asked, and how many there are (``keep_near``, ``measure_near``)."""


@helper
def shape_distance(spec, s, x, y, z):  # type: ignore[no-untyped-def]
    """Signed distance [m] of shape s, negative inside."""
    if spec.index[s, KIND] == CONVEX:
        return _convex_distance(spec, s, x, y, z, 1e300)[0]
    return _other_distance(spec, s, x, y, z)


@helper
def shape_gradient(spec, s, x, y, z):  # type: ignore[no-untyped-def]
    """Gradient of the distance of shape s: of length one, but in tables shorter where two faces are equally near."""
    if spec.index[s, KIND] == CONVEX:
        _, nx, ny, nz = _convex_distance(spec, s, x, y, z, 1e300)
        return nx, ny, nz
    return _other_gradient(spec, s, x, y, z)


@helper
def convex_distance(spec, s, x, y, z, limit):  # type: ignore[no-untyped-def]
    """(distance, normal) of a convex polyhedron; beyond ``limit`` any distance beyond it, which is found sooner."""
    return _convex_distance(spec, s, x, y, z, limit)


@helper
def keep_near(spec, s, count, points):  # type: ignore[no-untyped-def]
    """Of ``points`` (count, QUERY), those no farther from shape s than their LIMIT, moved to the front; how many.

    Points go through this and ``measure_near`` by the hundred: one call for each would cost more than its distance.
    """
    convex = spec.index[s, KIND] == CONVEX
    kept = np.int64(0)
    for n in range(count):
        x, y, z, limit = points[n, X], points[n, Y], points[n, Z], points[n, LIMIT]
        d = _convex_distance(spec, s, x, y, z, limit)[0] if convex else _other_distance(spec, s, x, y, z)
        if d <= limit:
            points[kept, X], points[kept, Y], points[kept, Z] = x, y, z
            points[kept, LIMIT], points[kept, LABEL] = limit, points[n, LABEL]
            kept += 1
    return kept


@helper
def measure_near(spec, s, count, points):  # type: ignore[no-untyped-def]
    """DISTANCE and NORMAL (the gradient) of shape s at ``points`` (count, QUERY)."""
    convex = spec.index[s, KIND] == CONVEX
    for n in range(count):
        x, y, z = points[n, X], points[n, Y], points[n, Z]
        if convex:
            d, nx, ny, nz = _convex_distance(spec, s, x, y, z, 1e300)
        else:
            d = _other_distance(spec, s, x, y, z)
            nx, ny, nz = _other_gradient(spec, s, x, y, z)
        points[n, DISTANCE] = d
        points[n, NORMAL], points[n, NORMAL + 1], points[n, NORMAL + 2] = nx, ny, nz


@inlined
def _other_distance(spec, s, x, y, z):  # type: ignore[no-untyped-def]
    """Distance of a shape that is no polyhedron."""
    kind = spec.index[s, KIND]
    if kind == PLANE:
        f = spec.index[s, FACE]
        return spec.planes[f, 0] * x + spec.planes[f, 1] * y + spec.planes[f, 2] * z - spec.planes[f, 3]
    if kind in (SPHERE, CAPSULE):
        px, py, pz = nearest_on_axis(spec, s, x, y, z)
        return sqrt((x - px) ** 2 + (y - py) ** 2 + (z - pz) ** 2) - spec.number[s, RADIUS]
    x, y, z = _to_field(spec, s, x, y, z)
    if spec.index[s, FORMULA] == TABLE:
        return _table_distance(spec, s, x, y, z)
    return analytic_distance(spec.index[s, FORMULA], spec.number, s, x, y, z)


@inlined
def _other_gradient(spec, s, x, y, z):  # type: ignore[no-untyped-def]
    """Gradient of the distance of a shape that is no polyhedron."""
    kind = spec.index[s, KIND]
    if kind == PLANE:
        f = spec.index[s, FACE]
        return spec.planes[f, 0], spec.planes[f, 1], spec.planes[f, 2]
    if kind in (SPHERE, CAPSULE):
        px, py, pz = nearest_on_axis(spec, s, x, y, z)
        return unit_vector(x - px, y - py, z - pz)
    x, y, z = _to_field(spec, s, x, y, z)
    if spec.index[s, FORMULA] == TABLE:
        # differences over less than a cell: edges stay sharp, and inside a face they are exact
        h = 0.25 * spec.number[s, TABLE_FRAME + 3]
        c = 0.5 / h
        nx = _table_distance(spec, s, x + h, y, z) - _table_distance(spec, s, x - h, y, z)
        ny = _table_distance(spec, s, x, y + h, z) - _table_distance(spec, s, x, y - h, z)
        nz = _table_distance(spec, s, x, y, z + h) - _table_distance(spec, s, x, y, z - h)
        return turn_back_by(spec, s, c * nx, c * ny, c * nz)
    if spec.index[s, FORMULA] == CYLINDER:
        nx, ny, nz = _cylinder_gradient(spec.number[s, 0], spec.number[s, 1], x, y, z)
    else:
        rho = sqrt(x * x + z * z)
        q = rho - spec.number[s, 0]
        c = q / max(rho, 1e-300)
        nx, ny, nz = c * x, y, c * z
    nx, ny, nz = unit_vector(nx, ny, nz)
    return turn_back_by(spec, s, nx, ny, nz)


@helper
def unit_vector(x, y, z):  # type: ignore[no-untyped-def]
    """(x, y, z) of length one; straight up if it has no direction."""
    size = sqrt(x * x + y * y + z * z)
    if not size > 1e-150:
        return 0.0, 1.0, 0.0
    return x / size, y / size, z / size


@inlined
def nearest_on_axis(spec, s, x, y, z):  # type: ignore[no-untyped-def]
    """Point of the axis of a sphere or capsule nearest to a point."""
    v = spec.index[s, VERTEX]
    ax, ay, az = spec.vertices[v, 0], spec.vertices[v, 1], spec.vertices[v, 2]
    if spec.index[s, KIND] == SPHERE:
        return ax, ay, az
    return nearest_on_segment(
        ax, ay, az, spec.vertices[v + 1, 0], spec.vertices[v + 1, 1], spec.vertices[v + 1, 2], x, y, z
    )


@inlined
def nearest_on_segment(ax, ay, az, bx, by, bz, x, y, z):  # type: ignore[no-untyped-def]
    """Point of the segment ab nearest to (x, y, z)."""
    ux, uy, uz = bx - ax, by - ay, bz - az
    t = ((x - ax) * ux + (y - ay) * uy + (z - az) * uz) / (ux * ux + uy * uy + uz * uz)
    t = min(max(t, 0.0), 1.0)
    return ax + t * ux, ay + t * uy, az + t * uz


@inlined
def turn_by(spec, s, x, y, z):  # type: ignore[no-untyped-def]
    """Vector of the principal frame in the frame of the formula or table of shape s."""
    w, a, b, c = spec.number[s, TURN], spec.number[s, TURN + 1], spec.number[s, TURN + 2], spec.number[s, TURN + 3]
    return _turn(w, a, b, c, x, y, z)


@inlined
def turn_back_by(spec, s, x, y, z):  # type: ignore[no-untyped-def]
    """The other way round."""
    w, a, b, c = spec.number[s, TURN], spec.number[s, TURN + 1], spec.number[s, TURN + 2], spec.number[s, TURN + 3]
    return _turn(w, -a, -b, -c, x, y, z)


@inlined
def _turn(w, a, b, c, x, y, z):  # type: ignore[no-untyped-def]
    tx, ty, tz = 2.0 * (b * z - c * y), 2.0 * (c * x - a * z), 2.0 * (a * y - b * x)
    return x + w * tx + b * tz - c * ty, y + w * ty + c * tx - a * tz, z + w * tz + a * ty - b * tx


@inlined
def _to_field(spec, s, x, y, z):  # type: ignore[no-untyped-def]
    x, y, z = turn_by(spec, s, x, y, z)
    return x + spec.number[s, OFFSET], y + spec.number[s, OFFSET + 1], z + spec.number[s, OFFSET + 2]


@inlined
def _table_distance(spec, s, x, y, z):  # type: ignore[no-untyped-def]
    """Value of the table; outside it that of its nearest point plus the way there (an upper bound)."""
    h = spec.number[s, TABLE_FRAME + 3]
    nz, ny, nx = spec.index[s, TABLE_SHAPE], spec.index[s, TABLE_SHAPE + 1], spec.index[s, TABLE_SHAPE + 2]
    fx, fy, fz = (
        (x - spec.number[s, TABLE_FRAME]) / h,
        (y - spec.number[s, TABLE_FRAME + 1]) / h,
        (z - spec.number[s, TABLE_FRAME + 2]) / h,
    )
    cx, cy, cz = min(max(fx, 0.0), nx - 1.0), min(max(fy, 0.0), ny - 1.0), min(max(fz, 0.0), nz - 1.0)
    value = table_value(spec.tables, spec.index[s, TABLE_START], nz, ny, nx, cx, cy, cz)
    away = (fx - cx) ** 2 + (fy - cy) ** 2 + (fz - cz) ** 2
    return value + h * sqrt(away) if away > 0.0 else value


@helper
def _cylinder_gradient(radius, half, x, y, z):  # type: ignore[no-untyped-def]
    rho = sqrt(x * x + z * z)
    qr, qy = rho - radius, abs(y) - half
    up = 1.0 if y > 0.0 else -1.0
    inv = 1.0 / rho if rho > 0.0 else 0.0
    if qr > 0.0 and qy > 0.0:
        return qr * x * inv, qy * up, qr * z * inv
    if qr > qy:
        return x * inv, 0.0, z * inv
    return 0.0, up, 0.0


@inlined
def _convex_distance(spec, s, x, y, z, limit):  # type: ignore[no-untyped-def]
    """(distance, normal) of a convex polyhedron.

    Inside, and outside above a face, the face whose plane is farthest counts; elsewhere outside the nearest edge. Where
    a plane is farther than ``limit`` its distance will do.
    """
    f0, f1 = spec.index[s, FACE], spec.index[s, FACE_END]
    best, largest = f0, -1e300
    for f in range(f0, f1):
        d = spec.planes[f, 0] * x + spec.planes[f, 1] * y + spec.planes[f, 2] * z - spec.planes[f, 3]
        if d > largest:
            best, largest = f, d
            if d > limit:
                break
    nx, ny, nz = spec.planes[best, 0], spec.planes[best, 1], spec.planes[best, 2]
    if largest > limit or largest <= 0.0 or is_above_face(spec, s, best, x, y, z):
        return largest, nx, ny, nz
    v = spec.index[s, VERTEX]
    nearest = 1e300
    for e in range(spec.index[s, EDGE], spec.index[s, EDGE_END]):
        i, j = v + spec.edges[e, 0], v + spec.edges[e, 1]
        px, py, pz = nearest_on_segment(
            spec.vertices[i, 0], spec.vertices[i, 1], spec.vertices[i, 2],
            spec.vertices[j, 0], spec.vertices[j, 1], spec.vertices[j, 2], x, y, z,
        )  # fmt: skip
        d = (x - px) ** 2 + (y - py) ** 2 + (z - pz) ** 2
        if d < nearest:
            nearest = d
            nx, ny, nz = x - px, y - py, z - pz
    nearest = sqrt(nearest)
    if nearest < 1e-12 * spec.number[s, BOUND]:
        return nearest, spec.planes[best, 0], spec.planes[best, 1], spec.planes[best, 2]
    return nearest, nx / nearest, ny / nearest, nz / nearest


@inlined
def is_above_face(spec, s, f, x, y, z):  # type: ignore[no-untyped-def]
    """True if the point lies in the prism over face f (number in ``spec``) of polyhedron s."""
    v = spec.index[s, VERTEX]
    nx, ny, nz = spec.planes[f, 0], spec.planes[f, 1], spec.planes[f, 2]
    start, stop = spec.loop_start[f], spec.loop_start[f + 1]
    for n in range(start, stop):
        i = v + spec.loop[n]
        j = v + spec.loop[n + 1 if n + 1 < stop else start]
        ux = spec.vertices[j, 0] - spec.vertices[i, 0]
        uy = spec.vertices[j, 1] - spec.vertices[i, 1]
        uz = spec.vertices[j, 2] - spec.vertices[i, 2]
        mx, my, mz = uy * nz - uz * ny, uz * nx - ux * nz, ux * ny - uy * nx
        away = mx * (x - spec.vertices[i, 0]) + my * (y - spec.vertices[i, 1]) + mz * (z - spec.vertices[i, 2])
        if away > 0.0:
            return False
    return True
