"""The structured operator, its overlay and its regions against dense matrices and brute force."""

import numpy as np
import pytest

from undertow.benchmarks.poisson import make_stencil
from undertow.grid import GHOSTS, Grid
from undertow.linalg import Overlay, Stencil


def to_dense(operator, size, ids):
    """The matrix of ``operator`` restricted to the entries ``ids``."""
    out = np.zeros((len(ids), len(ids)))
    for m, c in enumerate(ids):
        e, column = np.zeros(size), np.zeros(size)
        e[c] = 1.0
        operator.apply(e, column)
        out[:, m] = column[ids]
    return out


def assemble(stencil):
    """The same operator face by face, in plain Python loops."""
    grid, (pz, py, px) = stencil.grid, stencil.grid.padded
    number = np.arange(px * py * pz).reshape(pz, py, px)
    a = np.zeros((stencil.size, stencil.size))
    for axis in grid.axes:
        for index in np.ndindex(*grid.cells[::-1]):
            c = tuple(i + GHOSTS for i in index)
            low = list(c)
            if index[2 - axis] == 0:
                low[2 - axis] = GHOSTS + grid.cells[axis] - 1
            else:
                low[2 - axis] -= 1
            value = stencil.face_f[(axis, *c)]
            if index[2 - axis] == 0 and not stencil.periodic[axis]:
                value = 0.0
            p, q = number[c], number[tuple(low)]
            a[p, p] += value
            a[q, q] += value
            a[p, q] -= value
            a[q, p] -= value
    return a + np.diag(np.append(stencil.dirichlet_c.reshape(-1), np.zeros(stencil.overlay.copies)))


CASES = [
    ((5, 4, 3), 3, (False, False, False)),
    ((5, 4, 3), 3, (True, False, True)),
    ((6, 5, 1), 2, (False, False, False)),
    ((6, 5, 1), 2, (True, True, False)),
]


@pytest.mark.parametrize(("cells", "dimensions", "periodic"), CASES)
def test_apply_and_diagonal_equal_assembled_matrix(cells, dimensions, periodic):
    grid = Grid(cells, 0.1, dimensions=dimensions)
    stencil = make_stencil(grid, periodic)
    ids = np.arange(stencil.size)
    expected = assemble(stencil)
    a = to_dense(stencil, stencil.size, ids)
    np.testing.assert_allclose(a, expected, atol=1e-13)
    np.testing.assert_array_equal(a, a.T)
    np.testing.assert_allclose(stencil.diagonal, np.diag(expected), atol=1e-13)


def test_overlay_of_a_duplicated_cell():
    """A cell cut by a shell in two copies: its right and upper neighbours see the second copy."""
    grid = Grid((4, 4, 1), 0.25, dimensions=2)
    whole = make_stencil(grid, solid=False, air=False)
    pz, py, px = grid.padded
    number = np.arange(px * py * pz).reshape(pz, py, px)
    k, j, i = GHOSTS, GHOSTS + 1, GHOSTS + 1
    cell, right, above, copy = number[k, j, i], number[k, j, i + 1], number[k, j + 1, i], number.size
    right_mass, above_mass = whole.face_f[0, k, j, i + 1], whole.face_f[1, k, j + 1, i]
    overlay = Overlay(
        np.array([copy, copy, copy]), np.array([right, above, -1]), np.array([right_mass, above_mass, 0.7]), copies=1
    )
    stencil = Stencil(grid, overlay=overlay)
    stencil.face_f[...] = whole.face_f
    stencil.face_f[0, k, j, i + 1] = 0.0
    stencil.face_f[1, k, j + 1, i] = 0.0
    stencil.setup()
    expected = np.zeros((stencil.size, stencil.size))
    expected[:-1, :-1] = assemble(whole)
    for other, mass in ((right, right_mass), (above, above_mass)):
        expected[cell, cell] -= mass
        expected[cell, other] += mass
        expected[other, cell] += mass
        expected[copy, copy] += mass
        expected[copy, other] -= mass
        expected[other, copy] -= mass
    expected[copy, copy] += 0.7
    np.testing.assert_allclose(to_dense(stencil, stencil.size, np.arange(stencil.size)), expected, atol=1e-13)
    np.testing.assert_allclose(stencil.diagonal, np.diag(expected), atol=1e-13)
    assert stencil.regions == 1 and stencil.label[copy] == 1


@pytest.mark.parametrize(("cells", "dimensions", "periodic"), CASES)
def test_regions_equal_flood_fill(cells, dimensions, periodic):
    scipy_graph = pytest.importorskip("scipy.sparse.csgraph")
    for seed in range(5):
        grid = Grid(cells, 0.1, dimensions=dimensions)
        stencil = make_stencil(grid, periodic, air=False)
        rng = np.random.default_rng(seed)
        for axis in grid.axes:
            closed = rng.random(grid.padded) < 0.55
            stencil.face_f[axis][closed] = 0.0
            low, high = [slice(None)] * 3, [slice(None)] * 3
            low[2 - axis], high[2 - axis] = GHOSTS, GHOSTS + grid.cells[axis]
            stencil.face_f[axis][tuple(high)] = stencil.face_f[axis][tuple(low)]
        stencil.setup()
        a = assemble(stencil)
        active = np.diag(a) > 0
        _, expected = scipy_graph.connected_components(a != 0, directed=False)
        np.testing.assert_array_equal(stencil.label > 0, active)
        pairs = set(zip(stencil.label[active], expected[active], strict=True))
        assert len(pairs) == stencil.regions == len(set(expected[active]))


def test_wrong_sizes_are_named():
    stencil = make_stencil(Grid((4, 4, 4), 0.25))
    with pytest.raises(ValueError, match="the operator has 1000"):
        stencil.apply(np.zeros(7), np.zeros(7))
