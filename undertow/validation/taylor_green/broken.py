"""Defects that ``taylor-green`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.taylor_green import case


def small() -> Iterator[Quantity]:
    """The rate of decay on 32 cells."""
    yield quantity("energy_decay_rate", case.simulate(32, 0.5 / 32, "eno3", "second_order")[1])


DEFECTS = {
    "frozen": broken.frozen(),
    "viscosity halved": broken.fluid(viscosity=0.5),
    "viscosity doubled": broken.fluid(viscosity=2.0),
}
