"""Elements that keep the sharp edges of the surface they fill."""

from __future__ import annotations

import re

import numpy as np
import pytest

from undertow.errors import UserError
from undertow.geometry import MeshShape, Sphere, make_gear, make_hull, rotation_matrix
from undertow.soft.fitting import LEAST, find_features, fit_edges, measure_quality
from undertow.soft.materials import cell_volumes
from undertow.soft.meshes import fill_shape, surface_of


def _cube() -> MeshShape:
    """Askew in the lattice."""
    corners = np.stack(np.meshgrid([-0.5, 0.5], [-0.5, 0.5], [-0.5, 0.5]), axis=-1).reshape(-1, 3)
    return make_hull(corners @ rotation_matrix((1.0, 2.0, 3.0), 25.0).T)


@pytest.mark.parametrize(
    ("solid", "size", "corners", "edges"),
    [(_cube(), 0.25, 8, 12.0), (make_gear(0.5, 0.25, 5, 0.3, 0.0), 0.1, 40, None)],
    ids=["cube", "gear"],
)
def test_corners_and_edges_are_kept(solid: MeshShape, size: float, corners: int, edges: float | None) -> None:
    x, cells = fill_shape("s", solid.distance, *solid.bounds(), size)
    before = float(cell_volumes(x, cells).sum()) / solid.volume()
    features = find_features(solid.vertices, solid.triangles, size)
    assert len(features.corners) == corners
    if edges is not None:
        assert np.linalg.norm(np.diff(features.edges, axis=1), axis=2).sum() == pytest.approx(edges)
    x, cells = fit_edges(solid, x, cells, size)
    assert before < 0.95
    assert float(cell_volumes(x, cells).sum()) / solid.volume() == pytest.approx(1.0, abs=0.01)
    # every corner has a node, no element is flat or inverted, and the surface of the elements is closed
    away = np.linalg.norm(x[:, None] - features.corners, axis=2).min(axis=0)
    assert away.max() < 1e-12
    assert measure_quality(x[cells]).min() > 0.5 * LEAST
    triangles = surface_of(cells)
    _, count = np.unique(np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0, return_counts=True)
    assert (count == 2).all() and len(np.unique(cells)) == len(x)
    assert float(np.abs(solid.distance(x[np.unique(triangles)])).max()) < 0.2 * size


def _with_fin(thick: float, wide: float) -> MeshShape:
    """A cube of 0.4 m with a fin or a stick of 0.8 m on it, askew in the lattice."""
    unit = np.stack(np.meshgrid(*[(-0.5, 0.5)] * 3), axis=-1).reshape(-1, 3)
    cube = make_hull(0.4 * unit).surface()
    fin = make_hull(unit * (thick, 1.0, wide) + (0.013, 0.5, 0.017)).surface()
    turn = rotation_matrix((1.0, 2.0, 3.0), 20.0).T
    return MeshShape(np.concatenate([cube[0], fin[0]]) @ turn, np.concatenate([cube[1], fin[1] + len(cube[0])]))


@pytest.mark.parametrize(("thick", "wide"), [(0.05, 0.4), (0.02, 0.4), (0.001, 0.4), (0.04, 0.04), (0.02, 0.02)])
def test_a_part_that_elements_do_not_see_is_refused(thick: float, wide: float) -> None:
    """It was left out, with a hundredth of the volume; the element size of the message keeps it."""
    solid = _with_fin(thick, wide)
    with pytest.raises(
        UserError, match=r"^s: about .* m thick near .*, where elements of 0.1 m find nothing"
    ) as caught:
        fill_shape("s", solid.distance, *solid.bounds(), 0.1)
    # the surface of an embedded body hangs on what there is
    assert len(fill_shape("s", solid.distance, *solid.bounds(), 0.1, complete=False)[1])
    found = re.search(r"about (\S+) m thick near .* element_size at most (\S+) m", str(caught.value))
    assert found and float(found[1]) == pytest.approx(thick, rel=0.3)
    if thick > 0.01:  # else a million elements
        x, cells = fill_shape("s", solid.distance, *solid.bounds(), float(found[2]))
        end = rotation_matrix((1.0, 2.0, 3.0), 20.0) @ np.array([0.013, 1.0, 0.017])
        assert np.linalg.norm(x[np.unique(cells)] - end, axis=1).min() < thick


