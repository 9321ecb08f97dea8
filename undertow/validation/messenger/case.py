"""Heavy bodies that overlap through a row of light ones: interpenetration resolution by central bodies and by pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.geometry import Sphere
from undertow.solids import SolidsWorld
from undertow.validation.analysis import Array, Quantity, quantity

RADIUS = 0.1
OVERLAP = 0.01
LIGHT = 5


SPACING = 2 * RADIUS - OVERLAP
CROOKED = 1e-3 * RADIUS
"""Balls start off the axis by up to this, up or down and to either side [m]."""


def resolve(central: bool, ratio: float, left: float = 0.01) -> tuple[int, float, int]:
    """(iterations until no overlap is deeper than ``left`` of the first, depth left / OVERLAP, bodies out of their
    place).

    ratio: mass of the heavy bodies at both ends / mass of the light ones between.
    """
    world = SolidsWorld(allowed=left * OVERLAP / RADIUS, resolve_iterations=100_000)
    off = np.random.default_rng(1).uniform(-CROOKED, CROOKED, size=(LIGHT + 2, 2))
    for i in range(LIGHT + 2):
        density = 1000.0 * (ratio if i in (0, LIGHT + 1) else 1.0)
        world.add(f"ball {i}", Sphere(RADIUS), (i * SPACING, *off[i]), density=density)
    p, L = world.bodies.p_b.copy(), world.bodies.L_b.copy()
    iterations, depth = world.solids.part(central)
    assert np.array_equal(p, world.bodies.p_b) and np.array_equal(L, world.bodies.L_b)
    return iterations, depth / OVERLAP, misplaced(world.bodies.x_b)


def misplaced(x: Array) -> int:
    """Balls (n, 3) [m] out of the row: off its axis by more than half a radius, or nearer to the next ball than they
    were, or farther than touching by more than they overlapped."""
    aside = ~(np.linalg.norm(x[:, 1:], axis=1) < 0.5 * RADIUS)
    apart = np.linalg.norm(np.diff(x, axis=0), axis=1)
    out = ~((np.diff(x[:, 0]) > RADIUS) & (apart >= SPACING) & (apart <= 2 * RADIUS + OVERLAP))
    return int(np.sum(aside)) + int(np.sum(out))


def run(full: bool = False) -> Iterator[Quantity]:
    """Sweeps over all bodies against sweeps over all pairs, to 1% of the overlap, mass ratio 100."""
    central, depth_central, lost_central = resolve(True, 100.0)
    pairwise, depth_pairwise, lost_pairwise = resolve(False, 100.0)
    yield quantity(
        "iteration_ratio", pairwise / central, central=central, pairwise=pairwise,
        depth_central=depth_central, depth_pairwise=depth_pairwise,
    )  # fmt: skip
    yield quantity("lost", float(lost_central + lost_pairwise))
    for ratio in (10.0, 1000.0) if full else ():
        central, pairwise = resolve(True, ratio)[0], resolve(False, ratio)[0]
        yield quantity(
            f"iteration_ratio_{ratio:.0f}", pairwise / central, info=True, central=central, pairwise=pairwise
        )
