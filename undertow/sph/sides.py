"""The sides of the domain as boundary particles: two layers of the fluid's own lattice beyond every wall.

A fluid at rest against a wall then has the lattice sums of a fluid without end. Velocity and slip of a wall go with its
particles; non-penetration is direct forcing, see ``dynamics``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.grid import Array
from undertow.sph.kernels import SUPPORT

WALL, OPEN, PERIODIC = 0, 1, 2
LAYERS = 2
"""Of boundary particles beyond a wall: the kernel of a particle half a spacing inside reaches no farther."""


@dataclass(frozen=True)
class SphBox:
    """The domain: lower and upper corner (3,) [m], in 2D from -dx/2 to dx/2 along z; spacing [m] of the particles.

    kind (6,): WALL, OPEN or PERIODIC of x_low, x_high, y_low ...; stick (6,): 1 where viscous fluid sticks; velocity
    (6, 3) [m/s] of the walls in their planes.
    """

    lower: Array
    upper: Array
    spacing: float
    dimensions: int
    kind: tuple[int, ...] = (0, 0, 0, 0, 0, 0)
    stick: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    velocity: Array = field(default_factory=lambda: np.zeros((6, 3)))

    def __post_init__(self) -> None:
        for axis in range(self.dimensions):
            if (self.kind[2 * axis] == PERIODIC) != (self.kind[2 * axis + 1] == PERIODIC):
                raise UserError(f"sides along {'xyz'[axis]}: one is periodic, the other is not; make both periodic")
            if self.period[axis] > 0 and self.counts[axis] < 4 * SUPPORT[self.dimensions]:
                raise UserError(
                    f"domain: {self.counts[axis]} particles along {'xyz'[axis]}, which is periodic: needs at least "
                    f"{int(4 * SUPPORT[self.dimensions]) + 1}; make the domain longer or raise the resolution"
                )

    @property
    def counts(self) -> tuple[int, ...]:
        """Spacings along x, y and z."""
        return tuple(round((b - a) / self.spacing) for a, b in zip(self.lower, self.upper, strict=True))

    @property
    def period(self) -> Array:
        """Length along each axis that is periodic, else 0 (3,) [m]."""
        periodic = [self.kind[2 * axis] == PERIODIC and axis < self.dimensions for axis in range(3)]
        return np.where(periodic, np.asarray(self.upper) - np.asarray(self.lower), 0.0)

    def margin(self) -> float:
        """How far beyond the sides there are points [m]."""
        return 2.0 * (SUPPORT[self.dimensions] + 1.0) * self.spacing

    def room(self) -> tuple[Array, Array]:
        """Lowest and highest coordinates (3,) [m] of centres of particles, infinite where there is no wall."""
        low, high = np.full(3, -np.inf), np.full(3, np.inf)
        for axis in range(self.dimensions):
            if self.kind[2 * axis] == WALL:
                low[axis] = self.lower[axis] + 0.5 * self.spacing
            if self.kind[2 * axis + 1] == WALL:
                high[axis] = self.upper[axis] - 0.5 * self.spacing
        return low, high

    def boundary(self) -> tuple[Array, Any]:
        """Positions (n, 3) [m] of the boundary particles of the walls, and the side (n,) each belongs to."""
        axes = []
        for axis in range(3):
            n = self.counts[axis] if axis < self.dimensions else 1
            # walls reach beyond periodic sides as far as a kernel, and end at open ones
            beyond = {WALL: LAYERS, OPEN: 0, PERIODIC: int(SUPPORT[self.dimensions]) + 1}
            lo, hi = (beyond[self.kind[2 * axis + end]] if axis < self.dimensions else 0 for end in (0, 1))
            axes.append(np.arange(-lo, n + hi))
        index = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
        side = np.full(len(index), -1)
        deepest = np.zeros(len(index), dtype=np.int64)
        for s in range(2 * self.dimensions):
            axis = s // 2
            depth = -index[:, axis] if s % 2 == 0 else index[:, axis] - self.counts[axis] + 1
            if self.kind[s] == WALL:
                better = depth > deepest
                side[better], deepest[better] = s, depth[better]
        inside = side >= 0
        position = np.asarray(self.lower) + (index[inside] + 0.5) * self.spacing
        if self.dimensions == 2:
            position[:, 2] = 0.0
        return position, side[inside]

    def lattice(self) -> Array:
        """Positions (n, 3) [m] of the particles that would fill the domain."""
        axes = [lo + (np.arange(n) + 0.5) * self.spacing for lo, n in zip(self.lower, self.counts, strict=True)]
        if self.dimensions == 2:
            axes[2] = np.zeros(1)
        zz, yy, xx = np.meshgrid(axes[2], axes[1], axes[0], indexing="ij")
        return np.column_stack([xx.ravel(), yy.ravel(), zz.ravel()])
