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

from undertow.coupling.coupled_bodies import CoupledBodies
from undertow.coupling.drag import DragSpec, TwistDrag
from undertow.coupling.fractions import LumpedFields
from undertow.coupling.hydrostatic import Hydrostatic
from undertow.coupling.monolithic import MonolithicSolve, in_tank
from undertow.errors import UserError
from undertow.fluid import FlowSettings
from undertow.fluid.domain import FluidDomain
from undertow.fluid.mixture import Mixture
from undertow.fluid.phase import Phase
from undertow.fluid.solve import ImplicitSolve
from undertow.fluid.viscosity import WallRows
from undertow.grid import GHOSTS, Array
from undertow.linalg import SolveStats
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

    Under a free surface only faces beside a liquid cell carry fluid (``wet``).
    mass: ``full``, Mt of the head, or ``diagonal``, the masses and moments (22)-(24) about the common centre of mass,
    without what couples them there.
    """

    def __init__(self, phase: Phase, tolerance: float, coupled: CoupledBodies, mass: str = "full") -> None:
        if coupled.joints is not None:
            raise UserError("coupling = 'lumped': bodies are moved one by one; joints have coupling = 'monolithic'")
        super().__init__(phase, tolerance, coupled)
        self.added_mass.whole_bodies = True
        fields = phase.domain.solids
        assert isinstance(fields, LumpedFields)
        self.fields, self.mass = fields, mass
        count = coupled.bodies.count
        none = np.zeros(0, np.int64)
        self.faces = self.wet = CarriedFaces(none, none, np.zeros((0, 6)), np.zeros(0), none, np.zeros((0, 3)))
        self.carried_b = np.zeros((count, 6, 6))
        """Mt - M by body [kg, kg m, kg m2]."""
        self._brought = np.zeros((count, 6))

    def _make_hydrostatic(self) -> Hydrostatic:
        """A wall lies on a face of a cell and feels the pressure p of its centre. The fluid of the dual cell between
        them moves with the body and hangs on it: its weight is part of what is known,

            J = dt rho sum (g.x_c - c) F_c + dt sum beta_f g_axis J_f,

        so that a flat bottom anywhere in its dual cell feels the pressure of the depth where it is."""
        gravity = np.array(self.phase.gravity) / self.phase.mass_of(1.0)

        def add(everywhere: bool, out_b: Array) -> None:
            (self.faces if everywhere else self.wet).add_weight(gravity, out_b)

        return Hydrostatic(self.domain, self.phase, self.moved.cut, self.coupled, add)

    def _set_masses(self) -> None:
        """With the fluid that the bodies carry."""
        super()._set_masses()
        self._find_faces()
        block, bodies = self.block, self.coupled.bodies
        own = np.asarray(np.linalg.pinv(block.inv_mass, hermitian=True), dtype=np.float64)
        free = (bodies.kind_b == DYNAMIC)[:, None] & (np.diagonal(block.inv_mass, axis1=1, axis2=2) > 0.0)
        both = free[:, :, None] & free[:, None, :]
        self.carried_b[...] = self._carried(own)
        total = own + self.carried_b * both
        block.inv_mass[...] = np.linalg.pinv(total, hermitian=True) * both
        block.refresh()

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
        body = fields.owners(axis, cell)
        chosen = inside & ~seam & (body >= 0)
        chosen[chosen] &= bodies.kind_b[body[chosen]] == DYNAMIC
        face, axis, index, body = face[chosen], axis[chosen], index[chosen], body[chosen]
        arm, across = _rows_across(fields, axis, index, bodies.x_b[body])
        beta = self.phase.mass_of(grid.cell_volume * carried[face])
        self.faces = CarriedFaces(face, body, across, beta, axis, arm)
        liquid = self.phase.is_wet(self.rows.stencil) * fields.volume_c.reshape(-1)
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

    def begin(self, u_f: Array) -> Array:
        self.bring(u_f)
        return super().begin(u_f)

    def end_viscous(self, u_f: Array, twist: Array, given_b: Array) -> None:
        """What the carried fluid brought along counts as pressure; it moves with the bodies from here on."""
        super().end_viscous(u_f, twist, given_b)
        self.coupled.pressure_b += self._own_change(twist) - given_b
        u_f.reshape(-1)[self.wet.face] = self.wet.velocity(twist)

    def _own_change(self, twist: Array) -> Array:
        """Change of the bodies' own momenta (n, 6) since the solve began, 0 unless dynamic."""
        own = np.linalg.pinv(self.block.inv_mass, hermitian=True) - self.carried_b
        changed = np.einsum("bij,bj->bi", own, twist - self._before)
        changed[self.coupled.bodies.kind_b != DYNAMIC] = 0.0
        return np.asarray(changed)

    def _make_walls(self, viscosity: float | Mixture, slip_b: np.ndarray) -> tuple[WallRows, TwistDrag]:
        """The rows of the domain's sides, and those of all bodies."""
        assert isinstance(viscosity, float)
        none = np.ones(len(self.fields.solids), dtype=np.int64)
        walls = WallRows(self.domain, viscosity, none, folded=True, half=False)
        return walls, ExtraFaces(self.domain, self.coupled, viscosity)

    def _begin(self) -> Array:
        """v* <- v* + Mt^-1 J^T beta (u* - J v*)."""
        twist = super()._begin()
        self.block.apply_inverse_mass(self._brought, self._brought)
        twist += self._brought
        self._brought[...] = 0.0
        return twist

    def _end(self, u_f: Array, twist: Array, z_c: Array) -> None:
        """As in ``MonolithicSolve``; of what moves body and carried fluid together the body itself got the rest. The
        fluid takes away J v."""
        coupled = self.coupled
        had = coupled.pressure_b.copy()
        super()._end(u_f, twist, z_c)
        u_f.reshape(-1)[self.wet.face] = self.wet.velocity(twist)
        dynamic = coupled.bodies.kind_b == DYNAMIC
        coupled.pressure_b[...] = had
        coupled.pressure_b[dynamic] += (self._own_change(twist) - coupled.impulse_b)[dynamic]


