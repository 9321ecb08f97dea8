"""Defects that ``double-pendulum`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.double_pendulum import case


def small() -> Iterator[Quantity]:
    """The order over half a second."""
    return islice(broken.smaller(case, END=0.5), 1)


DEFECTS = {
    "frozen": broken.frozen(),
    "weight halved": broken.gravity(0.5),
    "momentum lost": broken.momentum_lost(0.01),
}
