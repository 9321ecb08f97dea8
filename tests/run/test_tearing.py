"""Soft bodies tear during a run: resumed by bits, in every stepper and kind, with what they carry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.run import tearing
from undertow.scene import toml
from undertow.solids.tearing import Overload, TearPart


def scene_of(objects: dict[str, Any], soft: ut.Soft | None = None, **more: Any) -> ut.Scene:
    return ut.Scene(
        name="tears", objects=objects, time=ut.Time(end=1.0, frame_rate=100.0), soft=soft or ut.Soft(), **more
    )


def pulled(*, limit: float = 1.15, speed: float = 1.0, **more: Any) -> ut.Cloth:
    """A sheet that a hold tears out of another one."""
    motion = ut.PrescribedVelocity(linear=(speed, 0.0, 0.0))
    holds = (
        ut.Hold(shape=ut.Box(size=(0.02, 1, 1)), position=(-0.3, 0, 0)),
        ut.Hold(shape=ut.Box(size=(0.02, 1, 1)), position=(0.3, 0, 0), motion=motion),
    )
    sheet = {"size": (0.6, 0.3), "position": (0, 0, 0), "element_size": 0.1, "holds": holds, "density": 0.2}
    return ut.Cloth(**{**sheet, "tear": {"stretch": limit}, **more})


def ball() -> ut.RigidBody:
    return ut.RigidBody(shape=ut.Sphere(radius=0.08), position=(0.0, 0.1, 0.0), density=300.0, velocity=(0, -1.0, 0))


def until_torn(sim: ut.Simulation, most: int = 100) -> ut.StepReport:
    for _ in range(most):
        report = sim.step()
        if report.torn:
            return report
    raise AssertionError("nothing tore")


def same(one: ut.Simulation, other: ut.Simulation) -> None:
    assert one.arrays().keys() == other.arrays().keys()
    for name, array in one.arrays().items():
        assert np.asarray(array).tobytes() == np.asarray(other.arrays()[name]).tobytes(), name


def test_a_run_that_is_resumed_before_or_after_a_tear_goes_on_by_bits(tmp_path: Path) -> None:
    rope = ut.Rope(position=(0.5, 0.5, 0), end=(0.9, 0.5, 0), element_size=0.1)
    scene = scene_of({"first": rope, "sheet": pulled(speed=4.0, element_size=0.15), "ball": ball()})
    sims = [ut.Simulation(scene, threads=threads) for threads in (1, 2)]
    for sim in sims:
        sim.step()
    sims[0].save(tmp_path / "before.h5")
    early = ut.load(tmp_path / "before.h5", threads=2)
    for sim in (*sims, early):
        until_torn(sim)
    assert len(sims[0].nodes("sheet").mass) > len(sims[0].nodes("sheet").elements) / 2
    sims[0].save(tmp_path / "after.h5")
    late = ut.load(tmp_path / "after.h5", threads=1)
    for sim in (*sims, early, late):
        for _ in range(3):
            sim.step()
    for sim in (sims[1], early, late):
        same(sims[0], sim)
        assert sim.bodies.torn == sims[0].bodies.torn


@pytest.mark.parametrize("stepper", ["implicit", "linearised", "newmark", "leapfrog"])
def test_a_sheet_that_is_pulled_apart_is_in_two_in_every_stepper(stepper: str) -> None:
    sheet = pulled(damping=1e-3, speed=2.0, stretching=300.0)
    sim = ut.Simulation(scene_of({"sheet": sheet}, ut.Soft(stepper=stepper)), threads=1)
    before = sim.nodes("sheet")
    report = until_torn(sim, 1000)
    while report.torn[0].pieces == 1:
        report = until_torn(sim)
    after, torn = sim.nodes("sheet"), report.torn[0]
    # what vibrates may lose a corner beside
    assert torn.pieces in ((2,) if stepper in ("implicit", "linearised") else (2, 3))
    assert torn.kind == "stretch" and 1.15 < torn.value < 1.25
    assert "objects.sheet tore at" in report.events[0] and f"it is in {torn.pieces} pieces" in report.events[0]
    assert after.mass.sum() == pytest.approx(before.mass.sum(), rel=1e-14)
    assert report.ledger["torn"] >= 3
    # nothing is pulled any longer
    facets = report.ledger["torn"]
    last = sim.advance_to(0.2)
    assert last is not None and last.ledger["torn"] <= facets + 4
    assert np.ptp(sim.nodes("sheet").position[:, 0]) > 1.4 * 0.6


def test_a_tear_changes_no_position_no_momentum_and_lets_go_of_energy_alone() -> None:
    sim = ut.Simulation(scene_of({"sheet": pulled()}), threads=1)
    reports, kept = [], []
    original = tearing._tear

    def watched(one: ut.Simulation, overloads: Any) -> Any:
        kept.append(one.nodes("sheet"))
        found = original(one, overloads)
        kept.append(one.nodes("sheet"))
        reports.extend(found)
        return found

    tearing._tear = watched  # type: ignore[assignment]
    try:
        until_torn(sim)
    finally:
        tearing._tear = original
    for before, after in zip(kept[::2], kept[1::2], strict=True):
        assert len(after.mass) > len(before.mass)
        for values in ("position", "velocity", "rest"):
            old, new = (getattr(one, values)[one.elements] for one in (before, after))
            assert np.array_equal(old, new), values
        p, q = ((one.mass[:, None] * one.velocity).sum(axis=0) for one in (before, after))
        assert q == pytest.approx(p, rel=1e-13, abs=1e-16)
    assert all(one.released >= -1e-12 for one in reports)


def test_ropes_solids_and_bodies_in_the_plane_tear_too() -> None:
    pull = {"density": 1000.0, "youngs_modulus": 1e5, "damping": 1e-3}
    ends = [
        ut.Hold(shape=ut.Box(size=(0.02, 1)), position=(0.0, 0.0)),
        ut.Hold(shape=ut.Box(size=(0.02, 1)), position=(0.4, 0.0), motion=ut.PrescribedVelocity(linear=(2.0, 0.0))),
    ]
    flat = ut.SoftBody(
        shape=ut.Box(size=(0.4, 0.2)), position=(0.2, 0.0), element_size=0.1, holds=ends, tear={"stress": 2e4}, **pull
    )
    flat_rope = ut.Rope(
        position=(0.0, 0.3), end=(0.4, 0.3), element_size=0.1, holds=ends, tear={"stretch": 1.1}, stretching=100.0
    )
    three = [
        hold.model_copy(update={"shape": ut.Box(size=(0.02, 1, 1)), "position": (*hold.position[:2], 0.0)})
        for hold in ends
    ]
    solid = ut.SoftBody(
        shape=ut.Box(size=(0.4, 0.2, 0.1)), position=(0.2, 0.0, 0.0), element_size=0.1, holds=three,
        incompressible=True, tear={"stretch": 1.2}, **pull,
    )  # fmt: skip
    for objects, gravity in (({"flat": flat, "rope": flat_rope}, (0.0, 0.0)), ({"solid": solid}, (0.0, 0.0, 0.0))):
        sim, pieces = ut.Simulation(scene_of(objects, gravity=gravity), threads=1), dict.fromkeys(objects, 1)
        for _ in range(25):
            for one in sim.step().torn:
                pieces[one.name] = one.pieces
                assert one.overshoot < 0.5
        assert min(pieces.values()) >= 2
        assert sim.frame_data().soft is not None
        x = np.concatenate([body.vertices for body in sim.frame_data().bodies])
        assert np.isfinite(x).all() and np.abs(x).max() < 2.0


def test_forces_on_nodes_stay_on_their_bodies_when_another_body_tears() -> None:
    """Nodes of later bodies have other numbers after a tear: what is applied to one of them goes with it."""
    rope = ut.Rope(position=(0.0, 1.0, 0.0), end=(0.4, 1.0, 0.0), element_size=0.1)
    sim = ut.Simulation(scene_of({"sheet": pulled(), "rope": rope}, gravity=(0.0, 0.0, 0.0)), threads=1)
    sim.body("rope").apply((0.0, 1.0, 0.0), at=(0.4, 1.0, 0.0), duration=0.5)
    until_torn(sim)
    for _ in range(5):
        sim.step()
    y = sim.nodes("rope").position[:, 1]
    assert y.argmax() == len(y) - 1 and y[-1] > 1.001 and abs(sim.nodes("sheet").position[:, 1]).max() < 0.05


def test_a_body_that_breaks_in_a_step_that_tears_breaks_when_it_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fracture = {"pattern": "radial", "pieces": 4, "strength": 1.0}
    box = ut.Box(size=(0.4, 0.05, 0.4))
    objects = {
        "ground": ut.RigidBody(shape=ut.Plane(normal=(0, 1, 0)), position=(0, -1.0, 0)),
        "plate": ut.RigidBody(shape=box, position=(0, -0.975, 0), mass=20.0, fracture=fracture),
        "ball": ut.RigidBody(shape=ut.Sphere(radius=0.05), position=(0, -0.85, 0), mass=1.0, velocity=(0, -5.0, 0)),
        "sheet": pulled(limit=1.5),
    }
    sim, judge, asked = ut.Simulation(scene_of(objects), threads=1), TearPart.judge, []

    def judged(part: TearPart, torn: Any) -> list[Overload]:
        if sim.bodies.is_brittle and "plate" not in sim.bodies and not asked:
            asked.append(len(sim.bodies))
            return [Overload("sheet", ((0, 1),), "stretch", 1.6, 1.5, (0.0, 0.0, 0.0))]
        return judge(part, torn)

    monkeypatch.setattr(TearPart, "judge", judged)
    while not asked:
        report = sim.step()
    assert len(report.broken) == 1 and len(report.torn) == 1
    assert len(sim.bodies) == asked[0] and "plate" not in sim.bodies and report.ledger["bodies_broken"] == 1
    assert sim.bodies.torn == {"sheet": ((0, 1),)}
    sim.step()


def test_a_step_stops_after_so_many_passes_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tearing, "PASSES", 1)
    sim = ut.Simulation(scene_of({"sheet": pulled()}), threads=1)
    report = until_torn(sim)
    assert any("tears on in the next step: after 1 passes" in text for text in report.events)
    assert until_torn(sim).step == report.step + 1


def test_a_torn_run_writes_its_events_and_frames(tmp_path: Path) -> None:
    scene = scene_of({"sheet": pulled(speed=2.0)})
    scene = scene.model_copy(update={"time": ut.Time(end=0.1, frame_rate=50.0)})
    run = ut.Simulation(scene, threads=1).run(tmp_path / "run", preview=False, quiet=True)
    events = run.events
    assert list(events["event"]) == ["tear"] * len(events["event"]) and events["stretch"][0] > 1.15
    assert "objects.sheet tore at" in (run.folder / "log.txt").read_text(encoding="utf-8")
    first, last = run.frame(0).soft, run.frame(-1).soft
    assert first is not None and last is not None
    assert len(last.position) > len(first.position) and len(last.cells["sheet"]) == len(first.cells["sheet"])


SHEET = {"type": "cloth", "size": [1, 1], "position": [0, 0, 0], "element_size": 0.1}
BLOCK = {"type": "soft_body", "shape": {"type": "box", "size": [1, 1, 1]}, "position": [0, 0, 0], "element_size": 0.2}
ROPE = {"type": "rope", "position": [0, 0, 0], "end": [1, 0, 0], "element_size": 0.1}


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({**SHEET, "tear": {"stretch": 1.0}}, "objects.it.tear.stretch = 1.0: must be above 1, the stretch of what is"),
        ({**SHEET, "tear": {"stretch": "a"}}, "objects.it.tear.stretch = 'a': must be a number"),
        ({**SHEET, "tear": {"stretch": float("nan")}}, "objects.it.tear.stretch = nan: must be a finite number"),
        ({**BLOCK, "tear": {"stress": 0.0}}, "objects.it.tear.stress = 0.0: must be positive; give a number in Pa"),
        ({**BLOCK, "tear": {"stress": -1.0}}, "objects.it.tear.stress = -1.0: must be positive; give a number in Pa"),
        ({**BLOCK, "tear": {}}, "objects.it.tear: has no limit; give stretch, such as 1.5, or, for a soft_body"),
        ({**BLOCK, "tear": {"stretch": 1.5, "stress": 1e4}}, "objects.it.tear: stretch and stress are both given"),
        ({**SHEET, "tear": {"stress": 1e4}}, "objects.it: tear.stress = 10000: a sheet has no stress of its own"),
        ({**ROPE, "tear": {"stress": 1e4}}, "objects.it: tear.stress = 10000: a rope has no stress of its own"),
        (
            {**BLOCK, "shape": {"type": "sphere", "radius": 0.5}, "embed": True, "tear": {"stretch": 1.5}},
            "objects.it: tear: a surface that elements carry does not tear with them; remove embed, or tear",
        ),
        ({**BLOCK, "incompressible": True, "tear": {"stress": 1e4}}, "objects.it: tear.stress: the pressure that"),
    ],
)
def test_limits_that_make_no_sense_are_refused(item: dict[str, Any], message: str) -> None:
    with pytest.raises(ut.UserError) as caught:
        toml.scene_from_dict({"name": "bad", "time": {"end": 1.0}, "objects": {"it": item}}, "test")
    assert message in str(caught.value)


def ring_in(water: bool) -> ut.Scene:
    """A ring of rope full of fluid, pulled at two places until it tears."""
    holds = tuple(
        ut.Hold(
            shape=ut.Box(size=(0.03, 0.1)), position=(0.5 + 0.2 * side, 0.5),
            motion=ut.PrescribedVelocity(linear=(0.5 * side, 0.0)),
        )
        for side in (-1.0, 1.0)
    )  # fmt: skip
    ring = ut.Rope(
        outline="ring", position=(0.3, 0.5), end=(0.7, 0.5), element_size=0.06, density=1.0, stretching=2000.0,
        holds=holds, tear={"stretch": 1.1},
    )  # fmt: skip
    pool = {"pool": ut.Water(shape=ut.Plane(normal=(0, 1)), position=(0.5, 0.55))} if water else {}
    sides = {"y_high": "open"} if water else {}
    domain = ut.Domain(upper=(1.0, 1.0), resolution=16, sides=sides)
    return scene_of({**pool, "ring": ring}, coupling="monolithic", domain=domain)


@pytest.mark.parametrize("water", [False, True], ids=["tank", "water"])
def test_a_closed_shell_that_tears_holds_nothing_any_longer(water: bool, tmp_path: Path) -> None:
    sim = ut.Simulation(ring_in(water), threads=1)
    first = sim.step()
    assert first.ledger["enclosed_volume"] == pytest.approx(0.124, rel=0.02)
    sim.save(tmp_path / "before.h5")
    resumed = ut.load(tmp_path / "before.h5", threads=2)
    report = until_torn(sim)
    assert report.ledger["enclosed_volume"] == 0.0
    volume = first.ledger["fluid_volume"]
    until_torn(resumed)
    sim.save(tmp_path / "after.h5")
    for one in (sim, resumed, ut.load(tmp_path / "after.h5", threads=1)):
        for _ in range(3):
            last = one.step()
        assert last.ledger["fluid_volume"] == pytest.approx(volume, rel=0.03 if water else 1e-12)
        assert last.ledger["enclosed_volume"] == 0.0
        if one is not sim:
            same(sim, one)


def test_smoke_that_a_closed_shell_held_stays_as_much_when_it_tears(tmp_path: Path) -> None:
    """In a tank that is sealed: its mass is what it was, and some of it is where the shell kept it from being."""
    ring = dict(ring_in(water=False))
    puff = ut.Emitter(shape=ut.Sphere(radius=0.16), position=(0.5, 0.5), density=1.0, stop=0.001)
    smoke = ut.Smoke(buoyancy_density=0.0, buoyancy_temperature=0.0)
    sim = ut.Simulation(ut.Scene(**{**ring, "smoke": smoke, "objects": {**ring["objects"], "puff": puff}}), threads=1)
    start = sim.step().ledger["smoke_mass"]
    until_torn(sim)
    sim.save(tmp_path / "torn.h5")
    resumed = ut.load(tmp_path / "torn.h5", threads=1)
    for one in (sim, resumed):
        last = one.advance_to(0.4)
        assert last is not None and last.ledger["smoke_mass"] == pytest.approx(start, rel=1e-12)
    same(sim, resumed)
    x, y = np.meshgrid((np.arange(16) + 0.5) / 16, (np.arange(16) + 0.5) / 16)
    beyond = np.hypot(x - 0.5, y - 0.5) > 0.27
    assert sim.field("smoke").reshape(16, 16)[beyond].sum() / 256 > 0.01 * start


def test_a_tear_in_fluid_keeps_the_momentum_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    sim, made = ut.Simulation(ring_in(water=True), threads=1), []
    remake = ut.Simulation.remake

    def row_of(one: ut.Simulation) -> dict[str, float]:
        with one.scheme.synchronised():
            return one.ledger.row()

    def watched(one: ut.Simulation, table: Any) -> None:
        remake(one, table)
        made.append(row_of(one))

    monkeypatch.setattr(ut.Simulation, "remake", watched)
    while not made:
        before = row_of(sim)
        sim.step()
    for after in made:
        for name in ("momentum_x", "momentum_y", "momentum_solids_x", "kinetic_energy", "fluid_volume"):
            assert after[name] == pytest.approx(before[name], rel=1e-12, abs=1e-12), name


def test_the_ball_of_the_gallery_falls_through_the_sheet() -> None:
    sim = ut.Simulation(ut.scene("cloth-tear", set={"objects.sheet.element_size": 0.1}), threads=1)
    sim.advance_to(0.6)
    torn = sim.ledger.row()["torn"]
    assert torn > 5 and sim.body("ball").position[1] < -0.4
    assert sim.nodes("sheet").position[:, 1].max() < 0.2


def test_the_balloon_of_the_gallery_bursts_and_its_water_spills() -> None:
    scene = ut.scene("balloon-burst", resolution=12, set={"objects.balloon.element_size": 0.08})
    sim = ut.Simulation(scene, threads=1)
    start = sim.step().ledger
    until_torn(sim)
    last = sim.advance_to(0.1)
    assert last is not None and last.ledger["enclosed_volume"] == 0.0 < start["enclosed_volume"]
    volumes = [row["fluid_volume"] + row["spray_volume"] for row in (start, last.ledger)]
    assert volumes[1] == pytest.approx(volumes[0], rel=0.05)
    x, _, _ = sim.surface().vertices.T
    assert np.ptp(x) > 0.38
