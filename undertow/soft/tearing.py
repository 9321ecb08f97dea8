"""Meshes that tear along the facets of their elements: edges of a sheet, faces of a solid, nodes of a rope.

What has torn is a set of pairs of elements: the facets between them hold no longer. Nodes follow from it. Corners of
elements are one node as long as elements lead from one to the other through facets that hold and have that node; the
fans about a node that no longer share a facet are nodes of their own (O'Brien and Hodgins 1999, without cuts through
elements). Elements keep their mass, their rest state and their material: sums over elements are the same before and
after, and no elastic energy is made, because no element deforms and bending across an edge that tears is let go.

An element is torn off when it is beyond its limit,

    stretch   s_1 of F = U diag(s) V^T                               along  U_1
    stress    max s_i g_i / J,  g_i = dpsi / ds_i,  J = s_1 s_2 s_3  along  U_i      (principal Cauchy stresses)

at one of its nodes: the elements about that node are parted into those ahead of and those behind the plane through it
across that direction, each side connected.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from undertow.grid import Array
from undertow.soft.materials import Elastic

Pairs = tuple[tuple[int, int], ...]
"""Elements of a body, the lower number first, whose common facet has torn; sorted."""

SMALLEST_J = 1e-3
"""Elements whose volume is less than this part of that at rest are crushed, or inverted: their stress tears nothing."""


@dataclass(frozen=True)
class TearLimit:
    """kind: ``stretch`` or ``stress``. most: the stretch [-], or the Cauchy stress [Pa], above which elements tear;
    material: of elements with a stress."""

    kind: str
    most: float
    material: Elastic | None = None


class Strain(NamedTuple):
    """By element (m,): value of stretch [-] or stress [Pa], and the direction (m, 3) that it acts along."""

    value: Array
    direction: Array


class Rip(NamedTuple):
    """pairs of elements that part; the element (its number) that was beyond the limit, and the node it tears at."""

    pairs: Pairs
    element: int
    node: int


# topology -----------------------------------------------------------------------------------------------------------


class Facets(NamedTuple):
    """Facets between two elements: the elements (q, 2), the lower number first, the nodes (q, k - 1) of the facets and
    their corners in both elements (q, 2, k - 1). rim: nodes of facets of one element alone."""

    elements: Any
    nodes: Any
    corners: Any
    rim: Any


def find_facets(cells: Any) -> Facets:
    """The facets of elements (m, k): edges of triangles, faces of tetrahedra, ends of segments."""
    cells = np.asarray(cells, dtype=np.int64)
    m, k = cells.shape
    corners = np.array([[b for b in range(k) if b != a] for a in range(k)])
    nodes = cells[:, corners].reshape(m * k, k - 1)
    owner, corner = np.repeat(np.arange(m), k), np.tile(corners, (m, 1))
    order = np.argsort(nodes, axis=1, kind="stable")
    nodes, corner = np.take_along_axis(nodes, order, 1), np.take_along_axis(corner, order, 1)
    place = np.lexsort((owner, *nodes.T[::-1]))
    sorted_nodes = nodes[place]
    same = (sorted_nodes[1:] == sorted_nodes[:-1]).all(axis=1)
    first = np.flatnonzero(same)
    both = np.stack([place[first], place[first + 1]], axis=1)
    single = np.ones(m * k, dtype=bool)
    single[both.reshape(-1)] = False
    return Facets(owner[both], sorted_nodes[first], corner[both], np.unique(nodes[single]))


def split_nodes(cells: Any, count: int, torn: Pairs) -> tuple[Any, Any]:
    """Elements (m, k) of ``count`` nodes with a node for every fan of those that hold together, and the nodes (n,) that
    these were. The fan with the lowest corner of an element keeps the node, the others come after all nodes."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    cells = np.asarray(cells, dtype=np.int64)
    m, k = cells.shape
    if not torn:
        return cells, np.arange(count)
    facets = find_facets(cells)
    code = facets.elements[:, 0] * m + facets.elements[:, 1]
    gone = np.isin(code, np.array([a * m + b for a, b in torn], dtype=np.int64))
    touched = np.zeros(count, dtype=bool)
    touched[facets.nodes[gone]] = True
    # corners are vertices of a graph, facets that hold join theirs
    place = facets.elements[~gone][:, :, None] * k + facets.corners[~gone]
    one, two = place[:, 0].reshape(-1), place[:, 1].reshape(-1)
    graph = coo_matrix((np.ones(len(one), dtype=np.int8), (one, two)), shape=(m * k, m * k))
    fan = connected_components(graph, directed=False)[1]
    lowest = np.full(int(fan.max()) + 1, m * k)
    np.minimum.at(lowest, fan, np.arange(m * k))
    flat = cells.reshape(-1).copy()
    corner = np.flatnonzero(touched[flat])
    leader = lowest[fan[corner]]
    fans = np.unique(leader)
    fans = fans[np.lexsort((fans, flat[fans]))]
    node = flat[fans]
    again = np.concatenate([[False], node[1:] == node[:-1]])
    number = node.copy()
    number[again] = count + np.arange(int(again.sum()))
    of_fan = np.zeros(m * k, dtype=np.int64)
    of_fan[fans] = number
    flat[corner] = of_fan[leader]
    return flat.reshape(m, k), np.concatenate([np.arange(count), node[again]])


