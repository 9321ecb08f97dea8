"""Defects that ``dkt`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.dkt import case


def small() -> Iterator[Quantity]:
    """Two spheres at 4 cells per diameter."""
    _, gap, angle, _ = case.follow(case.make(4), 1.0).T
    met = gap < case.NEAR
    yield quantity("gap", float(gap.min()))
    yield quantity("turn", float(angle[met.argmax() :].max()) if met.any() else 0.0)


DEFECTS = {
    "frozen": broken.frozen(),
    "no weight": broken.gravity(0.0),
}
