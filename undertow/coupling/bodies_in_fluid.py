"""Rigid bodies that a fluid moves: their solids in the grid, contact with its sides, limits and forces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import undertow.geometry as geometry
from undertow.coupling.coupled_bodies import CoupledBodies
from undertow.coupling.motion import BodyMotion, MotionAhead
from undertow.fluid import SolidForce
from undertow.fluid.phase import FullTank, Phase
from undertow.grid import INFLOW, SIDE_NAMES, WALL, Array, Grid, Sides
from undertow.part import ENERGY, Limit, Part, Quantity
from undertow.rigid.bodies import DYNAMIC
from undertow.solids.rigid_part import RigidPart

NONE = SolidForce((0.0,) * 3, (0.0,) * 3, (0.0,) * 3)


class BodiesInFluid(Part):
    """The bodies of ``rigid`` inside a grid.

    placed: the solids that the fluid sees, in the order of the bodies, those of dynamic ones moving with them. coupled:
    what takes part in the solve. phase: of the fluid, set once it is there. Walls and inflows of the domain stop bodies
    as planes do.
    """

    name = "bodies_in_fluid"
    phase: Phase

    def __init__(
        self, grid: Grid, sides: Sides, rigid: RigidPart, solids: Sequence[geometry.Solid], volume_b: Array,
        gravity: Sequence[float], joined: bool,
    ) -> None:  # fmt: skip
        """solids: as the scene places them. volume_b (len(solids),): what dynamic ones displace [m3; 2D m2]. joined:
        whether joints hold bodies in the solve."""
        self.grid, self.rigid, self.bodies = grid, rigid, rigid.bodies
        self._add_walls(sides)
        count = len(solids)
        self.dynamic_b = self.bodies.kind_b == DYNAMIC
        # what the bodies follow themselves, as it may be driven
        self._prescribed = [MotionAhead(self.bodies.motions.get(b, solid.motion)) for b, solid in enumerate(solids)]
        self.placed = [
            geometry.Solid(
                solid.name, solid.shape, BodyMotion(self.bodies, b) if self.dynamic_b[b] else self._prescribed[b],
                solid.slip, self.dynamic_b[b],
            )
            for b, solid in enumerate(solids)
        ]  # fmt: skip
        slip_b = np.zeros(self.bodies.count, dtype=np.int64)
        slip_b[:count] = [solid.slip for solid in solids]
        displaced_b = np.zeros(self.bodies.count)
        displaced_b[:count] = np.where(self.dynamic_b[:count], volume_b, 0.0)
        self.coupled = CoupledBodies(self.bodies, displaced_b, slip_b, rigid.joints if joined else None)
        self.gravity: Array = np.array(gravity)
        self._reach: Array = np.array([self._size(b) for b in range(count)])

    def _add_walls(self, sides: Sides) -> None:
        for side, axis, end in self.grid.sides():
            if sides.spec.kind[side] in (WALL, INFLOW):
                place = (self.grid.upper if end else self.grid.lower)[axis]
                self.rigid.add_wall(f"domain.{SIDE_NAMES[side]}", axis, bool(end), place)

    def _size(self, b: int) -> float:
        """Largest distance of a point of a dynamic body from its centre of mass that turning moves [m]."""
        if not self.dynamic_b[b]:
            return 0.0
        beside = float(np.linalg.norm(self.bodies.shape_offset_b[b])) if self.bodies.volume_arm_b[b].any() else 0.0
        return self.placed[b].shape_at(0.0).turning_reach() + beside

    @property
    def moved(self) -> list[geometry.Solid]:
        """The solids of dynamic bodies."""
        return [solid for b, solid in enumerate(self.placed) if self.dynamic_b[b]]

    @property
    def prescribed(self) -> list[geometry.Solid]:
        """The solids that move as the scene says."""
        return [solid for b, solid in enumerate(self.placed) if not self.dynamic_b[b]]

    def limits(self, time: float) -> Iterator[Limit]:
        """Bodies move at most one cell, by the velocity that they have and by what their acceleration adds.

        body_weight: dt <= sqrt(dx / a), a being the largest acceleration of a body in the last step by all forces on
        it, at most that of its weight and loads, which is what a body has before its first step. A body that the
        fluid or the floor carries does not bind the step.
        """
        count = len(self.placed)
        v, omega = self.bodies.v_b[:count], self.bodies.omega_b[:count]
        fastest = np.linalg.norm(v, axis=1) + self._reach * np.linalg.norm(omega, axis=1)
        speed = float(np.max(fastest, initial=0.0))
        if speed > 0:
            yield Limit("body_motion", self.grid.dx / speed)
        weight = np.linalg.norm(self.gravity) + self._largest(self.rigid.loads.mean_b[:, :3])
        fall = min(self._largest(self._force(), self.gravity), float(weight))
        if fall > 0:
            yield Limit("body_weight", float(np.sqrt(self.grid.dx / fall)))

    def _force(self) -> Array:
        """On the bodies in the last step beside their weight (n, 3) [N]."""
        table = self.rigid.force_table
        return table.pressure + table.viscous + table.contact + table.joint + self.rigid.loads.mean_b[:, :3]

    def _largest(self, force_b: Array, more: Array | float = 0.0) -> float:
        """Acceleration of a dynamic body by forces (n, 3) [N], and ``more`` [m/s2]."""
        count = len(self.placed)
        moved = self.dynamic_b[:count]
        acceleration = force_b[:count][moved] / self.bodies.mass_b[:count][moved, None] + more
        return float(np.max(np.linalg.norm(acceleration, axis=1), initial=0.0))

    def quantities(self) -> Iterator[Quantity]:
        if isinstance(self.phase, FullTank):
            # of the bodies and of the fluid they displace: what can turn into motion
            mass = self.bodies.mass_b - self.phase.mass_of(self.coupled.volume_b)
            weight = np.where(self.dynamic_b, mass, 0.0)
            yield Quantity("potential_energy", -float(weight @ (self.bodies.x_b @ self.gravity)), ENERGY)

    def pull(self, gravity: Array) -> None:
        self.gravity[...] = gravity

    def look_ahead(self, ahead: float) -> None:
        """From now on solids that move as prescribed have their velocity of ``ahead`` [s] later."""
        for motion in self._prescribed:
            motion.ahead = ahead

    def numbers(self) -> dict[str, Any]:
        return {"ahead": [motion.ahead for motion in self._prescribed]}

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        for ahead, motion in zip(numbers["ahead"], self._prescribed, strict=True):
            motion.ahead = ahead

    def adopt(self, before: Part | None, time: float) -> None:
        """All begins with the velocities of now."""

    def begin_step(self, time: float, dt: float) -> None:
        """Loads of the step from ``time`` by dt [s]."""
        self.rigid.begin_step(time, dt)
        self.coupled.load_b[...] = self.rigid.loads.mean_b

    def act(self, until: float, duration: float, step: float) -> None:
        """Loads up to a time [s], as of ``RigidLoads``."""
        self.rigid.loads.act(until, duration, step)
        self.coupled.load_b[...] = self.rigid.loads.mean_b

    def set_impulses(self, dt: float, contact_b: Array | None = None) -> None:
        """What acts on the bodies over dt [s] beside the fluid: weight and loads, and impulses (n, 6) of contact."""
        self.coupled.set_weight(self.gravity, dt)
        if contact_b is not None:
            self.coupled.impulse_b += contact_b

    def take_forces(self, dt: float, walls: Mapping[str, SolidForce]) -> None:
        """Forces of the fluid over a step of dt [s], beside those of contact and joints.

        On dynamic bodies what the solve gave them; on the others what the fluid does to their ``walls``, and what
        viscous rows on their twists did.
        """
        forces, coupled, count = self.rigid.force_table, self.coupled, len(self.placed)
        pressure, viscous = coupled.pressure_b[:count] / dt, coupled.viscous_b[:count] / dt
        moved = self.dynamic_b[:count, None]
        given = [walls.get(solid.name, NONE) for solid in self.placed]
        on_walls, drag, torque = (
            np.where(moved, 0.0, np.array(values).reshape(-1, 3))
            for values in ([f.pressure for f in given], [f.viscous for f in given], [f.torque for f in given])
        )
        pressure = np.where(moved, pressure, 0.0)
        forces.pressure[:count] = on_walls + pressure[:, :3]
        forces.viscous[:count] = drag + viscous[:, :3]
        forces.torque[:count] = torque + (pressure[:, 3:] + viscous[:, 3:])
        forces.joint[:count] += coupled.joint_b[:count, :3] / dt
