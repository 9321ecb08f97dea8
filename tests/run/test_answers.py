"""Small answers that a user relies on: notes, times of bodies, sums of iterations, words and units of SPH fluids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.run import build, compare
from undertow.scene import Scene, find_scene, toml


def test_one_note_stands_for_all_bodies_that_are_too_thin() -> None:
    thin = [(0.01 + 0.001 * k, f"b{k}") for k in range(256)]
    notes = build._notes_of_thin(thin, 0.1, "fluid may pass through")
    assert len(notes) == 1 and notes[0].startswith("objects.b0 and 255 more: 0.01 m thick, less than two cells")
    assert build._notes_of_thin([], 0.1, "fluid may pass through") == []


def test_a_body_says_when_and_at_what_angle_it_is() -> None:
    wheel = {"type": "rigid_body", "shape": {"type": "sphere", "radius": 0.1}, "position": [0.0, 0.0], "density": 1.0,
             "angular_velocity": [0.0, 0.0, 2.0]}  # fmt: skip
    data = {"name": "wheel", "time": {"end": 0.2}, "gravity": [0.0, 0.0], "objects": {"wheel": wheel}}
    sim = ut.Simulation(toml.scene_from_dict(data), threads=1)
    sim.advance_to(0.1)
    body = sim.body("wheel")
    assert body.time == sim.time == 0.1 and body.angle == pytest.approx(0.2, rel=1e-9)


def test_iterations_of_a_step_are_those_of_all_its_solves(monkeypatch: pytest.MonkeyPatch) -> None:
    from undertow.linalg import coupled

    counts: list[int] = []
    solve = coupled.CoupledSystem.solve

    def counted(self: Any, *args: Any, **more: Any) -> Any:
        found = solve(self, *args, **more)
        counts.append(found.iterations)
        return found

    monkeypatch.setattr(coupled.CoupledSystem, "solve", counted)
    sim = ut.Simulation(find_scene(Path(__file__).with_name("tiny.toml")), threads=1)
    counts.clear()
    report = sim.step()
    assert len(counts) >= 1 and report.iterations == sum(counts)


def test_sph_users_are_told_what_an_sph_fluid_has() -> None:
    block = {"type": "sph_fluid", "shape": {"type": "box", "size": [0.5, 0.5]}, "position": [0.5, 0.5]}
    scene = toml.scene_from_dict({
        "name": "block", "time": {"end": 0.02}, "domain": {"upper": [1.0, 1.0], "resolution": 8},
        "objects": {"block": block}, "view": {"field": "density"},
    })  # fmt: skip
    sim = ut.Simulation(scene, threads=1)
    with pytest.raises(ut.UserError, match=r"an SPH fluid has no grid; use sim.particles, sim.field or sim.sample"):
        _ = sim.flow
    assert sim.sample("density", [(0.5, 0.5)]) == pytest.approx([1000.0], rel=0.05)


def test_viscosity_of_sph_is_dynamic() -> None:
    """mu / rho counts: twice both is the same motion, twice the density alone is another."""

    def fall(density: float, viscosity: float) -> np.ndarray:
        block = {"type": "sph_fluid", "shape": {"type": "box", "size": [0.5, 0.5]}, "position": [0.25, 0.25]}
        sim = ut.Simulation(toml.scene_from_dict({
            "name": "block", "time": {"end": 0.1}, "domain": {"upper": [1.0, 1.0], "resolution": 8},
            "objects": {"block": block}, "sph": {"density": density, "viscosity": viscosity, "sound_speed": 30.0},
        }), threads=1)  # fmt: skip
        sim.advance_to(0.05)
        return np.asarray(sim.particles.velocity)

    first, both, heavy = fall(1000.0, 50.0), fall(2000.0, 100.0), fall(2000.0, 50.0)
    np.testing.assert_allclose(both, first, atol=1e-9)
    assert np.abs(heavy - first).max() > 1e-3


@pytest.mark.parametrize(("mistake", "message"), [
    (lambda sim: sim.advance_to("1"), r"^advance_to: '1' is no time; give a number in s"),
    (lambda sim: sim.advance_to(float("nan")), r"^advance_to: nan s lies before"),
    (lambda sim: sim.sample("velocity", "left"), r"^sample: points = 'left': give coordinates of shape \(n, 3\)"),
    (lambda sim: sim.sample("velocity", [[0.1, 0.2], [0.3]]), r"^sample: points = .*: give coordinates"),
    (lambda sim: sim.sample("velocity", [[[0.1, 0.2]]]), r"^sample: points of shape \(1, 1, 2\)"),
    (lambda sim: sim.set_velocity(lambda x, y, z: 3), r"^set_velocity: the function gives 3; it must give \(u, v, w\)"),
    (lambda sim: ut.Simulation(sim.scene, threads="two"), r"^threads = 'two': must be a whole number"),
    (lambda sim: sim.run("a\0b"), r"holds the letter NUL, which no file name can"),
    (lambda sim: sim.save("a\0b"), r"holds the letter NUL, which no file name can"),
], ids=str)  # fmt: skip
def test_mistakes_in_calls_are_told_in_words(mistake: Any, message: str) -> None:
    sim = ut.Simulation(find_scene(Path(__file__).with_name("tiny.toml")), threads=1)
    with pytest.raises(ut.UserError, match=message):
        mistake(sim)


def test_components_of_a_velocity_may_be_numbers() -> None:
    sim = ut.Simulation(find_scene(Path(__file__).with_name("tiny.toml")), threads=1)
    sim.set_velocity(lambda x, y, z: (0.25 + 0.0 * x, 0.0, 0))
    assert sim.sample("velocity", [0.5, 1.0]) == pytest.approx([0.25, 0.0, 0.0], abs=1e-12)


def test_many_bodies_cost_as_many_times_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """To describe, and to write the rows and the frame of a step; 10,000 spheres did not come to their first one."""
    from undertow.rigid.bodies import RigidBodies
    from undertow.run import assemble_solids
    from undertow.run.ledger import body_rows

    places: list[int] = []
    vector3, index = build.vector3, RigidBodies.index
    searches: list[str] = []
    monkeypatch.setattr(assemble_solids.build, "vector3", lambda values: places.append(1) or vector3(values))
    monkeypatch.setattr(RigidBodies, "index", lambda self, name: searches.append(name) or index(self, name))
    counts = []
    for number in (40, 80):
        ball = {"type": "rigid_body", "shape": {"type": "sphere", "radius": 0.1}, "density": 1.0}
        objects = {f"b{k}": {**ball, "position": [0.3 * k, 1.0, 0.0]} for k in range(number)}
        scene = toml.scene_from_dict({"name": "many", "time": {"end": 0.1}, "objects": objects})
        places.clear()
        sim = ut.Simulation(scene, threads=1)
        counts.append(len(places))
        searches.clear()
        assert len(body_rows(sim)) == len(sim.frame_data().bodies) == number
        assert not searches
    assert counts[1] < 2.2 * counts[0]


def test_compare_compiles_before_it_times(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Steps of another simulation of the same scene come before those that are timed."""
    done: list[str] = []
    monkeypatch.setattr(compare, "warm_up", lambda scene, threads: done.append("warm"))

    def run(*_: Any, **__: Any) -> None:
        done.append("run")
        raise ut.UserError("stopped here")

    monkeypatch.setattr(compare.Simulation, "run", run)
    scene: Scene = find_scene(Path(__file__).with_name("tiny.toml"))
    with pytest.raises(ut.UserError, match="stopped here"):
        compare.compare({"none": scene}, tmp_path / "out", 1, None, lambda text: None)
    assert done == ["warm", "run"]


