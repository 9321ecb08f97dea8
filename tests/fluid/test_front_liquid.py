"""A liquid inside a front: energy never grows in the solve, the system is symmetric, a drop keeps its volume."""

import numpy as np

from undertow.fluid.front_liquid import FrontLiquid
from undertow.grid import Grid
from undertow.surface import Curve, remesh


def _liquid(n=16, eps=0.2, **options):
    grid = Grid((n, n, 1), 1.0 / n, dimensions=2)
    t = np.linspace(0.0, 2.0 * np.pi, 80, endpoint=False)
    r = 0.27 * (1.0 + eps * np.cos(3.0 * t))
    point = np.stack([0.51 + r * np.cos(t), 0.487 + r * np.sin(t), 0.0 * t], axis=1)
    curve = remesh(Curve(point, np.roll(np.arange(80), 1), np.roll(np.arange(80), -1)), grid.dx)
    return FrontLiquid(grid, curve, 1000.0, 0.07, **options)


def test_rows_and_their_transposes_are_one_matrix():
    liquid = _liquid(viscosity=0.1)
    random = np.random.default_rng(1)
    for row in liquid.rows(0.1):
        w = {"fluid": random.normal(size=liquid.u_f.shape), "front": random.normal(size=len(liquid.cells.cell))}
        z, out = random.normal(size=row.shape), np.zeros(row.shape)
        back = {name: np.zeros_like(one) for name, one in w.items()}
        row.apply(w, out)
        row.add_transpose(z, back)
        power = sum(float((back[name] * w[name]).sum()) for name in w)
        assert abs(out @ z - power) < 1e-11 * np.abs(out * z).sum()


def test_energy_falls_in_the_solve_for_any_step():
    for dt in (1e-2, 1.0, 10.0):
        liquid = _liquid()
        random = np.random.default_rng(3)
        speed = 0.05 * liquid.grid.dx / dt
        w = {
            "fluid": speed * random.normal(size=liquid.u_f.shape) * (liquid.inv_mass_f > 0.0),
            "front": speed * random.normal(size=len(liquid.cells.cell)),
        }
        before = liquid.energy(w) + liquid.surface_energy()
        stats = liquid.solve(w, dt)
        assert stats.converged
        liquid.move(dt, w["front"])
        assert liquid.energy(w) + liquid.surface_energy() < before
        # incompressible in every cell, the coupling faces included
        flux = sum(matrix @ w[name].reshape(-1) for name, matrix in liquid.divergence.items())
        assert np.abs(flux).max() < 1e-7 * liquid.grid.dx * max(np.abs(w["front"]).max(), 1e-12)


def test_a_deformed_drop_swings_and_keeps_its_volume():
    liquid = _liquid(eps=0.1)
    volume, start = liquid.volume(), liquid.surface_energy()
    for _ in range(20):
        liquid.step(0.1)
    assert abs(liquid.volume() / volume - 1.0) < 2e-3
    assert liquid.surface_energy() < start
    assert np.abs(liquid.u_f).max() > 1e-4
