"""Meshes that tear: nodes against a brute-force search of fans, stresses against the energy, where a crack goes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from undertow.grid import Array
from undertow.soft import Elastic, meshes
from undertow.soft.materials import make_bending, make_membrane, make_solid
from undertow.soft.tearing import (
    Loaded,
    TearLimit,
    choose_rips,
    find_facets,
    measure,
    principal_stress,
    split_nodes,
    tear_mesh,
)

MESHES = {
    "segments": (np.arange(7.0)[:, None] * [1.0, 0.0, 0.0], np.array([[i, i + 1] for i in range(6)])),
    "triangles": meshes.grid_triangles((1.0, 0.8), (5, 4)),
    "tetrahedra": meshes.grid_tetrahedra((1.0, 0.6, 0.6), (3, 2, 2)),
}


def fans_by_hand(cells: np.ndarray, torn: set[tuple[int, int]]) -> set[frozenset[tuple[int, int]]]:
    """Corners of elements that are one node: grown corner by corner over pairs that share a whole facet."""
    k = cells.shape[1]
    sets = [set(cell) for cell in cells.tolist()]
    near = {(a, b) for a, b in combinations(range(len(cells)), 2) if len(sets[a] & sets[b]) == k - 1}
    touched = {n for a, b in torn for n in sets[a] & sets[b]}
    fans = set()
    for node in sorted({n for cell in sets for n in cell}):
        left = {e for e, cell in enumerate(sets) if node in cell}
        if node not in touched:
            fans.add(frozenset((e, node) for e in left))
            continue
        while left:
            part, waiting = set(), [min(left)]
            while waiting:
                e = waiting.pop()
                part.add(e)
                holds = near - torn
                waiting += [
                    o for o in left - part if (min(e, o), max(e, o)) in holds and node in sets[e] & sets[o]
                ]
            fans.add(frozenset((e, node) for e in part))
            left -= part
    return fans


@pytest.mark.parametrize("kind", MESHES)
def test_nodes_are_the_fans_of_elements_that_hold_together(kind: str) -> None:
    x, cells = MESHES[kind]
    rng = np.random.default_rng(3)
    facets = find_facets(cells)
    assert len(facets.rim) > 0
    for share in (0.1, 0.4, 1.0):
        chosen = facets.elements[rng.random(len(facets.elements)) <= share]
        torn = {(int(a), int(b)) for a, b in chosen}
        new, origin = split_nodes(cells, len(x), tuple(sorted(torn)))
        assert np.array_equal(origin[new], cells)
        assert np.array_equal(np.unique(new), np.arange(len(origin)))
        found = {}
        for e, cell in enumerate(new.tolist()):
            for corner, n in enumerate(cell):
                found.setdefault(n, set()).add((e, int(cells[e, corner])))
        assert {frozenset(fan) for fan in found.values()} == fans_by_hand(cells, torn)


def test_a_crack_makes_no_mass_no_gap_and_no_energy() -> None:
    x, triangles = MESHES["triangles"]
    x = np.stack([x[:, 0], x[:, 1], 0.0 * x[:, 0]], axis=1)
    moved = x + 0.1 * np.random.default_rng(0).normal(size=x.shape)
    pairs = tuple(map(tuple, find_facets(triangles).elements[::3].tolist()))
    torn_x, torn_cells, origin = tear_mesh(x, triangles, pairs)
    energies, masses = [], []
    for nodes, cells, place in ((x, triangles, moved), (torn_x, torn_cells, moved[origin])):
        mass, membrane = make_membrane("sheet", nodes, cells, Elastic(0.2, 100.0, 0.2, "stvk"), 1.0)
        bending = make_bending("sheet", nodes, cells, 1e-2)
        energies.append(_energy([membrane, bending], place))
        masses.append(mass.sum())
    assert masses[1] == pytest.approx(masses[0], rel=1e-14)
    assert energies[1][0] == pytest.approx(energies[0][0], rel=1e-13)
    assert 0.0 < energies[1][1] < energies[0][1]


def _energy(groups: list, x: Array) -> list[float]:  # type: ignore[type-arg]
    from undertow.soft.assembly import Forces

    return [Forces([group], len(x)).measure(x, np.zeros_like(x)) for group in groups]


@pytest.mark.parametrize("model", ["stvk", "neo_hookean", "corotated"])
def test_the_stress_of_an_element_is_the_derivative_of_its_energy(model: str) -> None:
    material = Elastic(1000.0, 1e5, 0.3, model)
    x, cells = np.concatenate([np.zeros((1, 3)), np.eye(3)]), np.array([[0, 1, 2, 3]])
    _, group = make_solid("body", x, cells, material)
    s = np.array([1.3, 0.9, 1.1])
    h = 1e-6
    expected = []
    for i in range(3):
        ends = [_energy([group], x * (s + sign * h * np.eye(3)[i]))[0] for sign in (1.0, -1.0)]
        # sigma_i = s_i / J  d psi / d s_i, of an element with a sixth of a cubic metre
        expected.append(6.0 * (ends[0] - ends[1]) / (2 * h) * s[i] / s.prod())
    assert principal_stress(material, s[None])[0] == pytest.approx(expected, rel=1e-6)
    turned = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    turned *= np.linalg.det(turned)
    found = measure(x, (x * s) @ turned.T, cells, TearLimit("stress", 1.0, material), 3)
    assert found.value[0] == pytest.approx(max(expected), rel=1e-6)
    assert abs(found.direction[0] @ turned[:, int(np.argmax(expected))]) == pytest.approx(1.0, abs=1e-9)


def test_stretches_of_sheets_solids_and_ropes_are_those_of_an_affine_motion() -> None:
    F = np.array([[1.4, 0.2, 0.0], [0.0, 0.8, 0.1], [0.1, 0.0, 1.0]])
    for kind, dimensions in (("tetrahedra", 3), ("triangles", 3), ("triangles", 2), ("segments", 3)):
        x, cells = MESHES[kind]
        k = cells.shape[1]
        G = F.copy()
        if dimensions == 2:
            G[2], G[:, 2] = 0.0, 0.0
            G[2, 2] = 1.0
        found = measure(x, x @ G.T, cells, TearLimit("stretch", 1.0), dimensions)
        along = G[:, : k - 1]
        U, s, _ = np.linalg.svd(along)
        assert found.value == pytest.approx(np.full(len(cells), s[0]), rel=1e-12)
        assert np.abs(found.direction @ U[:, 0]) == pytest.approx(np.ones(len(cells)), abs=1e-9)


def _load(x: Array, cells: np.ndarray, share: Array, cracked: np.ndarray | None = None) -> Loaded:
    m = len(cells)
    none = np.zeros(len(x), dtype=bool)
    return Loaded(
        x, cells, share, np.tile([1.0, 0.0, 0.0], (m, 1)), np.ones(m), ~none, none if cracked is None else cracked
    )


def test_an_evenly_loaded_sheet_tears_at_one_place_across_its_load() -> None:
    x, cells = MESHES["triangles"]
    rips = choose_rips(_load(x, cells, np.full(len(cells), 1.5)))
    assert len(rips) == 1
    new, origin = split_nodes(cells, len(x), rips[0].pairs)
    assert len(origin) > len(x) and rips[0].node in origin[len(x) :]
    assert not choose_rips(_load(x, cells, np.full(len(cells), 0.99)))


def test_held_nodes_do_not_split() -> None:
    x, cells = MESHES["triangles"]
    loaded = _load(x, cells, np.full(len(cells), 1.5))._replace(free=np.zeros(len(x), dtype=bool))
    assert not choose_rips(loaded)