def test_the_camera_of_hanging_cloth_sees_its_ball() -> None:
    """Of the half of the ball that faces it at least three quarters, with the sheet where it hangs."""
    scene = ut.scene("hanging-cloth", resolution=10)
    sim = ut.Simulation(scene, threads=1)
    sim.advance_to(1.0)
    assert scene.view.camera is not None
    eye, centre = np.array(scene.view.camera.position), np.array([0.0, 0.45, -0.35])
    way = np.random.default_rng(0).normal(size=(400, 3))
    points = centre + 0.2 * way / np.linalg.norm(way, axis=1)[:, None]
    points = points[(points - centre) @ (eye - points[0]) > 0.05]
    frame = next(body for body in sim.frame_data(fields=()).bodies if body.name == "sheet")
    a, b, c = (frame.vertices.astype(float)[frame.triangles[:, k]] for k in range(3))
    hidden = 0
    for point in points:
        d = point - eye  # Moeller and Trumbore 1997
        p = np.cross(d, c - a)
        det = np.einsum("ij,ij->i", b - a, p)
        u = np.einsum("ij,ij->i", eye - a, p) / det
        q = np.cross(eye - a, b - a)
        v, t = q @ d / det, np.einsum("ij,ij->i", c - a, q) / det
        hidden += bool(np.any((u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0) & (t < 0.99)))
    assert len(points) > 100 and hidden < 0.25 * len(points)
