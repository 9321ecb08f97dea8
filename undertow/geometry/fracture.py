"""Breaking a shape by a fracture pattern (thesis 2.4.2 and 2.4.4, [@schroeder2011]): the pattern is laid on the body
with its centre where the body is hit, and the fragments are the connected parts of the body's intersections with its
regions.
Two paths. ``mesh``: intersections of closed meshes, exact faces that fit, exact mass properties. ``level_set``: the
larger of two signed distances on a grid, parts found by flood fill, mass properties by sums over cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from undertow.errors import UserError
from undertow.geometry.fracture_patterns import Pattern
from undertow.geometry.meshes import MeshShape
from undertow.geometry.moments import integrate_mesh, principal_axes
from undertow.geometry.shape import Shape
from undertow.grid import Array

Flags = NDArray[np.bool_]

MARGIN = 1.01
"""How much larger than needed a placed pattern is, so that its outer faces cut nothing."""

RESOLUTION = 48
"""Segments around of the mesh of a round body."""


@dataclass(frozen=True, eq=False)
class PlacedPattern:
    """A pattern on a body: its point q is at ``point + axes @ (q - pattern.centre)`` in the frame of the body's shape.

    point (3,): where the body is hit [m]; axes (3, 3): a rotation times lengths of the pattern's box [m], its columns
    at right angles; dimensions: 2 or 3.
    """

    pattern: Pattern
    point: Array
    axes: Array

    def to_body(self, points: Array) -> Array:
        """Points (n, 3) of the pattern's box in the frame of the body's shape [m]."""
        return np.asarray(self.point + (points - self.pattern.centre) @ self.axes.T)


@dataclass(frozen=True, eq=False)
class Fragment:
    """A connected piece of a broken shape.

    shape: centred on its own centre of mass, along its principal axes, with ``interior_t`` (m,), which of the triangles
    of its ``surface`` were inside the body that first broke; offset (3,): its centre of mass in the frame of the
    parent's shape [m]; rotation (3, 3): its principal axes there, as columns; volume [m3; 2D m2]; inertia (3,):
    principal moments at density 1 [m5; 2D (0, 0, about z) m4]; label: of the region; is_debris: smaller than asked.
    """

    shape: FragmentMesh
    offset: Array
    rotation: Array
    volume: float
    inertia: Array
    label: int
    is_debris: bool

    @property
    def interior_t(self) -> Flags:
        """Which triangles of the surface are faces of fracture (m,)."""
        return self.shape.interior_t

    def to_parent(self, points: Array) -> Array:
        """Points (n, 3) of its own frame in the frame of the parent's shape [m]."""
        return np.asarray(self.offset + points @ self.rotation.T)


class FragmentMesh(MeshShape):
    """A piece with a closed mesh; interior_t (m,): triangles that a fracture has made."""

    def __init__(self, vertices: object, triangles: object, interior_t: object, name: str = "fragment"):
        super().__init__(vertices, triangles, name)
        self.interior_t: Flags = np.asarray(interior_t, dtype=bool)


def align_pattern(
    pattern: Pattern, bounds: tuple[Array, Array], point: object, normal: object
) -> PlacedPattern:
    """The pattern with its centre at ``point`` (3,) [m] and its normal along ``normal`` (3,), scaled evenly so that it
    encloses ``bounds``, lower and upper corner (3,) [m]; all in the frame of the body's shape.

    Its up direction is laid as near to the y axis (3D; to -z where the normal is the y axis) as the normal lets it.
    """
    point, normal = np.array(point, dtype=float), np.array(normal, dtype=float)
    lower, upper = (np.asarray(end, dtype=float) for end in bounds)
    if point.shape != (3,) or not np.all(np.isfinite(point)):
        raise UserError(f"fracture: point = {point.tolist()}: must be three finite lengths [m]")
    flat = pattern.dimensions == 2
    if flat and normal.shape == (3,):
        normal[2] = 0.0
    length = float(np.linalg.norm(normal))
    if normal.shape != (3,) or not (np.isfinite(length) and length > 0.0):
        raise UserError(f"fracture: normal = {normal.tolist()}: must be a direction, three numbers that are not all 0")
    normal = normal / length
    rotation = _frame(normal, flat) @ np.column_stack(
        [np.cross(pattern.up, pattern.normal), pattern.up, pattern.normal]
    ).T  # fmt: skip
    corners = np.stack(np.meshgrid(*zip(lower, upper, strict=True), indexing="ij"), axis=-1).reshape(-1, 3)
    reach = (corners - point) @ rotation
    # in units of the box, how far it reaches from the centre of fracture
    low, high = pattern.centre, pattern.size - pattern.centre
    needed = MARGIN * np.maximum(reach.max(axis=0) / high, -reach.min(axis=0) / low)
    d = pattern.dimensions
    scale = np.full(3, max(float(needed[:d].max()), np.finfo(float).tiny))
    if flat:
        point = point * (1.0, 1.0, 0.0)
        scale[2] = 4.0 * max(float(np.max(upper - lower)), float(np.abs([lower[2], upper[2]]).max()))
    return PlacedPattern(pattern, point, rotation * scale)


