"""Fluid and rigid bodies advanced by one implicit solve (thesis chapter 5 [@schroeder2011], Robinson-Mosher 2008).

Inviscid: one pressure moves the fluid and the bodies,

    u = u* - beta^-1 G z,    (v, omega) = (v, omega)* + M^-1 F^T z,    K w = s,    z = dt p,

see ``fluid.pressure``. Gravity of the fluid is balanced by its own hydrostatic pressure, and z is without that part,
which acts on the bodies as a known impulse (``coupling.hydrostatic``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from undertow.coupling.added_mass import AddedMass
from undertow.coupling.coupled_bodies import CoupledBodies
from undertow.coupling.drag import DragRows, TwistDrag
from undertow.coupling.hydrostatic import DisplacedWeight, Hydrostatic
from undertow.coupling.indefinite import IndefiniteSystem
from undertow.coupling.motion import effective_twists
from undertow.coupling.poles import EndVelocities
from undertow.coupling.rigid_viscosity import DraggedBodies
from undertow.coupling.rigid_walls import RigidWalls, block_diagonal
from undertow.coupling.unsplit import Unsplit
from undertow.fluid import FlowSettings
from undertow.fluid.domain import FluidDomain
from undertow.fluid.mixture import Mixture
from undertow.fluid.phase import FullTank, Phase
from undertow.fluid.pressure import PressureRows
from undertow.fluid.solve import SplitImplicit, exchange_of
from undertow.fluid.viscosity import WallRows
from undertow.fluid.viscous_step import ViscousStep, expect, rows_between_faces
from undertow.grid import Array, largest_entry
from undertow.linalg import (
    CoupledSystem,
    DenseBlock,
    Multigrid,
    Refinement,
    RowBlock,
    SolveStats,
    VelocityBlock,
)
from undertow.rigid.bodies import DYNAMIC, RigidBodies, rotation_matrix_of
from undertow.rigid.joints import Joints
from undertow.rigid.rows import BLOCK, RigidVelocities

STILL = 1e-12
"""Velocity that counts as none [m/s]: fluid at rest has rows of rounding alone, to which no tolerance is relative."""

STILL_CELLS = 64**3
"""Cells beyond which the rounding of fluid at rest is more than that: the norm of their rows grows with the root."""


class JoinedVelocities(DenseBlock):
    """Twists of bodies that joints hold together, all in one block: velocities outside what the joints allow are fixed.

    The inverse mass N - N G^T (G N G^T)^-1 G N, N = M^-1, answers to a force with the motion that the joints leave:
    they are rows of the same system, eliminated before it is solved. (``linalg.constraints`` with its compliance gives
    the same to rounding, but not the same number of iterations.)
    """

    def __init__(self, count: int) -> None:
        super().__init__(BLOCK, np.zeros((1, 6 * count, 6 * count)))
        self.own = RigidVelocities(count)
        self._velocity = np.zeros((1, 6 * count))

    def set_masses(self, bodies: RigidBodies, joints: Joints) -> None:
        """For the bodies' poses of now."""
        self.own.set_masses(bodies)
        whole = block_diagonal(self.own.inv_mass)
        rows = joints.matrix()
        across = whole @ rows.T
        inner = np.linalg.pinv(rows @ across, rcond=1e-12, hermitian=True)
        self.inv_mass[0] = whole - across @ inner @ across.T
        self._projection = np.eye(len(whole)) - across @ inner @ rows
        self.refresh()

    def project(self, twist: Array) -> None:
        """The nearest velocities that the joints allow, in kinetic energy; twist (n, 6), in place."""
        twist.reshape(-1)[...] = self._projection @ twist.reshape(-1)


