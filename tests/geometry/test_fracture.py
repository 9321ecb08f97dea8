"""Fracture patterns tile space, and broken shapes are whole again when their fragments are put together."""

from __future__ import annotations

from typing import Any

import igl
import numpy as np
import pytest

from undertow.errors import UserError
from undertow.geometry import (
    PATTERNS,
    Box,
    Compound,
    Fragment,
    MeshShape,
    Part,
    Pattern,
    PlacedPattern,
    Plane,
    Shape,
    Sphere,
    Torus,
    align_pattern,
    break_shape,
    conserve,
    make_gear,
    make_hull,
    make_pattern,
)
from undertow.geometry.bunny import make_bunny
from undertow.geometry.collision import AT_CENTRE, CONVEX, FIELD, MAX_FACES
from undertow.geometry.fracture import METHODS, LevelSetShape, check_method
from undertow.geometry.fracture_contact import LOOSE, find_planes
from undertow.geometry.fracture_patterns import from_folder, triangulate_polygon
from undertow.geometry.level_set_cuts import sample_body
from undertow.geometry.moments import integrate_mesh
from undertow.geometry.sheets import make_plate
from undertow.rigid.mass import mass_properties

Array = np.ndarray[Any, np.dtype[np.float64]]
BOX = Box((1.5, 1.0, 0.2))
POINT = np.array([0.3, 0.1, 0.1])
NORMAL = np.array([0.1, -0.2, -1.0])
RANDOM = np.random.default_rng(5)


def place(pattern: Pattern, shape: Shape, point: Array = POINT, normal: Array = NORMAL) -> PlacedPattern:
    return align_pattern(pattern, shape.bounds(), point, normal)


def extrude(outline: Array, length: float, middle: float = 0.0) -> tuple[Array, Any]:
    """A prism along z about a height."""
    n = len(outline)
    ends = (middle - 0.5 * length, middle + 0.5 * length)
    vertices = np.concatenate([np.column_stack([outline, np.full(n, z)]) for z in ends])
    cap = triangulate_polygon(outline)
    i, j = np.arange(n), (np.arange(n) + 1) % n
    sides = [np.column_stack([i, j, j + n]), np.column_stack([i, j + n, i + n])]
    return vertices, np.concatenate([cap[:, ::-1], cap + n, *sides])


def u_shape() -> MeshShape:
    """Two legs on a beam, which a cut below the beam leaves apart."""
    outline = np.array([(-1, 0), (-0.6, 0), (-0.6, 0.6), (0.6, 0.6), (0.6, 0), (1, 0), (1, 1), (-1, 1)], dtype=float)
    return MeshShape(*extrude(outline, 0.4))


def halves(axis: int, at: float) -> Pattern:
    """The unit box cut in two across an axis."""
    size = np.ones(3)
    size[axis] = at
    low = Box(tuple(size)).surface()
    rest = np.ones(3)
    rest[axis] = 1.0 - at
    high = Box(tuple(rest)).surface()
    move = 0.5 * rest
    move[axis] = at + 0.5 * (1.0 - at)
    regions = (MeshShape(low[0] + 0.5 * size, low[1]), MeshShape(high[0] + move, high[1]))
    z, y = np.eye(3)[2], np.eye(3)[1]
    centre = np.full(3, 0.5)
    centre[axis] = at
    return Pattern("halves", regions, np.ones(3), centre, z, y, 3)


def areas(shape: Any) -> tuple[float, float]:
    """Area [m2] of the outer surface and of the faces of fracture."""
    vertices, triangles = shape.surface()
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    size = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    return float(size[~shape.interior_t].sum()), float(size[shape.interior_t].sum())


def clip_convex(vertices: Array, planes: Array) -> Array:
    """Corners of the hull of points cut by half spaces n . x <= d (f, 4), one after the other: the other way to find a
    piece of a convex body."""
    for plane in planes:
        height = vertices @ plane[:3] - plane[3]
        below, above = vertices[height <= 0.0], vertices[height > 0.0]
        low, high = height[height <= 0.0], height[height > 0.0]
        if len(below) == 0:
            return below
        part = low[:, None] / (low[:, None] - high[None, :])
        cuts = below[:, None] + part[..., None] * (above[None, :] - below[:, None])
        vertices = np.concatenate([below, cuts.reshape(-1, 3)])
        if len(vertices) > 4:
            vertices = make_hull(vertices).vertices
    return vertices


