"""What bodies touch in: a fluid that moves along with them, and what is known of how it answers to impulses.

Impulses J (n, 6) of contact move bodies and fluid, V = V_m + W (J - J_m), where J_m have been given and V_m are the
twists that came of it. W is not known: an estimate D of the masses of bodies with what moves along, body by body, and
what each push so far did, W P = R, give

    W x = D x + (R - D P) a,      a the combination of the pushes P that is nearest to x (in the norm of D).

W is symmetric and positive. Among the pushes that is seen to: an answer of the size of the medium's tolerance, such as
that of water shut in under a body, would else say that a push draws the body towards what it pushes off from.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from undertow.grid import Array

MEDIUM_ROUNDS = 6
"""At most so many times contact and the medium in turn, where bodies touch in one."""

MEDIUM_TOLERANCE = 1e-4
"""Changes of the impulses of contact, relative to the largest, that are not worth another round."""

INNER_ROUNDS = 10
"""At most so many contact solves with one guess of the answer."""

LEAST = 1e-2
"""W is taken for at least this part of D: what a medium holds as fast as that needs no exact impulse of contact."""

FASTEST = 1.5
"""The contact solves with one guess are damped where W is more than this many times D: they would not converge."""

DISTINCT = 1e-6
"""Combinations of pushes with a smaller part of the largest energy say nothing: answers are found to a tolerance."""

SUPPORT = 3.0
"""Contact that gave a body more than so many times its weight was an impact and is not expected again."""


class Medium(Protocol):
    """What bodies move in, such as a fluid that is solved for together with them."""

    def advance(self, expected_b: Array) -> None:
        """Momenta from n to n+1 with the bodies at their poses of n+1; impulses (n, 6) [N s, N m s] of contact that
        are expected may act as well: what does not is set to 0."""

    def mobility(self) -> tuple[Array, Array]:
        """Inverse masses (n,) [1/kg] and principal moments (n, 3) [1/(kg m2)] with what moves along with the bodies."""

    def push(self, p_b: Array, L_b: Array) -> None:
        """Impulses (n, 3) [N s] and (n, 3) [N m s] about the centres of mass act on the bodies: move them in it."""


class Answers:
    """Pushes (k, 6 n) of a step and what the medium did to the twists (k, 6 n)."""

    def __init__(self) -> None:
        self._pushes: list[Array] = []
        self._answers: list[Array] = []

    def add(self, push: Array, answer: Array) -> None:
        """Take note that impulses (n, 6) changed the twists by ``answer`` (n, 6)."""
        self._pushes.append(push.reshape(-1).copy())
        self._answers.append(answer.reshape(-1).copy())

    def beyond(self, masses: tuple[Array, Array]) -> Beyond:
        """W - D; masses: 1/m (n,) and world inverse inertias (n, 6) of D."""
        none = np.zeros((0, 6 * len(masses[0])))
        if not self._pushes:
            return Beyond(none, none, 1.0)
        pushes, answers = np.array(self._pushes), np.array(self._answers)
        shown = np.array([apply_masses(push.reshape(-1, 6), masses).reshape(-1) for push in pushes])
        energy, ways = np.linalg.eigh(pushes @ shown.T)
        told = energy > DISTINCT * energy[-1]
        if not told.any():
            return Beyond(none, none, 1.0)
        # pushes that are orthonormal in D, and W among them
        ways = (ways[:, told] / np.sqrt(energy[told])).T
        pushes, shown, answers = ways @ pushes, ways @ shown, ways @ answers
        found = pushes @ answers.T
        parts, axes = np.linalg.eigh(0.5 * (found + found.T))
        mended = (axes * np.maximum(parts, LEAST)) @ axes.T
        return Beyond(shown, answers + (mended - found).T @ shown - shown, min(1.0, FASTEST / max(parts[-1], LEAST)))


class Beyond(NamedTuple):
    """What W does beyond D, by the answers so far; damping: part of a change of impulses to take at once."""

    seen: Array
    more: Array
    damping: float

    def of(self, x: Array) -> Array:
        """(W - D) x (n, 6) [m/s, 1/s] of impulses (n, 6)."""
        return np.asarray(((self.seen @ x.reshape(-1)) @ self.more).reshape(x.shape))


def apply_masses(impulse: Array, masses: tuple[Array, Array]) -> Array:
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


def observe(push: Array, answer: Array, shown: Array, least: Array, own: Array) -> Array:
    """Inverse masses (n,) by what pushes (n, 6) did to twists, between ``least`` and ``own``; without a push ``shown``.

    What holds a body in one direction does not hold it in others.
    """
    square = np.einsum("ni,ni->n", push[:, :3], push[:, :3])
    found = np.einsum("ni,ni->n", answer[:, :3], push[:, :3]) / np.where(square > 0.0, square, 1.0)
    return np.asarray(np.where(square > 0.0, np.clip(found, np.minimum(least, own), own), shown))
