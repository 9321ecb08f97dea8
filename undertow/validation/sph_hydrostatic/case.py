"""A still tank of particles: pressure, speeds and density after it has settled."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

HEIGHT = 0.5
"""Of the water in a tank 0.5 m wide [m]."""


def make_scene(resolution: int, end: float) -> ut.Scene:
    """A tank half a metre wide and filled half a metre high."""
    return ut.Scene(
        name="sph-hydrostatic",
        domain=ut.Domain(upper=(0.5, 0.7), resolution=resolution, resolution_along="x", sides={"y_high": "open"}),
        time=ut.Time(end=end, frame_rate=10),
        objects={"water": ut.SphFluid(shape=ut.Box(size=(0.5, HEIGHT)), position=(0.25, HEIGHT / 2))},
    )


def run(full: bool = False) -> Iterator[Quantity]:
    """48 particles (96 with ``full``) across the tank, two seconds."""
    resolution = 96 if full else 48
    sim = ut.Simulation(make_scene(resolution, 2.0))
    fluid = sim.model.fluid  # type: ignore[attr-defined]
    start = fluid.positions()[:, 1].max()
    sim.advance_to(2.0)
    y, pressure = fluid.positions()[:, 1], fluid.pressures()
    # the surface is where the mass of the particles says it is
    level = len(y) * fluid.spacing**2 / 0.5
    wanted = 1000.0 * 9.81 * (level - y)
    scale = 1000.0 * 9.81 * HEIGHT
    error = (pressure - wanted) / scale
    layers = [float(error[(y >= a) & (y < a + 0.1 * level)].mean()) for a in np.linspace(0.0, 0.9 * level, 10)]
    yield quantity(
        "pressure", float(np.sqrt(np.mean(error**2))), particles=len(y), mean_of_layers=layers,
        largest=float(np.abs(error).max()),
    )  # fmt: skip
    yield quantity("kinetic_energy", fluid.totals.kinetic / (0.5 * scale * HEIGHT * 0.5), speed=fluid.totals.speed)
    yield quantity("density_ratio", fluid.totals.density / 1000.0)
    yield quantity("surface_drift", abs(float(y.max() - start)) / fluid.spacing, unit="spacings")
