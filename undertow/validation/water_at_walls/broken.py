"""Defects that ``water-at-walls`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.fluid.liquid import LiquidSurface
from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.water_at_walls import case


def small() -> Iterator[Quantity]:
    """Two offsets."""
    yield case.worst(2.0, (0.15, 0.7), steps=3)


DEFECTS = {
    "air between water and wall": broken.replaced(LiquidSurface, "_meet_solids", lambda _: lambda self: None),
    "weight halved": broken.gravity(0.5),
}
