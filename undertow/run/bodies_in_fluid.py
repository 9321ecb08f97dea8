"""The bodies of a scene that a fluid moves: their solids in the grid, contact with its sides, limits and sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

import undertow.geometry as geometry
from undertow.coupling.coupled_bodies import CoupledBodies
from undertow.coupling.motion import BodyMotion, MotionAhead
from undertow.fluid import SolidForce
from undertow.grid import INFLOW, SIDE_NAMES, WALL, Array, Grid, Sides
from undertow.part import Limit, Part, vector
from undertow.rigid.bodies import DYNAMIC
from undertow.run import build
from undertow.run.solids_model import SolidsModel
from undertow.scene import Scene

NONE = SolidForce((0.0,) * 3, (0.0,) * 3, (0.0,) * 3)


class BodiesInFluid(Part):
    """Rigid bodies and joints of a scene inside a grid.

    model: bodies, joints and their step. placed: the solids that the fluid sees, those of dynamic bodies moving with
    them. coupled: what takes part in the solve. Walls and inflows of the domain stop bodies as planes do.
    """

    name = "bodies_in_fluid"

    def __init__(self, scene: Scene, grid: Grid, sides: Sides, model: SolidsModel | None = None) -> None:
        self.scene, self.grid = scene, grid
        self.model = SolidsModel(scene) if model is None else model
        self.bodies = self.model.bodies
        self._add_walls(sides)
        self.placed, self.notes = build.build_solids(scene, grid)
        self.notes = self.model.notes + self.notes
        self.dynamic_b = self.bodies.kind_b == DYNAMIC
        self._prescribed = [MotionAhead(solid.motion) for solid in self.placed]
        for b, solid in enumerate(self.placed):
            motion = BodyMotion(self.bodies, b) if self.dynamic_b[b] else self._prescribed[b]
            self.placed[b] = geometry.Solid(solid.name, solid.shape, motion, solid.slip)
        count = len(self.placed)
        slip_b = np.zeros(self.bodies.count, dtype=np.int64)
        slip_b[:count] = [solid.slip for solid in self.placed]
        volume_b = np.zeros(self.bodies.count)
        volume_b[:count] = [self.model.displaced_volume(b) if self.dynamic_b[b] else 0.0 for b in range(count)]
        self.coupled = CoupledBodies(self.bodies, volume_b, slip_b)
        self.gravity: Array = np.array(build.vector3(scene.gravity))
        self._reach: Array = np.array([self._size(b) for b in range(count)])

    def _add_walls(self, sides: Sides) -> None:
        for side, axis, end in self.grid.sides():
            if sides.spec.kind[side] not in (WALL, INFLOW):
                continue
            normal = np.zeros(3)
            normal[axis] = 1.0 - 2.0 * end
            place = np.array(self.grid.upper if end else self.grid.lower) * np.abs(normal)
            shape = self.model.shapes.add(geometry.Plane(vector(normal)))
            self.bodies.add(f"{SIDE_NAMES[side]} of the domain", shape, place, np.array([1.0, 0.0, 0.0, 0.0]))

    def _size(self, b: int) -> float:
        """Largest distance of a point of a dynamic body from its centre of mass that turning moves [m]."""
        if not self.dynamic_b[b]:
            return 0.0
        moved = self.scene.bodies[self.placed[b].name].centre_of_mass is not None
        beside = float(np.linalg.norm(self.bodies.shape_offset_b[b])) if moved else 0.0
        return self.placed[b].shape_at(0.0).turning_reach() + beside

    def limits(self, time: float) -> Iterator[Limit]:
        """Bodies move at most one cell, by what they have and by what gravity adds."""
        count = len(self.placed)
        v, omega = self.bodies.v_b[:count], self.bodies.omega_b[:count]
        fastest = np.linalg.norm(v, axis=1) + self._reach * np.linalg.norm(omega, axis=1)
        speed = float(np.max(fastest, initial=0.0))
        if speed > 0:
            yield Limit("body_motion", self.grid.dx / speed)
        fall = float(np.linalg.norm(self.gravity))
        if fall > 0:
            yield Limit("body_weight", float(np.sqrt(self.grid.dx / fall)))

    def show_ahead(self, ahead: float) -> None:
        """From now on solids that move as prescribed show their velocity of ``ahead`` [s] later."""
        for motion in self._prescribed:
            motion.ahead = ahead

    def set_weight(self, dt: float) -> None:
        """Impulses of the bodies' weight over dt [s]."""
        self.coupled.set_weight(self.gravity, dt)

    def take_forces(self, dt: float, walls: Mapping[str, SolidForce]) -> None:
        """Forces of the fluid over a step of dt [s], beside those of contact and joints.

        On dynamic bodies what the solve gave them; on the others what the fluid does to their ``walls``, and what
        viscous rows on their twists did.
        """
        forces, coupled, count = self.model.force_table, self.coupled, len(self.placed)
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
