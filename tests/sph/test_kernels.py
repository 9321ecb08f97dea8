"""The smoothing kernel and its sums over lattices."""

from __future__ import annotations

import numpy as np
import pytest

from undertow.errors import UserError
from undertow.sph import SUPPORT, boundary_volumes, kernel, lattice_sums, make_numbers
from undertow.validation.kernel_moments.case import moment_errors


@pytest.mark.parametrize("dimensions", [2, 3])
def test_moments_are_those_of_a_kernel(dimensions: int) -> None:
    assert max(moment_errors(dimensions).values()) < 1e-6


@pytest.mark.parametrize("dimensions", [2, 3])
def test_the_gradient_is_the_slope_of_the_value(dimensions: int) -> None:
    r = np.linspace(0.01, 0.999, 200)
    slope = (kernel(r + 1e-6, 1.0, dimensions)[0] - kernel(r - 1e-6, 1.0, dimensions)[0]) / 2e-6
    assert np.allclose(kernel(r, 1.0, dimensions)[1] * r, slope, atol=1e-6 * np.abs(slope).max())
    assert not np.any(kernel(np.array([1.0, 1.5]), 1.0, dimensions))


def test_lattice_sums_are_close_to_their_integrals() -> None:
    for dimensions in (2, 3):
        sums = lattice_sums(dimensions)
        assert abs(sums.value - 1.0) < 0.03 and abs(sums.gradient - 1.0) < 0.01 and 0.7 < sums.viscosity < 1.0


def lattice(dimensions: int, dx: float) -> np.ndarray:
    """Points (n, d) around the origin [m]."""
    steps = dx * np.arange(-4, 5)
    return np.stack(np.meshgrid(*[steps] * dimensions, indexing="ij"), axis=-1).reshape(-1, dimensions)


@pytest.mark.parametrize("artificial", [False, True])
@pytest.mark.parametrize("d", [2, 3])
def test_numbers_make_a_lattice_exact(d: int, artificial: bool) -> None:
    """Density of a lattice, gradient of a linear pressure and force of a parabolic flow on it, by brute force."""
    dx, nu = 0.1, 0.3
    numbers = make_numbers(d, dx, 1000.0, 10.0, nu, artificial=artificial)
    x = lattice(d, dx)
    r = np.linalg.norm(x, axis=1)
    t = np.clip(1.0 - r / numbers.radius, 0.0, None)
    mass = 1000.0 * dx**d
    assert mass * np.sum(numbers.w * t**4 * (5.0 - 4.0 * t)) == pytest.approx(1000.0, rel=1e-13)
    gradient = -numbers.g * t[:, None] ** 3 * x  # grad_i W of x_ij = -x
    # - sum V (p_j) grad W for p = x
    assert dx**d * np.sum(x[:, 0] * gradient[:, 0]) == pytest.approx(1.0, rel=1e-13)
    flow = -0.5 * x[:, 1] ** 2
    weight = numbers.far * r**2 + (0.0 if artificial else numbers.near)  # without the small term that softens (5)
    others = r > 0
    push = -mass * -numbers.viscous * (flow * -x[:, 0] * gradient[:, 0])[others] / weight[others]
    assert np.sum(push) == pytest.approx(nu, rel=1e-12)


@pytest.mark.parametrize(("d", "along", "mean"), [(2, 1.12, 1.03), (3, 1.05, 1.01)])
def test_viscosity_is_that_of_the_axes_in_every_direction(d: int, along: float, mean: float) -> None:
    """Force of pairs in a flow without divergence: along = (A - 2 B) / B of a wave along the stretched axis, mean over
    directions sum x^4 / (d (d + 2) B), where A = sum x^4 w, B = sum x^2 y^2 w; both are 1 in an isotropic fluid."""
    x = lattice(d, 1.0)
    r_sq = (x**2).sum(axis=1)
    t = np.clip(1.0 - np.sqrt(r_sq) / SUPPORT[d], 0.0, None) ** 3
    measured = {}
    for artificial in (False, True):
        numbers = make_numbers(d, 1.0, 1.0, 1.0, 1.0, artificial=artificial)
        w = t / (numbers.near + numbers.far * r_sq)
        A, B = np.sum(w * x[:, 0] ** 4), np.sum(w * x[:, 0] ** 2 * x[:, 1] ** 2)
        measured[artificial] = ((A - 2 * B) / B, np.sum(w * r_sq**2) / (d * (d + 2) * B))
    assert 1.0 < measured[False][0] < along and 1.0 < measured[False][1] < mean
    assert measured[True][0] > 1.5 and measured[True][1] > 1.1  # (5), which is therefore for artificial viscosity alone


def test_volumes_of_a_flat_layer_and_of_a_denser_one() -> None:
    dx = 0.1
    line = np.column_stack([dx * np.arange(41), np.zeros(41), np.zeros(41)])
    volume = boundary_volumes(line, dx, 2)
    assert volume[20] == pytest.approx(lattice_sums(2).wall * dx**2, rel=1e-12)
    twice = np.concatenate([line, line + [dx / 2, 0.0, 0.0]])
    # twice as many particles have half the volume each: the layer weighs the same
    assert boundary_volumes(twice, dx, 2)[20] == pytest.approx(0.5 * volume[20], rel=0.02)
    assert len(boundary_volumes(np.zeros((0, 3)), dx, 2)) == 0


def test_the_corrected_kernel_of_the_paper_measures_nothing() -> None:
    """Equation (2) of Becker et al. 2009 with constant volumes: rho0 whatever the particles do; so it is not used."""
    draw = np.random.default_rng(1)
    x = draw.uniform(size=(200, 2))
    volume, rest = 1.0 / 200, 1000.0
    W = kernel(np.linalg.norm(x[:, None] - x[None], axis=2), 0.2, 2)[0]
    corrected = rest * volume * W.sum(axis=1) / (volume * W.sum(axis=1))
    assert np.allclose(corrected, rest, rtol=1e-14)


def test_other_dimensions_are_refused() -> None:
    with pytest.raises(UserError, match="2 or 3 dimensions"):
        kernel(np.zeros(1), 1.0, 1)
    assert set(SUPPORT) == {2, 3}
