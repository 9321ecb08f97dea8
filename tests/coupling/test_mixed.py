"""Rigid and soft bodies, joints and contact in one fluid and one solve."""

import numpy as np
import pytest

import undertow as ut
from undertow.coupling.one_sided import ContactRows, gather, of_nodes
from undertow.coupling.solid_velocities import BLOCK
from undertow.errors import UserError

PERIODIC = dict.fromkeys(("x_low", "x_high", "y_low", "y_high"), "periodic")


def mixed(resolution=12, sides=PERIODIC, extra=None, ball=None, disc=None, **changes):
    """A soft disc and a rigid ball in a unit box of fluid; they share cells."""
    ball = {"shape": ut.Box(size=(0.3, 0.2)), "position": (0.71, 0.52), "density": 2.0, **(ball or {})}
    disc = {
        "shape": ut.Sphere(radius=0.2), "position": (0.32, 0.47), "element_size": 0.08, "density": 0.4,
        "youngs_modulus": 3.0, "poisson_ratio": 0.4, **(disc or {}),
    }  # fmt: skip
    fields = {
        "name": "mixed",
        "coupling": "monolithic",
        "gravity": (0.0, 0.0),
        "domain": ut.Domain(upper=(1.0, 1.0), resolution=resolution, sides=sides),
        "time": ut.Time(end=1.0, frame_rate=20.0),
        "fluid": ut.Fluid(density=1.0, tolerance=1e-12),
        "objects": {"ball": ut.RigidBody(**ball), "disc": ut.SoftBody(**disc), **(extra or {})},
    }
    return ut.Scene(**{**fields, **changes})


def randomise(sim, seed):
    """Random velocities of fluid, nodes and bodies; returns u, the masses of its faces and the velocities of solids."""
    rng = np.random.default_rng(seed)
    flow = sim.flow
    inverse = flow.domain.inv_mass_f
    mass = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0)
    u = rng.normal(size=mass.shape) * (mass > 0)
    sim.scheme.nodes[0].soft.v[:, :2] = rng.normal(size=(sim.scheme.nodes[0].soft.count, 2))
    for b in range(max(1, len(sim.scheme.bodies.placed))):
        velocity, spin = np.array([*rng.normal(size=2), 0.0]), np.array([0.0, 0.0, rng.normal()])
        sim.scheme.bodies.bodies.set_velocity(b, velocity, spin)
    sim.scheme.nodes[0].part.soft_solids.follow()
    w = np.zeros(sim.flow.solve.nodes[0].block.shape)
    sim.flow.solve.nodes[0].block.take(w)
    return u, mass, w


def of_fluid(sim, u, mass):
    """Momentum of the fluid by faces, that of the ends of bodies in it (``coupling.poles``)."""
    found, poles = mass * u, sim.flow.solve.rigid.walls.poles
    poles.add_momentum(poles.mean(u), found)
    return found


def momentum(sim, u, mass):
    total = of_fluid(sim, u, mass).sum(axis=(1, 2, 3)) + sim.scheme.nodes[0].soft.momentum()[0]
    return total + sim.scheme.bodies.bodies.p_b.sum(axis=0)


@pytest.mark.parametrize("viscosity", [0.0, 0.05])
def test_momentum_passes_without_loss_and_energy_does_not_grow(viscosity):
    """The disc touches the box, so that cells are cut by both; constant motion of all meets all rows."""
    scene = mixed(ball={"position": (0.66, 0.5)}, fluid=ut.Fluid(density=1.0, tolerance=1e-12, viscosity=viscosity))
    sim = ut.Simulation(scene)
    flow = sim.flow
    solve, rows = sim.flow.solve, sim.flow.solve.rows
    w = {"fluid": np.zeros_like(flow.state.u), BLOCK: np.zeros(solve.nodes[0].block.shape)}
    w["fluid"][0], w["fluid"][1] = 0.7, -0.4
    w[BLOCK][: sim.scheme.nodes[0].soft.count, :2] = 0.7, -0.4
    w["rigid"] = np.zeros((sim.scheme.bodies.bodies.count, 6))
    w["rigid"][:, :2] = 0.7, -0.4
    out = np.zeros(rows.shape)
    rows.apply(w, out)
    assert np.abs(out[sim.grid.interior]).max() < 1e-14
    for seed in range(3):
        u, mass, v = randomise(sim, seed)
        before, size = momentum(sim, u, mass), np.abs(mass * u).sum()
        solve.nodes[0].block.set_masses(0.05, 1.0)
        star = v.copy()
        solve.nodes[0].add_forces(star, 0.05, np.zeros_like(star))
        matrix = solve.nodes[0].block.matrix
        energy = (of_fluid(sim, u, mass) * u).sum() + star.reshape(-1) @ matrix @ star.reshape(-1)
        solve.place()
        flow.z_c[...] = 0.0
        solve.solve(u, flow.z_c, 0.05)
        assert np.abs(momentum(sim, u, mass) - before).max() / size < 1e-12
        solve.nodes[0].block.take(v)
        left = (of_fluid(sim, u, mass) * u).sum() + v.reshape(-1) @ matrix @ v.reshape(-1)
        assert left <= energy * (1 + 1e-12)
        assert flow.largest_row(u) < 1e-9


