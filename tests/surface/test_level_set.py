"""Distances, transport and volume of level sets against exact and brute-force answers."""

import numba
import numpy as np
import pytest

from undertow.errors import UserError
from undertow.grid import PERIODIC, WALL, Array, Grid, Sides
from undertow.surface import LevelSet


def make(n: int, dimensions: int, radius: float = 0.3) -> tuple[Grid, LevelSet, Array, Array]:
    """Grid, level set, an empty field and the distance to a sphere off the middle of the unit box."""
    grid = Grid((n, n, n if dimensions == 3 else 1), 1.0 / n, dimensions=dimensions)
    x, y, z = grid.cell_centres()
    square = (x - 0.51) ** 2 + (y - 0.52) ** 2 + ((z - 0.47) ** 2 if dimensions == 3 else 0.0)
    return grid, LevelSet(grid, Sides(grid)), grid.cell_field(), np.sqrt(square) - radius


def exact_volume(dimensions: int, radius: float = 0.3) -> float:
    return float(np.pi * radius**2 if dimensions == 2 else 4.0 / 3.0 * np.pi * radius**3)


@pytest.mark.parametrize("dimensions", (2, 3))
def test_any_function_becomes_the_distance(dimensions: int) -> None:
    """phi times a positive function has the same zero set; the error falls by more than the cell size."""
    errors = []
    for n in (20, 40):
        grid, level_set, phi, exact = make(n, dimensions)
        x, y, _ = grid.cell_centres()
        phi[grid.interior] = exact * (1.5 + np.sin(4 * x + 1) * np.cos(3 * y))
        level_set.redistance(phi)
        near = np.abs(exact) < 4.0 / n
        errors.append(np.max(np.abs(phi[grid.interior] - exact)[near]))
        far = np.abs(exact) > 7.5 / n
        assert np.all(np.abs(phi[grid.interior])[far] == level_set.band)
        assert np.all(np.sign(phi[grid.interior]) == np.sign(exact))
    assert errors[0] < 0.12 / 20
    assert errors[1] < 0.35 * errors[0]


@pytest.mark.parametrize("dimensions", (2, 3))
def test_the_surface_stays_under_repeated_redistancing(dimensions: int) -> None:
    grid, level_set, phi, exact = make(24, dimensions)
    phi[grid.interior] = exact
    level_set.redistance(phi)
    before = level_set.liquid_volume(phi)
    for _ in range(50):
        level_set.redistance(phi)
    assert abs(level_set.liquid_volume(phi) / before - 1.0) < 2e-3
    near = np.abs(exact) < 1.5 * grid.dx
    assert np.max(np.abs(phi[grid.interior] - exact)[near]) < 0.02 * grid.dx


def test_marching_equals_the_brute_force_distance_to_two_bodies() -> None:
    grid, level_set, phi, _ = make(40, 2)
    x, y, _ = grid.cell_centres()
    exact = np.minimum(np.hypot(x - 0.3, y - 0.35) - 0.15, np.hypot(x - 0.68, y - 0.6) - 0.12)
    angle = np.linspace(0, 2 * np.pi, 4000)
    circles = [
        (0.3 + 0.15 * np.cos(angle), 0.35 + 0.15 * np.sin(angle)),
        (0.68 + 0.12 * np.cos(angle), 0.6 + 0.12 * np.sin(angle)),
    ]
    points = np.concatenate([np.column_stack(c) for c in circles])
    centres = np.column_stack([a.ravel() for a in np.broadcast_arrays(x, y)])
    brute = np.min(np.linalg.norm(centres[:, None] - points[None, ::4], axis=2), axis=1).reshape(exact.shape)
    phi[grid.interior] = np.sinh(3 * exact)
    level_set.redistance(phi)
    near = brute < 4.0 * grid.dx  # further in lies the middle of the smaller circle, a kink
    assert np.max(np.abs(np.abs(phi[grid.interior]) - brute)[near]) < 0.15 * grid.dx


def test_a_sheet_thinner_than_two_cells_survives_redistancing() -> None:
    grid, level_set, phi, _ = make(24, 2)
    _, y, _ = grid.cell_centres()
    phi[grid.interior] = np.abs(y - 0.51) - 0.7 * grid.dx + np.zeros(grid.cells[::-1])
    level_set.fill_ghosts(phi)
    before = level_set.liquid_volume(phi)
    for _ in range(20):
        level_set.redistance(phi)
    assert level_set.liquid_volume(phi) == pytest.approx(before, rel=0.05)


