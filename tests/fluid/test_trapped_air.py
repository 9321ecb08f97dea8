"""Gas that gives way: p V of every body is kept through the step, merging and resuming; closed tanks may be drained."""

import numpy as np
import pytest

import undertow as ut
from undertow.errors import UserError

ATMOSPHERE = 20e3


def tank(objects, sides=None, atmosphere=ATMOSPHERE, **changes):
    """A square metre of water and air, 2D."""
    keys = {
        "name": "air", "domain": ut.Domain(upper=[1.0, 1.0], resolution=20, sides=sides or {}),
        "time": ut.Time(end=1.0, frame_rate=50.0), "surface": {"particles": False},
        "fluid": {
            "density": 1000.0, "viscosity": 20.0, "tolerance": 1e-8, "air": {"density": 1.2, "atmosphere": atmosphere}
        },
        "objects": objects,
    }  # fmt: skip
    return ut.Simulation(ut.Scene(**{**keys, **changes}))


def pool(level=0.6):
    return {"pool": ut.Water(shape=ut.Plane(normal=[0.0, 1.0]), position=[0.5, level])}


def amount(sim):
    return float(sim.flow.extent.air.amount_c.sum()) * sim.flow.grid.cell_volume


def test_still_water_under_air_that_gives_way_stays_still():
    sim = tank(pool())
    for _ in range(3):
        report = sim.step()
    assert np.abs(sim.state.u).max() < 1e-9
    assert report.ledger["bubble_1_pressure"] == pytest.approx(ATMOSPHERE, rel=1e-9)


def test_air_that_reaches_an_open_side_is_what_it_is_without_an_atmosphere():
    found = []
    for atmosphere in (None, ATMOSPHERE):
        sim = tank(pool(), {"y_high": "open"}, atmosphere=atmosphere)
        sim.advance_to(0.04)
        found.append(sim.state.u.copy())
    assert np.array_equal(*found)


def test_a_closed_tank_may_be_drained_and_its_air_has_the_pressure_of_boyle():
    tap = ut.Drain(shape=ut.Box(size=[0.4, 0.2]), position=[0.5, 0.2], rate=0.2)
    sim = tank({**pool(), "tap": tap})
    first = sim.step().ledger
    before = amount(sim)
    while sim.time < 0.4 - 1e-9:
        report = sim.step()
    now = report.ledger
    assert now["air_volume"] > 1.15 * first["air_volume"]
    assert now["bubble_1_pressure"] * now["bubble_1_volume"] == pytest.approx(ATMOSPHERE * 0.4, rel=1e-3)
    assert amount(sim) == pytest.approx(before, rel=1e-12)
    # what the drain takes in a step is gone after the surface has moved with it
    assert now["fluid_volume"] == pytest.approx(0.6 - 0.2 * sim.time, rel=1e-3)


def test_incompressible_air_in_a_closed_tank_refuses_the_drain_and_says_what_would_help():
    tap = ut.Drain(shape=ut.Box(size=[0.4, 0.2]), position=[0.5, 0.2], rate=0.2)
    with pytest.raises(UserError, match=r"both fluids keep their volume.*fluid\.air\.atmosphere"):
        tank({**pool(), "tap": tap}, atmosphere=None)


def test_a_bubble_under_water_begins_at_the_pressure_of_its_depth():
    bubble = ut.Bubble(shape=ut.Sphere(radius=0.15), position=[0.5, 0.3])
    sim = tank({**pool(0.8), "bubble": bubble}, {"y_high": "open"})
    row = sim.step().ledger
    assert row["bubble_1_pressure"] == ATMOSPHERE
    assert row["bubble_2_pressure"] == pytest.approx(ATMOSPHERE + 1000.0 * 9.81 * 0.5, rel=5e-3)


def test_two_bubbles_that_meet_have_the_amount_of_both_and_resume_bit_for_bit(tmp_path):
    objects = {
        **pool(0.9), "left": ut.Bubble(shape=ut.Sphere(radius=0.15), position=[0.34, 0.3]),
        "right": ut.Bubble(shape=ut.Sphere(radius=0.15), position=[0.66, 0.3]),
    }  # fmt: skip
    sim = tank(objects, surface={"particles": False, "tension": 5.0})
    sim.step()
    before = amount(sim)
    surface, x = sim.flow.state.surface, sim.flow.grid.cell_centres()
    surface.phi_c[sim.flow.grid.interior] = np.maximum(
        surface.phi_c[sim.flow.grid.interior], np.minimum(0.06 - np.abs(x[1] - 0.3), 0.2 - np.abs(x[0] - 0.5))
    )
    for _ in range(2):
        report = sim.step()
    assert report.ledger["bubbles"] == 2.0
    assert amount(sim) == pytest.approx(before, rel=1e-12)
    sim.save(tmp_path / "air.h5")
    again = ut.load(tmp_path / "air.h5")
    for one in (sim, again):
        for _ in range(3):
            one.step()
    assert np.array_equal(sim.state.u, again.state.u)
    assert np.array_equal(sim.flow.extent.air.amount_c, again.flow.extent.air.amount_c)
