"""The first sloshing mode of a rectangular tank at small amplitude, against linear theory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.fluid import Flow, FlowSettings
from undertow.fluid.liquid import LiquidSurface
from undertow.grid import WALL, Array, Grid, Sides
from undertow.surface import Surface
from undertow.validation.analysis import Quantity, observed_order, quantity

LENGTH, DEPTH, AMPLITUDE = 1.0, 0.5, 0.001
K = np.pi / LENGTH
PERIOD = 2 * np.pi / np.sqrt(9.81 * K * np.tanh(K * DEPTH))
"""2 pi / sqrt(g k tanh(k h)) (Lamb 1932, article 228) [s]."""
PERIODS = 2.25
STEPS_PER_PERIOD_AND_CELL = 4


def height(phi: Array, grid: Grid) -> Array:
    """Height of the surface in every column [m], linear between cell centres."""
    top = np.argmax(phi > 0.0, axis=0) - 1
    columns = np.arange(phi.shape[1])
    below, above = phi[top, columns], phi[top + 1, columns]
    return np.asarray(grid.coordinates(1, 0.5)[top] + grid.dx * below / (below - above))


def simulate(n: int) -> tuple[float, float]:
    """Period / that of linear theory, from the zeros of the first mode's amplitude; change of the volume, relative."""
    grid = Grid((n, 3 * n // 4, 1), LENGTH / n, dimensions=2)
    sides = Sides(grid, [WALL] * 6, [True] * 6)
    phi_c = grid.cell_field()
    x, y, _ = grid.cell_centres()
    mode = np.cos(K * x)
    phi_c[grid.interior] = y - DEPTH - AMPLITUDE * mode
    water = Flow(
        grid, sides, None, FlowSettings(density=1000.0),
        make_extent=lambda context: LiquidSurface(context, Surface(grid, sides, phi_c)),
    )  # fmt: skip
    volume = water.extent.volume()
    steps = round(PERIODS * STEPS_PER_PERIOD_AND_CELL * n)
    dt = PERIODS * PERIOD / steps
    amplitude = np.empty(steps + 1)
    for step in range(steps + 1):
        surface = height(water.state.surface.phi_c[grid.interior][0], grid)
        amplitude[step] = 2.0 * np.mean((surface - DEPTH) * mode)
        if step < steps:
            water.step(step * dt, dt)
    before = np.nonzero(amplitude[:-1] * amplitude[1:] < 0.0)[0]
    if len(before) < 2:
        return float("nan"), water.extent.volume() / volume - 1.0
    a, b = amplitude[before], amplitude[before + 1]
    zeros = (before + a / (a - b)) * dt
    period = 2.0 * (zeros[-1] - zeros[0]) / (len(zeros) - 1)
    return float(period / PERIOD), water.extent.volume() / volume - 1.0


def run(full: bool = False) -> Iterator[Quantity]:
    """Period at 64 cells, order of its error from 16 to 64 cells with time steps in proportion."""
    sizes = [16, 32, 64, 128] if full else [16, 32, 64]
    found = {n: simulate(n) for n in sizes}
    periods = [found[n][0] for n in sizes]
    yield quantity(
        "period", found[64][0], cells=sizes, periods=periods, volume_change=[found[n][1] for n in sizes],
    )  # fmt: skip
    errors = [abs(period - 1.0) for period in periods]
    yield quantity("order", observed_order(sizes[:3], errors[:3]), cells=sizes, errors=errors)
