"""The implicit part of a step: pressure alone, viscosity then pressure (Chorin splitting), or both in one SPD system.

Each solver takes u* and returns u^{n+1} in place, with z = dt p beside it. ``half`` says that the stepper treats
viscosity by Crank-Nicolson, so that viscous_dt is dt / 2 except on the rows at cut faces and solid walls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from undertow.fluid.domain import FluidDomain
from undertow.fluid.phase import FullTank, Phase
from undertow.fluid.pressure import PressureRows
from undertow.fluid.state import FlowSettings
from undertow.fluid.variable_viscosity import VariableViscosity
from undertow.fluid.viscosity import ViscousRows, WallRows
from undertow.fluid.viscous_step import ViscousStep, expect, rows_between_faces
from undertow.grid import Array
from undertow.linalg import ClusterCycle, CoupledSystem, Multigrid, SolveStats, VelocityBlock, solve_in_passes

NOTABLE = 1e-6
"""Part of the rows that no pressure can change, above which it is told."""


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
    before: ViscousStep | None = None

    def rebuild(self) -> None:
        """Take over a changed geometry."""

    def place(self) -> None:
        """Take over the present velocities of solids and sides."""

    def solve(self, u_f: Array, z_c: Array, viscous_dt: float) -> list[SolveStats]:
        """u* -> u^{n+1} in place; z_c: guess on entry, dt p on exit [Pa s]; viscosity is implicit over viscous_dt."""

    def diffuse(self, u_f: Array, z_c: Array, dt: float) -> list[SolveStats]:
        """The viscous step before the pressure; z_c: the impulse of the last pressure over dt [Pa s]."""
        return [] if self.before is None else [self.before.solve(u_f, z_c, dt)]

    def take_known(self, start_c: Array | None, dt: float) -> None:
        """The impulse of a pressure that is known before the solve acts on solids: that of the fluid at rest, and of
        start_c [Pa s], which the fluid has been given already; None: of that alone."""
        return

    def refresh_walls(self) -> None:
        """Faces inside solids take the velocity that the solids have after the solve."""
        return

    def take_velocities(self) -> None:
        """Walls that the solve moves have the velocities that their solids have now."""
        return

    def momentum_beside(self, u_f: Array) -> tuple[np.ndarray, Array]:
        """Faces (k,), flat, and the momentum [N s] of masses that the solve gives them beside their own: none here."""
        return np.zeros(0, np.int64), np.zeros(0)

    def carried(self) -> tuple[np.ndarray, np.ndarray]:
        """Faces that move with thin solids, flat, and whether there is fluid beside them (n,): none here."""
        return np.zeros(0, np.int64), np.zeros(0, dtype=bool)

    def set_carried(self, u_f: Array, v: Any = None) -> None:
        """Give those faces the velocity of the solids, or that of velocities v in the solve's order."""
        return

    def add_explicit_viscosity(self, u_f: Array, out_f: Array) -> None:
        """out += C^T (C u - s) / dt of the rows that Crank-Nicolson treats half explicitly [N]."""
        if self.before is not None:
            self.before.add_explicit(u_f, out_f)


class SplitImplicit(ImplicitSolve, Protocol):
    """A solve before which viscosity has a step of its own."""

    def set_viscosity(self, viscosity: float | VariableViscosity, slip_b: np.ndarray, form: str = "split") -> None:
        """Dynamic viscosity [Pa s], or what has it; slip_b (n,): 1 for solids along which the fluid slides. form: as
        ``fluid.viscosity_form`` of a scene."""


