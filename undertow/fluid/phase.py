"""Where the fluid is and how it answers: which cells have a pressure, the masses of faces, and what is known of the
pressure before it is solved for.

A ``Phase`` is a kind of fluid domain: ``FullTank`` here, ``FreeSurface`` in ``fluid.free_surface``, ``TwoPhase`` in
``fluid.two_phase``. Everything that depends on it reads it from here, so that rows of pressure, walls and solves are
the same for all of them. No other place multiplies by the density of the fluid.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numba import njit

from undertow.fluid.at_rest import AtRest, FilledAtRest
from undertow.fluid.domain import FluidDomain, last_face, wrap
from undertow.fluid.expansion import Expansion
from undertow.fluid.separation import WallCells
from undertow.geometry import SolidFields
from undertow.grid import GHOSTS, PERIODIC, Array, row_of_cells, row_of_faces, share_rows, unit_step
from undertow.linalg import ActiveSet, Stencil

if TYPE_CHECKING:
    from undertow.fluid.pressure import PressureRows
    from undertow.fluid.tension_rows import TensionRows

Amount = TypeVar("Amount", float, Array)


class Phase(ABC):
    """What fills the domain.

    inv_mass_f (3, Z, Y, X): 1 / beta_f of its faces [1/kg; 2D m/kg]. liquid_c (Z, Y, X): 1.0 in cells with a pressure,
    else 0.0; empty: all have one. wet_rows (ny nz,): not 0 for rows of cells with a pressure; empty: all have them.
    gravity [m/s2]: 0 across the plane of a 2D grid. level [m2/s2]: g.x where the pressure at rest is 0.
    moves: whether its cells change from step to step, whatever solids do. lift (3,) [N/m3]: weight of the fluid,
    turned round, that the pressure of the solve leaves out. strains: whether its viscosity acts on the whole rate of
    strain, or is the Laplacian of the velocity. stiff: coefficients of the stencil above this join cells in which the
    pressure differs by little; infinite: there are none. expansions: gas in its cells that pressure compresses. folded:
    damping rows that are part of its masses in the solve.
    """

    liquid_c = np.zeros((0, 0, 0))
    wet_rows = np.zeros(0, dtype=np.uint8)
    level = 0.0
    moves = False
    strains = False
    lift = np.zeros(3)
    stiff = np.inf
    expansions: tuple[Expansion, ...] = ()
    folded: tuple[TensionRows, ...] = ()

    def __init__(self, domain: FluidDomain, gravity: tuple[float, float, float]) -> None:
        self.domain, self.inv_mass_f = domain, domain.inv_mass_f
        self.wall_cells = WallCells(domain)
        self.open_cells = np.zeros(0, np.int64)
        self.pull(gravity)

    def pull(self, gravity: Sequence[float] | Array) -> None:
        """From here on gravity (3,) [m/s2] is another one; what follows from it is built anew with the stencil."""
        x, y, z = (float(g) if axis in self.domain.grid.axes else 0.0 for axis, g in enumerate(gravity))
        self.gravity = (x, y, z)

    @abstractmethod
    def build(self, stencil: Stencil) -> None:
        """Masses of now, and ``stencil`` of K B^-1 K^T of the fluid around solids at rest."""

    @abstractmethod
    def make_target(self) -> Array | None:
        """Room for the wanted values of the rows (Z, Y, X); None where they are 0 for good."""

    @abstractmethod
    def add_sources(self, stencil: Stencil, target_c: Array) -> None:
        """Take from the wanted rows the volume that is made in their cells [m3/s; 2D m2/s]."""

    @abstractmethod
    def at_rest(self, solids: SolidFields) -> AtRest:
        """What the fluid at rest does to solids."""

    @abstractmethod
    def is_wet(self, stencil: Stencil) -> Array:
        """1.0 in cells (flat) with fluid that pushes, 0.0 in those without."""

    @abstractmethod
    def potential(self, cell: np.ndarray, place: Array) -> Array:
        """g.x - c (m,) [m2/s2], c being that of the level, at places (m, 3) [m] in cells (m,) flat; 0 without fluid."""

    @abstractmethod
    def guess(self, p_c: Array, dt: float, out_c: Array) -> None:
        """out = dt p of the solve [Pa s], by the last pressure [Pa]."""

    @abstractmethod
    def give_known(self, p_c: Array, dt: float, stencil: Stencil, z_c: Array, u_f: Array) -> Array | None:
        """What is known of the pressure before the solve acts on u_f over dt, and is taken off the guess z_c; the known
        part [Pa s] of cells, None without any."""

    @abstractmethod
    def pressure_of(self, z_c: Array, dt: float, out_c: Array) -> None:
        """out = the pressure [Pa] by what the solve found for z [Pa s], with what was known of it."""

    def one_sided(
        self, rows: PressureRows, w: Mapping[str, Array], z_c: Array, dt: float, tolerance: float
    ) -> Sequence[ActiveSet]:
        """Bounds on the pressure of a solve for z_c [Pa s], in which w changes, over dt: none."""
        return ()

    def open(self, stencil: Stencil, cell: np.ndarray) -> None:
        """The stencil with these cells (n,) open and all others not."""
        raise TypeError(f"{type(self).__name__} has no cells that walls let go of")

    def set_time_step(self, dt: float) -> None:
        """Of the solves that follow [s]: to rows whose masses depend on it."""
        for folded in self.folded:
            folded.set_time_step(dt)

    def mark_open(self, liquid: float) -> None:
        """liquid_c of the open cells, where there are any: 1.0 while wanted rows are found, else 0.0."""
        if len(self.open_cells):
            self.liquid_c.reshape(-1)[self.open_cells] = liquid

    def mass_of(self, volume: Amount) -> Amount:
        """Mass [kg; 2D kg/m] of so much of the fluid [m3; 2D m2]."""
        return self.domain.density * volume

    def mass_in(self, cell: np.ndarray, volume: Array) -> Array:
        """Masses (n,) of volumes (n,) of what is at the centres of cells (n,), flat."""
        return self.mass_of(volume)


class FullTank(Phase):
    """A fluid of one density that fills the domain. inv_mass_f: masses of the stencil where they are not the fluid's
    own."""

    def __init__(
        self, domain: FluidDomain, gravity: tuple[float, float, float] = (0.0, 0.0, 0.0),
        inv_mass_f: Array | None = None,
    ) -> None:  # fmt: skip
        super().__init__(domain, gravity)
        if inv_mass_f is not None:
            self.inv_mass_f = inv_mass_f

    def pull(self, gravity: Sequence[float] | Array) -> None:
        super().pull(gravity)
        grid, now = self.domain.grid, np.array(self.gravity)
        self._top = np.where(now > 0.0, np.array(grid.lower), np.array(grid.upper))
        self.level = float(self._top @ now)
        self.lift = -self.domain.density * now

    def build(self, stencil: Stencil) -> None:
        """Coefficients a_f = (phi A)^2 / beta and d_c of the p = 0 sides."""
        d = self.domain
        share_rows(
            d.grid, compute_stencil, d.sides.spec.kind, d.area_f, self.inv_mass_f, d.grid.face_area, stencil.face_f,
            stencil.dirichlet_c,
        )  # fmt: skip
        stencil.setup()

    def make_target(self) -> Array | None:
        return None if self.domain.solids is None or self.domain.voxel else self.domain.grid.cell_field()

    def add_sources(self, stencil: Stencil, target_c: Array) -> None:
        """Nothing: a full tank has no room."""

    def at_rest(self, solids: SolidFields) -> FilledAtRest:
        return FilledAtRest(self, solids)

    def is_wet(self, stencil: Stencil) -> Array:
        return np.ones(stencil.diagonal_c.size)

    def potential(self, cell: np.ndarray, place: Array) -> Array:
        return np.asarray((place - self._top) @ np.array(self.gravity))

    def guess(self, p_c: Array, dt: float, out_c: Array) -> None:
        np.multiply(p_c, dt, out=out_c)

    def give_known(self, p_c: Array, dt: float, stencil: Stencil, z_c: Array, u_f: Array) -> Array | None:
        return None

    def pressure_of(self, z_c: Array, dt: float, out_c: Array) -> None:
        np.divide(z_c, dt, out=out_c)


@njit(cache=True, nogil=True)
def compute_stencil(spec, kind, area, inv_mass, face_area, out_face, out_dirichlet, start, stop):  # type: ignore[no-untyped-def]
    """a_f between cells and d_c of faces with p = 0 beyond them."""
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        for i in range(GHOSTS, GHOSTS + spec.nx):
            out_dirichlet[k, j, i] = 0.0
        for a in range(spec.dimensions):
            dz, dy, dx = unit_step(a)
            n = spec.nx if a == 0 else (spec.ny if a == 1 else spec.nz)
            for i in range(GHOSTS, GHOSTS + spec.nx):
                at = i if a == 0 else (j if a == 1 else k)
                c = area[a, k, j, i] * face_area
                lower = c * c * inv_mass[a, k, j, i]
                if at == GHOSTS and kind[2 * a] != PERIODIC:
                    out_dirichlet[k, j, i] += lower
                    lower = 0.0
                out_face[a, k, j, i] = lower
                if at == GHOSTS + n - 1:
                    kh, jh, ih = k + dz, j + dy, i + dx
                    c = area[a, kh, jh, ih] * face_area
                    if kind[2 * a + 1] == PERIODIC:
                        kf = k - (n - 1) * dz
                        jf = j - (n - 1) * dy
                        jx = i - (n - 1) * dx
                        first = area[a, kf, jf, jx] * face_area
                        out_face[a, kh, jh, ih] = first * first * inv_mass[a, kf, jf, jx]
                    else:
                        out_dirichlet[k, j, i] += c * c * inv_mass[a, kh, jh, ih]
                        out_face[a, kh, jh, ih] = 0.0


@njit(cache=True, nogil=True)
def add_gradient(spec, periodic, area, face_area, z, inv_mass, w, start, stop):  # type: ignore[no-untyped-def]
    """w_f += phi A (z_hi - z_lo), z = 0 beyond the sides: the transpose of ``pressure._apply_divergence``.

    inv_mass: what that is multiplied by, unless it is empty; rows of faces that have none are passed over.
    """
    scale = np.full(spec.nx + 2 * GHOSTS + 1, face_area)
    n = (spec.nx, spec.ny, spec.nz)
    for row in range(start, stop):
        k, j = row_of_faces(spec, row)
        for a in range(spec.dimensions):
            if a != 1 and j == GHOSTS + spec.ny or a != 2 and k == GHOSTS + spec.nz:
                continue
            if k >= last_face(spec.nz, periodic[2]) or j >= last_face(spec.ny, periodic[1]):
                continue
            kl = wrap(k - int(a == 2), spec.nz, periodic[2])
            jl = wrap(j - int(a == 1), spec.ny, periodic[1])
            area_a, w_a, low, high = area[a, k, j], w[a, k, j], z[kl, jl], z[k, j]
            if inv_mass.size > 0:
                free = 0
                for i in range(GHOSTS, GHOSTS + spec.nx + 1):
                    scale[i] = face_area * inv_mass[a, k, j, i]
                    free += scale[i] != 0.0
                if free == 0:
                    continue
            if a == 0:
                first, last = GHOSTS, GHOSTS + spec.nx
                before = low[wrap(first - 1, spec.nx, periodic[0])] if periodic[0] == 1 else 0.0
                w_a[first] += area_a[first] * scale[first] * (high[first] - before)
                for i in range(first + 1, last):
                    w_a[i] += area_a[i] * scale[i] * (high[i] - high[i - 1])
                if last < last_face(spec.nx, periodic[0]):
                    w_a[last] += area_a[last] * scale[last] * (0.0 - high[last - 1])
                continue
            at = j if a == 1 else k
            from_low = 1.0 if at > GHOSTS or periodic[a] == 1 else 0.0
            from_high = 1.0 if at < GHOSTS + n[a] else 0.0
            for i in range(GHOSTS, GHOSTS + spec.nx):
                w_a[i] += area_a[i] * scale[i] * (from_high * high[i] - from_low * low[i])
