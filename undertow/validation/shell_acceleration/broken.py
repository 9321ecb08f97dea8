"""Defects that ``shell-acceleration`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.shell_acceleration import case


def small() -> Iterator[Quantity]:
    """Circles of 6 cells, light ones."""
    yield quantity("full_2d_6", case.error(("full", "solid"), 2, 6, case.RATIOS[:1], 4))
    yield quantity("empty_2d_6", case.error(("empty", "hull"), 2, 6, case.EMPTY_RATIOS[:1], 3))


DEFECTS = {
    "heavier fluid": broken.fluid(density=1.2),
    "a tenth of the mass missing": broken.objects("RigidBody", mass=lambda mass: 0.9 * mass),
    "frozen": broken.frozen(0),
}
