"""Moments of the smoothing kernel that the solver sums with, by quadrature, and the density of lattices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from undertow.sph import OPEN, SUPPORT, SphBox, SphFluid, SphSettings, lattice_sums
from undertow.validation.analysis import Array, Quantity, quantity

FINE = 20
"""Points per smoothing length h = R / 2 of the quadrature."""

SMOKE = {"FINE": 6}


def solver_kernel(distance: Array, dimensions: int) -> tuple[Array, Array]:
    """W [1/m^d] and D [1/m^(d+2)] of grad W = D x at distances [m] for particles of spacing 1 / support, so R = 1.

    Read off the compiled sums of the solver: pairs of particles at these distances, far from all others, have the
    density m (W(0) + W(r)) and the acceleration -2 m P / rho^2 D x.
    """
    spacing, count = 1.0 / SUPPORT[dimensions], len(distance)
    cell = 4.0 * np.stack(np.unravel_index(np.arange(count + 1), (32,) * dimensions), axis=1)
    first = np.zeros((count + 1, 3))
    first[:, :dimensions] = cell + 1.0
    upper = np.array([130.0, 130.0, 130.0 if dimensions == 3 else 0.5 * spacing])
    lower = np.array([0.0, 0.0, 0.0 if dimensions == 3 else -0.5 * spacing])
    box = SphBox(lower, upper, spacing, dimensions, kind=(OPEN,) * 6)
    # full: such thin fluid has a negative pressure, which is kept
    fluid = SphFluid(box, SphSettings(gravity=(0.0, 0.0, 0.0), full=True))
    second = first[:count] + np.stack([distance, np.zeros(count), np.zeros(count)], axis=1)
    fluid.add_fluid(np.concatenate([first, second]), np.zeros(3))
    fluid.begin()
    density = fluid.densities()
    W = (density[:count] - density[count]) / fluid.mass
    push = fluid.points.spec.change[fluid.fluid_rows(), 0][:count]
    D = -push / (2.0 * fluid.mass * fluid.pressures()[:count] / density[:count] ** 2 * -distance)
    return W, D


def moment_errors(dimensions: int) -> dict[str, float]:
    """Departures of the moments of W and grad W from 1, 0, 0 and -1, by the midpoint rule on cells of h / 20.

    The solver divides W and grad W by their sums over its lattice, which are known numbers: times these the integrals
    of what it sums must be those of a kernel.
    """
    step = 0.5 / FINE
    axis = step * (np.arange(-2 * FINE, 2 * FINE) + 0.5)
    x = np.stack(np.meshgrid(*[axis] * dimensions, indexing="ij"), axis=-1).reshape(-1, dimensions)
    x = x[np.einsum("ij,ij->i", x, x) < 1.0]
    # r^2 = n step^2 / 4 with a whole n: few distances are different
    whole = np.rint(np.einsum("ij,ij->i", x, x) * 4.0 / step**2).astype(int)
    different, which = np.unique(whole, return_inverse=True)
    W, D = solver_kernel(0.5 * step * np.sqrt(different), dimensions)
    sums, volume = lattice_sums(dimensions), step**dimensions
    W, D = sums.value * W[which], sums.gradient * D[which]
    return {
        "sum W": abs(float(W.sum() * volume) - 1.0),
        "sum x W": float(np.abs((x * W[:, None]).sum(axis=0) * volume).max()),
        "sum grad W": float(np.abs((x * D[:, None]).sum(axis=0) * volume).max()),
        "sum x grad W": float(np.abs(((x * x) * D[:, None]).sum(axis=0) * volume + 1.0).max()),
    }


def lattice_density(dimensions: int, squeeze: float) -> float:
    """Density / expected density in the middle of a lattice squeezed to (1 - squeeze) of its spacing."""
    count, dx = 11, 0.1
    half = 0.5 * count * dx
    lower, upper = np.full(3, -half), np.full(3, half)
    if dimensions == 2:
        lower[2], upper[2] = -0.5 * dx, 0.5 * dx
    box = SphBox(lower, upper, dx, dimensions, kind=(OPEN,) * 6)
    fluid = SphFluid(box, SphSettings())
    fluid.add_fluid((1.0 - squeeze) * box.lattice(), np.zeros(3))
    fluid.begin()
    middle = int(np.argmin(np.linalg.norm(fluid.positions(), axis=1)))
    return float(fluid.densities()[middle]) / 1000.0 * (1.0 - squeeze) ** dimensions


def run(full: bool = False) -> Iterator[Quantity]:
    """Both dimensions."""
    errors: dict[str, Any] = {f"{name} {d}D": error for d in (2, 3) for name, error in moment_errors(d).items()}
    factors: dict[str, Any] = {f"lattice sum of W {d}D": lattice_sums(d).value for d in (2, 3)}
    yield quantity("moments", max(errors.values()), support=SUPPORT, **errors, **factors)
    squeezed: dict[str, Any] = {
        f"{d}D by {100 * s:g}%": lattice_density(d, s) for d in (2, 3) for s in (-0.01, 0.01, 0.02)
    }
    yield quantity("compressed_lattice", max(abs(v - 1.0) for v in squeezed.values()), **squeezed)
    yield quantity("lattice_at_rest", max(abs(lattice_density(d, 0.0) - 1.0) for d in (2, 3)))
    sums = [(lattice_sums(d).value, lattice_sums(d).gradient) for d in (2, 3)]
    yield quantity("lattice_factor", max(abs(v - 1.0) for pair in sums for v in pair), sums=sums)
