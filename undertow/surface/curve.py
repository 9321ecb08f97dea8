"""Curves that are the interface in 2D: slivers, curvature, remeshing, and what lies of them in each cell.

Schroeder 2011, 6.3.1 and 6.3.2. With l_{k+1/2} = |x_{k+1} - x_k| and l_k the mean of the two lengths at a point,

    (kappa n)_k = ((x_{k+1} - x_k) / l_{k+1/2} - (x_k - x_{k-1}) / l_{k-1/2}) / l_k                            (6.34)

which is a second difference: of first order where neighbours are of different length, with errors of points divided by
the square of the shorter length. Therefore segments below SHORTEST cells are merged with the shorter of their
neighbours. The liquid is on the left of a curve.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from undertow.grid import GHOSTS, Array, Grid
from undertow.surface.interface import Interface

SHORTEST = 0.1
"""Segments shorter than this are merged with a neighbour [cells]."""
LEAST, MOST = 0.5, 1.5
"""Lengths beyond which the segments of a front are merged and split [cells]."""
FEWEST = 4
"""Points of a closed curve; with fewer it has vanished."""


class Curve(NamedTuple):
    """Points (n, 3) [m], z = 0, in the order of the curve; before, after (n,): neighbours, -1 where a curve ends."""

    point: Array
    before: np.ndarray
    after: np.ndarray

    @property
    def tail(self) -> np.ndarray:
        """First points (m,) of the segments, which lead to ``after`` of them."""
        return np.flatnonzero(self.after >= 0)

    def ways(self) -> Array:
        """x_{k+1} - x_k (m, 3) of the segments [m]."""
        tail = self.tail
        return np.asarray(self.point[self.after[tail]] - self.point[tail])

    def lengths(self) -> Array:
        """(m,) [m]"""
        return np.asarray(np.linalg.norm(self.ways(), axis=1))

    def point_lengths(self) -> Array:
        """l_k (n,) [m]: half of the segments at each point."""
        tail, half = self.tail, 0.5 * self.lengths()
        total = np.zeros(len(self.point))
        total[tail] += half
        total[self.after[tail]] += half
        return total

    def tension(self) -> Array:
        """l_k (kappa n)_k (n, 3): the pull of both segments, per tension (6.35); 0 at ends."""
        tail = self.tail
        unit = self.ways() / np.maximum(self.lengths(), 1e-300)[:, None]
        force = np.zeros_like(self.point)
        force[tail] += unit
        force[self.after[tail]] -= unit
        force[(self.before < 0) | (self.after < 0)] = 0.0
        return force

    def curvature(self) -> Array:
        """(kappa n)_k (n, 3) [1/m], (6.34); towards the inside of the bend, 0 at ends."""
        return np.asarray(self.tension() / np.maximum(self.point_lengths(), 1e-300)[:, None])


def make_curve(interface: Interface) -> Curve:
    """The segments of a 2D interface as curves."""
    count = len(interface.point)
    after, before = np.full((2, count), -1)
    after[interface.simplex[:, 0]], before[interface.simplex[:, 1]] = interface.simplex[:, 1], interface.simplex[:, 0]
    return _in_order(interface.point, before, after, np.ones(count, dtype=bool))


def _in_order(point: Array, before: np.ndarray, after: np.ndarray, kept: np.ndarray) -> Curve:
    """The points that are kept in the order of their curves."""
    chains: list[list[int]] = []
    closed: list[bool] = []
    seen = ~kept
    follow = after.tolist()
    for start in [*np.flatnonzero(kept & (before < 0)).tolist(), *np.flatnonzero(kept & (before >= 0)).tolist()]:
        at, chain = start, []
        while at >= 0 and not seen[at]:
            seen[at] = True
            chain.append(at)
            at = follow[at]
        if len(chain) > 1:
            chains.append(chain)
            closed.append(at == start)
    sizes = np.array([len(chain) for chain in chains], dtype=np.int64)
    first = np.concatenate([[0], np.cumsum(sizes)])
    index = np.arange(int(first[-1]))
    new_after, new_before = index + 1, index - 1
    for at, is_closed in enumerate(closed):
        start, stop = first[at], first[at + 1]
        new_after[stop - 1], new_before[start] = (start, stop - 1) if is_closed else (-1, -1)
    order = np.array([at for chain in chains for at in chain], dtype=np.int64)
    return Curve(point[order], new_before, new_after)


def merge_short(curve: Curve, shortest: float) -> Curve:
    """Segments shorter than that [m] merged with the shorter of their neighbours, until there are none (6.3.1).

    A closed curve keeps at least ``FEWEST`` points, the ends of an open one stay.
    """
    before, after, kept = curve.before.copy(), curve.after.copy(), np.ones(len(curve.point), dtype=bool)
    length = np.full(len(curve.point), np.inf)
    length[curve.tail] = curve.lengths()
    loop, count = _loops(curve)
    for tail in np.flatnonzero(length < shortest).tolist():
        while kept[tail] and after[tail] >= 0 and length[tail] < shortest and count[loop[tail]] > FEWEST:
            head = after[tail]
            behind = length[before[tail]] if before[tail] >= 0 else np.inf
            ahead = length[head] if after[head] >= 0 else np.inf
            if np.isinf(behind) and np.isinf(ahead):
                break
            gone = tail if behind < ahead else head
            low, high = before[gone], after[gone]
            kept[gone] = False
            after[low], before[high] = high, low
            length[low] = float(np.linalg.norm(curve.point[high] - curve.point[low]))
            count[loop[tail]] -= 1
            tail = int(low)
    return _in_order(curve.point, before, after, kept)


def _loops(curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    """Number (n,) of the curve that each point belongs to, and how many points it has: of open ones a large number."""
    begins = curve.before != np.arange(len(curve.point)) - 1
    begins[:1] = True
    loop = np.cumsum(begins) - 1
    count = np.bincount(loop)
    count[curve.before[begins] < 0] = 2**40
    return loop, count


def split_long(curve: Curve, longest: float) -> Curve:
    """Segments longer than that [m] get a point -1/16, 9/16, 9/16, -1/16 of the four about it (6.3.1)."""
    tail = curve.tail
    tail = tail[curve.lengths() > longest]
    if not len(tail):
        return curve
    head = curve.after[tail]
    behind = np.where(curve.before[tail] >= 0, curve.before[tail], tail)
    ahead = np.where(curve.after[head] >= 0, curve.after[head], head)
    x = curve.point
    even = (curve.before[tail] < 0) | (curve.after[head] < 0)
    middle = (9.0 * (x[tail] + x[head]) - x[behind] - x[ahead]) / 16.0
    middle = np.where(even[:, None], 0.5 * (x[tail] + x[head]), middle)
    new = len(x) + np.arange(len(tail))
    before, after = (np.concatenate([a, np.zeros(len(new), dtype=np.int64)]) for a in (curve.before, curve.after))
    after[new], before[new] = head, tail
    after[tail], before[head] = new, new
    point = np.concatenate([x, middle])
    return _in_order(point, before, after, np.ones(len(point), dtype=bool))


def remesh(curve: Curve, dx: float) -> Curve:
    """Segments between LEAST and MOST cells (6.3.1)."""
    curve = merge_short(curve, LEAST * dx)
    while np.any(curve.lengths() > MOST * dx):
        curve = split_long(curve, MOST * dx)
    return curve


class Pieces(NamedTuple):
    """Parts of segments in cells: segment (m,), number among ``Curve.tail``; alpha, beta (m,): where a part begins and
    ends, 0 at the first point of the segment and 1 at the other; cell (m,): flat index."""

    segment: np.ndarray
    alpha: Array
    beta: Array
    cell: np.ndarray


def cut_at_cells(curve: Curve, grid: Grid) -> Pieces:
    """All segments, each cut where it crosses lines of the grid."""
    tail = curve.tail
    lower = np.array(grid.lower[:2])
    start = (curve.point[tail, :2] - lower) / grid.dx
    way = curve.ways()[:, :2] / grid.dx
    segment, at = [np.arange(len(tail))] * 2, [np.zeros(len(tail)), np.ones(len(tail))]
    for axis in (0, 1):
        a, b = start[:, axis], start[:, axis] + way[:, axis]
        first, last = np.ceil(np.minimum(a, b)), np.floor(np.maximum(a, b))
        count = np.maximum(last - first + 1.0, 0.0).astype(np.int64)
        owner = np.repeat(np.arange(len(tail)), count)
        line = first[owner] + np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        moves = way[owner, axis] != 0.0
        owner, line = owner[moves], line[moves]
        segment.append(owner)
        at.append(np.clip((line - a[owner]) / way[owner, axis], 0.0, 1.0))
    segments, places = np.concatenate(segment), np.concatenate(at)
    order = np.lexsort((places, segments))
    segments, places = segments[order], places[order]
    same = (segments[1:] == segments[:-1]) & (places[1:] > places[:-1])
    owner, alpha, beta = segments[:-1][same], places[:-1][same], places[1:][same]
    middle = np.floor(start[owner] + 0.5 * (alpha + beta)[:, None] * way[owner]).astype(np.int64) + GHOSTS
    cell = np.ravel_multi_index((np.full(len(owner), GHOSTS), middle[:, 1], middle[:, 0]), grid.padded, mode="clip")
    return Pieces(owner, alpha, beta, np.asarray(cell))
