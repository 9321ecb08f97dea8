"""Nodes that are held along some axes alone: exact statics of a bar on rollers, and the forces of every hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.errors import UserError
from undertow.solids.soft_part import SoftPart

LENGTH, DEPTH, MODULUS = 1.0, 0.1, 1e5


def _at(x: float, y: float, axes: str, **more: Any) -> dict[str, Any]:
    return {"shape": {"type": "sphere", "radius": 1e-3}, "position": [x, y], "axes": axes, **more}


def _whole_end(x: float, axes: str, **more: Any) -> dict[str, Any]:
    return {"shape": {"type": "box", "size": [1e-3, 1.0]}, "position": [x, 0.0], "axes": axes, **more}


PIN, ROLLER = _at(0.0, -0.05, "xy"), _at(1.0, -0.05, "y")


def _bar(holds: list[Any], loads: list[Any] = (), stepper: str = "implicit", **more: Any) -> ut.Simulation:  # type: ignore[assignment]
    bar = {
        "shape": ut.Box(size=[LENGTH, DEPTH]), "position": [0.5, 0.0], "element_size": 0.05, "density": 100.0,
        "youngs_modulus": MODULUS, "poisson_ratio": 0.3, "damping": 0.01, "holds": holds, "loads": loads, **more,
    }  # fmt: skip
    scene = {"name": "sliders", "time": {"end": 100.0, "frame_rate": 10}, "gravity": [0, 0]}
    if stepper == "in fluid":
        scene |= {
            "domain": {"lower": [-0.5, -0.5], "upper": [1.5, 0.5], "resolution": 16}, "coupling": "monolithic",
            "fluid": {"density": 1e-6},
        }  # fmt: skip
    else:
        scene["soft"] = {"stepper": stepper, "tolerance": 1e-7} if stepper == "implicit" else {"stepper": stepper}
    return ut.Simulation(ut.Scene(**scene, objects={"bar": ut.SoftBody(**bar)}), threads=1)


def test_a_bar_on_a_pin_and_a_roller_has_the_reactions_of_statics() -> None:
    """Moments about the pin: R_roller L = P a, R_pin = P (L - a) / L, and the pin takes what pulls along the bar."""
    for at, share in ((0.5, 0.5), (0.75, 0.75)):
        push = {"type": "force", "force": [0.03, -0.2], "at": [at, -0.05]}
        sim = _bar([PIN, ROLLER], [push])
        for _ in range(60):
            sim.step()
        body = sim.body("bar")
        lean = sim.nodes("bar").position
        node = int(np.argmin(np.hypot(sim.nodes("bar").rest[:, 0] - at, sim.nodes("bar").rest[:, 1] + 0.05)))
        # moments about the pin in the deformed place of what pushes, the roller having rolled
        roller = lean[int(np.argmin(np.hypot(sim.nodes("bar").rest[:, 0] - 1, sim.nodes("bar").rest[:, 1] + 0.05)))]
        arm = lean[node] - [0.0, -0.05, 0.0]
        expected = (0.2 * arm[0] + 0.03 * arm[1]) / roller[0]
        assert expected == pytest.approx(0.2 * share, rel=0.03)
        pin, roll = body.hold_forces
        assert roll == pytest.approx([0.0, expected, 0.0], abs=2e-6)
        assert pin == pytest.approx([-0.03, 0.2 - expected, 0.0], abs=2e-6)
        assert body.reaction_force == pytest.approx([-0.03, 0.2, 0.0], abs=2e-6)
        assert roller[1] == -0.05


@pytest.mark.parametrize("stepper", ["implicit", "linearised", "newmark", "leapfrog", "in fluid"])
def test_a_bar_between_rollers_stretches_as_a_bar_does(stepper: str) -> None:
    """u = F L / (E A) with poisson_ratio = 0: ends slide across, so that nothing is clamped; in 2D E is E."""
    force, rubber = 100.0, {"poisson_ratio": 0.0, "damping": 0.05 if stepper != "leapfrog" else 0.02}
    end = {"shape": {"type": "box", "size": [1e-3, 1.0]}, "position": [1.0, 0.0]}
    pull = {"type": "traction", "traction": [force, 0.0], "region": end}
    sim = _bar([_whole_end(0.0, "x"), _at(0.0, -0.05, "y")], [pull], stepper, model="stvk", **rubber)
    sim.advance_to(3.0)
    body = sim.body("bar")
    x = sim.nodes("bar").position
    assert x[np.abs(sim.nodes("bar").rest[:, 0]) < 1e-9, 0] == pytest.approx(0.0, abs=1e-12)
    stretch = x[:, 0].max() / LENGTH
    # St Venant-Kirchhoff in one dimension: F / A = E / 2 (s^2 - 1) s
    assert 0.5 * MODULUS * (stretch**2 - 1.0) * stretch == pytest.approx(force, rel=3e-3)
    assert body.reaction_force == pytest.approx([-force * DEPTH, 0.0, 0.0], rel=5e-3, abs=0.02 * force * DEPTH)
    wall, foot = body.hold_forces
    assert wall[0] == pytest.approx(-force * DEPTH, rel=5e-3) and wall[1] == 0.0
    assert foot[0] == 0.0 and abs(foot[1]) < 0.02 * force * DEPTH


@pytest.mark.parametrize("stepper", ["implicit", "linearised", "newmark", "leapfrog", "in fluid"])
def test_a_body_on_sliders_falls_along_them(stepper: str) -> None:
    """Held along x alone it falls as if free, and the hold bears what pushes across: F, exactly."""
    push = {"type": "force", "force": [0.4, -2.0]}
    sim = _bar([{**_whole_end(0.5, "x"), "shape": {"type": "box", "size": [2.0, 1.0]}}], [push], stepper)
    for _ in range(4):
        sim.step()
    # mass 10 kg/m; in fluid what it displaces weighs nothing
    v = sim.nodes("bar").velocity
    assert v[:, 0] == pytest.approx(0.0, abs=1e-15)
    assert v[:, 1] == pytest.approx(-0.2 * sim.time, rel=1e-4)
    assert sim.body("bar").hold_forces[0] == pytest.approx([-0.4, 0.0, 0.0], abs=1e-4)


@pytest.mark.parametrize("stepper", ["implicit", "linearised"])
def test_a_slider_on_a_slope_is_pushed_by_what_it_touches_and_by_its_hold(stepper: str) -> None:
    """A body held along x slides down a smooth slope of 45 degrees: that pushes N (-1, 1) / sqrt 2 with N cos = weight,
    and the hold bears N sin."""
    slope = ut.RigidBody(
        shape=ut.Box(size=[2.0, 1.0]), position=[0.5, -0.5], rotation={"degrees": 45, "axis": [0, 0, 1]},
        motion=ut.Static(), friction=0.0,
    )  # fmt: skip
    block = ut.SoftBody(
        shape=ut.Box(size=[0.2, 0.2]), position=[0.5, 0.5 * 2**0.5 - 0.5 + 0.1 + 0.1], element_size=0.1, density=100.0,
        youngs_modulus=1e5, damping=0.02, friction=0.0,
        holds=[{"shape": {"type": "box", "size": [3.0, 3.0]}, "position": [0.5, 0.5], "axes": "x"}],
    )  # fmt: skip
    time = {"end": 100.0, "frame_rate": 50}
    scene = ut.Scene(
        name="slope", time=time, objects={"slope": slope, "block": block}, soft={"stepper": stepper}
    )  # fmt: skip
    sim = ut.Simulation(scene, threads=1)
    for _ in range(150):
        sim.step()
    body, weight = sim.body("block"), 4.0 * 9.81
    assert np.abs(body.velocity).max() < 1e-4
    assert body.contact_force == pytest.approx([-weight, weight, 0.0], rel=2e-3)
    assert body.hold_forces[0] == pytest.approx([weight, 0.0, 0.0], rel=2e-3)
    # what the slope feels is what it gives
    assert sim.body("slope").contact_force == pytest.approx(-body.contact_force, rel=1e-6)


def test_holds_that_overlap_hold_both_axes_until_each_ends() -> None:
    everywhere = {"shape": {"type": "box", "size": [4.0, 4.0]}, "position": [0.5, 0.0]}
    holds = [{**everywhere, "axes": "x", "until": 0.3}, {**everywhere, "axes": "y", "until": 0.6}]
    sim = _bar(holds, [{"type": "force", "force": [1.0, 1.0]}])
    soft = sim.part(SoftPart).soft
    sim.advance_to(0.3)
    assert not soft.v.any() and not soft.inv_mass.any()
    sim.advance_to(0.6)
    assert soft.v[:, 0] == pytest.approx(0.1 * 0.3) and not soft.v[:, 1].any()
    sim.advance_to(0.8)
    assert soft.v[:, 0] == pytest.approx(0.1 * 0.5) and soft.v[:, 1] == pytest.approx(0.1 * 0.2)


def test_a_motion_leads_nodes_along_the_axes_of_the_hold_alone() -> None:
    everywhere = {"shape": {"type": "box", "size": [4.0, 4.0]}, "position": [0.5, 0.0]}
    led = {**everywhere, "axes": "x", "motion": {"type": "velocity", "linear": [0.2, 5.0]}}
    sim = _bar([led], [{"type": "force", "force": [0.0, 1.0]}])
    sim.advance_to(0.5)
    soft = sim.part(SoftPart).soft
    assert soft.v[:, 0] == pytest.approx(0.2) and soft.v[:, 1] == pytest.approx(0.1 * 0.5)


@pytest.mark.parametrize("stepper", ["implicit", "linearised", "newmark", "in fluid"])
def test_sliders_are_resumed_bit_for_bit(stepper: str, tmp_path: Path) -> None:
    sim = _bar([PIN, {**ROLLER, "until": 0.35}], [{"type": "force", "force": [0.1, -0.3], "at": [0.6, 0.0]}], stepper)
    sim.advance_to(0.2)
    sim.save(tmp_path / "half.h5")
    other = ut.load(tmp_path / "half.h5")
    assert np.array_equal(sim.body("bar").hold_forces, other.body("bar").hold_forces, equal_nan=True)
    for _ in range(4):
        assert sim.step().ledger == other.step().ledger
    for name, array in sim.part(SoftPart).arrays().items():
        assert np.array_equal(array, other.part(SoftPart).arrays()[name], equal_nan=True), name


def test_what_cannot_slide_is_refused() -> None:
    with pytest.raises(UserError, match=r"holds.*axes = 'z': in a 2D scene"):
        _bar([_at(0.0, -0.05, "z")])
    with pytest.raises(UserError, match=r"axes = 'y'.*a rigid body carries"):
        _bar([{**ROLLER, "body": "ball"}])
    with pytest.raises(UserError, match="axes"):
        _bar([_at(0.0, -0.05, "yx")])
