"""Defects that ``water-scenes`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.water_scenes import case


def small() -> Iterator[Quantity]:
    """The first scenes."""
    return islice(case.run(), 4)


DEFECTS = {
    "frozen": broken.frozen(),
    "no weight": broken.gravity(0.0),
}
