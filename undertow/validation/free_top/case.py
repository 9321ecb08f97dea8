"""Torque-free tops: momentum and energy over 10,000 steps at 30 Hz, and the order of the updates against Jacobi."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from undertow.geometry import Sphere
from undertow.solids import SolidsWorld
from undertow.validation.analysis import Array, Quantity, observed_order, quantity

TOP = (np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0]))
"""Principal moments [kg m2] and angular velocity at the start [rad/s]."""

SHARD = (np.array([0.02, 1.0, 1.01]), np.array([400.0, 300.0, 200.0]))
"""A thin shard that turns 2.9 times per step of 1/30 s."""

FRAME = 1.0 / 30.0
STEPS = 10_000
SMOKE = {"STEPS": 100}


def fly(inertia: Array, omega: Array, order: int, fix: bool) -> SolidsWorld:
    """A body of these moments [kg m2] alone in space, that spins [rad/s]."""
    world = SolidsWorld(gravity=(0.0, 0.0, 0.0), orientation_order=order, energy_fix=fix)
    world.add("top", Sphere(0.1), density=1000.0, inertia=inertia, angular_velocity=omega)
    return world


def drift(inertia: Array, omega: Array, order: int, steps: int, dt: float = FRAME) -> tuple[float, float]:
    """Largest relative drift of I omega (vector) and of the energy over a flight with the energy fix."""
    world = fly(inertia, omega, order, True)
    momentum, energy = inertia * omega, 0.5 * float(inertia @ omega**2)
    worst_momentum = worst_energy = 0.0
    for _ in range(steps):
        world.step(dt)
        R = world.bodies.shape_pose(0)[1]
        now = world.bodies.omega_b[0]
        found = R @ (inertia * (R.T @ now))
        worst_momentum = max(worst_momentum, float(np.linalg.norm(found - momentum) / np.linalg.norm(momentum)))
        worst_energy = max(worst_energy, abs(0.5 * float(now @ found) / energy - 1.0))
    return worst_momentum, worst_energy


def exact_omega(inertia: Array, omega: Array, times: Array) -> Array:
    """Angular velocity in the body (n, 3) [rad/s] of a top with I1 < I2 < I3 and L^2 > 2 E I2, by Jacobi's functions.

    Landau and Lifshitz, Mechanics, section 37.
    """
    from scipy.special import ellipj, ellipkinc

    I1, I2, I3 = inertia
    energy2, L2 = float(inertia @ omega**2), float(inertia**2 @ omega**2)
    assert I1 < I2 < I3 and energy2 * I2 < L2
    amplitude = np.sqrt(
        [
            (energy2 * I3 - L2) / (I1 * (I3 - I1)),
            (energy2 * I3 - L2) / (I2 * (I3 - I2)),
            (L2 - energy2 * I1) / (I3 * (I3 - I1)),
        ]
    )
    m = (I2 - I1) * (energy2 * I3 - L2) / ((I3 - I2) * (L2 - energy2 * I1))
    rate = np.sqrt((I3 - I2) * (L2 - energy2 * I1) / (I1 * I2 * I3))
    phase = ellipkinc(np.arctan2(omega[1] / amplitude[1], omega[0] / amplitude[0]), m)
    sn, cn, dn, _ = ellipj(rate * np.asarray(times) + phase, m)
    return np.column_stack([amplitude[0] * cn, amplitude[1] * sn, np.sign(omega[2]) * amplitude[2] * dn])


def exact_rotation(inertia: Array, omega: Array, end: float) -> Array:
    """Rotation (3, 3), I at the start: Euler angles about L from Jacobi's functions, the precession by quadrature."""
    from scipy.integrate import quad

    L = float(np.linalg.norm(inertia * omega))

    def precession(t: float) -> float:
        w = exact_omega(inertia, omega, np.array([t]))[0]
        i1, i2 = inertia[:2]
        return float(L * (i1 * w[0] ** 2 + i2 * w[1] ** 2) / (i1**2 * w[0] ** 2 + i2**2 * w[1] ** 2))

    def about_L(t: float, phi: float) -> Array:
        mx, my, mz = inertia * exact_omega(inertia, omega, np.array([t]))[0] / L
        theta, psi = np.arccos(mz), np.arctan2(mx, my)
        return _about(2, phi) @ _about(0, theta) @ _about(2, psi)

    phi, _ = quad(precession, 0.0, end, epsabs=1e-13, epsrel=1e-13, limit=400)
    return about_L(0.0, 0.0).T @ about_L(end, phi)


def _about(axis: int, angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R


def orders(order: int, fix: bool, end: float = 5.0) -> dict[str, Any]:
    """Observed order of the rotation (angle) and of the angular velocity in the body at ``end``."""
    inertia, omega = TOP
    exact_R, exact_w = exact_rotation(inertia, omega, end), exact_omega(inertia, omega, np.array([end]))[0]
    steps = [200, 400, 800, 1600]
    angles, rates = [], []
    for n in steps:
        world = fly(inertia, omega, order, fix)
        for _ in range(n):
            world.step(end / n)
        R = world.bodies.shape_pose(0)[1]
        w = R.T @ world.bodies.omega_b[0]
        # |R - Q|_F = 2 sqrt(2) sin(angle / 2): does not lose small angles as the trace does
        angles.append(float(2 * np.arcsin(np.linalg.norm(R - exact_R) / np.sqrt(8.0))))
        rates.append(float(np.linalg.norm(w - exact_w)))
    return {
        "steps": steps,
        "angles": angles,
        "order_rotation": observed_order(steps, angles),
        "order_omega": observed_order(steps, rates),
    }


def run(full: bool = False) -> Iterator[Quantity]:
    """Drifts of both bodies, the worst of the three updates, and the orders without the fix and with it."""
    steps = 100_000 if full else STEPS
    for name, (inertia, omega) in (("top", TOP), ("shard", SHARD)):
        drifts = np.array([drift(inertia, omega, order, steps) for order in (1, 2, 3)])
        yield quantity(f"momentum_{name}", float(drifts[:, 0].max()), steps=steps, by_order=drifts[:, 0].tolist())
        yield quantity(f"energy_{name}", float(drifts[:, 1].max()), steps=steps, by_order=drifts[:, 1].tolist())
    for order in (1, 2, 3):
        for name, fix in ((f"order_{order}", False), (f"order_{order}_with_fix", True)):
            found = orders(order, fix)
            yield quantity(name, min(found["order_rotation"], found["order_omega"]), info=fix, **found)
