"""Defects that ``falling-cylinder`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.falling_cylinder import case


def small() -> Iterator[Quantity]:
    """Stokes flow on the coarsest grid."""
    exact = case.analytic(0.1)
    speed = case.terminal(40, 0.1, stokes=True)[0]
    yield quantity("error_ratio_stokes", abs(speed - exact) / abs(case.STOKES[0] - exact))


DEFECTS = {
    "frozen": broken.frozen(),
    "weight halved": broken.gravity(0.5),
    "viscosity doubled": broken.fluid(viscosity=2.0),
}
