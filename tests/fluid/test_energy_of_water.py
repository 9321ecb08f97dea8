"""Potential energy of water counts from its state at rest."""

import numpy as np
import pytest

import undertow as ut

RHO, G = 1000.0, 9.81


def energy(shape, position, upper=(1.0, 1.0), resolution=32, gravity=None, steps=0, **objects):
    dimensions = len(upper)
    scene = ut.Scene(
        name="energy", domain=ut.Domain(upper=upper, 
                                        resolution=resolution, resolution_along="x"),
        gravity=gravity or [0.0, -G, 0.0][:dimensions], time=ut.Time(end=1.0, max_step=0.01),
        fluid=ut.Fluid(density=RHO, viscosity=0.0), surface=ut.Surface(particles=False),
        objects={"water": ut.Water(shape=shape, position=position), **objects},
    )  # fmt: skip
    sim = ut.Simulation(scene)
    row = sim.ledger.row()
    for _ in range(steps):
        row = sim.step().ledger
    return row


@pytest.mark.parametrize("level", [0.5, 0.513, 0.5199])
@pytest.mark.parametrize("upper", [(1.0, 1.0), (1.0, 1.0, 0.5)])
def test_still_water_has_none(level, upper):
    dimensions = len(upper)
    row = energy(ut.Plane(normal=[0, 1, 0][:dimensions]), [0.5, level, 0.2][:dimensions], upper, 16, steps=2)
    assert abs(row["potential_energy"]) < 1e-7


@pytest.mark.parametrize("amplitude", [0.02, 0.05])
def test_a_wave_has_what_linear_theory_says(amplitude):
    """rho g / 2 int eta^2 = rho g a^2 L / 4 of a cosine, at 64 cells."""
    shape = ut.Heights(height=ut.HeightSine(amplitude=amplitude, wavelength=1.0, phase=0.5 * np.pi))
    row = energy(shape, [0.0, 0.5], resolution=64)
    assert row["potential_energy"] == pytest.approx(0.25 * RHO * G * amplitude**2, rel=0.02)


def test_a_column_has_what_its_collapse_can_give():
    """rho g (w h^2 / 2 - (w h)^2 / 2 L), and less around a block on the floor."""
    row = energy(ut.Box(size=[0.5, 1.5]), [0.0, 0.0])
    assert row["potential_energy"] == pytest.approx(RHO * G * 0.5 * (0.25 * 0.75**2 - (0.25 * 0.75) ** 2), rel=0.01)
    block = ut.RigidBody(shape=ut.Box(size=[0.5, 0.1]), position=[0.75, 0.05])
    row = energy(ut.Box(size=[0.5, 1.5]), [0.0, 0.0], block=block)
    # at rest the level is h: 0.5 h + 0.5 (h - 0.1) = 0.1875
    h = 0.2375
    rest = 0.5 * 0.5 * h**2 + 0.5 * 0.5 * (h**2 - 0.1**2)
    assert row["potential_energy"] == pytest.approx(RHO * G * (0.5 * 0.25 * 0.75**2 - rest), rel=0.01)


def test_gravity_may_point_along_another_axis():
    row = energy(ut.Plane(normal=[1.0, 0.0]), [0.4, 0.5], gravity=[-G, 0.0])
    assert abs(row["potential_energy"]) < 1e-7
    row = energy(ut.Plane(normal=[-1.0, 0.0]), [0.6, 0.5], gravity=[-G, 0.0])
    assert row["potential_energy"] == pytest.approx(RHO * G * 0.4 * 0.6, rel=1e-6)


def test_water_that_comes_in_counts_by_its_height_over_the_still_level():
    source = ut.WaterSource(shape=ut.Box(size=[0.4, 0.2]), position=[0.5, 0.8], velocity=[0.0, 0.0])
    row = energy(ut.Plane(normal=[0, 1]), [0.5, 0.3], resolution=64, source=source, steps=1)
    poured = row["emitted_volume"]
    assert poured > 0.06
    assert row["potential_energy"] == pytest.approx(RHO * G * poured * 0.5, rel=0.04)
