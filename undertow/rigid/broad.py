"""Broad phase: which bodies are near enough to touch.

Bodies of ordinary size are sorted into the cells of a uniform grid, cells at least as wide as they are, and compared
with those of the same and the neighbouring cells: O(n log n + pairs). The few that are larger (planes, floors) are
compared with all. The pairs come out sorted, a < b, so that they do not depend on how they were found.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, floor, log
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from undertow.grid import Array
from undertow.grid.jitting import helper, inlined
from undertow.rigid.bodies import DYNAMIC, BodySpec, rotate
from undertow.rigid.shapes import BOUND, FACE, HALF, KIND, MIDDLE, PLANE, CollisionShapes

_LARGE = 2.0
"""Bodies wider than this many times the (geometric) mean width are compared with all."""

_BITS = 21
"""Bits per axis of a cell number; cells so far out are folded into the outermost."""


class _Work(NamedTuple):
    """Scratch: middle (n, 3) and half (n, 3) of the boxes; box (n, 6): both, of the small bodies in the order of their
    cells; row (4,): where rows of cells above start; cells and order of the small bodies, merge buffers."""

    middle: Array
    half: Array
    box: Array
    row: Any
    key: Any
    order: Any
    spare_key: Any
    spare_order: Any


class Pairs:
    """Pairs of bodies near each other, a < b, sorted; buffers are reused from call to call."""

    def __init__(self) -> None:
        self.count = 0
        self._key = np.zeros(0, dtype=np.int64)
        self._spare = np.zeros((2, 0), dtype=np.int64)
        self._a = np.zeros(0, dtype=np.int64)
        self._b = np.zeros(0, dtype=np.int64)
        self._excluded = np.zeros(0, dtype=np.int64)
        self._work = _make_work(0)

    @property
    def a(self) -> Any:
        """First bodies (count,)."""
        return self._a[: self.count]

    @property
    def b(self) -> Any:
        """Second bodies (count,)."""
        return self._b[: self.count]

    def exclude(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Never report these pairs of bodies (those held by a joint, say); replaces what was excluded before."""
        keys = {(min(a, b) << 32) + max(a, b) for a, b in pairs}
        self._excluded = np.array(sorted(keys), dtype=np.int64)

    def find(
        self, shapes: CollisionShapes, bodies: BodySpec, x: Array, q: Array, reach: Array, groups: Any = None
    ) -> int:
        """Pairs whose boxes, grown by reach (n,) [m] each, overlap at poses x (n, 3), q (n, 4); returns their number.

        Pairs without a dynamic body are left out, and those whose groups do not collide. groups (n, 2): bit of the
        group of a body, and bits of the groups it collides with; None: all collide.
        """
        n = len(bodies.kind)
        if not (len(x) == len(q) == len(reach) == n):
            raise ValueError(f"x {x.shape}, q {q.shape}, reach {np.shape(reach)}: need {n} rows, one per body")
        if len(self._work.key) < n:
            self._work = _make_work(max(2 * len(self._work.key), n))
        spec = shapes.arrays()
        if groups is None:
            groups = np.full((n, 2), -1, dtype=np.int64)
        rules = (bodies.kind, groups, self._excluded)
        while True:
            found = _find_pairs(spec, rules, bodies.shape, x, q, reach, self._work, self._key)
            if found <= len(self._key):
                break
            room = max(2 * len(self._key), found, 64)
            self._key, self._a, self._b = (np.zeros(room, dtype=np.int64) for _ in range(3))
            self._spare = np.zeros((2, room), dtype=np.int64)
        _sort_pairs(self._key, found, self._spare, self._a, self._b)
        self.count = int(found)
        return self.count


def _make_work(n: int) -> _Work:
    whole = [np.zeros(n, dtype=np.int64) for _ in range(4)]
    return _Work(np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 6)), np.zeros(4, dtype=np.int64), *whole)


