"""Open (fluid) fractions of faces and cells from signed distances at the nodes.

The Neumann condition on a solid is second order when the divergence of a cell is taken over the OPEN part of its
faces (Ng, Min and Gibou 2009, J. Comput. Phys. 228, eq. 2; Schroeder 2011, section 6.3.6). Here a face is divided into
four triangles about its centre, a cell into twenty-four tetrahedra about its centre and the centres of its faces, the
value at a centre being the mean of its corners; phi is linear on each piece and the open part of a piece is exact. So

- a plane is measured exactly, a smooth surface with an error O(dx^2);
- faces and cells see the same surface: the open part of a cell is a polyhedron whose sides are the open parts of its
  faces, hence the area vector of the wall in a cell is (lower open area - upper open area) along each axis;
- nothing prefers a direction: mirrored or permuted axes give mirrored or permuted fractions;
- in 2D (phi the same on both z planes) a face measures the open part of its edge, a cell the open part of its square.

A node with phi <= 0 is solid. Callers set |phi| < 1e-9 dx to zero, so that a wall that runs along faces closes them
completely instead of leaving slits of 1e-16; nothing else is rounded, slivers are the solver's business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from undertow.grid import GHOSTS, Array, Grid, GridSpec, share
from undertow.grid.jitting import borrowing

SNAP = 1e-9
"""Distances below SNAP dx count as on the surface."""

Box6 = tuple[int, int, int, int, int, int]

CORNERS = np.array([(0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5)], dtype=np.int64)
"""Corners of the six faces of a cell, in order around the face; corner = x + 2 y + 4 z."""


def measure_fractions(grid: Grid, phi_n: Array, area_f: Array, volume_c: Array) -> None:
    """Fill open fractions of faces (3, z, y, x) and cells (z, y, x) from node distances; ghosts repeat the edge."""
    for name, array, shape in (
        ("phi_n", phi_n, grid.padded),
        ("area_f", area_f, (3, *grid.padded)),
        ("volume_c", volume_c, grid.padded),
    ):
        if array.shape != shape:
            raise ValueError(f"{name}: shape {array.shape}, must be {shape}")
    pz, py, px = grid.padded
    share_boxes(_measure_fractions, grid.spec, find_boxes([(0, pz, 0, py, 0, px)]), phi_n, area_f, volume_c)


_HEAVY = 4
"""Cells of a stencil whose work takes as long as a cell of a box: small boxes are worth several threads."""

_PIECES = 4
"""Pieces per thread: some rows of boxes are full of walls and some are not."""


class Boxes(NamedTuple):
    """Boxes of cells as one range of rows, box by box; a cell of several belongs to the first."""

    ends: np.ndarray  # (n, 6): k0, k1, j0, j1, i0, i1
    first: np.ndarray  # (n + 1,) number of the first row of each
    met: np.ndarray  # (p,) numbers of the boxes before it that each one meets, box by box
    met_first: np.ndarray  # (n + 1,) where those of each begin


def find_boxes(ends: Sequence[Box6]) -> Boxes:
    """Boxes (k0, k1, j0, j1, i0, i1) of padded indices, none of them empty."""
    table = np.array(ends, dtype=np.int64).reshape(-1, 6)
    rows = (table[:, 1] - table[:, 0]) * (table[:, 3] - table[:, 2])
    met, met_first = find_meetings(table, table, earlier=True)
    return Boxes(table, np.concatenate([[0], np.cumsum(rows)]), met, met_first)


def find_meetings(boxes: np.ndarray, others: np.ndarray, earlier: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the others (m, 6) that each of the boxes (n, 6) meets, box by box, and where those of each begin
    (n + 1,); ``earlier``: only those with a smaller number."""
    meets = np.ones((len(boxes), len(others)), dtype=bool)
    for low in (0, 2, 4):
        meets &= boxes[:, None, low] < others[None, :, low + 1]
        meets &= others[None, :, low] < boxes[:, None, low + 1]
    if earlier:
        meets = np.tril(meets, -1)
    return np.nonzero(meets)[1], np.concatenate([[0], np.cumsum(meets.sum(axis=1))])


def share_boxes(kernel: Callable[..., None], spec: GridSpec, boxes: Boxes, *args: Any) -> None:
    """kernel(spec, boxes, ...) over the rows of boxes, by several threads."""
    ends = boxes.ends
    cells = int(np.prod(ends[:, 1::2] - ends[:, ::2], axis=1).sum())
    share(kernel, int(boxes.first[-1]), _HEAVY * cells, spec, boxes, *args, pieces=_PIECES)


@borrowing
def boxes_of_row(boxes, numbers, first, last, k, j, out_chosen):  # type: ignore[no-untyped-def]
    """Which of the boxes numbers[first:last] row (k, j) meets; how many they are."""
    count = np.int64(0)
    for n in range(first, last):
        b = numbers[n]
        if boxes[b, 0] <= k and k < boxes[b, 1] and boxes[b, 2] <= j and j < boxes[b, 3]:
            out_chosen[count] = b
            count += 1
    return count


