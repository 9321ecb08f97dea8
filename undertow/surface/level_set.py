"""The level set: a signed distance phi at cell centres, negative in the liquid, kept in a band about the surface.

- ``redistance``: fast marching (Sethian 1999, SIAM Review 41, second order where two known values lie in line) outwards
  from the cells about the surface. Those are given the distance to their closest point on the zero set of the cubic
  interpolant of phi (Chopp 2001, SIAM J. Sci. Comput. 23), two cells to either side: then the values that define the
  surface are its distances, and the surface stays where it is however often this is repeated.
- ``advect``: second-order paths back in time and cubic interpolation, in the band alone.
- ``liquid_volume``: exact for a piecewise linear phi on twenty-four tetrahedra between neighbouring cell centres.

Beyond the band phi is +-band. Zero counts as liquid.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from undertow.errors import PhysicsError, UserError
from undertow.grid import GHOSTS, OPEN, SIDE_NAMES, Array, Grid, Sides, share, share_rows
from undertow.grid.jitting import helper
from undertow.surface.sampling import _centred_at, _confine, _cubic_at, _cubic_gradient_at, _strides, _trace

FAR, TRIAL, KNOWN = 0, 1, 2
NEW, AGAIN, ONE = np.int64(0), np.int64(1), np.int64(1)
"""Of a type of their own: a plain number would have its helper compiled once more."""

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
    angle; but beyond an open side there is air: water that reaches it draws no more water in.
    """

    def __init__(self, grid: Grid, sides: Sides, band: float = 6.0) -> None:
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
        self._no_solid = np.zeros((0, 0, 0))
        self.scratch_c = grid.cell_field()
        self._status_c = np.zeros(grid.padded, dtype=np.uint8)
        self._place_c = np.zeros(grid.padded, dtype=np.int64)
        self._heap = np.zeros(grid.cell_count, dtype=np.int64)

    @property
    def scratch_bytes(self) -> int:
        """Memory of the scratch fields [bytes]."""
        return sum(x.nbytes for x in (self.scratch_c, self._status_c, self._place_c, self._heap))

    def fill_ghosts(self, phi_c: Array) -> None:
        """Mirror phi at every side; beyond open ones it is at least the distance from the side."""
        self._mirrors.fill_centred(phi_c)
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
        share_rows(grid, _find_near, phi_c, d_c, status_c)
        # the two sides of the surface march at the same time
        share(
            _march_sides, 2, grid.cell_count, grid.spec, d_c.reshape(-1), status_c.reshape(-1),
            self._place_c.reshape(-1), self._heap, limit / grid.dx,
        )  # fmt: skip
        share_rows(grid, _set_distance, d_c, status_c, self.band, phi_c)
        self.fill_ghosts(phi_c)

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

    def liquid_volume(self, phi_c: Array, shift: float = 0.0, solid_c: Array | None = None) -> float:
        """Volume of {phi + shift < 0} outside solids [m^3], in 2D per metre of depth [m^2]; ghosts must be filled.

        solid_c: signed distance to the solids [m], negative inside them.

        The cells of the sum have the centres of the grid's cells as corners; those that reach over a side count by
        half, which is exact where phi is mirrored.
        """
        sums = np.zeros(self.grid.cells[2] + (1 if self.grid.dimensions == 3 else 0))
        solid = self._no_solid if solid_c is None else solid_c
        share(_measure_volume, len(sums), self.grid.cell_count, self.grid.spec, phi_c, shift, solid, sums)
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
    return float(np.sqrt(sum(max(float(c.max()), -float(c.min())) ** 2 for c in u_f)))


@njit(cache=True, nogil=True)
def _advect_level_set(spec, phi, u, c, reach, out, start, stop):  # type: ignore[no-untyped-def]
    phi_flat = phi.reshape(phi.size)
    u_flat = u.reshape(u.size)
    for line in range(start, stop):
        k = GHOSTS + line // spec.ny
        j = GHOSTS + line % spec.ny
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


@helper
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


@helper
def _distance_to_zero(spec, phi, x0, y0, z0, bound):  # type: ignore[no-untyped-def]
    """Distance [cells] from the index coordinates to the closest zero of the cubic interpolant of phi, -1 if not found.

    Newton steps to the zero along the gradient, each with the tangential step that turns the line to (x0, y0, z0) into
    the gradient (Chopp 2001). A result further away than ``bound``, or found across a kink of phi, is not taken: there
    the cubic overshoots, and thin sheets would grow with every call.
    """
    x, y, z = x0, y0, z0
    for _ in range(MOST_STEPS):
        value, gx, gy, gz = _cubic_gradient_at(spec, phi, x, y, z)
        square = gx * gx + gy * gy + gz * gz
        if not square > 0.0:
            return -1.0
        tx, ty, tz = x0 - x, y0 - y, z0 - z
        # grad (t . grad - value) / square: the normal part of t is dropped, the step to the zero added
        along = (tx * gx + ty * gy + tz * gz + value) / square
        sx, sy, sz = tx - along * gx, ty - along * gy, tz - along * gz
        x = _confine(x + sx, spec.nx)
        y = _confine(y + sy, spec.ny)
        z = _confine(z + sz, spec.nz)
        tx, ty, tz = x0 - x, y0 - y, z0 - z
        distance = np.sqrt(tx * tx + ty * ty + tz * tz)
        if distance > bound:
            return -1.0
        if sx * sx + sy * sy + sz * sz < CLOSE * CLOSE:
            return -1.0 if _is_kinked(spec, phi, x, y, z, np.sqrt(square)) else distance
    return -1.0


