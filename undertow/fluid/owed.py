"""Volume that the level set owes: what it makes or loses is found cell by cell and given back through the pressure.

A level set with particles keeps volume by its accuracy alone: redistancing thickens what is thinner than some three
cells, fronts that meet swallow what is between them, films below a cell vanish. Beside it runs a book in flux form.
V_c: liquid part of a cell by the level set; o_c: what it owes [parts of a cell]; theta_f: liquid part of what crosses a
face in the step. Before and after the surface moves,

    m = V + o - dt / dx sum_f a_f u_f (theta_f + o_upwind),        o <- m - V(phi of the new surface)

Fluxes leave one cell and enter the next, so that sum (V + o) changes by nothing but sources, sides and emitters, to
rounding, however crude theta is. What a cell owes is handed to the liquid cells around it, where errors of theta, which
have both signs side by side, cancel; and the pressure solve repays a part of it in every step as a source,
div u = GAIN o / dt, but for what theta may be wrong by.
A cell that expands loses by the flux what it has made, so the book clears itself.

What is owed where no liquid cell is near belongs to water that the grid cannot hold: it becomes a drop of spray of that
volume. What is less than a drop, or negative, is shared by all liquid cells.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from undertow.grid import GHOSTS, Array, Grid, share_rows
from undertow.grid.jitting import borrowing
from undertow.surface import Surface
from undertow.surface.level_set import own_part
from undertow.transport import sample_velocity

GAIN = 0.15
"""Part of what is owed that one step repays: larger ones repay errors of theta before they have cancelled."""

MOST = 0.1
"""No cell makes or takes more than this in one step [parts of a cell]."""

LEFT = 0.03
"""A cell that owes less is left alone [parts of a cell]: that is the error of theta about smooth surfaces, whose motion
no source shall disturb."""

DROP = 0.05
"""What is owed far from any water becomes a drop of spray if it is more than this [parts of a cell]."""

DEEP = 2.5
"""Cells deeper than this keep what they owe [cells]: all cells around them are liquid, nothing has to cancel."""


class OwedVolume:
    """The book of one body of water. State: ``owed_c`` [parts of a cell], 0 outside the liquid cells."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.owed_c = grid.cell_field()
        self.volume_c = grid.cell_field()
        self.carried_c = grid.cell_field()
        self._counts = np.zeros((grid.spec.nz * grid.spec.ny, 4))
        self._no_solid = np.zeros((0, 0, 0))
        self.free_c = np.zeros((0, 0, 0), dtype=bool)
        """Cells that emitters fill in this step; empty for none."""

    @property
    def total(self) -> float:
        """[m^3]; 2D [m^2]. Positive: the level set has too little."""
        return float(self.owed_c[self.grid.interior].sum()) * self.grid.cell_volume

    def spare(self, filled: Sequence[Array]) -> None:
        """Cells that emitters fill, given by the distances from their regions [m], owe nothing in this step."""
        near = [distance_c <= self.grid.dx for distance_c in filled]
        self.free_c = np.logical_or.reduce(near) if near else np.zeros((0, 0, 0), dtype=bool)

    def measure(self, surface: Surface, solid_c: Array | None, open_c: np.ndarray, scratch_c: Array) -> None:
        """V of the present surface, which was changed on purpose: nothing of it is owed."""
        np.copyto(self.carried_c, self.owed_c)
        self._part_with(surface, solid_c, open_c, scratch_c, settles=False)
        np.copyto(self.owed_c, self.carried_c)

    def carry(self, phi_c: Array, u_f: Array, dt: float, area_f: Array, closed_f: Array) -> None:
        """m from V, o and the fluxes of the velocity that is about to move the surface over dt [s].

        closed_f: a second open part of the faces, or an empty array.
        """
        share_rows(
            self.grid, _carry_volume, phi_c, self.volume_c, self.owed_c, u_f, area_f, closed_f, dt / self.grid.dx,
            self.carried_c,
        )  # fmt: skip

    def absorb(self, position: Array, volume: Array) -> None:
        """Drops at position (n, 3) [m] that have met the liquid: their volume [m^3] is owed there."""
        if not len(volume):
            return
        grid = self.grid
        cell = np.floor((position - np.array(grid.lower)) / grid.dx).astype(np.int64)
        cell = np.clip(cell, 0, np.array(grid.cells) - 1) + GHOSTS
        np.add.at(self.carried_c, (cell[:, 2], cell[:, 1], cell[:, 0]), volume / grid.cell_volume)

    def settle(
        self, surface: Surface, u_f: Array, solid_c: Array | None, open_c: np.ndarray, scratch_c: Array
    ) -> float:
        """o = m - V of the surface that has moved, handed to liquid cells; drops go to the spray.

        Returns what emitters made beside filling their regions [m^3]: water that flows out of them at a wall.
        """
        self._part_with(surface, solid_c, open_c, scratch_c, settles=True)
        grid, kept, owed = self.grid, self.carried_c[self.grid.interior], self.owed_c
        counts = self._counts.reshape(grid.spec.nz, grid.spec.ny, 4)
        owed[...] = 0.0
        owed = owed[grid.interior]
        np.copyto(owed, kept)
        takes = (surface.phi_c[grid.interior] <= 0.0) & (open_c[grid.interior] == 1)
        stray = self._take_strays(surface, u_f, owed, takes, counts[..., 2])
        rows = np.flatnonzero(counts[..., 1].any(axis=0))
        if rows.size:
            # a row beyond those that share receives too
            slab = slice(max(int(rows[0]) - 1, 0), int(rows[-1]) + 2)
            shared = _sum_around(scratch_c[grid.interior][:, slab], grid.dimensions)
            shared *= takes[:, slab]
            owed[:, slab] += shared
        count = counts[..., 0].sum()
        if stray != 0.0 and count > 0:
            owed += stray / count * takes
        return float(counts[..., 3].sum()) * grid.cell_volume

    def rates(self, dt: float, out_c: Array) -> None:
        """Volume that each cell is to make per time [m^3/s] in a step of dt [s]."""
        scale = self.grid.cell_volume / dt
        np.clip(self.owed_c, -LEFT, LEFT, out=out_c)
        np.subtract(self.owed_c, out_c, out=out_c)
        out_c *= GAIN * scale
        np.clip(out_c, -MOST * scale, MOST * scale, out=out_c)

    def _part_with(
        self, surface: Surface, solid_c: Array | None, open_c: np.ndarray, scratch_c: Array, settles: bool
    ) -> None:
        """V, and of o = m - V what cells keep (carried_c) and give each of the liquid cells around them (scratch_c)."""
        level_set, solid = surface.level_set, self._no_solid if solid_c is None else solid_c
        level_set.liquid_volume(surface.phi_c, solid_c=solid_c, out_parts=self.owed_c)
        share_rows(
            self.grid, _find_owed, surface.phi_c, solid, open_c, self.free_c, self.owed_c, settles, self.carried_c,
            self.volume_c, scratch_c, self._counts,
        )  # fmt: skip

    def _take_strays(self, surface: Surface, u_f: Array, owed: Array, takes: np.ndarray, counts: Array) -> float:
        """Take what is owed out of reach of any water: drops go to the spray, the sum of the rest is returned."""
        planes, rows = np.nonzero(counts)
        if not len(planes):
            return 0.0
        grid, phi = self.grid, surface.phi_c[self.grid.interior]
        lines, columns = np.nonzero((owed[planes, rows] != 0.0) & ~takes[planes, rows])
        at = planes[lines], rows[lines], columns
        found = owed[at]
        owed[at] = 0.0
        drops = (found > DROP) & (phi[at] > 0.0)
        if drops.any():
            place = np.stack([x[drops] for x in at[::-1]], axis=1).astype(np.float64)
            place += np.random.default_rng([surface.settings.seed, surface.step]).random(place.shape)
            x = np.array(grid.lower) + place * grid.dx
            if grid.dimensions == 2:
                x[:, 2] = grid.lower[2] + 0.5 * grid.dx
            radius = surface.spray.radius_of(found[drops] * grid.cell_volume)
            surface.spray.add(x, sample_velocity(grid, u_f, x), radius)
        return float(found[~drops].sum())


