"""Surfaces by pysplashsurf itself: closed, as large as the fluid, and the same every time."""

from __future__ import annotations

import numpy as np
import pytest

from undertow.sph import surface

pytest.importorskip("pysplashsurf", reason='pysplashsurf is not installed; pip install "undertow[sph]"')

SPACING = 0.05


def _ball(radius: float) -> np.ndarray:
    """Particles of a lattice within a ball about (1, 1, 1)."""
    steps = SPACING * (np.arange(-12, 12) + 0.5)
    place = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    return 1.0 + place[np.linalg.norm(place, axis=1) < radius]


def _surface(place: np.ndarray, velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    return surface.particle_surface(place, velocity, SPACING, np.zeros(3), np.full(3, 2.0))


def test_a_ball_of_particles_has_a_closed_surface_of_its_size_that_moves_with_it() -> None:
    place = _ball(0.4)
    centre = np.full(3, 1.0)
    spin = np.cross(np.array([0.0, 0.0, 2.0]), place - centre)
    vertices, triangles, normals, velocity = _surface(place, spin)

    edges = np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    _, shared = np.unique(edges, axis=0, return_counts=True)
    assert np.all(shared == 2)

    a, b, c = (vertices[triangles[:, k]] - centre for k in range(3))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0
    # wound outwards; smoothing takes a part of the outermost half spacing
    assert volume == pytest.approx(len(place) * SPACING**3, rel=0.12)
    away = vertices - centre
    radius = np.linalg.norm(away, axis=1)
    assert np.ptp(radius) < 1.5 * SPACING and abs(radius.mean() - 0.4) < 0.5 * SPACING
    assert np.all(np.einsum("ij,ij->i", normals, away) > 0.8 * radius)
    np.testing.assert_allclose(velocity, np.cross([0.0, 0.0, 2.0], away), atol=0.1 * 2.0 * 0.4)


def test_the_surface_does_not_depend_on_the_order_of_the_particles() -> None:
    place = _ball(0.3)
    first = _surface(place, place)
    draw = np.random.default_rng(5).permutation(len(place))
    again = _surface(place[draw], place[draw])
    assert len(first[0]) == len(again[0]) > 100
    np.testing.assert_allclose(first[0], again[0], atol=1e-6)
    np.testing.assert_array_equal(first[1], again[1])


def test_single_drops_are_small_balls_and_no_particles_are_no_surface() -> None:
    drops = np.array([[0.5, 0.5, 0.5], [1.5, 1.5, 1.5]])
    vertices, triangles, _, _ = _surface(drops, 0.0 * drops)
    far = np.linalg.norm(vertices[:, None] - drops, axis=2).min(axis=1)
    assert len(triangles) > 0 and far.max() < SPACING
    assert all(len(part) == 0 for part in _surface(np.zeros((0, 3)), np.zeros((0, 3))))
