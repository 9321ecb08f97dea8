"""A closed balloon full of smoke that is pulled about: not a trace of smoke outside, and it keeps its volume."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

STEPS, TIME_STEP = 500, 0.01
RADIUS = 0.22


@dataclass(frozen=True)
class Pulled:
    """What a run left: smoke outside the shell at its worst [kg/m3], its mass inside at the end over that at the start,
    error of the enclosed volume at its worst, and the way of the shell's centre [m]."""

    outside: float
    kept: float
    volume: float
    way: float


def make_scene(dimensions: int, cells: int) -> ut.Scene:
    """A ring of rope or a balloon of cloth in a closed box, one end of it pulled to and fro along a figure of eight."""
    centre = (0.5, 0.5, 0.5)[:dimensions]
    times = np.linspace(0.0, STEPS * TIME_STEP, 41)
    phase = 2.0 * np.pi * (times - 0.5 * (1.0 - np.exp(-times / 0.5))) / 2.0  # from rest
    way = np.stack([0.5 + 0.2 * np.sin(phase), 0.5 + RADIUS + 0.12 * np.sin(2.0 * phase), 0.5 + 0.0 * phase], axis=1)
    pulled = ut.Keyframes(times=tuple(times), positions=tuple(tuple(x) for x in way[:, :dimensions]))
    reach = 0.03 if dimensions == 2 else 0.08
    hold = ut.Hold(shape=ut.Sphere(radius=reach), position=(0.5, 0.5 + RADIUS, 0.5)[:dimensions], motion=pulled)
    if dimensions == 2:
        shell: ut.Rope | ut.Cloth = ut.Rope(
            outline="ring", position=(0.5, 0.5 - RADIUS), end=(0.5, 0.5 + RADIUS), element_size=0.5 / cells,
            density=0.02, stretching=2.0, damping=0.01, holds=(hold,),
        )  # fmt: skip
    else:
        shell = ut.Cloth(
            outline="balloon", size=(2 * RADIUS, 2 * RADIUS), position=centre, element_size=1.0 / cells,
            density=0.02, stretching=5.0, bending=1e-4, damping=0.01, holds=(hold,),
        )  # fmt: skip
    return ut.Scene(
        name="sealed",
        coupling="monolithic",
        gravity=(0.0,) * dimensions,
        domain=ut.Domain(upper=(1.0,) * dimensions, resolution=cells),
        time=ut.Time(end=STEPS * TIME_STEP, frame_rate=1.0, fixed_step=TIME_STEP),
        fluid=ut.Fluid(density=1.0, tolerance=1e-5),
        soft=ut.Soft(collisions=False, volume_recovery=0.0),
        smoke=ut.Smoke(buoyancy_density=0.0, buoyancy_temperature=0.0),
        objects={
            "shell": shell,
            "smoke": ut.Emitter(
                shape=ut.Sphere(radius=0.8 * RADIUS), position=centre, density=1.0, stop=0.5 * TIME_STEP
            ),
        },
    )


def pull(dimensions: int, cells: int, steps: int, feedback: bool = True) -> Pulled:
    """``steps`` steps; without ``feedback`` nothing regains the pocket's volume."""
    sim = ut.Simulation(make_scene(dimensions, cells))
    if not feedback:
        sim.flow.solve.nodes[0].pockets.recovery = np.inf  # type: ignore[attr-defined]
    solve, grid = sim.flow.solve, sim.grid  # type: ignore[attr-defined]
    assert grid is not None
    outside, volume, start, way = 0.0, 0.0, 0.0, 0.0
    before = np.array(sim.body("shell").position)
    for step in range(steps):
        row = sim.step().ledger
        volume = max(volume, row["enclosed_volume_error"])
        now = np.array(sim.body("shell").position)
        way, before = way + float(np.linalg.norm(now - before)), now
        start = row["smoke_mass"] if step == 0 else start
        if step % 10 == 9 or step == steps - 1:
            smoke = sim.state.smoke.copy()
            smoke[solve.nodes[0].pockets.find_cells(solve.rows.stencil) > 0] = 0.0
            outside = max(outside, float(np.abs(smoke[grid.interior]).max()))
    return Pulled(outside, row["smoke_mass"] / start, volume, way)


def run(full: bool) -> Iterator[Quantity]:
    """2D on 48 cells and 3D on 24, with ``full`` 96 and 40; the drift without feedback is in the detail."""
    for dimensions, cells in ((2, 96 if full else 48), (3, 40 if full else 24)):
        found = pull(dimensions, cells, STEPS)
        drift = pull(dimensions, cells, STEPS, feedback=False)
        name = f"{dimensions}d"
        yield quantity(f"smoke_outside_{name}", found.outside, cells=cells, steps=STEPS, way=found.way, kept=found.kept)
        yield quantity(f"volume_{name}", found.volume, cells=cells, without_feedback=drift.volume)
        # a shell that stays keeps its smoke
        yield quantity(f"way_{name}", found.way / (STEPS * TIME_STEP), unit="m/s")
