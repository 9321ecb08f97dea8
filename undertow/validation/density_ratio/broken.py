"""Defects that ``density-ratio`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.density_ratio import case


def small() -> Iterator[Quantity]:
    """The first step of a light and a heavy sphere."""
    yield quantity("light_start", case.first(1e-9, 8, 6.0))
    yield quantity("heavy_fall", -case.first(1e9, 8, 6.0))


DEFECTS = {
    "weight halved": broken.gravity(0.5),
    "mirrored": broken.mirrored(1),
    "as heavy as the fluid": broken.objects("RigidBody", density=1000.0),
}
