"""The rigid bodies and joints of a simulation as a part of it: state, ledger, forces and frames.

In a fluid, what the ledger has of both ends in ``_solids`` for the solids.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.frames import BodyFrame
from undertow.geometry import Motion, Plane, Shape
from undertow.grid import Array
from undertow.part import (
    ANGULAR_MOMENTUM,
    ENERGY,
    LENGTH,
    MOMENTUM,
    RATE,
    SPEED,
    BodyForces,
    BodyState,
    ForceTable,
    Part,
    Quantity,
    Vector,
    components,
    restore_arrays,
    vector,
)
from undertow.rigid.bodies import RigidBodies
from undertow.rigid.control import JointControl
from undertow.rigid.joints import Joints
from undertow.rigid.mass import MassProperties, add_points, mass_properties
from undertow.rigid.placing import place_body
from undertow.rigid.shapes import CollisionShapes
from undertow.solids.settings import SolidSettings
from undertow.solids.step import JointReport, Solids, SolidsReport

MAX_INITIAL_PENETRATION = 0.25
"""Bodies that start overlapping deeper than this part of the smaller one's thickness are refused."""


@dataclass(frozen=True)
class NewBody:
    """A rigid body as it is put in.

    key: bodies with equal ones share the shape, its mass properties and its collision geometry. motion: pose over time,
    of a dynamic body at the start; static: it never moves. mass [kg; 2D kg/m] or density [kg/m3], and inertia and
    centre_of_mass (in the frame of the shape) in the place of those of uniform density: of dynamic bodies. velocity
    [m/s] and angular_velocity [rad/s] are those of a dynamic body at the start. collides_with: groups, None for all.
    attached: points (k, 3) [m] and masses (k,) [kg] that are parts of it. detail: how finely its surface is drawn.
    """

    name: str
    key: Hashable
    shape: Shape
    motion: Motion
    static: bool = True
    dynamic: bool = False
    mass: float | None = None
    density: float | None = None
    inertia: object = None
    centre_of_mass: Vector | None = None
    velocity: Vector = (0.0, 0.0, 0.0)
    angular_velocity: Vector = (0.0, 0.0, 0.0)
    friction: float = 0.0
    restitution: float = 0.0
    rolling_friction: float = 0.0
    torsional_friction: float = 0.0
    collision_group: str = "default"
    collides_with: tuple[str, ...] | None = None
    attached: tuple[Array, Array] | None = None
    color: Vector = (0.8, 0.8, 0.8)
    visible: bool = True
    detail: int = 48


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


@dataclass(frozen=True)
class _Form:
    """A shape with what bodies of it share: index of its collision shape, mass properties at density 1 (or with the
    inertia given) of dynamic ones, and its surface for drawing."""

    shape: Shape
    index: int
    found: MassProperties | None
    surface: tuple[Array, Any]


@dataclass(frozen=True)
class _Look:
    """What a body that has been put in is drawn as."""

    form: _Form
    color: Vector
    visible: bool


