"""Defects that ``pillar`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.pillar import case


def small() -> Iterator[Quantity]:
    """Three starts."""
    return broken.smaller(case, STARTS=3)


DEFECTS = {
    "frozen": broken.frozen(),
    "energy is never kept": broken.solids_with(energy_fix=False),
}
