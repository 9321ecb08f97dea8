"""Defects that ``falling-disc`` must see."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.falling_disc import case


def small() -> Iterator[Quantity]:
    """16 cells per diameter, until it has settled at its speed."""
    sim, speeds = case.make(16), []
    while sim.time < 0.55:
        sim.step()
        if sim.time >= 0.45:
            speeds.append(-float(sim.body("disc").velocity[1]))
    yield quantity("terminal_speed", float(np.mean(speeds)))


DEFECTS = {
    "frozen": broken.frozen(),
    "viscosity doubled": broken.fluid(viscosity=2.0),
}
