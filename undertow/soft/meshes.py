"""Meshes of soft bodies made here: boxes, any closed shape, 2D shapes, sheets and ropes.

Closed shapes are filled by isosurface stuffing (Labelle and Shewchuk 2007): tetrahedra of a body-centred cubic lattice,
whose nodes near the surface are moved onto it and which are cut where they cross it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.geometry.sheets import outline_of
from undertow.grid import Array

Mesh = tuple[Array, Any]
_LONG, _SHORT = 0.24999, 0.41189
"""How near to a node of the lattice a cut must be, in parts of the edge, to move the node (Labelle and Shewchuk 2007,
table 1)."""


def grid_triangles(size: tuple[float, float], counts: tuple[int, int], crossed: bool = True) -> Mesh:
    """Nodes (n, 3) and triangles (m, 3) of a rectangle about the origin in the x-y plane, wound about +z.

    crossed: four triangles per rectangle around a node in its middle, without a favoured diagonal; else two, the
    diagonal alternating.
    """
    nx, ny = counts
    x, y = np.linspace(-0.5 * size[0], 0.5 * size[0], nx + 1), np.linspace(-0.5 * size[1], 0.5 * size[1], ny + 1)
    Y, X = np.meshgrid(y, x, indexing="ij")
    points = np.stack([X.ravel(), Y.ravel(), np.zeros(X.size)], axis=1)
    j, i = (a.ravel() for a in np.meshgrid(np.arange(ny), np.arange(nx), indexing="ij"))
    a = j * (nx + 1) + i
    b, c, d = a + 1, a + nx + 2, a + nx + 1
    if crossed:
        middle = len(points) + np.arange(nx * ny)
        centre = 0.25 * (points[a] + points[b] + points[c] + points[d])
        cells = np.concatenate([np.stack([p, q, middle], axis=1) for p, q in ((a, b), (b, c), (c, d), (d, a))])
        return np.concatenate([points, centre]), cells
    even = ((i + j) % 2 == 0)[:, None]
    one = np.where(even, np.stack([a, b, c], axis=1), np.stack([a, b, d], axis=1))
    two = np.where(even, np.stack([a, c, d], axis=1), np.stack([b, c, d], axis=1))
    return points, np.concatenate([one, two])


def grid_tetrahedra(size: tuple[float, float, float], counts: tuple[int, int, int]) -> Mesh:
    """Nodes (n, 3) and tetrahedra (m, 4) of a box about the origin: five per cell, mirrored from cell to cell."""
    nx, ny, nz = counts
    axes = [np.linspace(-0.5 * s, 0.5 * s, n + 1) for s, n in zip(size, counts, strict=True)]
    Z, Y, X = np.meshgrid(axes[2], axes[1], axes[0], indexing="ij")
    points = np.stack([X.ravel(), Y.ravel(), Z.ravel()], axis=1)
    k, j, i = (a.ravel() for a in np.meshgrid(np.arange(nz), np.arange(ny), np.arange(nx), indexing="ij"))

    def node(dx: Any, dy: int, dz: int) -> Any:
        return ((k + dz) * (ny + 1) + j + dy) * (nx + 1) + i + dx

    odd = (i + j + k) % 2
    # the cell of odd parity is the even one mirrored along x
    corner = {(a, b, c): node(np.where(odd, 1 - a, a), b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)}
    five = (
        ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)),
        ((1, 1, 0), (0, 1, 0), (1, 0, 0), (1, 1, 1)),
        ((1, 0, 1), (0, 0, 1), (1, 1, 1), (1, 0, 0)),
        ((0, 1, 1), (1, 1, 1), (0, 0, 1), (0, 1, 0)),
        ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)),
    )
    cells = np.concatenate([np.stack([corner[p] for p in tet], axis=1) for tet in five])
    return points, _oriented(points, cells)


def _oriented(points: Array, cells: Any) -> Any:
    """The same tetrahedra, all of positive volume."""
    edges = points[cells[:, 1:]] - points[cells[:, :1]]
    wrong = np.linalg.det(edges) < 0
    cells = np.array(cells, dtype=np.int64)
    cells[wrong] = cells[wrong][:, [0, 2, 1, 3]]
    return cells


def fill_shape(
    name: str, distance: Callable[[Array], Array], lower: Array, upper: Array, spacing: float, complete: bool = True
) -> Mesh:
    """Nodes (n, 3) and tetrahedra (m, 4) inside distance < 0, within the box lower ... upper; spacing [m] of the
    lattice. complete: a shape with parts that no element sees is refused; one that falls into pieces always is."""
    counts = [int(np.ceil((b - a) / spacing)) + 2 for a, b in zip(lower, upper, strict=True)]
    if np.prod([float(c) for c in counts]) > 2e7:
        raise UserError(f"{name}: elements of {spacing:g} m make more than 20 million cells; make them larger")
    origin = 0.5 * (np.asarray(lower) + np.asarray(upper)) - 0.5 * spacing * np.array(counts)
    points, cells, long = _lattice(origin, counts, spacing)
    value = np.asarray(distance(points), dtype=float)
    # every point of the surface has a point of the lattice so near to it
    beside = points[np.abs(value) < COVERING * spacing]
    nothing = UserError(f"{name}: elements of {spacing:g} m find nothing inside the shape; make them smaller")
    if not (value < 0).any():
        raise _too_thin(name, distance, beside, spacing) or nothing
    near = (value[cells] < 0).any(axis=1)
    cells, long = cells[near], long[near]
    points, value = _warp(points, value, cells, long)
    points, cells = _cut(points, value, cells)
    used, cells = np.unique(cells, return_inverse=True)
    points, cells = points[used], cells.reshape(-1, 4)
    cells = _oriented(points, cells)
    edges = points[cells[:, 1:]] - points[cells[:, :1]]
    kept = np.linalg.det(edges) > 1e-6 * spacing**3
    cells = cells[kept]
    if not len(cells):
        raise _too_thin(name, distance, beside, spacing) or nothing
    used, cells = np.unique(cells, return_inverse=True)
    points = points[used]
    lost = beside[_distance_to_nodes(beside, points) > LOST * spacing] if complete else beside[:0]
    if not len(lost):
        lost = _find_lost_bridges(distance, beside, points, cells.reshape(-1, 4), spacing)
    if len(lost) and (error := _too_thin(name, distance, lost, spacing)):
        raise error
    return _sorted_along(points, cells.reshape(-1, 4))


COVERING = 0.56
"""Largest distance to the lattice, over its spacing: sqrt(5) / 4 for a body-centred one."""

LOST = 2.0
"""Spacings between a point beside the surface and the elements, beyond which a part of the shape has none. Where they
fill it there are at most 1.7; what is cut off a tip is not lost."""


FINER = 8
"""Points between the pieces that elements fall into are this much closer than the spacing; a gap as narrow as that is
taken for a bridge."""


def _find_lost_bridges(
    distance: Callable[[Array], Array], beside: Array, points: Array, cells: Any, spacing: float
) -> Array:
    """Points (n, 3) of bridges that join pieces of the elements in the shape and that elements do not see, found near
    points ``beside`` the surface; none where the elements are one piece, or as many as the shape has."""
    from scipy.spatial import cKDTree

    piece = _pieces(len(points), cells[:, [0, 0, 0]].ravel(), cells[:, 1:].ravel())
    if piece.max() == 0:
        return beside[:0]
    trees = [cKDTree(points[piece == k]) for k in range(piece.max() + 1)]
    reach = np.sort([tree.query(beside, distance_upper_bound=4.0 * spacing)[0] for tree in trees], axis=0)[1]
    between = beside[np.argsort(reach, kind="stable")[: min(1000, int(np.sum(reach < np.inf)))]]
    steps = spacing * ((np.arange(FINER) + 0.5) / FINER - 0.5)
    offsets = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(1, -1, 3)

    def seen(places: Array) -> Any:
        return distance(places) < 0.87 * spacing / FINER

    fine = np.concatenate([part[seen(part)] for part in ((at + offsets)[0] for at in between[:, None])] or [beside[:0]])
    if not len(fine):
        return beside[:0]
    # points are joined to those beside them, and to the pieces that they see from inside the shape
    first, second = cKDTree(fine).query_pairs(1.8 * spacing / FINER, output_type="ndarray").T + len(trees)
    for k, tree in enumerate(trees):
        away, node = tree.query(fine, distance_upper_bound=0.75 * spacing)
        held = np.flatnonzero(away < np.inf)
        to = tree.data[node[held]]
        for part in np.linspace(0.1, 0.9, 9):
            clear = seen(fine[held] + part * (to - fine[held]))
            held, to = held[clear], to[clear]
        first, second = np.append(first, np.full(len(held), k)), np.append(second, held + len(trees))
    if len(np.unique(_pieces(len(trees) + len(fine), first, second)[: len(trees)])) == len(trees):
        return beside[:0]
    # a bridge is as far from one piece as from another
    near, other = np.sort([tree.query(fine)[0] for tree in trees], axis=0)[:2]
    return np.asarray(fine[other - near <= max(0.2 * spacing, float((other - near).min()))])


def _pieces(count: int, first: Any, second: Any) -> Any:
    """Number of the connected component of each of ``count`` points, joined in pairs."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    graph = coo_matrix((np.ones(len(first)), (first, second)), (count, count))
    return connected_components(graph, directed=False)[1]


