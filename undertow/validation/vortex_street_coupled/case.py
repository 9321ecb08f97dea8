"""The vortex street of thesis 5.11.4 behind a cylinder that the fluid would move and a joint holds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.validation.analysis import Quantity, quantity
from undertow.validation.vortex_street.case import SHORT, make, start_wake, strouhal


def run(full: bool = False) -> Iterator[Quantity]:
    """400 cells along the short box, from the wake of a grid half as fine; beside it the cylinder that cannot move."""
    wake = start_wake(SHORT, 200, 50.0)
    sim = make(SHORT, 400, "split", "eno3", "first_order", held=True)
    found = strouhal(sim, wake, 15.0, 26.0)
    moved = float(np.linalg.norm(sim.body("cylinder").position))
    yield quantity("strouhal", found, cells="400x160", moved=moved)
    found = strouhal(make(SHORT, 400, "split", "eno3", "first_order"), wake, 15.0, 26.0)
    yield quantity("strouhal_prescribed", found, info=True, reference=0.196, cells="400x160")
