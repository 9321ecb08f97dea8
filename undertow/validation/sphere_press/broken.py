"""Defects that ``sphere-press`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.sphere_press import case


def small() -> Iterator[Quantity]:
    """5 elements across."""
    errors, _, thick, _ = case.press(5, (0.13,))
    yield quantity("volume_error_13", errors[0])
    yield quantity("thickness_13", thick[0])


DEFECTS = {
    "frozen": broken.frozen(),
    "volume not kept": broken.objects("SoftBody", incompressible=False),
}
