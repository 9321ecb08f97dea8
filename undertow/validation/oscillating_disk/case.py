"""A soft disc swings in four vortices: energies, area and period under refinement (thesis 5.11.6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import undertow as ut
from undertow.validation.analysis import Array, Quantity, quantity

SIDES = ("x_low", "x_high", "y_low", "y_high")
SHEAR, POISSON = 1.0, 0.475


@dataclass(frozen=True)
class Swing:
    """Time series of a run: times [s], energies [J/m] and area [m2]."""

    times: Array
    kinetic: Array
    elastic: Array
    dissipated: Array
    area: Array

    @property
    def balance(self) -> float:
        """Largest departure of kinetic + elastic + dissipated energy from its first value, relative."""
        total = self.kinetic + self.elastic + self.dissipated
        return float(np.abs(total / total[0] - 1.0).max())

    @property
    def change_of_area(self) -> float:
        """Largest, relative."""
        return float(np.abs(self.area / self.area[0] - 1.0).max())

    @property
    def period(self) -> float:
        """Of the swing [s]: twice the time from the first to the second maximum of the elastic energy."""
        peaks = []
        for i in range(1, len(self.times) - 1):
            a, b, c = self.elastic[i - 1 : i + 2]
            if b >= a and b > c:
                shift = 0.5 * (a - c) / (a - 2 * b + c)
                peaks.append(self.times[i] + shift * (self.times[i + 1] - self.times[i]))
        return 2.0 * float(peaks[1] - peaks[0]) if len(peaks) > 1 else float("nan")


def swing(n: int, end: float = 1.0, damping: float = 0.0) -> Swing:
    """``n`` cells along the box, steps and elements in proportion."""
    scene = ut.Scene(
        name="oscillating-disk",
        coupling="monolithic",
        gravity=(0.0, 0.0),
        domain=ut.Domain(upper=(1.0, 1.0), resolution=n, sides=dict.fromkeys(SIDES, "periodic")),
        time=ut.Time(end=end, frame_rate=1 / end, fixed_step=0.256 / n),
        fluid=ut.Fluid(density=1.0, viscosity=0.001, initial_vortices=0.05, limiter=False, tolerance=1e-7),
        soft=ut.Soft(stepper="newmark"),
        objects={
            "disc": ut.SoftBody(
                shape=ut.Sphere(radius=0.2),
                position=(0.5, 0.5),
                element_size=1.28 / n,
                density=1.0,
                youngs_modulus=2 * SHEAR * (1 + POISSON),
                poisson_ratio=POISSON,
                model="neo_hookean",
                damping=damping,
            )
        },
    )
    sim = ut.Simulation(scene)
    rows = []
    while sim.time < end:
        row = sim.step().ledger
        kinetic = row["kinetic_energy"] + row["kinetic_energy_solids"]
        rows.append((sim.time, kinetic, row["soft_elastic_energy"], row["dissipated_energy"], row["soft_volume"]))
    return Swing(*np.array(rows).T)


def run(full: bool) -> Iterator[Quantity]:
    """32, 64 and 128 cells; with ``full`` 64, 128 and 256."""
    sizes = (64, 128, 256) if full else (32, 64, 128)
    runs = [swing(n) for n in sizes]
    finest = runs[-1]
    yield quantity("balance", finest.balance, cells=sizes[-1], all=[r.balance for r in runs])
    yield quantity("area", finest.change_of_area, cells=sizes[-1], all=[r.change_of_area for r in runs])
    a, b, c = (r.period for r in runs)
    yield quantity("period_convergence", abs(c - b) / abs(b - a), cells=sizes, periods=[a, b, c])
