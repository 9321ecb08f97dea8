"""The volume that open areas leave out where a body ends along an axis, given to the fluid about that end.

Faces across an axis have the volumes phi_f dx^d: the rectangle rule for the open section along the axis. Where a
section ends inside a cell (the poles of a cylinder, the sides of a box) it misses the volume of the body by

    d = sum_f (1 - phi_f) - sum_c (1 - V_c),

in cells, over that half of the body; and in a closed tank the fluid has then the momentum -rho v sum_f (1 - phi_f) dx^d
whatever the pressure, not -rho v V. No other fractions mend that: a face whose fraction is changed by delta lets
delta u_t n_t of a flow along the wall pass. But the fractions may be a matrix. With gamma_f, sum 1, on whole open faces
at the end of the body, where its normal is that axis and fluid moves with the wall,

    Phi = diag(phi) + d gamma gamma^T,      K w = A div (Phi u + (1 - Phi) v),      masses rho dx^d Phi,

has the right volume, 1^T Phi 1. A uniform motion of all meets the rows, a linear pressure accelerates all alike, and
fluid and body exchange momentum without loss, as with any Phi. Velocities change by grad z / rho as before,
since masses and divergence have the same Phi; the operator of the pressure gets a term of rank one,

    A0 + sum (A d) (A / (rho dx^d)) g g^T,      g = div gamma,

and F those of the body's velocity at the ends. d gamma gamma^T + diag(phi) stays positive: |d| <= LEAST / sum gamma^2.
"""

from __future__ import annotations

import numpy as np

from undertow.coupling.walls import BodyWalls
from undertow.fluid.domain import FluidDomain
from undertow.grid import GHOSTS, Array
from undertow.linalg import Stencil, VelocityBlock

DEPTH = 1.0
"""Walls less than this many cells below the end of a body belong to the end, the less the deeper they are."""

LEAST = 0.45
"""Largest part of their mass that the faces at an end may lose; two bodies may share faces."""


