"""Which elements touch a range of nodes, and where their blocks are in a sparse matrix.

Elements are in the order of their lowest nodes. A thread that owns the nodes start ... stop goes through

    elements begin[start] ... end[stop], less those with high < start

and adds to its own nodes alone, always in the order of the elements: no two threads write one entry, and the sums do
not depend on the number of threads. Elements across the border of two threads are evaluated by both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Spread(NamedTuple):
    """low, high (m,): lowest and highest node of every element; begin, end (n + 1,): first element that has a node of
    at least i, and number of elements with a node below i; slot (m, k, k): place of the block of each pair of nodes in
    the matrix."""

    low: Any
    high: Any
    begin: Any
    end: Any
    slot: Any


def by_lowest_node(nodes: Any) -> Any:
    """The order (m,) of elements (m, k) by their lowest nodes."""
    return np.argsort(nodes.min(axis=1), kind="stable")


class Pattern:
    """The places of a sparse matrix of blocks that couples the nodes of every element: rows (n + 1,), columns
    (blocks,), diagonal (n,): the place of each node's own block, which is always there."""

    def __init__(self, elements: Sequence[Any], count: int) -> None:
        keys = [np.arange(count) * (count + 1)]
        keys += [(n[:, :, None] * count + n[:, None, :]).reshape(-1) for n in elements]
        unique, place = np.unique(np.concatenate(keys), return_inverse=True)
        self._keys, self._count = unique, count
        # half the bytes: products with the matrix wait for memory
        self.columns = (unique % max(count, 1)).astype(np.int32)
        self.rows = np.searchsorted(unique, np.arange(count + 1) * count)
        self.diagonal = np.ascontiguousarray(place[:count])
        self.spreads: list[Spread] = []
        first = count
        for n in elements:
            m, k = n.shape
            slot = np.ascontiguousarray(place[first : first + m * k * k].reshape(m, k, k))
            first += m * k * k
            low, high = np.ascontiguousarray(n.min(axis=1)), np.ascontiguousarray(n.max(axis=1))
            reached = np.maximum.accumulate(high)
            nodes = np.arange(count + 1)
            self.spreads.append(Spread(low, high, np.searchsorted(reached, nodes), np.searchsorted(low, nodes), slot))

    def find(self, rows: Any, columns: Any) -> Any:
        """Places (k,) of the blocks of pairs of nodes (k,) that elements couple."""
        return np.searchsorted(self._keys, rows * self._count + columns)