# patterns -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_tiles_its_box(name: str, dimensions: int) -> None:
    """Every point lies in exactly one region, and the volumes add up."""
    points = np.random.default_rng(1).random((400, 3))
    for pieces in (2, 30):
        pattern = make_pattern(name, seed=3, pieces=pieces, dimensions=dimensions)
        assert sum(region.volume() for region in pattern.regions) == pytest.approx(1.0, abs=1e-12)
        windings = [igl.fast_winding_number(r.vertices, r.triangles, points) for r in pattern.regions]
        held = np.sum(np.array(windings) > 0.5, axis=0)
        assert np.array_equal(held, np.ones(len(points)))


def test_a_pattern_is_made_once_and_follows_its_seed() -> None:
    first, second = make_pattern("voronoi", seed=1), make_pattern("voronoi", seed=2)
    assert make_pattern("voronoi", seed=1) is first
    assert not np.array_equal(first.regions[0].vertices, second.regions[0].vertices)
    random = np.random.Generator(np.random.Philox(key=1)).random((24, 3))
    assert first.regions[0].distance(random[:1])[0] < 0.0


def test_grading_makes_pieces_small_at_the_centre() -> None:
    """The region that holds the centre, over the mean, shrinks with the grading."""

    def size_at_centre(grading: float) -> float:
        found = []
        for seed in range(6):
            pattern = make_pattern("voronoi", seed=seed, pieces=40, grading=grading)
            inside = [r.volume() for r in pattern.regions if r.distance(pattern.centre[None] + 1e-3)[0] < 0.0]
            found.append(40.0 * inside[0])
        return float(np.mean(found))

    assert size_at_centre(2.0) < 0.1 * size_at_centre(0.0)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_placed_pattern_encloses_the_body(dimensions: int) -> None:
    """Its centre is at the point, its normal along the normal, no corner of the body is outside, and no less would
    do."""
    for _ in range(20):
        half = RANDOM.uniform(0.1, 2.0, 3)
        point, normal = RANDOM.uniform(-1.0, 1.0, 3) * half, RANDOM.normal(size=3)
        pattern = make_pattern("radial", dimensions=dimensions)
        placed = align_pattern(pattern, (-half, half), point, normal)
        if dimensions == 2:
            point, normal = point * (1.0, 1.0, 0.0), normal * (1.0, 1.0, 0.0)
        assert placed.to_body(pattern.centre[None])[0] == pytest.approx(point)
        along = placed.axes @ pattern.normal
        assert along / np.linalg.norm(along) == pytest.approx(normal / np.linalg.norm(normal))
        corners = np.stack(np.meshgrid(*zip(-half, half, strict=True)), axis=-1).reshape(-1, 3)
        place = (corners - point) @ np.linalg.inv(placed.axes).T + pattern.centre
        assert np.all((place > 0.0) & (place < 1.0))
        assert np.abs(place[:, :dimensions] - 0.5).max() == pytest.approx(0.5 / 1.01)
        assert np.linalg.det(placed.axes) > 0.0


def test_courses_of_bricks_stay_level() -> None:
    """The up direction of the pattern is the y axis of the body, whichever side is hit."""
    pattern = make_pattern("brick")
    for normal in ((0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (1.0, 0.0, 0.3)):
        up = place(pattern, BOX, normal=np.array(normal)).axes @ pattern.up
        assert up / np.linalg.norm(up) == pytest.approx([0.0, 1.0, 0.0])


# the mesh path --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize(
    "shape", [BOX, u_shape(), Torus(0.5, 0.2), make_gear(0.5, 0.2, 8, 0.2, 0.3)], ids=["box", "u", "torus", "gear"]
)
def test_fragments_fill_the_body_once(name: str, shape: Shape) -> None:
    """Volume, centre and inertia add up to the body's, its outer area is theirs, and points lie in one of them."""
    fragments = break_shape(shape, place(make_pattern(name, seed=2), shape))
    vertices, triangles = shape.surface()
    volume, centre, inertia = integrate_mesh(vertices, triangles)
    assert sum(f.volume for f in fragments) == pytest.approx(volume, rel=1e-12)
    arms = [f.offset - centre for f in fragments]
    whole = sum(
        f.rotation @ np.diag(f.inertia) @ f.rotation.T + f.volume * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        for f, arm in zip(fragments, arms, strict=True)
    )
    assert whole == pytest.approx(inertia, abs=1e-12 * np.abs(inertia).max())
    outer, interior = np.sum([areas(f.shape) for f in fragments], axis=0)
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    assert outer == pytest.approx(0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum(), rel=1e-9)
    assert interior > 0.0
    points = np.random.default_rng(2).uniform(*shape.bounds(), (300, 3))
    inside = igl.fast_winding_number(vertices, triangles, points) > 0.5
    held = np.zeros(len(points), dtype=int)
    for f in fragments:
        own = np.ascontiguousarray((points - f.offset) @ f.rotation)
        held += igl.fast_winding_number(f.shape.vertices, f.shape.triangles, own) > 0.5
    assert np.array_equal(held, inside.astype(int))


