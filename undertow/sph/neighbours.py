"""Neighbours: points sorted by cells, and a list per point that holds for as long as nothing has moved far.

Points are put into cells as wide as the kernel plus a skin by a counting sort and physically reordered, x fastest, so
that three neighbouring cells of a row are one run of memory. The list of a point holds every point within radius +
skin; it is built anew only when some point has moved by half the skin (temporal coherence, as Becker et al. 2009, V-G).
Summation follows the list, and the list follows the order of the points, so the bits depend on no thread count.
"""

from __future__ import annotations

from math import floor
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from undertow.grid import Array, share

GHOST = -(1 << 62)
"""Label of a copy of a fluid particle beyond a periodic side; labels of boundary particles are -1, -2, ..."""

Whole = Any


class CellFrame(NamedTuple):
    """Cells: lower corner [m], inverse width [1/m], counts; reach_sq: square of the radius of the lists [m2]."""

    x: float
    y: float
    z: float
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
    """Cells of width ``reach`` [m] over a box; in 2D one layer of them."""
    counts = [max(1, floor((b - a) / reach) + 1) for a, b in zip(lower, upper, strict=True)]
    if dimensions == 2:
        counts[2] = 1
    x, y, z = (float(v) for v in lower)
    return CellFrame(x, y, z, 1.0 / reach, counts[0], counts[1], counts[2], reach * reach)


class Neighbours:
    """Sorting scratch and lists; grown by doubling, kept otherwise."""

    def __init__(self, frame: CellFrame) -> None:
        self.frame = frame
        self.first = np.zeros(frame.nx * frame.ny * frame.nz + 1, dtype=np.int64)
        self.order = np.zeros(0, dtype=np.int32)
        self.spec = NeighbourSpec(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32))

    def reserve(self, points: int) -> None:
        """Room for so many points."""
        if points > len(self.order):
            self.order = np.zeros(points, dtype=np.int32)
            self.spec = self.spec._replace(
                starts=np.zeros(points + 1, dtype=np.int64), middle=np.zeros(points, dtype=np.int64)
            )

    def sort(self, place: Array, count: int) -> Whole:
        """Order (count,) that sorts points by cell, equal cells in their present order."""
        # the cells are kept in ``middle`` until the lists are made
        share(_find_cells, count, 4 * count, self.frame, place, self.spec.middle)
        _sort_cells(self.spec.middle, count, self.first, self.order)
        return self.order[:count]

    def build(self, place: Array, label: Whole, count: int) -> None:
        """Lists of points that are in order."""
        args = (self.frame, place, label, self.first)
        share(_count_neighbours, count, 64 * count, *args, self.spec.middle, self.spec.starts)
        total = int(_sum_counts(self.spec.starts, self.spec.middle, count))
        if total > len(self.spec.listed):
            self.spec = self.spec._replace(listed=np.zeros(total + total // 32, dtype=np.int32))
        share(_fill_neighbours, count, 64 * count, *args, self.spec)


@njit(cache=True, nogil=True)
def _cell_of(frame, x, y, z):  # type: ignore[no-untyped-def]
    """Column, row and layer of a place; what lies outside belongs to the cells at the edge."""
    i = min(max(int(floor((x - frame.x) * frame.inv_width)), 0), frame.nx - 1)
    j = min(max(int(floor((y - frame.y) * frame.inv_width)), 0), frame.ny - 1)
    k = min(max(int(floor((z - frame.z) * frame.inv_width)), 0), frame.nz - 1)
    return i, j, k


@njit(cache=True, nogil=True)
def _find_cells(frame, place, out_cell, start, stop):  # type: ignore[no-untyped-def]
    for n in range(start, stop):
        i, j, k = _cell_of(frame, place[n, 0], place[n, 1], place[n, 2])
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
def _count_neighbours(frame, place, label, first, out_middle, out_starts, start, stop):  # type: ignore[no-untyped-def]
    """Number of fluid neighbours to out_middle[i], of all neighbours to out_starts[i + 1]."""
    for i in range(start, stop):
        fluid, boundary = 0, 0
        if label[i] != GHOST:
            x, y, z = place[i, 0], place[i, 1], place[i, 2]
            ci, cj, ck = _cell_of(frame, x, y, z)
            lo, hi = max(ci - 1, 0), min(ci + 1, frame.nx - 1)
            for k in range(max(ck - 1, 0), min(ck + 2, frame.nz)):
                for j in range(max(cj - 1, 0), min(cj + 2, frame.ny)):
                    row = (k * frame.ny + j) * frame.nx
                    for n in range(first[row + lo], first[row + hi + 1]):
                        dx, dy, dz = place[n, 0] - x, place[n, 1] - y, place[n, 2] - z
                        near = dx * dx + dy * dy + dz * dz < frame.reach_sq
                        wet = label[n] >= 0 or label[n] == GHOST
                        fluid += near and wet
                        boundary += near and not wet
            if label[i] >= 0:
                fluid -= 1
            else:
                boundary = 0
        out_middle[i] = fluid
        out_starts[i + 1] = fluid + boundary


@njit(cache=True, nogil=True)
def _sum_counts(starts, middle, count):  # type: ignore[no-untyped-def]
    """Counts to positions in the list; its length."""
    starts[0] = 0
    for i in range(count):
        starts[i + 1] += starts[i]
        middle[i] += starts[i]
    return starts[count]


@njit(cache=True, nogil=True)
def _fill_neighbours(frame, place, label, first, lists, start, stop):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        fluid, boundary, end = lists.starts[i], lists.middle[i], lists.starts[i + 1]
        if fluid == end:
            continue
        x, y, z = place[i, 0], place[i, 1], place[i, 2]
        ci, cj, ck = _cell_of(frame, x, y, z)
        lo, hi = max(ci - 1, 0), min(ci + 1, frame.nx - 1)
        for k in range(max(ck - 1, 0), min(ck + 2, frame.nz)):
            for j in range(max(cj - 1, 0), min(cj + 2, frame.ny)):
                row = (k * frame.ny + j) * frame.nx
                for n in range(first[row + lo], first[row + hi + 1]):
                    dx, dy, dz = place[n, 0] - x, place[n, 1] - y, place[n, 2] - z
                    if dx * dx + dy * dy + dz * dz < frame.reach_sq and n != i:
                        if label[n] >= 0 or label[n] == GHOST:
                            lists.listed[fluid] = n
                            fluid += 1
                        elif boundary < end:
                            lists.listed[boundary] = n
                            boundary += 1
