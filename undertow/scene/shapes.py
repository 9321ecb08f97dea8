"""Shapes of solids and sources, described in the body's own frame with the origin at its centre.

A new shape is a subclass of ``ShapeModel``, which is then known by its ``type``, and a line in the table of
``undertow.run.shapes`` that makes its geometry.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from undertow.scene.base import (
    Count,
    Direction,
    Metres,
    Model,
    PositiveNumber,
    Rate,
    Share,
    Size,
    Text,
    check_points,
    complain,
)
from undertow.scene.choice import check_choice

Half = tuple[float, float, float]

SLENDEREST = 1e5
"""Longest length of a shape over its shortest: beyond it the sides of thin ones are lost in rounding."""


def check_slender(*lengths: float) -> None:
    """Lengths [m] of one shape are of comparable size."""
    if max(lengths) > SLENDEREST * min(lengths):
        raise complain(
            f"is {max(lengths):g} m long and {min(lengths):g} m thick; a shape is at most {SLENDEREST:g} times as "
            "long as thick: make it thicker or shorter, or use a plane or a shell"
        )


class ShapeModel(Model):
    """A shape of a scene: what the checks of a scene ask it."""

    roles: ClassVar[tuple[str, ...]] = ("region", "rigid", "soft", "part")
    """What it can be the shape of: a region (water, a source, a hold), a rigid body, a soft body, a part of a compound,
    a sheet."""
    is_endless: ClassVar[bool] = False
    """Without bounds and mass."""
    is_animated: ClassVar[bool] = False
    """It carries its own motion."""
    can_touch_itself: ClassVar[bool] = True
    """Whether a soft body of this shape is looked at for contact with itself."""
    has_elements: ClassVar[bool] = False
    """The elements of a soft body are given with it."""
    elements_fit: ClassVar[bool] = False
    """The elements of a soft body have its surface."""
    sheet_in: ClassVar[tuple[int, ...]] = (2, 3)
    """Dimensions of the scenes in which it can be a sheet."""

    type: str

    @classmethod
    def __pydantic_init_subclass__(cls, **settings: Any) -> None:
        """A class with a type of its own is known by it from now on."""
        super().__pydantic_init_subclass__(**settings)
        kind = cls.model_fields["type"].default
        for role in cls.roles if isinstance(kind, str) else ():
            KNOWN.setdefault(role, {})[kind] = cls

    def half_size(self) -> Half:
        """Half of the edges of a box about the origin that holds it [m]; infinite where it is not known."""
        return (math.inf, math.inf, math.inf)

    def places(self) -> dict[str, tuple[float, ...]]:
        """Keys with as many components as the scene has dimensions; in 2D a third one may be given."""
        return {}

    def directions(self) -> dict[str, tuple[float, ...]]:
        """Keys of directions; in 2D their third component is 0."""
        return {}

    def check_dimensions(self, path: str, dimensions: int) -> None:
        """Refuse what does not fit into a scene of so many dimensions."""

    def sheet(self) -> ShapeModel | None:
        """The form of a thin shell; None of a solid."""
        return None

    def part_densities(self) -> tuple[float | None, ...]:
        """Densities [kg/m3] of the parts of a shape that has parts; None: that of the body."""
        return ()

    @property
    def has_mass(self) -> bool:
        """Whether all its parts have densities, so that a body of it needs none."""
        found = self.part_densities()
        return bool(found) and None not in found


KNOWN: dict[str, dict[str, type[ShapeModel]]] = {}
"""All shapes, by their role and type."""


def choose_shape(role: str) -> BeforeValidator:
    """A table as the shape of its ``type``; the choices are looked up when it is used, not when it is declared."""

    def choose(value: Any) -> Any:
        known = KNOWN[role]
        value = check_choice(value, tuple(known))
        return known[value["type"]].__pydantic_validator__.validate_python(value) if isinstance(value, dict) else value

    return BeforeValidator(choose)


class Sphere(ShapeModel):
    """A ball; in 2D a disc."""

    can_touch_itself = False
    type: Literal["sphere"] = "sphere"
    radius: Metres = Field(description="radius [m]")

    def half_size(self) -> Half:
        return (self.radius, self.radius, self.radius)


class Box(ShapeModel):
    """A rectangular box; in 2D a rectangle."""

    can_touch_itself = False
    elements_fit = True
    type: Literal["box"] = "box"
    size: Size = Field(description="full edge lengths (x, y, z) [m]; 2 numbers in 2D")

    @model_validator(mode="after")
    def _check(self) -> Box:
        if min(self.size) <= 0:
            raise complain("size must be positive along every axis; give the full edge lengths in m")
        check_slender(*self.size)
        return self

    def half_size(self) -> Half:
        x, y = self.size[:2]
        return (x / 2, y / 2, self.size[2] / 2 if len(self.size) == 3 else math.inf)

    def places(self) -> dict[str, tuple[float, ...]]:
        return {"size": self.size}


class Capsule(ShapeModel):
    """A cylinder along y with half spheres on its ends."""

    can_touch_itself = False
    type: Literal["capsule"] = "capsule"
    radius: Metres = Field(description="radius [m]")
    length: Metres = Field(description="length of the straight part along y, without the half spheres [m]")

    @model_validator(mode="after")
    def _check(self) -> Capsule:
        check_slender(self.radius, self.length + self.radius)
        return self

    def half_size(self) -> Half:
        return (self.radius, self.length / 2 + self.radius, self.radius)


class Cylinder(ShapeModel):
    """A round cylinder along y with flat ends."""

    can_touch_itself = False
    type: Literal["cylinder"] = "cylinder"
    radius: Metres = Field(description="radius [m]")
    length: Metres = Field(description="length along y [m]")

    @model_validator(mode="after")
    def _check(self) -> Cylinder:
        check_slender(self.radius, self.length)
        return self

    def half_size(self) -> Half:
        return (self.radius, self.length / 2, self.radius)


class Torus(ShapeModel):
    """A ring around the y axis."""

    type: Literal["torus"] = "torus"
    radius: Metres = Field(description="radius of the centre line [m]")
    tube: Metres = Field(description="radius of the tube [m]")

    @model_validator(mode="after")
    def _check(self) -> Torus:
        if self.tube >= self.radius:
            raise complain(f"tube = {self.tube:g} must be smaller than radius = {self.radius:g}; make the tube thinner")
        check_slender(self.radius, self.tube)
        return self

    def half_size(self) -> Half:
        return (self.radius + self.tube, self.tube, self.radius + self.tube)


class Plane(ShapeModel):
    """The half space below a plane through the position; solid on the side the normal points away from."""

    roles = ("region", "rigid", "soft")
    is_endless = True
    type: Literal["plane"] = "plane"
    normal: Direction = Field(description="normal out of the solid, any length")

    @model_validator(mode="after")
    def _check(self) -> Plane:
        if not any(self.normal):
            raise complain("normal must not be zero; it points out of the solid")
        return self

    def directions(self) -> dict[str, tuple[float, ...]]:
        return {"normal": self.normal}


class Mesh(ShapeModel):
    """A watertight triangle mesh from an OBJ, PLY, STL or glTF file."""

    roles = ("region", "rigid", "soft", "part", "sheet")
    sheet_in = (3,)
    type: Literal["mesh"] = "mesh"
    file: Text = Field(description="path of the mesh file, relative to the scene file")
    scale: PositiveNumber = Field(1.0, description="metres per unit of the file")


class MeshSequence(ShapeModel):
    """An animated mesh: one file per frame, all with the same triangles; velocities come from the vertices."""

    roles = ("region", "rigid", "soft")
    is_animated = True
    type: Literal["mesh_sequence"] = "mesh_sequence"
    files: tuple[Text, ...] = Field(description="paths of the mesh files in order, relative to the scene file")
    frame_rate: Rate = Field(description="meshes per second [1/s]")
    scale: PositiveNumber = Field(1.0, description="metres per unit of the files")

    @model_validator(mode="after")
    def _check(self) -> MeshSequence:
        if len(self.files) < 2:
            raise complain(f"files has {len(self.files)} entries; an animated mesh needs two or more")
        return self


class Bunny(ShapeModel):
    """The rabbit mesh that comes with the package."""

    type: Literal["bunny"] = "bunny"
    size: Metres = Field(description="height [m]")

    def half_size(self) -> Half:
        return (self.size, self.size, self.size)


class Hull(ShapeModel):
    """The convex hull of points; in 2D a convex polygon."""

    type: Literal["hull"] = "hull"
    points: Annotated[tuple[tuple[float, ...], ...], BeforeValidator(check_points)] = Field(
        description="points (x, y, z) [m], 4 or more that do not lie in a plane; 2D: 3 or more"
    )

    def half_size(self) -> Half:
        reach = [max((abs(p[i]) for p in self.points if len(p) > i), default=math.inf) for i in range(3)]
        return (reach[0], reach[1], reach[2])

    def check_dimensions(self, path: str, dimensions: int) -> None:
        flat = [p for p in self.points if len(p) != dimensions]
        if flat:
            raise complain(f"{path}.points: {list(flat[0])} must have {dimensions} components")


class Gear(ShapeModel):
    """A toothed wheel about the z axis, with a hole on it."""

    type: Literal["gear"] = "gear"
    radius: Metres = Field(description="radius of the tips of the teeth [m]")
    thickness: Metres = Field(description="length along z [m]")
    teeth: Count = Field(12, description="number of teeth, 4 or more")
    depth: Share = Field(0.2, description="depth of the teeth / radius, 0.05 to 0.5")
    hole: Share = Field(0.25, description="radius of the hole / radius, below 1 - depth; 0: none")

    @model_validator(mode="after")
    def _check(self) -> Gear:
        if self.teeth < 4:
            raise complain(f"teeth = {self.teeth}: a gear needs at least 4 teeth")
        if not 0.05 <= self.depth <= 0.5:
            raise complain(f"depth = {self.depth:g}: must be between 0.05 and 0.5 of the radius")
        if self.hole >= 0.95 - self.depth:
            raise complain(f"hole = {self.hole:g}: reaches the teeth; make it smaller than {0.95 - self.depth:g}")
        if self.teeth > 1000:
            raise complain(f"teeth = {self.teeth}: a gear has at most 1000 teeth")
        check_slender(self.radius, self.thickness)
        return self

    def half_size(self) -> Half:
        return (self.radius, self.radius, self.thickness / 2)


class Boat(ShapeModel):
    """An open boat along x, bow at +x, about the middle of its box."""

    type: Literal["boat"] = "boat"
    length: Metres = Field(description="length of the rim along x [m]")
    width: Metres = Field(description="width of the rim along z [m]")
    height: Metres = Field(description="height along y [m]")
    wall: Metres = Field(description="thickness of sides and bottom [m]")

    @model_validator(mode="after")
    def _check(self) -> Boat:
        if self.wall >= 0.35 * self.width or self.wall >= 0.9 * self.height or self.wall >= 0.35 * self.length:
            raise complain(
                f"wall = {self.wall:g}: leaves no room inside; make it less than 0.35 of length and width and 0.9 of "
                f"the height"
            )
        check_slender(self.length, self.width, self.height, self.wall)
        return self

    def half_size(self) -> Half:
        return (self.length / 2, self.height / 2, self.width / 2)


class Tetrahedra(ShapeModel):
    """A solid given as tetrahedra, of a soft body: a Gmsh file (.msh, text), or an .npz with ``points`` (n, 3) and
    ``tetrahedra`` (m, 4)."""

    roles = ("soft",)
    has_elements = elements_fit = True
    type: Literal["tetrahedra"] = "tetrahedra"
    file: Text = Field(description="path of the file, relative to the scene file")
    scale: PositiveNumber = Field(1.0, description="metres per unit of the file")


class Polygon(ShapeModel):
    """A simple polygon, convex or not, of a soft body in a 2D scene."""

    roles = ("soft",)
    type: Literal["polygon"] = "polygon"
    points: Annotated[tuple[tuple[float, ...], ...], BeforeValidator(check_points)] = Field(
        description="corners (x, y) [m] in order along the outline, 3 or more, either way round"
    )

    @model_validator(mode="after")
    def _check(self) -> Polygon:
        n = len(self.points)
        if n < 3:
            raise complain(f"points has {n} entries; a polygon needs three or more corners")
        if any(len(p) != 2 for p in self.points):
            raise complain("points must have two components (x, y); a polygon is for 2D scenes")
        if self.area() == 0:
            raise complain("points lie on a line; give corners that enclose an area")
        for i in range(n):
            for j in range(i + 1, n):
                if self._meet(i, j):
                    raise complain(
                        f"points: the sides from {list(self.points[i])} and from {list(self.points[j])} touch or "
                        f"cross; give the corners in order along an outline that does not meet itself"
                    )
        return self

    def area(self) -> float:
        """Enclosed area [m2], negative if the points run clockwise."""
        pairs = zip(self.points, self.points[1:] + self.points[:1], strict=True)
        return 0.5 * sum(a[0] * b[1] - a[1] * b[0] for a, b in pairs)

    def _meet(self, i: int, j: int) -> bool:
        """Whether sides i and j > i have a point in common, beside the corner of neighbours."""
        p, n = self.points, len(self.points)

        def side(a: int, b: int, c: int) -> float:
            (ax, ay), (bx, by), (cx, cy) = p[a % n], p[b % n], p[c % n]
            return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)

        def between(a: int, b: int, c: int) -> bool:
            return all(min(p[a % n][k], p[b % n][k]) <= p[c % n][k] <= max(p[a % n][k], p[b % n][k]) for k in (0, 1))

        if p[i] == p[(i + 1) % n]:
            return True
        if j == i + 1 or (i == 0 and j == n - 1):
            a, b, c = (i, j, j + 1) if j == i + 1 else (j, i, i + 1)
            (ax, ay), (bx, by), (cx, cy) = p[a], p[b % n], p[c % n]
            return side(a, b, c) == 0 and (bx - ax) * (cx - bx) + (by - ay) * (cy - by) <= 0
        signs = side(i, i + 1, j), side(i, i + 1, j + 1), side(j, j + 1, i), side(j, j + 1, i + 1)
        if signs[0] * signs[1] < 0 and signs[2] * signs[3] < 0:
            return True
        ends = ((i, i + 1, j), (i, i + 1, j + 1), (j, j + 1, i), (j, j + 1, i + 1))
        return any(sign == 0 and between(*end) for sign, end in zip(signs, ends, strict=True))

    def half_size(self) -> Half:
        return (max(abs(p[0]) for p in self.points), max(abs(p[1]) for p in self.points), math.inf)

    def check_dimensions(self, path: str, dimensions: int) -> None:
        if dimensions == 3:
            raise complain(f"{path}: a polygon is a shape of 2D scenes; use a box, a hull or a mesh")


AnyShape = SerializeAsAny[ShapeModel]
Shape = Annotated[AnyShape, choose_shape("region")]
RigidShape = Annotated[AnyShape, choose_shape("rigid")]
"""What a rigid body can be."""
SoftShape = Annotated[AnyShape, choose_shape("soft")]
"""What a soft body can be made of."""
FormShape = Annotated[AnyShape, choose_shape("sheet")]
"""What a thin shell can be made of."""
