"""Rigid blocks of the coupled system against dense linear algebra."""

import numpy as np
import pytest

from undertow.linalg import CoupledSystem, VelocityBlock
from undertow.linalg.coupled import DenseBlock
from undertow.rigid.bodies import RigidBodies, rotation_matrix_of
from undertow.rigid.rows import BLOCK, COMPLIANCE, BandedFactor, JointRows, RigidVelocities, sweep_pairwise

VELOCITIES = {"fluid": (2, 7), "bodies": (3, 6)}


class DenseRows:
    """Rows given by one matrix per velocity block."""

    stencil = None

    def __init__(self, name, count, seed, damping=False, folded=False):
        rng = np.random.default_rng(seed)
        self.name, self.shape, self.damping, self.folded = name, (count,), damping, folded
        self.matrices = {v: rng.standard_normal((count, int(np.prod(s)))) for v, s in VELOCITIES.items()}
        self.target = rng.standard_normal(count)

    def apply(self, w, out):
        out[...] = sum(m @ w[v].reshape(-1) for v, m in self.matrices.items())

    def add_transpose(self, z, w):
        for v, m in self.matrices.items():
            w[v] += (m.T @ z).reshape(w[v].shape)

    def add_diagonal(self, inv_mass, out):
        out += self.matrices["fluid"] ** 2 @ inv_mass["fluid"].reshape(-1)
        k = self.matrices["bodies"].reshape(-1, 3, 6)
        out += np.einsum("rbi,bij,rbj->r", k, inv_mass["bodies"], k)

    def add_gram(self, w, out):
        z = np.zeros(self.shape)
        self.apply(w, z)
        self.add_transpose(z, out)

    def add_gram_diagonal(self, w):
        for v, m in self.matrices.items():
            w[v] += (m**2).sum(axis=0).reshape(w[v].shape)

    @property
    def dense(self):
        return np.hstack([self.matrices[v] for v in VELOCITIES])


def _turn(rng):
    q = rng.standard_normal(4)
    return q / np.linalg.norm(q)


def _make_blocks(prescribed):
    """A diagonal block and one of three bodies; prescribed: some faces, one whole body, one body free about z alone."""
    rng = np.random.default_rng(7)
    inv_mass = rng.uniform(0.2, 3.0, VELOCITIES["fluid"])
    dense = np.zeros((3, 6, 6))
    for b in range(3):
        R = rotation_matrix_of(_turn(rng))
        dense[b, :3, :3] = np.eye(3) * rng.uniform(0.5, 2.0)
        dense[b, 3:, 3:] = R @ np.diag(rng.uniform(0.5, 5.0, 3)) @ R.T
    if prescribed:
        inv_mass.reshape(-1)[::4] = 0.0
        dense[1] = 0.0
        dense[2, 3:5] = 0.0
        dense[2, :, 3:5] = 0.0
    return [VelocityBlock("fluid", inv_mass), DenseBlock("bodies", dense)]


def _inverse_mass_matrix(blocks):
    whole = np.zeros((32, 32))
    whole[:14, :14] = np.diag(blocks[0].inv_mass.reshape(-1))
    for b in range(3):
        part = slice(14 + 6 * b, 20 + 6 * b)
        whole[part, part] = blocks[1].inv_mass[b]
    return whole


