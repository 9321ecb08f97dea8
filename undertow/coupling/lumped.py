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

whose Schur complement is that of the solve here (thesis 5.5 [@schroeder2011]). ``coupling.indefinite`` is it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from undertow.coupling.fractions import LumpedFields
from undertow.coupling.monolithic import CoupledBodies, MonolithicSolve
from undertow.coupling.rows import CoupledRows
from undertow.errors import UserError
from undertow.fluid import FlowSettings
from undertow.fluid.domain import FluidDomain
from undertow.fluid.free_surface import FreeSurfaceRows
from undertow.fluid.solve import ImplicitSolve
from undertow.grid import GHOSTS, Array
from undertow.linalg import DenseBlock, SolveStats
from undertow.rigid.bodies import DYNAMIC


class CarriedFaces(NamedTuple):
    """Faces between a solid and a fluid cell whose fluid moves with a body."""

    face: np.ndarray  # (m,) flat index of the padded face field
    body: np.ndarray  # (m,)
    across: np.ndarray  # (m, 6) J: the velocity across the face is J v
    beta: np.ndarray  # (m,) mass of the fluid [kg; 2D kg/m]
    axis: np.ndarray  # (m,)
    place: np.ndarray  # (m, 3) centres from those of the bodies [m]

    def velocity(self, twist_b: Array) -> Array:
        """J v (m,) [m/s] of twists (n, 6)."""
        return np.asarray(np.einsum("mc,mc->m", self.across, twist_b[self.body]))

    def add_impulse(self, impulse_m: Array, out_b: Array) -> None:
        """out (n, 6) += J^T i of impulses (m,) across the faces."""
        np.add.at(out_b, self.body, impulse_m[:, None] * self.across)

    def add_weight(self, gravity: Array, out_b: Array) -> None:
        """out (n, 6) += J^T beta g."""
        self.add_impulse(self.beta * gravity[self.axis], out_b)


