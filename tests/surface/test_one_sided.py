"""Level set, particles and spray around a closed shell: not a cell of water, not a drop changes sides."""

import numpy as np
import pytest

from undertow.coupling.pockets import _winding
from undertow.geometry import Occlusion
from undertow.grid import GHOSTS, Grid, Sides
from undertow.surface import Surface, SurfaceSettings
from undertow.transport import Advection, Shells


def crooked(dimensions, radius, rng):
    """Nodes and elements of a polygon or an octahedron around the origin, its corners at random distances."""
    if dimensions == 2:
        angle = 2.0 * np.pi * np.arange(9) / 9
        x = np.stack([np.cos(angle), np.sin(angle), np.zeros(9)], axis=1)
        element = np.stack([np.arange(9), np.roll(np.arange(9), -1)], axis=1)
    else:
        x = np.concatenate([np.eye(3), -np.eye(3)])
        half = [(0, 1, 2), (1, 3, 2), (3, 4, 2), (4, 0, 2)]
        element = np.array([*half, *((b, a, 5) for a, b, _ in half)])
    return radius * rng.uniform(0.8, 1.3, (len(x), 1)) * x, element


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("filled", [True, False])
def test_water_stays_on_its_side_of_a_shell_that_moves_at_random(dimensions, filled):
    """Inside all water and outside all air, or the other way round, in a flow that has nothing to do with the shell."""
    rng = np.random.default_rng(4)
    grid = Grid((12, 11, 10 if dimensions == 3 else 1), 0.1, (-0.6, -0.55, -0.5), dimensions)
    sides = Sides(grid)
    x, element = crooked(dimensions, 0.32, rng)
    leader = Occlusion(grid, element, len(x))
    axes = [grid.lower[a] + (np.arange(n) - GHOSTS + 0.5) * grid.dx for a, n in enumerate(grid.padded[::-1])]
    zz, yy, xx = np.meshgrid(*axes[::-1], indexing="ij")
    centres = np.stack([xx, yy, zz if dimensions == 3 else 0.0 * zz], axis=-1)

    def is_wet():
        around = np.abs(_winding(centres[grid.interior].reshape(-1, 3), x, element)) > 0.5
        return (around == filled).reshape(grid.cells[::-1])

    phi = np.full(grid.padded, -0.3 if not filled else 0.3)
    phi[grid.interior] = np.where(is_wet(), -0.3, 0.3)
    surface = Surface(grid, sides, phi, SurfaceSettings(per_cell=8, reseed_every=3))
    shells = Shells(Advection(grid, sides, "maccormack"), leader)
    leader.place(x, np.zeros((1, 3)))
    shells.start()
    surface.see(shells)
    drops = rng.uniform(-0.45, 0.45, (400, 3)) * (1.0, 1.0, float(dimensions == 3))
    drops = drops[(np.abs(_winding(drops, x, element)) > 0.5) != filled]
    speed = rng.uniform(-1.0, 1.0, drops.shape) * (1.0, 1.0, float(dimensions == 3))
    surface.spray.add(drops, speed, np.full(len(drops), 1e-6))
    for _ in range(5):
        u = grid.face_field()
        u[:dimensions] = rng.uniform(-1.0, 1.0, u[:dimensions].shape)
        sides.exchange.fill(u)
        x[:, :dimensions] += rng.uniform(-0.04, 0.04, (len(x), dimensions))
        leader.place(x, np.zeros((1, 3)))
        surface.advance(u, 0.08)
        wet = is_wet()
        assert np.array_equal(surface.phi_c[grid.interior] <= 0.0, wet)
        # there is no surface anywhere: all that is left of phi is its sign
        assert (np.abs(surface.phi_c[grid.interior]) == surface.level_set.band).all()
        around = np.abs(_winding(surface.spray.position, x, element)) > 0.5
        assert len(around) >= 0.8 * len(drops) and (around != filled).all()
    assert wet.sum() > 10 and len(drops) > 30


@pytest.mark.parametrize(("dimensions", "slope"), [(2, 0.0), (2, 0.35), (2, 1.0), (3, 0.35)])
def test_water_up_to_a_flat_shell_has_the_volume_up_to_it(dimensions, slope):
    """Moved by parts of a cell it changes by as much; counted by whole cells a level one would be off by half a row."""
    n = 12
    grid = Grid((n, n, n if dimensions == 3 else 1), 1.0 / n, dimensions=dimensions)
    sides = Sides(grid)
    end = np.array([[-1.0, 0.5 - 1.5 * slope, 0.0], [2.0, 0.5 + 1.5 * slope, 0.0]])
    element = np.array([[0, 1]])
    if dimensions == 3:
        end = np.concatenate([end - (0.0, 0.0, 1.0), end + (0.0, 0.0, 2.0)])
        element = np.array([[0, 1, 2], [1, 3, 2]])
    leader = Occlusion(grid, element, len(end))
    x, y, _ = np.broadcast_arrays(*grid.cell_centres())
    for way in np.linspace(-0.5, 0.5, 6) + 0.03:
        shells = Shells(Advection(grid, sides, "maccormack"), leader)
        leader.place(end + (0.0, way / n, 0.0), np.zeros((1, 3)))
        shells.start()
        phi = np.full(grid.padded, 0.4)
        phi[grid.interior] = np.where(y < 0.5 + way / n + slope * (x - 0.5), -0.4, 0.4)
        surface = Surface(grid, sides, phi, SurfaceSettings(particles=False))
        surface.see(shells)
        # where the shell meets the walls lines along the other axis end: off by less than a cell or a row of cells
        assert surface.volume() == pytest.approx(0.5 + way / n, abs=0.7 / n**2 if slope else 1e-12)
