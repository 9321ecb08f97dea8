"""A second process compiles for scenes of water and bodies; nothing depends on it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from undertow.run import compile_ahead
from undertow.run.assemble_solids import read_table
from undertow.run.build import build_grid, build_solids
from undertow.run.kernel_cache import PACKAGE
from undertow.scene import Scene, find_scene

OTHERS = 4
"""Kernels of no body and no coupling that the coupled scene compiles all the same."""

NEW_KERNELS = """
import sys
import undertow as ut
from numba.core.dispatcher import Dispatcher
from undertow.run.compile_ahead import small_scene
from undertow.scene import find_scene

def overloads():
    modules = [m for n, m in sorted(sys.modules.items()) if n.startswith("undertow.")]
    kernels = {id(d): d for m in modules for d in vars(m).values() if isinstance(d, Dispatcher)}
    return {(d.py_func.__module__, d.py_func.__name__, str(s)) for d in kernels.values() for s in d.overloads}

scene = find_scene("boat-spheres", 12, 1, None, ())
sim = ut.Simulation(small_scene(scene), threads=1)
sim.step(), sim.frame_data()
before = overloads()
sim = ut.Simulation(scene, threads=1)
sim.step(), sim.frame_data()
for module, name, _ in sorted(overloads() - before):
    print(module, name)
"""


def _boat() -> Scene:
    return find_scene("boat-spheres", 12, 1, None, ())


@pytest.fixture
def cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel cache without a note."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_it_is_of_use_once_for_water_with_bodies_and_a_second_core(cold: Path) -> None:
    scene = _boat()
    assert compile_ahead.is_of_use(scene, 2)
    assert not compile_ahead.is_of_use(scene, 1)
    assert not compile_ahead.is_of_use(find_scene("dam-break", 12, 1, None, ()), 2)
    assert not compile_ahead.is_of_use(find_scene("smoke-sphere", 12, 1, None, ()), 2)
    note = compile_ahead.done_note(scene)
    note.parent.mkdir(parents=True)
    note.touch()
    assert not compile_ahead.is_of_use(scene, 2)
    assert compile_ahead.is_of_use(find_scene("boat-spheres", 12, 1, None, ["fluid.viscosity=0.1"]), 2)


@pytest.mark.parametrize("name", ["boat-spheres", "gears-and-bunnies", "catapult"])
def test_small_scenes_have_all_bodies_in_the_domain_and_none_that_is_moved(name: str) -> None:
    scene = find_scene(name, None, None, None, ())
    small = compile_ahead.small_scene(scene)
    grid, _ = build_grid(small)
    solids, _ = build_solids(small, read_table(small), grid)
    assert {solid.name for solid in solids} == set(scene.bodies)
    assert not any(body.is_dynamic for body in small.bodies.values())
    assert max(grid.cells) <= 2 * compile_ahead.CELLS and small.time.frames == compile_ahead.FRAMES


def test_the_small_scene_uses_the_kernels_of_the_water() -> None:
    """What the coupled scene compiles after it belongs to bodies and coupling."""
    done = subprocess.run([sys.executable, "-c", NEW_KERNELS], capture_output=True, text=True, check=True)
    left = [line.split() for line in done.stdout.splitlines()]
    others = [name for module, name in left if module.split(".")[1] not in ("rigid", "solids", "coupling")]
    # distances of shapes as contacts ask for them, products with the rows of bodies
    assert len(left) > 10 and len(others) <= OTHERS, f"{len(left)}: {others}"


PARTING_KERNELS = """
import undertow as ut
from undertow.run.compile_ahead import part_two_balls
from undertow.solids import interpenetration
from undertow.scene import find_scene

part_two_balls()
used = (interpenetration._gather_overlaps, interpenetration._part_bodies, interpenetration._move_bodies)
before = [len(kernel.signatures) for kernel in used]
sim = ut.Simulation(find_scene("boat-spheres", 12, 1, None, ()), threads=1)
sim.scheme.bodies.bodies.x_b[2] = sim.scheme.bodies.bodies.x_b[1]
sim.scheme.bodies.bodies.x_b[2, 0] += 0.05
done, depth = sim.scheme.rigid.solids.part()
print(done, before == [1, 1, 1] == [len(kernel.signatures) for kernel in used])
"""


def test_parting_compiles_what_the_bodies_of_a_scene_use() -> None:
    done = subprocess.run([sys.executable, "-c", PARTING_KERNELS], capture_output=True, text=True, check=True)
    swept, same = done.stdout.split()
    assert int(swept) > 0 and same == "True"


def test_the_process_ends_with_the_block(cold: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = cold / "python"
    script.write_text("#!/bin/sh\nexec sleep 60\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    started: list[Any] = []
    original = subprocess.Popen

    def popen(*args: Any, **kwargs: Any) -> Any:
        started.append(original(*args, **kwargs))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", popen)
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt), compile_ahead.compiling_ahead(_boat(), 2):
        raise KeyboardInterrupt
    assert len(started) == 1 and started[0].returncode == -9
    assert time.monotonic() - begin < 30.0


@pytest.mark.parametrize("program", ["/bin/false", "/no/such/program"])
def test_its_failure_does_not_matter(program: str, cold: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", program)
    with compile_ahead.compiling_ahead(_boat(), 2):
        pass


def test_it_does_not_outlive_its_parent() -> None:
    program = "import os; from undertow.run.compile_ahead import _end_with; _end_with(os.getppid() + 1); print('here')"
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == ""
