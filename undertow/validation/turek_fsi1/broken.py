"""Defects that ``turek-fsi1`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.turek_fsi1 import case


def small() -> Iterator[Quantity]:
    """CFD1 on the coarsest grid."""
    (rigid,) = case.settle_all((41,), elastic=False)
    yield quantity("drag_cfd1", rigid.drag / case.DRAG_RIGID)


DEFECTS = {
    "force halved": broken.body_reads(force=lambda force: 0.5 * force),
    "viscosity doubled": broken.fluid(viscosity=2.0),
}
