"""Masses with rows that do not let velocities change: the inverse of a mass as constraints allow it.

    N_G = N - N G^T (G N G^T + eps)^-1 G N

is the answer to a force of velocities q with the inverse mass N under rows G q = const: the rows are eliminated before
anything else is solved for. It is the inverse of N^-1 + G^T G / eps. With eps small against G N G^T, row by row, that
is the constraint itself; redundant rows (the corners of a box, joints in a loop) and rows that move nothing are no
trouble. Sets of rows may be held one after another, the later ones as those before allow them;
a row that depends on earlier sets alone belongs to them, since rounding is all that they leave of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from undertow.grid import Array

COMPLIANCE = 1e-11
"""eps of a row, relative to its own effective inverse mass."""


class HeldRows:
    """Rows G (k, n), dense or sparse, with N G^T (n, k) and G N G^T: what is left of velocities that they hold."""

    def __init__(self, rows: Any, across: Array, gram: Array) -> None:
        self.rows, self.across = rows, across
        self.count = rows.shape[0]
        self._factor: Any = None
        if self.count:
            from scipy.linalg import cho_factor

            own = np.diagonal(gram)
            # a row that moves nothing is no row
            soft = COMPLIANCE * np.where(own > 0.0, own, 1.0)
            self._factor = cho_factor(0.5 * (gram + gram.T) + np.diag(soft), lower=True)

    def solve(self, rate: Array) -> Array:
        """(G N G^T + eps)^-1 rate: the impulses that change the rows by ``rate``."""
        from scipy.linalg import cho_solve

        return np.asarray(cho_solve(self._factor, rate))

    def restrict(self, q: Array) -> Array:
        """q, or columns of it, less N G^T (G N G^T + eps)^-1 G q: the nearest in energy that the rows leave at 0."""
        # twice: the first time leaves eps of what the rows take
        for _ in range(2 if self.count else 0):
            q = q - self.across @ self.solve(self.rows @ q)
        return q


class ConstrainedInverse:
    """N_G of an inverse mass N, given as a function of columns, and sets of rows, one after another."""

    def __init__(self, inverse: Callable[[Array], Array], rows: Sequence[Any]) -> None:
        self._inverse = inverse
        self.held: list[HeldRows] = []
        for part in rows:
            if part.shape[0]:
                across = self.apply(part.T if isinstance(part, np.ndarray) else part.T.toarray())
                self.held.append(HeldRows(part, across, np.asarray(part @ across)))

    def apply(self, force: Array) -> Array:
        """N_G force, of one or several columns."""
        return self.restrict(self._inverse(force))

    def restrict(self, q: Array) -> Array:
        """q without what the rows take."""
        for part in self.held:
            q = part.restrict(q)
        return q