def test_pieces_of_a_convex_body_are_those_of_clipping_by_planes() -> None:
    shape = make_hull(np.random.default_rng(7).normal(size=(12, 3)))
    pattern = make_pattern("voronoi", seed=4, pieces=12)
    placed = place(pattern, shape)
    fragments = {f.label: f for f in break_shape(shape, placed)}
    for label, region in enumerate(pattern.regions):
        mesh = MeshShape(placed.to_body(region.vertices), region.triangles)
        planes = find_planes(mesh)
        assert planes is not None
        corners = clip_convex(shape.vertices, planes)
        if label not in fragments:
            assert len(corners) < 4
            continue
        f = fragments[label]
        assert f.volume == pytest.approx(make_hull(corners).volume(), rel=1e-9)
        own = f.to_parent(f.shape.vertices)
        assert np.max(own @ planes[:, :3].T - planes[:, 3]) < 1e-12


def test_parts_of_a_region_that_do_not_hang_together_are_fragments() -> None:
    """A cut across the legs of a U leaves three."""
    shape = u_shape()
    placed = align_pattern(halves(1, 0.5), shape.bounds(), np.array([0.0, 0.3, 0.0]), np.array([0.0, 0.0, 1.0]))
    for method in METHODS:
        fragments = break_shape(shape, placed, method)
        assert sorted(f.label for f in fragments) == [0, 0, 1]
        legs = [f for f in fragments if f.label == 0]
        near = {"mesh": 1e-9, "level_set": 0.015, "level_set_aligned": 0.015 + 0.5 / 32.0 / 0.3}[method]
        assert {round(f.offset[0], 2) for f in legs} == {-0.8, 0.8}
        assert [f.volume for f in legs] == pytest.approx([0.4 * 0.3 * 0.4] * 2, rel=near)


@pytest.mark.parametrize("method", METHODS)
def test_a_region_need_not_be_convex(method: str) -> None:
    """An L and the square that it leaves."""
    corners = np.array([(0, 0), (1, 0), (1, 0.5), (0.5, 0.5), (0.5, 1), (0, 1)], dtype=float)
    ell = extrude(corners, 1.0, 0.5)
    regions = (MeshShape(*ell), MeshShape(*extrude(np.array([(0.5, 0.5), (1, 0.5), (1, 1), (0.5, 1)]), 1.0, 0.5)))
    pattern = Pattern("ell", regions, np.ones(3), np.full(3, 0.5), np.eye(3)[2], np.eye(3)[1], 3)
    assert find_planes(regions[0]) is None
    fragments = break_shape(BOX, place(pattern, BOX, point=np.zeros(3), normal=np.eye(3)[2]), method)
    # the aligned path moves the cut by up to half of 1 / 64 of the length
    near = {"mesh": 1e-12, "level_set": 0.005, "level_set_aligned": 0.03}[method]
    assert [f.volume for f in fragments] == pytest.approx([0.75 * 0.3, 0.25 * 0.3], rel=near)
    assert fragments[1].offset == pytest.approx([0.375, 0.25, 0.0], abs=near)


def test_fragments_are_principal_and_break_again() -> None:
    """In their own frame the inertia is diagonal; faces of the first fracture are still known after the second."""
    shape = make_hull(np.random.default_rng(3).normal(size=(10, 3)))
    first = break_shape(shape, place(make_pattern("radial", seed=1), shape))
    largest = max(first, key=lambda f: f.volume)
    known = mass_properties(largest.shape, density=2.0)
    assert known.rotation == pytest.approx([1.0, 0.0, 0.0, 0.0])
    assert known.inertia == pytest.approx(2.0 * largest.inertia, rel=1e-12)
    assert np.abs(known.centre).max() < 1e-12
    outer, _ = areas(largest.shape)
    for method, rel in (("mesh", 1e-9), ("level_set", 0.1)):
        second = break_shape(largest.shape, place(make_pattern("voronoi", seed=6), largest.shape), method)
        assert sum(areas(f.shape)[0] for f in second) == pytest.approx(outer, rel=rel)
        assert sum(f.volume for f in second) == pytest.approx(largest.volume, rel=max(rel * 0.2, 1e-12))


