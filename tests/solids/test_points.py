"""Points of rigid bodies against soft faces: a corner and a small ball do not sink in between the nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.solids.soft_part import SoftPart

BLOCK = ut.SoftBody(
    shape=ut.Box(size=(0.4, 0.2, 0.4)), position=(0.0, 0.0, 0.0), element_size=0.2, youngs_modulus=5e4, damping=2e-3,
    friction=0.8,
)  # fmt: skip
# a corner points down
TURN = ut.Rotation(axis=(1.0, 0.0, -1.0), degrees=float(np.degrees(np.arctan(np.sqrt(2.0)))))


def _simulate(body: ut.RigidBody, gravity: float, **more: Any) -> ut.Simulation:
    return ut.Simulation(
        ut.Scene(
            name="corner",
            time=ut.Time(end=1.0, frame_rate=10, max_step=0.005),
            gravity=(0.0, gravity, 0.0),
            soft=ut.Soft(tolerance=1e-4),
            objects={"block": BLOCK, "body": body, **more},
        )  # fmt: skip
    )


def _depth(sim: ut.Simulation) -> float:
    """How far the deepest point of the body is below the top of the block [m]."""
    soft, points = sim.part(SoftPart).soft, sim.part(SoftPart).soft_solids.touches.points
    points._collect(1.0)
    p = points.points()
    low = np.argmin(p[:, 1])
    corner = p[low] - np.array([0.0, points._round[low], 0.0])
    deepest = -1.0
    for a, b, c in soft.x[points.triangles]:
        A = np.array([[a[0], b[0], c[0]], [a[2], b[2], c[2]], [1.0, 1.0, 1.0]])
        if abs(np.linalg.det(A)) > 1e-6:
            w = np.linalg.solve(A, [corner[0], corner[2], 1.0])
            if w.min() > -1e-9:
                deepest = max(deepest, float(w @ [a[1], b[1], c[1]] - corner[1]))
    return deepest


@pytest.mark.parametrize("shape", ["box", "sphere"])
def test_a_small_body_bounces_off_a_coarse_face(shape: str) -> None:
    """It meets the face far from all nodes: no node touches it. Momenta are exchanged exactly."""
    solid: Any = ut.Box(size=(0.06, 0.06, 0.06)) if shape == "box" else ut.Sphere(radius=0.03)
    body = ut.RigidBody(
        shape=solid, position=(0.06, 0.17, 0.05), rotation=TURN, density=3000.0, velocity=(0.4, -1.0, 0.0), friction=0.8
    )
    sim = _simulate(body, 0.0)
    start = sim.step().ledger
    deepest, row = -1.0, start
    for _ in range(25):
        row = sim.step().ledger
        deepest = max(deepest, _depth(sim))
    assert -0.01 < deepest < 0.001
    assert sim.body("body").velocity[1] > -0.2
    for axis in "xyz":
        assert row[f"momentum_{axis}"] == pytest.approx(start[f"momentum_{axis}"], abs=1e-9)
    assert row["angular_momentum_z"] == pytest.approx(start["angular_momentum_z"], abs=1e-3)
    assert row["energy"] < start["energy"] * (1.0 + 1e-9)
    if shape == "sphere":
        # sticking friction turns a sliding ball into one that rolls: 5/7 of its speed, the block being heavy
        assert sim.body("body").velocity[0] == pytest.approx(5.0 / 7.0 * 0.4, rel=0.01)
    # friction takes the block along
    block = sim.body("block").velocity
    assert block[0] > 1e-3 and block[1] < -1e-2


def test_a_corner_rests_on_a_coarse_face() -> None:
    """The weight of a heavy box that stands on a corner, held upright, is carried by the three nodes of a face."""
    ground = ut.RigidBody(shape=ut.Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, -0.1, 0.0))
    body = ut.RigidBody(
        shape=ut.Box(size=(0.06, 0.06, 0.06)), position=(0.06, 0.155, 0.05), rotation=TURN, density=3000.0
    )
    sim = _simulate(body, -10.0, ground=ground)
    for _ in range(20):
        sim.step()
    assert _depth(sim) < 0.004
    assert sim.body("body").position[1] > 0.12


def _top(sim: ut.Simulation, x: float) -> float:
    """Height of the outline of a 2D block at x [m]."""
    ends = sim.part(SoftPart).soft.x[sim.part(SoftPart).soft_solids.touches.points.triangles]
    low, high = ends[:, :, 0].min(axis=1), ends[:, :, 0].max(axis=1)
    a, b = ends[(low <= x) & (x < high)].transpose(1, 0, 2)
    return float((a[:, 1] + (b[:, 1] - a[:, 1]) * (x - a[:, 0]) / (b[:, 0] - a[:, 0])).max())


@pytest.mark.parametrize(
    ("dimensions", "shape", "stepper"),
    [(2, "box", "implicit"), (2, "sphere", "implicit"), (2, "box", "newmark"), (2, "sphere", "leapfrog"),
     (3, "box", "newmark"), (3, "sphere", "leapfrog")],
)  # fmt: skip
def test_in_the_plane_and_by_explicit_schemes(dimensions: int, shape: str, stepper: Any) -> None:
    """As above; the explicit schemes give impulses to both at one place, Verlet's keeps angular momentum too."""
    solid: Any = ut.Box(size=(0.06,) * dimensions) if shape == "box" else ut.Sphere(radius=0.03)
    turn = ut.Rotation(axis=(0.0, 0.0, 1.0), degrees=45.0) if dimensions == 2 else TURN
    block = BLOCK.model_copy(update={"shape": ut.Box(size=(0.4, 0.2)), "position": (0.0, 0.0)})
    body = ut.RigidBody(
        shape=solid, position=(0.06, 0.17, 0.05)[:dimensions], rotation=turn, density=3000.0,
        velocity=(0.4, -1.0, 0.0)[:dimensions], friction=0.8,
    )  # fmt: skip
    explicit = stepper != "implicit"
    scene = ut.Scene(
        name="corner", time=ut.Time(end=1.0, frame_rate=10, max_step=0.001 if explicit else 0.005),
        gravity=(0.0,) * dimensions, soft=ut.Soft(stepper=stepper) if explicit else ut.Soft(tolerance=1e-4),
        objects={"block": block if dimensions == 2 else BLOCK, "body": body},
    )  # fmt: skip
    sim = ut.Simulation(scene)
    start = row = sim.step().ledger
    deepest, rise = -1.0, 0.0
    while sim.time < 0.13:
        before, row = row, sim.step().ledger
        rise = max(rise, row["energy"] - before["energy"])
        if dimensions == 3:
            deepest = max(deepest, _depth(sim))
        else:
            points = sim.part(SoftPart).soft_solids.touches.points
            points._collect(1.0)
            p = points.points()
            low = np.argmin(p[:, 1])
            deepest = max(deepest, _top(sim, p[low, 0]) - p[low, 1] + points._round[low])
    assert -0.01 < deepest < 1e-4
    assert sim.body("body").velocity[1] > -0.2
    for axis in "xyz":
        assert row[f"momentum_{axis}"] == pytest.approx(start[f"momentum_{axis}"], abs=1e-8)
    exact = 1e-10 if stepper == "leapfrog" else 2e-3
    assert row["angular_momentum_z"] == pytest.approx(start["angular_momentum_z"], abs=exact)
    assert rise < 5e-4 * start["energy"] and row["energy"] < 0.4 * start["energy"]
