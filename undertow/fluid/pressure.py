"""Incompressibility: the divergence rows K = G^T of the coupled system and the pressure solve.

With open fractions phi, face area A and solid velocity v, mass conservation of the open part of a cell reads

    (K w)_c = sum_axis A [phi_lo u_lo - phi_hi u_hi] = s_c,    s_c = sum_axis A (phi_lo - phi_hi) v_axis,

the right side being the flux through the wall inside the cell, whose area vector closes that of the open faces. K is
minus the volume-weighted divergence, so K^T z = G z with z = dt p (thesis 5.13, 6.3.6).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numba import njit

from undertow.fluid.domain import FluidDomain, last_face, wrap
from undertow.grid import GHOSTS, PERIODIC, Array, share_face_rows, share_rows
from undertow.linalg import Stencil


class DivergenceRows:
    """One constraint row per cell on the face velocities, named ``pressure``; its dual unknown is dt p [Pa s]."""

    name = "pressure"
    damping = False
    folded = False
    direct = "fluid"

    def __init__(self, domain: FluidDomain, inv_mass_f: Array | None = None) -> None:
        """inv_mass_f: the masses of the stencil where they are not the fluid's own."""
        self.domain = domain
        self.inv_mass_f = domain.inv_mass_f if inv_mass_f is None else inv_mass_f
        grid = domain.grid
        self.shape: tuple[int, ...] = grid.padded
        self.target: Array | None = None if domain.solids is None or domain.voxel else grid.cell_field()
        self.stencil = Stencil(grid, domain.periodic_axes)
        self.wet_rows = np.zeros(0, dtype=np.uint8)
        """Not 0 for rows of cells with a divergence row (ny nz,); empty: all have them."""
        self.liquid_c = np.zeros((0, 0, 0))
        """1.0 in cells with a row, else 0.0; empty: all have one."""
        self._no_mass_f = np.zeros((0, 0, 0, 0))

    def rebuild(self) -> None:
        """Coefficients a_f = (phi A)^2 / beta and d_c of the p = 0 sides, after the masses changed."""
        d = self.domain
        share_rows(
            d.grid,
            _compute_stencil,
            d.sides.spec.kind,
            d.area_f,
            self.inv_mass_f,
            d.grid.face_area,
            self.stencil.face_f,
            self.stencil.dirichlet_c,
        )
        self.stencil.setup()

    def set_wall_flux(self) -> None:
        """s: the flux through the walls inside cells, from the solids' present velocity."""
        solids = self.domain.solids
        if solids is not None and self.target is not None:
            share_rows(
                self.domain.grid,
                _compute_wall_flux,
                self.domain.area_f,
                solids.body_c,
                solids.velocity_c,
                self.domain.grid.face_area,
                self.liquid_c,
                self.target,
            )

    def region_stencil(self) -> Stencil:
        """K B^-1 K^T of the fluid, up to what ``apply_direct`` adds."""
        return self.stencil

    def apply_direct(self, z: Array, out: Array) -> None:
        """out = K B^-1 K^T z of the fluid alone."""
        self.stencil.apply(z, out)

    def add_others(self, w: Mapping[str, Array], out: Array) -> None:
        """Nothing: the rows act on the fluid alone."""

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        d = self.domain
        share_rows(
            d.grid, _apply_divergence, d.periodic, d.area_f, d.grid.face_area, w["fluid"], self.wet_rows, self.liquid_c,
            out,
        )  # fmt: skip

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        if "fluid" not in w:
            return
        d = self.domain
        share_face_rows(d.grid, _add_gradient, d.periodic, d.area_f, d.grid.face_area, z, self._no_mass_f, w["fluid"])

    def subtract_impulse(self, z: Array, inv_mass_f: Array, u_f: Array) -> None:
        """u -= B^-1 K^T z of the fluid alone, in one pass over memory."""
        d = self.domain
        share_face_rows(d.grid, _add_gradient, d.periodic, d.area_f, -d.grid.face_area, z, inv_mass_f, u_f)

    def add_diagonal(self, inv_mass: Mapping[str, Array], out: Array) -> None:
        d = self.domain
        share_rows(d.grid, _add_divergence_diagonal, d.periodic, d.area_f, d.grid.face_area, inv_mass["fluid"], out)


