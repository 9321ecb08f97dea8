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


def test_transport_is_of_second_order() -> None:
    """Vortices that drift through a periodic tank, a disc in one of them: cells and steps halved together."""
    coarse, fine = case.drift(16), case.drift(32)
    assert np.log2(coarse.error / fine.error) > 1.9
    assert 0.98 < fine.energy <= 1.0


def order(values: list[float]) -> float:
    """Of three values whose steps were halved twice."""
    first, second = np.abs(np.diff(values))
    return float(np.log2(first / second))


SWING = {"frequency": 1.25, "phase": 0.0}


def test_sides_have_the_velocity_of_the_middle_of_a_step() -> None:
    """An inflow that swells, and a disc beside it: both have the velocity of the time that is seen, to second order."""
    sides = {
        "x_low": {"type": "inflow", "velocity": {"mean": [0.3, 0.0], "amplitude": [0.2, 0.0], **SWING}},
        "x_high": "outflow",
    }
    disc = ut.RigidBody(shape=ut.Sphere(radius=0.1), position=[0.3, 0.25], density=1000.0, velocity=[0.3, 0.0])
    fluid, beside = [], []
    for count in (12, 24, 48):
        sim = ut.Simulation(
            ut.Scene(
                name="swell", coupling="monolithic", gravity=[0.0, 0.0],
                domain=ut.Domain(upper=[1.0, 0.5], resolution=24, sides=sides),
                time=ut.Time(end=1.0, fixed_step=0.48 / count, frame_rate=count / 0.48), objects={"disc": disc},
                fluid=ut.Fluid(density=1000.0, viscosity=0.0, tolerance=1e-10, initial_velocity=[0.3, 0.0]),
            )
        )  # fmt: skip
        sim.advance_to(0.48)
        fluid.append(sim.sample("velocity", [(0.8, 0.2)])[0, 0])
        beside.append(sim.body("disc").velocity[0])
    assert order(fluid) > 1.9
    assert order(beside) > 1.85
    assert fluid[-1] == pytest.approx(0.3 + 0.2 * np.sin(2.5 * np.pi * 0.48), abs=5e-4)


def shaken(count: int = 16, **time: float) -> ut.Scene:
    """A box that is shaken in water, by 6 mm, in steps of 0.64 s / count."""
    swing = {"mean": [0.0, 0.0], "amplitude": [0.0, 0.05], **SWING}
    box = ut.RigidBody(shape=ut.Box(size=[0.3, 0.2]), position=[0.5, 0.3], motion={"type": "velocity", "linear": swing})
    return ut.Scene(
        name="shaken", domain=ut.Domain(upper=[1.0, 1.0], resolution=24),
        time=ut.Time(end=2.0, **(time or {"fixed_step": 0.64 / count, "frame_rate": count / 0.64})),
        fluid=ut.Fluid(density=1000.0, viscosity=0.0, tolerance=1e-10),
        objects={"pool": ut.Water(shape=ut.Plane(normal=[0, 1]), position=[0.5, 0.6]), "box": box},
    )  # fmt: skip


def test_prescribed_solids_have_the_velocity_of_the_middle_of_a_step() -> None:
    """They were those of its end where no body was moved by forces."""
    found = []
    for count in (16, 32, 64):
        sim = ut.Simulation(shaken(count))
        sim.advance_to(0.64)
        found.append(sim.sample("velocity", [(0.5, 0.5)])[0, 1])
    assert order(found) > 1.9


def test_what_is_seen_ahead_is_saved(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Velocities of walls in the middle of the next step decide about its length."""
    sim = ut.Simulation(shaken(frame_rate=11.0))
    sim.advance_to(0.3)
    sim.save(tmp_path / "a.h5")
    other = ut.load(tmp_path / "a.h5")
    rows = [one.step().ledger for one in (sim, other) for _ in range(3)]
    assert rows[:3] == rows[3:]
