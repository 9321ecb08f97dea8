"""Single-phase incompressible flow with smoke around solids that move as prescribed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from undertow.fluid import measure
from undertow.fluid.domain import FluidDomain
from undertow.fluid.forces import VorticityConfinement, add_acceleration, add_buoyancy
from undertow.fluid.gaps import GAP, SLIVER, find_narrow_faces
from undertow.fluid.grid_fluid import GridFluid
from undertow.fluid.limits import flow_limits
from undertow.fluid.phase import FullTank
from undertow.fluid.smoke import Smoke, SmokeEmitter
from undertow.fluid.solve import CoupledSolve, ImplicitSolve, PressureSolve
from undertow.fluid.state import FlowReport, FlowSettings, FlowState, SolidForce
from undertow.fluid.steppers import FirstOrder, copy_planes, make_stepper
from undertow.geometry import SolidFields
from undertow.geometry.thin import ThinWalls
from undertow.grid import Array, Grid, Sides
from undertow.linalg import used_planes
from undertow.part import MASS, Limit, Quantity, restore_arrays
from undertow.transport import Advection, Extrapolation, OneSided

EXTRAPOLATED_LAYERS = 4
"""Layers of faces inside solids that get a velocity from the flow: what transport may read at CFL numbers up to 2."""


class HeldSmoke(Protocol):
    """Smoke in regions that nothing can leave: transport past moving surfaces must not change its mass.

    restored: mass [kg; 2D kg/m] that the last step gave or took.
    """

    restored: float

    def find_cells(self, smoke_c: Array) -> None:
        """Find the cells of the regions, before a step moves the surfaces."""

    def weigh(self, smoke_c: Array) -> None:
        """Note what each region holds, before a step moves the surfaces."""

    def restore(self, smoke_c: Array, left: float) -> None:
        """Scale the smoke of each region, where its surfaces are now, to ``left`` times what it held."""


class Flow(GridFluid):
    """State, work arrays and the step of one flow.

    ``side_velocity(time)`` sets the velocity planes of the sides for a time; None when they are constant.
    ``make_solve``: makes the implicit solve where solids take part in it; None: they move as prescribed. ``held``: what
    keeps the smoke of closed regions, None without any.
    """

    state: FlowState

    def __init__(
        self,
        grid: Grid,
        sides: Sides,
        solids: SolidFields | None,
        settings: FlowSettings,
        emitters: Sequence[SmokeEmitter] = (),
        side_velocity: Callable[[float], None] | None = None,
        make_solve: Callable[[FluidDomain, FlowSettings], ImplicitSolve] | None = None,
    ) -> None:
        self.grid = grid
        self.sides = sides
        self.solids = solids
        self.settings = settings
        self.side_velocity = side_velocity
        self.thin = ThinWalls(solids) if solids is not None else None
        # a solve of its own has its own solid cells
        voxel = settings.no_slip == "extra_faces" and settings.viscosity > 0.0 and make_solve is None
        self.domain = FluidDomain(grid, sides, solids, settings.density, voxel)
        self.advection = Advection(grid, sides, settings.advection, settings.limiter)
        # walls of viscous flow have one velocity, whichever side they are seen from; smoke is another on each
        one_velocity = settings.viscosity > 0.0 and settings.smoke is None
        if solids is not None and not one_velocity:
            solids.hide_thin()
        if solids is not None and solids.occlusion is not None:
            self.advection.one_sided = OneSided(self.advection, solids.occlusion)
        # dt p and the row residual; transport of smoke and confinement use the same memory before the solve
        self.scratch_c = np.zeros((2, *grid.padded))
        self.z_c, self.row_c = self.scratch_c
        self.extrapolation = Extrapolation(grid, sides) if solids is not None else None
        self._known_f: np.ndarray | None = None
        self.smoke = None
        self.confinement = None
        self.held: HeldSmoke | None = None
        if settings.smoke is not None:
            self.smoke = Smoke(grid, sides, settings.smoke, tuple(emitters), self.advection, self.scratch_c)
            if settings.smoke.confinement > 0.0:
                self.confinement = VorticityConfinement(
                    grid, self.domain.periodic, settings.smoke.confinement, self.advection.scratch_f, self.row_c
                )
        self.solve = self._make_solve() if make_solve is None else make_solve(self.domain, settings)
        self.solve.rebuild()
        none = np.zeros(0)
        two = settings.stepper == "second_order"
        self.both_c = np.zeros((0 if self.smoke is None else 2, *grid.padded))
        self.state = FlowState(
            grid.face_field(), grid.cell_field(), grid.face_field() if two else none,
            none if self.smoke is None else self.both_c[0], none if self.smoke is None else self.both_c[1],
        )  # fmt: skip
        if settings.smoke is not None:
            self.state.temperature[:] = settings.smoke.ambient_temperature
        self.u_star = grid.face_field()
        self.gradient_f = grid.face_field() if two else none
        self.report = FlowReport()
        """What the solves of the last step did."""
        self.stepper = make_stepper(settings.stepper, self)
        self.place(0.0)
        self.sums: list[Quantity] = []
        """What the ledger says of the flow at the end of the last step."""
        self.measure_sums()

    def _make_solve(self) -> ImplicitSolve:
        s = self.settings
        if s.viscosity == 0.0:
            return PressureSolve(FullTank(self.domain), s.tolerance)
        solids = () if self.solids is None else self.solids.solids
        slip_b = np.array([solid.slip for solid in solids], dtype=np.int64)
        half = s.stepper == "second_order"
        if s.viscosity_form == "coupled":
            return CoupledSolve(self.domain, s.tolerance, s.viscosity, slip_b, half)
        split = PressureSolve(FullTank(self.domain), s.tolerance)
        split.set_viscosity(s.viscosity, slip_b, half, incremental=False)
        return split

    def place(self, time: float) -> None:
        """Put sides and solids at ``time`` [s] and rebuild what depends on where they are."""
        if self.side_velocity is not None:
            self.side_velocity(time)
        if self.solids is not None and self.solids.update(time):
            self.domain.rebuild()
            self.solve.rebuild()
            stencil = self.solve.rows.stencil
            if stencil is not None:
                for p, diagonal in zip(self.state.p, stencil.diagonal_c, strict=True):
                    np.copyto(p, 0.0, where=diagonal <= 0.0)
        self.solve.place()

    def begin_step(self) -> None:
        if self.held is not None:
            self.held.find_cells(self.state.smoke)

    def advance(self, time: float, dt: float) -> FlowReport:
        self.report = self.stepper.step(time, dt)
        return self.report

    def advance_along(self, by_f: Array, time: float, dt: float) -> FlowReport:
        """As ``advance``, what was emitted being there, transported along ``by_f``."""
        if not isinstance(self.stepper, FirstOrder):
            raise TypeError("only the first-order stepper transports along a velocity that is given")
        self.report = self.stepper.step_along(by_f, time, dt)
        return self.report

    # the verbs of a step -------------------------------------------------------------------------------------------

    def emit(self, time: float) -> None:
        """Sources of smoke."""
        if self.smoke is not None:
            self.smoke.emit(time, self.state.smoke, self.state.temperature, self.state.u)
            if any(emitter.velocity is not None for emitter in self.smoke.emitters):
                self.sides.fill_velocity(self.state.u)

    def transport_smoke(self, by_f: Array, dt: float) -> None:
        if self.smoke is not None:
            if self.held is not None:
                self.held.weigh(self.state.smoke)
            self.smoke.transport(self.both_c, by_f, self.domain.volume_c, dt)

    def uncover(self, u_f: Array, dt: float) -> None:
        """After solids were placed: velocity and smoke where thin ones passed over, from their new side."""
        if self.advection.one_sided is not None:
            smoke = self.settings.smoke
            rest = (0.0, 0.0 if smoke is None else smoke.ambient_temperature)
            self.advection.one_sided.uncover(u_f, self.both_c, rest, dt)
            if self.held is not None and smoke is not None:
                self.held.restore(self.state.smoke, float(np.exp(-smoke.dissipation * dt)))

    def add_forces(self, u_f: Array, dt: float) -> None:
        """Body forces over dt on u_f, whose ghosts are filled on entry and out of date on exit."""
        s = self.settings
        if self.smoke is not None and s.smoke is not None:
            length = float(np.linalg.norm(s.gravity))
            up = tuple(-g / length for g in s.gravity) if length > 0 else (0.0, 0.0, 0.0)
            add_buoyancy(
                self.grid, self.state.smoke, self.state.temperature, up, s.smoke.buoyancy_density,  # type: ignore[arg-type]
                s.smoke.buoyancy_temperature, s.smoke.ambient_temperature, dt, u_f,
            )  # fmt: skip
            if self.confinement is not None:
                self.confinement.add(dt, u_f)
        add_acceleration(self.grid, s.acceleration, dt, u_f)

    def add_pressure_gradient(self, p_c: Array, dt: float, u_f: Array) -> None:
        """u -= dt grad p / rho on the free faces; ghosts filled."""
        used_planes(self.gradient_f)[...] = 0.0
        self.solve.rows.add_transpose(p_c, {"fluid": self.gradient_f})
        measure.subtract_scaled(self.domain.inv_mass_f, self.gradient_f, dt, u_f)
        self.sides.fill_velocity(u_f)

    def add_viscous_half(self, dt: float, u_f: Array) -> None:
        """The explicit half of Crank-Nicolson: u += dt nu L u on rows away from cut faces; ghosts filled."""
        used_planes(self.gradient_f)[...] = 0.0
        self.solve.add_explicit_viscosity(u_f, self.gradient_f)
        measure.subtract_scaled(self.domain.inv_mass_f, self.gradient_f, dt, u_f)
        self.sides.fill_velocity(u_f)

    def project(self, u_f: Array, viscous_dt: float) -> FlowReport:
        """The implicit solve on u_f in place; z_c holds dt p (guess on entry)."""
        self.sides.fill_velocity(u_f)  # the sides may have been placed at another time since
        self.domain.prescribe(u_f)
        report = FlowReport()
        report.row_before = self.largest_row(u_f)
        self.solve.take_known(None, viscous_dt)
        report.solves = self.solve.diffuse(u_f, self.z_c, viscous_dt)
        report.solves += self.solve.solve(u_f, self.z_c, viscous_dt)
        if self.settings.viscosity > 0.0:
            self.solve.refresh_walls()
        report.row_after = self.largest_row(u_f)
        if self.solids is not None and self.solve.rows.target is not None:
            report.leak = measure.wall_leak(self.grid, self.row_c, self.solve.rows.target, self.solids.body_c)
        if self.thin is not None:
            report.leak += self.thin.leak(u_f)
        return report

    def place_velocities(self, time: float) -> None:
        """Sides and solids have the velocities of ``time`` [s] and stay where they are."""
        if self.side_velocity is not None:
            self.side_velocity(time)
        if self.solids is not None:
            self.solids.refresh_velocities()
        self.solve.place()

    def predict(self, dt: float) -> FlowReport:
        """u^n and the solids that the solve moves, dt [s] on, with nothing transported and nothing moved; u in u_star.

        Forces and the implicit solve alone (Schroeder 2011, 5.4, steps 2 and 3).
        """
        copy_planes(self.state.u, self.u_star)
        self.sides.fill_velocity(self.u_star)
        self.add_forces(self.u_star, dt)
        np.multiply(self.state.p, dt, out=self.z_c)
        return self.project(self.u_star, dt)

    def set_velocity(self, u_f: Array) -> None:
        """Go on from the velocity u_f (3, Z, Y, X) [m/s]."""
        self.state.u[...] = u_f
        if self.state.u_previous.size:
            self.state.u_previous[...] = u_f
        # what shells carry starts with the fluid's momentum, not with theirs
        self._extrapolate(self.state.u)
        self.sides.fill_velocity(self.state.u)

    def finish(self, u_f: Array) -> None:
        """Velocities inside solids (the wall's where it is no-slip, else extrapolated) and ghosts."""
        self._extrapolate(u_f)
        self.solve.set_carried(u_f)
        self.sides.fill_velocity(u_f)

    def _extrapolate(self, u_f: Array) -> None:
        if self.extrapolation is not None:
            self.extrapolation.velocity(u_f, self.domain.open_f, EXTRAPOLATED_LAYERS)
            if self.settings.viscosity > 0.0:
                self.domain.set_wall_velocity(u_f)

    def limit_gap_velocity(self, u_f: Array, touching: bool) -> None:
        """Faces that are nearly closed take the velocity about them before it is transported; ghosts filled.

        Between walls that approach each other the fluid is squeezed out at many times their speed. It weighs next to
        nothing there, but transport would carry its velocity to faces where it does: see ``fluid.gaps``. So it would
        from slivers anywhere: what the tolerance of the solve leaves of a row is far from nothing for a cell that is
        open by a millionth.
        """
        if self.extrapolation is None:
            return
        if self._known_f is None:
            self._known_f = np.zeros_like(self.domain.open_f)
        known = self._known_f
        face, part = find_narrow_faces(self.domain, GAP if touching else SLIVER, known[0])
        if not face.size:
            return
        u = u_f.reshape(-1)
        kept = part * u[face]
        np.copyto(known, self.domain.open_f)
        known.reshape(-1)[face] = 0
        # closed faces were filled from these
        self.extrapolation.velocity(u_f, known, EXTRAPOLATED_LAYERS)
        u[face] = kept + (1.0 - part) * u[face]
        if self.settings.viscosity > 0.0:
            self.domain.set_wall_velocity(u_f)
        self.solve.set_carried(u_f)
        self.sides.fill_velocity(u_f)

    def end_step(self, time: float) -> None:
        self.measure_sums()

    # what others ask -----------------------------------------------------------------------------------------------

    def limits(self, time: float) -> list[Limit]:
        """The flow and its sides cross at most one cell, a solid moves at most one cell."""
        return flow_limits(self.grid, self.sides, self.state.u, self.solids, self.settings.advection, time)

    def forces(self) -> dict[str, SolidForce]:
        """Force and torque of the fluid on every solid, from the pressure on its walls and the viscous wall rows."""
        return measure.solid_forces(self)

    def ledger(self) -> dict[str, float]:
        """Physical sums of the present state."""
        return {quantity.name: quantity.value for quantity in measure.sums(self)}

    # a part of a simulation ----------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        return self.state.arrays()

    def numbers(self) -> dict[str, float]:
        return {"previous_time_step": self.state.previous_time_step}

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, float], time: float) -> None:
        restore_arrays(self.state.arrays(), arrays)
        self.state.previous_time_step = float(numbers["previous_time_step"])
        self.place(time)

    def locate(self, name: str, index: tuple[int, ...]) -> str:
        return self.grid.describe(index)

    def measure_sums(self) -> None:
        """The physical sums of the ledger, of the velocities of now: before those of narrow gaps are limited."""
        self.sums = list(measure.sums(self))

    def quantities(self) -> Iterator[Quantity]:
        yield from self.sums
        if self.held is not None:
            yield Quantity("smoke_restored", self.held.restored, MASS)
        open_f = self.domain.area_f if self.solids is None else self.solids.area_f
        yield from measure.side_flows(self.grid, self.sides, self.state.u, open_f)
        yield from measure.solve_quantities(self.report, self.grid.cell_volume)
