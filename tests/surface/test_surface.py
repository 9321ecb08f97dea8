"""The surface as a whole: what particles are worth, resume, spray, volume correction, velocity in the air, mesh."""

import numpy as np
import pytest

from undertow.errors import PhysicsError
from undertow.grid import OPEN, WALL, Array, Grid, Sides
from undertow.surface import Spray, Surface, SurfaceSettings, drop_mesh, join_meshes, surface_contours, surface_mesh


def rotation(grid: Grid) -> Array:
    """Rigid rotation about (0.5, 0.5), one turn in one second."""
    x, y, _ = ((np.arange(-3, n + 3) + 0.5) * grid.dx for n in grid.cells)
    u_f = grid.face_field()
    u_f[0] = 2 * np.pi * (0.5 - y)[None, :, None]
    u_f[1] = 2 * np.pi * (x - 0.5)[None, None, :]
    return u_f


def notched_disc(n: int, **settings: object) -> Surface:
    grid = Grid((n, n, 1), 1.0 / n, dimensions=2)
    x, y, _ = grid.cell_centres()
    phi = grid.cell_field()
    phi[grid.interior] = np.maximum(np.hypot(x - 0.5, y - 0.7) - 0.17, -np.maximum(np.abs(x - 0.5) - 0.05, y - 0.75))
    return Surface(grid, Sides(grid), phi, SurfaceSettings(**settings))  # type: ignore[arg-type]


def test_particles_keep_area_and_shape_where_the_level_set_alone_does_not() -> None:
    differs = []
    for particles in (True, False):
        surface = notched_disc(40, particles=particles, reseed_every=0)
        start, before = surface.phi_c.copy(), surface.volume()
        u_f = rotation(surface.grid)
        for _ in range(100):
            surface.advance(u_f, 0.01)
        wet = surface.phi_c[surface.grid.interior] <= 0
        differs.append(int(np.sum(wet != (start[surface.grid.interior] <= 0))))
        if particles:
            assert surface.volume() == pytest.approx(before, rel=0.02)
    assert differs[0] < 0.6 * differs[1]


def test_resume_is_exact() -> None:
    settings = {"reseed_every": 3, "volume_correction": True}
    surface = notched_disc(24, **settings)
    u_f = rotation(surface.grid)
    for _ in range(4):
        surface.advance(u_f, 0.02)
    saved = surface.arrays()
    other = notched_disc(24, **settings)
    other.restore(saved)
    for _ in range(5):
        assert surface.advance(u_f, 0.02) == other.advance(u_f, 0.02)
    for key, value in surface.arrays().items():
        assert np.array_equal(value, other.arrays()[key]), key


def test_volume_correction_keeps_the_volume_and_reports_the_shift() -> None:
    surface = notched_disc(24, particles=False, volume_correction=True)
    u_f = rotation(surface.grid)
    reports = [surface.advance(u_f, 0.02) for _ in range(20)]
    assert surface.volume() == pytest.approx(surface.target_volume, rel=1e-8)
    assert any(report.shift != 0.0 for report in reports)
    assert notched_disc(24).advance(u_f, 0.02).shift == 0.0


def test_a_drop_flies_and_meets_the_liquid_with_its_volume() -> None:
    grid = Grid((20, 40, 1), 0.05, dimensions=2)
    phi = grid.cell_field()
    phi[grid.interior] = grid.cell_centres()[1] - 0.4
    surface = Surface(grid, Sides(grid), phi)
    height, made = 0.4 + 2.2 * grid.dx, 3e-4
    surface.spray.add(np.array([[0.5, height, 0.5 * grid.dx]]), np.zeros((1, 3)), np.array([made]))
    u_f = grid.face_field()
    speed, time = 0.0, 0.0
    while surface.spray.volume.size:
        report = surface.advance(u_f, 0.01)
        time += 0.01
        if surface.spray.volume.size:
            assert surface.spray.position[0, 1] == pytest.approx(height - 0.5 * 9.81 * time**2, abs=1e-9)
            speed = surface.spray.velocity[0, 1]
        assert time < 1.0
    assert report.spray_absorbed == made
    place, volume = surface.met
    assert place[0, 1] < 0.4
    assert volume == [made]
    assert speed < 0.0
    surface.advance(u_f, 0.01)
    assert not surface.met[1].size


