"""Layer-by-layer extrapolation against a brute-force sweep over dictionaries of places."""

import numba
import numpy as np
import pytest

from undertow.grid import GHOSTS, PERIODIC, WALL, Grid, Sides
from undertow.transport import Extrapolation


def brute_force(
    grid: Grid, q: np.ndarray, valid: np.ndarray, location: int, layers: int, periodic: tuple[bool, ...]
) -> np.ndarray:
    n = [grid.cells[a] + (1 if a == location and not periodic[a] else 0) for a in range(3)]
    out = q.copy()
    places = [(k, j, i) for k in range(n[2]) for j in range(n[1]) for i in range(n[0])]
    at = {p: tuple(s + GHOSTS for s in p) for p in places}
    known = {p: q[at[p]] for p in places if valid[at[p]]}
    for _ in range(layers):
        new = {}
        for p in places:
            if p in known:
                continue
            values = []
            for axis in grid.axes:
                for step in (-1, 1):
                    neighbour = list(p)
                    neighbour[2 - axis] += step
                    if periodic[axis]:
                        neighbour[2 - axis] %= n[axis]
                    if tuple(neighbour) in known:
                        values.append(known[tuple(neighbour)])
            if values:
                new[p] = sum(values) / len(values)
        known |= new
    for p, value in known.items():
        out[at[p]] = value
    return out


@pytest.mark.parametrize("dimensions", (2, 3))
@pytest.mark.parametrize("periodic", (False, True))
def test_layers_equal_brute_force(dimensions: int, periodic: bool) -> None:
    rng = np.random.default_rng(5)
    grid = Grid((7, 6, 5 if dimensions == 3 else 1), 0.1, dimensions=dimensions)
    sides = Sides(grid, [PERIODIC if periodic else WALL] * 2 + [WALL] * 4)
    u = rng.standard_normal((3, *grid.padded))
    valid = rng.random((3, *grid.padded)) < 0.08
    for layers in (0, 1, 3):
        filled = u.copy()
        Extrapolation(grid, sides).velocity(filled, valid, layers)
        for c in range(3):
            expected = brute_force(grid, u[c], valid[c], c, layers, (periodic, False, False))
            assert np.allclose(filled[c], expected if c in grid.axes else u[c], atol=1e-14)
        q = u[0].copy()
        Extrapolation(grid, sides).centred(q, valid[0].astype(np.uint8), layers)
        assert np.allclose(q, brute_force(grid, u[0], valid[0], 3, layers, (periodic, False, False)), atol=1e-14)


def test_constants_stay_constant_and_distance_is_counted_in_layers() -> None:
    grid = Grid((9, 5, 5), 0.1)
    q = grid.cell_field()
    valid = np.zeros(grid.padded, dtype=bool)
    valid[:, :, GHOSTS] = True
    q[:, :, GHOSTS] = 2.5
    Extrapolation(grid).centred(q, valid, 4)
    inner = q[grid.interior]
    assert np.all(inner[:, :, :5] == 2.5)
    assert not inner[:, :, 5:].any()


def test_same_bits_for_one_and_two_threads(handed_over: list[str]) -> None:
    rng = np.random.default_rng(6)
    grid = Grid((12, 11, 10), 0.1)
    start = rng.standard_normal((3, *grid.padded))
    valid = rng.random((3, *grid.padded)) < 0.02
    results = []
    for threads in (1, 2):
        assert not handed_over
        numba.set_num_threads(threads)
        u = start.copy()
        Extrapolation(grid).velocity(u, valid, 6)
        results.append(u)
    assert handed_over
    assert np.array_equal(*results)


def test_wrong_arguments_are_named() -> None:
    grid = Grid((4, 4, 4), 1.0)
    with pytest.raises(ValueError, match="valid: float64"):
        Extrapolation(grid).centred(grid.cell_field(), grid.cell_field(), 1)
    with pytest.raises(ValueError, match="layers = 300, must lie between 0 and 254"):
        Extrapolation(grid).centred(grid.cell_field(), np.zeros(grid.padded, dtype=bool), 300)
    with pytest.raises(ValueError, match=r"u_f: shape \(10, 10, 10\)"):
        Extrapolation(grid).velocity(grid.cell_field(), np.zeros(grid.padded, dtype=bool), 1)
