"""Incompressibility of a fluid around bodies that it moves: divergence rows that act on face velocities and twists.

    (K w)_c = sum_axis A [phi_lo u_lo - phi_hi u_hi] - F_c . twist = s_c

is mass conservation of the open part of a cell (``fluid.pressure``) with the wall's velocity an unknown where the wall
is that of a dynamic body (``coupling.walls``). The dual is z = dt p: K^T z pushes the fluid by -G z and the bodies by
F^T z, one and the same pressure, so that momentum passes between them without loss (thesis 5.4, 5.8 with area fractions
in the place of voxel faces). Eliminating the velocities leaves a Poisson operator and one small term per body,

    K B^-1 K^T = A0 + F M^-1 F^T,

A0 being that of the fluid around bodies at rest; ``coupling.poles`` adds a term for either end of a body.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from undertow.coupling.fractions import DualFields
from undertow.coupling.poles import Poles
from undertow.coupling.walls import BodyWalls
from undertow.fluid.domain import FluidDomain
from undertow.fluid.pressure import DivergenceRows
from undertow.grid import Array
from undertow.rigid.bodies import DYNAMIC, RigidBodies
from undertow.rigid.rows import BLOCK


class CoupledRows(DivergenceRows):
    """Divergence rows on ``fluid`` and, where a velocity ``rigid`` is given, on the twists of the bodies.

    Bodies are numbered as in ``bodies``; the first of them are the solids of the domain. ``twist_b`` (n, 6) stands in
    for the bodies' velocities where rows are applied to a fluid alone. poles: the ends of the bodies, where the fluid
    fills the domain and the fractions are open areas.
    """

    poles: Poles | None = None

    def __init__(self, domain: FluidDomain, bodies: RigidBodies) -> None:
        super().__init__(domain)
        self.bodies = bodies
        self.walls = BodyWalls(domain, bodies.count)
        if not isinstance(domain.solids, DualFields):
            self.poles = Poles(domain, bodies.count)
        self.twist_b = np.zeros((bodies.count, 6))

    def rebuild(self) -> None:
        """Stencil of A0 and the walls of the bodies where they are now."""
        super().rebuild()
        stencil = self.stencil
        dynamic_b = (self.bodies.kind_b == DYNAMIC).astype(np.int64)
        self.walls.rebuild(dynamic_b, self.bodies.x_b, stencil.diagonal_c)
        if self.poles is not None:
            self.poles.rebuild(self.walls, self.bodies.x_b)
        self.walls.close(stencil.label, stencil.grounded)

    def set_wall_flux(self) -> None:
        """s: the flux through walls that move as prescribed; those of dynamic bodies are unknown."""
        super().set_wall_flux()
        assert self.target is not None
        self.walls.clear(self.target)

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        super().apply(w, out)
        if self.poles is not None:
            self.poles.add_flux(w["fluid"], out)
        self.add_others(w, out)

    def add_others(self, w: Mapping[str, Array], out: Array) -> None:
        """out -= F twist"""
        self.walls.add_flux(-1.0, w[BLOCK].reshape(-1, 6) if BLOCK in w else self.twist_b, out)

    def apply_direct(self, z: Array, out: Array) -> None:
        """out = A0 z with the ends of the bodies."""
        super().apply_direct(z, out)
        if self.poles is not None:
            self.poles.add_answer(z.reshape(-1), out.reshape(-1))

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        """Bodies get F^T z, the fluid G z: with the masses diag(phi) the change of velocity is that of Phi."""
        super().add_transpose(z, w)
        if BLOCK in w:
            self.walls.add_force(-1.0, z, w[BLOCK].reshape(-1, 6))

    def add_diagonal(self, inv_mass: Mapping[str, Array], out: Array) -> None:
        super().add_diagonal(inv_mass, out)
        if self.poles is not None:
            self.poles.add_diagonal(out)
        self.walls.add_diagonal(diagonal_blocks(inv_mass[BLOCK]), out)


def diagonal_blocks(inv_mass: Array) -> Array:
    """The (n, 6, 6) blocks on the diagonal of an inverse mass (n, 6, 6) or (1, 6 n, 6 n)."""
    if inv_mass.shape[1] == 6:
        return inv_mass
    n = inv_mass.shape[1] // 6
    return np.ascontiguousarray(inv_mass[0].reshape(n, 6, n, 6)[np.arange(n), :, np.arange(n), :])


def block_diagonal(blocks: Array) -> Array:
    """(n, k, k) as one matrix (n k, n k)."""
    n, k, _ = blocks.shape
    whole = np.zeros((n, k, n, k))
    whole[np.arange(n), :, np.arange(n), :] = blocks
    return whole.reshape(n * k, n * k)
