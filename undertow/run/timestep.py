"""The one place where the length of a step is chosen; it says which limit was binding."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from undertow.errors import PhysicsError
from undertow.part import Limit
from undertow.scene import Time

MOST_STEPS = 100_000
"""More steps than this up to the next frame means that the flow has blown up."""


class StepChoice(NamedTuple):
    """time_step [s], the name of the limit that set it, and the time at its end [s] (the target itself on landing)."""

    time_step: float
    limit: str
    end: float


def choose_step(rules: Time, limits: Iterable[Limit], time: float, target: float) -> StepChoice:
    """The next step from ``time`` towards ``target`` [s].

    ``limits``: of all parts; the shortest of each name counts. The steps up to the target are spread evenly,
    n = ceil(rest / longest), so that no tiny step is left at the end.
    """
    rest = target - time
    if not rest > 0:
        raise ValueError(f"choose_step: the target {target} s does not lie after {time} s")
    allowed = {"frame": rest}
    if rules.fixed_step is not None:
        allowed["fixed_step"] = rules.fixed_step
        stable = min((limit.time_step for limit in limits if limit.kind == "stability"), default=math.inf)
        if min(rest, rules.fixed_step) > stable:
            raise PhysicsError(
                f"time.fixed_step = {rules.fixed_step:g} s: eno3 is stable up to {stable:.3g} s at t = {time:.6g} s; "
                f"lower it, use cfl in its place, or use maccormack"
            )
    else:
        if rules.max_step is not None:
            allowed["max_step"] = rules.max_step
        for name, time_step, kind in limits:
            longest = rules.cfl * time_step if kind == "cfl" else time_step
            allowed[name] = min(longest, allowed.get(name, math.inf))
    limit = min(allowed, key=lambda name: allowed[name])
    longest = allowed[limit]
    if not longest > 0 or rest / longest > MOST_STEPS:
        raise PhysicsError(
            f"the time step has collapsed at t = {time:.6g} s: the limit '{limit}' allows {longest:.3g} s; the flow "
            f"has blown up or a velocity is far too large for the grid"
        )
    count = math.ceil(rest / longest * (1 - 1e-9))
    if count <= 1:
        return StepChoice(rest, limit, target)
    time_step = rest / count
    return StepChoice(time_step, limit, time + time_step)
