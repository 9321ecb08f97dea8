"""One time step of all solids, in the five steps of thesis 4.2 [@schroeder2011]: a Newmark scheme.

Positions move with a velocity of their own, v^n+1/2, that closes gaps exactly and holds joints. The impulses of that
act on the momenta at n too, less what closes old errors of joints: contact and joints work at both ends of the step, as
in RATTLE (Andersen 1983).

All geometry of steps II and III is that of x^n: contacts are found within the reach of the step and may close their
gap, not more. Impulses act at one point on both bodies, and bodies move along the momentum that they carry, so linear
and angular momentum are conserved to round-off over whole steps, but for the parting of overlaps, which moves bodies
and leaves their momenta as they are (4.6.1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numba import njit

from undertow.errors import UserError
from undertow.grid import Array
from undertow.rigid.bodies import DYNAMIC, RigidBodies, apply_inverse_inertia, rotate, rotate_back
from undertow.rigid.joint import BrokenJoint, JointStats
from undertow.rigid.joints import Joints
from undertow.rigid.narrow import ContactSpec
from undertow.rigid.orientation import advance_poses, rotational_energy
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
from undertow.solids.finder import ContactFinder
from undertow.solids.interpenetration import Overlaps, resolve_interpenetration
from undertow.solids.medium import (
    INNER_ROUNDS,
    MEDIUM_ROUNDS,
    MEDIUM_TOLERANCE,
    SUPPORT,
    Answers,
    Medium,
    apply_masses,
    observe,
)
from undertow.solids.rows import (
    Memory,
    _build_rows,
    _give_momentum,
    _remember_rows,
    _restart_rows,
    _start_rows,
)
from undertow.solids.work import StepWork

COLLISION_PASSES = 5
"""Of all colliding pairs (Guendelman, Bridson and Fedkiw 2003 take five)."""

PUSH = 0.2
"""Part of a push out of an overlap that is made per step: in a dense pile a whole one overlaps others."""

JOINT_ROUNDS = 4
"""Contact and joints in turn, where there are both."""

ROUNDING = 1e-13
"""Changes of a velocity below this part of the fastest are rounding, whatever the tolerance."""


@dataclass(frozen=True)
class SolidSettings:
    """What can be chosen of the step.

    gravity (3,) [m/s2]; orientation_order 1, 2 or 3 and energy_fix: see ``undertow.rigid.orientation``; clamp: impulses
    never raise the kinetic energy (thesis 2.3.2); iterations: at most so many sweeps up and down of a contact solve;
    tolerance: of it, largest change of a velocity relative to the largest violation; resolve_iterations: of the
    interpenetration resolution per step; touch: contacts with a gap below this part of a body's size touch; allowed:
    overlap, as a part of a body's size, that is left alone.
    """

    gravity: tuple[float, float, float] = (0.0, -9.81, 0.0)
    orientation_order: int = 2
    energy_fix: bool = True
    clamp: bool = True
    iterations: int = 50
    tolerance: float = 1e-5
    resolve_iterations: int = 2
    touch: float = 2e-3
    allowed: float = 2e-3

    def __post_init__(self) -> None:
        if self.orientation_order not in (1, 2, 3):
            raise UserError(
                f"orientation_order = {self.orientation_order}: the orientation updates are of order 1, 2 or 3"
            )
        for name in ("iterations", "tolerance", "resolve_iterations", "touch", "allowed"):
            if not getattr(self, name) > 0:
                raise UserError(f"{name} = {getattr(self, name)}: must be positive")


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
    scaled back; iterations, residual [m/s]: of the two contact solves, the larger; unconverged: how many of them
    stopped short of their tolerance, or were undone by joints; resolve_iterations, penetration [m]: sweeps of the
    interpenetration resolution and the deepest overlap it leaves. joints: what was done to hold them.
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
        self._positions, self._velocities, self._met = Memory(), Memory(), Memory()
        self._overlaps = Overlaps()
        self._rows = make_rows(0)
        self._work = StepWork(bodies, shapes, self.settings)
        self._joined = JointReport()

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

    def arrays(self) -> dict[str, Array]:
        """What evolves beside the bodies: the impulses the next contact solves start from."""
        memories = self._memories.items()
        return {f"solids_{m}_{key}": array for m, memory in memories for key, array in memory.arrays().items()}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Take over what ``arrays`` gave."""
        for name, memory in self._memories.items():
            if name == "met" and "solids_met_keys" not in arrays:  # checkpoints from before contact was expected
                memory.count = 0
                continue
            memory.restore(*(arrays[f"solids_{name}_{key}"] for key in ("keys", "point", "impulse", "dt")))

    @property
    def _memories(self) -> dict[str, Memory]:
        return {"positions": self._positions, "velocities": self._velocities, "met": self._met}

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

    def step(
        self, time: float, dt: float, force_b: Array | None = None, torque_b: Array | None = None,
        medium: Medium | None = None,
    ) -> SolidsReport:  # fmt: skip
        """Advance from ``time`` by ``dt`` [s] under gravity, forces (n, 3) [N] and torques (n, 3) [N m].

        medium: what the bodies move in advances their momenta in the place of gravity and forces. Positions then move
        with v^n: what acts on the bodies is not known before.
        """
        before, force, torque = self._begin(dt, force_b, torque_b)
        bodies, work, spec = self.bodies, self._work, self.bodies.spec

        # I: velocities to n+1/2, kinematic bodies at those of t + dt/2
        bodies.move_kinematic(time + 0.5 * dt, place=False)
        _evolve_velocities(spec, self.gravity, force, torque, 0.5 * dt if medium is None else 0.0, work.v, work.omega)
        # II: collisions on v^n; v^n+1/2 goes along
        rows = self._build_rows(*self._find_contacts(work.reach_of(spec, dt)), False, dt)
        collisions = self._collide(dt)
        work.keep_velocities(spec)
        # III: motors, contact and joints on v^n+1/2
        first = self._hold(rows, self._positions, time, dt)
        self._carry(rows)
        # IV: positions, interpenetration, joints on v^n
        advance_poses(spec, work.v, work.omega, dt, *self._update, spec.x, spec.q)
        bodies.move_kinematic(time + dt, place=True)
        self._follow(dt)
        contacts, count = self._find_contacts(work.near)
        resolved, penetration = self._resolve(contacts, count, PUSH)
        self._turn_velocities(count)
        # V: velocities to n+1; contact and joints again
        if medium is None:
            _advance_momenta(spec, self.gravity, force, torque, dt)
        else:
            expected = self._expect(contacts, count, dt)
            medium.advance(expected)
            self._meet(medium, contacts, count, dt, expected)
        bodies.derive_velocities()
        work.take_velocities(spec)
        rows = self._build_rows(contacts, count, True, dt)
        second = self._hold(rows, self._velocities, time, dt, final=True)
        self._finish(rows, dt)
        return SolidsReport(
            rows, collisions[0], collisions[1] + first.clamped + second.clamped, max(first.sweeps, second.sweeps),
            max(first.residual, second.residual), first.unconverged + second.unconverged, resolved, penetration,
            self._joined, *before, *self.energy(),
        )  # fmt: skip

    def collide(self, time: float, dt: float) -> tuple[int, int]:
        """Steps I and II alone, of a step dt [s]: collisions on the momenta; pairs that bounced and were clamped."""
        self._begin(dt, None, None)
        bodies, work, spec = self.bodies, self._work, self.bodies.spec
        bodies.move_kinematic(time + 0.5 * dt, place=False)
        _evolve_velocities(spec, self.gravity, work.nothing, work.nothing, 0.5 * dt, work.v, work.omega)
        self._build_rows(*self._find_contacts(work.reach_of(spec, dt)), False, dt)
        return self._collide(dt)

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
        self._joined = JointReport()
        self.prepare()
        self.bodies.derive_velocities()
        return self.energy(), self._work.given(force, "force"), self._work.given(torque, "torque")

    @property
    def _update(self) -> tuple[int, bool]:
        return self.settings.orientation_order, self.settings.energy_fix

    def prepare(self) -> None:
        """Scratch for the bodies there are, and their sizes; forces start at 0 where bodies came or went."""
        if self._work.stale(self.bodies):
            self._work = StepWork(self.bodies, self.shapes, self.settings)
            self._work.reserve(len(self._rows.source))
        if self.joints is not None:
            self.finder.pairs.exclude(map(tuple, self.joints.excluded_pairs().tolist()))

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
        return int(rows)

    def _collide(self, dt: float) -> tuple[int, int]:
        """Collisions with restitution; pairs that bounced and were clamped."""
        work, spec = self._work, self.bodies.spec
        collided, clamped = _collide_pairs(
            self._rows, work.starts, work.pairs, spec, work.v, work.omega, work.inv_inertia, dt, COLLISION_PASSES,
            self.settings.clamp, work.depth, work.queue, work.contact_force, work.contact_torque,
        )  # fmt: skip
        if collided and self.joints is not None:
            work.dv[...], work.domega[...] = work.v - spec.v, work.omega - spec.omega
            self._joined.add(self.joints.post_stabilise(spec.v, spec.omega))
            _derive_momenta(spec)
            work.v[...], work.omega[...] = spec.v + work.dv, spec.omega + work.domega
        return int(collided), int(clamped)

    def _hold(self, rows: int, memory: Memory, time: float, dt: float, final: bool = False) -> _Solve:
        """Contact and joints on work.v, work.omega, in turn where there are both."""
        work, joints = self._work, self.joints
        if joints is not None:
            joints.apply_control(work.v, work.omega, time, dt, carry=not final)
        solve = _Solve(0, 0.0, 0.0, 0, 0)
        for turn in range(JOINT_ROUNDS if joints is not None and rows else 1):
            if rows:
                solve = self._solve_contacts(rows, memory, dt, turn == 0)
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
            settings.iterations,
            settings.tolerance,
        )
        clamped = 0
        if settings.clamp:
            clamped = _clamp_rows(self._rows, rows, work.v, work.omega, *masses, work.energy, work.slope, work.scale)
        # bodies that fall side by side touch with no velocity but rounding: there is nothing to reach
        goal = max(float(goal), ROUNDING * float(np.abs(work.v).max()))
        return _Solve(int(sweeps), float(residual), goal, int(clamped), int(residual > goal))

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
            if self.joints is not None:
                self._joined.iterations += self.joints.close().iterations
            _invert_inertia(spec, spec.q, work.inv_inertia)
        return resolved, depth

    def _expect(self, contacts: ContactSpec, count: int, dt: float) -> Array:
        """Impulses (n, 6) of the last step's contact in a medium, at the contacts of now."""
        work, memory, bodies = self._work, self._met, self.bodies
        expected = np.zeros((bodies.count, 6))
        rows = self._build_rows(contacts, count, True, dt) if count and memory.count else 0
        if not rows:
            memory.count = 0
            return expected
        _start_rows(
            self._rows, rows, bodies.kind_b, bodies.identity_b, memory.keys, memory.point, memory.impulse, memory.count,
            dt / memory.dt, work.v, work.omega, bodies.inv_mass_b, work.inv_inertia,
        )  # fmt: skip
        self._remember(rows, memory, dt)
        self._sum_met(rows, expected)
        weight = SUPPORT * dt * float(np.linalg.norm(self.gravity))
        if (np.linalg.norm(expected[:, :3], axis=1) * bodies.inv_mass_b > weight).any():
            memory.count = 0
            expected[...] = 0.0
        return expected

    def _meet(self, medium: Medium, contacts: ContactSpec, count: int, dt: float, given: Array) -> None:
        """Contact of bodies in a medium: impulses are found with the masses that bodies show in it, and given to both.

        given (n, 6): impulses that have acted already. What the medium does is not known before (``solids.medium``), so
        the impulses are found again from what it answers with: too much is taken back as too little is added. What is
        left is for the contact solve that follows.
        """
        work, spec, bodies = self._work, self.bodies.spec, self.bodies
        if not count:
            return
        own = spec.inv_mass.copy(), spec.inv_inertia.copy()
        bodies.derive_velocities()
        shown, turning = medium.mobility()
        answers = Answers()
        for turn in range(MEDIUM_ROUNDS):
            spec.inv_mass[...], spec.inv_inertia[...] = shown, turning
            change = self._find_met(contacts, count, dt, given, answers)
            spec.inv_mass[...], spec.inv_inertia[...] = own
            _invert_inertia(spec, spec.q, work.inv_inertia)
            # what was expected is corrected once, however little: a body that is carried too well would rise
            if turn and np.abs(change[:, :3]).max() <= MEDIUM_TOLERANCE * np.abs(given[:, :3]).max():
                break
            before = np.concatenate([spec.v, spec.omega], axis=1)
            medium.push(np.ascontiguousarray(change[:, :3]), np.ascontiguousarray(change[:, 3:]))
            bodies.derive_velocities()
            given += change
            answer = np.concatenate([spec.v, spec.omega], axis=1) - before
            answers.add(change, answer)
            shown = observe(change, answer, shown, own[0])
        work.contact_force += given[:, :3]
        work.contact_torque += given[:, 3:]

    def _find_met(self, contacts: ContactSpec, count: int, dt: float, given: Array, answers: Answers) -> Array:
        """Impulses (n, 6) of contact beyond those given, by the masses that bodies show and the answers so far."""
        work, spec, memory = self._work, self.bodies.spec, self._met
        _invert_inertia(spec, spec.q, work.inv_inertia)
        masses = spec.inv_mass, work.inv_inertia
        start = np.concatenate([spec.v, spec.omega], axis=1) - apply_masses(given, masses)
        change, found = np.zeros_like(given), np.zeros_like(given)
        for _ in range(INNER_ROUNDS):
            twist = start + answers.beyond(change, masses)
            work.v[...], work.omega[...] = twist[:, :3], twist[:, 3:]
            rows = self._build_rows(contacts, count, True, dt)
            if rows:
                self._solve_contacts(rows, memory, dt, True)
            self._remember(rows, memory, dt)
            self._sum_met(rows, found)
            found -= given
            moved = float(np.abs(found - change)[:, :3].max())
            change[...] = found
            if moved <= 0.1 * MEDIUM_TOLERANCE * float(np.abs(found + given)[:, :3].max()):
                break
        return change

    def _sum_met(self, rows: int, out: Array) -> None:
        """out (n, 6) = the impulses of contact in a medium, body by body."""
        work = self._work
        work.gained_p[...], work.gained_L[...] = 0.0, 0.0
        _give_momentum(self._rows, rows, self._met.impulse, work.gained_p, work.gained_L)
        out[:, :3], out[:, 3:] = work.gained_p, work.gained_L

    def _gather(self, rows: int, memory: Memory) -> None:
        """Impulses of the last contact solve on every body, into the sums of the step too."""
        work = self._work
        work.gained_p[...], work.gained_L[...] = 0.0, 0.0
        _give_momentum(self._rows, rows, memory.impulse, work.gained_p, work.gained_L)
        work.contact_force += work.gained_p
        work.contact_torque += work.gained_L

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

    def _turn_velocities(self, contacts: int) -> None:
        """Post-stabilisation of v^n (4.6, step 3): bodies have turned, and what they carry no longer fits the joints.

        Only contact, which comes before the joints in step V, can see that: P (P v + dt a) = P (v + dt a) for the
        projection P of the joints, so that without contact the one at the end does both (record 030).
        """
        spec = self.bodies.spec
        if self.joints is not None and contacts:
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


