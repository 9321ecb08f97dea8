"""Sums and maxima over a flow: time-step limits, ledger, forces on solids. Partial results per row, added in order."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from undertow.fluid.domain import has_body
from undertow.fluid.state import FlowReport, SolidForce
from undertow.geometry.fractions import face_moment
from undertow.grid import GHOSTS, Array, Grid, Sides, largest_of_rows, row_of_cells, share, sum_rows, unit_step
from undertow.linalg import used_ranges
from undertow.part import (
    ANGULAR_MOMENTUM,
    ENERGY,
    MOMENTUM,
    RATE,
    VOLUME,
    VOLUME_RATE,
    Quantity,
    components,
)

if TYPE_CHECKING:
    from undertow.fluid.flow import Flow
    from undertow.fluid.phase import Phase

SUMS = 13
"""What ``_sum_forces`` adds up per body."""


def largest_difference(grid: Grid, a_c: Array, b_c: Array | None) -> float:
    """max |a - b| over the interior cells (b = 0 when None)."""
    other, weight = (a_c, 0.0) if b_c is None else (b_c, 1.0)
    return float(largest_of_rows(grid, (), _row_difference, a_c, other, weight))


def wall_leak(grid: Grid, row_c: Array, target_c: Array, body_c: np.ndarray) -> float:
    """Sum of |K u - s| over the cells near solids [m^3/s; 2D m^2/s]."""
    return float(_sum_leak(grid.spec, row_c, target_c, body_c))


def largest_speed(grid: Grid, u_f: Array) -> float:
    """max over cells of sum_axis max(|u_lo|, |u_hi|) [m/s]."""
    return float(largest_of_rows(grid, (), _row_speed, u_f))


def largest_change(grid: Grid, new_f: Array, old_f: Array) -> tuple[float, float]:
    """max |new - old| and max |new| over all faces."""
    change, largest = largest_of_rows(grid, (2,), _row_change, new_f, old_f)
    return float(change), float(largest)


def subtract_scaled(inv_mass_f: Array, force_f: Array, dt: float, u_f: Array) -> None:
    """u -= dt force / mass."""
    m, f, u = inv_mass_f.reshape(-1), force_f.reshape(-1), u_f.reshape(-1)
    for low, high in used_ranges(u_f.shape):
        share(_subtract_scaled, high - low, high - low, m[low:high], f[low:high], dt, u[low:high])


def sums(phase: Phase, u_f: Array, beside: tuple[np.ndarray, Array]) -> Iterator[Quantity]:
    """Volume, momentum, angular momentum about the origin and kinetic energy of a fluid that fills the domain.

    beside: faces (k,), flat, and the momentum (k,) [N s] of what the solve's masses have beside their open areas.
    """
    domain, grid = phase.domain, phase.domain.grid
    mass = phase.mass_of(grid.cell_volume)
    total = sum_rows(grid, (8,), _sum_rows, domain.area_f, domain.volume_c, u_f)
    face, more = beside
    axis, place = _faces(grid, face)
    given = more[:, None] * np.eye(3)[axis]
    yield Quantity("fluid_volume", float(total[0] * grid.cell_volume), VOLUME)
    yield from components("momentum", total[1:4] * mass + given.sum(axis=0), MOMENTUM)
    yield from components("angular_momentum", total[4:7] * mass + np.cross(place, given).sum(axis=0), ANGULAR_MOMENTUM)
    yield Quantity("kinetic_energy", float(0.5 * (total[7] * mass + more @ u_f.reshape(-1)[face])), ENERGY)


def _faces(grid: Grid, face: np.ndarray) -> tuple[np.ndarray, Array]:
    """Axis (k,) and place (k, 3) [m] of faces (k,), flat indices of a face field; z = 0 in 2D."""
    axis, cell = grid.split(face)
    place = grid.position(grid.index(cell), 0.5 * (np.arange(3) != axis[:, None]))
    place[:, grid.dimensions :] = 0.0
    return axis, place


def wet_length(phi: Array, dx: float) -> float:
    """Length [m] of a line that lies in liquid: phi (n,) is the level set in the middles of its n parts of dx [m], and
    linear between them."""
    ends = np.concatenate([phi[:1], phi, phi[-1:]])
    low, high = ends[:-1], ends[1:]
    change = np.where(low == high, 1.0, high - low)
    part = np.where((low <= 0.0) == (high <= 0.0), low <= 0.0, np.where(low <= 0.0, -low / change, high / change))
    length = np.full(len(part), dx)
    length[[0, -1]] *= 0.5
    return float(part @ length)


def column_weight(phase: Phase, way: Array) -> Array:
    """By how much the pressure (n,) [Pa] of a fluid at rest is higher at the end of ways (n, 3) [m]."""
    return phase.mass_of(np.asarray(way @ np.array(phase.gravity)))


class Rest(NamedTuple):
    """A liquid as it would lie at rest.

    place (3,): a point of its surface [m]; moment (3,): sum of volume times the way from that point [m4; 2D m3].
    """

    place: Array
    moment: Array


def liquid_at_rest(phase: Phase, volume: float, open_c: Array) -> Rest:
    """So much liquid [m3; 2D m2] in the lowest open parts of cells (Z, Y, X), whether or not it can get there."""
    grid, g = phase.domain.grid, np.array(phase.gravity)
    size = float(np.linalg.norm(g))
    centre = np.stack([np.broadcast_to(x, grid.cells[::-1]).ravel() for x in grid.cell_centres()], axis=1)
    centre[:, grid.dimensions :] = 0.0
    if size == 0.0:
        return Rest(np.zeros(3), np.zeros(3))
    room = open_c[grid.interior].ravel() * grid.cell_volume
    # layers of cells of one height, the lowest first
    height = np.round(centre @ g * (-1e6 / (size * grid.dx)))
    heights, layer = np.unique(height, return_inverse=True)
    layers = np.bincount(layer, room, len(heights))
    filled = np.clip(volume - (np.cumsum(layers) - layers), 0.0, layers)
    part = np.divide(filled, layers, out=np.ones_like(filled), where=layers > 0.0)
    last = int(np.flatnonzero(filled > 0.0)[-1]) if volume > 0.0 else 0
    # the part of a layer lies below its middle, as in the sums of the liquid
    down = 0.5 * (1.0 - part) * grid.dx
    surface = (heights[last] * 1e-6 + part[last] - 0.5) * grid.dx
    place = -surface * g / size
    weight = room * part[layer]
    moment = weight @ (centre + (down[layer])[:, None] * g / size - place)
    return Rest(place, moment)


def liquid_sums(phase: Phase, phi_c: Array, open_c: Array, u_f: Array, rest: Rest) -> Iterator[Quantity]:
    """Momentum, angular momentum about the origin, kinetic energy, and potential energy above that at rest, of a liquid
    under the level set phi_c [m]; open_c: part of each cell outside all solids."""
    return named_sums(phase.mass_of(liquid_moments(phase, phi_c, open_c, u_f, rest)))


def liquid_moments(phase: Phase, phi_c: Array, open_c: Array, u_f: Array, rest: Rest) -> Array:
    """The same (8,), over the density."""
    grid = phase.domain.grid
    total = sum_rows(grid, (8,), _sum_liquid_rows, phi_c, open_c, u_f, phase.gravity, rest.place) * grid.cell_volume
    total[7] += float(rest.moment @ np.array(phase.gravity))
    return np.asarray(total)


def named_sums(total: Array) -> Iterator[Quantity]:
    """``liquid_moments`` times densities (8,)."""
    yield from components("momentum", total[:3], MOMENTUM)
    yield from components("angular_momentum", total[3:6], ANGULAR_MOMENTUM)
    yield Quantity("kinetic_energy", float(total[6]), ENERGY)
    yield Quantity("potential_energy", float(total[7]), ENERGY)


def flux(grid: Grid, u_f: Array, open_f: Array, axis: int, position: float) -> float:
    """Volume flow [m3/s; 2D m2/s] along ``axis`` through the open parts of the grid faces nearest to a position [m]."""
    faces = _layer(grid, axis, round((position - grid.lower[axis]) / grid.dx))
    return float(np.sum(u_f[axis][faces] * open_f[axis][faces]) * grid.face_area)


def side_flows(grid: Grid, sides: Sides, u_f: Array, open_f: Array, phi_c: Array | None = None) -> Iterator[Quantity]:
    """Volume entering and leaving through the sides of the domain per second; periodic sides do not count.

    phi_c: level set of a liquid [m]; faces then count as far as the cell inside them is full.
    """
    inflow = outflow = 0.0
    for _, axis, end in grid.sides():
        if sides.is_periodic(axis):
            continue
        last = grid.cells[axis]
        faces = _layer(grid, axis, last if end else 0)
        through = u_f[axis][faces] * open_f[axis][faces]
        if phi_c is not None:
            through = through * np.clip(0.5 - phi_c[_layer(grid, axis, last - 1 if end else 0)] / grid.dx, 0.0, 1.0)
        out = (2 * end - 1) * float(np.sum(through)) * grid.face_area
        inflow += max(-out, 0.0)
        outflow += max(out, 0.0)
    yield Quantity("inflow", inflow, VOLUME_RATE)
    yield Quantity("outflow", outflow, VOLUME_RATE)


def _layer(grid: Grid, axis: int, n: int) -> tuple[slice, ...]:
    """The interior entries [z, y, x] with the n-th index along an axis."""
    index = list(grid.interior)
    index[2 - axis] = slice(GHOSTS + n, GHOSTS + n + 1)
    return tuple(index)


def solve_quantities(report: FlowReport, cell_volume: float) -> Iterator[Quantity]:
    """What the implicit solves of a step did; iterations are those of all solves together."""
    yield Quantity("divergence_max", report.row_after / cell_volume, RATE, "max")
    yield Quantity("row_before", report.row_before, VOLUME_RATE, "max")
    yield Quantity("row_after", report.row_after, VOLUME_RATE, "max")
    yield Quantity("leak", report.leak, VOLUME_RATE)
    yield Quantity("incompatibility", report.incompatibility, merge="max")
    yield Quantity("iterations", report.iterations)
    yield Quantity("residual", report.residual, merge="max")
    yield Quantity("passes", report.passes, merge="max")


def solid_forces(flow: Flow, held: Collection[str] | None) -> dict[str, SolidForce]:
    """See ``Flow.forces``.

    What the fluid at rest does to a solid acts on its true surface (``Phase.at_rest``); the rest of the pressure on the
    walls of the grid, whose area vectors and moments are those of the open faces of each cut cell (``coupling.walls``);
    viscosity through the wall rows, whose dual is sqrt(dt weight) (u - v) at the viscous solve.
    """
    if flow.solids is None:
        return {}
    grid, settings, fields = flow.grid, flow.settings, flow.solids
    solids = fields.solids
    count, held_b = len(solids), np.array([held is None or solid.name in held for solid in solids], dtype=bool)
    if not held_b.any():
        return {}
    walls, viscous = flow.solve.walls, flow.solve.viscous
    domain, at_rest, stencil = flow.domain, flow.at_rest, flow.solve.rows.stencil
    assert at_rest is not None and stencil is not None
    at_rest.measure(stencil, held_b)
    p_c = at_rest.beside(stencil, flow.state.p)
    # the dual of a row is sqrt(dt weight) (u - v) at the viscous solve, before the projection of the split form
    root_dt = 1.0 if walls is None or walls.time_step == 0.0 else float(np.sqrt(walls.time_step))
    if domain.voxel:
        assert viscous is not None
        total = sum_rows(
            grid, (count, SUMS), _sum_voxel_forces, domain.volume_c, domain.open_f, domain.inv_mass_f, fields.body_c,
            fields.spec.position, fields.period, p_c, grid.face_area, viscous.root, flow.solve.strain_z, 1.0 / root_dt,
        )  # fmt: skip
    else:
        none = np.zeros((3, 1, 1, 1))
        duals = (none,) * 3 if walls is None else (walls.solid_weight_f, walls.root_f, flow.solve.walls_z)
        total = sum_rows(
            grid, (count, SUMS), _sum_forces, domain.area_f, domain.volume_c, fields.wall_n, fields.body_c,
            fields.spec.position, fields.period, p_c, grid.face_area, *duals, 1.0 / root_dt,
        )  # fmt: skip
    displaced = at_rest.displaced(total[:, 9:13] * grid.cell_volume)
    static = at_rest.load(displaced)
    turns = 0.0 if flow.extent.phase.strains else 2.0 * settings.viscosity
    forces = {}
    for b in np.flatnonzero(held_b).tolist():
        solid = solids[b]
        # the rows carry mu du/dn; the stress mu (grad u + grad u^T) n of a wall turning with omega differs from it by
        # -mu omega x n, which has no resultant force and the torque -2 mu omega times the solid's volume
        turning = 0.0 if solid.slip else turns * displaced[b, 0]
        torque = total[b, 6:9] + static[b, 3:] - turning * fields.angular_velocity(b)
        forces[solid.name] = SolidForce(
            tuple(float(total[b, a] + static[b, a]) for a in range(3)),  # type: ignore[arg-type]
            tuple(float(total[b, 3 + a]) for a in range(3)),  # type: ignore[arg-type]
            tuple(float(torque[a]) for a in range(3)),  # type: ignore[arg-type]
        )
    return forces


@njit(cache=True, nogil=True)
def _subtract_scaled(inv_mass, force, dt, u, start, stop):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        u[i] -= dt * inv_mass[i] * force[i]


@njit(cache=True, nogil=True)
def _row_difference(spec, a, b, factor, out, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        largest = 0.0
        for i in range(GHOSTS, GHOSTS + spec.nx):
            value = abs(a[k, j, i] - factor * b[k, j, i])
            # written so that a NaN wins
            if not value <= largest:
                largest = value
        out[row] = largest


@njit(cache=True)
def _sum_leak(spec, row, target, body):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(GHOSTS, GHOSTS + spec.nz):
        for j in range(GHOSTS, GHOSTS + spec.ny):
            for i in range(GHOSTS, GHOSTS + spec.nx if has_body(spec, body, k, j) else GHOSTS):
                if body[k, j, i] >= 0:
                    total += abs(row[k, j, i] - target[k, j, i])
    return total


@njit(cache=True, nogil=True)
def _row_speed(spec, u, out, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        largest = 0.0
        for i in range(GHOSTS, GHOSTS + spec.nx):
            speed = max(abs(u[0, k, j, i]), abs(u[0, k, j, i + 1])) + max(abs(u[1, k, j, i]), abs(u[1, k, j + 1, i]))
            if spec.dimensions == 3:
                speed += max(abs(u[2, k, j, i]), abs(u[2, k + 1, j, i]))
            if not speed <= largest:
                largest = speed
        out[row] = largest


@njit(cache=True, nogil=True)
def _row_change(spec, new, old, out, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        change, size = 0.0, 0.0
        for a in range(spec.dimensions):
            for i in range(GHOSTS, GHOSTS + spec.nx):
                change = max(change, abs(new[a, k, j, i] - old[a, k, j, i]))
                size = max(size, abs(new[a, k, j, i]))
        out[row, 0] = change
        out[row, 1] = size


@njit(cache=True, nogil=True)
def _sum_rows(spec, area, volume, u, out, start, stop):  # type: ignore[no-untyped-def]
    """Per row: volume, momentum (3), angular momentum (3), u^2; faces shared half and half by their cells."""
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        y = spec.y0 + (j - GHOSTS + 0.5) * spec.dx
        z = spec.z0 + (k - GHOSTS + 0.5) * spec.dx if spec.dimensions == 3 else 0.0
        for i in range(GHOSTS, GHOSTS + spec.nx):
            x = spec.x0 + (i - GHOSTS + 0.5) * spec.dx
            ul, uh = area[0, k, j, i] * u[0, k, j, i], area[0, k, j, i + 1] * u[0, k, j, i + 1]
            vl, vh = area[1, k, j, i] * u[1, k, j, i], area[1, k, j + 1, i] * u[1, k, j + 1, i]
            wl, wh = 0.0, 0.0
            square = ul * u[0, k, j, i] + uh * u[0, k, j, i + 1] + vl * u[1, k, j, i] + vh * u[1, k, j + 1, i]
            if spec.dimensions == 3:
                wl, wh = area[2, k, j, i] * u[2, k, j, i], area[2, k + 1, j, i] * u[2, k + 1, j, i]
                square += wl * u[2, k, j, i] + wh * u[2, k + 1, j, i]
            mx, my, mz = 0.5 * (ul + uh), 0.5 * (vl + vh), 0.5 * (wl + wh)
            out[row, 0] += volume[k, j, i]
            out[row, 1] += mx
            out[row, 2] += my
            out[row, 3] += mz
            out[row, 4] += y * mz - z * my
            out[row, 5] += z * mx - x * mz
            out[row, 6] += x * my - y * mx
            out[row, 7] += 0.5 * square


@njit(cache=True)
def _arm(s, period):  # type: ignore[no-untyped-def]
    """Offset from the nearest of the repetitions of a centre along an axis; period 0: not periodic."""
    return s - period * np.floor(s / period + 0.5) if period > 0.0 else s


@njit(cache=True)
def _add_force(out, a, f, x, y, z, first):  # type: ignore[no-untyped-def]
    """Force component a at offset (x, y, z) from the centre: force in out[first + a], torque in out[6:9]."""
    out[first + a] += f
    if a == 0:
        out[7] += z * f
        out[8] -= y * f
    elif a == 1:
        out[6] -= z * f
        out[8] += x * f
    else:
        out[6] += y * f
        out[7] -= x * f


@njit(cache=True)
def _add_volume(out, v, x, y, z):  # type: ignore[no-untyped-def]
    """Covered volume v at offset (x, y, z) from the centre."""
    out[9] += v
    out[10] += v * x
    out[11] += v * y
    out[12] += v * z


@njit(cache=True, nogil=True)
def _sum_forces(  # type: ignore[no-untyped-def]
    spec, area, volume, phi, body_c, centre, period, p, face_area, weight, root, z_f, inv_root_dt, out, start, stop
):
    """Per row and body the SUMS: pressure force (3), viscous force (3), torque (3), covered volume [cells] and its
    first moment about the centre (3) [cells m]."""
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        for i in range(GHOSTS, GHOSTS + spec.nx):
            b = body_c[k, j, i]
            if b < 0:
                continue
            x = _arm(spec.x0 + (i - GHOSTS + 0.5) * spec.dx - centre[b, 0], period[0])
            y = _arm(spec.y0 + (j - GHOSTS + 0.5) * spec.dx - centre[b, 1], period[1])
            z = _arm(spec.z0 + (k - GHOSTS + 0.5) * spec.dx - centre[b, 2], period[2]) if spec.dimensions == 3 else 0.0
            _add_volume(out[row, b], 1.0 - volume[k, j, i], x, y, z)
            for a in range(spec.dimensions):
                az, ay, ax = unit_step(a)
                low, high = area[a, k, j, i], area[a, k + az, j + ay, i + ax]
                push = p[k, j, i] * face_area
                if low != high:
                    _add_force(out[row, b], a, push * (low - high), x, y, z, 0)
                if push != 0.0 and (low < 1.0 or high < 1.0):
                    # about the middles of the open parts of the faces, not about the centre of the cell
                    sl, tl = face_moment(phi, a, k, j, i)
                    sh, th = face_moment(phi, a, k + az, j + ay, i + ax)
                    s, t = spec.dx * push * (sl - sh), spec.dx * push * (tl - th)
                    if a == 0:
                        out[row, b, 7] += t
                        out[row, b, 8] -= s
                    else:
                        out[row, b, 6] += t if a == 2 else -t
                        if a == 1:
                            out[row, b, 8] += s
                        else:
                            out[row, b, 7] -= s
                if weight.size > 3 and weight[a, k, j, i] > 0.0:
                    f = weight[a, k, j, i] / root[a, k, j, i] * z_f[a, k, j, i] * inv_root_dt
                    h = 0.5 * spec.dx
                    _add_force(out[row, b], a, f, x - ax * h, y - ay * h, z - az * h, 3)


@njit(cache=True, nogil=True)
def _sum_voxel_forces(  # type: ignore[no-untyped-def]
    spec, volume, open_f, inv_mass, body_c, centre, period, p, face_area, root, z_r, inv_root_dt, out, start, stop
):
    """The same for the faces of solid voxels: pressure of the fluid cell before them, viscous rows to free faces."""
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        for i in range(GHOSTS, GHOSTS + spec.nx):
            b = body_c[k, j, i]
            if b >= 0:
                x = _arm(spec.x0 + (i - GHOSTS + 0.5) * spec.dx - centre[b, 0], period[0])
                y = _arm(spec.y0 + (j - GHOSTS + 0.5) * spec.dx - centre[b, 1], period[1])
                z = 0.0
                if spec.dimensions == 3:
                    z = _arm(spec.z0 + (k - GHOSTS + 0.5) * spec.dx - centre[b, 2], period[2])
                _add_volume(out[row, b], 1.0 - volume[k, j, i], x, y, z)
            for a in range(spec.dimensions):
                if open_f[a, k, j, i] == 1:
                    continue
                az, ay, ax = unit_step(a)
                b = max(body_c[k, j, i], body_c[k - az, j - ay, i - ax])
                if b < 0:
                    continue
                h = 0.5 * spec.dx
                x = _arm(spec.x0 + (i - GHOSTS) * spec.dx + h * (1 - ax) - centre[b, 0], period[0])
                y = _arm(spec.y0 + (j - GHOSTS) * spec.dx + h * (1 - ay) - centre[b, 1], period[1])
                z = 0.0
                if spec.dimensions == 3:
                    z = _arm(spec.z0 + (k - GHOSTS) * spec.dx + h * (1 - az) - centre[b, 2], period[2])
                before, after = volume[k - az, j - ay, i - ax] >= 0.5, volume[k, j, i] >= 0.5
                if before and not after:
                    _add_force(out[row, b], a, p[k - az, j - ay, i - ax] * face_area, x, y, z, 0)
                if after and not before:
                    _add_force(out[row, b], a, -p[k, j, i] * face_area, x, y, z, 0)
                for c in range(spec.dimensions):
                    cz, cy, cx = unit_step(c)
                    low = 1 if a == c else 0
                    r = 3 * a + c
                    kl, jl, il = k - low * cz, j - low * cy, i - low * cx
                    kh, jh, ih = k + (1 - low) * cz, j + (1 - low) * cy, i + (1 - low) * cx
                    f = 0.0
                    if inv_mass[a, k - cz, j - cy, i - cx] > 0.0:
                        f -= root[r, kl, jl, il] * z_r[r, kl, jl, il]
                    if inv_mass[a, k + cz, j + cy, i + cx] > 0.0:
                        f += root[r, kh, jh, ih] * z_r[r, kh, jh, ih]
                    _add_force(out[row, b], a, f * inv_root_dt, x, y, z, 3)


@njit(cache=True, nogil=True)
def _sum_liquid_rows(spec, phi, volume, u, g, place, out, start, stop):  # type: ignore[no-untyped-def]
    """Per row, in cells of water: momentum (3), angular momentum (3), u^2 / 2, -g.x from a place.

    The liquid part of a cell is f = 1/2 - phi / dx between 0 and 1 and its centroid lies (1 - f) / 2 cells below the
    centre along the normal: exact for a level surface.
    """
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        y = spec.y0 + (j - GHOSTS + 0.5) * spec.dx
        z = spec.z0 + (k - GHOSTS + 0.5) * spec.dx if spec.dimensions == 3 else 0.0
        for i in range(GHOSTS, GHOSTS + spec.nx):
            f = min(max(0.5 - phi[k, j, i] / spec.dx, 0.0), 1.0)
            w = f * volume[k, j, i]
            if w == 0.0:
                continue
            x = spec.x0 + (i - GHOSTS + 0.5) * spec.dx
            ul, uh, vl, vh = u[0, k, j, i], u[0, k, j, i + 1], u[1, k, j, i], u[1, k, j + 1, i]
            wl, wh = 0.0, 0.0
            if spec.dimensions == 3:
                wl, wh = u[2, k, j, i], u[2, k + 1, j, i]
            nx, ny, nz, shift = 0.0, 0.0, 0.0, 0.0
            if f < 1.0:
                nx = 0.5 * (phi[k, j, i + 1] - phi[k, j, i - 1])
                ny = 0.5 * (phi[k, j + 1, i] - phi[k, j - 1, i])
                nz = 0.5 * (phi[k + 1, j, i] - phi[k - 1, j, i]) if spec.dimensions == 3 else 0.0
                length = np.sqrt(nx * nx + ny * ny + nz * nz)
                shift = 0.5 * (1.0 - f) * spec.dx / length if length > 0.0 else 0.0
            mx, my, mz = 0.5 * w * (ul + uh), 0.5 * w * (vl + vh), 0.5 * w * (wl + wh)
            out[row, 0] += mx
            out[row, 1] += my
            out[row, 2] += mz
            out[row, 3] += y * mz - z * my
            out[row, 4] += z * mx - x * mz
            out[row, 5] += x * my - y * mx
            out[row, 6] += 0.25 * w * (ul * ul + uh * uh + vl * vl + vh * vh + wl * wl + wh * wh)
            height = g[0] * (x - shift * nx - place[0]) + g[1] * (y - shift * ny - place[1])
            if spec.dimensions == 3:
                height += g[2] * (z - shift * nz - place[2])
            out[row, 7] -= w * height
