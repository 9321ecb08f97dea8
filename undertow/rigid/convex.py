"""Convex polyhedra in contact: separating axes, then clipping of the face that touches against the one it touches.

The axis of least penetration of two convex polyhedra is a face normal of one of them or the cross product of an edge of
each. Of the pairs of edges only those count whose arcs on the Gauss sphere cross: the others are no edge of the
Minkowski difference (Gregorius 2013, "The separating axis test between convex polyhedra", Game Developers Conference).

All in the frame of a; ``work`` holds b's vertices, planes and edge directions there.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from undertow.grid.jitting import helper
from undertow.rigid.shapes import BOUND, EDGE, EDGE_END, FACE, FACE_END, VERTEX, VERTEX_END

GAP, APART = 0, 1
KEY, TAKEN = 0, 1
CUT, LEAVING = 0, 1
"""Columns of the scratch arrays ``measure``, ``label`` and ``corner``."""

NEAR_FACE = 0.98
"""Crossed edges whose normal is closer than this (cosine) to that of the best face touch as faces: more points, and
the clipped points have the right gap to first order."""

_WITHIN = 0.99
"""Part of a ball that is within a body beyond all rounding."""

_PREFER_A = 1e-5
"""b's face must be better than a's by this part of the size, so that the choice does not flicker."""

CLIPPED = 128
"""Sides of the clipped polygon that lie along side j of the reference face are numbered CLIPPED + j."""


@helper
def collide_convex(spec, sa, sb, x, y, z, reach, flat, work):  # type: ignore[no-untyped-def]
    """Contacts of polyhedra sa and sb with gap < reach, as candidates; b is turned by ``work.turn``, at (x, y, z) in a.

    Returns their number. Normals point from b to a; ``flat``: 2D, only points on the upper side count.
    """
    a, fa, b, fb = spec.index[sa, VERTEX], spec.index[sa, FACE], spec.index[sb, VERTEX], spec.index[sb, FACE]
    vertices_a, vertices_b = spec.index[sa, VERTEX_END] - a, spec.index[sb, VERTEX_END] - b
    faces_a, faces_b = spec.index[sa, FACE_END] - fa, spec.index[sb, FACE_END] - fb
    none, one = np.int64(0), np.int64(1)  # a literal would be one more specialisation
    _load_vertices(spec, sb, x, y, z, work)
    best_a, sep_a = _find_face(spec.planes, fa, faces_a, work.vertices, none, vertices_b, reach)
    if best_a < 0:
        return 0
    _load_planes(spec, sb, x, y, z, work)
    best_b, sep_b = _find_face(work.planes, none, faces_b, spec.vertices, a, vertices_a, reach)
    if best_b < 0:
        return 0
    by_a = sep_b <= sep_a + _PREFER_A * min(spec.number[sa, BOUND], spec.number[sb, BOUND]) + 0.02 * abs(sep_a)
    nx, ny, nz = (
        (spec.planes[fa + best_a, 0], spec.planes[fa + best_a, 1], spec.planes[fa + best_a, 2])
        if by_a
        else (-work.planes[best_b, 0], -work.planes[best_b, 1], -work.planes[best_b, 2])
    )
    i, j, sep = -1, -1, 0.0
    ex, ey, ez = 0.0, 0.0, 0.0
    if not flat:
        _load_directions(spec, sb, work)
        i, j, sep, ex, ey, ez = _find_edges(spec, sa, sb, x, y, z, max(sep_a, sep_b), work)
        if i >= 0 and sep > reach:
            return 0
    crossed = i >= 0
    count = 0
    if not crossed or ex * nx + ey * ny + ez * nz > NEAR_FACE:
        if by_a:
            count = _clip_faces(
                spec, spec.planes, fa, best_a, fa + best_a, spec.vertices, a,
                work.planes, none, faces_b, fb, work.vertices, none, none, reach, flat, work,
            )  # fmt: skip
        else:
            count = _clip_faces(
                spec, work.planes, none, best_b, fb + best_b, work.vertices, none,
                spec.planes, fa, faces_a, fa, spec.vertices, a, one, reach, flat, work,
            )  # fmt: skip
    deepest = 1e300
    for n in range(count):
        deepest = min(deepest, work.measure[n, GAP])
    if crossed:
        if deepest > sep + 0.05 * abs(sep):
            count = _touch_edges(spec, sa, i, sb, j, sep, ex, ey, ez, reach, work)
    elif by_a:
        if sep_a < 0.0 and deepest > 0.98 * sep_a:
            count = _touch_corner(nx, ny, nz, work.vertices, none, vertices_b, sep_a, -1.0, best_a, count, work)
    elif sep_b < 0.0 and deepest > 0.98 * sep_b:
        count = _touch_corner(-nx, -ny, -nz, spec.vertices, a, vertices_a, sep_b, 1.0, best_b, count, work)
    return count


@helper
def _touch_corner(nx, ny, nz, vertices, v0, corners, sep, sign, face, count, work):  # type: ignore[no-untyped-def]
    """The corner deepest below a face with normal n, for when it is not a corner of the face that was clipped."""
    best, least = v0, 1e300
    for v in range(v0, v0 + corners):
        s = nx * vertices[v, 0] + ny * vertices[v, 1] + nz * vertices[v, 2]
        if s < least:
            best, least = v, s
    work.point[count, 0] = vertices[best, 0] - 0.5 * sep * nx
    work.point[count, 1] = vertices[best, 1] - 0.5 * sep * ny
    work.point[count, 2] = vertices[best, 2] - 0.5 * sep * nz
    work.normal[count, 0], work.normal[count, 1], work.normal[count, 2] = sign * nx, sign * ny, sign * nz
    work.measure[count, GAP] = sep
    side = 3 if sign < 0.0 else 4
    work.label[count, KEY] = (side << 40) + (face << 32) + best - v0
    return count + 1


@helper
def _load_vertices(spec, s, x, y, z, work):  # type: ignore[no-untyped-def]
    """Vertices of polyhedron s, turned by ``work.turn`` and moved by (x, y, z), into ``work``."""
    R, first = work.turn, spec.index[s, VERTEX]
    for n in range(spec.index[s, VERTEX_END] - first):
        p, q, r = spec.vertices[first + n, 0], spec.vertices[first + n, 1], spec.vertices[first + n, 2]
        work.vertices[n, 0] = R[0, 0] * p + R[0, 1] * q + R[0, 2] * r + x
        work.vertices[n, 1] = R[1, 0] * p + R[1, 1] * q + R[1, 2] * r + y
        work.vertices[n, 2] = R[2, 0] * p + R[2, 1] * q + R[2, 2] * r + z


@helper
def _load_planes(spec, s, x, y, z, work):  # type: ignore[no-untyped-def]
    """Planes of polyhedron s, likewise."""
    R, first = work.turn, spec.index[s, FACE]
    for n in range(spec.index[s, FACE_END] - first):
        p, q, r = spec.planes[first + n, 0], spec.planes[first + n, 1], spec.planes[first + n, 2]
        u = R[0, 0] * p + R[0, 1] * q + R[0, 2] * r
        v = R[1, 0] * p + R[1, 1] * q + R[1, 2] * r
        w = R[2, 0] * p + R[2, 1] * q + R[2, 2] * r
        work.planes[n, 0], work.planes[n, 1], work.planes[n, 2] = u, v, w
        work.planes[n, 3] = spec.planes[first + n, 3] + u * x + v * y + w * z


@helper
def _load_directions(spec, s, work):  # type: ignore[no-untyped-def]
    """Directions of the edges of polyhedron s, likewise."""
    R, first = work.turn, spec.index[s, EDGE]
    for n in range(spec.index[s, EDGE_END] - first):
        p, q, r = spec.directions[first + n, 0], spec.directions[first + n, 1], spec.directions[first + n, 2]
        work.directions[n, 0] = R[0, 0] * p + R[0, 1] * q + R[0, 2] * r
        work.directions[n, 1] = R[1, 0] * p + R[1, 1] * q + R[1, 2] * r
        work.directions[n, 2] = R[2, 0] * p + R[2, 1] * q + R[2, 2] * r


@helper
def _find_face(planes, f0, faces, vertices, v0, count, reach):  # type: ignore[no-untyped-def]
    """(face, separation) of the plane that separates the vertices most; (-1, ...) if one is farther than reach."""
    best, largest = -1, -1e300
    for f in range(f0, f0 + faces):
        nx, ny, nz, d = planes[f, 0], planes[f, 1], planes[f, 2], planes[f, 3]
        nearest = 1e300
        for v in range(v0, v0 + count):
            s = nx * vertices[v, 0] + ny * vertices[v, 1] + nz * vertices[v, 2]
            if s < nearest:
                nearest = s
        nearest -= d
        if nearest > reach:
            return -1, nearest
        if nearest > largest:
            best, largest = f - f0, nearest
    return best, largest


@helper
def _find_edges(spec, sa, sb, x, y, z, least, work):  # type: ignore[no-untyped-def]
    """(edge of a, edge of b, separation, axis out of a) of the crossed edges that separate most, beyond ``least``; b is
    at (x, y, z).

    An axis n between the normals of two faces of a that are both turned away from the middle of b, which has a ball of
    radius r within it, separates by min n . b - max n . a <= n . (middle of b) - r - n . (edge of a) <= -r. Edges
    between such faces are left out where that is no more than ``least``, of b likewise: of two pieces beside each other
    about three of four edges of each.
    """
    ea, eb = spec.index[sa, EDGE], spec.index[sb, EDGE]
    edges_a, edges_b = spec.index[sa, EDGE_END] - ea, spec.index[sb, EDGE_END] - eb
    fa, fb = spec.index[sa, FACE], spec.index[sb, FACE]
    faces_a, faces_b = spec.index[sa, FACE_END] - fa, spec.index[sb, FACE_END] - fb
    va = spec.index[sa, VERTEX]
    none, one = np.int64(0), np.int64(1)
    all_a = least <= -_WITHIN * _inner_radius(spec.planes, fb, faces_b)
    all_b = least <= -_WITHIN * _inner_radius(spec.planes, fa, faces_a)
    count_b = 0
    for j in range(edges_b):
        if all_b or work.planes[spec.edges[eb + j, 2], 3] < 0.0 or work.planes[spec.edges[eb + j, 3], 3] < 0.0:
            work.kept[count_b] = j
            count_b += 1
            _project(spec.planes, fa, faces_a, work.directions, j, one, j, work.along)
    best_i, best_j, largest = -1, -1, least
    bx, by, bz = 0.0, 0.0, 0.0
    for i in range(edges_a):
        a1, a2 = spec.edges[ea + i, 2], spec.edges[ea + i, 3]
        if not (all_a or _height_over(spec.planes, fa + a1, x, y, z) > 0.0
                or _height_over(spec.planes, fa + a2, x, y, z) > 0.0):  # fmt: skip
            continue
        _project(work.planes, none, faces_b, spec.directions, ea + i, none, i, work.along)
        ux, uy, uz = spec.directions[ea + i, 0], spec.directions[ea + i, 1], spec.directions[ea + i, 2]
        p = va + spec.edges[ea + i, 0]
        for k in range(count_b):
            j = work.kept[k]
            c = work.along[0, i, spec.edges[eb + j, 2]]
            if not c * work.along[0, i, spec.edges[eb + j, 3]] < 0.0:
                continue
            t = work.along[1, j, a2]
            if not (t * work.along[1, j, a1] < 0.0 and c * t < 0.0):
                continue
            vx, vy, vz = work.directions[j, 0], work.directions[j, 1], work.directions[j, 2]
            nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
            size = nx * nx + ny * ny + nz * nz
            if size < 1e-6:
                continue
            size = 1.0 / sqrt(size)
            # out of a: between the normals of its two faces
            side = nx * (spec.planes[fa + a1, 0] + spec.planes[fa + a2, 0])
            side += ny * (spec.planes[fa + a1, 1] + spec.planes[fa + a2, 1])
            side += nz * (spec.planes[fa + a1, 2] + spec.planes[fa + a2, 2])
            if side < 0.0:
                size = -size
            nx, ny, nz = nx * size, ny * size, nz * size
            q = spec.edges[eb + j, 0]
            sep = nx * (work.vertices[q, 0] - spec.vertices[p, 0])
            sep += ny * (work.vertices[q, 1] - spec.vertices[p, 1])
            sep += nz * (work.vertices[q, 2] - spec.vertices[p, 2])
            if sep > largest:
                best_i, best_j, largest = i, j, sep
                bx, by, bz = nx, ny, nz
    return best_i, best_j, largest, bx, by, bz


@helper
def _inner_radius(planes, f0, faces):  # type: ignore[no-untyped-def]
    """Of the ball about the origin within planes n . x <= d; 0 where that lies outside."""
    found = 1e300
    for f in range(f0, f0 + faces):
        found = min(found, planes[f, 3])
    return max(found, 0.0)


@helper
def _height_over(planes, f, x, y, z):  # type: ignore[no-untyped-def]
    """n . x - d of a plane."""
    return planes[f, 0] * x + planes[f, 1] * y + planes[f, 2] * z - planes[f, 3]


@helper
def _project(planes, f0, faces, directions, e, which, row, out_along):  # type: ignore[no-untyped-def]
    """out[which, row, f] = normal of face f . direction of edge e"""
    x, y, z = directions[e, 0], directions[e, 1], directions[e, 2]
    for f in range(faces):
        out_along[which, row, f] = planes[f0 + f, 0] * x + planes[f0 + f, 1] * y + planes[f0 + f, 2] * z


@helper
def _touch_edges(spec, sa, i, sb, j, sep, nx, ny, nz, reach, work):  # type: ignore[no-untyped-def]
    """One contact where edge i of a passes edge j of b; n points out of a."""
    e, g = spec.edges[spec.index[sa, EDGE] + i], spec.edges[spec.index[sb, EDGE] + j]
    p, q = spec.index[sa, VERTEX] + e[0], spec.index[sa, VERTEX] + e[1]
    s, t, distance_sq = closest_on_segments(
        spec.vertices[p, 0], spec.vertices[p, 1], spec.vertices[p, 2],
        spec.vertices[q, 0], spec.vertices[q, 1], spec.vertices[q, 2],
        work.vertices[g[0], 0], work.vertices[g[0], 1], work.vertices[g[0], 2],
        work.vertices[g[1], 0], work.vertices[g[1], 1], work.vertices[g[1], 2],
    )  # fmt: skip
    if sep >= reach or distance_sq > 4.0 * max(sep * sep, reach * reach):
        return 0
    for k in range(3):
        on_a = spec.vertices[p, k] + s * (spec.vertices[q, k] - spec.vertices[p, k])
        on_b = work.vertices[g[0], k] + t * (work.vertices[g[1], k] - work.vertices[g[0], k])
        work.point[0, k] = 0.5 * (on_a + on_b)
    work.normal[0, 0], work.normal[0, 1], work.normal[0, 2] = -nx, -ny, -nz
    work.measure[0, GAP] = sep
    work.label[0, KEY] = (2 << 40) + (i << 16) + j
    return 1


@helper
def closest_on_segments(  # type: ignore[no-untyped-def]
    ax, ay, az, bx, by, bz, cx, cy, cz, dx, dy, dz
):
    """(s, t, squared distance) of the nearest points a + s (b - a) and c + t (d - c); Ericson 2005, section 5.1.9."""
    ux, uy, uz = bx - ax, by - ay, bz - az
    vx, vy, vz = dx - cx, dy - cy, dz - cz
    wx, wy, wz = ax - cx, ay - cy, az - cz
    uu, vv, uv = ux * ux + uy * uy + uz * uz, vx * vx + vy * vy + vz * vz, ux * vx + uy * vy + uz * vz
    uw, vw = ux * wx + uy * wy + uz * wz, vx * wx + vy * wy + vz * wz
    s, t = 0.0, 0.0
    if uu > 0.0 and vv > 0.0:
        det = uu * vv - uv * uv
        if det > 1e-14 * uu * vv:
            s = min(max((uv * vw - uw * vv) / det, 0.0), 1.0)
        t = (uv * s + vw) / vv
        if t < 0.0:
            t, s = 0.0, min(max(-uw / uu, 0.0), 1.0)
        elif t > 1.0:
            t, s = 1.0, min(max((uv - uw) / uu, 0.0), 1.0)
    elif uu > 0.0:
        s = min(max(-uw / uu, 0.0), 1.0)
    elif vv > 0.0:
        t = min(max(vw / vv, 0.0), 1.0)
    rx, ry, rz = wx + s * ux - t * vx, wy + s * uy - t * vy, wz + s * uz - t * vz
    return s, t, rx * rx + ry * ry + rz * rz


@helper
def _clip_faces(  # type: ignore[no-untyped-def]
    spec, planes, f0, face, reference, vertices, v0,
    other_planes, g0, faces, other0, other_vertices, w0, side, reach, flat, work,
):  # fmt: skip
    """Points of the incident face of the other body inside the prism of the reference face, as candidates.

    ``reference`` is the number of the reference face in ``spec``, ``side`` 0 if it is a's, 1 if it is b's.
    """
    nx, ny, nz, d = planes[f0 + face, 0], planes[f0 + face, 1], planes[f0 + face, 2], planes[f0 + face, 3]
    incident, most = 0, 1e300
    for f in range(faces):
        s = nx * other_planes[g0 + f, 0] + ny * other_planes[g0 + f, 1] + nz * other_planes[g0 + f, 2]
        if s < most:
            incident, most = f, s
    count = np.int64(0)
    for n in range(spec.loop_start[other0 + incident], spec.loop_start[other0 + incident + 1]):
        v = w0 + spec.loop[n]
        work.polygon[0, count, 0] = other_vertices[v, 0]
        work.polygon[0, count, 1] = other_vertices[v, 1]
        work.polygon[0, count, 2] = other_vertices[v, 2]
        work.corner[0, count, CUT] = count << 8
        work.corner[0, count, LEAVING] = count
        count += 1
    start = spec.loop_start[reference]
    sides = spec.loop_start[reference + 1] - start
    now = np.int64(0)
    for j in range(sides):
        p, q = v0 + spec.loop[start + j], v0 + spec.loop[start + (j + 1) % sides]
        x, y, z = vertices[p, 0], vertices[p, 1], vertices[p, 2]
        ux, uy, uz = vertices[q, 0] - x, vertices[q, 1] - y, vertices[q, 2] - z
        mx, my, mz = uy * nz - uz * ny, uz * nx - ux * nz, ux * ny - uy * nx
        length_sq = mx * mx + my * my + mz * mz
        count = _clip_polygon(mx, my, mz, mx * x + my * y + mz * z, 1e-9 * length_sq, j, now, count, work)
        now = 1 - now
        if count == 0:
            return 0
    sign = -1.0 if side == 0 else 1.0
    found = 0
    for n in range(count):
        x, y, z = work.polygon[now, n, 0], work.polygon[now, n, 1], work.polygon[now, n, 2]
        gap = nx * x + ny * y + nz * z - d
        if gap >= reach or (flat and z <= 0.0):
            continue
        work.point[found, 0] = x - 0.5 * gap * nx
        work.point[found, 1] = y - 0.5 * gap * ny
        work.point[found, 2] = z - 0.5 * gap * nz
        work.normal[found, 0], work.normal[found, 1], work.normal[found, 2] = sign * nx, sign * ny, sign * nz
        work.measure[found, GAP] = gap
        work.label[found, KEY] = (side << 40) + (face << 32) + (incident << 24) + work.corner[now, n, CUT]
        found += 1
    return found


@helper
def _clip_polygon(mx, my, mz, d, slack, j, now, count, work):  # type: ignore[no-untyped-def]
    """Sutherland and Hodgman 1974: the part with m.x <= d + slack of polygon ``now``, into the other one."""
    new = 1 - now
    kept = 0
    for n in range(count):
        k = n + 1 if n + 1 < count else 0
        x, y, z = work.polygon[now, n, 0], work.polygon[now, n, 1], work.polygon[now, n, 2]
        here = mx * x + my * y + mz * z - d
        there = mx * work.polygon[now, k, 0] + my * work.polygon[now, k, 1] + mz * work.polygon[now, k, 2] - d
        if here <= slack:
            work.polygon[new, kept, 0], work.polygon[new, kept, 1], work.polygon[new, kept, 2] = x, y, z
            work.corner[new, kept, CUT] = work.corner[now, n, CUT]
            work.corner[new, kept, LEAVING] = work.corner[now, n, LEAVING]
            kept += 1
        if (here <= slack) != (there <= slack):
            s = here / (here - there)
            work.polygon[new, kept, 0] = x + s * (work.polygon[now, k, 0] - x)
            work.polygon[new, kept, 1] = y + s * (work.polygon[now, k, 1] - y)
            work.polygon[new, kept, 2] = z + s * (work.polygon[now, k, 2] - z)
            # a corner cut by side j out of the edge that left the last one
            work.corner[new, kept, CUT] = (work.corner[now, n, LEAVING] << 8) + j + 1
            work.corner[new, kept, LEAVING] = work.corner[now, n, LEAVING] if here > slack else CLIPPED + j
            kept += 1
    return kept
