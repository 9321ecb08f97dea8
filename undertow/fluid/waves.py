"""Waves on water of constant depth, as wave makers make them: linear theory, and Stokes waves of second order.

    eta = sum a cos(k s - omega t + phase),       omega^2 = g k tanh(k h)                (Lamb 1932, article 229)
    u_s = sum a omega cosh(k (y + h)) / sinh(k h) cos(...),      u_y = sum a omega sinh(k (y + h)) / sinh(k h) sin(...)

s is measured along the way of the waves, y from the still level, h is the depth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from undertow.grid import Array

NEWTON = 50
"""Most steps of Newton's method for a wave number; it needs about five."""

LOWEST, HIGHEST, NARROWEST = 0.5, 2.5, 1.5
"""Frequencies of irregular waves, over that of the peak: 97% of the energy of a Pierson-Moskowitz spectrum. However
coarse the grid, the highest is not below the last one."""

DEEP = 100.0
"""k h from which on water is deep: hyperbolic functions of larger arguments overflow."""


def wave_number(omega: Array | float, depth: float, gravity: float) -> Array:
    """k [1/m] of omega^2 = g k tanh(k h), by Newton's method from the better one of deep and shallow water."""
    square = np.asarray(omega, dtype=float) ** 2 * depth / gravity
    kh = np.where(square > 1.0, square, np.sqrt(square))
    for _ in range(NEWTON):
        tanh = np.tanh(kh)
        change = (kh * tanh - square) / (tanh + kh * (1.0 - tanh**2))
        kh = kh - change
        if np.all(np.abs(change) <= 1e-14 * kh):
            break
    return np.asarray(kh / depth)


def wave_speed(length: float, depth: float, gravity: float) -> float:
    """Phase speed of waves of a length [m/s]."""
    k = 2.0 * np.pi / length
    return float(np.sqrt(gravity / k * np.tanh(k * depth)))


def group_speed(omega: float, depth: float, gravity: float) -> float:
    """d omega / dk [m/s]."""
    k = float(wave_number(omega, depth, gravity))
    ratio = 2.0 * k * depth / np.sinh(2.0 * min(k * depth, DEEP))
    return float(0.5 * omega / k * (1.0 + ratio))


@dataclass(frozen=True)
class WaveField:
    """A sum of n waves that begins with still water and has grown after ``ramp`` [s].

    amplitude, omega, k, phase (n,): [m], [rad/s], [1/m], [rad]; depth of the still water [m]; stokes: with the second
    order of a single wave, amplitude being that of its first harmonic.
    """

    amplitude: Array
    omega: Array
    k: Array
    phase: Array
    depth: float
    ramp: float = 0.0
    stokes: bool = False

    def strength(self, time: float) -> float:
        """Part of the waves that is there [-]: 0 at time 0, 1 from ``ramp`` on, without a kink."""
        x = min(max(time / self.ramp, 0.0), 1.0) if self.ramp > 0.0 else 1.0
        return x * x * (3.0 - 2.0 * x)

    def elevation(self, s: Array, time: float) -> Array:
        """eta (m,) [m] at s (m,) [m]."""
        angle = np.multiply.outer(s, self.k) - self.omega * time + self.phase
        eta = np.cos(angle) @ self.amplitude
        if self.stokes:
            tanh = np.tanh(self.k * self.depth)
            second = 0.25 * self.k * self.amplitude**2 * (3.0 - tanh**2) / tanh**3
            eta = eta + self.strength(time) * (np.cos(2.0 * angle) @ second)
        return np.asarray(self.strength(time) * eta)

    def velocity(self, s: Array, y: Array, time: float, upward: bool) -> Array:
        """u_s, or u_y if ``upward``, (l, m) [m/s] at s (m,) and heights y (l,) over the still level [m]; above it
        waves of linear theory have the velocity at that level."""
        trig, profile = (np.sin, _sinh_ratio) if upward else (np.cos, _cosh_ratio)
        angle = np.multiply.outer(s, self.k) - self.omega * time + self.phase
        below = y if self.stokes else np.minimum(y, 0.0)
        scale = self.amplitude * self.omega
        u = (profile(self.k, below, self.depth) * scale) @ trig(angle).T
        if self.stokes:
            # 3/4 a^2 omega k cosh 2k(y + h) / sinh^4(kh), of which the profile has 1 / sinh(2 kh)
            kh = np.minimum(self.k * self.depth, DEEP)
            second = 1.5 * self.k * self.amplitude * scale * np.cosh(kh) / np.sinh(kh) ** 3
            u = u + self.strength(time) * (profile(2.0 * self.k, below, self.depth) * second) @ trig(2.0 * angle).T
        return np.asarray(self.strength(time) * u)


