"""One-rings, contact and damping in one system (thesis 5.10): against the dense solution, and against sweeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.scene.gallery.sphere_press import make_scene
from undertow.soft import Elastic, Held, SoftBodies, implicit, make_solid
from undertow.soft.implicit import Joined
from undertow.soft.meshes import grid_tetrahedra
from undertow.soft.ring_system import RingSystem
from undertow.soft.rings import SLACK_IMPLICIT, RingConstraint, RingProjection
from undertow.soft.steppers import BackwardEuler
from undertow.solids.soft_part import SoftPart
from undertow.validation.incompressible_statics import case as statics


def _blocks() -> tuple[SoftBodies, Joined, Held]:
    """Two blocks, one on the other, strained; contacts between them, and nodes that lie on something."""
    x, cells = grid_tetrahedra((1.0, 1.0, 1.0), (2, 2, 2))
    mass, elements = make_solid("body", x, cells, Elastic(damping=0.02))
    n, bodies = len(x), SoftBodies()
    for name, up in (("lower", 0.0), ("upper", 1.001)):
        bodies.add(name, x + [0.0, up, 0.0], mass, [elements], cells, cells, closed=True)
    rng = np.random.default_rng(8)
    bodies.x += 0.02 * rng.normal(size=bodies.x.shape)
    top, bottom = np.flatnonzero(x[:, 1] > 0.49), np.flatnonzero(x[:, 1] < -0.49)
    nodes = np.array([np.concatenate([[n + j], rng.choice(top, 3, replace=False)]) for j in bottom])
    weight = np.concatenate([np.ones((len(nodes), 1)), -rng.dirichlet(np.ones(3), len(nodes))], axis=1)
    joined = Joined(nodes, weight, np.tile([0.0, 1.0, 0.0], (len(nodes), 1)))
    up = np.tile([0.0, 1.0, 0.0], (3, 1))
    held = Held(fixed=bottom[:2], slip=bottom[2:5], normal=up, body=np.full(5, -1), arm=np.zeros((5, 3)))
    return bodies, joined, held


def _dense(
    rings: RingSystem, joined: Joined, held: Held, v: np.ndarray, acts: bool, elastic: float, damping: float
) -> Any:
    """The change of v by the saddle point of all rows, held directions left out."""
    bodies = rings.bodies
    blocks = bodies.forces.make_matrix()
    bodies.forces.assemble(bodies.x, elastic, damping, blocks)
    CC = bodies.forces.sparse_matrix(blocks).toarray()
    G = rings.rows.matrix().toarray()
    N = np.zeros((len(joined.nodes), CC.shape[0]))
    for row, nodes, weight in zip(N, joined.nodes, joined.weight, strict=True):
        np.add.at(row, 3 * nodes + 1, weight)
    H = np.vstack([G, N])
    free = np.ones(len(CC), dtype=bool)
    free[(3 * held.fixed[:, None] + np.arange(3)).reshape(-1)] = False
    free[3 * held.slip + 1] = False
    A = (CC + np.diag(np.repeat(bodies.mass, 3)))[free][:, free]
    flat = v.reshape(-1)
    right = np.concatenate([-(CC @ flat)[free] * acts, -G @ flat, np.zeros(len(N))])
    saddle = np.block([[A, H[:, free].T], [H[:, free], np.zeros((len(H), len(H)))]])
    change = np.zeros_like(flat)
    change[free] = np.linalg.lstsq(saddle, right, rcond=1e-11)[0][: free.sum()]
    return change.reshape(-1, 3)


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize(("elastic", "damping", "acts"), [(0.0, 0.1, True), (1e-3, 0.1, False)])
def test_the_single_system_is_the_dense_one(elastic: float, damping: float, acts: bool, folded: bool) -> None:
    """As rows of its own and folded into the mass; impulses and changes of momentum agree, held nodes included."""
    bodies, joined, held = _blocks()
    rings = RingSystem(bodies, np.arange(bodies.count), 0.0, 1e-11, folded)
    v = np.random.default_rng(3).normal(size=bodies.x.shape)
    start = v.copy()
    rings.join(joined)
    rings.damp(bodies.x, elastic, damping, start if acts else None)
    assert rings.project(v, bodies.x, 1.0, held).reduction == ("saddle" if folded else "dual")
    expected = start + _dense(rings, joined, held, start, acts, elastic, damping)
    assert np.abs(v - expected).max() < 1e-4  # rings yield a little where something touches
    assert np.abs(expected - start).max() > 0.5
    assert np.array_equal(v[held.fixed], start[held.fixed]) and np.allclose(v[held.slip, 1], start[held.slip, 1])
    along = np.einsum("ma,ma->m", joined.weight, (v - start)[joined.nodes][:, :, 1])
    assert np.abs(along).max() < 1e-6
    # what the system does not give the nodes it gives to what holds them; all of it is internal
    impulse = np.zeros_like(v)
    rings.add_impulse(impulse)
    assert np.abs(impulse.sum(axis=0)).max() < 1e-9 * np.abs(impulse).sum()
    moved = bodies.mass[:, None] * (start - v)
    loose = np.setdiff1d(np.arange(bodies.count), np.concatenate([held.fixed, held.slip]))
    assert np.allclose(impulse[loose], moved[loose], atol=1e-7)


def test_sweeps_without_end_are_the_single_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without damping both project onto the same velocities; the four sweeps of a step come within a few per cent."""
    bodies, joined, held = _blocks()
    start = np.random.default_rng(3).normal(size=bodies.x.shape)
    single = RingSystem(bodies, np.arange(bodies.count), 0.0, 1e-10)
    single.join(joined)
    single.damp(bodies.x, 0.0, 0.0)
    v = start.copy()
    single.project(v, bodies.x, 1.0, held)
    error = []
    for sweeps in (implicit.SWEEPS, 300):
        monkeypatch.setattr(implicit, "SWEEPS", sweeps)
        rings = RingProjection(bodies, np.arange(bodies.count), 0.0, 1e-10)
        rings.join(joined)
        swept = start.copy()
        rings.project(swept, bodies.x, 1.0, held)
        error.append(np.abs(swept - v).max() / np.abs(v - start).max())
    assert error[1] < 1e-5 and 1e-5 < error[0] < 0.1


