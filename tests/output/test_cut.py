"""The surface of water in frames ends where bodies begin."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from undertow.grid import Grid
from undertow.output.cut import KEPT, depth_inside
from undertow.output.frames import BodyFrame, FrameData, SurfaceFrame, read_frame, write_frame
from undertow.surface.mesh import surface_mesh

from .conftest import sphere_mesh

GRID = Grid((20, 20, 20), 0.05)


def _level(height: float) -> SurfaceFrame:
    x, y, z = np.broadcast_arrays(*GRID.cell_centres())
    phi = y - height
    ghosts = [((n - m) // 2,) * 2 for n, m in zip(GRID.padded, phi.shape, strict=True)]
    return SurfaceFrame(*surface_mesh(GRID, np.pad(phi, ghosts, mode="edge")))


def _area(surface: SurfaceFrame, up: float = 0.9) -> float:
    corners = surface.vertices[surface.triangles].astype(float)
    face = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(face, axis=1)
    return float(size[face[:, 1] > up * size].sum())


def test_water_is_cut_along_a_ball_that_floats_in_it(tmp_path: Path) -> None:
    centre, radius = np.array([0.5, 0.48, 0.5]), 0.3
    ball = BodyFrame("ball", *sphere_mesh(radius, (0.5, 0.48, 0.5)))
    level = _level(0.51)
    write_frame(tmp_path / "000000", FrameData(0, 0.0, GRID, {}, [ball], 3, level))
    surface = read_frame(tmp_path / "000000").surface
    assert surface is not None
    for mesh, cut in ((level, False), (surface, True)):
        middle = mesh.vertices[mesh.triangles].mean(axis=1)
        depth = radius - np.linalg.norm(middle - centre, axis=1)
        assert (depth.max() < (KEPT + 0.1) * GRID.dx) == cut
    rim = np.sqrt((radius - KEPT * GRID.dx) ** 2 - 0.03**2)
    assert _area(surface) == pytest.approx(_area(level) - np.pi * rim**2, rel=0.01)
    assert np.allclose(np.linalg.norm(surface.normals, axis=1), 1.0, atol=1e-5)


def test_depth_in_a_ball_is_the_distance_to_its_surface() -> None:
    ball = BodyFrame("ball", *sphere_mesh(0.3, (0.0, 0.0, 0.0)))
    points = np.array([[0.28, 0.0, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, 0.29], [0.0, 0.25, 0.2]])
    depth = depth_inside(ball, points, 0.05)
    assert np.abs(depth - (0.3 - np.linalg.norm(points, axis=1)))[:3].max() < 0.006
    assert depth[3] < 0.0


def test_an_open_shell_and_a_body_above_the_water_cut_nothing(tmp_path: Path) -> None:
    vertices, triangles = sphere_mesh(0.2, (0.5, 0.51, 0.5))
    shell = BodyFrame("shell", vertices, triangles[:-8])
    above = BodyFrame("above", *sphere_mesh(0.1, (0.5, 0.85, 0.5)))
    level = _level(0.51)
    write_frame(tmp_path / "000000", FrameData(0, 0.0, GRID, {}, [shell, above], 3, level))
    surface = read_frame(tmp_path / "000000").surface
    assert surface is not None
    assert len(surface.triangles) == len(level.triangles)
