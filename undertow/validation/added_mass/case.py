"""A cylinder and a sphere released in inviscid fluid: the fluid that moves along with them, from light to heavy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.geometry import SolidFields, measure_fractions
from undertow.grid import GHOSTS, Array, Grid
from undertow.validation.analysis import Quantity, observed_order, quantity

OUTER = 3.0
"""Radius of the concentric outer wall, in radii of the body."""

EXACT = {2: (OUTER**2 + 1) / (OUTER**2 - 1), 3: 0.5 * (OUTER**3 + 2) / (OUTER**3 - 1)}
"""Added mass / displaced mass of a cylinder (2D) and a sphere in that wall (Lamb, Hydrodynamics, 93)."""

GRAVITY = 9.81
OFFSETS = ((0.0, 0.0, 0.0), (0.37, 0.11, 0.23), (0.52, 0.83, 0.61), (0.91, 0.29, 0.47))
RATIOS = (1e-3, 1e-2, 1e-1, 0.5, 2.0, 1e1, 1e2, 1e3)


def make(
    cells: int, dimensions: int, ratio: float, offset: tuple[float, ...], coupling: str = "monolithic"
) -> ut.Simulation:
    """A body of diameter 1 and ``cells`` cells across, ``ratio`` times as dense as the fluid, offset in cells."""
    size = OUTER + 0.5
    middle = [0.5 * size + o / cells for o in offset[:dimensions]]
    scene = ut.Scene(
        name="added-mass",
        coupling=coupling,
        gravity=(0.0, -GRAVITY, 0.0)[:dimensions],
        domain=ut.Domain(upper=(size,) * dimensions, resolution=round(size * cells)),
        time=ut.Time(end=1e-3, frame_rate=1e3, fixed_step=1e-3),
        fluid=ut.Fluid(density=1.0, tolerance=1e-8, advection="none"),
        objects={"body": ut.RigidBody(shape=ut.Sphere(radius=0.5), position=middle, density=ratio)},
    )
    sim = ut.Simulation(scene)
    flow, centre = sim.flow, np.array([*middle, 0.0][:3])
    assert flow.solids is not None
    if coupling == "lumped":
        enclose_voxels(flow.grid, flow.solids, centre)
    else:
        enclose(flow.grid, flow.solids, centre)
    flow.domain.rebuild()
    flow.solve.rebuild()
    flow.solve.place()
    return sim


def outside(grid: Grid, centre: Array, shift: float) -> Array:
    """Distance [m] from the outer wall, negative beyond it, of nodes (shift 0) or cell centres (0.5)."""
    z, y, x = (np.arange(n) - GHOSTS + shift for n in grid.padded)
    square = (grid.lower[0] + x * grid.dx - centre[0])[None, None, :] ** 2
    square = square + (grid.lower[1] + y * grid.dx - centre[1])[None, :, None] ** 2
    if grid.dimensions == 3:
        square = square + (grid.lower[2] + z * grid.dx - centre[2])[:, None, None] ** 2
    return np.broadcast_to(0.5 * OUTER - np.sqrt(square), grid.padded)


def enclose(grid: Grid, solids: SolidFields, centre: Array) -> None:
    """Make solid what lies outside the outer wall: the open fractions alone know it."""
    np.minimum(solids.phi_n, outside(grid, centre, 0.0), out=solids.phi_n)
    measure_fractions(grid, solids.phi_n, solids.area_f, solids.volume_c)


def enclose_voxels(grid: Grid, solids: SolidFields, centre: Array) -> None:
    """Close the faces of cells whose centres lie outside the outer wall."""
    solid = outside(grid, centre, 0.5) < 0.0
    for axis in grid.axes:
        solids.area_f[axis][solid | np.roll(solid, 1, axis=2 - axis)] = 0.0


def acceleration(
    cells: int, dimensions: int, ratio: float, offset: tuple[float, ...], coupling: str = "monolithic"
) -> float:
    """First acceleration along gravity / g, positive downwards."""
    sim = make(cells, dimensions, ratio, offset, coupling)
    sim.step()
    return float(-sim.body("body").velocity[1] / (1e-3 * GRAVITY))


def added(cells: int, dimensions: int, offset: tuple[float, ...], coupling: str = "monolithic") -> float:
    """Added mass / displaced mass, from a body of a tenth of the fluid's density."""
    ratio = 0.1
    return (ratio - 1.0) / acceleration(cells, dimensions, ratio, offset, coupling) - ratio


def submerged(cells: int, dimensions: int, offset: tuple[float, ...], surface: bool) -> float:
    """Added mass / displaced mass of a body in the middle of a tank, three diameters wide and deep, whose top is at
    p = 0: water with a ``surface``, or fluid up to an open side."""
    dx, level, ratio = 1.0 / cells, 3.0, 0.1
    middle = [0.5 * level + o * dx for o in offset[:dimensions]]
    upper, normal = np.full(dimensions, level), np.eye(3)[1, :dimensions]
    body = ut.RigidBody(shape=ut.Sphere(radius=0.5), position=tuple(middle), density=ratio)
    objects: dict[str, Any] = {"body": body}
    if surface:
        objects["pool"] = ut.Water(shape=ut.Plane(normal=tuple(normal)), position=tuple(upper))
    scene = ut.Scene(
        name="added-mass",
        coupling="monolithic",
        gravity=tuple(-GRAVITY * normal),
        domain=ut.Domain(
            upper=tuple(upper + 0.5 * surface * normal), resolution=round(level * cells), resolution_along="x",
            sides={"y_high": "open"},
        ),
        time=ut.Time(end=1e-3, frame_rate=1e3, fixed_step=1e-3),
        fluid=ut.Fluid(density=1.0, tolerance=1e-8, **({} if surface else {"advection": "none"})),
        objects=objects,
    )  # fmt: skip
    sim = ut.Simulation(scene)
    sim.step()
    return (1.0 - ratio) * 1e-3 * GRAVITY / float(sim.body("body").velocity[1]) - ratio


def under_surface(cells: int, dimensions: int, finest: int) -> Quantity:
    """Largest error of the added mass in water over that in a full tank of ``finest`` cells per diameter."""
    errors = []
    for offset in OFFSETS if dimensions == 2 else OFFSETS[1:3]:
        fine = submerged(finest, dimensions, tuple(o * finest / cells for o in offset), surface=False)
        errors.append(abs(submerged(cells, dimensions, offset, surface=True) / fine - 1.0))
    name = "in_water" if dimensions == 2 else "in_water_sphere"
    return quantity(f"{name}_{cells}", max(errors), cells=cells, errors=errors)


def run(full: bool) -> Iterator[Quantity]:
    """Accelerations over all densities at 16 cells per diameter, orders over three grids and four offsets; added mass
    under a surface."""
    yield under_surface(8, 2, 64)
    yield under_surface(16, 2, 64)
    yield under_surface(8, 3, 24)
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
        voxels = [max(abs(added(n, dimensions, offset, "lumped") - exact) for offset in offsets) for n in sizes]
        yield quantity(f"order_voxel_{name}", observed_order(sizes, voxels), cells=sizes, errors=voxels)
