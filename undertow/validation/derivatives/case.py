"""Gradients and Hessians of every force against central differences, over ordinary, inverted and nearly flat
elements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.soft import Elastic, make_altitudes, make_bending, make_edges, make_membrane, make_solid
from undertow.soft.assembly import Forces
from undertow.validation.analysis import Array, Quantity, quantity

TETRAHEDRON = np.array([[0.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.2, 0.9, 0.1], [0.1, 0.2, 1.1]])
TRIANGLE = np.array([[0.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.3, 0.8, 0.0]])
HINGE = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.4, 0.7, 0.3], [0.5, -0.8, 0.2]])
ONE = np.array([[0, 1, 2, 3]])


def make_forces() -> dict[str, tuple[Forces, Array]]:
    """One element of every kind and model, with its nodes at rest."""
    found: dict[str, tuple[Forces, Array]] = {}
    for model in ("stvk", "neo_hookean", "corotated"):
        material = Elastic(1.0, 3.0, 0.3, model)
        found[f"solid_{model}"] = Forces([make_solid("e", TETRAHEDRON, ONE, material)[1]], 4), TETRAHEDRON
        found[f"plane_{model}"] = Forces([make_solid("e", TRIANGLE, ONE[:, :3], material)[1]], 3), TRIANGLE
        found[f"membrane_{model}"] = Forces([make_membrane("e", TRIANGLE, ONE[:, :3], material, 0.5)[1]], 3), TRIANGLE
    found["edge"] = Forces([make_edges("e", TRIANGLE, ONE[:, :2], 2.0)], 3), TRIANGLE
    found["bending"] = Forces([make_bending("e", HINGE, np.array([[0, 1, 2], [1, 0, 3]]), 2.0)], 4), HINGE
    found["altitude"] = Forces([make_altitudes("e", TETRAHEDRON, ONE, 2.0)], 4), TETRAHEDRON
    found["altitude_plane"] = Forces([make_altitudes("e", TRIANGLE, ONE[:, :3], 2.0)], 3), TRIANGLE
    return found


def errors(forces: Forces, rest: Array, flat: bool, count: int = 40) -> tuple[float, float]:
    """Largest error of the gradient and of the Hessian, relative to the size of the differences."""
    rng = np.random.default_rng(7)
    f, plus, minus = np.zeros_like(rest), np.zeros_like(rest), np.zeros_like(rest)
    mask = np.array([1.0, 1.0, 0.0 if flat else 1.0])
    worst = [0.0, 0.0]
    h = 1e-5
    for n in range(count):
        scale = np.array([[1, 1, 1], [-1, 1, 1], [1, 0.05, 1], [1.8, 1, 0.6]][n % 4], dtype=float)
        x = rest * scale + (0.02, 0.1, 0.5)[n % 3] * abs(scale.min()) * mask * rng.normal(size=rest.shape)
        d = mask * rng.normal(size=rest.shape)
        forces.measure(x, f)
        up, down = forces.measure(x + h * d, plus), forces.measure(x - h * d, minus)
        change = (minus - plus) / (2 * h)
        # the differences see third derivatives and round-off: both scale with h and the largest entries
        size = np.abs(f).max() * np.abs(d).max() + h * np.abs(change).max()
        worst[0] = max(worst[0], abs((up - down) / (2 * h) + (f * d).sum()) / max(size, 1e-12))
        worst[1] = max(worst[1], np.abs(forces.apply_hessian(x, d) - change).max() / max(np.abs(change).max(), 1e-9))
    return float(worst[0]), float(worst[1])


def run(full: bool = False) -> Iterator[Quantity]:
    """Every kind of element."""
    for name, (forces, rest) in make_forces().items():
        gradient, hessian = errors(forces, rest, "plane" in name)
        yield quantity(f"gradient_{name}", gradient)
        yield quantity(f"hessian_{name}", hessian)
