"""Rigid bodies that are thin shells: mass, contact, a full tank and water on one side."""

import numpy as np
import pytest

import undertow as ut
from undertow.coupling.solid_velocities import BLOCK
from undertow.geometry import sheets
from undertow.rigid.mass import mass_properties
from undertow.run.build import make_shape
from undertow.solids.rigid_part import RigidPart

CELLS = 16
DX = 1.0 / CELLS
GRAVITY = 10.0


def tub(size=(0.5, 0.3), **changes):
    given = {
        "shape": ut.Shell(form=ut.Tub(size=size), thickness=0.01), "position": (0.5, 0.5), "density": 3000.0, **changes,
    }  # fmt: skip
    return ut.RigidBody(**given)


def tank(objects, cells=CELLS, **changes):
    fields = {
        "name": "tank", "coupling": "monolithic", "gravity": (0.0, -GRAVITY), "fluid": ut.Fluid(density=1000.0),
        "domain": ut.Domain(upper=(1.0, 1.0), resolution=cells), "time": ut.Time(end=2.0, frame_rate=20.0),
        "objects": objects,
    }  # fmt: skip
    return ut.Scene(**{**fields, **changes})


def floating(cells=CELLS, **changes):
    """A tub at the depth of Archimedes with water around it and none in it: 330 kg/m on a floor of 0.5 m."""
    bottom, level = 0.3, 0.3 + 3000.0 * 0.01 * 1.1 / (1000.0 * 0.5)
    beside = {
        name: ut.Water(shape=ut.Box(size=(0.25, level)), position=(x, 0.5 * level))
        for name, x in (("left", 0.125), ("right", 0.875))
    }
    below = ut.Water(shape=ut.Box(size=(1.0, bottom)), position=(0.5, 0.5 * bottom))
    boat = tub(position=(0.5, bottom + 0.15), **changes.pop("boat", {}))
    return tank({**beside, "below": below, "boat": boat, **changes.pop("extra", {})}, cells, **changes)


def hold(sim):
    """Cells (Y, X) whose centres lie inside the upright tub."""
    x, y, _ = (place[0] for place in np.broadcast_arrays(*sim.flow.grid.cell_centres()))
    middle = sim.body("boat").position
    return (np.abs(x - middle[0]) < 0.25) & (np.abs(y - middle[1]) < 0.15)


def test_mass_centre_and_inertia_are_those_of_the_sheet():
    """A tub by its five plates; a bowl against a hemisphere; a polyline in 2D."""
    a, h, b, rho, t = 0.4, 0.2, 0.3, 700.0, 0.005
    found = mass_properties(sheets.make_tub((a, h, b), t), density=rho)
    plates = [((a, 0, b), (0, -h / 2, 0))]
    plates += [((0, h, b), (s * a / 2, 0, 0)) for s in (-1, 1)] + [((a, h, 0), (0, 0, s * b / 2)) for s in (-1, 1)]
    masses = np.array([rho * t * np.prod([side for side in size if side]) for size, _ in plates])
    centre = sum(m * np.array(at) for m, (_, at) in zip(masses, plates, strict=True)) / masses.sum()
    inertia = np.zeros(3)
    for m, (size, at) in zip(masses, plates, strict=True):
        square, arm = np.array(size) ** 2, (np.array(at) - centre) ** 2
        inertia += m * ((square.sum() - square) / 12.0 + arm.sum() - arm)
    assert found.mass == pytest.approx(masses.sum()) and found.centre == pytest.approx(centre)
    assert found.inertia == pytest.approx(inertia)
    bowl = mass_properties(sheets.make_bowl(0.3, 0.3, 0.002, 3), density=1.0)
    assert bowl.mass == pytest.approx(2.0 * np.pi * 0.3**2 * 0.002, rel=0.02)
    assert bowl.centre == pytest.approx([0.0, 0.0, 0.0], abs=0.002)
    rod = mass_properties(sheets.make_polyline(np.array([[0.1, 0.2], [0.4, 0.6]]), False, 0.01), 2.0, dimensions=2)
    assert rod.mass == pytest.approx(0.01) and rod.inertia[2] == pytest.approx(0.01 * 0.5**2 / 12.0)


