"""A sphere drawn out to a thin sheet by LeVeque's deformation field and brought back (Enright's test)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.grid import Array, Grid, Sides
from undertow.surface import Surface, SurfaceSettings
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.zalesak.case import carry, face_velocity

END = 3.0
CELLS = 100


def run(full: bool = False) -> Iterator[Quantity]:
    """T = 3 at 100^3; the level set alone for information."""
    for particles in (True, False):
        start, half, end, count = deform(CELLS, particles)
        tag = "" if particles else "_level_set_alone"
        detail = {"start": start, "half": half, "end": end, "particles": count}
        yield quantity(f"volume_change_half{tag}", abs(half / start - 1.0), info=not particles, **detail)
        yield quantity(f"volume_change_end{tag}", abs(end / start - 1.0), info=not particles, **detail)


def deform(n: int, particles: bool) -> tuple[float, float, float, int]:
    """Volumes at the start, at half time and at the end [m^3], and how many particles there were."""
    grid = Grid((n, n, n), 1.0 / n)
    x, y, z = grid.cell_centres()
    phi_c = grid.cell_field()
    phi_c[grid.interior] = np.sqrt((x - 0.35) ** 2 + (y - 0.35) ** 2 + (z - 0.35) ** 2) - 0.15
    surface = Surface(grid, Sides(grid), phi_c, SurfaceSettings(particles=particles, reseed_every=0))
    start = surface.volume()
    steps = 3 * n
    half: list[float] = []

    def watch(step: int) -> None:
        if 2 * step == steps:
            half.append(surface.volume())

    carry(surface, face_velocity(grid, deformation), END, steps, lambda t: float(np.cos(np.pi * t / END)), watch)
    return start, half[0], surface.volume(), surface.particles.count


def deformation(x: Array, y: Array, z: Array) -> tuple[Array, Array, Array]:
    """Velocity at t = 0 [m/s]."""
    sx, sy, sz = np.sin(np.pi * x), np.sin(np.pi * y), np.sin(np.pi * z)
    tx, ty, tz = np.sin(2 * np.pi * x), np.sin(2 * np.pi * y), np.sin(2 * np.pi * z)
    return 2 * sx**2 * ty * tz, -tx * sy**2 * tz, -tx * ty * sz**2
