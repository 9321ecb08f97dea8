"""What pieces take over of the body that broke beside its mass and its motion: loads of the scene on it, and nodes of
soft bodies that it carried.

A point goes to the fragment that holds it, or is next to it. A force and a torque have one; the surface on which a
traction or a pressure acts is parted among the fragments, so that its force and its torque over all pieces are those
that it had on the body, and faces of cracks bear none. Nodes go to the fragment that they are in, or as near to as they
were to the body; debris carries none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from undertow.geometry import Shape
from undertow.geometry.elements import chosen_elements, share_elements, surface_elements
from undertow.geometry.fragments import Fragment
from undertow.grid import Array
from undertow.part import vector
from undertow.rigid.table import CarriedNodes

ON_SURFACES = ("traction", "pressure")
"""Loads that act on a surface."""

SLACK = 0.01
"""Distance from a fragment, as part of the size of the body, up to which it holds a node of the body's surface."""


class HeldLoad(NamedTuple):
    """A load of a piece, and its number among those of the body of the scene."""

    number: int
    load: Any


@dataclass(frozen=True)
class NodesOn:
    """Nodes (n,) of a soft body, by its name and their numbers in it, in the frame of the shape of a body that breaks:
    points (n, 3) [m], velocities (n, 3) [m/s], masses (n,) [kg; 2D kg/m]; carried (n,): those that move with the body;
    reach (n,) [m]: distance that they keep from bodies. collides: it meets the body with those that are clear of it."""

    name: str
    nodes: Any
    points: Array
    velocities: Array
    masses: Array
    carried: Any
    reach: Array


class Shared(NamedTuple):
    """By fragment what it carries of soft bodies; points (k, 3) [m] and masses (k,) of all that is carried, and its
    momentum (3,) and angular momentum (3,) about the centre of mass of the body; let_go: how many nodes no fragment
    holds."""

    carried: list[tuple[CarriedNodes, ...]]
    points: Array
    masses: Array
    momentum: Array
    angular_momentum: Array
    let_go: int


def nearest_fragment(fragments: Sequence[Fragment], points: Array) -> tuple[Any, Array]:
    """The number of the fragment that holds points (n, 3) of the frame of the body, or is next to them, and its signed
    distance (n,) [m]."""
    own, best = np.zeros(len(points), dtype=np.int64), np.full(len(points), np.inf)
    for n, fragment in enumerate(fragments):
        local = (points - fragment.offset) @ fragment.rotation
        lower, upper = fragment.shape.bounds()
        beyond = np.linalg.norm(np.maximum(0.0, np.maximum(lower - local, local - upper)), axis=1)
        near = np.flatnonzero(beyond < best)
        if not len(near):
            continue
        distance = fragment.shape.distance(np.ascontiguousarray(local[near]))
        nearer = distance < best[near]
        own[near[nearer]], best[near[nearer]] = n, distance[nearer]
    return own, best


# loads ----------------------------------------------------------------------------------------------------------------


def share_loads(
    loads: Sequence[tuple[int, Any]], shape: Shape, start: tuple[Array, Array], centre: Array,
    fragments: Sequence[Fragment], now: tuple[Array, Array], dimensions: int,
) -> dict[int, tuple[HeldLoad, ...]]:  # fmt: skip
    """Loads of a body with their numbers, by the number of the fragment that takes them, or its share of them, over;
    start: position and rotation of the body's shape where they were put on; now: where it is; centre (3,) [m] of mass
    in its frame."""
    held: dict[int, tuple[HeldLoad, ...]] = {}
    for number, load in loads:
        for n, one in _shares(load, shape, start, centre, fragments, now, dimensions):
            held[n] = (*held.get(n, ()), HeldLoad(number, one))
    return held


def _shares(
    load: Any, shape: Shape, start: tuple[Array, Array], centre: Array, fragments: Sequence[Fragment],
    now: tuple[Array, Array], dimensions: int,
) -> Iterator[tuple[int, Any]]:  # fmt: skip
    position, R = start
    if load.kind not in ON_SURFACES:
        own = centre if load.at is None else R.T @ (np.asarray(load.at) - position)
        yield int(nearest_fragment(fragments, own[None])[0][0]), replace(load, at=now[0] + now[1] @ own)
        return
    p = load.elements
    if p is None:
        p = surface_elements(shape, position, R, dimensions)
        p = (p[chosen_elements("loads", p, load.region)] - position) @ R
    parts = share_elements(p, lambda points: nearest_fragment(fragments, points)[0], len(fragments))
    for n, (fragment, part) in enumerate(zip(fragments, parts, strict=True)):
        if len(part):
            yield n, replace(load, elements=(part - fragment.offset) @ fragment.rotation, region=None)


# nodes ----------------------------------------------------------------------------------------------------------------


def share_nodes(
    softs: Sequence[NodesOn], shape: Shape, centre: Array, fragments: Sequence[Fragment]
) -> Shared:
    """Nodes that a body carried, by the fragment that holds them."""
    solid = [n for n, fragment in enumerate(fragments) if not fragment.is_debris]
    found: list[list[CarriedNodes]] = [[] for _ in fragments]
    points, masses, momenta, let_go = [np.zeros((0, 3))], [np.zeros(0)], [np.zeros((0, 3))], 0
    slack = SLACK * float(np.linalg.norm(np.ptp(np.stack(shape.bounds()), axis=0)))
    for soft in softs:
        own, distance = nearest_fragment([fragments[n] for n in solid], soft.points)
        reach = np.maximum(shape.distance(np.ascontiguousarray(soft.points)), 0.0) + slack
        holds = soft.carried & (distance <= reach)
        let_go += int(soft.carried.sum() - holds.sum())
        for n, fragment in enumerate(fragments):
            local = (soft.points - fragment.offset) @ fragment.rotation
            mine = np.flatnonzero(holds & (np.array([*solid, -1])[own] == n))
            inside = np.flatnonzero(fragment.shape.distance(np.ascontiguousarray(local)) <= soft.reach)
            places = tuple(vector(point) for point in local[mine])
            found[n].append(
                CarriedNodes(soft.name, tuple(soft.nodes[mine].tolist()), places, tuple(soft.nodes[inside].tolist()))
            )
        points.append(soft.points[holds])
        masses.append(soft.masses[holds])
        momenta.append(soft.masses[holds, None] * soft.velocities[holds])
    at, p = np.concatenate(points), np.concatenate(momenta)
    turning = np.cross(at - centre, p).sum(axis=0)
    return Shared([tuple(one) for one in found], at, np.concatenate(masses), p.sum(axis=0), turning, let_go)
