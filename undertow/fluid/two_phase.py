"""Pressure of two fluids: rows in all open cells, and a jump where the interface crosses the grid lines.

A cell is of the liquid when phi <= 0 at its centre, else of the other fluid, here the air. Between a centre l and a
centre a on its other side the interface crosses at the part theta of the way. Velocity is one field, so that along the
way both fluids have one acceleration, and pressure differences of its two parts add up (Liu, Fedkiw and Kang 2000):

    p_l - p_s = theta dx rho a,     p_s' - p_a = (1 - theta) dx rho' a,     p_s - p_s' = sigma kappa,

    beta_f = (theta rho + (1 - theta) rho') phi_f V                                (thesis 6.3.4 [@schroeder2011])

Masses lie between those of the two fluids whatever theta is. Solved for is q = p - rho (g.x - c), rho being that of the
cell. It jumps by

    q_l - q_a = sigma kappa - (rho - rho') (g.x_s - c),

which acts through the crossed faces alone, u* -= beta^-1 G jump: fluids that lie still one above the other have one q
each, to rounding, whatever the ratio of their densities. c is the mean of g.x_s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from undertow.fluid.crossed import Crossings, find_crossings
from undertow.fluid.domain import FluidDomain
from undertow.fluid.expansion import Expansion
from undertow.fluid.phase import Amount, add_gradient, compute_stencil
from undertow.fluid.surface_phase import SurfacePhase
from undertow.grid import GHOSTS, OPEN, OUTFLOW, Array, share_face_rows, share_rows
from undertow.linalg import Stencil, used_planes

STIFF = 3.0
"""Links so many times stiffer than those of the heavier fluid join cells to one bubble for the preconditioner."""

FULL = -1e6
"""Level set of a fluid that is everywhere [cells]."""


@dataclass(frozen=True)
class OtherFluid:
    """Beyond the interface of the liquid: density [kg/m3], viscosity [Pa s]; atmosphere [Pa]: pressure beyond open
    sides of a gas that gives way to pressure, infinite: of one that does not."""

    density: float
    viscosity: float = 0.0
    atmosphere: float = np.inf


class TwoPhase(SurfacePhase):
    """A liquid and another fluid; the dual of their rows is z = dt q [Pa s].

    crossings: the faces that the interface crosses. part_f (3, Z, Y, X): theta of all faces, 1 in the liquid.
    """

    fills = True

    def __init__(
        self, domain: FluidDomain, phi_c: Array, gravity: tuple[float, float, float], other: OtherFluid
    ) -> None:
        self.other = other
        super().__init__(domain, phi_c, gravity)
        self.liquid_c[...] = 1.0
        self.wet_rows[...] = 1
        self.part_f = domain.grid.face_field()
        heavy, light = max(domain.density, other.density), min(domain.density, other.density)
        if heavy > STIFF * light:
            self.stiff = STIFF * domain.grid.face_area**2 / (heavy * domain.grid.cell_volume)
        if np.isfinite(other.atmosphere):
            self.expansions = (Expansion(domain.grid, other.atmosphere),)
        self.crossings: Crossings = find_crossings(domain.grid, phi_c)
        self._height = np.zeros(0)
        """g.x_s - c of the crossings [m2/s2]."""
        self._rest_c = domain.grid.cell_field()
        """rho (g.x - c) [Pa]."""
        self._full_c = np.full(domain.grid.padded, FULL * domain.grid.dx)
        self.rate_f = np.zeros((0, 0, 0, 0))
        """What the last pressure gave the velocity per time [m/s2], where somebody asks for it."""
        self.time_step = 0.0
        """Of the solve that follows [s]."""

    def pull(self, gravity: Sequence[float] | Array) -> None:
        super().pull(gravity)
        grid, g = self.domain.grid, self.gravity
        self.lift = -self.other.density * np.array(g)
        x, y, z = (grid.coordinates(axis, 0.5 - GHOSTS, grid.padded[2 - axis]) for axis in range(3))
        self._gx_c = g[0] * x[None, None, :] + g[1] * y[None, :, None] + g[2] * z[:, None, None]

    @property
    def strained_c(self) -> Array:
        return self._full_c

    @property
    def whole_mass_f(self) -> Array:
        return self.inv_mass_f

    @property
    def separates(self) -> bool:
        """Neither fluid leaves walls to nothing."""
        return False

    def of_air(self, volume: Amount) -> Amount:
        return self.other.density * volume

    def mass_in(self, cell: np.ndarray, volume: Array) -> Array:
        return np.where(self.phi_c.reshape(-1)[cell] <= 0.0, self.domain.density, self.other.density) * volume

    def build(self, stencil: Stencil) -> None:
        d = self.domain
        self.find_surface()
        self.crossings = find_crossings(d.grid, self.phi_c)
        self._set_masses()
        self.build_folded()
        share_rows(
            d.grid, compute_stencil, d.sides.spec.kind, d.area_f, self.inv_mass_f, d.grid.face_area, stencil.face_f,
            stencil.dirichlet_c,
        )  # fmt: skip
        for gas in self.expansions:
            gas.build(stencil)
        self.lighten(stencil)
        stencil.setup()
        self._set_rest()

    def _set_masses(self) -> None:
        """1 / beta_f: that of the domain times rho / (theta rho + (1 - theta) rho')."""
        d, ratio = self.domain, self.other.density / self.domain.density
        depth = np.maximum(-self.phi_c, 0.0)
        away = np.abs(self.phi_c)
        for axis in d.grid.axes:
            part, inv_mass = (np.moveaxis(x[axis], 2 - axis, 0) for x in (self.part_f, self.inv_mass_f))
            deep, far = (np.moveaxis(x, 2 - axis, 0) for x in (depth, away))
            np.add(deep[1:], deep[:-1], out=part[1:])
            total = far[1:] + far[:-1]
            part[1:] = np.where(total > 0.0, part[1:] / np.where(total > 0.0, total, 1.0), 1.0)
            inv_mass[...] = ratio + (1.0 - ratio) * part
            np.divide(np.moveaxis(d.inv_mass_f[axis], 2 - axis, 0), inv_mass, out=inv_mass)

    def _set_rest(self) -> None:
        place = self.crossings.places(self.domain.grid)
        height = place @ np.array(self.gravity)
        self.level = float(height.mean()) if len(height) else 0.0
        self._height = height - self.level
        self._rest_c[...] = np.where(self.phi_c <= 0.0, self.domain.density, self.other.density)
        self._rest_c *= self._gx_c - self.level

    def levels(self, stencil: Stencil) -> Array:
        return np.full(len(stencil.grounded), self.level)

    def is_wet(self, stencil: Stencil) -> Array:
        return np.asarray((stencil.diagonal_c.reshape(-1) > 0.0).astype(float))

    def potential(self, cell: np.ndarray, place: Array) -> Array:
        part = self.mass_in(cell, np.ones(len(cell))) / self.domain.density
        return np.asarray(part * (place @ np.array(self.gravity) - self.level))

    def guess(self, p_c: Array, dt: float, out_c: Array) -> None:
        self.time_step = dt
        self.set_time_step(dt)
        out_c[...] = 0.0
        if p_c.any():
            planes = (used_planes(x) for x in (p_c, self._rest_c, out_c))
            for p, rest, out in zip(*planes, strict=True):
                np.subtract(p, rest, out=out)
                out *= dt

    def give_known(self, p_c: Array, dt: float, stencil: Stencil, z_c: Array, u_f: Array) -> None:
        """The jump at the crossed faces, and the pressure beyond p = 0 sides."""
        had = self.wanted(u_f)
        self._add_known(dt, u_f)
        self.fold(had, u_f)
        for gas in self.expansions:
            gas.begin(dt, self._rest_c, stencil)
        z_c *= stencil.diagonal_c > 0.0

    def _add_known(self, dt: float, u_f: Array) -> None:
        """u -= beta^-1 (G jump + G_bc z_s)."""
        d, at = self.domain, self.crossings
        inv_mass, area = self.inv_mass_f.reshape(-1)[at.face], d.area_f.reshape(-1)[at.face]
        jump = -(d.density - self.other.density) * self._height
        u_f.reshape(-1)[at.face] -= inv_mass * area * d.grid.face_area * at.way * dt * jump
        for tension in self.tensions:
            tension.add_impulse(dt, self.inv_mass_f, u_f)
        self.add_rough(dt, u_f)
        for _, axis, end in d.grid.sides():
            if d.sides.kind[2 * axis + end] in (OPEN, OUTFLOW):
                self._give_beyond(axis, end, dt, u_f)

    def _give_beyond(self, axis: int, end: int, dt: float, u_f: Array) -> None:
        """u -= beta^-1 G_bc z_s, z_s = -dt rho (g.x_f - c) beyond a side where p = 0."""
        grid = self.domain.grid
        face, inside = list(grid.interior), list(grid.interior)
        last = GHOSTS + grid.cells[axis]
        face[2 - axis] = slice(last, last + 1) if end else slice(GHOSTS, GHOSTS + 1)
        inside[2 - axis] = slice(last - 1, last) if end else slice(GHOSTS, GHOSTS + 1)
        at, cell = tuple(face), tuple(inside)
        density = np.where(self.phi_c[cell] <= 0.0, self.domain.density, self.other.density)
        way = 2 * end - 1
        height = self._gx_c[cell] + 0.5 * way * grid.dx * self.gravity[axis] - self.level
        push = self.inv_mass_f[axis][at] * self.domain.area_f[axis][at] * grid.face_area
        u_f[axis][at] += way * push * dt * density * height

    def pressure_of(self, z_c: Array, dt: float, out_c: Array) -> None:
        if self.rate_f.size:
            d = self.domain
            self.rate_f[...] = 0.0
            share_face_rows(
                d.grid, add_gradient, d.periodic, d.area_f, -d.grid.face_area, z_c, self.inv_mass_f, self.rate_f
            )
            self._add_known(dt, self.rate_f)
            for folded in self.folded:
                folded.reduce(0.0, self.rate_f)
            self.rate_f /= dt
        planes = (used_planes(x) for x in (z_c, self._rest_c, out_c))
        for z, rest, out in zip(*planes, strict=True):
            np.divide(z, dt, out=out)
            out += rest
