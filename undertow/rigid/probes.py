"""Contacts with fields: probes of one body in the signed distance of the other (thesis 2.4.1 [@schroeder2011]).

At the edge of a body its distance has no one normal, and edges like to lie on edges: blocks flush with each other,
stones of equal size on top of each other. So the distance is asked a little way inside the probing body, where the
answer is clear, and carried back to the probe: gap = d(p') + grad d . (p - p'). A probe counts only if its
own surface faces the other body, so that the edge of a block beside another, flush with its top, does not lie on that
top.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from undertow.geometry.distance import CYLINDER, TABLE, TORUS
from undertow.grid.jitting import helper, inlined
from undertow.rigid.bodies import rotate, rotate_back
from undertow.rigid.convex import APART, GAP, KEY, TAKEN
from undertow.rigid.fields import (
    DISTANCE,
    LABEL,
    LIMIT,
    NORMAL,
    X,
    Y,
    Z,
    keep_near,
    measure_near,
    turn_back_by,
    turn_by,
    unit_vector,
)
from undertow.rigid.shapes import (
    BOUND,
    CLUSTER,
    CLUSTER_END,
    CONVEX,
    FIELD,
    FORMULA,
    KIND,
    MIDDLE,
    OFFSET,
    RADIUS,
    SLACK,
    TABLE_FRAME,
)

_INSIDE = 0.01
"""How far inside, in parts of the probing body's size; for tables one spacing of the table."""

_DEEP = 0.05
"""Part of its size a body must be in another for its deepest probe to count whichever way it faces."""


@helper
def probe_field(spec, s, xs, qs, t, xt, qt, reach, sign, found, work):  # type: ignore[no-untyped-def]
    """Probes of s in the distance of t, behind the ``found`` candidates; sign 1 if s is the first body of the pair."""
    relative_turn(qt, qs, work.turn)
    R, points = work.turn, work.query
    ox, oy, oz = rotate_back(qt, xs[0] - xt[0], xs[1] - xt[1], xs[2] - xt[2])
    inside = _inside(spec, s, t)
    limit = reach + spec.number[s, RADIUS] + spec.number[s, SLACK]
    x, y, z = _move(R, ox, oy, oz, spec.number[s, MIDDLE], spec.number[s, MIDDLE + 1], spec.number[s, MIDDLE + 2])
    _ask(points, np.int64(0), x, y, z, reach + spec.number[s, BOUND], np.int64(0))
    if keep_near(spec, t, np.int64(1), points) == 0:
        return found
    near = _find_probes(spec, s, t, R, ox, oy, oz, limit, inside, work)
    for n in range(near):
        k = np.int64(points[n, LABEL])
        ux, uy, uz = _move(R, 0.0, 0.0, 0.0, spec.probes[k, 3], spec.probes[k, 4], spec.probes[k, 5])
        points[n, X] -= inside * ux
        points[n, Y] -= inside * uy
        points[n, Z] -= inside * uz
    measure_near(spec, t, near, points)
    first = found
    deepest = np.int64(-1)
    start = spec.probe_start[spec.index[s, CLUSTER]]
    for n in range(near):
        k = np.int64(points[n, LABEL])
        x, y, z = _move(R, ox, oy, oz, spec.probes[k, 0], spec.probes[k, 1], spec.probes[k, 2])
        ux, uy, uz = _move(R, 0.0, 0.0, 0.0, spec.probes[k, 3], spec.probes[k, 4], spec.probes[k, 5])
        found = _add_probe(
            spec.number[s, RADIUS], points[n], x, y, z, inside * ux, inside * uy, inside * uz, k - start, found, work
        )
        c = found - 1
        facing = ux * work.normal[c, 0] + uy * work.normal[c, 1] + uz * work.normal[c, 2] <= 0.0
        work.measure[c, APART] = 1.0 if facing else 0.0
        if deepest < 0 or work.measure[c, GAP] < work.measure[deepest, GAP]:
            deepest = c
    if (
        deepest >= 0
        and spec.index[s, KIND] == FIELD
        and (spec.index[s, FORMULA] == CYLINDER or spec.index[s, FORMULA] == TORUS)
    ):
        found = _refine(spec, s, t, R, ox, oy, oz, deepest, found, work)
    if deepest >= 0 and work.measure[deepest, GAP] < -_DEEP * spec.number[s, BOUND]:
        work.measure[deepest, APART] = 1.0  # bodies deep in each other must come apart somehow
    kept = first
    side = 0 if sign > 0.0 else 1
    for n in range(first, found):
        if work.measure[n, GAP] < reach and work.measure[n, APART] > 0.0:
            for i in range(3):
                work.point[kept, i] = work.point[n, i]
                work.normal[kept, i] = work.normal[n, i]
            work.measure[kept, GAP] = work.measure[n, GAP]
            work.label[kept, KEY] = (side << 40) + work.label[n, KEY]
            px, py, pz = rotate(qt, work.point[kept, 0], work.point[kept, 1], work.point[kept, 2])
            work.point[kept, 0], work.point[kept, 1], work.point[kept, 2] = px + xt[0], py + xt[1], pz + xt[2]
            px, py, pz = rotate(qt, work.normal[kept, 0], work.normal[kept, 1], work.normal[kept, 2])
            work.normal[kept, 0], work.normal[kept, 1], work.normal[kept, 2] = sign * px, sign * py, sign * pz
            kept += 1
    return kept