def _distance_to_nodes(places: Array, nodes: Array) -> Array:
    from scipy.spatial import cKDTree

    return np.asarray(cKDTree(nodes).query(places)[0])


def _too_thin(name: str, distance: Callable[[Array], Array], places: Array, spacing: float) -> UserError | None:
    """What to say of parts of a shape near places (n, 3) [m] that elements of the spacing [m] do not see; None where
    the surface has no inside, as one that is partly inside out."""
    places = places[np.unique(np.linspace(0, len(places) - 1, 200).astype(np.int64))]
    h = 1e-4 * spacing
    slope = np.stack([distance(places + step) - distance(places - step) for step in h * np.eye(3)], axis=1) / (2.0 * h)
    slope /= np.maximum(np.linalg.norm(slope, axis=1), 1e-12)[:, None]
    surface = places - distance(places)[:, None] * slope
    # a plate is as thick as twice the depth of its middle
    depth = np.max([-distance(surface - s * slope) for s in spacing * np.geomspace(1e-5, 2.0, 80)], axis=0)
    surface, depth = surface[depth > 1e-6 * spacing], depth[depth > 1e-6 * spacing]
    if not len(depth):
        return None
    # lines that begin at an edge may miss the middle: most do not
    middle = np.argsort(depth)[len(depth) * 9 // 10]
    thick, where = 2.0 * depth[middle], ", ".join(f"{v:.3g}" for v in surface[middle])
    return UserError(
        f"{name}: about {thick:.2g} m thick near ({where}) m of its own frame, where elements of {spacing:g} m find "
        f"nothing inside the shape; make element_size at most {0.8 * thick:.2g} m, or the shape thicker there"
    )


def _sorted_along(points: Array, cells: Any) -> Mesh:
    """Nodes numbered along the longest side, so that neighbours have near numbers and threads share few elements."""
    axis = int(np.ptp(points, axis=0).argmax())
    order = np.lexsort((points[:, (axis + 1) % 3], points[:, (axis + 2) % 3], points[:, axis]))
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return points[order], np.ascontiguousarray(number[cells])


def _lattice(origin: Array, counts: list[int], spacing: float) -> tuple[Array, Any, Any]:
    """Body-centred cubic lattice: points, tetrahedra, and which of their edges (01, 02, 03, 12, 13, 23) are long.

    Every tetrahedron has an edge of the cubic lattice (0, 1) and one between the centres of two cells that share a
    face with it (2, 3); these two are long, the others short.
    """
    nx, ny, nz = counts
    corners = np.stack(np.meshgrid(*(np.arange(n + 1) for n in counts), indexing="ij"), axis=-1).reshape(-1, 3)
    centres = np.stack(np.meshgrid(*(np.arange(n) for n in counts), indexing="ij"), axis=-1).reshape(-1, 3)
    points = np.concatenate([corners.astype(float), centres + 0.5]) * spacing + origin

    def corner(c: Any) -> Any:
        return (c[:, 0] * (ny + 1) + c[:, 1]) * (nz + 1) + c[:, 2]

    def centre(c: Any) -> Any:
        return len(corners) + (c[:, 0] * ny + c[:, 1]) * nz + c[:, 2]

    tets = []
    for axis in range(3):
        step = np.eye(3, dtype=int)[axis]
        first = centres[centres[:, axis] + 1 < counts[axis]]
        a, b = centre(first), centre(first + step)
        u, v = np.eye(3, dtype=int)[(axis + 1) % 3], np.eye(3, dtype=int)[(axis + 2) % 3]
        ring = [first + step, first + step + u, first + step + u + v, first + step + v]
        for p in range(4):
            tets.append(np.stack([corner(ring[p]), corner(ring[(p + 1) % 4]), a, b], axis=1))
    cells = np.concatenate(tets)
    return points, cells, np.tile(np.array([True, False, False, False, False, True]), (len(cells), 1))


_PAIRS = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))