@njit(cache=True)
def _find_pairs(spec, rules, shape, x, q, reach, work, out_key):  # type: ignore[no-untyped-def]
    """Keys a 2^32 + b of the pairs, unsorted; their number, which may be more than there is room for."""
    n = len(shape)
    _measure_boxes(spec, shape, x, q, reach, work)
    width = _cell_width(n, work)
    small = _number_cells(n, width, work)
    merge_sort(work.key, work.order, small, work.spare_key, work.spare_order)
    found = np.int64(0)
    # order: the small bodies by cell, then the large ones; boxes along memory
    for i in range(small):
        for c in range(3):
            work.box[i, c] = work.middle[work.order[i], c]
            work.box[i, 3 + c] = work.half[work.order[i], c]
    for row in range(4):
        work.row[row] = 0
    for i in range(small):
        cell = work.key[i]
        # this cell and the next in x; then the rows of cells above, three cells of each (x is the lowest digit), which
        # start the farther on the farther on this cell is
        for row in range(5):
            if row == 0:
                j, last = i + 1, cell + 1
            else:
                dy, dz = (1, 0) if row == 1 else (row - 3, 1)
                last = cell + (dz << (2 * _BITS)) + (dy << _BITS) + 1
                j = work.row[row - 1]
                while j < small and work.key[j] < last - 2:
                    j += 1
                work.row[row - 1] = j
            while j < small and work.key[j] <= last:
                if _boxes_overlap(work.box, i, j):
                    found = _add_pair(rules, work.order[i], work.order[j], found, out_key)
                j += 1
    for i in range(small, n):
        a = work.order[i]
        plane = spec.index[shape[a], KIND] == PLANE
        for j in range(i):
            b = work.order[j]
            if plane or spec.index[shape[b], KIND] == PLANE:
                near = _reaches_plane(spec, shape, x, q, b if plane else a, a if plane else b, work)
            else:
                near = _overlap(work.middle, work.half, a, b)
            if near:
                found = _add_pair(rules, a, b, found, out_key)
    return found


@helper
def _measure_boxes(spec, shape, x, q, reach, work):  # type: ignore[no-untyped-def]
    """World boxes: the turned box of the shape or its sphere, whichever is narrower, grown by reach."""
    for b in range(len(shape)):
        s = shape[b]
        mx, my, mz = rotate(q[b], spec.number[s, MIDDLE], spec.number[s, MIDDLE + 1], spec.number[s, MIDDLE + 2])
        work.middle[b, 0], work.middle[b, 1], work.middle[b, 2] = x[b, 0] + mx, x[b, 1] + my, x[b, 2] + mz
        if spec.index[s, KIND] == PLANE:
            for i in range(3):
                work.half[b, i] = np.inf
            continue
        hx, hy, hz = spec.number[s, HALF], spec.number[s, HALF + 1], spec.number[s, HALF + 2]
        ax, ay, az = rotate(q[b], 1.0, 0.0, 0.0)
        bx, by, bz = rotate(q[b], 0.0, 1.0, 0.0)
        cx, cy, cz = rotate(q[b], 0.0, 0.0, 1.0)
        work.half[b, 0] = min(abs(ax) * hx + abs(bx) * hy + abs(cx) * hz, spec.number[s, BOUND]) + reach[b]
        work.half[b, 1] = min(abs(ay) * hx + abs(by) * hy + abs(cy) * hz, spec.number[s, BOUND]) + reach[b]
        work.half[b, 2] = min(abs(az) * hx + abs(bz) * hy + abs(cz) * hz, spec.number[s, BOUND]) + reach[b]


@helper
def _widest(half, b):  # type: ignore[no-untyped-def]
    return 2.0 * max(half[b, 0], half[b, 1], half[b, 2])


@helper
def _cell_width(n, work):  # type: ignore[no-untyped-def]
    """Width of the widest of the small bodies, and a hair, so that two that just meet are in neighbouring cells."""
    total, count = 0.0, 0
    for b in range(n):
        width = _widest(work.half, b)
        if 0.0 < width < np.inf:
            total += log(width)
            count += 1
    if count == 0:
        return 1.0
    most, widest = _LARGE * exp(total / count), 0.0
    for b in range(n):
        width = _widest(work.half, b)
        if widest < width <= most:
            widest = width
    return (1.0 + 1e-9) * widest


