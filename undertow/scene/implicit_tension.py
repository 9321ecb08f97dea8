"""What a scene whose tension is part of the implicit solve does without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from undertow.scene.base import complain

if TYPE_CHECKING:
    from undertow.scene.scene import Scene

KEY = "surface.tension_step = 'implicit'"


def check_implicit_tension(scene: Scene) -> None:
    """There is a tension, and nothing holds the surface elsewhere than where the solve expects it."""
    if not (scene.has_surface and scene.surface.tension > 0.0):
        raise complain(f"{KEY} has no effect without surface tension of water; set surface.tension, or remove it")
    if scene.surface.particles:
        raise complain(
            f"{KEY}: markers hold the surface back where long steps move it; set surface.particles = false, or remove "
            "tension_step"
        )
    if scene.coupling not in ("none", "monolithic"):
        raise complain(f"{KEY}: coupling = {scene.coupling!r} has a solve of its own; use 'monolithic'")
    for name in [*scene.shells, *scene.softs]:
        raise complain(
            f"objects.{name}: the faces that thin and soft bodies move have no rows of tension yet; make it a solid "
            "rigid body, or remove surface.tension_step"
        )
