"""What bodies touch in: a fluid that moves along with them, and what is known of how it answers to impulses.

Impulses J (n, 6) of contact move bodies and fluid, V = V_m + W (J - J_m), where J_m have been given and V_m are the
twists that came of it. W is not known: an estimate D of the masses of bodies with what moves along, body by body, and
what each push so far did, W P = R, give

    W x = D x + (R - D P) a,      a the combination of the pushes P that is nearest to x (in the norm of D).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from undertow.grid import Array

MEDIUM_ROUNDS = 6
"""At most so many times contact and the medium in turn, where bodies touch in one."""

MEDIUM_TOLERANCE = 1e-4
"""Changes of the impulses of contact, relative to the largest, that are not worth another round."""

INNER_ROUNDS = 10
"""At most so many contact solves with one guess of the answer."""

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

    def beyond(self, x: Array, masses: tuple[Array, Array]) -> Array:
        """(W - D) x (n, 6) [m/s, 1/s] of impulses (n, 6); masses: 1/m (n,) and world inverse inertias (n, 6) of D."""
        if not self._pushes:
            return np.zeros_like(x)
        pushes, answers = np.array(self._pushes), np.array(self._answers)
        shown = np.array([apply_masses(push.reshape(x.shape), masses).reshape(-1) for push in pushes])
        a = np.linalg.lstsq(pushes @ shown.T, shown @ x.reshape(-1), rcond=1e-10)[0]
        return np.asarray((a @ (answers - shown)).reshape(x.shape))


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


def observe(push: Array, answer: Array, shown: Array, own: Array) -> Array:
    """Inverse masses (n,) by what pushes (n, 6) did to twists, between a quarter of ``shown`` and ``own``."""
    square = np.einsum("ni,ni->n", push[:, :3], push[:, :3])
    found = np.einsum("ni,ni->n", answer[:, :3], push[:, :3]) / np.where(square > 0.0, square, 1.0)
    return np.asarray(np.where(square > 0.0, np.clip(found, np.minimum(0.25 * shown, own), own), shown))
