"""Contact angle: how the level set goes on into sides and solids, and the curvature there."""

import numpy as np
import pytest

from undertow.grid import GHOSTS, Grid, Sides
from undertow.surface.contact_angle import SideAngles, SolidAngles, cosines_of
from undertow.surface.curvature import curvature_of_cells
from undertow.surface.level_set import LevelSet

ANGLES = (30.0, 60.0, 90.0, 120.0, 150.0)


def places(grid, middle):
    """Coordinates (3, Z, Y, X) about a place; in 2D z is 0."""
    x, y, z = (grid.coordinates(axis, 0.5 - GHOSTS, grid.padded[2 - axis]) - middle[axis] for axis in range(3))
    found = np.stack(np.broadcast_arrays(x[None, None], y[:, None], z[:, None, None]))
    found[grid.dimensions :] = 0.0
    return found


def cap(degrees, dimensions=2, cells=16):
    """Level set of a disc or ball of radius 1 that meets y = 0 at the angle, beside its axis."""
    n = 2 * cells + 10
    grid = Grid((n, n, n if dimensions == 3 else 1), 1.0 / cells, dimensions=dimensions)
    x, y, z = places(grid, (0.5 * n / cells + 0.01, -np.cos(np.radians(degrees)), 0.5 * n / cells))
    return grid, np.sqrt(x**2 + y**2 + z**2) - 1.0


