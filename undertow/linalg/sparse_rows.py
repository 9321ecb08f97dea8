"""Rows given as sparse matrices: what is unstructured, and the reference for what is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sparse

from undertow.grid import Array


class SparseRows:
    """Rows K = sum of matrices (n, size of the velocities) by name of a velocity block; target: s (n,), None = 0."""

    folded = False

    def __init__(self, name: str, matrices: Mapping[str, Any], damping: bool, target: Array | None = None) -> None:
        self.name, self.damping, self.target = name, damping, target
        self.matrices = {block: sparse.csr_matrix(matrix) for block, matrix in matrices.items()}
        rows = {matrix.shape[0] for matrix in self.matrices.values()}
        if len(rows) != 1:
            raise ValueError(f"sparse rows {name!r}: matrices of {sorted(rows)} rows, must be of one number")
        self.shape: tuple[int, ...] = (rows.pop(),)
        self._transposed = {block: matrix.T.tocsr() for block, matrix in self.matrices.items()}

    def velocities(self) -> tuple[str, ...]:
        """Names of the velocity blocks that the rows act on."""
        return tuple(self.matrices)

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        """out = K w"""
        out[...] = 0.0
        for block, matrix in self.matrices.items():
            out += matrix @ w[block].reshape(-1)

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        """w += K^T z"""
        for block, matrix in self._transposed.items():
            if block in w:
                w[block].reshape(-1)[...] += matrix @ z

    def add_diagonal(self, inv_mass: Mapping[str, Array], out: Array) -> None:
        """out += diag(K B^-1 K^T)"""
        for block, matrix in self.matrices.items():
            inverse = inv_mass[block]
            if matrix.shape[1] != inverse.size:  # dense masses (n, k, k)
                dense = sparse.block_diag(list(inverse), format="csr")
                out += np.asarray((matrix @ dense).multiply(matrix).sum(axis=1)).reshape(-1)
            else:
                out += matrix.multiply(matrix) @ inverse.reshape(-1)
