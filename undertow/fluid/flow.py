"""Incompressible flow on a grid around solids that move as prescribed, with the fields that it carries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from undertow.fluid import measure
from undertow.fluid.adopting import adopt_flow
from undertow.fluid.advected import AdvectedField, Content, Extent, FieldContext
from undertow.fluid.domain import FluidDomain
from undertow.fluid.forces import add_acceleration
from undertow.fluid.limits import flow_limits
from undertow.fluid.midpoint import MidpointTransport
from undertow.fluid.phase import Phase
from undertow.fluid.solve import SplitImplicit, set_up_solve
from undertow.fluid.state import FlowReport, FlowSettings, FlowState, SolidForce
from undertow.fluid.steppers import TwoHalves, copy_planes, make_stepper
from undertow.fluid.tank import Tank
from undertow.fluid.variable_viscosity import VariableViscosity
from undertow.geometry import SolidFields
from undertow.grid import Array, Grid, Sides
from undertow.linalg import VectorSpace, used_planes, used_ranges
from undertow.part import VOLUME, Limit, Part, Quantity, restore_arrays
from undertow.transport import Advection


class Flow(Part):
    """State, work arrays and the verbs of a step of one flow.

    ``make_extent`` says where the fluid is: in the whole domain (``Tank``), or under a surface (``LiquidSurface``).
    ``contents``: what makes the further fields that it carries. ``side_velocity(time)`` sets the velocity planes of the
    sides for a time; None when they are constant. ``make_solve``: makes the implicit solve of a phase, to a tolerance,
    where solids take part in it; None: they move as prescribed. z_c: dt p of the solve [Pa s]; row_c: scratch.
    """

    name = "flow"

    def __init__(
        self,
        grid: Grid,
        sides: Sides,
        solids: SolidFields | None,
        settings: FlowSettings,
        contents: Sequence[Content] = (),
        side_velocity: Callable[[float], None] | None = None,
        make_solve: Callable[[Any, float], SplitImplicit] | None = None,
        make_extent: Callable[[FieldContext], Extent] = Tank,
    ) -> None:
        self.grid, self.sides, self.solids, self.settings = grid, sides, solids, settings
        self.side_velocity = side_velocity
        # a solve of its own has its own solid cells
        voxel = settings.no_slip == "extra_faces" and settings.viscosity > 0.0 and make_solve is None
        self.domain = FluidDomain(grid, sides, solids, settings.density, voxel)
        self.advection = Advection(grid, sides, settings.advection, settings.limiter)
        # dt p and the row residual; transport of fields uses the same memory before the solve
        self.scratch_c = np.zeros((2, *grid.padded))
        self.z_c, self.row_c = self.scratch_c
        context = FieldContext(self.domain, self.advection, self.scratch_c, settings)
        self.extent = context.extent = make_extent(context)
        self.fields: tuple[AdvectedField, ...] = (self.extent, *(make(context) for make in contents))
        self.extent.see_thin(any(field.two_sided for field in self.fields))
        variable = [field for field in self.fields if isinstance(field, VariableViscosity)]
        self.solve = set_up_solve(self.extent.phase, settings, variable[0] if variable else None, make_solve)
        self.extent.solve = self.solve
        self.at_rest = None if solids is None else self.extent.phase.at_rest(solids)
        two = settings.stepper == "second_order"
        none = np.zeros(0)
        self.state = FlowState(
            grid.face_field(), grid.cell_field(), grid.face_field() if two else none,
            {field.name: field for field in self.fields},
        )  # fmt: skip
        self.u_star = grid.face_field()
        """Scratch of a step, and after it the velocity before it."""
        self._space = VectorSpace(self.u_star.size, used_ranges(self.u_star.shape))
        self.midpoint: MidpointTransport | None = None
        """Of a leapfrog."""
        self.moved_for = 0.0
        """How long the last drift was, until the kick that follows it [s]."""
        self.ahead = 0.0
        """Sides have their velocity of so much later than where they are [s]."""
        self.gradient_f = grid.face_field() if two else none
        self.report = FlowReport()
        """What the solves of the last step did."""
        self.displaced_volume = 0.0
        """Of the fluid in whose place bodies appeared, less what fills that of bodies that vanished [m3; 2D m2]."""
        self.stepper = make_stepper(settings.stepper, self)
        self._is_stale = True
        self.move_walls(0.0)
        for field in self.fields:
            field.start()
        self.update_solve()
        self.sums: list[Quantity] = []
        """What the ledger says of the flow at the end of the last step."""
        self.measure_sums()

    @property
    def phase(self) -> Phase:
        """What the pressure is solved in."""
        return self.solve.phase

    # where things are -----------------------------------------------------------------------------------------------

    def place(self, time: float) -> None:
        """Put sides and solids at ``time`` [s] and rebuild what depends on where they are."""
        self.move_walls(time)
        self.update_solve()

    def move_walls(self, time: float) -> None:
        """Put sides and solids at ``time`` [s]; ``update_solve`` is to follow."""
        self.move_sides(time)
        self._is_stale |= self.extent.move_walls(time)

    def move_sides(self, time: float) -> None:
        """Sides have the velocities of ``time`` [s], or as much later as is to be seen ahead."""
        if self.side_velocity is not None:
            self.side_velocity(time + self.ahead)

    def update_solve(self) -> None:
        """The solve takes over the fluid, solids and sources of now."""
        if self._is_stale:
            self.solve.rebuild()
            self.extent.forget_closed(self.state.p)
            self._is_stale = False
        self.solve.place()

    def place_velocities(self, time: float) -> None:
        """Sides and solids have the velocities of ``time`` [s] and stay where they are."""
        self.move_sides(time)
        self.refresh_solids()
        self._is_stale |= self.extent.phase.moves
        self.update_solve()

    def refresh_solids(self) -> None:
        """Solids have the velocities of now, where they are: what a step begins with."""
        if self.solids is not None:
            self.solids.refresh_velocities()

    # a step ---------------------------------------------------------------------------------------------------------

    def pull(self, gravity: Array) -> None:
        self.phase.pull(gravity)
        fresh = {one.name: one for one in self._sums() if one.name == "potential_energy"}
        self.sums = [fresh.get(one.name, one) for one in self.sums]

    def begin_step(self) -> None:
        """Before a step moves anything."""
        for field in self.fields:
            field.begin_step()

    def step(self, time: float, dt: float) -> FlowReport:
        """Advance the state from ``time`` by ``dt`` [s]."""
        report = self.advance(time, dt)
        self.finish(self.state.u)
        return report

    def advance(self, time: float, dt: float) -> FlowReport:
        """A step up to the implicit solve: ``finish`` is to follow, after what else changes the velocity."""
        self.report = self.stepper.step(time, dt)
        return self.report

    def drift(self, time: float, dt: float) -> None:
        """What the velocity carries along, from ``time`` by dt [s]."""
        self.emit(time)
        self._two_halves().drift(self.state.u, time, dt)
        self.moved_for = dt

    def lead(self) -> MidpointTransport:
        """From now on the flow drifts and is kicked, and velocities belong to the middles of drifts."""
        self.midpoint = MidpointTransport(self.grid, self._space)
        return self.midpoint

    def kick(self, time: float, kick: float, dt: float, since: float) -> FlowReport:
        """The velocity over ``kick`` [s], everything being where it is at ``time`` [s], up to the implicit solve:
        ``finish_kick`` is to follow. dt: the step that follows; since: how long ago it was what it was before [s]."""
        assert self.midpoint is not None
        by_f = self.midpoint.extrapolate(self.state.u, self.u_star, since, kick)
        self.sides.exchange.fill(by_f)
        self.report = self._two_halves().kick(by_f, time, kick, self.moved_for, dt)
        self.moved_for = 0.0
        return self.report

    def finish_kick(self, kick: float) -> None:
        """As ``finish``, after all that changes the velocity in a kick [s]."""
        assert self.midpoint is not None
        self.finish(self.state.u)
        self.midpoint.end(self.state.u, kick)
        self.extent.extrapolate_rate(self.midpoint.acceleration_f)

    def _two_halves(self) -> TwoHalves:
        if not isinstance(self.stepper, TwoHalves):
            raise TypeError(f"{type(self.stepper).__name__} has no drift and kick")
        return self.stepper

    def blend_velocity(self, fraction: float, u_f: Array) -> None:
        """u <- u_before + fraction (u - u_before), u_before being the velocity before the last kick."""
        before, now = self.u_star.reshape(-1), u_f.reshape(-1)
        self._space.combine(1.0 - fraction, before, fraction, now)

    @property
    def seen_f(self) -> Array:
        """Scratch for a velocity as it is seen from outside (3, Z, Y, X)."""
        return self.advection.scratch_f

    def advance_along(self, by_f: Array, time: float, dt: float) -> FlowReport:
        """As ``advance``, what was emitted being there, transported along ``by_f`` [m/s]."""
        self.report = self.stepper.step_along(by_f, time, dt)
        return self.report

    def predict(self, dt: float) -> FlowReport:
        """u^n and the solids that the solve moves, dt [s] on, with nothing transported and nothing moved; u in u_star.

        Forces and the implicit solve alone (Schroeder 2011, 5.4, steps 2 and 3). z_c is left as a guess of the impulse
        that lets u^n itself follow the solids: without viscosity, and without a surface, the solve did just that.
        """
        copy_planes(self.state.u, self.u_star)
        self.sides.exchange.fill(self.u_star)
        self.add_forces(self.u_star, dt)
        self.guess(dt)
        report = self.project(self.u_star, dt)
        if self.settings.viscosity > 0.0 or self.phase.moves:
            self.z_c[...] = 0.0
        return report

    def finish(self, u_f: Array) -> None:
        """Velocities go where there is no fluid: into solids and air; ghosts."""
        self.extent.extrapolate(u_f)
        self.solve.set_carried(u_f)
        self.sides.exchange.fill(u_f)

    def end_step(self, time: float) -> None:
        """Sums and checks after all of a step that ends at ``time`` [s]."""
        self.measure_sums()
        for field in self.fields:
            field.end_step(time)

    def limit_gap_velocity(self, u_f: Array, touching: bool) -> None:
        """Before u is transported, in narrow gaps between solids; touching: whether any touch each other."""
        self.extent.limit_gap_velocity(u_f, touching)

    # the verbs of a step --------------------------------------------------------------------------------------------

    def emit(self, time: float) -> None:
        """Sources of what the flow carries."""
        for field in self.fields:
            field.emit(time, self.state.u)

    def transport_fields(self, by_f: Array, dt: float) -> None:
        """What the flow carries moves along by_f; u_star is scratch."""
        for field in self.fields:
            field.transport(by_f, dt, self.u_star)

    def transport_velocity(self, by_f: Array, dt: float) -> None:
        """u_star = u carried along by_f; in a leapfrog by (the head of ``fluid.midpoint``)."""
        u, ahead = self.state.u, self.midpoint
        corrects = ahead is not None and ahead.goes_on(dt)
        if ahead is not None and corrects:
            ahead.add(0.5 * dt, u)
            self.sides.exchange.fill(u)
        self.extent.transport_velocity(u, by_f, dt, self.u_star)
        if ahead is not None and corrects:
            for changed in (u, self.u_star):
                ahead.add(-0.5 * dt, changed)
                self.sides.exchange.fill(changed)
        if ahead is not None:
            ahead.begin(self.u_star)

    def uncover(self, u_f: Array, dt: float) -> None:
        """After solids have moved for dt [s]: velocity and fields where thin ones passed over, from their new side."""
        if dt == 0.0:
            return
        swept = [(field.values_c, field.rest) for field in self.fields if len(field.values_c)]
        values_c, rest = swept[0] if swept else (np.zeros((0, *self.grid.padded)), ())
        if self.extent.sweep(u_f, values_c, rest, dt):
            for field in self.fields:
                field.after_sweep(dt)

    def add_sources(self, time: float, dt: float) -> None:
        """Volume that what the flow carries makes in the step of dt [s] after ``time`` [s]."""
        for field in self.fields:
            field.add_sources(time, dt)

    def add_forces(self, u_f: Array, dt: float) -> None:
        """Body forces over dt on u_f, whose ghosts are filled on entry and out of date on exit."""
        for field in self.fields:
            field.add_forces(u_f, dt)
        add_acceleration(self.grid, self.settings.acceleration, dt, u_f)

    def add_pressure_gradient(self, p_c: Array, dt: float, u_f: Array) -> None:
        """u -= dt grad p / rho on the free faces; ghosts filled."""
        used_planes(self.gradient_f)[...] = 0.0
        self.solve.rows.add_transpose(p_c, {"fluid": self.gradient_f})
        measure.subtract_scaled(self.domain.inv_mass_f, self.gradient_f, dt, u_f)
        self.sides.exchange.fill(u_f)

    def add_viscous_half(self, dt: float, u_f: Array) -> None:
        """The explicit half of Crank-Nicolson: u += dt nu L u on rows away from cut faces; ghosts filled."""
        used_planes(self.gradient_f)[...] = 0.0
        self.solve.add_explicit_viscosity(u_f, self.gradient_f)
        measure.subtract_scaled(self.domain.inv_mass_f, self.gradient_f, dt, u_f)
        self.sides.exchange.fill(u_f)

    def guess(self, dt: float) -> None:
        """z_c: the impulse of the last pressure over dt [Pa s]."""
        self.phase.guess(self.state.p, dt, self.z_c)

    def project(self, u_f: Array, viscous_dt: float) -> FlowReport:
        """The implicit solve on u_f in place; z_c: guess on entry, what it found on exit [Pa s]."""
        solve, phase, dt = self.solve, self.phase, viscous_dt
        self.sides.exchange.fill(u_f)  # the sides may have been placed at another time since
        self.domain.prescribe(u_f)
        report = FlowReport()
        report.solves = solve.diffuse(u_f, self.z_c, dt)
        known_c = phase.give_known(self.state.p, dt, solve.rows.stencil, self.z_c, u_f)
        report.row_before = self.largest_row(u_f)
        solve.take_known(known_c, dt)
        report.solves += solve.solve(u_f, self.z_c, dt)
        self.extent.after_solve()
        report.row_after = self.largest_row(u_f)
        if self.solids is not None and solve.rows.target is not None:
            report.leak = measure.wall_leak(self.grid, self.row_c, solve.rows.target, self.solids.body_c)
        report.leak += self.extent.leak(u_f)
        return report

    def take_over(self, dt: float) -> None:
        """u_star is the velocity of now, and z_c the impulse of its pressure over dt."""
        s = self.state
        self.phase.pressure_of(self.z_c, dt, s.p)
        s.u, self.u_star = self.u_star, s.u

    def set_velocity(self, u_f: Array) -> None:
        """Go on from the velocity u_f (3, Z, Y, X) [m/s] of the fluid; solids and air take it from there."""
        self.state.u[...] = u_f
        if self.state.u_previous.size:
            self.state.u_previous[...] = u_f
        # what shells carry starts with the fluid's momentum, not with theirs
        self.extent.extrapolate(self.state.u)
        self.sides.exchange.fill(self.state.u)

    # what others ask ------------------------------------------------------------------------------------------------

    def largest_row(self, u_f: Array) -> float:
        """Largest |K u - s|, the residual of incompressibility [m3/s]."""
        self.solve.rows.apply({"fluid": u_f}, self.row_c)
        return measure.largest_difference(self.grid, self.row_c, self.solve.rows.target)

    def cells(self) -> dict[str, Array]:
        """Fields that the flow carries at cell centres (Z, Y, X), by name."""
        return {name: value for field in self.fields for name, value in field.cells().items()}

    def limits(self, time: float) -> list[Limit]:
        """The flow and its sides cross at most one cell, a solid moves at most one cell; and those of the fields."""
        limits = flow_limits(self.grid, self.sides, self.state.u, self.solids, self.settings.advection, time)
        return [*limits, *(limit for field in self.fields for limit in field.limits())]

    def forces(self, held: Collection[str] | None = None) -> dict[str, SolidForce]:
        """Force and torque of the fluid on the solids over the last step, from the pressure on their walls and the
        viscous wall rows. held: names of those that move as prescribed; None: all. Others are not in it."""
        return measure.solid_forces(self, held)

    def ledger(self) -> dict[str, float]:
        """Physical sums of the present state."""
        return {quantity.name: quantity.value for quantity in self._sums()}

    # a part of a simulation -----------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        return self.state.arrays()

    def numbers(self) -> dict[str, Any]:
        return {
            "previous_time_step": self.state.previous_time_step, "displaced_volume": self.displaced_volume,
            "ahead": self.ahead, "sums": {one.name: one.value for one in self.sums},
        }  # fmt: skip

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        restore_arrays(self.state.own_arrays(), arrays)
        self.state.previous_time_step = float(numbers["previous_time_step"])
        self.displaced_volume, self.ahead = float(numbers["displaced_volume"]), float(numbers["ahead"])
        for field in self.fields:
            field.restore(arrays)
        self.move_walls(time)
        for field in self.fields:
            field.resume()
        self.update_solve()
        self.extent.recall()
        kept = numbers.get("sums", {})
        self.sums = [one._replace(value=kept.get(one.name, one.value)) for one in self.sums]

    def adopt(self, before: Part | None, time: float) -> None:
        if isinstance(before, Flow):
            adopt_flow(self, before, time)

    def locate(self, name: str, index: tuple[int, ...]) -> str:
        return self.grid.describe(index) if len(index) >= 3 else super().locate(name, index)

    def _sums(self) -> Iterator[Quantity]:
        yield from self.extent.sums(self.state.u)
        for field in self.fields:
            yield from field.quantities()

    def measure_sums(self) -> None:
        """The physical sums of the ledger, of the velocities of now: before those of narrow gaps are limited."""
        self.sums = list(self._sums())

    def quantities(self) -> Iterator[Quantity]:
        yield from self.sums
        yield Quantity("displaced_volume", self.displaced_volume, VOLUME)
        open_f = self.domain.area_f if self.solids is None else self.solids.area_f
        yield from measure.side_flows(self.grid, self.sides, self.state.u, open_f, self.extent.phi_c)
        yield from measure.solve_quantities(self.report, self.grid.cell_volume)

    def frames(self, time: float) -> list[object]:
        return [frame for field in self.fields for frame in field.frames(self.state.u)]
