"""Defects that ``single-vortex`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.surface import Surface
from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.single_vortex import case


def small() -> Iterator[Quantity]:
    """As it is, but with particles alone."""
    before, _, misplaced, surface = case.wind(128, True)
    yield quantity("area_change", abs(surface.volume() / before - 1.0))
    yield quantity("misplaced_half", misplaced)


DEFECTS = {
    "frozen": broken.frozen(),
    "carried backwards": broken.first_argument(Surface, "advance", lambda u: -u),
    "half the speed": broken.first_argument(Surface, "advance", lambda u: 0.5 * u),
}
