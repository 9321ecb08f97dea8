"""The step of soft bodies among rigid ones: nodes against signed distances, with friction, in both directions.

Contact is part of the implicit solve. Nodes that touch are held along the normal (they slide) or altogether (they
stick), at the velocity that closes their gap; who touches, slides and sticks is found by a few passes over the step
(thesis 4.7.3 [@schroeder2011] holds contacts in the solve and applies friction after it), see ``node_states``.

Dynamic rigid bodies are part of the solve: nodes that touch them move with them and weigh on them. They carry the
velocity that the solve found for them into their own step, which moves them with it and adds their contacts with
other rigid bodies and their joints; what these will do is taken from the last two steps.
Soft surfaces are kept from each other after that, by impulses on the velocity of the positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from undertow.errors import UserError
from undertow.grid import Array
from undertow.rigid.bodies import DYNAMIC, rotation_matrix_of
from undertow.soft import BackwardEuler, Carriers, Held, Leapfrog, LinearisedEuler, Newmark, SoftBodies
from undertow.soft.collision import CollisionReport, SurfaceCollisions, rigid_motion
from undertow.soft.implicit import Joined
from undertow.soft.rings import RingConstraint, RingProjection
from undertow.soft.steppers import SoftReport
from undertow.solids.contact_record import ContactSet, join_contacts, name_array
from undertow.solids.node_states import SETTLE, NodeStates
from undertow.solids.points import RigidPoints
from undertow.solids.scheme import advance
from undertow.solids.soft_contacts import FREE, SLIDES, SoftContacts
from undertow.solids.soft_stages import ExplicitStages, ImplicitStages, SoftStepReport
from undertow.solids.touches import Touches

if TYPE_CHECKING:
    from undertow.solids.step import RigidStages


class Touched(NamedTuple):
    """Nodes (m,) that rigid bodies (m,) touch at points (m, 3) [m], with normals (m, 3) out of the bodies and impulses
    (m, 3) [N s] on the nodes."""

    nodes: Any
    body: Any
    point: Array
    normal: Array
    impulse: Array


PASSES = 100
"""Most iterations of Newton's method in a step; between two of them contacts change."""

RUBBED = 5
"""From this iteration on a step ends when nodes have settled and nothing enters or pulls: changes of friction alone are
left to the next step."""

HURRY = 40
"""Up to this iteration a step goes on while points of rigid bodies on soft faces are out of balance."""

PASSES_LINEARISED = 12
"""Most passes over the contacts of a linearised step; where they have not ended the next step goes on."""

LOOKS_LINEARISED = (1, 3)
"""Passes of a linearised step after which soft surfaces are looked at for new contacts; what is found later is left to
the sweeps."""

LINEARISATIONS = 3
"""Most times that a linearised step is made, each about where the one before led."""

CREEP = 0.01
"""Speed below which friction of a linearised step is rounded, in tolerances of an element per step."""

LOOSE = 0.01
"""Nodes that touched are taken to touch still up to this gap, as a part of an element, until they are pulled."""

CORRECTIONS = 4
"""Most corrections of volume in a step, each with what would have met after the one before."""

ENTERED = 1e-3
"""Free nodes of a scene with incompressible bodies that a solve or a correction of volume leads deeper into a rigid
body than this part of an element are stopped."""


