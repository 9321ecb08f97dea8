"""Steps in time: momentum, order, damping, backward Euler against a dense solution, equilibrium, rings, meshes."""

from __future__ import annotations

import numpy as np
import pytest

from undertow.errors import PhysicsError, UserError
from undertow.geometry import Sphere, Torus
from undertow.geometry.sheets import thicken
from undertow.soft import (
    BackwardEuler,
    Elastic,
    Held,
    ImplicitMidpoint,
    Leapfrog,
    LinearisedEuler,
    Newmark,
    SoftBodies,
    find_equilibrium,
    make_edges,
    make_solid,
)
from undertow.soft.assembly import Forces
from undertow.soft.implicit import Joined
from undertow.soft.materials import cell_volumes
from undertow.soft.meshes import disc_triangles, fill_shape, grid_tetrahedra, grid_triangles, surface_of, tube
from undertow.soft.rings import RingProjection
from undertow.validation.own_weight_strip.case import hang
from undertow.validation.soft_momentum.case import block, spin

DOWN = np.array([0.0, -1.0, 0.0])


def _pendulum(stiffness: float = 50.0, damping: float = 0.0) -> SoftBodies:
    """Two masses of 1 kg on springs, hung from a held node, in the x-y plane."""
    x = np.array([[0.0, 0.0, 0.0], [0.6, -0.8, 0.0], [1.2, -0.8, 0.0]])
    springs = make_edges("p", x, np.array([[0, 1], [1, 2]]), stiffness, damping)
    bodies = SoftBodies(2)
    bodies.add("p", x, np.ones(3), [springs], np.array([[0, 1], [1, 2]]), np.array([[0, 1], [1, 2]]))
    bodies.hold([0])
    return bodies


def _swing(make, dt: float, end: float = 0.5) -> np.ndarray:  # type: ignore[no-untyped-def]
    bodies = _pendulum()
    stepper = make(bodies)
    for _ in range(round(end / dt)):
        stepper.step(dt, 9.81 * bodies.mass[:, None] * DOWN)
    return bodies.x.copy()


def test_a_step_linearised_about_a_way_has_the_forces_of_backward_euler_there() -> None:
    """So that a step that is made again and again about where it led ends at that of backward Euler."""
    bodies, rng, dt = _pendulum(damping=0.3), np.random.default_rng(4), 0.1
    before, way = (rng.normal(size=(3, 3)) * np.array([[0.0], [1.0], [1.0]]) for _ in range(2))
    external = 9.81 * bodies.mass[:, None] * DOWN
    exact, linear = BackwardEuler(bodies, 1.0), LinearisedEuler(bodies, 1.0)
    linear.about[...] = way
    for stepper in (exact, linear):
        stepper.prepare(dt, external, Held(), before, before.copy())
        stepper._evaluate(dt, external, Held(), before, way)
    assert np.abs(exact.reaction[1:]).max() > 0.1
    assert np.allclose(exact.reaction, linear.reaction, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "order"),
    [
        (Leapfrog, 2),
        (Newmark, 2),
        (lambda b: BackwardEuler(b, 1.0, 1e-10), 1),
        (lambda b: ImplicitMidpoint(b, 1.0, 1e-10, direct=True), 2),
    ],
)
def test_order_in_time(make, order: int) -> None:  # type: ignore[no-untyped-def]
    exact = _swing(Leapfrog, 2e-4)
    errors = [np.abs(_swing(make, dt) - exact).max() for dt in (0.01, 0.005)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.25)


@pytest.mark.parametrize("scheme", [Leapfrog, Newmark])
def test_momentum_of_a_free_block(scheme: type[Leapfrog | Newmark]) -> None:
    linear, angular, energy, moved = spin(scheme, 100, 0.2)
    assert linear < 1e-13 and energy < 1e-3
    assert moved == pytest.approx(1.0, rel=1e-9)
    assert angular < (1e-13 if scheme is Leapfrog else 1e-3)


