"""How much memory a scene will take, part by part, before any of it is allocated."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from undertow.errors import UserError
from undertow.grid import Grid
from undertow.run.machine import available_memory, size_text
from undertow.scene import Scene
from undertow.scene.soft import count_elements

DOUBLE = 8.0


class Need(NamedTuple):
    """What a part takes: the type of the part, of what, how many, and bytes of each, measured where they are held."""

    part: str
    what: str
    number: float
    each: float

    @property
    def size(self) -> float:
        """[bytes]"""
        return self.number * self.each


def needs(scene: Scene, grid: Grid | None) -> Iterator[Need]:
    """State and work arrays of the parts that a scene will have, those that grow with its size."""
    cells = 0.0 if grid is None or scene.sph_fluids else math.prod(float(n) for n in grid.padded)
    yield Need("Flow", "cells", cells, 55.0 * DOUBLE)
    yield Need("Flow", "cells of the second-order stepper", cells * (scene.time.stepper != "first_order"), 12 * DOUBLE)
    yield Need("Flow", "cells with viscosity", cells * scene.is_viscous, 45.0 * DOUBLE)
    yield Need("Flow", "cells with smoke", cells * (scene.smoke is not None), 8.0 * DOUBLE)
    yield Need("Flow", "cells with a surface", cells * scene.has_surface, 40.0 * DOUBLE)
    leads = scene.has_surface or scene.coupling != "none"
    yield Need("Leapfrog", "cells of velocities half a step apart", cells * leads, 6.0 * DOUBLE)
    yield Need("Flow", "cells with tension", cells * (scene.surface.tension > 0.0), 8.0 * DOUBLE)
    yield Need("TwoSolves", "cells of the second solve", cells * (scene.monolithic.solves == 2), 3.0 * DOUBLE)
    yield Need("BodiesInFluid", "cells with solids", cells * bool(scene.bodies), 18.0 * DOUBLE)
    yield Need("SphPart", "particles", _particles(scene, grid), 360.0 if scene.dimensions == 2 else 710.0)
    for name, item in scene.softs.items():
        each = 7000.0 if item.type == "cloth" else 1800.0
        yield Need("SoftPart", f"elements of {name}", count_elements(item, scene.dimensions), each)


def _particles(scene: Scene, grid: Grid | None) -> float:
    """About how many fill the fluids of particles: no more than the domain has room for."""
    if grid is None:
        return 0.0
    room = math.prod(float(n) for n in grid.cells)
    count = 0.0
    for item in scene.sph_fluids.values():
        sizes = [2.0 * half for half in item.shape.half_size()[: scene.dimensions]]
        count += math.prod(size / grid.dx if math.isfinite(size) else math.inf for size in sizes)
    return min(count, room)


def check_memory(scene: Scene, grid: Grid | None) -> None:
    """UserError where a scene needs more memory than there is."""
    found = sorted(needs(scene, grid), key=lambda need: -need.size)
    total, free = sum(need.size for need in found), available_memory()
    if total <= free:
        return
    chosen = [need for need in found[:3] if need.size > 0.1 * total]
    largest = [f"{size_text(need.size)} for {need.number:.3g} {need.what}" for need in chosen]
    text = f"need about {size_text(total)} of memory and {size_text(free)} are free ({', '.join(largest)})"
    share = (free / total) ** (1.0 / scene.dimensions)
    if found[0].part == "SoftPart":
        raise UserError(f"{scene.name}: soft bodies {text}; make element_size {1.0 / share:.2g} times as large")
    nx, ny, nz = (1, 1, 1) if grid is None else grid.cells
    raise UserError(
        f"domain.resolution: {nx} x {ny} x {nz} cells {text}; choose a resolution of at most {share:.0%} of this one"
    )
