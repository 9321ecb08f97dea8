"""Level set and particles that do not see through thin surfaces (Guendelman et al. 2005, section 4.4).

A cell belongs to the side of a shell on which its centre lies, and only cells that see each other know of each other:

- ``OneSidedLevelSet``: phi is transported by paths that stop at the shell and blends of what is in sight
  (``transport.one_sided``), taken anew where the shell has passed over, and its distances are measured and marched
  between neighbours in sight. Water and air with a shell between them have no surface there.
- ``OneSidedParticles``: particles meet the moving shell and stay on their side of it, keep a distance from it, read phi
  where they see it and repair it where it sees them.
- ``OneSidedSpray``: drops stop at the moving shell, slide along it, and are taken up by water that they see.

A value is joined to all values it is made of by ways that cross nothing: water behind a closed surface stays there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from undertow.geometry.occlusion import THICKNESS, find_nearest, gather_elements, is_hidden, is_swept
from undertow.grid import GHOSTS, Array, Grid, Sides, neighbour, row_of_cells, share, share_rows, strides
from undertow.grid.jitting import borrowing, helper
from undertow.surface.contact_angle import RIGHT_ANGLES, Angles
from undertow.surface.level_set import (
    LevelSet,
    _cut,
    _largest_speed,
    _slope,
    _wet_face,
    _wet_value,
    own_part,
)
from undertow.surface.marching import FAR, KNOWN, SIDE, is_seen
from undertow.surface.particles import (
    DRAWS,
    ESCAPED,
    KEPT,
    LARGEST,
    SMALLEST,
    Particles,
    _draw,
    _find_escaped,
    _offer_spheres,
    _stay,
)
from undertow.surface.sampling import _cell_at, _centred_at, _confine, _locate
from undertow.surface.spray import Spray
from undertow.transport.interpolation import CENTRE
from undertow.transport.one_sided import blend_visible, gather_way, make_scratch, stop_path, visible_velocity
from undertow.transport.sight import Shells

CLEAR = 4
"""Cells this far from a shell have none in the stencils of closest points within a cell of them."""
MARCHED = 6
"""Nearer than this only cells next to the surface measure their distance from it, the others are marched to."""
ASIDE = 0.05
"""How far from a shell drops are put that have met it [cells]."""
MEETINGS = 4
"""Of a drop with shells in a step; one that meets more is crushed between them."""


class OneSidedLevelSet(LevelSet):
    """``LevelSet`` with shells in it."""

    def __init__(
        self, grid: Grid, sides: Sides, shells: Shells, contact_angles: Sequence[Angles] = RIGHT_ANGLES
    ) -> None:
        super().__init__(grid, sides, contact_angles=contact_angles)
        self.shells = shells
        self.hidden_c = shells.sight.hidden[CENTRE]
        self._hidden = self.hidden_c.reshape(-1)
        self._before_c = grid.cell_field()
        self._no_velocity = np.zeros((0, *grid.padded))
        self.room_c = grid.cell_field()
        self.look()

    def look(self) -> None:
        """Measure what room the shells leave the cells where they are seen now."""
        sight = self.shells.sight
        share_rows(
            self.grid, _measure_room, self.shells.occlusion.spec, self.hidden_c, sight.away_c, self.room_c
        )  # fmt: skip

    def cells_of(self, position: Array) -> np.ndarray:
        """As that of ``LevelSet``; a place that does not see the centre of its cell belongs to the nearest it sees."""
        cell = super().cells_of(position)
        near = np.flatnonzero(self.shells.sight.away_c[cell[:, 2], cell[:, 1], cell[:, 0]] <= 1)
        if near.size:
            cell[near] = self._nearest_seen(position[near], cell[near])
        return cell

    def beside_shells(self, at: tuple[np.ndarray, ...]) -> np.ndarray:
        """See ``LevelSet``."""
        return np.asarray(self.shells.sight.away_c[self.grid.interior][at] <= 1)

    def _nearest_seen(self, position: Array, cell: np.ndarray) -> np.ndarray:
        """Of the cells around ``cell`` (m, 3), in the domain, those whose centre is the nearest in sight of places
        (m, 3) [m]; ``cell`` itself where none is."""
        grid, axes = self.grid, np.array([axis in self.grid.axes for axis in range(3)])
        around = np.stack(np.meshgrid(*([-1, 0, 1] if used else [0] for used in axes), indexing="ij"), axis=-1)
        found = cell[:, None] + around.reshape(-1, 3)
        x = (position - np.array(grid.lower)) / grid.dx + GHOSTS
        way = np.where(axes, found + 0.5 - x[:, None], 0.0)
        start = np.repeat(x, found.shape[1], axis=0)
        seen = self.shells.occlusion.see(start, start + way.reshape(-1, 3))
        inside = ((found >= GHOSTS) & (found < GHOSTS + np.array(grid.cells))).all(axis=2)
        square = np.where(inside & seen.reshape(inside.shape), (way * way).sum(axis=2), np.inf)
        best = square.argmin(axis=1)
        chosen = found[np.arange(len(cell)), best]
        return np.where(np.isfinite(square.min(axis=1))[:, None], chosen, cell)

    def _find_near(self, phi_c: Array) -> None:
        super()._find_near(phi_c)
        sight = self.shells.sight
        share_rows(self.grid, _find_seen, phi_c, sight.hidden[CENTRE], sight.away_c, self.scratch_c, self._status_c)

    def advect(self, phi_c: Array, u_f: Array, dt: float) -> float:
        """As ``LevelSet.advect``; the shells go to where they are now."""
        before, transport, c = self._before_c, self.shells.transport, dt / self.grid.dx
        self.fill_ghosts(phi_c)
        np.copyto(before, phi_c)
        reach = super().advect(phi_c, u_f, dt)
        cells = int(min(_largest_speed(u_f) * c, max(self.grid.cells)))
        transport.begin(CENTRE, u_f, c, cells, beyond=True)
        transport.predict(before[None], CENTRE, u_f, c, phi_c[None])
        self.fill_ghosts(phi_c)
        np.copyto(self.scratch_c, phi_c)
        transport.correct(before[None], CENTRE, u_f, c, self.scratch_c[None], True, phi_c[None])
        if dt > 0.0:
            self.shells.follow(self._no_velocity, phi_c[None], (self.band,), dt)
            self.look()
        self.fill_ghosts(phi_c)
        return reach

    def liquid_volume(
        self, phi_c: Array, shift: float = 0.0, solid_c: Array | None = None, out_parts: Array | None = None
    ) -> float:
        """As that of ``LevelSet``; where a shell separates centres every cell counts for itself, by 1/2 - phi / dx of
        the room that it has up to the shell."""
        sums = np.zeros(self.grid.cells[2] + (1 if self.grid.dimensions == 3 else 0))
        solid = self._no_solid if solid_c is None else solid_c
        parts = self._no_solid if out_parts is None else out_parts
        volume = super().liquid_volume(phi_c, shift, solid_c, out_parts)
        share(
            _recount_cut, len(sums), self.grid.cell_count, self.grid.spec, phi_c, shift, solid, self.hidden_c,
            self.room_c, parts, sums,
        )  # fmt: skip
        return volume + float(sums.sum()) * self.grid.cell_volume


def corners_now(grid: Grid, shells: Shells) -> Array:
    """Corners (m, 3, 3) of the elements where they are now, in index coordinates."""
    leader = shells.leader
    x = (leader.x_now[None, leader.element] + leader.shift[:, None, None, :]).reshape(-1, 3, 3)
    corners = (x - np.array(grid.lower)) / grid.dx + GHOSTS
    if grid.dimensions == 2:
        corners[..., 2] = GHOSTS + 0.5
    return np.ascontiguousarray(corners)


class OneSidedSpray(Spray):
    """``Spray`` with shells among the drops."""

    def __init__(self, grid: Grid, sides: Sides, shells: Shells) -> None:
        super().__init__(grid, sides)
        self.shells = shells

    def _meet_shells(self, before: Array, dt: float) -> np.ndarray:
        lost = np.zeros(len(before), dtype=bool)
        occluder, end = self.shells.occlusion.spec, corners_now(self.grid, self.shells)
        _stop_drops(self.grid.spec, occluder, end, before, self.position, self.velocity, dt, lost)
        return lost

    def _sample(self, phi_c: Array) -> Array:
        shells, seen = self.shells, np.empty(len(self.volume))
        _sample_seen(
            self.grid.spec, shells.transport.frame, shells.occlusion.spec, shells.sight.away_c, phi_c, self.position,
            self.volume, seen, 0, len(seen),
        )  # fmt: skip
        return np.where(np.isnan(seen), super()._sample(phi_c), seen)


class OneSidedParticles(Particles):
    """``Particles`` with shells among them."""

    def __init__(self, grid: Grid, sides: Sides, per_cell: int | None, seed: int, shells: Shells) -> None:
        super().__init__(grid, sides, per_cell, seed)
        self.shells = shells

    def move(self, u_f: Array, dt: float, phi_c: Array, solid_c: Array | None = None) -> None:
        """As ``Particles.move``; those near shells go as they see the velocity, and meet the shells on their way.

        Those of the air that do are gone. Those of the liquid are put to their own side of the element, at their
        distance, and kept at that distance from all others (Guendelman et al. 2005, 4.4.2).
        """
        n, occlusion, spec = self.count, self.shells.occlusion, self.grid.spec
        x, radius = self.swarm.x[:n].copy(), self.swarm.radius[:n].copy()
        super().move(u_f, dt, phi_c, solid_c)
        end = corners_now(self.grid, self.shells)
        way = float(np.abs(end - occlusion.spec.corner).max(initial=0.0))
        solid = self._no_solid if solid_c is None else solid_c
        share(
            _move_seen, n, 64 * n, spec, self.shells.transport.frame, occlusion.spec, end, self.shells.sight.away_c,
            way, x, radius, self.swarm.x, self.swarm.radius, self.swarm.id, u_f, dt, self._leaves, self.seed,
            phi_c, solid,
        )  # fmt: skip

    def _look(self, phi_c: Array) -> tuple[np.ndarray, Array]:
        """Particles that have a shell near them (k,), and phi [m] as they see it."""
        value = np.empty(self.count)
        self._sample_at(phi_c, *self.swarm[:2], value)
        near = np.flatnonzero(~np.isnan(value))
        return near, value[near]

    def _sample_at(self, phi_c: Array, x: Array, radius: Array, out: Array) -> None:
        """phi [m] as the first particles at x (n, 3) see it; NaN where no shell is near."""
        shells, n = self.shells, len(out)
        share(
            _sample_seen, n, n, self.grid.spec, shells.transport.frame, shells.occlusion.spec, shells.sight.away_c,
            phi_c, x, radius, out,
        )  # fmt: skip

    def _sample(self, phi_c: Array, chosen: np.ndarray) -> Array:
        value, seen = super()._sample(phi_c, chosen), np.empty(len(chosen))
        self._sample_at(phi_c, self.swarm.x[chosen], self.swarm.radius[chosen], seen)
        return np.where(np.isnan(seen), value, seen)

    def correct(self, phi_c: Array) -> int:
        self._share(_find_escaped, *self.swarm[:2], phi_c, self._flag)
        near, seen = self._look(phi_c)
        escaped = near[seen * self.swarm.radius[near] < 0.0]
        self._flag[near] = KEPT
        others = np.flatnonzero(self._flag[: self.count])
        spec, scratch = self.grid.spec, (self._plus_c, self._minus_c)
        _offer_spheres(spec, *self.swarm[:2], others, *scratch, phi_c)
        _offer_seen(spec, self.shells.occlusion.spec, *self.swarm[:2], escaped, *scratch, phi_c)
        self._flag[escaped] = ESCAPED
        return int(others.size + escaped.size)

    def adjust_radii(self, phi_c: Array) -> None:
        super().adjust_radii(phi_c)
        near, seen = self._look(phi_c)
        side = np.sign(self.swarm.radius[near])
        self._flag[near] = np.where(side * seen < 0.0, ESCAPED, KEPT)
        self.swarm.radius[near] = side * np.clip(side * seen, SMALLEST * self.grid.dx, LARGEST * self.grid.dx)

    def reseed(self, phi_c: Array) -> None:
        """As ``Particles.reseed``; new ones that took the side of water or air that they do not see are gone."""
        first = self.next_id
        super().reseed(phi_c)
        n = self.count
        wrong = np.flatnonzero((self.swarm.id[:n] >= first) & (self._flag[:n] == ESCAPED))
        self.swarm.radius[wrong] = 0.0
        self._flag[wrong] = KEPT


@njit(cache=True, nogil=True)
def _find_seen(spec, phi, hidden, away, out_distance, out_status, start, stop):  # type: ignore[no-untyped-def]
    """Distances about the surface [cells] near shells, in the place of those that were found: |phi| / |grad phi| of
    neighbours in sight, at most that to a cut of a grid line; of cells with no cut in sight none."""
    flat, hidden_flat = phi.reshape(phi.size), hidden.reshape(hidden.size)
    _, row, plane = strides(spec)
    bound = 3.0
    for line in range(start, stop):
        k, j = row_of_cells(spec, line)
        for i in range(GHOSTS, GHOSTS + spec.nx):
            if away[k, j, i] > MARCHED:
                continue
            p = k * plane + j * row + i
            mid = flat[p]
            nearest, square = bound, 0.0
            for axis in range(spec.dimensions):
                stride = 1 if axis == 0 else (row if axis == 1 else plane)
                bit = 1 << axis
                low_seen = is_seen(hidden_flat, p, stride, bit, -1)
                high_seen = is_seen(hidden_flat, p, stride, bit, 1)
                low = flat[p - stride] if low_seen else mid
                high = flat[p + stride] if high_seen else mid
                nearest = _cut(mid, high, _cut(mid, low, nearest))
                if low_seen and high_seen:
                    slope = _slope(low, mid, high)
                else:
                    slope = high - low
                square += slope * slope
            side = SIDE if mid <= 0.0 else 0
            if nearest == bound:
                out_status[k, j, i] = side | FAR
            elif away[k, j, i] < CLEAR:
                value = nearest
                if mid * mid < nearest * nearest * square:
                    value = abs(mid) / np.sqrt(square)
                out_status[k, j, i] = side | KNOWN
                out_distance[k, j, i] = value


@njit(cache=True, nogil=True)
def _recount_cut(spec, phi, shift, solid, hidden, room, out_parts, out_sums, start, stop):  # type: ignore[no-untyped-def]
    """Per plane of the cubes between cell centres, of those that a shell cuts: what the eight cells have there, each
    for itself, less what the tetrahedra between them have [cells]; and what cells have in room beside their own."""
    over = 1 if spec.dimensions == 3 else 0
    value = np.zeros(8)
    for plane in range(start, stop):
        k = GHOSTS + plane - over
        weight_z = 0.5 if over == 1 and (plane == 0 or plane == spec.nz) else 1.0
        total = 0.0
        for j in range(GHOSTS - 1, GHOSTS + spec.ny):
            weight_y = 0.5 if j == GHOSTS - 1 or j == GHOSTS + spec.ny - 1 else 1.0
            for i in range(GHOSTS - 1, GHOSTS + spec.nx):
                if room[k, j, i] != 0.0:
                    total += room[k, j, i] * own_part(_wet_value(phi, shift, solid, k, j, i), spec.dx)
                cut = False
                for n in range(8):
                    ax, ay, az = n & 1, n >> 1 & 1, (n >> 2) * over
                    bits = hidden[k + az, j + ay, i + ax]
                    cut = cut or (bits & 1) * ax > 0 or (bits & 2) * ay > 0 or (bits & 4) * az > 0
                if not cut:
                    continue
                own = 0.0
                for n in range(8):
                    value[n] = _wet_value(phi, shift, solid, k + (n >> 2) * over, j + (n >> 1 & 1), i + (n & 1))
                    own += 0.125 * min(max(0.5 - value[n] / spec.dx, 0.0), 1.0)
                a, b, d, c = value[0], value[1], value[2], value[3]
                e, f, h, g = value[4], value[5], value[6], value[7]
                m = 0.125 * ((a + b + c + d) + (e + f + g + h))
                part = _wet_face(a, b, c, d, m) + _wet_face(e, f, g, h, m)
                part += _wet_face(a, b, f, e, m) + _wet_face(d, c, g, h, m)
                part += _wet_face(a, d, h, e, m) + _wet_face(b, c, g, f, m)
                weight = weight_z * weight_y * (0.5 if i == GHOSTS - 1 or i == GHOSTS + spec.nx - 1 else 1.0)
                total += weight * (own - part / 24.0)
                if out_parts.size > 0:
                    out_parts[k, j, i] = 0.125
        out_sums[plane] = total


@borrowing
def _find_crossing(occluder, near, x, y, z, ex, ey, ez):  # type: ignore[no-untyped-def]
    """Where the way from (x, y, z) by the unit e along an axis first meets one of the gathered elements, and the
    squared part of its normal along e; 1/2 and 0 where it meets none."""
    first, square = 2.0, 0.0
    for n in range(1, near[0] + 1):
        e = near[n]
        plane, p = occluder.plane[e], occluder.corner[e]
        da = plane[0] * x + plane[1] * y + plane[2] * z - plane[3]
        rise = plane[0] * ex + plane[1] * ey + plane[2] * ez
        if (da > 0.0) == (da + rise > 0.0) or -da / rise >= first:
            continue
        t = -da / rise
        cx, cy, cz = x + t * ex - p[0, 0], y + t * ey - p[0, 1], z + t * ez - p[0, 2]
        v, w = find_nearest(
            cx, cy, cz, p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2], p[2, 0] - p[0, 0], p[2, 1] - p[0, 1],
            p[2, 2] - p[0, 2],
        )  # fmt: skip
        away = 0.0
        for c in range(3):
            part = cx if c == 0 else (cy if c == 1 else cz)
            part -= v * (p[1, c] - p[0, c]) + w * (p[2, c] - p[0, c])
            away += part * part
        if away <= THICKNESS * THICKNESS:
            first, square = t, rise * rise
    return (first, square) if square > 0.0 else (0.5, 0.0)


@njit(cache=True, nogil=True)
def _measure_room(spec, occluder, hidden, away, out_room, start, stop):  # type: ignore[no-untyped-def]
    """Room of cells up to the shells beside them, less the one cell that is theirs [cells].

    A cell counts as if the shell were half-way to the centre behind it. With the shell at the part t of that way along
    the axis a, and its normal n, the room on this side is n_a^2 (t - 1/2) more: lines along each of the axes measure
    the volume up to a plane exactly, and their weights n_a^2 sum to one.
    """
    stamp, near = np.zeros(len(occluder.corner) + 1, np.int64), np.zeros(len(occluder.corner) + 1, np.int64)
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        for i in range(GHOSTS, GHOSTS + spec.nx):
            out_room[k, j, i] = 0.0
            if away[k, j, i] > 1:
                continue
            x, y, z, more = i + 0.5, j + 0.5, k + 0.5, 0.0
            for axis in range(spec.dimensions):
                for end in range(2):
                    kk, jj, ii = neighbour(k, j, i, axis, end)
                    if hidden[kk, jj, ii] & (1 << axis) == 0:
                        continue
                    out = 2.0 * end - 1.0
                    ex, ey, ez = out * int(axis == 0), out * int(axis == 1), out * int(axis == 2)
                    gather_elements(
                        spec, occluder, min(x, x + ex), min(y, y + ey), min(z, z + ez), max(x, x + ex), max(y, y + ey),
                        max(z, z + ez), stamp, near,
                    )  # fmt: skip
                    t, square = _find_crossing(occluder, near, x, y, z, ex, ey, ez)
                    more += square * (t - 0.5)
            out_room[k, j, i] = max(more, -1.0)


@helper
def _meet(occluder, end, near, x, y, z, px, py, pz, start, move, scratch):  # type: ignore[no-untyped-def]
    """The first of the gathered elements, on their way to the corners ``end``, that a point on its way from (x, y, z)
    to (px, py, pz) meets; -1 for none."""
    for n in range(1, near[0] + 1):
        e = near[n]
        fastest = 0.0
        for a in range(3):
            square = 0.0
            for c in range(3):
                own = px - x if c == 0 else (py - y if c == 1 else pz - z)
                start[a, c] = occluder.corner[e, a, c]
                move[a, c] = end[e, a, c] - start[a, c] - own
                square += move[a, c] * move[a, c]
            fastest = max(fastest, np.sqrt(square))
        if is_swept(start, move, fastest, scratch, x, y, z):
            return e
    return -1


@helper
def _gather_around(spec, occluder, x, y, z, p, q, r, room, stamp, near):  # type: ignore[no-untyped-def]
    """Elements within ``room`` of the box about the way from (x, y, z) to (p, q, r)."""
    gather_elements(
        spec, occluder, min(x, p) - room, min(y, q) - room, min(z, r) - room, max(x, p) + room, max(y, q) + room,
        max(z, r) + room, stamp, near,
    )  # fmt: skip


@helper
def _set_normal(p, out):  # type: ignore[no-untyped-def]
    """Unit normal of a triangle, or across an edge whose last two corners are one; 0 where there is none."""
    ux, uy, uz = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
    vx, vy, vz = p[2, 0] - p[0, 0], p[2, 1] - p[0, 1], p[2, 2] - p[0, 2]
    out[0], out[1], out[2] = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    size = np.sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2])
    if size <= 1e-10 * (ux * ux + uy * uy + uz * uz):
        out[0], out[1], out[2] = -uy, ux, 0.0
        size = np.sqrt(ux * ux + uy * uy)
    for c in range(3):
        out[c] = out[c] / size if size > 0.0 else 0.0


@helper
def _nearest_of(end, near, x, y, z, out):  # type: ignore[no-untyped-def]
    """Distance from the nearest of the gathered elements at their corners ``end``; out (3,): the way from it."""
    best = 1e300
    for n in range(1, near[0] + 1):
        p = end[near[n]]
        dx, dy, dz = x - p[0, 0], y - p[0, 1], z - p[0, 2]
        ux, uy, uz = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
        tx, ty, tz = p[2, 0] - p[0, 0], p[2, 1] - p[0, 1], p[2, 2] - p[0, 2]
        v, w = find_nearest(dx, dy, dz, ux, uy, uz, tx, ty, tz)
        dx, dy, dz = dx - v * ux - w * tx, dy - v * uy - w * ty, dz - v * uz - w * tz
        square = dx * dx + dy * dy + dz * dz
        if square < best:
            best = square
            out[0], out[1], out[2] = dx, dy, dz
    return np.sqrt(best)


@njit(cache=True, nogil=True)
def _move_seen(  # type: ignore[no-untyped-def]
    spec, frame, occluder, end, away, way, before, size, place, radius, ids, u, dt, leaves, seed, phi, solid,
    start, stop
):  # fmt: skip
    """Particles with a shell near their path, anew from where they were; way: of the elements [cells].

    An element in a cell n cells away is more than n - 1 away. Values around the path are up to a cell from it, and so
    is the distance to be kept.
    """
    u_flat, phi_flat, solid_flat = u.reshape(u.size), phi.reshape(phi.size), solid.reshape(solid.size)
    away_flat = away.reshape(away.size)
    stamp, near, close = make_scratch(occluder)
    first, move, scratch, normal = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(3)
    c = dt / spec.dx
    margin = 1e-3
    for p in range(start, stop):
        sx, sy, sz = _locate(spec, before[p, 0], before[p, 1], before[p, 2])
        x, y, z = _locate(spec, place[p, 0], place[p, 1], place[p, 2])
        path = max(abs(x - sx), abs(y - sy), abs(z - sz))
        if size[p] == 0.0 or _cell_at(spec, away_flat, sx, sy, sz) >= path + way + 2.0:
            continue
        gather_way(spec, occluder, sx, sy, sz, sx, sy, sz, stamp, near)
        v1, v2, v3 = visible_velocity(spec, frame, occluder, u_flat, sx, sy, sz, near, close)
        h = 0.5 * c
        x, y, z, _ = stop_path(
            spec, frame, occluder, sx, sy, sz, sx + h * v1, sy + h * v2, sz + h * v3, 0.0, stamp, near
        )
        v1, v2, v3 = visible_velocity(spec, frame, occluder, u_flat, x, y, z, near, close)
        x = _stay(sx + c * v1, spec.nx, leaves[0], leaves[1], margin)
        y = _stay(sy + c * v2, spec.ny, leaves[2], leaves[3], margin)
        z = _stay(sz + c * v3, spec.nz, leaves[4], leaves[5], margin) if spec.dimensions == 3 else sz
        radius[p] = 0.0
        if np.isnan(x + y + z):
            continue
        _gather_around(spec, occluder, sx, sy, sz, x, y, z, way, stamp, near)
        wanted = SMALLEST + (1.0 - SMALLEST) * _draw(seed, ids[p], DRAWS[3])
        met = _meet(occluder, end, near, sx, sy, sz, x, y, z, first, move, scratch)
        if met >= 0:
            if size[p] > 0.0:
                continue
            _set_normal(occluder.corner[met], normal)
            q = occluder.corner[met, 0]
            side = (sx - q[0]) * normal[0] + (sy - q[1]) * normal[1] + (sz - q[2]) * normal[2]
            _set_normal(end[met], normal)
            q = end[met, 0]
            height = (x - q[0]) * normal[0] + (y - q[1]) * normal[1] + (z - q[2]) * normal[2]
            push = (wanted if side > 0.0 else -wanted) - height
            x = _confine(x + push * normal[0], spec.nx)
            y = _confine(y + push * normal[1], spec.ny)
            z = _confine(z + push * normal[2], spec.nz)
            _gather_around(spec, occluder, sx, sy, sz, x, y, z, way, stamp, near)
            if _meet(occluder, end, near, sx, sy, sz, x, y, z, first, move, scratch) >= 0:
                continue
        if size[p] < 0.0:
            _gather_around(spec, occluder, x, y, z, x, y, z, way + wanted, stamp, near)
            distance = _nearest_of(end, near, x, y, z, normal)
            if distance < wanted and distance > 0.0:
                push = (wanted - distance) / distance
                nx = _confine(x + push * normal[0], spec.nx)
                ny = _confine(y + push * normal[1], spec.ny)
                nz = _confine(z + push * normal[2], spec.nz)
                _gather_around(spec, occluder, sx, sy, sz, nx, ny, nz, way + 1.0, stamp, near)
                value, weight, _ = blend_visible(
                    frame, occluder, near, close, phi_flat, np.uint64(0), CENTRE, nx, ny, nz
                )
                inside = weight > 0.0 and value < 0.0
                if inside and _meet(occluder, end, near, sx, sy, sz, nx, ny, nz, first, move, scratch) < 0:
                    x, y, z = nx, ny, nz
        if solid_flat.size > 0 and _centred_at(spec, solid_flat, x, y, z) < 0.0:
            continue
        radius[p] = size[p]
        place[p, 0] = spec.x0 + (x - GHOSTS) * spec.dx
        place[p, 1] = spec.y0 + (y - GHOSTS) * spec.dx
        place[p, 2] = spec.z0 + (z - GHOSTS) * spec.dx


@njit(cache=True)
def _stop_drops(spec, occluder, end, before, place, velocity, dt, out_lost):  # type: ignore[no-untyped-def]
    """Drops that meet an element on their way stay on their side of it and do not fly into it any more."""
    stamp, near, _ = make_scratch(occluder)
    first, move, scratch, normal, push = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(3), np.zeros(3)
    way = 0.0
    for e in range(len(end)):
        for a in range(3):
            for c in range(3):
                way = max(way, abs(end[e, a, c] - occluder.corner[e, a, c]))
    for p in range(len(place)):
        sx, sy, sz = _locate(spec, before[p, 0], before[p, 1], before[p, 2])
        x, y, z = _locate(spec, place[p, 0], place[p, 1], place[p, 2])
        met = 0
        for turn in range(MEETINGS + 1):
            _gather_around(spec, occluder, sx, sy, sz, x, y, z, way, stamp, near)
            met = _meet(occluder, end, near, sx, sy, sz, x, y, z, first, move, scratch)
            if met < 0 or turn == MEETINGS:
                break
            _set_normal(occluder.corner[met], normal)
            q = occluder.corner[met, 0]
            side = (sx - q[0]) * normal[0] + (sy - q[1]) * normal[1] + (sz - q[2]) * normal[2]
            sign = 1.0 if side > 0.0 else -1.0
            _set_normal(end[met], normal)
            q = end[met, 0]
            height = (x - q[0]) * normal[0] + (y - q[1]) * normal[1] + (z - q[2]) * normal[2]
            speed = 0.0
            for c in range(3):
                push[c] = (sign * ASIDE - height) * normal[c]
                for a in range(3):
                    speed -= normal[c] * (end[met, a, c] - occluder.corner[met, a, c]) * spec.dx / (3.0 * dt)
                speed += normal[c] * velocity[p, c]
            x, y, z = _confine(x + push[0], spec.nx), _confine(y + push[1], spec.ny), _confine(z + push[2], spec.nz)
            if speed * sign < 0.0:
                for c in range(3):
                    velocity[p, c] -= speed * normal[c]
        if met >= 0:
            out_lost[p] = True
        place[p, 0] = spec.x0 + (x - GHOSTS) * spec.dx
        place[p, 1] = spec.y0 + (y - GHOSTS) * spec.dx
        place[p, 2] = spec.z0 + (z - GHOSTS) * spec.dx


@njit(cache=True, nogil=True)
def _sample_seen(spec, frame, occluder, away, phi, place, radius, out_value, start, stop):  # type: ignore[no-untyped-def]
    """phi as the particles with shells around them see it; NaN for the others. Those that see nothing are right."""
    phi_flat, away_flat = phi.reshape(phi.size), away.reshape(away.size)
    stamp, near, close = make_scratch(occluder)
    for p in range(start, stop):
        out_value[p] = np.nan
        x, y, z = _locate(spec, place[p, 0], place[p, 1], place[p, 2])
        if radius[p] == 0.0 or _cell_at(spec, away_flat, x, y, z) > 1:
            continue
        gather_way(spec, occluder, x, y, z, x, y, z, stamp, near)
        value, weight, _ = blend_visible(frame, occluder, near, close, phi_flat, np.uint64(0), CENTRE, x, y, z)
        out_value[p] = value if weight > 0.0 else radius[p]


@njit(cache=True)
def _offer_seen(spec, occluder, place, radius, escaped, plus, minus, phi):  # type: ignore[no-untyped-def]
    """As ``_offer_spheres``, to the cell centres around the escaped that see them."""
    over = 1 if spec.dimensions == 3 else 0
    stamp, near, _ = make_scratch(occluder)
    for stage in range(3):
        for p in escaped:
            x, y, z = _locate(spec, place[p, 0], place[p, 1], place[p, 2])
            gather_way(spec, occluder, x, y, z, x, y, z, stamp, near)
            i0, j0, k0 = int(x - 0.5), int(y - 0.5), int(z - 0.5)
            r = abs(radius[p]) / spec.dx
            for k in range(k0, k0 + 1 + over):
                for j in range(j0, j0 + 2):
                    for i in range(i0, i0 + 2):
                        ex, ey, ez = i + 0.5 - x, j + 0.5 - y, (k + 0.5 - z) * over
                        if stage == 0:
                            plus[k, j, i] = phi[k, j, i]
                            minus[k, j, i] = phi[k, j, i]
                        elif stage == 2:
                            nearer = abs(plus[k, j, i]) <= abs(minus[k, j, i])
                            phi[k, j, i] = plus[k, j, i] if nearer else minus[k, j, i]
                        elif not is_hidden(occluder, near, x, y, z, ex, ey, ez, THICKNESS):
                            offer = (r - np.sqrt(ex * ex + ey * ey + ez * ez)) * spec.dx
                            if radius[p] > 0.0:
                                plus[k, j, i] = max(plus[k, j, i], offer)
                            else:
                                minus[k, j, i] = min(minus[k, j, i], -offer)
