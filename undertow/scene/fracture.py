"""How rigid bodies break: a pattern of space, and a strength."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from undertow.scene.base import (
    Color,
    Count,
    Force,
    Impulse,
    Length,
    Model,
    Number,
    Seconds,
    Seed,
    Text,
    complain,
)


class Fracture(Model):
    """How a rigid body breaks when it is hit or pressed harder than its strength, along a pattern of all of space that
    is aligned with the place and the normal of the blow.

    Its pieces are bodies like others, named ``NAME/1``, ``NAME/2``, ..., of the density, friction and strength that it
    has itself; they may break again, from the next step on.
    """

    pattern: Text = Field("voronoi", description="radial, brick, voronoi, glass, wood or meshes (of a folder)")
    pieces: Count = Field(24, description="regions of the pattern, about: a body has as many pieces or fewer, or more")
    seed: Seed = Field(0, description="of the random numbers of the pattern; the same seed makes the same pattern")
    options: dict[Text, Number] = Field(
        {}, description="of the pattern: voronoi grading, radial layers, glass layers and bend, wood slant"
    )
    folder: Text | None = Field(None, description="pattern = 'meshes': folder of closed meshes that fill a box")
    strength: Impulse | None = Field(
        None, description="impulse of one collision with one other body above which it breaks [N s; 2D N s/m]"
    )
    strength_force: Force | None = Field(
        None, description="force of one other body or of the fluid over strength_time above which it breaks [N; 2D N/m]"
    )
    strength_time: Seconds = Field(0.005, description="time that strength_force is a mean over [s]")
    smallest: Length = Field(0.0, description="pieces of less than the volume of a cube of this edge are debris [m]")
    most_fragments: Count = Field(
        1000, description="pieces of it at most, those of its pieces among them: then it is cut less finely, or stays"
    )
    method: Literal["mesh", "level_set", "level_set_aligned"] = Field(
        "mesh", description="exact cuts of meshes, or distances on a grid, without regard to the normal if aligned"
    )
    color: Color = Field((0.93, 0.87, 0.76), description="red, green, blue of the faces of the cracks, 0 to 1")

    @model_validator(mode="after")
    def _check(self) -> Fracture:
        if self.strength is None and self.strength_force is None:
            raise complain("has no strength; give strength (an impulse, N s), strength_force (a force, N), or both")
        if self.strength_force is None and self.strength_time != 0.005:
            raise complain("strength_time has no effect without strength_force; remove it, or give strength_force")
        if self.pattern == "meshes" and (self.options or {"pieces", "seed"} & self.model_fields_set):
            raise complain("pattern = 'meshes' has the pieces of its folder; remove pieces, seed and options")
        if self.folder is not None and self.pattern != "meshes":
            raise complain(f"folder has no effect on pattern = {self.pattern!r}; use pattern = 'meshes', or remove it")
        if self.folder is None and self.pattern == "meshes":
            raise complain("pattern = 'meshes' needs a folder of closed meshes; give folder")
        return self
