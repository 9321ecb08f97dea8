"""Zalesak's slotted disc after one rigid turn: the surface must keep its corners and its area."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from undertow.grid import GHOSTS, Array, Grid, Sides
from undertow.surface import Surface, SurfaceSettings
from undertow.validation.analysis import Quantity, quantity

RATE = np.pi / 314
END = 628.0
EXACT_AREA = 582.2
TRACE = 60
"""Steps back to the start of points that are traced."""
Velocity = Callable[[Array, Array, Array], tuple[Array | float, ...]]
"""(x, y, z) [m] -> (u, v, w) [m/s]."""


def run(full: bool = False) -> Iterator[Quantity]:
    """One turn at 100^2 with and without particles; ``full`` adds 50^2 and 200^2."""
    for n in (100, 50, 200) if full else (100,):
        tag = "" if n == 100 else f"_{n}"
        for particles in (True, False):
            before, quarter, surface = turn_disc(n, particles)
            after = surface.volume()
            name = f"area_change{tag}" if particles else f"area_change_level_set_alone{tag}"
            yield quantity(
                name,
                abs(after / before - 1.0),
                info=not particles or n != 100,
                before=before,
                after=after,
                exact=EXACT_AREA,
                particles=surface.particles.count,
            )
            if particles and n == 100:
                # a disc that does not turn keeps its area, and ends where it began
                yield quantity("misplaced_quarter", quarter)
                yield quantity("misplaced", misplaced_area(surface) / EXACT_AREA)


def turn_disc(n: int, particles: bool) -> tuple[float, float, Surface]:
    """Area before the turn [m^2], part of it that is misplaced after a quarter, and the surface at the end."""
    grid = Grid((n, n, 1), 100.0 / n, dimensions=2)
    phi_c = grid.cell_field()
    x, y, _ = grid.cell_centres()
    phi_c[grid.interior] = slotted_disc(x, y)
    surface = Surface(grid, Sides(grid), phi_c, SurfaceSettings(particles=particles, reseed_every=0))
    before = surface.volume()
    steps, quarter = round(2.52 * n), [np.nan]

    def watch(step: int) -> None:
        if 4 * step == steps:
            quarter[0] = misplaced_at(surface, turning, lambda t: 1.0, 0.25 * END, lambda x, y, z: slotted_disc(x, y))

    carry(surface, face_velocity(grid, turning), END, steps, lambda t: 1.0, watch)
    return before, quarter[0], surface


def turning(x: Array, y: Array, z: Array) -> tuple[Array, Array, float]:
    """Velocity [m/s]."""
    return RATE * (50.0 - y), RATE * (x - 50.0), 0.0


def slotted_disc(x: Array, y: Array) -> Array:
    """Signed distance [m], exact but for the outside of corners: radius 15 at (50, 75), slot 5 wide and 25 long."""
    disc = np.hypot(x - 50.0, y - 75.0) - 15.0
    across, along = np.abs(x - 50.0) - 2.5, y - 85.0
    corner = np.hypot(np.maximum(across, 0.0), np.maximum(along, 0.0))
    slot = np.where((across > 0.0) & (along > 0.0), corner, np.maximum(across, along))
    return np.asarray(np.maximum(disc, -slot))


def misplaced_area(surface: Surface) -> float:
    """Area in which the surface differs from the exact disc [m^2], by 10 x 10 points per cell."""
    from undertow.transport import sample_centred

    grid = surface.grid
    s = (np.arange(10 * grid.cells[0]) + 0.5) * 0.1 * grid.dx
    x, y = (a.ravel() for a in np.meshgrid(s, s))
    wet = sample_centred(grid, surface.phi_c, np.column_stack([x, y, np.zeros_like(x)])) <= 0.0
    return float(np.sum(wet != (slotted_disc(x, y) <= 0.0)) * (0.1 * grid.dx) ** 2)


def misplaced_at(
    surface: Surface, velocity: Velocity, factor: Callable[[float], float], time: float, start: Callable[..., Array]
) -> float:
    """Volume in which the surface at ``time`` [s] differs from the exact one, over the volume of that: 40,000 points
    are traced back to the start by Runge and Kutta's method and are wet if ``start(x, y, z)`` [m] is negative there."""
    from undertow.transport import sample_centred

    grid = surface.grid
    x = np.zeros((40_000, 3))
    for axis in grid.axes:
        x[:, axis] = grid.lower[axis] + np.random.default_rng(axis).random(len(x)) * grid.cells[axis] * grid.dx
    wet = sample_centred(grid, surface.phi_c, x) <= 0.0
    h = -time / TRACE

    def rate(x: Array, t: float) -> Array:
        return factor(t) * np.stack(np.broadcast_arrays(*velocity(*x.T), x[:, 0])[:3], axis=1)

    for n in range(TRACE):
        t = time + n * h
        a = rate(x, t)
        b = rate(x + 0.5 * h * a, t + 0.5 * h)
        c = rate(x + 0.5 * h * b, t + 0.5 * h)
        x = x + h / 6.0 * (a + 2.0 * b + 2.0 * c + rate(x + h * c, t + h))
    exact = start(*x.T) <= 0.0
    return float(np.sum(wet != exact) / np.sum(exact))


def face_velocity(grid: Grid, function: Velocity) -> Array:
    """A velocity function (x, y, z) [m] -> (u, v, w) [m/s] on all faces, ghosts included."""
    u_f = grid.face_field()
    for axis in grid.axes:
        x, y, z = (
            np.float64(grid.lower[a]) + (np.arange(-GHOSTS, n + GHOSTS) + (0.0 if a == axis else 0.5)) * grid.dx
            for a, n in enumerate(grid.cells)
        )
        u_f[axis] = function(x[None, None, :], y[None, :, None], z[:, None, None])[axis]
    return u_f


def carry(
    surface: Surface,
    u_f: Array,
    end: float,
    steps: int,
    factor: Callable[[float], float],
    watch: Callable[[int], None] = lambda step: None,
) -> None:
    """Advance by u_f factor(t) from t = 0 to ``end`` [s]; the velocity of a step is that of its middle."""
    dt = end / steps
    now_f = np.empty_like(u_f)
    for step in range(steps):
        np.multiply(u_f, factor((step + 0.5) * dt), out=now_f)
        surface.advance(now_f, dt)
        watch(step + 1)
