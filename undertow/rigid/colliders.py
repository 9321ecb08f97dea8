"""Bodies as what they collide by: each part of a compound, or the body itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from undertow.rigid.bodies import BodySpec, RigidBodies
from undertow.rigid.shapes import CollisionShapes


class Colliders:
    """The colliders of bodies, in the order of the bodies, kept as long as the bodies have the same shapes.

    owner (m,): body of each; shape (m,): its collision shape. Their poses are those of their bodies.
    """

    def __init__(self, bodies: RigidBodies, shapes: CollisionShapes) -> None:
        self.bodies, self.shapes = bodies, shapes
        self.owner: Any = np.zeros(0, dtype=np.int64)
        self.shape: Any = self.owner
        self._of_shape: Any = self.owner
        self.update()

    @property
    def are_bodies(self) -> bool:
        """Whether each body is its own only collider."""
        return len(self.owner) == len(self._of_shape)

    def update(self) -> bool:
        """To the bodies of now; whether anything changed."""
        shape_b = self.bodies.shape_b
        if np.array_equal(shape_b, self._of_shape):
            return False
        parts = [self.shapes.parts(int(s)) for s in shape_b]
        self.owner = np.repeat(np.arange(len(parts), dtype=np.int64), [len(p) for p in parts])
        self.shape = np.array([s for p in parts for s in p], dtype=np.int64)
        self._of_shape = shape_b.copy()
        return True

    def spread(self, spec: BodySpec) -> BodySpec:
        """Bodies as colliders: kind, x, q and shape of each; the rest is left as it is."""
        if self.are_bodies:
            return spec
        return spec._replace(kind=spec.kind[self.owner], x=spec.x[self.owner], q=spec.q[self.owner], shape=self.shape)

    def pairs_of(self, pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Pairs of colliders of pairs of bodies, and of the parts of each body."""
        own = [(int(b), int(b)) for b in np.flatnonzero(np.bincount(self.owner) > 1)]
        found = []
        for a, b in [*pairs, *own]:
            first, second = (np.flatnonzero(self.owner == body).tolist() for body in (a, b))
            found += [(i, j) for i in first for j in second if i != j]
        return found
