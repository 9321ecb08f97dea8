"""How an SPH fluid starts: on a lattice, out of the way of bodies, at the density of its depth, and with a speed of
sound for what moves in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.geometry import Curve, Solid
from undertow.grid import Array
from undertow.sph.filling import deepest, move_out, share_inside
from undertow.sph.fluid import SphFluid
from undertow.sph.implicit import ImplicitFluid
from undertow.sph.sides import WALL, SphBox

MACH = 10.0
"""Sound speed over the fastest motion: the density then varies by about one percent."""

LEAST_MACH = 3.0
"""Below this the fluid is compressed by more than a tenth."""


@dataclass(frozen=True)
class Filling:
    """Where particles start.

    lattice, places (n, 3) [m]: of the domain, and moved out of the way of bodies; regions: rows (n,) and velocities
    (m, 3) [m/s] of every fluid; crowded: particles have been moved; full: no place is free but those of bodies; notes:
    what has been cleared.
    """

    lattice: Array
    places: Array
    regions: list[tuple[Any, Array]]
    crowded: bool
    full: bool
    notes: list[str]


def fill(box: SphBox, fluids: Sequence[tuple[Solid, Any]], solids: Sequence[Solid]) -> Filling:
    """Particles of fluids, each a shape with its velocity at places (n, 3) [m/s], on the lattice of the domain, around
    solids; where shapes overlap the first counts."""
    lattice = box.lattice()
    taken = np.zeros(len(lattice), dtype=bool)
    regions: list[tuple[Any, Array]] = []
    notes: list[str] = []
    for fluid, velocity in fluids:
        depth = _distance_near(fluid, box)(lattice)
        inside = (depth <= 1e-9 * box.spacing) & ~taken
        if not inside.any():
            raise UserError(
                f"objects.{fluid.name}: holds no particle of {box.spacing:g} m; make it larger, move it into the "
                f"domain, or raise the resolution"
            )
        taken |= inside
        regions.append((inside, np.array(velocity(lattice))))
    left, near, bodies = _clear(solids, box, lattice, taken, notes)
    crowded = np.flatnonzero(left & near)
    places = lattice.copy()
    places[crowded], room = move_out(lattice[crowded], bodies, 0.5 * box.spacing, *box.room())
    left[crowded[~room]] = False
    if not room.all():
        count = int(np.count_nonzero(~room))
        notes.append(f"objects: {count} particles of fluid that found no room between solids have been cleared")
    if not left.any():
        raise UserError("objects: solids take the place of all particles; move them or the fluid")
    regions = [(inside & left, velocity[inside & left]) for inside, velocity in regions]
    return Filling(lattice, places, regions, bool(room.any()), bool((taken | near).all()), notes)


def _distance_near(solid: Solid, box: SphBox) -> Callable[[Array], Array]:
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
    solids: Sequence[Solid], box: SphBox, lattice: Array, taken: Any, notes: list[str]
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


def add_filling(fluid: SphFluid, filling: Filling) -> None:
    """Add the particles of a filling to a fluid, at the density of their depth."""
    for rows, velocity in filling.regions:
        fluid.add_fluid(filling.places[rows] + _compression(fluid, filling.lattice[rows]), velocity)


def _compression(fluid: SphFluid, position: Array) -> Array:
    """Displacement (n, 3) [m] of particles to the density of their depth below the highest: a tank then starts at rest.

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


# the fastest motion and the speed of sound --------------------------------------------------------------------------


@dataclass(frozen=True)
class Moving:
    """Something that moves: its shape, and velocity and angular velocity (3,) [m/s], [rad/s] at the start; prescribed:
    they are those of the shape's motion at all times. falls: gravity moves it."""

    solid: Solid
    velocity: Any = (0.0, 0.0, 0.0)
    angular_velocity: Any = (0.0, 0.0, 0.0)
    prescribed: bool = False
    falls: bool = True


def fastest_motion(
    box: SphBox, things: Sequence[Moving], sides: Mapping[int, Curve], gravity: Any, times: Sequence[float]
) -> float:
    """Estimate of the fastest motion of a run [m/s]: of things and sides as they are given, at times [s] where it is
    over time, and falling from the highest to the floor."""
    fastest = max((_speed_of(thing, box, times) for thing in things), default=0.0)
    fastest = max(fastest, float(np.linalg.norm(box.velocity, axis=1).max()))
    for curve in sides.values():
        fastest = max([fastest, *(float(np.linalg.norm(curve.value(t))) for t in times)])
    g = np.array(gravity)
    size = float(np.linalg.norm(g))
    if size == 0:
        return fastest
    down = g / size
    floor = float(down @ np.where(down > 0, box.upper, box.lower))
    drops = []
    for thing in things:
        if thing.falls:
            lower, upper = thing.solid.bounds(0.0)
            top = np.where(down > 0, np.maximum(lower, box.lower), np.minimum(upper, box.upper))
            drops.append(floor - float(down @ np.where(down == 0, 0.0, top)))
    # v^2 = v0^2 + 2 g H of what falls without resistance
    return math.sqrt(fastest**2 + 2.0 * size * max([0.0, *drops]))


def _speed_of(thing: Moving, box: SphBox, times: Sequence[float]) -> float:
    """Largest speed [m/s] of a point of something that moves."""
    solid = thing.solid
    place, (lower, upper) = solid.motion.pose(0.0)[0], solid.bounds(0.0)
    twists = [(np.asarray(thing.velocity), np.asarray(thing.angular_velocity))]
    if thing.prescribed:
        twists = [solid.motion.velocity(t) for t in times]
    if not any(np.any(omega) for _, omega in twists):
        return max(float(np.linalg.norm(v)) for v, _ in twists)
    # a plane that turns has no end: what counts is in the domain
    away = np.maximum(np.minimum(upper, box.upper) - place, place - np.maximum(lower, box.lower))
    reach = float(np.linalg.norm(away[: box.dimensions]))
    return max(float(np.linalg.norm(v)) + reach * float(np.linalg.norm(omega)) for v, omega in twists)


def choose_sound_speed(
    chosen: float | None, speed: float, surface_tension: float, density: float, spacing: float
) -> tuple[float, list[str]]:
    """Speed of sound [m/s] for motions of ``speed`` [m/s] and notes on it; chosen: what the user wants it to be."""
    # a drop of one spacing has the pressure sigma / dx, which must not compress it either
    speed = math.hypot(speed, math.sqrt(surface_tension / (density * spacing)))
    if chosen is None:
        return MACH * max(speed, 1e-9), []
    if chosen < LEAST_MACH * speed:
        raise UserError(
            f"sph.sound_speed = {chosen:g} m/s: too low for motions of {speed:.3g} m/s, which would compress the fluid "
            f"by more than a tenth; set it to {MACH * speed:.3g}, or leave it out"
        )
    if chosen < 0.99 * MACH * speed:
        return chosen, [
            f"sph.sound_speed: {chosen:g} m/s is less than ten times the fastest motion expected, {speed:.3g} m/s; the "
            f"density may vary by {(speed / chosen) ** 2:.1%}"
        ]
    return chosen, []
