"""Two uniform rods hinged to each other and to the world, released level: against the equations of motion."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Array, Quantity, observed_order, quantity

LENGTH = 1.0
WIDTH = 0.02
MASS = 1.0
GRAVITY = 9.81
END = 2.0

SMOKE = {"END": 0.1}


def make(rate: int, seconds: float) -> ut.Simulation:
    """The rods lie along x, the first one hinged to the world at the origin."""
    rod = ut.Box(size=(LENGTH, WIDTH, WIDTH))
    objects = {
        name: ut.RigidBody(shape=rod, position=((i + 0.5) * LENGTH, 0.0, 0.0), mass=MASS)
        for i, name in enumerate(("upper", "lower"))
    } | {
        "pivot": ut.Joint(kind="hinge", child="upper", position=(0.0, 0.0, 0.0)),
        "elbow": ut.Joint(kind="hinge", parent="upper", child="lower", position=(LENGTH, 0.0, 0.0)),
    }
    time = ut.Time(end=seconds, fixed_step=1.0 / rate)
    return ut.Simulation(ut.Scene(name="double-pendulum", time=time, objects=objects, solids=ut.Solids()))


def ends(sim: ut.Simulation) -> Array:
    """Both ends of both rods (2, 2, 3) [m]."""
    rods = [sim.body(name) for name in ("upper", "lower")]
    half = [0.5 * LENGTH * rod.matrix[:, 0] for rod in rods]
    return np.array([[rod.position - h, rod.position + h] for rod, h in zip(rods, half, strict=True)])


def gap(points: Array) -> float:
    """Largest distance between points that are joined, relative to the length of a rod."""
    (a, b), (c, _) = points
    return float(max(np.linalg.norm(a), np.linalg.norm(c - b)) / LENGTH)


def reference(times: Array) -> Array:
    """Tip of the lower rod (n, 2) [m] from the equations of motion; angles from the vertical, d = a - b, and c the
    moment of inertia of a rod about its middle over m l^2:

    (c + 5/4) a'' + 1/2 cos d b'' + 1/2 sin d b'^2 + 3/2 g/l sin a = 0
    1/2 cos d a'' + (c + 1/4) b'' - 1/2 sin d a'^2 + 1/2 g/l sin b = 0
    """
    from scipy.integrate import solve_ivp

    inertia = (1.0 + (WIDTH / LENGTH) ** 2) / 12.0

    def rates(_: float, y: Array) -> list[float]:
        a, b, da, db = y
        c, s = np.cos(a - b), np.sin(a - b)
        right = [
            -0.5 * s * db**2 - 1.5 * GRAVITY / LENGTH * np.sin(a),
            0.5 * s * da**2 - 0.5 * GRAVITY / LENGTH * np.sin(b),
        ]
        return [da, db, *np.linalg.solve([[inertia + 1.25, 0.5 * c], [0.5 * c, inertia + 0.25]], right)]

    level = [np.pi / 2, np.pi / 2, 0.0, 0.0]
    y = solve_ivp(rates, (0.0, times[-1]), level, "DOP853", times, rtol=1e-12, atol=1e-12).y
    return LENGTH * np.stack([np.sin(y[0]) + np.sin(y[1]), -np.cos(y[0]) - np.cos(y[1])], axis=1)


def simulate(rate: int, seconds: float) -> tuple[Array, float, float]:
    """Tip at every step (n + 1, 2) [m], largest gap, largest change of energy [J]; ``rate`` steps per second."""
    sim = make(rate, seconds)
    tips, largest, change, start = [ends(sim)[1, 1, :2]], 0.0, 0.0, None
    for _ in range(round(seconds * rate)):
        ledger = sim.step().details
        points = ends(sim)
        tips.append(points[1, 1, :2])
        largest = max(largest, gap(points))
        start = ledger.kinetic_before + ledger.potential_before if start is None else start
        change = max(change, abs(ledger.kinetic_after + ledger.potential_after - start))
    return np.array(tips), largest, change


def run(full: bool = False) -> Iterator[Quantity]:
    """Order of the largest distance of the tip from the reference over 2 s, and drift of the joints over 60 s."""
    rates = [60, 120, 240, 480]
    errors = []
    for rate in rates:
        tips, _, _ = simulate(rate, END)
        errors.append(float(np.linalg.norm(tips - reference(np.arange(len(tips)) / rate), axis=1).max()))
    yield quantity("order", observed_order(rates, errors), steps_per_second=rates, errors=errors)
    _, largest, change = simulate(120, 60.0)
    scale = 2 * MASS * GRAVITY * LENGTH
    yield quantity("drift", largest, steps_per_second=120, energy_change=change / scale)
