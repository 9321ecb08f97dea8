"""Neighbours, conservation, symmetry, determinism, restoring and bad input of the fluid of particles."""

from __future__ import annotations

import tracemalloc

import numba
import numpy as np
import pytest

from undertow.errors import PhysicsError, UserError
from undertow.sph import OPEN, PERIODIC, WALL, SphBox, SphFluid, SphSettings, viscosity_of_alpha
from undertow.sph.neighbours import GHOST


def make_box(dimensions: int, n: int, kind: tuple[int, ...]) -> SphBox:
    dx = 1.0 / n
    lower, upper = np.zeros(3), np.ones(3)
    if dimensions == 2:
        lower[2], upper[2] = -dx / 2, dx / 2
    return SphBox(lower, upper, dx, dimensions, kind)


def make_fluid(dimensions: int, n: int, kind: tuple[int, ...], seed: int = 0, gravity: float = 0.0) -> SphFluid:
    """A disturbed block of particles with random velocities."""
    draw = np.random.default_rng(seed)
    box = make_box(dimensions, n, kind)
    fluid = SphFluid(box, SphSettings(1000.0, 20.0, viscosity_of_alpha(0.1, box.spacing, 20.0, dimensions),
                                      (0.0, -gravity, 0.0), artificial=True))  # fmt: skip
    x = box.lattice()
    x = x[(x[:, :dimensions] > 0.3).all(axis=1) & (x[:, :dimensions] < 0.7).all(axis=1)]
    push = 0.1 * box.spacing * draw.uniform(-1.0, 1.0, x.shape)
    speed = draw.normal(size=x.shape)
    push[:, dimensions:], speed[:, dimensions:] = 0.0, 0.0
    fluid.add_fluid(x + push, speed)
    fluid.begin()
    return fluid


@pytest.mark.parametrize("kind", [(WALL,) * 6, (PERIODIC, PERIODIC, WALL, OPEN, PERIODIC, PERIODIC)])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_lists_hold_what_brute_force_finds(dimensions: int, kind: tuple[int, ...]) -> None:
    n = 20 if dimensions == 2 else 12
    box = make_box(dimensions, n, kind)
    fluid = SphFluid(box, SphSettings())
    draw = np.random.default_rng(2)
    x = box.lower + (box.upper - box.lower) * draw.uniform(size=(200, 3))
    x[:, dimensions:] = 0.0
    fluid.add_fluid(x, np.zeros(3))
    fluid.set_bodies(np.zeros((0, 3)), np.zeros(0), np.zeros(0))
    fluid.prepare()
    spec, lists, count = fluid.points.spec, fluid.neighbours.spec, fluid.count
    place, label = spec.place[:count, :3], spec.label[:count]
    near = np.linalg.norm(place[:, None] - place[None], axis=2) ** 2 < fluid.neighbours.frame.reach_sq
    wet = (label >= 0) | (label == GHOST)
    for i in range(count):
        found = lists.listed[lists.starts[i] : lists.starts[i + 1]]
        middle = lists.middle[i] - lists.starts[i]
        others = near[i] & (np.arange(count) != i)
        assert set(found[:middle]) == (set(np.flatnonzero(others & wet)) if label[i] != GHOST else set())
        assert set(found[middle:]) == (set(np.flatnonzero(others & ~wet)) if label[i] >= 0 else set())
    if PERIODIC in kind:
        # every particle sees each other one at its nearest image
        length = np.where(box.period > 0, box.period, 1e9)
        for i in np.flatnonzero(label >= 0)[:50]:
            away = place[label >= 0] - place[i]
            away -= length * np.round(away / length)
            expected = np.count_nonzero((away**2).sum(axis=1) < fluid.neighbours.frame.reach_sq) - 1
            assert lists.middle[i] - lists.starts[i] == expected


