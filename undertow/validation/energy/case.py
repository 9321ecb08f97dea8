"""Kinetic energy of fluid and bodies never grows in the coupled solve, whatever the configuration."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.momentum.case import at_ends, random_scene, random_soft_scene, shake, shake_soft

RIGID, SOFT = (100, 10), (25, 10)
"""Configurations, and states of each."""
SMOKE = {"RIGID": (2, 1), "SOFT": (2, 1)}


def gains(seed: int, states: int) -> list[float]:
    """(energy after - before) / before of random states of one configuration."""
    rng = np.random.default_rng(seed)
    sim = ut.Simulation(random_scene(rng, 2 + seed % 2, seed % 4 < 2, 1 + seed % 3))
    bodies = sim.scheme.bodies.bodies  # type: ignore[attr-defined]
    found = []
    for _ in range(states):
        mass, u = shake(sim, rng)
        energy = []
        for _ in range(2):
            fluid = ((mass * u + at_ends(sim, u)) * u).sum()
            energy.append(float(fluid + (bodies.p_b * bodies.v_b).sum() + (bodies.L_b * bodies.omega_b).sum()))
            sim.flow.z_c[...] = 0.0
            sim.flow.project(u, 1.0)
            bodies.derive_velocities()
        found.append(energy[1] / energy[0] - 1.0)
    return found


def gains_soft(seed: int, shell: bool, states: int) -> list[float]:
    """The same of a soft body or a shell at rest, with its elasticity in the solve."""
    rng = np.random.default_rng(seed)
    sim = ut.Simulation(random_soft_scene(rng, 2 + seed % 2, shell, seed % 4 < 2))
    soft = sim.scheme.nodes[0].soft  # type: ignore[attr-defined]
    found = []
    for _ in range(states):
        mass, u = shake_soft(sim, rng)
        before = 0.5 * float((mass * u**2).sum()) + soft.kinetic_energy()
        sim.flow.z_c[...] = 0.0
        sim.flow.project(u, float(10.0 ** rng.uniform(-3, 0)))
        found.append((0.5 * float((mass * u**2).sum()) + soft.kinetic_energy()) / before - 1.0)
    return found


def run(full: bool) -> Iterator[Quantity]:
    """1000 random states of 100 configurations; with ``full`` of 1000 configurations."""
    configurations, states = (1000, 1) if full else RIGID
    found = [gain for seed in range(configurations) for gain in gains(seed, states)]
    yield quantity("gain", max(0.0, max(found)), largest=max(found), smallest=min(found), states=len(found))
    # random velocities are far from free of divergence: a solve that does nothing loses nothing
    yield quantity("loss", -max(found))
    configurations, states = (250, 4) if full else SOFT
    for name, shell in (("gain_soft", False), ("gain_shell", True)):
        found = [gain for seed in range(configurations) for gain in gains_soft(seed, shell, states)]
        yield quantity(name, max(0.0, max(found)), largest=max(found), smallest=min(found), states=len(found))
        yield quantity(name.replace("gain", "loss"), -max(found))