@helper
def _number_cells(n, width, work):  # type: ignore[no-untyped-def]
    """Cell numbers of the small bodies, which come first in ``order``; how many there are."""
    small, large = 0, n
    top = (1 << _BITS) - 3
    for b in range(n):
        if _widest(work.half, b) > width:
            large -= 1
            work.order[large] = b
            continue
        key = 0
        for i in range(3):
            cell = floor(work.middle[b, 2 - i] / width) + (1 << (_BITS - 1))
            key = (key << _BITS) + int(min(max(cell, 2.0), top))
        work.key[small] = key
        work.order[small] = b
        small += 1
    return small


@helper
def _first_at_least(key, count, value):  # type: ignore[no-untyped-def]
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if key[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _boxes_overlap(box, i, j):  # type: ignore[no-untyped-def]
    return (
        abs(box[i, 0] - box[j, 0]) <= box[i, 3] + box[j, 3]
        and abs(box[i, 1] - box[j, 1]) <= box[i, 4] + box[j, 4]
        and abs(box[i, 2] - box[j, 2]) <= box[i, 5] + box[j, 5]
    )


@helper
def _overlap(middle, half, a, b):  # type: ignore[no-untyped-def]
    return (
        abs(middle[a, 0] - middle[b, 0]) <= half[a, 0] + half[b, 0]
        and abs(middle[a, 1] - middle[b, 1]) <= half[a, 1] + half[b, 1]
        and abs(middle[a, 2] - middle[b, 2]) <= half[a, 2] + half[b, 2]
    )


@helper
def _reaches_plane(spec, shape, x, q, a, plane, work):  # type: ignore[no-untyped-def]
    """True if the box of body a reaches below a plane; two planes never touch."""
    if spec.index[shape[a], KIND] == PLANE:
        return False
    f = spec.index[shape[plane], FACE]
    nx, ny, nz = rotate(q[plane], spec.planes[f, 0], spec.planes[f, 1], spec.planes[f, 2])
    height = nx * (work.middle[a, 0] - x[plane, 0]) + ny * (work.middle[a, 1] - x[plane, 1])
    height += nz * (work.middle[a, 2] - x[plane, 2]) - spec.planes[f, 3]
    return height <= abs(nx) * work.half[a, 0] + abs(ny) * work.half[a, 1] + abs(nz) * work.half[a, 2]


@helper
def _add_pair(rules, a, b, found, out_key):  # type: ignore[no-untyped-def]
    """The pair unless neither body is dynamic, their groups do not collide or it is excluded; counted only where there
    is no room."""
    kind, groups, excluded = rules
    if kind[a] != DYNAMIC and kind[b] != DYNAMIC:
        return found
    if groups[a, 0] & groups[b, 1] == 0 or groups[b, 0] & groups[a, 1] == 0:
        return found
    key = (min(a, b) << 32) + max(a, b)
    if len(excluded) > 0:
        place = _first_at_least(excluded, len(excluded), key)
        if place < len(excluded) and excluded[place] == key:
            return found
    if found < len(out_key):
        out_key[found] = key
    return found + 1


@helper
def merge_sort(key, order, count, spare_key, spare_order):  # type: ignore[no-untyped-def]
    """Sort key[:count] in place, stable, and ``order`` along with it."""
    width = 1
    while width < count:
        for low in range(0, count, 2 * width):
            middle, high = min(low + width, count), min(low + 2 * width, count)
            i, j = low, middle
            for k in range(low, high):
                if i < middle and (j >= high or key[i] <= key[j]):
                    spare_key[k], spare_order[k] = key[i], order[i]
                    i += 1
                else:
                    spare_key[k], spare_order[k] = key[j], order[j]
                    j += 1
        for k in range(count):
            key[k], order[k] = spare_key[k], spare_order[k]
        width *= 2


@njit(cache=True)
def _sort_pairs(key, count, spare, out_a, out_b):  # type: ignore[no-untyped-def]
    merge_sort(key, out_b, count, spare[0], spare[1])
    for k in range(count):
        out_a[k] = key[k] >> 32
        out_b[k] = key[k] & 0xFFFFFFFF
