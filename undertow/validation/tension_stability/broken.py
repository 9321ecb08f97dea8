"""Defects that ``tension-stability`` must see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from undertow.fluid import front_liquid
from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.tension_stability import case


def small() -> Iterator[Quantity]:
    """The ellipse on the coarse grid."""
    half = case.SHAPES["ellipse"]
    explicit, implicit = (case.longest(16, half, way) for way in (False, True))
    yield quantity("front_gain_ellipse_16", implicit / max(explicit, 1e-300))


def _scaled(factor: float) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return lambda make: lambda curve, sigma, dt: factor * make(curve, sigma, dt)


DEFECTS = {
    "no derivative": broken.replaced(front_liquid, "tension_rows", _scaled(1e-6)),
    "a tenth of the derivative": broken.replaced(front_liquid, "tension_rows", _scaled(0.1**0.5)),
}
