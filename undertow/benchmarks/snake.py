"""Seconds per frame of the snake against the thesis (table 4.1: 1.8 s, 38 steps per frame; here 10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from undertow.benchmarks._frames import seconds_per_frame
from undertow.scene.gallery.snake import make_scene


def run(threads: int) -> Iterator[dict[str, Any]]:
    """Twelve frames after the snake has landed; every period of it costs the same."""
    yield seconds_per_frame(make_scene(), 0.25, 0.75, threads, 1.8)