def _cosh_ratio(k: Array, y: Array, depth: float) -> Array:
    """cosh k(y + h) / sinh kh, (l, n), without overflow."""
    up, down = np.exp(np.multiply.outer(y, k)), np.exp(-np.multiply.outer(y + 2.0 * depth, k))
    return np.asarray((up + down) / (1.0 - np.exp(-2.0 * k * depth)))


def _sinh_ratio(k: Array, y: Array, depth: float) -> Array:
    """sinh k(y + h) / sinh kh, (l, n), without overflow."""
    up, down = np.exp(np.multiply.outer(y, k)), np.exp(-np.multiply.outer(y + 2.0 * depth, k))
    return np.asarray((up - down) / (1.0 - np.exp(-2.0 * k * depth)))


def still(depth: float) -> WaveField:
    """No waves."""
    none = np.zeros(0)
    return WaveField(none, none, none, none, depth)


def regular(amplitude: float, period: float, depth: float, gravity: float, ramp: float) -> WaveField:
    """One wave of an amplitude [m] and period [s], of second order with the wave number of the third."""
    omega = 2.0 * np.pi / period
    k = stokes_wave_number(amplitude, omega, depth, gravity)
    return WaveField(np.array([amplitude]), np.array([omega]), np.array([k]), np.zeros(1), depth, ramp, stokes=True)


def stokes_wave_number(amplitude: float, omega: float, depth: float, gravity: float) -> float:
    """k [1/m] of omega^2 = g k t [1 + (k a)^2 (9 - 10 t^2 + 9 t^4) / (8 t^4)], t = tanh(k h) (Dean and Dalrymple 1991,
    section 11.3: no mean velocity under the troughs)."""
    k = float(wave_number(omega, depth, gravity))
    for _ in range(NEWTON):
        t = np.tanh(k * depth)
        longer = 1.0 + (k * amplitude) ** 2 * (9.0 - 10.0 * t**2 + 9.0 * t**4) / (8.0 * t**4)
        k = float(wave_number(omega / np.sqrt(longer), depth, gravity))
    return k


def jonswap(frequency: Array, peak: float, peakedness: float) -> Array:
    """Form of the JONSWAP spectrum (Hasselmann et al. 1973) at frequencies [1/s]; peakedness 1: of Pierson and
    Moskowitz (1964).

    S ~ f^-5 exp(-5/4 (f / f_p)^-4) gamma^exp(-(f - f_p)^2 / (2 sigma^2 f_p^2)), sigma = 0.07 below the peak, 0.09 above
    """
    x = frequency / peak
    sigma = np.where(x <= 1.0, 0.07, 0.09)
    enhanced = peakedness ** np.exp(-((x - 1.0) ** 2) / (2.0 * sigma**2))
    return np.asarray(x**-5.0 * np.exp(-1.25 * x**-4.0) * enhanced)


def highest_frequency(period: float, depth: float, gravity: float, shortest: float) -> float:
    """Of irregular waves of a peak period [s], none of which is to be shorter than ``shortest`` [m]; 1/s."""
    carried = wave_speed(shortest, depth, gravity) / shortest
    return min(max(carried, NARROWEST / period), HIGHEST / period)


def irregular(
    height: float, period: float, peakedness: float, count: int, seed: int, depth: float, gravity: float, ramp: float,
    highest: float,
) -> WaveField:  # fmt: skip
    """Waves of a significant height H_s [m] = 4 sqrt(m_0) and peak period [s], of random phases.

    Frequencies lie at random places in ``count`` equal parts of the spectrum up to ``highest`` [1/s], so that nothing
    repeats; each has the energy of its part, a^2 / 2 = S df, and all together that of H_s.
    """
    random, peak = np.random.default_rng(seed), 1.0 / period
    edges = np.linspace(LOWEST * peak, highest, count + 1)
    frequency = edges[:-1] + random.random(count) * np.diff(edges)
    fine = 64
    inner = edges[:-1, None] + (np.arange(fine) + 0.5) / fine * np.diff(edges)[:, None]
    energy = jonswap(inner, peak, peakedness).mean(axis=1) * np.diff(edges)
    amplitude = np.sqrt(2.0 * energy * (height / 4.0) ** 2 / energy.sum())
    omega = 2.0 * np.pi * frequency
    phase = 2.0 * np.pi * random.random(count)
    return WaveField(amplitude, omega, wave_number(omega, depth, gravity), phase, depth, ramp)


def part_above(highest: float, period: float, peakedness: float) -> float:
    """Part of the energy of a spectrum above a frequency [1/s]."""
    x = np.linspace(0.4, 12.0, 6000) / period
    energy = jonswap(x, 1.0 / period, peakedness)
    return float(energy[x > highest].sum() / energy.sum())
