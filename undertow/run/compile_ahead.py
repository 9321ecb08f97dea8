"""Kernels compiled by a second process while the first one starts.

Numba compiles one kernel at a time in a process, and the first run of a scene in which water and bodies move each other
compiles more than 300 of them. Such a scene builds its bodies first and its water after them. So a second process runs
the water on a small grid at the same time, with the bodies moving as prescribed, parts two balls that overlap, which
the first process does late, draws a picture and writes a report, and leaves its kernels in the cache, where the first
process finds them when it gets there.

Nothing depends on it: whatever goes wrong there, the first process compiles by itself what it does not find. When it
has been done for the present sources and this kind of scene, a note beside the kernels says so and it is left out.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from undertow.run.kernel_cache import PACKAGE, package_folder, source_stamp
from undertow.scene import Domain, RigidBody, Scene, toml

CELLS = 16
"""Along the main side of the small grid: enough for the levels of multigrid."""

FRAMES = 2


@contextmanager
def compiling_ahead(scene: Scene, threads: int | None) -> Iterator[None]:
    """While the block runs, a second process compiles what the scene needs, if that is of use."""
    process = _start(scene) if is_of_use(scene, threads) else None
    try:
        yield
    finally:
        if process is not None:
            process.kill()
            process.wait()


def is_of_use(scene: Scene, threads: int | None) -> bool:
    """Water with bodies that it moves, more than one core to use, and not done before."""
    cores = threads or os.cpu_count() or 1
    moved = any(body.is_dynamic for body in scene.bodies.values())
    return cores > 1 and scene.has_surface and moved and not done_note(scene).exists()


def done_note(scene: Scene) -> Path:
    """The file that says that the kernels of such scenes have been compiled from the present sources."""
    kinds = {f"{type(item).__name__} {type(getattr(item, 'shape', None)).__name__}" for item in scene.objects.values()}
    fluid = scene.fluid
    chosen = (scene.dimensions, scene.coupling, fluid.advection, fluid.viscosity > 0.0, sorted(kinds))
    key = hashlib.sha256(f"{source_stamp(PACKAGE, Path(__file__).resolve())} {chosen}".encode()).hexdigest()[:16]
    return package_folder(PACKAGE, Path(os.environ["NUMBA_CACHE_DIR"])) / f"ahead-{key}"


def small_scene(scene: Scene) -> Scene:
    """The scene on few cells and for few frames, its bodies moving as prescribed."""
    data = toml.scene_to_dict(scene)
    for key in ("coupling", "rigid_fluid", "solids", "probes"):
        data.pop(key, None)
    data["domain"]["resolution"] = CELLS
    data["time"]["end"] = FRAMES / scene.time.frame_rate
    for name in scene.joints:
        del data["objects"][name]
    for name, body in scene.bodies.items():
        if body.is_dynamic:
            data["objects"][name] = _prescribed(body, scene.need_domain())
    return toml.scene_from_dict(data)


def _prescribed(body: RigidBody, domain: Domain) -> dict[str, object]:
    """The body on its way down with a given velocity, from inside the domain."""
    kept = body.model_dump(mode="json", include={"type", "shape", "rotation"}, exclude_none=True)
    ends = zip(domain.lower, body.position, domain.upper, strict=False)
    place = [min(max(low, x), high) for low, x, high in ends]
    return {**kept, "position": place, "motion": {"type": "velocity", "linear": [0.0, -0.1, 0.0][: len(place)]}}


def _start(scene: Scene) -> subprocess.Popen[bytes] | None:
    environment = {**os.environ, "NUMBA_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "undertow.run.compile_ahead"]
    quiet = subprocess.DEVNULL
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, env=environment)
    except OSError:
        return None
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as pipe:
        pipe.write(toml.write(scene).encode())
    return process


def compile_kernels(scene: Scene) -> None:
    """Run the small scene into a temporary folder, part solids, draw it, and leave the note that it has been done."""
    from undertow.output.render import render
    from undertow.output.report import write_report
    from undertow.run.simulation import Simulation

    with tempfile.TemporaryDirectory() as folder:
        run = Simulation(small_scene(scene), threads=1).run(Path(folder) / "run")
        part_two_balls()
        render(run.folder, width=64)
        write_report(run.folder)
    done_note(scene).touch()


def part_two_balls() -> None:
    """Two balls that overlap are pushed apart: a run does that when bodies have come into each other, long after its
    first contact, and its kernels are independent of the shapes."""
    from undertow.geometry import Sphere
    from undertow.solids import SolidsWorld

    world = SolidsWorld()
    for name, x in (("one", 0.0), ("other", 1.5)):
        world.add(name, Sphere(1.0), (x, 0.0, 0.0), density=1.0)
    world.solids.part()


def _end_with(parent: int) -> None:
    """End this process when its parent has ended."""
    while os.getppid() == parent:
        time.sleep(0.1)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    compile_kernels(toml.read(sys.stdin.read()))
