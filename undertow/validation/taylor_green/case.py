"""Decaying Taylor-Green vortices in the periodic unit box: u = sin(kx) cos(ky), v = -cos(kx) sin(ky), k = 2 pi."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, observed_order, quantity

K = 2 * np.pi
NU = 0.01
END = 0.5


def advance(n: int, time_step: float, advection: str, stepper: str) -> tuple[ut.Simulation, float]:
    """The simulation at END and the mean decay rate of its kinetic energy [1/s]."""
    scene = ut.Scene(
        name="taylor-green",
        gravity=(0.0, 0.0),
        domain=ut.Domain(
            upper=(1.0, 1.0),
            resolution=n,
            sides={side: "periodic" for side in ("x_low", "x_high", "y_low", "y_high")},
        ),
        time=ut.Time(end=END, frame_rate=1 / END, fixed_step=time_step, stepper=stepper),
        fluid=ut.Fluid(
            density=1.0, viscosity=NU, advection=advection, limiter=advection != "maccormack", tolerance=1e-8
        ),
    )
    sim = ut.Simulation(scene)
    sim.set_velocity(vortices)
    start = sim.flow.ledger()["kinetic_energy"]
    report = sim.advance_to(END)
    assert report is not None
    return sim, float(-np.log(report.ledger["kinetic_energy"] / start) / END)


def simulate(n: int, time_step: float, advection: str, stepper: str) -> tuple[float, float]:
    """L2 error of the velocity at END and the mean decay rate of the kinetic energy [1/s]."""
    sim, rate = advance(n, time_step, advection, stepper)
    decay = np.exp(-2 * K * K * NU * END)
    centres = (np.arange(n) + 0.5) / n
    faces = np.arange(n) / n
    square = 0.0
    for axis in (0, 1):
        x, y = np.meshgrid(faces if axis == 0 else centres, centres if axis == 0 else faces)
        found = sim.sample("velocity", np.column_stack([x.ravel(), y.ravel()]))[:, axis]
        exact = np.asarray(vortices(x, y, np.zeros_like(x))[axis]).ravel() * decay
        square += float(np.mean((found - exact) ** 2))
    return float(np.sqrt(square)), rate


def order_of_steps(advection: str) -> tuple[float, list[float]]:
    """Order of the second-order stepper in dt alone, on one grid: L2 differences of the velocity from a fine dt."""
    n, counts = 32, [32, 64, 128]
    fine = advance(n, END / 1024, advection, "second_order")[0].state.u
    errors = []
    for count in counts:
        u = advance(n, END / count, advection, "second_order")[0].state.u
        errors.append(float(np.sqrt(np.mean((u - fine) ** 2))))
    return observed_order(counts, errors), errors


def vortices(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The initial velocity [m/s]."""
    return np.sin(K * x) * np.cos(K * y), -np.cos(K * x) * np.sin(K * y), 0.0


def run(full: bool = False) -> Iterator[Quantity]:
    """Order in space with dt ~ dx^2, order in time at a fixed CFL number of 0.5, decay rate of the energy."""
    sizes = [32, 64, 128, 256] if full else [32, 64, 128]
    for advection in ("eno3", "maccormack"):
        errors = [simulate(n, 8.0 / n**2, advection, "first_order")[0] for n in sizes]
        yield quantity(f"order_space_{advection}", observed_order(sizes, errors), cells=sizes, errors=errors)
    sizes = [32, 64, 128]
    results = [simulate(n, 0.5 / n, "eno3", "second_order") for n in sizes]
    errors = [error for error, _ in results]
    yield quantity("order_time", observed_order(sizes, errors), cells=sizes, errors=errors)
    yield quantity("energy_decay_rate", results[1][1], cells=64)
    for advection in ("eno3", "maccormack"):
        order, errors = order_of_steps(advection)
        # MacCormack interpolates anew in every step, so that its error in space depends on dt: reported, not judged
        yield quantity(f"order_dt_{advection}", order, info=advection == "maccormack", cells=32, errors=errors)