def _warp(points: Array, value: Array, cells: Any, long: Any) -> tuple[Array, Array]:
    """Nodes with a cut near them move onto the nearest of their cuts."""
    ends = np.concatenate([cells[:, p] for p in _PAIRS])
    is_long = np.concatenate([long[:, p] for p in range(6)])
    crossed = value[ends[:, 0]] * value[ends[:, 1]] < 0
    ends, is_long = ends[crossed], is_long[crossed]
    ends = np.concatenate([ends, ends[:, ::-1]])
    limit = np.where(np.tile(is_long, 2), _LONG, _SHORT)
    share = value[ends[:, 0]] / (value[ends[:, 0]] - value[ends[:, 1]])
    ends, share = ends[share < limit], share[share < limit]
    order = np.lexsort((ends[:, 1], share, ends[:, 0]))
    nodes, first = np.unique(ends[order, 0], return_index=True)
    chosen = order[first]
    moved, kept = points.copy(), value.copy()
    moved[nodes] += share[chosen, None] * (points[ends[chosen, 1]] - points[nodes])
    kept[nodes] = 0.0
    return moved, kept


def _cut(points: Array, value: Array, cells: Any) -> Mesh:
    """The parts of the tetrahedra inside the surface; quadrilaterals are split from their node of lowest number."""
    sign = np.sign(value).astype(int)[cells]
    keep = (sign < 0).any(axis=1)
    cells, sign = cells[keep], sign[keep]
    # inside nodes first, then those on the surface, then those outside
    order = np.argsort(sign, axis=1, kind="stable")
    cells, sign = np.take_along_axis(cells, order, 1), np.take_along_axis(sign, order, 1)
    inside, outside = (sign < 0).sum(axis=1), (sign > 0).sum(axis=1)
    ends = np.concatenate([cells[:, p] for p in _PAIRS])
    crossed = value[ends[:, 0]] * value[ends[:, 1]] < 0
    keys = np.unique(np.sort(ends[crossed], axis=1), axis=0) if crossed.any() else np.zeros((0, 2), dtype=np.int64)
    share = value[keys[:, 0]] / (value[keys[:, 0]] - value[keys[:, 1]])
    new = points[keys[:, 0]] + share[:, None] * (points[keys[:, 1]] - points[keys[:, 0]])
    codes = keys[:, 0] * len(points) + keys[:, 1]

    def cut(a: Any, b: Any) -> Any:
        low, high = np.minimum(a, b), np.maximum(a, b)
        return len(points) + np.searchsorted(codes, low * len(points) + high)

    parts = [cells[outside == 0]]
    for n in (1, 2, 3):
        c = cells[(inside == 1) & (outside == n)]
        tip = c[:, 0]
        ends_of = [c[:, i] if i < 4 - n else cut(tip, c[:, i]) for i in range(1, 4)]
        parts.append(np.stack([tip, *ends_of], axis=1))
    c = cells[(inside == 2) & (outside == 1)]
    a, b, zero, out = c.T
    parts += _split_pyramid([a, b, cut(b, out), cut(a, out)], zero)
    c = cells[(inside == 2) & (outside == 2)]
    a, b, p, q = c.T
    parts += _split_prism([a, cut(a, p), cut(a, q)], [b, cut(b, p), cut(b, q)])
    c = cells[(inside == 3) & (outside == 1)]
    a, b, d, out = c.T
    parts += _split_prism([a, b, d], [cut(a, out), cut(b, out), cut(d, out)])
    return np.concatenate([points, new]), np.concatenate(parts)


