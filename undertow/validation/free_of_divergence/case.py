"""Every gallery scene: what is left of the largest divergence row after the projection, step by step."""

from __future__ import annotations

from collections.abc import Iterator

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

COARSE = {"lid-cavity": 64, "vortex-street": 200, "smoke-sphere": 48, "smoke-bunny": 56}
STEPS = 20


def run(full: bool = False) -> Iterator[Quantity]:
    """Largest row residual / (tolerance x largest row of u*), the worst of 20 steps on a coarse grid.

    full: the worst of every step of the scene as it is shipped.
    """
    for name, resolution in COARSE.items():
        scene = ut.scene(name) if full else ut.scene(name, resolution=resolution)
        sim = ut.Simulation(scene)
        worst, steps = 0.0, 0
        while sim.time < scene.time.end if full else steps < STEPS:
            flow = sim.step().details
            steps += 1
            if flow.row_before > 0:
                worst = max(worst, flow.row_after / (scene.fluid.tolerance * flow.row_before))
        yield quantity(name, worst, shape=list(sim.grid.cells), steps=steps, tolerance=scene.fluid.tolerance)
