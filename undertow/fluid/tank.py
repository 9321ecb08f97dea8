"""A fluid that fills the domain around the solids."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.fluid import measure
from undertow.fluid.advected import Extent, FieldContext
from undertow.fluid.gaps import GAP, SLIVER, find_narrow_faces
from undertow.fluid.phase import FullTank
from undertow.geometry.thin import ThinWalls
from undertow.grid import Array
from undertow.part import Quantity
from undertow.transport import Extrapolation, OneSided

EXTRAPOLATED_LAYERS = 4
"""Layers of faces inside solids that get a velocity from the flow: what transport may read at CFL numbers up to 2."""


class Tank(Extent):
    """The whole domain. Closed faces take the velocity of a wall that is no-slip, else one that goes on inside it."""

    def __init__(self, context: FieldContext) -> None:
        self.domain, self.advection = context.domain, context.advection
        self.phase = FullTank(self.domain, context.settings.gravity)
        self.viscous = context.settings.viscosity > 0.0
        self.solids = self.domain.solids
        self.thin = [] if self.solids is None else [ThinWalls(self.solids)]
        self.extrapolation = Extrapolation(self.domain.grid, self.domain.sides)
        self._known_f = np.zeros((0, 0, 0, 0), dtype=np.uint8)

    def see_thin(self, two_sided: bool) -> None:
        """Walls of viscous flow have one velocity, whichever side they are seen from."""
        if self.solids is not None and (two_sided or not self.viscous):
            self.solids.hide_thin()
        if self.solids is not None and self.solids.occlusion is not None:
            self.advection.one_sided = OneSided(self.advection, self.solids.occlusion)

    def move_walls(self, time: float) -> bool:
        changed = self.solids is not None and self.solids.update(time)
        if changed:
            self.domain.rebuild()
        return changed

    def forget_closed(self, p_c: Array) -> None:
        stencil = self.solve.rows.stencil
        if stencil is not None:
            for p, diagonal in zip(p_c, stencil.diagonal_c, strict=True):
                np.copyto(p, 0.0, where=diagonal <= 0.0)

    def transport_velocity(self, u_f: Array, by_f: Array, dt: float, out_f: Array) -> None:
        self.advection.velocity(u_f, by_f, dt, out_f)
        self.domain.sides.exchange.fill(out_f)

    def sweep(self, u_f: Array, values_c: Array, rest: tuple[float, ...], dt: float) -> bool:
        if self.advection.one_sided is None:
            return False
        self.advection.one_sided.uncover(u_f, values_c, rest, dt)
        return True

    def after_solve(self) -> None:
        if self.viscous:
            self.solve.refresh_walls()

    def extrapolate(self, u_f: Array) -> None:
        if self.solids is not None:
            self.extrapolation.velocity(u_f, self.domain.open_f, EXTRAPOLATED_LAYERS)
            self._set_wall_velocity(u_f)

    def extrapolate_rate(self, a_f: Array) -> None:
        if self.solids is not None:
            self.extrapolation.velocity(a_f, self.domain.open_f, EXTRAPOLATED_LAYERS)

    def _set_wall_velocity(self, u_f: Array) -> None:
        if self.viscous:
            self.domain.set_wall_velocity(u_f)

    def limit_gap_velocity(self, u_f: Array, touching: bool) -> None:
        """Faces that are nearly closed take the velocity about them before it is transported; ghosts filled.

        Between walls that approach each other the fluid is squeezed out at many times their speed. It weighs next to
        nothing there, but transport would carry its velocity to faces where it does: see ``fluid.gaps``. So it would
        from slivers anywhere: what the tolerance of the solve leaves of a row is far from nothing for a cell that is
        open by a millionth.
        """
        if self.solids is None:
            return
        if not self._known_f.size:
            self._known_f = np.zeros_like(self.domain.open_f)
        known = self._known_f
        face, part = find_narrow_faces(self.domain, GAP if touching else SLIVER, known[0])
        if not face.size:
            return
        u = u_f.reshape(-1)
        kept = part * u[face]
        np.copyto(known, self.domain.open_f)
        known.reshape(-1)[face] = 0
        # closed faces were filled from these
        self.extrapolation.velocity(u_f, known, EXTRAPOLATED_LAYERS)
        u[face] = kept + (1.0 - part) * u[face]
        self._set_wall_velocity(u_f)
        self.solve.set_carried(u_f)
        self.domain.sides.exchange.fill(u_f)

    def volume(self) -> float:
        grid = self.domain.grid
        return float(self.domain.volume_c[grid.interior].sum()) * grid.cell_volume

    def fluid_part(self, out_c: Array) -> None:
        np.copyto(out_c, self.domain.volume_c)

    def leak(self, u_f: Array) -> float:
        return sum(thin.leak(u_f) for thin in self.thin)

    def sums(self, u_f: Array) -> Iterator[Quantity]:
        return measure.sums(self.phase, u_f, self.solve.momentum_beside(u_f))
