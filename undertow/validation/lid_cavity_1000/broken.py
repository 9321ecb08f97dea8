"""Defects that ``lid-cavity-1000`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken, stepping
from undertow.validation.analysis import Quantity
from undertow.validation.lid_cavity_1000 import case


def small() -> Iterator[Quantity]:
    """96 cells along the side, 40 s."""
    with stepping.replaced(case, "N", 96):
        yield from case.measure(1000, 40.0)


DEFECTS = {
    "frozen": broken.frozen(),
    "viscosity doubled": broken.fluid(viscosity=2.0),
}
