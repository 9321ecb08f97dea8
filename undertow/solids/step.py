"""Rigid bodies in the five steps of thesis 4.2 [@schroeder2011], which ``scheme`` goes through: a Newmark scheme.

Positions move with a velocity of their own, v^n+1/2, that closes gaps exactly and holds joints. The impulses of that
act on the momenta at n too, less what closes old errors of joints: contact and joints work at both ends of the step, as
in RATTLE (Andersen 1983).

All geometry of steps II and III is that of x^n: contacts are found within the reach of the step and may close their
gap, not more. Impulses act at one point on both bodies, and bodies move along the momentum that they carry, so linear
and angular momentum are conserved to round-off over whole steps. The parting of overlaps (4.6.1) moves bodies beside
their momenta; it gives back what that changes of the angular momentum and energy of bodies that lean on nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from undertow.errors import UserError
from undertow.grid import Array
from undertow.rigid.bodies import DYNAMIC, RigidBodies
from undertow.rigid.joint import BrokenJoint, JointStats
from undertow.rigid.joints import Joints
from undertow.rigid.narrow import ContactSpec
from undertow.rigid.orientation import advance_poses
from undertow.rigid.shapes import CollisionShapes
from undertow.solids.collide import _collide_pairs
from undertow.solids.contact import (
    ContactRows,
    _clamp_rows,
    _invert_inertia,
    _order_rows,
    _solve_rows,
    make_rows,
)
from undertow.solids.contact_record import ContactRecord
from undertow.solids.finder import ContactFinder
from undertow.solids.interpenetration import Overlaps, remember_places, resolve_interpenetration, restore_momenta
from undertow.solids.rows import (
    Memory,
    _build_rows,
    _give_momentum,
    _remember_rows,
    _restart_rows,
    _start_rows,
)
from undertow.solids.scheme import advance
from undertow.solids.settings import SolidSettings
from undertow.solids.sleep import Sleepers, reached
from undertow.solids.work import Work, _advance_momenta, _derive_momenta, _evolve_velocities, _measure_energy

COLLISION_PASSES = 25
"""Of all colliding pairs at most; they end when none is left. Guendelman, Bridson and Fedkiw (2003) take five: what
still comes together then is stopped by the contact solve, which has no restitution. A row of five unequal balls needs
up to eight."""

PUSH = 0.2
"""Part of a push out of an overlap that is made per step: in a dense pile a whole one overlaps others."""

LOW = 5
"""Levels of bodies on each other up to which ``iterations`` are what the settings say. Beyond, they grow with the
square of the height: bodies that stick to each other are a beam of rigid pieces, whose operator has a condition of the
fourth power of their number, and accelerated sweeps need as many as its root."""

JOINT_ROUNDS = 4
"""Contact and joints in turn, where there are both."""

ROUNDING = 1e-13
"""Changes of a velocity below this part of the fastest are rounding, whatever the tolerance."""


@dataclass
class JointReport:
    """What one step did to hold the joints.

    iterations: linear solves; rate [1/s]: largest at which a joint is left coming apart; closings: solves that closed
    poses where velocities could not; unsettled: stabilisations in which limits went on and off to the end; unswept:
    pairwise solves whose sweeps ended before they had converged; broken: the joints that broke.
    """

    iterations: int = 0
    rate: float = 0.0
    closings: int = 0
    unsettled: int = 0
    unswept: int = 0
    broken: list[BrokenJoint] = field(default_factory=list)

    def add(self, stats: JointStats) -> None:
        """Count a stabilisation."""
        self.iterations += stats.iterations
        self.unsettled += not stats.settled


@dataclass(frozen=True)
class SolidsReport:
    """What one step did; energies in J (2D: J/m), of the dynamic bodies, at the start and the end of the step.

    contacts: touching at the end; collisions: pairs that bounced; clamped: impulses (of pairs or groups of bodies)
    scaled back; iterations, residual [m/s]: of the two contact solves and, in a fluid, of the last one there, the
    largest; unconverged: how many of them stopped short of their tolerance, or were undone by joints;
    resolve_iterations, penetration [m]: sweeps of the interpenetration resolution and the deepest overlap it leaves.
    joints: what was done to hold them.
    """

    contacts: int
    collisions: int
    clamped: int
    iterations: int
    residual: float
    unconverged: int
    resolve_iterations: int
    penetration: float
    joints: JointReport
    kinetic_before: float
    potential_before: float
    kinetic_after: float
    potential_after: float


class Solids:
    """All solids of a simulation and their step; scratch grows with the number of contacts and is kept."""

    def __init__(
        self, bodies: RigidBodies, shapes: CollisionShapes, settings: SolidSettings | None = None,
        joints: Joints | None = None,
    ) -> None:  # fmt: skip
        self.bodies = bodies
        self.shapes = shapes
        self.settings = settings or SolidSettings()
        self.joints = joints
        self.finder = ContactFinder(bodies, shapes)
        self.gravity = np.array(self.settings.gravity, dtype=float)
        self._positions, self._velocities = Memory(), Memory()
        self.sleepers = Sleepers(bodies, self.settings.sleep)
        self._overlaps = Overlaps()
        self._rows = make_rows(0)
        self._work = Work(bodies, shapes, self.settings)
        self._joined, self._in_fluid = JointReport(), NO_SOLVE
        self.record, self._gap = ContactRecord(), np.zeros(0)
        """The contacts of the last step."""

    @property
    def contact_force_b(self) -> Array:
        """Mean contact force on every body over the last step (n, 3) [N]."""
        return self._work.contact_force

    @property
    def contact_torque_b(self) -> Array:
        """Mean torque of the contacts about the centre of mass over the last step (n, 3) [N m]."""
        return self._work.contact_torque

    @property
    def joint_force_b(self) -> Array:
        """Mean force of joints and motors on every body over the last step (n, 3) [N]."""
        return self._work.nothing if self.joints is None else np.asarray(self.joints.force_b)

    @property
    def joint_torque_b(self) -> Array:
        """Mean torque of joints and motors about the centre of mass over the last step (n, 3) [N m]."""
        return self._work.nothing if self.joints is None else np.asarray(self.joints.torque_b)

    @property
    def sizes(self) -> Array:
        """Radii of the bodies about their middles (n,) [m]."""
        if self._work.stale(self.bodies):
            self.prepare()
        return np.where(self.bodies.kind_b == DYNAMIC, self._work.size, 0.0)

    def arrays(self) -> dict[str, Array]:
        """What evolves beside the bodies: the impulses the next contact solves start from, and who sleeps."""
        memories = self._memories.items()
        found = {f"solids_{m}_{key}": array for m, memory in memories for key, array in memory.arrays().items()}
        return {**found, **self.sleepers.arrays()}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Take over what ``arrays`` gave."""
        for name, memory in self._memories.items():
            memory.restore(*(arrays[f"solids_{name}_{key}"] for key in ("keys", "point", "impulse", "dt")))
        self.sleepers.restore(arrays)

    @property
    def _memories(self) -> dict[str, Memory]:
        return {"positions": self._positions, "velocities": self._velocities}

    def overlapping(self) -> list[tuple[str, str, float]]:
        """(name, name, depth [m]) of the pairs that overlap now by more than is left alone, deepest first."""
        self.prepare()
        spec = self.bodies.spec
        contacts, count = self.finder.find(spec.x, spec.q, self._work.near)
        depth: dict[tuple[int, int], float] = {}
        for i in range(count):
            a, b = int(contacts.a[i]), int(contacts.b[i])
            if -contacts.gap[i] > min(self._work.allowed[a], self._work.allowed[b]):
                depth[a, b] = max(depth.get((a, b), 0.0), float(-contacts.gap[i]))
        names = self.bodies.names
        return sorted(((names[a], names[b], d) for (a, b), d in depth.items()), key=lambda pair: -pair[2])

    def step(self, time: float, dt: float, force_b: Array | None = None, torque_b: Array | None = None) -> SolidsReport:
        """Advance from ``time`` by ``dt`` [s] under gravity, forces (n, 3) [N] and torques (n, 3) [N m]."""
        stages = RigidStages(self, force_b, torque_b)
        if not math.isfinite(self.settings.sleep):
            advance([stages], time, dt)
            return stages.report()
        self._rouse(stages, time, dt)
        with self.sleepers.held():
            advance([stages], time, dt)
            report = stages.report()
        self._let_sleep(stages, dt)
        return report

    def collide(self, time: float, dt: float) -> tuple[int, int]:
        """Steps I and II alone, of a step dt [s]: collisions on the momenta; pairs that bounced and were clamped."""
        self._begin(dt, None, None)
        bodies, work, spec = self.bodies, self._work, self.bodies.spec
        bodies.move_kinematic(time + 0.5 * dt, place=False)
        _evolve_velocities(spec, self.gravity, work.nothing, work.nothing, 0.5 * dt, work.v, work.omega)
        return self._collide(self._build_rows(*self._find_contacts(work.reach_of(spec, dt)), False, dt), dt)

    def touching(self, dt: float) -> tuple[ContactRows, int]:
        """Rows of the contacts that touch at the poses and velocities of now, for a solve that holds them; how many."""
        self.prepare()
        self.bodies.derive_velocities()
        self._work.take_velocities(self.bodies.spec)
        count = self._build_rows(*self._find_contacts(self._work.near), True, dt)
        return self._rows, count

    def count_contact(self, p_b: Array, L_b: Array) -> None:
        """Impulses (n, 3) of contact that something else has given the bodies belong to the forces of this step."""
        self._work.contact_force += p_b
        self._work.contact_torque += L_b

    def part(self, central: bool = True) -> tuple[int, float]:
        """Interpenetration resolution alone, around central bodies or pair by pair; sweeps and the depth left [m]."""
        self.prepare()
        return self._resolve(*self._find_contacts(self._work.near), 1.0, central)

    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy of the dynamic bodies [J]; the potential is 0 at the origin."""
        kinetic, potential = _measure_energy(self.bodies.spec, self.gravity)
        return float(kinetic), float(potential)

    # the pieces of the step -----------------------------------------------------------------------------------------

    def _begin(self, dt: float, force: Array | None, torque: Array | None) -> tuple[tuple[float, float], Array, Array]:
        """Energies at the start of a step, and the forces and torques on the bodies (n, 3)."""
        if not dt > 0:
            raise UserError(f"time step {dt} s: must be positive")
        self._joined, self._in_fluid = JointReport(), NO_SOLVE
        self.record.begin()
        self.prepare()
        self.bodies.derive_velocities()
        return self.energy(), self._work.given(force, "force"), self._work.given(torque, "torque")

    @property
    def _update(self) -> tuple[int, bool]:
        return self.settings.orientation_order, self.settings.energy_fix

    def prepare(self) -> None:
        """Scratch for the bodies there are, and their sizes; forces start at 0 where bodies came or went."""
        if self._work.stale(self.bodies):
            self._work = Work(self.bodies, self.shapes, self.settings)
            self._work.reserve(len(self._rows.source))
        if self.joints is not None:
            self.finder.exclude(map(tuple, self.joints.excluded_pairs().tolist()))

    def _rouse(self, stages: RigidStages, time: float, dt: float) -> None:
        """Bodies that sleep wake if there is a reason for it before the step from ``time`` by dt [s]."""
        self.prepare()
        self.bodies.move_kinematic(time + 0.5 * dt, place=False)
        moving = reached(self.bodies, self._work.around + self._work.near, dt)
        loads, memories = np.concatenate(stages.given, axis=1), tuple(self._memories.values())
        self.sleepers.begin(self.gravity, loads, moving, self.joints, memories)

    def _let_sleep(self, stages: RigidStages, dt: float) -> None:
        """What sleeps has the contacts it had; what has rested long enough falls asleep."""
        self.record.keep("asleep", self.sleepers.solved(dt))
        force, torque = self.sleepers.forces()
        self._work.contact_force += force
        self._work.contact_torque += torque
        self.sleepers.end(*stages.contacts, self.record, self.gravity, self._work.around, dt)

    def _find_contacts(self, reach: Array) -> tuple[ContactSpec, int]:
        """Contacts at the poses of now within ``reach`` (n,) [m] of the bodies, and the inertia there."""
        spec = self.bodies.spec
        _invert_inertia(spec, spec.q, self._work.inv_inertia)
        return self.finder.find(spec.x, spec.q, reach)

    def _build_rows(self, contacts: ContactSpec, count: int, final: bool, dt: float) -> int:
        """Rows of the contacts that take part, ordered from the ground up; how many."""
        work, spec = self._work, self.bodies.spec
        if count > len(self._rows.source):
            room = max(64, 2 * count)
            self._rows = make_rows(room)
            work.reserve(room)
        rows, work.pairs = _build_rows(
            contacts, count, spec, spec.x, work.inv_inertia, work.v, work.omega, work.v_old, work.omega_old, work.touch,
            final, dt, self._rows, work.starts,
        )  # fmt: skip
        _order_rows(self._rows, rows, spec.kind, work.level, work.parent, work.fill)
        self._gap = contacts.gap[self._rows.source[:rows]]
        return int(rows)

    def _bouncing(self, rows: int) -> bool:
        """Whether any of the rows comes together, is crossed in the step and has restitution."""
        work, spec, built = self._work, self.bodies.spec, self._rows
        _restart_rows(built, rows, work.v, work.omega)
        crossed = (built.before[:rows, 0] + built.target[:rows] < 0.0) & (built.law[:rows, 1] > 0.0)
        if not crossed.any():
            return False
        _restart_rows(built, rows, spec.v, spec.omega)
        return bool((crossed & (built.before[:rows, 0] < 0.0)).any())

    def _collide(self, rows: int, dt: float) -> tuple[int, int]:
        """Collisions of the rows with restitution; pairs that bounced and were clamped."""
        work, spec = self._work, self.bodies.spec
        slot, mobility = work.apart, work.no_mobility
        if self.joints is not None:
            if not self._bouncing(rows):
                return 0, 0
            work.dv[...], work.domega[...] = work.v - spec.v, work.omega - spec.omega
            slot, mobility = self.joints.mobility(self._rows.body[:rows])
        self._rows.start[:rows] = 0.0
        collided, clamped = _collide_pairs(
            self._rows, work.starts, work.pairs, spec, work.v, work.omega, work.inv_inertia, dt, COLLISION_PASSES,
            self.settings.clamp, work.depth, work.queue, slot, mobility, work.contact_force, work.contact_torque,
        )  # fmt: skip
        if collided:
            self.record.note("collisions", self._rows, rows, spec.x, self._rows.start, self._gap)
        if collided and self.joints is not None:
            # the joints' share of the change once more, from the momenta, which have that of contact alone: its
            # impulses are counted, and limits take part
            self.bodies.derive_velocities()
            self._joined.add(self.joints.post_stabilise(spec.v, spec.omega))
            _derive_momenta(spec)
            work.v[...], work.omega[...] = spec.v + work.dv, spec.omega + work.domega
        return int(collided), int(clamped)

    def _hold(self, rows: int, memory: Memory, time: float, dt: float, final: bool = False) -> _Solve:
        """Contact and joints on work.v, work.omega, in turn where there are both."""
        work, joints = self._work, self.joints
        solve = NO_SOLVE
        for turn in range(JOINT_ROUNDS if joints is not None and rows else 1):
            if turn:
                again = self._solve_disturbed(rows, memory, dt)
                if again is None:
                    break
                solve = again
            elif rows:
                solve = self._solve_contacts(rows, memory, dt, True)
            if joints is not None and final:
                stats = joints.post_stabilise(work.v, work.omega)
                self._joined.add(stats)
                self._joined.rate = stats.error
            elif joints is not None:
                self._joined.add(joints.pre_stabilise(work.v, work.omega, time, dt, self._advance(dt)))
        if joints is not None and not final:
            joints.carry(self.bodies.p_b, self.bodies.L_b)
        self._remember(rows, memory, dt)
        return self._violated(solve, rows) if joints is not None and rows else solve

    def _solve_disturbed(self, rows: int, memory: Memory, dt: float) -> _Solve | None:
        """Contact again after joints; None if its first sweeps find nothing to change: all is as the joints left it."""
        work, impulse = self._work, self._rows.impulse[:rows].copy()
        work.dv[...], work.domega[...] = work.v, work.omega
        solve = self._solve_contacts(rows, memory, dt, False)
        if solve.sweeps > 2 or solve.unconverged:
            return solve
        work.v[...], work.omega[...] = work.dv, work.domega
        self._rows.impulse[:rows] = impulse
        return None

    def _violated(self, solve: _Solve, rows: int) -> _Solve:
        """The contact solve with what joints, which come last, have left of it: contacts that close too fast."""
        _restart_rows(self._rows, rows, self._work.v, self._work.omega)
        left = -float((self._rows.before[:rows, 0] + self._rows.target[:rows]).min())
        return solve._replace(
            residual=max(solve.residual, left), unconverged=int(max(solve.residual, left) > solve.goal)
        )

    def _advance(self, dt: float) -> Callable[[Array, Array, Array, Array], None]:
        """The position update of this step, for pre-stabilisation."""
        spec = self.bodies.spec
        order, fix = self._update
        return lambda v, omega, out_x, out_q: advance_poses(spec, v, omega, dt, order, fix, out_x, out_q)

    def _solve_contacts(self, rows: int, memory: Memory, dt: float, start: bool) -> _Solve:
        work, bodies, settings = self._work, self.bodies, self.settings
        masses = bodies.inv_mass_b, work.inv_inertia
        if start:
            scale = dt / memory.dt if memory.count else 0.0
            _start_rows(
                self._rows, rows, bodies.kind_b, bodies.identity_b, memory.keys, memory.point, memory.impulse,
                memory.count, scale, work.v, work.omega, *masses,
            )  # fmt: skip
        else:
            _restart_rows(self._rows, rows, work.v, work.omega)
        sweeps, residual, goal = _solve_rows(
            self._rows,
            rows,
            work.history,
            work.gram,
            work.packed,
            work.v,
            work.omega,
            *masses,
            self._most_iterations(rows),
            settings.tolerance,
            # bodies that fall side by side touch with no velocity but rounding: there is nothing to reach
            ROUNDING * float(np.abs(work.v).max()),
        )
        clamped = 0
        if settings.clamp:
            clamped = _clamp_rows(self._rows, rows, work.v, work.omega, *masses, work.energy, work.slope, work.scale)
        return _Solve(int(sweeps), float(residual), float(goal), int(clamped), int(residual > goal))

    def _most_iterations(self, rows: int) -> int:
        """Of a contact solve: those of the settings, more for what stands higher than LOW bodies on each other."""
        level = self._work.level[self._rows.body[:rows]].min(axis=1)
        # bodies that nothing connects with the ground have no level
        height = 1 + int(level.max(where=level <= self.bodies.count, initial=0))
        return int(self.settings.iterations * max(1.0, (height / LOW) ** 2))

    def _remember(self, rows: int, memory: Memory, dt: float) -> None:
        memory.reserve(len(self._rows.source))
        memory.count, memory.dt = rows, dt
        bodies = self.bodies
        _remember_rows(self._rows, rows, bodies.kind_b, bodies.identity_b, memory.keys, memory.point, memory.impulse)

    def _resolve(self, contacts: ContactSpec, count: int, share: float, central: bool = True) -> tuple[int, float]:
        """Interpenetration resolution; sweeps and the depth left [m]."""
        work, spec = self._work, self.bodies.spec
        resolved, depth = resolve_interpenetration(
            contacts, count, spec, spec.x, spec.q, work.inv_inertia, work.allowed, self.settings.resolve_iterations,
            self.bodies.dimensions, self._overlaps, share, central,
        )  # fmt: skip
        if resolved:
            placed = remember_places(self._overlaps, spec, work.inv_inertia)
            if self.joints is not None:
                self._joined.iterations += self.joints.close().iterations
            _invert_inertia(spec, spec.q, work.inv_inertia)
            restore_momenta(self._overlaps, spec, placed, work.inv_inertia)
            self.bodies.derive_velocities()
        return resolved, depth

    # contact in a fluid, which moves bodies in the place of gravity and forces --------------------------------------

    def remembered_impulses(self, contacts: FoundContacts, memory: Memory, dt: float) -> Array:
        """Impulses (n, 6) [N s, N m s] of the contacts that ``memory`` has of the last step, at those of now; it keeps
        no others."""
        work, bodies = self._work, self.bodies
        rows = self._build_rows(*contacts, True, dt) if contacts.size and memory.count else 0
        if not rows:
            memory.count = 0
            return np.zeros((bodies.count, 6))
        _start_rows(
            self._rows, rows, bodies.kind_b, bodies.identity_b, memory.keys, memory.point, memory.impulse, memory.count,
            dt / memory.dt, work.v, work.omega, bodies.inv_mass_b, work.inv_inertia,
        )  # fmt: skip
        self._remember(rows, memory, dt)
        return self._impulses_of(rows, memory)

    @contextmanager
    def with_masses(self, inv_mass_b: Array, inv_inertia_b: Array) -> Iterator[tuple[Array, Array]]:
        """Contact is solved with these inverse masses (n,) and principal moments (n, 3); they are given as 1/m (n,) and
        world inverse inertias (n, 6)."""
        spec, work = self.bodies.spec, self._work
        own = spec.inv_mass.copy(), spec.inv_inertia.copy()
        spec.inv_mass[...], spec.inv_inertia[...] = inv_mass_b, inv_inertia_b
        _invert_inertia(spec, spec.q, work.inv_inertia)
        try:
            yield spec.inv_mass, work.inv_inertia
        finally:
            spec.inv_mass[...], spec.inv_inertia[...] = own
            _invert_inertia(spec, spec.q, work.inv_inertia)

    def contact_impulses(self, contacts: FoundContacts, memory: Memory, twist_b: Array, dt: float) -> Array:
        """Impulses (n, 6) [N s, N m s] of contact on bodies that would move with twists (n, 6); memory: where the solve
        starts, and what it found."""
        work = self._work
        work.v[...], work.omega[...] = twist_b[:, :3], twist_b[:, 3:]
        rows = self._build_rows(*contacts, True, dt)
        self._in_fluid = self._solve_contacts(rows, memory, dt, True) if rows else NO_SOLVE
        self._remember(rows, memory, dt)
        self.record.note("fluid", self._rows, rows, self.bodies.x_b, memory.impulse, self._gap)
        return self._impulses_of(rows, memory)

    def _impulses_of(self, rows: int, memory: Memory) -> Array:
        """Impulses (n, 6) of a contact solve, body by body."""
        work = self._work
        work.gained_p[...], work.gained_L[...] = 0.0, 0.0
        _give_momentum(self._rows, rows, memory.impulse, work.gained_p, work.gained_L)
        return np.concatenate([work.gained_p, work.gained_L], axis=1)

    def _gather(self, rows: int, memory: Memory) -> None:
        """Impulses of the last contact solve on every body, into the sums of the step too."""
        work = self._work
        work.gained_p[...], work.gained_L[...] = 0.0, 0.0
        _give_momentum(self._rows, rows, memory.impulse, work.gained_p, work.gained_L)
        work.contact_force += work.gained_p
        work.contact_torque += work.gained_L
        solve = "positions" if memory is self._positions else "velocities"
        self.record.note(solve, self._rows, rows, self.bodies.x_b, memory.impulse, self._gap)

    def _carry(self, rows: int) -> None:
        """The impulses that positions move by act on the momenta of n too."""
        self._gather(rows, self._positions)
        work, spec = self._work, self.bodies.spec
        dynamic = spec.kind == DYNAMIC
        spec.p[dynamic] += work.gained_p[dynamic]
        spec.L[dynamic] += work.gained_L[dynamic]

    def _follow(self, dt: float) -> None:
        """Close joints that the velocities of the step could not hold."""
        if self.joints is not None:
            self._joined.closings += self.joints.follow(self.bodies.p_b, self.bodies.L_b, dt).iterations

    def _turn_velocities(self) -> None:
        """Post-stabilisation of v^n (4.6, step 3): bodies have turned, and what they carry no longer fits the joints.

        Only contact, which comes before the joints in step V, can see that: P (P v + dt a) = P (v + dt a) for the
        projection P of the joints, so that without contact the one at the end does both (record 030).
        """
        spec = self.bodies.spec
        if self.joints is not None:
            self.bodies.derive_velocities()
            self._joined.add(self.joints.post_stabilise(spec.v, spec.omega))
            _derive_momenta(spec)

    def _finish(self, rows: int, dt: float) -> None:
        """Momenta and velocities of n+1, and the forces of the step."""
        work, spec = self._work, self.bodies.spec
        self._gather(rows, self._velocities)
        work.contact_force /= dt
        work.contact_torque /= dt
        if self.joints is None:
            dynamic = spec.kind == DYNAMIC
            spec.p[dynamic] += work.gained_p[dynamic]
            spec.L[dynamic] += work.gained_L[dynamic]
        else:
            spec.v[...], spec.omega[...] = work.v, work.omega
            _derive_momenta(spec)
            self._joined.unswept = self.joints.unswept
            self._joined.broken = self.joints.end_step(dt)
        self.bodies.derive_velocities()


class FoundContacts(NamedTuple):
    """Contacts at the poses of now, the first ``size`` of them."""

    contacts: ContactSpec
    size: int


class RigidStages:
    """The rigid bodies in one step of the scheme (``undertow.solids.scheme``).

    In a fluid (``in_fluid``) neither gravity nor forces act: positions move with ``half`` (n, 6), twists of the middle
    of the step that a solve has found before, and the fluid advances momenta in the place of ``advance``.
    """

    def __init__(
        self, solids: Solids, force: Array | None = None, torque: Array | None = None, in_fluid: bool = False,
        half: Array | None = None,
    ) -> None:  # fmt: skip
        self.solids, self.in_fluid, self.half = solids, in_fluid, half
        self._given = force, torque
        self.contacts: FoundContacts
        """Where positions have moved to."""
        self._collided, self._resolved = (0, 0), 0
        self._penetration, self._rows = 0.0, 0

    @property
    def given(self) -> tuple[Array, Array]:
        """Forces (n, 3) [N] and torques (n, 3) [N m] of the step."""
        force, torque = self._given
        none = np.zeros((self.solids.bodies.count, 3))
        return none if force is None else force, none if torque is None else torque

    def load(self, force: Array, torque: Array) -> None:
        """Forces (n, 3) [N] and torques (n, 3) [N m] of the step; before it evolves."""
        self._given = force, torque

    @property
    def way(self) -> tuple[Array, Array]:
        """Velocities (n, 3) [m/s] and (n, 3) [rad/s] that the stage of now is about."""
        return self.solids._work.v, self.solids._work.omega

    def evolve(self, time: float, dt: float) -> None:
        """I, kinematic bodies at the velocities of t + dt/2."""
        solids = self.solids
        self._before, self._force, self._torque = solids._begin(dt, *self._given)
        solids.bodies.move_kinematic(time + 0.5 * dt, place=False)
        self._evolve(dt)

    def _evolve(self, dt: float) -> None:
        """Velocities at the middle of a step dt [s]."""
        solids, work, spec = self.solids, self.solids._work, self.solids.bodies.spec
        part = 0.0 if self.in_fluid else 0.5 * dt
        _evolve_velocities(spec, solids.gravity, self._force, self._torque, part, work.v, work.omega)
        if self.half is not None:
            dynamic = spec.kind == DYNAMIC
            work.v[dynamic], work.omega[dynamic] = self.half[dynamic, :3], self.half[dynamic, 3:]

    def collide(self, dt: float) -> None:
        """II, on v^n; v^n+1/2 goes along."""
        solids, spec = self.solids, self.solids.bodies.spec
        found = solids._find_contacts(solids._work.reach_of(spec, dt))
        while solids.sleepers.wake_touched(*found):
            self._evolve(dt)
            found = solids._find_contacts(solids._work.reach_of(spec, dt))
        self._rows = solids._build_rows(*found, False, dt)
        self._collided = solids._collide(self._rows, dt)
        solids._work.keep_velocities(spec)

    def hold(self, time: float, dt: float) -> None:
        """III: motors, contact and joints on v^n+1/2."""
        self._drive(time, dt, carry=True)
        self._first = self.solids._hold(self._rows, self.solids._positions, time, dt)
        self.solids._carry(self._rows)

    def _drive(self, time: float, dt: float, carry: bool) -> None:
        if self.solids.joints is not None:
            self.solids.joints.apply_control(*self.way, time, dt, carry)

    def move(self, time: float, dt: float) -> None:
        """IV: positions, interpenetration, joints on v^n."""
        self._move(time, dt)
        if self.contacts.size:
            self.solids._turn_velocities()

    def _move(self, time: float, dt: float) -> None:
        solids, spec, work = self.solids, self.solids.bodies.spec, self.solids._work
        advance_poses(spec, work.v, work.omega, dt, *solids._update, spec.x, spec.q)
        solids.bodies.move_kinematic(time + dt, place=True)
        solids._follow(dt)
        found = solids._find_contacts(work.near)
        while solids.sleepers.wake_touched(*found):
            found = solids._find_contacts(work.near)
        self.contacts = FoundContacts(*found)
        self._resolved, self._penetration = solids._resolve(*self.contacts, PUSH)

    def advance(self, time: float, dt: float) -> None:
        """V: momenta to n+1."""
        _advance_momenta(self.solids.bodies.spec, self.solids.gravity, self._force, self._torque, dt)
        self.take_velocities()

    def take_velocities(self) -> None:
        """The velocities of n+1 are those of the bodies' momenta."""
        self.solids.bodies.derive_velocities()
        self.solids._work.take_velocities(self.solids.bodies.spec)

    def settle(self, time: float, dt: float) -> None:
        """V: motors, contact and joints again."""
        solids = self.solids
        self._rows = solids._build_rows(*self.contacts, True, dt)
        self._drive(time, dt, carry=False)
        self._second = solids._hold(self._rows, solids._velocities, time, dt, final=True)
        solids._finish(self._rows, dt)

    def finish(self, time: float, dt: float) -> None:
        """Nothing: bodies follow nobody."""

    def report(self) -> SolidsReport:
        """What the step did."""
        solids = self.solids
        solves = self._first, self._second, solids._in_fluid
        return SolidsReport(
            self._rows, self._collided[0], self._collided[1] + sum(one.clamped for one in solves),
            max(one.sweeps for one in solves), max(one.residual for one in solves),
            sum(one.unconverged for one in solves), self._resolved, self._penetration, solids._joined,
            *self._before, *solids.energy(),
        )  # fmt: skip


