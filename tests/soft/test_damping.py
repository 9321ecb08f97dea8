"""The factor C of damping and of implicit stiffness (thesis 5.5.1) of every kind of force: against finite differences,
and on rigid motions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from undertow.soft import Elastic, make_altitudes, make_bending, make_edges, make_membrane, make_solid
from undertow.soft.assembly import Forces
from undertow.soft.springs import Springs

TETRAHEDRON = np.array([[0.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.2, 0.9, 0.1], [0.1, 0.2, 1.1]])
TRIANGLE = np.array([[0.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.3, 0.8, 0.0]])
STAR = np.array(
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.1], [0.4, 0.7, 0.3], [0.5, -0.8, 0.2], [1.3, 0.9, 0.0], [-0.6, 0.8, 0.2]]
)
"""A triangle and its three neighbours."""
STEP = 0.01
"""Of a time step [s]."""


def _make(kind: str) -> tuple[Any, np.ndarray]:
    """Elements of one kind with damping, and their positions at rest."""
    material = Elastic(youngs_modulus=3.0, poisson_ratio=0.3, model="neo_hookean", damping=0.7)
    if kind == "edge":
        return make_edges("e", TRIANGLE[:2], np.array([[0, 1]]), 2.0, 0.7), TRIANGLE[:2]
    if kind == "altitude":
        return make_altitudes("e", TETRAHEDRON, np.array([[0, 1, 2, 3]]), 2.0, 0.7), TETRAHEDRON
    if kind == "altitude_plane":
        return make_altitudes("e", TRIANGLE, np.array([[0, 1, 2]]), 2.0, 0.7), TRIANGLE
    if kind == "bending":
        cells = np.array([[0, 1, 2], [1, 0, 3], [2, 1, 4], [0, 2, 5]])
        return make_bending("e", STAR, cells, 2.0, 0.7), STAR
    if kind == "membrane":
        return make_membrane("e", TRIANGLE, np.array([[0, 1, 2]]), material, 0.5)[1], TRIANGLE
    x, cells = (TETRAHEDRON, [[0, 1, 2, 3]]) if kind == "solid" else (TRIANGLE, [[0, 1, 2]])
    return make_solid("e", x, np.array(cells), material)[1], x


KINDS = ("edge", "altitude", "altitude_plane", "bending", "membrane", "plane", "solid")


def _matrix(forces: Forces) -> np.ndarray:
    """C of now, one column per velocity."""
    columns = []
    for i in range(3 * forces.count):
        w, out = np.zeros(3 * forces.count), np.zeros(forces.row_count)
        w[i] = 1.0
        forces.apply_rows(w.reshape(-1, 3), out)
        columns.append(out)
    return np.stack(columns, axis=1)


def _spring_length(group: Springs, forces: Forces, x: np.ndarray) -> np.ndarray:
    """c - c_0 of every spring, by the energies that it has with each rest value moved."""
    energies = []
    for shift in (0.0, 1.0):
        moved = Forces([group._replace(rest=group.rest + shift)], len(x))
        moved.measure(x, np.zeros_like(x))
        energies.append(moved._energies[0].copy())
    # k/2 (c - 1)^2 - k/2 c^2 = k/2 - k c
    return 0.5 - (energies[1] - energies[0]) / group.stiffness


def _dissipation(group: Any, kind: str, x: np.ndarray, v: np.ndarray) -> float:
    """Half the power of the damping [W] from rates by finite differences: of the scalar of a spring, k_d c'^2 / 2; of
    the metric F^T F of an element, in whose axes the stretches change by C'_ii / (2 s_i) and the shears by
    C'_ij / sqrt(2 (s_i^2 + s_j^2)), with the moduli at rest."""
    h = 1e-6
    if isinstance(group, Springs):
        forces = Forces([group], len(x))
        rate = (_spring_length(group, forces, x + h * v) - _spring_length(group, forces, x - h * v)) / (2 * h)
        return float(0.5 * (group.damping * rate**2).sum())
    axes = 3 if kind == "solid" else 2

    def metric(y: np.ndarray) -> np.ndarray:
        F = np.einsum("ai,aj->ij", y[group.nodes[0]], group.gradient[0])[:, :axes]
        return np.asarray(F.T @ F)

    square, V = np.linalg.eigh(metric(x))
    rate = V.T @ (metric(x + h * v) - metric(x - h * v)) @ V / (2 * h)
    mu, lam = group.mu[0], group.lam[0]
    stretch = np.diag(rate) / (2 * np.sqrt(square))
    total = 2 * mu * (stretch**2).sum() + lam * stretch.sum() ** 2
    for i in range(axes):
        for j in range(i + 1, axes):
            total += 2 * 2 * mu * rate[i, j] ** 2 / (2 * (square[i] + square[j]))
    return float(0.5 * group.damping[0] * group.volume[0] * total)


