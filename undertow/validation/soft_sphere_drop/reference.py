"""An elastic ball dropped on the ground by quadratic elements, independent of the solvers that it judges.

    python -m undertow.validation.soft_sphere_drop.reference

The fall is symmetric about the vertical through the centre. Biquadratic quadrilaterals of nine nodes in the half disc
(r, y) of the ball at rest, integrals at 3 x 3 Gauss points, lumped masses, central differences in time. The material,

    psi = mu / 2 (|F|^2 - 3) - mu log J + lambda / 2 log^2 J,        P = mu (F - F^-T) + lambda log J F^-T

F from the gradient in the plane and the stretch r / R around the axis. Damping as in the scene: the linear elasticity
of the ball at rest times the damping time, of the rate of the stretches. A node that would pass the ground stops on it.

Printed for three meshes: the largest error of the volume, the largest squeeze of the height over the diameter.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from undertow.grid import Array

RADIUS, START, DENSITY, E, DAMPING, GRAVITY = 0.5, 1.1, 1000.0, 3e4, 2e-3, 9.81
"""Of the scene ``soft-sphere-drop``."""
BASE = 0.45
"""Poisson ratio whose shear modulus the ball that keeps its volume has."""


def disc(cells: int) -> tuple[Array, np.ndarray]:
    """Nodes (n, 2) of the half disc r >= 0 about the origin, and elements (m, 9): ``cells`` along the half side of a
    square in the middle, and as many from there to the rim."""
    half, whole = np.linspace(0, 1, 2 * cells + 1), np.linspace(-1, 1, 4 * cells + 1)
    core = 0.5 * RADIUS

    def block(s: Array, t: Array, inner: Any, outer: Any) -> Array:
        a, b = np.meshgrid(s, t, indexing="ij")
        return (1 - a)[..., None] * inner(b) + a[..., None] * outer(b)

    def rim(angle: Array) -> Array:
        return RADIUS * np.stack([np.cos(angle), np.sin(angle)], axis=-1)

    def at(x: Any, y: Any) -> Array:
        return core * np.stack(np.broadcast_arrays(x, y), axis=-1)

    quarter = np.pi / 4
    blocks = [
        block(half, whole, lambda b: at(0.0, b), lambda b: at(1.0, b)),
        block(half, whole, lambda b: at(1.0, b), lambda b: rim(quarter * b)),
        block(half, half[::-1], lambda b: at(b, 1.0), lambda b: rim(2 * quarter - quarter * b)),
        block(half, half, lambda b: at(b, -1.0), lambda b: rim(quarter * b - 2 * quarter)),
    ]
    points: list[Array] = []
    elements = []
    for found in blocks:
        n, m = found.shape[:2]
        i, j = (k.ravel() for k in np.meshgrid(np.arange(0, n - 1, 2), np.arange(0, m - 1, 2), indexing="ij"))
        first = sum((len(x) for x in points), start=0) + i * m + j
        elements.append(np.stack([first + p * m + q for p in range(3) for q in range(3)], axis=1))
        points.append(found.reshape(-1, 2))
    _, keep, which = np.unique(np.round(np.concatenate(points), 9), axis=0, return_index=True, return_inverse=True)
    return np.concatenate(points)[keep], which.reshape(-1)[np.concatenate(elements)]


def lagrange(s: Array) -> tuple[Array, Array]:
    """Values and slopes (points, 9) of the biquadratic shapes at points (points, 2) of [-1, 1]^2, slopes (.., 2)."""
    one = np.stack([0.5 * s * (s - 1), 1 - s * s, 0.5 * s * (s + 1)], axis=-1)
    slope = np.stack([s - 0.5, -2 * s, s + 0.5], axis=-1)
    value = np.einsum("gi,gj->gij", one[:, 0], one[:, 1]).reshape(-1, 9)
    by = [np.einsum("gi,gj->gij", slope[:, 0], one[:, 1]), np.einsum("gi,gj->gij", one[:, 0], slope[:, 1])]
    return value, np.stack([k.reshape(-1, 9) for k in by], axis=-1)


def drop(cells: int, ratio: float, shear: float, damped: float, end: float = 0.6) -> dict[str, Any]:
    """Largest error of the volume and largest squeeze, of a ball with this Poisson ratio and shear modulus [Pa];
    damped: the Poisson ratio of its damping, which a ball kept by rings has from its elements."""
    X, elements = disc(cells)
    lam, rate = (2 * shear * nu / (1 - 2 * nu) for nu in (ratio, damped))
    points = np.array([(a, b) for a in (-np.sqrt(0.6), 0, np.sqrt(0.6)) for b in (-np.sqrt(0.6), 0, np.sqrt(0.6))])
    w = np.array([a * b for a in (5, 8, 5) for b in (5, 8, 5)]) / 81.0
    N, dN = lagrange(points)
    J = np.einsum("eai,gaj->egij", X[elements], dN)
    G = np.einsum("gaj,egji->egai", dN, np.linalg.inv(J))
    R = np.einsum("ea,ga->eg", X[elements][:, :, 0], N)
    W = 2 * np.pi * R * np.linalg.det(J) * w
    # lumped masses: the diagonal of the consistent ones, scaled to the mass of the element (Hinton et al. 1976)
    diagonal = np.einsum("eg,ga->ea", W, N * N)
    lumped = DENSITY * diagonal * (W.sum(axis=1) / diagonal.sum(axis=1))[:, None]
    mass = np.bincount(elements.ravel(), lumped.ravel(), len(X))
    axis = X[:, 0] < 1e-12
    flat = elements.ravel()

    def gather(f: Array) -> Array:
        return np.stack([np.bincount(flat, f[:, :, k].ravel(), len(X)) for k in range(2)], axis=1)

    def forces(x: Array, v: Array) -> tuple[Array, float]:
        """Elastic and damping forces (n, 2), and the volume."""
        xe, ve = x[elements], v[elements]
        F = np.swapaxes(xe, 1, 2)[:, None] @ G
        hoop = np.einsum("ea,ga->eg", xe[:, :, 0], N) / R
        det = F[..., 0, 0] * F[..., 1, 1] - F[..., 0, 1] * F[..., 1, 0]
        volume = det * hoop
        inverse = np.empty_like(F)  # F^-T
        inverse[..., 0, 0], inverse[..., 1, 1] = F[..., 1, 1] / det, F[..., 0, 0] / det
        inverse[..., 0, 1], inverse[..., 1, 0] = -F[..., 1, 0] / det, -F[..., 0, 1] / det
        log = lam * np.log(volume) - shear
        P = shear * F + log[..., None, None] * inverse
        around = shear * hoop + log / hoop
        # damping: linear elasticity of the rate of the stretches, in the frame that F = R S turns by R
        turn = np.arctan2(F[..., 1, 0] - F[..., 0, 1], F[..., 0, 0] + F[..., 1, 1])
        c, s = np.cos(turn), np.sin(turn)
        Q = np.stack([np.stack([c, -s], axis=-1), np.stack([s, c], axis=-1)], axis=-2)
        D = np.swapaxes(Q, 2, 3) @ (np.swapaxes(ve, 1, 2)[:, None] @ G)
        spin = np.einsum("ea,ga->eg", ve[:, :, 0], N) / R
        trace = rate * (D[..., 0, 0] + D[..., 1, 1] + spin)
        P += DAMPING * Q @ (shear * (D + np.swapaxes(D, 2, 3)) + trace[..., None, None] * np.eye(2))
        around += DAMPING * (2 * shear * spin + trace)
        f = -(G @ np.swapaxes(P * W[..., None, None], 2, 3)).sum(axis=1)
        f[:, :, 0] -= (around * W / R) @ N  # by the stretch around the axis
        return gather(f), float((volume * W).sum())

    x = X + np.array([0.0, START])
    # until its lowest node is at the ground the ball falls freely
    fall = np.sqrt(2 * (START - RADIUS) / GRAVITY)
    x[:, 1] -= START - RADIUS
    v = np.zeros_like(x)
    v[:, 1] = -GRAVITY * fall
    sound = np.sqrt((lam + 2 * shear) / DENSITY)
    sides = [X[elements][:, a] - X[elements][:, b] for a, b in ((0, 1), (0, 3), (1, 2), (3, 6))]
    least = min(np.linalg.norm(side, axis=1).min() for side in sides)
    dt = 0.25 * least / sound
    # explicit damping of the shortest waves: dt <= 2 / omega (sqrt(1 + z^2) - z), z = omega damping / 2
    omega = 4.0 * sound / least
    z = 0.5 * omega * DAMPING * (rate + 2 * shear) / (lam + 2 * shear)
    dt = min(dt, 1.0 / omega * (np.sqrt(1 + z * z) - z))
    steps = int(np.ceil((end - fall) / dt))
    whole = forces(X, np.zeros_like(X))[1]
    error = squeeze = 0.0
    height = np.ptp(X[:, 1])
    for _ in range(steps):
        f, volume = forces(x, v)
        error = max(error, abs(volume / whole - 1.0))
        squeeze = max(squeeze, float(1.0 - np.ptp(x[:, 1]) / height))
        v += dt * f / mass[:, None]
        v[:, 1] -= dt * GRAVITY
        v[axis, 0] = 0.0
        v[:, 1] = np.maximum(v[:, 1], -x[:, 1] / dt)
        x += dt * v
    return {"volume_error": error, "squeeze": squeeze, "steps": steps}


def main(arguments: list[str]) -> None:
    """Print both figures for the Poisson ratio of the scene, and towards 0.5 with shear modulus and damping of 0.45."""
    sizes = [int(a) for a in arguments] or [2, 3, 4]
    for name, ratio in (("0.45", BASE), ("towards 0.5: 0.49", 0.49), ("0.495", 0.495), ("0.499", 0.499)):
        for cells in sizes:
            found = drop(cells, ratio, E / (2 * (1 + BASE)), BASE)
            print(
                f"{name}, {cells} elements along the radius: volume {found['volume_error']:.5f}, "
                f"squeeze {found['squeeze']:.5f}, {found['steps']} steps", flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
