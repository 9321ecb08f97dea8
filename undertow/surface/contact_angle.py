"""Contact angle: how the level set goes on into walls, so that the surface meets them at a given angle.

With n_w the normal of the wall, out of the solid, and phi negative in the liquid, the angle theta in the liquid is that
for which

    n_w . grad phi = cos theta                                        where the surface meets the wall, |grad phi| = 1

A distance whose levels are parallel curves meets the wall at another angle on each of them. Along the wall its slope
changes by n_w . B s, B being the Hessian, with B grad phi = 0; in the plane of the two normals that makes

    n_w . grad phi = cos theta (1 - kappa phi),      kappa = n_w . B n_w / (1 - (n_w . grad phi)^2)

to first order in phi; taken is the exact cos theta / (1 + kappa phi) of circles. Without the second factor the
curvature in wall cells is off by a part that does not fall with the cells. Values beyond the wall are those of a
quadratic polynomial with this slope on the wall: beyond sides, where wall and cells are in line,

    phi(-d) = phi(d) - 2 d n_w . grad phi

(mirrored, as without a contact angle, for theta = 90); in cells whose centres lie in solids that of least squares over
the cells outside them. Curvature, distance and transport read them as they read others.

Contact angles by values in the wall: Sussman 2001 (a level set extended along its tangents), Renardy, Renardy and Li
2001; by reflected heights: Afkhami and Bussmann 2008. The contact line moves with the water in the cells at the wall:
it slips freely where the water does, and on a no-slip wall by the velocity half a cell away from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement, product
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from scipy.ndimage import map_coordinates, maximum_filter, minimum_filter
from scipy.spatial import cKDTree

from undertow.grid import GHOSTS, Array, Grid

Angles = float | tuple[float, float]
"""Contact angle, or the advancing and the receding one [degrees]."""

RIGHT_ANGLES: tuple[Angles, ...] = (90.0,) * 6
"""Of the six sides [degrees]."""

MOST_HELD = 1.0
"""Contact lines further from where they are held than this are new ones [cells]."""

NONE_GIVEN: Mapping[str, float] = MappingProxyType({})
"""Contact angles of no solid."""

BEYOND = 1.4
"""Closest points may lie so far beyond sides with a contact angle [cells]: there the cubics end."""

NEAR_LINE = 6
"""So far from a contact line values go on at its angle [cells]."""

SQUARE = 1.5
"""Cells of water and air at a wall that are no further apart have a contact line between them [cells]."""

FILM = (5, 5)
"""Columns of cells at a side among which the lowest cells tell whether the side is wet."""

LEAST_SQUARE, LEAST_SLOPE = 1e-3, 0.1
"""Squares of the sine of an angle, and slopes of phi, count as no smaller."""

MOST_BEND, MOST_TURN = 0.5, 0.5
"""Largest curvature of a surface at a wall [1 / cell], and the angle by which it turns beyond it [rad]."""

INSIDE = 2.5
"""So deep in solids the surface goes on at its angle [cells]."""

HIDDEN = 0.5
"""Nearest points of the surface that are deeper than this in a solid are taken from its continuation [cells]."""

SHALLOW = 1.5
"""Cells deeper than this in solids go on with the curvature of the line alone [cells]."""

SPREAD = 1.0
"""Width of the weights of the polynomial [cells]."""


def wall_slope(cosine: Array | float, value: Array, kappa: Array) -> Array:
    """n_w . grad phi (n,) where phi is ``value`` on the wall; kappa: of the surface in the plane of both normals.
    Lengths in cells."""
    return np.asarray(np.clip(cosine / np.maximum(1.0 + kappa * value, 0.5), -1.0, 1.0))


def wall_curvature(value: Array, gradient: Array, hessian: Array, normal: Array) -> Array:
    """kappa (n,) of the surface phi = 0 in the plane of the normal of the wall (n, d) and its own, by phi and its
    derivatives (n,), (n, d), (n, d, d) at a place near both; lengths in cells.

    Along v, in that plane and at a right angle to g, kappa = v.B v / |g|; of a parallel curve, at a distance phi / |g|.
    """
    size = np.maximum(np.linalg.norm(gradient, axis=-1), LEAST_SLOPE)
    own = gradient / size[..., None]
    along = normal - (normal * own).sum(axis=-1)[..., None] * own
    square = np.maximum((along**2).sum(axis=-1), LEAST_SQUARE)
    kappa = np.einsum("...i,...ij,...j->...", along, hessian, along) / (square * size)
    return np.asarray(np.clip(kappa / np.maximum(1.0 - kappa * value / size, 0.5), -MOST_BEND, MOST_BEND))


def distance_to_arc(t: Array, n: Array, kappa: Array) -> Array:
    """Signed distance (n,) of places from the surface that goes on beyond its edge: an arc that turns by no more than
    MOST_TURN, then straight; t, n: coordinates along the surface, into the wall, and along its normal.

    With beta the angle by which the arc has turned at the nearest point,

        d = t sin beta + n cos beta - (1 - cos beta) / kappa,      tan beta = kappa t / (1 + kappa n)
    """
    beta = np.clip(np.arctan2(kappa * t, 1.0 + kappa * n), -MOST_TURN, MOST_TURN)
    sag = np.sin(beta) * np.tan(0.5 * beta) / np.where(np.abs(kappa) > 1e-9, kappa, np.inf)
    return np.asarray(t * np.sin(beta) + n * np.cos(beta) - sag)


def stencil_of(cosine: Array) -> Array:
    """How far from a contact line cells are that the curvature beside it is taken from (n,) [cells]."""
    return np.asarray(np.maximum(2.0 - 0.5 * np.abs(cosine) / np.maximum(np.sqrt(1.0 - cosine**2), 1e-6), 0.5))


class _Wall(NamedTuple):
    """Phi at a side [cells], by planes of cells; the plane itself has two axes.

    layers: planes of cells from the wall inwards, those beyond all sides among them. value: phi on the wall. kappa:
    curvature [1 / cell] of the surface in the plane of both normals, by the first three layers. cosine: of the angle.
    """

    layers: Array
    value: Array
    kappa: Array
    cosine: Array


class SideAngles:
    """Contact angles of the sides of a grid.

    degrees: of each side the advancing and the receding angle, or one that is both. sides: (side, cosine of the
    advancing, of the receding angle) of those at which they are not 90 degrees. held: by side, a field that vanishes on
    its contact line where the two differ [cells]; the line stays there as long as its angle is between them.
    """

    def __init__(self, grid: Grid, degrees: Sequence[Angles]) -> None:
        self.grid = grid
        pairs = [angles if isinstance(angles, tuple) else (angles, angles) for angles in degrees]
        count = 2 * grid.dimensions
        cosines = [(float(np.cos(np.radians(a))), float(np.cos(np.radians(b)))) for a, b in pairs]
        self.sides = [(s, *cosines[s]) for s in range(count) if pairs[s] != (90.0, 90.0)]
        self.held: dict[int, Array] = {}
        self.reach = BEYOND if self.sides else 0.0

    def _planes(self, side: int, field: np.ndarray) -> np.ndarray:
        """A view of a field by planes along a side, from far beyond it inwards; in 2D of the one plane in use."""
        used = field if self.grid.dimensions == 3 else field[GHOSTS : GHOSTS + 1]
        return np.moveaxis(used, 2 - side // 2, 0)[:: 1 if side % 2 == 0 else -1]

    def cosines(self) -> dict[int, float]:
        """Of the sides whose angle is not 90 degrees; NaN where it is not one angle."""
        return {side: most if least == most else float("nan") for side, least, most in self.sides}

    def hold(self, phi_c: Array, anew: bool = False) -> None:
        """Contact lines stay where they are from now on; anew: where phi says, not where they were held or let go."""
        for side, least, most in self.sides:
            if least < most:
                if anew:
                    self.held.pop(side, None)
                self.held[side] = self._wall(self._planes(side, phi_c)[GHOSTS:], side, least, most).value.copy()

    def _wall(self, layers: Array, side: int, least: float, most: float) -> _Wall:
        """least, most: cosines of the advancing and of the receding angle."""
        low, mid, high = (layers[n] / self.grid.dx for n in range(3))
        value, wet = (15.0 * low - 10.0 * mid + 3.0 * high) / 8.0, low <= 0.0
        # what is thinner than half a cell, with nothing like it around in the lowest cells, is no film
        same = minimum_filter(wet, FILM) | minimum_filter(~wet, FILM)
        value = np.where(same & ((value <= 0.0) != wet), low, value)
        kappa = _curvature_of_layers(low, mid, high)
        if least == most:
            return _Wall(layers, value, kappa, np.full(value.shape, most))
        # the slope of the quadratic through the wall and two cells; a value less by w there makes it steeper by 8/3 w
        slope = (9.0 * low - mid - 8.0 * value) / 3.0
        cosine = slope * np.maximum(1.0 + kappa * value, 0.5)
        column, held, nearest = self._off_the_line(side, value)
        if not len(held):
            return _Wall(layers, value, kappa, np.clip(cosine, least, most))
        at_line = held.mean_of(cosine)
        pinned = at_line + 8.0 / 3.0 * held.mean_of(value)
        angle = np.clip(pinned, least, most)
        cosine = np.clip(cosine, least, most)
        value, cosine = value.copy(), cosine.copy()
        value[column] -= (3.0 / 8.0 * (angle - at_line))[nearest]
        cosine[column] = angle[nearest]
        return _Wall(layers, value, kappa, cosine)

    def _off_the_line(self, side: int, value: Array) -> tuple[tuple[np.ndarray, ...], _Zeros, np.ndarray]:
        """Columns near the line that a side holds (two index arrays (n,)), its points that phi on the wall has nearby,
        and the nearest of them to each column."""
        zeros = _Zeros.of(self.held[side]) if side in self.held else _Zeros.of(np.ones(value.shape))
        zeros = zeros.where(np.abs(zeros.mean_of(value)) <= MOST_HELD)
        if not len(zeros):
            none = np.zeros(0, np.int64)
            return (none, none), zeros, none
        column = np.nonzero(np.ones(value.shape, dtype=bool))
        far, nearest = cKDTree(zeros.place).query(np.stack(column, axis=1))
        close = far <= NEAR_LINE
        return tuple(x[close] for x in column), zeros, nearest[close]

    def fill(self, phi_c: Array) -> None:
        """Phi beyond the sides, which is mirrored on entry, near contact lines."""
        for side, least, most in self.sides:
            planes = self._planes(side, phi_c)
            wall, beyond = self._wall(planes[GHOSTS:], side, least, most), planes[:GHOSTS][::-1]
            line = _ContactLine(wall)
            slope = wall_slope(wall.cosine, wall.value, wall.kappa)[line.near]
            for layer in range(GHOSTS):
                mirrored = wall.layers[layer][line.near] - (2.0 * layer + 1.0) * self.grid.dx * slope
                found, in_wall = line.distance(-layer - 0.5)
                # about the line the wall cells say more of it, further away they would hold on to any error
                in_wall &= np.abs(line.s) > line.stencil
                beyond[layer][line.near] = np.where(in_wall, found * self.grid.dx, mirrored)

    def set_nearest_beyond(self, phi_c: Array, out_distance_c: Array, out_status_c: np.ndarray, known: int) -> None:
        """Distances [cells] of cells near contact lines that have none yet and whose nearest points are in the wall."""
        inner = np.zeros(self.grid.padded, dtype=bool)
        if self.sides:
            inner[self.grid.interior] = True
        for side, least, most in self.sides:
            wall = self._wall(self._planes(side, phi_c)[GHOSTS:], side, least, most)
            line = _ContactLine(wall)
            inside, distances, states = (self._planes(side, x)[GHOSTS:] for x in (inner, out_distance_c, out_status_c))
            for layer in range(NEAR_LINE):
                found, in_wall = line.distance(layer + 0.5)
                here, distance, state = wall.layers[layer][line.near], distances[layer], states[layer]
                chosen = in_wall & inside[layer][line.near] & ((found <= 0.0) == (here <= 0.0))
                chosen &= distance[line.near] < 0.0
                column = tuple(x[chosen] for x in line.near)
                distance[column] = np.abs(found[chosen])
                state[column] |= known


class _Zeros(NamedTuple):
    """Where a field on a wall vanishes between two columns: low, high: those (two index arrays (n,) each). part (n,) of
    the way from the one to the other. place (n, 2) [cells]."""

    low: tuple[np.ndarray, np.ndarray]
    high: tuple[np.ndarray, np.ndarray]
    part: Array
    place: Array

    def __len__(self) -> int:
        return len(self.part)

    @classmethod
    def of(cls, field: Array) -> _Zeros:
        inside = field <= 0.0
        lows, highs = [], []
        for axis in (0, 1):
            below = np.stack(np.nonzero(np.diff(inside, axis=axis)), axis=1)
            lows.append(below)
            highs.append(below + np.eye(2, dtype=np.int64)[axis])
        low, high = np.concatenate(lows), np.concatenate(highs)
        here, there = (field[x[:, 0], x[:, 1]] for x in (low, high))
        part = here / np.where(here == there, 1.0, here - there)
        place = low + part[:, None] * (high - low)
        return cls((low[:, 0], low[:, 1]), (high[:, 0], high[:, 1]), part, place)

    def where(self, chosen: np.ndarray) -> _Zeros:
        low, high = (tuple(x[chosen] for x in end) for end in (self.low, self.high))
        return _Zeros(low, high, self.part[chosen], self.place[chosen])  # type: ignore[arg-type]

    def mean_of(self, field: Array) -> Array:
        """A field at the zeros (n,)."""
        return np.asarray(field[self.low] + self.part * (field[self.high] - field[self.low]))


class _ContactLine:
    """Where phi vanishes on a side, and what the surface that meets it there looks like nearby.

    near: columns of cells (two index arrays (n,)) within NEAR_LINE of the line. s (n,): their distances from it along
    the side, positive in the air [cells]. kappa, cosine (n,): of the surface in the plane of both normals [1 / cell],
    and of its angle. stencil (n,): how far from the line, on the side that the surface leans away from, cells are that
    its curvature in the lowest row is taken from [cells].
    """

    def __init__(self, wall: _Wall) -> None:
        value = wall.value
        inside, size = value <= 0.0, (2 * NEAR_LINE + 1, 2 * NEAR_LINE + 1)
        self.near = np.nonzero(maximum_filter(inside, size) & maximum_filter(~inside, size))
        self.s = self.kappa = self.cosine = self.stencil = np.zeros(0)
        if not len(self.near[0]):
            return
        zeros = _Zeros.of(value)
        slope = [np.gradient(value, axis=axis) if value.shape[axis] > 1 else np.zeros(value.shape) for axis in (0, 1)]
        normal = np.stack([zeros.mean_of(x) for x in slope], axis=1)
        normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-12)[:, None]
        column = np.stack(self.near, axis=1)
        _, nearest = cKDTree(zeros.place).query(column)
        self.s = ((column - zeros.place[nearest]) * normal[nearest]).sum(axis=1)
        self.kappa, self.cosine = (zeros.mean_of(x)[nearest] for x in (wall.kappa, wall.cosine))
        self.stencil = stencil_of(self.cosine)

    def distance(self, h: float) -> tuple[Array, np.ndarray]:
        """Phi (n,) [cells] at a distance h from the side, and where the nearest point of the surface is beyond it."""
        s, cosine = self.s, self.cosine
        sine = np.sqrt(1.0 - cosine**2)
        n, t = s * sine + h * cosine, s * cosine - h * sine
        return distance_to_arc(t, n, self.kappa), np.asarray(t > 0.0)


def _curvature_of_layers(low: Array, mid: Array, high: Array) -> Array:
    """``wall_curvature`` at the second of three planes of cells along a side, its normal being the first axis; phi in
    cells."""
    axes = [axis for axis in (0, 1) if mid.shape[axis] > 1]
    layers, second = (low, mid, high), high - 2.0 * mid + low
    slopes = [[np.gradient(layer, axis=axis) for axis in axes] for layer in layers]
    gradient = np.stack([0.5 * (high - low), *slopes[1]], axis=-1)
    hessian = np.zeros((*mid.shape, 1 + len(axes), 1 + len(axes)))
    hessian[..., 0, 0] = second
    for m, axis in enumerate(axes):
        hessian[..., 0, m + 1] = hessian[..., m + 1, 0] = 0.5 * (slopes[2][m] - slopes[0][m])
        for n in range(m, len(axes)):
            across = _second_difference(mid, axis) if n == m else np.gradient(slopes[1][m], axis=axes[n])
            hessian[..., m + 1, n + 1] = hessian[..., n + 1, m + 1] = across
    return wall_curvature(mid, gradient, hessian, np.eye(1 + len(axes))[0])


def _second_difference(field: Array, axis: int) -> Array:
    """Along an axis; 0 at its ends."""
    found = np.zeros(field.shape)
    inner, view = np.moveaxis(found, axis, 0), np.moveaxis(field, axis, 0)
    inner[1:-1] = view[2:] - 2.0 * view[1:-1] + view[:-2]
    return found


def cosines_of(names: Sequence[str], degrees: Mapping[str, float]) -> Array:
    """Cosine (n,) of the contact angle of each solid, NaN where none is given."""
    given = [degrees.get(name, np.nan) for name in names]
    return np.asarray(np.cos(np.radians(np.array(given, dtype=np.float64))))


class _Edge:
    """Points of a contact line on the walls of solids, and the surface that goes on there into them; in cells.

    place, along (n, d): of the points, and along the wall towards the air. into, normal (n, d): along the surface into
    the wall, and its normal. kappa (n,): its curvature in their plane.
    """

    def __init__(self, place: Array, along: Array, wall: Array, kappa: Array, cosine: Array) -> None:
        sine = np.sqrt(1.0 - cosine**2)
        self.place, self.along, self.kappa, self.sine = place, along, kappa, sine
        self.normal = sine[:, None] * along + cosine[:, None] * wall
        self.into = cosine[:, None] * along - sine[:, None] * wall
        self.stencils = stencil_of(cosine)
        self._tree = cKDTree(place)

    @classmethod
    def find(
        cls, foot: Array, wall: Array, value: Array, gradient: Array, hessian: Array, kappa: Array, cosine: Array
    ) -> _Edge | None:
        """Near feet on walls (n, d) of normals ``wall``, where phi has these derivatives; None without any."""
        along = gradient - (gradient * wall).sum(axis=1)[:, None] * wall
        slope = np.linalg.norm(along, axis=1)
        chosen = (np.abs(value) <= slope) & (slope > LEAST_SLOPE)
        if not chosen.any():
            return None
        value, slope = value[chosen], slope[chosen]
        along = along[chosen] / slope[:, None]
        bend = np.einsum("ni,nij,nj->n", along, hessian[chosen], along)
        s = -value / slope
        # a step of Newton's method along the wall
        s -= (value + s * (slope + 0.5 * bend * s)) / np.maximum(slope + bend * s, 0.5 * slope)
        return cls(foot[chosen] + s[:, None] * along, along, wall[chosen], kappa[chosen], cosine[chosen])

    def distance(self, place: Array) -> tuple[Array, Array, np.ndarray]:
        """Phi (n,) at places (n, d), how deep below the wall the nearest point of the surface is, and by how much they
        are beyond the stencil."""
        _, nearest = self._tree.query(place)
        away = place - self.place[nearest]
        s, t, n = ((away * x[nearest]).sum(axis=1) for x in (self.along, self.into, self.normal))
        found = distance_to_arc(t, n, self.kappa[nearest])
        return found, t * self.sine[nearest], np.abs(s) - self.stencils[nearest]


class SolidAngles:
    """Contact angles of solids.

    cosine (n,): of the angle of each solid, in the order of their numbers; NaN: none is given, there the surface goes
    on as it was.
    """

    def __init__(self, grid: Grid, cosine: Array) -> None:
        self.grid, self.cosine = grid, cosine
        self.are_given = bool(np.isfinite(cosine).any())
        _, py, px = grid.padded
        self._stride = np.array([1, px, px * py])[: grid.dimensions]
        self._around = np.array(list(product(range(-2, 3), repeat=grid.dimensions)))
        self._second = list(combinations_with_replacement(range(grid.dimensions), 2))
        self._interior = np.zeros(grid.padded, dtype=bool)
        self._interior[grid.interior] = True

    def extend(
        self, phi_c: Array, solid_c: Array, open_c: np.ndarray, body_c: np.ndarray, renewed: bool = True
    ) -> None:
        """Phi in cells inside solids near contact lines; solid_c: distance to solids [m]; open_c: 1 in cells whose
        centres are outside; body_c: number of the nearest solid, negative without one. renewed: phi has just been made
        a distance; then open cells whose nearest points lie in solids are set too."""
        dx, d = self.grid.dx, self.grid.dimensions
        phi, solid, body = phi_c.reshape(-1), solid_c.reshape(-1), body_c.reshape(-1)
        is_open = (open_c.reshape(-1) == 1) & self._interior.reshape(-1)
        line = self._line(phi, solid, is_open)
        target = np.flatnonzero(self._interior.reshape(-1) & ~is_open & (solid >= -INSIDE * dx) & (body >= 0))
        target = target[np.isfinite(self.cosine[body[target] % len(self.cosine)])]
        if not len(line) or not len(target):
            return
        near = cKDTree(line)
        target = target[np.isfinite(near.query(self._index(target), distance_upper_bound=NEAR_LINE)[0])]
        target, foot, normal = self._feet(solid, target)
        middle = np.rint(foot + normal).astype(np.int64)
        around = middle[:, None, :] + self._around[None]
        index = np.clip(target[:, None] + around @ self._stride, 0, phi.size - 1)
        place = around - foot[:, None, :]
        weight = np.exp(-(place**2).sum(axis=2) / SPREAD**2) * is_open[index]
        # enough cells for a polynomial
        meets = (weight > 0.0).sum(axis=1) >= 2 * (1 + d + len(self._second))
        target, normal, foot, place = target[meets], normal[meets], foot[meets], place[meets]
        weight, value = weight[meets], phi[index[meets]] / dx
        if not len(target):
            return
        terms = self._terms(place)
        moment = np.einsum("mni,mn,mnj->mij", terms, weight, terms)
        moment += 1e-9 * np.eye(terms.shape[2])
        right = np.einsum("mni,mn,mn->mi", terms, weight, value)
        free = np.linalg.solve(moment, right[..., None])[..., 0]
        along = np.concatenate([np.zeros((len(target), 1)), normal, np.zeros((len(target), len(self._second)))], axis=1)
        kappa = wall_curvature(free[:, 0], free[:, 1 : 1 + d], self._hessian(free), normal)
        cosine = self.cosine[body[target] % len(self.cosine)]
        slope = wall_slope(cosine, free[:, 0], kappa)
        # with the slope on the wall: the polynomial moves by a multiple of M^-1 a, a . c being that slope
        answer = np.linalg.solve(moment, along[..., None])[..., 0]
        change = (slope - (along * free).sum(axis=1)) / np.maximum((along * answer).sum(axis=1), 1e-300)
        chosen = free + change[:, None] * answer
        found = (chosen * self._terms(-foot)).sum(axis=1)
        place = self._index(target)
        edge = _Edge.find(place + foot, normal, free[:, 0], free[:, 1 : 1 + d], self._hessian(free), kappa, cosine)
        if edge is not None:
            beyond, deep, s = edge.distance(place)
            further = (deep > 0.0) & ((s > 0.0) | (np.linalg.norm(foot, axis=1) > SHALLOW))
            found = np.where(further, beyond, found)
            if renewed:
                cell = np.flatnonzero(is_open & (solid <= NEAR_LINE * dx) & (np.abs(phi) <= NEAR_LINE * dx))
                cell = cell[np.isfinite(near.query(self._index(cell), distance_upper_bound=NEAR_LINE)[0])]
                beyond, deep, _ = edge.distance(self._index(cell))
                set_anew = (deep > HIDDEN) & ((beyond <= 0.0) == (phi[cell] <= 0.0))
                phi[cell[set_anew]] = dx * beyond[set_anew]
        phi[target] = dx * found

    def _line(self, phi: Array, solid: Array, is_open: np.ndarray) -> np.ndarray:
        """Places (n, d) of cells of air at contact lines [cells]."""
        beside = np.flatnonzero(is_open & (solid <= 1.5 * self.grid.dx) & (np.abs(phi) <= 2.0 * self.grid.dx))
        wet, place = phi[beside] <= 0.0, self._index(beside)
        if wet.all() or not wet.any():
            return place[:0]
        far, _ = cKDTree(place[wet]).query(place[~wet])
        return np.asarray(place[~wet][far <= SQUARE])

    def _feet(self, solid: Array, cell: np.ndarray) -> tuple[np.ndarray, Array, Array]:
        """Those of cells in solids (n,) that have a nearest point on the wall, from them to it, and the normal of the
        wall (n, d) [cells]."""
        gap = np.stack([solid[cell + s] - solid[cell - s] for s in self._stride], axis=1) / (2.0 * self.grid.dx)
        size = np.linalg.norm(gap, axis=1)
        steep = size > 0.1
        cell, normal = cell[steep], gap[steep] / size[steep][:, None]
        depth = -solid[cell] / self.grid.dx
        # in thin solids the distance is less than that to either wall
        at = (self._index(cell) + depth[:, None] * normal).T
        shape = self.grid.padded[::-1][: self.grid.dimensions][::-1]
        plane = solid.reshape(self.grid.padded)[GHOSTS if self.grid.dimensions == 2 else slice(None)].reshape(shape)
        depth -= map_coordinates(plane, at[::-1], order=1, mode="nearest") / self.grid.dx
        return cell, depth[:, None] * normal, normal

    def _hessian(self, polynomial: Array) -> Array:
        """Second derivatives (n, d, d) of polynomials (n, terms)."""
        d = self.grid.dimensions
        found = np.zeros((len(polynomial), d, d))
        for m, (a, b) in enumerate(self._second, 1 + d):
            found[:, a, b] += polynomial[:, m]
            found[:, b, a] += polynomial[:, m]
        return found

    def _index(self, cell: np.ndarray) -> np.ndarray:
        """Places (n, d) of cells along the axes in use [cells]."""
        return np.stack(np.unravel_index(cell, self.grid.padded)[::-1], axis=1)[:, : self.grid.dimensions]

    def _terms(self, place: Array) -> Array:
        """1, x, y, (z), xx, xy, ... of places (..., d), last axis new."""
        second = [place[..., a] * place[..., b] for a, b in self._second]
        return np.stack([np.ones(place.shape[:-1]), *np.moveaxis(place, -1, 0), *second], axis=-1)
