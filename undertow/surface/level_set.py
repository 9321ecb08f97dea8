"""The level set: a signed distance phi at cell centres, negative in the liquid, kept in a band about the surface.

- ``redistance``: fast marching (``surface/marching.py``, second order where two known values lie in line) outwards from
  the cells about the surface. Those are given the distance to their closest point on the zero set of the cubic
  interpolant of phi (Chopp 2001, SIAM J. Sci. Comput. 23), two cells to either side: then the values that define the
  surface are its distances, and the surface stays where it is however often this is repeated.
- ``advect``: second-order paths back in time and cubic interpolation, in the band alone.
- ``liquid_volume``: exact for a piecewise linear phi on twenty-four tetrahedra between neighbouring cell centres.

Beyond the band phi is +-band. Zero counts as liquid.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from undertow.errors import PhysicsError, UserError
from undertow.grid import GHOSTS, OPEN, SIDE_NAMES, Array, Grid, Sides, largest_entry, row_of_cells, share, share_rows
from undertow.grid.jitting import borrowing, helper, inlined
from undertow.surface.contact_angle import RIGHT_ANGLES, Angles, SideAngles
from undertow.surface.marching import FAR, KNOWN, SIDE, _march_sides, bucket_count
from undertow.surface.sampling import (
    _centred_at,
    _confine,
    _confine_beyond,
    _cubic_at,
    _cubic_gradient_at,
    _cubic_gradient_at_centre,
    _strides,
    _trace,
)

REACH = 2.0
"""Cells that far from the surface seek their closest point on it; the others are marched to [cells]."""
UNCUT = 3.0
"""Further away than any closest point that is taken [cells]."""
KINK = 0.4
"""A second difference of more than this many times the slope is a kink, which no cubic is laid across."""
MOST_STEPS, CLOSE = 8, 1e-2
"""Newton steps to the closest point, and the length of the last one [cells]: its own error is of the second power."""
MOVED = 3.5
"""Cells that the surface may come so near to are transported [cells]: the stencils of closest points end there."""
CUBIC = 3.0
"""Nearer to the surface than this they are interpolated by cubics, further away linearly [cells]."""


class LevelSet:
    """Operations on level sets of one grid; the field itself is an argument, ``(z, y, x)`` with ghosts [m].

    band: largest |phi| kept [cells]. Beyond every side phi is mirrored, so that the surface meets walls at a right
    angle, or goes on at its contact angle; but beyond an open side there is air: water that reaches it draws no more
    water in. contact_angles: of the six sides [degrees], of which one is an angle or a pair (``SideAngles``).
    """

    def __init__(
        self, grid: Grid, sides: Sides, band: float = 6.0, contact_angles: Sequence[Angles] = RIGHT_ANGLES
    ) -> None:
        for axis in grid.axes:
            if sides.is_periodic(axis):
                raise UserError(
                    f"surface: side {SIDE_NAMES[2 * axis]} is periodic; a free surface needs walls, inflow, outflow or "
                    f"open sides"
                )
        if not band >= 4.0:
            raise ValueError(f"level set: band = {band} cells, must be at least 4 to hold the particles")
        self.grid = grid
        self.sides = sides
        self.band = float(band * grid.dx)
        self._mirrors = Sides(grid)
        self.angles = SideAngles(grid, contact_angles)
        self._no_solid = np.zeros((0, 0, 0))
        self.scratch_c = grid.cell_field()
        self._status_c = np.zeros(grid.padded, dtype=np.uint16)
        self._queue_c = np.zeros((2, *grid.padded), dtype=np.int32)
        self._buckets = np.zeros((2, bucket_count(band)), dtype=np.int32)
        self._hidden = np.zeros(0, np.uint8)
        """Which neighbours do not see each other (``marching.is_seen``): none."""
        self.hidden_c = np.zeros((0, 0, 0), np.uint8)
        """The same by cell (Z, Y, X), see ``transport.Sight``; empty for none."""
        self.room_c = np.zeros((0, 0, 0))
        """Room that cells have beside the one cell that is theirs [cells]; empty for none."""

    @property
    def scratch_bytes(self) -> int:
        """Memory of the scratch fields [bytes]."""
        return sum(x.nbytes for x in (self.scratch_c, self._status_c, self._queue_c, self._buckets))

    def mirror(self, distance_c: Array) -> None:
        """Mirror a distance at every side."""
        self._mirrors.exchange.fill(distance_c)

    def fill_ghosts(self, phi_c: Array) -> None:
        """Phi beyond every side, as the surface goes on there."""
        self._fill_mirrored(phi_c)
        self.angles.fill(phi_c)

    def _fill_mirrored(self, phi_c: Array) -> None:
        """Mirror phi at every side; beyond open ones it is at least the distance from the side."""
        self.mirror(phi_c)
        for side, axis, end in self.grid.sides():
            if self.sides.kind[side] != OPEN:
                continue
            for layer in range(GHOSTS):
                at = [slice(None)] * 3
                plane = phi_c.shape[2 - axis] - GHOSTS + layer if end else GHOSTS - 1 - layer
                at[2 - axis] = slice(plane, plane + 1)
                ghosts = phi_c[tuple(at)]
                np.maximum(ghosts, (layer + 0.5) * self.grid.dx, out=ghosts)

    def redistance(self, phi_c: Array, limit: float | None = None) -> None:
        """Make phi a signed distance [m] with the same zero set, in place, ghosts included.

        phi may be any function that is negative in the liquid and smooth across the surface. limit: distances beyond it
        are not needed [m] and become +-band; absent: all up to the band are found.
        """
        limit = self.band if limit is None else min(limit, self.band)
        self.fill_ghosts(phi_c)
        grid, d_c, status_c = self.grid, self.scratch_c, self._status_c
        self._find_near(phi_c)
        self.angles.set_nearest_beyond(phi_c, d_c, status_c, KNOWN)
        # the two sides of the surface march at the same time
        share(
            _march_sides, 2, grid.cell_count, grid.spec, d_c.reshape(-1), status_c.reshape(-1), self._hidden,
            self._buckets, min(bucket_count(limit / grid.dx), self._buckets.shape[1]), *self._queue_c.reshape(2, -1),
        )  # fmt: skip
        share_rows(grid, _set_distance, d_c, status_c, self.band, phi_c)
        self.fill_ghosts(phi_c)

    def _find_near(self, phi_c: Array) -> None:
        """Sides of all cells, and distances of those about the surface."""
        share_rows(self.grid, _find_near, phi_c, self.angles.reach, self.scratch_c, self._status_c)

    def cells_of(self, position: Array) -> np.ndarray:
        """Indices (n, 3) along x, y and z of the cells that places (n, 3) [m] belong to."""
        cell = np.floor((position - np.array(self.grid.lower)) / self.grid.dx).astype(np.int64)
        return np.asarray(np.clip(cell, 0, np.array(self.grid.cells) - 1) + GHOSTS)

    def beside_shells(self, at: tuple[np.ndarray, ...]) -> np.ndarray:
        """Whether cells of the domain, indices (n,) along z, y and x, have a shell in them or beside them (n,)."""
        return np.zeros(len(at[0]), dtype=bool)

    def advect(self, phi_c: Array, u_f: Array, dt: float) -> float:
        """phi(x) <- phi(departure point of x) over dt [s] by the frozen velocity u [m/s], in place, ghosts included.

        phi must be a signed distance; where the surface is further away than any path plus MOVED cells, phi stays.
        Ghosts of u must be filled. Returns how far from the surface that was [m].
        """
        if not 0.0 <= dt < np.inf:
            raise ValueError(f"level set: dt = {dt} s, must be finite and not negative")
        self.fill_ghosts(phi_c)
        speed = _largest_speed(u_f)
        if not np.isfinite(speed):
            raise PhysicsError("surface: the velocity that moves it is not finite; use a smaller time step")
        reach = speed * dt + MOVED * self.grid.dx
        share_rows(self.grid, _advect_level_set, phi_c, u_f, dt / self.grid.dx, reach, self.scratch_c)
        np.copyto(phi_c, self.scratch_c)
        self.fill_ghosts(phi_c)
        return reach

    def liquid_volume(
        self, phi_c: Array, shift: float = 0.0, solid_c: Array | None = None, out_parts: Array | None = None
    ) -> float:
        """Volume of {phi + shift < 0} outside solids [m^3], in 2D per metre of depth [m^2]; ghosts must be filled.

        solid_c: signed distance to the solids [m], negative inside them.

        The cells of the sum have the centres of the grid's cells as corners; those that reach over a side count by
        half, which is exact where phi is mirrored. What a cube holds belongs to its corners in proportion to their own
        liquid parts, w = 1/2 - phi / dx between 0 and 1: out_parts (z, y, x) is that volume [cells] over the sum of w
        inside the domain, so that a cell has w times the sum over its eight cubes, (k - 1, j - 1, i - 1) being the
        first of them.
        """
        sums = np.zeros(self.grid.cells[2] + (1 if self.grid.dimensions == 3 else 0))
        solid = self._no_solid if solid_c is None else solid_c
        parts = self._no_solid if out_parts is None else out_parts
        if self.angles.sides:
            self._fill_mirrored(phi_c)
        share(_measure_volume, len(sums), self.grid.cell_count, self.grid.spec, phi_c, shift, solid, parts, sums)
        self.angles.fill(phi_c)
        return float(sums.sum()) * self.grid.cell_volume

    def shift_to_volume(self, phi_c: Array, target: float, solid_c: Array | None = None) -> float:
        """The s [m] for which {phi + s < 0} has the volume ``target`` to 1e-9 of it, by the secant method.

        Returned, not applied. Meaningful for small changes: |s| is bounded by one cell.
        """
        dx = self.grid.dx
        a, value_a = 0.0, self.liquid_volume(phi_c, 0.0, solid_c) - target
        b = 1e-3 * dx * (1.0 if value_a > 0.0 else -1.0)
        for _ in range(20):
            if abs(value_a) <= 1e-9 * abs(target):
                break
            value_b = self.liquid_volume(phi_c, b, solid_c) - target
            if value_b == value_a:
                break
            step = -value_b * (b - a) / (value_b - value_a)
            a, value_a = b, value_b
            b = min(max(b + step, -dx), dx)
        return a


def _largest_speed(u_f: Array) -> float:
    """A bound of |u| [m/s] without a temporary field."""
    return float(np.sqrt(sum(largest_entry(c) ** 2 for c in u_f)))


@njit(cache=True, nogil=True)
def _advect_level_set(spec, phi, u, c, reach, out, start, stop):  # type: ignore[no-untyped-def]
    phi_flat = phi.reshape(phi.size)
    u_flat = u.reshape(u.size)
    for line in range(start, stop):
        k, j = row_of_cells(spec, line)
        for i in range(GHOSTS, GHOSTS + spec.nx):
            if abs(phi[k, j, i]) > reach:
                out[k, j, i] = phi[k, j, i]
            else:
                u1 = 0.5 * (u[0, k, j, i] + u[0, k, j, i + 1])
                v1 = 0.5 * (u[1, k, j, i] + u[1, k, j + 1, i])
                w1 = 0.5 * (u[2, k, j, i] + u[2, k + 1, j, i]) if spec.dimensions == 3 else 0.0
                x, y, z = _trace(spec, u_flat, i + 0.5, j + 0.5, k + 0.5, -c, u1, v1, w1)
                x = _confine(x, spec.nx)
                y = _confine(y, spec.ny)
                z = _confine(z, spec.nz)
                value = _centred_at(spec, phi_flat, x, y, z)
                out[k, j, i] = _cubic_at(spec, phi_flat, x, y, z) if abs(value) < CUBIC * spec.dx else value


@helper
def _slope(low, mid, high):  # type: ignore[no-untyped-def]
    """Difference per cell along one axis: central, but next to a kink that of the steeper side."""
    back = abs(mid - low)
    ahead = abs(high - mid)
    if abs((high - mid) - (mid - low)) > KINK * max(back, ahead):
        return max(back, ahead)
    return 0.5 * (high - low)


@inlined
def _steeper(low, mid, high):  # type: ignore[no-untyped-def]
    """No difference that ``_slope`` may take is larger; larger than mid itself where the surface lies between."""
    return max(abs(mid - low), abs(high - mid))


@borrowing
def _is_kinked(spec, phi, x, y, z, slope):  # type: ignore[no-untyped-def]
    """Whether a second difference in the cubic stencil about (x, y, z) is too large for ``slope``."""
    row, plane, over = _strides(spec)
    i = np.int64(x - 0.5)
    j = np.int64(y - 0.5)
    k = np.int64(z - 0.5)
    first = np.uint64(k) * plane + np.uint64(j) * row + np.uint64(i)
    one = np.uint64(1)
    bound = KINK * slope
    for c in range(spec.dimensions - 1):
        for b in range(2):
            for a in range(2):
                p = first + np.uint64(c) * plane + np.uint64(b) * row + np.uint64(a)
                twice = 2.0 * phi[p]
                bend = max(abs(phi[p - one] + phi[p + one] - twice), abs(phi[p - row] + phi[p + row] - twice))
                bend = max(bend, abs(phi[p - over] + phi[p + over] - twice))
                if bend > bound:
                    return True
    return False


@helper
def _cut(mid, other, bound):  # type: ignore[no-untyped-def]
    """Distance to the zero between two neighbouring values along their line [cells], or the bound if there is none."""
    if (mid <= 0.0) == (other <= 0.0):
        return bound
    return min(bound, mid / (mid - other))


@borrowing
def _distance_to_zero(spec, phi, x0, y0, z0, bound, reach):  # type: ignore[no-untyped-def]
    """Distance [cells] from a cell's centre to the closest zero of the cubic interpolant of phi, -1 if not found.

    Newton steps to the zero along the gradient, each with the tangential step that turns the line to (x0, y0, z0) into
    the gradient (Chopp 2001). A result further away than ``bound``, or found across a kink of phi, is not taken: there
    the cubic overshoots, and thin sheets would grow with every call. reach: so far beyond the sides it may be [cells].
    """
    x, y, z = x0, y0, z0
    for step in range(MOST_STEPS):
        if step == 0:
            value, gx, gy, gz = _cubic_gradient_at_centre(spec, phi, x, y, z)
        else:
            value, gx, gy, gz = _cubic_gradient_at(spec, phi, x, y, z)
        square = gx * gx + gy * gy + gz * gz
        if not square > 0.0:
            return -1.0
        tx, ty, tz = x0 - x, y0 - y, z0 - z
        # grad (t . grad - value) / square: the normal part of t is dropped, the step to the zero added
        along = (tx * gx + ty * gy + tz * gz + value) / square
        sx, sy, sz = tx - along * gx, ty - along * gy, tz - along * gz
        x = _confine_beyond(x + sx, spec.nx, reach)
        y = _confine_beyond(y + sy, spec.ny, reach)
        z = _confine_beyond(z + sz, spec.nz, reach)
        tx, ty, tz = x0 - x, y0 - y, z0 - z
        distance = np.sqrt(tx * tx + ty * ty + tz * tz)
        if distance > bound:
            return -1.0
        if sx * sx + sy * sy + sz * sz < CLOSE * CLOSE:
            return -1.0 if _is_kinked(spec, phi, x, y, z, np.sqrt(square)) else distance
    return -1.0


@borrowing
def _distance_near(spec, phi, flat, reach, k, j, i):  # type: ignore[no-untyped-def]
    """Unsigned distance [cells] of a cell about the surface, or -1 if marching is to find it.

    Where no closest point is taken, a cell next to a cut of a grid line has |phi| / |grad phi|, and never more
    than the distance to that cut.
    """
    mid = phi[k, j, i]
    nearest = _cut(mid, phi[k, j, i - 1], UNCUT)
    nearest = _cut(mid, phi[k, j, i + 1], nearest)
    nearest = _cut(mid, phi[k, j - 1, i], nearest)
    nearest = _cut(mid, phi[k, j + 1, i], nearest)
    sx = _slope(phi[k, j, i - 1], mid, phi[k, j, i + 1])
    sy = _slope(phi[k, j - 1, i], mid, phi[k, j + 1, i])
    square = sx * sx + sy * sy
    if spec.dimensions == 3:
        nearest = _cut(mid, phi[k - 1, j, i], nearest)
        nearest = _cut(mid, phi[k + 1, j, i], nearest)
        sz = _slope(phi[k - 1, j, i], mid, phi[k + 1, j, i])
        square += sz * sz
    if nearest == UNCUT and mid * mid > REACH * REACH * square:
        return -1.0
    distance = _distance_to_zero(spec, flat, i + 0.5, j + 0.5, k + 0.5, nearest, reach)
    if distance >= 0.0 or nearest == UNCUT:
        return distance
    if mid * mid < nearest * nearest * square:
        return abs(mid) / np.sqrt(square)
    return nearest


@njit(cache=True, nogil=True)
def _find_near(spec, phi, reach, out_distance, out_status, start, stop):  # type: ignore[no-untyped-def]
    """Side of every cell, and its distance [cells] where that is found without marching."""
    phi_flat = phi.reshape(phi.size)
    over = 1 if spec.dimensions == 3 else 0
    far = np.empty(spec.nx + 2 * GHOSTS, dtype=np.uint8)
    for line in range(start, stop):
        k, j = row_of_cells(spec, line)
        mid, south, north, below, above = phi[k, j], phi[k, j - 1], phi[k, j + 1], phi[k - over, j], phi[k + over, j]
        for i in range(GHOSTS, GHOSTS + spec.nx):
            x = _steeper(mid[i - 1], mid[i], mid[i + 1])
            y = _steeper(south[i], mid[i], north[i])
            z = _steeper(below[i], mid[i], above[i])
            far[i] = mid[i] * mid[i] > REACH * REACH * (x * x + y * y + z * z)
        # two loops: most cells are far, and are done many at a time
        status, distance = out_status[k, j], out_distance[k, j]
        for i in range(GHOSTS, GHOSTS + spec.nx):
            status[i] = (SIDE if mid[i] <= 0.0 else 0) | FAR
            distance[i] = -1.0
        for i in range(GHOSTS, GHOSTS + spec.nx):
            if far[i] == 0:
                near = _distance_near(spec, phi, phi_flat, reach, k, j, i)
                distance[i] = near
                if near >= 0.0:
                    status[i] = (SIDE if mid[i] <= 0.0 else 0) | KNOWN


@njit(cache=True, nogil=True)
def _set_distance(spec, distance, status, band, out_phi, start, stop):  # type: ignore[no-untyped-def]
    for line in range(start, stop):
        k, j = row_of_cells(spec, line)
        for i in range(GHOSTS, GHOSTS + spec.nx):
            value = band
            if status[k, j, i] & (FAR | KNOWN) == KNOWN:
                value = min(band, distance[k, j, i] * spec.dx)
            out_phi[k, j, i] = -value if status[k, j, i] & SIDE else value


@helper
def _wet_part(a, b, c, d):  # type: ignore[no-untyped-def]
    """Part of a tetrahedron where the linear function with corner values a, b, c, d is negative."""
    if a > b:
        a, b = b, a
    if c > d:
        c, d = d, c
    if a > c:
        a, c = c, a
    if b > d:
        b, d = d, b
    if b > c:
        b, c = c, b
    if a >= 0.0:
        return 0.0
    if d < 0.0:
        return 1.0
    if b >= 0.0:
        return a * a * a / ((a - b) * (a - c) * (a - d))
    if c < 0.0:
        return 1.0 - d * d * d / ((d - a) * (d - b) * (d - c))
    ac = a / (a - c)
    ad = a / (a - d)
    bc = b / (b - c)
    bd = b / (b - d)
    return ac * ad + ac * bd * (1.0 - ad) + (1.0 - ac) * bc * bd


@helper
def _wet_face(a, b, c, d, centre):  # type: ignore[no-untyped-def]
    """Sum over the four tetrahedra between a face, corners in order around it, and the centre of its cube."""
    m = 0.25 * ((a + c) + (b + d))
    low = _wet_part(a, b, m, centre) + _wet_part(c, d, m, centre)
    return low + _wet_part(b, c, m, centre) + _wet_part(d, a, m, centre)


@borrowing
def _wet_value(phi, shift, solid, k, j, i):  # type: ignore[no-untyped-def]
    """Negative in the liquid outside solids."""
    value = phi[k, j, i] + shift
    return value if solid.size == 0 else max(value, -solid[k, j, i])


@inlined
def own_part(value, dx):  # type: ignore[no-untyped-def]
    """Liquid part of a cell with this value at its centre and a surface along an axis."""
    return min(max(0.5 - value / dx, 0.0), 1.0)


@inlined
def _edge_part(low, high, has_low, has_high, dx):  # type: ignore[no-untyped-def]
    """Sum of the liquid parts of two cells, of those that there are."""
    return own_part(low, dx) * has_low + own_part(high, dx) * has_high


@njit(cache=True, nogil=True)
def _measure_volume(spec, phi, shift, solid, out_parts, out_sums, start, stop):  # type: ignore[no-untyped-def]
    """Liquid volume [cells] per plane of the cubes between cell centres; in 2D the plane is its own neighbour."""
    over = 1 if spec.dimensions == 3 else 0
    dx = spec.dx
    for plane in range(start, stop):
        k = GHOSTS + plane - over
        weight_z = 0.5 if over == 1 and (plane == 0 or plane == spec.nz) else 1.0
        total = 0.0
        for j in range(GHOSTS - 1, GHOSTS + spec.ny):
            weight_y = 0.5 if j == GHOSTS - 1 or j == GHOSTS + spec.ny - 1 else 1.0
            for i in range(GHOSTS - 1, GHOSTS + spec.nx):
                weight = weight_z * weight_y * (0.5 if i == GHOSTS - 1 or i == GHOSTS + spec.nx - 1 else 1.0)
                a = _wet_value(phi, shift, solid, k, j, i)
                b = _wet_value(phi, shift, solid, k, j, i + 1)
                c = _wet_value(phi, shift, solid, k, j + 1, i + 1)
                d = _wet_value(phi, shift, solid, k, j + 1, i)
                e = _wet_value(phi, shift, solid, k + over, j, i)
                f = _wet_value(phi, shift, solid, k + over, j, i + 1)
                g = _wet_value(phi, shift, solid, k + over, j + 1, i + 1)
                h = _wet_value(phi, shift, solid, k + over, j + 1, i)
                low = min(min(min(a, b), min(c, d)), min(min(e, f), min(g, h)))
                high = max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h)))
                if low >= 0.0:
                    if out_parts.size > 0:
                        out_parts[k, j, i] = 0.0
                    continue
                if high < 0.0 and (out_parts.size == 0 or high < -0.5 * spec.dx):
                    total += weight
                    if out_parts.size > 0:
                        out_parts[k, j, i] = 0.125
                    continue
                m = 0.125 * ((a + b + c + d) + (e + f + g + h))
                part = _wet_face(a, b, c, d, m) + _wet_face(e, f, g, h, m)
                part += _wet_face(a, b, f, e, m) + _wet_face(d, c, g, h, m)
                part += _wet_face(a, d, h, e, m) + _wet_face(b, c, g, f, m)
                total += weight * part / 24.0
                if out_parts.size > 0:
                    # corners beyond a side have no part in it
                    west, east, north = i >= GHOSTS, i + 1 < GHOSTS + spec.nx, j + 1 < GHOSTS + spec.ny
                    below, above = k >= GHOSTS, k + over < GHOSTS + spec.nz
                    own = _edge_part(a, b, west, east, dx) * below + _edge_part(e, f, west, east, dx) * above
                    own *= j >= GHOSTS
                    if north:
                        own += _edge_part(d, c, west, east, dx) * below + _edge_part(h, g, west, east, dx) * above
                    out_parts[k, j, i] = weight * part / (24.0 * own) if own > 0.0 else 0.0
        out_sums[plane] = total
