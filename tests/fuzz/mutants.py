"""A seeded fuzzer of scenes, meshes and checkpoints: every mutant ends in a result, a UserError or a PhysicsError.

``python tests/fuzz/mutants.py --scenes 1000 --meshes 500 --checkpoints 500 --seed 7`` (``make fuzz`` runs it for hours)
prints every finding with its seed and the mutant, and exits with status 1 when there was one. A finding is any other
exception, a warning of NumPy, a state that is not finite, or a mutant that takes longer than ``PATIENCE``.
"""

from __future__ import annotations

import argparse
import copy
import io
import math
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import undertow as ut
from undertow.errors import PhysicsError, UserError
from undertow.scene import find_scene, gallery_names, toml
from undertow.scene.soft import count_elements

PATIENCE = 60.0
"""Seconds that a mutant may take."""

TINY = Path(__file__).parents[1] / "run" / "tiny.toml"

NUMBERS: tuple[Any, ...] = (
    0, -1, 1, 2, 3, 0.5, -0.5, 1e-300, 1e300, -1e300, 1e-12, 1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9, 1e12, 10**30, 10**400,
    2**63, math.nan, math.inf, -math.inf, True, 1e-15, 0.999999, 64, 7,
)  # fmt: skip
ODD: tuple[Any, ...] = (
    None, "", "a", "a" * 10_000, "\0", "../../etc/passwd", [], {}, [[]], [0], [0, 0], [0, 0, 0], [1, 1],
    [1e9, 1e9, 1e9], [1e-9, 1, 1], ["x", "y"], {"type": "sphere"}, {"type": "box", "size": [1, 1, 1]}, {"type": []},
    [1, 2, 3, 4], False,
)  # fmt: skip


WORDS = (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"nan ", b"1e30", b"-999")
"""Four bytes that are often checked too late."""


class Hang(BaseException):
    """A mutant took longer than ``PATIENCE``."""


@dataclass
class Tally:
    """What became of the mutants of one kind, and the findings in words."""

    kind: str
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def judge(self, label: str, attempt: Callable[[], str]) -> None:
        """Count what an attempt ends in; one that hangs has a second, since kernels may have compiled in the first."""
        try:
            try:
                outcome = _with_patience(attempt)
            except Hang:
                outcome = _with_patience(attempt)
        except UserError as error:
            outcome = "refused"
            if len(str(error)) < 12:
                self.findings.append(f"{label}: a message of no words: {error!r}")
        except PhysicsError:
            outcome = "physics"
        except (Hang, Exception) as error:  # noqa: BLE001  that is what is looked for
            outcome = "FINDING"
            where = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)][-4:]
            self.findings.append(f"{label}: {type(error).__name__}: {str(error)[:200]} at {' '.join(where)}")
            print(self.findings[-1], flush=True)
        self.outcomes[outcome] += 1

    def __str__(self) -> str:
        return f"{self.kind}: {sum(self.outcomes.values())} mutants, {dict(self.outcomes)}"


