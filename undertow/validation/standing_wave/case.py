"""A standing wave of finite slope with even, CFL-driven and random steps, with and without bodies: energy and period;
free fall; the order of bodies in water and in a tank; vortices that drift through a tank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

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
SMOKE = {"PERIOD": 0.02, "SWING": 0.08}
LONGEST = 0.02
"""Of random steps [s]."""
SWING = 0.8
"""About the period of a box that heaves, and that of the force on a ball in a tank [s]."""
AFLOAT = ut.RigidBody(shape=ut.Box(size=[0.2, 0.1]), position=[0.3, DEPTH], density=500.0)
ON_FLOOR = ut.RigidBody(shape=ut.Box(size=[0.2, 0.1]), position=[0.3, 0.0501], density=5000.0)


class Wave(NamedTuple):
    """energy: over that of the start, mean of the last half period; period: over that of linear theory."""

    energy: float
    period: float


class Tank:
    """A tank one metre wide whose surface starts at 0.5 m + a cos(pi x), with bodies in it."""

    def __init__(self, cells: int, body: ut.RigidBody | None = None, **time: Any) -> None:
        bodies = {} if body is None else {"body": body}
        self.sim = ut.Simulation(
            ut.Scene(
                name="standing-wave", domain=ut.Domain(upper=[1.0, 0.75], resolution=cells),
                coupling="monolithic" if bodies else "none",
                time=ut.Time(end=1000.0, **time), fluid=ut.Fluid(density=DENSITY, viscosity=0.0),
                objects={"water": ut.Water(shape=ut.Plane(normal=[0, 1]), position=[0.5, DEPTH]), **bodies},
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

    def reports(self, periods: float, seed: int | None) -> Iterator[ut.StepReport]:
        """seed: of steps between 0.3 and 1 times 0.02 s, or what the limits allow, which nobody has planned."""
        sim, random = self.sim, None if seed is None else np.random.default_rng(seed)
        while sim.time < periods * PERIOD:
            target = sim.next_frame_time()
            if random is not None:
                shorter = sim.time + LONGEST * random.uniform(0.3, 1.0)
                target = shorter if target - shorter > 0.1 * LONGEST else target
            yield from sim.steps(until=target)

    def measure(self, kinetic: float) -> tuple[float, float]:
        """Kinetic and potential energy [J/m], and amplitude of the mode [m], of the present time."""
        surface = height(self.surface.phi_c[self.grid.interior][0], self.grid)
        potential = 0.5 * DENSITY * GRAVITY * float(np.mean((surface - surface.mean()) ** 2))
        return kinetic + potential, 2.0 * float(np.mean((surface - DEPTH) * self.mode))


def simulate(cells: int, periods: float, frame_rate: float = 30.0, seed: int | None = None, **time: Any) -> Wave:
    """seed: as of ``Tank.reports``."""
    tank = Tank(cells, frame_rate=frame_rate, **time)
    times, energies, amplitudes = [], [], []
    for report in tank.reports(periods, seed):
        energy, amplitude = tank.measure(report.ledger["kinetic_energy"])
        times.append(report.time)
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


def peaks(cells: int, periods: int, body: ut.RigidBody, seed: int | None = None, **time: float) -> list[float]:
    """Largest kinetic energy of water and body in every period over that in the first."""
    found: list[list[float]] = [[] for _ in range(periods)]
    for report in Tank(cells, body, **time).reports(periods, seed):
        energy = report.ledger["kinetic_energy"] + report.ledger["kinetic_energy_solids"]
        found[min(int(report.time / PERIOD), periods - 1)].append(energy)
    highest = [max(row, default=float("nan")) for row in found]
    return [energy / highest[0] for energy in highest]


def fall(**time: float) -> float:
    """What a ball above water has fallen after 0.1 s [m]."""
    sim = _box("fall", [0.0, -9.81], 32, 0.3, _ball(0.1, 0.8, 500.0), **time)
    sim.advance_to(0.1)
    return float(0.8 - sim.body("ball").position[1])


def _ball(radius: float, height: float, density: float, **more: object) -> ut.RigidBody:
    return ut.RigidBody(shape=ut.Sphere(radius=radius), position=[0.5, height], density=density, **more)


def _box(name: str, gravity: list[float], cells: int, depth: float, body: ut.RigidBody, **time: float) -> ut.Simulation:
    """A body in a box of one metre, with water up to a depth [m], or full of fluid (depth 0)."""
    pool = {"water": ut.Water(shape=ut.Plane(normal=[0, 1]), position=[0.5, depth])} if depth else {}
    fluid = ut.Fluid(density=DENSITY, viscosity=0.0, tolerance=1e-10)
    return ut.Simulation(
        ut.Scene(
            name=name, coupling="monolithic", gravity=gravity, domain=ut.Domain(upper=[1.0, 1.0], resolution=cells),
            time=ut.Time(end=1.0, **time), fluid=fluid, objects={**pool, "ball": body},
        )
    )  # fmt: skip


def orders(gravity: list[float], depth: float, body: ut.RigidBody, fewest: int = 16) -> tuple[float, float]:
    """Orders in the step of height and vertical velocity after three quarters of a swing: steps of a 16th of it, halved
    twice. The motion is small, so that transport, which is of first order, has no part in it."""
    found = []
    for count in (fewest, 2 * fewest, 4 * fewest):
        sim = _box("swing", gravity, 24, depth, body, frame_rate=count / SWING, fixed_step=SWING / count)
        sim.advance_to(0.75 * SWING)
        state = sim.body("ball")
        found.append([state.position[1], state.velocity[1]])
    first, second = np.abs(np.diff(np.array(found), axis=0))
    height_order, speed_order = np.log2(first / second)
    return float(height_order), float(speed_order)


class Drift(NamedTuple):
    """error: of the velocity [m/s], root mean square; energy: over that of the start."""

    error: float
    energy: float


def drift(cells: int) -> Drift:
    """Taylor and Green's vortices, which drift at 0.5 m/s through a periodic tank in half a second, with a neutral disc
    at the centre of one, at a CFL number of about one; the error is that of the others.

    The vortices are steady where they are at rest: u = sin(2 pi x) cos(2 pi y), v = -cos(2 pi x) sin(2 pi y).
    """
    speed, end = 0.5, 0.5
    count = round(end * cells / 0.64)
    sides = {name: "periodic" for name in ("x_low", "x_high", "y_low", "y_high")}
    disc = ut.RigidBody(shape=ut.Sphere(radius=0.06), position=[0.25, 0.25], density=DENSITY, velocity=[speed, 0.0])
    sim = ut.Simulation(
        ut.Scene(
            name="drift", coupling="monolithic", gravity=[0.0, 0.0],
            domain=ut.Domain(upper=[1.0, 1.0], resolution=cells, sides=sides),
            time=ut.Time(end=1.0, fixed_step=end / count, frame_rate=count / end),
            fluid=ut.Fluid(density=DENSITY, viscosity=0.0, tolerance=1e-8), objects={"disc": disc},
        )
    )  # fmt: skip

    def vortices(x: Any, y: Any, z: Any) -> Any:
        return speed + np.sin(2 * K * x) * np.cos(2 * K * y), -np.cos(2 * K * x) * np.sin(2 * K * y), 0.0 * x

    sim.set_velocity(vortices)
    energies = [row.ledger["kinetic_energy"] + row.ledger["kinetic_energy_solids"] for row in sim.steps(end)]
    middle = (np.arange(32) + 0.5) / 32
    x, y = (axis.ravel() for axis in np.meshgrid(middle, middle))
    away = np.hypot((x - 0.25 - speed * end + 0.5) % 1.0 - 0.5, y - 0.25) > 0.25
    found = sim.sample("velocity", np.column_stack([x, y])[away])[:, :2]
    exact = np.column_stack(vortices(x - speed * end, y, 0.0)[:2])[away]
    return Drift(float(np.sqrt(np.mean((found - exact) ** 2))), energies[-1] / energies[0])


def run(full: bool = False, cells: int = 64, periods: float = 10.0, sequences: int | None = None) -> Iterator[Quantity]:
    """Ten periods at 64 cells: even steps, those of a CFL number at three frame rates, random ones; with bodies at
    half of the cells."""
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
    afloat = [
        peaks(cells // 2, int(periods), AFLOAT, **time)
        for time in ({"frame_rate": 1.0 / EVEN, "max_step": EVEN}, {}, *({"seed": seed} for seed in range(count)))
    ]
    lying = peaks(cells // 2, int(periods), ON_FLOOR)
    yield quantity("afloat_most", float(np.max([row[1:] for row in afloat])), energies=afloat)
    yield quantity("afloat_least", float(np.min([row[-1] for row in afloat])))
    yield quantity("on_floor_most", float(np.max(lying[1:])), energies=lying)
    heave = ut.RigidBody(shape=ut.Box(size=[0.4, 0.2]), position=[0.5, 0.505], density=500.0)
    shake = {"mean": [0.0, 0.0], "amplitude": [0.0, 2.0], "frequency": 1.0 / SWING, "phase": 0.0}
    shaken = _ball(0.12, 0.55, 1500.0, loads=[{"type": "force", "force": shake}])
    for name, order in (("heave", orders([0.0, -9.81], 0.5, heave)), ("shaken", orders([0.0, 0.0], 0.0, shaken))):
        yield quantity(f"{name}_order_position", order[0])
        yield quantity(f"{name}_order_velocity", order[1])
    coarse, fine = drift(cells // 2), drift(cells)
    yield quantity("drift_order", float(np.log2(coarse.error / fine.error)), errors=[coarse.error, fine.error])
    yield quantity("drift_energy_least", fine.energy, coarse=coarse.energy)
    yield quantity("drift_energy_most", max(coarse.energy, fine.energy))
