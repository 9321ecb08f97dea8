"""Solids without fluid: rigid bodies that fall, collide, rest and are joined."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import undertow.geometry as geometry
from undertow.errors import UserError
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
    Quantity,
    components,
    restore_arrays,
)
from undertow.rigid.bodies import RigidBodies
from undertow.rigid.control import JointControl, Ramp
from undertow.rigid.joints import Joints
from undertow.rigid.mass import MassProperties, add_points, mass_properties
from undertow.rigid.placing import place_body
from undertow.rigid.shapes import CollisionShapes
from undertow.run import build
from undertow.run.models import Model, ModelStep
from undertow.scene import Joint, JointAxis, RigidBody, Scene, Sine, Static, Table
from undertow.solids import Solids, SolidSettings, SolidsReport
from undertow.solids.step import JointReport

if TYPE_CHECKING:
    from undertow.output import BodyFrame

HOPELESS = 0.25
"""Bodies that start overlapping deeper than this part of the smaller one's thickness are refused."""


@dataclass(frozen=True)
class _Form:
    """A shape with what bodies of it share: index of its collision shape, mass properties at density 1 (or with the
    inertia given) of dynamic ones, and its surface for drawing."""

    shape: geometry.Shape
    index: int
    found: MassProperties | None
    surface: tuple[Array, Any]


