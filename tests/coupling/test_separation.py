"""Bodies and walls that water leaves: what walls sweep, momentum, resume."""

from pathlib import Path

import numpy as np
import pytest

import undertow as ut
from undertow.linalg import used_planes


def throw(density: float = 500.0, cells: int = 10, coupling: str = "monolithic") -> ut.Simulation:
    """A cylinder that meets the water fast; cells: per diameter of 0.1 m."""
    return ut.Simulation(
        ut.Scene(
            name="throw", coupling=coupling,
            domain=ut.Domain(upper=(0.8, 0.5), resolution=8 * cells, sides={"y_high": "open"}),
            time=ut.Time(end=1.0), fluid=ut.Fluid(density=1000.0, tolerance=1e-6),
            objects={
                "pool": ut.Water(shape=ut.Plane(normal=(0.0, 1.0)), position=(0.4, 0.3)),
                "cylinder": ut.RigidBody(
                    shape=ut.Sphere(radius=0.05), position=(0.4, 0.35), velocity=(0.0, -3.0), density=density
                ),
            },
        )
    )  # fmt: skip


def test_walls_sweep_the_same_whether_cells_are_left_out_or_not():
    """F v of all cells is what is left in plus what is left out, and F^T does not feel the latter."""
    sim = throw()
    sim.advance_to(0.02)
    solve = sim.flow.solve
    rows, walls = solve.rows, solve.rigid.walls
    rng = np.random.default_rng(1)
    twist, p = rng.normal(size=walls.v.shape), rng.normal(size=rows.shape)
    none = np.zeros(0, np.int64)
    walls.leave_out(none, rows.stencil)
    whole, force = np.zeros(rows.shape), np.zeros(walls.v.shape)
    walls.add_flux(1.0, twist, whole)
    cell = np.unique(walls.cut.spec.cell[: walls.cut.size])[::3]
    walls.leave_out(cell, rows.stencil)
    part = np.zeros(rows.shape)
    walls.add_flux(1.0, twist, part)
    assert np.abs(part.reshape(-1)[cell]).max() == 0.0
    part.reshape(-1)[cell] = walls.left_out(twist)
    np.testing.assert_allclose(part, whole, atol=1e-15)
    walls.add_force(1.0, p, force)
    kept = np.zeros(rows.shape)
    walls.add_flux(1.0, twist, kept)
    assert (p * kept).sum() == pytest.approx((force * twist).sum(), rel=1e-12)
    walls.leave_out(none, rows.stencil)
    again = np.zeros(rows.shape)
    walls.add_flux(1.0, twist, again)
    np.testing.assert_array_equal(again, whole)


@pytest.mark.parametrize("coupling", ["monolithic", "lumped"])
def test_a_cavity_opens_and_closes_with_few_passes_and_the_volume_stays(coupling):
    sim = throw(coupling=coupling)
    start = sim.flow.extent.volume()
    opened, passes = 0, []
    for report in sim.steps(until=0.15):
        row = report.ledger
        passes.append(row["passes"])
        opened = max(opened, len(sim.flow.phase.open_cells))
        held = row["fluid_volume"] + row["spray_volume"] + row["volume_error"]
        assert held == pytest.approx(start, rel=1e-10)
        assert np.abs(used_planes(sim.flow.state.p).reshape(-1)).max() < np.inf
    assert opened > 2
    assert max(passes) <= 5 and np.mean(passes) < 2.5


def test_a_resumed_cavity_repeats_every_bit(tmp_path: Path) -> None:
    sim = throw()
    sim.advance_to(0.04)
    assert len(sim.flow.phase.marked)
    sim.save(tmp_path / "half.h5")
    half = ut.load(tmp_path / "half.h5")
    sim.advance_to(0.1)
    half.advance_to(0.1)
    for name, array in sim.arrays().items():
        assert array.tobytes() == half.arrays()[name].tobytes(), name
