"""Mass properties against closed formulas, other shapes, and sampling."""

import numpy as np
import pytest

from undertow.errors import UserError
from undertow.geometry import AnimatedMesh, Box, Capsule, Cylinder, MeshShape, Plane, Sphere, Torus, rotation_matrix
from undertow.geometry.moments import integrate_mesh, principal_axes
from undertow.rigid.bodies import rotation_matrix_of
from undertow.rigid.mass import add_points, mass_properties
from undertow.rigid.shapes import CollisionShapes

SHAPES = [Sphere(0.3), Box((1.0, 0.5, 0.2)), Capsule(0.2, 0.7), Cylinder(0.3, 0.8), Torus(0.5, 0.2)]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: type(s).__name__)
def test_shapes_agree_with_their_surfaces(shape):
    """The formula of a shape is the limit of the integrals over finer and finer meshes of it."""
    exact = mass_properties(shape, density=700.0)
    errors = []
    for resolution in (32, 64):
        mesh = mass_properties(MeshShape(*shape.surface(resolution)), density=700.0)
        error = np.abs(mesh.inertia - exact.inertia).max() / exact.inertia.max()
        errors.append(max(error, abs(mesh.mass / exact.mass - 1.0)))
        assert np.allclose(mesh.centre, 0.0, atol=1e-12)
    assert errors[1] < 1.5e-2 and (errors[1] < 1e-12 or errors[0] / errors[1] > 3.5)


def test_inertia_by_sampling():
    rng = np.random.default_rng(1)
    for shape in SHAPES:
        lower, upper = shape.bounds()
        points = lower + rng.random((200_000, 3)) * (upper - lower)
        inside = points[shape.distance(points) < 0]
        square = (inside**2).mean(axis=0)
        found = mass_properties(shape, mass=2.0).inertia
        assert np.allclose(found, 2.0 * (square.sum() - square), rtol=0.02)


def test_concave_mesh_with_a_hole_through_it_moved_and_turned():
    vertices, triangles = Torus(0.5, 0.2).surface(48)
    turn = rotation_matrix((1.0, 2.0, 0.5), 40.0)
    shift = np.array([10.0, -3.0, 5.0])
    plain = mass_properties(MeshShape(vertices, triangles), density=2.0)
    moved = mass_properties(MeshShape(vertices @ turn.T + shift, triangles), density=2.0)
    assert moved.mass == pytest.approx(plain.mass, rel=1e-12)
    assert np.allclose(moved.centre, shift, atol=1e-12)
    assert np.allclose(np.sort(moved.inertia), np.sort(plain.inertia), rtol=1e-10)
    R = rotation_matrix_of(moved.rotation)
    tensor = turn @ np.diag(plain.inertia) @ turn.T
    assert np.allclose(R @ np.diag(moved.inertia) @ R.T, tensor, rtol=1e-10, atol=1e-12)


def test_a_cavity_counts_as_a_hole():
    v, t = Box((1.0, 1.0, 1.0)).surface()
    hollow = MeshShape(np.concatenate([v, 0.5 * v]), np.concatenate([t, t[:, ::-1] + len(v)]))
    found = mass_properties(hollow, density=8.0)
    assert found.mass == pytest.approx(7.0, rel=1e-13)
    assert np.allclose(found.inertia, (8.0 - 0.25) / 6.0, rtol=1e-12)


def test_principal_frame_is_a_rotation_near_the_identity():
    rng = np.random.default_rng(3)
    for _ in range(50):
        turn = rotation_matrix(rng.normal(size=3), 360 * rng.random())
        tensor = turn @ np.diag([1.0, 1.4, 2.0]) @ turn.T
        moments, axes = principal_axes(tensor)
        assert np.allclose(axes @ np.diag(moments) @ axes.T, tensor, atol=1e-13)
        assert np.linalg.det(axes) == pytest.approx(1.0) and np.allclose(axes.T @ axes, np.eye(3), atol=1e-13)
    assert np.array_equal(principal_axes(np.diag([3.0, 1.0, 2.5]))[1], np.eye(3))


