"""The one place where the length of a step is chosen; it says which limit was binding."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from undertow.errors import PhysicsError
from undertow.part import Limit
from undertow.scene import Time

MOST_STEPS = 100_000
"""More steps than this up to the next frame means that the flow has blown up."""


EXCEEDED = 1.1
"""A planned step stays while it is no longer than this times what the limits of its own time allow."""

SLOWEST = 0.5
"""What a rate may fall to within a step, when it is extrapolated to the next."""

SAME = 1e-9
"""Steps that differ by less than this part are the same."""

LEAP = 1.5
"""A step is planned longer than so many times the one before it only as far as the limits of all recent steps allow."""

RECENT = 32
"""So many steps: half a period of a wave of which a change of the step by two would show."""


class StepChoice(NamedTuple):
    """time_step [s], the name of the limit that set it, and the time at its end [s] (the target itself on landing)."""

    time_step: float
    limit: str
    end: float


class Clock:
    """Chooses steps; their rates, 1 / the longest step by each limit, are extrapolated from the last two.

    A step that follows the rates of the step before it would be long where a wave slows down and short where it speeds
    up: in phase with it, which takes energy. So does a step that changes between one and two to a frame twice in every
    period: steps leap only to what has been allowed for a while, and grow by LEAP at most before that. What they grow
    from is not what a frame or the user's target has cut them to.
    """

    def __init__(self, rules: Time) -> None:
        self.rules = rules
        self.rates: dict[str, float] = {}
        """Of the last step [1/s]."""
        self.recent: list[dict[str, float]] = []
        """Of the last steps [1/s]."""
        self.planned = ""
        """The limit that set the planned step."""
        self.pace = 0.0
        """The step before the planned one, had it been one of a whole frame [s]."""

    def choose(self, limits: Sequence[Limit], time: float, target: float, planned: float) -> StepChoice:
        """The next step from ``time`` towards ``target`` [s], at most as long as one that was planned."""
        allowed = _allowed(self.rules, limits, time, target - time)
        if not math.isfinite(planned):
            self.pace = self._even(allowed)
        else:
            allowed = {name: longest * (1.0 if name in EXACT else EXCEEDED) for name, longest in allowed.items()}
            if planned <= min(allowed.values()) * (1.0 + SAME):
                return _spread({self.planned: planned}, time, target)
            self.pace = min(self.pace, self._even(allowed))
        return _spread(allowed, time, target)

    def plan(self, limits: Sequence[Limit], chosen: StepChoice, target: float) -> float:
        """How long the step after ``chosen`` is to be, towards ``target`` [s]."""
        allowed = _allowed(self.rules, _after(limits, chosen.time_step), chosen.end, target - chosen.end)
        rates = {name: 1.0 / longest for name, longest in allowed.items() if name not in EXACT}
        for name, rate in rates.items():
            change = rate - self.rates.get(name, rate)
            allowed[name] = 1.0 / max(rate + change, SLOWEST * rate)
        self.rates = rates
        self.recent = [*self.recent, rates][-RECENT:]
        if self._even(allowed) > LEAP * self.pace * (1.0 + SAME):
            for before in self.recent:
                for name in before.keys() & allowed.keys():
                    allowed[name] = min(allowed[name], max(1.0 / before[name], LEAP * self.pace))
        self.pace = self._even(allowed)
        found = _spread(allowed, chosen.end, target)
        self.planned = found.limit
        return found.time_step

    def _even(self, allowed: Mapping[str, float]) -> float:
        """The steps of a whole frame by limits that do not end at a certain time [s]."""
        frame = 1.0 / self.rules.frame_rate
        longest = min((limit for name, limit in allowed.items() if name not in CUTS), default=frame)
        return frame / max(math.ceil(frame / longest * (1.0 - SAME)), 1)

    def numbers(self) -> dict[str, Any]:
        """What evolves."""
        return {
            "rates": dict(self.rates), "recent": [dict(rates) for rates in self.recent], "planned": self.planned,
            "pace": self.pace,
        }  # fmt: skip

    def restore(self, numbers: Mapping[str, Any]) -> None:
        """Take over what ``numbers`` gave."""
        self.rates, self.planned, self.pace = dict(numbers["rates"]), numbers["planned"], numbers["pace"]
        self.recent = [dict(rates) for rates in numbers["recent"]]


EXACT = ("frame", "fixed_step", "max_step", "stability", "target")
"""Limits that are no rates of the motion."""

CUTS = ("frame", "target")
"""Limits that are times at which a step ends."""


def choose_step(rules: Time, limits: Iterable[Limit], time: float, target: float) -> StepChoice:
    """The next step from ``time`` towards ``target`` [s], where none was planned.

    ``limits``: of all parts; the shortest of each name counts. The steps up to the target are spread evenly,
    n = ceil(rest / longest), so that no tiny step is left at the end.
    """
    if not target - time > 0:
        raise ValueError(f"choose_step: the target {target} s does not lie after {time} s")
    return _spread(_allowed(rules, list(limits), time, target - time), time, target)


def _after(limits: Sequence[Limit], step: float) -> list[Limit]:
    """The limits a step [s] later: events are so much nearer, or over."""
    found = [one._replace(time_step=one.time_step - step) if one.kind == "event" else one for one in limits]
    return [one for one in found if one.kind != "event" or one.time_step > 1e-9 * step]


def _allowed(rules: Time, limits: Sequence[Limit], time: float, rest: float) -> dict[str, float]:
    """The longest step by each limit [s]."""
    allowed = {"frame": rest}
    if rules.fixed_step is not None:
        allowed["fixed_step"] = rules.fixed_step
        stable = min((limit.time_step for limit in limits if limit.kind == "stability"), default=math.inf)
        if min(rest, rules.fixed_step) > stable:
            raise PhysicsError(
                f"time.fixed_step = {rules.fixed_step:g} s: eno3 is stable up to {stable:.3g} s at t = {time:.6g} s; "
                f"lower it, use cfl in its place, or use maccormack"
            )
        return allowed
    if rules.max_step is not None:
        allowed["max_step"] = rules.max_step
    for name, time_step, kind in limits:
        longest = rules.cfl * time_step if kind == "cfl" else time_step
        allowed[name] = min(longest, allowed.get(name, math.inf))
    return allowed


def _spread(allowed: Mapping[str, float], time: float, target: float) -> StepChoice:
    """The steps up to the target spread evenly."""
    rest = target - time
    limit = min(allowed, key=lambda name: allowed[name])
    longest = allowed[limit]
    if not longest > 0 or rest / longest > MOST_STEPS:
        raise PhysicsError(
            f"the time step has collapsed at t = {time:.6g} s: the limit '{limit}' allows {longest:.3g} s; the flow "
            f"has blown up or a velocity is far too large for the grid"
        )
    count = math.ceil(rest / longest * (1 - SAME))
    if count <= 1:
        return StepChoice(rest, limit, target)
    time_step = rest / count
    return StepChoice(time_step, limit, time + time_step)
