"""Two coupled solves in a step (thesis 5.4, Robinson-Mosher 2008, section 7): its stages, then whole steps."""

import numpy as np
import pytest

import undertow as ut
from undertow.coupling.motion import MotionAhead, effective_twists
from undertow.geometry import Box, SineCurve, VelocityCurves
from undertow.solids import SolidsWorld
from undertow.validation.momentum.case import at_ends
from undertow.validation.sealed.case import make_scene
from undertow.validation.standing_wave import case as standing_wave

SOLVES = (1, 2)
SIDES = ("x_low", "x_high", "y_low", "y_high")


def tank(solves, dt=0.02, end=0.3, **changes):
    """A ball in a full tank with a lid."""
    fields = {
        "name": "tank",
        "coupling": "monolithic",
        "monolithic": ut.Monolithic(solves=solves),
        "domain": ut.Domain(upper=(1.0, 2.0), resolution=16),
        "time": ut.Time(end=end, frame_rate=1 / end, fixed_step=dt),
        "fluid": ut.Fluid(density=1000.0, tolerance=1e-8),
        "objects": {"ball": ut.RigidBody(shape=ut.Sphere(radius=0.15), position=(0.5, 1.0), density=3000.0)},
    }
    return ut.Scene(**{**fields, **changes})


def soft_box(**changes):
    """A soft disc and a rigid ball in a periodic box with vortices."""
    disc = ut.SoftBody(
        shape=ut.Sphere(radius=0.18), position=(0.4, 0.6), element_size=0.09, density=1.3, youngs_modulus=3.0,
        poisson_ratio=0.3,
    )  # fmt: skip
    ball = ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.75, 0.25), density=0.4)
    fields = {
        "name": "box",
        "coupling": "monolithic",
        "monolithic": ut.Monolithic(solves=2),
        "gravity": (0.0, 0.0),
        "domain": ut.Domain(upper=(1.0, 1.0), resolution=16, sides=dict.fromkeys(SIDES, "periodic")),
        "time": ut.Time(end=1.0, frame_rate=1.0, fixed_step=0.02),
        "fluid": ut.Fluid(density=1.0, initial_vortices=0.05, tolerance=1e-9),
        "soft": ut.Soft(stepper="newmark"),
        "objects": {"disc": disc, "ball": ball},
    }
    return ut.Scene(**{**fields, **changes})


def test_effective_twists_take_bodies_where_they_are():
    """A turn by more than a right angle about a skew axis, and a way."""
    world = SolidsWorld()
    body = world.add("box", Box((0.2, 0.3, 0.4)), (0.1, 0.2, 0.3), density=1.0)
    bodies, dt = world.bodies, 0.5
    x, q = bodies.x_b.copy(), bodies.q_b.copy()
    turn = np.array([1.0, -2.0, 0.5])
    angle = np.linalg.norm(turn)
    bodies.x_b[body] += [0.05, 0.0, -0.1]
    # q was the identity up to the principal axes: the turn of the world comes after it
    w, a = np.cos(0.5 * angle), np.sin(0.5 * angle) * turn / angle
    s, t = q[body, 0], q[body, 1:]
    bodies.q_b[body] = [w * s - a @ t, *(w * t + s * a + np.cross(a, t))]
    for sign in (1.0, -1.0):
        bodies.q_b[body] *= sign  # both are the same orientation
        found = effective_twists(bodies, x, q, dt)[body]
        assert found == pytest.approx([0.1, 0.0, -0.2, *(turn / dt)], abs=1e-12)


