"""Rows and masses of soft bodies in a fluid: what nodes do to the fluid, and what its pressure and drag do to them.

Velocities v (n, 3) of the nodes take part in the coupled system with the mass of the implicit elastic step,

    Mt = M + C^T C,      C^T C = theta dt^2 K + dt (-D),

a sparse matrix factored once per step, in the place of damping rows with unknowns of their own: for bodies of thousands
of nodes the factors cost less than the iterations that the rows of C would add. Mass conservation of a cell reads

    (K w)_c = sum_axis A [phi_lo u_lo - phi_hi u_hi] - (F v)_c = s_c,     F_cp = - sum over pieces in c of s w_p

(see ``coupling.pieces``; F is minus the area vector out of the solid, as ``coupling.walls`` has it for rigid bodies).
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np

from undertow.coupling.soft_fields import AWAY, SoftFields
from undertow.fluid.domain import FluidDomain
from undertow.fluid.pressure import DivergenceRows
from undertow.fluid.viscosity import SMALLEST_DISTANCE, WallRows
from undertow.grid import GHOSTS, Array
from undertow.linalg import Multigrid, NullSpace, Stencil
from undertow.soft import SoftBodies

BLOCK = "soft"

MOST_BYTES = 1.0e9
"""Of what is kept of the motions of light bodies; further ones are left to the iteration."""

HEAVY = 30.0
"""A shell so many times heavier than the fluid of its faces is a wall for multigrid."""


class SoftVelocities:
    """Velocities (n, 3) of the nodes with the masses Mt; held nodes, and z in 2D, are prescribed."""

    name = BLOCK

    def __init__(self, bodies: SoftBodies) -> None:
        self.bodies = bodies
        forces = bodies.forces
        self.stiffness, self.damping = forces.make_matrix(), forces.make_matrix()
        self.inv_mass = np.zeros((bodies.count, 3))
        self.free = np.zeros(0, np.int64)
        """Flat indices of the velocities that are not prescribed."""
        self.matrix: Any = None
        self._inverse: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.inv_mass.shape

    def set_masses(self, dt: float, theta: float, lumped: Any = None) -> None:
        """Mt for the positions of now and a step dt [s]; lumped (3 n, 3 n): sparse, of fluid that moves along."""
        import scipy.sparse as sparse

        bodies, forces = self.bodies, self.bodies.forces
        freedom = np.zeros((bodies.count, 3), dtype=bool)
        freedom[:, : bodies.dimensions] = (bodies.inv_mass > 0)[:, None]
        self.free = np.flatnonzero(freedom.reshape(-1))
        forces.assemble(bodies.x, theta * dt * dt, 0.0, self.stiffness)
        self.damping[...] = 0.0
        if bodies.damped:
            forces.assemble(bodies.x, 0.0, dt, self.damping)
        matrix = forces.sparse_matrix(self.stiffness + self.damping) + sparse.diags(np.repeat(bodies.mass, 3))
        self.matrix = (matrix if lumped is None else matrix + lumped).tocsr()
        self.inv_mass[...] = 0.0
        self.inv_mass.reshape(-1)[self.free] = 1.0 / self.matrix.diagonal()[self.free]
        self._inverse = factor(self.matrix, self.free)

    def apply_inverse_mass(self, force: Array, out: Array) -> None:
        """out = Mt^-1 force, 0 where prescribed; out may be force."""
        found = self._inverse.solve(force.reshape(-1)[self.free]) if len(self.free) else 0.0
        out[...] = 0.0
        out.reshape(-1)[self.free] = found

    def apply_inertia(self, v: Array, force: Array, out: Array) -> None:
        """out = Mt v + force where free, 0 where prescribed."""
        total = (self.matrix @ v.reshape(-1) + force.reshape(-1))[self.free]
        out[...] = 0.0
        out.reshape(-1)[self.free] = total

    def fold_diagonal(self, diagonal: Array, work: Array) -> Array:
        """diagonal <- diag(Mt) + diagonal where free, 0 elsewhere; its inverse in ``work``, which is returned."""
        flat, inverse = diagonal.reshape(-1), work.reshape(-1)
        total = (flat + self.matrix.diagonal())[self.free]
        flat[...], inverse[...] = 0.0, 0.0
        flat[self.free], inverse[self.free] = total, 1.0 / total
        return work


def factor(matrix: Any, free: Any) -> Any:
    """The factors of a symmetric positive definite sparse matrix among the chosen unknowns."""
    from scipy.sparse.linalg import splu

    if not len(free):
        return None
    return splu(
        matrix[free][:, free].tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )  # fmt: skip


class SoftRows(DivergenceRows):
    """Divergence rows on ``fluid`` and, where a velocity ``soft`` is given, on the nodes; else on ``v`` (n, 3)."""

    def __init__(self, domain: FluidDomain, fields: SoftFields, block: SoftVelocities) -> None:
        super().__init__(domain)
        self.fields, self.block = fields, block
        self.v = np.zeros(block.shape)
        self.flux: Any = None
        """F (cells, 3 n) [m2; 2D m], a sparse matrix."""
        self.force: Any = None
        """F^T."""
        self.soft_area = np.zeros((3, int(np.prod(self.shape))))
        """Area vector of the walls of soft bodies in each cell, out of the fluid [m2; 2D m]."""
        self.operator = SoftOperator(self)

    def rebuild(self) -> None:
        """Stencil of the fluid around bodies at rest, and F of the surfaces where they are now."""
        import scipy.sparse as sparse

        super().rebuild()
        assert self.stencil is not None
        pieces, element = self.fields.pieces.arrays(), self.fields.closed
        # cells whose faces are all closed have no pressure
        used = self.stencil.diagonal_c.reshape(-1)[pieces.cell] > 0.0
        nodes = element[pieces.element[used] % max(len(element), 1)]
        corners = element.shape[1]
        value = -pieces.area[used][:, None, :] * pieces.weight[used][:, :corners, None]
        columns = 3 * nodes[:, :, None] + np.arange(3)
        cells = np.broadcast_to(pieces.cell[used][:, None, None], value.shape)
        shape = (int(np.prod(self.shape)), 3 * self.block.bodies.count)
        self.flux = sparse.csr_matrix((value.reshape(-1), (cells.reshape(-1), columns.reshape(-1))), shape=shape)
        voxel = self.fields.voxel
        if len(voxel.face):
            self.flux = self.flux + voxel.flux(self.fields.voxel_open, self.domain.periodic_axes)
            closed = self.stencil.diagonal_c.reshape(-1) <= 0.0
            self.flux = (sparse.diags((~closed).astype(float)) @ self.flux).tocsr()
        self.force = self.flux.T.tocsr()
        for axis in range(3):
            self.soft_area[axis] = self.flux @ np.tile(np.eye(3)[axis], self.block.bodies.count)

    def lumped(self) -> tuple[Any, Any]:
        """J^T beta J (3 n, 3 n) of the fluid that coupled faces carry, and J^T beta (3 n, faces); None without any."""
        import scipy.sparse as sparse

        voxel = self.fields.voxel
        if not len(voxel.face):
            return None, None
        carried = (voxel.wall.T @ sparse.diags(self.fields.voxel_mass(self.domain.density))).tocsr()
        return carried @ voxel.wall, carried

    def set_wall_flux(self) -> None:
        """s: the flux through walls that move as prescribed; those of soft bodies are unknown."""
        super().set_wall_flux()
        if self.target is None:
            return
        target, velocity = self.target.reshape(-1), self.fields.velocity_c.reshape(3, -1)
        target -= np.where(self.fields.body_c.reshape(-1) >= 0, (self.soft_area * velocity).sum(axis=0), 0.0)

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        super().apply(w, out)
        v = w.get(BLOCK, self.v)
        out.reshape(-1)[...] -= self.flux @ v.reshape(-1)

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        super().add_transpose(z, w)
        if BLOCK in w:
            w[BLOCK].reshape(-1)[...] -= self.force @ z.reshape(-1)

    def add_diagonal(self, inv_mass: Mapping[str, Array], out: Array) -> None:
        """With the diagonal of the masses in the place of their inverse."""
        super().add_diagonal(inv_mass, out)
        out.reshape(-1)[...] += self.flux.multiply(self.flux) @ inv_mass[BLOCK].reshape(-1)

    def buoyancy(self, density: float, gravity: Array) -> Array:
        """Force (n, 3) [N] of the hydrostatic pressure density gravity . (x - top) on the nodes; top: of the domain."""
        pieces, fields = self.fields.pieces.arrays(), self.fields
        grid, element = self.domain.grid, fields.closed
        if not pieces.cell.size:
            return np.zeros(self.block.shape)
        top = np.where(gravity > 0.0, np.array(grid.lower), np.array(grid.upper))
        image, e = pieces.element // len(element), pieces.element % len(element)
        pressure = density * ((pieces.centre - fields.surface.shift[image] - top) @ gravity)
        force = -(pressure[:, None] * pieces.area)
        total = np.zeros(self.block.shape)
        for a in range(element.shape[1]):
            np.add.at(total, element[e, a], pieces.weight[:, a, None] * force)
        return total

    def push(self, z_c: Array) -> Array:
        """Impulses (n, 3) [N s] of a pressure's impulse z [Pa s] on the nodes."""
        return np.asarray(self.force @ z_c.reshape(-1)).reshape(-1, 3)


