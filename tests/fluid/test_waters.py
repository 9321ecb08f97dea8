"""Bodies of water: which there are, what each holds, and where water goes that no cell can hold."""

import numpy as np
import pytest

import undertow as ut
from undertow.fluid import Flow, FlowSettings
from undertow.fluid.liquid import LiquidSurface
from undertow.fluid.volume_tracking import Untracked, VolumeTracker
from undertow.fluid.waters import find_nearest_liquid, is_closed
from undertow.grid import WALL, Grid, Sides
from undertow.surface import Surface
from undertow.surface.spray import Spray
from undertow.validation.cup_carried import case


def make(shape, cells, dimensions, make_tracker=VolumeTracker):
    deep = cells if dimensions == 3 else 1
    grid = Grid((cells, cells, deep), 1.0 / cells, dimensions=dimensions)
    sides = Sides(grid, [WALL] * 6, [True] * 6)
    phi_c = grid.cell_field()
    phi_c[grid.interior] = shape(*grid.cell_centres())
    surface = Surface(grid, sides, phi_c)
    return Flow(
        grid, sides, None, FlowSettings(density=1000.0),
        make_extent=lambda context: LiquidSurface(context, surface, make_tracker=make_tracker),
    )  # fmt: skip


def balls(centres, radii, dimensions):
    def shape(x, y, z):
        found = [
            np.sqrt((x - c[0]) ** 2 + (y - c[1]) ** 2 + (z - c[2]) ** 2 * (dimensions == 3)) - r
            for c, r in zip(centres, radii, strict=True)
        ]
        return np.minimum.reduce(np.broadcast_arrays(*found))

    return shape


def flood(liquid):
    """Sizes of the components of cells that share faces, by a plain search."""
    left, sizes = {tuple(c) for c in np.argwhere(liquid)}, []
    while left:
        ahead, size = [left.pop()], 0
        while ahead:
            k, j, i = ahead.pop()
            size += 1
            for n in ((k + 1, j, i), (k - 1, j, i), (k, j + 1, i), (k, j - 1, i), (k, j, i + 1), (k, j, i - 1)):
                if n in left:
                    left.remove(n)
                    ahead.append(n)
        sizes.append(size)
    return sorted(sizes)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_bodies_of_water_are_the_components_of_the_liquid(dimensions):
    rng, n = np.random.default_rng(3), 16
    centres, radii = rng.uniform(0.1, 0.9, (7, 3)), rng.uniform(0.07, 0.14, 7)
    water = make(balls(centres, radii, dimensions), n, dimensions)
    grid, waters = water.grid, water.extent.tracker.waters
    liquid = water.state.surface.phi_c[grid.interior] <= 0.0
    label = waters.label_c[grid.interior]
    assert sorted(np.bincount(label[liquid])[1:]) == flood(liquid)
    assert not label[~liquid].any() and waters.count > 2
    assert sorted(waters.sums[1:, 0]) == flood(liquid)
    # all the water there is, each part of it in one body
    assert waters.sums[0, 2] == 0.0
    found = water.extent.bodies_of_water()
    assert sum(body.volume for body in found) == pytest.approx(water.extent.volume(), rel=1e-12)
    assert all(a.volume >= b.volume for a, b in zip(found, found[1:], strict=False))


def test_the_centre_and_volume_of_two_balls():
    water = make(balls([(0.3, 0.3, 0.5), (0.7, 0.75, 0.5)], [0.2, 0.15], 2), 40, 2)
    large, small = water.extent.bodies_of_water()
    assert large.volume == pytest.approx(np.pi * 0.04, rel=0.01) and small.volume == pytest.approx(
        np.pi * 0.0225, rel=0.01
    )
    assert large.centre[:2] == pytest.approx((0.3, 0.3), abs=1e-3)
    assert small.centre[:2] == pytest.approx((0.7, 0.75), abs=1e-3)
    row = water.ledger()
    assert (row["waters"], row["water_1_volume"], row["water_2_volume"]) == (2.0, large.volume, small.volume)
    assert row["water_3_volume"] == 0.0


def test_each_body_repays_its_own_error():
    """Two pools with a wall of air between them: what one lacks it makes itself, the other is left alone."""

    def pools(x, y, z):
        return np.maximum(y - 0.4, 0.1 - np.abs(x - 0.5)) + 0 * z

    water = make(pools, 20, 2)
    tracker, grid = water.extent.tracker, water.grid
    tracker.error_c[3, 5, 5] = 1.0
    water.extent._find_waters()
    rate_c = grid.cell_field()
    tracker.rates(0.01, rate_c)
    x = np.broadcast_to(grid.cell_centres()[0], grid.cells[::-1])
    assert (rate_c[grid.interior][(x > 0.6)] == 0.0).all()
    liquid = water.state.surface.phi_c[grid.interior] <= 0.0
    assert (rate_c[grid.interior][(x < 0.4) & liquid] > 0.0).all()
    assert not rate_c[grid.interior][~liquid].any()
    assert tracker.divergence == pytest.approx(rate_c.max() / grid.cell_volume)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_the_nearest_liquid_cell_is_the_nearest_by_ways_through_open_faces(dimensions):
    """Against a search over all cells; without walls that is the sum of the distances along the axes."""
    rng, n = np.random.default_rng(5), 9
    water = make(lambda x, y, z: np.maximum(np.abs(x - 0.3), np.abs(y - 0.3)) - 0.2 + 0 * z, n, dimensions)
    grid, extent = water.grid, water.extent
    phi_c, open_c, area_f = extent.phi_c, extent.open_c, extent.domain.area_f
    liquid = np.argwhere(phi_c[grid.interior] <= 0.0) + 3
    air = np.argwhere(phi_c[grid.interior] > 0.0) + 3
    cell = air[rng.choice(len(air), 12, replace=False)].T
    freely, none = np.zeros(12, dtype=bool), np.zeros((0, 0, 0, 0))
    found = find_nearest_liquid(grid, cell, freely, 40, phi_c, open_c, area_f, none)
    way = np.abs(liquid[None] - cell.T[:, None]).sum(axis=2)
    assert (np.abs(found - cell).sum(axis=0) == way.min(axis=1)).all()
    assert (phi_c[tuple(found)] <= 0.0).all()
    far = way.min(axis=1) > 3
    assert (find_nearest_liquid(grid, cell, freely, 3, phi_c, open_c, area_f, none)[0][far] == -1).all()
    # nothing is reached through closed faces unless any will do
    closed_f = np.zeros_like(area_f)
    assert (find_nearest_liquid(grid, cell, freely, 40, phi_c, open_c, closed_f, none) == -1).all()
    assert is_closed(grid, cell, closed_f, none).all() and not is_closed(grid, cell, area_f, none).any()
    assert (find_nearest_liquid(grid, cell, ~freely, 40, phi_c, open_c, closed_f, none)[0] >= 0).all()