def _split_pyramid(quad: list[Any], apex: Any) -> list[Any]:
    """Two tetrahedra over the quadrilateral with corners in order, split from its corner of lowest number."""
    a, b, c, d = quad
    low = np.minimum(np.minimum(a, b), np.minimum(c, d))
    swap = (low == b) | (low == d)
    first = np.where(swap[:, None], np.stack([a, b, d], axis=1), np.stack([a, b, c], axis=1))
    second = np.where(swap[:, None], np.stack([b, c, d], axis=1), np.stack([a, c, d], axis=1))
    return [np.concatenate([t, apex[:, None]], axis=1) for t in (first, second)]


def _split_prism(one: list[Any], two: list[Any]) -> list[Any]:
    """Three tetrahedra of a prism between two triangles, every side split from its corner of lowest number."""
    both = np.stack([np.stack(one, axis=1), np.stack(two, axis=1)], axis=1)
    if not len(both):
        return []
    at = both.reshape(len(both), 6).argmin(axis=1)
    row = np.arange(len(both))
    flip = at >= 3
    both[flip] = both[flip][:, ::-1]
    turn = (at % 3)[:, None] + np.arange(3)
    both = both[row[:, None, None], np.arange(2)[None, :, None], turn[:, None, :] % 3]
    (a, b, c), (d, e, f) = both[:, 0].T, both[:, 1].T
    return [np.stack([a, d, e, f], axis=1), *_split_pyramid([b, c, f, e], a)]


