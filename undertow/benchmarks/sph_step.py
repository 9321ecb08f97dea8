"""Steps of a fluid of particles with dynamic bodies: particles per second and step, and memory per particle.

A tank filled to three quarters with sixteen cubes in it, at about 80,000, 650,000 and 2 million particles; weakly
compressible, two-way coupled by direct forcing. Compilation, set-up and the first steps are outside the time; neighbour
lists are made anew as often as the flow asks for, at least once. Judged by the clock: run it with nothing else
computing.
"""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from typing import Any

import numba

import undertow as ut

PEER = 0.70e6
"""Particles per second and step of SPlisHSPlasH."""
AGAINST = "pySPlisHSPlasH, WCSPH with particle boundaries, two threads of a two-core x86-64: 0.70e6 (2026-11-15)"
SIZES = {"80k": 48, "650k": 96, "2m": 139}
"""Particles along the tank, by the name of the size."""
STEPS = 20


def make_scene(resolution: int) -> ut.Scene:
    """A cube of fluid, three quarters full, with sixteen cubes just below its surface."""
    objects: dict[str, Any] = {"water": ut.SphFluid(shape=ut.Box(size=(1.0, 0.75, 1.0)), position=(0.5, 0.375, 0.5))}
    for n in range(16):
        x, z = 0.2 + 0.2 * (n % 4), 0.2 + 0.2 * (n // 4)
        objects[f"cube-{n:02d}"] = ut.RigidBody(
            shape=ut.Box(size=(0.1, 0.1, 0.1)), position=(x, 0.68, z), density=300.0 + 100.0 * n
        )
    return ut.Scene(
        name="sph-step",
        coupling="direct_forcing",
        domain=ut.Domain(upper=(1.0, 1.0, 1.0), resolution=resolution, sides={"y_high": "open"}),
        time=ut.Time(end=1.0, frame_rate=10),
        objects=objects,
    )


def run(threads: int) -> Iterator[dict[str, Any]]:
    """The three sizes, then the memory of the largest."""
    before = numba.get_num_threads()
    start = clock.perf_counter()
    ut.Simulation(make_scene(16), threads=threads).step()
    compile_seconds = clock.perf_counter() - start
    per_particle = 0.0
    try:
        for name, resolution in SIZES.items():
            sim = ut.Simulation(make_scene(resolution), threads=threads)
            fluid = sim.model.fluid  # type: ignore[attr-defined]
            for _ in range(3):
                sim.step()
            fluid.refresh()  # the lists are made at least once in the time
            begin, rebuilds = clock.perf_counter(), fluid.rebuilds
            for _ in range(STEPS):
                sim.step()
            seconds = (clock.perf_counter() - begin) / STEPS
            rate = fluid.totals.particles / seconds
            per_particle = fluid.bytes_per_particle
            yield {
                "quantity": f"throughput_ratio_{name}",
                "size": f"{fluid.totals.particles} particles, 16 bodies",
                "threads": threads,
                "seconds_per_step": seconds,
                "throughput": rate,
                "unit": "particles/s",
                "memory_mb": per_particle * fluid.totals.particles / 2**20,
                "compile_seconds": compile_seconds,
                "ratio": rate / PEER,
                "measured": rate / PEER,
                "against": AGAINST,
                "detail": {"lists_made": fluid.rebuilds - rebuilds},
            }
        yield {"quantity": "bytes_per_particle", "size": "2m", "threads": threads, "measured": per_particle}
    finally:
        numba.set_num_threads(before)
