"""The steps of fluids and solids on a grid, each the algorithm box of its source.

Absent physics is an empty list: a scheme has no nodes where a scene has neither soft bodies nor shells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from undertow.coupling.bodies_in_fluid import BodiesInFluid
from undertow.coupling.contact_in_fluid import ContactInFluid
from undertow.coupling.leapfrog import Leapfrog
from undertow.coupling.nodes_in_fluid import NodesInFluid
from undertow.coupling.prescribed import PrescribedSolids, SpreadFlux
from undertow.coupling.rigid_fluid import RigidFluidSolve
from undertow.fluid import Flow, FlowReport
from undertow.fluid.steppers import copy_planes
from undertow.grid import Array
from undertow.linalg import SolveStats
from undertow.part import VOLUME_RATE, Part, Quantity, Scheme, StepOutcome, restore_arrays
from undertow.rigid.table import carry_rows
from undertow.solids.step import KickedStages, RigidStages


class AroundSolids(Scheme):
    """A fluid around solids that move as prescribed."""

    def __init__(self, solids: PrescribedSolids, flow: Flow) -> None:
        self.solids, self.flow, self.spread = solids, flow, SpreadFlux(flow.solve.rows)

    def step(self, time: float, time_step: float, next_step: float) -> StepOutcome:
        report = self.flow.step(time, time_step)
        self.flow.end_step(time + time_step)
        self.solids.set_forces(self.flow.forces())
        return StepOutcome(report.iterations, report, self.spread.events())


class SurfaceAroundSolids(Leapfrog):
    """A fluid with a surface around solids that move as prescribed."""

    def __init__(self, solids: PrescribedSolids, flow: Flow) -> None:
        super().__init__(flow)
        self.solids, self.spread = solids, SpreadFlux(flow.solve.rows)

    def show_ahead(self, ahead: float) -> None:
        self.solids.look_ahead(ahead)

    def drift(self, time: float, dt: float) -> None:
        self.flow.drift(time, dt)

    def kick(self, time: float, kick: float, dt: float) -> StepOutcome:
        report = self.flow.kick(time, kick, dt, self.since_kick)
        self.flow.finish_kick(kick)
        with self.synchronised():
            self.flow.end_step(time)
        self.solids.set_forces(self.flow.forces())
        events = (*self.spread.events(), *self.flow.extent.events())
        return StepOutcome(report.iterations, report, events)


class WithBodies(Scheme):
    """What the steps of fluids and rigid bodies that move each other have in common.

    bodies: those of ``rigid`` in the grid. nodes: of soft bodies and thin shells, one part or none. contact: of rigid
    bodies in the fluid.
    """

    def __init__(
        self, bodies: BodiesInFluid, nodes: Sequence[NodesInFluid], flow: Flow, contact: ContactInFluid
    ) -> None:
        self.rigid, self.bodies, self.nodes, self.flow, self.contact = bodies.rigid, bodies, nodes, flow, contact
        self._residual, self._touching = 0.0, False
        # pockets of nodes say so themselves
        self._said_by: list[Any] = list(nodes) or [SpreadFlux(flow.solve.rows)]

    def _end_step(self, stages: RigidStages, report: FlowReport, time: float, dt: float) -> StepOutcome:
        """Forces over dt [s], sums and events of a step that ends at ``time`` [s]."""
        solids, flow = stages.report(), self.flow
        self.rigid.take_report(solids)
        walls = flow.forces({solid.name for solid in self.bodies.prescribed})
        for nodes in self.nodes:
            nodes.take_off_soft_walls(flow, walls)
        self.bodies.take_forces(dt, walls)
        for nodes in self.nodes:
            nodes.end_step(dt)
        flow.solve.take_velocities()
        self._residual = flow.largest_row(flow.state.u)
        with self.synchronised():
            flow.end_step(time)
            for nodes in self.nodes:
                nodes.measure_carried(flow.state.u)
        self._touching = solids.contacts > 0 or any(nodes.touching for nodes in self.nodes)
        flow.limit_gap_velocity(flow.state.u, self._touching)
        flow.refresh_solids()
        events = (*self.rigid.events(solids), *(text for part in self._said_by for text in part.events()))
        return StepOutcome(report.iterations, report, (*events, *flow.extent.events()))

    def quantities(self) -> Iterator[Quantity]:
        yield Quantity("coupling_residual", self._residual, VOLUME_RATE, "max")

    def arrays(self) -> dict[str, Array]:
        return self.contact.arrays()

    def numbers(self) -> dict[str, Any]:
        return {"touching": self._touching}

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        self.contact.restore(arrays)
        self._touching = numbers["touching"]


class KickedBodies(WithBodies, Leapfrog):
    """Bodies, nodes and what the fluid carries move with the velocities of the middles of steps."""

    stages: KickedStages
    """The rigid bodies in the step of now."""

    def __init__(
        self, bodies: BodiesInFluid, nodes: Sequence[NodesInFluid], flow: Flow, contact: ContactInFluid
    ) -> None:
        WithBodies.__init__(self, bodies, nodes, flow, contact)
        Leapfrog.__init__(self, flow, [self.rigid, *(one.part for one in nodes)])

    def show_ahead(self, ahead: float) -> None:
        self.bodies.look_ahead(ahead)

    def drift(self, time: float, dt: float) -> None:
        self.stages = stages = KickedStages(self.rigid.solids)
        self._note()
        stages.evolve(time, dt)  # I    bodies that move as prescribed
        stages.collide(dt)  # II
        stages.hold(time, dt)  # III  contact and joints on the velocities
        stages.move(time, dt)  # IV   x^n+1
        for nodes in self.nodes:
            nodes.move(time, dt)  # IV
        self.flow.drift(time, dt)

    def _note(self) -> None:
        """Before anything moves."""
        self.flow.begin_step()
        for nodes in self.nodes:
            nodes.part.note_momenta()

    def _begin_kick(self, time: float, kick: float, dt: float) -> Array:
        """What acts at the places of ``time`` [s] beside the fluid; impulses (n, 6) that contacts are expected to
        have."""
        moved, until = self.flow.moved_for, self.velocity_time + kick
        if moved == 0.0:
            self.stages = KickedStages(self.rigid.solids)
            self._note()
            self.stages.stand(time)
        self.bodies.act(until, kick, moved or dt)
        self.stages.kick(time, kick, dt)
        expected = self.contact.expect(self.stages.contacts, kick)
        for nodes in self.nodes:
            nodes.kick(until, time, kick, moved, dt)
        self.bodies.set_impulses(kick, expected)
        return expected

    def arrays(self) -> dict[str, Array]:
        return {**WithBodies.arrays(self), **Leapfrog.arrays(self)}

    def numbers(self) -> dict[str, Any]:
        return {**WithBodies.numbers(self), **Leapfrog.numbers(self)}

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        WithBodies.restore(self, arrays, numbers, time)
        Leapfrog.restore(self, arrays, numbers, time)

    def adopt(self, before: Part | None, time: float) -> None:
        if isinstance(before, WithBodies):
            WithBodies.restore(self, before.arrays(), before.numbers(), time)
        Leapfrog.adopt(self, before, time)


class OneSolve(KickedBodies):
    """Schroeder 2011, 5.4 with one coupled solve, in which fluid and solids are kicked together, and a leapfrog.

    Rigid bodies are those of thesis 4.2, the flow's kick being in the place of their forces.
    """

    def kick(self, time: float, kick: float, dt: float) -> StepOutcome:
        flow, expected = self.flow, self._begin_kick(time, kick, dt)
        report = flow.kick(time, kick, dt, self.since_kick)  # (5.25), (5.30)
        for nodes in self.nodes:
            nodes.count_contact()
        report.solves += self.contact.iterate(self.stages.contacts, expected, kick)
        self.stages.take_velocities()
        self.stages.settle(time - kick, kick)  # V    what still approaches
        flow.finish_kick(kick)
        return self._end_step(self.stages, report, time, kick)


class TwoKicks(OneSolve):
    """Two coupled solves in a step of a liquid, over half of it each: at x^n for the velocities that all drifts with,
    at x^n+1 for those of the end of the step.

        v^n+1/2 = v^n + dt/2 a(x^n),    x^n+1 = x^n + dt v^n+1/2,    v^n+1 = v^n+1/2 + dt/2 a(x^n+1)

    The second solve of Schroeder 2011, 5.4 is over dt, from v^n, with all of the acceleration at x^n+1: where a force
    restores, as that of a surface does, it damps by omega^2 dt / 4, and where steps alternate it feeds waves. Velocity
    Verlet (Swope et al. 1982) has the leapfrog's invariant; steps need no planning.
    """

    # forces act over the step itself
    acts, acted = Scheme.acts, Scheme.acted

    @property
    def planned_step(self) -> float:
        return math.inf

    def step(self, time: float, time_step: float, next_step: float) -> StepOutcome:
        first = self._kick(time, time_step)
        forces = [array.copy() for one in self.kicked_solids for array in one.reported()]
        self.look_ahead(-0.5 * time_step)
        self.drift(time, time_step)
        second = self._kick(time + time_step, 0.0)
        self._report_mean(forces)
        return StepOutcome(first.iterations + second.iterations, second.details, (*first.events, *second.events))

    def _report_mean(self, first: Sequence[Array]) -> None:
        """Forces of the step are the mean of those of the first kick and of the second."""
        second = [array for one in self.kicked_solids for array in one.reported()]
        for before, now in zip(first, second, strict=True):
            now += 0.5 * (before - now)


class Projection(Protocol):
    """A coupled solve as two solves in a step need it; velocities are in its own order."""

    def poses(self) -> Any:
        """Where its solids are."""

    def motion_since(self, poses: Any, dt: float) -> Any:
        """Velocities that take its solids from there to where they are, in dt [s]."""

    def predicted_twists(self) -> Array:
        """Twists (n, 6) of the rigid bodies that the last solve found."""

    def conform(self, u_f: Array, v: Any, z_c: Array) -> list[SolveStats]:
        """The fluid alone takes on the motion of solids with given velocities; z_c: guess on entry, the pressure's
        impulse on exit [Pa s]."""

    def set_carried(self, u_f: Array, v: Any = None) -> None:
        """Faces that move with thin solids have their velocity, or that of given velocities."""


class TwoSolves(WithBodies):
    """Schroeder 2011, 5.4, steps 1 to 7, and Robinson-Mosher et al. 2008, section 7: two coupled solves.

    1-3    F1, S1  v^n+1/2 of a solve over dt/2 with everything at x^n, nothing transported; all else is discarded
    4              x^n+1 = x^n + dt v^n+1/2, contact and joints seen to
           F2      advecting velocity: u^n projected to the velocities (x^n+1 - x^n) / dt of the solids
    6      F3      u* = u^n transported along it, which does not leak
    5, 7   S2, F4  u^n+1 and v^n+1 of a solve over dt at x^n+1

    Elasticity is that of Newmark's scheme with both velocities: the first solve is backward Euler over dt/2, and with
    the middle (x^n + x^n+1) / 2 of what comes of it the second has (M + dt^2/4 K + dt (-D)) (v^n+1 - v^n) = dt f.
    """

    def __init__(
        self, bodies: BodiesInFluid, nodes: Sequence[NodesInFluid], flow: Flow, contact: ContactInFluid,
        projection: Projection,
    ) -> None:  # fmt: skip
        super().__init__(bodies, nodes, flow, contact)
        self.projection = projection
        self.advecting_f = flow.grid.face_field()

    def _begin_step(self, time: float, dt: float) -> None:
        """Loads on the solids in the step from ``time`` by dt [s]."""
        self.bodies.begin_step(time, dt)
        for nodes in self.nodes:
            nodes.begin_step(time, dt)

    def step(self, time: float, time_step: float, next_step: float) -> StepOutcome:
        dt, flow, start = time_step, self.flow, self.projection.poses()
        self._begin_step(time, dt)
        flow.begin_step()
        predicted, half_b = self._predict(time, dt)  # 1-3
        stages = RigidStages(self.rigid.solids, in_fluid=True, half=half_b)
        stages.evolve(time, dt)
        stages.collide(dt)
        stages.hold(time, dt)
        stages.move(time, dt)  # 4
        expected = self.contact.expect(stages.contacts, dt)
        for nodes in self.nodes:
            nodes.move_with_half(time, dt)  # 4
        conformed = self._find_advecting_velocity(start, dt)  # F2
        for nodes in self.nodes:
            nodes.take_middle()
        self.bodies.set_impulses(dt, expected)
        report = flow.advance_along(self.advecting_f, time, dt)  # 5-7
        report.solves[:0] = [*predicted, *conformed]
        for nodes in self.nodes:
            nodes.count_contact()
        report.solves += self.contact.iterate(stages.contacts, expected, dt)
        stages.take_velocities()
        stages.settle(time, dt)
        flow.finish(flow.state.u)
        return self._end_step(stages, report, time + dt, dt)

    def _predict(self, time: float, dt: float) -> tuple[list[SolveStats], Array]:
        """1 to 3: what the solves did, and the twists (n, 6) of the bodies at n+1/2; nodes keep theirs."""
        flow, rigid, half = self.flow, self.bodies.bodies, 0.5 * dt
        momenta = rigid.p_b.copy(), rigid.L_b.copy()
        flow.emit(time)
        self.bodies.look_ahead(half)
        for nodes in self.nodes:
            nodes.begin_prediction(time, dt)
        flow.place_velocities(time)
        self.bodies.set_impulses(half)
        report = flow.predict(half)
        twists = self.projection.predicted_twists()
        for nodes in self.nodes:
            nodes.end_prediction()
        rigid.p_b[...], rigid.L_b[...] = momenta
        rigid.derive_velocities()
        return report.solves, twists

    def _find_advecting_velocity(self, start: Any, dt: float) -> list[SolveStats]:
        """F2: the fluid's walls being at x^n still."""
        flow, along = self.flow, self.advecting_f
        copy_planes(flow.state.u, along)
        moved = self.projection.motion_since(start, dt)
        solves = self.projection.conform(along, moved, flow.z_c)
        flow.finish(along)
        flow.limit_gap_velocity(along, self._touching)
        self.projection.set_carried(along, moved)
        flow.sides.exchange.fill(along)
        self.bodies.look_ahead(0.0)
        return solves


