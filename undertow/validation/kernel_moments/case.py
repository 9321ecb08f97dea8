"""Moments of the smoothing kernel by quadrature, and the density of a compressed lattice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from undertow.sph import OPEN, SUPPORT, SphBox, SphFluid, SphSettings, kernel
from undertow.validation.analysis import Quantity, quantity

FINE = 20
"""Points per smoothing length h = R / 2 of the quadrature."""


def moment_errors(dimensions: int) -> dict[str, float]:
    """Departures of the moments of W and grad W from 1, 0, 0 and -1, by the midpoint rule on cells of h / 20."""
    radius, step = 1.0, 0.5 / FINE
    axis = step * (np.arange(-2 * FINE, 2 * FINE) + 0.5)
    x = np.stack(np.meshgrid(*[axis] * dimensions, indexing="ij"), axis=-1).reshape(-1, dimensions)
    W, D = kernel(np.linalg.norm(x, axis=1), radius, dimensions)
    volume = step**dimensions
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
    yield quantity("moments", max(errors.values()), support=SUPPORT, **errors)
    squeezed: dict[str, Any] = {
        f"{d}D by {100 * s:g}%": lattice_density(d, s) for d in (2, 3) for s in (-0.01, 0.01, 0.02)
    }
    yield quantity("compressed_lattice", max(abs(v - 1.0) for v in squeezed.values()), **squeezed)
