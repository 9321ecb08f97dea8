"""A cup of water is lifted out of a pool and swayed above it: does it hold what it held?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

WIDTH, HEIGHT, WALL = 0.22, 0.16, 0.07
"""Of the inside of the cup, and thickness of its walls and floor [m]."""
PART = 0.7
"""Of the cup that is full."""
FLOOR = 0.2
"""Height of the inner floor at the start [m]."""
LIFT, LIFTED = 0.3, 1.5
"""How high it is lifted [m], in how many seconds [s]."""
START, CARRIED = 2.0, 5.0
"""From when on it hangs free, what hung under its floor having fallen, and for how long it is watched [s]."""
SWAY, FREQUENCY = 1.8, 0.6
"""Largest acceleration of the sway along x [m/s2], and its frequency [Hz]."""
GRAVITY, DENSITY = 9.81, 1000.0


def cup(dimensions: int) -> ut.Compound:
    """A floor and walls, the origin in the middle of the inner floor."""
    outer, middle = WIDTH + 2 * WALL, 0.5 * (WIDTH + WALL)
    deep = (outer,) if dimensions == 3 else ()
    half = (HEIGHT - WALL) / 2

    def part(size: tuple[float, ...], x: float, y: float, z: float = 0.0) -> ut.CompoundPart:
        return ut.CompoundPart(shape=ut.Box(size=size), position=(x, y, z) if dimensions == 3 else (x, y))

    parts = [part((outer, WALL, *deep), 0.0, -WALL / 2)]
    parts += [part((WALL, HEIGHT + WALL, *deep), side * middle, half) for side in (-1, 1)]
    if dimensions == 3:
        parts += [part((outer, HEIGHT + WALL, WALL), 0.0, half, side * middle) for side in (-1, 1)]
    return ut.Compound(parts=tuple(parts))


def velocities() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times [s] and velocities along x and y [m/s]: up while it begins to sway, then swaying alone."""
    t = np.linspace(0.0, START + CARRIED, 351)
    begun = np.clip(t / LIFTED, 0.0, 1.0)
    x = SWAY / (2 * np.pi * FREQUENCY) * begun**2 * (3.0 - 2.0 * begun) * np.sin(2 * np.pi * FREQUENCY * t)
    return t, x, 2.0 * LIFT / LIFTED * np.sin(np.pi * begun) ** 2


def make(cells: int, dimensions: int, offset: float = 0.0) -> ut.Simulation:
    """A pool as high as the cup is full, so that it fills the cup too. offset: of the cup along x and y [m]."""
    t, x, y = velocities()
    way = np.concatenate([[0.0], np.cumsum(0.5 * (x[1:] + x[:-1]) * np.diff(t))])
    flat = dimensions == 2
    depth = () if flat else (0.25,)
    rest = () if flat else (0.0,)
    start = (0.5 - 0.5 * (way.max() + way.min()) + offset, FLOOR + offset, *depth)
    values = tuple((*v, *rest) for v in zip(x.tolist(), y.tolist(), strict=True))
    curve = ut.Table(times=tuple(t.tolist()), values=values)
    pool = ut.Water(shape=ut.Plane(normal=(0.0, 1.0, *rest)), position=(0.5, FLOOR + offset + PART * HEIGHT, *depth))
    scene = ut.Scene(
        name="cup-carried", gravity=(0.0, -GRAVITY, *rest), fluid=ut.Fluid(density=DENSITY, tolerance=1e-5),
        domain=ut.Domain(upper=(1.0, 0.8, *(2 * d for d in depth)), resolution=cells),
        time=ut.Time(end=START + CARRIED, frame_rate=30.0),
        objects={
            "cup": ut.RigidBody(shape=cup(dimensions), position=start, motion=ut.PrescribedVelocity(linear=curve)),
            "pool": pool,
        },
    )  # fmt: skip
    return ut.Simulation(scene)


def waters(sim: ut.Simulation) -> tuple[float, float, float]:
    """Volumes [m3; 2D m2] in the cup, by the level set and as tracked, with drops; and of all water elsewhere."""
    height = sim.body("cup").position[1]
    row, found, inside = sim.flow.ledger(), sim.waters(), [0.0, 0.0]
    for water in found:
        if water.centre[1] > height - WALL:
            inside[0] += water.volume
            inside[1] += water.volume + water.volume_error
    spray = sim.flow.state.surface.spray
    inside[1] += float(spray.volume[spray.position[:, 1] > height - WALL].sum())
    total = sum(row[name] for name in ("fluid_volume", "spray_volume", "volume_error"))
    return inside[0], inside[1], total - inside[1]


def carry(cells: int, dimensions: int, carried: float = CARRIED, offset: float = 0.0) -> Iterator[Quantity]:
    """What the cup holds, what is found elsewhere and what the cup weighs, over what it held when it hung free."""
    sim = make(cells, dimensions, offset)
    sim.advance_to(START)
    start = waters(sim)
    worst, weights = np.zeros(3), []
    while sim.time < START + carried - 1e-9:
        sim.step()
        worst = np.maximum(worst, np.abs(np.subtract(waters(sim), start)) / max(start[1], 1e-12))
        weights.append(-sim.body("cup").force[1])
    full = DENSITY * GRAVITY * PART * HEIGHT * WIDTH ** (dimensions - 1)
    name = f"{dimensions}d"
    detail: dict[str, Any] = {"cells": cells, "steps": sim.step_count, "waters": len(sim.waters())}
    yield quantity(f"held_{name}", float(worst[0]), **detail)
    yield quantity(f"tracked_{name}", float(worst[1]), **detail)
    yield quantity(f"elsewhere_{name}", float(worst[2]), **detail)
    yield quantity(f"weight_{name}", float(np.mean(weights)) / full, **detail)


def run(full: bool = False) -> Iterator[Quantity]:
    """64 cells along a metre, 96 with ``full``."""
    for dimensions in (2, 3):
        yield from carry(96 if full else 64, dimensions)
