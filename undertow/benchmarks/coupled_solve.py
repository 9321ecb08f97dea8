"""``undertow bench coupled-solve``: fluid and bodies in one solve, from light to heavy, on growing grids.

A full tank with an open top and 1, 24 or 200 spheres, a soft torus or a cloth, a random velocity of the fluid, the
weight of the bodies over 10 ms (soft ones have none); to 1e-6. Iterations over grid sizes and density ratios; at 128^3
the processor time of set-up and solve against that of the fluid alone around the same spheres held fast, both with the
geometry new; of torus and cloth against the fluid around a rigid torus held fast, and without the cloth. At 64^3 with
24 spheres the same rows are solved as the symmetric indefinite system of pressures and twists (Robinson-Mosher et al.
2008, 16) by MINRES, with the same multigrid cycle and bound on the true residual.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut

SIZES = (32, 64, 128)
RATIOS = (1e-3, 1e-1, 1.0, 1e3)
ALONE = "the fluid alone, same run"

SMOKE = {"SIZES": (8, 12)}


def make(cells: int, bodies: int, ratio: float | None) -> ut.Simulation:
    """A unit tank with spheres of ``ratio`` times the fluid's density; None: they are held fast."""
    places = [(0.52, 0.49, 0.51)]
    radius = 0.18
    if bodies > 1:
        counts = (4, 3, 2) if bodies <= 24 else (6, 6, 6)
        rows = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), axis=-1).reshape(-1, 3)
        places = [tuple((r + 0.5) / counts + (0.01, -0.007, 0.013)) for r in rows[:bodies]]
        radius = 0.09 if bodies <= 24 else 0.055
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
    bodies = getattr(sim.scheme, "bodies", None)
    coupled = None if bodies is None else bodies.coupled
    iterations, seconds = 0, 0.0
    for _ in range(2):
        u = start.copy()
        if coupled is not None:
            coupled.bodies.p_b[...] = 0.0
            coupled.bodies.L_b[...] = 0.0
            coupled.set_weight(np.array([0.0, -9.81, 0.0]), 0.01)
            flow.solve.take_known(None, 0.01)
        flow.z_c[...] = 0.0
        begin = time.process_time()
        flow.solve.rebuild()
        flow.solve.place()
        solves = flow.solve.solve(u, flow.z_c, 0.01)
        seconds = time.process_time() - begin
        iterations = sum(s.iterations for s in solves)
    return iterations, seconds


def measure_forms(sim: ut.Simulation) -> tuple[tuple[int, float], tuple[int, float]]:
    """(iterations, processor seconds) of the SPD form and of the indefinite one, bodies and multigrid set up in both;
    the second of two in a row."""
    flow: Any = sim.flow
    solve = flow.solve
    start = np.random.default_rng(1).normal(size=flow.state.u.shape) * (flow.domain.inv_mass_f > 0)
    rest = np.zeros(solve.rigid.block.shape)
    row = np.zeros(solve.rows.shape)
    solve.rows.apply({"fluid": start, "rigid": rest}, row)
    row[solve.rows.stencil.diagonal_c <= 0.0] = 0.0
    indefinite = solve.indefinite()
    found = (0, 0.0), (0, 0.0)
    for _ in range(2):
        w, z = {"fluid": start.copy(), "rigid": rest.copy()}, {"pressure": np.zeros(solve.rows.shape)}
        begin = time.process_time()
        solve.multigrid.setup(solve.rows.stencil)
        solve.added_mass.setup()
        stats = solve.system.solve(w, z, 1e-6)
        middle = time.process_time()
        _, _, iterations = indefinite.solve(row, 1e-6)
        found = (stats.iterations, middle - begin), (iterations, time.process_time() - middle)
    return found


def run_forms() -> Iterator[dict[str, Any]]:
    """Time of the indefinite form over that of the SPD one: for each density, and for all of them together."""
    spd, minres = [], []
    for ratio in RATIOS:
        first, second = measure_forms(make(64, 24, ratio))
        spd.append(first[1])
        minres.append(second[1])
        yield {
            "quantity": f"spd_over_minres_{ratio:g}", "size": 64, "measured": second[1] / first[1],
            "ratio": second[1] / first[1], "iterations": first[0], "against": "MINRES, same run",
            "detail": {"iterations_minres": second[0]},
        }  # fmt: skip
    total = sum(minres) / sum(spd)
    yield {"quantity": "spd_over_minres", "size": 64, "measured": total, "ratio": total, "against": "MINRES, same run"}


PLACE, TURN = (0.52, 0.49, 0.51), ut.Rotation(axis=(1.0, 0.3, 0.2), degrees=50.0)
"""Of torus and cloth."""


