"""Loads on bodies: forces, tractions and pressures that the scene gives, over time."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, Tag

from undertow.scene.base import Model, Point, check_vector, complain
from undertow.scene.choice import BY_TYPE, check_type
from undertow.scene.curves import ForceCurve, PressureCurve, TorqueCurve, TractionCurve
from undertow.scene.domain import values_of
from undertow.scene.motion import Rotation
from undertow.scene.shapes import Shape


class Region(Model):
    """Part of a surface: its elements whose centres lie inside a shape at t = 0."""

    shape: Shape = Field(description="the shape, such as { type = 'box', size = [0.1, 0.1, 0.1] }")
    position: Point = Field(description="position of the centre [m]")
    rotation: Rotation = Field(Rotation(), description="rotation")


class ForceLoad(Model):
    """A force along the axes of the world, at one point."""

    type: Literal["force"] = "force"
    force: ForceCurve = Field(description="force, a vector or a curve [N; 2D N/m]")
    at: Point | None = Field(
        None,
        description="where it acts at t = 0 [m], from then on the same point of the body, of a soft body the nearest "
        "node; absent: at the centre of mass, of a soft body on all nodes by their masses",
    )


class TorqueLoad(Model):
    """A torque on a rigid body."""

    type: Literal["torque"] = "torque"
    torque: TorqueCurve = Field(description="torque, a vector or a curve [N m; 2D N]; along z in 2D")


class TractionLoad(Model):
    """A force per area, along the axes of the world; the area is that at t = 0."""

    type: Literal["traction"] = "traction"
    traction: TractionCurve = Field(description="force per area, a vector or a curve [Pa]")
    region: Region | None = Field(None, description="where on the surface it acts; absent: everywhere")


class PressureLoad(Model):
    """A pressure against the outward normal of a surface, which it follows; of cloth the normal of its triangles."""

    type: Literal["pressure"] = "pressure"
    pressure: PressureCurve = Field(description="pressure, a number or a curve [Pa]")
    region: Region | None = Field(None, description="where on the surface it acts; absent: everywhere")


Load = Annotated[
    Annotated[ForceLoad, Tag("<force>")]
    | Annotated[TorqueLoad, Tag("<torque>")]
    | Annotated[TractionLoad, Tag("<traction>")]
    | Annotated[PressureLoad, Tag("<pressure>")],
    BY_TYPE,
    check_type("force", "torque", "traction", "pressure"),
]
Loads = Annotated[tuple[Load, ...], BeforeValidator(lambda value: _listed(value))]


def _listed(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise complain("must be a list of loads, such as [{ type = 'force', force = [0, 1, 0] }]")
    return value


def check_loads(path: str, loads: tuple[Any, ...], dimensions: int, rope: bool = False, rigid: bool = True) -> None:
    """Loads of the object ``path`` against the kind of body it is."""
    for n, load in enumerate(loads):
        where = f"{path}.loads.{n}"
        if isinstance(load, TorqueLoad) and not rigid:
            raise complain(f"{where}: a torque acts on rigid bodies; give forces at two points instead")
        if isinstance(load, TractionLoad | PressureLoad) and rope:
            raise complain(f"{where}: a rope has no surface for a {load.type}; use type = 'force'")
        if isinstance(load, TractionLoad | PressureLoad) and load.region is not None:
            load.region.shape.check_dimensions(f"{where}.region.shape", dimensions)
        if isinstance(load, ForceLoad) and load.at is not None:
            _check_length(where, load.at, dimensions)
        if isinstance(load, ForceLoad | TractionLoad):
            for value in values_of(load.force if isinstance(load, ForceLoad) else load.traction):
                _check_length(where, value, dimensions)
        if isinstance(load, TorqueLoad) and dimensions == 2 and any(any(v[:2]) for v in values_of(load.torque)):
            raise complain(f"{where}.torque: in a 2D scene bodies turn about z only; give [0, 0, T]")


def _check_length(where: str, values: tuple[float, ...], dimensions: int) -> None:
    flat = dimensions == 2 and len(values) == 3 and values[2] == 0
    if len(values) != dimensions and not flat:
        raise complain(f"{where}: {list(check_vector(values, 'SI units'))} must have {dimensions} components")