def _with_patience(attempt: Callable[[], str]) -> str:
    """What the attempt ends in, or Hang."""

    def stop(*_: object) -> None:
        raise Hang

    old = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            return attempt()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old)


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all values inside nested tables and lists."""
    items: Any = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def mutate(data: dict[str, Any], chance: random.Random) -> tuple[dict[str, Any], str]:
    """Tables with one to three values changed, removed, doubled or moved, and what was done in words."""
    data, done = copy.deepcopy(data), []
    for _ in range(chance.choice((1, 1, 2, 3))):
        *path, key = chance.choice(list(places(data)))
        table: Any = data
        for part in path:
            table = table[part]
        value = table[key]
        choice = chance.random()
        if isinstance(value, int | float) and not isinstance(value, bool) and choice < 0.7:
            value = value if abs(value) < 1e200 else 1.0  # another mutation made it huge
            new = chance.choice((*NUMBERS, value * 10 ** chance.randint(-12, 12), -value))
            if chance.random() < 0.6:
                new = value + chance.randint(-1, 2) if isinstance(value, int) else value * chance.uniform(0.3, 3.0)
        elif choice < 0.8:
            new = copy.deepcopy(chance.choice((*NUMBERS, *ODD)))  # else a later mutation changes the constant
        elif choice < 0.9 and isinstance(table, dict):
            table.pop(key)
            done.append(f"{'.'.join(map(str, (*path, key)))} removed")
            continue
        else:
            *other, last = chance.choice(list(places(data)))
            new = data
            for part in (*other, last):
                new = new[part]
            new = copy.deepcopy(new)
        table[key] = new
        done.append(f"{'.'.join(map(str, (*path, key)))} = {str(new)[:60] if new != 10**400 else '10**400'}")
    return data, "; ".join(done)


SMALL = {
    "flow": TINY,
    "water": {
        "name": "water", "time": {"end": 0.1}, "domain": {"upper": [1.0, 1.0], "resolution": 8},
        "objects": {
            "pool": {"type": "water", "shape": {"type": "plane", "normal": [0.0, 1.0]}, "position": [0.5, 0.5]},
            "ball": {"type": "rigid_body", "shape": {"type": "sphere", "radius": 0.2}, "position": [0.5, 0.6],
                     "motion": {"type": "velocity", "linear": [0.0, -0.1], "angular": [0.0, 0.0, 1.0]}},
            "ground": {"type": "rigid_body", "position": [0.5, 0.1],
                       "shape": {"type": "hull", "points": [[-3.0, -2.0], [3.0, -2.0], [3.0, 0.1], [-3.0, 0.0]]}},
        },
    },
    "solids": {
        "name": "solids", "time": {"end": 0.1, "max_step": 0.02}, "gravity": [0.0, -9.81, 0.0],
        "objects": {
            "floor": {"type": "rigid_body", "shape": {"type": "plane", "normal": [0.0, 1.0, 0.0]},
                      "position": [0.0, 0.0, 0.0]},
            "box": {"type": "rigid_body", "shape": {"type": "box", "size": [0.2, 0.3, 0.2]}, "density": 600.0,
                    "position": [0.0, 0.2, 0.0], "friction": 0.4, "restitution": 0.1},
            "ball": {"type": "rigid_body", "shape": {"type": "sphere", "radius": 0.1}, "density": 900.0,
                     "position": [0.05, 0.5, 0.0], "velocity": [0.0, -1.0, 0.0]},
            "nail": {"type": "joint", "kind": "hinge", "child": "ball", "position": [0.3, 0.5, 0.0]},
        },
    },
    "mechanism": {
        "name": "mechanism", "time": {"end": 0.1, "max_step": 0.02}, "gravity": [0.0, -9.81, 0.0],
        "objects": {
            "handle": {"type": "rigid_body", "shape": {"type": "box", "size": [0.1, 0.1, 0.1]},
                       "position": [0.0, 1.0, 0.0], "motion": {"type": "driven"}},
            "arm": {"type": "rigid_body", "position": [0.3, 1.0, 0.0], "density": 700.0, "collision_group": "arms",
                    "collides_with": ["arms"],
                    "loads": [{"type": "force", "force": [0.0, 1.0, 0.0], "at": [0.4, 1.0, 0.0]}],
                    "shape": {"type": "compound", "parts": [
                        {"shape": {"type": "box", "size": [0.4, 0.1, 0.1]}},
                        {"shape": {"type": "sphere", "radius": 0.1}, "position": [0.2, 0.0, 0.0], "density": 100.0}]}},
            "socket": {"type": "joint", "kind": "ball", "parent": "handle", "child": "arm", "position": [0.0, 1.0, 0.0],
                       "axes": {"x": {"lower": -30.0, "upper": 40.0},
                                "z": {"control": {"target": 10.0, "stiffness": 40.0, "damping": 4.0}}}},
        },
    },
    "particles": {
        "name": "particles", "time": {"end": 0.02, "frame_rate": 100.0},
        "domain": {"upper": [1.0, 1.0], "resolution": 8},
        "objects": {"block": {"type": "sph_fluid", "shape": {"type": "box", "size": [0.5, 0.5]},
                              "position": [0.5, 0.5]}},
        "sph": {"viscosity": 0.1, "density": 1000.0},
    },
    "rope": {
        "name": "rope", "time": {"end": 0.1},
        "objects": {"rope": {"type": "rope", "position": [0.0, 1.0, 0.0], "end": [0.5, 1.0, 0.0], "element_size": 0.1,
                             "density": 0.1, "stretching": 100.0, "damping": 0.01}},
    },
}  # fmt: skip
"""Scenes small enough to be built and stepped, one for each kind of model."""


HEAVY = {
    "float": {
        "name": "float", "time": {"end": 0.1}, "coupling": "monolithic",
        "domain": {"upper": [1.0, 1.0, 1.0], "resolution": 8},
        "objects": {
            "pool": {"type": "water", "shape": {"type": "plane", "normal": [0.0, 1.0, 0.0]},
                     "position": [0.5, 0.5, 0.5]},
            "raft": {"type": "rigid_body", "shape": {"type": "box", "size": [0.5, 0.3, 0.4]}, "density": 400.0,
                     "position": [0.5, 0.6, 0.5]},
        },
    },
    "tank": {
        "name": "tank", "time": {"end": 0.1}, "coupling": "monolithic", "fluid": {"density": 1000.0, "viscosity": 1.0},
        "domain": {"upper": [1.0, 1.0, 1.0], "resolution": 8},
        "objects": {"ball": {"type": "rigid_body", "shape": {"type": "sphere", "radius": 0.2}, "density": 2000.0,
                             "position": [0.5, 0.6, 0.5]}},
    },
    "soft": {
        "name": "soft", "time": {"end": 0.1, "max_step": 0.01},
        "objects": {
            "floor": {"type": "rigid_body", "shape": {"type": "plane", "normal": [0.0, 1.0, 0.0]},
                      "position": [0.0, 0.0, 0.0]},
            "block": {"type": "soft_body", "shape": {"type": "box", "size": [0.3, 0.2, 0.3]}, "element_size": 0.1,
                      "position": [0.0, 0.15, 0.0], "youngs_modulus": 2e4, "damping": 0.005},
            "sheet": {"type": "cloth", "size": [0.5, 0.5], "position": [0.0, 0.4, 0.0], "element_size": 0.1},
        },
    },
    "curtain": {
        "name": "curtain", "time": {"end": 0.1}, "coupling": "monolithic", "fluid": {"density": 1.2},
        "domain": {"upper": [1.0, 1.0, 1.0], "resolution": 8},
        "objects": {"sheet": {"type": "cloth", "size": [0.6, 0.6], "position": [0.5, 0.5, 0.5], "element_size": 0.15,
                              "density": 0.3, "damping": 0.002}},
    },
    "spray": {
        "name": "spray", "time": {"end": 0.02, "frame_rate": 100.0}, "coupling": "direct_forcing",
        "domain": {"upper": [1.0, 1.0, 1.0], "resolution": 10},
        "objects": {
            "block": {"type": "sph_fluid", "shape": {"type": "box", "size": [0.6, 0.5, 0.6]},
                      "position": [0.5, 0.25, 0.5]},
            "ball": {"type": "rigid_body", "shape": {"type": "sphere", "radius": 0.2}, "density": 500.0,
                     "position": [0.5, 0.7, 0.5]},
        },
    },
}  # fmt: skip
"""Scenes in 3D of the kinds of model that cost more; the fuzzer leaves them out with ``--light``."""


def small_scenes(heavy: bool = False) -> list[dict[str, Any]]:
    """The tables of the small scenes, with those in 3D when ``heavy``."""
    chosen: dict[str, Any] = {**SMALL, **HEAVY} if heavy else {**SMALL}
    return [toml.read_tables(item) if isinstance(item, Path) else copy.deepcopy(item) for item in chosen.values()]


def fuzz_scenes(count: int, seed: int, step_share: float, tally: Tally, heavy: bool = False) -> None:
    """Mutants of the gallery are read and written; ``step_share`` of all are small scenes that are stepped too."""
    small = small_scenes(heavy)
    for data in small if step_share else ():  # kernels are compiled before the clock of a mutant runs
        ut.Simulation(toml.scene_from_dict(data), threads=1).step()
    whole = [toml.scene_to_dict(find_scene(name)) for name in gallery_names() if not name.startswith("pile")]
    for number in range(count):
        chance = random.Random(f"scene {seed} {number}")
        steps = chance.random() < step_share
        data, label = mutate(chance.choice(small if steps else whole), chance)

        def attempt(data: dict[str, Any] = data, steps: bool = steps) -> str:
            scene = toml.scene_from_dict(data)
            if toml.read(toml.write(scene)) != scene:
                raise AssertionError("the scene is not what it was after writing and reading")
            if not steps:
                return "accepted"
            if scene.domain is not None and scene.domain.resolution > 64:
                return "accepted"  # a large grid: minutes of honest work
            if any(count_elements(item, scene.dimensions) > 50_000 for item in scene.softs.values()):
                return "accepted"  # so are fine meshes
            sim = ut.Simulation(scene, threads=1)
            for _ in range(2):
                report = sim.step()
            if not all(math.isfinite(value) for value in report.ledger.values()):
                raise AssertionError("the ledger is not finite")
            return "stepped"

        tally.judge(f"scene {seed} {number} {data.get('name')}: {label}", attempt)


def damage(data: bytes, chance: random.Random) -> bytes:
    """Bytes with some flipped, removed, doubled or replaced."""
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        at = chance.randrange(len(out)) if out else 0
        kind = chance.randrange(6)
        if kind == 0 and out:
            out[at] ^= 1 << chance.randrange(8)
        elif kind == 1 and out:
            out[at] = chance.randrange(256)
        elif kind == 2:
            del out[at : at + chance.choice((1, 4, 100))]
        elif kind == 3:
            out[at:at] = out[at : at + chance.choice((1, 8, 64))]
        elif kind == 4:
            out[at : at + 4] = chance.choice(WORDS)
        else:
            del out[at : None if chance.random() < 0.3 else at + 1]
    return bytes(out)


def meshes(folder: Path) -> dict[str, bytes]:
    """A small mesh in every format that is read."""
    import numpy as np
    import trimesh

    ball = trimesh.creation.icosphere(1)
    found = {f"a.{kind}": ball.export(file_type=kind) for kind in ("obj", "ply", "stl", "glb")}
    found["b.ply"] = ball.export(file_type="ply", encoding="ascii")
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=float)
    cells = np.array([[0, 1, 2, 3], [1, 2, 3, 4]])
    packed = io.BytesIO()
    np.savez(packed, points=points, tetrahedra=cells)
    found["a.npz"] = packed.getvalue()
    nodes = "\n".join(f"{i + 1} {x} {y} {z}" for i, (x, y, z) in enumerate(points))
    elements = "\n".join(f"{i + 1} 4 2 0 1 {' '.join(str(n + 1) for n in cell)}" for i, cell in enumerate(cells))
    found["a.msh"] = (
        f"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n5\n{nodes}\n$EndNodes\n$Elements\n2\n{elements}\n$EndElements\n"
    ).encode()
    return {name: data.encode() if isinstance(data, str) else data for name, data in found.items()}


def fuzz_meshes(count: int, seed: int, tally: Tally) -> None:
    """Damaged meshes are refused, or solids of finite size."""
    import numpy as np

    from undertow.geometry import load_mesh
    from undertow.geometry.meshes import load_triangles
    from undertow.soft.tetfiles import load_tetrahedra

    with tempfile.TemporaryDirectory() as folder:
        sources = meshes(Path(folder))
        for number in range(count):
            chance = random.Random(f"mesh {seed} {number}")
            name = chance.choice(list(sources))
            path = Path(folder) / name
            path.write_bytes(damage(sources[name], chance))

            def attempt(path: Path = path) -> str:
                if path.suffix in (".msh", ".npz"):
                    points, _ = load_tetrahedra(path)
                else:
                    points, _ = load_triangles(path)
                    shape = load_mesh(path)
                    if not math.isfinite(shape.volume()):
                        raise AssertionError("the volume is not finite")
                if not np.isfinite(points).all():
                    raise AssertionError("a point is not finite")
                return "accepted"

            tally.judge(f"mesh {seed} {number} {name}", attempt)


def fuzz_checkpoints(count: int, seed: int, tally: Tally) -> None:
    """Damaged checkpoints are refused, or hold exactly what was saved."""
    import numpy as np

    from undertow.run.checkpoint import read_checkpoint

    with tempfile.TemporaryDirectory() as folder:
        path, whole = Path(folder) / "a.h5", Path(folder) / "whole.h5"
        ut.Simulation(toml.scene_from_dict(SMALL["solids"]), threads=1).save(whole)  # type: ignore[arg-type]
        good, data = read_checkpoint(whole), whole.read_bytes()
        for number in range(count):
            chance = random.Random(f"checkpoint {seed} {number}")
            path.write_bytes(damage(data, chance))

            def attempt() -> str:
                found = read_checkpoint(path)
                same = all(np.array_equal(found.arrays[name], array) for name, array in good.arrays.items())
                if found.numbers != good.numbers or found.scene != good.scene or not same:
                    raise AssertionError("a damaged checkpoint has been accepted")
                return "untouched"

            tally.judge(f"checkpoint {seed} {number}", attempt)


def main() -> int:
    """Run the fuzzers; exit status 1 when something was found."""
    parser = argparse.ArgumentParser()
    for kind, count in (("scenes", 1000), ("meshes", 500), ("checkpoints", 500), ("seed", 1)):
        parser.add_argument(f"--{kind}", type=int, default=count)
    parser.add_argument("--steps", type=float, default=0.3, help="share of the scenes that are stepped")
    parser.add_argument("--light", action="store_true", help="leave out the scenes in 3D with coupled bodies and cloth")
    parser.add_argument("--hours", type=float, default=0.0, help="go on with the next seeds for so long")
    chosen = parser.parse_args()
    tallies = [Tally("scenes"), Tally("meshes"), Tally("checkpoints")]
    end, seed = time.monotonic() + 3600.0 * chosen.hours, chosen.seed
    while True:
        fuzz_meshes(chosen.meshes, seed, tallies[1])
        fuzz_checkpoints(chosen.checkpoints, seed, tallies[2])
        print(tallies[1], tallies[2], sep="\n", flush=True)
        fuzz_scenes(chosen.scenes, seed, chosen.steps, tallies[0], not chosen.light)
        print(tallies[0], flush=True)
        seed += 1
        if time.monotonic() >= end:
            return 1 if any(tally.findings for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