def test_nodes_that_a_rigid_body_carries_and_joints_hold_in_the_fluid():
    """A soft arm bound to a box that hangs from a hinge, stirred: both hold, momentum of the hinge aside."""
    hold = ut.Hold(shape=ut.Box(size=(0.1, 0.3)), position=(0.56, 0.5), body="ball")
    arm = {"shape": ut.Box(size=(0.3, 0.12)), "position": (0.42, 0.5), "element_size": 0.06, "holds": (hold,)}
    pin = ut.Joint(kind="hinge", child="ball", position=(0.8, 0.55))
    sim = ut.Simulation(
        mixed(sides={}, disc=arm, extra={"pin": pin}, gravity=(0.0, -5.0), fluid=ut.Fluid(density=1.0, tolerance=1e-8))
    )
    bound = sim.scheme.nodes[0].part.soft_solids.bound
    assert len(bound) > 3
    for _ in range(4):
        row = sim.step().ledger
    ball, bodies = sim.scheme.bodies.bodies.index("ball"), sim.scheme.bodies.bodies
    arms = sim.scheme.nodes[0].soft.x[bound] - bodies.x_b[ball]
    wanted = bodies.v_b[ball] + np.cross(bodies.omega_b[ball], arms)
    assert sim.scheme.nodes[0].soft.v[bound] == pytest.approx(wanted, abs=1e-9)
    assert row["joint_error"] < 1e-8
    assert abs(bodies.omega_b[ball, 2]) > 0.01
    assert row["coupling_residual"] < 1e-6


def test_what_rests_on_the_floor_carries_its_weight_less_buoyancy():
    """A rigid and a soft disc: contact gives exactly what fluid does not; no drift, no pumping."""
    heavy = {"shape": ut.Sphere(radius=0.13), "position": (0.71, 0.13), "density": 3.0}
    disc = {"shape": ut.Sphere(radius=0.15), "position": (0.3, 0.15), "density": 3.0, "youngs_modulus": 2e4}
    scene = mixed(
        10, sides={}, ball=heavy, disc=disc, gravity=(0.0, -10.0),
        time=ut.Time(end=1.0, frame_rate=50.0), fluid=ut.Fluid(density=1.0, tolerance=1e-9),
    )  # fmt: skip
    sim = ut.Simulation(scene)
    rows = [sim.step().ledger for _ in range(12)]
    ball, soft = sim.body("ball"), sim.body("disc")
    area = sim.scheme.nodes[0].soft.volume(sim.scheme.nodes[0].soft.parts[0])
    weight = float(sim.scheme.nodes[0].soft.mass.sum()) * 10.0
    assert ball.contact_force[1] == pytest.approx(np.pi * 0.13**2 * 20.0, rel=1e-6)
    assert soft.contact_force[1] == pytest.approx(weight - 10.0 * area, rel=1e-6)
    assert max(abs(ball.velocity[1]), abs(soft.velocity[1])) < 1e-9
    # the soft disc stands on a node and leans by a hair, which stirs the fluid
    assert max(np.abs(ball.velocity).max(), np.abs(soft.velocity).max()) < 1e-5
    # contact of rigid bodies is staggered around the solve, to 1e-4 of its impulse
    assert abs(ball.position[1] - 0.13) < 1e-6
    assert sim.scheme.nodes[0].soft.x[:, 1].min() == pytest.approx(0.0, abs=1e-12)
    assert max(row["contact_left"] for row in rows) < 1e-12
    assert rows[-1]["contact_passes"] == 1
    assert rows[-1]["kinetic_energy"] < 1e-10


