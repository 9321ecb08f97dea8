"""DFG benchmarks 2D-1 (Re 20, steady) and 2D-2 (Re 100, shedding): a cylinder in a channel, off the middle."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, extreme, frequency, quantity

HEIGHT = 0.41
DIAMETER = 0.1


def simulate(n: int, peak: float, end: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, drag and lift coefficients with n cells per channel height."""
    scene = ut.Scene(
        name="dfg-cylinder",
        gravity=(0.0, 0.0),
        domain=ut.Domain(
            upper=(2.2, HEIGHT),
            resolution=n,
            resolution_along="y",
            sides={
                "x_low": ut.Inflow(velocity=(peak, 0.0), profile="parabolic", slip=False),
                "x_high": "outflow",
            },
        ),
        time=ut.Time(end=end, frame_rate=10.0, cfl=0.8, stepper="second_order"),
        fluid=ut.Fluid(density=1.0, viscosity=1e-3, advection="eno3", tolerance=1e-5),
        objects={"cylinder": ut.RigidBody(shape=ut.Sphere(radius=DIAMETER / 2), position=(0.2, 0.2))},
    )
    sim = ut.Simulation(scene)
    sim.set_velocity(lambda x, y, z: (4 * peak * y * (HEIGHT - y) / HEIGHT**2, 0.0, 0.0))
    mean = 2 * peak / 3
    scale = 2 / (mean**2 * DIAMETER)
    history = []
    while sim.time < end:
        sim.step()
        force = sim.body("cylinder").force
        history.append((sim.time, scale * force[0], scale * force[1]))
    times, drag, lift = np.array(history).T
    return times, drag, lift


def run(full: bool = False) -> Iterator[Quantity]:
    """Drag of 2D-1 on two grids, Strouhal number and largest drag of 2D-2."""
    for n in (64, 128):
        _, drag, lift = simulate(n, 0.3, 3.0)
        change = drag[-1] - drag[-len(drag) // 10]
        yield quantity(f"cd_{n}", drag[-1], cells_per_height=n, cl=lift[-1], change_last_tenth=change)
    times, drag, lift = simulate(128, 1.5, 6.0)
    late = times > 4.5
    mean = 1.0
    yield quantity("strouhal_128", frequency(times[late], lift[late]) * DIAMETER / mean, cells_per_height=128)
    yield quantity("cd_max_128", extreme(drag[late], largest=True), cl_max=float(lift[late].max()))
