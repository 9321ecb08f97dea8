"""Viscosity of a liquid under a free surface: damping rows on the whole rate of strain.

    div (mu (grad u + grad u^T)),      no traction on the surface,      u = v on walls

is, without the pressure, the minimum of the kinetic energy of what changes and the dissipation, which has the free
surface as its natural boundary (Batty and Bridson 2008, section 3). In factored form the rows are

    sqrt(2 dt mu V f_c) du_a/dx_a                     in liquid cells,
    sqrt(dt mu V f_e) (du_a/dx_b + du_b/dx_a)         on edges between four wet faces,

f being the liquid and open part of the cell, or the mean over the four cells of the edge; mu that of the cell, or the
harmonic mean over the four cells: layers that slide on each other have one shear stress. Where a solid cuts one of the
faces of an edge, the open parts of two faces of a component are d <= h apart, as in ``viscosity``, and

    du_a/dx_b = (u_hi - u_lo) / d_ab,      V f_e = h^2 min(A_ab d_ab, A_ba d_ba) times the liquid part,

A_ab being the open part of the surface between their dual cells. Along a plane wall this is the row of ``viscosity``:
the stress across a strip f h wide is mu (u_hi - u_lo) / (f h), and not f mu (u_hi - u_lo) / h. Rows of a motion that is
rigid are zero, so that a drop that turns feels nothing. Walls exchange momentum through ``WallRows``. The faces have
the mass of the liquid that their dual cells hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numba import njit

from undertow.fluid.surface_phase import SurfacePhase
from undertow.fluid.variable_viscosity import VariableViscosity
from undertow.fluid.viscosity import _aperture, _cut_shift
from undertow.grid import GHOSTS, Array, neighbour, row_of_faces, share_face_rows, unit_step
from undertow.linalg import used_planes

LEAST_PART = 0.05
"""Smallest liquid part of a dual cell that a wet face is given."""

FURTHEST = 0.95
"""Most by which the open parts of two neighbouring faces can be nearer than their centres [cells]."""


class StrainRows:
    """Damping rows named ``strain``, folded into the masses; dual (6, Z, Y, X).

    Row a < 3 holds du_a/dx_a of the cell, row 3 + c the shear in the plane across axis c at the edge that is the lower
    corner of the cell in that plane; root (9, Z, Y, X), 3 a + b: what the difference of u_a along b has in its row.
    inv_mass_f: of the faces by their liquid part. time_step: dt of the solve [s].
    """

    name = "strain"
    damping = True
    folded = True
    target: Array | None = None

    def __init__(self, phase: SurfacePhase, viscosity: float | VariableViscosity) -> None:
        """viscosity [Pa s], or what has it."""
        self.phase, self.domain = phase, phase.domain
        grid = phase.domain.grid
        self.mu_c = viscosity.mu_c if isinstance(viscosity, VariableViscosity) else np.full(grid.padded, viscosity)
        self.shape: tuple[int, ...] = (6, *grid.padded)
        self.root, self._z = np.zeros((9, *grid.padded)), np.zeros(self.shape)
        self.inv_mass_f = grid.face_field()
        self.time_step = 0.0

    def rebuild(self) -> None:
        """Weights and masses of the surface and solids of now; the phase is up to date."""
        d, phase = self.domain, self.phase
        scale = d.grid.cell_volume / d.grid.dx**2
        share_face_rows(
            d.grid, _compute_strain_weights, d.periodic, phase.strained_c, d.volume_c, d.area_f, self.mu_c,
            phase.inv_mass_f, phase.whole_mass_f, scale, self.root, self.inv_mass_f,
        )  # fmt: skip

    def most_of(self, u_f: Array, momenta: Sequence[Array]) -> float:
        """What the tolerance is relative to at most: ||B u||, the momenta that are there, those of solids [N s]
        included. In thick liquids the impulse of viscosity is far larger; in thin ones, and on heavy solids, it is far
        smaller, and what the tolerance is relative to."""
        mass = used_planes(self.inv_mass_f)
        speed = np.divide(used_planes(u_f), mass, out=np.zeros_like(mass), where=mass > 0.0)
        return float(np.sqrt(np.sum(speed * speed) + sum(np.sum(p * p) for p in momenta))) or 1.0

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        share_face_rows(self.domain.grid, _apply_strain, self.root, np.sqrt(self.time_step), w["fluid"], out)

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        share_face_rows(self.domain.grid, _add_strain_transpose, self.root, np.sqrt(self.time_step), z, w["fluid"])

    def add_gram(self, w: Mapping[str, Array], out: Mapping[str, Array]) -> None:
        """out += C^T C w."""
        self.apply(w, self._z)
        self.add_transpose(self._z, out)

    def add_gram_diagonal(self, out: Mapping[str, Array]) -> None:
        """out += diag(C^T C)."""
        for a in self.domain.grid.axes:
            for _, row, ahead in self._neighbours(a):
                square = self.time_step * self.root[row] ** 2
                out["fluid"][a] += square
                out["fluid"][a] += np.roll(square, *ahead)

    def add_diagonal(self, inv_mass: Mapping[str, Array], out: Array) -> None:
        """out += diag(C B^-1 C^T)."""
        for a in self.domain.grid.axes:
            for row, root, (step, axis) in self._neighbours(a):
                both = inv_mass["fluid"][a] + np.roll(inv_mass["fluid"][a], -step, axis)
                out[row] += self.time_step * self.root[root] ** 2 * both

    def _neighbours(self, a: int) -> list[tuple[int, int, tuple[int, int]]]:
        """For every row with a face of component a: its number, that of the root with which the face is in it, and how
        it is shifted to the other face's row."""
        edges = [(3 + (3 - a - b), 3 * a + b, (-1, 2 - b)) for b in self.domain.grid.axes if b != a]
        return [(a, 4 * a, (1, 2 - a)), *edges]


