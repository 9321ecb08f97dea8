"""``undertow bench coupled-solve``: fluid and bodies in one solve, from light to heavy, on growing grids.

A full tank with an open top and 1 or 24 spheres, a random velocity of the fluid, the weight of the bodies over 10 ms;
to 1e-6. Iterations over grid sizes and density ratios; at 128^3 the processor time of set-up and solve against that of
the fluid alone around the same spheres held fast, both with the geometry new.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut

SIZES = (32, 64, 128)
RATIOS = (1e-3, 1e-1, 1.0, 1e3)


def make(cells: int, bodies: int, ratio: float | None) -> ut.Simulation:
    """A unit tank with spheres of ``ratio`` times the fluid's density; None: they are held fast."""
    places = [(0.52, 0.49, 0.51)]
    radius = 0.18
    if bodies > 1:
        rows = np.stack(np.meshgrid(np.arange(4), np.arange(3), np.arange(2), indexing="ij"), axis=-1).reshape(-1, 3)
        places = [tuple((r + 0.5) / (4, 3, 2) + (0.01, -0.007, 0.013)) for r in rows[:bodies]]
        radius = 0.09
    density = None if ratio is None else 1000.0 * ratio
    scene = ut.Scene(
        name="coupled-solve",
        coupling="none" if ratio is None else "monolithic",
        domain=ut.Domain(upper=(1.0, 1.0, 1.0), resolution=cells, sides={"y_high": "open"}),
        time=ut.Time(end=1.0, frame_rate=100.0, fixed_step=0.01),
        fluid=ut.Fluid(density=1000.0, tolerance=1e-6, advection="none"),
        objects={
            f"b{i}": ut.RigidBody(shape=ut.Sphere(radius=radius), position=place, density=density)
            for i, place in enumerate(places)
        },
    )
    return ut.Simulation(scene)


def measure(sim: ut.Simulation) -> tuple[int, float]:
    """(iterations, processor seconds) of set-up and solve, the second of two in a row."""
    flow = sim.flow
    rng = np.random.default_rng(1)
    start = rng.normal(size=flow.state.u.shape) * (flow.domain.inv_mass_f > 0)
    coupled = getattr(sim.model, "coupled", None)
    iterations, seconds = 0, 0.0
    for _ in range(2):
        u = start.copy()
        if coupled is not None:
            coupled.bodies.p_b[...] = 0.0
            coupled.bodies.L_b[...] = 0.0
            coupled.set_weight(1000.0, np.array([0.0, -9.81, 0.0]), 0.01)
        flow.z_c[...] = 0.0
        begin = time.process_time()
        flow.solve.rebuild()
        flow.solve.place()
        solves = flow.solve.solve(u, flow.z_c, 0.01)
        seconds = time.process_time() - begin
        iterations = sum(s.iterations for s in solves)
    return iterations, seconds


def run(threads: int) -> Iterator[dict[str, Any]]:
    """Iterations and times, and the ratios the bounds are about."""
    for bodies in (1, 24):
        found: dict[tuple[int, float], tuple[int, float]] = {}
        alone = {}
        for cells in SIZES:
            alone[cells] = measure(make(cells, bodies, None))
            for ratio in RATIOS:
                found[cells, ratio] = measure(make(cells, bodies, ratio))
                count, seconds = found[cells, ratio]
                yield {
                    "quantity": f"iterations_{bodies}_{ratio:g}", "size": cells, "seconds_per_step": seconds,
                    "iterations": count, "measured": count, "unit": "iterations",
                    "detail": {"fluid_alone": alone[cells]},
                }  # fmt: skip
        growth = max(
            found[b, r][0] / found[a, r][0] for a, b in zip(SIZES[:-1], SIZES[1:], strict=True) for r in RATIOS
        )
        yield {"quantity": f"iteration_growth_{bodies}", "measured": growth, "ratio": growth, "unit": "per doubling"}
        variation = max(found[n, 1e-3][0] / found[n, 1e3][0] for n in SIZES)
        yield {"quantity": f"ratio_variation_{bodies}", "measured": variation, "ratio": variation, "unit": "1e-3 / 1e3"}
        heavy = max(found[SIZES[-1], r][1] for r in RATIOS[1:]) / alone[SIZES[-1]][1]
        light = found[SIZES[-1], 1e-3][1] / alone[SIZES[-1]][1]
        name = "" if bodies == 1 else f"_{bodies}"
        against = "the fluid alone, same run"
        for kind, ratio in (("heavy", heavy), ("light", light)):
            quantity = f"time_ratio_{kind}{name}_128"
            yield {"quantity": quantity, "measured": ratio, "ratio": ratio, "size": 128, "against": against}
