"""Fluid and soft bodies advanced by one implicit solve (thesis chapter 5 [@schroeder2011]), elasticity in it.

The bodies stand at x, moved by the velocities before; the solve finds u and v at the end of the step,

    Mt (v - v^n) = dt (f(x) + external) - (C^T C) v^n + F^T z,      Mt = M + C^T C,      K w = s,

``implicit``: backward Euler linearised at x, C^T C = dt^2 K + dt (-D). ``newmark``: x is the middle of the step and
elasticity has the mean of three positions, C^T C = dt^2 / 4 K + dt (-D) without the first term's product with v^n:
second order, no elastic energy is lost for any step (Newmark 1959 with beta = 1/4).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from undertow.coupling.pockets import Pockets
from undertow.coupling.soft_fields import SoftFields
from undertow.coupling.soft_rows import (
    BLOCK,
    CycleStencil,
    NodesInverse,
    SoftDrag,
    SoftPreconditioner,
    SoftRows,
    SoftVelocities,
    seeing,
)
from undertow.errors import PhysicsError
from undertow.fluid import FlowSettings
from undertow.fluid.domain import FluidDomain
from undertow.fluid.measure import subtract_scaled
from undertow.fluid.solve import ImplicitSolve
from undertow.fluid.viscosity import ViscousRows, WallRows
from undertow.grid import Array
from undertow.linalg import CoupledSystem, Multigrid, SolveStats, VelocityBlock
from undertow.soft import SoftBodies

PASSES = 4
"""Of the pressure solve on what the one before left."""

NOTABLE = 1e-6
"""Part of the rows that no pressure can change, above which it is told."""

VOLUME_PASSES = 4
"""Of the pressure solve for the volume that closed shells enclose."""

STILL = 1e-12
"""Velocity that counts as none [m/s]."""

THETA = {"implicit": 1.0, "newmark": 0.25}
"""Part of dt^2 K in the masses."""


@dataclass
class CoupledSoft:
    """The soft bodies of a coupled solve, and what acts on them beside the fluid.

    external (n, 3) [N]: mean force over the step beside elasticity. pressure, viscous (n, 3) [N s]: impulses of the
    fluid over the last step, without buoyancy. buoyancy (n, 3) [N]: of its hydrostatic pressure. dissipated [J]: what
    viscosity and damping took in the last step. density: of the lightest body [kg/m3]. recovery: shortest time over
    which closed shells regain the volume of their pocket [s].
    """

    bodies: SoftBodies
    stepper: str
    density: float
    recovery: float = 0.0
    external: Array = field(init=False)
    pressure: Array = field(init=False)
    viscous: Array = field(init=False)
    buoyancy: Array = field(init=False)
    dissipated: float = 0.0

    def __post_init__(self) -> None:
        shape = (self.bodies.count, 3)
        self.external, self.pressure, self.viscous, self.buoyancy = (np.zeros(shape) for _ in range(4))


class SoftSolve:
    """The implicit solve of a ``Flow`` whose solids are ``SoftFields``; viscosity 0: pressure alone.

    Viscous: fluid and nodes exchange momentum through the drag rows first, then through the pressure, both from the
    pressure of the step before (Van Kan 1986), unless a body is far lighter than the fluid.
    """

    strain_z = np.zeros(0)

    def __init__(
        self, domain: FluidDomain, tolerance: float, viscosity: float, gravity: Array, coupled: CoupledSoft
    ) -> None:
        self.gravity = gravity
        fields = domain.solids
        assert isinstance(fields, SoftFields)
        self.domain, self.tolerance, self.coupled, self.fields = domain, tolerance, coupled, fields
        self.block = SoftVelocities(coupled.bodies)
        self.rows = SoftRows(domain, fields, self.block)
        self.pockets = Pockets(fields, coupled.bodies, coupled.recovery)
        self.multigrid = Multigrid(domain.grid, domain.periodic_axes)
        self.cycle = CycleStencil(self.rows)
        self.level = SoftPreconditioner(self.multigrid, self.rows)
        planar = domain.grid.dimensions == 2
        fluid = VelocityBlock("fluid", domain.inv_mass_f, planar)
        self.system = CoupledSystem([fluid, self.block], [self.rows], {"pressure": self.level}, planar)
        self.null = self.system.null_space("pressure")
        self.viscous: ViscousRows | None = None
        self.walls: WallRows | None = None
        self.walls_z = np.zeros(0)
        if viscosity > 0.0:
            slip = np.array([solid.slip for solid in fields.solids], dtype=np.int64)
            self.viscous = ViscousRows(domain, viscosity, folded=True, half=False)
            rigid = copy(fields)
            rigid.distance_f = fields.rows_distance_f
            self.walls = WallRows(seeing(domain, rigid), viscosity, slip, folded=True, half=False)
            self.walls_z = np.zeros(self.walls.shape)
            self.drag = SoftDrag(domain, fields, viscosity)
            self.nodes_inverse = NodesInverse(self.drag, self.block)
            self.viscous_system = CoupledSystem(
                [fluid, self.block], [self.viscous, self.walls, self.drag], {BLOCK: self.nodes_inverse}, planar
            )
        self.incremental = coupled.density > 0.05 * domain.density
        self._v = np.zeros(self.block.shape)
        self._row, self._z = np.zeros(self.rows.shape), np.zeros(self.rows.shape)
        self._impulse_f = np.zeros(domain.inv_mass_f.shape)

    def rebuild(self) -> None:
        """Take over a changed geometry."""
        self.rows.rebuild()
        self.multigrid.setup(self.cycle.build())
        if self.viscous is not None:
            self.viscous.rebuild()

    def place(self) -> None:
        """Take over the present velocities of solids, nodes and sides."""
        self.rows.set_wall_flux()
        self.rows.v[...] = self.coupled.bodies.v
        if self.walls is not None:
            self.walls.rebuild()
            self.drag.rebuild()

    def solve(self, u_f: Array, z_c: Array, viscous_dt: float) -> list[SolveStats]:
        """u* and the velocities of the nodes to n+1; z_c: dt p of the step before on entry, dt p on exit [Pa s]."""
        coupled, dt = self.coupled, viscous_dt
        lumped, carried = self.rows.lumped()
        self.block.set_masses(dt, THETA[coupled.stepper], lumped)
        self.null.setup()
        self.level.setup(self.null)
        v = self._v
        v[...] = coupled.bodies.v
        self._add_forces(v, dt, self._carried_momentum(u_f, v, carried))
        self.pockets.ask(self.rows, coupled.bodies.v, dt)
        w = {"fluid": u_f, BLOCK: v}
        incompatible = self._make_compatible(w)
        target = self.tolerance * self._scale(w)
        coupled.viscous[...], coupled.dissipated = 0.0, 0.0
        found: list[SolveStats] = []
        if self.walls is None or self.incremental:
            self._absorb(w, z_c)
        if self.walls is not None:
            found.append(self._diffuse(w, dt))
            if not self.incremental:
                self._absorb(w, z_c)
        found += self._project(w, z_c, target)
        for _ in range(VOLUME_PASSES):
            if not self.pockets.ask(self.rows, v, dt, again=True):
                break
            found += self._project(w, z_c, target)
        self.null.remove(z_c.reshape(-1))
        if found:
            found[-1].incompatibility = incompatible
        coupled.pressure[...] = self.rows.push(z_c)
        self._measure_dissipation(w)
        coupled.bodies.v[...] = v
        self.rows.v[...] = v
        self.fields.set_velocities()
        self.set_coupled_faces(u_f)
        return found

    def _carried_momentum(self, u_f: Array, v: Array, carried: Any) -> Array:
        """J^T beta (u* - J v) (n, 3) [N s]: what the fluid of coupled faces brings along."""
        voxel = self.fields.voxel
        if carried is None:
            return np.zeros_like(v)
        excess = u_f.reshape(-1)[voxel.face] - voxel.wall @ v.reshape(-1)
        return np.asarray(carried @ excess).reshape(-1, 3)

    def set_coupled_faces(self, u_f: Array) -> None:
        """Faces that shells couple take the velocity of the shells."""
        voxel = self.fields.voxel
        if len(voxel.face):
            u_f.reshape(-1)[voxel.face] = voxel.wall @ self.coupled.bodies.v.reshape(-1)

    def _add_forces(self, v: Array, dt: float, impulse: Array) -> None:
        """v^n -> v*: elasticity, what acts from outside, and an impulse (n, 3) [N s]."""
        bodies, block = self.coupled.bodies, self.block
        force = np.zeros_like(v)
        bodies.forces.measure(bodies.x, force)
        self.coupled.buoyancy[...] = self.rows.buoyancy(self.domain.density, self.gravity)
        force += self.coupled.external + self.coupled.buoyancy
        force *= dt
        force += impulse
        taken = block.damping + block.stiffness if self.coupled.stepper == "implicit" else block.damping
        resisted = np.zeros_like(v)
        bodies.forces.add_product(taken, v, resisted)
        force -= resisted
        block.apply_inverse_mass(force, force)
        v += force

    def _absorb(self, w: dict[str, Array], z_c: Array) -> None:
        """w <- w - B^-1 K^T z"""
        self._impulse_f[...] = 0.0
        self.rows.add_transpose(z_c, {"fluid": self._impulse_f})
        subtract_scaled(self.domain.inv_mass_f, self._impulse_f, 1.0, w["fluid"])
        change = self.rows.push(z_c)
        self.block.apply_inverse_mass(change, change)
        w[BLOCK] += change

    def _diffuse(self, w: dict[str, Array], dt: float) -> SolveStats:
        """Viscosity between faces and at walls, those of soft bodies included."""
        assert self.viscous is not None and self.walls is not None
        self.viscous.time_step = self.drag.time_step = dt
        self.walls.set_time_step(dt)
        self.nodes_inverse.setup()
        stats = self.viscous_system.solve(w, {"walls": self.walls_z}, self.tolerance)
        self.coupled.viscous[...] = self.drag.impulse(w["fluid"], w[BLOCK])
        return stats

    def _project(self, w: dict[str, Array], z_c: Array, target: float) -> list[SolveStats]:
        """K w = s to ||K w - s|| <= target; what the pressure does beyond z_c is added to it."""
        solves: list[SolveStats] = []
        for _ in range(PASSES):
            norm = self._norm(w)
            if norm <= target:
                return solves
            self._z[...] = 0.0
            solves.append(self.system.solve(w, {"pressure": self._z}, max(0.5 * target / norm, 1e-13)))
            z_c += self._z
        norm = self._norm(w)
        if norm > target:
            raise PhysicsError(
                f"coupled solve: rows of {norm:.3g} m3/s are left after {PASSES} passes, wanted {target:.3g}"
            )
        return solves

    def _norm(self, w: dict[str, Array]) -> float:
        """||K w - s|| over the cells that have a pressure."""
        rows = self.rows
        assert rows.stencil is not None
        rows.apply(w, self._row)
        if rows.target is not None:
            self._row -= rows.target
        self._row[rows.stencil.diagonal_c <= 0.0] = 0.0
        interior = self._row[self.domain.grid.interior]
        return float(np.sqrt(np.sum(interior * interior)))

    def _make_compatible(self, w: dict[str, Array]) -> float:
        """Take what no pressure can change into the wanted rows; its part of them."""
        norm = self._norm(w)
        assert self.rows.stencil is not None
        if self.rows.target is None or norm == 0.0:
            return 0.0
        self._z[...] = self._row
        part = float(np.sqrt(self.null.remove(self._z.reshape(-1)))) / norm
        self._row -= self._z
        self.rows.target += self._row
        self.pockets.take_unmet(self.rows.stencil, self._row if part > NOTABLE else None)
        return part

    def _scale(self, w: dict[str, Array]) -> float:
        """What the tolerance is relative to: the rows before the solve, and at least their rounding."""
        grid = self.domain.grid
        u_f, v = w["fluid"], w[BLOCK]
        fastest = max(float(u_f.max()), -float(u_f.min()), float(np.abs(v).max(initial=0.0)))
        rounding = 1e-14 * grid.face_area * fastest * np.sqrt(grid.cell_count)
        return max(self._norm(w), float(rounding) / self.tolerance, STILL * grid.face_area)

    def _measure_dissipation(self, w: dict[str, Array]) -> None:
        """What viscosity and damping take at the velocities of the end of the step."""
        bodies, total = self.coupled.bodies, 0.0
        if bodies.damped:
            push = np.zeros_like(w[BLOCK])
            bodies.forces.add_product(self.block.damping, w[BLOCK], push)
            total += float((push * w[BLOCK]).sum())
        if self.walls is not None and self.viscous is not None:
            gram = {"fluid": self._impulse_f, BLOCK: np.zeros_like(w[BLOCK])}
            self._impulse_f[...] = 0.0
            for row in (self.viscous, self.walls, self.drag):
                row.add_gram(w, gram)
            total += float((gram["fluid"] * w["fluid"]).sum() + (gram[BLOCK] * w[BLOCK]).sum())
        self.coupled.dissipated = total

    def add_explicit_viscosity(self, u_f: Array, out_f: Array) -> None:
        """Nothing: the first-order stepper has no explicit half."""


def soft_monolithic(coupled: CoupledSoft) -> Callable[[FluidDomain, FlowSettings], ImplicitSolve]:
    """What makes the implicit solve of a ``Flow`` whose solids are the fields of the soft bodies ``coupled``."""

    def make(domain: FluidDomain, settings: FlowSettings) -> ImplicitSolve:
        return SoftSolve(domain, settings.tolerance, settings.viscosity, np.array(settings.gravity), coupled)

    return make