def test_a_round_body_breaks_as_a_mesh_as_fine_as_asked() -> None:
    """The mesh lies inside; masses are shares of the body's all the same."""
    ball = Sphere(0.5)
    volumes, faces = [], []
    for segments in (12, 24, 48):
        fragments = break_shape(ball, place(make_pattern("voronoi", seed=1), ball), resolution=segments)
        volumes.append(sum(f.volume for f in fragments))
        faces.append(sum(len(f.shape.surface()[1]) for f in fragments))
        assert conserve(2.0, np.zeros(3), np.zeros(3), np.zeros(3), fragments).mass_b.sum() == pytest.approx(2.0)
    lost = 1.0 - np.array(volumes) / ball.volume()
    assert lost[:-1] / lost[1:] == pytest.approx(4.0, rel=0.05)
    assert faces[0] < faces[1] < faces[2]


def test_pieces_that_are_not_convex_collide_by_a_small_table() -> None:
    """Which has the distance of the piece inside, and its sign: of its mesh, or of body and region, of which the mesh
    of a round body is off by the height of its facets, a tenth of a cell here."""
    shape = Torus(0.5, 0.2)
    pieces = break_shape(shape, place(make_pattern("voronoi", seed=1, pieces=10), shape))
    concave = [f for f in pieces if f.shape.collision_entry(AT_CENTRE, 3).kind == FIELD]
    assert len(concave) > 3 and all(f.shape.carved is not None for f in concave)
    for f, knows in [(f, knows) for f in concave for knows in (True, False)]:
        f.shape.carved = f.shape.carved if knows else None
        entry = f.shape.collision_entry(AT_CENTRE, 3)
        assert max(entry.table_shape) <= 32 + 2 * 4 + 2
        nz, ny, nx = entry.table_shape
        k, j, i = np.meshgrid(np.arange(nz), np.arange(ny), np.arange(nx), indexing="ij")
        # every eleventh, which is on no line of the table
        index = np.stack([i.ravel(), j.ravel(), k.ravel()], axis=1)[::11]
        spacing = entry.table_frame[3]
        true = f.shape.distance(entry.table_frame[:3] + spacing * index)
        slack = (1e-6 if f.shape.carved is None else 0.2) * spacing
        inside, near = true < -slack, np.abs(true) < 0.5 * spacing
        table = entry.table[::11]
        assert np.allclose(table[inside & near], true[inside & near], atol=slack)
        assert np.all(table[inside] < 0.0) and np.all(table[true > slack] > 0.0)


def test_round_pieces_collide_by_fewer_planes_that_keep_their_cracks() -> None:
    """The piece lies within, its cracks are faces of it, and it stands out by less than the bulge of its planes."""
    radius = 0.5
    pieces = break_shape(Sphere(radius), place(make_pattern("voronoi", seed=1, pieces=12), Sphere(radius)))
    thinned = 0
    for f in pieces:
        entry = f.shape.collision_entry(AT_CENTRE, 3)
        if entry.kind != CONVEX:
            continue
        assert len(entry.planes) <= MAX_FACES
        normals, offsets = entry.planes[:, :3], entry.planes[:, 3]
        assert np.max(f.shape.vertices @ normals.T - offsets) < 1e-9
        corners = f.shape.vertices[f.shape.triangles[f.interior_t]]
        cracks = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        cracks = cracks[np.linalg.norm(cracks, axis=1) > 1e-9]
        cracks /= np.linalg.norm(cracks, axis=1)[:, None]
        assert np.all(np.max(cracks @ normals.T, axis=1) > 1.0 - 1e-9)
        out = np.linalg.norm(f.to_parent(entry.vertices), axis=1).max() / radius - 1.0
        assert out < 1.0 / np.cos(1.5 * LOOSE) - 1.0
        thinned += len(entry.planes) < len(find_planes(f.shape))
    assert thinned >= 3


def test_pieces_of_pieces_know_the_body_that_first_broke() -> None:
    """The larger of the distances to that body and to the planes of all regions is that of the piece's mesh."""
    body = make_bunny(1.0, 32)
    first = break_shape(body, place(make_pattern("voronoi", seed=1, pieces=8), body))
    parent = next(f.shape for f in first if f.shape.carved is not None and f.volume > 0.01)
    for f in break_shape(parent, place(make_pattern("voronoi", seed=2, pieces=6), parent)):
        if f.shape.carved is None:
            continue
        assert f.shape.carved.shape is body
        points = np.concatenate([f.shape.vertices, f.shape.vertices[f.shape.triangles].mean(axis=1)])
        found = [f.shape.carved.distance([p[[0]], p[[1]], p[[2]]])[0, 0, 0] for p in points[::7]]
        assert np.max(np.abs(found)) < 0.012


def test_small_pieces_are_debris() -> None:
    fragments = break_shape(BOX, place(make_pattern("radial", seed=2), BOX), smallest=0.1)
    assert {f.is_debris for f in fragments} == {True, False}
    assert all(f.is_debris == (f.volume < 0.1**3) for f in fragments)


