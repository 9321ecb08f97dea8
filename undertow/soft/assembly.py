"""Sums over elements: forces on nodes, and the stiffness as a sparse matrix or as the rows of its factor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

from undertow.grid import Array, share
from undertow.soft.simplices import MODES, Simplices, _add_simplex_blocks, _add_simplex_forces, _factor_simplices
from undertow.soft.spread import Pattern, by_lowest_node
from undertow.soft.springs import (
    BEND,
    SPRING_MODES,
    Springs,
    _add_spring_blocks,
    _add_spring_forces,
    _factor_springs,
    _measure_turns,
)

Group = Simplices | Springs


@njit(cache=True, nogil=True)
def _multiply_blocks(starts, columns, blocks, x, out, start, stop):  # type: ignore[no-untyped-def]
    """out += A x for 3x3 blocks by rows."""
    for i in range(start, stop):
        a, b, c = 0.0, 0.0, 0.0
        for p in range(starts[i], starts[i + 1]):
            j = columns[p]
            u, v, w = x[j, 0], x[j, 1], x[j, 2]
            a += blocks[p, 0] * u + blocks[p, 1] * v + blocks[p, 2] * w
            b += blocks[p, 3] * u + blocks[p, 4] * v + blocks[p, 5] * w
            c += blocks[p, 6] * u + blocks[p, 7] * v + blocks[p, 8] * w
        out[i, 0] += a
        out[i, 1] += b
        out[i, 2] += c


class Forces:
    """The elements of all soft bodies on n nodes, their forces and their stiffness as a sparse matrix of 3x3 blocks."""

    def __init__(self, groups: Sequence[Group], count: int) -> None:
        self.groups = _merge(groups)
        self.count = count
        self.pattern = Pattern([group.nodes for group in self.groups], count)
        self._energies = [np.zeros(len(group.nodes)) for group in self.groups]
        self.modes: list[Array] = []
        self.values: list[Array] = []

    def begin_step(self, x: Array) -> None:
        """Count the angles of bending from those at x (n, 3) from now on, within pi of 0."""
        for group in self._bends():
            group.turn[...] = 0.0
        self.follow(x)

    def follow(self, x: Array) -> None:
        """Count the angles of bending from those at x (n, 3): on a way in small parts they do not jump where a fold
        turns over by pi, nor does its energy."""
        for group in self._bends():
            angle = np.zeros_like(group.turn)
            share(_measure_turns, len(group.nodes), 64 * len(group.nodes), group, x, angle)
            group.turn[...] = angle + 2 * np.pi * np.floor(0.5 + (group.turn - angle) / (2 * np.pi))

    def _bends(self) -> list[Springs]:
        return [group for group in self.groups if isinstance(group, Springs) and group.kind[0] == BEND]

    def measure(self, x: Array, out: Array) -> float:
        """Elastic energy [J] at x (n, 3) [m]; out (n, 3) its force -dE/dx [N]."""
        out[...] = 0.0
        for group, spread, energy in zip(self.groups, self.pattern.spreads, self._energies, strict=True):
            kernel = _add_simplex_forces if isinstance(group, Simplices) else _add_spring_forces
            share(kernel, self.count, 64 * len(group.nodes), group, spread, x, energy, out)
        return float(sum(energy.sum() for energy in self._energies))

    def make_matrix(self) -> Array:
        """Zeros for ``assemble`` (blocks, 9)."""
        return np.zeros((len(self.pattern.columns), 9))

    def assemble(
        self, x: Array, elastic: float, damping: float, out: Array, project: bool = True, bounded: bool = False
    ) -> None:
        """out (blocks, 9): elastic K + damping (-D) at x (n, 3), K without negative values if ``project``.

        bounded: neo-Hookean tetrahedra may lose them by less prestress (``soft/neo_hookean.py``), bends and altitudes
        by k grad c grad c^T alone, for Newton's method.
        """
        out[...] = 0.0
        for group, spread in zip(self.groups, self.pattern.spreads, strict=True):
            kernel = _add_simplex_blocks if isinstance(group, Simplices) else _add_spring_blocks
            args = group, spread, x, float(elastic), float(damping), bool(project), bool(bounded)
            share(kernel, self.count, 256 * len(group.nodes), *args, out)

    def add_product(self, blocks: Array, x: Array, out: Array) -> None:
        """out (n, 3) += A x for the matrix ``blocks`` of ``assemble``."""
        pattern = self.pattern
        share(_multiply_blocks, self.count, blocks.size, pattern.rows, pattern.columns, blocks, x, out)

    def sparse_matrix(self, blocks: Array) -> Any:
        """The matrix of ``assemble`` as a SciPy matrix (3 n, 3 n) by rows."""
        import scipy.sparse as sparse

        shape = (3 * self.count, 3 * self.count)
        places = self.pattern.columns, self.pattern.rows
        return sparse.bsr_matrix((blocks.reshape(-1, 3, 3), *places), shape=shape).tocsr()

    # the factor, one row per mode -------------------------------------------------------------------------------------

    def factor(self, x: Array, elastic: float, damping: float) -> None:
        """Modes and values with elastic K+ + damping (-D) = sum of value mode mode^T; see the kernels."""
        if not self.modes:
            for group in self.groups:
                rows = int((MODES if isinstance(group, Simplices) else SPRING_MODES)[int(group.kind[0])])
                m, k = group.nodes.shape
                self.modes.append(np.zeros((m, rows, k, 3)))
                self.values.append(np.zeros((m, rows)))
        for group, modes, values in zip(self.groups, self.modes, self.values, strict=True):
            kernel = _factor_simplices if isinstance(group, Simplices) else _factor_springs
            m = len(group.nodes)
            share(kernel, m, 256 * m, group, x, float(elastic), float(damping), modes, values)

    def apply_rows(self, w: Array, out: Array) -> None:
        """out = C w, C^T C being the matrix of the factor of now: one number per mode."""
        start = 0
        for group, modes, values in zip(self.groups, self.modes, self.values, strict=True):
            stop = start + values.size
            product = np.einsum("erai,eai->er", modes, w[group.nodes])
            out[start:stop] = (np.sqrt(np.maximum(values, 0.0)) * product).reshape(-1)
            start = stop

    def add_rows_transposed(self, z: Array, out: Array) -> None:
        """out (n, 3) += C^T z."""
        start = 0
        for group, modes, values in zip(self.groups, self.modes, self.values, strict=True):
            stop = start + values.size
            scaled = np.sqrt(np.maximum(values, 0.0)) * z[start:stop].reshape(values.shape)
            self._scatter(group, np.einsum("erai,er->eai", modes, scaled), out)
            start = stop

    def _scatter(self, group: Group, force: Array, out: Array) -> None:
        """out (n, 3) += what the nodes of the elements get, (m, k, 3)."""
        nodes = group.nodes.reshape(-1)
        for axis in range(3):
            out[:, axis] += np.bincount(nodes, force[:, :, axis].reshape(-1), self.count)

    def apply_hessian(self, x: Array, d: Array) -> Array:
        """The whole second derivative of the energy at x times d (n, 3), nothing projected away; for tests."""
        blocks, total = self.make_matrix(), np.zeros((self.count, 3))
        self.assemble(x, 1.0, 0.0, blocks, project=False)
        self.add_product(blocks, np.ascontiguousarray(d), total)
        return total

    @property
    def row_count(self) -> int:
        """Rows of C."""
        rows = [(MODES if isinstance(g, Simplices) else SPRING_MODES)[int(g.kind[0])] for g in self.groups]
        return sum(int(r) * len(g.nodes) for r, g in zip(rows, self.groups, strict=True))


def _merge(groups: Sequence[Group]) -> list[Group]:
    """Groups of the same kind and number of nodes as one, in the order of their lowest nodes."""
    found: dict[tuple[type, int, int], list[Group]] = {}
    for group in groups:
        if len(group.nodes):
            found.setdefault((type(group), group.nodes.shape[1], int(group.kind[0])), []).append(group)
    merged = []
    for parts in found.values():
        order = by_lowest_node(np.concatenate([part.nodes for part in parts]))
        arrays = (np.ascontiguousarray(np.concatenate(arrays)[order]) for arrays in zip(*parts, strict=True))
        merged.append(type(parts[0])(*arrays))
    return merged
