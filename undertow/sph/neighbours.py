"""Neighbours: points sorted by cells, and a list per point that holds for as long as nothing has moved far.

Points are put into cells by a counting sort and physically reordered, x fastest, so that the cells of a row that a
point can see are one run of memory. Cells are as wide as the kernel plus the widest skin across the rows, so that a
point sees nine rows, and a quarter of that along them: few long runs cost less than many short ones. The list of a
point holds every point within radius + skin; it is built anew only when two points may have come nearer by the skin
(temporal coherence, as Becker et al. 2009, V-G). Summation follows the list, and the list follows the order of the
points, so the bits depend on no thread count. Lists are of unsigned numbers: an index that may be negative costs a
third of the sums.
"""

from __future__ import annotations

from math import floor, sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64

from undertow.errors import UserError
from undertow.grid import Array, share
from undertow.grid.jitting import inlined

GHOST = -(1 << 31)
"""Label of a copy of a fluid particle beyond a periodic side; labels of boundary particles are -1, -2, ..."""

MOST = (1 << 32) - 1
"""Neighbours that fit into the lists, of all points together."""

RUN = 64
"""Points whose distances are kept at once while lists are filled."""

Whole = Any


class CellFrame(NamedTuple):
    """Cells: lower corner, length along x and width along y and z [m], their inverses, counts; reach_sq: square of the
    radius of the lists [m2], at most that of the width."""

    x: float
    y: float
    z: float
    inv_length: float
    width: float
    inv_width: float
    nx: int
    ny: int
    nz: int
    reach_sq: float


class NeighbourSpec(NamedTuple):
    """Lists of n points: those of i are listed[starts[i] : starts[i + 1]], fluid and ghosts before middle[i], boundary
    particles from there on. Lists of boundary particles hold fluid and ghosts alone, those of ghosts nothing."""

    starts: Whole
    middle: Whole
    listed: Whole


def make_frame(lower: Array, upper: Array, reach: float, dimensions: int) -> CellFrame:
    """Cells of the width ``reach`` [m] over a box, a quarter of it long; in 2D one layer of them."""
    size = np.array([0.25 * reach, reach, reach])
    nx, ny, nz = (max(1, floor(n) + 1) for n in (np.asarray(upper) - lower) / size)
    x, y, z = (float(v) for v in lower)
    return CellFrame(x, y, z, 4.0 / reach, reach, 1.0 / reach, nx, ny, nz if dimensions == 3 else 1, reach * reach)


