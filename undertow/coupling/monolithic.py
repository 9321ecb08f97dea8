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
from undertow.coupling.drag import BodiesInverse, DragRows, TwistDrag
from undertow.coupling.hydrostatic import DisplacedWeight, Hydrostatic
from undertow.coupling.indefinite import IndefiniteSystem
from undertow.coupling.poles import EndVelocities
from undertow.coupling.rigid_viscosity import HEAVY_ENOUGH, CoupledViscosity
from undertow.coupling.rigid_walls import RigidWalls, block_diagonal
from undertow.coupling.unsplit import Unsplit
from undertow.fluid import FlowSettings
from undertow.fluid.domain import FluidDomain
from undertow.fluid.mixture import Mixture
from undertow.fluid.phase import FullTank, Phase
from undertow.fluid.pressure import PressureRows
from undertow.fluid.solve import ImplicitSolve
from undertow.fluid.viscosity import ViscousRows, WallRows
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


class MonolithicSolve(ImplicitSolve):
    """Inviscid: the projection of fluid and bodies together."""

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
        self._target = 0.0
        """||K w - s|| that the solves of this step are stopped at [m3/s]."""

    def _make_hydrostatic(self) -> Hydrostatic:
        return Hydrostatic(self.domain, self.phase, self.moved.cut, self.coupled)

    def set_viscosity(self, viscosity: float | Mixture, slip_b: np.ndarray) -> None:
        self.before = CoupledViscosity(self, viscosity, slip_b)

    def rebuild(self) -> None:
        self.rows.rebuild()
        self.multigrid.setup(self.rows.stencil)

    def place(self) -> None:
        self._target = 0.0
        self.rows.set_wall_flux()
        self._set_masses()
        self.added_mass.setup()
        self.coupled.take_twists(self.moved.v)
        self.at_rest.measure()
        self.at_rest.measure_wet(self.wet_b)

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
        return self.push(u_f, z_c)

    def take_known(self, start_c: Array | None, dt: float) -> None:
        self.at_rest.impulse(dt, self.known_b)
        if start_c is not None:
            self.moved.add_force(1.0, start_c, self.known_b)

    def _begin_step(self) -> None:
        """What is known of the pressure acts on the bodies; sums of what the step does to them begin."""
        coupled = self.coupled
        coupled.impulse_b += self.known_b
        coupled.pressure_b[...], coupled.joint_b[...] = self.known_b, 0.0
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
        fastest = max(largest_entry(u_f), float(np.abs(self.moved.v[:, :3]).max(initial=0.0)))
        rounding = 1e-15 * grid.face_area * fastest * np.sqrt(grid.cell_count)
        # a norm over cells: what counts as none in each of them grows with their number
        still = STILL * grid.face_area * max(1.0, np.sqrt(grid.cell_count / STILL_CELLS))
        return max(self.refinement.residual({"fluid": u_f}), float(rounding) / self.tolerance, float(still))


