"""Defects that ``floating-stability`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.floating_stability import case


def small() -> Iterator[Quantity]:
    """Righting arms of two boxes."""
    return case.righting(((1.0, 0.25), (1.15, 0.5)), (4.0, 16.0, 31.0))


DEFECTS = {
    "weight halved": broken.gravity(0.5),
    "water a tenth lighter": broken.fluid(density=0.9),
}
