"""Fast marching (Sethian 1999, SIAM Review 41): distances outwards from the cells about the surface.

Cells wait in buckets of their distance instead of a heap (the untidy queue of Yatziv, Bartesaghi and Sapiro 2006,
J. Comput. Phys. 212). All cells of a bucket become known at once and only then reach their neighbours, each of which is
solved for once: the result does not depend on any order, and mirrored surfaces have mirrored distances. What cells of
one bucket would tell each other is lost, at most WIDTH^2 / 2 cells.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from undertow.grid import GHOSTS, strides
from undertow.grid.jitting import borrowing

FAR, TRIAL, KNOWN = 0, 1, 2
SIDE = 4
"""The bit of a status that says liquid."""
STATE = 7
"""The bits of side and state; those above them count the rounds, so that a round solves for a cell once."""
ROUND = 8
WIDTH = 0.02
"""Width of a bucket [cells]."""
NOWHERE, LAST = np.int32(-1), np.int32(-2)
"""In the place of the next cell: in no bucket, and the last of one."""
NONE, ONE = np.int64(0), np.int64(1)
"""Of a type of their own: a plain number would have its helper compiled once more."""


def bucket_count(limit: float) -> int:
    """How many buckets hold distances up to ``limit`` [cells]."""
    return int(limit / WIDTH) + 1


@borrowing
def is_seen(hidden, p, stride, bit, way):  # type: ignore[no-untyped-def]
    """Whether cell p sees the next lower (way -1) or higher (1) one along the axis of a stride and a bit.

    hidden: bits of the axes along which a cell does not see the one below it; empty where nothing hides anything.
    """
    return hidden.size == 0 or hidden[p if way < 0 else p + stride] & bit == 0


@borrowing
def _upwind(d, status, hidden, p, stride, bit, low, high):  # type: ignore[no-untyped-def]
    """Weight c and offset t of one axis in sum c (d - t)^2 = 1 [cells]; weight 0 if no neighbour in sight is known.

    low, high: how many cells lie between p and the ends of the domain. Where two known values lie in line, the nearer
    one smaller, the difference is of second order: (3 d - 4 d1 + d2) / 2 = 3/2 (d - (4 d1 - d2) / 3).
    """
    known = KNOWN | (status[p] & SIDE)
    q, s = p, p + stride
    if low > 0 and status[p - stride] == known and is_seen(hidden, p, stride, bit, -1):
        q = p - stride
    if high > 0 and status[s] == known and (q == p or d[s] < d[q]) and is_seen(hidden, p, stride, bit, 1):
        q = s
    if q == p:
        return 0.0, 0.0
    d1 = d[q]
    way = 1 if q > p else -1
    r = q + (q - p)
    if (low > 1 if q < p else high > 1) and status[r] == known and d[r] <= d1 and is_seen(hidden, q, stride, bit, way):
        return 2.25, (4.0 * d1 - d[r]) / 3.0
    return 1.0, d1


@borrowing
def _solve_eikonal(cx, tx, cy, ty, cz, tz):  # type: ignore[no-untyped-def]
    """Largest root of sum c (d - t)^2 = 1, leaving out the axis with the largest t while there is none above it."""
    while True:
        a = cx + cy + cz
        b = cx * tx + cy * ty + cz * tz
        top = max(tx if cx > 0.0 else -1.0, ty if cy > 0.0 else -1.0, tz if cz > 0.0 else -1.0)
        root = b * b - a * (cx * tx * tx + cy * ty * ty + cz * tz * tz - 1.0)
        if root >= 0.0:
            d = (b + np.sqrt(root)) / a
            if d >= top:
                return d
        if cx > 0.0 and tx == top:
            cx = 0.0
        elif cy > 0.0 and ty == top:
            cy = 0.0
        else:
            cz = 0.0


@borrowing
def _move_to_bucket(first, before, after, q, bucket, buckets):  # type: ignore[no-untyped-def]
    """Take the cell q out of the bucket it is in, if any, and put it first into another if there is that one.

    after: the next cell of the bucket, or LAST; before: the cell before it, or -1 - bucket for the first one.
    """
    if after[q] != NOWHERE:
        b, a = before[q], after[q]
        if b < 0:
            first[-1 - b] = a
        else:
            after[b] = a
        if a >= 0:
            before[a] = b
        after[q] = NOWHERE
    if bucket < buckets:
        head = first[bucket]
        if head >= 0:
            before[head] = q
        after[q] = head
        before[q] = -1 - bucket
        first[bucket] = q


@borrowing
def _reach_neighbours(  # type: ignore[no-untyped-def]
    spec, d, status, hidden, first, before, after, p, bucket, buckets, count
):
    """Solve for the neighbours in sight of the known cell p in the round ``count`` and put them into their buckets."""
    side = status[p] & SIDE
    _, row, plane = strides(spec)
    k = p // plane - GHOSTS
    j = (p % plane) // row - GHOSTS
    i = p % row - GHOSTS
    done = TRIAL | side | ROUND * count
    for axis in range(spec.dimensions):
        at = i if axis == 0 else (j if axis == 1 else k)
        n = spec.nx if axis == 0 else (spec.ny if axis == 1 else spec.nz)
        stride = ONE if axis == 0 else (row if axis == 1 else plane)
        for end in range(2):
            if (end == 0 and at == 0) or (end == 1 and at == n - 1):
                continue
            if not is_seen(hidden, p, stride, 1 << axis, 2 * end - 1):
                continue
            q = p + (2 * end - 1) * stride
            found = status[q] & STATE
            # a cell of this round has seen p; one that is hardly further than p learns nothing from it
            if found == TRIAL | side:
                if status[q] == done or d[q] <= d[p] + WIDTH:
                    continue
            elif found != FAR | side:
                continue
            qi = i + (2 * end - 1 if axis == 0 else 0)
            qj = j + (2 * end - 1 if axis == 1 else 0)
            qk = k + (2 * end - 1 if axis == 2 else 0)
            cx, tx = _upwind(d, status, hidden, q, ONE, 1, qi, spec.nx - 1 - qi)
            cy, ty = _upwind(d, status, hidden, q, row, 2, qj, spec.ny - 1 - qj)
            cz, tz = 0.0, 0.0
            if spec.dimensions == 3:
                cz, tz = _upwind(d, status, hidden, q, plane, 4, qk, spec.nz - 1 - qk)
            value = _solve_eikonal(cx, tx, cy, ty, cz, tz)
            status[q] = done
            if found == FAR | side:
                after[q] = NOWHERE
            elif value >= d[q]:
                continue
            d[q] = value
            _move_to_bucket(first, before, after, q, max(bucket, np.int64(value / WIDTH)), buckets)


@njit(cache=True, nogil=True)
def _march_sides(spec, d, status, hidden, firsts, buckets, before, after, start, stop):  # type: ignore[no-untyped-def]
    """Fast marching in the air (0) and in the liquid (1); a side reads and writes cells of its own alone.

    status & SIDE is the side; d is given where status is KNOWN: those values are final. firsts: per side
    the first cell of each bucket. buckets: how many are asked for. hidden: as in ``is_seen``.
    """
    _, row, plane = strides(spec)
    for number in range(start, stop):
        known = KNOWN | SIDE * number
        first = firsts[number]
        first[:] = LAST
        for k in range(GHOSTS, GHOSTS + spec.nz):
            for j in range(GHOSTS, GHOSTS + spec.ny):
                begin = k * plane + j * row
                for p in range(begin + GHOSTS, begin + GHOSTS + spec.nx):
                    if status[p] == known:
                        _reach_neighbours(spec, d, status, hidden, first, before, after, p, NONE, buckets, NONE)
        count = NONE
        for bucket in range(buckets):
            while first[bucket] != LAST:
                chain = np.int64(first[bucket])
                first[bucket] = LAST
                count += 1
                cell = chain
                while cell >= 0:
                    status[cell] = known
                    cell = np.int64(after[cell])
                cell = chain
                while cell >= 0:
                    _reach_neighbours(spec, d, status, hidden, first, before, after, cell, bucket, buckets, count)
                    cell = np.int64(after[cell])
