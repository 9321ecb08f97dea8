"""Particles and rigid bodies by direct forcing (Becker, Tessendorf and Teschner 2009 [@becker2009], algorithm 1).

A step (the box is ``forcing_schemes``):

    neighbours, fluid and body forces                   1, 2
    v*, x* of fluid and bodies                          3    prediction
    contacts of particles with bodies at x*             4
    control forces                                      5    local (12) or global (18)
    velocities with them; bodies move                   6    contact among bodies, friction, joints: ``Solids``
    again from 3, where bodies touch                         until control forces and contact among bodies agree
    particles pushed out of the bodies                  7-9  (20)

Fluid and bodies exchange the pressure and viscous forces of boundary particles, equal and opposite along the line
between two particles, and the control forces. Contacts are found in the bodies' signed distances: a particle touches
where its distance is less than its radius, so contact points lie on the true surface, with the normals of the body.

Where no body is free to move, or none is to be moved by the fluid (``one_way``, equations (21) and (22)), the step is
that of algorithm 2: the bodies move first, their velocities at the contacts are known, no system is solved, and one
search for contacts corrects velocities and places of the fluid.

Where the paper is left: with full slip (eps = 1) a control force is normal; slip acts on all particles of the layer
next to a body, as the pressure of boundary particles keeps many a hair's breadth away from it; a particle may touch
several bodies, whose solves are repeated in turn; contacts that would pull are dropped; forces act on body and particle
at one point, at the particle, unless ``at_surface`` asks for the paper's two points, which make angular momentum.

Bodies that touch each other, a wall or a joint: the impulses by which they are held change the velocities that control
forces are made for, and the other way round. The step of the bodies is repeated with the prediction v* holding the
impulses last found, over-relaxed by the change they made (Aitken), until they change no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from undertow.coupling.crack_points import CrackPoints
from undertow.coupling.forcing_contacts import (
    NEXT_TO,
    NOTHING,
    Poses,
    Rules,
    Twists,
    _find_contacts,
    _gather_forces,
    _list_near,
    _measure_distances,
    _place_boundary,
    _predict_bodies,
    _push_out,
    make_contacts,
    make_near,
)
from undertow.coupling.forcing_solves import _largest_error, _solve_global, _solve_local, _sum_control
from undertow.errors import UserError
from undertow.grid import Array, share
from undertow.rigid.bodies import DYNAMIC, STATIC, BodySpec, RigidBodies, rotation_matrix_of
from undertow.rigid.shapes import CollisionShapes
from undertow.solids import Solids, SolidsReport
from undertow.sph import SphFluid, check_share

ROUNDS = 8
"""Of control forces and contact among bodies, at most."""

AGREED = 1e-6
"""Change of a body's velocity in a round, in sound speeds, at which they agree."""

TURNS = 8
"""Solves of the global scheme, where a particle touches several bodies or contacts pull."""

SETTLING, DAMPING, SETTLED = 200, 0.9, 1e-4
"""Steps for particles to find their places before the run, at most; share of the velocity kept in each; way in a step
at which they have [spacings]."""


@dataclass(frozen=True)
class ForcingSettings:
    """slip: eps, share of the tangential velocity kept (0 sticks, 1 slides); restitution: delta; scheme: "local" or
    "global"; at_surface: the reaction acts at the contact point, as in the paper, in place of the particle; one_way:
    bodies move the fluid, the fluid does not move them (21)."""

    slip: float = 1.0
    restitution: float = 0.0
    scheme: str = "global"
    at_surface: bool = False
    one_way: bool = False

    def __post_init__(self) -> None:
        check_share("slip", self.slip)
        check_share("restitution", self.restitution)
        if self.scheme not in ("local", "global"):
            raise UserError(f"sph.scheme = {self.scheme!r}: the schemes are local and global")


