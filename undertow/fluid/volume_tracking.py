"""Conservative volume tracking: what the level set makes or loses is found cell by cell and corrected by the pressure.

A level set with particles keeps volume by its accuracy alone: redistancing thickens what is thinner than some three
cells, fronts that meet swallow what is between them, films below a cell vanish. Beside it runs a volume per cell in
flux form. V_c: liquid part of a cell by the level set; e_c: volume error, what the level set lacks [parts of a cell];
theta_f: liquid part of what crosses a face in the step. Before and after the surface moves,

    m = V + e - dt / dx sum_f a_f u_f (theta_f + e_upwind),        e <- m - V(phi of the new surface)

Fluxes leave one cell and enter the next, so that sum (V + e) changes by nothing but sources, sides and emitters, to
rounding, however crude theta is. The error of a cell is redistributed to the liquid cells around it, where errors of
theta, which have both signs side by side, cancel. The pressure solve corrects a part of it in every step as a source, a
controller with the gains GAIN and EVEN,

    div u = (GAIN e + EVEN mean e) / dt,

but for what theta may be wrong by. A cell that expands loses by the flux what it has made, so that the error decays.

V is what lies outside the solids where they are after the step: walls that move need no term of their own, since the
fluxes into a cell sum to what its wall sweeps over. Shells close the faces that they cut, cells have room up to them,
and nothing is given to cells behind them.

An error where no liquid cell is near is volume that the grid cannot resolve: it becomes a drop of spray of that volume,
unless a shell is in the cell or beside it. What is less than a drop, or negative, all liquid cells share.

Water cannot get from one connected component of open cells to another, so each has its own mean e and shares what is
less than a drop by itself. Beside solids the level set may make water faster than any source takes it away: the level
set inside a solid feeds what hangs on it. A liquid cell near a solid around which there is no tracked water,
sum m <= 0, is spurious and becomes air.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from undertow.grid import GHOSTS, Array, Grid, share_rows
from undertow.grid.jitting import borrowing, inlined
from undertow.linalg import Stencil, used_planes
from undertow.surface import Surface
from undertow.surface.level_set import own_part
from undertow.transport import sample_velocity

GAIN = 0.15
"""Part of the error that one step corrects: larger ones correct errors of theta before they have cancelled."""

MOST = 0.01
"""No cell makes or takes more than this in one step [parts of a cell]: errors where fronts meet would be corrected
under the pressure of their impact, which does work on the water."""

LEFT = 0.03
"""A cell with a smaller error is left alone [parts of a cell]: that is the error of theta about smooth surfaces, whose
motion no source shall disturb."""

EVEN = 0.02
"""Part of the mean error that every liquid cell corrects in one step: errors of theta cancel in the sum, and
what is left alone in every cell would stay for ever."""

DROP = 0.05
"""An error far from any water becomes a drop of spray if it is more than this [parts of a cell]."""

FILM = 1.5
"""Cells deeper than this in the water are no thread or film: where a fast solid was, say [cells]."""

HELD = 0.5
"""A liquid cell with more tracked water stays one [parts of a cell]."""

CHANGED, SMALL = 1.2, 1e-3
"""Distance of the shape of cells that become air, inside and outside, and least distance from the water that they get
[cells]. Particles are dropped where the shape is nearer than a cell: within 0.9 cells of the centres of such cells."""

DEEP = 2.5
"""Cells deeper than this, and as far from solids, keep their error [cells]: nothing has to cancel there."""


class VolumeTracker:
    """Volume tracking of one liquid. State: ``error_c`` [parts of a cell], 0 outside the liquid cells."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.error_c = grid.cell_field()
        self.volume_c = grid.cell_field()
        self.tracked_c = grid.cell_field()
        self._sums = np.zeros((grid.spec.nz * grid.spec.ny, 5))
        self._no_solid = np.zeros((0, 0, 0))
        self._free_c = np.zeros((0, 0, 0), dtype=bool)
        """Cells that emitters fill in this step; empty for none."""
        self._joined: Stencil | None = None
        self._no_component = np.zeros((0, 0, 0), dtype=np.int32)
        self._component_c, self._components = self._no_component, 0
        """Number of each cell's component, 0 for none, and how many there are; empty and 0 for a single one."""
        self._mean = np.zeros(1)
        """Mean error of a liquid cell [parts of a cell]: of all, then of each component."""

    @property
    def total(self) -> float:
        """[m^3]; 2D [m^2]. Positive: the level set has too little."""
        return float(self.error_c[self.grid.interior].sum()) * self.grid.cell_volume

    def skip(self, filled: Sequence[Array]) -> None:
        """Cells that emitters fill, given by the distances from their regions [m], have no error in this step."""
        if bool(filled) != bool(self._free_c.size):
            self._free_c = np.zeros(self.grid.padded if filled else (0, 0, 0), dtype=bool)
        for n, distance_c in enumerate(filled):
            if n == 0:
                np.less_equal(distance_c, self.grid.dx, out=self._free_c)
            else:
                self._free_c |= distance_c <= self.grid.dx

    def measure(self, surface: Surface, solid_c: Array | None, open_c: np.ndarray, scratch_c: Array) -> None:
        """V of the present surface, which was changed on purpose: none of it is an error."""
        self._compare(surface, solid_c, open_c, scratch_c, redistributes=False)

    def find_components(self, area_f: Array, volume_c: Array) -> None:
        """Connected components of open cells. area_f, volume_c: open parts of faces and cells, the same arrays in every
        call."""
        if self._joined is None:
            self._joined = Stencil(self.grid)
            self._joined.face_f, self._joined.dirichlet_c = area_f, volume_c
        self._joined.setup()
        several = self._joined.regions > 1
        self._component_c = self._joined.label.reshape(self.grid.padded) if several else self._no_component
        self._components = self._joined.regions if several else 0
        self._mean = np.zeros(self._components + 1)

    def advect(self, phi_c: Array, u_f: Array, dt: float, area_f: Array, closed_f: Array) -> None:
        """m from V, e and the fluxes of the velocity that is about to move the surface over dt [s].

        closed_f: a second open part of the faces, or an empty array.
        """
        share_rows(
            self.grid, _advect_volume, phi_c, self.volume_c, self.error_c, u_f, area_f, closed_f, dt / self.grid.dx,
            self.tracked_c,
        )  # fmt: skip

    def collect(self, surface: Surface) -> None:
        """What the drops brought that met the liquid in this step is an error where they did."""
        position, volume = surface.met
        if not len(volume):
            return
        grid = self.grid
        cell = surface.level_set.cells_of(position)
        np.add.at(self.tracked_c, (cell[:, 2], cell[:, 1], cell[:, 0]), volume / grid.cell_volume)

    def remove_spurious(self, surface: Surface, solid_c: Array, open_c: np.ndarray, scratch_c: Array) -> None:
        """Liquid cells near solids around which there is no tracked water become air: all of it the level set has made.

        A thread that hangs on a solid is drawn out of the level set inside it, which no flux feeds, and faster than a
        source could take away. What is removed is no error any longer.
        """
        share_rows(
            self.grid, _remove_spurious, solid_c, open_c, self._component_c, self._free_c, self.tracked_c,
            surface.phi_c, scratch_c, self._sums,
        )  # fmt: skip
        if self._sums[:, 2].any():
            surface.level_set.mirror(scratch_c)
            surface.level_set.fill_ghosts(surface.phi_c)
            surface.particles.drop_disagreeing(surface.phi_c, scratch_c)

    def redistribute(
        self, surface: Surface, u_f: Array, solid_c: Array | None, open_c: np.ndarray, scratch_c: Array
    ) -> float:
        """e = m - V of the surface that has moved, redistributed to liquid cells; drops go to the spray.

        Returns what emitters made beside filling their regions [m^3]: water that flows out of them at a wall.
        """
        self._compare(surface, solid_c, open_c, scratch_c, redistributes=True)
        count = self._count_liquid(surface.phi_c, open_c)
        rest = self._take_unresolved(surface, u_f, open_c, count)
        share_rows(
            self.grid, _redistribute, surface.phi_c, open_c, surface.level_set.hidden_c, self.error_c,
            self._component_c, rest, self.tracked_c, self._sums,
        )  # fmt: skip
        self.error_c, self.tracked_c = self.tracked_c, self.error_c
        total = np.zeros(len(count))
        if self._components:
            component, error = (x[self.grid.interior].reshape(-1) for x in (self._component_c, self.error_c))
            total += np.bincount(component, error, len(count))
        total[0] = self._sums[:, 4].sum()
        self._mean = total / np.maximum(count, 1.0)
        return float(self._sums[:, 3].sum()) * self.grid.cell_volume

    def rates(self, dt: float, out_c: Array) -> None:
        """Volume that each cell is to make per time [m^3/s] in a step of dt [s]; of use in liquid cells."""
        scale = self.grid.cell_volume / dt
        np.clip(self.error_c, -LEFT, LEFT, out=out_c)
        np.subtract(self.error_c, out_c, out=out_c)
        out_c *= GAIN * scale
        if self._components:
            for out, component in zip(used_planes(out_c), used_planes(self._component_c), strict=True):
                out += EVEN * self._mean[component] * scale
        else:
            out_c += EVEN * self._mean[0] * scale
        np.clip(out_c, -MOST * scale, MOST * scale, out=out_c)

    def _compare(
        self, surface: Surface, solid_c: Array | None, open_c: np.ndarray, scratch_c: Array, redistributes: bool
    ) -> None:
        """V; if it redistributes, of e = m - V what cells keep (tracked_c) and give each liquid cell around them
        (error_c)."""
        level_set, solid = surface.level_set, self._no_solid if solid_c is None else solid_c
        level_set.liquid_volume(surface.phi_c, solid_c=solid_c, out_parts=scratch_c)
        share_rows(
            self.grid, _find_error, surface.phi_c, solid, open_c, level_set.hidden_c, level_set.room_c,
            self._component_c, self._free_c, scratch_c, redistributes, self.tracked_c, self.volume_c, self.error_c,
            self._sums,
        )  # fmt: skip

    def _count_liquid(self, phi_c: Array, open_c: np.ndarray) -> Array:
        """How many liquid cells there are: all, then those of each component."""
        count = np.zeros(self._components + 1)
        if self._components:
            component, phi, open_c = (x[self.grid.interior] for x in (self._component_c, phi_c, open_c))
            count += np.bincount(component[(phi <= 0.0) & (open_c == 1)], minlength=len(count))
        count[0] = self._sums[:, 0].sum()
        return count

    def _take_unresolved(self, surface: Surface, u_f: Array, open_c: np.ndarray, count: Array) -> Array:
        """Take errors out of reach of any water: drops go to the spray, of the rest each liquid cell gets an even part,
        which is returned: that of cells in no component, then that of those in each.

        count: of the liquid cells, as ``_count_liquid``.
        """
        grid = self.grid
        planes, rows = np.nonzero(self._sums[:, 2].reshape(grid.spec.nz, grid.spec.ny))
        if not len(planes):
            return np.zeros(len(count))
        error, phi, open_c = (x[grid.interior] for x in (self.tracked_c, surface.phi_c, open_c))
        takes = (phi[planes, rows] <= 0.0) & (open_c[planes, rows] == 1)
        lines, columns = np.nonzero((error[planes, rows] != 0.0) & ~takes)
        at = planes[lines], rows[lines], columns
        found = error[at]
        error[at] = 0.0
        # in a cell that a shell cuts nobody knows on which side of it the water is
        beside = surface.level_set.beside_shells(at)
        drops = (found > DROP) & (phi[at] > 0.0) & ~beside
        if drops.any():
            cell = np.stack([x[drops] for x in at[::-1]], axis=1)
            part = np.random.default_rng([surface.settings.seed, surface.step]).random(cell.shape)
            if grid.dimensions == 2:
                part[:, 2] = 0.5
            x = np.array(grid.lower) + (cell + part) * grid.dx
            surface.spray.add(x, sample_velocity(grid, u_f, x), found[drops] * grid.cell_volume)
        rest = np.zeros(len(count))
        if self._components:
            component = self._component_c[grid.interior][at]
            # of all is what is on a side that nobody knows, in no component, or in one without water
            component[beside | (count[component] == 0.0)] = 0
            rest += np.bincount(component[~drops], found[~drops], len(count))
        else:
            rest[0] = found[~drops].sum()
        rest /= np.maximum(count, 1.0)
        rest[1:] += rest[0]
        return rest


