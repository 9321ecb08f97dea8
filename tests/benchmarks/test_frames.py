"""The row of benchmarks that stand beside the thesis."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow.benchmarks._frames import seconds_per_frame
from undertow.validation import runner


def test_seconds_per_frame_of_some_of_a_scene() -> None:
    """Two of three steps are timed: at 24 frames per second a step of 10 ms is 0.24 frames."""
    shape, place = ut.Box(size=(0.1, 0.1, 0.1)), (0.0, 1.0, 0.0)
    box = ut.SoftBody(shape=shape, position=place, element_size=0.1, youngs_modulus=1e4)
    scene = ut.Scene(name="fall", time=ut.Time(end=1.0, frame_rate=25, max_step=0.01), objects={"box": box})
    row = seconds_per_frame(scene, 0.01, 0.03, 1, 1.8)
    assert row["size"] == 5
    assert row["measured"] == pytest.approx(row["seconds_per_step"] / 0.24)
    assert row["ratio"] * row["measured"] == pytest.approx(1.8)
    assert {"snake", "trampoline"} <= set(runner.known("bench")) and "-frames" not in runner.known("bench")
