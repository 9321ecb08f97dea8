"""Defects that ``cup-carried`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from undertow.fluid.volume_tracking import VolumeTracker
from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.cup_carried import case


def small() -> Iterator[Quantity]:
    """In 2D, the sway for two seconds."""
    yield from case.carry(64, 2, 2.0)


def _owe_to_pool(sim: Any) -> None:
    """What the level set of the cup lacks the pool gets: so it was when a mean over all water was repaid."""
    error, grid = sim.flow.extent.tracker.error_c, sim.flow.grid
    above = grid.cell_centres()[1] > sim.body("cup").position[1] - case.WALL
    owed = error[grid.interior] * above
    error[grid.interior] -= owed
    pool = min(sim.waters(), key=lambda water: water.centre[1])
    cell = sim.flow.extent.surface.level_set.cells_of(np.array([pool.centre]))[0]
    error[tuple(cell[::-1])] += owed.sum()


def _thins(advect: Any) -> Any:
    def thinned(self: Any, *args: Any) -> None:
        advect(self, *args)
        self.tracked_c *= 0.9998

    return thinned


DEFECTS = {
    "frozen": broken.frozen(),
    "weight halved": broken.gravity(0.5),
    "the pool gets what the cup owes": broken.after_steps(_owe_to_pool),
    "what is tracked fades": broken.replaced(VolumeTracker, "advect", _thins),
}
