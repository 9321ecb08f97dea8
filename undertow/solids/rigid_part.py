"""The rigid bodies and joints of a simulation as a part of it: state, ledger, forces and frames.

In a fluid, what the ledger has of both ends in ``_solids`` for the solids.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.frames import BodyFrame
from undertow.geometry import Plane
from undertow.geometry.driven import Driven
from undertow.grid import Array
from undertow.part import (
    ANGULAR_MOMENTUM,
    ENERGY,
    LENGTH,
    MASS,
    MOMENTUM,
    RATE,
    SPEED,
    BodyForces,
    BodyState,
    ForceTable,
    Limit,
    Part,
    Push,
    Quantity,
    Target,
    Vector,
    components,
    restore_arrays,
    vector,
)
from undertow.rigid.bodies import DYNAMIC, RigidBodies
from undertow.rigid.control import JointControl
from undertow.rigid.joint import Joint
from undertow.rigid.joint_moves import JointEnd, move_joint
from undertow.rigid.joints import Joints
from undertow.rigid.mass import add_points
from undertow.rigid.placing import place_body
from undertow.rigid.table import BodyDescription, BodyEntry, BodyTable, carry_rows
from undertow.solids.contact_record import ContactSet
from undertow.solids.energy import Balance, BodiesOnTheirWay, work_on_bodies
from undertow.solids.loads import NEXT_STEP, Applied, RigidLoads
from undertow.solids.settings import SolidSettings
from undertow.solids.step import JointReport, Solids, SolidsReport

MAX_INITIAL_PENETRATION = 0.25
"""Bodies that start overlapping deeper than this part of the smaller one's thickness are refused."""


@dataclass(frozen=True)
class NewJoint:
    """A joint as it is put in, between bodies in the poses they have then; values as for ``Joints.add``. controls: its
    motors."""

    name: str
    kind: str
    parent: str | None
    child: str
    position: Vector
    axis: Sequence[float]
    second_axis: Sequence[float] | None = None
    limits: tuple[float, float] | None = None
    break_force: float = math.inf
    break_torque: float = math.inf
    collide: bool = False
    coordinate_limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    controls: Sequence[JointControl] = ()


