"""Energies, gradients and Hessians of every element against finite differences, patch tests, factors."""

from __future__ import annotations

import numpy as np
import pytest

from undertow.errors import UserError
from undertow.soft import Elastic, SoftBodies, make_altitudes, make_bending, make_edges, make_membrane, make_solid
from undertow.soft.assembly import Forces
from undertow.soft.implicit import ElasticRows, NodeBlock
from undertow.soft.materials import cell_volumes, find_hinges
from undertow.soft.meshes import edges_of, grid_tetrahedra, grid_triangles

TETRAHEDRON = np.array([[0.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.2, 0.9, 0.1], [0.1, 0.2, 1.1]])
TRIANGLE = np.array([[0.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.3, 0.8, 0.0]])
MODELS = ("stvk", "neo_hookean", "corotated")


def _forces(kind: str, model: str = "stvk") -> tuple[Forces, np.ndarray]:
    """Forces of one element, and its positions at rest."""
    material = Elastic(youngs_modulus=3.0, poisson_ratio=0.3, model=model)
    if kind == "solid":
        x = TETRAHEDRON
        group = make_solid("e", x, np.array([[0, 1, 2, 3]]), material)[1]
    elif kind == "plane":
        x = TRIANGLE
        group = make_solid("e", x, np.array([[0, 1, 2]]), material)[1]
    elif kind == "membrane":
        x = TRIANGLE
        group = make_membrane("e", x, np.array([[0, 1, 2]]), material, 0.5)[1]
    elif kind == "edge":
        x = TRIANGLE[:2]
        group = make_edges("e", x, np.array([[0, 1]]), 2.0)
    elif kind == "angle":
        x = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.4, 0.7, 0.3], [0.5, -0.8, 0.2]])
        group = make_bending("e", x, np.array([[0, 1, 2], [1, 0, 3]]), 2.0)
    elif kind == "altitude":
        x = TETRAHEDRON
        group = make_altitudes("e", x, np.array([[0, 1, 2, 3]]), 2.0)
    else:
        x = TRIANGLE
        group = make_altitudes("e", x, np.array([[0, 1, 2]]), 2.0)
    return Forces([group], len(x)), x


CASES = [(kind, model) for kind in ("solid", "plane", "membrane") for model in MODELS]
CASES += [(kind, "") for kind in ("edge", "angle", "altitude", "altitude_plane")]


