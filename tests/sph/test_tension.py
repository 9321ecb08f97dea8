"""Surface tension: forces of pairs, and a square drop."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut
from undertow.errors import UserError
from undertow.sph import SphBox, SphFluid, SphSettings, kernel, lattice_sums
from undertow.sph.part import SphPart
from undertow.sph.sides import OPEN


def make_fluid(tension: float) -> SphFluid:
    """Eight by eight shaken particles in the plane, nothing else acting."""
    box = SphBox(np.array([0.0, 0.0, -0.05]), np.array([2.0, 2.0, 0.05]), 0.1, 2, (OPEN,) * 6)
    fluid = SphFluid(box, SphSettings(gravity=(0.0, 0.0, 0.0), surface_tension=tension))
    steps = 0.65 + 0.1 * np.arange(8)
    x, y = np.meshgrid(steps, steps)
    place = np.column_stack([x.ravel(), y.ravel(), np.zeros(64)])
    place[:, :2] += np.random.default_rng(1).uniform(-0.02, 0.02, (64, 2))
    fluid.add_fluid(place, np.zeros(3))
    fluid.begin()
    return fluid


def test_the_force_is_that_of_the_stress_and_keeps_momentum() -> None:
    sigma = 0.5
    with_tension, without = make_fluid(sigma), make_fluid(0.0)
    rows = with_tension.fluid_rows()
    found = (with_tension.points.spec.change - without.points.spec.change)[rows, :2]
    place = with_tension.positions()[:, :2]
    sums, volume, radius = lattice_sums(2), 0.01, with_tension.numbers.radius
    x = place[:, None] - place[None]
    r = np.linalg.norm(x, axis=2)
    _, D = kernel(r, radius, 2)
    slope = volume / sums.gradient * np.einsum("ij,ijk->ik", D, x)
    size = np.linalg.norm(slope, axis=1)
    size[size <= 0.05 / 0.1] = 0.0
    n = slope / np.linalg.norm(slope, axis=1, keepdims=True)
    stress = size[:, None, None] * (np.eye(2) - n[:, :, None] * n[:, None]) * sigma / sums.surface
    hollow = (r / radius) * np.clip(1.0 - r / radius, 0.0, None) / (sums.hollow * 0.1**2)
    wanted = -np.einsum("ijab,ij,ijb->ia", stress[:, None] + stress[None], hollow, x) / 1000.0
    assert np.abs(wanted).max() > 0.01
    np.testing.assert_allclose(found, wanted, atol=1e-12 * np.abs(wanted).max())
    assert np.abs(found.sum(axis=0)).max() < 1e-12 * np.abs(found).sum()


def test_a_square_drop_turns_round_and_has_the_pressure_of_laplace() -> None:
    from undertow.validation.sph_drop.case import TENSION, make_scene, rim

    sim = ut.Simulation(make_scene(18))
    fluid = sim.part(SphPart).fluid
    assert rim(fluid.positions()).max() / rim(fluid.positions()).min() > 1.3
    sim.advance_to(0.1)
    place = fluid.positions()
    assert rim(place).max() / rim(place).min() < 1.08
    radius = np.sqrt(len(place) / np.pi) * fluid.spacing
    inner = np.linalg.norm(place - place.mean(axis=0), axis=1) < 0.6 * radius
    # ten spacings per radius; the error falls with their number, see the case
    assert abs(fluid.pressures()[inner].mean() / (TENSION / radius) - 1.0) < 0.25
    assert np.abs(fluid.totals.momentum).max() < 1e-12


def test_surface_tension_is_checked() -> None:
    with pytest.raises(ValueError, match="surface_tension"):
        ut.Sph(surface_tension=-1.0)
    with pytest.raises(UserError, match="surface_tension"):
        SphSettings(surface_tension=-1.0)
