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
from undertow.coupling.projection import CoupledProjection, make_projection
from undertow.coupling.rigid_walls import RigidWalls
from undertow.fluid.domain import FluidDomain
from undertow.fluid.phase import Phase
from undertow.fluid.solve import SplitImplicit
from undertow.grid import GHOSTS, Array
from undertow.linalg import Stencil
from undertow.rigid.bodies import DYNAMIC, RigidBodies


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


class LumpedWalls(RigidWalls):
    """Walls of bodies that are cells, in a fluid whose solids are ``LumpedFields``: they lie on the closed faces, whose
    fluid moves with the bodies. Under a free surface only faces beside a liquid cell have any (``wet``).

    mass: ``full``, Mt of the head, or ``diagonal``, the masses and moments (22)-(24) about the common centre of mass,
    without what couples them there. lumped_b (n, 6, 6): Mt - M [kg, kg m, kg m2].
    """

    couples_components = True

    def __init__(self, phase: Phase, bodies: RigidBodies, mass: str = "full") -> None:
        super().__init__(phase, bodies)
        fields = phase.domain.solids
        assert isinstance(fields, LumpedFields)
        self.phase, self.fields, self.mass = phase, fields, mass
        none = np.zeros(0, np.int64)
        self.faces = self.wet = CarriedFaces(none, none, np.zeros((0, 6)), np.zeros(0), none, np.zeros((0, 3)))
        self.lumped_b = np.zeros((bodies.count, 6, 6))

    def rebuild(self, stencil: Stencil) -> None:
        super().rebuild(stencil)
        self._find_faces(stencil)

    def _find_faces(self, stencil: Stencil) -> None:
        """J and beta of the faces between solid and fluid cells of dynamic bodies."""
        grid, fields, bodies = self.domain.grid, self.fields, self.bodies
        carried = fields.carried_f.reshape(-1)
        face = np.flatnonzero(carried > 0.0)
        axis, cell = grid.split(face)
        index = grid.index(cell)
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
        liquid = self.phase.is_wet(stencil) * fields.volume_c.reshape(-1)
        below = grid.stride[axis]
        wet = liquid[cell[chosen]] + liquid[cell[chosen] - below] > 0.0
        self.wet = CarriedFaces(*(array[wet] for array in self.faces))

    def lumped_mass(self, inv_mass_b: Array) -> Array:
        """Mt - M (n, 6, 6)."""
        wet, found = self.wet, self.lumped_b
        found[...] = 0.0
        if self.mass == "full":
            np.add.at(found, wet.body, wet.beta[:, None, None] * wet.across[:, :, None] * wet.across[:, None, :])
            return found
        own_b = np.asarray(np.linalg.pinv(inv_mass_b, hermitian=True), dtype=np.float64)
        for b in np.unique(wet.body):
            of = wet.body == b
            mass, beta, axis, place = own_b[b, 0, 0], wet.beta[of], wet.axis[of], wet.place[of]
            total = mass + np.bincount(axis, beta, 3)
            shift = np.bincount(axis, beta * place[np.arange(len(axis)), axis], 3) / total  # (22)
            arms = np.cross(place - shift, np.eye(3)[axis])
            moment = own_b[b, 3:, 3:] + mass * _cross_matrix(shift) @ _cross_matrix(shift).T  # (24)
            moment = moment + np.einsum("m,mi,mj->ij", beta, arms, arms)
            # from velocities at the common centre of mass to those at the body's own
            to = np.eye(6)
            to[:3, 3:] = -_cross_matrix(shift)
            common = np.zeros((6, 6))
            common[:3, :3], common[3:, 3:] = np.diag(total), moment
            found[b] = to.T @ common @ to - own_b[b]
        return found

    def lumped_momentum(self, u_f: Array, v: Array) -> Array:
        """J^T beta u* - (Mt - M) v*: what makes M v* that of body and lumped fluid together."""
        found = -np.einsum("bij,bj->bi", self.lumped_b, v)
        self.wet.add_impulse(self.wet.beta * u_f.reshape(-1)[self.wet.face], found)
        found[self.bodies.kind_b != DYNAMIC] = 0.0
        return np.asarray(found)

    def set_lumped_faces(self, u_f: Array, v: Array) -> None:
        u_f.reshape(-1)[self.wet.face] = self.wet.velocity(v)

    def make_drag(
        self, seen: FluidDomain, viscosity: float | Array, coupled: CoupledBodies, slip_b: np.ndarray
    ) -> TwistDrag:
        assert isinstance(viscosity, float)
        return ExtraFaces(seen, coupled, viscosity)

    def dragged_b(self, slip_b: np.ndarray) -> np.ndarray:
        """All of them: extra faces are rows to bodies that move as prescribed too."""
        return np.ones(len(slip_b), dtype=bool)


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
        count, periodic = np.array(grid.cells), domain.periodic > 0
        closed = np.flatnonzero(domain.open_f.reshape(-1) == 0)
        axis, cell = grid.split(closed)
        index = grid.index(cell)
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
                face = closed + grid.stride[b] * step
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


def lumped(coupled: CoupledBodies, mass: str = "full") -> Callable[[Phase, float], SplitImplicit]:
    """What makes the implicit solve of a ``Flow`` whose solids are the ``LumpedFields`` of the bodies ``coupled``."""

    def make(phase: Phase, tolerance: float) -> CoupledProjection:
        return make_projection(phase, tolerance, coupled, walls=LumpedWalls(phase, coupled.bodies, mass))

    return make