@pytest.mark.parametrize("top", ["open", "wall"])
def test_a_soft_block_flat_on_the_floor_is_carried_by_contact_or_by_the_pressure_of_a_closed_tank(top):
    """Forces balance in every step. Under an open top contact carries weight less buoyancy; in a closed tank, where the
    block cannot lose volume, the pressure falls and pulls at its top, not at its bottom, where there is no fluid."""
    side, weight, dt = 0.4, 3000.0 * 0.4**2 * 9.81, 0.02
    disc = {"shape": ut.Box(size=(side, side)), "position": (0.5, 0.2), "element_size": 0.1}
    scene = mixed(
        10, sides={"y_high": top}, gravity=(0.0, -9.81), fluid=ut.Fluid(density=1000.0, tolerance=1e-9),
        disc={**disc, "density": 3000.0, "youngs_modulus": 1e6, "poisson_ratio": 0.3},
        time=ut.Time(end=1.0, frame_rate=1 / dt),
    )  # fmt: skip
    sim = ut.Simulation(scene.model_copy(update={"objects": {"disc": scene.objects["disc"]}}))
    soft, scheme = sim.scheme.nodes[0].soft, sim.scheme
    sim.step()
    before = soft.momentum()[0][1]
    for _ in range(14):
        sim.step()
        block, now = sim.body("disc"), soft.momentum()[0][1]
        gained = (now - before) / (scheme.velocity_time - scheme.before_time)
        assert block.contact_force[1] + block.force[1] - weight == pytest.approx(gained, abs=1e-8 * weight)
        before = now
    apparent = weight - 1000.0 * 9.81 * soft.volume(soft.parts[0])
    pull = -side * float(sim.sample("pressure", (0.1, 0.9)))
    if top == "open":
        assert block.contact_force[1] == pytest.approx(apparent, rel=0.03)
        assert abs(pull) < 0.01 * apparent
    else:
        assert pull > apparent
        assert block.contact_force[1] < 0.5 * apparent


def test_a_contact_that_would_pull_is_dropped_and_friction_has_its_cone():
    """Two points on a floor that moves: one pressed sticks or slides, one lifted is free; against the conditions."""
    sim = ut.Simulation(mixed(8, sides={}))
    block = sim.flow.solve.nodes[0].block
    block.set_masses(0.01, 1.0)
    floor = sim.scheme.bodies.bodies.index("domain.y_low")
    nodes = np.array([[3], [9], [15]])
    normal = np.tile([0.0, 1.0, 0.0], (3, 1))
    contacts = gather(
        block,
        [
            of_nodes(
                block, nodes, np.ones((3, 1)), normal, np.full(3, floor), np.zeros((3, 3)), np.zeros(3), np.full(3, 0.5)
            )
        ],
    )
    w0 = np.zeros(block.shape)
    w0[3], w0[9], w0[15] = (0.1, -1.0, 0.0), (3.0, -1.0, 0.0), (1.0, 1.0, 0.0)
    active = ContactRows(block, contacts)
    active.choose(w0)
    v = w0 + block.free_answer(active.friction_push())
    block.settle(v, active.wanted)
    assert active.accept(w0 + block.free_answer(active.friction_push()), v)
    j = contacts.impulse
    assert j[2, 0] == 0.0 and np.all(j[:2, 0] > 0.0)
    assert np.abs(j[0, 1]) < 0.5 * j[0, 0] and np.abs(v[3]).max() < 1e-9
    assert np.abs(j[1, 1]) == pytest.approx(0.5 * j[1, 0], rel=1e-6)
    assert v[9, 0] > 0.0 and abs(v[9, 1]) < 1e-9
    assert v[15, 1] > 0.0


def test_a_soft_ball_falls_on_a_rigid_box_and_both_on_the_floor():
    """In the fluid, with a rigid lid between them; nothing enters anything."""
    plate = {"shape": ut.Box(size=(0.5, 0.1)), "position": (0.5, 0.08), "density": 2.0}
    disc = {
        "shape": ut.Sphere(radius=0.15),
        "position": (0.5, 0.34),
        "density": 4.0,
        "youngs_modulus": 2e3,
        "velocity": (0.0, -1.0),
    }
    sim = ut.Simulation(
        mixed(10, sides={}, ball=plate, disc=disc, gravity=(0.0, -10.0), fluid=ut.Fluid(density=1.0, tolerance=1e-6))
    )
    held = 0.0
    for _ in range(20):
        row = sim.step().ledger
        held = max(held, row["contacts_held"])
        top = sim.body("ball").position[1] + 0.05
        assert sim.scheme.nodes[0].soft.x[:, 1].min() > top - 3e-3
        assert row["penetration"] < 2e-3
    assert held >= 1
    assert sim.body("ball").contact_force[1] > 0.0


