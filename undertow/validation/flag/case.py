"""The scene ``flag``: in a stream it begins to flap, its free edge swings to and fro across it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity


def run(full: bool) -> Iterator[Quantity]:
    """32 x 16 x 16 cells; with ``full`` 64 x 32 x 32, those of the scene."""
    scene = ut.scene("flag", resolution=64 if full else 32)
    sim = ut.Simulation(scene)
    soft, end = sim.scheme.nodes[0].soft, scene.time.end  # type: ignore[attr-defined]
    free = soft.rest[:, 0] > soft.rest[:, 0].max() - 0.045
    length = float(np.ptp(soft.rest[:, 0]))
    history = []
    while sim.time < end:
        sim.step()
        history.append((sim.time, float((soft.x - soft.rest)[free, 2].mean())))
    times, across = np.array(history).T
    # the first third is the way from where it starts
    late = times > end / 3.0
    swings = int((np.diff(np.sign(across[late] - across[late].mean())) != 0).sum())
    yield quantity("swing", float(np.ptp(across[late])) / length, times=times[::5], across=across[::5])
    yield quantity("crossings", swings, steps=sim.step_count)
