"""Building blocks of every scene model: frozen, no unknown keys, numbers with their unit in the error message.

Each quantity is a plain float (or tuple) annotated with the check that reads it, so that a wrong value is answered with
the object, the value, the rule and the remedy instead of a type name. ``RANGES`` is the one place that says which
magnitudes a kind of quantity may have: inside them no formula of the program overflows or divides by nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Strict, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from undertow.errors import UserError
from undertow.scene.faults import describe, suggest

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)

RANGES: dict[str, tuple[float, float]] = {
    "m": (1e-9, 1e9),
    "s": (1e-12, 1e9),
    "1/s": (1e-9, 1e12),
    "m/s": (1e-12, 3e8),
    "m/s2": (1e-12, 1e12),
    "rad/s": (1e-12, 1e9),
    "degrees": (1e-12, 1e9),
    "degrees or m": (1e-12, 1e9),
    "K": (1e-3, 1e9),
    "kg/m3": (1e-6, 1e15),
    "kg/m2": (1e-9, 1e9),
    "kg/m": (1e-9, 1e9),
    "kg (2D: kg/m)": (1e-24, 1e24),
    "kg m2": (1e-42, 1e42),
    "kg m2 (2D: kg m)": (1e-42, 1e42),
    "Pa s": (1e-12, 1e12),
    "Pa": (1e-6, 1e15),
    "N": (1e-12, 1e18),
    "N s (2D: N s/m)": (1e-12, 1e18),
    "N/m": (1e-12, 1e15),
    "N m": (1e-18, 1e18),
    "N m/rad": (1e-18, 1e18),
    "N m s/rad": (1e-18, 1e18),
    "m3/s (2D: m2/s)": (1e-18, 1e18),
    "a dimensionless unit": (1e-12, 1e12),
    "SI units": (1e-12, 1e12),
    "shares of red, green, blue from 0 to 1": (0.0, 1.0),
}
"""Unit -> smallest magnitude of what must not vanish, and largest magnitude of all quantities in it."""

LONGEST_NAME = 100
"""Letters of a name: a run folder, its temporary and a number must fit in a file name."""

LONGEST_TEXT = 4000
"""Letters of a description or path."""

MOST = 1_000_000
"""Largest count: cells along a side, points of a probe, iterations."""

AnyModel = TypeVar("AnyModel", bound=BaseModel)


def complain(text: str) -> PydanticCustomError:
    """A validation error whose message is ``text`` as it stands."""
    return PydanticCustomError("undertow", "{text}", {"text": text})


def validate(cls: type[AnyModel], data: Any, where: str) -> AnyModel:
    """``data`` as a model; UserError in words that begin with ``where`` when it is wrong."""
    try:
        return cls.__pydantic_validator__.validate_python(data)  # type: ignore[return-value]
    except ValidationError as error:
        raise UserError(describe(error, where)) from None
    except RecursionError:
        raise UserError(f"{where}: tables are nested too deeply; a scene has at most a few levels") from None


class _Meta(ModelMetaclass):
    """Calling a model (``ut.Sphere(radius=-1)``) answers a mistake with UserError; models inside models are not called,
    so that their faults keep their path."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if args:
            raise UserError(f"{self.__name__}: takes its values by name, such as {self.__name__}({_example(self)})")
        try:
            return super().__call__(**kwargs)
        except ValidationError as error:
            raise UserError(describe(error, self.__name__)) from None
        except RecursionError:
            raise UserError(f"{self.__name__}: tables are nested too deeply") from None


def _example(cls: Any) -> str:
    return f"{next((name for name in cls.model_fields if name != 'type'), 'type')}=..."


