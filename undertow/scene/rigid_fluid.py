"""Settings of the Rigid Fluid coupling, and what a scene with it may contain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from undertow.scene.base import Model, complain

if TYPE_CHECKING:
    from undertow.scene.scene import Scene


class RigidFluid(Model):
    """How bodies are solved as fluid (Carlson, Mucha and Turk 2004)."""

    buoyancy: Literal["source", "body_force", "predicted"] = Field(
        "predicted",
        description="what the projection knows of a body's weight: nothing (17), its buoyant weight (Patankar 2001), "
        "also its contact and inertia",
    )


def check_rigid_fluid(scene: Scene) -> None:
    """Bodies as fluid need water and bodies that forces move."""
    if scene.coupling != "rigid_fluid":
        if scene.rigid_fluid != RigidFluid():
            raise complain("rigid_fluid has no effect without coupling = 'rigid_fluid'; set it, or remove the table")
        return
    if not scene.has_surface:
        raise complain(
            "coupling = 'rigid_fluid': moves bodies in water; add an object of type 'water', or use 'monolithic'"
        )
    if not any(body.is_dynamic for body in scene.bodies.values()):
        raise complain(
            "coupling = 'rigid_fluid': no body is moved by forces; give one a density, or remove the coupling"
        )
    for name, body in scene.bodies.items():
        if body.shape.is_animated:
            raise complain(
                f"objects.{name}.shape: an animated mesh takes no part in contact; use coupling = 'none', or a mesh"
            )
