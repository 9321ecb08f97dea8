"""Steps land on frames, the rest is spread evenly, and the binding limit is named."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from undertow.errors import PhysicsError
from undertow.part import Limit
from undertow.run.timestep import LEAP, Clock, choose_step
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


RULES = Time(end=10.0, frame_rate=10.0)


def plan(longest: list[float], cut: float = math.inf) -> list[float]:
    """Steps of a leapfrog at ten frames per second, to a cut [s] and on from it, each planned in the step before it,
    their limits being ``longest`` one after the other [s]."""
    clock, frame = Clock(RULES), 1.0 / RULES.frame_rate
    steps, time, planned = [], 0.0, math.inf
    for allowed in longest:
        number = int(time / frame + 1e-9) + 1
        chosen = clock.choose([cfl(allowed)], time, min(number * frame, cut if time < cut else math.inf), planned)
        number += int(chosen.end > number * frame - 1e-9)
        planned = clock.plan([cfl(allowed)], chosen, number * frame)
        steps.append(chosen.time_step)
        time = chosen.end
    return steps


def test_one_short_step_is_not_followed_by_many() -> None:
    steps = plan([0.01] * 5 + [0.001] + [0.01] * 30)
    assert min(steps) < 0.0015, "the limit of one step"
    assert sum(step < 0.009 for step in steps) < 12, steps
    growth = [after / before for before, after in itertools.pairwise(steps[7:])]
    assert max(growth) < 1.1 * LEAP, "no leap beyond what has been allowed for a while, but for an even rest of a frame"


@pytest.mark.parametrize("cut", [0.1501, 0.1999, 0.2001])
def test_steps_after_a_cut_are_as_long_as_before(cut: float) -> None:
    """Beside a frame or amid two: only those of the frame that is cut are shorter."""
    longest = [0.02] * 2 + [0.06 + 0.004 * math.sin(0.9 * n) for n in range(60)]
    uncut, steps = plan(longest), plan(longest, cut)
    assert uncut[-20:] == pytest.approx([0.05] * 20)
    after = np.cumsum(steps) > cut + 0.1
    before = [step for step in uncut if step < 0.049]
    assert sum(step < 0.049 for step in np.array(steps)[after]) <= len(before)
    assert steps[-20:] == pytest.approx([0.05] * 20)


def test_steps_leap_only_to_what_has_been_allowed_for_a_while() -> None:
    """They do not change between one and two to a frame where the limit swings about it."""
    steps = plan([0.1 + 0.03 * math.sin(0.4 * n) for n in range(200)])
    assert max(steps[16:]) < 0.051
