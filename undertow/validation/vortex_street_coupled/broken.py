"""Defects that ``vortex-street-coupled`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.vortex_street.case import SHORT, make, start_wake, strouhal


def small() -> Iterator[Quantity]:
    """300 cells along the short box."""
    wake = start_wake(SHORT, 100, 40.0)
    sim = make(SHORT, 300, "split", "eno3", "first_order", held=True)
    yield quantity("strouhal", strouhal(sim, wake, 10.0, 21.0))


DEFECTS = {
    "frozen": broken.frozen(),
    "four times as viscous": broken.fluid(viscosity=4.0),
}
