"""A prescored pillar at the frame rate: with the energy fix and clamping its thin splinters stay low."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.scene.gallery.pillar import make_scene
from undertow.validation.analysis import Quantity, quantity

STARTS = 20
END = 1.5
FALLEN = 0.5
"""After this time [s] all of the pillar's foot has hit the ground."""

VARIANTS = {"energy_fix": (False, True), "clamp": (True, False), "both": (False, False)}
"""What is switched off, as (energy_fix, clamp). Judged is the first, "the fix"; the others stand beside it."""

SMOKE = {"STARTS": 1}


def simulate(seed: int, rate: float, energy_fix: bool = True, clamp: bool = True) -> tuple[float, float]:
    """Largest energy above the start, relative to it, and the greatest height of a splinter [m]."""
    scene = make_scene(seed)
    solids = scene.solids.model_copy(update={"energy_fix": energy_fix, "clamp": clamp})
    rules = scene.time.model_copy(update={"end": END, "fixed_step": 1.0 / rate})
    sim = ut.Simulation(scene.model_copy(update={"solids": solids, "time": rules}))
    splinters = [name for name in scene.bodies if name.startswith("splinter")]
    start, gain, highest = None, 0.0, 0.0
    while sim.time < END - 1e-9:
        report = sim.step()
        details = report.details
        if start is None:
            start = details.kinetic_before + details.potential_before
        gain = max(gain, (details.kinetic_after + details.potential_after - start) / abs(start))
        if sim.time > FALLEN:
            highest = max(highest, *(float(sim.body(name).position[1]) for name in splinters))
    return gain, highest


def run(full: bool = False) -> Iterator[Quantity]:
    """20 starts at 30 Hz with and without energy conservation, and at 1 kHz."""
    kept = [simulate(seed, 30.0) for seed in range(STARTS)]
    yield quantity("energy_gain", max(gain for gain, _ in kept), starts=STARTS)
    for off, (energy_fix, clamp) in VARIANTS.items():
        free = [simulate(seed, 30.0, energy_fix, clamp) for seed in range(STARTS)]
        rising = sum(gain > 1e-6 for gain, _ in free) / STARTS
        height = float(np.median([h for _, h in free]))
        detail: dict[str, Any] = {
            "median_height": height,
            "largest_gain": max(g for g, _ in free),
            "starts": STARTS,
            "off": off,
        }
        if off == "energy_fix":
            yield quantity("share_rising_without", rising, **detail)
        else:
            yield quantity(f"share_rising_without_{off}", rising, info=True, **detail)
    heights = {"30 Hz": [h for _, h in kept], "1 kHz": [simulate(seed, 1000.0)[1] for seed in range(STARTS)]}
    medians = {name: float(np.median(values)) for name, values in heights.items()}
    ratio = medians["30 Hz"] / medians["1 kHz"]
    yield quantity("height_ratio", ratio, median_heights=medians, heights=heights)
    yield quantity("height_ratio_inverse", 1.0 / ratio)
