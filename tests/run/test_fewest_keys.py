"""Every type of object with the fewest keys that describe it does what a formula says: nothing is wrong by omission."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.scene import MATERIALS, toml

G = 9.81
WATER = MATERIALS["water"].density


def make(objects: dict[str, Any], end: float = 0.1, **more: Any) -> ut.Simulation:
    """A scene with no key beyond those that it needs."""
    data = {"name": "few", "time": {"end": end}, "objects": objects, **more}
    return ut.Simulation(toml.scene_from_dict(data), threads=1)


BOX = {"upper": [1.0, 1.0], "resolution": 16}
BALL = {"type": "rigid_body", "shape": {"type": "sphere", "radius": 0.1}, "position": [0.0, 1.0, 0.0], "density": 500.0}


def test_a_rigid_body_falls() -> None:
    sim = make({"ball": BALL})
    sim.advance_to(0.1)
    assert sim.body("ball").velocity[1] == pytest.approx(-G * 0.1, rel=1e-9)
    assert sim.body("ball").position[1] == pytest.approx(1.0 - G * 0.1**2 / 2, abs=2e-3)


def test_a_joint_carries_the_weight() -> None:
    sim = make({"ball": BALL, "nail": {"type": "joint", "kind": "fixed", "child": "ball", "position": [0.0, 1.0, 0.0]}})
    sim.advance_to(0.1)
    weight = 4.0 / 3.0 * np.pi * 0.1**3 * 500.0 * G
    assert sim.body("ball").joint_force[1] == pytest.approx(weight, rel=1e-6)
    assert sim.body("ball").position[1] == pytest.approx(1.0, abs=1e-9)


SOFTS: dict[str, dict[str, Any]] = {
    "soft_body": {"shape": {"type": "box", "size": [0.2, 0.2, 0.2]}, "element_size": 0.1},
    "cloth": {"size": [0.2, 0.2], "element_size": 0.1},
    "rope": {"end": [0.2, 1.0, 0.0], "element_size": 0.1},
}


@pytest.mark.parametrize("kind", SOFTS)
def test_a_soft_body_a_cloth_and_a_rope_fall(kind: str) -> None:
    sim = make({"it": {"type": kind, "position": [0.0, 1.0, 0.0], **SOFTS[kind]}})
    start = sim.body("it").position[1]
    sim.advance_to(0.1)
    assert sim.body("it").velocity[1] == pytest.approx(-G * 0.1, rel=1e-3)
    assert start - sim.body("it").position[1] == pytest.approx(G * 0.1**2 / 2, rel=0.4)


def test_water_weighs_what_water_weighs() -> None:
    """p = rho g h at the floor: of water, not of air, which was the density without a table [fluid]."""
    sim = make({"pool": {"type": "water", "shape": {"type": "plane", "normal": [0, 1]}, "position": [0.5, 0.5]}},
               domain=BOX)  # fmt: skip
    sim.step()
    assert sim.scene.fluid.density == WATER
    depth = 0.5 - 1.0 / 32.0
    assert sim.sample("pressure", [0.5, 1.0 / 32.0]) == pytest.approx(WATER * G * depth, rel=0.01)


def test_a_source_gives_water() -> None:
    tap = {"type": "water_source", "shape": {"type": "box", "size": [0.25, 0.125]}, "position": [0.5, 0.75],
           "velocity": [0.0, -1.0]}  # fmt: skip
    sim = make({"tap": tap}, domain={**BOX, "sides": {"y_high": "open"}})
    volumes = [sim.step().ledger["fluid_volume"] for _ in range(3)]
    sim.advance_to(0.1)
    report = sim.step()
    assert sim.scene.fluid.density == WATER
    # what the tap has given since its region was full: width x speed x time
    assert report.ledger["fluid_volume"] == pytest.approx(0.25 * 0.125 + 0.25 * 1.0 * sim.time, rel=0.15)
    assert volumes == sorted(volumes)


def test_a_drain_takes_its_rate() -> None:
    pool = {"type": "water", "shape": {"type": "plane", "normal": [0, 1]}, "position": [0.5, 0.5]}
    hole = {"type": "drain", "shape": {"type": "box", "size": [0.25, 0.125]}, "position": [0.5, 0.1], "rate": 0.5}
    sim = make({"pool": pool, "hole": hole}, domain={**BOX, "sides": {"y_high": "open"}},
               time={"end": 0.1, "max_step": 0.01})  # fmt: skip
    first = sim.step()
    report = sim.advance_to(0.1)
    assert report is not None
    taken = first.ledger["fluid_volume"] - report.ledger["fluid_volume"]
    assert taken == pytest.approx(0.5 * (report.time - first.time), rel=0.02)


def test_an_emitter_gives_smoke_in_air() -> None:
    source = {"type": "emitter", "shape": {"type": "sphere", "radius": 0.2}, "position": [0.5, 0.5]}
    sim = make({"source": source}, domain=BOX, smoke={})
    sim.step()
    assert sim.scene.fluid.density == pytest.approx(1.2)
    assert sim.sample("smoke", [0.5, 0.5]) == pytest.approx(1.0, abs=1e-6)
    assert sim.sample("smoke", [0.05, 0.05]) == pytest.approx(0.0, abs=1e-6)


def test_particles_weigh_what_water_weighs() -> None:
    """Momentum of a block of particles that falls freely: -rho V g t."""
    block = {"type": "sph_fluid", "shape": {"type": "box", "size": [0.5, 0.25]}, "position": [0.5, 0.75]}
    sim = make({"block": block}, domain=BOX)
    while sim.time < 0.01:
        report = sim.step()
    assert report.ledger["momentum_y"] == pytest.approx(-1000.0 * 0.125 * G * sim.time, rel=1e-6)
