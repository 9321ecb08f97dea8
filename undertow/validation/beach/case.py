"""Waves that run onto a beach: how much of their amplitude comes back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.gauges import Tank

LENGTH = 2.0
"""Of the beach [m]."""
WAVES = {"half": (2, 0.5), "fifth": (5, 0.5), "tenth": (10, 0.2), "twentieth": (20, 0.1)}
"""Length of the beach over that of the wave, and depth [m]."""
CELLS = 10
"""Per wavelength."""
SHALLOW = 0.1
"""Depth of the long wave in shallow water [m], on 40 cells per wavelength."""
CALM = 2.0
"""Seconds of still water."""
SMOKE = {"CALM": 0.1, "WAVES": {"half": (2, 0.5)}}


def calm() -> float:
    """Largest speed in still water with a maker without waves yet and beaches, 3D [m/s]."""
    sim = ut.Simulation(
        ut.Scene(
            name="calm", domain=ut.Domain(upper=[1.0, 0.5, 0.75], resolution=16, resolution_along="x"),
            time=ut.Time(end=1e4), fluid=ut.Fluid(density=1000.0, viscosity=0.0),
            objects={
                "water": ut.Water(shape=ut.Plane(normal=[0, 1, 0]), position=[0.5, 0.29, 0.4]),
                "beach": ut.Beach(side="x_high", length=0.4), "shore": ut.Beach(side="z_low", length=0.3),
            },
        )
    )  # fmt: skip
    sim.advance_to(CALM)
    return float(np.abs(np.asarray(sim.field("velocity"))).max())


def run(full: bool = False) -> Iterator[Quantity]:
    """Reflection at ten cells per wavelength, and for a long wave in shallow water; volume; still water."""
    arrived, volume = [], []
    for name, (parts, depth) in WAVES.items():
        tank = Tank(LENGTH / parts, depth, LENGTH, CELLS)
        found, sim = tank.measure()
        arrived.append(found.incoming / tank.amplitude)
        volume.append(unaccounted(sim, tank))
        yield quantity(
            f"reflection_{name}", found.reflection, arrived=arrived[-1], k=found.k / tank.k, loss=found.loss / tank.k
        )
    tank = Tank(0.5 * LENGTH, SHALLOW, LENGTH, 40, steepness=0.02)
    found, _ = tank.measure()
    yield quantity("reflection_shallow", found.reflection, arrived=found.incoming / tank.amplitude)
    if full:
        for parts in (3, 7, 14):
            yield quantity(f"reflection_{parts}", Tank(LENGTH / parts, 0.3, LENGTH, 16).measure()[0].reflection)
    yield quantity("arrived", float(np.min(arrived)), arrived=arrived)
    yield quantity("volume", float(np.max(volume)))
    yield quantity("calm", calm())


def unaccounted(sim: ut.Simulation, tank: Tank) -> float:
    """Volume that neither sources nor the tracked error explain, over that of the water."""
    ledger = sim.step().ledger
    known = tank.count * tank.dx * tank.depth + ledger["emitted_volume"]
    there = ledger["fluid_volume"] + ledger["spray_volume"] + ledger["volume_error"]
    return abs(there - known) / known