@inlined
def _find_probes(spec, s, t, R, ox, oy, oz, limit, inside, work):  # type: ignore[no-untyped-def]
    """Probes of s no farther from t than limit + inside, with their numbers, into ``work.query``; how many.

    Whole clusters of probes first, then the probes of those that are near.
    """
    points = work.query
    count = np.int64(0)
    for c in range(spec.index[s, CLUSTER], spec.index[s, CLUSTER_END]):
        x, y, z = _move(R, ox, oy, oz, spec.clusters[c, 0], spec.clusters[c, 1], spec.clusters[c, 2])
        _ask(points, count, x, y, z, limit + spec.clusters[c, 3], c)
        count += 1
    near = keep_near(spec, t, count, points)
    for n in range(near):
        work.label[n, TAKEN] = np.int64(points[n, LABEL])
    count = np.int64(0)
    for n in range(near):
        for p in range(spec.probe_start[work.label[n, TAKEN]], spec.probe_start[work.label[n, TAKEN] + 1]):
            x, y, z = _move(R, ox, oy, oz, spec.probes[p, 0], spec.probes[p, 1], spec.probes[p, 2])
            _ask(points, count, x, y, z, limit + inside, p)
            count += 1
    return keep_near(spec, t, count, points)


@inlined
def _move(R, ox, oy, oz, x, y, z):  # type: ignore[no-untyped-def]
    return (
        ox + R[0, 0] * x + R[0, 1] * y + R[0, 2] * z,
        oy + R[1, 0] * x + R[1, 1] * y + R[1, 2] * z,
        oz + R[2, 0] * x + R[2, 1] * y + R[2, 2] * z,
    )


@helper
def _inside(spec, s, t):  # type: ignore[no-untyped-def]
    """How far inside s the distance of t is asked; 0 where t is smooth everywhere or s is round."""
    formula = spec.index[t, FORMULA]
    if spec.number[s, RADIUS] > 0.0 or not (spec.index[t, KIND] == CONVEX or formula in (TABLE, CYLINDER)):
        return 0.0
    return spec.number[t, TABLE_FRAME + 3] if formula == TABLE else _INSIDE * spec.number[s, BOUND]


@inlined
def _ask(points, n, x, y, z, limit, label):  # type: ignore[no-untyped-def]
    """Point n of those whose distance is asked."""
    points[n, X], points[n, Y], points[n, Z], points[n, LIMIT], points[n, LABEL] = x, y, z, limit, label


@inlined
def _add_probe(r, asked, x, y, z, ux, uy, uz, key, found, work):  # type: ignore[no-untyped-def]
    """Candidate for a probe of radius r at (x, y, z) in the frame of t; u: to it from the point that was asked."""
    nx, ny, nz = asked[NORMAL], asked[NORMAL + 1], asked[NORMAL + 2]
    gap = asked[DISTANCE] + nx * ux + ny * uy + nz * uz - r
    nx, ny, nz = unit_vector(nx, ny, nz)
    return add_candidate(found, x - r * nx, y - r * ny, z - r * nz, nx, ny, nz, gap, key, work)


@helper
def _refine(spec, s, t, R, ox, oy, oz, deepest, found, work):  # type: ignore[no-untyped-def]
    """The points of a cylinder's rims or a torus that reach farthest against the normal of the deepest candidate.

    A wheel between two of its probes would otherwise sink in by the slack.
    """
    nx, ny, nz = work.normal[deepest, 0], work.normal[deepest, 1], work.normal[deepest, 2]
    dx = -(R[0, 0] * nx + R[1, 0] * ny + R[2, 0] * nz)
    dy = -(R[0, 1] * nx + R[1, 1] * ny + R[2, 1] * nz)
    dz = -(R[0, 2] * nx + R[1, 2] * ny + R[2, 2] * nz)
    dx, dy, dz = turn_by(spec, s, dx, dy, dz)
    rho = sqrt(dx * dx + dz * dz)
    if rho < 1e-9:
        return found
    radius, other = spec.number[s, 0], spec.number[s, 1]
    for end in range(2 if spec.index[s, FORMULA] == CYLINDER else 1):
        x, z = radius * dx / rho, radius * dz / rho
        if spec.index[s, FORMULA] == CYLINDER:
            y = other if end == 1 else -other
        else:
            x, y, z = x + other * dx, other * dy, z + other * dz
        x, y, z = turn_back_by(
            spec, s, x - spec.number[s, OFFSET], y - spec.number[s, OFFSET + 1], z - spec.number[s, OFFSET + 2]
        )
        x, y, z = _move(R, ox, oy, oz, x, y, z)
        _ask(work.query, np.int64(0), x, y, z, 0.0, np.int64(0))
        measure_near(spec, t, np.int64(1), work.query)
        found = _add_probe(spec.number[s, RADIUS], work.query[0], x, y, z, 0.0, 0.0, 0.0, (1 << 32) + end, found, work)
        work.measure[found - 1, APART] = 1.0
    return found


@inlined
def relative_turn(qa, qb, out_turn):  # type: ignore[no-untyped-def]
    """R(qa)^T R(qb)"""
    for j in range(3):
        x, y, z = rotate(qb, 1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
        x, y, z = rotate_back(qa, x, y, z)
        out_turn[0, j], out_turn[1, j], out_turn[2, j] = x, y, z


@inlined
def add_candidate(n, px, py, pz, nx, ny, nz, gap, key, work):  # type: ignore[no-untyped-def]
    """Candidate n: a surface point p at ``gap`` along n from the other surface; the contact is midway."""
    work.point[n, 0] = px - 0.5 * gap * nx
    work.point[n, 1] = py - 0.5 * gap * ny
    work.point[n, 2] = pz - 0.5 * gap * nz
    work.normal[n, 0], work.normal[n, 1], work.normal[n, 2] = nx, ny, nz
    work.measure[n, GAP] = gap
    work.label[n, KEY] = key
    return n + 1