def body_frames(bodies: RigidBodies, position: Sequence[Array]) -> tuple[Array, Any]:
    """Boundary particles of every body b, position[b] (n_b, 3) [m] in the world, all together in the principal frames
    (n, 3) [m], and the bodies they belong to (n,)."""
    local = [(p - bodies.x_b[b]) @ rotation_matrix_of(bodies.q_b[b]) for b, p in enumerate(position)]
    return np.concatenate(local), np.repeat(np.arange(len(position)), [len(p) for p in position])


class DirectForcing:
    """Fluid, bodies and their exchange; local (n, 3) [m]: boundary particles in the principal frames of body (n,)."""

    displaces = True
    """Whether boundary particles count in the density of the fluid."""

    def __init__(
        self, fluid: SphFluid, solids: Solids, local: Array, body: Any, settings: ForcingSettings | None = None
    ) -> None:
        self.fluid, self.solids = fluid, solids
        self.bodies: RigidBodies = solids.bodies
        self.shapes: CollisionShapes = solids.shapes
        self.settings = settings or ForcingSettings()
        self.local = np.ascontiguousarray(local, dtype=float)
        self.body = np.ascontiguousarray(body, dtype=np.int64)
        n = self.bodies.count
        self.pressure_b, self.viscous_b, self.torque_b = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3))
        self.control_b, self._control_torque = np.zeros((n, 3)), np.zeros((n, 3))
        self._unmoved = (np.full(n, STATIC, dtype=self.bodies.spec.kind.dtype), np.zeros(n), np.zeros((n, 3)))
        self.load_b = np.zeros((n, 6))
        """Mean force [N] and torque [N m] of loads over the step."""
        self._place, self._velocity = np.zeros_like(self.local), np.zeros_like(self.local)
        self._twists = Twists(np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 4)))
        self._near, self._near_count = make_near(0), 0
        self._contacts = make_contacts(0)
        self.contacts, self.dropped = 0, 0
        self.velocity_error = 0.0
        self.rounds, self.disagreement = 0, 0.0
        self.unfinished_rounds, self.unfinished_turns = False, False
        self.cracks: CrackPoints | None = None
        """Boundary particles of pieces that count by how far cracks are open."""
        self._size = np.zeros(n)
        np.maximum.at(self._size, self.body, np.linalg.norm(self.local, axis=1))
        self._built = -1
        self.place_bodies()

    @property
    def _rules(self) -> Rules:
        """What contacts want, by the settings of now."""
        settings, fluid = self.settings, self.fluid
        return Rules(settings.slip, settings.restitution, fluid.radius, settings.at_surface, fluid.walls)

    def place_bodies(self) -> None:
        """Boundary particles where the bodies are."""
        _place_boundary(self.bodies.spec, self.local, self.body, self._place, self._velocity)

    def begin(self) -> None:
        """Tell the fluid where the bodies are."""
        self.fluid.move_bodies(self._place, self._velocity)
        if self.cracks is not None and self.displaces:
            self.fluid.weigh_bodies(self.cracks.rows, self.cracks.volumes())

    def limits(self) -> dict[str, float]:
        """Longest step [s] beside those of the fluid: a body may come nearer to a particle by half its radius."""
        fastest = float(np.abs(self._velocity).max(initial=0.0))
        return {"body": 0.5 * self.fluid.radius / fastest} if fastest > 0 else {}

    def gather_forces(self) -> None:
        """Forces on the bodies out of those on their boundary particles."""
        given = self.fluid.body_force
        _gather_forces(self.bodies.spec, self._place, self.body, given, self.pressure_b, self.viscous_b, self.torque_b)

    def move(self, time: float, dt: float) -> SolidsReport:
        """Bodies and particles from ``time`` by ``dt`` [s], under control forces: lines 3 to 9 of algorithm 1, or those
        of algorithm 2."""
        self.bodies.move_kinematic(time + dt, place=False)
        report = self._move_one_way(time, dt) if self.is_one_way else self._move_both(time, dt)
        # the torque of control forces is part of the fluid's
        self.torque_b += self._control_torque
        return report

    @property
    def is_one_way(self) -> bool:
        """Whether the fluid moves no body: algorithm 2 is then the whole of algorithm 1."""
        return self.settings.one_way or not (self.bodies.spec.kind == DYNAMIC).any()

    def _move_both(self, time: float, dt: float) -> SolidsReport:
        """Algorithm 1 from line 3: bodies and fluid move each other."""
        report = self._move_bodies(time, dt)
        self.fluid.drift(dt)
        self.place_bodies()
        self.begin()
        self._correct()
        return report

    def _move_one_way(self, time: float, dt: float) -> SolidsReport:
        """Algorithm 2 from line 3: bodies move as if there were no fluid, and the fluid follows their velocities.

        Distances are measured once, at x*: a control force that changes a velocity by dv takes its particle away from
        the body by dt dv . n more.
        """
        spec, fluid, twists, near = self.bodies.spec, self.fluid, self._twists, self._near
        before = spec._replace(
            kind=self._unmoved[0], inv_mass=self._unmoved[1], inv_inertia=self._unmoved[2],
            x=spec.x.copy(), q=spec.q.copy(), v=spec.v.copy(), omega=spec.omega.copy(),
        )  # fmt: skip
        report = self.solids.step(time, dt, self.load_b[:, :3], self.load_b[:, 3:])
        spec = self.bodies.spec
        twists.v[...], twists.omega[...], twists.x[...], twists.q[...] = spec.v, spec.omega, spec.x, spec.q
        rows = near.pair[: self._near_count, 0]
        predicted = fluid.points.spec.motion[rows, :3]
        self._find_contacts(dt, before)
        self._solve(dt, before)
        self.rounds, self.disagreement, self.unfinished_rounds = 1, 0.0, False
        distance = near.distance[: self._near_count]
        gained = np.einsum("ij,ij->i", fluid.points.spec.motion[rows, :3] - predicted, near.normal[: self._near_count])
        distance += np.where(distance < self._reach(dt), dt * gained, 0.0)
        fluid.drift(dt)
        self.place_bodies()
        self.begin()
        self._push_once()
        return report

    def _push_once(self) -> None:
        """Particles out of the bodies by the distances that are known."""
        _push_out(self.fluid.points.spec, self._near, self._near_count, self._rules)

    def settle(self) -> int:
        """Let particles that crowd around the bodies find their places before the run; how many steps it took.

        Damped steps of the fluid, the bodies held, until no particle moves much; then velocities are as they were. The
        rest of the fluid is at rest already and stays.
        """
        fluid = self.fluid
        rows, velocity = fluid.fluid_rows(), fluid.velocities()
        label = fluid.points.spec.label[rows]
        fluid.move_bodies(self._place, np.zeros_like(self._velocity))
        fluid.points.spec.motion[rows, :3] = 0.0
        for steps in range(1, SETTLING + 1):
            dt = min(fluid.limits().values(), default=fluid.smoothing / fluid.sound_speed)
            fluid.prepare()
            self.find_near()
            fluid.accelerate(dt)
            fluid.points.spec.motion[: fluid.count, :3] *= DAMPING
            fluid.kick(dt)
            fluid.drift(dt)
            self._measure(self.bodies.spec.x, self.bodies.spec.q, 0.0)
            self._correct()
            fluid.measure()
            if steps == SETTLING or fluid.totals.speed * dt < SETTLED * fluid.spacing:
                break
        rows = fluid.fluid_rows()  # some may have left through an open side
        fluid.points.spec.motion[rows, :3] = velocity[np.searchsorted(label, fluid.points.spec.label[rows])]
        self.begin()
        fluid.measure()
        return steps

    def _move_bodies(self, time: float, dt: float) -> SolidsReport:
        """Control forces and the step of the bodies, in rounds until both agree on what holds the bodies."""
        force, torque = self.pressure_b + self.viscous_b + self.load_b[:, :3], self.torque_b + self.load_b[:, 3:]
        rows, velocity = self._near.pair[: self._near_count, 0], self.fluid.points.spec.motion
        start, before = self._save(), velocity[rows]
        held, last, factor = np.zeros((2, self.bodies.count, 3)), np.zeros(0), 1.0
        for turn in range(ROUNDS):
            _predict_bodies(self.bodies.spec, self.solids.gravity, force + held[0], torque + held[1], dt, *self._twists)
            self._find_contacts(dt, self.bodies.spec)
            self._solve(dt, self.bodies.spec)
            given = np.stack([force + self.control_b, torque + self._control_torque])
            report = self.solids.step(time, dt, given[0], given[1])
            change = self._held(start, given, dt) - held
            self.rounds, self.disagreement = turn + 1, self._speed_of(change, dt)
            self.unfinished_rounds = self.contacts > 0 and self.disagreement > AGREED * self.fluid.sound_speed
            if not self.unfinished_rounds or turn == ROUNDS - 1:
                break
            if turn > 0:
                turned = change.ravel() - last
                factor *= -float(last @ turned) / max(float(turned @ turned), 1e-300)
            # an impulse that comes and goes must not be taken many times over
            factor = min(max(factor, 0.25), 4.0)
            last = change.ravel()
            held = held + factor * change
            self._restore_start(start)
            velocity[rows] = before
        return report

    def _held(self, start: dict[str, Array], given: Array, dt: float) -> Array:
        """Forces and torques (2, n, 3) of contact and joints in the step: what the momenta gained beside the others."""
        spec, dynamic = self.bodies.spec, self.bodies.spec.kind == DYNAMIC
        gained = np.stack([spec.p - start["rigid_p"], spec.L - start["rigid_L"]]) / dt - given
        gained[0] -= self.bodies.mass_b[:, None] * self.solids.gravity
        return np.where(dynamic[:, None], gained, 0.0)

    def _speed_of(self, change: Array, dt: float) -> float:
        """Largest velocity [m/s] that forces and torques (2, n, 3) give to a point of a body in a step."""
        spec = self.bodies.spec
        turn = np.linalg.norm(change[1], axis=1) * spec.inv_inertia.max(axis=1, initial=0.0) * self._size
        return float(dt * (np.linalg.norm(change[0], axis=1) * spec.inv_mass + turn).max(initial=0.0))

    def _save(self) -> dict[str, Array]:
        """Copies of what a step of the bodies changes."""
        joints = {} if self.solids.joints is None else self.solids.joints.arrays()
        arrays = {**self.bodies.arrays(), **self.solids.arrays(), **joints}
        return {name: np.array(array) for name, array in arrays.items()}

    def _restore_start(self, start: dict[str, Array]) -> None:
        """The bodies as they were."""
        self.bodies.restore(start)
        self.solids.restore(start)
        if self.solids.joints is not None:
            self.solids.joints.restore(start)

    def find_near(self) -> None:
        """Pairs of particles and bodies that may touch before the lists are made anew."""
        fluid = self.fluid
        if self._built == fluid.rebuilds:
            return
        self._built = fluid.rebuilds
        args = (fluid.points.spec, fluid.count, fluid.neighbours.spec, self.body)
        self._near_count = int(_list_near(*args, self._near.pair))
        if self._near_count > len(self._near.pair):
            self._near, self._contacts = make_near(2 * self._near_count), make_contacts(2 * self._near_count)
            # without room a body may be counted more than once
            self._near_count = int(_list_near(*args, self._near.pair))
        pair = self._near.pair[: self._near_count]
        pair[...] = pair[np.argsort(pair[:, 1], kind="stable")]

    def _find_contacts(self, dt: float, before: BodySpec) -> None:
        """Contacts at the predicted poses of bodies that were as ``before`` at the start of the step."""
        self._measure(self._twists.x, self._twists.q, dt)
        args = (self.fluid.points.spec, self._near, self._near_count, before, self._twists, self._rules)
        self.contacts = int(_find_contacts(*args, dt, self._contacts))

    def _solve(self, dt: float, before: BodySpec) -> None:
        self.control_b[...], self._control_torque[...] = 0.0, 0.0
        self.velocity_error, self.dropped, self.unfinished_turns = 0.0, 0, False
        if self.contacts == 0:
            return
        args = (self._contacts, self.contacts, self.fluid.points.spec, before, self._twists)
        if self.settings.scheme == "local":
            _solve_local(*args)
        else:
            self.unfinished_turns = not _solve_global(*args, self.bodies.dimensions == 2, TURNS)
        _sum_control(self._contacts, self.contacts, dt, self.control_b, self._control_torque)
        self.dropped = int(np.count_nonzero(self._contacts.kind[: self.contacts] == NOTHING))
        self.velocity_error = float(_largest_error(self._contacts, self.contacts, self.fluid.points.spec, self._twists))

    def _correct(self) -> None:
        """Two rounds: where two faces meet, the first push may lead into the other."""
        spec, fluid = self.bodies.spec, self.fluid
        for _ in range(2):
            # what was predicted beyond a spacing is still out of touch: bodies move a quarter of it at most
            self._measure(spec.x, spec.q, 0.0, within=2.0 * fluid.radius)
            if _push_out(fluid.points.spec, self._near, self._near_count, self._rules) == 0:
                break

    def _measure(self, x: Array, q: Array, dt: float, within: float = inf) -> None:
        """Distances of the particles near bodies at poses x, q, where the last ones are less than ``within`` [m]."""
        n, poses = self._near_count, Poses(x, q, self.bodies.shape_b)
        share(
            _measure_distances, n, 256 * n, self.fluid.points.spec, self._near, poses, self.shapes.arrays(),
            self._reach(dt), within, dt,
        )  # fmt: skip

    def _reach(self, dt: float) -> float:
        """Distance [m] from a body within which normals are needed, in a prediction by dt [s] or in place (0)."""
        return self.fluid.radius * (1.0 if dt == 0.0 or self.settings.slip == 1.0 else NEXT_TO)

    def contact_error(self) -> float:
        """Largest difference [m/s] of wanted and true relative velocity at the contacts, as the step left them."""
        spec = self.bodies.spec
        true = self._twists._replace(v=spec.v, omega=spec.omega)
        return float(_largest_error(self._contacts, self.contacts, self.fluid.points.spec, true))

    def arrays(self) -> dict[str, Array]:
        """What evolves beside fluid and bodies: the forces last reported."""
        return {
            "forcing_pressure": self.pressure_b, "forcing_viscous": self.viscous_b, "forcing_control": self.control_b,
            "forcing_torque": self.torque_b,
        }  # fmt: skip

    def restore(self, arrays: Any) -> None:
        """Take over what ``arrays`` gave; fluid and bodies have been restored."""
        for name, array in self.arrays().items():
            array[...] = arrays[name]
        self.place_bodies()
        self.begin()
        self._built = -1


class PenaltyForcing(DirectForcing):
    """The method of repulsive forces in the place of contacts, for comparison; slip and restitution have no effect."""

    displaces = False
    """Boundary particles that repel do nothing else."""

    def settle(self) -> int:
        """Repulsion moves particles to their places, where these are is not known before."""
        return 0

    def _find_contacts(self, dt: float, before: BodySpec) -> None:
        self.contacts = 0

    def _correct(self) -> None:
        """Nothing keeps particles out but the repulsion."""

    def _move_one_way(self, time: float, dt: float) -> SolidsReport:
        """Without contacts both ways are one."""
        return self._move_both(time, dt)