class Poles:
    """The ends of dynamic bodies along the axes, two per body and axis (numbered 6 body + 2 axis + upper).

    area_p (6 n,): A d [m2; 2D m] of the ends.
    """

    def __init__(self, domain: FluidDomain, count: int, inertia: float, open_f: Array | None = None) -> None:
        """inertia [kg/m2]: rho dx^d / A. open_f: open fractions of faces, where others than these bodies close some
        too."""
        self.domain, self.count, self._inertia = domain, count, inertia
        self.open_f = domain.area_f if open_f is None else open_f
        self.area_p = np.zeros(6 * count)
        none = np.zeros(0, np.int64)
        # gamma: by (end, face), flat index of the padded face field; g = div gamma: by (end, cell)
        self._end, self._face, self._gamma = none, none, np.zeros(0)
        self._end_of_cell, self._cell, self._g = none, none, np.zeros(0)

    def rebuild(self, walls: BodyWalls, centre_b: Array, stencil: Stencil) -> None:
        """Find the ends of the bodies from their ``walls``, which get what the ends add to F; stencil: of the fluid
        around them, says which faces lie between two cells with a pressure."""
        domain, grid = self.domain, self.domain.grid
        assert domain.solids is not None
        cell, body = walls.spec.cell[: walls.size], walls.spec.body[: walls.size]
        # a cell that several solids cut counts for the nearest
        nearest = domain.solids.body_c.reshape(-1)[cell] == body
        cell, body = cell[nearest], body[nearest]
        stride, index = grid.stride, grid.index(cell)
        arm = domain.solids.arms(grid.position(index), centre_b[body])
        solid = 1.0 - domain.volume_c.reshape(-1)[cell]
        beside, room = self._find_thin(cell)
        area, joined = (field.reshape(3, -1) for field in (domain.area_f, stencil.face_f))
        ends = 6 * self.count
        self.area_p[...] = 0.0
        faces, cells, place_p = [], [], np.zeros((ends, 3))
        for axis in grid.axes:
            # one step up and down, across the seam of a periodic axis
            first, last = GHOSTS, GHOSTS + grid.cells[axis] - 1
            around = bool(domain.periodic[axis]) * grid.cells[axis]
            up = cell + stride[axis] * np.where(index[:, axis] == last, 1 - around, 1)
            upper = arm[:, axis] > 0.0
            end = 6 * body + 2 * axis + upper
            missed = 0.5 * (2.0 - area[axis, cell] - area[axis, up]) - solid
            whole = (area[axis, cell[beside]] <= 0.0) * 1.0 + (area[axis, up[beside]] <= 0.0)
            missed[beside] = np.where(whole > 0.0, room * whole, missed[beside])
            height = np.abs(arm[:, axis]) / grid.dx + solid
            top = np.full(ends, -np.inf)
            np.maximum.at(top, end, height)
            face = np.where(upper, up, cell)
            weight = np.maximum(1.0 - (top[end] - height) / DEPTH, 0.0)
            weight *= (area[axis, face] >= 1.0) & (joined[axis, face] > 0.0)
            weight *= self.open_f.reshape(3, -1)[axis, face] >= 1.0
            # of another fluid, and of two, the mass would be another one
            weight *= np.abs(joined[axis, face] * self._inertia - grid.face_area) < 1e-9 * grid.face_area
            if not around:
                # no pressure beyond a side could answer
                side = grid.index(face)[:, axis]
                weight *= (side > first) & (side <= last)
            total, square = (np.bincount(end, weight**power, ends) for power in (1, 2))
            # sum gamma^2 = square / total^2
            most = LEAST * total**2 / np.where(square > 0.0, square, 1.0)
            # beside thin solids up to a cell is missed of every face
            more = np.where(np.bincount(end[beside], minlength=ends) > 0, 1.0 / LEAST, 1.0)
            self.area_p += grid.face_area * np.clip(np.bincount(end, missed, ends), -most, more * most)
            used = np.flatnonzero(weight > 0.0)
            end, face, place = end[used], face[used], arm[used]
            gamma = weight[used] / total[end]
            place[:, axis] += np.where(upper[used], 0.5, -0.5) * grid.dx
            np.add.at(place_p, end, gamma[:, None] * place)
            down = face - stride[axis] * np.where(grid.index(face)[:, axis] == first, 1 - around, 1)
            faces.append((end, axis * area.shape[1] + face, gamma))
            cells += [(end, face, gamma), (end, down, -gamma)]
        self._end, self._face, self._gamma = (np.concatenate(part) for part in zip(*faces, strict=True))
        end, cell, g = (np.concatenate(part) for part in zip(*cells, strict=True))
        key, at = np.unique(end * area.shape[1] + cell, return_inverse=True)
        self._end_of_cell, self._cell = np.divmod(key, area.shape[1])
        self._g = np.asarray(np.bincount(at, g, len(key)), dtype=np.float64)
        # F: the ends move with the body
        normal = np.eye(3)[np.arange(ends) % 6 // 2]
        f_p = self.area_p[:, None] * np.concatenate([normal, np.cross(place_p, normal)], axis=1)
        walls.add(self._cell, self._end_of_cell // 6, self._g[:, None] * f_p[self._end_of_cell])

    def _find_thin(self, cell: np.ndarray) -> tuple[np.ndarray, Array]:
        """Which of some cells are beside thin solids that close their faces (k,), and how much fluid there is between
        their centres and these, in cells: whole faces are closed."""
        solids = self.domain.solids
        assert solids is not None
        if solids.closing is None:
            return np.zeros(0, np.int64), np.zeros(0)
        at = np.flatnonzero(solids.closing.are_beside(solids, cell))
        return at, np.clip(solids.closing.distance(solids, cell[at]) / self.domain.grid.dx, 0.0, 1.0)

    def mean(self, u_f: Array) -> Array:
        """gamma^T u by end (6 n,) [m/s]."""
        return np.asarray(np.bincount(self._end, self._gamma * u_f.reshape(-1)[self._face], 6 * self.count), float)

    def _difference(self, z: Array) -> Array:
        """g^T z by end, z flat."""
        return np.asarray(np.bincount(self._end_of_cell, self._g * z[self._cell], 6 * self.count), float)

    @property
    def _answer(self) -> float:
        """A / (rho dx^d)."""
        return 1.0 / self._inertia

    def add_flux(self, u_f: Array, out_c: Array) -> None:
        """out += A d g (gamma^T u) [m3/s]."""
        self._spread(self.mean(u_f), out_c.reshape(-1))

    def add_answer(self, z: Array, out: Array) -> None:
        """out += (A d) (A / (rho dx^d)) g g^T z, flat."""
        self._spread(self._answer * self._difference(z), out)

    def _spread(self, value: Array, out: Array) -> None:
        """out += A d g value, flat."""
        np.add.at(out, self._cell, self._g * (self.area_p * value)[self._end_of_cell])

    def add_diagonal(self, out_c: Array) -> None:
        """The diagonal of what ``add_answer`` adds."""
        np.add.at(out_c.reshape(-1), self._cell, self._answer * self.area_p[self._end_of_cell] * self._g**2)

    def add_push(self, z_c: Array, out_f: Array) -> None:
        """out += A d gamma g^T z: momentum that a pressure gives the fluid at the ends [N s]."""
        self._put(self.area_p * self._difference(z_c.reshape(-1)), out_f)

    def add_momentum(self, mean_p: Array, out_f: Array) -> None:
        """out += rho dx^d d gamma (gamma^T u) [N s], of means (6 n,)."""
        self._put(self._inertia * self.area_p * mean_p, out_f)

    def momentum(self, u_f: Array) -> tuple[np.ndarray, Array]:
        """Faces (k,), flat, and what ``add_momentum`` gives them at u [N s]."""
        value = self._inertia * self.area_p * self.mean(u_f)
        return self._face, self._gamma * value[self._end]

    def _put(self, value: Array, out_f: Array) -> None:
        np.add.at(out_f.reshape(-1), self._face, self._gamma * value[self._end])


class EndVelocities(VelocityBlock):
    """Velocities of a fluid with the masses rho dx^d Phi, for systems that are solved for velocities."""

    def __init__(self, name: str, inv_mass: Array, planar: bool, poles: Poles | None) -> None:
        super().__init__(name, inv_mass, planar)
        self.poles = poles

    def apply_inertia(self, v: Array, force: Array, out: Array) -> None:
        mean = None if self.poles is None else self.poles.mean(v)
        super().apply_inertia(v, force, out)
        if self.poles is not None and mean is not None:
            self.poles.add_momentum(mean, out)
