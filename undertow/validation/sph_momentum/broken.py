"""Defects that ``sph-momentum`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.sph_momentum import case


def small() -> Iterator[Quantity]:
    """One scheme, sticking, both points of attack."""
    two, one = (case.exchange(at_surface, 0.0, "global", 20) for at_surface in (True, False))
    yield quantity("linear", max(two["linear"], one["linear"]))
    yield quantity("angular_two_points", two["angular"])
    yield quantity("angular_one_point", one["angular"])
    yield quantity("made_by_two_points", two["made"])


def _lose(sim: Any) -> None:
    sim.scheme.forcing.bodies.p_b[...] *= 1.0 - 1e-6


def _spin(sim: Any) -> None:
    sim.scheme.forcing.bodies.L_b[...] *= 1.0 + 1e-6


DEFECTS = {
    "frozen": broken.frozen(),
    "momentum lost": broken.after_steps(_lose),
    "spin from nowhere": broken.after_steps(_spin),
}
