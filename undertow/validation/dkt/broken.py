"""Defects that ``dkt`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.dkt import case


def small() -> Iterator[Quantity]:
    """The drag of one sphere at one Reynolds number."""
    yield quantity("drag_30", case.drag(30, case.DRAG_CELLS)[0])


DEFECTS = {
    "frozen": broken.frozen(),
    "no weight": broken.gravity(0.0),
    "half as viscous": broken.fluid(viscosity=0.5),
}