class _Solve(NamedTuple):
    """What a contact solve did."""

    sweeps: int
    residual: float
    goal: float
    clamped: int
    unconverged: int


@njit(cache=True)
def _evolve_velocities(bodies, gravity, force, torque, dt, out_v, out_omega):  # type: ignore[no-untyped-def]
    """v + dt (g + F / m), omega + dt I^-1 torque of the dynamic bodies; of others what they have."""
    for b in range(len(bodies.kind)):
        for i in range(3):
            out_v[b, i] = bodies.v[b, i]
            out_omega[b, i] = bodies.omega[b, i]
        if bodies.kind[b] == DYNAMIC:
            x, y, z = apply_inverse_inertia(
                bodies.q[b], bodies.inv_inertia[b], dt * torque[b, 0], dt * torque[b, 1], dt * torque[b, 2]
            )
            out_omega[b, 0] += x
            out_omega[b, 1] += y
            out_omega[b, 2] += z
            for i in range(3):
                out_v[b, i] += dt * (gravity[i] + bodies.inv_mass[b] * force[b, i])


@njit(cache=True)
def _advance_momenta(bodies, gravity, force, torque, dt):  # type: ignore[no-untyped-def]
    """p + dt (m g + F), L + dt torque of the dynamic bodies."""
    for b in range(len(bodies.kind)):
        if bodies.kind[b] == DYNAMIC:
            for i in range(3):
                bodies.p[b, i] += dt * (gravity[i] / bodies.inv_mass[b] + force[b, i])
                bodies.L[b, i] += dt * torque[b, i]


