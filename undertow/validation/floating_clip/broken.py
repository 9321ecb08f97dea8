"""Defects that ``floating-clip`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from undertow.fluid.contact_line import ContactLines
from undertow.fluid.tension import SurfaceTension
from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.floating_clip import case


def small() -> Iterator[Quantity]:
    """The depth of the cylinder of the case."""
    yield case.rest()


def _no_pull(load: Any) -> Any:
    return lambda lines, count, centre_b: np.zeros((count, 6))


DEFECTS = {
    "frozen": broken.frozen(),
    "no pull of the line": broken.replaced(ContactLines, "load", _no_pull),
    "no tension": broken.left_out(SurfaceTension, "add_impulse"),
}