def test_a_prescribed_motion_shows_the_velocity_ahead():
    curve = SineCurve((0.0, 0.0, 0.0), (0.3, 0.0, 0.0), 1.0, 0.0)
    still = SineCurve((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 1.0, 0.0)
    motion = VelocityCurves(curve, still, (0.1, 0.2, 0.0), np.eye(3))
    shown = MotionAhead(motion)
    shown.ahead = 0.1
    assert np.array_equal(shown.pose(0.2)[0], motion.pose(0.2)[0])
    assert np.array_equal(shown.velocity(0.2)[0], motion.velocity(0.2 + 0.1)[0])


@pytest.mark.parametrize("make", [tank, soft_box])
def test_the_first_solve_leaves_velocities_alone_and_transport_has_those_of_the_solids(make):
    """v^n+1/2 is found, u^n and v^n stay; the velocity of transport meets the rows of solids that move to x^n+1."""
    sim = ut.Simulation(make(2) if make is tank else make())
    for _ in range(3):
        sim.step()
    flow, seen = sim.flow, {}
    solve = flow.solve
    conform, advance_along = solve.conform, flow.advance_along
    u, p, L = flow.state.u.copy(), sim.scheme.bodies.bodies.p_b.copy(), sim.scheme.bodies.bodies.L_b.copy()

    def look(along_f, moved, z_c):
        assert np.array_equal(flow.state.u, u)
        seen["start"] = sim.scheme.bodies.bodies.p_b.copy(), sim.scheme.bodies.bodies.L_b.copy()
        found = conform(along_f, moved, z_c)
        w = {"fluid": along_f, **{one.block.name: v for one, v in zip(solve.blocks, moved, strict=True)}}
        solve.rows.apply(w, flow.row_c)
        inner = flow.grid.interior
        seen["left"] = np.abs(flow.row_c - solve.rows.target)[inner][solve.rows.stencil.diagonal_c[inner] > 0].max()
        seen["moved"] = moved[0].copy()
        return found

    def step(along_f, time, dt):
        seen["change"] = float(np.abs(along_f - flow.state.u).max())
        return advance_along(along_f, time, dt)

    solve.conform, flow.advance_along = look, step
    before = sim.scheme.bodies.bodies.x_b.copy()
    report = sim.step()
    assert all(np.array_equal(a, b) for a, b in zip(seen["start"], (p, L), strict=True))
    moved = (sim.scheme.bodies.bodies.x_b - before) / report.time_step
    assert seen["moved"][:, :3] == pytest.approx(moved, abs=1e-14)
    speed = np.abs(u).max()
    assert seen["change"] > 1e-3 * speed
    assert seen["left"] < 1e-6 * speed * flow.grid.face_area
    # of both solves and of what transport follows
    assert report.iterations == sum(s.iterations for s in report.details.solves) and len(report.details.solves) >= 2


def test_both_solves_conserve_linear_momentum():
    """Rigid and soft bodies in a periodic box: what fluid and solids have before and after each, to rounding."""
    changes = []

    def watch(sim, momentum):
        solve, advance = sim.flow.solve, sim.flow.solve.solve

        def measured(u, z, dt):
            size = float(np.abs(momentum(u)).sum())
            before = momentum(u).reshape(3, -1).sum(axis=1) + solids()
            found = advance(u, z, dt)
            after = momentum(u).reshape(3, -1).sum(axis=1) + solids()
            changes.append((dt, float(np.abs(after - before).max()) / size))
            return found

        def solids():
            soft = sim.scheme.nodes[0].soft if sim.scheme.nodes else None
            return sim.scheme.bodies.bodies.p_b.sum(axis=0) + (0.0 if soft is None else soft.momentum()[0])

        solve.solve = measured

    def of_faces(sim):
        inverse = sim.flow.domain.inv_mass_f
        return np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0)

    domain = ut.Domain(upper=(1.0, 2.0), resolution=16, sides=dict.fromkeys(SIDES, "periodic"))
    rigid = ut.Simulation(tank(2, domain=domain, gravity=(0.0, 0.0)))
    rigid.set_velocity(lambda x, y, z: (np.sin(2 * np.pi * y), np.sin(2 * np.pi * x), 0.0 * z))
    watch(rigid, lambda u: of_faces(rigid) * u + at_ends(rigid, u))
    soft = ut.Simulation(soft_box())
    watch(soft, lambda u: of_faces(soft) * u + at_ends(soft, u))
    for sim in (rigid, soft):
        for _ in range(2):
            sim.step()
    assert [dt for dt, _ in changes] == pytest.approx([0.01, 0.02] * 4)
    assert max(change for _, change in changes) < 1e-12