@pytest.mark.parametrize("method", METHODS)
def test_two_dimensions_are_sections(method: str) -> None:
    """Areas and moments about z are those of the section; the pieces are prisms that 2D scenes take."""
    for shape in (BOX, Sphere(0.5), u_shape()):
        area, centre, about_z = shape.section(np.eye(3)).measure()
        pattern = make_pattern("glass", seed=1, pieces=10, dimensions=2)
        fragments = break_shape(shape, place(pattern, shape), method, dimensions=2)
        near = 1e-9 if method == "mesh" else 0.01
        assert sum(f.volume for f in fragments) == pytest.approx(area, rel=near)
        arms = [f.offset - centre for f in fragments]
        whole = sum(f.inertia[2] + f.volume * arm @ arm for f, arm in zip(fragments, arms, strict=True))
        assert whole == pytest.approx(about_z, rel=1e-6 if method == "mesh" else 0.02)
        for f in fragments:
            assert f.offset[2] == 0.0
            known = f.shape.planar_moments()
            assert known.volume == pytest.approx(f.volume, rel=1e-9)
            assert np.linalg.norm(known.centre) < 1e-9
            section = f.shape.section(np.eye(3)).measure()[0]
            if f.volume > 0.02 * area:
                assert section == pytest.approx(f.volume, rel=1e-9 if method == "mesh" else 0.1)


def test_the_same_break_has_the_same_bits() -> None:
    for method in METHODS:
        one, two = (break_shape(BOX, place(make_pattern("glass", seed=2), BOX), method) for _ in range(2))
        for a, b in zip(one, two, strict=True):
            assert a.volume == b.volume
            assert np.array_equal(a.offset, b.offset)
            assert np.array_equal(a.shape.surface()[0], b.shape.surface()[0])


# the level set path ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [BOX, u_shape(), Sphere(0.5)], ids=["box", "u", "sphere"])
def test_shares_of_cells_add_up_to_the_body(shape: Shape) -> None:
    """Whatever the pattern, the fragments have the volume that the grid sees of the body, which is near the true
    one."""
    volumes = [
        sum(f.volume for f in break_shape(shape, place(make_pattern(name, seed=1), shape), "level_set"))
        for name in PATTERNS
    ]
    assert volumes == pytest.approx([volumes[0]] * len(volumes), rel=1e-3)
    assert volumes[0] == pytest.approx(shape.volume(), rel=0.01)


def test_level_sets_are_the_larger_distance() -> None:
    """At every sample of a fragment, brute force."""
    pattern = make_pattern("voronoi", seed=1, pieces=6)
    placed = place(pattern, BOX)
    for f in break_shape(BOX, placed, "level_set", resolution=30):
        assert isinstance(f.shape, LevelSetShape)
        grid, values = f.shape.lattice, f.shape.values
        z, y, x = np.meshgrid(*(grid.axis(a) for a in (2, 1, 0)), indexing="ij")
        points = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
        region = MeshShape(placed.to_body(pattern.regions[f.label].vertices), pattern.regions[f.label].triangles)
        larger = np.maximum(BOX.distance(points), region.distance(points)).reshape(values.shape)
        inside = larger < -1e-3 * grid.spacing
        assert np.allclose(values[inside], larger[inside], atol=2e-3 * grid.spacing)
        assert np.array_equal(values < 0.0, inside)


def test_distances_of_a_level_set_are_distances_outside_too() -> None:
    """The larger of two distances is too small beyond an edge; the shape measures from its contour."""
    corner = align_pattern(halves(0, 0.5), BOX.bounds(), np.zeros(3), np.array([0.0, 0.0, 1.0]))
    left = break_shape(BOX, corner, "level_set", resolution=60)[0]
    assert isinstance(left.shape, LevelSetShape)
    beyond = np.array([[0.3, 0.8, 0.0], [-0.2, 0.6, 0.3]]) - left.offset
    true = Box((0.75, 1.0, 0.2)).distance(beyond + left.offset + np.array([0.375, 0.0, 0.0]))
    assert left.shape.distance(beyond) == pytest.approx(true, abs=1.5 / 60)
    assert true[0] > 0.4


