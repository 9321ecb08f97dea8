"""Cook's membrane: a tapered panel clamped on the left, sheared on the right; compressible and nearly
incompressible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from undertow.soft import Elastic, SoftBodies, make_solid
from undertow.soft.meshes import grid_triangles
from undertow.soft.rings import RingRows
from undertow.validation.analysis import Quantity, quantity
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


def run(full: bool = False) -> Iterator[Quantity]:
    """Poisson ratio 1/3 on 64 cells; 0.499 on 8, 16 and 32 with and without rings."""
    sizes = (8, 16, 32, 64)
    linear = [deflect(n, 1 / 3, False, crossed=True) for n in sizes]
    yield quantity("linear", linear[-1], sizes=sizes, rises=linear)
    ringed = [deflect(n, 0.499, True) for n in sizes]
    plain = [deflect(n, 0.499, False) for n in sizes]
    # corners keep the order near one and a half: from the last three, by Aitken's rule
    a, b, c = ringed[1:]
    exact = c - (c - b) ** 2 / ((c - b) - (b - a))
    drawn = curves(
        "Cook's membrane, Poisson ratio 0.499", "elements per side", "rise of the corner [mm]",
        with_one_rings=(sizes, ringed), without=(sizes, plain), of_extrapolation=(sizes, [exact] * len(sizes)),
    )  # fmt: skip
    yield quantity("rings_8", ringed[0] / exact, rings=ringed, plain=plain, extrapolated=exact, curves=drawn)
    yield quantity("rings_32", ringed[2] / exact)
    yield quantity("locked_8", plain[0] / exact)
