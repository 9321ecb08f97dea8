"""Rows of solids in a fluid: what nodes and rigid bodies do to the fluid, and what its pressure and drag do to them.

Velocities v of the solids (``coupling.solid_velocities``) take part in the coupled system with the mass of the implicit
elastic step, a sparse matrix factored once per step, in the place of damping rows with unknowns of their own: for
bodies of thousands of nodes the factors cost less than the iterations that the rows of C would add. Mass conservation
of a cell reads

    (K w)_c = sum_axis A [phi_lo u_lo - phi_hi u_hi] - (F v)_c = s_c,     F_cp = - sum over pieces in c of s w_p

for nodes (see ``coupling.pieces``; F is minus the area vector out of the solid), and for the twists of rigid bodies as
``coupling.walls`` has it. In cells that both cut, what the open faces leave of the wall beside the pieces is the rigid
body's: the rows of a cell add up to those of a uniform motion, so that momentum passes without loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from undertow.coupling.drag import DragRows
from undertow.coupling.pieces import PieceSpec
from undertow.coupling.soft_fields import AWAY, SoftFields
from undertow.coupling.solid_velocities import BLOCK, SolidVelocities
from undertow.coupling.walls import BodyWalls
from undertow.fluid.domain import FluidDomain
from undertow.fluid.pressure import DivergenceRows
from undertow.fluid.viscosity import SMALLEST_DISTANCE, WallRows
from undertow.geometry import SolidFields
from undertow.grid import GHOSTS, Array
from undertow.linalg import ConstrainedInverse, Multigrid, NullSpace, Stencil, Woodbury
from undertow.rigid.bodies import DYNAMIC
from undertow.rigid.rows import BLOCK as RIGID
from undertow.soft.bodies import SoftPart

MOST_BYTES = 1.0e9
"""Of what is kept of the motions of light bodies; further ones are left to the iteration."""

HEAVY = 30.0
"""A shell so many times heavier than the fluid of its faces is a wall for multigrid."""


class SoftRows(DivergenceRows):
    """Divergence rows on ``fluid`` and, where a velocity ``solids`` is given, on the solids; else on ``v``."""

    def __init__(self, domain: FluidDomain, fields: SoftFields, block: SolidVelocities) -> None:
        super().__init__(domain)
        self.take_solids(fields, block)

    def take_solids(self, fields: SoftFields, block: SolidVelocities) -> None:
        """The solids that move the fluid; alone: the domain with the rigid ones only."""
        self.fields, self.block = fields, block
        self.alone = seeing(self.domain, fields.rigid)
        self.alone.area_f = fields.rigid.area_f
        self.walls = BodyWalls(self.alone, block.rigid.count)
        self.v = np.zeros(block.shape)
        self.flux: Any = None
        """F (cells, 3 n + 6 m) [m2, m3; 2D m, m2], a sparse matrix."""
        self.force: Any = None
        """F^T."""
        self.soft_area = np.zeros((3, int(np.prod(self.shape))))
        """Area vector of the walls of soft bodies in each cell, out of the fluid [m2; 2D m]."""

    def rebuild(self) -> None:
        """Stencil of the fluid around bodies at rest, and F of the surfaces where they are now."""
        import scipy.sparse as sparse

        super().rebuild()
        pieces, element = self.fields.pieces.arrays(), self.fields.closed
        # cells whose faces are all closed have no pressure
        used = self.stencil.diagonal_c.reshape(-1)[pieces.cell] > 0.0
        nodes = element[pieces.element[used] % max(len(element), 1)]
        corners = element.shape[1]
        value = -pieces.area[used][:, None, :] * pieces.weight[used][:, :corners, None]
        columns = 3 * nodes[:, :, None] + np.arange(3)
        cells = np.broadcast_to(pieces.cell[used][:, None, None], value.shape)
        shape = (int(np.prod(self.shape)), 3 * self.block.soft.count)
        nodes_flux = sparse.csr_matrix((value.reshape(-1), (cells.reshape(-1), columns.reshape(-1))), shape=shape)
        voxel = self.fields.voxel
        if len(voxel.face):
            nodes_flux = nodes_flux + voxel.flux(self.fields.voxel_open, self.domain.periodic_axes)
            closed = self.stencil.diagonal_c.reshape(-1) <= 0.0
            nodes_flux = (sparse.diags((~closed).astype(float)) @ nodes_flux).tocsr()
        for axis in range(3):
            self.soft_area[axis] = nodes_flux @ np.tile(np.eye(3)[axis], self.block.soft.count)
        self.flux = nodes_flux
        if self.block.rigid.count:
            self.flux = sparse.hstack([nodes_flux, self._rigid_flux()], format="csr")
        self.force = self.flux.T.tocsr()

    def _rigid_flux(self) -> Any:
        """F of the dynamic rigid bodies (cells, 6 m)."""
        import scipy.sparse as sparse

        rigid, fields, grid, walls = self.block.rigid, self.fields, self.domain.grid, self.walls
        dynamic = rigid.kind_b == DYNAMIC
        walls.rebuild(dynamic.astype(np.int64), rigid.x_b, self.stencil.diagonal_c)
        cell, body, f = (array[: walls.size] for array in walls.spec)
        # what soft bodies that cut the same cells leave open differs from what the rigid ones alone would
        body_c = fields.body_c.reshape(-1)
        own = np.zeros((3, body_c.size))
        own[:, cell] = f[:, :3].T
        solid = np.append(dynamic, False)[body_c]
        mixed = np.flatnonzero(solid & (self.stencil.diagonal_c.reshape(-1) > 0.0))
        extra = (self._wall_area(mixed) - self.soft_area[:, mixed] - own[:, mixed]).T
        differs = (np.abs(extra) > 1e-13 * grid.face_area).any(axis=1)
        mixed, extra = mixed[differs], extra[differs]
        index = np.stack(np.unravel_index(mixed, grid.padded)[::-1], axis=1) - GHOSTS
        place = np.array(grid.lower) + (index + 0.5) * grid.dx
        arm = fields.arms(place, rigid.x_b[body_c[mixed]]) if len(mixed) else place
        turned = np.cross(arm, extra)
        if grid.dimensions == 2:
            turned[:, :2] = 0.0
        value = np.concatenate([f, np.concatenate([extra, turned], axis=1)])
        cells = np.concatenate([cell, mixed])
        columns = 6 * np.concatenate([body, body_c[mixed]])[:, None] + np.arange(6)
        shape = (int(np.prod(self.shape)), 6 * rigid.count)
        rows = np.broadcast_to(cells[:, None], value.shape)
        return sparse.csr_matrix((value.reshape(-1), (rows.reshape(-1), columns.reshape(-1))), shape=shape)

    def _wall_area(self, cell: Any) -> Array:
        """Area vectors (3, k) [m2; 2D m] out of the fluid of all walls in cells (k,), from the open faces."""
        d = self.domain
        area = np.zeros((3, len(cell)))
        index = np.stack(np.unravel_index(cell, d.grid.padded))
        for axis in d.grid.axes:
            beside = index.copy()
            beside[2 - axis] += 1
            if d.periodic_axes[axis]:
                last = GHOSTS + d.grid.cells[axis]
                beside[2 - axis][beside[2 - axis] == last] = GHOSTS
            open_f = d.area_f[axis]
            area[axis] = d.grid.face_area * (open_f[tuple(index)] - open_f[tuple(beside)])
        return area

    def lumped(self) -> tuple[Any, Any]:
        """J^T beta J (3 n, 3 n) of the fluid that coupled faces carry, and J^T beta (3 n, faces); None without any."""
        import scipy.sparse as sparse

        voxel = self.fields.voxel
        if not len(voxel.face):
            return None, None
        carried = (voxel.wall.T @ sparse.diags(self.carried_mass())).tocsr()
        return carried @ voxel.wall, carried

    def carried_mass(self) -> Array:
        """Mass (r,) [kg] of the fluid of the faces that shells couple."""
        return self.fields.voxel_mass(self.domain.density)

    def to_air(self) -> np.ndarray:
        """Coupled faces (r,) with a pressure on one side and air on the other: none where fluid fills the domain."""
        return np.zeros(len(self.fields.voxel.face), dtype=bool)

    def set_wall_flux(self) -> None:
        """s: the flux through walls that move as prescribed; those of soft bodies are unknown."""
        super().set_wall_flux()
        if self.target is None:
            return
        target, velocity = self.target.reshape(-1), self.fields.velocity_c.reshape(3, -1)
        body_c = self.fields.body_c.reshape(-1)
        target -= np.where(body_c >= 0, (self.soft_area * velocity).sum(axis=0), 0.0)
        target[np.append(self.block.rigid.kind_b == DYNAMIC, False)[body_c]] = 0.0

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        super().apply(w, out)
        self.add_others(w, out)

    def add_others(self, w: Mapping[str, Array], out: Array) -> None:
        """out -= F v"""
        out.reshape(-1)[...] -= self.flux @ w.get(BLOCK, self.v).reshape(-1)

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        super().add_transpose(z, w)
        if BLOCK in w:
            w[BLOCK].reshape(-1)[...] -= self.force @ z.reshape(-1)

    def add_diagonal(self, inv_mass: Mapping[str, Array], out: Array) -> None:
        """With the diagonal of the masses in the place of their inverse."""
        super().add_diagonal(inv_mass, out)
        out.reshape(-1)[...] += self.flux.multiply(self.flux) @ inv_mass[BLOCK].reshape(-1)

    def buoyancy(self, density: float, gravity: Array) -> Array:
        """Force (n + 2 m, 3) [N] of the hydrostatic pressure on nodes.

        That on rigid bodies is known from their volume, and is not here.
        """
        pieces, element = self.fields.pieces.arrays(), self.fields.closed
        if not pieces.cell.size:
            return np.zeros(self.block.shape)
        e = pieces.element % len(element)
        force = -(density * self._depth(pieces, gravity)[:, None] * pieces.area)
        total = np.zeros(self.block.shape)
        for a in range(element.shape[1]):
            np.add.at(total, element[e, a], pieces.weight[:, a, None] * force)
        return total

    def _depth(self, pieces: PieceSpec, gravity: Array) -> Array:
        """gravity . (x - top) of pieces (r,) [m2/s2]; top: of the domain."""
        grid, fields = self.domain.grid, self.fields
        top = np.where(gravity > 0.0, np.array(grid.lower), np.array(grid.upper))
        image = pieces.element // len(fields.closed)
        return np.asarray((pieces.centre - fields.surface.shift[image] - top) @ gravity)

    def push(self, z_c: Array) -> Array:
        """Impulses (n + 2 m, 3) [N s, N m s] of a pressure's impulse z [Pa s] on the solids."""
        return np.asarray(self.force @ z_c.reshape(-1)).reshape(-1, 3)