class CycleStencil:
    """The operator that multigrid is set up for: A0, with the faces that shells couple open and as heavy as fluid and
    shell together.

    F Mt^-1 F^T of a shell is local, close to A^2 / (beta + m_f) between the cells on both sides, m_f the nodes' masses
    shared among the faces they move. Shells far heavier than the fluid they carry are walls, and A0 itself serves.
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
        fluid = fields.voxel_mass(rows.domain.density)
        wall = fields.voxel.wall
        shared = np.asarray(wall.sum(axis=0)).ravel()
        mass = np.repeat(rows.block.bodies.mass, 3)
        shell = wall @ np.divide(mass, shared, out=np.zeros_like(mass), where=shared > 0.0)
        if shell.sum() > HEAVY * fluid.sum():
            return own
        if self._blend is None:
            self._blend = Stencil(grid, rows.domain.periodic_axes)
        blend = self._blend
        blend.face_f[...], blend.dirichlet_c[...] = own.face_f, own.dirichlet_c
        lower, upper = fields.voxel.sides(rows.domain.periodic_axes)
        active = own.diagonal_c.reshape(-1) > 0.0
        area = grid.face_area * fields.voxel_open
        added = area * area / (fluid + shell) * (active[lower] & active[upper])
        blend.face_f.reshape(-1)[face] += added
        fields.close_seam(blend.face_f)
        blend.setup()
        return blend


class SoftOperator:
    """A0 + F Mt^-1 F^T: the fluid around bodies at rest, and what their nodes give way."""

    def __init__(self, rows: SoftRows) -> None:
        self.rows = rows

    def apply(self, x: Array, out: Array) -> None:
        """out = A x, flat."""
        rows = self.rows
        assert rows.stencil is not None
        rows.stencil.apply(x, out)
        v = (rows.force @ x).reshape(-1, 3)
        rows.block.apply_inverse_mass(v, v)
        out += rows.flux @ v.reshape(-1)


class SoftPreconditioner:
    """One multigrid cycle for A0, the pressure's level in regions that bodies close, and the motion of light bodies.

    In a closed region A0 knows the pressure up to a constant, but bodies that change their volume do not: with e_r the
    indicators of such regions the cycle is B = B0 + E (E^T A E)^-1 E^T, E^T A E = (F^T E)^T Mt^-1 (F^T E).

    Of bodies lighter than the fluid, the affine motions U (all of which move straight on, turn, stretch or shear) are
    taken out by the formula of Woodbury, as those of light rigid bodies are (``coupling.added_mass``):

        B - B F U (U^T Mt U + U^T F^T B F U)^-1 (B F U)^T
    """

    def __init__(self, multigrid: Multigrid, rows: SoftRows) -> None:
        self.multigrid, self.rows = multigrid, rows
        self._null: NullSpace | None = None
        self._level = np.zeros((0, 0))
        self._columns, self._correction = np.zeros((0, int(np.prod(rows.shape)))), np.zeros((0, 0))

    def setup(self, null: NullSpace) -> None:
        """For the geometry and masses of now, and the null space of the system."""
        self._null = null
        self._level = null.inverse()
        self._take_motions()

    def _take_motions(self) -> None:
        """B F U of the light bodies, and what their motions are corrected with."""
        rows, size = self.rows, self._columns.shape[1]
        U = self._affine_motions()[:, : int(MOST_BYTES / (8 * size))]
        swept = rows.flux @ U
        if len(self._columns) != U.shape[1]:
            self._columns = np.zeros((U.shape[1], size))
        for column, source in zip(self._columns, swept.T, strict=True):
            self._cycle(np.ascontiguousarray(source).reshape(rows.shape), column.reshape(rows.shape))
        added = self._columns @ swept
        inertia = U.T @ (rows.block.matrix @ U)
        self._correction = np.linalg.pinv(inertia + 0.5 * (added + added.T), hermitian=True)

    def _affine_motions(self) -> Array:
        """Velocities (3 n, m) of the free nodes of closed bodies lighter than half the fluid, affine in the place."""
        block, density = self.rows.block, self.rows.domain.density
        bodies = block.bodies
        motions = []
        for part in bodies.parts:
            if not part.closed or float(bodies.mass[part.nodes].sum()) > 0.5 * density * bodies.volume(part):
                continue
            x = bodies.x[part.nodes]
            y = (x - x.mean(axis=0)) / np.ptp(x, axis=0).max()
            for shape in (np.ones(len(x)), *y.T[: bodies.dimensions]):
                for axis in range(bodies.dimensions):
                    v = np.zeros((bodies.count, 3))
                    v[part.nodes, axis] = shape
                    motions.append(v.reshape(-1))
        U = np.zeros((3 * bodies.count, len(motions)))
        for column, motion in enumerate(motions):
            U[block.free, column] = motion[block.free]
        return U

    def apply(self, x: Array, out: Array) -> None:
        """The formula in the head of the class."""
        self._cycle(x, out)
        if len(self._columns):
            flat = out.reshape(-1)
            flat -= (self._correction @ (self._columns @ x.reshape(-1))) @ self._columns

    def _cycle(self, x: Array, out: Array) -> None:
        """out = B x"""
        self.multigrid.apply(x, out)
        if self._null is not None and len(self._level):
            out.reshape(-1)[...] += self._null.spread(self._level @ self._null.sums(x))


def seeing(domain: FluidDomain, walls: SoftFields) -> FluidDomain:
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
    stencil: Stencil | None = None

    def __init__(self, domain: FluidDomain, fields: SoftFields, viscosity: float) -> None:
        self.domain, self.fields, self.viscosity = domain, fields, viscosity
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
        """J (rows, 3 n): the wall's velocity across each face from those of the nodes."""

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
        shape = (m, 3 * fields.bodies.count)
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
        flux = self.viscosity * grid.face_area / grid.dx
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
            weight[chosen[found]] = flux * np.sqrt(square[found])
            aside[chosen[found]] = flux * across[found]
        return aside

    def _slide(self, w: Mapping[str, Array]) -> Array:
        return np.asarray(w["fluid"].reshape(-1)[self.face] - self.wall @ w[BLOCK].reshape(-1))

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        out[...] = np.sqrt(self.time_step * self.weight) * self._slide(w)

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        force = np.sqrt(self.time_step * self.weight) * z
        w["fluid"].reshape(-1)[self.face] += force
        w[BLOCK].reshape(-1)[...] -= self.wall.T @ force

    def add_diagonal(self, inv_mass: Mapping[str, Array], out: Array) -> None:
        """With the diagonal of the masses of nodes in the place of their inverse."""
        own = self.wall.multiply(self.wall) @ inv_mass[BLOCK].reshape(-1)
        out += self.time_step * self.weight * (inv_mass["fluid"].reshape(-1)[self.face] + own)

    def add_gram(self, w: Mapping[str, Array], out: Mapping[str, Array]) -> None:
        force = self.time_step * self.weight * self._slide(w)
        out["fluid"].reshape(-1)[self.face] += force
        out[BLOCK].reshape(-1)[...] -= self.wall.T @ force

    def add_gram_diagonal(self, w: Mapping[str, Array]) -> None:
        scaled = self.time_step * self.weight
        w["fluid"].reshape(-1)[self.face] += scaled
        w[BLOCK].reshape(-1)[...] += self.wall.multiply(self.wall).T @ scaled

    def nodes_gram(self) -> Any:
        """The part of C^T C that acts on the nodes alone (3 n, 3 n), sparse."""
        import scipy.sparse as sparse

        return self.wall.T @ sparse.diags(self.time_step * self.weight) @ self.wall

    def impulse(self, u_f: Array, v: Array) -> Array:
        """What the drag gives the nodes over the step (n, 3) [N s]."""
        force = self.time_step * self.weight * self._slide({"fluid": u_f, BLOCK: v})
        return np.asarray(self.wall.T @ force).reshape(-1, 3)


class NodesInverse:
    """Preconditioner of the nodes in the viscous solve: (Mt + the drag of nodes alone)^-1."""

    def __init__(self, drag: SoftDrag, block: SoftVelocities) -> None:
        self.drag, self.block = drag, block
        self._inverse: Any = None

    def setup(self) -> None:
        """For the masses and drag of now."""
        self._inverse = factor((self.block.matrix + self.drag.nodes_gram()).tocsr(), self.block.free)

    def apply(self, x: Array, out: Array) -> None:
        found = self._inverse.solve(x.reshape(-1)[self.block.free]) if len(self.block.free) else 0.0
        out[...] = 0.0
        out.reshape(-1)[self.block.free] = found
