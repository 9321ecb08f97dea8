"""Drag between the fluid and all solids: damping rows on the velocities of nodes and of rigid bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from undertow.coupling.drag import DragRows
from undertow.coupling.soft_fields import AWAY, SoftFields
from undertow.coupling.solid_velocities import BLOCK, SolidVelocities
from undertow.coupling.solid_walls import seeing
from undertow.fluid.domain import FluidDomain
from undertow.fluid.viscosity import SMALLEST_DISTANCE, WallRows
from undertow.grid import GHOSTS, Array


class SoftDrag:
    """Damping rows named ``soft_drag`` between faces and the walls of soft bodies in their dual cells, folded:

        sqrt(dt mu A_wall / d) (u_f - e_axis . sum_p w_p v_p),

    the rows of ``fluid.viscosity`` with the wall's velocity that of the nearest point of the surface.
    """

    name = "soft_drag"
    damping = True
    folded = True
    target: Array | None = None

    def __init__(self, domain: FluidDomain, fields: SoftFields, viscosity: float | Array, rigid_count: int) -> None:
        """viscosity [Pa s]: of the fluid, or of every face."""
        self.domain, self.fields, self.viscosity = domain, fields, viscosity
        self.rigid_count = rigid_count
        self.time_step = 0.0
        self.shape: tuple[int, ...] = (0,)
        # the areas of all walls, read off rows with a wall far away
        walls = copy(fields)
        walls.body_c = np.zeros_like(fields.body_c)
        walls.distance_f = np.full_like(fields.distance_f, AWAY * domain.grid.dx)
        self._weights = WallRows(seeing(domain, walls), viscosity, np.zeros(1, np.int64), folded=True, half=False)
        self.face = np.zeros(0, np.int64)
        self.weight = np.zeros(0)
        self.wall: Any = None
        """J (rows, 3 n + 6 m): the wall's velocity across each face from those of the nodes."""

    def rebuild(self) -> None:
        """Weights and nodes of the surfaces where they are now."""
        import scipy.sparse as sparse

        d, fields = self.domain, self.fields
        self._weights.rebuild()
        near, element = fields.near_arrays(), fields.element
        weight = AWAY * self._weights.solid_weight_f.reshape(-1)[near.face]
        aside = self._open_aside(near.face, weight)
        weight /= np.maximum(near.distance / d.grid.dx, SMALLEST_DISTANCE)
        weight += aside
        used = (weight > 0.0) & fields.nearer
        self.face, self.weight = near.face[used], weight[used]
        m, corners = len(self.face), element.shape[1]
        axis = self.face // d.grid.size
        nodes = element[near.element[used] % max(len(element), 1)] if m else np.zeros((0, corners), np.int64)
        value = near.weight[used][:, :corners]
        rows = np.broadcast_to(np.arange(m)[:, None], value.shape)
        columns = 3 * nodes + axis[:, None]
        shape = (m, 3 * fields.bodies.count + 6 * self.rigid_count)
        self.wall = sparse.csr_matrix((value.reshape(-1), (rows.reshape(-1), columns.reshape(-1))), shape=shape)
        self.shape = (m,)

    def _open_aside(self, face: Array, weight: Array) -> Array:
        """Exchange (m,) [kg/s] of faces with closed faces beside them, whose velocity is that of the wall.

        The rows count the whole surface between the dual cells of a face and of a closed one as wall at the distance of
        the wall: right where a smooth wall leaves a wedge of fluid behind that surface. At an edge of a body half a
        dual cell of fluid is there, up to the closed face one cell away. The two are told apart by the volume behind
        the open part: as large as that part is long, or at most half as large. ``weight``, mu A_wall / dx, is mended.
        """
        area, volume, grid = self.domain.area_f, self.domain.volume_c, self.domain.grid
        mu = self.viscosity if isinstance(self.viscosity, float) else self.viscosity.reshape(-1)[face]
        flux = np.broadcast_to(mu * grid.face_area / grid.dx, len(face))
        aside = np.zeros(len(face))
        axis, cell = grid.split(face)
        index = grid.index(cell)[:, ::-1]
        last = GHOSTS + np.array(grid.cells[::-1]) - 1
        used = np.array([a in grid.axes for a in (2, 1, 0)])
        inner = np.all(~used | ((index > GHOSTS) & (index < last)), axis=1) & (weight > 0.0)
        step = np.eye(3, dtype=np.int64)[::-1]
        for a in grid.axes:
            chosen = np.flatnonzero(inner & (axis == a))
            at = index[chosen]
            own = area[a][tuple(at.T)]
            square, across = np.zeros(len(chosen)), np.zeros(len(chosen))
            for b in grid.axes:
                ends = []
                for side in (0, 1):
                    if a == b:
                        other = area[a][tuple((at + (2 * side - 1) * step[a]).T)]
                        ends.append(np.where(other > 0.0, 0.5 * (own + other), 0.0))
                        continue
                    edge = at + side * step[b]
                    open_edge = 0.5 * (area[b][tuple(edge.T)] + area[b][tuple((edge - step[a]).T)])
                    beside = at + (2 * side - 1) * step[b]
                    behind = 0.5 * (volume[tuple(beside.T)] + volume[tuple((beside - step[a]).T)])
                    closed = area[a][tuple(beside.T)] <= 0.0
                    part = np.clip(2.0 * behind - open_edge, 0.0, open_edge)
                    across += np.where(closed, part, 0.0)
                    ends.append(np.where(closed, part, open_edge))
                square += (ends[1] - ends[0]) ** 2
            found = across > 0.0
            weight[chosen[found]] = flux[chosen[found]] * np.sqrt(square[found])
            aside[chosen[found]] = flux[chosen[found]] * across[found]
        return aside

    def keep(self, inv_mass_f: Array) -> None:
        """Without faces that no fluid moves, such as those in the air."""
        self.weight = self.weight * (inv_mass_f.reshape(-1)[self.face] > 0.0)

    def keep_bodies(self, kept_b: np.ndarray) -> None:
        """Nothing: rows of nodes are not those of bodies."""

    def _slide(self, w: Mapping[str, Array]) -> Array:
        return np.asarray(w["fluid"].reshape(-1)[self.face] - self.wall @ w[BLOCK].reshape(-1))

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        out[...] = np.sqrt(self.time_step * self.weight) * self._slide(w)

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        force = np.sqrt(self.time_step * self.weight) * z
        w["fluid"].reshape(-1)[self.face] += force
        w[BLOCK].reshape(-1)[...] -= self.wall.T @ force

    def add_gram(self, w: Mapping[str, Array], out: Mapping[str, Array]) -> None:
        force = self.time_step * self.weight * self._slide(w)
        out["fluid"].reshape(-1)[self.face] += force
        out[BLOCK].reshape(-1)[...] -= self.wall.T @ force

    def add_gram_diagonal(self, w: Mapping[str, Array]) -> None:
        scaled = self.time_step * self.weight
        w["fluid"].reshape(-1)[self.face] += scaled
        w[BLOCK].reshape(-1)[...] += self.wall.multiply(self.wall).T @ scaled

    def nodes_gram(self) -> Any:
        """The part of C^T C that acts on the nodes alone (3 n + 6 m, 3 n + 6 m), sparse."""
        import scipy.sparse as sparse

        return self.wall.T @ sparse.diags(self.time_step * self.weight) @ self.wall

    def impulse(self, u_f: Array, v: Array) -> Array:
        """What the drag gives the solids over the step (n + 2 m, 3) [N s]."""
        force = self.time_step * self.weight * self._slide({"fluid": u_f, BLOCK: v})
        return np.asarray(self.wall.T @ force).reshape(-1, 3)


class NodesInverse:
    """Preconditioner of the solids in the viscous solve: (Mt + the drag of solids alone)^-1, as rows allow it."""

    def __init__(self, drags: Sequence[SoftDrag | DragRows], block: SolidVelocities) -> None:
        self.drags, self.block = drags, block
        self._inverse: Any = None

    def setup(self) -> None:
        """For the masses, drag and rows of now."""
        self._inverse = self.block.restricted_inverse(sum(drag.nodes_gram() for drag in self.drags))

    def apply(self, x: Array, out: Array) -> None:
        block = self.block
        out.reshape(-1)[...] = block.spread @ self._inverse(x.reshape(-1)[block.free])
