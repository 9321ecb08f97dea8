"""Surfaces of particles by pysplashsurf and for other programs; colors of particles."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from undertow.output import particles
from undertow.output.ply import write_ply
from undertow.sph import surface


def test_the_surface_is_that_of_pysplashsurf_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def reconstruction_pipeline(place: np.ndarray, **options: Any) -> tuple[Any, None]:
        asked.update(options, place=place)
        triangle = np.array([[0, 1, 2]], dtype=np.uint64)
        mesh = SimpleNamespace(vertices=place[:3], triangles=triangle)
        given = {"normals": np.eye(3), "velocity": options["attributes_to_interpolate"]["velocity"][:3]}
        return SimpleNamespace(mesh=mesh, point_attributes=given), None

    fake = SimpleNamespace(reconstruction_pipeline=reconstruction_pipeline)
    monkeypatch.setitem(sys.modules, "pysplashsurf", fake)
    monkeypatch.setattr(surface, "has_splashsurf", lambda: True)
    place, velocity = np.arange(12.0).reshape(4, 3), np.ones((4, 3))
    found = surface.particle_surface(place, velocity, 0.2, np.zeros(3), np.full(3, 12.0))
    assert asked["particle_radius"] == 0.1 and asked["place"].flags.c_contiguous
    np.testing.assert_array_equal(found[0], place[:3])
    assert found[1].dtype.kind == "i" and found[1].tolist() == [[0, 1, 2]] and np.all(found[3] == 1.0)


def test_the_order_in_which_pysplashsurf_finds_a_surface_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    draw, answers = np.random.default_rng(3), []
    monkeypatch.setattr(surface, "has_splashsurf", lambda: True)
    for _ in range(4):
        order, turn = draw.permutation(4), int(draw.integers(3))
        mesh = SimpleNamespace(vertices=corners[order], triangles=np.roll(np.argsort(order)[faces], turn, axis=1)[::-1])
        given = {"normals": corners[order], "velocity": 2.0 * corners[order]}
        found = SimpleNamespace(mesh=mesh, point_attributes=given)
        fake = SimpleNamespace(reconstruction_pipeline=lambda *_, found=found, **__: (found, None))
        monkeypatch.setitem(sys.modules, "pysplashsurf", fake)
        answers.append(surface.particle_surface(corners, corners, 0.2, np.zeros(3), np.ones(3)))
    for answer in answers:
        assert all(np.array_equal(a, b) for a, b in zip(answers[0], answer, strict=True))
        assert np.array_equal(answer[3], 2.0 * answer[0]) and len(np.unique(answer[1], axis=0)) == 4
        # wound as before
        x, y, z = (answer[0][answer[1][:, c]] for c in range(3))
        assert np.einsum("ij,ij->i", x, np.cross(y, z)).sum() == pytest.approx(1.0)


def test_without_pysplashsurf_the_surface_is_made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surface, "has_splashsurf", lambda: False)
    steps = 0.1 * np.arange(8) + 0.05
    place = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    vertices, triangles, _, _ = surface.particle_surface(place, 0.0 * place, 0.1, np.zeros(3), np.full(3, 1.2))
    corners = vertices[triangles]
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6.0
    assert volume == pytest.approx(0.512, rel=0.08)


def test_a_ply_file_holds_the_mesh(tmp_path: Path) -> None:
    import trimesh

    vertices = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    triangles = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    colors = np.tile([10, 200, 30], (4, 1))
    write_ply(tmp_path / "mesh.ply", vertices, triangles, normals=vertices, colors=colors)
    mesh = trimesh.load_mesh(tmp_path / "mesh.ply", process=False)
    np.testing.assert_array_equal(mesh.vertices, vertices)
    np.testing.assert_array_equal(mesh.faces, triangles)
    assert mesh.volume == pytest.approx(1.0 / 6.0) and mesh.visual.vertex_colors[0, :3].tolist() == [10, 200, 30]


def test_particles_are_colored_by_speed_pressure_or_density() -> None:
    velocity = np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
    frame = particles.ParticleFrame(
        np.zeros((2, 3)), velocity, np.array([7.0, 8.0]), np.array([990.0, 1010.0]), 0.1, np.zeros(3), np.ones(3)
    )
    assert frame.values("speed").tolist() == [5.0, 0.0] and frame.values("pressure").tolist() == [7.0, 8.0]
    low, high = particles.particle_limits([frame], "density")
    assert 990.0 < low < 1000.0 < high < 1010.0 and particles.particle_limits([frame], "speed")[0] == 0.0
