"""The incompressible pressure solve and the penalty method beside the weakly compressible fluid with direct forcing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.sph import OPEN, WALL, ImplicitFluid, SphBox, SphFluid, SphSettings, add_penalty
from undertow.sph.part import SphPart
from undertow.validation.sph_buoyancy.case import SIZE, make_scene


def make_fluid(kind: type[SphFluid], sides: tuple[int, ...], gravity: float) -> SphFluid:
    draw = np.random.default_rng(3)
    dx = 0.05
    box = SphBox(np.array([0.0, 0.0, -dx / 2]), np.array([1.0, 1.0, dx / 2]), dx, 2, sides)
    fluid = kind(box, SphSettings(1000.0, 30.0, 10.0, (0.0, -gravity, 0.0)))
    x = box.lattice()
    x = x[x[:, 1] < 0.5] if gravity else x[(np.abs(x[:, :2] - 0.5) < 0.3).all(axis=1)]
    speed = draw.normal(size=x.shape) * (0.0 if gravity else 1.0)
    speed[:, 2] = 0.0
    fluid.add_fluid(x, speed)
    fluid.begin()
    return fluid


def test_the_solve_keeps_the_density_within_its_tolerance_and_the_tank_at_rest() -> None:
    fluid: Any = make_fluid(ImplicitFluid, (WALL, WALL, WALL, OPEN, WALL, WALL), 9.81)
    for _ in range(150):
        fluid.step(min(fluid.limits().values()))
        assert fluid.density_error < 1e-3 and fluid.sweeps < 100
    y, p = fluid.positions()[:, 1], fluid.pressures()
    assert np.sqrt(np.mean((p - 9810.0 * (0.5 - y)) ** 2)) < 0.05 * 9810.0 * 0.5
    assert fluid.totals.speed < 0.05 and fluid.totals.density < 1.01 * 1000.0


def test_pressure_conserves_momentum() -> None:
    fluid = make_fluid(ImplicitFluid, (OPEN,) * 6, 0.0)
    before = fluid.totals
    for _ in range(20):
        fluid.step(0.2 * min(fluid.limits().values()))
    scale = fluid.mass * np.abs(fluid.velocities()).sum()
    assert np.abs(fluid.totals.momentum - before.momentum).max() < 1e-12 * scale
    assert np.abs(fluid.totals.angular_momentum - before.angular_momentum).max() < 1e-12 * scale


def test_a_converged_solve_is_the_solution_of_its_equation() -> None:
    """rho* = rho0 where there is pressure, rho* <= rho0 elsewhere, by brute force over all pairs."""
    fluid: Any = make_fluid(ImplicitFluid, (OPEN,) * 6, 0.0)
    rows = fluid.fluid_rows()
    fluid.points.spec.place[rows, :2] = 0.5 + 0.97 * (fluid.points.spec.place[rows, :2] - 0.5)
    fluid._stale = True
    dt = 0.002
    fluid.prepare()
    v = fluid.velocities()
    for _ in range(40):  # every call starts from half the last pressure and sweeps on
        fluid.accelerate(dt)
    x, rho, numbers, m = fluid.positions(), fluid.densities(), fluid.numbers, fluid.mass
    ahead = v + dt * fluid.points.spec.change[fluid.fluid_rows(), :3]
    away = x[:, None] - x[None]
    t = np.clip(1.0 - np.linalg.norm(away, axis=2) / numbers.radius, 0.0, None)
    rate = m * numbers.g * (t**3 * np.einsum("ijk,ijk->ij", ahead[:, None] - ahead[None], away)).sum(axis=1)
    left = (rho + dt * rate) / 1000.0 - 1.0
    pressed = fluid.pressures() > 0
    assert pressed.sum() > 50 and np.abs(left[pressed]).mean() < 5e-3 and left[~pressed].max(initial=-1.0) < 1e-2


def test_larger_steps_than_sound_allows() -> None:
    sides = (WALL, WALL, WALL, OPEN, WALL, WALL)
    slow, fast = (make_fluid(kind, sides, 9.81) for kind in (SphFluid, ImplicitFluid))
    assert min(fast.limits().values()) > 5.0 * min(slow.limits().values())


@pytest.mark.parametrize("method", ["wcsph", "iisph"])
def test_a_cuboid_floats_by_either_method(method: str) -> None:
    scene = make_scene(0.5, 20, 2, 1.5, 1.0).model_copy(update={"sph": ut.Sph(method=method)})
    sim = ut.Simulation(scene, threads=1)
    sim.advance_to(1.5)
    fluid: Any = sim.part(SphPart).fluid
    level = (fluid.totals.particles * fluid.spacing**2 + 0.5 * SIZE[0] * SIZE[1]) / 0.6
    assert sim.body("cuboid").position[1] == pytest.approx(level, abs=fluid.spacing)


def test_the_penalty_method_repels_with_equal_and_opposite_forces() -> None:
    scene = make_scene(0.5, 20, 2, 1.0).model_copy(update={"coupling": "penalty"})
    sim = ut.Simulation(scene, threads=1)
    sim.advance_to(0.1)
    fluid: Any = sim.part(SphPart).fluid
    fluid.prepare()
    fluid.accelerate(1e-3)
    rows = fluid.fluid_rows()
    before = fluid.points.spec.change[rows, :3].copy()
    assert not fluid.body_force.any()
    add_penalty(fluid)
    pushed = fluid.mass * (fluid.points.spec.change[rows, :3] - before)
    force = fluid.body_force[:, :3]
    assert np.abs(force).sum() > 1.0
    assert np.abs(pushed.sum(axis=0) + force.sum(axis=0)).max() < 1e-12 * np.abs(pushed).sum()
    sim.advance_to(0.5)
    assert sim.body("cuboid").position[1] > 0.25  # it rises from 0.21
    with pytest.raises(ValueError, match="set sph.method = 'wcsph'"):
        ut.Scene(**{**dict(scene), "sph": ut.Sph(method="iisph")})
