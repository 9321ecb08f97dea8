"""A rigid ball hits a row of rigid and soft balls: momentum, what reaches the last, volume."""

from __future__ import annotations

from collections.abc import Iterator

import undertow as ut
from undertow.scene.gallery.ball_row import SPEED, make_scene
from undertow.validation.analysis import Quantity, quantity


def strike(balls: int, resolution: int, end: float) -> tuple[float, float, float]:
    """(Largest relative change of momentum, speed of the last ball over the first, largest error of volume)."""
    sim = ut.Simulation(make_scene(balls, resolution))
    start = sim.step().ledger["momentum_x"]
    change, volume = 0.0, 0.0
    while sim.time < end - 1e-9:
        row = sim.step().ledger
        change = max(change, abs(row["momentum_x"] / start - 1.0))
        volume = max(volume, row["soft_volume_error"])
    return change, float(sim.body(f"ball-{balls - 1}").velocity[0]) / SPEED, volume


def run(full: bool = False) -> Iterator[Quantity]:
    """4 balls, 5 elements across the soft ones (full: 10), 0.6 s."""
    change, last, volume = strike(4, 10 if full else 5, 0.6)
    yield quantity("momentum", change)
    yield quantity("last", last)
    yield quantity("volume", volume)
