"""Steps of a fluid of particles with dynamic bodies: particles per second and step, and memory per particle.

A tank filled to three quarters with sixteen cubes in it, at about 80,000, 650,000 and 2 million particles; weakly
compressible, two-way coupled by direct forcing. Compilation, set-up and the first steps are outside the time; neighbour
lists are made anew as often as the flow asks for, at least once. Judged by the clock: run it with nothing else
computing.

The peer is SPlisHSPlasH with the same tank and threads, and two cubes in place of sixteen, which it takes much longer
for; timed after each of ours in a process of its own (``peers/splishsplash.py``). It wants a Python that can import
pysplishsplash: the one that the environment variable ``UNDERTOW_SPLISHSPLASH`` names, else the one that runs this.
Without it there is no ratio, nothing is passed, and the line says so. Its wheels bring a libGLdispatch that may
clash with that of the system (the import crashes): put a link to the system's in its place, in ``pysplishsplash.libs``.

Memory counts every array that the simulation holds, bodies, contacts and lists included.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time as clock
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba

import undertow as ut
from undertow.benchmarks.smoke_step import held_bytes

PYTHON = "UNDERTOW_SPLISHSPLASH"
"""Environment variable: a Python that has pysplishsplash."""
SCRIPT = Path(__file__).parent / "peers" / "splishsplash.py"
SIZES = {"80k": 48, "650k": 96, "2m": 139}
"""Particles along the tank, by the name of the size."""
STEPS, PEER_STEPS = 20, 10


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


def measure_peer(along: int, threads: int, steps: int = PEER_STEPS) -> dict[str, Any] | None:
    """Particles and seconds of a step of SPlisHSPlasH with so many particles along the tank; None if there is none."""
    python = os.environ.get(PYTHON, sys.executable)
    words = [python, str(SCRIPT), str(along), str(threads), str(steps)]
    surroundings = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    try:
        done = subprocess.run(words, capture_output=True, text=True, env=surroundings)
    except OSError as error:
        raise ut.UserError(f"{PYTHON} = {python!r}: cannot be started ({error}); give a Python that can") from None
    if done.returncode == 0:
        return dict(json.loads(done.stdout.splitlines()[-1]))
    if PYTHON in os.environ:
        last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise ut.UserError(
            f"{PYTHON} = {python!r}: pysplishsplash cannot be run there ({last}); if the import crashes, put a link to "
            f"the system's libGLdispatch in its pysplishsplash.libs"
        )
    return None


def compare(rate: float, along: int, threads: int) -> dict[str, Any]:
    """Our particles per second and step against the peer's: ratio, and whom it is to; no ratio without the peer."""
    peer = measure_peer(along, threads)
    if peer is None:
        missing = f"not compared: pySPlisHSPlasH is not in this run (name a Python that has it by {PYTHON})"
        return {"ratio": None, "compared": False, "against": missing}
    theirs = peer["particles"] / peer["seconds_per_step"]
    return {
        "ratio": rate / theirs,
        "against": f"pySPlisHSPlasH in the same run, {threads} threads: {peer['particles']} particles, "
        f"{peer['bodies']} bodies, {theirs:.3g} particles/s",
    }


def run(threads: int) -> Iterator[dict[str, Any]]:
    """The three sizes, and the memory of each; that of the largest is judged."""
    before = numba.get_num_threads()
    start = clock.perf_counter()
    ut.Simulation(make_scene(16), threads=threads).step()
    compile_seconds = clock.perf_counter() - start
    try:
        for name, resolution in SIZES.items():
            sim = ut.Simulation(make_scene(resolution), threads=threads)
            scheme: Any = sim.scheme
            fluid = scheme.particles.fluid
            for _ in range(3):
                sim.step()
            fluid.refresh()  # the lists are made at least once in the time
            begin, rebuilds, contacts = clock.perf_counter(), fluid.rebuilds, 0
            for _ in range(STEPS):
                sim.step()
                contacts += scheme.forcing.contacts
            seconds = (clock.perf_counter() - begin) / STEPS
            particles, size = fluid.totals.particles, held_bytes(scheme)
            rate, lists = particles / seconds, fluid.rebuilds - rebuilds
            del sim, scheme, fluid  # their memory is the peer's
            against = compare(rate, resolution, threads)
            common = {"size": f"{particles} particles, 16 bodies", "threads": threads, "memory_mb": size / 2**20}
            yield common | {
                "quantity": f"throughput_ratio_{name}",
                "seconds_per_step": seconds,
                "throughput": rate,
                "unit": "particles/s",
                "compile_seconds": compile_seconds,
                **against,
                "measured": against["ratio"],
                "detail": {"lists_made": lists, "contacts": contacts / STEPS},
            }
            last = name == list(SIZES)[-1]
            yield common | {"quantity": "bytes_per_particle" if last else f"bytes_per_particle_{name}",
                            "measured": size / particles}  # fmt: skip
    finally:
        numba.set_num_threads(before)
