"""Defects that ``no-leak`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.no_leak import case


def small() -> Iterator[Quantity]:
    """A layer at rest on a plate."""
    rest = case.rest_distance(1, 0.0)
    yield quantity("rest_distance", rest["change"])
    yield quantity("rest_mean", rest["mean"])


DEFECTS = {
    "frozen": broken.frozen(),
    "no weight": broken.gravity(0.0),
}
