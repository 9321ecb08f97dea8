"""Defects that ``sph-buoyancy`` must see."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.sph_buoyancy import case


def small() -> Iterator[Quantity]:
    """A cuboid of 0.8 of the density of water, from above."""
    path, level, dx = case.heights(0.8, 30, 2, 3.0, 3.0)
    drafts = (level + 0.5 * case.SIZE[1] - np.array(path)) / dx - 0.8 * case.SIZE[1] / dx
    yield quantity("floating_depth", abs(float(drafts[-4:].mean())))


DEFECTS = {
    "frozen": broken.frozen(),
    "bodies half as heavy": broken.objects("RigidBody", density=lambda density: 0.5 * density),
}
