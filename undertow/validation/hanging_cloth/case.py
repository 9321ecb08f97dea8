"""A rope between two points against the catenary; the sag of a sheet held along its edges under refinement."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.soft import Elastic, SoftBodies, find_equilibrium, make_edges, make_membrane
from undertow.soft.meshes import grid_triangles, rope_points
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.soft_bodies import DOWN

CATENARY = {1.05: 0.139304, 1.2: 0.292344, 1.5: 0.502633, 2.0: 0.796388}
"""Length / span -> sag / span (computed)."""


def rope_sag(length: float, count: int) -> float:
    """Sag of a rope of a given length over a span of 1 m, all but inextensible."""
    x = rope_points(np.zeros(3), np.array([1.0, 0.0, 0.0]), length, count, DOWN)
    edges = np.stack([np.arange(count), np.arange(1, count + 1)], axis=1)
    springs = make_edges("rope", x, edges, 1e5)
    bodies = SoftBodies(2)
    mass = np.asarray(np.bincount(edges.ravel(), np.repeat(0.5 * springs.rest, 2)), dtype=float)
    bodies.add("rope", x, mass, [springs], edges, edges)
    bodies.hold([0, count])
    find_equilibrium(bodies, 9.81 * bodies.mass[:, None] * DOWN, 1e-9, iterations=500)
    return float(-bodies.x[:, 1].min())


def sheet_sag(count: int) -> float:
    """Sag of the middle of a square of 1 m held along all edges under a weight that stretches it by a few percent."""
    x, triangles = grid_triangles((1.0, 1.0), (count, count))
    x = np.stack([x[:, 0], np.zeros(len(x)), -x[:, 1]], axis=1)
    mass, membrane = make_membrane("sheet", x, triangles, Elastic(1.0, 1000.0, 0.3, "stvk"), 1.0)
    bodies = SoftBodies()
    bodies.add("sheet", x, mass, [membrane], triangles, triangles)
    bodies.hold(np.flatnonzero((np.abs(x[:, [0, 2]]) > 0.5 - 1e-9).any(axis=1)))
    # flat, it has no stiffness across its plane: start from a shallow cushion
    free = bodies.inv_mass > 0
    bodies.x[free, 1] = -0.1 * (np.cos(np.pi * x[free, 0]) * np.cos(np.pi * x[free, 2]))
    find_equilibrium(bodies, 50.0 * bodies.mass[:, None] * DOWN, 1e-8, iterations=500)
    middle = np.argmin((x[:, [0, 2]] ** 2).sum(axis=1))
    return float(-bodies.x[middle, 1])


def run(full: bool = False) -> Iterator[Quantity]:
    """64 segments; sheets of 4, 8, 16 and 32 cells."""
    for length, sag in CATENARY.items():
        yield quantity(f"catenary_{length:g}".replace(".", "_"), rope_sag(length, 64) / sag)
    sags = [sheet_sag(n) for n in (4, 8, 16, 32)]
    order = np.log2(abs(sags[0] - sags[1]) / abs(sags[1] - sags[2]))
    finest = np.log2(abs(sags[1] - sags[2]) / abs(sags[2] - sags[3]))
    yield quantity("order_sheet", float(min(order, finest)), sags=sags)
