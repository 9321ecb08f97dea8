"""Defects that ``capillary-rise`` must see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from undertow.surface.contact_angle import SideAngles, SolidAngles
from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.capillary_rise import case


def small() -> Iterator[Quantity]:
    """Plates that water wets at 60 degrees."""
    yield case.between_plates(60)


def _mirrored(fill: Any) -> Callable[..., None]:
    return lambda angles, *fields: None


DEFECTS = {
    "frozen": broken.frozen(),
    "side without its angle": broken.replaced(SideAngles, "fill", _mirrored),
    "plate without its angle": broken.replaced(SolidAngles, "extend", _mirrored),
}