def _states(kind: str, rest: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Strained positions and velocities; in the plane where the element is."""
    rng = np.random.default_rng(2)
    flat = np.array([1.0, 1.0, 0.0 if "plane" in kind else 1.0])
    return [
        (rest * stretch + 0.2 * flat * rng.normal(size=rest.shape), flat * rng.normal(size=rest.shape))
        for stretch in (1.0, 1.6, 0.6)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_the_damping_factor_is_the_root_of_the_dissipation(kind: str) -> None:
    """|C v|^2 / (2 dt) is half the power, and C^T C v / dt minus the damping force, its derivative by v."""
    group, rest = _make(kind)
    forces = Forces([group], len(rest))
    for x, v in _states(kind, rest):
        forces.factor(x, 0.0, STEP)
        C = _matrix(forces)
        flat = v.reshape(-1)
        power = _dissipation(group, kind, x, v)
        assert float((C @ flat) @ (C @ flat)) / (2 * STEP) == pytest.approx(power, rel=1e-6)
        force = C.T @ (C @ flat) / STEP
        for i in range(flat.size):
            unit = np.zeros(flat.size)
            unit[i] = 1.0
            if "plane" in kind and i % 3 == 2:
                continue
            ahead = _dissipation(group, kind, x, (flat + 0.5 * unit).reshape(-1, 3))
            behind = _dissipation(group, kind, x, (flat - 0.5 * unit).reshape(-1, 3))
            # a quadratic form: differences of any width are exact
            assert force[i] == pytest.approx(ahead - behind, abs=1e-6 * np.abs(force).max())


@pytest.mark.parametrize("kind", KINDS)
def test_damping_gives_no_momentum(kind: str) -> None:
    """C of translations and rotations of a strained element is 0, so C^T z has no force and no torque."""
    group, rest = _make(kind)
    forces = Forces([group], len(rest))
    for x, v in _states(kind, rest):
        forces.factor(x, 0.0, STEP)
        C = _matrix(forces)
        scale = np.abs(C @ v.reshape(-1)).max()
        turns = [np.cross(axis, x) for axis in np.eye(3)[2 if "plane" in kind else 0 :]]
        for motion in [np.broadcast_to(axis, x.shape) for axis in np.eye(3)] + turns:
            assert np.abs(C @ motion.reshape(-1)).max() < 1e-12 * scale


@pytest.mark.parametrize("kind", KINDS)
def test_the_factor_with_implicit_stiffness(kind: str) -> None:
    """C^T C = dt (-D) + dt^2 K+: the stiffness of every element by finite differences of its force, without its
    negative values; the bends of a triangle are one element."""
    group, rest = _make(kind)
    forces = Forces([group], len(rest))
    n, h = rest.size, 1e-6
    for x, _ in _states(kind, rest):
        forces.factor(x, 0.0, STEP)
        D = _matrix(forces)
        forces.factor(x, STEP * STEP, STEP)
        C = _matrix(forces)
        found = (C.T @ C - D.T @ D) / STEP**2
        K = np.zeros((n, n))
        for element in _elements(group):
            alone = Forces([element], len(rest))

            def force(y: np.ndarray, alone: Forces = alone) -> np.ndarray:
                out = np.zeros_like(y)
                alone.measure(y, out)
                return out.reshape(-1)

            units = np.eye(n).reshape(n, -1, 3)
            own = np.stack([(force(x - h * u) - force(x + h * u)) / (2 * h) for u in units], axis=1)
            K += _positive(0.5 * (own + own.T), group, kind)
        used = np.flatnonzero(np.tile([True, True, "plane" not in kind], len(rest)))
        found, K = found[np.ix_(used, used)], K[np.ix_(used, used)]
        assert np.abs(found - K).max() < 2e-5 * np.abs(K).max()


def _elements(group: Any) -> list[Any]:
    """The elements of a group, each as a group."""
    _, element = np.unique(group.nodes, axis=0, return_inverse=True)
    return [type(group)(*(a[element.reshape(-1) == i] for a in group)) for i in range(element.max() + 1)]


def _positive(K: np.ndarray, group: Any, kind: str) -> np.ndarray:
    """K without the negative values it has as a function of F; of springs, of their own coordinates."""
    if isinstance(group, Springs):
        value, vector = np.linalg.eigh(K)
        return np.asarray((vector * np.maximum(value, 0.0)) @ vector.T)
    # K = B^T A B with F = B x: A by the pseudoinverse of B
    axes = {"solid": 3}.get(kind, 2)
    B = np.zeros((3 * axes, K.shape[0]))
    for a, gradient in enumerate(group.gradient[0]):
        for i in range(3):
            for j in range(axes):
                B[axes * i + j, 3 * a + i] = gradient[j]
    inverse = np.linalg.pinv(B)
    value, vector = np.linalg.eigh(inverse.T @ K @ inverse)
    return np.asarray(B.T @ (vector * np.maximum(value, 0.0)) @ vector.T @ B)


def test_damping_in_the_frame_of_the_element_alone_would_turn_it() -> None:
    """Steps 1 to 7 of thesis 5.5.1 as they are printed: at rest the same force, on a strained element a torque."""
    group, rest = _make("solid")
    mu, lam = group.mu[0], group.lam[0]

    def thesis(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        F = np.einsum("ai,aj->ij", x, group.gradient[0])
        U, s, Vt = np.linalg.svd(F)
        rate = U.T @ np.einsum("ai,aj->ij", v, group.gradient[0]) @ Vt.T
        P = U @ (lam * np.trace(rate) * np.eye(3) + mu * (rate + rate.T)) @ Vt
        return np.asarray(group.damping[0] * group.volume[0] * group.gradient[0] @ P.T)

    def ours(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        forces = Forces([group], len(x))
        forces.factor(x, 0.0, 1.0)
        C = _matrix(forces)
        return np.asarray((C.T @ (C @ v.reshape(-1))).reshape(-1, 3))

    make: Callable[..., np.ndarray] = np.random.default_rng(1).normal
    v = make(size=rest.shape)
    R = np.linalg.qr(make(size=(3, 3)))[0]
    R *= np.linalg.det(R)
    assert np.allclose(thesis(rest @ R.T, v), ours(rest @ R.T, v))
    x = rest * np.array([1.4, 0.7, 1.0])
    torque = [np.abs(np.cross(x, force(x, v)).sum(axis=0)).max() for force in (thesis, ours)]
    assert torque[0] > 0.05 * np.abs(thesis(x, v)).max() and torque[1] < 1e-12
