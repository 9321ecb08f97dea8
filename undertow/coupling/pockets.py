"""Pockets: fluid that closed shells hold, kept at its volume.

The rows of a pocket's cells say that no fluid is lost, with the shell's flux as the voxel faces see it. What the
triangles enclose changes by their own areas, and by the step's end; the two differ by the discretisation, and the
difference adds up. As thesis 3.1 [@schroeder2011] does for soft bodies, the error is fed back as the wanted value of
the rows,

    s_c = - Q / n_cells,      Q = Q_faces(v) + [V + dt (V_wanted - V) / max(dt, tau) - V(x + dt v)] / dt,

in the n cells of the pocket, so that the volume is regained within the time tau: first with the velocities before the
solve, then with those it found, until the bracket is small. Where the fluid around has no way out of the domain it
gives what the pocket takes.

A region that prescribed walls close off with a net flux cannot keep its volume by any pressure: the flux
is spread over its cells (Guendelman et al. 2005, 4.3), reported in the ledger and explained once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from undertow.coupling.soft_fields import SoftFields
from undertow.fluid.pressure import PressureRows
from undertow.grid import Array
from undertow.linalg import Stencil
from undertow.soft import SoftBodies, SoftMesh

CLOSE = 1e-5
"""Error of the volume at the end of the step, relative, that is good enough."""


@dataclass(frozen=True)
class _Pocket:
    """A closed shell, the volume it encloses at rest [m3; 2D m2], and 1 or -1 if its elements are turned inwards."""

    part: SoftMesh
    wanted: float
    sign: float


class Pockets:
    """The closed shells among soft bodies; recovery [s]: shortest time over which lost volume is regained."""

    def __init__(self, fields: SoftFields, bodies: SoftBodies, recovery: float) -> None:
        self.fields, self.bodies, self.recovery = fields, bodies, recovery
        self.unmet: Array = np.zeros(0)
        """Net flux of every region [m3/s; 2D m2/s] that the last solve could not take up; empty without any."""
        self._size: Array = np.zeros(0)
        self._asked: Array = np.zeros(0)
        self._inside: list[np.ndarray] = []
        self.pockets, self.opened = [], False
        """Closed shells, and whether there is one that was closed before it tore."""
        for part in bodies.parts:
            if part.closed:
                continue
            if _has_no_rim(part.surface):
                volume = _enclosed(bodies.rest, part.surface)
                self.pockets.append(_Pocket(part, abs(volume), 1.0 if volume > 0 else -1.0))
            else:
                self.opened |= _has_no_rim(bodies.origin[part.surface])

    def volume(self, pocket: _Pocket, way: Array | float = 0.0) -> float:
        """What a shell encloses [m3; 2D m2] now, or moved on by ``way`` (n, 3) [m]."""
        return pocket.sign * _enclosed(self.bodies.x + way, pocket.part.surface)

    def quantities(self) -> dict[str, float]:
        """Of the ledger: enclosed volume of all closed shells, and the largest relative error of one."""
        if not self.pockets:
            return {}
        volumes = np.array([self.volume(pocket) for pocket in self.pockets])
        wanted = np.array([pocket.wanted for pocket in self.pockets])
        return {
            "enclosed_volume": float(volumes.sum()),
            "enclosed_volume_error": float(np.abs(volumes / wanted - 1.0).max()),
        }

    def ask(self, rows: PressureRows, w: Mapping[str, Array], v: Array, dt: float, again: bool = False) -> bool:
        """Add s to the wanted rows for velocities w of the solids, v (n, 3) of the nodes, and a step dt [s]; again: in
        the place of what was asked for in the same solve. False if they do what is wanted, or nothing can be."""
        if not self.pockets or not np.isfinite(self.recovery):
            return False
        assert rows.target is not None
        stencil, target = rows.stencil, rows.target.reshape(-1)
        label = stencil.label[: target.size]
        if not again:
            self._size = np.bincount(label, minlength=stencil.regions + 1).astype(float)
            places = self._representatives(label, stencil.regions)
            self._inside = [self._are_inside(places, pocket) for pocket in self.pockets]
            self._asked = np.zeros(stencil.regions + 1)
        has_way_out = np.bincount(label, stencil.dirichlet_c.reshape(-1), stencil.regions + 1) > 0.0
        swept = np.zeros(rows.shape)
        rows.add_others(w, swept)
        through = -np.bincount(label, swept.reshape(-1), stencil.regions + 1)
        wanted, error = np.zeros(stencil.regions + 1), 0.0
        for pocket, inside in zip(self.pockets, self._inside, strict=True):
            # with a surface inside, air makes up for what the shell encloses more or less
            if not inside.any() or (inside & has_way_out).any():
                continue
            volume = self.volume(pocket)
            end = volume + dt * (pocket.wanted - volume) / max(dt, self.recovery)
            missing = end - self.volume(pocket, dt * v)
            error = max(error, abs(missing) / pocket.wanted)
            wanted[inside] -= (missing / dt + through[inside].sum()) / self._size[inside].sum()
        if again and error < CLOSE:
            return False
        around = ~np.any(self._inside, axis=0)
        around[0] = False
        if around.any() and not (around & has_way_out).any():
            wanted[around] -= (wanted * self._size).sum() / self._size[around].sum()
        target += (wanted - self._asked)[label]
        self._asked = wanted
        return True

    def take_unmet(self, stencil: Stencil, removed: Array | None) -> None:
        """removed: the part of the rows that no pressure can change, as it was spread over the cells; None: nothing."""
        self.unmet = np.zeros(0)
        if removed is not None:
            flat = removed.reshape(-1)
            self.unmet = np.asarray(np.bincount(stencil.label[: flat.size], flat, stencil.regions + 1), dtype=float)

    def explain(self, stencil: Stencil, periodic: tuple[bool, bool, bool]) -> str:
        """A sentence about the region whose flux is taken up the least; empty if all are."""
        if not len(self.unmet) or not np.abs(self.unmet).max() > 0.0:
            return ""
        region = int(np.abs(self.unmet).argmax())
        grid = self.fields.grid
        label = stencil.label[: grid.size]
        index = grid.index(np.flatnonzero(label == region))
        middle = (grid.position(index)).mean(axis=0)[: grid.dimensions]
        where = ", ".join(f"{x:.3g}" for x in middle)
        unit = "m3/s" if grid.dimensions == 3 else "m2/s"
        walls = self._closed_off_by(label, region, periodic)
        return (
            f"a pocket of {len(index)} cells around ({where}) m{walls} has a net flux of "
            f"{abs(self.unmet[region]):.3g} {unit} that nothing can take up: it is spread over its cells "
            f"(incompatibility in the ledger); let the shell move freely there, or open a side of the domain"
        )

    def _closed_off_by(self, label: np.ndarray, region: int, periodic: tuple[bool, bool, bool]) -> str:
        """The shells on whose faces a region ends."""
        voxel = self.fields.voxel
        if not len(voxel.face):
            return ""
        lower, upper = voxel.sides(periodic)
        nodes = voxel.wall[(label[lower] == region) | (label[upper] == region)].indices // 3
        names = [f"objects.{p.name}" for p in self.bodies.parts if ((nodes >= p.first) & (nodes < p.stop)).any()]
        return f", closed off by {', '.join(names)}," if names else ""

    def find_cells(self, stencil: Stencil, alone_c: np.ndarray | None = None) -> np.ndarray:
        """Cells (Z, Y, X) that closed shells hold: 0 none, n + 1 the n-th, the innermost; stencil: that of the rows.
        alone_c: cells to look at one by one if they belong to no region, all their faces being closed."""
        label = stencil.label[: self.fields.grid.size]
        places = self._representatives(label, stencil.regions)
        if alone_c is not None:
            alone = np.flatnonzero((label == 0) & alone_c.reshape(-1))
            label = label.copy()
            label[alone] = stencil.regions + 1 + np.arange(len(alone))
            places = np.concatenate([places, self._centres(alone)])
        held = np.zeros(len(places), dtype=np.int64)
        # the largest first: a shell inside another holds what is inside it
        for n in np.argsort([-pocket.wanted for pocket in self.pockets], kind="stable"):
            held[self._are_inside(places, self.pockets[n])] = n + 1
        return np.asarray(held[label].reshape(self.fields.grid.padded))

    def _representatives(self, label: np.ndarray, regions: int) -> Array:
        """Centre (regions + 1, 3) [m] of one cell of every region; of region 0 nothing."""
        at = np.zeros(regions + 1, np.int64)
        # of repeated indices the last is taken
        at[label[::-1]] = np.arange(label.size)[::-1]
        return self._centres(at)

    def _centres(self, cell: np.ndarray) -> Array:
        """Centres (n, 3) [m] of cells by their flat index."""
        grid = self.fields.grid
        index = grid.index(cell)
        return np.asarray(grid.position(index))

    def _are_inside(self, places: Array, pocket: _Pocket) -> np.ndarray:
        """Which of the places (r, 3) a shell, or an image of it, winds around; the first, of no region, never."""
        found = np.zeros(len(places), dtype=bool)
        for shift in self.fields.surface.shift:
            found |= np.abs(_winding(places - shift, self.bodies.x, pocket.part.surface)) > 0.5
        found[0] = False
        return found


class PocketSmoke:
    """The smoke that closed shells hold keeps its mass (``fluid.flow.HeldSmoke``).

    One-sided transport gives values behind a shell to the cells that it uncovers and takes none from those it covers
    but what they had, so that mass is made and lost where it moves. Nothing goes through it: all smoke of a pocket is
    scaled by one factor per step. A pocket that lost all its smoke, or had none, is left alone. Where a shell that was
    closed has torn, what it held is one region with what is outside, whose smoke keeps its mass if the tank is
    ``sealed``: no fluid enters or leaves it.
    """

    def __init__(self, pockets: Pockets, rows: PressureRows, sealed: bool) -> None:
        self.pockets, self.rows, self.keeps_outside = pockets, rows, sealed and pockets.opened
        self.restored = 0.0
        """Mass [kg; 2D kg/m] that the last step gave or took, over all pockets."""
        self._mass = np.zeros(0)
        self._cell = np.zeros(0, np.int64)

    def find_cells(self, smoke_c: Array) -> None:
        """Find the cells of the pockets, before the shells move: rows and shells are where the last step left them."""
        self._cell = self._cells(smoke_c)

    def weigh(self, smoke_c: Array) -> None:
        self._mass = self._weigh(self._cell, smoke_c)

    def restore(self, smoke_c: Array, left: float) -> None:
        cell = self._cells(smoke_c)
        now = self._weigh(cell, smoke_c)
        wanted = left * self._mass
        known = (now > 0.0) & (wanted > 0.0)
        known[0] &= self.keeps_outside
        scale = np.where(known, wanted / np.where(known, now, 1.0), 1.0)
        smoke_c *= scale[cell]
        volume = self.pockets.fields.grid.cell_volume
        self.restored = volume * float(np.abs(wanted - now)[known].sum())

    def _cells(self, smoke_c: Array) -> np.ndarray:
        full = np.zeros(smoke_c.shape, dtype=bool)
        inside = self.pockets.fields.grid.interior
        full[inside] = smoke_c[inside] > 0.0
        return self.pockets.find_cells(self.rows.stencil, full)

    def _weigh(self, cell: np.ndarray, smoke_c: Array) -> Array:
        inside = self.pockets.fields.grid.interior
        mass = np.bincount(cell[inside].reshape(-1), smoke_c[inside].reshape(-1), len(self.pockets.pockets) + 1)
        return np.asarray(mass, dtype=float)


def _has_no_rim(surface: Any) -> bool:
    """Whether every edge of triangles, or node of edges, belongs to two of them."""
    if surface.shape[1] == 2:
        _, count = np.unique(surface, return_counts=True)
    else:
        edges = np.concatenate([surface[:, [0, 1]], surface[:, [1, 2]], surface[:, [2, 0]]])
        _, count = np.unique(np.sort(edges, axis=1), axis=0, return_counts=True)
    return bool((count == 2).all())


def _enclosed(x: Array, surface: Any) -> float:
    """Volume inside triangles turned outwards, or area inside edges that go around it."""
    p = x[surface] - x[surface[0, 0]]
    if surface.shape[1] == 2:
        return float(0.5 * (p[:, 0, 0] * p[:, 1, 1] - p[:, 0, 1] * p[:, 1, 0]).sum())
    return float(np.einsum("ti,ti->", p[:, 0], np.cross(p[:, 1], p[:, 2])) / 6.0)


def _winding(points: Array, x: Array, surface: Any) -> Array:
    """How often a closed surface winds around each point (van Oosterom and Strackee 1983)."""
    total = np.zeros(len(points))
    for n, point in enumerate(points):
        p = x[surface] - point
        if surface.shape[1] == 2:
            a, b = p[:, 0], p[:, 1]
            angle = np.arctan2(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0], a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1])
            total[n] = angle.sum() / (2.0 * np.pi)
            continue
        a, b, c = p[:, 0], p[:, 1], p[:, 2]
        la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
        ab, bc, ca = (np.einsum("ti,ti->t", v, w) for v, w in ((a, b), (b, c), (c, a)))
        volume = np.einsum("ti,ti->t", a, np.cross(b, c))
        total[n] = np.arctan2(volume, la * lb * lc + ab * lc + bc * la + ca * lb).sum() / (2.0 * np.pi)
    return total
