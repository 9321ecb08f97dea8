"""Groups at rest that are left alone: what they do, what wakes them, and that nothing is gained by it."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut
from undertow.geometry import Box, Plane, Sphere
from undertow.geometry.driven import Driven
from undertow.solids import SolidsWorld
from undertow.solids.rigid_part import RigidPart

DT = 1 / 120


def piles(sleep=0.1, **options):
    """Two towers of three boxes, each a group, two metres apart."""
    world = SolidsWorld(sleep=sleep, tolerance=1e-5, **options)
    world.add("ground", Plane((0, 1, 0)), friction=0.6)
    for tower, x in enumerate((0.0, 2.0)):
        for n in range(3):
            world.add(f"box-{tower}-{n}", Box((0.2, 0.1, 0.2)), (x, 0.05 + 0.1 * n, 0.0), density=500.0, friction=0.6)
    return world


def energy(world):
    kinetic, potential = world.solids.energy()
    return kinetic + potential


def run(world, time):
    reports = []
    for _ in range(round(time / DT)):
        before = energy(world)
        reports.append(world.step(DT))
        # what contact solves leave, of those that do not sleep
        assert energy(world) <= before + (1e-8 if reports[-1].contacts else 0.0) * abs(before)
    return reports


def asleep(world):
    return {world.bodies.names[b] for b in np.flatnonzero(world.solids.sleepers.group_b)}


TOWERS = [{f"box-{tower}-{n}" for n in range(3)} for tower in range(2)]


def test_a_pile_sleeps_stays_and_is_not_solved():
    world = piles()
    run(world, 0.3)
    assert asleep(world) == TOWERS[0] | TOWERS[1]
    x, q = world.bodies.x_b.copy(), world.bodies.q_b.copy()
    reports = run(world, 0.5)
    assert np.array_equal(world.bodies.x_b, x) and np.array_equal(world.bodies.q_b, q)
    assert not world.bodies.p_b.any() and not world.bodies.L_b.any()
    assert all(report.contacts == 0 and report.iterations == 0 for report in reports)


def test_what_carries_a_pile_that_sleeps_is_still_told():
    """Contact forces and contacts are those that hold it up: the ground has the weight of all."""
    world = piles()
    run(world, 0.3)
    mass = world.bodies.mass_b
    force = world.solids.contact_force_b
    assert np.abs(force[1:, 1] - 9.81 * mass[1:]).max() < 1e-3 * 9.81 * mass.max()
    assert force[0, 1] == pytest.approx(-9.81 * mass[1:].sum(), rel=1e-3)
    assert np.abs(world.solids.contact_torque_b[1:]).max() < 1e-3
    found = world.solids.record.contacts(world.bodies.names)
    lifted = found.of("ground").impulse[:, 1].sum() / DT
    assert lifted == pytest.approx(-9.81 * mass[1:].sum(), rel=1e-3)


def test_a_ball_wakes_the_group_that_it_hits_and_no_other():
    """And gives it the momentum that it gives it without sleep."""
    found = {}
    for sleep in (0.1, np.inf):
        world = piles(sleep)
        run(world, 0.3)
        ball = world.add("ball", Sphere(0.05), (-0.4, 0.25, 0.0), density=2000.0, velocity=(3.0, 0.0, 0.0))
        world.solids.prepare()
        seen = []
        for _ in range(16):
            world.step(DT)
            seen.append(asleep(world))
            contact = world.solids.contact_force_b
            assert np.abs(contact.sum(axis=0)).max() < 1e-9 * max(1.0, np.abs(contact).max())
        found[sleep] = world.bodies.p_b[[ball, 1, 2, 3]].copy()
        if sleep < np.inf:
            assert TOWERS[0] | TOWERS[1] == seen[0] and seen[-1] == TOWERS[1]
            assert world.bodies.v_b[3, 0] > 0.1
    assert np.abs(found[0.1] - found[np.inf]).max() < 0.02 * np.abs(found[np.inf]).max()


def test_momentum_is_kept_by_a_hit():
    """Without gravity's doing: what the ball loses along the ground all others have, in the step of the hit too."""
    world = piles()
    run(world, 0.3)
    world.bodies._arrays["friction"][0] = 0.0
    world.add("ball", Sphere(0.05), (-0.4, 0.25, 0.0), density=2000.0, velocity=(3.0, 0.0, 0.0), friction=0.3)
    before = world.bodies.p_b[:, 0].sum()
    for _ in range(16):
        world.step(DT)
        assert world.bodies.p_b[:, 0].sum() == pytest.approx(before, rel=1e-9)
    assert asleep(world) == TOWERS[1]


