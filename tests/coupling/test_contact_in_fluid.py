"""Contact of rigid bodies in a fluid by staggered iterations and a secant update."""

from __future__ import annotations

import numpy as np
import pytest

from undertow.coupling.contact_in_fluid import ContactInFluid
from undertow.coupling.secant import LEAST_MOBILITY, SecantUpdate
from undertow.geometry import Plane, Sphere
from undertow.solids import SolidsWorld
from undertow.solids.step import RigidStages


class Syrup(ContactInFluid):
    """A fluid that moves along with every body: ``added`` is the mass it has, ``guess`` what it says."""

    def __init__(self, world: SolidsWorld, added: float, guess: float) -> None:
        super().__init__(world.solids)
        self.bodies, self.added, self.guess = world.bodies, added, guess

    def step(self, time: float, dt: float) -> None:
        stages = RigidStages(self.solids, in_fluid=True)
        stages.evolve(time, dt)
        stages.collide(dt)
        stages.hold(time, dt)
        stages.move(time, dt)
        expected = self.expect(stages.contacts, dt)
        weight = np.zeros_like(expected)
        weight[:, 1] = -9.81 * dt * np.where(self.bodies.inv_mass_b > 0.0, self.bodies.mass_b, 0.0)
        self.apply_impulse(weight + expected, dt)
        self.iterate(stages.contacts, expected, dt)
        stages.take_velocities()
        stages.settle(time, dt)

    def mobility(self):
        inverse = self.bodies.inv_mass_b
        return inverse / (1.0 + inverse * self.guess), self.bodies.inv_inertia_b.copy()

    def apply_impulse(self, impulse_b, dt):
        dynamic = self.bodies.inv_mass_b > 0.0
        own = self.bodies.mass_b[dynamic, None]
        self.bodies.p_b[dynamic] += impulse_b[dynamic, :3] * own / (own + self.added)
        return []


def test_contact_does_not_depend_on_the_estimate_of_the_added_mass():
    """A ball that lies on the ground rests, whether the added mass is estimated too large or too small."""
    for guess in (0.0, 2.0, 6.0):
        world = SolidsWorld()
        world.add("ground", Plane())
        ball = world.add("ball", Sphere(0.1), (0.0, 0.1, 0.0), density=477.5)
        dt, syrup = 0.02, Syrup(world, 2.0, guess)
        for step in range(3):
            syrup.step(step * dt, dt)
            # what the weight alone gives in a step is 0.098 m/s
            assert abs(world.bodies.v_b[ball, 1]) < 2e-5
        force = world.solids.contact_force_b[ball, 1]
        assert abs(force / (9.81 * world.bodies.mass_b[ball]) - 1.0) < 1e-3


def test_changes_that_are_noise_make_no_mobility():
    """A body of 1 kg that the fluid holds along y but for noise; along x its mobility is 16 times the estimate."""
    masses = np.ones(1), np.tile([1.0, 1.0, 1.0, 0.0, 0.0, 0.0], (1, 1))
    secant = SecantUpdate()
    x, y = np.zeros((1, 6)), np.zeros((1, 6))
    x[0, 0], y[0, 1] = 1.0, 1.0
    secant.add(1e-2 * x + 1e-4 * y, 16e-2 * x)
    secant.add(1e-3 * y, -1e-9 * y)
    more = secant.correction(masses)
    assert (y + more.of(y))[0, 1] == pytest.approx(LEAST_MOBILITY)
    assert (x + more.of(x))[0, 0] == pytest.approx(16.0, rel=1e-2)
    assert abs(1.0 - more.damping * 16.0) < 1.0, "the iterations converge"
