"""Waves as makers make them: what linear theory says of them, spectra, and the regions that lead water towards them."""

import numpy as np
import pytest

import undertow as ut
from undertow.fluid import waves
from undertow.fluid.wave_zones import WaveZone, ZoneSide

GRAVITY = 9.81


@pytest.mark.parametrize("depth", [0.01, 0.3, 50.0])
def test_wave_numbers_obey_the_dispersion_relation(depth):
    omega = np.geomspace(0.05, 40.0, 60)
    k = waves.wave_number(omega, depth, GRAVITY)
    assert np.allclose(GRAVITY * k * np.tanh(k * depth), omega**2, rtol=1e-13)


def test_group_speed_is_the_slope_of_the_frequency():
    omega = 4.0
    low, high = (float(waves.wave_number(w, 0.3, GRAVITY)) for w in (omega - 1e-5, omega + 1e-5))
    assert np.isclose(waves.group_speed(omega, 0.3, GRAVITY), 2e-5 / (high - low), rtol=1e-8)


@pytest.mark.parametrize("depth", [0.2, 5.0, 400.0])
def test_waves_are_free_of_divergence_and_vanish_at_the_floor(depth):
    wave = waves.regular(0.02, 1.1, depth, GRAVITY, 0.0)
    s, y, h = np.array([0.3]), np.array([-0.1]), 1e-5
    along = wave.velocity(s + h, y, 0.7, upward=False) - wave.velocity(s - h, y, 0.7, upward=False)
    across = wave.velocity(s, y + h, 0.7, upward=True) - wave.velocity(s, y - h, 0.7, upward=True)
    assert np.allclose(along + across, 0.0, atol=1e-11)
    assert np.allclose(wave.velocity(s, np.array([-depth]), 0.7, upward=True), 0.0, atol=1e-15)


def test_the_surface_moves_with_the_water_to_second_order():
    """eta_t + u eta_s - v at the surface falls with the third power of the amplitude."""

    def miss(amplitude):
        wave = waves.regular(amplitude, 1.1, 0.4, GRAVITY, 0.0)
        s, t, h = np.linspace(0.0, 2.0, 41), 0.3, 1e-5
        eta = wave.elevation(s, t)
        rate = (wave.elevation(s, t + h) - wave.elevation(s, t - h)) / (2 * h)
        slope = (wave.elevation(s + h, t) - wave.elevation(s - h, t)) / (2 * h)
        u = np.array([wave.velocity(s[n : n + 1], eta[n : n + 1], t, upward=False)[0, 0] for n in range(len(s))])
        v = np.array([wave.velocity(s[n : n + 1], eta[n : n + 1], t, upward=True)[0, 0] for n in range(len(s))])
        return np.abs(rate + u * slope - v).max()

    assert np.log2(miss(0.02) / miss(0.01)) > 2.8


@pytest.mark.parametrize("peakedness", [1.0, 3.3])
def test_irregular_waves_have_the_height_and_peak_of_their_spectrum(peakedness):
    wave = waves.irregular(0.3, 2.0, peakedness, 200, 5, 1.0, GRAVITY, 0.0, 1.25)
    assert np.isclose(4.0 * np.sqrt(0.5 * np.sum(wave.amplitude**2)), 0.3, rtol=1e-12)
    density = wave.amplitude**2
    assert np.isclose(2.0 * np.pi / wave.omega[np.argmax(density)], 2.0, rtol=0.03)
    again = waves.irregular(0.3, 2.0, peakedness, 200, 5, 1.0, GRAVITY, 0.0, 1.25)
    other = waves.irregular(0.3, 2.0, peakedness, 200, 6, 1.0, GRAVITY, 0.0, 1.25)
    assert np.array_equal(wave.phase, again.phase) and not np.array_equal(wave.phase, other.phase)


def test_energy_above_a_frequency_is_that_of_pierson_and_moskowitz():
    """m_0 below f is exp(-5/4 (f / f_p)^-4) of the whole."""
    assert np.isclose(waves.part_above(1.0, 2.0, 1.0), 1.0 - np.exp(-1.25 / 16.0), atol=2e-3)


def tank(along="x", end="low", **wave):
    """Waves along an axis of a 3D tank three cells wide; the other end is a beach."""
    size = {"x": [1.5, 0.5, 0.1875], "z": [0.1875, 0.5, 1.5]}[along]
    other = {"low": "high", "high": "low"}[end]
    given = ut.RegularWave(amplitude=0.01, period=0.6, **wave)
    return ut.Scene(
        name="tank", domain=ut.Domain(upper=size, resolution=24, resolution_along=along),
        time=ut.Time(end=10.0, fixed_step=0.02), fluid=ut.Fluid(density=1000.0, tolerance=1e-10),
        surface=ut.Surface(particles=False),
        objects={
            "water": ut.Water(shape=ut.Plane(normal=[0, 1, 0]), position=[0.5, 0.31, 0.5]),
            "maker": ut.WaveMaker(side=f"{along}_{end}", wave=given, length=0.6),
            "beach": ut.Beach(side=f"{along}_{other}", length=0.7),
        },
    )  # fmt: skip


def level_set(scene, until=0.4):
    sim = ut.Simulation(scene)
    sim.advance_to(until)
    return np.asarray(sim.field("level_set")), sim


def test_waves_run_alike_along_x_and_z_and_from_both_ends():
    first, _ = level_set(tank())
    assert np.ptp(first[1, 4, :]) > 0.0015
    turned, _ = level_set(tank("z"))
    mirrored, _ = level_set(tank("x", "high"))
    near = np.abs(first) < 0.06
    assert np.allclose(np.swapaxes(turned, 0, 2), first, atol=1e-12)
    assert np.allclose(mirrored[:, :, ::-1][near], first[near], atol=1e-6)


def test_volume_that_regions_make_is_counted():
    _, sim = level_set(tank())
    ledger = sim.step().ledger
    known = 1.5 * 0.1875 * 0.31 + ledger["emitted_volume"]
    assert abs(ledger["emitted_volume"]) > 1e-6
    assert np.isclose(ledger["fluid_volume"] + ledger["volume_error"], known, rtol=1e-13)


def test_a_run_goes_on_bit_for_bit(tmp_path):
    sim = ut.Simulation(tank())
    sim.advance_to(0.1)
    sim.save(tmp_path / "saved.h5")
    sim.advance_to(0.2)
    again = ut.load(tmp_path / "saved.h5")
    again.advance_to(0.2)
    assert all(np.array_equal(a, b) for a, b in zip(sim.arrays().values(), again.arrays().values(), strict=True))


def test_a_region_leads_velocities_to_those_of_its_wave():
    """Without a pressure the difference from the wave falls by exp(-sigma dt)."""
    sim = ut.Simulation(tank())
    zone = next(field for field in sim.flow.fields if isinstance(field, WaveZone) and len(field.wave.amplitude))
    assert isinstance(zone.side, ZoneSide)
    zone.add_sources(5.0, 0.02)
    u = sim.flow.grid.face_field()
    for _ in range(400):
        zone.add_forces(u, 0.05)
    k, j, i = 4, 6, 4
    x, y = (i - 3) * 0.0625, (j - 3 + 0.5) * 0.0625 - 0.31
    wanted = zone.wave.velocity(np.array([x]), np.array([y]), zone.middle - 0.05, upward=False)[0, 0]
    assert np.isclose(u[0, k, j, i], wanted, rtol=1e-6) and wanted != 0.0
