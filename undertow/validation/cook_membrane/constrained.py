"""Cook's membrane by linear triangles whose one-rings keep their area, independent of the solver that it judges.

    python -m undertow.validation.cook_membrane.constrained

Small displacements in plane strain: the elastic energy with the shear modulus of a solid that keeps its volume, E / 3,
and the Lame constant lambda of single triangles, under the condition that the ring of every node keeps its area,

    min  sum of A_t (mu |e|^2 + lambda / 2 (div u)^2) - f . u,        sum of A_t div u / 3 = 0 over each ring

solved at once with the pressures of the rings. Printed on the mesh of the scene and on a regular one: the rise of the
corner over that of quadratic triangles for three lambda, the same triangles at a Poisson ratio of 1/3 without rings,
and the error of the former over that of the latter.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve

from undertow.grid import Array
from undertow.soft.polygons import mesh_polygon
from undertow.validation.cook_membrane.case import (
    CORNERS,
    NEAR,
    SIZES,
    TRACTION,
    WIDTH,
    E,
    crossed_mesh,
    deflect_quadratic,
    extrapolate,
)  # fmt: skip


def deflect_linear(x: Array, t: np.ndarray, mu: float, lam: float, rings: bool) -> float:
    """Rise of the corner [mm] of nodes x (n, 2) [m] and triangles t (m, 3); mu, lam [Pa]."""
    J = np.stack([x[t[:, 1]] - x[t[:, 0]], x[t[:, 2]] - x[t[:, 0]]], axis=2)
    area = 0.5 * np.linalg.det(J)
    slope = np.array([[-1, -1], [1, 0], [0, 1]]) @ np.linalg.inv(J)
    D = np.array([[lam + 2 * mu, lam, 0.0], [lam, lam + 2 * mu, 0.0], [0.0, 0.0, mu]])
    B = np.zeros((len(t), 3, 6))
    B[:, 0, 0::2], B[:, 1, 1::2] = slope[:, :, 0], slope[:, :, 1]
    B[:, 2, 0::2], B[:, 2, 1::2] = slope[:, :, 1], slope[:, :, 0]
    stiffness = area[:, None, None] * (np.swapaxes(B, 1, 2) @ D @ B)
    n, dof = len(x), np.stack([2 * t, 2 * t + 1], axis=2).reshape(-1, 6)
    places = (np.repeat(dof, 6, axis=1).ravel(), np.tile(dof, 6).ravel())
    K = sparse.csr_matrix((stiffness.ravel(), places), shape=(2 * n, 2 * n))
    sides, count = np.unique(np.sort(t[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0, return_counts=True)
    load = np.zeros((n, 2))
    for a, b in sides[(count == 1) & (x[sides][:, :, 0] > WIDTH - 1e-9).all(axis=1)]:
        load[[a, b], 1] += 0.5 * TRACTION * abs(x[a, 1] - x[b, 1])
    free = np.flatnonzero(np.repeat(x[:, 0] > 1e-9, 2))
    matrix, right = K[free][:, free], load.reshape(-1)[free]
    if rings:
        shares = np.tile((area[:, None, None] * slope).reshape(-1, 6) / 3, (1, 3))
        G = sparse.csr_matrix(
            (shares.ravel(), (np.repeat(t, 6, axis=1).ravel(), np.tile(dof, (1, 3)).ravel())), shape=(n, 2 * n)
        )[:, free]
        # pressures that push nothing, where a mesh has any, are held by a compressibility of next to nothing
        matrix = sparse.bmat([[matrix, G.T], [G, -1e-13 * area.mean() / mu * sparse.identity(n)]])
        right = np.concatenate([right, np.zeros(n)])
    u = np.zeros(2 * n)
    u[free] = spsolve(matrix.tocsc(), right)[: free.size]
    return float(1e3 * u.reshape(-1, 2)[np.argmax(x.sum(axis=1)), 1])


def main() -> None:
    """Print the table."""
    third, kept = (extrapolate(*(deflect_quadratic(n, ratio) for n in SIZES)) for ratio in (1 / 3, NEAR))
    mu = E / 3
    lams = {"0": 0.0, "of 0.3": 1.5 * mu, "of 0.45": 9.0 * mu}
    for name in ("scene", "regular"):
        for cells in SIZES:
            if name == "scene":
                mesh = mesh_polygon("membrane", np.array(CORNERS), WIDTH / cells)
                x, t = np.asarray(mesh[0])[:, :2], np.asarray(mesh[1])
            else:
                x, t = crossed_mesh(cells)
            plain = deflect_linear(x, t, 3 * E / 8, 3 * E / 4, False) / third
            print(f"{name}, {cells} elements, {len(t)} triangles: 1/3 without rings {plain:.4f}")
            for words, lam in lams.items():
                found = deflect_linear(x, t, mu, lam, True) / kept
                print(f"    rings, lambda {words}: {found:.4f}, errors {(1 - found) / (1 - plain):.3f}")


if __name__ == "__main__":
    main()