def _sum_around(x: Array, dimensions: int) -> Array:
    """Sum over a value and its neighbours along all axes, diagonals included; mirrored at the ends."""
    for axis in range(3 - dimensions, 3):
        total = x.copy()
        low, high = [slice(None)] * 3, [slice(None)] * 3
        low[axis], high[axis] = slice(None, -1), slice(1, None)
        total[tuple(high)] += x[tuple(low)]
        total[tuple(low)] += x[tuple(high)]
        for end in (0, -1):
            low[axis] = end  # type: ignore[call-overload]
            total[tuple(low)] += x[tuple(low)]
        x = total
    return x


@borrowing
def _flux(spec, phi, volume, owed, u, area, closed, c, a, k, j, i):  # type: ignore[no-untyped-def]
    """Volume that crosses a face upwards [cells]. The liquid part of the box that crosses it is that of a plane at the
    distance of its middle; with gradient g the box is sum |g_a| size_a deep."""
    kl, jl, il = k - int(a == 2), j - int(a == 1), i - int(a == 0)
    v = u[a, k, j, i] * c
    opening = area[a, k, j, i]
    if closed.size > 0:
        opening *= closed[a, k, j, i]
    if v == 0.0 or opening == 0.0:
        return 0.0
    lo, hi = phi[kl, jl, il], phi[k, j, i]
    mid = 0.5 * (lo + hi) - 0.5 * min(max(v, -1.0), 1.0) * (hi - lo)
    part = 1.0 if mid <= 0.0 else 0.0
    if (volume[kl, jl, il] if v > 0.0 else volume[k, j, i]) == 0.0:
        part = 0.0
    elif abs(mid) < spec.dx:
        deep = abs((hi - lo) * v)
        for b in range(spec.dimensions):
            if b != a:
                kb, jb, ib = int(b == 2), int(b == 1), int(b == 0)
                across = phi[k + kb, j + jb, i + ib] - phi[k - kb, j - jb, i - ib]
                deep += 0.25 * abs(across + phi[kl + kb, jl + jb, il + ib] - phi[kl - kb, jl - jb, il - ib])
        if deep > 0.0:
            part = min(max(0.5 - mid / deep, 0.0), 1.0)
    return opening * v * (part + (owed[kl, jl, il] if v > 0.0 else owed[k, j, i]))


