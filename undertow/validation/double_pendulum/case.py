"""Two uniform rods hinged to each other and to the world, released level: against the equations of motion."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.geometry import Sphere
from undertow.grid import Array
from undertow.rigid.bodies import RigidBodies, rotation_matrix_of
from undertow.rigid.joints import Joints
from undertow.rigid.shapes import CollisionShapes
from undertow.solids import Solids
from undertow.validation.analysis import Quantity, observed_order, quantity

LENGTH = 1.0
MASS = 1.0
GRAVITY = 9.81
END = 2.0


def make() -> Solids:
    """The rods lie along x, the first one hinged to the world at the origin."""
    bodies, shapes = RigidBodies(), CollisionShapes()
    shape = shapes.add(Sphere(0.01))
    inertia = MASS * LENGTH**2 * np.array([1e-3, 1 / 12, 1 / 12])
    for i, name in enumerate(("upper", "lower")):
        position = np.array([(i + 0.5) * LENGTH, 0.0, 0.0])
        bodies.add(name, shape, position, np.array([1.0, 0.0, 0.0, 0.0]), MASS, inertia)
    joints = Joints(bodies)
    joints.add("pivot", "hinge", None, "upper", (0.0, 0.0, 0.0))
    joints.add("elbow", "hinge", "upper", "lower", (LENGTH, 0.0, 0.0))
    return Solids(bodies, shapes, joints=joints)


def ends(bodies: RigidBodies) -> Array:
    """Both ends of both rods (2, 2, 3) [m]."""
    half = [0.5 * LENGTH * rotation_matrix_of(q)[:, 0] for q in bodies.q_b]
    return np.array([[x - h, x + h] for x, h in zip(bodies.x_b, half, strict=True)])


def gap(bodies: RigidBodies) -> float:
    """Largest distance between points that are joined, relative to the length of a rod."""
    (a, b), (c, _) = ends(bodies)
    return float(max(np.linalg.norm(a), np.linalg.norm(c - b)) / LENGTH)


def energy(bodies: RigidBodies) -> float:
    """Kinetic and potential energy [J]."""
    kinetic = 0.5 * float((bodies.p_b * bodies.v_b).sum() + (bodies.L_b * bodies.omega_b).sum())
    return kinetic + GRAVITY * float(bodies.mass_b @ bodies.x_b[:, 1])


def reference(times: Array) -> Array:
    """Tip of the lower rod (n, 2) [m] from the equations of motion; angles from the vertical, d = a - b:

    4/3 a'' + 1/2 cos d b'' + 1/2 sin d b'^2 + 3/2 g/l sin a = 0
    1/2 cos d a'' + 1/3 b'' - 1/2 sin d a'^2 + 1/2 g/l sin b = 0
    """
    from scipy.integrate import solve_ivp

    def rates(_: float, y: Array) -> list[float]:
        a, b, da, db = y
        c, s = np.cos(a - b), np.sin(a - b)
        right = [
            -0.5 * s * db**2 - 1.5 * GRAVITY / LENGTH * np.sin(a),
            0.5 * s * da**2 - 0.5 * GRAVITY / LENGTH * np.sin(b),
        ]
        return [da, db, *np.linalg.solve([[4 / 3, 0.5 * c], [0.5 * c, 1 / 3]], right)]

    level = [np.pi / 2, np.pi / 2, 0.0, 0.0]
    y = solve_ivp(rates, (0.0, times[-1]), level, "DOP853", times, rtol=1e-12, atol=1e-12).y
    return LENGTH * np.stack([np.sin(y[0]) + np.sin(y[1]), -np.cos(y[0]) - np.cos(y[1])], axis=1)


def simulate(rate: int, seconds: float) -> tuple[Array, float, float]:
    """Tip at every step (n + 1, 2) [m], largest gap, largest change of energy [J]; ``rate`` steps per second."""
    solids = make()
    bodies, dt = solids.bodies, 1.0 / rate
    tips, largest, change, start = [ends(bodies)[1, 1, :2]], 0.0, 0.0, energy(bodies)
    for n in range(round(seconds * rate)):
        solids.step(n * dt, dt)
        tips.append(ends(bodies)[1, 1, :2])
        largest = max(largest, gap(bodies))
        change = max(change, abs(energy(bodies) - start))
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
