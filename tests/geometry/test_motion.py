"""Motions: velocities are the derivatives of poses, integrals those of the curves."""

from __future__ import annotations

import numpy as np
import pytest

from undertow.errors import UserError
from undertow.geometry import ConstantCurve, Curve, Keyframes, Motion, SineCurve, Static, TableCurve, VelocityCurves
from undertow.geometry.motion import rotation_exponential, rotation_logarithm, rotation_matrix

VECTORS = np.array([[0.0, 0.0, 1.0], [1.0, 2.0, 0.0], [1.0, -1.0, 0.5]])
CURVES: dict[str, Curve] = {
    "constant": ConstantCurve((1.0, -2.0, 0.5)),
    "sine": SineCurve((0.1, 0.0, 0.0), (0.0, 1.0, 2.0), 0.7, 0.3),
    "scalar sine": SineCurve(0.5, 2.0, 1.3),
    "no frequency": SineCurve(0.5, 2.0, 0.0, 0.4),
    "linear": TableCurve([0.2, 0.5, 1.1], VECTORS),
    "step": TableCurve([0.2, 0.5, 1.1], [1.0, -2.0, 3.0], "step"),
    "smooth": TableCurve([0.2, 0.5, 1.1], VECTORS, "smooth"),
    "one time": TableCurve([0.4], [2.0]),
}


@pytest.mark.parametrize("name", CURVES)
def test_curve_derivative_and_integral_match_its_value(name: str) -> None:
    curve = CURVES[name]
    # midpoints of fine intervals that no knot falls into
    edges = np.linspace(0.0, 1.5, 3001)
    mid = 0.5 * (edges[1:] + edges[:-1])
    h = edges[1] - edges[0]
    values = np.array([curve.value(t) for t in mid])
    assert np.allclose(h * values.sum(axis=0), curve.integral(0.0, 1.5), atol=2e-6)
    assert np.allclose(curve.integral(0.3, 0.9), np.subtract(curve.integral(0.0, 0.9), curve.integral(0.0, 0.3)))
    for t in (0.1, 0.31, 0.87, 1.3):
        difference = np.subtract(curve.value(t + 1e-6), curve.value(t - 1e-6)) / 2e-6
        assert np.allclose(difference, curve.derivative(t), atol=1e-6)


def test_table_holds_its_ends() -> None:
    curve = CURVES["linear"]
    assert np.array_equal(curve.value(-5.0), VECTORS[0]) and np.array_equal(curve.value(9.0), VECTORS[2])
    assert np.allclose(curve.integral(-1.0, 0.2), 1.2 * VECTORS[0])
    assert CURVES["step"].value(0.5) == -2.0 and CURVES["step"].value(0.499) == 1.0


def _tilted() -> np.ndarray:
    return rotation_matrix((1.0, 2.0, 0.5), 40.0)


MOTIONS: dict[str, Motion] = {
    "static": Static((1.0, 2.0, 3.0), _tilted()),
    "fixed axis": VelocityCurves(
        SineCurve((0, 0, 0), (1, 0.5, 0), 0.8),
        SineCurve((0, 0, 3.0), (0, 0, 2.0), 0.5),
        position=(0.5, 0.5, 0.5),
        rotation=_tilted(),
    ),
    "turning axis": VelocityCurves(ConstantCurve((1, 0, 0)), TableCurve([0.0, 1.0], [(2.0, 0, 0), (0, 5.0, 1.0)])),
    "keys": Keyframes(
        [0.1, 0.5, 1.2],
        [(0, 0, 0), (1, 0, 0), (1, 1, 0)],
        [((0, 0, 1), 0), ((0, 0, 1), 300), ((1, 1, 0), 90)],
    ),
    "cubic keys": Keyframes([0.1, 0.5, 1.2, 1.3], [(0, 0, 0), (1, 0, 0), (1, 1, 0), (2, 1, 3)], interpolation="cubic"),
}


