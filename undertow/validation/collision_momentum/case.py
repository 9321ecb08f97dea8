"""Collisions of concave bodies: momentum and angular momentum kept to round-off, kinetic energy never up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from undertow.geometry import Box, MeshShape, Torus
from undertow.solids import SolidsWorld
from undertow.validation.analysis import Array, Quantity, quantity

PAIRS = 1000
FREE, STEPS = 40, 20
"""Free pairs of boxes that are followed over whole steps, for each restitution, and how many steps."""

SMOKE = {"PAIRS": 3, "FREE": 1}


def bracket() -> MeshShape:
    """An L of arms 0.3 m, 0.1 m thick and wide."""
    outline = np.array([[0.0, 0.0], [0.3, 0.0], [0.3, 0.1], [0.1, 0.1], [0.1, 0.3], [0.0, 0.3]]) - 0.1
    n = len(outline)
    vertices = np.concatenate([np.column_stack([outline, np.full(n, z)]) for z in (-0.05, 0.05)])
    caps = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    triangles = [(c, b, a) for a, b, c in caps] + [(a + n, b + n, c + n) for a, b, c in caps]
    for i in range(n):
        j = (i + 1) % n
        triangles += [(i, j, j + n), (i, j + n, i + n)]
    return MeshShape(vertices, np.array(triangles), "bracket")


def momenta(world: SolidsWorld) -> tuple[Array, Array]:
    """Total momentum [kg m/s] and angular momentum about the origin [kg m2/s]."""
    b = world.bodies
    return b.p_b.sum(axis=0), (np.cross(b.x_b, b.p_b) + b.L_b).sum(axis=0)


def random_turn(rng: np.random.Generator) -> Array:
    """A random rotation (3, 3), uniform."""
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return np.asarray(Q if np.linalg.det(Q) > 0 else Q[:, ::-1])


def run(full: bool = False) -> Iterator[Quantity]:
    """1000 pairs of tori and brackets of random mass, pose, velocity, spin, friction and restitution collide.

    Then free pairs of boxes over whole steps.
    """
    rng = np.random.default_rng(3)
    shapes: list[Torus | MeshShape] = [Torus(0.15, 0.05), bracket()]
    linear = angular = gain = 0.0
    collided = clamped = 0
    tries = 0
    while collided < PAIRS:
        tries += 1
        world = SolidsWorld(gravity=(0.0, 0.0, 0.0))
        for i in range(2):
            axis = rng.normal(size=3)
            world.add(
                str(i), shapes[rng.integers(2)], (0.0, 0.0, 0.0) if i == 0 else 0.25 * axis / np.linalg.norm(axis),
                random_turn(rng), 10.0 ** rng.uniform(2, 4), friction=rng.uniform(0, 1.5), restitution=rng.uniform(0,
                1), )  # fmt: skip
        away = world.bodies.x_b[1] - world.bodies.x_b[0]
        for i, sign in ((0, 1.0), (1, -1.0)):
            v = 3.0 * sign * away / np.linalg.norm(away) + rng.normal(size=3)
            world.bodies.set_velocity(i, v, 10.0 * rng.normal(size=3))
        found = collide(world)
        collided += found[0] > 0
        if found[0]:
            clamped += found[1]
            linear, angular, gain = max(linear, found[2]), max(angular, found[3]), max(gain, found[4])
    yield quantity("linear", linear, pairs=collided, tried=tries)
    yield quantity("angular", angular, clamped=clamped)
    yield quantity("energy_gain", gain)
    for e in (0.0, 0.5):
        pairs = [follow(rng, e) for _ in range(FREE)]
        name = f"steps_{e:.1f}".replace(".", "")
        yield quantity(f"linear_{name}", max(f.linear for f in pairs), pairs=FREE)
        yield quantity(f"angular_{name}", max(f.angular for f in pairs))
        yield quantity(f"energy_gain_{name}", max(f.gain for f in pairs))
        share = sum(f.parted > 0 for f in pairs) / FREE
        yield quantity(f"parted_{name}", share, info=True, steps=sum(f.parted for f in pairs) / FREE / STEPS)
        turned = [f.angular_parted for f in pairs]
        yield quantity(f"angular_{name}_parted", max(turned), median=float(np.median(turned)))
        yield quantity(f"energy_gain_{name}_parted", max(f.gain_parted for f in pairs))
        yield quantity(f"energy_gain_{name}_all", max(f.gain_all for f in pairs))


class Followed(NamedTuple):
    """Relative changes of a free pair over whole steps: of momentum, all in all; of angular momentum and energy, the
    largest in a step that parted no overlaps. parted: steps that did; what these changed of angular momentum, all in
    all, and the largest rise of energy in one of them: they move bodies and leave their momenta. gain_all: energy above
    its start, whatever the steps did."""

    linear: float
    angular: float
    gain: float
    parted: int
    angular_parted: float
    gain_parted: float
    gain_all: float


def follow(rng: np.random.Generator, restitution: float, dt: float = 1.0 / 60.0) -> Followed:
    """Two boxes without gravity fly at each other with spin and friction, meet, and part or go on together."""
    while True:
        world = SolidsWorld(gravity=(0.0, 0.0, 0.0))
        axis = rng.normal(size=3)
        for i, place in enumerate((np.zeros(3), 0.35 * axis / np.linalg.norm(axis))):
            world.add(
                str(i), Box((0.2, 0.16, 0.12)), place, random_turn(rng), 10.0 ** rng.uniform(2, 4),
                friction=rng.uniform(0, 1), restitution=restitution,
            )  # fmt: skip
            v = (1.5 - 3.0 * i) * axis / np.linalg.norm(axis) + 0.5 * rng.normal(size=3)
            world.bodies.set_velocity(i, v, 3.0 * rng.normal(size=3))
        b = world.bodies
        p, L = momenta(world)
        energy, met, worst, gain = sum(world.solids.energy()), False, 0.0, 0.0
        parted, turned, raised, highest = 0, 0.0, 0.0, 0.0
        scale = np.abs(b.p_b).sum(), (np.abs(np.cross(b.x_b, b.p_b)) + np.abs(b.L_b)).sum()
        for _ in range(STEPS):
            report = world.step(dt)
            p_new, L_new = momenta(world)
            change = float(np.abs(L_new - L).max() / scale[1])
            L = L_new
            rise = (report.kinetic_after - report.kinetic_before) / energy
            highest = max(highest, report.kinetic_after / energy - 1.0)
            if report.resolve_iterations:
                parted, turned, raised = parted + 1, turned + change, max(raised, rise)
            else:
                worst, gain = max(worst, change), max(gain, rise)
            met = met or report.contacts + report.collisions > 0
        if met:
            linear = float(np.abs(p_new - p).max() / scale[0])
            return Followed(linear, worst, gain, parted, turned, raised, highest)


def collide(world: SolidsWorld, dt: float = 1.0 / 60.0) -> tuple[int, int, float, float, float]:
    """Steps I and II of a step: (collisions, clamped, relative change of momentum, angular momentum, energy)."""
    p, L = momenta(world)
    before = sum(world.solids.energy())
    b = world.bodies
    scale = np.abs(b.p_b).sum()
    turning = (np.abs(np.cross(b.x_b, b.p_b)) + np.abs(b.L_b)).sum()
    collisions, clamped = world.solids.collide(world.time, dt)
    p_new, L_new = momenta(world)
    after = sum(world.solids.energy())
    return (
        collisions, clamped, float(np.abs(p_new - p).max() / scale), float(np.abs(L_new - L).max() / turning),
        after / before - 1.0,
    )  # fmt: skip
