"""One uninterrupted run of a tiny scene that the others are compared with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import undertow as ut
from undertow.run.folder import newest_checkpoint
from undertow.scene import Scene, find_scene

TINY = Path(__file__).with_name("tiny.toml")


@pytest.fixture(scope="session")
def tiny() -> Callable[..., Scene]:
    """The tiny scene with values overridden."""

    def make(*assignments: str, frames: int | None = None) -> Scene:
        return find_scene(TINY, frames=frames, assignments=assignments)

    return make


@pytest.fixture(scope="session")
def reference(tiny: Callable[..., Scene], tmp_path_factory: pytest.TempPathFactory) -> ut.Run:
    """The tiny scene run from start to end on one thread."""
    return ut.Simulation(tiny(), threads=1).run(tmp_path_factory.mktemp("reference") / "run", preview=False)


@pytest.fixture(scope="session")
def contents() -> Callable[[Path], dict[str, bytes]]:
    """What must not depend on interruptions, threads or the clock: state, tables, scene and frames, byte for byte."""

    def read(folder: Path) -> dict[str, bytes]:
        _, last = newest_checkpoint(folder)
        state = {f"state.{name}": array.tobytes() for name, array in last.arrays.items()}
        state["state.numbers"] = str([last.numbers[key] for key in ("time", "step", "frame", "state")]).encode()
        names = ["ledger.csv", "bodies.csv", "waters.csv", "probes.csv", "scene.toml", "frames.pvd"]
        names += sorted(str(p.relative_to(folder)) for p in (folder / "frames").rglob("*") if p.is_file())
        return state | {name: (folder / name).read_bytes() for name in names}

    return read
