"""Defects that ``pressure-order`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, observed_order, quantity
from undertow.validation.pressure_order import case


def small() -> Iterator[Quantity]:
    """The disc on three grids, at four places."""
    sizes = (32, 64, 128)
    errors = [max(case.largest_error(n, 2, offset) for offset in case.OFFSETS[:4]) for n in sizes]
    yield quantity("order_linf_2d", observed_order(sizes, errors))


DEFECTS = {
    "pressure halved": broken.sampled("pressure", 0.5),
    "constant": broken.sampled("pressure", 0.0),
    "wrong sign": broken.sampled("pressure", -1.0),
}