def tear_mesh(x: Array, cells: Any, torn: Pairs) -> tuple[Array, Any, Any]:
    """Nodes (n, 3) and elements (m, k) of a mesh that has torn, and the nodes (n,) that they were."""
    cells, origin = split_nodes(cells, len(x), torn)
    return np.ascontiguousarray(x[origin]), cells, origin


# what is beyond its limit ---------------------------------------------------------------------------------------------


def measure(rest: Array, x: Array, cells: Any, limit: TearLimit, dimensions: int) -> Strain:
    """Stretch or stress of elements (m, k) of nodes at x (n, 3), at rest (n, 3) [m]."""
    k = cells.shape[1]
    edges, now = rest[cells[:, 1:]] - rest[cells[:, :1]], x[cells[:, 1:]] - x[cells[:, :1]]
    if k == 2:
        length = np.linalg.norm(now[:, 0], axis=1)
        along = now[:, 0] / np.maximum(length, 1e-300)[:, None]
        return Strain(length / np.linalg.norm(edges[:, 0], axis=1), along)
    s, U = _of_triangles(edges, now, dimensions) if k == 3 else _of_tetrahedra(edges, now)
    if limit.kind == "stretch":
        return Strain(s[:, 0], U[:, :, 0])
    assert limit.material is not None
    stress = principal_stress(limit.material, s)[:, : k - 1]
    largest = stress.argmax(axis=1)
    rows = np.arange(len(cells))
    return Strain(stress[rows, largest], U[rows, :, largest])


def _of_triangles(edges: Array, now: Array, dimensions: int) -> tuple[Array, Array]:
    """Stretches (m, 3), the third 1, and directions (m, 3, 2) of triangles with edges (m, 2, 3) at rest and now."""
    u, v = edges[:, 0], edges[:, 1]
    length = np.linalg.norm(u, axis=1)
    along = np.einsum("ei,ei->e", u, v) / length
    across = np.linalg.norm(np.cross(u, v), axis=1) / length
    # columns of F = (now) (edges in their own plane)^-1
    p = now[:, 0] / length[:, None]
    q = (now[:, 1] - along[:, None] * p) / across[:, None]
    a, b, c = (np.einsum("ei,ei->e", one, two) for one, two in ((p, p), (p, q), (q, q)))
    middle, half = 0.5 * (a + c), 0.5 * (a - c)
    first = np.sqrt(middle + np.hypot(half, b))
    angle = 0.5 * np.arctan2(b, half)
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    one, two = cos * p + sin * q, cos * q - sin * p
    second = np.linalg.norm(two, axis=1)
    if dimensions == 2:
        # inverted ones have a negative stretch
        second = np.copysign(second, p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0])
    U = np.stack([one / np.maximum(first, 1e-300)[:, None], two / np.maximum(abs(second), 1e-300)[:, None]], axis=2)
    return np.stack([first, second, np.ones(len(first))], axis=1), U