def test_rows_of_a_shell_pass_momentum_without_loss_and_energy_does_not_grow():
    """In a periodic box beside a ball; a uniform motion of all meets all rows."""
    sides = dict.fromkeys(("x_low", "x_high", "y_low", "y_high"), "periodic")
    ball = ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.55, 0.62), density=2.0)
    objects = {"cup": tub(density=40.0, rotation=ut.Rotation(degrees=17.0)), "ball": ball}
    scene = tank(
        objects, 12, gravity=(0.0, 0.0), fluid=ut.Fluid(density=1.0, tolerance=1e-12),
        domain=ut.Domain(upper=(1.0, 1.0), resolution=12, sides=sides),
    )  # fmt: skip
    sim = ut.Simulation(scene)
    flow = sim.flow
    solve, rows, bodies = sim.flow.solve, sim.flow.solve.rows, sim.scheme.bodies.bodies
    w = {"fluid": np.zeros_like(flow.state.u), BLOCK: np.zeros(solve.nodes[0].block.shape)}
    w["fluid"][0], w["fluid"][1] = 0.7, -0.4
    w[BLOCK][: sim.scheme.nodes[0].soft.count, :2] = 0.7, -0.4
    solve.nodes[0].block.twists(w[BLOCK])[:, :2] = 0.7, -0.4
    w["rigid"] = np.zeros((bodies.count, 6))
    w["rigid"][:, :2] = 0.7, -0.4
    out = np.zeros(rows.shape)
    rows.apply(w, out)
    assert np.abs(out[sim.grid.interior]).max() < 1e-14
    face = rows.walls[0].fields.voxel.face
    inverse = flow.domain.inv_mass_f
    mass = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0)
    mass.reshape(-1)[face] = rows.walls[0].carried_mass()
    rng = np.random.default_rng(1)
    u = rng.normal(size=mass.shape) * (mass > 0)
    for b in range(2):
        bodies.set_velocity(b, np.array([*rng.normal(size=2), 0.0]), np.array([0.0, 0.0, rng.normal()]))

    def sums():
        ends, poles = np.zeros_like(u), solve.rigid.walls.poles
        poles.add_momentum(poles.mean(u), ends)
        kinetic = 0.5 * (bodies.v_b * bodies.p_b).sum() + 0.5 * (bodies.omega_b * bodies.L_b).sum()
        fluid = mass * u + ends
        return fluid.sum(axis=(1, 2, 3)) + bodies.p_b.sum(axis=0), 0.5 * (fluid * u).sum() + kinetic

    before, energy = sums()
    solve.place()
    flow.z_c[...] = 0.0
    solve.solve(u, flow.z_c, 0.05)
    after, left = sums()
    assert np.abs(after - before).max() < 1e-12 * np.abs(mass * u).sum() and left <= energy
    assert np.abs(bodies.p_b[0]).max() > 1e-3


def test_a_thin_boat_floats_where_archimedes_says_and_stays_dry():
    """Heavier than water three times over. It is let go at its depth: water carries its weight, none comes in."""
    sim = ut.Simulation(floating())
    start = sim.body("boat").position[1]
    forces = []
    for _ in range(8):
        sim.step()
        forces.append(sim.body("boat").force[1])
    boat = sim.body("boat")
    phi = sim.flow.state.surface.phi_c[sim.flow.grid.interior][0]
    assert boat.position[1] == pytest.approx(start, abs=0.1 * DX)
    assert np.mean(forces) == pytest.approx(330.0, rel=0.02)
    assert hold(sim).sum() > 20 and (phi[hold(sim)] > 0.0).all()
    assert np.abs(boat.joint_force).max() < 1e-6


def test_a_wall_with_water_on_one_side_feels_its_whole_pressure():
    """rho g h^2 / 2 on a thin wall that stays where it is; nothing behind it, and the water hardly moves."""
    depth = 0.5
    wall = ut.Shell(form=ut.Polyline(points=((0.0, -0.65), (0.0, 0.65))), thickness=0.004)
    water = ut.Water(shape=ut.Box(size=(0.5, depth)), position=(0.25, 0.25))
    sim = ut.Simulation(tank({"water": water, "wall": ut.RigidBody(shape=wall, position=(0.5, 0.5))}))
    for _ in range(4):
        sim.step()
    force = sim.body("wall").force
    phi = sim.flow.state.surface.phi_c[sim.flow.grid.interior][0]
    x = sim.flow.grid.cell_centres()[0].reshape(-1)
    assert force[:2] == pytest.approx([0.5 * 1000.0 * GRAVITY * depth**2, 0.0], rel=0.01, abs=1.0)
    assert (phi[:, x > 0.5] == sim.flow.state.surface.level_set.band).all()
    # what is left moves because distances next to shells are of first order; in free fall it would be 2 m/s
    assert np.abs(sim.flow.state.u).max() < 0.05


