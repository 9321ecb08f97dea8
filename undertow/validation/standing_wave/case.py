"""A standing wave of finite slope with even, CFL-driven and random steps: its energy and its period; free fall."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.slosh.case import height

DEPTH, SLOPE, GRAVITY, DENSITY = 0.5, 0.2, 9.81, 1000.0
K = np.pi
AMPLITUDE = SLOPE / K
PERIOD = 2 * np.pi / np.sqrt(GRAVITY * K * np.tanh(K * DEPTH))
"""Of linear theory, 2 pi / sqrt(g k tanh(k h)) (Lamb 1932, article 228) [s]."""
EVEN = PERIOD / 64
SEQUENCES = 20
SMOKE = {"PERIOD": 0.02}
LONGEST = 0.02
"""Of random steps [s]."""


class Wave(NamedTuple):
    """energy: over that of the start, mean of the last half period; period: over that of linear theory."""

    energy: float
    period: float


class Tank:
    """A tank one metre wide whose surface starts at 0.5 m + a cos(pi x)."""

    def __init__(self, cells: int, **time: float) -> None:
        self.sim = ut.Simulation(
            ut.Scene(
                name="standing-wave", domain=ut.Domain(upper=[1.0, 0.75], resolution=cells),
                time=ut.Time(end=1000.0, **time), fluid=ut.Fluid(density=DENSITY, viscosity=0.0),
                objects={"water": ut.Water(shape=ut.Plane(normal=[0, 1]), position=[0.5, DEPTH])},
            )
        )  # fmt: skip
        flow = self.sim.flow
        self.grid, self.surface = flow.grid, flow.state.surface
        x, y, _ = self.grid.cell_centres()
        self.mode = np.cos(K * x).reshape(-1)
        self.surface.phi_c[self.grid.interior] = y - DEPTH - AMPLITUDE * np.cos(K * x)
        self.surface.rebuild()
        flow.extent.start()
        flow.place_velocities(0.0)

    def measure(self, kinetic: float) -> tuple[float, float]:
        """Kinetic and potential energy [J/m], and amplitude of the mode [m], of the present time."""
        surface = height(self.surface.phi_c[self.grid.interior][0], self.grid)
        potential = 0.5 * DENSITY * GRAVITY * float(np.mean((surface - surface.mean()) ** 2))
        return kinetic + potential, 2.0 * float(np.mean((surface - DEPTH) * self.mode))


def simulate(cells: int, periods: float, frame_rate: float = 30.0, seed: int | None = None, **time: float) -> Wave:
    """seed: of steps between 0.3 and 1 times 0.02 s, or what the limits allow, which nobody has planned."""
    tank = Tank(cells, frame_rate=frame_rate, **time)
    sim = tank.sim
    random = None if seed is None else np.random.default_rng(seed)
    times, energies, amplitudes = [], [], []
    while sim.time < periods * PERIOD:
        target = sim.next_frame_time()
        if random is not None:
            shorter = sim.time + LONGEST * random.uniform(0.3, 1.0)
            target = shorter if target - shorter > 0.1 * LONGEST else target
        for report in sim.steps(until=target):
            energy, amplitude = tank.measure(report.ledger["kinetic_energy"])
            times.append(sim.time)
            energies.append(energy)
            amplitudes.append(amplitude)
    t, energy_t, a = np.array(times), np.array(energies), np.array(amplitudes)
    before = np.nonzero(a[:-1] * a[1:] < 0.0)[0]
    if len(before) < 2:
        return Wave(float("nan"), float("nan"))
    zeros = t[before] + (t[before + 1] - t[before]) * a[before] / (a[before] - a[before + 1])
    start = 0.25 * DENSITY * GRAVITY * AMPLITUDE**2
    last = t > (periods - 0.5) * PERIOD
    return Wave(float(energy_t[last].mean() / start), float(2.0 * np.diff(zeros).mean() / PERIOD))


def fall(**time: float) -> float:
    """What a ball above water has fallen after 0.1 s [m]."""
    above = {
        "water": ut.Water(shape=ut.Plane(normal=[0, 1]), position=[0.5, 0.3]),
        "ball": ut.RigidBody(shape=ut.Sphere(radius=0.1), position=[0.5, 0.8], density=500.0),
    }
    sim = ut.Simulation(
        ut.Scene(
            name="fall", coupling="monolithic", domain=ut.Domain(upper=[1.0, 1.0], resolution=32),
            time=ut.Time(end=1.0, **time), fluid=ut.Fluid(material="water", viscosity=0.0), objects=above,
        )
    )  # fmt: skip
    sim.advance_to(0.1)
    return float(0.8 - sim.body("ball").position[1])


def run(full: bool = False, cells: int = 64, periods: float = 10.0, sequences: int | None = None) -> Iterator[Quantity]:
    """Ten periods at 64 cells: even steps, those of a CFL number at three frame rates, random ones."""
    count = sequences or (SEQUENCES if full else 4)
    even = simulate(cells, periods, frame_rate=1.0 / EVEN, max_step=EVEN)
    rates = {rate: simulate(cells, periods, rate) for rate in (24, 30, 60)}
    random = [simulate(cells, periods, seed=seed) for seed in range(count)]
    waves = [even, *rates.values(), *random]
    energies, found = [wave.energy for wave in waves], [wave.period for wave in waves]
    # comparisons with NaN are false: a wave that never swung fails
    yield quantity("energy_least", float(np.min(energies)), even=even.energy, sequences=count, energies=energies)
    yield quantity("energy_most", float(np.max(energies)))
    yield quantity("period_shortest", float(np.min(found)), periods=found)
    yield quantity("period_longest", float(np.max(found)))
    energy, period = (np.array(values) for values in zip(*rates.values(), strict=True))
    yield quantity("energy_of_frame_rates", float(np.ptp(energy) / energy.mean()), energies=energy.tolist())
    yield quantity("period_of_frame_rates", float(np.ptp(period) / period.mean()), periods=period.tolist())
    yield quantity("fall", fall(), finer=fall(max_step=0.004))
