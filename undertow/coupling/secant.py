"""Secant (quasi-Newton) update of how bodies in a fluid answer to impulses of contact.

Impulses J (n, 6) move bodies and fluid, V = V_m + W (J - J_m), where J_m have been given and V_m are the twists that
came of it. The mobility W is not known: an estimate D, body by body, and what each impulse so far did, W P = R, give

    W x = D x + (R - D P) a,      a the combination of the impulses P that is nearest to x (in the norm of D).

W is symmetric and positive. Among the impulses that is seen to: a change of the size of the solve's tolerance, such as
that of water shut in under a body, would else say that an impulse draws the body towards what it is pushed off from.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from undertow.grid import Array

LEAST_MOBILITY = 1e-2
"""W is taken for at least this part of D: what a fluid holds as fast as that needs no exact impulse of contact."""

FASTEST = 1.5
"""Contact solves with one W are damped where it is more than this many times D: they would not converge."""

DISTINCT = 1e-6
"""Combinations of impulses with a smaller part of the largest energy say nothing: changes are found to a tolerance."""


class SecantUpdate:
    """Impulses (k, 6 n) of a step and what the fluid let them do to the twists (k, 6 n)."""

    def __init__(self) -> None:
        self._impulses: list[Array] = []
        self._changes: list[Array] = []

    def add(self, impulse: Array, change: Array) -> None:
        """Take note that impulses (n, 6) changed the twists by ``change`` (n, 6)."""
        self._impulses.append(impulse.reshape(-1).copy())
        self._changes.append(change.reshape(-1).copy())

    def correction(self, masses: tuple[Array, Array]) -> SecantCorrection:
        """W - D; masses: 1/m (n,) and world inverse inertias (n, 6) of D."""
        none = np.zeros((0, 6 * len(masses[0])))
        if not self._impulses:
            return SecantCorrection(none, none, 1.0)
        impulses, changes = np.array(self._impulses), np.array(self._changes)
        estimated = np.array([apply_mobility(one.reshape(-1, 6), masses).reshape(-1) for one in impulses])
        energy, basis = np.linalg.eigh(impulses @ estimated.T)
        known = energy > DISTINCT * energy[-1]
        if not known.any():
            return SecantCorrection(none, none, 1.0)
        # impulses that are orthonormal in D, and W among them
        basis = (basis[:, known] / np.sqrt(energy[known])).T
        impulses, estimated, changes = basis @ impulses, basis @ estimated, basis @ changes
        found = impulses @ changes.T
        values, axes = np.linalg.eigh(0.5 * (found + found.T))
        positive = (axes * np.maximum(values, LEAST_MOBILITY)) @ axes.T
        more = changes + (positive - found).T @ estimated - estimated
        return SecantCorrection(estimated, more, min(1.0, FASTEST / max(values[-1], LEAST_MOBILITY)))


class SecantCorrection(NamedTuple):
    """W - D by the impulses so far; damping: part of a change of impulses to take at once."""

    seen: Array
    more: Array
    damping: float

    def of(self, x: Array) -> Array:
        """(W - D) x (n, 6) [m/s, 1/s] of impulses (n, 6)."""
        return np.asarray(((self.seen @ x.reshape(-1)) @ self.more).reshape(x.shape))


def apply_mobility(impulse: Array, masses: tuple[Array, Array]) -> Array:
    """Twists (n, 6) that impulses (n, 6) give to inverse masses (n,) and world inverse inertias (n, 6: xx to yz)."""
    inv_mass, packed = masses
    x, y, z = impulse[:, 3], impulse[:, 4], impulse[:, 5]
    xx, yy, zz, xy, xz, yz = packed.T
    out = np.empty_like(impulse)
    out[:, :3] = inv_mass[:, None] * impulse[:, :3]
    out[:, 3] = xx * x + xy * y + xz * z
    out[:, 4] = xy * x + yy * y + yz * z
    out[:, 5] = xz * x + yz * y + zz * z
    return out


def observed_mobility(impulse: Array, change: Array, before: Array, least: Array, own: Array) -> Array:
    """Inverse masses (n,) by what impulses (n, 6) did to twists, between ``least`` and ``own``; ``before`` where there
    was none.

    What holds a body in one direction does not hold it in others.
    """
    square = np.einsum("ni,ni->n", impulse[:, :3], impulse[:, :3])
    found = np.einsum("ni,ni->n", change[:, :3], impulse[:, :3]) / np.where(square > 0.0, square, 1.0)
    return np.asarray(np.where(square > 0.0, np.clip(found, np.minimum(least, own), own), before))
