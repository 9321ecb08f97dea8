"""Water leaves walls that recede from it: a plate under a film, a sheet over a step, the cavity behind a cylinder."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

GRAVITY, DENSITY = 9.81, 1000.0
SMOKE = {"STILL_END": 0.1, "PLATE_END": 0.02, "STEP_END": 0.02, "LADDER": (20,), "CURVE_END": 0.1}

STILL_END, STILL_CELLS = 10.0, 24
PLATE_CELLS, PLATE_END, FILM = 40, 0.2, 0.1
"""Cells per metre; end [s]; thickness [m]."""
STEP_CELLS, STEP_END, SHEET, SPEED = 40, 0.5, 0.1, 2.0
"""Cells per metre; end [s]; thickness of the sheet [m] and its speed [m/s]."""
DIAMETER, DEPTH, ENTRY = 0.11, 0.3, 2.955
"""Of the cylinder, and of the water [m]; speed of entry [m/s]."""
LADDER = (20, 40)
MOST_PASSES = 5
"""That a step may have."""
CURVE_END = np.inf
WIDTH = 10.0
"""Of the tank in diameters."""


def liquid(sim: ut.Simulation) -> np.ndarray:
    """Part of each cell (y, x) that is water outside solids."""
    grid, extent = sim.flow.grid, sim.flow.extent
    phi = extent.surface.phi_c[grid.interior]
    if extent.solid_c is not None:
        phi = np.maximum(phi, -extent.solid_c[grid.interior])
    return np.asarray(np.clip(0.5 - phi / grid.dx, 0.0, 1.0)[0])


def still() -> dict[str, float]:
    """Still water about a ball and a block in the surface: largest speed [m/s], change of the surface [m], and most
    cells that walls let go of."""
    level = 0.5
    fixed = {
        "ball": ut.RigidBody(shape=ut.Sphere(radius=0.113), position=(0.31, 0.52)),
        "block": ut.RigidBody(
            shape=ut.Box(size=(0.17, 0.21)), position=(0.71, 0.43), rotation=ut.Rotation(degrees=17.0)
        ),
    }
    scene = ut.Scene(
        name="separation-still", domain=ut.Domain(upper=(1.0, 0.75), resolution=STILL_CELLS),
        time=ut.Time(end=100.0), fluid=ut.Fluid(density=DENSITY, viscosity=0.0),
        objects={"pool": ut.Water(shape=ut.Plane(normal=(0.0, 1.0)), position=(0.5, level)), **fixed},
    )  # fmt: skip
    sim = ut.Simulation(scene)
    extent, inside = sim.flow.extent, sim.flow.grid.interior
    assert extent.solid_c is not None
    # what the surface is made of: values of cells about it outside solids
    before = extent.surface.phi_c[inside].copy()
    about = (np.abs(before) < sim.flow.grid.dx) & (extent.solid_c[inside] > 0.0)
    speed, most = 0.0, 0
    for _ in sim.steps(until=STILL_END):
        speed = max(speed, float(np.abs(sim.flow.state.u).max()))
        most = max(most, len(sim.flow.phase.open_cells))
    change = float(np.abs(extent.surface.phi_c[inside] - before)[about].max())
    return {"speed": speed, "change": change, "open": float(most)}


class Fall(NamedTuple):
    """film, plate: how far the middle of the film and the plate have fallen [m]; force: of the water on the plate over
    the weight of the film, the largest and the smallest one; passes: most of a solve."""

    film: float
    plate: float
    most_force: float
    least_force: float
    passes: float


def pull(times_gravity: float, width: float = 0.6, offset: float = 0.3) -> Fall:
    """A plate under a film that is pulled down; width [m]: in a tank one metre wide; offset: of its top [cells]."""
    top, end = 0.8 + offset / PLATE_CELLS, 2.0
    down = {"times": [0.0, end], "values": [(0.0, 0.0), (0.0, -times_gravity * GRAVITY * end)]}
    scene = ut.Scene(
        name="separation-plate",
        domain=ut.Domain(upper=(1.0, 1.2), resolution=PLATE_CELLS, resolution_along="x", sides={"y_high": "open"}),
        time=ut.Time(end=end, frame_rate=100.0), fluid=ut.Fluid(density=DENSITY, viscosity=0.0),
        objects={
            "plate": ut.RigidBody(
                shape=ut.Box(size=(width, 0.1)), position=(0.5, top - 0.05), motion=ut.PrescribedVelocity(linear=down)
            ),
            "film": ut.Water(shape=ut.Box(size=(width, FILM)), position=(0.5, top + 0.5 * FILM)),
        },
    )  # fmt: skip
    sim = ut.Simulation(scene)
    x, y, _ = sim.flow.grid.cell_centres()
    middle = np.abs(x.reshape(1, -1) - 0.5) < 0.1

    def height() -> float:
        part = liquid(sim) * middle
        return float((part * y.reshape(-1, 1)).sum() / part.sum())

    film, plate = height(), float(sim.body("plate").position[1])
    weight = DENSITY * GRAVITY * FILM * min(width, 1.0)
    forces, passes = [], 0.0
    for report in sim.steps(until=PLATE_END):
        forces.append(-float(sim.body("plate").force[1]) / weight)
        passes = max(passes, report.ledger["passes"])
    fallen = plate - float(sim.body("plate").position[1])
    return Fall(film - height(), fallen, max(forces), min(forces), passes)


def run_over_step() -> float:
    """A sheet that flows over the edge of a block: drop of its underside at 0.2 m from the edge over that of a body in
    free flight."""
    edge, top = 0.4, 0.5
    scene = ut.Scene(
        name="separation-step",
        domain=ut.Domain(
            upper=(1.2, 0.8), resolution=round(1.2 * STEP_CELLS), resolution_along="x",
            sides={"y_low": "open", "y_high": "open", "x_high": "open"},
        ),
        time=ut.Time(end=10.0, frame_rate=100.0), fluid=ut.Fluid(density=DENSITY, viscosity=0.0),
        objects={
            "block": ut.RigidBody(shape=ut.Box(size=(2 * edge, 0.4)), position=(0.0, top - 0.2)),
            "sheet": ut.Water(shape=ut.Box(size=(0.2, SHEET)), position=(0.1, top + 0.5 * SHEET)),
            "tap": ut.WaterSource(
                shape=ut.Box(size=(0.2, SHEET)), position=(0.05, top + 0.5 * SHEET), velocity=(SPEED, 0.0)
            ),
        },
    )  # fmt: skip
    sim = ut.Simulation(scene)
    sim.advance_to(STEP_END)
    grid, part = sim.flow.grid, liquid(sim)
    x, y, _ = (c.reshape(-1) for c in sim.flow.grid.cell_centres())
    away = x - edge
    column = int(np.argmin(np.abs(away - 0.2)))
    wet = np.flatnonzero(part[:, column] > 0.5)
    underside = float(y[wet[0]] - 0.5 * grid.dx) if len(wet) else np.nan
    flight = 0.5 * GRAVITY * (float(away[column]) / SPEED) ** 2
    return (top - underside) / flight


def read_curve(density: float, source: str) -> np.ndarray:
    """(time sqrt(g / D), depth / D) (n, 2)."""
    text = files(__package__).joinpath("greenhow_lin.csv").read_text()
    rows = [line.split(",") for line in text.splitlines() if not line.startswith(("#", "density"))]
    return np.array([(float(t), float(d)) for rho, name, t, d in rows if (float(rho), name) == (density, source)])


class Entry(NamedTuple):
    """error: largest difference of the depths over the largest one of the curve; relative: over the depth itself;
    experiment: as error; capped: part of the steps with as many passes as there may be; mean: passes of a step; cost:
    iterations of all passes over those of the first ones."""

    error: float
    relative: float
    experiment: float
    capped: float
    mean: float
    cost: float


def enter(density: float, cells: int, offset: float = 0.0) -> Entry:
    """A cylinder thrown into water; cells: per diameter; offset: of it along x [cells]."""
    dx = DIAMETER / cells
    middle = 0.5 * WIDTH * DIAMETER + offset * dx
    start = DEPTH + 0.5 * DIAMETER
    scene = ut.Scene(
        name="separation-cylinder",
        coupling="monolithic",
        domain=ut.Domain(
            upper=(WIDTH * DIAMETER, DEPTH + 2.5 * DIAMETER), resolution=round(WIDTH * cells), resolution_along="x",
            sides={"y_high": "open"},
        ),
        time=ut.Time(end=1.0, frame_rate=1000.0), fluid=ut.Fluid(density=DENSITY, tolerance=1e-4),
        objects={
            "pool": ut.Water(shape=ut.Plane(normal=(0.0, 1.0)), position=(0.5 * WIDTH * DIAMETER, DEPTH)),
            "cylinder": ut.RigidBody(
                shape=ut.Sphere(radius=0.5 * DIAMETER), position=(middle, start), velocity=(0.0, -ENTRY),
                density=density,
            ),
        },
    )  # fmt: skip
    sim = ut.Simulation(scene)
    curve, scale = read_curve(density, "boundary_elements"), np.sqrt(GRAVITY / DIAMETER)
    rows, passes, iterations, plain = [(0.0, 0.0)], [], 0, 0
    for report in sim.steps(until=min(curve[-1, 0], CURVE_END) / scale):
        rows.append((sim.time * scale, (start - float(sim.body("cylinder").position[1])) / DIAMETER))
        passes.append(report.ledger["passes"])
        solves = [stats.iterations for stats in sim.flow.report.solves if stats.rows == "pressure"]
        iterations += sum(solves)
        plain += sum(solves[:1])
    found = np.array(rows)

    def error(data: np.ndarray) -> np.ndarray:
        return np.asarray(np.abs(np.interp(data[:, 0], found[:, 0], found[:, 1]) - data[:, 1]))

    differences, measured = error(curve), read_curve(density, "experiment")
    experiment = float(error(measured).max() / measured[-1, 1]) if len(measured) else 0.0
    largest = float(differences.max() / curve[-1, 1])
    relative = float((differences / curve[:, 1]).max())
    return Entry(
        largest,
        relative,
        experiment,
        float(np.mean(np.array(passes) >= MOST_PASSES)),
        float(np.mean(passes)),
        iterations / max(plain, 1),
    )


def run(full: bool = False) -> Iterator[Quantity]:
    """Still water; a plate at 2 and at 0.5 g; a step; a cylinder of two densities on two grids."""
    for name, value in still().items():
        yield quantity(f"still_{name}", value)
    yield from run_plates()
    yield quantity("step_underside", run_over_step())
    entries = {(density, cells): enter(density, cells) for density in (500.0, 1000.0) for cells in LADDER}
    for (density, cells), entry in entries.items():
        yield quantity(f"cylinder_{density:g}_{cells}", entry.error, **entry._asdict())
    for density in (500.0, 1000.0):
        coarse, fine = entries[density, LADDER[0]], entries[density, LADDER[-1]]
        yield quantity(f"cylinder_{density:g}_finer", fine.error / coarse.error)
    yield quantity("passes_capped", max(entry.capped for entry in entries.values()))
    yield quantity("passes_cost", max(entry.cost for entry in entries.values()))


def run_plates() -> Iterator[Quantity]:
    """As wide as the tank, and narrower."""
    for name, width in (("", 0.6), ("_wide", 1.2)):
        fast, slow = pull(2.0, width), pull(0.5, width)
        free = 0.5 * GRAVITY * PLATE_END**2
        yield quantity(f"plate_2g{name}", fast.film / free, plate=fast.plate / free, passes=fast.passes)
        yield quantity(f"plate_2g_force{name}", max(abs(fast.most_force), abs(fast.least_force)))
        # what parts from the plate is above it [cells]
        yield quantity(f"plate_half_g{name}", (slow.plate - slow.film) * PLATE_CELLS, least_force=slow.least_force)
