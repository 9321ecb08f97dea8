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

from undertow.grid import GHOSTS, Array, Grid
from undertow.grid.jitting import helper

THICKNESS = 1e-4
"""Half the thickness of an element in cells: far above rounding, far below what a picture shows."""

PASSES = 64
"""Of the search for the time of contact; a point that is not told apart after them counts as swept."""


class OccluderSpec(NamedTuple):
    """Elements and the cells of the padded grid they reach: those of cell c are item[start[c] : start[c + 1]]."""

    corner: np.ndarray  # (m, 3, 3) index coordinates
    box: np.ndarray  # (m, 6) lowest x, y, z and highest x, y, z, thickened
    start: np.ndarray  # (cells + 1,)
    item: np.ndarray  # (r,)


class Occlusion:
    """Thin surfaces where they were seen last, and where they are now.

    element (m, k): nodes of the edges or triangles. ``place`` says where they are, ``settle`` makes that what points
    are seen past; between the two ``mark_swept`` finds what they passed over.
    """

    def __init__(self, grid: Grid, element: np.ndarray, nodes: int) -> None:
        self.grid = grid
        last = element[:, -1:]
        self.element = np.ascontiguousarray(np.concatenate([element, last], axis=1)[:, :3])
        self.x_seen, self.x_now = np.zeros((nodes, 3)), np.zeros((nodes, 3))
        self.shift = np.zeros((1, 3))
        cells = int(np.prod(grid.padded))
        self._start = np.zeros(cells + 1, np.int64)
        self._item = np.zeros(0, np.int64)
        self._corner, self._box = np.zeros((0, 3, 3)), np.zeros((0, 6))
        self._settled = False

    @property
    def spec(self) -> OccluderSpec:
        return OccluderSpec(self._corner, self._box, self._start, self._item)

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
            self._corner, self._box = np.zeros((count, 3, 3)), np.zeros((count, 6))
        spec = self.grid.spec
        while True:
            size = int(
                _fill_bins(
                    spec, self.element, self.x_seen, self.shift, self._corner, self._box, self._start, self._item
                )
            )
            if size <= len(self._item):
                return
            self._item = np.zeros(2 * size, np.int64)

    def mark_swept(self, out_swept: np.ndarray) -> None:
        """out_swept (4, Z, Y, X) uint8: 1 for the faces of the three axes and the cell centres that an element passes
        over on its way from where it was seen to where it is now, or lies on at either end; else 0."""
        out_swept[...] = 0
        _mark_swept(self.grid.spec, self.element, self.x_seen, self.x_now, self.shift, out_swept)


@helper
def _to_index(spec, x, shift, out):  # type: ignore[no-untyped-def]
    """Index coordinates of a place; in 2D the z of the one layer of cells."""
    out[0] = (x[0] + shift[0] - spec.x0) / spec.dx + GHOSTS
    out[1] = (x[1] + shift[1] - spec.y0) / spec.dx + GHOSTS
    out[2] = (x[2] + shift[2] - spec.z0) / spec.dx + GHOSTS if spec.dimensions == 3 else GHOSTS + 0.5


@helper
def _set_corners(spec, element, x, shift, out_corner, out_box):  # type: ignore[no-untyped-def]
    m = len(element)
    for image in range(len(shift)):
        for e in range(m):
            p = out_corner[image * m + e]
            for a in range(3):
                _to_index(spec, x[element[e, a]], shift[image], p[a])
            for c in range(3):
                out_box[image * m + e, c] = min(p[0, c], p[1, c], p[2, c]) - THICKNESS
                out_box[image * m + e, 3 + c] = max(p[0, c], p[1, c], p[2, c]) + THICKNESS


