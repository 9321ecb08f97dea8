"""Joints are put in and taken away during a run, in every kind of scene that has them; resumed runs go on by bits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import undertow as ut

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "frozen"))

from frozen_scenes import SCENES  # noqa: E402

KINDS = (
    "solids", "solids-joints", "soft", "attached", "tank-contact", "tank-3d", "tank-two-solves", "tank-joints",
    "tank-lumped", "tank-soft", "tank-soft-attached", "water-bodies", "water-lumped", "water-rigid-fluid",
    "wcsph-penalty-3d", "iisph",
)  # fmt: skip
"""Frozen scenes with bodies that forces move: two without fluid or more, every coupling that has joints."""


def hinge(sim: ut.Simulation, **values: Any) -> ut.Joint:
    """A motor that holds the first body which forces move to the world, at a point beside its middle."""
    name = next(name for name, body in sim.scene.bodies.items() if body.is_dynamic)
    place = sim.body(name).position[: sim.scene.dimensions]
    motor = ut.Control(target=20.0, stiffness=5.0, damping=0.2)
    given = {"kind": "hinge", "child": name, "position": list(place + 0.04), "control": motor, **values}
    return ut.Joint(**given)


def same(one: ut.Simulation, other: ut.Simulation) -> None:
    assert one.arrays().keys() == other.arrays().keys() and one.time == other.time
    for name, array in one.arrays().items():
        assert np.asarray(array).tobytes() == np.asarray(other.arrays()[name]).tobytes(), name


@pytest.mark.parametrize("kind", KINDS)
def test_a_joint_holds_from_now_on_and_a_resumed_run_goes_on_by_bits(kind: str, tmp_path: Path) -> None:
    sim = ut.Simulation(ut.Scene(name=kind, **SCENES[kind]), threads=1)
    sim.step()
    joint = hinge(sim)
    sim.add("late", joint)
    assert sim.joint("late").coordinate == pytest.approx(0.0, abs=1e-12)
    sim.save(tmp_path / "joined.h5")
    other = ut.load(tmp_path / "joined.h5", threads=1)
    assert other.scene.joints.keys() == sim.scene.joints.keys()
    same(sim, other)
    body, point = sim.body(joint.child), np.append(joint.position, [0.0] * (3 - len(joint.position)))
    local = body.matrix.T @ (point - body.position)
    for one in (sim, other):
        one.joint("late").target = 0.1
        report = [one.step() for _ in range(2)][-1]
        held = one.body(joint.child)
        assert held.matrix @ local + held.position == pytest.approx(point, abs=1e-6)
        assert report.ledger["joint_error"] < 1e-6
        one.remove("late")
    same(sim, other)
    sim.save(tmp_path / "released.h5")
    again = ut.load(tmp_path / "released.h5", threads=2)
    for one in (sim, other, again):
        # two steps: in a fluid positions move with the velocity before
        report = [one.step() for _ in range(2)][-1]
        assert np.isfinite(list(report.ledger.values())).all() and report.ledger["joints_broken"] >= 1
    same(sim, other)
    same(sim, again)
    released = sim.body(joint.child)
    assert np.abs(released.matrix @ local + released.position - point).max() > 1e-9


def test_a_joint_put_in_before_the_first_step_is_one_of_the_scene() -> None:
    scene = ut.Scene(name="solids", **SCENES["solids"])
    added = ut.Simulation(scene, threads=1)
    joint = hinge(added)
    added.add("late", joint)
    there = ut.Simulation(scene.replace("objects.late", joint), threads=1)
    for _ in range(3):
        assert added.step().ledger == there.step().ledger
    same(added, there)


def test_bodies_made_during_the_run_are_joined_and_events_say_so(tmp_path: Path) -> None:
    """A joint of a body that is taken out is broken; the run goes on, also when it is resumed."""
    sim = ut.Simulation(ut.Scene(name="solids", **SCENES["solids"]), threads=1)
    sim.step()
    sim.add("bob", ut.RigidBody(shape=ut.Sphere(radius=0.1), position=[3.0, 1.0, 0.0], density=500.0))
    sim.add("string", ut.Joint(kind="ball", child="bob", position=[3.0, 1.5, 0.0]))
    assert any("objects.string holds at t = " in text for text in sim.step().events)
    sim.advance_to(0.5)
    # a pendulum: half a metre from where it hangs
    assert np.linalg.norm(sim.body("bob").position - [3.0, 1.5, 0.0]) == pytest.approx(0.5, abs=1e-9)
    sim.remove("bob")
    sim.save(tmp_path / "a.h5")
    other = ut.load(tmp_path / "a.h5", threads=1)
    assert sim.step().ledger == other.step().ledger
    same(sim, other)


def test_mistakes_are_told_in_words() -> None:
    sim = ut.Simulation(ut.Scene(name="solids", **SCENES["solids"]), threads=1)
    joint = hinge(sim)
    for name, given, message in (
        ("box", joint, "joint 'box': the scene has an object of that name"),
        ("late", hinge(sim, child="bx"), "there is no rigid body 'bx'"),
        ("late", hinge(sim, child="floor", control=None), "objects.late: joins no dynamic body"),
        ("late", 3, "int is no RigidBody and no Joint"),
    ):
        with pytest.raises(ut.UserError, match=message):
            sim.add(name, given)  # type: ignore[arg-type]
    sim.add("late", joint)
    with pytest.raises(ut.UserError, match="joint 'late': the scene has an object of that name"):
        sim.add("late", joint)
    assert sim.joint("late").target == pytest.approx(np.radians(20.0))
    flat = ut.Simulation(ut.Scene(name="smoke", **SCENES["smoke"]), threads=1)
    with pytest.raises(ut.UserError, match="joins no dynamic body"):
        flat.add("late", ut.Joint(kind="hinge", child="disc", position=[0.5, 0.6]))
