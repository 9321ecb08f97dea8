"""What a solid shape answers for itself; a new shape is one file with a subclass of ``Shape``.

Needed are ``distance``, ``bounds`` and ``surface``. All else follows from them numerically: moments from the triangles
of the surface, collisions, fluids and particles from a grid of the distance. A shape that knows better overrides it:
one with a distance formula of the kernels (``AnalyticShape``), exact moments, or an exact collision entry.

Lengths in metres, in the body frame. In a 2D scene a shape is cut by the x-y plane through its own origin.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from undertow.geometry.collision import CollisionEntry, Frame, field_entry, section_entry
from undertow.geometry.distance import PARAMETERS, TABLE
from undertow.geometry.moments import Moments, integrate_mesh, measure_thickness, planar, uniform
from undertow.geometry.outline import Outline, polygons, slice_loops
from undertow.geometry.sdf_grid import SdfGrid, find_lattice, sample_distance
from undertow.grid import Array

if TYPE_CHECKING:
    from undertow.geometry.meshes import MeshShape
    from undertow.geometry.sheets import Sheet

Triangles = NDArray[np.int64]
Surface = tuple[Array, Triangles]

FINE = 192
"""Segments around of the surface whose moments stand for those of a shape without a formula."""


class Placed(NamedTuple):
    """A shape at a position (3,) [m], turned by rotation (3, 3), in the frame of another."""

    shape: Shape
    position: Array
    rotation: Array


class Shape(ABC):
    """A solid in its body frame."""

    kind: int = TABLE
    """Distance formula of the kernels; TABLE: a grid of the distance, see ``sample``."""
    is_endless: bool = False
    """Without bounds and mass: a half space."""
    is_animated: bool = False
    """Whether it deforms by itself: ``at`` and ``velocity`` depend on time."""
    interior_t: NDArray[np.bool_] | None = None
    """Which triangles of its ``surface`` a fracture has made (m,), of a piece; None: it is none."""

    # geometry ---------------------------------------------------------------------------------------------------------

    @abstractmethod
    def distance(self, points: Array) -> Array:
        """Signed distance (n,) [m] at body-frame points (n, 3), negative inside."""

    @abstractmethod
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper corner (3,) of the bounding box [m]."""

    @abstractmethod
    def surface(self, resolution: int = 48) -> Surface:
        """Vertices (n, 3) and triangles (m, 3), closed and wound outward, ``resolution`` segments around."""

    def parts_of(self) -> Sequence[Placed]:
        """Shapes whose union this is."""
        return [Placed(self, np.zeros(3), np.eye(3))]

    def thickness(self, dimensions: int = 3) -> float:
        """Smallest thickness [m]; solids thinner than two cells are seen badly or not at all by the grid nodes."""
        return measure_thickness(*self.surface())

    def section(self, rotation: Array) -> Outline:
        """Section of the shape, turned by ``rotation`` (3, 3), with the x-y plane through its origin."""
        vertices, triangles = self.surface()
        return polygons(*slice_loops(vertices @ rotation.T, triangles))

    def turning_reach(self) -> float:
        """Largest distance [m] from the origin of a point that turning about the origin moves."""
        lower, upper = self.bounds()
        return float(np.linalg.norm(np.maximum(np.abs(lower), np.abs(upper))))

    # mass -------------------------------------------------------------------------------------------------------------

    def moments(self) -> Moments:
        """Moments of the solid at density 1."""
        return uniform(*integrate_mesh(*self.surface(FINE)))

    def planar_moments(self) -> Moments:
        """Moments at density 1 of the section with the x-y plane, per metre of depth."""
        return planar(*self.section(np.eye(3)).measure())

    def with_density(self, density: float | None) -> Shape:
        """The same shape, of a body of ``density`` [kg/m3], against which densities of its parts count."""
        return self

    def volume(self) -> float:
        """[m^3]"""
        return self.moments().volume

    # in a fluid -------------------------------------------------------------------------------------------------------

    @property
    def parameters(self) -> Array:
        """Parameter row of the distance formula (see ``distance.PARAMETERS``)."""
        return np.zeros(PARAMETERS)

    def planar_parameters(self, rotation: Array) -> Array:
        """Parameter row in a 2D grid, where a body has no ends along z; ``rotation`` (3, 3), body to world."""
        return self.parameters

    def table_spacing(self, dx: float) -> float:
        """Spacing [m] of the ``sample`` that a grid of cells of dx [m] reads."""
        return dx

    def sample(self, t: float, spacing: float, margin: float, flat: bool = False) -> SdfGrid:
        """Grid of the distance with ``margin`` [m] around the shape; sampled at the first call and kept.

        ``flat``: only the layers about the body's x-y plane, all that a 2D grid needs.
        """
        key = (spacing, margin, flat)
        kept: dict[tuple[float, float, bool], SdfGrid] = self.__dict__.get("_sampled", {})
        if key not in kept:
            lower, upper = self.bounds()
            origin, counts = find_lattice(lower, upper, spacing, margin, flat, type(self).__name__.lower())
            values = sample_distance(lambda points: self.distance(points)[None], origin, spacing, counts, margin)
            kept = {key: SdfGrid(origin, spacing, values, lower, upper)}
            # past the guard of frozen dataclasses: what is kept is no part of the value
            self.__dict__["_sampled"] = kept
        return kept[key]

    def boundary_lattice(
        self, spacing: float, dimensions: int, lower: Array | None = None, upper: Array | None = None
    ) -> Array | None:
        """Boundary particles (n, 3) [m] half a ``spacing`` [m] inside, of a shape with an even lattice of them; lower,
        upper (3,) [m]: corners of the part that is wanted, with which memory and time grow."""
        return None

    def at(self, t: float) -> Shape:
        """The shape at time t [s]."""
        return self

    def velocity(self, t: float) -> Array:
        """Velocity of the vertices of the surface, (n, 3) or one (3,) for all [m/s], in the body frame."""
        return np.zeros(3)

    # collisions and pictures ------------------------------------------------------------------------------------------

    def collision_entry(self, frame: Frame, dimensions: int) -> CollisionEntry:
        """How it collides, in the principal frame of its body."""
        return section_entry(self.section(frame.R.T), frame) if dimensions == 2 else self.solid_entry(frame)

    def solid_entry(self, frame: Frame) -> CollisionEntry:
        """How it collides in 3D."""
        return field_entry(self, frame)

    def collision_parts(self, frame: Frame, dimensions: int) -> list[CollisionEntry]:
        """How its parts collide with other bodies, of a shape that has some; then ``collision_entry`` is for particles
        alone."""
        return []

    def identity(self) -> object:
        """Equal for shapes that are the same, to be shared."""
        return self

    def drawn_to(self, extent: float) -> Shape:
        """The same shape; one without end is drawn so far [m]."""
        return self

    # special kinds ----------------------------------------------------------------------------------------------------

    def as_mesh(self) -> MeshShape | None:
        """The closed mesh that it is, if its surface is its triangles and nothing finer."""
        return None

    def as_sheet(self) -> Sheet | None:
        """The thin sheet that it is: it has mass but no inside."""
        return None

    @property
    def is_sheet(self) -> bool:
        return self.as_sheet() is not None

    def overlap(self) -> float:
        """Share of its surface that lies inside itself, where its mass counts twice."""
        return 0.0
