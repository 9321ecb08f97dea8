"""Fluid and a solid in one dual cell: the pressure between them, and bodies that rise, by three couplings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.grid import GHOSTS
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.drawing import curves

RATIOS = (1e-3, 1e-2, 0.1, 0.5, 1.0, 2.0, 10.0, 1e2, 1e3)
DENSITIES = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
PLATE = 6
"""Index of the cell that the plate fills."""

GRAVITY = 9.81

SMOKE = {"RATIOS": (0.5,), "DENSITIES": (0.5,)}


def interface_error(coupling: str, ratio: float) -> float:
    """|z at the plate's surface - equation (2)| / |z_i - z_{i+1}| of the column in the README."""
    scene = ut.Scene(
        name="two-material-column",
        coupling=coupling,
        gravity=(0.0, 0.0),
        domain=ut.Domain(
            upper=(1.3, 0.4),
            resolution=13,
            sides={
                "x_low": "open",
                "x_high": "open",
                "y_low": ut.Wall(slip=True),
                "y_high": ut.Wall(slip=True),
            },
        ),
        time=ut.Time(end=1.0, frame_rate=1.0),
        fluid=ut.Fluid(density=1.0, tolerance=1e-12, advection="none"),
        objects={
            "plate": ut.RigidBody(shape=ut.Box(size=(0.1, 0.4)), position=(0.1 * (PLATE + 0.5), 0.2), density=ratio)
        },
    )
    flow = ut.Simulation(scene).flow
    u, z = flow.state.u, flow.grid.cell_field()
    u[0, :, :, : GHOSTS + PLATE - 2] = 1.0
    flow.sides.exchange.fill(u)
    flow.solve.solve(u, z, 1.0)
    left, middle, right = z[GHOSTS, GHOSTS + 1, GHOSTS + PLATE - 1 : GHOSTS + PLATE + 2]
    # voxels have no pressure inside the plate, where it falls linearly
    middle = middle if coupling == "volume_fraction" else 0.5 * (left + right)
    gained = u[0, GHOSTS, GHOSTS + 1, GHOSTS + PLATE]
    surface = left - 0.5 * flow.grid.dx * gained
    expected = (ratio * left + middle) / (1.0 + ratio)
    return float(abs(surface - expected) / abs(left - middle))


def rise(coupling: str, density: float, dimensions: int, steps: int = 4) -> float:
    """Mean upward velocity [m/s] of a body over a few steps from rest."""
    step = 0.005
    scene = ut.Scene(
        name="rise",
        coupling=coupling,
        gravity=(0.0, -GRAVITY, 0.0)[:dimensions],
        domain=ut.Domain(upper=(2.0, 2.0, 2.0)[:dimensions], resolution=32, sides={"y_high": "open"}),
        time=ut.Time(end=steps * step, frame_rate=1.0 / step, fixed_step=step),
        fluid=ut.Fluid(density=1.0, tolerance=1e-6),
        objects={
            "body": ut.RigidBody(
                shape=ut.Sphere(radius=0.25), position=(1.013, 0.987, 1.021)[:dimensions], density=density
            )
        },
    )
    sim = ut.Simulation(scene)
    start = float(sim.body("body").position[1])
    sim.advance_to(steps * step)
    # positions move with the velocity before the step
    return (float(sim.body("body").position[1]) - start) / (steps * step) * steps / (steps - 1)


def run(full: bool) -> Iterator[Quantity]:
    """Pressures at the plate for nine densities; rise rates of discs, with ``full`` of spheres."""
    compared = ("lumped", "volume_fraction")
    errors = {coupling: [interface_error(coupling, ratio) for ratio in RATIOS] for coupling in compared}
    yield quantity("interface_pressure", max(errors["lumped"]), ratios=RATIOS, errors=errors["lumped"])
    by_volume = errors["volume_fraction"]
    yield quantity("interface_volume_fraction", max(by_volume), info=True, ratios=RATIOS, errors=by_volume)
    dimensions, added = (3, 0.5) if full else (2, 1.0)
    found = {
        coupling: [rise(coupling, density, dimensions) for density in DENSITIES]
        for coupling in (*compared, "monolithic")
    }
    unbounded = np.array([(1.0 - d) * GRAVITY / (d + added) * 0.5 * 0.02 for d in DENSITIES])
    plot = curves(
        f"Rise rate of {'spheres' if full else 'discs'}, 8 cells across", "density / that of the fluid", "m/s",
        lumped=(DENSITIES, found["lumped"]), volume_fractions=(DENSITIES, found["volume_fraction"]),
        area_fractions=(DENSITIES, found["monolithic"]), of_unbounded_fluid=(DENSITIES, unbounded),
    )  # fmt: skip
    for coupling, rates in found.items():
        worst = float(np.abs(np.array(rates) - unbounded).max() / np.abs(unbounded).max())
        found_by = quantity(f"rise_{coupling}", worst, info=True, densities=DENSITIES, rates=rates)
        if coupling == "monolithic":
            found_by["detail"]["curves"] = plot
        yield found_by
