"""Settings of the Rigid Fluid coupling."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from undertow.scene.base import Model


class RigidFluid(Model):
    """How bodies are solved as fluid (Carlson, Mucha and Turk 2004)."""

    buoyancy: Literal["source", "body_force", "predicted"] = Field(
        "predicted",
        description="what the projection knows of a body's weight: nothing (17), its buoyant weight (Patankar 2001), "
        "also its contact and inertia",
    )