def test_damping_takes_energy_and_no_momentum() -> None:
    bodies = block()
    bodies._groups = [group._replace(damping=np.full(len(group.nodes), 0.01)) for group in bodies._groups]
    still, force = np.zeros((bodies.count, 3)), np.zeros((bodies.count, 3))
    p, L = bodies.momentum()
    start = bodies.kinetic_energy() + bodies.forces.measure(bodies.x, force)
    stepper = Leapfrog(bodies)
    for _ in range(40):
        stepper.step(2e-3, still)
    end = bodies.kinetic_energy() + bodies.forces.measure(bodies.x, force)
    assert end < 0.99 * start
    assert np.allclose(bodies.momentum()[0], p, rtol=0, atol=1e-7 * np.abs(p).max())
    assert np.allclose(bodies.momentum()[1], L, rtol=0, atol=1e-6 * np.abs(L).max())


def test_backward_euler_solves_its_equation() -> None:
    """M (v - v0) = dt f(x + dt v) + dt g - C v with the damping matrix at the start, at a held node its reaction."""
    bodies = _pendulum(damping=0.3)
    x, v = bodies.x.copy(), bodies.v.copy()
    stepper, dt = BackwardEuler(bodies, 1.0, 1e-12), 0.05
    weight = 9.81 * bodies.mass[:, None] * DOWN
    stepper.step(dt, weight, Held())
    force = np.zeros_like(x)
    bodies.forces.measure(bodies.x, force)
    blocks, drag = bodies.forces.make_matrix(), np.zeros_like(x)
    bodies.forces.assemble(x, 0.0, dt, blocks)
    bodies.forces.add_product(blocks, bodies.v, drag)
    residual = bodies.mass[:, None] * (bodies.v - v) - dt * (force + weight) + drag
    assert np.abs(residual[1:]).max() < 1e-9
    assert np.allclose(residual[0], stepper.reaction[0])


@pytest.mark.parametrize("kind", ["held", "sticks", "slides", "slides along x", "one way"])
def test_what_a_solve_leaves_of_the_momentum_moves_the_whole_body_or_is_taken_by_what_touches_it(kind: str) -> None:
    """All of it, and nothing strains the body: free nodes move as one, along what no touched node is barred from."""
    bodies = block()
    stepper = BackwardEuler(bodies, 0.1)
    bodies.inv_mass[:2] = 0.0 if kind == "held" else bodies.inv_mass[:2]
    stepper.system.nodes.refresh()
    rng = np.random.default_rng(4)
    normal = rng.normal(size=(5, 3))
    if kind != "slides":
        normal[:, 0] = 0.0
    if kind == "one way":
        normal[:] = (0.0, 1.0, 0.0)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    fixed = np.arange(2, 5 if kind == "sticks" else 2)
    stepper.system.hold(Held(fixed=fixed, slip=np.arange(5, 10), normal=normal))
    stepper.reaction[...] = rng.normal(size=bodies.v.shape)
    before = stepper.reaction.copy()
    left, v = np.zeros_like(bodies.v), np.zeros_like(bodies.v)
    stepper.system.nodes.project(stepper.reaction, left)
    taken = stepper.balance(v)
    given = (bodies.mass[:, None] * v).sum(axis=0)
    assert taken.sum(axis=0) - given == pytest.approx(left.sum(axis=0), rel=1e-12)
    assert np.allclose(stepper.reaction, before + taken, rtol=0, atol=1e-14)
    free = bodies.inv_mass > 0
    free[fixed] = False
    assert np.ptp(v[free], axis=0).max() < 1e-15
    kept = {"slides along x": [1, 0, 0], "one way": [1, 0, 1]}.get(kind, [0, 0, 0])
    assert (np.abs(v[free][0]) > 1e-6).tolist() == [bool(k) for k in kept]
    assert not taken[10:].any()


def test_at_rest_in_long_steps_nothing_moves_on() -> None:
    """A step thousands of times the vibrations ends in equilibrium, and the next ones in the same place."""
    bodies = _pendulum()
    stepper, weight = BackwardEuler(bodies, 1.0, 1e-6), 9.81 * bodies.mass[:, None] * DOWN
    places = []
    for _ in range(4):
        before = bodies.v.copy()
        stepper.prepare(1000.0, weight, Held(), before, bodies.v)
        while not stepper.solve(1000.0, weight, Held(), before, bodies.v, 1).converged:
            pass
        stepper.balance(bodies.v)
        bodies.x += 1000.0 * bodies.v
        places.append(bodies.x.copy())
    assert np.abs(places[-1] - places[-2]).max() < 1e-6


