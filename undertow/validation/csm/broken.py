"""Defects that ``csm`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.csm import case


def small() -> Iterator[Quantity]:
    """CSM1."""
    return islice(case.run(), 2)


DEFECTS = {
    "nothing moves": broken.frozen(),
    "weight halved": broken.replaced(case, "GRAVITY", lambda gravity: 0.5 * gravity),
    "wrong sign": broken.replaced(case, "GRAVITY", lambda gravity: -gravity),
    "half as stiff": broken.replaced(case, "SOFT", lambda modulus: 0.5 * modulus),
}
