"""Preconditioners of an operator with a term of low rank.

    A = A0 + F N F^T,      F (size, m) with few columns,  N (m, m) symmetric positive semidefinite, perhaps singular

With B for A0 the inverse of A is approximated by the formula of Sherman, Morrison and Woodbury,

    B - (B F) C (B F)^T,      C = (I + N S)^-1 N,      S = F^T B F,

which is bounded however large N is. B F is stored: one application of B per column.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from undertow.grid import Array
from undertow.linalg.krylov import Preconditioner
from undertow.linalg.vectors import VectorSpace, used_ranges


class Columns(Protocol):
    """F, as products."""

    @property
    def count(self) -> int:
        """m"""

    def gather(self, x: Array) -> Array:
        """F^T x (m,)"""

    def add(self, factor: float, amount: Array, out: Array) -> None:
        """out += factor F amount"""


class Woodbury:
    """The formula of the head of the module for fields of one shape; base: B, set up by its owner.

    planar: the fields are those of a 2D grid.
    """

    def __init__(self, base: Preconditioner, shape: tuple[int, ...], planar: bool) -> None:
        self.base, self.shape = base, shape
        self.correction = np.zeros((0, 0))
        """C"""
        self.added = np.zeros((0, 0))
        """S"""
        self._space = VectorSpace(int(np.prod(shape)), used_ranges(shape, planar=planar))
        self._stored = np.zeros((0, *shape))
        self._f: Columns | None = None

    def setup(self, f: Columns, inverse: Array) -> None:
        """B F, S and C for the columns f and N of now."""
        self._f, m = f, f.count
        if m > len(self._stored):
            self._stored = np.zeros((m, *self.shape))
        unit, found, source = np.eye(m), np.zeros((m, m)), np.zeros(self.shape)
        for column in range(m):
            source[...] = 0.0
            f.add(1.0, unit[column], source)
            self.base.apply(source, self._stored[column])
            found[:, column] = f.gather(self._stored[column])
        self.added = 0.5 * (found + found.T)
        self.correct(inverse)

    def correct(self, inverse: Array) -> None:
        """C for another N, B and F being what they were."""
        found = np.linalg.solve(np.eye(len(inverse)) + inverse @ self.added, inverse)
        self.correction = np.asarray(0.5 * (found + found.T))

    def apply(self, x: Array, out: Array) -> None:
        """out = B x - (B F) C F^T B x"""
        self.base.apply(x, out)
        if self._f is not None and self._f.count:
            self._subtract(self.correction @ self._f.gather(out), out)

    def start(self, given: Array, z: Array) -> Array:
        """z -= B F c with c = C (given + F^T z), which is returned: what N (given + F^T z) is with the z that is left,
        without the cancellation."""
        assert self._f is not None
        change = np.asarray(self.correction @ (self._f.gather(z) + given))
        self._subtract(change, z)
        return change

    def shown(self, of: np.ndarray) -> Array:
        """The block of C of some columns."""
        return np.asarray(self.correction[np.ix_(of, of)])

    def _subtract(self, amount: Array, out: Array) -> None:
        flat = out.reshape(-1)
        for value, column in zip(amount, self._stored, strict=False):
            self._space.combine(-float(value), column.reshape(-1), 1.0, flat)
