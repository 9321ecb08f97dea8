"""Defects that ``csm`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.csm import case


def small() -> Iterator[Quantity]:
    """CSM1 and CSM2."""
    return islice(case.run(), 4)


DEFECTS = {
    "nothing moves": broken.equilibrium(case, None),
    "weight halved": broken.equilibrium(case, 0.5),
    "wrong sign": broken.equilibrium(case, -1.0),
}
