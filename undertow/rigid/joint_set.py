"""The joints there are: who is joined to whom, where they stand, and the rows they make; what a step does with them is
in ``joints``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import inf, pi

import numpy as np

from undertow.errors import UserError
from undertow.grid import Array
from undertow.rigid.bodies import DYNAMIC, RigidBodies
from undertow.rigid.control import JointControl
from undertow.rigid.joint import (
    COORDINATES,
    KINDS,
    LENGTHS,
    ROWS,
    WORLD,
    Joint,
    JointSpec,
    check_joint,
    choose_shaft,
    evaluate_joints,
    find_body,
    joint_frame,
    localise,
    moves,
    name_coordinate,
)
from undertow.rigid.rows import COMPLIANCE, BandedFactor, JointRows, RigidVelocities


class JointSet:
    """Joints between the bodies of a simulation, and their controllers.

    State: ``broken_j`` (0 or 1); ``coordinate_c``, the coordinates of all joints (``joint.COORDINATES``), angles [rad]
    counted through full turns and lengths [m]; ``target_k`` (controllers, 2), targets that were set during the run.
    """

    def __init__(self, bodies: RigidBodies) -> None:
        self.bodies = bodies
        self.controls: list[JointControl] = []
        self.target_k = np.zeros((0, 2))
        self._joints: list[Joint] = []
        self._built = 0
        self._predicted = np.zeros(0)
        self._identities = np.zeros(0, dtype=np.int64)
        self.broken_j = np.zeros(0, dtype=np.int64)
        self.coordinate_c = np.zeros(0)
        self.force_j, self.torque_j = np.zeros((0, 3)), np.zeros((0, 3))
        self.force_b, self.torque_b = np.zeros((bodies.count, 3)), np.zeros((bodies.count, 3))

    @property
    def count(self) -> int:
        return len(self._joints)

    @property
    def names(self) -> list[str]:
        return [joint.name for joint in self._joints]

    def index(self, name: str) -> int:
        """Position of a joint by name."""
        if name not in self.names:
            raise UserError(f"joint {name!r}: no such joint; the joints are {', '.join(self.names) or '(none)'}")
        return self.names.index(name)

    # building -------------------------------------------------------------------------------------------------------

    def add(
        self,
        name: str,
        kind: str,
        parent: str | None,
        child: str,
        position: Sequence[float] | Array,
        axis: Sequence[float] | Array = (0.0, 0.0, 1.0),
        second_axis: Sequence[float] | Array | None = None,
        limits: tuple[float, float] | None = None,
        break_force: float = inf,
        break_torque: float = inf,
        collide: bool = False,
        coordinate_limits: Mapping[str, tuple[float, float]] | None = None,
    ) -> int:
        """Join two bodies at a point of the world [m], in the poses they have now.

        parent: None for the world. axis: of a hinge, the direction of a prismatic joint, the normal of a planar one, or
        the axis of a universal joint in its parent (``second_axis``: in its child, across the first; of a ball or
        planar joint: x of its frame). limits: lowest and highest angle [rad] of a hinge or length [m] of a prismatic
        joint, 0 being the pose of now; (-inf, angle) of a ball joint (a cone about ``axis``) or a universal one (of its
        shaft, across both axes). coordinate_limits: of the coordinates by name (``joint.COORDINATES``). break_force
        [N], break_torque [N m]: the joint breaks when a step needs more. collide: the two bodies collide all the same.
        """
        made = self.make(
            name, kind, parent, child, position, axis, second_axis, limits, break_force, break_torque, collide,
            coordinate_limits,
        )  # fmt: skip
        return self.put(made)

    def make(
        self,
        name: str,
        kind: str,
        parent: str | None,
        child: str,
        position: Sequence[float] | Array,
        axis: Sequence[float] | Array = (0.0, 0.0, 1.0),
        second_axis: Sequence[float] | Array | None = None,
        limits: tuple[float, float] | None = None,
        break_force: float = inf,
        break_torque: float = inf,
        collide: bool = False,
        coordinate_limits: Mapping[str, tuple[float, float]] | None = None,
    ) -> Joint:
        """The joint that ``add`` would put in, in the frames of its bodies."""
        if name in self.names:
            raise UserError(f"joint {name!r}: exists already; names are unique")
        if kind not in KINDS:
            raise UserError(f"joint {name!r}: kind = {kind!r}: must be one of {', '.join(KINDS)}")
        a = WORLD if parent is None else find_body(self.bodies, name, parent)
        b = find_body(self.bodies, name, child)
        chosen = {**({} if limits is None else {"": limits}), **(coordinate_limits or {})}
        check_joint(self.bodies, name, kind, a, b, axis, chosen, break_force, break_torque)
        bounds = [(-inf, inf)] * len(COORDINATES[KINDS.index(kind)])
        for coordinate, (lower, upper) in chosen.items():
            bounds[name_coordinate(name, KINDS.index(kind), coordinate)] = (float(lower), float(upper))
        frame = joint_frame(name, kind, axis, second_axis)
        anchor = np.asarray(position, dtype=float)
        local = [localise(self.bodies, i, anchor, frame) for i in (a, b)]
        arms = [float(np.linalg.norm(p)) for i, (p, _) in zip((a, b), local, strict=True) if moves(self.bodies, i)]
        identities = self.bodies.identity_b
        return Joint(
            name,
            KINDS.index(kind),
            WORLD if a == WORLD else int(identities[a]),
            int(identities[b]),
            np.array([p for p, _ in local]),
            np.array([q for _, q in local]),
            max(arms) or 1.0,
            choose_shaft(*local[1 if moves(self.bodies, b) else 0]),
            bounds,
            float(break_force),
            float(break_torque),
            collide,
        )

    def put(self, joint: Joint) -> int:
        """A joint more."""
        self._joints.append(joint)
        self.broken_j = np.append(self.broken_j, 0)
        self.coordinate_c = np.append(self.coordinate_c, np.zeros(len(joint.limits)))
        return self.count - 1

    def holding(self, identities: Collection[int]) -> list[Joint]:
        """The joints that hold any of some bodies."""
        pairs = zip(self._joints, self.broken_j, strict=True)
        return [j for j, broken in pairs if not broken and (j.parent in identities or j.child in identities)]

    def held(self) -> list[int]:
        """Identities of the bodies that joints hold."""
        pairs = zip(self._joints, self.broken_j, strict=True)
        return [end for joint, broken in pairs if not broken for end in (joint.parent, joint.child)]

    def release(self, name: str) -> None:
        """A joint holds nothing from now on, as if it had broken."""
        self.broken_j[self.index(name)] = 1

    def adopt(self, before: JointSet) -> None:
        """Go on from the states that joints of the same names have in another set."""
        first = np.concatenate([[0], np.cumsum([len(joint.limits) for joint in self._joints])]).astype(np.int64)
        was = np.concatenate([[0], np.cumsum([len(joint.limits) for joint in before._joints])]).astype(np.int64)
        for j, name in enumerate(self.names):
            if name in before.names:
                i = before.index(name)
                self.broken_j[j] = before.broken_j[i]
                self.coordinate_c[first[j] : first[j + 1]] = before.coordinate_c[was[i] : was[i + 1]]
        targets = {(one.joint, one.axis): before.target_k[k] for k, one in enumerate(before.controls)}
        for k, one in enumerate(self.controls):
            self.target_k[k] = targets.get((one.joint, one.axis), self.target_k[k])

    def control(self, control: JointControl) -> None:
        """Drive a joint towards a target."""
        kind = self._joints[self.index(control.joint)].kind
        if not COORDINATES[kind]:
            raise UserError(f"control of joint {control.joint!r}: is {KINDS[kind]}; nothing of it is free to be driven")
        if COORDINATES[kind][name_coordinate(control.joint, kind, control.axis)] == "bend":
            raise UserError(
                f"control of joint {control.joint!r}: is {KINDS[kind]}, whose bend has no two ways; name one of its "
                f"coordinates {', '.join(COORDINATES[kind][:-1])}"
            )
        if any((known.joint, known.axis) == (control.joint, control.axis) for known in self.controls):
            raise UserError(f"control of joint {control.joint!r}: exists already; a coordinate has one controller")
        self.controls.append(control)
        self.target_k = np.append(self.target_k, [[np.nan, np.nan]], axis=0)

    def set_target(self, joint: str, value: float, rate: float = 0.0, axis: str = "") -> None:
        """From now on the controller of a coordinate aims at a value [rad, m] and rate [rad/s, m/s], which stay: the
        place of its curve. What was set is part of the state."""
        for k, control in enumerate(self.controls):
            if (control.joint, control.axis) == (joint, axis):
                if not (np.isfinite(value) and np.isfinite(rate)):
                    raise UserError(f"joint {joint!r}: target {value} at a rate of {rate}: must be finite numbers")
                self.target_k[k] = value, rate
                return
        raise self._no_control(joint, axis)

    def target(self, joint: str, time: float, axis: str = "") -> float:
        """What the controller of a coordinate aims at [rad, m]: what was set, or its curve at a time [s]."""
        for k, control in enumerate(self.controls):
            if (control.joint, control.axis) == (joint, axis):
                given = float(self.target_k[k, 0])
                return given if np.isfinite(given) else float(control.target.value(time))
        raise self._no_control(joint, axis)

    def _no_control(self, joint: str, axis: str) -> UserError:
        known = ", ".join(f"{c.joint}.{c.axis}" if c.axis else c.joint for c in self.controls) or "(none)"
        return UserError(f"joint {joint!r}: coordinate {axis!r} has no controller; those there are: {known}")

    def errors(self) -> Array:
        """Largest error of each joint in the poses of now (m,): lengths relative to its arm, angles in rad."""
        if not self._refresh():
            return np.zeros(self.count)
        self._evaluate(self.bodies.x_b, self.bodies.q_b, build=False)
        error = np.abs(np.where(self._constraint_rows(), self._error, 0.0))
        return np.maximum.reduceat(error, self._rows.start[:-1])

    def matrix(self) -> Array:
        """Rows G (m, 6 n) on the twists of all bodies, in the poses of now: G w = 0 holds the joints, limits aside."""
        count = self.bodies.count
        if not self._refresh():
            return np.zeros((0, 6 * count))
        self._evaluate(self.bodies.x_b, self.bodies.q_b, build=True)
        held = np.flatnonzero(self._constraint_rows())
        rows = np.zeros((len(held), count, 6))
        for side in range(2):
            body = self._rows.body[held, side]
            there = np.flatnonzero(body >= 0)
            rows[there, body[there]] += self._rows.k[held[there], side]
        return rows.reshape(len(held), 6 * count)

    def mobility(self, bodies: np.ndarray) -> tuple[np.ndarray, Array]:
        """What the joints leave of M^-1 in the mechanisms that ``bodies`` (indices) belong to, in the poses of now.

        Returns slot (n,), which of the k joined bodies each body is (-1: none), and P M^-1 (6 k, 6 k),

            P M^-1 = M^-1 - M^-1 G^T (G M^-1 G^T)^-1 G M^-1,

        of the rows G that always hold; rows that say the same count once. Limits take no part.
        """
        slot = np.full(self.bodies.count, -1, dtype=np.int64)
        if not self._refresh():
            return slot, np.zeros((0, 0))
        moving = self.bodies.kind_b == DYNAMIC
        wanted = np.zeros(self.bodies.count, dtype=np.bool_)
        wanted[bodies] = True
        ends = [
            [b for b in (int(self._parent[j]), int(self._child[j])) if b >= 0 and moving[b]]
            for j in range(self.count) if not self.broken_j[j]
        ]  # fmt: skip
        spreading = True
        while spreading:
            spreading = False
            for pair in ends:
                if wanted[pair].any() and not wanted[pair].all():
                    wanted[pair] = spreading = True
        joined = sorted({b for pair in ends for b in pair if wanted[b]})
        slot[joined] = np.arange(len(joined))
        matrix = self.matrix()
        rows = matrix.reshape(len(matrix), self.bodies.count, 6)[:, joined].reshape(len(matrix), 6 * len(joined))
        rows = rows[np.abs(rows).max(axis=1, initial=0.0) > 0.0]
        self._block.set_masses(self.bodies)
        inverse = np.zeros((len(joined), 6, len(joined), 6))
        for k, b in enumerate(joined):
            inverse[k, :, k] = self._block.inv_mass[b]
        free = inverse.reshape(6 * len(joined), 6 * len(joined))
        answer = rows @ free
        held = np.linalg.pinv(answer @ rows.T, rcond=COMPLIANCE, hermitian=True)
        return slot, np.ascontiguousarray(free - answer.T @ held @ answer)

    def coordinate(self, name: str, axis: str = "") -> float:
        """A coordinate [rad or m] of a joint in the poses of now; see ``joint.COORDINATES``."""
        j = self.index(name)
        number = name_coordinate(name, self._joints[j].kind, axis)
        if self._refresh():
            self._evaluate(self.bodies.x_b, self.bodies.q_b, build=False)
            self._unwrap()
        return float(self.coordinate_c[self._spec.first[j] + number])

    def excluded_pairs(self) -> np.ndarray:
        """Bodies (k, 2), lower index first, that are joined and do not collide."""
        if not self._refresh():
            return np.zeros((0, 2), dtype=np.int64)
        pairs = {
            (min(a, b), max(a, b))
            for a, b, joint, broken in zip(self._parent, self._child, self._joints, self.broken_j, strict=True)
            if not broken and not joint.collide and a >= 0 and b >= 0
        }
        return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)

    def arrays(self) -> dict[str, np.ndarray]:
        """What evolves, by name; saving and restoring it continues the run bit for bit."""
        found = {"joints_broken": self.broken_j, "joints_coordinate": self.coordinate_c}
        return {**found, "joints_target": self.target_k} if self.controls else found

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over what ``arrays`` gave."""
        for name, array in self.arrays().items():
            array[...] = arrays[name]

    # what the stabilisations are made of ----------------------------------------------------------------------------

    def _refresh(self) -> bool:
        """Rebuild what depends on which joints and bodies there are; joints whose body is gone are broken.

        Returns whether there is anything to do.
        """
        if not self._joints:
            return False
        if self._built == self.count and np.array_equal(self._identities, self.bodies.identity_b):
            return True
        self._built, self._identities = self.count, self.bodies.identity_b.copy()
        count = self.bodies.count
        where = {int(identity): b for b, identity in enumerate(self.bodies.identity_b)}
        self._parent = np.array([WORLD if j.parent == WORLD else where.get(j.parent, -2) for j in self._joints], int)
        self._child = np.array([where.get(j.child, -2) for j in self._joints], int)
        gone = (self._parent == -2) | (self._child == -2)
        self.broken_j[gone] = 1
        self._parent[gone] = self._child[gone] = WORLD
        start = np.concatenate([[0], np.cumsum([ROWS[j.kind] for j in self._joints])]).astype(np.int64)
        joint_r = np.repeat(np.arange(self.count), np.diff(start))
        body = np.stack([self._parent[joint_r], self._child[joint_r]], axis=1).astype(np.int64)
        self._spec = JointSpec(
            np.array([j.kind for j in self._joints], dtype=np.int64),
            self._parent.astype(np.int64),
            self._child.astype(np.int64),
            np.array([j.position for j in self._joints]).reshape(-1, 2, 3),
            np.array([j.turn for j in self._joints]).reshape(-1, 2, 4),
            np.array([j.length for j in self._joints], dtype=float),
            start,
            np.concatenate([[0], np.cumsum([len(COORDINATES[j.kind]) for j in self._joints])]).astype(np.int64),
            np.array([j.shaft for j in self._joints], dtype=np.int64),
        )
        self._joint_r = joint_r
        names = [(j.kind, name) for j in self._joints for name in COORDINATES[j.kind]]
        self._joint_c = np.repeat(np.arange(self.count), np.diff(self._spec.first))
        self._row_c = start[self._joint_c + 1] - self._spec.first[self._joint_c + 1] + np.arange(len(names))
        self._free_r = np.zeros(len(body), dtype=np.bool_)
        self._free_r[self._row_c] = True
        limits = np.array([limit for j in self._joints for limit in j.limits]).reshape(-1, 2)
        self._lower_c, self._upper_c = limits[:, 0].copy(), limits[:, 1].copy()
        length = np.array([name in LENGTHS for name in names], dtype=bool)
        self._unit_c = np.where(length, self._spec.length[self._joint_c], 1.0)
        self._turning_c = ~length & np.array([name != "bend" for _, name in names], dtype=bool)
        self._rows = JointRows(start, body)
        self._block = RigidVelocities(count)
        self._factor = BandedFactor(self._rows, self.bodies.kind_b == DYNAMIC)
        self._w = np.zeros((count, 6))
        self._z, self._error = np.zeros(len(body)), np.zeros(len(body))
        self._rest, self._step = np.zeros(len(body)), np.zeros(len(body))
        self._raw = np.zeros(len(names))
        self._predicted = np.zeros(len(names))
        self._x, self._q = np.zeros((count, 3)), np.zeros((count, 4))
        self._scratch = np.zeros((count, 6))
        self._impulse, self._carried = np.zeros((count, 6)), np.zeros((count, 6))
        self._impulse_j, self._carried_j = np.zeros((self.count, 6)), np.zeros((self.count, 6))
        self.force_b, self.torque_b = np.zeros((count, 3)), np.zeros((count, 3))
        self.force_j, self.torque_j = np.zeros((self.count, 3)), np.zeros((self.count, 3))
        return True

    def _coordinate_row(self, c: int) -> int:
        """The row of a coordinate."""
        return int(self._row_c[c])

    def _constraint_rows(self) -> np.ndarray:
        """Which rows always hold: all of joints that are not broken, less free coordinates."""
        return np.asarray((self.broken_j[self._joint_r] == 0) & ~self._free_r)

    def _evaluate(self, x: Array, q: Array, build: bool) -> None:
        """Errors of all rows and raw coordinates at poses x, q; with ``build`` the rows k too."""
        evaluate_joints(self._spec, x, q, build, self._rows.k, self._error, self._raw)

    def _unwrap(self) -> None:
        """Coordinates of now: angles count full turns from where they were."""
        self.coordinate_c[...] = self._continued(self.coordinate_c)

    def _continued(self, before: Array) -> Array:
        turns = np.where(self._turning_c, np.round((before - self._raw) / (2 * pi)), 0.0)
        return np.asarray(self._raw + 2 * pi * turns)
