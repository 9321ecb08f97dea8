"""From a scene to parts and a scheme."""

from __future__ import annotations

from undertow.run.assembly import Assembly
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
    from undertow.run.assemble_fluid import assemble_fluid

    return assemble_fluid(scene)
