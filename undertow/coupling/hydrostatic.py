"""What is known of the pressure on bodies in water: its hydrostatic part, solved for being q = p - rho (g.x - c).

It acts on the wet walls of a rigid body as the impulse

    J = dt sum rho (g.x_w - c) F_c,

x_w being the foot of the cell's centre on the wall. Over all walls of a body sum (g.x_w) F should be the force -V g at
its centre of volume, V being the true volume; what it misses is added in proportion to the wet part of the body, so
that a submerged body feels exactly its buoyant weight.

Where a body touches another solid or a wall of the domain the slit is closed and the grid has no wall there. Its walls
then add up to F_s = sum F, not to zero: what is missing has the area vector -F_s, and since sum (g.x) F = -V g over a
whole body the potential there is

    g.x_s = (V g + sum (g.x_w) F) . F_s / |F_s|^2.

No two solids fit so well that the water would not get between them: it has its pressure there as well, in proportion to
how wet the body is at that height. A block that lies flat on the floor weighs its buoyant weight.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from undertow.coupling.coupled_bodies import CoupledBodies
from undertow.coupling.walls import BodyWalls
from undertow.fluid.domain import FluidDomain
from undertow.fluid.phase import Phase
from undertow.geometry import SolidFields
from undertow.grid import GHOSTS, Array
from undertow.rigid.bodies import DYNAMIC

NEAR = 1.5
"""Walls less than this higher or lower than a slit say how wet it is [cells]."""

CLOSED = 1e-9
"""A body whose walls' area vectors add up to less than this part of their area lies wholly inside the domain."""


class DisplacedWeight:
    """The same in a fluid that fills the domain: a body feels the weight of what it displaces, -rho V g, V being its
    true volume."""

    def __init__(self, phase: Phase, coupled: CoupledBodies) -> None:
        self.phase, self.coupled = phase, coupled

    def measure(self) -> None:
        """Nothing: all walls are wet."""

    def measure_wet(self, out_b: Array) -> None:
        """out (n,): 1, all of each body's walls."""
        out_b[...] = 1.0

    def impulse(self, dt: float, out_b: Array) -> None:
        """J (n, 6) [N s, N m s]."""
        coupled, out_b[...] = self.coupled, 0.0
        displaced = np.where(coupled.bodies.kind_b == DYNAMIC, self.phase.mass_of(coupled.volume_b), 0.0)
        out_b[:, :3] = -dt * displaced[:, None] * np.array(self.phase.gravity)
        out_b[:, 3:] = np.cross(coupled.bodies.volume_arms(), out_b[:, :3])


