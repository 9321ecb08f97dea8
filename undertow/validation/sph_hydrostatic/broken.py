"""Defects that ``sph-hydrostatic`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.sph_hydrostatic import case


def small() -> Iterator[Quantity]:
    """24 particles across."""
    return case.settle(24, "wcsph", "")


DEFECTS = {
    "weight halved": broken.gravity(0.5),
    "no weight": broken.gravity(0.0),
}
