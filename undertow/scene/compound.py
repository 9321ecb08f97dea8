"""Several shapes in one body."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from undertow.scene.base import Density, Model, Point, complain
from undertow.scene.motion import Rotation
from undertow.scene.shapes import AnyShape, Half, ShapeModel, choose_shape

PartShape = Annotated[AnyShape, choose_shape("part")]

MOST_PARTS = 100


class CompoundPart(Model):
    """One of the shapes of a compound, where it is in the frame of the body."""

    shape: PartShape = Field(description="the shape, such as { type = 'sphere', radius = 0.1 }")
    position: Point = Field((0.0, 0.0, 0.0), description="position of its centre in the frame of the body [m]")
    rotation: Rotation = Field(Rotation(), description="rotation in the frame of the body; about z in 2D")
    density: Density | None = Field(None, description="density [kg/m3]; absent: that of the body")


class Compound(ShapeModel):
    """The union of several shapes, which may overlap: what they share is there once, with the density of the part that
    comes first. A dumbbell: parts = [{ shape = { type = 'sphere', radius = 0.1 }, position = [-0.3, 0, 0] }, ...]."""

    roles = ("region", "rigid", "soft")
    type: Literal["compound"] = "compound"
    parts: tuple[CompoundPart, ...] = Field(description="one or more parts: shape, position, rotation, density")

    @model_validator(mode="after")
    def _check(self) -> Compound:
        if not 1 <= len(self.parts) <= MOST_PARTS:
            raise complain(f"has {len(self.parts)} parts; give between 1 and {MOST_PARTS}")
        return self

    def half_size(self) -> Half:
        reach = [0.0, 0.0, 0.0]
        for part in self.parts:
            half, turn = part.shape.half_size(), part.rotation.matrix()
            for axis, place in enumerate((*part.position, 0.0)[:3]):
                own = sum(abs(turn[axis][b]) * half[b] for b in range(3) if turn[axis][b] != 0)
                reach[axis] = max(reach[axis], abs(place) + own)
        return (reach[0], reach[1], reach[2])

    def part_densities(self) -> tuple[float | None, ...]:
        return tuple(part.density for part in self.parts)

    def check_dimensions(self, path: str, dimensions: int) -> None:
        for n, part in enumerate(self.parts):
            own = f"{path}.parts.{n}"
            places = {"position": part.position} | {f"shape.{k}": v for k, v in part.shape.places().items()}
            for key, place in places.items():
                if dimensions == 3 and len(place) != 3:
                    raise complain(f"{own}.{key} = {list(place)}: must have 3 components in a 3D scene")
                if dimensions == 2 and len(place) == 3 and place[2] != 0 and key == "position":
                    raise complain(f"{own}.{key} = {list(place)}: a 2D scene has no z; give two components")
            if dimensions == 2 and part.rotation.degrees and any(part.rotation.axis[:2]):
                raise complain(f"{own}.rotation: in a 2D scene bodies turn about z only; use an axis [0, 0, 1]")
            part.shape.check_dimensions(f"{own}.shape", dimensions)
