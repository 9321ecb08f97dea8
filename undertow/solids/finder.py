"""Contacts of all bodies: broad phase, then narrow phase, into buffers that are kept."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from undertow.grid import Array
from undertow.rigid.bodies import RigidBodies
from undertow.rigid.broad import Pairs
from undertow.rigid.colliders import Colliders
from undertow.rigid.narrow import Contacts, ContactSpec, find_contacts
from undertow.rigid.shapes import CollisionShapes


class ContactFinder:
    """Finds the contacts of ``bodies``; pairs held by a joint can be excluded.

    A body whose shape has parts collides by each of them; to who asks, its contacts are those of one body.
    """

    def __init__(self, bodies: RigidBodies, shapes: CollisionShapes) -> None:
        self.bodies, self.shapes = bodies, shapes
        self.pairs, self.contacts = Pairs(), Contacts()
        self._colliders = Colliders(bodies, shapes)
        self.exclude(())

    def exclude(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Never report these pairs of bodies (those held by a joint, say); replaces what was excluded before."""
        self._excluded = list(pairs)
        self.pairs.exclude(self._excluded if self._colliders.are_bodies else self._colliders.pairs_of(self._excluded))

    def find(self, x: Array, q: Array, reach: Array) -> tuple[ContactSpec, int]:
        """Contacts closer than reach (n,) [m] of both bodies at poses x (n, 3), q (n, 4), and their number.

        The contacts are views of buffers that the next call fills again.
        """
        if self._colliders.update():
            self.exclude(self._excluded)
        spec, groups = self.bodies.spec, np.stack([self.bodies.group_b, self.bodies.mask_b], axis=1)
        whole, owner = self._colliders.are_bodies, self._colliders.owner
        if not whole:
            spec = self._colliders.spread(spec)
            x, q, reach, groups = x[owner], q[owner], reach[owner], groups[owner]
        self.pairs.find(self.shapes, spec, x, q, reach, groups)
        count = find_contacts(self.shapes, spec, x, q, self.pairs, reach, self.contacts)
        return (self.contacts.spec if whole else self._of_bodies(self.contacts.spec)), count

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
