"""Contact geometry: exact cases, an exhaustive oracle for convex pairs, sampling for the rest, symmetry, 2D."""

import gc
import tracemalloc

import numpy as np
import pytest

from undertow.geometry import Box, Capsule, Cylinder, MeshShape, Plane, Sphere, Torus
from undertow.geometry.collision import find_polytope
from undertow.grid import threads
from undertow.rigid.bodies import rotation_matrix_of
from undertow.rigid.narrow import Contacts, ContactSpec, find_contacts
from undertow.rigid.shapes import BOUND, HALF, CollisionShapes


def quaternion(axis, degrees):
    axis = np.asarray(axis, dtype=float)
    half = np.radians(degrees) / 2
    return np.array([np.cos(half), *(np.sin(half) * axis / np.linalg.norm(axis))])


def random_turn(rng):
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def extrude(outline, depth, middle=(0.0, 0.0)):
    """Prism along z over an outline (n, 2), counterclockwise and star-shaped about ``middle``."""
    outline = np.asarray(outline, dtype=float)
    n = len(outline)
    rings = [np.column_stack([outline, np.full(n, z)]) for z in (-depth / 2, depth / 2)]
    tips = np.array([[*middle, -depth / 2], [*middle, depth / 2]])
    i, j = np.arange(n), np.roll(np.arange(n), -1)
    parts = [(i, j, j + n), (i, j + n, i + n), (j, i, np.full(n, 2 * n)), (i + n, j + n, np.full(n, 2 * n + 1))]
    return MeshShape(np.concatenate([*rings, tips]), np.concatenate([np.column_stack(p) for p in parts]))


def gear(teeth=12, outer=1.0, inner=0.8, depth=0.4):
    """A gear wheel with straight teeth."""
    parts = ((-0.3, inner), (-0.15, outer), (0.15, outer), (0.3, inner))
    angles = np.array([(k + part) * 2 * np.pi / teeth for k in range(teeth) for part, _ in parts])
    radii = np.array([radius for _ in range(teeth) for _, radius in parts])
    return extrude(np.column_stack([radii * np.cos(angles), radii * np.sin(angles)]), depth)


def ell(depth=0.5):
    """An L of 1 m by 1 m with arms 0.4 m wide."""
    return extrude([(0, 0), (1, 0), (1, 0.4), (0.4, 0.4), (0.4, 1), (0, 1)], depth, (0.2, 0.2))


