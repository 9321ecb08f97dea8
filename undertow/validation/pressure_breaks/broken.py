"""Defects that ``pressure-breaks`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from undertow.rigid.brittle import LoadHistory
from undertow.solids import breaking
from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.pressure_breaks import case

COARSE = 32


def small() -> Iterator[Quantity]:
    """Still water at the two ends of the bound, on a coarse grid."""
    low, high = (case.breaks(share * case.DEPTH, COARSE) for share in (0.97, 1.03))
    yield quantity("still", 1.0 if high and not low else float("nan"))
    low, high = (case.bursts(share * case.DEPTH, COARSE) for share in (0.97, 1.03))
    yield quantity("inside", 1.0 if high and not low else float("nan"))


def _scaled(factor: float) -> Any:
    def make(judge: Any) -> Any:
        def scaled(self: LoadHistory, loads: Any, strength: Any, until: float, dt: float) -> Any:
            return judge(self, loads._replace(impulse=factor * loads.impulse), strength, until, dt)

        return scaled

    return make


def _one_sided(parting: Any) -> Any:
    """All of the force on one half counts, in the place of half the difference of both."""

    def doubled(*given: Any) -> Any:
        found = parting(*given)
        return found._replace(force=2.0 * found.force)

    return doubled


DEFECTS = {
    "loads count a tenth too much": broken.replaced(LoadHistory, "judge", _scaled(1.1)),
    "loads count a tenth too little": broken.replaced(LoadHistory, "judge", _scaled(0.9)),
    "both halves of a vessel pull at once": broken.replaced(breaking, "find_parting", _one_sided),
}