class Hydrostatic:
    """The impulse J of the head of the module.

    phase: gives gravity and level. wet: walls of the bodies in the liquid cells. domain: whose solids are the rigid
    ones. more(all walls, out): what else acts as their potential does, added to out (n, 6).
    """

    def __init__(
        self, domain: FluidDomain, phase: Phase, wet: BodyWalls, coupled: CoupledBodies,
        more: Callable[[bool, Array], None] | None = None,
    ) -> None:  # fmt: skip
        assert domain.solids is not None
        self.domain, self.phase, self.wet, self.coupled, self.more = domain, phase, wet, coupled, more
        self.solids: SolidFields = domain.solids
        count = coupled.bodies.count
        self.walls = BodyWalls(domain, count)
        self.missed_b = np.zeros((count, 6))
        """-V g less the sum over all walls and what is missing of them."""
        self.lift_b = np.zeros(count)
        """g . (sum over all walls), 0 for bodies that are not wholly inside the domain, or touch something."""
        self.slit_b = np.zeros((count, 6))
        """F_s of the bodies that touch something, else 0."""
        self.slit_level_b = np.zeros(count)
        """g.x_s [m2/s2]."""
        self._everywhere_c = np.ones(domain.grid.padded)

    def measure(self) -> None:
        """What the sums over the walls of whole bodies miss."""
        coupled, walls, g = self.coupled, self.walls, np.array(self.phase.gravity)
        dynamic = coupled.bodies.kind_b == DYNAMIC
        self.lift_b[...], self.slit_b[...] = 0.0, 0.0
        if not g.any():
            return
        walls.rebuild(dynamic.astype(np.int64), coupled.bodies.x_b, self._everywhere_c)
        count = coupled.bodies.count
        found, sums = np.zeros((count, 6)), np.zeros((count, 6))
        self._add_potential(walls, 0.0, found)
        np.add.at(sums, walls.spec.body[: walls.size], walls.spec.f[: walls.size])
        vector = sums[:, :3]
        whole = _areas(walls, count, np.ones(walls.size, dtype=bool))
        closed = dynamic & (np.abs(vector).sum(axis=1) <= CLOSED * whole) & (whole > 0.0)
        touching = np.flatnonzero(dynamic & ~closed & (whole > 0.0))
        lift = found[:, :3] @ g
        # a body of a few cells may have walls that enclose nothing like its volume
        closed &= lift < -0.5 * coupled.volume_b * (g @ g)
        self.lift_b[closed] = lift[closed]
        self.missed_b[...] = -found
        self.missed_b[:, :3] -= coupled.volume_b[:, None] * g
        self.missed_b[:, 3:] -= np.cross(coupled.bodies.volume_arms(), coupled.volume_b[:, None] * g)
        if len(touching):
            self._find_slits(touching, sums)

    def _find_slits(self, touching: np.ndarray, sums: Array) -> None:
        """Where the walls of the bodies ``touching`` that the grid does not have are; sums (n, 6): of those it has."""
        lowest, highest = self._reach()
        vector = sums[touching, :3]
        level = -np.einsum("ni,ni->n", self.missed_b[touching, :3], vector) / np.einsum("ni,ni->n", vector, vector)
        self.slit_level_b[touching] = np.clip(level, lowest[touching], highest[touching])
        self.slit_b[touching] = sums[touching]
        self.missed_b[touching] += self.slit_level_b[touching, None] * sums[touching]

    def _levels(self, walls: BodyWalls) -> Array:
        """g.x of the centres of the cells of walls (m,) [m2/s2]."""
        grid, cell = self.domain.grid, walls.spec.cell[: walls.size]
        places = np.unravel_index(cell, grid.padded)
        return sum(
            g * (grid.lower[axis] + (places[2 - axis] - GHOSTS + 0.5) * grid.dx)
            for axis, g in enumerate(self.phase.gravity)
        ) + np.zeros(walls.size)

    def _reach(self) -> tuple[Array, Array]:
        """Lowest and highest g.x that the cells of each body's walls have (n,) [m2/s2]."""
        count, level = self.coupled.bodies.count, self._levels(self.walls)
        body = self.walls.spec.body[: self.walls.size]
        half = 0.5 * self.domain.grid.dx * float(np.abs(self.phase.gravity).sum())
        lowest, highest = np.full(count, np.inf), np.full(count, -np.inf)
        np.minimum.at(lowest, body, level - half)
        np.maximum.at(highest, body, level + half)
        return lowest, highest

    def _wet_part(self, near: float = np.inf) -> Array:
        """Part of each body's walls that is wet (n,), of those at most ``near`` [m2/s2] higher or lower than a slit."""
        areas = []
        for walls in (self.wet, self.walls):
            size = walls.size
            beside = np.abs(self._levels(walls) - self.slit_level_b[walls.spec.body[:size]]) <= near
            areas.append(_areas(walls, self.coupled.bodies.count, beside))
        return np.asarray(areas[0] / np.maximum(areas[1], 1e-300))

    def measure_wet(self, out_b: Array) -> None:
        """out (n,): the part of each body's walls that the water wets; kept without gravity, which finds no walls."""
        if np.any(self.phase.gravity):
            out_b[...] = self._wet_part()

    def impulse(self, dt: float, out_b: Array) -> None:
        """J (n, 6) [N s, N m s]."""
        out_b[...] = 0.0
        self._add_potential(self.wet, self.phase.level, out_b)
        whole = self.lift_b < 0.0
        wet = (out_b[whole, :3] @ np.array(self.phase.gravity)) / self.lift_b[whole]
        out_b[whole] += np.clip(wet, 0.0, 1.0)[:, None] * self.missed_b[whole]
        touching = self.slit_b.any(axis=1)
        if touching.any():
            out_b[touching] += self._wet_part()[touching, None] * self.missed_b[touching]
            near = NEAR * self.domain.grid.dx * float(np.linalg.norm(self.phase.gravity))
            height = self._wet_part(near) * (self.slit_level_b - self.phase.level)
            out_b[touching] -= height[touching, None] * self.slit_b[touching]
        out_b[...] = self.phase.mass_of(dt * out_b)

    def _add_potential(self, walls: BodyWalls, level: float, out_b: Array) -> None:
        """out += sum (g.x_w - level) F."""
        spec = self.domain.grid.spec
        _add_potential(spec, walls.spec, walls.size, self.solids.wall_n, self.phase.gravity, level, out_b)
        if self.more is not None:
            self.more(walls is self.walls, out_b)


def _areas(walls: BodyWalls, count: int, of: np.ndarray) -> Array:
    """Sum of the area vectors' components, without sign, over the walls (``of`` them) of each body (n,) [m2]."""
    size = walls.size
    out = np.zeros(count)
    np.add.at(out, walls.spec.body[:size][of], np.abs(walls.spec.f[:size, :3][of]).sum(axis=1))
    return out


@njit(cache=True)
def _add_potential(spec, walls, size, phi_n, g, level, out):  # type: ignore[no-untyped-def]
    """out_b += (g.x_w - level) F over the walls, x_w being the foot of the cell's centre on the wall."""
    row = spec.nx + 2 * GHOSTS
    plane = row * (spec.ny + 2 * GHOSTS)
    over = 1 if spec.dimensions == 3 else 0
    for m in range(size):
        k = walls.cell[m] // plane
        j = walls.cell[m] % plane // row
        i = walls.cell[m] % row
        mean, dx, dy, dz = 0.0, 0.0, 0.0, 0.0
        for c in range(1 + over):
            for b in range(2):
                for a in range(2):
                    value = phi_n[k + c, j + b, i + a]
                    mean += value
                    dx += value if a == 1 else -value
                    dy += value if b == 1 else -value
                    dz += (value if c == 1 else -value) * over
        mean /= 4.0 * (1 + over)
        square = dx * dx + dy * dy + dz * dz
        length = np.sqrt(square)
        push = mean / length if length > 0.0 else 0.0
        x = spec.x0 + (i - GHOSTS + 0.5) * spec.dx - push * dx
        y = spec.y0 + (j - GHOSTS + 0.5) * spec.dx - push * dy
        z = spec.z0 + (k - GHOSTS + 0.5) * spec.dx - push * dz
        b = walls.body[m]
        value = g[0] * x + g[1] * y + g[2] * z - level
        for c in range(6):
            out[b, c] += value * walls.f[m, c]
