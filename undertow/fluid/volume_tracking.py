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

but for what theta may be wrong by. The mean is that of the body of water of the cell (``fluid.waters``): each owes its
own sum. A cell that expands loses by the flux what it has made, so that the error decays.

V is what lies outside the solids where they are after the step: walls that move need no term of their own, since the
fluxes into a cell sum to what its wall sweeps over. Shells close the faces that they cut, cells have room up to them,
and nothing is given to cells behind them.

An error where no liquid cell is near is volume that the grid cannot resolve: it becomes a drop of spray of that volume.
What is less than a drop, negative, or beside a solid or a shell, goes to the nearest water; what finds none stays and
moves on with the velocity.

Water cannot get from one connected component of open cells to another: no error does. Beside solids the level set may
make water faster than any source takes it away: the level set inside a solid feeds what hangs on it. A liquid cell near
a solid around which there is no tracked water, sum m <= 0, is spurious and becomes air.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numba import njit

from undertow.fluid.measure import largest_difference
from undertow.fluid.waters import Waters, around, find_nearest_liquid, is_closed, same_component, sees, takes
from undertow.grid import GHOSTS, Array, Grid, neighbour, row_of_cells, share_rows, unit_step
from undertow.grid.jitting import borrowing
from undertow.linalg import Stencil
from undertow.part import RATE, VOLUME, Quantity
from undertow.surface import Surface
from undertow.surface.level_set import own_part
from undertow.transport import sample_centred, sample_velocity

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

HANDED = 12
"""A smaller one goes to the nearest liquid cell if not more faces than this lie between."""