def curvature_of_lowest_row(grid, phi_c):
    """kappa where the surface crosses the row of cells at y = 0, in the middle plane."""
    row = (GHOSTS + grid.cells[2] // 2) * grid.padded[1] * grid.padded[2] + GHOSTS * grid.padded[2]
    cell = row + np.arange(GHOSTS, GHOSTS + grid.cells[0] - 1)
    low, high = phi_c.reshape(-1)[cell], phi_c.reshape(-1)[cell + 1]
    crossed = (low <= 0.0) != (high <= 0.0)
    theta = low[crossed] / (low - high)[crossed]
    here, there = (curvature_of_cells(grid, phi_c, cell[crossed] + n) for n in (0, 1))
    return here + theta * (there - here)


@pytest.mark.parametrize("degrees", ANGLES)
@pytest.mark.parametrize("dimensions", [2, 3])
def test_curvature_in_the_cells_at_a_side(degrees, dimensions):
    """That of the disc or ball, also after phi has been made a distance; mirrored it is wrong by its own size."""
    grid, phi_c = cap(degrees, dimensions, 16 if dimensions == 2 else 8)
    level_set = LevelSet(grid, Sides(grid), contact_angles=(90.0, 90.0, degrees, 90.0, 90.0, 90.0))
    level_set.fill_ghosts(phi_c)
    found = curvature_of_lowest_row(grid, phi_c)
    assert len(found) == 2
    assert np.abs(found / (dimensions - 1) - 1.0).max() < 0.04
    level_set.redistance(phi_c)
    assert np.abs(curvature_of_lowest_row(grid, phi_c) / (dimensions - 1) - 1.0).max() < 0.08
    if degrees != 90.0:
        LevelSet(grid, Sides(grid)).fill_ghosts(phi_c)
        assert np.abs(curvature_of_lowest_row(grid, phi_c) / (dimensions - 1) - 1.0).max() > 0.5


@pytest.mark.parametrize("degrees", [30.0, 150.0])
def test_distances_beside_a_contact_line_are_those_of_the_surface_that_goes_on(degrees):
    """Where the nearest point of the surface lies in the wall."""
    grid, phi_c = cap(degrees)
    exact = phi_c.copy()
    level_set = LevelSet(grid, Sides(grid), contact_angles=(90.0, 90.0, degrees, 90.0, 90.0, 90.0))
    level_set.redistance(phi_c)
    near = np.zeros(grid.padded, dtype=bool)
    near[GHOSTS, GHOSTS : GHOSTS + 4, GHOSTS : GHOSTS + grid.cells[0]] = True
    near &= np.abs(exact) < 2.0 * grid.dx
    assert near.sum() > 20
    assert np.abs(phi_c - exact)[near].max() < 0.05 * grid.dx


def test_a_right_angle_is_the_mirror_to_the_last_bit():
    grid, phi_c = cap(90.0)
    angles = SideAngles(grid, (90.0,) * 6)
    assert not angles.sides
    before = phi_c.copy()
    angles.fill(phi_c)
    assert np.array_equal(before, phi_c)


@pytest.mark.parametrize("degrees", [75.0, 90.0, 110.0])
def test_between_two_angles_a_surface_turns_about_its_line(degrees):
    """A plane through a held line goes on beyond the side as a plane, whatever its angle is."""
    grid = Grid((24, 24, 1), 1.0 / 24, dimensions=2)
    level_set = LevelSet(grid, Sides(grid), contact_angles=(90.0, 90.0, (120.0, 60.0), 90.0, 90.0, 90.0))
    x, y, _ = places(grid, (0.51, 0.0, 0.0))
    plane = {a: np.sin(np.radians(a)) * x + np.cos(np.radians(a)) * y for a in (90.0, degrees)}
    phi_c = plane[90.0].copy()
    level_set.fill_ghosts(phi_c)
    level_set.angles.hold(phi_c)
    phi_c = plane[degrees].copy()
    level_set.fill_ghosts(phi_c)
    row = (GHOSTS, GHOSTS - 1, slice(GHOSTS + 10, GHOSTS + 14))
    assert np.abs(phi_c[row] - plane[degrees][row]).max() < 1e-6 * grid.dx
    level_set.redistance(phi_c)
    near = np.abs(plane[degrees][GHOSTS]) < 1.5 * grid.dx
    near[: GHOSTS + 1], near[GHOSTS + 5 :] = False, False
    assert np.abs((phi_c - plane[degrees])[GHOSTS][near]).max() < 0.02 * grid.dx


@pytest.mark.parametrize(("degrees", "bound"), [(140.0, 120.0), (40.0, 60.0)])
def test_a_line_is_let_go_beyond_its_two_angles(degrees, bound):
    """It meets the side at the nearer of them, and goes to where it does."""
    grid = Grid((24, 24, 1), 1.0 / 24, dimensions=2)
    level_set = LevelSet(grid, Sides(grid), contact_angles=(90.0, 90.0, (120.0, 60.0), 90.0, 90.0, 90.0))
    x, y, _ = places(grid, (0.51, 0.0, 0.0))
    plane = {a: np.sin(np.radians(a)) * x + np.cos(np.radians(a)) * y for a in (90.0, degrees)}
    phi_c = plane[90.0].copy()
    level_set.fill_ghosts(phi_c)
    level_set.angles.hold(phi_c)
    before = level_set.angles.held[2].copy()
    phi_c = plane[degrees].copy()
    level_set.fill_ghosts(phi_c)
    slope = (phi_c[GHOSTS, GHOSTS] - phi_c[GHOSTS, GHOSTS - 1]) / grid.dx
    assert slope[GHOSTS + 11 : GHOSTS + 13] == pytest.approx(np.cos(np.radians(bound)), abs=0.02)
    level_set.angles.hold(phi_c)
    assert np.sign(level_set.angles.held[2] - before)[0, GHOSTS + 12] == np.sign(np.cos(np.radians(degrees)))


@pytest.mark.parametrize("side", range(6))
def test_all_sides_have_one_rule(side):
    """A plane that meets a side at 60 degrees goes on beyond it as a plane."""
    grid = Grid((16, 16, 16), 1.0 / 16, dimensions=3)
    axis, along = side // 2, (side // 2 + 1) % 3
    place = places(grid, (0.5, 0.5, 0.5))
    outward = -1.0 if side % 2 else 1.0
    phi_c = 0.5 * outward * place[axis] + np.sqrt(0.75) * place[along] + 0.25
    exact = phi_c.copy()
    level_set = LevelSet(grid, Sides(grid), contact_angles=tuple(60.0 if s == side else 90.0 for s in range(6)))
    level_set.fill_ghosts(phi_c)
    plane = [slice(GHOSTS, GHOSTS + 16)] * 3
    plane[2 - axis] = slice(GHOSTS - 1, GHOSTS) if side % 2 == 0 else slice(GHOSTS + 16, GHOSTS + 17)
    # the mirror beyond the other sides is no plane
    inner = [slice(3, -3)] * 3
    inner[2 - axis] = slice(None)
    found, wanted = (x[tuple(plane)][tuple(inner)] for x in (phi_c, exact))
    near = np.abs(wanted) < grid.dx
    assert near.sum() > 10
    assert np.abs(found - wanted)[near].max() < 0.02 * grid.dx


@pytest.mark.parametrize("degrees", ANGLES)
@pytest.mark.parametrize("tilt", [0.0, 17.0, 45.0])
def test_curvature_in_the_cells_at_a_solid(degrees, tilt):
    """A disc on a plane anywhere in its cells: values inside the solid follow from those outside alone."""
    grid = Grid((56, 56, 1), 1.0 / 16, dimensions=2)
    turn, angle = np.radians(tilt), np.radians(degrees)
    normal = np.array([-np.sin(turn), np.cos(turn), 0.0])
    place = places(grid, (1.758, 1.766, 0.0))
    solid_c = np.tensordot(normal, place, 1)
    phi_c = np.sqrt(((place + np.cos(angle) * normal[:, None, None, None]) ** 2).sum(axis=0)) - 1.0
    exact = phi_c.copy()
    phi_c[solid_c < 0.0] = 1.0
    open_c = (solid_c >= 0.0).astype(np.uint8)
    SolidAngles(grid, np.cos([angle])).extend(phi_c, solid_c, open_c, np.zeros(grid.padded, dtype=np.int32))
    cell = np.zeros(grid.padded, dtype=bool)
    cell[grid.interior] = True
    cell = np.flatnonzero(cell & (solid_c >= 0.0) & (solid_c < grid.dx) & (np.abs(exact) < grid.dx))
    found, phi = [], phi_c.reshape(-1)
    for step in (1, grid.padded[2]):
        at = cell[(phi[cell] <= 0.0) != (phi[cell + step] <= 0.0)]
        theta = phi[at] / (phi[at] - phi[at + step])
        here, there = (curvature_of_cells(grid, phi_c, at + n) for n in (0, step))
        found.append(here + theta * (there - here))
    found = np.concatenate(found)
    assert len(found) >= 1
    assert abs(found.mean() - 1.0) < 0.06
    assert np.abs(found - 1.0).max() < 0.15


def test_solids_without_an_angle_are_left_alone():
    grid, phi_c = cap(60.0)
    solid_c = places(grid, (0.0, 0.3, 0.0))[1]
    before = phi_c.copy()
    open_c = (solid_c >= 0.0).astype(np.uint8)
    SolidAngles(grid, np.array([np.nan])).extend(phi_c, solid_c, open_c, np.zeros(grid.padded, dtype=np.int32))
    assert np.array_equal(before, phi_c)


def test_solids_have_the_angle_that_is_given_or_none():
    cosine = cosines_of(["wall", "floor"], {"wall": 60.0})
    assert cosine[0] == pytest.approx(0.5)
    assert np.isnan(cosine[1])
