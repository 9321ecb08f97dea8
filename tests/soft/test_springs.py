"""The whole Hessian of edges, altitudes and bends in degenerate states, and its projection."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from undertow.soft import make_altitudes, make_bending, make_edges
from undertow.soft.assembly import Forces
from undertow.soft.springs import SPRING_MODES, Springs, _factor_springs

TETRAHEDRON = np.array([[0.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.2, 0.9, 0.1], [0.1, 0.2, 1.1]])
TRIANGLE = np.array([[0.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.3, 0.8, 0.0]])
STAR = np.array(
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.4, 0.7, 0.0], [0.5, -0.8, 0.0], [1.3, 0.9, 0.0], [-0.6, 0.8, 0.0]]
)
CELLS = np.array([[0, 1, 2], [1, 0, 3], [2, 1, 4], [0, 2, 5]])
"""A triangle and its three neighbours, flat."""


def _bend(curl: float) -> Springs:
    """Bends of the star, which have no moment where every angle is ``curl``."""
    return make_bending("e", _fold(curl), CELLS, 2.0, 0.7)


def _fold(angle: float, height: float = 1.0) -> np.ndarray:
    """The star with every neighbour turned up by an angle, its triangle that high."""
    x = STAR.copy()
    for i, (a, b) in enumerate(((0, 1), (1, 2), (2, 0))):
        t = (STAR[b] - STAR[a]) / np.linalg.norm(STAR[b] - STAR[a])
        r = STAR[3 + i] - STAR[a]
        along, across = t * (r @ t), r - t * (r @ t)
        x[3 + i] = STAR[a] + along + np.cos(angle) * across + np.sin(angle) * np.cross(across, t)
    x[2] = x[0] + (x[2] - x[0]) * np.array([1.0, height, 1.0])
    return x


def _states() -> list[tuple[str, Springs, np.ndarray]]:
    """Springs and where their nodes are."""
    edge = make_edges("e", TRIANGLE[:2], np.array([[0, 1]]), 2.0, 0.7)
    solid = make_altitudes("e", TETRAHEDRON, np.array([[0, 1, 2, 3]]), 2.0, 0.7)
    plane = make_altitudes("e", TRIANGLE, np.array([[0, 1, 2]]), 2.0, 0.7)
    found = [(f"edge {s}", edge, s * TRIANGLE[:2]) for s in (3.0, 1.0, 0.5, 1e-3)]
    for s in (1.5, 1.0, 0.3, 1e-2, -0.5):
        found.append((f"altitude {s}", solid, TETRAHEDRON * np.array([1.0, s, 1.0])))
        found.append((f"altitude in the plane {s}", plane, TRIANGLE * np.array([1.0, s, 1.0])))
    noise = np.random.default_rng(5).normal(size=STAR.shape)
    for curl in (0.0, 0.4):
        for angle in (0.0, 1e-5, 0.3, 1.5, 2.8, -0.9, -2.9):
            found.append((f"folded by {angle}", _bend(curl), _fold(angle)))
        found.append(("any", _bend(curl), _fold(0.5) + 0.3 * noise))
        found.append(("stretched", _bend(curl), 2.5 * _fold(0.5)))
        found.append(("squeezed", _bend(curl), 0.2 * _fold(0.5)))
        for height in (0.1, 1e-2):
            found.append((f"sliver {height}", _bend(curl), _fold(0.4, height)))
    return found


def _dense(forces: Forces, x: np.ndarray, elastic: float, damping: float, **form: bool) -> np.ndarray:
    blocks = forces.make_matrix()
    forces.assemble(x, elastic, damping, blocks, **form)
    return np.asarray(forces.sparse_matrix(blocks).toarray())


def test_the_whole_hessian_over_degenerate_states() -> None:
    """Against central differences of the force, of a width that suits the thinnest triangle."""
    for name, group, x in _states():
        forces = Forces([group], len(x))
        forces.begin_step(x)
        apart = np.linalg.norm(x[:, None] - x[None], axis=2)[np.triu_indices(len(x), 1)]
        h = (1e-7 if "sliver" in name else 1e-6) * min(1.0, float(apart.min()))
        expected = []
        for unit in np.eye(x.size).reshape(x.size, -1, 3):
            ahead, behind = np.zeros_like(x), np.zeros_like(x)
            forces.measure(x + h * unit, ahead)
            forces.measure(x - h * unit, behind)
            expected.append((behind - ahead).reshape(-1) / (2 * h))
        found = _dense(forces, x, 1.0, 0.0, project=False)
        used = np.flatnonzero(np.tile([True, True, "plane" not in name], len(x)))
        error = np.abs(found - np.stack(expected, axis=1))[np.ix_(used, used)].max()
        assert error < 1e-6 * np.abs(found).max(), name
        assert np.abs(found - found.T).max() < 1e-14 * np.abs(found).max(), name


def test_k_plus_is_the_projection_of_each_element() -> None:
    """K+ and K+ - K have no negative values and K+ (K+ - K) = 0, which no other matrix has; it is the square of its
    factor, and k grad c grad c^T at rest."""
    negative = 0
    for name, group, x in _states():
        for element in _elements(group):
            forces = Forces([element], len(x))
            forces.begin_step(x)
            whole, plus = _dense(forces, x, 1.0, 0.0, project=False), _dense(forces, x, 1.0, 0.0)
            size = np.abs(whole).max()
            low = np.linalg.eigvalsh(whole).min()
            negative += low < -1e-3 * size
            assert np.linalg.eigvalsh(plus).min() > -1e-13 * size, name
            assert np.linalg.eigvalsh(plus - whole).min() > -1e-13 * size, name
            assert np.abs(plus @ (plus - whole)).max() < 1e-13 * size * size, name
            forces.factor(x, 1.0, 0.0)
            modes, values = forces.modes[0], forces.values[0]
            root = np.zeros((values.size, len(x), 3))
            for row, (e, r) in enumerate(np.ndindex(*values.shape)):
                np.add.at(root[row], element.nodes[e], np.sqrt(values[e, r]) * modes[e, r])
            root = root.reshape(values.size, -1)
            assert np.abs(root.T @ root - plus).max() < 1e-13 * size, name
            if forces.measure(x, np.zeros_like(x)) < 1e-25:
                assert np.abs(_dense(forces, x, 1.0, 0.0, bounded=True) - plus).max() < 1e-10 * size, name
    assert negative > 30


def test_the_factor_has_room_for_every_positive_value() -> None:
    """A triangle's bends have at most 8 positive values, one hinge 4, an altitude 3 (2 in the plane), far from rest and
    near it."""
    rng, most = np.random.default_rng(8), dict.fromkeys(("1", "3", "altitude"), 0)
    solid = _elements(make_altitudes("e", TETRAHEDRON, np.array([[0, 1, 2, 3]]), 2.0))[0]
    for n in range(60):
        x = _fold(rng.uniform(-3, 3)) + 10.0 ** rng.uniform(-3, 0) * rng.normal(size=STAR.shape)
        for element in _elements(_bend(rng.uniform(-1, 1))):
            values = np.linalg.eigvalsh(_dense(Forces([element], 6), x, 1.0, 0.0, project=False))
            kind = str(len(element.nodes))
            most[kind] = max(most[kind], int((values > 1e-10 * values.max()).sum()))
        x = TETRAHEDRON + (0.1, 0.5)[n % 2] * rng.normal(size=(4, 3))
        values = np.linalg.eigvalsh(_dense(Forces([solid], 4), x, 1.0, 0.0, project=False))
        most["altitude"] = max(most["altitude"], int((values > 1e-10 * values.max()).sum()))
    assert most == {"1": 4, "3": 8, "altitude": 3}
    assert SPRING_MODES == (3, 1 + 4, 1 + 3)


def test_springs_without_a_shape_are_finite() -> None:
    """An edge without length, triangles and faces without area: no force along what has no direction."""
    for group, x in (
        (make_edges("e", TRIANGLE[:2], np.array([[0, 1]]), 2.0), np.zeros((2, 3))),
        (make_altitudes("e", TETRAHEDRON, np.array([[0, 1, 2, 3]]), 2.0), TETRAHEDRON * np.array([1.0, 0.0, 0.0])),
        (make_altitudes("e", TRIANGLE, np.array([[0, 1, 2]]), 2.0), np.zeros((3, 3))),
        (_bend(0.3), STAR * np.array([1.0, 0.0, 0.0])),
        (_bend(0.3), np.zeros((6, 3))),
    ):
        forces, f = Forces([group], len(x)), np.zeros_like(x)
        assert np.isfinite(forces.measure(x, f)) and np.isfinite(f).all()
        plus = _dense(forces, x, 1.0, 0.5)
        forces.factor(x, 1.0, 0.5)
        assert np.isfinite(plus).all() and np.isfinite(forces.modes[0]).all() and np.isfinite(forces.values[0]).all()


@pytest.mark.parametrize("cut", [1, 2, 3, 5])
def test_a_triangle_whose_bends_two_threads_share(cut: int) -> None:
    """Its modes are the same bits wherever its bends are cut."""
    group = Forces([_bend(0.2)], 6).groups[0]
    m, k = group.nodes.shape
    x = _fold(0.9)
    results = []
    for bounds in ((0, m), (0, cut, m)):
        modes, values = np.zeros((m, SPRING_MODES[1], k, 3)), np.zeros((m, SPRING_MODES[1]))
        for start, stop in zip(bounds[:-1], bounds[1:], strict=True):
            _factor_springs(group, x, 0.4, 0.7, modes, values, start, stop)
        results.append((modes, values))
    assert all(np.array_equal(a, b) for a, b in zip(*results, strict=True))


def _elements(group: Any) -> list[Any]:
    """The springs of a group by elements, each a group: the bends of a triangle together."""
    _, element = np.unique(group.nodes, axis=0, return_inverse=True)
    return [type(group)(*(a[element.reshape(-1) == i] for a in group)) for i in range(element.max() + 1)]


def test_the_projection_of_a_nearly_flat_star_is_finite():
    """Entries whose squares are no longer numbers that can be divided by."""
    x = _fold(0.0)
    x[3, 2] = 1e-158
    forces = Forces([_bend(0.0)], len(x))
    blocks = forces.make_matrix()
    forces.assemble(x, 1.0, 0.0, blocks)
    assert np.isfinite(blocks).all()