class SolidsModel(Model):
    """The bodies and joints of a scene: a model without fluid, a part beside one.

    In a fluid, what the ledger has of both ends in ``_solids`` for the solids.
    """

    name = "solids"

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._in_fluid = scene.domain is not None
        self._suffix = "_solids" if self._in_fluid else ""
        self._forces = ForceTable()
        self.report: SolidsReport | None = None
        """What the last step did."""
        self.bodies = RigidBodies(scene.dimensions)
        self.shapes = CollisionShapes(scene.dimensions)
        self._forms: dict[Any, _Form] = {}
        self._groups: dict[str, int] = {}
        self._said: set[str] = set()
        self._form_of: dict[str, _Form] = {}
        for name, body in scene.bodies.items():
            self._add_body(name, body)
        self.joints = Joints(self.bodies, scene.solids.joint_solver)
        for name, joint in scene.joints.items():
            self._add_joint(name, joint)
        chosen = scene.solids
        settings = SolidSettings(
            gravity=build.vector3(scene.gravity),
            orientation_order=chosen.orientation_order,
            energy_fix=chosen.energy_fix,
            clamp=chosen.clamp,
            iterations=chosen.iterations,
            tolerance=chosen.tolerance,
        )
        self.solids = Solids(self.bodies, self.shapes, settings, self.joints if scene.joints else None)
        self.notes = self._check_overlaps()

    def _add_body(self, name: str, body: RigidBody, time: float = 0.0) -> None:
        form = self._form(name, body)
        motion = build.make_motion(body)
        position, R = motion.pose(time)
        options: dict[str, Any] = {
            "friction": body.friction,
            "restitution": body.restitution,
            "rolling": body.rolling_friction,
            "spinning": body.spinning_friction,
            **self._groups_of(body),
        }
        found, index = form.found, form.index
        if found is None:
            options["motion"] = None if isinstance(body.motion, Static) else motion
        else:
            mass = body.mass if body.mass is not None else (body.density or 1.0) * found.mass
            inertia = found.inertia if body.inertia is not None else found.inertia * (mass / found.mass)
            found = found._replace(mass=mass, inertia=inertia)
            velocity, omega = np.array(build.vector3(body.velocity)), np.array(body.angular_velocity)
            points, masses = self.carried_by(name)
            if len(masses):
                own = found.centre
                found = add_points(found, (points - position) @ R, masses)
                velocity = velocity + np.cross(omega, R @ (found.centre - own))
                index = self.shapes.add(form.shape, found.centre, found.rotation)
            options["velocity"], options["angular_velocity"] = velocity, omega
        place_body(self.bodies, name, index, position, R, found, **options)

    def _groups_of(self, body: RigidBody) -> dict[str, int]:
        """Bits of the collision group of a body and of those it collides with."""
        names = (body.collision_group, *(body.collides_with or ()))
        bits = {name: 1 << self._groups.setdefault(name, len(self._groups)) for name in names}
        mask = -1 if body.collides_with is None else sum(bits[name] for name in body.collides_with)
        return {"group": bits[body.collision_group], "mask": mask}

    def carried_by(self, name: str) -> tuple[Array, Array]:
        """Points (k, 3) [m] and masses (k,) [kg] that a body carries from the start, as parts of it: none."""
        return np.zeros((0, 3)), np.zeros(0)

    def _form(self, name: str, body: RigidBody) -> _Form:
        """The form of a body; equal shapes share one."""
        density = body.density if body.shape.part_densities() else None
        key = (body.shape, body.is_dynamic, body.inertia, body.centre_of_mass, density)
        if key not in self._forms:
            shape = build.make_shape(name, body, self.scene.dimensions)
            if shape.is_animated:
                raise UserError(f"objects.{name}.shape: an animated mesh needs a [domain] with fluid; use a mesh")
            shape = shape.drawn_to(self._reach()).with_density(density)
            found = None
            if body.is_dynamic:
                try:
                    centre = None if body.centre_of_mass is None else np.array(build.vector3(body.centre_of_mass))
                    found = mass_properties(shape, 1.0, None, self.scene.dimensions, body.inertia, centre, "mass")
                except UserError as error:
                    raise UserError(f"objects.{name}: {error}") from None
            frame = () if found is None else (found.centre, found.rotation)
            index = self.shapes.add(shape, *frame)
            count = len(self.scene.bodies)
            surface = shape.surface(48 if count <= 50 else 24 if count <= 300 else 16)
            self._forms[key] = _Form(shape, index, found, surface)
        self._form_of[name] = self._forms[key]
        return self._forms[key]

    def add(self, scene: Scene, name: str, time: float) -> None:
        """Put in a body of ``scene``, which is that of now and this body, at a time [s]; refused where it overlaps."""
        before = self.scene
        self.include(scene, name, time)
        try:
            self.notes += self._check_overlaps(f"at t = {time:.6g} s", name)
        except UserError:
            self.bodies.withdraw()
            self.scene = before
            raise

    def include(self, scene: Scene, name: str, time: float) -> None:
        """Put in a body of ``scene`` without a look at the others."""
        self._add_body(name, scene.bodies[name], time)
        self.scene = scene
        self.solids.prepare()

    def remove(self, name: str) -> None:
        """Take a body out; joints that held it are broken."""
        b, forces = self.bodies.index(name), self.force_table
        self.bodies.remove(b)
        forces.remove(b)
        self.solids.prepare()

    def displaced_volume(self, b: int) -> float:
        """Volume of body b, what it displaces in a fluid [m3; 2D m2]; 0 unless it is dynamic, and of a sheet."""
        form = self._form_of[self.bodies.names[b]]
        return 0.0 if form.found is None else form.found.volume

    def _reach(self) -> float:
        """How far planes are drawn [m]."""
        points = np.array([build.vector3(body.position) for body in self.scene.bodies.values()])
        return 2.0 * max(1.0, float(np.ptp(points, axis=0).max()))

    def _add_joint(self, name: str, joint: Joint) -> None:
        coordinates: dict[str, Joint | JointAxis] = {"": joint, **joint.axes}
        limits = {axis: _limits(one, _unit(joint, axis)) for axis, one in coordinates.items()}
        self.joints.add(
            name,
            joint.kind,
            joint.parent,
            joint.child,
            build.vector3(joint.position),
            joint.axis,
            joint.second_axis,
            limits.pop(""),
            math.inf if joint.break_force is None else joint.break_force,
            math.inf if joint.break_torque is None else joint.break_torque,
            joint.collide,
            {axis: limit for axis, limit in limits.items() if limit is not None},
        )
        for axis, one in coordinates.items():
            if one.control is not None:
                control, unit = one.control, _unit(joint, axis)
                largest = math.inf if control.limit is None else control.limit
                if control.target is None:
                    target: geometry.Curve = Ramp(unit * (control.speed or 0.0))
                else:
                    target = _scalar_curve(control.target, unit)
                self.joints.control(JointControl(name, target, control.stiffness, control.damping, largest, axis))

    def _check_overlaps(self, when: str = "at the start", body: str | None = None) -> list[str]:
        """Notes on bodies that lie inside one another; a UserError where they cannot be parted. body: only its own."""
        notes = []
        for first, second, depth in self.solids.overlapping():
            if body is not None and body not in (first, second):
                continue
            thin = min(self._form_of[name].shape.thickness() for name in (first, second))
            text = f"objects.{first} and objects.{second} overlap by {depth:.3g} m {when}"
            if depth > HOPELESS * thin:
                raise UserError(f"{text}, too deep to be parted; move them apart")
            notes.append(f"{text}; they are pushed apart")
        return notes

    # a part of a simulation ------------------------------------------------------------------------------------------

    def step(self, time: float, time_step: float) -> ModelStep:
        report = self.solids.step(time, time_step)
        self.take_report(report)
        return ModelStep(report.iterations, report, tuple(self.events(report)))

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
            if text and kind not in self._said:
                self._said.add(kind)
                events.append(f"{text} (the ledger counts how often)")
        return events

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
        if self._in_fluid:
            yield from self.force_table.quantities(self.scene.bodies)

    def body_names(self) -> list[str]:
        return [name for name in self.scene.bodies if name in self.bodies.names]

    def body_state(self, name: str, time: float) -> BodyState:
        b = self.bodies.index(name)
        position, rotation = self.bodies.shape_pose(b)
        omega = self.bodies.omega_b[b].copy()
        velocity = self.bodies.v_b[b] + np.cross(omega, position - self.bodies.x_b[b])
        return BodyState(position, rotation, velocity, omega)

    @property
    def force_table(self) -> ForceTable:
        """Forces on the bodies over the last step, in the order of the bodies; none on those that are new."""
        self._forces.resize(self.bodies.count)
        return self._forces

    def body_forces(self, name: str) -> BodyForces:
        return self.force_table.of(self.bodies.index(name))

    def body_frames(self) -> list[BodyFrame]:
        """The surfaces of the bodies that are drawn."""
        from undertow.output import BodyFrame

        frames = []
        for b, name in enumerate(self.bodies.names):
            if name not in self.scene.bodies or not self.scene.bodies[name].drawn:  # a side of the domain
                continue
            form = self._form_of[name]
            position, rotation = self.bodies.shape_pose(b)
            vertices, triangles = form.surface
            placed = vertices @ rotation.T + position
            velocity = self.bodies.v_b[b] + np.cross(self.bodies.omega_b[b], placed - self.bodies.x_b[b])
            color = build.vector3(self.scene.bodies[name].color)
            endless = form.shape.is_endless
            frames.append(BodyFrame(name, placed, triangles, color, velocity, endless))
        return frames

    def frames(self, time: float) -> list[object]:
        return list(self.body_frames())

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


def _unit(joint: Joint, axis: str) -> float:
    """Of a coordinate of a joint in a scene: 1 [m] or a degree [rad]."""
    return 1.0 if joint.kind == "prismatic" or (joint.kind == "planar" and axis != "angle") else math.pi / 180


def _limits(axis: Joint | JointAxis, unit: float) -> tuple[float, float] | None:
    """Lowest and highest value of a coordinate [rad or m], if it has any."""
    if axis.lower is None and axis.upper is None:
        return None
    return (
        -math.inf if axis.lower is None else unit * axis.lower,
        math.inf if axis.upper is None else unit * axis.upper,
    )


def _scalar_curve(curve: float | Table | Sine, unit: float) -> geometry.Curve:
    """A curve of one component, in units of ``unit``."""
    if isinstance(curve, Table):
        return geometry.TableCurve(curve.times, list(unit * np.array(curve.values)), curve.interpolation)
    if isinstance(curve, Sine):
        return geometry.SineCurve(unit * float(curve.mean), unit * float(curve.amplitude), curve.frequency, curve.phase)  # type: ignore[arg-type]
    return geometry.ConstantCurve(unit * curve)
