"""Which points of a grid see each other past thin surfaces (Guendelman et al. 2005, section 3).

Elements are triangles, in 2D edges, thickened to all points within ``THICKNESS``. Two points see each other when the
straight way between them keeps that distance from every element: rounding may hide points that see each other, never
show points that do not. A point is swept when an element that moves in a straight line comes as near as that. So for a
closed surface, whatever is joined by sight, or was not swept, lies on the same side.

Kernels work in index coordinates (``transport/interpolation.py``): cells, GHOSTS at the lower corner of the domain. An
edge is a triangle whose last two corners are one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from undertow.grid import GHOSTS, Array, Grid, padded
from undertow.grid.jitting import borrowing, helper

THICKNESS = 1e-4
"""Half the thickness of an element in cells: far above rounding, far below what a picture shows."""

FLAT = 1e-10
"""Twice the area of a triangle relative to its squared edges below which it is taken for an edge."""

PASSED, INSIDE = np.uint8(1), np.uint8(2)
"""Marks of values that are to be taken anew: surfaces moved over them, or they lie in a body."""

PASSES = 64
"""Of the search for the time of contact; a point that is not told apart after them counts as swept."""


class OccluderSpec(NamedTuple):
    """Elements and the cells of the padded grid they reach: those of cell c are item[start[c] : start[c + 1]]."""

    corner: np.ndarray  # (m, 3, 3) index coordinates
    box: np.ndarray  # (m, 6) lowest x, y, z and highest x, y, z, thickened
    plane: np.ndarray  # (m, 5) unit normal n, n . x, twice the area; of edges: n across, area 0; of points: zeros
    start: np.ndarray  # (cells + 1,)
    item: np.ndarray  # (r,)


class Occlusion:
    """Thin surfaces where they were seen last, and where they are now.

    element (m, k): nodes of the edges or triangles, the last ``closed`` of them around bodies. ``place`` says where
    they are, ``settle`` makes that what points are seen past; between the two ``mark_swept`` finds what they passed
    over.
    """

    def __init__(self, grid: Grid, element: np.ndarray, nodes: int, closed: int = 0) -> None:
        self.grid = grid
        self.open = len(element) - closed
        """Number of elements that are around no body."""
        last = element[:, -1:]
        self.element = np.ascontiguousarray(np.concatenate([element, last], axis=1)[:, :3])
        self.x_seen, self.x_now = np.zeros((nodes, 3)), np.zeros((nodes, 3))
        self.shift = np.zeros((1, 3))
        cells = grid.size
        self._start = np.zeros(cells + 1, np.int64)
        self._item = np.zeros(0, np.int64)
        self._corner, self._box, self._plane = np.zeros((0, 3, 3)), np.zeros((0, 6)), np.zeros((0, 5))
        self._settled = False

    @property
    def spec(self) -> OccluderSpec:
        return OccluderSpec(self._corner, self._box, self._plane, self._start, self._item)

    def place(self, x: Array, shift: Array) -> None:
        """Nodes (n, 3) [m] of now, and by how much images of the surfaces are moved (q, 3) [m]."""
        self.x_now[...] = x
        self.shift = shift
        self._settled = False

    def settle(self) -> None:
        """From now on points are seen past the elements where they were placed last."""
        if self._settled:
            return
        self._settled = True
        self.x_seen[...] = self.x_now
        count = len(self.element) * len(self.shift)
        if len(self._corner) != count:
            self._corner, self._box, self._plane = np.zeros((count, 3, 3)), np.zeros((count, 6)), np.zeros((count, 5))
        while True:
            size = int(_fill_bins(self.grid.spec, self.element, self.x_seen, self.shift, self.spec))
            if size <= len(self._item):
                return
            self._item = np.zeros(2 * size, np.int64)

    def see(self, start: Array, stop: Array) -> np.ndarray:
        """Whether the places start (n, 3) and stop (n, 3), in index coordinates, see each other (n,)."""
        seen = np.zeros(len(start), dtype=bool)
        _see_pairs(self.grid.spec, self.spec, start, stop, seen)
        return seen

    def mark_swept(self, out_swept: np.ndarray) -> None:
        """out_swept (4, Z, Y, X) uint8: PASSED for the faces of the three axes and the cell centres that an element
        passes over on its way from where it was seen to where it is now, or lies on at either end; with INSIDE for
        those that lie in bodies now."""
        out_swept[...] = 0
        _mark_swept(self.grid.spec, self.element, self.x_seen, self.x_now, self.shift, out_swept)
        if self.open < len(self.element):
            _mark_inside(self.grid.spec, self.element[self.open :], self.x_now, self.shift, out_swept)


@helper
def _to_index(spec, x, shift, out):  # type: ignore[no-untyped-def]
    """Index coordinates of a place; in 2D the z of the one layer of cells."""
    out[0] = (x[0] + shift[0] - spec.x0) / spec.dx + GHOSTS
    out[1] = (x[1] + shift[1] - spec.y0) / spec.dx + GHOSTS
    out[2] = (x[2] + shift[2] - spec.z0) / spec.dx + GHOSTS if spec.dimensions == 3 else GHOSTS + 0.5


@helper
def _set_plane(p, out):  # type: ignore[no-untyped-def]
    """Plane of a triangle, or across an edge, see ``OccluderSpec``."""
    ux, uy, uz = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
    vx, vy, vz = p[2, 0] - p[0, 0], p[2, 1] - p[0, 1], p[2, 2] - p[0, 2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    size = np.sqrt(nx * nx + ny * ny + nz * nz)
    uu, vv = ux * ux + uy * uy + uz * uz, vx * vx + vy * vy + vz * vz
    out[4] = size
    if size <= FLAT * (uu + vv):
        # a plane along the longer edge; the rest is within rounding of it
        nx, ny, nz = (-uy, ux, 0.0) if uu >= vv else (-vy, vx, 0.0)
        size = np.sqrt(nx * nx + ny * ny)
        out[4] = 0.0
    out[:4] = 0.0
    if size > 0.0:
        out[0], out[1], out[2] = nx / size, ny / size, nz / size
        out[3] = out[0] * p[0, 0] + out[1] * p[0, 1] + out[2] * p[0, 2]


@helper
def _set_corners(spec, element, x, shift, out_corner, out_box, out_plane):  # type: ignore[no-untyped-def]
    m = len(element)
    for image in range(len(shift)):
        for e in range(m):
            p = out_corner[image * m + e]
            for a in range(3):
                _to_index(spec, x[element[e, a]], shift[image], p[a])
            for c in range(3):
                out_box[image * m + e, c] = min(p[0, c], p[1, c], p[2, c]) - THICKNESS
                out_box[image * m + e, 3 + c] = max(p[0, c], p[1, c], p[2, c]) + THICKNESS
            _set_plane(p, out_plane[image * m + e])


@borrowing
def _misses_box(n, e, x, y, z, a, b, c):  # type: ignore[no-untyped-def]
    """Whether the plane n[e] of an element keeps clear of the box around (x, y, z) that is 2a by 2b by 2c large."""
    reach = abs(n[e, 0]) * a + abs(n[e, 1]) * b + abs(n[e, 2]) * c
    return abs(n[e, 0] * x + n[e, 1] * y + n[e, 2] * z - n[e, 3]) > reach + 2.0 * THICKNESS


@njit(cache=True)
def _fill_bins(spec, element, x, shift, out):  # type: ignore[no-untyped-def]
    """Corners, boxes and planes of the elements, and the elements of every cell; returns how much room those need, and
    fills ``item`` if there is so much."""
    corner, box, plane, out_start, out_item = out.corner, out.box, out.plane, out.start, out.item
    _set_corners(spec, element, x, shift, corner, box, plane)
    px, py, pz = padded(spec)
    out_start[:] = 0
    total = 0
    for turn in range(2):
        for e in range(len(corner)):
            i0, i1 = max(int(np.floor(box[e, 0])), 0), min(int(np.floor(box[e, 3])), px - 1)
            j0, j1 = max(int(np.floor(box[e, 1])), 0), min(int(np.floor(box[e, 4])), py - 1)
            k0, k1 = max(int(np.floor(box[e, 2])), 0), min(int(np.floor(box[e, 5])), pz - 1)
            for k in range(k0, k1 + 1):
                for j in range(j0, j1 + 1):
                    for i in range(i0, i1 + 1):
                        if _misses_box(plane, e, i + 0.5, j + 0.5, k + 0.5, 0.5, 0.5, 0.5):
                            continue
                        c = (k * py + j) * px + i
                        if turn == 0:
                            out_start[c + 1] += 1
                        else:
                            # start[c] runs ahead to the end of the cell and is put back below
                            out_item[out_start[c]] = e
                            out_start[c] += 1
        if turn == 0:
            for c in range(len(out_start) - 1):
                out_start[c + 1] += out_start[c]
            total = out_start[len(out_start) - 1]
            if total > len(out_item):
                return total
        else:
            for c in range(len(out_start) - 1, 0, -1):
                out_start[c] = out_start[c - 1]
            out_start[0] = 0
    return total


@helper
def find_nearest(px, py, pz, ux, uy, uz, tx, ty, tz):  # type: ignore[no-untyped-def]
    """Weights of the second and third corner of a triangle at its point nearest to p (Ericson 2005, Real-Time Collision
    Detection, 5.1.5); p and the edges u and t to those corners as seen from the first. An edge: t = u."""
    d1, d2 = ux * px + uy * py + uz * pz, tx * px + ty * py + tz * pz
    uu, ut, tt = ux * ux + uy * uy + uz * uz, ux * tx + uy * ty + uz * tz, tx * tx + ty * ty + tz * tz
    d3, d4 = d1 - uu, d2 - ut
    d5, d6 = d1 - ut, d2 - tt
    vc, vb, va = d1 * d4 - d3 * d2, d5 * d2 - d1 * d6, d3 * d6 - d5 * d4
    if d1 <= 0.0 and d2 <= 0.0:
        return 0.0, 0.0
    if d3 >= 0.0 and d4 <= d3:
        return 1.0, 0.0
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        return d1 / (d1 - d3) if d1 > d3 else 0.0, 0.0
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 1.0
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        return 0.0, d2 / (d2 - d6) if d2 > d6 else 0.0
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        w = (d4 - d3) / ((d4 - d3) + (d5 - d6)) if (d4 - d3) + (d5 - d6) > 0.0 else 0.0
        return 1.0 - w, w
    scale = 1.0 / (va + vb + vc)
    return vb * scale, vc * scale


@helper
def _point_distance_sq(px, py, pz, ux, uy, uz, tx, ty, tz):  # type: ignore[no-untyped-def]
    """Squared distance of a point from a triangle, see ``find_nearest``."""
    v, w = find_nearest(px, py, pz, ux, uy, uz, tx, ty, tz)
    dx, dy, dz = px - v * ux - w * tx, py - v * uy - w * ty, pz - v * uz - w * tz
    return dx * dx + dy * dy + dz * dz


@helper
def _segment_distance_sq(rx, ry, rz, ux, uy, uz, ex, ey, ez):  # type: ignore[no-untyped-def]
    """Squared distance of the segment from r by e from the one from 0 by u (Ericson, 5.1.9)."""
    ee, uu = ex * ex + ey * ey + ez * ez, ux * ux + uy * uy + uz * uz
    f, c, g = ux * rx + uy * ry + uz * rz, ex * rx + ey * ry + ez * rz, ex * ux + ey * uy + ez * uz
    s, t = 0.0, 0.0
    if ee <= 0.0:
        t = min(max(f / uu, 0.0), 1.0) if uu > 0.0 else 0.0
    elif uu <= 0.0:
        s = min(max(-c / ee, 0.0), 1.0)
    else:
        whole = ee * uu - g * g
        if whole > 0.0:
            s = min(max((g * f - c * uu) / whole, 0.0), 1.0)
        t = (g * s + f) / uu
        if t < 0.0:
            t = 0.0
            s = min(max(-c / ee, 0.0), 1.0)
        elif t > 1.0:
            t = 1.0
            s = min(max((g - c) / ee, 0.0), 1.0)
    dx, dy, dz = rx + s * ex - t * ux, ry + s * ey - t * uy, rz + s * ez - t * uz
    return dx * dx + dy * dy + dz * dz


@helper
def _is_beside(rx, ry, rz, ux, uy, uz, nx, ny, nz, ex, ey, ez, reach):  # type: ignore[no-untyped-def]
    """Whether the segment from r by e lies beyond the edge from 0 by u of a triangle by more than ``reach``, seen along
    its normal n."""
    mx, my, mz = uy * nz - uz * ny, uz * nx - ux * nz, ux * ny - uy * nx
    far = mx * rx + my * ry + mz * rz
    near = min(far, far + mx * ex + my * ey + mz * ez)
    return near > 0.0 and near * near > reach * reach * (ux * ux + uy * uy + uz * uz)


@helper
def _comes_near(x, y, z, ux, uy, uz, vx, vy, vz, nx, ny, nz, size, da, rise, ex, ey, ez, reach):  # type: ignore[no-untyped-def]
    """Whether the segment from (x, y, z) by e comes within ``reach`` of a triangle, all seen from its first corner: u
    and v its edges, n its normal, size twice its area; da, da + rise: heights of the ends above its plane."""
    if size > 0.0:
        if (da > 0.0) != (da + rise > 0.0):
            t = -da / rise
            cx, cy, cz = x + t * ex, y + t * ey, z + t * ez
            b1 = nx * (cy * vz - cz * vy) + ny * (cz * vx - cx * vz) + nz * (cx * vy - cy * vx)
            b2 = nx * (uy * cz - uz * cy) + ny * (uz * cx - ux * cz) + nz * (ux * cy - uy * cx)
            if b1 >= 0.0 and b2 >= 0.0 and b1 + b2 <= size:
                return True
        # the part of the segment that is within reach of the plane, and a margin: beside the triangle?
        s, t = 0.0, 1.0
        if abs(rise) > reach:
            way = 2.0 * reach if rise > 0.0 else -2.0 * reach
            s, t = max((-da - way) / rise, 0.0), min((-da + way) / rise, 1.0)
        px, py, pz, qx, qy, qz = x + s * ex, y + s * ey, z + s * ez, (t - s) * ex, (t - s) * ey, (t - s) * ez
        if _is_beside(px, py, pz, ux, uy, uz, nx, ny, nz, qx, qy, qz, reach):
            return False
        if _is_beside(px, py, pz, -vx, -vy, -vz, nx, ny, nz, qx, qy, qz, reach):
            return False
        if _is_beside(px - ux, py - uy, pz - uz, vx - ux, vy - uy, vz - uz, nx, ny, nz, qx, qy, qz, reach):
            return False
    limit = reach * reach
    return (
        _point_distance_sq(x, y, z, ux, uy, uz, vx, vy, vz) <= limit
        or _point_distance_sq(x + ex, y + ey, z + ez, ux, uy, uz, vx, vy, vz) <= limit
        or _segment_distance_sq(x, y, z, ux, uy, uz, ex, ey, ez) <= limit
        or _segment_distance_sq(x, y, z, vx, vy, vz, ex, ey, ez) <= limit
        or _segment_distance_sq(x - ux, y - uy, z - uz, vx - ux, vy - uy, vz - uz, ex, ey, ez) <= limit
    )


@borrowing
def _is_outside(occluder, e, low_x, low_y, low_z, high_x, high_y, high_z):  # type: ignore[no-untyped-def]
    """Whether an element keeps clear of a box."""
    box = occluder.box
    if box[e, 0] > high_x or box[e, 3] < low_x or box[e, 1] > high_y or box[e, 4] < low_y:
        return True
    if box[e, 2] > high_z or box[e, 5] < low_z:
        return True
    x, y, z = 0.5 * (low_x + high_x), 0.5 * (low_y + high_y), 0.5 * (low_z + high_z)
    a, b, c = 0.5 * (high_x - low_x), 0.5 * (high_y - low_y), 0.5 * (high_z - low_z)
    return _misses_box(occluder.plane, e, x, y, z, a, b, c)


@borrowing
def gather_elements(spec, occluder, low_x, low_y, low_z, high_x, high_y, high_z, stamp, near):  # type: ignore[no-untyped-def]
    """Elements that may reach into a box, each once, in ``near[1 : near[0] + 1]``; their number.

    stamp (m + 1,): when each element was met last, and the number of the search.
    """
    px, py, pz = padded(spec)
    i0, i1 = max(int(np.floor(low_x - THICKNESS)), 0), min(int(np.floor(high_x + THICKNESS)), px - 1)
    j0, j1 = max(int(np.floor(low_y - THICKNESS)), 0), min(int(np.floor(high_y + THICKNESS)), py - 1)
    k0, k1 = max(int(np.floor(low_z - THICKNESS)), 0), min(int(np.floor(high_z + THICKNESS)), pz - 1)
    near[0] = 0
    if i0 > i1:
        return 0
    last = len(stamp) - 1
    stamp[last] += 1
    found = 0
    for k in range(k0, k1 + 1):
        for j in range(j0, j1 + 1):
            row = (k * py + j) * px
            for at in range(occluder.start[row + i0], occluder.start[row + i1 + 1]):
                e = occluder.item[at]
                if stamp[e] == stamp[last]:
                    continue
                stamp[e] = stamp[last]
                if _is_outside(occluder, e, low_x, low_y, low_z, high_x, high_y, high_z):
                    continue
                found += 1
                near[found] = e
    near[0] = found
    return found


@borrowing
def select_elements(occluder, near, low_x, low_y, low_z, high_x, high_y, high_z, out):  # type: ignore[no-untyped-def]
    """Those of the gathered elements that may reach into a box inside theirs, in ``out``."""
    found = 0
    for n in range(1, near[0] + 1):
        if not _is_outside(occluder, near[n], low_x, low_y, low_z, high_x, high_y, high_z):
            found += 1
            out[found] = near[n]
    out[0] = found


@borrowing
def is_hidden(occluder, near, x, y, z, ex, ey, ez, reach):  # type: ignore[no-untyped-def]
    """Whether one of the gathered elements stands in the way from (x, y, z) by (ex, ey, ez)."""
    box, plane, corner = occluder.box, occluder.plane, occluder.corner
    for n in range(1, near[0] + 1):
        e = near[n]
        nx, ny, nz = plane[e, 0], plane[e, 1], plane[e, 2]
        da, rise = nx * x + ny * y + nz * z - plane[e, 3], nx * ex + ny * ey + nz * ez
        if min(da, da + rise) > reach or max(da, da + rise) < -reach:
            continue
        if box[e, 0] > max(x, x + ex) + reach or box[e, 3] < min(x, x + ex) - reach:
            continue
        if box[e, 1] > max(y, y + ey) + reach or box[e, 4] < min(y, y + ey) - reach:
            continue
        if box[e, 2] > max(z, z + ez) + reach or box[e, 5] < min(z, z + ez) - reach:
            continue
        ax, ay, az = corner[e, 0, 0], corner[e, 0, 1], corner[e, 0, 2]
        if _comes_near(
            x - ax, y - ay, z - az, corner[e, 1, 0] - ax, corner[e, 1, 1] - ay, corner[e, 1, 2] - az,
            corner[e, 2, 0] - ax, corner[e, 2, 1] - ay, corner[e, 2, 2] - az, nx, ny, nz, plane[e, 4], da, rise,
            ex, ey, ez, reach,
        ):  # fmt: skip
            return True
    return False


@njit(cache=True)
def _see_pairs(spec, occluder, start, stop, out):  # type: ignore[no-untyped-def]
    """out (n,): whether the places start (n, 3) and stop (n, 3), in index coordinates, see each other."""
    stamp, near = np.zeros(len(occluder.corner) + 1, np.int64), np.zeros(len(occluder.corner) + 1, np.int64)
    for n in range(len(start)):
        x, y, z = start[n, 0], start[n, 1], start[n, 2]
        p, q, r = stop[n, 0], stop[n, 1], stop[n, 2]
        gather_elements(spec, occluder, min(x, p), min(y, q), min(z, r), max(x, p), max(y, q), max(z, r), stamp, near)
        out[n] = not is_hidden(occluder, near, x, y, z, p - x, q - y, r - z, THICKNESS)


@helper
def is_swept(start, move, speed, p, x, y, z):  # type: ignore[no-untyped-def]
    """Whether a triangle that moves from ``start`` by ``move`` comes as near to a point as it is thick.

    As long as the point is d away nothing can happen for (d - thickness) / speed of the step. p: scratch.
    """
    t = 0.0
    for _ in range(PASSES):
        for a in range(3):
            for c in range(3):
                p[a, c] = start[a, c] + t * move[a, c]
        distance = np.sqrt(
            _point_distance_sq(
                x - p[0, 0], y - p[0, 1], z - p[0, 2], p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2],
                p[2, 0] - p[0, 0], p[2, 1] - p[0, 1], p[2, 2] - p[0, 2],
            )
        )  # fmt: skip
        if distance <= THICKNESS:
            return True
        if t >= 1.0 or distance - THICKNESS > (1.0 - t) * speed:
            return False
        t = min(t + max(distance - 0.5 * THICKNESS, 0.25 * THICKNESS) / speed, 1.0)
    return True


@njit(cache=True)
def _mark_swept(spec, element, x_start, x_end, shift, out_swept):  # type: ignore[no-untyped-def]
    start, move, p = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    end, low, high = np.zeros(3), np.zeros(3), np.zeros(3)
    for image in range(len(shift)):
        for e in range(len(element)):
            speed = 0.0
            low[:], high[:] = 1e300, -1e300
            for a in range(3):
                _to_index(spec, x_start[element[e, a]], shift[image], start[a])
                _to_index(spec, x_end[element[e, a]], shift[image], end)
                square = 0.0
                for c in range(3):
                    move[a, c] = end[c] - start[a, c]
                    square += move[a, c] * move[a, c]
                    low[c] = min(low[c], start[a, c], end[c])
                    high[c] = max(high[c], start[a, c], end[c])
                speed = max(speed, np.sqrt(square))
            for location in range(4):
                if location == 2 and spec.dimensions == 2:
                    continue
                hx, hy, hz = 0.0 if location == 0 else 0.5, 0.0 if location == 1 else 0.5, 0.0 if location == 2 else 0.5
                i0 = max(int(np.ceil(low[0] - THICKNESS - hx)), 0)
                j0 = max(int(np.ceil(low[1] - THICKNESS - hy)), 0)
                k0 = max(int(np.ceil(low[2] - THICKNESS - hz)), 0)
                i1 = min(int(np.floor(high[0] + THICKNESS - hx)), out_swept.shape[3] - 1)
                j1 = min(int(np.floor(high[1] + THICKNESS - hy)), out_swept.shape[2] - 1)
                k1 = min(int(np.floor(high[2] + THICKNESS - hz)), out_swept.shape[1] - 1)
                for k in range(k0, k1 + 1):
                    for j in range(j0, j1 + 1):
                        for i in range(i0, i1 + 1):
                            if out_swept[location, k, j, i] == 0 and is_swept(
                                start, move, speed, p, i + hx, j + hy, k + hz
                            ):
                                out_swept[location, k, j, i] = PASSED


@borrowing
def side_of_edge(vertices, p, q, b, c, x, y):  # type: ignore[no-untyped-def]
    """On which side of the edge from vertex p to q the point (x, y) of the plane of axes b and c lies: > 0 or < 0.

    Both triangles of an edge compute the same number, and a point on it has a side: none is missed or counted twice.
    """
    turned = p > q
    if turned:
        p, q = q, p
    e = (vertices[q, b] - vertices[p, b]) * (y - vertices[p, c]) - (vertices[q, c] - vertices[p, c]) * (
        x - vertices[p, b]
    )
    e = e if e != 0.0 else 1e-300
    return -e if turned else e


@njit(cache=True)
def _mark_inside(spec, element, x, shift, out_swept):  # type: ignore[no-untyped-def]
    """INSIDE for values with an odd number of elements of closed surfaces between them and the low end of x."""
    _, nz, ny, nx = out_swept.shape
    for image in range(len(shift)):
        for e in range(len(element)):
            p, q, r = element[e, 0], element[e, 1], element[e, 2]
            for location in range(4):
                if location == 2 and spec.dimensions == 2:
                    continue
                hx, hy, hz = 0.0 if location == 0 else 0.5, 0.0 if location == 1 else 0.5, 0.0 if location == 2 else 0.5
                # of the frame of the nodes: where the first value of each row is
                y0 = spec.y0 + (hy - GHOSTS) * spec.dx - shift[image, 1]
                z0 = spec.z0 + (hz - GHOSTS) * spec.dx - shift[image, 2]
                low_y, high_y = min(x[p, 1], x[q, 1], x[r, 1]), max(x[p, 1], x[q, 1], x[r, 1])
                j0, j1 = int(np.floor((low_y - y0) / spec.dx)), int(np.ceil((high_y - y0) / spec.dx))
                k0, k1 = GHOSTS, GHOSTS
                if spec.dimensions == 3:
                    low_z, high_z = min(x[p, 2], x[q, 2], x[r, 2]), max(x[p, 2], x[q, 2], x[r, 2])
                    k0, k1 = int(np.floor((low_z - z0) / spec.dx)), int(np.ceil((high_z - z0) / spec.dx))
                for k in range(max(k0, 0), min(k1, nz - 1) + 1):
                    for j in range(max(j0, 0), min(j1, ny - 1) + 1):
                        y, z = y0 + j * spec.dx, z0 + k * spec.dx
                        if spec.dimensions == 3:
                            wr = side_of_edge(x, p, q, 1, 2, y, z)
                            wp = side_of_edge(x, q, r, 1, 2, y, z)
                            wq = side_of_edge(x, r, p, 1, 2, y, z)
                            if (wr > 0.0) != (wp > 0.0) or (wr > 0.0) != (wq > 0.0):
                                continue
                            at = (wp * x[p, 0] + wq * x[q, 0] + wr * x[r, 0]) / (wp + wq + wr)
                        else:
                            if (x[p, 1] > y) == (x[q, 1] > y):
                                continue
                            at = x[p, 0] + (y - x[p, 1]) / (x[q, 1] - x[p, 1]) * (x[q, 0] - x[p, 0])
                        at = (at + shift[image, 0] - spec.x0) / spec.dx + GHOSTS - hx
                        for i in range(max(int(np.ceil(at)), 0), nx):
                            out_swept[location, k, j, i] ^= INSIDE