class RigidPart(Part):
    """Rigid bodies, their shapes and joints, and what moves them among themselves.

    bodies: all of them, sides of a domain too, which others add and which are neither named nor drawn. in_fluid: a
    fluid is simulated as well.
    """

    name = "solids"

    def __init__(
        self,
        dimensions: int,
        bodies: Sequence[NewBody] = (),
        joints: Sequence[NewJoint] = (),
        settings: SolidSettings | None = None,
        joint_solver: str = "global",
        in_fluid: bool = False,
    ) -> None:
        self.dimensions, self.in_fluid = dimensions, in_fluid
        self._suffix = "_solids" if in_fluid else ""
        self._forces = ForceTable()
        self.report: SolidsReport | None = None
        """What the last step did."""
        self.bodies = RigidBodies(dimensions)
        self.shapes = CollisionShapes(dimensions)
        self._warned: set[str] = set()
        self._forms: dict[Hashable, _Form] = {}
        self._groups: dict[str, int] = {}
        self._looks: dict[str, _Look] = {}
        for body in bodies:
            self._place(body, 0.0)
        self.joints = Joints(self.bodies, joint_solver)
        for joint in joints:
            self._join(joint)
        self.solids = Solids(self.bodies, self.shapes, settings, self.joints if joints else None)
        self.notes: list[str] = self._check_overlaps()
        """What a user should know of the bodies at the start."""

    # bodies come and go ---------------------------------------------------------------------------------------------

    def add(self, body: NewBody, time: float) -> list[str]:
        """Put in a body at a time [s]; refused where it lies too deep in another one. What a user should know of it."""
        self.include(body, time)
        try:
            return self._check_overlaps(f"at t = {time:.6g} s", body.name)
        except UserError:
            self.bodies.withdraw()
            del self._looks[body.name]
            raise

    def include(self, body: NewBody, time: float) -> None:
        """Put in a body at a time [s], wherever the others are."""
        self._place(body, time)
        self.solids.prepare()

    def remove(self, name: str) -> None:
        """Take a body out; joints that held it are broken."""
        b, forces = self.bodies.index(name), self.force_table
        self.bodies.remove(b)
        forces.remove(b)
        self.solids.prepare()

    def add_wall(self, name: str, axis: int, upper: bool, place: float) -> None:
        """A side of a domain that stops bodies: at ``place`` [m] along an axis, and the domain below it or above."""
        normal, point = np.zeros(3), np.zeros(3)
        normal[axis], point[axis] = -1.0 if upper else 1.0, place
        self.bodies.add(name, self.shapes.add(Plane(vector(normal))), point, np.array([1.0, 0.0, 0.0, 0.0]))

    @property
    def known_shapes(self) -> dict[Hashable, Shape]:
        """The shapes of bodies so far, by their keys."""
        return {key: form.shape for key, form in self._forms.items()}

    def _place(self, body: NewBody, time: float) -> None:
        form = self._form(body)
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
            options["motion"] = None if body.static else body.motion
        else:
            mass = body.mass if body.mass is not None else (body.density or 1.0) * found.mass
            inertia = found.inertia if body.inertia is not None else found.inertia * (mass / found.mass)
            found = found._replace(mass=mass, inertia=inertia)
            velocity, omega = np.array(body.velocity), np.array(body.angular_velocity)
            if body.attached is not None and len(body.attached[1]):
                points, masses = body.attached
                own = found.centre
                found = add_points(found, (points - position) @ R, masses)
                velocity = velocity + np.cross(omega, R @ (found.centre - own))
                index = self.shapes.add(form.shape, found.centre, found.rotation)
            options["velocity"], options["angular_velocity"] = velocity, omega
        place_body(self.bodies, body.name, index, position, R, found, **options)
        self._looks[body.name] = _Look(form, body.color, body.visible)

    def _groups_of(self, body: NewBody) -> dict[str, int]:
        """Bits of the collision group of a body and of those it collides with."""
        names = (body.collision_group, *(body.collides_with or ()))
        bits = {name: 1 << self._groups.setdefault(name, len(self._groups)) for name in names}
        mask = -1 if body.collides_with is None else sum(bits[name] for name in body.collides_with)
        return {"group": bits[body.collision_group], "mask": mask}

    def _form(self, body: NewBody) -> _Form:
        """The form of a body."""
        if body.key not in self._forms:
            found = None
            if body.dynamic:
                try:
                    centre = None if body.centre_of_mass is None else np.array(body.centre_of_mass)
                    found = mass_properties(body.shape, 1.0, None, self.dimensions, body.inertia, centre, "mass")
                except UserError as error:
                    raise UserError(f"objects.{body.name}: {error}") from None
            frame = () if found is None else (found.centre, found.rotation)
            index = self.shapes.add(body.shape, *frame)
            self._forms[body.key] = _Form(body.shape, index, found, body.shape.surface(body.detail))
        return self._forms[body.key]

    def _join(self, joint: NewJoint) -> None:
        self.joints.add(
            joint.name, joint.kind, joint.parent, joint.child, joint.position, joint.axis, joint.second_axis,
            joint.limits, joint.break_force, joint.break_torque, joint.collide, joint.coordinate_limits,
        )  # fmt: skip
        for control in joint.controls:
            self.joints.control(control)

    def _check_overlaps(self, when: str = "at the start", body: str | None = None) -> list[str]:
        """Notes on bodies that lie inside one another; a UserError where they cannot be parted. body: only its own."""
        notes = []
        for first, second, depth in self.solids.overlapping():
            if body is not None and body not in (first, second):
                continue
            thin = min(self._looks[name].form.shape.thickness() for name in (first, second))
            text = f"objects.{first} and objects.{second} overlap by {depth:.3g} m {when}"
            if depth > MAX_INITIAL_PENETRATION * thin:
                raise UserError(f"{text}, too deep to be parted; move them apart")
            notes.append(f"{text}; they are pushed apart")
        return notes

    # what a step did ------------------------------------------------------------------------------------------------

    def take_report(self, report: SolidsReport) -> None:
        """What a step did to the bodies among themselves; the forces of a fluid are added by who knows them."""
        self.report, forces, solids = report, self.force_table, self.solids
        forces.values[...] = 0.0
        forces.contact[...] = solids.contact_force_b
        forces.joint[...] = solids.joint_force_b
        forces.torque_solids[...] = solids.contact_torque_b + solids.joint_torque_b

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

    def displaced_volume(self, b: int) -> float:
        """Volume of body b, what it displaces in a fluid [m3; 2D m2]; 0 unless it is dynamic, and of a sheet."""
        form = self._looks[self.bodies.names[b]].form
        return 0.0 if form.found is None else form.found.volume

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
        if self.in_fluid:
            yield from self.force_table.quantities(self.body_names())

    def body_names(self) -> list[str]:
        return [name for name in self._looks if name in self.bodies.names]

    def body_state(self, name: str, time: float) -> BodyState:
        b = self.bodies.index(name)
        position, rotation = self.bodies.shape_pose(b)
        omega = self.bodies.omega_b[b].copy()
        velocity = self.bodies.v_b[b] + np.cross(omega, position - self.bodies.x_b[b])
        return BodyState(position, rotation, velocity, omega)

    def body_forces(self, name: str) -> BodyForces:
        return self.force_table.of(self.bodies.index(name))

    def frames(self, time: float) -> list[object]:
        found: list[object] = []
        for b, name in enumerate(self.bodies.names):
            look = self._looks.get(name)
            if look is None or not look.visible:
                continue
            position, rotation = self.bodies.shape_pose(b)
            vertices, triangles = look.form.surface
            placed = vertices @ rotation.T + position
            velocity = self.bodies.v_b[b] + np.cross(self.bodies.omega_b[b], placed - self.bodies.x_b[b])
            endless = look.form.shape.is_endless
            found.append(BodyFrame(name, placed, triangles, look.color, velocity, endless))
        return found

    def arrays(self) -> dict[str, Array]:
        found = {**self.bodies.arrays(), **self.joints.arrays(), **self.solids.arrays()}
        return {**found, "rigid_forces": self.force_table.values}

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        self.bodies.keep(arrays["rigid_identity"])
        fixed = {**self.bodies.arrays(), **self.joints.arrays(), "rigid_forces": self.force_table.values}
        restore_arrays(fixed, arrays)
        self.joints.restore(arrays)
        self.solids.restore(dict(arrays))

    def locate(self, name: str, index: tuple[int, ...]) -> str:
        if name.startswith("rigid_"):
            return f"first of objects.{self.bodies.names[index[0]]}"
        return super().locate(name, index)