@borrowing
def _flux(spec, phi, volume, error, u, area, closed, c, a, k, j, i):  # type: ignore[no-untyped-def]
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
    return opening * v * (part + (error[kl, jl, il] if v > 0.0 else error[k, j, i]))


@borrowing
def _is_dry(volume, error, k, j, i):  # type: ignore[no-untyped-def]
    return volume[k, j, i] == 0.0 and error[k, j, i] == 0.0


@njit(cache=True, nogil=True)
def _advect_volume(spec, phi, volume, error, u, area, closed, c, out, start, stop):  # type: ignore[no-untyped-def]
    """out = V + e less what leaves through the faces [cells]."""
    for row in range(start, stop):
        k = row // spec.ny + GHOSTS
        j = row % spec.ny + GHOSTS
        before, passed = GHOSTS - 1, 0.0
        for i in range(GHOSTS, GHOSTS + spec.nx):
            total = volume[k, j, i] + error[k, j, i]
            if phi[k, j, i] > DEEP * spec.dx and total == 0.0:
                # phi beside drops that particles have put there is no distance: neighbours are asked
                dry = _is_dry(volume, error, k, j - 1, i) and _is_dry(volume, error, k, j + 1, i)
                dry = dry and _is_dry(volume, error, k, j, i - 1) and _is_dry(volume, error, k, j, i + 1)
                if spec.dimensions == 3:
                    dry = dry and _is_dry(volume, error, k - 1, j, i) and _is_dry(volume, error, k + 1, j, i)
                if dry:
                    out[k, j, i] = 0.0
                    continue
            if before != i:
                passed = _flux(spec, phi, volume, error, u, area, closed, c, 0, k, j, i)
            total += passed
            passed = _flux(spec, phi, volume, error, u, area, closed, c, 0, k, j, i + 1)
            before = i + 1
            total -= passed
            total += _flux(spec, phi, volume, error, u, area, closed, c, 1, k, j, i)
            total -= _flux(spec, phi, volume, error, u, area, closed, c, 1, k, j + 1, i)
            if spec.dimensions == 3:
                total += _flux(spec, phi, volume, error, u, area, closed, c, 2, k, j, i)
                total -= _flux(spec, phi, volume, error, u, area, closed, c, 2, k + 1, j, i)
            out[k, j, i] = total


