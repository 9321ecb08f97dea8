"""Moving walls of rigid bodies in the cells they cut: the ``WallFlux`` of their twists.

``coupling.walls`` has the geometry; ``coupling.poles`` what open areas miss where a body ends along an axis.
"""

from __future__ import annotations

import numpy as np

from undertow.coupling.fractions import DualFields
from undertow.coupling.poles import Poles
from undertow.coupling.walls import BodyWalls
from undertow.fluid.domain import FluidDomain
from undertow.fluid.wall_flux import WallFlux
from undertow.grid import Array
from undertow.linalg import Stencil
from undertow.rigid.bodies import DYNAMIC, RigidBodies
from undertow.rigid.rows import BLOCK


class RigidWalls(WallFlux):
    """F of the dynamic bodies, numbered as in ``bodies``; the first of them are the solids of the domain.

    v (n, 6): their twists. cut: their walls on the grid. poles: the ends of the bodies, where fluid fills the domain
    and the fractions are open areas; None elsewhere.
    """

    block = BLOCK

    def __init__(self, domain: FluidDomain, bodies: RigidBodies, fills: bool) -> None:
        """fills: whether the fluid fills the domain."""
        self.bodies = bodies
        self.cut = BodyWalls(domain, bodies.count)
        self.poles = Poles(domain, bodies.count) if fills and not isinstance(domain.solids, DualFields) else None
        self.v = np.zeros((bodies.count, 6))

    def rebuild(self, stencil: Stencil) -> None:
        dynamic_b = (self.bodies.kind_b == DYNAMIC).astype(np.int64)
        self.cut.rebuild(dynamic_b, self.bodies.x_b, stencil.diagonal_c)
        if self.poles is not None:
            self.poles.rebuild(self.cut, self.bodies.x_b)
        self.cut.close(stencil.label, stencil.grounded)

    def release(self, target_c: Array) -> None:
        self.cut.clear(target_c)

    def add_flux(self, factor: float, v: Array, out_c: Array) -> None:
        self.cut.add_flux(factor, v.reshape(-1, 6), out_c)

    def add_force(self, factor: float, p_c: Array, out: Array) -> None:
        self.cut.add_force(factor, p_c, out.reshape(-1, 6))

    def add_diagonal(self, inv_mass: Array, out_c: Array) -> None:
        if self.poles is not None:
            self.poles.add_diagonal(out_c)
        self.cut.add_diagonal(diagonal_blocks(inv_mass), out_c)

    def add_fluid_flux(self, u_f: Array, out_c: Array) -> None:
        if self.poles is not None:
            self.poles.add_flux(u_f, out_c)

    def add_fluid_answer(self, z_c: Array, out_c: Array) -> None:
        if self.poles is not None:
            self.poles.add_answer(z_c.reshape(-1), out_c.reshape(-1))


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
