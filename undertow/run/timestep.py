"""The one place where the length of a step is chosen; it says which limit was binding."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from undertow.errors import PhysicsError
from undertow.fluid import Flow
from undertow.grid import Sides
from undertow.scene import Time

MOST_STEPS = 100_000
"""More steps than this up to the next frame means that the flow has blown up."""


SCALED = ("cfl", "side_velocity", "surface_waves")
"""Limits given for a CFL number of 1, multiplied by ``time.cfl``."""


class StepChoice(NamedTuple):
    """time_step [s], the name of the limit that set it, and the time at its end [s] (the target itself on landing)."""

    time_step: float
    limit: str
    end: float


def side_limit(sides: Sides, dx: float) -> dict[str, float]:
    """Step in which the fastest wall or inflow passes one cell [s] (the fluid may be at rest); empty if all rest."""
    speed = float(np.abs(sides.spec.velocity).sum(axis=1).max())
    return {"side_velocity": dx / speed} if speed > 0 else {}


def flow_limits(flow: Flow, time: float) -> dict[str, float]:
    """Limits of a flow and of its sides; transport by ENO-3 is explicit, and the CFL number 1 is its stability [s]."""
    limits = flow.limits(time)
    if flow.settings.advection == "eno3" and "cfl" in limits:
        limits["stability"] = limits["cfl"]
    return limits | side_limit(flow.sides, flow.grid.dx)


def choose_step(rules: Time, limits: Mapping[str, float], time: float, target: float) -> StepChoice:
    """The next step from ``time`` towards ``target`` [s].

    ``limits``: longest step by each rule of the physics [s], those of ``SCALED`` at a CFL number of 1. The steps up to
    the target are spread evenly, n = ceil(rest / longest), so that no tiny step is left at the end.
    """
    rest = target - time
    if not rest > 0:
        raise ValueError(f"choose_step: the target {target} s does not lie after {time} s")
    allowed = {"frame": rest}
    if rules.fixed_step is not None:
        allowed["fixed_step"] = rules.fixed_step
        stable = limits.get("stability", math.inf)
        if min(rest, rules.fixed_step) > stable:
            raise PhysicsError(
                f"time.fixed_step = {rules.fixed_step:g} s: eno3 is stable up to {stable:.3g} s at t = {time:.6g} s; "
                f"lower it, use cfl in its place, or use maccormack"
            )
    else:
        if rules.max_step is not None:
            allowed["max_step"] = rules.max_step
        for name, longest in limits.items():
            allowed[name] = rules.cfl * longest if name in SCALED else longest
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
