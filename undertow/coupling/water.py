"""Water with a free surface and the bodies that move it and are moved by it, in one solve (Robinson-Mosher 2008).

The rows of ``fluid.pressure`` in the liquid cells, solved for q = p - rho (g.x - c) as without bodies
(``fluid.free_surface``). What is left of the pressure acts on the wet walls of a body as a
known impulse (``coupling.hydrostatic``). Under a level surface q is zero, so that water at rest stays at rest to
rounding around a body that weighs what it displaces.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from undertow.coupling.drag import BodiesInverse, DragRows
from undertow.coupling.hydrostatic import Hydrostatic
from undertow.coupling.lumped import LumpedSolve
from undertow.coupling.monolithic import HEAVY_ENOUGH, CoupledBodies, MonolithicSolve
from undertow.fluid.domain import FluidDomain
from undertow.fluid.free_surface import FreeSurface, FreeSurfaceSolve
from undertow.fluid.mixture import Mixture
from undertow.fluid.pressure import PressureRows
from undertow.fluid.strain import FreeViscosity
from undertow.grid import Array
from undertow.linalg import CoupledSystem, SolveStats
from undertow.rigid.bodies import DYNAMIC
from undertow.rigid.rows import BLOCK


class CoupledWaterSolve(FreeSurfaceSolve):
    """The projection of water and bodies together."""

    def __init__(
        self, domain: FluidDomain, phi_c: Array, gravity: tuple[float, float, float], tolerance: float,
        coupled: CoupledBodies,
    ) -> None:  # fmt: skip
        self.domain, self.tolerance, self.coupled = domain, tolerance, coupled
        bodies = coupled.bodies
        self.phase = FreeSurface(domain, phi_c, gravity)
        self.monolithic = self._make_solve()
        self.rows = self.monolithic.rows
        self.hydrostatic = Hydrostatic(domain, self.phase, self.monolithic.moved.cut, coupled, self._more_weight())
        self.known_b = np.zeros((bodies.count, 6))
        self.z_c, self.start_c = domain.grid.cell_field(), domain.grid.cell_field()

    def _make_solve(self) -> MonolithicSolve:
        """The solve for water and bodies."""
        return MonolithicSolve(self.domain, self.tolerance, self.coupled, self.phase)

    def set_viscosity(self, viscosity: float | Mixture, slip_b: np.ndarray) -> None:
        self.viscous = CoupledViscosity(
            self.rows, self.phase, self.tolerance, viscosity, slip_b, self.coupled, self.monolithic, self.hydrostatic
        )

    def rebuild(self) -> None:
        self.monolithic.rebuild()
        self.monolithic.place()
        self.hydrostatic.measure()
        self.hydrostatic.measure_wet(self.monolithic.wet_b)

    def _more_weight(self) -> Callable[[bool, Array], None] | None:
        """What bodies carry beside the pressure on their walls."""
        return None

    def solve(self, u_f: Array, p_c: Array, dt: float) -> list[SolveStats]:
        """u* (known impulse added) and the bodies' momenta to n+1; p_c: guess on entry, the pressure on exit [Pa]."""
        phase, coupled, z, known = self.phase, self.coupled, self.z_c, self.known_b
        # the impulse of start_c has been given to the water: the bodies get theirs with what is known
        phase.dual_of(p_c, dt, self.start_c, z)
        self.hydrostatic.impulse(dt, known)
        self.monolithic.moved.add_force(1.0, self.start_c, known)
        coupled.impulse_b += known
        coupled.pressure_b[...] = known
        stats = self.monolithic.push(u_f, z)
        phase.pressure_of(z, dt, self.start_c, p_c)
        return [*self._before, *stats]

    def push(self, u_f: Array, p_c: Array, dt: float) -> list[SolveStats]:
        """Impulses of ``coupled`` move water and bodies at once; their pressure is added to p_c [Pa]."""
        self.z_c[...] = 0.0
        stats = self.monolithic.push(u_f, self.z_c)
        self.z_c /= dt
        p_c += self.z_c
        return stats


