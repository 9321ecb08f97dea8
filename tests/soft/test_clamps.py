"""A clamp is where the user puts it: strips that bend under their own weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.soft import Elastic, SoftBodies, find_equilibrium, make_bending, make_membrane
from undertow.soft.clamping import fit_to_region
from undertow.soft.meshes import grid_triangles
from undertow.solids.soft_part import SoftPart
from undertow.validation.soft_bodies import DOWN

GAMMA = 0.05
"""Weight per area over bending rigidity [1/m3]: w = q L^4 / (8 B) is 6 mm."""


def _drop(along: int, clamped: bool) -> float:
    """Deflection of the end of a strip of 1 m over q L^4 / (8 B)."""
    h = 1.0 / along
    x, triangles = grid_triangles((1.0 + h, 0.1), (along + 1, 2), crossed=False)
    x = np.stack([x[:, 0] + 0.5 - 0.5 * h, np.zeros(len(x)), -x[:, 1]], axis=1)
    held = x[:, 0] < 1e-9
    mass, membrane = make_membrane("strip", x, triangles, Elastic(1.0, 3e4, 0.0, "stvk"), 1.0)
    bending = make_bending("strip", x, triangles, 1.0, held=held if clamped else None)
    bodies = SoftBodies()
    bodies.add("strip", x, mass, [membrane, bending], triangles, triangles)
    bodies.hold(np.flatnonzero(held))
    find_equilibrium(bodies, GAMMA * bodies.mass[:, None] * DOWN, 1e-10)
    return float(-bodies.x[x[:, 0] > 1 - 1e-9, 1].mean()) / (GAMMA / 8)


def test_a_clamped_strip_deflects_as_in_theory_to_second_order() -> None:
    error = [abs(_drop(n, True) - 1.0) for n in (6, 12, 24)]
    assert error[0] < 0.035 and error[1] < 0.01 and error[2] < 0.0025
    assert min(np.log2(error[0] / error[1]), np.log2(error[1] / error[2])) > 1.8
    # with the angle at the clamp shared by both sides it is clamped half a cell inside
    assert _drop(12, False) > 1.15


def _strip(along: int, end: float, **hold: Any) -> Any:
    """A strip from x = 0 to 1.2 held level up to x = end, in a scene; its nodes and what is held."""
    box = ut.Hold(shape=ut.Box(size=(2.0, 0.2, 0.4)), position=(end - 1.0, 1.0, 0.0), **hold)
    strip = ut.Cloth(
        size=(1.2, 0.1), position=(0.6, 1.0, 0.0), element_size=1.2 / along, density=1.0, stretching=3e4,
        poisson_ratio=0.0, bending=1.0, holds=(box,),
    )  # fmt: skip
    return ut.Simulation(ut.Scene(name="strip", time=ut.Time(end=0.1), objects={"strip": strip})).part(SoftPart).soft


@pytest.mark.parametrize("end", [0.2, 0.23, 0.25, 0.27])
def test_a_hold_that_ends_between_rows_of_nodes_clamps_where_it_ends(end: float) -> None:
    """Whatever part of an element it covers, 24 of 5 cm: the strip is as long as it sticks out."""
    soft = _strip(24, end)
    held = soft.inv_mass == 0
    assert soft.rest[held, 0].max() == pytest.approx(end, abs=1e-7)
    find_equilibrium(soft, GAMMA * soft.mass[:, None] * DOWN, 1e-10)
    drop = float(1.0 - soft.x[soft.rest[:, 0] > 1.2 - 1e-9, 1].mean())
    assert drop / (GAMMA / 8 * (1.2 - end) ** 4) == pytest.approx(1.0, abs=0.01)
    # the outline, and with it the mass, stays
    assert soft.mass.sum() == pytest.approx(0.12, rel=1e-12)


def test_a_region_around_one_row_or_one_node_moves_nothing() -> None:
    x, triangles = grid_triangles((1.0, 1.0), (8, 8), crossed=False)
    for centre, reach in (((-0.5, 0.0), 0.03), ((0.0, 0.0), 0.05), ((0.125, 0.25), 0.04), ((0.5, 0.5), 0.06)):
        around = lambda p, c=centre, r=reach: np.linalg.norm(p[:, :2] - np.array(c), axis=1) - r  # noqa: E731
        assert np.array_equal(fit_to_region(x, triangles, around), x)
        row = lambda p, c=centre, r=reach: np.abs(p[:, 0] - c[0]) - r  # noqa: E731
        assert np.array_equal(fit_to_region(x, triangles, row), x)
    # two rows and a part of the next cell: the second goes to the end, those of the rim with it along the rim
    moved = fit_to_region(x, triangles, lambda p: p[:, 0] + 0.5 - 0.15)
    changed = np.flatnonzero((moved != x).any(axis=1))
    assert len(changed) == 9 and np.allclose(moved[changed, 0], -0.35) and np.allclose(moved[changed, 1], x[changed, 1])


def test_a_hold_with_an_end_leaves_the_bending_of_the_sheet_alone() -> None:
    """Let go, all of it bends as it did."""
    clamped, let_go = _strip(12, 0.2), _strip(12, 0.2, until=0.05)
    assert len(let_go.forces.groups[1].rest) > len(clamped.forces.groups[1].rest)
