"""The scene ``buoyant-spheres``: each sphere starts as its weight, buoyancy and added mass have it, and they sort."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

SHORT = 0.15
"""Until the lightest is near the lid [s]."""


def run(full: bool) -> Iterator[Quantity]:
    """The scene's own 64 cells, for its first 0.15 s; ``full`` is the same."""
    scene = ut.scene("buoyant-spheres")
    names = sorted(scene.bodies, key=lambda name: float(scene.bodies[name].density or 0.0))
    density = np.array([float(scene.bodies[name].density or 0.0) for name in names])
    water, gravity, radius = 1000.0, 9.81, 0.1
    # half the fluid displaced, and what walls beside (z, 0.25 m away) and across its way (y, 0.375 m) add (Lamb 1932)
    added = 0.5 * (1.0 + 2 * 3 / 16 * (radius / 0.25) ** 3 + 2 * 3 / 8 * (radius / 0.375) ** 3)
    wanted = (water - density) / (density + added * water) * gravity
    sim = ut.Simulation(scene)
    sim.step()
    found = np.array([sim.body(name).velocity[1] for name in names]) / sim.time
    yield quantity("start", float(np.abs(found - wanted).max()) / gravity, found=found, wanted=wanted)
    while sim.time < SHORT:
        sim.step()
    heights = np.array([sim.body(name).position[1] for name in names])
    yield quantity("sorted", float(-np.diff(heights).max()) / radius, heights=heights, steps=sim.step_count)
    neutral = int(np.argmin(np.abs(density - water)))
    yield quantity("neutral", abs(float(heights[neutral]) - 0.375) / radius)
