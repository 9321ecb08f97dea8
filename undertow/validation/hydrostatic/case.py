"""A still tank: nothing moves, and the pressure is linear, whatever the level and whatever stands on the bottom."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.fluid import Flow, FlowSettings
from undertow.fluid.liquid import LiquidSurface
from undertow.geometry import Box, Solid, SolidFields, Static
from undertow.grid import WALL, Grid, Sides
from undertow.surface import Surface
from undertow.validation.analysis import Quantity, quantity

CELLS = (32, 24, 1)
STEPS = 100
TIME_STEP = 0.01
HEIGHTS = {"between": 0.531, "face": 0.5, "centre": 16.5 / 32, "above_centre": 16.5 / 32 + 1e-6}
"""Water levels [m] by where they lie within a cell of 1/32 m."""


def tank(height: float, with_step: bool) -> Flow:
    """Water of density 1000 kg/m^3 up to ``height`` [m] in a closed tank 1 m wide, with or without a step of 0.25 m."""
    grid = Grid(CELLS, 1.0 / CELLS[0], dimensions=2)
    sides = Sides(grid, [WALL] * 6, [True] * 6)
    solids = None
    if with_step:
        solids = SolidFields(grid, [Solid("step", Box((0.51, 0.52, 1.0)), Static(np.array([0.75, 0.0, 0.0])))])
    phi_c = grid.cell_field()
    _, y, _ = grid.cell_centres()
    phi_c[grid.interior] = y - height
    return Flow(
        grid, sides, solids, FlowSettings(density=1000.0),
        make_extent=lambda context: LiquidSurface(context, Surface(grid, sides, phi_c)),
    )  # fmt: skip


def rest(height: float, with_step: bool) -> tuple[float, float]:
    """Largest speed after STEPS steps [m/s], departure from the linear pressure / (rho g height)."""
    water = tank(height, with_step)
    for step in range(STEPS):
        water.step(step * TIME_STEP, TIME_STEP)
    rows = water.solve.rows
    assert rows.stencil is not None
    inside = water.grid.interior
    _, y, _ = water.grid.cell_centres()
    weight = 1000.0 * 9.81
    error = np.abs(water.state.p[inside] - weight * (height - y))[rows.stencil.diagonal_c[inside] > 0.0]
    return float(np.abs(water.state.u).max()), float(error.max() / (weight * height))


def run(full: bool = False) -> Iterator[Quantity]:
    """The worst of all levels, without and with the step."""
    for name in ("flat", "step"):
        found = {level: rest(height, name == "step") for level, height in HEIGHTS.items()}
        yield quantity(
            f"speed_{name}",
            max(speed for speed, _ in found.values()),
            steps=STEPS,
            by_level={k: v[0] for k, v in found.items()},
        )
        yield quantity(
            f"pressure_{name}",
            max(error for _, error in found.values()),
            steps=STEPS,
            by_level={k: v[1] for k, v in found.items()},
        )
