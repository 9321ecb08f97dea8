"""The command line: every command answers, every mistake is one message and the right exit status."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import undertow
from undertow.cli import app
from undertow.errors import PhysicsError
from undertow.run.driver import Progress
from undertow.run.progress import ProgressBar
from undertow.validation import runner as judge_runner
from undertow.validation import targets

TINY = Path(__file__).parents[1] / "run" / "tiny.toml"


def call(*arguments: object) -> Result:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def fails(status: int, *arguments: object) -> str:
    """The one message of a command that fails."""
    result = call(*arguments)
    assert result.exit_code == status, result.output
    assert "Traceback" not in result.stderr and result.stdout == ""
    return result.stderr


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("cli") / "run"
    result = call("run", TINY, "--frames", 2, "--out", out, "--no-preview", "--threads", 1)
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == str(out) and "frame 2/2: t = 0.1 s" in result.stderr
    return out


def test_version_and_scenes_start_quickly_without_numba() -> None:
    program = "import sys; from undertow.cli import app; app(sys.argv[1:], standalone_mode=False); print(*sys.modules)"
    for arguments in (["--version"], ["scenes"]):
        done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
        assert not {"numba", "scipy", "h5py", "matplotlib"} & set(done.stdout.split())
        assert undertow.__version__ in done.stdout or "lid-cavity" in done.stdout


def test_module_entry_point() -> None:
    done = subprocess.run([sys.executable, "-m", "undertow", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"undertow {undertow.__version__}\n"


def test_scenes_and_info() -> None:
    listed = call("scenes").stdout
    assert "vortex-street" in listed and "5.11.4" in listed and "minutes" in listed
    assert call("scenes", "--quiet").stdout.split() == sorted(undertow.scene.gallery_names())
    told = call("info", "--threads", 1).stdout
    assert "numba" in told and "1 of" in told and "extra view" in told


def test_a_fracture_pattern_is_drawn(tmp_path: Path) -> None:
    """Another seed gives another picture; mistakes are said in one line."""
    one, two = tmp_path / "one.png", tmp_path / "two.png"
    for picture, seed in ((one, 1), (two, 2)):
        arguments = ["voronoi", "--seed", seed, "--pieces", 5, "--dimensions", 2, "--width", 96, "--out", picture]
        told = call("fracture-pattern", *arguments, "--threads", 1)
        assert told.exit_code == 0 and told.stdout.strip() == str(picture), told.output
        assert "voronoi: 5 regions, which fill 100%" in told.stderr
    assert one.read_bytes() != two.read_bytes()
    folder = tmp_path / "mine"
    folder.mkdir()
    for message, *arguments in (
        ("'stars': there is no such pattern; choose one of radial", "stars"),
        ("seed = -3: must be a whole number", "radial", "--seed=-3"),
        ("pieces = 1: must be a whole number from 2", "radial", "--pieces", 1),
        ("dimensions = 5: must be 2 or 3", "radial", "--dimensions", 5),
        ("is a .png file", "radial", "--out", tmp_path / "one.pdf"),
        ("--width 3: must be from 64", "radial", "--width", 3),
        ("0 mesh(es): a pattern needs at least two", folder),
    ):
        assert message in fails(2, "fracture-pattern", *arguments)


def test_run_overrides(tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ["--resolution", 12, "--frames", 1, "--set", "fluid.density=2", "--coupling", "none", "--no-preview"]
    assert call("run", TINY, *arguments, "--out", out, "--quiet", "--threads", 1).stderr == ""
    scene = undertow.Run(out).scene
    assert scene.domain.resolution == 12 and scene.fluid.density == 2.0 and scene.time.frames == 1


def test_resume_of_a_complete_run(run: Path) -> None:
    assert "the run is complete" in fails(2, "resume", run)
    result = call("resume", run, "--frames", 1, "--no-preview", "--threads", 1, "--quiet")
    assert result.exit_code == 0 and undertow.Run(run).frames == [0, 1, 2, 3]


def test_mistakes(run: Path, tmp_path: Path) -> None:
    assert "did you mean 'lid-cavity'" in fails(2, "run", "lid-cavty")
    assert "fluid.density = -1: must be positive" in fails(2, "run", "lid-cavity", "--set", "fluid.density=-1")
    assert "unknown coupling" in fails(2, "run", "lid-cavity", "--coupling", "magic")
    assert "--threads 999: must be between" in fails(2, "run", "lid-cavity", "--threads", 999)
    assert "exists already and is not overwritten" in fails(2, "run", TINY, "--out", run)
    assert "TB of memory" in fails(2, "run", "smoke-sphere", "--resolution", 30000)
    assert "must be at least 1" in fails(2, "run", "lid-cavity", "--resolution", 0)
    for name in ("resume", "view", "render", "plot"):
        assert "does not exist" in fails(2, name, tmp_path / "none")
        assert "is not a run folder" in fails(2, name, tmp_path)
    assert "'nope'" in fails(2, "validate", "nope")
    assert "there is no case 'nope'" in fails(2, "bench", "nope")
    assert fails(2, "export", run, "--to", "abc")
    assert call("frobnicate").exit_code == 2 and call("run").exit_code == 2


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below folder with its bytes, and every folder."""
    found = sorted(folder.rglob("*"))
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else b"folder" for p in found}


