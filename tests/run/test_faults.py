"""A disk that fails once, at every write, sync and rename of a run in turn: nothing is lost, nothing half done.

At every ninth of them; at every one with UNDERTOW_EVERY_WRITE=1, as ``make soak`` has it.
"""

from __future__ import annotations

import copy
import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import undertow as ut
from undertow.run.tables import CsvTable
from undertow.scene import Scene

FRAMES = 2


@contextmanager
def failing_at(number: int | None) -> Iterator[list[int]]:
    """The ``number``-th of all syncs, renames and rows fails with a full disk; counts them."""
    calls = [0]

    def guard(function: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: Any, **settings: Any) -> Any:
            calls[0] += 1
            if calls[0] == number:
                raise OSError(errno.ENOSPC, "No space left on device")
            return function(*args, **settings)

        return guarded

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in ((os, "replace"), (os, "rename"), (os, "fsync"), (CsvTable, "_write")):
            patch.setattr(owner, name, guard(getattr(owner, name)))
        yield calls


def test_a_disk_that_fails_once_loses_nothing(
    tiny: Callable[..., Scene], contents: Callable[[Path], dict[str, bytes]], tmp_path: Path
) -> None:
    scene = tiny("output.checkpoint_frames=1", frames=FRAMES)
    sim = ut.Simulation(scene, threads=1)
    start = copy.deepcopy(sim.checkpoint())
    with failing_at(None) as calls:
        untouched = contents(sim.run(tmp_path / "untouched", preview=False).folder)
    total = calls[0]
    assert total > 40
    every = 1 if os.environ.get("UNDERTOW_EVERY_WRITE") else 9
    for number in range(1, total + 1, every):
        out = tmp_path / f"run-{number}"
        sim.restore(start)
        with failing_at(number):
            try:
                sim.run(out, preview=False)
            except ut.UserError as error:
                assert "disk is full" in str(error), error
        if not out.exists():
            assert not list(tmp_path.glob(f".run-{number}*")), "a folder that was not made leaves nothing behind"
            continue
        if ut.Run(out).info["status"] != "done" or contents(out) != untouched:
            try:
                ut.resume(out, threads=1)
            except ut.UserError as error:
                assert "the run is complete" in str(error), error
        assert contents(out) == untouched, f"write {number} of {total}"
