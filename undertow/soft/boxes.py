"""A tree of boxes over moving things, and the pairs of boxes that overlap.

The tree is complete and binary: node i has the children 2 i and 2 i + 1, the leaves come last. Things are put in order
once, by splitting their longest extent in halves; a step only fits the boxes anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from undertow.grid import Array, share
from undertow.grid.jitting import inlined

_DEPTH = 64
"""Most nodes of the tree that wait to be looked at."""

_GROUP = 4
"""Boxes that are looked for together."""


@njit(cache=True, nogil=True)
def _fit_boxes(order, boxes, leaves, out_tree):  # type: ignore[no-untyped-def]
    """out_tree (2 leaves, 6) from the boxes (m, 6) of the things, lower corners first."""
    for k in range(leaves):
        for i in range(3):
            if k < len(order):
                out_tree[leaves + k, i], out_tree[leaves + k, 3 + i] = boxes[order[k], i], boxes[order[k], 3 + i]
            else:
                out_tree[leaves + k, i], out_tree[leaves + k, 3 + i] = np.inf, -np.inf
    for k in range(leaves - 1, 0, -1):
        for i in range(3):
            out_tree[k, i] = min(out_tree[2 * k, i], out_tree[2 * k + 1, i])
            out_tree[k, 3 + i] = max(out_tree[2 * k, 3 + i], out_tree[2 * k + 1, 3 + i])


@inlined
def _apart(a, i, b, j):  # type: ignore[no-untyped-def]
    """Whether boxes a[i] and b[j] are apart."""
    return (
        a[i, 0] > b[j, 3] or a[i, 1] > b[j, 4] or a[i, 2] > b[j, 5]
        or a[i, 3] < b[j, 0] or a[i, 4] < b[j, 1] or a[i, 5] < b[j, 2]
    )  # fmt: skip


@inlined
def _joined(a, i, b, j):  # type: ignore[no-untyped-def]
    """Whether a[i] and b[j] have a node in common."""
    for k in range(a.shape[1]):
        for l in range(b.shape[1]):  # noqa: E741
            if a[i, k] == b[j, l]:
                return True
    return False


@njit(cache=True, nogil=True)
def _find_overlaps(tree, order, boxes, number, asked, own, things, chunks, room, out_count, out_pairs, start, stop):  # type: ignore[no-untyped-def]
    """Pairs (box q, thing) that meet, of the boxes of chunks start ... stop: how many, and the first ``room`` of them
    from room times the chunk on.

    Boxes that follow each other are near each other: ``_GROUP`` of them go down the tree together. number (n,): the
    thing that a box is, -1: none; asked (m,): whether a thing is a box, and its pairs are given once. own (n, k),
    things (m, l): nodes; pairs with a common one are left out.
    """
    leaves, groups = len(tree) // 2, (len(boxes) + _GROUP - 1) // _GROUP
    stack, hull = np.zeros(_DEPTH, dtype=np.int64), np.zeros((1, 6))
    for chunk in range(start, stop):
        count = 0
        for group in range(groups * chunk // chunks, groups * (chunk + 1) // chunks):
            first, last = group * _GROUP, min(len(boxes), group * _GROUP + _GROUP)
            for i in range(3):
                hull[0, i], hull[0, 3 + i] = boxes[first, i], boxes[first, 3 + i]
                for q in range(first + 1, last):
                    hull[0, i] = min(hull[0, i], boxes[q, i])
                    hull[0, 3 + i] = max(hull[0, 3 + i], boxes[q, 3 + i])
            top = 0
            stack[0] = 1
            while top >= 0:
                k = stack[top]
                top -= 1
                if _apart(tree, k, hull, 0):
                    continue
                if k < leaves:
                    stack[top + 1], stack[top + 2] = 2 * k + 1, 2 * k
                    top += 2
                    continue
                if k - leaves >= len(order):
                    # a box that is no number meets leaves without a thing too
                    continue
                thing = order[k - leaves]
                for q in range(first, last):
                    if _apart(tree, k, boxes, q) or (asked[thing] and thing <= number[q]):
                        continue
                    if _joined(own, q, things, thing):
                        continue
                    if count < room:
                        out_pairs[room * chunk + count, 0], out_pairs[room * chunk + count, 1] = q, thing
                    count += 1
        out_count[chunk] = count


_CHUNKS = 64
"""Parts of the boxes, whose pairs follow each other: their number does not depend on that of the threads."""


class BoxTree:
    """Boxes of ``things`` things, ordered by where they are at first."""

    def __init__(self, centres: Array) -> None:
        """centres (m, 3) [m]."""
        m = len(centres)
        self.order = _split(centres)
        self.leaves = 1 << max(0, (m - 1).bit_length())
        self._tree = np.zeros((2 * self.leaves, 6))
        self._pairs = np.zeros((4 * m, 2), dtype=np.int64)

    def fit(self, boxes: Array) -> None:
        """Take the boxes (m, 6) of now."""
        _fit_boxes(self.order, boxes, self.leaves, self._tree)

    def overlaps(self, boxes: Array, number: Any = None, nodes: tuple[Any, Any] | None = None) -> Any:
        """Pairs (k, 2) of a box of (n, 6) and a thing that meet.

        number (n,): which things the boxes are; of two of these a pair is given once, the lower number first. nodes:
        those of the boxes (n, i) and of the things (m, j); pairs with a common node are left out.
        """
        n, m = len(boxes), len(self.order)
        if n == 0:
            return np.zeros((0, 2), dtype=np.int64)
        asked = np.zeros(m, dtype=bool)
        if number is None:
            number = np.full(n, -1)
        else:
            asked[number] = True
        own, things = (np.zeros((n, 0), dtype=np.int64), np.zeros((m, 0), dtype=np.int64)) if nodes is None else nodes
        count = np.zeros(_CHUNKS, dtype=np.int64)
        while True:
            room = len(self._pairs) // _CHUNKS
            args = number, asked, own, things, _CHUNKS, room, count, self._pairs
            share(_find_overlaps, _CHUNKS, 256 * n, self._tree, self.order, boxes, *args)
            if count.max() <= room:
                break
            # memory that is new costs more than what is written to it: kept from step to step
            self._pairs = np.zeros((2 * _CHUNKS * int(count.max()), 2), dtype=np.int64)
        return np.concatenate([self._pairs[room * c : room * c + k] for c, k in enumerate(count)])


def _split(centres: Array) -> Any:
    """The order of a balanced tree: halves along the longest extent, again and again; all parts of a level at once."""
    order, lengths = np.arange(len(centres)), np.array([len(centres)])
    while lengths.max(initial=0) > 1:
        first = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        part, here = np.repeat(np.arange(len(lengths)), lengths), centres[order]
        extent = np.maximum.reduceat(here, first) - np.minimum.reduceat(here, first)
        along = here[np.arange(len(order)), extent.argmax(axis=1)[part]]
        order = order[np.lexsort((along, part))]
        # the left half fills a complete tree
        left = np.where(lengths > 1, 1 << np.maximum(np.frexp(lengths - 1)[1] - 1, 0), lengths)
        halves = np.stack([left, lengths - left], axis=1).ravel()
        lengths = halves[halves > 0]
    return order
