"""Defects that ``dfg-cylinder`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.dfg_cylinder import case


def small() -> Iterator[Quantity]:
    """The coarser grid until 1.5 s."""
    _, drag, _ = case.simulate(64, 0.3, 1.5)
    yield quantity("cd_64", drag[-1])


DEFECTS = {
    "frozen": broken.frozen(),
    "force halved": broken.body_reads(force=lambda force: 0.5 * force),
    "wrong sign": broken.body_reads(force=lambda force: -force),
}
