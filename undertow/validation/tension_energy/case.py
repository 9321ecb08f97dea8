"""Random drops, with a rigid body inside or none: motion and surface lose energy in the solve, for any step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse

from undertow.fluid.front_liquid import FrontLiquid
from undertow.grid import GHOSTS, Array, Grid
from undertow.linalg import DenseBlock, MassBlock, RowBlock
from undertow.linalg.sparse_rows import SparseRows
from undertow.surface import Curve, remesh
from undertow.validation.analysis import Quantity, quantity

CASES = 20
CELLS = 32
SHRUNK = 0.5
"""Segments may not be shorter than this part of what they were: lengths are compared with their second derivative."""
SMOKE = {"CASES": 2}


class Outcome(NamedTuple):
    """change of the energy over that before; the shortest segment over what it was; power of the force on the points
    and on the coupling faces, their difference over the sum of its parts; dt over the capillary limit."""

    change: float
    shortest: float
    power: float
    step: float


def random_drop(random: np.random.Generator) -> tuple[Grid, Curve]:
    """A closed curve of four random modes about a random point."""
    grid = Grid((CELLS, CELLS, 1), 1.0 / CELLS, dimensions=2)
    t = np.linspace(0.0, 2.0 * np.pi, 200, endpoint=False)
    r = np.full(200, 0.28)
    for mode in range(2, 6):
        r *= 1.0 + 0.1 * random.normal() / mode * np.cos(mode * t + 6.3 * random.random())
    middle = 0.5 + 0.05 * random.normal(size=2)
    point = np.stack([middle[0] + r * np.cos(t), middle[1] + r * np.sin(t), np.zeros(200)], axis=1)
    return grid, remesh(Curve(point, np.roll(np.arange(200), 1), np.roll(np.arange(200), -1)), grid.dx)


def body_rows(liquid: FrontLiquid, radius: float) -> SparseRows:
    """Faces within a disc in the middle move as a rigid body (v, omega)."""
    grid, size = liquid.grid, int(np.prod(liquid.grid.padded))
    faces, rows = [], []
    for axis in grid.axes:
        face = np.flatnonzero(liquid.inv_mass_f[axis].reshape(-1) > 0.0)
        _, j, i = np.unravel_index(face, grid.padded)
        at = np.stack([i, j], axis=1) - GHOSTS + 0.5 * (np.arange(2) != axis)
        away = at * grid.dx - 0.5
        chosen = np.hypot(away[:, 0], away[:, 1]) < radius
        motion = np.zeros((len(face), 3))
        motion[:, axis], motion[:, 2] = 1.0, (-away[:, 1], away[:, 0])[axis]
        faces.append(axis * size + face[chosen])
        rows.append(motion[chosen])
    face, carried = np.concatenate(faces), np.concatenate(rows)
    fluid = sparse.csr_matrix((np.ones(len(face)), (np.arange(len(face)), face)), shape=(len(face), 3 * size))
    return SparseRows("body_rows", {"fluid": fluid, "body": -carried}, damping=False)


def solve_random(seed: int) -> Outcome:
    """One solve of random velocities over a random step; every other one with a body of random mass."""
    random = np.random.default_rng(seed)
    grid, curve = random_drop(random)
    density, sigma = 10.0 ** random.uniform(0.0, 4.0), 10.0 ** random.uniform(-2.0, 1.0)
    liquid = FrontLiquid(grid, curve, density, sigma, viscosity=0.01 * random.random())
    step = 10.0 ** random.uniform(-1.0, 2.0)
    dt = step * float(np.sqrt(density * grid.dx**3 / (4.0 * np.pi * sigma)))
    speed = 0.1 * random.random() * grid.dx / dt
    w: dict[str, Array] = {
        "fluid": speed * random.normal(size=(3, *grid.padded)) * (liquid.inv_mass_f > 0.0),
        "front": speed * random.normal(size=len(liquid.cells.cell)),
    }
    force = random.normal(size=2 * len(curve.point))
    given, taken = float(force @ (liquid.H @ w["front"])), float((liquid.H.T @ force) @ w["front"])
    power = abs(given - taken) / float(np.abs(force * (liquid.H @ w["front"])).sum())
    blocks: list[MassBlock] = []
    rows: list[RowBlock] = []
    mass = np.zeros((3, 3))
    if seed % 2:
        mass = density * 0.02 * 10.0 ** random.uniform(-3.0, 3.0) * np.diag([1.0, 1.0, 0.003])
        blocks, rows = [DenseBlock("body", np.linalg.inv(mass)[None])], [body_rows(liquid, 0.08)]
        w["body"] = speed * random.normal(size=(1, 3))

    def kinetic() -> float:
        own = 0.5 * float(w["body"][0] @ mass @ w["body"][0]) if "body" in w else 0.0
        return liquid.energy(w) + own

    before, lengths = kinetic() + liquid.surface_energy(), liquid.curve.lengths()
    liquid.solve(w, dt, blocks, rows)
    liquid.move(dt, w["front"])
    after = kinetic() + liquid.surface_energy()
    return Outcome((after - before) / before, float((liquid.curve.lengths() / lengths).min()), power, step)


def net_force(cells: int) -> float:
    """Of tension on the coupling faces of a closed curve, over the largest of its parts along an axis: an ellipse."""
    grid = Grid((cells, cells, 1), 1.0 / cells, dimensions=2)
    t = np.linspace(0.0, 2.0 * np.pi, 8 * cells, endpoint=False)
    worst = 0.0
    for shift in np.linspace(0.0, 1.0, 8, endpoint=False):
        x, y = 0.5 + (shift + 0.3) / cells + 0.3 * np.cos(t), 0.5 + (0.7 * shift) / cells + 0.2 * np.sin(t)
        curve = Curve(np.stack([x, y, 0.0 * t], axis=1), np.roll(np.arange(len(t)), 1), np.roll(np.arange(len(t)), -1))
        liquid = FrontLiquid(grid, remesh(curve, grid.dx), 1.0, 1.0)
        parts = (liquid.H.T @ liquid.curve.tension()[:, :2].reshape(-1))[:, None] * liquid.cells.normal
        worst = max(worst, float(np.abs(parts.sum(axis=0)).max() / np.abs(parts).sum(axis=0).max()))
    return worst


def run(full: bool = False) -> Iterator[Quantity]:
    """Twenty random drops; what the projection on normals leaves of the net force."""
    found = [solve_random(seed) for seed in range(CASES)]
    kept = [one for one in found if one.shortest >= SHRUNK]
    yield quantity("energy_change", max(one.change for one in kept), shortest=min(one.shortest for one in found))
    yield quantity("cases", len(kept), steps=[one.step for one in kept])
    yield quantity("power", max(one.power for one in found))
    errors = [net_force(cells) for cells in (20, 80)]
    yield quantity("net_force_order", float(np.log2(errors[0] / errors[1]) / 2.0), errors=errors)
