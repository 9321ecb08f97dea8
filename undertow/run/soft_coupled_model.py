"""Fluid and solids, some of them soft, that move each other: one solve for all (``coupling = "monolithic"``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from undertow.coupling.one_sided import ActiveSet, Contacts, gather, of_bodies, of_nodes
from undertow.coupling.pockets import PocketSmoke
from undertow.coupling.soft_fields import SoftFields
from undertow.coupling.soft_solve import CoupledSoft, SoftSolve, soft_monolithic
from undertow.coupling.solid_velocities import Bound
from undertow.errors import UserError
from undertow.fluid import Flow, FlowReport, SolidForce
from undertow.grid import GHOSTS, Array
from undertow.run import build
from undertow.run.bodies_in_fluid import NONE, BodiesInFluid
from undertow.run.coupled_model import calm_slits
from undertow.run.ledger import fluid_quantities
from undertow.run.machine import check_memory
from undertow.run.models import BodyForces, BodyState, ModelStep, WithoutExtras, take_arrays, vector
from undertow.run.soft_model import SoftModel
from undertow.run.solids_model import SolidsModel
from undertow.run.timestep import flow_limits
from undertow.scene import Scene, SoftBody
from undertow.soft.rings import RingRows
from undertow.solids import SolidsReport
from undertow.solids.soft_step import SoftContacts

if TYPE_CHECKING:
    from undertow.output import BodyFrame
    from undertow.output.soft import SoftFrame

PUSH = 0.2
"""Part of an overlap of a node that is undone per step."""

TOUCH = 0.01
"""Nodes nearer than this part of an element are taken for contacts, however slow."""

COLLIDES = 0.05
"""Nodes that would enter a solid by more than this part of an element in a step collide with it."""

MOST_RINGS = 3000
"""Nodes of incompressible bodies in a fluid."""

EMBEDDED = 0.1
"""Nodes that start deeper inside a solid than this part of an element belong there and do not collide with it."""


class SoftCoupledModel(WithoutExtras):
    """A flow and all solids in it, soft and rigid, built from a scene.

    A step is that of the rigid bodies (thesis 4.2) with all the rest in the place of their forces: rigid bodies collide
    and move with v^n; nodes move with v^n (``newmark``: to the middle of the step), soft surfaces kept from each other;
    the fluid is transported; then one solve for fluid and solids at the new positions, with joints and the contacts
    that act as its rows. Contact after it stops rigid bodies that still approach.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.grid, self.notes = build.build_grid(scene)
        check_memory(self.grid.cells, build.memory_needed(scene, self.grid))
        self.sides, side_velocity = build.build_sides(scene, self.grid)
        self.solid = SoftModel(scene)
        self.within = BodiesInFluid(scene, self.grid, self.sides, self.solid)
        self.notes += self.within.notes
        self.soft, self.bodies = self.solid.soft, self.within.bodies
        if scene.fluid.initial_vortices:
            moved = self.soft.inv_mass > 0
            self.soft.v[moved] += np.stack(build.initial_velocity(scene)(*self.soft.x[moved].T), axis=1)
        soft_solids = self.solid.soft_solids
        self.within.coupled.joints = self.solid.joints if scene.joints else None
        densities = [item.density for item in scene.softs.values() if isinstance(item, SoftBody)]
        self.coupled = CoupledSoft(
            self.soft, self.within.coupled, scene.soft.stepper, min(densities, default=np.inf),
            scene.soft.volume_recovery, Bound(soft_solids.bound, soft_solids.bone), self._rings(),
        )  # fmt: skip
        self.fields = SoftFields(self.grid, self.sides, self.within.placed, self.soft)
        self.flow = Flow(
            self.grid,
            self.sides,
            self.fields,
            build.flow_settings(scene),
            build.build_emitters(scene, self.grid),
            side_velocity,
            soft_monolithic(self.coupled),
        )
        solve = self.flow.solve
        assert isinstance(solve, SoftSolve)
        self.solve = solve
        self.held = None
        if solve.pockets.pockets and self.flow.smoke is not None:
            self.held = self.flow.held = PocketSmoke(solve.pockets, solve.rows)
        build.check_room(scene, solve.rows.stencil)
        self._length = self.solid.element_size
        self._ignore_embedded()
        self._gravity = np.array(build.vector3(scene.gravity))
        self._weight = self.soft.mass[:, None] * self._gravity
        self._forces = dict.fromkeys([*scene.bodies, *scene.softs], NONE)
        self._contact = {part.name: np.zeros(3) for part in self.soft.parts}
        self._joint_force = np.zeros((self.bodies.count, 3))
        self._previous_step = 0.0
        self._dissipated = 0.0
        self._told = False
        self._open_f = np.zeros_like(self.flow.domain.open_f)
        self._elastic = self._measure_elastic()

    def _rings(self) -> RingRows | None:
        """The rows of incompressible bodies."""
        rings = self.solid.soft_solids.rings
        if rings is None:
            return None
        if len(rings.rows.nodes) > MOST_RINGS:
            raise UserError(
                f"incompressible soft bodies of {len(rings.rows.nodes)} nodes: in fluid their rows are a dense matrix "
                f"of at most {MOST_RINGS}; raise element_size, or remove incompressible and use a poisson_ratio of 0.49"
            )
        return rings.rows

    def _ignore_embedded(self) -> None:
        """Nodes that start inside a solid, or beyond a side of the domain, belong there."""
        contacts = self.solid.soft_solids.contacts
        shape = (len(contacts.nodes), self.bodies.count)
        ignored = np.zeros(shape, dtype=np.int64)
        rows, columns = contacts.ignored.shape
        ignored[:rows, :columns] = contacts.ignored
        contacts.ignored = ignored
        deep = np.full(len(contacts.nodes), -EMBEDDED * self._length)
        # of cloth and ropes, which keep a distance from solids: those that start at or behind the surface
        thick = contacts.radius > 0.0
        deep[thick] = np.maximum(deep, 1e-9 * self._length - contacts.radius)[thick]
        for _ in range(self.bodies.count):
            contacts.find(self.soft.x, deep)
            inside = np.flatnonzero(contacts.body >= 0)
            if not len(inside):
                return
            contacts.ignored[inside, contacts.body[inside]] = 1

    def limits(self, time: float) -> dict[str, float]:
        """Of the flow and its sides; bodies and nodes move at most one cell."""
        limits = {**flow_limits(self.flow, time), **self.within.limits()}
        speed = float(np.abs(self.soft.v).sum(axis=1).max())
        if speed > 0:
            limits["body_motion"] = min(self.grid.dx / speed, limits.get("body_motion", np.inf))
        return limits

    def step(self, time: float, time_step: float) -> ModelStep:
        """See the head of the class."""
        medium = _FluidAround(self, time, time_step)
        solids = self.solid.solids.step(time, time_step, medium=medium)
        self._dissipated += self.coupled.dissipated
        self._elastic = self._measure_elastic()
        self._take_forces(time_step)
        quantities = self._quantities(medium.report, solids)
        if self.coupled.contacts is not None and self.coupled.contacts.count:
            calm_slits(self.flow, self._open_f)
        events = (*self.solid.events(solids), *self._explain_pockets())
        return ModelStep(medium.report.iterations, medium.report, quantities, events)

    def _explain_pockets(self) -> tuple[str, ...]:
        """A pocket with a net flux is explained once."""
        rows = self.solve.rows
        assert rows.stencil is not None
        text = "" if self._told else self.solve.pockets.explain(rows.stencil, self.flow.domain.periodic_axes)
        self._told = self._told or bool(text)
        return (text,) if text else ()

    # the pieces of the step -----------------------------------------------------------------------------------------

    def move_nodes(self, time: float, dt: float) -> None:
        """Nodes to n+1 with v^n, kept from each other; those that rigid bodies carry are where these are."""
        soft, solids = self.soft, self.solid.soft_solids
        soft.move_handles(time, dt)
        way = 0.5 * (self._previous_step + dt) if self.coupled.stepper == "newmark" else dt
        self._previous_step = dt
        near = self._node_contacts(way)
        rate = np.asarray(near.rows @ self._velocities().reshape(-1)).reshape(-1, 3)[:, 0]
        if np.max(near.least - rate, initial=0.0) * way > COLLIDES * self._length:
            self._collide(near, way)
        velocity = soft.v.copy()
        if solids.rings is not None:
            solids.rings.correct(velocity, way, None, self._stiffness(way))
        if solids.surfaces is not None:
            loose = soft.inv_mass.copy()
            loose[solids.bound] = 0.0
            solids.met = solids.surfaces.resolve(soft.x, velocity, soft.v, way, loose)
        self._keep_out(velocity, way)
        soft.x += way * velocity
        solids.follow()

    def _velocities(self) -> Array:
        w = np.zeros(self.solve.block.shape)
        self.solve.block.take(w)
        return w

    def _collide(self, near: Contacts, dt: float) -> None:
        """Collisions on v^n (thesis 4.2, II): nodes that would enter solids stop at them, without a rebound, and with
        them what elasticity holds in a step; the solve before did not see them come."""
        block, w = self.solve.block, self._velocities()
        block.set_masses(dt, 1.0)
        active = ActiveSet(block, near)
        active.choose(w)
        w += block.free_answer(active.friction_push())
        led = w.copy()
        block.settle(w, active.wanted)
        active.accept(led, w)
        block.give(w)
        pushed = block.twists(near.push(block.shape))
        self.solid.solids.count_contact(pushed[:, :3], pushed[:, 3:])

    def _stiffness(self, dt: float) -> Array:
        """dt^2 K of the nodes (n,) [kg], the mean of its diagonal."""
        forces = self.soft.forces
        blocks = forces.make_matrix()
        forces.assemble(self.soft.x, dt * dt, 0.0, blocks)
        return np.asarray(blocks[forces.pattern.diagonal][:, [0, 4, 8]].mean(axis=1))

    def _keep_out(self, velocity: Array, dt: float) -> None:
        """Nodes that would enter solids, which stand at n+1 already, stop at them; overlaps are undone in part.

        Positions alone: what velocities do is for the solve. It had the step before this one, which may be shorter, and
        solids that turn.
        """
        near = self._find_near(dt)
        k = np.flatnonzero((near.body >= 0) & (self.soft.inv_mass[near.nodes] > 0))
        nodes, normal, gap = near.nodes[k], near.normal[k], near.gap[k]
        wanted = -np.where(gap < 0.0, PUSH * gap, gap) / dt
        short = np.maximum(wanted - np.einsum("ki,ki->k", velocity[nodes], normal), 0.0)
        velocity[nodes] += short[:, None] * normal

    def _find_near(self, dt: float) -> SoftContacts:
        """Nodes that touch solids or could within two steps dt [s]."""
        near = self.solid.soft_solids.contacts
        fall = float(np.linalg.norm(self._gravity)) * dt
        fastest = float(np.linalg.norm(self.bodies.v_b, axis=1).max(initial=0.0)) + fall
        speed = np.linalg.norm(self.soft.v[near.nodes], axis=1)
        near.find(self.soft.x, 2.0 * dt * (speed + fastest) + TOUCH * self._length)
        return near

    def find_contacts(self, dt: float) -> Contacts:
        """Rows of what touches now, or could within a step: rigid bodies, nodes and rigid bodies, soft surfaces."""
        block, soft, solids = self.solve.block, self.soft, self.solid.soft_solids
        found = [of_bodies(block, *self.solid.solids.touching(dt))]
        found.append(self._node_contacts(dt))
        surfaces = solids.surfaces
        if surfaces is not None:
            pairs = surfaces.meeting(soft.x, dt * soft.v)
            none, arm = np.full(len(pairs.nodes), -1, np.int64), np.zeros((len(pairs.nodes), 3))
            least = -np.maximum(pairs.distance - pairs.thickness, 0.0) / dt
            found.append(of_nodes(block, pairs.nodes, pairs.weight, pairs.normal, none, arm, least, pairs.friction))
        return gather(block, found)

    def _node_contacts(self, dt: float) -> Contacts:
        """Rows of nodes near solids; they may close their gaps within dt [s]."""
        near, soft = self._find_near(dt), self.soft
        k = np.flatnonzero(near.body >= 0)
        nodes, body = near.nodes[k], near.body[k]
        least = -np.maximum(near.gap[k], 0.0) / dt
        arm = soft.x[nodes] - self.bodies.x_b[body]
        return of_nodes(
            self.solve.block, nodes[:, None], np.ones((len(k), 1)), near.normal[k], body, arm, least, near.mu()[k]
        )

    def _measure_elastic(self) -> float:
        """Elastic energy at the end of the step [J]."""
        x = self.soft.x
        if self.coupled.stepper == "newmark":
            x = x + 0.5 * self._previous_step * self.soft.v
        return self.soft.forces.measure(x, np.zeros_like(x))

    # what is reported -----------------------------------------------------------------------------------------------

    def _take_forces(self, dt: float) -> None:
        """Of the fluid on all solids; torque about the centre of mass; of contact on soft bodies."""
        coupled, soft, rigid = self.coupled, self.soft, self.within.coupled
        if self.scene.bodies:
            self._forces |= self._rigid_forces()
        buoyancy = -self.flow.settings.density * rigid.volume_b[:, None] * self._gravity
        for name, force in self.within.fluid_forces(dt).items():
            whole = vector(np.array(force.pressure) + buoyancy[self.bodies.index(name)])
            self._forces[name] = SolidForce(whole, force.viscous, force.torque)
        self._joint_force = rigid.joint_b[:, :3] / dt
        pressure = coupled.pressure / dt + coupled.buoyancy
        for part in soft.parts:
            nodes = part.nodes
            arm = soft.x[nodes] - self.state(part.name, 0.0).position
            torque = np.cross(arm, pressure[nodes] + coupled.viscous[nodes] / dt).sum(axis=0)
            self._forces[part.name] = SolidForce(
                vector(pressure[nodes].sum(axis=0)), vector(coupled.viscous[nodes].sum(axis=0) / dt), vector(torque)
            )
            self._contact[part.name] = coupled.touched[nodes].sum(axis=0) / dt

    def _rigid_forces(self) -> dict[str, SolidForce]:
        """Of the fluid on solids: what acts on the walls in cells near them, less the part on soft walls there."""
        found = self.flow.forces()
        fields, rows, grid, settings = self.fields, self.solve.rows, self.grid, self.flow.settings
        soft_volume = np.zeros(grid.padded)
        soft_volume[grid.interior] = (fields.rigid.volume_c - fields.volume_c)[grid.interior] * grid.cell_volume
        body_c = fields.body_c.reshape(-1)
        near = (rows.soft_area != 0.0).any(axis=0) | (soft_volume.reshape(-1) != 0.0)
        cell = np.flatnonzero((body_c >= 0) & near)
        soft_c = soft_volume.reshape(-1)[cell]
        on_soft = (self.flow.state.p.reshape(-1)[cell] * rows.soft_area[:, cell]).T
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

    def _quantities(self, report: FlowReport, solids: SolidsReport | None) -> dict[str, float]:
        soft, coupled = self.soft, self.coupled
        linear, angular = soft.momentum()
        row = {**fluid_quantities(self.flow, report, self._forces), **self.within.quantities(solids)}
        self._add_carried(row)
        for axis, p, L in zip("xyz", linear, angular, strict=True):
            row[f"momentum_solids_{axis}"] += float(p)
            row[f"angular_momentum_solids_{axis}"] += float(L)
        row["kinetic_energy_solids"] += soft.kinetic_energy()
        row["potential_energy_solids"] -= float((self._weight * soft.x).sum())
        held = 0 if coupled.contacts is None else int((coupled.contacts.impulse[:, 0] > 0.0).sum())
        return row | {
            "soft_elastic_energy": self._elastic,
            "soft_volume": sum(soft.volume(part) for part in soft.parts if part.closed),
            "dissipated_energy": self._dissipated,
            **self.solve.pockets.quantities(),
            **({} if self.held is None else {"smoke_restored": self.held.restored}),
            "contacts_held": float(held),
            "contact_passes": float(coupled.passes),
            "contact_left": self._contact_left(),
            "coupling_residual": self._residual(),
        }

    def _contact_left(self) -> float:
        """Largest speed at which contacts of the solve still close, beyond what their gap allows [m/s]."""
        contacts, v = self.coupled.contacts, self.solve.rows.v
        if contacts is None or not contacts.count:
            return 0.0
        rate = np.asarray(contacts.rows @ v.reshape(-1)).reshape(-1, 3)[:, 0]
        return float(np.maximum(contacts.least - rate, 0.0).max())

    def _residual(self) -> float:
        """Largest row of fluid and solids as contact leaves them [m3/s]."""
        self.solve.block.take(self.solve.rows.v)
        return self.flow.largest_row(self.flow.state.u)

    def _add_carried(self, row: dict[str, float]) -> None:
        """The fluid of the faces that shells couple, which counts as closed in the sums over the flow."""
        fields, u = self.fields, self.flow.state.u.reshape(-1)
        mass = fields.voxel_mass(self.flow.settings.density)
        if not len(mass):
            return
        axis = fields.voxel.face // int(np.prod(self.grid.padded))
        carried = u[fields.voxel.face]
        row["kinetic_energy"] += 0.5 * float((mass * carried**2).sum())
        for a, p in enumerate(np.bincount(axis, mass * carried, 3)):
            row[f"momentum_{'xyz'[a]}"] += float(p)

    def columns(self) -> list[str]:
        return list(self._quantities(FlowReport(), None))

    def state(self, name: str, time: float) -> BodyState:
        return self.solid.state(name, time)

    def forces(self, name: str) -> BodyForces:
        found = self._forces[name]
        if name in self._contact:
            return BodyForces(found.pressure, found.viscous, vector(self._contact[name]), torque=found.torque)
        solid = self.solid.forces(name)
        joint = vector(np.array(solid.joint) + self._joint_force[self.bodies.index(name)])
        return BodyForces(found.pressure, found.viscous, solid.contact, joint, found.torque, solid.torque_solids)

    def body_frames(self, time: float) -> list[BodyFrame]:
        return self.solid.body_frames(time)

    def surface_frame(self) -> None:
        """A fluid of one phase has no surface."""
        return None

    def soft_frame(self) -> SoftFrame:
        return self.solid.soft_frame()

    def arrays(self) -> dict[str, Array]:
        return {**self._own_arrays(), **SolidsModel.arrays(self.solid)}

    def _own_arrays(self) -> dict[str, Array]:
        """What evolves beside the rigid bodies."""
        rings = self.solid.soft_solids.rings
        return {**self.flow.state.arrays(), **self.soft.arrays(), **({} if rings is None else rings.arrays())}

    def scalars(self) -> dict[str, Any]:
        forces = {name: [f.pressure, f.viscous, f.torque] for name, f in self._forces.items()}
        return {
            "flow": self.flow.state.scalars(), "forces": forces, "previous_step": self._previous_step,
            "dissipated": self._dissipated, "joint_force": self._joint_force.tolist(),
            "contact": {name: list(force) for name, force in self._contact.items()},
        }  # fmt: skip

    def restore(self, arrays: Mapping[str, Array], scalars: Mapping[str, Any], time: float) -> None:
        own = self._own_arrays()
        take_arrays(own, {name: array for name, array in arrays.items() if name in own})
        SolidsModel.restore(self.solid, {name: array for name, array in arrays.items() if name not in own}, {}, time)
        self.flow.state.restore_scalars(scalars["flow"])
        for name, vectors in scalars["forces"].items():
            self._forces[name] = SolidForce(*(vector(v) for v in vectors))
        self._previous_step, self._dissipated = scalars["previous_step"], scalars["dissipated"]
        self._joint_force[...] = scalars["joint_force"]
        self._contact = {name: np.array(force) for name, force in scalars["contact"].items()}
        self._elastic = self._measure_elastic()
        self.flow.place(time)

    def locate(self, name: str, index: tuple[int, ...]) -> str:
        if name in self.flow.state.arrays():
            return build.describe_cell(self.grid, index)
        return self.solid.locate(name, index)


