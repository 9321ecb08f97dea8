"""The scenes of table I of Becker, Tessendorf and Teschner 2009 [@becker2009] at the paper's size.

How many times faster a full step is than theirs on one 2.13 GHz core, with as many particles within a few percent;
steps from the start of the scene, neighbour lists made at least once among them. Judged by the clock: run it with
nothing else computing.
"""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from typing import Any, NamedTuple

import numba

import undertow as ut

STEPS = 6


class Row(NamedTuple):
    """A row of table I: particles of fluid, seconds of a full step; resolution: that gives as many here."""

    particles: int
    seconds: float
    resolution: int


TABLE = {
    "impact": Row(850_000, 7.07, 162),
    "cuboids": Row(2_000_000, 11.4, 220),
    "floating-spheres": Row(130_000, 1.14, 67),
    "stone-skipping": Row(240_000, 1.64, 1696),
    "flotsam": Row(2_570_000, 15.03, 394),
}
"""The stone of the gallery is thrown in 2D."""


def run(threads: int) -> Iterator[dict[str, Any]]:
    """Every scene for a few steps."""
    before = numba.get_num_threads()
    try:
        for name, row in TABLE.items():
            start = clock.perf_counter()
            ut.Simulation(ut.scene(name, resolution=row.resolution // 4), threads=threads).step()
            compile_seconds = clock.perf_counter() - start
            sim = ut.Simulation(ut.scene(name, resolution=row.resolution), threads=threads)
            fluid = sim.model.fluid  # type: ignore[attr-defined]
            for _ in range(2):
                sim.step()
            fluid.refresh()
            begin = clock.perf_counter()
            for _ in range(STEPS):
                sim.step()
            seconds = (clock.perf_counter() - begin) / STEPS
            particles = fluid.totals.particles
            # per particle: scenes have a few percent more or fewer than the paper's
            ratio = (row.seconds / row.particles) / (seconds / particles)
            yield {
                "quantity": f"speedup_{name}",
                "size": f"{particles} particles",
                "threads": threads,
                "seconds_per_step": seconds,
                "throughput": particles / seconds,
                "unit": "particles/s",
                "memory_mb": fluid.bytes_per_particle * particles / 2**20,
                "compile_seconds": compile_seconds,
                "ratio": ratio,
                "measured": ratio,
                "against": f"table I: {row.particles} particles, {row.seconds} s on one 2.13 GHz core",
            }
    finally:
        numba.set_num_threads(before)
