"""Conjugate gradients of nodes and rings by all threads at once: against elimination, same bits, loud where they
fail."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.linalg

from undertow.errors import PhysicsError
from undertow.soft.gradients import CHUNK, NO_CONTACTS, Gradients, NodeSystem, RingSystem
from undertow.soft.spread import Pattern
from undertow.soft.touching import Touching

COUNT = 4 * CHUNK - 40


def _system(rng: np.random.Generator) -> tuple[NodeSystem, Touching, sparse.csr_matrix]:
    """Springs between neighbours in a row, some nodes held, stencils between far ones; the same as a matrix."""
    n, m = COUNT, 60
    ends = np.concatenate([np.stack([np.arange(n - k), np.arange(k, n)], axis=1) for k in (1, 2, 3)])
    pattern = Pattern([ends], n)
    half = rng.normal(size=(len(ends), 3, 3))
    K = (half @ half.transpose(0, 2, 1)).reshape(-1, 9)
    blocks, slot = np.zeros((len(pattern.columns), 9)), pattern.spreads[0].slot
    for a in range(2):
        for b in range(2):
            np.add.at(blocks, slot[:, a, b], K if a == b else -K)
    mass, free = rng.uniform(1.0, 2.0, n), np.tile(np.eye(3).reshape(-1), (n, 1))
    free[::7] = 0.0
    rows = Touching()
    nodes = np.array([rng.permutation(n)[:4] for _ in range(m)])
    none = np.zeros(m)
    rows.add(nodes, rng.normal(size=(m, 4)), np.zeros((m, 3)), none, none, none)
    rows.block[:, ::4] = rng.uniform(1.0, 2.0, size=(m, 3))
    weights = sparse.kron(
        sparse.csr_matrix((rows.weight.reshape(-1), nodes.reshape(-1), np.arange(0, 4 * m + 1, 4)), shape=(m, n)),
        sparse.eye(3),
    )
    P = sparse.diags(free[:, ::4].reshape(-1))
    matrix = sparse.bsr_matrix((blocks.reshape(-1, 3, 3), pattern.columns, pattern.rows)).tocsr()
    matrix = (
        matrix + sparse.diags(np.repeat(mass, 3)) + weights.T @ sparse.diags(rows.block[:, ::4].reshape(-1)) @ weights
    )
    inverse = np.zeros((n, 9))
    inverse[:, ::4] = free[:, ::4] / matrix.diagonal().reshape(n, 3)
    return NodeSystem(pattern.rows, pattern.columns, blocks, free, mass, inverse), rows, P @ matrix @ P


@pytest.fixture
def two_threads():  # type: ignore[no-untyped-def]
    before = numba.get_num_threads()
    yield min(2, numba.config.NUMBA_NUM_THREADS)
    numba.set_num_threads(before)


def test_velocities_are_those_of_elimination_for_any_number_of_threads(two_threads: int) -> None:
    rng = np.random.default_rng(0)
    system, rows, matrix = _system(rng)
    b = (matrix @ rng.normal(size=3 * COUNT)).reshape(-1, 3)
    free = np.flatnonzero(system.free[:, ::4].reshape(-1))
    wanted = np.zeros(3 * COUNT)
    wanted[free] = scipy.sparse.linalg.spsolve(matrix[free][:, free].tocsc(), b.reshape(-1)[free])
    found = []
    for threads in (1, two_threads):
        numba.set_num_threads(threads)
        solver = Gradients(COUNT)
        solver.set_nodes(system, rows.by_node(COUNT))
        x, part = np.zeros((COUNT, 3)), np.zeros((COUNT, 3))
        stats = solver.solve(b, x, 1e-11, 2000)
        assert stats.iterations > 10 and stats.residual <= 1e-11 * np.linalg.norm(b)
        assert np.linalg.norm(b.reshape(-1) - matrix @ x.reshape(-1)) == pytest.approx(stats.residual, rel=1e-2)
        assert np.allclose(x.reshape(-1), wanted, atol=1e-8 * np.abs(wanted).max())
        few = solver.improve(b, part, 1e-11, 5)
        assert few.iterations == 5 and few.residual > stats.residual
        found.append((x, part))
    assert np.array_equal(found[0][0], found[1][0]) and np.array_equal(found[0][1], found[1][1])
    # from a guess: nothing is left to do
    assert solver.solve(b, x, 1e-10, 2000).iterations == 0


def test_pressures_are_those_of_elimination(two_threads: int) -> None:
    rng = np.random.default_rng(1)
    system, _, _ = _system(rng)
    n = COUNT
    G = sparse.bsr_matrix((rng.normal(size=(len(system.columns), 1, 3)), system.columns, system.starts)).tocsr()
    rows = G.data.reshape(-1, 3).copy()
    pattern = sparse.csr_matrix((np.arange(len(system.columns)), system.columns, system.starts), shape=(n, n))
    turned = rows[pattern.T.tocsr().data]
    inv_mass, slack = 1.0 / system.mass, rng.uniform(1.0, 2.0, n)
    A = G @ sparse.diags(system.free[:, ::4].reshape(-1) * np.repeat(inv_mass, 3)) @ G.T + sparse.diags(slack)
    inverse = 1.0 / A.diagonal()[:, None]
    b = rng.normal(size=n)
    solver, x = Gradients(n, 1), np.zeros(n)
    solver.set_rings(RingSystem(system.starts, system.columns, rows, turned, system.free, inv_mass, slack, inverse))
    numba.set_num_threads(two_threads)
    stats = solver.solve(b[:, None], x[:, None], 1e-10, 2000, 5.0)
    assert stats.scale == 5.0 and np.allclose(x, scipy.sparse.linalg.spsolve(A.tocsc(), b), atol=1e-8)


def test_what_cannot_be_solved_is_said() -> None:
    system, _, _ = _system(np.random.default_rng(2))
    solver, x, b = Gradients(COUNT), np.zeros((COUNT, 3)), np.ones((COUNT, 3)) * system.free[:, ::4]
    solver.set_nodes(system, NO_CONTACTS)
    with pytest.raises(PhysicsError, match="iteration limit reached after 3"):
        solver.solve(b, x, 1e-10, 3)
    with pytest.raises(PhysicsError, match="right-hand side is not finite"):
        solver.improve(np.full_like(b, np.nan), x, 1e-10, 3)
    solver.set_nodes(system._replace(blocks=-system.blocks, mass=-system.mass), NO_CONTACTS)
    x[...] = 0.0
    with pytest.raises(PhysicsError, match="not positive"):
        solver.solve(b, x, 1e-10, 100)
