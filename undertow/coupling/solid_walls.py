"""Moving walls of soft bodies, and of the rigid ones among them: the ``WallFlux`` of the velocities of nodes.

Velocities v of the solids (``coupling.solid_velocities``) take part in the coupled system with the mass of the implicit
elastic step, a sparse matrix factored once per step, in the place of damping rows with unknowns of their own: for
bodies of thousands of nodes the factors cost less than the iterations that the rows of C would add. For nodes

    F_cp = - sum over pieces in c of s w_p

(see ``geometry.pieces``; F is minus the area vector out of the solid), and for the twists of rigid bodies as
``coupling.walls`` has it. In cells that both cut, what the open faces leave of the wall beside the pieces is the rigid
body's: the rows of a cell add up to those of a uniform motion, so that momentum passes without loss. Thin shells act
through the faces they pass (``coupling.voxel``).
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from undertow.coupling.rigid_walls import RigidWalls
from undertow.coupling.soft_fields import SoftFields
from undertow.coupling.solid_velocities import BLOCK, SolidVelocities
from undertow.coupling.walls import BodyWalls
from undertow.fluid.domain import FluidDomain
from undertow.fluid.phase import Phase
from undertow.fluid.wall_flux import WallFlux
from undertow.geometry import SolidFields
from undertow.grid import GHOSTS, Array
from undertow.linalg import Stencil
from undertow.rigid.bodies import DYNAMIC


class SolidWalls(WallFlux):
    """F of nodes and of the rigid bodies among them; v (n + 2 m, 3): as ``SolidVelocities`` has them.

    flux, force: F (cells, 3 n + 6 m) [m2, m3; 2D m, m2] and F^T, sparse matrices. soft_area (3, cells): area vector of
    the walls of soft bodies in each cell, out of the fluid [m2; 2D m]. rigid: the walls of all rigid bodies.
    """

    block = BLOCK

    def __init__(self, phase: Phase, fields: SoftFields, solids: SolidVelocities, rigid: RigidWalls) -> None:
        self.phase, self.domain, self.fields, self.solids = phase, phase.domain, fields, solids
        self.rigid = rigid
        self.v = np.zeros(solids.shape)
        self.flux: Any = None
        self.force: Any = None
        self._nodes_flux: Any = None
        self._held_flux: Any = None
        """F of the nodes in cells that are not left out."""
        self._out = np.zeros(0, np.int64)
        self.soft_area = np.zeros((3, self.domain.grid.size))
        self._stencil: Stencil | None = None

    def rebuild(self, stencil: Stencil) -> None:
        import scipy.sparse as sparse

        self._stencil = stencil
        has_pressure = stencil.diagonal_c.reshape(-1) > 0.0
        pieces, element = self.fields.pieces.arrays(), self.fields.closed
        used = has_pressure[pieces.cell]
        nodes = element[pieces.element[used] % max(len(element), 1)]
        corners = element.shape[1]
        value = -pieces.area[used][:, None, :] * pieces.weight[used][:, :corners, None]
        columns = 3 * nodes[:, :, None] + np.arange(3)
        cells = np.broadcast_to(pieces.cell[used][:, None, None], value.shape)
        shape = (has_pressure.size, 3 * self.solids.soft.count)
        nodes_flux = sparse.csr_matrix((value.reshape(-1), (cells.reshape(-1), columns.reshape(-1))), shape=shape)
        voxel = self.fields.voxel
        if len(voxel.face):
            passed = self.fields.shares.passed
            beside = np.flatnonzero(np.diff(passed.indptr))
            nodes_flux = nodes_flux + voxel.flux(self.fields.voxel_open, self.domain.periodic_axes)
            nodes_flux = nodes_flux + voxel.pass_through(beside, passed[beside], self.domain.periodic_axes)
            nodes_flux = (sparse.diags(has_pressure.astype(float)) @ nodes_flux).tocsr()
        for axis in range(3):
            self.soft_area[axis] = nodes_flux @ np.tile(np.eye(3)[axis], self.solids.soft.count)
        self._nodes_flux = self._held_flux = nodes_flux
        self._out = np.zeros(0, np.int64)

    def leave_out(self, cell: np.ndarray, stencil: Stencil) -> None:
        import scipy.sparse as sparse

        if not len(cell) and not len(self._out):
            return
        self._out, held = cell, np.ones(self._nodes_flux.shape[0])
        held[cell] = 0.0
        self._held_flux = (sparse.diags(held) @ self._nodes_flux).tocsr()

    def left_out(self, v: Array) -> Array:
        solids, nodes = self.solids, v[: self.solids.soft.count]
        found = np.asarray(self._nodes_flux[self._out] @ nodes.reshape(-1))
        if solids.rigid.count and len(self._out):
            out = self.rigid.out
            body = self.rigid.cut.spec.body[out.entry]
            twist = solids.twists(v)[body] * solids.member_b[body, None]
            np.add.at(found, out.place, np.einsum("mc,mc->m", out.f, twist))
        return found

    def take_bodies(self) -> None:
        """F of the nodes, and of the bodies that are unknowns with them now."""
        import scipy.sparse as sparse

        solids, self.flux = self.solids, self._held_flux
        if solids.rigid.count:
            cell, body, f = (array[: self.rigid.cut.size] for array in self.rigid.cut.spec)
            here = solids.member_b[body]
            cell, body, f = cell[here], body[here], f[here]
            rows, columns = np.broadcast_to(cell[:, None], f.shape), 6 * body[:, None] + np.arange(6)
            shape = (self._held_flux.shape[0], 6 * solids.rigid.count)
            flux = sparse.csr_matrix((f.reshape(-1), (rows.reshape(-1), columns.reshape(-1))), shape=shape)
            if self.rigid.cut.has_excess:
                flux = flux - self._excess_flux()
            self.flux = sparse.hstack([self._held_flux, flux], format="csr")
        self.force = self.flux.T.tocsr()

    def _excess_flux(self) -> Any:
        """What walls of these bodies must not sweep of regions (``coupling.enclosed``), over the cells of these."""
        import scipy.sparse as sparse

        cut, label = self.rigid.cut, self._stencil.label if self._stencil is not None else np.zeros(0, np.int32)
        taken = cut.excess * self.solids.member_b[:, None] / cut.cells[:, None, None]
        cells = self._held_flux.shape[0]
        inside = sparse.csr_matrix((np.ones(cells), (np.arange(cells), label[:cells])), shape=(cells, len(taken)))
        return inside @ sparse.csr_matrix(taken.reshape(len(taken), -1))

    def share_cells(
        self, cut: BodyWalls, centre_b: Array, dynamic_b: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, Array]:
        """Cells (k,), bodies (k,) and F (k, 6) of what these walls leave to rigid bodies in cells that both cut, beyond
        what the bodies alone would have: ``cut``."""
        fields, grid = self.fields, self.domain.grid
        assert self._stencil is not None
        has_pressure = self._stencil.diagonal_c.reshape(-1) > 0.0
        cell, _, f = (array[: cut.size] for array in cut.spec)
        body_c = fields.body_c.reshape(-1)
        own = np.zeros((3, body_c.size))
        for axis in range(3):
            own[axis] = np.bincount(cell, f[:, axis], body_c.size)
        own[:, cut.shared] += cut.prescribed_area.T
        mixed = np.flatnonzero(np.append(dynamic_b > 0, False)[body_c] & has_pressure)
        extra = (self._wall_area(mixed) - self.soft_area[:, mixed] - own[:, mixed]).T
        differs = (np.abs(extra) > 1e-13 * grid.face_area).any(axis=1)
        mixed, extra = mixed[differs], extra[differs]
        index = grid.index(mixed) - GHOSTS
        place = np.array(grid.lower) + (index + 0.5) * grid.dx
        arm = fields.arms(place, centre_b[body_c[mixed]]) if len(mixed) else place
        turned = np.cross(arm, extra)
        if grid.dimensions == 2:
            turned[:, :2] = 0.0
        return mixed, body_c[mixed].astype(np.int64), np.concatenate([extra, turned], axis=1)

    def _wall_area(self, cell: Any) -> Array:
        """Area vectors (3, k) [m2; 2D m] out of the fluid of all walls in cells (k,), from the open faces."""
        d = self.domain
        area = np.zeros((3, len(cell)))
        index = d.grid.index(cell)
        for axis in d.grid.axes:
            beside = index.copy()
            beside[:, axis] += 1
            if d.periodic_axes[axis]:
                last = GHOSTS + d.grid.cells[axis]
                beside[:, axis][beside[:, axis] == last] = GHOSTS
            open_f = d.area_f[axis].reshape(-1)
            area[axis] = d.grid.face_area * (open_f[cell] - open_f[d.grid.number(beside)])
        return area

    def release(self, target_c: Array) -> None:
        target, velocity = target_c.reshape(-1), self.fields.velocity_c.reshape(3, -1)
        body_c = self.fields.body_c.reshape(-1)
        target -= np.where(body_c >= 0, (self.soft_area * velocity).sum(axis=0), 0.0)
        target[np.append(self.solids.rigid.kind_b == DYNAMIC, False)[body_c]] = 0.0

    def add_flux(self, factor: float, v: Array, out_c: Array) -> None:
        out_c.reshape(-1)[...] += factor * (self.flux @ v.reshape(-1))

    def add_force(self, factor: float, p_c: Array, out: Array) -> None:
        out.reshape(-1)[...] += factor * (self.force @ p_c.reshape(-1))

    def add_diagonal(self, inv_mass: Array, out_c: Array) -> None:
        """With the diagonal of the masses in the place of their inverse."""
        out_c.reshape(-1)[...] += self.flux.multiply(self.flux) @ inv_mass.reshape(-1)

    def add_fluid_flux(self, u_f: Array, out_c: Array) -> None:
        """Nothing: the fractions are those of clipped pieces, which miss no volume."""

    def add_fluid_answer(self, z_c: Array, out_c: Array) -> None:
        """Nothing."""

    def push(self, z_c: Array) -> Array:
        """Impulses (n + 2 m, 3) [N s, N m s] of a pressure's impulse z [Pa s] on the solids."""
        return np.asarray(self.force @ z_c.reshape(-1)).reshape(-1, 3)

    def wet_sides(self) -> tuple[Array, Array]:
        """Of the faces that shells couple (r,): 1.0 where there is fluid in the cell below them, and in that above."""
        assert self._stencil is not None
        lower, upper = self.fields.voxel.sides(self.domain.periodic_axes)
        wet = self.phase.is_wet(self._stencil)
        return wet[lower], wet[upper]

    def carried_mass(self) -> Array:
        """Mass (r,) [kg] of the fluid that moves with the faces that shells couple, of the sides that have some."""
        lower, upper = self.wet_sides()
        grid, fields = self.domain.grid, self.fields
        carried = fields.shares.carried
        part = lower * carried[:, 0] + upper * carried[:, 1]
        return self.phase.mass_of(part * grid.cell_volume * fields.voxel_open)

    def lumped_mass(self) -> Any:
        """J^T beta J (3 n, 3 n), sparse, of the fluid that coupled faces carry; None without any."""
        wall = self.fields.voxel.wall
        return self._carried() @ wall if len(self.fields.voxel.face) else None

    def _carried(self) -> Any:
        """J^T beta (3 n, faces)."""
        import scipy.sparse as sparse

        return (self.fields.voxel.wall.T @ sparse.diags(self.carried_mass())).tocsr()

    def lumped_momentum(self, u_f: Array, v: Array) -> Array:
        voxel, nodes, found = self.fields.voxel, self.solids.nodes, np.zeros_like(v)
        if len(voxel.face):
            excess = u_f.reshape(-1)[voxel.face] - voxel.wall @ v[nodes].reshape(-1)
            found[nodes] = np.asarray(self._carried() @ excess).reshape(-1, 3)
        return found

    def set_lumped_faces(self, u_f: Array, v: Array) -> None:
        voxel = self.fields.voxel
        if len(voxel.face):
            u_f.reshape(-1)[voxel.face] = voxel.wall @ v[self.solids.nodes].reshape(-1)

    def buoyancy(self) -> Array:
        """Force (n + 2 m, 3) [N] of the hydrostatic pressure on nodes: -rho (g.x - c) s at the middle of each piece s
        of a closed surface, exact since the potential is linear and pieces are flat. On shells, of the fluid on either
        side of a coupled face,

            A rho (g.x_f - c) (side below - side above),      x_f = J x,

        which is nothing with fluid on both sides, and with fluid on one of them the weight of all that stands on the
        shell, up to where the shell is; on rigid ones the same by pieces. That on rigid bodies is known from their
        volume, and is not here.
        """
        fields, total = self.fields, np.zeros(self.solids.shape)
        pieces, element = fields.pieces.arrays(), fields.closed
        if pieces.cell.size:
            e, image = pieces.element % len(element), pieces.element // len(element)
            depth = self.phase.potential(pieces.cell, pieces.centre - fields.surface.shift[image])
            force = -self.phase.mass_of(depth[:, None] * pieces.area) * self._inside(pieces.cell)[:, None]
            for a in range(element.shape[1]):
                np.add.at(total, element[e, a], pieces.weight[:, a, None] * force)
        if len(fields.voxel.face):
            self._add_shells(total)
            self._add_rigid_shells(total)
        return total

    def _inside(self, cell: np.ndarray) -> Array:
        """1 of the padded cells (n,) that lie in the domain along its periodic axes, 0 of others: what an image of a
        body has there, the body has inside. Beyond walls, where bodies may reach, all counts."""
        grid, found = self.domain.grid, np.ones(len(cell))
        index = grid.index(cell)
        for axis in np.flatnonzero(self.domain.periodic_axes):
            found *= (index[:, axis] >= GHOSTS) & (index[:, axis] < GHOSTS + grid.cells[axis])
        return found

    def _add_shells(self, out: Array) -> None:
        """The part of ``buoyancy`` that acts on sheets that deform: by coupled faces, as the rows have it."""
        import scipy.sparse as sparse

        fields, soft, wall = self.fields, self.solids.soft, self.fields.voxel.wall
        lower, upper = self.wet_sides()
        nodes = sparse.csr_matrix((wall.data, wall.indices // 3, wall.indptr), (wall.shape[0], soft.count))
        depth = nodes @ (soft.x @ np.array(self.phase.gravity)) - self.phase.level
        soft_faces = nodes @ (soft.mass > 0.0) > 0.5
        area = self.domain.grid.face_area * fields.voxel_open * soft_faces
        push = self.phase.mass_of(area * depth * (lower - upper))
        out[self.solids.nodes] += (wall.T @ push).reshape(-1, 3)

    def _add_rigid_shells(self, out: Array) -> None:
        """That on rigid shells, of which the sum counts: by all pieces. What stands on either side of coupled faces
        goes for the pieces in them, and its mean for others of the same element."""
        fields, soft, voxel = self.fields, self.solids.soft, self.fields.voxel
        face, element, weight, area = voxel.pieces
        element = element % len(fields.shells)
        used = fields.rigid_shells[element]
        face, element, weight, area = (x[used] for x in (face, element, weight, area))
        assert self._stencil is not None
        wet = self.phase.is_wet(self._stencil)
        lower, upper = (wet[cell] for cell in voxel.sides(self.domain.periodic_axes, face))
        row = voxel.find_rows(face)
        behind = np.sign(area) * (lower - upper)
        seen = np.where(row >= 0, np.abs(area), 0.0)
        m = len(fields.shells)
        total, count = (np.bincount(element, x, m).astype(np.float64) for x in (seen * behind, seen))
        behind = np.where(row >= 0, behind, _continue(fields.shells, total, count)[element])
        opening = np.where(row >= 0, fields.voxel_open[row], 1.0)
        nodes = fields.shells[element]
        weight = weight[:, : nodes.shape[1]]
        depth = (weight * (soft.x @ np.array(self.phase.gravity))[nodes]).sum(axis=1) - self.phase.level
        push = self.phase.mass_of(area * behind * opening * depth)
        axis = face // self.domain.grid.size
        np.add.at(out, (nodes, axis[:, None]), weight * push[:, None])


def _continue(element: np.ndarray, total: Array, weight: Array) -> Array:
    """Means (m,) total / weight of the elements (m, k); of those without a weight that of elements beside them."""
    mean = total / np.where(weight > 0.0, weight, 1.0)
    known = weight > 0.0
    nodes = int(element.max(initial=-1)) + 1
    while known.any() and not known.all():
        corner = element[known].reshape(-1)
        count = np.bincount(corner, minlength=nodes)
        at_node = np.bincount(corner, np.repeat(mean[known], element.shape[1]), nodes) / np.maximum(count, 1)
        number = (count[element] > 0).sum(axis=1)
        new = ~known & (number > 0)
        if not new.any():
            break
        mean[new] = at_node[element[new]].sum(axis=1) / number[new]
        known |= new
    return np.asarray(mean)


def rigid_alone(domain: FluidDomain) -> FluidDomain:
    """The domain with the rigid solids of its ``SoftFields`` only."""
    fields = domain.solids
    assert isinstance(fields, SoftFields)
    alone = seeing(domain, fields.rigid)
    alone.area_f, alone.volume_c = fields.rigid.area_f, fields.rigid.volume_c
    return alone


def seeing(domain: FluidDomain, walls: SolidFields) -> FluidDomain:
    """The domain with other solids in it, for the rows that are made of them."""
    seen = copy(domain)
    seen.solids = walls
    return seen
