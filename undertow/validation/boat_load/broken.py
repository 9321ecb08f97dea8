"""Defects that ``boat-load`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.boat_load import case


def small() -> Iterator[Quantity]:
    """The thick boat for two seconds."""
    error, wet, _ = case.settle(36, 2.0, case.thick())
    yield quantity("draught", error)
    yield quantity("wet_inside", float(wet))


DEFECTS = {
    "frozen": broken.frozen(),
    "bodies half as heavy": broken.objects("RigidBody", density=lambda density: 0.5 * density),
}
