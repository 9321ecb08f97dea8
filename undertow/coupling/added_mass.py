"""The preconditioner of the coupled pressure: a multigrid cycle for the fluid, corrected for bodies lighter than it.

With B one cycle for A0 (bodies at rest) and N = M^-1, the inverse of A0 + F N F^T is approximated by the formula of
Sherman, Morrison and Woodbury,

    B - (B F) C (B F)^T,      C = (I + N S)^-1 N = (M + S)^-1,      S = F^T B F.

S approximates the added mass of the bodies, so C is bounded however light they are, and N may be singular (bodies that
are held, or joined). One column of B F costs a cycle: columns are formed only for bodies whose added mass matters.
"""

from __future__ import annotations

import numpy as np

from undertow.coupling.rows import CoupledRows, block_diagonal
from undertow.grid import Array
from undertow.linalg import DenseBlock, Multigrid

LIGHT = 2.0
"""Columns count when the inverse mass times F^2 is this many times that of the displaced fluid in translation."""

MOST_BYTES = 1.0e9
"""Of stored columns; bodies beyond it are left to the iteration, heaviest first."""


class AddedMass:
    """Preconditioner named in the head of the module; ``setup`` after every change of geometry or mass."""

    def __init__(self, multigrid: Multigrid, rows: CoupledRows, block: DenseBlock, displaced_b: Array) -> None:
        self.multigrid, self.rows, self.block = multigrid, rows, block
        self.displaced_b = displaced_b
        """Mass of the fluid that each body displaces (n,) [kg]; 0 for bodies that are not dynamic."""
        self.whole_bodies = False
        """A body's masses couple all components of its twist: they have columns together or not at all."""
        self.chosen = np.zeros(0, dtype=np.int64)
        """Entries of the flat twists (n 6,) that have a column."""
        self.correction = np.zeros((0, 0))
        self._columns = np.zeros((0, *rows.shape))
        self._force = np.zeros((rows.bodies.count, 6))
        self._source = np.zeros(rows.shape)

    def setup(self) -> None:
        """Columns and correction for the walls and masses of now."""
        count = self.rows.bodies.count
        inverse = self.block.inv_mass
        whole = inverse[0] if inverse.shape[1] == 6 * count else block_diagonal(inverse)
        self.chosen = self._choose(np.diagonal(whole).reshape(count, 6))
        m = len(self.chosen)
        if m == 0:
            self.correction = np.zeros((0, 0))
            return
        if m > len(self._columns):
            self._columns = np.zeros((m, *self.rows.shape))
        unit = np.zeros((count, 6))
        added = np.zeros((m, m))
        for column, entry in enumerate(self.chosen):
            unit.reshape(-1)[entry] = 1.0
            self._source[...] = 0.0
            self.rows.walls.add_flux(1.0, unit, self._source)
            unit.reshape(-1)[entry] = 0.0
            self.multigrid.apply(self._source, self._columns[column])
            added[:, column] = self._forces_on(self._columns[column])
        added = 0.5 * (added + added.T)
        mobility = whole[np.ix_(self.chosen, self.chosen)]
        correction = np.linalg.solve(np.eye(m) + mobility @ added, mobility)
        self.correction = 0.5 * (correction + correction.T)

    def _choose(self, mobility_b: Array) -> np.ndarray:
        """Twist components with a column: those of bodies that the fluid moves more than their own mass holds them."""
        walls = self.rows.walls
        square = np.zeros((self.rows.bodies.count, 6))
        np.add.at(square, walls.spec.body[: walls.size], walls.spec.f[: walls.size] ** 2)
        reference = square[:, :3].max(axis=1) / np.maximum(self.displaced_b, 1e-300)
        strength = square * mobility_b
        light = (strength > LIGHT * reference[:, None]) & (strength > 0.0)
        # turning about an axis goes with turning about the others: the inertia couples them
        light[:, 3:] = light[:, 3:].any(axis=1)[:, None] & (mobility_b[:, 3:] > 0.0) & (square[:, 3:] > 0.0)
        if self.whole_bodies:
            light = light.any(axis=1)[:, None] & (mobility_b > 0.0)
        if len(self.block.inv_mass) == 1 and light.any():
            # joined bodies answer together
            light = mobility_b > 0.0
        found = np.flatnonzero(light.reshape(-1))
        most = int(MOST_BYTES / (8 * self._source.size))
        if len(found) > most and len(self.block.inv_mass) == 1:
            return found[:0]
        if len(found) > most:
            relative = (strength / np.maximum(reference, 1e-300)[:, None]).reshape(-1)[found]
            found = np.sort(found[np.argsort(-relative, kind="stable")[:most]])
        return found

    def _forces_on(self, p_c: Array) -> Array:
        """F^T p of the chosen twist components."""
        self._force[...] = 0.0
        self.rows.walls.add_force(1.0, p_c, self._force)
        return np.asarray(self._force.reshape(-1)[self.chosen])

    def apply(self, x: Array, out: Array) -> None:
        """out = B x - (B F) C (B F)^T x"""
        self.multigrid.apply(x, out)
        if len(self.chosen):
            self._subtract(self.correction @ self._forces_on(out), out)

    def start(self, impulse_b: Array, z_c: Array) -> Array:
        """Improve the guess z [Pa s] for bodies that impulses J (n, 6) [N s] act on beside it: z -= B F c.

        Returns the change of the chosen twist components, M^-1 (J + F^T z) with the z returned: that is c = C (J + F^T
        z) with the z given, without the cancellation.
        """
        change = self.correction @ (self._forces_on(z_c) + impulse_b.reshape(-1)[self.chosen])
        self._subtract(change, z_c)
        return np.asarray(change)

    def _subtract(self, amount: Array, out: Array) -> None:
        flat = out.reshape(-1)
        for value, column in zip(amount, self._columns, strict=False):
            np.multiply(column, value, out=self._source)
            flat -= self._source.reshape(-1)
