"""Defects that ``oscillating-disk`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.oscillating_disk import case


def small() -> Iterator[Quantity]:
    """128 cells along the box, 0.3 s."""
    found = case.swing(128, 0.3)
    yield quantity("balance", found.balance)
    yield quantity("area", found.change_of_area)


DEFECTS = {
    "half as stiff as its energy": broken.elastic_force(0.5),
    "dissipation not counted": broken.ledger_scaled("dissipated_energy", 0.0),
}
