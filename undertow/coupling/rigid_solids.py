"""Rigid bodies in the coupled solve: impulses on them, their forces, and the velocities of light ones.

    v = v* + N (J + F^T z),      N = M^-1 as joints allow it,

J being what acts beside the solved pressure. Of a body that weighs a billionth of what it displaces N J alone would
take nine digits with it: J and the guess of z are added up before (``AddedMass.start``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from undertow.coupling.added_mass import AddedMass
from undertow.coupling.coupled_bodies import CoupledBodies
from undertow.coupling.hydrostatic import DisplacedWeight, Hydrostatic
from undertow.coupling.motion import effective_twists
from undertow.coupling.rigid_block import RigidBlock
from undertow.coupling.rigid_viscosity import DraggedBodies
from undertow.coupling.rigid_walls import RigidWalls
from undertow.coupling.solid_block import SolidBlock
from undertow.fluid.phase import Phase
from undertow.fluid.surface_phase import SurfacePhase
from undertow.grid import Array
from undertow.rigid.bodies import DYNAMIC, rotation_matrix_of


class RigidSolids(SolidBlock):
    """The rigid bodies of a solve, but for those of ``elsewhere_b`` (n,), which nodes are attached to or touch.

    at_rest: what the pressure of the fluid at rest does to all bodies, which is not solved for. known_b (n, 6):
    impulses of the pressure that is known before the solve [N s, N m s]. displaced_b (n,): mass of the fluid that
    dynamic bodies displace [kg]. wet_b (n,): part of each body's surface that the fluid wets.
    """

    rounding, margin = 1e-15, 1.0
    block: RigidBlock
    walls: RigidWalls
    added_mass: AddedMass
    dragged: DraggedBodies | None = None

    def __init__(self, phase: Phase, coupled: CoupledBodies, walls: RigidWalls) -> None:
        self.phase, self.coupled, self.walls = phase, coupled, walls
        bodies = coupled.bodies
        self.elsewhere_b = np.zeros(bodies.count, dtype=bool)
        self.block = RigidBlock(bodies, coupled.joints)
        self.at_rest = (
            Hydrostatic(phase, walls, coupled) if isinstance(phase, SurfacePhase) else DisplacedWeight(phase, coupled)
        )
        self.known_b = np.zeros((bodies.count, 6))
        dynamic = bodies.kind_b == DYNAMIC
        self.displaced_b = np.where(dynamic, phase.mass_of(coupled.volume_b), 0.0)
        self.wet_b = np.ones(bodies.count)
        self.v, self._before, self._change, self._brought, self._drag = (
            np.zeros((bodies.count, 6)) for _ in range(5)
        )  # fmt: skip
        self._given_b = np.zeros((bodies.count, 6))
        """What was known of the pressure when the solve began [N s, N m s]."""
        self.lightness = float(np.max(self.displaced_b[dynamic] / bodies.mass_b[dynamic], initial=1.0))
        self._moved_by = 0.0
        """Largest speed that weight or buoyancy alone would give a body over the step [m/s]."""

    def place(self) -> None:
        coupled = self.coupled
        self.walls.elsewhere_b = self.elsewhere_b if self.elsewhere_b.any() else None
        self.block.set_masses(self.walls.lumped_mass, self.elsewhere_b)
        coupled.take_twists(self.walls.v)
        self.at_rest.measure()
        self.at_rest.measure_wet(self.wet_b)
        for given in (coupled.pressure_b, coupled.viscous_b, coupled.joint_b):
            given[...] = 0.0

    def take_known(self, start_c: Array | None, dt: float) -> None:
        self.at_rest.impulse(dt, self.known_b)
        if start_c is not None:
            self.walls.add_force(1.0, start_c, self.known_b)

    def begin(self, u_f: Array, z_c: Array, dt: float) -> None:
        """What is known of the pressure acts on the bodies; it may cancel what else does, but for rounding."""
        coupled = self.coupled
        mass = np.maximum(coupled.bodies.mass_b + 0.5 * self.displaced_b, 1e-300)
        acting = np.maximum(np.abs(coupled.impulse_b[:, :3]), np.abs(self.known_b[:, :3])).max(axis=1)
        self._moved_by = float(np.max(acting / mass, where=coupled.bodies.kind_b == DYNAMIC, initial=0.0))
        coupled.impulse_b += self.known_b
        coupled.pressure_b += self.known_b
        self._given_b[...] = self.known_b
        self.known_b[...] = 0.0
        self.take(u_f)

    def change_known(self, u_f: Array, z_c: Array, start_c: Array, dt: float) -> None:
        # walls that let go are dry
        self.at_rest.measure()
        self.take_known(start_c, dt)
        change = self.known_b - self._given_b
        self.coupled.impulse_b += change
        self.coupled.pressure_b += change
        self._given_b[...] = self.known_b
        self.known_b[...] = 0.0

    def begin_push(self) -> None:
        self.take(None)

    def take(self, u_f: Array | None) -> Array:
        """v (n, 6): twists as joints allow them, with what the fluid u that moves along brings; None: nothing, it moves
        with them already."""
        self.coupled.take_twists(self.v)
        self._before[...] = self.v
        self._drag[...] = 0.0
        self._brought[...] = 0.0 if u_f is None else self.walls.lumped_momentum(u_f, self.v)
        self.block.project(self.v)
        self.block.apply_inverse_mass(self._brought, self._change)
        self.v += self._change
        self._start = self.v.copy()
        return self.v

    def restart(self) -> None:
        self.v[...] = self._start

    def expect(self) -> float:
        bodies, v = self.coupled.bodies, self.walls.v
        mass = bodies.mass_b + 0.5 * self.displaced_b
        pushed = np.where((bodies.kind_b == DYNAMIC)[:, None], self.coupled.impulse_b[:, :3], 0.0)
        v[...] = self.v
        v[:, :3] += pushed / np.maximum(mass, 1e-300)[:, None]
        # a torque alone moves water too, from rest there is nothing else to be relative to
        turned = np.einsum("nij,nj->ni", self.block.own.inv_mass[:, 3:, 3:], self.coupled.impulse_b[:, 3:])
        v[:, 3:] += turned * (bodies.mass_b / np.maximum(mass, 1e-300))[:, None]
        return max(float(np.abs(v[:, :3]).max(initial=0.0)), self._moved_by)

    def absorb(self, z_c: Array) -> None:
        """With z improved for light bodies, in place: all that follows acts on velocities of the size they end with."""
        moved = self.added_mass.start(self.coupled.impulse_b, z_c)
        change = self._change
        change[...] = self.coupled.impulse_b
        self.walls.add_force(1.0, z_c, change)
        self.block.apply_inverse_mass(change, change)
        change.reshape(-1)[self.added_mass.chosen] = moved
        self.v += change

    def note_drag(self, w: Mapping[str, Array]) -> None:
        assert self.dragged is not None
        self._drag[...] = 0.0
        self.dragged.drag.add_impulse(w["fluid"], self.v, self._drag)

    def end_viscous(self, u_f: Array, twist: Array, given_b: Array) -> None:
        """Bodies go on with these twists (n, 6) after a viscous step, whose drag gave the impulses ``given`` (n, 6)."""
        coupled = self.coupled
        coupled.viscous_b += given_b
        coupled.joint_b += self.block.joint_impulse(twist - self._before, given_b + self._brought)
        self._count_lumped(twist)
        self._give(twist)
        self.walls.set_lumped_faces(u_f, twist)

    def end(self, w: Mapping[str, Array], z_c: Array) -> None:
        coupled, twist = self.coupled, self.v
        self._change[...] = 0.0
        self.walls.add_force(1.0, z_c, self._change)
        coupled.pressure_b += self._change
        coupled.viscous_b += self._drag
        given_b = self._change + coupled.impulse_b + self._drag
        coupled.joint_b += self.block.joint_impulse(twist - self._before, given_b + self._brought)
        self._count_lumped(twist)
        self._give(twist)
        self.walls.v[...] = twist
        self.walls.set_lumped_faces(w["fluid"], twist)

    def _count_lumped(self, twist: Array) -> None:
        """The impulses so far move bodies and lumped fluid together: between the two it is pressure that gives the body
        what the fluid brings, and the fluid what it gets."""
        got_b = self.block.lumped_momentum(twist - self._before)
        self.coupled.pressure_b += self._brought - got_b

    def _give(self, twist: Array) -> None:
        """Momenta of the dynamic bodies of this block."""
        bodies = self.coupled.bodies
        for b in np.flatnonzero((bodies.kind_b == DYNAMIC) & ~self.elsewhere_b):
            bodies.set_velocity(int(b), twist[b, :3], twist[b, 3:])

    def hold_all(self, v: Any) -> None:
        self.coupled.impulse_b[...] = 0.0
        self.block.hold_all()
        self.v[...] = v
        self._start = self.v.copy()

    def poses(self) -> tuple[Array, Array]:
        """Centres (n, 3) [m] and rotations (n, 4) of the bodies."""
        return self.coupled.bodies.x_b.copy(), self.coupled.bodies.q_b.copy()

    def motion_since(self, poses: tuple[Array, Array], dt: float) -> Array:
        return effective_twists(self.coupled.bodies, *poses, dt)

    def put_twists(self, out_b: Array) -> None:
        out_b[~self.elsewhere_b] = self.walls.v[~self.elsewhere_b]

    def mobility(self) -> tuple[Array, Array]:
        """Inverse masses (n,) and principal moments (n, 3) of the bodies with the fluid that moves along.

        From the added mass where the preconditioner has it, else with that of a sphere in translation.
        """
        bodies = self.coupled.bodies
        inv_mass, inv_inertia = bodies.inv_mass_b.copy(), bodies.inv_inertia_b.copy()
        dynamic = bodies.kind_b == DYNAMIC
        own = 0.5 if self.phase.domain.grid.dimensions == 3 else 1.0
        inv_mass[dynamic] = 1.0 / (bodies.mass_b[dynamic] + own * (self.wet_b * self.displaced_b)[dynamic])
        shown = self.added_mass.shown_b()
        for b in np.flatnonzero(dynamic).tolist():
            found = [x for x in np.diagonal(shown[b])[:3].tolist() if x > 0.0]
            if found:
                inv_mass[b] = sum(found) / len(found)
            if np.any(np.diagonal(shown[b])[3:] > 0.0):
                R = rotation_matrix_of(bodies.q_b[b])
                principal = np.diagonal(R.T @ shown[b, 3:, 3:] @ R)
                inv_inertia[b] = np.where(inv_inertia[b] > 0.0, np.minimum(principal, inv_inertia[b]), 0.0)
        return inv_mass, inv_inertia
