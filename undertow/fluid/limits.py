"""How long a step of a fluid on a grid may be."""

from __future__ import annotations

import numpy as np

from undertow.errors import PhysicsError
from undertow.fluid.measure import largest_speed
from undertow.geometry import SolidFields
from undertow.grid import Array, Grid, Sides
from undertow.part import Limit


def flow_limits(
    grid: Grid, sides: Sides, u_f: Array, solids: SolidFields | None, advection: str, time: float
) -> list[Limit]:
    """The fluid crosses at most one cell, and so do moving walls and inflows; a solid moves at most one cell.

    Transport by ENO-3 is explicit, and the CFL number 1 is its stability. Solids that speed up count with their
    velocity at the end of the step that the other rules allow.
    """
    limits = []
    speed = largest_speed(grid, u_f)
    if not np.isfinite(speed):
        raise PhysicsError(f"fluid at t = {time:.6g} s: the velocity is not finite")
    if speed > 0.0:
        limits.append(Limit("cfl", grid.dx / speed, "cfl"))
        if advection == "eno3":
            limits.append(Limit("stability", grid.dx / speed, "stability"))
    if solids is not None:
        speed = largest_speed(grid, solids.velocity_c)
        crossing = [limit.time_step for limit in limits if limit.kind == "cfl"]
        if speed > 0.0:
            crossing.append(grid.dx / speed)
        if crossing:
            speed *= solids.speed_up(time, time + min(crossing))
        if speed > 0.0:
            limits.append(Limit("solid_motion", grid.dx / speed))
    # the fluid may be at rest where a wall or an inflow moves
    moving = [velocity for velocity in sides.spec.velocity if velocity.any()]
    speed = max((float(np.abs(velocity).sum(axis=0).max()) for velocity in moving), default=0.0)
    if speed > 0.0:
        limits.append(Limit("side_velocity", grid.dx / speed, "cfl"))
    return limits
