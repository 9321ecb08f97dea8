"""Defects that ``momentum`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.momentum import case


def small() -> Iterator[Quantity]:
    """Two configurations of each kind."""
    return broken.smaller(case, COUNT=2)


DEFECTS = {
    "no solve": broken.no_solve(),
    "momentum from nowhere": broken.solve_scaled(1.0 + 1e-9),
}