def surface_of(cells: Any) -> Any:
    """Triangles (m, 3) of the boundary of tetrahedra (m, 4), wound outwards."""
    faces = np.concatenate([cells[:, f] for f in ([0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3])])
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    return np.ascontiguousarray(faces[np.sort(first[count == 1])], dtype=np.int64)


def edges_of(cells: Any) -> Any:
    """All edges (m, 2) of triangles or tetrahedra, each once."""
    k = cells.shape[1]
    pairs = np.concatenate([cells[:, [a, b]] for a in range(k) for b in range(a + 1, k)])
    return np.unique(np.sort(pairs, axis=1), axis=0)


def disc_triangles(radius: float, spacing: float) -> Mesh:
    """Nodes (n, 3) and triangles (m, 3) of a disc about the origin in the x-y plane: rings of 6, 12, 18 ... nodes."""
    rings = max(1, round(radius / spacing))
    points = [np.zeros((1, 3))]
    for ring in range(1, rings + 1):
        angle = 2 * np.pi * np.arange(6 * ring) / (6 * ring)
        r = radius * ring / rings
        points.append(np.stack([r * np.cos(angle), r * np.sin(angle), np.zeros(6 * ring)], axis=1))
    starts = [0, *(1 + 3 * ring * (ring - 1) for ring in range(1, rings + 1))]
    cells = []
    for ring in range(1, rings + 1):
        outer, inner = starts[ring], starts[ring - 1]
        m, n = 6 * ring, max(1, 6 * (ring - 1))
        for sector in range(6):
            for k in range(ring):
                one, two = sector * ring + k, sector * ring + k + 1
                p = sector * (ring - 1) + k
                cells.append((outer + one % m, outer + two % m, inner + p % n))
                if k + 1 < ring:
                    cells.append((inner + p % n, outer + two % m, inner + (p + 1) % n))
    return np.concatenate(points), np.array(cells, dtype=np.int64)


