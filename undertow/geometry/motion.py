"""Prescribed motions: curves in time, and the pose and velocity of a body that follows them.

``pose(t)`` is a pure function of time (nothing is integrated from step to step), so a resumed run continues with the
same bits. Times in s, positions in m, angular velocities in rad/s in the world frame; a rotation matrix takes body to
world.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import cos, pi, sin
from typing import Protocol

import numpy as np

from undertow.errors import UserError
from undertow.grid import Array

Value = float | Array
"""A scalar, or a vector (3,)."""

Pose = tuple[Array, Array]
"""Position (3,) [m] and rotation matrix (3, 3), body to world."""

Twist = tuple[Array, Array]
"""Linear (3,) [m/s] and angular velocity (3,) [rad/s], world frame, at the body's origin."""


class Curve(Protocol):
    """A quantity that varies in time, with its exact derivative and integral."""

    def value(self, t: float) -> Value: ...

    def derivative(self, t: float) -> Value: ...

    def integral(self, t0: float, t1: float) -> Value: ...


def _plain(value: object) -> Value:
    """A float for a scalar, a float array for anything else."""
    array = np.array(value, dtype=float)
    return float(array) if array.ndim == 0 else array


class ConstantCurve:
    """q(t) = constant."""

    def __init__(self, constant: object):
        self.constant = _plain(constant)

    def value(self, t: float) -> Value:
        return self.constant

    def derivative(self, t: float) -> Value:
        return 0.0 * self.constant

    def integral(self, t0: float, t1: float) -> Value:
        return (t1 - t0) * self.constant


class SineCurve:
    """q(t) = mean + amplitude sin(2 pi frequency t + phase); frequency in Hz, phase in rad."""

    def __init__(self, mean: object, amplitude: object, frequency: float, phase: float = 0.0):
        self.mean, self.amplitude = _plain(mean), _plain(amplitude)
        self.frequency, self.phase = float(frequency), float(phase)

    def value(self, t: float) -> Value:
        return self.mean + self.amplitude * sin(2 * pi * self.frequency * t + self.phase)

    def derivative(self, t: float) -> Value:
        rate = 2 * pi * self.frequency
        return 0.0 * self.mean + self.amplitude * (rate * cos(rate * t + self.phase))

    def integral(self, t0: float, t1: float) -> Value:
        rate = 2 * pi * self.frequency
        if rate == 0.0:
            return (t1 - t0) * self.value(0.0)
        # cos a - cos b as a product: no cancellation for short intervals
        wave = 2.0 * sin(0.5 * rate * (t0 + t1) + self.phase) * sin(0.5 * rate * (t1 - t0)) / rate
        return (t1 - t0) * self.mean + wave * self.amplitude


class TableCurve:
    """Values at given times, held constant before the first and after the last.

    interpolation: "linear"; "step" (the value of the last time reached); "smooth" (3 s^2 - 2 s^3 between neighbours:
    continuous derivative, no overshoot).
    """

    def __init__(self, times: Sequence[float], values: Sequence[object], interpolation: str = "linear"):
        self.times = np.array(times, dtype=float)
        self.values = np.array(values, dtype=float)
        self.interpolation = interpolation
        if self.times.ndim != 1 or len(self.times) == 0 or np.any(np.diff(self.times) <= 0):
            raise UserError(f"curve: times = {list(times)}: must be at least one time, strictly increasing, in seconds")
        if len(self.values) != len(self.times):
            raise UserError(f"curve: {len(self.values)} values for {len(self.times)} times: give one value per time")
        if interpolation not in ("linear", "step", "smooth"):
            raise UserError(f"curve: interpolation = {interpolation!r}: must be linear, step or smooth")
        pieces = np.diff(self.times).reshape(-1, *[1] * (self.values.ndim - 1))
        mean = self.values[:-1] if interpolation == "step" else 0.5 * (self.values[:-1] + self.values[1:])
        self._integrals = np.concatenate([np.zeros_like(self.values[:1]), np.cumsum(pieces * mean, axis=0)])

    def _locate(self, t: float) -> tuple[int, float, float]:
        """Interval n, fraction s in [0, 1) of it and its length, for a time inside the table."""
        n = min(int(np.searchsorted(self.times, t, side="right")) - 1, len(self.times) - 2)
        length = float(self.times[n + 1] - self.times[n])
        return n, (t - float(self.times[n])) / length, length

    def value(self, t: float) -> Value:
        if t < self.times[0]:
            return _plain(self.values[0])
        if t >= self.times[-1]:
            return _plain(self.values[-1])
        n, s, _ = self._locate(t)
        weight = {"linear": s, "step": 0.0, "smooth": s * s * (3.0 - 2.0 * s)}[self.interpolation]
        return _plain((1.0 - weight) * self.values[n] + weight * self.values[n + 1])

    def derivative(self, t: float) -> Value:
        """Right derivative at the knots; zero outside the table and, away from its jumps, for steps."""
        if t < self.times[0] or t >= self.times[-1]:
            return _plain(0.0 * self.values[0])
        n, s, length = self._locate(t)
        slope = {"linear": 1.0, "step": 0.0, "smooth": 6.0 * s * (1.0 - s)}[self.interpolation]
        return _plain(slope / length * (self.values[n + 1] - self.values[n]))

    def _from_start(self, t: float) -> Value:
        """Integral from the first time to t."""
        if t <= self.times[0]:
            return _plain((t - self.times[0]) * self.values[0])
        if t >= self.times[-1]:
            return _plain(self._integrals[-1] + (t - self.times[-1]) * self.values[-1])
        n, s, length = self._locate(t)
        weight = {"linear": 0.5 * s * s, "step": 0.0, "smooth": s**3 * (1.0 - 0.5 * s)}[self.interpolation]
        part = s * self.values[n] + weight * (self.values[n + 1] - self.values[n])
        return _plain(self._integrals[n] + length * part)

    def integral(self, t0: float, t1: float) -> Value:
        return _plain(np.subtract(self._from_start(t1), self._from_start(t0)))


