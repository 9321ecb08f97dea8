"""A free soft block spins and vibrates without damping: momentum, angular momentum and energy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.soft import Elastic, Leapfrog, Newmark, SoftBodies, make_solid
from undertow.soft.meshes import grid_tetrahedra
from undertow.validation.analysis import Quantity, observed_order, quantity


def block() -> SoftBodies:
    """30 x 20 x 20 cm, off the origin, moving, turning and vibrating."""
    x, cells = grid_tetrahedra((0.3, 0.2, 0.2), (3, 2, 2))
    mass, elements = make_solid("block", x, cells, Elastic(1000.0, 1e4, 0.3, "corotated"))
    bodies = SoftBodies()
    bodies.add("block", x, mass, [elements], cells, cells, closed=True)
    bodies.v[...] = np.cross([3.0, -2.0, 5.0], x) + 0.3 * np.sin(10 * x[:, [1, 2, 0]]) + [0.2, 0.1, -0.3]
    bodies.x += [0.5, 0.2, -0.1]
    return bodies


def spin(scheme: type[Leapfrog | Newmark], steps: int, end: float) -> tuple[float, float, float, float]:
    """Largest errors of momentum, angular momentum and energy at any step, relative; way of the centre over v t."""
    bodies = block()
    stepper, still = scheme(bodies), np.zeros((bodies.count, 3))
    force = np.zeros_like(still)
    p0, L0 = bodies.momentum()
    energy = bodies.kinetic_energy() + bodies.forces.measure(bodies.x, force)
    worst, mass = np.zeros(3), bodies.mass.sum()
    start = bodies.mass @ bodies.x / mass
    for _ in range(steps):
        stepper.step(end / steps, still)
        p, L = bodies.momentum()
        now = bodies.kinetic_energy() + bodies.forces.measure(bodies.x, force)
        found = [
            np.linalg.norm(p - p0) / np.linalg.norm(p0), np.linalg.norm(L - L0) / np.linalg.norm(L0),
            abs(now / energy - 1),
        ]  # fmt: skip
        worst = np.maximum(worst, np.array(found, dtype=float))
    way = np.linalg.norm(bodies.mass @ bodies.x / mass - start) / (end * np.linalg.norm(p0) / mass)
    return float(worst[0]), float(worst[1]), float(worst[2]), float(way)


def run(full: bool = False) -> Iterator[Quantity]:
    """1000 steps of both schemes; the angular momentum of the second at three steps."""
    linear, angular, energy, way = spin(Leapfrog, 1000, 2.0)
    yield quantity("linear_leapfrog", linear)
    yield quantity("angular_leapfrog", angular)
    yield quantity("energy_leapfrog", energy)
    # a block that stands still keeps everything
    yield quantity("way_leapfrog", way)
    linear, angular, energy, way = spin(Newmark, 1000, 2.0)
    yield quantity("linear_newmark", linear)
    yield quantity("energy_newmark", energy)
    yield quantity("way_newmark", way)
    counts = (125, 250, 500, 1000)
    errors = [spin(Newmark, n, 1.0)[1] for n in counts]
    yield quantity("order_angular_newmark", observed_order(counts, errors), errors=errors)
