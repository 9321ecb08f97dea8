"""Defects that ``poiseuille`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, observed_order, quantity
from undertow.validation.poiseuille.case import simulate


def small() -> Iterator[Quantity]:
    """Walls on the grid lines."""
    sizes = (8, 16, 32)
    errors = [simulate(n, "split", "semi_lagrangian", 0.0) for n in sizes]
    yield quantity("order", observed_order(sizes, errors))
    yield quantity("velocity_32", 1.0 - errors[2])


DEFECTS = {
    "frozen": broken.frozen(),
    "viscosity doubled": broken.fluid(viscosity=2.0),
    "driven backwards": broken.fluid_with(acceleration=(-0.8, 0.0)),
}
