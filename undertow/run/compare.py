"""One scene under several couplings, one after the other."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from undertow.couplings import COUPLINGS
from undertow.errors import PhysicsError, UserError
from undertow.run.driver import Progress
from undertow.run.folder import next_folder
from undertow.run.simulation import Simulation
from undertow.scene import Scene, find_scene


def couplings_of(text: str) -> list[str]:
    """The names in ``a,b,c``, each known and given once."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in COUPLINGS:
            raise UserError(f"--couplings {text}: unknown coupling {name!r}; the couplings are {', '.join(COUPLINGS)}")
    if len(names) < 2 or len(set(names)) != len(names):
        raise UserError(f"--couplings {text}: give two or more different couplings, such as monolithic,rigid_fluid")
    return names


def comparison_scenes(
    what: str, couplings: Sequence[str], resolution: int | None, frames: int | None, assignments: Sequence[str]
) -> dict[str, Scene]:
    """The scene under every coupling; one that refuses the scene is told of before anything runs."""
    scenes = {}
    for name in couplings:
        try:
            scenes[name] = find_scene(what, resolution, frames, name, assignments)
        except UserError as error:
            raise UserError(f"coupling {name!r} cannot run this scene: {error}") from None
    return scenes


def warm_up(scene: Scene, threads: int | None) -> None:
    """Two steps whose only use is that kernels are compiled before the run whose steps are timed."""
    sim = Simulation(scene, threads)
    with contextlib.suppress(PhysicsError):
        sim.step()
        sim.step()


def compare(
    scenes: dict[str, Scene], out: Path | None, threads: int | None, progress: Callable[[Progress], None] | None,
    say: Callable[[str], None],
) -> tuple[Path, list[Path]]:  # fmt: skip
    """Run every scene into ``out``/COUPLING (default ``runs/NAME-compare-NNNN``); a run that fails is kept and told."""
    first = next(iter(scenes.values()))
    folder = out or next_folder(f"{first.name}-compare")
    if folder.exists():
        raise UserError(f"{folder}: exists already and is not overwritten; choose another --out")
    simulations = {name: Simulation(scene, threads) for name, scene in scenes.items()}
    folder.mkdir(parents=True)
    for name in list(simulations):
        say(f"{name}:")
        warm_up(scenes[name], threads)
        sim = simulations.pop(name)
        for note in sim.notes:
            say(f"note: {note}")
        try:
            sim.run(folder / name, progress, preview=False)
        except PhysicsError as error:
            say(f"note: {name} stopped: {error}")
    return folder, [folder / name for name in scenes]
