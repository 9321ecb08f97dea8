"""Surfaces of soft bodies cut by the cells of a grid: where fluid and solid meet, and how much of each cell is open.

A surface is made of triangles, in 2D of edges that reach over the one layer of cells. Every element is clipped by the
cells it crosses; a piece knows its area vector s (out of the solid), its middle and the barycentric weights of its
middle, so that the flux of velocities v_p of the nodes through it, linear over the element, is exact:

    int v . n dA = s . sum_p w_p v_p.

Cells are half open, [low, high): a surface that lies in a plane of the grid belongs to one of them. Because n
integrates to zero over a closed surface, the open fraction of the faces follows from sums along the axes, and the
volume of the solid in a cell from the flux of (x - x_low, 0, 0),

    phi_high = phi_low + s_axis / A,        V_solid = dx A (1 - phi_high) + sum s_x (x - x_low),

both exact for the surface as it is given, in two and three dimensions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from undertow.grid import GHOSTS, Array, Grid, padded
from undertow.grid.jitting import helper

SNAP = 1e-9
"""Open fractions so close to 0 or 1 are 0 or 1."""


class SurfaceSpec(NamedTuple):
    """Elements of surfaces and where they are; element e of image q is number q m + e."""

    element: np.ndarray  # (m, k) nodes: 2 of an edge, 3 of a triangle
    x: np.ndarray  # (n, 3) positions of the nodes [m]
    shift: np.ndarray  # (q, 3) by which images are moved [m]


class PieceSpec(NamedTuple):
    """Parts of elements inside cells, in the order of the elements."""

    cell: np.ndarray  # (r,) flat index of the padded cell
    element: np.ndarray  # (r,)
    area: np.ndarray  # (r, 3) area vector out of the solid [m2; 2D m]
    centre: np.ndarray  # (r, 3) middle [m]
    weight: np.ndarray  # (r, 3) of the nodes of the element at the middle; sums to one


def make_pieces(room: int) -> PieceSpec:
    """Room for pieces."""
    return PieceSpec(
        np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros((room, 3)), np.zeros((room, 3)),
        np.zeros((room, 3)),
    )  # fmt: skip


class SurfacePieces:
    """The pieces of a surface in the cells of a grid; memory grows by doubling."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.size = 0
        self.spec = make_pieces(0)

    def cut(self, surface: SurfaceSpec) -> None:
        """Clip the surface where it is now."""
        while True:
            self.size = int(clip_elements(self.grid.spec, surface, self.spec))
            if self.size <= len(self.spec.cell):
                return
            self.spec = make_pieces(2 * self.size)

    def arrays(self) -> PieceSpec:
        """The pieces of now."""
        return PieceSpec(*(array[: self.size] for array in self.spec))

    def measure_openings(self, out_area_f: Array, out_volume_c: Array) -> None:
        """Open fraction of all faces (3, Z, Y, X) and cells (Z, Y, X) around closed surfaces."""
        grid, pieces = self.grid, self.arrays()
        cells = grid.size
        for axis in grid.axes:
            s = np.bincount(pieces.cell, pieces.area[:, axis], cells).reshape(grid.padded)
            along = 2 - axis
            total = 1.0 + np.cumsum(s, axis=along) / grid.face_area
            _snap(total)
            low, high = (tuple(part if a == along else slice(None) for a in range(3)) for part in (_FIRST, _LATER))
            out_area_f[(axis, *low)] = 1.0
            before = tuple(slice(None, -1) if a == along else slice(None) for a in range(3))
            out_area_f[(axis, *high)] = total[before]
            if axis == 0:
                first = pieces.cell % grid.padded[2]
                x_low = grid.lower[0] + (first - GHOSTS) * grid.dx
                moment = np.bincount(pieces.cell, pieces.area[:, 0] * (pieces.centre[:, 0] - x_low), cells)
                solid = (1.0 - total) + moment.reshape(grid.padded) / grid.cell_volume
                np.subtract(1.0, solid, out=out_volume_c)
                _snap(out_volume_c)


_FIRST, _LATER = slice(0, 1), slice(1, None)


def _snap(fraction: Array) -> None:
    """Round-off removed from fractions, in place; overlapping surfaces leave 0."""
    np.clip(fraction, 0.0, 1.0, out=fraction)
    fraction[fraction < SNAP] = 0.0
    fraction[fraction > 1.0 - SNAP] = 1.0


@helper
def clip_half(p, n, axis, bound, sign, q):  # type: ignore[no-untyped-def]
    """q: the part of the polygon p of n corners on one side of a plane; the plane itself belongs to its upper side."""
    m = 0
    for a in range(n):
        b = a + 1 if a + 1 < n else 0
        da, db = sign * (p[a, axis] - bound), sign * (p[b, axis] - bound)
        keeps_a = da > 0.0 or (da == 0.0 and sign > 0.0)
        keeps_b = db > 0.0 or (db == 0.0 and sign > 0.0)
        if keeps_a:
            for c in range(6):
                q[m, c] = p[a, c]
            m += 1
        if keeps_a != keeps_b:
            t = da / (da - db)
            for c in range(6):
                q[m, c] = p[a, c] + t * (p[b, c] - p[a, c])
            q[m, axis] = bound
            m += 1
    return m


