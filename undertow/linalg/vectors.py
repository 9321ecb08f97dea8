"""Sums and updates of flat float64 vectors: the only places where the solvers reduce.

Sums are taken over chunks of fixed length and the partial sums are added in a fixed order, so the bits do not depend on
the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from undertow.grid import GHOSTS, Array, share

CHUNK = 4096
"""Entries per partial sum."""

_ENTRIES_PER_CELL = 8
"""Entries of a vector whose update takes as long as a cell of a stencil: short vectors stay with one thread."""


@njit(cache=True)
def _dot_chunk(x, y, start, stop):  # type: ignore[no-untyped-def]
    # four accumulators: independent additions, so the loop is not bound by the latency of one addition
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = start + (stop - start) // 4 * 4
    for i in range(start, whole, 4):
        a += x[i] * y[i]
        b += x[i + 1] * y[i + 1]
        c += x[i + 2] * y[i + 2]
        d += x[i + 3] * y[i + 3]
    for i in range(whole, stop):
        a += x[i] * y[i]
    return (a + b) + (c + d)


@njit(cache=True, nogil=True)
def _dot_chunks(chunks, x, y, out_partial, start, stop):  # type: ignore[no-untyped-def]
    for c in range(start, stop):
        out_partial[c] = _dot_chunk(x, y, chunks[c, 0], chunks[c, 1])


@njit(cache=True, nogil=True)
def _combine_chunks(chunks, a, x, b, y, start, stop):  # type: ignore[no-untyped-def]
    for c in range(start, stop):
        if a == 0.0 and b == 0.0:
            for i in range(chunks[c, 0], chunks[c, 1]):
                y[i] = 0.0
        elif b == 0.0:
            for i in range(chunks[c, 0], chunks[c, 1]):
                y[i] = a * x[i]
        else:
            for i in range(chunks[c, 0], chunks[c, 1]):
                y[i] = a * x[i] + b * y[i]


@njit(cache=True, nogil=True)
def _subtract_chunks(chunks, alpha, q, r, out_partial, start, stop):  # type: ignore[no-untyped-def]
    for c in range(start, stop):
        for i in range(chunks[c, 0], chunks[c, 1]):
            r[i] -= alpha * q[i]
        out_partial[c] = _dot_chunk(r, r, chunks[c, 0], chunks[c, 1])


@njit(cache=True, nogil=True)
def _turn_chunks(chunks, alpha, z, beta, p, x, start, stop):  # type: ignore[no-untyped-def]
    for c in range(start, stop):
        for i in range(chunks[c, 0], chunks[c, 1]):
            x[i] += alpha * p[i]
            p[i] = z[i] + beta * p[i]


@njit(cache=True, nogil=True)
def _weigh_chunks(chunks, x, weight, out_partial, start, stop):  # type: ignore[no-untyped-def]
    for c in range(start, stop):
        part = 0.0
        for i in range(chunks[c, 0], chunks[c, 1]):
            part += weight[i] * x[i] * x[i]
        out_partial[c] = part


_PLANE_COMPONENTS = {3: (0, 1), 9: (0, 1, 3, 4)}
"""Components of vectors and of velocity gradients that can be nonzero in a plane."""


def used_ranges(shape: Sequence[int], start: int = 0, planar: bool = False) -> list[tuple[int, int]]:
    """Parts of a flattened array that can be nonzero: of padded fields (three axes or more) the planes less z ghosts.

    planar: the field of a 2D grid, of which one plane of seven is used and no component along z.
    """
    size = int(np.prod(shape))
    if len(shape) < 3:
        return [(start, start + size)]
    field, plane = int(np.prod(shape[-3:])), int(np.prod(shape[-2:]))
    low, high = plane * GHOSTS, plane * (shape[-3] - GHOSTS + (0 if planar else 1))
    count = size // field
    used = _PLANE_COMPONENTS.get(count, range(count)) if planar else range(count)
    return [(start + first * field + low, start + first * field + high) for first in used]


def used_planes(field: np.ndarray) -> np.ndarray:
    """The same parts as a view, whatever the dimensions."""
    return field if field.ndim < 3 else field[..., GHOSTS : field.shape[-3] - GHOSTS + 1, :, :]


@njit(cache=True, nogil=True)
def _multiply(x, y, out, start, stop):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        out[i] = x[i] * y[i]


@njit(cache=True, nogil=True)
def _add_inertia(inv_mass, v, force, out, start, stop):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        out[i] = v[i] / inv_mass[i] + force[i] if inv_mass[i] > 0.0 else 0.0


def multiply(x: Array, y: Array, out: Array) -> None:
    """out = x y, entry by entry; flat vectors."""
    share(_multiply, x.size, x.size // _ENTRIES_PER_CELL, x, y, out)


def invert(x: Array, out: Array) -> None:
    """out = 1 / x where x is positive, else 0; flat vectors."""
    out[...] = 0.0
    np.divide(1.0, x, out=out, where=x > 0)


def add_inertia(inv_mass: Array, v: Array, force: Array, out: Array) -> None:
    """out = v / inv_mass + force where the velocity is free (inv_mass > 0), else 0; flat vectors."""
    share(_add_inertia, v.size, v.size // _ENTRIES_PER_CELL, inv_mass, v, force, out)


class VectorSpace:
    """Sums and updates of flat vectors of one length; owns the scratch of the partial sums.

    ranges: the parts [start, stop) that can be nonzero, the only ones touched (a 2D field is padded to seven planes,
    six of them zero); None means everything.
    """

    def __init__(self, size: int, ranges: Sequence[tuple[int, int]] | None = None) -> None:
        self.size = size
        self.ranges = list(ranges) if ranges is not None else [(0, size)]
        self.cut(np.array(self.ranges, dtype=np.int64).reshape(-1, 2))

    def cut(self, ranges: np.ndarray) -> None:
        """Pass over all but ``ranges`` (n, 2) from now on, parts of those given first, in order and apart."""
        counts = -(-(ranges[:, 1] - ranges[:, 0]) // CHUNK)
        first = np.cumsum(counts) - counts
        low = np.repeat(ranges[:, 0] - CHUNK * first, counts) + CHUNK * np.arange(int(counts.sum()))
        self.chunks = np.column_stack([low, np.minimum(low + CHUNK, np.repeat(ranges[:, 1], counts))])
        self._work = int((ranges[:, 1] - ranges[:, 0]).sum()) // _ENTRIES_PER_CELL
        self._partial = np.zeros(len(self.chunks))

    def clear(self, x: Array) -> None:
        """x <- 0"""
        share(_combine_chunks, len(self.chunks), self._work, self.chunks, 0.0, x, 0.0, x)

    def dot(self, x: Array, y: Array) -> float:
        """x . y"""
        share(_dot_chunks, len(self.chunks), self._work, self.chunks, x, y, self._partial)
        return float(self._partial.sum())

    def combine(self, a: float, x: Array, b: float, y: Array) -> None:
        """y <- a x + b y (whatever y held if b is 0)"""
        share(_combine_chunks, len(self.chunks), self._work, self.chunks, float(a), x, float(b), y)

    def subtract(self, alpha: float, q: Array, r: Array) -> float:
        """r <- r - alpha q, returns r . r of the new r; one pass over memory."""
        share(_subtract_chunks, len(self.chunks), self._work, self.chunks, float(alpha), q, r, self._partial)
        return float(self._partial.sum())

    def turn(self, alpha: float, z: Array, beta: float, p: Array, x: Array) -> None:
        """x <- x + alpha p, then p <- z + beta p; one pass over memory."""
        share(_turn_chunks, len(self.chunks), self._work, self.chunks, float(alpha), z, float(beta), p, x)

    def weighted_square(self, x: Array, weight: Array) -> float:
        """sum of weight x^2"""
        share(_weigh_chunks, len(self.chunks), self._work, self.chunks, x, weight, self._partial)
        return float(self._partial.sum())
