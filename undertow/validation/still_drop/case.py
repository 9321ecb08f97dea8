"""A drop at rest: currents that tension makes by itself; an ellipse that comes to rest; a sphere."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import undertow as ut
from undertow.fluid.front_liquid import FrontLiquid
from undertow.grid import GHOSTS, Grid
from undertow.surface import InterfaceFinder, make_curve, remesh
from undertow.validation.analysis import Array, Quantity, quantity

DENSITY, VISCOSITY, TENSION, RADIUS = 1e4, 1.0, 1.0, 0.25
END, STEP = 5.0, 0.2
"""Time [s] and step of the table [s per m of cell]."""
SIZES, LARGEST = (20, 40, 80), 160
FRONT_SIZES, LARGER = (20, 40), (80, 160)
"""Cells per metre: those of the table."""
FLATNESS, THICK, REST = 0.05, 25.0, 60.0
"""Of an ellipse: its deformation, its viscosity [Pa s], and the time by which it is a circle [s]."""
ELLIPSE_CELLS, BALL_CELLS = 40, 64
TWO_SIZES, RATIOS = (20, 40), (1.0, 1000.0)
"""Of two fluids."""
SMOKE = {"SIZES": (20,), "TWO_SIZES": (), "FRONT_SIZES": (), "ELLIPSE_CELLS": 20, "BALL_CELLS": 16}

Shape = Callable[[Array, Array, Array], Array]
"""A level set [m] of places about the middle of the domain."""


def drop(
    cells: int, dimensions: int, viscosity: float, step: float, end: float, shape: Shape | None = None,
    ratio: float | None = None,
) -> ut.Simulation:  # fmt: skip
    """A drop in the middle of a box without gravity; shape: of its level set, absent: a ball. ratio: of its density and
    viscosity to those of the fluid around it; None: there is none."""
    air = None if ratio is None else {"density": DENSITY / ratio, "viscosity": viscosity / ratio}
    upper = [1.0] * 2 if dimensions == 2 else [0.75] * 3
    middle = [0.5 * length for length in upper]
    sim = ut.Simulation(
        ut.Scene(
            name="still-drop", gravity=[0.0] * dimensions,
            domain=ut.Domain(upper=upper, resolution=round(cells * upper[0])),
            time=ut.Time(end=end, frame_rate=1.0 / end, max_step=step),
            fluid=ut.Fluid(density=DENSITY, viscosity=viscosity, tolerance=1e-10, air=air),
            surface=ut.Surface(tension=TENSION, particles=ratio is None),
            objects={"drop": ut.Water(shape=ut.Sphere(radius=RADIUS), position=middle)},
        )
    )  # fmt: skip
    if shape is not None:
        begin_as(sim, shape, middle)
    return sim


def begin_as(sim: ut.Simulation, shape: Shape, middle: list[float]) -> None:
    """The water begins with the level set ``shape`` of places about ``middle`` [m]."""
    flow = sim.flow
    places = [a - b for a, b in zip(flow.grid.cell_centres(), (*middle, 0.0), strict=False)]
    flow.state.surface.phi_c[flow.grid.interior] = shape(*places)
    flow.state.surface.rebuild()
    flow.extent.start()
    flow.place_velocities(0.0)


def currents(sim: ut.Simulation) -> tuple[float, float]:
    """Mean and largest speed over the faces of the liquid [m/s]."""
    flow = sim.flow
    speeds = []
    for axis in flow.grid.axes:
        inside = flow.grid.interior_faces(axis)
        speeds.append(np.abs(flow.state.u[axis][inside][flow.phase.inv_mass_f[axis][inside] > 0.0]))
    found = np.concatenate(speeds)
    return float(found.mean()), float(found.max())


def pressure(sim: ut.Simulation) -> float:
    """Mean over cells two cells deep in the liquid [Pa]."""
    flow = sim.flow
    inside = flow.grid.interior
    deep = flow.state.surface.phi_c[inside] <= -2.0 * flow.grid.dx
    return float(flow.state.p[inside][deep].mean())


def table(cells: int) -> tuple[float, float, float]:
    """The table's mean and largest current [m/s], and the pressure over sigma / r."""
    sim = drop(cells, 2, VISCOSITY, STEP / cells, END)
    sim.advance_to(END)
    mean, largest = currents(sim)
    return mean, largest, pressure(sim) * RADIUS / TENSION


