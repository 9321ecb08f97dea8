"""A soft square that sinks, its elements 30 times finer and 30 times coarser than the cells (thesis 5.8)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

SIDE, END = 0.4, 0.3


def sink(cells: int, elements: int) -> float:
    """How far [m] a square of ``elements`` elements along its side sinks in ``END`` seconds; ``cells`` per metre."""
    scene = ut.Scene(
        name="refinement-mismatch",
        coupling="monolithic",
        gravity=(0.0, -1.0),
        domain=ut.Domain(upper=(1.0, 1.0), resolution=cells),
        time=ut.Time(end=END, frame_rate=1 / END, fixed_step=END / 20),
        fluid=ut.Fluid(density=1.0, viscosity=0.01, tolerance=1e-6),
        objects={
            "square": ut.SoftBody(
                shape=ut.Box(size=(SIDE, SIDE)),
                position=(0.503, 0.607),
                rotation=ut.Rotation(axis=(0.0, 0.0, 1.0), degrees=12.0),
                element_size=SIDE / elements,
                density=3.0,
                youngs_modulus=1000.0,
                poisson_ratio=0.3,
            )
        },
    )
    sim = ut.Simulation(scene)
    start = sim.body("square").position[1]
    sim.advance_to(END)
    soft = sim.scheme.nodes[0].soft  # type: ignore[attr-defined]
    if not np.isfinite(soft.x).all() or soft.volume(soft.parts[0]) < 0.9 * SIDE**2:
        return float("nan")
    return float(start - sim.body("square").position[1])


def run(full: bool) -> Iterator[Quantity]:
    """Against elements as large as cells on the same grid, over the change from a grid half as fine."""
    cells, fine = (10, 120) if full else (10, 60)
    matched = sink(cells, 4)
    error = abs(matched - sink(2 * cells, 8))
    found = sink(cells, fine)
    yield quantity(
        "finer", abs(found - matched) / error, cells_per_element=fine / (SIDE * cells), sank=found, matched=matched
    )
    cells = 75 if full else 50
    matched = sink(cells, round(SIDE * cells))
    error = abs(matched - sink(cells // 2, round(SIDE * cells / 2)))
    found = sink(cells, 1)
    yield quantity("coarser", abs(found - matched) / error, cells_per_element=SIDE * cells, sank=found, matched=matched)