@pytest.mark.parametrize("degrees", [90.0, 45.0, 20.0])
def test_the_tip_of_a_cone_is_no_part_that_is_lost(degrees: float) -> None:
    wide = np.tan(np.radians(0.5 * degrees))
    rim = [[wide * np.cos(a), 0.0, wide * np.sin(a)] for a in np.linspace(0.0, 6.0, 30)]
    cone = make_hull(np.array([[0.0, 1.0, 0.0], *rim]))
    x, cells = fill_shape("s", cone.distance, *cone.bounds(), 0.1)
    assert float(cell_volumes(x, cells).sum()) / cone.volume() > 0.85


def test_smooth_surfaces_stay_as_they_are() -> None:
    ball = MeshShape(*Sphere(0.5).surface(24))
    x, cells = fill_shape("s", ball.distance, *ball.bounds(), 0.25)
    moved, same = fit_edges(ball, x, cells, 0.25)
    assert moved is x and same is cells


def test_quality_is_altitude_over_longest_edge() -> None:
    corner = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    # lowest over the slanted face: 1 / sqrt 3
    expected = 1.0 / np.sqrt(3.0) / np.sqrt(2.0)
    assert measure_quality(np.stack([corner, corner[[0, 2, 1, 3]]])) == pytest.approx([expected, -expected])


def _dumbbell(bar: float, apart: float) -> MeshShape:
    """Two balls of radius 0.2 m, ``apart`` [m], on a square bar, askew in the lattice."""
    unit = np.stack(np.meshgrid(*[(-0.5, 0.5)] * 3), axis=-1).reshape(-1, 3)
    ball = Sphere(0.2).surface(20)
    rod = (
        make_hull(unit * (apart, bar, bar) + (0.5 * apart, 0.004, 0.01)).surface() if bar else (np.zeros((0, 3)), None)
    )
    parts = [ball, (ball[0] + [apart, 0.0, 0.0], ball[1]), rod][: 3 if bar else 2]
    start = np.cumsum([0, *(len(v) for v, _ in parts)])
    return MeshShape(
        np.concatenate([v for v, _ in parts]),
        np.concatenate([t + s for (_, t), s in zip(parts, start[:-1], strict=True)]),
    )


@pytest.mark.parametrize("complete", [True, False], ids=["solid", "embedded"])
@pytest.mark.parametrize(("bar", "apart"), [(0.03, 0.5), (0.03, 0.8), (0.01, 0.6), (0.002, 0.8)])
def test_a_body_that_would_fall_into_pieces_is_refused(bar: float, apart: float, complete: bool) -> None:
    """The bar of a dumbbell that elements do not see was left out, and the two balls fell apart."""
    solid = _dumbbell(bar, apart)
    with pytest.raises(
        UserError, match=r"^s: about .* m thick near .*, where elements of 0.1 m find nothing"
    ) as caught:
        fill_shape("s", solid.distance, *solid.bounds(), 0.1, complete)
    found = re.search(r"about (\S+) m thick near \((\S+), ", str(caught.value))
    assert found and 0.15 * bar < float(found[1]) < 1.3 * bar
    assert 0.15 < float(found[2]) < apart - 0.15


@pytest.mark.parametrize("gap", [0.05, 0.1, 0.3])
def test_a_shape_of_two_pieces_stays_two(gap: float) -> None:
    solid = _dumbbell(0.0, 0.4 + gap)
    x, cells = fill_shape("s", solid.distance, *solid.bounds(), 0.1)
    middle = 0.2 + 0.5 * gap
    sides = x[cells][:, :, 0] > middle
    assert np.all(sides.all(axis=1) == sides.any(axis=1)) and sides.any() and not sides.all()