@njit(cache=True, nogil=True)
def _compute_stencil(spec, kind, area, inv_mass, face_area, out_face, out_dirichlet, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        k = row // spec.ny + GHOSTS
        j = row % spec.ny + GHOSTS
        for i in range(GHOSTS, GHOSTS + spec.nx):
            out_dirichlet[k, j, i] = 0.0
        for a in range(spec.dimensions):
            dz, dy, dx = int(a == 2), int(a == 1), int(a == 0)
            n = spec.nx if a == 0 else (spec.ny if a == 1 else spec.nz)
            for i in range(GHOSTS, GHOSTS + spec.nx):
                at = i if a == 0 else (j if a == 1 else k)
                c = area[a, k, j, i] * face_area
                lower = c * c * inv_mass[a, k, j, i]
                if at == GHOSTS and kind[2 * a] != PERIODIC:
                    out_dirichlet[k, j, i] += lower
                    lower = 0.0
                out_face[a, k, j, i] = lower
                if at == GHOSTS + n - 1:
                    kh, jh, ih = k + dz, j + dy, i + dx
                    c = area[a, kh, jh, ih] * face_area
                    if kind[2 * a + 1] == PERIODIC:
                        kf = k - (n - 1) * dz
                        jf = j - (n - 1) * dy
                        jx = i - (n - 1) * dx
                        first = area[a, kf, jf, jx] * face_area
                        out_face[a, kh, jh, ih] = first * first * inv_mass[a, kf, jf, jx]
                    else:
                        out_dirichlet[k, j, i] += c * c * inv_mass[a, kh, jh, ih]
                        out_face[a, kh, jh, ih] = 0.0


@njit(cache=True, nogil=True)
def _compute_wall_flux(spec, area, body, velocity_c, face_area, liquid, out, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        k = row // spec.ny + GHOSTS
        j = row % spec.ny + GHOSTS
        for i in range(GHOSTS, GHOSTS + spec.nx):
            out[k, j, i] = 0.0
            if body[k, j, i] < 0 or (liquid.size > 0 and liquid[k, j, i] == 0.0):
                continue
            s = 0.0
            for a in range(spec.dimensions):
                lo = area[a, k, j, i]
                hi = area[a, k + int(a == 2), j + int(a == 1), i + int(a == 0)]
                s += (lo - hi) * velocity_c[a, k, j, i]
            out[k, j, i] = s * face_area


@njit(cache=True, nogil=True)
def _apply_divergence(spec, periodic, area, face_area, u, wet, liquid, out, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        k = row // spec.ny + GHOSTS
        j = row % spec.ny + GHOSTS
        if wet.size > 0 and wet[row] == 0:
            for i in range(GHOSTS, GHOSTS + spec.nx):
                out[k, j, i] = 0.0
            continue
        jp = wrap(j + 1, spec.ny, periodic[1])
        last = GHOSTS + spec.nx - 1
        end = wrap(last + 1, spec.nx, periodic[0])
        area_x, u_x = area[0, k, j], u[0, k, j]
        for i in range(GHOSTS, last):
            out[k, j, i] = area_x[i] * u_x[i] - area_x[i + 1] * u_x[i + 1]
        out[k, j, last] = area_x[last] * u_x[last] - area_x[end] * u_x[end]
        for i in range(GHOSTS, last + 1):
            s = out[k, j, i]
            s += area[1, k, j, i] * u[1, k, j, i] - area[1, k, jp, i] * u[1, k, jp, i]
            out[k, j, i] = s * face_area
        if spec.dimensions == 3:
            kp = wrap(k + 1, spec.nz, periodic[2])
            for i in range(GHOSTS, GHOSTS + spec.nx):
                s = area[2, k, j, i] * u[2, k, j, i] - area[2, kp, j, i] * u[2, kp, j, i]
                out[k, j, i] += s * face_area
        if liquid.size > 0:
            for i in range(GHOSTS, GHOSTS + spec.nx):
                out[k, j, i] *= liquid[k, j, i]


@njit(cache=True, nogil=True)
def _add_gradient(spec, periodic, area, face_area, z, inv_mass, w, start, stop):  # type: ignore[no-untyped-def]
    """w_f += phi A (z_hi - z_lo), z = 0 beyond the sides: the transpose of ``_apply_divergence``.

    inv_mass: what that is multiplied by, unless it is empty; rows of faces that have none are passed over.
    """
    scale = np.full(spec.nx + 2 * GHOSTS + 1, face_area)
    n = (spec.nx, spec.ny, spec.nz)
    ny = spec.ny + 1
    for row in range(start, stop):
        k = row // ny + GHOSTS
        j = row % ny + GHOSTS
        for a in range(spec.dimensions):
            if a != 1 and j == GHOSTS + spec.ny or a != 2 and k == GHOSTS + spec.nz:
                continue
            if k >= last_face(spec.nz, periodic[2]) or j >= last_face(spec.ny, periodic[1]):
                continue
            kl = wrap(k - int(a == 2), spec.nz, periodic[2])
            jl = wrap(j - int(a == 1), spec.ny, periodic[1])
            area_a, w_a, low, high = area[a, k, j], w[a, k, j], z[kl, jl], z[k, j]
            if inv_mass.size > 0:
                free = 0
                for i in range(GHOSTS, GHOSTS + spec.nx + 1):
                    scale[i] = face_area * inv_mass[a, k, j, i]
                    free += scale[i] != 0.0
                if free == 0:
                    continue
            if a == 0:
                first, last = GHOSTS, GHOSTS + spec.nx
                before = low[wrap(first - 1, spec.nx, periodic[0])] if periodic[0] == 1 else 0.0
                w_a[first] += area_a[first] * scale[first] * (high[first] - before)
                for i in range(first + 1, last):
                    w_a[i] += area_a[i] * scale[i] * (high[i] - high[i - 1])
                if last < last_face(spec.nx, periodic[0]):
                    w_a[last] += area_a[last] * scale[last] * (0.0 - high[last - 1])
                continue
            at = j if a == 1 else k
            from_low = 1.0 if at > GHOSTS or periodic[a] == 1 else 0.0
            from_high = 1.0 if at < GHOSTS + n[a] else 0.0
            for i in range(GHOSTS, GHOSTS + spec.nx):
                w_a[i] += area_a[i] * scale[i] * (from_high * high[i] - from_low * low[i])


@njit(cache=True, nogil=True)
def _add_divergence_diagonal(spec, periodic, area, face_area, inv_mass, out, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        k = row // spec.ny + GHOSTS
        j = row % spec.ny + GHOSTS
        for a in range(spec.dimensions):
            kp = wrap(k + int(a == 2), spec.nz, periodic[2])
            jp = wrap(j + int(a == 1), spec.ny, periodic[1])
            for i in range(GHOSTS, GHOSTS + spec.nx):
                ip = wrap(i + int(a == 0), spec.nx, periodic[0])
                lo = area[a, k, j, i] * face_area
                hi = area[a, kp, jp, ip] * face_area
                out[k, j, i] += lo * lo * inv_mass[a, k, j, i] + hi * hi * inv_mass[a, kp, jp, ip]