@inlined
def _takes(phi, open_c, k, j, i):  # type: ignore[no-untyped-def]
    """Whether a cell is liquid with its centre outside solids: such cells take the errors of others."""
    return phi[k, j, i] <= 0.0 and open_c[k, j, i] == 1


@inlined
def _around(spec, k, j, i, n):  # type: ignore[no-untyped-def]
    """The n-th of the cells around one, itself among them, mirrored at the sides: in 2D the first nine are all."""
    ii = min(max(i + n % 3 - 1, GHOSTS), GHOSTS + spec.nx - 1)
    jj = min(max(j + n // 3 % 3 - 1, GHOSTS), GHOSTS + spec.ny - 1)
    kk = min(max(k + (n // 9 + 2) % 3 - 1, GHOSTS), GHOSTS + spec.nz - 1) if spec.dimensions == 3 else k
    return kk, jj, ii


@borrowing
def _same_component(component, k, j, i, kk, jj, ii):  # type: ignore[no-untyped-def]
    """Whether two cells are in the same component; one that is in none counts for all."""
    if component.size == 0:
        return True
    a, b = component[k, j, i], component[kk, jj, ii]
    return a == b or a == 0 or b == 0


@borrowing
def _sees(hidden, k, j, i, kk, jj, ii):  # type: ignore[no-untyped-def]
    """Whether one way along x, y and z from the first of two cells, next to each other or diagonally, to the second is
    free of shells; the first is the one with the lower index."""
    if kk < k or (kk == k and (jj < j or (jj == j and ii < i))):
        k, j, i, kk, jj, ii = kk, jj, ii, k, j, i
    if ii != i and hidden[k, j, max(i, ii)] & 1:
        return False
    if jj != j and hidden[k, max(j, jj), ii] & 2:
        return False
    return kk == k or not hidden[kk, jj, ii] & 4


@njit(cache=True, nogil=True)
def _remove_spurious(  # type: ignore[no-untyped-def]
    spec, solid, open_c, component, free_c, tracked, phi, out_shape, out_sums, start, stop
):
    """phi = |phi| in liquid cells near solids for which the sum of m over the cells around them is not positive.

    out_shape: negative in cells that were changed. Per row: how many these are.
    """
    for row in range(start, stop):
        k = row // spec.ny + GHOSTS
        j = row % spec.ny + GHOSTS
        changed = 0
        for i in range(GHOSTS, GHOSTS + spec.nx):
            out_shape[k, j, i] = CHANGED * spec.dx
            if not _takes(phi, open_c, k, j, i) or solid[k, j, i] > DEEP * spec.dx or tracked[k, j, i] > HELD:
                continue
            if phi[k, j, i] < -FILM * spec.dx:
                continue
            if free_c.size > 0 and free_c[k, j, i]:
                continue
            total = 0.0
            for n in range(27 if spec.dimensions == 3 else 9):
                kk, jj, ii = _around(spec, k, j, i, n)
                if _same_component(component, k, j, i, kk, jj, ii):
                    total += tracked[kk, jj, ii]
            if total <= 0.0:
                phi[k, j, i] = max(-phi[k, j, i], SMALL * spec.dx)
                out_shape[k, j, i] = -CHANGED * spec.dx
                changed += 1
        out_sums[row, 2] = changed


@njit(cache=True, nogil=True)
def _find_error(  # type: ignore[no-untyped-def]
    spec, phi, solid, open_c, hidden, room, component, free_c, parts, redistributes, tracked, out_volume, out_share,
    out_sums, start, stop
):  # fmt: skip
    """V of each cell; if it redistributes, tracked = m - V or, where it is shared, 0, and its share.

    free_c: cells, if any, that emitters fill: they have no error. Per row: liquid cells, cells that share, cells that
    are out of reach, volume made in free cells.
    """
    over = 1 if spec.dimensions == 3 else 0
    for row in range(start, stop):
        k = row // spec.ny + GHOSTS
        j = row % spec.ny + GHOSTS
        liquid, sharing, unresolved, made = 0, 0, 0, 0.0
        for i in range(GHOSTS, GHOSTS + spec.nx):
            value = phi[k, j, i] if solid.size == 0 else max(phi[k, j, i], -solid[k, j, i])
            weight = own_part(value, spec.dx)
            volume = 0.0
            if weight > 0.0:
                low, high = k - over, k
                volume = parts[low, j - 1, i - 1] + parts[low, j - 1, i] + parts[low, j, i - 1] + parts[low, j, i]
                volume += parts[high, j - 1, i - 1] + parts[high, j - 1, i] + parts[high, j, i - 1] + parts[high, j, i]
                if room.size > 0:
                    volume += room[k, j, i]
            out_volume[k, j, i] = weight * volume
            if not redistributes:
                continue
            error = tracked[k, j, i] - out_volume[k, j, i]
            if free_c.size > 0 and free_c[k, j, i]:
                made -= error
                error = 0.0
            tracked[k, j, i] = error
            out_share[k, j, i] = 0.0
            takes = _takes(phi, open_c, k, j, i)
            liquid += takes
            near = room.size > 0 and room[k, j, i] != 0.0
            if error == 0.0 or (takes and value < -DEEP * spec.dx and not near):
                continue
            count = 0
            for n in range(9 + 18 * over):
                kk, jj, ii = _around(spec, k, j, i, n)
                seen = hidden.size == 0 or _sees(hidden, k, j, i, kk, jj, ii)
                seen = seen and _same_component(component, k, j, i, kk, jj, ii)
                count += seen and _takes(phi, open_c, kk, jj, ii)
            if count > 0:
                tracked[k, j, i] = 0.0
                out_share[k, j, i] = error / count
                sharing += 1
            else:
                unresolved += 1
        if redistributes:
            out_sums[row, 0], out_sums[row, 1], out_sums[row, 2], out_sums[row, 3] = liquid, sharing, unresolved, made


@njit(cache=True, nogil=True)
def _redistribute(spec, phi, open_c, hidden, share, component, rest, out, out_sums, start, stop):  # type: ignore[no-untyped-def]
    """To what a liquid cell keeps the shares of the cells around it and the rest of its component are added; other
    cells get 0.

    out_sums: cells that share per row, on entry; the sum of out per row.
    """
    over = 1 if spec.dimensions == 3 else 0
    for row in range(start, stop):
        k = row // spec.ny + GHOSTS
        j = row % spec.ny + GHOSTS
        sharing = 0.0
        for kk in range(max(k - over, GHOSTS), min(k + over + 1, GHOSTS + spec.nz)):
            for jj in range(max(j - 1, GHOSTS), min(j + 2, GHOSTS + spec.ny)):
                sharing += out_sums[(kk - GHOSTS) * spec.ny + jj - GHOSTS, 1]
        total = 0.0
        for i in range(GHOSTS, GHOSTS + spec.nx):
            if not _takes(phi, open_c, k, j, i):
                out[k, j, i] = 0.0
                continue
            value = out[k, j, i] + rest[component[k, j, i] if component.size > 0 else 0]
            if sharing > 0.0:
                for n in range(9 + 18 * over):
                    kk, jj, ii = _around(spec, k, j, i, n)
                    given = share[kk, jj, ii]
                    if given == 0.0 or not _same_component(component, k, j, i, kk, jj, ii):
                        continue
                    if hidden.size == 0 or _sees(hidden, k, j, i, kk, jj, ii):
                        value += given
            out[k, j, i] = value
            total += value
        out_sums[row, 4] = total
