"""Dye in water: it is carried along, stays in the water, and has no weight unless that is given."""

import numpy as np
import pytest

import undertow as ut


def pool(resolution=24, smoke=None, drop=True, **changes):
    """A square pool whose surface is inclined, and dye that is there from the start: a drop at the surface, or all."""
    shape = ut.Sphere(radius=0.15) if drop else ut.Box(size=(2.0, 2.0))
    fields = {
        "name": "dye",
        "domain": ut.Domain(upper=(1.0, 1.0), resolution=resolution),
        "time": ut.Time(end=1.0, frame_rate=10),
        "smoke": smoke or ut.Smoke(),
        "objects": {
            "pool": ut.Water(shape=ut.Plane(normal=(0.1, 1.0)), position=(0.5, 0.5)),
            "dye": ut.Emitter(shape=shape, position=(0.35, 0.45), density=1.0, stop=1e-6),
        },
    }
    return ut.Scene(**{**fields, **changes})


def run(scene):
    sim, rows = ut.Simulation(scene, threads=1), []
    while sim.time < scene.time.end - 1e-9:
        rows.append(sim.step().ledger)
    return sim, rows


def test_water_that_is_dyed_throughout_stays_so():
    """Beyond the surface the dye is that of the water beside it, so that none is mixed with clean air."""
    sim, rows = run(pool(drop=False))
    wet = sim.field("level_set") <= 0.0
    assert np.abs(sim.field("smoke")[wet] - 1.0).max() < 1e-12
    assert (sim.field("smoke")[~wet] == 0.0).all()
    assert rows[-1]["smoke_mass"] == pytest.approx(rows[-1]["fluid_volume"], rel=5e-3)


def test_a_drop_keeps_its_mass_better_on_finer_grids():
    """Transport is not conservative: what is lost falls with the cells."""
    lost = []
    for resolution in (24, 48):
        sim, rows = run(pool(resolution))
        lost.append(1.0 - rows[-1]["smoke_mass"] / rows[0]["smoke_mass"])
        assert sim.state.smoke.min() >= 0.0 and sim.state.smoke.max() <= 1.0
    assert abs(lost[0]) < 0.05 and abs(lost[1]) < 0.7 * abs(lost[0])


def test_dye_has_no_weight_unless_it_is_given():
    """A drop at rest under a level surface; with a weight it sinks, and the water does not know of its temperature."""
    level = {
        "pool": ut.Water(shape=ut.Plane(normal=(0.0, 1.0)), position=(0.5, 0.7)),
        "dye": ut.Emitter(
            shape=ut.Sphere(radius=0.1), position=(0.5, 11 / 24), density=1.0, temperature=350.0, stop=1e-6
        ),
    }
    height = []
    for smoke in (ut.Smoke(), ut.Smoke(buoyancy_density=2.0)):
        sim, _ = run(pool(smoke=smoke, objects=level, time=ut.Time(end=0.4, frame_rate=10)))
        dye = sim.field("smoke")[0].sum(axis=1)
        height.append(float((dye * (np.arange(24) + 0.5)).sum() / dye.sum()) / 24)
    assert height[0] == pytest.approx(11 / 24, abs=1e-6)
    # without the water that it has to push aside it would fall by g t^2 / 2 = 0.16 m
    assert 0.02 < height[0] - height[1] < 0.16


def test_a_scene_with_dye_goes_on_bit_for_bit(goes_on):
    sim = ut.Simulation(pool(), threads=1)
    for _ in range(3):
        sim.step()
    goes_on(sim, 3)
