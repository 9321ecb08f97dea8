"""Contacts of soft surfaces inside the implicit step: one-sided rows on the velocities of the step.

A stencil of four nodes with weights of sum 0 (a node against a triangle, an edge against an edge), or of three nodes
against a point of a rigid body, has the relative velocity

    u = sum w_a v_a + point,      wanted: (thickness - n . sum w_a x_a) / dt,  so that the step ends a thickness apart

and adds to the incremental potential of the step, which the implicit solve makes smallest,

    stiff / 2 max(0, wanted - n . u)^2   +   rub f(|u - n n . u|),    rub = mu times the normal impulse found before

The first is a layer of springs, ``STIFF`` times as stiff as what is behind it: what it stores in one step it gives back
in the next, so that elastic, kinetic and potential energy together do not rise. Impulses after the solve have no such
bound: they stop a node where the elements behind it go on, and crush these by dt^2 K |u|^2 / 2 while the velocity
loses m |u|^2 / 2 (record 045). The second derivative is a sum of w_a w_b D over stencils, D 3x3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit

from undertow.grid import Array
from undertow.soft.gradients import Contacts

STIFF = 30.0
"""Stiffness of a contact in parts of the mass and dt^2 K of the nodes it is between."""


@njit(cache=True, nogil=True)
def _add_stencils(nodes, weight, block, x, own, out, out_push):  # type: ignore[no-untyped-def]
    """out_a += w_a D (sum w_b x_b + own) over stencils, one after another; out_push (m, 3) = D (...)."""
    for m in range(len(nodes)):
        u0, u1, u2 = own[m, 0], own[m, 1], own[m, 2]
        for a in range(4):
            w, j = weight[m, a], nodes[m, a]
            u0 += w * x[j, 0]
            u1 += w * x[j, 1]
            u2 += w * x[j, 2]
        D = block[m]
        f0 = D[0] * u0 + D[1] * u1 + D[2] * u2
        f1 = D[3] * u0 + D[4] * u1 + D[5] * u2
        f2 = D[6] * u0 + D[7] * u1 + D[8] * u2
        out_push[m, 0], out_push[m, 1], out_push[m, 2] = f0, f1, f2
        for a in range(4):
            w, j = weight[m, a], nodes[m, a]
            out[j, 0] += w * f0
            out[j, 1] += w * f1
            out[j, 2] += w * f2


def _ids() -> Any:
    return np.zeros((0, 4), dtype=np.int64)


def _none(*shape: int) -> Any:
    return field(default_factory=lambda: np.zeros(shape))


@dataclass
class Touching:
    """Rows: nodes (m, 4), weight (m, 4), normal (m, 3), wanted (m,) [m/s], stiff (m,) [kg], mu (m,), rub (m,) [N s].

    body (m,): the carrier of the point of a rigid body, -1: none; arm (m, 3) [m]: where the point is from its centre;
    base (m, 3) [m/s]: velocity of the point without a carrier, 0 for stencils of nodes alone. creep [m/s]: speed below
    which friction is rounded.
    """

    nodes: Any = field(default_factory=_ids)
    weight: Array = _none(0, 4)
    normal: Array = _none(0, 3)
    wanted: Array = _none(0)
    stiff: Array = _none(0)
    mu: Array = _none(0)
    rub: Array = _none(0)
    body: Any = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    arm: Array = _none(0, 3)
    base: Array = _none(0, 3)
    creep: float = 1e-6
    block: Array = _none(0, 9)
    """Second derivative D by the relative velocity (m, 9), of the last ``linearise``."""
    slow: Any = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """Which rows (m,) slid no faster than ``creep`` then."""
    jumps: Any = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """Rows (m,) whose friction is a parabola in ``linearise``."""
    pressed: Any = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """Rows (m,) that pressed in the last ``linearise``."""

    @property
    def count(self) -> int:
        return len(self.nodes)

    def add(
        self, nodes: Any, weight: Array, normal: Array, wanted: Array, stiff: Array, mu: Array,
        body: Any = None, arm: Array | None = None, base: Array | None = None,
    ) -> None:  # fmt: skip
        """More rows, at rest so far."""
        m = len(nodes)
        none = np.zeros((m, 3))
        more = (
            nodes, weight, normal, wanted, stiff, mu, np.zeros(m), np.full(m, -1) if body is None else body,
            none if arm is None else arm, none if base is None else base, np.zeros((m, 9)),
            np.zeros(m, dtype=bool), np.zeros(m, dtype=bool), np.zeros(m, dtype=bool),
        )  # fmt: skip
        names = (
            "nodes", "weight", "normal", "wanted", "stiff", "mu", "rub", "body", "arm", "base", "block", "slow",
            "jumps", "pressed",
        )  # fmt: skip
        for name, array in zip(names, more, strict=True):
            setattr(self, name, np.ascontiguousarray(np.concatenate([getattr(self, name), array])))

    def by_node(self, count: int) -> Contacts:
        """The rows by the nodes 0 ... count that they touch, in their order: what several threads can add up."""
        row, a = np.nonzero(self.weight)
        nodes = self.nodes[row, a]
        order = np.argsort(nodes, kind="stable")
        starts = np.searchsorted(nodes[order], np.arange(count + 1))
        return Contacts(self.nodes, self.weight, self.block, starts, row[order], self.weight[row, a][order])

    def relative(self, v: Array, w: Array) -> Array:
        """Relative velocities u (m, 3) for nodes with v (n, 3) and carriers with w (b, 6)."""
        return np.asarray(np.einsum("ma,mai->mi", self.weight, v[self.nodes]) + self.base + self._points(w))

    def _points(self, w: Array) -> Array:
        """Velocities (m, 3) of the points that carriers with w (b, 6) move; carriers that are not given stand still."""
        found, led = np.zeros((self.count, 3)), (self.body >= 0) & (self.body < len(w))
        if not led.any():
            return found
        twist = w[self.body[led]]
        found[led] = twist[:, :3] + np.cross(twist[:, 3:], self.arm[led])
        return found

    def press(self, v: Array, w: Array) -> Array:
        """Normal impulses (m,) [N s]."""
        along = np.einsum("mi,mi->m", self.relative(v, w), self.normal)
        return np.asarray(self.stiff * np.maximum(self.wanted - along, 0.0))

    def impulse(self, v: Array, w: Array) -> Array:
        """Impulses (m, 3) [N s] that part what touches: nodes get their weights of it, points all of it."""
        u = self.relative(v, w)
        along = np.einsum("mi,mi->m", u, self.normal)
        slide = u - along[:, None] * self.normal
        size = np.maximum(np.linalg.norm(slide, axis=1), self.creep)
        press = self.stiff * np.maximum(self.wanted - along, 0.0)
        return np.asarray(press[:, None] * self.normal - (self.rub / size)[:, None] * slide)

    def add_gradient(self, v: Array, w: Array, free: Array, gradient: Array, push: Array) -> float:
        """The potential; its gradient is added for nodes (n, 3) and carriers (b, 6), these where ``free``."""
        if not self.count:
            return 0.0
        u = self.relative(v, w)
        along = np.einsum("mi,mi->m", u, self.normal)
        size = np.linalg.norm(u - along[:, None] * self.normal, axis=1)
        lack = np.maximum(self.wanted - along, 0.0)
        rounded = np.where(size < self.creep, 0.5 * size**2 / self.creep + 0.5 * self.creep, size)
        impulse = self.impulse(v, w)
        one = np.zeros((self.count, 9))
        one[:, ::4] = -1.0
        work = np.zeros_like(impulse)
        # - I (sum of nothing + impulse), spread by the weights
        _add_stencils(self.nodes, self.weight, one, np.zeros_like(v), impulse, gradient, work)
        self._collect(-impulse, free, push)
        return float(0.5 * (self.stiff * lack**2).sum() + (self.rub * rounded).sum())

    def _collect(self, f: Array, free: Array, out: Array) -> None:
        """out (b, 6) += impulses f (m, 3) at the points of the carriers."""
        led = (self.body >= 0) & (self.body < len(out))
        if not led.any():
            return
        b, f = self.body[led], f[led]
        part = np.concatenate([f, np.cross(self.arm[led], f)], axis=1) * free[b]
        np.add.at(out, b, part)

    def linearise(self, v: Array, w: Array, careful: bool = True) -> None:
        """D of every row at v and w; for friction the parabola that touches its potential and lies above it.

        Along a slide friction has no second derivative. The parabola has rub / |u|, and lets what begins to slide speed
        up by the ratio of what drives it to its friction and no more in a solve. Without ``careful`` it is for the rows
        alone that ``turn_back`` found to jump over the kink at rest: for few solves.
        """
        u = self.relative(v, w)
        n = self.normal
        along = np.einsum("mi,mi->m", u, n)
        slide = u - along[:, None] * n
        size = np.linalg.norm(slide, axis=1)
        self.slow = size <= self.creep
        bound = self.slow | self.jumps | careful
        t = np.where(bound, 0.0, 1.0 / np.maximum(size, 1e-300))[:, None] * slide
        active, nn = along < self.wanted, n[:, :, None] * n[:, None, :]
        self.pressed = active
        rub = (self.rub / np.maximum(size, self.creep))[:, None, None]
        stiff = np.where(active, self.stiff, 0.0)[:, None, None]
        self.block[...] = (stiff * nn + rub * (np.eye(3) - nn - t[:, :, None] * t[:, None, :])).reshape(-1, 9)

    def lead(self, v: Array, w: Array, press: Array) -> None:
        """Change v (n, 3) of the nodes of the first rows (k,), which have one each, such that these press with at least
        ``press`` (k,) [N s], carriers moving with w (b, 6)."""
        k = len(press)
        along = np.einsum("mi,mi->m", self.relative(v, w), self.normal)[:k]
        stiff = self.stiff[:k]
        short = self.wanted[:k] - along - press / np.maximum(stiff, 1e-300)
        short = np.where(stiff > 0.0, np.maximum(short, 0.0), 0.0)
        v[self.nodes[:k, 0]] += (short / self.weight[:k, 0])[:, None] * self.normal[:k]

    def turn_back(self, v: Array, w: Array, change: Array, turn: Array) -> None:
        """Remember the rows whose slide at v and w a change of these would turn round."""
        if not self.count:
            return
        n, before, after = self.normal, self.relative(v, w), self.relative(v + change, w + turn)
        before = before - np.einsum("mi,mi->m", before, n)[:, None] * n
        self.jumps |= np.einsum("mi,mi->m", before, after) < 0.0

    def begins_to_slide(self, v: Array, w: Array) -> bool:
        """Whether a row that rubs has left, since the last ``linearise``, the speeds at which its friction is linear:
        the parabola held it back, so that how little it moved says nothing."""
        if not self.count or not self.slow.any():
            return False
        u = self.relative(v, w)
        size = np.linalg.norm(u - np.einsum("mi,mi->m", u, self.normal)[:, None] * self.normal, axis=1)
        return bool((self.slow & (size > self.creep) & (self.rub > 0)).any())

    def add_product(self, v: Array, w: Array, free: Array, out: Array, out_push: Array) -> None:
        """out (n, 3), out_push (b, 6) += the second derivative times changes of v (n, 3) and w (b, 6)."""
        if self.count:
            work = np.zeros((self.count, 3))
            _add_stencils(self.nodes, self.weight, self.block, v, self._points(w), out, work)
            self._collect(work, free, out_push)

    def add_diagonal(self, blocks: Array, carried: Array, free: Array) -> None:
        """blocks (n, 9), carried (b, 6, 6) += the diagonal of the second derivative."""
        for a in range(4):
            np.add.at(blocks, self.nodes[:, a], self.weight[:, a, None] ** 2 * self.block)
        led = (self.body >= 0) & (self.body < len(carried))
        if led.any():
            J = point_rows(self.arm[led]) * free[self.body[led], None, :]
            np.add.at(carried, self.body[led], np.swapaxes(J, 1, 2) @ self.block[led].reshape(-1, 3, 3) @ J)


def point_rows(arm: Array) -> Array:
    """J (m, 3, 6): velocities of points at arms (m, 3) of bodies with six velocities."""
    J = np.zeros((len(arm), 3, 6))
    J[:, range(3), range(3)] = 1.0
    x, y, z = arm.T
    J[:, 0, 4], J[:, 0, 5], J[:, 1, 3], J[:, 1, 5], J[:, 2, 3], J[:, 2, 4] = z, -y, -z, x, y, -x
    return J


def effective_mass(weight: Array, mass: Array) -> Array:
    """1 / sum of w^2 / m (m,) of stencils with weights (m, k) and masses (m, k); 0 where a node is held (mass inf)."""
    return np.asarray(1.0 / np.maximum((weight**2 / mass).sum(axis=1), 1e-300))
