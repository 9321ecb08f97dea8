"""Bodies break during a run: what is kept, what goes over to the pieces, and that a resumed run goes on by bits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.output.export import export
from undertow.solids.rigid_part import RigidPart
from undertow.validation.pressure_breaks import case as pressure_breaks

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "frozen"))

from frozen_scenes import SCENES  # noqa: E402

RULE = {"pattern": "radial", "pieces": 6, "strength": 3.0}


def floor_scene(more: dict[str, Any] | None = None, **rule: Any) -> ut.Scene:
    """A ball falls on a plate on the ground, in two dimensions."""
    return ut.Scene(
        name="plate",
        gravity=(0.0, -9.81),
        time=ut.Time(end=1.0, frame_rate=100.0),
        objects={
            "ground": ut.RigidBody(shape=ut.Plane(normal=(0, 1)), position=(0, 0)),
            "plate": ut.RigidBody(
                shape=ut.Box(size=(1.0, 0.1)), position=(0, 0.05), mass=50.0, fracture={**RULE, **rule}
            ),
            "ball": ut.RigidBody(shape=ut.Sphere(radius=0.05), position=(0.2, 0.3), mass=2.0),
            **(more or {}),
        },
    )


def water_scene() -> ut.Scene:
    return ut.Scene(
        name="box",
        coupling="monolithic",
        domain=ut.Domain(upper=(1.0, 0.75), resolution=16, sides={"y_high": "open"}),
        time=ut.Time(end=1.0, frame_rate=60.0),
        objects={
            "pool": ut.Water(shape=ut.Plane(normal=(0, 1)), position=(0.5, 0.3)),
            "box": ut.RigidBody(
                shape=ut.Box(size=(0.5, 0.2)), position=(0.5, 0.32), density=500.0, velocity=(0.1, 0.0), fracture=RULE
            ),
            "ball": ut.RigidBody(
                shape=ut.Sphere(radius=0.06), position=(0.55, 0.5), density=2000.0, velocity=(0.0, -2.0)
            ),
        },
    )


def until_broken(sim: ut.Simulation, most: int = 60) -> ut.StepReport:
    for _ in range(most):
        report = sim.step()
        if report.broken:
            return report
    raise AssertionError("nothing broke")


def pieces_of(sim: ut.Simulation, name: str) -> list[str]:
    return [entry.name for entry in sim.bodies if entry.name.startswith(f"{name}/")]


def same(one: ut.Simulation, other: ut.Simulation) -> None:
    assert one.arrays().keys() == other.arrays().keys()
    for name, array in one.arrays().items():
        assert np.asarray(array).tobytes() == np.asarray(other.arrays()[name]).tobytes(), name


@pytest.mark.parametrize("kind", ["solids", "water"])
def test_a_run_that_is_resumed_before_or_after_a_body_broke_goes_on_by_bits(kind: str, tmp_path: Path) -> None:
    scene = floor_scene() if kind == "solids" else water_scene()
    sims = [ut.Simulation(scene, threads=threads) for threads in (1, 2)]
    for sim in sims:
        sim.step()
    sims[0].save(tmp_path / "before.h5")
    early = ut.load(tmp_path / "before.h5", threads=2)
    for sim in (*sims, early):
        until_broken(sim)
    sims[0].save(tmp_path / "after.h5")
    late = ut.load(tmp_path / "after.h5", threads=1)
    for sim in (*sims, early, late):
        sim.step()
    for sim in (sims[1], early, late):
        same(sims[0], sim)


def test_pieces_have_the_momenta_of_the_body_and_their_own_names() -> None:
    sim = ut.Simulation(floor_scene(), threads=1)
    spinning = sim.part(RigidPart)
    b = spinning.bodies.index("plate")
    spinning.bodies.set_velocity(b, np.array([0.3, 0.1, 0.0]), np.array([0.0, 0.0, 0.7]))
    before = sim.ledger.row()
    broken = sim.break_body("plate", at=(0.1, 0.1), along=(0.0, -1.0))
    after = sim.ledger.row()
    for name in ("momentum_x", "momentum_y", "angular_momentum_z", "kinetic_energy", "potential_energy"):
        assert after[name] == pytest.approx(before[name], rel=1e-12, abs=1e-12), name
    assert pieces_of(sim, "plate") == [f"plate/{n}" for n in range(1, broken.pieces + 1)]
    assert after["bodies_broken"] == 1 and after["pieces"] == broken.pieces
    assert "plate" not in sim.bodies and "objects.plate broke into" in sim.step().events[0]


def test_the_blow_acts_on_the_pieces_in_the_step_in_which_it_breaks_the_body() -> None:
    broken, whole = ut.Simulation(floor_scene(), threads=1), ut.Simulation(floor_scene(strength=1e6), threads=1)
    until_broken(broken)
    while whole.step_count < broken.step_count:
        whole.step()
    stopped, held = broken.body("ball").velocity[1], whole.body("ball").velocity[1]
    assert abs(stopped) < 1.0 and abs(held) < 1.0
    total = broken.ledger.row()["momentum_y"]
    assert total == pytest.approx(whole.ledger.row()["momentum_y"], abs=0.3)
    # what was born is not broken in the step in which it was born
    assert not any("/" in name.partition("/")[2] for name in broken.bodies.entries)


def test_small_pieces_are_balls_that_keep_mass_and_momenta() -> None:
    sim = ut.Simulation(floor_scene(smallest=0.12), threads=1)
    before = sim.ledger.row()
    broken = sim.break_body("plate", at=(0.1, 0.1), along=(0.0, -1.0))
    assert 0 < broken.debris < broken.pieces and broken.debris_mass > 0.0
    after = sim.ledger.row()
    assert after["potential_energy"] == pytest.approx(before["potential_energy"], rel=1e-12)
    assert after["debris_mass"] == pytest.approx(broken.debris_mass)
    rigid = sim.part(RigidPart)
    assert rigid.bodies.mass_b.sum() == pytest.approx(52.0, rel=1e-12)


def test_pieces_are_no_more_than_most_fragments_and_the_run_goes_on() -> None:
    sim = ut.Simulation(floor_scene(pattern="voronoi", pieces=20, most_fragments=3), threads=1)
    report = until_broken(sim)
    assert 2 <= report.broken[0].pieces <= 3
    assert "more than most_fragments = 3: it is cut less finely" in report.events[0]
    sim.advance_to(sim.time + 0.1)
    assert len(pieces_of(sim, "plate")) <= 3


def test_a_joint_goes_to_the_piece_that_holds_its_point(tmp_path: Path) -> None:
    hinge = ut.Joint(kind="hinge", child="plate", position=(0.45, 0.6), axis=(0, 0, 1))
    scene = floor_scene({"hinge": hinge}).replace("objects.plate.position", (0.0, 0.6))
    sim = ut.Simulation(scene, threads=1)
    sim.step()
    angle = sim.joint("hinge").coordinate
    broken = sim.break_body("plate", at=(-0.1, 0.65), along=(0.0, -1.0))
    assert broken.pieces > 2 and sim.joint("hinge").coordinate == pytest.approx(angle, abs=1e-9)
    sim.save(tmp_path / "hung.h5")
    other = ut.load(tmp_path / "hung.h5", threads=1)
    for one in (sim, other):
        one.advance_to(0.3)
    same(sim, other)
    hung = [name for name in pieces_of(sim, "plate") if sim.body(name).position[1] > 0.3]
    assert len(hung) == 1 and sim.ledger.row()["joints_broken"] == 0
    assert abs(sim.body(hung[0]).position[0] - 0.45) < 0.3


def test_a_force_goes_to_the_piece_that_holds_its_point(tmp_path: Path) -> None:
    """The momentum of all pieces grows by it, that of one piece alone, and resumed runs go on by bits."""
    loads = [{"type": "force", "force": (0.0, 30.0), "at": (0.45, 0.6)}, {"type": "torque", "torque": (0.0, 0.0, 0.2)}]
    plate = ut.RigidBody(
        shape=ut.Box(size=(1.0, 0.1)), position=(0.0, 0.6), mass=50.0, loads=loads, fracture={**RULE, "pieces": 12}
    )
    scene = floor_scene().replace("objects.plate", plate).replace("gravity", (0.0, 0.0))
    sim = ut.Simulation(scene, threads=1)
    sim.step()
    sim.break_body("plate", at=(-0.1, 0.65), along=(0.0, -1.0))
    sim.save(tmp_path / "pushed.h5")
    other = ut.load(tmp_path / "pushed.h5", threads=1)
    before, after = sim.ledger.row(), sim.step().ledger
    other.step()
    same(sim, other)
    assert after["momentum_y"] - before["momentum_y"] == pytest.approx(0.3, rel=1e-9)
    pushed = [name for name in pieces_of(sim, "plate") if sim.body(name).force.any() or sim.body_forces(name).load[1]]
    assert len(pushed) == 1 and sim.body(pushed[0]).position[0] > 0.2
    # and again to a piece of that piece
    sim.break_body(pushed[0], at=sim.body(pushed[0]).position[:2], along=(0.0, -1.0))
    before, after = after, sim.step().ledger
    assert after["momentum_y"] - before["momentum_y"] == pytest.approx(0.3, rel=1e-9)


def test_cracks_have_their_colour_in_ply_files(tmp_path: Path) -> None:
    scene = floor_scene(color=(0.0, 1.0, 0.0)).replace("time.end", 0.3)
    ut.Simulation(scene, threads=1).run(tmp_path / "run", preview=False, quiet=True)
    folder = export(tmp_path / "run", "ply", tmp_path / "ply")
    last = sorted(Path(folder).glob("bodies-*.ply"))[-1]
    head, _, data = last.read_bytes().partition(b"end_header\n")
    count = int(head.split(b"element vertex ")[1].split()[0])
    colors = np.frombuffer(data[: 15 * count], dtype=[("x", "<f4", 3), ("rgb", "u1", 3)])["rgb"]
    assert (colors == (0, 255, 0)).all(axis=1).any() and not (colors == (0, 255, 0)).all()


@pytest.mark.parametrize(("share", "bursts"), [(0.97, False), (1.03, True)])
def test_a_vessel_bursts_by_what_presses_from_inside(share: float, bursts: bool) -> None:
    assert pressure_breaks.bursts(share * pressure_breaks.DEPTH, 24) == bursts


FLUIDS = {
    "smoke": (0.75, 0.9), "tank-contact": (0.2, 0.8), "tank-viscous": (0.2, 0.8), "tank-two-solves": (0.2, 0.8),
    "tank-lumped": (0.2, 0.8), "tank-volume-fraction": (0.2, 0.8), "water-rigid-fluid": (0.15, 0.2),
}  # fmt: skip
"""Frozen scenes, and where there is room for a block in them."""


@pytest.mark.parametrize("kind", FLUIDS)
def test_pieces_take_the_place_of_a_body_in_every_fluid_on_a_grid(kind: str) -> None:
    """Their momentum and that of the fluid stay what they were, and the run goes on, though they are smaller than its
    cells. (The volume of water is the case fracture-in-water.)"""
    block = ut.RigidBody(
        shape=ut.Box(size=(0.14, 0.14)), position=FLUIDS[kind], density=600.0, velocity=(0.1, 0.2),
        fracture={"pieces": 8, "pattern": "voronoi", "strength": 1e6},
    )  # fmt: skip
    given = SCENES[kind]
    coupling = {"coupling": "monolithic"} if kind == "smoke" else {}
    scene = ut.Scene(name=kind, **{**given, **coupling, "objects": {**given["objects"], "block": block}})
    sim = ut.Simulation(scene, threads=1)
    sim.step()
    place = sim.body("block").position
    with sim.scheme.synchronised():
        before, mass = sim.ledger.row(), sim.part(RigidPart).bodies.mass_b.sum()
    broken = sim.break_body("block", at=tuple(place[:2] + (0.0, 0.03)), along=(0.0, -1.0))
    assert broken.pieces >= 2 and sim.part(RigidPart).bodies.mass_b.sum() == pytest.approx(mass, rel=1e-12)
    with sim.scheme.synchronised():
        after = sim.ledger.row()
    for axis in "xy":
        names = [name for name in (f"momentum_{axis}", f"momentum_solids_{axis}") if name in before]
        size = sum(abs(before[name]) for name in names) + 1.0
        assert sum(after[name] - before[name] for name in names) == pytest.approx(0.0, abs=1e-9 * size)
    row = [sim.step() for _ in range(2)][-1].ledger
    assert np.isfinite(list(row.values())).all()


def test_runs_write_what_broke(tmp_path: Path) -> None:
    scene = floor_scene().replace("time.end", 0.3)
    run = ut.Simulation(scene, threads=1).run(tmp_path / "run", preview=False, quiet=True)
    events = run.events
    assert list(events["body"][:1]) == ["plate"] and list(events["by"][:1]) == ["ball"]
    assert events["impulse"][0] > 3.0 and events["pieces"][0] >= 2 and events["x"][0] == pytest.approx(0.2, abs=0.02)
    names = {body.name for body in run.frame(-1).bodies}
    assert "plate/1" in names and "plate" not in names and "plate/1" in set(run.bodies["body"])
    assert "objects.plate broke into" in (tmp_path / "run" / "log.txt").read_text()
    colors = [body.color_t for body in run.frame(-1).bodies if body.name == "plate/1"][0]
    assert colors is not None and len(np.unique(colors, axis=0)) == 2


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"strength": 0.0}, "strength = 0.0: must be positive; give a number in N s"),
        ({"strength": float("nan")}, "strength = nan: must be a finite number in N s"),
        ({"strength_force": -1.0}, "strength_force = -1.0: must be positive; give a number in N"),
        ({}, "fracture: has no strength; give strength"),
        ({"strength": 1.0, "strength_time": 0.1}, "strength_time has no effect without strength_force"),
        ({"strength": 1.0, "folder": "x"}, "folder has no effect on pattern = 'voronoi'"),
        ({"strength": 1.0, "pattern": "meshes"}, "pattern = 'meshes' needs a folder of closed meshes; give folder"),
        ({"strength": 1.0, "pattern": "meshes", "folder": "x", "seed": 3}, "remove pieces, seed and options"),
    ],
)
def test_mistakes_are_refused_in_one_sentence(rule: dict[str, Any], words: str) -> None:
    with pytest.raises(ut.UserError) as error:
        ut.RigidBody(shape=ut.Box(size=(1, 1, 1)), position=(0, 0, 0), density=1.0, fracture=rule)
    assert words in str(error.value)


def test_mistakes_of_bodies_are_refused_in_one_sentence() -> None:
    box = {"shape": ut.Box(size=(1, 1, 1)), "position": (0, 0, 0), "fracture": {"strength": 1.0}}
    with pytest.raises(ut.UserError, match="fracture needs a density or mass; add one, and a fixed joint"):
        ut.RigidBody(**box)
    with pytest.raises(ut.UserError, match="fracture takes the same density everywhere; remove inertia"):
        ut.RigidBody(**box, mass=1.0, inertia=(1.0, 1.0, 1.0))
    with pytest.raises(ut.UserError, match=r"objects.plate.fracture: fracture pattern 'star': there is no such"):
        ut.Simulation(floor_scene(pattern="star"), threads=1)
    sim = ut.Simulation(floor_scene(), threads=1)
    with pytest.raises(ut.UserError, match="objects.ball: has no fracture, it cannot break; give it one in the scene"):
        sim.break_body("ball", at=(0, 0), along=(0, 1))
    sim.break_body("plate", at=(0.1, 0.1), along=(0.0, -1.0))
    with pytest.raises(ut.UserError, match="body 'plate/1': is a piece of a broken body, which stays as it is"):
        sim.replace_body("plate/1", density=3.0)


def test_a_scene_without_fracture_has_nothing_of_it() -> None:
    scene = floor_scene()
    plain = ut.Scene(**{**dict(scene), "objects": {"ball": scene.objects["ball"]}})
    sim = ut.Simulation(plain, threads=1)
    assert "bodies_broken" not in sim.ledger.units and all(part.name != "fracture" for part in sim.parts)
