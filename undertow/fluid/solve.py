"""The implicit part of a step: pressure alone, viscosity then pressure (Chorin splitting), or both in one SPD system.

Each solver takes u* and returns u^{n+1} in place, with z = dt p beside it. ``half`` says that the stepper treats
viscosity by Crank-Nicolson, so that viscous_dt is dt / 2 except on the rows at cut faces and solid walls.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from undertow.fluid.domain import FluidDomain
from undertow.fluid.mixture import Mixture
from undertow.fluid.phase import FullTank, Phase
from undertow.fluid.pressure import PressureRows
from undertow.fluid.strain import FreeViscosity
from undertow.fluid.viscosity import ViscousRows, WallRows
from undertow.grid import Array
from undertow.linalg import CoupledSystem, Multigrid, SolveStats, VelocityBlock


class ImplicitSolve(Protocol):
    """What a flow asks of the implicit solve; a solve says nothing about what it has not.

    Viscosity is solved with the pressure, or before it (``diffuse``).

    phase: the fluid. rows: of incompressibility. viscous, walls: the rows between faces and to walls, None when
    inviscid or solved before. strain_z, walls_z: their duals. before: the viscous step that comes first, None without.
    """

    phase: Phase
    rows: PressureRows
    viscous: ViscousRows | None = None
    walls: WallRows | None = None
    strain_z: Array = np.zeros(0)
    walls_z: Array = np.zeros(0)
    before: FreeViscosity | None = None

    def rebuild(self) -> None:
        """Take over a changed geometry."""

    def place(self) -> None:
        """Take over the present velocities of solids and sides."""

    def solve(self, u_f: Array, z_c: Array, viscous_dt: float) -> list[SolveStats]:
        """u* -> u^{n+1} in place; z_c: guess on entry, dt p on exit [Pa s]; viscosity is implicit over viscous_dt."""

    def set_viscosity(self, viscosity: float | Mixture, slip_b: np.ndarray) -> None:
        """Dynamic viscosity [Pa s], or what has it, of the step before; slip_b (n,): 1 for solids along which the fluid
        slides."""
        return

    def diffuse(self, u_f: Array, p_c: Array, dt: float) -> list[SolveStats]:
        """The viscous step before the pressure, p being the last one [Pa]; nothing without viscosity."""
        if self.before is None:
            return []
        self.before.expect(p_c, dt)
        return [self.before.solve(u_f, dt)]

    def take_known(self, start_c: Array | None, dt: float) -> None:
        """The impulse of a pressure that is known before the solve acts on solids: that of the fluid at rest, and of
        start_c [Pa s], which the fluid has been given already; None: of that alone."""
        return

    def carried(self) -> tuple[np.ndarray, np.ndarray]:
        """Faces that move with thin solids, flat, and whether there is fluid beside them (n,): none here."""
        return np.zeros(0, np.int64), np.zeros(0, dtype=bool)

    def set_carried(self, u_f: Array) -> None:
        """Give those faces the velocity of the solids."""
        return

    def add_explicit_viscosity(self, u_f: Array, out_f: Array) -> None:
        """out += C^T (C u - s) / dt of the rows that Crank-Nicolson treats half explicitly [N]."""
        return


class PressureSolve(ImplicitSolve):
    """The projection K w = s of a fluid between walls that are prescribed."""

    def __init__(self, phase: Phase, tolerance: float) -> None:
        self.phase, self.tolerance = phase, tolerance
        self.rows = PressureRows(phase)
        grid = phase.domain.grid
        self.multigrid = Multigrid(grid, phase.domain.periodic_axes)
        planar = grid.dimensions == 2
        block = VelocityBlock("fluid", phase.inv_mass_f, planar)
        self.system = CoupledSystem([block], [self.rows], {"pressure": self.multigrid}, planar)

    def set_viscosity(self, viscosity: float | Mixture, slip_b: np.ndarray) -> None:
        self.before = FreeViscosity(self.rows, self.tolerance, viscosity, slip_b)

    def rebuild(self) -> None:
        self.rows.rebuild()
        self.multigrid.setup(self.rows.stencil)

    def place(self) -> None:
        self.rows.set_wall_flux()

    def solve(self, u_f: Array, z_c: Array, viscous_dt: float) -> list[SolveStats]:
        return [self.system.solve({"fluid": u_f}, {"pressure": z_c}, self.tolerance)]


class _ViscousSolve(ImplicitSolve):
    """What the two viscous forms share: rows between faces, rows to walls, and what is set before a solve."""

    folded = False

    def __init__(
        self, domain: FluidDomain, rows: PressureRows, tolerance: float, viscosity: float, slip_b: np.ndarray,
        half: bool,
    ) -> None:  # fmt: skip
        self.rows, self.phase = rows, rows.phase
        self.tolerance = tolerance
        self.viscous: ViscousRows = ViscousRows(domain, viscosity, folded=self.folded, half=half)
        self.walls: WallRows = WallRows(domain, viscosity, slip_b, folded=self.folded, half=half)
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
        self.pressure = PressureSolve(FullTank(domain), tolerance)
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