def test_contacts_in_the_single_system_do_not_pull() -> None:
    """With little to pull against some let go: those part, the others keep their velocity and pull by no more."""
    bodies, joined, held = _blocks()
    start = np.random.default_rng(5).normal(size=bodies.x.shape)
    changes, counts = [], []
    for press in (1e6, 0.0):
        joined.press = np.full(len(joined.nodes), press)
        rings = RingSystem(bodies, np.arange(bodies.count), 0.0, 1e-10)
        rings.join(joined)
        rings.damp(bodies.x, 0.0, 0.1, start)
        v = start.copy()
        rings.project(v, bodies.x, 1.0, held)
        acts, along = rings.contacts.acts, rings.contacts.along(v - start)
        changes.append(v - start)
        counts.append(int(acts.sum()))
        assert np.abs(along[acts]).max() < 1e-6 and along[~acts].min(initial=1.0) > 0.0
        assert rings._duals["joined"][: len(acts)][acts].max() < press + 1e-6
        rings.rows.apply({"soft": v}, found := np.zeros(bodies.count))
        assert np.abs(found).max() < 1e-5
    assert counts[0] == 9 and 0 < counts[1] < 9 and np.abs(changes[1] - changes[0]).max() > 1e-2


def test_positions_regain_volume_in_the_single_system() -> None:
    bodies, joined, held = _blocks()
    rings = RingSystem(bodies, np.arange(bodies.count), 0.0, 1e-8)
    rings.join(joined)
    v = np.zeros_like(bodies.x)
    before = np.abs(rings.rows.measure(bodies.x) / rings.rows.rest - 1).max()
    rings.damp(bodies.x, 1e-2, 0.0)
    rings.correct(v, 1.0, held)
    after = np.abs(rings.rows.measure(bodies.x + v) / rings.rows.rest - 1).max()
    assert after < 1e-3 * before
    assert not v[held.fixed].any()


