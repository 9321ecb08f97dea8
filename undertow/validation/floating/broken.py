"""Defects that ``floating`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.floating import case


def small() -> Iterator[Quantity]:
    """A box of half the density of water."""
    error, turn = case.float_box(0.5, 40, 5.0, "lumped")
    yield quantity("depth_box_lumped", error)
    yield quantity("turn_box_lumped", turn)


DEFECTS = {
    "frozen": broken.frozen(),
    "a third lighter": broken.objects("RigidBody", density=lambda density: density / 1.5),
    "a third heavier": broken.objects("RigidBody", density=lambda density: 1.5 * density),
}
