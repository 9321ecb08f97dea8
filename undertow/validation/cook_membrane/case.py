"""Cook's membrane: a tapered panel clamped on the left, sheared on the right; compressible and nearly
incompressible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from undertow.soft import Elastic, SoftBodies, make_solid
from undertow.soft.meshes import grid_triangles
from undertow.soft.rings import RingRows
from undertow.validation.analysis import Quantity, observed_order, quantity
from undertow.validation.drawing import curves
from undertow.validation.soft_bodies import edge_load

E, TRACTION = 70e6, 6.25e6


def panel(cells: int, material: Elastic, crossed: bool) -> SoftBodies:
    """The panel (0, 0), (48, 44), (48, 60), (0, 44) mm with ``cells`` quadrilaterals per side.

    crossed: each of four triangles; else of two, all cut along the same diagonal, the mesh that locks most.
    """
    x, triangles = grid_triangles((1.0, 1.0), (cells, cells), crossed)
    if not crossed:
        j, i = (a.ravel() for a in np.meshgrid(np.arange(cells), np.arange(cells), indexing="ij"))
        a = j * (cells + 1) + i
        b, c, d = a + 1, a + cells + 2, a + cells + 1
        triangles = np.concatenate([np.stack([a, b, d], axis=1), np.stack([b, c, d], axis=1)])
    s, t = x[:, 0] + 0.5, x[:, 1] + 0.5
    low, high = 44.0 * s, 44.0 + 16.0 * s
    points = 1e-3 * np.stack([48.0 * s, low + t * (high - low), np.zeros(len(x))], axis=1)
    mass, elements = make_solid("panel", points, triangles, material)
    bodies = SoftBodies(2)
    bodies.add("panel", points, mass, [elements], triangles, triangles, closed=True)
    bodies.hold(np.flatnonzero(points[:, 0] < 1e-9))
    return bodies


def deflect(cells: int, ratio: float, rings: bool, crossed: bool = False) -> float:
    """Rise of the upper right corner [mm], small displacements.

    With rings the elements have the shear modulus alone and the rings of nodes the bulk: the energy
    lambda / 2 sum_i V_i (div_i)^2 of the averages over one-rings (Bonet and Burton 1998; thesis chapter 3).
    """
    import scipy.sparse as sparse
    import scipy.sparse.linalg

    material = Elastic(1000.0, E, ratio)
    mu, lam = material.lame
    if rings:
        # the same shear modulus, no bulk term: Poisson ratio 0 at E = 2 mu
        bodies = panel(cells, Elastic(1000.0, 2 * mu, 0.0), crossed)
    else:
        bodies = panel(cells, material, crossed)
    forces = bodies.forces
    blocks = forces.make_matrix()
    forces.assemble(bodies.rest, 1.0, 0.0, blocks)
    size = 3 * bodies.count
    matrix = forces.sparse_matrix(blocks)
    if rings:
        rows = RingRows(bodies, np.arange(bodies.count))
        matrix = matrix + rows.matrix().T @ sparse.diags(lam / rows.rest) @ rows.matrix()
    free = _free(bodies)
    nodes = np.flatnonzero(bodies.rest[:, 0] > 0.048 - 1e-9)
    nodes = nodes[np.argsort(bodies.rest[nodes, 1])]
    load = edge_load(bodies, nodes, np.array([0.0, TRACTION, 0.0]))
    u = np.zeros(size)
    u[free] = scipy.sparse.linalg.spsolve(matrix[free][:, free].tocsc(), load.reshape(-1)[free])
    return float(1e3 * u.reshape(-1, 3)[nodes[-1], 1])


def _free(bodies: SoftBodies) -> Any:
    free = np.zeros((bodies.count, 3), dtype=bool)
    free[:, :2] = (bodies.inv_mass > 0)[:, None]
    return np.flatnonzero(free.reshape(-1))


def deflect_quadratic(cells: int, ratio: float) -> float:
    """Rise of the upper right corner [mm] by quadratic triangles of six nodes, a method that shares nothing with the
    elements above but the mesh: four triangles per cell, plane strain, integrals exact by the middles of the edges."""
    import scipy.sparse as sparse
    import scipy.sparse.linalg

    material = Elastic(1000.0, E, ratio)
    mu, lam = material.lame
    bodies = panel(cells, material, True)
    x, t = bodies.rest[:, :2], bodies.parts[0].cells
    sides, which = np.unique(np.sort(t[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)), axis=0, return_inverse=True)
    nodes = np.concatenate([t, len(x) + which.reshape(-1, 3)], axis=1)
    points = np.concatenate([x, x[sides].mean(axis=1)])
    J = np.stack([x[t[:, 1]] - x[t[:, 0]], x[t[:, 2]] - x[t[:, 0]]], axis=2)
    slope = np.array([[-1, -1], [1, 0], [0, 1]]) @ np.linalg.inv(J)
    D = np.array([[lam + 2 * mu, lam, 0.0], [lam, lam + 2 * mu, 0.0], [0.0, 0.0, mu]])
    stiffness = np.zeros((len(t), 12, 12))
    for place in 0.5 * (1.0 - np.eye(3)):
        corner = (4 * place - 1)[:, None] * slope
        ahead = np.roll(np.arange(3), -1)
        middle = 4 * (place[:, None] * slope[:, ahead] + place[ahead, None] * slope)
        g = np.concatenate([corner, middle], axis=1)
        B = np.zeros((len(t), 3, 12))
        B[:, 0, 0::2], B[:, 1, 1::2] = g[:, :, 0], g[:, :, 1]
        B[:, 2, 0::2], B[:, 2, 1::2] = g[:, :, 1], g[:, :, 0]
        stiffness += (np.linalg.det(J) / 6)[:, None, None] * (np.swapaxes(B, 1, 2) @ D @ B)
    dof = np.stack([2 * nodes, 2 * nodes + 1], axis=2).reshape(-1, 12)
    rows, columns = np.repeat(dof, 12, axis=1), np.tile(dof, 12)
    matrix = sparse.csr_matrix((stiffness.ravel(), (rows.ravel(), columns.ravel())), shape=(2 * len(points),) * 2)
    load = np.zeros((len(points), 2))
    for edge in np.flatnonzero((x[sides][:, :, 0] > 0.048 - 1e-9).all(axis=1)):
        force = TRACTION * np.ptp(x[sides[edge], 1])
        load[sides[edge], 1] += force / 6
        load[len(x) + edge, 1] += force * 2 / 3
    free = np.flatnonzero(np.repeat(points[:, 0] > 1e-9, 2))
    u = np.zeros(2 * len(points))
    u[free] = scipy.sparse.linalg.spsolve(matrix[free][:, free].tocsc(), load.reshape(-1)[free])
    return float(1e3 * u.reshape(-1, 2)[np.argmax(x.sum(axis=1)), 1])


def extrapolate(a: float, b: float, c: float) -> float:
    """The limit of a series by Aitken's rule: the corners of the panel keep its order below that of the elements."""
    return c - (c - b) ** 2 / ((c - b) - (b - a))


