"""Every gallery scene: what is left of the largest divergence row after the projection, step by step."""

from __future__ import annotations

from collections.abc import Iterator

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

SCENES = {"lid-cavity": 64, "vortex-street": 200, "smoke-sphere": 48, "smoke-bunny": 56}
STEPS = 20


def run(full: bool = False) -> Iterator[Quantity]:
    """Largest row residual / (tolerance x largest row of u*), the worst of the first steps."""
    for name, resolution in SCENES.items():
        scene = ut.scene(name, resolution=resolution)
        sim = ut.Simulation(scene)
        worst = 0.0
        steps = 100 if full else STEPS
        for _ in range(steps):
            flow = sim.step().details
            if flow.row_before > 0:
                worst = max(worst, flow.row_after / (scene.fluid.tolerance * flow.row_before))
        yield quantity(name, worst, resolution=resolution, steps=steps, tolerance=scene.fluid.tolerance)
