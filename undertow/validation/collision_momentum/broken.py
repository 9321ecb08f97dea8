"""Defects that ``collision-momentum`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from undertow.solids.step import Solids
from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.collision_momentum import case


def small() -> Iterator[Quantity]:
    """Fewer pairs."""
    return broken.smaller(case, PAIRS=30, FREE=4)


def _lossy(collide: Any) -> Any:
    def lose(self: Solids, time: float, dt: float) -> Any:
        found = collide(self, time, dt)
        self.bodies.p_b[...] *= 1.0 - 1e-9
        return found

    return lose


def _spinning(collide: Any) -> Any:
    def spin(self: Solids, time: float, dt: float) -> Any:
        found = collide(self, time, dt)
        self.bodies.L_b[...] *= 1.0 + 1e-9
        return found

    return spin


DEFECTS = {
    "momentum lost": broken.replaced(Solids, "collide", _lossy),
    "spin from nowhere": broken.replaced(Solids, "collide", _spinning),
}
