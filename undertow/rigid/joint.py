"""One joint: its kind, its frames, the errors and rows it has at given poses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import atan2, cos, sin, sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from undertow.errors import UserError
from undertow.grid import Array
from undertow.grid.jitting import helper
from undertow.rigid.bodies import (
    DYNAMIC,
    RigidBodies,
    conjugate,
    multiply_quaternions,
    quaternion_of_matrix,
    rotate,
    rotate_back,
    rotation_matrix_of,
)
from undertow.rigid.rows import fill_axes

KINDS = ("fixed", "ball", "hinge", "universal", "prismatic", "planar")
FIXED, BALL, HINGE, UNIVERSAL, PRISMATIC, PLANAR = range(6)
ROWS = (6, 7, 6, 7, 6, 6)
"""Rows of each kind: those that hold, then one per coordinate, of its rate, for limits and motors."""

COORDINATES = (
    (), ("x", "y", "z", "bend"), ("angle",), ("first", "second", "bend"), ("length",), ("x", "y", "angle"),
)  # fmt: skip
"""What stays free of each kind, in the frame of the parent (z the axis): the angle of a hinge; the length of a
prismatic joint; of a ball joint swing and twist of its shaft (``choose_shaft``); of a universal joint the twist
2 atan2(q_i, q_0), q being the quaternion of the turn, about the axis of the parent and about that of the child; of a
planar joint two lengths across the axis and the angle about it. bend: the angle between the axes z of a ball joint's
frames, or between the shafts y of a universal one, 0 or more.

