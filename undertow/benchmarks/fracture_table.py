"""``table-1000-spheres`` whole: seconds per frame of its last quarter of a second (thesis: 5 minutes, 8992 bodies).

It takes hours: the way there is simulated as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from undertow.benchmarks.fracture import table

COUNT = 1000
SMOKE = {"COUNT": 2}
THESIS = 1.0 / 300.0
"""Frames per second."""


def run(threads: int) -> Iterator[dict[str, Any]]:
    """On one thread, as the thesis."""
    found = table(COUNT, THESIS)
    yield {**found, "quantity": "seconds_per_frame", "measured": 1.0 / found["measured"]}
