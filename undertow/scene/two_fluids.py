"""What a scene of two fluids does without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from undertow.scene.base import complain
from undertow.scene.domain import Inflow, Open, Outflow

if TYPE_CHECKING:
    from undertow.scene.scene import Scene


def check_two_fluids(scene: Scene) -> None:
    """``fluid.air`` makes sense, and nothing asks for what two fluids do not do."""
    fluid, air = scene.fluid, scene.fluid.air
    assert air is not None
    if not scene.has_surface:
        raise complain("fluid.air has no effect without water; add an object of type 'water', or remove it")
    if air.material is not None and air.material == fluid.material:
        raise complain(f"fluid.air.material = {air.material!r}: is that of the liquid; name two fluids")
    if air.density == fluid.density and air.viscosity == fluid.viscosity and scene.surface.tension == 0.0:
        raise complain(
            f"fluid.air: density {air.density:g} and viscosity {air.viscosity:g} are those of the liquid, and there is "
            "no surface.tension: that is one fluid; change one of them, or remove fluid.air"
        )
    if scene.coupling not in ("none", "monolithic"):
        raise complain(f"fluid.air: coupling = {scene.coupling!r} moves bodies in one fluid; use 'monolithic'")
    for name in [*scene.shells, *scene.softs]:
        raise complain(
            f"objects.{name}: thin and soft bodies take no part in two fluids yet; make it a solid rigid body, or "
            "remove fluid.air"
        )
    if scene.mixes_viscosities:
        raise complain("objects: water of different viscosities beside fluid.air; give fluid.viscosity alone")
    for name in scene.wave_zones:
        raise complain(f"objects.{name}: waves are made in water under emptiness; remove fluid.air")
    sides = scene.need_domain().sides.values()
    closed = not any(isinstance(side, Open | Outflow | Inflow) for side in sides)
    for name in scene.water_regions if closed and air.atmosphere is None else ():
        raise complain(
            f"objects.{name}: the tank is closed and both fluids keep their volume, so that nothing can be added or "
            "taken out; make a side 'open' or 'outflow', or give fluid.air.atmosphere, so that the air gives way"
        )