class CycleStencil:
    """The operator that multigrid is set up for: A0, with the faces that shells couple open and as heavy as fluid and
    shell together.

    F Mt^-1 F^T of a shell is local, close to A^2 / (beta + m_f) between the cells on both sides, m_f the nodes' masses
    shared among the faces they move. Shells far heavier than the fluid they carry are walls, and A0 itself serves.
    Rigid ones are walls too: they give way as a whole, which is for ``SoftPreconditioner``.
    """

    def __init__(self, rows: SoftRows) -> None:
        self.rows = rows
        self._blend: Stencil | None = None

    def build(self) -> Stencil:
        """For the geometry of now."""
        rows = self.rows
        own, fields, grid = rows.stencil, rows.fields, rows.domain.grid
        assert own is not None
        face = fields.voxel.face
        if not len(face):
            return own
        fluid = rows.carried_mass()
        wall = fields.voxel.wall
        shared = np.asarray(wall.sum(axis=0)).ravel()
        mass = np.repeat(rows.block.soft.mass, 3)
        shell = wall @ np.divide(mass, shared, out=np.zeros_like(mass), where=shared > 0.0)
        rigid = np.zeros(rows.block.soft.count)
        rigid[rows.block.bound.nodes] = 1.0
        gives = wall @ np.repeat(rigid, 3) < 1.0 - 1e-9
        if shell[gives].sum() >= HEAVY * fluid[gives].sum():
            return own
        if self._blend is None:
            self._blend = Stencil(grid, rows.domain.periodic_axes)
        blend = self._blend
        blend.face_f[...], blend.dirichlet_c[...] = own.face_f, own.dirichlet_c
        lower, upper = fields.voxel.sides(rows.domain.periodic_axes)
        active = own.diagonal_c.reshape(-1) > 0.0
        area = grid.face_area * fields.voxel_open
        given = np.divide(area * area, fluid + shell, out=np.zeros_like(area), where=(fluid > 0.0) & gives)
        to_air = rows.to_air()
        blend.face_f.reshape(-1)[face] += given * (active[lower] & active[upper])
        np.add.at(blend.dirichlet_c.reshape(-1), np.where(active[lower], lower, upper)[to_air], given[to_air])
        fields.close_seam(blend.face_f)
        blend.setup()
        return blend


