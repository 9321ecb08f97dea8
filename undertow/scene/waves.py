"""Makers of waves and beaches: regions along the sides of a domain in which water is led towards a wave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, Tag, model_validator

from undertow.scene.base import Count, Instant, Metres, Model, Number, Position, Seconds, Seed, complain
from undertow.scene.choice import BY_TYPE, check_type
from undertow.scene.domain import AXES, Domain, Wall, opposite

if TYPE_CHECKING:
    from undertow.scene.scene import Scene

ZoneSideName = Literal["x_low", "x_high", "z_low", "z_high"]


class RegularWave(Model):
    """One wave, of the second order of Stokes."""

    type: Literal["regular"] = "regular"
    amplitude: Metres = Field(description="of the first harmonic, about half of the height from trough to crest [m]")
    period: Seconds = Field(description="period [s]")


class IrregularWave(Model):
    """Waves of random phases with a spectrum."""

    type: Literal["irregular"] = "irregular"
    spectrum: Literal["jonswap", "pierson_moskowitz"] = Field("jonswap", description="form of the spectrum")
    height: Metres = Field(description="significant height H_s, four standard deviations of the surface [m]")
    period: Seconds = Field(description="peak period T_p [s]")
    peakedness: Number | None = Field(
        None, description="jonswap: how much higher the peak is than that of Pierson and Moskowitz; absent: 3.3 [-]"
    )
    count: Count = Field(100, description="number of waves in the sum")
    seed: Seed | None = Field(None, description="of phases and frequencies; absent: that of the scene")

    @model_validator(mode="after")
    def _check(self) -> IrregularWave:
        if self.peakedness is not None and self.spectrum != "jonswap":
            raise complain(f"peakedness has no effect with spectrum = {self.spectrum!r}; remove it or use 'jonswap'")
        if self.peakedness is not None and not 1.0 <= self.peakedness <= 20.0:
            raise complain(f"peakedness = {self.peakedness:g}: must lie between 1 and 20; 3.3 is that of the North Sea")
        return self

    @property
    def peak_factor(self) -> float:
        """gamma of the spectrum: 1 is that of Pierson and Moskowitz."""
        if self.spectrum == "pierson_moskowitz":
            return 1.0
        return 3.3 if self.peakedness is None else self.peakedness


class Beach(Model):
    """An absorbing region along a side of the domain: waves of lengths from its twentieth to its half come back with
    less than 2% of their amplitude."""

    type: Literal["beach"] = "beach"
    side: ZoneSideName = Field(description="the side that it lies at, such as 'x_high'")
    length: Metres = Field(description="how far it reaches into the domain [m]; at least twice the longest wave")
    level: Position | None = Field(
        None, description="height of the still water [m]; absent: mean height of the surface in it at the start"
    )
    depth: Metres | None = Field(None, description="depth of the still water [m]; absent: down to the domain's floor")


class WaveMaker(Model):
    """A region along a side of the domain in which water is led towards waves that travel away from the side; waves
    that come back are absorbed."""

    type: Literal["wave_maker"] = "wave_maker"
    side: ZoneSideName = Field(description="the side that waves come from, such as 'x_low'")
    wave: Annotated[
        Annotated[RegularWave, Tag("<regular>")] | Annotated[IrregularWave, Tag("<irregular>")],
        BY_TYPE,
        check_type("regular", "irregular"),
    ] = Field(description="such as { type = 'regular', amplitude = 0.02, period = 1.2 }")
    length: Metres | None = Field(
        None,
        description="how far it reaches into the domain [m]; absent: one and a half wavelengths, of the peak period",
    )
    ramp: Instant | None = Field(None, description="time in which the waves grow from nothing [s]; absent: two periods")
    level: Position | None = Field(
        None, description="height of the still water [m]; absent: mean height of the surface at the start"
    )
    depth: Metres | None = Field(None, description="depth of the still water [m]; absent: down to the domain's floor")


def check_waves(scene: Scene, domain: Domain) -> None:
    """Regions of waves lie in water under gravity along -y, at walls, and do not overlap."""
    taken: dict[str, tuple[str, float]] = {}
    for name, item in scene.wave_zones.items():
        path = f"objects.{name}"
        if not scene.has_surface:
            raise complain(f"{path}: waves need water with a surface; add an object of type 'water', or remove it")
        down = scene.gravity
        if not isinstance(down, tuple):
            raise complain(f"{path}: gravity is a curve; waves run on water that lies level: give a constant vector")
        if not down[1] < 0.0 or any(g != 0.0 for n, g in enumerate(down) if n != 1):
            raise complain(
                f"{path}: gravity = {list(down)} does not point along -y; waves run on water that lies level"
            )
        axis = AXES.index(item.side[0])
        if axis >= scene.dimensions:
            raise complain(f"{path}.side = {item.side!r}: a 2D scene has no z sides; use 'x_low' or 'x_high'")
        if not isinstance(domain.sides[item.side], Wall):
            raise complain(
                f"{path}.side = {item.side!r}: is {domain.sides[item.side].type!r}, through which waves leave as they "
                "like; make it a wall, or choose another side"
            )
        size = domain.upper[axis] - domain.lower[axis]
        length = item.length or 0.0
        if length > size:
            raise complain(f"{path}.length = {length:g}: longer than the domain ({size:g} m); shorten it")
        if item.side in taken:
            raise complain(f"{path}.side = {item.side!r}: objects.{taken[item.side][0]} lies there already; remove one")
        other = taken.get(opposite(item.side))
        if other is not None and other[1] + length > size:
            raise complain(f"{path}.length = {length:g}: reaches into objects.{other[0]}; shorten one of them")
        taken[item.side] = (name, length)
        if item.level is not None and not domain.lower[1] < item.level < domain.upper[1]:
            raise complain(
                f"{path}.level = {item.level:g}: not inside the domain, which reaches from {domain.lower[1]:g} to "
                f"{domain.upper[1]:g} m; give the height of the still water"
            )
