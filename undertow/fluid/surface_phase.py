"""What all phases under a level set have: the liquid is where phi <= 0, and it moves."""

from __future__ import annotations

import numpy as np

from undertow.errors import UserError
from undertow.fluid.at_rest import SurfaceAtRest
from undertow.fluid.contact_line import ContactLines
from undertow.fluid.domain import FluidDomain
from undertow.fluid.phase import Amount, Phase
from undertow.fluid.tension import SurfaceTension
from undertow.geometry import SolidFields
from undertow.grid import SIDE_NAMES, Array
from undertow.linalg import Stencil, used_planes


class SurfacePhase(Phase):
    """A liquid whose level set is phi_c [m], read at every ``build``, ghosts filled.

    source_c: volume made per time in each cell [m^3/s]. parted_c (Z, Y, X): 1 in wall cells whose wall is dry, 2 in
    those that have been, before the last solve, else 0; marked: where it is not 0. displaced: solids that are liquid to
    the pressure and that the surface keeps out of. tensions: what else the pressure at the surface comes from. fills:
    whether there is a fluid beyond the surface too. adhesion (n,): suction that each solid bears before the liquid
    leaves it [Pa]; empty: none. lines: of contact with solids, which the surface pulls on.
    """

    moves = True
    strains = True
    fills = False
    displaced: tuple[SolidFields, ...] = ()
    tensions: tuple[SurfaceTension, ...] = ()
    adhesion = np.zeros(0)
    lines: tuple[ContactLines, ...] = ()

    def __init__(self, domain: FluidDomain, phi_c: Array, gravity: tuple[float, float, float]) -> None:
        super().__init__(domain, gravity)
        grid = domain.grid
        for axis in grid.axes:
            if domain.periodic[axis]:
                raise UserError(
                    f"water: side {SIDE_NAMES[2 * axis]} is periodic; a free surface needs walls, inflow, outflow or "
                    f"open sides"
                )
        self.phi_c = phi_c
        self.source_c, self.liquid_c, self.inv_mass_f = grid.cell_field(), grid.cell_field(), grid.face_field()
        self.wet_rows = np.zeros(grid.spec.nz * grid.spec.ny, dtype=np.uint8)
        self.parted_c = np.zeros(grid.padded, dtype=np.uint8)
        self.marked = self.at_air = np.zeros(0, np.int64)
        self._nowhere_c = np.zeros((0, 0, 0), dtype=np.uint8)

    @property
    def strained_c(self) -> Array:
        """Level set [m] of what viscosity acts in: beyond it there is no traction."""
        return self.phi_c

    @property
    def whole_mass_f(self) -> Array:
        """1 / beta_f of faces all of whose cells that is in."""
        return self.domain.inv_mass_f

    def make_target(self) -> Array | None:
        return self.domain.grid.cell_field()

    def add_sources(self, stencil: Stencil, target_c: Array) -> None:
        """s less the volume made in the liquid cells. Liquid that nothing joins to the surface has no room to give."""
        label, joined = stencil.label[: target_c.size].reshape(target_c.shape), stencil.grounded
        planes = (used_planes(x) for x in (label, self.source_c, target_c))
        for region, source, flux in zip(*planes, strict=True):
            source *= joined[region]
            flux -= source

    def at_rest(self, solids: SolidFields) -> SurfaceAtRest:
        return SurfaceAtRest(self, solids)

    def of_air(self, volume: Amount) -> Amount:
        """Mass [kg; 2D kg/m] of so much of what is beyond the surface [m3; 2D m2]."""
        return 0.0 * volume

    def levels(self, stencil: Stencil) -> Array:
        """g.x [m2/s2] of the mean level of the liquid of every region (regions + 1,), c without any."""
        phi, label = self.phi_c.reshape(-1), stencil.label[: self.phi_c.size]
        dx, g = self.domain.grid.dx, np.array(self.gravity)
        cell = np.flatnonzero((stencil.dirichlet_c.reshape(-1) > 0.0) & (phi > -dx) & (label > 0))
        found, regions = self.wall_cells.potential(cell, self.gravity), len(stencil.grounded)
        found = found + float(np.linalg.norm(g)) * phi[cell]
        count = np.bincount(label[cell], minlength=regions)
        total = np.bincount(label[cell], found, regions)
        return np.where(count > 0, total / np.maximum(count, 1), self.level)

    def find_surface(self) -> None:
        """What tension asks for of the surface of now."""
        for tension in self.tensions:
            tension.find()
        for lines, tension in zip(self.lines, self.tensions, strict=False):
            lines.find()
            lines.react(tension)

    def build_folded(self) -> None:
        """The rows that are folded into the masses, for the surface of now."""
        for folded in self.folded:
            folded.build(self.inv_mass_f)

    def lighten(self, stencil: Stencil) -> None:
        """The stencil knows as much of the folded rows as it can."""
        for folded in self.folded:
            folded.lighten(stencil)

    def add_rough(self, dt: float, u_f: Array) -> None:
        """The part of tension that acts as the folded rows do."""
        for folded in self.folded:
            folded.add_rough(dt, u_f)

    def wanted(self, u_f: Array) -> list[Array]:
        """What the folded rows want, by u* before impulses that are known act on it."""
        return [folded.wanted(u_f) for folded in self.folded]

    def fold(self, wanted: list[Array], u_f: Array) -> None:
        """u <- what it is with the folded rows, after the impulses that are known have acted by beta^-1."""
        for folded, values in zip(self.folded, wanted, strict=True):
            folded.reduce(values, u_f)

    def surface_load(self, centre_b: Array) -> Array:
        """Forces [N; 2D N/m] and torques [N m; 2D N] (n, 6) of the edge of the surface on solids, about places (n, 3).
        """
        found = np.zeros((len(centre_b), 6))
        for lines in self.lines:
            found += lines.load(len(centre_b), centre_b)
        return found

    def adhesion_in(self, cell: np.ndarray) -> Array:
        """Suction (n,) that the solid in each cell bears [Pa]."""
        if not len(self.adhesion) or self.domain.solids is None:
            return np.zeros(len(cell))
        body = self.domain.solids.body_c.reshape(-1)[cell]
        return np.where(body >= 0, self.adhesion[body % len(self.adhesion)], 0.0)

    @property
    def separates(self) -> bool:
        """Whether the liquid leaves walls: not where solids are part of it."""
        return not self.displaced

    def mark_parted(self, cell: np.ndarray, before: np.ndarray) -> None:
        """The walls in these cells (n,) are dry, those in other cells of ``before``, which were, are so no longer."""
        parted, back = self.parted_c.reshape(-1), np.setdiff1d(before, cell)
        parted[self.marked] = 0
        parted[back], parted[cell] = 2, 1
        self.marked = np.union1d(cell, back)

    def marked_c(self) -> np.ndarray:
        """``parted_c``, or an empty array where that is 0."""
        return self.parted_c if len(self.marked) else self._nowhere_c

    def restore_parted(self, parted_c: np.ndarray) -> None:
        """``parted_c`` as it was saved."""
        self.parted_c[...] = parted_c
        self.marked = np.flatnonzero(self.parted_c)
