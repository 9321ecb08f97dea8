"""Seconds per frame of the trampoline against the thesis (table 4.1: 14.5 s, 32 steps per frame; here 8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from undertow.benchmarks._frames import seconds_per_frame
from undertow.scene.gallery.trampoline import make_scene


def run(threads: int) -> Iterator[dict[str, Any]]:
    """Ten balls and ten rings, as in the thesis, while the first of them land on the sheet and on each other."""
    yield seconds_per_frame(make_scene(balls=10, rings=10), 0.5, 0.6, threads, 14.5)