class LumpedSolve(MonolithicSolve):
    """The coupled solve of a fluid whose solids are ``LumpedFields``; inviscid.

    make_rows: see ``MonolithicSolve``; under a free surface only faces beside a liquid cell carry fluid (``wet``).
    mass: ``full``, Mt of the head, or ``diagonal``, the masses and moments (22)-(24) about the common centre of mass,
    without what couples them there.
    """

    def __init__(
        self, domain: FluidDomain, tolerance: float, coupled: CoupledBodies,
        make_rows: Callable[[DenseBlock], CoupledRows] | None = None, mass: str = "full",
    ) -> None:  # fmt: skip
        if coupled.joints is not None:
            raise UserError("coupling = 'lumped': bodies are moved one by one; joints have coupling = 'monolithic'")
        super().__init__(domain, tolerance, coupled, make_rows)
        self.added_mass.whole_bodies = True
        assert isinstance(domain.solids, LumpedFields)
        self.fields, self.mass = domain.solids, mass
        count = coupled.bodies.count
        none = np.zeros(0, np.int64)
        self.faces = self.wet = CarriedFaces(none, none, np.zeros((0, 6)), np.zeros(0), none, np.zeros((0, 3)))
        self.carried_b = np.zeros((count, 6, 6))
        """Mt - M by body [kg, kg m, kg m2]."""
        self._brought = np.zeros((count, 6))

    def place(self) -> None:
        """Take over poses and velocities; masses with the fluid that the bodies carry."""
        super().place()
        self._find_faces()
        block, bodies = self.block, self.coupled.bodies
        own = np.asarray(np.linalg.pinv(block.inv_mass, hermitian=True), dtype=np.float64)
        free = (bodies.kind_b == DYNAMIC)[:, None] & (np.diagonal(block.inv_mass, axis1=1, axis2=2) > 0.0)
        both = free[:, :, None] & free[:, None, :]
        self.carried_b[...] = self._carried(own)
        total = own + self.carried_b * both
        block.inv_mass[...] = np.linalg.pinv(total, hermitian=True) * both
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
        centre = np.array(grid.lower) + (index - GHOSTS + 0.5 * (1.0 - np.eye(3)[axis])) * grid.dx
        arm, normal = fields.arms(centre, bodies.x_b[body]), np.eye(3)[axis]
        across = np.concatenate([normal, np.cross(arm, normal)], axis=1)
        beta = self.domain.density * grid.cell_volume * carried[face]
        self.faces = self.wet = CarriedFaces(face, body, across, beta, axis, arm)
        if isinstance(self.rows, FreeSurfaceRows):
            liquid = (self.rows.liquid_c * fields.volume_c).reshape(-1)
            below = np.array([1, grid.padded[2], grid.padded[1] * grid.padded[2]])[axis]
            wet = liquid[cell[chosen]] + liquid[cell[chosen] - below] > 0.0
            self.wet = CarriedFaces(*(array[wet] for array in self.faces))

    def _carried(self, own: Array) -> Array:
        """Mt - M (n, 6, 6), own (n, 6, 6) being M."""
        wet = self.wet
        found = np.zeros_like(self.carried_b)
        if self.mass == "full":
            np.add.at(found, wet.body, wet.beta[:, None, None] * wet.across[:, :, None] * wet.across[:, None, :])
            return found
        for b in np.unique(wet.body):
            of = wet.body == b
            mass, beta, axis, place = own[b, 0, 0], wet.beta[of], wet.axis[of], wet.place[of]
            total = mass + np.bincount(axis, beta, 3)
            shift = np.bincount(axis, beta * place[np.arange(len(axis)), axis], 3) / total  # (22)
            arms = np.cross(place - shift, np.eye(3)[axis])
            moment = own[b, 3:, 3:] + mass * _cross_matrix(shift) @ _cross_matrix(shift).T  # (24)
            moment = moment + np.einsum("m,mi,mj->ij", beta, arms, arms)
            # from velocities at the common centre of mass to those at the body's own
            to = np.eye(6)
            to[:3, 3:] = -_cross_matrix(shift)
            common = np.zeros((6, 6))
            common[:3, :3], common[3:, 3:] = np.diag(total), moment
            found[b] = to.T @ common @ to - own[b]
        return found

    def bring(self, u_f: Array) -> None:
        """Take note of the momentum that the carried fluid brings along: Mt v* = M v* + J^T beta u*."""
        coupled, wet = self.coupled, self.wet
        coupled.take_twists(self._twist)
        self._brought[...] = -np.einsum("bij,bj->bi", self.carried_b, self._twist)
        wet.add_impulse(wet.beta * u_f.reshape(-1)[wet.face], self._brought)
        self._brought[coupled.bodies.kind_b != DYNAMIC] = 0.0

    def solve(self, u_f: Array, z_c: Array, viscous_dt: float) -> list[SolveStats]:
        self.bring(u_f)
        return super().solve(u_f, z_c, viscous_dt)

    def push(self, u_f: Array, z_c: Array) -> list[SolveStats]:
        """As in ``MonolithicSolve``, with what the carried fluid has brought along; it takes away J v."""
        coupled = self.coupled
        given, had = coupled.impulse_b.copy(), coupled.pressure_b.copy()
        coupled.impulse_b += self._brought
        found = super().push(u_f, z_c)
        coupled.impulse_b[...] = given
        self._brought[...] = 0.0
        u_f.reshape(-1)[self.wet.face] = self.wet.velocity(self.rows.twist_b)
        # what the body itself got
        before, after = self._before, self.rows.twist_b
        own = np.linalg.pinv(self.block.inv_mass, hermitian=True) - self.carried_b
        dynamic = coupled.bodies.kind_b == DYNAMIC
        changed = np.einsum("bij,bj->bi", own, after - before) - given
        coupled.pressure_b[...] = had
        coupled.pressure_b[dynamic] += changed[dynamic]
        return found


def _cross_matrix(a: Array) -> Array:
    """a* of a vector (3,): a* b = a x b."""
    x, y, z = a
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def lumped(coupled: CoupledBodies, mass: str = "full") -> Callable[[FluidDomain, FlowSettings], ImplicitSolve]:
    """What makes the implicit solve of a ``Flow`` whose solids are the ``LumpedFields`` of the bodies ``coupled``."""

    def make(domain: FluidDomain, settings: FlowSettings) -> ImplicitSolve:
        return LumpedSolve(domain, settings.tolerance, coupled, mass=mass)

    return make