def _states(kind: str, rest: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Positions: near rest, far from it, turned, inverted, nearly flat."""
    noise = rng.normal(size=rest.shape)
    flat = np.array([1.0, 1.0, 0.0 if "plane" in kind else 1.0])
    states = [rest + 0.05 * flat * noise, rest + 0.6 * flat * noise, 1.7 * rest + 0.1 * flat * noise]
    mirrored = rest * np.array([-1.0, 1.0, 1.0]) + 0.1 * flat * noise
    squashed = rest * np.array([1.0, 0.02, 1.0]) + 1e-3 * flat * noise
    return [*states, mirrored, squashed]


@pytest.mark.parametrize(("kind", "model"), CASES)
def test_gradient_and_hessian(kind: str, model: str) -> None:
    forces, rest = _forces(kind, model or "stvk")
    rng = np.random.default_rng(4)
    f, plus, minus = np.zeros_like(rest), np.zeros_like(rest), np.zeros_like(rest)
    h = 1e-6
    for x in _states(kind, rest, rng):
        d = rng.normal(size=rest.shape)
        if "plane" in kind:
            d[:, 2] = 0.0
        forces.measure(x, f)
        after, before = forces.measure(x + h * d, plus), forces.measure(x - h * d, minus)
        slope = (after - before) / (2 * h)
        scale = np.abs(plus - minus).max() / h + np.abs(f).max()
        assert -(f * d).sum() == pytest.approx(slope, abs=1e-7 * max(1.0, scale))
        found = forces.apply_hessian(x, d)
        expected = -(plus - minus) / (2 * h)
        assert np.abs(found - expected).max() <= 2e-5 * np.abs(expected).max() + 1e-7


@pytest.mark.parametrize("model", MODELS)
def test_degenerate_states_are_finite_and_projected_stiffness_is_positive(model: str) -> None:
    forces, rest = _forces("solid", model)
    f = np.zeros_like(rest)
    matrix = forces.make_matrix()
    for squash in (
        (1.0, 1.0, 0.0),
        (1.0, 0.0, 0.0),
        (0.0, 0.0, 0.0),
        (1.0, 1.0, -1.0),
        (-1.0, 1.0, 1.0),
        (3.0, 0.1, -2.0),
        # the projection of the stretches let these pass as positive
        (71.0, 46.0, 4.3e-3),
        (71.0, 4.3e-3, 46.0),
        (4.3e-3, 71.0, 46.0),
    ):
        x = rest * np.array(squash)
        assert np.isfinite(forces.measure(x, f)) and np.isfinite(f).all()
        assert np.abs(f.sum(axis=0)).max() <= 1e-12 * max(1.0, np.abs(f).max())
        forces.assemble(x, 1.0, 0.0, matrix)
        dense = matrix.reshape(4, 4, 3, 3).transpose(0, 2, 1, 3).reshape(12, 12)
        values = np.linalg.eigvalsh(dense)
        assert np.isfinite(values).all() and values.min() >= -1e-10 * max(1.0, values.max())


def test_bounded_stiffness_of_neo_hookean_tetrahedra() -> None:
    """In closed form: the whole stiffness where that is positive, positive where it is not, the projected one where
    elements are squeezed by much."""
    forces, rest = _forces("solid", "neo_hookean")
    rng = np.random.default_rng(9)
    bounded, whole, projected = (forces.make_matrix() for _ in range(3))
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    lowest = []
    for size in (1.04, 0.97, 0.95, 0.5):
        for _ in range(5):
            noise = (0.01 if size > 1 else 0.04) * rng.normal(size=rest.shape)
            x = (size * rest + noise) @ (np.linalg.det(turn) * turn).T
            forces.assemble(x, 1.0, 0.0, bounded, bounded=True)
            forces.assemble(x, 1.0, 0.0, whole, project=False)
            forces.assemble(x, 1.0, 0.0, projected)
            values = [
                np.linalg.eigvalsh(m.reshape(4, 4, 3, 3).transpose(0, 2, 1, 3).reshape(12, 12))
                for m in (bounded, whole)
            ]
            top = values[0].max()
            assert values[0].min() > -1e-12 * top
            if size > 1:
                assert np.allclose(bounded, whole, rtol=0, atol=1e-12 * top)
            elif size < 0.9:
                assert np.array_equal(bounded, projected)
            else:
                lowest.append(values[1].min() / top)
                assert np.abs(bounded - projected).max() < 0.05 * top
    assert min(lowest) < -1e-3


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dimensions", [2, 3])
def test_patch(model: str, dimensions: int) -> None:
    """A constant deformation gradient gives the stress of the formula and no force on inner nodes."""
    material = Elastic(youngs_modulus=2.0, poisson_ratio=0.3, model=model)
    rng = np.random.default_rng(1)
    if dimensions == 3:
        x, cells = grid_tetrahedra((1.0, 1.0, 1.0), (3, 3, 3))
    else:
        x, cells = grid_triangles((1.0, 1.0), (3, 3))
    inner = (np.abs(x[:, :dimensions]) < 0.49).all(axis=1)
    x[inner, :dimensions] += 0.05 * rng.normal(size=(inner.sum(), dimensions))
    _, group = make_solid("patch", x, cells, material)
    F = np.eye(3)
    F[:dimensions, :dimensions] += 0.2 * rng.normal(size=(dimensions, dimensions))
    f = np.zeros_like(x)
    forces = Forces([group], len(x))
    energy = forces.measure(x @ F.T, f)
    assert np.abs(f[inner]).max() < 1e-14
    mu, lam = material.lame
    C, J = F.T @ F, np.linalg.det(F)
    if model == "stvk":
        E = 0.5 * (C - np.eye(3))
        psi, P = mu * (E * E).sum() + 0.5 * lam * np.trace(E) ** 2, F @ (2 * mu * E + lam * np.trace(E) * np.eye(3))
    elif model == "neo_hookean":
        psi = 0.5 * mu * (np.trace(C) - 3) - mu * np.log(J) + 0.5 * lam * np.log(J) ** 2
        P = mu * F + (lam * np.log(J) - mu) * np.linalg.inv(F).T
    else:
        U, s, Vt = np.linalg.svd(F)
        psi = mu * ((s - 1) ** 2).sum() + 0.5 * lam * (J - 1) ** 2
        P = 2 * mu * (F - U @ Vt) + lam * (J - 1) * J * np.linalg.inv(F).T
    assert energy == pytest.approx(psi, rel=1e-12)
    # the virial of the forces is the stress times the volume
    virial = -np.einsum("ni,nj->ij", f, x)
    assert np.abs(virial - P)[:dimensions, :dimensions].max() < 1e-12


def _cloth() -> SoftBodies:
    x, triangles = grid_triangles((1.0, 1.0), (3, 2), crossed=False)
    material = Elastic(youngs_modulus=100.0, damping=0.02, model="stvk")
    mass, membrane = make_membrane("cloth", x, triangles, material, 0.01)
    groups = [
        membrane,
        make_bending("cloth", x, triangles, 0.3, 0.05),
        make_edges("cloth", x, edges_of(triangles), 0.4, 0.1),
    ]
    bodies = SoftBodies()
    bodies.add("cloth", x, mass, groups, triangles, triangles)
    bodies.x += 0.1 * np.random.default_rng(2).normal(size=x.shape)
    return bodies


def test_factor_is_the_root_of_the_assembled_matrix() -> None:
    """C^T C by rows and by blocks is the same, and positive semidefinite (thesis 5.5.1)."""
    bodies = _cloth()
    rows, nodes = ElasticRows(bodies.forces), NodeBlock(bodies)
    bodies.forces.factor(bodies.x, 0.3, 0.7)
    bodies.forces.assemble(bodies.x, 0.3, 0.7, rows.blocks)
    n = bodies.count
    z, by_rows, by_blocks = np.zeros(rows.shape), np.zeros((n, 3)), np.zeros((n, 3))
    w = np.random.default_rng(3).normal(size=(n, 3))
    rows.apply({"soft": w}, z)
    rows.add_transpose(z, {"soft": by_rows})
    rows.add_gram({"soft": w}, {"soft": by_blocks})
    assert np.abs(by_rows - by_blocks).max() < 1e-12 * np.abs(by_rows).max()
    diagonal, ones = np.zeros(rows.shape), np.zeros(rows.shape)
    rows.add_diagonal({"soft": nodes.inv_mass}, diagonal)
    ones[5] = 1.0
    back = np.zeros((n, 3))
    rows.add_transpose(ones, {"soft": back})
    assert diagonal[5] == pytest.approx((back * back * nodes.inv_mass).sum(), rel=1e-12)


def test_damping_does_not_resist_rotation() -> None:
    x, cells = grid_tetrahedra((1.0, 1.0, 1.0), (1, 1, 1))
    mass, group = make_solid("box", x, cells, Elastic(damping=1.0))
    forces = Forces([group], len(x))
    blocks, out = forces.make_matrix(), np.zeros_like(x)
    forces.assemble(x * np.array([1.3, 0.8, 1.1]), 0.0, 1.0, blocks)
    turning = np.cross(np.array([0.3, -0.5, 0.8]), x * np.array([1.3, 0.8, 1.1]))
    forces.add_product(blocks, turning, out)
    straining = np.zeros_like(x)
    forces.add_product(blocks, x, straining)
    assert np.abs(out).max() < 1e-10 * np.abs(straining).max()


def test_bad_meshes_are_refused() -> None:
    x, cells = grid_tetrahedra((1.0, 1.0, 1.0), (1, 1, 1))
    wrong = cells.copy()
    wrong[2] = wrong[2][[1, 0, 2, 3]]
    with pytest.raises(UserError, match="element 2 is inverted"):
        make_solid("box", x, wrong, Elastic())
    flat = x.copy()
    flat[:, 2] = 0.0
    with pytest.raises(UserError, match="without volume"):
        make_solid("box", flat, cells, Elastic())
    with pytest.raises(UserError, match="more than two triangles"):
        find_hinges("sheet", np.array([[0, 1, 2], [1, 0, 3], [0, 1, 4]]))
    with pytest.raises(UserError, match="wound opposite ways"):
        find_hinges("sheet", np.array([[0, 1, 2], [0, 1, 3]]))
    with pytest.raises(UserError, match="poisson_ratio = 0.5"):
        Elastic(poisson_ratio=0.5)
    assert cell_volumes(x, cells).sum() == pytest.approx(1.0)


def test_folds_are_counted_on_where_they_turn_over() -> None:
    """A fold that is followed in parts has the energy of its whole angle, also beyond pi; at the start of a step it is
    counted from the nearer side."""
    flat = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.4, 0.7, 0.0], [0.5, -0.8, 0.0]])
    forces = Forces([make_bending("e", flat, np.array([[0, 1, 2], [1, 0, 3]]), 2.0)], 4)
    forces.begin_step(flat)
    stiffness = []
    for degrees in range(17, 351, 17):
        angle, x = np.radians(degrees), flat.copy()
        x[3, 1:] = -0.8 * np.cos(angle), -0.8 * np.sin(angle)
        stiffness.append(2 * forces.measure(x, np.zeros_like(x)) / angle**2)
        forces.follow(x)
    assert np.allclose(stiffness, stiffness[0], rtol=1e-9)
    forces.begin_step(x)
    assert 2 * forces.measure(x, np.zeros_like(x)) == pytest.approx(stiffness[0] * (2 * np.pi - angle) ** 2, rel=1e-9)