class LumpedWaterSolve(CoupledWaterSolve):
    """The same with the water of mixed dual cells lumped on the bodies; solids are ``LumpedFields``, no viscosity.

    A wall lies on a face of a cell and feels the pressure p of its centre. The water of the dual cell between them
    moves with the body and hangs on it: its weight is part of what is known,

        J = dt rho sum (g.x_c - c) F_c + dt sum beta_f g_axis J_f,

    so that a flat bottom anywhere in its dual cell feels the pressure of the depth where it is.
    """

    def __init__(
        self, domain: FluidDomain, phi_c: Array, gravity: tuple[float, float, float], tolerance: float,
        coupled: CoupledBodies, mass: str,
    ) -> None:  # fmt: skip
        self.mass = mass
        super().__init__(domain, phi_c, gravity, tolerance, coupled)

    def _make_solve(self) -> LumpedSolve:
        self.lumped = LumpedSolve(self.domain, self.tolerance, self.coupled, self.phase, self.mass)
        return self.lumped

    def _more_weight(self) -> Callable[[bool, Array], None]:
        def add(everywhere: bool, out_b: Array) -> None:
            faces = self.lumped.faces if everywhere else self.lumped.wet
            faces.add_weight(np.array(self.phase.gravity) / self.phase.mass_of(1.0), out_b)

        return add

    def solve(self, u_f: Array, p_c: Array, dt: float) -> list[SolveStats]:
        self.lumped.bring(u_f)
        return super().solve(u_f, p_c, dt)


class CoupledViscosity(FreeViscosity):
    """The viscous step of a liquid and the bodies that it drags along, both implicit.

    Bodies too have the velocities that their weight and the last pressure lead to, but for those so light that what is
    not their own pressure would throw them about.
    """

    def __init__(
        self, rows: PressureRows, phase: FreeSurface, tolerance: float, viscosity: float | Mixture,
        slip_b: np.ndarray, coupled: CoupledBodies, monolithic: MonolithicSolve, hydrostatic: Hydrostatic,
    ) -> None:  # fmt: skip
        bodies, count = coupled.bodies, len(slip_b)
        still = np.where(bodies.kind_b[:count] == DYNAMIC, 1, slip_b).astype(np.int64)
        super().__init__(rows, phase, tolerance, viscosity, still)
        self.coupled, self.monolithic, self.hydrostatic = coupled, monolithic, hydrostatic
        # rows on the whole strain give no torque to a body that turns with its fluid: no row of turning
        exchange = viscosity.mu_f if isinstance(viscosity, Mixture) else viscosity
        self.drag = DragRows(rows.domain, bodies, exchange, slip_b, np.zeros(bodies.count))
        self.bodies_inverse = BodiesInverse(self.drag, monolithic.block)
        self.system = CoupledSystem(
            [self.block, monolithic.block], [self.strain, self.walls, self.drag], {BLOCK: self.bodies_inverse},
            self.planar,
        )  # fmt: skip
        self._twist, self.ahead_b = np.zeros((bodies.count, 6)), np.zeros((bodies.count, 6))

    def expect(self, p_c: Array, dt: float) -> bool:
        coupled, ahead, block = self.coupled, self.ahead_b, self.monolithic.block
        ahead[...] = 0.0
        if not super().expect(p_c, dt):
            return False
        self.hydrostatic.impulse(dt, ahead)
        self.monolithic.moved.add_force(1.0, self.z_c, ahead)
        ahead += coupled.impulse_b
        ahead[self.monolithic.displaced_b >= HEAVY_ENOUGH * coupled.bodies.mass_b] = 0.0
        block.apply_inverse_mass(ahead.reshape(block.shape), ahead.reshape(block.shape))
        return True

    def solve(self, u_f: Array, dt: float) -> SolveStats:
        self.rebuild(dt)
        self.drag.rebuild()
        self.drag.keep(self.strain.inv_mass_f)
        self.drag.time_step = dt
        self.bodies_inverse.setup()
        coupled, twist, block = self.coupled, self._twist, self.monolithic.block
        coupled.take_twists(twist)
        twist += self.ahead_b
        u_f += self.ahead_f
        scale = scale_with(self.scale(u_f), u_f, coupled.bodies.mass_b[:, None] * twist[:, :3])
        velocities = {"fluid": u_f, BLOCK: twist.reshape(block.shape)}
        stats = self.system.solve(velocities, {"walls": self.walls_z}, self.tolerance, scale=scale)
        coupled.viscous_b[...] = 0.0
        self.drag.add_impulse(u_f, twist, coupled.viscous_b)
        twist -= self.ahead_b
        u_f -= self.ahead_f
        coupled.give_twists(twist)
        return stats


def scale_with(fluid: float, u_f: Array, *momenta: Array) -> float:
    """What the tolerance of a viscous solve is relative to, the momenta of the solids [N s] included: those that move
    in still water are slowed from their first step on. fluid: that of the velocities u_f alone."""
    own = float(np.sqrt(sum(np.sum(p * p) for p in momenta)))
    return float(np.hypot(fluid if u_f.any() else 0.0, own)) or 1.0
