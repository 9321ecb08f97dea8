"""Lid-driven cavity, Re 100."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation.analysis import Quantity
from undertow.validation.lid_cavity_1000.case import measure


def run(full: bool = False) -> Iterator[Quantity]:
    """Extremes of the centreline velocities at 128^2."""
    yield from measure(100, 20.0)
