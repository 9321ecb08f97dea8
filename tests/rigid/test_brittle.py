"""Loads against a strength: what lasts, what is sudden, and that neither depends on the step."""

from __future__ import annotations

import math

import numpy as np
import pytest

from undertow.rigid.brittle import FLUID, LoadHistory, Loads, Meeting


def loads(impulse: float, other: int = 7, lasting: float = 0.0) -> Loads:
    return Loads(
        np.array([3]), np.array([other]), np.array([[0.0, impulse, 0.0]]), np.zeros((1, 3)), np.array([lasting]), ("x",)
    )


def strength(impulse: float = math.inf, force: float = math.inf, time: float = 0.005) -> np.ndarray:
    return np.array([[impulse, force, time]])


@pytest.mark.parametrize("dt", [1 / 30, 1 / 240, 1 / 3000])
def test_a_lasting_force_is_measured_as_it_is_at_any_step(dt: float) -> None:
    history, judged = LoadHistory(), None
    for n in range(1, 40):
        judged = history.judge(loads(12.0 * dt, lasting=12.0 * dt), strength(force=10.0), n * dt, dt)
        history.keep(0.005)
    assert judged is not None and judged.force[0] == pytest.approx(12.0, rel=1e-9)
    assert judged.impulse[0] < 1e-12 and judged.share[0] == pytest.approx(1.2, rel=1e-9)


def test_a_collision_beside_a_lasting_load_counts_alone_and_once() -> None:
    history, dt = LoadHistory(), 1 / 100
    found = []
    for n, impulse in enumerate([1.0, 1.0, 6.0, 1.0, 1.0], start=1):
        found.append(history.judge(loads(impulse, lasting=1.0), strength(impulse=2.0), n * dt, dt).impulse[0])
        history.keep(0.005)
    assert found == pytest.approx([0.0, 0.0, 5.0, 0.0, 0.0], abs=1e-12)


def test_a_collision_is_a_force_over_the_time_of_the_strength_at_any_step() -> None:
    for dt in (1 / 30, 1 / 1000):
        judged = LoadHistory().judge(loads(2.0), strength(force=1.0), dt, dt)
        assert judged.force[0] == pytest.approx(2.0 / 0.005, rel=1e-12)


def test_the_fluid_is_no_collision() -> None:
    judged = LoadHistory().judge(loads(2.0, FLUID, 2.0), strength(impulse=1e-9, force=1e9), 0.1, 0.1)
    assert judged.impulse[0] == 0.0 and judged.force[0] == pytest.approx(20.0)


def test_bodies_meet_at_the_speed_that_they_have_when_they_touch() -> None:
    """A ball falls from rest: at any share of the step the impulse is m sqrt(2 g h)."""
    g, dt, mass = 10.0, 0.02, 3.0
    for s in (0.0, 0.3, 0.9):
        speed = 2.0
        gap = speed * s * dt + 0.5 * g * (s * dt) ** 2
        met = mass * math.sqrt(speed**2 + 2.0 * g * gap)
        total = mass * (speed + g * dt)
        lasting = Meeting(speed, g * dt, gap, mass, 0.0, False).lasting(total, dt)
        assert total - lasting == pytest.approx(met, rel=2e-3)
        bounce = 1.5 * mass * speed
        lasting = Meeting(speed, g * dt, gap, mass, bounce, False).lasting(bounce, dt)
        assert bounce - lasting == pytest.approx(1.5 * met, rel=2e-3)


def test_what_rests_from_the_start_has_not_met() -> None:
    assert Meeting(0.0, 0.2, 0.0, 5.0, 0.0, True).lasting(1.0, 0.02) == 1.0
    assert Meeting(0.0, 0.0, 0.0, 5.0, 0.0, False).lasting(1.0, 0.02) == 0.0
