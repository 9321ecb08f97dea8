"""Surfaces of liquids given by their height, and velocities given by tables: functions of places without code."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from undertow.scene.base import Metres, Model, Number, Numbers, Position, complain, plain
from undertow.scene.shapes import ShapeModel


def _check_nested(value: Any) -> Any:
    """Numbers in lists of lists."""
    value = plain(value)
    if isinstance(value, list | tuple):
        return tuple(_check_nested(v) for v in value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e9:
        raise complain("must be a number, or lists of numbers, in SI units")
    return float(value)


Nested = Annotated[tuple[Any, ...], BeforeValidator(_check_nested)]


def _check_coordinates(name: str, values: tuple[float, ...] | None) -> None:
    if values is None:
        return
    if len(values) < 2:
        raise complain(f"{name} = {list(values)}: needs at least two places; leave {name} out where nothing varies")
    if any(b <= a for a, b in zip(values, values[1:], strict=False)):
        raise complain(f"{name} must increase from one entry to the next")


def _shape_of(values: Any) -> tuple[int, ...]:
    """Lengths of nested lists; () of a number; a list of unequal ones is refused."""
    if not isinstance(values, tuple):
        return ()
    inner = {_shape_of(v) for v in values}
    if len(inner) != 1:
        raise complain("values: lists of one depth must be equally long")
    return (len(values), *inner.pop())


class HeightTable(Model):
    """Heights at places, linear between them and constant beyond."""

    x: Numbers = Field(description="increasing coordinates along x, from the position of the object [m]")
    z: Numbers | None = Field(None, description="3D: the same along z; absent: all is even along z")
    values: Nested = Field(
        description="heights over the position [m], one for each x; with z a list of such for each z"
    )

    @model_validator(mode="after")
    def _check(self) -> HeightTable:
        _check_coordinates("x", self.x)
        _check_coordinates("z", self.z)
        wanted = (len(self.x),) if self.z is None else (len(self.z), len(self.x))
        if _shape_of(self.values) != wanted:
            shape = " x ".join(map(str, wanted))
            raise complain(f"values: must be {shape} numbers, one height for each place{' (z, x)' if self.z else ''}")
        return self


class HeightSine(Model):
    """mean + amplitude sin(2 pi x / wavelength + phase)."""

    mean: Position = Field(0.0, description="mean height over the position [m]")
    amplitude: Position = Field(description="amplitude [m]")
    wavelength: Metres = Field(description="wavelength [m]")
    phase: Number = Field(0.0, description="phase at the position of the object [radians]")
    along: Literal["x", "z"] = Field("x", description="axis along which it varies")


def _form(value: Any) -> str:
    table = isinstance(value, HeightTable) or (isinstance(value, dict) and ("values" in value or "x" in value))
    return "<table>" if table else "<sine>"


class Heights(ShapeModel):
    """All that lies below a surface of given height: water at the start of a wave."""

    roles = ("region",)
    is_endless = True
    type: Literal["heights"] = "heights"
    height: Annotated[
        Annotated[HeightTable, Tag("<table>")] | Annotated[HeightSine, Tag("<sine>")], Discriminator(_form)
    ] = Field(description="{ x = [...], values = [...] }, or { amplitude, wavelength, phase }")

    def check_dimensions(self, path: str, dimensions: int) -> None:
        if dimensions == 3:
            return
        if isinstance(self.height, HeightTable) and self.height.z is not None:
            raise complain(f"{path}.height.z: a 2D scene has no z; remove it")
        if isinstance(self.height, HeightSine) and self.height.along == "z":
            raise complain(f"{path}.height.along = 'z': a 2D scene has no z; use 'x'")


class VelocityTable(Model):
    """Velocities at places of the scene, linear between them and constant beyond."""

    x: Numbers | None = Field(None, description="increasing coordinates along x [m]; absent: nothing varies along x")
    y: Numbers | None = Field(None, description="the same along y")
    z: Numbers | None = Field(None, description="the same along z")
    values: Nested = Field(
        description="velocities [m/s] in lists along x, those in lists along y, those in lists along z, as far as given"
    )

    @model_validator(mode="after")
    def _check(self) -> VelocityTable:
        for name in ("x", "y", "z"):
            _check_coordinates(name, getattr(self, name))
        axes = [axis for axis in (self.z, self.y, self.x) if axis is not None]
        if not axes:
            raise complain("needs x, y or z; give velocity where it is the same everywhere")
        shape = _shape_of(self.values)
        if shape[:-1] != tuple(len(axis) for axis in axes) or shape[-1] not in (2, 3):
            wanted = " x ".join(str(len(axis)) for axis in axes)
            raise complain(f"values: must be {wanted} velocities of two (2D) or three numbers, in the order z, y, x")
        return self

    @property
    def components(self) -> int:
        """2 or 3."""
        return _shape_of(self.values)[-1]