@pytest.mark.parametrize("solve", ["sweeps", "single", "folded"])
def test_a_resumed_run_goes_on_bit_for_bit(solve: Any, tmp_path: Any) -> None:
    """The pressures that the volume solves start from belong to the state."""
    disc = ut.SoftBody(
        shape=ut.Sphere(radius=0.2), position=(0.0, 0.21), velocity=(0.0, -1.0), element_size=0.1, youngs_modulus=2e4,
        incompressible=True,
    )  # fmt: skip
    floor = ut.RigidBody(shape=ut.Plane(normal=(0.0, 1.0)), position=(0.0, 0.0))
    scene = ut.Scene(
        name="disc", time=ut.Time(end=0.5, frame_rate=10, max_step=0.005), gravity=(0.0, -10.0),
        soft=ut.Soft(volume_solve=solve), objects={"floor": floor, "disc": disc},
    )  # fmt: skip
    sim = ut.Simulation(scene)
    for _ in range(8):
        row = sim.step().ledger
    assert row["soft_contacts"] > 0 and row["soft_volume_error"] < 1e-3
    sim.save(tmp_path / "half.h5")
    again = ut.load(tmp_path / "half.h5")
    for _ in range(3):
        sim.step(), again.step()
    one, two = sim.part(SoftPart).soft, again.part(SoftPart).soft
    assert np.array_equal(one.x, two.x) and np.array_equal(one.v, two.v)


def test_bad_volume_solves() -> None:
    box = {"type": "soft_body", "shape": {"type": "box", "size": [0.2, 0.2, 0.2]}, "position": [0, 0, 0]}
    base = {"name": "x", "time": {"end": 1.0}, "objects": {"b": {**box, "element_size": 0.1}}}
    with pytest.raises(ValueError, match="soft.volume_solve has no effect without a body with incompressible"):
        ut.Scene.model_validate({**base, "soft": {"volume_solve": "single"}})
    with pytest.raises(ValueError, match="It is one of sweeps, single, folded"):
        ut.Scene.model_validate({**base, "soft": {"volume_solve": "twice"}})
    base["objects"]["b"]["incompressible"] = True  # type: ignore[index]
    base |= {"domain": {"upper": [1, 1, 1], "resolution": 8}, "coupling": "monolithic"}
    with pytest.raises(ValueError, match="soft.volume_solve: in fluid all is one system already"):
        ut.Scene.model_validate({**base, "soft": {"volume_solve": "single"}})


def test_plates_pay_for_the_flow_they_press_out() -> None:
    """A coarse ball between plates, single steps of 1e-5 s among the others: it flows out as a pancake of its volume
    does, with the work of the plates. (Plates that did no work by the volume solves had the flow stopped in every step,
    and the pressures and the pushes of a long step in a short one threw nodes out at ten times its speed.)"""
    scene = make_scene(4, 0.2)
    sim = ut.Simulation(scene.model_copy(update={"time": ut.Time(end=1.0, frame_rate=1, max_step=0.1)}))
    soft = sim.part(SoftPart).soft
    start, work, count = soft.volume(soft.parts[0]), 0.0, 0
    while sim.time < 0.8 - 1e-9:
        length = 1e-5 if count % 5 == 4 else min(0.03, 0.06 * (1.0 - sim.time))
        report = sim.advance_to(min(sim.time + length, 0.8))
        assert report is not None
        count += 1
        work += report.ledger["soft_work"]
        assert abs(report.ledger["soft_volume"] / start - 1.0) < 1e-3
        # rim of a cylinder of the same volume; a ball's nodes are faster near the plates
        rim = (1.0 - sim.time) ** -1.5 / 24**0.5
        assert np.linalg.norm(soft.v, axis=1).max() < 2.0 * max(rim, 0.5)
    kinetic = soft.kinetic_energy()
    assert kinetic == pytest.approx(soft.mass.sum() * rim**2 / 4, rel=0.15)
    gained = kinetic + report.ledger["soft_elastic_energy"]
    assert 0.85 * work < gained < 1.02 * work


