"""The surface of water in pictures: one smooth surface of sheet and drops that keeps level water and volumes."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from undertow.grid import Grid
from undertow.output.frames import FrameData, SurfaceFrame
from undertow.output.water_surface import round_drops, smooth_water, take_drops
from undertow.surface.mesh import drop_mesh, join_meshes, surface_mesh

CELLS = 24
GRID = Grid((CELLS, CELLS, CELLS), 1.0 / CELLS)
DX = GRID.dx


NO_DROPS = np.zeros((0, 3)), np.zeros(0)


def _frame(phi: np.ndarray, drops: tuple[np.ndarray, np.ndarray] = NO_DROPS) -> FrameData:
    """Water with a level set (nz, ny, nx) and drops (centres, radii), as a run writes it."""
    ghosts = [((n - m) // 2,) * 2 for n, m in zip(GRID.padded, phi.shape, strict=True)]
    mesh = surface_mesh(GRID, np.pad(phi, ghosts, mode="edge"))
    mesh = join_meshes(mesh, drop_mesh(*drops, np.zeros((len(drops[1]), 3))))
    return FrameData(0, 0.0, GRID, {"level_set": phi.astype(np.float32)}, [], 3, SurfaceFrame(*mesh))


def _centres() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x, y, z = GRID.cell_centres()
    return np.broadcast_arrays(x, y, z)


def _parts(surface: SurfaceFrame) -> int:
    a, b = surface.triangles.ravel(), np.roll(surface.triangles, -1, axis=1).ravel()
    n = len(surface.vertices)
    part = connected_components(coo_matrix((np.ones(len(a)), (a, b)), shape=(n, n)), directed=False)[1]
    return len(np.unique(part[surface.triangles]))


def _volume(surface: SurfaceFrame) -> float:
    return float(np.linalg.det(surface.vertices[surface.triangles].astype(float)).sum() / 6.0)


def _creases(surface: SurfaceFrame) -> np.ndarray:
    """Angles between neighbouring triangles [degrees]."""
    t = surface.triangles
    corners = surface.vertices[t].astype(float)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    edges = np.sort(np.stack([t, np.roll(t, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    owner = np.repeat(np.arange(len(t)), 3)
    order = np.lexsort(edges.T)
    pair = (edges[order][1:] == edges[order][:-1]).all(axis=1)
    a, b = owner[order][:-1][pair], owner[order][1:][pair]
    return np.degrees(np.arccos(np.clip((normal[a] * normal[b]).sum(axis=1), -1.0, 1.0)))


def test_a_stream_of_sheet_and_drops_is_one_surface() -> None:
    """A falling stream that the grid holds in pieces, drops in the gaps between them."""
    x, y, z = _centres()
    pieces = [np.hypot(np.hypot(x - 0.5, z - 0.5), np.maximum(np.abs(y - h) - 1.2 * DX, 0.0)) - 0.9 * DX
              for h in (0.25, 0.5, 0.75)]  # fmt: skip
    heights = np.array([0.375, 0.42, 0.33, 0.625, 0.58, 0.67])
    drops = np.stack([np.full(6, 0.5), heights, np.full(6, 0.5)], axis=1), np.full(6, 0.45 * DX)
    frame = _frame(np.minimum.reduce(pieces), drops)
    assert frame.surface is not None
    assert _parts(frame.surface) == 9
    stream = smooth_water(frame)
    assert stream is not None
    assert _parts(stream) == 1


def test_a_thin_crest_has_no_sharp_rims_and_keeps_its_water() -> None:
    x, y, z = _centres()
    thin, high, long = np.abs(x - 0.4 - 0.2 * y) - 0.7 * DX, np.abs(y - 0.5) - 0.2, np.abs(z - 0.5) - 0.2
    crest = np.maximum.reduce([thin, high, long])
    frame = _frame(crest)
    assert frame.surface is not None
    smooth = smooth_water(frame)
    assert smooth is not None
    assert np.quantile(_creases(frame.surface), 0.95) > 50.0
    assert np.quantile(_creases(smooth), 0.95) < 35.0
    assert abs(_volume(smooth) / _volume(frame.surface) - 1.0) < 0.1


def test_level_water_stays_level_and_reaches_the_walls() -> None:
    _, y, _ = _centres()
    water = smooth_water(_frame(y - 0.51))
    assert water is not None
    top = water.vertices[water.normals[:, 1] > 0.5]
    assert np.abs(top[:, 1] - 0.51).max() < 1e-5
    assert abs(_volume(water) - 0.51) < 1e-4


def test_a_drop_alone_is_a_ball_of_its_size() -> None:
    _, y, _ = _centres()
    centre, radius = np.array([[0.4, 0.8, 0.6]]), np.array([0.3 * DX])
    frame = _frame(y - 0.3, (centre, radius))
    assert frame.surface is not None
    theirs, found, size = take_drops(frame.surface.vertices, frame.surface.triangles)
    assert theirs.sum() == 20
    assert np.allclose(found, centre, atol=1e-6)
    assert np.allclose(size, radius, rtol=1e-5)
    water = smooth_water(frame)
    assert water is not None
    drop = water.vertices[water.vertices[:, 1] > 0.6]
    assert len(drop) == len(round_drops(centre, radius).vertices) == 42
    assert np.allclose(np.linalg.norm(drop - centre, axis=1), radius, rtol=1e-4)


def test_no_water_is_no_surface() -> None:
    _, y, _ = _centres()
    water = smooth_water(_frame(y + 1.0))
    assert water is not None
    assert len(water.triangles) == 0
