"""What the Rigid Fluid coupling adds to a step of water, and how that grows with the number of bodies."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

CELLS = (64, 68, 64)
"""Of gears and bunnies in Carlson, Mucha and Turk 2004."""
SMOKE = {"CELLS": (12, 13, 12)}


def make(count: int) -> ut.Simulation:
    """``count`` (a cube of a whole number) spheres of one size under water in a tank 1 m wide."""
    side = round(count ** (1 / 3))
    places = (np.arange(side) + 0.5) / side
    spheres = {
        f"ball{i}{j}{k}": ut.RigidBody(
            shape=ut.Sphere(radius=0.05), position=(0.1 + 0.8 * x, 0.1 + 0.6 * y, 0.1 + 0.8 * z), density=2000.0
        )
        for i, x in enumerate(places)
        for j, y in enumerate(places)
        for k, z in enumerate(places)
    }
    scene = ut.Scene(
        name="rigid-fluid-cost",
        coupling="rigid_fluid",
        domain=ut.Domain(upper=(1.0, 68 / 64, 1.0), resolution=64, resolution_along="x", sides={"y_high": "open"}),
        time=ut.Time(end=1.0, frame_rate=400.0),
        fluid=ut.Fluid(density=1000.0, tolerance=1e-4),
        surface={"particles": False},
        objects={"pool": ut.Water(shape=ut.Plane(normal=(0.0, 1.0, 0.0)), position=(0.5, 0.9, 0.5)), **spheres},
    )
    return ut.Simulation(scene)


class Stopwatch:
    """Processor time spent in some methods."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = clock.process_time()
            try:
                return method(*args, **kwargs)
            finally:
                self.seconds += clock.process_time() - start

        return timed


def measure(count: int, steps: int) -> tuple[float, float]:
    """Processor time per step [s] of the coupling, and of putting the bodies on the grid."""
    sim = make(count)
    assert sim.grid is not None and sim.grid.cells == CELLS
    sim.step()
    solve, fields = sim.flow.solve, sim.flow.phase.displaced[0]  # type: ignore[attr-defined]
    coupling, rasterise = Stopwatch(), Stopwatch()
    for watch, owner, names in (
        (coupling, solve.regions, ("join", "gather", "weight_of_fluid")),
        (coupling, solve, ("prepare", "move_bodies", "make_rigid")),
        (rasterise, fields, ("update",)),
    ):
        for name in names:
            setattr(owner, name, watch.around(getattr(owner, name)))
    for _ in range(steps):
        sim.step()
    return coupling.seconds / steps, rasterise.seconds / steps


def run(full: bool = False) -> Iterator[Quantity]:
    """Seconds with eight bodies; from 1 to 64 bodies against a straight line."""
    counts = (1, 8, 27, 64)
    found, other = zip(*(measure(count, 10 if full else 5) for count in counts), strict=True)
    yield quantity("seconds", found[1], counts=counts, seconds=found)
    # a straight line has equal slopes: what a further body costs from 8 to 64 over what it costs from 1 to 8
    slope = (found[3] - found[1]) / (64 - 8) / max((found[1] - found[0]) / 7, 1e-9)
    yield quantity("growth", slope, counts=counts, seconds=found)
    yield quantity("rasterise", other[1], info=True, counts=counts, seconds=other)
