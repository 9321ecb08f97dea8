"""What a scene may contain whose bodies are moved by the fluid of a grid in one solve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from undertow.scene.base import Model, complain
from undertow.scene.soft import Cloth, Rope, Soft, SoftBody

if TYPE_CHECKING:
    from undertow.scene.scene import Scene


class Lumped(Model):
    """How the fluid of mixed dual cells is lumped on bodies (Robinson-Mosher et al. 2008)."""

    mass: Literal["full", "diagonal"] = Field(
        "full", description="of a body with the fluid it carries: M + J^T beta J, or masses and moments alone (22)-(24)"
    )


class Monolithic(Model):
    """How the steps of fluid and bodies follow each other."""

    scheme: Literal["one_solve", "two_solves"] = Field(
        "one_solve",
        description="bodies move with the velocity of the last solve, or with that of a solve over half the step first "
        "(Schroeder 2011, 5.4; Robinson-Mosher et al. 2008, 7)",
    )


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


def check_lumped(scene: Scene) -> None:
    """What belongs to the lumped coupling has no effect elsewhere."""
    if scene.coupling != "lumped" and scene.lumped != Lumped():
        raise complain("lumped has no effect with this coupling; set coupling = 'lumped', or remove lumped")


def check_scheme(scene: Scene) -> None:
    """Two solves are those of bodies in a fluid that fills the domain."""
    if scene.monolithic == Monolithic():
        return
    says = f"monolithic.scheme = {scene.monolithic.scheme!r}: "
    if scene.coupling != "monolithic":
        raise complain(f"{says}has no effect with this coupling; set coupling = 'monolithic', or remove it")
    if scene.has_surface:
        raise complain(f"{says}water with a surface and bodies are solved for once in a step; remove it")
    if scene.softs and scene.soft.stepper != "newmark":
        raise complain(f"{says}soft bodies have Newmark's scheme in it; set soft.stepper = 'newmark', or remove it")


def check_monolithic(scene: Scene) -> None:
    """What the monolithic coupling does without is refused, and said which coupling does it."""
    if scene.coupling != "monolithic":
        _check_compared(scene)
    if scene.has_nodes:
        _check_soft_in_fluid(scene)
    elif not any(body.is_dynamic for body in scene.bodies.values()):
        raise complain(
            f"coupling = {scene.coupling!r}: no body is moved by forces; give one a density, or remove the coupling"
        )
    if scene.sph_fluids:
        raise complain(
            f"coupling = {scene.coupling!r}: moves bodies in a fluid on a grid; particles have 'direct_forcing'"
        )
    if scene.time.stepper != "first_order":
        raise complain(
            f"time.stepper = {scene.time.stepper!r}: bodies in fluid have the first-order stepper; remove it"
        )
    if scene.fluid.viscosity > 0:
        _check_no_slip(scene)
    for name, body in scene.bodies.items():
        if body.shape.is_animated:
            raise complain(
                f"objects.{name}.shape: an animated mesh takes no part in contact; use coupling = 'none', or a mesh"
            )


def _check_no_slip(scene: Scene) -> None:
    """Bodies that are cells have the extra faces, others the wall rows."""
    if scene.coupling == "lumped" and scene.fluid.no_slip != "extra_faces":
        raise complain(
            "coupling = 'lumped': bodies are cells, along which fluid is held by extra faces; set fluid.no_slip = "
            "'extra_faces', or use 'monolithic'"
        )
    if scene.coupling != "lumped" and scene.fluid.no_slip != "wall_rows":
        raise complain(
            "fluid.no_slip = 'extra_faces': belongs to solids that move as prescribed and to coupling = 'lumped'; "
            "remove it, or set coupling = 'lumped'"
        )


def _check_compared(scene: Scene) -> None:
    """The couplings that the monolithic one is compared with move rigid bodies; with viscosity lumped ones alone, in a
    full tank."""
    says = f"coupling = {scene.coupling!r}: moves rigid bodies "
    if scene.coupling == "batty" and (scene.waters or scene.water_regions):
        raise complain(f"{says}in a fluid that fills the domain: remove the water, or use 'monolithic' or 'lumped'")
    if scene.is_viscous and (scene.coupling == "batty" or scene.has_surface):
        where = "in water without viscosity" if scene.has_surface else "in an inviscid fluid"
        raise complain(f"{says}{where}; remove {_name_viscosity(scene)}, or use 'monolithic'")
    says += "one by one; "
    for name in scene.joints:
        raise complain(f"{says}remove the joint objects.{name}, or use 'monolithic'")


def _check_soft_in_fluid(scene: Scene) -> None:
    """What soft bodies in fluid do without is refused."""
    if scene.soft.stepper in ("leapfrog", "linearised"):
        raise complain(
            f"soft.stepper = {scene.soft.stepper!r}: in fluid elasticity is part of the solve; use 'implicit', or "
            "'newmark', which loses no elastic energy"
        )
    if scene.soft.tolerance != Soft().tolerance:
        raise complain(
            f"soft.tolerance = {scene.soft.tolerance:g}: in fluid elasticity is linearised once per step, without "
            "iterations; remove it, and use time.max_step for smaller steps"
        )
    for name, item in scene.softs.items():
        path = f"objects.{name}"
        if isinstance(item, Rope) and scene.dimensions == 3:
            raise complain(f"{path}: a rope has no area that fluid could push in 3D; use a cloth, or a thin soft_body")
        if isinstance(item, Cloth) and (item.drag > 0 or any(item.wind)):
            raise complain(f"{path}: the fluid itself drags it; remove wind and drag")
        if isinstance(item, SoftBody) and item.incompressible and scene.soft.stepper != "implicit":
            raise complain(f"{path}.incompressible: in fluid needs soft.stepper = 'implicit'; change it, or remove it")


def _name_viscosity(scene: Scene) -> str:
    """The first viscosity that a scene has, by its key."""
    if scene.fluid.viscosity > 0:
        return f"fluid.viscosity = {scene.fluid.viscosity:g}"
    waters = ((name, getattr(item, "viscosity", None)) for name, item in scene.objects.items())
    name, viscosity = next((name, found) for name, found in waters if found)
    return f"objects.{name}.viscosity = {viscosity:g}"
