"""Soft surfaces against each other: distances, sweeps and overlaps against brute force, momenta, cloth stays apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import undertow as ut
import undertow.soft.collision as collision
from undertow.soft.boxes import BoxTree, _split
from undertow.soft.collision import SurfaceCollisions, _sweep_stencils
from undertow.soft.meshes import grid_triangles
from undertow.soft.outlines import OutlineCollisions
from undertow.solids.soft_part import SoftPart
from undertow.validation.cloth_knot.case import drop


def _sweep(edges: bool, x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
    nodes = np.arange(len(x)).reshape(-1, 4)
    m = len(nodes)
    out = np.zeros(m), np.zeros(m), np.zeros((m, 4)), np.zeros((m, 3))
    _sweep_stencils(nodes, edges, x, u, 0.0, np.full(m, 10.0), *out, 0, m)
    return out


def _nearest(edges: bool, p: np.ndarray) -> float:
    """Distance of a node and a triangle, or of two edges, by trying points of both."""
    s = np.linspace(0.0, 1.0, 41)
    if edges:
        one, two = p[0] + s[:, None] * (p[1] - p[0]), p[2] + s[:, None] * (p[3] - p[2])
        return float(np.linalg.norm(one[:, None] - two[None], axis=2).min())
    a, b = np.meshgrid(s, s)
    inside = a + b <= 1 + 1e-12
    points = p[1] + a[inside][:, None] * (p[2] - p[1]) + b[inside][:, None] * (p[3] - p[1])
    return float(np.linalg.norm(p[0] - points, axis=1).min())


@pytest.mark.parametrize("edges", [False, True])
def test_distances_and_sweeps(edges: bool) -> None:
    """Nearest points against trial, also of parallel and flat ones; a sweep stops before the first contact."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(60, 4, 3))
    x[:10, :, 2] = 0.0
    x[10:20, 3] = x[10:20, 2] + (x[10:20, 1] - x[10:20, 0])
    u = 2.0 * rng.normal(size=x.shape)
    distance, time, weight, normal = _sweep(edges, x.reshape(-1, 3), u.reshape(-1, 3))
    assert np.abs(weight.sum(axis=1)).max() < 1e-12
    tolerance = 0.1
    for i in range(len(x)):
        assert distance[i] <= _nearest(edges, x[i]) + 1e-9
        assert distance[i] >= _nearest(edges, x[i]) - tolerance
        end = min(time[i], 1.0)
        gaps = [_nearest(edges, x[i] + t * u[i]) for t in np.linspace(0.0, end, 30)]
        if distance[i] > 0:
            # never further than the first time it is near, and near when it stops
            assert min(gaps) >= 0.1 * distance[i]
            assert time[i] > 1.0 or gaps[-1] <= 0.2 * distance[i] + tolerance
    assert (time <= 1.0).sum() >= 5 and (time > 1.0).sum() >= 5


@pytest.mark.parametrize("count", [1, 2, 3, 8, 9, 100])
def test_the_order_of_a_tree_halves_the_longest_extent(count: int) -> None:
    """Against the recursion that defines it, with places that are equal too."""

    def halve(here: list[int]) -> list[int]:
        if len(here) < 2:
            return here
        axis = int(np.ptp(centres[here], axis=0).argmax())
        here = sorted(here, key=lambda i: centres[i, axis])
        left = 1 << (len(here) - 1).bit_length() - 1
        return halve(here[:left]) + halve(here[left:])

    centres = np.random.default_rng(count).integers(0, 6, size=(count, 3)).astype(float)
    assert _split(centres).tolist() == halve(list(range(count)))


def test_overlaps_are_those_of_brute_force() -> None:
    rng = np.random.default_rng(3)
    low = rng.uniform(size=(37, 3))
    boxes = np.concatenate([low, low + 0.2 * rng.uniform(size=(37, 3))], axis=1)
    tree = BoxTree(boxes[:, :3])
    tree.fit(boxes)
    meet = ((boxes[:, None, :3] <= boxes[None, :, 3:]) & (boxes[None, :, :3] <= boxes[:, None, 3:])).all(axis=2)
    assert {tuple(p) for p in tree.overlaps(boxes).tolist()} == {tuple(p) for p in np.argwhere(meet).tolist()}
    once = tree.overlaps(boxes, np.arange(37))
    assert {tuple(p) for p in once.tolist()} == {tuple(p) for p in np.argwhere(np.triu(meet, 1)).tolist()}
    # some of the things, each of two nodes: no pair twice, none with a common node
    some, nodes = np.sort(rng.permutation(37)[:20]), rng.integers(0, 12, size=(37, 2))
    found = tree.overlaps(np.ascontiguousarray(boxes[some]), some, (np.ascontiguousarray(nodes[some]), nodes))
    joined = (nodes[:, None, :, None] == nodes[None, :, None, :]).any(axis=(2, 3))
    wanted = {(min(p), max(p)) for p in np.argwhere(meet & ~joined).tolist() if p[0] in some and p[0] != p[1]}
    assert sorted((min(some[q], t), max(some[q], t)) for q, t in found.tolist()) == sorted(wanted)