class _FluidAround:
    """The fluid and the soft bodies as what rigid bodies move in during one step."""

    def __init__(self, model: SoftCoupledModel, time: float, time_step: float) -> None:
        self.model, self.time, self.time_step = model, time, time_step
        self.report = FlowReport()

    def advance(self) -> None:
        """Nodes to n+1, contacts there, the flow's step: transport, then one solve for fluid and solids."""
        model, dt = self.model, self.time_step
        flow, coupled, rigid = model.flow, model.coupled, model.within.coupled
        if model.held is not None:
            model.held.look(flow.state.smoke)
        model.move_nodes(self.time, dt)
        coupled.contacts = model.find_contacts(dt)
        coupled.external[...] = model._weight
        rigid.set_weight(flow.settings.density, model._gravity, dt)
        self.report = flow.step(self.time, dt)
        model.solve.set_coupled_faces(flow.state.u)
        model.sides.fill_velocity(flow.state.u)
        touched = model.solve.block.twists(coupled.touched)
        model.solid.solids.count_contact(touched[:, :3], touched[:, 3:])

    def mobility(self) -> tuple[Array, Array]:
        """Inverse masses and moments of the bodies: contact has been solved with the fluid already."""
        bodies = self.model.bodies
        return bodies.inv_mass_b.copy(), bodies.inv_inertia_b.copy()

    def push(self, p_b: Array, L_b: Array) -> None:
        """What still approaches is stopped; the fluid feels it in the next step, the ledger says what is left."""
        bodies = self.model.bodies
        bodies.spec.p[...] += p_b
        bodies.spec.L[...] += L_b
