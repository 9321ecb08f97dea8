"""The longest stable steps of explicit and implicit tension on a front: a circle and an ellipse, 500 steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.errors import PhysicsError
from undertow.fluid.front_liquid import FrontLiquid
from undertow.grid import GHOSTS, Grid
from undertow.surface import InterfaceFinder, make_curve, remesh
from undertow.validation.analysis import Quantity, quantity

WIDTH, DENSITY, TENSION = 0.04, 1000.0, 0.0728
SHAPES = {"circle": (0.01, 0.01), "ellipse": (0.011, 0.009)}
SIZES = (16, 24)
STEPS = 500
FACTORS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
"""Steps tried, over the capillary limit."""
GROWN = 1.02
"""A run whose energy grows beyond this part of that of its start is unstable."""
SMOKE = {"STEPS": 3, "SIZES": (16,)}


def make(cells: int, half: tuple[float, float], implicit: bool) -> FrontLiquid:
    """An ellipse of these half axes [m]; its front is the interface of its level set."""
    grid = Grid((cells, cells, 1), WIDTH / cells, dimensions=2)
    x, y = (grid.coordinates(axis, 0.5 - GHOSTS, grid.padded[2 - axis]) - 0.5 * WIDTH for axis in range(2))
    place = np.stack(np.meshgrid(x, y), axis=-1)
    level = np.linalg.norm(place / half, axis=-1)
    slope = np.linalg.norm(place / np.square(half), axis=-1) / np.maximum(level, 1e-12)
    phi_c = np.repeat(((level - 1.0) / np.maximum(slope, 1e-12))[None], grid.padded[0], axis=0)
    curve = remesh(make_curve(InterfaceFinder(grid).find(phi_c)), grid.dx)
    return FrontLiquid(grid, curve, DENSITY, TENSION, implicit=implicit, tolerance=1e-8)


def is_stable(cells: int, half: tuple[float, float], implicit: bool, factor: float) -> bool:
    """Whether energy of motion and surface stays what it was through all steps, each so many capillary limits."""
    liquid = make(cells, half, implicit)
    dx = liquid.grid.dx
    dt = factor * float(np.sqrt(DENSITY * dx**3 / (4.0 * np.pi * TENSION)))
    start, volume = liquid.surface_energy(), liquid.volume()
    for _ in range(STEPS):
        try:
            liquid.step(dt)
        except (PhysicsError, ValueError, IndexError):
            return False
        wet = liquid.inv_mass_f > 0.0
        energy = 0.5 * DENSITY * dx**2 * float((liquid.u_f[wet] ** 2).sum()) + liquid.surface_energy()
        # comparisons with NaN are false
        if not (energy <= GROWN * start and abs(liquid.volume() / volume - 1.0) < 0.1):
            return False
    return True


def longest(cells: int, half: tuple[float, float], implicit: bool) -> float:
    """The largest of the factors up to which all are stable; 0 if none is."""
    found = 0.0
    for factor in FACTORS:
        if not is_stable(cells, half, implicit, factor):
            break
        found = factor
    return found


def run(full: bool = False) -> Iterator[Quantity]:
    """Both shapes on two grids."""
    for name, half in SHAPES.items():
        for cells in SIZES:
            explicit, implicit = (longest(cells, half, way) for way in (False, True))
            gain = implicit / explicit if explicit else float("nan")
            yield quantity(f"front_gain_{name}_{cells}", gain, explicit=explicit, implicit=implicit)
