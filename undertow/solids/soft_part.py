"""The soft bodies, cloth and ropes of a simulation as a part of it, beside its rigid bodies.

In fluid thin rigid shells have nodes too, for the fluid to see: their bodies carry them, and all of their mass.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from undertow.errors import UserError
from undertow.frames import BodyFrame, SoftFrame
from undertow.geometry.sheets import thicken
from undertow.grid import Array
from undertow.part import (
    ANGULAR_MOMENTUM,
    ENERGY,
    LENGTH,
    MOMENTUM,
    VOLUME,
    BodyForces,
    BodyState,
    ForceTable,
    Limit,
    Nodes,
    Part,
    Push,
    Quantity,
    Vector,
    components,
    restore_arrays,
    vector,
)
from undertow.rigid.bodies import DYNAMIC
from undertow.rigid.inheritance import NodesOn
from undertow.rigid.table import CarriedNodes
from undertow.soft import SoftBodies, SoftMesh, meshes
from undertow.soft.collision import SurfaceCollisions
from undertow.soft.embedding import Embedding
from undertow.soft.outlines import OutlineCollisions
from undertow.soft.ring_system import RingSystem
from undertow.soft.rings import RingProjection
from undertow.soft.tearing import TearLimit
from undertow.solids.contact_record import ContactSet
from undertow.solids.energy import Balance, BodiesOnTheirWay, work_of_holds
from undertow.solids.loads import NEXT_STEP, Applied, NewLoad, NodeLoads
from undertow.solids.points import RigidPoints
from undertow.solids.rigid_part import RigidPart
from undertow.solids.soft_contacts import SoftContacts
from undertow.solids.soft_stages import SoftStepReport
from undertow.solids.soft_step import SoftSolids

PER_NODE = {
    "soft_x", "soft_v", "soft_acceleration", "soft_load", "soft_load_owed", "soft_acting",
    "soft_ring_positions", "soft_ring_velocities",
}  # fmt: skip
"""Arrays of the state with a row per node."""

BY_MASS = {"soft_load", "soft_load_owed", "soft_acting"}
"""Those of them that nodes share by their masses when they were one node before it tore."""

PER_CONTACT = {"soft_contact_state", "soft_contact_press"}
"""Arrays with a row per node that can touch rigid bodies."""


@dataclass(frozen=True)
class SoftLook:
    """What is given of one soft body beside its mesh.

    kind: a rope may be a closed ring. thickness [m]: of cloth and ropes. element_size [m]: None for the mean length of
    the edges. convex: it does not come near itself. surface: its own, carried by the elements and drawn in the place of
    theirs. tear: above which limit it tears, None: never.
    """

    kind: Literal["solid", "cloth", "rope", "ring"]
    color: Vector
    friction: float
    thickness: float = 0.0
    element_size: float | None = None
    incompressible: bool = False
    convex: bool = False
    surface: Embedding | None = None
    tear: TearLimit | None = None


@dataclass(frozen=True)
class Holding:
    """Nodes (k,) that something holds: along ``axes`` of the world, or a rigid body, None."""

    nodes: Any
    axes: tuple[bool, bool, bool] | None = None


def held_axes(holds: Sequence[Holding]) -> Any:
    """Along which axes each of them (k, 3) holds."""
    return np.array([hold.axes or (True, True, True) for hold in holds], dtype=bool).reshape(-1, 3)


@dataclass
class SoftNodes:
    """The nodes of a simulation before it has rigid bodies: soft bodies with their looks, then thin rigid shells.

    attached: by name of a rigid body the nodes (k,) that move with it. heavier: the bodies whose mass they are parts
    of; in fluid there are none, and nodes weigh on their bodies in the solve of all solids. at: points (k, 3) [m] of
    those of a body that became a piece of another one, where it did; the others are where they start. inside: by body
    the nodes that do not touch it. loads: by soft body; holds: by soft body what holds its nodes.
    """

    soft: SoftBodies
    looks: dict[str, SoftLook] = field(default_factory=dict)
    attached: dict[str, Any] = field(default_factory=dict)
    at: dict[str, Array] = field(default_factory=dict)
    inside: dict[str, Any] = field(default_factory=dict)
    heavier: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    loads: list[tuple[str, NewLoad]] = field(default_factory=list)
    holds: dict[str, list[Holding]] = field(default_factory=dict)

    def attach(self, where: str, body: str, nodes: Any) -> None:
        """Nodes (k,) move with a rigid body; ``where``: the object that says so. A node has one body."""
        own = np.union1d(self.attached.get(body, np.zeros(0, dtype=np.int64)), nodes)
        for other, taken in self.attached.items():
            if other != body and len(np.intersect1d(taken, own)):
                raise UserError(
                    f"{where}: nodes lie inside the holds of both {other!r} and {body!r}; a node moves with one body: "
                    f"make the holds smaller"
                )
        self.attached[body] = own

    def carry(self, body: str, pose: tuple[Array, Array], carried: Sequence[CarriedNodes]) -> None:
        """Nodes move with a piece of a body that broke, which appeared in a pose."""
        position, R = pose
        meshes_of = [(self.soft.part(one.soft), one) for one in carried]
        nodes = [mesh.first + np.array(one.nodes, dtype=np.int64) for mesh, one in meshes_of]
        points = [np.array(one.points).reshape(-1, 3) @ R.T + position for one in carried]
        inside = [mesh.first + np.array(one.inside, dtype=np.int64) for mesh, one in meshes_of]
        own = np.concatenate(nodes)
        order = np.argsort(own)
        self.inside[body] = np.concatenate(inside)
        if len(own):
            self.attach(f"objects.{body}", body, own)
            self.at[body] = np.concatenate(points)[order]

    def let_go(self, bodies: Iterable[str]) -> None:
        """Nodes attached to bodies that have been removed are as free as the others."""
        for body in bodies:
            self.attached.pop(body, None)

    def add_shell(self, name: str, x: Array, elements: Any, sizes: Array) -> None:
        """Nodes x (n, 3) [m] of a thin rigid shell, all of them attached to it; sizes (m,): volumes of its elements
        [m3; 2D m2], by which its mass is shared among them."""
        elements = np.asarray(elements, dtype=np.int64)
        corners = elements.shape[1]
        mass = np.asarray(np.bincount(elements.ravel(), np.repeat(sizes / corners, corners)), dtype=float)
        mesh = self.soft.add(name, x, mass, [], elements, elements)
        own = np.arange(mesh.first, mesh.stop)
        self.attached[name] = np.union1d(self.attached.get(name, own), own)

    def carried_by(self, body: str) -> tuple[Array, Array]:
        """Points (k, 3) [m] and masses (k,) [kg] that are parts of a rigid body's mass."""
        none = np.zeros(0, dtype=np.int64)
        nodes = self.attached.get(body, none) if body in self.heavier else none
        return self._points_of(body, nodes), self.soft.mass[nodes]

    def points(self) -> Array:
        """Where all nodes that are attached are on their bodies (k, 3) [m], in the order of these."""
        return np.concatenate([self._points_of(body, nodes) for body, nodes in self.attached.items()])

    def _points_of(self, body: str, nodes: Any) -> Array:
        return self.at[body] if body in self.at and len(nodes) else np.asarray(self.soft.x[nodes])