def test_points_fixed_to_a_body():
    """A box is half a box and the masses of the other half at the nodes of a fine lattice; in the plane too."""
    whole = mass_properties(Box((1.0, 0.4, 0.2)), density=500.0)
    half = mass_properties(Box((0.5, 0.4, 0.2)), density=500.0)
    n = 40
    lattice = [(np.arange(n) + 0.5) / n * side for side in (0.5, 0.4, 0.2)]
    points = np.stack(np.meshgrid(*lattice, indexing="ij"), axis=-1).reshape(-1, 3) + [0.25, -0.2, -0.1]
    found = add_points(half, points, np.full(len(points), half.mass / len(points)))
    assert found.mass == pytest.approx(whole.mass)
    # the lattice lacks the moments of its cells
    assert np.allclose(found.inertia, whole.inertia, rtol=1e-3) and np.allclose(found.centre, [0.25, 0.0, 0.0])
    some, masses = np.array([[0.3, 0.2, -0.1], [-0.1, 0.5, 0.3]]), np.array([3.0, 7.0])
    found, R = add_points(half, some, masses), rotation_matrix_of(add_points(half, some, masses).rotation)
    arms = [np.zeros(3) - found.centre, *(some - found.centre)]
    tensor = np.diag(half.inertia)
    for m, r in zip([half.mass, *masses], arms, strict=True):
        tensor = tensor + m * (r @ r * np.eye(3) - np.outer(r, r))
    assert np.allclose(R @ np.diag(found.inertia) @ R.T, tensor)
    flat = mass_properties(Box((0.5, 0.4, 1.0)), density=500.0, dimensions=2)
    found = add_points(flat, np.array([[0.3, 0.4, 0.0]]), np.array([flat.mass]))
    assert np.allclose(found.centre, [0.15, 0.2, 0.0])
    assert np.allclose(found.inertia, [0.0, 0.0, flat.inertia[2] + 2 * flat.mass * 0.25**2])


def test_mesh_far_from_its_origin_keeps_its_digits():
    v, t = Box((1.0, 2.0, 3.0)).surface()
    volume, centre, tensor = integrate_mesh(v + 1e4, t)
    assert volume == pytest.approx(6.0, rel=1e-10) and np.allclose(centre, 1e4, atol=1e-8)
    assert np.allclose(tensor, np.diag([13.0, 10.0, 5.0]) / 2.0, atol=1e-8)


def test_sections_per_metre_of_depth():
    disc = mass_properties(Sphere(0.3), density=100.0, dimensions=2)
    assert disc.mass == pytest.approx(100.0 * np.pi * 0.09)
    assert np.allclose(disc.inertia, [0.0, 0.0, 0.5 * disc.mass * 0.09])
    box = mass_properties(Box((0.4, 0.3, 9.0)), density=100.0, dimensions=2)
    assert box.mass == pytest.approx(12.0) and box.inertia[2] == pytest.approx(12.0 * 0.25 / 12.0)
    bar = mass_properties(Cylinder(0.15, 0.4), density=100.0, dimensions=2)
    assert bar.mass == pytest.approx(12.0) and bar.inertia[2] == pytest.approx(box.inertia[2])
    across = rotation_matrix((1.0, 0.0, 0.0), 90.0)
    area, centre, moment = Cylinder(0.3, 0.4).section(across).measure()
    assert 100 * area == pytest.approx(disc.mass) and 100 * moment == pytest.approx(disc.inertia[2])
    assert not centre.any()
    stadium = mass_properties(Capsule(0.2, 0.5), density=1.0, dimensions=2)
    rng = np.random.default_rng(2)
    p = (rng.random((400_000, 3)) - 0.5) * np.array([0.4, 0.9, 0.0])
    inside = p[Capsule(0.2, 0.5).distance(p) < 0]
    assert stadium.mass == pytest.approx(0.36 * len(inside) / len(p), rel=5e-3)
    assert stadium.inertia[2] / stadium.mass == pytest.approx((inside**2).sum(axis=1).mean(), rel=5e-3)
    area, _, moment = Torus(0.5, 0.1).section(across).measure()
    assert area == pytest.approx(np.pi * (0.36 - 0.16), rel=1e-12)
    assert moment == pytest.approx(0.5 * np.pi * (0.6**4 - 0.4**4), rel=1e-5)
    given = mass_properties(Box((0.4, 0.3, 9.0)), density=100.0, dimensions=2, inertia=0.7)
    assert np.allclose(given.inertia, (0.0, 0.0, 0.7))


def _prism(outline, depth):
    """Prism along z over a star-shaped outline about its first point."""
    n = len(outline)
    v = np.concatenate([np.column_stack([outline, np.full(n, z)]) for z in (-depth, depth)])
    i, j = np.arange(n), np.roll(np.arange(n), -1)
    sides = np.concatenate([np.column_stack([i, j, j + n]), np.column_stack([i, j + n, i + n])])
    fan = np.array([(0, k, k + 1) for k in range(1, n - 1)])
    return MeshShape(v, np.concatenate([sides, fan + n, fan[:, ::-1]]))


