"""A strip of cloth held level at one end bends under its own weight (Peirce's test) against the heavy elastica."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.soft import Elastic, SoftBodies, find_equilibrium, make_bending, make_membrane
from undertow.soft.meshes import grid_triangles
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.soft_bodies import DOWN

HEAVY = {1: (0.12347, 7.10), 2: (0.23851, 13.86), 5: (0.49591, 30.36), 8: (0.64063, 41.49), 10: (0.70020, 46.85),
         20: (0.82988, 61.79)}  # fmt: skip
"""Gamma = w L^3 / B -> drop / L and angle of the chord below the horizontal [degrees] (computed)."""


def strip(along: int, across: int = 2) -> SoftBodies:
    """1 m x 10 cm, along x, clamped at x = 0, with one cell inside the clamp; bending rigidity 1 N m, all but
    inextensible."""
    h = 1.0 / along
    x, triangles = grid_triangles((1.0 + h, 0.1), (along + 1, across), crossed=False)
    x = np.stack([x[:, 0] + 0.5 - 0.5 * h, np.zeros(len(x)), -x[:, 1]], axis=1)
    held = x[:, 0] < 1e-9
    mass, membrane = make_membrane("strip", x, triangles, Elastic(1.0, 3e4, 0.0, "stvk"), 1.0)
    bodies = SoftBodies()
    bending = make_bending("strip", x, triangles, 1.0, held=held)
    bodies.add("strip", x, mass, [membrane, bending], triangles, triangles)
    bodies.hold(np.flatnonzero(held))
    return bodies


def hang(gamma: float, along: int) -> tuple[float, float]:
    """(drop / L, chord angle [degrees]) of the end; weight per area gamma N/m2."""
    bodies = strip(along)
    find_equilibrium(bodies, gamma * bodies.mass[:, None] * DOWN, 1e-8, loads=max(1, int(gamma // 2)))
    end = bodies.x[bodies.rest[:, 0] > 1 - 1e-9].mean(axis=0)
    return float(-end[1]), float(np.degrees(np.arctan2(-end[1], end[0])))


def run(full: bool = False) -> Iterator[Quantity]:
    """40 cells along the strip (full: 80)."""
    for gamma, (drop, angle) in HEAVY.items():
        found = hang(float(gamma), 80 if full else 40)
        yield quantity(f"drop_{gamma}", found[0] / drop)
        yield quantity(f"angle_{gamma}", found[1] / angle)
