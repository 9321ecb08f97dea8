"""Solids without fluid: rigid bodies that fall, collide, rest and are joined."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import undertow.geometry as geometry
from undertow.errors import UserError
from undertow.grid import Array
from undertow.rigid.bodies import (
    RigidBodies,
    conjugate,
    multiply_quaternions,
    quaternion_of_matrix,
    rotation_matrix_of,
)
from undertow.rigid.control import JointControl
from undertow.rigid.joints import Joints
from undertow.rigid.mass import mass_properties
from undertow.rigid.shapes import CollisionShapes
from undertow.run import build
from undertow.run.models import BodyForces, BodyState, ModelStep, take_arrays, vector
from undertow.scene import Joint, RigidBody, Scene, Sine, Static, Table
from undertow.solids import Solids, SolidSettings, SolidsReport

if TYPE_CHECKING:
    from undertow.output import BodyFrame

HOPELESS = 0.25
"""Bodies that start overlapping deeper than this part of the smaller one's thickness are refused."""

QUANTITIES = (
    "momentum_x", "momentum_y", "momentum_z", "angular_momentum_x", "angular_momentum_y", "angular_momentum_z",
    "kinetic_energy", "potential_energy", "energy", "contacts", "collisions", "clamped", "penetration", "joint_error",
    "iterations", "residual",
)  # fmt: skip


@dataclass(frozen=True)
class _Form:
    """A shape with what bodies of it share: mass and principal moments at density 1, and its surface for drawing."""

    shape: build.SolidShape
    index: int
    mass: float
    inertia: Array
    centre: Array
    rotation: Array
    surface: tuple[Array, Any]


