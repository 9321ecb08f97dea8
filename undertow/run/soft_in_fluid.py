"""Soft bodies and what touches them in a fluid: their part of a step around the solve, whatever the fluid is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from undertow.coupling.coupled_soft import CoupledSoft
from undertow.coupling.one_sided import ActiveSet, Contacts, gather, of_bodies, of_nodes
from undertow.coupling.soft_solve import SoftSolve
from undertow.coupling.solid_velocities import Bound
from undertow.errors import UserError
from undertow.fluid import FlowReport
from undertow.grid import Array
from undertow.part import ENERGY, NUMBER, SPEED, VOLUME, Limit, Part, Quantity
from undertow.rigid.bodies import RigidBodies
from undertow.run.bodies_in_fluid import BodiesInFluid
from undertow.scene import Scene, SoftBody
from undertow.soft.rings import RingRows
from undertow.solids.soft_contacts import SoftContacts
from undertow.solids.soft_part import SoftPart

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


class SoftInFluid(Part):
    """The soft bodies of a scene, and the rigid ones beside them, in a fluid whose solve is a ``SoftSolve``.

    coupled: what takes part in the solve. ``solve`` is set once the fluid has made it.
    """

    name = "soft_in_fluid"
    solve: SoftSolve

    def __init__(self, scene: Scene, solid: SoftPart, within: BodiesInFluid) -> None:
        self.scene, self.solid, self.within = scene, solid, within
        self.soft, self.bodies = solid.soft, within.bodies
        soft_solids = solid.soft_solids
        within.coupled.joints = solid.rigid.joints if scene.joints else None
        densities = [item.density for item in scene.softs.values() if isinstance(item, SoftBody)]
        self.coupled = CoupledSoft(
            self.soft, within.coupled, scene.soft.stepper, min(densities, default=np.inf),
            scene.soft.volume_recovery, Bound(soft_solids.bound, soft_solids.bone), self._rings(),
        )  # fmt: skip
        self.staggered = scene.soft.stepper == "newmark" and scene.monolithic.scheme == "one_solve"
        """Positions are those of the middles of steps."""
        self._length = solid.element_size
        self._ignore_embedded()
        self._gravity = within.gravity
        self.weight = self.soft.mass[:, None] * self._gravity
        self._previous_step = 0.0
        self._dissipated = 0.0
        solid.elastic_energy = self._measure_elastic()

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

    def limits(self, time: float) -> list[Limit]:
        """Nodes move at most one cell."""
        speed = float(np.abs(self.soft.v).sum(axis=1).max(initial=0.0))
        return [Limit("body_motion", self.within.grid.dx / speed)] if speed > 0 else []

    def prepare(self, time: float, dt: float, ahead: Array | None = None) -> None:
        """Nodes to n+1 with v^n, or velocities ahead (n, 3) of the middle of the step, and the contacts there; what
        acts on the nodes beside the fluid is their weight."""
        self.move_nodes(time, dt, ahead)
        self.coupled.contacts = self.find_contacts(dt)
        self.coupled.external[...] = self.weight

    def take_form(self, stepper: str, elastic_x: Array | None = None, reach: float = 1.0) -> None:
        """How elasticity takes part in the next solve; see ``CoupledSoft``."""
        self.coupled.stepper, self.coupled.elastic_x, self.coupled.reach = stepper, elastic_x, reach

    def count_contact(self) -> None:
        """What contact in the solve did to rigid bodies counts with what follows it."""
        touched = self.solve.block.twists(self.coupled.touched)
        self.solid.rigid.solids.count_contact(touched[:, :3], touched[:, 3:])

    def take_step(self, dt: float) -> None:
        """What a step of dt [s] did: energies, and the forces of fluid and contact on soft bodies and thin shells."""
        coupled, soft, solid = self.coupled, self.soft, self.solid
        self._dissipated += coupled.dissipated
        solid.elastic_energy = self._measure_elastic()
        pressure = coupled.pressure / dt + coupled.buoyancy
        names = list(self.scene.softs)
        for part in soft.parts:
            nodes = part.nodes
            arm = soft.x[nodes] - self._centre(part.name)
            is_soft = part.name in names
            forces = solid.soft_forces if is_soft else solid.rigid.force_table
            row = names.index(part.name) if is_soft else self.bodies.index(part.name)
            forces.pressure[row] = pressure[nodes].sum(axis=0)
            forces.viscous[row] = coupled.viscous[nodes].sum(axis=0) / dt
            forces.torque[row] = np.cross(arm, pressure[nodes] + coupled.viscous[nodes] / dt).sum(axis=0)
            if is_soft:
                forces.contact[row] = coupled.touched[nodes].sum(axis=0) / dt

    def _centre(self, name: str) -> Array:
        """Centre of mass [m]: of a soft body, or of the body that a thin shell is."""
        shell = name in self.scene.shells
        return self.bodies.x_b[self.bodies.index(name)] if shell else self.solid.body_state(name, 0.0).position

    # the pieces of the step -----------------------------------------------------------------------------------------

    def move_nodes(self, time: float, dt: float, ahead: Array | None = None) -> None:
        """Nodes to n+1 with v^n or ``ahead`` (n, 3), kept from each other; those that bodies carry are where these are.

        Collisions act on v^n; what is ahead goes along.
        """
        soft, solids = self.soft, self.solid.soft_solids
        soft.move_handles(time, dt)
        way = 0.5 * (self._previous_step + dt) if self.staggered else dt
        self._previous_step = dt
        more = 0.0 if ahead is None else np.where(soft.inv_mass[:, None] > 0.0, ahead - soft.v, 0.0)
        near = self._node_contacts(way)
        w = self._velocities()
        w[self.solve.block.nodes] += more
        rate = np.asarray(near.rows @ w.reshape(-1)).reshape(-1, 3)[:, 0]
        if np.max(near.least - rate, initial=0.0) * way > COLLIDES * self._length:
            self._collide(near, way)
        velocity = soft.v + more
        if solids.rings is not None:
            solids.rings.correct(velocity, way, None, self._stiffness(way))
        if solids.surfaces is not None:
            solids.met = solids.surfaces.resolve(soft.x, velocity, soft.v, way, solids.loose)
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
        self.solid.rigid.solids.count_contact(pushed[:, :3], pushed[:, 3:])

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
        found = [of_bodies(block, *self.solid.rigid.solids.touching(dt))]
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
        if self.staggered:
            x = x + 0.5 * self._previous_step * self.soft.v
        return self.soft.forces.measure(x, np.zeros_like(x))

    # what is reported -----------------------------------------------------------------------------------------------

    def quantities(self) -> Iterator[Quantity]:
        coupled = self.coupled
        held = 0 if coupled.contacts is None else int((coupled.contacts.impulse[:, 0] > 0.0).sum())
        yield Quantity("dissipated_energy", self._dissipated, ENERGY)
        for name, value in self.solve.pockets.quantities().items():
            yield Quantity(name, value, VOLUME if name == "enclosed_volume" else NUMBER)
        yield Quantity("contacts_held", held)
        yield Quantity("contact_passes", coupled.passes)
        yield Quantity("contact_left", self._contact_left(), SPEED, "max")

    def numbers(self) -> dict[str, Any]:
        return {"previous_step": self._previous_step, "dissipated": self._dissipated}

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        self._previous_step, self._dissipated = numbers["previous_step"], numbers["dissipated"]
        self.solid.elastic_energy = self._measure_elastic()

    def _contact_left(self) -> float:
        """Largest speed at which contacts of the solve still close, beyond what their gap allows [m/s]."""
        contacts, v = self.coupled.contacts, self.solve.moved.v
        if contacts is None or not contacts.count:
            return 0.0
        rate = np.asarray(contacts.rows @ v.reshape(-1)).reshape(-1, 3)[:, 0]
        return float(np.maximum(contacts.least - rate, 0.0).max())


class SolvedWithSoft:
    """A medium in whose solve contact has been held already."""

    def __init__(self, bodies: RigidBodies) -> None:
        self.bodies = bodies
        self.report = FlowReport()

    def mobility(self) -> tuple[Array, Array]:
        """Inverse masses and moments of the bodies alone."""
        return self.bodies.inv_mass_b.copy(), self.bodies.inv_inertia_b.copy()

    def push(self, p_b: Array, L_b: Array) -> None:
        """What still approaches is stopped; the fluid feels it in the next step, the ledger says what is left."""
        self.bodies.spec.p[...] += p_b
        self.bodies.spec.L[...] += L_b