@pytest.mark.parametrize("prescribed", [False, True])
@pytest.mark.parametrize(
    ("kinds", "reduction"),
    [
        ("c", "dual"), ("d", "dual"), ("cd", "dual"), ("f", "primal"), ("ff", "primal"),
        ("cf", "saddle"), ("cdf", "saddle"),
    ],
)  # fmt: skip
def test_reductions_of_diagonal_and_dense_masses_equal_dense_solution(kinds, reduction, prescribed):
    """c: constraint, d: dual damping, f: folded damping."""
    blocks = _make_blocks(prescribed)
    rows = [DenseRows(f"row{i}", 4, seed=i, damping=k != "c", folded=k == "f") for i, k in enumerate(kinds)]
    rng = np.random.default_rng(3)
    w = {name: rng.standard_normal(shape) for name, shape in VELOCITIES.items()}
    z = {row.name: np.zeros(row.shape) for row in rows}
    w_star = np.concatenate([w[name].reshape(-1) for name in VELOCITIES])
    k, inverse = np.vstack([row.dense for row in rows]), _inverse_mass_matrix(blocks)
    p = np.diag(np.concatenate([np.full(row.shape, float(row.damping)) for row in rows]))
    expected_z = np.linalg.solve(k @ inverse @ k.T + p, k @ w_star - np.concatenate([row.target for row in rows]))
    stats = CoupledSystem(blocks, rows).solve(w, z, 1e-11)
    found = np.concatenate([w[n].reshape(-1) for n in VELOCITIES])
    assert stats.reduction == reduction
    np.testing.assert_allclose(found, w_star - inverse @ (k.T @ expected_z), atol=1e-8)
    np.testing.assert_allclose(np.concatenate([z[row.name] for row in rows]), expected_z, atol=1e-8)
    held = np.diag(inverse) == 0
    np.testing.assert_array_equal(found[held], w_star[held])


def test_dense_block_diagonals_are_those_of_the_folded_mass():
    blocks = _make_blocks(True)
    rng = np.random.default_rng(2)
    added, work = rng.uniform(0.1, 2.0, (3, 6)), np.zeros((3, 6))
    diagonal = added.copy()
    inverse = blocks[1].fold_diagonal(diagonal, work)
    mass = np.linalg.inv(blocks[1].inv_mass[0]) + np.diag(added[0])
    np.testing.assert_allclose(diagonal[0], np.diag(mass), rtol=1e-12)
    np.testing.assert_allclose(inverse[0], np.linalg.inv(mass), atol=1e-12)
    assert not diagonal[1].any() and not inverse[1].any()
    assert not diagonal[2, 3:5].any() and not inverse[2, 3:5].any()
    free = [0, 1, 2, 5]
    mass = np.linalg.inv(blocks[1].inv_mass[2][np.ix_(free, free)]) + np.diag(added[2, free])
    np.testing.assert_allclose(inverse[2][np.ix_(free, free)], np.linalg.inv(mass), atol=1e-12)


def _make_chain(loop, each=4):
    """Six bodies, the third static, joined to their neighbours by ``each`` rows; a world joint; perhaps a loop."""
    rng = np.random.default_rng(11)
    bodies = RigidBodies()
    for b in range(6):
        mass = 0.0 if b == 2 else rng.uniform(0.5, 2.0)
        inertia = rng.uniform(0.3, 1.0, 3)
        bodies.add(f"b{b}", 0, rng.standard_normal(3), _turn(rng), mass, inertia)
    pairs = [(-1, 0), (3, 4), (0, 1), (1, 2), (2, 3), (4, 5), *([(5, 0)] if loop else [])]
    start = np.arange(len(pairs) + 1, dtype=np.int64) * each
    rows = JointRows(start, np.repeat(np.array(pairs, dtype=np.int64), each, axis=0))
    rows.k[...] = rng.standard_normal(rows.k.shape)
    block = RigidVelocities(bodies.count)
    block.set_masses(bodies)
    return bodies, rows, block


def _dense(rows, block):
    k = np.zeros((len(rows.weight), 6 * len(block.inv_mass)))
    for r, pair in enumerate(rows.body):
        for side, b in enumerate(pair):
            if b >= 0:
                k[r, 6 * b : 6 * b + 6] = rows.weight[r] * rows.k[r, side]
    inverse = np.zeros((k.shape[1], k.shape[1]))
    for b, part in enumerate(block.inv_mass):
        inverse[6 * b : 6 * b + 6, 6 * b : 6 * b + 6] = part
    return k, inverse