def _sheets() -> tuple[SurfaceCollisions, np.ndarray, np.ndarray]:
    """Two sheets that fly through each other within a step of 0.01 s."""
    x, triangles = grid_triangles((1.0, 1.0), (6, 6), crossed=False)
    n = len(x)
    x = np.concatenate([x, x + np.array([0.03, 0.05, 0.02])])
    v = 0.5 * np.random.default_rng(1).normal(size=x.shape)
    v[n:, 2] -= 6.0
    surfaces = SurfaceCollisions(
        x, np.concatenate([triangles, triangles + n]), np.full(2 * n, 1e-3), np.full(2 * n, 0.3)
    )
    return surfaces, x, v


@pytest.mark.parametrize("rounds", [8, 0])
def test_sheets_do_not_pass(rounds: int, monkeypatch: Any) -> None:
    """By impulses, or, without any, joined to rigid bodies: nothing crosses, momenta are kept."""
    monkeypatch.setattr(collision, "ROUNDS", rounds)
    surfaces, x, v = _sheets()
    dt, mass = 0.01, np.ones(len(x))
    n = len(x) // 2
    assert (x + dt * v)[n:, 2].max() < (x + dt * v)[:n, 2].min()
    way, end = v.copy(), v.copy()
    report = surfaces.resolve(x, way, end, dt, 1.0 / mass)
    assert (report.pushed > 0) == (rounds > 0) and (report.joined > 0) == (rounds == 0)
    assert surfaces.crossings(x + dt * way) == 0
    assert (x + dt * way)[n:, 2].mean() > (x + dt * way)[:n, 2].mean()
    assert np.allclose(end.sum(axis=0), v.sum(axis=0))
    assert (end**2).sum() < (v**2).sum()
    # impulses act at the place of the contact, not at the start of the step: to first order in the step
    L = [np.cross(x + 0.5 * dt * u, u).sum(axis=0) for u in (v, end)]
    assert np.allclose(L[0], L[1], atol=0.02 * np.linalg.norm(np.cross(x, v), axis=1).sum())


def test_cloth_on_a_ball_stays_untangled() -> None:
    """By the linearised step; nor does the energy, 1.1 J at first, ever rise."""
    worst, met, _, lowest, rise = drop(10, 0.8)
    assert worst == 0 and met > 0 and lowest > -2e-3 and rise < 1e-6


def test_soft_bodies_bounce_off_each_other() -> None:
    """Two soft boxes meet in space: they do not pass, and keep their momentum."""
    box = {
        "shape": ut.Box(size=(0.2, 0.2, 0.2)), "element_size": 0.1, "youngs_modulus": 2e4, "damping": 0.005,
    }  # fmt: skip
    scene = ut.Scene(
        name="pair", time=ut.Time(end=0.5, frame_rate=10, max_step=0.005), gravity=(0.0, 0.0, 0.0),
        objects={
            "left": ut.SoftBody(position=(-0.15, 0.0, 0.0), velocity=(1.0, 0.0, 0.0), **box),
            "right": ut.SoftBody(position=(0.15, 0.03, 0.02), velocity=(-1.0, 0.0, 0.0), **box),
        },
    )  # fmt: skip
    sim = ut.Simulation(scene)
    rows = [sim.step().ledger for _ in range(60)]
    assert max(row["soft_collisions"] for row in rows) > 0
    assert rows[-1]["momentum_x"] == pytest.approx(0.0, abs=0.05)
    assert sim.body("left").velocity[0] < -0.1 < 0.1 < sim.body("right").velocity[0]
    assert sim.part(SoftPart).soft_solids.surfaces.crossings(sim.part(SoftPart).soft.x) == 0


def test_outlines_find_what_brute_force_finds() -> None:
    """Nodes and edges in the plane that come within their thickness, or cross, on a straight way."""
    rng = np.random.default_rng(6)
    n = 24
    x = np.stack([rng.uniform(0.0, 1.0, n), rng.uniform(0.0, 1.0, n), np.zeros(n)], axis=1)
    edges = np.arange(n).reshape(-1, 2)
    u = 0.2 * np.stack([rng.normal(size=n), rng.normal(size=n), np.zeros(n)], axis=1)
    reach = np.full(n, 0.01)
    found = OutlineCollisions(x, edges, reach, np.zeros(n)).meeting(x, u)
    pairs = {(int(p), int(a)) for p, a in found.nodes[:, :2]}
    expected, t = set(), np.linspace(0.0, 1.0, 401)[:, None]
    for p in range(n):
        for a, b in edges:
            if p in (a, b):
                continue
            P, A, B = (x[i] + t * u[i] for i in (p, a, b))
            along = np.clip(((P - A) * (B - A)).sum(axis=1) / ((B - A) ** 2).sum(axis=1), 0.0, 1.0)
            gap = np.linalg.norm(P - A - along[:, None] * (B - A), axis=1)
            if gap.min() < 1e-3 or gap[0] < 0.02:
                expected.add((p, int(a)))
    assert len(expected) > 10 and expected <= pairs
    # weights of a node and two ends, and a normal of length 1 in the plane
    assert np.allclose(found.weight.sum(axis=1), 0.0) and np.abs(found.weight[:, 3]).max() == 0.0
    assert np.allclose(np.linalg.norm(found.normal, axis=1), 1.0) and np.abs(found.normal[:, 2]).max() == 0.0


