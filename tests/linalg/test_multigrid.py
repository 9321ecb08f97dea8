"""The V-cycle: symmetric and positive, few iterations whatever the geometry, the same bits for any thread count."""

import numba
import numpy as np
import pytest

from undertow.benchmarks.poisson import make_right_hand_side, make_stencil
from undertow.grid import GHOSTS, Grid
from undertow.linalg import ConjugateGradients, Identity, Multigrid
from undertow.linalg import multigrid as implementation


def iterations(stencil, multigrid, tolerance=1e-6):
    multigrid.setup(stencil)
    b = make_right_hand_side(stencil).reshape(-1)
    x = np.zeros(stencil.size)
    stats = ConjugateGradients(stencil.size).solve(stencil, b, x, tolerance, 300, multigrid)
    out = np.zeros(stencil.size)
    stencil.apply(x, out)
    assert np.linalg.norm(b - out) <= 1.01 * tolerance * np.linalg.norm(b)
    return stats.iterations


@pytest.mark.parametrize("threads_from", [0, 20000])
@pytest.mark.parametrize(
    ("cells", "dimensions", "periodic"),
    [
        ((7, 6, 5), 3, (False, False, False)), ((13, 9, 1), 2, (False, False, False)),
        ((6, 5, 4), 3, (True, True, True)), ((9, 4, 1), 2, (True, False, False)), ((5, 3, 1), 3, (False, False, True)),
    ],
)  # fmt: skip
def test_cycle_is_symmetric_positive_definite(cells, dimensions, periodic, threads_from, monkeypatch):
    """Through the serial cycle and through the threaded one (chosen by the number of cells)."""
    monkeypatch.setattr(implementation, "_SERIAL", threads_from)
    grid = Grid(cells, 0.1, dimensions=dimensions)
    stencil = make_stencil(grid, periodic, offset=0.3, air=not any(periodic))
    multigrid = Multigrid(grid, periodic)
    if threads_from == 0:
        monkeypatch.setattr(implementation, "_SERIAL", 9)
    multigrid.setup(stencil)
    ids = np.flatnonzero(stencil.diagonal > 0)
    m = np.zeros((len(ids), len(ids)))
    for column, c in enumerate(ids):
        e, out = np.zeros(stencil.size), np.zeros(stencil.size)
        e[c] = 1.0
        multigrid.apply(e, out)
        m[:, column] = out[ids]
        out[ids] = 0.0
        assert not out.any(), "ghosts and inactive cells stay zero"
    np.testing.assert_allclose(m, m.T, rtol=0, atol=1e-13 * np.abs(m).max())
    assert np.linalg.eigvalsh(m).min() > 0


@pytest.mark.parametrize("offset", [0.0, 0.3, 0.77])
@pytest.mark.parametrize("air", [False, True])
def test_iterations_are_flat_in_resolution(air, offset):
    counts = []
    for n in (12, 24, 48):
        grid = Grid((n, n, n), 1 / n)
        counts.append(iterations(make_stencil(grid, offset=offset, air=air), Multigrid(grid)))
    assert max(counts) <= 12, counts
    assert counts[2] <= 1.3 * counts[1] and counts[1] <= 1.3 * counts[0] + 1, counts


@pytest.mark.parametrize(
    ("cells", "dimensions", "periodic", "bound"),
    [
        ((128, 128, 1), 2, (False, False, False), 11),
        ((229, 43, 1), 2, (False, False, False), 12),
        ((33, 65, 17), 3, (False, False, False), 12),
        ((32, 32, 32), 3, (True, True, True), 11),
        ((48, 48, 1), 2, (True, True, False), 11),
        ((31, 23, 15), 3, (True, True, True), 18),
        ((37, 1, 1), 2, (False, False, False), 12),
    ],
)
def test_any_size_and_periodic(cells, dimensions, periodic, bound):
    grid = Grid(cells, 1 / 32, dimensions=dimensions)
    stencil = make_stencil(grid, periodic, offset=0.4, air=False, solid=min(cells[:2]) > 1)
    assert iterations(stencil, Multigrid(grid, periodic)) <= bound