def test_a_support_that_vanishes_wakes_what_stood_on_it():
    world = piles()
    run(world, 0.3)
    world.bodies.remove(world.bodies.index("box-0-0"))
    world.solids.prepare()
    world.step(DT)
    assert asleep(world) == TOWERS[1]
    b = world.bodies.index("box-0-2")
    assert world.bodies.v_b[b, 1] == pytest.approx(-9.81 * DT, rel=1e-6)


def test_a_load_wakes_and_keeps_awake():
    world = piles()
    run(world, 0.3)
    force = np.zeros((world.bodies.count, 3))
    force[world.bodies.index("box-1-0"), 0] = 0.5
    for _ in range(60):
        world.step(DT, force_b=force)
        assert asleep(world) == TOWERS[0]
    run(world, 0.3)
    assert asleep(world) == TOWERS[0] | TOWERS[1]


def test_a_change_of_momentum_or_gravity_wakes():
    world = piles()
    run(world, 0.3)
    world.bodies.set_velocity(world.bodies.index("box-0-2"), np.array([0.5, 0.0, 0.0]))
    world.step(DT)
    assert asleep(world) == TOWERS[1]
    world.solids.gravity[...] = (0.0, -5.0, 0.0)
    world.step(DT)
    assert asleep(world) == set()


def test_what_moves_as_prescribed_wakes_and_a_floor_that_goes_lets_fall():
    world = SolidsWorld(sleep=0.1)
    motion = Driven(np.array([0.0, -0.05, 0.0]), np.eye(3))
    world.add("floor", Box((4.0, 0.1, 1.0)), motion=motion, friction=0.6)
    world.add("box", Box((0.2, 0.1, 0.2)), (0.0, 0.05, 0.0), density=500.0, friction=0.6)
    run(world, 0.3)
    assert asleep(world) == {"box"}
    motion.move_with(world.time, np.array([0.0, -2.0, 0.0]), np.zeros(3))
    world.step(DT)
    assert asleep(world) == set()
    for _ in range(20):
        world.step(DT)
    assert world.bodies.v_b[1, 1] < -1.0


def test_sleep_takes_kinetic_energy_and_counts_it():
    world = piles()
    world.add("ball", Sphere(0.05), (4.0, 0.05, 0.0), density=2000.0, rolling=0.01)
    run(world, 0.02)
    sleepers = world.solids.sleepers
    # slow, but not at rest
    world.bodies.set_velocity(world.bodies.index("ball"), np.array([0.0, 0.0, 0.004]))
    for _ in range(60):
        before, lost = energy(world), sleepers.lost
        world.step(DT)
        assert energy(world) + sleepers.lost <= before + lost + 1e-8 * abs(before)
        assert sleepers.lost >= lost
    assert 0.0 < sleepers.lost < 0.5 * world.bodies.mass_b[-1] * 0.004**2
    assert len(asleep(world)) == 7


