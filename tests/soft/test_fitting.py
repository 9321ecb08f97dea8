"""Elements that keep the sharp edges of the surface they fill."""

from __future__ import annotations

import numpy as np
import pytest

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
