"""Two coupled solves in a step (thesis 5.4, Robinson-Mosher 2008, section 7): its stages, then whole steps."""

import numpy as np
import pytest
from typer.testing import CliRunner

import undertow as ut
from undertow.cli import app
from undertow.coupling.motion import MotionAhead, effective_twists
from undertow.geometry import Box, SineCurve, VelocityCurves
from undertow.solids import SolidsWorld
from undertow.validation.momentum.case import at_ends
from undertow.validation.sealed.case import make_scene

SCHEMES = ("one_solve", "two_solves")
SIDES = ("x_low", "x_high", "y_low", "y_high")


def tank(scheme, dt=0.02, end=0.3, **changes):
    """A ball in a full tank with a lid."""
    fields = {
        "name": "tank",
        "coupling": "monolithic",
        "monolithic": ut.Monolithic(scheme=scheme),
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
        "monolithic": ut.Monolithic(scheme="two_solves"),
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
    sim = ut.Simulation(make("two_solves") if make is tank else make())
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
        w = {"fluid": along_f, solve.block.name: moved.reshape(solve.block.shape)}
        solve.rows.apply(w, flow.row_c)
        inner = flow.grid.interior
        seen["left"] = np.abs(flow.row_c - solve.rows.target)[inner][solve.rows.stencil.diagonal_c[inner] > 0].max()
        seen["moved"] = moved.copy()
        return found

    def step(along_f, time, dt):
        seen["change"] = float(np.abs(along_f - flow.state.u).max())
        return advance_along(along_f, time, dt)

    solve.conform, flow.advance_along = look, step
    before = sim.scheme.bodies.bodies.x_b.copy()
    report = sim.step()
    assert all(np.array_equal(a, b) for a, b in zip(seen["start"], (p, L), strict=True))
    moved = (sim.scheme.bodies.bodies.x_b - before) / report.time_step
    twists = seen["moved"] if make is tank else solve.block.twists(seen["moved"])
    assert twists[:, :3] == pytest.approx(moved, abs=1e-14)
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
    rigid = ut.Simulation(tank("two_solves", domain=domain, gravity=(0.0, 0.0)))
    rigid.set_velocity(lambda x, y, z: (np.sin(2 * np.pi * y), np.sin(2 * np.pi * x), 0.0 * z))
    watch(rigid, lambda u: of_faces(rigid) * u + at_ends(rigid, u))
    soft = ut.Simulation(soft_box())
    watch(soft, lambda u: of_faces(soft) * u)
    for sim in (rigid, soft):
        for _ in range(2):
            sim.step()
    assert [dt for dt, _ in changes] == pytest.approx([0.01, 0.02] * 4)
    assert max(change for _, change in changes) < 1e-12


def test_a_heavy_body_falls_as_in_vacuum():
    """Positions are exact where the acceleration is constant; with one solve they are g t dt / 2 behind."""
    ball = ut.RigidBody(shape=ut.Sphere(radius=0.15), position=(0.5, 1.5), density=1e9)
    fallen = {}
    for scheme in SCHEMES:
        sim = ut.Simulation(tank(scheme, objects={"ball": ball}))
        sim.advance_to(0.3)
        fallen[scheme] = (1.5 - sim.body("ball").position[1]) / (0.5 * 9.81 * 0.3**2)
    assert fallen["two_solves"] == pytest.approx(1.0, abs=1e-5)
    assert fallen["one_solve"] == pytest.approx(1.0 - 0.02 / 0.3, abs=1e-5)


def test_positions_of_a_sinking_body_are_nearer_with_two_solves():
    """Against steps eight times smaller; the velocities are of first order with both."""

    def fall(scheme, dt):
        sim = ut.Simulation(tank(scheme, dt))
        sim.advance_to(0.3)
        return sim.body("ball").position[1]

    error = {scheme: abs(fall(scheme, 0.02) - fall(scheme, 0.0025)) for scheme in SCHEMES}
    assert error["two_solves"] < 0.25 * error["one_solve"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_smoke_gets_behind_a_plate_that_moves_and_turns(scheme):
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
            scheme,
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
    sim = ut.Simulation(scene.model_copy(update={"monolithic": ut.Monolithic(scheme="two_solves"), "soft": soft}))
    errors = [sim.step().ledger["enclosed_volume_error"] for _ in range(12)]
    goes_on(sim, 3)
    held = sim.flow.solve.pockets.find_cells(sim.flow.solve.rows.stencil)[sim.grid.interior] > 0
    smoke = sim.state.smoke[sim.grid.interior]
    assert smoke[held].max() > 0.5 and (smoke[~held] == 0.0).all()
    assert max(errors) < 1e-4


def test_soft_and_rigid_bodies_go_on_bit_for_bit(goes_on):
    sim = ut.Simulation(soft_box(fluid=ut.Fluid(density=1.0, viscosity=0.01, initial_vortices=0.05)))
    for _ in range(2):
        sim.step()
    goes_on(sim, 2)


SEA = """
name = "sea"
coupling = "monolithic"
monolithic = { scheme = "two_solves" }
domain = { upper = [1, 1], resolution = 16 }
time = { end = 1.0 }
[objects.sea]
type = "water"
shape = { type = "box", size = [1.0, 1.0] }
position = [0.5, 0.0]
[objects.ball]
type = "rigid_body"
shape = { type = "sphere", radius = 0.1 }
position = [0.5, 0.7]
density = 500.0
"""


def test_water_with_a_surface_is_refused_by_the_command_line(tmp_path):
    """It has one solve, and the message says so; status 2."""
    (tmp_path / "sea.toml").write_text(SEA)
    result = CliRunner().invoke(app, ["run", str(tmp_path / "sea.toml"), "--out", str(tmp_path / "run")])
    assert result.exit_code == 2
    assert "monolithic.scheme = 'two_solves': water with a surface and bodies are solved for once" in result.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"coupling": "batty"}, "set coupling = .monolithic."),
        ({"domain": None, "coupling": "none", "fluid": ut.Fluid()}, "no effect without a"),
    ],
)
def test_where_there_is_one_solve_two_are_refused(changes, words):
    with pytest.raises(Exception, match=words):
        tank("two_solves", **changes)


def test_soft_bodies_with_two_solves_have_newmarks_scheme():
    with pytest.raises(Exception, match=r"set soft.stepper = .newmark."):
        soft_box(soft=ut.Soft(stepper="implicit"))
