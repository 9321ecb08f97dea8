"""A bubble rises in a column of liquid: shape, speed and place against three published codes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import undertow as ut
from undertow.surface import InterfaceFinder
from undertow.validation.analysis import Array, Quantity, quantity

RADIUS, END = 0.25, 3.0
LIQUID = (1000.0, 10.0)
BUBBLE, TENSION = (100.0, 1.0), 24.5
"""Density [kg/m3] and viscosity [Pa s] of either fluid, tension [N/m]."""
GRIDS, FINEST = (40, 64), 128
"""Cells along the metre across."""
SMOKE = {"GRIDS": (40,)}

SERIES = np.array([
    [0.25, 0.99999, 0.51526, 0.11548], [0.5, 0.99934, 0.55508, 0.19692], [0.75, 0.99214, 0.60978, 0.23577],
    [1.0, 0.97012, 0.66986, 0.24084], [1.25, 0.94045, 0.72903, 0.23137], [1.5, 0.91597, 0.78529, 0.21856],
    [1.75, 0.90313, 0.83840, 0.20675], [2.0, 0.90197, 0.88891, 0.19791], [2.25, 0.90792, 0.93769, 0.19293],
    [2.5, 0.91513, 0.98569, 0.19155], [2.75, 0.91973, 1.03366, 0.19243], [3.0, 0.92070, 1.08194, 0.19380],
])  # fmt: skip
"""Time, circularity, height of the centre and speed of MooNMD on its finest grid (Hysing et al. 2009, repository)."""


class Rise(NamedTuple):
    """time [s], circularity, height of the centre [m] and speed [m/s] at every step; lowest and highest point and half
    of the width at the end [m]; largest change of the bubble's volume, relative; bubbles at the end."""

    rows: Array
    bottom: float
    top: float
    half_width: float
    volume: float
    bubbles: float

    def at(self, time: float) -> Array:
        """Circularity, centre and speed, linear between steps."""
        return np.array([np.interp(time, self.rows[:, 0], column) for column in self.rows.T[1:]])


def column(cells: int, bubble: tuple[float, float], tension: float, end: float) -> ut.Simulation:
    """The bubble at rest."""
    slips = ut.Wall(slip=True)
    return ut.Simulation(
        ut.Scene(
            name="rising-bubble", gravity=[0.0, -0.98],
            domain=ut.Domain(
                upper=[1.0, 2.0], resolution=cells, resolution_along="x", sides={"x_low": slips, "x_high": slips}
            ),
            time=ut.Time(end=end, frame_rate=100.0 if end > 0.01 else 1.0 / end, cfl=0.5),
            fluid=ut.Fluid(
                density=LIQUID[0], viscosity=LIQUID[1], tolerance=1e-8,
                air={"density": bubble[0], "viscosity": bubble[1]},
            ),
            surface=ut.Surface(tension=tension, particles=False),
            objects={
                "liquid": ut.Water(shape=ut.Box(size=[4.0, 8.0]), position=[0.5, 1.0]),
                "bubble": ut.Bubble(shape=ut.Sphere(radius=RADIUS), position=[0.5, 0.5]),
            },
        )
    )  # fmt: skip


def shape(sim: ut.Simulation) -> tuple[float, float, Array]:
    """Circularity, height of the centre [m], and the points (n, 2) [m] of the interface."""
    found = InterfaceFinder(sim.flow.grid).find(sim.flow.state.surface.phi_c)
    ends = found.point[found.simplex][:, :, :2]
    way, middle = ends[:, 1] - ends[:, 0], ends.mean(axis=1)
    area = 0.5 * (ends[:, 0, 0] * ends[:, 1, 1] - ends[:, 1, 0] * ends[:, 0, 1]).sum()
    # the integral of y over an area is that of -y^2 / 2 dx around it
    moment = -((0.5 * middle[:, 1] ** 2 + way[:, 1] ** 2 / 24.0) * way[:, 0]).sum()
    length = np.linalg.norm(way, axis=1).sum()
    return 2.0 * np.sqrt(np.pi * abs(area)) / length, moment / area, ends.reshape(-1, 2)


