"""Incompressibility: the divergence rows K = G^T of the coupled system.

With open fractions phi, face area A, solid velocity v and F of the walls that move with unknowns of the solve, mass
conservation of the open part of a cell reads

    (K w)_c = sum_axis A [phi_lo u_lo - phi_hi u_hi] - (F v)_c = s_c,    s_c = sum_axis A (phi_lo - phi_hi) v_axis,

s being the flux through walls inside the cell that move as prescribed, whose area vector closes that of the open faces.
K is minus the volume-weighted divergence, so that K^T z pushes the fluid by G z and solids by -F^T z, one and the same
pressure, z = dt p as (5.4), (5.8), (5.13) and section 6.3.6 [@schroeder2011]. Eliminating the velocities leaves a
Poisson operator and a term per solid,

    K B^-1 K^T = A0 + F M^-1 F^T,

A0 being that of the fluid around solids at rest. Which cells have a row, and the masses in A0, are the phase's
(``fluid.phase``); F is that of the walls (``fluid.wall_flux``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numba import njit

from undertow.fluid.domain import wrap
from undertow.fluid.phase import Phase, add_gradient
from undertow.fluid.wall_flux import WallFlux
from undertow.grid import GHOSTS, Array, row_of_cells, share_face_rows, share_rows
from undertow.linalg import Stencil, used_ranges
from undertow.linalg.vectors import multiply

NET = 0.01
"""Part of all that crosses the walls of a region, above which its sum is a net flux."""


class PressureRows:
    """One constraint row per cell on the velocities of fluid and walls; its dual unknown is z = dt p [Pa s]."""

    name = "pressure"
    damping = False
    folded = False
    direct = "fluid"

    def __init__(self, phase: Phase, walls: Sequence[WallFlux] = ()) -> None:
        self.phase, self.walls, self.domain = phase, walls, phase.domain
        grid = self.domain.grid
        self.shape: tuple[int, ...] = grid.padded
        self.target = phase.make_target()
        self.stencil = Stencil(grid, self.domain.periodic_axes)
        self._no_mass_f = np.zeros((0, 0, 0, 0))
        self.unmet: Array = np.zeros(0)
        """Net flux of every region [m3/s; 2D m2/s] that prescribed walls leave and no pressure can take up: the last
        solve spread it over the cells (Guendelman et al. 2005, 4.3). Empty without any."""
        self._open = np.zeros(0, np.int64)
        """Cells that have no row because walls do not hold them (``fluid.separation``)."""
        self._open_target = np.zeros(0)

    def rebuild(self) -> None:
        """Stencil of A0 and F of the walls where they are now."""
        self.phase.build(self.stencil)
        for wall in self.walls:
            wall.rebuild(self.stencil)
        self._leave_out()

    def _leave_out(self) -> None:
        """Walls are not felt in the open cells."""
        self._open = self.phase.open_cells
        for wall in self.walls:
            wall.leave_out(self._open, self.stencil)

    def open(self, cell: np.ndarray) -> None:
        """These cells (n,), flat and sorted, are open and all others are not; wanted rows are as they were set."""
        self._put_target(self._open, self._open_target)
        self.phase.open(self.stencil, cell)
        self._leave_out()
        self._take_target()

    def _put_target(self, cell: np.ndarray, value: Array) -> None:
        if self.target is not None:
            self.target.reshape(-1)[cell] = value

    def _take_target(self) -> None:
        """Open cells have no wanted row: it is kept for when they are closed."""
        if self.target is not None:
            self._open_target = self.target.reshape(-1)[self._open]
            self._put_target(self._open, np.zeros(len(self._open)))

    def left_in_open(self, w: Mapping[str, Array]) -> Array:
        """K w - s (n,) of the open cells, as if they had a row."""
        d, cell, left = self.domain, self._open, -self._open_target
        for axis in d.grid.axes:
            area, u = d.area_f[axis].reshape(-1), w["fluid"][axis].reshape(-1)
            high = cell + self.phase.wall_cells.stride[axis]
            left += d.grid.face_area * (area[cell] * u[cell] - area[high] * u[high])
        for wall in self.walls:
            left -= wall.left_out(wall.velocity_in(w))
        return np.asarray(left)

    def diagonal_in(self, cell: np.ndarray) -> Array:
        """The diagonal (n,) that the rows of cells have under water."""
        d, found = self.domain, np.zeros(len(cell))
        for axis in d.grid.axes:
            area, m = (x[axis].reshape(-1) for x in (d.area_f, d.inv_mass_f))
            for face in (cell, cell + self.phase.wall_cells.stride[axis]):
                found += (d.grid.face_area * area[face]) ** 2 * m[face]
        return found

    def set_wall_flux(self) -> None:
        """s: the flux through walls that move as prescribed, from their present velocity, less volume that is made."""
        d, target = self.domain, self.target
        if target is None:
            return
        if d.solids is None:
            target[...] = 0.0
        else:
            liquid = self.phase.liquid_c
            self.phase.mark_open(1.0)
            share_rows(
                d.grid, _compute_wall_flux, d.area_f, d.solids.body_c, d.solids.velocity_c, d.grid.face_area,
                liquid, target,
            )  # fmt: skip
            self.phase.mark_open(0.0)
            if d.solids.closing is not None:
                # what thin solids close all around has no pressure
                np.copyto(target, 0.0, where=self.stencil.diagonal_c <= 0.0)
        for wall in self.walls:
            wall.release(target)
        self.phase.add_sources(self.stencil, target)
        self._take_target()

    def take_unmet(self, asked_c: Array, unmet_c: Array | None) -> None:
        """asked_c: rows before the solve. unmet_c: the part of them that no pressure can change; None: nothing."""
        self.unmet = np.zeros(0)
        if unmet_c is None:
            return
        count, label = self.stencil.regions + 1, self.stencil.label[: unmet_c.size]
        net, all_of = (np.bincount(label, x.reshape(-1), count) for x in (unmet_c, np.abs(asked_c)))
        # what a turning body misses of a closed surface is no flux
        if np.any(np.abs(net) > NET * all_of):
            self.unmet = np.where(np.abs(net) > NET * all_of, net, 0.0)

    def explain_unmet(self) -> str:
        """A sentence about the region whose flux is taken up the least; empty if all are."""
        if not len(self.unmet):
            return ""
        grid, region = self.domain.grid, int(np.abs(self.unmet).argmax())
        index = grid.index(np.flatnonzero(self.stencil.label == region))
        middle = (grid.position(index)).mean(axis=0)[: grid.dimensions]
        unit = "m3/s" if grid.dimensions == 3 else "m2/s"
        where = ", ".join(f"{x:.3g}" for x in middle)
        return (
            f"a closed region of {len(index)} cells around ({where}) m has a net flux of {abs(self.unmet[region]):.3g} "
            f"{unit} through walls that move as prescribed, which nothing can take up: it is spread over its cells "
            "(incompatibility in the ledger); let a body move freely there, or open a side of the domain"
        )

    def region_stencil(self) -> Stencil:
        """K B^-1 K^T of the fluid, up to what ``apply_direct`` adds."""
        return self.stencil

    def apply_direct(self, z: Array, out: Array) -> None:
        """out = K B^-1 K^T z of the fluid alone, with what walls change of its masses."""
        self.stencil.apply(z, out)
        for wall in self.walls:
            wall.add_fluid_answer(z, out)
        for folded in self.phase.folded:
            folded.add_answer(z, self.phase.liquid_c, out)

    def add_others(self, w: Mapping[str, Array], out: Array) -> None:
        """out -= F v"""
        for wall in self.walls:
            wall.add_flux(-1.0, wall.velocity_in(w), out)

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        d, phase = self.domain, self.phase
        share_rows(
            d.grid, _apply_divergence, d.periodic, d.area_f, d.grid.face_area, w["fluid"], phase.wet_rows,
            phase.liquid_c, out,
        )  # fmt: skip
        for wall in self.walls:
            wall.add_fluid_flux(w["fluid"], out)
        for gas in phase.expansions:
            out -= gas.rate_c
        self.add_others(w, out)

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        d = self.domain
        if "fluid" in w:
            share_face_rows(
                d.grid, add_gradient, d.periodic, d.area_f, d.grid.face_area, z, self._no_mass_f, w["fluid"]
            )
        for wall in self.walls:
            if wall.block in w:
                wall.add_force(-1.0, z, w[wall.block])

    def subtract_impulse(self, z: Array, inv_mass_f: Array, u_f: Array) -> None:
        """u -= B^-1 K^T z of the fluid alone, in one pass over memory; its gas gives way."""
        d = self.domain
        share_face_rows(d.grid, add_gradient, d.periodic, d.area_f, -d.grid.face_area, z, inv_mass_f, u_f)
        for folded in self.phase.folded:
            folded.return_impulse(z, u_f)
        for gas in self.phase.expansions:
            gas.take(z)

    def add_diagonal(self, inv_mass: Mapping[str, Array], out: Array) -> None:
        d, liquid = self.domain, self.phase.liquid_c.reshape(-1)
        share_rows(d.grid, _add_divergence_diagonal, d.periodic, d.area_f, d.grid.face_area, inv_mass["fluid"], out)
        if liquid.size:
            flat = out.reshape(-1)
            for low, high in used_ranges(out.shape):
                multiply(flat[low:high], liquid[low:high], flat[low:high])
        for gas in self.phase.expansions:
            out += gas.gives_c
        for wall in self.walls:
            wall.add_diagonal(inv_mass[wall.block], out)


@njit(cache=True, nogil=True)
def _compute_wall_flux(spec, area, body, velocity_c, face_area, liquid, out, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
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
        k, j = row_of_cells(spec, row)
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
def _add_divergence_diagonal(spec, periodic, area, face_area, inv_mass, out, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        for a in range(spec.dimensions):
            kp = wrap(k + int(a == 2), spec.nz, periodic[2])
            jp = wrap(j + int(a == 1), spec.ny, periodic[1])
            for i in range(GHOSTS, GHOSTS + spec.nx):
                ip = wrap(i + int(a == 0), spec.nx, periodic[0])
                lo = area[a, k, j, i] * face_area
                hi = area[a, kp, jp, ip] * face_area
                out[k, j, i] += lo * lo * inv_mass[a, k, j, i] + hi * hi * inv_mass[a, kp, jp, ip]
