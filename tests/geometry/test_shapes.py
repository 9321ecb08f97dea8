"""Distances against brute force: the nearest of many points of the surface that the shape draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree

from undertow.errors import UserError
from undertow.geometry import AnalyticShape, Box, Capsule, Cylinder, MeshShape, Plane, Shape, Sphere, Torus

SHAPES = [
    Sphere(0.4),
    Box((0.5, 0.8, 0.3)),
    Capsule(0.2, 0.6),
    Cylinder(0.3, 0.5),
    Torus(0.5, 0.15),
]


def _dense_points(shape: AnalyticShape) -> np.ndarray:
    """60000 points spread evenly over the drawn surface; the largest gap is below 0.02."""
    random = np.random.default_rng(5)
    vertices, triangles = shape.surface(resolution=96)
    a, b, c = (vertices[triangles[:, n]] for n in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    chosen = random.choice(len(area), 60000, p=area / area.sum())
    u, v = random.uniform(size=(2, 60000, 1))
    u, v = np.where(u + v > 1, 1 - u, u), np.where(u + v > 1, 1 - v, v)
    return np.asarray(a[chosen] + u * (b - a)[chosen] + v * (c - a)[chosen])


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: type(s).__name__)
def test_distance_is_that_of_the_nearest_surface_point(shape: AnalyticShape) -> None:
    points = np.random.default_rng(3).uniform(-0.9, 0.9, (400, 3))
    distance = shape.distance(points)
    nearest, _ = cKDTree(_dense_points(shape)).query(points)
    # the drawn surface cuts corners by less than 1e-3, and the nearest sample is up to a gap beside the foot point
    assert np.all(nearest > np.abs(distance) - 1e-3)
    assert np.all(nearest < np.abs(distance) + 0.02)
    assert np.mean(nearest - np.abs(distance)) < 1e-3
    mesh = MeshShape(*shape.surface(resolution=96))
    clear = np.abs(distance) > 2e-3
    assert np.array_equal(np.sign(distance[clear]), np.sign(mesh.distance(points[clear])))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: type(s).__name__)
def test_drawn_surface_is_closed_outward_and_has_the_volume_and_bounds(shape: AnalyticShape) -> None:
    vertices, triangles = shape.surface(resolution=128)
    mesh = MeshShape(vertices, triangles)
    assert np.array_equal(mesh.triangles, triangles), "wound inward"
    assert mesh.volume() == pytest.approx(shape.volume(), rel=3e-3)
    lower, upper = shape.bounds()
    assert np.allclose(vertices.min(axis=0), lower, atol=2e-3)
    assert np.allclose(vertices.max(axis=0), upper, atol=2e-3)
    assert np.abs(shape.distance(vertices)).max() < 1e-12


def test_plane_is_solid_below() -> None:
    plane = Plane((0.0, 2.0, 0.0))
    assert np.allclose(plane.distance(np.array([[3.0, 0.5, 1.0], [0.0, -0.25, 7.0]])), [0.5, -0.25])
    vertices, triangles = plane.surface()
    a, b, c = vertices[triangles[0]]
    assert np.cross(b - a, c - a)[1] > 0
    assert np.all(np.isinf(plane.bounds()[1])) and np.isinf(plane.volume())


def test_thickness() -> None:
    assert Sphere(0.2).thickness() == 0.4
    assert Box((1.0, 0.5, 0.1)).thickness() == 0.1
    assert Box((1.0, 0.5, 0.1)).thickness(dimensions=2) == 0.5
    assert Cylinder(0.2, 0.1).thickness() == 0.1
    assert Torus(0.5, 0.1).thickness() == pytest.approx(0.2)
    slab = MeshShape(*Box((1.0, 0.05, 0.7)).surface())
    assert slab.thickness() == pytest.approx(0.05)


def test_bad_shapes_name_the_value_and_the_remedy() -> None:
    with pytest.raises(UserError, match=r"sphere: radius = -0.1: must be positive; give it in metres"):
        Sphere(-0.1)
    with pytest.raises(UserError, match="box: size y = 0"):
        Box((1.0, 0.0, 1.0))
    with pytest.raises(UserError, match="needs three edge lengths"):
        Box((1.0, 1.0))  # type: ignore[arg-type]
    with pytest.raises(UserError, match="capsule: length"):
        Capsule(1.0, float("nan"))
    with pytest.raises(UserError, match="torus: tube = 0.6 is not smaller"):
        Torus(0.5, 0.6)
    with pytest.raises(UserError, match="plane: normal"):
        Plane((0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match=r"must be \(n, 3\)"):
        Sphere(1.0).distance(np.zeros((2, 2)))


class _Surface(Shape):
    """A shape that gives a surface alone and all else by default."""

    def __init__(self, vertices: np.ndarray, triangles: np.ndarray) -> None:
        self.mesh = (vertices, triangles)

    def distance(self, points: np.ndarray) -> np.ndarray:
        return MeshShape(*self.mesh).distance(points)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        return self.mesh[0].min(axis=0), self.mesh[0].max(axis=0)

    def surface(self, resolution: int = 48) -> tuple[np.ndarray, np.ndarray]:
        return self.mesh


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: type(s).__name__)
def test_what_follows_from_a_surface_is_what_the_formulas_say(shape: AnalyticShape) -> None:
    """Moments, section and grid of the distance, of the drawn surface against those that the shape knows."""
    drawn = _Surface(*shape.surface(192))
    for found, want in ((drawn.moments(), shape.moments()), (drawn.planar_moments(), shape.planar_moments())):
        assert found.volume == pytest.approx(want.volume, rel=2e-3)
        assert np.allclose(found.centre, want.centre, atol=1e-6)
        assert np.allclose(found.inertia, want.inertia, atol=4e-3 * np.abs(want.inertia).max())
    grid = drawn.sample(0.0, 0.05, 0.1)
    assert grid is drawn.sample(0.0, 0.05, 0.1)
    z, y, x = np.indices(grid.values.shape[1:]) * 0.05 + grid.origin[::-1, None, None, None]
    points = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
    near = np.abs(shape.distance(points)) < 0.05
    assert np.abs(grid.values[0].ravel() - shape.distance(points))[near].max() < 2e-3


def test_a_surface_without_a_section_is_refused() -> None:
    vertices, triangles = Box((1.0, 1.0, 1.0)).surface()
    with pytest.raises(UserError, match="does not reach through the plane z = 0 of its own frame; move it there"):
        _Surface(vertices + (0.0, 0.0, 2.0), triangles).planar_moments()
    with pytest.raises(UserError, match="its section with the plane z = 0 is not closed; close the surface"):
        _Surface(vertices, triangles[:-1]).planar_moments()
