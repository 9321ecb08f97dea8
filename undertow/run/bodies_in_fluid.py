"""The bodies of a scene that a fluid moves: their solids in the grid, contact with its sides, limits and sums."""

from __future__ import annotations

import numpy as np

import undertow.geometry as geometry
from undertow.coupling.monolithic import CoupledBodies
from undertow.coupling.motion import BodyMotion, MotionAhead
from undertow.fluid import SolidForce
from undertow.grid import INFLOW, SIDE_NAMES, WALL, Array, Grid, Sides
from undertow.rigid.bodies import DYNAMIC
from undertow.run import build
from undertow.run.models import BodyForces, vector
from undertow.run.solids_model import SolidsModel
from undertow.scene import Scene
from undertow.solids import SolidsReport

QUANTITIES = (
    "momentum_solids_x", "momentum_solids_y", "momentum_solids_z", "angular_momentum_solids_x",
    "angular_momentum_solids_y", "angular_momentum_solids_z", "kinetic_energy_solids", "potential_energy_solids",
    "contacts", "penetration", "joint_error",
)  # fmt: skip

NONE = SolidForce((0.0,) * 3, (0.0,) * 3, (0.0,) * 3)


class BodiesInFluid:
    """Rigid bodies and joints of a scene inside a grid.

    model: bodies, joints and their step. placed: the solids that the fluid sees, those of dynamic bodies moving with
    them. coupled: what takes part in the solve. Walls and inflows of the domain stop bodies as planes do.
    """

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
        shape = self.placed[b].shape
        if not self.dynamic_b[b] or isinstance(shape, geometry.Sphere):
            return 0.0
        lower, upper = self.placed[b].shape_at(0.0).bounds()
        return float(np.linalg.norm(np.maximum(np.abs(lower), np.abs(upper))))

    def limits(self) -> dict[str, float]:
        """Longest step [s]: bodies move at most one cell, by what they have and by what gravity adds."""
        limits = {}
        count = len(self.placed)
        v, omega = self.bodies.v_b[:count], self.bodies.omega_b[:count]
        fastest = np.linalg.norm(v, axis=1) + self._reach * np.linalg.norm(omega, axis=1)
        speed = float(np.max(fastest, initial=0.0))
        if speed > 0:
            limits["body_motion"] = self.grid.dx / speed
        fall = float(np.linalg.norm(self.gravity))
        if fall > 0:
            limits["body_weight"] = float(np.sqrt(self.grid.dx / fall))
        return limits

    def show_ahead(self, ahead: float) -> None:
        """From now on solids that move as prescribed show their velocity of ``ahead`` [s] later."""
        for motion in self._prescribed:
            motion.ahead = ahead

    def set_weight(self, dt: float) -> None:
        """Impulses of the bodies' weight over dt [s]."""
        self.coupled.impulse_b[...] = 0.0
        mass = np.where(self.dynamic_b, self.bodies.mass_b, 0.0)
        self.coupled.impulse_b[:, :3] = dt * mass[:, None] * self.gravity

    def fluid_forces(self, dt: float) -> dict[str, SolidForce]:
        """Force and torque about the centre of mass that the solve of the last step gave the dynamic bodies."""
        forces = {}
        for b, solid in enumerate(self.placed):
            if self.dynamic_b[b]:
                pressure, viscous = self.coupled.pressure_b[b] / dt, self.coupled.viscous_b[b] / dt
                forces[solid.name] = SolidForce(
                    vector(pressure[:3]), vector(viscous[:3]), vector(pressure[3:] + viscous[3:])
                )
        return forces

    def forces(self, name: str, fluid: SolidForce) -> BodyForces:
        """All forces on a body, those of the fluid being given."""
        own = self.model.forces(name)
        return BodyForces(fluid.pressure, fluid.viscous, own.contact, own.joint, fluid.torque, own.torque_solids)

    def quantities(self, report: SolidsReport | None) -> dict[str, float]:
        """What the ledger says about the bodies."""
        bodies, joints = self.bodies, self.model.joints
        angular = (bodies.L_b + np.cross(bodies.x_b, bodies.p_b)).sum(axis=0)
        error = float(np.abs(joints.errors()).max(initial=0.0)) if joints.count else 0.0
        kinetic, potential = self.model.solids.energy()
        values = (
            *bodies.p_b.sum(axis=0), *angular, kinetic, potential, 0.0 if report is None else report.contacts,
            0.0 if report is None else report.penetration, error,
        )  # fmt: skip
        return {name: float(value) for name, value in zip(QUANTITIES, values, strict=True)}
