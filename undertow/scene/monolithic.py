"""What a scene may contain whose bodies are moved by the fluid of a grid in one solve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from undertow.scene.base import complain
from undertow.scene.shapes import MeshSequence

if TYPE_CHECKING:
    from undertow.scene.scene import Scene


def check_moving(scene: Scene) -> None:
    """Where there is fluid, bodies that forces move and joints need a coupling that moves them."""
    if scene.coupling != "none":
        return
    coupling = "direct_forcing" if scene.sph_fluids else "monolithic"
    for name, body in scene.bodies.items():
        if body.is_dynamic:
            raise complain(
                f"objects.{name}: forces move it, but coupling = 'none': solids move as prescribed; set coupling = "
                f"{coupling!r}, remove the [domain] for solids alone, or give it a motion in place of a density"
            )
    for name in scene.joints:
        raise complain(f"objects.{name}: joints in fluid need a coupling; set coupling = {coupling!r}")


def check_monolithic(scene: Scene) -> None:
    """What the monolithic coupling does without is refused, and said which coupling does it."""
    if not any(body.is_dynamic for body in scene.bodies.values()):
        raise complain(
            "coupling = 'monolithic': no body is moved by forces; give one a density, or remove the coupling"
        )
    if scene.sph_fluids:
        raise complain("coupling = 'monolithic': moves bodies in a fluid on a grid; particles have 'direct_forcing'")
    if scene.time.stepper != "first_order":
        raise complain(
            f"time.stepper = {scene.time.stepper!r}: bodies in fluid have the first-order stepper; remove it"
        )
    if scene.fluid.viscosity > 0 and scene.fluid.no_slip != "wall_rows":
        raise complain("fluid.no_slip = 'extra_faces': belongs to solids that move as prescribed; remove it")
    for name, body in scene.bodies.items():
        if isinstance(body.shape, MeshSequence):
            raise complain(
                f"objects.{name}.shape: an animated mesh takes no part in contact; use coupling = 'none', or a mesh"
            )
