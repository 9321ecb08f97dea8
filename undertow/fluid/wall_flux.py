"""What moving walls do to the fluid of the cells they pass, and what its pressure does to them.

The wall of a solid with velocities v sweeps the volume (F v)_c of cell c per second; a pressure p pushes the solid with
F^T p. ``PressureRows`` takes any number of them. The kinds are in ``coupling``: a fluid knows no solid.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from undertow.grid import Array
from undertow.linalg import Stencil


class WallFlux(ABC):
    """F of solids as they are placed now: geometry, and nothing that evolves.

    block: name of the velocities in the coupled system on which F acts. v: what stands in for them where rows are
    applied to a fluid alone, in the shape of the solids' velocities.
    """

    block: str
    v: Array

    @abstractmethod
    def rebuild(self, stencil: Stencil) -> None:
        """F of the solids where they are now; stencil: that of the fluid around them, up to date."""

    @abstractmethod
    def release(self, target_c: Array) -> None:
        """Take the flux of these walls, as if they moved as prescribed, out of the wanted rows: it is unknown."""

    @abstractmethod
    def leave_out(self, cell: np.ndarray, stencil: Stencil) -> None:
        """F is 0 in these cells (n,), flat and sorted, which have no row, and what it was in all others; stencil: as
        for ``rebuild``."""

    @abstractmethod
    def left_out(self, v: Array) -> Array:
        """What the walls sweep (n,) of the cells that are left out [m3/s; 2D m2/s]."""

    def velocity_in(self, w: Mapping[str, Array]) -> Array:
        """The walls' velocities among those of a system, or what stands in for them."""
        return w.get(self.block, self.v)

    @abstractmethod
    def add_flux(self, factor: float, v: Array, out_c: Array) -> None:
        """out += factor F v: what the walls sweep [m3/s; 2D m2/s]."""

    @abstractmethod
    def add_force(self, factor: float, p_c: Array, out: Array) -> None:
        """out += factor F^T p: forces [N] and torques [N m] of a pressure, as the velocities are ordered."""

    @abstractmethod
    def add_diagonal(self, inv_mass: Array, out_c: Array) -> None:
        """out += diag(F M^-1 F^T)."""

    @abstractmethod
    def add_fluid_flux(self, u_f: Array, out_c: Array) -> None:
        """out += what open fractions alone miss of the fluid's own flux at these walls [m3/s; 2D m2/s]."""

    @abstractmethod
    def add_fluid_answer(self, z_c: Array, out_c: Array) -> None:
        """out += what that adds to K B^-1 K^T z of the fluid."""

    def lumped_momentum(self, u_f: Array, v: Array) -> Array:
        """J^T beta (u - J v) [N s, N m s] of the fluid that moves with these solids, as their velocities are ordered:
        what it brings along. None moves with them unless a kind of wall says so."""
        return np.zeros_like(v)

    def set_lumped_faces(self, u_f: Array, v: Array) -> None:
        """u = J v in the faces whose fluid moves with these solids."""
        return
