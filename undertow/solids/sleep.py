"""Groups of rigid bodies at rest that are left alone until something reaches them.

A body is slow in a step dt in which no point of it, of its size s about its centre, moves faster than a small part of
what gravity makes it in the step,

    max(|v|, |dx| / dt) + s max(|omega|, |turn| / dt)  <=  SLOW |g| dt.

What has been slow for a time T has been in balance to the part SLOW dt / T of its weight. A group is a set of dynamic
bodies that contacts connect. Where all of a group have been slow for T it falls asleep: its momenta are set to 0, which
takes its kinetic energy and no more, and until it wakes its bodies are in the step what static ones are: they have no
contacts with each other or with what is static, and do not move. What they leave out of the step, the contacts that
carried them, is kept as it was: reported forces and contacts go on, and solves start from them again.

A group wakes, as a whole, and before anything is solved, when

- the finder has a contact of it with a body that is awake, or a body that moves as prescribed may reach it,
- a body that it touches has vanished, or one that forces do not move has appeared,
- a force or torque acts on one of its bodies, a joint holds it, or somebody has changed its momentum,
- gravity has changed.

So no impulse is ever exchanged with a body that sleeps, and momentum is kept as it is without sleep.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from undertow.grid import Array
from undertow.rigid.bodies import DYNAMIC, KINEMATIC, STATIC, RigidBodies
from undertow.rigid.joints import Joints
from undertow.rigid.narrow import ContactSpec
from undertow.rigid.table import carry_rows
from undertow.solids.contact_record import ContactRecord, Solved
from undertow.solids.energy import turns
from undertow.solids.rows import Memory

SLOW = 0.1
"""Part of the speed that gravity gives in a step."""


class Kept(NamedTuple):
    """Contacts (m,) of bodies that sleep: identities of both (m, 2), point, normal, force on the first (m, 3) [N], gap
    (m,), as they were when they fell asleep."""

    pair: Any
    point: Array
    normal: Array
    force: Array
    gap: Array

    def take(self, chosen: Any) -> Kept:
        """Some of them."""
        return Kept(*(array[chosen] for array in self))


def _none() -> Kept:
    nothing = np.zeros((0, 3))
    return Kept(np.zeros((0, 2), dtype=np.int64), nothing, nothing, nothing, np.zeros(0))


class Sleepers:
    """Which of ``bodies`` sleep. after [s]: time of rest before that, infinite for never.

    rest_b (n,) [s]: how long bodies have been slow. group_b (n,): 0 awake, else the number of the group. lost [J; 2D
    J/m]: kinetic energy of all that have fallen asleep so far.
    """

    def __init__(self, bodies: RigidBodies, after: float) -> None:
        self.bodies, self.after = bodies, after
        self.lost = 0.0
        self._identity = bodies.identity_b.copy()
        self.rest_b, self.group_b = np.zeros(bodies.count), np.zeros(bodies.count, dtype=np.int64)
        self._kept, self._gravity = _none(), np.zeros(3)
        self._own: tuple[Any, Array, Array] | None = None
        self._poses: tuple[Array, Array] = np.zeros((0, 3)), np.zeros((0, 4))
        self._busy: Any = np.zeros(bodies.count, dtype=bool)
        self._memories: tuple[Memory, ...] = ()

    @property
    def count(self) -> int:
        """Bodies that sleep."""
        return int(np.count_nonzero(self.group_b))

    # a step -------------------------------------------------------------------------------------------------------

    def begin(
        self, gravity: Array, loads: Array, moving: Any, joints: Joints | None, memories: tuple[Memory, ...],
    ) -> None:  # fmt: skip
        """Before a step: wake what has a reason for it. loads (n, 6): forces and torques on the bodies; moving (n,):
        bodies that one that moves as prescribed may reach in it; memories: where the solves of contacts start."""
        if not math.isfinite(self.after):
            return
        self._memories = memories
        self._follow_bodies()
        self._poses = self.bodies.x_b.copy(), self.bodies.q_b.copy()
        # what may not sleep
        self._busy = loads.any(axis=1) | moving
        if joints is not None:
            self._busy |= np.isin(self._identity, joints.held())
        changed = self.bodies.p_b.any(axis=1) | self.bodies.L_b.any(axis=1)
        if not np.array_equal(gravity, self._gravity):
            self._gravity = gravity.copy()
            self.rest_b[...] = 0.0
            changed[...] = True
        self._wake(self.group_b[(self._busy | changed) & (self.group_b > 0)])

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within it, bodies that sleep are what static ones are."""
        spec, asleep = self.bodies.spec, self.group_b > 0
        if not asleep.any():
            yield
            return
        self._own = spec.kind.copy(), spec.inv_mass.copy(), spec.inv_inertia.copy()
        spec.kind[asleep], spec.inv_mass[asleep], spec.inv_inertia[asleep] = STATIC, 0.0, 0.0
        try:
            yield
        finally:
            spec.kind[...], spec.inv_mass[...], spec.inv_inertia[...] = self._own
            self._own = None

    def wake_touched(self, contacts: ContactSpec, count: int) -> bool:
        """Wake the groups that have a contact, of the first ``count``, with a body that is awake; whether any did: then
        contacts have to be found again."""
        if self._own is None:
            return False
        a, b = self.group_b[contacts.a[:count]], self.group_b[contacts.b[:count]]
        kind = self.bodies.kind_b
        one = (kind[contacts.a[:count]] == DYNAMIC) | (kind[contacts.b[:count]] == DYNAMIC)
        touched = np.maximum(a, b)[one & ((a > 0) | (b > 0))]
        self._wake(touched)
        return len(touched) > 0

    def end(
        self, contacts: ContactSpec, count: int, record: ContactRecord, gravity: Array, size: Array, dt: float
    ) -> None:
        """After a step dt [s] with ``contacts`` at its end: let groups fall asleep. record: what its solves found; size
        (n,) [m]."""
        if not math.isfinite(self.after):
            return
        bodies = self.bodies
        fast = self._speeds(size, dt) > SLOW * dt * float(np.linalg.norm(gravity))
        awake = (bodies.kind_b == DYNAMIC) & (self.group_b == 0)
        self.rest_b[...] = np.where(awake & ~fast, self.rest_b + dt, 0.0)
        ready = awake & (self.rest_b >= self.after) & ~self._busy
        if not ready.any():
            return
        group = _groups(contacts.a[:count], contacts.b[:count], bodies.kind_b == DYNAMIC)
        stirred = np.zeros(bodies.count + 1, dtype=bool)
        stirred[group[~ready & awake]] = True
        asleep = ready & ~stirred[group]
        if not asleep.any():
            return
        self.lost += self._kinetic(asleep)
        first = np.full(bodies.count, np.iinfo(np.int64).max)
        np.minimum.at(first, group[asleep], self._identity[asleep])
        self.group_b[asleep] = 1 + first[group[asleep]]
        for array in (bodies.p_b, bodies.L_b, bodies.v_b, bodies.omega_b):
            array[asleep] = 0.0
        self._keep(record.solved(), asleep, dt)

    def forces(self) -> tuple[Array, Array]:
        """Forces and torques (n, 3) [N, N m] of the contacts of bodies that sleep, on these and on what they touch."""
        bodies, kept = self.bodies, self._kept
        force, torque = np.zeros((bodies.count, 3)), np.zeros((bodies.count, 3))
        rows = self._rows_of(kept.pair)
        for side, sign in ((0, 1.0), (1, -1.0)):
            b = rows[:, side]
            np.add.at(force, b, sign * kept.force)
            np.add.at(torque, b, sign * np.cross(kept.point - bodies.x_b[b], kept.force))
        return force, torque

    def solved(self, dt: float) -> Solved:
        """The contacts of bodies that sleep, as what solves find in a step dt [s]."""
        kept = self._kept
        return Solved(self._rows_of(kept.pair), kept.point, kept.normal, dt * kept.force, kept.gap)

    # what evolves -------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        """What evolves, by name; nothing where nothing ever sleeps."""
        if not math.isfinite(self.after):
            return {}
        kept = {f"sleep_{name}": array for name, array in self._kept._asdict().items()}
        state = np.array([self.lost, *self._gravity])
        own = {"sleep_rest": self.rest_b, "sleep_group": self.group_b, "sleep_identity": self._identity}
        return {**own, "sleep_state": state, **kept}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over what ``arrays`` gave."""
        if not math.isfinite(self.after):
            return
        self.rest_b, self.group_b = np.array(arrays["sleep_rest"]), np.array(arrays["sleep_group"])
        self._identity = np.array(arrays["sleep_identity"])
        state = np.array(arrays["sleep_state"])
        self.lost, self._gravity = float(state[0]), state[1:]
        self._kept = Kept(*(np.array(arrays[f"sleep_{name}"]) for name in Kept._fields))

    # the pieces ---------------------------------------------------------------------------------------------------

    def _follow_bodies(self) -> None:
        """To the bodies of now."""
        old, new = self._identity, self.bodies.identity_b
        if np.array_equal(old, new):
            return
        self.rest_b = carry_rows(self.rest_b, old, new)
        self.group_b = carry_rows(self.group_b.astype(float), old, new).astype(np.int64)
        self._identity = new.copy()
        left = ~np.isin(self._kept.pair, new).all(axis=1)
        alone = np.isin(new, self._kept.pair[left])
        appeared = ~np.isin(new, old) & (self.bodies.kind_b != DYNAMIC)
        self._wake(self.group_b[self.group_b > 0] if appeared.any() else self.group_b[alone])

    def _wake(self, groups: Any) -> None:
        """The bodies of groups, and the contacts that carry them."""
        woken = (self.group_b > 0) & np.isin(self.group_b, groups)
        if not woken.any():
            return
        self.group_b[woken], self.rest_b[woken] = 0, 0.0
        if self._own is not None:
            spec = self.bodies.spec
            for now, own in zip((spec.kind, spec.inv_mass, spec.inv_inertia), self._own, strict=True):
                now[woken] = own[woken]
        own = np.isin(self._kept.pair, self._identity[woken]).any(axis=1)
        carried, self._kept = self._kept.take(own), self._kept.take(~own)
        known = np.isin(carried.pair, self._identity).all(axis=1)
        self._start_from(carried.take(known))

    def _start_from(self, kept: Kept) -> None:
        """The next solves start from these contacts: of a force at rest each of them has half."""
        if not len(kept.gap):
            return
        bodies, rows = self.bodies, self._rows_of(kept.pair)
        kind = bodies.kind_b if self._own is None else self._own[0]
        anchor = np.where(kind[rows[:, 0]] == DYNAMIC, rows[:, 0], rows[:, 1])
        point = kept.point - bodies.x_b[anchor]
        for memory in self._memories:
            memory.put_in(kept.pair, point, 0.5 * kept.force)

    def _keep(self, solved: Solved | None, asleep: Any, dt: float) -> None:
        """Of the contacts of the step those of bodies that have fallen asleep."""
        if solved is None:
            return
        own = asleep[solved.pair].any(axis=1)
        new = Kept(
            self._identity[solved.pair[own]], solved.point[own], solved.normal[own], solved.impulse[own] / dt,
            solved.gap[own],
        )  # fmt: skip
        self._kept = Kept(*(np.concatenate(both) for both in zip(self._kept, new, strict=True)))

    def _rows_of(self, pair: Any) -> Any:
        """Bodies (m, 2) by their identities."""
        order = np.argsort(self._identity, kind="stable")
        return order[np.searchsorted(self._identity[order], pair)] if len(pair) else np.zeros((0, 2), dtype=np.int64)

    def _speeds(self, size: Array, dt: float) -> Array:
        """Of the fastest point of bodies of a size (n,) [m], by their momenta and by their way in the step (n,)
        [m/s]."""
        bodies, (x, q) = self.bodies, self._poses
        v = np.maximum(_length(bodies.v_b), _length(bodies.x_b - x) / dt)
        omega = np.maximum(_length(bodies.omega_b), _length(turns(q, bodies.q_b)) / dt)
        return np.asarray(v + np.where(np.isfinite(size), size, 0.0) * omega)

    def _kinetic(self, chosen: Any) -> float:
        """Kinetic energy of bodies [J]."""
        bodies = self.bodies
        twice = (bodies.p_b * bodies.v_b).sum(axis=1) + (bodies.L_b * bodies.omega_b).sum(axis=1)
        return 0.5 * float(twice[chosen].sum())


def reached(bodies: RigidBodies, radius: Array, dt: float) -> Any:
    """Which bodies (n,), of a radius (n,) [m] about their centres of mass, one that moves as prescribed may reach in a
    step dt [s]."""
    speed = _length(bodies.v_b) + _length(bodies.omega_b)
    found = np.zeros(bodies.count, dtype=bool)
    for b in np.flatnonzero((bodies.kind_b == KINEMATIC) & (speed > 0.0)):
        away = _length(bodies.x_b - bodies.x_b[b]) - radius - radius[b]
        found |= ~(away > dt * _length(bodies.v_b[b : b + 1])[0])
    return found


def _length(rows: Array) -> Array:
    return np.asarray(np.sqrt((rows * rows).sum(axis=1)))


def _groups(a: Any, b: Any, dynamic: Any) -> Any:
    """Number (n,) of the group of each body: those that pairs (m,) of dynamic bodies connect."""
    both = dynamic[a] & dynamic[b]
    a, b, n = a[both], b[both], len(dynamic)
    graph = csr_array((np.ones(len(a)), (a, b)), shape=(n, n))
    return connected_components(graph, directed=False)[1]
