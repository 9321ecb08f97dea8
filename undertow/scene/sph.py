"""Settings of a fluid of particles, and what a scene with one may contain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from undertow.scene.base import Density, Model, NonNegativeNumber, Share, Text, Viscosity, check_number, complain
from undertow.scene.domain import Inflow
from undertow.scene.materials import check_density, fill_in

if TYPE_CHECKING:
    from undertow.scene.scene import Scene

Tension = Annotated[float, BeforeValidator(lambda value: check_number(value, "N/m", low=0.0))]
Speed = Annotated[float, BeforeValidator(lambda value: check_number(value, "m/s", above=0.0))]


class Sph(Model):
    """How a fluid of particles is computed (Becker, Tessendorf and Teschner 2009)."""

    method: Literal["wcsph", "iisph"] = Field(
        "wcsph", description="weakly compressible, or incompressible by an implicit solve (Ihmsen et al. 2014)"
    )
    material: Text | None = Field(None, description="name of a material that gives density and viscosity")
    density: Density = Field(1000.0, description="density at rest [kg/m3]")
    viscosity: Viscosity | None = Field(None, description="dynamic viscosity [Pa s]; absent: that of alpha")
    alpha: NonNegativeNumber = Field(
        0.1, description="artificial viscosity where none is given: nu = alpha h c / (2 (d + 2)) [-]"
    )
    surface_tension: Tension = Field(0.0, description="of the free surface [N/m]; it meets walls at a right angle")
    sound_speed: Speed | None = Field(None, description="[m/s]; absent: ten times the fastest motion of the scene")
    slip: Share = Field(
        1.0, description="share of the tangential velocity kept per step by particles that touch a body (eps of eq. 8)"
    )
    restitution: Share = Field(0.0, description="share of the approach speed that bounces back (delta of eq. 8)")
    scheme: Literal["local", "global"] = Field("global", description="contacts one by one (12), or all of a body (18)")
    one_way: bool = Field(
        False, description="bodies move the fluid and the fluid does not move them, as for heavy ones (21)"
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_in_material(cls, data: Any) -> Any:
        return fill_in(data)

    @model_validator(mode="after")
    def _check(self) -> Sph:
        check_density(self.material, self.density)
        return self


def check_without_sph(scene: Scene) -> None:
    """What belongs to a fluid of particles has no effect without one."""
    if scene.sph != Sph():
        raise complain("sph has no effect without an object of type 'sph_fluid'; add one, or remove the table")


def check_sph(scene: Scene) -> None:
    """A fluid of particles stands alone: what belongs to a fluid on a grid is refused."""
    if scene.waters or scene.smoke is not None or scene.emitters:
        raise complain("objects: a fluid of particles (sph_fluid) and water or smoke on a grid exclude each other")
    for key in ("fluid", "surface"):
        if getattr(scene, key) != type(scene).model_fields[key].default:
            raise complain(f"{key} has no effect on a fluid of particles; remove it and use the table [sph]")
    if scene.time.fixed_step is not None or scene.time.stepper != "first_order":
        raise complain("time: a fluid of particles chooses its step by sound speed; remove fixed_step and stepper")
    if scene.output.fields:
        raise complain("output.fields: a fluid of particles has no grid; frames hold its particles; remove the fields")
    if scene.view.field not in (None, "speed", "pressure", "density"):
        raise complain(f"view.field = {scene.view.field!r}: particles show 'speed', 'pressure' or 'density'")
    for name, side in scene.need_domain().sides.items():
        if isinstance(side, Inflow):
            raise complain(f"domain.sides.{name}: particles do not come in through sides; use a wall or 'open'")
