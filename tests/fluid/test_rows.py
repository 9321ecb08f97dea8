"""Discrete identities of the rows that the fluid contributes to the coupled system."""

import numpy as np
import pytest

from undertow.fluid.domain import FluidDomain
from undertow.fluid.phase import FullTank
from undertow.fluid.pressure import PressureRows
from undertow.fluid.viscosity import ViscousRows, WallRows
from undertow.geometry import Solid, SolidFields, Sphere, Static
from undertow.grid import INFLOW, OUTFLOW, PERIODIC, WALL, Grid, Sides

CASES = [
    ((7, 6, 1), 2, [WALL] * 6),
    ((7, 6, 1), 2, [INFLOW, OUTFLOW, WALL, WALL, WALL, WALL]),
    ((6, 7, 1), 2, [PERIODIC, PERIODIC, WALL, WALL, WALL, WALL]),
    ((6, 7, 1), 2, [PERIODIC] * 4 + [WALL] * 2),
    ((5, 6, 7), 3, [INFLOW, OUTFLOW, PERIODIC, PERIODIC, WALL, OUTFLOW]),
]


def make_domain(cells, dimensions, kind, solid=True):
    grid = Grid(cells, 0.1, dimensions=dimensions)
    sides = Sides(grid, list(kind))
    solids = None
    if solid:
        centre = (0.31, 0.28, 0.33 if dimensions == 3 else 0.05)
        solids = SolidFields(grid, [Solid("ball", Sphere(0.13), Static(centre))])
        solids.update(0.0)
    return FluidDomain(grid, sides, solids, 2.0)


def free_random(domain, rng):
    """A random velocity on the faces that are unknowns."""
    return {"fluid": rng.normal(size=domain.inv_mass_f.shape) * (domain.inv_mass_f > 0)}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["pressure", "viscosity", "walls"])
def test_rows_and_transpose_agree(case, kind):
    """z . (K w) = (K^T z) . w on the unknown faces, and the stated diagonal is that of K B^-1 K^T."""
    rng = np.random.default_rng(3)
    domain = make_domain(*case)
    if kind == "pressure":
        rows = PressureRows(FullTank(domain))
        rows.rebuild()
    elif kind == "viscosity":
        rows = ViscousRows(domain, 0.7, folded=True, half=False)
        rows.time_step = 0.3
        rows.rebuild()
    else:
        rows = WallRows(domain, 0.7, np.zeros(1, dtype=np.int64), folded=True, half=False)
        rows.rebuild()
        rows.set_time_step(0.3)
    w = free_random(domain, rng)
    out = np.zeros(rows.shape)
    rows.apply(w, out)
    z = rng.normal(size=rows.shape) * (np.abs(out) > 0)
    back = {"fluid": np.zeros_like(w["fluid"])}
    rows.add_transpose(z, back)
    assert np.sum(z * out) == pytest.approx(np.sum(back["fluid"] * w["fluid"]), rel=1e-12)
    # K applied to a unit velocity squared and summed gives the Gram diagonal; the row diagonal follows the same way
    diagonal = np.zeros(rows.shape)
    rows.add_diagonal({"fluid": domain.inv_mass_f}, diagonal)
    for index in list(zip(*np.nonzero(np.abs(out) > 1e-14), strict=True))[:: max(1, int(np.sum(out != 0) // 25))]:
        unit = np.zeros(rows.shape)
        unit[index] = 1.0
        back["fluid"][:] = 0.0
        rows.add_transpose(unit, back)
        assert diagonal[index] == pytest.approx(np.sum(back["fluid"] ** 2 * domain.inv_mass_f), rel=1e-12)
    if kind != "pressure":
        gram = {"fluid": np.zeros_like(w["fluid"])}
        rows.add_gram(w, gram)
        rows.apply(w, out)
        back["fluid"][:] = 0.0
        rows.add_transpose(out, back)
        free = domain.inv_mass_f > 0
        np.testing.assert_allclose(gram["fluid"][free], back["fluid"][free], atol=1e-13)
        gram_diagonal = {"fluid": np.zeros_like(w["fluid"])}
        rows.add_gram_diagonal(gram_diagonal)
        probes = list(zip(*np.nonzero(free), strict=True))
        for index in probes[:: max(1, len(probes) // 25)]:
            unit = {"fluid": np.zeros_like(w["fluid"])}
            unit["fluid"][index] = 1.0
            rows.apply(unit, out)
            assert gram_diagonal["fluid"][index] == pytest.approx(np.sum(out**2), rel=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_pressure_stencil_is_the_product_of_the_rows(case):
    """The structured kernel equals K B^-1 K^T."""
    rng = np.random.default_rng(5)
    domain = make_domain(*case)
    rows = PressureRows(FullTank(domain))
    rows.rebuild()
    z = np.zeros(rows.shape)
    z[domain.grid.interior] = rng.normal(size=z[domain.grid.interior].shape)
    w = {"fluid": np.zeros_like(domain.inv_mass_f)}
    rows.add_transpose(z, w)
    w["fluid"] *= domain.inv_mass_f
    expected, out = np.zeros(rows.shape), np.zeros(rows.shape)
    rows.apply(w, expected)
    rows.stencil.apply(z, out)
    np.testing.assert_allclose(out[domain.grid.interior], expected[domain.grid.interior], atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_uniform_motion_of_fluid_and_solid_is_free_of_divergence_and_stress(case):
    """Fluid and solid moving together: K w = s, no viscous row, no wall row."""
    domain = make_domain(*case)
    velocity = np.array([0.3, -0.2, 0.1])
    if case[1] == 2:
        velocity[2] = 0.0
    domain.solids.velocity_c[:] = velocity[:, None, None, None]
    domain.solids.velocity_f[:] = velocity[:, None, None, None]
    w = {"fluid": np.ascontiguousarray(np.broadcast_to(velocity[:, None, None, None], domain.inv_mass_f.shape))}
    rows = PressureRows(FullTank(domain))
    rows.set_wall_flux()
    out = np.zeros(rows.shape)
    rows.apply(w, out)
    assert np.abs(out - rows.target)[domain.grid.interior].max() < 1e-15
    viscous = ViscousRows(domain, 1.0, folded=True, half=False)
    viscous.rebuild()
    viscous.time_step = 1.0
    strain = np.zeros(viscous.shape)
    viscous.apply(w, strain)
    assert np.abs(strain).max() < 1e-15