class MonolithicSolve(SplitImplicit):
    """The projection of fluid and bodies together, after the step of viscosity if the fluid has one."""

    def __init__(self, phase: Phase, tolerance: float, coupled: CoupledBodies) -> None:
        domain = phase.domain
        self.phase, self.domain, self.tolerance, self.coupled = phase, domain, tolerance, coupled
        bodies = coupled.bodies
        self.block = RigidVelocities(bodies.count) if coupled.joints is None else JoinedVelocities(bodies.count)
        fills = isinstance(phase, FullTank)
        self.moved = RigidWalls(domain, bodies, fills)
        """The walls that bodies move, and the fluid by them."""
        self.rows = PressureRows(phase, [self.moved])
        self.at_rest = DisplacedWeight(phase, coupled) if fills else self._make_hydrostatic()
        """What the pressure of the fluid at rest does to bodies, which is not solved for."""
        self.known_b = np.zeros((bodies.count, 6))
        """Impulses of the pressure that is known before the solve (n, 6) [N s, N m s]."""
        self.multigrid = Multigrid(domain.grid, domain.periodic_axes)
        dynamic = bodies.kind_b == DYNAMIC
        self.displaced_b = np.where(dynamic, self.phase.mass_of(coupled.volume_b), 0.0)
        self.wet_b = np.ones(bodies.count)
        """Part of each body's surface that the fluid wets (n,)."""
        self.added_mass = AddedMass(
            self.multigrid, self.rows, self.moved, self.block, self.displaced_b, coupled.volume_b
        )
        planar = domain.grid.dimensions == 2
        self.system = CoupledSystem(
            [VelocityBlock("fluid", self.phase.inv_mass_f, planar), self.block], [self.rows],
            {"pressure": self.added_mass}, planar,
        )  # fmt: skip
        self._twist, self._before, self._change = (np.zeros((bodies.count, 6)) for _ in range(3))
        self._lightness = float(np.max(self.displaced_b[dynamic] / bodies.mass_b[dynamic], initial=1.0))
        self.refinement = Refinement(self.system, self._lightness)
        self.unsplit: Unsplit | None = None
        self._target = 0.0
        """||K w - s|| that the solves of this step are stopped at [m3/s]."""
        self._moved_by = 0.0
        """Largest speed that weight or buoyancy alone would give a body over the step [m/s]."""

    def _make_hydrostatic(self) -> Hydrostatic:
        return Hydrostatic(self.domain, self.phase, self.moved.cut, self.coupled)

    def set_viscosity(self, viscosity: float | Mixture, slip_b: np.ndarray, form: str = "split") -> None:
        """Dynamic viscosity [Pa s], or what has it; slip_b (n,): 1 for solids along which the fluid slides. form
        ``coupled``: in one system with the pressure (``coupling.unsplit``), after which the projection mends what its
        tolerance left of rows; else in a step before it."""
        domain, planar = self.domain, self.domain.grid.dimensions == 2
        between = rows_between_faces(self.phase, viscosity)
        walls, drag = self._make_walls(viscosity, slip_b)
        self.dragged = DraggedBodies(self, drag)
        block = EndVelocities("fluid", between.inv_mass_f, planar, self.moved.poles)
        step = ViscousStep(between, walls, self.tolerance, expect(self.rows), self.dragged, block)
        self.before, self.walls, self.walls_z = step, walls, step.walls_z
        if form == "coupled":
            assert isinstance(viscosity, float)
            damping: list[RowBlock] = [between, walls, drag]
            self.unsplit = Unsplit(
                domain, viscosity, [block, self.block], self.rows, damping, self.added_mass, self.dragged.inverse,
                self.moved.poles,
            )  # fmt: skip

    def take_settings(self, settings: FlowSettings) -> None:
        """Viscosity of a flow in a tank."""
        if settings.viscosity > 0.0:
            assert self.domain.solids is not None
            slip_b = self.coupled.slip_b[: len(self.domain.solids.solids)]
            self.set_viscosity(settings.viscosity, slip_b, settings.viscosity_form)

    def _make_walls(self, viscosity: float | Mixture, slip_b: np.ndarray) -> tuple[WallRows, TwistDrag]:
        """Rows between the fluid and what moves as prescribed, and those between the fluid and bodies."""
        domain, coupled, exchange = self.domain, self.coupled, exchange_of(viscosity)
        dynamic = coupled.bodies.kind_b[: len(slip_b)] == DYNAMIC
        still = np.where(dynamic, 1, slip_b).astype(np.int64)
        walls = WallRows(domain, exchange, still, folded=True, half=False)
        # rows on the whole strain give no torque to a body that turns with its fluid: no row of turning
        turning = coupled.volume_b if isinstance(self.phase, FullTank) else np.zeros(coupled.bodies.count)
        return walls, DragRows(domain, coupled.bodies, exchange, slip_b, turning)

    def rebuild(self) -> None:
        self.rows.rebuild()
        self.multigrid.setup(self.rows.stencil)
        if self.before is not None:
            self.before.rebuild()

    def place(self) -> None:
        self._target = 0.0
        self.rows.set_wall_flux()
        self._set_masses()
        self.added_mass.setup()
        self.coupled.take_twists(self.moved.v)
        self.at_rest.measure()
        self.at_rest.measure_wet(self.wet_b)
        if self.before is not None:
            self.before.place()
        coupled = self.coupled
        for given in (coupled.pressure_b, coupled.viscous_b, coupled.joint_b):
            given[...] = 0.0

    def _set_masses(self) -> None:
        """Of the bodies at their poses of now."""
        if isinstance(self.block, JoinedVelocities):
            assert self.coupled.joints is not None
            self.block.set_masses(self.coupled.bodies, self.coupled.joints)
        else:
            self.block.set_masses(self.coupled.bodies)

    def solve(self, u_f: Array, z_c: Array, viscous_dt: float) -> list[SolveStats]:
        """u* and the momenta of the bodies to n+1; z_c: guess on entry, dt p on exit [Pa s]."""
        self._begin_step()
        if self.unsplit is None:
            return self.push(u_f, z_c)
        assert self.before is not None
        twist = self._begin()
        w = {"fluid": u_f, BLOCK: twist.reshape(self.block.shape)}
        self._target = max(self._target, self.tolerance * self._scale(u_f, twist))
        self.before.set_time_step(viscous_dt)
        self.dragged.drag.time_step = viscous_dt
        self.dragged.inverse.setup()
        self._start(u_f, twist, z_c)
        first = self.unsplit.solve(w, z_c, self.walls_z, self.tolerance, viscous_dt)
        self.dragged.drag.add_impulse(u_f, twist, self.coupled.viscous_b)
        found = [first, *self._project(u_f, twist, z_c)]
        self.coupled.impulse_b += self.coupled.viscous_b
        self._end(u_f, twist, z_c)
        return found

    def diffuse(self, u_f: Array, z_c: Array, dt: float) -> list[SolveStats]:
        return [] if self.unsplit is not None else super().diffuse(u_f, z_c, dt)

    def refresh_walls(self) -> None:
        assert self.domain.solids is not None
        self.domain.solids.update(self.domain.solids.time)

    def take_known(self, start_c: Array | None, dt: float) -> None:
        self.at_rest.impulse(dt, self.known_b)
        if start_c is not None:
            self.moved.add_force(1.0, start_c, self.known_b)

    def _begin_step(self) -> None:
        """What is known of the pressure acts on the bodies; it may cancel what else does, but for rounding."""
        mass = np.maximum(self.coupled.bodies.mass_b + 0.5 * self.displaced_b, 1e-300)
        acting = np.maximum(np.abs(self.coupled.impulse_b[:, :3]), np.abs(self.known_b[:, :3])).max(axis=1)
        self._moved_by = float(np.max(acting / mass, where=self.coupled.bodies.kind_b == DYNAMIC, initial=0.0))
        self.coupled.impulse_b += self.known_b
        self.coupled.pressure_b += self.known_b
        self.known_b[...] = 0.0

    def push(self, u_f: Array, z_c: Array) -> list[SolveStats]:
        """Impulses of ``coupled`` move bodies and fluid; z_c: guess on entry, the pressure's impulse on exit [Pa s].

        What follows the first solve of a step, such as impulses of contact, is solved for as well as that was: small
        impulses take few iterations.
        """
        twist = self._begin()
        self._target = max(self._target, self.tolerance * self._scale(u_f, twist))
        self._start(u_f, twist, z_c)
        solves = self._project(u_f, twist, z_c)
        self._end(u_f, twist, z_c)
        return solves

    def conform(self, u_f: Array, twist_b: Array, z_c: Array) -> list[SolveStats]:
        """The fluid alone takes on the motion of bodies with given twists (n, 6); z_c as for ``push``.

        The bodies have infinite masses until they are placed again.
        """
        self.coupled.impulse_b[...] = 0.0
        self.block.inv_mass[...] = 0.0
        self.block.refresh()
        self.added_mass.setup()
        self._twist[...] = twist_b
        self._target = max(self._target, self.tolerance * self._scale(u_f, self._twist))
        self.rows.subtract_impulse(z_c, self.phase.inv_mass_f, u_f)
        return self._project(u_f, self._twist, z_c)

    def take_velocities(self) -> None:
        self.coupled.take_twists(self.moved.v)

    def poses(self) -> tuple[Array, Array]:
        """Centres (n, 3) [m] and rotations (n, 4) of the bodies."""
        return self.coupled.bodies.x_b.copy(), self.coupled.bodies.q_b.copy()

    def motion_since(self, poses: tuple[Array, Array], dt: float) -> Array:
        """Twists (n, 6) that take the bodies from there to where they are, in dt [s]."""
        return effective_twists(self.coupled.bodies, *poses, dt)

    def predicted_twists(self) -> Array:
        """Twists (n, 6) of the bodies that the last solve found."""
        return self.moved.v.copy()

    def begin(self, u_f: Array) -> Array:
        """Twists of the bodies (n, 6) as they take part in a solve with the fluid u."""
        return self._begin()

    def end_viscous(self, u_f: Array, twist: Array, given_b: Array) -> None:
        """Bodies go on with these twists (n, 6) after a viscous step, whose drag gave the impulses ``given`` (n, 6)."""
        coupled = self.coupled
        coupled.viscous_b += given_b
        if isinstance(self.block, JoinedVelocities):
            self.block.own.apply_inertia(twist - self._before, -given_b, self._change)
            coupled.joint_b += self._change
        coupled.give_twists(twist)

    def _begin(self) -> Array:
        """Twists of the bodies (n, 6), as joints allow them."""
        self.coupled.take_twists(self._twist)
        self._before[...] = self._twist
        if isinstance(self.block, JoinedVelocities):
            self.block.project(self._twist)
        return self._twist

    def _end(self, u_f: Array, twist: Array, z_c: Array) -> None:
        """Give the twists to the bodies and sum up what pressure and joints did; u_f: the fluid's velocities."""
        coupled = self.coupled
        self._change[...] = 0.0
        self.moved.add_force(1.0, z_c, self._change)
        coupled.pressure_b += self._change
        if isinstance(self.block, JoinedVelocities):
            # what is left of the change of momentum
            self.block.own.apply_inertia(twist - self._before, -self._change - coupled.impulse_b, self._change)
            coupled.joint_b += self._change
        coupled.give_twists(twist)
        self.moved.v[...] = twist

    def _project(self, u_f: Array, twist: Array, z_c: Array) -> list[SolveStats]:
        """K w = s to ||K w - s|| <= the target; what the pressure does beyond z_c is added to it."""
        w = {"fluid": u_f, BLOCK: twist.reshape(self.block.shape)}
        return self.refinement.solve(w, z_c, self._target)

    def mobility(self) -> tuple[Array, Array]:
        """Inverse masses (n,) and principal moments (n, 3) of the bodies with the fluid that moves along.

        From the added mass where the preconditioner has it, else with that of a sphere in translation.
        """
        bodies = self.coupled.bodies
        inv_mass, inv_inertia = bodies.inv_mass_b.copy(), bodies.inv_inertia_b.copy()
        dynamic = bodies.kind_b == DYNAMIC
        own = 0.5 if self.domain.grid.dimensions == 3 else 1.0
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

    def indefinite(self) -> IndefiniteSystem:
        """The same rows and masses as a system of pressures and twists."""
        return IndefiniteSystem(self.rows, self.block)

    def _start(self, u_f: Array, twist: Array, z_c: Array) -> None:
        """Velocities that the guess z (improved for light bodies) leads to: w <- w* - B^-1 K^T z.

        All that follows acts on velocities of the size they end with. M^-1 J of a body that weighs a billionth of what
        it displaces would take nine digits with it.
        """
        moved = self.added_mass.start(self.coupled.impulse_b, z_c)
        self._absorb(u_f, twist, z_c, moved)

    def _absorb(self, u_f: Array, twist: Array, z_c: Array, moved: Array | None = None) -> None:
        """w <- w* - B^-1 K^T z with the impulses on the bodies in w*; moved: the part of it that is known already."""
        impulse_b, change = self.coupled.impulse_b, self._change
        self.rows.subtract_impulse(z_c, self.phase.inv_mass_f, u_f)
        change[...] = impulse_b
        self.moved.add_force(1.0, z_c, change)
        self.block.apply_inverse_mass(change.reshape(self.block.shape), change.reshape(self.block.shape))
        if moved is not None:
            change.reshape(-1)[self.added_mass.chosen] = moved
        twist += change

    def _scale(self, u_f: Array, twist: Array) -> float:
        """||K w - s|| with the bodies moved as the fluid about them lets them: what the tolerance is relative to.

        At least what rounding of the velocities makes of rows that are met already.
        """
        bodies = self.coupled.bodies
        mass = bodies.mass_b + 0.5 * self.displaced_b
        pushed = np.where((bodies.kind_b == DYNAMIC)[:, None], self.coupled.impulse_b[:, :3], 0.0)
        self.moved.v[...] = twist
        self.moved.v[:, :3] += pushed / np.maximum(mass, 1e-300)[:, None]
        # a torque alone moves water too, from rest there is nothing else to be relative to
        own = self.block.own if isinstance(self.block, JoinedVelocities) else self.block
        turned = np.einsum("nij,nj->ni", own.inv_mass[:, 3:, 3:], self.coupled.impulse_b[:, 3:])
        self.moved.v[:, 3:] += turned * (bodies.mass_b / np.maximum(mass, 1e-300))[:, None]
        grid = self.domain.grid
        fastest = max(largest_entry(u_f), float(np.abs(self.moved.v[:, :3]).max(initial=0.0)), self._moved_by)
        rounding = 1e-15 * grid.face_area * fastest * np.sqrt(grid.cell_count)
        # a norm over cells: what counts as none in each of them grows with their number
        still = STILL * grid.face_area * max(1.0, np.sqrt(grid.cell_count / STILL_CELLS))
        return max(self.refinement.residual({"fluid": u_f}), float(rounding) / self.tolerance, float(still))


def in_tank(
    make: Callable[[Phase, float], MonolithicSolve],
) -> Callable[[FluidDomain, FlowSettings], SplitImplicit]:
    """What makes the implicit solve of a ``Flow``; make: that of a phase, to a tolerance."""

    def build(domain: FluidDomain, settings: FlowSettings) -> SplitImplicit:
        solve = make(FullTank(domain, settings.gravity), settings.tolerance)
        solve.take_settings(settings)
        return solve

    return build


def monolithic(coupled: CoupledBodies) -> Callable[[FluidDomain, FlowSettings], SplitImplicit]:
    """What makes the implicit solve of a ``Flow`` whose solids are the bodies ``coupled``."""
    return in_tank(lambda phase, tolerance: MonolithicSolve(phase, tolerance, coupled))