class SoftPreconditioner:
    """One multigrid cycle for A0, the pressure's level in regions that bodies close, and the motion of light bodies.

    In a closed region A0 knows the pressure up to a constant, but bodies that change their volume do not: with e_r the
    indicators of such regions the cycle is B = B0 + E (E^T A E)^-1 E^T, E^T A E = (F^T E)^T Mt^-1 (F^T E).

    Of bodies lighter than the fluid, motions U (of soft bodies as many as there are affine ones, and the twists of
    rigid ones) are taken out by the formula of Woodbury (``linalg.low_rank``), as in ``coupling.added_mass``:

        B - (B F U) (I + N S)^-1 N (B F U)^T,      S = U^T F^T B F U,      N = (U^T Mt U)^-1 with rows G held in it
    """

    def __init__(self, multigrid: Multigrid, rows: SoftRows, displaced_b: Array) -> None:
        self.rows = rows
        self.displaced_b = displaced_b
        """Mass of the fluid that each rigid body displaces (m,) [kg]."""
        self._cycle = _LevelCycle(multigrid)
        self._woodbury = Woodbury(self._cycle, rows.shape, rows.domain.grid.dimensions == 2)
        self._motions: Array = np.zeros((0, 0))

    def setup(self, null: NullSpace) -> None:
        """For the geometry and masses of now, and the null space of the system."""
        self._cycle.setup(null)
        rows = self.rows
        # solids that are all held move no fluid
        none = np.zeros((rows.v.size, 0))
        U = self._light_motions() if len(rows.block.free) else none
        self._motions = U[:, : int(MOST_BYTES / (8 * int(np.prod(rows.shape))))]
        self._woodbury.setup(_Swept(rows.flux, self._motions), self._inverse())

    def correct(self) -> None:
        """For the rows that hold the solids now."""
        self._woodbury.correct(self._inverse())

    def _inverse(self) -> Array:
        """N of the motions, as held rows allow it."""
        block, U = self.rows.block, self._motions
        N = np.linalg.pinv(U.T @ (block.matrix @ U), hermitian=True)
        held = [np.asarray(G @ U[block.free]) for G in block.held_rows()]
        return ConstrainedInverse(lambda force: N @ force, held).apply(np.eye(len(N)))

    def _light_motions(self) -> Array:
        """Velocities (3 n + 6 m, k) of closed soft bodies lighter than half the fluid, and twists of rigid bodies as
        light, with the nodes that they carry."""
        block, density = self.rows.block, self.rows.domain.density
        soft, rigid = block.soft, block.rigid
        motions = []
        number = np.full(3 * soft.count + 6 * rigid.count, -1, np.int64)
        number[block.free] = np.arange(len(block.free))
        for part in soft.parts:
            if not part.closed or float(soft.mass[part.nodes].sum()) > 0.5 * density * soft.volume(part):
                continue
            motions += list(self._best_motions(part).T)
        light = np.flatnonzero((self.displaced_b > 0.0) & (rigid.mass_b < 0.5 * self.displaced_b))
        for entry in (3 * soft.count + 6 * light[:, None] + np.arange(6)).reshape(-1):
            if number[entry] >= 0:
                motions.append((np.arange(len(block.free)) == number[entry]).astype(float))
        U = block.spread @ np.stack(motions, axis=1) if motions else np.zeros((len(number), 0))
        swept = np.abs(self.rows.flux @ U).max(axis=0, initial=0.0)
        # a ball that turns moves nothing
        return np.asarray(U[:, swept > 1e-6 * swept.max(initial=0.0)])

    def _best_motions(self, part: SoftPart) -> Array:
        """Velocities (free, k) of a soft body: of the quadratic functions of the place, as many as there are affine
        ones, those that move most fluid for their inertia, elasticity included: Ritz vectors of F^T F against Mt."""
        block, rows = self.rows.block, self.rows
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
        swept = rows.flux @ spread
        L = np.linalg.cholesky(spread.T @ (block.matrix @ spread))
        half = np.linalg.solve(L, swept.T)
        _, vector = np.linalg.eigh(half @ half.T)
        best = np.linalg.solve(L.T, vector[:, ::-1][:, : d * (d + 1)])
        return np.asarray(U @ (best / np.linalg.norm(best, axis=0)))

    def apply(self, x: Array, out: Array) -> None:
        """The formula in the head of the class."""
        self._woodbury.apply(x, out)


