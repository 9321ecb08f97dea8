"""Constants over clusters of stiff links as a coarse space for a multigrid cycle.

Where a few of the links of an operator are stiffer than the others by orders of magnitude, as in bubbles of a gas
between the cells of a liquid, the values at their ends differ by little. A level whose cells are as large as a cluster
links everything that it touches by its stiffness, and sees nothing of how the cluster as a whole answers to the soft
links around it. With E the indicators of the clusters and B0 the cycle,

    B = Q + (I - Q A) B0 (I - A Q),      Q = E (E^T A E)^-1 E^T                       (Mandel 1993, balancing)

is symmetric positive definite as B0 is, and exact for what is constant over clusters. A E has entries at the surfaces
of clusters alone, so that B costs a cycle and two sums over their cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from undertow.grid import Array
from undertow.linalg.multigrid import Multigrid
from undertow.linalg.stencil import Stencil

SINGULAR = 1e-12
"""Sums of clusters that are mapped to less than this are null vectors, relative to the largest."""

MOST = 512
"""Clusters, the largest ones: the inverse of their matrix is dense."""


class ClusterCycle:
    """The cycle B of the head of the module. Call ``setup(stencil)`` after every change of the coefficients.

    stiff: links with more than this [as the stencil's faces] join cells to clusters; infinite: there are none, and B is
    B0. count: of clusters.
    """

    def __init__(self, multigrid: Multigrid, stiff: float = np.inf) -> None:
        self.multigrid, self.stiff, self.count = multigrid, stiff, 0
        self._joined: Stencil | None = None
        self._left = np.zeros(0)
        self._cell = self._number = np.zeros(0, np.int64)
        self._inverse = np.zeros((0, 0))
        self._mapped: Any = None
        self._gather: Any = None

    def setup(self, stencil: Stencil) -> None:
        """The cycle, and the clusters of the coefficients of now."""
        self.multigrid.setup(stencil)
        self.count = 0
        if np.isfinite(self.stiff) and not stencil.overlay.copies and not any(stencil.periodic):
            self._find(stencil)

    def _find(self, stencil: Stencil) -> None:
        if self._joined is None:
            self._joined, self._left = Stencil(stencil.grid), np.zeros(stencil.size)
        joined = self._joined
        np.copyto(joined.face_f, stencil.face_f)
        joined.face_f *= stencil.face_f > self.stiff
        joined.setup()
        label = joined.label
        if joined.regions > MOST:
            size = np.bincount(label, minlength=joined.regions + 1)
            size[0] = 0
            kept = np.sort(np.argsort(-size, kind="stable")[:MOST])
            number = np.zeros(joined.regions + 1, dtype=label.dtype)
            number[kept] = np.arange(1, MOST + 1)
            label = number[label]
        self.count = min(joined.regions, MOST)
        if self.count:
            self._cell = np.flatnonzero(label)
            self._number = label[self._cell].astype(np.int64) - 1
            self._map(stencil, label)

    def _map(self, stencil: Stencil, label: np.ndarray) -> None:
        """A E, sparse, and the inverse of E^T A E on what is no null vector."""
        from scipy.sparse import csr_array

        grid = stencil.grid
        dirichlet = stencil.dirichlet_c.reshape(-1)[self._cell]
        rows, columns, values = [self._cell], [self._number], [dirichlet]
        for axis in grid.axes:
            face, stride = stencil.face_f[axis].reshape(-1), (1, grid.padded[2], grid.padded[1] * grid.padded[2])[axis]
            upper = np.flatnonzero(face)
            upper = upper[label[upper] != label[upper - stride]]
            for here, there in ((upper, upper - stride), (upper - stride, upper)):
                at = label[here] > 0
                here, there, a = here[at], there[at], face[upper[at]]
                number = label[here].astype(np.int64) - 1
                rows += [here, there]
                columns += [number, number]
                values += [a, -a]
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        self._mapped = csr_array(entries, shape=(stencil.size, self.count))
        self._gather = self._mapped.T.tocsr()
        gram = np.zeros((self.count, self.count))
        mapped = self._mapped[self._cell].tocoo()
        np.add.at(gram, (self._number[mapped.coords[0]], mapped.coords[1]), mapped.data)
        inverse = np.linalg.pinv(0.5 * (gram + gram.T), rcond=SINGULAR, hermitian=True)
        self._inverse = np.asarray(inverse, dtype=np.float64)

    def apply(self, r: Array, out: Array) -> None:
        """out = B r"""
        if not self.count:
            self.multigrid.apply(r, out)
            return
        flat, left = r.reshape(-1), self._left
        level = self._inverse @ np.bincount(self._number, flat[self._cell], self.count)
        np.subtract(flat, self._mapped @ level, out=left)
        self.multigrid.apply(left.reshape(r.shape), out)
        level -= self._inverse @ (self._gather @ out.reshape(-1))
        out.reshape(-1)[self._cell] += level[self._number]