def test_a_ball_rests_in_a_cup_on_the_floor():
    """Solids alone, 3D: cup and ball stop, the floor carries both, the cup the ball; the ball is not through it."""
    scene = ut.Scene(
        name="cup", gravity=(0.0, -GRAVITY, 0.0), time=ut.Time(end=1.0, frame_rate=60.0),
        objects={
            "floor": ut.RigidBody(shape=ut.Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, 0.0, 0.0)),
            "cup": ut.RigidBody(
                shape=ut.Shell(form=ut.Tub(size=(0.4, 0.2, 0.3)), thickness=0.002), position=(0.0, 0.11, 0.0),
                density=5000.0,
            ),
            "ball": ut.RigidBody(shape=ut.Sphere(radius=0.05), position=(0.03, 0.2, 0.02), density=2000.0),
        },
    )  # fmt: skip
    sim = ut.Simulation(scene)
    for _ in range(60):
        sim.step()
    cup, ball, mass = sim.body("cup"), sim.body("ball"), sim.part(RigidPart).bodies.mass_b
    keeps = sheets.make_tub((0.4, 0.2, 0.3), 0.002).contact()
    assert cup.position[1] - 0.1 == pytest.approx(keeps, abs=1e-4)
    assert ball.position[1] - (cup.position[1] - 0.1) == pytest.approx(0.05 + keeps, abs=2e-4)
    assert ball.contact_force[1] == pytest.approx(GRAVITY * mass[2], rel=1e-3)
    assert sim.body("floor").contact_force[1] == pytest.approx(-GRAVITY * (mass[1] + mass[2]), rel=1e-3)
    assert np.abs(cup.velocity).max() < 1e-3


def test_with_a_ball_in_it_saved_and_loaded_it_goes_on_bit_for_bit(goes_on):
    ball = ut.RigidBody(shape=ut.Sphere(radius=0.06), position=(0.5, 0.5), density=1500.0)
    sim = ut.Simulation(floating(extra={"ball": ball}))
    for _ in range(3):
        sim.step()
    goes_on(sim, 2)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"coupling": "lumped"}, "objects.boat: a shell in fluid needs coupling = 'monolithic', not 'lumped'"),
        ({"coupling": "rigid_fluid"}, "needs coupling = 'monolithic', not 'rigid_fluid'"),
        ({"boat": {"slip": True}}, "objects.boat.slip: a viscous fluid sticks to shells"),
        (
            {"boat": {"shape": ut.Shell(form=ut.Plate(size=(1.0, 1.0)), thickness=0.01)}},
            "a 2D scene has no plate; use a polyline, a tub or a bowl",
        ),
    ],
)
def test_what_shells_do_without_is_refused(change, says):
    with pytest.raises(ut.UserError, match=says):
        floating(**change)


def test_shapes_that_are_no_shells_are_refused():
    with pytest.raises(ut.UserError, match="a shell is thin: use a solid shape"):
        ut.Shell(form=ut.Tub(size=(0.1, 0.1, 0.1)), thickness=0.05)
    with pytest.raises(ut.UserError, match="leaves no opening"):
        ut.Bowl(radius=0.1, depth=0.2)
    body = ut.RigidBody(
        shape=ut.Shell(form=ut.Mesh(file="nowhere.obj"), thickness=0.01), position=(0.0, 0.0, 0.0), density=1.0
    )
    with pytest.raises(ut.UserError, match=r"objects.boat.shape: mesh nowhere.obj: there is no such file"):
        make_shape("boat", body)


def test_a_shell_hides_by_its_own_nodes_alone():
    """It displaces nothing: its thickness for pictures is no thin solid that closes cells."""
    sim = ut.Simulation(tank({"tub": tub()}))
    occlusion = sim.flow.domain.solids.occlusion
    assert len(occlusion.element) == 3


def test_a_mesh_with_a_vertex_of_no_triangle_is_a_shell(tmp_path):
    path = tmp_path / "sheet.obj"
    path.write_text("v 9 9 9\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0.5\nf 2 3 4\nf 3 5 4\nf 2 2 3\n")
    sheet = sheets.load_sheet(path, 0.5, 0.01)
    assert len(sheet.vertices) == 4 and len(sheet.elements) == 2
    assert sheet.extent() < 1.5
