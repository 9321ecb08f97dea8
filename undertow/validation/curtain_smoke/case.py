"""The scene ``curtain-smoke``: the jet pushes the curtain away; when it has stopped, its weight brings it back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity


def run(full: bool) -> Iterator[Quantity]:
    """20 x 13 x 13 cells; with ``full`` 60 x 40 x 40, those of the scene."""
    scene = ut.scene("curtain-smoke", resolution=60 if full else 20)
    sim = ut.Simulation(scene)
    soft, stop = sim.scheme.nodes[0].soft, scene.objects["jet"].stop  # type: ignore[attr-defined, union-attr]
    low = soft.rest[:, 1] < soft.rest[:, 1].min() + 0.02
    size = float(np.ptp(soft.rest[:, 1]))
    history = []
    while sim.time < scene.time.end:
        sim.step()
        history.append((sim.time, float((soft.x - soft.rest)[low, 0].mean())))
    times, out = np.array(history).T
    farthest = float(out.max())
    yield quantity("gives_way", farthest / size, times=times[::5], out=out[::5])
    yield quantity("still_out", float(out[-1]) / farthest, turns=float(times[out.argmax()]), stopped=stop)