def test_a_prism_is_its_outline():
    mesh = _prism(np.array([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)], dtype=float), 0.3)
    found = mass_properties(mesh, density=10.0, dimensions=2)
    assert found.mass == pytest.approx(30.0) and np.allclose(found.centre, [5 / 6, 5 / 6, 0.0])
    solid = mass_properties(mesh, density=10.0)
    R = rotation_matrix_of(solid.rotation)
    about_z = (R @ np.diag(solid.inertia) @ R.T)[2, 2] / solid.mass
    assert found.inertia[2] / found.mass == pytest.approx(about_z, rel=1e-12)


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        (Sphere(1.0), {"density": 0.0}, "density = 0.0: must be positive"),
        (Sphere(1.0), {"mass": -1.0}, "mass = -1.0: must be positive"),
        (Sphere(1.0), {"mass": np.nan}, "must be positive"),
        (Sphere(1.0), {}, "give one of them"),
        (Plane(), {"density": 1.0}, "make it static"),
        (Box((1, 1, 1)), {"mass": 1.0, "inertia": np.array([1.0, 0.0, 1.0])}, "positive definite"),
        (Box((1, 1, 1)), {"mass": 1.0, "inertia": np.array([1.0, 1.0, 3.0])}, "exceeds the sum"),
        (Box((1, 1, 1)), {"mass": 1.0, "inertia": np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1.0]])}, "symmetric"),
        (Box((1, 1, 1)), {"mass": 1.0, "inertia": np.zeros(2)}, "three moments"),
        (MeshShape(*Sphere(1.0).surface(16)), {"mass": 1.0, "dimensions": 2}, "prism along z"),
        (Box((1, 1, 1)), {"mass": 1.0, "dimensions": 2, "inertia": [1, 1, 1]}, "in 2D give one number"),
        (Box((1, 1, 1)), {"mass": 1.0, "dimensions": 2, "inertia": -1.0}, "inertia = -1.0 kg m: must be positive"),
    ],
)
def test_bad_mass_is_refused(shape, options, message):
    with pytest.raises(UserError, match=message):
        mass_properties(shape, **options)


def test_sections_that_cannot_be_are_refused():
    tilt = rotation_matrix((1, 0, 0), 30.0)
    for shape in (Capsule(0.1, 1.0), Box((1.0, 1.0, 1.0))):
        with pytest.raises(UserError, match="turn about z only"):
            shape.section(tilt)
    v, t = Box((1.0, 1.0, 1.0)).surface()
    with pytest.raises(UserError, match="does not reach through the plane z = 0"):
        MeshShape(v + (0.0, 0.0, 2.0), t).section(np.eye(3))
    # two prisms that share one edge along z
    outline = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], dtype=float)
    first, second = _prism(outline, 0.5), _prism(outline - 1.0, 0.5)
    vertices = np.concatenate([first.vertices, second.vertices])
    triangles = np.concatenate([first.triangles, second.triangles + 8])
    same = {int(i): int(np.flatnonzero((vertices == vertices[i]).all(axis=1))[0]) for i in range(16)}
    joined = MeshShape(vertices, np.vectorize(same.get)(triangles))
    with pytest.raises(UserError, match="outlines that touch in a point"):
        joined.section(np.eye(3))


def test_a_mesh_without_inside_has_no_mass():
    flat = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], dtype=float)
    mesh = MeshShape(flat, [(0, 1, 2), (1, 3, 2), (0, 2, 1), (1, 2, 3)], "sheet")
    with pytest.raises(UserError, match="leaf: encloses no volume .* check the mesh"):
        mass_properties(mesh, density=1.0, name="leaf")


def test_an_animated_mesh_does_not_collide():
    v, t = Box((1.0, 1.0, 1.0)).surface()
    with pytest.raises(UserError, match="an animated mesh cannot collide; use a mesh"):
        CollisionShapes(3).add(AnimatedMesh([v, 2.0 * v], t, 10.0))


def test_an_open_mesh_is_refused():
    v, t = Box((1.0, 1.0, 1.0)).surface()
    with pytest.raises(UserError, match="not watertight"):
        MeshShape(v, t[:-1])
