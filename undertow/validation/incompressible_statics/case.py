"""Incompressible solids at rest: a clamped beam under its weight, and a block between plates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.solids.soft_part import SoftPart
from undertow.validation.analysis import Array, Quantity, quantity

LENGTH, HEIGHT, DENSITY, SHEAR, WEIGHT = 0.5, 0.1, 1000.0, 6e5, 9.81
RATIOS, DAMPINGS = (0.0, 0.3, 0.45), (0.0, 0.05)
STEPS = {"10": (1e-2, 0.0), "2_5": (2.5e-3, 0.9), "0_5": (5e-4, 0.95)}
"""Steps [s], and where a beam begins: so much of its deflection at the constrained minimum."""
PERIODS = 3.0
"""Of the slowest vibration that a beam is given to come to rest from the straight; one that begins bent swings once."""
PERIOD = 2.0 * np.pi * LENGTH**2 / 3.516 * float(np.sqrt(12.0 * DENSITY / (4.0 * SHEAR))) / HEIGHT
SMOKE = {"RATIOS": (0.3,), "DAMPINGS": (0.0,), "STEPS": {"10": (1e-2, 0.0)}, "PERIODS": 0.1}


def make_beam(
    ratio: float, step: float, damping: float, dimensions: int = 2, stepper: Any = "implicit", size: float = 0.025,
    shear: float = SHEAR,
) -> ut.Scene:  # fmt: skip
    """A beam clamped at x = 0 that keeps its volume, the same shear modulus for every ratio."""
    across = (HEIGHT, HEIGHT)[: dimensions - 1]
    clamp = ut.Hold(shape=ut.Box(size=(1e-3, 1.0, 1.0)[:dimensions]), position=(0.0,) * dimensions)
    beam = ut.SoftBody(
        shape=ut.Box(size=(LENGTH, *across)), position=(0.5 * LENGTH, *(0.0,) * (dimensions - 1)), element_size=size,
        density=DENSITY, youngs_modulus=2.0 * (1.0 + ratio) * shear, poisson_ratio=ratio, damping=damping,
        incompressible=True, holds=(clamp,),
    )  # fmt: skip
    time = ut.Time(end=100.0, frame_rate=1.0, fixed_step=step)
    gravity = (0.0, -WEIGHT, 0.0)[:dimensions]
    return ut.Scene(name="beam", time=time, gravity=gravity, soft=ut.Soft(stepper=stepper), objects={"beam": beam})


def come_to_rest(scene: ut.Scene, periods: float) -> float:
    """Dynamic relaxation: motion is stopped a little after its energy was largest; the height of the free end [m] that
    is left, the mean of the last tenth."""
    sim, end, most, found = ut.Simulation(scene), periods * PERIOD, 0.0, []
    soft = sim.part(SoftPart).soft
    far = _far_end(soft.rest)
    while sim.time < end - 1e-9:
        sim.step()
        now = soft.kinetic_energy()
        most = max(most, now)
        if now < 0.9 * most:
            soft.v[...] = most = 0.0
        if sim.time > 0.9 * end:
            found.append(float((soft.x - soft.rest)[far, 1].mean()))
    return float(np.mean(found))


def swing(scene: ut.Scene, start: Array, periods: float = 1.0) -> float:
    """From nodes at ``start`` (n, 3) without velocity: the middle of the heights of the free end [m] over ``periods``,
    of a beam that is damped the last of them."""
    sim = ut.Simulation(scene)
    soft = sim.part(SoftPart).soft
    soft.x[...], far, found = start, _far_end(soft.rest), []
    while sim.time < periods * PERIOD - 1e-9:
        sim.step()
        found.append(float((soft.x - soft.rest)[far, 1].mean()))
    return found[-1] if soft.damped else 0.5 * (min(found) + max(found))


# the reference: elements, rings and Newton's method of its own -------------------------------------------------------


class Constrained:
    """Energy of fixed corotated elements under their weight, and the volumes of their one-rings, in NumPy."""

    def __init__(self, rest: Array, cells: Any, held: Any, shear: float, ratio: float) -> None:
        self.rest, self.cells, self.held = rest, cells, held
        self.mu, self.lam = shear, 2.0 * shear * ratio / (1.0 - 2.0 * ratio)
        self.dimensions = k = cells.shape[1] - 1
        edges = np.swapaxes((rest[cells[:, 1:]] - rest[cells[:, :1]])[:, :, :k], 1, 2)
        self.volume = np.linalg.det(edges) / (2.0 if k == 2 else 6.0)
        self.inverse = np.linalg.inv(edges)
        self.weight = np.zeros_like(rest)
        share = -WEIGHT * DENSITY * self.volume / (k + 1)
        np.add.at(self.weight[:, 1], cells, np.broadcast_to(share[:, None], cells.shape))

    def _spread(self, stress: Array) -> Array:
        """Gradient (m, k + 1, k) of what has the derivative ``stress`` (m, k, k) by F, per element."""
        forces = stress @ np.swapaxes(self.inverse, 1, 2)
        return np.concatenate([-forces.sum(axis=2)[:, None], np.swapaxes(forces, 1, 2)], axis=1)

    def _elements(self, x: Array) -> tuple[Array, Array, Array]:
        """Of elements at places (m, k + 1, k): energy (m,), its gradient (m, k + 1, k), gradient of a share of the
        volume likewise."""
        k = self.dimensions
        F = np.swapaxes(x[:, 1:] - x[:, :1], 1, 2) @ self.inverse
        U, s, Vt = np.linalg.svd(F)
        J = np.linalg.det(F)
        cofactor = J[:, None, None] * np.swapaxes(np.linalg.inv(F), 1, 2)
        density = self.mu * ((s - 1.0) ** 2).sum(axis=1) + 0.5 * self.lam * (J - 1.0) ** 2
        stress = 2.0 * self.mu * (F - U @ Vt) + (self.lam * (J - 1.0))[:, None, None] * cofactor
        V = self.volume[:, None, None]
        return self.volume * density, self._spread(V * stress), self._spread(V * cofactor / (k + 1))

    def measure(self, x: Array) -> tuple[Array, Array, Array]:
        """(gradient of the energy (n, d), volumes of rings (n,), their gradient (n, n d))."""
        k, cells = self.dimensions, self.cells
        _, of_energy, of_volume = self._elements(x[cells][:, :, :k])
        gradient = -self.weight[:, :k].copy()
        np.add.at(gradient, cells, of_energy)
        edges = np.swapaxes((x[cells[:, 1:]] - x[cells[:, :1]])[:, :, :k], 1, 2)
        volume = np.linalg.det(edges) / (2.0 if k == 2 else 6.0)
        rings = np.bincount(cells.reshape(-1), np.repeat(volume / (k + 1), k + 1), len(x))
        rows = np.zeros((len(x), len(x), k))
        for a in range(k + 1):
            for b in range(k + 1):
                np.add.at(rows, (cells[:, a], cells[:, b]), of_volume[:, b])
        return gradient, np.asarray(rings, dtype=float), rows.reshape(len(x), -1)

    def second_derivative(self, x: Array, p: Array) -> Array:
        """Of the energy and p (n,) times the volumes of rings (n d, n d), by differences element by element."""
        k, n, cells, eps = self.dimensions, len(x), self.cells, 1e-6 * HEIGHT
        pressure = p[cells].sum(axis=1)[:, None, None]
        found = np.zeros((n, k, n, k))
        for a in range(k + 1):
            for axis in range(k):
                sides = []
                for sign in (1.0, -1.0):
                    moved = x[cells][:, :, :k]
                    moved[:, a, axis] += sign * eps
                    _, of_energy, of_volume = self._elements(moved)
                    sides.append(of_energy + pressure * of_volume)
                slope = (sides[0] - sides[1]) / (2.0 * eps)
                for b in range(k + 1):
                    for other in range(k):
                        np.add.at(found, (cells[:, b], other, cells[:, a], axis), slope[:, b, other])
        whole = found.reshape(k * n, k * n)
        return np.asarray(0.5 * (whole + whole.T))

    def minimise(self) -> Array:
        """x (n, 3) of the least energy with every ring at its volume: Newton's method on the conditions of Karush,
        Kuhn and Tucker."""
        k, n = self.dimensions, len(self.rest)
        x, p = self.rest.copy(), np.zeros(n)
        free = np.ones((n, k), dtype=bool)
        free[self.held] = False
        chosen, m = free.reshape(-1), int(free.sum())
        wanted = self.measure(x)[1]
        scale = float(np.abs(self.weight).max())
        for _ in range(60):
            g, rings, G = self.measure(x)
            left = np.concatenate([(g.reshape(-1) + G.T @ p)[chosen], rings - wanted])
            if np.abs(left[:m]).max() < 1e-7 * scale and np.abs(rings / wanted - 1.0).max() < 1e-9:
                return x
            H, rows = self.second_derivative(x, p)[np.ix_(chosen, chosen)], G[:, chosen]
            # rows that say the same twice: a little slack
            slack = 1e-12 * np.abs(rows).max() ** 2 / np.abs(H).max() * np.eye(n)
            step = np.linalg.solve(np.block([[H, rows.T], [rows, -slack]]), -left)
            move = np.zeros((n, k))
            move[free] = step[:m]
            part = min(1.0, 0.3 * HEIGHT / max(float(np.abs(move).max()), 1e-300))
            x[:, :k] += part * move
            p += part * step[m:]
        raise AssertionError("the constrained minimum was not found")


def _far_end(rest: Array) -> Any:
    return np.flatnonzero(rest[:, 0] > rest[:, 0].max() - 1e-9)


def reference(scene: ut.Scene, ratio: float, shear: float = SHEAR) -> tuple[Array, Array, float]:
    """Nodes (n, 3) at rest without weight and at the constrained minimum, on the mesh of the scene, and the height of
    the free end there [m]."""
    soft = ut.Simulation(scene).part(SoftPart).soft
    problem = Constrained(soft.rest, soft.parts[0].cells, np.flatnonzero(soft.inv_mass == 0), shear, ratio)
    x = problem.minimise()
    return soft.rest, x, float((x - soft.rest)[_far_end(soft.rest), 1].mean())


# a block between plates ----------------------------------------------------------------------------------------------


def squeeze(dimensions: int, ratio: float, stretch: float, step: float) -> tuple[float, float]:
    """Force of a plate on a block that keeps its volume over that of theory, and the work of the plates over the energy
    of theory; the block is pressed to ``stretch`` of its height without friction, slowly.

    Uniform stretches (s, 1/s, 1) of a slab, (s, s^-1/2, s^-1/2) of a block: W = V mu sum of (s_i - 1)^2,
    F = dW / d(s h).
    """
    side, shear, end = 0.2, 1e5, 0.5
    size = (side,) * dimensions
    block = ut.SoftBody(
        shape=ut.Box(size=size), position=(0.0,) * dimensions, element_size=0.05, density=100.0, friction=0.0,
        youngs_modulus=2.0 * (1.0 + ratio) * shear, poisson_ratio=ratio, damping=0.001, incompressible=True,
    )  # fmt: skip
    objects: dict[str, Any] = {"block": block}
    for name, sign in (("lower", -1.0), ("upper", 1.0)):
        at = [(0.0, sign * (0.5 * side * t + 0.05), 0.0)[:dimensions] for t in (1.0, stretch)]
        objects[name] = ut.RigidBody(
            shape=ut.Box(size=(1.0, 0.1, 1.0)[:dimensions]), position=at[0], friction=0.0,
            motion=ut.Keyframes(times=(0.0, end), positions=tuple(at)),
        )  # fmt: skip
    time = ut.Time(end=end, frame_rate=2.0, fixed_step=step)
    scene = ut.Scene(name="squeeze", time=time, gravity=(0.0,) * dimensions, objects=objects)
    sim, work = ut.Simulation(scene), 0.0
    while sim.time < end - 1e-9:
        work += sim.step().ledger["soft_work"]
    force = float(sim.part(SoftPart).soft_solids.force_b[list(scene.bodies).index("upper"), 1])
    across = stretch ** (-1.0 / (dimensions - 1))
    volume, sides = side**dimensions, dimensions - 1
    energy = volume * shear * ((stretch - 1.0) ** 2 + sides * (across - 1.0) ** 2)
    slope = 2.0 * (stretch - 1.0) - 2.0 * (across - 1.0) * across / stretch
    return force / (-volume * shear * slope / side), work / energy


def run(full: bool = False) -> Iterator[Quantity]:
    """Beams in 2D for three ratios, two dampings and three steps, in 3D for one of each; explicit steps; blocks."""
    exact = {ratio: reference(make_beam(ratio, 0.01, 0.0), ratio) for ratio in RATIOS}
    for name, (step, begin) in STEPS.items():
        found = {}
        for ratio, (rest, x, tip) in exact.items():
            for damping in DAMPINGS:
                scene = make_beam(ratio, step, damping)
                height = swing(scene, rest + begin * (x - rest)) if begin else come_to_rest(scene, PERIODS)
                found[f"{ratio} {damping}"] = height / tip
        yield quantity(f"tip_{name}", max(found.values(), key=lambda value: abs(value - 1.0)), all=found)
    scene = make_beam(0.3, 0.01, 0.0, 3, size=0.05)
    yield quantity("tip_3d", come_to_rest(scene, PERIODS) / reference(scene, 0.3)[2])
    scene = make_beam(0.3, 5e-4, 0.1, 2, "newmark", 0.05, 0.25 * SHEAR)
    rest, x, tip = reference(scene, 0.3, 0.25 * SHEAR)
    yield quantity("tip_newmark", swing(scene, rest + 0.5 * (x - rest), PERIODS) / tip)
    for dimensions in (2, 3):
        force, work = squeeze(dimensions, 0.0 if dimensions == 2 else 0.45, 0.7, 5e-3)
        yield quantity(f"force_{dimensions}d", force)
        yield quantity(f"work_{dimensions}d", work)
