"""Solids on a grid: fields against brute force, incremental updates against a fresh start, bit for bit."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from undertow.geometry import (
    Box,
    Capsule,
    ConstantCurve,
    Keyframes,
    MeshShape,
    Plane,
    SineCurve,
    Solid,
    SolidFields,
    Sphere,
    Static,
    Torus,
    VelocityCurves,
)
from undertow.geometry.motion import rotation_matrix
from undertow.grid import GHOSTS, OPEN, PERIODIC, WALL, Grid, Sides

GRID = Grid((20, 16, 14), 0.05, lower=(-0.2, 0.1, 0.0))
FIELDS = ("phi_n", "area_f", "volume_c", "body_c", "distance_f", "velocity_f", "velocity_c")


def _solids() -> list[Solid]:
    tilt = rotation_matrix((1, 1, 0), 30)
    return [
        Solid("floor", Plane((0.1, 1.0, 0.0)), Static((0.0, 0.18, 0.0))),
        Solid(
            "bar",
            Capsule(0.08, 0.2),
            VelocityCurves(
                SineCurve((0, 0, 0), (1.0, 0.4, 0), 1.0), ConstantCurve((0, 0, 4.0)), (0.2, 0.45, 0.35), tilt
            ),
        ),
        Solid("block", Box((0.2, 0.15, 0.3)), Static((0.6, 0.4, 0.3), tilt)),
        Solid(
            "ring",
            Torus(0.15, 0.06),
            Keyframes([0, 1], [(0.5, 0.7, 0.4), (0.1, 0.5, 0.3)], [((1, 0, 0), 0), ((1, 0, 0), 90)]),
        ),
        Solid("lump", MeshShape(*Box((0.18, 0.18, 0.18)).surface()), VelocityCurves(ConstantCurve((0.3, -0.2, 0.1)))),
    ]


def _points(grid: Grid, offset: tuple[float, float, float]) -> np.ndarray:
    axes = [grid.lower[a] + (np.arange(grid.padded[2 - a]) - GHOSTS + offset[a]) * grid.dx for a in range(3)]
    Z, Y, X = np.meshgrid(axes[2], axes[1], axes[0], indexing="ij")
    return np.stack([X, Y, Z], axis=-1).reshape(-1, 3)


def test_fields_agree_with_brute_force() -> None:
    solids = [s for s in _solids() if s.name != "lump"]
    fields = SolidFields(GRID, solids)
    t = 0.3
    assert fields.update(t)
    far = fields.far

    def nearest(offset: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        points = _points(GRID, offset)
        distances = np.array([s.distance(points, t) for s in solids])
        body = np.argmin(distances, axis=0)
        d = distances.min(axis=0)
        velocity = np.zeros_like(points)
        for b, s in enumerate(solids):
            linear, angular = s.motion.velocity(t)
            own = linear + np.cross(angular, points - s.motion.pose(t)[0])
            velocity[body == b] = own[body == b]
        return d, body, velocity

    d, _, _ = nearest((0, 0, 0))
    assert np.allclose(fields.phi_n.ravel(), np.minimum(d, far), atol=1e-13)
    d, body, velocity = nearest((0.5, 0.5, 0.5))
    inside_band = d < far - 1e-12
    assert np.array_equal(fields.body_c.ravel()[inside_band], body[inside_band])
    assert np.all(fields.body_c.ravel()[d > far + 1e-12] == -1)
    deep = (np.abs(d) > 2 * GRID.dx + 1e-12) & inside_band
    assert np.allclose(fields.velocity_c.reshape(3, -1)[:, deep], velocity[deep].T, atol=1e-12)
    for axis in range(3):
        offset = tuple(0.0 if a == axis else 0.5 for a in range(3))
        d, _, velocity = nearest(offset)  # type: ignore[arg-type]
        assert np.allclose(fields.distance_f[axis].ravel(), np.minimum(d, far), atol=1e-13)
        inside_band = d < far - 1e-12
        # close to the surface the velocity is that of the wall, not of the face centre
        away = inside_band & ((d < -0.9 * GRID.dx) | (d > 2.0 * GRID.dx))
        expected = np.where(away, velocity[:, axis], fields.velocity_f[axis].ravel())
        spin = max(float(np.linalg.norm(s.motion.velocity(t)[1])) for s in solids)
        near = inside_band & ~away
        moved = np.abs(fields.velocity_f[axis].ravel() - velocity[:, axis])[near]
        assert np.all(moved <= spin * (np.abs(d[near]) + 1e-3 * GRID.dx) + 1e-12)
        assert np.allclose(fields.velocity_f[axis].ravel(), expected, atol=1e-12)
        assert np.all(fields.velocity_f[axis].ravel()[d > far + 1e-12] == 0.0)


def test_wall_velocity_is_taken_on_the_surface() -> None:
    grid = Grid((24, 24, 24), 1 / 24)
    spin, centre, r = np.array([0.0, 2.0, 5.0]), np.array([0.5, 0.47, 0.52]), 0.3
    ball = Solid("ball", Sphere(r), VelocityCurves(ConstantCurve((1, 0, 0)), ConstantCurve(spin), centre))
    fields = SolidFields(grid, [ball])
    fields.update(0.0)
    k, j, i = np.nonzero((fields.volume_c > 0) & (fields.volume_c < 1))
    x = (np.stack([i, j, k], axis=1) - GHOSTS + 0.5) * grid.dx - centre
    foot = r * x / np.linalg.norm(x, axis=1, keepdims=True)
    expected = np.array([1.0, 0, 0]) + np.cross(spin, foot)
    assert np.allclose(fields.velocity_c[:, k, j, i].T, expected, atol=1e-3)
    # a spinning ball does not push the fluid: wall velocity . wall normal is that of the translation alone
    normal_speed = np.einsum("ni,ni->n", fields.velocity_c[:, k, j, i].T - [1.0, 0, 0], foot / r)
    assert np.abs(normal_speed).max() < 2e-3


@pytest.mark.parametrize("grid", [GRID, Grid((20, 16, 1), 0.05, lower=(-0.2, 0.1, 0.0), dimensions=2)])
def test_updates_equal_a_fresh_start_bit_for_bit(grid: Grid) -> None:
    moving = SolidFields(grid, _solids())
    for t in (0.0, 0.01, 0.02, 0.35, 0.36, 0.9, 2.0):
        moving.update(t)
        fresh = SolidFields(grid, _solids())
        fresh.update(t)
        for name in FIELDS:
            assert np.array_equal(getattr(moving, name), getattr(fresh, name)), (name, t)


def test_same_bits_for_any_number_of_threads(handed_over: list[str]) -> None:
    results = []
    for threads in (1, 2):
        assert not handed_over
        numba.set_num_threads(threads)
        fields = SolidFields(GRID, _solids())
        fields.update(0.4)
        results.append(fields)
    assert len(set(handed_over)) > 1, set(handed_over)
    for name in FIELDS:
        assert np.array_equal(getattr(results[0], name), getattr(results[1], name)), name


def test_update_says_whether_the_geometry_changed() -> None:
    at_rest = Solid("post", Box((0.1, 0.2, 0.1)), Static((0.1, 0.4, 0.3)))
    spinning = Solid(
        "ball",
        Sphere(0.15),
        VelocityCurves(ConstantCurve((0, 0, 0)), SineCurve((0, 0, 0), (0, 0, 3.0), 1.0), (0.5, 0.5, 0.3)),
    )
    fields = SolidFields(GRID, [at_rest, spinning])
    assert fields.update(0.0)
    before = fields.velocity_f.copy()
    assert not fields.update(0.2), "a ball that only spins stays where it is"
    assert not np.array_equal(before, fields.velocity_f), "but its wall velocity changes"
    assert not fields.update(0.2)
    moving = SolidFields(GRID, [Solid("ball", Sphere(0.15), VelocityCurves(ConstantCurve((1, 0, 0))))])
    assert moving.update(0.0) and moving.update(0.1) and not moving.update(0.1)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_bodies_may_leave_the_domain(dimensions: int) -> None:
    grid = Grid((16, 16, 16 if dimensions == 3 else 1), 1 / 16, dimensions=dimensions)
    ball = Solid("ball", Sphere(0.2), VelocityCurves(ConstantCurve((-1.0, 0, 0)), position=(0.5, 0.5, 0.5)))
    fields = SolidFields(grid, [ball])
    empty = SolidFields(grid, [])
    assert not empty.update(0.0)
    volumes = []
    for t in (0.0, 0.5, 0.6, 3.0, 30.0):
        fields.update(t)
        volumes.append((1 - fields.volume_c[grid.interior]).sum() * grid.cell_volume)
        for name in ("area_f", "volume_c"):
            padded = getattr(fields, name)
            edge = padded[0] if name == "area_f" else padded
            assert np.array_equal(edge[:, :, 0], edge[:, :, GHOSTS]), "ghosts repeat the edge"
    assert volumes[1] == pytest.approx(volumes[0] / 2, rel=0.02)
    assert 0 < volumes[2] < volumes[1] and volumes[3] == volumes[4] == 0.0
    for name in FIELDS:
        assert np.array_equal(getattr(fields, name), getattr(empty, name)), name


def test_world_box_surface_and_distance_follow_the_motion() -> None:
    solid = _solids()[1]
    vertices, _ = solid.surface(0.3)
    lower, upper = solid.bounds(0.3)
    assert np.abs(solid.distance(vertices, 0.3)).max() < 1e-12
    assert np.all(vertices >= lower - 1e-12) and np.all(vertices <= upper + 1e-12)
    assert np.all(np.isinf(_solids()[0].bounds(0.0)[0]))
    assert solid.thickness() == pytest.approx(0.16)


def test_a_small_body_in_a_large_grid_costs_its_box_only() -> None:
    """Work rather than time is bounded: the cells touched are those of the body's box and its band."""
    grid = Grid((96, 96, 96), 1 / 96)
    ball = Solid("ball", Sphere(10 / 96), VelocityCurves(ConstantCurve((0.5, 0.2, 0.1)), position=(0.4, 0.4, 0.4)))
    fields = SolidFields(grid, [ball])
    fields.update(0.0)
    (box,) = fields._place(0.01)
    assert (box[1] - box[0]) * (box[3] - box[2]) * (box[5] - box[4]) < 31**3


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_solid_across_a_periodic_side_is_the_solid_in_the_middle_moved(dimensions):
    """Shifted by half a period, and by three and a half: the same fields, rolled around."""
    n = 16
    grid = Grid((n, 12, n if dimensions == 3 else 1), 1 / n, dimensions=dimensions)
    spin = ConstantCurve((0.0, 0.0, 2.0))

    def fields(x):
        ball = Solid("ball", Sphere(0.2), VelocityCurves(ConstantCurve((1.0, 0.0, 0.0)), spin, (x, 0.4, 0.5)))
        bar = Solid("bar", Box((0.1, 0.05, 0.1)), Static((x + 0.3, 0.7, 0.5)))
        result = SolidFields(grid, [ball, bar])
        result.end_at(Sides(grid, [PERIODIC, PERIODIC, WALL, WALL] + 2 * [PERIODIC if dimensions == 3 else WALL]))
        result.update(0.0)
        return result

    middle = fields(0.5)
    inside = grid.interior
    for x in (1.0, 4.0, -2.0):
        crossing = fields(x)
        for name in ("volume_c", "body_c"):
            rolled = np.roll(getattr(middle, name)[inside], n // 2, axis=2)
            np.testing.assert_allclose(getattr(crossing, name)[inside], rolled, atol=1e-12)
        for name in ("area_f", "velocity_c", "velocity_f"):
            rolled = np.roll(getattr(middle, name)[(slice(None), *inside)], n // 2, axis=3)
            np.testing.assert_allclose(getattr(crossing, name)[(slice(None), *inside)], rolled, atol=1e-9)


@pytest.mark.parametrize(("gap", "is_open"), [(0.05, False), (0.2, True)])
def test_two_solids_that_nearly_touch_close_the_slit_between_them(gap: float, is_open: bool) -> None:
    """Nodes in a gap of less than a tenth of a cell count as solid: faces along it are closed, wider ones are not."""
    grid = Grid((8, 6, 1), 0.1, dimensions=2)
    half = 0.5 * gap * 0.1
    sides = [Solid(name, Box((1.0, 2.0, 1.0)), Static((0.4 + s * (0.5 + half), 0.3, 0.0)))
             for name, s in (("left", -1.0), ("right", 1.0))]  # fmt: skip
    fields = SolidFields(grid, sides)
    fields.update(0.0)
    along = fields.area_f[1, GHOSTS, GHOSTS + 1 : GHOSTS + 6, GHOSTS + 3 : GHOSTS + 5]
    assert (along.sum(axis=1) > 0.0).all() == is_open
    assert is_open or not along.any()
    alone = SolidFields(grid, sides[:1])
    alone.update(0.0)
    assert alone.area_f[1, GHOSTS, GHOSTS + 3, GHOSTS + 4] == 1.0, "one solid closes nothing beside itself"


@pytest.mark.parametrize(("gap", "is_open"), [(0.05, False), (0.2, True)])
def test_a_solid_that_nearly_touches_a_wall_of_the_domain_closes_the_slit(gap: float, is_open: bool) -> None:
    """Where it faces the wall; nodes of the wall beside a solid that stands on it stay where they are."""
    grid = Grid((8, 6, 1), 0.1, dimensions=2)
    ends = Sides(grid, [WALL, WALL, WALL, OPEN, WALL, WALL])
    lies = Solid("lies", Box((0.3, 0.2, 1.0)), Static((0.4, 0.1 + 0.1 * gap, 0.0)))
    stands = Solid("stands", Box((0.29, 0.5, 1.0)), Static((0.4, 0.2, 0.0)))
    hangs = Solid("hangs", Box((0.3, 0.2, 1.0)), Static((0.4, 0.5 - 0.1 * gap, 0.0)))
    under = [fields.area_f[0, GHOSTS, GHOSTS, GHOSTS + 4] for fields in placed(grid, ends, lies)]
    assert (under[0] > 0.0) == is_open
    beside = [fields.area_f[1, GHOSTS, GHOSTS, GHOSTS + 5] for fields in placed(grid, ends, stands)]
    assert beside[0] == beside[1] > 0.0
    above = [fields.area_f[0, GHOSTS, GHOSTS + 5, GHOSTS + 4] for fields in placed(grid, ends, hangs)]
    assert above[0] == above[1] > 0.0, "an open side is no wall"


def placed(grid: Grid, ends: Sides, solid: Solid) -> tuple[SolidFields, SolidFields]:
    """A solid between the sides of a domain, and alone."""
    bounded, alone = SolidFields(grid, [solid]), SolidFields(grid, [solid])
    bounded.end_at(ends)
    bounded.update(0.0)
    alone.update(0.0)
    return bounded, alone
