"""Water with a free surface and the solids in it, some of them soft, in one solve.

The rows of ``fluid.pressure`` in the liquid cells, solved for q = p - rho (g.x - c) as without bodies
(``fluid.free_surface``). The hydrostatic part acts on the pieces of soft surfaces in liquid cells as a known force
-rho (g.x - c) s at the middle of each piece: exact for what lies under the surface, since the potential is linear and
pieces are flat. On rigid bodies it is that of ``coupling.hydrostatic``.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np
from numba import njit

from undertow.coupling.hydrostatic import Hydrostatic
from undertow.coupling.soft_drag import NodesInverse, RigidDrag, SoftDrag
from undertow.coupling.soft_fields import SoftFields, closest_point, index_range
from undertow.coupling.soft_solve import CoupledSoft, SoftSolve
from undertow.coupling.solid_velocities import BLOCK
from undertow.coupling.solid_walls import seeing
from undertow.coupling.water import scale_with
from undertow.fluid.domain import FluidDomain
from undertow.fluid.free_surface import FreeSurface, FreeSurfaceSolve
from undertow.fluid.mixture import Mixture
from undertow.fluid.strain import FreeViscosity
from undertow.fluid.viscosity import WallRows
from undertow.geometry import Solid
from undertow.geometry.solids import BAND
from undertow.grid import GHOSTS, Array, Grid, Sides
from undertow.linalg import CoupledSystem, SolveStats
from undertow.rigid.bodies import DYNAMIC
from undertow.soft import SoftBodies


class SoftWaterFields(SoftFields):
    """``SoftFields`` whose phi_n and inner_c, what a surface of water keeps out of and follows inside, have the soft
    bodies too."""

    def __init__(
        self, grid: Grid, sides: Sides, solids: Sequence[Solid], bodies: SoftBodies, equal_weights: bool = False
    ) -> None:
        super().__init__(grid, sides, solids, bodies, equal_weights)
        self.inner_c = np.zeros_like(self.velocity_c)
        self._winding, self._square = np.zeros(grid.padded, dtype=np.int64), np.zeros(grid.padded)
        self._own_f = np.zeros((3, *grid.padded))

    def end_at(self, sides: Sides) -> None:
        """Under a surface there is room: slits at walls are closed."""
        super().end_at(sides)
        self.rigid.walls[...] = self.walls

    def update(self, t: float) -> bool:
        changed = super().update(t)
        if len(self.closed):
            band = BAND * self.grid.dx
            self._winding[...], self._square[...] = 0, band * band
            surface = self.surface._replace(element=self.closed)
            _mark_distance(self.grid.spec, surface, band, self._square, self._winding)
            join_inside(self._square, self._winding, self.phi_n)
        return changed

    def set_velocities(self) -> None:
        """Velocities of the walls of soft bodies; in cells the mean of their faces that no solid is nearer to."""
        super().set_velocities()
        self.inner_c[...] = self.velocity_c
        self._own_f[...] = 0.0
        self._own_f.reshape(-1)[self.near_arrays().face[self.nearer]] = 1.0
        for axis in self.grid.axes:
            own, wall, out = (np.moveaxis(f[axis], 2 - axis, 0) for f in (self._own_f, self.velocity_f, self.inner_c))
            faces = own[:-1] + own[1:]
            mean = (own * wall)[:-1] + (own * wall)[1:]
            np.divide(mean, faces, out=out[:-1], where=faces > 0.0)


class SoftWaterSolve(FreeSurfaceSolve):
    """The projection of water and solids together."""

    def __init__(
        self, domain: FluidDomain, phi_c: Array, gravity: tuple[float, float, float], tolerance: float,
        coupled: CoupledSoft,
    ) -> None:  # fmt: skip
        self.domain, self.tolerance, self.coupled = domain, tolerance, coupled
        self.phase = FreeSurface(domain, phi_c, gravity)
        self.soft = SoftSolve(self.phase, tolerance, 0.0, coupled)
        self.rows, self.moved = self.soft.rows, self.soft.moved
        self.hydrostatic = Hydrostatic(self.moved.alone, self.phase, self.moved.cut, coupled.rigid)
        self.known_b = np.zeros((coupled.rigid.bodies.count, 6))
        self.z_c, self.start_c = domain.grid.cell_field(), domain.grid.cell_field()

    def rebuild(self) -> None:
        self.soft.rebuild()
        self.soft.place()
        self.hydrostatic.measure()

    def set_viscosity(self, viscosity: float | Mixture, slip_b: np.ndarray) -> None:
        self.viscous = SoftViscosity(self.soft, self.phase, viscosity, slip_b, self.hydrostatic)

    def carried(self) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = self.moved.wet_sides()
        return self.moved.fields.voxel.face, lower + upper > 0.0

    def set_carried(self, u_f: Array) -> None:
        self.soft.set_coupled_faces(u_f)

    def solve(self, u_f: Array, p_c: Array, dt: float) -> list[SolveStats]:
        """u* (known impulse added) and the velocities of the solids to n+1; p_c: guess on entry, the pressure on exit
        [Pa]."""
        phase, coupled, rigid, z, known = self.phase, self.coupled, self.coupled.rigid, self.z_c, self.known_b
        # the impulse of start_c has been given to the water: the solids get theirs with what is known
        phase.dual_of(p_c, dt, self.start_c, z)
        start = self.moved.push(self.start_c)
        nodes = coupled.bodies.count
        self.hydrostatic.impulse(dt, known)
        known += self.soft.block.twists(start)
        coupled.external += start[:nodes] / dt
        rigid.impulse_b += known
        stats = self.soft.solve(u_f, z, dt)
        coupled.pressure += start[:nodes]
        rigid.pressure_b += known
        if isinstance(self.viscous, SoftViscosity):
            self.viscous.count(coupled)
        phase.pressure_of(z, dt, self.start_c, p_c)
        return [*self._before, *stats]


class SoftViscosity(FreeViscosity):
    """The viscous step of a liquid and of the solids that it drags along, all implicit: it comes before the pressure.

        Mt (v - v*) = -C_d^T C_d (u, v),      v* = v^n + Mt^-1 J^T beta (u* - J v^n),

    Mt being the masses of the solve that follows, elasticity and the water that shells carry included: a stiff body is
    slowed down as a whole, not its outermost nodes alone. That water's velocity is handed over here, so that none of
    the momentum which shells are given is taken for water that goes slower than they do. Solids too have the velocities
    that forces and the last pressure lead to, which are taken back after the step.
    """

    def __init__(
        self, soft: SoftSolve, phase: FreeSurface, viscosity: float | Mixture, slip_b: np.ndarray,
        hydrostatic: Hydrostatic,
    ) -> None:  # fmt: skip
        self.soft, self.hydrostatic, rigid = soft, hydrostatic, soft.coupled.rigid
        still = np.where(rigid.bodies.kind_b[: len(slip_b)] == DYNAMIC, 1, slip_b).astype(np.int64)
        super().__init__(soft.rows, phase, soft.tolerance, viscosity, still)
        exchange = viscosity.mu_f if isinstance(viscosity, Mixture) else viscosity
        walls = copy(soft.fields)
        walls.distance_f = soft.fields.rows_distance_f
        seen = seeing(phase.domain, walls)
        self.walls = WallRows(seen, exchange, still, folded=True, half=False)
        # rows on the whole strain give no torque to a body that turns with its fluid: no row of turning
        none = np.zeros(rigid.bodies.count)
        self.drags: list[SoftDrag | RigidDrag] = [
            SoftDrag(phase.domain, soft.fields, exchange, rigid.bodies.count),
            RigidDrag(soft.block, seen, rigid.bodies, exchange, slip_b, none),
        ]
        self.nodes_inverse = NodesInverse(self.drags, soft.block)
        self.system = CoupledSystem(
            [self.block, soft.block], [self.strain, self.walls, *self.drags], {BLOCK: self.nodes_inverse}, self.planar
        )
        self._drag, self._joint = np.zeros(soft.block.shape), np.zeros(soft.block.shape)
        self._expected: Array | None = None
        self.dissipated = 0.0

    def expect(self, p_c: Array, dt: float) -> bool:
        """Solids that touch something have no more than they have: what contact gives them is not known yet."""
        soft, contacts, self._expected = self.soft, self.soft.coupled.contacts, None
        if not super().expect(p_c, dt):
            return False
        if soft.incremental and (contacts is None or not contacts.count):
            self._expected = soft.moved.push(self.z_c)
            known = np.zeros((soft.coupled.rigid.bodies.count, 6))
            self.hydrostatic.impulse(dt, known)
            soft.block.twists(self._expected)[...] += known
        return True

    def solve(self, u_f: Array, dt: float) -> SolveStats:
        soft, block = self.soft, self.soft.block
        self.rebuild(dt)
        for drag in self.drags:
            drag.rebuild()
            drag.keep(self.strain.inv_mass_f)
            drag.time_step = dt
        v = np.zeros(block.shape)
        carried = soft.set_masses(dt)
        block.take(v)
        brought = soft.carried_momentum(u_f, v, carried)
        start = v + block.loose_answer(brought)
        block.settle(start, np.zeros(0))
        if self._expected is None:
            v[...] = start
        else:
            soft.add_forces(v, dt, brought + self._expected)
            block.settle(v, np.zeros(0))
        before, ahead = v.copy(), v - start
        u_f += self.ahead_f
        self.nodes_inverse.setup()
        w = {"fluid": u_f, BLOCK: v}
        momenta = soft.coupled.bodies.mass[:, None] * v[block.nodes], soft.coupled.rigid.bodies.p_b
        scale = scale_with(self.scale(u_f), u_f, *momenta)
        stats = self.system.solve(w, {"walls": self.walls_z}, self.tolerance, scale=scale)
        self._drag = np.asarray(sum(drag.impulse(u_f, v) for drag in self.drags))
        self._joint = np.asarray(block.matrix @ (v - before).reshape(-1)).reshape(block.shape) - self._drag
        self._measure(w)
        v -= ahead
        u_f -= self.ahead_f
        block.give(v)
        soft.set_coupled_faces(u_f)
        return stats

    def _measure(self, w: dict[str, Array]) -> None:
        """What viscosity takes at these velocities over the step [J]."""
        gram = {"fluid": np.zeros_like(w["fluid"]), BLOCK: np.zeros_like(w[BLOCK])}
        for row in (self.strain, self.walls, *self.drags):
            row.add_gram(w, gram)
        self.dissipated = float((gram["fluid"] * w["fluid"]).sum() + (gram[BLOCK] * w[BLOCK]).sum())

    def count(self, coupled: CoupledSoft) -> None:
        """Add what the viscous step did to what the one of the pressure has noted."""
        rigid, block = coupled.rigid, self.soft.block
        coupled.viscous += self._drag[block.nodes]
        rigid.viscous_b += block.twists(self._drag)
        moved = rigid.bodies.kind_b == DYNAMIC
        rigid.joint_b[moved] += block.twists(self._joint)[moved]
        coupled.dissipated += self.dissipated


@njit(cache=True)
def _mark_distance(spec, surface, band, out_square, out_winding):  # type: ignore[no-untyped-def]
    """Squared distance from the closed surfaces of the nodes within the band, and how often lines along x have entered
    them less left them between the node before and each node.

    A line through an edge crosses one of its two elements: the side on which a point lies is asked of each edge in
    one direction, whichever element it is asked for.
    """
    corners = surface.element.shape[1]
    x = np.zeros((3, 3))
    for e in range(len(surface.element)):
        low, high = np.full(3, 1e300), np.full(3, -1e300)
        for a in range(corners):
            for c in range(3):
                x[a, c] = surface.x[surface.element[e, a], c]
                low[c], high[c] = min(low[c], x[a, c]), max(high[c], x[a, c])
        i0, i1 = index_range(spec.x0, spec.dx, spec.nx, low[0] - band, high[0] + band)
        j0, j1 = index_range(spec.y0, spec.dx, spec.ny, low[1] - band, high[1] + band)
        k0, k1 = GHOSTS, GHOSTS
        if spec.dimensions == 3:
            k0, k1 = index_range(spec.z0, spec.dx, spec.nz, low[2] - band, high[2] + band)
        for k in range(k0, k1 + 1):
            z = spec.z0 + (k - GHOSTS) * spec.dx
            for j in range(j0, j1 + 1):
                y = spec.y0 + (j - GHOSTS) * spec.dx
                for i in range(i0, i1 + 1):
                    square, _, _, _ = closest_point(surface, 0, e, spec.x0 + (i - GHOSTS) * spec.dx, y, z)
                    out_square[k, j, i] = min(out_square[k, j, i], square)
                turn, at = 0, 0.0
                if corners == 2:
                    if (x[0, 1] > y) != (x[1, 1] > y):
                        turn = 1 if x[0, 1] > y else -1
                        at = x[0, 0] + (y - x[0, 1]) * (x[1, 0] - x[0, 0]) / (x[1, 1] - x[0, 1])
                else:
                    total, count = 0.0, 0
                    for a in range(3):
                        p, q = surface.element[e, (a + 1) % 3], surface.element[e, (a + 2) % 3]
                        u, v = min(p, q), max(p, q)
                        uy, uz = surface.x[u, 1], surface.x[u, 2]
                        side = (surface.x[v, 1] - uy) * (z - uz) - (surface.x[v, 2] - uz) * (y - uy)
                        positive = side >= 0.0
                        if p > q:
                            side, positive = -side, not positive
                        count += 1 if positive else -1
                        total += side
                        at += side * x[a, 0]
                    if count == 3 or count == -3:
                        turn = -1 if count == 3 else 1
                        at = at / total if total != 0.0 else x[0, 0]
                if turn != 0:
                    i = max(int(np.floor((at - spec.x0) / spec.dx)) + 1 + GHOSTS, 0)
                    if i < spec.nx + 2 * GHOSTS:
                        out_winding[k, j, i] += turn


def join_inside(square: Array, winding: np.ndarray, phi: Array) -> None:
    """phi = min(phi, d), d being the distance from the surfaces, negative inside, as far as ``square`` has it; changes
    ``square`` and ``winding``."""
    np.cumsum(winding, axis=2, out=winding)
    distance = np.sqrt(square, out=square)
    np.negative(distance, out=distance, where=winding != 0)
    np.minimum(phi, distance, out=phi)