@pytest.mark.parametrize("name", MOTIONS)
def test_velocity_is_the_derivative_of_the_pose(name: str) -> None:
    motion = MOTIONS[name]
    for t in (0.05, 0.24, 0.71, 1.25, 1.6):
        h = 1e-5
        (x0, R0), (x1, R1) = motion.pose(t - h), motion.pose(t + h)
        linear, angular = motion.velocity(t)
        assert np.allclose((x1 - x0) / (2 * h), linear, atol=1e-6)
        assert np.allclose(rotation_logarithm(R1 @ R0.T) / (2 * h), angular, atol=1e-6)
        assert np.allclose(R1 @ R1.T, np.eye(3), atol=1e-12)


def test_rotation_with_a_fixed_axis_is_exact() -> None:
    motion = VelocityCurves(ConstantCurve((0, 0, 0)), ConstantCurve((0, 0, 2.0)))
    assert np.allclose(motion.pose(100.0)[1], rotation_matrix((0, 0, 1), np.degrees(200.0)), atol=1e-12)


def test_pose_with_a_turning_axis_depends_on_time_alone() -> None:
    def motion() -> VelocityCurves:
        return VelocityCurves(ConstantCurve((0, 0, 0)), SineCurve((1.0, 0, 0), (0, 3.0, 0), 2.0))

    one, other = motion(), motion()
    for t in (0.9, 0.1, 0.55):
        one.pose(t)
    assert np.array_equal(one.pose(0.7312)[1], other.pose(0.7312)[1])
    # against many tiny rotations
    R = np.eye(3)
    for n in range(4000):
        R = rotation_exponential(np.asarray(one.angular.value((n + 0.5) * 0.7 / 4000)) * 0.7 / 4000) @ R
    assert np.allclose(one.pose(0.7)[1], R, atol=1e-6)


def test_keyframes_hit_their_keys_and_count_turns() -> None:
    keys = MOTIONS["keys"]
    assert np.allclose(keys.pose(0.5)[1], rotation_matrix((0, 0, 1), 300))
    assert np.allclose(keys.pose(0.3)[1], rotation_matrix((0, 0, 1), 150))
    assert np.allclose(keys.pose(5.0)[1], rotation_matrix((1, 1, 0), 90))
    assert np.array_equal(keys.velocity(5.0)[0], np.zeros(3))
    for t, x in zip([0.1, 0.5, 1.2, 1.3], [(0, 0, 0), (1, 0, 0), (1, 1, 0), (2, 1, 3)], strict=True):
        assert np.allclose(MOTIONS["cubic keys"].pose(t)[0], x)


@pytest.mark.parametrize("degrees", [0.0, 1e-7, 33.0, 179.0, 179.999999, 180.0])
def test_logarithm_inverts_the_exponential(degrees: float) -> None:
    R = rotation_matrix((0.3, -1.0, 2.0), degrees)
    assert np.allclose(rotation_exponential(rotation_logarithm(R)), R, atol=1e-12)
    assert np.linalg.norm(rotation_logarithm(R)) == pytest.approx(np.radians(degrees), abs=1e-12)


def test_bad_motions_are_refused() -> None:
    with pytest.raises(UserError, match="strictly increasing"):
        TableCurve([0.0, 0.0], [1.0, 2.0])
    with pytest.raises(UserError, match="one value per time"):
        TableCurve([0.0, 1.0], [1.0])
    with pytest.raises(UserError, match="linear, step or smooth"):
        TableCurve([0.0], [1.0], "spline")
    with pytest.raises(UserError, match="three finite numbers"):
        VelocityCurves(ConstantCurve(1.0))
    with pytest.raises(UserError, match="must be a rotation matrix"):
        Static((0, 0, 0), 2 * np.eye(3))
    with pytest.raises(UserError, match="axis"):
        rotation_matrix((0, 0, 0), 10.0)
    with pytest.raises(UserError, match="keyframes: times"):
        Keyframes([1.0, 0.0], [(0, 0, 0), (1, 0, 0)])
    with pytest.raises(UserError, match="keyframes: positions"):
        Keyframes([0.0, 1.0], [(0, 0, 0)])
    with pytest.raises(UserError, match="rotations for 2 times"):
        Keyframes([0.0, 1.0], [(0, 0, 0), (1, 0, 0)], [((0, 0, 1), 0)])
    with pytest.raises(UserError, match="linear or cubic"):
        Keyframes([0.0, 1.0], [(0, 0, 0), (1, 0, 0)], interpolation="smooth")
