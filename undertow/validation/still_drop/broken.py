"""Defects that ``still-drop`` must see."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from undertow.fluid.tension import SurfaceTension
from undertow.run import assemble_water
from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.still_drop import case


def small() -> Iterator[Quantity]:
    """The table at 20 cells, and the ellipse."""
    mean, largest, _ = case.table(20)
    yield quantity("level_set_mean_20", mean)
    yield quantity("level_set_largest_20", largest)
    rest, over, length = case.ellipse()
    yield quantity("ellipse_current", rest)
    yield quantity("ellipse_length", length)
    yield quantity("ellipse_pressure", over)


def _halved(find: Callable[..., None]) -> Callable[..., None]:
    """Half of the curvature."""

    def half(tension: SurfaceTension) -> None:
        find(tension)
        tension.kappa *= 0.5

    return half


def _of_the_liquid(find: Callable[..., None]) -> Callable[..., None]:
    """The sign of the curvature by the axis of the face."""

    def wrong(tension: SurfaceTension) -> None:
        find(tension)
        tension.way[tension.face >= tension.phi_c.size] *= -1.0

    return wrong


def _every_step(old: float) -> float:
    return 0.0


DEFECTS = {
    "frozen": broken.frozen(),
    "half of the curvature": broken.replaced(SurfaceTension, "find", _halved),
    "pulls outward across y": broken.replaced(SurfaceTension, "find", _of_the_liquid),
    "no tension": broken.left_out(SurfaceTension, "add_impulse"),
    "distance in every step": broken.replaced(assemble_water, "REDISTANCE_AFTER", _every_step),
}