def test_spray_stops_at_walls_slides_on_solids_and_leaves_through_open_sides() -> None:
    grid = Grid((10, 10, 1), 0.1, dimensions=2)
    spray = Spray(grid, Sides(grid, [OPEN, WALL, WALL, WALL, WALL, WALL]))
    x = np.array([[0.05, 0.9, 0.05], [0.95, 0.9, 0.05], [0.5, 0.32, 0.05]])
    v = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, -1.0, 0.0]])
    spray.add(x, v, np.full(3, np.pi * 1e-4))
    assert spray.radius() == pytest.approx(0.01)
    solid = grid.cell_field()
    solid[...] = (np.arange(-3, 13) + 0.5)[None, :, None] * 0.1 - 0.3
    left = spray.move(0.1, (0.0, 0.0, 0.0), solid)
    assert left == pytest.approx(np.pi * 1e-4)
    assert spray.position[0, 0] == pytest.approx(1.0)
    assert spray.velocity[0, 0] == 0.0
    assert spray.position[1, 1] == pytest.approx(0.3)
    assert spray.velocity[1] == pytest.approx([0.5, 0.0, 0.0])


def test_liquid_follows_a_wall_at_a_right_angle_and_stays_out_of_a_solid() -> None:
    """Still water beside a solid wall: phi is continued into the wall, the level outside does not change."""
    grid = Grid((20, 20, 1), 0.05, dimensions=2)
    x, y, _ = grid.cell_centres()
    phi, solid = grid.cell_field(), grid.cell_field()
    phi[grid.interior] = np.where(x < 0.31, 0.2, y - 0.52)
    solid[grid.interior] = x - 0.31 + 0 * y
    surface = Surface(grid, Sides(grid), phi, SurfaceSettings(reseed_every=2))
    surface.level_set.fill_ghosts(solid)
    for _ in range(6):
        surface.advance(grid.face_field(), 0.01, solid)
    outside = np.broadcast_to(x > 0.4, phi[grid.interior].shape) & (np.abs(y - 0.52) < 0.1)
    assert np.max(np.abs(surface.phi_c[grid.interior] - (y - 0.52))[outside]) < 0.1 * grid.dx
    assert surface.volume(solid) == pytest.approx((1.0 - 0.31) * 0.52, rel=0.02)


def test_emitters_and_drains_change_the_volume_by_what_they_report() -> None:
    grid = Grid((30, 30, 1), 1.0 / 30, dimensions=2)
    x, y, _ = grid.cell_centres()
    phi, ball = grid.cell_field(), grid.cell_field()
    phi[grid.interior] = y - 0.3 + 0 * x
    surface = Surface(grid, Sides(grid), phi, SurfaceSettings(volume_correction=True))
    ball[grid.interior] = np.hypot(x - 0.5, y - 0.7) - 0.15
    surface.level_set.fill_ghosts(ball)
    added = surface.add_liquid(ball)
    assert added == pytest.approx(np.pi * 0.15**2, rel=0.02)
    assert surface.add_liquid(ball) == pytest.approx(0.0, abs=5e-4 * added)
    assert surface.volume() == pytest.approx(0.3 + added, rel=1e-3)
    surface.advance(grid.face_field(), 0.01)
    assert surface.volume() == pytest.approx(surface.target_volume, rel=1e-8)
    assert surface.remove_liquid(ball) == pytest.approx(added, rel=1e-3)
    # no particle of the ball fills it again
    for _ in range(3):
        surface.advance(grid.face_field(), 0.01)
    assert surface.volume() == pytest.approx(0.3, rel=1e-3)


def test_velocity_is_continued_into_the_air() -> None:
    surface = notched_disc(24)
    u_f = rotation(surface.grid)
    exact = u_f.copy()
    phi = surface.phi_c
    air = [(phi > 0) & (np.roll(phi, 1, axis=2 - axis) > 0) for axis in range(3)]
    for axis in range(2):
        u_f[axis][air[axis]] = np.nan
    surface.extrapolate_velocity(u_f, layers=4)
    near = np.abs(phi) < 2 * surface.grid.dx
    inner = np.zeros(surface.grid.padded, dtype=bool)
    inner[surface.grid.interior] = True
    for axis in range(2):
        chosen = near & inner
        assert np.all(np.isfinite(u_f[axis][chosen]))
        # constant continuation of a linear field: off by at most the gradient times the distance
        assert np.max(np.abs(u_f[axis] - exact[axis])[chosen]) < 2 * np.pi * 4 * surface.grid.dx


