"""Defects that ``tension-energy`` must see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from undertow.fluid import front_liquid
from undertow.fluid.front_liquid import FrontLiquid
from undertow.validation import broken


def _without(rows: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Tension is explicit."""
    return lambda liquid, dt: [row for row in rows(liquid, dt) if row.name != "tension"]


def _weaker(make: Callable[..., Any]) -> Callable[..., Any]:
    """A tenth of the derivative."""
    return lambda curve, sigma, dt: 0.1**0.5 * make(curve, sigma, dt)


def _farther(move: Callable[..., None]) -> Callable[..., None]:
    """Points go three times as far as the velocity takes them."""
    return lambda liquid, dt, front: move(liquid, 3.0 * dt, front)


DEFECTS = {
    "tension is explicit": broken.replaced(FrontLiquid, "rows", _without),
    "a tenth of the derivative": broken.replaced(front_liquid, "tension_rows", _weaker),
    "points go too far": broken.replaced(FrontLiquid, "move", _farther),
}
