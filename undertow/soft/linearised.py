"""Backward Euler, linearised about a way of the step: one assembly of the stiffness, one force.

    v^n+1 minimises  |v - v^n|^2_M / 2 - dt (f(x) + external).v + dt^2 (v - v_l).K (v - v_l) / 2 + dt v.(-D) v / 2
                     + contact,      x = x^n + dt v_l

with K at x without negative values, damping D at x^n; v_l = 0 (Baraff and Witkin 1998) unless it is given. Without
contact this is one linear solve, (5.5) of Schroeder 2011 [@schroeder2011]. Contacts, one-sided rows and held nodes, are
all that changes between passes: these go on from where the one before has ended, on the same matrix, and take few
iterations each.

What the linear model leaves out, the turning of elements above all, can add energy to a step; who steps with it takes
that back, as far as there is motion beside the rigid one to take it from, and where there is not makes the step again
about where it led (``solids/soft_step.py``, which also makes the passes: ``step`` alone makes one). Angles of folds are
taken between -pi and pi: ``Springs.turn`` is not followed.
"""

from __future__ import annotations

import numpy as np

from undertow.errors import PhysicsError
from undertow.grid import Array
from undertow.soft.bodies import SoftBodies
from undertow.soft.implicit import Held
from undertow.soft.steppers import BackwardEuler, SoftReport

BALANCED = 2e-2
"""Impulses that passes may leave unbalanced, in parts of those of the forces from outside over the step: of weight."""

ITERATIONS = 30
"""Most iterations of conjugate gradients in a pass: contacts change before more of them tell much."""

FORCING = 1e-3
"""Relative residual that is enough for a linear solve, however much that is."""


