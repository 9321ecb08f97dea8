"""Surface and velocity half a step apart."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut
from undertow.validation.standing_wave import case


def drop(**time: float) -> ut.Scene:
    """A drop of water in the air."""
    return ut.Scene(
        name="drop",
        domain=ut.Domain(upper=(0.6, 0.8), resolution=32, resolution_along="y"),
        time=ut.Time(end=1.0, **time),
        fluid=ut.Fluid(material="water", viscosity=0.0, tolerance=1e-8),
        objects={"drop": ut.Water(shape=ut.Sphere(radius=0.12), position=(0.3, 0.6))},
    )


@pytest.mark.parametrize("frame_rate", [17.0, 50.0])
def test_what_is_seen_belongs_to_one_time(frame_rate: float) -> None:
    """A drop that falls freely: v = g t and y = y0 - g t^2 / 2 at every frame, whatever the steps."""
    sim = ut.Simulation(drop(frame_rate=frame_rate))
    rows = np.arange(sim.field("level_set").shape[1])
    for report in sim.steps(until=0.1765):
        below = sim.field("level_set")[0] < 0.0
        centre = (below.sum(axis=1) * (rows + 0.5)).sum() / below.sum() * 0.8 / 32
        assert centre == pytest.approx(0.6 - 0.5 * 9.81 * report.time**2, abs=0.2 * 0.8 / 32)
        assert sim.sample("velocity", [(0.3, centre)])[0][1] == pytest.approx(-9.81 * report.time, rel=5e-3)


def test_a_wave_gains_no_energy_from_its_steps() -> None:
    """Two periods at 64 cells with steps of the CFL number: both at the same times gains energy."""
    wave = case.simulate(64, 2.0)
    assert 0.9 < wave.energy < 1.0
    assert wave.period == pytest.approx(1.004, abs=0.01)


def test_a_wave_keeps_its_period_with_steps_that_nobody_planned() -> None:
    """Random steps, two periods at 24 cells: with both at the same times the period was 13% too long."""
    wave = case.simulate(24, 2.0, seed=3)
    assert 0.75 < wave.energy < 1.0
    assert wave.period == pytest.approx(1.004, abs=0.01)


def test_a_target_just_ahead_starts_nothing() -> None:
    """Steps of a billionth of a second to times that a user asks for leave the velocity as it is."""
    sim = ut.Simulation(drop(frame_rate=50.0))
    sim.advance_to(0.05)
    before = np.abs(sim.field("velocity")).max()
    for k in range(1, 6):
        sim.advance_to(0.05 + 1e-8 * k)
    assert np.abs(sim.field("velocity")).max() == pytest.approx(before, rel=1e-3)


def test_saved_between_steps_it_goes_on_bit_for_bit(tmp_path) -> None:  # type: ignore[no-untyped-def]
    sim = ut.Simulation(drop(frame_rate=50.0))
    sim.advance_to(0.047)
    sim.save(tmp_path / "a.h5")
    other = ut.load(tmp_path / "a.h5")
    assert (other.field("velocity") == sim.field("velocity")).all()
    rows = [one.step().ledger for one in (sim, other) for _ in range(3)]
    assert rows[:3] == rows[3:]
