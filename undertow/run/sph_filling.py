"""Where the particles of a scene start: on a lattice, out of the way of bodies, and at the density of their depth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any

import numpy as np

import undertow.geometry as geometry
from undertow.errors import UserError
from undertow.grid import Array, Grid
from undertow.run import build
from undertow.scene import MeshSequence, Scene, Static
from undertow.sph import (
    WALL,
    ImplicitFluid,
    SphBox,
    SphFluid,
    deepest,
    move_out,
    sample_box,
    sample_surface,
    share_inside,
)


@dataclass(frozen=True)
class Filling:
    """Where particles start.

    lattice, places (n, 3) [m]: of the domain, and moved out of the way of bodies; regions: rows (n,) and velocity (3,)
    [m/s] of every fluid; crowded: particles have been moved; full: no place is free but those of bodies; notes: what
    has been cleared.
    """

    lattice: Array
    places: Array
    regions: list[tuple[Any, Array]]
    crowded: bool
    full: bool
    notes: list[str]


def make_solid(name: str, item: Any) -> geometry.Solid:
    """The shape of an object with its motion."""
    return geometry.Solid(name, build.make_shape(name, item), build.make_motion(item))


MARGIN = 3.0
"""Spacings beyond the domain within which bodies that rest have boundary particles: no kernel reaches farther."""

MOST_BOUNDARY = 5_000_000
"""Boundary particles of a body that moves, which has them all; some 2 GB with their neighbours."""

MOST_NODES = 200_000_000
"""Nodes at which the distance of a body is kept while its surface is found; 2 GB."""


def sample_body(scene: Scene, name: str, solid: geometry.Solid, grid: Grid) -> Array:
    """Boundary particles of a body of the scene with the shape ``solid`` at t = 0 (n, 3) [m].

    A body that rests has them in the domain and ``MARGIN`` around it, however large it is; one that moves has them all,
    since any of them may come into the domain later.
    """
    body, resolution = scene.bodies[name], scene.need_domain().resolution
    rests = isinstance(body.motion, Static) and not body.is_dynamic and not isinstance(body.shape, MeshSequence)
    dx, dimensions = grid.dx, grid.dimensions
    thickness = solid.thickness(dimensions)
    if thickness < (1.0 - 1e-3) * dx:
        raise UserError(
            f"objects.{name}: {thickness:.3g} m thick, less than one particle ({dx:.3g} m), which cannot feel it; make "
            f"it thicker, or raise domain.resolution to {ceil(resolution * dx / thickness)}"
        )
    lower, upper = (np.array(corner) for corner in (grid.lower, grid.upper))
    first, last = lower - MARGIN * dx, upper + MARGIN * dx
    low, high = solid.bounds(0.0)
    if not rests and np.isfinite([low, high]).all():
        _check_size(name, (high - low)[:dimensions], dx)
        first, last = np.minimum(first, low - dx), np.maximum(last, high + dx)
    position, rotation = solid.motion.pose(0.0)
    if isinstance(solid.shape, geometry.Box) and (dimensions == 3 or abs(rotation[2, 2]) > 1.0 - 1e-9):
        corners = np.stack(np.meshgrid(*zip(first, last, strict=True), indexing="ij"), axis=-1).reshape(-1, 3)
        seen = (corners - position) @ rotation
        points = sample_box(np.array(solid.shape.size), dx, dimensions, seen.min(axis=0), seen.max(axis=0))
        points = points @ rotation.T + position
        return np.asarray(points[((points >= first) & (points <= last))[:, :dimensions].all(axis=1)])
    meshed = dimensions == 3 and isinstance(solid.shape, geometry.MeshShape | geometry.AnimatedMesh)
    nearest = partial(solid.nearest, t=0.0) if meshed else None
    distance = partial(solid.distance, t=0.0, dimensions=dimensions)
    return sample_surface(distance, np.maximum(low, first), np.minimum(high, last), dx, dimensions, nearest)


def _check_size(name: str, size: Array, dx: float) -> None:
    """UserError when a box of the size (2,) or (3,) [m] has too many boundary particles, or too many nodes."""
    count = size / dx
    faces = 2.0 * float(count.sum() if len(size) == 2 else (count * np.roll(count, 1)).sum())
    nodes = float(np.prod((4.0 if len(size) == 2 else 2.0) * count))
    if faces > MOST_BOUNDARY or nodes > MOST_NODES:
        raise UserError(
            f"objects.{name}: moves and is {size.max():.3g} m long, which takes up to {faces:.2g} boundary particles "
            f"{dx:.3g} m apart; make it smaller, lower domain.resolution, or let it rest: one that rests ends at the "
            f"domain"
        )


def fill(scene: Scene, box: SphBox, solids: Mapping[str, geometry.Solid]) -> Filling:
    """Particles of the fluids on the lattice of the domain; where shapes overlap the first counts.

    solids: shapes of the objects, by name.
    """
    lattice = box.lattice()
    taken = np.zeros(len(lattice), dtype=bool)
    regions: list[tuple[Any, Array]] = []
    notes: list[str] = []
    for name, item in scene.sph_fluids.items():
        depth = _distance_near(solids[name], box)(lattice)
        inside = (depth <= 1e-9 * box.spacing) & ~taken
        if not inside.any():
            raise UserError(
                f"objects.{name}: holds no particle of {box.spacing:g} m; make it larger, move it into the domain, or "
                f"raise the resolution"
            )
        taken |= inside
        regions.append((inside, np.array(build.vector3(item.velocity))))
    left, near, bodies = _clear([solids[name] for name in scene.bodies], box, lattice, taken, notes)
    crowded = np.flatnonzero(left & near)
    places = lattice.copy()
    places[crowded], room = move_out(lattice[crowded], bodies, 0.5 * box.spacing, *box.room())
    left[crowded[~room]] = False
    if not room.all():
        count = int(np.count_nonzero(~room))
        notes.append(f"objects: {count} particles of fluid that found no room between solids have been cleared")
    if not left.any():
        raise UserError("objects: solids take the place of all particles; move them or the fluid")
    regions = [(inside & left, velocity) for inside, velocity in regions]
    return Filling(lattice, places, regions, bool(room.any()), bool((taken | near).all()), notes)


def _distance_near(solid: geometry.Solid, box: SphBox) -> Callable[[Array], Array]:
    """Signed distance [m] of a solid at the start; two spacings wherever it is at least as far away as that."""
    beyond = 2.0 * box.spacing
    lower, upper = (np.asarray(corner)[: box.dimensions] for corner in solid.bounds(0.0))

    def distance(points: Array) -> Array:
        found, flat = np.full(len(points), beyond), points[:, : box.dimensions]
        rows = np.flatnonzero(((flat > lower - beyond) & (flat < upper + beyond)).all(axis=1))
        found[rows] = solid.distance(points[rows], 0.0, box.dimensions)
        return found

    return distance


def _clear(
    solids: list[geometry.Solid], box: SphBox, lattice: Array, taken: Any, notes: list[str]
) -> tuple[Any, Any, list[Any]]:
    """Every body clears as many places as its volume in the fluid holds, and the notes say so.

    Places where fluid is left (n,), places nearer to a body than the radius of a particle (n,), and the signed
    distances of the bodies in the fluid.
    """
    dx, left, near = box.spacing, taken.copy(), np.zeros(len(lattice), dtype=bool)
    shares, bodies = np.zeros(len(lattice)), []
    for solid in solids:
        distance = _distance_near(solid, box)
        depth = distance(lattice)
        near |= depth < (0.5 - 1e-6) * dx
        rows = np.flatnonzero(taken & (depth < dx))
        if len(rows) == 0:
            continue
        bodies.append(distance)
        # bodies that share a cell displace no more than the cell
        share = np.minimum(share_inside(distance, depth[rows], lattice[rows], dx, box.dimensions), 1.0 - shares[rows])
        shares[rows] += share
        rows = rows[left[rows]]
        gone = rows[deepest(depth[rows], round(float(share.sum())), dx)]
        left[gone] = False
        if len(gone):
            notes.append(f"objects.{solid.name}: {len(gone)} particles of fluid in its place have been cleared")
    return left, near, bodies


def compression(fluid: SphFluid, position: Array) -> Array:
    """Way (n, 3) [m] of particles to the density of their depth below the highest: a tank then starts at rest.

    rho / rho0 = 1 + g depth / c^2 to first order in Tait's equation (6); what stands on the floor stays there.
    """
    size = float(np.linalg.norm(fluid.gravity))
    axis = int(np.argmax(np.abs(fluid.gravity)))
    # only a wall below holds a fluid up
    held = fluid.box.kind[2 * axis + (1 if fluid.gravity[axis] > 0 else 0)] == WALL
    if size == 0.0 or not held or len(position) == 0 or isinstance(fluid, ImplicitFluid):
        return np.zeros_like(position)
    down = fluid.gravity / size
    level = position @ down
    top, bottom = float(level.min()) - fluid.radius, float(level.max()) + fluid.radius
    # a column of the height z above the floor is shorter by the integral of g depth / c^2 over z
    above = bottom - level
    shorter = size / fluid.sound_speed**2 * (above * (bottom - top) - 0.5 * above**2)
    return np.asarray(shorter[:, None] * down)
