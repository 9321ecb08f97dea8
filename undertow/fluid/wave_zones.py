"""Regions along sides in which water is led towards a wave: makers of waves, and beaches, whose wave is still water.

    u   <- u_w + (u - u_w) exp(-sigma dt)            every component, before the pressure is solved for
    eta <- eta_w + (eta - eta_w) exp(-sigma dt)      by the volume that the highest liquid cell of a column makes

What differs from the wave obeys the equations of water with the same damping of velocity and surface. In shallow water
that leaves the impedance sqrt(g / h) as it is, so that nothing is reflected however sigma grows; in deep water the
reflection falls with the wavelengths over which sigma grows (decision 142). A wave that crosses the region is weaker by
exp(-int sigma ds / c_g), once for what a maker fails to make at its side, twice for what a beach sends back.

The volume that a region makes or takes is a source of the pressure's rows like any other, known to volume tracking and
counted as emitted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from undertow.errors import UserError
from undertow.fluid.advected import AdvectedField, FieldContext
from undertow.fluid.liquid import LiquidSurface
from undertow.fluid.waves import WaveField
from undertow.grid import GHOSTS, Array, Grid


@dataclass(frozen=True)
class ZoneSide:
    """Where a region lies: along the side at ``end`` (0 low, 1 high) of an axis, ``length`` [m] long; level of the
    still water [m]."""

    name: str
    axis: int
    end: int
    length: float
    level: float


def slab(grid: Grid, side: ZoneSide, offset: float = 0.5, more: int = 0) -> tuple[slice, Array]:
    """Entries along the axis of a region, and their way s [m] from its side."""
    x = grid.coordinates(side.axis, offset, grid.cells[side.axis] + more)
    s = grid.upper[side.axis] - x if side.end else x - grid.lower[side.axis]
    inside = np.flatnonzero(s < side.length)
    if not len(inside):
        raise UserError(
            f"objects.{side.name}.length = {side.length:g}: shorter than a cell ({grid.dx:g} m); make it longer, "
            "several wavelengths for a beach, or raise the resolution"
        )
    first, last = int(inside[0]), int(inside[-1]) + 1
    return slice(GHOSTS + first, GHOSTS + last), s[first:last]


def crossings(
    grid: Grid, phi_c: Array, dry_c: np.ndarray | None = None
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], Array]:  # fmt: skip
    """Where the surface faces up between two cells: the lower ones (z, y, x) of the cells (Z, Y, X) given, and the
    height of the surface over the domain's floor [m]. dry_c: cells that do not count."""
    wet = phi_c <= 0.0
    if dry_c is not None:
        wet &= ~dry_c
    plane, row, column = np.nonzero(wet[:, :-1] & (phi_c[:, 1:] > 0.0))
    low, high = phi_c[plane, row, column], phi_c[plane, row + 1, column]
    return (plane, row, column), (row + 0.5 + low / (low - high)) * grid.dx


def surface_level(grid: Grid, phi_c: Array, side: ZoneSide) -> float:
    """Mean height y of the surface in a region [m]."""
    along, _ = slab(grid, side)
    _, height = crossings(grid, phi_c[box_of(grid.interior, side, along)])
    if not len(height):
        raise UserError(
            f"objects.{side.name}: no surface of water in its region at the start; add water, or give level"
        )
    return float(grid.lower[1] + height.mean())


def box_of(across: tuple[slice, slice, slice], side: ZoneSide, along: slice) -> tuple[slice, slice, slice]:
    """Entries [z, y, x] of the region out of interior ones."""
    box = list(across)
    box[2 - side.axis] = along
    return (box[0], box[1], box[2])


class WaveZone(AdvectedField):
    """Water beside one side, led towards ``wave``. It has no state.

    damping: int sigma ds [m/s]; growth: power of the way into the region with which sigma grows.
    """

    def __init__(
        self, context: FieldContext, side: ZoneSide, wave: WaveField, damping: float, growth: float
    ) -> None:  # fmt: skip
        assert isinstance(context.extent, LiquidSurface)
        self.name = f"zone.{side.name}"
        self.grid, self.liquid, self.side, self.wave = context.grid, context.extent, side, wave
        self.damping, self.growth = damping, growth
        self.middle = 0.0
        """Time to which the velocity of the next solve belongs [s]."""
        self._columns, self._faces = slab(self.grid, side), slab(self.grid, side, 0.0, 1)

    def _rate(self, s: Array) -> Array:
        """sigma [1/s] at s [m] from the side: 0 at the inner end of the region."""
        length = self.side.length
        return np.asarray(self.damping * (self.growth + 1.0) / length * (1.0 - s / length) ** self.growth)

    def add_sources(self, time: float, dt: float) -> None:
        """Volume of the highest liquid cells that leads the surface over the step dt [s] after ``time``."""
        self.middle = time + 0.5 * dt
        along, s = self._columns
        grid, liquid = self.grid, self.liquid
        box = box_of(grid.interior, self.side, along)
        place, height = crossings(grid, liquid.surface.phi_c[box], liquid.open_c[box] == 0)
        at = place[2 - self.side.axis]
        wanted = self.side.level - grid.lower[1] + self.wave.elevation(s, time)
        part = -np.expm1(-self._rate(s) * dt)
        volume = part[at] * (wanted[at] - height) * grid.face_area
        cells = tuple(n + inner.start for n, inner in zip(place, box, strict=True))
        liquid.make_volume(cells, volume / dt, dt)
        liquid.count_volume(float(volume.sum()))

    def add_forces(self, u_f: Array, dt: float) -> None:
        """What velocities differ from those of the wave falls, in a kick over dt [s].

        At the time before the kick: the pressure, whose wave it is too, takes them both to the time after it.
        """
        grid, side, time = self.grid, self.side, self.middle - dt
        for axis in grid.axes:
            along, s = self._faces if axis == side.axis else self._columns
            box = box_of(grid.interior_faces(axis), side, along)
            kept = np.exp(-self._rate(s) * dt)
            wanted = self._wave_velocity(axis, s, time)
            u = u_f[axis][box]
            shape = [1, 1, 1]
            shape[2 - side.axis] = len(s)
            u -= wanted
            u *= kept.reshape(shape)
            u += wanted

    def _wave_velocity(self, axis: int, s: Array, time: float) -> Array | float:
        """Of the wave at ``time`` [s] on the faces of an axis, to be spread over [z, y, x]."""
        side, grid = self.side, self.grid
        if len(self.wave.amplitude) == 0 or axis not in (1, side.axis):
            return 0.0
        upward = axis == 1
        y = grid.coordinates(1, 0.0 if upward else 0.5, grid.cells[1] + upward) - side.level
        u = self.wave.velocity(s, y, time, upward)
        if not upward and side.end:
            u = -u
        return u[None] if side.axis == 0 else np.ascontiguousarray(u.T)[:, :, None]
