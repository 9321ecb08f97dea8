"""A tree of boxes over moving things, and the pairs of boxes that overlap.

The tree is complete and binary: node i has the children 2 i and 2 i + 1, the leaves come last. Things are put in order
once, by splitting their longest extent in halves; a step only fits the boxes anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from undertow.grid import Array, share

_DEPTH = 64
"""Most nodes of the tree that wait to be looked at."""


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


@njit(cache=True, nogil=True)
def _find_overlaps(tree, order, boxes, later, starts, out_count, out_pairs, start, stop):  # type: ignore[no-untyped-def]
    """Things whose boxes meet box q of (n, 6): how many, and, where out_pairs is long enough, which: (q, thing) from
    starts[q] on. later: only things of a number above q."""
    leaves = len(tree) // 2
    stack = np.zeros(_DEPTH, dtype=np.int64)
    for q in range(start, stop):
        count, top = 0, 0
        stack[0] = 1
        while top >= 0:
            k = stack[top]
            top -= 1
            if (
                tree[k, 0] > boxes[q, 3] or tree[k, 1] > boxes[q, 4] or tree[k, 2] > boxes[q, 5]
                or tree[k, 3] < boxes[q, 0] or tree[k, 4] < boxes[q, 1] or tree[k, 5] < boxes[q, 2]
            ):  # fmt: skip
                continue
            if k < leaves:
                stack[top + 1], stack[top + 2] = 2 * k + 1, 2 * k
                top += 2
                continue
            thing = order[k - leaves]
            if later and thing <= q:
                continue
            if starts[q] + count < len(out_pairs):
                out_pairs[starts[q] + count, 0], out_pairs[starts[q] + count, 1] = q, thing
            count += 1
        out_count[q] = count


_ROOM = 16
"""Things that a box has room for at first."""


class BoxTree:
    """Boxes of ``things`` things, ordered by where they are at first."""

    def __init__(self, centres: Array) -> None:
        """centres (m, 3) [m]."""
        m = len(centres)
        self.order = _split(centres)
        self.leaves = 1 << max(0, (m - 1).bit_length())
        self._tree = np.zeros((2 * self.leaves, 6))

    def fit(self, boxes: Array) -> None:
        """Take the boxes (m, 6) of now."""
        _fit_boxes(self.order, boxes, self.leaves, self._tree)

    def overlaps(self, boxes: Array, later: bool = False) -> Any:
        """Pairs (k, 2) of a box of (n, 6) and a thing that meet, in the order of the boxes.

        later: only things of a higher number than the box, for the pairs within one set.
        """
        n = len(boxes)
        count, starts = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        # most boxes meet few things: room for these, and a second time for all only where one meets more
        starts[...] = _ROOM * np.arange(n)
        pairs = np.zeros((_ROOM * n, 2), dtype=np.int64)
        share(_find_overlaps, n, 256 * n, self._tree, self.order, boxes, later, starts, count, pairs)
        if n == 0 or count.max() <= _ROOM:
            return np.ascontiguousarray(pairs[(np.arange(_ROOM) < count[:, None]).reshape(-1)])
        starts[0], starts[1:] = 0, np.cumsum(count[:-1])
        pairs = np.zeros((int(count.sum()), 2), dtype=np.int64)
        share(_find_overlaps, n, 256 * n, self._tree, self.order, boxes, later, starts, count, pairs)
        return pairs


def _split(centres: Array) -> Any:
    """The order of a balanced tree: halves along the longest extent, again and again."""
    order = np.arange(len(centres))
    parts = [(0, len(centres))]
    while parts:
        first, stop = parts.pop()
        if stop - first < 2:
            continue
        # the left half fills a complete tree
        size = 1 << (stop - first - 1).bit_length()
        middle = first + size // 2
        here = order[first:stop]
        axis = int(np.ptp(centres[here], axis=0).argmax())
        order[first:stop] = here[np.argsort(centres[here, axis], kind="stable")]
        parts += [(first, middle), (middle, stop)]
    return order