class ExtraFaces(TwistDrag):
    """No slip at voxels: the extra faces of figure 5.2 of the thesis.

    Faces beside solid cells have the velocity of the body at their centres: those between solid and fluid cells, and
    the extra ones behind them, between two solid cells. Every open face f exchanges momentum with each such
    neighbour g of its own component through a row like those between two open faces (``fluid.viscosity``),

        sqrt(dt mu A / h) (u_f - J_g v),

    of first order, since the walls stand where those faces are. Bodies that move as prescribed are among them.
    """

    def __init__(self, domain: FluidDomain, coupled: CoupledBodies, viscosity: float) -> None:
        assert isinstance(domain.solids, LumpedFields)
        self.domain, self.fields = domain, domain.solids
        self.viscosity, self.flux = viscosity, viscosity * domain.grid.face_area / domain.grid.dx
        self.sticks_b = coupled.slip_b == 0
        self.moved_b = self.sticks_b & (coupled.bodies.kind_b == DYNAMIC)
        super().__init__(coupled.bodies, np.zeros(coupled.bodies.count))

    def rebuild(self) -> None:
        grid, fields, domain = self.domain.grid, self.fields, self.domain
        cells = int(np.prod(grid.padded))
        stride = np.array([1, grid.padded[2], grid.padded[1] * grid.padded[2]])
        count, periodic = np.array(grid.cells), domain.periodic > 0
        closed = np.flatnonzero(domain.open_f.reshape(-1) == 0)
        axis, cell = np.divmod(closed, cells)
        index = cell[:, None] // stride % np.array(grid.padded[::-1])
        at, body = index[np.arange(len(closed)), axis], fields.owners(axis, cell)
        # periodic faces are there once
        chosen = (body >= 0) & ~((at == GHOSTS + count[axis]) & periodic[axis])
        chosen[chosen] &= self.sticks_b[body[chosen]]
        closed, axis, index, body = closed[chosen], axis[chosen], index[chosen], body[chosen]
        _, across = _rows_across(fields, axis, index, self.bodies.x_b[body])
        inverse = domain.inv_mass_f.reshape(-1)
        # of a face on an open side half of the dual cell is in the domain
        ends = (index == GHOSTS) | (index == GHOSTS + count)
        half = ends[np.arange(len(closed)), axis] & ~periodic[axis]
        found = []
        for b in grid.axes:
            weight = np.where(half & (axis != b), 0.5, 1.0)
            for sign in (-1, 1):
                leaves = index[:, b] == (GHOSTS if sign < 0 else GHOSTS + count[b] - 1)
                step = np.where(leaves & periodic[b], sign * (1 - count[b]), sign)
                face = closed + stride[b] * step
                there = inverse[face] > 0.0
                found.append((face[there], body[there], self.flux * weight[there], across[there]))
        self.spec = DragSpec(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))
        self.size = len(self.spec.face)
        self.shape = (self.size,)
        # of the part that is in the domain, where fluid touches it
        solid = fields.body_c[grid.interior][fields.volume_c[grid.interior] == 0.0]
        inside = np.bincount(solid[solid >= 0], minlength=self.bodies.count) * grid.cell_volume
        touched = np.bincount(self.spec.body, minlength=self.bodies.count) > 0
        self.turning_b[...] = 2.0 * self.viscosity * inside * touched * self.moved_b


def _rows_across(fields: LumpedFields, axis: np.ndarray, index: np.ndarray, centre: Array) -> tuple[Array, Array]:
    """Places of faces (m, 3) from the centres of their bodies, and J (m, 6): the velocity of a body across them."""
    normal, arm = np.eye(3)[axis], fields.face_arms(axis, index, centre)
    return arm, np.concatenate([normal, np.cross(arm, normal)], axis=1)


def _cross_matrix(a: Array) -> Array:
    """a* of a vector (3,): a* b = a x b."""
    x, y, z = a
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def lumped(coupled: CoupledBodies, mass: str = "full") -> Callable[[FluidDomain, FlowSettings], ImplicitSolve]:
    """What makes the implicit solve of a ``Flow`` whose solids are the ``LumpedFields`` of the bodies ``coupled``."""
    return in_tank(lambda phase, tolerance: LumpedSolve(phase, tolerance, coupled, mass))
