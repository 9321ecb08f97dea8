"""Drops that have left the level set, on ballistic paths, each with its own volume.

Liquid too small for the grid leaves the level set with the velocity of the fluid and its volume, flies freely, and is
taken up where it meets the liquid (after Foster and Fedkiw 2001, "Practical animation of liquids", SIGGRAPH).
"""

from __future__ import annotations

import numpy as np

from undertow.grid import OPEN, OUTFLOW, Array, Grid, Sides
from undertow.transport import sample_centred

APPROACH, MOST_PARTS = 0.4, 50
"""How near drops and solids may come to each other in a part of a step [cells], and most parts of one."""


class Spray:
    """position (n, 3) [m], velocity (n, 3) [m/s], volume (n,) [m^3] (2D: [m^2], per metre of depth)."""

    def __init__(self, grid: Grid, sides: Sides) -> None:
        self.grid = grid
        self._leaves = [kind in (OUTFLOW, OPEN) for kind in sides.kind]
        self.position = np.zeros((0, 3))
        self.velocity = np.zeros((0, 3))
        self.volume = np.zeros(0)

    @property
    def total_volume(self) -> float:
        """[m^3], in 2D per metre of depth [m^2]."""
        return float(self.volume.sum())

    def radius(self) -> Array:
        """Radii of spheres (2D: discs) of the drops' volumes [m]."""
        volume = self.volume
        return np.asarray(np.cbrt(0.75 * volume / np.pi) if self.grid.dimensions == 3 else np.sqrt(volume / np.pi))

    def add(self, position: Array, velocity: Array, volume: Array) -> None:
        """New drops (n,): places (n, 3) [m], velocities (n, 3) [m/s], volumes [m^3; 2D m^2]."""
        self.position = np.concatenate([self.position, position])
        self.velocity = np.concatenate([self.velocity, velocity])
        self.volume = np.concatenate([self.volume, volume])

    def move(
        self, dt: float, gravity: tuple[float, float, float], solid_c: Array | None = None,
        before_c: Array | None = None,
    ) -> float:  # fmt: skip
        """Free fall over dt [s], exact. Drops slide on walls and solids, and pass through none.

        solid_c, before_c: signed distance to the solids at the end and at the start of the step [m], ghosts filled; the
        latter absent: they stand still. Returns the volume that left through open sides, or was crushed between thin
        surfaces.
        """
        if not self.volume.size:
            return 0.0
        g = np.array(gravity, dtype=float)
        g[self.grid.dimensions :] = 0.0
        before = self.position.copy()
        near = np.zeros(0, dtype=np.int64)
        if solid_c is not None:
            before_c = solid_c if before_c is None else before_c
            near, steps = self._near_solids(before_c, solid_c, dt, g)
        far = np.setdiff1d(np.arange(len(self.volume)), near)
        self._fall(far, dt, g)
        if solid_c is not None and before_c is not None and near.size:
            for n in range(steps):
                self._fall(near, dt / steps, g)
                self._leave_solid(near, before_c, solid_c, (n + 1) / steps, dt)
        gone = np.zeros(len(self.volume), dtype=bool)
        for side, axis, end in self.grid.sides():
            wall = (self.grid.lower, self.grid.upper)[end][axis]
            outside = (self.position[:, axis] - wall) * (2 * end - 1) > 0.0
            if self._leaves[side]:
                gone |= outside
            else:
                self.position[outside, axis] = wall
                self.velocity[outside, axis] = 0.0
        gone |= self._meet_shells(before, dt)
        left = float(self.volume[gone].sum())
        self._keep(~gone)
        return left

    def _fall(self, chosen: np.ndarray, dt: float, g: Array) -> None:
        self.position[chosen] += dt * self.velocity[chosen] + 0.5 * dt * dt * g
        self.velocity[chosen] += dt * g

    def _near_solids(self, before_c: Array, solid_c: Array, dt: float, g: Array) -> tuple[np.ndarray, int]:
        """Drops that may meet a solid in a step dt [s], and in how many parts of it they cannot pass through any."""
        dx, x = self.grid.dx, self.position
        old, new = sample_centred(self.grid, before_c, x), sample_centred(self.grid, solid_c, x)
        way = np.linalg.norm(self.velocity + dt * g, axis=1) * dt
        near = np.flatnonzero(np.minimum(old, new) < way + dx)
        longest = float((way + np.abs(old - new))[near].max(initial=0.0))
        return near, int(min(max(np.ceil(longest / (APPROACH * dx)), 1.0), MOST_PARTS))

    def absorb(self, phi_c: Array) -> tuple[Array, Array]:
        """Take the drops that are in the liquid out; their places (m, 3) [m] and volumes (m,) [m^3]. Ghosts filled."""
        if not self.volume.size:
            return np.zeros((0, 3)), np.zeros(0)
        inside = self._sample(phi_c) <= 0.0
        taken = self.position[inside], self.volume[inside]
        self._keep(~inside)
        return taken

    def _meet_shells(self, before: Array, dt: float) -> np.ndarray:
        """Stop drops that came from ``before`` (n, 3) [m] at thin surfaces; which of them are lost (n,): none here."""
        return np.zeros(len(before), dtype=bool)

    def _sample(self, phi_c: Array) -> Array:
        """phi [m] at the drops."""
        return sample_centred(self.grid, phi_c, self.position)

    def _leave_solid(self, chosen: np.ndarray, before_c: Array, solid_c: Array, part: float, dt: float) -> None:
        """Move drops inside a solid to its surface, and let them go no slower along its normal than it does.

        The distance is that of the ``part`` of the step that is over, between those of its start and end.
        """

        def distance(x: Array) -> tuple[Array, Array]:
            old, new = sample_centred(self.grid, before_c, x), sample_centred(self.grid, solid_c, x)
            return (1.0 - part) * old + part * new, old - new

        depth, recedes = distance(self.position[chosen])
        found = depth < 0.0
        inside = chosen[found]
        if not inside.size:
            return
        x = self.position[inside]
        normal = np.zeros_like(x)
        for axis in self.grid.axes:
            step = np.zeros(3)
            step[axis] = 0.5 * self.grid.dx
            normal[:, axis] = distance(x + step)[0] - distance(x - step)[0]
        length = np.linalg.norm(normal, axis=1, keepdims=True)
        normal = np.divide(normal, length, out=np.zeros_like(normal), where=length > 0.0)
        self.position[inside] = x - depth[found, None] * normal
        speed = (self.velocity[inside] * normal).sum(axis=1, keepdims=True) - recedes[found, None] / dt
        self.velocity[inside] -= np.minimum(speed, 0.0) * normal

    def _keep(self, chosen: np.ndarray) -> None:
        if not chosen.all():
            self.position = self.position[chosen]
            self.velocity = self.velocity[chosen]
            self.volume = self.volume[chosen]

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that evolves."""
        return {
            "spray_position": self.position.copy(),
            "spray_velocity": self.velocity.copy(),
            "spray_volume": self.volume.copy(),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Continue from what ``arrays`` gave."""
        self.position = arrays["spray_position"].copy()
        self.velocity = arrays["spray_velocity"].copy()
        self.volume = arrays["spray_volume"].copy()
