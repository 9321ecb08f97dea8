"""What a fluid at rest does to solids that move as prescribed: what a solve for the rest of the pressure leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from undertow.fluid.still_water import StillWater
from undertow.geometry.body_surfaces import true_volume
from undertow.geometry.solids import Solid, SolidFields
from undertow.grid import Array
from undertow.linalg import Stencil

if TYPE_CHECKING:
    from undertow.fluid.phase import Phase
    from undertow.fluid.surface_phase import SurfacePhase

TOUCHING = 1e-9
"""Solids that reach beyond the domain by less than this part of a cell lie in it."""


class AtRest(Protocol):
    """Forces on solids, numbered as in the fields they are seen in. by_cells_b (n,): those whose volume in the domain
    is that of the cells."""

    by_cells_b: np.ndarray

    def measure(self, stencil: Stencil, held_b: np.ndarray) -> None:
        """For where fluid and solids are now; stencil: of the pressure. held_b (n,): solids that move as prescribed."""

    def beside(self, stencil: Stencil, p_c: Array) -> Array:
        """What acts on the walls of the grid (Z, Y, X) [Pa], by the pressure that was solved for."""

    def displaced(self, covered_b: Array) -> Array:
        """Volumes [m3; 2D m2] and first moments about the positions of the solids (n, 4), by those of their cells."""

    def load(self, displaced_b: Array) -> Array:
        """Force [N; 2D N/m] and torque [N m; 2D N] on the solids about their positions (n, 6), by ``displaced``."""


class FilledAtRest:
    """A fluid that fills the domain: solids feel the weight of what they displace: all of their volume, where
    they lie in the domain."""

    def __init__(self, phase: Phase, solids: SolidFields) -> None:
        self.phase, self.solids = phase, solids
        self.by_cells_b = np.ones(len(solids.solids), dtype=bool)
        self._moments: dict[int, Array] = {}

    def measure(self, stencil: Stencil, held_b: np.ndarray) -> None:
        for b, solid in enumerate(self.solids.solids):
            self.by_cells_b[b] = not (held_b[b] and self._lies_inside(solid))

    def _lies_inside(self, solid: Solid) -> bool:
        """Whether all of a solid lies within the domain, but for sides it comes back through."""
        grid, time = self.solids.grid, self.solids.time
        if solid.shape.is_sheet:
            return False
        slack = TOUCHING * grid.dx
        for low, high in (solid.bounds(time), solid.extent(time)):
            inside = (low >= np.array(grid.lower) - slack) & (high <= np.array(grid.upper) + slack)
            if np.all((inside | (self.solids.period > 0.0))[: grid.dimensions]):
                return True
            if not np.isfinite(low).all():
                return False
        return False

    def _moment(self, b: int, solid: Solid) -> Array:
        """Volume and first moment about its origin (4,), in its own frame."""
        if b not in self._moments or solid.shape.is_animated:
            grid, time = self.solids.grid, self.solids.time
            shape = solid.shape_at(time)
            found = shape.planar_moments() if grid.dimensions == 2 else shape.moments()
            volume = true_volume(solid, grid.dimensions, time)
            middle = found.centre if found.centre_of_volume is None else found.centre_of_volume
            self._moments[b] = volume * np.array([1.0, *middle])
        return self._moments[b]

    def beside(self, stencil: Stencil, p_c: Array) -> Array:
        return p_c

    def displaced(self, covered_b: Array) -> Array:
        found = covered_b.copy()
        for b in np.flatnonzero(~self.by_cells_b).tolist():
            solid = self.solids.solids[b]
            moment = self._moment(b, solid)
            found[b, 0] = moment[0]
            found[b, 1:] = solid.motion.pose(self.solids.time)[1] @ moment[1:]
        return found

    def load(self, displaced_b: Array) -> Array:
        lift = self.phase.lift
        return np.concatenate([displaced_b[:, :1] * lift, np.cross(displaced_b[:, 1:], lift)], axis=1)


class SurfaceAtRest:
    """A fluid under a surface: ``fluid.still_water``."""

    def __init__(self, phase: SurfacePhase, solids: SolidFields) -> None:
        self.phase, self.solids = phase, solids
        self.still = StillWater(phase, solids, len(solids.solids))
        self.by_cells_b = np.ones(len(solids.solids), dtype=bool)

    def measure(self, stencil: Stencil, held_b: np.ndarray) -> None:
        sheets = np.array([solid.shape.is_sheet for solid in self.solids.solids], dtype=bool)
        if np.any(self.phase.gravity):
            self.still.measure(stencil, held_b & ~sheets, held_b, self.solids.spec.position)

    def beside(self, stencil: Stencil, p_c: Array) -> Array:
        return self.still.pressure_beside(stencil, p_c) if np.any(self.phase.gravity) else p_c

    def displaced(self, covered_b: Array) -> Array:
        return covered_b

    def load(self, displaced_b: Array) -> Array:
        found = self.phase.mass_of(self.still.load_b) - self.phase.of_air(self.still.load_b)
        found += self.phase.surface_load(self.solids.spec.position)
        # what is beyond the surface fills the domain, and the liquid weighs so much more
        lift = self.phase.lift
        found[:, :3] += displaced_b[:, :1] * lift
        found[:, 3:] += np.cross(displaced_b[:, 1:], lift)
        return found