def _frame(normal: Array, flat: bool) -> Array:
    """Rotation whose columns are side, up and normal."""
    up = np.array([0.0, 1.0, 0.0])
    if flat:
        up = np.array([-normal[1], normal[0], 0.0])
    elif abs(normal[1]) > 1.0 - 1e-6:
        up = np.array([0.0, 0.0, -1.0])
    up = up - (up @ normal) * normal
    up = up / np.linalg.norm(up)
    return np.column_stack([np.cross(up, normal), up, normal])


def break_shape(
    shape: Shape, placed: PlacedPattern, method: str = "mesh", smallest: float = 0.0, dimensions: int = 3
) -> list[Fragment]:
    """Fragments of a shape, by region, then by volume, largest first.

    method: ``mesh`` or ``level_set``; smallest [m]: a piece with less volume than its cube (2D: area than its square)
    is debris.
    """
    if method not in METHODS:
        raise UserError(f"fracture: method {method!r}: there is no such method; choose one of {', '.join(METHODS)}")
    if not (np.isfinite(smallest) and smallest >= 0.0):
        raise UserError(f"fracture: smallest = {smallest}: must be a length [m], 0 or more")
    if placed.pattern.dimensions != dimensions:
        raise UserError(
            f"fracture: a pattern of {placed.pattern.dimensions} dimensions in a scene of {dimensions}; make it with "
            f"dimensions = {dimensions}"
        )
    return METHODS[method](shape, placed, smallest**dimensions, dimensions)


# intersections of meshes ----------------------------------------------------------------------------------------------


def _break_mesh(shape: Shape, placed: PlacedPattern, smallest: float, dimensions: int) -> list[Fragment]:
    vertices, triangles, interior, depth = _find_body(shape, dimensions)
    fragments = []
    for label, region in enumerate(placed.pattern.regions):
        planes = find_planes(region)
        if planes is None:
            raise UserError(
                f"fracture: region {label} of pattern {placed.pattern.name} is not convex; use one whose regions are"
            )
        n = planes[:, :3] @ np.linalg.inv(placed.axes)
        d = planes[:, 3] + n @ placed.point - planes[:, :3] @ placed.pattern.centre
        size = np.linalg.norm(n, axis=1)
        found = clip_convex(vertices, triangles, interior, np.column_stack([n / size[:, None], d / size]))
        parts = [] if found is None else [make_fragment(*found, label, depth, smallest)]
        fragments += sorted(parts, key=lambda part: -part.volume)
    return fragments


def _find_body(shape: Shape, dimensions: int) -> tuple[Array, Any, Flags, float | None]:
    """Vertices, triangles, which of them a fracture has made, and in 2D the depth [m] of the prism that stands for the
    section of a shape."""
    vertices, triangles = shape.surface(RESOLUTION)
    interior = getattr(shape, "interior_t", np.zeros(len(triangles), dtype=bool))
    return vertices, triangles, interior, float(np.ptp(vertices[:, 2])) if dimensions == 2 else None


def make_fragment(
    vertices: Array, triangles: Any, interior: Flags, label: int, depth: float | None, smallest: float
) -> Fragment:
    """A piece (n, 3), (m, 3) given in the frame of the parent, in its own; depth [m]: of a prism in 2D."""
    volume, centre, tensor = integrate_mesh(vertices, triangles)
    if depth is None:
        moments, axes = principal_axes(tensor)
    else:
        volume, axes = volume / depth, np.eye(3)
        centre = centre * (1.0, 1.0, 0.0)
        arm = integrate_mesh(vertices, triangles)[2]
        moments = np.array([0.0, 0.0, arm[2, 2] / depth])
    own = FragmentMesh((vertices - centre) @ axes, triangles, interior)
    return Fragment(own, centre, axes, volume, moments, label, volume < smallest)


