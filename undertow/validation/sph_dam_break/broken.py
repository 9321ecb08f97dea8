"""Defects that ``sph-dam-break`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.sph_dam_break import case


def small() -> Iterator[Quantity]:
    """20 particles per width."""
    yield case.compare("front", 20, *case.collapse(20, case.FRONT[-1, 0])[:3])


DEFECTS = {
    "frozen": broken.frozen(),
    "weight halved": broken.with_options(case, "SphSettings", gravity=(0.0, -4.905, 0.0)),
}
