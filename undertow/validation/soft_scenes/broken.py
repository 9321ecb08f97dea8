"""Defects that ``soft-scenes`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.soft_scenes import case


def small() -> Iterator[Quantity]:
    """The ball on the stairs."""
    return islice(case.run(), 5)


DEFECTS = {
    "frozen": broken.frozen(),
    "no weight": broken.gravity(0.0),
    "forces halved": broken.elastic_force(0.5),
}