def run(full: bool = False) -> Iterator[Quantity]:
    """Poisson ratio 1/3 on 64 cells; 0.499 on 8, 16 and 32 with and without rings, over quadratic triangles."""
    linear = [deflect(n, 1 / 3, False, crossed=True) for n in (8, 16, 32, 64)]
    yield quantity("linear", linear[-1], rises=linear)
    sizes = (8, 16, 32)
    exact = {ratio: extrapolate(*(deflect_quadratic(n, ratio) for n in sizes)) for ratio in (1 / 3, 0.499)}
    ringed = [deflect(n, 0.499, True) / exact[0.499] for n in sizes]
    plain = [deflect(n, 0.499, False) / exact[0.499] for n in sizes]
    softer = [deflect(n, 1 / 3, False) / exact[1 / 3] for n in sizes]
    drawn = curves(
        "Cook's membrane, linear triangles at two Poisson ratios", "elements per side",
        "rise of the corner over that of quadratic triangles",
        **{"0.499, one-rings": (sizes, ringed), "0.499": (sizes, plain), "1/3": (sizes, softer)},
    )  # fmt: skip
    yield quantity("rings_8", ringed[0], rings=ringed, plain=plain, softer=softer, exact=exact[0.499], curves=drawn)
    yield quantity("rings_32", ringed[-1])
    yield quantity("order", observed_order(sizes, [1 - r for r in ringed]))
    # the same mesh errs as much at 1/3, where nothing locks
    yield quantity("locking", max((1 - a) / (1 - b) for a, b in zip(ringed, softer, strict=True)))
    yield quantity("locked_8", plain[0])
    yield quantity("locked_32", plain[-1])
