"""Twenty seconds of sloshing with three bodies: how much of the water is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

TILT = 0.15
"""Slope of the surface at the start."""
WAVE = 1000.0 * 9.81 * TILT**2 / 24.0
"""Energy of that slope in a cube of 1 m [J]."""

KINDS = {
    "volume_drift_untracked": {"volume_tracking": False},
    "volume_drift": {},
    "volume_drift_corrected": {"volume_correction": True},
}
"""What is judged, and how the surface is kept for it: by level set and particles alone, with volume tracking too, with
the volume correction too."""


class Sloshing(NamedTuple):
    """Largest and last change of the volume of water and spray over that at the start; largest kinetic energy [J];
    largest divergence that the volume tracking asked for [1/s], and the mean over time of the largest of each step."""

    largest: float
    last: float
    energy: float
    divergence: float
    mean_divergence: float


def make(cells: int, surface: dict[str, bool]) -> ut.Simulation:
    """A closed cube of 1 m, half full of water with a sloping surface, and three bodies."""
    scene = ut.Scene(
        name="volume-long",
        coupling="monolithic",
        domain=ut.Domain(upper=(1.0, 1.0, 1.0), resolution=cells),
        time=ut.Time(end=20.0, frame_rate=30.0),
        fluid=ut.Fluid(density=1000.0, tolerance=1e-4),
        surface=ut.Surface.model_validate(surface),
        objects={
            "pool": ut.Water(shape=ut.Plane(normal=(-TILT, 1.0, 0.0)), position=(0.5, 0.5, 0.5)),
            "log": ut.RigidBody(shape=ut.Box(size=(0.3, 0.15, 0.2)), position=(0.35, 0.55, 0.3), density=500.0),
            "ball": ut.RigidBody(shape=ut.Sphere(radius=0.12), position=(0.7, 0.62, 0.68), density=300.0),
            "stone": ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.3, 0.25, 0.7), density=2500.0),
        },
    )
    return ut.Simulation(scene)


def slosh(cells: int, surface: dict[str, bool], end: float) -> Sloshing:
    """Until ``end`` [s]; the volume at every step."""
    sim = make(cells, surface)
    rows, start = [], sim.flow.extent.volume()
    while sim.time < end - 1e-9:
        report = sim.step()
        row = report.ledger
        change = (row["fluid_volume"] + row["spray_volume"]) / start - 1.0
        rows.append((change, row["kinetic_energy"], row.get("tracking_divergence", 0.0), report.time_step))
    change, energy, divergence, step = np.array(rows).T
    return Sloshing(
        float(np.abs(change).max()), float(change[-1]), float(energy.max()), float(divergence.max()),
        float((divergence * step).sum() / step.sum()),
    )  # fmt: skip


def run(full: bool = False, cells: int | None = None, end: float = 20.0) -> Iterator[Quantity]:
    """20 s on 24^3 cells; ``full``: on 64^3."""
    cells = cells or (64 if full else 24)
    for name, surface in KINDS.items():
        found = slosh(cells, surface, end)
        yield quantity(name, found.largest, cells=cells, last=found.last, seconds=end)
        kind = name.removeprefix("volume_drift")
        yield quantity(f"wave{kind}", found.energy / WAVE, cells=cells)
        yield quantity(
            f"divergence{kind}", found.divergence, info=True, cells=cells, mean=found.mean_divergence
        )  # fmt: skip