@borrowing
def _is_dry(volume, owed, k, j, i):  # type: ignore[no-untyped-def]
    return volume[k, j, i] == 0.0 and owed[k, j, i] == 0.0


@njit(cache=True, nogil=True)
def _carry_volume(spec, phi, volume, owed, u, area, closed, c, out, start, stop):  # type: ignore[no-untyped-def]
    """out = V + o less what leaves through the faces [cells]."""
    for row in range(start, stop):
        k = row // spec.ny + GHOSTS
        j = row % spec.ny + GHOSTS
        before, passed = GHOSTS - 1, 0.0
        for i in range(GHOSTS, GHOSTS + spec.nx):
            total = volume[k, j, i] + owed[k, j, i]
            if phi[k, j, i] > DEEP * spec.dx and total == 0.0:
                # phi beside drops that particles have put there is no distance: neighbours are asked
                dry = _is_dry(volume, owed, k, j - 1, i) and _is_dry(volume, owed, k, j + 1, i)
                dry = dry and _is_dry(volume, owed, k, j, i - 1) and _is_dry(volume, owed, k, j, i + 1)
                if spec.dimensions == 3:
                    dry = dry and _is_dry(volume, owed, k - 1, j, i) and _is_dry(volume, owed, k + 1, j, i)
                if dry:
                    out[k, j, i] = 0.0
                    continue
            if before != i:
                passed = _flux(spec, phi, volume, owed, u, area, closed, c, 0, k, j, i)
            total += passed
            passed = _flux(spec, phi, volume, owed, u, area, closed, c, 0, k, j, i + 1)
            before = i + 1
            total -= passed
            total += _flux(spec, phi, volume, owed, u, area, closed, c, 1, k, j, i)
            total -= _flux(spec, phi, volume, owed, u, area, closed, c, 1, k, j + 1, i)
            if spec.dimensions == 3:
                total += _flux(spec, phi, volume, owed, u, area, closed, c, 2, k, j, i)
                total -= _flux(spec, phi, volume, owed, u, area, closed, c, 2, k + 1, j, i)
            out[k, j, i] = total


@njit(cache=True, nogil=True)
def _find_owed(  # type: ignore[no-untyped-def]
    spec, phi, solid, open_c, free_c, parts, settles, carried, out_volume, out_share, out_counts, start, stop
):
    """V of each cell; if the book settles, carried = m - V or, where it is shared, 0, and its share.

    free_c: cells, if any, that emitters fill: they owe nothing. Per row: liquid cells, cells that share, cells that
    are out of reach, volume made in free cells.
    """
    over = 1 if spec.dimensions == 3 else 0
    for row in range(start, stop):
        k = row // spec.ny + GHOSTS
        j = row % spec.ny + GHOSTS
        liquid, sharing, stray, made = 0, 0, 0, 0.0
        for i in range(GHOSTS, GHOSTS + spec.nx):
            value = phi[k, j, i] if solid.size == 0 else max(phi[k, j, i], -solid[k, j, i])
            weight = own_part(value, spec.dx)
            volume = 0.0
            if weight > 0.0:
                low, high = k - over, k
                volume = parts[low, j - 1, i - 1] + parts[low, j - 1, i] + parts[low, j, i - 1] + parts[low, j, i]
                volume += parts[high, j - 1, i - 1] + parts[high, j - 1, i] + parts[high, j, i - 1] + parts[high, j, i]
            out_volume[k, j, i] = weight * volume
            if not settles:
                continue
            owed = carried[k, j, i] - out_volume[k, j, i]
            if free_c.size > 0 and free_c[k, j, i]:
                made -= owed
                owed = 0.0
            carried[k, j, i] = owed
            out_share[k, j, i] = 0.0
            takes = phi[k, j, i] <= 0.0 and open_c[k, j, i] == 1
            liquid += takes
            if owed == 0.0 or (takes and phi[k, j, i] < -DEEP * spec.dx):
                continue
            count = 0
            for z in range(k - over, k + over + 1):
                kk = min(max(z, GHOSTS), GHOSTS + spec.nz - 1)
                for y in range(j - 1, j + 2):
                    jj = min(max(y, GHOSTS), GHOSTS + spec.ny - 1)
                    for x in range(i - 1, i + 2):
                        ii = min(max(x, GHOSTS), GHOSTS + spec.nx - 1)
                        count += phi[kk, jj, ii] <= 0.0 and open_c[kk, jj, ii] == 1
            if count > 0:
                carried[k, j, i] = 0.0
                out_share[k, j, i] = owed / count
                sharing += 1
            else:
                stray += 1
        out_counts[row, 0], out_counts[row, 1], out_counts[row, 2], out_counts[row, 3] = liquid, sharing, stray, made