@helper
def _distance_near(spec, phi, flat, k, j, i):  # type: ignore[no-untyped-def]
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
    distance = _distance_to_zero(spec, flat, i + 0.5, j + 0.5, k + 0.5, nearest)
    if distance >= 0.0 or nearest == UNCUT:
        return distance
    if mid * mid < nearest * nearest * square:
        return abs(mid) / np.sqrt(square)
    return nearest


@helper
def _sift_up(key, heap, place, base, step, h):  # type: ignore[no-untyped-def]
    """Move the entry h of the heap towards its root. Entry h is heap[base + step h]; key and place are per cell."""
    cell = heap[base + step * h]
    value = key[cell]
    while h > 0:
        parent = (h - 1) // 2
        other = heap[base + step * parent]
        if key[other] <= value:
            break
        heap[base + step * h] = other
        place[other] = h
        h = parent
    heap[base + step * h] = cell
    place[cell] = h


@helper
def _pop(key, heap, place, base, step, count):  # type: ignore[no-untyped-def]
    """Remove and return the cell with the smallest key of a heap of ``count`` entries."""
    top = heap[base]
    cell = heap[base + step * (count - 1)]
    value = key[cell]
    last = count - 1
    h = 0
    while 2 * h + 1 < last:
        child = 2 * h + 1
        if child + 1 < last and key[heap[base + step * (child + 1)]] < key[heap[base + step * child]]:
            child += 1
        other = heap[base + step * child]
        if value <= key[other]:
            break
        heap[base + step * h] = other
        place[other] = h
        h = child
    heap[base + step * h] = cell
    place[cell] = h
    return top


@helper
def _upwind(d, status, p, stride, low, high):  # type: ignore[no-untyped-def]
    """Weight c and offset t of one axis in sum c (d - t)^2 = 1 [cells]; weight 0 if no neighbour is known.

    low, high: how many cells lie between p and the ends of the domain. Where two known values lie in line, the nearer
    one smaller, the difference is of second order: (3 d - 4 d1 + d2) / 2 = 3/2 (d - (4 d1 - d2) / 3).
    """
    side = status[p] & 4
    known = KNOWN | side
    q = p
    if low > 0 and status[p - stride] == known:
        q = p - stride
    if high > 0 and status[p + stride] == known and (q == p or d[p + stride] < d[q]):
        q = p + stride
    if q == p:
        return 0.0, 0.0
    d1 = d[q]
    r = q + (q - p)
    if (low > 1 if q < p else high > 1) and status[r] == known and d[r] <= d1:
        return 2.25, (4.0 * d1 - d[r]) / 3.0
    return 1.0, d1


@helper
def _solve_eikonal(cx, tx, cy, ty, cz, tz):  # type: ignore[no-untyped-def]
    """Largest root of sum c (d - t)^2 = 1, leaving out the axis with the largest t while there is none above it."""
    while True:
        a = cx + cy + cz
        b = cx * tx + cy * ty + cz * tz
        top = max(tx if cx > 0.0 else -1.0, ty if cy > 0.0 else -1.0, tz if cz > 0.0 else -1.0)
        root = b * b - a * (cx * tx * tx + cy * ty * ty + cz * tz * tz - 1.0)
        if root >= 0.0:
            d = (b + np.sqrt(root)) / a
            if d >= top:
                return d
        if cx > 0.0 and tx == top:
            cx = 0.0
        elif cy > 0.0 and ty == top:
            cy = 0.0
        else:
            cz = 0.0


