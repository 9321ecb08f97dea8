"""Defects that ``sealed`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.sealed import case


def small() -> Iterator[Quantity]:
    """A ring on 24 cells, 150 steps."""
    found = case.pull(2, 24, 150)
    yield quantity("smoke_outside_2d", found.outside)
    yield quantity("volume_2d", found.volume)
    yield quantity("way_2d", found.way / (150 * case.TIME_STEP))


def _leak(sim: Any) -> None:
    sim.state.smoke += 1e-9


DEFECTS = {
    "frozen": broken.frozen(),
    "smoke everywhere": broken.after_steps(_leak),
}
