"""Defects that ``fracture-in-water`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from undertow.rigid import fracture
from undertow.solids.rigid_part import RigidPart
from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.fracture_in_water import case


def small() -> Iterator[Quantity]:
    """The event alone, on a coarse grid."""
    yield from case.event(64)


def _forgotten(share: Any) -> Any:
    """What the fluid has more, the pieces keep."""
    return lambda self, names, momentum: None


def _faster(conserve: Any) -> Any:
    """Pieces move a hundredth faster than the body did."""

    def shares(mass: float, centre: Any, momentum: Any, angular: Any, fragments: Any) -> Any:
        return conserve(mass, centre, 1.01 * momentum, angular, fragments)

    return shares


DEFECTS = {
    "the momentum of new water is forgotten": broken.replaced(RigidPart, "share_momentum", _forgotten),
    "pieces are a hundredth faster": broken.replaced(fracture, "conserve", _faster),
}
