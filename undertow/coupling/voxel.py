"""Voxel faces: where thin shells and fluid meet (thesis 5.4.1 [@schroeder2011], Robinson-Mosher et al. 2008).

A face is coupled when the line between the two cell centres it lies between crosses a surface. Its fluid then moves
with the surface, u_f = (J v)_f, with the weights of the parts of the surface inside the face's dual cell,

    J_fp = sum over pieces |s| w_p / sum over pieces |s|,

w_p at the middle of each piece (``geometry.pieces`` on the grid of dual cells), so that rows sum to one and a velocity
linear over an element is reproduced. The coupling impulses are eliminated: coupled faces are closed for the fluid,
their mass beta = rho V belongs to the nodes, M + J^T beta J, and their flux A (J v)_f to the rows of the two cells.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from undertow.geometry.pieces import SurfacePieces, SurfaceSpec, cell_range, clip_elements, make_pieces, set_element
from undertow.grid import GHOSTS, Array, Grid, padded


class CrossingSpec(NamedTuple):
    """Crossings of elements with the lines between cell centres."""

    face: np.ndarray  # (r,) flat index of the padded face field
    element: np.ndarray  # (r,)
    weight: np.ndarray  # (r, 3) of the nodes of the element; sums to one


class DualPieces(NamedTuple):
    """Parts of elements in the dual cells of faces, coupled or not."""

    face: np.ndarray  # (k,) flat index of the padded face field
    element: np.ndarray  # (k,)
    weight: np.ndarray  # (k, 3) of the nodes of the element at the middle; sums to one
    area: np.ndarray  # (k,) of the area vector, along the axis of the face [m2; 2D m]


def _make_crossings(room: int) -> CrossingSpec:
    return CrossingSpec(np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros((room, 3)))


class VoxelFaces:
    """The faces that shells couple, and the rows J of them: face (r,) flat, wall (r, 3 n) sparse.

    equal: every node of a triangle has the same weight in its parts, as in Robinson-Mosher et al. 2008 (13); else that
    of the middle of each part, which reproduces linear velocities.
    """

    def __init__(self, grid: Grid, nodes: int, equal: bool = False) -> None:
        self.grid, self.nodes, self.equal = grid, nodes, equal
        self.face = np.zeros(0, np.int64)
        self.wall: Any = None
        self.pieces = DualPieces(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros(0))
        self._crossings = _make_crossings(0)
        self._pieces = [SurfacePieces(grid) for _ in range(3)]

    def find(self, surface: SurfaceSpec, free_f: np.ndarray) -> None:
        """For a surface where it is now; free_f (3, Z, Y, X): faces that are not prescribed and can be coupled."""
        import scipy.sparse as sparse

        crossing = self._cross(self.grid.spec, surface)
        used = free_f.reshape(-1)[crossing.face] > 0
        self.face = np.unique(crossing.face[used])
        cells = self.grid.size
        found = [self._cut(axis, surface) for axis in self.grid.axes]
        axes = np.repeat(self.grid.axes, [len(one.cell) for one in found])
        cell, own_element, own_weight = (
            np.concatenate([getattr(one, name) for one in found]) for name in ("cell", "element", "weight")
        )
        size = np.concatenate([np.linalg.norm(one.area, axis=1) for one in found])
        area = np.concatenate([one.area[:, axis] for axis, one in zip(self.grid.axes, found, strict=True)])
        usable = free_f.reshape(-1)[cell + axes * cells] > 0
        self.pieces = DualPieces(*(x[usable] for x in (cell + axes * cells, own_element, own_weight, area)))
        # a line that only touches a rim may have no piece in its dual cell: the crossing itself counts then
        face = np.concatenate([crossing.face[used], cell + axes * cells])
        element = np.concatenate([crossing.element[used], own_element])
        weight = np.concatenate([crossing.weight[used], own_weight])
        size = np.concatenate([np.full(int(used.sum()), 1e-12 * self.grid.face_area), size])
        place = self.find_rows(face)
        own = place >= 0
        place, size, face, element, weight = (x[own] for x in (place, size, face, element, weight))
        part = size / np.bincount(place, size, len(self.face))[place]
        corners = surface.element.shape[1]
        nodes = surface.element[element % max(len(surface.element), 1)]
        value = part[:, None] * (1.0 / corners if self.equal else weight[:, :corners])
        value = np.broadcast_to(value, nodes.shape)
        rows = np.broadcast_to(place[:, None], nodes.shape)
        columns = 3 * nodes + (face // cells)[:, None]
        shape = (len(self.face), 3 * self.nodes)
        self.wall = sparse.csr_matrix((value.reshape(-1), (rows.reshape(-1), columns.reshape(-1))), shape=shape)

    def find_rows(self, face: np.ndarray) -> np.ndarray:
        """Rows (k,) of faces (k,), -1 of those that are not coupled."""
        if not len(self.face):
            return np.full(len(face), -1, np.int64)
        place = np.minimum(np.searchsorted(self.face, face), len(self.face) - 1)
        return np.where(self.face[place] == face, place, -1)

    def _cross(self, spec: Any, surface: SurfaceSpec) -> CrossingSpec:
        """Crossings with the lines between centres of the cells of ``spec``."""
        while True:
            size = int(_find_crossings(spec, surface, self._crossings))
            if size <= len(self._crossings.face):
                return CrossingSpec(*(array[:size] for array in self._crossings))
            self._crossings = _make_crossings(2 * size)

    def cross_planes(self, axis: int, surface: SurfaceSpec) -> CrossingSpec:
        """Crossings with the lines between centres of the faces across an axis; faces are those of their dual cells."""
        return self._cross(self._dual(axis), surface)

    def _dual(self, axis: int) -> Any:
        """The grid of the dual cells of the faces across an axis."""
        spec = self.grid.spec
        half = 0.5 * spec.dx
        return (
            spec._replace(x0=spec.x0 - half), spec._replace(y0=spec.y0 - half), spec._replace(z0=spec.z0 - half)
        )[axis]  # fmt: skip

    def _cut(self, axis: int, surface: SurfaceSpec) -> Any:
        """Pieces of the surface in the dual cells of the faces along an axis."""
        pieces, spec = self._pieces[axis], self._dual(axis)
        while True:
            pieces.size = int(clip_elements(spec, surface, pieces.spec))
            if pieces.size <= len(pieces.spec.cell):
                return pieces.arrays()
            pieces.spec = make_pieces(2 * pieces.size)

    def sides(self, periodic: tuple[bool, bool, bool], face: np.ndarray | None = None) -> tuple[Any, Any]:
        """Flat indices of the cells below and above faces (k,); None: every coupled face."""
        face = self.face if face is None else face
        axis, upper = self.grid.split(face)
        stride = self.grid.stride[axis]
        index = self.grid.index(upper)[np.arange(len(axis)), axis]
        turns = (index == GHOSTS) & np.array(periodic)[axis]
        lower = upper - np.where(turns, (1 - np.array(self.grid.cells)[axis]) * stride, stride)
        return lower, upper

    def flux(self, opening: Array, periodic: tuple[bool, bool, bool]) -> Any:
        """Rows of the cells on both sides (cells, 3 n) [m2; 2D m] of coupled faces, open by ``opening`` (r,)."""
        import scipy.sparse as sparse

        return self.pass_through(self.face, sparse.diags(opening) @ self.wall, periodic)

    def pass_through(self, face: np.ndarray, rows: Any, periodic: tuple[bool, bool, bool]) -> Any:
        """Rows of cells (cells, 3 n) [m2; 2D m]: what crosses faces (k,), by rows (k, 3 n), leaves the lower cell and
        enters the upper one."""
        import scipy.sparse as sparse

        lower, upper = self.sides(periodic, face)
        area = np.full(len(face), self.grid.face_area)
        at, number = np.concatenate([lower, upper]), np.concatenate([np.arange(len(face))] * 2)
        shape = (self.grid.size, len(face))
        both = sparse.csr_matrix((np.concatenate([area, -area]), (at, number)), shape=shape)
        return (both @ rows).tocsr()


@njit(cache=True)
def _find_crossings(spec, surface, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` as far as it has room and return how many crossings there are; edges of elements count as inside."""
    found = 0
    room = len(out.face)
    p = np.zeros((4, 6))
    m, kind = len(surface.element), surface.element.shape[1]
    nx, ny, nz = padded(spec)
    w = np.zeros(3)
    slack = 1e-12
    for image in range(len(surface.shift)):
        for e in range(m):
            corners = set_element(spec, surface, image, e, p)
            for axis in range(spec.dimensions):
                b, c = (axis + 1) % 3, (axis + 2) % 3
                if kind == 2:
                    # the other axis of the plane
                    b, c = 1 - axis, 2
                low_b, high_b, low_c, high_c = p[0, b], p[0, b], p[0, c], p[0, c]
                for a in range(1, corners):
                    low_b, high_b = min(low_b, p[a, b]), max(high_b, p[a, b])
                    low_c, high_c = min(low_c, p[a, c]), max(high_c, p[a, c])
                b0, b1, b_last, b_origin = cell_range(spec, b, low_b, high_b)
                c0, c1, c_last, c_origin = cell_range(spec, c, low_c, high_c)
                if kind == 2:
                    c0, c1 = GHOSTS, GHOSTS
                _, _, last, origin = cell_range(spec, axis, low_b, high_b)
                for ib in range(b0, b1 + 1):
                    y = b_origin + (ib - GHOSTS + 0.5) * spec.dx
                    for ic in range(c0, c1 + 1):
                        z = c_origin + (ic - GHOSTS + 0.5) * spec.dx
                        if kind == 2:
                            span = p[1, b] - p[0, b]
                            if span == 0.0:
                                continue
                            t = (y - p[0, b]) / span
                            if t < -slack or t > 1.0 + slack:
                                continue
                            w[0], w[1], w[2] = 1.0 - t, t, 0.0
                        else:
                            whole = (p[1, b] - p[0, b]) * (p[2, c] - p[0, c])
                            whole -= (p[1, c] - p[0, c]) * (p[2, b] - p[0, b])
                            if whole == 0.0:
                                continue
                            for a in range(3):
                                q, r = (a + 1) % 3, (a + 2) % 3
                                # the same two ends in the same order for both triangles of an edge: no gap between them
                                w[a] = ((p[q, b] - y) * (p[r, c] - z) - (p[q, c] - z) * (p[r, b] - y)) / whole
                            if w[0] < -slack or w[1] < -slack or w[2] < -slack:
                                continue
                        s = w[0] * p[0, axis] + w[1] * p[1, axis] + w[2] * p[2, axis]
                        # face i lies between the centres of cells i - 1 and i
                        at = int(np.floor((s - origin) / spec.dx + 0.5)) + GHOSTS
                        if at < 1 or at > last:
                            continue
                        if found < room:
                            k = at if axis == 2 else (ic if c == 2 else ib)
                            j = at if axis == 1 else (ib if b == 1 else ic)
                            i = at if axis == 0 else (ib if b == 0 else ic)
                            out.face[found] = ((axis * nz + k) * ny + j) * nx + i
                            out.element[found] = image * m + e
                            total = w[0] + w[1] + w[2]
                            for a in range(3):
                                out.weight[found, a] = w[a] / total
                        found += 1
    return found
