"""Sums over elements: forces on nodes and the sparse stiffness, gathered by node so that no two threads write one
entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

from undertow.grid import Array, share
from undertow.soft.simplices import MODES, Simplices, _factor_simplices, _measure_simplices
from undertow.soft.springs import SPRING_MODES, Springs, _curve_springs, _factor_springs, _measure_springs

Group = Simplices | Springs


@njit(cache=True, nogil=True)
def _gather_rows(starts, entries, source, out, start, stop):  # type: ignore[no-untyped-def]
    """out[i] = sum of the rows of ``source`` that belong to i."""
    width = out.shape[1]
    for i in range(start, stop):
        for j in range(width):
            out[i, j] = 0.0
        for p in range(starts[i], starts[i + 1]):
            for j in range(width):
                out[i, j] += source[entries[p], j]


@njit(cache=True, nogil=True)
def _form_blocks(modes, values, out_blocks, start, stop):  # type: ignore[no-untyped-def]
    """Element matrices sum_r value_r mode_r mode_r^T as blocks (m k k, 9)."""
    k = modes.shape[2]
    for e in range(start, stop):
        for a in range(k):
            for b in range(a, k):
                p, q = (e * k + a) * k + b, (e * k + b) * k + a
                for i in range(9):
                    out_blocks[p, i] = 0.0
                for r in range(modes.shape[1]):
                    w = values[e, r]
                    if w == 0.0:
                        continue
                    for i in range(3):
                        c = w * modes[e, r, a, i]
                        for j in range(3):
                            out_blocks[p, 3 * i + j] += c * modes[e, r, b, j]
                if a != b:
                    for i in range(3):
                        for j in range(3):
                            out_blocks[q, 3 * j + i] = out_blocks[p, 3 * i + j]


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
        sizes = [group.nodes.size for group in self.groups]
        self._first = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        nodes = np.concatenate([group.nodes.reshape(-1) for group in self.groups] or [np.zeros(0, dtype=np.int64)])
        self._starts, self._entries = _by_value(nodes, count)
        self._force = np.zeros((len(nodes), 3))
        self._energies = [np.zeros(len(group.nodes)) for group in self.groups]
        self.modes: list[Array] = []
        self.values: list[Array] = []
        self._pattern: _Pattern | None = None

    def _parts(self) -> list[tuple[Group, Array]]:
        """Every group with its rows of the element forces."""
        return [(g, self._force[self._first[i] : self._first[i + 1]]) for i, g in enumerate(self.groups)]

    def measure(self, x: Array, out: Array) -> float:
        """Elastic energy [J] at x (n, 3) [m]; out (n, 3) its force -dE/dx [N]."""
        for (group, force), energy in zip(self._parts(), self._energies, strict=True):
            kernel = _measure_simplices if isinstance(group, Simplices) else _measure_springs
            share(kernel, len(group.nodes), 64 * len(group.nodes), group, x, energy, force)
        self._gather(out)
        return float(sum(energy.sum() for energy in self._energies))

    def _gather(self, out: Array) -> None:
        share(_gather_rows, self.count, 8 * self._force.size, self._starts, self._entries, self._force, out)

    def factor(self, x: Array, elastic: float, damping: float, project: bool = True) -> None:
        """Modes and values with elastic K + damping (-D) = sum of value mode mode^T; see the kernels."""
        if not self.modes:
            for group in self.groups:
                rows = int((MODES if isinstance(group, Simplices) else SPRING_MODES)[int(group.kind[0])])
                m, k = group.nodes.shape
                self.modes.append(np.zeros((m, rows, k, 3)))
                self.values.append(np.zeros((m, rows)))
        for group, modes, values in zip(self.groups, self.modes, self.values, strict=True):
            kernel = _factor_simplices if isinstance(group, Simplices) else _factor_springs
            m = len(group.nodes)
            share(kernel, m, 256 * m, group, x, float(elastic), float(damping), bool(project), modes, values)

    @property
    def pattern(self) -> _Pattern:
        """The places of the matrix; made when first asked for."""
        if self._pattern is None:
            self._pattern = _Pattern([group.nodes for group in self.groups], self.count)
        return self._pattern

    def assemble(self, out: Array) -> None:
        """out (blocks, 9): the matrix of the factor of now."""
        pattern = self.pattern
        for i, (modes, values) in enumerate(zip(self.modes, self.values, strict=True)):
            part = pattern.source[pattern.first[i] : pattern.first[i + 1]]
            share(_form_blocks, len(modes), 256 * len(modes), modes, values, part)
        share(_gather_rows, len(out), pattern.source.size, pattern.starts, pattern.entries, pattern.source, out)

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
        for (_, force), modes, values in zip(self._parts(), self.modes, self.values, strict=True):
            stop = start + values.size
            scaled = np.sqrt(np.maximum(values, 0.0)) * z[start:stop].reshape(values.shape)
            force[...] = np.einsum("erai,er->eai", modes, scaled).reshape(-1, 3)
            start = stop
        total = np.zeros((self.count, 3))
        self._gather(total)
        out += total

    def apply_hessian(self, x: Array, d: Array) -> Array:
        """The whole second derivative of the energy at x times d (n, 3), nothing projected away; for tests."""
        self.factor(x, 1.0, 0.0, project=False)
        total = np.zeros((self.count, 3))
        for (group, force), modes, values in zip(self._parts(), self.modes, self.values, strict=True):
            product = np.einsum("erai,eai->er", modes, d[group.nodes])
            force[...] = np.einsum("erai,er->eai", modes, values * product).reshape(-1, 3)
        self._gather(total)
        rest = np.zeros_like(total)
        for group, force in self._parts():
            force[...] = 0.0
            if isinstance(group, Springs):
                _curve_springs(group, x, d, force, 0, len(group.nodes))
        self._gather(rest)
        return total + rest

    @property
    def row_count(self) -> int:
        """Rows of C."""
        rows = [(MODES if isinstance(g, Simplices) else SPRING_MODES)[int(g.kind[0])] for g in self.groups]
        return sum(int(r) * len(g.nodes) for r, g in zip(rows, self.groups, strict=True))


class _Pattern:
    """Where the blocks of the matrix are, and which blocks of elements are added there."""

    def __init__(self, nodes: Sequence[Any], count: int) -> None:
        rows, columns, sizes = [np.arange(count)], [np.arange(count)], []
        for n in nodes:
            k = n.shape[1]
            rows.append(np.repeat(n, k, axis=1).reshape(-1))
            columns.append(np.tile(n, (1, k)).reshape(-1))
            sizes.append(n.size * k)
        keys = np.concatenate(rows) * count + np.concatenate(columns)
        unique, place = np.unique(keys, return_inverse=True)
        self.first = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self.columns = np.ascontiguousarray(unique % count)
        self.rows = np.searchsorted(unique, np.arange(count + 1) * count)
        # the diagonal is always there, though no element may add to it
        self.starts, self.entries = _by_value(place[count:], len(unique))
        self.diagonal = np.ascontiguousarray(place[:count])
        self.source = np.zeros((int(self.first[-1]), 9))


def _by_value(values: Any, count: int) -> tuple[Any, Any]:
    """(starts (count + 1,), order): the positions of each value in ``values``, in order."""
    order = np.argsort(values, kind="stable").astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(np.bincount(values, minlength=count))]).astype(np.int64)
    return starts, order


def _merge(groups: Sequence[Group]) -> list[Group]:
    """Groups of the same kind and number of nodes as one."""
    found: dict[tuple[type, int, int], list[Group]] = {}
    for group in groups:
        if len(group.nodes):
            found.setdefault((type(group), group.nodes.shape[1], int(group.kind[0])), []).append(group)
    return [
        type(parts[0])(*(np.ascontiguousarray(np.concatenate(arrays)) for arrays in zip(*parts, strict=True)))
        for parts in found.values()
    ]