def test_errors_out_of_reach_go_to_the_nearest_water_or_become_drops_and_are_counted():
    water = make(lambda x, y, z: y - 0.3 + 0 * (x + z), 16, 2)
    tracker, extent, grid = water.extent.tracker, water.extent, water.grid
    start = extent.volume()
    tracker.error_c[3, 3 + 8, 3 + 4] = 0.02
    tracker.error_c[3, 3 + 8, 3 + 9] = -0.01
    tracker.error_c[3, 3 + 12, 3 + 12] = 0.3
    water.step(0.0, 1e-4)
    cell = grid.cell_volume
    row = water.ledger()
    assert row["spray_volume"] == pytest.approx(0.3 * cell) == row["volume_sprayed"]
    assert row["volume_handed"] == pytest.approx(0.03 * cell)
    assert tracker.error_c[3, 3:19, 3 + 3 : 3 + 6].sum() == pytest.approx(0.02, rel=0.1)
    assert tracker.error_c[3, 3:19, 3 + 8 : 3 + 11].sum() == pytest.approx(-0.01, rel=0.1)
    assert tracker.error_c[3, 3:19, 3 + 4].sum() == pytest.approx(0.02 / 3, rel=0.1)
    held = row["fluid_volume"] + row["spray_volume"] + row["volume_error"]
    assert held == pytest.approx(start + 0.31 * cell, rel=1e-12)


def test_without_tracking_nothing_is_found_and_nothing_corrected():
    water = make(lambda x, y, z: y - 0.3 + 0.1 * (x - 0.5) + 0 * z, 16, 2, Untracked)
    for step in range(5):
        water.step(0.01 * step, 0.01)
    row = water.ledger()
    assert "volume_error" not in row and row["spray_volume"] == 0.0 and row["waters"] == 1.0
    assert row["water_1_volume"] == pytest.approx(row["fluid_volume"], rel=1e-12)
    assert not water.extent.phase.source_c.any()
    scene = ut.Scene.model_validate(
        {
            "name": "pool", "domain": {"upper": [1, 1], "resolution": 8}, "time": {"end": 0.1},
            "surface": {"volume_tracking": False},
            "objects": {"p": {"type": "water", "shape": {"type": "plane", "normal": [0, 1]}, "position": [0.5, 0.5]}},
        }
    )  # fmt: skip
    sim = ut.Simulation(scene)
    assert isinstance(sim.flow.extent.tracker, Untracked)
    assert "volume_error" not in sim.step().ledger and len(sim.waters()) == 1


def test_a_cup_that_is_swayed_above_a_pool_holds_its_water():
    """Not a millionth of it gets to the pool, which it did in heaps when all water shared its errors."""
    sim = case.make(40, 2)
    sim.advance_to(case.START)
    start = case.waters(sim)
    sim.advance_to(case.START + 1.0)
    now = case.waters(sim)
    assert len(sim.waters()) == 2
    assert now[1] == pytest.approx(start[1], rel=1e-9) and now[2] == pytest.approx(start[2], rel=1e-9)
    assert now[0] == pytest.approx(start[0], rel=0.03)


@pytest.mark.parametrize("speed", [(0.0, -3.0), (0.4, -2.0), (0.0, 0.0)])
def test_drops_pass_through_no_solid_however_fast_either_is(speed):
    """A plate two cells thick that moves by a cell in a step, between drops of up to six cells in a step."""
    grid = Grid((16, 32, 1), 1.0 / 16, dimensions=2)
    spray, dt, dx = Spray(grid, Sides(grid)), 0.1, grid.dx
    y = (np.arange(-3, 35) + 0.5)[None, :, None] * dx
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.uniform(0.2, 0.8, 40), rng.uniform(0.85, 1.6, 40), np.full(40, 0.5 * dx)])
    spray.add(x, np.tile((*speed, 0.0), (40, 1)), np.ones(40))
    for step in range(12):
        plate = [np.broadcast_to(np.abs(y - 0.75 - 0.5 * dx * n) - dx, grid.padded).copy() for n in (step, step + 1)]
        spray.move(dt, (0.0, -9.81, 0.0), plate[1], plate[0])
        assert (spray.position[:, 1] > 0.75 + 0.5 * dx * (step + 1) + 0.9 * dx).all()
    # what lies on the plate rises with it
    assert spray.velocity[:, 1] == pytest.approx(0.5 * dx / dt, abs=1e-9)
