"""Second-order Neumann condition on an irregular solid: the pressure that removes u* = grad q / rho is q itself.

With every wall at rest the velocity that remains is zero, so p = q + constant for any smooth q; the solid is moved by
sub-cell offsets and the largest error over all of them counts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, observed_order, quantity

OFFSETS = ((0.0, 0.0, 0.0), (0.37, 0.11, 0.23), (0.52, 0.83, 0.61), (0.91, 0.29, 0.47))


def potential(x, y, z):  # type: ignore[no-untyped-def]
    """q [Pa]."""
    return np.cos(2 * x + 0.3) * np.sin(3 * y - 0.2) * np.cos(1.5 * z + 0.1) / 3


def gradient(x, y, z):  # type: ignore[no-untyped-def]
    """grad q [Pa/m]."""
    a, b, c = np.cos(2 * x + 0.3), np.sin(3 * y - 0.2), np.cos(1.5 * z + 0.1)
    return (
        -2 * np.sin(2 * x + 0.3) * b * c / 3,
        3 * a * np.cos(3 * y - 0.2) * c / 3,
        -1.5 * a * b * np.sin(1.5 * z + 0.1) / 3,
    )


def largest_error(n: int, dimensions: int, offset: tuple[float, float, float]) -> float:
    """L-inf error of the pressure in the fluid cells, constants aside."""
    h = 1.0 / n
    centre = [c + o * h for c, o in zip((0.47, 0.55, 0.52), offset, strict=True)][:dimensions]
    scene = ut.Scene(
        name="pressure-order",
        gravity=(0.0,) * dimensions,
        domain=ut.Domain(upper=(1.0,) * dimensions, resolution=n),
        time=ut.Time(end=1.0, frame_rate=1.0, fixed_step=1.0),
        fluid=ut.Fluid(density=1.0, advection="none", tolerance=1e-10),
        objects={
            "torus": ut.RigidBody(
                shape=ut.Torus(radius=0.2, tube=0.09) if dimensions == 3 else ut.Sphere(radius=0.21), position=centre
            )
        },
    )
    sim = ut.Simulation(scene)
    sim.set_velocity(lambda x, y, z: gradient(x, y, z if dimensions == 3 else -0.1 / 1.5))
    sim.step()
    centres = (np.arange(n) + 0.5) * h
    points = np.stack(np.meshgrid(*[centres] * dimensions, indexing="ij"), axis=-1).reshape(-1, dimensions)
    open_cells = sim.sample("open_fraction", points) > 0
    points = points[open_cells]
    found = sim.sample("pressure", points)
    z = points[:, 2] if dimensions == 3 else -0.1 / 1.5
    error = found - potential(points[:, 0], points[:, 1], z)
    return float(np.max(np.abs(error - np.mean(error))))


def run(full: bool = False) -> Iterator[Quantity]:
    """Orders in 2D (a disc) and 3D (a torus)."""
    for dimensions, sizes in ((2, [32, 64, 128, 256]), (3, [16, 32, 64])):
        errors = [max(largest_error(n, dimensions, offset) for offset in OFFSETS) for n in sizes]
        yield quantity(f"order_linf_{dimensions}d", observed_order(sizes, errors), cells=sizes, errors=errors)