class _LevelCycle:
    """B = B0 + E (E^T A E)^-1 E^T: a multigrid cycle and the pressure's level in closed regions."""

    def __init__(self, multigrid: Multigrid) -> None:
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


def seeing(domain: FluidDomain, walls: SolidFields) -> FluidDomain:
    """The domain with other solids in it, for the rows that are made of them."""
    seen = copy(domain)
    seen.solids = walls
    return seen


class SoftDrag:
    """Damping rows named ``drag`` between faces and the walls of soft bodies in their dual cells, folded:

        sqrt(dt mu A_wall / d) (u_f - e_axis . sum_p w_p v_p),

    the rows of ``fluid.viscosity`` with the wall's velocity that of the nearest point of the surface.
    """

    name = "drag"
    damping = True
    folded = True
    target: Array | None = None

    def __init__(self, domain: FluidDomain, fields: SoftFields, viscosity: float | Array, rigid_count: int) -> None:
        """viscosity [Pa s]: of the fluid, or of every face."""
        self.domain, self.fields, self.viscosity = domain, fields, viscosity
        self.rigid_count = rigid_count
        self.time_step = 0.0
        self.shape: tuple[int, ...] = (0,)
        # the areas of all walls, read off rows with a wall far away
        walls = copy(fields)
        walls.body_c = np.zeros_like(fields.body_c)
        walls.distance_f = np.full_like(fields.distance_f, AWAY * domain.grid.dx)
        self._weights = WallRows(seeing(domain, walls), viscosity, np.zeros(1, np.int64), folded=True, half=False)
        self.face = np.zeros(0, np.int64)
        self.weight = np.zeros(0)
        self.wall: Any = None
        """J (rows, 3 n + 6 m): the wall's velocity across each face from those of the nodes."""

    def rebuild(self) -> None:
        """Weights and nodes of the surfaces where they are now."""
        import scipy.sparse as sparse

        d, fields = self.domain, self.fields
        self._weights.rebuild()
        near, element = fields.near_arrays(), fields.element
        weight = AWAY * self._weights.solid_weight_f.reshape(-1)[near.face]
        aside = self._open_aside(near.face, weight)
        weight /= np.maximum(near.distance / d.grid.dx, SMALLEST_DISTANCE)
        weight += aside
        used = (weight > 0.0) & fields.nearer
        self.face, self.weight = near.face[used], weight[used]
        m, corners = len(self.face), element.shape[1]
        axis = self.face // int(np.prod(d.grid.padded))
        nodes = element[near.element[used] % max(len(element), 1)] if m else np.zeros((0, corners), np.int64)
        value = near.weight[used][:, :corners]
        rows = np.broadcast_to(np.arange(m)[:, None], value.shape)
        columns = 3 * nodes + axis[:, None]
        shape = (m, 3 * fields.bodies.count + 6 * self.rigid_count)
        self.wall = sparse.csr_matrix((value.reshape(-1), (rows.reshape(-1), columns.reshape(-1))), shape=shape)
        self.shape = (m,)

    def _open_aside(self, face: Array, weight: Array) -> Array:
        """Exchange (m,) [kg/s] of faces with closed faces beside them, whose velocity is that of the wall.

        The rows count the whole surface between the dual cells of a face and of a closed one as wall at the distance of
        the wall: right where a smooth wall leaves a wedge of fluid behind that surface. At an edge of a body half a
        dual cell of fluid is there, up to the closed face one cell away. The two are told apart by the volume behind
        the open part: as large as that part is long, or at most half as large. ``weight``, mu A_wall / dx, is mended.
        """
        area, volume, grid = self.domain.area_f, self.domain.volume_c, self.domain.grid
        mu = self.viscosity if isinstance(self.viscosity, float) else self.viscosity.reshape(-1)[face]
        flux = np.broadcast_to(mu * grid.face_area / grid.dx, len(face))
        aside = np.zeros(len(face))
        axis, cell = np.divmod(face, int(np.prod(grid.padded)))
        index = np.stack(np.unravel_index(cell, grid.padded), axis=1)
        last = GHOSTS + np.array(grid.cells[::-1]) - 1
        used = np.array([a in grid.axes for a in (2, 1, 0)])
        inner = np.all(~used | ((index > GHOSTS) & (index < last)), axis=1) & (weight > 0.0)
        step = np.eye(3, dtype=np.int64)[::-1]
        for a in grid.axes:
            chosen = np.flatnonzero(inner & (axis == a))
            at = index[chosen]
            own = area[a][tuple(at.T)]
            square, across = np.zeros(len(chosen)), np.zeros(len(chosen))
            for b in grid.axes:
                ends = []
                for side in (0, 1):
                    if a == b:
                        other = area[a][tuple((at + (2 * side - 1) * step[a]).T)]
                        ends.append(np.where(other > 0.0, 0.5 * (own + other), 0.0))
                        continue
                    edge = at + side * step[b]
                    open_edge = 0.5 * (area[b][tuple(edge.T)] + area[b][tuple((edge - step[a]).T)])
                    beside = at + (2 * side - 1) * step[b]
                    behind = 0.5 * (volume[tuple(beside.T)] + volume[tuple((beside - step[a]).T)])
                    closed = area[a][tuple(beside.T)] <= 0.0
                    part = np.clip(2.0 * behind - open_edge, 0.0, open_edge)
                    across += np.where(closed, part, 0.0)
                    ends.append(np.where(closed, part, open_edge))
                square += (ends[1] - ends[0]) ** 2
            found = across > 0.0
            weight[chosen[found]] = flux[chosen[found]] * np.sqrt(square[found])
            aside[chosen[found]] = flux[chosen[found]] * across[found]
        return aside

    def keep(self, inv_mass_f: Array) -> None:
        """Without faces that no fluid moves, such as those in the air."""
        self.weight = self.weight * (inv_mass_f.reshape(-1)[self.face] > 0.0)

    def _slide(self, w: Mapping[str, Array]) -> Array:
        return np.asarray(w["fluid"].reshape(-1)[self.face] - self.wall @ w[BLOCK].reshape(-1))

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        out[...] = np.sqrt(self.time_step * self.weight) * self._slide(w)

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        force = np.sqrt(self.time_step * self.weight) * z
        w["fluid"].reshape(-1)[self.face] += force
        w[BLOCK].reshape(-1)[...] -= self.wall.T @ force

    def add_gram(self, w: Mapping[str, Array], out: Mapping[str, Array]) -> None:
        force = self.time_step * self.weight * self._slide(w)
        out["fluid"].reshape(-1)[self.face] += force
        out[BLOCK].reshape(-1)[...] -= self.wall.T @ force

    def add_gram_diagonal(self, w: Mapping[str, Array]) -> None:
        scaled = self.time_step * self.weight
        w["fluid"].reshape(-1)[self.face] += scaled
        w[BLOCK].reshape(-1)[...] += self.wall.multiply(self.wall).T @ scaled

    def nodes_gram(self) -> Any:
        """The part of C^T C that acts on the nodes alone (3 n + 6 m, 3 n + 6 m), sparse."""
        import scipy.sparse as sparse

        return self.wall.T @ sparse.diags(self.time_step * self.weight) @ self.wall

    def impulse(self, u_f: Array, v: Array) -> Array:
        """What the drag gives the solids over the step (n + 2 m, 3) [N s]."""
        force = self.time_step * self.weight * self._slide({"fluid": u_f, BLOCK: v})
        return np.asarray(self.wall.T @ force).reshape(-1, 3)


