"""From a scene to parts and a scheme."""

from __future__ import annotations

from undertow.run.assembly import Assembly
from undertow.run.models import Model
from undertow.scene import Scene


def assemble(scene: Scene, starts: bool) -> Assembly:
    """The parts of a scene, and their scheme; only what it needs is imported. ``starts``: at t = 0, not from a
    checkpoint."""
    if scene.domain is None:
        from undertow.run.assemble_solids import assemble_solids

        return assemble_solids(scene)
    if scene.sph_fluids:
        from undertow.run.assemble_particles import assemble_particles

        return assemble_particles(scene, starts)
    model = _make_model(scene)
    return Assembly(model.parts, model, model.notes)


def _make_model(scene: Scene) -> Model:
    """A fluid on a grid and the solids in it."""
    if scene.has_nodes and scene.has_surface:
        from undertow.run.soft_water_model import SoftWaterModel

        return SoftWaterModel(scene)
    if scene.has_nodes:
        from undertow.run.soft_coupled_model import SoftCoupledModel

        return SoftCoupledModel(scene)
    if scene.has_surface:
        if scene.coupling in ("monolithic", "lumped"):
            from undertow.run.coupled_water_model import CoupledWaterModel

            return CoupledWaterModel(scene)
        if scene.coupling == "rigid_fluid":
            from undertow.run.rigid_fluid_model import RigidFluidModel

            return RigidFluidModel(scene)
        from undertow.run.water_model import WaterModel

        return WaterModel(scene)
    if scene.coupling in ("monolithic", "lumped", "batty"):
        from undertow.run.coupled_model import CoupledModel

        return CoupledModel(scene)
    from undertow.run.fluid_model import FluidModel

    return FluidModel(scene)
