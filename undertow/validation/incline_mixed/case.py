"""A rigid box, a soft box and a particle slide down an incline with friction (thesis figure 4.8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from undertow.geometry import Box, Plane
from undertow.soft import Elastic, SoftBodies, make_solid
from undertow.soft.meshes import grid_tetrahedra, surface_of
from undertow.solids import SolidsWorld
from undertow.solids.soft_contacts import SoftContacts
from undertow.solids.soft_step import SoftSolids
from undertow.validation.analysis import Quantity, quantity

ANGLE, FRICTION, GRAVITY, SIZE = np.radians(30.0), 0.3, 9.81, 0.2
NORMAL = np.array([np.sin(ANGLE), np.cos(ANGLE), 0.0])
ALONG = np.array([np.cos(ANGLE), -np.sin(ANGLE), 0.0])
ACROSS = np.array([0.0, 0.0, 1.0])


def expected(time: float) -> float:
    """Distance slid from rest [m]."""
    return float(0.5 * GRAVITY * (np.sin(ANGLE) - FRICTION * np.cos(ANGLE)) * time**2)


def world() -> SolidsWorld:
    """The incline alone."""
    found = SolidsWorld()
    found.add("incline", Plane(tuple(NORMAL)), friction=FRICTION)
    return found


def slide_rigid(time: float, dt: float) -> float:
    """Distance of a rigid box [m]."""
    solids = world()
    frame = np.stack([ALONG, NORMAL, ACROSS], axis=1)
    box = solids.add("box", Box((SIZE,) * 3), 0.5 * SIZE * NORMAL, frame, density=1000.0, friction=FRICTION)
    for _ in range(round(time / dt)):
        solids.step(dt)
    return float(solids.bodies.x_b[box] @ ALONG)


def slide_soft(time: float, dt: float, stepper: str, particle: bool, friction: float = FRICTION) -> float:
    """Distance of a soft box, or of a particle [m]."""
    soft = SoftBodies()
    if particle:
        soft.add("particle", np.zeros((1, 3)), np.ones(1), [], np.zeros((0, 4), int), np.zeros((0, 3), int))
        nodes: Any = np.zeros(1, dtype=np.int64)
    else:
        x, cells = grid_tetrahedra((SIZE,) * 3, (2, 2, 2))
        x = (x + [0.0, 0.5 * SIZE, 0.0]) @ np.stack([ALONG, NORMAL, ACROSS])
        mass, elements = make_solid("box", x, cells, Elastic(1000.0, 2e5, 0.3, "corotated", 2e-3))
        soft.add("box", x, mass, [elements], cells, surface_of(cells), closed=True)
        nodes = np.unique(surface_of(cells))
    solids = world()
    k = len(nodes)
    contacts = SoftContacts(soft, solids.bodies, solids.shapes, nodes, np.zeros(k), np.full(k, friction))
    both = SoftSolids(soft, contacts, stepper, 0.1 * SIZE)
    weight = soft.mass[:, None] * np.array([0.0, -GRAVITY, 0.0])
    start = soft.mass @ soft.x / soft.mass.sum()
    for n in range(round(time / dt)):
        both.step(n * dt, dt, weight, np.array([0.0, -GRAVITY, 0.0]))
    return float((soft.mass @ soft.x / soft.mass.sum() - start) @ ALONG)


def run(full: bool = False) -> Iterator[Quantity]:
    """One second; steps of 2 ms, 10 ms for the rigid box, 0.4 ms for the explicit scheme."""
    wanted = expected(1.0)
    yield quantity("rigid", slide_rigid(1.0, 0.01) / wanted)
    yield quantity("soft", slide_soft(1.0, 0.002, "implicit", False) / wanted)
    yield quantity("soft_newmark", slide_soft(1.0, 0.0004, "newmark", False) / wanted)
    yield quantity("particle", slide_soft(1.0, 0.002, "implicit", True) / wanted)
    yield quantity("stick", abs(slide_soft(1.0, 0.005, "implicit", False, friction=3.0)))
