"""Cuboids of density 0.1 to 5 in a tank of particles: what floats, stays and sinks, and how deep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

SIZE = (0.24, 0.12)
"""Width and height of a cuboid [m]; flat, so that it floats upright."""
TANK, WATER = 0.6, 0.42
"""Width of the tank and height of the water [m]."""


def make_scene(ratio: float, resolution: int, dimensions: int, end: float, above: float | None = None) -> ut.Scene:
    """A cuboid of relative density ``ratio`` let go in the middle of the water, or ``above`` spacings higher than it
    floats."""
    height = WATER / 2
    if above is not None:
        height = starting_height(ratio, above * TANK / resolution, dimensions)
    depth = (TANK / 2,) * (dimensions - 2)
    return ut.Scene(
        name="sph-buoyancy",
        coupling="direct_forcing",
        domain=ut.Domain(
            upper=(TANK, TANK, TANK)[:dimensions], resolution=resolution, resolution_along="x", sides={"y_high": "open"}
        ),
        time=ut.Time(end=end, frame_rate=20),
        objects={
            "water": ut.SphFluid(
                shape=ut.Box(size=(TANK, WATER, TANK)[:dimensions]), position=(TANK / 2, WATER / 2, *depth)
            ),
            "cuboid": ut.RigidBody(
                shape=ut.Box(size=(*SIZE, SIZE[0])), position=(TANK / 2, height, *depth), density=1000.0 * ratio
            ),
        },
    )


def starting_height(ratio: float, above: float, dimensions: int) -> float:
    """Height of the centre of a cuboid that starts ``above`` [m] where it will float at last.

    It takes the place of the water it stands in, u deep, and displaces ratio H when it floats: the level is then
    WATER + f (ratio H - u), f its share of the tank's area.
    """
    share = (SIZE[0] / TANK) ** (dimensions - 1)
    deep = max(ratio * SIZE[1] - above / (1.0 - share), 0.0)
    level = WATER + share * (ratio * SIZE[1] - deep)
    return level + (0.5 - ratio) * SIZE[1] + above


def heights(
    ratio: float, resolution: int, dimensions: int, end: float, above: float | None = None
) -> tuple[list[float], float, float]:
    """Heights of the cuboid's centre at ten times up to ``end``, the level of the water then and the spacing [m]."""
    sim = ut.Simulation(make_scene(ratio, resolution, dimensions, end, above))
    found = [float(sim.body("cuboid").position[1])]
    for time in np.linspace(0.0, end, 11)[1:]:
        sim.advance_to(float(time))
        found.append(float(sim.body("cuboid").position[1]))
    displaced = min(ratio, 1.0) * SIZE[0] ** (dimensions - 1) * SIZE[1]
    particles = sim.particles
    level = (len(particles.position) * particles.spacing**dimensions + displaced) / TANK ** (dimensions - 1)
    return found, level, particles.spacing


def run(full: bool = False) -> Iterator[Quantity]:
    """30 particles across a 2D tank (60 with ``full``, and 24 across a 3D tank)."""
    resolution = 60 if full else 30
    yield from judge(resolution, 2, "", 3.0)
    if full:
        yield from judge(24, 3, "_3d", 2.0)


def judge(resolution: int, dimensions: int, name: str, end: float) -> Iterator[Quantity]:
    """Neutral, floating (until ``end`` [s]) and sinking cuboids in one kind of tank."""
    path, _, dx = heights(1.0, resolution, dimensions, 1.0)
    yield quantity(f"neutral_drift{name}", max(abs(y - path[0]) for y in path) / dx, heights=path, spacing=dx)
    errors: dict[str, Any] = {}
    offs, moves = [], []
    for ratio, above in ((0.1, 3.0), (0.3, 3.0), (0.5, 3.0), (0.8, 3.0), (0.3, -2.0), (0.5, -1.5)):
        path, level, dx = heights(ratio, resolution, dimensions, end, above)
        drafts = (level + 0.5 * SIZE[1] - np.array(path)) / dx - ratio * SIZE[1] / dx
        errors[f"ratio {ratio:g} from {above:+g}"] = float(drafts[-4:].mean())
        offs.append(abs(float(drafts[0])))
        moves.append(float(np.ptp(drafts[-4:])))
    detail: dict[str, Any] = {"start": min(offs), "still_moving": max(moves), **errors}
    yield quantity(f"floating_depth{name}", max(abs(e) for e in errors.values()), unit="spacings", **detail)
    sunk = {ratio: heights(ratio, resolution, dimensions, 0.3)[0][-1] for ratio in (1.5, 2.0, 3.0, 5.0)}
    depths = list(sunk.values())
    wrong = sum(depths[i] <= depths[j] for i in range(len(depths)) for j in range(i + 1, len(depths)))
    detail = {f"height of ratio {r:g}": y for r, y in sunk.items()}
    yield quantity(f"wrong_order{name}", float(wrong), **detail)