def test_particles_lie_on_the_fragment_that_they_are_given_to() -> None:
    shape = u_shape()
    placed = align_pattern(halves(1, 0.5), shape.bounds(), np.array([0.0, 0.3, 0.0]), np.array([0.0, 0.0, 1.0]))
    for f in break_shape(shape, placed, "level_set"):
        assert isinstance(f.shape, LevelSetShape)
        assert len(f.shape.particles)
        assert np.abs(f.shape.distance(f.shape.particles)).max() < 1.5 * f.shape.lattice.spacing
        lower, upper = f.shape.bounds()
        slack = f.shape.lattice.spacing
        assert np.all((f.shape.particles > lower - slack) & (f.shape.particles < upper + slack))
        probes = f.shape.collision_entry(AT_CENTRE, 3).probes
        assert np.array_equal(probes[: len(f.shape.particles), :3], f.shape.particles)


def test_the_aligned_path_is_the_other_without_interpolation() -> None:
    """At a sample, along the pattern's own normal and at its own scale, both give the same cells."""
    pattern = make_pattern("voronoi", seed=1, pieces=20)
    grid = sample_body(BOX, 60, 3).lattice
    point = grid.origin + grid.spacing * np.array([40, 30, 5])
    reach = grid.spacing * (np.array(grid.shape[::-1]) - 1)
    twice = align_pattern(pattern, (-reach, reach), np.zeros(3), pattern.normal)
    placed = PlacedPattern(pattern, point, twice.axes)
    one, two = (break_shape(BOX, placed, method, resolution=60) for method in ("level_set", "level_set_aligned"))
    assert [f.label for f in one] == [f.label for f in two]
    for a, b in zip(one, two, strict=True):
        assert a.volume == pytest.approx(b.volume, rel=1e-9)
        assert a.offset == pytest.approx(b.offset, abs=1e-9)
    # any normal, and a point up to half a cell away
    moved = align_pattern(pattern, BOX.bounds(), point + 0.49 * grid.spacing, NORMAL)
    three = break_shape(BOX, moved, "level_set_aligned", resolution=60)
    assert [f.volume for f in three] == [f.volume for f in two]


# conservation ---------------------------------------------------------------------------------------------------------


def sums(fragments: list[Fragment], shares: Any, centre: Array) -> tuple[Array, Array, float]:
    """Momentum, angular momentum about the centre, kinetic energy, body by body."""
    p, spin, energy = np.zeros(3), np.zeros(3), 0.0
    for f, m, v, w in zip(fragments, shares.mass_b, shares.velocity_b, shares.angular_velocity_b, strict=True):
        tensor = m / f.volume * f.rotation @ np.diag(f.inertia) @ f.rotation.T
        p += m * v
        spin += m * np.cross(f.offset - centre, v) + tensor @ w
        energy += 0.5 * m * v @ v + 0.5 * w @ tensor @ w
    return p, spin, energy


@pytest.mark.parametrize("scale", [1e-3, 1.0])
@pytest.mark.parametrize("method", METHODS)
def test_fragments_take_over_mass_and_momentum(method: str, scale: float) -> None:
    """Exactly, whatever their moments add up to; with exact ones the energy too, in metres and in millimetres."""
    vertices, triangles = u_shape().surface()
    shape = MeshShape(scale * vertices, triangles)
    volume, centre, inertia = integrate_mesh(*shape.surface())
    mass, v, omega = 800.0 * volume, np.array([1.0, -2.0, 0.5]), np.array([3.0, 1.0, -2.0])
    momentum, spin = mass * v, 800.0 * inertia @ omega
    placed = place(make_pattern("glass", seed=1), shape, point=scale * POINT)
    fragments = break_shape(shape, placed, method)
    shares = conserve(mass, centre, momentum, spin, fragments)
    p, found, energy = sums(fragments, shares, centre)
    assert shares.mass_b.sum() == pytest.approx(mass, rel=1e-14)
    assert p == pytest.approx(momentum, rel=1e-12)
    assert found == pytest.approx(spin, rel=1e-12)
    before = 0.5 * mass * v @ v + 0.5 * spin @ omega
    assert energy == pytest.approx(before, rel=1e-12 if method == "mesh" else 0.01)
    if method == "mesh":
        assert shares.velocity_b == pytest.approx(v + np.cross(omega, [f.offset - centre for f in fragments]))


def test_in_2d_fragments_turn_about_z_alone() -> None:
    fragments = break_shape(BOX, place(make_pattern("radial", dimensions=2), BOX), dimensions=2)
    mass, about_z = 1000.0 * 1.5, 1000.0 * 1.5 * (1.5**2 + 1.0) / 12.0
    momentum, spin = np.array([30.0, -4.0, 0.0]), np.array([0.0, 0.0, about_z * 2.0])
    shares = conserve(mass, np.zeros(3), momentum, spin, fragments)
    p, found, energy = sums(fragments, shares, np.zeros(3))
    assert p == pytest.approx(momentum, rel=1e-12) and found == pytest.approx(spin, rel=1e-12)
    assert energy == pytest.approx(0.5 * momentum @ momentum / mass + 0.5 * about_z * 4.0, rel=1e-12)
    assert np.all(shares.velocity_b[:, 2] == 0.0) and np.all(shares.angular_velocity_b[:, :2] == 0.0)