def balloon_triangles(width: float, height: float, spacing: float, opening: float) -> Mesh:
    """Nodes (n, 3) and triangles (m, 3), turned outwards, of a spheroid about the y axis: an icosahedron with its faces
    divided. opening: diameter of a round hole at the lower end, 0 without one."""
    golden = 0.5 * (1.0 + np.sqrt(5.0))
    corners = np.array(
        [[-1, golden, 0], [1, golden, 0], [-1, -golden, 0], [1, -golden, 0], [0, -1, golden], [0, 1, golden],
         [0, -1, -golden], [0, 1, -golden], [golden, 0, -1], [golden, 0, 1], [-golden, 0, -1], [-golden, 0, 1]],
    )  # fmt: skip
    # a corner at each end, so that the hole is round
    tilt = np.arctan2(1.0, golden)
    turn = np.array([[np.cos(tilt), np.sin(tilt), 0.0], [-np.sin(tilt), np.cos(tilt), 0.0], [0.0, 0.0, 1.0]])
    corners = corners @ turn.T / np.sqrt(1.0 + golden**2)
    faces = np.array(
        [[0, 11, 5], [0, 5, 1], [0, 1, 7], [0, 7, 10], [0, 10, 11], [1, 5, 9], [5, 11, 4], [11, 10, 2], [10, 7, 6],
         [7, 1, 8], [3, 9, 4], [3, 4, 2], [3, 2, 6], [3, 6, 8], [3, 8, 9], [4, 9, 5], [2, 4, 11], [6, 2, 10],
         [8, 6, 7], [9, 8, 1]],
    )  # fmt: skip
    n = max(1, round(1.0515 * 0.25 * (width + height) / spacing))
    points: list[Array] = []
    cells: list[tuple[int, int, int]] = []
    for a, b, c in corners[faces]:
        place = {}
        for i in range(n + 1):
            for j in range(n + 1 - i):
                place[i, j] = len(points)
                points.append(a + (b - a) * i / n + (c - a) * j / n)
        for i in range(n):
            for j in range(n - i):
                cells.append((place[i, j], place[i + 1, j], place[i, j + 1]))
                if i + j < n - 1:
                    cells.append((place[i + 1, j], place[i + 1, j + 1], place[i, j + 1]))
    x = np.array(points)
    x /= np.linalg.norm(x, axis=1)[:, None]
    _, first, where = np.unique(np.round(x, 9), axis=0, return_index=True, return_inverse=True)
    triangles = where.reshape(-1)[np.array(cells, dtype=np.int64)]
    x = x[first] * np.array([0.5 * width, 0.5 * height, 0.5 * width])
    if opening > 0:
        x, triangles = _cut_hole(x, triangles, 0.5 * width, 0.5 * height, 0.5 * opening)
    return _sorted_along(x, triangles)


def _cut_hole(x: Array, triangles: Any, radius: float, half: float, hole: float) -> Mesh:
    """Without the triangles around the lower end of a spheroid; the nodes of the rim moved on to the hole's circle."""
    away = np.hypot(x[:, 0], x[:, 2])
    gone = (away < hole) & (x[:, 1] < 0)
    gone[np.argmin(x[:, 1])] = True
    kept = triangles[~gone[triangles].any(axis=1)]
    used, local = np.unique(kept, return_inverse=True)
    x, local = x[used], local.reshape(-1, 3)
    rim = np.unique(outline_of(local))
    x[rim[:, None], [0, 2]] *= (hole / np.hypot(x[rim, 0], x[rim, 2]))[:, None]
    x[rim, 1] = -half * np.sqrt(1.0 - (hole / radius) ** 2)
    return x, local


