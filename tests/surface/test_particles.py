"""Particles: seeding, motion, escape and correction against direct answers."""

import numba
import numpy as np
import pytest

from undertow.grid import OPEN, WALL, Array, Grid, Sides
from undertow.surface import LevelSet, Particles
from undertow.transport import sample_centred


def make(dimensions: int = 2, n: int = 20, kind: int = WALL) -> tuple[Grid, LevelSet, Array, Particles]:
    grid = Grid((n, n, n if dimensions == 3 else 1), 1.0 / n, dimensions=dimensions)
    sides = Sides(grid, [kind] * 6)
    x, y, z = grid.cell_centres()
    phi = grid.cell_field()
    phi[grid.interior] = np.sqrt((x - 0.5) ** 2 + (y - 0.5) ** 2 + ((z - 0.5) ** 2 if dimensions == 3 else 0)) - 0.27
    level_set = LevelSet(grid, sides)
    level_set.redistance(phi)
    particles = Particles(grid, sides, 16, seed=3)
    particles.reseed(phi)
    return grid, level_set, phi, particles


@pytest.mark.parametrize("dimensions", (2, 3))
def test_seeding_fills_the_band_on_the_right_side_with_touching_spheres(dimensions: int) -> None:
    grid, _, phi, particles = make(dimensions)
    n = particles.count
    x, radius = particles.swarm.x[:n], particles.swarm.radius[:n]
    assert n == 16 * np.sum(np.abs(phi[grid.interior]) < 3 * grid.dx)
    value = sample_centred(grid, phi, x)
    assert np.all(value * radius > 0)
    assert np.allclose(np.abs(radius), np.clip(np.abs(value), 0.1 * grid.dx, 0.5 * grid.dx), rtol=1e-12)
    assert np.mean(np.abs(value) < 0.05 * grid.dx) < 0.002
    assert particles.correct(phi) == 0


def test_seeding_depends_on_the_seed_alone() -> None:
    grid, _, phi, particles = make()
    _, _, _, again = make()
    assert all(np.array_equal(a, b) for a, b in zip(particles.swarm, again.swarm, strict=True))
    other = Particles(grid, Sides(grid), 16, seed=4)
    other.reseed(phi)
    assert not np.array_equal(other.swarm.x[:50], particles.swarm.x[:50])
    # uniform in the cell
    inside = np.modf(particles.swarm.x[: particles.count, :2] / grid.dx)[0]
    assert np.allclose(inside.mean(axis=0), 0.5, atol=0.02)
    assert abs(np.corrcoef(inside.T)[0, 1]) < 0.05


def test_motion_is_second_order() -> None:
    grid, _, phi, particles = make()
    x, y, _ = (np.arange(-3, n + 3) * grid.dx for n in grid.cells)
    u_f = grid.face_field()
    u_f[0] = (0.5 - (y + 0.5 * grid.dx))[None, :, None] * np.ones(grid.padded)
    u_f[1] = ((x + 0.5 * grid.dx) - 0.5)[None, None, :] * np.ones(grid.padded)
    start = particles.swarm.x[: particles.count, :2].copy() - 0.5
    errors = []
    for dt in (0.4, 0.2):
        particles.swarm.x[: particles.count, :2] = start + 0.5
        particles.move(u_f, dt, phi)
        c, s = np.cos(dt), np.sin(dt)
        exact = start @ np.array([[c, s], [-s, c]])
        errors.append(np.max(np.abs(particles.swarm.x[: particles.count, :2] - 0.5 - exact)))
    assert errors[1] < errors[0] / 7  # the error of one step is of third order
    assert np.all(particles.swarm.x[: particles.count, 2] == 0.5 * grid.dx)


@pytest.mark.parametrize("dimensions", (2, 3))
def test_correction_equals_brute_force(dimensions: int) -> None:
    grid, level_set, phi, particles = make(dimensions, 12)
    x, y, _ = grid.cell_centres()
    phi[grid.interior] += 0.3 * grid.dx * np.sin(9 * x) * np.cos(8 * y)
    level_set.fill_ghosts(phi)
    plus, minus = phi.copy(), phi.copy()
    n = particles.count
    value = sample_centred(grid, phi, particles.swarm.x[:n])
    wrong = np.nonzero(value * particles.swarm.radius[:n] < 0)[0]
    assert wrong.size > 20
    for p in wrong:
        place, radius = particles.swarm.x[p], particles.swarm.radius[p]
        base = np.floor(place / grid.dx - 0.5).astype(int) + 3
        if dimensions == 2:
            base[2] = 3
        for corner in np.ndindex(*(2,) * dimensions):
            cell = base + np.array((*corner, 0)[:3])
            centre = (cell - 3 + 0.5) * grid.dx
            offer = abs(radius) - np.linalg.norm(centre - place)
            at = tuple(cell[::-1])
            if radius > 0:
                plus[at] = max(plus[at], offer)
            else:
                minus[at] = min(minus[at], -offer)
    expected = np.where(np.abs(plus) <= np.abs(minus), plus, minus)
    assert particles.correct(phi) == wrong.size
    assert np.allclose(phi, expected, atol=1e-14)


