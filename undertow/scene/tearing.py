"""How soft bodies, cloth and ropes tear."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from undertow.scene.base import Model, check_number, complain


def _check_stretch(value: float) -> float:
    stretch = check_number(value, "a dimensionless unit")
    if not stretch > 1.0:
        raise complain("must be above 1, the stretch of what is at rest")
    return stretch


Stretch = Annotated[float, BeforeValidator(_check_stretch)]
Stress = Annotated[float, BeforeValidator(lambda value: check_number(value, "Pa", above=0.0))]


class Tear(Model):
    """The limit above which it tears along the edges or faces of its elements: length over that at rest, or stress."""

    stretch: Stretch | None = Field(None, description="largest stretch of an element, above 1 [-]")
    stress: Stress | None = Field(
        None, description="largest principal Cauchy stress of an element, of a soft_body [Pa]"
    )

    @model_validator(mode="after")
    def _check(self) -> Tear:
        if self.stretch is None and self.stress is None:
            raise complain("has no limit; give stretch, such as 1.5, or, for a soft_body, stress in Pa")
        if self.stretch is not None and self.stress is not None:
            raise complain("stretch and stress are both given; give the one that it tears by")
        return self