def speed(sim: ut.Simulation) -> float:
    """Mean upward velocity of the bubble [m/s]."""
    flow = sim.flow
    inside = flow.grid.interior
    part = np.clip(0.5 + flow.state.surface.phi_c[inside] / flow.grid.dx, 0.0, 1.0)
    above = (inside[0], slice(inside[1].start + 1, inside[1].stop + 1), inside[2])
    middle = 0.5 * (flow.state.u[1][inside] + flow.state.u[1][above])
    return float((part * middle).sum() / part.sum())


def rise(cells: int, bubble: tuple[float, float] = BUBBLE, tension: float = TENSION) -> Rise:
    """To the end of the benchmark."""
    sim = column(cells, bubble, tension, END)
    rows, volumes = [], []
    report = None
    for report in sim.steps(until=END):
        circularity, centre, _ = shape(sim)
        rows.append([report.time, circularity, centre, speed(sim)])
        volumes.append(report.ledger["air_volume"])
    assert report is not None
    ends = shape(sim)[2]
    volume = float(np.abs(np.array(volumes) / volumes[0] - 1.0).max())
    low, high = ends.min(axis=0), ends.max(axis=0)
    return Rise(
        np.array(rows), low[1], high[1], 0.5 * (high[0] - low[0]), volume, report.ledger["bubbles"]
    )  # fmt: skip


def peak(rows: Array, values: int, sign: float) -> tuple[float, float]:
    """Largest (sign 1) or smallest (-1) value of a column and its time, by the parabola through the steps around."""
    value = sign * rows[:, values]
    i = int(np.clip(np.argmax(value), 1, len(value) - 2))
    a, b, c = np.polyfit(rows[i - 1 : i + 2, 0] - rows[i, 0], value[i - 1 : i + 2], 2)
    if a >= 0.0:
        return float(rows[i, values]), float(rows[i, 0])
    return sign * float(c - b**2 / (4.0 * a)), float(rows[i, 0] - b / (2.0 * a))


def compare(cells: int, found: Rise) -> Iterator[Quantity]:
    """The figures of the benchmark, judged on its grid."""
    least, least_at = peak(found.rows, 1, -1.0)
    fastest, fastest_at = peak(found.rows, 3, 1.0)
    info = cells != FINEST
    drawing = {"curves": {f"speed, {cells} cells": found.rows[:, [0, 3]].tolist()}}
    yield quantity(f"circularity_{cells}", least, info=info)
    yield quantity(f"circularity_time_{cells}", least_at, unit="s", info=info)
    yield quantity(f"speed_{cells}", fastest, unit="m/s", drawing=drawing, info=info)
    yield quantity(f"speed_time_{cells}", fastest_at, unit="s", info=info)
    yield quantity(f"centre_{cells}", float(found.rows[-1, 2]), unit="m", info=info)
    yield quantity(f"top_{cells}", found.top, unit="m", info=info)
    yield quantity(f"bottom_{cells}", found.bottom, unit="m", info=info)
    yield quantity(f"half_width_{cells}", found.half_width, unit="m", info=info)
    yield quantity(f"volume_{cells}", found.volume)


def series(cells: int, found: Rise) -> Iterator[Quantity]:
    """The largest differences from the published series: of circularity and speed over their largest, of the centre."""
    away = np.abs(np.array([found.at(time) for time in SERIES[:, 0]]) - SERIES[:, 1:]).max(axis=0)
    yield quantity(f"circularity_series_{cells}", float(away[0]))
    yield quantity(f"centre_series_{cells}", float(away[1]), unit="m")
    yield quantity(f"speed_series_{cells}", float(away[2] / SERIES[:, 3].max()))


def run(full: bool = False) -> Iterator[Quantity]:
    """Two coarse grids against the series; ``full`` the grid of the benchmark's figures."""
    for cells in (*GRIDS, FINEST) if full else GRIDS:
        found = rise(cells)
        yield from compare(cells, found)
        yield from series(cells, found)
