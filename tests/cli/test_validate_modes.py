"""``undertow validate`` lists, begins, breaks and resumes its cases."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import undertow as ut
from undertow.benchmarks import poisson, water_step
from undertow.cli import app
from undertow.errors import PhysicsError
from undertow.geometry import Sphere
from undertow.solids import SolidsWorld
from undertow.validation import broken, kept, runner, smoke, stepping, targets
from undertow.validation.analysis import extrapolate, quantity


def call(*arguments: object) -> Result:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line, parse_constant=pytest.fail) for line in result.stdout.splitlines()]


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Cases 'one' and 'two' with a bound each; what they do is in the table."""
    table: dict[str, Any] = {"one": lambda: iter([quantity("q", 1.0)]), "two": lambda: iter([quantity("q", 1.0)])}

    def load(name: str) -> SimpleNamespace:
        def run(*_: object, **__: object) -> Iterator[dict[str, Any]]:
            table.setdefault("ran", []).append(name)
            return iter(table[name]())

        return SimpleNamespace(run=run, **table.get("module", {}))

    monkeypatch.setattr(runner, "known", lambda _: {"one": "one", "two": "two"})
    monkeypatch.setattr(runner, "importlib", SimpleNamespace(import_module=load))
    monkeypatch.setattr(smoke, "known", lambda _: {"one": "one", "two": "two"})
    monkeypatch.setattr(smoke, "importlib", SimpleNamespace(import_module=load))
    goals = {name: {"q": {"max": 2.0}} for name in ("one", "two")}
    monkeypatch.setattr(targets, "load_targets", lambda: {"validate": goals, "bench": goals})
    return table


# list -----------------------------------------------------------------------------------------------------------------


def test_list_names_every_case_with_what_it_judges_its_form_and_cost() -> None:
    cards = lines(call("validate", "--list", "--json"))
    assert [card["name"] for card in cards] == list(runner.known("validate"))
    for card in cards:
        assert card["judges"] and card["form"], card["name"]
    arch = next(card for card in cards if card["name"] == "arch")
    assert "arch of 15 stones" in arch["judges"] and "with full" in arch["form"] and arch["cost"].endswith("s")
    assert "arch of 15" in " ".join(call("validate", "--list").stdout.split())


def test_modes_exclude_each_other() -> None:
    result = call("validate", "--list", "--smoke")
    assert result.exit_code == 2 and "each does something else" in result.stderr
    result = call("validate", "--smoke", "nope")
    assert result.exit_code == 2 and "neither a case nor a benchmark 'nope'" in result.stderr
    for command in ("validate", "bench"):
        result = call(command, "--all", "arch" if command == "validate" else "poisson")
        assert result.exit_code == 2 and "leave out the one or the other" in result.stderr


# smoke ----------------------------------------------------------------------------------------------------------------


@pytest.mark.timeout(1200)  # cold kernels on a slow machine
def test_every_case_begins() -> None:
    """Two steps of every case, in a process of its own: its kernels are not those of the test run."""
    command = [sys.executable, "-m", "undertow", "validate", "--smoke", "--json", *runner.known("validate")]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    found = [line for line in found if line["detail"]["kind"] == "validate"]  # a bench may have the name of a case
    assert [line["case"] for line in found] == list(runner.known("validate")), done.stderr
    failed = [f"{line['case']}: {line['detail']['error']}" for line in found if not line["passed"]]
    assert done.returncode == 0 and not failed, "\n".join(failed)


def test_benchmarks_that_end_before_their_time_are_not_taken_for_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """All benchmarks are begun in a process beside that of the cases; here it knows none of that name."""
    monkeypatch.setattr(runner, "known", lambda kind: {"nope": "nope"} if kind == "bench" else {})
    result = call("validate", "--smoke", "--json")
    assert result.exit_code == 1 and "the benchmarks ended after 0 of 1" in result.stderr