class KickedStages(RigidStages):
    """The rigid bodies in a leapfrog (``coupling.leapfrog``): their momenta are those of the middles of steps, so that
    positions move with them, and motors act in the kick, before the fluid answers."""

    def __init__(self, solids: Solids) -> None:
        super().__init__(solids, in_fluid=True)

    def _drive(self, time: float, dt: float, carry: bool) -> None:
        """Nothing: see ``kick``."""

    def move(self, time: float, dt: float) -> None:
        """IV: positions, interpenetration; joints on the momenta, as they are seen from now on."""
        self._move(time, dt)
        self.solids._turn_velocities()

    def stand(self, time: float) -> None:
        """In the place of I to IV where nothing has moved: the contacts that there are at a time [s]."""
        solids = self.solids
        self._before, self._force, self._torque = solids._begin(1.0, *self._given)
        work = solids._work
        solids.bodies.move_kinematic(time, place=False)
        work.take_velocities(solids.bodies.spec)
        work.keep_velocities(solids.bodies.spec)
        work.contact_force[...], work.contact_torque[...] = 0.0, 0.0
        self._first = NO_SOLVE
        self.contacts = FoundContacts(*solids._find_contacts(work.near))

    def kick(self, time: float, kick: float, dt: float) -> None:
        """Motors over ``kick`` [s] at the poses of ``time`` [s]; kinematic bodies have the velocities of the middle of
        the step dt [s] that follows."""
        solids, spec = self.solids, self.solids.bodies.spec
        solids.bodies.move_kinematic(time + 0.5 * dt, place=False)
        if solids.joints is not None and solids.joints.controls:
            solids.bodies.derive_velocities()
            solids.joints.drive(spec.v, spec.omega, time, dt, kick)
            _derive_momenta(spec)


class _Solve(NamedTuple):
    """What a contact solve did."""

    sweeps: int
    residual: float
    goal: float
    clamped: int
    unconverged: int


NO_SOLVE = _Solve(0, 0.0, 0.0, 0, 0)
