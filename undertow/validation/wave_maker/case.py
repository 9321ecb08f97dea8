"""Waves that a maker makes: amplitude and period of regular ones, height and period of irregular ones."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.gauges import Tank, surface_heights, wave_number

REGULAR = {"deep": (1.0, 0.5, 0.05), "shallow": (1.0, 0.1, 0.02), "steep": (1.0, 0.3, 0.12)}
"""Wavelength, depth [m] and steepness k a."""
CELLS = 32
"""Per wavelength."""
HEIGHT, PERIOD, DEPTH = 0.04, 1.2, 0.5
"""Of irregular waves: H_s [m], T_p [s], and depth [m]."""
PERIODS = 40
"""Of irregular waves that are measured."""
IRREGULAR_CELLS = 72
"""Per wavelength of the peak."""
SMOKE = {"PERIODS": 1, "REGULAR": {"deep": (1.0, 0.5, 0.05)}}


def regular(length: float, depth: float, steepness: float, cells: int = CELLS) -> tuple[float, float]:
    """Amplitude a quarter of a wavelength from the maker, and period from the times of zeros, over those asked for."""
    tank = Tank(length, depth, 2.0 * length, cells, steepness, gap=1.0)
    found, sim = tank.measure(periods=3.0)
    at = math.ceil((tank.maker + 0.25) * cells)
    times, eta = [], []
    for _ in sim.steps(until=sim.time + 5.25 * tank.period):
        times.append(sim.time)
        eta.append(surface_heights(sim)[at] - depth)
    t, y = np.array(times), np.array(eta) - np.mean(eta)
    up = np.nonzero((y[:-1] < 0.0) & (y[1:] >= 0.0))[0]
    if len(up) < 2:
        return found.incoming / tank.amplitude, float("nan")
    zeros = t[up] - y[up] * (t[up + 1] - t[up]) / (y[up + 1] - y[up])
    return found.incoming / tank.amplitude, float(np.diff(zeros).mean() / tank.period)


def moments(t: np.ndarray, eta: np.ndarray) -> tuple[float, float]:
    """4 sqrt(m_0) [m] and m_0 / m_1 [s] of the spectrum of a gauge."""
    even = np.linspace(t[0], t[-1], len(t))
    y = np.interp(even, t, eta)
    y = (y - y.mean()) * np.hanning(len(y))
    power, f = np.abs(np.fft.rfft(y)) ** 2, np.fft.rfftfreq(len(y), even[1] - even[0])
    return 4.0 * float(np.std(eta)), float(power.sum() / (power * f).sum())


def irregular(seed: int) -> tuple[float, float]:
    """H_s and m_0 / m_1 of a gauge over those of linear theory for the same waves at its place and times."""
    omega = 2.0 * math.pi / PERIOD
    length = 2.0 * math.pi / wave_number(omega, DEPTH)
    dx = length / IRREGULAR_CELLS
    count = round(3.75 * length / dx)
    wave = ut.IrregularWave(height=HEIGHT, period=PERIOD, seed=seed)
    scene = ut.Scene(
        name="irregular", domain=ut.Domain(upper=[count * dx, DEPTH + 0.1], resolution=count, resolution_along="x"),
        time=ut.Time(end=1e4, frame_rate=20.0 / PERIOD, max_step=PERIOD / 40.0),
        fluid=ut.Fluid(density=1000.0, viscosity=0.0),
        objects={
            "water": ut.Water(shape=ut.Plane(normal=[0, 1]), position=[0.0, DEPTH]),
            "maker": ut.WaveMaker(side="x_low", wave=wave),
            "beach": ut.Beach(side="x_high", length=2.0 * length),
        },
    )  # fmt: skip
    sim = ut.Simulation(scene)
    column = round(1.55 * length / dx)
    times, eta = [], []
    wait = 8.0 * PERIOD
    for _ in sim.steps(until=wait + PERIODS * PERIOD):
        if sim.time > wait:
            times.append(sim.time)
            eta.append(surface_heights(sim)[column] - DEPTH)
    t = np.array(times)
    zones = [field for field in sim.flow.fields if field.name == "zone.maker"]
    asked = np.array([zones[0].wave.elevation(np.array([(column + 0.5) * dx]), time)[0] for time in t])  # type: ignore[attr-defined]
    (height, period), (wanted, mean) = moments(t, np.array(eta)), moments(t, asked)
    return height / wanted, period / mean


def run(full: bool = False) -> Iterator[Quantity]:
    """At 32 cells per wavelength; irregular waves over 40 peak periods; the full form has three seeds."""
    for name, given in REGULAR.items():
        amplitude, period = regular(*given)
        yield quantity(f"amplitude_{name}", amplitude)
        yield quantity(f"period_{name}", period)
    found = np.array([irregular(seed) for seed in range(3 if full else 1)])
    height, period = found[np.argmax(np.abs(found[:, 0] - 1.0)), 0], found[np.argmax(np.abs(found[:, 1] - 1.0)), 1]
    yield quantity("height_irregular", float(height), heights=found[:, 0].tolist())
    yield quantity("period_irregular", float(period), periods=found[:, 1].tolist())
