"""Viscous no-slip at dynamic bodies: damping rows between a face and the wall of a body in the face's dual cell.

    sqrt(dt mu A_wall / d) (u_f - e_axis . (v + omega x r)),        r = x_wall - x_body,

the rows of ``fluid.viscosity`` with the wall's velocity an unknown, so that the drag that slows the fluid moves the
body. They carry mu du/dn; the stress mu (grad u + grad u^T) n of a wall that turns differs from it by -mu omega x n,
whose torque -2 mu V omega is a row sqrt(2 dt mu V) omega of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from undertow.coupling.rigid_block import BodiesInverse, RigidBlock
from undertow.fluid.domain import FluidDomain, wrap
from undertow.fluid.viscosity import WallRows
from undertow.grid import GHOSTS, Array
from undertow.grid.jitting import helper
from undertow.rigid.bodies import DYNAMIC, RigidBodies
from undertow.rigid.rows import BLOCK

if TYPE_CHECKING:
    from undertow.coupling.solid_velocities import SolidVelocities


class DragSpec(NamedTuple):
    """Faces along dynamic bodies, in the order of the grid."""

    face: np.ndarray  # (m,) flat index of the padded face field
    body: np.ndarray  # (m,)
    weight: np.ndarray  # (m,) mu A_wall / d [kg/s]
    j: np.ndarray  # (m, 6) what the twist is multiplied by to give the wall's velocity across the face


class TwistDrag(ABC):
    """Damping rows between faces and bodies, named ``drag``, folded into the masses of both.

    turning_b (n,): what turning is damped with [kg m2/s]. among: the velocities of all solids that the twists are part
    of, None: they are a block of their own. The number of rows follows the geometry: only sums over them leave this
    class.
    """

    name = "drag"
    damping = True
    folded = True
    target: Array | None = None

    def __init__(self, bodies: RigidBodies, turning_b: Array, among: SolidVelocities | None = None) -> None:
        self.bodies, self.turning_b, self.among = bodies, turning_b, among
        self.time_step = 0.0
        self._kept_b = np.ones(bodies.count)
        self.spec = DragSpec(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 6)))
        self.size = 0
        self.shape: tuple[int, ...] = (0,)

    @abstractmethod
    def rebuild(self) -> None:
        """Weights and arms of the bodies where they are now."""

    def keep(self, inv_mass_f: Array) -> None:
        """Without faces that no fluid moves, such as those in the air."""
        self.spec.weight[: self.size] *= inv_mass_f.reshape(-1)[self.spec.face[: self.size]] > 0.0

    def keep_bodies(self, kept_b: np.ndarray) -> None:
        """Without bodies that are not ``kept`` (n,), until the rows are made anew."""
        self.spec.weight[: self.size] *= kept_b[self.spec.body[: self.size]]
        self._kept_b = kept_b.astype(float)

    @property
    def turning(self) -> Array:
        """What the turning of the bodies that are kept is damped with (n, 1) [kg m2/s]."""
        return np.asarray((self.turning_b * self._kept_b)[:, None])

    def _twists(self, w: Mapping[str, Array]) -> Array:
        """The twists (n, 6) among the velocities of a system, a view."""
        return w[BLOCK].reshape(-1, 6) if self.among is None else self.among.twists(w[self.among.name])

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        """out = C w without the rows of turning."""
        face, body, weight, j = (array[: self.size] for array in self.spec)
        wall = np.einsum("mi,mi->m", j, self._twists(w)[body])
        out[...] = np.sqrt(self.time_step * weight) * (w["fluid"].reshape(-1)[face] - wall)

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        """w += C^T z without the rows of turning."""
        face, body, weight, j = (array[: self.size] for array in self.spec)
        force = np.sqrt(self.time_step * weight) * z
        np.add.at(w["fluid"].reshape(-1), face, force)
        np.subtract.at(self._twists(w), body, j * force[:, None])

    def add_gram(self, w: Mapping[str, Array], out: Mapping[str, Array]) -> None:
        """out += C^T C w"""
        twist, push = self._twists(w), self._twists(out)
        _add_drag(self.spec, self.size, self.time_step, w["fluid"].reshape(-1), twist, out["fluid"].reshape(-1), push)
        push[:, 3:] += self.time_step * self.turning * twist[:, 3:]

    def add_gram_diagonal(self, w: Mapping[str, Array]) -> None:
        """w += diag(C^T C)"""
        diagonal = self._twists(w)
        _add_drag_diagonal(self.spec, self.size, self.time_step, w["fluid"].reshape(-1), diagonal)
        diagonal[:, 3:] += self.time_step * self.turning

    def bodies_gram(self) -> Array:
        """The part of C^T C that acts on each body alone (n, 6, 6)."""
        _, body, weight, j = (array[: self.size] for array in self.spec)
        gram = np.zeros((self.bodies.count, 6, 6))
        np.add.at(gram, body, (self.time_step * weight)[:, None, None] * j[:, :, None] * j[:, None, :])
        turning = np.arange(3, 6)
        gram[:, turning, turning] += self.time_step * self.turning
        return gram

    def add_impulse(self, u_f: Array, twist: Array, out_b: Array) -> None:
        """out += what the drag of the velocities u, twist (n, 6) gives the bodies over the step (n, 6) [N s, N m s]."""
        face, body, weight, j = (array[: self.size] for array in self.spec)
        slip = u_f.reshape(-1)[face] - np.einsum("mi,mi->m", j, twist[body])
        np.add.at(out_b, body, (self.time_step * weight * slip)[:, None] * j)
        out_b[:, 3:] -= self.time_step * self.turning * twist[:, 3:]

    def nodes_gram(self) -> Any:
        """The part of C^T C that acts on the bodies alone among all solids (3 n + 6 m, 3 n + 6 m), sparse."""
        import scipy.sparse as sparse

        assert self.among is not None
        count = 3 * self.among.soft.count
        return sparse.block_diag([sparse.csr_matrix((count, count)), *self.bodies_gram()], format="csr")

    def impulse(self, u_f: Array, v: Array) -> Array:
        """What the drag gives all solids over the step (n + 2 m, 3) [N s, N m s]."""
        assert self.among is not None
        found = np.zeros_like(v)
        self.add_impulse(u_f, self.among.twists(v), self.among.twists(found))
        return found


class DragRows(TwistDrag):
    """The rows to the walls of dynamic bodies inside the dual cells; slip_b: 1 for bodies without them."""

    def __init__(
        self, domain: FluidDomain, bodies: RigidBodies, viscosity: float | Array, slip_b: np.ndarray, volume_b: Array,
        among: SolidVelocities | None = None,
    ) -> None:  # fmt: skip
        """viscosity [Pa s]: of the fluid, or of every face where no body has a volume that damps its turning."""
        if domain.solids is None:
            raise ValueError("drag: the domain has no solids")
        others = np.where(bodies.kind_b[: len(slip_b)] == DYNAMIC, slip_b, 1).astype(np.int64)
        sticks = np.zeros(bodies.count)
        sticks[: len(slip_b)] = others == 0
        turning_b = 2.0 * viscosity * volume_b * sticks if isinstance(viscosity, float) else np.zeros_like(sticks)
        super().__init__(bodies, turning_b, among)
        self.name = "drag" if among is None else "member_drag"
        self.domain = domain
        self._weights = WallRows(domain, viscosity, others, folded=True, half=False)

    def rebuild(self) -> None:
        """Weights and arms of the bodies where they are now."""
        d = self.domain
        assert d.solids is not None
        self._weights.rebuild()
        while True:
            self.size = int(
                _gather_drag(
                    d.grid.spec, d.periodic, self._weights.solid_weight_f, d.solids.phi_n, d.solids.distance_f,
                    d.solids.body_c, self.bodies.x_b, d.solids.period, self.spec,
                )
            )  # fmt: skip
            if self.size <= len(self.spec.face):
                self.shape = (self.size,)
                return
            room = 2 * self.size
            self.spec = DragSpec(
                np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room), np.zeros((room, 6))
            )


class DraggedInverse:
    """Preconditioner of the twists in the viscous solve: each body with its own mass and drag, as joints allow it."""

    def __init__(self, rows: TwistDrag, block: RigidBlock) -> None:
        self.rows, self.block = rows, block
        self._inverse: BodiesInverse | None = None

    def setup(self) -> None:
        """For the masses and drag of now."""
        self._inverse = self.block.invert_with(self.rows.bodies_gram())

    def apply(self, x: Array, out: Array) -> None:
        """out = (M + C^T C)^-1 x, body by body."""
        assert self._inverse is not None
        self._inverse.apply(x, out)


@njit(cache=True)
def _face_slope(phi, axis, k, j, i):  # type: ignore[no-untyped-def]
    """Gradient direction of the node distances at a face centre, in units of the distance per cell."""
    total_x, total_y, total_z = 0.0, 0.0, 0.0
    for q in range(4):
        s, t = q & 1, q >> 1
        kn = k + (t if axis != 2 else 0)
        jn = j + (s if axis == 0 else (t if axis == 2 else 0))
        i_n = i + (s if axis != 0 else 0)
        value = phi[kn, jn, i_n]
        sign_s, sign_t = 2 * s - 1, 2 * t - 1
        if axis == 0:
            total_x += 0.5 * (phi[kn, jn, i_n + 1] - phi[kn, jn, i_n - 1])
            total_y += sign_s * value
            total_z += sign_t * value
        elif axis == 1:
            total_y += 0.5 * (phi[kn, jn + 1, i_n] - phi[kn, jn - 1, i_n])
            total_x += sign_s * value
            total_z += sign_t * value
        else:
            total_z += 0.5 * (phi[kn + 1, jn, i_n] - phi[kn - 1, jn, i_n])
            total_x += sign_s * value
            total_y += sign_t * value
    # tangential: differences of two pairs; normal: mean of four
    if axis == 0:
        return 0.25 * total_x, 0.5 * total_y, 0.5 * total_z
    if axis == 1:
        return 0.5 * total_x, 0.25 * total_y, 0.5 * total_z
    return 0.5 * total_x, 0.5 * total_y, 0.25 * total_z


@njit(cache=True)
def _offset(x, period):  # type: ignore[no-untyped-def]
    """x brought to the nearest repetition; period 0: not periodic."""
    return x - period * np.floor(x / period + 0.5) if period > 0.0 else x


@helper
def set_twist_row(a, x, y, z, out_j):  # type: ignore[no-untyped-def]
    """out_j (6,): what a twist is multiplied by to give the velocity along axis a at (x, y, z) from the centre."""
    for c in range(6):
        out_j[c] = 0.0
    out_j[a] = 1.0
    # r x e_axis
    if a == 0:
        out_j[4] = z
        out_j[5] = -y
    elif a == 1:
        out_j[3] = -z
        out_j[5] = x
    else:
        out_j[3] = y
        out_j[4] = -x


@njit(cache=True)
def _gather_drag(spec, periodic, weight, phi, distance, body_c, centre_b, period, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` as far as it has room and return how many rows there are."""
    found = 0
    room = len(out.face)
    _, nz, ny, nx = weight.shape
    for a in range(spec.dimensions):
        for k in range(GHOSTS, GHOSTS + spec.nz + (1 if a == 2 else 0)):
            for j in range(GHOSTS, GHOSTS + spec.ny + (1 if a == 1 else 0)):
                for i in range(GHOSTS, GHOSTS + spec.nx + (1 if a == 0 else 0)):
                    if weight[a, k, j, i] <= 0.0:
                        continue
                    if found < room:
                        km = wrap(k - 1, spec.nz, periodic[2]) if a == 2 else k
                        jm = wrap(j - 1, spec.ny, periodic[1]) if a == 1 else j
                        im = wrap(i - 1, spec.nx, periodic[0]) if a == 0 else i
                        b = max(body_c[k, j, i], body_c[km, jm, im])
                        gx, gy, gz = _face_slope(phi, a, k, j, i)
                        if spec.dimensions == 2:
                            gz = 0.0
                        size = np.sqrt(gx * gx + gy * gy + gz * gz)
                        shift = distance[a, k, j, i] / size if size > 0.0 else 0.0
                        x = spec.x0 + (i - GHOSTS + (0.0 if a == 0 else 0.5)) * spec.dx - shift * gx
                        y = spec.y0 + (j - GHOSTS + (0.0 if a == 1 else 0.5)) * spec.dx - shift * gy
                        x = _offset(x - centre_b[b, 0], period[0])
                        y = _offset(y - centre_b[b, 1], period[1])
                        z = 0.0
                        if spec.dimensions == 3:
                            z = spec.z0 + (k - GHOSTS + (0.0 if a == 2 else 0.5)) * spec.dx - shift * gz
                            z = _offset(z - centre_b[b, 2], period[2])
                        out.face[found] = ((a * nz + k) * ny + j) * nx + i
                        out.body[found] = b
                        out.weight[found] = weight[a, k, j, i]
                        set_twist_row(a, x, y, z, out.j[found])
                    found += 1
    return found


@njit(cache=True)
def _add_drag(rows, size, dt, u, twist, out_u, out_twist):  # type: ignore[no-untyped-def]
    for m in range(size):
        b = rows.body[m]
        slip = u[rows.face[m]]
        for c in range(6):
            slip -= rows.j[m, c] * twist[b, c]
        force = dt * rows.weight[m] * slip
        out_u[rows.face[m]] += force
        for c in range(6):
            out_twist[b, c] -= rows.j[m, c] * force


@njit(cache=True)
def _add_drag_diagonal(rows, size, dt, out_u, out_twist):  # type: ignore[no-untyped-def]
    for m in range(size):
        scaled = dt * rows.weight[m]
        out_u[rows.face[m]] += scaled
        for c in range(6):
            out_twist[rows.body[m], c] += rows.j[m, c] * rows.j[m, c] * scaled
