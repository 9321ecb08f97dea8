"""Probes: what of a running simulation is written at every step."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, Tag, model_validator

from undertow.scene.base import Count, Direction, Model, Numbers, Point, Position, Text, complain
from undertow.scene.choice import BY_TYPE, check_type
from undertow.scene.domain import AXES, Domain
from undertow.scene.faults import suggest

if TYPE_CHECKING:
    from undertow.scene.scene import Scene

SampleField = Literal["velocity", "pressure", "smoke", "temperature", "vorticity", "density"]
OF_PARTICLES = ("velocity", "pressure", "density")
"""Fields that a fluid of particles has."""


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


class FaceProbe(Model):
    """A pressure sensor: mean pressure over a flat face of a wall, of the domain or of a solid at rest; 0 where dry. In
    a fluid that fills its domain without the hydrostatic part."""

    type: Literal["face"] = "face"
    position: Point = Field(description="middle of the face [m]")
    normal: Direction = Field(description="direction into the fluid, any length")
    size: Numbers = Field(
        description="edges [m]: one in 2D; in 3D two, the first horizontal (along x where the normal is vertical)"
    )
    count: Count = Field(5, description="points along each edge")

    @model_validator(mode="after")
    def _check(self) -> FaceProbe:
        if not any(self.normal):
            raise complain("normal must not be zero; give the direction into the fluid")
        if not all(edge > 0.0 for edge in self.size):
            raise complain(f"size = {list(self.size)}: must be positive; give the edges in m")
        return self

    def points(self, dimensions: int) -> list[tuple[float, float, float]]:
        """Middles of equal parts of the face [m]."""
        x, y, z = (*self.position, 0.0)[:3]
        a, b, c = (*self.normal, 0.0)[:3]
        length = math.sqrt(a * a + b * b + c * c)
        a, b, c = a / length, b / length, c / length
        if dimensions == 2:
            first, second, edges = (-b, a, 0.0), (0.0, 0.0, 0.0), (self.size[0], 0.0)
        else:
            flat = math.hypot(a, c)
            first = (c / flat, 0.0, -a / flat) if flat > 1e-9 else (1.0, 0.0, 0.0)
            (p, _, r), edges = first, (self.size[0], self.size[1])
            second = (b * r, c * p - a * r, -b * p)
        parts = [(n + 0.5) / self.count - 0.5 for n in range(self.count)]
        return [
            (x + s * first[0] + t * second[0], y + s * first[1] + t * second[1], z + s * first[2] + t * second[2])
            for s in (edges[0] * part for part in parts)
            for t in ((edges[1] * part for part in parts) if dimensions == 3 else (0.0,))
        ]


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
    | Annotated[FaceProbe, Tag("<face>")]
    | Annotated[ForceProbe, Tag("<force>")],
    BY_TYPE,
    check_type("point", "line", "flux", "gauge", "face", "force"),
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
            if scene.sph_fluids:
                raise complain(f"{path}: flux counts faces of a grid; particles have point, line, face, force probes")
            axis = AXES.index(probe.axis)
            if axis >= scene.dimensions:
                raise complain(f"{path}.axis = 'z': a 2D scene has no z; use 'x' or 'y'")
            if not domain.lower[axis] <= probe.position <= domain.upper[axis]:
                raise complain(f"{path}.position = {probe.position:g}: outside the domain; move the section inside")
        else:
            if isinstance(probe, FaceProbe):
                edges = scene.dimensions - 1
                if len(probe.size) != edges:
                    raise complain(
                        f"{path}.size = {list(probe.size)}: a face of a {scene.dimensions}D scene has {edges} "
                        f"{'edge' if edges == 1 else 'edges'}; give as many numbers"
                    )
                points: list[tuple[float, ...]] = [*probe.points(scene.dimensions)]
            else:
                points = [probe.start, probe.end] if isinstance(probe, LineProbe) else [probe.position]
            for point in points:
                inside = zip(domain.lower, point, domain.upper, strict=False)
                if not all(lo <= x <= hi for lo, x, hi in inside):
                    raise complain(f"{path}: the point {list(point)} is outside the domain; move it inside")
            if isinstance(probe, GaugeProbe):
                if scene.sph_fluids:
                    raise complain(f"{path}: a wave gauge reads a grid; particles have point, line, face, force probes")
                if not scene.has_surface:
                    raise complain(f"{path}: a wave gauge needs water; add an object of type 'water', or remove it")
            elif isinstance(probe, PointProbe | LineProbe):
                _check_fields(scene, path, probe.fields)


def _check_fields(scene: Scene, path: str, fields: tuple[str, ...]) -> None:
    for field in fields if scene.sph_fluids else ():
        if field not in OF_PARTICLES:
            raise complain(f"{path}.fields: particles have no {field!r}; use {', '.join(OF_PARTICLES)}")
    if scene.smoke is None and {"smoke", "temperature"} & set(fields):
        raise complain(f"{path}.fields: smoke and temperature need smoke; add a [smoke] table")
