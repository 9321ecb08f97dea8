"""Breaking by signed distances on a grid (thesis 2.4.2, [@schroeder2011]).

The level set of a fragment is the larger of the body's and the region's, its parts are found by flood fill, its mass
properties by sums over cells. Inside, and on its surface, the larger of two distances is a distance or less than one;
outside, at edges, it is too small. So nothing but the surface is taken from it: ``LevelSetShape`` draws the contour and
measures distances from that (the redistancing), when somebody asks for the first time.

Where the thesis is left: a cell counts by the share of it that lies inside, 1/2 - phi / dx between 0 and 1, instead of
by the sign at its centre, and regions that meet in a cell divide what of it lies in the body, so that volumes and
moments are second order and those of all fragments add up to the body's.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from undertow.errors import UserError
from undertow.geometry.collision import CollisionEntry, Frame, field_entry, probe_mesh
from undertow.geometry.fracture_contact import FINEST, find_planes, measure_planes
from undertow.geometry.fracture_patterns import Pattern, PlacedPattern, align_pattern
from undertow.geometry.fragments import Flags, Fragment, FragmentMesh, with_particles
from undertow.geometry.mesh_cuts import check_breakable, extrude_loops
from undertow.geometry.meshes import MeshShape
from undertow.geometry.moments import Moments, principal_axes, uniform
from undertow.geometry.sdf_grid import find_lattice, sample_distance
from undertow.geometry.shape import Shape, Surface
from undertow.grid import Array

PADDING = 2
"""Cells around a body, and around a fragment, in its grid."""

OFF = 1e-3
"""Cells by which the contour stays off the samples at least."""

SEEN = 0.7
"""Share of a body's volume that a level set must see."""

POINTS = 1.0 / 32.0
"""Distance of points on the edges of regions, in the pattern's box."""

SAMPLES = 64
"""Samples along the longest side of a concave region."""


