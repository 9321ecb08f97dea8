"""The scenes of table I of Becker, Tessendorf and Teschner 2009 [@becker2009] at the paper's size.

How many times faster a full step is than theirs, per particle: (their seconds / their particles) / (our seconds / our
particles). Theirs is one core of 2.13 GHz with the local scheme ("all timings in Tab. I are given using the local
approach"), which is used here too, on the threads the bench is given. Steps are compared, not simulated time: how long
their steps are is not in the paper.

A developed state in a few steps: the fall of the bodies is left out. They begin in the fluid, with the speed of the
fall; the fluid settles around them (up to 200 damped steps, outside the time), then steps are made until it touches a
body, forty at least, and twenty are timed. Contacts, lists made and neighbours per point of these stand in ``detail``;
bodies must be touched in half of them at least (few particles touch a stone at 12 m/s, in some steps none). Judged by
the clock: run it with nothing else computing.
"""

from __future__ import annotations

import math
import time as clock
from collections.abc import Iterator
from typing import Any, NamedTuple

import numba
import numpy as np

import undertow as ut
from undertow.benchmarks.smoke_step import held_bytes

WARM, STEPS = 40, 20
PATIENCE = 200
"""Steps until bodies must be in touch with the fluid."""


class Row(NamedTuple):
    """A row of table I: particles of fluid and of bodies, seconds of a full step; resolution: that gives as many of
    fluid here; lowered: fall of the bodies into the fluid that is left out [m]."""

    particles: int
    body_particles: int
    seconds: float
    resolution: int
    lowered: float


TABLE = {
    "impact": Row(850_000, 9_000, 7.07, 156, 1.40),
    "cuboids": Row(2_000_000, 7_500, 11.4, 220, 0.20),
    "floating-spheres": Row(130_000, 760, 1.14, 67, 0.18),
    "stone-skipping": Row(240_000, 94, 1.64, 312, 0.25),
    "flotsam": Row(2_570_000, 18_600, 15.03, 482, 0.05),
}


def lower_bodies(scene: ut.Scene, by: float) -> ut.Scene:
    """The scene after bodies have fallen ``by`` [m], those of prescribed motion as fast as before; the local scheme."""
    speed = math.sqrt(2.0 * 9.81 * by)
    objects = dict(scene.objects)
    for name, body in scene.bodies.items():
        if body.is_dynamic:
            x, y, z = body.position
            u, v, w = body.velocity
            falling = (u, v if math.hypot(u, w) > speed else v - speed, w)  # a stone that flies does not fall
            objects[name] = body.model_copy(update={"position": (x, y - by, z), "velocity": falling})
        elif isinstance(body.motion, ut.Keyframes):
            places = tuple((x, y - by, z) for x, y, z in body.motion.positions)
            motion = body.motion.model_copy(update={"positions": places})
            objects[name] = body.model_copy(update={"motion": motion, "position": places[0]})
    return scene.model_copy(update={"objects": objects, "sph": scene.sph.model_copy(update={"scheme": "local"})})


def develop(name: str, resolution: int, threads: int) -> ut.Simulation:
    """A scene of the table with its bodies in touch with the fluid."""
    sim = ut.Simulation(lower_bodies(ut.scene(name, resolution=resolution), TABLE[name].lowered), threads=threads)
    scheme: Any = sim.scheme
    for steps in range(1, PATIENCE + 1):
        sim.step()
        if scheme.forcing.contacts > 0 and steps >= WARM:
            return sim
    raise ut.PhysicsError(f"sph-table: {name}: the fluid touches no body after {PATIENCE} steps; lower the bodies")


def run(threads: int) -> Iterator[dict[str, Any]]:
    """Every scene for a few steps."""
    before = numba.get_num_threads()
    try:
        for name, row in TABLE.items():
            start = clock.perf_counter()
            develop(name, row.resolution // 3, threads)
            yield {"compile_seconds": clock.perf_counter() - start, **measure(name, row, threads)}
    finally:
        numba.set_num_threads(before)


def measure(name: str, row: Row, threads: int) -> dict[str, Any]:
    """One row of the table."""
    sim = develop(name, row.resolution, threads)
    scheme: Any = sim.scheme
    fluid, forcing = scheme.particles.fluid, scheme.forcing
    fluid.refresh()  # the lists are made at least once in the time
    begin, rebuilds, contacts = clock.perf_counter(), fluid.rebuilds, []
    for _ in range(STEPS):
        sim.step()
        contacts.append(forcing.contacts)
    seconds = (clock.perf_counter() - begin) / STEPS
    if 2 * np.count_nonzero(contacts) < STEPS:
        raise ut.PhysicsError(f"sph-table: {name}: {contacts} contacts in the timed steps; bodies must touch the fluid")
    particles, bodies = fluid.totals.particles, len(forcing.local)
    ratio = (row.seconds / row.particles) / (seconds / particles)
    return {
        "quantity": f"speedup_{name}",
        "size": f"{particles} particles, {bodies} of bodies",
        "threads": threads,
        "seconds_per_step": seconds,
        "throughput": particles / seconds,
        "unit": "particles/s",
        "memory_mb": held_bytes(scheme) / 2**20,
        "ratio": ratio,
        "measured": ratio,
        "against": f"table I: {row.particles} particles, {row.body_particles} of bodies, {row.seconds} s on one 2.13 "
        f"GHz core, local scheme; per particle and step",
        "detail": {
            "contacts": float(np.mean(contacts)),
            "least_contacts": min(contacts),
            "lists_made": fluid.rebuilds - rebuilds,
            "neighbours": float(fluid.neighbours.spec.starts[fluid.count]) / fluid.count,
            "density_ratio": fluid.totals.density / fluid.settings.density,
        },
    }
