"""Which soft surfaces touch each other, or points of rigid bodies, in a step, as rows of its implicit solve."""

from __future__ import annotations

from typing import Any

import numpy as np

from undertow.grid import Array
from undertow.soft import SoftBodies
from undertow.soft.collision import Stencils, SurfaceCollisions
from undertow.soft.implicit import Joined
from undertow.soft.touching import STIFF, Touching, effective_mass
from undertow.solids.points import RigidPoints
from undertow.solids.soft_contacts import SoftContacts

LOOKS = 10
"""Most times in a step that surfaces are looked at for new contacts; what is found later is left to the sweeps."""

STIFF_RIGID = 300.0
"""Stiffness of the row of a node at a rigid body, in parts of the mass and dt^2 K of the node: the blocks on the
diagonal, which precondition the solve, hold all of such a row."""


class Touches:
    """The contacts among soft surfaces, and of points of rigid bodies with them, in the step of now.

    Those that are near, or meet on the way that the first guess leads, are rows from the start; those that meet on the
    way an iteration has found are added to them, none is taken away: a row that does not press does nothing.
    """

    def __init__(self, soft: SoftBodies, surfaces: SurfaceCollisions | None, points: RigidPoints | None) -> None:
        self.soft, self.surfaces, self.points = soft, surfaces, points
        self.rows = Touching()
        self._keys = np.zeros((0, 5), dtype=np.int64)
        self._looked, self._dt = 0, 1.0
        self._mass = soft.mass
        blocks = soft.forces.make_matrix()
        soft.forces.assemble(soft.rest, 1.0, 0.0, blocks)
        self._stiffness = np.asarray(blocks[soft.forces.pattern.diagonal][:, ::4].mean(axis=1))
        """Stiffness of every node alone at rest (n,) [N/m]."""

    def begin(self, dt: float, creep: float) -> Touching:
        """No rows yet, for a step of dt [s]."""
        self.rows = Touching(creep=creep)
        self._keys, self._looked, self._dt = self._keys[:0], 0, dt
        self._mass = np.where(self.soft.inv_mass > 0, self.soft.mass + dt * dt * self._stiffness, np.inf)
        return self.rows

    def look(self, v: Array, w: Array, carrier: Any) -> int:
        """Rows for what would meet on the way with v (n, 3), carriers moving with w (b, 6); how many are new.

        carrier (bodies,): which of the carriers a rigid body is, -1: none.
        """
        if self._looked >= LOOKS:
            return 0
        self._looked += 1
        count = self.rows.count
        if self.surfaces is not None:
            found = self.surfaces.meeting(self.soft.x, self._dt * v)
            new = self._new(np.concatenate([found.edges[:, None], found.nodes], axis=1))
            part = found.take(new)
            apart = np.einsum("ma,mai,mi->m", part.weight, self.soft.x[part.nodes], part.normal)
            self._add(part, apart)
        if self.points is not None and self.points.near:
            self._look_at_points(v, w, carrier)
        return self.rows.count - count

    def _look_at_points(self, v: Array, w: Array, carrier: Any) -> None:
        assert self.points is not None
        rigid = self.points.rigid
        twist = np.concatenate([rigid.v_b, rigid.omega_b], axis=1)
        led = carrier >= 0
        twist[led] = w[carrier[led]]
        found, body, arm = self.points.meeting(self._dt, v, twist)
        new = self._new(np.concatenate([np.full((len(body), 1), 2), found.nodes], axis=1))
        part, body, arm = found.take(new), body[new], arm[new]
        apart = self.points.release(part, body, arm)
        moved = twist[body, :3] + np.cross(twist[body, 3:], arm)
        base = np.where((carrier[body] < 0)[:, None], moved, 0.0)
        self._add(part, apart, carrier[body], arm, base)

    def touch_nodes(self, contacts: SoftContacts, near: Any, closing: Array, press: Array) -> None:
        """The first rows of a step: nodes near rigid bodies, those of numbers ``near`` (m,) among the contacts (k,),
        part from them with at least closing (k,) [m/s]; press (k,) [N s]: normal impulses of the step before."""
        nodes, m = contacts.nodes[near], len(near)
        body = contacts.body[near]
        keys = np.zeros((m, 5), dtype=np.int64)
        keys[:, 0], keys[:, 1], keys[:, 2] = 3, nodes, body
        self._keys = np.concatenate([self._keys, keys])
        weight = np.zeros((m, 4))
        weight[:, 0] = -1.0
        stiff = np.where(self.soft.inv_mass[nodes] > 0, STIFF_RIGID * self._mass[nodes], 0.0)
        mu, carrier = contacts.mu()[near], contacts.carrier[near]
        arm = self.soft.x[nodes] - contacts.rigid.x_b[np.maximum(body, 0)] if m else np.zeros((0, 3))
        base = np.where((carrier < 0)[:, None], contacts.velocity[near], 0.0)
        self.rows.add(
            np.repeat(nodes[:, None], 4, axis=1), weight, -contacts.normal[near], closing[near], stiff, mu,
            carrier, arm, base,
        )  # fmt: skip
        self.rows.rub = mu * press[near]

    def on_nodes(self, v: Array, w: Array, count: int) -> tuple[Array, Array]:
        """Impulses (m, 3) [N s] on nodes at v (n, 3) by rigid bodies, carriers moving with w (b, 6), and the normal
        ones (m,): of the first ``count`` rows."""
        return np.asarray(-self.rows.impulse(v, w)[:count]), self.rows.press(v, w)[:count]

    def _new(self, keys: Any) -> Any:
        """Which of the keys (m, 5) have no row yet; they are remembered."""
        both = np.concatenate([self._keys, keys])
        _, first = np.unique(both, axis=0, return_index=True)
        new = np.sort(first[first >= len(self._keys)])
        self._keys, before = np.concatenate([self._keys, both[new]]), len(self._keys)
        return new - before

    def _add(self, part: Stencils, apart: Array, body: Any = None, arm: Any = None, base: Any = None) -> None:
        """Rows that part what is ``apart`` (m,) [m] to its thickness."""
        stiff = STIFF * effective_mass(part.weight, self._mass[part.nodes])
        free = (self.soft.inv_mass[part.nodes] * (part.weight != 0) > 0).any(axis=1)
        wanted = (part.thickness - apart) / self._dt
        stiff = np.where(free, np.minimum(stiff, 1e300), 0.0)
        self.rows.add(part.nodes, part.weight, part.normal, wanted, stiff, part.friction, body, arm, base)

    def balanced_press(self, v: Array, w: Array, gradient: Array) -> Array:
        """Normal impulses (m,) [N s] of the rows at v (n, 3) and w (b, 6), no more than what they have to balance.

        An iterate leaves ``gradient`` (n, 3) [N s] out of balance. With the normal impulse l of a row changed alone by
        d, nodes of masses m get w_a d n / m_a, and what is out of balance along the row vanishes with

            d = sum of (w_a / m_a) gradient_a . n  /  sum of w_a^2 / m_a

        A row that a pass led a node into, as it was not active in it, has a spring of hundreds of masses pressed that
        nothing presses back: l is huge, l + d what really presses. Friction of the first would hold anything.
        """
        rows = self.rows
        press = rows.press(v, w)
        if not rows.count:
            return press
        mass = self._mass[rows.nodes]
        along = np.einsum("mai,mi->ma", gradient[rows.nodes], rows.normal)
        lack = (rows.weight * along / mass).sum(axis=1) * effective_mass(rows.weight, mass)
        return np.asarray(np.clip(press + lack, 0.0, press))

    def rub(self, v: Array, w: Array, scale: float, gradient: Array | None = None) -> tuple[Array, bool, bool]:
        """Friction (m,) [N s] of the normal impulses at v (n, 3) and w (b, 6); whether it differs from that of the rows
        by more than a hundredth and scale [N s], and whether that of points of rigid bodies is too much by a fifth.

        gradient (n, 3): of the balanced impulses; it rises only in rows that pressed in the pass before, since what one
        leads anew into bodies presses with what nothing balances yet.
        """
        rows = self.rows
        press = rows.press(v, w) if gradient is None else self.balanced_press(v, w, gradient)
        rub = np.asarray(rows.mu * press)
        if gradient is not None:
            rub = np.where(rows.pressed, rub, np.minimum(rub, rows.rub))
        differs = np.abs(rub - rows.rub) > 1e-2 * rub + scale
        too_much = (rows.rub > 1.2 * rub + 10.0 * scale) & (self._keys[:, 0] == 2)
        return rub, bool(differs.any()), bool(too_much.any())

    def joined(self, v: Array, w: Array) -> Joined:
        """Soft surfaces that press on each other at v (n, 3) and w (b, 6)."""
        rows = self.rows
        press = rows.press(v, w)
        chosen = (press > 0) & (self._keys[:, 0] < 2)
        return Joined(rows.nodes[chosen], rows.weight[chosen], rows.normal[chosen], press[chosen])

    def join_met(self, joined: Joined, way: Array) -> Joined | None:
        """``joined`` and what else would meet on the way of positions with velocities ``way`` (n, 3); None if nothing
        new does."""
        if self.surfaces is None:
            return None
        found = self.surfaces.meeting(self.soft.x, self._dt * way)
        found = found.take(found.time <= 1.0)
        nodes = np.concatenate([joined.nodes, found.nodes])
        _, first = np.unique(nodes, axis=0, return_index=True)
        kept = np.sort(first)
        if len(kept) <= len(joined.nodes):
            return None
        weight, normal = np.concatenate([joined.weight, found.weight]), np.concatenate([joined.normal, found.normal])
        return Joined(nodes[kept], weight[kept], normal[kept])

    def on_faces(self, v: Array, w: Array) -> tuple[Any, Array, Any, Array]:
        """A node (m,) of the soft faces at v (n, 3) and w (b, 6) that rigid points touch, the impulses (m, 3) [N s]
        on them, the bodies (m,) of the points and the normals (m, 3) out of these."""
        chosen = self._keys[:, 0] == 2
        body = np.zeros(0, dtype=np.int64)
        if chosen.any():
            assert self.points is not None
            body = self.points.body[self._keys[chosen, 1] - self.soft.count]
        return self.rows.nodes[chosen, 0], -self.rows.impulse(v, w)[chosen], body, -self.rows.normal[chosen]

    def give(self, v: Array, w: Array, out_force: Array, out_torque: Array) -> tuple[int, float]:
        """Impulses [N s] and angular impulses [N m s] (bodies, 3) of soft faces on rigid points, at v (n, 3) and w (b,
        6), are added; how many points press, and the work [J] on the faces of those that no carrier moves."""
        chosen = self._keys[:, 0] == 2
        if not chosen.any():
            return 0, 0.0
        assert self.points is not None
        impulse = self.rows.impulse(v, w)[chosen]
        body = self.points.body[self._keys[chosen, 1] - self.soft.count]
        np.add.at(out_force, body, impulse)
        np.add.at(out_torque, body, np.cross(self.rows.arm[chosen], impulse))
        work = -float((impulse * self.rows.base[chosen]).sum())
        return int((self.rows.press(v, w)[chosen] > 0).sum()), work
