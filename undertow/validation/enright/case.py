"""A sphere drawn out to a thin sheet by LeVeque's deformation field and brought back (Enright's test)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.grid import Array, Grid, Sides
from undertow.surface import Surface, SurfaceSettings
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.zalesak.case import carry, face_velocity, misplaced_at

END = 3.0
CELLS, PER_CELL = 100, 16
"""Cells along the cube, and particles in a cell of the band, as many as scenes have."""
SMOKE = {"CELLS": 20}


def run(full: bool = False) -> Iterator[Quantity]:
    """T = 3 at 100^3, 16 particles per cell as in scenes; the level set alone for information."""
    for particles in (True, False):
        start, half, end, misplaced, count = deform(CELLS, particles)
        tag = "" if particles else "_level_set_alone"
        detail = {"start": start, "half": half, "end": end, "particles": count}
        yield quantity(f"volume_change_half{tag}", abs(half / start - 1.0), info=not particles, **detail)
        yield quantity(f"volume_change_end{tag}", abs(end / start - 1.0), info=not particles, **detail)
        # a sphere that is never drawn out keeps its volume
        yield quantity(f"misplaced_half{tag}", misplaced, info=not particles, **detail)


def deform(n: int, particles: bool) -> tuple[float, float, float, float, int]:
    """Volumes at the start, at half time and at the end [m^3], part that is misplaced at half time, particles."""
    grid = Grid((n, n, n), 1.0 / n)
    x, y, z = grid.cell_centres()
    phi_c = grid.cell_field()
    phi_c[grid.interior] = sphere(x, y, z)
    surface = Surface(grid, Sides(grid), phi_c, SurfaceSettings(particles=particles, per_cell=PER_CELL))
    start = surface.volume()
    steps = 3 * n
    half: list[float] = []

    def factor(t: float) -> float:
        return float(np.cos(np.pi * t / END))

    def watch(step: int) -> None:
        if 2 * step == steps:
            half.extend((surface.volume(), misplaced_at(surface, deformation, factor, 0.5 * END, sphere)))

    carry(surface, face_velocity(grid, deformation), END, steps, factor, watch)
    return start, half[0], surface.volume(), half[1], surface.particles.count


def sphere(x: Array, y: Array, z: Array) -> Array:
    """Signed distance at the start [m]."""
    return np.asarray(np.sqrt((x - 0.35) ** 2 + (y - 0.35) ** 2 + (z - 0.35) ** 2) - 0.15)


def deformation(x: Array, y: Array, z: Array) -> tuple[Array, Array, Array]:
    """Velocity at t = 0 [m/s]."""
    sx, sy, sz = np.sin(np.pi * x), np.sin(np.pi * y), np.sin(np.pi * z)
    tx, ty, tz = np.sin(2 * np.pi * x), np.sin(2 * np.pi * y), np.sin(2 * np.pi * z)
    return 2 * sx**2 * ty * tz, -tx * sy**2 * tz, -tx * ty * sz**2