def hull(rng, count=12):
    """A random convex mesh of about a metre."""
    from scipy.spatial import ConvexHull

    points = rng.normal(size=(count, 3))
    points *= (0.6 + 0.4 * rng.random((count, 1))) / np.linalg.norm(points, axis=1, keepdims=True)
    found = ConvexHull(points)
    a, b, c = (points[found.simplices[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), a - points.mean(axis=0)) < 0
    triangles = np.where(inward[:, None], found.simplices[:, ::-1], found.simplices)
    used, number = np.unique(triangles, return_inverse=True)
    return MeshShape(points[used], number.reshape(-1, 3))


def placed(shape, position, q):
    vertices, triangles = shape.surface(96)
    return vertices @ rotation_matrix_of(q).T + position, triangles


def exact_separation(first, second):
    """Largest separation over all face normals and all cross products of edges, and its axis out of the first body."""
    axes = []
    edges = []
    for (v, t), sign in ((first, 1.0), (second, -1.0)):
        a, b, c = (v[t[:, k]] for k in range(3))
        axes.append(sign * np.cross(b - a, c - a))
        edges.append(np.concatenate([b - a, c - b, a - c]))
    crossed = np.cross(edges[0][:, None], edges[1][None]).reshape(-1, 3)
    all_axes = np.concatenate([*axes, crossed, -crossed])
    size = np.linalg.norm(all_axes, axis=1)
    all_axes = all_axes[size > 1e-9] / size[size > 1e-9, None]
    separation = (second[0] @ all_axes.T).min(axis=0) - (first[0] @ all_axes.T).max(axis=0)
    best = int(np.argmax(separation))
    return separation[best], all_axes[best]


def in_order(points):
    return points[np.lexsort(np.round(points, 9).T)]


def test_box_on_a_plane_has_four_contacts_with_exact_gaps(world):
    world.add(Plane(), static=True)
    world.add(Box((1.0, 0.5, 2.0)), (3.0, 0.2499, -1.0))
    c = world.find(1e-3)
    assert np.allclose(c.gap, -1e-4, atol=1e-15) and len(c.gap) == 4
    assert np.allclose(c.normal, (0, -1, 0), atol=1e-15)  # from the box (b) to the plane (a)
    assert np.allclose(in_order(c.point)[[0, 3]], [(2.5, -5e-5, -2.0), (3.5, -5e-5, 0.0)])
    assert len(set(c.feature)) == 4 and list(c.pair_start) == [0, 4]


def test_tilted_planes_and_offset_shapes():
    """A plane with any normal and a shape whose centre of mass is not its origin."""
    shapes = CollisionShapes()
    q = quaternion((1, 2, 3), 50)
    centre = np.array([0.3, -0.1, 0.2])
    shapes.add(Plane((1.0, 1.0, 0.0)), centre, q)
    s = shapes.arrays()
    R = rotation_matrix_of(q)
    n, d = s.planes[0, :3], s.planes[0, 3]
    rng = np.random.default_rng(0)
    for point in rng.normal(size=(10, 3)):  # in the frame of the shape
        assert n @ (R.T @ (point - centre)) - d == pytest.approx((point[0] + point[1]) / np.sqrt(2), abs=1e-14)


def test_aligned_equal_boxes_touch_in_four_corners(world):
    for k in range(4):
        world.add(Box((1.0, 1.0, 1.0)), (0.0, 0.5 + k, 0.0))
    c = world.find(1e-3)
    assert len(c.gap) == 12 and np.allclose(c.gap, 0.0, atol=1e-15)
    assert np.array_equal(c.normal, np.tile([0.0, -1.0, 0.0], (12, 1)))
    assert np.allclose(np.abs(c.point[:, [0, 2]]), 0.5)
    assert list(np.diff(c.pair_start)) == [4, 4, 4]


def test_features_persist_while_a_box_slides(world):
    world.add(Box((4.0, 1.0, 4.0)), static=True)
    b = world.add(Box((1.0, 1.0, 1.0)), (0.0, 0.9999, 0.0), quaternion((0, 1, 0), 20))
    first = sorted(world.find(1e-3).feature)
    world.bodies.x_b[b] += (0.1, 1e-5, 0.05)
    world.bodies.q_b[b] = quaternion((0, 1, 0), 21)
    assert sorted(world.find(1e-3).feature) == first and len(first) == 4


def test_crossed_edges(world):
    """Two boxes on edge, one across the other: one contact, its normal across both edges."""
    h = np.sqrt(0.5)
    world.add(Box((1.0, 1.0, 4.0)), (0.0, -h, 0.0), quaternion((0, 0, 1), 45))
    world.add(Box((4.0, 1.0, 1.0)), (0.3, h - 0.01, 0.2), quaternion((1, 0, 0), 45))
    c = world.find(1e-3)
    assert len(c.gap) == 1 and c.gap[0] == pytest.approx(-0.01, abs=1e-14)
    assert np.allclose(c.normal, (0, -1, 0), atol=1e-14) and np.allclose(c.point, (0.0, -0.005, 0.2), atol=1e-14)


@pytest.mark.parametrize("boxes", [True, False])
def test_random_convex_pairs_against_all_axes(boxes, world):
    """The deepest gap is the exact separation; where crossed edges are seen as faces it is at most 3% deeper."""
    rng = np.random.default_rng(5)
    exact = 0
    for _ in range(60 if boxes else 25):
        a, b = (Box(tuple(0.4 + rng.random(3))) if boxes else hull(rng) for _ in range(2))
        qa, qb = random_turn(rng), random_turn(rng)
        direction = rng.normal(size=3)
        direction /= np.linalg.norm(direction)
        (va, ta), (vb, tb) = placed(a, np.zeros(3), qa), placed(b, np.zeros(3), qb)
        wanted = -0.05 * rng.random()
        low, high = 0.0, 4.0
        for _ in range(20):
            middle = 0.5 * (low + high)
            deep = exact_separation((va, ta), (vb + middle * direction, tb))[0] < wanted
            low, high = (middle, high) if deep else (low, middle)
        separation, axis = exact_separation((va, ta), (vb + low * direction, tb))
        world.__init__()
        world.add(a, np.zeros(3), qa)
        world.add(b, low * direction, qb)
        c = world.find(0.01)
        assert 1.03 * separation - 1e-12 < c.gap.min() < separation + 1e-12
        assert np.all(c.normal @ -axis > 0.97)
        exact += abs(c.gap.min() - separation) < 1e-12
    assert exact > (30 if boxes else 10)


def test_separated_boxes_diagonal_to_each_other_do_not_touch(world):
    """Face separation is smaller than the distance there; the clipped face is empty."""
    world.add(Box((1.0, 1.0, 1.0)))
    world.add(Box((1.0, 1.0, 1.0)), (1.005, 1.005, 1.005))
    assert len(world.find(0.02).gap) == 0


@pytest.mark.parametrize(
    "shape",
    [Box((1.0, 0.6, 0.8)), Capsule(0.3, 0.8), Torus(0.5, 0.2), Cylinder(0.4, 0.9)],
    ids=lambda s: type(s).__name__,
)
def test_a_sphere_touches_at_its_exact_distance(shape, world):
    rng = np.random.default_rng(2)
    q = random_turn(rng)
    world.add(shape, (0.1, 0.2, 0.3), q)
    ball = world.add(Sphere(0.25))
    R = rotation_matrix_of(q)
    for _ in range(40):
        place = rng.normal(size=3)
        place *= (0.5 + 0.5 * rng.random()) / np.linalg.norm(place)
        world.bodies.x_b[ball] = place @ R.T + (0.1, 0.2, 0.3)
        gap = shape.distance(place[None])[0] - 0.25
        c = world.find(0.05)
        if gap >= 0.05:
            assert len(c.gap) == 0
        else:
            deepest = int(np.argmin(c.gap))
            assert c.gap[deepest] == pytest.approx(gap, abs=1e-12)
            step = 1e-6 * (-c.normal[deepest] @ R)
            slope = (shape.distance((place + step)[None])[0] - shape.distance((place - step)[None])[0]) / 2e-6
            assert slope == pytest.approx(1.0, abs=1e-5)  # the normal, from ball (b) to shape (a), is the gradient


def test_a_sphere_in_the_hole_of_a_torus_touches_nothing(world):
    world.add(Torus(0.5, 0.2))
    ball = world.add(Sphere(0.25))
    assert world.pairs.find(world.shapes, world.bodies.spec, world.bodies.x_b, world.bodies.q_b, np.zeros(2)) == 1
    assert len(world.find(0.04).gap) == 0
    world.bodies.x_b[ball] = (0.0, 0.2, 0.0)  # larger than the hole, sitting on the ring
    world.bodies.remove(ball)
    world.add(Sphere(0.4), (0.0, 0.3, 0.0))
    c = world.find(0.03)
    gap = np.hypot(0.5, 0.3) - 0.2 - 0.4
    assert len(c.gap) >= 6 and c.gap.min() == pytest.approx(gap, abs=2e-3)
    around = np.sort(np.arctan2(c.point[:, 0], c.point[:, 2]))
    assert np.diff(np.append(around, around[0] + 2 * np.pi)).max() < np.pi / 2  # held on all sides


def test_capsules(world):
    world.add(Capsule(0.2, 1.0), rotation=quaternion((0, 0, 1), 90))
    other = world.add(Capsule(0.2, 1.0), (0.3, 0.399, 0.0), quaternion((0, 0, 1), 90))
    c = world.find(0.01)
    assert len(c.gap) == 2 and np.allclose(c.gap, -0.001, atol=1e-14)
    assert np.allclose(np.sort(c.point[:, 0]), [-0.2, 0.5]) and np.allclose(c.normal, (0, -1, 0))
    world.bodies.q_b[other] = quaternion((1, 0, 0), 90)
    c = world.find(0.01)
    assert len(c.gap) == 1 and np.allclose(c.point, (0.3, 0.1995, 0.0)) and c.gap[0] == pytest.approx(-0.001)


def test_a_capsule_on_a_box(world):
    world.add(Box((1.0, 1.0, 1.0)))
    rod = world.add(Capsule(0.1, 2.0), (0.7, 0.599, 0.0), quaternion((0, 0, 1), 90))
    c = world.find(0.01)  # over the face from x = -0.3 to its edge at 0.5
    assert len(c.gap) == 2 and np.allclose(c.gap, -0.001) and np.allclose(np.sort(c.point[:, 0]), [-0.3, 0.5])
    assert np.allclose(c.normal, (0, -1, 0))
    world.bodies.x_b[rod] = (0.5 + 0.07, 0.5 + 0.07, 0.0)  # across the edge
    world.bodies.q_b[rod] = quaternion((0, 0, 1), 45)
    c = world.find(0.01)
    assert len(c.gap) == 1 and c.gap[0] == pytest.approx(0.07 * np.sqrt(2) - 0.1, abs=1e-12)
    assert np.allclose(c.normal, (-np.sqrt(0.5), -np.sqrt(0.5), 0.0))


def test_random_capsules_on_boxes_by_sampling(world):
    """Least distance of points along the axis from the box, where the axis does not pierce it."""
    rng = np.random.default_rng(4)
    box, rod = Box((1.0, 0.7, 0.5)), Capsule(0.15, 0.8)
    world.add(box)
    b = world.add(rod)
    s = np.linspace(-0.4, 0.4, 801)
    tried = 0
    while tried < 60:
        q, place = random_turn(rng), rng.normal(size=3) * 0.6
        axis = rotation_matrix_of(q)[:, 1]
        gap = box.distance(place + s[:, None] * axis).min() - 0.15
        if gap < -0.14 or gap > 0.1:
            continue
        tried += 1
        world.bodies.x_b[b], world.bodies.q_b[b] = place, q
        c = world.find(0.05)
        if gap > 0.06:
            assert len(c.gap) == 0
        elif gap < 0.04:
            assert c.gap.min() == pytest.approx(gap, abs=0.005)


def test_a_cylinder_rolls_and_stands_on_exact_contacts(world):
    world.add(Plane(), static=True)
    drum = world.add(Cylinder(0.5, 2.0))
    for degrees in (0.0, 1.7, 3.3, 5.0):
        world.bodies.x_b[drum] = (0.0, 0.499, 0.0)
        lying = quaternion((0, 0, 1), 90)
        roll = quaternion((1, 0, 0), degrees)
        world.bodies.q_b[drum] = [
            roll[0] * lying[0], roll[1] * lying[0], -roll[1] * lying[3], roll[0] * lying[3],
        ]  # fmt: skip
        c = world.find(0.002)
        assert c.gap.min() == pytest.approx(-0.001, abs=1e-12)
        assert np.ptp(c.point[c.gap < -0.00099, 0]) == pytest.approx(2.0, abs=1e-9)
    world.bodies.q_b[drum], world.bodies.x_b[drum] = (1, 0, 0, 0), (0.0, 0.9995, 0.0)
    c = world.find(0.002)
    assert len(c.gap) >= 8 and np.allclose(c.gap, -0.0005) and np.allclose(np.hypot(c.point[:, 0], c.point[:, 2]), 0.5)


def test_concave_blocks_face_to_face(world):
    """An L in the corner of another: contacts on both walls, gaps exact but for the table at the corner."""
    world.add(ell())
    other = world.add(Box((0.3, 0.3, 0.3)), (0.4 + 0.149, 0.4 + 0.149, 0.0))
    assert world.shapes.kind_name(world.bodies.shape_b[0]) == "field"
    c = world.find(0.01)
    assert {tuple(np.round(-n, 2) + 0.0) for n in c.normal} >= {(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)}
    wall = np.abs(c.normal[:, 0]) > 0.99
    assert np.allclose(c.gap[wall], -0.001, atol=2e-4) and np.ptp(c.point[wall, 1]) > 0.15
    world.bodies.x_b[other] = (0.4 + 0.17, 0.4 + 0.17, 0.0)
    assert len(world.find(0.01).gap) == 0


def test_gear_teeth(world):
    """Two gears whose teeth mesh touch nowhere; turned a little, flanks of teeth on both sides of the line touch."""
    wheel = gear()
    world.add(wheel)
    world.add(wheel, (1.82, 0.0, 0.0), quaternion((0, 0, 1), 15))
    assert len(world.find(0.003).gap) == 0
    world.bodies.q_b[0] = quaternion((0, 0, 1), 4)
    c = world.find(0.003)
    assert len(c.gap) >= 2 and c.gap.min() < 0
    assert np.all(np.abs(np.hypot(c.point[:, 0], c.point[:, 1]) - 0.92) < 0.12) and np.all(c.point[:, 0] > 0.75)
    # wheels of the same width: no rim lies on the side of the other wheel
    assert np.all(np.abs(c.normal[:, 2]) < 0.3) and np.mean(c.normal[:, 1]) < -0.5


def test_fields_against_sampling(world):
    """No point of one torus lies deeper in the other than the deepest contact, but for the spacing of the probes."""
    rng = np.random.default_rng(8)
    ring = Torus(0.5, 0.15)
    surface, _ = ring.surface(192)
    world.add(ring)
    b = world.add(ring)
    touched = 0
    for _ in range(60):
        q = random_turn(rng)
        place = rng.normal(size=3) * 0.6
        world.bodies.x_b[b], world.bodies.q_b[b] = place, q
        depth = ring.distance(surface @ rotation_matrix_of(q).T + place).min()
        c = world.find(0.01)
        if -0.05 < depth < -0.005:
            touched += 1
            assert c.gap.min() == pytest.approx(depth, abs=0.004)
        elif depth > 0.012:
            assert len(c.gap) == 0
    assert touched > 5


@pytest.mark.parametrize(
    "kinds", [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (0, 3), (2, 3), (3, 3), (1, 3), (4, 4), (0, 4)]
)
def test_swapping_the_bodies_turns_the_normals(kinds, world):
    shapes = (Box((0.8, 0.6, 0.7)), Sphere(0.4), Capsule(0.25, 0.7), Torus(0.4, 0.2), ell(0.6))
    rng = np.random.default_rng(10 * kinds[0] + kinds[1])
    for _ in range(8):
        poses = [(rng.normal(size=3) * 0.3, random_turn(rng)) for _ in kinds]
        found = []
        for order in ((0, 1), (1, 0)):
            world.__init__()
            for k in order:
                world.add(shapes[kinds[k]], *poses[k])
            c = world.find(0.02)
            # of the many points of fields which are kept may differ, the deepest may not
            keep = c.gap <= c.gap.min(initial=1.0) + 1e-9 if max(kinds) > 2 else c.gap < 1.0
            found.append((c.point[keep], (1 - 2 * order[0]) * c.normal[keep], c.gap[keep]))
        (p, n, gap), (other_p, other_n, other_gap) = found
        assert len(gap) == len(other_gap) and np.allclose(np.sort(gap), np.sort(other_gap), atol=1e-9)
        for k in range(len(gap)):
            near = np.argmin(np.linalg.norm(other_p - p[k], axis=1))
            assert np.allclose(other_p[near], p[k], atol=1e-6) and np.allclose(other_n[near], n[k], atol=1e-6)


def test_flat_worlds_stay_in_their_plane(flat_world):
    w = flat_world
    w.add(Plane(), static=True)
    w.add(Box((1.0, 1.0, 0.1)), (0.0, 0.4999, 0.0))
    w.add(Box((1.0, 1.0, 7.0)), (0.25, 1.4998, 0.0), quaternion((0, 0, 1), 0.0))
    w.add(Sphere(0.5), (0.0, 2.4997, 0.0))
    w.add(Capsule(0.25, 0.5), (2.0, 0.2499, 0.0), quaternion((0, 0, 1), 90))
    c = w.find(1e-3)
    assert list(np.diff(c.pair_start)) == [2, 2, 2, 1]
    assert np.all(c.point[:, 2] == 0.0) and np.all(c.normal[:, 2] == 0.0)
    assert np.allclose(c.gap, -1e-4, atol=1e-12) and np.allclose(c.normal, (0, -1, 0), atol=1e-12)
    assert np.allclose(np.sort(c.point[:2, 0]), [-0.5, 0.5])


def test_flat_shapes_are_as_large_as_their_section(flat_world):
    flat_world.shapes.add(Box((0.01, 0.02, 5.0)))
    number = flat_world.shapes.arrays().number[0]
    assert number[HALF : HALF + 3] == pytest.approx([0.005, 0.01, 0.0])
    assert number[BOUND] == pytest.approx(np.hypot(0.005, 0.01))


def test_flat_concave_outlines(flat_world):
    flat_world.add(ell())
    flat_world.add(Box((0.3, 0.3, 1.0)), (0.4 + 0.149, 0.4 + 0.149, 0.0))
    c = flat_world.find(0.01)
    assert len(c.gap) >= 3 and np.allclose(np.median(c.gap), -0.001, atol=1e-9) and np.all(c.point[:, 2] == 0.0)
    assert c.gap.min() > -0.005  # the table, 1 / 192 m, rounds the inner corner
    flat_world.bodies.x_b[1] = (0.75, 0.75, 0.0)
    assert len(flat_world.find(0.01).gap) == 0


def test_convex_meshes_are_recognised():
    polytope = find_polytope(*Box((1.0, 2.0, 3.0)).surface())
    assert polytope is not None and len(polytope.planes) == 6 and len(polytope.edges) == 12
    for loop, plane in zip(polytope.loops, polytope.planes, strict=True):
        p = polytope.vertices[loop]
        assert np.allclose(p @ plane[:3], plane[3]) and np.cross(p[1] - p[0], p[2] - p[1]) @ plane[:3] > 0
    # a box whose faces are cut into many triangles has the same faces
    v, t = Box((1.0, 1.0, 1.0)).surface()
    middle = 0.5 * (v[t] + v[t[:, [1, 2, 0]]])
    parts = [np.stack([v[t[:, k]], middle[:, k], middle[:, k - 1]], axis=1) for k in range(3)] + [middle]
    corners, number = np.unique(np.round(np.concatenate(parts).reshape(-1, 3), 12), axis=0, return_inverse=True)
    assert len(corners) == 26
    polytope = find_polytope(corners, number.reshape(-1, 3))
    assert polytope is not None and len(polytope.planes) == 6 and len(polytope.vertices) == 8
    for concave in (ell(), gear(), MeshShape(*Torus(0.5, 0.2).surface(16))):
        assert find_polytope(*concave.surface()) is None


def test_equal_shapes_are_stored_once():
    shapes = CollisionShapes()
    assert shapes.add(Box((1, 1, 1))) == shapes.add(Box((1, 1, 1))) == 0
    assert shapes.add(ell()) == shapes.add(ell()) == 1
    assert shapes.add(Box((1, 1, 1)), np.array([0.1, 0.0, 0.0])) == 2 and len(shapes) == 3


def test_a_look_allocates_no_arrays(world):
    world.add(Plane(), static=True)
    for k in range(30):
        world.add((Box((1, 1, 1)), Torus(0.4, 0.2), Sphere(0.5))[k % 3], (0.95 * k, 0.4, 0.0))
    spec, reach = world.bodies.spec, np.full(world.bodies.count, 0.005)

    def look(times):
        for _ in range(times):
            world.pairs.find(world.shapes, spec, spec.x, spec.q, reach)
            find_contacts(world.shapes, spec, spec.x, spec.q, world.pairs, reach, world.contacts)

    look(5)
    buffers = [id(array) for array in world.contacts._all.arrays]
    tracemalloc.start()
    look(5)
    gc.collect()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    look(200)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # arguments are boxed (some hundred bytes per look, until they are collected); the contacts alone take more
    assert peak - before < 200_000 and world.contacts.count * 80 * 200 > 1_000_000
    assert [id(array) for array in world.contacts._all.arrays] == buffers


@pytest.mark.parametrize("count", [2, 3])
def test_threads_find_the_same_contacts_in_the_same_order(world, count, monkeypatch):
    """Pairs shared by several threads: every array the same bit for bit, from buffers that grow at first."""
    rng = np.random.default_rng(5)
    world.add(Plane(), static=True)
    shapes = (Box((1, 1, 1)), Torus(0.4, 0.2), Sphere(0.5), Capsule(0.3, 0.5), gear())
    for k in range(40):
        place = (0.8 * (k % 4), 0.4 + 0.8 * (k // 16), 0.8 * (k // 4 % 4))
        world.add(shapes[k % 5], place, random_turn(rng))
    alone = ContactSpec(*(array.copy() for array in world.find(0.05)))
    taken = []
    original = threads._Pool.run
    monkeypatch.setattr(threads, "_LEAST", 1)
    monkeypatch.setattr(threads.numba, "get_num_threads", lambda: count)
    monkeypatch.setattr(threads._Pool, "run", lambda pool, job, n: (taken.append(job.pieces), original(pool, job, n)))
    world.contacts = Contacts()
    for _ in range(3):
        shared = world.find(0.05)
        assert world.pairs.count > 60 and len(alone.a) > 200
        for one, many in zip(alone, shared, strict=True):
            assert np.array_equal(one, many)
    assert taken == [count] * 3 and len(world.contacts._free) <= count - 1


def test_flush_neighbours_do_not_rest_on_each_other(world):
    """Two L side by side with their tops flush, a little into each other: only the sides touch."""
    world.add(ell())
    world.add(ell(), (-1.0005 + 0.001, 0.0, 0.0))
    c = world.find(0.01)
    assert len(c.gap) >= 4 and np.all(np.abs(c.normal[:, 0]) > 0.99) and c.gap.min() > -0.002
