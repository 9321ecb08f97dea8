"""Defects that ``free-top`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.free_top import case


def small() -> Iterator[Quantity]:
    """A hundred steps."""
    return broken.smaller(case, STEPS=100)


DEFECTS = {
    "frozen": broken.frozen(),
    "momentum lost": broken.momentum_lost(0.01),
    "every update is the first-order one": broken.world(orientation_order=1),
}
