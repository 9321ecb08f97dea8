"""The collapse of a column of water: front and height against Martin and Moyce 1952."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from undertow.fluid import Flow, FlowSettings
from undertow.fluid.liquid import LiquidSurface
from undertow.grid import OPEN, WALL, Array, Grid, Sides
from undertow.surface import Surface
from undertow.validation.analysis import Quantity, quantity

WIDTH = 0.05715
"""Width a of the columns, 2.25 inches [m]."""
FRONT = np.array([
    (0.41, 1.11), (0.84, 1.23), (1.19, 1.44), (1.43, 1.67), (1.63, 1.89), (1.82, 2.11), (1.97, 2.33), (2.20, 2.56),
    (2.32, 2.78), (2.50, 3.00), (2.64, 3.22), (2.82, 3.44), (2.96, 3.67),
])  # fmt: skip
"""Column 2 a high: T = t sqrt(2 g / a), Z = front / a."""
HEIGHT = np.array([
    (0.0, 1.0), (0.80, 0.89), (1.29, 0.78), (1.74, 0.67), (2.15, 0.56), (2.57, 0.44), (3.08, 0.33), (4.27, 0.22),
    (6.29, 0.11),
])  # fmt: skip
"""Column a high: T = t sqrt(g / a), H = height at the wall / a."""
LARGEST_SHIFT = 0.2
"""The gate of the experiment takes time to open: what T of the calculation may be delayed by."""


class Collapse(NamedTuple):
    """T, Z and H after every step; the largest change of the volume, relative; energy at the end / at the start."""

    time: Array
    front: Array
    height: Array
    drift: float
    energy: float


def first_zero(phi: Array) -> float:
    """Place of the last crossing from water to air along a line of cell centres [cells]."""
    last = int(np.nonzero(phi <= 0.0)[0].max())
    if last + 1 == len(phi):
        return float(len(phi))
    return last + 0.5 + float(phi[last] / (phi[last] - phi[last + 1]))


def collapse(aspect: int, cells: int, end: float, length: float) -> Collapse:
    """A column ``aspect`` widths high, ``cells`` cells per width, until T = ``end`` in a box ``length`` widths long."""
    dx = WIDTH / cells
    grid = Grid((round(length * cells), round((aspect + 0.5) * cells), 1), dx, dimensions=2)
    sides = Sides(grid, [WALL, WALL, WALL, OPEN, WALL, WALL], [True] * 6)
    phi_c = grid.cell_field()
    x, y, _ = grid.cell_centres()
    phi_c[grid.interior] = np.maximum(x - WIDTH, y - aspect * WIDTH)
    water = Flow(
        grid, sides, None, FlowSettings(density=1000.0),
        make_extent=lambda context: LiquidSurface(context, Surface(grid, sides, phi_c)),
    )  # fmt: skip
    scale = float(np.sqrt(aspect * 9.81 / WIDTH))
    start, potential = water.extent.volume(), water.ledger()["potential_energy"]
    time, drift = 0.0, 0.0
    rows = [(0.0, 1.0, 1.0)]
    while time * scale < end:
        longest = min(limit.time_step for limit in water.limits(time))
        dt = min(0.5 * longest, 0.02 / scale)
        water.step(time, dt)
        time += dt
        phi = water.state.surface.phi_c[grid.interior][0]
        rows.append((time * scale, first_zero(phi[0]) / cells, first_zero(phi[:, 0]) / (aspect * cells)))
        drift = max(drift, abs(water.extent.volume() / start - 1.0))
    ledger = water.ledger()
    energy = (ledger["kinetic_energy"] + ledger["potential_energy"]) / potential
    t, z, h = np.array(rows).T
    return Collapse(t, z, h, drift, float(energy))


def run(full: bool = False) -> Iterator[Quantity]:
    """Front of the column 2 a high and height of the column a high, on 24 cells per width (48 with ``full``)."""
    cells = 48 if full else 24
    tall = collapse(2, cells, FRONT[-1, 0], 5.0)
    shifts = np.linspace(0.0, LARGEST_SHIFT, 41)
    front = [np.interp(FRONT[:, 0] - shift, tall.time, tall.front) / FRONT[:, 1] - 1.0 for shift in shifts]
    best = int(np.argmin([np.abs(deviation).max() for deviation in front]))
    yield quantity(
        "front", float(np.abs(front[best]).max()), cells=cells, shift=float(shifts[best]),
        deviation=front[best].tolist(), energy=tall.energy,
    )  # fmt: skip
    square = collapse(1, cells, HEIGHT[-1, 0], 12.0)
    height = np.interp(HEIGHT[:, 0], square.time, square.height)
    yield quantity("height", float(np.abs(height - HEIGHT[:, 1]).max()), cells=cells, found=height.tolist())
    relative = height / HEIGHT[:, 1] - 1.0
    yield quantity("height_relative", float(np.abs(relative).max()), cells=cells, deviation=relative.tolist())
    yield quantity("volume_drift", tall.drift, cells=cells)
    yield quantity("volume_drift_square", square.drift, cells=cells)