Swing and twist (Grassia 1998): e_s the shaft in the parent and e where it has come to, at the angle b from e_s, the two
swings are the components of b n, n = e_s x e / |e_s x e|, and the twist is 2 atan2(q_s, q_0). The swings are those of
the shaft alone, however it is twisted, so that one motor across an arm holds it. With a twist about each axis instead
the arm would turn about itself past the motor: it stands at a saddle of the energy and falls."""

LENGTHS = ((PRISMATIC, "length"), (PLANAR, "x"), (PLANAR, "y"))
"""The coordinates that are lengths [m]; the others are angles [rad]."""

MAIN = {BALL: "bend", HINGE: "angle", UNIVERSAL: "bend", PRISMATIC: "length"}
"""The coordinate that is meant where none is named."""


def name_coordinate(joint: str, kind: int, axis: str) -> int:
    """Which coordinate of a joint ``axis`` names; "" for the one that is meant where none is named."""
    known = COORDINATES[kind]
    chosen = axis or MAIN.get(kind, "")
    if chosen not in known:
        there = f"its coordinates are {', '.join(known)}; name one" if known else "nothing of it is free"
        raise UserError(f"joint {joint!r}: {axis or 'no coordinate'} of a {KINDS[kind]} joint: {there}")
    return known.index(chosen)


WORLD = -1


class JointSpec(NamedTuple):
    """What the kernel sees of m joints. position (m, 2, 3) [m] and turn (m, 2, 4): frames in parent and child, for the
    world in the world. length (m,) [m]: rows of lengths are divided by it. start, first (m + 1,): rows and coordinates
    of each joint. shaft (m,): axis of the frame, 0 to 2."""

    kind: Any
    parent: Any
    child: Any
    position: Array
    turn: Array
    length: Array
    start: Any
    first: Any
    shaft: Any


@dataclass(frozen=True)
class JointStats:
    """What a stabilisation did: linear solves, the largest error (as for ``_TOLERANCE``) or rate [1/s] that is left,
    and whether it was settled which limits act."""

    iterations: int
    error: float
    settled: bool = True


class BrokenJoint(NamedTuple):
    """A joint that broke, and the force [N] and torque [N m] it would have had to hold."""

    name: str
    force: float
    torque: float


@dataclass
class Joint:
    """One joint. parent and child: identities of the bodies, or WORLD; position (2, 3) [m] and turn (2, 4): frames in
    them; length [m]: its arm; limits [rad or m]: of its coordinates; thresholds [N, N m]; collide: the two bodies
    collide all the same; shaft: axis of its frame, of a ball joint."""

    name: str
    kind: int
    parent: int
    child: int
    position: Array
    turn: Array
    length: float
    shaft: int
    limits: list[tuple[float, float]]
    break_force: float
    break_torque: float
    collide: bool


def moves(bodies: RigidBodies, b: int) -> bool:
    """Whether forces move body b; the world is WORLD."""
    return b != WORLD and int(bodies.kind_b[b]) == DYNAMIC


def find_body(bodies: RigidBodies, name: str, body: str) -> int:
    """Index of the body that a joint names."""
    if body not in bodies.names:
        known = ", ".join(bodies.names) or "(none)"
        raise UserError(f"joint {name!r}: joins body {body!r}, which does not exist; the bodies are {known}")
    return bodies.index(body)


def localise(bodies: RigidBodies, b: int, point: Array, frame: Array) -> tuple[Array, Array]:
    """A point and a frame of the world in the principal frame of a body."""
    if b == WORLD:
        return point, frame
    q = bodies.q_b[b]
    return rotation_matrix_of(q).T @ (point - bodies.x_b[b]), multiply_quaternions(conjugate(q), frame)


def choose_shaft(anchor: Array, frame: Array) -> int:
    """Axis (0, 1, 2) of a ball joint's frame that is nearest to the arm of the body it carries, z unless another is
    nearer; anchor (3,) [m] and frame (4,) in the principal frame of the body."""
    arm = np.abs(rotation_matrix_of(frame).T @ anchor)
    return 2 if arm.max() <= (1.0 + 1e-6) * arm[2] else int(np.argmax(arm))


def check_joint(
    bodies: RigidBodies, name: str, kind: str, a: int, b: int, axis: Sequence[float] | Array,
    limits: Mapping[str, tuple[float, float]], break_force: float, break_torque: float,
) -> None:  # fmt: skip
    """Refuse a joint that cannot be: bodies a, b (or WORLD), limits [rad or m] by coordinate, thresholds [N, N m]."""
    if a == b:
        raise UserError(f"joint {name!r}: joins body {bodies.names[b]!r} to itself; give two bodies")
    if not (moves(bodies, a) or moves(bodies, b)):
        first = "the world" if a == WORLD else repr(bodies.names[a])
        raise UserError(f"joint {name!r}: neither {first} nor {bodies.names[b]!r} can move; one of them needs a mass")
    for key, value in (("break_force", break_force), ("break_torque", break_torque)):
        if not value > 0:
            raise UserError(f"joint {name!r}: {key} = {value}: must be positive, or left out")
    for coordinate, (lower, upper) in limits.items():
        if kind == "fixed":
            raise UserError(f"joint {name!r}: limits on a fixed joint, which has no angle or length: remove them")
        number = name_coordinate(name, KINDS.index(kind), coordinate)
        bend = COORDINATES[KINDS.index(kind)][number] == "bend"
        if bodies.dimensions == 2 and kind in ("ball", "universal"):
            raise UserError(f"joint {name!r}: limits {(lower, upper)}: a {kind} joint is limited in 3D; use a hinge")
        if bend and lower > -np.inf:
            raise UserError(
                f"joint {name!r}: limits {(lower, upper)}: a {kind} joint bends up to an upper limit; angles with two "
                f"ends are its coordinates {', '.join(COORDINATES[KINDS.index(kind)][:-1])}"
            )
        if not lower < upper:
            raise UserError(f"joint {name!r}: limits {(lower, upper)}: the lower one comes first and must be lower")
        if not lower <= 0.0 <= upper:
            raise UserError(f"joint {name!r}: limits {(lower, upper)}: 0 is the pose of now and must be within them")
    if bodies.dimensions == 2:
        if kind in ("universal", "planar"):
            raise UserError(f"joint {name!r}: {kind} joints need three dimensions; use ball or hinge")
        off = np.asarray(axis, dtype=float)
        if (kind == "hinge" and (off[0] or off[1])) or (kind == "prismatic" and off[2]):
            raise UserError(f"joint {name!r}: axis = {axis}: in 2D hinges turn about z and sliders stay in the plane")


def joint_frame(
    name: str, kind: str, axis: Sequence[float] | Array, second_axis: Sequence[float] | Array | None
) -> Array:
    """Quaternion of the frame of a joint: z along the axis, x along the second axis."""
    z = np.asarray(axis, dtype=float)
    size = float(np.linalg.norm(z))
    if z.shape != (3,) or not np.isfinite(size) or size == 0:
        raise UserError(f"joint {name!r}: axis = {axis}: must be three numbers, not all 0")
    z = z / size
    if kind == "universal" and second_axis is None:
        raise UserError(f"joint {name!r}: universal joints need a second_axis, across the first")
    if kind not in ("universal", "ball", "planar") and second_axis is not None:
        raise UserError(f"joint {name!r}: second_axis on a {kind} joint; universal, ball and planar joints have one")
    x = np.eye(3)[int(np.argmin(np.abs(z)))] if second_axis is None else np.asarray(second_axis, dtype=float)
    if second_axis is not None and abs(float(x @ z)) > 1e-6 * float(np.linalg.norm(x)):
        raise UserError(f"joint {name!r}: second_axis = {second_axis}: must be perpendicular to axis = {axis}")
    x = x - (x @ z) * z
    x = x / np.linalg.norm(x)
    return quaternion_of_matrix(np.stack([x, np.cross(z, x), z], axis=1))


@njit(cache=True)
def _place(body, position, turn, x, q, out_point, out_turn):  # type: ignore[no-untyped-def]
    """A frame of a body in the world."""
    if body < 0:
        for i in range(3):
            out_point[i] = position[i]
        for i in range(4):
            out_turn[i] = turn[i]
        return
    a, b, c = rotate(q[body], position[0], position[1], position[2])
    out_point[0], out_point[1], out_point[2] = x[body, 0] + a, x[body, 1] + b, x[body, 2] + c
    w, x1, y1, z1 = q[body, 0], q[body, 1], q[body, 2], q[body, 3]
    s, x2, y2, z2 = turn[0], turn[1], turn[2], turn[3]
    out_turn[0] = w * s - x1 * x2 - y1 * y2 - z1 * z2
    out_turn[1] = w * x2 + s * x1 + y1 * z2 - z1 * y2
    out_turn[2] = w * y2 + s * y1 + z1 * x2 - x1 * z2
    out_turn[3] = w * z2 + s * z1 + x1 * y2 - y1 * x2


@njit(cache=True)
def _set_row(k, r, linear, direction, arm_a, arm_b, scale):  # type: ignore[no-untyped-def]
    """Rate of the child relative to the parent along (linear) or about a direction, at arms from the two centres."""
    dx, dy, dz = direction[0] * scale, direction[1] * scale, direction[2] * scale
    for side in range(2):
        sign = -1.0 if side == 0 else 1.0
        for i in range(3):
            k[r, side, i] = sign * direction[i] * scale if linear else 0.0
        if linear:
            arm = arm_a if side == 0 else arm_b
            k[r, side, 3] = sign * (arm[1] * dz - arm[2] * dy)
            k[r, side, 4] = sign * (arm[2] * dx - arm[0] * dz)
            k[r, side, 5] = sign * (arm[0] * dy - arm[1] * dx)
        else:
            k[r, side, 3], k[r, side, 4], k[r, side, 5] = sign * dx, sign * dy, sign * dz


@helper
def _add_twist(i, w, p, a, b, axes, rows, along, out_error, r, n):  # type: ignore[no-untyped-def]
    """Row n: the rate of the twist 2 atan2(p, w) about axis i of a turn with the quaternion (w; p, a, b), these along i
    and the two axes after it. With dq/dt = (0, omega) q / 2 it is omega . (e_i + ((w b + p a) e_a + (p b - w a) e_b) /
    (w^2 + p^2)). Returns the number of the next row."""
    size = w * w + p * p
    f, g = (w * b + p * a, p * b - w * a) if size > 1e-24 else (0.0, 0.0)
    f, g = f / max(size, 1e-24), g / max(size, 1e-24)
    j, k = (i + 1) % 3, (i + 2) % 3
    out_error[r + n] = 0.0
    along[n] = False
    for c in range(3):
        rows[n, c] = axes[i, c] + f * axes[j, c] + g * axes[k, c]
    return n + 1


@helper
def _swing(s, w, turn):  # type: ignore[no-untyped-def]
    """Direction (n_i, n_j) and angle of the swing of the shaft s of a turn with the quaternion (w; turn), i and j being
    the axes after s."""
    i, j = (s + 1) % 3, (s + 2) % 3
    n_i, n_j = w * turn[i] - turn[j] * turn[s], turn[i] * turn[s] + w * turn[j]
    size = sqrt(n_i * n_i + n_j * n_j)
    if size < 1e-12:
        n_i, n_j, size = 1.0, 0.0, 1.0
    bend = 2.0 * atan2(sqrt(turn[i] * turn[i] + turn[j] * turn[j]), sqrt(w * w + turn[s] * turn[s]))
    return n_i / size, n_j / size, bend


@helper
def _add_swing_and_twist(s, w, turn, axes, rows, along, out_error, r, n):  # type: ignore[no-untyped-def]
    """Rows n to n + 2: rates of the coordinates of a ball joint with the shaft s. The swing b n changes by

        d(b n)/dt = (n n^T + b cot(b) m m^T) omega + b omega_s m,  m = e_s x n,

    omega and m across the shaft of the parent. Returns the number of the next row."""
    i, j = (s + 1) % 3, (s + 2) % 3
    n_i, n_j, bend = _swing(s, w, turn)
    # at half a turn the shaft has come round from all sides at once
    across = max(bend * cos(bend) / sin(bend), -1e3) if bend > 1e-6 else 1.0
    _add_twist(s, w, turn[s], turn[i], turn[j], axes, rows, along, out_error, r, n + s)
    for c in range(3):
        mixed = n_i * n_j * (1.0 - across)
        rows[n + i, c] = (n_i * n_i + across * n_j * n_j) * axes[i, c] + mixed * axes[j, c] - bend * n_j * axes[s, c]
        rows[n + j, c] = mixed * axes[i, c] + (n_j * n_j + across * n_i * n_i) * axes[j, c] + bend * n_i * axes[s, c]
    for c in range(3):
        out_error[r + n + c] = 0.0
        along[n + c] = False
    return n + 3


@njit(cache=True)
def evaluate_joints(joints, x, q, build, out_k, out_error, out_coordinate):  # type: ignore[no-untyped-def]
    """Errors (lengths divided by the joint's) and coordinates at poses x, q; with ``build`` the rows there.

    The forces of both bodies act at the anchor in the child, so that no error makes a net torque.
    """
    point_a, point_b, d = np.empty(3), np.empty(3), np.empty(3)
    turn_a, turn_b = np.empty(4), np.empty(4)
    arm_a, arm_b = np.zeros(3), np.zeros(3)
    axes, rows = np.empty((3, 3)), np.empty((7, 3))
    along = np.zeros(7, dtype=np.bool_)
    turn = np.empty(3)
    for j in range(len(joints.kind)):
        kind, a, b = joints.kind[j], joints.parent[j], joints.child[j]
        _place(a, joints.position[j, 0], joints.turn[j, 0], x, q, point_a, turn_a)
        _place(b, joints.position[j, 1], joints.turn[j, 1], x, q, point_b, turn_b)
        scale = 1.0 / joints.length[j]
        fill_axes(turn_a, axes)
        d[0], d[1], d[2] = rotate_back(
            turn_a, point_b[0] - point_a[0], point_b[1] - point_a[1], point_b[2] - point_a[2]
        )
        # turn between the frames, as a quaternion in the parent's
        w = turn_a[0] * turn_b[0] + turn_a[1] * turn_b[1] + turn_a[2] * turn_b[2] + turn_a[3] * turn_b[3]
        u = turn_a[0] * turn_b[1] - turn_a[1] * turn_b[0] - turn_a[2] * turn_b[3] + turn_a[3] * turn_b[2]
        v = turn_a[0] * turn_b[2] - turn_a[2] * turn_b[0] - turn_a[3] * turn_b[1] + turn_a[1] * turn_b[3]
        t = turn_a[0] * turn_b[3] - turn_a[3] * turn_b[0] - turn_a[1] * turn_b[2] + turn_a[2] * turn_b[1]
        first = joints.first[j]
        if kind == PRISMATIC:
            out_coordinate[first] = d[2]
        elif kind == BALL:
            turn[0], turn[1], turn[2] = u, v, t
            shaft = joints.shaft[j]
            n_i, n_j, bend = _swing(shaft, w, turn)
            out_coordinate[first + (shaft + 1) % 3] = bend * n_i
            out_coordinate[first + (shaft + 2) % 3] = bend * n_j
            out_coordinate[first + shaft] = 2.0 * atan2(turn[shaft], w)
            out_coordinate[first + 3] = 2.0 * atan2(sqrt(u * u + v * v), sqrt(w * w + t * t))
        elif kind == UNIVERSAL:
            out_coordinate[first] = 2.0 * atan2(t, w)
            out_coordinate[first + 1] = 2.0 * atan2(u, w)
            out_coordinate[first + 2] = 2.0 * atan2(sqrt(u * u + t * t), sqrt(w * w + v * v))
        elif kind == HINGE:
            out_coordinate[first] = 2.0 * atan2(t, w)
        elif kind == PLANAR:
            out_coordinate[first], out_coordinate[first + 1] = d[0], d[1]
            out_coordinate[first + 2] = 2.0 * atan2(t, w)
        if build:
            for i in range(3):
                arm_a[i] = point_b[i] - x[a, i] if a >= 0 else 0.0
                arm_b[i] = point_b[i] - x[b, i] if b >= 0 else 0.0

        # directions of the rows, rows of lengths before those of angles, the free coordinates last
        r, n = joints.start[j], 0
        for i in range(3):
            if (kind == PRISMATIC and i == 2) or (kind == PLANAR and i != 2):
                continue
            out_error[r + n] = d[i] * scale
            along[n] = True
            for c in range(3):
                rows[n, c] = axes[i, c]
            n += 1
        turn[0], turn[1], turn[2] = 0.0, 0.0, 0.0
        if kind in (FIXED, PRISMATIC):
            sign = 2.0 if w >= 0.0 else -2.0
            turn[0], turn[1], turn[2] = sign * u, sign * v, sign * t
        elif kind in (HINGE, PLANAR):
            # z of the child, seen from the parent, is turned away from z about (-cy, cx, 0); twice the vector part of
            # that turn, sin(angle / 2)
            cx, cy = 2.0 * (u * t + w * v), 2.0 * (v * t - w * u)
            cz = 1.0 - 2.0 * (u * u + v * v)
            f = sqrt(2.0 / (1.0 + cz)) if cz > -1.0 + 1e-14 else 0.0
            turn[0], turn[1] = (-cy * f, cx * f) if f > 0.0 else (2.0, 0.0)
        elif kind == UNIVERSAL:
            # z of the parent . x of the child, and the direction about which it changes
            bx, by, bz = rotate(turn_b, 1.0, 0.0, 0.0)
            out_error[r + n] = bx * axes[2, 0] + by * axes[2, 1] + bz * axes[2, 2]
            along[n] = False
            rows[n, 0] = by * axes[2, 2] - bz * axes[2, 1]
            rows[n, 1] = bz * axes[2, 0] - bx * axes[2, 2]
            rows[n, 2] = bx * axes[2, 1] - by * axes[2, 0]
            n += 1
        if kind not in (BALL, UNIVERSAL):
            for i in range(2 if kind == PLANAR else 3):
                out_error[r + n] = turn[i]
                along[n] = False
                for c in range(3):
                    rows[n, c] = axes[i, c]
                n += 1
        if kind == PRISMATIC:
            out_error[r + n] = d[2] * scale
            along[n] = True
            for c in range(3):
                rows[n, c] = axes[2, c]
            n += 1
        elif kind == PLANAR:
            for i in range(2):
                out_error[r + n] = 0.0
                along[n] = True
                for c in range(3):
                    rows[n, c] = axes[i, c]
                n += 1
            n = _add_twist(2, w, t, u, v, axes, rows, along, out_error, r, n)
        elif kind in (BALL, UNIVERSAL):
            if kind == BALL:
                turn[0], turn[1], turn[2] = u, v, t
                n = _add_swing_and_twist(joints.shaft[j], w, turn, axes, rows, along, out_error, r, n)
            else:
                n = _add_twist(2, w, t, u, v, axes, rows, along, out_error, r, n)
                n = _add_twist(0, w, u, v, t, axes, rows, along, out_error, r, n)
            # it bends about e x e', e the parent's axis and e' the child's; any way where it is straight
            if kind == BALL:
                f0, f1, f2 = -2.0 * (v * t - w * u), 2.0 * (u * t + w * v), 0.0
            else:
                f0, f1, f2 = 2.0 * (v * t + w * u), 0.0, -2.0 * (u * v - w * t)
            size = sqrt(f0 * f0 + f1 * f1 + f2 * f2)
            if size < 1e-12:
                f0, f1, f2, size = 1.0, 0.0, 0.0, 1.0
            out_error[r + n] = 0.0
            along[n] = False
            for c in range(3):
                rows[n, c] = (f0 * axes[0, c] + f1 * axes[1, c] + f2 * axes[2, c]) / size
            n += 1
        if build:
            for i in range(n):
                _set_row(out_k, r + i, along[i], rows[i], arm_a, arm_b, scale if along[i] else 1.0)