def ring_points(start: Array, end: Array, count: int, down: Array) -> Array:
    """Nodes (count, 3) of a circle with the diameter from start to end, in the plane of that line and ``down``."""
    across = rope_points(start, end, 2.0 * float(np.linalg.norm(end - start)), 2, down)[1] - 0.5 * (start + end)
    across *= 0.5 * np.linalg.norm(end - start) / np.linalg.norm(across)
    angle = 2.0 * np.pi * np.arange(count)[:, None] / count
    return np.asarray(0.5 * (start + end) - 0.5 * (end - start) * np.cos(angle) + across * np.sin(angle))


def rope_points(start: Array, end: Array, length: float, count: int, down: Array) -> Array:
    """Nodes (count + 1, 3) of a rope of a given length between two points: straight, or two straight halves that
    sag."""
    span = float(np.linalg.norm(end - start))
    s = np.linspace(0.0, 1.0, count + 1)[:, None]
    sag = 0.5 * np.sqrt(max(length**2 - span**2, 0.0))
    along = (end - start) / span
    across = down - (down @ along) * along
    size = float(np.linalg.norm(across))
    if size < 1e-6:
        across = np.cross(along, np.array([0.0, 0.0, 1.0] if abs(along[2]) < 0.9 else [1.0, 0.0, 0.0]))
        size = float(np.linalg.norm(across))
    return np.asarray(start + s * (end - start) + sag * (1.0 - np.abs(2 * s - 1)) * across / size)


def chains_of(segments: Any) -> list[Any]:
    """Nodes along each line of segments (m, 2) that follow each other: a new line where one does not begin with the
    node at which the one before it ends."""
    breaks = np.flatnonzero(segments[1:, 0] != segments[:-1, 1]) + 1
    return [np.append(line[:, 0], line[-1, 1]) for line in np.split(np.asarray(segments), breaks)]


def tube(x: Array, radius: float, sides: int = 8) -> Mesh:
    """A closed surface of ``sides`` corners around a line of nodes (n, 3)."""
    n = len(x)
    along = np.gradient(x, axis=0)
    along /= np.maximum(np.linalg.norm(along, axis=1), 1e-300)[:, None]
    frame = np.zeros((n, 3))
    frame[0] = np.cross(along[0], [1.0, 0.0, 0.0] if abs(along[0, 0]) < 0.9 else [0.0, 1.0, 0.0])
    for node in range(n):  # carried along the line without twist
        u = frame[max(node - 1, 0)] - (frame[max(node - 1, 0)] @ along[node]) * along[node]
        frame[node] = u / np.linalg.norm(u)
    angle = 2 * np.pi * np.arange(sides) / sides
    other = np.cross(along, frame)
    ring = np.cos(angle)[:, None] * frame[:, None] + np.sin(angle)[:, None] * other[:, None]
    i, j = (a.ravel() for a in np.meshgrid(np.arange(n - 1), np.arange(sides), indexing="ij"))
    a, b = i * sides + j, i * sides + (j + 1) % sides
    c, d = a + sides, b + sides
    caps = [(0, k + 1, k) for k in range(1, sides - 1)]
    caps += [((n - 1) * sides, (n - 1) * sides + k, (n - 1) * sides + k + 1) for k in range(1, sides - 1)]
    triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([b, d, c], axis=1), np.array(caps)])
    return (x[:, None] + radius * ring).reshape(-1, 3), triangles


def extrude(x: Array, outline: Any, v: Array) -> tuple[Array, Any, Array]:
    """The outline (m, 2) of a 2D body as walls across z, for drawing: vertices, triangles, velocities."""
    used, local = np.unique(outline, return_inverse=True)
    local = local.reshape(-1, 2)
    depth = np.array([0.0, 0.0, 0.5 * float(np.ptp(x[used, :2], axis=0).max())])
    n = len(used)
    a, b = local[:, 0], local[:, 1]
    triangles = np.concatenate([np.stack([a, b, a + n], axis=1), np.stack([b, b + n, a + n], axis=1)])
    return np.concatenate([x[used] - depth, x[used] + depth]), triangles, np.concatenate([v[used], v[used]])
