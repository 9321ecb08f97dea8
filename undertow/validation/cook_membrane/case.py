"""Cook's membrane: a tapered panel clamped on the left, sheared on the right; compressible and nearly
incompressible."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.grid import Array
from undertow.validation.analysis import Quantity, observed_order, quantity
from undertow.validation.drawing import curves

E, TRACTION = 70e6, 6.25e6
WIDTH = 0.048
CORNERS = ((0.0, 0.0), (WIDTH, 0.044), (WIDTH, 0.06), (0.0, 0.044))
SMALL = 1e-3
STEPS = 1
"""Steps of 1 s, thousands of times the slowest vibration: backward Euler is at rest after one."""
NEAR = 0.49999
"""Poisson ratio at which quadratic triangles stand for a solid that keeps its volume."""
SIZES = (8, 16, 32)
SMOKE = {"SIZES": (4, 5, 6)}


def deflect(cells: int, ratio: float, rings: bool) -> float:
    """Rise of the upper right corner [mm] of the panel (0, 0), (48, 44), (48, 60), (0, 44) mm in a scene, elements of
    1/``cells`` of its width, at rest by long steps of the implicit stepper; small displacements: a part SMALL of the
    traction, the rise taken back to the whole.

    With rings it keeps its volume, ``incompressible = true``, with the shear modulus of ``ratio``; else it has that
    Poisson ratio.
    """
    shear = E / (2.0 * (1.0 + ratio))
    edge = ut.Box(size=(1e-4, 1.0))
    right = {"shape": edge, "position": (WIDTH, 0.0)}
    panel = ut.SoftBody(
        shape=ut.Polygon(points=CORNERS), position=(0.0, 0.0), element_size=WIDTH / cells, density=1000.0,
        youngs_modulus=3.0 * shear if rings else E, poisson_ratio=0.5 if rings else ratio, incompressible=rings,
        holds=(ut.Hold(shape=edge, position=(0.0, 0.0)),),
        loads=({"type": "traction", "traction": (0.0, SMALL * TRACTION), "region": right},),
    )  # fmt: skip
    scene = ut.Scene(
        name="cook-membrane", gravity=(0.0, 0.0), time=ut.Time(end=STEPS, frame_rate=1.0),
        soft=ut.Soft(tolerance=1e-7), objects={"panel": panel},
    )  # fmt: skip
    sim = ut.Simulation(scene)
    start = sim.nodes("panel").position.copy()
    sim.advance_to(STEPS)
    corner = np.argmax(start[:, 0] + start[:, 1])
    return float(1e3 * (sim.nodes("panel").position - start)[corner, 1] / SMALL)


def crossed_mesh(cells: int) -> tuple[Array, np.ndarray]:
    """Nodes (n, 2) [m] and triangles (m, 3) of ``cells`` quadrilaterals per side, each of four triangles."""
    k = cells + 1
    s, t = (a.ravel() for a in np.meshgrid(np.linspace(0, 1, k), np.linspace(0, 1, k)))
    m = 0.5 * (np.arange(cells) * 2 + 1) / cells
    sm, tm = (a.ravel() for a in np.meshgrid(m, m))
    s, t = np.concatenate([s, sm]), np.concatenate([t, tm])
    j, i = (a.ravel() for a in np.meshgrid(np.arange(cells), np.arange(cells), indexing="ij"))
    a, middle = j * k + i, k * k + np.arange(cells * cells)
    ring = np.stack([a, a + 1, a + k + 1, a + k], axis=1)
    triangles = [np.stack([ring[:, n], ring[:, (n + 1) % 4], middle], axis=1) for n in range(4)]
    x = 1e-3 * np.stack([48.0 * s, 44.0 * s + t * (44.0 - 28.0 * s)], axis=1)
    return x, np.concatenate(triangles)


def deflect_quadratic(cells: int, ratio: float) -> float:
    """Rise of the upper right corner [mm] by quadratic triangles of six nodes, a method that shares nothing with the
    elements above but the mesh: four triangles per cell, plane strain, integrals exact by the middles of the edges."""
    import scipy.sparse as sparse
    import scipy.sparse.linalg

    mu, lam = E / (2.0 * (1.0 + ratio)), E * ratio / ((1.0 + ratio) * (1.0 - 2.0 * ratio))
    x, t = crossed_mesh(cells)
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
    """Poisson ratio 1/3 on 64 elements; with rings, and without at 0.499, on 8, 16 and 32, over quadratic triangles."""
    linear = [deflect(n, 1 / 3, False) for n in (*SIZES, 64)]
    yield quantity("linear", linear[-1], rises=linear)
    exact = {ratio: extrapolate(*(deflect_quadratic(n, ratio) for n in (8, 16, 32))) for ratio in (1 / 3, 0.499, NEAR)}
    ringed = [deflect(n, 0.5, True) / exact[NEAR] for n in SIZES]
    plain = [deflect(n, 0.499, False) / exact[0.499] for n in SIZES]
    softer = [rise / exact[1 / 3] for rise in linear[: len(SIZES)]]
    drawn = curves(
        "Cook's membrane, linear triangles", "elements per side", "rise of the corner over that of quadratic triangles",
        **{"one-rings keep their volume": (SIZES, ringed), "without, at 0.499": (SIZES, plain), "1/3": (SIZES, softer)},
    )  # fmt: skip
    yield quantity("rings_8", ringed[0], rings=ringed, plain=plain, softer=softer, exact=exact[NEAR], curves=drawn)
    yield quantity("rings_32", ringed[-1])
    yield quantity("order", observed_order(SIZES, [1 - r for r in ringed]))
    # the same mesh errs as much at 1/3, where nothing locks
    yield quantity("locking", max((1 - a) / (1 - b) for a, b in zip(ringed, softer, strict=True)))
    yield quantity("locked_8", plain[0], info=True)
    yield quantity("locked_32", plain[-1], info=True)
