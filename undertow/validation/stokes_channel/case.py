"""Steady Stokes flow in a channel by the one SPD system of pressure and viscosity (5.31)."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation.analysis import Quantity, observed_order, quantity
from undertow.validation.poiseuille.case import simulate, simulate_cut

KEEP_GRID = True
"""The grid is part of what is compared."""


def run(full: bool = False) -> Iterator[Quantity]:
    """Order against the analytic profile, walls on the grid lines and walls that cut the cells."""
    sizes = [8, 16, 32, 64]
    errors = [simulate(n, "coupled", "none", 0.0) for n in sizes]
    yield quantity("order", observed_order(sizes, errors), cells=sizes, errors=errors)
    cut = [simulate_cut(n, "coupled", "none") for n in sizes[1:]]
    yield quantity("order_cut", observed_order(sizes[1:], cut), cells=sizes[1:], errors=cut)
