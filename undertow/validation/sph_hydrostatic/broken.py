"""Defects that ``sph-hydrostatic`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.sph_hydrostatic import case


def small() -> Iterator[Quantity]:
    """The weakly compressible fluid alone."""
    return case.settle(48, "wcsph", "")


DEFECTS = {
    "weight halved": broken.gravity(0.5),
    "no weight": broken.gravity(0.0),
}
