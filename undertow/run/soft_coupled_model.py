"""Fluid and solids, some of them soft, that move each other: one solve for all (``coupling = "monolithic"``)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.coupling.motion import effective_twists
from undertow.coupling.one_sided import Contacts
from undertow.coupling.pockets import PocketSmoke
from undertow.coupling.soft_fields import SoftFields
from undertow.coupling.soft_solve import SoftSolve, soft_monolithic
from undertow.fluid import Flow, SolidForce
from undertow.fluid.steppers import copy_planes
from undertow.grid import GHOSTS, Array
from undertow.linalg import SolveStats
from undertow.part import ENERGY, MASS, MOMENTUM, VOLUME_RATE, Quantity, StepOutcome, components, vector
from undertow.run import build
from undertow.run.assemble_solids import make_soft
from undertow.run.bodies_in_fluid import BodiesInFluid
from undertow.run.coupled_model import calm_slits, in_the_place_of_u
from undertow.run.machine import check_memory
from undertow.run.models import Model
from undertow.run.soft_in_fluid import SoftInFluid, SolvedWithSoft
from undertow.scene import Scene


class SoftCoupledModel(Model):
    """A flow and all solids in it, soft and rigid, built from a scene.

    A step is that of the rigid bodies (thesis 4.2) with all the rest in the place of their forces: rigid bodies collide
    and move with v^n; nodes move with v^n (``newmark``: to the middle of the step), soft surfaces kept from each other;
    the fluid is transported; then one solve for fluid and solids at the new positions, with joints and the contacts
    that act as its rows. Contact after it stops rigid bodies that still approach. ``monolithic.scheme = "two_solves"``:
    all move with v^n+1/2 of a solve before that (``_SolvedTwice``).
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.grid, self.notes = build.build_grid(scene)
        check_memory(self.grid.cells, build.memory_needed(scene, self.grid))
        self.sides, side_velocity = build.build_sides(scene, self.grid)
        rigid, self.solid = make_soft(scene)
        self.within = BodiesInFluid(scene, self.grid, self.sides, rigid)
        self.notes += self.within.notes + self.solid.notes
        self.soft, self.bodies = self.solid.soft, self.within.bodies
        if scene.fluid.initial_vortices:
            moved = self.soft.inv_mass > 0
            self.soft.v[moved] += np.stack(build.initial_velocity(scene)(*self.soft.x[moved].T), axis=1)
        self.inside = SoftInFluid(scene, self.solid, self.within)
        equal = scene.soft.shell_weights == "equal"
        self.fields = SoftFields(self.grid, self.sides, self.within.placed, self.soft, equal)
        self.flow = Flow(
            self.grid,
            self.sides,
            self.fields,
            build.flow_settings(scene),
            build.build_emitters(scene, self.grid),
            side_velocity,
            soft_monolithic(self.inside.coupled),
        )
        solve = self.flow.solve
        assert isinstance(solve, SoftSolve)
        self.solve = self.inside.solve = solve
        self.held = None
        if solve.pockets.pockets and self.flow.smoke is not None:
            self.held = self.flow.held = PocketSmoke(solve.pockets, solve.rows)
        build.check_room(scene, solve.rows.stencil)
        self._gravity = self.within.gravity
        self._told, self._residual = False, 0.0
        self._open_f = np.zeros_like(self.flow.domain.open_f)
        twice = scene.monolithic.scheme == "two_solves"
        self._around = _SolvedTwice if twice else _FluidAround
        self.along_f = self.grid.face_field() if twice else np.zeros(0)
        """Velocity that transport follows where it is not u^n [m/s]."""
        self.parts = [rigid, self.solid, self.within, self.inside, self.flow]

    def step(self, time: float, time_step: float) -> StepOutcome:
        """See the head of the class."""
        medium = self._around(self, time, time_step)
        ahead = medium.look_ahead()
        solids = self.solid.rigid.solids.step(time, time_step, medium=medium, ahead_b=ahead)
        self.solid.rigid.take_report(solids)
        self._take_forces(time_step)
        self._residual = self._measure_residual()
        self.flow.measure_sums()
        self.flow.sums += self._carried_quantities()
        self.calm(self.inside.coupled.contacts)
        events = (*self.solid.rigid.events(solids), *self._explain_pockets())
        return StepOutcome(medium.report.iterations, medium.report, events)

    def calm(self, contacts: Contacts | None, v: Array | None = None) -> None:
        """Velocities before they are transported: slits calmed, faces that shells couple as the shells or v move."""
        calm_slits(self.flow, self._open_f, contacts is not None and contacts.count > 0)
        self.solve.set_coupled_faces(self.flow.state.u, v)
        self.sides.fill_velocity(self.flow.state.u)

    def _explain_pockets(self) -> tuple[str, ...]:
        """A pocket with a net flux is explained once."""
        rows = self.solve.rows
        assert rows.stencil is not None
        text = "" if self._told else self.solve.pockets.explain(rows.stencil, self.flow.domain.periodic_axes)
        self._told = self._told or bool(text)
        return (text,) if text else ()

    # what is reported -----------------------------------------------------------------------------------------------

    def _take_forces(self, dt: float) -> None:
        """Of the fluid on all solids; torque about the centre of mass."""
        self.within.take_forces(dt, self._rigid_forces() if self.scene.bodies else {})
        self.inside.take_step(dt)

    def _rigid_forces(self) -> dict[str, SolidForce]:
        """Of the fluid on solids: what acts on the walls in cells near them, less the part on soft walls there."""
        found = self.flow.forces()
        fields, walls, grid, settings = self.fields, self.solve.moved, self.grid, self.flow.settings
        soft_volume = np.zeros(grid.padded)
        soft_volume[grid.interior] = (fields.rigid.volume_c - fields.volume_c)[grid.interior] * grid.cell_volume
        body_c = fields.body_c.reshape(-1)
        near = (walls.soft_area != 0.0).any(axis=0) | (soft_volume.reshape(-1) != 0.0)
        cell = np.flatnonzero((body_c >= 0) & near)
        soft_c = soft_volume.reshape(-1)[cell]
        on_soft = (self.flow.state.p.reshape(-1)[cell] * walls.soft_area[:, cell]).T
        index = np.stack(np.unravel_index(cell, grid.padded)[::-1], axis=1) - GHOSTS
        place = np.array(grid.lower) + (index + 0.5) * grid.dx
        for b, solid in enumerate(fields.solids):
            if self.within.dynamic_b[b]:
                continue
            here = body_c[cell] == b
            arm = fields.arms(place[here], fields.spec.position[b])
            force = found[solid.name]
            # the volume that soft bodies take there counted for buoyancy, and for the drag of turning
            taken = on_soft[here] - settings.density * soft_c[here, None] * self._gravity
            turning = 0.0 if solid.slip else 2.0 * settings.viscosity * soft_c[here].sum() * fields.angular_velocity(b)
            pressure = np.array(force.pressure) - taken.sum(axis=0)
            torque = np.array(force.torque) - np.cross(arm, taken).sum(axis=0) + turning
            found[solid.name] = SolidForce(vector(pressure), force.viscous, vector(torque))
        return found

    def quantities(self) -> Iterator[Quantity]:
        if self.held is not None:
            yield Quantity("smoke_restored", self.held.restored, MASS)
        yield Quantity("coupling_residual", self._residual, VOLUME_RATE, "max")

    def _measure_residual(self) -> float:
        """Largest row of fluid and solids as contact leaves them [m3/s]."""
        self.solve.block.take(self.solve.moved.v)
        return self.flow.largest_row(self.flow.state.u)

    def _carried_quantities(self) -> Iterator[Quantity]:
        """Of the fluid of the faces that shells couple, which counts as closed in the sums over the flow."""
        fields, u = self.fields, self.flow.state.u.reshape(-1)
        mass = self.solve.moved.carried_mass()
        axis = fields.voxel.face // int(np.prod(self.grid.padded))
        carried = u[fields.voxel.face]
        yield Quantity("kinetic_energy", 0.5 * float((mass * carried**2).sum()), ENERGY)
        yield from components("momentum", np.bincount(axis, mass * carried, 3), MOMENTUM)