class ViscousMonolithicSolve(MonolithicSolve):
    """Viscous: fluid and bodies exchange momentum through the drag rows first, then through the pressure.

    Both solves start from the pressure of the step before (Van Kan 1986): in a steady state the second finds nothing
    left to do and the terminal velocity of a body does not depend on the step. A body far lighter than the fluid would
    be thrown about by a pressure that is not its own: with one the viscous solve goes first, without any.
    form ``coupled``: both in one system (``coupling.unsplit``); the second solve mends what its tolerance left of rows.
    """

    def __init__(
        self, phase: Phase, tolerance: float, coupled: CoupledBodies, viscosity: float, form: str = "split"
    ) -> None:
        super().__init__(phase, tolerance, coupled)
        self._add_viscosity(viscosity, form)

    def _add_viscosity(self, viscosity: float, form: str) -> None:
        """Rows and system of the viscous solve."""
        domain = self.domain
        self.viscous: ViscousRows = ViscousRows(domain, viscosity, folded=True, half=False)
        self.walls: WallRows
        self.walls, self.drag = self._make_walls(viscosity)
        self.walls_z = np.zeros(self.walls.shape)
        self.bodies_inverse = BodiesInverse(self.drag, self.block)
        planar = domain.grid.dimensions == 2
        blocks = [EndVelocities("fluid", domain.inv_mass_f, planar, self.moved.poles), self.block]
        damping: list[RowBlock] = [self.viscous, self.walls, self.drag]
        self.incremental = self._lightness < HEAVY_ENOUGH
        self.unsplit: Unsplit | None = None
        if form == "coupled":
            self.unsplit = Unsplit(
                domain, viscosity, blocks, self.rows, damping, self.added_mass, self.bodies_inverse, self.moved.poles
            )
        else:
            self.viscous_system = CoupledSystem(blocks, damping, {BLOCK: self.bodies_inverse}, planar)

    def _make_walls(self, viscosity: float) -> tuple[WallRows, TwistDrag]:
        """Rows between the fluid and what moves as prescribed, and those between the fluid and bodies."""
        domain, coupled = self.domain, self.coupled
        assert domain.solids is not None
        count = len(domain.solids.solids)
        slip_b, dynamic = coupled.slip_b[:count], coupled.bodies.kind_b[:count] == DYNAMIC
        still = np.where(dynamic, 1, slip_b).astype(np.int64)
        walls = WallRows(domain, viscosity, still, folded=True, half=False)
        return walls, DragRows(domain, coupled.bodies, viscosity, slip_b, coupled.volume_b)

    def rebuild(self) -> None:
        super().rebuild()
        self.viscous.rebuild()

    def place(self) -> None:
        super().place()
        self.walls.rebuild()
        self.drag.rebuild()

    def solve(self, u_f: Array, z_c: Array, viscous_dt: float) -> list[SolveStats]:
        """u* and the momenta of the bodies to n+1; z_c: dt p of the step before on entry, dt p on exit [Pa s]."""
        coupled = self.coupled
        self.viscous.time_step = self.drag.time_step = viscous_dt
        self.walls.set_time_step(viscous_dt)
        self._begin_step()
        coupled.viscous_b[...] = 0.0
        twist = self._begin()
        self._target = self.tolerance * self._scale(u_f, twist)
        w = {"fluid": u_f, BLOCK: twist.reshape(self.block.shape)}
        self.bodies_inverse.setup()
        if self.unsplit is not None:
            self._start(u_f, twist, z_c)
            first = self.unsplit.solve(w, z_c, self.walls_z, self.tolerance, viscous_dt)
        else:
            if self.incremental:
                self._absorb(u_f, twist, z_c)
            first = self.viscous_system.solve(w, {"walls": self.walls_z}, self.tolerance)
        self.drag.add_impulse(u_f, twist, coupled.viscous_b)
        if self.unsplit is None and not self.incremental:
            self._start(u_f, twist, z_c)
        found = [first, *self._project(u_f, twist, z_c)]
        coupled.impulse_b += coupled.viscous_b
        self._end(u_f, twist, z_c)
        # faces inside bodies take the velocity that the bodies have now
        assert self.domain.solids is not None
        self.domain.solids.update(self.domain.solids.time)
        return found


def monolithic(coupled: CoupledBodies) -> Callable[[FluidDomain, FlowSettings], ImplicitSolve]:
    """What makes the implicit solve of a ``Flow`` whose solids are the bodies ``coupled``."""

    def make(domain: FluidDomain, settings: FlowSettings) -> ImplicitSolve:
        phase, tolerance = FullTank(domain, settings.gravity), settings.tolerance
        if settings.viscosity > 0.0:
            return ViscousMonolithicSolve(phase, tolerance, coupled, settings.viscosity, settings.viscosity_form)
        return MonolithicSolve(phase, tolerance, coupled)

    return make
