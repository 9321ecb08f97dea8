"""Water climbs between plates and in a tube, or sinks in them, from level zero."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

DENSITY, GRAVITY, TENSION, GAP = 1.0, 1.0, 0.6, 1.0
VISCOSITY = 0.1
CELLS = 12
"""Across the gap."""
PLATE, OVERLAP, BASIN = 3.0 / 12.0, 2.0 / 12.0, 2.0
"""Thickness of the two plates, how far they overlap, and width of the basin behind them [m]."""
LEVEL, FOOT, TOP = 20.0 / 12.0, 10.0 / 12.0, 37.0 / 12.0
"""Level at the start, lower edge of the plate and height of the domain [m]."""
END = 20.0
TUBE_END = 12.0
ANGLES = (30, 60, 120)
TUBE_RADIUS, TUBE_WALL, TUBE_FOOT, TUBE_LEVEL, TUBE_BASIN, TUBE_TOP = 0.5, 4.0 / 12.0, 0.5, 1.75, 7.0 / 12.0, 3.5
"""Inner radius and thickness of the tube, its lower edge, the level at the start, what is beyond it, and height of the
domain [m]."""
TUBE_TENSION, TUBE_VISCOSITY = 0.4, 0.04
"""The column comes to rest about as fast as it can."""
SIDES = 128
"""Of the tube, which is a prism."""
SMOKE = {"ANGLES": (120,), "END": 0.3, "TUBE_END": 0.1}


def plates(degrees: float, end: float) -> ut.Simulation:
    """The left side of the domain and a plate; behind it a second one, which is neutral, and a basin."""
    thick = 2.0 * PLATE - OVERLAP
    half = {"type": "box", "size": [PLATE, TOP]}
    middle = FOOT + 0.5 * TOP
    return ut.Simulation(
        ut.Scene(
            name="capillary-rise", gravity=[0.0, -GRAVITY],
            domain=ut.Domain(
                upper=[GAP + thick + BASIN, TOP], resolution=round((GAP + thick + BASIN) * CELLS / GAP),
                sides={"x_low": {"type": "wall", "contact_angle": degrees}},
            ),
            time=ut.Time(end=end, frame_rate=1.0 / end), fluid=ut.Fluid(density=DENSITY, viscosity=VISCOSITY),
            surface=ut.Surface(tension=TENSION, particles=False),
            objects={
                "pool": ut.Water(shape=ut.Plane(normal=[0.0, 1.0]), position=[0.0, LEVEL]),
                "inner": ut.RigidBody(shape=half, position=[GAP + 0.5 * PLATE, middle], contact_angle=degrees),
                "outer": ut.RigidBody(shape=half, position=[GAP + thick - 0.5 * PLATE, middle], contact_angle=90.0),
            },
        )
    )  # fmt: skip


def levels(sim: ut.Simulation) -> np.ndarray:
    """Height of the surface over each column of cells (nz, nx) [m], its highest; linear between centres."""
    grid = sim.flow.grid
    phi = sim.flow.state.surface.phi_c[grid.interior] / grid.dx
    below, above = phi[:, :-1], phi[:, 1:]
    ends = (below <= 0.0) & (above > 0.0)
    top = ends.shape[1] - 1 - ends[:, ::-1].argmax(axis=1)
    low, high = (np.take_along_axis(x, top[:, None], axis=1)[:, 0] for x in (below, above))
    return np.asarray(grid.lower[1] + grid.dx * (top + 0.5 + low / (low - high)))


def rise(sim: ut.Simulation) -> float:
    """Mean level between the plates over that of the basin [m]."""
    x, found = sim.flow.grid.coordinates(0, 0.5, sim.flow.grid.cells[0]), levels(sim)[0]
    return float(found[x < GAP].mean() - found[x > GAP + 2.0 * PLATE - OVERLAP].mean())


def between_plates(degrees: float) -> Quantity:
    """The rise after END over that of the balance of tension and weight."""
    sim = plates(degrees, END)
    sim.advance_to(END)
    exact = 2.0 * TENSION * np.cos(np.radians(degrees)) / (DENSITY * GRAVITY * GAP)
    return quantity(f"plates_{degrees}", rise(sim) / exact, exact=exact)


def write_tube(path: Path) -> None:
    """A tube along y, closed from TUBE_FOOT to above the domain, as a triangle mesh about the origin."""
    angle = 2.0 * np.pi * np.arange(SIDES) / SIDES
    # the prisms have the areas of the cylinders
    size = np.sqrt(2.0 * np.pi / SIDES / np.sin(2.0 * np.pi / SIDES))
    corners = [
        (radius * size * np.cos(a), y, radius * size * np.sin(a))
        for radius, y in (
            (TUBE_RADIUS, TUBE_FOOT), (TUBE_RADIUS, 2.0 * TUBE_TOP),
            (TUBE_RADIUS + TUBE_WALL, 2.0 * TUBE_TOP), (TUBE_RADIUS + TUBE_WALL, TUBE_FOOT),
        )
        for a in angle
    ]  # fmt: skip
    lines = [f"v {x:.12g} {y:.12g} {z:.12g}" for x, y, z in corners]
    for ring in range(4):
        for n in range(SIDES):
            a, b = ring * SIDES + n, ring * SIDES + (n + 1) % SIDES
            c, d = (ring + 1) % 4 * SIDES + n, (ring + 1) % 4 * SIDES + (n + 1) % SIDES
            lines += [f"f {a + 1} {c + 1} {b + 1}", f"f {b + 1} {c + 1} {d + 1}"]
    path.write_text("\n".join(lines) + "\n")


def tube(degrees: float, end: float, folder: Path) -> ut.Simulation:
    """A quarter of a tube that stands in a basin, symmetric about two sides."""
    path = folder / "tube.obj"
    write_tube(path)
    across = TUBE_RADIUS + TUBE_WALL + TUBE_BASIN
    slip = {"type": "wall", "slip": True}
    return ut.Simulation(
        ut.Scene(
            name="capillary-rise-tube", gravity=[0.0, -GRAVITY, 0.0],
            domain=ut.Domain(
                upper=[across, TUBE_TOP, across], resolution=round(TUBE_TOP * CELLS / (2.0 * TUBE_RADIUS)),
                sides={name: slip for name in ("x_low", "x_high", "z_low", "z_high")},
            ),
            time=ut.Time(end=end, frame_rate=1.0 / end), fluid=ut.Fluid(density=DENSITY, viscosity=TUBE_VISCOSITY),
            surface=ut.Surface(tension=TUBE_TENSION, particles=False),
            objects={
                "pool": ut.Water(shape=ut.Plane(normal=[0.0, 1.0, 0.0]), position=[0.0, TUBE_LEVEL, 0.0]),
                "tube": ut.RigidBody(
                    shape={"type": "mesh", "file": str(path)}, position=[0.0, 0.0, 0.0], contact_angle=degrees
                ),
            },
        )
    )  # fmt: skip


def tube_rise(sim: ut.Simulation) -> float:
    """Mean level in the tube, by the volume in it, over the height of the surface at the far corner [m]."""
    grid, state = sim.flow.grid, sim.flow.state
    x, y, z = (grid.coordinates(axis, 0.5, grid.cells[axis]) for axis in range(3))
    part = np.clip(0.5 - state.surface.phi_c[grid.interior] / grid.dx, 0.0, 1.0)
    room = sim.flow.domain.volume_c[grid.interior]
    inside = (np.hypot(x[None, :], z[:, None]) < TUBE_RADIUS + 0.5 * TUBE_WALL)[:, None, :]
    # from the first layer that the tube is all around of
    rows = y > TUBE_FOOT + grid.dx
    open_area = (room * inside)[:, rows].sum() / rows.sum()
    mean = (part * room * inside)[:, rows].sum() / open_area * grid.dx + y[rows][0] - 0.5 * grid.dx
    column = state.surface.phi_c[grid.interior][-1, :, -1]
    top = np.flatnonzero((column[:-1] <= 0.0) & (column[1:] > 0.0))[-1]
    far = y[top] + grid.dx * column[top] / (column[top] - column[top + 1])
    return float(mean - far)


def in_tube(degrees: float) -> Quantity:
    """The rise after TUBE_END over that of the balance of tension and weight."""
    with tempfile.TemporaryDirectory() as folder:
        sim = tube(degrees, TUBE_END, Path(folder))
        sim.advance_to(TUBE_END)
    exact = 2.0 * TUBE_TENSION * np.cos(np.radians(degrees)) / (DENSITY * GRAVITY * TUBE_RADIUS)
    return quantity(f"tube_{degrees}", tube_rise(sim) / exact, exact=exact)


def run(full: bool = False) -> Iterator[Quantity]:
    """Plates at each angle; ``full`` adds tubes."""
    for degrees in ANGLES:
        yield between_plates(degrees)
    if full:
        for degrees in ANGLES:
            yield in_tube(degrees)