def test_smoke_takes_two_steps_and_comes_to_the_lines_that_measure(made_up: dict[str, Any]) -> None:
    seen = []

    def run() -> Iterator[dict[str, Any]]:
        world = SolidsWorld()
        world.add("ball", Sphere(0.1), density=1.0)
        for _ in range(10):
            world.step(0.1)
        seen.append((world.time, float(world.bodies.v_b[0, 1])))
        yield quantity("q", 9.0)

    made_up["one"] = run
    (line,) = smoke.smoke("validate", ["one"], print)
    assert line["passed"] and line["detail"]["steps"] == 2 and line["detail"]["skipped"] == 8
    assert line["detail"]["quantities"] == 1
    ((time, speed),) = seen
    assert time == pytest.approx(1.0) and speed == pytest.approx(-0.2 * 9.81)


def test_smoke_finds_a_traceback_after_the_steps(made_up: dict[str, Any]) -> None:
    made_up["one"] = lambda: iter([quantity("q", np.zeros(3).no_such_name)])
    made_up["two"] = lambda: iter([quantity("stray", 1.0)])
    first, second = smoke.smoke("validate", ["one", "two"], print)
    assert not first["passed"] and "AttributeError" in first["detail"]["error"]
    assert not second["passed"] and "'stray' has no target" in second["detail"]["error"]


