"""An inverted cup is pushed under water: the air in it gives way by Boyle's law, or, incompressible, not at all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

DENSITY, GRAVITY, AIR, VISCOSITY = 1000.0, 9.81, 1.2, 5.0
ATMOSPHERE = 50e3
"""Half of that at sea level [Pa]: a tank half as deep serves."""
WIDTH, HEIGHT, WALL = 0.6, 0.8, 0.2
"""Of the inside of the cup, and thickness of its walls and floor [m]."""
LEVEL, DIPPED, PUSHED = 1.7, 0.15, 1.0
"""Of the water, how deep the rim is in it at the start, and how far the cup goes down [m]."""
TANK = (2.0, 3.0)
DOWN, REST = 2.0, 2.0
"""How long it goes down, and how long it is watched after that [s]."""
CELLS = (32, 48)
"""Along the tank."""
SMOKE = {"CELLS": (32,), "DOWN": 0.02, "REST": 0.02}


def cup() -> ut.Compound:
    """A floor above and walls, the origin in the middle of the rim."""

    def part(size: tuple[float, float], x: float, y: float) -> ut.CompoundPart:
        return ut.CompoundPart(shape=ut.Box(size=size), position=(x, y))

    middle, high = 0.5 * (WIDTH + WALL), HEIGHT + WALL
    parts = [part((WIDTH + 2.0 * WALL, WALL), 0.0, HEIGHT + 0.5 * WALL)]
    parts += [part((WALL, high), side * middle, 0.5 * high) for side in (-1, 1)]
    return ut.Compound(parts=tuple(parts))


def tank(cells: int, atmosphere: float | None) -> ut.Simulation:
    """The cup with its rim in the water, about to be pushed down."""
    t = np.linspace(0.0, DOWN + REST, 121)
    speed = np.where(t < DOWN, -PUSHED / DOWN * (1.0 - np.cos(2.0 * np.pi * t / DOWN)), 0.0)
    curve = ut.Table(times=tuple(t.tolist()), values=tuple((0.0, v) for v in speed.tolist()))
    air = {"density": AIR} if atmosphere is None else {"density": AIR, "atmosphere": atmosphere}
    return ut.Simulation(
        ut.Scene(
            name="trapped-air", gravity=(0.0, -GRAVITY),
            fluid=ut.Fluid(density=DENSITY, viscosity=VISCOSITY, tolerance=1e-7, air=air),
            domain=ut.Domain(upper=TANK, resolution=cells, resolution_along="x", sides={"y_high": ut.Open()}),
            time=ut.Time(end=DOWN + REST, frame_rate=20.0),
            objects={
                "pool": ut.Water(shape=ut.Plane(normal=(0.0, 1.0)), position=(0.5, LEVEL)),
                "cup": ut.RigidBody(
                    shape=cup(), position=(0.5 * TANK[0], LEVEL - DIPPED), motion=ut.PrescribedVelocity(linear=curve)
                ),
            },
        )
    )  # fmt: skip


def level(sim: ut.Simulation, inside: bool) -> float:
    """Mean height of the water in the cup, or beside it [m]; linear between centres."""
    grid = sim.flow.grid
    phi = sim.flow.state.surface.phi_c[grid.interior][0] / grid.dx
    x = grid.coordinates(0, 0.5, grid.cells[0]) - 0.5 * TANK[0]
    within = np.abs(x) < 0.5 * WIDTH - grid.dx
    column = phi[:, within if inside else np.abs(x) > 0.5 * WIDTH + WALL + grid.dx]
    ends = (column[:-1] <= 0.0) & (column[1:] > 0.0)
    # the lowest surface in the cup, the highest beside it
    row = ends.argmax(axis=0) if inside else ends.shape[0] - 1 - ends[::-1].argmax(axis=0)
    low, high = (np.take_along_axis(v, row[None], axis=0)[0] for v in (column[:-1], column[1:]))
    return float(np.mean(grid.lower[1] + grid.dx * (row + 0.5 + low / (low - high))))


def push(cells: int, atmosphere: float | None) -> tuple[np.ndarray, float]:
    """Time [s], volume [m2] and pressure [Pa] of the air in the cup, and the pressure of the water on it [Pa], at every
    step; what was lent, the largest [m2]."""
    sim = tank(cells, atmosphere)
    rows, lent = [], 0.0
    for report in sim.steps(until=DOWN + REST):
        row = report.ledger
        held = [n for n in (1, 2, 3) if abs(row[f"bubble_{n}_volume"] - WIDTH * HEIGHT) < 0.5 * WIDTH * HEIGHT]
        number = held[-1] if held else 2
        depth = level(sim, False) - level(sim, True)
        pressure = row.get(f"bubble_{number}_pressure", np.nan)
        rows.append([report.time, row[f"bubble_{number}_volume"], pressure, ATMOSPHERE + DENSITY * GRAVITY * depth])
        lent = max(lent, row["volume_lent"])
    return np.array(rows), lent


def run(full: bool = False) -> Iterator[Quantity]:
    """Air of both kinds on a coarse grid; ``full`` the compressible one on a finer one."""
    for cells in CELLS if full else CELLS[:1]:
        rows, lent = push(cells, ATMOSPHERE)
        end = rows[rows[:, 0] > DOWN + 0.5 * REST]
        volume, pressure, water = end[:, 1].mean(), end[:, 2].mean(), end[:, 3].mean()
        drawing = {"curves": {"volume": rows[:, [0, 1]].tolist()}}
        yield quantity(f"compression_{cells}", 1.0 - volume / rows[0, 1], drawing=drawing, lent=lent)
        yield quantity(f"boyle_{cells}", volume * water / (rows[0, 1] * rows[0, 3]), exact=1.0)
        product = rows[:, 1] * rows[:, 2]
        yield quantity(f"product_{cells}", float(np.abs(product / product[0] - 1.0).max()))
        yield quantity(f"pressure_{cells}", pressure / water, exact=1.0)
    cells = CELLS[0]
    rows, lent = push(cells, None)
    yield quantity(f"incompressible_{cells}", float(np.abs(rows[:, 1] / rows[0, 1] - 1.0).max()), lent=lent)