@borrowing
def is_in_boxes(boxes, chosen, count, i):  # type: ignore[no-untyped-def]
    """Whether one of the chosen boxes of a row holds column i."""
    inside = False
    for c in range(count):
        inside |= boxes[chosen[c], 4] <= i and i < boxes[chosen[c], 5]
    return inside


@borrowing
def _triangle_fraction(a, b, c):  # type: ignore[no-untyped-def]
    """Part of a triangle where the linear function with corner values a, b, c is positive."""
    positive = (a > 0.0) + (b > 0.0) + (c > 0.0)
    if positive == 0:
        return 0.0
    if positive == 3:
        return 1.0
    # bring the corner that is alone to the front
    alone = positive == 1
    if (b > 0.0) == alone and (a > 0.0) != alone:
        a, b = b, a
    elif (c > 0.0) == alone and (a > 0.0) != alone:
        a, c = c, a
    corner = a * a / ((a - b) * (a - c))
    return corner if alone else 1.0 - corner


@borrowing
def _tetrahedron_fraction(a, b, c, d):  # type: ignore[no-untyped-def]
    """Part of a tetrahedron where the linear function with corner values a, b, c, d is positive."""
    if a < b:
        a, b = b, a
    if c < d:
        c, d = d, c
    if a < c:
        a, c = c, a
    if b < d:
        b, d = d, b
    if b < c:
        b, c = c, b
    if a <= 0.0:
        return 0.0
    if d > 0.0:
        return 1.0
    if b <= 0.0:
        return a * a * a / ((a - b) * (a - c) * (a - d))
    if c > 0.0:
        return 1.0 - d * d * d / ((d - a) * (d - b) * (d - c))
    ac = a / (a - c)
    ad = a / (a - d)
    bc = b / (b - c)
    bd = b / (b - d)
    return ac * ad + ac * bd * (1.0 - ad) + (1.0 - ac) * bc * bd


@borrowing
def _square_fraction(a, b, c, d):  # type: ignore[no-untyped-def]
    """Open part of a face with corner values a, b, c, d in order around it."""
    if a > 0.0 and b > 0.0 and c > 0.0 and d > 0.0:
        return 1.0
    if a <= 0.0 and b <= 0.0 and c <= 0.0 and d <= 0.0:
        return 0.0
    m = 0.25 * ((a + c) + (b + d))
    low = _triangle_fraction(a, b, m) + _triangle_fraction(c, d, m)
    high = _triangle_fraction(b, c, m) + _triangle_fraction(d, a, m)
    return 0.25 * (low + high)


@borrowing
def _cube_fraction(phi, k, j, i):  # type: ignore[no-untyped-def]
    """Open part of the cell whose lower node is (k, j, i)."""
    positive = 0
    total = 0.0
    for q in range(8):
        value = phi[k + (q >> 2), j + ((q >> 1) & 1), i + (q & 1)]
        positive += value > 0.0
        total += value
    if positive == 8:
        return 1.0
    if positive == 0:
        return 0.0
    centre = 0.125 * total
    volume = 0.0
    for face in range(6):
        a = phi[k + (CORNERS[face, 0] >> 2), j + ((CORNERS[face, 0] >> 1) & 1), i + (CORNERS[face, 0] & 1)]
        b = phi[k + (CORNERS[face, 1] >> 2), j + ((CORNERS[face, 1] >> 1) & 1), i + (CORNERS[face, 1] & 1)]
        c = phi[k + (CORNERS[face, 2] >> 2), j + ((CORNERS[face, 2] >> 1) & 1), i + (CORNERS[face, 2] & 1)]
        d = phi[k + (CORNERS[face, 3] >> 2), j + ((CORNERS[face, 3] >> 1) & 1), i + (CORNERS[face, 3] & 1)]
        m = 0.25 * ((a + c) + (b + d))
        volume += _tetrahedron_fraction(a, b, m, centre)
        volume += _tetrahedron_fraction(b, c, m, centre)
        volume += _tetrahedron_fraction(c, d, m, centre)
        volume += _tetrahedron_fraction(d, a, m, centre)
    return volume / 24.0


