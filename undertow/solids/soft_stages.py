"""Soft bodies in the scheme of all solids (``scheme``): implicit ones, and explicit ones with contact by impulses.

Contacts of explicit soft bodies are rows on the velocities of nodes and rigid bodies, on those of the positions (III)
so that gaps close and no more, and of what pressed there again on those of the end (V):

    u = sum of w_a v_a +- (v_b + omega_b x arm),        u.n >= wanted,        |friction| <= mu times the normal impulse

Impulses are found in rounds of all rows together. A node or body that several rows share has as many parts, and each
row sees one of them (mass splitting, Tonge, Benevolenski and Voroshilov 2012), so that rounds converge for any masses.
Both sides get the same impulse at the same place: linear and angular momentum are kept to round-off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from undertow.grid import Array
from undertow.rigid.bodies import DYNAMIC, RigidBodies, rotation_matrix_of
from undertow.solids.soft_contacts import FREE, SLIDES

if TYPE_CHECKING:
    from undertow.solids.soft_step import SoftSolids
    from undertow.solids.step import RigidStages

ROUNDS = 20
"""Most rounds of a solve for impulses."""


@dataclass(frozen=True)
class SoftStepReport:
    """What a step did: contacts (nodes that touch), iterations of Newton's method and of the linear solves, elastic
    energy [J], penetration: deepest node inside a body after the step [m],
    volume_error: largest of an incompressible body, relative; work [J]: of held nodes and of bodies that are moved, on
    the soft bodies; stuck: iterations that found no descent; energy_excess [J]: gained, and nothing to take it from."""

    contacts: int = 0
    newton: int = 0
    iterations: int = 0
    elastic: float = 0.0
    penetration: float = 0.0
    volume_error: float = 0.0
    work: float = 0.0
    stuck: int = 0
    energy_excess: float = 0.0


class ImplicitStages:
    """Backward Euler has one velocity for all: found with everything that touches in I, before the rigid bodies, which
    get what the solve gives them; nodes that bodies carry follow these at the end."""

    def __init__(
        self, solids: SoftSolids, external: Array, gravity: Array, expected: Array | None, rigid: RigidStages | None
    ) -> None:
        self.solids, self.rigid = solids, rigid
        self._given = external, gravity, expected
        self.report: SoftStepReport

    def evolve(self, time: float, dt: float) -> None:
        external, gravity, expected = self._given
        self.report = self.solids.solve(time, dt, external, gravity, expected)
        if self.rigid is not None:
            self.rigid.load(*self.solids.give_momentum(dt, gravity, *self.rigid.given))

    def collide(self, dt: float) -> None:
        """In the solve."""

    def hold(self, time: float, dt: float) -> None:
        """In the solve."""

    def move(self, time: float, dt: float) -> None:
        """In the solve."""

    def advance(self, time: float, dt: float) -> None:
        """In the solve."""

    def settle(self, time: float, dt: float) -> None:
        """In the solve."""

    def finish(self, time: float, dt: float) -> None:
        if self.rigid is not None:
            self.solids.follow()


@dataclass
class ImpulseRows:
    """Rows of nodes (m, 4) with weights (m, 4) against bodies (m,), which count with ``sign`` (m,), +1 or -1; normal
    (m, 3), wanted (m,) [m/s], friction mu (m,), contact (m,): which of the nodes that touch rigid bodies, -1: none."""

    nodes: Any
    weight: Array
    body: Any
    sign: Array
    normal: Array
    wanted: Array
    mu: Array
    contact: Any

    def take(self, chosen: Any) -> ImpulseRows:
        return ImpulseRows(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    def arm(self, x: Array, rigid: RigidBodies) -> Array:
        """Where impulses act (m, 3) from the centres of the bodies: where the nodes are, all of which are at x."""
        place = -self.sign[:, None] * np.einsum("ma,mai->mi", self.weight, x[self.nodes])
        return np.asarray(place - rigid.x_b[self.body])

    def exchange(self, inv_mass: Array, rigid: RigidBodies, arm: Array, v: Array, v_b: Array, omega_b: Array) -> Array:
        """Impulses (m, 3) [N s] so that the rows hold; v (n, 3) of nodes with inverse masses (n,), v_b, omega_b (b, 3)
        of the bodies are changed by them."""
        found = np.zeros_like(self.normal)
        b, n, nodes, sign = self.body, self.normal, self.nodes, self.sign[:, None]
        moves = np.where(rigid.kind_b == DYNAMIC, 1.0, 0.0)
        inverse = np.zeros((rigid.count, 3, 3))
        for body in np.unique(b[moves[b] > 0]):
            R = rotation_matrix_of(rigid.q_b[body])
            inverse[body] = R @ np.diag(rigid.inv_inertia_b[body]) @ R.T
        inv_b = (moves * rigid.inv_mass_b)[b]
        turn = np.cross(arm, n)
        along_b = inv_b + np.einsum("mi,mij,mj->m", turn, inverse[b], turn)
        most_b = inv_b + (arm**2).sum(axis=1) * (moves * rigid.inv_inertia_b.max(axis=1, initial=0.0))[b]
        used, square = self.weight != 0, self.weight**2 * inv_mass[nodes]
        for _ in range(ROUNDS):
            u = np.einsum("ma,mai->mi", self.weight, v[nodes]) + sign * (v_b[b] + np.cross(omega_b[b], arm))
            across, press = np.einsum("mi,mi->m", u, n), np.einsum("mi,mi->m", found, n)
            lack = self.wanted - across
            active = (lack > 0) | (press > 0)
            if not active.any():
                break
            shares = np.bincount(nodes[active][used[active]], minlength=len(v))
            parts = np.bincount(b[active], minlength=rigid.count)[b]
            of_nodes = (square * shares[nodes]).sum(axis=1)
            mass, slow = _invert(of_nodes + parts * along_b), _invert(of_nodes + parts * most_b)
            new = np.where(active, np.maximum(press + mass * lack, 0.0), 0.0)
            rub = found - press[:, None] * n - slow[:, None] * (u - across[:, None] * n)
            size = np.linalg.norm(rub, axis=1)
            rub *= np.minimum(1.0, self.mu * new / np.maximum(size, 1e-300))[:, None]
            change = np.where(active[:, None], new[:, None] * n + rub, 0.0) - found
            found += change
            given = self.weight[:, :, None] * change[:, None, :] * inv_mass[nodes][:, :, None]
            for axis in range(3):
                v[:, axis] += np.bincount(nodes.reshape(-1), given[:, :, axis].reshape(-1), len(v))
            p, L = self.on_bodies(change, arm, rigid.count)
            v_b += (moves * rigid.inv_mass_b)[:, None] * p
            omega_b += np.einsum("bij,bj->bi", inverse, L)
            if np.abs(change).max() <= 1e-12 * np.abs(found).max():
                break
        return found

    def on_nodes(self, impulse: Array) -> tuple[Any, Array, Any, Array]:
        """Nodes (m,), the impulses (m, 3) on them, the bodies (m,) that give these, and normals (m, 3) out of them."""
        sign = -self.sign[:, None]
        return self.nodes[:, 0], sign * impulse, self.body, sign * self.normal

    def on_bodies(self, impulse: Array, arm: Array, count: int) -> tuple[Array, Array]:
        """Impulses and angular impulses (count, 3) on the bodies."""
        p, L = np.zeros((count, 3)), np.zeros((count, 3))
        np.add.at(p, self.body, self.sign[:, None] * impulse)
        np.add.at(L, self.body, np.cross(arm, self.sign[:, None] * impulse))
        return p, L


def _invert(inverse: Array) -> Array:
    """Masses of inverse masses, 0 where nothing moves."""
    return np.asarray(np.where(inverse > 0, 1.0 / np.where(inverse > 0, inverse, 1.0), 0.0))


class ExplicitStages:
    """Newmark's or Verlet's scheme; volume, contact with rigid bodies and with soft surfaces on both velocities."""

    def __init__(self, solids: SoftSolids, external: Array, rigid: RigidStages | None) -> None:
        self.solids, self.rigid, self.external = solids, rigid, external
        assert solids.explicit is not None
        self.stepper = solids.explicit
        self._rows: ImpulseRows
        self.report: SoftStepReport

    def evolve(self, time: float, dt: float) -> None:
        self.solids.begin(time, dt, self.external)
        self.stepper.evolve(dt, self.external)

    def collide(self, dt: float) -> None:
        """With what is held in III."""

    def hold(self, time: float, dt: float) -> None:
        """III: volume, rigid bodies, then soft surfaces, on the velocity of the positions."""
        solids, soft, way = self.solids, self.solids.soft, self.stepper.way
        if solids.rings is not None:
            self._damp()
            before = soft.v.copy()
            solids.rings.correct(way, dt)
            solids.led_by_rings = self._work_of_led_rings(before)
        bodies = solids.contacts.rigid
        v_b, omega_b = (bodies.v_b.copy(), bodies.omega_b.copy()) if self.rigid is None else self.rigid.way
        rows = self._find(dt, way, np.concatenate([v_b, omega_b], axis=1))
        arm = rows.arm(soft.x, bodies)
        impulse = rows.exchange(solids.loose, bodies, arm, way, v_b, omega_b)
        solids.forget_contacts()
        self._rows = rows.take((impulse != 0).any(axis=1))
        solids.force_b, solids.torque_b = np.zeros((bodies.count, 3)), np.zeros((bodies.count, 3))
        # Verlet's scheme has one velocity for both: its impulses are those of the step
        other = soft.v
        if way is soft.v:
            other = np.zeros_like(way)
            self._give(*rows.on_bodies(impulse, arm, bodies.count), dt)
            solids.add_contact(*rows.on_nodes(impulse))
        if solids.surfaces is not None:
            solids.surfaces.repel(soft.x, way, other, dt, solids.loose)
        solids.keep_apart(way, other, dt)

    def _give(self, p: Array, L: Array, dt: float) -> None:
        """Momenta (b, 3) of the rigid bodies, and the forces of the step."""
        bodies = self.solids.contacts.rigid
        if self.rigid is not None:
            dynamic = bodies.kind_b == DYNAMIC
            bodies.p_b[dynamic] += p[dynamic]
            bodies.L_b[dynamic] += L[dynamic]
        self.solids.force_b += p / dt
        self.solids.torque_b += L / dt

    def _damp(self) -> None:
        """Damping in the volume solve that follows, where it is solved there."""
        rings, stepper = self.solids.rings, self.stepper
        assert rings is not None
        rings.damp(stepper.middle, 0.0, stepper.part, stepper.rate)

    def _work_of_led_rings(self, before: Array) -> float:
        """Work [J] that nodes which are led do on free ones through rings that are kept, these having had the
        velocities ``before`` (n, 3): all impulses of rings together do none at velocities that keep them."""
        soft = self.solids.soft
        free = soft.moves
        if not soft.v[~free].any():
            return 0.0
        return float((soft.mass[:, None] * (soft.v - before) * soft.v)[free].sum())

    def _find(self, dt: float, way: Array, twist: Array) -> ImpulseRows:
        """Rows of the nodes near rigid bodies, and of points of these that meet soft faces when nodes move with ``way``
        (n, 3) and bodies with twist (b, 6)."""
        contacts, points = self.solids.contacts, self.solids.touches.points
        near = np.flatnonzero(contacts.body >= 0)
        m = len(near)
        nodes = np.repeat(contacts.nodes[near, None], 4, axis=1)
        weight = np.tile([1.0, 0.0, 0.0, 0.0], (m, 1))
        rows = ImpulseRows(
            nodes, weight, contacts.body[near], np.full(m, -1.0), contacts.normal[near], -contacts.gap[near] / dt,
            contacts.mu()[near], near,
        )  # fmt: skip
        if points is None or not points.near:
            return rows
        part, body, arm = points.meeting(dt, way, twist)
        wanted = (part.thickness - points.release(part, body, arm)) / dt
        none = np.full(len(body), -1)
        more = (part.nodes, part.weight, body, np.ones(len(body)), part.normal, wanted, part.friction, none)
        names = rows.__dataclass_fields__
        return ImpulseRows(*(np.concatenate([getattr(rows, a), b]) for a, b in zip(names, more, strict=True)))

    def move(self, time: float, dt: float) -> None:
        self.stepper.move(dt)

    def advance(self, time: float, dt: float) -> None:
        self.stepper.advance(dt, self.external)

    def settle(self, time: float, dt: float) -> None:
        """V: volume, then what pressed in III."""
        solids, soft, bodies = self.solids, self.solids.soft, self.solids.contacts.rigid
        if solids.rings is not None:
            self._damp()
            before = soft.v.copy()
            solids.rings.project(soft.v, soft.x, dt)
            solids.led_by_rings += self._work_of_led_rings(before)
        v_b, omega_b = (bodies.v_b.copy(), bodies.omega_b.copy()) if self.rigid is None else self.rigid.way
        rows, arm = self._rows, self._rows.arm(soft.x, bodies)
        rows.wanted[...] = 0.0
        impulse = rows.exchange(solids.loose, bodies, arm, soft.v, v_b, omega_b)
        self._give(*rows.on_bodies(impulse, arm, bodies.count), dt)
        solids.add_contact(*rows.on_nodes(impulse))
        own = rows.contact >= 0
        solids.press[...], solids.state[...] = 0.0, FREE
        solids.state[rows.contact[own]] = SLIDES
        solids.press[rows.contact[own]] = np.einsum("mi,mi->m", impulse, rows.normal)[own]
        touching = len(rows.nodes)
        stepper = self.stepper
        self.report = SoftStepReport(touching, 0, stepper.iterations, stepper.energy, 0.0, solids.volume_error())

    def finish(self, time: float, dt: float) -> None:
        """Nothing is carried by rigid bodies."""
