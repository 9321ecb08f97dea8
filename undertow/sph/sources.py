"""Sources and drains of particles.

A source pushes out layers of particles, one whenever its fluid has moved by a spacing: the layer is the section of its
shape across its velocity. A drain takes particles out of its shape until its rate is met.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.geometry import Solid
from undertow.grid import Array
from undertow.sph.fluid import SphFluid

Distance = Callable[[Array], Array]

CLOSEST = 0.8
"""Spacings to the nearest particle that a new one needs."""


@dataclass
class SphSource:
    """layer (n, 3) [m]: where particles appear; velocity (3,) [m/s]; start, stop [s]; travelled [m]: since the last."""

    name: str
    layer: Array
    velocity: Array
    start: float = 0.0
    stop: float = inf
    travelled: float = 0.0

    def apply(self, fluid: SphFluid, time: float, dt: float) -> None:
        """Particles of the step from ``time`` by ``dt`` [s]."""
        if not self.start <= time < self.stop:
            return
        speed = float(np.linalg.norm(self.velocity))
        self.travelled += speed * dt
        while self.travelled >= fluid.spacing:
            self.travelled -= fluid.spacing
            layer = self.layer + self.travelled / speed * self.velocity
            fluid.add_fluid(layer[_room(fluid, layer)], self.velocity)


def _room(fluid: SphFluid, layer: Array) -> Any:
    """Which places (n, 3) of a layer are free: where fluid has not moved on, no more is pushed in."""
    place = fluid.points.spec.place[fluid.fluid_rows(), :3]
    near = ((place > layer.min(axis=0) - fluid.spacing) & (place < layer.max(axis=0) + fluid.spacing)).all(axis=1)
    away = layer[:, None] - place[near][None]
    return (np.einsum("ijk,ijk->ij", away, away) >= (CLOSEST * fluid.spacing) ** 2).all(axis=1)


def region_distance(solid: Solid, dimensions: int) -> Distance:
    """Signed distance [m] of points (n, 3) [m] from a shape at t = 0."""
    return partial(solid.distance, t=0.0, dimensions=dimensions)


def make_source(solid: Solid, velocity: Array, fluid: SphFluid, start: float, stop: float) -> SphSource:
    """A source of the shape of ``solid`` at t = 0, that pushes out fluid with a velocity (3,) [m/s]."""
    name, centre, distance = solid.name, solid.motion.pose(0.0)[0], region_distance(solid, fluid.dimensions)
    lower, upper = solid.bounds(0.0)
    reach = float(np.linalg.norm((upper - lower)[: fluid.dimensions]))
    speed = float(np.linalg.norm(velocity))
    if speed == 0.0:
        raise UserError(f"objects.{name}.velocity: a source of particles needs a velocity; give one")
    along = velocity / speed
    helper = np.eye(3)[int(np.argmin(np.abs(along[: fluid.dimensions])))]
    across = [np.cross(along, np.array([0.0, 0.0, 1.0]))]
    if fluid.dimensions == 3:
        first = np.cross(along, helper)
        first /= np.linalg.norm(first)
        across = [first, np.cross(along, first)]
    n = int(np.ceil(reach / fluid.spacing))
    steps = fluid.spacing * (np.arange(-n, n) + 0.5)
    places = np.stack(np.meshgrid(*[steps] * len(across), indexing="ij"), axis=-1).reshape(-1, len(across))
    points = centre + places @ np.array(across)
    layer = points[distance(points) <= 0.0]
    if len(layer) == 0:
        raise UserError(f"objects.{name}: no particle of {fluid.spacing:g} m fits into the source; make it wider")
    return SphSource(name, layer, velocity, start, stop)


@dataclass
class SphDrain:
    """distance: signed, of the shape; rate: volume taken per second [m3/s; 2D m2/s]; owed [m3]: not taken yet."""

    name: str
    distance: Distance
    rate: float
    start: float = 0.0
    stop: float = inf
    owed: float = 0.0

    def apply(self, fluid: SphFluid, time: float, dt: float) -> int:
        """Take particles of the step from ``time`` by ``dt`` [s]; how many."""
        if not self.start <= time < self.stop:
            return 0
        volume = fluid.spacing**fluid.dimensions
        self.owed += self.rate * dt
        due = int(self.owed / volume)
        if due == 0:
            return 0
        rows = fluid.fluid_rows()
        depth = self.distance(fluid.points.spec.place[rows, :3])
        inside = np.flatnonzero(depth <= 0.0)
        # the deepest first; what is not there is not owed any longer
        taken = rows[inside[np.argsort(depth[inside], kind="stable")][:due]]
        self.owed -= due * volume
        chosen = np.zeros(fluid.count, dtype=bool)
        chosen[taken] = True
        return fluid.remove(chosen) if len(taken) else 0