# folders and mistakes -------------------------------------------------------------------------------------------------


def write_obj(path: Any, vertices: Array, triangles: Any) -> None:
    lines = [f"v {x:.17g} {y:.17g} {z:.17g}" for x, y, z in vertices]
    lines += ["f " + " ".join(str(int(i) + 1) for i in t) for t in triangles]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path: Any) -> Any:
    """A Voronoi pattern as a user's meshes, 2 m large, its lower corner at (-1, 3, 0)."""
    for n, region in enumerate(make_pattern("voronoi", seed=1, pieces=6).regions):
        write_obj(tmp_path / f"piece{n}.obj", 2.0 * region.vertices + (-1.0, 3.0, 0.0), region.triangles)
    return tmp_path


def test_a_folder_of_meshes_is_a_pattern(folder: Any) -> None:
    pattern, own = from_folder(folder), make_pattern("voronoi", seed=1, pieces=6)
    assert from_folder(folder) is pattern
    assert [r.volume() for r in pattern.regions] == pytest.approx([r.volume() for r in own.regions], rel=1e-9)
    assert from_folder(folder, centre=(-0.5, 3.5, 1.0)).centre == pytest.approx([0.25, 0.25, 0.5])
    one, two = (break_shape(BOX, place(p, BOX)) for p in (pattern, own))
    assert [f.volume for f in one] == pytest.approx([f.volume for f in two], rel=1e-6)


def test_mistakes_in_a_folder_name_the_file(folder: Any, tmp_path: Any) -> None:
    first = (folder / "piece2.obj").read_text()

    def refuses(*words: str) -> None:
        with pytest.raises(UserError) as error:
            from_folder(folder)
        assert all(word in str(error.value) for word in words), str(error.value)

    lines = first.splitlines()
    (folder / "piece2.obj").write_text("\n".join(lines[:-1]))
    refuses("piece2.obj", "open")
    (folder / "piece2.obj").write_text("v nonsense\nf 1 2 3\n")
    refuses("piece2.obj", "cannot be read")
    (folder / "piece2.obj").unlink()
    refuses("leave holes", "% of", "add what is missing")
    (folder / "piece2.obj").write_text(first)
    (folder / "twice.obj").write_text(first)
    refuses("twice.obj and piece2.obj overlap", "subtract")
    (folder / "twice.obj").unlink()
    with pytest.raises(UserError, match="outside the box of the meshes"):
        from_folder(folder, centre=(0.0, 0.0, 0.0))
    with pytest.raises(UserError, match="normal = .* not all 0"):
        from_folder(folder, normal=(0.0, 0.0, 0.0))
    with pytest.raises(UserError, match="no such folder"):
        from_folder(folder / "none")
    empty = folder / "empty"
    empty.mkdir()
    with pytest.raises(UserError, match=r"0 mesh\(es\): a pattern needs at least two"):
        from_folder(empty)


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("no such pattern; choose one of radial", lambda: make_pattern("spiral")),
        ("seed = -1: must be a whole number", lambda: make_pattern("radial", seed=-1)),
        ("pieces = 1: must be a whole number from 2", lambda: make_pattern("radial", pieces=1)),
        ("dimensions = 4: must be 2 or 3", lambda: make_pattern("radial", dimensions=4)),
        ("bend is none of its options; it has layers", lambda: make_pattern("radial", bend=1.0)),
        ("it has none, leave it out", lambda: make_pattern("brick", bend=1.0)),
        ("grading = 9.0: must be from 0", lambda: make_pattern("voronoi", grading=9.0)),
        ("bend = 2.0: must be from 0", lambda: make_pattern("glass", bend=2.0)),
        ("slant = 1.0: must be from 0", lambda: make_pattern("wood", slant=1.0)),
        ("layers = 0: must be a whole number", lambda: make_pattern("radial", layers=0)),
        ("layers = 2 has no effect in 2D", lambda: make_pattern("radial", dimensions=2, layers=2)),
        ("must be three finite lengths", lambda: place(make_pattern("radial"), BOX, point=np.full(3, np.nan))),
        ("three numbers that are not all 0", lambda: place(make_pattern("radial"), BOX, normal=np.zeros(3))),
        ("method 'saw': there is no such", lambda: break_shape(BOX, place(make_pattern("radial"), BOX), "saw")),
        ("smallest = -1.0: must be", lambda: break_shape(BOX, place(make_pattern("radial"), BOX), smallest=-1.0)),
        ("resolution = 2: must be", lambda: break_shape(BOX, place(make_pattern("radial"), BOX), resolution=2)),
        ("a pattern of 3 dimensions", lambda: break_shape(BOX, place(make_pattern("radial"), BOX), dimensions=2)),
        ("a half space cannot break", lambda: break_shape(Plane(), place(make_pattern("radial"), BOX))),
        (
            "a thin shell cannot break",
            lambda: break_shape(make_plate((1.0, 1.0), 0.01), place(make_pattern("radial"), BOX), "level_set"),
        ),
        ("crosses or touches itself", lambda: triangulate_polygon(np.array([(0, 0), (1, 1), (1, 0), (0, 1.0)]))),
    ],
)
def test_mistakes_are_said(words: str, call: Any) -> None:
    with pytest.raises(UserError, match=words.replace("(", r"\(")):
        call()


