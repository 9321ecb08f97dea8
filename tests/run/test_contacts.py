"""sim.contacts(): who touched whom where, with which impulse, in scenes of solids, fluids and particles."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.scene import toml
from undertow.solids.contact_record import ContactSet

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "frozen"))

from frozen_scenes import SCENES  # noqa: E402

FLOOR = {"type": "rigid_body", "shape": {"type": "plane", "normal": [0.0, 1.0, 0.0]}, "position": [0.0, 0.0, 0.0]}


def make(objects: dict[str, Any], dt: float = 0.01, **more: Any) -> ut.Simulation:
    data = {"name": "touch", "time": {"end": 10.0, "frame_rate": 0.5, "fixed_step": dt}, "objects": objects, **more}
    return ut.Simulation(toml.scene_from_dict(data), threads=1)


def received(contacts: ContactSet, name: str) -> np.ndarray:
    """Impulse on a body by all its contacts (3,) [N s]."""
    return contacts.of(name).impulse.sum(axis=0)


def test_a_box_on_the_floor_is_carried_at_its_corners() -> None:
    box = {"type": "rigid_body", "shape": {"type": "box", "size": [0.2, 0.1, 0.2]}, "position": [0.0, 0.05, 0.0],
           "density": 500.0, "friction": 0.5}  # fmt: skip
    sim = make({"floor": FLOOR, "box": box})
    assert len(sim.contacts().gap) == 0
    sim.advance_to(0.2)
    found = sim.contacts().of("box")
    assert set(found.second) == {"floor"} and len(found.gap) == 4
    assert np.allclose(found.normal, [0.0, 1.0, 0.0]) and np.allclose(np.abs(found.gap), 0.0, atol=1e-4)
    assert np.allclose(np.sort(np.abs(found.point[:, [0, 2]]), axis=None), 0.1, atol=1e-3)
    weight = 0.2 * 0.1 * 0.2 * 500.0 * 9.81
    assert found.impulse[:, 1].sum() == pytest.approx(0.01 * weight, rel=1e-6)
    # four corners carry more than is determined: that they share it is for the solve to choose
    assert np.allclose(found.impulse[:, 1], 0.01 * weight / 4, rtol=0.1)
    # the other way round it is the reverse
    assert np.allclose(received(sim.contacts(), "floor"), -found.impulse.sum(axis=0))


def test_a_bounce_is_a_contact() -> None:
    """It has the momentum that the ball has gained, also where the ball has left the floor by the end of the step."""
    ball = {"type": "rigid_body", "shape": {"type": "sphere", "radius": 0.1}, "position": [0.0, 0.11, 0.0],
            "density": 500.0, "velocity": [0.0, -2.0, 0.0], "restitution": 0.8}  # fmt: skip
    sim = make({"floor": FLOOR, "ball": ball}, gravity=[0.0, 0.0, 0.0])
    mass = 4.0 / 3.0 * np.pi * 0.1**3 * 500.0
    sim.step()
    found = sim.contacts().of("ball")
    assert len(found.gap) == 1 and found.point[0] == pytest.approx([0.0, 0.0, 0.0], abs=0.03)
    assert found.impulse[0] == pytest.approx([0.0, mass * 1.8 * 2.0, 0.0], rel=1e-9)
    sim.advance_to(0.05)
    assert not received(sim.contacts(), "ball").any()


KINDS = (
    "solids", "solids-joints", "tank-contact", "water-bodies", "soft", "soft-newmark-2d", "soft-incompressible",
    "cloth-linearised", "tank-soft-contact", "wcsph-penalty-3d", "iisph",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_impulses_add_up_to_the_forces_of_contact(kind: str) -> None:
    """Of every body that forces move, in every step; what nothing touches has no contact with an impulse."""
    sim = ut.Simulation(ut.Scene(name=kind, **SCENES[kind]), threads=1)
    touched = 0
    for _ in range(5):
        report = sim.step()
        found = sim.contacts()
        known = {*sim.scene.bodies, *sim.scene.softs} | {f"domain.{side}" for side in ("x_low", "x_high", "y_low",
                 "y_high", "z_low", "z_high")}  # fmt: skip
        assert {*found.first, *found.second} <= known
        assert np.allclose(np.linalg.norm(found.normal, axis=1), 1.0, atol=1e-6)
        assert np.isfinite(found.point).all() and np.isfinite(found.gap).all()
        for name in (*(n for n, body in sim.scene.bodies.items() if body.is_dynamic), *sim.scene.softs):
            force = sim.body(name).contact_force
            scale = max(1.0, float(np.abs(found.impulse).max(initial=0.0)) / report.time_step)
            close = 0.02 if sim.grid is not None else 1e-6  # contact in a fluid is iterated
            assert received(found, name) / report.time_step == pytest.approx(force, abs=close * scale), name
            touched += bool(np.abs(force).max() > 0.0)
    assert touched or kind in ("solids-joints", "wcsph-penalty-3d", "iisph")


def test_soft_surfaces_press_on_each_other() -> None:
    """Two soft blocks, one on the other: between them is the weight of the upper one."""
    block = {"type": "soft_body", "shape": {"type": "box", "size": [0.2, 0.1, 0.2]}, "element_size": 0.1,
             "density": 500.0, "youngs_modulus": 5e4, "damping": 0.02}  # fmt: skip
    sim = make({"floor": FLOOR, "low": {**block, "position": [0.0, 0.05, 0.0]},
                "top": {**block, "position": [0.0, 0.152, 0.0]}}, dt=0.005)  # fmt: skip
    sim.advance_to(0.4)
    weight = 0.2 * 0.1 * 0.2 * 500.0 * 9.81
    total = []
    for _ in range(10):
        sim.step()
        between = sim.contacts().of("top")
        assert set(between.second) == {"low"} and (between.normal[:, 1] > 0.9).all()
        total.append(received(sim.contacts(), "top")[1] / 0.005)
    assert np.mean(total) == pytest.approx(weight, rel=0.05)