@helper
def _reach_neighbours(spec, d, status, place, heap, base, step, count, p, again):  # type: ignore[no-untyped-def]
    """Give the neighbours of the known cell p values and places in the heap; returns how many it then holds.

    again: AGAIN for those too that have a value already, which a nearer known cell can lower; else NEW.
    """
    side = status[p] & 4
    row = spec.nx + 2 * GHOSTS
    plane = row * (spec.ny + 2 * GHOSTS)
    k = p // plane - GHOSTS
    j = (p % plane) // row - GHOSTS
    i = p % row - GHOSTS
    for axis in range(spec.dimensions):
        at = i if axis == 0 else (j if axis == 1 else k)
        n = spec.nx if axis == 0 else (spec.ny if axis == 1 else spec.nz)
        stride = 1 if axis == 0 else (row if axis == 1 else plane)
        for end in range(2):
            if (end == 0 and at == 0) or (end == 1 and at == n - 1):
                continue
            q = p + (2 * end - 1) * stride
            if status[q] != FAR | side and (again == NEW or status[q] != TRIAL | side):
                continue
            qi = i + (2 * end - 1 if axis == 0 else 0)
            qj = j + (2 * end - 1 if axis == 1 else 0)
            qk = k + (2 * end - 1 if axis == 2 else 0)
            cx, tx = _upwind(d, status, q, ONE, qi, spec.nx - 1 - qi)
            cy, ty = _upwind(d, status, q, row, qj, spec.ny - 1 - qj)
            cz, tz = 0.0, 0.0
            if spec.dimensions == 3:
                cz, tz = _upwind(d, status, q, plane, qk, spec.nz - 1 - qk)
            value = _solve_eikonal(cx, tx, cy, ty, cz, tz)
            if status[q] == FAR | side:
                status[q] = TRIAL | side
                d[q] = value
                heap[base + step * count] = q
                _sift_up(d, heap, place, base, step, count)
                count += 1
            elif value < d[q]:
                d[q] = value
                _sift_up(d, heap, place, base, step, place[q])
    return count


@helper
def _march(spec, d, status, place, heap, liquid, band):  # type: ignore[no-untyped-def]
    """Fast marching on one side of the surface; the heaps of the two sides grow from the two ends of one array.

    status & 4 is the side; d is given where status is KNOWN: those values are final and go into no heap.
    """
    side = 4 if liquid else 0
    base = 0 if liquid else heap.size - 1
    step = 1 if liquid else -1
    row = spec.nx + 2 * GHOSTS
    plane = row * (spec.ny + 2 * GHOSTS)
    count = np.int64(0)
    for k in range(GHOSTS, GHOSTS + spec.nz):
        for j in range(GHOSTS, GHOSTS + spec.ny):
            start = k * plane + j * row
            for p in range(start + GHOSTS, start + GHOSTS + spec.nx):
                if status[p] == KNOWN | side:
                    count = _reach_neighbours(spec, d, status, place, heap, base, step, count, p, NEW)
    while count > 0:
        p = _pop(d, heap, place, base, step, count)
        count -= 1
        if d[p] > band:
            break
        status[p] = KNOWN | side
        count = _reach_neighbours(spec, d, status, place, heap, base, step, count, p, AGAIN)


@njit(cache=True, nogil=True)
def _find_near(spec, phi, out_distance, out_status, start, stop):  # type: ignore[no-untyped-def]
    """Side of every cell, and its distance [cells] where that is found without marching."""
    phi_flat = phi.reshape(phi.size)
    for line in range(start, stop):
        k = GHOSTS + line // spec.ny
        j = GHOSTS + line % spec.ny
        for i in range(GHOSTS, GHOSTS + spec.nx):
            near = _distance_near(spec, phi, phi_flat, k, j, i)
            side = 4 if phi[k, j, i] <= 0.0 else 0
            out_status[k, j, i] = side | (KNOWN if near >= 0.0 else FAR)
            out_distance[k, j, i] = near


@njit(cache=True, nogil=True)
def _march_sides(spec, d, status, place, heap, limit, start, stop):  # type: ignore[no-untyped-def]
    """Air (0) and liquid (1); a side reads and writes cells of its own alone."""
    for side in range(start, stop):
        _march(spec, d, status, place, heap, side == 1, limit)


@njit(cache=True, nogil=True)
def _set_distance(spec, distance, status, band, out_phi, start, stop):  # type: ignore[no-untyped-def]
    for line in range(start, stop):
        k = GHOSTS + line // spec.ny
        j = GHOSTS + line % spec.ny
        for i in range(GHOSTS, GHOSTS + spec.nx):
            value = band
            if status[k, j, i] & 3 == KNOWN:
                value = min(band, distance[k, j, i] * spec.dx)
            out_phi[k, j, i] = -value if status[k, j, i] & 4 else value


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


@helper
def _wet_value(phi, shift, solid, k, j, i):  # type: ignore[no-untyped-def]
    """Negative in the liquid outside solids."""
    value = phi[k, j, i] + shift
    return value if solid.size == 0 else max(value, -solid[k, j, i])


@njit(cache=True, nogil=True)
def _measure_volume(spec, phi, shift, solid, out_sums, start, stop):  # type: ignore[no-untyped-def]
    """Liquid volume [cells] per plane of the cubes between cell centres; in 2D the plane is its own neighbour."""
    over = 1 if spec.dimensions == 3 else 0
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
                    continue
                if high < 0.0:
                    total += weight
                    continue
                m = 0.125 * ((a + b + c + d) + (e + f + g + h))
                part = _wet_face(a, b, c, d, m) + _wet_face(e, f, g, h, m)
                part += _wet_face(a, b, f, e, m) + _wet_face(d, c, g, h, m)
                part += _wet_face(a, d, h, e, m) + _wet_face(b, c, g, f, m)
                total += weight * part / 24.0
        out_sums[plane] = total
