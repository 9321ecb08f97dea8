"""Gravity that changes in time."""

from __future__ import annotations

import math

import numpy as np
import pytest

import undertow as ut
from undertow.run.sampling import surface_height

TIME = 0.2
CURVE = {"mean": [0.0, -5.0], "amplitude": [3.0, 4.0], "frequency": 1.0}
"""(3 sin w t, -5 + 4 sin w t) m/s2."""

UP_AND_DOWN = {"mean": [0.0, -9.81, 0.0], "amplitude": [0.0, 1.0, 0.0], "frequency": 1.0}

WATER = {
    "domain": ut.Domain(upper=(1.0, 1.0), resolution=24, sides={"y_high": "open"}),
    "coupling": "monolithic", "fluid": ut.Fluid(density=1000.0),
}  # fmt: skip


def falling(kind, step):
    """A ball in free fall under ``CURVE``."""
    ball = ut.RigidBody(shape=ut.Sphere(radius=0.05), position=(0.5, 0.75), density=500.0)
    objects, more = {"ball": ball}, {}
    if kind == "water":
        more, objects["pool"] = WATER, ut.Water(shape=ut.Plane(normal=(0, 1)), position=(0.5, 0.15))
    if kind == "particles":
        more = {"domain": ut.Domain(upper=(1.0, 1.0), resolution=24), "coupling": "direct_forcing"}
        objects["pool"] = ut.SphFluid(shape=ut.Box(size=(1.0, 0.1)), position=(0.5, 0.05))
    if kind == "soft":
        objects["ball"] = ut.SoftBody(shape=ut.Sphere(radius=0.08), position=(0.5, 0.75), element_size=0.05)
    time = ut.Time(end=TIME, frame_rate=5.0, max_step=step)
    return ut.Simulation(ut.Scene(name="fall", gravity=CURVE, time=time, objects=objects, **more))


def errors(kind, step):
    """Largest errors of velocity and position at the end, and the energy less the work."""
    sim, w = falling(kind, step), 2.0 * math.pi
    while sim.time < TIME:
        row = sim.step().ledger
    ball, (p, q) = sim.body("ball"), ((3.0, 4.0), (0.0, -5.0))
    fast = [m * TIME + a * (1.0 - math.cos(w * TIME)) / w for a, m in zip(p, q, strict=True)]
    way = [m * TIME**2 / 2.0 + a * (TIME / w - math.sin(w * TIME) / w**2) for a, m in zip(p, q, strict=True)]
    off = np.abs(ball.velocity[:2] - fast).max(), np.abs(ball.position[:2] - (0.5, 0.75) - way).max()
    return (*off, abs(row["solids_energy"] - row["solids_work"]) / row["solids_energy"])


@pytest.mark.parametrize("kind", ["rigid", "water"])
def test_free_fall_is_of_second_order(kind):
    """Positions, and the work; velocities alone are exact without fluid, since impulses are those of the curve."""
    coarse, fine = errors(kind, 0.02), errors(kind, 0.005)
    assert fine[1] < 1e-4 and fine[1] < coarse[1] / 12.0
    assert fine[0] < 1e-12 if kind == "rigid" else fine[0] < coarse[0] / 12.0
    assert fine[2] < 1e-3


@pytest.mark.parametrize("kind", ["soft", "particles"])
def test_velocities_are_the_integral_of_the_curve(kind):
    assert errors(kind, 0.02)[0] < 1e-12


def test_water_sloshes_as_linear_theory_has_it():
    """Gravity that is tilted to and fro is a tank that is shaken: q_n'' + w_n^2 (q_n - q_n,level) = 0, of odd n. The
    energy of the wave is the work of the change of gravity."""
    tilt, rate = 0.1, 0.5
    scene = ut.Scene(
        name="tilt", gravity={"mean": [0.0, -9.81], "amplitude": [tilt, 0.0], "frequency": rate},
        domain=ut.Domain(upper=(1.0, 0.75), resolution=32, sides={"y_high": "open"}), fluid=ut.Fluid(density=1000.0),
        time=ut.Time(end=1.0, frame_rate=50.0, max_step=0.01),
        objects={"pool": ut.Water(shape=ut.Plane(normal=(0, 1)), position=(0.5, 0.5))},
    )  # fmt: skip
    sim = ut.Simulation(scene)
    measured, wanted, energy, work = [], [], [], []
    while sim.time < 1.0:
        row = sim.step().ledger
        x, height, t = 0.02, 0.0, sim.time
        for n in range(1, 30, 2):
            k = n * math.pi
            own, w = math.sqrt(9.81 * k * math.tanh(0.5 * k)), 2.0 * math.pi * rate
            level = -4.0 / k**2 * tilt / 9.81
            height += level * own / (own**2 - w**2) * (own * math.sin(w * t) - w * math.sin(own * t)) * math.cos(k * x)
        with sim.scheme.synchronised():
            measured.append(surface_height(sim.flow, (x, 0.5)) - 0.5)
        wanted.append(height)
        energy.append(row["kinetic_energy"] + row["potential_energy"])
        work.append(row["gravity_work"])
    assert np.abs(np.subtract(measured, wanted)).max() < 0.04 * np.abs(wanted).max()
    assert np.abs(np.subtract(energy, work)).max() < 0.05 * np.abs(work).max()


@pytest.mark.parametrize("kind", ["rigid", "soft", "water", "particles"])
def test_saved_and_loaded_it_goes_on_bit_for_bit(kind, tmp_path):
    sim = falling(kind, 0.02)
    for _ in range(3):
        sim.step()
    sim.save(tmp_path / "it.h5")
    other = ut.load(tmp_path / "it.h5")
    for _ in range(3):
        assert sim.step().ledger == other.step().ledger


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"gravity": {"times": [0.0, 1.0], "values": [1.0, 2.0]}}, "vector values"),
        ({"gravity": {"times": [0.0], "values": [[1.0, 2.0, 3.0]]}}, "a 2D scene has no z"),
        ({"gravity": CURVE, "smoke": {}}, "gravity: is a curve, and smoke rises against a constant one"),
    ],
)
def test_what_gravity_cannot_be(changes, text):
    scene = {"name": "bad", "domain": {"upper": [1.0, 1.0], "resolution": 8}, "time": {"end": 1.0}, "objects": {}}
    with pytest.raises(ut.UserError, match=text):
        ut.Scene(**{**scene, **changes})


def test_waves_want_a_constant_one():
    with pytest.raises(ut.UserError, match="gravity is a curve; waves run on water that lies level"):
        ut.Scene(**{**dict(ut.scene("wave-tank")), "gravity": UP_AND_DOWN})
