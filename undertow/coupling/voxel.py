"""Voxel faces: where thin shells and fluid meet (thesis 5.4.1 [@schroeder2011], Robinson-Mosher et al. 2008).

A face is coupled when the line between the two cell centres it lies between crosses a surface. Its fluid then moves
with the surface, u_f = (J v)_f, with the weights of the parts of the surface inside the face's dual cell,

    J_fp = sum over pieces |s| w_p / sum over pieces |s|,

w_p at the middle of each piece (``coupling.pieces`` on the grid of dual cells), so that rows sum to one and a velocity
linear over an element is reproduced. The coupling impulses are eliminated: coupled faces are closed for the fluid,
their mass beta = rho V belongs to the nodes, M + J^T beta J, and their flux A (J v)_f to the rows of the two cells.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from undertow.coupling.pieces import SurfacePieces, SurfaceSpec, _cell_range, _clip_elements, make_pieces, set_element
from undertow.grid import GHOSTS, Array, Grid


class CrossingSpec(NamedTuple):
    """Crossings of elements with the lines between cell centres."""

    face: np.ndarray  # (r,) flat index of the padded face field
    element: np.ndarray  # (r,)
    weight: np.ndarray  # (r, 3) of the nodes of the element; sums to one


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
        self._crossings = _make_crossings(0)
        self._pieces = [SurfacePieces(grid) for _ in range(3)]

    def find(self, surface: SurfaceSpec, free_f: np.ndarray) -> None:
        """For a surface where it is now; free_f (3, Z, Y, X): faces that are not prescribed and can be coupled."""
        import scipy.sparse as sparse

        spec = self.grid.spec
        while True:
            size = int(_find_crossings(spec, surface, self._crossings))
            if size <= len(self._crossings.face):
                break
            self._crossings = _make_crossings(2 * size)
        crossing = CrossingSpec(*(array[:size] for array in self._crossings))
        used = free_f.reshape(-1)[crossing.face] > 0
        self.face = np.unique(crossing.face[used])
        # a line that only touches a rim may have no piece in its dual cell: the crossing itself counts then
        face, element, weight = [crossing.face[used]], [crossing.element[used]], [crossing.weight[used]]
        size_of = [np.full(int(used.sum()), 1e-12 * self.grid.face_area)]
        cells = int(np.prod(self.grid.padded))
        for axis in self.grid.axes:
            found = self._cut(axis, surface)
            face.append(found.cell + axis * cells)
            element.append(found.element)
            weight.append(found.weight)
            size_of.append(np.linalg.norm(found.area, axis=1))
        place = np.searchsorted(self.face, np.concatenate(face))
        place = np.minimum(place, max(len(self.face) - 1, 0))
        own = self.face[place] == np.concatenate(face) if len(self.face) else np.zeros(len(place), dtype=bool)
        size_all = np.concatenate(size_of)[own]
        total = np.bincount(place[own], size_all, len(self.face))
        part = size_all / total[place[own]] if len(self.face) else size_all
        corners = surface.element.shape[1]
        nodes = surface.element[np.concatenate(element)[own] % max(len(surface.element), 1)]
        value = part[:, None] * (1.0 / corners if self.equal else np.concatenate(weight)[own][:, :corners])
        value = np.broadcast_to(value, nodes.shape)
        rows = np.broadcast_to(place[own][:, None], nodes.shape)
        columns = 3 * nodes + (np.concatenate(face)[own] // cells)[:, None]
        shape = (len(self.face), 3 * self.nodes)
        self.wall = sparse.csr_matrix((value.reshape(-1), (rows.reshape(-1), columns.reshape(-1))), shape=shape)

    def _cut(self, axis: int, surface: SurfaceSpec) -> Any:
        """Pieces of the surface in the dual cells of the faces along an axis."""
        pieces, spec = self._pieces[axis], self.grid.spec
        half = 0.5 * spec.dx
        moved = (spec._replace(x0=spec.x0 - half), spec._replace(y0=spec.y0 - half), spec._replace(z0=spec.z0 - half))
        while True:
            pieces.size = int(_clip_elements(moved[axis], surface, pieces.spec))
            if pieces.size <= len(pieces.spec.cell):
                return pieces.arrays()
            pieces.spec = make_pieces(2 * pieces.size)

    def sides(self, periodic: tuple[bool, bool, bool]) -> tuple[Any, Any]:
        """Flat indices of the cells below and above every coupled face."""
        padded = self.grid.padded
        cells = int(np.prod(padded))
        axis, upper = self.face // cells, self.face % cells
        stride = np.array([1, padded[2], padded[1] * padded[2]])[axis]
        index = np.stack(np.unravel_index(upper, padded))[2 - axis, np.arange(len(axis))]
        turns = (index == GHOSTS) & np.array(periodic)[axis]
        lower = upper - np.where(turns, (1 - np.array(self.grid.cells)[axis]) * stride, stride)
        return lower, upper

    def flux(self, opening: Array, periodic: tuple[bool, bool, bool]) -> Any:
        """Rows of the cells on both sides (cells, 3 n) [m2; 2D m]: what crosses coupled faces, open by ``opening``
        (r,), leaves the lower cell and enters the upper one."""
        import scipy.sparse as sparse

        lower, upper = self.sides(periodic)
        area = self.grid.face_area * opening
        rows = np.concatenate([lower, upper])
        columns = np.concatenate([np.arange(len(self.face))] * 2)
        shape = (int(np.prod(self.grid.padded)), len(self.face))
        both = sparse.csr_matrix((np.concatenate([area, -area]), (rows, columns)), shape=shape)
        return (both @ self.wall).tocsr()


@njit(cache=True)
def _find_crossings(spec, surface, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` as far as it has room and return how many crossings there are; edges of elements count as inside."""
    found = 0
    room = len(out.face)
    p = np.zeros((4, 6))
    m, kind = len(surface.element), surface.element.shape[1]
    nz, ny, nx = spec.nz + 2 * GHOSTS, spec.ny + 2 * GHOSTS, spec.nx + 2 * GHOSTS
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
                b0, b1, b_last, b_origin = _cell_range(spec, b, low_b, high_b)
                c0, c1, c_last, c_origin = _cell_range(spec, c, low_c, high_c)
                if kind == 2:
                    c0, c1 = GHOSTS, GHOSTS
                _, _, last, origin = _cell_range(spec, axis, low_b, high_b)
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