class Motion(Protocol):
    """Pose and velocity of a body as functions of time."""

    def pose(self, t: float) -> Pose: ...

    def velocity(self, t: float) -> Twist: ...


def rotation_matrix(axis: Sequence[float], degrees: float) -> Array:
    """Rotation by ``degrees`` about ``axis`` (right-handed), shape (3, 3)."""
    length = float(np.linalg.norm(axis))
    if degrees == 0.0:
        return np.eye(3)
    if not (np.isfinite(length) and length > 0):
        raise UserError(f"rotation: axis = {list(axis)}: must not be zero; e.g. [0, 0, 1]")
    return rotation_exponential(np.radians(degrees) / length * np.asarray(axis, dtype=float))


def quaternion_of_matrix(R: Array) -> Array:
    """Unit quaternion (w, x, y, z) of a rotation matrix, from its largest component (Shepperd 1978)."""
    squares = np.array(
        [
            1 + R[0, 0] + R[1, 1] + R[2, 2],
            1 + R[0, 0] - R[1, 1] - R[2, 2],
            1 - R[0, 0] + R[1, 1] - R[2, 2],
            1 - R[0, 0] - R[1, 1] + R[2, 2],
        ]
    )
    k = int(np.argmax(squares))
    d = 2 * np.sqrt(squares[k])
    skew = (R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
    q = np.empty(4)
    q[k] = d / 4
    if k == 0:
        q[1:] = skew
    else:
        i = k - 1
        q[0] = skew[i]
        for j in range(3):
            if j != i:
                q[1 + j] = R[i, j] + R[j, i]
    q[np.arange(4) != k] /= d
    return np.asarray(q / np.linalg.norm(q))


def rotation_exponential(vector: Array) -> Array:
    """exp([v]x): the rotation by |v| rad about v (Rodrigues' formula)."""
    x, y, z = vector
    angle = float(np.sqrt(x * x + y * y + z * z))
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    half = np.sinc(0.5 * angle / np.pi)
    return np.asarray(np.eye(3) + np.sinc(angle / np.pi) * K + 0.5 * half * half * (K @ K))


def rotation_logarithm(R: Array) -> Array:
    """The rotation vector v, |v| <= pi, with exp([v]x) = R."""
    w = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = 0.5 * float(np.linalg.norm(w)), 0.5 * (float(np.trace(R)) - 1.0)
    angle = float(np.arctan2(sine, cosine))
    if cosine > -0.99:
        return np.asarray(0.5 * w / np.sinc(angle / np.pi))
    # near a half turn the axis is the largest column of R + R^T + (1 - tr R) I = 2 (1 - cos) n n^T
    B = R + R.T + (1.0 - np.trace(R)) * np.eye(3)
    n = B[:, int(np.argmax(np.diag(B)))]
    n = n / np.linalg.norm(n)
    return np.asarray(angle * (n if n @ w >= 0 else -n))


def _vector(value: object, name: str) -> Array:
    array = np.array(value, dtype=float)
    if array.shape != (3,) or not np.all(np.isfinite(array)):
        raise UserError(f"motion: {name} = {value}: must be three finite numbers")
    return array


def _orientation(value: object) -> Array:
    R = np.array(value, dtype=float)
    if R.shape != (3, 3) or not np.allclose(R @ R.T, np.eye(3), atol=1e-9) or np.linalg.det(R) < 0:
        raise UserError(f"motion: rotation = {value}: must be a rotation matrix; use rotation_matrix(axis, degrees)")
    return R


@dataclass(frozen=True, eq=False)
class Static:
    """A body at rest."""

    position: Array = field(default_factory=lambda: np.zeros(3))
    rotation: Array = field(default_factory=lambda: np.eye(3))

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", _vector(self.position, "position"))
        object.__setattr__(self, "rotation", _orientation(self.rotation))

    def pose(self, t: float) -> Pose:
        return self.position, self.rotation

    def velocity(self, t: float) -> Twist:
        return np.zeros(3), np.zeros(3)


class VelocityCurves:
    """x' = linear(t), R' = [angular(t)]x R, from (position, rotation) at t = 0; the curves are vectors (3,).

    The position is the exact integral of its curve. So is the rotation, R(t) = exp([integral of angular]x) R(0), when
    the axis of rotation is fixed. An angular velocity whose direction changes is integrated with fourth-order Magnus
    steps of a fixed 1 ms (Blanes et al. 2009, Physics Reports 470, eq. 253), always from t = 0, so that the result
    depends on t alone.
    """

    STEP = 1e-3

    def __init__(
        self, linear: Curve, angular: Curve | None = None, position: object = (0, 0, 0), rotation: object = None
    ):
        self.linear = linear
        self.angular = ConstantCurve(np.zeros(3)) if angular is None else angular
        self.position = _vector(position, "position")
        self.rotation = np.eye(3) if rotation is None else _orientation(rotation)
        _vector(self.linear.value(0.0), "linear velocity")
        _vector(self.angular.value(0.0), "angular velocity")
        self._fixed_axis = _has_fixed_axis(self.angular)
        self._knots = [np.eye(3)]

    def pose(self, t: float) -> Pose:
        position = self.position + self.linear.integral(0.0, t)
        if self._fixed_axis:
            turn = rotation_exponential(np.asarray(self.angular.integral(0.0, t)))
        else:
            turn = self._integrate(t)
        return position, turn @ self.rotation

    def velocity(self, t: float) -> Twist:
        return np.array(self.linear.value(t)), np.array(self.angular.value(t))

    def _integrate(self, t: float) -> Array:
        whole = max(int(t / self.STEP), 0)
        while len(self._knots) <= whole:
            n = len(self._knots) - 1
            self._knots.append(self._magnus(n * self.STEP, self.STEP) @ self._knots[-1])
        start = whole * self.STEP
        return self._magnus(start, t - start) @ self._knots[whole]

    def _magnus(self, t: float, h: float) -> Array:
        shift = h * np.sqrt(3.0) / 6.0
        w1 = np.asarray(self.angular.value(t + 0.5 * h - shift))
        w2 = np.asarray(self.angular.value(t + 0.5 * h + shift))
        return rotation_exponential(0.5 * h * (w1 + w2) - h * h * np.sqrt(3.0) / 12.0 * np.cross(w1, w2))


def _has_fixed_axis(curve: Curve) -> bool:
    """True when all values of a vector curve are multiples of one vector."""
    if isinstance(curve, ConstantCurve):
        return True
    if isinstance(curve, SineCurve):
        vectors = np.array([curve.mean, curve.amplitude])
    elif isinstance(curve, TableCurve):
        vectors = curve.values
    else:
        return False
    longest = vectors[int(np.argmax(np.linalg.norm(vectors, axis=1)))]
    off = np.linalg.norm(np.cross(vectors, longest), axis=1)
    return bool(np.all(off <= 1e-14 * float(longest @ longest)))


class Keyframes:
    """Poses at given times, held before the first and after the last.

    positions (n, 3): "linear", or "cubic" (Hermite with the slopes of the parabola through three neighbours, one-sided
    at the ends: continuous velocity). rotations: n pairs (axis, degrees), turned at constant rate between neighbours:
    by the difference of the angles where both share an axis (0 to 720 degrees is two turns), else along the shortest
    arc (slerp).
    """

    def __init__(
        self,
        times: Sequence[float],
        positions: Sequence[Sequence[float]],
        rotations: Sequence[tuple[Sequence[float], float]] | None = None,
        interpolation: str = "linear",
    ):
        self.times = np.array(times, dtype=float)
        self.positions = np.array(positions, dtype=float)
        n = len(self.times)
        if self.times.ndim != 1 or n == 0 or np.any(np.diff(self.times) <= 0):
            raise UserError(f"keyframes: times = {list(times)}: must be strictly increasing, in seconds")
        if self.positions.shape != (n, 3):
            raise UserError(
                f"keyframes: positions have shape {self.positions.shape}: give one (x, y, z) per time ({n})"
            )
        if rotations is not None and len(rotations) != n:
            raise UserError(f"keyframes: {len(rotations)} rotations for {n} times: give one per time, or none")
        if interpolation not in ("linear", "cubic"):
            raise UserError(f"keyframes: interpolation = {interpolation!r}: must be linear or cubic")
        turns = [((0.0, 0.0, 1.0), 0.0)] * n if rotations is None else [(a, float(d)) for a, d in rotations]
        self._rotations = [rotation_matrix(axis, degrees) for axis, degrees in turns]
        self._turns = [
            self._turn(turns[m], turns[m + 1], self._rotations[m], self._rotations[m + 1]) for m in range(n - 1)
        ]
        self._slopes = self._hermite_slopes() if interpolation == "cubic" and n > 2 else None

    @staticmethod
    def _turn(
        first: tuple[Sequence[float], float], second: tuple[Sequence[float], float], R0: Array, R1: Array
    ) -> Array:
        """Rotation vector [rad] that takes one key to the next."""
        v0, v1 = (
            np.radians(d) * np.asarray(a, dtype=float) / max(float(np.linalg.norm(a)), 1e-300)
            for a, d in (first, second)
        )
        if np.linalg.norm(np.cross(v0, v1)) <= 1e-12 * max(float(v0 @ v0), float(v1 @ v1)):
            return np.asarray(v1 - v0)
        return rotation_logarithm(R1 @ R0.T)

    def _hermite_slopes(self) -> Array:
        h = np.diff(self.times)[:, None]
        d = np.diff(self.positions, axis=0) / h
        inner = (h[1:] * d[:-1] + h[:-1] * d[1:]) / (h[:-1] + h[1:])
        return np.concatenate([[2.0 * d[0] - inner[0]], inner, [2.0 * d[-1] - inner[-1]]])

    def _locate(self, t: float) -> tuple[int, float, float]:
        n = min(int(np.searchsorted(self.times, t, side="right")) - 1, len(self.times) - 2)
        h = float(self.times[n + 1] - self.times[n])
        return n, (t - float(self.times[n])) / h, h

    def pose(self, t: float) -> Pose:
        if t <= self.times[0]:
            return self.positions[0].copy(), self._rotations[0]
        if t >= self.times[-1]:
            return self.positions[-1].copy(), self._rotations[-1]
        n, s, h = self._locate(t)
        x0, x1 = self.positions[n], self.positions[n + 1]
        if self._slopes is None:
            position = (1.0 - s) * x0 + s * x1
        else:
            m0, m1 = h * self._slopes[n], h * self._slopes[n + 1]
            position = (
                (1.0 + 2.0 * s) * (1.0 - s) ** 2 * x0
                + s * (1.0 - s) ** 2 * m0
                + s * s * (3.0 - 2.0 * s) * x1
                + s * s * (s - 1.0) * m1
            )
        return position, rotation_exponential(s * self._turns[n]) @ self._rotations[n]

    def velocity(self, t: float) -> Twist:
        """The derivative of the pose (from the right at a key); zero outside the keys."""
        if t < self.times[0] or t >= self.times[-1]:
            return np.zeros(3), np.zeros(3)
        n, s, h = self._locate(t)
        x0, x1 = self.positions[n], self.positions[n + 1]
        if self._slopes is None:
            linear = (x1 - x0) / h
        else:
            m0, m1 = self._slopes[n], self._slopes[n + 1]
            linear = 6.0 * s * (1.0 - s) / h * (x1 - x0) + (1.0 - s) * (1.0 - 3.0 * s) * m0 + s * (3.0 * s - 2.0) * m1
        return linear, self._turns[n] / h