class Model(BaseModel, metaclass=_Meta):
    """A frozen part of a scene; unknown and missing keys are refused with a remedy, by UserError."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """The same with other values, checked like new ones."""
        if update is None:
            return super().model_copy(deep=deep)
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        kept = {name: value for name, value in fields.items() if name in self.model_fields_set}
        return validate(type(self), {**kept, **update}, type(self).__name__)

    @classmethod
    def model_validate(cls, obj: Any, **settings: Any) -> Self:
        """``obj``, a table, as a model; UserError when it is wrong."""
        try:
            return super().model_validate(obj, **settings)
        except ValidationError as error:
            raise UserError(describe(error, cls.__name__)) from None

    def __iter__(self) -> Any:
        """Names and values of the keys; what has been worked out from them and kept is not part of it."""
        for name in type(self).model_fields:
            yield name, getattr(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        what = type(self).__name__
        raise UserError(f"{what}: cannot be changed; make another one: .model_copy(update={{{name!r}: ...}})")

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
    """The value as a finite float inside its range, or an error that names unit, rule and remedy.

    Its magnitude is inside ``RANGES[unit]``: at most the largest, and where its sign is given at least the smallest, or
    0 where it may vanish.
    """
    value = plain(value)
    if isinstance(value, str):
        raise complain(f"must be a number in {unit}, not text; all quantities are in SI units without a suffix")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise complain(f"must be a number in {unit}")
    smallest, largest = RANGES[unit]
    if isinstance(value, int) and abs(value) > 10**300:
        raise complain(f"must be at most {largest:g}; give a number in {unit}")
    if not math.isfinite(value):
        raise complain(f"must be a finite number in {unit}")
    if above is not None and not value > above:
        raise complain(f"must be {'positive' if above == 0 else f'above {above:g}'}; give a number in {unit}")
    if low is not None and value < low:
        raise complain(f"must {'not be negative' if low == 0 else f'be at least {low:g}'}; give a number in {unit}")
    if high is not None and value > high:
        raise complain(f"must be at most {high:g}; give a number in {unit}")
    if abs(value) > largest:
        raise complain(f"must be at most {largest:g} in magnitude; give a number in {unit}")
    if 0.0 < value < smallest and 0.0 in (above, low):
        nothing = "" if above == 0.0 else "0 or "
        raise complain(f"must be {nothing}at least {smallest:g}; give a number in {unit}")
    return float(value)


def check_vector(
    value: Any, unit: str, lengths: tuple[int, ...] = (2, 3), low: float | None = None
) -> tuple[float, ...]:
    """The value as a tuple of 2 (2D scenes) or 3 finite floats; low: of each of them."""
    value = plain(value)
    if not isinstance(value, list | tuple):
        example = [0.5] * lengths[-1] if RANGES[unit][1] <= 1.0 else list(range(lengths[-1]))
        raise complain(f"must be a list of numbers in {unit}, such as {example}")
    if len(value) not in lengths:
        raise complain(f"must have {' or '.join(map(str, lengths))} components, not {len(value)}")
    return tuple(check_number(v, unit, low=low) for v in value)


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


def _whole(low: int, high: int = MOST) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        value = plain(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise complain("must be a whole number without quotes or decimal point")
        if value < low:
            raise complain(f"must be at least {low}")
        if value > high:
            raise complain(f"must be at most {high}")
        return value

    return check


def _number(unit: str, **bounds: float) -> BeforeValidator:
    return BeforeValidator(lambda value: check_number(value, unit, **bounds))


def _vector(unit: str, lengths: tuple[int, ...] = (2, 3), low: float | None = None) -> BeforeValidator:
    return BeforeValidator(lambda value: check_vector(value, unit, lengths, low))


def check_direction(value: Any, lengths: tuple[int, ...] = (2, 3)) -> tuple[float, ...]:
    """A vector of any length that can be brought to length one; the zero vector is left to who needs a direction."""
    vector = check_vector(value, "a dimensionless unit", lengths)
    if 0.0 < max(map(abs, vector)) < 1e-9:
        raise complain("is too short to tell its direction; give it a length of about 1")
    return vector


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def check_name(value: Any) -> str:
    """Names are used in files, tables and ``--set`` paths: letters, digits, - and _ only."""
    if isinstance(value, str) and len(value) > LONGEST_NAME:
        raise complain(f"a name has at most {LONGEST_NAME} letters, not {len(value)}; please shorten it")
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise complain("a name starts with a letter and has only letters, digits, - and _; please rename it")
    return value


def _check_text(value: str) -> str:
    if len(value) > LONGEST_TEXT:
        raise complain(f"has {len(value)} letters; at most {LONGEST_TEXT} are kept, please shorten it")
    if "\0" in value:
        raise complain("holds the letter NUL, which no file name and no table can; remove it")
    return value


Name = Annotated[str, BeforeValidator(check_name)]
Text = Annotated[str, Strict(), AfterValidator(_check_text)]
Flag = Annotated[bool, Strict()]
Count = Annotated[int, BeforeValidator(_whole(1))]
Seed = Annotated[int, BeforeValidator(_whole(0, 2**63 - 1))]

Number = Annotated[float, _number("a dimensionless unit")]
Tolerance = Annotated[float, _number("a dimensionless unit", low=1e-16, high=0.5)]
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
Impulse = Annotated[float, _number("N s (2D: N s/m)", above=0.0)]
Torque = Annotated[float, _number("N m", above=0.0)]
Stiffness = Annotated[float, _number("N m/rad", low=0.0)]
Damping = Annotated[float, _number("N m s/rad", low=0.0)]
Share = Annotated[float, _number("a dimensionless unit", low=0.0, high=1.0)]
VolumeRate = Annotated[float, _number("m3/s (2D: m2/s)", above=0.0)]
Viscosity = Annotated[float, _number("Pa s", low=0.0)]
Kelvin = Annotated[float, _number("K", above=0.0)]
Degrees = Annotated[float, _number("degrees")]
ContactAngle = Annotated[float, _number("degrees", low=0.0, high=180.0)]

Point = Annotated[tuple[float, ...], _vector("m")]
Size = Annotated[tuple[float, ...], _vector("m", low=0.0)]
Direction = Annotated[tuple[float, ...], BeforeValidator(check_direction)]
AngularVelocity = Annotated[tuple[float, ...], _vector("rad/s", (3,))]
Axis = Annotated[tuple[float, ...], BeforeValidator(lambda value: check_direction(value, (3,)))]
Velocity = Annotated[tuple[float, ...], _vector("m/s")]
Acceleration = Annotated[tuple[float, ...], _vector("m/s2")]
Color = Annotated[tuple[float, ...], _vector("shares of red, green, blue from 0 to 1", (3,), low=0.0)]
Numbers = Annotated[tuple[float, ...], BeforeValidator(lambda value: check_numbers(value, "SI units"))]
Times = Annotated[tuple[float, ...], BeforeValidator(lambda value: check_numbers(value, "s"))]