def test_what_a_method_cannot_break_is_said_beforehand() -> None:
    thin = Box((1.0, 1.0, 0.004))
    for method in METHODS:
        for shape in (BOX, u_shape(), Sphere(0.5)):
            check_method(shape, method)
            check_method(shape, method, dimensions=2)
    check_method(thin)
    check_method(thin, "level_set", dimensions=2)
    with pytest.raises(UserError, match="cells of 0.0156 m see .*% of the body, which is too thin for them; raise"):
        check_method(thin, "level_set")
    assert break_shape(thin, place(make_pattern("radial"), thin, point=np.array([0.1, 0.1, 0.001])), "level_set") == []
    with pytest.raises(UserError, match="is not closed; mend it"):
        check_method(Open(0.5))
    with pytest.raises(UserError, match="a half space cannot break"):
        check_method(Plane(), "level_set_aligned")


def test_pieces_smaller_than_any_mesh_are_left_out() -> None:
    """Their mass goes to the others."""
    speck = Box((2e-8, 2e-8, 2e-9))
    fragments = break_shape(speck, place(make_pattern("voronoi", pieces=200), speck, np.zeros(3)))
    assert sum(f.volume for f in fragments) < speck.volume()
    none = np.zeros(3)
    assert conserve(3.0, none, none, none, fragments).mass_b.sum() == pytest.approx(3.0)


class Open(Sphere):
    """A ball of somebody's own whose surface lacks a triangle."""

    def surface(self, resolution: int = 48) -> Any:
        vertices, triangles = super().surface(resolution)
        return vertices, triangles[:-1]


def test_a_surface_that_cannot_be_cut_is_refused() -> None:
    placed = place(make_pattern("radial"), Sphere(0.5))
    pieces = break_shape(Open(0.5), placed, "level_set", resolution=30)
    assert sum(f.volume for f in pieces) == pytest.approx(Sphere(0.5).volume(), rel=0.01)
    with pytest.raises(UserError, match="it is not closed; mend it, or break the body by method level_set"):
        break_shape(Open(0.5), placed)


def test_solids_that_touch_along_an_edge_break() -> None:
    """Two boxes with an edge of four triangles."""
    vertices, triangles = Box((1.0, 1.0, 1.0)).surface()
    both = np.concatenate([vertices, vertices + (1.0, 1.0, 0.0)])
    unique, number = np.unique(both, axis=0, return_inverse=True)
    mesh = MeshShape(unique, number.reshape(-1)[np.concatenate([triangles, triangles + 8])])
    pieces = break_shape(mesh, place(make_pattern("radial"), mesh))
    assert sum(f.volume for f in pieces) == pytest.approx(2.0, rel=1e-12)


def test_a_cavity_stays_hollow() -> None:
    vertices, triangles = Box((1.0, 1.0, 1.0)).surface()
    shell = MeshShape(np.concatenate([vertices, 0.5 * vertices]), np.concatenate([triangles, triangles[:, ::-1] + 8]))
    pieces = break_shape(shell, place(make_pattern("voronoi"), shell))
    assert sum(f.volume for f in pieces) == pytest.approx(1.0 - 0.125, rel=1e-12)


def test_a_compound_breaks_as_one_solid() -> None:
    """Parts that overlap are one body where they do."""
    parts = [Part(Box((1.0, 0.2, 0.2)), np.array([x, 0.0, 0.0]), np.eye(3), None) for x in (0.0, 0.5)]
    shape = Compound(parts)
    fragments = break_shape(shape, place(make_pattern("voronoi", seed=1), shape))
    assert sum(f.volume for f in fragments) == pytest.approx(1.5 * 0.04, rel=1e-9)