class _FluidAround(SolvedWithSoft):
    """The fluid and the soft bodies as what rigid bodies move in during one step."""

    def __init__(self, model: SoftCoupledModel, time: float, time_step: float) -> None:
        super().__init__(model.bodies)
        self.model, self.time, self.time_step = model, time, time_step

    def look_ahead(self) -> Array | None:
        """Nothing: positions move with v^n."""
        return None

    def advance(self, expected_b: Array) -> None:
        """Nodes to n+1, contacts there, the flow's step: transport, then one solve for fluid and solids."""
        model, flow = self.model, self.model.flow
        expected_b[...] = 0.0
        if model.held is not None:
            model.held.look(flow.state.smoke)
        self._advance_all()
        model.solve.set_coupled_faces(flow.state.u)
        model.sides.fill_velocity(flow.state.u)
        model.inside.count_contact()

    def _advance_all(self) -> None:
        self.model.inside.prepare(self.time, self.time_step)
        self.model.within.set_weight(self.time_step)
        self.report = self.model.flow.step(self.time, self.time_step)


class _SolvedTwice(_FluidAround):
    """Two coupled solves in a step, as ``coupled_model`` has them, with nodes among the solids.

    Elasticity is that of Newmark's scheme with both velocities: the first solve is backward Euler over dt/2, and with
    the middle (x^n + x^n+1) / 2 of what comes of it the second has (M + dt^2/4 K + dt (-D)) (v^n+1 - v^n) = dt f.
    """

    def look_ahead(self) -> Array:
        """1 to 3: v^n+1/2 of the nodes, which is kept, and of the bodies (n, 6)."""
        model, half = self.model, 0.5 * self.time_step
        flow, inside, soft, bodies = model.flow, model.inside, model.soft, model.bodies
        self._from = soft.x.copy(), bodies.x_b.copy(), bodies.q_b.copy()
        flow.emit(self.time)
        model.within.show_ahead(half)
        model.fields.refresh_velocities()
        soft.move_handles(self.time, self.time_step)
        model.solve.place()
        inside.take_form("implicit", reach=2.0)
        inside.coupled.contacts = inside.find_contacts(self.time_step)
        inside.coupled.external[...] = inside.weight
        self.model.within.set_weight(half)
        velocities = soft.v.copy(), bodies.p_b.copy(), bodies.L_b.copy()
        self._first = flow.look_ahead(half)
        self._ahead = soft.v.copy()
        ahead = model.solve.block.twists(model.solve.moved.v).copy()
        soft.v[...], bodies.p_b[...], bodies.L_b[...] = velocities
        bodies.derive_velocities()
        return ahead

    def _advance_all(self) -> None:
        """4 for the nodes, F2 and 5 to 7."""
        model, dt = self.model, self.time_step
        touching = model.inside.coupled.contacts
        model.inside.prepare(self.time, dt, self._ahead)
        conformed = self._conform(touching)
        model.within.show_ahead(0.0)
        model.inside.take_form("newmark", 0.5 * (self._from[0] + model.soft.x))
        self.model.within.set_weight(dt)
        self.report = model.flow.step_along(model.along_f, self.time, dt)
        self.report.solves[:0] = [*self._first.solves, *conformed]

    def _conform(self, touching: Contacts | None) -> list[SolveStats]:
        """F2: the velocity that transport follows, the fluid's walls being at x^n still, with the contacts there."""
        model, flow, dt = self.model, self.model.flow, self.time_step
        x, x_b, q_b = self._from
        moved = np.zeros(model.solve.block.shape)
        moved[model.solve.block.nodes] = (model.soft.x - x) / dt
        model.solve.block.twists(moved)[...] = effective_twists(model.bodies, x_b, q_b, dt)
        copy_planes(flow.state.u, model.along_f)
        # without viscosity the first solve did just that, as far as nothing has stopped solids since
        if flow.settings.viscosity > 0.0:
            flow.z_c[...] = 0.0
        solves = model.solve.conform(model.along_f, moved, flow.z_c)
        flow.finish(model.along_f)
        with in_the_place_of_u(flow, model.along_f):
            model.calm(touching, moved)
        return solves
