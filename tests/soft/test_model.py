"""Soft bodies in scenes: contact in both directions, rest, holds, resume, 2D, and scenes that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.errors import UserError
from undertow.output.frames import write_frame
from undertow.solids.rigid_part import RigidPart
from undertow.solids.soft_part import SoftPart
from undertow.validation.ball_row.case import strike
from undertow.validation.incline_mixed.case import expected, slide_soft
from undertow.validation.mixed_stack.case import settle
from undertow.validation.trampoline.case import toss


def _scene(**objects: Any) -> ut.Scene:
    return ut.Scene(
        name="soft", time=ut.Time(end=1.0, frame_rate=10, max_step=0.01), gravity=(0.0, -10.0, 0.0), objects=objects
    )


def _box(**changes: Any) -> ut.SoftBody:
    values: dict[str, Any] = {
        "shape": ut.Box(size=(0.2, 0.2, 0.2)),
        "position": (0.0, 0.1, 0.0),
        "element_size": 0.1,
        "youngs_modulus": 1e5,
        "damping": 0.01,
    }
    return ut.SoftBody(**(values | changes))


GROUND = ut.RigidBody(shape=ut.Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, 0.0, 0.0))


def test_a_soft_box_comes_to_rest_and_carries_a_rigid_one() -> None:
    """The ground holds the weight of both; the box sags by about its stress over the modulus."""
    top = ut.RigidBody(shape=ut.Box(size=(0.4, 0.04, 0.4)), position=(0.0, 0.22, 0.0), density=625.0)
    sim = ut.Simulation(_scene(ground=GROUND, box=_box(), top=top))
    sim.advance_to(1.0)
    soft, load = 0.2**3 * 1000, 0.4 * 0.4 * 0.04 * 625
    force = sim.body("ground").contact_force
    assert force == pytest.approx([0.0, -(soft + load) * 10.0, 0.0], rel=0.02, abs=0.5)
    assert sim.body("top").velocity == pytest.approx(np.zeros(3), abs=5e-3)
    sag = 0.22 - sim.body("top").position[1]
    assert 0.5 < sag / (0.2 / 1e5 * 10 * (load + 0.5 * soft) / 0.04) < 1.2


def test_a_collision_in_space_keeps_momentum() -> None:
    ball = ut.RigidBody(
        shape=ut.Sphere(radius=0.1), position=(0.35, 0.12, 0.0), density=500.0, velocity=(-1.5, 0.0, 0.0)
    )
    scene = _scene(box=_box(velocity=(0.5, 0.0, 0.1)), ball=ball)
    sim = ut.Simulation(scene.model_copy(update={"gravity": (0.0, 0.0, 0.0), "soft": ut.Soft(tolerance=1e-7)}))
    start = sim.step().ledger
    rows = [sim.step().ledger for _ in range(30)]
    assert max(row["soft_contacts"] for row in rows) > 0
    for axis in "xyz":
        # to the tolerance of the implicit solve
        assert rows[-1][f"momentum_{axis}"] == pytest.approx(start[f"momentum_{axis}"], abs=1e-5)
    assert rows[-1]["energy"] < start["energy"]
    assert sim.body("ball").velocity[0] > -0.5


@pytest.mark.parametrize("stepper", ["implicit", "linearised", "newmark", "leapfrog"])
def test_what_is_let_go_falls_as_a_whole(stepper: str) -> None:
    """A hanging box has only gravity outside once its top is let go: its centre falls with all of it at once."""
    top = ut.Hold(shape=ut.Box(size=(0.3, 0.02, 0.3)), position=(0.0, 0.2, 0.0), until=0.02)
    scene = _scene(box=_box(holds=(top,), youngs_modulus=1e4))
    chosen = {"soft": ut.Soft(stepper=stepper), "time": ut.Time(end=1.0, frame_rate=100, max_step=0.005)}
    sim = ut.Simulation(scene.model_copy(update=chosen))
    sim.advance_to(0.02)
    for _ in range(3):
        time, before = sim.time, sim.part(SoftPart).soft.momentum()[0][1]
        sim.step()
        given = (sim.part(SoftPart).soft.momentum()[0][1] - before) / (sim.time - time)
        assert given / sim.part(SoftPart).soft.mass.sum() == pytest.approx(-10.0, rel=1e-6)


@pytest.mark.parametrize("stepper", ["implicit", "linearised"])
def test_wind_takes_a_light_sheet_along_and_no_faster(stepper: str) -> None:
    """In steps in which the air that it sweeps weighs twelve times as much as the sheet; and one step is the
    equation of a plate, m v' = k (w - v')."""
    sheet = ut.Cloth(
        size=(0.4, 0.4), position=(0.0, 0.0, 0.0), element_size=0.1, density=0.05, damping=0.01, drag=1.2,
        wind=(0.0, 20.0, 0.0),
    )  # fmt: skip
    scene = _scene(sheet=sheet)
    chosen = {"soft": ut.Soft(stepper=stepper), "time": ut.Time(end=2.0, frame_rate=24, max_step=1 / 24)}
    sim = ut.Simulation(scene.model_copy(update={**chosen, "gravity": (0.0, 0.0, 0.0)}))
    soft, speeds = sim.part(SoftPart).soft, []
    for _ in range(24):
        sim.step()
        speeds.append(soft.v[:, 1].copy())
    z = (1 / 24) * 0.5 * 1.2 * 1.2 * 20.0 / 0.05
    assert np.average(speeds[0], weights=soft.mass) == pytest.approx(20.0 * z / (1 + z), rel=1e-3)
    assert np.max(speeds) < 20.0 * (1 + 1e-6) and np.min(speeds[-1]) > 0.98 * 20.0
    assert np.all(np.diff(speeds @ soft.mass) > -1e-6 * 20.0 * soft.mass.sum())


def test_friction_on_an_incline() -> None:
    assert slide_soft(0.3, 0.002, "implicit", True) == pytest.approx(expected(0.3), rel=0.02)
    assert slide_soft(0.2, 0.0005, "newmark", False) == pytest.approx(expected(0.2), rel=0.03)


def test_cloth_and_rope_hang_from_what_holds_them(tmp_path: Any) -> None:
    """Held nodes follow their motion exactly; a resumed run goes on bit for bit."""
    moving = ut.PrescribedVelocity(linear=(0.0, 0.5, 0.0))
    corner = ut.Sphere(radius=0.01)
    cloth = ut.Cloth(
        size=(0.4, 0.4), position=(0.0, 1.0, 0.0), element_size=0.1, damping=0.01, drag=1.1, wind=(1.0, -2.0, 0.0),
        holds=(ut.Hold(shape=corner, position=(-0.2, 1.0, -0.2), motion=moving),
               ut.Hold(shape=corner, position=(0.2, 1.0, -0.2))),
    )  # fmt: skip
    rope = ut.Rope(
        position=(0.5, 1.0, 0.0), end=(1.0, 1.0, 0.0), length=0.6, element_size=0.1, damping=0.01,
        holds=(ut.Hold(shape=corner, position=(0.5, 1.0, 0.0)), ut.Hold(shape=corner, position=(1.0, 1.0, 0.0))),
    )  # fmt: skip
    sim = ut.Simulation(_scene(cloth=cloth, rope=rope))
    drag = sim.part(SoftPart).wind_force().sum(axis=0)
    assert drag == pytest.approx([0.0, -0.5 * 1.2 * 1.1 * 0.4**2 * 2.0**2, 0.0])
    for _ in range(10):
        sim.step()
    soft = sim.part(SoftPart).soft
    lifted = np.flatnonzero((soft.inv_mass == 0) & (soft.x[:, 1] > 1.01))
    assert len(lifted) == 1 and soft.x[lifted[0], 1] == pytest.approx(1.0 + 0.5 * sim.time, abs=1e-12)
    assert soft.x[soft.part("rope").nodes, 1].min() < 0.85
    frame = sim.frame_data()
    assert {body.name for body in frame.bodies} == {"cloth", "rope"}
    write_frame(tmp_path / "000000", frame)
    text = (tmp_path / "000000" / "soft.vtu").read_bytes()
    assert f'NumberOfPoints="{soft.count}" NumberOfCells="38"'.encode() in text
    sim.save(tmp_path / "half.h5")
    again = ut.load(tmp_path / "half.h5")
    sim.step(), again.step()
    assert np.array_equal(soft.x, again.part(SoftPart).soft.x) and np.array_equal(soft.v, again.part(SoftPart).soft.v)


def test_a_soft_body_bound_to_a_bone() -> None:
    """Bound nodes stay in their place in the bone, of whose mass they are a part; momenta of both together are kept."""
    bone = ut.RigidBody(
        shape=ut.Box(size=(0.1, 0.1, 0.1)), position=(0.0, 0.0, 0.0), density=3000.0,
        velocity=(1.0, 0.0, 0.0), angular_velocity=(0.0, 2.0, 0.0),
    )  # fmt: skip
    inner = ut.Hold(shape=ut.Box(size=(0.11, 0.11, 0.11)), position=(0.0, 0.0, 0.0), body="bone")
    box = _box(
        shape=ut.Box(size=(0.3, 0.3, 0.3)), position=(0.0, 0.0, 0.0), element_size=0.1, youngs_modulus=2e4,
        holds=(inner,),
    )  # fmt: skip
    scene = _scene(bone=bone, box=box)
    sim = ut.Simulation(scene.model_copy(update={"gravity": (0.0, 0.0, 0.0), "soft": ut.Soft(tolerance=1e-6)}))
    solids = sim.part(SoftPart).soft_solids
    soft = sim.part(SoftPart).soft
    assert len(solids.bound) == 8
    size = np.linalg.norm(soft.x[solids.bound], axis=1)
    flesh = float(sim.part(SoftPart).lumped_mass[solids.bound].sum())
    assert 0.5 < flesh < 0.5 * 27.0 and soft.mass[solids.bound].max() == 0.0
    assert 1.0 / sim.part(RigidPart).bodies.inv_mass_b[0] == pytest.approx(3.0 + flesh)
    start = sim.step().ledger
    for _ in range(20):
        row = sim.step().ledger
    # to the tolerance of the solve; the angular momentum to first order in the step
    assert row["momentum_x"] == pytest.approx(3.0 + flesh, abs=1e-4)
    assert row["angular_momentum_y"] == pytest.approx(start["angular_momentum_y"], rel=0.02)
    away = soft.x[solids.bound] - sim.body("bone").position
    assert np.allclose(np.linalg.norm(away, axis=1), size, atol=1e-12)
    assert row["energy"] < start["energy"]
    assert soft.v[:, 0].mean() > 0.05


def test_a_stack_of_rigid_and_soft_boxes_stands() -> None:
    """At the tolerance of the scene, where friction must remember who sticks."""
    weight, lean, speed = settle(3, 2, 0.8)
    assert weight == pytest.approx(1.0, abs=0.03)
    assert lean < 1e-3 and speed < 0.01


def test_balls_in_a_row_pass_momentum_on() -> None:
    """What the volume solve presses on a rigid ball reaches it."""
    change, last, volume = strike(2, 4, 0.25)
    assert change < 5e-3 and last > 0.4 and volume < 5e-3


def test_two_dimensions_and_incompressible() -> None:
    """A disc that keeps its area lands on the floor of a 2D scene."""
    disc = ut.SoftBody(
        shape=ut.Sphere(radius=0.2), position=(0.0, 0.25), element_size=0.07, youngs_modulus=2e4, damping=0.005,
        poisson_ratio=0.3, incompressible=True,
    )  # fmt: skip
    floor = ut.RigidBody(shape=ut.Plane(normal=(0.0, 1.0)), position=(0.0, 0.0))
    scene = ut.Scene(
        name="disc", time=ut.Time(end=0.5, frame_rate=10, max_step=0.005), gravity=(0.0, -10.0),
        objects={"floor": floor, "disc": disc},
    )  # fmt: skip
    sim = ut.Simulation(scene)
    rows = []
    while sim.time < 0.5:
        rows.append(sim.step().ledger)
    assert max(row["soft_contacts"] for row in rows) >= 3
    assert max(row["soft_volume_error"] for row in rows) < 0.01
    assert max(row["soft_penetration"] for row in rows) < 0.003
    soft = sim.part(SoftPart).soft
    assert np.abs(soft.x[:, 2]).max() == 0.0
    assert np.ptp(soft.x[:, 0]) > 0.41


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"poisson_ratio": 0.5}, "add incompressible = true, or use 0.49"),
        ({"poisson_ratio": 0.51}, "between -1 and 0.5"),
        ({"element_size": -1.0}, "must be positive"),
        ({"shape": {"type": "plane", "normal": [0, 1, 0]}}, "cannot be a plane"),
        ({"model": "jelly"}, "model"),
    ],
)
def test_bad_soft_bodies(change: dict[str, Any], message: str) -> None:
    with pytest.raises((UserError, ValueError), match=message):
        _box(**change)


def test_bad_bindings() -> None:
    hold = {"shape": ut.Box(size=(0.1, 0.1, 0.1)), "position": (0.0, 0.1, 0.0), "body": "bone"}
    with pytest.raises(ValueError, match="body = 'bone' is no rigid body of the scene"):
        _scene(box=_box(holds=(ut.Hold(**hold),)))
    with pytest.raises(ValueError, match="follow a motion or a body"):
        ut.Hold(**hold, motion=ut.PrescribedVelocity(linear=(1.0, 0.0, 0.0)))
    bone = ut.RigidBody(shape=ut.Sphere(radius=0.05), position=(0.0, 0.1, 0.0), density=1000.0)
    held = _scene(bone=bone, box=_box(holds=(ut.Hold(**{**hold, "shape": ut.Sphere(radius=0.3)}),)))
    both = {"first": bone, "second": bone.model_copy(update={"position": (0.0, 5.0, 0.0)})}
    twice = tuple(ut.Hold(**{**hold, "shape": ut.Sphere(radius=0.3), "body": body}) for body in both)
    with pytest.raises(UserError, match="inside the holds of both 'first' and 'second'; a node moves with one body"):
        ut.Simulation(_scene(**both, box=_box(holds=twice)))
    with pytest.raises(UserError, match="need soft.stepper = 'implicit'"):
        ut.Simulation(held.model_copy(update={"soft": ut.Soft(stepper="newmark")}))


def test_bad_scenes() -> None:
    far = ut.Hold(shape=ut.Sphere(radius=0.01), position=(5.0, 0.0, 0.0))
    with pytest.raises(UserError, match="no node lies inside the sphere"):
        ut.Simulation(_scene(box=_box(holds=(far,))))
    with pytest.raises(ValueError, match="a 2D scene has no cloth"):
        ut.Scene(
            name="x", time=ut.Time(end=1.0),
            objects={"c": ut.Cloth(size=(1.0, 1.0), position=(0.0, 0.0), element_size=0.1)},
        )  # fmt: skip
    with pytest.raises(ValueError, match="must be two different points of as many components, 1e-9 m apart at least"):
        ut.Rope(position=(0.0, 0.0, 0.0), end=(1e-300, 0.0, 0.0), element_size=0.1)
    with pytest.raises(ValueError, match="shorter than the distance"):
        ut.Rope(position=(0.0, 0.0, 0.0), end=(1.0, 0.0, 0.0), length=0.5, element_size=0.1)
    with pytest.raises(ValueError, match="wind has no effect without drag"):
        ut.Cloth(size=(1.0, 1.0), position=(0.0, 0.0, 0.0), element_size=0.1, wind=(1.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="soft has no effect"):
        ut.Scene(
            name="x", time=ut.Time(end=1.0), soft=ut.Soft(stepper="newmark"),
            objects={"b": ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.0, 0.0, 0.0), density=1.0)},
        )  # fmt: skip
    with pytest.raises(ValueError, match="volume_recovery has no effect"):
        ut.Scene(name="x", time=ut.Time(end=1.0), soft=ut.Soft(volume_recovery=0.5), objects={"b": _box()})


@pytest.mark.parametrize(
    ("item", "count"),
    [
        (ut.Rope(position=(0.0, 0.0, 0.0), end=(1e6, 0.0, 0.0), element_size=0.1), "1e\\+07"),
        (ut.Rope(position=(0.0, 0.0, 0.0), end=(1e6, 0.0, 0.0), element_size=0.1, outline="ring"), "3.1e\\+07"),
        (ut.Cloth(size=(1e3, 2e3), position=(0.0, 0.0, 0.0), element_size=0.1), "4e\\+08"),
        (ut.Cloth(size=(1e3, 2e3), position=(0.0, 0.0, 0.0), element_size=0.1, outline="balloon"), "1.3e\\+09"),
        (ut.SoftBody(shape=ut.Box(size=(1e4, 1.0, 1.0)), position=(0.0, 0.0, 0.0), element_size=0.1), "5e\\+07"),
        (ut.SoftBody(shape=ut.Sphere(radius=50.0), position=(0.0, 0.0, 0.0), element_size=0.1), "5e\\+09"),
    ],
)
def test_elements_that_no_machine_holds_are_refused(item: Any, count: str) -> None:
    """Before anything is built: 1e7 segments took minutes, 1e10 all the memory."""
    with pytest.raises(UserError, match=f"objects.thing: element_size = 0.1 makes about {count} elements, more than"):
        _scene(thing=item)


@pytest.mark.parametrize(
    "item",
    [
        ut.Cloth(size=(0.6, 1e-9), position=(0.0, 0.0, 0.0), element_size=0.15),
        ut.SoftBody(shape=ut.Box(size=(1e-5, 0.1, 0.1)), position=(0.0, 0.0, 0.0), element_size=0.05),
    ],
)
def test_elements_too_flat_to_compute_with_are_refused(item: Any) -> None:
    with pytest.raises(UserError, match=r"objects.thing: 1e-0\d m wide with element_size = .* so flat that rounding"):
        _scene(thing=item)


def test_a_fine_surface_is_carried_by_coarse_elements() -> None:
    """The weights reproduce the surface at rest and every affine motion of it."""
    ball = _box(shape=ut.Sphere(radius=0.3), element_size=0.2, embed=True, position=(0.1, 0.4, 0.0))
    sim = ut.Simulation(_scene(box=_box(position=(2.0, 0.1, 0.0)), ball=ball))
    soft, part = sim.part(SoftPart).soft, sim.part(SoftPart).soft.part("ball")
    before = next(body for body in sim.frame_data().bodies if body.name == "ball")
    away = before.vertices - np.array([0.1, 0.4, 0.0])
    assert np.allclose(np.linalg.norm(away, axis=1), 0.3, atol=1e-6)
    A = np.array([[1.1, 0.2, 0.0], [-0.1, 0.9, 0.3], [0.05, 0.0, 1.2]])
    soft.x[part.nodes] = soft.x[part.nodes] @ A.T
    soft.v[part.nodes] = soft.x[part.nodes]
    after = next(body for body in sim.frame_data().bodies if body.name == "ball")
    assert np.allclose(after.vertices, before.vertices @ A.T, atol=1e-6)
    assert np.allclose(after.velocity, after.vertices, atol=1e-6)
    with pytest.raises(ValueError, match="have its surface already"):
        _box(embed=True)


def test_energy_of_a_toss_is_the_work_of_what_moves() -> None:
    """A ball falls on a sheet, whose rim then jerks up: the energy of all never rises beyond the work of the rim."""
    found = toss(12, 1, 0, 1.8)
    assert found.through == 0 and found.crossings == 0
    assert found.work > 0 and found.gain < 0.02 * found.work
    assert 0 < found.weight * found.height < found.work
