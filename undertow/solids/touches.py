"""Which soft surfaces touch in a step, as rows of its implicit solve."""

from __future__ import annotations

import numpy as np

from undertow.grid import Array
from undertow.soft import SoftBodies
from undertow.soft.collision import SurfaceCollisions
from undertow.soft.implicit import Joined
from undertow.soft.touching import STIFF, Touching, effective_mass

LOOKS = 10
"""Most times in a step that surfaces are looked at for new contacts; what is found later is left to the sweeps."""


class Touches:
    """The contacts among soft surfaces in the step of now.

    Those that are near, or meet on the way that the first guess leads, are rows from the start; those that meet on the
    way an iteration has found are added to them, none is taken away: a row that does not press does nothing.
    """

    def __init__(self, soft: SoftBodies, surfaces: SurfaceCollisions | None) -> None:
        self.soft, self.surfaces = soft, surfaces
        self.rows = Touching()
        self._keys = np.zeros((0, 5), dtype=np.int64)
        self._looked, self._dt = 0, 1.0
        blocks = soft.forces.make_matrix()
        soft.forces.assemble(soft.rest, 1.0, 0.0, blocks)
        self._stiffness = np.asarray(blocks[soft.forces.pattern.diagonal][:, ::4].mean(axis=1))
        """Stiffness of every node alone at rest (n,) [N/m]."""

    def begin(self, dt: float, creep: float) -> Touching:
        """No rows yet, for a step of dt [s]."""
        self.rows = Touching(creep=creep)
        self._keys, self._looked, self._dt = self._keys[:0], 0, dt
        return self.rows

    def look(self, v: Array) -> int:
        """Rows for what would meet on the way with v (n, 3); how many are new."""
        if self.surfaces is None or self._looked >= LOOKS:
            return 0
        self._looked += 1
        dt, x = self._dt, self.soft.x
        found = self.surfaces.meeting(x, dt * v)
        keys = np.concatenate([self._keys, np.concatenate([found.edges[:, None], found.nodes], axis=1)])
        _, first = np.unique(keys, axis=0, return_index=True)
        new = np.sort(first[first >= len(self._keys)])
        if not len(new):
            return 0
        self._keys = keys[np.concatenate([np.arange(len(self._keys)), new])]
        part = found.take(new - (len(keys) - len(found.nodes)))
        apart = np.einsum("ma,mai,mi->m", part.weight, x[part.nodes], part.normal)
        mass = np.where(self.soft.inv_mass > 0, self.soft.mass + dt * dt * self._stiffness, np.inf)
        stiff = STIFF * np.minimum(effective_mass(part.weight, mass[part.nodes]), 1e300)
        free = (self.soft.inv_mass[part.nodes] > 0).any(axis=1)
        wanted = (part.thickness - apart) / dt
        self.rows.add(part.nodes, part.weight, part.normal, wanted, np.where(free, stiff, 0.0), part.friction)
        return len(new)

    def rub(self, v: Array, w: Array, scale: float) -> bool:
        """Friction of the impulses at v (n, 3) and w (b, 6) from now on; whether it has changed by more than a
        hundredth and scale [N s]."""
        rows = self.rows
        rub = rows.mu * rows.press(v, w)
        changed = bool((np.abs(rub - rows.rub) > 1e-2 * rub + scale).any())
        rows.rub = rub
        return changed

    def joined(self, v: Array, w: Array) -> Joined:
        """What presses on each other at v (n, 3) and w (b, 6)."""
        rows = self.rows
        chosen = (rows.press(v, w) > 0) & (rows.body < 0)
        return Joined(rows.nodes[chosen], rows.weight[chosen], rows.normal[chosen])
