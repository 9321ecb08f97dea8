"""A constant deformation gradient on a mesh of irregular elements must give constant stress and no force inside."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.soft import Elastic, make_membrane, make_solid
from undertow.soft.assembly import Forces
from undertow.soft.meshes import grid_tetrahedra, grid_triangles
from undertow.validation.analysis import Array, Quantity, quantity

MODELS = ("stvk", "neo_hookean", "corotated")
E, NU = 2.0, 0.3


def stress(model: str, F: Array, mu: float, lam: float) -> Array:
    """First Piola-Kirchhoff stress of the textbook formula."""
    J, inverse = np.linalg.det(F), np.linalg.inv(F)
    if model == "stvk":
        strain = 0.5 * (F.T @ F - np.eye(3))
        return np.asarray(F @ (2 * mu * strain + lam * np.trace(strain) * np.eye(3)))
    if model == "neo_hookean":
        return np.asarray(mu * F + (lam * np.log(J) - mu) * inverse.T)
    U, _, Vt = np.linalg.svd(F)
    return np.asarray(2 * mu * (F - U @ Vt) + lam * (J - 1) * J * inverse.T)


def patch(model: str, kind: str, seed: int = 1) -> float:
    """Largest error of inner forces and mean stress, relative to the stress."""
    rng = np.random.default_rng(seed)
    axes = 3 if kind == "solid" else 2
    x, cells = grid_tetrahedra((1.0, 1.0, 1.0), (3, 3, 3)) if axes == 3 else grid_triangles((1.0, 1.0), (4, 4))
    inner = (np.abs(x[:, :axes]) < 0.49).all(axis=1)
    x[inner, :axes] += 0.04 * rng.normal(size=(int(inner.sum()), axes))
    material = Elastic(1.0, E, NU, model)
    mu, lam = material.lame
    F = np.eye(3)
    F[:axes, :axes] += 0.2 * rng.normal(size=(axes, axes))
    if kind == "membrane":
        elements = make_membrane(kind, x, cells, material, 1.0)[1]
        lam = 2 * mu * lam / (lam + 2 * mu)
        # a turn in space does not change the stress of the sheet
        R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        R *= np.sign(np.linalg.det(R))
    else:
        elements, R = make_solid(kind, x, cells, material)[1], np.eye(3)
    f = np.zeros_like(x)
    Forces([elements], len(x)).measure(np.ascontiguousarray(x @ (R @ F).T), f)
    P = (R @ stress(model, F, mu, lam))[:, :axes]
    virial = -np.einsum("ni,nj->ij", f, x)[:, :axes]
    return float(max(np.abs(virial - P).max(), np.abs(f[inner]).max()) / np.abs(P).max())


def run(full: bool = False) -> Iterator[Quantity]:
    """All models on tetrahedra, plane-strain triangles and membranes."""
    for kind in ("solid", "plane", "membrane"):
        for model in MODELS:
            yield quantity(f"{kind}_{model}", patch(model, kind))