def test_failures_are_loud() -> None:
    bodies = _pendulum()
    with pytest.raises(PhysicsError, match="no convergence in 1 iterations"):
        BackwardEuler(bodies, 1e-6, 1e-12, iterations=1).step(0.1, 9.81 * bodies.mass[:, None] * DOWN)
    with pytest.raises(PhysicsError, match="not found in 1 iterations"):
        find_equilibrium(_pendulum(), 9.81 * np.ones((3, 1)) * DOWN, iterations=1)


def test_heavy_strip_bends_like_the_elastica() -> None:
    drop, angle = hang(8.0, 12)
    assert drop == pytest.approx(0.64063, rel=0.02) and angle == pytest.approx(41.49, rel=0.02)


def test_meshes_fill_their_shapes() -> None:
    for shape, h, tolerance in ((Sphere(0.5), 0.15, 0.05), (Torus(0.5, 0.2), 0.12, 0.05)):
        x, cells = fill_shape("s", shape.distance, *shape.bounds(), h)
        volumes = cell_volumes(x, cells)
        assert volumes.min() > 0 and volumes.sum() == pytest.approx(shape.volume(), rel=tolerance)
        assert _is_closed(surface_of(cells))
        assert np.abs(shape.distance(x[np.unique(surface_of(cells))])).max() < 0.1 * h
    x, cells = disc_triangles(0.5, 0.1)
    assert cell_volumes(x, cells).sum() == pytest.approx(np.pi / 4, rel=0.02) and cell_volumes(x, cells).min() > 0
    x, triangles = grid_triangles((1.0, 2.0), (2, 3), crossed=False)
    assert cell_volumes(x, triangles).sum() == pytest.approx(2.0)
    assert _is_closed(thicken(x, triangles, 0.01)[1])
    assert _is_closed(tube(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]), 0.1)[1])
    with pytest.raises(UserError, match="find nothing inside"):
        fill_shape("s", lambda p: Sphere(0.1).distance(p - 0.3), np.full(3, -3.0), np.full(3, 3.0), 1.7)


def _is_closed(triangles: np.ndarray) -> bool:
    """Every edge is there once in each direction."""
    edges = np.concatenate([triangles[:, f] for f in ([0, 1], [1, 2], [2, 0])]).tolist()
    return len({tuple(e) for e in edges}) == len(edges) and {(b, a) for a, b in edges} == {(a, b) for a, b in edges}


@pytest.mark.parametrize("dimensions", [2, 3])
def test_rings_keep_volume_and_momentum(dimensions: int) -> None:
    """G^T is the derivative of the volumes; projections conserve both momenta; the correction regains the volume."""
    if dimensions == 3:
        x, cells = grid_tetrahedra((1.0, 1.0, 1.0), (2, 2, 2))
    else:
        x, cells = grid_triangles((1.0, 1.0), (3, 3))
    mass, elements = make_solid("body", x, cells, Elastic())
    bodies = SoftBodies(dimensions)
    bodies.add("body", x, mass, [elements], cells, cells, closed=True)
    rng = np.random.default_rng(5)
    flat = np.array([1.0, 1.0, float(dimensions == 3)])
    bodies.x += 0.03 * flat * rng.normal(size=x.shape)
    rings = RingProjection(bodies, np.arange(len(x)), 0.0, 1e-10)
    v = flat * rng.normal(size=x.shape)
    h = 1e-6
    rate = (rings.rows.measure(bodies.x + h * v) - rings.rows.measure(bodies.x - h * v)) / (2 * h)
    rings.rows.measure(bodies.x)
    found = np.zeros(rings.rows.shape)
    rings.rows.apply({"soft": v}, found)
    assert np.allclose(found, rate, atol=1e-8)
    bodies.v[...] = v
    p, L = bodies.momentum()
    rings.project(bodies.v, bodies.x, 1.0)
    rings.rows.apply({"soft": bodies.v}, found)
    assert np.abs(found).max() < 1e-8
    assert np.allclose(bodies.momentum()[0], p) and np.allclose(bodies.momentum()[1], L)
    before = np.abs(rings.rows.measure(bodies.x) / rings.rows.rest - 1).max()
    for _ in range(3):
        move = np.zeros_like(x)
        rings.correct(move, 1.0)
        bodies.x += move
    assert np.abs(rings.rows.measure(bodies.x) / rings.rows.rest - 1).max() < 1e-3 * before