def two_fluids(cells: int, ratio: float) -> tuple[float, float]:
    """The table's mean and largest current [m/s] of a drop in another fluid."""
    sim = drop(cells, 2, VISCOSITY, STEP / cells, END, ratio=ratio)
    sim.advance_to(END)
    return currents(sim)


def front(cells: int) -> tuple[float, float]:
    """The same by front tracking and implicit tension, of a front that is the interface of the level set."""
    grid = Grid((cells, cells, 1), 1.0 / cells, dimensions=2)
    x, y = (grid.coordinates(axis, 0.5 - GHOSTS, grid.padded[2 - axis]) - 0.5 for axis in range(2))
    phi_c = np.repeat((np.hypot(*np.meshgrid(x, y)) - RADIUS)[None], grid.padded[0], axis=0)
    curve = remesh(make_curve(InterfaceFinder(grid).find(phi_c)), grid.dx)
    liquid = FrontLiquid(grid, curve, DENSITY, TENSION, VISCOSITY)
    for _ in range(round(END * cells / STEP)):
        liquid.step(STEP / cells)
    speed = np.abs(liquid.u_f[liquid.inv_mass_f > 0.0])
    return float(speed.mean()), float(speed.max())


def _ellipse(x: Array, y: Array, z: Array) -> Array:
    """An ellipse of the radius's area; zero where it is, and of slope 1 there but for the square of its flatness."""
    a, b = RADIUS * (1.0 + FLATNESS), RADIUS / (1.0 + FLATNESS)
    level = np.sqrt((x / a) ** 2 + (y / b) ** 2)
    slope = np.sqrt((x / a**2) ** 2 + (y / b**2) ** 2) / np.maximum(level, 1e-12)
    return (level - 1.0) / np.maximum(slope, 1e-12) + 0.0 * z


def ellipse() -> tuple[float, float, float]:
    """Largest current over the largest of the way [-], pressure over sigma / r and length of the surface over 2 pi r,
    after the ellipse has come to rest."""
    sim = drop(ELLIPSE_CELLS, 2, THICK, 1.0, REST, _ellipse)
    fastest, length = 0.0, np.nan
    for report in sim.steps(until=REST):
        fastest, length = max(fastest, currents(sim)[1]), report.ledger["surface_area"]
    return currents(sim)[1] / max(fastest, 1e-300), pressure(sim) * RADIUS / TENSION, length / (2.0 * np.pi * RADIUS)


def ball() -> tuple[float, float]:
    """Capillary number mu u / sigma of the largest current of a sphere after END, and its pressure over 2 sigma / r."""
    sim = drop(BALL_CELLS, 3, VISCOSITY, 1.0, END)
    sim.advance_to(END)
    return VISCOSITY * currents(sim)[1] / TENSION, pressure(sim) * RADIUS / (2.0 * TENSION)


def run(full: bool = False) -> Iterator[Quantity]:
    """The table in one phase; ``full`` adds its finest grids."""
    for cells in (*SIZES, LARGEST) if full else SIZES:
        mean, largest, over = table(cells)
        yield quantity(f"level_set_mean_{cells}", mean, unit="m/s")
        yield quantity(f"level_set_largest_{cells}", largest, unit="m/s", pressure=over)
    for cells in (*TWO_SIZES, *LARGER) if full else TWO_SIZES:
        for ratio in RATIOS:
            mean, largest = two_fluids(cells, ratio)
            yield quantity(f"two_phase_mean_{cells}_ratio_{ratio:g}", mean, unit="m/s")
            yield quantity(f"two_phase_largest_{cells}_ratio_{ratio:g}", largest, unit="m/s")
    for cells in (*FRONT_SIZES, *LARGER) if full else FRONT_SIZES:
        mean, largest = front(cells)
        yield quantity(f"front_mean_{cells}", mean, unit="m/s")
        yield quantity(f"front_largest_{cells}", largest, unit="m/s")
    rest, over, length = ellipse()
    yield quantity("ellipse_current", rest)
    yield quantity("ellipse_length", length)
    yield quantity("ellipse_pressure", over)
    number, over = ball()
    yield quantity("ball_capillary_number", number)
    yield quantity("ball_pressure", over)
