"""A clamped beam with a force at its end: small deflections against beam theory, large ones against the elastica."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.soft import Elastic, find_equilibrium
from undertow.validation.analysis import Quantity, observed_order, quantity
from undertow.validation.soft_bodies import DOWN, beam, edge_load, end_nodes

ELASTICA = {1: (0.30172, 0.05643), 2: (0.49346, 0.16064), 5: (0.71379, 0.38763), 10: (0.81061, 0.55500)}
"""k = P L^2 / (E I) -> (drop, shortening) / L of an inextensible rod under a dead load (elliptic integrals)."""

SMOKE = {"ELASTICA": {1: (0.30172, 0.05643)}}


def bend(slenderness: float, across: int, k: float, loads: int = 1) -> tuple[float, float]:
    """(drop, shortening) / L of the middle of the end; E I = E h^3 / 12 / (1 - nu^2) under plane strain."""
    E, nu, height = 1e6, 0.3, 1.0 / slenderness
    bodies = beam(1.0, height, across, Elastic(1000.0, E, nu, "stvk"))
    rigidity = E / (1 - nu**2) * height**3 / 12
    end = end_nodes(bodies)
    force = edge_load(bodies, end, k * rigidity / height * DOWN)
    find_equilibrium(bodies, force, 1e-9, loads=loads)
    moved = (bodies.x - bodies.rest)[end].mean(axis=0)
    return float(-moved[1]), float(-moved[0])


def run(full: bool = False) -> Iterator[Quantity]:
    """Slenderness 10 for the order, 20 for beam theory, 40 for the elastica."""
    across = (2, 4, 8, 16)
    drops = [bend(10.0, n, 1e-5)[0] for n in across]
    # Richardson from the two finest, whose order is two
    exact = drops[-1] + (drops[-1] - drops[-2]) / 3
    yield quantity("order", observed_order(across[:3], [abs(d - exact) for d in drops[:3]]), drops=drops)
    drop = bend(20.0, 16, 1e-5)[0]
    shear = 1 + 0.5 * (1 + 0.3) * (1 - 0.3**2) * (6 / 5) / 20.0**2
    yield quantity("small", drop / (1e-5 / 3), with_shear=drop / (1e-5 / 3 * shear))
    for k, (fall, short) in ELASTICA.items():
        found = bend(40.0, 8, float(k), loads=2)
        yield quantity(f"drop_{k}", found[0] / fall)
        yield quantity(f"shortening_{k}", found[1] / short)
