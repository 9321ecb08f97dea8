"""Physical things: solids with their mass or motion, joints, water, and sources of smoke and water."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, Tag, model_validator

from undertow.scene.base import (
    AngularVelocity,
    Axis,
    Color,
    ContactAngle,
    Damping,
    Density,
    Flag,
    Force,
    Instant,
    Kelvin,
    Length,
    Mass,
    Model,
    NonNegativeNumber,
    Number,
    Point,
    Seconds,
    Share,
    Stiffness,
    Text,
    Torque,
    Velocity,
    Viscosity,
    VolumeRate,
    check_number,
    check_vector,
    complain,
    plain,
)
from undertow.scene.choice import BY_TYPE, check_type
from undertow.scene.curves import AngleCurve
from undertow.scene.faults import suggest
from undertow.scene.fracture import Fracture
from undertow.scene.heights import VelocityTable
from undertow.scene.loads import Loads
from undertow.scene.materials import SOLID_MATERIALS, check_density
from undertow.scene.motion import Keyframes, Motion, Rotation, Static
from undertow.scene.shapes import RigidShape, Shape
from undertow.scene.soft import Cloth, Rope, SoftBody
from undertow.scene.waves import Beach, WaveMaker


def _check_inertia(value: Any) -> Any:
    """One number, three numbers, or three rows of three; what is physical is checked with the mass."""
    value, unit = plain(value), "kg m2"
    if isinstance(value, list | tuple) and value and all(isinstance(row, list | tuple) for row in value):
        if len(value) != 3:
            raise complain(f"must have three rows, not {len(value)}; or give three moments in {unit}")
        return tuple(check_vector(row, unit, (3,)) for row in value)
    if isinstance(value, list | tuple):
        return check_vector(value, unit, (3,))
    return check_number(value, f"{unit} (2D: kg m)", above=0.0)


Inertia = Annotated[float | tuple[float, ...] | tuple[tuple[float, ...], ...], BeforeValidator(_check_inertia)]


class RigidBody(Model):
    """A rigid solid: dynamic when it has a density, mass or material, else it moves as prescribed, or not at all."""

    type: Literal["rigid_body"] = "rigid_body"
    shape: RigidShape = Field(description="the shape, such as { type = 'sphere', radius = 0.1 }")
    position: Point = Field(description="position of the centre at t = 0 [m]")
    rotation: Rotation = Field(Rotation(), description="rotation at t = 0")
    motion: Motion = Field(Static(), description="static, velocity or keyframes")
    material: Text | None = Field(None, description="name of a solid material that gives the density")
    density: Density | None = Field(None, description="density [kg/m3]; makes the body dynamic")
    mass: Mass | None = Field(None, description="mass [kg; 2D kg/m] in place of a density; makes the body dynamic")
    inertia: Inertia | None = Field(
        None,
        description="three moments about the axes of the shape or a 3 x 3 tensor, at the centre of mass [kg m2]; 2D: "
        "the moment about z [kg m]; absent: of uniform density",
    )
    centre_of_mass: Point | None = Field(
        None,
        description="centre of mass in the frame of the shape [m]; absent: of uniform density; inertia, if it is not "
        "given, stays that of uniform density about its own centre",
    )
    velocity: Velocity = Field((0.0, 0.0, 0.0), description="dynamic: velocity of the centre of mass at t = 0 [m/s]")
    angular_velocity: AngularVelocity = Field((0.0, 0.0, 0.0), description="dynamic: at t = 0 [rad/s]; along z in 2D")
    friction: NonNegativeNumber = Field(0.5, description="Coulomb friction; a pair has the geometric mean [-]")
    restitution: Share = Field(0.0, description="share of the approach speed that bounces back, 0 to 1 [-]")
    rolling_friction: Length = Field(0.0, description="resistance to rolling as a length [m]")
    spinning_friction: Length = Field(0.0, description="resistance to spinning about the contact normal [m]")
    collision_group: Text = Field("default", description="name of the group of rigid bodies that it belongs to")
    collides_with: tuple[Text, ...] | None = Field(
        None,
        description="groups with whose bodies it collides, if they collide with its group too; [] none; absent: all",
    )
    loads: Loads = Field((), description="dynamic: forces, torques, tractions and pressures on it")
    fracture: Fracture | None = Field(
        None, description="dynamic: how it breaks, such as { pattern = 'radial', strength = 20.0 }; absent: never"
    )
    slip: Flag = Field(False, description="true: viscous fluid slides along the surface; false: it sticks")
    contact_angle: ContactAngle | None = Field(
        None,
        description="angle in the water at which its surface meets the body, 0 to 180 [degrees]; absent: the surface "
        "goes on into the body as it is",
    )
    color: Color = Field((0.80, 0.36, 0.22), description="red, green, blue in pictures, 0 to 1")
    drawn: Flag = Field(True, description="false: not in frames and pictures, to look through a wall")

    @property
    def is_dynamic(self) -> bool:
        """True when forces move it."""
        return self.density is not None or self.mass is not None or self.shape.has_mass

    @model_validator(mode="before")
    @classmethod
    def _density_of_material(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("material"), str):
            return data
        name = data["material"]
        if name not in SOLID_MATERIALS:
            raise complain(
                f"material = {name!r} is unknown; {suggest(name, list(SOLID_MATERIALS))}"
                f"The solid materials are {', '.join(SOLID_MATERIALS)}; or give a density"
            )
        return data if "mass" in data else {"density": SOLID_MATERIALS[name].density, **data}

    @model_validator(mode="before")
    @classmethod
    def _pose_of_keyframes(cls, data: Any) -> Any:
        """With keyframes the pose at t = 0 is that of the first key unless it is given."""
        if not isinstance(data, dict):
            return data
        motion = data.get("motion")
        keys = motion if isinstance(motion, dict) else getattr(motion, "__dict__", {})
        if keys.get("type") == "keyframes":
            if "position" not in data and keys.get("positions"):
                data = {**data, "position": keys["positions"][0]}
            if "rotation" not in data and keys.get("rotations"):
                data = {**data, "rotation": keys["rotations"][0]}
        return data

    @model_validator(mode="after")
    def _check(self) -> RigidBody:
        motion = self.motion
        check_density(self.material, self.density)
        if isinstance(motion, Keyframes):
            first = motion.rotations[0] if motion.rotations else self.rotation
            if motion.positions[0] != self.position or first != self.rotation:
                raise complain("position and rotation differ from the first keyframe; leave them out")
        if self.shape.is_animated and (self.is_dynamic or not isinstance(motion, Static)):
            raise complain("an animated mesh carries its own motion; remove motion, density and mass")
        if self.density is not None and self.mass is not None:
            raise complain("has both a density and a mass; give one of them")
        if self.is_dynamic and not isinstance(motion, Static):
            raise complain("has a density or mass and a prescribed motion; forces move it, or motion does: remove one")
        for key in ("inertia", "centre_of_mass"):
            if getattr(self, key) is not None and not self.is_dynamic:
                raise complain(f"{key} has no effect without a density or mass; add one of them or remove it")
        if self.fracture is not None:
            self._check_fracture()
        if self.loads and not self.is_dynamic:
            raise complain("loads move no body without a density or mass; add one of them or remove the loads")
        densities = self.shape.part_densities()
        if self.mass is not None and any(densities):
            raise complain("has a mass, and parts of it have densities; give one of them")
        if any(densities) and not self.is_dynamic:
            n = densities.index(None)
            raise complain(f"shape.parts.{n}.density is missing; give every part a density, or the body one")
        if self.collides_with is not None and len(set(self.collides_with)) != len(self.collides_with):
            raise complain(f"collides_with = {list(self.collides_with)}: names a group twice; name it once")
        if self.is_dynamic and self.shape.is_endless:
            raise complain("a plane has no end and no mass; remove density and mass, or use a box")
        if not self.is_dynamic and (any(self.velocity) or any(self.angular_velocity)):
            raise complain(
                "velocity and angular_velocity start a dynamic body; give it a density, "
                "or use motion = { type = 'velocity', linear = ..., angular = ... }"
            )
        return self


    def _check_fracture(self) -> None:
        """Its pieces have the density that it has everywhere."""
        if not self.is_dynamic:
            raise complain("fracture needs a density or mass; add one, and a fixed joint where the body is to be held")
        for key in ("inertia", "centre_of_mass"):
            if getattr(self, key) is not None:
                raise complain(f"fracture takes the same density everywhere; remove {key}, or fracture")
        if self.density is None and self.mass is None:
            raise complain("fracture takes the same density everywhere; give the body one, or remove fracture")


MOST_GROUPS = 60
"""Groups of rigid bodies: one bit each of a whole number."""


def check_groups(bodies: Mapping[str, RigidBody]) -> None:
    """Groups that bodies collide with are groups of bodies of the scene."""
    known = list(dict.fromkeys(["default", *(body.collision_group for body in bodies.values())]))
    if len(known) > MOST_GROUPS:
        raise complain(f"objects: {len(known)} collision groups; at most {MOST_GROUPS}: join some of them")
    for name, body in bodies.items():
        for group in body.collides_with or ():
            if group not in known:
                raise complain(
                    f"objects.{name}.collides_with: no body has the collision_group {group!r}; "
                    f"{suggest(group, known)}The groups are {', '.join(known)}"
                )


JOINT_AXES = {"ball": ("x", "y", "z"), "universal": ("first", "second"), "planar": ("x", "y", "angle")}
"""What is free of the joints with several free axes: turns of a ball joint about the axes of its frame, of a universal
one about ``axis`` and ``second_axis``; displacements of a planar joint along x and y of its frame, and its angle."""


class Control(Model):
    """Proportional-derivative control of an angle or displacement of a joint.

    It pulls with stiffness (target - angle) + damping (rate of the target - rate). ``speed`` in the place of ``target``
    drives at a constant rate.
    """

    target: AngleCurve | None = Field(
        None, description="wanted angle [degrees] or displacement [m]: a number or a curve; absent: give speed"
    )
    speed: Number | None = Field(
        None, description="wanted rate [degrees/s] or [m/s], from 0 at t = 0; with stiffness = 0 the rate alone counts"
    )
    stiffness: Stiffness = Field(description="torque per angle [N m/rad], or force per length [N/m]")
    damping: Damping = Field(description="torque per angular velocity [N m s/rad], or force per velocity [N s/m]")
    limit: Torque | None = Field(None, description="largest torque [N m] or force [N]; absent: no limit")

    @model_validator(mode="after")
    def _check(self) -> Control:
        if (self.target is None) == (self.speed is None):
            raise complain("needs a target (angle or displacement) or a speed, one of them")
        return self


class JointAxis(Model):
    """Limits and control of one free axis of a joint with several."""

    lower: Number | None = Field(None, description="smallest angle [degrees] or displacement [m]; absent: no limit")
    upper: Number | None = Field(None, description="largest angle [degrees] or displacement [m]; absent: no limit")
    control: Control | None = Field(None, description="drives the angle or displacement; absent: moves freely")

    @model_validator(mode="after")
    def _check(self) -> JointAxis:
        _check_limits(self.lower, self.upper)
        return self


def _check_limits(lower: float | None, upper: float | None) -> None:
    """Limits of an angle or displacement that is 0 at the start."""
    if lower is not None and upper is not None and lower >= upper:
        raise complain(f"lower = {lower:g} must be below upper = {upper:g}; swap them")
    if (lower or 0.0) > 0 or (upper or 0.0) < 0:
        raise complain("the joint starts at 0, outside its limits; lower must be <= 0 and upper >= 0")


class Joint(Model):
    """Holds two rigid bodies together, or one to the world.

    fixed: nothing moves; ball: free to turn; hinge: turns about ``axis``; universal: turns about ``axis`` of the parent
    and ``second_axis`` of the child; prismatic: slides along ``axis``; planar: slides across ``axis`` and turns about
    it. Angles and displacements are 0 at t = 0.

    Joints with several free axes have limits and motors by axis, ``axes.x = { lower = -10, upper = 20 }``. ball: x, y,
    z, the turn about each axis of its frame (z along ``axis``, x along ``second_axis``): swing and twist of the frame's
    axis nearest to the child's arm, so that one motor across the arm holds it; universal: first, second, the
    turn about ``axis`` and ``second_axis``; planar: x, y, displacements, and angle.
    """

    type: Literal["joint"] = "joint"
    kind: Literal["fixed", "ball", "hinge", "universal", "prismatic", "planar"] = Field(description="what stays free")
    parent: Text | None = Field(None, description="name of a rigid body; absent: the world")
    child: Text = Field(description="name of a rigid body")
    position: Point = Field(description="where the joint is at t = 0 [m]")
    axis: Axis = Field((0.0, 0.0, 1.0), description="axis at t = 0, any length")
    second_axis: Axis | None = Field(
        None, description="universal: second axis at t = 0, across the first; ball, planar: x of the joint's frame"
    )
    lower: Number | None = Field(
        None, description="smallest angle [degrees] of a hinge or displacement [m] of a slider"
    )
    upper: Number | None = Field(
        None,
        description="largest angle [degrees] of a hinge or displacement [m] of a slider; how far a ball joint (its "
        "axis) or universal joint (its shaft, across both axes) may bend [degrees]",
    )
    break_force: Force | None = Field(None, description="the joint breaks above this force [N]; absent: never")
    break_torque: Torque | None = Field(None, description="the joint breaks above this torque [N m]; absent: never")
    collide: Flag = Field(False, description="true: the two bodies collide with each other all the same")
    control: Control | None = Field(None, description="drives the angle or displacement; absent: moves freely")

    axes: dict[Text, JointAxis] = Field({}, description="ball, universal, planar: limits and control of each free axis")

    @model_validator(mode="after")
    def _check(self) -> Joint:
        if self.parent == self.child:
            raise complain(f"parent and child are both {self.child!r}; a joint holds two different bodies")
        if not any(self.axis):
            raise complain("axis must not be zero")
        if (self.second_axis is not None) != (self.kind == "universal") and self.kind not in ("ball", "planar"):
            raise complain("second_axis belongs to kind = 'universal', which needs it; add or remove it")
        if self.second_axis is not None and not any(self.second_axis):
            raise complain("second_axis must not be zero")
        if self.upper is not None and self.kind in ("fixed", "planar"):
            where = "give it to one of axes.x, axes.y, axes.angle" if self.kind == "planar" else "remove it"
            raise complain(f"upper has no effect on kind = {self.kind!r}, which has no one angle or length; {where}")
        for key in ("lower", "control"):
            if getattr(self, key) is not None and self.kind not in ("hinge", "prismatic"):
                raise complain(
                    f"{key} has no effect on kind = {self.kind!r}: it belongs to hinge and prismatic joints; "
                    + (
                        f"give it to one of axes.{', axes.'.join(JOINT_AXES[self.kind])}"
                        if self.kind in JOINT_AXES
                        else "remove it"
                    )
                )
        for name in self.axes:
            known = JOINT_AXES.get(self.kind, ())
            if name not in known:
                raise complain(
                    f"axes.{name} has no effect on kind = {self.kind!r}: "
                    + (f"its axes are {', '.join(known)}" if known else "use lower, upper and control, if it moves")
                )
        _check_limits(self.lower, self.upper)
        return self


class Emitter(Model):
    """A source of smoke: density and temperature are held at their values inside its shape while it is on."""

    type: Literal["emitter"] = "emitter"
    shape: Shape = Field(description="the shape, such as { type = 'sphere', radius = 0.1 }")
    position: Point = Field(description="position of the centre [m]")
    rotation: Rotation = Field(Rotation(), description="rotation")
    density: NonNegativeNumber = Field(1.0, description="smoke density inside, 0 to 1 [-]")
    temperature: Kelvin | None = Field(None, description="temperature inside [K]; absent: the ambient temperature")
    velocity: Velocity | None = Field(None, description="velocity imposed inside [m/s]; absent: not imposed")
    start: Instant = Field(0.0, description="time at which it turns on [s]")
    stop: Seconds | None = Field(None, description="time at which it turns off [s]; absent: never")

    @model_validator(mode="after")
    def _check(self) -> Emitter:
        if self.stop is not None and self.stop <= self.start:
            raise complain(f"stop = {self.stop:g} must come after start = {self.start:g}")
        if self.shape.is_animated:
            raise complain("an emitter cannot be an animated mesh; use a mesh")
        return self


class Water(Model):
    """Liquid at t = 0: the inside of a shape. Its presence gives the fluid a free surface; the rest is air."""

    type: Literal["water"] = "water"
    shape: Shape = Field(description="the shape, such as { type = 'box', size = [0.5, 0.5, 1.0] }")
    position: Point = Field(description="position of the centre [m]")
    rotation: Rotation = Field(Rotation(), description="rotation")
    velocity: Velocity = Field((0.0, 0.0, 0.0), description="velocity at t = 0 [m/s]")
    velocity_field: VelocityTable | None = Field(
        None, description="velocities at t = 0 by places, such as { x = [0, 1], values = [[0, 0], [1, 0]] }"
    )
    viscosity: Viscosity | None = Field(
        None, description="dynamic viscosity of this water, which it carries along [Pa s]; absent: that of the fluid"
    )

    @model_validator(mode="after")
    def _check(self) -> Water:
        if self.shape.is_animated:
            raise complain("water cannot be an animated mesh; use a mesh")
        _check_one_velocity(self)
        return self


def _check_one_velocity(item: Water | SphFluid) -> None:
    if item.velocity_field is not None and any(item.velocity):
        raise complain("has a velocity and a velocity_field; give one of them")


class WaterSource(Model):
    """A region that is kept full of moving water while it is on: a tap, a jet."""

    type: Literal["water_source"] = "water_source"
    shape: Shape = Field(description="the shape, such as { type = 'sphere', radius = 0.1 }")
    position: Point = Field(description="position of the centre [m]")
    rotation: Rotation = Field(Rotation(), description="rotation")
    velocity: Velocity = Field(description="velocity of the water [m/s]")
    viscosity: Viscosity | None = Field(
        None, description="dynamic viscosity of this water, which it carries along [Pa s]; absent: that of the fluid"
    )
    start: Instant = Field(0.0, description="time at which it turns on [s]")
    stop: Seconds | None = Field(None, description="time at which it turns off [s]; absent: never")

    @model_validator(mode="after")
    def _check(self) -> WaterSource:
        if self.stop is not None and self.stop <= self.start:
            raise complain(f"stop = {self.stop:g} must come after start = {self.start:g}")
        if self.shape.is_animated:
            raise complain("a source cannot be an animated mesh; use a mesh")
        return self


class Drain(Model):
    """A region that takes water away while it is on."""

    type: Literal["drain"] = "drain"
    shape: Shape = Field(description="the shape, such as { type = 'sphere', radius = 0.1 }")
    position: Point = Field(description="position of the centre [m]")
    rotation: Rotation = Field(Rotation(), description="rotation")
    rate: VolumeRate = Field(description="volume taken per second [m3/s; 2D m2/s]")
    start: Instant = Field(0.0, description="time at which it turns on [s]")
    stop: Seconds | None = Field(None, description="time at which it turns off [s]; absent: never")

    @model_validator(mode="after")
    def _check(self) -> Drain:
        if self.stop is not None and self.stop <= self.start:
            raise complain(f"stop = {self.stop:g} must come after start = {self.start:g}")
        if self.shape.is_animated:
            raise complain("a drain cannot be an animated mesh; use a mesh")
        return self


class Bubble(Model):
    """A region of ``fluid.air`` inside the water at t = 0."""

    type: Literal["bubble"] = "bubble"
    shape: Shape = Field(description="the shape, such as { type = 'sphere', radius = 0.1 }")
    position: Point = Field(description="position of the centre [m]")
    rotation: Rotation = Field(Rotation(), description="rotation")

    @model_validator(mode="after")
    def _check(self) -> Bubble:
        if self.shape.is_animated:
            raise complain("a bubble cannot be an animated mesh; use a mesh")
        return self


class SphFluid(Model):
    """A fluid of particles at t = 0: the inside of a shape; settings in the table [sph]."""

    type: Literal["sph_fluid"] = "sph_fluid"
    shape: Shape = Field(description="the shape, such as { type = 'box', size = [0.5, 0.5, 1.0] }")
    position: Point = Field(description="position of the centre [m]")
    rotation: Rotation = Field(Rotation(), description="rotation")
    velocity: Velocity = Field((0.0, 0.0, 0.0), description="velocity at t = 0 [m/s]")
    velocity_field: VelocityTable | None = Field(
        None, description="velocities at t = 0 by places, such as { x = [0, 1], values = [[0, 0], [1, 0]] }"
    )

    @model_validator(mode="after")
    def _check(self) -> SphFluid:
        if self.shape.is_animated:
            raise complain("a fluid cannot be an animated mesh; use a mesh")
        _check_one_velocity(self)
        return self


SceneObject = Annotated[
    Annotated[RigidBody, Tag("<rigid_body>")]
    | Annotated[Joint, Tag("<joint>")]
    | Annotated[Emitter, Tag("<emitter>")]
    | Annotated[Water, Tag("<water>")]
    | Annotated[WaterSource, Tag("<water_source>")]
    | Annotated[Drain, Tag("<drain>")]
    | Annotated[Bubble, Tag("<bubble>")]
    | Annotated[SoftBody, Tag("<soft_body>")]
    | Annotated[Cloth, Tag("<cloth>")]
    | Annotated[Rope, Tag("<rope>")]
    | Annotated[SphFluid, Tag("<sph_fluid>")]
    | Annotated[WaveMaker, Tag("<wave_maker>")]
    | Annotated[Beach, Tag("<beach>")],
    BY_TYPE,
    check_type(
        "rigid_body",
        "joint",
        "emitter",
        "water",
        "water_source",
        "drain",
        "bubble",
        "soft_body",
        "cloth",
        "rope",
        "sph_fluid",
        "wave_maker",
        "beach",
    ),
]