class SolidsModel:
    """The bodies and joints of a scene without fluid."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.bodies = RigidBodies(scene.dimensions)
        self.shapes = CollisionShapes(scene.dimensions)
        self._forms: dict[Any, _Form] = {}
        self._form_b: list[_Form] = []
        for name, body in scene.bodies.items():
            self._add_body(name, body)
        self.joints = Joints(self.bodies)
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

    @property
    def grid(self) -> None:
        """There is no fluid."""
        return None

    def _add_body(self, name: str, body: RigidBody) -> None:
        form = self._form(name, body)
        motion = build.make_motion(body)
        position, R = motion.pose(0.0)
        common: dict[str, Any] = {
            "friction": body.friction,
            "restitution": body.restitution,
            "rolling": body.rolling_friction,
            "spinning": body.spinning_friction,
        }
        if not body.is_dynamic:
            moving = None if isinstance(body.motion, Static) else motion
            self.bodies.add(name, form.index, position, quaternion_of_matrix(R), motion=moving, **common)
            return
        mass = body.mass if body.mass is not None else (body.density or 0.0) * form.mass
        b = self.bodies.add(
            name,
            form.index,
            position + R @ form.centre,
            multiply_quaternions(quaternion_of_matrix(R), form.rotation),
            mass,
            form.inertia * (mass / form.mass),
            velocity=np.array(build.vector3(body.velocity)),
            angular_velocity=np.array(body.angular_velocity),
            shape_offset=-(rotation_matrix_of(form.rotation).T @ form.centre),
            shape_turn=conjugate(form.rotation),
            **common,
        )
        assert b == len(self._form_b) - 1

    def _form(self, name: str, body: RigidBody) -> _Form:
        """The form of a body; equal shapes share one."""
        key = (body.shape, body.is_dynamic)
        if key not in self._forms:
            shape = build.make_shape(name, body)
            if isinstance(shape, geometry.AnimatedMesh):
                raise UserError(f"objects.{name}.shape: an animated mesh needs a [domain] with fluid; use a mesh")
            if isinstance(shape, geometry.Plane):
                shape = replace(shape, extent=self._reach())
            mass, inertia, centre, rotation = 0.0, np.zeros(3), np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
            if body.is_dynamic:
                try:
                    found = mass_properties(shape, density=1.0, dimensions=self.scene.dimensions)
                except UserError as error:
                    raise UserError(f"objects.{name}: {error}") from None
                mass, inertia, centre, rotation = found.mass, found.inertia, found.centre, found.rotation
            index = self.shapes.add(shape, centre, rotation)
            count = len(self.scene.bodies)
            surface = shape.surface(48 if count <= 50 else 24 if count <= 300 else 16)
            self._forms[key] = _Form(shape, index, mass, inertia, centre, rotation, surface)
        self._form_b.append(self._forms[key])
        return self._forms[key]

    def displaced_volume(self, b: int) -> float:
        """Volume of body b, what it displaces in a fluid [m3; 2D m2]; 0 unless it is dynamic."""
        return self._form_b[b].mass

    def _reach(self) -> float:
        """How far planes are drawn [m]."""
        points = np.array([build.vector3(body.position) for body in self.scene.bodies.values()])
        return 2.0 * max(1.0, float(np.ptp(points, axis=0).max()))

    def _add_joint(self, name: str, joint: Joint) -> None:
        turns = joint.kind == "hinge"
        unit = math.pi / 180 if turns else 1.0
        limits = None
        if joint.lower is not None or joint.upper is not None:
            lower = -math.inf if joint.lower is None else unit * joint.lower
            upper = math.inf if joint.upper is None else unit * joint.upper
            limits = (lower, upper)
        self.joints.add(
            name,
            joint.kind,
            joint.parent,
            joint.child,
            build.vector3(joint.position),
            joint.axis,
            joint.second_axis,
            limits,
            math.inf if joint.break_force is None else joint.break_force,
            math.inf if joint.break_torque is None else joint.break_torque,
        )
        if joint.control is not None:
            control = joint.control
            largest = math.inf if control.limit is None else control.limit
            target = _scalar_curve(control.target, unit)
            self.joints.control(JointControl(name, target, control.stiffness, control.damping, largest))

    def _check_overlaps(self) -> list[str]:
        """Notes on bodies that start inside one another; a UserError where they cannot be parted."""
        notes = []
        for first, second, depth in self.solids.overlapping():
            thin = min(self._form_b[self.bodies.index(name)].shape.thickness() for name in (first, second))
            text = f"objects.{first} and objects.{second} overlap by {depth:.3g} m at the start"
            if depth > HOPELESS * thin:
                raise UserError(f"{text}, too deep to be parted; move them apart")
            notes.append(f"{text}; they are pushed apart")
        return notes

    def limits(self, time: float) -> dict[str, float]:
        """No rule but the scene's: contacts are found within the reach of the step."""
        return {}

    def step(self, time: float, time_step: float) -> ModelStep:
        report = self.solids.step(time, time_step)
        return ModelStep(report.iterations, report, self._quantities(report))

    def _quantities(self, report: SolidsReport) -> dict[str, float]:
        bodies = self.bodies
        momentum = bodies.p_b.sum(axis=0)
        angular = (bodies.L_b + np.cross(bodies.x_b, bodies.p_b)).sum(axis=0)
        error = float(np.abs(self.joints.errors()).max(initial=0.0)) if self.joints.count else 0.0
        values = (
            *momentum, *angular, report.kinetic_after, report.potential_after,
            report.kinetic_after + report.potential_after, report.contacts, report.collisions, report.clamped,
            report.penetration, error, report.iterations, report.residual,
        )  # fmt: skip
        return {name: float(value) for name, value in zip(QUANTITIES, values, strict=True)}

    def columns(self) -> list[str]:
        return list(QUANTITIES)

    def state(self, name: str, time: float) -> BodyState:
        b = self.bodies.index(name)
        position, rotation = self.bodies.shape_pose(b)
        omega = self.bodies.omega_b[b].copy()
        velocity = self.bodies.v_b[b] + np.cross(omega, position - self.bodies.x_b[b])
        return BodyState(position, rotation, velocity, omega)

    def forces(self, name: str) -> BodyForces:
        b, solids = self.bodies.index(name), self.solids
        return BodyForces(
            contact=vector(solids.contact_force_b[b]) if len(solids.contact_force_b) > b else (0.0, 0.0, 0.0),
            joint=vector(solids.joint_force_b[b]) if len(solids.joint_force_b) > b else (0.0, 0.0, 0.0),
        )

    def body_frames(self, time: float) -> list[BodyFrame]:
        from undertow.output import BodyFrame

        frames = []
        for b, form in enumerate(self._form_b):
            position, rotation = self.bodies.shape_pose(b)
            vertices, triangles = form.surface
            placed = vertices @ rotation.T + position
            velocity = self.bodies.v_b[b] + np.cross(self.bodies.omega_b[b], placed - self.bodies.x_b[b])
            name = self.bodies.names[b]
            color = build.vector3(self.scene.bodies[name].color)
            endless = isinstance(form.shape, geometry.Plane)
            frames.append(BodyFrame(name, placed, triangles, color, velocity, endless))
        return frames

    def surface_frame(self) -> None:
        """There is no water."""
        return None

    def arrays(self) -> dict[str, Array]:
        return {**self.bodies.arrays(), **self.joints.arrays(), **self.solids.arrays()}

    def scalars(self) -> dict[str, Any]:
        return {}

    def restore(self, arrays: Mapping[str, Array], scalars: Mapping[str, Any], time: float) -> None:
        fixed = {**self.bodies.arrays(), **self.joints.arrays()}
        take_arrays(fixed, {name: array for name, array in arrays.items() if name in fixed})
        self.joints.restore(arrays)
        self.solids.restore(dict(arrays))

    def locate(self, name: str, index: tuple[int, ...]) -> str:
        if name.startswith("rigid_"):
            return f"first of objects.{self.bodies.names[index[0]]}"
        return f"first at entry {index}"


def _scalar_curve(curve: float | Table | Sine, unit: float) -> geometry.Curve:
    """A curve of one component, in units of ``unit``."""
    if isinstance(curve, Table):
        return geometry.TableCurve(curve.times, list(unit * np.array(curve.values)), curve.interpolation)
    if isinstance(curve, Sine):
        return geometry.SineCurve(unit * float(curve.mean), unit * float(curve.amplitude), curve.frequency, curve.phase)  # type: ignore[arg-type]
    return geometry.ConstantCurve(unit * curve)