class SoftSolids:
    """All soft bodies of a simulation, the rigid ones they touch, and their step.

    stepper: implicit, linearised, newmark or leapfrog; length [m]: size of the elements; force_b, torque_b (n, 3): mean
    force [N] and torque about the centre of mass [N m] on the rigid bodies over the last step.
    """

    def __init__(
        self,
        soft: SoftBodies,
        contacts: SoftContacts,
        stepper: str,
        length: float,
        tolerance: float = 1e-3,
        rings: RingProjection | None = None,
        surfaces: SurfaceCollisions | None = None,
        points: RigidPoints | None = None,
    ) -> None:
        self.soft, self.contacts, self.rings, self.surfaces = soft, contacts, rings, surfaces
        self.met = CollisionReport()
        """What sweeps of soft surfaces did after the solve of the last step."""
        self.pressing = 0
        """Contacts of soft surfaces that pressed in the last step."""
        self.implicit: BackwardEuler | None = None
        self.explicit: Newmark | Leapfrog | None = None
        if stepper in ("implicit", "linearised"):
            if stepper == "implicit":
                constraint = None if rings is None else RingConstraint(rings)
                self.implicit = BackwardEuler(soft, length, tolerance, rings=constraint)
            else:
                self.implicit = LinearisedEuler(soft, length, tolerance)
        else:
            damps = rings is None or not rings.damps
            self.explicit = Newmark(soft, damps) if stepper == "newmark" else Leapfrog(soft, damps)
        self.touches = Touches(soft, surfaces, points)
        k = len(contacts.nodes)
        self.bound, self.bone = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        """Nodes that rigid bodies carry, and the bodies."""
        self._place, self._bound_impulse = np.zeros((0, 3)), np.zeros((0, 3))
        self.state = np.zeros(k, dtype=np.int64)
        self.press = np.zeros(k)
        """Normal impulse on the nodes over the last step (k,) [N s]."""
        self.impulse = np.zeros((k, 3))
        self._normal_impulse = np.zeros((k, 3))
        """Of contacts that slide (k, 3) [N s], in the last implicit step."""
        self._arm, self._lever = np.zeros((k, 3)), np.zeros((0, 3))
        self._chosen, self._expected = np.zeros(0, dtype=np.int64), np.zeros((0, 6))
        self._pointed, self._carrier_of = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        """Bodies with points near soft faces; which carrier every body is."""
        self._point_push = np.zeros((0, 3)), np.zeros((0, 3))
        self.force_b, self.torque_b = np.zeros((0, 3)), np.zeros((0, 3))
        self._first = np.array([part.first for part in soft.parts])
        self.contact_p: Array = np.zeros((len(soft.parts), 3))
        """Impulses of rigid bodies on the soft ones over the last step [N s]."""
        self._touched: list[Touched] = []
        self._joined: tuple[Joined, Array] | None = None
        self.led_by_rings = 0.0
        """Work [J] of nodes that are led on free ones through the rings of an explicit step."""

    def add_contact(self, nodes: Any, impulse: Array, body: Any, normal: Array) -> None:
        """Impulses (m, 3) [N s] of rigid bodies (m,) on nodes (m,) belong to this step; normal (m, 3): out of them."""
        np.add.at(self.contact_p, self._part_of(nodes), impulse)
        self._touched.append(Touched(nodes, body, self.soft.x[nodes], normal, impulse))

    def forget_contacts(self) -> None:
        """A step without contact so far."""
        self.contact_p[...] = 0.0
        self._touched.clear()
        self._joined = None

    def _part_of(self, nodes: Any) -> Any:
        return np.searchsorted(self._first, nodes, side="right") - 1

    def contact_set(self) -> ContactSet:
        """Contacts of the last step without fluid; of soft surfaces on each other what pressed in the implicit solve,
        along the normal."""
        parts, names, near = [], [part.name for part in self.soft.parts], self.contacts
        bodies = near.rigid.names
        gap_of = np.full(self.soft.count, np.nan)
        gap_of[near.nodes] = near.gap
        for one in self._touched:
            own = (one.impulse != 0.0).any(axis=1)
            nodes = one.nodes[own]
            parts.append(ContactSet(
                name_array(names, self._part_of(nodes)), name_array(bodies, one.body[own]), one.point[own],
                one.normal[own], one.impulse[own], np.nan_to_num(gap_of[nodes]),
            ))  # fmt: skip
        if self._joined is not None:
            parts.append(self._pressing(*self._joined, names))
        return join_contacts(parts)

    def _pressing(self, joined: Joined, x: Array, names: Sequence[str]) -> ContactSet:
        """Soft surfaces that press on each other, their nodes being at x (n, 3) [m]."""
        nodes, weight, normal = joined.nodes, joined.weight, joined.normal
        first, second = (self._part_of(np.take_along_axis(nodes, np.argmax(sign * weight, axis=1)[:, None], 1)[:, 0])
                         for sign in (1.0, -1.0))  # fmt: skip
        # both sides have weights of sum 1, so that the mean of their points is half the sum with the sizes of weights
        point = 0.5 * np.einsum("ma,mai->mi", np.abs(weight), x[nodes])
        apart = np.einsum("ma,mai,mi->m", weight, x[nodes], normal)
        press = np.zeros_like(normal) if joined.press is None else joined.press[:, None] * normal
        return ContactSet(name_array(names, first), name_array(names, second), point, normal, press, apart)

    def reaction_p(self) -> Array:
        """Impulses (parts, 3) [N s] of what holds nodes where they are or moves them, over the last implicit step."""
        assert self.implicit is not None
        held = self.holding
        return np.stack([held[part.nodes].sum(axis=0) for part in self.soft.parts])

    @property
    def holding(self) -> Array:
        """Impulses (n, 3) [N s] of what holds nodes along axes or moves them, over the last implicit step."""
        assert self.implicit is not None
        driven = ~self.soft.moves
        driven[self.bound] = False
        found = np.where(driven, self.implicit.reaction, 0.0)
        slide = self.soft.slides[self.contacts.nodes]
        if slide.any():
            # what presses on a node that is held along some axes is taken by what holds it there
            nodes = self.contacts.nodes[slide]
            found[nodes] -= np.where(driven[nodes], self._normal_impulse[slide], 0.0)
        found[:, self.soft.dimensions :] = 0.0
        return found

    def bind(self, nodes: Any, bodies: Any, points: Array) -> None:
        """Nodes (b,) move with rigid bodies (b,) at points (b, 3) [m] of them where they are, and weigh on them (thesis
        4.6, embedding).

        The soft body they belong to and these bodies do not collide.
        """
        if self.implicit is None:
            raise UserError(
                "nodes bound to a rigid body need soft.stepper = 'implicit' or 'linearised'; change it, or remove the "
                "body"
            )
        rigid, contacts = self.contacts.rigid, self.contacts
        self.bound, self.bone = np.asarray(nodes, dtype=np.int64), np.asarray(bodies, dtype=np.int64)
        self._place = np.zeros((len(self.bound), 3))
        self._bound_impulse = np.zeros((len(self.bound), 3))
        contacts.ignored = np.zeros((len(contacts.nodes), rigid.count), dtype=np.int64)
        for b in np.unique(self.bone):
            own = self.bone == b
            self._place[own] = (points[own] - rigid.x_b[b]) @ rotation_matrix_of(rigid.q_b[b])
            for part in self.soft.parts:
                if ((self.bound[own] >= part.first) & (self.bound[own] < part.stop)).any():
                    contacts.ignored[(contacts.nodes >= part.first) & (contacts.nodes < part.stop), b] = 1
        contacts.ignored[np.isin(contacts.nodes, self.bound)] = 1
        self._ignore_points()

    def leave_out(self, nodes: Any, b: int) -> None:
        """Nodes (k,) do not touch rigid body b."""
        contacts = self.contacts
        if not len(contacts.ignored):
            contacts.ignored = np.zeros((len(contacts.nodes), contacts.rigid.count), dtype=np.int64)
        contacts.ignored[np.isin(contacts.nodes, nodes), b] = 1
        self._ignore_points()

    def _ignore_points(self) -> None:
        """Points of rigid bodies do not touch faces of nodes that do not touch these bodies."""
        if self.touches.points is not None:
            own, body = np.nonzero(self.contacts.ignored)
            self.touches.points.ignored = set(zip(self.contacts.nodes[own].tolist(), body.tolist(), strict=True))

    @property
    def loose(self) -> Array:
        """Inverse masses of nodes that neither a hold, along any axis, nor a rigid body leads, 0 of the others (n,)
        [1/kg]."""
        found = np.where(self.soft.slides, 0.0, self.soft.inv_mass)
        found[self.bound] = 0.0
        return found

    def follow(self) -> None:
        """After the step of the rigid bodies: bound nodes are where their bodies are."""
        rigid = self.contacts.rigid
        for b in np.unique(self.bone):
            own = self.bone == b
            arm = self._place[own] @ rotation_matrix_of(rigid.q_b[b]).T
            self.soft.x[self.bound[own]] = rigid.x_b[b] + arm
            self.soft.v[self.bound[own]] = rigid.v_b[b] + np.cross(rigid.omega_b[b], arm)

    def stages(
        self, external: Array, gravity: Array, expected: Array | None = None, rigid: RigidStages | None = None
    ) -> ImplicitStages | ExplicitStages:
        """The soft bodies in a step of the scheme under forces (n, 3) [N]; gravity (3,) [m/s2]: of the rigid bodies;
        expected (b, 6): forces [N] and torques [N m] on them of joints and of other rigid bodies, as far as known."""
        if self.explicit is not None:
            return ExplicitStages(self, external, rigid)
        return ImplicitStages(self, external, gravity, expected, rigid)

    def step(
        self, time: float, dt: float, external: Array, gravity: Array, expected: Array | None = None
    ) -> SoftStepReport:
        """Advance the soft bodies alone from ``time`` by ``dt`` [s]; see ``stages``."""
        stages = self.stages(external, gravity, expected)
        advance([stages], time, dt)
        return stages.report

    def begin(self, time: float, dt: float, external: Array) -> None:
        """Handles and contacts of a step."""
        soft, contacts = self.soft, self.contacts
        soft.move_handles(time, dt)
        contacts.rigid.move_kinematic(time + 0.5 * dt, place=False)
        speed = np.linalg.norm(soft.v[contacts.nodes], axis=1)
        fastest = float(np.linalg.norm(contacts.rigid.v_b, axis=1).max(initial=0.0))
        fall = float(np.linalg.norm(external, axis=1).max(initial=0.0) / soft.mass[soft.mass > 0].min()) * dt
        contacts.find(soft.x, 2.0 * dt * (speed + fastest + fall) + contacts.radius + 1e-9)
        rigid, points = contacts.rigid, self.touches.points
        self._pointed = self._pointed[:0]
        if rigid.count and points is not None:
            self._pointed = points.gather(2.0 * dt * (float(speed.max(initial=0.0)) + fastest + fall) + 1e-9)

    def solve(self, time: float, dt: float, external: Array, gravity: Array, expected: Array | None) -> SoftStepReport:
        """The implicit step."""
        assert self.implicit is not None
        soft, contacts, rigid = self.soft, self.contacts, self.contacts.rigid
        self._expected = np.zeros((rigid.count, 6)) if expected is None else expected
        self.begin(time, dt, external)
        if rigid.count:
            # impulses act where the solve has them: at the places of the start
            self._arm[...] = soft.x[contacts.nodes] - rigid.x_b[np.maximum(contacts.body, 0)]
            self._lever = soft.x[self.bound] - rigid.x_b[self.bone]
        advance_soft = self._step_linearised if isinstance(self.implicit, LinearisedEuler) else self._step_implicit
        report = advance_soft(dt, external, gravity, self.implicit)  # type: ignore[arg-type]
        self._give_impulses(dt)
        return report

    def _step_implicit(self, dt: float, external: Array, gravity: Array, stepper: BackwardEuler) -> SoftStepReport:
        """Backward Euler with the contacts held in the solve."""
        soft, contacts = self.soft, self.contacts
        states = NodeStates(contacts, dt, LOOSE * stepper.length, self.state, self.press)
        carriers = self._carriers(dt, gravity)
        before, v = soft.v.copy(), soft.v
        states.predict(v)
        creep = 0.1 * stepper.tolerance * stepper.length / dt
        deepest = stepper.length * (stepper.tolerance if self.rings is None else min(stepper.tolerance, ENTERED))
        iterations, stuck, fresh = 0, 0, False
        for newton in range(1, PASSES + 1):
            rub = (states.mu * states.press)[states.slides]
            held = self._hold(states.sticks, states.slides, states.closing, rub, creep, carriers, dt)
            held.careful = newton > SETTLE
            if newton == 1:
                stepper.system.touching = self.touches.begin(dt, creep)
                stepper.prepare(dt, external, held, before, v)
                self._look(v, carriers)
            placed = stepper.place(dt, external, held, before, v)
            done = placed or stepper.solve(dt, external, held, before, v, 1)
            iterations, stuck = iterations + done.iterations, stuck + done.stuck
            contacts.follow(carriers.w)
            seen, far = states.observe(stepper.reaction, v, creep, held), not done.moved < 0.3 * stepper.length
            changes = states.decide(seen, deepest / dt, far, newton)
            news = 0 if far else self._look(v, carriers)
            if placed is not None:
                # impulses of nodes that have just been moved along tell nothing
                fresh = False
                states.enter(changes)
                continue
            rub, differs, too_much = self.touches.rub(v, carriers.w, states.scale(seen))
            changed = changes.of_contact or news > 0
            if newton < RUBBED:
                changed |= changes.of_friction or differs
            if newton < HURRY:
                changed |= too_much or self._unbalanced(carriers, stepper, dt)
            if done.converged and not changed and not fresh:
                break
            # friction is weak at the first move of a node that begins to slide: look again
            fresh = changed and newton < RUBBED
            states.update(changes, seen, newton)
            # late in a step friction only falls
            self.touches.rows.rub = rub if newton < SETTLE else np.minimum(rub, self.touches.rows.rub)
        else:
            raise stepper.failure(replace(done, newton=PASSES))
        along = seen.press[:, None] * states.normal
        stuck_by = stepper.reaction[contacts.nodes]
        if held.axes is not None:
            stuck_by = stuck_by * held.axes[contacts.nodes]
        self.impulse[...] = np.where(states.sticks[:, None], stuck_by, along)
        self._normal_impulse[...] = np.where(states.slides[:, None], along, 0.0)
        self.impulse[states.slides] += held.friction(v)
        depth = float(np.max(-(contacts.gap + dt * (seen.approach + states.closing))[states.near], initial=0.0))
        done = replace(done, newton=newton, iterations=iterations, stuck=stuck)
        return self._conclude(dt, external, before, held, states.state, seen.press, depth, done, stepper)

    def _step_linearised(self, dt: float, external: Array, gravity: Array, stepper: LinearisedEuler) -> SoftStepReport:
        """The linearised step; where it gains energy that no motion can pay for, again about where it led."""
        soft, x, before = self.soft, self.soft.x.copy(), self.soft.v.copy()
        stepper.about[...] = 0.0
        report, way = self._pass_over_contacts(dt, external, gravity, before, stepper)
        for _ in range(1, LINEARISATIONS):
            if report.energy_excess <= 1e-6 * soft.kinetic_energy():
                break
            stepper.about[...], soft.x[...], soft.v[...] = way, x, before
            last = report
            report, way = self._pass_over_contacts(dt, external, gravity, before, stepper)
            report = replace(
                report, newton=report.newton + last.newton, iterations=report.iterations + last.iterations,
                stuck=report.stuck + last.stuck,
            )  # fmt: skip
        return report

    def _pass_over_contacts(
        self, dt: float, external: Array, gravity: Array, before: Array, stepper: LinearisedEuler
    ) -> tuple[SoftStepReport, Array]:
        """One linearisation with all contacts as one-sided rows: passes over these, on one matrix; the velocity (n, 3)
        that these found, too."""
        contacts, nodes, v = self.contacts, self.contacts.nodes, self.soft.v
        near = contacts.body >= 0
        closing = np.where(near, -contacts.gap / dt, 0.0)
        carriers = self._carriers(dt, gravity)
        creep = CREEP * stepper.tolerance * stepper.length / dt
        none = np.zeros(len(nodes), dtype=bool)
        held = self._hold(none, none, closing, np.zeros(0), creep, carriers, dt)
        rows = stepper.system.touching = self.touches.begin(dt, creep)
        self.touches.touch_nodes(contacts, np.flatnonzero(near), closing, self.press)
        held.place(v)
        stepper.pressed = self.press[near]
        stepper.prepare(dt, external, held, before, v)
        self._look(v, carriers)
        iterations = stuck = 0
        for done_passes in range(1, PASSES_LINEARISED + 1):
            held.place(v)
            done = stepper.solve(dt, external, held, before, v, 1)
            iterations, stuck = iterations + done.iterations, stuck + done.stuck
            news = self._look(v, carriers) if done_passes in LOOKS_LINEARISED else 0
            rub, differs, _ = self.touches.rub(v, carriers.w, 1e-3 * stepper.scale, stepper.reaction)
            if done.converged and not news and not (differs and done_passes < RUBBED):
                break
            if done_passes < PASSES_LINEARISED and not stepper.away:
                # after the last pass impulses are those that v was solved with. Friction falls at once and rises
                # halfway: what iterates out of balance press with is too much far more often than too little, and
                # whole rises can go to and fro between two states with thousands of times the weight on one node
                rows.rub = np.minimum(rub, 0.5 * (rows.rub + rub))
        stepper.go_back(dt, external, held, before, v)
        contacts.follow(carriers.w)
        self.impulse[...] = self._normal_impulse[...] = 0.0
        found = np.zeros(len(nodes))
        self.impulse[near], found[near] = self.touches.on_nodes(v, carriers.w, int(near.sum()))
        approach = np.einsum("ki,ki->k", v[nodes] - contacts.velocity, contacts.normal)
        depth = float(np.max(-(contacts.gap + dt * approach)[near], initial=0.0))
        state = np.where(found > 0, SLIDES, FREE)
        balanced = np.zeros(len(nodes))
        balanced[near] = self.touches.balanced_press(v, carriers.w, stepper.reaction)[: int(near.sum())]
        self._give_left_over(stepper, np.flatnonzero(state > FREE), found)
        done = replace(done, newton=done_passes, iterations=iterations, stuck=stuck)
        way = v.copy()
        return self._conclude(dt, external, before, held, state, balanced, depth, done, stepper), way

    def _give_left_over(self, stepper: LinearisedEuler, pressing: Any, found: Array) -> None:
        """What passes have left of the momentum of a body that presses (contacts (k,), with normal impulses ``found``)
        on something rigid is part of that contact: given to the body itself it would throw a sheet up."""
        soft, nodes, given = self.soft, self.contacts.nodes, stepper.reaction
        # what nodes that slide need along the axes in which they are held is their hold's
        borne = soft.slides[:, None] & ~soft.moves
        left = np.where(borne, 0.0, given)
        self.impulse[pressing] += left[nodes[pressing]]
        left[nodes[pressing]] = 0.0
        for part in soft.parts:
            free = part.first + np.flatnonzero(soft.inv_mass[part.nodes] > 0)
            own = pressing[(nodes[pressing] >= part.first) & (nodes[pressing] < part.first + len(soft.x[part.nodes]))]
            if len(own):
                self.impulse[own] += found[own, None] / found[own].sum() * left[free].sum(axis=0)
                left[free] = 0.0
        given[...] = np.where(borne, given, left)

    def _pushed_out(self, out: Any, dt: float, held: Held) -> Array:
        """Velocity (m, 3) with which chosen nodes (k,) leave the bodies they overlapped: what they have of it."""
        contacts = self.contacts
        normal, closing = contacts.normal[out], -contacts.gap[out] / dt
        if self.implicit is not None and not self.implicit.lawful:
            leaving = self.soft.v[contacts.nodes[out]] - contacts.velocity[out]
            closing = np.clip(np.einsum("ki,ki->k", leaving, normal), 0.0, closing)
        return np.asarray(closing[:, None] * held.along(contacts.nodes[out], normal))

    def _conclude(
        self, dt: float, external: Array, before: Array, held: Held, state: Any, press: Array, depth: float,
        done: SoftReport, stepper: BackwardEuler,
    ) -> SoftStepReport:  # fmt: skip
        """Move with the velocities of the solve, kept apart, limited in energy; what the nodes that touch (k,) give."""
        soft, contacts, v = self.soft, self.contacts, self.soft.v
        carriers, nodes = held.carriers, contacts.nodes
        near = contacts.body >= 0
        elastic = done.elastic
        self._point_push = np.zeros((contacts.rigid.count, 3)), np.zeros((contacts.rigid.count, 3))
        self.forget_contacts()
        pressing, work = self.touches.give(v, carriers.w, *self._point_push)
        self.add_contact(*self.touches.on_faces(v, carriers.w))
        self.impulse += np.where(soft.slides[nodes, None], 0.0, stepper.balance(v)[nodes])
        self._bound_impulse = stepper.reaction[self.bound]
        led = near & (contacts.carrier < 0)
        work += float((self.holding * v).sum())
        work += float((self.impulse[led] * contacts.velocity[led]).sum())
        allowed = self._energy_allowed(before, carriers, work)
        # the push out of an overlap moves positions alone: in a short step it is fast, and volume would go with it
        out, push = (state > FREE) & (contacts.gap < 0), np.zeros_like(v)
        push[nodes[out]] = self._pushed_out(out, dt, held)
        v -= push
        self.impulse[out] -= (soft.mass[:, None] * push)[nodes[out]]
        solves, energy_excess = self._move(v, push, dt, held, state, external, allowed)
        if self.surfaces is not None or self.rings is not None or not stepper.lawful:
            elastic = stepper.elastic_energy(soft.x)
        self.state, self.press = state, np.maximum(press, 0.0)
        stepper.acceleration[...] = (v - before) / dt
        touching = int((state > FREE).sum()) + pressing
        return SoftStepReport(
            touching, done.newton, done.iterations + solves, elastic, depth, self.volume_error(), work, done.stuck,
            energy_excess,
        )  # fmt: skip

    def _unbalanced(self, carriers: Carriers, stepper: BackwardEuler, dt: float) -> bool:
        """Whether bodies would be moved by what the iterations have left of their momentum: the rows of points feel
        every small change of a velocity by their friction."""
        if not len(carriers.w) or not self.touches.points or not self.touches.points.near:
            return False
        left = carriers.respond(stepper.push)
        left[:, 3:] *= 0.5 * stepper.length
        return dt * float(np.abs(left).max()) > stepper.tolerance * stepper.length

    def _look(self, v: Array, carriers: Carriers) -> int:
        return self.touches.look(v, carriers.w, self._carrier_of)

    def _carriers(self, dt: float, gravity: Array) -> Carriers:
        """The dynamic bodies that nodes are near, as they would move without them."""
        rigid, contacts = self.contacts.rigid, self.contacts
        chosen = np.unique(np.concatenate([contacts.body[contacts.body >= 0], self.bone, self._pointed]))
        chosen = chosen[rigid.kind_b[chosen] == DYNAMIC] if len(chosen) else chosen
        contacts.carrier[...] = -1
        self._chosen = chosen
        self._carrier_of = np.full(rigid.count, -1, dtype=np.int64)
        self._carrier_of[chosen] = np.arange(len(chosen))
        self._carried_by = np.full(len(self.bone), -1, dtype=np.int64)
        count = len(chosen)
        found = Carriers(np.zeros((count, 6, 6)), np.ones((count, 6)), np.zeros((count, 6)), np.zeros((count, 6)))
        for i, b in enumerate(chosen):
            R = rotation_matrix_of(rigid.q_b[b])
            inverse = rigid.inv_inertia_b[b]
            moments = np.where(inverse > 0, 1.0 / np.where(inverse > 0, inverse, 1.0), 0.0)
            found.mass[i, :3, :3] = np.eye(3) / rigid.inv_mass_b[b]
            found.mass[i, 3:, 3:] = R @ np.diag(moments) @ R.T
            found.w[i, :3], found.w[i, 3:] = rigid.v_b[b], rigid.omega_b[b]
            contacts.carrier[contacts.body == b] = i
            self._carried_by[self.bone == b] = i
        if self.soft.dimensions == 2:
            found.free[:, 2:5] = 0.0
        found.wanted[...] = found.w
        found.wanted[:, :3] += dt * gravity
        found.wanted += found.respond(dt * self._expected[chosen])
        return found

    def _hold(
        self, sticks: Any, slides: Any, closing: Array, rub: Array, creep: float, carriers: Carriers, dt: float
    ) -> Held:
        """The nodes that stick and slide, each with the body that carries it."""
        contacts, nodes = self.contacts, self.contacts.nodes
        both = np.concatenate([np.flatnonzero(sticks), np.flatnonzero(slides)])
        carrier = contacts.carrier[both]
        still = np.where((carrier < 0)[:, None], contacts.velocity[both], 0.0)
        arm = self._arm[both]
        speed = still + closing[both, None] * contacts.normal[both]
        fixed, stuck = nodes[sticks], slice(0, int(sticks.sum()))
        if len(both):
            omega = contacts.rigid.omega_b[contacts.body[both[stuck]]]
            speed[stuck] += _bend_way(omega, arm[stuck], dt)
        if len(self.bound):
            rigid, mine, lever = contacts.rigid, self._carried_by, self._lever
            omega = rigid.omega_b[self.bone]
            pace = np.where((mine < 0)[:, None], rigid.v_b[self.bone] + np.cross(omega, lever), 0.0)
            fixed = np.concatenate([self.bound, fixed])
            speed = np.concatenate([pace + _bend_way(omega, lever, dt), speed])
            carrier, arm = np.concatenate([mine, carrier]), np.concatenate([lever, arm])
        return Held(
            fixed, nodes[slides], contacts.normal[slides], rub, contacts.velocity[slides], creep, speed, carrier, arm,
            carriers, axes=self.soft.free_axes if self.soft.slides.any() else None,
        )  # fmt: skip

    def _energy_allowed(self, before: Array, carriers: Carriers, work: float) -> float:
        """Kinetic and elastic energy of the soft bodies at the end of a step that began with ``before`` (n, 3), without
        what forces from outside will do, if none is gained [J]: less what they gave to the carriers."""
        rigid, soft = self.contacts.rigid, self.soft
        assert self.implicit is not None
        if self.implicit.lawful and self.rings is None and self.surfaces is None:
            return np.inf
        start = np.concatenate([rigid.v_b[self._chosen], rigid.omega_b[self._chosen]], axis=1)
        momentum = np.einsum("bij,bj->bi", carriers.mass, carriers.w)
        given = 0.5 * float((momentum * carriers.w).sum())
        given -= 0.5 * float((np.einsum("bij,bj->bi", carriers.mass, start) * start).sum())
        given -= float((momentum * (carriers.wanted - start)).sum())
        kinetic = 0.5 * float((soft.mass[:, None] * before * before).sum())
        return kinetic + self.implicit.elastic_energy(soft.x) + work - given

    def _move(
        self, v: Array, push: Array, dt: float, held: Held, state: Any, external: Array, allowed: float
    ) -> tuple[int, float]:
        """Positions with v + push (n, 3), corrected for volume that is lost (3.1): iterations of these solves, and
        energy gained that could not be taken [J]."""
        way, solved = v + push, v.copy()
        first, held = self._correct(way, dt, held, state)
        self.keep_apart(way, v, dt)
        start = self.soft.x.copy()
        self.soft.x += dt * way
        allowed += dt * float((external * way).sum())
        return first, self._limit_energy(start, solved, way, v, dt, held, allowed)

    def _correct(self, way: Array, dt: float, held: Held, state: Any) -> tuple[int, Held]:
        """Correct the velocity of the positions (n, 3) for volume (3.1); iterations of the solves, and what is held.

        What soft surfaces press on stays joined in the solve, and so does what the correction would let meet: impulses
        after it would spoil the volume again, and crush elements. Free nodes that it would lead into a rigid body slide
        on that from then on, in ``state`` (k,) too.
        """
        joined: Joined | None = self.touches.joined(way, held.carriers.w)
        assert joined is not None
        self.pressing, self._joined = len(joined.nodes), (joined, self.soft.x.copy())
        if self.rings is None:
            return 0, held
        assert self.implicit is not None
        stiffness, deep = self.implicit.stiffness(), ENTERED * self.implicit.length
        solved, iterations = way.copy(), 0
        self.rings.damp(self.soft.x + dt * way, dt * dt, dt)
        for _ in range(CORRECTIONS):
            way[...] = solved
            self.rings.join(joined)
            iterations += self.rings.correct(way, dt, held, stiffness).iterations
            more, entered = self.touches.join_met(joined, way), self._entered(way, solved, dt, state, deep)
            if more is None and not len(entered):
                break
            joined = joined if more is None else more
            held = self._stop(held, entered)
            state[entered] = SLIDES
        return iterations, held

    def _entered(self, way: Array, solved: Array, dt: float, state: Any, deep: float) -> Any:
        """The free contacts (m,) whose nodes way (n, 3) [m/s] leads into rigid bodies by more than deep [m], and by
        more than ``solved`` (n, 3) did."""
        contacts = self.contacts
        further = np.einsum("ki,ki->k", (way - solved)[contacts.nodes], contacts.normal) < 0.0
        approach = np.einsum("ki,ki->k", way[contacts.nodes] - contacts.velocity, contacts.normal)
        loose = (contacts.body >= 0) & (state == FREE) & (self.soft.inv_mass[contacts.nodes] > 0)
        return np.flatnonzero(loose & further & (contacts.gap + dt * approach < -deep))

    def _stop(self, held: Held, entered: Any) -> Held:
        """What is held, and beside it the contacts ``entered`` (m,), which slide without friction."""
        contacts = self.contacts
        still = np.where((contacts.carrier[entered] < 0)[:, None], contacts.velocity[entered], 0.0)
        return replace(
            held,
            slip=np.concatenate([held.slip, contacts.nodes[entered]]),
            normal=np.concatenate([held.normal, contacts.normal[entered]]),
            rub=np.concatenate([held.rub, np.zeros(len(entered))]),
            base=np.concatenate([held.base, contacts.velocity[entered]]),
            speed=np.concatenate([held.speed, still]),
            body=np.concatenate([held.body, contacts.carrier[entered]]),
            arm=np.concatenate([held.arm, self._arm[entered]]),
        )

    def keep_apart(self, way: Array, v: Array, dt: float) -> None:
        """Change the velocity of the positions (n, 3) so that soft surfaces do not meet, and v with it."""
        if self.surfaces is not None:
            loose, yielding = self.loose, None
            if self.implicit is not None:
                yielding = np.where(loose > 0, 1.0 / (self.soft.mass + self.implicit.stiffness()), 0.0)
            self.met = self.surfaces.resolve(self.soft.x, way, v, dt, loose, yielding)

    def _limit_energy(
        self, start: Array, solved: Array, way: Array, v: Array, dt: float, held: Held, allowed: float
    ) -> float:  # fmt: skip
        """Take from v (n, 3) the energy beyond what is ``allowed`` [J], from bodies that gained it after the solve, or,
        of a linearised one, in the solve; what could not be taken [J].

        The solve led from ``start`` to start + dt solved; volume and sweeps have made that start + dt way, and v of
        solved. A part P has gained, f_1 and f_2 being the elastic forces at both ends,

            e_P = sum over P of  m (|v|^2 - |solved|^2) / 2 - dt (f_1 + f_2) . (way - solved) / 2

        (of a linearised step its kinetic energy), and gives back e_P min(1, excess / sum of e). That is taken from the
        motion v' = v - V of its free nodes about their best rigid one V, so that momenta stay:

            v <- v - (1 - sqrt(1 - e_P / K')) v',        K' = sum of m |v'|^2 / 2
        """
        stepper, soft = self.implicit, self.soft
        if stepper is None or (stepper.lawful and np.array_equal(way, solved)):
            return 0.0
        excess = stepper.elastic_energy(soft.x) + soft.kinetic_energy() - allowed
        if excess <= 0:
            return 0.0
        gained = 0.5 * soft.mass * (v * v).sum(axis=1)
        if stepper.lawful:
            forces = np.zeros_like(v), np.zeros_like(v)
            soft.forces.measure(start + dt * solved, forces[0])
            soft.forces.measure(soft.x, forces[1])
            gained -= 0.5 * dt * ((forces[0] + forces[1]) * (way - solved)).sum(axis=1)
            gained -= 0.5 * soft.mass * (solved * solved).sum(axis=1)
        gained_p = np.array([max(0.0, float(gained[part.nodes].sum())) for part in soft.parts])
        if gained_p.sum() <= 0:
            return excess
        free = self.loose > 0
        free[held.fixed] = free[held.slip] = False
        removed = 0.0
        for part, energy in zip(soft.parts, gained_p * min(1.0, excess / gained_p.sum()), strict=True):
            chosen = part.first + np.flatnonzero(free[part.nodes])
            if energy > 0 and len(chosen) > 1:
                own = v[chosen] - rigid_motion(soft.mass[chosen], soft.x[chosen], v[chosen])
                kinetic = 0.5 * float((soft.mass[chosen, None] * own * own).sum())
                v[chosen] -= (1.0 - np.sqrt(max(0.0, 1.0 - energy / max(kinetic, 1e-300)))) * own
                removed += min(energy, kinetic)
        return excess - removed

    def volume_error(self) -> float:
        """Largest of an incompressible body, relative."""
        return 0.0 if self.rings is None else self.rings.error(self.soft.x)

    def _give_impulses(self, dt: float) -> None:
        """Force and torque on the rigid bodies: the impulses of the nodes, reversed."""
        contacts, rigid = self.contacts, self.contacts.rigid
        self.force_b, self.torque_b = np.zeros((rigid.count, 3)), np.zeros((rigid.count, 3))
        near = contacts.body >= 0
        b = contacts.body[near]
        force = -self.impulse[near] / dt
        np.add.at(self.force_b, b, force)
        np.add.at(self.torque_b, b, np.cross(self._arm[near], force))
        self.add_contact(contacts.nodes[near], self.impulse[near], b, contacts.normal[near])
        force = -self._bound_impulse / dt
        np.add.at(self.force_b, self.bone, force)
        np.add.at(self.torque_b, self.bone, np.cross(self._lever, force))
        if len(self._point_push[0]) == rigid.count:
            self.force_b += self._point_push[0] / dt
            self.torque_b += self._point_push[1] / dt

    def give_momentum(self, dt: float, gravity: Array, force_b: Array, torque_b: Array) -> tuple[Array, Array]:
        """Forces [N] and torques [N m] (b, 3) for the step of the rigid bodies that follows; force_b, torque_b (b, 3):
        of their loads.

        Those that nodes touch moved by v^n+1 in the solve of the nodes, as backward Euler has it. They get all that
        acts on them at the start of their own step, which then moves them just so: with half of it, as in free flight,
        they would be found inside the nodes that they have just pushed away, by dt^2 / 2 times their acceleration.
        """
        rigid, force, torque = self.contacts.rigid, self.force_b + force_b, self.torque_b + torque_b
        for b in self._chosen:
            weight = gravity / rigid.inv_mass_b[b]
            rigid.p_b[b] += dt * (force[b] + weight)
            rigid.L_b[b] += dt * torque[b]
            force[b], torque[b] = -weight, 0.0
        return force, torque

    def arrays(self) -> dict[str, Array]:
        """What evolves beside nodes and bodies."""
        found = {"soft_contact_state": self.state.astype(float), "soft_contact_press": self.press}
        if self.rings is not None:
            found |= self.rings.arrays()
        return found if self.implicit is None else {**found, "soft_acceleration": self.implicit.acceleration}

    def restore(self, arrays: Any) -> None:
        """Take over what ``arrays`` gave."""
        self.state = arrays["soft_contact_state"].astype(np.int64)
        self.press = arrays["soft_contact_press"].copy()
        if self.rings is not None:
            self.rings.restore(arrays)
        if self.implicit is not None:
            self.implicit.acceleration[...] = arrays["soft_acceleration"]


def _bend_way(omega: Array, arm: Array, dt: float) -> Array:
    """What arms (k, 3) [m] that turn with omega (k, 3) [rad/s] for dt [s] lack from a straight way, as velocity."""
    size = np.linalg.norm(omega, axis=1)[:, None]
    k, angle = omega / np.maximum(size, 1e-300), dt * size
    across = np.cross(k, arm)
    return np.asarray(((np.sin(angle) - angle) * across + (1.0 - np.cos(angle)) * np.cross(k, across)) / dt)
