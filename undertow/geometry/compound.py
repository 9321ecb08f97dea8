"""Several shapes in one body.

The body is the union of its parts: its distance is that of the nearest part, exact outside and on the surface. Parts
may overlap: what they share counts once, for volume and mass alike, with the density of the part that comes first.
Moments are sums of those of the parts, exact where the parts give exact ones; from them the moments of what is shared
are taken off, which are integrated on a lattice of ``LATTICE`` cells along its longest side (an error of about 1e-4 of
what is shared).

For contact with rigid and soft bodies each part is an entry of its own; particles see one field, the distance of the
union on a grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from undertow.errors import UserError
from undertow.geometry.collision import CollisionEntry, Frame
from undertow.geometry.moments import Moments, shifted
from undertow.geometry.motion import quaternion_of_matrix
from undertow.geometry.outline import Outline, polygons
from undertow.geometry.shape import Placed, Shape, Surface
from undertow.grid import Array

LATTICE = 96


class Part(NamedTuple):
    """A shape at a position (3,) [m] turned by rotation (3, 3) in the frame of the body; density [kg/m3], or None: that
    of the body."""

    shape: Shape
    position: Array
    rotation: Array
    density: float | None = None

    def local(self, points: Array) -> Array:
        """Points (n, 3) of the frame of the body in that of the part."""
        return np.asarray((points - self.position) @ self.rotation)

    def bounds(self) -> tuple[Array, Array]:
        """Box (3,), (3,) [m] in the frame of the body."""
        lower, upper = self.shape.bounds()
        centre = self.position + self.rotation @ (0.5 * (lower + upper))
        half = np.abs(self.rotation) @ (0.5 * (upper - lower))
        return centre - half, centre + half


class Compound(Shape):
    """The union of parts; ``reference`` [kg/m3]: density of the body, the unit of those of its parts."""

    def __init__(self, parts: Sequence[Part], reference: float = 1.0) -> None:
        if not parts:
            raise UserError("compound: has no parts; give one or more")
        for part in parts:
            if part.shape.is_endless or part.shape.is_animated or part.shape.is_sheet:
                kind = type(part.shape).__name__.lower()
                raise UserError(f"compound: a {kind} cannot be a part; use solids that keep their shape")
        self.parts, self.reference = tuple(parts), reference

    def with_density(self, density: float | None) -> Shape:
        return Compound(self.parts, 1.0 if density is None else density)

    def distance(self, points: Array) -> Array:
        return np.min([part.shape.distance(part.local(points)) for part in self.parts], axis=0)

    def parts_of(self) -> list[Placed]:
        return [
            Placed(one.shape, part.position + part.rotation @ one.position, part.rotation @ one.rotation)
            for part in self.parts
            for one in part.shape.parts_of()
        ]

    def bounds(self) -> tuple[Array, Array]:
        lower, upper = zip(*(part.bounds() for part in self.parts), strict=True)
        return np.min(lower, axis=0), np.max(upper, axis=0)

    def surface(self, resolution: int = 48) -> Surface:
        """The surfaces of all parts, those inside others too."""
        vertices, triangles, count = [], [], 0
        for part in self.parts:
            own, corners = part.shape.surface(resolution)
            vertices.append(own @ part.rotation.T + part.position)
            triangles.append(corners + count)
            count += len(own)
        return np.concatenate(vertices), np.concatenate(triangles)

    def thickness(self, dimensions: int = 3) -> float:
        return min(part.shape.thickness(dimensions) for part in self.parts)

    def section(self, rotation: Array) -> Outline:
        """The sections of all parts, those inside others too."""
        loops = []
        for part in self.parts:
            place = (rotation @ part.position) * np.array([1.0, 1.0, 0.0])
            loops += [loop + place for loop in part.shape.section(rotation @ part.rotation).as_loops()]
        return polygons(*loops)

    def moments(self) -> Moments:
        return self._sum([part.shape.moments() for part in self.parts], 3)

    def planar_moments(self) -> Moments:
        # the section of a part that is turned about z is turned with it
        return self._sum([part.shape.planar_moments() for part in self.parts], 2)

    def _sum(self, found: list[Moments], dimensions: int) -> Moments:
        """Moments of the parts (each in its own frame) put together, without what they share."""
        volume, middle, pieces = 0.0, np.zeros(3), []
        for n, (part, own) in enumerate(zip(self.parts, found, strict=True)):
            weight = 1.0 if part.density is None else part.density / self.reference
            tensor = part.rotation @ own.inertia @ part.rotation.T
            place = part.position + part.rotation @ own.centre
            pieces.append((weight * own.mass, place, weight * tensor))
            shared = self._shared(n, dimensions)
            volume, middle = volume + own.volume, middle + own.volume * place
            if shared is not None:
                volume, middle = volume - shared.volume, middle - shared.volume * shared.centre
                pieces.append((-weight * shared.mass, shared.centre, -weight * shared.inertia))
        mass = sum(m for m, _, _ in pieces)
        centre = np.sum([m * c for m, c, _ in pieces], axis=0) / mass
        inertia = np.sum([tensor + shifted(m, c - centre, dimensions) for m, c, tensor in pieces], axis=0)
        return Moments(volume, mass, centre, inertia, middle / volume)

    def _shared(self, n: int, dimensions: int) -> Moments | None:
        """Moments at density 1 of what part n shares with those before it; None: nothing."""
        if n == 0:
            return None
        lower, upper = self.parts[n].bounds()
        before = [np.array(b) for b in zip(*(part.bounds() for part in self.parts[:n]), strict=True)]
        near = np.all((before[0] < upper) & (before[1] > lower), axis=1)
        if not near.any():
            return None
        lower = np.maximum(lower, before[0][near].min(axis=0))[:dimensions]
        upper = np.minimum(upper, before[1][near].max(axis=0))[:dimensions]
        h = float((upper - lower).max()) / LATTICE
        counts = np.ceil((upper - lower) / h).astype(int)
        start = 0.5 * (lower + upper) - 0.5 * (counts - 1) * h
        axes = [start[a] + h * np.arange(counts[a]) for a in range(dimensions)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, dimensions)
        points = np.column_stack([points, np.zeros((len(points), 3 - dimensions))])
        others = [self.parts[k] for k in np.flatnonzero(near)]
        inside = np.min([other.shape.distance(other.local(points)) for other in others], axis=0)
        depth = np.maximum(inside, self.parts[n].shape.distance(self.parts[n].local(points)))
        part = h**dimensions * np.clip(0.5 - depth / h, 0.0, 1.0)
        volume = float(part.sum())
        if not np.any(depth < -0.5 * h):
            # parts that touch share no more than the rounding of the lattice
            return None
        centre = part @ points / volume
        arm = points - centre
        own = volume * h * h / 12.0 * (np.arange(3) < dimensions)
        second = np.einsum("n,ni,nj->ij", part, arm, arm) + np.diag(own)
        if dimensions == 2:
            return Moments(volume, volume, centre, np.diag([0.0, 0.0, float(np.trace(second))]))
        return Moments(volume, volume, centre, np.trace(second) * np.eye(3) - second)

    def collision_parts(self, frame: Frame, dimensions: int) -> list[CollisionEntry]:
        return [part.shape.collision_entry(_frame_in(part, frame), dimensions) for part in self.parts]

    def identity(self) -> object:
        own = [(p.shape.identity(), p.position.tobytes(), p.rotation.tobytes(), p.density) for p in self.parts]
        return (tuple(own), self.reference)


def _frame_in(part: Part, frame: Frame) -> Frame:
    """A frame of the body in that of a part."""
    R = part.rotation.T @ frame.R
    return Frame(part.rotation.T @ (frame.centre - part.position), R, quaternion_of_matrix(R))
