"""Thin rigid shells: sheets of material, open or closed around a hollow, as the shape of a rigid body."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from undertow.scene.base import Flag, Metres, Size, check_points, check_vector, complain
from undertow.scene.shapes import FormShape, Half, ShapeModel

if TYPE_CHECKING:
    from undertow.scene.scene import Scene

Extent = Annotated[tuple[float, ...], BeforeValidator(lambda value: check_vector(value, "m", (2,), 0.0))]


class _Form(ShapeModel):
    """A thin sheet, of a shell alone."""

    roles = ("sheet",)
    type: str


class Polyline(_Form):
    """Of a 2D scene: straight pieces from point to point."""

    sheet_in = (2,)
    type: Literal["polyline"] = "polyline"
    points: Annotated[tuple[tuple[float, ...], ...], BeforeValidator(check_points)] = Field(
        description="points (x, y) [m], two or more, about the position of the body"
    )
    closed: Flag = Field(False, description="true: a last piece leads back to the first point")

    @model_validator(mode="after")
    def _check(self) -> Polyline:
        if len(self.points) < (3 if self.closed else 2):
            raise complain(f"has {len(self.points)} points; give two or more, three of a closed one")
        if any(len(point) != 2 for point in self.points):
            raise complain("points have two components, x and y; in 3D use a plate, tub, bowl, boat or mesh")
        return self

    def half_size(self) -> Half:
        x, y = (max(abs(point[axis]) for point in self.points) for axis in (0, 1))
        return (x, y, 0.0)


class Plate(_Form):
    """Of a 3D scene: a flat rectangle in the x-z plane."""

    sheet_in = (3,)
    type: Literal["plate"] = "plate"
    size: Extent = Field(description="full lengths along x and z [m]")

    @model_validator(mode="after")
    def _check(self) -> Plate:
        if min(self.size) <= 0:
            raise complain("size must be positive; give two lengths in m")
        return self

    def half_size(self) -> Half:
        return (self.size[0] / 2, 0.0, self.size[1] / 2)


class Tub(_Form):
    """A box without its lid, which would be at +y; in 2D a floor and two walls."""

    type: Literal["tub"] = "tub"
    size: Size = Field(description="full edge lengths (x, y, z) [m]; 2 numbers in 2D")

    @model_validator(mode="after")
    def _check(self) -> Tub:
        if min(self.size) <= 0:
            raise complain("size must be positive along every axis; give the full edge lengths in m")
        return self

    def half_size(self) -> Half:
        x, y = self.size[:2]
        return (x / 2, y / 2, self.size[2] / 2 if len(self.size) == 3 else 0.0)

    def check_dimensions(self, path: str, dimensions: int) -> None:
        if dimensions == 3 and len(self.size) != 3:
            raise complain(f"{path}.size = {list(self.size)}: must have 3 components in a 3D scene")


class Bowl(_Form):
    """The lowest part of a sphere, open towards +y, about the middle of its box; in 2D of a circle."""

    type: Literal["bowl"] = "bowl"
    radius: Metres = Field(description="radius of the sphere [m]")
    depth: Metres = Field(description="height of the part along y, less than the diameter [m]")

    @model_validator(mode="after")
    def _check(self) -> Bowl:
        if self.depth > 1.9 * self.radius:
            raise complain(f"depth = {self.depth:g}: leaves no opening; make it less than 1.9 times the radius")
        return self

    def half_size(self) -> Half:
        reach = self.radius if self.depth >= self.radius else math.sqrt(self.depth * (2 * self.radius - self.depth))
        return (reach, self.depth / 2, reach)


class Skiff(_Form):
    """Of a 3D scene: an open boat along x, bow at +x, flat bottom and sides that lean outwards."""

    sheet_in = (3,)
    type: Literal["boat"] = "boat"
    length: Metres = Field(description="length of the rim along x [m]")
    width: Metres = Field(description="width of the rim along z [m]")
    height: Metres = Field(description="height along y [m]")

    def half_size(self) -> Half:
        return (self.length / 2, self.height / 2, self.width / 2)


class Shell(ShapeModel):
    """A sheet of material, of a rigid body. Its mass is density times thickness times area; it displaces nothing, and
    fluid is kept apart by it however thin it is."""

    roles = ("rigid",)
    type: Literal["shell"] = "shell"
    form: FormShape = Field(description="such as { type = 'tub', size = [0.4, 0.2, 0.3] }; a mesh may be open here")
    thickness: Metres = Field(description="of the material, for its mass and pictures [m]")

    @model_validator(mode="after")
    def _check(self) -> Shell:
        if self.thickness > 0.4 * max(self.form.half_size()):
            raise complain(
                f"thickness = {self.thickness:g}: more than a fifth of its extent; a shell is thin: use a solid shape"
            )
        return self

    def half_size(self) -> Half:
        return self.form.half_size()

    def sheet(self) -> ShapeModel | None:
        return self.form


def check_shells(scene: Scene) -> None:
    """Thin rigid shells of a scene against the rest of it."""
    for name, body in scene.shells.items():
        form, path = body.shape.sheet(), f"objects.{name}"
        assert form is not None
        if scene.dimensions not in form.sheet_in:
            no, use = (
                (f"a 2D scene has no {form.type}", "a polyline, a tub or a bowl")
                if scene.dimensions == 2
                else (f"a {form.type} is 2D", "a plate, tub, bowl, boat or mesh")
            )
            raise complain(f"{path}.shape.form: {no}; use {use}")
        form.check_dimensions(f"{path}.shape.form", scene.dimensions)
        if scene.domain is None:
            continue
        if scene.soft.stepper == "newmark":
            raise complain(f"{path}: a shell in fluid needs soft.stepper = 'implicit'; change it")
        if body.slip:
            raise complain(f"{path}.slip: a viscous fluid sticks to shells; remove it, or the viscosity")