BALL = "objects.ball.shape="
BODY = "type='rigid_body', shape={type='sphere', radius=0.1}"
BAD_INPUT: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "unknown key": (
        ["run", "TINY", "--set", "objects.ball.shape.raduis=0.1"],
        ("objects.ball.shape: unknown key 'raduis'", "did you mean 'radius'?"),
    ),
    "wrong type": (
        ["run", "TINY", "--set", "domain.resolution='many'"],
        ("domain.resolution = 'many': must be a whole number",),
    ),
    "wrong unit": (
        ["run", "TINY", "--set", "objects.ball.shape.radius='10 cm'"],
        ("objects.ball.shape.radius = '10 cm': must be a number in m",),
    ),
    "negative density of the fluid": (
        ["run", "TINY", "--set", "fluid.density=-1.5"],
        ("fluid.density = -1.5: must be positive", "kg/m3"),
    ),
    "negative density of a body": (
        ["run", "TINY", "--set", "objects.ball.density=-7"],
        ("objects.ball.density = -7: must be positive", "kg/m3"),
    ),
    "solid at rest outside the domain": (
        ["run", "lid-cavity", "--set", f"objects.post={{{BODY}, position=[9, 8]}}"],
        ("objects.post.position = [9.0, 8.0]: wholly outside the domain",),
    ),
    "moving solid outside the domain": (
        ["run", "TINY", "--set", "objects.ball.position=[9, 9]"],
        ("objects.ball: outside the domain during the whole run",),
    ),
    "mesh not watertight": (
        ["run", "smoke-sphere", "--resolution", "8", "--set", f"{BALL}{{type='mesh', file='HERE/open.obj'}}"],
        ("objects.ball.shape: mesh open.obj: not watertight: 4 open edges of 8", "close the holes"),
    ),
    "mesh unreadable": (
        ["run", "smoke-sphere", "--resolution", "8", "--set", f"{BALL}{{type='mesh', file='HERE/broken.ply'}}"],
        ("objects.ball.shape: mesh broken.ply: cannot be read",),
    ),
    "mesh missing": (
        ["run", "smoke-sphere", "--resolution", "8", "--set", f"{BALL}{{type='mesh', file='HERE/none.stl'}}"],
        ("objects.ball.shape: mesh", "none.stl", "there is no such file"),
    ),
    "inflow without outflow": (
        ["run", "TINY", "--set", "domain.sides.x_high='wall'"],
        ("domain.sides", "x_low", "an inflow into a closed domain", "'outflow' or 'open'"),
    ),
    "resolution that does not fit in memory": (
        ["run", "smoke-sphere", "--resolution", "30000"],
        ("30000", "TB of memory"),
    ),
    "truncated checkpoint": (
        ["resume", "HERE/run", "--frames", "1", "--no-preview"],
        ("HERE/run/checkpoint/NEWEST: does not match its checksum", "cut short", "delete it to go on"),
    ),
    "run folder that exists": (
        ["run", "TINY", "--out", "HERE/run"],
        ("HERE/run: exists already and is not overwritten",),
    ),
    "full disk at the start": (
        ["run", "TINY", "--out", "HERE/new", "--no-preview", "--threads", "1"],
        ("the disk is full: nothing was kept", "free some space"),
    ),
    "full disk on the way": (
        ["run", "TINY", "--out", "HERE/new", "--no-preview", "--threads", "1"],
        ("the disk is full: the run stopped at t = ", "free some space"),
    ),
    "missing extra": (["view", "HERE/run"], ("view needs the package viser", 'pip install "undertow[view]"')),
}  # fmt: skip