@dataclass(frozen=True)
class SoftSettings:
    """What can be chosen of the soft bodies' step.

    gravity (3,) [m/s2]; stepper: implicit, linearised, newmark or leapfrog; tolerance of the implicit ones;
    volume_recovery, volume_solve: of incompressible bodies, see ``soft.rings`` and ``soft.ring_system``; collisions: of
    soft surfaces with each other.
    """

    gravity: Vector
    stepper: str
    tolerance: float
    volume_recovery: float
    volume_solve: str
    collisions: bool


class SoftPart(Part):
    """Soft bodies, what they touch, and what their step needs.

    rigid: the rigid bodies beside them. soft: all nodes, ``soft_parts`` those of soft bodies and ``shell_parts`` those
    of thin rigid shells. soft_solids: their contacts and solves.
    """

    name = "soft"

    def __init__(self, rigid: RigidPart, nodes: SoftNodes, settings: SoftSettings) -> None:
        soft, self.rigid, self.looks = nodes.soft, rigid, nodes.looks
        self.soft = soft
        self.soft_parts: list[SoftMesh] = soft.parts[: len(self.looks)]
        """Those that are soft."""
        self.shell_parts: list[SoftMesh] = soft.parts[len(self.looks) :]
        """Those that are thin rigid shells."""
        self.notes = list(nodes.notes)
        self.loads = NodeLoads(soft)
        for name, load in nodes.loads:
            self.loads.add(soft.part(name), load)
        self.lumped_mass: Array = soft.mass.copy()
        """Masses of all nodes (n,), of those too that have become parts of rigid bodies."""
        for body, own in nodes.attached.items():
            if body in nodes.heavier:
                soft.mass[own] = soft.inv_mass[own] = 0.0
        for part in self.shell_parts:
            soft.mass[part.nodes] = soft.inv_mass[part.nodes] = 0.0
        self.element_size = min(self._element_size(part) for part in self.soft_parts or self.shell_parts)
        """Of the body with the smallest elements [m]."""
        contacts = self._make_contacts()
        self.soft_solids = SoftSolids(
            soft,
            contacts,
            settings.stepper,
            self.element_size,
            settings.tolerance,
            self._make_rings(settings.volume_recovery, settings.volume_solve, settings.stepper),
            self._make_surfaces() if settings.collisions else None,
            self._make_points(self.element_size),
        )
        if nodes.attached:
            of = nodes.attached.items()
            body_of = np.concatenate([np.full(len(own), rigid.bodies.index(body)) for body, own in of])
            self.soft_solids.bind(np.concatenate(list(nodes.attached.values())), body_of, nodes.points())
            # where nodes have gone over to pieces this is no start, and the state that is taken over places them
            if not nodes.at and (not rigid.in_fluid or self.shell_parts):
                self.soft_solids.follow()
        for body, own in nodes.inside.items():
            self.soft_solids.leave_out(own, rigid.bodies.index(body))
        self.gravity: Array = np.array(settings.gravity)
        self.weight: Array = soft.mass[:, None] * self.gravity
        """Of the nodes (n, 3) [N]."""
        self.acting: Array = np.zeros((soft.count, 3))
        """Force from outside on the nodes over the last step (n, 3) [N]."""
        self._acted: Array = np.zeros((soft.count, 3))
        self.led_work = 0.0
        """Work in the last step [J] of bodies that move as prescribed and touch nodes."""
        self._balance, self._begun = Balance(soft.kinetic_energy()), (soft.x, soft.v)
        self._on_their_way = BodiesOnTheirWay(rigid.bodies)
        self.soft_forces = ForceTable(len(self.looks))
        self.reaction: Array = np.zeros((len(self.looks), 3))
        """Mean force (m, 3) [N] over the last step of what holds nodes of the bodies."""
        self.holds = {name: nodes.holds.get(name, []) for name in self.looks}
        self.hold_force: Array = np.zeros((sum(map(len, self.holds.values())), 3))
        """The same of every hold, body after body, 0 where what is known of the step does not tell holds apart."""
        self.soft_report, self.elastic_energy = SoftStepReport(), soft.forces.measure(soft.x, np.zeros_like(soft.x))
        self._stable = soft.stable_step() if settings.stepper in ("newmark", "leapfrog") else math.inf
        if self.soft_parts:
            count = sum(len(part.cells) for part in self.soft_parts)
            self.notes.append(f"soft bodies: {self.soft_parts[-1].stop} nodes, {count} elements")

    def _element_size(self, part: SoftMesh) -> float:
        """Size of the elements of a body [m]: as given, or the mean length of their edges."""
        look = self.looks.get(part.name)
        if look is not None and look.element_size is not None:
            return look.element_size
        ends = self.soft.rest[meshes.edges_of(part.cells)]
        return float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).mean())

    def _make_contacts(self) -> SoftContacts:
        """Nodes of soft surfaces and the rigid bodies that they may touch."""
        nodes, radius, friction = [np.zeros(0, dtype=np.int64)], [np.zeros(0)], [np.zeros(0)]
        for part in self.soft_parts:
            look, own = self.looks[part.name], np.unique(part.surface)
            nodes.append(own)
            radius.append(np.full(len(own), 0.5 * look.thickness))
            friction.append(np.full(len(own), look.friction))
        bodies, shapes = self.rigid.bodies, self.rigid.shapes
        return SoftContacts(
            self.soft, bodies, shapes, np.concatenate(nodes), np.concatenate(radius), np.concatenate(friction)
        )

    def _make_rings(self, recovery: float, solve: str, stepper: str) -> RingProjection | None:
        """What keeps the volume of the incompressible bodies, by projections or by a single system."""
        found = [np.arange(part.first, part.stop) for part in self.soft_parts if self.looks[part.name].incompressible]
        if not found:
            return None
        nodes = np.concatenate(found)
        # damping is implicit in every scheme: what it resists with is part of the rings' metric
        splits_damping = stepper not in ("implicit", "linearised") and self.soft.damped
        if solve == "sweeps" and not splits_damping:
            return RingProjection(self.soft, nodes, recovery)
        return RingSystem(self.soft, nodes, recovery, folded=solve == "folded")

    def _make_surfaces(self) -> SurfaceCollisions | None:
        """Surfaces of cloth, solids and ropes that can meet, in 2D outlines and ropes without fluid; none of one convex
        solid alone."""
        parts, flat = self.soft_parts, self.soft.dimensions == 2
        alone = len(parts) == 1 and self.looks[parts[0].name].convex
        if not parts or alone or (flat and self.rigid.in_fluid):
            return None
        reach, friction = np.zeros(self.soft.count), np.zeros(self.soft.count)
        for part in parts:
            look, size = self.looks[part.name], self._element_size(part)
            wanted = 0.01 * size if look.kind == "solid" else 0.5 * look.thickness
            # thinner than the elements, or neighbours would repel each other
            reach[part.nodes] = min(wanted, 0.2 * size)
            friction[part.nodes] = look.friction
        surfaces = {2: [np.zeros((0, 2), dtype=np.int64)], 3: [np.zeros((0, 3), dtype=np.int64)]}
        for part in parts:
            surfaces[part.surface.shape[1]].append(part.surface)
        triangles, edges = np.concatenate(surfaces[3]), np.concatenate(surfaces[2])
        if flat:
            return OutlineCollisions(self.soft.x, edges, reach, friction, self.soft.origin)
        return SurfaceCollisions(self.soft.x, triangles, reach, friction, edges, self.soft.origin)

    def _make_points(self, length: float) -> RigidPoints | None:
        """What keeps points of rigid bodies out of faces of solids and cloth; in 2D out of outlines and ropes."""
        bodies, shapes = self.rigid.bodies, self.rigid.shapes
        parts = [part for part in self.soft_parts if part.surface.shape[1] == self.soft.dimensions]
        if not parts or not bodies.count:
            return None
        radius, friction = np.zeros(self.soft.count), np.zeros(self.soft.count)
        for part in parts:
            look = self.looks[part.name]
            radius[part.nodes] = 0.5 * look.thickness
            friction[part.nodes] = look.friction
        triangles = np.concatenate([part.surface for part in parts])
        closed = np.concatenate([np.full(len(part.surface), part.closed) for part in parts])
        return RigidPoints(self.soft, bodies, shapes, triangles, closed, radius, friction, length)

    # the step -------------------------------------------------------------------------------------------------------

    def limits(self, time: float) -> list[Limit]:
        """Explicit schemes are stable up to the period of the fastest vibration."""
        explicit = not self.rigid.in_fluid and math.isfinite(self._stable)
        return [Limit("elastic", 0.8 * self._stable)] if explicit else []

    def begin_step(self, time: float, dt: float) -> None:
        """Loads of the step from ``time`` by dt [s]."""
        self.loads.begin_step(time, dt)
        self.note_momenta()

    def note_momenta(self) -> None:
        """From here on count what the bodies gain for ``balance_reactions``."""
        self._start = self._momenta()

    def kicked(self) -> list[Array]:
        """What a kick of a leapfrog changes."""
        return [self.soft.v]

    def derive_velocities(self, time: float) -> None:
        """Nothing follows from the velocities of nodes."""

    def apply(self, name: str, time: float, push: Push) -> None:
        if push.torque.any():
            raise UserError(f"body {name!r}: a torque acts on rigid bodies; give forces at two points of it")
        place = None if push.at is None else (float(self.loads.nearest(self.soft.part(name), push.at)),)
        duration = NEXT_STEP if push.duration is None else push.duration
        force, torque = vector(push.force), vector(push.torque)
        self.loads.pending.add(Applied(name, time, duration, force, torque, place, time))

    def external_force(self) -> Array:
        """Weight, loads and wind on the nodes (n, 3) [N] in the step that begins."""
        return np.asarray(self.weight + self.loads.mean + self.wind_force())

    def wind_force(self) -> Array:
        """Force of the wind (n, 3) [N] in the step that begins; implicit steps have its part that damps as such."""
        soft = self.soft
        soft.air.measure(soft.x, soft.v)
        return soft.air.force(soft.v if self.soft_solids.implicit is None else np.zeros_like(soft.v))

    def take_report(self, report: SoftStepReport, external: Array, dt: float) -> None:
        """What a step of dt [s] without fluid did under forces (n, 3) [N]."""
        self.soft_report, self.elastic_energy = report, report.elastic
        self.take_acting(external)
        solids, count = self.soft_solids, len(self.looks)
        self.soft_forces.contact[...] = solids.contact_p[:count] / dt
        if solids.implicit is not None:
            self.reaction[...] = solids.reaction_p()[:count] / dt
            self._measure_holds(solids.holding / dt, solids.implicit.reaction / dt)
        else:
            self.balance_reactions(np.stack([external[part.nodes].sum(axis=0) for part in self.soft_parts]), dt)

    def reported(self) -> list[Array]:
        """Forces of the last step, or kick."""
        return [self.soft_forces.values, self.reaction, self.hold_force, self.acting, self.loads.mean]

    def take_acting(self, force: Array) -> None:
        """Forces from outside on the nodes (n, 3) [N] in a step, or in a kick."""
        self._acted[...], self.acting[...] = self.acting, force

    def pull(self, gravity: Array) -> None:
        self.gravity[...] = gravity
        np.multiply(self.soft.mass[:, None], gravity, out=self.weight)

    def begin_work(self) -> None:
        soft = self.soft
        self._begun = soft.x.copy(), soft.v.copy()
        self._on_their_way = BodiesOnTheirWay(self.rigid.bodies)
        self._balance.begin(soft.kinetic_energy())

    def count_work(self, dt: float, lag: float) -> None:
        soft, solids, (x, v) = self.soft, self.soft_solids, self._begun
        force = lag * self._acted + (1.0 - lag) * self.acting
        n = max((part.stop for part in self.soft_parts), default=0)
        work = float((force[:n] * (soft.x - x)[:n]).sum())
        held = ~soft.moves
        held[solids.bound] = held[n:] = held[:, soft.dimensions :] = False
        if self.rigid.in_fluid:
            led = solids.bound[self.rigid.bodies.kind_b[solids.bone] != DYNAMIC]
            held[led[led < n]] = True
            work += self.led_work + work_of_holds(soft, held, (x, v), force, dt)
        elif solids.implicit is None:
            work += self._work_of_turning() + work_of_holds(soft, held, (x, v), force, dt) + solids.led_by_rings
        else:
            work += self._work_of_turning() + float((solids.holding * soft.v).sum())
        self._balance.end(work, soft.kinetic_energy(), dt * float(np.linalg.norm(self.gravity)))

    def _work_of_turning(self) -> float:
        """Of the torques on soft bodies of the rigid ones that move as prescribed, in the last step without fluid
        [J]."""
        torque, led = self.soft_solids.torque_b, self.rigid.bodies.kind_b != DYNAMIC
        if not led.any() or len(torque) != len(led):
            return 0.0
        return -float((torque[led] * self._on_their_way.way()[led, 3:]).sum())

    def balance_reactions(self, force: Array, dt: float) -> None:
        """Reactions of bodies with held nodes by Newton's law: what their momenta gained over dt [s] beside contact and
        forces (m, 3) [N]."""
        still = [~self.soft.moves[part.nodes].all(axis=0) for part in self.soft_parts]
        held = np.array(still, dtype=bool).reshape(-1, 3)
        held[:, self.soft.dimensions :] = False
        gained = (self._momenta() - self._start) / dt
        self.reaction[...] = np.where(held, gained - force - self.soft_forces.contact, 0.0)
        self._share_reactions()

    def _measure_holds(self, force: Array, bound: Array) -> None:
        """Forces of holds by those on the nodes (n, 3) [N], of rigid bodies by those on the nodes they carry."""
        row = 0
        for holds in self.holds.values():
            taken = np.zeros(force.shape, dtype=bool)
            for hold in holds:
                mine = np.zeros_like(taken)
                mine[hold.nodes] = True if hold.axes is None else hold.axes
                # where holds overlap the first has the force
                self.hold_force[row] = np.where(mine & ~taken, bound if hold.axes is None else force, 0.0).sum(axis=0)
                taken |= mine
                row += 1

    def _share_reactions(self) -> None:
        """Forces of holds where those of bodies alone are known: along an axis, of the one hold that there is."""
        row = 0
        for reaction, holds in zip(self.reaction, self.holds.values(), strict=True):
            given = held_axes(holds)
            self.hold_force[row : row + len(holds)] = np.where(given & (given.sum(axis=0) == 1), reaction, 0.0)
            row += len(holds)

    def _momenta(self) -> Array:
        """Of the soft bodies (m, 3) [kg m/s]."""
        soft = self.soft
        found = [soft.mass[part.nodes] @ soft.v[part.nodes] for part in self.soft_parts]
        return np.array(found).reshape(-1, 3)

    def add_forces_on_rigid(self) -> None:
        """Of soft bodies on the rigid ones over the last step, beside those of rigid contact."""
        if len(self.soft_solids.force_b):
            self.rigid.force_table.contact[...] += self.soft_solids.force_b

    # a part of a simulation -----------------------------------------------------------------------------------------

    def quantities(self) -> Iterator[Quantity]:
        soft, of = self.soft, "_solids" if self.rigid.in_fluid else ""
        linear, angular = soft.momentum()
        kinetic, potential = soft.kinetic_energy(), -float((self.weight * soft.x).sum())
        yield from components(f"momentum{of}", linear, MOMENTUM)
        yield from components(f"angular_momentum{of}", angular, ANGULAR_MOMENTUM)
        yield Quantity(f"kinetic_energy{of}", kinetic, ENERGY)
        yield Quantity(f"potential_energy{of}", potential, ENERGY)
        yield Quantity(f"energy{of}", kinetic + potential + self.elastic_energy, ENERGY)
        mass, size = [soft.mass[part.nodes].sum() for part in self.soft_parts], self._sizes()
        yield from self._balance.quantities(kinetic + self.elastic_energy, np.array(mass), size)
        yield Quantity("soft_elastic_energy", self.elastic_energy, ENERGY)
        yield Quantity("soft_volume", sum(soft.volume(part) for part in soft.parts if part.closed), VOLUME)
        if self.rigid.in_fluid:
            yield from self.soft_forces.quantities(self.looks)
        else:
            yield from self._solve_quantities(self.soft_report)

    def _sizes(self) -> Array:
        """Extents of the soft bodies at rest (m,) [m]."""
        rest = self.soft.rest
        return np.array([np.ptp(rest[part.nodes], axis=0).max() for part in self.soft_parts])

    def _solve_quantities(self, done: SoftStepReport) -> Iterator[Quantity]:
        """Of the solves of a step without fluid."""
        solids = self.soft_solids
        yield Quantity("soft_volume_error", done.volume_error, merge="max")
        yield Quantity("soft_contacts", done.contacts)
        yield Quantity("soft_newton", done.newton)
        yield Quantity("soft_iterations", done.iterations)
        yield Quantity("soft_penetration", done.penetration, LENGTH, "max")
        yield Quantity("soft_collisions", solids.pressing + solids.met.pushed)
        yield Quantity("soft_joined", solids.met.joined)
        yield Quantity("soft_work", done.work, ENERGY)
        yield Quantity("soft_stuck", done.stuck)

    def body_names(self) -> list[str]:
        return list(self.looks)

    def body_state(self, name: str, time: float) -> BodyState:
        nodes = self.soft.part(name).nodes
        mass = self.lumped_mass[nodes, None]
        centre = (mass * self.soft.x[nodes]).sum(axis=0) / mass.sum()
        velocity = (mass * self.soft.v[nodes]).sum(axis=0) / mass.sum()
        return BodyState(centre, np.eye(3), velocity, np.zeros(3))

    def body_forces(self, name: str) -> BodyForces:
        nodes = self.soft.part(name).nodes
        row, load = list(self.looks).index(name), vector(self.loads.mean[nodes].sum(axis=0))
        return replace(self.soft_forces.of(row), load=load, reaction=vector(self.reaction[row]))

    def hold_forces(self, name: str) -> Array:
        start = 0
        for body, holds in self.holds.items():
            if body == name:
                found, given = self.hold_force[start : start + len(holds)].copy(), held_axes(holds)
                if self.rigid.in_fluid or self.soft_solids.implicit is None:
                    found[given & (given.sum(axis=0) > 1)] = np.nan
                return found
            start += len(holds)
        return super().hold_forces(name)

    def contact_set(self) -> ContactSet:
        """Contacts of soft bodies without fluid in the last step."""
        return self.soft_solids.contact_set()

    def nodes(self, name: str) -> Nodes:
        """The nodes of a soft body."""
        part, soft = self.soft.part(name), self.soft
        own, elements = part.nodes, np.asarray(part.cells) - part.first
        mass = self.lumped_mass[own]
        return Nodes(name, soft.x[own].copy(), soft.v[own].copy(), soft.rest[own].copy(), mass, elements)

    def frames(self, time: float) -> list[object]:
        found: list[object] = []
        for part in self.soft_parts:
            look = self.looks[part.name]
            vertices, triangles, velocity = self._surface(part, look)
            found.append(BodyFrame(part.name, vertices, triangles, look.color, velocity))
        soft, n = self.soft, max((part.stop for part in self.soft_parts), default=0)
        if n:
            cells = {part.name: part.cells for part in self.soft_parts}
            found.append(SoftFrame(soft.x[:n].copy(), soft.x[:n] - soft.rest[:n], soft.v[:n].copy(), cells))
        return found

    def _surface(self, part: SoftMesh, look: SoftLook) -> tuple[Array, Any, Array]:
        """Vertices, triangles and velocities of the closed surface that is drawn."""
        x, v = self.soft.x, self.soft.v
        if look.kind == "cloth":
            used, local = np.unique(part.surface, return_inverse=True)
            local = local.reshape(-1, 3)
            return (*thicken(x[used], local, 0.5 * look.thickness), np.concatenate([v[used]] * 2))
        if look.kind in ("rope", "ring"):
            return _tubes(meshes.chains_of(part.cells), x, v, 0.5 * look.thickness)
        if self.soft.dimensions == 2:
            return meshes.extrude(x, part.surface, v)
        if look.surface is not None:
            return look.surface.carry(x), look.surface.triangles, look.surface.carry(v)
        used, local = np.unique(part.surface, return_inverse=True)
        return x[used], local.reshape(-1, 3), v[used]

    def arrays(self) -> dict[str, Array]:
        return {**self.soft.arrays(), **self.soft_solids.arrays(), **self._last_step()}

    def _last_step(self) -> dict[str, Array]:
        """Forces of the last step."""
        loads = {"soft_load": self.loads.mean, "soft_load_owed": self.loads.owed}
        last = {"soft_forces": self.soft_forces.values, "soft_reaction": self.reaction, "soft_acting": self.acting}
        last |= {"soft_hold_force": self.hold_force} if len(self.hold_force) else {}
        return {**last, **loads}

    def numbers(self) -> dict[str, Any]:
        loads = {"applied": self.loads.pending.numbers(), "loads_until": self.loads.until}
        return {**loads, "balance": self._balance.numbers()}

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        restore_arrays({**self.soft.arrays(), **self._last_step()}, arrays)
        self.loads.pending.restore(numbers["applied"])
        self.loads.until = numbers["loads_until"]
        self._balance.restore(numbers["balance"])
        self.soft_solids.restore(arrays)

    def adopt(self, before: Part | None, time: float) -> None:
        """Nodes of soft bodies as they are, of bodies that have torn as those that they were; those of thin shells are
        where their bodies are."""
        if isinstance(before, SoftPart):
            parent = self._nodes_before(before)
            n, own, arrays = len(parent), self.arrays(), before.arrays()
            share = self.lumped_mass[:n] / before.lumped_mass[parent]
            for name in sorted(PER_NODE & own.keys()):
                rows = arrays[name][parent]
                arrays[name] = np.concatenate([rows * share[:, None] if name in BY_MASS else rows, own[name][n:]])
            for name in sorted(PER_CONTACT):
                arrays[name] = self._contacts_before(before, parent, arrays[name])
            arrays["soft_contact_press"] *= share[self.soft_solids.contacts.nodes]
            self.restore(arrays, before.numbers(), time)
            self.loads.pending.move_nodes({int(p): i for i, p in reversed(list(enumerate(parent)))})
        if len(self.soft_solids.bound):
            self.soft_solids.follow()
        self._begun = self.soft.x.copy(), self.soft.v.copy()
        self._on_their_way = BodiesOnTheirWay(self.rigid.bodies)

    def nodes_on(self, body: str) -> tuple[NodesOn, ...]:
        """The soft bodies of which a rigid body carries nodes, as it moves now."""
        rigid, solids, found = self.rigid.bodies, self.soft_solids, list[NodesOn]()
        b = rigid.index(body)
        position, R = rigid.shape_pose(b)
        carried = np.zeros(self.soft.count, dtype=bool)
        carried[solids.bound[solids.bone == b]] = True
        known = {one.soft for one in self.rigid.table[body].description.carried}
        for part in self.soft_parts:
            if not carried[part.nodes].any() and part.name not in known:
                continue
            x = self.soft.x[part.nodes]
            pace = (rigid.v_b[b] + np.cross(rigid.omega_b[b], x - rigid.x_b[b])) @ R
            reach = np.full(len(x), 0.5 * self.looks[part.name].thickness)
            found.append(
                NodesOn(
                    part.name, np.arange(len(x)), (x - position) @ R, pace, self.lumped_mass[part.nodes],
                    carried[part.nodes], reach,
                )
            )  # fmt: skip
        return tuple(found)

    def _nodes_before(self, before: SoftPart) -> Any:
        """The nodes (n,) of a part before this one that those of the soft bodies were: those of the same elements."""
        parent = np.zeros(max((part.stop for part in self.soft_parts), default=0), dtype=np.int64)
        for part, old in zip(self.soft_parts, before.soft_parts, strict=True):
            parent[part.cells] = old.cells
        return parent

    def _contacts_before(self, before: SoftPart, parent: Any, rows: Array) -> Array:
        """Rows of contacts of a part before this one by nodes; 0 of those that could not touch."""
        own, old = self.soft_solids.contacts.nodes, before.soft_solids.contacts.nodes
        of_node = np.zeros(before.soft.count)
        of_node[old] = rows
        return np.asarray(of_node[parent[own]])

    def locate(self, name: str, index: tuple[int, ...]) -> str:
        if name in ("soft_forces", "soft_reaction"):
            return f"first of objects.{list(self.looks)[index[0]]}"
        if name in PER_NODE:
            for part in self.soft.parts:
                if part.first <= index[0] < part.stop:
                    return f"first at node {index[0] - part.first} of objects.{part.name}"
        return super().locate(name, index)


def _tubes(chains: Iterable[Any], x: Array, v: Array, radius: float) -> tuple[Array, Any, Array]:
    """Vertices, triangles and velocities of tubes around lines of nodes."""
    vertices, triangles, velocity, count = list[Array](), list[Any](), list[Array](), 0
    for nodes in chains:
        points, faces = meshes.tube(x[nodes], radius)
        vertices.append(points)
        triangles.append(faces + count)
        velocity.append(np.repeat(v[nodes], len(points) // len(nodes), axis=0))
        count += len(points)
    return np.concatenate(vertices), np.concatenate(triangles), np.concatenate(velocity)