@helper
def _misses_cell(p, i, j, k):  # type: ignore[no-untyped-def]
    """Whether the plane of a triangle keeps clear of a cell; False where it has no plane."""
    ux, uy, uz = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
    vx, vy, vz = p[2, 0] - p[0, 0], p[2, 1] - p[0, 1], p[2, 2] - p[0, 2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    if nx == 0.0 and ny == 0.0 and nz == 0.0:
        # an edge in the plane z = const: across it
        nx, ny = -uy, ux
    away = nx * (i + 0.5 - p[0, 0]) + ny * (j + 0.5 - p[0, 1]) + nz * (k + 0.5 - p[0, 2])
    return abs(away) > (0.5 + 2.0 * THICKNESS) * (abs(nx) + abs(ny) + abs(nz))


@njit(cache=True)
def _fill_bins(spec, element, x, shift, corner, box, out_start, out_item):  # type: ignore[no-untyped-def]
    """Corners and boxes of the elements, and the elements of every cell; returns how much room those need, and fills
    ``out_item`` if there is so much."""
    _set_corners(spec, element, x, shift, corner, box)
    px, py, pz = spec.nx + 2 * GHOSTS, spec.ny + 2 * GHOSTS, spec.nz + 2 * GHOSTS
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
                        if _misses_cell(corner[e], i, j, k):
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
def _point_distance_sq(p, x, y, z):  # type: ignore[no-untyped-def]
    """Squared distance of a point from a triangle (Ericson 2005, Real-Time Collision Detection, 5.1.5)."""
    px, py, pz = x - p[0, 0], y - p[0, 1], z - p[0, 2]
    ux, uy, uz = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
    tx, ty, tz = p[2, 0] - p[0, 0], p[2, 1] - p[0, 1], p[2, 2] - p[0, 2]
    d1, d2 = ux * px + uy * py + uz * pz, tx * px + ty * py + tz * pz
    uu, ut, tt = ux * ux + uy * uy + uz * uz, ux * tx + uy * ty + uz * tz, tx * tx + ty * ty + tz * tz
    d3, d4 = d1 - uu, d2 - ut
    d5, d6 = d1 - ut, d2 - tt
    vc, vb, va = d1 * d4 - d3 * d2, d5 * d2 - d1 * d6, d3 * d6 - d5 * d4
    v, w = 0.0, 0.0
    if d1 <= 0.0 and d2 <= 0.0:
        v, w = 0.0, 0.0
    elif d3 >= 0.0 and d4 <= d3:
        v = 1.0
    elif vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        v = d1 / (d1 - d3) if d1 > d3 else 0.0
    elif d6 >= 0.0 and d5 <= d6:
        w = 1.0
    elif vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        w = d2 / (d2 - d6) if d2 > d6 else 0.0
    elif va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        w = (d4 - d3) / ((d4 - d3) + (d5 - d6)) if (d4 - d3) + (d5 - d6) > 0.0 else 0.0
        v = 1.0 - w
    else:
        scale = 1.0 / (va + vb + vc)
        v, w = vb * scale, vc * scale
    dx, dy, dz = px - v * ux - w * tx, py - v * uy - w * ty, pz - v * uz - w * tz
    return dx * dx + dy * dy + dz * dz


@helper
def _segment_distance_sq(p, a, b, x, y, z, ex, ey, ez):  # type: ignore[no-untyped-def]
    """Squared distance of the segment from (x, y, z) by (ex, ey, ez) from edge a b of a triangle (Ericson, 5.1.9)."""
    ux, uy, uz = p[b, 0] - p[a, 0], p[b, 1] - p[a, 1], p[b, 2] - p[a, 2]
    rx, ry, rz = x - p[a, 0], y - p[a, 1], z - p[a, 2]
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
def _crosses(p, x, y, z, ex, ey, ez, reach):  # type: ignore[no-untyped-def]
    """Whether the segment from (x, y, z) by (ex, ey, ez) comes within ``reach`` of a triangle."""
    ux, uy, uz = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
    vx, vy, vz = p[2, 0] - p[0, 0], p[2, 1] - p[0, 1], p[2, 2] - p[0, 2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    size = np.sqrt(nx * nx + ny * ny + nz * nz)
    if size > 0.0:
        da = (nx * (x - p[0, 0]) + ny * (y - p[0, 1]) + nz * (z - p[0, 2])) / size
        db = da + (nx * ex + ny * ey + nz * ez) / size
        if (da > reach and db > reach) or (da < -reach and db < -reach):
            return False
        if (da > 0.0) != (db > 0.0):
            t = da / (da - db)
            cx, cy, cz = x + t * ex - p[0, 0], y + t * ey - p[0, 1], z + t * ez - p[0, 2]
            b1 = nx * (cy * vz - cz * vy) + ny * (cz * vx - cx * vz) + nz * (cx * vy - cy * vx)
            b2 = nx * (uy * cz - uz * cy) + ny * (uz * cx - ux * cz) + nz * (ux * cy - uy * cx)
            if b1 >= 0.0 and b2 >= 0.0 and b1 + b2 <= size * size:
                return True
    limit = reach * reach
    if _point_distance_sq(p, x, y, z) <= limit or _point_distance_sq(p, x + ex, y + ey, z + ez) <= limit:
        return True
    if _segment_distance_sq(p, 0, 1, x, y, z, ex, ey, ez) <= limit:
        return True
    return (
        _segment_distance_sq(p, 1, 2, x, y, z, ex, ey, ez) <= limit
        or _segment_distance_sq(p, 2, 0, x, y, z, ex, ey, ez) <= limit
    )


@helper
def gather_elements(spec, occluder, low_x, low_y, low_z, high_x, high_y, high_z, stamp, near):  # type: ignore[no-untyped-def]
    """Elements that may reach into a box, each once, in ``near[1 : near[0] + 1]``; their number.

    stamp (m + 1,): when each element was met last, and the number of the search.
    """
    px, py, pz = spec.nx + 2 * GHOSTS, spec.ny + 2 * GHOSTS, spec.nz + 2 * GHOSTS
    i0, i1 = max(int(np.floor(low_x - THICKNESS)), 0), min(int(np.floor(high_x + THICKNESS)), px - 1)
    j0, j1 = max(int(np.floor(low_y - THICKNESS)), 0), min(int(np.floor(high_y + THICKNESS)), py - 1)
    k0, k1 = max(int(np.floor(low_z - THICKNESS)), 0), min(int(np.floor(high_z + THICKNESS)), pz - 1)
    near[0] = 0
    if i0 > i1:
        return 0
    last = len(stamp) - 1
    stamp[last] += 1
    found = 0
    box = occluder.box
    for k in range(k0, k1 + 1):
        for j in range(j0, j1 + 1):
            row = (k * py + j) * px
            for at in range(occluder.start[row + i0], occluder.start[row + i1 + 1]):
                e = occluder.item[at]
                if stamp[e] == stamp[last]:
                    continue
                stamp[e] = stamp[last]
                if box[e, 0] > high_x or box[e, 3] < low_x or box[e, 1] > high_y or box[e, 4] < low_y:
                    continue
                if box[e, 2] > high_z or box[e, 5] < low_z:
                    continue
                found += 1
                near[found] = e
    near[0] = found
    return found


@helper
def is_hidden(occluder, near, x, y, z, ex, ey, ez, reach):  # type: ignore[no-untyped-def]
    """Whether one of the gathered elements stands in the way from (x, y, z) by (ex, ey, ez)."""
    for n in range(1, near[0] + 1):
        e = near[n]
        b = occluder.box[e]
        if b[0] > max(x, x + ex) + reach or b[3] < min(x, x + ex) - reach:
            continue
        if b[1] > max(y, y + ey) + reach or b[4] < min(y, y + ey) - reach:
            continue
        if b[2] > max(z, z + ez) + reach or b[5] < min(z, z + ez) - reach:
            continue
        if _crosses(occluder.corner[e], x, y, z, ex, ey, ez, reach):
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
def _is_swept(start, move, speed, p, x, y, z):  # type: ignore[no-untyped-def]
    """Whether a triangle that moves from ``start`` by ``move`` comes as near to a point as it is thick.

    As long as the point is d away nothing can happen for (d - thickness) / speed of the step. p: scratch.
    """
    t = 0.0
    for _ in range(PASSES):
        for a in range(3):
            for c in range(3):
                p[a, c] = start[a, c] + t * move[a, c]
        distance = np.sqrt(_point_distance_sq(p, x, y, z))
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
                            if out_swept[location, k, j, i] == 0 and _is_swept(
                                start, move, speed, p, i + hx, j + hy, k + hz
                            ):
                                out_swept[location, k, j, i] = 1
