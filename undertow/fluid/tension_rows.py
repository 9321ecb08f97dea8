"""Implicit surface tension on a level set: damping rows C H on the velocities of faces, folded into their masses.

A surface displaced by dt u_n along its normals has the curvature kappa - dt Lap u_n + ..., Lap being the Laplacian
along it. The points of its mesh lie on the lines between cell centres, one on each face that it crosses, which are
those that the jump of the pressure acts on. With

    H   u_n at the points, from the faces about them, interpolated by place and by mass: light faces follow heavy ones,
    C   a row dt sqrt(sigma / l) (d_k - d_{k+1}) per segment of length l, two rows dt sqrt(sigma A) grad d per triangle
        of area A, d_k being u_n at a point: C^T C = dt^2 S, S sigma times the stiffness matrix of linear elements,

the rows C H stand beside those of pressure in the one system (6.33) [@schroeder2011], folded into the mass, B = beta +
dt^2 H^T S H. They touch the faces at the surface alone, so that the inverse needs a system of the size of the surface,

    B^-1 = beta^-1 - beta^-1 H^T R H beta^-1,      R = dt^2 S (1 + dt^2 N S)^-1,      N = H beta^-1 H^T,

factored once in a step. The pressure stays the one unknown; the stencil that multigrid sees has crossed faces as heavy
as B makes them for an impulse that all of them get.

The curvature of now acts at its crossings as without the rows, in what is smooth of it, so that drops at rest stay so.
The rest acts through H^T: what the rows do not see, or see with another weight, would grow by it. The rows want 0 of
all motion but the translation of each connected piece of the surface, which changes no curvature.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from undertow.fluid.tension import SurfaceTension
from undertow.grid import Array
from undertow.linalg import Stencil
from undertow.surface import InterfaceFinder

SHORT = 0.3
"""Triangles and segments are no thinner than this to the rows [cells]."""

CLOSE = 0.6
"""Crossings nearer to a liquid centre than this have its curvature in part: their faces have little mass [cells]."""

EVENING, PASSES = 0.5, 12
"""Of the weighted Jacobi steps that part the smooth curvature from the rest."""


class TensionRows:
    """Of one tension; the head of the module says what they are.

    After ``build``: point (n, 3) [m], normal (n, 3), out of the liquid, and area (n,) [m2; 2D m] of the mesh, simplex
    (m, d) of it, face (n,): the faces that the points lie on, flat; H (n, faces) and S (n, n) [N/m; 2D N/m2], sparse.
    """

    def __init__(self, tension: SurfaceTension) -> None:
        self.tension, self.domain, self.grid, self.phi_c = tension, tension.domain, tension.grid, tension.phi_c
        self.sigma = tension.sigma
        self._finder = InterfaceFinder(self.grid, between_centres=True)
        self._stride = self.grid.stride[: self.grid.dimensions]
        self._size = self.grid.size
        self.point, self.normal = np.zeros((2, 0, 3))
        self.simplex = np.zeros((0, self.grid.dimensions), dtype=np.int64)
        self.face = np.zeros(0, dtype=np.int64)
        self.H = self.S = sparse.csr_matrix((0, 0))
        self._N = self._light = self._scaled = self.H
        self._solver: Any = None
        self.time_step = 0.0
        self.complete = True
        """Whether no solid cuts the faces that the surface crosses: tension is explicit there."""

    # the surface of now ---------------------------------------------------------------------------------------------

    def build(self, inv_mass_f: Array) -> None:
        """Mesh, H and S for the surface of now; inv_mass_f: 1 / beta_f, 0 where there is no velocity."""
        interface, edge = self._finder.find_marked(self.phi_c)
        if not len(edge):
            self.point, self.complete = interface.point, True
            return
        axis, lower = edge // self._size, edge % self._size
        self.face = axis * self._size + lower + self._stride[axis]
        self.point, self.simplex = interface.point, interface.simplex
        part = np.zeros(len(edge))
        for a in self.grid.axes:
            own = axis == a
            part[own] = self._finder.crossings.theta_e[a].reshape(-1)[lower[own]]
        self.normal = self._normals(axis, lower, part)
        # faces that a solid closes in part have no rows yet
        self.complete = bool(np.all(self.domain.area_f.reshape(-1)[self.face] == 1.0))
        inv_mass = np.where(self.domain.area_f == 1.0, inv_mass_f, 0.0).reshape(-1)
        rows, known = self._interpolation(axis, lower, part, inv_mass)
        self.simplex = self.simplex[known[self.simplex].all(axis=1)]
        faces, column = np.unique(rows.col, return_inverse=True)
        self._faces, self._inv_mass = faces, inv_mass[faces]
        self.H = sparse.csr_matrix((rows.data, (rows.row, column)), shape=(len(edge), len(faces)))
        self._find_pieces()
        self.S = self._stiffness()
        self._light = self.H.multiply(self._inv_mass[None, :]).tocsr()
        self._N = (self._light @ self.H.T).tocsr()
        self._divergence()
        self._part_curvature()
        self._factor()
        self._lighten()

    def _normals(self, axis: np.ndarray, lower: np.ndarray, part: Array) -> Array:
        phi, upper = self.phi_c.reshape(-1), lower + self._stride[axis]
        normal = np.zeros((len(axis), 3))
        for a, step in enumerate(self._stride):
            low, high = (phi[at + step] - phi[at - step] for at in (lower, upper))
            normal[:, a] = low + part * (high - low)
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
        return normal

    def _interpolation(
        self, axis: np.ndarray, lower: np.ndarray, part: Array, inv_mass: Array
    ) -> tuple[sparse.coo_matrix, np.ndarray]:
        """H by flat indices of faces, and the points (n,) that have all their components."""
        count, step = len(axis), self._stride
        upper = lower + step[axis]
        # the crossed face is half way: the next one is before or behind it
        beside = np.where(part < 0.5, self.face - step[axis], self.face + step[axis])
        near = np.abs(part - 0.5)
        parts = [(np.arange(count), axis, np.stack([self.face, beside], axis=1), np.stack([1.0 - near, near], axis=1))]
        for b in self.grid.axes:
            across = np.flatnonzero(axis != b)
            at = np.stack([lower[across], lower[across] + step[b], upper[across], upper[across] + step[b]], axis=1)
            near = 0.5 * np.stack([1.0 - part[across]] * 2 + [part[across]] * 2, axis=1)
            parts.append((across, np.full(len(across), b), b * self._size + at, np.maximum(near, 1e-3)))
        known = inv_mass[self.face] > 0.0
        row, face, value = [], [], []
        for at, along, stencil, weight in parts:
            light = inv_mass[stencil]
            there = light > 0.0
            least = np.where(there, light, np.inf).min(axis=1, initial=np.inf)[:, None]
            weight = weight * np.where(there, least / np.where(there, light, 1.0), 0.0)
            total = weight.sum(axis=1)
            known[at] &= total > 0.0
            weight *= (self.normal[at, along] / np.where(total > 0.0, total, 1.0))[:, None]
            row.append(np.repeat(at, stencil.shape[1]))
            face.append(stencil.reshape(-1))
            value.append(weight.reshape(-1))
        rows, faces, values = (np.concatenate(x) for x in (row, face, value))
        values = values * known[rows]
        there = values != 0.0
        shape = (count, 3 * self._size)
        return sparse.coo_matrix((values[there], (rows[there], faces[there])), shape=shape), known

    def _stiffness(self) -> sparse.csr_matrix:
        """sigma times the integral of grad d . grad d, by linear elements."""
        at, count, short = self.point[self.simplex], len(self.point), SHORT * self.grid.dx
        if self.grid.dimensions == 2:
            length = np.sqrt(((at[:, 1] - at[:, 0]) ** 2).sum(axis=1) + short**2)
            local = (self.sigma / length)[:, None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])
        else:
            edges = at[:, 1:] - at[:, :1]
            # widened by a triangle of equal sides
            gram = edges @ np.swapaxes(edges, 1, 2) + short**2 * np.array([[1.0, 0.5], [0.5, 1.0]])
            area = 0.5 * np.sqrt(np.linalg.det(gram))
            change = np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])
            local = self.sigma * area[:, None, None] * (change.T @ np.linalg.inv(gram) @ change)
        corners = self.simplex.shape[1]
        rows = np.repeat(self.simplex, corners, axis=1).reshape(-1)
        columns = np.tile(self.simplex, (1, corners)).reshape(-1)
        return sparse.csr_matrix((local.reshape(-1), (rows, columns)), shape=(count, count))

    def _part_curvature(self) -> None:
        """The jump of the pressure has the smooth part of kappa; ``rough`` is sigma A times the rest of it at the
        points, A being their areas, less what a closed surface would pull itself along by."""
        tension = self.tension
        order = np.argsort(tension.face)
        found = order[np.searchsorted(tension.face[order], self.face)]
        kappa, diagonal = tension.kappa[found], self.S.diagonal()
        smooth = kappa.copy()
        step = EVENING / np.where(diagonal > 0.0, diagonal, np.inf)
        for _ in range(PASSES):
            smooth -= step * (self.S @ smooth)
        smooth = self._one_by_cell(tension.liquid[found], tension.theta[found], smooth)
        tension.kappa[found] = smooth
        self.rough = self.sigma * self.area * (kappa - smooth)
        pull = self.rough[:, None] * self.normal
        open_part = self.domain.area_f.reshape(-1)[self.face] * self.grid.face_area
        pull[np.arange(len(found)), self.face // self._size] += self.sigma * open_part * tension.way[found] * smooth
        self.rough -= self.area * self._along_normals(self._sums(pull) * self._closed[:, None])

    def _one_by_cell(self, liquid: np.ndarray, theta: Array, kappa: Array) -> Array:
        """kappa (n,) with the same value at all crossings that are next to one liquid centre."""
        _, cell = np.unique(liquid, return_inverse=True)
        weight = 1.0 / np.maximum(theta, 1e-3)
        mean = np.bincount(cell, weight * kappa) / np.maximum(np.bincount(cell, weight), 1e-300)
        return np.asarray(mean[cell] + np.minimum(theta / CLOSE, 1.0) * (kappa - mean[cell]))

    def _find_pieces(self) -> None:
        """Connected pieces of the mesh, areas of points and pieces, and which of these close up."""
        at, corners, count = self.point[self.simplex], self.simplex.shape[1], len(self.point)
        if corners == 2:
            way = at[:, 1] - at[:, 0]
            vector = np.stack([way[:, 1], -way[:, 0], way[:, 2]], axis=1)
        else:
            vector = 0.5 * np.cross(at[:, 1] - at[:, 0], at[:, 2] - at[:, 0])
        area = np.linalg.norm(vector, axis=1)
        self.area = np.bincount(self.simplex.reshape(-1), np.repeat(area / corners, corners), minlength=count)
        tail, head = np.concatenate([self.simplex[:, [0, k]] for k in range(1, corners)]).T
        ties = sparse.csr_matrix((np.ones(len(tail)), (tail, head)), shape=(count, count))
        self._pieces, self._piece = connected_components(ties, directed=False)
        own = self._piece[self.simplex[:, 0]]
        total = np.stack([np.bincount(own, x, self._pieces) for x in vector.T], axis=1)
        self._closed = np.linalg.norm(total, axis=1) <= 1e-9 * np.bincount(own, area, self._pieces)

    def _sums(self, vector: Array) -> Array:
        """Sums (pieces, 3) of vectors (n, 3) over the points of each piece."""
        sums = [np.bincount(self._piece, x, self._pieces) for x in vector.T]
        return np.stack(sums, axis=1).astype(np.float64)

    def _along_normals(self, moment: Array) -> Array:
        """n.c (n,) with the vector c of each piece for which the sum of A n (n.c) is ``moment`` (pieces, 3)."""
        normal = self.normal[:, : self.grid.dimensions]
        size = normal.shape[1]
        gram = np.zeros((self._pieces, size, size))
        for i in range(size):
            for j in range(size):
                gram[:, i, j] = np.bincount(self._piece, self.area * normal[:, i] * normal[:, j], self._pieces)
        c = np.linalg.pinv(gram, rcond=1e-6, hermitian=True) @ moment[:, :size, None]
        return np.asarray((normal * c[self._piece, :, 0]).sum(axis=1))

    def add_rough(self, dt: float, u_f: Array) -> None:
        """u -= beta^-1 H^T dt sigma A of the part of kappa that changes from point to point."""
        if len(self.point):
            u_f.reshape(-1)[self._faces] -= dt * (self._light.T @ self.rough)

    def _divergence(self) -> None:
        """Cells (k,) at the faces of H, flat; K (k, faces) of them, and X = K beta^-1 H^T (k, n)."""
        flat, axis = self._faces % self._size, self._faces // self._size
        inside = np.zeros(self.grid.padded, dtype=bool)
        inside[self.grid.interior] = True
        area = self.domain.area_f.reshape(-1)[self._faces] * self.grid.face_area
        cell = np.concatenate([flat, flat - self._stride[axis]])
        value, face = np.concatenate([area, -area]), np.tile(np.arange(len(flat)), 2)
        own = inside.reshape(-1)[cell]
        self._cells, row = np.unique(cell[own], return_inverse=True)
        self._K = sparse.csr_matrix((value[own], (row, face[own])), shape=(len(self._cells), len(flat)))
        self._X = (self._K @ self._light.T).tocsr()

    def _factor(self) -> None:
        self._scaled = self.time_step**2 * self.S
        if len(self.point):
            self._solver = splu((sparse.identity(len(self.point)) + self._N @ self._scaled).tocsc())

    def _lighten(self) -> None:
        """Of the crossed faces, the part of 1 / beta that the rows leave to an impulse that all of them get: what the
        stencil of the pressure, and with it multigrid, is to know of the rows."""
        crossed = np.isin(self._faces, self.face)
        inside = self.phi_c.reshape(-1)[self._cells] <= 0.0
        given = (self._K.T @ inside.astype(float)) * crossed
        alone = self._inv_mass * given
        found = alone - self._light.T @ self._answer(self.H @ alone)
        size = np.where(np.abs(alone) > 0.0, alone, 1.0)
        part = np.where(np.abs(alone) > 0.0, np.clip(found / size, 0.0, 1.0), 1.0)
        self._lost = self._inv_mass * (1.0 - part)
        self._given_back = (self._K.multiply(self._lost[None, :]) @ self._K.T).tocsr()

    def lighten(self, stencil: Stencil) -> None:
        """The stencil of K beta^-1 K^T with the crossed faces as heavy as the rows make them."""
        if not len(self.point):
            return
        for axis in self.grid.axes:
            own = self._faces // self._size == axis
            upper = self._faces[own] % self._size
            lower = upper - self._stride[axis]
            area = self.domain.area_f.reshape(-1)[self._faces[own]] * self.grid.face_area
            change = area**2 * self._lost[own]
            face, dirichlet = stencil.face_f[axis].reshape(-1), stencil.dirichlet_c.reshape(-1)
            joined = face[upper] > 0.0
            face[upper[joined]] -= change[joined]
            phi = self.phi_c.reshape(-1)
            alone = np.where(phi[upper] <= 0.0, upper, lower)[~joined]
            has_row = dirichlet[alone] > 0.0
            np.subtract.at(dirichlet, alone[has_row], change[~joined][has_row])

    # a solve --------------------------------------------------------------------------------------------------------

    def set_time_step(self, dt: float) -> None:
        """Of the solves that follow [s]; before ``build``, or after it."""
        if dt != self.time_step:
            self.time_step = dt
            self._factor()

    def _answer(self, d: Array) -> Array:
        """R d"""
        return np.asarray(self._scaled @ self._solver.solve(d))

    def wanted(self, u_f: Array) -> Array:
        """u_n (n,) that the rows leave alone, by u* of the step before any impulse: n.U of the translation U of each
        piece of the mesh that is nearest to it."""
        if not len(self.point):
            return np.zeros(0)
        weighted = (self.area * self.of(u_f))[:, None] * self.normal
        return self._along_normals(self._sums(weighted))

    def of(self, u_f: Array) -> Array:
        """u_n (n,) [m/s] at the points."""
        if not len(self.point):
            return np.zeros(0)
        return np.asarray(self.H @ u_f.reshape(-1)[self._faces])

    def reduce(self, wanted: Array | float, u_f: Array) -> None:
        """u -= beta^-1 H^T R (H u - wanted): what it is with the rows, after impulses have acted by beta^-1."""
        if len(self.point):
            u_f.reshape(-1)[self._faces] -= self._light.T @ self._answer(self.of(u_f) - wanted)

    def add_answer(self, z_c: Array, is_liquid: Array, out_c: Array) -> None:
        """out += what the rows change of K B^-1 K^T z; is_liquid: 0.0 in cells without a row, empty: none."""
        if not len(self.point):
            return
        z = z_c.reshape(-1)[self._cells]
        found = self._X @ self._answer(self._X.T @ z) - self._given_back @ z
        if is_liquid.size:
            found *= is_liquid.reshape(-1)[self._cells]
        out_c.reshape(-1)[self._cells] -= found

    def return_impulse(self, z_c: Array, u_f: Array) -> None:
        """u += what the rows keep of -beta^-1 K^T z."""
        if len(self.point):
            given = self._answer(self._X.T @ z_c.reshape(-1)[self._cells])
            u_f.reshape(-1)[self._faces] += self._light.T @ given