@njit(cache=True)
def _liquid_part(phi, volume, dx, k, j, i):  # type: ignore[no-untyped-def]
    """Liquid and open part of a cell."""
    return min(max(0.5 - phi[k, j, i] / dx, 0.0), 1.0) * volume[k, j, i]


@njit(cache=True)
def _face_part(phi, dx, a, k, j, i):  # type: ignore[no-untyped-def]
    """Liquid part of the dual cell of a face; the mass of a cut face is that of its open part already."""
    kl, jl, il = neighbour(k, j, i, a, -1)
    low = min(max(0.5 - phi[kl, jl, il] / dx, 0.0), 1.0)
    return 0.5 * (low + min(max(0.5 - phi[k, j, i] / dx, 0.0), 1.0))


@njit(cache=True)
def _shift_between(spec, area, a, b, k, j, i):  # type: ignore[no-untyped-def]
    """How much nearer along b the open parts of face (k, j, i) of component a and of the one below are [cells]."""
    kb, jb, ib = neighbour(k, j, i, b, -1)
    below = _cut_shift(spec, area, a, b, kb, jb, ib)
    return _cut_shift(spec, area, a, b, k, j, i) + below


@njit(cache=True, nogil=True)
def _compute_strain_weights(  # type: ignore[no-untyped-def]
    spec, periodic, phi, volume, area, mu, wet_mass, open_mass, scale, out_root, out_mass, start, stop
):
    """Roots of 2 mu V f / h^2 in cells and mu V f / d^2 on edges; 1 / (rho V f) of the wet faces."""
    for row in range(start, stop):
        k, j = row_of_faces(spec, row)
        for i in range(GHOSTS, GHOSTS + spec.nx + 1):
            here = _liquid_part(phi, volume, spec.dx, k, j, i)
            inside = i < GHOSTS + spec.nx and j < GHOSTS + spec.ny and k < GHOSTS + spec.nz
            for a in range(spec.dimensions):
                kl, jl, il = neighbour(k, j, i, a, -1)
                out_root[4 * a, k, j, i] = 0.0
                if inside and phi[k, j, i] <= 0.0:
                    # faces that a solid closes have no velocity of their own; those on sides have the side's
                    at = i if a == 0 else (j if a == 1 else k)
                    n = spec.nx if a == 0 else (spec.ny if a == 1 else spec.nz)
                    low = at == GHOSTS or wet_mass[a, k, j, i] > 0.0
                    ku, ju, iu = neighbour(k, j, i, a, 1)
                    high = wet_mass[a, ku, ju, iu] > 0.0
                    if low and (high or at == GHOSTS + n - 1):
                        out_root[4 * a, k, j, i] = np.sqrt(2.0 * scale * mu[k, j, i] * here)
                out_mass[a, k, j, i] = 0.0
                if wet_mass[a, k, j, i] > 0.0:
                    part = _face_part(phi, spec.dx, a, k, j, i)
                    # liquid of neighbours that are not wet, their centres being in the air, goes with this face
                    for b in range(spec.dimensions):
                        for way in range(-1, 2 if b != a else -1, 2):
                            kn, jn, i_n = neighbour(k, j, i, b, way)
                            if wet_mass[a, kn, jn, i_n] == 0.0 and open_mass[a, kn, jn, i_n] > 0.0:
                                part += _face_part(phi, spec.dx, a, kn, jn, i_n)
                    out_mass[a, k, j, i] = open_mass[a, k, j, i] / max(part, LEAST_PART)
                for b in range(a + 1, spec.dimensions):
                    kb, jb, ib = neighbour(k, j, i, b, -1)
                    kc, jc, ic = neighbour(kl, jl, il, b, -1)
                    part, along_a, along_b = 0.0, 1.0, 1.0
                    if (
                        wet_mass[a, k, j, i] > 0.0 and wet_mass[a, kb, jb, ib] > 0.0
                        and wet_mass[b, k, j, i] > 0.0 and wet_mass[b, kl, jl, il] > 0.0
                    ):  # fmt: skip
                        part = here + _liquid_part(phi, volume, spec.dx, kl, jl, il)
                        part += _liquid_part(phi, volume, spec.dx, kb, jb, ib)
                        part += _liquid_part(phi, volume, spec.dx, kc, jc, ic)
                        if (
                            min(area[a, k, j, i], area[a, kb, jb, ib]) < 1.0
                            or min(area[b, k, j, i], area[b, kl, jl, il]) < 1.0
                        ):  # fmt: skip
                            along_b -= min(_shift_between(spec, area, a, b, k, j, i), FURTHEST)
                            along_a -= min(_shift_between(spec, area, b, a, k, j, i), FURTHEST)
                            whole = volume[k, j, i] + volume[kl, jl, il] + volume[kb, jb, ib] + volume[kc, jc, ic]
                            room = min(
                                _aperture(spec, periodic, area, a, b, k, j, i) * along_b,
                                _aperture(spec, periodic, area, b, a, k, j, i) * along_a,
                            )
                            part *= 4.0 * room / whole if whole > 0.0 else 0.0
                        low = min(min(mu[k, j, i], mu[kl, jl, il]), min(mu[kb, jb, ib], mu[kc, jc, ic]))
                        mean = 1.0 / mu[k, j, i] + 1.0 / mu[kl, jl, il] if low > 0.0 else 0.0
                        mean += 1.0 / mu[kb, jb, ib] + 1.0 / mu[kc, jc, ic] if low > 0.0 else 0.0
                        part *= 4.0 / mean if low > 0.0 else 0.0
                    root = np.sqrt(0.25 * scale * part)
                    out_root[3 * a + b, k, j, i], out_root[3 * b + a, k, j, i] = root / along_b, root / along_a


