"""Fluids on a grid that go on among other bodies: what appears displaces fluid, what vanishes leaves a hole.

With V the volume of the fluid outside the solids, a change of bodies displaces D = V_before - V_after. The fluid inside
a body that appears is gone; the next solve makes the velocity about it agree with the body's. A hole in a full tank is
filled with fluid that has the velocity of what surrounds it, without smoke; V then grows. A hole in water is filled
with air, phi <- max(phi, -d), d being the signed distance from the hole: V stays, but for the error of the new surface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from undertow.fluid.liquid import LiquidSurface
from undertow.grid import Array

if TYPE_CHECKING:
    from undertow.fluid.flow import Flow

LEAST_HOLE = 0.1
"""Depth at a cell centre from which what a solid has left is a hole [cells]: less is rounding of where it was."""

MOST_LAYERS = 254
"""Layers of faces that a hole is filled over, at most."""


def adopt_flow(flow: Flow, before: Flow, time: float) -> None:
    """Velocity, pressure and fields of a flow with other bodies at a time [s]."""
    arrays, extent = dict(before.arrays()), flow.extent
    if isinstance(extent, LiquidSurface) and isinstance(before.extent, LiquidSurface):
        flow.move_walls(time)
        arrays |= _empty_holes(extent, before.extent, arrays)
    flow.restore(arrays, before.numbers() | {"ahead": 0.0}, time)
    if not isinstance(extent, LiquidSurface):
        _fill_holes(flow, before)
    displaced = before.extent.volume() - extent.volume()
    flow.displaced_volume += displaced
    if isinstance(extent, LiquidSurface):
        extent.start_volume -= displaced
        extent.surface.target_volume -= displaced
    flow.measure_sums()


def _fill_holes(flow: Flow, before: Flow) -> None:
    """Fluid where solids were: with the velocity of what surrounds it, and fields at rest."""
    hole_c = (before.domain.volume_c <= 0.0) & (flow.domain.volume_c > 0.0)
    if not hole_c.any():
        return
    layers = min(max(flow.grid.cells), MOST_LAYERS)
    for name in {"u", "u_previous"} & flow.arrays().keys():
        before.extent.extrapolation.velocity(flow.arrays()[name], before.domain.open_f, layers)
    for field in flow.fields:
        for values_c, rest in zip(field.values_c, field.rest, strict=False):
            values_c[hole_c] = rest
    flow.finish(flow.state.u)


def _empty_holes(extent: LiquidSurface, before: LiquidSurface, arrays: dict[str, Array]) -> dict[str, Array]:
    """The state of the surface with air where solids were."""
    hole_c, surface = before.solid_c, extent.surface
    if hole_c is not None and extent.solid_c is not None:
        hole_c = np.maximum(hole_c, -extent.solid_c)
    if hole_c is None or hole_c[extent.grid.interior].min() >= -LEAST_HOLE * extent.grid.dx:
        return {}
    surface.restore(arrays)
    np.maximum(surface.phi_c, -hole_c, out=surface.phi_c)
    surface.rebuild()
    return surface.arrays()
