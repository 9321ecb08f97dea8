"""Air that drags surfaces along their normals.

The force on a triangle of area A with the normal n, in a wind w, of its mean velocity v, shared by its three nodes:

    F = rho c A / 2 |u| u n,   u = (w - v).n,       in a step   F = k (n.w) n - k n n^T v^n+1,   k = rho c A / 2 |u^n|

With |u| of the start of the step and the velocity of its end, the relative velocity only falls, however long the step
is: the second part is damping, a row sqrt(dt k) n^T / 3 of each node per triangle. With all of F from the start a sheet
that is light against the air it sweeps, dt k > its mass, is thrown back and forth faster and faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from undertow.grid import Array
from undertow.soft.spread import Pattern

DENSITY = 1.2
"""Of air [kg/m3]."""


class Air:
    """Triangles (m, 3) of nodes, the wind (m, 3) [m/s] and the drag coefficient (m,) at each; none at first."""

    def __init__(self) -> None:
        self.triangles: Any = np.zeros((0, 3), dtype=np.int64)
        self.wind, self.drag = np.zeros((0, 3)), np.zeros(0)
        self._normal, self._pull = np.zeros((0, 3)), np.zeros(0)

    def add(self, triangles: Any, wind: Array, drag: float) -> None:
        """A surface (m, 3) in a wind (3,) [m/s]."""
        m = len(triangles)
        self.triangles = np.concatenate([self.triangles, triangles])
        self.wind = np.concatenate([self.wind, np.broadcast_to(wind, (m, 3))])
        self.drag = np.concatenate([self.drag, np.full(m, drag)])

    def measure(self, x: Array, v: Array) -> None:
        """n and k of a step that begins at x (n, 3) with v (n, 3)."""
        p = x[self.triangles]
        area = 0.5 * np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
        size = np.linalg.norm(area, axis=1)
        self._normal = area / np.maximum(size, 1e-300)[:, None]
        self._pull = 0.5 * DENSITY * self.drag * size * np.abs(self._across(v))

    def _across(self, v: Array) -> Array:
        return np.asarray(np.einsum("ti,ti->t", self.wind - v[self.triangles].mean(axis=1), self._normal))

    def force(self, v: Array) -> Array:
        """On all nodes (n, 3) [N] at v (n, 3), with n and k of the step."""
        found = np.zeros_like(v)
        each = (self._pull * self._across(v) / 3.0)[:, None] * self._normal
        for a in range(3):
            np.add.at(found, self.triangles[:, a], each)
        return found

    def add_damping(self, pattern: Pattern, dt: float, out: Array) -> None:
        """out (blocks, 9) += dt k n n^T / 9 of every pair of nodes of every triangle."""
        if not len(self.triangles):
            return
        block = (dt * self._pull / 9.0)[:, None, None] * (self._normal[:, :, None] * self._normal[:, None, :])
        for a in range(3):
            for b in range(3):
                np.add.at(out, pattern.find(self.triangles[:, a], self.triangles[:, b]), block.reshape(-1, 9))
