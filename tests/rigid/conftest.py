"""A few bodies and what touches, for the tests of contact geometry."""

import numpy as np
import pytest

from undertow.rigid.bodies import RigidBodies
from undertow.rigid.broad import Pairs
from undertow.rigid.narrow import Contacts, find_contacts
from undertow.rigid.shapes import CollisionShapes

UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


class World:
    """Shapes, bodies (dynamic, of mass 1) and what touches."""

    def __init__(self, dimensions=3):
        self.shapes = CollisionShapes(dimensions)
        self.bodies = RigidBodies(dimensions)
        self.pairs = Pairs()
        self.contacts = Contacts()

    def add(self, shape, position=(0.0, 0.0, 0.0), rotation=UPRIGHT, static=False):
        index = self.shapes.add(shape)
        mass = {} if static else {"mass": 1.0, "inertia": np.ones(3)}
        return self.bodies.add(str(self.bodies.count), index, np.array(position, dtype=float), rotation, **mass)

    def find(self, reach=0.01):
        """Contacts with a gap less than ``reach``."""
        spec = self.bodies.spec
        reach_b = np.full(self.bodies.count, 0.5 * reach)
        self.pairs.find(self.shapes, spec, spec.x, spec.q, reach_b)
        find_contacts(self.shapes, spec, spec.x, spec.q, self.pairs, reach_b, self.contacts)
        return self.contacts.spec


@pytest.fixture
def world():
    """An empty world in 3D."""
    return World()


@pytest.fixture
def flat_world():
    """An empty world in 2D."""
    return World(dimensions=2)
