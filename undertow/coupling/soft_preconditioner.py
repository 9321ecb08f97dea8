"""The cycle that the correction for light rigid bodies starts from: multigrid, closed regions, light soft bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from undertow.coupling.added_mass import LIGHT
from undertow.coupling.solid_walls import SolidWalls
from undertow.fluid.pressure import PressureRows
from undertow.grid import Array
from undertow.linalg import ClusterCycle, ConstrainedInverse, NullSpace, Stencil, Woodbury
from undertow.linalg.krylov import Preconditioner
from undertow.soft.bodies import SoftMesh

MOST_BYTES = 1.0e9
"""Of what is kept of the motions of light bodies; further ones are left to the iteration."""

HEAVY = 30.0
"""A shell so many times heavier than the fluid of its faces is a wall for multigrid."""


class CycleStencil:
    """The operator that multigrid is set up for: A0, with the faces that shells couple open and as heavy as fluid and
    shell together.

    F Mt^-1 F^T of a shell is local, close to A^2 / (beta + m_f) between the cells on both sides, m_f the nodes' masses
    shared among the faces they move. Shells far heavier than the fluid they carry are walls, and A0 itself serves.
    Rigid ones are walls too: they give way as a whole, which is for ``LightMotions``.
    """

    def __init__(self, rows: PressureRows, walls: SolidWalls) -> None:
        self.rows, self.walls = rows, walls
        self._blend: Stencil | None = None

    def build(self) -> Stencil:
        """For the geometry of now."""
        own, walls, domain = self.rows.stencil, self.walls, self.rows.domain
        fields, solids = walls.fields, walls.solids
        face = fields.voxel.face
        if not len(face):
            return own
        fluid, wall = walls.carried_mass(), fields.voxel.wall
        shared = np.asarray(wall.sum(axis=0)).ravel()
        mass = np.repeat(solids.soft.mass, 3)
        shell = wall @ np.divide(mass, shared, out=np.zeros_like(mass), where=shared > 0.0)
        rigid = np.zeros(solids.soft.count)
        rigid[solids.bound.nodes] = 1.0
        gives = wall @ np.repeat(rigid, 3) < 1.0 - 1e-9
        if shell[gives].sum() >= HEAVY * fluid[gives].sum():
            return own
        if self._blend is None:
            self._blend = Stencil(domain.grid, domain.periodic_axes)
        blend = self._blend
        blend.face_f[...], blend.dirichlet_c[...] = own.face_f, own.dirichlet_c
        lower, upper = fields.voxel.sides(domain.periodic_axes)
        active = own.diagonal_c.reshape(-1) > 0.0
        area = domain.grid.face_area * fields.voxel_open
        given = np.divide(area * area, fluid + shell, out=np.zeros_like(area), where=(fluid > 0.0) & gives)
        below, above = walls.wet_sides()
        to_air = below != above
        blend.face_f.reshape(-1)[face] += given * (active[lower] & active[upper])
        np.add.at(blend.dirichlet_c.reshape(-1), np.where(active[lower], lower, upper)[to_air], given[to_air])
        fields.close_seam(blend.face_f)
        blend.setup()
        return blend


class LightMotions:
    """A cycle B corrected for the motion of nodes that are lighter than the fluid.

    Motions U (of soft bodies as many as there are affine ones, and the twists of
    rigid ones) are taken out by the formula of Woodbury (``linalg.low_rank``), as in ``coupling.added_mass``:

        B - (B F U) (I + N S)^-1 N (B F U)^T,      S = U^T F^T B F U,      N = (U^T Mt U)^-1 with rows G held in it
    """

    def __init__(self, cycle: Preconditioner, rows: PressureRows, walls: SolidWalls, displaced_b: Array) -> None:
        self.rows, self.walls = rows, walls
        self.displaced_b = displaced_b
        """Mass of the fluid that each rigid body displaces (m,) [kg]."""
        self._woodbury = Woodbury(cycle, rows.shape, rows.domain.grid.dimensions == 2)
        self._motions: Array = np.zeros((0, 0))

    def setup(self) -> None:
        """For the geometry and masses of now."""
        walls = self.walls
        # solids that are all held move no fluid
        none = np.zeros((walls.v.size, 0))
        U = self._light_motions() if len(walls.solids.free) else none
        self._motions = U[:, : int(MOST_BYTES / (8 * int(np.prod(self.rows.shape))))]
        self._woodbury.setup(_Swept(walls.flux, self._motions), self._inverse())

    def correct(self) -> None:
        """For the rows that hold the solids now."""
        self._woodbury.correct(self._inverse())

    def _inverse(self) -> Array:
        """N of the motions, as held rows allow it."""
        block, U = self.walls.solids, self._motions
        N = np.linalg.pinv(U.T @ (block.matrix @ U), hermitian=True)
        held = [np.asarray(G @ U[block.free]) for G in block.held_rows()]
        return ConstrainedInverse(lambda force: N @ force, held).apply(np.eye(len(N)))

    def _light_motions(self) -> Array:
        """Velocities (3 n + 6 m, k) of closed soft bodies lighter than half the fluid, and twists of rigid bodies as
        light, with the nodes that they carry."""
        block, phase = self.walls.solids, self.rows.phase
        soft, rigid = block.soft, block.rigid
        motions = []
        number = np.full(3 * soft.count + 6 * rigid.count, -1, np.int64)
        number[block.free] = np.arange(len(block.free))
        for part in soft.parts:
            if not part.closed or LIGHT * float(soft.mass[part.nodes].sum()) > phase.mass_of(soft.volume(part)):
                continue
            motions += list(self._best_motions(part).T)
        light = np.flatnonzero((self.displaced_b > 0.0) & (LIGHT * rigid.mass_b < self.displaced_b))
        for entry in (3 * soft.count + 6 * light[:, None] + np.arange(6)).reshape(-1):
            if number[entry] >= 0:
                motions.append((np.arange(len(block.free)) == number[entry]).astype(float))
        U = block.spread @ np.stack(motions, axis=1) if motions else np.zeros((len(number), 0))
        swept = np.abs(self.walls.flux @ U).max(axis=0, initial=0.0)
        # a ball that turns moves nothing
        return np.asarray(U[:, swept > 1e-6 * swept.max(initial=0.0)])

    def _best_motions(self, part: SoftMesh) -> Array:
        """Velocities (free, k) of a soft body: of the quadratic functions of the place, as many as there are affine
        ones, those that move most fluid for their inertia, elasticity included: Ritz vectors of F^T F against Mt."""
        block, flux = self.walls.solids, self.walls.flux
        soft, d = block.soft, block.soft.dimensions
        x = soft.x[part.nodes]
        y = ((x - x.mean(axis=0)) / np.ptp(x, axis=0).max()).T[:d]
        shapes = [np.ones(len(x)), *y, *(y[i] * y[j] for i in range(d) for j in range(i, d))]
        candidates = []
        for shape in shapes:
            for axis in range(d):
                v = np.zeros(block.shape)
                v[part.nodes, axis] = shape
                candidates.append(v.reshape(-1)[block.free])
        U = np.linalg.qr(np.stack(candidates, axis=1))[0]
        spread = block.spread @ U
        swept = flux @ spread
        L = np.linalg.cholesky(spread.T @ (block.matrix @ spread))
        half = np.linalg.solve(L, swept.T)
        _, vector = np.linalg.eigh(half @ half.T)
        best = np.linalg.solve(L.T, vector[:, ::-1][:, : d * (d + 1)])
        return np.asarray(U @ (best / np.linalg.norm(best, axis=0)))

    def apply(self, x: Array, out: Array) -> None:
        """The formula in the head of the class."""
        self._woodbury.apply(x, out)


class LevelCycle:
    """One multigrid cycle B0 for A0, and the pressure's level in regions that solids close.

    In a closed region A0 knows the pressure up to a constant, but solids that change its volume do not: with e_r the
    indicators of such regions the cycle is B = B0 + E (E^T A E)^-1 E^T, E^T A E = (F^T E)^T Mt^-1 (F^T E).
    """

    def __init__(self, multigrid: ClusterCycle) -> None:
        self.multigrid = multigrid
        self._null: NullSpace | None = None
        self._level = np.zeros((0, 0))

    def setup(self, null: NullSpace) -> None:
        """For the null space of the system as it is now."""
        self._null, self._level = null, null.inverse()

    def apply(self, x: Array, out: Array) -> None:
        """out = B x"""
        self.multigrid.apply(x, out)
        if self._null is not None and len(self._level):
            out.reshape(-1)[...] += self._null.spread(self._level @ self._null.sums(x))


class _Swept:
    """F U (cells, k): what motions U sweep."""

    def __init__(self, flux: Any, motions: Array) -> None:
        import scipy.sparse as sparse

        self.count = motions.shape[1]
        self._rows = sparse.csr_matrix((flux @ motions).T)
        self._columns = self._rows.T.tocsr()

    def gather(self, x: Array) -> Array:
        """U^T F^T x"""
        return np.asarray(self._rows @ x.reshape(-1))

    def add(self, factor: float, amount: Array, out: Array) -> None:
        """out += factor F U amount"""
        out.reshape(-1)[...] += factor * (self._columns @ amount)
