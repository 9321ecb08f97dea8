"""Defects that ``soft-sphere-drop`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.soft_sphere_drop import case


def small() -> Iterator[Quantity]:
    """5 elements across."""
    for name in ("rings", "plain"):
        error, found = case.drop(name, 5, 0.6)
        yield quantity(f"volume_error_{name}", error)
        yield quantity(f"squeeze_{name}", found["squeeze"])


DEFECTS = {
    "frozen": broken.frozen(),
    "no weight": broken.gravity(0.0),
    "half as stiff": broken.objects("SoftBody", youngs_modulus=lambda modulus: 0.5 * modulus),
}
