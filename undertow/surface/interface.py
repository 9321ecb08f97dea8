"""The interface in every cell: cut cells that close exactly, segments in 2D, triangles in 3D (Schroeder 2011, 6.3).

In each square whose corners have two signs (cells in 2D, faces of cells in 3D) straight lines join the crossings of its
edges. In 2D these are the segments of the interface. In 3D they bound, in each cell, polygons of the interface, which
are cut into triangles; both cells at a face have the same lines on it, so that the mesh has no holes. Where opposite
corners of a square have the same sign the sign in its middle, the mean of the cells about it, decides what is joined.

The coupling face of a cell has the area-weighted normal that closes its liquid part,

    n_i = - sum_f s_f A_f e_f,      A_f = liquid part of the face times its area,  s_f e_f = outward normal of the cell,

which is the sum of R (x_{k+1} - x_k) over its segments (6.3.5), or of the area vectors of its triangles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from undertow.grid import Array, Grid
from undertow.surface.crossings import CentreCrossings, EdgeCrossings

NO_AREA = 1e-14
"""Interfaces of less than this part of the face of a cell are none."""


class CutCells(NamedTuple):
    """Cells that the interface crosses, in order.

    cell (m,): flat index of the padded grid. area (m,) [m2; 2D m]: of the coupling face. normal (m, 3): of length 1,
    outward from the liquid. centre (m, 3) [m]: mean of the interface in the cell. fraction (m,): liquid part of the
    volume.
    """

    cell: np.ndarray
    area: Array
    normal: Array
    centre: Array
    fraction: Array


class Interface(NamedTuple):
    """The interface as simplices: point (n, 3) [m], simplex (m, 2) in 2D and (m, 3) in 3D, cell (m,) flat.

    Segments have the liquid on their left, triangles are wound so that their normals point out of it. Cells of one
    layer of ghosts are there too.
    """

    point: Array
    simplex: np.ndarray
    cell: np.ndarray

    def area_vectors(self) -> Array:
        """(m, 3) [m2; 2D m], out of the liquid; in 2D R (x_{k+1} - x_k), R = ((0, 1), (-1, 0))."""
        at = self.point[self.simplex]
        if self.simplex.shape[1] == 2:
            way = at[:, 1] - at[:, 0]
            return np.stack([way[:, 1], -way[:, 0], np.zeros(len(way))], axis=1)
        return np.asarray(0.5 * np.cross(at[:, 1] - at[:, 0], at[:, 2] - at[:, 0]))

    def centres(self) -> Array:
        """(m, 3) [m]"""
        return np.asarray(self.point[self.simplex].mean(axis=1))

    def area(self) -> float:
        """[m2; 2D m], with what lies in ghosts."""
        return float(np.linalg.norm(self.area_vectors(), axis=1).sum())


class _Squares(NamedTuple):
    """Squares normal to an axis, by their lower node: edge (n, 4) numbers of the edges round them, counterclockwise
    about the axis; leaves, enters (n, 4): whether that walk leaves or enters the liquid at an edge; to (n, 4): the edge
    at which the line from an edge that is left comes back."""

    node: np.ndarray
    edge: np.ndarray
    leaves: np.ndarray
    to: np.ndarray


class InterfaceFinder:
    """Interface and cut cells of level sets on one grid; scratch is kept from call to call.

    between_centres: the mesh has its points on the lines between cell centres, one on each face that the surface
    crosses (``fluid.crossed``), instead of on the edges of cells.
    """

    def __init__(self, grid: Grid, order: int = 4, between_centres: bool = False) -> None:
        self.grid = grid
        self.crossings = CentreCrossings(grid) if between_centres else EdgeCrossings(grid, order)
        self.size = grid.size

    def find(self, phi_c: Array) -> Interface:
        """The interface of phi [m], a distance near its zeros, negative in the liquid, ghosts filled."""
        return self.find_marked(phi_c)[0]

    def find_marked(self, phi_c: Array) -> tuple[Interface, np.ndarray]:
        """The same, and the edge (n,) of each point: axis times ``size`` plus the index of its lower node."""
        self.crossings.find(phi_c)
        if self.grid.dimensions == 2:
            links = self._segments(phi_c)
        else:
            links = self._triangles(phi_c)
        used, index = np.unique(links[0], return_inverse=True)
        point = np.zeros((len(used), 3))
        for axis in self.grid.axes:
            chosen = used // self.size == axis
            point[chosen] = self.crossings.points(axis, used[chosen] % self.size)
        return Interface(point, index.reshape(links[0].shape), links[1]), used

    def _squares(self, phi_c: Array, axis: int, node: np.ndarray) -> _Squares:
        """Those of the squares by ``node`` (n,) normal to an axis that the interface crosses."""
        first, second = (axis + 1) % 3, (axis + 2) % 3
        step = self.crossings.stride
        a, b = step[first], step[second]
        inside = self.crossings.inside_n.reshape(-1)
        corner = inside[node[:, None] + np.array([0, a, a + b, b])]
        crossed = corner.any(axis=1) & ~corner.all(axis=1)
        node, corner = node[crossed], corner[crossed]
        edge = np.stack([first * self.size + node, second * self.size + node + a,
                         first * self.size + node + b, second * self.size + node], axis=1)  # fmt: skip
        after = np.roll(corner, -1, axis=1)
        leaves, enters = corner & ~after, after & ~corner
        single = leaves.sum(axis=1) == 1
        to = np.where(single, enters.argmax(axis=1), 0)[:, None] * np.ones(4, dtype=np.int64)
        # two lines: round the corners outside if the middle is inside, else round those inside
        turn = np.where(self.crossings.middles(phi_c, node, axis) <= 0.0, 1, -1)
        to = np.where(single[:, None], to, (np.arange(4) + turn[:, None]) % 4)
        return _Squares(node, edge, leaves, to)

    def _segments(self, phi_c: Array) -> tuple[np.ndarray, np.ndarray]:
        """Edges (m, 2) that each segment joins, and its cell (m,)."""
        squares = self._squares(phi_c, 2, self.crossings.cell)
        row, start = np.nonzero(squares.leaves)
        ends = np.stack([squares.edge[row, start], squares.edge[row, squares.to[row, start]]], axis=1)
        return ends, squares.node[row]

    def _faces(self, axis: int) -> np.ndarray:
        """Faces normal to an axis of the cells near the surface."""
        cell = self.crossings.cell
        return np.unique(np.concatenate([cell, cell + self.crossings.stride[axis]]))

    def _triangles(self, phi_c: Array) -> tuple[np.ndarray, np.ndarray]:
        """Edges (m, 3) whose crossings are the corners of each triangle, and its cell (m,)."""
        cells, tails, heads = [], [], []
        near = np.zeros(self.size, dtype=bool)
        near[self.crossings.cell] = True
        for axis in self.grid.axes:
            squares = self._squares(phi_c, axis, self._faces(axis))
            row, start = np.nonzero(squares.leaves)
            left, back = squares.edge[row, start], squares.edge[row, squares.to[row, start]]
            node = squares.node[row]
            # seen from outside, the edge of the interface runs against the edge of the liquid part of the face
            for cell, tail, head in ((node - self.crossings.stride[axis], back, left), (node, left, back)):
                chosen = near[cell]
                cells.append(cell[chosen])
                tails.append(tail[chosen])
                heads.append(head[chosen])
        cell, tail, head = (np.concatenate(x) for x in (cells, tails, heads))
        order = np.lexsort((tail, cell))
        cell, tail, head = cell[order], tail[order], head[order]
        key = cell * (3 * self.size) + tail
        follows = np.searchsorted(key, cell * (3 * self.size) + head)
        first = np.arange(len(cell))
        ahead = follows
        # a polygon has at most twelve corners: its first one is the smallest of those that follow each other
        for _ in range(12):
            first = np.minimum(first, ahead)
            ahead = follows[ahead]
        fan = (first != np.arange(len(cell))) & (follows != first)
        return np.stack([tail[first], tail, head], axis=1)[fan], cell[fan]

    def open_faces(self, phi_c: Array, area_f: Array) -> None:
        """area_f (3, Z, Y, X): liquid part of every lower face after ``find``, 1 in the liquid and 0 outside."""
        area_f[...] = phi_c <= 0.0
        cross = self.crossings
        inside = cross.inside_n.reshape(-1)
        for axis in self.grid.axes:
            flat, face = area_f[axis].reshape(-1), self._faces(axis)
            if self.grid.dimensions == 2:
                along = 1 - axis
                step, theta = cross.stride[along], cross.theta_e[along].reshape(-1)[face]
                low, high = inside[face], inside[face + step]
                flat[face] = np.where(low == high, low, np.where(low, theta, 1.0 - theta))
                continue
            flat[face] = inside[face]
            squares = self._squares(phi_c, axis, face)
            flat[squares.node] = self._square_parts(squares, axis)
        if self.grid.dimensions == 2:
            area_f[2] = 0.0

    def _square_parts(self, squares: _Squares, axis: int) -> Array:
        """Liquid part (n,) of squares: half the turn of the place along its edge."""
        first, second = (axis + 1) % 3, (axis + 2) % 3
        cross = self.crossings
        theta = cross.theta_e.reshape(-1)[squares.edge]
        corner = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
        way = np.roll(corner, -1, axis=0) - corner
        along = theta * np.array([1.0, 1.0, -1.0, -1.0]) + np.array([0.0, 0.0, 1.0, 1.0])
        at = corner + along[:, :, None] * way
        a, b = cross.stride[first], cross.stride[second]
        inside = cross.inside_n.reshape(-1)[squares.node[:, None] + np.array([0, a, a + b, b])]
        after = np.roll(inside, -1, axis=1)
        length = np.where(inside & after, 1.0, np.where(inside, along, np.where(after, 1.0 - along, 0.0)))
        turn = corner[:, 0] * way[:, 1] - corner[:, 1] * way[:, 0]
        total = length @ turn
        row, start = np.nonzero(squares.leaves)
        p, q = at[row, start], at[row, squares.to[row, start]]
        total += np.bincount(row, p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0], minlength=len(total))
        return np.asarray(np.clip(0.5 * total, 0.0, 1.0))

    def cut_cells(self, interface: Interface, area_f: Array) -> CutCells:
        """The cells of an interface that was just found, with the open faces of it; ghosts are left out."""
        grid, stride = self.grid, self.crossings.stride
        in_domain = np.zeros(grid.padded, dtype=bool)
        in_domain[grid.interior] = True
        own = in_domain.reshape(-1)[interface.cell]
        cell, index = np.unique(interface.cell[own], return_inverse=True)
        closing, sum_f = np.zeros((len(cell), 3)), np.zeros(len(cell))
        for axis in grid.axes:
            flat = area_f[axis].reshape(-1)
            low, high = flat[cell], flat[cell + stride[axis]]
            closing[:, axis] = (low - high) * grid.face_area
            sum_f += low + high
        vector, middle = interface.area_vectors()[own], interface.centres()[own]
        size = np.linalg.norm(vector, axis=1)
        total = np.maximum(np.bincount(index, size, minlength=len(cell)), 1e-300)
        own_centre = grid.position(grid.index(cell))
        own_centre[:, grid.dimensions :] = 0.0
        moment = np.einsum("ij,ij->i", vector, middle - own_centre[index])
        centre = np.stack([np.bincount(index, size * m, minlength=len(cell)) for m in middle.T], axis=1)
        flux = 0.5 * grid.dx * grid.face_area * sum_f + np.bincount(index, moment, minlength=len(cell))
        fraction = np.clip(flux / (grid.dimensions * grid.cell_volume), 0.0, 1.0)
        area = np.linalg.norm(closing, axis=1)
        there = area > NO_AREA * grid.face_area
        area, closing = area[there], closing[there]
        centre = centre[there] / total[there, None]
        return CutCells(cell[there], area, closing / area[:, None], centre, fraction[there])


def cut_cells(phi_c: Array, grid: Grid, area_f: Array | None = None, order: int = 4) -> tuple[CutCells, Array]:
    """Cut cells of phi [m], a distance near its zeros, ghosts filled, and the liquid parts of all lower faces.

    area_f (3, Z, Y, X): room for these, made anew when absent. In every cell the liquid areas of the faces, with the
    outward normals of the cell, and area times normal add up to 0. order: of the crossings, 3 or 4.
    """
    finder = InterfaceFinder(grid, order)
    area_f = grid.face_field() if area_f is None else area_f
    interface = finder.find(phi_c)
    finder.open_faces(phi_c, area_f)
    return finder.cut_cells(interface, area_f), area_f
