"""Water climbs between plates, or sinks between them, from level zero."""

from __future__ import annotations

from collections.abc import Iterator

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
ANGLES = (30, 60, 120)
SMOKE = {"ANGLES": (120,), "END": 0.3}


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


def run(full: bool = False) -> Iterator[Quantity]:
    """Plates at each angle."""
    for degrees in ANGLES:
        yield between_plates(degrees)
