"""Forces, targets and reactions that a user gives and reads, each against a formula, and resumed bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.coupling.leapfrog import Leapfrog
from undertow.solids.rigid_part import RigidPart

TANK = {"domain": {"upper": [1.0, 1.0], "resolution": 16}, "time": {"end": 1.0, "frame_rate": 20}, "gravity": [0, 0]}
THIN = {"fluid": {"density": 1e-3}}
SPH = {
    "domain": {"upper": [0.4, 0.4], "resolution": 16}, "time": {"end": 1.0, "frame_rate": 50}, "gravity": [0, 0],
    "coupling": "direct_forcing",
}  # fmt: skip


def _ball(**more: Any) -> ut.RigidBody:
    return ut.RigidBody(**{"shape": ut.Sphere(radius=0.15), "position": [0.4, 0.5], "mass": 2.0, **more})


def _simulate(objects: dict[str, Any], **scene: Any) -> ut.Simulation:
    time = {"end": 2.0, "frame_rate": 20}
    return ut.Simulation(ut.Scene(**{"name": "loads", "time": time, "objects": objects, **scene}), threads=1)


KINDS: dict[str, dict[str, Any]] = {
    "alone": {"gravity": [0, 0]},
    "monolithic": {**TANK, **THIN, "coupling": "monolithic"},
    "two solves": {**TANK, **THIN, "coupling": "monolithic", "monolithic": {"solves": 2}},
    "lumped": {**TANK, **THIN, "coupling": "lumped"},
    "volume_fraction": {**TANK, **THIN, "coupling": "volume_fraction"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_force_gives_its_impulse(kind: str) -> None:
    """v = F t / m, omega = (r x F + T) t / I, in a fluid of a hundred-thousandth of the mass."""
    force = {"type": "force", "force": [1.0, 0.5]}
    sim = _simulate({"ball": _ball(loads=[force, {"type": "torque", "torque": [0, 0, 0.004]}])}, **KINDS[kind])
    sim.advance_to(0.4)
    ball = sim.body("ball")
    inertia = 0.5 * 2.0 * 0.15**2
    assert ball.velocity == pytest.approx([0.2, 0.1, 0.0], rel=2e-4)
    assert ball.angular_velocity[2] == pytest.approx(0.004 * 0.4 / inertia, rel=1e-3)
    assert ball.load_force == pytest.approx([1.0, 0.5, 0.0])


def test_a_load_that_varies_gives_its_integral_for_any_steps() -> None:
    curve = {"times": [0.0, 0.1, 0.3], "values": [[0, 0], [4, 0], [0, 0]]}
    for rate in (20, 7, 3):
        sim = _simulate(
            {"ball": _ball(loads=[{"type": "force", "force": curve}])}, gravity=[0, 0],
            time={"end": 2.0, "frame_rate": rate},
        )  # fmt: skip
        sim.advance_to(1.0)
        assert sim.body("ball").velocity[0] == pytest.approx(0.5 * 0.3 * 4.0 / 2.0, rel=1e-12)


def test_water_and_particles_carry_a_body_that_is_pushed() -> None:
    """With the force of the fluid known, the momentum is that of weight, fluid and load."""
    pool = ut.Water(shape=ut.Plane(normal=[0, 1]), position=[0.5, 0.4])
    water = {"domain": {"upper": [1.0, 1.0], "resolution": 16}, "time": {"end": 1.0, "frame_rate": 50}}
    drop = ut.SphFluid(shape=ut.Box(size=[0.4, 0.1]), position=[0.2, 0.05])
    cases = {
        "monolithic": (water, pool), "rigid_fluid": (water, pool),
        "direct_forcing": ({**SPH, "gravity": [0, -9.81]}, drop),
    }  # fmt: skip
    for coupling, (scene, fluid) in cases.items():
        size, place = (0.04, [0.2, 0.15]) if coupling == "direct_forcing" else (0.15, [0.5, 0.45])
        ball = ut.RigidBody(shape=ut.Sphere(radius=size), position=place, density=700.0)
        sim = _simulate({"pool": fluid, "ball": ball}, **{**scene, "coupling": coupling})
        mass, rigid, weight = 700.0 * np.pi * size**2, sim.part(RigidPart), 700.0 * np.pi * size**2 * 9.81
        sim.step()
        for _ in range(3):
            sim.body("ball").apply([30.0, 10.0])
            before, end = rigid.momenta_of("ball")[0], sim.time
            sim.step()
            body, duration = sim.body("ball"), _kick(sim) or sim.time - end
            push = body.force + body.contact_force + body.load_force - np.array([0.0, weight, 0.0])
            assert body.load_force == pytest.approx([30.0, 10.0, 0.0])
            gained = (rigid.momenta_of("ball")[0] - before) / duration
            # volumes of a circle on particles and grids are its own to a percent
            assert gained / mass == pytest.approx(push / mass, rel=2e-2, abs=2e-2), coupling


def _kick(sim: ut.Simulation) -> float:
    """How long the forces of the last step act where velocities are those of the middles of steps [s]; else 0."""
    scheme = sim.scheme
    return scheme.velocity_time - scheme.before_time if isinstance(scheme, Leapfrog) else 0.0


def test_traction_and_pressure_on_a_rigid_body() -> None:
    """A side of a box of 0.2 m under 50 Pa along x gives 10 N/m, and a quarter turn later pressure has turned too."""
    side = {"shape": {"type": "box", "size": [0.02, 0.4]}, "position": [0.4, 0.5]}
    box = {"shape": ut.Box(size=[0.2, 0.2]), "position": [0.5, 0.5], "mass": 4.0}
    sim = _simulate(
        {"box": ut.RigidBody(**box, loads=[{"type": "traction", "traction": [50, 0], "region": side}])}, gravity=[0, 0]
    )
    sim.step()
    assert sim.body("box").load_force == pytest.approx([10.0, 0.0, 0.0])
    push = {"type": "pressure", "pressure": 50.0, "region": side}
    sim = _simulate({"box": ut.RigidBody(**box, angular_velocity=[0, 0, np.pi / 2], loads=[push])}, gravity=[0, 0])
    sim.step()
    assert sim.body("box").load_force == pytest.approx([10.0, 0.0, 0.0])
    sim.advance_to(1.0)
    sim.step()
    turned = sim.body("box").load_force
    assert turned == pytest.approx([0.0, 10.0, 0.0], abs=1e-9)


BEAM = {
    "shape": ut.Box(size=[0.4, 0.1, 0.1]), "position": [0.2, 0.0, 0.0], "element_size": 0.05, "youngs_modulus": 1e5,
    "density": 500.0, "damping": 0.02,
    "holds": [{"shape": {"type": "box", "size": [0.01, 0.2, 0.2]}, "position": [0.0, 0.0, 0.0]}],
}  # fmt: skip
END = {"shape": {"type": "box", "size": [0.01, 0.2, 0.2]}, "position": [0.4, 0.0, 0.0]}


def _beam(loads: list[Any], stepper: str = "implicit", gravity: Any = (0, 0, 0), **more: Any) -> ut.Simulation:
    body = ut.SoftBody(**{**BEAM, **more}, loads=loads)
    return _simulate({"beam": body}, gravity=list(gravity), soft={"stepper": stepper})


def test_traction_on_the_end_of_a_beam_is_the_same_load_on_its_nodes() -> None:
    """t A = F; sums over the triangles of the end are those of the nodes that share them."""
    sim = _beam([{"type": "traction", "traction": [0, -100.0, 0], "region": END}])
    nodes = sim.nodes("beam")
    end = np.flatnonzero(np.abs(nodes.position[:, 0] - 0.4) < 1e-9)
    # a corner belongs to fewer triangles than a middle: areas by hand, from the elements
    other = _beam([])
    share = np.zeros(len(nodes.position))
    for element in nodes.elements:
        face = [n for n in element if n in set(end)]
        if len(face) == 3:
            a, b, c = nodes.position[face]
            share[face] += 0.5 * np.linalg.norm(np.cross(b - a, c - a)) / 3
    assert share.sum() == pytest.approx(0.01)
    for _ in range(10):
        for n in end:
            other.body("beam").apply([0, -100.0 * share[n], 0], at=other.nodes("beam").position[n])
        sim.step()
        other.step()
        assert sim.body("beam").load_force == pytest.approx([0, -1.0, 0])
        assert other.body("beam").load_force == pytest.approx([0, -1.0, 0])
    # sums in another order, and solves that end at 5e-5 m
    assert sim.nodes("beam").position == pytest.approx(other.nodes("beam").position, abs=1e-7)
    assert sim.nodes("beam").position[end, 1].mean() < -1e-3


@pytest.mark.parametrize("stepper", ["implicit", "newmark"])
def test_the_reaction_carries_weight_and_load(stepper: str) -> None:
    """At rest what holds the beam has its weight and the load on its tip: (0, m g + F)."""
    load = {"type": "force", "force": [0.0, -2.0, 0.0], "at": [0.4, 0.0, 0.0]}
    sim = _beam([load], stepper, (0, -9.81, 0), damping=0.1, element_size=0.1)
    for _ in sim.steps(until=1.5):
        pass
    weight = 500.0 * 0.4 * 0.01 * 9.81
    assert sim.body("beam").reaction_force == pytest.approx([0.0, weight + 2.0, 0.0], rel=2e-3, abs=2e-3)


def test_the_reaction_in_fluid_carries_weight_less_buoyancy() -> None:
    """(m - rho V) g of a held beam in a tank at rest."""
    beam = ut.SoftBody(
        shape=ut.Box(size=[0.5, 0.2]), position=[0.5, 0.5], element_size=0.1, youngs_modulus=1e6, density=1500.0,
        damping=0.05, holds=[{"shape": {"type": "box", "size": [0.02, 0.4]}, "position": [0.25, 0.5]}],
    )  # fmt: skip
    scene = {**TANK, "gravity": [0, -9.81], "coupling": "monolithic", "fluid": {"density": 1000.0}}
    sim = _simulate({"beam": beam}, **scene, probes={"grip": {"type": "force", "objects": ["beam"]}})
    for _ in sim.steps(until=1.0):
        pass
    assert sim.body("beam").reaction_force[1] == pytest.approx(500.0 * 0.1 * 9.81, rel=1e-2)
    from undertow.run.ledger import probe_rows

    probed = {row[4]: row[5] for row in probe_rows(sim)}
    assert probed["force_reaction_y"] == sim.body("beam").reaction_force[1]
    assert probed["force_y"] == sim.body("beam").force[1]


def _arm() -> dict[str, Any]:
    motor = ut.Control(target=0.0, stiffness=50.0, damping=10.0)
    return {
        "post": ut.RigidBody(shape=ut.Box(size=[0.05, 0.05]), position=[0.5, 0.5]),
        "arm": ut.RigidBody(shape=ut.Box(size=[0.3, 0.05]), position=[0.7, 0.5], density=100.0),
        "hip": ut.Joint(kind="hinge", parent="post", child="arm", position=[0.55, 0.5], control=motor),
    }


@pytest.mark.parametrize("kind", ["alone", "monolithic"])
def test_a_joint_goes_to_its_target(kind: str) -> None:
    sim = _simulate(_arm(), **KINDS[kind])
    assert sim.joint("hip").target == 0.0
    sim.joint("hip").target = 0.3
    sim.advance_to(2.0 if kind == "alone" else 1.0)
    assert sim.joint("hip").coordinate == pytest.approx(0.3, abs=2e-3 if kind == "alone" else 2e-2)
    assert sim.joint("hip").target == 0.3
    with pytest.raises(ut.UserError, match="no such joint"):
        sim.joint("hop")


@pytest.mark.parametrize("kind", ["alone", "none", "monolithic", "particles"])
def test_a_driven_body_reaches_its_target_exactly(kind: str) -> None:
    driven = ut.RigidBody(shape=ut.Box(size=[0.1, 0.1]), position=[0.15, 0.25], motion={"type": "driven"})
    objects: dict[str, Any] = {"paddle": driven}
    scene: dict[str, Any] = {"none": TANK, "particles": SPH, **KINDS}[kind]
    if kind in ("alone", "monolithic"):
        objects["ball"] = _ball(position=[0.6, 0.6])
    if kind == "particles":
        objects["pool"] = ut.SphFluid(shape=ut.Box(size=[0.4, 0.1]), position=[0.2, 0.05])
    sim = _simulate(objects, **{**scene, "time": {"end": 1.0, "frame_rate": 20}})
    sim.advance_to(0.02)
    sim.body("paddle").move_to([0.2, 0.3], 0.4, at_time=0.083)
    sim.step()
    going = sim.body("paddle")
    assert 0.15 < going.position[0] <= 0.2
    times = [sim.time]
    while sim.time < 0.12:
        sim.step()
        times.append(sim.time)
    assert min(abs(t - 0.083) for t in times) < 1e-12  # a step ends there
    there = sim.body("paddle")
    assert list(there.position) == [0.2, 0.3, 0.0]
    assert there.angle == pytest.approx(0.4, abs=1e-15)
    assert not there.velocity.any()
    sim.body("paddle").move_with([0.1, 0.0])
    start = sim.time
    sim.advance_to(0.2)
    assert sim.body("paddle").position[0] == pytest.approx(0.2 + 0.1 * (0.2 - start), rel=1e-12)
    assert sim.body("paddle").velocity == pytest.approx([0.1, 0.0, 0.0])


def test_what_is_applied_and_targets_go_on_after_saving(tmp_path: Path) -> None:
    soft = ut.SoftBody(
        shape=ut.Box(size=[0.2, 0.1]), position=[0.7, 0.8], element_size=0.05, density=200.0,
        loads=[{"type": "pressure", "pressure": {"amplitude": 100.0, "frequency": 3.0}}],
    )  # fmt: skip
    objects = {
        **_arm(), "soft": soft,
        "paddle": ut.RigidBody(shape=ut.Box(size=[0.1, 0.1]), position=[0.15, 0.25], motion={"type": "driven"}),
    }  # fmt: skip
    for kind in ("alone", "monolithic"):
        sim = _simulate(objects, **KINDS[kind])
        sim.advance_to(0.05)
        sim.body("arm").apply([0.0, 1.0], 0.1, at=[0.8, 0.5], duration=0.12)
        sim.body("soft").apply([0.3, 0.0], at=[0.8, 0.8], duration=0.2)
        sim.body("paddle").move_to([0.25, 0.3], 0.5, at_time=0.23)
        sim.joint("hip").target = 0.2
        sim.step()
        sim.body("arm").apply([0.5, 0.0])
        sim.save(tmp_path / f"{kind}.h5")
        other = ut.load(tmp_path / f"{kind}.h5", threads=1)
        assert other.body("soft").load_force == pytest.approx(sim.body("soft").load_force, abs=0.0)
        for _ in range(5):
            one, two = sim.step(), other.step()
            assert one.ledger == two.ledger
        assert sim.time == other.time
        for name, array in sim.arrays().items():
            assert np.array_equal(array, other.arrays()[name]), name
        assert sim.checkpoint().numbers == other.checkpoint().numbers


def test_what_cannot_be_pushed_or_driven_says_so() -> None:
    sim = _simulate({"ball": _ball(), "wall": ut.RigidBody(shape=ut.Box(size=[0.1, 0.1]), position=[0.9, 0.9])})
    with pytest.raises(ut.UserError, match="no force moves it"):
        sim.body("wall").apply([1, 0])
    with pytest.raises(ut.UserError, match="not driven"):
        sim.body("wall").move_to([0, 0], at_time=1.0)
    with pytest.raises(ut.UserError, match="must come after"):
        sim.body("wall").move_to([0, 0], at_time=0.0)
    with pytest.raises(ut.UserError, match="must be two or three finite numbers"):
        sim.body("ball").apply([1, np.nan])
    with pytest.raises(ut.UserError, match="must be positive"):
        sim.body("ball").apply([1, 0], duration=0.0)
    with pytest.raises(ut.UserError, match="unit quaternion"):
        sim.body("wall").move_to(rotation=[1, 1, 0, 0], at_time=1.0)
    with pytest.raises(ut.UserError, match="no controller"):
        _simulate({**_arm(), "hip": ut.Joint(kind="hinge", parent="post", child="arm", position=[0.55, 0.5])}).joint(
            "hip"
        ).target = 1.0


def test_loads_that_have_no_effect_are_refused() -> None:
    force = {"type": "force", "force": [1, 0]}
    with pytest.raises(ut.UserError, match="loads move no body"):
        ut.RigidBody(shape=ut.Sphere(radius=0.1), position=[0, 0], loads=[force])
    with pytest.raises(ut.UserError, match="must have 2 components"):
        _simulate({"ball": _ball(loads=[{"type": "force", "force": [1, 0, 2]}])})
    with pytest.raises(ut.UserError, match="turn about z only"):
        _simulate({"ball": _ball(loads=[{"type": "torque", "torque": [1, 0, 0]}])})
    with pytest.raises(ut.UserError, match="a torque acts on rigid bodies"):
        _beam([{"type": "torque", "torque": [1, 0, 0]}])
    with pytest.raises(ut.UserError, match="a rope has no surface"):
        rope = ut.Rope(position=[0, 0], end=[1, 0], element_size=0.1, loads=[{"type": "pressure", "pressure": 1.0}])
        _simulate({"rope": rope})
    with pytest.raises(ut.UserError, match="no element of the surface"):
        far = {**END, "position": [9.0, 0.0, 0.0]}
        _beam([{"type": "pressure", "pressure": 1.0, "region": far}])
    with pytest.raises(ut.UserError, match="must be a list of loads"):
        _ball(loads=force)