class LinearisedEuler(BackwardEuler):
    """Backward Euler with forces and stiffness of the start of the step; see ``BackwardEuler`` for the rest."""

    lawful = False

    def __init__(self, bodies: SoftBodies, length: float, tolerance: float = 1e-4) -> None:
        super().__init__(bodies, length, tolerance)
        self._start = np.full((bodies.count, 3), np.nan)
        """Where ``_force`` and ``_energy`` are known."""
        self.scale = 0.0
        """Size of the impulses of forces from outside in the step [N s]."""
        self.about = np.zeros((bodies.count, 3))
        """v_l (n, 3) [m/s] of the next step."""
        self._lag = np.zeros((bodies.count, 3))
        """dt (-D) v_l (n, 3) [N s]."""
        self._known = np.full((bodies.count, 3), np.nan)
        """v (n, 3) of which ``_drag`` is known."""
        self._before, self._more = np.zeros((bodies.count, 3)), np.zeros((bodies.count, 3))

    def prepare(self, dt: float, external: Array, held: Held, before: Array, v: Array) -> None:
        """Begin a step: force and stiffness at x^n + dt v_l, and the best of four guesses of v."""
        bodies, system = self.bodies, self.system
        self._lag[...] = 0.0
        if not self.about.any():
            self.elastic_energy(bodies.x)
            self._set_damping(dt * dt, dt)
        else:
            self.elastic_energy(bodies.x + dt * self.about)
            system.set_stiffness(bodies.x + dt * self.about, dt * dt, 0.0)
            if self._damping is not None:
                stiff = system.rows.blocks.copy()
                self._set_damping(0.0, dt)
                bodies.forces.add_product(system.rows.blocks, self.about, self._lag)
                system.rows.blocks += stiff
        self._own[...] = system.rows.blocks[bodies.forces.pattern.diagonal]
        self._known[...] = np.nan
        self.scale = dt * float(np.linalg.norm(external[bodies.inv_mass > 0]))
        self._choose_guess(dt, external, held, before, v)

    def elastic_energy(self, x: Array) -> float:
        """At x (n, 3) [J]."""
        if not np.array_equal(x, self._start):
            self._energy = self.bodies.forces.measure(x, self._force)
            self._start[...] = x
        return self._energy

    def _set_stiffness(self, dt: float) -> None:
        """The matrix of the step without what friction has added to it."""
        self.system.rows.blocks[self.bodies.forces.pattern.diagonal] = self._own

    def solve(self, dt: float, external: Array, held: Held, before: Array, v: Array, most: int) -> SoftReport:
        """One pass: v (n, 3) with the prescribed velocities is led towards the minimum with what touches now."""
        system, diagonal = self.system, self.bodies.forces.pattern.diagonal
        system.hold(held)
        potential = self._evaluate(dt, external, held, before, v)[0]
        held.add_friction_blocks(v, self.reaction, system.rows.blocks, diagonal[held.slip])
        system.touching.linearise(v, held.carriers.w, careful=False)
        size, turn = float(np.linalg.norm(self.reaction)), np.zeros_like(self.push)
        enough = min(0.5, max(FORCING, BALANCED * self.scale / max(size, 1e-300)))
        if len(turn):
            stats = system.carried.improve(-self.reaction, -self.push, self._change, turn, enough, ITERATIONS)
        else:
            stats = system.improve(-self.reaction, self._change, enough, ITERATIONS)
        system.touching.turn_back(v, held.carriers.w, self._change, turn)
        share, _, energy = self._descend(dt, external, held, before, v, turn, potential, 0.0, 1e-3)
        moved = share * dt * float(np.abs(self._change).max(initial=0.0))
        ended = stats.residual <= enough * stats.scale and moved <= self.tolerance * self.length
        ended = ended and not system.touching.begins_to_slide(v, held.carriers.w)
        return SoftReport(1, stats.iterations, energy, ended, moved, int(share == 0.0))

    def _evaluate(self, dt: float, external: Array, held: Held, before: Array, v: Array) -> tuple[float, float]:
        """(potential of the linear model, elastic energy where it is linearised) at v; ``reaction`` the gradient of the
        first."""
        if not np.array_equal(v, self._known):
            self._set_stiffness(dt)
            self._drag[...] = 0.0
            self.bodies.forces.add_product(self.system.rows.blocks, v - self.about, self._drag)
            self._known[...] = v
        return self._add_up(dt, external, held, before, v), self._energy

    def _add_up(self, dt: float, external: Array, held: Held, before: Array, v: Array) -> float:
        """The potential at v, with ``_drag`` the product of the matrix with v - v_l; its gradient is ``reaction``."""
        g, change, off = self.reaction, v - before, v - self.about
        np.multiply(self.bodies.mass[:, None], change, out=g)
        potential = 0.5 * float((g * change).sum() + (self._drag * off).sum())
        g += self._drag
        np.add(self._force, external, out=self._trial)
        self._trial *= dt
        self._trial -= self._lag
        potential -= float((self._trial * v).sum())
        g -= self._trial
        return potential + self._add_contact(held, v)

    def _descend(
        self, dt: float, external: Array, held: Held, before: Array, v: Array, turn: Array, potential: float,
        slope: float, least: float,
    ) -> tuple[float, float, float]:  # fmt: skip
        """As ``BackwardEuler._descend``; one product with the matrix serves all shares of the change."""
        self._set_stiffness(dt)
        self._more[...] = 0.0
        self.bodies.forces.add_product(self.system.rows.blocks, self._change, self._more)
        self._v[...], self._before[...] = v, self._drag
        w, share = held.carriers.w.copy(), 1.0
        while share >= least:
            np.add(self._v, share * self._change, out=v)
            np.add(self._before, share * self._more, out=self._drag)
            held.carriers.w[...] = w + share * turn
            new = self._add_up(dt, external, held, before, v)
            if new <= potential + 1e-4 * share * slope + 1e-11 * abs(potential):
                self._known[...] = v
                return share, new, self._energy
            share *= 0.5
        if not np.isfinite(new):
            raise PhysicsError("soft bodies: velocities of a step are not finite; shorten the time step")
        v[...], self._drag[...], held.carriers.w[...] = self._v, self._before, w
        return 0.0, self._add_up(dt, external, held, before, v), self._energy
