"""Extremes of the velocity on the middle lines of a lid-driven cavity, independent of the solvers that they judge.

    python -m undertow.validation.lid_cavity_100.reference

Steady vorticity w and stream function psi at Re 100 in the unit square by central differences of second order, with
Thom's vorticity on the walls, solved by Newton's method; three grids are extrapolated.

    lap psi = -w,        u dw/dx + v dw/dy = lap w / Re,        u = dpsi/dy,  v = -dpsi/dx
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.interpolate import CubicSpline
from scipy.sparse.linalg import splu

from undertow.validation.analysis import Array

REYNOLDS = 100.0


def extremes(intervals: int) -> Array:
    """Least u on x = 0.5, largest and least v on y = 0.5; intervals: along a side, an even number."""
    n, h = intervals + 1, 1.0 / intervals
    one = sparse.identity(n)
    first = sparse.diags([-0.5, 0.5], [-1, 1], shape=(n, n)) / h  # type: ignore[list-item]
    second = sparse.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(n, n)) / h**2  # type: ignore[list-item]
    dx, dy = sparse.kron(one, first).tocsr(), sparse.kron(first, one).tocsr()
    laplacian = (sparse.kron(one, second) + sparse.kron(second, one)).tocsr()
    j, i = np.divmod(np.arange(n * n), n)
    inner = (i > 0) & (i < n - 1) & (j > 0) & (j < n - 1)
    keep, wall = sparse.diags(inner.astype(float)), sparse.diags((~inner).astype(float))
    # Thom: w = -2 psi(next) / h^2 on walls, and -2 / h of the lid that moves with 1
    beside = np.clip(j, 1, n - 2) * n + np.clip(i, 1, n - 2)
    thom = sparse.csr_matrix((np.where(inner, 0.0, 2.0 / h**2), (np.arange(n * n), beside)), shape=(n * n, n * n))
    lid = np.where(j == n - 1, 2.0 / h, 0.0)
    psi, w = np.zeros(n * n), np.zeros(n * n)
    for _ in range(30):
        u, v = dy @ psi, -(dx @ psi)
        carried = u * (dx @ w) + v * (dy @ w) - laplacian @ w / REYNOLDS
        residual = np.concatenate(
            [keep @ (laplacian @ psi + w) + wall @ psi, keep @ carried + wall @ w + thom @ psi + lid]
        )
        by_psi = sparse.diags(dx @ w) @ dy - sparse.diags(dy @ w) @ dx
        by_w = sparse.diags(u) @ dx + sparse.diags(v) @ dy - laplacian / REYNOLDS
        jacobian = sparse.bmat([[keep @ laplacian + wall, keep], [keep @ by_psi + thom, keep @ by_w + wall]]).tocsc()
        change = splu(jacobian).solve(residual)
        psi, w = psi - change[: n * n], w - change[n * n :]
        if np.abs(change).max() < 1e-10:
            break
    # on the wall u is that of the lid; the interior is read by cubic splines
    u, v = (dy @ psi).reshape(n, n)[:, n // 2], -(dx @ psi).reshape(n, n)[n // 2]
    u[0], u[-1], v[0], v[-1] = 0.0, 1.0, 0.0, 0.0
    fine = np.linspace(0.0, 1.0, 100001)
    at = np.linspace(0.0, 1.0, n)
    along_y, along_x = CubicSpline(at, u)(fine), CubicSpline(at, v)(fine)
    return np.array([along_y.min(), along_x.max(), along_x.min()])


def main() -> None:
    """Print the extremes on three grids, their order and their limit."""
    found = [extremes(m) for m in (32, 64, 128)]
    order = np.log2((found[1] - found[0]) / (found[2] - found[1]))
    limit = found[2] + (found[2] - found[1]) / (2.0**order - 1.0)
    for name, row in (("32", found[0]), ("64", found[1]), ("128", found[2]), ("order", order), ("limit", limit)):
        print(f"{name:>6}", *(f"{value:9.5f}" for value in row))


if __name__ == "__main__":
    main()
