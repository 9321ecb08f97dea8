"""Coarse levels of the multigrid where thin walls divide cells: one unknown per block and connected part of it.

The structured levels join the cells of a 2 x 2 x 2 block into one coarse cell, a wall one face thick inside it or not;
the coarse problem then leaks through the wall and the cycle converges badly. Here the cells of a block that are not
connected through open faces inside the block become unknowns of their own, so that no aggregate lies on both sides of a
closed face. Unknowns know the cell (x, y, z) they lie in and edges the axis they run along, hence coefficients,
interpolation and smoothing are those of ``linalg/multigrid.py``:

    coarse edge = half the sum of the fine edges between two aggregates,
    e_child     = E + sum over the axes of the mean over the neighbours N on the child's side of w_N (E_N - E),

smoothing by one Gauss-Seidel sweep forwards before and one backwards after. Levels are compressed sparse rows, built
with NumPy and SciPy when the geometry changes; only geometries with thin walls come here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from undertow.grid import GHOSTS, Array, Grid


@dataclass
class _Graph:
    """A level: place (n, 3) cell coordinates x, y, z; edges from low to high along axis with coefficient a; d (n,)."""

    cells: tuple[int, int, int]
    place: np.ndarray
    low: np.ndarray
    high: np.ndarray
    axis: np.ndarray
    a: Array
    d: Array

    @property
    def size(self) -> int:
        return len(self.place)

    def diagonal(self) -> Array:
        ends = np.bincount(self.low, self.a, self.size) + np.bincount(self.high, self.a, self.size)
        return np.asarray(ends + self.d)


def read_graph(
    grid: Grid, periodic: tuple[bool, bool, bool], face: np.ndarray, inverse: np.ndarray, dirichlet: Array
) -> tuple[_Graph, np.ndarray]:
    """A structured level as a graph, and the flat indices of its active cells in the order of the unknowns."""
    ids = np.flatnonzero(inverse.reshape(-1) > 0)
    ids = ids[_are_inside(grid, ids)]
    number = np.full(inverse.size, -1, dtype=np.int64)
    number[ids] = np.arange(ids.size)
    k, j, i = np.unravel_index(ids, grid.padded)
    place = np.stack([i, j, k], axis=1) - GHOSTS
    low, high, axes, a = [], [], [], []
    for axis, stride in zip(range(3), (1, grid.padded[2], grid.padded[1] * grid.padded[2]), strict=True):
        value = face[axis].reshape(-1)[ids]
        at = place[:, axis]
        first = at == 0
        before = np.where(first, ids + (grid.cells[axis] - 1) * stride, ids - stride)
        keep = (value > 0) & (~first | (periodic[axis] and grid.cells[axis] > 1))
        low.append(number[before[keep]])
        high.append(number[ids[keep]])
        axes.append(np.full(int(keep.sum()), axis))
        a.append(value[keep].astype(float))
    edges = np.concatenate(low), np.concatenate(high), np.concatenate(axes), np.concatenate(a)
    return _Graph(grid.cells, place, *edges, dirichlet.reshape(-1)[ids]), ids


def _are_inside(grid: Grid, ids: np.ndarray) -> np.ndarray:
    place = np.unravel_index(ids, grid.padded)
    inside = [(p >= GHOSTS) & (p < GHOSTS + n) for p, n in zip(place, grid.cells[::-1], strict=True)]
    return np.asarray(inside[0] & inside[1] & inside[2])


def join_blocks(fine: _Graph) -> tuple[_Graph, np.ndarray]:
    """The next coarser graph and the number of the aggregate of every fine unknown."""
    from scipy.sparse import coo_array, csgraph

    nx, ny, nz = fine.cells
    cells = ((nx + 1) // 2, (ny + 1) // 2, (nz + 1) // 2)
    place = fine.place // 2
    inside = np.all(place[fine.low] == place[fine.high], axis=1)
    shape = (fine.size, fine.size)
    links = coo_array((np.ones(int(inside.sum())), (fine.low[inside], fine.high[inside])), shape=shape)
    count, parent = csgraph.connected_components(links, directed=False)
    low, high, axis = parent[fine.low], parent[fine.high], fine.axis
    outside = low != high
    key, first, edge = np.unique(
        (low[outside].astype(np.int64) * count + high[outside]) * 3 + axis[outside], return_index=True,
        return_inverse=True,
    )  # fmt: skip
    halved = np.array([2.0 if n > 1 else 1.0 for n in fine.cells])
    a = np.bincount(edge, fine.a[outside], key.size) / halved[axis[outside][first]]
    coarse_place = np.zeros((count, 3), dtype=np.int64)
    coarse_place[parent] = place
    coarse = _Graph(
        cells, coarse_place, low[outside][first], high[outside][first], axis[outside][first], a,
        np.asarray(np.bincount(parent, fine.d, count), dtype=float),
    )  # fmt: skip
    return coarse, parent


def interpolate(fine: _Graph, coarse: _Graph, parent: np.ndarray, openness: float) -> Any:
    """The prolongation (fine, coarse) as a sparse matrix; w of ``Multigrid`` with ``openness`` its _OPENNESS."""
    from scipy.sparse import csr_array, diags_array

    diagonal = coarse.diagonal()
    inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
    injection = csr_array((np.ones(fine.size), (np.arange(fine.size), parent)), shape=(fine.size, coarse.size))
    result = injection
    smaller = np.minimum(inverse[coarse.low], inverse[coarse.high])
    for axis in range(3):
        along = coarse.axis == axis
        if fine.cells[axis] == 1 or not along.any():
            continue
        low, high, a, least = coarse.low[along], coarse.high[along], coarse.a[along], smaller[along]
        for up in (0, 1):
            here, there = (low, high) if up else (high, low)
            total = np.bincount(here, a, coarse.size)
            w = 0.25 * np.minimum(1.0, openness * total[here] * least) * a / total[here]
            towards = csr_array((w, (here, there)), shape=(coarse.size, coarse.size))
            towards = towards - diags_array(np.bincount(here, w, coarse.size))
            child = ((fine.place[:, axis] & 1) == up).astype(float)
            result = result + diags_array(child) @ injection @ towards
    return csr_array(result)


@njit(cache=True)
def _sweep_graph(start, index, value, inverse, r, backwards, x):  # type: ignore[no-untyped-def]
    """Gauss-Seidel over all unknowns: x_c = (r_c + sum a x_n) / diagonal."""
    n = inverse.size
    for m in range(n):
        c = n - 1 - m if backwards else m
        total = r[c]
        for q in range(start[c], start[c + 1]):
            total += value[q] * x[index[q]]
        x[c] = inverse[c] * total


class _GraphLevel:
    """Coefficients, vectors and the way up of one level."""

    def __init__(self, graph: _Graph) -> None:
        from scipy.sparse import csr_array

        both = np.concatenate([graph.low, graph.high]), np.concatenate([graph.high, graph.low])
        matrix = csr_array((np.concatenate([graph.a, graph.a]), both), shape=(graph.size, graph.size))
        self.start, self.index = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
        self.links = matrix
        self.diagonal = graph.diagonal()
        self.inverse = np.divide(1.0, self.diagonal, out=np.zeros(graph.size), where=self.diagonal > 0)
        self.x = np.zeros(graph.size)
        self.prolong: Any = None
        self.restrict: Any = None

    def sweep(self, r: Array, backwards: bool) -> None:
        _sweep_graph(self.start, self.index, self.links.data, self.inverse, r, backwards, self.x)


class GraphCycle:
    """The V-cycle from the parents of one structured level downwards.

    red: flat indices of the level's red cells; the structured smoother hands over its residual there and takes the
    correction there, as it does from a structured level.
    """

    def __init__(
        self,
        grid: Grid,
        periodic: tuple[bool, bool, bool],
        face: np.ndarray,
        inverse: np.ndarray,
        dirichlet: Array,
        openness: float,
    ) -> None:
        fine, ids = read_graph(grid, periodic, face, inverse, dirichlet)
        red = (fine.place.sum(axis=1) & 1) == 0
        self.red = ids[red]
        self.levels: list[_GraphLevel] = []
        while True:
            coarse, parent = join_blocks(fine)
            prolong = interpolate(fine, coarse, parent, openness)
            if self.levels:
                self.levels[-1].prolong = prolong
                self.levels[-1].restrict = prolong.T.tocsr()
            else:
                self.prolong = prolong[np.flatnonzero(red)]
                self.restrict = self.prolong.T.tocsr()
            self.levels.append(_GraphLevel(coarse))
            if coarse.low.size == 0:
                return
            fine = coarse

    def correct(self, t: Array) -> Array:
        """The correction at the red cells for the residual ``t`` there."""
        return np.asarray(self.prolong @ self._cycle(0, self.restrict @ t))

    def _cycle(self, index: int, r: Array) -> Array:
        level = self.levels[index]
        if index == len(self.levels) - 1:
            np.multiply(level.inverse, r, out=level.x)
            return level.x
        level.x[...] = 0.0
        level.sweep(r, False)
        residual = r - level.diagonal * level.x + level.links @ level.x
        level.x += level.prolong @ self._cycle(index + 1, level.restrict @ residual)
        level.sweep(r, True)
        return level.x
