"""Joints between rigid bodies: fixed, ball, hinge, universal, prismatic, planar; with limits, motors and thresholds.

A joint has a frame in its parent and one in its child. With R that of the parent and p the anchors, the errors are d =
R^T (p_child - p_parent) and the vector part of the quaternion between the frames (thesis 4.5.1), of which each kind of
joint takes its share (z is the axis of the joint):

    fixed d, turn;  ball d;  hinge d, swing of z;  prismatic d_x, d_y, turn;  planar d_z, swing of z;
    universal d and z_parent . x_child

What is free has coordinates (``joint.COORDINATES``) with two ways, for limits and motors; ball and universal joints
have one more with a limit, the angle they are bent by (a cone).

**What a step does with them** (thesis 4.5 to 4.7, appendix C). ``pre_stabilise`` changes the velocities at n+1/2 so
that the errors vanish after the position update, with the very update that the step will use. ``post_stabilise``
removes from velocities what moves the joints apart. ``carry`` gives the impulses of pre-stabilisation to the momentum
at n as well, less what was needed to close old errors: the forces of joints then act at both ends of the step, as in
RATTLE (Andersen 1983), and the motion is second order in dt. Without it (thesis) the final projection alone turns the
velocity with the bodies, which is first order and damps. ``end_step`` reads forces and breaks joints.

Where bodies turn so far in a step that no impulses along the rows at its start can hold them (short links that whip,
light links that carry a heavy load), velocities are only projected, and ``follow`` closes the poses they lead to, along
the rows at the end: first order, damped, and stable at any step.

Both stabilisations iterate on the same rows (``rows``): "global" solves all joints at once through
``CoupledSystem``, "pairwise" by Gauss-Seidel sweeps over joints. Limits are rows that only push: an active set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf, sqrt

import numpy as np

from undertow.errors import PhysicsError, UserError
from undertow.grid import Array
from undertow.rigid.bodies import (
    RigidBodies,
    conjugate,
    multiply_quaternions,
    quaternion_of_matrix,
    rotation_matrix_of,
)
from undertow.rigid.control import ControlRow
from undertow.rigid.joint import BrokenJoint, JointStats, name_coordinate
from undertow.rigid.joint_set import JointSet
from undertow.rigid.orientation import advance_poses
from undertow.rigid.rows import BLOCK, sweep_pairwise

Advance = Callable[[Array, Array, Array, Array], None]
"""(v, omega, out_x, out_q): the poses after the step at these velocities (n, 3), from the bodies' poses of now."""

_TOLERANCE = 1e-11
"""Largest error after pre-stabilisation aimed at: lengths relative to the arm of the joint, angles in rad."""

_ACCEPTED = 1e-6
"""Larger errors than this are a failure."""

_ITERATIONS = 60
_HISTORY = 5
_LONGEST = 0.5
"""Iterations close at most this error at a time: beyond it the rows of now say little."""

_ACCEPTED_RATE = 1e-6
"""Nor may rates larger than this, relative to the velocities, be left."""

_CLOSINGS = 200
"""Projections of poses at most."""

_FARTHEST = 1.0
"""Turn of a body by one of them at most [rad]."""

_REFINEMENTS = 10
_REDUCTION = 1e-4
"""Of one linear solve; the iterations around it repeat it."""

_NOT_CARRIED = 1e-2
"""Impulses that close a larger error than this are not carried to the velocities."""

_FAR = 0.1
"""Nor are those of a step in which the linear form misses by more: bodies turn far, or light ones shake between heavy
ones faster than the step can follow, and forces that act at both ends of it would feed that."""

_SWEEPS = 2000
_PASSES = 12
_AT_LIMIT = 1e-7
"""A joint this close to its limit [rad, or arms] may not move towards it."""


