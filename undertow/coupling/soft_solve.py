"""Fluid, soft bodies and rigid bodies advanced by one implicit solve (thesis chapter 5 [@schroeder2011]).

Elasticity, joints and contact are part of it. The bodies stand at x, moved by the velocities before; the solve finds u
and v at the end of the step,

    Mt (v - v^n) = dt (f(x) + external) - (C^T C) v^n + F^T z + G^T r,      Mt = M + C^T C,      K w = s,

``implicit``: backward Euler linearised at x, C^T C = dt^2 K + dt (-D). ``newmark``: x is the middle of the step and
elasticity has the mean of three positions, C^T C = dt^2 / 4 K + dt (-D) without the first term's product with v^n:
second order, no elastic energy is lost for any step (Newmark 1959 with beta = 1/4). G: joints, and the contacts that
act (``coupling.one_sided``).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from undertow.coupling.coupled_soft import CoupledSoft
from undertow.coupling.hydrostatic import DisplacedWeight, Hydrostatic
from undertow.coupling.motion import effective_twists
from undertow.coupling.one_sided import ActiveSet
from undertow.coupling.pockets import Pockets
from undertow.coupling.rigid_viscosity import HEAVY_ENOUGH
from undertow.coupling.soft_drag import RigidDrag, SoftDrag
from undertow.coupling.soft_fields import SoftFields
from undertow.coupling.soft_preconditioner import CycleStencil, SoftPreconditioner
from undertow.coupling.soft_viscosity import DraggedSolids
from undertow.coupling.solid_velocities import BLOCK, SolidVelocities
from undertow.coupling.solid_walls import SolidWalls, seeing
from undertow.coupling.unsplit import Unsplit
from undertow.fluid import FlowSettings
from undertow.fluid.domain import FluidDomain
from undertow.fluid.mixture import Mixture
from undertow.fluid.phase import FullTank, Phase
from undertow.fluid.pressure import PressureRows
from undertow.fluid.solve import SplitImplicit, exchange_of
from undertow.fluid.viscosity import WallRows
from undertow.fluid.viscous_step import ViscousStep, expect, rows_between_faces
from undertow.grid import Array
from undertow.linalg import CoupledSystem, Multigrid, Refinement, RowBlock, SolveStats, VelocityBlock
from undertow.rigid.bodies import DYNAMIC

NOTABLE = 1e-6
"""Part of the rows that no pressure can change, above which it is told."""

VOLUME_PASSES = 4
"""Of the pressure solve for the volume that closed shells enclose."""

CONTACT_PASSES = 5
"""Most solves in which contacts are dropped and taken up."""

STILL = 1e-12
"""Velocity that counts as none [m/s]."""

THETA = {"implicit": 1.0, "newmark": 0.25}
"""Part of dt^2 K in the masses."""


class SoftSolve(SplitImplicit):
    """The projection of fluid and solids that are ``SoftFields`` together, after the step of viscosity if the fluid has
    one."""

    def __init__(self, phase: Phase, tolerance: float, coupled: CoupledSoft) -> None:
        self.phase, domain = phase, phase.domain
        fields = domain.solids
        assert isinstance(fields, SoftFields)
        self.domain, self.tolerance, self.coupled, self.fields = domain, tolerance, coupled, fields
        rigid = coupled.rigid
        self.block = SolidVelocities(coupled.bodies, rigid.bodies, coupled.bound, rigid.joints, coupled.rings)
        self.moved = SolidWalls(phase, fields, self.block)
        """The walls that solids move, and the fluid by them."""
        self.rows = PressureRows(phase, [self.moved])
        at_rest = DisplacedWeight(phase, rigid)
        fills = isinstance(phase, FullTank)
        self.at_rest = at_rest if fills else Hydrostatic(self.moved.alone, phase, self.moved.cut, rigid)
        """What the pressure of the fluid at rest does to rigid bodies, which is not solved for."""
        self.known = np.zeros(self.block.shape)
        """Impulses of the pressure that is known before the solve (n + 2 m, 3), but for the buoyancy of nodes."""
        self.pockets = Pockets(fields, coupled.bodies, coupled.recovery)
        self.multigrid = Multigrid(domain.grid, domain.periodic_axes)
        self.cycle = CycleStencil(self.rows, self.moved)
        dynamic = rigid.bodies.kind_b == DYNAMIC
        self.displaced_b = np.where(dynamic, phase.mass_of(rigid.volume_b + self._moved_volume()), 0.0)
        self.level = SoftPreconditioner(self.multigrid, self.rows, self.moved, self.displaced_b)
        planar = domain.grid.dimensions == 2
        fluid = VelocityBlock("fluid", phase.inv_mass_f, planar)
        self.system = CoupledSystem([fluid, self.block], [self.rows], {"pressure": self.level}, planar)
        self.null = self.system.null_space("pressure")
        self._fluid, self.viscosity = fluid, 0.0
        self.unsplit: Unsplit | None = None
        heavy = rigid.bodies.mass_b[self.displaced_b > 0.0] / self.displaced_b[self.displaced_b > 0.0]
        lightest = min(coupled.density / phase.mass_of(1.0), float(np.min(heavy, initial=np.inf)))
        self.incremental = lightest * HEAVY_ENOUGH > 1.0
        # half of the target: what rounding of the factors leaves is not to need another pass
        self.refinement = Refinement(self.system, 1.0 / lightest, margin=0.5)
        self._v = np.zeros(self.block.shape)
        self._start_f = np.zeros(domain.inv_mass_f.shape)

    def rebuild(self) -> None:
        """Take over a changed geometry."""
        self.rows.rebuild()
        self.multigrid.setup(self.cycle.build())
        if self.before is not None:
            self.before.rebuild()

    def set_viscosity(self, viscosity: float | Mixture, slip_b: np.ndarray, form: str = "split") -> None:
        """Dynamic viscosity [Pa s], or what has it; slip_b (n,): 1 for solids along which the fluid slides. form
        ``coupled``: in one system with the pressure (``coupling.unsplit``)."""
        self.viscosity = viscosity if isinstance(viscosity, float) else 0.0
        between = rows_between_faces(self.phase, viscosity)
        walls, drags = self._make_walls(viscosity, slip_b)
        self.dragged = DraggedSolids(self, drags, [between, walls])
        step = ViscousStep(between, walls, self.tolerance, expect(self.rows), self.dragged)
        self.before, self.walls, self.walls_z = step, walls, step.walls_z
        if form == "coupled":
            assert isinstance(viscosity, float)
            damping: list[RowBlock] = [between, walls, *drags]
            self.unsplit = Unsplit(
                self.domain, viscosity, [self._fluid, self.block], self.rows, damping, self.level, self.dragged.inverse
            )

    def _make_walls(
        self, viscosity: float | Mixture, slip_b: np.ndarray
    ) -> tuple[WallRows, list[SoftDrag | RigidDrag]]:
        """Rows between the fluid and what moves as prescribed, and those between the fluid and solids."""
        rigid, exchange = self.coupled.rigid, exchange_of(viscosity)
        walls = copy(self.fields)
        walls.distance_f = self.fields.rows_distance_f
        seen = seeing(self.domain, walls)
        still = np.where(rigid.bodies.kind_b[: len(slip_b)] == DYNAMIC, 1, slip_b).astype(np.int64)
        # rows on the whole strain give no torque to a body that turns with its fluid: no row of turning
        turning = rigid.volume_b if isinstance(self.phase, FullTank) else np.zeros(rigid.bodies.count)
        return WallRows(seen, exchange, still, folded=True, half=False), [
            SoftDrag(self.domain, self.fields, exchange, rigid.bodies.count),
            RigidDrag(self.block, seen, rigid.bodies, exchange, slip_b, turning),
        ]

    def place(self) -> None:
        """Take over the present velocities of solids, nodes and sides."""
        self.rows.set_wall_flux()
        self.block.take(self.moved.v)
        self.at_rest.measure()
        if self.before is not None:
            self.before.place()

    def take_known(self, start_c: Array | None, dt: float) -> None:
        self.known[...] = 0.0 if start_c is None else self.moved.push(start_c)
        of_rest = np.zeros_like(self.coupled.rigid.impulse_b)
        self.at_rest.impulse(dt, of_rest)
        self.block.twists(self.known)[...] += of_rest

    def carried(self) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = self.moved.wet_sides()
        return self.fields.voxel.face, lower + upper > 0.0

    def take_velocities(self) -> None:
        self.block.take(self.moved.v)

    def set_carried(self, u_f: Array, v: Array | None = None) -> None:
        self.set_coupled_faces(u_f, v)

    def poses(self) -> tuple[Array, Array, Array]:
        """Nodes (n, 3) [m], centres (m, 3) [m] and rotations (m, 4) of the bodies."""
        rigid = self.block.rigid
        return self.block.soft.x.copy(), rigid.x_b.copy(), rigid.q_b.copy()

    def motion_since(self, poses: tuple[Array, Array, Array], dt: float) -> Array:
        """Velocities (n + 2 m, 3) that take nodes and bodies from there to where they are, in dt [s]."""
        moved = np.zeros(self.block.shape)
        moved[self.block.nodes] = (self.block.soft.x - poses[0]) / dt
        self.block.twists(moved)[...] = effective_twists(self.block.rigid, *poses[1:], dt)
        return moved

    def predicted_twists(self) -> Array:
        """Twists (m, 6) of the bodies that the last solve found."""
        return self.block.twists(self.moved.v).copy()

    def solve(self, u_f: Array, z_c: Array, viscous_dt: float) -> list[SolveStats]:
        """u* and the velocities of the solids to n+1; z_c: dt p of the step before on entry, dt p on exit [Pa s]."""
        coupled, block, dt = self.coupled, self.block, viscous_dt
        carried = self.set_masses(dt)
        v, start = self._v, np.zeros(block.shape)
        block.take(start)
        self.add_forces(start, dt, self.carried_momentum(u_f, start, carried) + self.known)
        loose = start.copy()
        block.settle(start, np.zeros(0))
        np.copyto(self._start_f, u_f)
        w = {"fluid": u_f, BLOCK: v}
        active = None if coupled.contacts is None or not coupled.contacts.count else ActiveSet(block, coupled.contacts)
        if active is not None:
            active.choose(start + block.free_answer(self.moved.push(z_c)))
        self._see_null_space()
        self.level.setup(self.null)
        self.pockets.ask(self.rows, self.moved, self.moved.v, coupled.reach * dt)
        found: list[SolveStats] = []
        for attempt in range(1, CONTACT_PASSES + 1):
            if attempt > 1:
                np.copyto(u_f, self._start_f)
                self._see_null_space()
                self.level.correct()
            v[...] = start
            if active is not None:
                v += block.free_answer(active.friction_push())
            block.settle(v, np.zeros(0) if active is None else active.wanted)
            found += self._advance(w, z_c, dt)
            given = self.moved.push(z_c) + self._drag
            led = start + block.free_answer(given)
            coupled.passes = attempt
            if active is None:
                break
            rubbed = led + block.free_answer(active.friction_push())
            if active.accept(rubbed, v):
                break
            if attempt < CONTACT_PASSES:
                active.choose(led)
        self._finish(w, z_c, loose)
        return found

    def _see_null_space(self) -> None:
        """Of the pressures, with the rows that are held now."""
        self.null.setup()
        if self.unsplit is not None:
            self.unsplit.system.null_space("pressure").setup()

    def conform(self, u_f: Array, v: Array, z_c: Array) -> list[SolveStats]:
        """The fluid alone takes on the motion of solids with given velocities v (n + 2 m, 3), which nothing changes
        until masses are set again; z_c: guess on entry, the pressure's impulse on exit [Pa s]."""
        self.block.hold_all()
        self.multigrid.setup(self.rows.stencil)
        self.null.setup()
        self.level.setup(self.null)
        self._v[...] = v
        w = {"fluid": u_f, BLOCK: self._v}
        self._make_compatible(w)
        target = self.tolerance * self._scale(w)
        self._absorb(w, z_c)
        found = self.refinement.solve(w, z_c, target)
        self.set_coupled_faces(u_f, v)
        return found

    def _advance(self, w: dict[str, Array], z_c: Array, dt: float) -> list[SolveStats]:
        """w* -> w with the rows that are held now; z_c as for ``solve``."""
        incompatible = self._make_compatible(w)
        target = self.tolerance * self._scale(w)
        self._drag = np.zeros(self.block.shape)
        found: list[SolveStats] = []
        self._absorb(w, z_c)
        if self.unsplit is not None:
            found.append(self._solve_unsplit(self.unsplit, w, z_c, dt))
        found += self.refinement.solve(w, z_c, target)
        for _ in range(VOLUME_PASSES):
            if not self.pockets.ask(self.rows, self.moved, w[BLOCK], self.coupled.reach * dt, again=True):
                break
            found += self.refinement.solve(w, z_c, target)
        self.null.remove(z_c.reshape(-1))
        if found:
            found[-1].incompatibility = incompatible
        return found

    def _finish(self, w: dict[str, Array], z_c: Array, loose: Array) -> None:
        """Velocities to the solids, and what acted on them; loose: what they were before joints, contact and fluid."""
        coupled, block, v = self.coupled, self.block, w[BLOCK]
        rigid, count = coupled.rigid, coupled.bodies.count
        pushed = self.moved.push(z_c)
        given = pushed + self.known
        self.known[...] = 0.0
        coupled.pressure[...], coupled.viscous[...] = given[:count], self._drag[:count]
        rigid.pressure_b[...], rigid.viscous_b[...] = block.twists(given), block.twists(self._drag)
        coupled.touched[...] = 0.0 if coupled.contacts is None else coupled.contacts.push(block.shape)
        self._measure_dissipation(w)
        # what is left of the change of momentum: joints, and nodes that bodies carry
        change = np.asarray(block.matrix @ (v - loose).reshape(-1)).reshape(block.shape)
        change -= pushed + self._drag + coupled.touched
        rigid.joint_b[...] = block.twists(change)
        self._add_parts(change, rigid.joint_b)
        rigid.joint_b[rigid.bodies.kind_b != DYNAMIC] = 0.0
        if self.before is not None and self.unsplit is None:
            self.dragged.count(coupled)
        block.give(v)
        self.moved.v[...] = v
        self.fields.refresh_velocities()
        self.set_coupled_faces(w["fluid"])

    def _moved_volume(self) -> Array:
        """Of the fluid about bodies that are thin shells (m,) [m3; 2D m2], of the size of what they set in motion: that
        of an ellipsoid as long as the shell is, and as wide and thick as it is across."""
        found, bound = np.zeros(self.block.rigid.count), self.block.bound
        soft = self.block.soft
        for b in np.unique(bound.bodies[soft.mass[bound.nodes] == 0.0]):
            size = np.sort(np.ptp(soft.x[bound.nodes[bound.bodies == b]], axis=0))
            found[b] = np.pi / 4.0 * size[2] ** 2 if soft.dimensions == 2 else np.pi / 6.0 * size[2] * size[1] ** 2
        return found

    def _add_parts(self, change: Array, out_b: Array) -> None:
        """Impulses (n + 2 m, 3) on nodes that are parts of rigid bodies, which have their mass, to their bodies."""
        bound, soft, rigid = self.block.bound, self.block.soft, self.block.rigid
        part = soft.mass[bound.nodes] == 0.0
        nodes, bodies = bound.nodes[part], bound.bodies[part]
        arm = soft.x[nodes] - rigid.x_b[bodies]
        np.add.at(out_b, bodies, np.concatenate([change[nodes], np.cross(arm, change[nodes])], axis=1))

    def set_masses(self, dt: float) -> Any:
        """Mt for a step dt [s]; J^T beta of the fluid that shells carry, None without any."""
        lumped, carried = self.moved.lumped()
        self.block.set_masses(dt, THETA[self.coupled.stepper], lumped)
        return carried

    def carried_momentum(self, u_f: Array, v: Array, carried: Any) -> Array:
        """J^T beta (u* - J v) (n, 3) [N s]: what the fluid of coupled faces brings along."""
        voxel = self.fields.voxel
        if carried is None:
            return np.zeros_like(v)
        nodes = self.block.nodes
        excess = u_f.reshape(-1)[voxel.face] - voxel.wall @ v[nodes].reshape(-1)
        found = np.zeros_like(v)
        found[nodes] = np.asarray(carried @ excess).reshape(-1, 3)
        return found

    def set_coupled_faces(self, u_f: Array, v: Array | None = None) -> None:
        """Faces that shells couple take the velocity of the shells, or of nodes that move with v (n + 2 m, 3)."""
        voxel = self.fields.voxel
        if len(voxel.face):
            nodes = self.coupled.bodies.v if v is None else v[self.block.nodes]
            u_f.reshape(-1)[voxel.face] = voxel.wall @ nodes.reshape(-1)

    def add_forces(self, v: Array, dt: float, impulse: Array) -> None:
        """v^n -> v*: elasticity, what acts from outside, and an impulse (n + 2 m, 3) [N s, N m s]; joints aside."""
        bodies, block, coupled = self.coupled.bodies, self.block, self.coupled
        nodes = block.nodes
        force = np.zeros_like(v)
        elastic = np.zeros((bodies.count, 3))
        bodies.forces.measure(bodies.x if coupled.elastic_x is None else coupled.elastic_x, elastic)
        coupled.buoyancy[...] = self.moved.buoyancy()[nodes]
        force[nodes] = dt * (elastic + coupled.external + coupled.buoyancy)
        block.twists(force)[...] = coupled.rigid.impulse_b
        force += impulse
        taken = block.damping + block.stiffness if coupled.stepper == "implicit" else block.damping
        resisted = np.zeros((bodies.count, 3))
        bodies.forces.add_product(taken, np.ascontiguousarray(v[nodes]), resisted)
        force[nodes] -= resisted
        v += block.loose_answer(force)

    def _absorb(self, w: dict[str, Array], z_c: Array) -> None:
        """w <- w - B^-1 K^T z"""
        self.rows.subtract_impulse(z_c, self.phase.inv_mass_f, w["fluid"])
        change = self.moved.push(z_c)
        self.block.apply_inverse_mass(change, change)
        w[BLOCK] += change

    def diffuse(self, u_f: Array, z_c: Array, dt: float) -> list[SolveStats]:
        return [] if self.unsplit is not None else super().diffuse(u_f, z_c, dt)

    def _solve_unsplit(self, unsplit: Unsplit, w: dict[str, Array], z_c: Array, dt: float) -> SolveStats:
        """Viscosity between faces and at walls, those of solids included, in one system with the pressure."""
        assert self.before is not None
        self.before.set_time_step(dt)
        self.dragged.set_time_step(dt)
        stats = unsplit.solve(w, z_c, self.walls_z, self.tolerance, dt)
        self._drag = self.dragged.impulse(w)
        return stats

    def _make_compatible(self, w: dict[str, Array]) -> float:
        """Take what no pressure can change into the wanted rows; its part of them."""
        rows = self.rows
        if rows.target is None:
            return 0.0
        left = self.system.rows_left("pressure", w)
        unmet = left.copy()
        norm = float(np.linalg.norm(unmet))
        removed = float(np.sqrt(self.null.remove(left.reshape(-1))))
        unmet -= left
        rows.target += unmet
        part = removed / norm if norm > 0.0 else 0.0
        self.pockets.take_unmet(rows.stencil, unmet if part > NOTABLE else None)
        return part

    def _scale(self, w: dict[str, Array]) -> float:
        """What the tolerance is relative to: the rows before the solve, and at least their rounding."""
        grid = self.domain.grid
        u_f, v = w["fluid"], w[BLOCK].copy()
        # rigid bodies moved as the fluid about them lets them, however light they are
        rigid, twist = self.coupled.rigid, self.block.twists(v)
        light = self.displaced_b > 2.0 * rigid.bodies.mass_b
        slowed = rigid.bodies.mass_b / np.maximum(rigid.bodies.mass_b + 0.5 * self.displaced_b, 1e-300)
        now = np.concatenate([rigid.bodies.v_b, rigid.bodies.omega_b], axis=1)
        twist[light] = now[light] + slowed[light, None] * (twist - now)[light]
        w = {"fluid": u_f, BLOCK: v}
        fastest = max(float(u_f.max()), -float(u_f.min()), float(np.abs(v).max(initial=0.0)))
        rounding = 1e-14 * grid.face_area * fastest * np.sqrt(grid.cell_count)
        return max(self.refinement.residual(w), float(rounding) / self.tolerance, STILL * grid.face_area)

    def _measure_dissipation(self, w: dict[str, Array]) -> None:
        """What viscosity and damping take at the velocities of the end of the step."""
        bodies, total = self.coupled.bodies, 0.0
        if bodies.damped:
            v = np.ascontiguousarray(w[BLOCK][self.block.nodes])
            push = np.zeros_like(v)
            bodies.forces.add_product(self.block.damping, v, push)
            total += float((push * v).sum())
        if self.unsplit is not None:
            total += self.dragged.dissipation(w)
        self.coupled.dissipated = total


def soft_monolithic(coupled: CoupledSoft) -> Callable[[FluidDomain, FlowSettings], SplitImplicit]:
    """What makes the implicit solve of a ``Flow`` whose solids are the fields of the soft bodies ``coupled``."""

    def make(domain: FluidDomain, settings: FlowSettings) -> SplitImplicit:
        solve = SoftSolve(FullTank(domain, settings.gravity), settings.tolerance, coupled)
        if settings.viscosity > 0.0:
            slip_b = np.array([solid.slip for solid in solve.fields.solids], dtype=np.int64)
            solve.set_viscosity(settings.viscosity, slip_b, settings.viscosity_form)
        return solve

    return make
