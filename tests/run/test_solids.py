"""Scenes of solids alone through the public API: rest, forces, joints, resume, frames and pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import undertow as ut
from undertow.errors import UserError
from undertow.scene import toml

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
    for name, array in whole.model.arrays().items():
        assert array.tobytes() == half.model.arrays()[name].tobytes(), name


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
    assert sim.model.state("disc", 0.5).velocity[0] > 0


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