class Neighbours:
    """First points of the cells, and lists; grown, kept otherwise."""

    def __init__(self, frame: CellFrame) -> None:
        self.frame = frame
        self.first = np.zeros(frame.nx * frame.ny * frame.nz + 1, dtype=np.uint32)
        self.spec = NeighbourSpec(*(np.zeros(n, dtype=np.uint32) for n in (1, 0, 0)))

    def set_reach(self, reach: float) -> None:
        """Radius [m] of the lists that are built next, at most that of the frame's cells."""
        self.frame = self.frame._replace(reach_sq=reach * reach)

    def reserve(self, points: int) -> None:
        """Room for so many points."""
        if points > len(self.spec.middle):
            self.spec = self.spec._replace(
                starts=np.zeros(points + 1, dtype=np.uint32), middle=np.zeros(points, dtype=np.uint32)
            )

    def sort(self, place: Array, count: int, out_order: Whole) -> None:
        """Order (count,) that sorts points by cell, equal cells in their present order."""
        # the cells are kept in ``middle`` until the lists are made
        share(_find_cells, count, 4 * count, self.frame, place, self.spec.middle)
        _sort_cells(self.spec.middle, count, self.first, out_order)

    def build(self, place: Array, label: Whole, count: int) -> None:
        """Lists of points that are in order; place (3, n): their coordinates from the corner of the frame [m]."""
        args = (self.frame, place, label, self.first)
        share(_count_neighbours, count, 64 * count, *args, self.spec.starts)
        total = int(_sum_counts(self.spec.starts, count))
        if total > MOST:
            raise UserError(
                f"sph: {total} neighbours of {count} particles, more than lists can hold; use fewer particles"
            )
        if total > len(self.spec.listed):
            self.spec = self.spec._replace(listed=np.zeros(total + total // 64, dtype=np.uint32))
        longest = int(np.diff(self.spec.starts[: count + 1]).max(initial=0))
        share(_fill_neighbours, count, 64 * count, *args, longest, self.spec)


@inlined
def _cell_along(inv_width, count, x):  # type: ignore[no-untyped-def]
    """Cell of a coordinate from the corner; what lies outside belongs to the cells at the edge."""
    return min(max(int(floor(x * inv_width)), 0), count - 1)


@inlined
def _gap_sq(width, inside, steps):  # type: ignore[no-untyped-def]
    """Square of the least distance [m2] along an axis, from ``inside`` [m] a cell, to the cell ``steps`` farther."""
    if steps == 0:
        return 0.0
    gap = max(steps * width - inside if steps > 0 else inside - (steps + 1) * width, 0.0)
    return gap * gap


@inlined
def _find_run(frame, first, row, x, reach):  # type: ignore[no-untyped-def]
    """First point and end of the points in a row of cells that may lie within ``reach`` [m] of x along the row."""
    low = _cell_along(frame.inv_length, frame.nx, x - reach)
    high = _cell_along(frame.inv_length, frame.nx, x + reach)
    return uint64(first[row + low]), uint64(first[row + high + 1])


@njit(cache=True, nogil=True)
def _find_cells(frame, place, out_cell, start, stop):  # type: ignore[no-untyped-def]
    for n in range(start, stop):
        i = _cell_along(frame.inv_length, frame.nx, np.float32(place[n, 0] - frame.x))
        j = _cell_along(frame.inv_width, frame.ny, np.float32(place[n, 1] - frame.y))
        k = _cell_along(frame.inv_width, frame.nz, np.float32(place[n, 2] - frame.z))
        out_cell[n] = (k * frame.ny + j) * frame.nx + i


@njit(cache=True, nogil=True)
def _sort_cells(cell, count, out_first, out_order):  # type: ignore[no-untyped-def]
    """Counting sort: first point of every cell, and the points in order."""
    out_first[:] = 0
    for n in range(count):
        out_first[cell[n] + 1] += 1
    for c in range(len(out_first) - 1):
        out_first[c + 1] += out_first[c]
    for n in range(count):
        c = cell[n]
        out_order[out_first[c]] = n
        out_first[c] += 1
    for c in range(len(out_first) - 1, 0, -1):
        out_first[c] = out_first[c - 1]
    out_first[0] = 0


@njit(cache=True, nogil=True)
def _count_neighbours(frame, place, label, first, out_starts, start, stop):  # type: ignore[no-untyped-def]
    """Number of neighbours to out_starts[i + 1]."""
    xs, ys, zs, reach_sq = place[0], place[1], place[2], np.float32(frame.reach_sq)
    for i in range(start, stop):
        found = 0
        if label[i] != GHOST:
            x, y, z = xs[i], ys[i], zs[i]
            cj = _cell_along(frame.inv_width, frame.ny, y)
            ck = _cell_along(frame.inv_width, frame.nz, z)
            iny, inz = y - cj * frame.width, z - ck * frame.width
            for k in range(max(ck - 1, 0), min(ck + 2, frame.nz)):
                # a hair wider, as borders of cells are rounded
                across = 1.000001 * frame.reach_sq - _gap_sq(frame.width, inz, k - ck)
                for j in range(max(cj - 1, 0), min(cj + 2, frame.ny)):
                    left = across - _gap_sq(frame.width, iny, j - cj)
                    if left <= 0.0:
                        continue
                    begin, end = _find_run(frame, first, (k * frame.ny + j) * frame.nx, x, sqrt(left))
                    if label[i] >= 0:
                        for n in range(begin, end):
                            dx, dy, dz = xs[n] - x, ys[n] - y, zs[n] - z
                            found += dx * dx + dy * dy + dz * dz < reach_sq
                        continue
                    for n in range(begin, end):
                        dx, dy, dz = xs[n] - x, ys[n] - y, zs[n] - z
                        wet = label[n] >= 0 or label[n] == GHOST
                        found += wet and dx * dx + dy * dy + dz * dz < reach_sq
            if label[i] >= 0:
                found -= 1
        out_starts[i + 1] = found


@njit(cache=True, nogil=True)
def _sum_counts(starts, count):  # type: ignore[no-untyped-def]
    """Counts to positions in the list; its length."""
    total = 0
    starts[0] = 0
    for i in range(count):
        total += starts[i + 1]
        starts[i + 1] = total
    return total


@njit(cache=True, nogil=True)
def _fill_neighbours(frame, place, label, first, longest, lists, start, stop):  # type: ignore[no-untyped-def]
    """Fluid from the front of a list, boundary particles from its back; they meet in the middle.

    Distances of a run come first, several at once in the vector unit. Points of it are written one after the other and
    kept by moving on: half of them are near, and a branch that is taken every other time costs more than the write.
    There is room for the point itself and one not kept.
    """
    xs, ys, zs, reach_sq = place[0], place[1], place[2], np.float32(frame.reach_sq)
    found = np.empty(longest + 2, dtype=np.uint32)
    apart_sq = np.empty(RUN, dtype=np.float32)
    for i in range(start, stop):
        front, back = uint64(lists.starts[i]), uint64(lists.starts[i + 1])
        if front < back:
            x, y, z = xs[i], ys[i], zs[i]
            cj = _cell_along(frame.inv_width, frame.ny, y)
            ck = _cell_along(frame.inv_width, frame.nz, z)
            iny, inz = y - cj * frame.width, z - ck * frame.width
            dry = label[i] < 0
            count = uint64(0)
            for k in range(max(ck - 1, 0), min(ck + 2, frame.nz)):
                across = 1.000001 * frame.reach_sq - _gap_sq(frame.width, inz, k - ck)
                for j in range(max(cj - 1, 0), min(cj + 2, frame.ny)):
                    left = across - _gap_sq(frame.width, iny, j - cj)
                    if left <= 0.0:
                        continue
                    begin, end = _find_run(frame, first, (k * frame.ny + j) * frame.nx, x, sqrt(left))
                    if dry:
                        for n in range(begin, end):
                            dx, dy, dz = xs[n] - x, ys[n] - y, zs[n] - z
                            wet = label[n] >= 0 or label[n] == GHOST
                            if wet and dx * dx + dy * dy + dz * dz < reach_sq:
                                found[count] = n
                                count += uint64(1)
                        continue
                    while begin < end:
                        size = min(end - begin, uint64(RUN))
                        for m in range(size):
                            dx, dy, dz = xs[begin + m] - x, ys[begin + m] - y, zs[begin + m] - z
                            apart_sq[m] = dx * dx + dy * dy + dz * dz
                        for m in range(size):
                            found[count] = begin + m
                            count += uint64(apart_sq[m] < reach_sq)
                        begin += size
            for m in range(count):
                n = found[m]
                if n == uint64(i):
                    continue
                if label[n] >= 0 or label[n] == GHOST:
                    lists.listed[front] = n
                    front += uint64(1)
                else:
                    back -= uint64(1)
                    lists.listed[back] = n
        lists.middle[i] = front
