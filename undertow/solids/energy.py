"""The energy of solids against the work that is done on them.

    K + U <= K_0 + U_0 + sum over steps of F . (x^n+1 - x^n)

K kinetic, U elastic energy; F what acts from outside: weight, loads, the fluid, motors, and what is held or moved as
prescribed. Contact, joints and damping between solids only take energy, so that the difference of both sides never
grows but by the errors of a step. Work is that of displacements: forces of a step on the way in it. Where the reported
forces are those of a kick about the end of the step (``coupling.leapfrog``), the part of the way before its beginning
has those of the kick before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from undertow.grid import Array
from undertow.part import ENERGY, Quantity
from undertow.rigid.bodies import DYNAMIC, RigidBodies
from undertow.soft import SoftBodies

STILL = 1e-3
"""Solids are at rest that move by less than this part of their size in a second, or no faster than gravity makes them
in a step."""

SHARE = 0.5
"""Energy gained beyond the work is an error from this part on of all that solids began with and were given, while they
have more than that: a body that is stopped within a step loses less than the force of the step takes on its way."""

LASTING = 10
"""After so many steps with that, since the two sides may be off by what acts over a step. Steps in which it falls do
not count: what a linearised step adds where a stiff rope is pushed across, the next ones take."""

AT_ONCE = 1e3
"""Or after two with so many times that share."""


@dataclass
class Balance:
    """What has been given to the solids of a part: work [J] since the start; kinetic [J]: energy that the last step
    left them with, or that they were made with: what it differs from then has been given by who changed velocities.
    fall [m/s]: what gravity adds to a velocity in a step."""

    kinetic: float
    work: float = 0.0
    fall: float = 0.0

    def begin(self, kinetic: float) -> None:
        """A step begins with a kinetic energy [J]."""
        self.work += kinetic - self.kinetic

    def end(self, work: float, kinetic: float, fall: float) -> None:
        """A step in which a work [J] was done has ended with a kinetic energy [J]."""
        self.work += work
        self.kinetic, self.fall = kinetic, fall

    def quantities(self, energy: float, mass: Array, size: Array) -> Iterator[Quantity]:
        """Kinetic and elastic energy of now, work, and the energy below which solids of masses (n,) [kg] and sizes (n,)
        [m] are at rest [J]."""
        still = 0.5 * mass @ np.maximum(STILL * size, self.fall) ** 2
        yield Quantity("solids_energy", energy, ENERGY)
        yield Quantity("solids_work", self.work, ENERGY)
        yield Quantity("solids_still", float(still), ENERGY)

    def numbers(self) -> dict[str, Any]:
        """Its state."""
        return dict(vars(self))

    def restore(self, numbers: Mapping[str, Any]) -> None:
        """Take over what ``numbers`` gave."""
        vars(self).update(numbers)


def turns(before: Array, after: Array) -> Array:
    """Rotation vectors (n, 3) [rad] that lead from quaternions (n, 4) to others."""
    w, u = before[:, :1], -before[:, 1:]
    s, v = after[:, :1], after[:, 1:]
    real = (s * w)[:, 0] - (v * u).sum(axis=1)
    axis = s * u + w * v + np.cross(v, u)
    size = np.linalg.norm(axis, axis=1)
    angle = 2.0 * np.arctan2(size, np.abs(real))
    factor = np.where(size > 0.0, angle / np.where(size > 0.0, size, 1.0), 2.0) * np.where(real < 0.0, -1.0, 1.0)
    return np.asarray(factor[:, None] * axis)


class BodiesOnTheirWay:
    """Rigid bodies between the start of a step and its end."""

    def __init__(self, bodies: RigidBodies) -> None:
        self.bodies, self.identity_b = bodies, bodies.identity_b.copy()
        self._x, self._q = bodies.x_b.copy(), bodies.q_b.copy()

    def way(self) -> Array:
        """Displacements and turns (n, 6) [m, rad] since; none of bodies that came in the step."""
        bodies = self.bodies
        if np.array_equal(bodies.identity_b, self.identity_b):
            return np.concatenate([bodies.x_b - self._x, turns(self._q, bodies.q_b)], axis=1)
        found = np.zeros((bodies.count, 6))
        row = {int(identity): b for b, identity in enumerate(self.identity_b)}
        kept = [(b, row[int(i)]) for b, i in enumerate(bodies.identity_b) if int(i) in row]
        if kept:
            now, then = (list(rows) for rows in zip(*kept, strict=True))
            found[now, :3] = bodies.x_b[now] - self._x[then]
            found[now, 3:] = turns(self._q[then], bodies.q_b[now])
        return found


def work_on_bodies(bodies: RigidBodies, way: Array, outside: Array, between: Array, gravity: Array) -> float:
    """Work [J] of gravity and of ``outside`` on dynamic bodies on their way (n, 6), and of others on these by
    ``between``, the forces and torques (n, 6) of contact and joints on each."""
    moved = bodies.kind_b == DYNAMIC
    fall = float(bodies.mass_b[moved] @ (way[moved, :3] @ gravity))
    return fall + float((outside[moved] * way[moved]).sum()) - float((between[~moved] * way[~moved]).sum())


def work_of_holds(
    soft: SoftBodies, held: Any, before: tuple[Array, Array], outside: Array, dt: float,
) -> float:  # fmt: skip
    """Work [J] of what moves nodes along the axes in which they are ``held`` (n, 3): what they gained, less that of the
    forces ``outside`` (n, 3) [N], of elasticity and of damping. before: x and v (n, 3) at the start of the step."""
    x, v = before
    way = soft.x - x
    if not way[held].any() and not (soft.v[held] - v[held]).any():
        return 0.0
    start, end = np.zeros_like(x), np.zeros_like(x)
    soft.forces.measure(x, start)
    soft.forces.measure(soft.x, end)
    force = outside + 0.5 * (start + end)
    if soft.damped:
        blocks, drag = soft.forces.make_matrix(), np.zeros_like(x)
        soft.forces.assemble(soft.x, 0.0, 1.0, blocks)
        soft.forces.add_product(blocks, np.ascontiguousarray(way / dt), drag)
        force -= drag
    gained = 0.5 * soft.mass @ ((soft.v**2 - v**2) * held).sum(axis=1)
    return float(gained) - float((force[held] * way[held]).sum())


class EnergyWatch:
    """What solids gain beyond the work that is done on them, judged step by step.

    given [J]: what they began with, and the largest rise of the work since. gained [J]: the rise of their energy beyond
    the work. late: steps with too much of it since there last was not, by their weight.
    """

    def __init__(self) -> None:
        self.started, self.late = False, 0
        self.start = self.rise = self.lowest_work = self.lowest = self.gained = 0.0

    @property
    def given(self) -> float:
        """[J]"""
        return self.start + self.rise

    def see(self, energy: float, work: float, still: float) -> bool:
        """Whether solids of an energy on which a work has been done [J] gain energy out of nothing; still [J]: what
        they have at rest."""
        beyond = energy - work
        if not self.started:
            self.started, self.start, self.lowest_work, self.lowest = True, energy, work, beyond
        self.lowest_work = min(self.lowest_work, work)
        self.lowest = min(self.lowest, beyond)
        self.rise = max(self.rise, work - self.lowest_work)
        before, self.gained = self.gained, beyond - self.lowest
        bound = SHARE * self.given + still
        if self.gained <= bound or energy <= self.given + still:
            self.late = 0
        elif self.gained >= before:
            self.late += LASTING // 2 if self.gained > AT_ONCE * bound else 1
        return self.late >= LASTING

    def numbers(self) -> dict[str, Any]:
        """Its state."""
        return dict(vars(self))

    def restore(self, numbers: Mapping[str, Any]) -> None:
        """Take over what ``numbers`` gave."""
        vars(self).update(numbers)
