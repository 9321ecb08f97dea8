"""The Python interface: stepping, sampling, bodies, saving and loading."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import undertow as ut
import undertow.geometry as geometry
from undertow.errors import PhysicsError, UserError
from undertow.run.checkpoint import read_checkpoint
from undertow.scene import Scene


def bits(sim: ut.Simulation) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in sim.state.arrays().items()} | {"time": str(sim.time).encode()}


@pytest.fixture(scope="module")
def sim(tiny: Callable[..., Scene]) -> ut.Simulation:
    """The tiny scene after three steps."""
    made = ut.Simulation(tiny(), threads=1)
    for _ in range(3):
        made.step()
    return made


def test_steps_report_what_they_did(tiny: Callable[..., Scene]) -> None:
    sim = ut.Simulation(tiny("time.max_step=0.02"), threads=1)
    reports = [sim.step() for _ in range(3)]
    assert [r.step for r in reports] == [1, 2, 3]
    assert reports[0].limit == "max_step" and reports[-1].time == 0.05 == sim.time and sim.frame == 1
    assert reports[0].iterations > 0 and reports[0].ledger["fluid_volume"] > 1.0


def test_what_flows_in_flows_out(sim: ut.Simulation) -> None:
    report = sim.step()
    assert report.ledger["inflow"] > 0.5
    assert report.ledger["outflow"] == pytest.approx(report.ledger["inflow"], rel=1e-4)


def test_advance_to_lands_exactly(tiny: Callable[..., Scene]) -> None:
    sim = ut.Simulation(tiny(), threads=1)
    sim.advance_to(0.07)
    assert sim.time == 0.07 and sim.frame == 1
    assert sim.advance_to(0.07) is None
    with pytest.raises(UserError, match="time only moves forward"):
        sim.advance_to(0.01)


def test_sampling(sim: ut.Simulation) -> None:
    points = np.array([[0.3, 0.2], [0.8, 0.9]])
    assert sim.sample("velocity", points).shape == (2, 3)
    assert sim.sample("pressure", points).shape == (2,)
    assert sim.sample("vorticity", points)[:, :2] == pytest.approx(0.0)
    assert sim.sample("density", [0.3, 0.2]) == pytest.approx(1.2)
    assert sim.sample("temperature", [0.95, 1.2]) == pytest.approx(293.0)
    with pytest.raises(UserError, match="field 'colour' is unknown; the fields are velocity"):
        sim.sample("colour", points)
    with pytest.raises(UserError, match="give finite coordinates"):
        sim.sample("velocity", [1.0])


def test_set_velocity_and_sample_agree_on_a_linear_field(tiny: Callable[..., Scene]) -> None:
    sim = ut.Simulation(tiny("objects={}", "probes={}", "domain.sides={x_low='open', x_high='open'}"), threads=1)
    sim.set_velocity(lambda x, y, z: (1 + 2 * x + 3 * y, 4 * x, 0 * z))
    assert sim.sample("velocity", [[0.4, 0.6]])[0] == pytest.approx([1 + 0.8 + 1.8, 1.6, 0.0])
    assert sim.sample("vorticity", [[0.4, 0.6]])[0] == pytest.approx([0, 0, 1.0])
    assert sim.sample("divergence", [[0.4, 0.6]])[0] == pytest.approx(2.0)


def test_bodies_move_as_prescribed(sim: ut.Simulation) -> None:
    body = sim.body("ball")
    swing = 0.4 / (2 * np.pi) * (1 - np.cos(2 * np.pi * sim.time))
    assert body.position == pytest.approx([0.5, 0.6 + swing, 0.0])
    assert body.velocity == pytest.approx([0.0, 0.4 * np.sin(2 * np.pi * sim.time), 0.0])
    assert body.angular_velocity == pytest.approx([0, 0, 2.0])
    assert body.rotation == pytest.approx([np.cos(sim.time), 0, 0, np.sin(sim.time)])
    assert body.matrix[:, 0] == pytest.approx([np.cos(2 * sim.time), np.sin(2 * sim.time), 0])
    assert np.isfinite(body.force).all() and np.any(body.force != 0)
    with pytest.raises(UserError, match="body 'bal': no such solid; the solids are ball"):
        sim.body("bal")


@pytest.mark.parametrize("stepper", ["first_order", "second_order"])
def test_saving_and_loading_continues_bit_for_bit(tiny: Callable[..., Scene], tmp_path: Path, stepper: str) -> None:
    sim = ut.Simulation(tiny(f"time.stepper='{stepper}'"), threads=1)
    for _ in range(4):
        sim.step()
    sim.save(tmp_path / "state.h5")
    copy = ut.load(tmp_path / "state.h5", threads=1)
    assert bits(copy) == bits(sim) and copy.frame == sim.frame and copy.scene == sim.scene
    for _ in range(3):
        assert copy.step().ledger == sim.step().ledger
    assert bits(copy) == bits(sim)
    with pytest.raises(UserError, match="exists already and is not overwritten"):
        sim.save(tmp_path / "state.h5")
    with pytest.raises(UserError, match="there is no folder"):
        sim.save(tmp_path / "no" / "state.h5")


def test_damaged_files_are_refused(sim: ut.Simulation, tmp_path: Path) -> None:
    path = tmp_path / "state.h5"
    sim.save(path)
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:100], b""):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"damaged(,| or) cut short"):
            ut.load(path)
    data = bytearray(whole)
    middle = whole.index(np.ascontiguousarray(sim.state.u[0, 3, 5]).tobytes())
    data[middle + 3] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(UserError, match="does not match its checksum"):
        read_checkpoint(path)
    with pytest.raises(UserError, match="no such checkpoint"):
        ut.load(tmp_path / "none.h5")


def test_a_state_of_another_resolution_is_refused(sim: ut.Simulation, tiny: Callable[..., Scene]) -> None:
    other = ut.Simulation(tiny("domain.resolution=12"), threads=1)
    with pytest.raises(UserError, match="belongs to another scene or resolution"):
        other.restore(sim.checkpoint())


def test_a_value_that_is_no_number_stops_with_what_where_and_when(
    tiny: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    sim = ut.Simulation(tiny(), threads=1)
    take_step = sim.flow.step

    def poisoned(time: float, dt: float) -> object:
        report = take_step(time, dt)
        sim.state.u[1, 3, 3 + 4, 3 + 2] = np.nan
        return report

    monkeypatch.setattr(sim.flow, "step", poisoned)
    with pytest.raises(PhysicsError, match=r"velocity is not a finite number in step 1 at t = .* \(2, 4, 0\) near"):
        sim.step()


def test_a_simulation_needs_a_scene() -> None:
    with pytest.raises(UserError, match="str is no Scene"):
        ut.Simulation("lid-cavity")  # type: ignore[arg-type]


def test_overlapping_solids_and_a_covered_emitter_are_noted() -> None:
    """Unions of prescribed solids are allowed, but said; so is a source of smoke that nothing comes out of."""

    def disc(x: float) -> ut.RigidBody:
        return ut.RigidBody(shape=ut.Sphere(radius=0.2), position=(x, 0.5))

    def notes(**objects: object) -> list[str]:
        scene = ut.Scene(
            name="start",
            domain=ut.Domain(upper=(1.0, 1.0), resolution=16),
            time=ut.Time(end=0.1),
            smoke=ut.Smoke(),
            objects={"jet": ut.Emitter(shape=ut.Sphere(radius=0.1), position=(0.3, 0.5)), **objects},
        )
        return ut.Simulation(scene, threads=1).notes

    apart = notes(right=disc(0.75))
    assert not any("overlap" in note or "inside a solid" in note for note in apart)
    found = notes(left=disc(0.3), right=disc(0.6))
    assert any("objects.left and objects.right overlap by 0.1 m" in note for note in found)
    assert any("objects.jet: lies inside a solid at the start" in note for note in found)


def test_an_animated_mesh_moves_the_fluid_as_a_moving_one_does(tmp_path: Path) -> None:
    """A box of two files that lie 0.1 m apart at 10 meshes per second against the same box with 1 m/s."""
    vertices, triangles = geometry.Box((0.3, 0.3, 0.3)).surface()
    for frame in range(3):
        lines = [f"v {x + 0.1 * frame} {y} {z}" for x, y, z in vertices]
        lines += [f"f {a} {b} {c}" for a, b, c in triangles + 1]
        (tmp_path / f"box{frame}.obj").write_text("\n".join(lines) + "\n")

    def push(box: ut.RigidBody) -> float:
        scene = ut.Scene(
            name="push",
            gravity=(0.0, 0.0),
            domain=ut.Domain(upper=(2.0, 1.0), resolution=32, resolution_along="x", sides={"x_high": "open"}),
            time=ut.Time(end=0.1, frame_rate=20.0),
            objects={"box": box},
        )
        sim = ut.Simulation(scene, threads=1)
        sim.advance_to(0.1)
        return sim.step().ledger["kinetic_energy"]

    files = tuple(str(tmp_path / f"box{frame}.obj") for frame in range(3))
    place = (0.6, 0.5)
    animated = push(ut.RigidBody(shape=ut.MeshSequence(files=files, frame_rate=10.0), position=place))
    moving = push(
        ut.RigidBody(shape=ut.Mesh(file=files[0]), position=place, motion=ut.PrescribedVelocity(linear=(1.0, 0.0)))
    )
    assert animated > 0.05
    assert animated == pytest.approx(moving, rel=0.12)  # the grid rounds the corners of each in its own way