class RigidDrag(DragRows):
    """``DragRows`` on the twists among the velocities of all solids."""

    name = "rigid_drag"

    def __init__(self, block: SolidVelocities, *args: Any) -> None:
        super().__init__(*args)
        self.block = block

    def _seen(self, w: Mapping[str, Array]) -> dict[str, Array]:
        return {"fluid": w["fluid"], RIGID: self.block.twists(w[BLOCK])}

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        super().apply(self._seen(w), out)

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        super().add_transpose(z, self._seen(w))

    def add_gram(self, w: Mapping[str, Array], out: Mapping[str, Array]) -> None:
        super().add_gram(self._seen(w), self._seen(out))

    def add_gram_diagonal(self, w: Mapping[str, Array]) -> None:
        super().add_gram_diagonal(self._seen(w))

    def nodes_gram(self) -> Any:
        """The part of C^T C that acts on the bodies alone (3 n + 6 m, 3 n + 6 m), sparse."""
        import scipy.sparse as sparse

        count = 3 * self.block.soft.count
        return sparse.block_diag([sparse.csr_matrix((count, count)), *self.bodies_gram()], format="csr")

    def impulse(self, u_f: Array, v: Array) -> Array:
        """What the drag gives the solids over the step (n + 2 m, 3) [N s, N m s]."""
        found = np.zeros_like(v)
        self.add_impulse(u_f, self.block.twists(v), self.block.twists(found))
        return found


class NodesInverse:
    """Preconditioner of the solids in the viscous solve: (Mt + the drag of solids alone)^-1, as rows allow it."""

    def __init__(self, drags: Sequence[SoftDrag | RigidDrag], block: SolidVelocities) -> None:
        self.drags, self.block = drags, block
        self._inverse: Any = None

    def setup(self) -> None:
        """For the masses, drag and rows of now."""
        self._inverse = self.block.restricted_inverse(sum(drag.nodes_gram() for drag in self.drags))

    def apply(self, x: Array, out: Array) -> None:
        block = self.block
        out.reshape(-1)[...] = block.spread @ self._inverse(x.reshape(-1)[block.free])
