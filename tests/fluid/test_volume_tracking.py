"""Volume that the level set makes or loses: found cell by cell, given back through the pressure."""

import numpy as np
import pytest

from undertow.fluid import Flow, FlowSettings
from undertow.fluid.liquid import LiquidSurface
from undertow.geometry import Box, Solid, SolidFields, Sphere, Static
from undertow.grid import WALL, Grid, Sides
from undertow.surface import Surface


def make(f, n, solids=None):
    grid = Grid((n, n, 1), 1.0 / n, dimensions=2)
    sides = Sides(grid, [WALL] * 6, [True] * 6)
    phi_c = grid.cell_field()
    phi_c[grid.interior] = f(*grid.cell_centres())
    fields = None if solids is None else SolidFields(grid, solids)
    surface = Surface(grid, sides, phi_c)
    return Flow(
        grid, sides, fields, FlowSettings(density=1000.0), make_extent=lambda context: LiquidSurface(context, surface)
    )


def test_a_thin_jet_on_a_ball_and_the_dry_floor_keeps_its_volume():
    """2.4 cells wide. Level set, what it owes and spray are the water of the start in every step, to rounding."""
    n = 24
    ball = Solid("ball", Sphere(0.08), Static((0.47, 0.1, 0.0)))
    water = make(lambda x, y, z: np.maximum(np.abs(x - 0.513) - 1.2 / n, np.abs(y - 0.6) - 0.35) + 0 * z, n, [ball])
    start, time, spray, worst = water.extent.volume(), 0.0, 0.0, 0.0
    assert water.extent.tracker.volume_c[water.grid.interior].sum() / n**2 == pytest.approx(start, rel=1e-12)
    while time < 0.6:
        dt = 0.9 * min([*(limit.time_step for limit in water.limits(time)), 1.0 / 60.0])
        water.step(time, dt)
        time += dt
        ledger = water.ledger()
        spray = max(spray, ledger["spray_volume"])
        held = ledger["fluid_volume"] + ledger["spray_volume"]
        worst = max(worst, abs(held / start - 1.0))
        assert held + ledger["volume_error"] == pytest.approx(start, rel=1e-11)
    assert worst < 0.1
    assert 0.0 < spray < 0.2 * start


def test_what_still_water_owes_in_one_cell_raises_its_level():
    n = 16
    water = make(lambda x, y, z: y - 0.48 + 0 * (x + z), n)
    start, owed = water.extent.volume(), 2.0 / n**2
    water.extent.tracker.error_c[3, 6, 9] = 2.0
    for step in range(220):
        water.step(0.01 * step, 0.01)
    assert water.extent.volume() + water.extent.tracker.total == pytest.approx(start + owed, rel=1e-12)
    assert water.extent.volume() - start > 0.8 * owed
    assert water.extent.tracker.error_c.max() < 0.05


def test_a_thread_under_a_shelf_ends_and_what_is_on_the_shelf_stays():
    """The shelf, two cells thick, carries water and has a thread below, which the level set inside it would feed."""
    n = 24
    shelf = Solid("shelf", Box((1.4, 0.08, 1.0)), Static((0.5, 0.6, 0.0)))

    def full(x, y, z):
        thread = np.maximum(np.abs(x - 0.513) - 1.0 / n, np.maximum(y - 0.6, 0.35 - y))
        return np.minimum(np.maximum(0.6 - y, y - 0.8), thread) + 0 * z

    water = make(full, n, [shelf])
    grid, book = water.grid, water.extent.tracker
    y = grid.cell_centres()[1].reshape(-1)
    low, near = y < 0.6, (y < 0.6) & (y > 0.3)
    start, time = book.volume_c[grid.interior], 0.0
    above, below = start[:, ~low].sum(), start[:, low].sum()
    while time < 0.8:
        dt = 0.9 * min([*(limit.time_step for limit in water.limits(time)), 1.0 / 60.0])
        water.step(time, dt)
        time += dt
        held, owed = book.volume_c[grid.interior], book.error_c[grid.interior]
        spray = water.state.surface.spray.total_volume * n**2
        assert held[:, ~low].sum() == pytest.approx(above, rel=1e-6)
        assert held[:, low].sum() + owed[:, low].sum() + spray == pytest.approx(below, rel=1e-9)
    liquid = (water.state.surface.phi_c <= 0.0) & (water.extent.open_c == 1)
    assert not liquid[grid.interior][:, near].any()