@pytest.mark.parametrize("dimensions", (2, 3))
def test_volume_is_second_order_and_exact_for_planes(dimensions: int) -> None:
    errors = []
    for n in (16, 32):
        grid, level_set, phi, exact = make(n, dimensions)
        phi[grid.interior] = exact
        level_set.fill_ghosts(phi)
        errors.append(abs(level_set.liquid_volume(phi) - exact_volume(dimensions)))
    assert errors[1] < 0.3 * errors[0]
    _, y, _ = grid.cell_centres()
    for height in (0.5, 0.512, 0.37):
        phi[grid.interior] = y - height
        level_set.fill_ghosts(phi)
        assert level_set.liquid_volume(phi) == pytest.approx(height, abs=1e-12)
        solid = grid.cell_field()
        solid[grid.interior] = y - 0.2
        level_set.fill_ghosts(solid)
        assert level_set.liquid_volume(phi, solid_c=solid) == pytest.approx(height - 0.2, abs=1e-12)


def test_shift_reaches_the_wanted_volume() -> None:
    grid, level_set, phi, exact = make(24, 3)
    phi[grid.interior] = exact
    level_set.fill_ghosts(phi)
    target = 1.03 * level_set.liquid_volume(phi)
    shift = level_set.shift_to_volume(phi, target)
    assert level_set.liquid_volume(phi, shift) == pytest.approx(target, rel=1e-8)
    assert shift == pytest.approx(-0.01 * 0.3, rel=0.05)


@pytest.mark.parametrize("dimensions", (2, 3))
def test_transport_is_accurate_and_constant_velocity_moves_by_whole_cells_exactly(dimensions: int) -> None:
    grid, level_set, phi, exact = make(32, dimensions, 0.2)
    phi[grid.interior] = exact
    level_set.redistance(phi)
    start = phi.copy()
    u_f = grid.face_field()
    for axis, speed in zip(grid.axes, (1.0, -2.0, 1.0), strict=False):
        u_f[axis] = speed
    level_set.advect(phi, u_f, grid.dx)
    moved = np.roll(start, [1, -2, 1][: grid.dimensions], axis=[2, 1, 0][: grid.dimensions])
    near = np.abs(moved[grid.interior]) < 2 * grid.dx
    assert np.allclose(phi[grid.interior][near], moved[grid.interior][near], atol=1e-13)


def test_same_bits_for_one_and_two_threads(handed_over: list[str]) -> None:
    results = []
    for threads in (1, 2):
        assert not handed_over
        numba.set_num_threads(threads)
        grid, level_set, phi, exact = make(24, 3)
        x, y, _ = grid.cell_centres()
        phi[grid.interior] = exact + 0.02 * np.sin(30 * x) * np.cos(25 * y)
        level_set.redistance(phi)
        results.append((phi, level_set.liquid_volume(phi)))
    assert len(set(handed_over)) > 1, set(handed_over)
    assert np.array_equal(results[0][0], results[1][0])
    assert results[0][1] == results[1][1]


def test_permuted_axes_permute_the_distance() -> None:
    grid, level_set, phi, exact = make(20, 3, 0.25)
    x, y, z = grid.cell_centres()
    phi[grid.interior] = exact * (1.4 + np.sin(3 * x + 2 * y - z))
    other = grid.cell_field()
    other[grid.interior] = phi[grid.interior].transpose(2, 0, 1)
    level_set.redistance(phi)
    level_set.redistance(other)
    assert np.allclose(other[grid.interior], phi[grid.interior].transpose(2, 0, 1), atol=1e-12)


def test_bad_input_is_refused() -> None:
    grid = Grid((8, 8, 1), 0.1, dimensions=2)
    with pytest.raises(UserError, match="x_low is periodic"):
        LevelSet(grid, Sides(grid, [PERIODIC] * 2 + [WALL] * 4))
    with pytest.raises(ValueError, match="band"):
        LevelSet(grid, Sides(grid), band=2.0)
    with pytest.raises(ValueError, match="dt"):
        LevelSet(grid, Sides(grid)).advect(grid.cell_field(), grid.face_field(), -1.0)