def test_a_velocity_that_is_not_finite_stops_the_run() -> None:
    surface = notched_disc(20)
    u_f = rotation(surface.grid)
    u_f[0, 3, 17, 13] = np.nan
    with pytest.raises(PhysicsError, match="not finite"):
        surface.advance(u_f, 0.01)


def test_mesh_is_watertight_with_the_volume_and_normals_of_the_liquid() -> None:
    grid = Grid((20, 16, 12), 0.05)
    x, y, z = grid.cell_centres()
    phi = grid.cell_field()
    ball = np.sqrt((x - 0.5) ** 2 + (y - 0.62) ** 2 + (z - 0.3) ** 2) - 0.13
    phi[grid.interior] = np.minimum(y - 0.33, ball)
    surface = Surface(grid, Sides(grid), phi, SurfaceSettings(particles=False))
    u_f = grid.face_field()
    u_f[0] = 2.0
    mesh = surface_mesh(grid, surface.phi_c, u_f)
    edges = np.concatenate([mesh.triangles[:, [0, 1]], mesh.triangles[:, [1, 2]], mesh.triangles[:, [2, 0]]])
    forward = {tuple(e) for e in edges.tolist()}
    assert len(forward) == len(edges)
    assert all((b, a) in forward for a, b in forward)
    a, b, c = (mesh.vertices[mesh.triangles[:, i]] for i in range(3))
    volume = np.sum(a * np.cross(b, c)) / 6
    assert volume == pytest.approx(surface.volume(), rel=0.02)
    assert mesh.vertices.min(axis=0) == pytest.approx([0, 0, 0], abs=1e-6)
    on_ball = np.abs(np.linalg.norm(mesh.vertices - [0.5, 0.62, 0.3], axis=1) - 0.13) < 0.01
    outward = (mesh.vertices[on_ball] - [0.5, 0.62, 0.3]) / 0.13
    assert np.min(np.sum(outward * mesh.normals[on_ball], axis=1)) > 0.9
    assert np.allclose(mesh.velocity, [2.0, 0.0, 0.0])
    assert len(surface_mesh(grid, np.ones(grid.padded)).vertices) == 0
    with pytest.raises(ValueError, match="surface_mesh"):
        surface_contours(grid, surface.phi_c)


def test_drops_have_the_volume_of_their_spheres() -> None:
    position = np.array([[0.3, 0.4, 0.5], [-1.0, 2.0, 0.0]])
    radius, velocity = np.array([0.1, 0.02]), np.array([[1.0, 0.0, 0.0], [0.0, -2.0, 0.0]])
    one = drop_mesh(position[:1], radius[:1], velocity[:1])
    both = join_meshes(one, drop_mesh(position[1:], radius[1:], velocity[1:]))
    for part, centre, r, u in zip((both.triangles[:20], both.triangles[20:]), position, radius, velocity, strict=True):
        corners = both.vertices[part]
        assert np.linalg.det(corners).sum() / 6.0 == pytest.approx(4.0 / 3.0 * np.pi * r**3, rel=1e-12)
        edges = {(a, b) for t in part for a, b in zip(t, np.roll(t, -1), strict=True)}
        assert len(edges) == 60 and all((b, a) in edges for a, b in edges), "closed, wound one way"
        assert np.allclose(corners.reshape(-1, 3).mean(axis=0), centre)
        assert np.allclose(both.velocity[part.ravel()], u)
        out = corners - centre
        assert np.all(np.sum(out * both.normals[part], axis=2) > 0.0)


def test_contours_are_closed_at_the_sides() -> None:
    grid = Grid((20, 10, 1), 0.1, dimensions=2)
    phi = grid.cell_field()
    phi[grid.interior] = grid.cell_centres()[1] - 0.42 + 0 * grid.cell_centres()[0]
    (line,) = surface_contours(grid, phi)
    assert np.array_equal(line[0], line[-1])
    x, y = line[:, 0], line[:, 1]
    area = 0.5 * abs(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]))
    assert area == pytest.approx(2.0 * 0.42, rel=0.01)
    with pytest.raises(ValueError, match="surface_contours"):
        surface_mesh(grid, phi)
    with pytest.raises(ValueError, match="shape"):
        surface_contours(grid, np.ones((3, 3, 3)))