@njit(cache=True, nogil=True)
def _measure_fractions(spec, boxes, phi_n, out_area_f, out_volume_c, start, stop):  # type: ignore[no-untyped-def]
    """Fractions of the cells of boxes and of their lower faces; ghosts read the edge's nodes."""
    left = np.empty(len(boxes.ends), dtype=np.int64)
    kh = GHOSTS + spec.nz - 1
    jh = GHOSTS + spec.ny - 1
    ih = GHOSTS + spec.nx - 1
    n = 0
    for row in range(start, stop):
        while row >= boxes.first[n + 1]:
            n += 1
        j0, j1, i0, i1 = boxes.ends[n, 2], boxes.ends[n, 3], boxes.ends[n, 4], boxes.ends[n, 5]
        k = boxes.ends[n, 0] + (row - boxes.first[n]) // (j1 - j0)
        j = j0 + (row - boxes.first[n]) % (j1 - j0)
        kc = min(max(k, GHOSTS), kh)
        jc = min(max(j, GHOSTS), jh)
        kf = min(max(k, GHOSTS), kh + 1)
        jf = min(max(j, GHOSTS), jh + 1)
        behind = boxes_of_row(boxes.ends, boxes.met, boxes.met_first[n], boxes.met_first[n + 1], k, j, left)
        for i in range(i0, i1):
            if is_in_boxes(boxes.ends, left, behind, i):
                continue
            ic = min(max(i, GHOSTS), ih)
            f = min(max(i, GHOSTS), ih + 1)
            out_area_f[0, k, j, i] = _square_fraction(
                phi_n[kc, jc, f], phi_n[kc, jc + 1, f], phi_n[kc + 1, jc + 1, f], phi_n[kc + 1, jc, f]
            )
            out_area_f[1, k, j, i] = _square_fraction(
                phi_n[kc, jf, ic], phi_n[kc, jf, ic + 1], phi_n[kc + 1, jf, ic + 1], phi_n[kc + 1, jf, ic]
            )
            out_area_f[2, k, j, i] = _square_fraction(
                phi_n[kf, jc, ic], phi_n[kf, jc, ic + 1], phi_n[kf, jc + 1, ic + 1], phi_n[kf, jc + 1, ic]
            )
            out_volume_c[k, j, i] = _cube_fraction(phi_n, kc, jc, ic)


@njit(cache=True)
def _triangle_moment(a, b, c, ax, ay, bx, by, cx, cy):  # type: ignore[no-untyped-def]
    """First moments, per area, of the part of a triangle where the linear function a, b, c is positive."""
    positive = (a > 0.0) + (b > 0.0) + (c > 0.0)
    if positive == 0:
        return 0.0, 0.0
    whole_x, whole_y = (ax + bx + cx) / 3.0, (ay + by + cy) / 3.0
    if positive == 3:
        return whole_x, whole_y
    alone = positive == 1
    # bring the corner that is alone to the front
    if (b > 0.0) == alone and (a > 0.0) != alone:
        a, b = b, a
        ax, ay, bx, by = bx, by, ax, ay
    elif (c > 0.0) == alone and (a > 0.0) != alone:
        a, c = c, a
        ax, ay, cx, cy = cx, cy, ax, ay
    s, t = a / (a - b), a / (a - c)
    part = s * t
    x = part * (ax + (s * (bx - ax) + t * (cx - ax)) / 3.0)
    y = part * (ay + (s * (by - ay) + t * (cy - ay)) / 3.0)
    if alone:
        return x, y
    return whole_x - x, whole_y - y


@njit(cache=True)
def _square_moment(a, b, c, d):  # type: ignore[no-untyped-def]
    """First moments about its centre of the open part of a unit square, corners in order from (-, -) by (+, -)."""
    if a > 0.0 and b > 0.0 and c > 0.0 and d > 0.0 or a <= 0.0 and b <= 0.0 and c <= 0.0 and d <= 0.0:
        return 0.0, 0.0
    m = 0.25 * ((a + c) + (b + d))
    x, y = 0.0, 0.0
    for side in range(4):
        p = a if side == 0 else (b if side == 1 else (c if side == 2 else d))
        q = b if side == 0 else (c if side == 1 else (d if side == 2 else a))
        px = -0.5 if side == 0 or side == 3 else 0.5
        py = -0.5 if side <= 1 else 0.5
        qx = 0.5 if side <= 1 else -0.5
        qy = 0.5 if side == 1 or side == 2 else -0.5
        dx, dy = _triangle_moment(p, q, m, px, py, qx, qy, 0.0, 0.0)
        x += 0.25 * dx
        y += 0.25 * dy
    return x, y


@njit(cache=True)
def face_moment(phi, axis, k, j, i):  # type: ignore[no-untyped-def]
    """First moments along the two directions of a face (the lower axis first) of its open part, in cells."""
    if axis == 0:
        return _square_moment(phi[k, j, i], phi[k, j + 1, i], phi[k + 1, j + 1, i], phi[k + 1, j, i])
    if axis == 1:
        return _square_moment(phi[k, j, i], phi[k, j, i + 1], phi[k + 1, j, i + 1], phi[k + 1, j, i])
    return _square_moment(phi[k, j, i], phi[k, j, i + 1], phi[k, j + 1, i + 1], phi[k, j + 1, i])
