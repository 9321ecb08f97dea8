"""The pull of a surface with tension on solids that it meets.

Where the surface ends at a solid, at the contact line, it pulls the solid along itself, away from the wall, with sigma
per length. Given the contact angle theta that is

    f = sigma (sin theta n_w - cos theta s)

n_w being the normal of the wall, out of the solid, and s the direction along the wall from the water to the air;
without one, the direction in which the surface leaves the wall. The water gets the opposite: its surface pushes with
sigma kappa (``fluid.tension``), and the integral of sigma kappa n over a surface is the pull at its edge, sigma times
the length.

On the grid the two are equal to the error of the curvature. What is missing is given to the solids: with F and T the
force and the torque of the crossed faces of a piece of the surface on the water, its lines pull by

    f_i + l_i (a + b x x_i),      sum_i (...) = -F,   sum_i x_i x (...) = -T

l_i being lengths. Water and solids get nothing together, and a drop at rest does not push what it sits on. Of a piece
that meets a side of the domain, the side has its share, -sigma cos theta s along its plane; the force across it, and
the torque, are left as they are, for the cells at a side hold a part of the water's. So a body that floats in a basin
bears the weight of the water that the meniscus beside it displaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from scipy.ndimage import label
from scipy.spatial import cKDTree

from undertow.fluid.crossed import Crossings
from undertow.fluid.tension import SurfaceTension
from undertow.geometry import SolidFields
from undertow.grid import GHOSTS, WALL, Array
from undertow.surface import Interface, InterfaceFinder

LEAST_SLOPE = 0.3
"""Distances of solids that change by less than this part of the way are those of no wall."""


class ContactLines:
    """Of one surface, phi_c [m], with the solids of its grid; cosine (n,): of their contact angles, NaN: none given.
    side_cosine: of sides at which it is not 0, NaN where it is not one angle."""

    def __init__(
        self, phi_c: Array, solids: SolidFields, sigma: float, cosine: Array,
        side_cosine: Mapping[int, float] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self.side_cosine = side_cosine
        self.phi_c, self.solids, self.sigma, self.cosine = phi_c, solids, sigma, cosine
        self.grid = solids.grid
        self._interface = InterfaceFinder(self.grid)
        nothing = np.zeros((0, self.grid.dimensions), np.int64)
        self._surface = Interface(np.zeros((0, 3)), nothing, nothing[:, 0])
        self._clear()

    def _clear(self) -> None:
        self.body = np.zeros(0, dtype=np.int64)
        self.place = self.force = np.zeros((0, 3))
        self.length = np.zeros(0)

    def find(self) -> None:
        """Pieces of the lines of now: body (n,), place (n, 3) [m], length (n,) [m; 2D 1], force (n, 3) [N; 2D N/m]."""
        self._clear()
        grid, solids = self.grid, self.solids
        if not np.any(solids.volume_c[grid.interior] < 1.0):
            return
        surface = self._surface = self._interface.find(self.phi_c)
        body = solids.body_c.reshape(-1)[surface.cell]
        index = grid.index(surface.cell)[:, : grid.dimensions]
        upper = np.array(grid.cells)[: grid.dimensions] + GHOSTS
        near = (body >= 0) & np.all((index >= GHOSTS) & (index < upper), axis=1)
        simplex, body = surface.simplex[near], body[near]
        distance, outward = self._distance(surface.point[np.unique(simplex)])
        number = np.zeros(len(surface.point), dtype=np.int64)
        number[np.unique(simplex)] = np.arange(len(distance))
        value = distance[number[simplex]]
        # a corner on the wall counts as outside: a line through it belongs to one simplex; where solids touch, the
        # distance is 0 between them and has no slope
        met = (value < 0.0).any(axis=1) & (value >= 0.0).any(axis=1)
        met &= np.linalg.norm(outward[number[simplex]].mean(axis=1), axis=1) > LEAST_SLOPE
        if not met.any():
            return
        simplex, value, body = simplex[met], value[met], body[met]
        at, wall = surface.point[simplex], outward[number[simplex]].mean(axis=1)
        normal = surface._replace(simplex=simplex).area_vectors()
        normal /= np.linalg.norm(normal, axis=1)[:, None]
        wall /= np.linalg.norm(wall, axis=1)[:, None]
        ends = _zeros(at, value)
        self.body, self.place = body % len(self.cosine), ends.mean(axis=1)
        self.length = np.ones(len(body)) if grid.dimensions == 2 else np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
        to_air = normal - (normal * wall).sum(axis=1)[:, None] * wall
        leaves = wall - (normal * wall).sum(axis=1)[:, None] * normal
        to_air, leaves = (x / np.maximum(np.linalg.norm(x, axis=1), 1e-12)[:, None] for x in (to_air, leaves))
        cosine = self.cosine[self.body][:, None]
        given = np.sqrt(np.maximum(1.0 - cosine**2, 0.0)) * wall - cosine * to_air
        self.force = self.sigma * self.length[:, None] * np.where(np.isfinite(cosine), given, leaves)

    def react(self, tension: SurfaceTension) -> None:
        """The pull is what the crossed faces of the tension, of now, take from the water."""
        grid, domain = self.grid, tension.domain
        is_open = domain.area_f.reshape(-1)[tension.face] * domain.inv_mass_f.reshape(-1)[tension.face] > 0.0
        if not len(self.body) or not is_open.any():
            return
        face, liquid = tension.face[is_open], tension.liquid[is_open]
        way, theta, kappa = tension.way[is_open], tension.theta[is_open], tension.kappa[is_open]
        place = Crossings(face, liquid, liquid, way, theta).places(grid)
        axis, area = grid.split(face)[0], domain.area_f.reshape(-1)[face]
        given = np.zeros((len(face), 3))
        given[np.arange(len(axis)), axis] = -self.sigma * grid.face_area * area * way * kappa
        piece, sides = self._pieces(liquid)
        near = cKDTree(place)
        of_line = piece[near.query(self.place)[1]]
        held, at_side = self._sides_pull()
        of_side = piece[near.query(at_side)[1]] if len(held) else np.zeros(0, np.int64)
        kinds = domain.sides.kind
        for one in np.unique(of_line):
            here, line, met = piece == one, of_line == one, sides[one]
            centre = self.place[line].mean(axis=0)
            arm, from_line = place[here] - centre, self.place[line] - centre
            missing = -np.concatenate([given[here].sum(axis=0), np.cross(arm, given[here]).sum(axis=0)])
            missing -= np.concatenate([self.force[line].sum(axis=0), np.cross(from_line, self.force[line]).sum(axis=0)])
            if not met:
                self.force[line] += _spread(from_line / grid.dx, self.length[line], missing[:3], missing[3:] / grid.dx)
            elif all(kinds[side] == WALL and np.isfinite(self.side_cosine.get(side, 0.0)) for side in met):
                missing = missing[:3] - held[of_side == one].sum(axis=0)
                missing[[side // 2 for side in met]] = 0.0
                self.force[line] += self.length[line][:, None] / self.length[line].sum() * missing

    def _sides_pull(self) -> tuple[Array, Array]:
        """What the surface pulls the sides with in their own planes (n, 3) [N; 2D N/m] where their angle is not 90
        degrees, and where (n, 3) [m]."""
        grid, surface = self.grid, self._surface
        low, high = np.array(grid.lower), np.array(grid.lower) + grid.dx * np.array(grid.cells)
        forces, places = [np.zeros((0, 3))], [np.zeros((0, 3))]
        centre = surface.centres()
        inside = np.all((centre > low)[:, list(grid.axes)] & (centre < high)[:, list(grid.axes)], axis=1)
        for side, cosine in self.side_cosine.items():
            axis = side // 2
            plane = high[axis] if side % 2 else low[axis]
            on_side = np.abs(surface.point[surface.simplex][..., axis] - plane) < 1e-9 * grid.dx
            chosen = inside & (on_side.sum(axis=1) == grid.dimensions - 1)
            at, ends = surface.point[surface.simplex[chosen]], on_side[chosen]
            to_air = surface._replace(simplex=surface.simplex[chosen]).area_vectors()
            to_air[:, axis] = 0.0
            to_air /= np.maximum(np.linalg.norm(to_air, axis=1), 1e-300)[:, None]
            line = at[ends].reshape(len(at), grid.dimensions - 1, 3)
            length = np.ones(len(at)) if grid.dimensions == 2 else np.linalg.norm(line[:, 1] - line[:, 0], axis=1)
            forces.append(-self.sigma * cosine * length[:, None] * to_air)
            places.append(line.mean(axis=1))
        return np.concatenate(forces), np.concatenate(places)

    def _pieces(self, cell: np.ndarray) -> tuple[np.ndarray, dict[int, list[int]]]:
        """Number (n,) of the connected piece of the surface of each cell beside it, and the sides that each meets."""
        grid = self.grid
        marked = np.zeros(grid.padded, dtype=bool)
        marked.reshape(-1)[cell] = True
        found = np.zeros(grid.padded, dtype=np.int64)
        number, count = label(marked[grid.interior], np.ones((3, 3, 3)))
        found[grid.interior] = number
        met: dict[int, list[int]] = {one: [] for one in range(count + 1)}
        for axis in grid.axes:
            for end in (0, 1):
                for one in np.unique(np.take(number, -end, axis=2 - axis)):
                    met[int(one)].append(2 * axis + end)
        return found.reshape(-1)[cell], met

    def load(self, count: int, centre_b: Array) -> Array:
        """Forces [N; 2D N/m] and torques [N m; 2D N] (count, 6) on bodies about their centres (n, 3)."""
        found = np.zeros((count, 6))
        torque = np.cross(self.place - centre_b[self.body], self.force)
        np.add.at(found, self.body, np.concatenate([self.force, torque], axis=1))
        return found

    def _distance(self, place: Array) -> tuple[Array, Array]:
        """Signed distance (n,) [m] of the solids at places (n, 3), linear between nodes, and its gradient (n, 3)."""
        grid = self.grid
        d = grid.dimensions
        index = ((place - np.array(grid.lower)) / grid.dx + GHOSTS)[:, :d]
        base = np.clip(np.floor(index).astype(np.int64), 0, np.array(grid.padded)[::-1][:d] - 2)
        part = index - base
        stride = np.array([1, grid.padded[2], grid.padded[2] * grid.padded[1]])[:d]
        flat = base @ stride + (GHOSTS * grid.padded[1] * grid.padded[2] if d == 2 else 0)
        nodes, value, slope = self.solids.wall_n.reshape(-1), np.zeros(len(place)), np.zeros((len(place), 3))
        for corner in np.ndindex(*(2,) * d):
            weight = np.where(corner, part, 1.0 - part)
            node = nodes[flat + np.array(corner) @ stride]
            value += weight.prod(axis=1) * node
            for axis in range(d):
                others = np.delete(weight, axis, axis=1).prod(axis=1)
                slope[:, axis] += (2 * corner[axis] - 1) * others * node / grid.dx
        return value, slope


def _spread(place: Array, length: Array, force: Array, torque: Array) -> Array:
    """Forces l (a + b x x) (n, 3) at places (n, 3), which add up to a force and a torque as far as they can."""
    units = np.eye(6)
    parts = length[:, None, None] * (units[:, :3] + np.cross(units[:, 3:], place[:, None, :]))
    sums = np.concatenate([parts.sum(axis=0), np.cross(place[:, None, :], parts).sum(axis=0)], axis=1)
    answer, *_ = np.linalg.lstsq(sums.T, np.concatenate([force, torque]), rcond=1e-9)
    return np.asarray(np.einsum("nkd,k->nd", parts, answer))


def _zeros(at: Array, value: Array) -> Array:
    """Places (n, 1 or 2, 3) where a linear function with these values (n, m) at the corners (n, m, 3) of simplices
    vanishes on their edges."""
    m = value.shape[1]
    edges = [(0, 1)] if m == 2 else [(0, 1), (1, 2), (2, 0)]
    crossed = np.stack([(value[:, a] < 0.0) != (value[:, b] < 0.0) for a, b in edges], axis=1)
    there = []
    for a, b in edges:
        gap = value[:, a] - value[:, b]
        part = value[:, a] / np.where(gap == 0.0, 1.0, gap)
        there.append(at[:, a] + part[:, None] * (at[:, b] - at[:, a]))
    return np.asarray(np.stack(there, axis=1)[crossed].reshape(len(value), m - 1, 3))
