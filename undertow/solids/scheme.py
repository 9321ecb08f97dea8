"""The scheme of thesis 4.2 [@schroeder2011] for everything solid: five steps, each of all solids before the next.

    I    v^n+1/2 from v^n, forces at x^n
    II   collisions on v^n; v^n+1/2 goes along
    III  contact, joints and volume on v^n+1/2
    IV   x^n+1 = x^n + dt v^n+1/2
    V    v^n+1 from v^n, forces of the middle; contact, joints and volume on v^n+1

Rigid bodies (``step.RigidStages``) and soft ones (``soft_stages``) take part in it, those that are named first act
first within a step. Soft bodies by Verlet's method have one velocity in the place of two; those by backward Euler are
solved with all that they touch in I, and follow the bodies that carry them at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Participant(Protocol):
    """Solids that take part in the scheme."""

    def evolve(self, time: float, dt: float) -> None:
        """I: velocities of the positions of the step from ``time`` by dt [s]."""

    def collide(self, dt: float) -> None:
        """II: collisions."""

    def hold(self, time: float, dt: float) -> None:
        """III: what holds the velocities of the positions."""

    def move(self, time: float, dt: float) -> None:
        """IV: positions."""

    def advance(self, time: float, dt: float) -> None:
        """V: velocities of the end."""

    def settle(self, time: float, dt: float) -> None:
        """V: what holds the velocities of the end."""

    def finish(self, time: float, dt: float) -> None:
        """After the step: follow what others have done."""


def advance(solids: Sequence[Participant], time: float, dt: float) -> None:
    """One step of all solids from ``time`` by dt [s]."""
    for one in solids:
        one.evolve(time, dt)
    for one in solids:
        one.collide(dt)
    for one in solids:
        one.hold(time, dt)
    for one in solids:
        one.move(time, dt)
    for one in solids:
        one.advance(time, dt)
    for one in solids:
        one.settle(time, dt)
    for one in solids:
        one.finish(time, dt)
