"""The elastic flag of Turek and Hron without fluid: CSM1, CSM2 (at rest under gravity) and CSM3 (let go)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, frequency, quantity

GRAVITY = 2.0
SOFT, STIFF = 1.4e6, 5.6e6
"""Young's moduli of CSM1 and CSM3, and of CSM2 [Pa]."""
FINE, COARSE = 0.02 / 6, 0.02 / 4
"""Sizes of elements [m]: at rest, and in motion."""
REST, REST_STEP, LONGEST = 1e-5, 0.25, 100
"""At rest: A moves by less than this part of its deflection in a step of so many seconds; at most so many steps."""
SMOKE = {"FINE": 0.01, "COARSE": 0.01, "LONGEST": 2}


def make(modulus: float, size: float, stepper: str, step: float | None) -> tuple[ut.Simulation, int]:
    """The flag clamped to the cylinder of radius 0.05 m at (0.2, 0.2) m, and its node A = (0.6, 0.2) m."""
    flag = ut.SoftBody(
        shape=ut.Box(size=(0.36, 0.02)), position=(0.42, 0.2), element_size=size, density=1000.0,
        youngs_modulus=modulus, poisson_ratio=0.4, model="stvk",
        holds=(ut.Hold(shape=ut.Sphere(radius=0.0501), position=(0.2, 0.2)),),
    )  # fmt: skip
    scene = ut.Scene(
        name="csm", gravity=(0.0, -GRAVITY), time=ut.Time(end=1000.0, frame_rate=1.0, fixed_step=step),
        soft=ut.Soft(stepper=stepper, tolerance=1e-5), objects={"flag": flag},
    )  # fmt: skip
    sim = ut.Simulation(scene)
    away = sim.nodes("flag").position[:, :2] - [0.6, 0.2]
    return sim, int(np.argmin((away**2).sum(axis=1)))


def settle(modulus: float, size: float) -> tuple[float, float]:
    """Displacement (x, y) of A at rest [mm], by backward Euler in long steps."""
    sim, a = make(modulus, size, "implicit", REST_STEP)
    start = before = sim.nodes("flag").position[a, :2].copy()
    for _ in range(LONGEST):
        sim.step()
        now = sim.nodes("flag").position[a, :2].copy()
        if np.abs(now - before).max() < REST * np.abs(now - start).max():
            break
        before = now
    else:
        return float("nan"), float("nan")
    return float(1e3 * (now - start)[0]), float(1e3 * (now - start)[1])


def swing(stepper: str, size: float, step: float | None, end: float) -> tuple[np.ndarray, np.ndarray]:
    """Times [s] and displacement (n, 2) of A [mm] from rest in the straight."""
    sim, a = make(SOFT, size, stepper, step)
    start = sim.nodes("flag").position[a, :2].copy()
    times, path = [], []
    for report in sim.steps(until=end):
        times.append(report.time)
        path.append(1e3 * (sim.nodes("flag").position[a, :2] - start))
    return np.array(times), np.array(path)


def run(full: bool = False) -> Iterator[Quantity]:
    """At rest; in motion for 4 s in steps of 1 ms (full: 10 s in steps of 0.5 ms on the finer mesh); the first swing by
    the explicit stepper."""
    for case, modulus in (("csm1", SOFT), ("csm2", STIFF)):
        x, y = settle(modulus, FINE)
        yield quantity(f"{case}_x", x)
        yield quantity(f"{case}_y", y)
    times, path = swing("implicit", *((FINE, 5e-4, 10.0) if full else (COARSE, 1e-3, 4.0)))
    # backward Euler takes from the motion: mean and amplitude are those of the first period, as from rest to rest
    first = times <= times[0] + 1.0
    for i, axis in enumerate("xy"):
        low, high = float(path[first, i].min()), float(path[first, i].max(initial=0.0))
        yield quantity(f"csm3_{axis}_mean", 0.5 * (low + high))
        yield quantity(f"csm3_{axis}_amplitude", 0.5 * (high - low))
    yield quantity("csm3_frequency", frequency(times, path[:, 1]))
    last = np.ptp(path[times > times[-1] - 1.0, 1]) / np.ptp(path[first, 1])
    yield quantity("csm3_kept", float(last), info=True, seconds=float(times[-1]))
    _, path = swing("newmark", COARSE, None, 0.5)
    yield quantity("csm3_newmark_lowest", float(path[:, 1].min()))