class RigidFluid(KickedBodies):
    """Carlson, Mucha and Turk 2004: bodies are solved as water and then made rigid again.

    Solids that move as prescribed, the paper's immobile boundary, are walls of the water; bodies that forces move are
    water to the pressure and solid to the surface. Bodies that touch no water are left to the step of the solids.
    """

    def __init__(
        self, bodies: BodiesInFluid, nodes: Sequence[NodesInFluid], flow: Flow, contact: ContactInFluid,
        projection: RigidFluidSolve,
    ) -> None:  # fmt: skip
        super().__init__(bodies, nodes, flow, contact)
        self.projection = projection
        projection.start(flow.state.u)
        flow.finish(flow.state.u)

    def kick(self, time: float, kick: float, dt: float) -> StepOutcome:
        flow, expected = self.flow, self._begin_kick(time, kick, dt)
        report = flow.kick(time, kick, dt, self.since_kick)  # (15) to (18), (24), (25): the projection moves the bodies
        report.solves += self.contact.iterate(self.stages.contacts, expected, kick)
        self.stages.take_velocities()
        self.stages.settle(time - kick, kick)
        self.projection.make_rigid(flow.state.u, kick)  # (26)
        flow.finish_kick(kick)
        return self._end_step(self.stages, report, time, kick)

    def arrays(self) -> dict[str, Array]:
        return {**super().arrays(), **self.projection.arrays()}

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        super().restore(arrays, numbers, time)
        restore_arrays(self.projection.arrays(), arrays)

    def adopt(self, before: Part | None, time: float) -> None:
        """What is expected of the bodies by identity."""
        super().adopt(before, time)
        if isinstance(before, RigidFluid):
            old, new = before.rigid.bodies.identity_b, self.rigid.bodies.identity_b
            arrays = before.projection.arrays()
            arrays["rigid_fluid_expected"] = carry_rows(arrays["rigid_fluid_expected"], old, new)
            restore_arrays(self.projection.arrays(), arrays)
