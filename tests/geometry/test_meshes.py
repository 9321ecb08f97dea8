"""Meshes as solids: reading, refusing, distances, tables, sequences, and the project's own rabbit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

from undertow.errors import UserError
from undertow.geometry import (
    AnalyticShape,
    AnimatedMesh,
    Box,
    MeshShape,
    Solid,
    SolidFields,
    Sphere,
    Static,
    Torus,
    VelocityCurves,
    load_mesh,
    load_sequence,
    make_bunny,
)
from undertow.geometry.motion import ConstantCurve, rotation_matrix
from undertow.grid import GHOSTS, Grid

SHAPES: list[AnalyticShape] = [Sphere(0.3), Torus(0.3, 0.12), Box((0.4, 0.5, 0.3))]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: type(s).__name__)
def test_mesh_distance_agrees_with_the_formula(shape: AnalyticShape) -> None:
    mesh = MeshShape(*shape.surface(resolution=96))
    points = np.random.default_rng(1).uniform(-0.6, 0.6, (500, 3))
    assert np.abs(mesh.distance(points) - shape.distance(points)).max() < 1e-3
    assert mesh.volume() == pytest.approx(shape.volume(), rel=1e-2)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: type(s).__name__)
def test_fields_of_a_mesh_agree_with_those_of_the_formula(shape: AnalyticShape) -> None:
    """Also the sampled table: second order where the surface is smooth, a rounded edge at worst."""
    pose = Static((0.5, 0.52, 0.47), rotation_matrix((1, 2, 3), 25.0))
    grid = Grid((32, 32, 32), 1 / 32)
    exact, mesh = (
        SolidFields(grid, [Solid("a", shape, pose)]),
        SolidFields(grid, [Solid("a", MeshShape(*shape.surface(resolution=96)), pose)]),
    )
    exact.update(0.0)
    mesh.update(0.0)
    near = np.abs(exact.phi_n) < 2 * grid.dx
    error = np.abs(mesh.phi_n - exact.phi_n)[near]
    # a table as fine as the grid rounds the corners of a box by less than half a cell
    assert error.max() < (0.45 if isinstance(shape, Box) else 0.1) * grid.dx
    assert np.sqrt(np.mean(error**2)) < 0.06 * grid.dx
    solid = [(1 - f.volume_c[grid.interior]).sum() * grid.cell_volume for f in (exact, mesh)]
    assert solid[1] == pytest.approx(solid[0], rel=0.015)


def test_a_2d_grid_cuts_a_mesh_with_a_thin_table() -> None:
    grid = Grid((24, 24, 1), 1 / 24, dimensions=2)
    turn = rotation_matrix((0, 0, 1), 33.0)
    pose = VelocityCurves(ConstantCurve((0, 0, 0)), ConstantCurve((0, 0, 1.0)), (0.5, 0.5, 0.0), turn)
    disc = SolidFields(grid, [Solid("disc", Sphere(0.3), pose)])
    cut = SolidFields(grid, [Solid("cut", MeshShape(*Sphere(0.3).surface(resolution=96)), pose)])
    disc.update(0.1)
    cut.update(0.1)
    assert cut.spec.tables.size < 4 * 24**2
    assert np.abs(cut.area_f - disc.area_f).max() < 0.1
    # at the wall both are evaluated on the surface, that of the mesh a little off the disc's
    assert np.abs(cut.velocity_f - disc.velocity_f)[:2, :, 8:-8, 8:-8].max() < 2e-3
    assert cut.volume_c.sum() == pytest.approx(disc.volume_c.sum(), rel=2e-3)
    points = np.random.default_rng(0).uniform(0, 1, (20, 3))
    flat = np.hypot(*(points[:, :2] - 0.5).T) - 0.3
    assert np.allclose(disc.solids[0].distance(points, 0.1, dimensions=2), flat)


def test_table_is_exact_at_its_points_near_the_surface() -> None:
    mesh = make_bunny(0.8, resolution=24)
    h, margin = 0.025, 0.1
    table = mesh.sample(0.0, h, margin)
    assert mesh.sample(5.0, h, margin) is table
    nz, ny, nx = table.values.shape[1:]
    Z, Y, X = np.meshgrid(*(table.origin[a] + h * np.arange(n) for a, n in ((2, nz), (1, ny), (0, nx))), indexing="ij")
    exact = mesh.distance(np.stack([X, Y, Z], axis=-1).reshape(-1, 3)).reshape(nz, ny, nx)
    near = (exact < margin) & (exact > -0.5 * margin)
    assert np.array_equal(table.values[0][near], exact[near])
    assert np.array_equal(table.values[0] < 0, exact < 0)
    assert np.all(table.values[0][exact > margin] > 0.9 * margin)
    assert min(exact[0].min(), exact[-1].min(), exact[:, :, 0].min(), exact[:, 0].min()) >= margin


@pytest.mark.parametrize("suffix", ["obj", "ply", "stl", "glb", "gltf"])
def test_files_round_trip(tmp_path: Path, suffix: str) -> None:
    vertices, triangles = Torus(0.4, 0.15).surface(resolution=24)
    mesh = trimesh.Trimesh(vertices, triangles, process=False)
    path = tmp_path / f"ring.{suffix}"
    if suffix == "gltf":
        for name, data in trimesh.Scene(mesh).export(file_type="gltf").items():
            (tmp_path / ("ring.gltf" if name == "model.gltf" else name)).write_bytes(data)
    else:
        mesh.export(path)
    loaded = load_mesh(path)
    assert len(loaded.vertices) == len(vertices) and len(loaded.triangles) == len(triangles)
    assert loaded.volume() == pytest.approx(MeshShape(vertices, triangles).volume(), rel=1e-5)
    assert np.allclose(loaded.bounds(), (vertices.min(axis=0), vertices.max(axis=0)), atol=1e-6)


def test_a_mesh_wound_inward_is_turned() -> None:
    vertices, triangles = Sphere(0.5).surface(resolution=24)
    mesh = MeshShape(vertices, triangles[:, ::-1])
    assert mesh.volume() > 0 and mesh.distance(np.zeros((1, 3)))[0] < -0.4


def test_overlapping_closed_parts_are_one_solid() -> None:
    vertices, triangles = Sphere(0.5).surface(resolution=24)
    both = MeshShape(
        np.concatenate([vertices, vertices + [0.4, 0, 0]]), np.concatenate([triangles, triangles + len(vertices)])
    )
    assert np.all(both.distance(np.array([[0.2, 0.0, 0.0], [0.0, 0.0, 0.0], [0.6, 0.0, 0.0]])) < 0)


def test_bad_meshes_are_refused_with_a_remedy(tmp_path: Path) -> None:
    vertices, triangles = Sphere(0.5).surface(resolution=12)
    trimesh.Trimesh(vertices, triangles[1:], process=False).export(tmp_path / "open.obj")
    with pytest.raises(UserError, match=r"mesh open.obj: not watertight: 3 open edges of .* close the holes"):
        load_mesh(tmp_path / "open.obj")
    twisted = triangles.copy()
    twisted[0] = twisted[0, ::-1]
    with pytest.raises(UserError, match="wound inconsistently at 3 edges; recalculate the normals"):
        MeshShape(vertices, twisted)
    (tmp_path / "broken.ply").write_bytes(b"ply\nformat ascii 1.0\nelement vertex 3\n")
    with pytest.raises(UserError, match="mesh broken.ply: cannot be read"):
        load_mesh(tmp_path / "broken.ply")
    (tmp_path / "empty.obj").write_text("v 0 0 0\n")
    with pytest.raises(UserError, match="mesh empty.obj"):
        load_mesh(tmp_path / "empty.obj")
    with pytest.raises(UserError, match="there is no such file"):
        load_mesh(tmp_path / "missing.stl")
    with pytest.raises(UserError, match="unknown kind of file '.doc'"):
        load_mesh(tmp_path / "thing.doc")
    with pytest.raises(UserError, match="not a finite number"):
        MeshShape(np.where(vertices > 0.49, np.nan, vertices), triangles)
    with pytest.raises(UserError, match="do not form a closed surface"):
        MeshShape(vertices, triangles[:2])
    with pytest.raises(UserError, match="needs vertices"):
        MeshShape(vertices[:, :2], triangles)
    with pytest.raises(UserError, match="scale = 0"):
        MeshShape(vertices, triangles).scaled(0.0)


def _swimming(t: float) -> np.ndarray:
    """Vertices of a ball that moves along x and breathes."""
    vertices, _ = Sphere(0.25).surface(resolution=32)
    return vertices * (1 + 0.2 * np.sin(2 * t)) + [0.3 * t, 0, 0]


def _sequence(rate: float = 10.0, count: int = 6) -> AnimatedMesh:
    _, triangles = Sphere(0.25).surface(resolution=32)
    return AnimatedMesh(np.stack([_swimming(n / rate) for n in range(count)]), triangles, frame_rate=rate)


def test_sequence_velocities_are_second_order() -> None:
    h = 1e-6
    errors = []
    for rate, count in ((10.0, 6), (20.0, 11)):
        mesh = _sequence(rate, count)
        worst = 0.0
        for t in (0.2, 0.23, 0.31):
            exact = (_swimming(t + h) - _swimming(t - h)) / (2 * h)
            worst = max(worst, np.abs(mesh.velocity(t) - exact).max())
            assert np.abs(mesh.at(t).vertices - _swimming(t)).max() < 2e-3
        errors.append(worst)
    assert errors[0] < 5e-3 and errors[0] / errors[1] > 3.0
    assert np.array_equal(_sequence().velocity(-0.1), np.zeros_like(_swimming(0.0)))
    assert np.array_equal(_sequence().velocity(0.5), np.zeros_like(_swimming(0.0)))


def test_fields_of_a_sequence_follow_its_vertices() -> None:
    grid = Grid((24, 24, 24), 1 / 24)
    turn = rotation_matrix((0, 0, 1), 90.0)
    drift = VelocityCurves(ConstantCurve((0, 0, 0.1)), position=(0.5, 0.4, 0.45), rotation=turn)
    fields = SolidFields(grid, [Solid("fish", _sequence(), drift)])
    assert fields.update(0.0)
    t = 0.23
    assert fields.update(t) and not fields.update(t)
    centre = np.array([0.5, 0.4 + 0.3 * t, 0.45 + 0.1 * t])
    radius = 0.25 * (1 + 0.2 * np.sin(2 * t))
    k, j, i = np.nonzero((fields.volume_c > 0) & (fields.volume_c < 1))
    x = (np.stack([i, j, k], axis=1) - GHOSTS + 0.5) * grid.dx - centre
    normal = x / np.linalg.norm(x, axis=1, keepdims=True)
    expected = np.array([0, 0.3, 0.1]) + 0.25 * 0.4 * np.cos(2 * t) * normal
    assert np.abs(fields.velocity_c[:, k, j, i].T - expected).max() < 0.02
    solid = (1 - fields.volume_c[grid.interior]).sum() * grid.cell_volume
    assert solid == pytest.approx(4 / 3 * np.pi * radius**3, rel=0.05)
    # the same bits whatever was asked before
    fresh = SolidFields(grid, [Solid("fish", _sequence(), drift)])
    fresh.update(t)
    assert np.array_equal(fresh.phi_n, fields.phi_n) and np.array_equal(fresh.velocity_c, fields.velocity_c)
    # at rest after the last frame, apart from the drift
    fields.update(0.6)
    assert np.allclose(np.unique(fields.velocity_c[2]), [0.0, 0.1]) and not fields.velocity_c[:2].any()


@pytest.mark.parametrize("suffix", ["obj", "ply"])
def test_sequences_are_read_and_checked(tmp_path: Path, suffix: str) -> None:
    mesh = _sequence(count=3)
    paths = []
    for n, vertices in enumerate(mesh.frames):
        paths.append(tmp_path / f"f{n}.{suffix}")
        trimesh.Trimesh(vertices, mesh.triangles, process=False).export(paths[-1])
    loaded = load_sequence(paths, frame_rate=10.0)
    assert loaded.frames.shape == mesh.frames.shape
    assert loaded.at(0.15).volume() == pytest.approx(mesh.at(0.15).volume(), rel=1e-5)
    assert np.ptp(loaded.velocity(0.1)) == pytest.approx(np.ptp(mesh.velocity(0.1)), rel=1e-3)
    trimesh.Trimesh(*Sphere(0.2).surface(resolution=16), process=False).export(paths[2])
    with pytest.raises(UserError, match=f"f2.{suffix} has .* same topology in the same order"):
        load_sequence(paths, frame_rate=10.0)
    with pytest.raises(UserError, match="needs at least two"):
        load_sequence(paths[:1], frame_rate=10.0)
    with pytest.raises(UserError, match="frame_rate = 0"):
        AnimatedMesh(mesh.frames, mesh.triangles, frame_rate=0.0)
    with pytest.raises(UserError, match="needs at least two"):
        AnimatedMesh(mesh.frames[:1], mesh.triangles, frame_rate=1.0)


def test_bunny_is_one_closed_rabbit() -> None:
    mesh, again = make_bunny(resolution=40), make_bunny(resolution=40)
    assert np.array_equal(mesh.vertices, again.vertices) and np.array_equal(mesh.triangles, again.triangles)
    lower, upper = mesh.bounds()
    assert upper[1] - lower[1] == pytest.approx(1.0) and np.allclose(lower + upper, 0.0, atol=1e-12)
    whole = trimesh.Trimesh(mesh.vertices, mesh.triangles, process=False)
    assert whole.is_watertight and whole.body_count == 1 and whole.euler_number == 2
    # two ears: a cut high up has two parts, mirror images of each other
    height = 0.4
    cut = whole.section(plane_origin=(0, height, 0), plane_normal=(0, 1, 0))
    assert len(cut.discrete) == 2
    z = sorted(float(part[:, 2].mean()) for part in cut.discrete)
    assert z[0] == pytest.approx(-z[1], abs=5e-3) and z[1] > 0.05
    assert make_bunny(0.5, resolution=40).volume() == pytest.approx(mesh.volume() / 8)
    assert 0.03 < mesh.thickness() < 0.2
    with pytest.raises(UserError, match="resolution = 5: must be at least 24"):
        make_bunny(resolution=5)
    with pytest.raises(UserError, match="bunny: size = -1"):
        make_bunny(-1.0)