class Lattice(NamedTuple):
    """Samples at ``origin`` (3,) + spacing * (i, j, k) [m], stored (z, y, x)."""

    origin: Array
    spacing: float
    shape: tuple[int, int, int]

    def axis(self, a: int) -> Array:
        """Coordinates [m] along axis a."""
        return self.origin[a] + self.spacing * np.arange(self.shape[2 - a])

    def part(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Lattice:
        """Samples with indices (x, y, z) from ``low`` up to but without ``high``."""
        counts = high - low
        return Lattice(self.origin + self.spacing * low, self.spacing, (int(counts[2]), int(counts[1]), int(counts[0])))


class Sampled(NamedTuple):
    """Signed distance (z, y, x) [m] of a body at a lattice about it, and points (n, 3) [m] on its corners and edges."""

    lattice: Lattice
    values: Array
    points: Array


class Window(NamedTuple):
    """Part of the lattice of a body around a region: indices (x, y, z) from ``low`` up to but without ``high``, the
    region's signed distance there (z, y, x) [m], and points (n, 3) on its corners and edges, in the body's frame."""

    label: int
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    values: Array
    points: Array


class LevelSetShape(Shape):
    """A piece with a level set, in its own frame: centred on its centre of mass, along its principal axes.

    lattice, values (z, y, x) [m]: the larger of two distances, in the frame of the parent's shape, where the piece is
    at ``offset`` (3,) [m] with its axes the columns of ``rotation`` (3, 3); lean (z, y, x) [m]: how much the region's
    distance exceeds the body's, positive where the surface is one of fracture; particles (n, 3) [m]: points on its
    surface, in its own frame; parent: the shape that broke, whose own faces of fracture the piece keeps.
    """

    def __init__(
        self,
        lattice: Lattice,
        values: Array,
        lean: Array,
        offset: Array,
        rotation: Array,
        moments: Moments,
        particles: Array,
        parent: Shape,
    ):
        self.lattice, self.values, self._lean = lattice, values, lean
        self.offset, self.rotation = offset, rotation
        self._moments, self.particles = moments, particles
        self._parent = parent

    @cached_property
    def contour(self) -> FragmentMesh:
        """The closed surface where the level set is zero; drawn at the first call."""
        draw = _draw_section if self.lattice.shape[0] == 1 else _draw_contour
        vertices, triangles = draw(self.lattice, self.values)
        middle = vertices[triangles].mean(axis=1)
        made = _interpolate(self.lattice, self._lean, middle) > 0.0
        before = getattr(self._parent, "interior_t", None)
        if before is not None:
            import igl

            nearest = igl.point_mesh_squared_distance(np.ascontiguousarray(middle), *self._parent.surface())[1]
            made |= before[nearest]
        return FragmentMesh((vertices - self.offset) @ self.rotation, triangles, made, particles=self.particles)

    @property
    def interior_t(self) -> Flags:  # type: ignore[override]
        """Which triangles of the surface are faces of fracture (m,)."""
        return self.contour.interior_t

    def distance(self, points: Array) -> Array:
        """Signed distance (n,) [m] to the contour."""
        return self.contour.distance(points)

    def bounds(self) -> tuple[Array, Array]:
        return self.contour.bounds()

    def surface(self, resolution: int = 48) -> Surface:
        """The contour, whatever the resolution."""
        return self.contour.surface()

    def moments(self) -> Moments:
        return self._moments

    def planar_moments(self) -> Moments:
        return self._moments

    def as_mesh(self) -> MeshShape | None:
        return self.contour

    def solid_entry(self, frame: Frame) -> CollisionEntry:
        """Its particles beside the points of its contour, whose corners are blunt."""
        return with_particles(field_entry(self, frame, FINEST), self.particles, self.contour, frame)


def break_level_set(
    shape: Shape, placed: PlacedPattern, smallest: float, dimensions: int, cells: int
) -> list[Fragment]:
    """Fragments by region, then by volume; smallest: volume [m3; 2D m2] below which they are debris."""
    body = sample_body(shape, cells, dimensions)
    windows = []
    for label, region in enumerate(placed.pattern.regions):
        corners = placed.to_body(region.vertices)
        low, high = _find_window(body.lattice, corners)
        if np.any(high <= low):
            continue
        values = _measure_region(placed, label, body.lattice.part(low, high))
        points = placed.to_body(_region_points(placed.pattern, label))
        windows.append(Window(label, low, high, values, points))
    return _cut(shape, body, windows, smallest)


def break_aligned(shape: Shape, placed: PlacedPattern, smallest: float, dimensions: int, cells: int) -> list[Fragment]:
    """The same on the lattice of the body, on which the pattern is sampled once, at twice the size of the body so that
    it encloses it wherever it is hit (thesis 2.4.2): nothing is interpolated at the event.

    It ignores the normal of the impact, the pattern's axes are those of the body; and it moves the point to the nearest
    sample, by up to half a cell along each axis.
    """
    body = sample_body(shape, cells, dimensions)
    lattice = body.lattice
    last = np.array(lattice.shape[::-1]) - 1
    centre = np.clip(np.round((placed.point - lattice.origin) / lattice.spacing).astype(np.int64), 0, last)
    at = lattice.origin + lattice.spacing * centre
    windows = []
    for sample in _sample_pattern(placed.pattern, lattice.spacing, tuple(last.tolist())):
        low = np.maximum(sample.low + centre, 0)
        high = np.minimum(sample.high + centre, last + 1)
        if np.any(high <= low):
            continue
        (x, y, z), (i, j, k) = low - sample.low - centre, high - sample.low - centre
        windows.append(Window(sample.label, low, high, sample.values[z:k, y:j, x:i], sample.points + at))
    return _cut(shape, body, windows, smallest)


def sample_body(shape: Shape, cells: int, dimensions: int) -> Sampled:
    """Distance of a shape at ``cells`` points along its longest side; sampled at the first call and kept."""
    check_breakable(shape)
    kept: dict[tuple[int, int], Sampled] = shape.__dict__.get("_level_sets", {})
    key = (cells, dimensions)
    if key not in kept:
        lower, upper = shape.bounds()
        d = dimensions
        spacing = float(np.max((upper - lower)[:d])) / cells
        margin = PADDING * spacing
        origin, counts = find_lattice(lower, upper, spacing, margin, dimensions == 2, "fracture")
        if dimensions == 2:
            outline = shape.section(np.eye(3))
            outline = outline._replace(loops=outline.as_loops())
            origin, counts = origin * (1.0, 1.0, 0.0), (1, *counts[1:])
            grid = Lattice(origin, spacing, counts)
            y, x = np.meshgrid(grid.axis(1), grid.axis(0), indexing="ij")
            values = outline.distance(np.column_stack([x.ravel(), y.ravel()])).reshape(counts)
            points = np.concatenate(outline.loops)
        else:
            values = sample_distance(lambda p: shape.distance(p)[None], origin, spacing, counts, margin)[0]
            points = probe_mesh(*shape.surface(), 4.0 * spacing)[:, :3]
        kept = {key: Sampled(Lattice(origin, spacing, counts), values, points)}
        # past the guard of frozen dataclasses: what is kept is no part of the value
        shape.__dict__["_level_sets"] = kept
    return kept[key]


def check_level_set(shape: Shape, dimensions: int, cells: int) -> None:
    """Raise for a shape of which a level set sees less than ``SEEN``."""
    from scipy import ndimage

    grid, values, _ = sample_body(shape, cells, dimensions)
    # as fragments have it: a cell counts beside a sample inside
    near = ndimage.binary_dilation(values < 0.0, structure=np.ones((3, 3, 3)))
    share = np.where(near, np.clip(0.5 - values / grid.spacing, 0.0, 1.0), 0.0)
    seen = float(share.sum()) * grid.spacing**dimensions
    true = (shape.planar_moments() if dimensions == 2 else shape.moments()).volume
    if seen < SEEN * true:
        raise UserError(
            f"fracture: cells of {grid.spacing:.3g} m see {100.0 * seen / true:.3g}% of the body, which is too thin "
            "for them; raise the resolution, or break it by method mesh"
        )


# regions --------------------------------------------------------------------------------------------------------------


def _find_window(lattice: Lattice, corners: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of the samples in the box around points, and of some around it."""
    first = (corners.min(axis=0) - lattice.origin) / lattice.spacing
    last = (corners.max(axis=0) - lattice.origin) / lattice.spacing
    counts = np.array(lattice.shape[::-1])
    low = np.clip(np.floor(first).astype(np.int64) - PADDING, 0, counts)
    return low, np.clip(np.ceil(last).astype(np.int64) + PADDING + 1, 0, counts)


def _measure_region(placed: PlacedPattern, label: int, lattice: Lattice) -> Array:
    """Distance (z, y, x) [m] of a region at a lattice: exact inside of a convex one, whose planes it is; of a concave
    one interpolated from samples in the pattern's box."""
    planes = _region_planes(placed.pattern, label)
    inverse = np.linalg.inv(placed.axes)
    if planes is None:
        z, y, x = np.meshgrid(*(lattice.axis(a) for a in (2, 1, 0)), indexing="ij")
        points = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
        box, values = _sample_region(placed.pattern, label)
        scale = float(np.linalg.norm(placed.axes[:, 0]))
        found = _interpolate(box, values, (points - placed.point) @ inverse.T + placed.pattern.centre)
        return np.asarray(scale * found.reshape(lattice.shape))
    # n . q - d in the box; the gradient of that in the body's frame has the length of n there
    n = planes[:, :3] @ inverse
    d = planes[:, 3] - planes[:, :3] @ placed.pattern.centre + n @ placed.point
    size = np.linalg.norm(n, axis=1)
    n, d = n / size[:, None], d / size
    return measure_planes(np.column_stack([n, d]), [lattice.axis(a) for a in range(3)])


@lru_cache(maxsize=8192)
def _region_planes(pattern: Pattern, label: int) -> Array | None:
    return find_planes(pattern.regions[label])


@lru_cache(maxsize=8192)
def _region_points(pattern: Pattern, label: int) -> Array:
    """Points (n, 3) on corners and edges of a region, in the pattern's box."""
    region = pattern.regions[label]
    return probe_mesh(region.vertices, region.triangles, POINTS)[:, :3]


@lru_cache(maxsize=1024)
def _sample_region(pattern: Pattern, label: int) -> tuple[Lattice, Array]:
    """Distance of a region at a lattice in the pattern's box, beyond it by a share of its size."""
    region = pattern.regions[label]
    lower, upper = region.bounds()
    spacing = float(np.max(upper - lower)) / SAMPLES
    margin = 2.0 * PADDING * spacing
    origin, counts = find_lattice(lower, upper, spacing, margin, False, "fracture")
    values = sample_distance(lambda p: region.distance(p)[None], origin, spacing, counts, margin)[0]
    return Lattice(origin, spacing, counts), values


@lru_cache(maxsize=4)
def _sample_pattern(pattern: Pattern, spacing: float, last: tuple[int, int, int]) -> list[Window]:
    """Windows of all regions about the centre of fracture, for a body of so many cells (x, y, z) of ``spacing`` [m]."""
    reach = spacing * np.array(last)
    placed = align_pattern(pattern, (-reach, reach), np.zeros(3), pattern.normal)
    size = np.array(last)
    whole = Lattice(-reach, spacing, (int(2 * size[2] + 1), int(2 * size[1] + 1), int(2 * size[0] + 1)))
    windows = []
    for label, region in enumerate(pattern.regions):
        low, high = _find_window(whole, placed.to_body(region.vertices))
        values = _measure_region(placed, label, whole.part(low, high))
        windows.append(Window(label, low - size, high - size, values, placed.to_body(_region_points(pattern, label))))
    return windows


# fragments ------------------------------------------------------------------------------------------------------------


def _cut(shape: Shape, body: Sampled, windows: list[Window], smallest: float) -> list[Fragment]:
    """Connected parts of the body in every window, found by flood fill through all 26 neighbours."""
    from scipy import ndimage

    dx = body.lattice.spacing
    held = np.clip(0.5 - body.values / dx, 0.0, 1.0)
    claims = np.zeros(body.lattice.shape)
    parts: list[tuple[Window, tuple[slice, ...], Array, Array, Array, Array]] = []
    for window in windows:
        view = tuple(slice(low, high) for low, high in zip(window.low[::-1], window.high[::-1], strict=True))
        phi = np.maximum(body.values[view], window.values)
        # off the samples, so that the contour has no triangle without area
        phi[np.abs(phi) < OFF * dx] = OFF * dx
        colour, count = ndimage.label(phi < 0.0, structure=np.ones((3, 3, 3)))
        if count == 0:
            continue
        lattice = body.lattice.part(window.low, window.high)
        points = _surface_points(body, window, lattice)
        # samples just outside go with the part beside them, as do points
        near = colour if count == 1 else np.where(colour > 0, colour, ndimage.maximum_filter(colour, size=3))
        at = near[_nearest(lattice, points)]
        lean = window.values - body.values[view]
        for number, box in enumerate(ndimage.find_objects(colour), start=1):
            cut = tuple(slice(max(s.start - PADDING, 0), s.stop + PADDING) for s in box)
            mine = (near[cut] == number) | (count == 1)
            share = np.where(mine, np.clip(0.5 - window.values[cut] / dx, 0.0, 1.0), 0.0)
            place = tuple(
                slice(own.start + c.start, own.start + c.start + n)
                for own, c, n in zip(view, cut, mine.shape, strict=True)
            )
            claims[place] += share
            values = np.where(mine, phi[cut], np.abs(phi[cut]))
            parts.append((window, place, values, share, lean[cut], points if count == 1 else points[at == number]))
    held = np.divide(held, claims, out=np.zeros_like(held), where=claims > 0.0)
    fragments = []
    for window, place, values, share, lean, points in parts:
        lattice = body.lattice.part(*(np.array([getattr(s, end) for s in place[::-1]]) for end in ("start", "stop")))
        fragments.append(_make_piece(shape, lattice, values, share * held[place], lean, points, window.label, smallest))
    return sorted(fragments, key=lambda fragment: (fragment.label, -fragment.volume))


def _surface_points(body: Sampled, window: Window, lattice: Lattice) -> Array:
    """Points (n, 3) [m] of the region inside the body, and of the body inside the region."""
    both = []
    for points, grid, values in (
        (window.points, body.lattice, body.values),
        (body.points, lattice, window.values),
    ):
        lower, upper = grid.origin, grid.origin + grid.spacing * (np.array(grid.shape[::-1]) - 1)
        held = points[np.all((points >= lower) & (points <= upper), axis=1)] if grid.shape[0] > 1 else points[:0]
        both.append(held[_interpolate(grid, values, held) < 0.0])
    return np.concatenate(both)


def _make_piece(
    shape: Shape,
    lattice: Lattice,
    values: Array,
    share: Array,
    lean: Array,
    points: Array,
    label: int,
    smallest: float,
) -> Fragment:
    """A fragment from its level set and the shares of its cells (z, y, x); points (n, 3) [m] on its surface."""
    volume, offset, tensor = sum_moments(lattice, share)
    if lattice.shape[0] == 1:
        moments, axes = np.array([0.0, 0.0, tensor[2, 2]]), np.eye(3)
    else:
        moments, axes = principal_axes(tensor)
    known = uniform(volume, np.zeros(3), np.diag(moments))
    own = LevelSetShape(lattice, values, lean, offset, axes, known, (points - offset) @ axes, shape)
    return Fragment(own, offset, axes, volume, moments, label, volume < smallest)


def sum_moments(lattice: Lattice, share: Array) -> tuple[float, Array, Array]:
    """Volume [m3; of one layer m2], centre (3,) [m] and inertia about it at density 1 (3, 3) [m5; m4] of cells of which
    ``share`` (z, y, x) lies inside: V_f, C_f and I_f of thesis 2.4.2."""
    d = 2 if lattice.shape[0] == 1 else 3
    total = float(share.sum())
    planes = {(2, 1): share.sum(axis=2), (2, 0): share.sum(axis=1), (1, 0): share.sum(axis=0)}
    lines = [planes[1, 0].sum(axis=0), planes[1, 0].sum(axis=1), planes[2, 0].sum(axis=1)]
    axes = [lattice.axis(a) for a in range(3)]
    centre = np.array([line @ axis for line, axis in zip(lines, axes, strict=True)]) / total
    arms = [axis - c for axis, c in zip(axes, centre, strict=True)]
    second = np.diag([float(line @ arm**2) for line, arm in zip(lines, arms, strict=True)])
    for (a, b), plane in planes.items():
        second[a, b] = second[b, a] = float(arms[a] @ plane @ arms[b])
    # what a cell has about its own centre
    second[np.arange(d), np.arange(d)] += total * lattice.spacing**2 / 12.0
    second *= lattice.spacing**d
    return total * lattice.spacing**d, centre, np.trace(second) * np.eye(3) - second


def _nearest(lattice: Lattice, points: Array) -> tuple[NDArray[np.int64], ...]:
    """Indices (z, y, x) of the samples nearest to points (n, 3)."""
    index = np.round((points - lattice.origin) / lattice.spacing).astype(np.int64)
    return tuple(np.clip(index[:, a], 0, lattice.shape[2 - a] - 1) for a in (2, 1, 0))


def _interpolate(lattice: Lattice, values: Array, points: Array) -> Array:
    """Trilinear values (n,) at points (n, 3), beyond the lattice those of its edge."""
    from scipy.ndimage import map_coordinates

    place = ((points - lattice.origin) / lattice.spacing).T[::-1]
    return np.asarray(map_coordinates(values, place, order=1, mode="nearest"))


def _draw_contour(lattice: Lattice, values: Array) -> Surface:
    """Closed surface of the zero contour (Lewiner 2003), in the frame of the lattice."""
    from skimage.measure import marching_cubes

    vertices, triangles, _, _ = marching_cubes(values, 0.0)
    placed = lattice.origin + lattice.spacing * np.asarray(vertices, dtype=np.float64)[:, ::-1]
    return placed, np.ascontiguousarray(triangles[:, ::-1], dtype=np.int64)


def _draw_section(lattice: Lattice, values: Array) -> Surface:
    """Prism over the zero contour of one layer."""
    from skimage.measure import find_contours

    loops = []
    for loop in find_contours(values[0], 0.0, positive_orientation="low"):
        corners = lattice.origin[:2] + lattice.spacing * loop[:-1, ::-1]
        # rows are y: counter-clockwise there is clockwise here
        loops.append(np.column_stack([corners, np.zeros(len(corners))])[::-1])
    return extrude_loops(loops)
