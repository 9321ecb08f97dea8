"""Curves of the interface: (6.34) on circles, slivers, remeshing, parts in cells."""

import numpy as np

from undertow.grid import Grid
from undertow.surface import Curve, cut_at_cells, merge_short, remesh


def _circle(angle: np.ndarray, radius: float = 0.3) -> Curve:
    """A closed curve through points of a circle, counterclockwise: liquid inside."""
    n = len(angle)
    point = np.stack([0.5 + radius * np.cos(angle), 0.5 + radius * np.sin(angle), np.zeros(n)], axis=1)
    return Curve(point, np.roll(np.arange(n), 1), np.roll(np.arange(n), -1))


def test_curvature_of_a_circle_is_exact_on_even_points():
    curve = _circle(np.linspace(0.0, 2.0 * np.pi, 30, endpoint=False))
    inward = (0.5, 0.5, 0.0) - curve.point
    expected = inward / 0.3**2
    # secants are shorter than arcs: of a polygon the radius is that of the circle through its points
    assert np.abs(curve.curvature() - expected).max() < 1e-12


def test_pulls_of_a_closed_curve_add_up_to_nothing():
    angle = np.sort(np.random.default_rng(3).random(40)) * 2.0 * np.pi
    assert np.abs(_circle(angle).tension().sum(axis=0)).max() < 1e-13


def test_pull_is_the_gradient_of_the_length():
    curve = _circle(np.sort(np.random.default_rng(5).random(12)) * 2.0 * np.pi)
    pull, h = curve.tension(), 1e-6
    for k in range(12):
        for axis in (0, 1):
            lengths = []
            for sign in (1.0, -1.0):
                moved = curve.point.copy()
                moved[k, axis] += sign * h
                lengths.append(curve._replace(point=moved).lengths().sum())
            assert abs((lengths[0] - lengths[1]) / (2.0 * h) + pull[k, axis]) < 1e-8


def test_slivers_are_merged_and_the_rest_stays():
    angle = np.sort(np.random.default_rng(1).random(60)) * 2.0 * np.pi
    curve = merge_short(_circle(angle), 0.02)
    assert curve.lengths().min() >= 0.02
    assert len(curve.point) > 20
    assert np.array_equal(curve.after[curve.before], np.arange(len(curve.point)))
    # what vanishes keeps its last points
    assert len(merge_short(_circle(angle), 10.0).point) == 4


def test_remeshing_keeps_lengths_between_bounds():
    curve = _circle(np.sort(np.random.default_rng(9).random(50)) * 2.0 * np.pi)
    new = remesh(curve, 0.05)
    assert new.lengths().min() >= 0.5 * 0.05
    assert new.lengths().max() <= 1.5 * 0.05


def test_inserted_points_are_of_fourth_order():
    errors = []
    for count in (16, 32):
        curve = _circle(np.linspace(0.0, 2.0 * np.pi, count, endpoint=False))
        new = remesh(curve, 0.4 * curve.lengths()[0])
        assert len(new.point) > count
        errors.append(np.abs(np.linalg.norm(new.point[:, :2] - 0.5, axis=1) - 0.3).max())
    assert errors[1] < errors[0] / 12.0


def test_parts_in_cells_make_up_the_curve():
    grid = Grid((16, 16, 1), 1.0 / 16, dimensions=2)
    curve = _circle(np.sort(np.random.default_rng(2).random(70)) * 2.0 * np.pi)
    parts = cut_at_cells(curve, grid)
    lengths = np.bincount(parts.segment, parts.beta - parts.alpha)
    assert np.abs(lengths - 1.0).max() < 1e-12
    # each part lies in its cell
    tail, ways = curve.tail[parts.segment], curve.ways()[parts.segment]
    for end in (parts.alpha, parts.beta):
        place = (curve.point[tail] + end[:, None] * ways)[:, :2] / grid.dx
        y, x = np.unravel_index(parts.cell, grid.padded)[1:]
        inside = place - (np.stack([x, y], axis=1) - 3.0)
        assert inside.min() > -1e-9
        assert inside.max() < 1.0 + 1e-9