class PressureSolve(SplitImplicit):
    """The projection K w = s of a fluid between walls that are prescribed, after the step of its viscosity if it has
    one. half: see the head of the module."""

    def __init__(self, phase: Phase, tolerance: float, half: bool = False) -> None:
        self.phase, self.tolerance, self.half = phase, tolerance, half
        self.rows = PressureRows(phase)
        grid = phase.domain.grid
        self.multigrid = ClusterCycle(Multigrid(grid, phase.domain.periodic_axes), phase.stiff)
        planar = grid.dimensions == 2
        block = VelocityBlock("fluid", phase.inv_mass_f, planar)
        self.system = CoupledSystem([block], [self.rows], {"pressure": self.multigrid}, planar)

    def set_viscosity(self, viscosity: float | VariableViscosity, slip_b: np.ndarray, form: str = "split") -> None:
        """As in ``SplitImplicit``; the form is split. Crank-Nicolson has given the fluid the last pressure before."""
        half = self.half
        between = rows_between_faces(self.phase, viscosity, half)
        walls = WallRows(self.phase.domain, exchange_of(viscosity), slip_b, folded=True, half=half)
        expected = None if half else expect(self.rows)
        self._take_step(ViscousStep(between, walls, self.tolerance, expected))

    def _take_step(self, step: ViscousStep) -> None:
        self.before, self.walls, self.walls_z, self.strain_z = step, step.walls, step.walls_z, step.strain_z
        self.viscous = step.form if isinstance(step.form, ViscousRows) else None

    def rebuild(self) -> None:
        self.rows.rebuild()
        self.multigrid.setup(self.rows.stencil)
        if self.before is not None:
            self.before.rebuild()

    def place(self) -> None:
        self.rows.set_wall_flux()
        if self.before is not None:
            self.before.place()

    def solve(self, u_f: Array, z_c: Array, viscous_dt: float) -> list[SolveStats]:
        w: dict[str, Array] = {"fluid": u_f}
        found: list[SolveStats] = []

        def solve_once() -> None:
            scale = None
            if found:
                self.multigrid.setup(self.rows.stencil)
                # what is left after the first pass has a small right-hand side of its own
                scale = found[0].residual / found[0].relative if found[0].relative > 0.0 else None
            found.append(self.system.solve(w, {"pressure": z_c}, self.tolerance, scale=scale))

        one_sided = self.phase.one_sided(self.rows, w, z_c, viscous_dt, self.tolerance)
        passes = solve_in_passes(one_sided, solve_once)
        last, target = found[-1], self.rows.target
        last.passes = passes
        if target is not None:
            self.rows.take_unmet(target, target if last.regions_singular and last.incompatibility > NOTABLE else None)
        return found


def exchange_of(viscosity: float | VariableViscosity) -> float | Array:
    """What rows to walls exchange by: the viscosity [Pa s], or that of every face."""
    return viscosity.mu_f if isinstance(viscosity, VariableViscosity) else viscosity


def set_up_solve(
    phase: Phase, settings: FlowSettings, variable: VariableViscosity | None,
    make_solve: Callable[[Any, float], SplitImplicit] | None,
) -> ImplicitSolve:  # fmt: skip
    """The solve of a flow; variable: its viscosity where that differs from place to place, in place of the settings'
    one. make_solve: what makes it where solids take part, None where they move as prescribed."""
    s, solids = settings, phase.domain.solids
    viscosity = s.viscosity if variable is None else variable
    slip_b = np.array([] if solids is None else [solid.slip for solid in solids.solids], dtype=np.int64)
    half = s.stepper == "second_order"
    if make_solve is None and s.viscosity_form == "coupled" and s.viscosity > 0.0:
        return CoupledSolve(phase.domain, s.tolerance, s.viscosity, slip_b, half)
    solve = PressureSolve(phase, s.tolerance, half) if make_solve is None else make_solve(phase, s.tolerance)
    if variable is not None or s.viscosity > 0.0:
        solve.set_viscosity(viscosity, slip_b, s.viscosity_form)
    return solve


class CoupledSolve(ImplicitSolve):
    """Pressure, viscosity and walls in one SPD system (5.31): no splitting error, any viscosity.

    The rows to walls touch one face each and are folded into the masses, which stay diagonal.
    """

    def __init__(self, domain: FluidDomain, tolerance: float, viscosity: float, slip_b: np.ndarray, half: bool) -> None:
        self.domain = domain
        self.inv_mass_f = np.zeros_like(domain.inv_mass_f)
        self.phase, self.tolerance = FullTank(domain, inv_mass_f=self.inv_mass_f), tolerance
        self.rows = PressureRows(self.phase)
        self.viscous: ViscousRows = ViscousRows(domain, viscosity, folded=False, half=half)
        self.walls: WallRows = WallRows(domain, viscosity, slip_b, folded=False, half=half)
        self.planar = domain.grid.dimensions == 2
        self.walls_z = np.zeros(self.walls.shape)
        self.multigrid = Multigrid(domain.grid, domain.periodic_axes)
        block = VelocityBlock("fluid", self.inv_mass_f, self.planar)
        self.system = CoupledSystem([block], [self.rows, self.viscous], {"pressure": self.multigrid}, self.planar)
        self.strain_z = np.zeros(self.viscous.shape)

    def rebuild(self) -> None:
        # which cells take part follows from the geometry; the walls' share of the masses is known in solve
        self.inv_mass_f[...] = self.domain.inv_mass_f
        self.rows.rebuild()
        self.viscous.rebuild()

    def place(self) -> None:
        self.rows.set_wall_flux()
        self.walls.rebuild()

    def add_explicit_viscosity(self, u_f: Array, out_f: Array) -> None:
        self.viscous.add_explicit(u_f, out_f)
        self.walls.add_explicit(u_f, out_f)

    def solve(self, u_f: Array, z_c: Array, viscous_dt: float) -> list[SolveStats]:
        self.viscous.time_step = viscous_dt
        self.walls.set_time_step(viscous_dt)
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