def _of_tetrahedra(edges: Array, now: Array) -> tuple[Array, Array]:
    """Stretches (m, 3) and directions (m, 3, 3) of tetrahedra with edges (m, 3, 3) at rest and now."""
    F = np.swapaxes(np.linalg.solve(edges, now), 1, 2)
    U, s, _ = np.linalg.svd(F)
    s[:, 2] = np.copysign(s[:, 2], np.linalg.det(F))
    return s, U


def principal_stress(material: Elastic, s: Array) -> Array:
    """Principal Cauchy stresses s_i g_i / J (m, 3) [Pa] of elements with stretches s (m, 3); -inf of crushed ones."""
    mu, lam = material.lame
    J = s.prod(axis=1)
    sound = J > SMALLEST_J
    safe = np.where(sound, J, 1.0)[:, None]
    if material.model == "stvk":
        strain = 0.5 * (s * s - 1.0)
        times = s * s * (2 * mu * strain + lam * strain.sum(axis=1)[:, None])
    elif material.model == "neo_hookean":
        times = mu * s * s + (lam * np.log(safe) - mu)
    else:
        times = 2 * mu * s * (s - 1.0) + lam * (J * (J - 1.0))[:, None]
    return np.where(sound[:, None], times / safe, -np.inf)


# where it tears -----------------------------------------------------------------------------------------------------


class Loaded(NamedTuple):
    """A mesh to be judged: nodes at x (n, 3) [m], elements (m, k), the share (m,) of their limit that they bear and its
    direction (m, 3), their volumes size (m,) at rest; free (n,): nodes that nothing holds, which alone split; cracked
    (n,): nodes of facets that have torn."""

    x: Array
    cells: Any
    share: Array
    direction: Array
    size: Array
    free: Any
    cracked: Any


def choose_rips(mesh: Loaded) -> list[Rip]:
    """Where a mesh tears now. In each connected patch of elements beyond their limit the one with the largest share
    tears at one of its nodes, and so do those at cracks that are beyond it by half as much, where their nodes have no
    element in common: a crack grows along all of its front, and an evenly loaded body tears at one place.

    The node is one on the rim or at a crack before one inside, then the one whose elements have the largest mean.
    """
    beyond = np.flatnonzero(mesh.share > 1.0)
    if not len(beyond):
        return []
    facets = find_facets(mesh.cells)
    rim = np.zeros(len(mesh.x), dtype=bool)
    rim[facets.rim] = True
    fans, found = _Fans(mesh.cells, facets), list[Rip]()
    for patch in _patches(mesh.cells, beyond, len(mesh.x)):
        taken, first, share = set[int](), True, mesh.share
        enough = 1.0 + 0.5 * (float(share[patch].max()) - 1.0)
        for e in patch[np.lexsort((patch, -share[patch]))].tolist():
            if not first and (share[e] < enough or not mesh.cracked[mesh.cells[e]].any()):
                continue
            rip = _rip_at(mesh, rim, fans, e, taken, None if first else mesh.cracked)
            if rip is not None:
                found.append(rip)
                taken.update(fans.of(rip.node)[0].tolist())
                first = False
    return found


