"""From a scene to parts and a scheme."""

from __future__ import annotations

from importlib import import_module

from undertow.couplings import COUPLINGS
from undertow.rigid.table import BodyTable
from undertow.run.assembly import Assembly
from undertow.scene import Scene


def assemble(scene: Scene, table: BodyTable, starts: bool) -> Assembly:
    """The parts of a scene with the bodies of a table, and their scheme; only what it needs is imported. ``starts``: at
    t = 0, not from a state that they take over."""
    if scene.domain is None:
        from undertow.run.assemble_solids import assemble_solids

        return assemble_solids(scene, table, starts)
    module, function = COUPLINGS[scene.coupling].assemble["particles" if scene.sph_fluids else "grid"].split(":")
    found: Assembly = getattr(import_module(module), function)(scene, table, starts)
    return found