@pytest.mark.parametrize("mistake", BAD_INPUT)
def test_bad_input_is_one_message_and_status_2(
    mistake: str, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line that names the object and the value; every file stays as it was and none is added."""
    from undertow.run import folder

    shutil.copytree(run, tmp_path / "run")
    corners, tent = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\n", "f 1 2 5\nf 2 3 5\nf 3 4 5\nf 4 1 5\n"
    (tmp_path / "open.obj").write_text(corners + tent)
    (tmp_path / "broken.ply").write_bytes(b"ply\nformat ascii 1.0\nelement vertex 3\n")
    newest = max((tmp_path / "run" / "checkpoint").glob("*.h5"))
    if mistake == "truncated checkpoint":
        newest.write_bytes(newest.read_bytes()[:5000])
    elif mistake == "missing extra":
        monkeypatch.setitem(sys.modules, "viser", None)
    elif mistake.startswith("full disk"):
        name = "write_frame" if mistake.endswith("way") else "write_checkpoint"
        written: list[object] = []
        real = getattr(folder, name)

        def write(*arguments: Any, **options: Any) -> Any:
            written.append(arguments)
            if len(written) > 1 or mistake.endswith("start"):
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(*arguments, **options)

        monkeypatch.setattr(folder, name, write)
    monkeypatch.chdir(tmp_path)
    arguments, words = BAD_INPUT[mistake]
    before = tree(tmp_path)

    def fill_in(text: str) -> str:
        return text.replace("HERE", str(tmp_path)).replace("TINY", str(TINY)).replace("NEWEST", newest.name)

    said = fails(2, *map(fill_in, arguments), "--quiet")
    assert said.startswith("undertow: ") and said.count("\n") == 1 and said.endswith("\n"), said
    for word in words:
        assert fill_in(word) in said
    after = tree(tmp_path)
    if mistake == "full disk on the way":
        assert undertow.Run(tmp_path / "new").info["status"] == "stopped"
        after = {name: data for name, data in after.items() if name.split(os.sep)[0] != "new"}
    assert after == before


def test_a_python_scene_with_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text("import undertow as ut\nscene = ut.Sphere(radius=-1)\n")
    assert "s.py: Sphere: radius = -1: must be positive" in fails(2, "run", tmp_path / "s.py")


def test_a_solve_that_fails_ends_the_run_and_leaves_a_checkpoint(tmp_path: Path) -> None:
    out = tmp_path / "run"
    told = fails(1, "run", TINY, "--set", "fluid.tolerance=1e-16", "--out", out, "--quiet", "--no-preview")
    assert told.count("\n") <= 1 and "the true residual no longer falls" in told
    assert "in step 1 from t = 0 s: raise fluid.tolerance = 1e-16 above" in told and "or lower time.max_step" in told
    assert f"Last good checkpoint: {out / 'checkpoint' / '000000.h5'}" in told
    assert (out / "checkpoint" / "000000.h5").is_file()


def test_out_of_memory_and_interrupts_have_their_status(monkeypatch: pytest.MonkeyPatch) -> None:
    from undertow.run import simulation

    for error, status, words in (
        (MemoryError("Unable to allocate 8 GiB"), 2, "out of memory (Unable to allocate 8 GiB); lower the resolution"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (PhysicsError("it blew up"), 1, "it blew up"),
    ):

        def broken(*_: object, error: BaseException = error) -> None:
            raise error

        monkeypatch.setattr(simulation, "Simulation", broken)
        assert words in fails(status, "run", "lid-cavity", "--quiet")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_progress_bar_shows_everything_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Part of what a user looks at: frame, time, step and its limit, iterations, seconds per frame, time left."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    with ProgressBar(quiet=False) as bar:
        bar(Progress(Path("out"), 123, 1200, 10.2534, 0.0123, "side_velocity", 17, 0.123, 9876.0))
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    assert max(len(line) for line in plain.splitlines()) <= 80
    last = " ".join(plain.split("frame 123/1200")[-1].split())
    for field in (
        "━",
        "t = 10.25 s",
        "dt = 0.012 s",
        "(side_velocity)",
        "17 iterations",
        "0.12 s/frame",
        "2:44:36 left",
    ):
        assert field in last, last


# validate and bench ---------------------------------------------------------------------------------------------------


def install(monkeypatch: pytest.MonkeyPatch, kind: str, quantities: list[dict[str, Any]], broken: bool = False) -> None:
    """A case of the name 'made-up' with two targets."""

    def run(*_: object, **__: object) -> Iterator[dict[str, Any]]:
        yield from quantities
        if broken:
            raise PhysicsError("no convergence")

    goals = {
        "order": {"min": 1.9},
        "value": {"reference": 2.0, "within": 0.01},
        "offset": {"reference": 0.0, "absolute": 0.1},
    }
    monkeypatch.setattr(judge_runner, "known", lambda _: {"made-up": "made.up"})
    monkeypatch.setattr(judge_runner, "importlib", SimpleNamespace(import_module=lambda _: SimpleNamespace(run=run)))
    monkeypatch.setattr(targets, "load_targets", lambda: {kind: {"made-up": goals}})


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line, parse_constant=pytest.fail) for line in result.stdout.splitlines()]


def test_validate_prints_json_lines_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        {"case": "made-up", "quantity": "order", "measured": 2.0},
        {"case": "made-up", "quantity": "value", "measured": 2.01, "detail": {"cells": 8}},
        {"case": "made-up", "quantity": "offset", "measured": -0.05},
        {"case": "made-up", "quantity": "ghia", "measured": 1.0, "reference": 1.25, "detail": {"info": True}},
    ]
    install(monkeypatch, "validate", found)
    result = call("validate", "made-up", "--json")
    assert result.exit_code == 0 and "made-up ..." in result.stderr
    order, value, offset, ghia = lines(result)
    keys = {"case", "quantity", "measured", "reference", "error", "tolerance", "passed", "seconds", "detail"}
    assert set(order) == set(value) == set(ghia) == keys
    assert (order["reference"], order["error"], order["tolerance"], order["passed"]) == (1.9, 0.0, 0.0, True)
    assert value["error"] == pytest.approx(0.005) and value["passed"] and value["detail"] == {"cells": 8}
    assert offset["error"] == 0.05 and offset["detail"] == {"absolute": True}
    assert ghia["error"] == pytest.approx(0.2) and ghia["passed"] and ghia["tolerance"] is None
    assert "ghia" in call("validate", "made-up").stdout


def test_validate_out_of_tolerance_is_status_1(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        {"case": "made-up", "quantity": "order", "measured": 1.5},
        {"case": "made-up", "quantity": "value", "measured": float("nan"), "detail": {"worst": float("inf")}},
    ]
    install(monkeypatch, "validate", found, broken=True)
    result = call("validate", "--json")
    order, value, completed, offset = lines(result)
    assert result.exit_code == 1 and "4 of 4 quantities out of tolerance" in result.stderr
    assert order["error"] == pytest.approx(0.4) and not order["passed"]
    assert value["measured"] is None and value["error"] is None and value["detail"] == {"worst": None}
    assert completed["quantity"] == "completed" and "no convergence" in completed["detail"]["error"]
    assert (offset["quantity"], offset["measured"], offset["passed"]) == ("offset", None, False)


def test_validate_misses_quantities_that_the_case_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "validate", [{"quantity": "order", "measured": 2.0}, {"quantity": "value", "measured": 2.0}])
    goals = targets.load_targets()
    result = call("validate", "--json")
    assert result.exit_code == 1 and lines(result)[2]["detail"]["error"] == judge_runner.UNMEASURED
    goals["validate"]["made-up"]["offset"]["full"] = True
    monkeypatch.setattr(targets, "load_targets", lambda: goals)
    assert call("validate", "--json").exit_code == 0
    assert call("validate", "--json", "--full").exit_code == 1


def test_a_quantity_without_target_must_be_information(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "validate", [{"case": "made-up", "quantity": "stray", "measured": 1.0}])
    assert "'stray' has no target and is not marked as information" in fails(2, "validate")


def test_bench_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        {"quantity": "order", "measured": 1.0, "size": "8^3", "seconds_per_step": 0.1},
        {"quantity": "free", "throughput": 3.0, "unit": "cells/s"},
    ]
    install(monkeypatch, "bench", found)
    result = call("bench", "--json", "--threads", 1)
    order, free, value, offset = lines(result)
    assert result.exit_code == 1
    assert not value["passed"] and offset["measured"] is None and offset["detail"] == {"error": judge_runner.UNMEASURED}
    assert set(judge_runner.BENCH_KEYS) <= set(order)
    assert order["bound"] == 1.9 and not order["passed"] and order["threads"] == 1 and order["case"] == "made-up"
    assert free["bound"] is None and free["passed"] and free["unit"] == "cells/s"


def test_a_benchmark_that_fails_has_its_line_and_the_next_one_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "bench", [{"quantity": "order", "measured": 2.0}], broken=True)
    result = call("bench", "--json", "--threads", 1)
    order, completed, *missing = lines(result)
    assert result.exit_code == 1 and order["passed"] and len(missing) == 2
    assert completed["quantity"] == "completed" and not completed["passed"]
    assert completed["detail"]["error"] == "no convergence"


def test_targets_have_known_forms_and_decide_alone() -> None:
    goals = targets.load_targets()
    assert set(goals) == {"validate", "bench"} and "taylor-green" in goals["validate"]
    verdict = targets.judge("lid-cavity-100", "u_min", -0.2140)
    assert verdict["passed"] and verdict["error"] == 0.0
    assert not targets.judge("lid-cavity-100", "u_min", None)["passed"]
    assert targets.judge("poisson", "iterations_128", 20.0, "bench")["passed"]
    assert not targets.judge("poisson", "iterations_128", 21.0, "bench")["passed"]


def test_every_case_and_benchmark_has_targets() -> None:
    goals = targets.load_targets()
    for kind in ("validate", "bench"):
        missing = set(judge_runner.known(kind)) - set(goals[kind])
        assert not missing, f"{kind}: cases without any target: {sorted(missing)}"


def test_the_command_starts_in_a_second_or_so() -> None:
    best = 99.0
    for _ in range(3):
        start = time.monotonic()
        subprocess.run([sys.executable, "-m", "undertow", "--version"], check=True, capture_output=True, env=os.environ)
        best = min(best, time.monotonic() - start)
    assert best < 3.0, f"undertow --version takes {best:.1f} s"