@helper
def cell_range(spec, axis, low, high):  # type: ignore[no-untyped-def]
    """Padded indices of the first and the last cell that an interval may reach, the outermost ones being endless."""
    origin = spec.x0 if axis == 0 else (spec.y0 if axis == 1 else spec.z0)
    n = spec.nx if axis == 0 else (spec.ny if axis == 1 else spec.nz)
    last = n + 2 * GHOSTS - 1
    first = int(np.floor(max(-1.0, min((low - origin) / spec.dx - 1e-9 + GHOSTS, last))))
    stop = int(np.floor(max(-1.0, min((high - origin) / spec.dx + 1e-9 + GHOSTS, last))))
    return max(first, 0), max(stop, 0), last, origin


@helper
def set_element(spec, surface, q, e, out_p):  # type: ignore[no-untyped-def]
    """Corners of an element (a strip over the layer of cells in 2D) with their barycentric weights; their number."""
    k = surface.element.shape[1]
    corners = 3 if k == 3 else 4
    for a in range(corners):
        own = a if k == 3 else (0 if a == 0 or a == 3 else 1)
        for c in range(3):
            out_p[a, c] = surface.x[surface.element[e, own], c] + surface.shift[q, c]
            out_p[a, 3 + c] = 1.0 if c == own else 0.0
        if k == 2:
            out_p[a, 2] = spec.z0 + (spec.dx if a >= 2 else 0.0)
    return corners


@helper
def find_bounds(spec, p, n, out):  # type: ignore[no-untyped-def]
    """The cells that a polygon p of n corners may reach: first and last index, the largest one and the origin of every
    axis, out (3, 4); in 2D the one layer."""
    for axis in range(3):
        low, high = p[0, axis], p[0, axis]
        for a in range(1, n):
            low, high = min(low, p[a, axis]), max(high, p[a, axis])
        out[axis, 0], out[axis, 1], out[axis, 2], out[axis, 3] = cell_range(spec, axis, low, high)
    if spec.dimensions == 2:
        out[2, 0] = out[2, 1] = GHOSTS


@helper
def clip_to_cell(spec, bound, k, j, i, p, n, q):  # type: ignore[no-untyped-def]
    """p: the part of the polygon p of n corners in a cell, by the ``bound`` of ``find_bounds``; q is scratch. Returns
    the number of its corners."""
    for axis in range(spec.dimensions):
        at = i if axis == 0 else (j if axis == 1 else k)
        low = bound[axis, 3] + (at - GHOSTS) * spec.dx if at > 0 else -1e300
        high = bound[axis, 3] + (at + 1 - GHOSTS) * spec.dx if at < bound[axis, 2] else 1e300
        n = clip_half(p, n, axis, low, 1.0, q)
        n = clip_half(q, n, axis, high, -1.0, p)
    return n


@njit(cache=True)
def clip_elements(spec, surface, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` as far as it has room and return how many pieces there are."""
    found = 0
    room = len(out.cell)
    whole, p, q = np.zeros((4, 6)), np.zeros((12, 6)), np.zeros((12, 6))
    depth = spec.dx if spec.dimensions == 2 else 1.0
    nx, ny, _ = padded(spec)
    bound = np.zeros((3, 4))
    total, middle = np.zeros(3), np.zeros(6)
    for image in range(len(surface.shift)):
        for e in range(len(surface.element)):
            corners = set_element(spec, surface, image, e, whole)
            find_bounds(spec, whole, corners, bound)
            for k in range(int(bound[2, 0]), int(bound[2, 1]) + 1):
                for j in range(int(bound[1, 0]), int(bound[1, 1]) + 1):
                    for i in range(int(bound[0, 0]), int(bound[0, 1]) + 1):
                        for a in range(corners):
                            for c in range(6):
                                p[a, c] = whole[a, c]
                        n = clip_to_cell(spec, bound, k, j, i, p, corners, q)
                        if n < 3:
                            continue
                        total[:] = 0.0
                        middle[:] = 0.0
                        size = 0.0
                        for a in range(1, n - 1):
                            ax, ay, az = p[a, 0] - p[0, 0], p[a, 1] - p[0, 1], p[a, 2] - p[0, 2]
                            bx, by, bz = p[a + 1, 0] - p[0, 0], p[a + 1, 1] - p[0, 1], p[a + 1, 2] - p[0, 2]
                            cx, cy, cz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
                            part = np.sqrt(cx * cx + cy * cy + cz * cz)
                            total[0] += cx
                            total[1] += cy
                            total[2] += cz
                            size += part
                            for c in range(6):
                                middle[c] += part * (p[0, c] + p[a, c] + p[a + 1, c]) / 3.0
                        if size <= 0.0:
                            continue
                        if found < room:
                            out.cell[found] = (k * ny + j) * nx + i
                            out.element[found] = image * len(surface.element) + e
                            for c in range(3):
                                out.area[found, c] = 0.5 * total[c] / depth
                                out.centre[found, c] = middle[c] / size
                                out.weight[found, c] = middle[3 + c] / size
                        found += 1
    return found
