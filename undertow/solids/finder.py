"""Contacts of all bodies: broad phase, then narrow phase, into buffers that are kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from undertow.grid import Array
from undertow.rigid.bodies import RigidBodies
from undertow.rigid.broad import Pairs
from undertow.rigid.narrow import Contacts, ContactSpec, find_contacts
from undertow.rigid.shapes import CollisionShapes


class _Colliders(NamedTuple):
    """Parts of bodies that collide: owner (m,) body, in order; shape (m,) collision shape; of_shape (n,): the shapes of
    the bodies that they were made for."""

    owner: Any
    shape: Any
    of_shape: Any

    def own_pairs(self) -> list[tuple[int, int]]:
        """Parts of one body."""
        return self.spread((b, b) for b in np.unique(self.owner))

    def spread(self, pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Pairs of parts of pairs of bodies."""
        found = []
        for a, b in pairs:
            first, second = (np.flatnonzero(self.owner == body).tolist() for body in (a, b))
            found += [(i, j) for i in first for j in second if i != j]
        return found


class ContactFinder:
    """Finds the contacts of ``bodies``; pairs held by a joint can be excluded.

    A body whose shape has parts collides by each of them; to who asks, its contacts are those of one body.
    """

    def __init__(self, bodies: RigidBodies, shapes: CollisionShapes) -> None:
        self.bodies, self.shapes = bodies, shapes
        self.pairs, self.contacts = Pairs(), Contacts()
        self._excluded: list[tuple[int, int]] = []
        self._colliders = self._make_colliders()
        self._apply_exclusions()

    def exclude(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Never report these pairs of bodies (those held by a joint, say); replaces what was excluded before."""
        self._excluded = list(pairs)
        self._apply_exclusions()

    def find(self, x: Array, q: Array, reach: Array) -> tuple[ContactSpec, int]:
        """Contacts closer than reach (n,) [m] of both bodies at poses x (n, 3), q (n, 4), and their number.

        The contacts are views of buffers that the next call fills again.
        """
        spec = self.bodies.spec
        if not np.array_equal(spec.shape, self._colliders.of_shape):
            self._colliders = self._make_colliders()
            self._apply_exclusions()
        owner = self._colliders.owner
        whole = len(owner) == len(spec.shape)
        if not whole:
            spec = spec._replace(kind=spec.kind[owner], shape=self._colliders.shape)
            x, q, reach = x[owner], q[owner], reach[owner]
        groups = np.stack([self.bodies.group_b, self.bodies.mask_b], axis=1)
        self.pairs.find(self.shapes, spec, x, q, reach, groups if whole else groups[owner])
        count = find_contacts(self.shapes, spec, x, q, self.pairs, reach, self.contacts)
        found = self.contacts.spec
        return (found if whole else self._of_bodies(found)), count

    def _of_bodies(self, found: ContactSpec) -> ContactSpec:
        """Contacts of parts as contacts of their bodies, those of a pair of bodies consecutive."""
        owner = self._colliders.owner
        a, b = owner[found.a], owner[found.b]
        order = np.lexsort((b, a))
        a, b = a[order], b[order]
        new = np.flatnonzero(np.diff(a, prepend=-1).astype(bool) | np.diff(b, prepend=-1).astype(bool))
        # unique within the pair: the features of parts, told apart by their numbers
        feature = found.feature + (found.a * len(owner) + found.b) * np.int64(1 << 32)
        return ContactSpec(
            a, b, found.point[order], found.normal[order], found.gap[order], feature[order],
            np.append(new, len(a)).astype(np.int64),
        )  # fmt: skip

    def _make_colliders(self) -> _Colliders:
        shape_b = self.bodies.shape_b.copy()
        parts = [self.shapes.parts(int(s)) for s in shape_b]
        owner = np.repeat(np.arange(len(parts)), [len(p) for p in parts]).astype(np.int64)
        return _Colliders(owner, np.array([s for p in parts for s in p], dtype=np.int64), shape_b)

    def _apply_exclusions(self) -> None:
        colliders = self._colliders
        if len(colliders.owner) == len(colliders.of_shape):
            self.pairs.exclude(self._excluded)
        else:
            self.pairs.exclude([*colliders.spread(self._excluded), *colliders.own_pairs()])
