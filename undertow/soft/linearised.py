"""Backward Euler, linearised about a way of the step: one assembly of the stiffness, one force.

    v^n+1 minimises  |v - v^n|^2_M / 2 - dt (f(x) + external).v + dt^2 (v - v_l).K (v - v_l) / 2 + dt v.(-D) v / 2
                     + contact,      x = x^n + dt v_l

with K at x without negative values, damping D at x^n; v_l = 0 (Baraff and Witkin 1998) unless it is given. Without
contact this is one linear solve, (5.5) of Schroeder 2011 [@schroeder2011]. Contacts, one-sided rows and held nodes, are
all that changes between passes: these go on from where the one before has ended, on the same matrix, and take few
iterations each. A pass is one of an active set (Hintermueller, Ito and Kunisch 2003), made in full: it may lead nodes
deep into bodies whose rows were not active in it, where the potential is huge by their stiffness, and the next one has
these rows. A search for less of the potential along every pass would end at the first row that comes, in cloth that
touches at once with no motion at all: it hangs in the air. Only after a few passes with more of the potential than
before the first of them is the search made, along that first one: it never fails, but gains few rows.

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

AWAY = 4
"""Most passes that may lead to more of the potential than there was before them."""

HALVINGS = 20
"""Evaluations of a search along a pass."""

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
        self._more, self._from = np.zeros((bodies.count, 3)), np.zeros((bodies.count, 3))
        self._toward = np.zeros((bodies.count, 3))
        self._led, self._turned, self._lowest = np.zeros((0, 6)), np.zeros((0, 6)), 0.0
        self.pressed = np.zeros(0)
        """Normal impulses [N s] of the first rows of the next step, of nodes at rigid bodies, in the last one."""
        self.away = 0
        """Passes since the potential was lowest."""

    def prepare(self, dt: float, external: Array, held: Held, before: Array, v: Array) -> None:
        """Begin a step: force and stiffness at x^n + dt v_l, and the best of four guesses of v."""
        bodies, system = self.bodies, self.system
        self._lag[...], self.away = 0.0, 0
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

    def _choose_guess(self, dt: float, external: Array, held: Held, before: Array, v: Array) -> None:
        """As ``BackwardEuler``, each guess with nodes led out of rigid bodies as far as they press on these as in the
        last step: rows active from the start, and no potential by the way of a step along a curved body."""
        touching, w = self.system.touching, held.carriers.w
        lowest, best, slide = np.inf, v.copy(), np.flatnonzero(self.bodies.slides)
        inv_mass, moves = self.bodies.inv_mass_along, self.bodies.moves
        stopped = np.where(moves, -before, 0.0)
        for change in (np.zeros_like(v), stopped, dt * external * inv_mass, dt * self.acceleration):
            held.remove(change)
            np.add(v, change, out=self._v)
            touching.lead(self._v, w, self.pressed)
            self._v[slide] = np.where(moves[slide], self._v[slide], v[slide])
            found = self._evaluate(dt, external, held, before, self._v)[0]
            if found < lowest:
                lowest, best[...] = found, self._v
        v[...] = best

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
        touching, carriers = system.touching, held.carriers
        system.hold(held)
        potential = self._evaluate(dt, external, held, before, v)[0]
        if not self.away:
            self._lowest, self._from[...], self._led = potential, v, carriers.w.copy()
        held.add_friction_blocks(v, self.reaction, system.rows.blocks, diagonal[held.slip])
        touching.linearise(v, carriers.w, careful=False)
        size, turn = float(np.linalg.norm(self.reaction)), np.zeros_like(self.push)
        enough = min(0.5, max(FORCING, BALANCED * self.scale / max(size, 1e-300)))
        if len(turn):
            stats = system.carried.improve(-self.reaction, -self.push, self._change, turn, enough, ITERATIONS)
        else:
            stats = system.improve(-self.reaction, self._change, enough, ITERATIONS)
        touching.turn_back(v, carriers.w, self._change, turn)
        new = self._go(dt, external, held, before, v, turn)
        moved = dt * float(np.abs(self._change).max(initial=0.0))
        self._count_away(dt, external, held, before, v, turn, new)
        ended = stats.residual <= enough * stats.scale and moved <= self.tolerance * self.length
        ended = ended and not self.away and not touching.begins_to_slide(v, carriers.w)
        return SoftReport(1, stats.iterations, self._energy, ended, moved)

    def _count_away(
        self, dt: float, external: Array, held: Held, before: Array, v: Array, turn: Array, new: float
    ) -> None:  # fmt: skip
        """Note whether a pass has led to no more of the potential than there was before; after ``AWAY`` that have not,
        ``go_back``."""
        if new <= self._lowest + 1e-11 * abs(self._lowest):
            self.away = 0
            return
        self.away += 1
        if self.away == 1:
            self._toward[...], self._turned = self._change, turn
        if self.away >= AWAY:
            self.go_back(dt, external, held, before, v)

    def go_back(self, dt: float, external: Array, held: Held, before: Array, v: Array) -> None:
        """Where passes are away: lead v (n, 3) to where the potential is least along the first of them."""
        if not self.away:
            return
        w = held.carriers.w
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            part = 0.5 * (low + high) if low > 0.0 else 0.25 * high
            v[...], w[...] = self._from + part * self._toward, self._led + part * self._turned
            self._evaluate(dt, external, held, before, v)
            slope = float((self.reaction * self._toward).sum()) + float((self.push * self._turned).sum())
            low, high = (part, high) if slope < 0.0 else (low, part)
        self.away = 0

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

    def _go(self, dt: float, external: Array, held: Held, before: Array, v: Array, turn: Array) -> float:
        """Lead v (n, 3) along ``_change`` and the carriers along turn (b, 6); the potential there."""
        self._set_stiffness(dt)
        self._more[...] = 0.0
        self.bodies.forces.add_product(self.system.rows.blocks, self._change, self._more)
        v += self._change
        self._drag += self._more
        held.carriers.w[...] += turn
        new = self._add_up(dt, external, held, before, v)
        if not np.isfinite(new):
            raise PhysicsError("soft bodies: velocities of a step are not finite; shorten the time step")
        self._known[...] = v
        return new
