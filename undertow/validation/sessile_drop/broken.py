"""Defects that ``sessile-drop`` must see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from undertow.fluid.tension import SurfaceTension
from undertow.surface import contact_angle
from undertow.surface.contact_angle import SideAngles
from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.sessile_drop import case


def small() -> Iterator[Quantity]:
    """A disc that draws together, one that spreads under its weight, and one that hysteresis holds on an incline."""
    yield case.cap(120, 2)
    yield case.height(60, 2)
    yield case.way(0.9)


def _mirrored(fill: Any) -> Callable[[SideAngles, Any], None]:
    return lambda angles, phi_c: None


def _inside_out(slope: Callable[..., Any]) -> Callable[..., Any]:
    """The angle on the other side of the line."""
    return lambda cosine, *values: slope(-cosine, *values)


def _sine(slope: Callable[..., Any]) -> Callable[..., Any]:
    return lambda cosine, *values: slope(np.sign(cosine) * np.sqrt(1.0 - cosine**2), *values)


DEFECTS = {
    "frozen": broken.frozen(),
    "mirrored at the wall": broken.replaced(SideAngles, "fill", _mirrored),
    "angle of the air": broken.replaced(contact_angle, "wall_slope", _inside_out),
    "sine for cosine": broken.replaced(contact_angle, "wall_slope", _sine),
    "no hysteresis": broken.left_out(SideAngles, "hold"),
    "no tension": broken.left_out(SurfaceTension, "add_impulse"),
}
