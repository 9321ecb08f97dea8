"""A circle drawn out to a spiral by a single vortex and wound up again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.grid import Array, Grid, Sides
from undertow.surface import Surface, SurfaceSettings
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.zalesak.case import carry, face_velocity, misplaced_at

END = 8.0


def run(full: bool = False) -> Iterator[Quantity]:
    """T = 8 at 128^2 with and without particles; ``full`` adds 64^2 and 256^2."""
    for n in (128, 64, 256) if full else (128,):
        tag = "" if n == 128 else f"_{n}"
        for particles in (True, False):
            before, half, misplaced, surface = wind(n, particles)
            after = surface.volume()
            yield quantity(
                f"area_change{tag}" if particles else f"area_change_level_set_alone{tag}",
                abs(after / before - 1.0),
                info=not particles or n != 128,
                before=before,
                half=half,
                after=after,
                radius_error=radius_error(surface),
                particles=surface.particles.count,
            )
            if particles and n == 128:
                # a circle that is never wound up keeps its area
                yield quantity("misplaced_half", misplaced)
                yield quantity("radius_error", radius_error(surface), unit="cells")


def wind(n: int, particles: bool) -> tuple[float, float, float, Surface]:
    """Areas at the start and at half time [m^2], part of it that is misplaced then, and the surface at the end."""
    grid = Grid((n, n, 1), 1.0 / n, dimensions=2)
    x, y, _ = grid.cell_centres()
    phi_c = grid.cell_field()
    phi_c[grid.interior] = circle(x, y, np.zeros(1))
    surface = Surface(grid, Sides(grid), phi_c, SurfaceSettings(particles=particles, reseed_every=0))
    before = surface.volume()
    steps = round(END * n)
    half: list[float] = []

    def factor(t: float) -> float:
        return float(np.cos(np.pi * t / END))

    def watch(step: int) -> None:
        if 2 * step == steps:
            half.extend((surface.volume(), misplaced_at(surface, vortex, factor, 0.5 * END, circle)))

    carry(surface, face_velocity(grid, vortex), END, steps, factor, watch)
    return before, half[0], half[1], surface


def circle(x: Array, y: Array, z: Array) -> Array:
    """Signed distance at the start [m]."""
    return np.asarray(np.hypot(x - 0.5, y - 0.75) - 0.15)


def vortex(x: Array, y: Array, z: Array) -> tuple[Array, Array, float]:
    """Velocity at t = 0 [m/s]."""
    u = -(np.sin(np.pi * x) ** 2) * np.sin(2 * np.pi * y)
    v = np.sin(np.pi * y) ** 2 * np.sin(2 * np.pi * x)
    return u, v, 0.0


def radius_error(surface: Surface) -> float:
    """Largest distance between the surface and the circle it came from [cells]."""
    from undertow.surface import surface_contours

    points = np.concatenate(surface_contours(surface.grid, surface.phi_c) or [np.zeros((1, 3))])
    return float(np.max(np.abs(np.hypot(points[:, 0] - 0.5, points[:, 1] - 0.75) - 0.15)) / surface.grid.dx)
