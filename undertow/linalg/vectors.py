"""Sums and updates of flat float64 vectors: the only places where the solvers reduce.

Sums are taken over chunks of fixed length and the partial sums are added in a fixed order, so the bits do not depend on
the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit, prange

from undertow.grid import GHOSTS, Array

CHUNK = 4096
"""Entries per partial sum."""

_SERIAL = 32768
"""Shorter vectors are handled by one thread (same chunks, same bits): starting more costs more than the sum."""


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


@njit(cache=True)
def _combine_chunk(a, x, b, y, start, stop):  # type: ignore[no-untyped-def]
    if b == 0.0:
        for i in range(start, stop):
            y[i] = a * x[i]
    else:
        for i in range(start, stop):
            y[i] = a * x[i] + b * y[i]


@njit(cache=True)
def _step_chunk(alpha, p, q, x, r, start, stop):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        x[i] += alpha * p[i]
        r[i] -= alpha * q[i]
    return _dot_chunk(r, r, start, stop)


@njit(cache=True)
def _dot_serial(chunks, x, y):  # type: ignore[no-untyped-def]
    total = 0.0
    for c in range(chunks.shape[0]):
        total += _dot_chunk(x, y, chunks[c, 0], chunks[c, 1])
    return total


@njit(parallel=True, cache=True)
def _dot_parallel(chunks, x, y, out_partial):  # type: ignore[no-untyped-def]
    for c in prange(chunks.shape[0]):
        out_partial[c] = _dot_chunk(x, y, chunks[c, 0], chunks[c, 1])
    total = 0.0
    for c in range(chunks.shape[0]):
        total += out_partial[c]
    return total


@njit(cache=True)
def _combine_serial(chunks, a, x, b, y):  # type: ignore[no-untyped-def]
    for c in range(chunks.shape[0]):
        _combine_chunk(a, x, b, y, chunks[c, 0], chunks[c, 1])


@njit(parallel=True, cache=True)
def _combine_parallel(chunks, a, x, b, y):  # type: ignore[no-untyped-def]
    for c in prange(chunks.shape[0]):
        _combine_chunk(a, x, b, y, chunks[c, 0], chunks[c, 1])


@njit(cache=True)
def _step_serial(chunks, alpha, p, q, x, r):  # type: ignore[no-untyped-def]
    total = 0.0
    for c in range(chunks.shape[0]):
        total += _step_chunk(alpha, p, q, x, r, chunks[c, 0], chunks[c, 1])
    return total


@njit(parallel=True, cache=True)
def _step_parallel(chunks, alpha, p, q, x, r, out_partial):  # type: ignore[no-untyped-def]
    for c in prange(chunks.shape[0]):
        out_partial[c] = _step_chunk(alpha, p, q, x, r, chunks[c, 0], chunks[c, 1])
    total = 0.0
    for c in range(chunks.shape[0]):
        total += out_partial[c]
    return total


@njit(cache=True)
def _weighted_square(chunks, x, weight):  # type: ignore[no-untyped-def]
    total = 0.0
    for c in range(chunks.shape[0]):
        part = 0.0
        for i in range(chunks[c, 0], chunks[c, 1]):
            part += weight[i] * x[i] * x[i]
        total += part
    return total


def used_ranges(shape: Sequence[int], start: int = 0) -> list[tuple[int, int]]:
    """Parts of a flattened array that can be nonzero: of padded fields (three axes or more) the planes less z ghosts.

    A 2D field is padded to seven planes, so that this is most of the work saved.
    """
    size = int(np.prod(shape))
    if len(shape) < 3:
        return [(start, start + size)]
    field, plane = int(np.prod(shape[-3:])), int(np.prod(shape[-2:]))
    low, high = plane * GHOSTS, plane * (shape[-3] - GHOSTS + 1)
    return [(start + first + low, start + first + high) for first in range(0, size, field)]


def used_planes(field: np.ndarray) -> np.ndarray:
    """The same parts as a view."""
    return field if field.ndim < 3 else field[..., GHOSTS : field.shape[-3] - GHOSTS + 1, :, :]


@njit(parallel=True, cache=True)
def multiply(x, y, out):  # type: ignore[no-untyped-def]
    """out = x y, entry by entry; flat vectors."""
    for i in prange(x.size):
        out[i] = x[i] * y[i]


@njit(parallel=True, cache=True)
def add_inertia(inv_mass, v, force, out):  # type: ignore[no-untyped-def]
    """out = v / inv_mass + force where the velocity is free (inv_mass > 0), else 0; flat vectors."""
    for i in prange(v.size):
        out[i] = v[i] / inv_mass[i] + force[i] if inv_mass[i] > 0.0 else 0.0


class VectorSpace:
    """Sums and updates of flat vectors of one length; owns the scratch of the partial sums.

    ranges: the parts [start, stop) that can be nonzero, the only ones touched (a 2D field is padded to seven planes,
    six of them zero); None means everything.
    """

    def __init__(self, size: int, ranges: Sequence[tuple[int, int]] | None = None) -> None:
        self.size = size
        self.chunks = np.array(
            [
                (low, min(low + CHUNK, stop))
                for start, stop in (ranges if ranges is not None else [(0, size)])
                for low in range(start, stop, CHUNK)
            ],
            dtype=np.int64,
        ).reshape(-1, 2)
        self.serial = int((self.chunks[:, 1] - self.chunks[:, 0]).sum()) < _SERIAL
        self._partial = np.zeros(len(self.chunks))

    def dot(self, x: Array, y: Array) -> float:
        """x . y"""
        if self.serial:
            return float(_dot_serial(self.chunks, x, y))
        return float(_dot_parallel(self.chunks, x, y, self._partial))

    def combine(self, a: float, x: Array, b: float, y: Array) -> None:
        """y <- a x + b y (whatever y held if b is 0)"""
        (_combine_serial if self.serial else _combine_parallel)(self.chunks, float(a), x, float(b), y)

    def step(self, alpha: float, p: Array, q: Array, x: Array, r: Array) -> float:
        """x <- x + alpha p, r <- r - alpha q, returns r . r of the new r; one pass over memory."""
        if self.serial:
            return float(_step_serial(self.chunks, float(alpha), p, q, x, r))
        return float(_step_parallel(self.chunks, float(alpha), p, q, x, r, self._partial))

    def weighted_square(self, x: Array, weight: Array) -> float:
        """sum of weight x^2"""
        return float(_weighted_square(self.chunks, x, weight))
