"""Nodes of soft bodies and shells in a fluid, and what touches them: their part of a step around the solve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from undertow.coupling.bodies_in_fluid import BodiesInFluid
from undertow.coupling.coupled_soft import CoupledSoft
from undertow.coupling.node_solids import NodeSolids
from undertow.coupling.one_sided import ContactRows, Contacts, frames, gather, of_nodes
from undertow.coupling.solid_velocities import Bound
from undertow.errors import UserError
from undertow.fluid import SolidForce
from undertow.fluid.flow import Flow
from undertow.fluid.phase import FullTank
from undertow.fluid.pressure import PressureRows
from undertow.grid import GHOSTS, Array
from undertow.part import ENERGY, MOMENTUM, NUMBER, SPEED, VOLUME, Limit, Part, Quantity, components, vector
from undertow.rigid.bodies import DYNAMIC
from undertow.soft.collision import Stencils
from undertow.soft.rings import RingRows
from undertow.solids.contact_record import ContactSet, join_contacts, name_array, no_contacts
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


class FacePoints(NamedTuple):
    """Places on soft faces, nodes (k, 3) with weights (k, 3) of sum 1, at points of rigid bodies (k,) that are ``arm``
    (k, 3) [m] from their centres of mass; normals (k, 3) out of the bodies, gap (k,) [m], friction (k,)."""

    nodes: Any
    weight: Array
    normal: Array
    body: Any
    arm: Array
    gap: Array
    friction: Array


def no_points() -> FacePoints:
    """None."""
    none, ids = np.zeros((0, 3)), np.zeros((0, 3), np.int64)
    return FacePoints(ids, none, none, ids[:, 0], none, none[:, 0], none[:, 0])


@dataclass(frozen=True)
class NodeSettings:
    """stepper: ``implicit`` or ``newmark``. density: of the lightest soft body [kg/m3]. volume_recovery: shortest time
    over which closed shells regain the volume that they enclose [s]."""

    stepper: str
    density: float
    volume_recovery: float


class NodesInFluid(Part):
    """Soft bodies, cloth, ropes and thin rigid shells, and the rigid bodies beside them, in a fluid whose solve is a
    ``CoupledProjection``.

    coupled: what takes part in the solve. ``solids``: their block of it, and ``rows`` of the pressure, are set once the
    fluid has made them.
    """

    name = "nodes_in_fluid"
    solids: NodeSolids
    rows: PressureRows

    def __init__(self, bodies: BodiesInFluid, part: SoftPart, settings: NodeSettings) -> None:
        self.within, self.part, self.rigid = bodies, part, bodies.rigid
        self.soft, self.bodies = part.soft, bodies.bodies
        soft_solids = part.soft_solids
        self.coupled = CoupledSoft(
            self.soft, bodies.coupled, settings.stepper, settings.density, settings.volume_recovery,
            Bound(soft_solids.bound, soft_solids.bone), self._rings(),
        )  # fmt: skip
        self._length = part.element_size
        self._ignore_embedded()
        self._gravity = bodies.gravity
        self.weight = self.soft.mass[:, None] * self._gravity
        self._dissipated = 0.0
        self._said = False
        self._carried: list[Quantity] = []
        self._collided = no_contacts()
        """What collided with v^n in the last step."""
        self._pairs: Stencils | None = None
        """Soft surfaces that could meet in it."""
        self._points = no_points()
        """Points of rigid bodies on soft faces in it."""
        part.elastic_energy = self._measure_elastic()

    def _rings(self) -> RingRows | None:
        """The rows of incompressible bodies."""
        rings = self.part.soft_solids.rings
        if rings is None:
            return None
        if len(rings.rows.nodes) > MOST_RINGS:
            raise UserError(
                f"incompressible soft bodies of {len(rings.rows.nodes)} nodes: in fluid their rows are a dense matrix "
                f"of at most {MOST_RINGS}; raise element_size, or remove incompressible and use a poisson_ratio of 0.49"
            )
        return rings.rows

    def _ignore_embedded(self) -> None:
        """Nodes that start inside a solid of the scene, or beyond a side of the domain, belong there."""
        contacts = self.part.soft_solids.contacts
        shape = (len(contacts.nodes), self.bodies.count)
        ignored = np.zeros(shape, dtype=np.int64)
        rows, columns = contacts.ignored.shape
        ignored[:rows, :columns] = contacts.ignored
        contacts.ignored, before = ignored, ignored.copy()
        deep = np.full(len(contacts.nodes), -EMBEDDED * self._length)
        # of cloth and ropes, which keep a distance from solids: those that start at or behind the surface
        thick = contacts.radius > 0.0
        deep[thick] = np.maximum(deep, 1e-9 * self._length - contacts.radius)[thick]
        for _ in range(self.bodies.count):
            contacts.find(self.soft.x, deep)
            inside = np.flatnonzero(contacts.body >= 0)
            if not len(inside):
                break
            contacts.ignored[inside, contacts.body[inside]] = 1
        made = np.isin(self.bodies.identity_b, [entry.identity for entry in self.rigid.table.made])
        contacts.ignored[:, made] = before[:, made]
        points = self.part.soft_solids.touches.points
        if points is not None:
            own, body = np.nonzero(contacts.ignored)
            points.ignored = set(zip(contacts.nodes[own].tolist(), body.tolist(), strict=True))

    def limits(self, time: float) -> list[Limit]:
        """Nodes move at most one cell."""
        speed = float(np.abs(self.soft.v).sum(axis=1).max(initial=0.0))
        return [Limit("body_motion", self.within.grid.dx / speed)] if speed > 0 else []

    def pull(self, gravity: Array) -> None:
        np.multiply(self.soft.mass[:, None], gravity, out=self.weight)

    def begin_step(self, time: float, dt: float) -> None:
        """Loads of the step from ``time`` by dt [s]."""
        self.part.begin_step(time, dt)
        self._collided = no_contacts()

    def move(self, time: float, dt: float) -> None:
        """Nodes to n+1 with their velocities."""
        self._move_nodes(time, dt, None)

    def kick(self, until: float, time: float, kick: float, moved: float, dt: float) -> None:
        """Before the solve of a kick [s] with everything at ``time`` [s]: contacts, weight, and loads up to ``until``
        [s]; moved, dt: the drifts before and after it [s]."""
        self.part.loads.act(until, kick, moved or dt)
        ahead = dt or moved
        self.soft.move_handles(time, ahead)
        self.coupled.drifts, self.coupled.reach = (moved, dt), ahead / kick
        # a kick that no drift follows has the elasticity of the middle of the one before
        middle = self.coupled.stepper == "newmark" and dt == 0.0
        self.coupled.elastic_x = self.soft.x - 0.5 * moved * self.soft.v if middle else None
        self._see(ahead)

    def _see(self, dt: float) -> None:
        """Contacts of the next dt [s], and what acts on the nodes beside the fluid: their weight and their loads."""
        self.coupled.contacts = self.find_contacts(dt)
        self.coupled.external[...] = self.weight + self.part.loads.mean

    # two solves in a step -------------------------------------------------------------------------------------------

    def begin_prediction(self, time: float, dt: float) -> None:
        """Before a solve over dt/2 [s] for v^n+1/2 with everything at x^n: elasticity by backward Euler, contacts of
        the whole step."""
        soft, coupled = self.soft, self.coupled
        self._start = soft.x.copy(), soft.v.copy()
        soft.move_handles(time, dt)
        coupled.stepper, coupled.elastic_x, coupled.reach = "implicit", None, 2.0
        self._see(dt)

    def end_prediction(self) -> None:
        """Keep v^n+1/2 and go back to v^n."""
        self._half = self.soft.v.copy()
        self.soft.v[...] = self._start[1]

    def move_with_half(self, time: float, dt: float) -> None:
        """As ``move``, with the v^n+1/2 of the prediction."""
        self._move_nodes(time, dt, self._half)
        self._see(dt)

    def take_middle(self) -> None:
        """The solve that follows has the elasticity of Newmark's scheme about the middle of the step."""
        coupled = self.coupled
        coupled.stepper, coupled.elastic_x, coupled.reach = "newmark", 0.5 * (self._start[0] + self.soft.x), 1.0

    # what a step did --------------------------------------------------------------------------------------------------

    def count_contact(self) -> None:
        """What contact in the solve did to rigid bodies counts with what follows it."""
        touched = self.solids.block.twists(self.coupled.touched)
        self.rigid.solids.count_contact(touched[:, :3], touched[:, 3:])

    def end_step(self, dt: float) -> None:
        """What a step of dt [s] did: energies, and the forces of fluid and contact on soft bodies and thin shells."""
        coupled, soft, part = self.coupled, self.soft, self.part
        self._dissipated += coupled.dissipated
        part.elastic_energy = self._measure_elastic()
        pressure = coupled.pressure / dt + coupled.buoyancy
        part.led_work = self._work_of_led()
        part.take_acting(pressure + coupled.viscous / dt + coupled.external)
        names = part.body_names()
        for one in soft.parts:
            nodes = one.nodes
            is_soft = one.name in names
            centre = part.body_state(one.name, 0.0).position if is_soft else self.bodies.x_b[self._body(one.name)]
            arm = soft.x[nodes] - centre
            forces = part.soft_forces if is_soft else self.rigid.force_table
            row = names.index(one.name) if is_soft else self._body(one.name)
            forces.pressure[row] = pressure[nodes].sum(axis=0)
            forces.viscous[row] = coupled.viscous[nodes].sum(axis=0) / dt
            forces.torque[row] = np.cross(arm, pressure[nodes] + coupled.viscous[nodes] / dt).sum(axis=0)
            if is_soft:
                forces.contact[row] = coupled.touched[nodes].sum(axis=0) / dt
        soft_forces, outside = part.soft_forces, [coupled.external[one.nodes].sum(axis=0) for one in part.soft_parts]
        of_fluid = soft_forces.pressure + soft_forces.viscous
        part.balance_reactions(of_fluid + np.array(outside).reshape(-1, 3), dt)

    def _work_of_led(self) -> float:
        """Work [J] on nodes of the bodies that they touch and that move as prescribed, by the last solve."""
        contacts, near, bodies = self.coupled.contacts, self.part.soft_solids.contacts, self.bodies
        k = np.flatnonzero(near.body >= 0)
        b, led = near.body[k], bodies.kind_b[near.body[k]] != DYNAMIC
        if contacts is None or not led.any():
            return 0.0
        given = np.einsum("kc,kci->ki", contacts.impulse[: len(k)], frames(near.normal[k]))
        speed = bodies.v_b[b] + np.cross(bodies.omega_b[b], self.soft.x[near.nodes[k]] - bodies.x_b[b])
        return float((given * speed)[led].sum())

    def _body(self, name: str) -> int:
        return self.bodies.index(name)

    def measure_carried(self, u_f: Array) -> None:
        """Motion of the fluid that shells carry, which counts as closed in the sums over a full tank."""
        if isinstance(self.solids.phase, FullTank):
            face = self.solids.fields.voxel.face
            mass, u = self.solids.walls.carried_mass(), u_f.reshape(-1)[face]
            axis = face // self.within.grid.size
            self._carried = [
                Quantity("kinetic_energy", 0.5 * float((mass * u**2).sum()), ENERGY),
                *components("momentum", np.bincount(axis, mass * u, 3), MOMENTUM),
            ]

    def events(self) -> tuple[str, ...]:
        """An enclosed region with a net flux is explained once."""
        rows, pockets = self.rows, self.solids.pockets
        text = "" if self._said else pockets.explain(rows.stencil, self.rows.domain.periodic_axes)
        self._said = self._said or bool(text)
        return (text,) if text else ()

    @property
    def touching(self) -> bool:
        """Whether solids touch, or could within a step."""
        contacts = self.coupled.contacts
        return contacts is not None and contacts.count > 0

    def take_off_soft_walls(self, flow: Flow, found: dict[str, SolidForce]) -> None:
        """Forces of the fluid on solids are those on the walls in cells near them: take off the part on soft walls."""
        if not found:
            return
        fields, walls, grid = self.solids.fields, self.solids.walls, self.within.grid
        soft_volume = np.zeros(grid.padded)
        soft_volume[grid.interior] = (fields.rigid.volume_c - fields.volume_c)[grid.interior] * grid.cell_volume
        body_c = fields.body_c.reshape(-1)
        near = (walls.soft_area != 0.0).any(axis=0) | (soft_volume.reshape(-1) != 0.0)
        cell = np.flatnonzero((body_c >= 0) & near)
        stencil, at_rest = flow.solve.rows.stencil, flow.at_rest
        assert at_rest is not None and stencil is not None
        soft_c = soft_volume.reshape(-1)[cell]
        on_soft = (at_rest.beside(stencil, flow.state.p).reshape(-1)[cell] * walls.soft_area[:, cell]).T
        index = grid.index(cell) - GHOSTS
        place = np.array(grid.lower) + (index + 0.5) * grid.dx
        for b, solid in enumerate(fields.solids):
            if self.within.dynamic_b[b]:
                continue
            here = body_c[cell] == b
            arm = fields.arms(place[here], fields.spec.position[b])
            force = found[solid.name]
            # the volume that soft bodies take there counted for the buoyancy of a tank, and for the drag of turning
            slides = solid.slip or self.solids.phase.strains
            counted = soft_c[here] * at_rest.by_cells_b[b]
            taken = on_soft[here] + counted[:, None] * self.solids.phase.lift
            turned = 0.0 if slides else 2.0 * self.solids.viscosity * counted.sum() * fields.angular_velocity(b)
            pressure = np.array(force.pressure) - taken.sum(axis=0)
            torque = np.array(force.torque) - np.cross(arm, taken).sum(axis=0) + turned
            found[solid.name] = SolidForce(vector(pressure), force.viscous, vector(torque))

    # the pieces of the step -----------------------------------------------------------------------------------------

    def _move_nodes(self, time: float, dt: float, half: Array | None) -> None:
        """Nodes to n+1 with v or ``half`` (n, 3), kept from each other; those that bodies carry are where these are.

        Collisions act on v^n; v^n+1/2 goes along.
        """
        soft, solids = self.soft, self.part.soft_solids
        soft.move_handles(time, dt)
        more = 0.0 if half is None else np.where(soft.moves, half - soft.v, 0.0)
        near = self._node_contacts(dt)
        w = self._velocities()
        w[self.solids.block.nodes] += more
        rate = np.asarray(near.rows @ w.reshape(-1)).reshape(-1, 3)[:, 0]
        if np.max(near.least - rate, initial=0.0) * dt > COLLIDES * self._length:
            self._collide(near, dt)
        velocity = soft.v + more
        if solids.rings is not None:
            solids.rings.correct(velocity, dt, None, self._stiffness(dt))
        if solids.surfaces is not None:
            solids.met = solids.surfaces.resolve(soft.x, velocity, soft.v, dt, solids.loose)
        self._keep_out(velocity, dt)
        soft.x += dt * velocity
        solids.follow()

    def _velocities(self) -> Array:
        w = np.zeros(self.solids.block.shape)
        self.solids.block.take(w)
        return w

    def _collide(self, near: Contacts, dt: float) -> None:
        """Collisions on v^n (thesis 4.2, II): nodes that would enter solids stop at them, without a rebound, and with
        them what elasticity holds in a step; the solve before did not see them come."""
        block, w = self.solids.block, self._velocities()
        block.join(near.bodies(block))
        block.set_masses(dt, 1.0)
        active = ContactRows(block, near)
        active.choose(w)
        w += block.free_answer(active.friction_push())
        led = w.copy()
        block.settle(w, active.wanted)
        active.accept(led, w)
        self._collided = self._touched(near.impulse)
        block.give(w)
        pushed = block.twists(near.push(block.shape))
        self.rigid.solids.count_contact(pushed[:, :3], pushed[:, 3:])

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
        near, free = self._find_near(dt), (self.soft.inv_mass > 0.0) & ~self.soft.slides
        k = np.flatnonzero((near.body >= 0) & free[near.nodes])
        nodes, normal, gap = near.nodes[k], near.normal[k], near.gap[k]
        wanted = -np.where(gap < 0.0, PUSH * gap, gap) / dt
        short = np.maximum(wanted - np.einsum("ki,ki->k", velocity[nodes], normal), 0.0)
        velocity[nodes] += short[:, None] * normal
        self._keep_out_points(velocity, dt)

    def _keep_out_points(self, velocity: Array, dt: float) -> None:
        """As ``_keep_out``, of faces that points of solids would enter, one after another."""
        found = self._find_points(dt, velocity, np.zeros((self.bodies.count, 6)))
        wanted = -np.where(found.gap < 0.0, PUSH * found.gap, found.gap) / dt
        loose = found.weight * ((self.soft.inv_mass > 0.0) & ~self.soft.slides)[found.nodes]
        square = (loose * loose).sum(axis=1)
        for i in np.flatnonzero(square > 0.0):
            normal, nodes = found.normal[i], found.nodes[i]
            short = max(wanted[i] - float(found.weight[i] @ velocity[nodes] @ normal), 0.0) / square[i]
            np.add.at(velocity, nodes, short * loose[i, :, None] * normal)

    def _find_near(self, dt: float) -> SoftContacts:
        """Nodes that touch solids or could within two steps dt [s]."""
        near = self.part.soft_solids.contacts
        fall = float(np.linalg.norm(self._gravity)) * dt
        fastest = float(np.linalg.norm(self.bodies.v_b, axis=1).max(initial=0.0)) + fall
        speed = np.linalg.norm(self.soft.v[near.nodes], axis=1)
        near.find(self.soft.x, 2.0 * dt * (speed + fastest) + TOUCH * self._length)
        return near

    def find_contacts(self, dt: float) -> Contacts:
        """Rows of what touches now, or could within a step: nodes and rigid bodies, soft surfaces. The rigid bodies
        among them are unknowns with the nodes from now on."""
        block, soft, solids = self.solids.block, self.soft, self.part.soft_solids
        found = [self._node_contacts(dt), self._point_contacts(dt)]
        surfaces = solids.surfaces
        if surfaces is not None:
            pairs = self._pairs = surfaces.meeting(soft.x, dt * soft.v)
            none, arm = np.full(len(pairs.nodes), -1, np.int64), np.zeros((len(pairs.nodes), 3))
            least = -np.maximum(pairs.distance - pairs.thickness, 0.0) / dt
            found.append(of_nodes(block, pairs.nodes, pairs.weight, pairs.normal, none, arm, least, pairs.friction))
        block.join(np.union1d(found[0].bodies(block), found[1].bodies(block)))
        return gather(block, found)

    def _point_contacts(self, dt: float) -> Contacts:
        """Rows of points of rigid bodies on soft faces, or that could meet these within dt [s]: corners, and bodies
        that fit between the nodes (``solids.points``)."""
        twist = np.concatenate([self.bodies.v_b, self.bodies.omega_b], axis=1)
        found = self._points = self._find_points(dt, self.soft.v, twist)
        least = -np.maximum(found.gap, 0.0) / dt
        return of_nodes(
            self.solids.block, found.nodes, found.weight, found.normal, found.body, found.arm, least, found.friction
        )

    def _find_points(self, dt: float, v: Array, twist: Array) -> FacePoints:
        """Points of bodies that move with twist (m, 6) on faces whose nodes move with v (n, 3)."""
        points = self.part.soft_solids.touches.points
        if points is None:
            return no_points()
        fastest = np.linalg.norm(v, axis=1).max(initial=0.0)
        fastest += np.linalg.norm(self.bodies.v_b, axis=1).max(initial=0.0) + dt * np.linalg.norm(self._gravity)
        points.gather(2.0 * dt * float(fastest) + TOUCH * self._length)
        if not points.near:
            return no_points()
        part, body, arm = points.meeting(dt, v, twist)
        gap = points.release(part, body, arm) - part.thickness
        return FacePoints(part.nodes[:, 1:], -part.weight[:, 1:], -part.normal, body, arm, gap, part.friction)

    def contact_set(self) -> ContactSet:
        """Contacts of soft bodies, with rigid ones and with each other, in the last step."""
        contacts = self.coupled.contacts
        if contacts is None:
            return self._collided
        found = [self._collided, self._touched(contacts.impulse)]
        found.append(self._touched_points(contacts.impulse))
        pairs, count = self._pairs, len(found[1].gap) + len(found[2].gap)
        if pairs is not None and len(pairs.nodes):
            nodes, weight = pairs.nodes, pairs.weight
            first, second = (np.take_along_axis(nodes, np.argmax(sign * weight, axis=1)[:, None], 1)[:, 0]
                             for sign in (1.0, -1.0))  # fmt: skip
            impulse = np.einsum("kc,kci->ki", contacts.impulse[count:], frames(pairs.normal))
            point = 0.5 * np.einsum("ma,mai->mi", np.abs(weight), self.soft.x[nodes])
            gap = pairs.distance - pairs.thickness
            found.append(ContactSet(self._names_of(first), self._names_of(second), point, pairs.normal, impulse, gap))
        return join_contacts(found)

    def _touched(self, impulse: Array) -> ContactSet:
        """Nodes near rigid bodies, with impulses (k, 3) [N s] in the frames of the first contacts."""
        near = self.part.soft_solids.contacts
        k = np.flatnonzero(near.body >= 0)
        nodes, normal = near.nodes[k], near.normal[k].copy()
        given = np.einsum("kc,kci->ki", impulse[: len(k)], frames(normal))
        point = self.soft.x[nodes] - (near.radius[k] + 0.5 * near.gap[k])[:, None] * normal
        bodies = name_array(self.bodies.names, near.body[k])
        return ContactSet(self._names_of(nodes), bodies, point, normal, given, near.gap[k].copy())

    def _touched_points(self, impulse: Array) -> ContactSet:
        """Soft faces at points of rigid bodies, whose impulses follow those of the nodes."""
        found, first = self._points, int((self.part.soft_solids.contacts.body >= 0).sum())
        given = np.einsum("kc,kci->ki", impulse[first : first + len(found.gap)], frames(found.normal))
        point = self.bodies.x_b[found.body] + found.arm
        bodies = name_array(self.bodies.names, found.body)
        return ContactSet(self._names_of(found.nodes[:, 0]), bodies, point, found.normal, given, found.gap)

    def _names_of(self, nodes: Any) -> Any:
        """Names (k,) of the bodies that nodes (k,) belong to."""
        first = np.array([part.first for part in self.soft.parts])
        return name_array([part.name for part in self.soft.parts], np.searchsorted(first, nodes, side="right") - 1)

    def _node_contacts(self, dt: float) -> Contacts:
        """Rows of nodes near solids; they may close their gaps within dt [s]."""
        near, soft = self._find_near(dt), self.soft
        k = np.flatnonzero(near.body >= 0)
        nodes, body = near.nodes[k], near.body[k]
        least = -np.maximum(near.gap[k], 0.0) / dt
        arm = soft.x[nodes] - self.bodies.x_b[body]
        return of_nodes(
            self.solids.block, nodes[:, None], np.ones((len(k), 1)), near.normal[k], body, arm, least, near.mu()[k]
        )

    def _measure_elastic(self) -> float:
        """Elastic energy at the end of the step [J]."""
        x = self.soft.x
        return self.soft.forces.measure(x, np.zeros_like(x))

    # what is reported -----------------------------------------------------------------------------------------------

    def quantities(self) -> Iterator[Quantity]:
        coupled = self.coupled
        yield from self._carried
        held = 0 if coupled.contacts is None else int((coupled.contacts.impulse[:, 0] > 0.0).sum())
        yield Quantity("dissipated_energy", self._dissipated, ENERGY)
        for name, value in self.solids.pockets.quantities().items():
            yield Quantity(name, value, VOLUME if name == "enclosed_volume" else NUMBER)
        yield Quantity("contacts_held", held)
        yield Quantity("contact_passes", coupled.passes)
        yield Quantity("contact_left", self._contact_left(), SPEED, "max")

    def numbers(self) -> dict[str, Any]:
        return {"dissipated": self._dissipated}

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        self._dissipated = numbers["dissipated"]
        self.part.elastic_energy = self._measure_elastic()

    def _contact_left(self) -> float:
        """Largest speed at which contacts of the solve still close, beyond what their gap allows [m/s]."""
        contacts, v = self.coupled.contacts, self.solids.walls.v
        if contacts is None or not contacts.count:
            return 0.0
        rate = np.asarray(contacts.rows @ v.reshape(-1)).reshape(-1, 3)[:, 0]
        return float(np.maximum(contacts.least - rate, 0.0).max())