def test_a_heavy_body_falls_as_in_vacuum():
    """Positions are exact where the acceleration is constant."""
    ball = ut.RigidBody(shape=ut.Sphere(radius=0.15), position=(0.5, 1.5), density=1e9)
    fallen = {}
    for solves in SOLVES:
        sim = ut.Simulation(tank(solves, objects={"ball": ball}))
        sim.advance_to(0.3)
        fallen[solves] = (1.5 - sim.body("ball").position[1]) / (0.5 * 9.81 * 0.3**2)
    assert list(fallen.values()) == pytest.approx([1.0, 1.0], abs=1e-5)


def test_positions_of_a_sinking_body_are_as_near_with_one_solve_as_with_two():
    """Against steps eight times smaller; transport is of first order with both. Positions that lag by half a step were
    four times farther off."""

    def fall(solves, dt):
        sim = ut.Simulation(tank(solves, dt))
        sim.advance_to(0.3)
        return sim.body("ball").position[1]

    error = {solves: abs(fall(solves, 0.02) - fall(solves, 0.0025)) for solves in SOLVES}
    assert max(error.values()) < 0.002
    assert error[1] < 1.2 * error[2]


@pytest.mark.parametrize("solves", SOLVES)
def test_no_smoke_gets_behind_a_plate_that_moves_and_turns(solves):
    """Exactly none, behind a plate of 1.2 cells that spans the domain between open sides and that the fluid slows."""
    n = 20
    plate = ut.RigidBody(
        shape=ut.Box(size=(1.2 / n, 1.8)), position=(0.4, 0.5), density=50.0, velocity=(0.6, 0.0),
        angular_velocity=(0.0, 0.0, 0.8),
    )  # fmt: skip
    smoke = ut.Emitter(shape=ut.Box(size=(0.2, 0.9)), position=(0.15, 0.5), density=1.0)
    domain = ut.Domain(upper=(1.0, 1.0), resolution=n, sides={"y_low": "open", "y_high": "open"})
    sim = ut.Simulation(
        tank(
            solves,
            domain=domain,
            gravity=(0.0, 0.0),
            fluid=ut.Fluid(density=1.0),
            smoke=ut.Smoke(buoyancy_density=0.0, buoyancy_temperature=0.0),
            objects={"plate": plate, "smoke": smoke},
        )
    )
    sim.advance_to(0.3)
    body = sim.body("plate")
    assert body.position[0] > 0.55
    x, y, _ = np.broadcast_arrays(*sim.grid.cell_centres())
    ahead = (x - body.position[0]) * body.matrix[0, 0] + (y - body.position[1]) * body.matrix[1, 0]
    held = sim.state.smoke[sim.grid.interior]
    assert held[ahead < 0.0].max() > 0.5 and held[ahead > 0.6 / n].max() == 0.0


def test_a_ring_that_is_pulled_about_keeps_its_smoke_and_its_volume(goes_on):
    """A closed shell; also bit for bit when it is loaded on the way."""
    scene = make_scene(2, 16)
    soft = scene.soft.model_copy(update={"stepper": "newmark"})
    sim = ut.Simulation(scene.model_copy(update={"monolithic": ut.Monolithic(solves=2), "soft": soft}))
    errors = [sim.step().ledger["enclosed_volume_error"] for _ in range(12)]
    goes_on(sim, 3)
    held = sim.flow.solve.nodes[0].pockets.find_cells(sim.flow.solve.rows.stencil)[sim.grid.interior] > 0
    smoke = sim.state.smoke[sim.grid.interior]
    assert smoke[held].max() > 0.5 and (smoke[~held] == 0.0).all()
    assert max(errors) < 1e-4


def test_soft_and_rigid_bodies_go_on_bit_for_bit(goes_on):
    sim = ut.Simulation(soft_box(fluid=ut.Fluid(density=1.0, viscosity=0.01, initial_vortices=0.05)))
    for _ in range(2):
        sim.step()
    goes_on(sim, 2)


