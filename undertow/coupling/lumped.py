"""Rigid bodies in fluid with the mass and momentum of mixed dual cells lumped on the bodies.

After Robinson-Mosher et al. 2008 [@robinsonmosher2008]: cells are solid or fluid as their centres are. The fluid of a
dual cell between a solid and a fluid cell, of mass beta_f = rho w_f V, moves with the body. With the rows
J_f = (e_axis, r_f x e_axis) of all such faces and beta = diag(beta_f), a body has the mass and the velocity (22)-(24)

    Mt = M + J^T beta J,      v* <- v* + Mt^-1 J^T beta (u* - J v*)

before it is solved with the pressure as bodies are whose walls lie on the closed faces. Of the impulse on a mixed dual
cell each material then has the part of its mass: in one dimension, half of the cell of either density,

    p_{i+1/2} = (rho_2 p_i + rho_1 p_{i+1}) / (rho_1 + rho_2)                                                      (2)

Solving for the pressures and the bodies' velocities together instead is the symmetric indefinite system (16),

    [ G^T beta^-1 G    F   ] [  z ]   [ K u* - s ]
    [      F^T       -Mt   ] [ dv ] = [     0    ],        dv = Mt^-1 F^T z,

whose Schur complement is that of the solve here (thesis 5.5 [@schroeder2011]). ``IndefiniteSystem`` is it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from undertow.coupling.fractions import LumpedFields
from undertow.coupling.monolithic import CoupledBodies, MonolithicSolve
from undertow.errors import UserError
from undertow.fluid import FlowSettings
from undertow.fluid.domain import FluidDomain
from undertow.fluid.solve import ImplicitSolve
from undertow.grid import GHOSTS, Array
from undertow.linalg import Minres, Multigrid, SolveStats
from undertow.rigid.bodies import DYNAMIC


class LumpedSolve(MonolithicSolve):
    """The coupled solve of a ``Flow`` whose solids are ``LumpedFields``; inviscid."""

    def __init__(self, domain: FluidDomain, tolerance: float, coupled: CoupledBodies) -> None:
        if coupled.joints is not None:
            raise UserError("coupling = 'lumped': bodies are moved one by one; joints have coupling = 'monolithic'")
        super().__init__(domain, tolerance, coupled)
        self.added_mass.whole_bodies = True
        assert isinstance(domain.solids, LumpedFields)
        self.fields = domain.solids
        count = coupled.bodies.count
        self.face = np.zeros(0, np.int64)
        self.body = np.zeros(0, np.int64)
        self.across = np.zeros((0, 6))
        """J of the mixed faces (m, 6): flat face and body beside it."""
        self.beta = np.zeros(0)
        self.carried_b = np.zeros((count, 6, 6))
        """J^T beta J by body [kg, kg m, kg m2]."""

    def place(self) -> None:
        """Take over poses and velocities; masses with the fluid that the bodies carry."""
        super().place()
        self._find_faces()
        block, bodies = self.block, self.coupled.bodies
        own = np.linalg.pinv(block.inv_mass, hermitian=True)
        free = (bodies.kind_b == DYNAMIC)[:, None] & (np.diagonal(block.inv_mass, axis1=1, axis2=2) > 0.0)
        total = own + self.carried_b * free[:, :, None] * free[:, None, :]
        block.inv_mass[...] = np.linalg.pinv(total, hermitian=True) * free[:, :, None] * free[:, None, :]
        block.refresh()
        self.added_mass.setup()

    def _find_faces(self) -> None:
        """J and beta of the faces between solid and fluid cells of dynamic bodies."""
        grid, fields, bodies = self.domain.grid, self.fields, self.coupled.bodies
        carried = fields.carried_f.reshape(-1)
        face = np.flatnonzero(carried > 0.0)
        axis, cell = np.divmod(face, int(np.prod(grid.padded)))
        index = np.stack(np.unravel_index(cell, grid.padded), axis=1)[:, ::-1]
        # periodic faces are there once
        most = GHOSTS + np.array(grid.cells) + np.eye(3, dtype=np.int64)[axis]
        inside = np.all((index >= GHOSTS) & (index < most), axis=1)
        seam = (index[np.arange(len(face)), axis] == GHOSTS + np.array(grid.cells)[axis]) & (fields.period[axis] > 0.0)
        body = fields.body_c.reshape(-1)[cell]
        chosen = inside & ~seam & (body >= 0)
        chosen[chosen] &= bodies.kind_b[body[chosen]] == DYNAMIC
        face, axis, index, body = face[chosen], axis[chosen], index[chosen], body[chosen].astype(np.int64)
        place = np.array(grid.lower) + (index - GHOSTS + 0.5 * (1.0 - np.eye(3)[axis])) * grid.dx
        arm, normal = fields.arms(place, bodies.x_b[body]), np.eye(3)[axis]
        self.face, self.body = face, body
        self.across = np.concatenate([normal, np.cross(arm, normal)], axis=1)
        self.beta = self.domain.density * grid.cell_volume * carried[face]
        self.carried_b[...] = 0.0
        np.add.at(self.carried_b, body, self.beta[:, None, None] * self.across[:, :, None] * self.across[:, None, :])

    def face_velocity(self, twist_b: Array) -> Array:
        """J v of the mixed faces (m,) [m/s]."""
        return np.asarray(np.einsum("mc,mc->m", self.across, twist_b[self.body]))

    def push(self, u_f: Array, z_c: Array) -> list[SolveStats]:
        """As in ``MonolithicSolve``, with the momentum that the carried fluid brings along and takes away."""
        coupled = self.coupled
        coupled.take_twists(self._twist)
        brought = self.beta * (u_f.reshape(-1)[self.face] - self.face_velocity(self._twist))
        impulse = np.zeros_like(coupled.impulse_b)
        np.add.at(impulse, self.body, brought[:, None] * self.across)
        given, had = coupled.impulse_b.copy(), coupled.pressure_b.copy()
        coupled.impulse_b += impulse
        found = super().push(u_f, z_c)
        coupled.impulse_b[...] = given
        u_f.reshape(-1)[self.face] = self.face_velocity(self.rows.twist_b)
        # what the body itself got
        before, after = self._before, self.rows.twist_b
        own = np.linalg.pinv(self.block.inv_mass, hermitian=True) - self.carried_b
        dynamic = coupled.bodies.kind_b == DYNAMIC
        changed = np.einsum("bij,bj->bi", own, after - before) - given
        coupled.pressure_b[...] = had
        coupled.pressure_b[dynamic] += changed[dynamic]
        return found


class IndefiniteSystem:
    """The system (16) of a ``LumpedSolve``: pressures and changes of twists, by MINRES.

    Preconditioned by a multigrid cycle for G^T beta^-1 G (in the paper incomplete Cholesky) and Mt^-1, one beside the
    other.
    """

    def __init__(self, solve: LumpedSolve) -> None:
        self.solve_, self.cells = solve, int(np.prod(solve.rows.shape))
        self.multigrid = Multigrid(solve.domain.grid, solve.domain.periodic_axes)
        self.size = self.cells + 6 * solve.coupled.bodies.count
        self._mass = np.zeros_like(solve.block.inv_mass)

    def solve(self, row_c: Array, tolerance: float) -> tuple[Array, Array, int]:
        """z [Pa s] and dv (n, 6) for rows K u* - s, and how many iterations it took."""
        rows, block = self.solve_.rows, self.solve_.block
        assert rows.stencil is not None
        self.multigrid.setup(rows.stencil)
        self._mass[...] = np.linalg.pinv(block.inv_mass, hermitian=True)
        b, x = np.zeros(self.size), np.zeros(self.size)
        b[: self.cells] = row_c.reshape(-1)
        solver = Minres(self.size, [(0, self.size)])
        stats = solver.solve(self, b, x, tolerance, 2000, _BlockDiagonal(self))
        return x[: self.cells].reshape(rows.shape), x[self.cells :].reshape(-1, 6), stats.iterations

    def apply(self, x: Array, out: Array) -> None:
        """out = A x, flat."""
        rows, n = self.solve_.rows, self.cells
        z, dv = x[:n], x[n:].reshape(-1, 6)
        assert rows.stencil is not None
        rows.stencil.apply(z, out[:n])
        rows.walls.add_flux(1.0, dv, out[:n].reshape(rows.shape))
        out[n:].reshape(-1, 6)[...] = -np.einsum("bij,bj->bi", self._mass, dv)
        rows.walls.add_force(1.0, z.reshape(rows.shape), out[n:].reshape(-1, 6))


class _BlockDiagonal:
    """Multigrid for the pressures, Mt^-1 for the bodies."""

    def __init__(self, system: IndefiniteSystem) -> None:
        self.system = system

    def apply(self, x: Array, out: Array) -> None:
        system, n = self.system, self.system.cells
        shape = system.solve_.rows.shape
        system.multigrid.apply(x[:n].reshape(shape), out[:n].reshape(shape))
        system.solve_.block.apply_inverse_mass(x[n:].reshape(-1, 6), out[n:].reshape(-1, 6))


def lumped(coupled: CoupledBodies) -> Callable[[FluidDomain, FlowSettings], ImplicitSolve]:
    """What makes the implicit solve of a ``Flow`` whose solids are the ``LumpedFields`` of the bodies ``coupled``."""

    def make(domain: FluidDomain, settings: FlowSettings) -> ImplicitSolve:
        return LumpedSolve(domain, settings.tolerance, coupled)

    return make