@pytest.mark.parametrize("stepper", ["implicit", "newmark"])
def test_discs_in_the_plane_bounce_off_each_other(stepper: Any) -> None:
    """Off their centres and with friction: they begin to turn, and keep both momenta."""
    disc = {
        "shape": ut.Sphere(radius=0.2), "element_size": 0.1, "youngs_modulus": 2e4, "damping": 1e-3,
        "incompressible": stepper == "implicit",
    }  # fmt: skip
    scene = ut.Scene(
        name="discs", time=ut.Time(end=1.0, frame_rate=10, max_step=0.005 if stepper == "implicit" else 0.002),
        gravity=(0.0, 0.0), soft=ut.Soft(stepper=stepper),
        objects={
            "left": ut.SoftBody(position=(-0.25, 0.0), velocity=(1.5, 0.0), **disc),
            "right": ut.SoftBody(position=(0.25, 0.1), velocity=(-1.5, 0.0), **disc),
        },
    )  # fmt: skip
    sim = ut.Simulation(scene)
    solids, soft = sim.part(SoftPart).soft_solids, sim.part(SoftPart).soft
    rows, before = [], soft.momentum()[1][2]
    while sim.time < 0.15:
        rows.append(sim.step().ledger)
        assert solids.surfaces.crossings(soft.x) == 0
    assert rows[-1]["angular_momentum_z"] == pytest.approx(before, rel=0.02)
    energy = np.array([row["energy"] for row in rows])
    assert max(row["soft_collisions"] for row in rows) > 1
    assert np.diff(energy).max() < 5e-3 * energy[0] and energy[-1] < 0.95 * energy[0]
    assert abs(rows[-1]["momentum_x"]) < 1e-8 * 190.0
    assert sim.body("left").velocity[0] < -0.2 and sim.body("right").velocity[0] > 0.2


def test_a_rope_hangs_over_another() -> None:
    """Edges of ropes meet edges: one falls across a taut one and does not pass it; nor does the energy rise."""
    rope = {"element_size": 0.1, "density": 0.1, "stretching": 50.0, "damping": 0.01, "thickness": 0.01}
    holds = tuple(ut.Hold(shape=ut.Sphere(radius=0.02), position=(x, 0.0, 0.0)) for x in (-0.5, 0.5))
    scene = ut.Scene(
        name="ropes", time=ut.Time(end=1.0, frame_rate=10, max_step=0.01), soft=ut.Soft(tolerance=0.01),
        objects={
            "taut": ut.Rope(position=(-0.5, 0.0, 0.0), end=(0.5, 0.0, 0.0), holds=holds, **rope),
            "loose": ut.Rope(position=(0.02, 0.05, -0.3), end=(0.02, 0.05, 0.3), **rope),
        },
    )  # fmt: skip
    sim = ut.Simulation(scene)
    soft = sim.part(SoftPart).soft
    energy = []
    while sim.time < 0.3:
        energy.append(sim.step().ledger["energy"])
    taut, loose = (soft.x[part.nodes] for part in soft.parts)
    # free fall would be 0.44 m: the middle of the loose one lies on that of the other, its ends hang below
    assert loose[3, 1] > taut[5, 1] > -0.25 and loose[[0, -1], 1].max() < taut[5, 1] - 0.1
    assert np.diff(energy).max() < 1e-6


def test_a_rope_of_the_plane_catches_a_disc() -> None:
    holds = tuple(ut.Hold(shape=ut.Sphere(radius=0.02), position=(x, 0.0)) for x in (-0.5, 0.5))
    scene = ut.Scene(
        name="catch", time=ut.Time(end=1.0, frame_rate=10, max_step=0.005), gravity=(0.0, -9.81),
        objects={
            "rope": ut.Rope(
                position=(-0.5, 0.0), end=(0.5, 0.0), element_size=0.1, density=1.0, stretching=2e3, damping=0.005,
                thickness=0.01, holds=holds,
            ),
            "disc": ut.SoftBody(
                shape=ut.Sphere(radius=0.1), position=(0.03, 0.15), element_size=0.1, density=100.0,
                youngs_modulus=2e4, damping=2e-3,
            ),
        },
    )  # fmt: skip
    sim = ut.Simulation(scene)
    solids, soft = sim.part(SoftPart).soft_solids, sim.part(SoftPart).soft
    energy = []
    while sim.time < 0.35:
        energy.append(sim.step().ledger["energy"])
        assert solids.surfaces.crossings(soft.x) == 0
    assert sim.body("disc").position[1] > -0.05 and soft.x[soft.part("rope").nodes, 1].min() < -0.04
    assert np.diff(energy).max() < 1e-6 * energy[0]
