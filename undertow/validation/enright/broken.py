"""Defects that ``enright`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.surface import Surface
from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.enright import case


def small() -> Iterator[Quantity]:
    """80 cells along the cube, with particles alone."""
    start, half, end, misplaced, _ = case.deform(80, True)
    yield quantity("volume_change_end", abs(end / start - 1.0))
    yield quantity("misplaced_half", misplaced)


DEFECTS = {
    "frozen": broken.frozen(),
    "carried backwards": broken.first_argument(Surface, "advance", lambda u: -u),
    "half the speed": broken.first_argument(Surface, "advance", lambda u: 0.5 * u),
}
