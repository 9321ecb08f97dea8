"""Building blocks of every scene model: frozen, no unknown keys, numbers with their unit in the error message.

Each quantity is a plain float (or tuple) annotated with the check that reads it, so that a wrong value is answered with
the object, the value, the rule and the remedy instead of a type name.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Strict, model_validator
from pydantic_core import PydanticCustomError


def complain(text: str) -> PydanticCustomError:
    """A validation error whose message is ``text`` as it stands."""
    return PydanticCustomError("undertow", "{text}", {"text": text})


def suggest(word: str, known: list[str]) -> str:
    """``did you mean 'radius'? `` or nothing."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}? " if close else ""


class Model(BaseModel):
    """A frozen part of a scene; unknown and missing keys are refused with a remedy."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, data: Any) -> Any:
        if isinstance(data, cls):
            return data
        if not isinstance(data, dict):
            raise complain(f"must be a table with the keys {_keys(cls)}")
        known = list(cls.model_fields)
        for key in data:
            if key not in known:
                raise complain(f"unknown key {str(key)!r}; {suggest(str(key), known)}The keys are {_keys(cls)}")
        missing = [name for name, field in cls.model_fields.items() if field.is_required() and name not in data]
        if missing:
            name = missing[0]
            about = cls.model_fields[name].description or "see the documentation of the scene"
            raise complain(f"the key {name!r} is missing; give {about}")
        return data


def _keys(cls: type[BaseModel]) -> str:
    return ", ".join(cls.model_fields)


def plain(value: Any) -> Any:
    """NumPy scalars and arrays as Python numbers and lists."""
    return value.tolist() if hasattr(value, "tolist") else value


def check_number(
    value: Any, unit: str, above: float | None = None, low: float | None = None, high: float | None = None
) -> float:
    """The value as a finite float inside its range, or an error that names unit, rule and remedy."""
    value = plain(value)
    if isinstance(value, str):
        raise complain(f"must be a number in {unit}, not text; all quantities are in SI units without a suffix")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise complain(f"must be a number in {unit}")
    if not math.isfinite(value):
        raise complain(f"must be a finite number in {unit}")
    if above is not None and not value > above:
        raise complain(f"must be {'positive' if above == 0 else f'above {above:g}'}; give a number in {unit}")
    if low is not None and value < low:
        raise complain(f"must {'not be negative' if low == 0 else f'be at least {low:g}'}; give a number in {unit}")
    if high is not None and value > high:
        raise complain(f"must be at most {high:g}; give a number in {unit}")
    return float(value)


def check_vector(value: Any, unit: str, lengths: tuple[int, ...] = (2, 3)) -> tuple[float, ...]:
    """The value as a tuple of 2 (2D scenes) or 3 finite floats."""
    value = plain(value)
    if not isinstance(value, list | tuple):
        raise complain(f"must be a list of numbers in {unit}, such as {list(range(lengths[-1]))}")
    if len(value) not in lengths:
        raise complain(f"must have {' or '.join(map(str, lengths))} components, not {len(value)}")
    return tuple(check_number(v, unit) for v in value)


def check_numbers(value: Any, unit: str) -> tuple[float, ...]:
    """The value as a non-empty tuple of finite floats."""
    value = plain(value)
    if not isinstance(value, list | tuple) or not value:
        raise complain(f"must be a non-empty list of numbers in {unit}")
    return tuple(check_number(v, unit) for v in value)


def check_points(value: Any) -> tuple[tuple[float, ...], ...]:
    """The value as a non-empty tuple of points."""
    value = plain(value)
    if not isinstance(value, list | tuple) or not value:
        raise complain("must be a non-empty list of points in m")
    return tuple(check_vector(v, "m") for v in value)


def check_times(times: tuple[float, ...], what: str) -> None:
    """Times must increase."""
    if any(b <= a for a, b in zip(times, times[1:], strict=False)):
        raise complain(f"{what} must increase from one entry to the next")


def _whole(low: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        value = plain(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise complain("must be a whole number without quotes or decimal point")
        if value < low:
            raise complain(f"must be at least {low}")
        return value

    return check


def _number(unit: str, **bounds: float) -> BeforeValidator:
    return BeforeValidator(lambda value: check_number(value, unit, **bounds))


def _vector(unit: str, lengths: tuple[int, ...] = (2, 3)) -> BeforeValidator:
    return BeforeValidator(lambda value: check_vector(value, unit, lengths))


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def check_name(value: Any) -> str:
    """Names are used in files, tables and ``--set`` paths: letters, digits, - and _ only."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise complain("a name starts with a letter and has only letters, digits, - and _; please rename it")
    return value


Name = Annotated[str, BeforeValidator(check_name)]
Text = Annotated[str, Strict()]
Flag = Annotated[bool, Strict()]
Count = Annotated[int, BeforeValidator(_whole(1))]
Whole = Annotated[int, BeforeValidator(_whole(0))]

Number = Annotated[float, _number("a dimensionless unit")]
PositiveNumber = Annotated[float, _number("a dimensionless unit", above=0.0)]
NonNegativeNumber = Annotated[float, _number("a dimensionless unit", low=0.0)]
Metres = Annotated[float, _number("m", above=0.0)]
Position = Annotated[float, _number("m")]
Seconds = Annotated[float, _number("s", above=0.0)]
Instant = Annotated[float, _number("s", low=0.0)]
Rate = Annotated[float, _number("1/s", above=0.0)]
Decay = Annotated[float, _number("1/s", low=0.0)]
Density = Annotated[float, _number("kg/m3", above=0.0)]
Mass = Annotated[float, _number("kg (2D: kg/m)", above=0.0)]
Length = Annotated[float, _number("m", low=0.0)]
Force = Annotated[float, _number("N", above=0.0)]
Torque = Annotated[float, _number("N m", above=0.0)]
Stiffness = Annotated[float, _number("N m/rad", low=0.0)]
Damping = Annotated[float, _number("N m s/rad", low=0.0)]
Share = Annotated[float, _number("a dimensionless unit", low=0.0, high=1.0)]
VolumeRate = Annotated[float, _number("m3/s (2D: m2/s)", above=0.0)]
Viscosity = Annotated[float, _number("Pa s", low=0.0)]
Kelvin = Annotated[float, _number("K", above=0.0)]
Degrees = Annotated[float, _number("degrees")]

Point = Annotated[tuple[float, ...], _vector("m")]
Size = Annotated[tuple[float, ...], _vector("m")]
Direction = Annotated[tuple[float, ...], _vector("a dimensionless unit")]
AngularVelocity = Annotated[tuple[float, ...], _vector("rad/s", (3,))]
Axis = Annotated[tuple[float, ...], _vector("a dimensionless unit", (3,))]
Velocity = Annotated[tuple[float, ...], _vector("m/s")]
Acceleration = Annotated[tuple[float, ...], _vector("m/s2")]
Color = Annotated[tuple[float, ...], _vector("red, green, blue from 0 to 1", (3,))]
Numbers = Annotated[tuple[float, ...], BeforeValidator(lambda value: check_numbers(value, "SI units"))]
Times = Annotated[tuple[float, ...], BeforeValidator(lambda value: check_numbers(value, "s"))]
