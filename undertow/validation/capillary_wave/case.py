"""A capillary wave between two viscous fluids against the solution of its initial-value problem."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import wofz

import undertow as ut
from undertow.validation.analysis import Array, Quantity, quantity
from undertow.validation.still_drop.case import begin_as

LENGTH, AMPLITUDE, HEIGHT = 1.0, 0.01, 3.0
TENSION, VISCOSITY = 1.0, 0.0182571749236
"""[N/m]; dynamic viscosity of a liquid of density 1 [Pa s]."""
PERIODS = 25.0
"""Time in units of 1 / omega0."""
SIZES, LARGEST, HEAVY = (8, 16, 32), 64, 32
"""Cells per wavelength; of the density ratio of 1000."""
RATIO = 1000.0
SMOKE = {"SIZES": (8,), "HEAVY": 8, "PERIODS": 1.0}


def omega(ratio: float) -> float:
    """sqrt(sigma k^3 / (rho + rho')) [1/s]."""
    return float(np.sqrt(TENSION * (2.0 * np.pi / LENGTH) ** 3 / (1.0 + 1.0 / ratio)))


def prosperetti(time: Array, ratio: float) -> Array:
    """Amplitude over that of time 0 of a wave that begins at rest between fluids of one kinematic viscosity, densities
    1 and 1 / ratio, of infinite depth (Prosperetti 1981, Phys. Fluids 24, 1217, (22))."""
    square, rate = omega(ratio) ** 2, VISCOSITY * (2.0 * np.pi / LENGTH) ** 2
    beta = ratio / (1.0 + ratio) ** 2
    root = np.sqrt(rate)
    z = np.roots([
        1.0, -4.0 * beta * root, 2.0 * (1.0 - 6.0 * beta) * rate, 4.0 * (1.0 - 3.0 * beta) * rate * root,
        (1.0 - 4.0 * beta) * rate**2 + square,
    ])  # fmt: skip
    at = np.maximum(time, 0.0)
    four = 4.0 * (1.0 - 4.0 * beta) * rate**2
    found = four / (2.0 * four + square) * np.exp(-rate * at) * wofz(1j * np.sqrt(rate * at))
    for i, one in enumerate(z):
        others = np.prod([other - one for j, other in enumerate(z) if j != i])
        # exp((z^2 - rate) t) erfc(z t^1/2), erfc(x) = exp(-x^2) w(i x)
        part = np.exp(-rate * at) * wofz(1j * one * np.sqrt(at))
        found = found + one / others * square / (one**2 - rate) * part
    return np.real(found)


def elevation(sim: ut.Simulation) -> float:
    """Amplitude of the wave [m], by the place of the interface in every column."""
    grid = sim.flow.grid
    phi = sim.flow.state.surface.phi_c[grid.interior][0]
    x, y, _ = (np.ravel(axis) for axis in grid.cell_centres())
    row = (phi[:-1] <= 0.0) & (phi[1:] > 0.0)
    j = row.argmax(axis=0)
    i = np.arange(len(x))
    height = y[j] + grid.dx * phi[j, i] / (phi[j, i] - phi[j + 1, i])
    return float(2.0 * np.mean((height - height.mean()) * np.cos(2.0 * np.pi * x / LENGTH)))


def wave(cells: int, ratio: float) -> tuple[Array, Array]:
    """Times (n,) [s] and amplitudes (n,) over the first one."""
    end, slips = PERIODS / omega(ratio), ut.Wall(slip=True)
    sim = ut.Simulation(
        ut.Scene(
            name="capillary-wave", gravity=[0.0, 0.0],
            domain=ut.Domain(
                upper=[LENGTH, HEIGHT], resolution=cells, resolution_along="x",
                sides=dict.fromkeys(("x_low", "x_high", "y_low", "y_high"), slips),
            ),
            time=ut.Time(end=end, frame_rate=1.0 / end),
            fluid=ut.Fluid(
                density=1.0, viscosity=VISCOSITY, tolerance=1e-9,
                air={"density": 1.0 / ratio, "viscosity": VISCOSITY / ratio},
            ),
            surface=ut.Surface(tension=TENSION, particles=False),
            objects={"below": ut.Water(shape=ut.Plane(normal=[0.0, 1.0]), position=[0.5, 0.5 * HEIGHT])},
        )
    )  # fmt: skip
    begin_as(sim, lambda x, y, z: y - AMPLITUDE * np.cos(2.0 * np.pi * x / LENGTH) + 0.0 * z, [0.0, 0.5 * HEIGHT, 0.0])
    times, heights = [0.0], [elevation(sim)]
    for report in sim.steps(until=end):
        times.append(report.time)
        heights.append(elevation(sim))
    return np.array(times), np.array(heights) / AMPLITUDE


def difference(cells: int, ratio: float) -> float:
    """Root of the mean square over time of amplitude less exact amplitude, over the first one."""
    time, height = wave(cells, ratio)
    square = (height - prosperetti(time, ratio)) ** 2
    return float(np.sqrt((0.5 * (square[1:] + square[:-1]) * np.diff(time)).sum() / time[-1]))


def run(full: bool = False) -> Iterator[Quantity]:
    """Equal fluids on three grids, ``full`` a fourth; a density ratio of 1000."""
    for cells in (*SIZES, LARGEST) if full else SIZES:
        yield quantity(f"rms_{cells}", difference(cells, 1.0))
    yield quantity("rms_ratio_1000", difference(HEAVY, RATIO))
