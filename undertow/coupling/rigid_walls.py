"""Moving walls of rigid bodies in the cells they cut: the ``WallFlux`` of their twists.

``coupling.walls`` has the geometry; ``coupling.poles`` what open areas miss where a body ends along an axis.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from undertow.coupling.coupled_bodies import CoupledBodies
from undertow.coupling.drag import DragRows, TwistDrag
from undertow.coupling.fractions import DualFields
from undertow.coupling.poles import Poles
from undertow.coupling.walls import BodyWalls
from undertow.fluid.domain import FluidDomain
from undertow.fluid.phase import FullTank, Phase
from undertow.fluid.wall_flux import WallFlux
from undertow.grid import Array
from undertow.linalg import Stencil
from undertow.rigid.bodies import DYNAMIC, RigidBodies
from undertow.rigid.rows import BLOCK


class SharesCells(Protocol):
    """Walls that cut cells of rigid bodies."""

    def share_cells(
        self, cut: BodyWalls, centre_b: Array, dynamic_b: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, Array]:
        """Cells (k,), bodies (k,) and F (k, 6) that are left to the bodies beyond what they have alone."""


class LeftOut(NamedTuple):
    """F of cells that have no row: its entries among those of the walls are 0."""

    cell: np.ndarray  # (n,)
    entry: np.ndarray  # (m,) where their F is among that of the walls
    place: np.ndarray  # (m,) where its cell is among ``cell``
    f: Array  # (m, 6) what it was

    @staticmethod
    def none() -> LeftOut:
        """No cell is left out."""
        none = np.zeros(0, np.int64)
        return LeftOut(none, none, none, np.zeros((0, 6)))


class RigidWalls(WallFlux):
    """F of the dynamic bodies, numbered as in ``bodies``; the first of them are the solids of the domain.

    v (n, 6): their twists. cut: their walls on the grid. poles: the ends of the bodies, where the fractions are open
    areas; None elsewhere. couples_components: masses couple all components of a twist.
    beside: walls of nodes that cut cells of theirs too, None without. elsewhere_b (n,): bodies whose velocities are
    unknowns of another block, which has their F; None: no body.
    """

    block = BLOCK
    couples_components = False

    def __init__(self, phase: Phase, bodies: RigidBodies, alone: FluidDomain | None = None) -> None:
        """alone: the domain with these bodies alone, where others close faces of the phase's too."""
        domain = phase.domain if alone is None else alone
        self.domain, self.bodies, self.fills = domain, bodies, isinstance(phase, FullTank)
        self.cut = BodyWalls(domain, bodies.count)
        ends = not isinstance(domain.solids, DualFields)
        inertia = phase.mass_of(domain.grid.dx)
        self.poles = Poles(domain, bodies.count, inertia, phase.domain.area_f) if ends else None
        self.v = np.zeros((bodies.count, 6))
        self.beside: SharesCells | None = None
        self.elsewhere_b: np.ndarray | None = None
        self.stencil: Stencil | None = None
        """Of the fluid around the bodies where they are now."""
        self.out = LeftOut.none()
        self._cut_alone = self.cut.spec, 0
        self._shared: tuple[np.ndarray, np.ndarray, Array] | None = None

    def rebuild(self, stencil: Stencil) -> None:
        self.stencil, dynamic_b = stencil, self._dynamic_b
        self.cut.rebuild(dynamic_b, self.bodies.x_b, stencil.diagonal_c)
        self._cut_alone = self.cut.spec, self.cut.size
        self._shared = None if self.beside is None else self.beside.share_cells(self.cut, self.bodies.x_b, dynamic_b)
        self._add_ends(stencil)
        self.cut.close(stencil, dynamic_b, self.bodies.x_b)
        self.out = LeftOut.none()

    @property
    def _dynamic_b(self) -> np.ndarray:
        return (self.bodies.kind_b == DYNAMIC).astype(np.int64)

    def _add_ends(self, stencil: Stencil) -> None:
        """F of the ends between cells that have a row, and what is left of cells that others cut too."""
        if self.poles is not None:
            self.poles.rebuild(self.cut, self.bodies.x_b, stencil)
        if self._shared is not None:
            self.cut.add(*self._shared)

    def leave_out(self, cell: np.ndarray, stencil: Stencil) -> None:
        if not len(cell) and not len(self.out.cell):
            return
        spec, self.cut.size = self._cut_alone
        self.cut.spec = spec._replace(f=spec.f.copy())
        self._add_ends(stencil)
        f, size = self.cut.spec.f, self.cut.size
        entry = np.flatnonzero(np.isin(self.cut.spec.cell[:size], cell))
        place = np.searchsorted(cell, self.cut.spec.cell[entry])
        self.out = LeftOut(cell, entry, place, f[entry])
        f[entry] = 0.0
        self.cut.close(stencil, self._dynamic_b, self.bodies.x_b)

    def left_out(self, v: Array) -> Array:
        out = self.out
        moved = v if self.elsewhere_b is None else v * ~self.elsewhere_b[:, None]
        found = np.zeros(len(out.cell))
        np.add.at(found, out.place, np.einsum("mc,mc->m", out.f, moved[self.cut.spec.body[out.entry]]))
        return found

    def release(self, target_c: Array) -> None:
        self.cut.clear(target_c)

    def add_flux(self, factor: float, v: Array, out_c: Array) -> None:
        self.cut.add_flux(factor, v if self.elsewhere_b is None else v * ~self.elsewhere_b[:, None], out_c)

    def add_force(self, factor: float, p_c: Array, out: Array) -> None:
        if self.elsewhere_b is None:
            self.cut.add_force(factor, p_c, out)
            return
        found = np.zeros_like(out)
        self.cut.add_force(factor, p_c, found)
        out += found * ~self.elsewhere_b[:, None]

    def add_diagonal(self, inv_mass: Array, out_c: Array) -> None:
        if self.poles is not None:
            self.poles.add_diagonal(out_c)
        self.cut.add_diagonal(inv_mass, out_c)

    def add_fluid_flux(self, u_f: Array, out_c: Array) -> None:
        if self.poles is not None:
            self.poles.add_flux(u_f, out_c)

    def add_fluid_answer(self, z_c: Array, out_c: Array) -> None:
        if self.poles is not None:
            self.poles.add_answer(z_c.reshape(-1), out_c.reshape(-1))

    def lumped_mass(self, inv_mass_b: Array) -> Array | None:
        """Mass (n, 6, 6) [kg, kg m, kg m2] of the fluid that moves with bodies of inverse masses (n, 6, 6); None: no
        fluid does."""
        return None

    def make_drag(
        self, seen: FluidDomain, viscosity: float | Array, coupled: CoupledBodies, slip_b: np.ndarray
    ) -> TwistDrag:
        """Viscous rows between the fluid and the bodies; seen: the domain with the solids as rows to their walls see
        them. slip_b (n,): 1 for solids along which the fluid slides."""
        # rows on the whole strain give no torque to a body that turns with its fluid: no row of turning
        turning = coupled.volume_b if self.fills else np.zeros(coupled.bodies.count)
        return DragRows(seen, coupled.bodies, viscosity, slip_b, turning)

    def dragged_b(self, slip_b: np.ndarray) -> np.ndarray:
        """1 for those solids of the domain whose viscous rows are those of ``make_drag``."""
        return np.asarray(self.bodies.kind_b[: len(slip_b)] == DYNAMIC)
