"""Surface tension as the pressure that the surface begins with (Schroeder 2011, 6.3.7; Gibou et al. 2002).

    p = sigma kappa   where the surface crosses a grid line,      kappa = div(grad phi / |grad phi|)

The value of each face enters u* and the right-hand side as its hydrostatic one does, -beta^-1 G_bc z_s with z_s = dt
sigma kappa, so that rows, masses and multigrid are what they are without it. It is explicit: the shortest capillary
wave of the grid limits the step,

    dt <= sqrt(rho dx^3 / (4 pi sigma))                                           (Brackbill, Kothe and Zemach 1992)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.fluid.crossed import find_crossings
from undertow.fluid.domain import FluidDomain
from undertow.grid import Array
from undertow.part import AREA, ENERGY, Limit, Quantity
from undertow.surface import InterfaceFinder
from undertow.surface.curvature import curvature_of_cells


class SurfaceTension:
    """sigma [N/m] on the surface of a liquid; phi_c: its level set [m], read by ``find``, ghosts filled.

    face: flat indices of the faces that the surface crosses, of a face field. liquid: cell on its liquid side, flat.
    way: 1 where the air is on the upper side of the face, else -1. theta: part of the way from the liquid centre to
    that of the air at which the surface is. kappa [1/m]: its curvature there.
    """

    def __init__(self, domain: FluidDomain, phi_c: Array, sigma: float) -> None:
        self.domain, self.grid, self.phi_c, self.sigma = domain, domain.grid, phi_c, sigma
        self._interface = InterfaceFinder(domain.grid)
        self.face = self.liquid = np.zeros(0, dtype=np.int64)
        self.way = self.theta = self.kappa = np.zeros(0)

    def find(self) -> None:
        """Crossed faces of now and the curvature there."""
        grid = self.grid
        self.face, self.liquid, air, self.way, self.theta = find_crossings(grid, self.phi_c)
        cell, index = np.unique(np.concatenate([self.liquid, air]), return_inverse=True)
        here, there = curvature_of_cells(grid, self.phi_c, cell)[index].reshape(2, -1)
        self.kappa = here + self.theta * (there - here)

    def add_impulse(self, dt: float, inv_mass_f: Array, u_f: Array) -> None:
        """u -= beta^-1 G_bc z_s on the crossed faces, z_s = dt sigma kappa [Pa s]."""
        weight = inv_mass_f.reshape(-1)[self.face] * self.domain.area_f.reshape(-1)[self.face] * self.grid.face_area
        u_f.reshape(-1)[self.face] -= weight * self.way * (dt * self.sigma) * self.kappa

    def start_from_surface(self, dt: float, thin: float, inv_mass_f: Array, out_c: Array) -> None:
        """out += z_s of the nearest crossing [Pa s] in cells whose surface is nearer than ``thin`` cells."""
        near = (self.theta < thin) & (inv_mass_f.reshape(-1)[self.face] > 0.0)
        near &= self.phi_c.reshape(-1)[self.liquid] >= -thin * self.grid.dx
        cell, theta, kappa = self.liquid[near], self.theta[near], self.kappa[near]
        order = np.lexsort((theta, cell))
        cell, first = np.unique(cell[order], return_index=True)
        out_c.reshape(-1)[cell] += dt * self.sigma * kappa[order][first]

    def limit(self, mass: float) -> Limit:
        """The explicit step of the shortest capillary wave; mass: rho dx^3 of what is on both sides [kg]."""
        return Limit("capillary", float(np.sqrt(mass / (4.0 * np.pi * self.sigma))), "stability")

    def area(self) -> float:
        """Of the surface outside solids [m2; 2D m]."""
        interface = self._interface.find(self.phi_c)
        part = np.zeros(self.grid.padded)
        part[self.grid.interior] = self.domain.volume_c[self.grid.interior]
        return float(np.linalg.norm(interface.area_vectors(), axis=1) @ part.reshape(-1)[interface.cell])

    def quantities(self) -> Iterator[Quantity]:
        """Area and energy of the surface."""
        area = self.area()
        yield Quantity("surface_area", area, AREA)
        yield Quantity("surface_energy", self.sigma * area, ENERGY)