def test_masses_of_bodies():
    bodies, _, block = _make_chain(False)
    assert not block.inv_mass[2].any()
    R = rotation_matrix_of(bodies.q_b[4])
    inertia = R @ np.diag(bodies.inertia_b[4]) @ R.T
    np.testing.assert_allclose(block.inv_mass[4, 3:, 3:], np.linalg.inv(inertia), atol=1e-13)
    np.testing.assert_allclose(block.inv_mass[4, :3, :3], np.eye(3) / bodies.mass_b[4], rtol=1e-15)


@pytest.mark.parametrize("loop", [False, True])
def test_rows_and_their_factor_equal_dense_matrices(loop):
    _, rows, block = _make_chain(loop)
    rng = np.random.default_rng(1)
    rows.weight[...] = rng.uniform(0.5, 2.0, len(rows.weight))
    rows.weight[5] = 0.0
    k, inverse = _dense(rows, block)
    w, z = rng.standard_normal((6, 6)), rng.standard_normal(len(rows.weight))
    out, transposed, diagonal = np.zeros_like(z), np.zeros((6, 6)), np.zeros_like(z)
    rows.apply({BLOCK: w}, out)
    rows.add_transpose(z, {BLOCK: transposed})
    rows.add_diagonal({BLOCK: block.inv_mass}, diagonal)
    np.testing.assert_allclose(out, k @ w.reshape(-1), atol=1e-13)
    np.testing.assert_allclose(transposed.reshape(-1), k.T @ z, atol=1e-13)
    np.testing.assert_allclose(diagonal, np.diag(k @ inverse @ k.T), atol=1e-12)
    factor = BandedFactor(rows, np.arange(6) != 2)
    factor.setup(block.inv_mass)
    factor.apply(z, out)
    np.testing.assert_allclose(out, np.linalg.solve(k @ inverse @ k.T + np.eye(len(z)), z), atol=1e-11)


def test_band_of_a_long_chain_is_narrow():
    links = 200
    pairs = np.array([(b - 1, b) for b in range(links)], dtype=np.int64)
    order = np.random.default_rng(0).permutation(links)
    start = np.arange(links + 1, dtype=np.int64) * 6
    rows = JointRows(start, np.repeat(pairs[order], 6, axis=0))
    assert BandedFactor(rows, np.ones(links, dtype=bool)).half < 24


def test_global_and_pairwise_solves_agree_with_the_pseudo_inverse():
    """Redundant rows (one doubled) of a constraint: the least impulses that meet it."""
    _, rows, block = _make_chain(True, each=3)
    rows.k[7] = rows.k[6]
    rows.constrain(np.ones(len(rows.weight), dtype=bool), block.inv_mass)
    k, inverse = _dense(rows, block)
    a = k @ inverse @ k.T
    np.testing.assert_allclose(np.diag(a), 1 / COMPLIANCE, rtol=1e-9)
    rng = np.random.default_rng(5)
    start = rng.standard_normal((6, 6))
    expected = start.reshape(-1) - inverse @ k.T @ (np.linalg.pinv(a, rcond=1e-12) @ (k @ start.reshape(-1)))
    factor = BandedFactor(rows, np.arange(6) != 2)
    factor.setup(block.inv_mass)
    system = CoupledSystem([block], [rows], {rows.name: factor})
    w, z = start.copy(), np.zeros(len(rows.weight))
    for _ in range(3):  # what the compliance leaves is removed by repetition
        z[...] = 0.0
        stats = system.solve({BLOCK: w}, {rows.name: z}, 1e-6)
        assert stats.iterations <= 2
    np.testing.assert_allclose(w.reshape(-1), expected, atol=1e-7)
    w, z = start.copy(), np.zeros(len(rows.weight))
    for _ in range(1000):
        change = sweep_pairwise(rows, block.inv_mass, w, z)
    assert change < 1e-8
    np.testing.assert_allclose(w.reshape(-1), expected, atol=1e-6)
    np.testing.assert_array_equal(w[2], start[2])
