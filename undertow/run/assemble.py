"""From a scene to parts and a scheme."""

from __future__ import annotations

from undertow.run.assembly import Assembly
from undertow.run.models import Model
from undertow.scene import Scene


def assemble(scene: Scene, starts: bool) -> Assembly:
    """The parts of a scene, and their scheme; only what it needs is imported. ``starts``: at t = 0, not from a
    checkpoint."""
    if scene.domain is None or scene.sph_fluids:
        model = _make_model(scene, starts)
        return Assembly(model.parts, model, model.notes)
    from undertow.run.assemble_fluid import assemble_fluid

    return assemble_fluid(scene)


def _make_model(scene: Scene, starts: bool) -> Model:
    if scene.softs:
        from undertow.run.soft_model import SoftModel

        return SoftModel(scene)
    if scene.domain is None:
        from undertow.run.solids_model import SolidsModel

        return SolidsModel(scene)
    from undertow.run.sph_model import SphModel

    return SphModel(scene, settle=starts)
