"""A disturbed tank of particles comes to rest: pressure, speeds and density."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.sph.part import SphPart
from undertow.validation.analysis import Array, Quantity, quantity

HEIGHT = 0.5
"""Of the water in a tank 0.5 m wide [m]."""
MEAN_OVER = 0.5
"""Last part of a disturbed run over which its pressure is averaged [s], about eight swings of its sound."""


def make_scene(resolution: int, end: float, method: str = "wcsph") -> ut.Scene:
    """A tank half a metre wide and filled half a metre high."""
    return ut.Scene(
        name="sph-hydrostatic",
        domain=ut.Domain(upper=(0.5, 0.7), resolution=resolution, resolution_along="x", sides={"y_high": "open"}),
        time=ut.Time(end=end, frame_rate=10),
        sph=ut.Sph(method=method),
        objects={"water": ut.SphFluid(shape=ut.Box(size=(0.5, HEIGHT)), position=(0.25, HEIGHT / 2))},
    )


def disturb(fluid: Any) -> float:
    """Push the particles about by up to a tenth of a spacing and give them random velocities of up to 0.1 m/s; the rms
    error of the pressure then / (rho g H).

    That also presses the whole column, which then swings like a spring; only the viscosity of its longest wave damps
    that, by a few percent in a swing of 0.06 s.
    """
    draw = np.random.default_rng(7)
    rows, spec = fluid.fluid_rows(), fluid.points.spec
    room = np.array(fluid.box.room())
    moved = spec.place[rows, :2] + 0.1 * fluid.spacing * draw.uniform(-1.0, 1.0, (len(rows), 2))
    spec.place[rows, :2] = np.clip(moved, room[0, :2], room[1, :2])
    spec.motion[rows, :2] = 0.1 * draw.uniform(-1.0, 1.0, (len(rows), 2))
    fluid.refresh()
    fluid.begin()
    error = 1.0 - spec.place[fluid.fluid_rows(), 1] / HEIGHT - fluid.pressures() / (1000.0 * 9.81 * HEIGHT)
    return float(np.sqrt(np.mean(error**2)))


def run(full: bool = False) -> Iterator[Quantity]:
    """48 particles (96 with ``full``) across the tank, two seconds; weakly compressible and incompressible."""
    resolution = 96 if full else 48
    yield from settle(resolution, "wcsph", "")
    yield from settle(resolution, "wcsph", "_disturbed")
    yield from settle(resolution, "iisph", "_iisph")


def settle(resolution: int, method: str, name: str) -> Iterator[Quantity]:
    """One method, ``resolution`` particles across; disturbed at the start if it has a name."""
    end = 2.0
    sim = ut.Simulation(make_scene(resolution, end, method))
    fluid = sim.part(SphPart).fluid
    start = fluid.positions()[:, 1].max()
    at_start = disturb(fluid) if name else 0.0
    steps, unconverged, fastest = 0, 0, 0.0
    found = []
    while sim.time < end - 1e-9:
        sim.step()
        steps, fastest = steps + 1, max(fastest, fluid.totals.speed)
        unconverged += int(getattr(fluid, "unconverged", False))
        if sim.time > end - MEAN_OVER:
            found.append(np.stack([fluid.positions()[:, 1], fluid.pressures()]))
    scale = 1000.0 * 9.81 * HEIGHT
    # the surface is where the mass of the particles says it is
    level = len(found[0][0]) * fluid.spacing**2 / 0.5

    def errors(y: Array, pressure: Array) -> Array:
        return np.asarray((pressure - 1000.0 * 9.81 * (level - y)) / scale)

    y, pressure = np.mean(found, axis=0) if name == "_disturbed" else found[-1]
    error, last = errors(y, pressure), errors(*found[-1])
    layers = [float(error[(y >= a) & (y < a + 0.1 * level)].mean()) for a in np.linspace(0.0, 0.9 * level, 10)]
    yield quantity(
        f"pressure{name}", float(np.sqrt(np.mean(error**2))), particles=len(y), mean_of_layers=layers,
        largest=float(np.abs(error).max()), at_start=at_start, at_end=float(np.sqrt(np.mean(last**2))),
    )  # fmt: skip
    kinetic = fluid.totals.kinetic / (0.5 * scale * HEIGHT * 0.5)
    yield quantity(f"kinetic_energy{name}", kinetic, speed=fluid.totals.speed, fastest=fastest)
    yield quantity(f"density_ratio{name}", fluid.totals.density / 1000.0)
    yield quantity(f"surface_drift{name}", abs(float(found[-1][0].max() - start)) / fluid.spacing, unit="spacings")
    if method == "iisph":
        yield quantity(f"unconverged{name}", unconverged / steps, steps=steps)