def test_corrections_of_volume_lead_no_node_into_plates() -> None:
    """Nodes that the solve leaves free; they went 0.005 elements deep here, 0.17 of the gap of thin ones."""
    scene = make_scene(5, 0.13)
    sim = ut.Simulation(scene.model_copy(update={"time": ut.Time(end=1.0, frame_rate=1, max_step=1 / 48)}))
    soft = sim.part(SoftPart).soft
    while sim.time < 0.6:
        sim.step()
        assert float(np.abs(soft.x[:, 1]).max()) - 0.5 * (1.0 - sim.time) < 1e-3 * 0.2


def test_rings_in_the_implicit_solve_are_the_dense_saddle_point() -> None:
    """One iteration of Newton's method from rest, nodes fixed and on a slope: velocities and pressures of the saddle
    point, preconditioned by factors and by diagonals."""
    for small in (0, 10**6):
        bodies, _, held = _blocks()
        held.speed, held.base, held.rub = np.zeros((5, 3)), np.zeros((3, 3)), np.zeros(3)
        rings = RingConstraint(RingProjection(bodies, np.arange(bodies.count), 0.0))
        stepper = BackwardEuler(bodies, 0.5, rings=rings)
        dt, external = 0.02, bodies.mass[:, None] * np.array([1.0, -9.81, 3.0])
        before, v = bodies.v.copy(), bodies.v
        stepper.prepare(dt, external, held, before, v)
        v[...] = 0.0
        stepper.system.hold(held)
        stepper._evaluate(dt, external, held, before, v)
        stepper._set_stiffness(dt)
        blocks = bodies.forces.sparse_matrix(stepper.system.rows.blocks).toarray()
        A, G = blocks + np.diag(np.repeat(bodies.mass, 3)), rings.rows.matrix().toarray()
        free = np.ones(len(A), dtype=bool)
        free[(3 * held.fixed[:, None] + np.arange(3)).reshape(-1)] = False
        free[3 * held.slip + 1] = False
        right = np.concatenate([-stepper.reaction.reshape(-1)[free], np.zeros(len(G))])
        saddle = np.block([[A[np.ix_(free, free)], G[:, free].T], [G[:, free], np.zeros((len(G), len(G)))]])
        exact = np.zeros(len(A))
        exact[free] = np.linalg.lstsq(saddle, right, rcond=1e-11)[0][: free.sum()]
        change, pressure = np.zeros_like(v), np.zeros(rings.rows.shape)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(implicit, "SMALL", small)
            patch.setattr(implicit, "MOST_FACTORED", {2: small, 3: small})
            none = np.zeros((0, 6))
            stepper.system.carried.solve_constrained(
                -stepper.reaction, none, np.zeros(len(G)), change, none.copy(), pressure, 1e-10, 5000
            )  # fmt: skip
        assert np.abs(change.reshape(-1) - exact).max() < 1e-5 * np.abs(exact).max()
        # they yield by their slack
        assert np.abs(G @ change.reshape(-1)).max() < 10 * SLACK_IMPLICIT * np.abs(G).max() * np.abs(exact).max()


@pytest.mark.parametrize(("ratio", "dimensions"), [(0.0, 2), (0.3, 3)])
def test_a_beam_rests_at_the_constrained_minimum(ratio: float, dimensions: int) -> None:
    """A period from 0.95 of the deflection. (Rings projected after the solve: 2.0 and 1.4 times as far.)"""
    scene = statics.make_beam(ratio, 0.01, 0.0, dimensions, size=0.05)
    rest, x, tip = statics.reference(scene, ratio)
    assert statics.swing(scene, rest + 0.95 * (x - rest)) / tip == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(("ratio", "dimensions"), [(0.5, 3), (0.5, 2), (0.0, 2)])
def test_the_shear_modulus_of_what_keeps_its_volume_is_that_of_the_scene(ratio: float, dimensions: int) -> None:
    """E / (2 (1 + nu)): a block between plates, whose force is that of uniform stretches; Young's modulus of a block
    that keeps its volume is three times that, E itself with the ratio 0.5."""
    assert statics.squeeze(dimensions, ratio, 0.7, 0.02)[0] == pytest.approx(1.0, abs=0.015)
