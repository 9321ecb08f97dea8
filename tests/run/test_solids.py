"""Scenes of solids alone through the public API: rest, forces, joints, resume, frames and pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import undertow as ut
import undertow.geometry as geometry
from undertow.errors import UserError
from undertow.scene import toml
from undertow.solids.rigid_part import RigidPart

SCENE = """
name = "small"
[time]
end = 0.5
frame_rate = 30
[objects.floor]
type = "rigid_body"
shape = { type = "plane", normal = [0.0, 1.0, 0.0] }
position = [0.0, 0.0, 0.0]
[objects.box]
type = "rigid_body"
shape = { type = "box", size = [0.4, 0.2, 0.4] }
position = [0.0, 0.1, 0.0]
density = 500.0
[objects.rod]
type = "rigid_body"
shape = { type = "box", size = [0.4, 0.05, 0.05] }
position = [1.2, 1.0, 0.0]
mass = 2.0
[objects.pin]
type = "joint"
kind = "hinge"
child = "rod"
position = [1.0, 1.0, 0.0]
"""


def make(*assignments: str) -> ut.Scene:
    data = toml.parse(SCENE)
    toml.override(data, assignments)
    return toml.scene_from_dict(data)


def test_a_box_at_rest_is_carried_with_its_weight_and_a_hinge_holds_its_rod() -> None:
    sim = ut.Simulation(make())
    report = sim.advance_to(0.5)
    assert report is not None
    box, rod = sim.body("box"), sim.body("rod")
    weight = 500.0 * 0.4 * 0.2 * 0.4 * 9.81
    assert np.allclose(box.contact_force, (0.0, weight, 0.0), atol=1e-6 * weight)
    assert np.allclose(box.position, (0.0, 0.1, 0.0), atol=1e-6)
    # a rod let go level from its end: the pin carries what gravity does not give the centre of mass
    assert abs(np.linalg.norm(rod.position - (1.0, 1.0, 0.0)) - 0.2) < 1e-7
    assert rod.joint_force[1] > 2.0 * 9.81 * 0.25
    assert report.ledger["joint_error"] < 1e-6


def test_the_energy_of_the_ledger_does_not_grow() -> None:
    sim = ut.Simulation(make("objects.box.position=[0.0, 0.5, 0.0]", "objects.box.restitution=0.5"))
    energies = [sim.step().ledger["energy"] for _ in range(15)]
    start = energies[0]
    assert max(energies) <= start + 1e-9 * abs(start)
    assert energies[-1] < start


def test_a_saved_simulation_goes_on_bit_for_bit(tmp_path: Path) -> None:
    whole = ut.Simulation(make("objects.box.position=[0.0, 0.15, 0.0]"))
    whole.advance_to(0.3)
    whole.save(tmp_path / "half.h5")
    half = ut.load(tmp_path / "half.h5")
    whole.advance_to(0.5)
    half.advance_to(0.5)
    for name, array in whole.arrays().items():
        assert array.tobytes() == half.arrays()[name].tobytes(), name


def test_a_run_leaves_frames_tables_and_a_picture(tmp_path: Path) -> None:
    from undertow.output.render import render

    run = ut.Simulation(make("time.end=0.2")).run(tmp_path / "run")
    frame = run.frame(-1)
    assert frame.grid is None and [body.name for body in frame.bodies] == ["floor", "box", "rod"]
    assert frame.bodies[0].backdrop and not frame.bodies[1].backdrop
    assert run.ledger["contacts"][-1] == 4
    assert run.bodies.where("body", "box")["force_contact_y"][-1] == pytest.approx(16 * 9.81, rel=1e-6)
    picture = render(run.folder, out=tmp_path / "picture.png", width=128)[0]
    from PIL import Image

    pixels = np.asarray(Image.open(picture)).astype(float)
    red, blue = pixels[..., 0], pixels[..., 2]
    assert ((red > 1.5 * blue) & (red > 60)).mean() > 0.02, "the orange bodies are not to be seen"


def test_in_two_dimensions_a_disc_rolls_in_the_plane(tmp_path: Path) -> None:
    scene = ut.Scene(
        name="disc",
        time=ut.Time(end=0.5, frame_rate=60),
        objects={
            "slope": ut.RigidBody(shape=ut.Plane(normal=(0.5, 1.0)), position=(0.0, 0.0), friction=1.0),
            "disc": ut.RigidBody(
                shape=ut.Sphere(radius=0.1), position=(0.0, 0.1 * 1.25**0.5), density=1.0, friction=1.0
            ),
        },
    )
    sim = ut.Simulation(scene)
    sim.advance_to(0.5)
    disc = sim.body("disc")
    # a solid cylinder rolls with 2/3 of the pull along the slope; 1/2 dt of it is the first order of the first step
    pull = 9.81 * 0.5 / 1.25**0.5
    assert np.linalg.norm(disc.velocity) == pytest.approx(2 / 3 * pull * 0.5, rel=0.02)
    assert disc.position[2] == 0.0 and disc.angular_velocity[0] == 0.0 and disc.angular_velocity[2] < 0
    assert sim.part(RigidPart).body_state("disc", 0.5).velocity[0] > 0


def test_bodies_that_start_overlapping_are_named_or_refused() -> None:
    sim = ut.Simulation(make("objects.box.position=[0.0, 0.095, 0.0]"))
    assert any("objects.floor and objects.box overlap by 0.005 m" in note for note in sim.notes)
    sim.advance_to(0.5)
    # two thousandths of a body's size are left alone
    assert sim.body("box").position[1] > 0.099
    with pytest.raises(UserError, match="too deep to be parted"):
        ut.Simulation(make("objects.box.position=[0.0, 0.02, 0.0]"))


def test_a_kinematic_body_carries_what_stands_on_it() -> None:
    scene = make(
        "objects.floor.shape={type='box', size=[2.0, 0.2, 2.0]}",
        "objects.floor.position=[0.0, -0.1, 0.0]",
        "objects.floor.motion={type='velocity', linear=[0.0, 0.5, 0.0]}",
    )
    sim = ut.Simulation(scene)
    sim.advance_to(0.5)
    assert sim.body("floor").position[1] == pytest.approx(0.15, abs=1e-9)
    assert sim.body("box").position[1] == pytest.approx(0.35, abs=1e-3)
    assert sim.body("box").velocity[1] == pytest.approx(0.5, abs=1e-3)


def test_a_body_comes_out_of_a_run_that_goes_on_bit_for_bit(tmp_path: Path) -> None:
    """The rod of a hinge is taken out: what stays keeps its shape, the hinge is broken, a checkpoint knows it."""
    scene = make("objects.box.position=[0.0, 0.3, 0.0]", "objects.ball={type='rigid_body', density=500.0, "
                 "shape={type='sphere', radius=0.1}, position=[-1.0, 0.5, 0.0]}")  # fmt: skip
    whole = ut.Simulation(scene)
    whole.advance_to(0.1)
    whole.remove("box")
    report = whole.advance_to(0.2)
    assert report is not None and report.ledger["joints_broken"] == 0
    whole.remove("rod")
    assert whole.advance_to(0.3).ledger["joints_broken"] == 1  # type: ignore[union-attr]
    floor, ball = whole.frame_data().bodies
    assert (floor.name, ball.name) == ("floor", "ball") and floor.backdrop
    assert np.allclose(np.linalg.norm(ball.vertices - whole.body("ball").position, axis=1), 0.1)
    with pytest.raises(UserError, match="body 'rod': no such solid; the solids are floor, ball"):
        whole.body("rod")
    whole.save(tmp_path / "half.h5")
    half = ut.load(tmp_path / "half.h5")
    whole.advance_to(0.5)
    half.advance_to(0.5)
    assert whole.body("ball").contact_force[1] == pytest.approx(500 * 4 / 3 * np.pi * 1e-3 * 9.81, rel=0.01)
    for name, array in whole.arrays().items():
        assert array.tobytes() == half.arrays()[name].tobytes(), name


def test_a_body_comes_into_a_run_that_goes_on_bit_for_bit(tmp_path: Path) -> None:
    """A ball is put on a box and a lift beside it while one body goes: forces, frames and a checkpoint know of all."""
    whole = ut.Simulation(make())
    whole.advance_to(0.2)
    whole.remove("rod")
    whole.add("ball", ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.0, 0.3, 0.0), density=1000.0))
    lift = ut.PrescribedVelocity(linear=(0.0, 0.5, 0.0))
    whole.add("lift", ut.RigidBody(shape=ut.Box(size=(0.2, 0.2, 0.2)), position=(3.0, 1.0, 0.0), motion=lift))
    assert np.allclose(whole.body("lift").position, (3.0, 1.1, 0.0))
    whole.advance_to(0.3)
    whole.save(tmp_path / "half.h5")
    half = ut.load(tmp_path / "half.h5")
    assert list(half.scene.bodies) == ["floor", "box", "rod", "ball", "lift"] and half.scene == whole.scene
    for sim in (whole, half):
        sim.advance_to(0.5)
    for name, array in whole.arrays().items():
        assert array.tobytes() == half.arrays()[name].tobytes(), name
    # the ball stands on the box and adds to what the floor carries
    weight = 1000.0 * 4 / 3 * np.pi * 0.1**3 * 9.81
    assert whole.body("ball").contact_force[1] == pytest.approx(weight, rel=1e-3)
    assert whole.body("floor").contact_force[1] == pytest.approx(-weight - 16 * 9.81, rel=1e-3)
    assert np.allclose(whole.body("lift").position, (3.0, 1.25, 0.0))
    assert [frame.name for frame in whole.frame_data().bodies] == ["floor", "box", "ball", "lift"]
    half.save(tmp_path / "again.h5")
    assert ut.load(tmp_path / "again.h5").scene == whole.scene


def test_a_body_that_cannot_come_in_is_refused_and_leaves_no_trace() -> None:
    sim, plain = ut.Simulation(make()), ut.Simulation(make())
    ball = ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.0, 0.4, 0.0), density=1000.0)
    with pytest.raises(UserError, match="body 'box': the scene has an object of that name; choose another"):
        sim.add("box", ball)
    with pytest.raises(UserError, match="'tap': Emitter is no RigidBody and no Joint"):
        sim.add("tap", ut.Emitter(shape=ut.Sphere(radius=0.1), position=(0.0, 0.0, 0.0)))  # type: ignore[arg-type]
    with pytest.raises(UserError, match="objects.box and objects.ball overlap by .* at t = 0 s, too deep"):
        sim.add("ball", ball.model_copy(update={"position": (0.0, 0.15, 0.0)}))
    with pytest.raises(UserError, match="objects.ball.slip: there is no fluid"):
        sim.add("ball", ball.model_copy(update={"slip": True}))
    assert sim.scene == plain.scene and sim.arrays().keys() == plain.arrays().keys()
    for each in (sim, plain):
        each.add("ball", ball)
        each.advance_to(0.2)
    for name, array in plain.arrays().items():
        assert array.tobytes() == sim.arrays()[name].tobytes(), name
    sim.add("late", ball.model_copy(update={"position": (0.21, 0.295, 0.0)}))
    assert any(
        "objects.late overlap by" in note and "at t = 0.2 s; they are pushed apart" in note for note in sim.notes
    )


def test_the_inertia_of_a_body_can_be_given(tmp_path: Path) -> None:
    """A top of given moments 1, 2, 3: omega = I^-1 L; a tensor of the same in other axes turns alike."""
    free = ("gravity=[0.0, 0.0, 0.0]", "objects.box.position=[0.0, 2.0, 0.0]", "objects.box.mass=4.0")
    spins = ("objects.box.angular_velocity=[1.0, 0.2, 0.3]",)
    data = toml.parse(SCENE)
    del data["objects"]["box"]["density"]
    toml.override(data, [*free, *spins, "objects.box.inertia=[1.0, 2.0, 3.0]"])
    scene = toml.scene_from_dict(data)
    assert toml.scene_from_dict(toml.parse(toml.write(scene))).bodies["box"].inertia == (1.0, 2.0, 3.0)
    sim = ut.Simulation(scene)
    b = sim.part(RigidPart).bodies.index("box")
    momentum = sim.part(RigidPart).bodies.L_b[b].copy()
    assert np.allclose(momentum, (1.0, 0.4, 0.9))
    assert sim.part(RigidPart).bodies.mass_b[b] == 4.0
    sim.advance_to(0.5)
    turned = sim.body("box").matrix
    assert np.allclose(turned @ np.diag((1.0, 1 / 2, 1 / 3)) @ turned.T @ momentum, sim.body("box").angular_velocity)
    # the same body with its shape turned by a quarter about z: x and y change places in the tensor of the shape's axes
    quarter = ut.Rotation(axis=(0, 0, 1), degrees=90)
    shape = ut.Box(size=(0.2, 0.4, 0.4))
    box = scene.bodies["box"].model_copy(
        update={"shape": shape, "rotation": quarter, "inertia": ((2.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 3.0))}
    )
    same = ut.Simulation(scene.model_copy(update={"objects": {**scene.objects, "box": box}}))
    same.advance_to(0.5)
    assert np.allclose(same.body("box").angular_velocity, sim.body("box").angular_velocity, atol=1e-12)


@pytest.mark.parametrize(
    ("inertia", "message"),
    [
        ("[1.0, -2.0, 3.0]", "objects.box: .* must be positive definite"),
        ("[1.0, 1.0, 3.0]", "objects.box: .* the largest exceeds the sum of the others"),
        ("[[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]", "objects.box: .* must be positive definite"),
        ("[[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]", "objects.box: .* must be symmetric"),
        ("[1.0, 2.0]", "must have 3 components"),
        ("[[1.0, 0.0, 0.0]]", "must have three rows, not 1"),
        ("-1.0", "must be positive"),
        ("1.0", "give three moments or a 3 x 3 tensor"),
    ],
)
def test_an_inertia_that_cannot_be_is_refused(inertia: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        ut.Simulation(make(f"objects.box.inertia={inertia}"))


def test_an_inertia_needs_a_mass() -> None:
    with pytest.raises(UserError, match="inertia has no effect without a density or mass"):
        make("objects.floor.inertia=[1.0, 1.0, 1.0]")


def test_in_two_dimensions_the_inertia_is_one_number() -> None:
    def spin(inertia: object) -> ut.Simulation:
        disc = ut.RigidBody(
            shape=ut.Sphere(radius=0.1), position=(0.0, 0.0), mass=1.0, inertia=inertia,
            angular_velocity=(0.0, 0.0, 3.0),
        )  # fmt: skip
        return ut.Simulation(ut.Scene(name="disc", time=ut.Time(end=0.1), objects={"disc": disc}))

    assert spin(0.5).part(RigidPart).bodies.L_b[0, 2] == pytest.approx(1.5)
    with pytest.raises(UserError, match="objects.disc: .* in 2D give one number"):
        spin((1.0, 1.0, 1.0))


def test_a_joint_breaks_and_says_so(tmp_path: Path) -> None:
    scene = make("objects.pin.break_force=10.0", "time.end=0.2")
    run = ut.Simulation(scene).run(tmp_path / "run", preview=False)
    assert run.ledger["joints_broken"][-1] == 1
    log = (run.folder / "log.txt").read_text()
    first = int(np.argmax(run.ledger["joints_broken"] > 0))
    assert f"t = {run.ledger['time'][first]:.6g} s, step {first + 1}: objects.pin broke at a force of" in log


def test_an_unfinished_contact_solve_says_so_once() -> None:
    objects = [f"objects.box{i}={{type='rigid_body', density=500.0, shape={{type='box', size=[0.4, 0.2, 0.4]}}, "
               f"position=[0.0, {0.3 + 0.2 * i}, 0.0]}}" for i in range(3)]  # fmt: skip
    sim = ut.Simulation(make("solids.iterations=1", *objects))
    reports = [sim.step() for _ in range(3)]
    assert all(report.ledger["unconverged"] > 0 for report in reports)
    (event,) = [event for report in reports for event in report.events]
    assert "the contact solve stopped after 2 sweeps" in event and "raise solids.iterations" in event


def test_bodies_that_fall_side_by_side_have_nothing_to_solve() -> None:
    """The pieces of the pillar in its first step: they touch with no velocity but rounding, and that is no solve that
    did not converge."""
    report = ut.Simulation(ut.scene("pillar")).step()
    assert report.ledger["contacts"] > 50 and report.ledger["residual"] < 1e-13
    assert report.ledger["unconverged"] == 0 and not report.events


def test_joined_bodies_collide_when_asked_to() -> None:
    """A rod hinged above a post swings down through its parent, or comes to lie on its edge at 45 degrees."""
    post = "objects.post={type='rigid_body', shape={type='box', size=[0.2, 0.6, 0.2]}, position=[1.1, 0.5, 0.0]}"
    for collide in (False, True):
        scene = make(post, "objects.pin.parent='post'", f"objects.pin.collide={str(collide).lower()}", "time.end=1.0")
        sim = ut.Simulation(scene)
        lowest = min(float(sim.body("rod").position[1]) for _ in range(30) if sim.step())
        # the middle of the rod is 0.2 m from the hinge; its lower side touches the edge 0.28 m away
        expected = 1.0 - 0.2 * np.sin(np.pi / 4 - np.arcsin(0.025 / 0.08**0.5)) if collide else 0.8
        assert lowest == pytest.approx(expected, abs=0.003)


def test_a_ball_joint_bends_as_far_as_the_scene_says() -> None:
    """The rod falls from its pin and stops 30 degrees below the level, where it rests on the torque of the limit."""
    ball = ("objects.pin.kind='ball'", "objects.pin.axis=[1.0, 0.0, 0.0]", "objects.pin.upper=30.0", "time.end=1.0")
    sim = ut.Simulation(make(*ball))
    sim.advance_to(1.0)
    assert sim.body("rod").position[1] == pytest.approx(1.0 - 0.2 * 0.5, abs=1e-6)
    assert np.abs(sim.body("rod").velocity).max() < 1e-6
    torque = sim.part(RigidPart).joints.torque_j[0]
    assert torque[2] == pytest.approx(2.0 * 9.81 * 0.2 * np.cos(np.pi / 6), rel=1e-6)


def test_joints_can_be_solved_one_after_the_other() -> None:
    ends = []
    for solver in ("global", "pairwise"):
        sim = ut.Simulation(make(f"solids.joint_solver='{solver}'", "time.end=0.3"))
        assert sim.part(RigidPart).joints.method == solver
        sim.advance_to(0.3)
        ends.append(sim.body("rod").position)
    assert np.allclose(*ends, atol=1e-9)


def test_an_animated_mesh_needs_a_fluid(tmp_path: Path) -> None:
    from undertow.geometry import Box

    vertices, triangles = Box((0.2, 0.2, 0.2)).surface()
    files = []
    for i in range(2):
        lines = [f"v {x} {y + 0.1 * i} {z}" for x, y, z in vertices]
        lines += ["f " + " ".join(str(j + 1) for j in triangle) for triangle in triangles]
        files.append(tmp_path / f"{i}.obj")
        files[-1].write_text("\n".join(lines) + "\n")
    shape = ut.MeshSequence(files=tuple(str(file) for file in files), frame_rate=10.0)
    scene = make()
    moving = ut.RigidBody(shape=shape, position=(0.0, 3.0, 0.0))
    with pytest.raises(UserError, match=r"objects.moving.shape: an animated mesh needs a \[domain\] with fluid"):
        ut.Simulation(scene.model_copy(update={"objects": {**scene.objects, "moving": moving}}))
    with pytest.raises(Exception, match="an animated mesh carries its own motion"):
        ut.RigidBody(shape=shape, position=(0.0, 3.0, 0.0), density=1.0)


def test_bodies_of_a_scene_come_out_only_where_nothing_else_hangs_on_them() -> None:
    sim = ut.Simulation(make())
    with pytest.raises(UserError, match="body 'door': no such solid"):
        sim.remove("door")


def test_the_torque_of_contact_on_a_static_body_is_about_its_position() -> None:
    """A cube of 8 kg rests on a table, 0.3 m beside its middle: the table feels 0.3 m times the weight."""
    scene = ut.Scene(
        name="table",
        time=ut.Time(end=0.2, frame_rate=60),
        objects={
            "table": ut.RigidBody(shape=ut.Box(size=(2.0, 0.2, 1.0)), position=(0.0, -0.1, 0.0)),
            "cube": ut.RigidBody(shape=ut.Box(size=(0.2, 0.2, 0.2)), position=(0.3, 0.1, 0.0), density=1000.0),
        },
    )
    sim = ut.Simulation(scene)
    sim.advance_to(0.2)
    weight = 8.0 * 9.81
    on_table, on_cube = sim.body_forces("table"), sim.body_forces("cube")
    assert np.allclose(on_table.contact, (0.0, -weight, 0.0), atol=1e-6 * weight)
    assert np.allclose(on_table.torque_solids, (0.0, 0.0, -0.3 * weight), atol=1e-6 * weight)
    assert np.allclose(on_cube.torque_solids, 0.0, atol=1e-6 * weight)


def test_the_torque_of_contact_on_a_body_is_about_its_centre_of_mass(tmp_path: Path) -> None:
    """A cube of 8 kg whose mesh lies 0.3 m beside its origin rests on a table: no torque about its middle."""
    vertices, triangles = geometry.Box((0.2, 0.2, 0.2)).surface()
    lines = [f"v {x} {y} {z}" for x, y, z in vertices + (0.3, 0.0, 0.0)]
    lines += [f"f {a} {b} {c}" for a, b, c in triangles + 1]
    (tmp_path / "cube.obj").write_text("\n".join(lines) + "\n")
    scene = ut.Scene(
        name="table",
        time=ut.Time(end=0.2, frame_rate=60),
        objects={
            "table": ut.RigidBody(shape=ut.Box(size=(2.0, 0.2, 1.0)), position=(0.0, -0.1, 0.0)),
            "cube": ut.RigidBody(shape=ut.Mesh(file=str(tmp_path / "cube.obj")), position=(0.0, 0.1, 0.0), density=1e3),
        },
    )
    sim = ut.Simulation(scene)
    sim.advance_to(0.2)
    weight = 8.0 * 9.81
    on_cube = sim.body_forces("cube")
    assert np.allclose(on_cube.contact, (0.0, weight, 0.0), atol=1e-6 * weight)
    assert np.allclose(on_cube.torque_solids, 0.0, atol=1e-6 * weight)


def test_the_chain_holds_together() -> None:
    """Rings that only contact holds: neighbours are never farther apart than taut, nor through each other."""
    sim = ut.Simulation(ut.scene("chain"), threads=1)
    sim.advance_to(0.1)
    places = np.array([sim.body(name).position for name in sim.scene.bodies])
    apart = np.linalg.norm(np.diff(places, axis=0), axis=1)
    assert apart.max() < 0.162 and apart.min() > 0.1
    assert np.abs(places - [body.position for body in sim.scene.bodies.values()]).max() > 0.005


def test_the_stack_stands_until_it_is_hit() -> None:
    """The ram needs 0.25 s to the boxes: until then they rest, then they do not."""
    sim = ut.Simulation(ut.scene("box-stack-hit"), threads=1)
    boxes = [name for name in sim.scene.bodies if name.startswith("box")]
    start = np.array([sim.scene.bodies[name].position for name in boxes])
    moved = []
    for time in (0.2, 0.5):
        sim.advance_to(time)
        moved.append(np.abs(np.array([sim.body(name).position for name in boxes]) - start).max())
    assert moved[0] < 1e-4 and moved[1] > 0.2


def test_overlapping_parts_of_a_mesh_are_named_for_solids_alone(tmp_path: Path) -> None:
    """Two balls that overlap weigh twice where they do, with or without fluid."""
    vertices, triangles = geometry.Sphere(0.1).surface(16)
    both = np.concatenate([vertices, vertices + np.array([0.1, 0.0, 0.0])])
    faces = np.concatenate([triangles, triangles + len(vertices)]) + 1
    lines = [f"v {x} {y} {z}" for x, y, z in both] + [f"f {a} {b} {c}" for a, b, c in faces]
    (tmp_path / "duck.obj").write_text("\n".join(lines))
    mesh = ut.Mesh(file=str(tmp_path / "duck.obj"))
    body = ut.RigidBody(shape=mesh, position=(0.0, 0.0, 0.0), density=100.0)
    scene = ut.Scene(name="duck", time=ut.Time(end=1.0, frame_rate=10.0), objects={"duck": body})
    assert any("lie inside other parts of the mesh" in note for note in ut.Simulation(scene).notes)
