"""Where a region that holds nodes of a flat sheet ends between two rows of them: the nearer row moves there.

Nodes inside the region are held, and with every triangle of held nodes the slope; so the sheet is clamped at the last
row inside, up to a triangle before the end of the region. The deflection of a strip of length L is that of one of
L + offset, 4 offset / L too much. With a row on the end of the region it is clamped where the region ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from undertow.grid import Array
from undertow.soft.meshes import edges_of

INSIDE = 1e-9
"""Distance [m] up to which a node counts as inside a region."""

BEHIND = -0.8
"""Cosine between the edges to a node outside and to one inside: the region goes on behind a node."""

STRAIGHT = 0.87
"""Cosine of the turn of the rim at a node that may move along it; others are corners."""

FLAT = 0.2
"""Least area of a triangle afterwards, in parts of what it was."""


def fit_to_region(x: Array, triangles: Any, distance: Callable[[Array], Array]) -> Array:
    """Nodes x (n, 3) [m] of a flat sheet, of every edge that the end of a region cuts the nearer one moved there along
    it; ``distance`` of points (n, 3) [m]: signed, negative inside.

    Nodes of the rim move along it, corners stay, and so does an inner node behind which there is no other: a region
    around one node, or around one row, holds just that. Where triangles would become flat all stays as it is.
    """
    edges = edges_of(triangles)
    inside = distance(x) <= INSIDE
    cut = edges[inside[edges[:, 0]] != inside[edges[:, 1]]]
    if not len(cut):
        return x
    inner = np.where(inside[cut[:, 0]], cut[:, 0], cut[:, 1])
    outer = np.where(inside[cut[:, 0]], cut[:, 1], cut[:, 0])
    low, high = np.zeros(len(cut)), np.ones(len(cut))
    for _ in range(50):
        middle = 0.5 * (low + high)
        in_it = distance(x[inner] + middle[:, None] * (x[outer] - x[inner])) <= 0.0
        low, high = np.where(in_it, middle, low), np.where(in_it, high, middle)
    goes_on = _goes_on_behind(x, edges, inside, inner, outer)
    moves_out = (low <= 0.5) & goes_on
    node = np.where(low > 0.5, outer, inner)
    rim, corner = _rim(x, triangles)
    along_rim = np.isin(_keys(cut), _keys(rim))
    on_rim = np.isin(node, rim)
    allowed = ((low > 0.5) | moves_out) & ~np.isin(node, corner) & (~on_rim | along_rim)
    place = x[inner] + low[:, None] * (x[outer] - x[inner])
    way = np.where(allowed, np.linalg.norm(place - x[node], axis=1), np.inf)
    order = np.lexsort((outer, inner, way))
    order = order[np.isfinite(way[order])]
    chosen, first = np.unique(node[order], return_index=True)
    moved = x.copy()
    moved[chosen] = place[order[first]]
    before, after = _areas(x, triangles), _areas(moved, triangles)
    return moved if bool((after > FLAT * before).all()) else x


def _goes_on_behind(x: Array, edges: Any, inside: Any, inner: Any, outer: Any) -> Any:
    """Whether an inner node (m,) has another one inside on the side away from the outer one (m,)."""
    own = edges[inside[edges].all(axis=1)]
    found = np.zeros(len(inner), dtype=bool)
    for a, b in ((0, 1), (1, 0)):
        order = np.argsort(own[:, a], kind="stable")
        starts = np.searchsorted(own[order, a], inner), np.searchsorted(own[order, a], inner, side="right")
        for k, (start, stop) in enumerate(zip(*starts, strict=True)):
            e, f = x[outer[k]] - x[inner[k]], x[own[order[start:stop], b]] - x[inner[k]]
            if len(f):
                cosine = f @ e / (np.linalg.norm(f, axis=1) * np.linalg.norm(e))
                found[k] |= bool((cosine < BEHIND).any())
    return found


def _rim(x: Array, triangles: Any) -> tuple[Any, Any]:
    """Edges (m, 2) of one triangle alone, and the nodes at which they turn."""
    pairs = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2).reshape(-1, 2)
    keys = _keys(pairs)
    _, index, count = np.unique(keys, return_index=True, return_counts=True)
    rim = pairs[index[count == 1]]
    t = x[rim[:, 1]] - x[rim[:, 0]]
    t /= np.linalg.norm(t, axis=1)[:, None]
    total, number = np.zeros_like(x), np.bincount(rim.reshape(-1), minlength=len(x))
    np.add.at(total, rim[:, 0], t)
    np.add.at(total, rim[:, 1], t)
    # |t1 + t2|^2 = 2 + 2 cos
    turns = (total**2).sum(axis=1) < 2.0 + 2.0 * STRAIGHT
    return rim, np.flatnonzero((number > 0) & ((number != 2) | turns))


def _keys(edges: Any) -> Any:
    ends = np.sort(edges, axis=1)
    return ends[:, 0] * (1 << 32) + ends[:, 1]


def _areas(x: Array, triangles: Any) -> Array:
    """Areas (m,) [m2], with the sign of the side that most of the sheet shows."""
    n = np.cross(x[triangles[:, 1]] - x[triangles[:, 0]], x[triangles[:, 2]] - x[triangles[:, 0]])
    up = n.sum(axis=0)
    return np.asarray(0.5 * n @ (up / np.linalg.norm(up)))
