"""Defects that ``block-release`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.block_release import case


def small() -> Iterator[Quantity]:
    """A sphere in the thinnest oil and the block that rises, by the cheaper coupling."""
    yield quantity("sinking_rigid_fluid", abs(case.settle("rigid_fluid", "e4", 5) - 1.0))
    found = case.rise("rigid_fluid", 40)
    yield quantity("settled_rigid_fluid", found["settled"])


DEFECTS = {
    "frozen": broken.frozen(),
    "weight halved": broken.gravity(0.5),
    "half as viscous": broken.fluid(viscosity=0.5),
}
