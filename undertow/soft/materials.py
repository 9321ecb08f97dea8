"""From a mesh and numbers a user knows to elements: masses, finite elements, membranes, bending, springs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.grid import Array
from undertow.soft.simplices import MEMBRANE, MODELS, PLANE, SOLID, Simplices
from undertow.soft.springs import ALTITUDE, BEND, LENGTH, Springs


@dataclass(frozen=True)
class Elastic:
    """An isotropic elastic material: density [kg/m3], youngs_modulus [Pa], poisson_ratio [-], model of large strains
    (stvk, neo_hookean or corotated), damping [s]: Rayleigh, force of the stiffness at rest times this time."""

    density: float = 1000.0
    youngs_modulus: float = 1e5
    poisson_ratio: float = 0.3
    model: str = "corotated"
    damping: float = 0.0

    def __post_init__(self) -> None:
        for name in ("density", "youngs_modulus"):
            if not getattr(self, name) > 0:
                raise UserError(f"{name} = {getattr(self, name)}: must be positive")
        if not -1.0 < self.poisson_ratio < 0.5:
            raise UserError(
                f"poisson_ratio = {self.poisson_ratio}: must lie between -1 and 0.5, 0.5 itself being a constraint and "
                f"no modulus"
            )
        if self.model not in MODELS:
            raise UserError(f"model = {self.model!r}: unknown; the models are {', '.join(MODELS)}")
        if not self.damping >= 0:
            raise UserError(f"damping = {self.damping}: must not be negative; give a time in s")

    @property
    def lame(self) -> tuple[float, float]:
        """(mu, lambda) [Pa]."""
        E, nu = self.youngs_modulus, self.poisson_ratio
        return E / (2 * (1 + nu)), E * nu / ((1 + nu) * (1 - 2 * nu))


def cell_volumes(x: Array, cells: Any, dimensions: int = 3) -> Array:
    """Signed volumes (m,) of tetrahedra [m3], areas of triangles in the x-y plane [m2]."""
    edges = x[cells[:, 1:]] - x[cells[:, :1]]
    if cells.shape[1] == 4:
        (ax, ay, az), (bx, by, bz), (cx, cy, cz) = (edges[:, i].T for i in range(3))
        volume = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
        return np.asarray(volume / 6.0)
    return np.asarray(0.5 * (edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0]))


def _check_cells(name: str, volume: Array) -> None:
    """Elements must have a volume, and all the same orientation."""
    scale = float(np.abs(volume).mean()) if len(volume) else 0.0
    bad = np.flatnonzero(~(volume > 1e-9 * scale))
    if len(bad):
        what = "inverted (negative volume)" if volume[bad[0]] < 0 else "without volume"
        raise UserError(
            f"{name}: element {bad[0]} is {what}, {len(bad)} of {len(volume)} are like it; number the nodes of every "
            f"element right-handed and remove those without volume"
        )


def _lumped(count: int, cells: Any, mass: Array) -> Array:
    """Masses of elements shared evenly by their nodes (n,)."""
    k = cells.shape[1]
    return np.asarray(np.bincount(cells.reshape(-1), weights=np.repeat(mass / k, k), minlength=count), dtype=float)


def make_solid(name: str, x: Array, cells: Any, material: Elastic) -> tuple[Array, Simplices]:
    """(masses (n,), elements) of a solid of tetrahedra (m, 4), or of triangles (m, 3) in the x-y plane under plane
    strain."""
    cells = np.ascontiguousarray(cells, dtype=np.int64)
    volume = cell_volumes(x, cells)
    _check_cells(name, volume)
    axes = cells.shape[1] - 1
    edges = (x[cells[:, 1:]] - x[cells[:, :1]])[:, :, :axes]
    gradient = np.zeros((*cells.shape, 3))
    # rows of edges times gradients is the identity: columns of the inverse are the gradients of nodes 1 ... k-1
    gradient[:, 1:, :axes] = np.linalg.inv(edges).transpose(0, 2, 1)
    gradient[:, 0] = -gradient[:, 1:].sum(axis=1)
    mu, lam = material.lame
    kind = SOLID if axes == 3 else PLANE
    return _lumped(len(x), cells, material.density * volume), _simplices(
        cells, gradient, volume, mu, lam, material, kind
    )


def make_membrane(name: str, x: Array, triangles: Any, material: Elastic, thickness: float) -> tuple[Array, Simplices]:
    """(masses (n,), elements) of a thin sheet in space, plane stress; thickness [m]."""
    triangles = np.ascontiguousarray(triangles, dtype=np.int64)
    u, v = x[triangles[:, 1]] - x[triangles[:, 0]], x[triangles[:, 2]] - x[triangles[:, 0]]
    length = np.linalg.norm(u, axis=1)
    first = u / np.where(length > 0, length, 1.0)[:, None]
    along = np.einsum("ei,ei->e", v, first)
    across = np.linalg.norm(v - along[:, None] * first, axis=1)
    area = 0.5 * length * across
    _check_cells(name, area)
    gradient = np.zeros((*triangles.shape, 3))
    gradient[:, 1, 0], gradient[:, 1, 1] = 1 / length, -along / (length * across)
    gradient[:, 2, 1] = 1 / across
    gradient[:, 0] = -gradient[:, 1:].sum(axis=1)
    mu, lam = material.lame
    plane_stress = 2 * mu * lam / (lam + 2 * mu)
    volume = thickness * area
    elements = _simplices(triangles, gradient, volume, mu, plane_stress, material, MEMBRANE)
    return _lumped(len(x), triangles, material.density * volume), elements


def _simplices(
    cells: Any, gradient: Array, volume: Array, mu: float, lam: float, material: Elastic, kind: int
) -> Simplices:
    m = len(cells)
    return Simplices(
        cells, gradient, np.ascontiguousarray(volume), np.full(m, mu), np.full(m, lam),
        np.full(m, float(material.damping)),
        np.full(m, MODELS[material.model], dtype=np.int64), np.full(m, kind, dtype=np.int64),
    )  # fmt: skip


def find_hinges(name: str, triangles: Any) -> Any:
    """Nodes (m, 4) of the inner edges: the edge as its first triangle has it, then the opposite nodes of both
    triangles."""
    seen: dict[tuple[int, int], tuple[int, int, int]] = {}
    hinges = []
    for i, triangle in enumerate(np.asarray(triangles).tolist()):
        for a, b, c in (triangle, triangle[1:] + triangle[:1], triangle[2:] + triangle[:2]):
            key = (min(a, b), max(a, b))
            if key not in seen:
                seen[key] = (a, b, c)
                continue
            first = seen[key]
            if first[2] < 0:
                raise UserError(
                    f"{name}: the edge of nodes {key} has more than two triangles; cloth must be a manifold: split it "
                    f"there"
                )
            if first[:2] == (a, b):
                raise UserError(
                    f"{name}: triangle {i} and its neighbour at the edge of nodes {key} are wound opposite ways; turn "
                    f"one over"
                )
            hinges.append((*first, c))
            seen[key] = (*first[:2], -1)
    return np.array(hinges, dtype=np.int64).reshape(-1, 4)


def find_neighbours(name: str, triangles: Any) -> Any:
    """Nodes (m, 3) opposite to the edges 01, 12, 20 of every triangle in its neighbour, -1 at the rim."""
    hinges = find_hinges(name, triangles)
    beyond = {(a, b): d for a, b, _, d in hinges.tolist()} | {(b, a): c for a, b, c, _ in hinges.tolist()}
    rows = np.asarray(triangles).tolist()
    found = [[beyond.get((t[i], t[(i + 1) % 3]), -1) for i in range(3)] for t in rows]
    return np.array(found, dtype=np.int64).reshape(-1, 3)


def make_bending(
    name: str, x: Array, triangles: Any, rigidity: float, damping: float = 0.0, held: Any = None
) -> Springs:  # fmt: skip
    """Bending of a sheet that has no moment in the shape it is given; rigidity B [N m], damping [s].

    The normals at the middles of the edges make a shape operator per triangle (Grinspun, Gingold, Reisman and Zorin
    2006), L = sum_i a_i l_i / (2 A) t_i (x) t_i  with dihedral angles a_i, edges l_i and unit normals t_i of the
    edges in the plane, exact for quadratic surfaces; the energy A B / 2 L:L (Poisson ratio 0) is a quadratic form of
    the three angles, whose eigenvectors are the weights of three springs. At the rim the angle is free: no moment
    acts there.

    held (n,): nodes that move as one rigid thing. A triangle of three of them does not bend, so that beside it the
    normal at the middle of the common edge is its own, not the mean of both: the whole angle belongs to the other
    triangle, 2 a_i in the place of a_i. The sheet is clamped at that edge, and not half a triangle inside.
    """
    triangles = np.ascontiguousarray(triangles, dtype=np.int64)
    beyond = find_neighbours(name, triangles)
    p = x[triangles]
    edges = np.roll(p, -1, axis=1) - p
    length = np.linalg.norm(edges, axis=2)
    area = 0.5 * np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    unit = edges / length[:, :, None]
    # (t_i (x) t_i) : (t_j (x) t_j) = (t_i . t_j)^2, the same for the edges themselves
    product = np.einsum("eik,ejk->eij", unit, unit) ** 2
    rigid, clamped = _clamped(triangles, held)
    # lengths of edges, twice at a clamp; triangles that do not bend have no energy
    lever = np.where(clamped, 2.0, 1.0) * length * ~rigid[:, None]
    form = rigidity / (4 * area)[:, None, None] * lever[:, :, None] * lever[:, None, :] * product
    form = _release(form, beyond < 0)
    values, vectors = np.linalg.eigh(form)
    nodes = np.concatenate([triangles, np.where(beyond < 0, triangles[:, :1], beyond)], axis=1)
    angles = np.stack([_dihedral(x, triangles, beyond, i) for i in range(3)], axis=1)
    kept = values > 1e-12 * values.max()
    element, mode = np.nonzero(kept)
    weight = np.ascontiguousarray(vectors[element, :, mode])
    weight[beyond[element] < 0] = 0.0
    rest = np.einsum("mi,mi->m", weight, angles[element])
    return _springs(nodes[element], rest, values[kept], damping * values[kept], BEND, weight)


def _clamped(triangles: Any, held: Any) -> tuple[Any, Any]:
    """Which triangles (m,) have three held nodes, and at which edges (m, 3) of the others such a one lies."""
    rigid = np.zeros(len(triangles), dtype=bool)
    clamped = np.zeros((len(triangles), 3), dtype=bool)
    if held is None or not np.any(held):
        return rigid, clamped
    rigid = np.asarray(held)[triangles].all(axis=1)
    ends = np.sort(np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2), axis=2)
    of_rigid = {tuple(edge) for edge in ends[rigid].reshape(-1, 2).tolist()}
    for i in np.flatnonzero(~rigid):
        clamped[i] = [tuple(edge) in of_rigid for edge in ends[i].tolist()]
    return rigid, clamped


def _release(form: Array, free: Any) -> Array:
    """Quadratic forms (m, 3, 3) after their free angles (m, 3) have taken the value of least energy."""
    form = form.copy()
    for i in range(3):
        rows = np.flatnonzero(free[:, i])
        q = form[rows]
        pivot = q[:, i, i]
        safe = np.where(pivot > 0, pivot, 1.0)
        form[rows] = q - q[:, :, i, None] * q[:, None, i, :] / safe[:, None, None]
        form[rows, i, :] = 0.0
        form[rows, :, i] = 0.0
    return form


def _dihedral(x: Array, triangles: Any, beyond: Any, i: int) -> Array:
    """Angle at edge i of every triangle (m,), 0 at the rim."""
    a, b, c = (x[triangles[:, (i + j) % 3]] for j in range(3))
    d = x[np.maximum(beyond[:, i], 0)]
    e = b - a
    n, m = np.cross(a - c, b - c), np.cross(b - d, a - d)
    length = np.linalg.norm(e, axis=1)
    angle = np.arctan2(np.einsum("ei,ei->e", np.cross(m, n), e) / length, np.einsum("ei,ei->e", n, m))
    return np.asarray(np.where(beyond[:, i] < 0, 0.0, angle))


def make_edges(name: str, x: Array, edges: Any, stiffness: float, damping: float = 0.0) -> Springs:
    """Springs along edges (m, 2): stiffness [N], force per strain; damping [s]."""
    edges = np.ascontiguousarray(edges, dtype=np.int64)
    rest = np.linalg.norm(x[edges[:, 1]] - x[edges[:, 0]], axis=1)
    short = np.flatnonzero(~(rest > 0))
    if len(short):
        raise UserError(f"{name}: edge {short[0]} has no length; remove it")
    k = stiffness / rest
    return _springs(edges, rest, k, damping * k, LENGTH)


def make_altitudes(name: str, x: Array, cells: Any, stiffness: float, damping: float = 0.0) -> Springs:
    """Springs from every node of every tetrahedron (m, 4), or 2D triangle (m, 3), to the opposite face: stiffness
    [N], force per strain; damping [s] (Selle, Lentine and Fedkiw 2008)."""
    cells = np.ascontiguousarray(cells, dtype=np.int64)
    _check_cells(name, cell_volumes(x, cells))
    if cells.shape[1] == 3:
        nodes = np.concatenate([cells[:, [0, 1, 2]], cells[:, [1, 2, 0]], cells[:, [2, 0, 1]]])
        t = x[nodes[:, 2]] - x[nodes[:, 1]]
        normal = np.stack([-t[:, 1], t[:, 0], np.zeros(len(t))], axis=1)
    else:
        # the face seen from the node is wound so that its normal points to the node
        nodes = np.concatenate(
            [cells[:, [0, 1, 2, 3]], cells[:, [1, 0, 3, 2]], cells[:, [2, 0, 1, 3]], cells[:, [3, 0, 2, 1]]]
        )
        normal = np.cross(x[nodes[:, 2]] - x[nodes[:, 1]], x[nodes[:, 3]] - x[nodes[:, 1]])
        below = np.einsum("ei,ei->e", normal, x[nodes[:, 0]] - x[nodes[:, 1]]) < 0
        nodes[below] = nodes[below][:, [0, 1, 3, 2]]
        normal[below] *= -1
    rest = np.einsum("ei,ei->e", normal, x[nodes[:, 0]] - x[nodes[:, 1]]) / np.linalg.norm(normal, axis=1)
    k = stiffness / rest
    return _springs(nodes, rest, k, damping * k, ALTITUDE)


def _springs(
    nodes: Any, rest: Array, stiffness: Array, damping: Array, kind: int, weight: Array | None = None
) -> Springs:
    rest, stiffness, damping = (np.ascontiguousarray(a, dtype=float) for a in (rest, stiffness, damping))
    kinds = np.full(len(nodes), kind, dtype=np.int64)
    weight = np.zeros((len(nodes), 3)) if weight is None else weight
    turn = np.zeros((len(nodes), 3))
    return Springs(np.ascontiguousarray(nodes, dtype=np.int64), rest, stiffness, damping, weight, kinds, turn)
