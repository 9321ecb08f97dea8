"""The implicit part of a step: pressure alone, viscosity then pressure (Chorin splitting), or both in one SPD system.

Each solver takes u* and returns u^{n+1} in place, with z = dt p beside it. ``half`` says that the stepper treats
viscosity by Crank-Nicolson, so that viscous_dt is dt / 2 except on the rows at cut faces and solid walls.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from undertow.fluid.domain import FluidDomain
from undertow.fluid.phase import FullTank
from undertow.fluid.pressure import PressureRows
from undertow.fluid.viscosity import ViscousRows, WallRows
from undertow.grid import Array
from undertow.linalg import CoupledSystem, Multigrid, SolveStats, VelocityBlock


class ImplicitSolve(Protocol):
    """What a stepper asks of the implicit solve."""

    strain_z: Array
    walls_z: Array

    @property
    def rows(self) -> PressureRows:
        """The rows of incompressibility."""

    @property
    def viscous(self) -> ViscousRows | None:
        """The rows between faces, None when inviscid."""

    @property
    def walls(self) -> WallRows | None:
        """The rows to walls, None when inviscid."""

    def rebuild(self) -> None:
        """Take over a changed geometry."""

    def place(self) -> None:
        """Take over the present velocities of solids and sides."""

    def solve(self, u_f: Array, z_c: Array, viscous_dt: float) -> list[SolveStats]:
        """u* -> u^{n+1} in place; z_c: guess on entry, dt p on exit [Pa s]; viscosity is implicit over viscous_dt."""

    def add_explicit_viscosity(self, u_f: Array, out_f: Array) -> None:
        """out += C^T (C u - s) / dt of the rows that Crank-Nicolson treats half explicitly [N]."""


class PressureSolve:
    """Inviscid: the projection K w = s alone."""

    viscous: ViscousRows | None = None
    walls: WallRows | None = None
    strain_z = np.zeros(0)
    walls_z = np.zeros(0)

    def __init__(self, domain: FluidDomain, tolerance: float) -> None:
        self.domain = domain
        self.tolerance = tolerance
        self.rows = PressureRows(FullTank(domain))
        self.multigrid = Multigrid(domain.grid, domain.periodic_axes)
        planar = domain.grid.dimensions == 2
        block = VelocityBlock("fluid", domain.inv_mass_f, planar)
        self.system = CoupledSystem([block], [self.rows], {"pressure": self.multigrid}, planar)

    def rebuild(self) -> None:
        self.rows.rebuild()
        self.multigrid.setup(self.rows.stencil)

    def place(self) -> None:
        self.rows.set_wall_flux()

    def solve(self, u_f: Array, z_c: Array, viscous_dt: float) -> list[SolveStats]:
        return [self.system.solve({"fluid": u_f}, {"pressure": z_c}, self.tolerance)]

    def add_explicit_viscosity(self, u_f: Array, out_f: Array) -> None:
        """Nothing: inviscid."""


class _ViscousSolve:
    """What the two viscous forms share: rows between faces, rows to walls, and what is set before a solve."""

    folded = False

    def __init__(
        self, domain: FluidDomain, rows: PressureRows, tolerance: float, viscosity: float, slip_b: np.ndarray,
        half: bool,
    ) -> None:  # fmt: skip
        self.rows = rows
        self.tolerance = tolerance
        self.viscous = ViscousRows(domain, viscosity, folded=self.folded, half=half)
        self.walls = WallRows(domain, viscosity, slip_b, folded=self.folded, half=half)
        self.planar = domain.grid.dimensions == 2
        self.walls_z = np.zeros(self.walls.shape)

    def place(self) -> None:
        self.rows.set_wall_flux()
        self.walls.rebuild()

    def set_time_step(self, viscous_dt: float) -> None:
        self.viscous.time_step = viscous_dt
        self.walls.set_time_step(viscous_dt)

    def add_explicit_viscosity(self, u_f: Array, out_f: Array) -> None:
        self.viscous.add_explicit(u_f, out_f)
        self.walls.add_explicit(u_f, out_f)


class SplitSolve(_ViscousSolve):
    """Chorin splitting: the implicit viscous solve (rows folded into the mass), then the projection."""

    folded = True

    def __init__(self, domain: FluidDomain, tolerance: float, viscosity: float, slip_b: np.ndarray, half: bool) -> None:
        self.pressure = PressureSolve(domain, tolerance)
        super().__init__(domain, self.pressure.rows, tolerance, viscosity, slip_b, half)
        block = VelocityBlock("fluid", domain.inv_mass_f, self.planar)
        self.system = CoupledSystem([block], [self.viscous, self.walls], planar=self.planar)
        self.z = {"walls": self.walls_z}
        # only the forces on voxels need the dual of the rows between faces
        self.strain_z = np.zeros(self.viscous.shape if domain.voxel else 0)
        if domain.voxel:
            self.z["viscosity"] = self.strain_z

    def rebuild(self) -> None:
        self.pressure.rebuild()
        self.viscous.rebuild()

    def solve(self, u_f: Array, z_c: Array, viscous_dt: float) -> list[SolveStats]:
        self.set_time_step(viscous_dt)
        stats = self.system.solve({"fluid": u_f}, self.z, self.tolerance)
        return [stats, *self.pressure.solve(u_f, z_c, viscous_dt)]


class CoupledSolve(_ViscousSolve):
    """Pressure, viscosity and walls in one SPD system (thesis 5.31): no splitting error, any viscosity.

    The rows to walls touch one face each and are folded into the masses, which stay diagonal.
    """

    def __init__(self, domain: FluidDomain, tolerance: float, viscosity: float, slip_b: np.ndarray, half: bool) -> None:
        self.domain = domain
        self.inv_mass_f = np.zeros_like(domain.inv_mass_f)
        rows = PressureRows(FullTank(domain, inv_mass_f=self.inv_mass_f))
        super().__init__(domain, rows, tolerance, viscosity, slip_b, half)
        self.multigrid = Multigrid(domain.grid, domain.periodic_axes)
        block = VelocityBlock("fluid", self.inv_mass_f, self.planar)
        self.system = CoupledSystem([block], [self.rows, self.viscous], {"pressure": self.multigrid}, self.planar)
        self.strain_z = np.zeros(self.viscous.shape)

    def rebuild(self) -> None:
        # which cells take part follows from the geometry; the walls' share of the masses is known in solve
        self.inv_mass_f[...] = self.domain.inv_mass_f
        self.rows.rebuild()
        self.viscous.rebuild()

    def solve(self, u_f: Array, z_c: Array, viscous_dt: float) -> list[SolveStats]:
        self.set_time_step(viscous_dt)
        w = {"fluid": u_f}
        self.walls.fold(u_f, self.domain.inv_mass_f, self.inv_mass_f)
        self.rows.rebuild()
        self.multigrid.setup(self.rows.stencil)
        # first guess z = C u*: it follows from the state alone, so that a resumed run repeats every bit
        self.viscous.apply(w, self.strain_z)
        stats = self.system.solve(w, {"pressure": z_c, "viscosity": self.strain_z}, self.tolerance)
        self.walls.apply(w, self.walls_z)
        assert self.walls.target is not None
        self.walls_z -= self.walls.target
        return [stats]
