"""Soft bodies of the validation cases."""

from __future__ import annotations

from typing import Any

import numpy as np

from undertow.grid import Array
from undertow.soft import Elastic, SoftBodies, make_solid
from undertow.soft.meshes import grid_triangles

DOWN = np.array([0.0, -1.0, 0.0])


def plane_body(x: Array, triangles: Any, material: Elastic) -> SoftBodies:
    """A 2D solid under plane strain."""
    bodies = SoftBodies(2)
    mass, elements = make_solid("body", x, triangles, material)
    bodies.add("body", x, mass, [elements], triangles, triangles, closed=True)
    return bodies


def beam(length: float, height: float, across: int, material: Elastic) -> SoftBodies:
    """A beam from x = 0, clamped there, about y = 0, with ``across`` squares over its height."""
    along = round(length / height * across)
    x, triangles = grid_triangles((length, height), (along, across))
    x[:, 0] += 0.5 * length
    bodies = plane_body(x, triangles, material)
    bodies.hold(np.flatnonzero(x[:, 0] < 1e-9 * length))
    return bodies


def edge_load(bodies: SoftBodies, nodes: Any, traction: Array) -> Array:
    """Forces (n, 3) of a constant traction (3,) [N/m] on the straight edge through the nodes, in order along it."""
    force = np.zeros((bodies.count, 3))
    lengths = np.linalg.norm(np.diff(bodies.rest[nodes], axis=0), axis=1)
    for a, b, s in zip(nodes[:-1], nodes[1:], lengths, strict=True):
        force[a] += 0.5 * s * traction
        force[b] += 0.5 * s * traction
    return force


def end_nodes(bodies: SoftBodies, axis: int = 0) -> Any:
    """Nodes at the far end along an axis, in order of the other one."""
    x = bodies.rest
    nodes = np.flatnonzero(x[:, axis] > x[:, axis].max() - 1e-9 * np.ptp(x[:, axis]))
    return np.asarray(nodes[np.argsort(x[nodes, 1 - axis])])
