"""Start-up of a flow between a wall at rest and one that moves (Morris, Fox and Zhu 1997)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.validation.analysis import Array, Quantity, quantity
from undertow.validation.sph_poiseuille.case import VISCOSITY, WIDTH, channel, departures

LID = 1.25e-5
"""Velocity of the upper wall [m/s]."""


def exact(y: Array, t: float) -> Array:
    """Velocity at heights y [m] and time t [s] (Morris et al. 1997, eq. 20)."""
    u = LID * y / WIDTH
    for n in range(1, 200):
        k = n * np.pi / WIDTH
        u = u + 2.0 * LID / (n * np.pi) * (-1.0) ** n * np.sin(k * y) * np.exp(-VISCOSITY * k * k * t)
    return np.asarray(u)


def run(full: bool = False) -> Iterator[Quantity]:
    """20 particles across (40 with ``full``)."""
    across = 40 if full else 20
    found = departures(channel(across, 0.0, LID), exact, LID)
    yield quantity("profile", max(found.values()), across=across, **found)
