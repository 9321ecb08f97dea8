"""The walls of dynamic bodies inside the cells of a grid: what a body's twist moves, and what a pressure does to it.

The open part of a cut cell is closed by the open parts of its faces and by the wall. With phi A the open area of a face
and x_f the centroid of that open part, the wall's area vector (out of the fluid) and its moment about a point x_b are

    a_c = sum_axis A (phi_lo - phi_hi) e_axis,
    t_c = sum_axis A (phi_lo (x_lo - x_b) - phi_hi (x_hi - x_b)) x e_axis,

because n and x x n integrate to zero over a closed surface. The wall of a rigid body with twist (v, omega) about its
centre of mass x_b sweeps the volume F_c . (v, omega) per second, F_c = (a_c, t_c), and a pressure p_c in the cell acts
on the body with the force and torque p_c F_c. Both sums telescope over the cells: a constant pressure exerts neither
force nor torque on a body that the fluid surrounds, to rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from undertow.coupling.enclosed import find_excess, walls_missing
from undertow.fluid.domain import FluidDomain, wrap
from undertow.geometry.fractions import face_moment
from undertow.geometry.solids import ANGULAR, LINEAR, distance_from
from undertow.grid import GHOSTS, Array
from undertow.grid.jitting import borrowing
from undertow.linalg import Stencil

ROUNDING = 1e-12
"""Sums of F that are less than this part of what is summed are none."""


class WallSpec(NamedTuple):
    """Cut cells of dynamic bodies in the order of the grid: the same arrays serve the product and its transpose."""

    cell: np.ndarray  # (m,) flat index of the padded cell
    body: np.ndarray  # (m,) body whose wall it is
    f: np.ndarray  # (m, 6) area vector [m2] and its moment about the centre of mass [m3]


class BodyWalls:
    """F of all dynamic bodies as they are placed now; a cell that several bodies cut belongs to that nearest to it, but
    where a solid that moves as prescribed cuts it too.

    count: bodies, of which the first ones are the solids of the domain. excess (regions + 1, count, 6): what the sums
    of F over regions (see ``Stencil.label``) have that walls must not sweep of them (``coupling.enclosed``), spread
    over their cells and taken off; has_excess: whether there is any.
    """

    def __init__(self, domain: FluidDomain, count: int) -> None:
        if domain.solids is None:
            raise ValueError("body walls: the domain has no solids")
        self.domain = domain
        self.count = count
        self.spec = WallSpec(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 6)))
        self.size = 0
        self._cut = np.zeros(0, np.int64)
        self.excess = np.zeros((1, count, 6))
        self.cells = np.ones(1)
        self.has_excess = False
        self._label = np.zeros(0, np.int32)
        self.shared, self.prescribed_area = np.zeros(0, np.int64), np.zeros((0, 3))
        """Cells (k,) of several solids, and the area vectors (k, 3) of those that move as prescribed [m2; 2D m]."""
        self._shared_flux = np.zeros(0)
        """What these sweep [m3/s; 2D m2/s]."""
        self._whole: BodyWalls | None = None
        self._everywhere_c = np.zeros((0, 0, 0))

    def rebuild(self, dynamic_b: np.ndarray, centre_b: Array, diagonal_c: Array) -> None:
        """Gather the walls of the bodies where ``dynamic_b`` (int64) is 1, about their centres of mass (n, 3) [m].

        Cells whose ``diagonal_c`` is 0 have no pressure and are left out.
        """
        d = self.domain
        assert d.solids is not None
        while True:
            self.size = int(
                _gather_walls(
                    d.grid.spec, d.solids.hull(), d.periodic, d.solids.wall_n, d.area_f, d.solids.body_c, dynamic_b,
                    diagonal_c, d.grid.face_area, centre_b, d.solids.period, self.spec,
                )
            )  # fmt: skip
            if self.size <= len(self.spec.cell):
                self._cut = self.spec.cell[: self.size].copy()
                self._share(dynamic_b, centre_b, diagonal_c)
                return
            room = 2 * self.size
            self.spec = WallSpec(np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros((room, 6)))

    def _share(self, dynamic_b: np.ndarray, centre_b: Array, diagonal_c: Array) -> None:
        """Cells that bodies and solids that move as prescribed cut together: what is closed of each face belongs to
        them by what each would close of it."""
        d, solids = self.domain, self.domain.solids
        assert solids is not None
        self.shared, self.prescribed_area, self._shared_flux = np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros(0)
        shared, owners = _find_shared(d, dynamic_b, diagonal_c)
        if not len(shared):
            return
        f = np.zeros((len(shared), owners.shape[1], 6))
        _share_walls(
            d.grid.spec, d.periodic, solids.wall_n, d.area_f, solids.spec.rows, solids.spec.tables, len(solids.solids),
            solids.period, d.grid.face_area, centre_b, shared, owners, f,
        )  # fmt: skip
        moves = np.append(dynamic_b > 0, False)[owners] & (owners >= 0)
        prescribed = f * ~moves[:, :, None]
        self.shared, self.prescribed_area = shared, prescribed[:, :, :3].sum(axis=1)
        self._shared_flux = self._prescribed_flux(owners, prescribed)
        at, part = np.nonzero(moves & f.any(axis=2))
        alone = ~np.isin(self.spec.cell[: self.size], shared)
        old, new = (array[: self.size][alone] for array in self.spec), (shared[at], owners[at, part], f[at, part])
        self.spec = WallSpec(*(np.concatenate(both) for both in zip(old, new, strict=True)))
        self.size = len(self.spec.cell)

    def _prescribed_flux(self, owners: np.ndarray, f: Array) -> Array:
        """What walls with F (k, o, 6) of solids ``owners`` (k, o) sweep as these are prescribed to move (k,)."""
        assert self.domain.solids is not None
        rows = self.domain.solids.spec.rows
        twist = np.concatenate([rows[:, LINEAR : LINEAR + 3], rows[:, ANGULAR : ANGULAR + 3]], axis=1)
        return np.asarray(np.einsum("koi,koi->k", f, twist[np.maximum(owners, 0)] * (owners >= 0)[:, :, None]))

    def add(self, cell: np.ndarray, body: np.ndarray, f: Array) -> None:
        """More of F (k, 6) in cells (k,) of bodies (k,), which need not be cut."""
        parts = zip(self.spec, (cell, body, f), strict=True)
        cell, body, f = (np.concatenate([array[: self.size], more]) for array, more in parts)
        key, at = np.unique(cell * self.count + body, return_inverse=True)
        total = np.zeros((len(key), 6))
        np.add.at(total, at, f)
        self.size = len(key)
        self.spec = WallSpec(key // self.count, key % self.count, total)

    def close(self, stencil: Stencil, dynamic_b: np.ndarray, centre_b: Array) -> None:
        """Take note of what walls sweep of regions that they close off; arguments as in ``rebuild``."""
        cell, body, f = (array[: self.size] for array in self.spec)
        self.has_excess = False
        if not self.size or not (stencil.grounded[1:] == 0).any():
            return
        sums = np.zeros((stencil.regions + 1, self.count, 6))
        np.add.at(sums, (stencil.label[cell], body), f)
        sums[np.abs(sums) <= ROUNDING * np.abs(f).sum(axis=0)] = 0.0
        if not sums[stencil.grounded == 0].any():
            return
        grid, solids = self.domain.grid, self.domain.solids
        assert solids is not None
        if self._whole is None:
            self._whole, self._everywhere_c = BodyWalls(self.domain, self.count), np.ones(grid.padded)
        whole, total_b = self._whole, np.zeros((self.count, 6))
        whole.rebuild(dynamic_b, centre_b, self._everywhere_c)
        np.add.at(total_b, whole.spec.body[: whole.size], whole.spec.f[: whole.size])
        total_b[np.abs(total_b) <= ROUNDING * np.abs(f).sum(axis=0)] = 0.0
        missing_b = walls_missing(grid, solids, total_b)
        self.excess = find_excess(grid, solids, stencil, dynamic_b, cell, body, sums, missing_b)
        self.has_excess = bool(np.any(self.excess))
        self._label = stencil.label
        if self.has_excess:
            self.cells = np.maximum(np.bincount(stencil.label, minlength=len(sums)), 1).astype(float)

    def add_flux(self, factor: float, twist_b: Array, out_c: Array) -> None:
        """out += factor F twist: what the walls sweep [m3/s]; twist (n, 6) about the centres of mass."""
        flat = out_c.reshape(-1)
        _add_flux(self.spec, self.size, factor, twist_b, flat)
        if self.has_excess:
            mean = np.einsum("rni,ni->r", self.excess, twist_b) / self.cells
            flat -= factor * mean[self._label]

    def add_force(self, factor: float, p_c: Array, out_b: Array) -> None:
        """out += factor F^T p: force [N] and torque about the centre of mass [N m] of a pressure (n, 6)."""
        flat = p_c.reshape(-1)
        _add_force(self.spec, self.size, factor, flat, out_b)
        if self.has_excess:
            mean = np.bincount(self._label, weights=flat, minlength=len(self.cells)) / self.cells
            out_b -= factor * np.einsum("rni,r->ni", self.excess, mean)

    def add_diagonal(self, inv_mass: Array, out_c: Array) -> None:
        """out += diag(F M^-1 F^T), what is taken off aside; inv_mass (n, 6, 6)."""
        _add_diagonal(self.spec, self.size, inv_mass, out_c.reshape(-1))

    def clear(self, field_c: Array) -> None:
        """The flux through walls as if all moved as prescribed, without that of dynamic bodies."""
        flat = field_c.reshape(-1)
        flat[self._cut] = 0.0
        flat[self.shared] = self._shared_flux


def _find_shared(domain: FluidDomain, dynamic_b: np.ndarray, diagonal_c: Array) -> tuple[np.ndarray, np.ndarray]:
    """Cells (k,) with a pressure that walls of bodies and of solids that move as prescribed close, and these solids
    (k, o); -1: none. They are told by the cells about them, that are nearest to other solids."""
    solids, grid = domain.solids, domain.grid
    assert solids is not None
    none = np.zeros(0, np.int64), np.zeros((0, 1), np.int64)
    hull = solids.hull()
    if len(solids.solids) < 2 or np.any(hull[::2] >= hull[1::2]):
        return none
    k0, k1, j0, j1, i0, i1 = hull.tolist()
    own = solids.body_c[k0:k1, j0:j1, i0:i1]
    near, differs = [own], np.zeros(own.shape, dtype=bool)
    for axis in grid.axes:
        for step in (-1, 1):
            k, j, i = (step * int(axis == other) for other in (2, 1, 0))
            other = solids.body_c[k0 + k : k1 + k, j0 + j : j1 + j, i0 + i : i1 + i]
            near.append(other)
            differs |= (other != own) & (other >= 0) & (own >= 0)
    differs &= diagonal_c[k0:k1, j0:j1, i0:i1] > 0.0
    at = np.nonzero(differs)
    if not len(at[0]):
        return none
    owners = np.sort(np.stack([b[at] for b in near], axis=1).astype(np.int64), axis=1)
    owners[:, 1:][owners[:, 1:] == owners[:, :-1]] = -1
    cell = np.ravel_multi_index((at[0] + k0, at[1] + j0, at[2] + i0), grid.padded)
    # what is closed all around has no wall
    flat, stride = domain.area_f.reshape(3, -1), (1, grid.padded[2], grid.padded[1] * grid.padded[2])
    is_open = np.any([flat[a, cell] + flat[a, cell + stride[a]] > 0.0 for a in grid.axes], axis=0)
    moves = np.append(dynamic_b > 0, False)[owners]
    taken = moves.any(axis=1) & (~moves & (owners >= 0)).any(axis=1) & is_open
    return cell[taken], np.ascontiguousarray(owners[taken])


@njit(cache=True)
def _offset(x, period):  # type: ignore[no-untyped-def]
    """x brought to the nearest repetition; period 0: not periodic."""
    return x - period * np.floor(x / period + 0.5) if period > 0.0 else x


@njit(cache=True)
def _gather_walls(  # type: ignore[no-untyped-def]
    spec, hull, periodic, phi, area, body_c, dynamic_b, diagonal, face_area, centre_b, period, out
):
    """Fill ``out`` as far as it has room and return how many walls there are; hull: where they can be."""
    found = 0
    room = len(out.cell)
    _, ny, nx = diagonal.shape
    for k in range(hull[0], hull[1]):
        for j in range(hull[2], hull[3]):
            for i in range(hull[4], hull[5]):
                b = body_c[k, j, i]
                if b < 0 or dynamic_b[b] == 0 or diagonal[k, j, i] <= 0.0:
                    continue
                ax, ay, az, tx, ty, tz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                cut = False
                for a in range(spec.dimensions):
                    kh = wrap(k + 1, spec.nz, periodic[2]) if a == 2 else k
                    jh = wrap(j + 1, spec.ny, periodic[1]) if a == 1 else j
                    ih = wrap(i + 1, spec.nx, periodic[0]) if a == 0 else i
                    lo, hi = area[a, k, j, i], area[a, kh, jh, ih]
                    if lo >= 1.0 and hi >= 1.0:
                        continue
                    cut = True
                    # a thin solid closes faces that the distances leave open
                    sl, tl = face_moment(phi, a, k, j, i) if lo > 0.0 else (0.0, 0.0)
                    sh, th = face_moment(phi, a, kh, jh, ih) if hi > 0.0 else (0.0, 0.0)
                    s, t = spec.dx * (sl - sh), spec.dx * (tl - th)
                    if a == 0:
                        ax = lo - hi
                        ty += t
                        tz -= s
                    elif a == 1:
                        ay = lo - hi
                        tx -= t
                        tz += s
                    else:
                        az = lo - hi
                        tx += t
                        ty -= s
                if not cut:
                    continue
                if found < room:
                    x = _offset(spec.x0 + (i - GHOSTS + 0.5) * spec.dx - centre_b[b, 0], period[0])
                    y = _offset(spec.y0 + (j - GHOSTS + 0.5) * spec.dx - centre_b[b, 1], period[1])
                    z = 0.0
                    if spec.dimensions == 3:
                        z = _offset(spec.z0 + (k - GHOSTS + 0.5) * spec.dx - centre_b[b, 2], period[2])
                    out.cell[found] = (k * ny + j) * nx + i
                    out.body[found] = b
                    out.f[found, 0] = face_area * ax
                    out.f[found, 1] = face_area * ay
                    out.f[found, 2] = face_area * az
                    out.f[found, 3] = face_area * (tx + y * az - z * ay)
                    out.f[found, 4] = face_area * (ty + z * ax - x * az)
                    out.f[found, 5] = face_area * (tz + x * ay - y * ax)
                    if spec.dimensions == 2:
                        out.f[found, 3] = 0.0
                        out.f[found, 4] = 0.0
                found += 1
    return found


@borrowing
def _closed_edge(a, b):  # type: ignore[no-untyped-def]
    """Part of an edge that is solid, by the distances of its ends."""
    if a > 0.0 and b > 0.0:
        return 0.0
    if a <= 0.0 and b <= 0.0:
        return 1.0
    return -min(a, b) / (abs(a) + abs(b))


@borrowing
def _closed_alone(spec, rows, tables, solids, b, axis, k, j, i):  # type: ignore[no-untyped-def]
    """Part of the lower face of a cell along an axis that a solid alone would close, about."""
    dx = spec.dx
    x, y, z = spec.x0 + (i - GHOSTS) * dx, spec.y0 + (j - GHOSTS) * dx, spec.z0 + (k - GHOSTS) * dx
    if spec.dimensions == 2:
        ex, ey = dx * (axis == 1), dx * (axis == 0)
        here = distance_from(spec, rows, tables, solids, b, x, y, z)
        return _closed_edge(here, distance_from(spec, rows, tables, solids, b, x + ex, y + ey, z))
    ux, uy = dx * (axis != 0), dx * (axis == 0)
    vy, vz = dx * (axis == 2), dx * (axis != 2)
    d0 = distance_from(spec, rows, tables, solids, b, x, y, z)
    d1 = distance_from(spec, rows, tables, solids, b, x + ux, y + uy, z)
    d2 = distance_from(spec, rows, tables, solids, b, x + ux, y + uy + vy, z + vz)
    d3 = distance_from(spec, rows, tables, solids, b, x, y + vy, z + vz)
    return 0.25 * (_closed_edge(d0, d1) + _closed_edge(d1, d2) + _closed_edge(d2, d3) + _closed_edge(d3, d0))


@njit(cache=True)
def _share_walls(  # type: ignore[no-untyped-def]
    spec, periodic, phi, area, rows, tables, solids, period, face_area, centre_b, cell, owners, out
):
    """F (k, o, 6) of the solids ``owners`` (k, o) in cells (k,), about the centres of bodies."""
    nx, ny = spec.nx + 2 * GHOSTS, spec.ny + 2 * GHOSTS
    count = owners.shape[1]
    weight = np.zeros(count)
    for m in range(len(cell)):
        i, j, k = cell[m] % nx, cell[m] // nx % ny, cell[m] // (nx * ny)
        for a in range(spec.dimensions):
            for end in range(2):
                # the place of the face, and where its arrays have it
                kp, jp, ip = k + end * (a == 2), j + end * (a == 1), i + end * (a == 0)
                kf = wrap(kp, spec.nz, periodic[2]) if a == 2 else kp
                jf = wrap(jp, spec.ny, periodic[1]) if a == 1 else jp
                i_f = wrap(ip, spec.nx, periodic[0]) if a == 0 else ip
                closed = 1.0 - area[a, kf, jf, i_f]
                if closed <= 0.0:
                    continue
                total = 0.0
                for o in range(count):
                    weight[o] = 0.0
                    if owners[m, o] >= 0:
                        weight[o] = _closed_alone(spec, rows, tables, solids, owners[m, o], a, kp, jp, ip)
                        total += weight[o]
                if total <= 0.0:
                    # a slit, or a solid that is cells: the nearest one
                    nearest, least = 0, np.inf
                    x = spec.x0 + (ip - GHOSTS + 0.5 * (a != 0)) * spec.dx
                    y = spec.y0 + (jp - GHOSTS + 0.5 * (a != 1)) * spec.dx
                    z = spec.z0 + (kp - GHOSTS + 0.5 * (a != 2)) * spec.dx
                    for o in range(count):
                        if owners[m, o] >= 0:
                            distance = distance_from(spec, rows, tables, solids, owners[m, o], x, y, z)
                            if distance < least:
                                nearest, least = o, distance
                    weight[nearest] = total = 1.0
                s, t = face_moment(phi, a, kf, jf, i_f) if closed < 1.0 else (0.0, 0.0)
                out_sign = 2.0 * end - 1.0
                for o in range(count):
                    if weight[o] <= 0.0:
                        continue
                    b = owners[m, o]
                    part = out_sign * face_area * weight[o] / total
                    x = spec.x0 + (i - GHOSTS + 0.5 + 0.5 * out_sign * (a == 0)) * spec.dx
                    y = spec.y0 + (j - GHOSTS + 0.5 + 0.5 * out_sign * (a == 1)) * spec.dx
                    z = spec.z0 + (k - GHOSTS + 0.5 + 0.5 * out_sign * (a == 2)) * spec.dx
                    # first moments of what is closed: those of the whole face less those of its open part
                    x = closed * _offset(x - centre_b[b, 0], period[0])
                    y = closed * _offset(y - centre_b[b, 1], period[1])
                    z = closed * _offset(z - centre_b[b, 2], period[2]) if spec.dimensions == 3 else 0.0
                    if a == 0:
                        y -= spec.dx * s
                        z -= spec.dx * t
                    else:
                        x -= spec.dx * s
                        y -= spec.dx * t * (a == 2)
                        z -= spec.dx * t * (a == 1)
                    out[m, o, a] += part * closed
                    if a == 0:
                        out[m, o, 4] += part * z
                        out[m, o, 5] -= part * y
                    elif a == 1:
                        out[m, o, 3] -= part * z
                        out[m, o, 5] += part * x
                    else:
                        out[m, o, 3] += part * y
                        out[m, o, 4] -= part * x
        if spec.dimensions == 2:
            for o in range(count):
                out[m, o, 3] = 0.0
                out[m, o, 4] = 0.0


@njit(cache=True)
def _add_flux(walls, size, factor, twist, out):  # type: ignore[no-untyped-def]
    for m in range(size):
        total = 0.0
        for c in range(6):
            total += walls.f[m, c] * twist[walls.body[m], c]
        out[walls.cell[m]] += factor * total


@njit(cache=True)
def _add_force(walls, size, factor, p, out):  # type: ignore[no-untyped-def]
    for m in range(size):
        scaled = factor * p[walls.cell[m]]
        for c in range(6):
            out[walls.body[m], c] += walls.f[m, c] * scaled


@njit(cache=True)
def _add_diagonal(walls, size, inv_mass, out):  # type: ignore[no-untyped-def]
    for m in range(size):
        b = walls.body[m]
        total = 0.0
        for c in range(6):
            for e in range(6):
                total += walls.f[m, c] * inv_mass[b, c, e] * walls.f[m, e]
        out[walls.cell[m]] += total
