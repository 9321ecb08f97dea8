"""Defects that ``block-release`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.block_release import case


def small() -> Iterator[Quantity]:
    """The block that rises, by the cheaper coupling."""
    found = case.rise("rigid_fluid", 40)
    yield quantity("rising_rigid_fluid", found["error"])
    yield quantity("settled_rigid_fluid", found["settled"])


DEFECTS = {
    "frozen": broken.frozen(),
    "weight halved": broken.gravity(0.5),
}
