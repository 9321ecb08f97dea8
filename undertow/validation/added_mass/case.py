"""A cylinder and a sphere released in inviscid fluid: the fluid that moves along with them, from light to heavy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.geometry import measure_fractions
from undertow.grid import GHOSTS, Array
from undertow.validation.analysis import Quantity, observed_order, quantity

OUTER = 3.0
"""Radius of the concentric outer wall, in radii of the body."""

EXACT = {2: (OUTER**2 + 1) / (OUTER**2 - 1), 3: 0.5 * (OUTER**3 + 2) / (OUTER**3 - 1)}
"""Added mass / displaced mass of a cylinder (2D) and a sphere in that wall (Lamb, Hydrodynamics, 93)."""

GRAVITY = 9.81
OFFSETS = ((0.0, 0.0, 0.0), (0.37, 0.11, 0.23), (0.52, 0.83, 0.61), (0.91, 0.29, 0.47))
RATIOS = (1e-3, 1e-2, 1e-1, 0.5, 2.0, 1e1, 1e2, 1e3)


def make(cells: int, dimensions: int, ratio: float, offset: tuple[float, ...]) -> ut.Simulation:
    """A body of diameter 1 and ``cells`` cells across, ``ratio`` times as dense as the fluid, offset in cells."""
    size = OUTER + 0.5
    middle = [0.5 * size + o / cells for o in offset[:dimensions]]
    scene = ut.Scene(
        name="added-mass",
        coupling="monolithic",
        gravity=(0.0, -GRAVITY, 0.0)[:dimensions],
        domain=ut.Domain(upper=(size,) * dimensions, resolution=round(size * cells)),
        time=ut.Time(end=1e-3, frame_rate=1e3, fixed_step=1e-3),
        fluid=ut.Fluid(density=1.0, tolerance=1e-8, advection="none"),
        objects={"body": ut.RigidBody(shape=ut.Sphere(radius=0.5), position=middle, density=ratio)},
    )
    sim = ut.Simulation(scene)
    enclose(sim, np.array([*middle, 0.0][:3]))
    return sim


def enclose(sim: ut.Simulation, centre: Array) -> None:
    """Make solid what lies outside the outer wall: the open fractions alone know it."""
    flow, grid = sim.flow, sim.flow.grid
    assert flow.solids is not None
    z, y, x = (np.arange(n) - GHOSTS for n in grid.padded)
    square = (grid.lower[0] + x * grid.dx - centre[0])[None, None, :] ** 2
    square = square + (grid.lower[1] + y * grid.dx - centre[1])[None, :, None] ** 2
    if grid.dimensions == 3:
        square = square + (grid.lower[2] + z * grid.dx - centre[2])[:, None, None] ** 2
    distance = np.broadcast_to(0.5 * OUTER - np.sqrt(square), grid.padded)
    np.minimum(flow.solids.phi_n, distance, out=flow.solids.phi_n)
    measure_fractions(grid, flow.solids.phi_n, flow.solids.area_f, flow.solids.volume_c)
    flow.domain.rebuild()
    flow.solve.rebuild()
    flow.solve.place()


def acceleration(cells: int, dimensions: int, ratio: float, offset: tuple[float, ...]) -> float:
    """First acceleration along gravity / g, positive downwards."""
    sim = make(cells, dimensions, ratio, offset)
    sim.step()
    return float(-sim.body("body").velocity[1] / (1e-3 * GRAVITY))


def added(cells: int, dimensions: int, offset: tuple[float, ...]) -> float:
    """Added mass / displaced mass, from a body of a tenth of the fluid's density."""
    ratio = 0.1
    return (ratio - 1.0) / acceleration(cells, dimensions, ratio, offset) - ratio


def run(full: bool) -> Iterator[Quantity]:
    """Accelerations over all densities at 16 cells per diameter, orders over three grids and four offsets."""
    for dimensions, name in ((2, "cylinder"), (3, "sphere")):
        exact = EXACT[dimensions]
        errors = {}
        for ratio in RATIOS:
            expected = (ratio - 1.0) / (ratio + exact)
            errors[ratio] = abs(acceleration(16, dimensions, ratio, OFFSETS[1]) / expected - 1.0)
        yield quantity(f"acceleration_{name}", max(errors.values()), errors={f"{r:g}": e for r, e in errors.items()})
        sizes = (8, 16, 32) if dimensions == 2 else (6, 12, 24)
        offsets = OFFSETS if dimensions == 2 or full else OFFSETS[1:3]
        found = {n: [added(n, dimensions, offset) for offset in offsets] for n in sizes}
        largest = [max(abs(c - exact) for c in found[n]) for n in sizes]
        yield quantity(f"order_{name}", observed_order(sizes, largest), cells=sizes, errors=largest)
        yield quantity(f"concentric_{name}", found[sizes[1]][0], cells=sizes[1])