@njit(cache=True, nogil=True)
def _apply_strain(spec, root, root_dt, u, out, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        k, j = row_of_faces(spec, row)
        for a in range(spec.dimensions):
            ka, ja, ia = unit_step(a)
            for i in range(GHOSTS, GHOSTS + spec.nx + 1):
                out[a, k, j, i] = root_dt * root[4 * a, k, j, i] * (u[a, k + ka, j + ja, i + ia] - u[a, k, j, i])
            for b in range(a + 1, spec.dimensions):
                kb, jb, ib = unit_step(b)
                r = 6 - a - b
                for i in range(GHOSTS, GHOSTS + spec.nx + 1):
                    shear = root[3 * a + b, k, j, i] * (u[a, k, j, i] - u[a, k - kb, j - jb, i - ib])
                    shear += root[3 * b + a, k, j, i] * (u[b, k, j, i] - u[b, k - ka, j - ja, i - ia])
                    out[r, k, j, i] = root_dt * shear


@njit(cache=True, nogil=True)
def _add_strain_transpose(spec, root, root_dt, z, out, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        k, j = row_of_faces(spec, row)
        for a in range(spec.dimensions):
            for b in range(spec.dimensions):
                kb, jb, ib = unit_step(b)
                # a cell's row lies above its lower face, an edge's row at its upper one
                r, f = a if a == b else 6 - a - b, 3 * a + b
                sign = 1 if a == b else -1
                for i in range(GHOSTS, GHOSTS + spec.nx + 1):
                    kn, jn, i_n = k - sign * kb, j - sign * jb, i - sign * ib
                    here, there = root[f, k, j, i] * z[r, k, j, i], root[f, kn, jn, i_n] * z[r, kn, jn, i_n]
                    out[a, k, j, i] += sign * root_dt * (there - here)
