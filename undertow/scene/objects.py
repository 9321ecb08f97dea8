"""Physical things in the domain: solids with their motion, and sources of smoke."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, Tag, model_validator

from undertow.scene.base import (
    Axis,
    Color,
    Degrees,
    Flag,
    Instant,
    Kelvin,
    Model,
    NonNegativeNumber,
    Point,
    Seconds,
    Times,
    Velocity,
    check_times,
    check_vector,
    complain,
)
from undertow.scene.choice import BY_TYPE, check_type
from undertow.scene.curves import AngularVelocityCurve, VelocityCurve
from undertow.scene.shapes import MeshSequence, Shape


class Rotation(Model):
    """Turn about an axis, right-handed, body to world."""

    axis: Axis = Field((0.0, 0.0, 1.0), description="axis of the turn (x, y, z), any length; z in 2D")
    degrees: Degrees = Field(0.0, description="angle [degrees]")

    @model_validator(mode="after")
    def _check(self) -> Rotation:
        if not any(self.axis):
            raise complain("axis must not be zero; [0, 0, 1] turns in the x-y plane")
        return self

    def matrix(self) -> list[list[float]]:
        """Rotation matrix, Rodrigues' formula R = c I + s [a] + (1 - c) a a^T."""
        norm = math.sqrt(sum(a * a for a in self.axis))
        x, y, z = (a / norm for a in self.axis)
        c, s = math.cos(math.radians(self.degrees)), math.sin(math.radians(self.degrees))
        d = 1 - c
        return [
            [c + d * x * x, d * x * y - s * z, d * x * z + s * y],
            [d * x * y + s * z, c + d * y * y, d * y * z - s * x],
            [d * x * z - s * y, d * y * z + s * x, c + d * z * z],
        ]


class Static(Model):
    """At rest."""

    type: Literal["static"] = "static"


class PrescribedVelocity(Model):
    """Moved with a given velocity and angular velocity, constant or varying in time."""

    type: Literal["velocity"] = "velocity"
    linear: VelocityCurve = Field((0.0, 0.0, 0.0), description="velocity of the centre, a vector or a curve [m/s]")
    angular: AngularVelocityCurve = Field(
        (0.0, 0.0, 0.0), description="angular velocity about the centre, a vector or a curve [rad/s]; along z in 2D"
    )


def _points(value: Any) -> tuple[tuple[float, ...], ...]:
    if not isinstance(value, list | tuple) or not value:
        raise complain("must be a non-empty list of points in m")
    return tuple(check_vector(v, "m") for v in value)


class Keyframes(Model):
    """Poses at given times, at rest before the first and after the last; turns are even between neighbours."""

    type: Literal["keyframes"] = "keyframes"
    times: Times = Field(description="increasing times [s]")
    positions: Annotated[tuple[tuple[float, ...], ...], BeforeValidator(_points)] = Field(
        description="position of the centre at each time [m]"
    )
    rotations: tuple[Rotation, ...] | None = Field(None, description="rotation at each time; absent: never turned")
    interpolation: Literal["linear", "cubic"] = Field("cubic", description="of the positions; cubic: smooth velocity")

    @model_validator(mode="after")
    def _check(self) -> Keyframes:
        check_times(self.times, "times")
        for name, values in (("positions", self.positions), ("rotations", self.rotations)):
            if values is not None and len(values) != len(self.times):
                raise complain(f"has {len(self.times)} times and {len(values)} {name}; give one for each time")
        return self


Motion = Annotated[
    Annotated[Static, Tag("<static>")]
    | Annotated[PrescribedVelocity, Tag("<velocity>")]
    | Annotated[Keyframes, Tag("<keyframes>")],
    BY_TYPE,
    check_type("static", "velocity", "keyframes"),
]


class RigidBody(Model):
    """A solid that moves as prescribed (or not at all) and that the fluid flows around."""

    type: Literal["rigid_body"] = "rigid_body"
    shape: Shape = Field(description="the shape, such as { type = 'sphere', radius = 0.1 }")
    position: Point = Field(description="position of the centre at t = 0 [m]")
    rotation: Rotation = Field(Rotation(), description="rotation at t = 0")
    motion: Motion = Field(Static(), description="static, velocity or keyframes")
    slip: Flag = Field(False, description="true: viscous fluid slides along the surface; false: it sticks")
    color: Color = Field((0.80, 0.36, 0.22), description="red, green, blue in pictures, 0 to 1")

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
        if isinstance(motion, Keyframes):
            first = motion.rotations[0] if motion.rotations else self.rotation
            if motion.positions[0] != self.position or first != self.rotation:
                raise complain("position and rotation differ from the first keyframe; leave them out")
        if isinstance(self.shape, MeshSequence) and not isinstance(motion, Static):
            raise complain("an animated mesh carries its own motion; remove motion")
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
        if isinstance(self.shape, MeshSequence):
            raise complain("an emitter cannot be an animated mesh; use a mesh")
        return self


SceneObject = Annotated[
    Annotated[RigidBody, Tag("<rigid_body>")] | Annotated[Emitter, Tag("<emitter>")],
    BY_TYPE,
    check_type("rigid_body", "emitter"),
]
