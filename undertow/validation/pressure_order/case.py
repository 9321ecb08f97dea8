"""Second-order Neumann condition on an irregular solid: the pressure that removes grad q from u* = grad q + u is q.

u = grad psi x a with psi = 0 on the solid and on the sides is free of divergence and runs along every wall, so that the
projection must leave it alone and p = q + constant. Without u the discrete solution would be u = 0 and p = q whatever
the fractions of the faces; with it, faces that count whole or not at all fail. The solid is moved by
sub-cell offsets and the largest error over all of them counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, observed_order, quantity

OFFSETS = np.random.default_rng(1).random((8, 3))
"""Places of the solid inside a cell, in cells."""

DISC, RING, TUBE = 0.21, 0.2, 0.09
"""Radii of the disc, of the torus' centre line (around y) and of its tube [m]."""

SMOKE = {"OFFSETS": OFFSETS[:1]}


def potential(x: np.ndarray, y: np.ndarray, z: np.ndarray | float) -> np.ndarray:
    """q [Pa]."""
    return np.cos(2 * x + 0.3) * np.sin(3 * y - 0.2) * np.cos(1.5 * z + 0.1) / 3


def gradient(x: np.ndarray, y: np.ndarray, z: np.ndarray | float) -> tuple[np.ndarray, ...]:
    """grad q [Pa/m]."""
    a, b, c = np.cos(2 * x + 0.3), np.sin(3 * y - 0.2), np.cos(1.5 * z + 0.1)
    return (
        -2 * np.sin(2 * x + 0.3) * b * c / 3,
        3 * a * np.cos(3 * y - 0.2) * c / 3,
        -1.5 * a * b * np.sin(1.5 * z + 0.1) / 3,
    )


def flow(x: np.ndarray, y: np.ndarray, z: np.ndarray, centre: Sequence[float]) -> tuple[np.ndarray, ...]:
    """u = grad psi x a [m/s] along the solid (2D: centre of two numbers) and the sides of the unit box.

    psi = k sin(pi x) sin(pi y) [sin(pi z)] f with f = 0 on the disc, f = r^2 - R^2, or on the torus,
    f = (r^2 + R^2 - t^2)^2 - 4 R^2 (dx^2 + dz^2).
    """
    flat = len(centre) == 2
    points = (x, y) if flat else (x, y, z)
    offset = [p - c for p, c in zip(points, centre, strict=True)]
    square = sum(d * d for d in offset)
    if flat:
        f, slope = square - DISC**2, [2 * d for d in offset]
    else:
        raised = square + RING**2 - TUBE**2
        f = raised**2 - 4 * RING**2 * (offset[0] ** 2 + offset[2] ** 2)
        slope = [4 * raised * d - (0.0 if n == 1 else 8 * RING**2 * d) for n, d in enumerate(offset)]
    wave, turn = [np.sin(np.pi * p) for p in points], [np.pi * np.cos(np.pi * p) for p in points]
    window = np.prod(np.broadcast_arrays(*wave), axis=0)
    gradient = []
    for n in range(len(points)):
        steep = np.prod(np.broadcast_arrays(*[turn[m] if m == n else wave[m] for m in range(len(points))]), axis=0)
        gradient.append((6.0 if flat else 20.0) * (steep * f + window * slope[n]))
    if flat:
        return gradient[1], -gradient[0], 0.0 * gradient[0]
    a = (0.4, 0.7, 0.6)
    return tuple(gradient[n - 2] * a[n - 1] - gradient[n - 1] * a[n - 2] for n in range(3))


def largest_error(n: int, dimensions: int, offset: np.ndarray) -> float:
    """L-inf error of the pressure in the fluid cells, constants aside."""
    h = 1.0 / n
    centre = tuple(c + float(o) * h for c, o in zip((0.47, 0.55, 0.52), offset, strict=True))[:dimensions]
    scene = ut.Scene(
        name="pressure-order",
        gravity=(0.0,) * dimensions,
        domain=ut.Domain(upper=(1.0,) * dimensions, resolution=n),
        time=ut.Time(end=1.0, frame_rate=1.0, fixed_step=1.0),
        fluid=ut.Fluid(density=1.0, advection="none", tolerance=1e-10),
        objects={
            "solid": ut.RigidBody(
                shape=ut.Torus(radius=RING, tube=TUBE) if dimensions == 3 else ut.Sphere(radius=DISC), position=centre
            )
        },
    )
    sim = ut.Simulation(scene)

    def velocity(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, ...]:
        at = z if dimensions == 3 else -0.1 / 1.5
        return tuple(g + u for g, u in zip(gradient(x, y, at), flow(x, y, z, centre), strict=True))

    sim.set_velocity(velocity)
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
