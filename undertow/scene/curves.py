"""What varies in time: a constant, a table of values, or a sine."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from undertow.scene.base import Model, Number, Rate, Times, check_number, check_times, check_vector, complain, plain


def _value(value: Any) -> float | tuple[float, ...]:
    value = plain(value)
    if isinstance(value, list | tuple):
        return check_vector(value, "SI units")
    return check_number(value, "SI units")


def _values(value: Any) -> tuple[float | tuple[float, ...], ...]:
    value = plain(value)
    if not isinstance(value, list | tuple) or not value:
        raise complain("must be a non-empty list, one value for each time")
    return tuple(_value(v) for v in value)


Value = Annotated[float | tuple[float, ...], BeforeValidator(_value)]


def _width(value: float | tuple[float, ...]) -> int:
    """Number of components of a value; 0 for a scalar."""
    return len(value) if isinstance(value, tuple) else 0


class Table(Model):
    """Values at given times; constant before the first and after the last."""

    times: Times = Field(description="increasing times [s]")
    values: Annotated[tuple[float | tuple[float, ...], ...], BeforeValidator(_values)] = Field(
        description="one number or vector for each time [SI]"
    )
    interpolation: Literal["linear", "step", "smooth"] = Field(
        "linear", description="between the times: linear, step (the earlier value) or smooth (zero slope at the times)"
    )

    @model_validator(mode="after")
    def _check(self) -> Table:
        check_times(self.times, "times")
        if len(self.times) != len(self.values):
            raise complain(f"has {len(self.times)} times and {len(self.values)} values; give one value for each time")
        if len({_width(v) for v in self.values}) > 1:
            raise complain("values must all have the same number of components")
        return self

    def widths(self) -> list[int]:
        return [_width(v) for v in self.values]


class Sine(Model):
    """mean + amplitude sin(2 pi frequency t + phase)."""

    mean: Value = Field(0.0, description="mean value [SI]")
    amplitude: Value = Field(description="amplitude, a number or a vector [SI]")
    frequency: Rate = Field(description="frequency [1/s]")
    phase: Number = Field(0.0, description="phase at t = 0 [radians]")

    @model_validator(mode="before")
    @classmethod
    def _mean_like_amplitude(cls, data: Any) -> Any:
        if isinstance(data, dict) and "mean" not in data and isinstance(data.get("amplitude"), list | tuple):
            return {**data, "mean": [0.0] * len(data["amplitude"])}
        return data

    @model_validator(mode="after")
    def _check(self) -> Sine:
        if _width(self.mean) != _width(self.amplitude):
            raise complain("mean and amplitude must both be numbers, or vectors of the same length")
        return self

    def widths(self) -> list[int]:
        return [_width(self.mean)]


def _form(value: Any) -> str:
    if isinstance(value, Table) or (isinstance(value, dict) and ("times" in value or "values" in value)):
        return "<table>"
    return "<sine>" if isinstance(value, Sine | dict) else "<constant>"


def _vectors_only(value: Any) -> Any:
    if min(value.widths()) == 0:
        raise complain("must have vector values, not single numbers")
    return value


def _numbers_only(value: Any) -> Any:
    if max(value.widths()) > 0:
        raise complain("must have single numbers, not vectors")
    return value


_BY_FORM = Discriminator(_form)
_TableOfVectors = Annotated[Table, AfterValidator(_vectors_only), Tag("<table>")]
_SineOfVectors = Annotated[Sine, AfterValidator(_vectors_only), Tag("<sine>")]
_VELOCITY = BeforeValidator(lambda value: check_vector(value, "m/s"))
_ANGULAR = BeforeValidator(lambda value: check_vector(value, "rad/s", (3,)))

VelocityCurve = Annotated[
    Annotated[tuple[float, ...], _VELOCITY, Tag("<constant>")] | _TableOfVectors | _SineOfVectors, _BY_FORM
]
_ACCELERATION = BeforeValidator(lambda value: check_vector(value, "m/s2"))
AccelerationCurve = Annotated[
    Annotated[tuple[float, ...], _ACCELERATION, Tag("<constant>")] | _TableOfVectors | _SineOfVectors, _BY_FORM
]
AngularVelocityCurve = Annotated[
    Annotated[tuple[float, ...], _ANGULAR, Tag("<constant>")] | _TableOfVectors | _SineOfVectors, _BY_FORM
]
AngleCurve = Annotated[
    Annotated[float, BeforeValidator(lambda value: check_number(value, "degrees or m")), Tag("<constant>")]
    | Annotated[Table, AfterValidator(_numbers_only), Tag("<table>")]
    | Annotated[Sine, AfterValidator(_numbers_only), Tag("<sine>")],
    _BY_FORM,
]
_FORCE = BeforeValidator(lambda value: check_vector(value, "N"))
_TORQUE = BeforeValidator(lambda value: check_vector(value, "N m", (3,)))
_TRACTION = BeforeValidator(lambda value: check_vector(value, "Pa"))
ForceCurve = Annotated[
    Annotated[tuple[float, ...], _FORCE, Tag("<constant>")] | _TableOfVectors | _SineOfVectors, _BY_FORM
]
TorqueCurve = Annotated[
    Annotated[tuple[float, ...], _TORQUE, Tag("<constant>")] | _TableOfVectors | _SineOfVectors, _BY_FORM
]
TractionCurve = Annotated[
    Annotated[tuple[float, ...], _TRACTION, Tag("<constant>")] | _TableOfVectors | _SineOfVectors, _BY_FORM
]
PressureCurve = Annotated[
    Annotated[float, BeforeValidator(lambda value: check_number(value, "Pa")), Tag("<constant>")]
    | Annotated[Table, AfterValidator(_numbers_only), Tag("<table>")]
    | Annotated[Sine, AfterValidator(_numbers_only), Tag("<sine>")],
    _BY_FORM,
]
Curve = tuple[float, ...] | Table | Sine
"""A constant vector, a table or a sine."""