def test_diagonal_of_the_volume_solve_knows_what_is_held() -> None:
    """That of G^T M^-1 G with fixed and sliding nodes, which preconditions it."""
    x, cells = grid_tetrahedra((1.0, 1.0, 1.0), (2, 2, 2))
    mass, elements = make_solid("body", x, cells, Elastic())
    bodies = SoftBodies()
    bodies.add("body", x, mass, [elements], cells, cells, closed=True)
    rings = RingProjection(bodies, np.arange(len(x)), 0.0)
    low, high = np.flatnonzero(x[:, 1] < -0.49), np.flatnonzero(x[:, 1] > 0.49)
    rings.block.hold(Held(fixed=low, slip=high, normal=np.tile([0.0, 1.0, 0.0], (len(high), 1))))
    found = np.zeros(len(x))
    rings.rows.add_diagonal({"soft": rings.block.inv_mass}, found)
    G = rings.rows.matrix().toarray().reshape(len(x), -1, 3)
    pushed = np.einsum("nij,pnj->pni", rings.block.free.reshape(-1, 3, 3), G) / bodies.mass[:, None]
    assert np.allclose(found, np.einsum("pni,pni->p", G, pushed), rtol=1e-12)


def test_contact_inside_the_volume_solve() -> None:
    """Stencils that are joined keep their relative velocity in a projection; the operator is symmetric; momentum is
    kept, volumes too."""
    x, cells = grid_tetrahedra((1.0, 1.0, 1.0), (2, 2, 2))
    mass, elements = make_solid("body", x, cells, Elastic())
    n, bodies = len(x), SoftBodies()
    for name, up in (("lower", 0.0), ("upper", 1.001)):
        bodies.add(name, x + [0.0, up, 0.0], mass, [elements], cells, cells, closed=True)
    rng = np.random.default_rng(8)
    bodies.x += 0.02 * rng.normal(size=bodies.x.shape)
    top = np.flatnonzero(x[:, 1] > 0.49)
    rows = [np.concatenate([[n + j], rng.choice(top, 3, replace=False)]) for j in np.flatnonzero(x[:, 1] < -0.49)]
    weight = -rng.dirichlet(np.ones(3), len(rows))
    weight = np.concatenate([np.ones((len(rows), 1)), weight], axis=1)
    joined = Joined(np.array(rows), weight, np.tile([0.0, 1.0, 0.0], (len(rows), 1)))

    def part(v: np.ndarray) -> np.ndarray:
        return np.asarray(np.einsum("ma,ma->m", weight, v[joined.nodes][:, :, 1]))

    rings = RingProjection(bodies, np.arange(2 * n), 0.0, 1e-9)
    start = rng.normal(size=bodies.x.shape)
    changes = []
    for stencils in (Joined(), joined):
        rings.join(stencils)
        v = start.copy()
        rings.project(v, bodies.x, 1.0)
        changes.append(np.abs(part(v) - part(start)).max())
        assert np.allclose(mass.sum() * 2 * np.average(v, axis=0, weights=bodies.mass), bodies.mass @ start)
        rings.rows.apply({"soft": v}, found := np.zeros(2 * n))
        assert np.abs(found).max() < 1e-7
    assert changes[1] < 0.1 * changes[0]
    f, g, a, b = (rng.normal(size=bodies.x.shape) for _ in range(4))
    rings.block.apply_inverse_mass(f, a)
    rings.block.apply_inverse_mass(g, b)
    assert (a * g).sum() == pytest.approx((b * f).sum(), rel=1e-12)


def test_threads_do_not_change_the_bits() -> None:
    """Forces and stiffness on one and two threads."""
    import numba

    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("one thread")
    x, cells = grid_tetrahedra((1.0, 1.0, 1.0), (7, 7, 7))
    _, elements = make_solid("block", x, cells, Elastic(damping=0.1))
    x = x + 0.02 * np.random.default_rng(6).normal(size=x.shape)
    found = []
    before = numba.get_num_threads()
    for threads in (1, 2):
        numba.set_num_threads(threads)
        forces = Forces([elements], len(x))
        f, w = np.zeros_like(x), np.zeros_like(x)
        energy = forces.measure(x, f)
        blocks = forces.make_matrix()
        forces.assemble(x, 0.3, 0.2, blocks)
        forces.add_product(blocks, f, w)
        found.append((energy, f, blocks, w))
    numba.set_num_threads(before)
    assert found[0][0] == found[1][0]
    assert all(np.array_equal(a, b) for a, b in zip(found[0][1:], found[1][1:], strict=True))
