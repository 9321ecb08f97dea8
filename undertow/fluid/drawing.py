"""The surface of water as pictures show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from undertow.frames import SurfaceFrame
from undertow.grid import GHOSTS, Array, Grid
from undertow.surface import drop_mesh, join_meshes, surface_mesh
from undertow.transport.interpolation import CENTRE

if TYPE_CHECKING:
    from undertow.fluid.liquid import LiquidSurface

BESIDE_SHELLS = 0.1
"""How deep the centres of cells beside a shell count as being in water in pictures [cells]."""


def padded_centres(grid: Grid) -> Array:
    """Cell centres (n, 3) [m], ghosts included."""
    z, y, x = (np.arange(n) - GHOSTS for n in grid.padded)
    axes = [grid.lower[a] + (index + 0.5) * grid.dx for a, index in enumerate((x, y, z))]
    zz, yy, xx = np.meshgrid(axes[2], axes[1], axes[0], indexing="ij")
    return np.column_stack([xx.ravel(), yy.ravel(), zz.ravel()])


def drawn_surface(liquid: LiquidSurface, u_f: Array) -> SurfaceFrame | None:
    """The surface and the drops of the spray as triangles; None in 2D."""
    if liquid.grid.dimensions == 2:
        return None
    surface = liquid.surface
    spray = surface.spray
    drops = drop_mesh(spray.position, spray.radius(), spray.velocity)
    return SurfaceFrame(*join_meshes(surface_mesh(liquid.grid, _drawn_level_set(liquid), u_f), drops))


def _drawn_level_set(liquid: LiquidSurface) -> Array:
    """The level set [m] without the water that it has inside solids that are not drawn and would hide it; beside a
    shell water ends at the centres of its cells: further on it would show behind it."""
    phi, grid, shells = liquid.surface.phi_c, liquid.grid, liquid.shells
    if liquid.hidden:
        time, points = liquid.solids.time if liquid.solids is not None else 0.0, padded_centres(grid)
        for solid in liquid.hidden:
            phi = np.maximum(phi, -solid.distance(points, time, grid.dimensions).reshape(grid.padded))
    if shells is None:
        return phi
    apart = np.zeros(phi.shape, dtype=bool)
    hidden = shells.surface.sight.hidden[CENTRE]
    for axis in range(3):
        above = hidden & (1 << axis) > 0
        apart |= above | np.roll(above, -1, axis=2 - axis)
    return np.where(apart & (phi < 0.0), np.maximum(phi, -BESIDE_SHELLS * grid.dx), phi)
