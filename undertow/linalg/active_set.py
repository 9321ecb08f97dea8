"""Active sets: which one-sided rows of a solve act, found in a few passes over it.

A pass solves with the rows that are thought to act; what comes of it says whether that was right, and which ones are to
act in the next. Two uses: bounds on the unknowns of a sparse solve (below), and contact as dense rows of it
(``coupling.one_sided``). ``solve_in_passes`` is the rule of termination of both.

Bounds: with A symmetric and the unknowns of a set C bounded,

    A z = b  outside of C,        z >= l,   r = A z - b >= 0,   (z - l) r = 0  in C.

With z held at l in a set H, and A z = b elsewhere, the primal-dual rule for the next H is (Hintermueller, Ito and
Kunisch 2003)

    held    c in H:      stays where r_c > d_c e,
    free    c in C - H:  joins where z_c < l_c - e,

d being the diagonal of A and e what does not count. Where A is an M-matrix, as that of pressures is, z grows from the
second pass on, so that nothing joins after the first one. That is made the rule: a bound that is let go of is not taken
up again, H only shrinks, and the passes end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from undertow.grid import Array


class ActiveSet(Protocol):
    """One-sided rows of a solve. most: passes after which they stay as they are."""

    most: int

    def accepts(self) -> bool:
        """Whether what the last pass led to agrees with the rows that acted in it."""

    def choose(self) -> None:
        """The rows that are to act in the next pass, after one that was not accepted."""


def solve_in_passes(sets: Sequence[ActiveSet], solve: Callable[[], None]) -> int:
    """Solve until every set accepts or has had all of its passes: how often it was. The rows of the last pass are
    kept."""
    count = 0
    while True:
        solve()
        count += 1
        refused = [rows for rows in sets if not rows.accepts() and count < rows.most]
        if not refused:
            return count
        for rows in refused:
            rows.choose()


class Bounds(ABC):
    """The rule of the head of the module. held (n,): H, sorted."""

    most: int

    def __init__(self, held: np.ndarray) -> None:
        self.held = held
        self._next = held
        self._joins = True

    @abstractmethod
    def room(self) -> Array:
        """r / d (n,) of the unknowns that are held: what is left of their rows, less what does not count."""

    @abstractmethod
    def beyond(self, stays: np.ndarray) -> np.ndarray:
        """Unknowns that are free and beyond their bounds, beside those of ``held`` that stay, as far as they may be
        held."""

    @abstractmethod
    def allowed(self, held: np.ndarray) -> np.ndarray:
        """Those of a set that may be held together."""

    @abstractmethod
    def hold(self, held: np.ndarray) -> None:
        """From now on these are held at their bounds and the others are free."""

    def accepts(self) -> bool:
        """Whether H is what the rule makes of it."""
        stays = self.held[self.room() > 0.0] if len(self.held) else self.held
        found = np.union1d(stays, self.beyond(stays)) if self._joins else self.allowed(stays)
        self._joins = False
        self._next = found
        return bool(np.array_equal(found, self.held))

    def choose(self) -> None:
        """The next H."""
        self.held = self._next
        self.hold(self.held)
