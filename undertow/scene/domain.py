"""The box of fluid and what happens at its sides."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from undertow.scene.base import ContactAngle, Count, Flag, Kelvin, Model, NonNegativeNumber, Numbers, Point, complain
from undertow.scene.choice import BY_TYPE, check_type
from undertow.scene.curves import Curve, Sine, Table, VelocityCurve
from undertow.scene.faults import suggest

AXES = ("x", "y", "z")


class ContactAngles(Model):
    """Contact angle with hysteresis: the contact line stays where it is as long as its angle is between the two."""

    advancing: ContactAngle = Field(description="angle at which the water begins to go on over the dry wall [degrees]")
    receding: ContactAngle = Field(description="angle at which it begins to draw back from the wet wall [degrees]")

    @model_validator(mode="after")
    def _check(self) -> ContactAngles:
        if self.receding > self.advancing:
            raise complain(
                f"receding = {self.receding:g} is more than advancing = {self.advancing:g} degrees; exchange them"
            )
        return self


WallAngle = Annotated[
    Annotated[ContactAngle, Tag("<constant>")] | Annotated[ContactAngles, Tag("<table>")],
    Discriminator(lambda value: "<table>" if isinstance(value, dict | ContactAngles) else "<constant>"),
]


class Wall(Model):
    """A solid side; fluid sticks to it unless ``slip``; it may move in its own plane (a lid)."""

    type: Literal["wall"] = "wall"
    slip: Flag = Field(False, description="true: fluid slides along the wall")
    velocity: VelocityCurve = Field((0.0, 0.0, 0.0), description="velocity of the wall in its plane [m/s]")
    contact_angle: WallAngle | None = Field(
        None,
        description="angle in the water at which its surface meets the wall, 0 to 180 [degrees], or with hysteresis "
        "{ advancing = 110.0, receding = 70.0 }; absent: 90",
    )


class Inflow(Model):
    """Fluid enters with a given velocity.

    ``parabolic``: ``velocity`` is the peak and is multiplied by 4 s (1 - s) along each direction of the side that ends
    in no-slip walls, s being the fraction from one to the other. ``table``: multiplied by ``values`` at the fractions
    ``coordinate`` along the first direction of the side (y on x sides, x on the others).
    """

    type: Literal["inflow"] = "inflow"
    velocity: VelocityCurve = Field(description="velocity of the incoming fluid, vector or curve [m/s]")
    profile: Literal["uniform", "parabolic", "table"] = Field("uniform", description="its shape over the side")
    coordinate: Numbers | None = Field(None, description="table: increasing fractions along the side, 0 to 1")
    values: Numbers | None = Field(None, description="table: multiplier of the velocity at each fraction")
    slip: Flag = Field(True, description="true: the tangential velocity is free; false: it is that of velocity")
    smoke: NonNegativeNumber = Field(0.0, description="smoke density of the incoming fluid [-]")
    temperature: Kelvin | None = Field(None, description="temperature of the incoming fluid [K]; absent: ambient")

    @model_validator(mode="after")
    def _check(self) -> Inflow:
        given = [name for name in ("coordinate", "values") if getattr(self, name) is not None]
        if self.profile != "table":
            if given:
                raise complain(f"{given[0]} has no effect with profile = {self.profile!r}; remove it or use 'table'")
            return self
        if self.coordinate is None or self.values is None:
            raise complain("profile = 'table' needs both coordinate and values")
        if len(self.coordinate) != len(self.values):
            raise complain(f"has {len(self.coordinate)} coordinates and {len(self.values)} values; give one for each")
        s = self.coordinate
        if sorted(set(s)) != list(s) or s[0] < 0 or s[-1] > 1:
            raise complain("coordinate must increase and stay between 0 and 1 (fractions along the side)")
        return self


class Outflow(Model):
    """Fluid leaves freely, p = 0; fluid that comes back is like the fluid inside."""

    type: Literal["outflow"] = "outflow"


class Open(Model):
    """Open to still air at p = 0; fluid that comes in is clean and at the ambient temperature."""

    type: Literal["open"] = "open"


class Periodic(Model):
    """What leaves here enters at the opposite side."""

    type: Literal["periodic"] = "periodic"


Side = Annotated[
    Annotated[Wall, Tag("<wall>")]
    | Annotated[Inflow, Tag("<inflow>")]
    | Annotated[Outflow, Tag("<outflow>")]
    | Annotated[Open, Tag("<open>")]
    | Annotated[Periodic, Tag("<periodic>")],
    BY_TYPE,
    check_type("wall", "inflow", "outflow", "open", "periodic", short=True),
]


class Domain(Model):
    """The box of fluid, cut into cubic cells; two numbers in ``upper`` make a 2D scene (x, y)."""

    lower: Point = Field((0.0, 0.0, 0.0), description="lower corner [m]")
    upper: Point = Field(description="upper corner [m]; 2 numbers make a 2D scene")
    resolution: Count = Field(description="cells along resolution_along")
    resolution_along: Literal["x", "y", "z"] = Field("x", description="side the resolution counts; default the longest")
    sides: dict[str, Side] = Field({}, description="x_low, x_high, y_low ... ; sides not given are walls")

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, data: Any) -> Any:
        """Fill in the sides, the longest side and a lower corner of the right length."""
        if not isinstance(data, dict) or not isinstance(data.get("upper"), list | tuple):
            return data
        upper = data["upper"]
        count = len(upper)
        lower = data.get("lower", [0.0] * count)
        if count not in (2, 3) or not isinstance(lower, list | tuple) or len(lower) != count:
            return {**data, "lower": lower}
        filled = {**data, "lower": lower}
        # what is no number, or too large for one, is refused with its name later
        numbers = all(isinstance(v, int | float) and abs(v) < 1e30 for v in (*lower, *upper))
        if "resolution_along" not in data and numbers:
            lengths = [b - a for a, b in zip(lower, upper, strict=True)]
            filled["resolution_along"] = AXES[lengths.index(max(lengths))]
        sides = data.get("sides", {})
        if isinstance(sides, dict):
            known = [f"{axis}_{end}" for axis in AXES[:count] for end in ("low", "high")]
            for name in sides:
                if name not in known:
                    hint = "a 2D scene has no z sides; " if str(name).startswith("z_") else suggest(str(name), known)
                    raise complain(f"sides has no {name!r}; {hint}The sides are {', '.join(known)}")
            filled["sides"] = {name: sides.get(name, {"type": "wall"}) for name in known}
        return filled

    @model_validator(mode="after")
    def _check(self) -> Domain:
        if len(self.lower) != len(self.upper):
            raise complain(f"lower has {len(self.lower)} components and upper {len(self.upper)}; give both 2 or both 3")
        for axis, lo, hi in zip(AXES, self.lower, self.upper, strict=False):
            if hi <= lo:
                raise complain(f"upper must lie above lower along {axis} (now {hi:g} and {lo:g}); swap or move them")
        if AXES.index(self.resolution_along) >= self.dimensions:
            raise complain("resolution_along = 'z' in a 2D scene; use 'x' or 'y'")
        for name, side in self.sides.items():
            normal = AXES.index(name[0])
            if isinstance(side, Wall) and any(v[normal] != 0 for v in values_of(side.velocity) if len(v) > normal):
                raise complain(f"sides.{name}.velocity must lie in the plane of the wall; set its {name[0]} part to 0")
            if isinstance(side, Wall) and side.slip and any(any(v) for v in values_of(side.velocity)):
                raise complain(f"sides.{name}.velocity has no effect on a slip wall; remove velocity or slip")
            if isinstance(side, Periodic) and not isinstance(self.sides[opposite(name)], Periodic):
                raise complain(f"sides.{name} is periodic but {opposite(name)} is not; make both periodic, or neither")
        return self

    @property
    def dimensions(self) -> int:
        """2 or 3."""
        return len(self.upper)


def opposite(side: str) -> str:
    """The name of the side across the domain."""
    axis, end = side.split("_")
    return f"{axis}_{'high' if end == 'low' else 'low'}"


def values_of(curve: Curve) -> list[tuple[float, ...]]:
    """All vectors a curve is made of."""
    if isinstance(curve, Table):
        found = list(curve.values)
    elif isinstance(curve, Sine):
        found = [curve.mean, curve.amplitude]
    else:
        found = [curve]
    return [v for v in found if isinstance(v, tuple)]