def _patches(cells: Any, chosen: Any, count: int) -> Iterable[Any]:
    """Elements of ``chosen`` (b,) that have nodes in common, together; in the order of their lowest."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    nodes, rows = cells[chosen].reshape(-1), np.repeat(np.arange(len(chosen)), cells.shape[1])
    total = len(chosen) + count
    graph = coo_matrix((np.ones(len(rows), dtype=np.int8), (rows, len(chosen) + nodes)), shape=(total, total))
    zone = connected_components(graph, directed=False)[1][: len(chosen)]
    _, first = np.unique(zone, return_index=True)
    return [chosen[zone == zone[i]] for i in np.sort(first)]


class _Fans:
    """The elements about each node, and which of them share a facet that has the node."""

    def __init__(self, cells: Any, facets: Facets) -> None:
        m, k = cells.shape
        order = np.argsort(cells.reshape(-1), kind="stable")
        self._elements, self._nodes = order // k, cells.reshape(-1)[order]
        ends = facets.nodes.reshape(-1)
        facet = np.repeat(np.arange(len(facets.nodes)), facets.nodes.shape[1])
        order = np.argsort(ends, kind="stable")
        self._ends, self._pairs = ends[order], facets.elements[facet[order]]

    def of(self, node: int) -> tuple[Any, Any]:
        """Elements (f,) about a node, and the pairs (p, 2) of them that share a facet there."""
        a, b = np.searchsorted(self._nodes, [node, node + 1])
        c, d = np.searchsorted(self._ends, [node, node + 1])
        return self._elements[a:b], self._pairs[c:d]


def _rip_at(mesh: Loaded, rim: Any, fans: _Fans, e: int, taken: set[int], chosen: Any) -> Rip | None:
    """What parts at a node of element e, of the nodes ``chosen`` (n,) if given, whose elements none has ``taken``; None
    where none of its nodes can."""
    nodes = [int(n) for n in mesh.cells[e] if mesh.free[n] and (chosen is None or chosen[n])]
    about = {n: fans.of(n) for n in nodes}
    mean = {n: float(np.average(mesh.share[own], weights=mesh.size[own])) for n, (own, _) in about.items()}
    for node in sorted(nodes, key=lambda n: (not rim[n], -mean[n], n)):
        elements, pairs = about[node]
        if not taken.isdisjoint(elements.tolist()):
            continue
        along = _mean_direction(mesh, elements, mesh.direction[e])
        ahead = (mesh.x[mesh.cells[elements]].mean(axis=1) - mesh.x[node]) @ along > 0.0
        front = _two_sides(elements.tolist(), pairs.tolist(), ahead, mesh.size)
        parted = sorted((min(a, b), max(a, b)) for a, b in pairs.tolist() if (a in front) != (b in front))
        if parted:
            return Rip(tuple(parted), e, node)
    return None


def _mean_direction(mesh: Loaded, elements: Any, along: Array) -> Array:
    """The direction (3,) along which elements about a node are loaded: of the sum of share d d^T by volume, ``along``
    where that has none."""
    d = mesh.direction[elements]
    weight = mesh.size[elements] * np.maximum(mesh.share[elements], 0.0)
    values, vectors = np.linalg.eigh(np.einsum("e,ei,ej->ij", weight, d, d))
    return np.asarray(vectors[:, 2]) if values[2] > 1.01 * values[1] else along


def _two_sides(elements: Sequence[int], pairs: Sequence[Sequence[int]], ahead: Any, size: Array) -> set[int]:
    """The elements about a node ahead of a plane, made connected, and those behind it too: of each side its largest
    connected part stays, the others change sides. Empty where all are on one side."""
    front = {e for e, flag in zip(elements, ahead.tolist(), strict=True) if flag}
    front = _largest_part(front, pairs, size)
    back = _largest_part(set(elements) - front, pairs, size)
    front = set(elements) - back
    return front if front and back else set()


def _largest_part(chosen: set[int], pairs: Sequence[Sequence[int]], size: Array) -> set[int]:
    """The connected part of elements with the largest volume, the lowest number first among equals."""
    near: dict[int, list[int]] = {e: [] for e in chosen}
    for a, b in pairs:
        if a in near and b in near:
            near[a].append(b)
            near[b].append(a)
    best: tuple[float, set[int]] = (0.0, set())
    left = set(chosen)
    for start in sorted(chosen):
        if start not in left:
            continue
        part, waiting = {start}, [start]
        while waiting:
            for other in near[waiting.pop()]:
                if other not in part:
                    part.add(other)
                    waiting.append(other)
        left -= part
        volume = float(sum(size[e] for e in sorted(part)))
        if volume > best[0] * (1.0 + 1e-12):
            best = volume, part
    return best[1]