def find_planes(mesh: MeshShape) -> Array | None:
    """Planes (f, 4), n . x <= d inside, of a convex mesh; None of one that is not."""
    a, b, c = (mesh.vertices[mesh.triangles[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    area = np.linalg.norm(normals, axis=1)
    size = float(np.max(np.ptp(mesh.vertices, axis=0)))
    solid = area > 1e-9 * size * size
    normals = normals[solid] / area[solid, None]
    offsets = np.einsum("ij,ij->i", normals, a[solid])
    if np.max(mesh.vertices @ normals.T - offsets) > 1e-9 * size:
        return None
    planes: list[Array] = []
    for n, d in zip(normals, offsets, strict=True):
        if not any(n @ p[:3] > 1.0 - 1e-12 and abs(d - p[3]) < 1e-9 * size for p in planes):
            planes.append(np.array([*n, d]))
    return np.array(planes)


def clip_convex(
    vertices: Array, triangles: Any, interior: Flags, planes: Array
) -> tuple[Array, Any, Flags] | None:
    """What of a convex closed mesh lies in n . x <= d of every plane (f, 4), triangulated; None if nothing does."""
    points = [np.asarray(v, dtype=float) for v in vertices]
    faces = [(list(map(int, t)), bool(made)) for t, made in zip(triangles, interior, strict=True)]
    slack = 1e-13 * float(np.max(np.ptp(vertices, axis=0)))
    for plane in planes:
        height = np.array(points) @ plane[:3] - plane[3]
        height[np.abs(height) < slack] = 0.0
        used = sorted({i for loop, _ in faces for i in loop})
        if height[used].max() <= 0.0:
            continue
        if height[used].min() >= 0.0:
            return None
        cuts: dict[tuple[int, int], int] = {}
        following: dict[int, int] = {}
        kept = []
        for loop, made in faces:
            new: list[int] = []
            ends: list[int] = []
            for i, j in zip(loop, loop[1:] + loop[:1], strict=True):
                if height[i] <= 0.0:
                    new.append(i)
                if height[i] * height[j] < 0.0:
                    key = (min(i, j), max(i, j))
                    if key not in cuts:
                        p, q = key
                        part = height[p] / (height[p] - height[q])
                        cuts[key] = len(points)
                        points.append(points[p] + part * (points[q] - points[p]))
                    new.append(cuts[key])
            on = [i for i in new if i >= len(height) or height[i] == 0.0]
            if len(new) >= 3 and any(i < len(height) and height[i] < 0.0 for i in new):
                kept.append((new, made))
                for i, j in zip(new, new[1:] + new[:1], strict=True):
                    if i in on and j in on:
                        ends = [i, j]
                if ends and any(height[i] > 0.0 for i in loop):
                    following[ends[1]] = ends[0]
                elif ends:
                    following.setdefault(ends[1], ends[0])
        first = i = next(iter(following))
        cap = []
        while True:
            cap.append(i)
            i = following[i]
            if i == first:
                break
        faces = [*kept, (cap, True)]
    out, flags = [], []
    for loop, made in faces:
        for k in range(1, len(loop) - 1):
            out.append([loop[0], loop[k], loop[k + 1]])
            flags.append(made)
    used_ids, number = np.unique(np.array(out), return_inverse=True)
    return np.array(points)[used_ids], number.reshape(-1, 3), np.array(flags)


METHODS: dict[str, Any] = {"mesh": _break_mesh}
"""How a shape is cut, by name."""


# conservation ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Shares:
    """What fragments take over: mass_b (n,) [kg; 2D kg/m], velocity_b, angular_velocity_b (n, 3) [m/s], [rad/s], in the
    frame of the parent's shape."""

    mass_b: Array
    velocity_b: Array
    angular_velocity_b: Array


def conserve(
    mass: float, centre: object, momentum: object, angular_momentum: object, fragments: Sequence[Fragment]
) -> Shares:
    """Masses and velocities of fragments of a body, whose sums are its mass [kg; 2D kg/m], momentum (3,) [kg m/s] and
    angular momentum (3,) about its ``centre`` of mass (3,) [m]; all in the frame of the parent's shape.

    Masses are shares of the volume. All fragments move with one twist, found from the six sums: v_f = v + omega x r_f
    and omega_f = omega (thesis 2.4.2), where v and omega are the parent's if the fragments fill it exactly.
    """
    volume = np.array([f.volume for f in fragments])
    mass_b = mass * volume / volume.sum()
    arm = np.array([f.offset for f in fragments]) - np.asarray(centre, dtype=float)
    tensors = np.array([
        f.rotation @ np.diag(f.inertia * m / f.volume) @ f.rotation.T for f, m in zip(fragments, mass_b, strict=True)
    ])  # fmt: skip
    wanted = np.concatenate([np.asarray(momentum, dtype=float), np.asarray(angular_momentum, dtype=float)])
    basis = np.eye(6)
    columns = [_sum_momentum(mass_b, arm, tensors, unit[:3], unit[3:]) for unit in basis]
    matrix = np.column_stack(columns)
    twist = np.linalg.lstsq(matrix, wanted, rcond=1e-14)[0]
    v, omega = twist[:3], twist[3:]
    return Shares(mass_b, v + np.cross(omega, arm), np.broadcast_to(omega, arm.shape).copy())


def _sum_momentum(mass_b: Array, arm: Array, tensors: Array, v: Array, omega: Array) -> Array:
    """Momentum and angular momentum (6,) of fragments that move with one twist."""
    momentum = mass_b[:, None] * (v + np.cross(omega, arm))
    return np.concatenate([momentum.sum(axis=0), (np.cross(arm, momentum) + tensors @ omega).sum(axis=0)])