CLINGS = 1.5
"""Nearer than this to a solid an error is a film that the water has left behind, and no drop [cells]."""

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
    """Volume tracking of one liquid. State: ``error_c`` [parts of a cell] and what has become spray or was handed on.

    waters: its bodies. divergence [1/s]: the largest that the last correction asked of the flow. sprays: whether what
    the grid cannot resolve becomes spray.
    """

    sprays = True

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.waters = Waters(grid)
        self.error_c = grid.cell_field()
        self.volume_c = grid.cell_field()
        self.tracked_c = grid.cell_field()
        self.sprayed_volume = self.handed_volume = self.divergence = 0.0
        self._sums = np.zeros((grid.spec.nz * grid.spec.ny, 4))
        self._no_solid = np.zeros((0, 0, 0))
        self._free_c = np.zeros((0, 0, 0), dtype=bool)
        """Cells that emitters fill in this step; empty for none."""
        self._joined: Stencil | None = None
        self.component_c = np.zeros((0, 0, 0), dtype=np.int32)
        """Number of the connected component of open cells of each cell, 0 for none; empty where there is but one."""

    @property
    def total(self) -> float:
        """[m^3]; 2D [m^2]. Positive: the level set has too little."""
        return float(self.error_c[self.grid.interior].sum()) * self.grid.cell_volume

    def arrays(self) -> dict[str, Array]:
        """All that evolves."""
        counted = np.array([self.sprayed_volume, self.handed_volume])
        return {"volume_error_c": self.error_c, "volume_unresolved": counted}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on from what ``arrays`` gave."""
        self.error_c[...] = arrays["volume_error_c"]
        self.sprayed_volume, self.handed_volume = (float(v) for v in arrays["volume_unresolved"])

    def quantities(self) -> Iterator[Quantity]:
        """What the ledger says of it."""
        yield Quantity("volume_error", self.total, VOLUME)
        yield Quantity("volume_sprayed", self.sprayed_volume, VOLUME)
        yield Quantity("volume_handed", self.handed_volume, VOLUME)
        yield Quantity("tracking_divergence", self.divergence, RATE, "max")

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
        shape = self.grid.padded if self._joined.regions > 1 else (0, 0, 0)
        self.component_c = self._joined.label[: int(np.prod(shape))].reshape(shape)

    def find_waters(self, surface: Surface, open_c: np.ndarray, area_f: Array, closed_f: Array, work_f: Array) -> None:
        """Bodies of water of the present surface, and what each has and lacks; work_f: scratch."""
        # the volume that was tracked has been taken over as an error: its array is free
        self.waters.find(surface.phi_c, open_c, area_f, closed_f, work_f, self.tracked_c)
        self.waters.measure(
            surface.phi_c, open_c, surface.level_set.hidden_c, self.component_c, self.volume_c, self.error_c
        )

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
            self.grid, _remove_spurious, solid_c, open_c, self.component_c, self._free_c, self.tracked_c,
            surface.phi_c, scratch_c, self._sums,
        )  # fmt: skip
        if self._sums[:, 2].any():
            surface.level_set.mirror(scratch_c)
            surface.level_set.fill_ghosts(surface.phi_c)
            surface.particles.drop_disagreeing(surface.phi_c, scratch_c)

    def redistribute(
        self, surface: Surface, u_f: Array, solid_c: Array | None, open_c: np.ndarray, area_f: Array, closed_f: Array,
        scratch_c: Array,
    ) -> float:  # fmt: skip
        """e = m - V of the surface that has moved, redistributed to liquid cells; drops go to the spray.

        Returns what emitters made beside filling their regions [m^3]: water that flows out of them at a wall.
        """
        self._compare(surface, solid_c, open_c, scratch_c, redistributes=True)
        self._take_unresolved(surface, u_f, solid_c, open_c, area_f, closed_f)
        share_rows(
            self.grid, _redistribute, surface.phi_c, open_c, surface.level_set.hidden_c, self.error_c,
            self.component_c, self._sums, self.tracked_c,
        )  # fmt: skip
        self.error_c, self.tracked_c = self.tracked_c, self.error_c
        return float(self._sums[:, 3].sum()) * self.grid.cell_volume

    def expect(self, cells: tuple[Array, ...] | np.ndarray, part: Array | float) -> None:
        """Sources make so much in cells (an index into fields) in the step that follows [parts of a cell]."""
        self.error_c[cells] += part

    def rates(self, dt: float, out_c: Array) -> None:
        """Volume that each cell is to make per time [m^3/s] in a step of dt [s]; 0 outside liquid cells."""
        cell = self.grid.cell_volume
        share_rows(
            self.grid, _set_rates, self.error_c, self.waters.label_c, self.waters.mean_error(), cell / dt, out_c
        )  # fmt: skip
        self.divergence = largest_difference(self.grid, out_c, None) / cell

    def _compare(
        self, surface: Surface, solid_c: Array | None, open_c: np.ndarray, scratch_c: Array, redistributes: bool
    ) -> None:
        """V; if it redistributes, of e = m - V what cells keep (tracked_c) and give each liquid cell around them
        (error_c)."""
        level_set, solid = surface.level_set, self._no_solid if solid_c is None else solid_c
        level_set.liquid_volume(surface.phi_c, solid_c=solid_c, out_parts=scratch_c)
        share_rows(
            self.grid, _find_error, surface.phi_c, solid, open_c, level_set.hidden_c, level_set.room_c,
            self.component_c, self._free_c, scratch_c, redistributes, self.tracked_c, self.volume_c, self.error_c,
            self._sums,
        )  # fmt: skip

    def _take_unresolved(
        self, surface: Surface, u_f: Array, solid_c: Array | None, open_c: np.ndarray, area_f: Array, closed_f: Array
    ) -> None:
        """Errors out of reach of any liquid cell: drops go to the spray, the rest to the nearest water, if any is near.

        What is left stays where it is, and moves on with the velocity.
        """
        grid = self.grid
        planes, rows = np.nonzero(self._sums[:, 2].reshape(grid.spec.nz, grid.spec.ny))
        if not len(planes):
            return
        error, phi, outside = (x[grid.interior] for x in (self.tracked_c, surface.phi_c, open_c))
        liquid = (phi[planes, rows] <= 0.0) & (outside[planes, rows] == 1)
        lines, columns = np.nonzero((error[planes, rows] != 0.0) & ~liquid)
        at = planes[lines], rows[lines], columns
        found, cell = error[at], np.stack(at) + GHOSTS
        # in a cell that a shell cuts nobody knows on which side of it the water is; a wall has closed over others
        freely = surface.level_set.beside_shells(at) | is_closed(grid, cell, area_f, closed_f)
        drops = (found > DROP) & (phi[at] > 0.0) & ~freely & self.sprays
        if solid_c is not None:
            drops &= solid_c[tuple(cell)] >= CLINGS * grid.dx
        nearest = np.full(cell.shape, -1)
        nearest[:, ~drops] = find_nearest_liquid(
            grid, cell[:, ~drops], freely[~drops], HANDED, surface.phi_c, open_c, area_f, closed_f
        )
        drops |= (nearest[0] < 0) & (found > 0.0) & ~freely & self.sprays
        handed = (nearest[0] >= 0) & ~drops
        error[tuple(x[drops | handed] for x in at)] = 0.0
        _hand_on(
            grid.spec, surface.phi_c, open_c, surface.level_set.hidden_c, self.component_c,
            np.ascontiguousarray(nearest[:, handed]), found[handed], self.tracked_c,
        )  # fmt: skip
        self.handed_volume += float(np.abs(found[handed]).sum()) * grid.cell_volume
        if drops.any():
            self.sprayed_volume += float(found[drops].sum()) * grid.cell_volume
            corner = np.stack([x[drops] for x in at[::-1]], axis=1)
            part = np.random.default_rng([surface.settings.seed, surface.step]).random(corner.shape)
            if grid.dimensions == 2:
                part[:, 2] = 0.5
            if solid_c is not None:
                # a place inside a solid may be nearer to the other side of it
                place = np.array(grid.lower) + (corner + part) * grid.dx
                part[sample_centred(grid, solid_c, place) < 0.0] = 0.5
            x = np.array(grid.lower) + (corner + part) * grid.dx
            surface.spray.add(x, sample_velocity(grid, u_f, x), found[drops] * grid.cell_volume)


class Untracked(VolumeTracker):
    """A level set that keeps what volume it keeps: errors are neither found nor corrected."""

    def quantities(self) -> Iterator[Quantity]:
        return iter(())

    def advect(self, phi_c: Array, u_f: Array, dt: float, area_f: Array, closed_f: Array) -> None:
        """Nothing is carried beside the level set."""

    def collect(self, surface: Surface) -> None:
        """Nothing becomes spray."""

    def remove_spurious(self, surface: Surface, solid_c: Array, open_c: np.ndarray, scratch_c: Array) -> None:
        """No liquid is known to be spurious."""

    def redistribute(
        self, surface: Surface, u_f: Array, solid_c: Array | None, open_c: np.ndarray, area_f: Array, closed_f: Array,
        scratch_c: Array,
    ) -> float:  # fmt: skip
        self.measure(surface, solid_c, open_c, scratch_c)
        return 0.0

    def expect(self, cells: tuple[Array, ...] | np.ndarray, part: Array | float) -> None:
        """Nothing is compared."""

    def rates(self, dt: float, out_c: Array) -> None:
        out_c[...] = 0.0


@borrowing
def _flux(spec, phi, volume, error, u, area, closed, c, a, k, j, i):  # type: ignore[no-untyped-def]
    """Volume that crosses a face upwards [cells]. The liquid part of the box that crosses it is that of a plane at the
    distance of its middle; with gradient g the box is sum |g_a| size_a deep."""
    kl, jl, il = neighbour(k, j, i, a, -1)
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
                kb, jb, ib = unit_step(b)
                across = phi[k + kb, j + jb, i + ib] - phi[k - kb, j - jb, i - ib]
                deep += 0.25 * abs(across + phi[kl + kb, jl + jb, il + ib] - phi[kl - kb, jl - jb, il - ib])
        if deep > 0.0:
            part = min(max(0.5 - mid / deep, 0.0), 1.0)
    # no cell gives more of its error than it has
    return opening * (v * part + min(max(v, -1.0), 1.0) * (error[kl, jl, il] if v > 0.0 else error[k, j, i]))


@borrowing
def _is_dry(volume, error, k, j, i):  # type: ignore[no-untyped-def]
    return volume[k, j, i] == 0.0 and error[k, j, i] == 0.0


@njit(cache=True, nogil=True)
def _advect_volume(spec, phi, volume, error, u, area, closed, c, out, start, stop):  # type: ignore[no-untyped-def]
    """out = V + e less what leaves through the faces [cells]."""
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
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


@njit(cache=True, nogil=True)
def _remove_spurious(  # type: ignore[no-untyped-def]
    spec, solid, open_c, component, free_c, tracked, phi, out_shape, out_sums, start, stop
):
    """phi = |phi| in liquid cells near solids for which the sum of m over the cells around them is not positive.

    out_shape: negative in cells that were changed. Per row: how many these are.
    """
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        changed = 0
        for i in range(GHOSTS, GHOSTS + spec.nx):
            out_shape[k, j, i] = CHANGED * spec.dx
            if not takes(phi, open_c, k, j, i) or solid[k, j, i] > DEEP * spec.dx or tracked[k, j, i] > HELD:
                continue
            if phi[k, j, i] < -FILM * spec.dx:
                continue
            if free_c.size > 0 and free_c[k, j, i]:
                continue
            total = 0.0
            for n in range(27 if spec.dimensions == 3 else 9):
                kk, jj, ii = around(spec, k, j, i, n)
                if same_component(component, k, j, i, kk, jj, ii):
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
        k, j = row_of_cells(spec, row)
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
            here = takes(phi, open_c, k, j, i)
            liquid += here
            near = room.size > 0 and room[k, j, i] != 0.0
            if error == 0.0 or (here and value < -DEEP * spec.dx and not near):
                continue
            count = 0
            for n in range(9 + 18 * over):
                kk, jj, ii = around(spec, k, j, i, n)
                seen = sees(hidden, k, j, i, kk, jj, ii)
                seen = seen and same_component(component, k, j, i, kk, jj, ii)
                count += seen and takes(phi, open_c, kk, jj, ii)
            if count > 0:
                tracked[k, j, i] = 0.0
                out_share[k, j, i] = error / count
                sharing += 1
            else:
                unresolved += 1
        if redistributes:
            out_sums[row, 0], out_sums[row, 1], out_sums[row, 2], out_sums[row, 3] = liquid, sharing, unresolved, made


@njit(cache=True, nogil=True)
def _redistribute(spec, phi, open_c, hidden, share, component, sharing_rows, out, start, stop):  # type: ignore[no-untyped-def]
    """To what a liquid cell keeps the shares of the cells around it are added.

    sharing_rows: cells that share per row.
    """
    over = 1 if spec.dimensions == 3 else 0
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        sharing = 0.0
        for kk in range(max(k - over, GHOSTS), min(k + over + 1, GHOSTS + spec.nz)):
            for jj in range(max(j - 1, GHOSTS), min(j + 2, GHOSTS + spec.ny)):
                sharing += sharing_rows[(kk - GHOSTS) * spec.ny + jj - GHOSTS, 1]
        for i in range(GHOSTS, GHOSTS + spec.nx):
            if sharing > 0.0 and takes(phi, open_c, k, j, i):
                value = out[k, j, i]
                for n in range(9 + 18 * over):
                    kk, jj, ii = around(spec, k, j, i, n)
                    given = share[kk, jj, ii]
                    if given == 0.0 or not same_component(component, k, j, i, kk, jj, ii):
                        continue
                    if sees(hidden, k, j, i, kk, jj, ii):
                        value += given
                out[k, j, i] = value


@njit(cache=True)
def _hand_on(spec, phi, open_c, hidden, component, cell, error, out):  # type: ignore[no-untyped-def]
    """Add errors to liquid cells (3, n), as z, y, x, evenly with the liquid cells around each: as what is redistributed
    a large one is not corrected under the pressure of one cell."""
    for m in range(cell.shape[1]):
        k, j, i = cell[0, m], cell[1, m], cell[2, m]
        count = 0
        for stage in range(2):
            for n in range(27 if spec.dimensions == 3 else 9):
                kk, jj, ii = around(spec, k, j, i, n)
                if not takes(phi, open_c, kk, jj, ii) or not sees(hidden, k, j, i, kk, jj, ii):
                    continue
                if not same_component(component, k, j, i, kk, jj, ii):
                    continue
                if stage == 0:
                    count += 1
                else:
                    out[kk, jj, ii] += error[m] / count


@njit(cache=True, nogil=True)
def _set_rates(spec, error, label, mean, scale, out, start, stop):  # type: ignore[no-untyped-def]
    """out = scale times the part of a cell that each liquid cell is to make, 0 in other cells."""
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        for i in range(GHOSTS, GHOSTS + spec.nx):
            e = error[k, j, i]
            rate = GAIN * (e - min(max(e, -LEFT), LEFT)) + EVEN * mean[label[k, j, i]]
            out[k, j, i] = scale * min(max(rate, -MOST), MOST) if label[k, j, i] > 0 else 0.0
