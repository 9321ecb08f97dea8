"""The elastic flag of Turek and Hron without fluid: CSM1, CSM2 (at rest under gravity) and CSM3 (let go)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.soft import Elastic, ImplicitMidpoint, SoftBodies, find_equilibrium
from undertow.soft.meshes import grid_triangles
from undertow.validation.analysis import Quantity, frequency, quantity
from undertow.validation.soft_bodies import DOWN, plane_body

GRAVITY = 2.0


def flag(modulus: float, across: int) -> tuple[SoftBodies, int]:
    """The flag behind the cylinder of radius 0.05 m at (0.2, 0.2) m, clamped to it, and its node A = (0.6, 0.2)."""
    height = 0.02
    x, triangles = grid_triangles((1.0, height), (round(0.35 / height * across), across))
    y = x[:, 1] + 0.2
    start = 0.2 + np.sqrt(0.05**2 - x[:, 1] ** 2)
    x = np.stack([start + (x[:, 0] + 0.5) * (0.6 - start), y, np.zeros(len(x))], axis=1)
    bodies = plane_body(x, triangles, Elastic(1000.0, modulus, 0.4, "stvk"))
    bodies.hold(np.flatnonzero((x[:, 0] - 0.2) ** 2 + (x[:, 1] - 0.2) ** 2 < 0.05**2 * (1 + 1e-9)))
    return bodies, int(np.argmin((x[:, 0] - 0.6) ** 2 + (x[:, 1] - 0.2) ** 2))


def settle(modulus: float, across: int) -> tuple[float, float]:
    """Displacement (x, y) of A at rest [mm]."""
    bodies, a = flag(modulus, across)
    find_equilibrium(bodies, bodies.mass[:, None] * GRAVITY * DOWN, 1e-9, loads=3)
    moved = 1e3 * (bodies.x - bodies.rest)[a]
    return float(moved[0]), float(moved[1])


def swing(across: int, end: float, dt: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Times, displacement (n, 2) of A [mm], change of the energy relative to the work of gravity."""
    bodies, a = flag(1.4e6, across)
    weight = bodies.mass[:, None] * GRAVITY * DOWN
    stepper = ImplicitMidpoint(bodies, 0.02 / across, 1e-4, direct=True)
    steps = round(end / dt)
    path, drift, scale = np.zeros((steps, 2)), 0.0, 1e-300
    force = np.zeros_like(weight)
    for n in range(steps):
        stepper.step(dt, weight)
        path[n] = 1e3 * (bodies.x - bodies.rest)[a, :2]
        work = float((weight * (bodies.x - bodies.rest)).sum())
        scale = max(scale, abs(work))
        drift = max(drift, abs(bodies.kinetic_energy() + bodies.forces.measure(bodies.x, force) - work))
    return dt * np.arange(1, steps + 1), path, drift / scale


def run(full: bool = False) -> Iterator[Quantity]:
    """10 squares across at rest; 8 in motion, for 4 s in steps of 5 ms (full: 10 s in steps of 2 ms)."""
    for case, modulus in (("csm1", 1.4e6), ("csm2", 5.6e6)):
        x, y = settle(modulus, 10)
        yield quantity(f"{case}_x", x)
        yield quantity(f"{case}_y", y)
    times, path, drift = swing(8, 10.0, 0.002) if full else swing(8, 4.0, 0.005)
    for i, axis in enumerate("xy"):
        s = path[:, i]
        low, high = float(s.min()), float(s.max())
        yield quantity(f"csm3_{axis}_mean", 0.5 * (low + high))
        yield quantity(f"csm3_{axis}_amplitude", 0.5 * (high - low), energy_drift=drift)
    yield quantity("csm3_frequency", frequency(times, path[:, 1]))
