"""Defects that ``channel-structure`` must see."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.channel_structure import case


def small() -> Iterator[Quantity]:
    """The coarsest grid of the wall rows."""
    error = abs(case.terminal(16) / case.EXACT - 1.0)
    yield quantity("order_wall_rows", float(-np.log(max(error, 1e-16)) / np.log(16)))


DEFECTS = {
    "frozen": broken.frozen(),
    "viscosity doubled": broken.fluid(viscosity=2.0),
    "weight halved": broken.gravity(0.5),
}
