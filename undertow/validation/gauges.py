"""A tank with a maker of waves at one end and a beach at the other, and what gauges between them see."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares

import undertow as ut
from undertow.validation.analysis import Array

GRAVITY = 9.81


def wave_number(omega: float, depth: float) -> float:
    """k of omega^2 = g k tanh(k h), by bisection [1/m]."""
    low, high = 0.0, omega**2 / GRAVITY + omega / math.sqrt(GRAVITY * depth)
    for _ in range(200):
        k = 0.5 * (low + high)
        low, high = (k, high) if GRAVITY * k * math.tanh(k * depth) < omega**2 else (low, k)
    return 0.5 * (low + high)


def frequency(length: float, depth: float) -> float:
    """omega of waves of a length [rad/s]."""
    k = 2.0 * math.pi / length
    return math.sqrt(GRAVITY * k * math.tanh(k * depth))


def group_speed(length: float, depth: float) -> float:
    """d omega / dk [m/s]."""
    k = 2.0 * math.pi / length
    ratio = 2.0 * k * depth / math.sinh(2.0 * k * depth) if k * depth < 100.0 else 0.0
    return 0.5 * frequency(length, depth) / k * (1.0 + ratio)


def surface_heights(sim: ut.Simulation) -> Array:
    """Height of the surface over the floor of the first plane of a tank, column by column [m]."""
    phi = np.asarray(sim.field("level_set"))[0]
    dx = float(sim.grid.dx)  # type: ignore[union-attr]
    top = np.argmax(phi > 0.0, axis=0) - 1
    columns = np.arange(phi.shape[1])
    below, above = phi[top, columns], phi[top + 1, columns]
    return np.asarray((top + 0.5 + below / (below - above)) * dx)


class Separated(NamedTuple):
    """Waves of one frequency that go both ways: amplitudes [m] of the one that comes and over it that of the one that
    goes back; wave number [1/m] of both, and how fast they lose amplitude [1/m]."""

    incoming: float
    reflection: float
    k: float
    loss: float


def harmonics(t: Array, eta: Array, omega: float) -> Array:
    """Complex amplitude at omega of the columns of eta (times, gauges): eta = Re(Z exp(-i omega t)), least squares
    beside a mean and the second harmonic."""
    parts = [np.ones_like(t)] + [f(n * omega * t) for n in (1, 2) for f in (np.cos, np.sin)]
    found = np.linalg.lstsq(np.stack(parts, axis=1), eta, rcond=None)[0]
    return np.asarray(found[1] + 1j * found[2])


def separate(x: Array, z: Array, k: float) -> Separated:
    """Many gauges at x (n,) in the place of two or three (Mansard and Funke 1980): least squares of

        Z = A exp(i K (x - x_0)) + B exp(-i K (x - x_0)),

    K being found with them: on a grid it is not quite that of theory, and has a part for what waves lose."""
    size = float(np.abs(z).max())
    if not size > 0.0:
        return Separated(0.0, float("nan"), float("nan"), float("nan"))

    def fit(p: Array) -> tuple[Array, Array]:
        wave = np.exp(1j * (p[0] + 1j * p[1]) * (x - x[0]))
        both = np.stack([wave, 1.0 / wave], axis=1)
        ab = np.linalg.lstsq(both, z, rcond=None)[0]
        return ab, both @ ab - z

    def residual(p: Array) -> Array:
        left = fit(p)[1] / size
        return np.concatenate([left.real, left.imag])

    found = least_squares(residual, [k, 0.0], x_scale=[k, 0.1 * k], bounds=([0.8 * k, -0.1 * k], [1.2 * k, 0.1 * k])).x
    a, b = np.abs(fit(found)[0])
    return Separated(float(a), float(b / a), float(found[0]), float(found[1]))


@dataclass
class Tank:
    """Regular waves of a length [m] and steepness k a in water of a depth [m], ``cells`` per wave; beach: its length
    [m], 0 for none. gap: wavelengths between maker and beach."""

    length: float
    depth: float
    beach: float
    cells: int
    steepness: float = 0.05
    gap: float = 1.5
    maker: float = 1.5

    def __post_init__(self) -> None:
        self.k = 2.0 * math.pi / self.length
        self.omega = frequency(self.length, self.depth)
        self.period = 2.0 * math.pi / self.omega
        self.amplitude = self.steepness / self.k
        self.dx = self.length / self.cells
        self.count = round(((self.maker + self.gap) * self.length + self.beach) / self.dx)

    def scene(self, **objects: Any) -> ut.Scene:
        top = self.depth + max(4.0 * self.dx, 6.0 * self.amplitude)
        items: dict[str, Any] = {
            "water": ut.Water(shape=ut.Plane(normal=[0, 1]), position=[0.0, self.depth]),
            "maker": ut.WaveMaker(side="x_low", wave=ut.RegularWave(amplitude=self.amplitude, period=self.period)),
            **objects,
        }
        if self.beach:
            items["beach"] = ut.Beach(side="x_high", length=self.beach)
        return ut.Scene(
            name="waves", domain=ut.Domain(upper=[self.count * self.dx, top], resolution=self.count,
                                           resolution_along="x"),
            time=ut.Time(end=1e4, frame_rate=1.0 / self.period, max_step=self.period / 24),
            fluid=ut.Fluid(density=1000.0, viscosity=0.0), objects=items,
        )  # fmt: skip

    def measure(self, periods: float = 4.0) -> tuple[Separated, ut.Simulation]:
        """Waves between maker and beach over some periods, once what the beach sends back has come through."""
        sim = ut.Simulation(self.scene())
        way = (self.maker + 2.0 * self.gap) * self.length + self.beach
        wait = math.ceil(way / group_speed(self.length, self.depth) / self.period + 3.0) * self.period
        first = math.ceil((self.maker + 0.25) * self.cells)
        last = math.floor((self.maker + self.gap - 0.25) * self.cells)
        times, eta = [], []
        for _ in sim.steps(until=wait + periods * self.period):
            if sim.time > wait:
                times.append(sim.time)
                eta.append(surface_heights(sim)[first:last] - self.depth)
        z = harmonics(np.array(times), np.array(eta), self.omega)
        return separate(np.asarray((np.arange(first, last) + 0.5) * self.dx, dtype=float), z, self.k), sim
