"""Contact as one-sided rows of the coupled solve: who touches, sticks and slides is found by a few passes over it.

A contact has the velocity apart of its two sides, a row along the normal and two across it, u = G w. With what acts on
the solids beside contact (weight, elasticity, the pressure of the pass before) leading to w0, impulses r of contact
obey

    u = G w0 + G N G^T r,      u_n >= least,  r_n >= 0,  one of them met;      |r_t| <= mu r_n, against the sliding

(Stewart and Trinkle 1996), solved by sweeps over the contacts. Rows whose impulse is 0 are dropped, those of contacts
that stick are held along all three directions, those that slide along the normal alone, with the impulse of friction
fixed; then fluid and solids are solved for with these rows held. A row that pulls there, or a contact that closes, is
reason for another pass, of which there are few (``linalg.active_set``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit

from undertow.coupling.solid_velocities import SolidVelocities
from undertow.grid import Array

FREE, SLIDES, STICKS = 0, 1, 2

SWEEPS = 200
"""Most sweeps over the contacts."""

SETTLED = 1e-10
"""Sweeps end when velocities change by less than this part of the largest that contact stops."""

DEPENDENT = 1e-6
"""A row depends on others when they leave less than this part of its effective inverse mass."""

SLACK = 1e-6
"""Pull, approach and friction beyond what is allowed, relative to the largest there is, that is let be."""


@dataclass
class Contacts:
    """k contacts. rows: sparse (3 k, 3 n + 6 m), the velocity apart along the normal and two tangents of each; least
    (k,) [m/s]: smallest along the normal; friction (k,). impulse (k, 3) [N s]: what they did, in their frames."""

    rows: Any
    least: Array
    friction: Array
    impulse: Array = field(init=False)

    def __post_init__(self) -> None:
        self.impulse = np.zeros((len(self.least), 3))

    @property
    def count(self) -> int:
        return len(self.least)

    def bodies(self, block: SolidVelocities) -> np.ndarray:
        """The rigid bodies that touch, by their numbers."""
        entries = np.unique(self.rows.indices[self.rows.data != 0.0])
        return np.unique(entries[entries >= 3 * block.soft.count] - 3 * block.soft.count) // 6

    def push(self, shape: tuple[int, ...]) -> Array:
        """Impulses (n + 2 m, 3) [N s, N m s] on the solids."""
        return np.asarray(self.rows.T @ self.impulse.reshape(-1)).reshape(shape)


def gather(block: SolidVelocities, parts: list[Contacts]) -> Contacts:
    """All of several lists of contacts."""
    import scipy.sparse as sparse

    width = block.inv_mass.size
    rows = sparse.vstack([sparse.csr_matrix((0, width)), *(part.rows for part in parts)], format="csr")
    return Contacts(
        rows, np.concatenate([np.zeros(0), *(part.least for part in parts)]),
        np.concatenate([np.zeros(0), *(part.friction for part in parts)]),
    )  # fmt: skip


def of_nodes(
    block: SolidVelocities, nodes: Any, weight: Array, normal: Array, body: Any, arm: Array, least: Array,
    friction: Array,
) -> Contacts:  # fmt: skip
    """Contacts of points of soft surfaces, nodes (k, j) with weights (k, j), with rigid bodies (k,), -1: none, from
    whose centre of mass the points are ``arm`` (k, 3) [m]; normals (k, 3) towards the first side."""
    import scipy.sparse as sparse

    frame = frames(normal)
    k = len(normal)
    width = 3 * nodes.shape[1]
    each = (weight[:, None, :, None] * frame[:, :, None, :]).reshape(k, 3, width)
    value = np.concatenate([each, -frame, -np.cross(arm[:, None], frame)], axis=2)
    value[:, :, width:] *= (body >= 0)[:, None, None]
    own = (3 * nodes[:, :, None] + np.arange(3)).reshape(k, width)
    other = 3 * block.soft.count + 6 * np.maximum(body, 0)[:, None] + np.arange(6)
    other = np.minimum(other, block.inv_mass.size - 1)
    column = np.broadcast_to(np.concatenate([own, other], axis=1)[:, None, :], value.shape)
    return Contacts(_sparse(block, value, column, sparse), least, friction)


def _sparse(block: SolidVelocities, value: Array, column: Any, sparse: Any) -> Any:
    """Rows (3 k, 3 n + 6 m) from values and columns (k, 3, j)."""
    k, _, j = value.shape
    row = np.repeat(np.arange(3 * k), j)
    return sparse.csr_matrix((value.reshape(-1), (row, column.reshape(-1))), shape=(3 * k, block.inv_mass.size))


def frames(normal: Array) -> Array:
    """Frames (k, 3, 3) of a normal and two tangents; the last is along z where the normal is in the plane."""
    along = np.where((np.abs(normal[:, 2]) < 0.9)[:, None], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0])
    second = np.cross(along, normal)
    second /= np.linalg.norm(second, axis=1)[:, None]
    return np.stack([normal, second, np.cross(normal, second)], axis=1)


class ContactRows:
    """The contacts of a step and which of their rows are held; G N G^T is formed once per step."""

    def __init__(self, block: SolidVelocities, contacts: Contacts) -> None:
        self.block, self.contacts = block, contacts
        self.rows, self._across, self._gram = block.answer_of(contacts.rows)
        self.state = np.zeros(contacts.count, np.int64)
        self.held = np.zeros(0, np.int64)
        """Rows that are held."""
        self._impulse = np.zeros((contacts.count, 3))

    def choose(self, w0: Array) -> None:
        """Who touches, slides and sticks if all else leads to w0 (n + 2 m, 3); the rows are held from now on."""
        contacts = self.contacts
        rate = np.asarray(contacts.rows @ w0.reshape(-1)).reshape(-1, 3)
        j = self._impulse
        _sweep_contacts(self._gram, rate, contacts.least, contacts.friction, SWEEPS, SETTLED, j)
        shear = np.linalg.norm(j[:, 1:], axis=1)
        sticks = shear < (1.0 - 1e-9) * contacts.friction * j[:, 0]
        self.state = np.where(j[:, 0] <= 0.0, FREE, np.where(sticks, STICKS, SLIDES))
        chosen = np.zeros((contacts.count, 3), dtype=bool)
        chosen[:, 0] = self.state > FREE
        chosen[:, 1:] = (self.state == STICKS)[:, None]
        wanted_rows = np.flatnonzero(chosen.reshape(-1) & (np.diagonal(self._gram) > 0.0))
        # normals before tangents, strong ones first
        strength = np.repeat(j[:, 0], 3)[wanted_rows]
        order = np.lexsort((wanted_rows, -strength, wanted_rows % 3 > 0))
        self.held = np.sort(_independent(self._gram, wanted_rows[order]))
        self.block.hold(
            contacts.rows[self.held], self.rows[self.held], self._across[:, self.held],
            self._gram[np.ix_(self.held, self.held)],
        )  # fmt: skip
        wanted = np.zeros((contacts.count, 3))
        wanted[:, 0] = contacts.least
        self.wanted = wanted.reshape(-1)[self.held]

    def friction_push(self) -> Array:
        """Impulses (n + 2 m, 3) of the friction of contacts that slide."""
        rub = np.where((self.state == SLIDES)[:, None], self._impulse, 0.0)
        rub[:, 0] = 0.0
        return np.asarray(self.contacts.rows.T @ rub.reshape(-1)).reshape(self.block.shape)

    def accept(self, w0: Array, w: Array) -> bool:
        """Impulses of the rows, all else leading to w0 (n + 2 m, 3) with friction in it and to w with the rows held;
        whether none pulls, nothing closes, and none that sticks rubs more than it may."""
        contacts = self.contacts
        j = np.where((self.state == SLIDES)[:, None], self._impulse, 0.0)
        j[:, 0] = 0.0
        flat = j.reshape(-1)
        flat[self.held] = self.block.held_impulse(self.wanted, w0)
        contacts.impulse[...] = j
        largest = float(np.abs(j).max(initial=0.0))
        rate = np.asarray(contacts.rows @ w.reshape(-1)).reshape(-1, 3)[:, 0]
        before = np.asarray(contacts.rows @ w0.reshape(-1)).reshape(-1, 3)
        slack = SLACK * float(np.abs(before).max(initial=0.0))
        pulls = j[:, 0] < -SLACK * largest
        closes = rate < contacts.least - slack
        shear = np.linalg.norm(j[:, 1:], axis=1)
        slips = (self.state == STICKS) & (shear > contacts.friction * j[:, 0] + 1e-3 * largest)
        self._impulse = np.where(j[:, :1] > 0.0, j, 0.0)
        return not bool((pulls | closes | slips).any())


def _independent(gram: Array, rows: Any) -> Any:
    """The first of some rows that do not depend on those before them: Cholesky's factorisation of G N G^T without the
    rows whose pivot is nothing. Many stencils of two surfaces that lie on each other say the same."""
    own = np.sqrt(np.diagonal(gram)[rows])
    rest = gram[np.ix_(rows, rows)] / (own[:, None] * own)
    kept = []
    for i in range(len(rows)):
        if rest[i, i] < DEPENDENT:
            continue
        kept.append(i)
        column = rest[i:, i] / np.sqrt(rest[i, i])
        rest[i:, i:] -= column[:, None] * column
    return rows[kept]


@njit(cache=True)
def _sweep_contacts(gram, rate, least, friction, sweeps, tolerance, impulse):  # type: ignore[no-untyped-def]
    """Impulses (k, 3) from where they are, by projected Gauss-Seidel sweeps; returns how many."""
    count = len(least)
    speed = 0.0
    for i in range(count):
        speed = max(speed, abs(rate[i, 0] - least[i]), abs(rate[i, 1]), abs(rate[i, 2]))
    for sweep in range(sweeps):
        change = 0.0
        for i in range(count):
            for c in range(3):
                row = 3 * i + c
                own = gram[row, row]
                if own <= 0.0:
                    continue
                u = rate[i, c]
                for j in range(count):
                    u += gram[row, 3 * j] * impulse[j, 0]
                    u += gram[row, 3 * j + 1] * impulse[j, 1]
                    u += gram[row, 3 * j + 2] * impulse[j, 2]
                old = impulse[i, c]
                if c == 0:
                    impulse[i, 0] = max(0.0, old - (u - least[i]) / own)
                else:
                    impulse[i, c] = old - u / own
                    if c == 2 or gram[row + 1, row + 1] <= 0.0:
                        size = np.sqrt(impulse[i, 1] ** 2 + impulse[i, 2] ** 2)
                        most = friction[i] * impulse[i, 0]
                        if size > most:
                            impulse[i, 1] *= most / size
                            impulse[i, 2] *= most / size
                change = max(change, abs(impulse[i, c] - old) * own)
        if change <= tolerance * speed:
            return sweep + 1
    return sweeps