def test_neither_falling_asleep_nor_waking_adds_energy(monkeypatch):
    """Of the same positions: the first takes kinetic energy, which is counted, the second changes nothing."""
    changes = {"_let_sleep": [], "_rouse": []}

    def watched(name, own):
        def call(*given):
            before, lost, count = energy(world), world.solids.sleepers.lost, world.solids.sleepers.count
            own(*given)
            after, taken = energy(world), world.solids.sleepers.lost - lost
            assert after <= before and after + taken == pytest.approx(before, rel=1e-14)
            assert name == "_let_sleep" or after == before
            changes[name].append(world.solids.sleepers.count - count)
        return call

    world = piles()
    for name in changes:
        monkeypatch.setattr(world.solids, name, watched(name, getattr(world.solids, name)))
    run(world, 0.3)
    world.bodies.set_velocity(world.bodies.index("box-0-2"), np.array([0.0, 0.0, 0.5]))
    run(world, 0.6)
    assert sum(changes["_let_sleep"]) == 9 and sum(changes["_rouse"]) == -3


def test_joints_keep_awake_what_they_hold():
    scene = make_scene()
    hinge = {"type": "joint", "kind": "hinge", "parent": "box-0", "child": "box-1", "position": (0.0, 0.1, 0.0),
             "axis": (0, 0, 1)}  # fmt: skip
    data = {**dict(scene), "objects": {**dict(scene.objects), "hinge": hinge}}
    sim = ut.Simulation(ut.Scene.model_validate(data), threads=1)
    while sim.time < 0.4:
        report = sim.step()
    assert report.ledger["asleep"] == 2
    sim.remove("hinge")
    while sim.time < 0.7:
        report = sim.step()
    assert report.ledger["asleep"] == 5


def make_scene(**changes):
    """A tower of three boxes and one of two on the ground."""
    objects = {"ground": {"type": "rigid_body", "shape": {"type": "plane", "normal": (0, 1, 0)}, "position": (0, 0, 0),
                          "friction": 0.6}}  # fmt: skip
    for n in range(5):
        tower, level = divmod(n, 3)
        objects[f"box-{n}"] = {
            "type": "rigid_body", "shape": {"type": "box", "size": (0.2, 0.1, 0.2)}, "density": 500.0, "friction": 0.6,
            "position": (2.0 * tower, 0.05 + 0.1 * level, 0.0),
        }  # fmt: skip
    data = {"name": "towers", "time": {"end": 2.0, "frame_rate": 24, "max_step": DT}, "objects": objects,
            "solids": {"sleep": 0.1}, **changes}  # fmt: skip
    return ut.Scene.model_validate(data)


def state(sim):
    return {name: array.copy() for name, array in sim.arrays().items()}


@pytest.mark.parametrize("at", [0.05, 0.3, 0.46])
def test_resume_is_bitwise(tmp_path, at):
    """Before anything sleeps, while all sleeps, and after a ball has been thrown in."""

    def go(sim, until):
        while sim.time < until - 1e-9:
            sim.step()
            if sim.step_count == 40:
                ball = {"shape": {"type": "sphere", "radius": 0.05}, "density": 2000.0, "position": (-0.3, 0.25, 0.0),
                        "velocity": (3.0, 0.0, 0.0)}  # fmt: skip
                sim.add("ball", ut.RigidBody.model_validate(ball))
        return sim

    whole = go(ut.Simulation(make_scene(), threads=1), at)
    whole.save(tmp_path / "middle.npz")
    again = ut.load(tmp_path / "middle.npz", threads=1)
    one, two = state(go(whole, 0.7)), state(go(again, 0.7))
    assert one.keys() == two.keys()
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert whole.part(RigidPart).solids.sleepers.count == 2


def test_the_key_is_refused_where_a_fluid_or_cloth_moves_bodies():
    with pytest.raises(ut.UserError, match=r"solids.sleep = 0.1: bodies that a fluid may move .* remove it"):
        ut.scene("smoke-sphere").replace("solids", {"sleep": 0.1})
    with pytest.raises(ut.UserError, match=r"solids.sleep = 0.1: bodies that objects\..* remove it"):
        ut.scene("cloth-tear").replace("solids", {"sleep": 0.1})


def test_the_key_goes_through_a_file(tmp_path):
    from undertow.scene import toml

    path = tmp_path / "scene.toml"
    path.write_text(toml.write(make_scene()))
    assert toml.read(path.read_text(), "scene").solids.sleep == 0.1