def test_smoke_makes_constants_smaller_and_puts_them_back(
    made_up: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = SimpleNamespace(SIZE=100, SMOKE={"SIZE": 3}, run=lambda full: iter([quantity("q", float(module.SIZE))]))
    monkeypatch.setattr(smoke, "importlib", SimpleNamespace(import_module=lambda _: module))
    monkeypatch.setattr(smoke, "_check", lambda kind, name, found: sizes.append(found["measured"]))
    sizes: list[float] = []
    assert all(line["passed"] for line in smoke.smoke("validate", ["one"], print))
    assert sizes == [3.0] and module.SIZE == 100


def test_a_case_that_never_measures_is_not_begun(made_up: dict[str, Any]) -> None:
    def run() -> Iterator[dict[str, Any]]:
        world = SolidsWorld()
        while True:
            world.step(0.1)
        yield quantity("q", 1.0)

    made_up["one"] = run
    (line,) = smoke.smoke("validate", ["one"], print)
    assert not line["passed"] and "no quantity within" in line["detail"]["error"]


def test_simulations_begin_on_a_coarse_grid() -> None:
    scene = ut.scene("lid-cavity", resolution=64)
    seen = smoke._Few()
    with smoke._coarse(seen, True), stepping.hooked(seen):
        sim = ut.Simulation(scene, threads=1)
        assert sim.grid is not None and max(sim.grid.cells) == smoke.CELLS[2]
        first = sim.step().time
        sim.step()
        sim.advance_to(3.0)
    assert (seen.taken, seen.skipped > 0, sim.time) == (2, True, 3.0) and first < 3.0
    assert max(ut.Simulation(scene, threads=1).grid.cells) == 64  # type: ignore[union-attr]


# errors ---------------------------------------------------------------------------------------------------------------


def test_a_case_that_ends_in_a_traceback_has_failed_and_the_next_one_runs(made_up: dict[str, Any]) -> None:
    made_up["one"] = lambda: (quantity("q", float({}[n]) if n else 1.0) for n in range(2))
    result = call("validate", "--json")
    first, completed, second = lines(result)
    assert result.exit_code == 1 and first["passed"] and second["passed"] and second["case"] == "two"
    assert completed["quantity"] == "completed" and "KeyError" in completed["detail"]["error"]


# resume ---------------------------------------------------------------------------------------------------------------


def test_resume_goes_on_where_it_stopped(
    made_up: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def stop() -> Iterator[dict[str, Any]]:
        yield quantity("q", 1.0)
        raise KeyboardInterrupt

    made_up["two"] = stop
    assert call("validate", "--all").exit_code == 130
    store = kept.Kept()
    assert [line["case"] for line in store.lines()] == ["one"]
    with store.path.open("a") as file:
        file.write('{"case": "two", "quan')  # the machine went down
    made_up["two"] = lambda: iter([quantity("q", 3.0)])
    made_up["ran"] = []
    result = call("validate", "--all", "--resume", "--json")
    assert made_up["ran"] == ["two"] and "1 of 2 are kept, 1 are left" in result.stderr
    first, second = lines(result)
    keys = {"case", "quantity", "measured", "reference", "error", "tolerance", "passed", "seconds", "detail"}
    assert set(first) == set(second) == keys and result.exit_code == 1 and not second["passed"]
    (line,) = store.done("validate", "quick")["two"]
    assert line["sources"] == kept.sources_hash() and line["form"] == "quick" and line["date"][:2] == "20"
    made_up["ran"] = []
    call("validate", "--all", "--resume", "--full")
    assert made_up["ran"] == ["one", "two"]  # another form
    call("validate", "--all")
    assert len(store.done("validate", "quick")["one"]) == 1  # of two runs the last one


def test_nothing_is_kept_of_cases_by_name(
    made_up: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("validate", "one").exit_code == 0 and list(tmp_path.iterdir()) == []


def test_the_hash_is_that_of_the_sources_alone(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    first = kept.sources_hash(tmp_path)
    (tmp_path / "README.md").write_text("words\n")
    kept.sources_hash.cache_clear()
    assert kept.sources_hash(tmp_path) == first
    (tmp_path / "b.toml").write_text("y = 2\n")
    kept.sources_hash.cache_clear()
    assert kept.sources_hash(tmp_path) != first
    assert kept.commit_of(tmp_path) == "-"


# benchmarks without their peer ----------------------------------------------------------------------------------------


def test_a_benchmark_without_its_peer_is_neither_passed_nor_failed(made_up: dict[str, Any]) -> None:
    said = {"quantity": "q", "measured": None, "compared": False, "against": "not compared: x"}
    made_up["one"] = lambda: iter([said])
    result = call("bench", "one", "--json", "--threads", 1)
    (line,) = lines(result)
    assert result.exit_code == 0 and line["passed"] is None and line["ratio"] is None and line["bound"] == 2.0
    assert line["against"] == "not compared: x"
    made_up["one"] = lambda: iter([{"quantity": "q", "measured": None}])
    assert call("bench", "one", "--threads", 1).exit_code == 1


def test_poisson_and_water_step_say_that_they_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyamg", None)
    found = poisson.compare(8, 1.0)
    assert found["ratio"] is None and found["compared"] is False and "pyamg is not in this run" in found["against"]
    monkeypatch.setattr(water_step, "SIZES", (12,))
    monkeypatch.setattr(water_step, "TIMED", 1)
    rows = {row["quantity"]: row for row in water_step.run(1)}
    assert rows["seconds_per_frame_12"]["measured"] > 0.0
    assert rows["speedup_12"]["measured"] is None and rows["speedup_12"]["compared"] is False


# broken ---------------------------------------------------------------------------------------------------------------


def fall(steps: int = 10) -> Iterator[dict[str, Any]]:
    """Speed after a second of fall over g t."""
    world = SolidsWorld()
    world.add("ball", Sphere(0.1), density=1000.0)
    for _ in range(steps):
        world.step(1.0 / steps)
    yield quantity("speed", -float(world.bodies.v_b[0, 1]) / 9.81)


@pytest.fixture
def falling(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A case 'fall' with a broken.py that the test fills."""
    module = SimpleNamespace(DEFECTS={}, small=fall)
    monkeypatch.setattr(runner, "known", lambda _: {"fall": "made.fall.case"})
    loaded = SimpleNamespace(import_module=lambda _: module, util=SimpleNamespace(find_spec=lambda _: module))
    monkeypatch.setattr(broken, "importlib", loaded)
    goals = {"validate": {"fall": {"speed": {"reference": 1.0, "within": 0.01}}}}
    monkeypatch.setattr(targets, "load_targets", lambda: goals)
    return module


def test_defects_that_a_case_sees_pass_and_one_that_it_does_not_fails(falling: SimpleNamespace) -> None:
    falling.DEFECTS = {
        "frozen": broken.frozen(),
        "half the weight": broken.world(gravity=(0.0, -4.905, 0.0)),
        "momentum lost": broken.momentum_lost(0.1),
        "a heavier ball": broken.world_bodies(friction=0.9),
    }
    result = call("validate", "--broken", "fall", "--json")
    sound, *found = lines(result)
    assert sound["quantity"] == "sound" and sound["passed"] and sound["detail"]["passed"]["speed"] == pytest.approx(1.0)
    assert [line["passed"] for line in found] == [True, True, True, False] and result.exit_code == 1
    assert found[0]["quantity"] == "broken: frozen" and found[0]["detail"]["failed"]["speed"] == pytest.approx(0.1)
    assert found[3]["measured"] == 0.0 and found[3]["detail"]["values"]["speed"] == pytest.approx(1.0)


def test_a_sound_case_that_passes_nothing_finds_no_defect(falling: SimpleNamespace) -> None:
    falling.small = lambda: iter([quantity("speed", 0.5)])
    falling.DEFECTS = {"frozen": broken.frozen()}
    sound, found = broken.check(["fall"], print)
    assert not sound["passed"] and not found["passed"]


def test_a_mistake_in_a_defect_is_not_taken_for_a_finding(falling: SimpleNamespace) -> None:
    def raising(error: Exception) -> broken.Defect:
        def make(_: Any) -> Any:
            def step(*args: Any, **kwargs: Any) -> Any:
                raise error

            return step

        return broken.replaced(SolidsWorld, "step", make)

    falling.DEFECTS = {"a slip": raising(AttributeError("no x_c")), "blows up": raising(PhysicsError("infinite"))}
    _, slip, blown = broken.check(["fall"], print)
    assert not slip["passed"] and "no x_c" in slip["detail"]["error"]
    assert blown["passed"] and "infinite" in blown["detail"]["ended"]


def test_a_case_without_defects_has_not_passed(falling: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broken, "importlib", SimpleNamespace(util=SimpleNamespace(find_spec=lambda _: None)))
    (line,) = broken.check(["fall"], print)
    assert not line["passed"] and "no broken.py" in line["detail"]["error"]


def test_defects_of_scenes_reach_the_simulation_and_leave_with_their_context() -> None:
    scene = ut.scene("lid-cavity", resolution=8)
    defects = (
        broken.fluid(viscosity=2.0),
        broken.gravity(0.0),
        broken.objects("RigidBody", density=lambda d: 2 * d),
        broken.fluid_with(advection="none"),
    )
    with broken.together(*defects)():
        sim = ut.Simulation(scene, threads=1)
    assert sim.scene.fluid.viscosity == 2.0 * scene.fluid.viscosity and sim.scene.fluid.advection == "none"
    assert ut.Simulation(scene, threads=1).scene.fluid.viscosity == scene.fluid.viscosity
    with broken.sampled("pressure", 0.0)():
        assert np.all(sim.sample("pressure", [(0.5, 0.5)]) == 0.0)


BROKEN = sorted(path.parent.name for path in (Path(broken.__file__).parent).glob("*/broken.py"))


@pytest.mark.parametrize("folder", BROKEN)
def test_every_broken_file_has_two_defects_or_more(folder: str) -> None:
    module = importlib.import_module(f"undertow.validation.{folder}.broken")
    assert len(module.DEFECTS) >= 2 and all(callable(defect) for defect in module.DEFECTS.values())


# analysis -------------------------------------------------------------------------------------------------------------


def test_extrapolation_finds_limit_and_order() -> None:
    sizes = (41, 82, 123)
    limit, order = extrapolate(sizes, [2.0 - 30.0 * n**-1.5 for n in sizes])
    assert limit == pytest.approx(2.0, abs=1e-9) and order == pytest.approx(1.5, abs=1e-9)
    assert all(np.isnan(extrapolate(sizes, [1.0, 1.1, 1.3]))) and all(np.isnan(extrapolate(sizes, [1.0, 1.0, 1.0])))
