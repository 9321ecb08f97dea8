"""Defects that ``arch`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.arch import case


def small() -> Iterator[Quantity]:
    """A second of the thick arch, and the thin one."""
    moved, _ = case.largest_move(0.15, 1.0, 0.5)
    yield quantity("motion_thick", moved)
    moved, _ = case.largest_move(0.08, 10.0, 0.5)
    yield quantity("motion_thin", moved)


DEFECTS = {
    "frozen": broken.frozen(),
    "no weight": broken.gravity(0.0),
    "no friction": broken.objects("RigidBody", friction=0.0),
}