def test_incompressible_bodies_keep_every_ring_in_the_solve():
    """Rings are rows of the same system: no velocity changes their volume, momentum passes, and a heavy body that
    lands keeps its volume, and at rest far better than a plain one."""
    disc = {"incompressible": True, "density": 2.0, "youngs_modulus": 20.0}
    sim = ut.Simulation(mixed(disc=disc))
    solve, flow = sim.flow.solve, sim.flow
    u, mass, v = randomise(sim, 5)
    before, size = momentum(sim, u, mass), np.abs(mass * u).sum()
    solve.place()
    solve.solve(u, flow.z_c, 0.02)
    assert np.abs(momentum(sim, u, mass) - before).max() / size < 1e-12
    rings = solve.nodes[0].block.rings
    rate = rings.matrix()[rings.nodes] @ sim.scheme.nodes[0].soft.v.reshape(-1)
    assert np.abs(rate).max() < 1e-9 * np.abs(sim.scheme.nodes[0].soft.v).max()
    lost = {}
    for kept in (True, False):
        landing = {**disc, "incompressible": kept, "position": (0.32, 0.21), "density": 20.0, "poisson_ratio": 0.3}
        sim = ut.Simulation(
            mixed(
                10, sides={}, disc={**landing, "youngs_modulus": 700.0, "velocity": (0.0, -1.0)}, gravity=(0.0, -10.0),
                fluid=ut.Fluid(density=1.0, tolerance=1e-6), time=ut.Time(end=1.0, frame_rate=40.0),
            )
        )  # fmt: skip
        start = sim.scheme.nodes[0].soft.volume(sim.scheme.nodes[0].soft.parts[0])
        lost[kept] = [abs(sim.step().ledger["soft_volume"] / start - 1.0) for _ in range(16)]
    assert max(lost[True]) < 1e-3
    assert lost[False][-1] > 20.0 * lost[True][-1]


def test_soft_bodies_meet_each_other_in_the_fluid():
    """In 3D: a block falls on another on the floor; nothing crosses, and then it is carried: weight less buoyancy."""
    block = {"shape": ut.Box(size=(0.4, 0.4, 0.4)), "element_size": 0.2, "density": 3000.0, "youngs_modulus": 1e6}
    sim = ut.Simulation(
        ut.Scene(
            name="blocks",
            coupling="monolithic",
            domain=ut.Domain(upper=(1.0, 1.2, 1.0), resolution=10, resolution_along="x"),
            time=ut.Time(end=1.0, frame_rate=50.0),
            fluid=ut.Fluid(density=1000.0, tolerance=1e-6),
            objects={
                "lower": ut.SoftBody(position=(0.5, 0.2, 0.5), **block),
                "upper": ut.SoftBody(position=(0.53, 0.63, 0.47), velocity=(0.0, -0.5, 0.0), **block),
            },
        )
    )
    carried = []
    for _ in range(30):
        row = sim.step().ledger
        assert sim.scheme.nodes[0].part.soft_solids.surfaces.crossings(sim.scheme.nodes[0].soft.x) == 0
        assert row["contact_left"] < 0.05  # of an impact of 0.5 m/s; 0.024 when the upper one parts
        carried.append(sim.body("upper").contact_force[1])
    assert row["contacts_held"] > 9
    assert abs(sim.body("upper").velocity[1]) < 0.01
    assert np.mean(carried[-10:]) == pytest.approx(2000.0 * 0.4**3 * 9.81, rel=0.02)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"coupling": "lumped"}, "objects.disc: .*needs coupling = 'monolithic'"),
        ({"coupling": "rigid_fluid"}, "objects.disc: .*needs coupling = 'monolithic'"),
    ],
)
def test_a_coupling_that_does_not_move_a_body_says_which_does(changes, words):
    with pytest.raises(ValueError, match=words):
        mixed(**changes)


def test_a_soft_body_that_fills_the_domain_is_named():
    disc = {"shape": ut.Box(size=(2.0, 2.0)), "position": (0.5, 0.5), "element_size": 0.25}
    scene = mixed(8, sides={}, disc=disc)
    scene = scene.model_copy(update={"objects": {"disc": scene.objects["disc"]}})
    with pytest.raises(UserError, match="objects.disc fill the whole domain and leave no fluid; make them smaller"):
        ut.Simulation(scene)


def test_saved_and_loaded_it_goes_on_bit_for_bit(tmp_path):
    """With contact, friction, an incompressible body and a joint."""
    disc = {"incompressible": True, "position": (0.32, 0.21), "density": 5.0, "velocity": (0.3, -0.5)}
    pin = ut.Joint(kind="hinge", child="ball", position=(0.8, 0.55))
    sim = ut.Simulation(
        mixed(8, sides={}, disc=disc, extra={"pin": pin}, gravity=(0.0, -10.0), fluid=ut.Fluid(density=1.0))
    )
    for _ in range(3):
        sim.step()
    sim.save(tmp_path / "state.h5")
    again = ut.load(tmp_path / "state.h5")
    for one in (sim, again):
        one.step()
        row = one.step().ledger
    assert row["contacts_held"] > 0
    for name, array in sim.arrays().items():
        assert np.array_equal(array, again.arrays()[name]), name
    assert np.array_equal(sim.body("disc").contact_force, again.body("disc").contact_force)
