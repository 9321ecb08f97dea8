"""Defects that ``oscillating-drop`` must see."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from undertow.fluid.tension import SurfaceTension
from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.oscillating_drop import case


def small() -> Iterator[Quantity]:
    """The coarse grid."""
    found = case.swing(50, case.DEFORMED)
    yield quantity("period_50", found.period)
    yield quantity("velocity_50", found.velocity)


def _scaled(factor: float) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Curvature times a factor."""

    def make(find: Callable[..., None]) -> Callable[..., None]:
        def found(tension: SurfaceTension) -> None:
            find(tension)
            tension.kappa *= factor

        return found

    return make


DEFECTS = {
    "frozen": broken.frozen(),
    "tension a tenth too large": broken.replaced(SurfaceTension, "find", _scaled(1.1)),
    "tension that pushes": broken.replaced(SurfaceTension, "find", _scaled(-1.0)),
}