def test_pockets_and_gaps():
    """Closed pockets (each singular), a wall with a hole of one cell, an almost closed wall: slower."""
    grid = Grid((32, 32, 1), 1 / 32, dimensions=2)
    pockets = make_stencil(grid, solid=False)
    hole = make_stencil(grid, solid=False)
    narrow = make_stencil(grid, solid=False)
    for index in range(5, 32, 7):
        pockets.face_f[0][:, :, GHOSTS + index] = 0.0
        pockets.face_f[1][:, GHOSTS + index, :] = 0.0
    hole.face_f[0][:, GHOSTS + 1 :, GHOSTS + 13] = 0.0
    narrow.face_f[0][:, :, GHOSTS + 13] *= 1e-6
    for stencil, bound in ((pockets, 20), (hole, 25), (narrow, 25)):
        stencil.setup()
        assert iterations(stencil, Multigrid(grid)) <= bound
    assert pockets.regions > 10


def test_small_tolerance_is_reached():
    grid = Grid((24, 24, 24), 1 / 24)
    assert iterations(make_stencil(grid, offset=0.3), Multigrid(grid), 1e-12) <= 25


@pytest.mark.parametrize(
    ("cells", "dimensions", "periodic"),
    [
        ((12, 9, 19), 3, (False, False, False)), ((13, 21, 1), 2, (False, False, False)),
        ((8, 6, 17), 3, (True, False, True)), ((9, 18, 1), 2, (False, True, False)),
    ],
)  # fmt: skip
def test_same_bits_for_any_number_of_threads(cells, dimensions, periodic, monkeypatch, handed_over):
    """More than 16 planes make two chunks; a multigrid has one for each thread there was when it was made."""
    monkeypatch.setattr(implementation, "_SERIAL", 9)
    grid = Grid(cells, 0.1, dimensions=dimensions)
    stencil = make_stencil(grid, periodic, offset=0.3, air=not any(periodic))
    b = make_right_hand_side(stencil).reshape(-1)
    results = []
    for threads in (1, 2):
        handed_over.clear()
        numba.set_num_threads(threads)
        multigrid = Multigrid(grid, periodic)
        stencil.setup()
        multigrid.setup(stencil)
        once, x = np.zeros(stencil.size), np.zeros(stencil.size)
        multigrid.apply(b, once)
        ConjugateGradients(stencil.size).solve(stencil, b, x, 1e-8, 50, multigrid)
        results.append((once, x))
        swept = {"_smooth_chunks", "_restrict_rows", "_coarsen", "_take_coefficients"}
        assert swept & set(handed_over) == (swept if threads == 2 else set()), (threads, set(handed_over))
    for one, two in zip(*results, strict=True):
        assert np.any(one) and np.all(np.isfinite(one))
        np.testing.assert_array_equal(one, two)


def test_preconditioned_equals_plain_conjugate_gradients():
    grid = Grid((9, 8, 7), 0.1)
    stencil = make_stencil(grid, offset=0.2)
    multigrid = Multigrid(grid)
    multigrid.setup(stencil)
    b = make_right_hand_side(stencil).reshape(-1)
    x, y = np.zeros(stencil.size), np.zeros(stencil.size)
    solver = ConjugateGradients(stencil.size)
    solver.solve(stencil, b, x, 1e-11, 1000, multigrid)
    solver.solve(stencil, b, y, 1e-11, 1000, Identity())
    np.testing.assert_allclose(x, y, atol=1e-7 * np.abs(y).max())


def test_stale_or_foreign_stencil_is_refused():
    grid = Grid((8, 8, 8), 0.1)
    stencil, multigrid = make_stencil(grid), Multigrid(grid)
    with pytest.raises(RuntimeError, match=r"call setup\(stencil\)"):
        multigrid.apply(grid.cell_field(), grid.cell_field())
    multigrid.setup(stencil)
    stencil.setup()
    with pytest.raises(RuntimeError, match=r"call setup\(stencil\)"):
        multigrid.apply(grid.cell_field(), grid.cell_field())
    with pytest.raises(ValueError, match="built for"):
        multigrid.setup(make_stencil(Grid((8, 8, 4), 0.1)))


