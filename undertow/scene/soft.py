"""Deformable things: soft bodies, cloth, ropes, what holds them, and how they are advanced."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from undertow.scene.base import (
    AngularVelocity,
    Color,
    Density,
    Flag,
    Instant,
    Metres,
    Model,
    NonNegativeNumber,
    Point,
    Text,
    Tolerance,
    Velocity,
    check_number,
    check_vector,
    complain,
)
from undertow.scene.choice import check_type
from undertow.scene.loads import Loads, check_loads
from undertow.scene.motion import Driven, Motion, Rotation, Static
from undertow.scene.shapes import Mesh, Shape, SoftShape
from undertow.scene.tearing import Tear

if TYPE_CHECKING:
    from undertow.scene.scene import Scene

Pascals = Annotated[float, BeforeValidator(lambda value: check_number(value, "Pa", above=0.0))]
AreaDensity = Annotated[float, BeforeValidator(lambda value: check_number(value, "kg/m2", above=0.0))]
LineDensity = Annotated[float, BeforeValidator(lambda value: check_number(value, "kg/m", above=0.0))]
Tension = Annotated[float, BeforeValidator(lambda value: check_number(value, "N/m", above=0.0))]
Rigidity = Annotated[float, BeforeValidator(lambda value: check_number(value, "N m", low=0.0))]
Newtons = Annotated[float, BeforeValidator(lambda value: check_number(value, "N", above=0.0))]
NonNegativeLength = Annotated[float, BeforeValidator(lambda value: check_number(value, "m", low=0.0))]
SheetShape = Annotated[Mesh, check_type("mesh")]
Sheet = Annotated[tuple[float, ...], BeforeValidator(lambda value: check_vector(value, "m", (2,), 0.0))]


def _check_poisson(value: float) -> float:
    ratio = check_number(value, "a dimensionless unit")
    if not -1.0 < ratio < 0.5:
        raise complain("must lie between -1 and 0.5, which no sheet reaches")
    return ratio


def _check_poisson_of_solid(value: float) -> float:
    ratio = check_number(value, "a dimensionless unit")
    if not -1.0 < ratio <= 0.5:
        raise complain("must lie between -1 and 0.5, which is that of a solid with incompressible = true")
    return ratio


Poisson = Annotated[float, BeforeValidator(_check_poisson)]
PoissonOfSolid = Annotated[float, BeforeValidator(_check_poisson_of_solid)]


def check_sheet_tear(tear: Tear | None, what: str) -> None:
    """Sheets and ropes tear by stretch: their stress depends on a thickness that they have for contact alone."""
    if tear is not None and tear.stress is not None:
        raise complain(f"tear.stress = {tear.stress:g}: {what} has no stress of its own, tear.stretch is its limit")


class Hold(Model):
    """The nodes inside a shape stay where they are, follow a motion, or are bound to a rigid body."""

    shape: Shape = Field(description="the shape, such as { type = 'box', size = [0.1, 0.1, 0.1] }")
    position: Point = Field(description="position of the centre [m]")
    rotation: Rotation = Field(Rotation(), description="rotation")
    axes: Literal["x", "y", "z", "xy", "xz", "yz", "xyz"] = Field(
        "xyz", description="axes of the world along which the nodes are held; along the others they slide freely"
    )
    motion: Motion = Field(Static(), description="static, velocity or keyframes: how the nodes are moved")
    body: Text | None = Field(None, description="name of a rigid body that carries the nodes, and feels them")
    until: Instant | None = Field(None, description="time at which the nodes are let go [s]; absent: never")

    @model_validator(mode="after")
    def _check(self) -> Hold:
        if self.body is not None and self.until is not None:
            raise complain("until: nodes that a rigid body carries stay with it; remove until or body")
        if isinstance(self.motion, Driven):
            raise complain("motion.type = 'driven': rigid bodies are driven; bind the nodes to one with body = NAME")
        if self.body is not None and self.axes != "xyz":
            raise complain(
                f"axes = {self.axes!r}: nodes that a rigid body carries move with it along all axes; remove axes or "
                "body, or join two rigid bodies by a prismatic or planar joint"
            )
        if self.body is not None and not isinstance(self.motion, Static):
            raise complain("the nodes follow a motion or a body; remove one of them")
        return self

    @property
    def clamps(self) -> bool:
        """Whether a sheet keeps its slope where it ends: its nodes are held for ever, along all axes."""
        return self.until is None and self.axes == "xyz"


class SoftBody(Model):
    """An elastic solid: tetrahedra in 3D, triangles under plane strain in 2D."""

    type: Literal["soft_body"] = "soft_body"
    shape: SoftShape = Field(description="the shape at rest, such as { type = 'sphere', radius = 0.1 }")
    position: Point = Field(description="position of the centre at t = 0 [m]")
    rotation: Rotation = Field(Rotation(), description="rotation at t = 0")
    velocity: Velocity = Field((0.0, 0.0, 0.0), description="velocity at t = 0 [m/s]")
    angular_velocity: AngularVelocity = Field((0.0, 0.0, 0.0), description="at t = 0 [rad/s]; along z in 2D")
    element_size: Metres | None = Field(None, description="size of the elements [m]; tetrahedra have their own")
    density: Density = Field(1000.0, description="density [kg/m3]")
    youngs_modulus: Pascals = Field(1e5, description="Young's modulus [Pa]")
    poisson_ratio: PoissonOfSolid = Field(
        0.3, description="Poisson ratio, -1 to 0.5; 0.5 with incompressible = true alone [-]"
    )
    model: Literal["stvk", "neo_hookean", "corotated"] = Field(
        "corotated", description="law of large strains: St Venant-Kirchhoff, neo-Hookean or fixed corotated"
    )
    damping: Instant = Field(0.0, description="Rayleigh damping: the stiffness at rest times this time [s]")
    incompressible: Flag = Field(
        False,
        description="true: every one-ring of elements keeps its volume; the shear modulus stays E / (2 (1 + nu)), so "
        "that Young's modulus becomes three times that, and is E for poisson_ratio = 0.5",
    )
    embed: Flag = Field(
        False, description="true: the shape's own surface is carried by the elements and shown in place of theirs"
    )
    friction: NonNegativeNumber = Field(0.5, description="Coulomb friction; a pair has the geometric mean [-]")
    holds: tuple[Hold, ...] = Field((), description="regions whose nodes are held or moved")
    loads: Loads = Field((), description="forces, tractions and pressures on it")
    tear: Tear | None = Field(None, description="where it tears: { stretch = 1.5 } or { stress = 2e5 }; absent: never")
    color: Color = Field((0.86, 0.62, 0.20), description="red, green, blue in pictures, 0 to 1")

    @model_validator(mode="after")
    def _check(self) -> SoftBody:
        if self.shape.is_animated or self.shape.is_endless:
            raise complain(f"a soft body cannot be a {self.shape.type}; use a shape that encloses a volume")
        given = self.shape.has_elements
        if given and self.element_size is not None:
            raise complain("element_size has no effect on a shape of given tetrahedra; remove it")
        if not given and self.element_size is None:
            raise complain("element_size is missing; give the size of the elements in m")
        if self.embed and self.shape.elements_fit:
            raise complain(f"embed: the elements of a {self.shape.type} have its surface already; remove it")
        if self.tear is not None and self.embed:
            raise complain("tear: a surface that elements carry does not tear with them; remove embed, or tear")
        if self.tear is not None and self.tear.stress is not None and self.incompressible:
            raise complain(
                "tear.stress: the pressure that keeps the volume is in no element's stress; give tear.stretch, or "
                "remove incompressible"
            )
        if self.poisson_ratio == 0.5 and not self.incompressible:
            raise complain("poisson_ratio = 0.5: such a solid keeps its volume; add incompressible = true, or use 0.49")
        return self


class Cloth(Model):
    """A sheet: it resists stretching and bending. Flat at t = 0, in the plane its rotation makes of the x-z plane, a
    balloon, or the triangles of a file, curved or flat, which is then its shape without stress."""

    type: Literal["cloth"] = "cloth"
    shape: SheetShape | None = Field(
        None, description="its triangles, { type = 'mesh', file = 'a.obj' }, in the place of size and element_size"
    )
    size: Sheet | None = Field(
        None, description="lengths along x and z before it is turned [m]; of a balloon width and height"
    )
    outline: Literal["rectangle", "disc", "balloon"] = Field(
        "rectangle", description="disc: the ellipse that fills the size; balloon: the spheroid of that width and height"
    )
    opening: NonNegativeLength = Field(
        0.0, description="of a balloon: diameter of the hole at its lower end [m]; 0: it is closed"
    )
    position: Point = Field(description="position of the centre at t = 0 [m]")
    rotation: Rotation = Field(Rotation(), description="rotation at t = 0")
    velocity: Velocity = Field((0.0, 0.0, 0.0), description="velocity at t = 0 [m/s]")
    element_size: Metres | None = Field(None, description="size of the triangles [m]; those of a file have their own")
    density: AreaDensity = Field(0.2, description="mass per area [kg/m2]")
    stretching: Tension = Field(1000.0, description="Young's modulus times thickness [N/m]")
    poisson_ratio: Poisson = Field(0.3, description="Poisson ratio in the sheet, -1 to 0.5 [-]")
    bending: Rigidity = Field(1e-5, description="bending rigidity [N m]")
    damping: Instant = Field(0.0, description="Rayleigh damping: the stiffness at rest times this time [s]")
    thickness: Metres = Field(1e-3, description="twice the distance kept from rigid bodies [m]")
    wind: Velocity = Field((0.0, 0.0, 0.0), description="velocity of the air around it [m/s]")
    drag: NonNegativeNumber = Field(0.0, description="drag coefficient of its area across the wind [-]")
    friction: NonNegativeNumber = Field(0.5, description="Coulomb friction; a pair has the geometric mean [-]")
    holds: tuple[Hold, ...] = Field((), description="regions whose nodes are held or moved")
    loads: Loads = Field((), description="forces, tractions and pressures on it")
    tear: Tear | None = Field(None, description="where it tears: { stretch = 1.5 }; absent: never")
    color: Color = Field((0.30, 0.45, 0.70), description="red, green, blue in pictures, 0 to 1")

    @model_validator(mode="after")
    def _check(self) -> Cloth:
        check_sheet_tear(self.tear, "a sheet")
        if self.drag == 0 and any(self.wind):
            raise complain("wind has no effect without drag; give a drag coefficient")
        if self.shape is not None:
            for name in ("size", "element_size", "outline", "opening"):
                if name in self.model_fields_set and getattr(self, name) != type(self).model_fields[name].default:
                    raise complain(f"{name} has no effect on a sheet whose shape is a mesh; remove it, or the shape")
            return self
        if self.size is None or self.element_size is None:
            raise complain("size and element_size are missing; give them in m, or a mesh as shape")
        if min(self.size) <= 0:
            raise complain("size must be positive; give two lengths in m")
        if self.opening > 0 and self.outline != "balloon":
            raise complain(f"opening = {self.opening:g}: a {self.outline} has none; remove it, or make it a balloon")
        if self.opening >= 0.9 * self.size[0]:
            raise complain(f"opening = {self.opening:g} m must be smaller than 0.9 of the width {self.size[0]:g} m")
        return self


class Rope(Model):
    """A rope of segments from ``position`` to ``end``, sagging or straight, or a ring; it resists stretching alone."""

    type: Literal["rope"] = "rope"
    outline: Literal["line", "ring"] = Field("line", description="ring: the circle on the line as its diameter")
    position: Point = Field(description="where it starts at t = 0 [m]")
    end: Point = Field(description="where it ends at t = 0 [m]")
    length: Metres | None = Field(None, description="length at rest [m]; absent: the distance of its ends")
    element_size: Metres = Field(description="length of a segment [m]")
    density: LineDensity = Field(0.1, description="mass per length [kg/m]")
    stretching: Newtons = Field(1e4, description="Young's modulus times cross section [N]")
    damping: Instant = Field(0.0, description="Rayleigh damping: the stiffness times this time [s]")
    thickness: Metres = Field(0.01, description="diameter, for contact and pictures [m]")
    friction: NonNegativeNumber = Field(0.5, description="Coulomb friction; a pair has the geometric mean [-]")
    holds: tuple[Hold, ...] = Field((), description="regions whose nodes are held or moved")
    loads: Loads = Field((), description="forces, tractions and pressures on it")
    tear: Tear | None = Field(None, description="where it tears: { stretch = 1.5 }; absent: never")
    color: Color = Field((0.55, 0.45, 0.35), description="red, green, blue in pictures, 0 to 1")

    @model_validator(mode="after")
    def _check(self) -> Rope:
        check_sheet_tear(self.tear, "a rope")
        span = math.dist(self.position, self.end) if len(self.position) == len(self.end) else 0.0
        if span < 1e-9:
            raise complain("position and end must be two different points of as many components, 1e-9 m apart at least")
        if self.outline == "ring" and self.length is not None:
            raise complain("length: a ring is as long as its circle; remove it")
        if self.length is not None and self.length < span * (1 - 1e-12):
            raise complain(f"length = {self.length:g} is shorter than the distance {span:g} m of its ends; lengthen it")
        return self


class Soft(Model):
    """How soft bodies, cloth and ropes are advanced."""

    stepper: Literal["implicit", "linearised", "newmark", "leapfrog"] = Field(
        "implicit",
        description="backward Euler with any step; the same linearised about the start of the step, one solve, for "
        "cloth that touches itself (Baraff and Witkin 1998); or explicit: that of Schroeder 2011, 4.2, or Verlet's",
    )
    tolerance: Tolerance = Field(
        1e-3, description="implicit, linearised: move of a node in the last iteration / element size [-]"
    )
    collisions: Flag = Field(
        True,
        description="soft bodies, cloth and ropes (in 2D without fluid alone) keep apart from each other and from "
        "themselves",
    )
    volume_recovery: Instant = Field(
        0.01,
        description="incompressible, and closed shells in fluid: shortest time over which lost volume is regained [s]; "
        "0: at once",
    )
    shell_weights: Literal["middle", "equal"] = Field(
        "middle",
        description="cloth, ropes in fluid: weights of a triangle's nodes in the velocity of a face, at the middle of "
        "the part in its dual cell, or equal (Robinson-Mosher et al. 2008)",
    )
    volume_solve: Literal["sweeps", "single", "folded"] = Field(
        "sweeps",
        description="incompressible, without fluid: volume after elasticity and damping, with contact by sweeps in it; "
        "all of them in one system of rows; the same with elasticity and damping in the mass (Schroeder 2011, 3.4, "
        "5.10)",
    )


def _is_closed_shell(item: SoftBody | Cloth | Rope) -> bool:
    if isinstance(item, Cloth):
        return item.outline == "balloon" and item.opening == 0
    return isinstance(item, Rope) and item.outline == "ring"


MOST_ELEMENTS = 2_000_000
"""Elements of one soft body, cloth or rope; a step of so many takes minutes."""


FLATTEST = 1e-3
"""Narrowest side of a cloth or a box over the size of its elements, which are as narrow as that side."""


def count_elements(item: SoftBody | Cloth | Rope, dimensions: int) -> float:
    """About how many elements it has; 0 for a shape of a file, which is counted when it is read."""
    h = item.element_size
    if h is None:
        return 0.0
    if isinstance(item, Rope):
        span = math.dist(item.position, item.end)
        return (math.pi * span if item.outline == "ring" else item.length or span) / h
    if isinstance(item, Cloth):
        width, height = item.size or (0.0, 0.0)
        return (2.0 * math.pi if item.outline == "balloon" else 2.0) * (width / h) * (height / h)
    around = math.prod(2.0 * half / h for half in item.shape.half_size()[:dimensions])
    return (4.0 if dimensions == 2 else 5.0) * around if math.isfinite(around) else 0.0


def check_soft(scene: Scene) -> None:
    """Soft bodies of a scene against the rest of it."""
    dimensions = scene.dimensions
    for name, item in scene.softs.items():
        path = f"objects.{name}"
        sides: tuple[float, ...] = ()
        if isinstance(item, Cloth):
            sides = item.size or ()
        elif isinstance(item, SoftBody) and item.shape.elements_fit:
            sides = tuple(2.0 * half for half in item.shape.half_size()[:dimensions])
        if item.element_size is not None and sides and min(sides) < FLATTEST * item.element_size:
            raise complain(
                f"{path}: {min(sides):g} m wide with element_size = {item.element_size:g}, elements so flat that "
                f"rounding is all that is left of them; make element_size at most {min(sides) / FLATTEST:.2g}, or the "
                f"{item.type} wider"
            )
        count = count_elements(item, dimensions)
        if count > MOST_ELEMENTS:
            raise complain(
                f"{path}: element_size = {item.element_size:g} makes about {count:.2g} elements, more than "
                f"{MOST_ELEMENTS}; make the elements larger or the {item.type} smaller"
            )
        if dimensions == 2 and isinstance(item, Cloth):
            raise complain(f"{path}: a 2D scene has no cloth; use a rope, or give positions a z if it was forgotten")
        if isinstance(item, SoftBody):
            item.shape.check_dimensions(f"{path}.shape", dimensions)
        if dimensions == 2 and isinstance(item, SoftBody) and item.embed:
            raise complain(f"{path}.embed: outlines of 2D scenes are those of the elements; remove it")
        check_loads(path, item.loads, dimensions, isinstance(item, Rope), rigid=False)
        for hold in item.holds:
            hold.shape.check_dimensions(f"{path}.holds.shape", dimensions)
            if dimensions == 2 and hold.axes != "xyz" and "z" in hold.axes:
                raise complain(
                    f"{path}.holds: axes = {hold.axes!r}: in a 2D scene nodes move along x and y alone; give 'x' or "
                    "'y', or remove axes"
                )
            if hold.body is not None and hold.body not in scene.bodies:
                names = ", ".join(scene.bodies) or "(none)"
                raise complain(f"{path}.holds: body = {hold.body!r} is no rigid body of the scene, which has {names}")
        vectors = [item.position, *(hold.position for hold in item.holds)]
        vectors += [item.end] if isinstance(item, Rope) else [item.velocity]
        for vector in vectors:
            if len(vector) != dimensions and not (dimensions == 2 and len(vector) == 3 and vector[2] == 0):
                raise complain(f"{path}: {list(vector)} must have {dimensions} components, as the scene has")
    keeps = any(isinstance(item, SoftBody) and item.incompressible for item in scene.softs.values())
    if keeps and scene.soft.stepper == "linearised":
        raise complain(
            "soft.stepper = 'linearised': contacts of incompressible bodies must be held, which its rows do not; use "
            "'implicit', or remove incompressible = true"
        )
    if scene.softs and scene.soft.volume_solve != Soft().volume_solve:
        if scene.domain is not None:
            raise complain("soft.volume_solve: in fluid all is one system already; remove it, or remove the [domain]")
        if not keeps:
            raise complain("soft.volume_solve has no effect without a body with incompressible = true; remove it")
    keeps = keeps or (scene.domain is not None and any(_is_closed_shell(item) for item in scene.softs.values()))
    if scene.softs and not keeps and scene.soft.volume_recovery != Soft().volume_recovery:
        raise complain(
            "soft.volume_recovery has no effect without a body with incompressible = true or a closed shell in fluid; "
            "remove it"
        )
    shells = any(not isinstance(item, SoftBody) for item in scene.softs.values()) or bool(scene.shells)
    shells = shells and scene.domain is not None
    if scene.has_nodes and not shells and scene.soft.shell_weights != Soft().shell_weights:
        raise complain("soft.shell_weights has no effect without a cloth, rope or shell in fluid; remove it")
    if not scene.has_nodes and scene.soft != Soft():
        raise complain("soft has no effect without a soft_body, cloth or rope; add one, or remove the table")
