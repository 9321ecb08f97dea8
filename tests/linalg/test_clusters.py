"""Clusters of stiff links: the cycle is symmetric positive, exact on constants over clusters, and few iterations."""

import numpy as np
import pytest

from undertow.grid import GHOSTS, Grid
from undertow.linalg import ClusterCycle, ConjugateGradients, Multigrid, Stencil


def stiff_stencil(grid, blocks, stiffness=1e3):
    """Links of 1 between all cells, and of ``stiffness`` inside blocks of cells (first, last) along every axis."""
    stencil = Stencil(grid)
    inside = np.zeros(grid.padded, dtype=int)
    for number, (first, last) in enumerate(blocks, start=1):
        index = tuple(slice(a + GHOSTS, b + GHOSTS) for a, b in zip(first[::-1], last[::-1], strict=True))
        inside[index] = number
    for axis in grid.axes:
        low = np.roll(inside, 1, axis=2 - axis)
        inner = list(grid.interior)
        inner[2 - axis] = slice(inner[2 - axis].start + 1, inner[2 - axis].stop)
        face = np.where((inside == low) & (inside > 0), stiffness, 1.0)
        stencil.face_f[axis][tuple(inner)] = face[tuple(inner)]
    stencil.setup()
    return stencil, inside


BLOCKS = [((1, 1, 0), (3, 3, 1)), ((4, 2, 0), (6, 5, 1)), ((7, 6, 0), (9, 7, 1))]


def test_cycle_is_symmetric_positive_and_exact_for_constants_over_clusters():
    grid = Grid((10, 8, 1), 0.1, dimensions=2)
    stencil, inside = stiff_stencil(grid, BLOCKS)
    stencil.dirichlet_c[grid.interior][0, 0] = 1.0
    stencil.setup()
    cycle = ClusterCycle(Multigrid(grid), 3.0)
    cycle.setup(stencil)
    assert cycle.count == 3
    ids = np.flatnonzero(stencil.diagonal > 0)
    m = np.zeros((len(ids), len(ids)))
    for column, c in enumerate(ids):
        e, out = np.zeros(stencil.size), np.zeros(stencil.size)
        e[c] = 1.0
        cycle.apply(e, out)
        m[:, column] = out[ids]
    np.testing.assert_allclose(m, m.T, rtol=0, atol=1e-12 * np.abs(m).max())
    assert np.linalg.eigvalsh(m).min() > 0
    for number in (1, 2, 3):
        constant, mapped, back = ((inside == number) * 1.0).reshape(-1), np.zeros(stencil.size), np.zeros(stencil.size)
        stencil.apply(constant, mapped)
        cycle.apply(mapped, back)
        np.testing.assert_allclose(back, constant, atol=1e-9)


def test_a_closed_region_of_clusters_alone_is_left_to_the_cycle():
    """Their sum is a null vector: what is solved for is compatible with it."""
    grid = Grid((8, 4, 1), 0.1, dimensions=2)
    stencil, _ = stiff_stencil(grid, [((0, 0, 0), (4, 4, 1)), ((4, 0, 0), (8, 4, 1))])
    cycle = ClusterCycle(Multigrid(grid), 3.0)
    cycle.setup(stencil)
    assert cycle.count == 2
    b = grid.cell_field()
    b[grid.interior] = np.arange(32.0).reshape(1, 4, 8) - 15.5
    x = np.zeros(stencil.size)
    stats = ConjugateGradients(stencil.size).solve(stencil, b.reshape(-1), x, 1e-10, 100, cycle)
    assert stats.iterations < 15


@pytest.mark.parametrize("stiffness", [1e2, 1e4])
def test_many_stiff_clusters_take_few_iterations(stiffness):
    grid = Grid((32, 32, 32), 1.0)
    blocks = [((a, b, c), (a + 5, b + 5, c + 5)) for a in (3, 13, 23) for b in (3, 13, 23) for c in (3, 13, 23)]
    stencil, _ = stiff_stencil(grid, blocks, stiffness)
    b = grid.cell_field()
    b[grid.interior] = np.random.default_rng(0).standard_normal((32, 32, 32))
    b[grid.interior] -= b[grid.interior].mean()
    count = []
    for stiff in (np.inf, 3.0):
        cycle, x = ClusterCycle(Multigrid(grid), stiff), np.zeros(stencil.size)
        cycle.setup(stencil)
        count.append(ConjugateGradients(stencil.size).solve(stencil, b.reshape(-1), x, 1e-6, 200, cycle).iterations)
    assert count[1] <= 25
    assert count[1] < 0.75 * count[0]


def test_without_stiff_links_the_cycle_is_that_of_multigrid():
    grid = Grid((12, 8, 1), 0.1, dimensions=2)
    stencil, _ = stiff_stencil(grid, [])
    plain, cycle = Multigrid(grid), ClusterCycle(Multigrid(grid), 3.0)
    plain.setup(stencil)
    cycle.setup(stencil)
    r, a, b = grid.cell_field(), grid.cell_field(), grid.cell_field()
    r[grid.interior] = np.random.default_rng(1).standard_normal((1, 8, 12))
    plain.apply(r, a)
    cycle.apply(r, b)
    assert np.array_equal(a, b)
