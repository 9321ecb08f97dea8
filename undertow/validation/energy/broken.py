"""Defects that ``energy`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.energy import case


def small() -> Iterator[Quantity]:
    """Four configurations of each kind."""
    return broken.smaller(case, RIGID=(4, 2), SOFT=(4, 2))


DEFECTS = {
    "no solve": broken.no_solve(),
    "energy from nowhere": broken.solve_scaled(2.0),
}
