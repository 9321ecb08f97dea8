"""Probes: what of a running simulation is written at every step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, Tag

from undertow.scene.base import Count, Model, Point, Position, Text, complain
from undertow.scene.choice import BY_TYPE, check_type
from undertow.scene.domain import AXES, Domain
from undertow.scene.faults import suggest

if TYPE_CHECKING:
    from undertow.scene.scene import Scene

SampleField = Literal["velocity", "pressure", "smoke", "temperature", "vorticity"]


class PointProbe(Model):
    """Fields at a point, one row per step."""

    type: Literal["point"] = "point"
    position: Point = Field(description="position [m]")
    fields: tuple[SampleField, ...] = Field(("velocity", "pressure"), description="fields to record")


class LineProbe(Model):
    """Fields at equally spaced points of a line, ends included."""

    type: Literal["line"] = "line"
    start: Point = Field(description="first point [m]")
    end: Point = Field(description="last point [m]")
    count: Count = Field(11, description="number of points")
    fields: tuple[SampleField, ...] = Field(("velocity",), description="fields to record")


class FluxProbe(Model):
    """Volume flow through the grid faces nearest to a section across the domain, along the positive axis."""

    type: Literal["flux"] = "flux"
    axis: Literal["x", "y", "z"] = Field(description="axis the section is normal to")
    position: Position = Field(description="coordinate of the section on that axis [m]")


class GaugeProbe(Model):
    """A wave gauge: height of the highest surface of the water on the vertical through a point, and how much of that
    vertical is wet, which spray over the water does not change as much; by cells, outside solids."""

    type: Literal["gauge"] = "gauge"
    position: Point = Field(description="a point of the vertical [m]; its height does not count")


class ForceProbe(Model):
    """Sums of forces on a group of solids, rigid and soft: of the fluid, of contact, joints, loads, and of what holds
    nodes."""

    type: Literal["force"] = "force"
    objects: tuple[Text, ...] = Field(description="names of the solids")


Probe = Annotated[
    Annotated[PointProbe, Tag("<point>")]
    | Annotated[LineProbe, Tag("<line>")]
    | Annotated[FluxProbe, Tag("<flux>")]
    | Annotated[GaugeProbe, Tag("<gauge>")]
    | Annotated[ForceProbe, Tag("<force>")],
    BY_TYPE,
    check_type("point", "line", "flux", "gauge", "force"),
]


def check_force_probes(scene: Scene) -> None:
    """The solids of force probes are there."""
    for name, probe in scene.probes.items():
        for item in probe.objects if isinstance(probe, ForceProbe) else ():
            known = [*scene.bodies, *scene.softs]
            if item not in known:
                hint = suggest(item, known)
                raise complain(f"probes.{name}.objects: there is no solid {item!r}; {hint}Name solids under [objects]")


def check_probes(scene: Scene, domain: Domain) -> None:
    """Probes lie in the domain and measure what is there."""
    check_force_probes(scene)
    for name, probe in scene.probes.items():
        path = f"probes.{name}"
        if isinstance(probe, ForceProbe):
            continue
        if isinstance(probe, FluxProbe):
            axis = AXES.index(probe.axis)
            if axis >= scene.dimensions:
                raise complain(f"{path}.axis = 'z': a 2D scene has no z; use 'x' or 'y'")
            if not domain.lower[axis] <= probe.position <= domain.upper[axis]:
                raise complain(f"{path}.position = {probe.position:g}: outside the domain; move the section inside")
        else:
            points = [probe.start, probe.end] if isinstance(probe, LineProbe) else [probe.position]
            for point in points:
                inside = zip(domain.lower, point, domain.upper, strict=False)
                if not all(lo <= x <= hi for lo, x, hi in inside):
                    raise complain(f"{path}: the point {list(point)} is outside the domain; move it inside")
            if isinstance(probe, GaugeProbe):
                if not scene.has_surface:
                    raise complain(f"{path}: a wave gauge needs water; add an object of type 'water', or remove it")
            elif scene.smoke is None and {"smoke", "temperature"} & set(probe.fields):
                raise complain(f"{path}.fields: smoke and temperature need smoke; add a [smoke] table")