@njit(cache=True)
def _derive_momenta(bodies):  # type: ignore[no-untyped-def]
    """p = m v, L = I omega of the dynamic bodies."""
    for b in range(len(bodies.kind)):
        if bodies.kind[b] == DYNAMIC:
            x, y, z = rotate_back(bodies.q[b], bodies.omega[b, 0], bodies.omega[b, 1], bodies.omega[b, 2])
            k = bodies.inv_inertia[b]
            x = x / k[0] if k[0] > 0.0 else 0.0
            y = y / k[1] if k[1] > 0.0 else 0.0
            z = z / k[2] if k[2] > 0.0 else 0.0
            bodies.L[b, 0], bodies.L[b, 1], bodies.L[b, 2] = rotate(bodies.q[b], x, y, z)
            for i in range(3):
                bodies.p[b, i] = bodies.v[b, i] / bodies.inv_mass[b]


@njit(cache=True)
def _measure_energy(bodies, gravity):  # type: ignore[no-untyped-def]
    """(kinetic, potential) energy of the dynamic bodies, from their momenta."""
    kinetic, potential = 0.0, 0.0
    for b in range(len(bodies.kind)):
        if bodies.kind[b] == DYNAMIC:
            p, x = bodies.p[b], bodies.x[b]
            kinetic += 0.5 * bodies.inv_mass[b] * (p[0] * p[0] + p[1] * p[1] + p[2] * p[2])
            kinetic += rotational_energy(bodies.q[b], bodies.inv_inertia[b], bodies.L[b])
            potential -= (gravity[0] * x[0] + gravity[1] * x[1] + gravity[2] * x[2]) / bodies.inv_mass[b]
    return kinetic, potential
