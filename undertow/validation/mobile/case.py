"""The scene ``mobile``: the jet turns it, and its joints hold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity


def run(full: bool) -> Iterator[Quantity]:
    """28 x 21 x 28 cells; with ``full`` 56 x 42 x 56, those of the scene."""
    scene = ut.scene("mobile", resolution=56 if full else 28)
    sim = ut.Simulation(scene)
    error, angles = 0.0, []
    while sim.time < scene.time.end:
        error = max(error, sim.step().ledger["joint_error"])
        # the bar lies along y of its shape, along -x at first
        x, _, z = sim.body("bar").matrix[:, 1]
        angles.append(np.degrees(np.arctan2(z, -x)))
    turned = np.unwrap(angles, period=360.0)
    yield quantity("joint_error", error, steps=sim.step_count)
    yield quantity("turned", float(np.abs(turned - turned[0]).max()), angles=turned[::10])