@pytest.mark.parametrize("dimensions", [2, 3])
def test_density_and_forces_are_the_sums_of_the_paper(dimensions: int) -> None:
    fluid = make_fluid(dimensions, 16, (OPEN,) * 6)
    x, v, rho = fluid.positions(), fluid.velocities(), fluid.densities()
    numbers, m = fluid.numbers, fluid.mass
    away = x[:, None] - x[None]
    r = np.linalg.norm(away, axis=2)
    t = np.clip(1.0 - r / numbers.radius, 0.0, None)
    W = numbers.w * t**4 * (4.0 * r / numbers.radius + 1.0)
    assert np.allclose(rho, m * W.sum(axis=1), rtol=1e-12)
    pressure = np.maximum(1000.0 * 20.0**2 / 7.0 * ((rho / 1000.0) ** 7 - 1.0), 0.0)
    p = pressure / rho**2
    viscous = (
        -numbers.viscous * np.einsum("ijk,ijk->ij", v[:, None] - v[None], away) / (numbers.near + numbers.far * r**2)
    )
    pair = -m * (p[:, None] + p[None] + viscous) * numbers.g * t**3
    expected = (pair[..., None] * away).sum(axis=1)
    found = fluid.points.spec.change[fluid.fluid_rows(), :3]
    assert np.allclose(found, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


def test_momentum_and_angular_momentum_of_a_free_cloud_are_kept() -> None:
    fluid = make_fluid(3, 16, (OPEN,) * 6)
    before = fluid.totals
    for _ in range(30):
        fluid.step(0.5 * min(fluid.limits().values()))
    scale = fluid.mass * np.abs(fluid.velocities()).sum()
    assert np.abs(fluid.totals.momentum - before.momentum).max() < 1e-12 * scale
    # leapfrog turns with x and v of different times: r x p of one time is kept exactly
    assert np.abs(fluid.totals.angular_momentum - before.angular_momentum).max() < 1e-12 * scale


def test_a_mirrored_fluid_moves_mirrored() -> None:
    first, second = make_fluid(2, 16, (WALL,) * 6, gravity=9.81), make_fluid(2, 16, (WALL,) * 6, gravity=9.81)
    rows = second.fluid_rows()
    second.points.spec.place[rows, 0] = 1.0 - second.points.spec.place[rows, 0]
    second.points.spec.motion[rows, 0] *= -1.0
    second._stale = True
    dt = 0.5 * min(first.limits().values())
    for _ in range(20):
        first.step(dt)
        second.step(dt)
    x, y = first.positions(), second.positions()
    assert np.abs(x[:, 0] + y[:, 0] - 1.0).max() < 1e-11 and np.abs(x[:, 1] - y[:, 1]).max() < 1e-11


def test_bits_do_not_depend_on_the_number_of_threads() -> None:
    answers = []
    threads = numba.get_num_threads()
    try:
        for count in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
            numba.set_num_threads(count)
            fluid = make_fluid(3, 40, (WALL,) * 6, gravity=9.81)
            for _ in range(5):
                fluid.step(min(fluid.limits().values()))
            answers.append((fluid.positions(), fluid.velocities(), fluid.totals.kinetic))
    finally:
        numba.set_num_threads(threads)
    assert all(np.array_equal(a, b) for a, b in zip(*answers, strict=True))


def test_restoring_goes_on_bit_for_bit() -> None:
    kind = (PERIODIC, PERIODIC, WALL, OPEN, WALL, WALL)
    first, second = make_fluid(2, 20, kind, gravity=9.81), make_fluid(2, 20, kind, gravity=9.81)
    for _ in range(25):
        first.step(min(first.limits().values()))
    second.restore({name: array.copy() for name, array in first.arrays().items()}, first.scalars())
    for _ in range(40):
        dt = min(first.limits().values())
        assert min(second.limits().values()) == dt
        first.step(dt)
        second.step(dt)
    assert np.array_equal(first.positions(), second.positions())
    assert np.array_equal(first.velocities(), second.velocities())


def test_a_step_keeps_no_memory() -> None:
    fluid = make_fluid(3, 16, (WALL,) * 6, gravity=9.81)
    for _ in range(40):
        fluid.step(min(fluid.limits().values()))
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    rebuilds = fluid.rebuilds
    for _ in range(20):
        fluid.step(min(fluid.limits().values()))
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 20_000 + 64 * fluid.count * (fluid.rebuilds > rebuilds)


def test_particles_stay_inside_walls_and_leave_through_open_sides() -> None:
    fluid = make_fluid(2, 20, (WALL, WALL, WALL, OPEN, WALL, WALL), gravity=9.81)
    rows = fluid.fluid_rows()
    fluid.points.spec.motion[rows, :2] = 8.0 * np.sign(fluid.points.spec.place[rows, :2] - 0.5)
    count = fluid.totals.particles
    for _ in range(150):
        fluid.step(min(fluid.limits().values()))
        x = fluid.positions()
        assert x[:, 0].min() >= fluid.radius * (1 - 1e-12) and x[:, 0].max() <= 1.0 - fluid.radius * (1 - 1e-12)
        assert x[:, 1].min() >= fluid.radius * (1 - 1e-12)
    assert fluid.lost > 0 and fluid.totals.particles == count - fluid.lost


def test_bad_input_is_refused() -> None:
    with pytest.raises(UserError, match="no particles"):
        SphFluid(make_box(2, 10, (WALL,) * 6), SphSettings()).begin()
    with pytest.raises(UserError, match="must be positive"):
        SphSettings(sound_speed=0.0)
    with pytest.raises(UserError, match="must not be negative"):
        SphSettings(viscosity=-1.0)
    with pytest.raises(UserError, match="between 0 and 1"):
        SphSettings(restitution=2.0)
    with pytest.raises(UserError, match="make both periodic"):
        make_box(2, 20, (PERIODIC, WALL, WALL, WALL, WALL, WALL))
    with pytest.raises(UserError, match="needs at least"):
        make_box(2, 8, (PERIODIC, PERIODIC, WALL, WALL, WALL, WALL))
    fluid = SphFluid(make_box(2, 20, (WALL,) * 6), SphSettings(sound_speed=1.0))
    with pytest.raises(UserError, match=r"must be \(n, 3\)"):
        fluid.add_fluid(np.zeros(3), np.zeros(3))
    fluid.add_fluid(fluid.box.lattice(), np.zeros(3))
    fluid.begin()
    with pytest.raises(PhysicsError, match="sound speed 1 m/s is too low, .* set sph.sound_speed to"):
        for _ in range(2000):
            fluid.step(min(fluid.limits().values()))
