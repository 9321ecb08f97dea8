"""Defects that ``lid-cavity-100`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken, stepping
from undertow.validation.analysis import Quantity
from undertow.validation.lid_cavity_1000 import case


def small() -> Iterator[Quantity]:
    """48 cells along the side, 10 s."""
    with stepping.replaced(case, "N", 48):
        yield from case.measure(100, 10.0)


DEFECTS = {
    "frozen": broken.frozen(),
    "viscosity halved": broken.fluid(viscosity=0.5),
    "wrong sign": broken.sampled("velocity", -1.0),
}
