"""Twenty seconds of sloshing with three bodies: how much of the water is lost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

TILT = 0.15
"""Slope of the surface at the start."""


def make(cells: int, correction: bool) -> ut.Simulation:
    """A closed cube of 1 m, half full of water with a sloping surface, and three bodies."""
    scene = ut.Scene(
        name="volume-long",
        coupling="monolithic",
        domain=ut.Domain(upper=(1.0, 1.0, 1.0), resolution=cells),
        time=ut.Time(end=20.0, frame_rate=30.0),
        fluid=ut.Fluid(density=1000.0, tolerance=1e-4),
        surface=ut.Surface(volume_correction=correction),
        objects={
            "pool": ut.Water(shape=ut.Plane(normal=(-TILT, 1.0, 0.0)), position=(0.5, 0.5, 0.5)),
            "log": ut.RigidBody(shape=ut.Box(size=(0.3, 0.15, 0.2)), position=(0.35, 0.55, 0.3), density=500.0),
            "ball": ut.RigidBody(shape=ut.Sphere(radius=0.12), position=(0.7, 0.62, 0.68), density=300.0),
            "stone": ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.3, 0.25, 0.7), density=2500.0),
        },
    )
    return ut.Simulation(scene)


def drift(cells: int, correction: bool, end: float) -> tuple[float, float]:
    """(largest, last) change of the volume of water and spray over that at the start."""
    sim = make(cells, correction)
    changes, start = [], sim.flow.extent.volume()
    while sim.time < end - 1e-9:
        report = sim.advance_to(sim.time + 0.1)
        assert report is not None
        changes.append((report.ledger["fluid_volume"] + report.ledger["spray_volume"]) / start - 1.0)
    return float(np.abs(changes).max()), changes[-1]


def run(full: bool = False) -> Iterator[Quantity]:
    """20 s on 24^3 cells; ``full``: on 64^3."""
    cells = 64 if full else 24
    for name, correction in (("volume_drift", False), ("volume_drift_corrected", True)):
        largest, last = drift(cells, correction, 20.0)
        yield quantity(name, largest, cells=cells, last=last, seconds=20.0)
