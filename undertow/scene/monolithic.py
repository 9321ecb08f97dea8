"""Settings of the couplings that solve for fluid and bodies together, and of soft bodies in them."""

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

    solves: Literal[1, 2] = Field(
        1,
        description="bodies move with the velocity of the last solve, or with that of a solve over half the step first "
        "(Schroeder 2011, 5.4; Robinson-Mosher et al. 2008, 7)",
    )


def check_solves(scene: Scene) -> None:
    """What two solves do without is refused."""
    if scene.monolithic == Monolithic():
        return
    says = f"monolithic.solves = {scene.monolithic.solves}: "
    if scene.softs and scene.soft.stepper != "newmark":
        raise complain(f"{says}soft bodies have Newmark's scheme in it; set soft.stepper = 'newmark', or remove it")


def check_nodes_in_fluid(scene: Scene) -> None:
    """What soft bodies and shells in fluid do without is refused."""
    if not scene.has_nodes:
        return
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
