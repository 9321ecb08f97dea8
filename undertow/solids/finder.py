"""Contacts of all bodies: broad phase, then narrow phase, into buffers that are kept."""

from __future__ import annotations

from undertow.grid import Array
from undertow.rigid.bodies import RigidBodies
from undertow.rigid.broad import Pairs
from undertow.rigid.narrow import Contacts, ContactSpec, find_contacts
from undertow.rigid.shapes import CollisionShapes


class ContactFinder:
    """Finds the contacts of ``bodies``; pairs held by a joint can be excluded."""

    def __init__(self, bodies: RigidBodies, shapes: CollisionShapes) -> None:
        self.bodies, self.shapes = bodies, shapes
        self.pairs, self.contacts = Pairs(), Contacts()

    def find(self, x: Array, q: Array, reach: Array) -> tuple[ContactSpec, int]:
        """Contacts closer than reach (n,) [m] of both bodies at poses x (n, 3), q (n, 4), and their number.

        The contacts are views of buffers that the next call fills again.
        """
        spec = self.bodies.spec
        self.pairs.find(self.shapes, spec, x, q, reach)
        count = find_contacts(self.shapes, spec, x, q, self.pairs, reach, self.contacts)
        return self.contacts.spec, count