def close_box(stencil, low, high):
    """Walls one face thick around the cells low ... high - 1 of every axis."""
    for axis in stencil.grid.axes:
        for at in (low, high):
            place = [slice(GHOSTS + low, GHOSTS + high)] * 3
            place[2 - axis] = slice(GHOSTS + at, GHOSTS + at + 1)
            if stencil.grid.dimensions == 2:
                place[0] = slice(None)
            stencil.face_f[axis][tuple(place)] = 0.0


def close_comb(stencil, spacing, first, gap):
    """Walls across x that leave ``gap`` cells at the top."""
    nx, ny, _ = stencil.grid.cells
    stencil.face_f[0][:, GHOSTS : GHOSTS + ny - gap, GHOSTS + first : GHOSTS + nx : spacing] = 0.0


def close_slit(stencil, at, row):
    """A wall across x with a slit of one cell."""
    stencil.face_f[0][:, : GHOSTS + row, GHOSTS + at] = 0.0
    stencil.face_f[0][:, GHOSTS + row + 1 :, GHOSTS + at] = 0.0


THIN_WALLS = {
    "box": (lambda s, n: close_box(s, n // 4 + 1, 3 * n // 4 - 1), 12),
    "box, one side on a block": (lambda s, n: close_box(s, n // 4 + 1, 3 * n // 4 - 2), 12),
    "box, blocks of blocks": (lambda s, n: close_box(s, n // 4 + 2, 3 * n // 4 - 2), 12),
    "comb 4": (lambda s, n: close_comb(s, 4, 3, 4), 22),
    "comb 3": (lambda s, n: close_comb(s, 3, 1, 3), 25),
    "comb 2": (lambda s, n: close_comb(s, 2, 1, 2), 25),
    "slit": (lambda s, n: close_slit(s, n // 2 + 1, n // 3), 15),
}


@pytest.mark.parametrize("walls", THIN_WALLS)
@pytest.mark.parametrize(("n", "dimensions"), [(64, 2), (32, 3)])
@pytest.mark.parametrize("air", [False, True])
def test_walls_one_face_thick(walls, n, dimensions, air):
    """No aggregate lies on both sides of a wall, so that few iterations suffice; joined, a comb took hundreds."""
    grid = Grid((n, n, n if dimensions == 3 else 1), 1 / n, dimensions=dimensions)
    stencil = make_stencil(grid, solid=False, air=air)
    close, bound = THIN_WALLS[walls]
    close(stencil, n)
    stencil.setup()
    multigrid = Multigrid(grid)
    assert iterations(stencil, multigrid) <= bound
    assert multigrid._graph is not None


@pytest.mark.parametrize(
    ("cells", "dimensions", "periodic"),
    [
        ((7, 8, 6), 3, (False, False, False)),
        ((14, 12, 1), 2, (False, False, False)),
        ((8, 9, 1), 2, (True, False, False)),
        ((9, 8, 1), 2, (True, False, False)),
        ((8, 7, 5), 3, (True, False, True)),
    ],
)
def test_cycle_through_the_graph_is_symmetric_positive_definite(cells, dimensions, periodic, monkeypatch):
    monkeypatch.setattr(implementation, "_SPLIT_BLOCKS", 0)
    grid = Grid(cells, 0.1, dimensions=dimensions)
    stencil = make_stencil(grid, periodic, solid=False, air=not any(periodic))
    close_comb(stencil, 4, 3, 3)
    stencil.dirichlet_c[grid.interior][0, 0, 0] = 1.0
    stencil.setup()
    multigrid = Multigrid(grid, periodic)
    multigrid.setup(stencil)
    assert multigrid._graph is not None
    ids = np.flatnonzero(stencil.diagonal > 0)
    m = np.zeros((len(ids), len(ids)))
    for column, c in enumerate(ids):
        e, out = np.zeros(stencil.size), np.zeros(stencil.size)
        e[c] = 1.0
        multigrid.apply(e, out)
        m[:, column] = out[ids]
    np.testing.assert_allclose(m, m.T, rtol=0, atol=1e-13 * np.abs(m).max())
    assert np.linalg.eigvalsh(m).min() > 0


def test_smooth_solids_need_no_graph():
    grid = Grid((32, 32, 32), 1 / 32)
    multigrid = Multigrid(grid)
    for offset in (0.0, 0.3, 0.77):
        multigrid.setup(make_stencil(grid, offset=offset))
        assert multigrid._graph is None


def take_out_sheets(stencil, first, spacing, air):
    """Planes of cells across y without fluid: air, whose pressure their neighbours know, or solid."""
    face, d = stencil.face_f, stencil.dirichlet_c
    for j in range(GHOSTS + first, GHOSTS + stencil.grid.cells[1] - 1, spacing):
        if air:
            d[:, j - 1] += face[1, :, j]
            d[:, j + 1] += face[1, :, j + 1]
        face[1, :, j : j + 2] = 0.0
        face[0, :, j] = 0.0
        face[2, :, j] = 0.0
        d[:, j] = 0.0


@pytest.mark.parametrize("first", [2, 4, 5])
def test_air_is_no_wall(first):
    """Sheets of air a cell thick divide blocks as solid ones do, but both their sides know the pressure."""
    n = 32
    grid = Grid((n, n, n), 1 / n)
    for air in (False, True):
        stencil = make_stencil(grid, solid=False, air=False)
        take_out_sheets(stencil, first, 8, air)
        stencil.setup()
        multigrid = Multigrid(grid)
        assert iterations(stencil, multigrid) <= 9
        assert (multigrid._graph is None) == air


def test_small_mass_does_not_hold_what_walls_divide():
    grid = Grid((32, 32, 1), 1 / 32, dimensions=2)
    stencil = make_stencil(grid, solid=False, air=False)
    close_comb(stencil, 4, 3, 4)
    stencil.dirichlet_c[grid.interior] = 0.01
    stencil.setup()
    multigrid = Multigrid(grid)
    assert iterations(stencil, multigrid) <= 22
    assert multigrid._graph is not None


@pytest.mark.parametrize("periodic", [(False, False, False), (True, False, True)])
def test_rows_of_one_coefficient_are_only_a_short_cut(periodic, monkeypatch):
    """Empty rows and rows of one coefficient against the same cycle with every row read in full."""
    grid = Grid((24, 24, 24), 1 / 24)
    stencil = make_stencil(grid, periodic, offset=0.3)
    b = make_right_hand_side(stencil).reshape(-1)
    short, full = np.zeros(stencil.size), np.zeros(stencil.size)
    multigrid = Multigrid(grid, periodic)
    multigrid.setup(stencil)
    kinds = multigrid._fine_uniform
    assert (kinds == 0).mean() > 0.15 and (kinds > 0).mean() > 0.3 and (kinds < 0).any()
    multigrid.apply(b, short)
    monkeypatch.setattr(Multigrid, "_mark", lambda self, grid, face, inverse, uniform: uniform.fill(-1.0))
    multigrid.setup(stencil)
    multigrid.apply(b, full)
    np.testing.assert_allclose(short, full, rtol=0, atol=1e-13 * np.abs(full).max())


def test_nothing_is_left_of_the_geometry_before():
    """Rows that were wet and are dry now hold neither the correction nor the residual of before."""
    grid = Grid((24, 24, 24), 1 / 24)
    wet, stencil = make_stencil(grid, air=False), make_stencil(grid, offset=0.3)
    used, out = Multigrid(grid), np.zeros(stencil.size)
    used.setup(wet)
    used.apply(make_right_hand_side(wet).reshape(-1), out)
    b, fresh, expected = make_right_hand_side(stencil).reshape(-1), Multigrid(grid), np.zeros(stencil.size)
    used.setup(stencil)
    used.apply(b, out)
    fresh.setup(stencil)
    fresh.apply(b, expected)
    np.testing.assert_array_equal(out, expected)
