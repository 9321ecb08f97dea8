"""Water that begins at the face of a wall pushes it with its weight from the first step on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

DENSITY = 1000.0
GRAVITY = 9.81
CELLS = 30
STEPS = 12
OFFSETS = (0.0, 0.15, 0.3, 0.5, 0.7, 0.9)
"""Of the wall's face against the grid [cells]."""


def force(thickness: float, offset: float, kind: str, steps: int = STEPS, cells: int = CELLS) -> np.ndarray:
    """Force of the water on a wall over rho g h^2 / 2, step by step; thickness and offset in cells."""
    dx = 1.0 / cells
    face, thick = (cells // 2 + offset) * dx, thickness * dx
    depth, top = round(0.4 * cells) * dx, round(0.6 * cells) * dx
    # the water ends where the wall begins
    pool = ut.Water(shape=ut.Box(size=(face + 1.0, depth + 1.0)), position=(0.5 * (face - 1.0), 0.5 * (depth - 1.0)))
    shape, place = ut.Box(size=(thick, top + 2.0 * dx)), (face + 0.5 * thick, 0.5 * top)
    held = ut.Hold(shape=ut.Box(size=(2.0 * thick, 2.0 * top)), position=place)
    walls = {
        "soft": ut.SoftBody(
            shape=shape, position=place, density=2.0 * DENSITY, youngs_modulus=1e7, element_size=dx, holds=(held,)
        ),
        "rigid": ut.RigidBody(shape=shape, position=place, motion=ut.Static()),
    }
    scene = ut.Scene(
        name="water-at-walls",
        coupling="monolithic" if kind == "soft" else "none",
        gravity=(0.0, -GRAVITY),
        domain=ut.Domain(upper=(1.0, top), resolution=cells, resolution_along="x", sides={"y_high": "open"}),
        time=ut.Time(end=1.0, frame_rate=100.0),
        fluid=ut.Fluid(density=DENSITY, tolerance=1e-6),
        objects={"pool": pool, "wall": walls[kind]},
    )
    sim = ut.Simulation(scene)
    found = []
    for _ in range(steps):
        sim.step()
        found.append(sim.body_forces("wall").pressure[0])
    return np.array(found) / (0.5 * DENSITY * GRAVITY * depth**2)


def worst(thickness: float, offsets: tuple[float, ...], steps: int = STEPS) -> Quantity:
    """The largest error of the force on walls so thick [cells], of any step, kind and offset."""
    errors = {
        f"{kind} {offset:g}": float(np.abs(force(thickness, offset, kind, steps) - 1.0).max())
        for kind in ("soft", "rigid")
        for offset in offsets
    }
    return quantity("two_cells" if thickness == 2.0 else "one_cell", max(errors.values()), errors=errors)


def run(full: bool = False) -> Iterator[Quantity]:
    """Walls two cells and one cell thick."""
    for thickness in (2.0, 1.0):
        yield worst(thickness, OFFSETS)
