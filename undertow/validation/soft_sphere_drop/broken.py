"""Defects that ``soft-sphere-drop`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.soft_sphere_drop import case


def small() -> Iterator[Quantity]:
    """5 elements across."""
    error, found = case.drop("rings", 5, 0.6)
    yield quantity("volume_error_rings", error)
    yield quantity("squeeze_rings", found["squeeze"])


DEFECTS = {
    "frozen": broken.frozen(),
    "no weight": broken.gravity(0.0),
}