def sea(solves, end=1.0, **objects):
    """A box that floats half under water, let go above its level."""
    objects = {
        "sea": ut.Water(shape=ut.Plane(normal=(0.0, 1.0)), position=(0.5, 0.5)),
        "box": ut.RigidBody(shape=ut.Box(size=(0.3, 0.2)), position=(0.5, 0.56), density=500.0),
        **objects,
    }
    return ut.Scene(
        name="sea", coupling="monolithic", monolithic=ut.Monolithic(solves=solves),
        domain=ut.Domain(upper=(1.0, 1.0), resolution=24),
        time=ut.Time(end=end, frame_rate=10, fixed_step=0.005), objects=objects,
    )  # fmt: skip


def test_a_box_floats_at_the_same_depth_and_heaves_as_fast_with_two_solves():
    """Both are the leapfrog: neither damps it. With all of the acceleration at x^n+1 in the second solve,
    x^n+1 = x^n + dt (v^n - dt omega^2 x^n / 2) and v^n+1 = v^n - dt omega^2 x^n+1 have
    |lambda|^2 = 1 - (omega dt)^2 / 2, which is 0.06 / s here."""
    heave = {}
    for solves in SOLVES:
        sim, y = ut.Simulation(sea(solves), threads=1), []
        for _ in range(200):
            row = sim.step().ledger
            y.append(float(sim.body("box").position[1]))
            assert row["leak"] < 1e-5
            held = row["fluid_volume"] + row["spray_volume"] + row["volume_error"]
            assert held == pytest.approx(sim.flow.extent.start_volume, rel=1e-10)
        low = int(np.argmin(y))
        high = low + int(np.argmax(y[low:]))
        heave[solves] = 0.5 * (y[low] + y[high]), (high - low) * 0.005, y[high] - y[low]
    assert heave[2][0] == pytest.approx(heave[1][0], abs=0.05 / 24)
    assert heave[2][1] == pytest.approx(heave[1][1], abs=0.0101)
    assert heave[2][2] / heave[1][2] == pytest.approx(1.0, abs=0.015)


def test_a_box_in_a_sea_that_is_drained_goes_on_bit_for_bit(goes_on):
    drain = ut.Drain(shape=ut.Sphere(radius=0.1), position=(0.2, 0.1), rate=0.05)
    sim = ut.Simulation(sea(2, drain=drain), threads=1)
    before = sim.flow.extent.volume()
    for _ in range(6):
        row = sim.step().ledger
    held = row["fluid_volume"] + row["spray_volume"] + row["volume_error"]
    assert held == pytest.approx(before - 6 * 0.005 * 0.05, rel=1e-10)
    goes_on(sim, 3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"coupling": "volume_fraction"}, "set coupling = .monolithic."),
        ({"domain": None, "coupling": "none", "fluid": ut.Fluid()}, "no effect without a"),
    ],
)
def test_where_there_is_one_solve_two_are_refused(changes, words):
    with pytest.raises(Exception, match=words):
        tank(2, **changes)


def test_soft_bodies_with_two_solves_have_newmarks_scheme():
    with pytest.raises(Exception, match=r"set soft.stepper = .newmark."):
        soft_box(soft=ut.Soft(stepper="implicit"))


def test_two_solves_in_water_feed_no_wave():
    """Two periods at 24 cells with random steps, a stone in a corner. Falling is exact."""
    wave = standing_wave.simulate(24, 2.0, seed=3, body=standing_wave.STONE, solves=2)
    assert 0.75 < wave.energy < 1.0
    assert wave.period == pytest.approx(1.004, abs=0.02)
    sim = ut.Simulation(sea(2, box=ut.RigidBody(shape=ut.Sphere(radius=0.05), position=(0.5, 0.9), density=500.0)))
    sim.advance_to(0.1)
    assert sim.body("box").position[1] == pytest.approx(0.9 - 0.5 * 9.81 * 0.01, abs=1e-12)
    assert sim.body("box").velocity[1] == pytest.approx(-0.981, abs=1e-12)
