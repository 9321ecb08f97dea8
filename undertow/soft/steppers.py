"""Steps in time of soft bodies alone, and their equilibrium.

    Leapfrog        velocity Verlet: explicit, symplectic, second order; keeps both momenta to round-off
    Newmark         thesis 4.2 and 3.2 [@schroeder2011] without contact: positions with a velocity of their own,
    elasticity
                    explicit, damping implicit; second order
    ImplicitMidpoint  everything implicit, second order, for smooth motion
    BackwardEuler   everything implicit, Newton's method on the incremental potential: any step, first order

All take forces from outside (n, 3) [N] and move held nodes as ``bodies.v`` says.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from undertow.errors import PhysicsError
from undertow.grid import Array
from undertow.soft.bodies import SoftBodies
from undertow.soft.collision import rigid_motion
from undertow.soft.implicit import Held, ImplicitSystem
from undertow.soft.rings import RingConstraint


@dataclass(frozen=True)
class SoftReport:
    """What a step did: iterations of Newton's method, iterations of all its linear solves, elastic energy at the end
    [J]; moved [m]: by the last iteration; stuck: iterations that found no descent."""

    newton: int
    iterations: int
    elastic: float
    converged: bool = True
    moved: float = 0.0
    stuck: int = 0


Collide = Callable[[Array, float], None]
"""Changes velocities (n, 3) so that nothing is entered within a time [s]; with 0, so that nothing touched is
approached."""


def _pass_through(v: Array, dt: float) -> None:
    """No contact."""


class _Explicit(ABC):
    """What the explicit schemes share: the stages of a step (thesis 4.2), elastic force, and damping solved implicitly
    over half of the step, here or, without ``damps``, by whoever holds the velocities in between.

    way (n, 3): velocity that positions move with; rate, middle, part: what damping that is solved elsewhere acts on,
    (-D) at the positions ``middle`` (n, 3) times ``part`` [s] and the velocity ``rate`` (n, 3), after each stage.
    """

    def __init__(self, bodies: SoftBodies, damps: bool = True) -> None:
        self.bodies = bodies
        self.force = np.zeros((bodies.count, 3))
        self._system = ImplicitSystem(bodies) if bodies.damped and damps else None
        self.way = bodies.v
        self.rate, self.middle, self.part = bodies.v, bodies.x, 0.0
        self.energy, self.iterations = 0.0, 0
        """Elastic energy at the end [J]; iterations of the damping solves of the step."""

    @abstractmethod
    def evolve(self, dt: float, external: Array) -> None:
        """I: the velocity of the positions of a step of dt [s]."""

    def move(self, dt: float) -> None:
        """IV: positions."""
        self.bodies.x += dt * self.way

    @abstractmethod
    def advance(self, dt: float, external: Array) -> None:
        """V: the velocity of the end."""

    def step(self, dt: float, external: Array, collide: Collide = _pass_through) -> SoftReport:
        """One step of dt [s]."""
        self.evolve(dt, external)
        collide(self.way, dt)
        self.move(dt)
        self.advance(dt, external)
        collide(self.bodies.v, 0.0)
        return SoftReport(0, self.iterations, self.energy)

    def kick(self, x: Array, v: Array, external: Array, dt: float) -> float:
        """v <- v + dt M^-1 (f(x) + external + D v), D v at the new v; elastic energy at x."""
        bodies = self.bodies
        energy = bodies.forces.measure(x, self.force)
        self.force += external
        self.force *= dt * bodies.inv_mass_along
        v += self.force
        self.middle, self.part = x, dt
        if self._system is not None:
            self._system.set_stiffness(x, 0.0, dt)
            self.iterations += self._system.damp(v)
        return energy


class Leapfrog(_Explicit):
    """Half a kick, the drift, half a kick (Verlet)."""

    def evolve(self, dt: float, external: Array) -> None:
        self.iterations = 0
        self.kick(self.bodies.x, self.bodies.v, external, 0.5 * dt)

    def advance(self, dt: float, external: Array) -> None:
        self.energy = self.kick(self.bodies.x, self.bodies.v, external, 0.5 * dt)


class Newmark(_Explicit):
    """Steps 1, 4, 7 and 8 of thesis 3.2: the velocity of the positions from x^n, the velocity from the middle."""

    def __init__(self, bodies: SoftBodies, damps: bool = True) -> None:
        super().__init__(bodies, damps)
        self.way, self._x, self._sum = (np.zeros((bodies.count, 3)) for _ in range(3))

    def evolve(self, dt: float, external: Array) -> None:
        bodies = self.bodies
        self.way[...], self._x[...] = bodies.v, bodies.x
        self.iterations = 0
        self.kick(bodies.x, self.way, external, 0.5 * dt)
        self.rate = self.way

    def advance(self, dt: float, external: Array) -> None:
        bodies = self.bodies
        # the middle of the step
        self._x += bodies.x
        self._x *= 0.5
        self._sum[...] = bodies.v
        self.kick(self._x, self._sum, external, 0.5 * dt)
        self.energy = bodies.forces.measure(bodies.x, self.force)
        free = bodies.moves
        before = bodies.v[free]
        bodies.v[free] = 2.0 * self._sum[free] - before
        # damping acts on the mean of both velocities over the step, on their sum over half of it
        self._sum[...] = bodies.v
        self._sum[free] += before
        self.rate = self._sum


FORCING = 2e-3
"""Relative residual of the linear solves. Contacts are judged by the forces of every iteration: with looser solves, or
with a stiffness that serves several iterations, they open and close more often than that saves."""


SERVES = 4
"""Iterations that one stiffness serves, as long as they move nodes by less than ``NEARBY`` elements."""

NEARBY = 0.3


class BackwardEuler:
    """v^n+1 minimises  |v - v^n|^2_M / 2 + E(x^n + dt v) + dt v.(-D) v / 2 - dt external.v  over the free velocities,
    with the volumes of ``rings``, if given, as at x^n.

    Newton's method with inexact linear solves (Dembo, Eisenstat and Steihaug 1982).
    tolerance: change of a position in the last iteration, relative to ``length`` [m]; iterations: of Newton's method.
    """

    lawful = True
    """Whether the solve by itself gains no energy."""

    def __init__(
        self, bodies: SoftBodies, length: float, tolerance: float = 1e-4, iterations: int = 60, direct: bool = False,
        rings: RingConstraint | None = None,
    ) -> None:  # fmt: skip
        self.bodies, self.rings = bodies, rings
        self.length, self.tolerance, self.iterations = length, tolerance, iterations
        self.system = ImplicitSystem(bodies, direct)
        self.system.carried.constraint = rings
        n = bodies.count
        self.reaction = np.zeros((n, 3))
        """Impulse of what holds the nodes over the last step (n, 3) [N s]; 0 where they are free but for round-off."""
        self._x, self._v, self._force, self._change, self._trial = (np.zeros((n, 3)) for _ in range(5))
        self._energy, self._stale = 0.0, True
        self._drag = np.zeros((n, 3))
        self.acceleration = np.zeros((n, 3))
        """Mean over the last step (n, 3) [m/s2]: a guess for the next."""
        self.push = np.zeros((0, 6))
        """Gradient of the carriers of held nodes (b, 6)."""
        damped = bodies.damped or len(bodies.air.triangles) > 0
        self._damping = np.zeros_like(self.system.rows.blocks) if damped else None
        self._own = np.zeros((n, 9))
        self._served, self._moved = SERVES, 0.0

    def step(self, dt: float, external: Array, held: Held | None = None) -> SoftReport:
        """One step of dt [s]; directions in ``held`` keep what ``bodies.v`` says."""
        before = self.bodies.v.copy()
        self.prepare(dt, external, held or Held(), before, self.bodies.v)
        report = self.solve(dt, external, held or Held(), before, self.bodies.v, self.iterations)
        if not report.converged:
            raise self.failure(report)
        self.bodies.x += dt * self.bodies.v
        return report

    def prepare(self, dt: float, external: Array, held: Held, before: Array, v: Array) -> None:
        """Begin a step: the damping at x^n, and v, which holds v^n, as the best of four guesses: kept, stopped, in free
        fall, or accelerated as in the last step."""
        self.bodies.forces.begin_step(self.bodies.x)
        self._served, self._stale = SERVES, True
        if self.rings is not None:
            self.rings.begin(self.bodies.x, dt)
        if self._damping is not None:
            self._set_damping(0.0, dt)
            self._damping[...] = self.system.rows.blocks
        self._choose_guess(dt, external, held, before, v)

    def _set_damping(self, elastic: float, dt: float) -> None:
        """The matrix elastic K + dt (-D) at x^n, D of elements and of air."""
        bodies, system = self.bodies, self.system
        system.set_stiffness(bodies.x, elastic, dt)
        bodies.air.add_damping(bodies.forces.pattern, dt, system.rows.blocks)

    def _choose_guess(self, dt: float, external: Array, held: Held, before: Array, v: Array) -> None:
        """v (n, 3), which holds v^n: kept, stopped, in free fall, or accelerated as in the last step, what is best."""
        best, guess = self._evaluate(dt, external, held, before, v)[0], v.copy()
        inv_mass = self.bodies.inv_mass_along
        # held nodes have the velocities of what holds them
        stopped = np.where(self.bodies.moves, -before, 0.0)
        for change in (stopped, dt * external * inv_mass, dt * self.acceleration):
            held.remove(change)
            np.add(before, change, out=self._v)
            found = self._evaluate(dt, external, held, before, self._v)[0]
            if found < best:
                best, guess[...] = found, self._v
        v[...] = guess

    def place(self, dt: float, external: Array, held: Held, before: Array, v: Array) -> SoftReport | None:
        """Give v (n, 3) its prescribed part; what was done where that took a linear solve.

        Nodes that are stopped alone crush the elements behind them; where that is far the others move along, by one
        iteration of Newton's method with the jump as what is prescribed.
        """
        jump = self._change
        jump[...] = -v
        held.place(v)
        jump += v
        if dt * float(np.abs(jump).max(initial=0.0)) <= 0.1 * self.length:
            return None
        self._v[...] = v
        system, bodies = self.system, self.bodies
        system.hold(held)
        np.subtract(v, jump, out=v)
        self._evaluate(dt, external, held, before, v)
        if self._served >= SERVES:
            self._set_stiffness(dt)
        force = self.reaction + bodies.mass[:, None] * jump
        system.touching.linearise(self._v, held.carriers.w)
        bodies.forces.add_product(system.rows.blocks, jump, force)
        still = np.zeros_like(held.carriers.w)
        system.touching.add_product(jump, still, held.carriers.free, force, still.copy())
        if self.rings is None:
            iterations = system.solve(-force, jump, 0.02)
        else:
            more = np.zeros(self.rings.rows.shape)
            rate = -self.rings.left() - self.rings.apply(jump)
            iterations = system.carried.solve_constrained(
                -force, still, rate, jump, still.copy(), more, 0.02, 5000, still=True
            )  # fmt: skip
            self.rings.pressure += more
        np.add(self._v, jump, out=v)
        alone = self._evaluate(dt, external, held, before, self._v)[0]
        together, energy = self._evaluate(dt, external, held, before, v)
        if not together < alone:
            v[...] = self._v
            return None
        return SoftReport(1, iterations, energy, False, dt * float(np.abs(jump).max()))

    def solve(self, dt: float, external: Array, held: Held, before: Array, v: Array, most: int) -> SoftReport:
        """v (n, 3): on entry a guess with the prescribed velocities, on exit v^n+1 or what ``most`` iterations made
        of it.

        before: v^n.
        """
        system = self.system
        system.hold(held)
        potential, energy = self._evaluate(dt, external, held, before, v)
        total, moved, stuck = 0, 0.0, 0
        still = self.reaction * self.bodies.inv_mass_along
        held.remove(still)
        quiet = not len(self.push) or float(np.abs(self.push).max()) == 0.0
        quiet = quiet and (self.rings is None or self.rings.holds)
        # a way that is short in a short step may be all of a fall
        fall = dt * dt * float(np.abs(external * self.bodies.inv_mass_along).max(initial=0.0))
        least = 0.01 * self.tolerance * (min(self.length, fall) if fall > 0.0 else self.length)
        if quiet and dt * float(np.abs(still).max(initial=0.0)) <= least:
            return SoftReport(0, 0, energy)  # elasticity and damping only make the change smaller
        for newton in range(1, most + 1):
            diagonal = self.bodies.forces.pattern.diagonal
            if self._served >= SERVES or self._moved > NEARBY * self.length:
                self._set_stiffness(dt)
            else:
                system.rows.blocks[diagonal] = self._own
            self._served += 1
            held.add_friction_blocks(v, self.reaction, system.rows.blocks, diagonal[held.slip])
            system.touching.linearise(v, held.carriers.w)
            slope = 0.0
            turn = np.zeros_like(self.push)
            if self.rings is not None:
                iterations, slope = self._solve_constrained(held, turn)
                total += iterations
                potential = self._evaluate(dt, external, held, before, v)[0]
            elif len(turn):
                total += system.carried.solve(-self.reaction, -self.push, self._change, turn, FORCING, 5000)
                # held nodes are in the gradient of their carriers already
                slope = float((self.push * turn).sum())
                own = self._change.copy()
                held.remove(own)
                slope += float((self.reaction * own).sum())
            else:
                total += system.solve(-self.reaction, self._change, FORCING)
                slope = float((self.reaction * self._change).sum())
            moved = self._moved = dt * float(np.abs(self._change).max(initial=0.0))
            share, potential, energy = self._descend(dt, external, held, before, v, turn, potential, slope, 1e-10)
            if share == 0.0:
                stuck += 1
                if self._served == 1:
                    # not even with the stiffness of here: as low as it gets
                    return SoftReport(newton, total, energy, True, 0.0, stuck)
                self._served = SERVES
                continue
            self.bodies.forces.follow(self._x)
            if moved <= self.tolerance * self.length and (self.rings is None or self.rings.holds):
                return SoftReport(newton, total, energy, True, moved, stuck)
        return SoftReport(most, total, energy, False, moved, stuck)

    def _solve_constrained(self, held: Held, turn: Array) -> tuple[int, float]:
        """``_change``, that of the carriers turn (b, 6) and that of the pressures, which is made; iterations of the
        solve, and the slope along the change of the potential with the new pressures."""
        rings = self.rings
        assert rings is not None
        more = np.zeros(rings.rows.shape)
        rate = -rings.left()
        iterations = self.system.carried.solve_constrained(
            -self.reaction, -self.push, rate, self._change, turn, more, FORCING, 5000
        )
        own = self._change.copy()
        held.remove(own)
        rate = rings.apply(self._change)
        slope = float((self.push * turn).sum()) + float((self.reaction * own).sum())
        slope += float(rate @ more)
        rings.pressure += more
        slope += float(rate @ (rings.inverse * rings.left()))
        return iterations, slope

    def _descend(
        self, dt: float, external: Array, held: Held, before: Array, v: Array, turn: Array, potential: float,
        slope: float, least: float,
    ) -> tuple[float, float, float]:  # fmt: skip
        """Lead v (n, 3) along ``_change`` and the carriers along turn (b, 6), by the largest share of 1, 1/2, 1/4 ...
        down to ``least`` that lowers the potential by a part of its slope, or by 0: (share, potential, elastic
        energy)."""
        self._v[...] = v
        w, share = held.carriers.w.copy(), 1.0
        while share >= least:
            np.add(self._v, share * self._change, out=v)
            held.carriers.w[...] = w + share * turn
            new, energy = self._evaluate(dt, external, held, before, v)
            # near the minimum round-off hides the change of the potential
            if new <= potential + 1e-4 * share * slope + 1e-11 * abs(potential):
                return share, new, energy
            share *= 0.5
        if not np.isfinite(new):
            raise PhysicsError("soft bodies: velocities of a step are not finite; shorten the time step")
        v[...], held.carriers.w[...] = self._v, w
        return 0.0, *self._evaluate(dt, external, held, before, v)

    def balance(self, v: Array) -> Array:
        """Add to v (n, 3) what the solves have left of the momentum of every body: their tolerance is one of all
        impulses, and much less than these may be much for one body.

        Friction leaves most, within the speed below which it is rounded. Between two bodies that is one impulse at one
        place: they keep their angular momentum if each gets it as a rigid motion. What something touches or holds keeps
        the momentum along the directions c that are free at all of its nodes, P_i c = c, and moves along them as a
        whole. The rest is taken by what touches or holds it, as impulses (n, 3) [N s] on its nodes, which are returned
        and are in ``reaction``. Given to the free nodes it would strain them against those: in a long step, where
        stiffness is all, by more than the deflection.
        """
        bodies, left, motion = self.bodies, self._change, self._v
        self.system.nodes.project(self.reaction, left)
        motion[...] = 0.0
        taken = np.zeros_like(left)
        held = self.system.nodes.held
        touched = np.concatenate([held.fixed, held.slip, np.flatnonzero((bodies.inv_mass == 0) | bodies.slides)])
        for part in bodies.parts:
            free = part.first + np.flatnonzero(bodies.inv_mass[part.nodes] > 0)
            if not len(free):
                continue
            mass = bodies.mass[free, None]
            if ((touched >= part.first) & (touched < part.stop)).any():
                lost = (np.eye(3) - self.system.nodes.free[free].reshape(-1, 3, 3)).sum(axis=0)
                size, axes = np.linalg.eigh(lost + (part.stop - part.first - len(free)) * np.eye(3))
                kept, total = axes[:, size < 1e-9], left[free].sum(axis=0)
                along = kept @ (kept.T @ total)
                motion[free] = along / mass.sum()
                nodes, ways = self._holding(part.first, part.stop, held)
                found = np.linalg.lstsq(ways.reshape(-1, 3).T, total - along)[0].reshape(-1, 3)
                taken[nodes] += np.einsum("kj,kji->ki", found, ways)
            else:
                motion[free] = rigid_motion(mass[:, 0], bodies.x[free], left[free] / mass)
        v -= motion
        self.reaction += taken
        return taken

    def _holding(self, first: int, stop: int, held: Held) -> tuple[np.ndarray, Array]:
        """Nodes (m,) from first to stop that something holds, and directions (m, 3, 3) in which it does, rows of 0
        beside the normal of those that slide."""
        still = first + np.flatnonzero(self.bodies.inv_mass[first:stop] == 0)
        fixed = np.union1d(still, held.fixed[(held.fixed >= first) & (held.fixed < stop)]).astype(np.int64)
        own = (held.slip >= first) & (held.slip < stop)
        touch = np.concatenate([fixed, held.slip[own]])
        slides = np.setdiff1d(first + np.flatnonzero(self.bodies.slides[first:stop]), touch)
        nodes = np.concatenate([touch, slides])
        ways = np.zeros((len(nodes), 3, 3))
        ways[: len(fixed)] = np.eye(3)
        ways[len(fixed) : len(touch), 0] = held.along(held.slip[own], held.normal[own])
        ways[len(touch) :] = np.eye(3) * (1.0 - self.bodies.free_axes[slides])[:, None, :]
        return nodes, ways

    def _set_stiffness(self, dt: float) -> None:
        """The matrix at the positions of the last ``_evaluate``."""
        system = self.system
        system.set_stiffness(self._x, dt * dt, 0.0)
        if self._damping is not None:
            system.rows.blocks += self._damping
        self._own[...] = system.rows.blocks[self.bodies.forces.pattern.diagonal]
        self._served = 0

    def stiffness(self) -> Array:
        """dt^2 K of every node alone in the last solve, mean over the directions (n,) [kg]."""
        system = self.system
        return np.asarray(system.rows.blocks[self.bodies.forces.pattern.diagonal][:, ::4].mean(axis=1))

    def elastic_energy(self, x: Array) -> float:
        """At x (n, 3) [J]."""
        self._stale = True
        return self.bodies.forces.measure(x, self._force)

    def failure(self, report: SoftReport) -> PhysicsError:
        """The error of a step that did not converge."""
        return PhysicsError(
            f"soft bodies: no convergence in {report.newton} iterations of Newton's method (the last moved a node by "
            f"{report.moved:.3g} m); shorten the time step"
        )

    def _evaluate(self, dt: float, external: Array, held: Held, before: Array, v: Array) -> tuple[float, float]:
        """(incremental potential, elastic energy) at v; ``reaction`` the gradient of the first."""
        bodies = self.bodies
        np.add(bodies.x, dt * v, out=self._trial)
        if self._stale or not np.array_equal(self._trial, self._x):
            self._x[...] = self._trial
            self._energy = bodies.forces.measure(self._x, self._force)
            self._stale = False
        energy = self._energy
        change = v - before
        g = self.reaction
        np.multiply(bodies.mass[:, None], change, out=g)
        potential = 0.5 * float((g * change).sum()) + energy - dt * float((external * v).sum())
        g -= dt * (self._force + external)
        if self._damping is not None:
            self._drag[...] = 0.0
            bodies.forces.add_product(self._damping, v, self._drag)
            potential += 0.5 * float((self._drag * v).sum())
            g += self._drag
        if self.rings is not None:
            potential += self.rings.add_gradient(self._x, g)
        return potential + self._add_contact(held, v), energy

    def _add_contact(self, held: Held, v: Array) -> float:
        """The potential of friction, of what touches and of the carriers at v; its gradient is added to ``reaction``,
        that of the carriers is ``push``."""
        g, carriers = self.reaction, held.carriers
        potential = held.add_friction(v, g)
        self.push = np.zeros_like(carriers.w)
        pushed = np.zeros_like(self.push)
        potential += self.system.touching.add_gradient(v, carriers.w, carriers.free, g, pushed)
        potential += held.gradient_of_carriers(v, g, self.push)
        self.push += pushed
        return potential


class ImplicitMidpoint:
    """Half a step of backward Euler, carried on as far again: the implicit midpoint rule, second order.

    The solve of thesis 4.7, step 2, with the elasticity implicit too. Nothing is damped that has no damping, so
    shocks ring: without contact.
    """

    def __init__(self, bodies: SoftBodies, length: float, tolerance: float = 1e-6, direct: bool = False) -> None:
        self.bodies = bodies
        self.half = BackwardEuler(bodies, length, tolerance, direct=direct)

    def step(self, dt: float, external: Array) -> SoftReport:
        """One step of dt [s]."""
        bodies = self.bodies
        x, v = bodies.x.copy(), bodies.v.copy()
        report = self.half.step(0.5 * dt, external)
        bodies.x *= 2.0
        bodies.x -= x
        free = bodies.moves
        bodies.v[free] = 2.0 * bodies.v[free] - v[free]
        return report


def find_equilibrium(
    bodies: SoftBodies, external: Array, tolerance: float = 1e-10, iterations: int = 200, loads: int = 1
) -> int:
    """Move the free nodes to where elastic and external forces (n, 3) [N] balance; iterations taken.

    Newton's method with a sparse direct solve on E(x) - external.x, the load brought on in ``loads`` equal parts.
    tolerance: largest unbalanced force / largest force.
    """
    import scipy.sparse as sparse
    import scipy.sparse.linalg

    forces = bodies.forces
    blocks = forces.make_matrix()
    freedom = np.zeros((bodies.count, 3), dtype=bool)
    freedom[:, : bodies.dimensions] = bodies.moves[:, : bodies.dimensions]
    free = freedom.reshape(-1)
    force, trial = np.zeros((bodies.count, 3)), np.zeros((bodies.count, 3))
    extent = float(np.ptp(bodies.rest, axis=0).max())
    total = 0
    for part in range(1, loads + 1):
        load = (part / loads) * external
        energy = forces.measure(bodies.x, force) - float((load * bodies.x).sum())
        for _ in range(iterations):
            g = -(force + load)
            scale = max(float(np.abs(load).max()), 1e-300)
            if float(np.abs(g.reshape(-1)[free]).max()) <= tolerance * scale:
                break
            for project in (False, True):
                forces.assemble(bodies.x, 1.0, 0.0, blocks, project)
                matrix = forces.sparse_matrix(blocks)[free][:, free]
                change = np.zeros(free.size)
                if project:
                    matrix = matrix + 1e-12 * matrix.diagonal().max() * sparse.eye(matrix.shape[0])
                with warnings.catch_warnings():
                    # a singular matrix gives no number, and the projected one is tried
                    warnings.simplefilter("ignore", scipy.sparse.linalg.MatrixRankWarning)
                    change[free] = -scipy.sparse.linalg.spsolve(matrix.tocsc(), g.reshape(-1)[free])
                slope = float(change @ g.reshape(-1))
                if slope < 0 and np.isfinite(slope):
                    break
            share = 1.0
            while True:
                np.add(bodies.x, share * change.reshape(-1, 3), out=trial)
                new = forces.measure(trial, force) - float((load * trial).sum())
                if new <= energy + 1e-4 * share * slope or abs(slope) < 1e-14 * abs(energy) + 1e-300:
                    break
                share *= 0.5
                if share < 1e-12:
                    raise PhysicsError("equilibrium of soft bodies: no step lowers the energy")
            bodies.x[...], energy = trial, new
            total += 1
            if share * np.abs(change).max() <= 1e-13 * extent:
                break  # the forces are as balanced as round-off lets them be
        else:
            raise PhysicsError(f"equilibrium of soft bodies: not found in {iterations} iterations")
    return total