def test_correction_restores_a_surface_that_was_moved() -> None:
    grid, level_set, phi, particles = make(2, 24)
    before = level_set.liquid_volume(phi)
    for change in (0.35 * grid.dx, -0.35 * grid.dx):
        moved = phi + change
        wrong = level_set.liquid_volume(moved)
        for _ in range(2):
            particles.correct(moved)
            level_set.redistance(moved)
        assert abs(level_set.liquid_volume(moved) - before) < 0.5 * abs(wrong - before)


def test_reseeding_keeps_escaped_particles_and_leaves_their_surroundings_alone() -> None:
    grid, _, phi, particles = make()
    drop = np.array([[0.5 * grid.dx + 1e-4, 0.5 * grid.dx, 0.5 * grid.dx]])
    particles.add(drop, np.array([-0.2 * grid.dx]))
    particles.adjust_radii(phi)
    phi[3, 3, 4] = 0.5 * grid.dx  # would be seeded, but for the drop next to it
    before = particles.count
    particles.reseed(phi)
    x, radius = particles.swarm.x[: particles.count], particles.swarm.radius[: particles.count]
    assert np.sum((radius < 0) & (np.abs(x - drop).max(axis=1) < 1e-9)) == 1
    assert not np.any((x[:, 0] < 2 * grid.dx) & (x[:, 1] < 2 * grid.dx) & (radius > 0))
    assert particles.count - before < 16  # less than the particles of one cell


def test_reseeding_thins_and_refills_to_the_wanted_number() -> None:
    grid, _, phi, particles = make()
    n = particles.count
    particles.add(particles.swarm.x[:n].copy(), particles.swarm.radius[:n].copy())
    particles.swarm.radius[:200] = 0.0
    particles.reseed(phi)
    particles.sort()
    cell = np.floor(particles.swarm.x[: particles.count, :2] / grid.dx).astype(int)
    number = cell[:, 1] * grid.cells[0] + cell[:, 0]
    assert np.all(np.diff(number) >= 0)
    count = np.bincount(number, minlength=grid.cell_count).reshape(grid.cells[1], grid.cells[0])
    band = np.abs(phi[grid.interior][0]) < 3 * grid.dx
    assert np.all(count[band] >= 15)
    assert np.all(count[band] <= 24)


def test_walls_hold_and_open_sides_let_particles_go() -> None:
    for kind in (WALL, OPEN):
        grid, _, phi, particles = make(kind=kind)
        u_f = grid.face_field()
        u_f[0] = 1.0
        n = particles.count
        particles.move(u_f, 0.6, phi)
        particles.sort()
        assert np.all(particles.swarm.x[: particles.count, 0] <= 1.0)
        assert particles.count == n if kind == WALL else particles.count < n


def test_liquid_particles_keep_their_distance_from_solids() -> None:
    grid, level_set, phi, particles = make()
    solid = grid.cell_field()
    solid[grid.interior] = grid.cell_centres()[1] - 0.4
    for j in (0, 1, 2):
        solid[:, j, :], solid[:, -1 - j, :] = solid[:, 3, :] - (3 - j) * grid.dx, solid[:, -4, :] + (3 - j) * grid.dx
    particles.move(grid.face_field(), 0.1, phi, solid)
    particles.sort()
    height = particles.swarm.x[: particles.count, 1] - 0.4
    radius = particles.swarm.radius[: particles.count]
    assert np.min(height) >= 0.0
    # beside the contact line a particle stays rather than leave the liquid
    deep = sample_centred(grid, phi, particles.swarm.x[: particles.count]) < -1.1 * grid.dx
    assert np.min(height[deep]) > 0.09 * grid.dx
    kept = height[radius < 0]
    assert np.mean(kept < 0.3 * grid.dx) < np.mean((kept > 0.5 * grid.dx) & (kept < 1.5 * grid.dx))


def test_same_bits_for_one_and_two_threads(handed_over: list[str]) -> None:
    results = []
    for threads in (1, 2):
        assert not handed_over
        numba.set_num_threads(threads)
        grid, level_set, phi, particles = make(3, 12)
        u_f = np.random.default_rng(1).standard_normal((3, *grid.padded)) * 0.3
        particles.move(u_f, grid.dx, phi)
        particles.correct(phi)
        level_set.redistance(phi)
        particles.reseed(phi)
        results.append((phi, *(a[: particles.count] for a in particles.swarm)))
    assert len(set(handed_over)) > 1, set(handed_over)
    assert all(np.array_equal(a, b) for a, b in zip(*results, strict=True))


def test_bad_input_is_refused() -> None:
    grid = Grid((8, 8, 1), 0.1, dimensions=2)
    with pytest.raises(ValueError, match="per_cell"):
        Particles(grid, Sides(grid), 0)
