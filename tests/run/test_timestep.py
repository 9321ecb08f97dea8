"""Steps land on frames, the rest is spread evenly, and the binding limit is named."""

from __future__ import annotations

import pytest

from undertow.errors import PhysicsError
from undertow.part import Limit
from undertow.run.timestep import choose_step
from undertow.scene import Time


def cfl(time_step: float) -> Limit:
    return Limit("cfl", time_step, "cfl")


def march(rules: Time, limits: list[Limit], time: float, target: float) -> list[float]:
    steps = []
    while time < target:
        choice = choose_step(rules, limits, time, target)
        steps.append(choice.time_step)
        time = choice.end
    assert time == target, "the last step must land exactly"
    return steps


@pytest.mark.parametrize("limit", [1.0, 0.1, 0.0334, 0.033, 0.0123, 0.00071])
def test_steps_are_even_and_land_exactly(limit: float) -> None:
    rules = Time(end=1.0, frame_rate=30)
    for frame in range(3):
        steps = march(rules, [cfl(limit)], rules.frame_time(frame), rules.frame_time(frame + 1))
        assert max(steps) <= limit * (1 + 1e-8)
        assert max(steps) - min(steps) < 1e-12, "no tiny step at the end"


def test_the_binding_limit_is_named() -> None:
    rules = Time(end=1.0, frame_rate=10, cfl=2.0, max_step=0.05)
    assert choose_step(rules, [], 0.0, 0.1).limit == "max_step"
    assert choose_step(rules, [cfl(0.02)], 0.0, 0.1)[:2] == (pytest.approx(0.1 / 3), "cfl")
    assert choose_step(rules, [Limit("side_velocity", 0.02, "cfl")], 0.0, 0.1).limit == "side_velocity"
    assert choose_step(rules, [cfl(0.02), Limit("solid_motion", 0.01)], 0.0, 0.1).limit == "solid_motion"
    assert choose_step(rules, [cfl(0.2)], 0.08, 0.1).limit == "frame"
    fixed = Time(end=1.0, frame_rate=10, fixed_step=0.02)
    assert march(fixed, [cfl(1e-3)], 0.0, 0.1) == pytest.approx([0.02] * 5)


def test_a_collapsed_step_is_a_failure_of_the_physics() -> None:
    with pytest.raises(PhysicsError, match="time step has collapsed at t = 0 s: the limit 'cfl'"):
        choose_step(Time(end=1.0), [cfl(1e-12)], 0.0, 0.03)
