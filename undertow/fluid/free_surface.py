"""Pressure of a liquid with a free surface: rows in the liquid cells, p = 0 where the surface crosses the grid lines.

A cell is liquid when phi <= 0 at its centre; air cells have no row. Between a liquid centre l and an air centre a the
surface crosses at the part theta = phi_l / (phi_l - phi_a) of the way (ghost fluid: Enright, Marschner and Fedkiw 2002,
section 3; second order: Gibou, Fedkiw, Cheng and Kang 2002). In the factored form of thesis 6.3.7 that is a face of
smaller mass with unchanged rows,

    beta_f = theta rho phi_f V,      G unchanged,      z = dt q_s beyond the face,

so that operator, multigrid and coupling stay what they are without a surface. Solved for is q = p - rho (g.x - c):
gravity then acts through the values at the surface alone, q_s = -rho (g.x_s - c), folded into u* as
-beta^-1 G_bc z_s. Still water under a level surface has one q everywhere, so that it stays still to round-off whatever
theta is; c is the mean of g.x_s over the surface, which leaves the solver the dynamic part only.

A tiny theta makes a tiny mass and a huge impulse that the pressure of the one cell beside it takes back. The tolerance
of the solve is relative to the right-hand side and must not be measured by that: cells with a theta below ``THIN``
start from z = z_s, which is taken out of u* before, and the solve finds the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from undertow.fluid.domain import FluidDomain
from undertow.fluid.separation import PartingCells
from undertow.fluid.surface_phase import SurfacePhase
from undertow.grid import GHOSTS, Array, row_of_cells, row_of_faces, share_face_rows, share_rows, unit_step
from undertow.grid.jitting import borrowing, helper
from undertow.linalg import Stencil, used_planes

if TYPE_CHECKING:
    from undertow.fluid.pressure import PressureRows

SMALLEST_THETA = 1e-3
"""Surfaces nearer to a liquid centre than this part of a cell count as being there: it bounds the mass from below."""

X = np.int64(0)
"""The first axis, of the type that loops over axes give it."""

THIN = 0.2
"""Cells whose surface is nearer than this part of a cell start from the value at the surface."""


class FreeSurface(SurfacePhase):
    """Liquid under a surface; the dual of its rows is z = dt q [Pa s], 0 in the air.

    phi_c: the level set [m], read at every ``build``, ghosts filled. inv_mass_f: 1 / beta_f, 0 on faces between air
    cells. level: c [m^2/s^2], the mean of g.x over the surface. source_c: volume made per time in each cell [m^3/s],
    taken up in liquid cells that are joined to the surface. wet_rows (ny nz,): 1 for rows of cells with liquid, 2 where
    no air is beside them either; what is done to liquid, or to its surface, alone is left out in other rows.
    displaced: solids that are liquid to the pressure and that the surface keeps out of. parted_c (Z, Y, X): 1 in wall
    cells whose wall is dry, 2 in those that have been, before the last solve, else 0. open_cells (n,): liquid cells,
    flat, that walls do not hold (``fluid.separation``); at_air: wall cells at the air, were none open. tensions: what
    else the pressure at the surface comes from (``fluid.tension``).
    """

    def __init__(self, domain: FluidDomain, phi_c: Array, gravity: tuple[float, float, float]) -> None:
        super().__init__(domain, phi_c, gravity)
        grid = domain.grid
        self._known_c = grid.cell_field()
        self._levels = np.zeros((grid.spec.nz * grid.spec.ny, 2))

    def build(self, stencil: Stencil) -> None:
        """Masses, stencil and mean level of the present surface and solids."""
        d = self.domain
        self.find_surface()
        share_face_rows(d.grid, _compute_surface_masses, self.phi_c, d.inv_mass_f, SMALLEST_THETA, self.inv_mass_f)
        self.build_folded()
        parted = self.marked[self.parted_c.reshape(-1)[self.marked] == 1]
        parted = parted[self.phi_c.reshape(-1)[parted] <= 0.0]
        self.open(stencil, parted[self.wall_cells.are_cut(parted)])

    def open(self, stencil: Stencil, cell: np.ndarray) -> None:
        """The stencil with these liquid cells (n,), flat and sorted, open and all others not: what is beside them is
        at p = 0."""
        d = self.domain
        share_rows(
            d.grid, _compute_surface_stencil, self.phi_c, d.area_f, self.inv_mass_f, d.grid.face_area, self.gravity,
            stencil.face_f, stencil.dirichlet_c, self.liquid_c, self._levels, self.wet_rows,
        )  # fmt: skip
        self.at_air = self.wall_cells.at_air(self.wet_rows, stencil.dirichlet_c) if self.separates else cell
        self.open_cells = cell
        dirichlet = stencil.dirichlet_c.reshape(-1)
        for axis in d.grid.axes:
            face, step = stencil.face_f[axis].reshape(-1), self.wall_cells.stride[axis]
            for at, beside in ((cell, cell - step), (cell + step, cell + step)):
                dirichlet[beside] += face[at]
                face[at] = 0.0
        dirichlet[cell] = self.liquid_c.reshape(-1)[cell] = 0.0
        self.lighten(stencil)
        stencil.setup()
        total, count = self._levels.sum(axis=0)
        self.level = float(total / count) if count > 0 else 0.0

    def is_wet(self, stencil: Stencil) -> Array:
        return np.asarray(self.liquid_c.reshape(-1) * (stencil.diagonal_c.reshape(-1) > 0.0))

    def potential(self, cell: np.ndarray, place: Array) -> Array:
        return np.asarray(self.liquid_c.reshape(-1)[cell] * (place @ np.array(self.gravity) - self.level))

    def add_surface_impulse(self, dt: float, z_c: Array, u_f: Array) -> None:
        """u -= beta^-1 (G_bc z_s + K^T z) with z_s = -dt rho (g.x_s - c) at the surface and at p = 0 sides (thesis
        6.3.7) and the z of liquid cells that is known [Pa s]."""
        d = self.domain
        share_face_rows(
            d.grid, _add_surface_impulse, self.wet_rows, self.phi_c, d.area_f, self.inv_mass_f, d.grid.face_area,
            d.density * dt, self.gravity, self.level, z_c, u_f,
        )  # fmt: skip
        for tension in self.tensions:
            tension.add_impulse(dt, self.inv_mass_f, u_f)
        self.add_rough(dt, u_f)

    def start_from_surface(self, dt: float, out_c: Array) -> None:
        """out = z_s in cells whose surface is nearer than THIN, 0 elsewhere [Pa s]."""
        d = self.domain
        scale = -d.density * dt
        share_rows(
            d.grid, _find_thin_cells, self.wet_rows, self.phi_c, self.inv_mass_f, scale, self.gravity, self.level, out_c
        )  # fmt: skip
        for tension in self.tensions:
            tension.start_from_surface(dt, THIN, self.inv_mass_f, out_c)

    def dual_of(self, p_c: Array, dt: float, known_c: Array, out_c: Array) -> None:
        """z = dt (p - rho (g.x - c)) less what is known of it [Pa s] in liquid cells, 0 elsewhere."""
        d, scale = self.domain, -dt * self.domain.density
        share_rows(
            d.grid, _add_potential, self.wet_rows, self.liquid_c, self.gravity, self.level, dt, p_c, -1.0, known_c,
            scale, out_c,
        )  # fmt: skip

    def one_sided(
        self, rows: PressureRows, w: Mapping[str, Array], z_c: Array, dt: float, tolerance: float
    ) -> list[PartingCells]:
        return [PartingCells(self, rows, w, z_c, dt, tolerance)] if self.separates else []

    def impulse_without_pressure(self, cell: np.ndarray, dt: float) -> Array:
        """z (n,) [Pa s] of cells whose centres have p = 0."""
        level = self.wall_cells.potential(cell, self.gravity) - self.level
        return np.asarray(-dt * self.domain.density * level)

    def impulse_in(self, z_c: Array, cell: np.ndarray) -> Array:
        """z (n,) of cells [Pa s], with what is known of it."""
        return np.asarray(z_c.reshape(-1)[cell] + self._known_c.reshape(-1)[cell])

    def add_known(self, z_c: Array) -> None:
        """What was solved for so far is known from now on; z_c: 0 on exit [Pa s]."""
        for known, found in zip(used_planes(self._known_c), used_planes(z_c), strict=True):
            known += found
            found[...] = 0.0

    def release(self, cell: np.ndarray, dt: float, u_f: Array) -> None:
        """Cells (n,) lose their pressure in a solve: u -= B^-1 K^T of what that takes from z."""
        had = [folded.of(u_f) for folded in self.folded]
        self._release(cell, dt, u_f)
        for folded, before in zip(self.folded, had, strict=True):
            folded.reduce(before, u_f)

    def _release(self, cell: np.ndarray, dt: float, u_f: Array) -> None:
        """The same by beta^-1."""
        known, d = self._known_c.reshape(-1), self.domain
        wanted = self.impulse_without_pressure(cell, dt)
        taken = d.grid.face_area * (wanted - known[cell])
        known[cell] = wanted
        for axis in d.grid.axes:
            u, m, area = (x[axis].reshape(-1) for x in (u_f, self.inv_mass_f, d.area_f))
            for at, way in ((cell, 1.0), (cell + self.wall_cells.stride[axis], -1.0)):
                u[at] -= way * m[at] * area[at] * taken

    def guess(self, p_c: Array, dt: float, out_c: Array) -> None:
        """0 before anything has been solved for."""
        self.set_time_step(dt)
        self._known_c[...], out_c[...] = 0.0, 0.0
        if p_c.any():
            self.dual_of(p_c, dt, self._known_c, out_c)
            out_c.reshape(-1)[self.open_cells] = self.impulse_without_pressure(self.open_cells, dt)

    def give_known(self, p_c: Array, dt: float, stencil: Stencil, z_c: Array, u_f: Array) -> Array | None:
        """The values at the surface (thesis 6.3.7), and those of cells that start from them."""
        known = self._known_c
        had = self.wanted(u_f)
        self.start_from_surface(dt, known)
        self.add_surface_impulse(dt, known, u_f)
        self._release(self.open_cells, dt, u_f)
        self.fold(had, u_f)
        self.dual_of(p_c, dt, known, z_c)
        if not p_c.any():
            # nothing has been solved for yet: the water at rest is the guess
            np.copyto(z_c, 0.0, where=stencil.diagonal_c > 0.0)
        return known

    def pressure_of(self, z_c: Array, dt: float, out_c: Array) -> None:
        """p = (z + what was known of it) / dt + rho (g.x - c) in liquid cells [Pa], 0 elsewhere."""
        d, factor = self.domain, 1.0 / dt
        share_rows(
            d.grid, _add_potential, self.wet_rows, self.liquid_c, self.gravity, self.level, factor, z_c, factor,
            self._known_c, d.density, out_c,
        )  # fmt: skip


@helper
def _wet_part(here, other):  # type: ignore[no-untyped-def]
    """theta: the liquid part of the way from a liquid centre (here <= 0) to an air centre (other > 0)."""
    return here / (here - other)


@borrowing
def _count_air(spec, phi, k, j):  # type: ignore[no-untyped-def]
    """Cells of a row whose centre is in the air."""
    row = phi[k, j, GHOSTS : GHOSTS + spec.nx]
    count = 0
    for m in range(spec.nx):
        count += row[m] > 0.0
    return count


@borrowing
def is_dry(spec, wet, k, j, a):  # type: ignore[no-untyped-def]
    """Whether neither row of cells beside the row (k, j) of faces of the axis a has liquid; wet: as ``wet_rows``."""
    row = (k - GHOSTS) * spec.ny + j - GHOSTS
    inside = j < GHOSTS + spec.ny and k < GHOSTS + spec.nz
    if inside and wet[row] > 0:
        return False
    if a == 1 and j > GHOSTS and wet[row - 1] > 0:
        return False
    return not (a == 2 and k > GHOSTS and wet[row - spec.ny] > 0)


@njit(cache=True, nogil=True)
def _compute_surface_masses(spec, phi, inv_mass, smallest, out, start, stop):  # type: ignore[no-untyped-def]
    """1 / beta_f on faces that touch a liquid cell: that of the domain, over theta where the other cell is air."""
    for row in range(start, stop):
        k, j = row_of_faces(spec, row)
        for a in range(spec.dimensions):
            if (j == GHOSTS + spec.ny and a != 1) or (k == GHOSTS + spec.nz and a != 2):
                continue
            kl, jl, dx = k - int(a == 2), j - int(a == 1), int(a == 0)
            n = spec.nx if a == 0 else (spec.ny if a == 1 else spec.nz)
            # most rows have cells of one kind on both sides
            inner = a == 0 or ((j if a == 1 else k) > GHOSTS and (j if a == 1 else k) < GHOSTS + n)
            air = _count_air(spec, phi, k, j) + _count_air(spec, phi, kl, jl) if inner else -1
            if air == 0 or air == 2 * spec.nx:
                for i in range(GHOSTS, GHOSTS + spec.nx + dx):
                    out[a, k, j, i] = inv_mass[a, k, j, i] if air == 0 else 0.0
                continue
            for i in range(GHOSTS, GHOSTS + spec.nx + dx):
                at = i if a == 0 else (j if a == 1 else k)
                # beyond a side there is no cell: the one inside decides
                lo = phi[kl, jl, i - dx] if at > GHOSTS else phi[k, j, i]
                hi = phi[k, j, i] if at < GHOSTS + n else lo
                if lo > 0.0 and hi > 0.0:
                    out[a, k, j, i] = 0.0
                elif lo > 0.0:
                    out[a, k, j, i] = inv_mass[a, k, j, i] / max(_wet_part(hi, lo), smallest)
                elif hi > 0.0:
                    out[a, k, j, i] = inv_mass[a, k, j, i] / max(_wet_part(lo, hi), smallest)
                else:
                    out[a, k, j, i] = inv_mass[a, k, j, i]


@helper
def _potential(spec, g, k, j, i, a, along):  # type: ignore[no-untyped-def]
    """g.x at the centre of a cell shifted by ``along`` cells along the axis a [m^2/s^2]."""
    x = spec.x0 + (i - GHOSTS + 0.5) * spec.dx
    y = spec.y0 + (j - GHOSTS + 0.5) * spec.dx
    z = spec.z0 + (k - GHOSTS + 0.5) * spec.dx
    return g[0] * x + g[1] * y + g[2] * z + g[a] * along * spec.dx


@borrowing
def _is_deep(spec, phi, k, j):  # type: ignore[no-untyped-def]
    """Whether all cells of a row and of the four rows beside it are liquid, and all are inside the domain."""
    if j == GHOSTS or j == GHOSTS + spec.ny - 1:
        return False
    if spec.dimensions == 3:
        if k == GHOSTS or k == GHOSTS + spec.nz - 1:
            return False
        if _count_air(spec, phi, k - 1, j) + _count_air(spec, phi, k + 1, j) > 0:
            return False
    return _count_air(spec, phi, k, j - 1) + _count_air(spec, phi, k, j) + _count_air(spec, phi, k, j + 1) == 0


@njit(cache=True, nogil=True)
def _compute_surface_stencil(  # type: ignore[no-untyped-def]
    spec, phi, area, inv_mass, face_area, g, out_face, out_dirichlet, out_liquid, out_levels, out_wet, start, stop
):
    """a_f between liquid cells, d_c of faces with p = 0 beyond them; per row the sum of g.x there and their number."""
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        total, count = 0.0, 0
        air = _count_air(spec, phi, k, j)
        deep = _is_deep(spec, phi, k, j) if air == 0 else False
        out_wet[row] = 2 if deep else (1 if air < spec.nx else 0)
        if deep:
            # no surface in reach: all faces but those of the two sides along x join liquid cells
            for a in range(spec.dimensions):
                for i in range(GHOSTS + 1, GHOSTS + spec.nx - 1):
                    c = area[a, k, j, i] * face_area
                    out_face[a, k, j, i] = c * c * inv_mass[a, k, j, i]
            for i in range(GHOSTS + 1, GHOSTS + spec.nx - 1):
                out_dirichlet[k, j, i] = 0.0
                out_liquid[k, j, i] = 1.0
        for i in range(GHOSTS, GHOSTS + spec.nx, max(spec.nx - 1, 1) if deep else 1):
            if phi[k, j, i] > 0.0:
                for a in range(spec.dimensions):
                    out_face[a, k, j, i] = 0.0
                out_dirichlet[k, j, i] = 0.0
                out_liquid[k, j, i] = 0.0
                continue
            dirichlet = 0.0
            for a in range(spec.dimensions):
                az, ay, ax = unit_step(a)
                n = spec.nx if a == 0 else (spec.ny if a == 1 else spec.nz)
                at = i if a == 0 else (j if a == 1 else k)
                for end in range(2):
                    c = area[a, k + end * az, j + end * ay, i + end * ax] * face_area
                    c = c * c * inv_mass[a, k + end * az, j + end * ay, i + end * ax]
                    side = at == GHOSTS if end == 0 else at == GHOSTS + n - 1
                    out = 2 * end - 1
                    other = phi[k + out * az, j + out * ay, i + out * ax]
                    joined = not side and other <= 0.0
                    if end == 0:
                        out_face[a, k, j, i] = c if joined else 0.0
                    if not joined and c > 0.0:
                        dirichlet += c
                        along = 0.5 if side else _wet_part(phi[k, j, i], other)
                        total += _potential(spec, g, k, j, i, a, out * along)
                        count += 1
            out_dirichlet[k, j, i] = dirichlet
            out_liquid[k, j, i] = 1.0
        out_levels[row, 0] = total
        out_levels[row, 1] = count


@njit(cache=True, nogil=True)
def _add_surface_impulse(  # type: ignore[no-untyped-def]
    spec, wet, phi, area, inv_mass, face_area, scale, g, level, z, u, start, stop
):
    """u_f += 1 / beta phi A dt rho (g.x_s - c) on faces with air or a p = 0 side above them, the opposite below;
    and u_f -= 1 / beta phi A (z_hi - z_lo)."""
    for row in range(start, stop):
        k, j = row_of_faces(spec, row)
        for a in range(spec.dimensions):
            if (j == GHOSTS + spec.ny and a != 1) or (k == GHOSTS + spec.nz and a != 2) or is_dry(spec, wet, k, j, a):
                continue
            kl, jl, dx = k - int(a == 2), j - int(a == 1), int(a == 0)
            n = spec.nx if a == 0 else (spec.ny if a == 1 else spec.nz)
            line = (k - GHOSTS) * spec.ny + j - GHOSTS
            deep = j < GHOSTS + spec.ny and k < GHOSTS + spec.nz and wet[line] == 2
            if deep and a > 0 and wet[line - (1 if a == 1 else spec.ny)] == 2:
                continue
            # z is 0 without air beside a cell: along x the two sides are left
            for i in range(GHOSTS, GHOSTS + spec.nx + dx, spec.nx if deep and a == 0 else 1):
                m = inv_mass[a, k, j, i] * area[a, k, j, i] * face_area
                if m == 0.0:
                    continue
                at = i if a == 0 else (j if a == 1 else k)
                lo, hi = phi[kl, jl, i - dx], phi[k, j, i]
                # z is 0 in the air and beyond sides
                known = (z[k, j, i] if at < GHOSTS + n else 0.0) - (z[kl, jl, i - dx] if at > GHOSTS else 0.0)
                if at == GHOSTS:
                    known += scale * (_potential(spec, g, k, j, i, a, -0.5) - level)
                elif at == GHOSTS + n:
                    known -= scale * (_potential(spec, g, k, j, i, a, -0.5) - level)
                elif lo > 0.0:
                    known += scale * (_potential(spec, g, k, j, i, a, -_wet_part(hi, lo)) - level)
                elif hi > 0.0:
                    known -= scale * (_potential(spec, g, k, j, i, a, _wet_part(lo, hi) - 1.0) - level)
                u[a, k, j, i] -= m * known


@njit(cache=True, nogil=True)
def _find_thin_cells(spec, wet, phi, inv_mass, scale, g, level, out, start, stop):  # type: ignore[no-untyped-def]
    """scale (g.x_s - c) of the nearest crossing of a grid line if it is nearer than THIN cells, else 0."""
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        for i in range(GHOSTS, GHOSTS + spec.nx):
            out[k, j, i] = 0.0
        for i in range(GHOSTS, GHOSTS + spec.nx if wet[row] == 1 else GHOSTS):
            if phi[k, j, i] > 0.0 or phi[k, j, i] < -THIN * spec.dx:
                continue
            nearest = THIN
            for a in range(spec.dimensions):
                az, ay, ax = unit_step(a)
                n = spec.nx if a == 0 else (spec.ny if a == 1 else spec.nz)
                at = i if a == 0 else (j if a == 1 else k)
                for end in range(2):
                    if at == (GHOSTS if end == 0 else GHOSTS + n - 1):
                        continue
                    if inv_mass[a, k + end * az, j + end * ay, i + end * ax] == 0.0:
                        continue
                    way = 2 * end - 1
                    other = phi[k + way * az, j + way * ay, i + way * ax]
                    if other > 0.0 and _wet_part(phi[k, j, i], other) < nearest:
                        nearest = _wet_part(phi[k, j, i], other)
                        out[k, j, i] = scale * (_potential(spec, g, k, j, i, a, way * nearest) - level)


@njit(cache=True, nogil=True)
def _add_potential(spec, wet, liquid, g, level, factor, q, more, known, scale, out, start, stop):  # type: ignore[no-untyped-def]
    """out = factor q + more known + scale (g.x - c) in liquid cells, else 0."""
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        if wet[row] == 0:
            for i in range(GHOSTS, GHOSTS + spec.nx):
                out[k, j, i] = 0.0
            continue
        for i in range(GHOSTS, GHOSTS + spec.nx):
            value = factor * q[k, j, i] + scale * (_potential(spec, g, k, j, i, X, 0.0) - level)
            value += more * known[k, j, i]
            out[k, j, i] = value if liquid[k, j, i] > 0.0 else 0.0
