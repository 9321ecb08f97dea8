"""Where the particles of a scene start: on a lattice, out of the way of bodies, and at the density of their depth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import undertow.geometry as geometry
from undertow.errors import UserError
from undertow.grid import Array
from undertow.run import build
from undertow.scene import Scene
from undertow.sph import WALL, ImplicitFluid, SphBox, SphFluid, deepest, move_out, share_inside


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
