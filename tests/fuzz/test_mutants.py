"""Some hundred mutants of scenes, meshes and checkpoints: no traceback, no warning of NumPy, nothing that hangs."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import mutants  # noqa: E402

SEED = 20


def test_mutants_of_scenes() -> None:
    tally = mutants.Tally("scenes")
    mutants.fuzz_scenes(300, SEED, 0.1, tally)
    assert not tally.findings, "\n".join(tally.findings)
    assert tally.outcomes["refused"] > 100 and tally.outcomes["accepted"] + tally.outcomes["stepped"] >= 30


def test_mutants_of_meshes() -> None:
    tally = mutants.Tally("meshes")
    mutants.fuzz_meshes(100, SEED, tally)
    assert not tally.findings, "\n".join(tally.findings)
    assert tally.outcomes["refused"] > 30


def test_mutants_of_checkpoints() -> None:
    tally = mutants.Tally("checkpoints")
    mutants.fuzz_checkpoints(100, SEED, tally)
    assert not tally.findings, "\n".join(tally.findings)
    assert tally.outcomes["refused"] > 50