class Joints(JointSet):
    """All joints of a simulation. method: "global" or "pairwise"; see the head of the module for how a step uses them.

    ``loose``: ``pre_stabilise`` could not hold them, and ``follow`` has to. ``unswept``: pairwise solves of this step
    whose sweeps ended before they had converged. ``force_b``, ``torque_b`` (n, 3) [N, N m
    about the centre of mass]: of joints and motors on each body, averaged over the last step; ``force_j``, ``torque_j``
    (m, 3): on the child at the anchor.
    """

    def __init__(self, bodies: RigidBodies, method: str = "global") -> None:
        if method not in ("global", "pairwise"):
            raise UserError(f"joints: method = {method!r}: must be global or pairwise")
        super().__init__(bodies)
        self.method = method
        self._motors: dict[int, tuple[ControlRow, float]] = {}
        self._corrected, self._carrying, self.loose = False, True, False
        self.unswept = 0

    # what a step calls ----------------------------------------------------------------------------------------------

    def apply_control(self, v: Array, omega: Array, time: float, dt: float, carry: bool) -> None:
        """Motors act on v, omega (n, 3) for half a step dt; changes them in place. time [s]: at the start of the step.

        Once on the velocities at n+1/2, at the poses of n (carry: the impulse is then given to those at n by
        ``carry``), and once on the new velocities at the poses of n+1. Motors and joints are solved together.
        """
        self.drive(v, omega, time if carry else time + dt, dt, 0.5 * dt, carry)

    def drive(self, v: Array, omega: Array, now: float, ahead: float, duration: float, carry: bool = False) -> None:
        """Motors act on v, omega (n, 3) for a duration [s] with the poses and the target of ``now`` [s]; changes them
        in place. ahead: how far the poses that come of it are implicit [s]."""
        if not self.controls or not self._refresh():
            return
        self._take(v, omega)
        self._evaluate(self.bodies.x_b, self.bodies.q_b, build=True)
        self._unwrap()
        rows, w, z = self._rows, self._w, self._z
        driven, motors = {}, {}
        for control, given in zip(self.controls, self.target_k, strict=True):
            j = self.index(control.joint)
            c = int(self._spec.first[j]) + name_coordinate(control.joint, self._joints[j].kind, control.axis)
            if not self.broken_j[j]:
                driven[c] = control
                motors[c] = control.row(float(self.coordinate_c[c]), now, ahead, duration, given)
        start, held = w.copy(), np.zeros_like(z)
        while True:
            w[...] = start
            rows.weight[...] = 1.0
            self._give(held, w)
            self._set_constraints({}, motors)
            rows.wanted[...] = 0.0
            for j, motor in motors.items():
                rows.wanted[self._coordinate_row(j)] = sqrt(motor.weight_sq) * motor.rate
            self._solve(w, z)
            impulse = rows.weight * z
            torques = {j: impulse[self._coordinate_row(j)] / self._unit_c[j] / duration for j in motors}
            excess = {j: t for j, t in torques.items() if abs(t) > driven[j].largest}
            if not excess:
                break
            for j, t in excess.items():
                # no longer a row but a given torque
                held[self._coordinate_row(j)] = np.sign(t) * driven[j].largest * duration * self._unit_c[j]
                del motors[j]
        if carry:
            self._motors = {j: (motor, float(z[self._coordinate_row(j)])) for j, motor in motors.items()}
        rows.weight[...] = 1.0
        self._record(impulse + held, carry)
        self._put(v, omega)

    def pre_stabilise(self, v: Array, omega: Array, time: float, dt: float, advance: Advance) -> JointStats:
        """Change v, omega (n, 3) so that the joints hold after the poses have been advanced by them; in place.

        time: of the poses of now [s], for bodies that follow a motion. advance: the position update of the step. Motors
        that were applied to these velocities act on. May be called several times in a step, in turn with contact.
        """
        if not self._refresh():
            return JointStats(0, 0.0)
        self._take(v, omega)
        start = self._w.copy()
        moved = self._moved_by_motions(time + dt)
        self._evaluate(self.bodies.x_b, self.bodies.q_b, build=True)
        self._unwrap()
        here = self._error.copy()
        active: dict[int, float] = {}
        stats, total, settled = JointStats(0, 0.0), np.zeros_like(self._z), False
        for _ in range(_PASSES):
            self._w[...] = start
            self._set_constraints(active, {j: motor for j, (motor, _) in self._motors.items() if j not in active})
            self._error[...] = here
            self._set_limit_errors(self.coordinate_c, active)
            stats, total = self._iterate(v, omega, dt, advance, moved, active)
            # a limit may push only; one that is overrun joins the set
            pulling = [j for j, sign in active.items() if sign * total[self._coordinate_row(j)] < 0]
            overrun = {j: sign for j, sign in self._overrun(self._predicted).items() if j not in active}
            settled = not pulling and not overrun
            if settled:
                break
            active = {j: sign for j, sign in active.items() if j not in pulling} | overrun
        stats = replace(stats, settled=settled)
        if stats.error > _ACCEPTED:
            self._let_go(start, v, omega)
            return stats
        if self._carrying:
            beyond = (self.coordinate_c - np.clip(self.coordinate_c, self._lower_c, self._upper_c)) / self._unit_c
            here[self._row_c] = beyond
            self._record_carried(total, np.where(self._rows.weight > 0, here, 0.0), dt)
        self._motors = {
            j: (motor, z if j in active else z + float(total[self._coordinate_row(j)]))
            for j, (motor, z) in self._motors.items()
        }
        return stats

    def _let_go(self, start: Array, v: Array, omega: Array) -> None:
        """Velocities v, omega of a step in which bodies turn too far for its impulses: ``start`` (n, 6) less what moves
        the joints apart at the poses of now. The poses they lead to are closed by ``close``."""
        _, impulse = self._project(start)
        self._rows.weight[...] = 1.0
        self._record(impulse, carry=True)
        self._put(v, omega)
        self._carrying, self.loose = False, True

    def _record_carried(self, total: Array, old: Array, dt: float) -> None:
        """Record the impulses z of pre-stabilisation less those that closed the errors ``old`` of the poses of now.

        These are found from the linearised rows. Where the errors are large that says little, and nothing is carried.
        """
        impulse = self._rows.weight * total
        largest = float(np.abs(old).max())
        if not self._corrected and largest > _NOT_CARRIED:
            self._carrying = False
            return
        if not self._corrected and largest > 10 * _TOLERANCE:
            self._w[...] = 0.0
            self._rows.wanted[...] = -self._rows.weight * old / dt
            self._solve(self._w, self._z)
            impulse -= self._rows.weight * self._z
        self._corrected = True
        self._rows.weight[...] = 1.0
        self._record(impulse, carry=True)

    def carry(self, p: Array, L: Array) -> None:
        """Give the impulses of pre-stabilisation and of carried motors to the momenta p, L (n, 3) at n, in place."""
        if not self._refresh():
            return
        p += self._carried[:, :3]
        L += self._carried[:, 3:]
        self._impulse += self._carried
        self._impulse_j += self._carried_j
        self._carried[...] = 0.0
        self._carried_j[...] = 0.0
        self._corrected, self._carrying = False, True
        self._motors.clear()

    def post_stabilise(self, v: Array, omega: Array) -> JointStats:
        """Remove from v, omega (n, 3) what moves the joints apart, at the bodies' poses of now; in place.

        The result is the nearest in kinetic energy, which never grows.
        """
        if not self._refresh():
            return JointStats(0, 0.0)
        self._take(v, omega)
        self._evaluate(self.bodies.x_b, self.bodies.q_b, build=True)
        self._unwrap()
        stats, impulse = self._project(self._w.copy())
        self._rows.weight[...] = 1.0
        self._record(impulse, carry=False)
        self._put(v, omega)
        return stats

    def _project(self, start: Array) -> tuple[JointStats, Array]:
        """Remove from ``start`` (n, 6) what moves the joints apart along the rows of now, into ``_w``; the impulses."""
        rows, w, z = self._rows, self._w, self._z
        rates, total = np.empty_like(z), np.zeros_like(z)
        touching = self._overrun(self.coordinate_c, slack=_AT_LIMIT)
        active: dict[int, float] = {}
        largest, count, settled = 0.0, 0, False
        for _ in range(_PASSES):
            w[...] = start
            total[...] = 0.0
            self._set_constraints(active, {})
            rows.wanted[...] = 0.0
            for _refinement in range(_REFINEMENTS):
                rows.rates(w, rates)
                largest = float(np.abs(np.where(rows.weight > 0, rates, 0.0)).max())
                if largest <= 1e-13 * float(np.abs(rows.k).max()) * float(np.abs(start).max()):
                    break
                self._solve(w, z)
                total += z
                count += 1
            rows.rates(w, rates)
            pulling = [j for j, sign in active.items() if sign * total[self._coordinate_row(j)] < 0]
            pushed = {
                j: sign for j, sign in touching.items()
                if j not in active and sign * rates[self._coordinate_row(j)] > 1e-12
            }  # fmt: skip
            settled = not pulling and not pushed
            if settled:
                break
            active = {j: sign for j, sign in active.items() if j not in pulling} | pushed
        rates[rows.weight == 0] = 0.0
        largest = float(np.abs(rates).max())
        if largest > _ACCEPTED_RATE * float(np.abs(rows.k).max()) * float(np.abs(start).max()):
            worst = np.maximum.reduceat(np.abs(rates), rows.start[:-1])
            raise PhysicsError(
                f"joint {self._joints[int(np.argmax(worst))].name!r}: cannot be held: a rate of {largest:.3g} 1/s is "
                f"left after {count} solves; prescribed motions may pull it apart, or its loop cannot move as asked"
            )
        return JointStats(count, largest, settled), rows.weight * total

    def close(self, dt: float = inf) -> JointStats:
        """Close what a change of poses has opened by the least motion d in kinetic energy: B d + K^T y = 0 at the end.

        Newton's method on that and on the errors, along the rows of where the bodies have come to. Of the second
        derivative of y.error a bound is kept, which is a stiffness g = |y| arm against turning (geometric stiffness,
        Tournier et al. 2015); without it (fast projection, Goldenthal et al. 2007) light links between a heavy load and
        its support jump from one side to the other. It works however far bodies turn, unlike impulses along the rows of
        the start of the step. Limits take no part: the next step brings bodies back to them. dt [s]: of the step whose
        motion is closed; the impulses y / dt have then acted in it, for ``carry``. Otherwise momenta stay.
        """
        self.loose = False
        if not self._refresh():
            return JointStats(0, 0.0)
        spec, rows, w, count = self.bodies.spec, self._rows, self._w, self.bodies.count
        v, omega, moved = np.zeros((count, 3)), np.zeros((count, 3)), np.zeros((count, 6))
        impulse = np.zeros_like(self._z)
        best, stalled, iterations = inf, 0, 0
        while True:
            self._take(v, omega)
            self._evaluate(spec.x, spec.q, build=True)
            stiffness = self._turning_stiffness(impulse)
            inverse = self._block.inv_mass[:, 3:, 3:]
            inverse[...] = np.linalg.solve(np.eye(3) + stiffness[:, None, None] * inverse, inverse)
            self._block.refresh()
            self._set_constraints({}, {})
            self._error[rows.weight == 0] = 0.0
            error = float(np.abs(self._error).max())
            stalled = 0 if error < 0.9 * best else stalled + 1
            best = min(best, error)
            done = error <= _TOLERANCE or (stalled > 2 and error <= 1e3 * _TOLERANCE)
            if done or iterations == _CLOSINGS:
                break
            iterations += 1
            # the motion so far is taken back, as far as the stiffness lets it, and made anew along the rows of now
            w[...] = -moved
            w[:, 3:] += stiffness[:, None] * np.einsum("bij,bj->bi", inverse, moved[:, 3:])
            rows.wanted[...] = -rows.weight * np.clip(self._error, -_LONGEST, _LONGEST)
            self._solve(w, self._z)
            impulse[...] = rows.weight * self._z
            w *= min(1.0, _FARTHEST / float(np.abs(w[:, 3:]).max(initial=1e-300)))
            moved += w
            self._put(v, omega)
            advance_poses(spec, v, omega, 1.0, 1, False, spec.x, spec.q)
        rows.weight[...] = 1.0
        if error > _ACCEPTED:
            raise self._fail(JointStats(iterations, error))
        if dt < inf:
            self._record(impulse / dt, carry=True)
        return JointStats(iterations, error)

    def follow(self, p: Array, L: Array, dt: float) -> JointStats:
        """After the position update of a step dt [s]: close what ``pre_stabilise`` could not hold; momenta p, L (n, 3)
        get the impulses of that."""
        if not self.loose:
            return JointStats(0, 0.0)
        stats = self.close(dt)
        self.carry(p, L)
        return stats

    def _turning_stiffness(self, impulse: Array) -> Array:
        """|impulse| times arm, summed over the joints of each body (n,): what its turn changes their torques by."""
        child = impulse[:, None] * self._rows.k[:, 1]
        along = np.abs(child[:, :3]).max(axis=1) > 0
        child[along, 3:] = 0.0
        on_joint = np.add.reduceat(child, self._rows.start[:-1])
        force, torque = np.linalg.norm(on_joint[:, :3], axis=1), np.linalg.norm(on_joint[:, 3:], axis=1)
        stiffness = np.zeros(self.bodies.count)
        for side, body in enumerate((self._parent, self._child)):
            held = body >= 0
            arm = np.linalg.norm(self._spec.position[held, side], axis=1)
            np.add.at(stiffness, body[held], force[held] * arm + torque[held])
        return stiffness

    def end_step(self, dt: float) -> list[BrokenJoint]:
        """Forces of the step that took dt [s]; breaks the joints that needed too much and returns them."""
        if not self._refresh():
            self.force_b = np.zeros((self.bodies.count, 3))
            self.torque_b = np.zeros((self.bodies.count, 3))
            return []
        self.force_b, self.torque_b = self._impulse[:, :3] / dt, self._impulse[:, 3:] / dt
        self.force_j, self.torque_j = self._impulse_j[:, :3] / dt, self._impulse_j[:, 3:] / dt
        self._impulse[...] = 0.0
        self._impulse_j[...] = 0.0
        self.unswept = 0
        broken = []
        for j, joint in enumerate(self._joints):
            force, torque = float(np.linalg.norm(self.force_j[j])), float(np.linalg.norm(self.torque_j[j]))
            if not self.broken_j[j] and (force > joint.break_force or torque > joint.break_torque):
                self.broken_j[j] = 1
                broken.append(BrokenJoint(joint.name, force, torque))
        return broken

    # the pieces of a stabilisation ----------------------------------------------------------------------------------

    def _take(self, v: Array, omega: Array) -> None:
        self._w[:, :3], self._w[:, 3:] = v, omega
        self._block.set_masses(self.bodies)

    def _put(self, v: Array, omega: Array) -> None:
        v[...], omega[...] = self._w[:, :3], self._w[:, 3:]

    def _set_constraints(self, active: Mapping[int, float], motors: Mapping[int, ControlRow]) -> None:
        """Weights of the joints' rows, of the limits that act, and of motors."""
        chosen = self._constraint_rows()
        for j in active:
            chosen[self._coordinate_row(j)] = True
        self._rows.constrain(chosen, self._block.inv_mass)
        for j, motor in motors.items():
            self._rows.weight[self._coordinate_row(j)] = sqrt(motor.weight_sq) * self._unit_c[j]

    def _overrun(self, coordinate: Array, slack: float = 0.0) -> dict[int, float]:
        """Coordinates at or beyond a limit and the sign of the way out: 1 above the upper, -1 below the lower."""
        whole = self.broken_j[self._joint_c] == 0
        above = (coordinate > self._upper_c - slack * self._unit_c) & whole
        below = (coordinate < self._lower_c + slack * self._unit_c) & whole
        return {int(j): 1.0 if above[j] else -1.0 for j in np.flatnonzero(above | below)}

    def _set_limit_errors(self, coordinate: Array, active: Mapping[int, float]) -> None:
        """Errors of the limits that act, and none in rows that do not."""
        for j, sign in active.items():
            limit = self._upper_c[j] if sign > 0 else self._lower_c[j]
            self._error[self._coordinate_row(j)] = (coordinate[j] - limit) / self._unit_c[j]
        self._error[self._rows.weight == 0] = 0.0

    def _set_motor_errors(self, z: Array, dt: float, active: Mapping[int, float]) -> None:
        """How far the coordinates after the step are from what the motors' impulses, z of now and before, ask for."""
        for j, (motor, before) in self._motors.items():
            if j in active:
                continue
            r = self._coordinate_row(j)
            moved = self._predicted[j] - self.coordinate_c[j] - dt * motor.rate
            self._error[r] = moved / self._unit_c[j] - dt * (before + z[r]) / self._rows.weight[r]

    def _moved_by_motions(self, time: float) -> list[tuple[int, Array, Array]]:
        """Poses at a time of the bodies that follow a motion."""
        poses = []
        for b, motion in self.bodies.motions.items():
            position, rotation = motion.pose(time)
            turn = conjugate(self.bodies.shape_turn_b[b])
            centre = -(rotation_matrix_of(turn) @ self.bodies.shape_offset_b[b])
            q = multiply_quaternions(quaternion_of_matrix(rotation), turn)
            poses.append((b, position + rotation @ centre, q))
        return poses

    def _iterate(
        self, v: Array, omega: Array, dt: float, advance: Advance, moved: list[tuple[int, Array, Array]],
        active: Mapping[int, float],
    ) -> tuple[JointStats, Array]:  # fmt: skip
        """Solve for no errors after the position update, from the velocities in ``_w``; v, omega get the result.

        ``_error`` holds the errors of the poses of now. Motors follow their law of the coordinate after the step.

        C.2, with the error measured and not linearised: z <- z + f, f the impulses that the rows of now ask for. The
        rows stay, because impulses act along them, and the iteration converges the faster the less the bodies turn;
        Anderson acceleration (Walker & Ni 2011) learns the rest. It fails where bodies turn so far in the step that no
        impulses along the rows of now can hold them. Returns the sum of the weighted impulses z.
        """
        rows, w = self._rows, self._w
        start, z = w.copy(), np.zeros_like(self._z)
        best, best_w, best_z, best_error = inf, w.copy(), z.copy(), z.copy()
        predicted = self._predicted.copy()
        steps: list[tuple[Array, Array]] = []
        before: tuple[Array, Array, Array] | None = None
        stalled, iterations = 0, 1
        # first the linear form: the velocities may be far from what the joints allow
        rows.wanted[...] = -rows.weight * np.clip(self._error, -_LONGEST, _LONGEST) / dt
        for j, (motor, before_z) in self._motors.items():
            if j not in active:
                rows.wanted[self._coordinate_row(j)] = sqrt(motor.weight_sq) * motor.rate + before_z
        self._solve(w, z)
        while True:
            self._predict(v, omega, advance, moved)
            self._set_limit_errors(self._predicted, active)
            self._set_motor_errors(z, dt, active)
            if best == inf and np.abs(self._error).max() > _FAR:
                self._carrying = False
            error = float(np.linalg.norm(self._error))
            if not np.isfinite(error):
                raise PhysicsError("joints: the velocities are not finite; a force or a contact went wrong")
            stalled = 0 if error < 0.8 * best else stalled + 1
            if error < best:
                best = error
                best_w[...], best_z[...], best_error[...], predicted[...] = w, z, self._error, self._predicted
            # close to the goal the poses carry rounding, and nothing more is to be had
            done = best <= _TOLERANCE or (stalled > 2 and best <= 1e3 * _TOLERANCE)
            if done or stalled > 4 or iterations == _ITERATIONS:
                break
            iterations += 1
            if error > 4.0 * best:
                if not steps:
                    break
                # back to the best, and on without history
                w[...], z[...], self._error[...], before, steps = best_w, best_z, best_error, None, []
            e = self._error.copy()
            rows.apply({BLOCK: w}, rows.wanted)
            rows.wanted -= rows.weight * np.clip(e, -_LONGEST, _LONGEST) / dt
            self._solve(w, self._z)
            f = self._z.copy()
            if before is not None:
                steps = [*steps[1 - _HISTORY :], (z - before[0] + f - before[1], e - before[2])]
            before = z.copy(), f, e
            z += f
            if steps:
                gamma = np.linalg.lstsq(np.stack([de for _, de in steps], axis=1), e, rcond=1e-10)[0]
                for (step, _), g in zip(steps, gamma, strict=True):
                    z -= g * step
                w[...] = start
                self._give(z, w)
        w[...] = best_w
        self._error[...], self._predicted[...] = best_error, predicted
        self._put(v, omega)
        return JointStats(iterations, float(np.abs(best_error).max())), best_z

    def _predict(self, v: Array, omega: Array, advance: Advance, moved: list[tuple[int, Array, Array]]) -> None:
        """Errors and coordinates after the position update at the velocities in ``_w``."""
        self._put(v, omega)
        advance(v, omega, self._x, self._q)
        for b, x, q in moved:
            self._x[b], self._q[b] = x, q
        self._evaluate(self._x, self._q, build=False)
        self._predicted[...] = self._continued(self.coordinate_c)

    def _solve(self, w: Array, z: Array) -> None:
        """(K B^-1 K^T + I) z = K w - s, w <- w - B^-1 K^T z."""
        z[...] = 0.0
        if self.method == "global":
            self._solve_factored(w, z)
            return
        # rates that cancel to rounding are as good as none
        goal = 1e-14 * float(np.abs(self._rows.k).max()) * float(np.abs(w).max())
        for n in range(_SWEEPS):
            change = sweep_pairwise(self._rows, self._block.inv_mass, w, z)
            goal = max(goal, _REDUCTION * change) if n == 0 else goal
            if change <= goal:
                return
        self.unswept += 1

    def _solve_factored(self, w: Array, z: Array) -> None:
        """The factor is that of the whole operator: z <- z + factor^-1 (K w - s - z), w going along, until the true
        residual is _REDUCTION of the first, or no longer falls because it is rounding: mostly once. What is left is
        measured by the iterations around it, as errors of poses or rates."""
        rows, rest, step = self._rows, self._rest, self._step
        self._factor.setup(self._block.inv_mass)
        first, last = 0.0, inf
        for n in range(_REFINEMENTS):
            rows.apply({BLOCK: w}, rest)
            rest -= rows.wanted
            rest -= z
            size = sqrt(float(rest @ rest))
            if not np.isfinite(size):
                raise PhysicsError("joints: the velocities are not finite; a force or a contact went wrong")
            first = size if n == 0 else first
            if size == 0.0 or (n and (size <= _REDUCTION * first or size > 0.5 * last)):
                return
            last = size
            self._factor.apply(rest, step)
            z += step
            self._give(step, w)

    def _give(self, impulse: Array, w: Array) -> None:
        """w <- w - B^-1 K^T impulse"""
        self._scratch[...] = 0.0
        self._rows.add_transpose(impulse, {BLOCK: self._scratch})
        self._block.apply_inverse_mass(self._scratch, self._scratch)
        w -= self._scratch

    def _record(self, impulse: Array, carry: bool) -> None:
        """Add row impulses (weights 1) to what the bodies and joints have received; w = w* - B^-1 K^T impulse."""
        on_bodies, on_joints = (self._carried, self._carried_j) if carry else (self._impulse, self._impulse_j)
        self._scratch[...] = 0.0
        self._rows.add_transpose(impulse, {BLOCK: self._scratch})
        on_bodies -= self._scratch
        child = -impulse[:, None] * self._rows.k[:, 1]
        # rows of lengths act at the anchor; their torque about the centre of mass is no torque of the joint
        child[np.abs(self._rows.k[:, 1, :3]).max(axis=1) > 0, 3:] = 0.0
        on_joints += np.add.reduceat(child, self._rows.start[:-1])

    def _fail(self, stats: JointStats) -> PhysicsError:
        worst = np.maximum.reduceat(np.abs(self._error), self._rows.start[:-1])
        j = int(np.argmax(worst))
        return PhysicsError(
            f"joint {self._joints[j].name!r}: cannot be held: error {worst[j]:.3g} (angle in rad, or length over the "
            f"arm of {self._joints[j].length:.3g} m) after {stats.iterations} iterations; its loop may not close, a "
            "motion may pull it apart, or the bodies turn too far in a step: take a shorter one"
        )
