"""A 2D liquid inside curves that move with it: cut cells, coupling faces, implicit tension (Schroeder 2011, chapter 6).

    K = ( G^T ; G_mu ; C H )      on the velocities of faces u and of coupling faces u_i, which point out of the liquid

    (P + K beta^-1 K^T) z = K u*,      u = u* - beta^-1 K^T z                                               (6.33)
    u* = T[u^n] + dt beta^-1 H^T f_e,      x^{n+1} = x^n + dt H u^{n+1}                                       (6.10)

with masses beta = rho l dx of faces of liquid length l and 1/2 rho l dx of coupling faces (6.3.4). Lengths are convex
functions of the points and C^T C is their exact second derivative, so that the step of points along dt H u lets motion
and surface lose energy together: 1/2 u.beta u + sigma L never grows in the solve as long as no segment is shrunk to
less than half of its length in the step, whatever dt is. Air has no mass and no pressure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sparse

from undertow.grid import WALL, Array, Grid, Sides
from undertow.linalg import CoupledSystem, MassBlock, RowBlock, SolveStats, VelocityBlock
from undertow.linalg.sparse_rows import SparseRows
from undertow.surface import Curve, remesh
from undertow.surface.front import FrontCells, front_cells, spread, tension_rows
from undertow.transport import Advection, Extrapolation, sample_velocity

LAYERS = 5
"""Of faces in the air that get the velocity of the liquid."""


class FrontLiquid:
    """Liquid of one density inside closed curves in a box, without gravity.

    curve: the interface, liquid on its left. u_f (3, Z, Y, X): velocity [m/s], continued into the air. tension [N/m];
    viscosity [Pa s]; implicit: whether the derivative of tension is in the solve.
    """

    def __init__(
        self, grid: Grid, curve: Curve, density: float, tension: float, viscosity: float = 0.0, implicit: bool = True,
        advection: str = "semi_lagrangian", tolerance: float = 1e-10,
    ) -> None:  # fmt: skip
        self.grid, self.curve, self.viscosity = grid, curve, viscosity
        self.density, self.sigma, self.implicit, self.tolerance = density, tension, implicit, tolerance
        self.u_f = grid.face_field()
        self.sides = Sides(grid, [WALL] * 6, [True] * 6)
        self._advection = Advection(grid, self.sides, advection)
        self._extrapolation = Extrapolation(grid, self.sides)
        self._star_f = grid.face_field()
        self.inv_mass_f = grid.face_field()
        self.cells: FrontCells = front_cells(curve, grid)
        self.update()

    def update(self) -> None:
        """Cells, masses and the operators of the present curve."""
        grid = self.grid
        self.cells = front_cells(self.curve, grid, self.cells.area_f)
        self.H, self.parts = spread(self.curve, self.cells)
        self.inv_mass_f[...] = 0.0
        for axis in grid.axes:
            inside = list(grid.interior_faces(axis))
            side = inside[2 - axis]
            inside[2 - axis] = slice(side.start + 1, side.stop - 1)  # walls have no velocity
            open_f = self.cells.area_f[axis][tuple(inside)]
            mass = self.density * open_f * grid.dx**2
            np.divide(1.0, mass, out=self.inv_mass_f[axis][tuple(inside)], where=mass > 0.0)
        self.inv_mass_i = 1.0 / (0.5 * self.density * np.maximum(self.cells.area, 1e-9 * grid.dx) * grid.dx)
        self.divergence = self._divergence()

    def _divergence(self) -> dict[str, Any]:
        """-G^T: the flux out of every cell that has liquid, by faces and coupling faces [m2/s per m/s]."""
        grid = self.grid
        size, step = grid.size, (1, grid.padded[2])
        cell_of_face, face, weight = [], [], []
        for axis in grid.axes:
            free = np.flatnonzero(self.inv_mass_f[axis].reshape(-1) > 0.0)
            length = self.cells.area_f[axis].reshape(-1)[free] * grid.dx
            for cell, sign in ((free - step[axis], 1.0), (free, -1.0)):
                cell_of_face.append(cell)
                face.append(axis * size + free)
                weight.append(sign * length)
        cells, faces, weights = (np.concatenate(x) for x in (cell_of_face, face, weight))
        used, row = np.unique(np.concatenate([cells, self.cells.cell]), return_inverse=True)
        rows, own = row[: len(cells)], row[len(cells) :]
        self.liquid = used
        fluid = sparse.csr_matrix((weights, (rows, faces)), shape=(len(used), 3 * size))
        front = sparse.csr_matrix(
            (self.cells.area, (own, np.arange(len(own)))), shape=(len(used), len(self.cells.cell))
        )  # fmt: skip
        return {"fluid": fluid, "front": front}

    def blocks(self) -> list[MassBlock]:
        """Velocities of faces and of coupling faces."""
        return [VelocityBlock("fluid", self.inv_mass_f), VelocityBlock("front", self.inv_mass_i)]

    def rows(self, dt: float) -> list[RowBlock]:
        """Incompressibility, and the damping rows C H of tension over dt [s]."""
        rows: list[RowBlock] = [SparseRows("pressure", self.divergence, damping=False)]
        if self.viscosity > 0.0:
            rows.append(SparseRows("viscosity", {"fluid": self._gradients(dt)}, damping=True))
        if self.implicit:
            damping = tension_rows(self.curve, self.sigma, dt) @ self.H
            rows.append(SparseRows("tension", {"front": damping}, damping=True))
        return rows

    def _gradients(self, dt: float) -> sparse.csr_matrix:
        """G_mu (n, faces): sqrt(dt mu V) times the difference quotients of u between faces of the liquid (6.5)."""
        size, step = self.grid.size, (1, self.grid.padded[2])
        free = self.inv_mass_f.reshape(-1) > 0.0
        face = np.flatnonzero(free)
        pairs = [(face[free[face + along]], along) for along in step]
        low = np.concatenate([one for one, _ in pairs])
        high = np.concatenate([one + along for one, along in pairs])
        value = np.full(len(low), np.sqrt(dt * self.viscosity))
        row = np.arange(len(low))
        shape = (len(low), 3 * size)
        return sparse.csr_matrix(
            (np.concatenate([value, -value]), (np.concatenate([row, row]), np.concatenate([high, low]))), shape=shape
        )

    def solve(
        self, w: dict[str, Array], dt: float, blocks: Sequence[MassBlock] = (), rows: Sequence[RowBlock] = ()
    ) -> SolveStats:
        """Tension and pressure over dt [s] on w, with velocities and rows of others beside."""
        force = self.sigma * self.curve.tension()[:, :2].reshape(-1)
        w["front"] += dt * self.inv_mass_i * (self.H.T @ force)
        system = CoupledSystem([*self.blocks(), *blocks], [*self.rows(dt), *rows], planar=True)
        z = {row.name: np.zeros(row.shape) for row in system.rows}
        return system.solve(w, z, self.tolerance, max_iterations=20000)

    def move(self, dt: float, front: Array) -> None:
        """Points of the curve by dt H u [s, m/s]."""
        self.curve = self.curve._replace(point=self.moved(dt, front))

    def moved(self, dt: float, front: Array) -> Array:
        """x + dt H u (n, 3) [m]"""
        point = self.curve.point.copy()
        point[:, :2] += dt * (self.H @ front).reshape(-1, 2)
        return point

    def step(self, dt: float) -> SolveStats:
        """Transport, forces, the implicit solve, the points; the mesh between half a cell and one and a half."""
        np.copyto(self._star_f, self.u_f)
        self._advection.velocity(self.u_f, self.u_f, dt, self._star_f)  # (6.10)
        w = {"fluid": self._star_f, "front": self.front_velocity(self._star_f)}
        self._star_f *= self.inv_mass_f > 0.0
        stats = self.solve(w, dt)  # (6.33)
        self.u_f, self._star_f = self._star_f, self.u_f
        self.move(dt, w["front"])
        self.curve = remesh(self.curve, self.grid.dx)
        self._extrapolation.velocity(self.u_f, self.inv_mass_f > 0.0, LAYERS)
        self.sides.exchange.fill(self.u_f)
        self.update()
        return stats

    def front_velocity(self, u_f: Array) -> Array:
        """n.u (m,) [m/s] in the middles of the coupling faces."""
        self.sides.exchange.fill(u_f)
        pieces, grid = self.cells.pieces, self.grid
        tail = self.curve.tail[pieces.segment]
        part = (pieces.beta - pieces.alpha) * self.curve.lengths()[pieces.segment]
        middle = 0.5 * (pieces.alpha + pieces.beta)[:, None]
        at = self.curve.point[tail] + middle * (self.curve.point[self.curve.after[tail]] - self.curve.point[tail])
        count = len(self.cells.cell)
        total = np.maximum(np.bincount(self.cells.own, part, count), 1e-300)
        place = np.stack([np.bincount(self.cells.own, part * x, count) / total for x in at.T], axis=1)
        place[:, 2] = grid.lower[2] + 0.5 * grid.dx
        return np.asarray((sample_velocity(grid, u_f, place)[:, :2] * self.cells.normal).sum(axis=1))

    def energy(self, w: Mapping[str, Array]) -> float:
        """Of motion [J/m]."""
        total = 0.0
        for name, inverse in (("fluid", self.inv_mass_f), ("front", self.inv_mass_i)):
            mass = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0.0)
            total += 0.5 * float((mass * w[name] ** 2).sum())
        return total

    def surface_energy(self) -> float:
        """sigma times the length [J/m]."""
        return self.sigma * float(self.curve.lengths().sum())

    def volume(self) -> float:
        """Inside the curves [m2]."""
        tail = self.curve.tail
        a, b = self.curve.point[tail], self.curve.point[self.curve.after[tail]]
        return float(0.5 * (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum())
