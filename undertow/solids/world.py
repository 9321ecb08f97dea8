"""Bodies, shapes and their step in one, built shape by shape: for cases and tests that need no scene."""

from __future__ import annotations

from typing import Any

import numpy as np

from undertow.geometry import Shape
from undertow.grid import Array
from undertow.rigid.bodies import RigidBodies, conjugate, multiply_quaternions
from undertow.rigid.mass import mass_properties
from undertow.rigid.placing import place_body
from undertow.rigid.shapes import CollisionShapes
from undertow.solids.settings import SolidSettings
from undertow.solids.step import Solids, SolidsReport


class SolidsWorld:
    """``add`` bodies, then ``step``; ``time`` [s] is where the bodies are."""

    def __init__(self, dimensions: int = 3, **settings: Any) -> None:
        self.bodies = RigidBodies(dimensions)
        self.shapes = CollisionShapes(dimensions)
        self.solids = Solids(self.bodies, self.shapes, SolidSettings(**settings))
        self.time = 0.0

    def add(
        self,
        name: str,
        shape: Shape,
        position: Any = (0.0, 0.0, 0.0),
        rotation: Array | None = None,
        density: float | None = None,
        inertia: object = None,
        **options: Any,
    ) -> int:
        """A body of the shape at position (3,) [m] turned by rotation (3, 3); dynamic with a density [kg/m3].

        inertia: instead of that of uniform density, as for ``mass_properties``. options: as for ``RigidBodies.add``.
        """
        R = np.eye(3) if rotation is None else np.asarray(rotation, dtype=float)
        place = np.asarray(position, dtype=float)
        if density is None:
            return place_body(self.bodies, name, self.shapes.add(shape), place, R, **options)
        found = mass_properties(shape, density, dimensions=self.bodies.dimensions, inertia=inertia, name=name)
        index = self.shapes.add(shape, found.centre, found.rotation)
        return place_body(self.bodies, name, index, place, R, found, **options)

    def step(self, dt: float, **forces: Any) -> SolidsReport:
        """One step of dt [s]."""
        report = self.solids.step(self.time, dt, **forces)
        self.time += dt
        return report


def largest_motion(bodies: RigidBodies, x: Array, q: Array) -> tuple[float, float]:
    """(farthest move [m], largest turn [degrees]) of any body from poses x (n, 3), q (n, 4)."""
    moved = float(np.linalg.norm(bodies.x_b - x, axis=1).max())
    # sin of half the turn from the vector part, which does not lose small turns as the cosine does
    sines = [
        float(np.linalg.norm(multiply_quaternions(now, conjugate(then))[1:]))
        for now, then in zip(bodies.q_b, q, strict=True)
    ]
    return moved, float(np.degrees(2.0 * np.arcsin(min(1.0, max(sines)))))
