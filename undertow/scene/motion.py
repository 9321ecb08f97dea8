"""Turns and prescribed motions."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, Tag, model_validator

from undertow.scene.base import Axis, Degrees, Model, Times, check_points, check_times, complain
from undertow.scene.choice import BY_TYPE, check_type
from undertow.scene.curves import AngularVelocityCurve, VelocityCurve


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


class Keyframes(Model):
    """Poses at given times, at rest before the first and after the last; turns are even between neighbours."""

    type: Literal["keyframes"] = "keyframes"
    times: Times = Field(description="increasing times [s]")
    positions: Annotated[tuple[tuple[float, ...], ...], BeforeValidator(check_points)] = Field(
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


class Driven(Model):
    """Moved by the program that runs the simulation: ``sim.body(name).move_to`` and ``move_with``; at rest until
    then."""

    type: Literal["driven"] = "driven"


Motion = Annotated[
    Annotated[Static, Tag("<static>")]
    | Annotated[PrescribedVelocity, Tag("<velocity>")]
    | Annotated[Keyframes, Tag("<keyframes>")]
    | Annotated[Driven, Tag("<driven>")],
    BY_TYPE,
    check_type("static", "velocity", "keyframes", "driven"),
]