def make_soft(cells: int, kind: str, ratio: float) -> ut.Simulation:
    """The tank with a soft torus, or a cloth that weighs as much as 0.02 m of ``ratio`` times the fluid's density;
    elements of about a cell, at most as fine as at 64^3."""
    size, density = 1.3 / min(cells, 64), 1000.0 * ratio
    item: Any = ut.SoftBody(
        shape=ut.Torus(radius=0.2, tube=0.09), position=PLACE, rotation=TURN, element_size=size,
        density=density, youngs_modulus=1e5, poisson_ratio=0.4,
    )  # fmt: skip
    if kind == "cloth":
        item = ut.Cloth(
            size=(0.5, 0.45), position=PLACE, rotation=TURN, element_size=size, density=0.02 * density, stretching=1e4
        )
    scene = ut.Scene(
        name="coupled-solve",
        coupling="monolithic",
        soft=ut.Soft(collisions=False),
        gravity=(0.0, 0.0, 0.0),
        domain=ut.Domain(upper=(1.0, 1.0, 1.0), resolution=cells, sides={"y_high": "open"}),
        time=ut.Time(end=1.0, frame_rate=100.0, fixed_step=0.01),
        fluid=ut.Fluid(density=1000.0, tolerance=1e-6, advection="none"),
        objects={"soft": item},
    )
    return ut.Simulation(scene)


def make_fixed(cells: int, kind: str) -> ut.Simulation:
    """The fluid alone: the tank around a torus that is held fast, or without the cloth."""
    torus = ut.RigidBody(shape=ut.Torus(radius=0.2, tube=0.09), position=PLACE, rotation=TURN)
    scene = ut.Scene(
        name="coupled-solve",
        gravity=(0.0, 0.0, 0.0),
        domain=ut.Domain(upper=(1.0, 1.0, 1.0), resolution=cells, sides={"y_high": "open"}),
        time=ut.Time(end=1.0, frame_rate=100.0, fixed_step=0.01),
        fluid=ut.Fluid(density=1000.0, tolerance=1e-6, advection="none"),
        objects={"torus": torus} if kind == "torus" else {},
    )
    return ut.Simulation(scene)


def measure_soft(sim: ut.Simulation) -> tuple[int, float]:
    """(iterations, processor seconds) of set-up and solve, the second of two in a row."""
    flow, soft = sim.flow, sim.scheme.nodes[0].soft  # type: ignore[attr-defined]
    start = np.random.default_rng(1).normal(size=flow.state.u.shape) * (flow.domain.inv_mass_f > 0)
    iterations, seconds = 0, 0.0
    for _ in range(2):
        u = start.copy()
        soft.v[...] = 0.0
        flow.z_c[...] = 0.0
        begin = time.process_time()
        flow.solve.rebuild()
        flow.solve.place()
        iterations = sum(s.iterations for s in flow.solve.solve(u, flow.z_c, 0.01))
        seconds = time.process_time() - begin
    return iterations, seconds


def run_soft() -> Iterator[dict[str, Any]]:
    """A soft torus and a cloth."""
    for kind in ("torus", "cloth"):
        found: dict[tuple[int, float], int] = {}
        taken: dict[tuple[int, float], float] = {}
        for cells in SIZES:
            for ratio in RATIOS:
                found[cells, ratio], seconds = measure_soft(make_soft(cells, kind, ratio))
                taken[cells, ratio] = seconds
                yield {
                    "quantity": f"iterations_{kind}_{ratio:g}", "size": cells, "seconds_per_step": seconds,
                    "iterations": found[cells, ratio], "measured": found[cells, ratio], "unit": "iterations",
                }  # fmt: skip
        growth = max(found[b, r] / found[a, r] for a, b in zip(SIZES[:-1], SIZES[1:], strict=True) for r in RATIOS)
        yield {"quantity": f"iteration_growth_{kind}", "measured": growth, "ratio": growth, "unit": "per doubling"}
        variation = max(found[n, 1e-3] / found[n, 1e3] for n in SIZES)
        yield {"quantity": f"ratio_variation_{kind}", "measured": variation, "ratio": variation, "unit": "1e-3 / 1e3"}
        alone = measure(make_fixed(SIZES[-1], kind))[1]
        heavy = max(taken[SIZES[-1], r] for r in RATIOS[1:]) / alone
        for weight, ratio in (("heavy", heavy), ("light", taken[SIZES[-1], 1e-3] / alone)):
            quantity = f"time_ratio_{weight}_{kind}_128"
            yield {"quantity": quantity, "measured": ratio, "ratio": ratio, "size": SIZES[-1], "against": ALONE}


def run(threads: int) -> Iterator[dict[str, Any]]:
    """Iterations and times, and the ratios the bounds are about."""
    for bodies in (1, 24, 200):
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
        for kind, ratio in (("heavy", heavy), ("light", light)):
            quantity = f"time_ratio_{kind}{name}_128"
            yield {"quantity": quantity, "measured": ratio, "ratio": ratio, "size": 128, "against": ALONE}
    yield from run_forms()
    yield from run_soft()
