"""The energy of solids against the work done on them: the balance closes, and a run that gains energy stops."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut
from undertow.errors import PhysicsError
from undertow.rigid.bodies import multiply_quaternions
from undertow.solids.energy import LASTING, SHARE, EnergyWatch, turns
from undertow.solids.soft_part import SoftPart


def bar(stepper, velocity=(0.5, 0.0), **changes):
    """A bar led by its left end, from rest."""
    hold = ut.Hold(
        shape=ut.Box(size=(0.06, 0.4)), position=(0.3, 0.5), motion=ut.PrescribedVelocity(linear=velocity)
    )
    body = ut.SoftBody(
        shape=ut.Box(size=(0.4, 0.2)), position=(0.5, 0.5), element_size=0.05, density=1000.0, youngs_modulus=1e4,
        poisson_ratio=0.3, holds=(hold,), **changes.pop("body", {}),
    )  # fmt: skip
    time = ut.Time(end=1.0, frame_rate=60.0, **changes.pop("time", {}))
    return ut.Scene(name="bar", time=time, gravity=(0.0, -9.81), soft=ut.Soft(stepper=stepper), objects={"bar": body})


def largest_gain(sim, steps):
    """Of the energy beyond the work, as a part of what was given."""
    worst = 0.0
    for _ in range(steps):
        sim.step()
        worst = max(worst, sim.watch.gained / sim.watch.given)
    return worst


def test_loads_torques_and_weight_are_the_work_on_a_rigid_body():
    """To round-off: a box in free flight under a force beside its centre, which turns it."""
    loads = (ut.ForceLoad(force=(3.0, 1.0, 0.5), at=(0.1, 0.05, 0.0)), ut.TorqueLoad(torque=(0.01, 0.02, 0.0)))
    box = ut.RigidBody(shape=ut.Box(size=(0.3, 0.2, 0.1)), position=(0.0, 0.0, 0.0), density=500.0, loads=loads)
    sim = ut.Simulation(ut.Scene(name="box", time=ut.Time(end=0.5, frame_rate=200.0), objects={"box": box}))
    start = sim.ledger.row()["solids_energy"]
    while sim.time < 0.5:
        row = sim.step().ledger
    assert row["solids_energy"] - start == pytest.approx(row["solids_work"], rel=1e-4)
    assert row["solids_energy"] > 10.0


@pytest.mark.parametrize("stepper", ["implicit", "newmark", "leapfrog"])
def test_the_work_of_a_hold_that_leads_a_soft_bar(stepper):
    """Implicit steps only lose energy; explicit ones keep it to a part of their vibrations."""
    step = {} if stepper == "implicit" else {"max_step": 0.002}
    assert largest_gain(ut.Simulation(bar(stepper, time=step)), 100) < (1e-12 if stepper == "implicit" else 5e-3)


def test_the_fluid_does_the_work_on_a_ball_that_rises():
    """Tank and leapfrog: kinetic energy is what buoyancy did, less the weight; at rest under the lid all is lost."""
    ball = ut.RigidBody(shape=ut.Sphere(radius=0.12), position=(0.5, 0.4), density=500.0)
    scene = ut.Scene(
        name="ball", coupling="monolithic", domain=ut.Domain(upper=(1.0, 1.0), resolution=16),
        time=ut.Time(end=1.0, frame_rate=60.0), fluid=ut.Fluid(density=1000.0), objects={"ball": ball},
    )  # fmt: skip
    sim = ut.Simulation(scene)
    while sim.time < 0.3:
        row = sim.step().ledger
    assert row["solids_energy"] == pytest.approx(row["solids_work"], rel=2e-3)
    assert row["solids_energy"] > 1.0


def test_velocities_that_a_user_sets_are_given():
    """A kick from outside between two steps is no energy out of nothing."""
    sim = ut.Simulation(bar("implicit"))
    sim.step()
    before = sim.watch.gained
    sim.part(SoftPart).soft.v[:, 1] += 20.0
    report = sim.step()
    assert report.ledger["solids_work"] > 0.5 * sim.part(SoftPart).soft.mass.sum() * 0.8 * 20.0**2
    assert sim.watch.gained == before == 0.0


def test_a_step_beyond_what_verlets_method_holds_stops_the_run(tmp_path):
    """A bar in free vibration, whose elements stiffen as they are bent: what, where, when, remedy, and a checkpoint."""
    scene = bar("leapfrog").model_copy(update={"output": ut.Output(checkpoint_frames=5)})
    with pytest.raises(PhysicsError) as stop:
        ut.Simulation(scene).run(out=tmp_path / "run", quiet=True, preview=False)
    text = str(stop.value)
    for words in (
        "the solids gain energy out of nothing", "J/m beyond the", "objects.bar being the fastest", "at t = 0.4",
        "lower time.max_step below 0.00556 s, or use soft.stepper = 'implicit'", "Last good checkpoint:",
    ):  # fmt: skip
        assert words in text
    assert ut.Run(tmp_path / "run").ledger["solids_energy"].max() < 1e5


@pytest.mark.parametrize("density", [10.0, 1000.0])
def test_a_kicked_disc_with_newmarks_scheme_in_fluid_stops(density):
    """At 10 m/s, 8 cells: it ended at 1e40 J in silence."""
    disc = ut.SoftBody(
        shape=ut.Sphere(radius=0.2), position=(0.5, 0.5), element_size=0.06, density=density, youngs_modulus=1e4,
        poisson_ratio=0.4, model="neo_hookean", velocity=(10.0, 0.0),
    )  # fmt: skip
    scene = ut.Scene(
        name="kick", coupling="monolithic", gravity=(0.0, 0.0), domain=ut.Domain(upper=(1.0, 1.0), resolution=8),
        time=ut.Time(end=1.0, frame_rate=60.0), fluid=ut.Fluid(density=1000.0), soft=ut.Soft(stepper="newmark"),
        objects={"disc": disc},
    )  # fmt: skip
    sim = ut.Simulation(scene)
    with pytest.raises(PhysicsError, match=r"out of nothing.*objects\.disc.*soft\.stepper = 'implicit'"):
        for _ in sim.steps(until=0.3):
            assert sim.watch.gained < 1e6


def test_a_loan_of_few_steps_is_none():
    """Energy may come before its work; what stays is judged, and what explodes at once."""
    watch = EnergyWatch()
    assert not watch.see(1.0, 0.0, 1e-6)
    for _ in range(LASTING - 1):
        assert not watch.see(1.01 + SHARE, 0.0, 1e-6)
    assert not watch.see(1.0, 0.0, 1e-6)
    late = [watch.see(1.01 + SHARE, 0.0, 1e-6) for _ in range(LASTING)]
    assert late == [False] * (LASTING - 1) + [True]
    again = EnergyWatch()
    again.restore(watch.numbers())
    assert again.see(1.01 + SHARE, 0.0, 1e-6)
    fast = EnergyWatch()
    assert [fast.see(energy, 0.0, 1e-6) for energy in (1.0, 1e6, 1e9)] == [False, False, True]


def test_turns_lead_from_one_rotation_to_another():
    """However large, and whichever of its two quaternions a rotation has."""
    rng = np.random.default_rng(3)
    axis = rng.normal(size=(20, 3))
    axis *= (rng.uniform(0.0, 3.1, 20) / np.linalg.norm(axis, axis=1))[:, None]
    angle = np.linalg.norm(axis, axis=1)[:, None]
    step = np.concatenate([np.cos(0.5 * angle), np.sin(0.5 * angle) / angle * axis], axis=1)
    start = rng.normal(size=(20, 4))
    start /= np.linalg.norm(start, axis=1)[:, None]
    end = np.array([multiply_quaternions(a, b) for a, b in zip(step, start, strict=True)])
    end[::2] *= -1.0
    assert np.allclose(turns(start, end), axis, atol=1e-12)
