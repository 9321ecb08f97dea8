"""From a scene to parts and a scheme."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

from undertow.couplings import COUPLINGS
from undertow.rigid.table import BodyTable
from undertow.run.assembly import Assembly
from undertow.scene import Scene

FURTHER: list[tuple[Callable[[Scene, BodyTable], bool], str]] = [
    (lambda scene, table: table.is_brittle, "undertow.run.breaking:fracture_parts"),
    (lambda scene, table: scene.tears, "undertow.run.tearing:tearing_parts"),
]
"""Parts that come with what is in a scene or the table of bodies, whatever else there is: asked of both, and a function
that makes them out of an assembly."""


def assemble(scene: Scene, table: BodyTable, starts: bool) -> Assembly:
    """The parts of a scene with the bodies of a table, and their scheme; only what it needs is imported. ``starts``: at
    t = 0, not from a state that they take over."""
    found = _assemble(scene, table, starts)
    for needed, place in FURTHER:
        if needed(scene, table):
            module, function = place.split(":")
            found = replace(found, parts=[*found.parts, *getattr(import_module(module), function)(found)])
    return found


def _assemble(scene: Scene, table: BodyTable, starts: bool) -> Assembly:
    if scene.domain is None:
        from undertow.run.assemble_solids import assemble_solids

        return assemble_solids(scene, table, starts)
    module, function = COUPLINGS[scene.coupling].assemble["particles" if scene.sph_fluids else "grid"].split(":")
    found: Assembly = getattr(import_module(module), function)(scene, table, starts)
    return found