class RigidPart(Part):
    """Rigid bodies, their shapes and joints, and what moves them among themselves.

    table: what the bodies are. bodies: their states, those of the table in its order and then the sides of a domain,
    which others add and which are neither named nor drawn. attached: by name of a body of the scene points (k, 3) [m]
    and masses (k,) [kg] that are parts of it. in_fluid: a fluid is simulated as well. made_controls: motors of the
    joints of the table, which were made during the run.
    """

    name = "solids"

    def __init__(
        self,
        table: BodyTable,
        joints: Sequence[NewJoint] = (),
        settings: SolidSettings | None = None,
        joint_solver: str = "global",
        in_fluid: bool = False,
        attached: Mapping[str, tuple[Array, Array]] | None = None,
        made_controls: Sequence[JointControl] = (),
    ) -> None:
        self.table, self.dimensions, self.in_fluid = table, table.dimensions, in_fluid
        self._suffix = "_solids" if in_fluid else ""
        self._forces = ForceTable()
        self.report: SolidsReport | None = None
        """What the last step did."""
        self.bodies = RigidBodies(self.dimensions)
        self.loads = RigidLoads(self.bodies)
        self.shapes = table.shapes
        self.moved_by_fluid = True
        """Whether the forces of a fluid act on the bodies; otherwise they are only told."""
        self._on_their_way = BodiesOnTheirWay(self.bodies)
        self._last_forces, self._joint_rows = np.zeros((2, 0, 6)), np.zeros((0, 6))
        self._warned: set[str] = set()
        self._rows: dict[str, int] = {}
        self._groups: dict[str, int] = {}
        for entry in table.first:
            self._place(entry, 0.0, (attached or {}).get(entry.name))
        self.joints = Joints(self.bodies, joint_solver)
        moved = {made.joint.name for made in table.joints}
        for joint in joints:
            if joint.name not in moved:
                self._join(joint)
        self.bodies.keep(np.array([entry.identity for entry in table]))
        for entry in table.made:
            self._place(entry, 0.0, (attached or {}).get(entry.name))
        for made in table.joints:
            self.joints.put(made.joint)
        for control in made_controls:
            self.joints.control(control)
        self.solids = Solids(self.bodies, self.shapes, settings, self.joints if self.joints.count else None)
        self._balance = Balance(self.solids.energy()[0])
        self._pulled = self.solids.gravity.copy()
        """Gravity before the last change [m/s2]."""

    # bodies come and go ---------------------------------------------------------------------------------------------

    def add(self, entry: BodyEntry, time: float) -> None:
        """Put in a body of the table at a time [s]."""
        self._place(entry, time)
        self.solids.prepare()

    def exchange(self, gone: Sequence[str], made: Sequence[BodyEntry], time: float) -> None:
        """Put bodies of the table at a time [s] in the place of others; joints that held these are broken."""
        applied = self._applied_to(gone)
        for name in gone:
            b, forces = self.bodies.index(name), self.force_table
            self.loads.remove(b, name)
            self.bodies.remove(b)
            forces.remove(b)
        for entry in made:
            self._place(entry, time)
        self._hand_over(applied, made)
        self.solids.prepare()

    def _applied_to(self, gone: Iterable[str]) -> list[tuple[Applied, Array]]:
        """What a user has applied to bodies and still acts, and where (3,) [m]."""
        loads, names = self.loads, set(gone)
        return [(item, loads.point_of(item)) for item in loads.pending.items if item.name in names]

    def _hand_over(self, applied: Sequence[tuple[Applied, Array]], made: Sequence[BodyEntry]) -> None:
        """What was applied to a body acts on the piece of it that holds the point, or is next to it."""
        for item, point in applied:
            pieces = [entry for entry in made if entry.name.startswith(f"{item.name}/")]
            ends = [JointEnd.of(one.identity, one.description, self.table.form(one).found) for one in pieces]
            if ends:
                nearest = min(range(len(ends)), key=lambda n: ends[n].distance(point))
                self.loads.hand_over(item, pieces[nearest].name, point)

    def moved_joints(self, gone: Sequence[str], made: Sequence[BodyEntry]) -> list[Joint]:
        """The joints that hold bodies, at the bodies of the table that are put in their place: each at that which holds
        its point, or is next to it."""
        identities = {int(self.bodies.identity_b[self.bodies.index(name)]) for name in gone}
        ends = [JointEnd.of(entry.identity, entry.description, self.table.form(entry).found) for entry in made]
        return [move_joint(joint, identities, ends, self.bodies) for joint in self.joints.holding(identities)]

    def share_momentum(self, names: Sequence[str], momentum: Array) -> None:
        """Give bodies a momentum (3,) [kg m/s; 2D kg/s], in shares of their masses."""
        rows = [self.bodies.index(name) for name in names]
        mass = self.bodies.mass_b[rows]
        self.bodies.p_b[rows] += (mass / mass.sum())[:, None] * momentum
        self.bodies.derive_velocities()

    def withdraw(self, name: str) -> None:
        """Take back the body that was added last, as if it had never been."""
        self.loads.remove(self.bodies.index(name), name)
        self.bodies.withdraw()

    def remove(self, name: str) -> None:
        """Take a body out; joints that held it are broken."""
        self.exchange([name], [], 0.0)

    def adopt(self, before: Part | None, time: float) -> None:
        """By identity; bodies that are new are where their motion is at a time [s]."""
        if not isinstance(before, RigidPart):
            self.bodies.move_kinematic(time, place=True)
            return
        kept = {entry.name for entry in self.table if before.table.entries.get(entry.name) is entry}
        for name, motion in self._driven().items():
            if name in kept:
                motion.restore(before._driven()[name].numbers())
        self.loads.pending.items = [item for item in before.loads.pending.items if item.name in kept]
        gone = [entry.name for entry in before.table if entry.name not in kept]
        applied, made = before._applied_to(gone), [entry for entry in self.table if entry.name not in kept]
        self.bodies.move_kinematic(time, place=True)
        old, new = before.bodies.identity_b, self.bodies.identity_b
        known = np.isin(new, old)
        for name, own in self.bodies.arrays().items():
            own[known] = carry_rows(before.bodies.arrays()[name], old, new)[known]
        self.force_table.values[...] = carry_rows(before.force_table.values, old, new)
        for own, load in zip(self.loads.arrays().values(), before.loads.arrays().values(), strict=True):
            own[...] = carry_rows(load, old, new)
        self.loads.until = before.loads.until
        self._hand_over(applied, [entry for entry in made if entry.name not in before.table])
        self.loads.begin_as_before([entry.name for entry in made])
        self._driven_b[...] = carry_rows(before._driven_b, old, new)
        self._balance = before._balance
        self.joints.adopt(before.joints)
        self.solids.restore(before.solids.arrays())

    def add_wall(self, name: str, axis: int, upper: bool, place: float) -> None:
        """A side of a domain that stops bodies: at ``place`` [m] along an axis, and the domain below it or above."""
        normal, point = np.zeros(3), np.zeros(3)
        normal[axis], point[axis] = -1.0 if upper else 1.0, place
        shape, upright = self.shapes.add(Plane(vector(normal))), np.array([1.0, 0.0, 0.0, 0.0])
        b = self.bodies.add(name, shape, point, upright)
        self.bodies.identity_b[b] = self.table.wall(name)

    def _place(self, entry: BodyEntry, time: float, attached: tuple[Array, Array] | None = None) -> None:
        form, body = self.table.form(entry), entry.description
        position, R = body.motion.pose(time)
        options: dict[str, Any] = {
            "friction": body.friction,
            "restitution": body.restitution,
            "rolling": body.rolling_friction,
            "spinning": body.torsional_friction,
            **self._groups_of(body),
        }
        found, index = form.found, form.index
        if found is None:
            options["motion"] = None if body.static else copy(body.motion)
        else:
            mass = body.mass if body.mass is not None else (body.density or 1.0) * found.mass
            inertia = found.inertia if body.inertia is not None else found.inertia * (mass / found.mass)
            found = found._replace(mass=mass, inertia=inertia)
            velocity, omega = np.array(body.velocity), np.array(body.angular_velocity)
            if attached is not None and len(attached[1]):
                points, masses = attached
                own = found.centre
                found = add_points(found, (points - position) @ R, masses)
                velocity = velocity + np.cross(omega, R @ (found.centre - own))
                index = self.shapes.add(body.shape, found.centre, found.rotation)
            options["velocity"], options["angular_velocity"] = velocity, omega
        b = place_body(self.bodies, body.name, index, position, R, found, **options)
        self.bodies.identity_b[b] = entry.identity
        if self.table.entries.get(entry.name) is entry:
            self.loads.add(body.name, body.shape, body.loads)

    def _groups_of(self, body: BodyDescription) -> dict[str, int]:
        """Bits of the collision group of a body and of those it collides with."""
        names = (body.collision_group, *(body.collides_with or ()))
        bits = {name: 1 << self._groups.setdefault(name, len(self._groups)) for name in names}
        mask = -1 if body.collides_with is None else sum(bits[name] for name in body.collides_with)
        return {"group": bits[body.collision_group], "mask": mask}

    def make_joint(self, joint: NewJoint) -> Joint:
        """A joint of bodies in their poses of now, for the table."""
        return self.joints.make(
            joint.name, joint.kind, joint.parent, joint.child, joint.position, joint.axis, joint.second_axis,
            joint.limits, joint.break_force, joint.break_torque, joint.collide, joint.coordinate_limits,
        )  # fmt: skip

    def release(self, joint: str) -> None:
        """A joint holds nothing from now on."""
        self.joints.release(joint)
        self.solids.prepare()

    def _join(self, joint: NewJoint) -> None:
        self.joints.put(self.make_joint(joint))
        for control in joint.controls:
            self.joints.control(control)

    def check_overlaps(self, when: str = "at the start", body: str | None = None) -> list[str]:
        """Notes on bodies that lie inside one another; a UserError where they cannot be parted. body: only its own."""
        notes = []
        for first, second, depth in self.solids.overlapping():
            pair = [name for name in (first, second) if name in self.table]
            # what reaches out of the domain is the domain's
            if len(pair) < 2 or (body is not None and body not in pair):
                continue
            thin = min(self.table[name].description.shape.thickness() for name in pair)
            text = f"objects.{first} and objects.{second} overlap by {depth:.3g} m {when}"
            if depth > MAX_INITIAL_PENETRATION * thin:
                raise UserError(f"{text}, too deep to be parted; move them apart")
            notes.append(f"{text}; they are pushed apart")
        return notes

    # what a user does to them ---------------------------------------------------------------------------------------

    def apply(self, name: str, time: float, push: Push) -> None:
        place = None if push.at is None else vector(self.loads.place_in(name, push.at))
        duration = NEXT_STEP if push.duration is None else push.duration
        self.loads.apply(Applied(name, time, duration, vector(push.force), vector(push.torque), place, time))

    def drive(self, name: str, time: float, target: Target) -> None:
        motion = self.bodies.motions.get(self.bodies.index(name))
        if not isinstance(motion, Driven):
            super().drive(name, time, target)
            return
        motion.aim(time, target)
        self.bodies.move_kinematic(time, place=False)

    def _driven(self) -> dict[str, Driven]:
        found = self.bodies.motions.items()
        return {self.bodies.names[b]: motion for b, motion in found if isinstance(motion, Driven)}

    def limits(self, time: float) -> Iterator[Limit]:
        """Steps end where driven bodies reach their targets."""
        for motion in self._driven().values():
            if 0.0 < motion.remaining(time) < math.inf:
                yield Limit("target", motion.remaining(time), "event")

    # what a step did ------------------------------------------------------------------------------------------------

    def begin_step(self, time: float, dt: float) -> None:
        """Loads of the step from ``time`` by dt [s]."""
        self.loads.begin_step(time, dt)

    def kicked(self) -> list[Array]:
        """What a kick of a leapfrog changes, and what follows from it."""
        return [self.bodies.p_b, self.bodies.L_b, self.bodies.v_b, self.bodies.omega_b]

    def derive_velocities(self, time: float) -> None:
        """Velocities at a time [s] from momenta, those of kinematic bodies by their motion."""
        self.bodies.derive_velocities()
        self.bodies.move_kinematic(time, place=False)

    def reported(self) -> list[Array]:
        """Forces and torques of the last step, or kick."""
        return [self.force_table.values, self._driven_b, self.loads.mean_b]

    def take_report(self, report: SolidsReport) -> None:
        """What a step did to the bodies among themselves; the forces of a fluid are added by who knows them."""
        self._last_forces = self._acting()
        self.report, forces, solids = report, self.force_table, self.solids
        if self.joints.controls:
            self._driven_b[:, :3], self._driven_b[:, 3:] = solids.joint_force_b, solids.joint_torque_b
        forces.values[...] = 0.0
        forces.contact[...] = solids.contact_force_b
        forces.joint[...] = solids.joint_force_b
        forces.torque_solids[...] = solids.contact_torque_b + solids.joint_torque_b

    def pull(self, gravity: Array) -> None:
        self._pulled[...] = self.solids.gravity
        self.solids.gravity[...] = gravity

    def begin_work(self) -> None:
        self._on_their_way = BodiesOnTheirWay(self.bodies)
        self._balance.begin(self.solids.energy()[0])

    def count_work(self, dt: float, lag: float) -> None:
        forces, kinetic = self._acting(), self.solids.energy()[0]
        if lag > 0.0 and self._last_forces.shape == forces.shape:
            forces = lag * self._last_forces + (1.0 - lag) * forces
        way = self._on_their_way.way()
        forces[0] += self.loads.mean_b
        gravity = lag * self._pulled + (1.0 - lag) * self.solids.gravity
        work = work_on_bodies(self.bodies, way, forces[0], forces[1], gravity)
        self._balance.end(work, kinetic, dt * float(np.linalg.norm(gravity)))

    def _acting(self) -> Array:
        """Forces and torques on the bodies (2, n, 6) [N, N m] over the last step: those of a fluid, and those of
        contact and joints. Joints with motors are an outside to the bodies."""
        table, found = self.force_table, np.zeros((2, self.bodies.count, 6))
        if self.moved_by_fluid:
            found[0, :, :3] += table.pressure + table.viscous + table.control
            found[0, :, 3:] += table.torque
        found[1, :, :3], found[1, :, 3:] = table.contact + table.joint, table.torque_solids
        driven = self._driven_b
        found += [driven, -driven]
        return found

    @property
    def _driven_b(self) -> Array:
        """Forces and torques (n, 6) [N, N m] of the joints over the last step where there are motors."""
        if len(self._joint_rows) != self.bodies.count:
            self._joint_rows = np.zeros((self.bodies.count, 6))
        return self._joint_rows

    def events(self, report: SolidsReport) -> list[str]:
        """What happened in a step that a user should know; a solve that does not converge is named once per run."""
        events = [
            f"objects.{joint.name} broke at a force of {joint.force:.4g} N and a torque of {joint.torque:.4g} N m"
            for joint in report.joints.broken
        ]
        troubles = {
            "contact": report.unconverged
            and f"the contact solve stopped after {report.iterations} sweeps with velocities still changing by "
            f"{report.residual:.3g} m/s; raise solids.iterations or shorten the step",
            "limits": report.joints.unsettled
            and "which limits of joints act could not be settled; they may be overrun: shorten the step",
            "sweeps": report.joints.unswept
            and "sweeps over the joints ended before they had converged; use solids.joint_solver = 'global', which "
            "solves all at once",
            "joints": report.joints.closings
            and "bodies turned so far in a step that joints were closed after it, which damps: shorten the step",
        }
        for kind, text in troubles.items():
            if text and kind not in self._warned:
                self._warned.add(kind)
                events.append(f"{text} (the ledger counts how often)")
        return events

    def contact_set(self) -> ContactSet:
        """Contacts of the bodies with each other in the last step."""
        return self.solids.record.contacts(self.bodies.names)

    def displaced_volume(self, b: int) -> float:
        """Volume of body b, what it displaces in a fluid [m3; 2D m2]; 0 unless it is dynamic, and of a sheet."""
        found = self.table.form(self.table[self.bodies.names[b]]).found
        return 0.0 if found is None else found.volume

    def momentum_of(self, name: str) -> tuple[float, Array]:
        """Mass [kg; 2D kg/m] and momentum (3,) [kg m/s; 2D kg/s] of a body; none of one that is not dynamic."""
        b = self.bodies.index(name)
        if self.bodies.kind_b[b] != DYNAMIC:
            return 0.0, np.zeros(3)
        return float(self.bodies.mass_b[b]), self.bodies.p_b[b].copy()

    def momenta_of(self, name: str) -> tuple[Array, Array] | None:
        """Momentum (3,) [kg m/s] of a dynamic body, and angular momentum (3,) about its centre of mass [kg m2/s]."""
        b = self.bodies.index(name)
        dynamic = self.bodies.kind_b[b] == DYNAMIC
        return (self.bodies.p_b[b].copy(), self.bodies.L_b[b].copy()) if dynamic else None

    def set_momenta(self, name: str, momentum: Array, angular_momentum: Array) -> None:
        """Give a body, if it is dynamic, momenta as ``momenta_of`` has them."""
        b = self.bodies.index(name)
        if self.bodies.kind_b[b] == DYNAMIC:
            self.bodies.p_b[b], self.bodies.L_b[b] = momentum, angular_momentum
            self.bodies.derive_velocities()

    @property
    def force_table(self) -> ForceTable:
        """Forces on the bodies over the last step, in the order of the bodies; none on those that are new."""
        self._forces.resize(self.bodies.count)
        return self._forces

    # a part of a simulation -----------------------------------------------------------------------------------------

    def quantities(self) -> Iterator[Quantity]:
        bodies, of, done = self.bodies, self._suffix, self.report
        momentum = bodies.p_b.sum(axis=0)
        angular = (bodies.L_b + np.cross(bodies.x_b, bodies.p_b)).sum(axis=0)
        kinetic, potential = self.solids.energy() if bodies.count else (0.0, 0.0)
        error = float(np.abs(self.joints.errors()).max(initial=0.0)) if self.joints.count else 0.0
        joints = JointReport() if done is None else done.joints
        yield from components(f"momentum{of}", momentum, MOMENTUM)
        yield from components(f"angular_momentum{of}", angular, ANGULAR_MOMENTUM)
        yield Quantity(f"kinetic_energy{of}", kinetic, ENERGY)
        yield Quantity(f"potential_energy{of}", potential, ENERGY)
        yield Quantity(f"energy{of}", kinetic + potential, ENERGY)
        mass = np.where(bodies.kind_b == DYNAMIC, bodies.mass_b, 0.0)
        yield from self._balance.quantities(kinetic, mass, self.solids.sizes)
        yield Quantity("contacts", 0 if done is None else done.contacts)
        yield Quantity("collisions", 0 if done is None else done.collisions)
        yield Quantity("clamped", 0 if done is None else done.clamped)
        yield Quantity("penetration", 0.0 if done is None else done.penetration, LENGTH, "max")
        yield Quantity("joint_error", error, merge="max")
        yield Quantity("joint_iterations", joints.iterations)
        yield Quantity("joint_rate", joints.rate, RATE, "max")
        yield Quantity("joint_closings", joints.closings)
        yield Quantity("joints_unsettled", joints.unsettled)
        yield Quantity("joints_unswept", joints.unswept)
        yield Quantity("joints_broken", int(self.joints.broken_j.sum()))
        yield Quantity(f"iterations{of}", 0 if done is None else done.iterations)
        yield Quantity(f"residual{of}", 0.0 if done is None else done.residual, SPEED, "max")
        yield Quantity("unconverged", 0 if done is None else done.unconverged)
        if math.isfinite(self.solids.settings.sleep):
            yield Quantity("asleep", self.solids.sleepers.count)
            yield Quantity("energy_asleep", self.solids.sleepers.lost, ENERGY)
        yield Quantity("appeared_mass", self.table.appeared_mass, MASS)
        yield from components("appeared_momentum", self.table.appeared_momentum, MOMENTUM)
        if self.in_fluid:
            yield from self.force_table.quantities(self.body_names())

    def body_names(self) -> list[str]:
        return list(self.table.entries)

    def _row(self, name: str) -> int:
        """The row of a body, found without a search through all of them."""
        names = self.bodies.names
        b = self._rows.get(name, len(names))
        if b >= len(names) or names[b] != name:
            self._rows = {own: row for row, own in enumerate(names)}
            b = self._rows[name] if name in self._rows else self.bodies.index(name)
        return b

    def body_state(self, name: str, time: float) -> BodyState:
        b = self._row(name)
        position, rotation = self.bodies.shape_pose(b)
        omega = self.bodies.omega_b[b].copy()
        velocity = self.bodies.v_b[b] + np.cross(omega, position - self.bodies.x_b[b])
        return BodyState(position, rotation, velocity, omega)

    def body_forces(self, name: str) -> BodyForces:
        b = self._row(name)
        return replace(self.force_table.of(b), load=vector(self.loads.mean_b[b, :3]))

    def frames(self, time: float) -> list[object]:
        found: list[object] = []
        for b, name in enumerate(self.bodies.names):
            if name not in self.table or not self.table[name].description.visible:
                continue
            body = self.table[name].description
            position, rotation = self.bodies.shape_pose(b)
            vertices, triangles = self.table.form(self.table[name]).surface
            placed = vertices @ rotation.T + position
            velocity = self.bodies.v_b[b] + np.cross(self.bodies.omega_b[b], placed - self.bodies.x_b[b])
            colors = None
            if body.brittle is not None and body.shape.interior_t is not None:
                colors = np.where(body.shape.interior_t[:, None], body.brittle.color, body.color)
            found.append(BodyFrame(name, placed, triangles, body.color, velocity, body.shape.is_endless, colors))
        return found

    def arrays(self) -> dict[str, Array]:
        found = {**self.bodies.arrays(), **self.joints.arrays(), **self.solids.arrays()}
        forces = {"rigid_forces": self.force_table.values, "rigid_driven": self._driven_b}
        return {**found, **forces, **self.loads.arrays()}

    def numbers(self) -> dict[str, Any]:
        driven = {name: motion.numbers() for name, motion in self._driven().items()}
        loads = {"applied": self.loads.pending.numbers(), "loads_until": self.loads.until}
        return {**loads, "driven": driven, "balance": self._balance.numbers()}

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        if not np.array_equal(arrays["rigid_identity"], self.bodies.identity_b):
            raise UserError("checkpoint: its bodies are not those of the scene; it belongs to another scene")
        fixed = {**self.bodies.arrays(), **self.joints.arrays(), **self.loads.arrays()}
        forces = {"rigid_forces": self.force_table.values, "rigid_driven": self._driven_b}
        restore_arrays({**fixed, **forces}, arrays)
        self.loads.pending.restore(numbers["applied"])
        self.loads.until = numbers["loads_until"]
        self._balance.restore(numbers["balance"])
        for name, motion in self._driven().items():
            motion.restore(numbers["driven"][name])
        self.joints.restore(arrays)
        self.solids.restore(dict(arrays))

    def locate(self, name: str, index: tuple[int, ...]) -> str:
        if name.startswith("rigid_"):
            return f"first of objects.{self.bodies.names[index[0]]}"
        return super().locate(name, index)
