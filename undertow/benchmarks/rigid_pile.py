"""Piles of rigid bodies: time per step and contacts per second; the same boxes in MuJoCo as the peer.

Mixed bodies: 100, 300 and 1000, the median step of three phases: while the pile forms, while it settles, and late, when
most of it lies. A pile of 1000 is three times as high as one of 100 and takes longer for all of it, so phases are given
in times of fall from the top (Froude's law): at equal times the small pile has long been at rest, with solves that end
after a third of the sweeps, where the large one still moves. The three piles take turns through every phase, so that
whatever else the machine does slows down all of them. What counts is the cost per contact over these phases together;
each by itself is said beside it. Late, the small pile has come to rest and the large one has not quite.

Boxes: ours at 60 Hz (the step the method is made for), MuJoCo at the 4 ms its contact model needs; seconds of computing
per simulated second between 1 and 1.5 s of falling, one thread each. Without MuJoCo nothing is compared and the line
says so.

Piles are solved with 8 sweeps up and down to 1e-3, not the 50 and 1e-5 of a scene that says nothing: those are for
things that must stand for long, such as stacks, where impulses have to travel through many bodies. A pile that still
moves meets other contacts in the next step. What it costs in quality is measured: the deepest overlap at the end
(MuJoCo's beside it), and the same boxes with the scene's defaults (``boxes_100_scene_defaults``).
"""

from __future__ import annotations

import gc
import math
import statistics
import sys
import time as clock
import tracemalloc
from collections.abc import Iterator
from typing import Any, NamedTuple

import undertow as ut
from undertow.run.build import gravity_at_start
from undertow.scene import Scene, Solids
from undertow.scene.gallery.rigid_pile import make_boxes, make_scene
from undertow.solids.rigid_part import RigidPart

WARM, MEASURED = 100, 200
"""Steps of the pile of 100 before and while memory is watched."""
FALLEN, TIMED = 1.0, 0.5
"""Boxes fall for so long [s] and are then timed for so long [s], here and in the peer."""
PEER_STEP = 0.004
"""Step of the peer [s]."""
PILES = (100, 300, 1000)
PHASES = {"forming": (1.25, 1.75), "settling": (2.0, 2.5), "late": (3.0, 3.5)}
"""Mixed bodies, and the phases of their piles, in times of fall from the top."""
TURNS = 8
"""The piles take turns so often in a phase."""
THINNEST = 0.12
"""Least side of the boxes [m]; the mixed bodies are as large."""

SMOKE = {"PILES": (4, 8)}


class Settled(NamedTuple):
    """Seconds of computing per simulated second, mean contacts, steps, and the deepest overlap at the end [m]."""

    seconds: float
    contacts: float
    steps: int
    overlap: float


class _Pile:
    """A pile of mixed bodies, timed phase by phase: seconds and contacts of the steps of the phase."""

    def __init__(self, count: int) -> None:
        scene = make_scene(count)
        self.count = count
        top = max(body.position[1] for body in scene.bodies.values() if body.is_dynamic)
        self.fall = math.sqrt(2.0 * top / math.hypot(*gravity_at_start(scene)))
        self.sim = ut.Simulation(scene, threads=1)
        self.taken: list[float] = []
        self.contacts: list[float] = []
        self.costs: list[float] = []

    def begin(self, phase: float) -> None:
        """Go to the start of a phase."""
        self.sim.advance_to(phase * self.fall)
        self.taken, self.contacts = [], []

    def go_on(self, phase: float) -> None:
        """Timed steps up to ``phase``."""
        while self.sim.time < phase * self.fall - 1e-9:
            start = clock.perf_counter()
            report = self.sim.step()
            self.taken.append(clock.perf_counter() - start)
            self.contacts.append(float(report.ledger["contacts"]))

    def end(self) -> None:
        """Note the cost of the phase: median step per mean number of contacts [s]."""
        self.costs.append(statistics.median(self.taken) / statistics.mean(self.contacts))

    @property
    def overlap(self) -> float:
        """The deepest now [m]."""
        return _deepest(self.sim)


def _time_piles(piles: list[_Pile], start: float, end: float) -> None:
    """One phase of all piles, in turns."""
    for pile in piles:
        pile.begin(start)
    for turn in range(1, TURNS + 1):
        for pile in piles:
            pile.go_on(start + (end - start) * turn / TURNS)
    for pile in piles:
        pile.end()


def _deepest(sim: ut.Simulation) -> float:
    """Deepest overlap of any pair now [m]."""
    return max((depth for _, _, depth in sim.part(RigidPart).solids.overlapping()), default=0.0)


def _settle(scene: Scene, until: float, end: float) -> Settled:
    """A pile timed from ``until`` to ``end`` [s]."""
    sim = ut.Simulation(scene, threads=1)
    sim.advance_to(until)
    contacts = 0
    taken = []
    while sim.time < end - 1e-9:
        start = clock.perf_counter()
        contacts += int(sim.step().ledger["contacts"])
        taken.append(clock.perf_counter() - start)
    steps = len(taken)
    return Settled(sum(taken) / (end - until), contacts / steps, steps, _deepest(sim))


def _growth(scene: Scene) -> float:
    """Bytes that stay allocated per step once the buffers have grown."""
    sim = ut.Simulation(scene, threads=1)
    sim.advance_to(1.5)
    tracemalloc.start()
    for _ in range(WARM):
        sim.step()
    before = _traced()
    for _ in range(MEASURED):
        sim.step()
    grown = _traced() - before
    tracemalloc.stop()
    return grown / MEASURED


def _traced() -> int:
    """Bytes allocated now, without garbage and without the names that the interpreter's method cache holds on to: calls
    of kernels with named tuples fill its 4096 places in the course of some thousand steps, 0.2 MB in all."""
    gc.collect()
    getattr(sys, "_clear_type_cache", lambda: None)()
    return tracemalloc.get_traced_memory()[0]


def _mujoco(count: int) -> tuple[float, float, str] | None:
    """Seconds per simulated second of the same boxes in MuJoCo, the deepest overlap at the end [m], and its version."""
    try:
        import mujoco  # type: ignore[import-not-found]
    except ImportError:
        return None
    bodies = []
    for body in make_boxes(count).bodies.values():
        if not body.is_dynamic:
            continue
        x, y, z = body.position
        axis = " ".join(f"{a:.9g}" for a in (body.rotation.axis[0], -body.rotation.axis[2], body.rotation.axis[1]))
        bodies.append(
            f'<body pos="{x} {-z} {y}" axisangle="{axis} {body.rotation.degrees}"><freejoint/>'
            f'<geom type="box" size="0.1 0.06 0.08" density="1000"/></body>'
        )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{PEER_STEP}" gravity="0 0 -9.81"/><size memory="2G"/><worldbody>'
        '<geom type="plane" size="50 50 1"/>' + "".join(bodies) + "</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    for _ in range(round(FALLEN / PEER_STEP)):
        mujoco.mj_step(model, data)
    start = clock.perf_counter()
    for _ in range(round(TIMED / PEER_STEP)):
        mujoco.mj_step(model, data)
    seconds = (clock.perf_counter() - start) / TIMED
    depth = max(0.0, -min((float(contact.dist) for contact in data.contact), default=0.0))
    return seconds, depth, f"MuJoCo {mujoco.__version__} in the same run"


def _overlap(name: str, overlap: float, size: str, **detail: Any) -> dict[str, Any]:
    """The deepest overlap [m] as a part of the boxes' least size."""
    return {"quantity": name, "size": size, "threads": 1, "measured": overlap / THINNEST,
            "detail": {"overlap [m]": overlap, **detail}}  # fmt: skip


def run(threads: int) -> Iterator[dict[str, Any]]:
    """Mixed piles of three sizes, then boxes against the peer."""
    ut.Simulation(make_scene(20), threads=1).advance_to(0.1)  # compiles the kernels
    piles = [_Pile(count) for count in PILES]
    growths: dict[str, float] = {}
    deepest = 0.0
    for phase, (start, end) in PHASES.items():
        _time_piles(piles, start, end)
        growths[phase] = piles[-1].costs[-1] / piles[0].costs[-1]
        for pile in piles:
            step, contacts = statistics.median(pile.taken), statistics.mean(pile.contacts)
            deepest = max(deepest, pile.overlap)
            yield {
                "quantity": f"mixed_{pile.count}_{phase}",
                "size": f"{pile.count} bodies, {contacts:.0f} contacts",
                "threads": 1,
                "seconds_per_step": step,
                "throughput": contacts / step,
                "unit": "contacts/s",
                "measured": step,
                "detail": {"from [s]": start * pile.fall, "to [s]": end * pile.fall, "steps": len(pile.taken),
                           "seconds per contact": pile.costs[-1]},
            }  # fmt: skip
    yield _overlap("overlap_mixed", deepest, "the deepest of the three at the end of any phase")
    growth = sum(piles[-1].costs) / sum(piles[0].costs)
    yield {"quantity": "cost_per_contact_growth", "size": "100 to 1000 bodies, all phases", "threads": 1,
           "measured": growth, "ratio": growth, "detail": growths}  # fmt: skip
    grown = _growth(make_scene(100))
    yield {"quantity": "bytes_kept_per_step", "size": "100 bodies", "threads": 1, "measured": grown}
    for count in (100, 300):
        boxes = _settle(make_boxes(count), FALLEN, FALLEN + TIMED)
        size = f"{count} boxes, {boxes.contacts:.0f} contacts"
        peer = _mujoco(count)
        depth = {} if peer is None else {"peer's overlap [m]": peer[1]}
        yield _overlap(f"overlap_boxes_{count}", boxes.overlap, size, **depth)
        if peer is None:
            missing = "not compared: MuJoCo is not in this run (install the extra peers-rigid)"
            yield {"quantity": f"time_ratio_{count}", "size": size, "threads": 1, "measured": None, "compared": False,
                   "seconds_per_step": boxes.seconds * TIMED / boxes.steps, "against": missing}  # fmt: skip
            continue
        yield {
            "quantity": f"time_ratio_{count}",
            "size": size,
            "threads": 1,
            "seconds_per_step": boxes.seconds * TIMED / boxes.steps,
            "measured": boxes.seconds / peer[0],
            "ratio": boxes.seconds / peer[0],
            "against": peer[2],
            "detail": {"seconds_per_simulated_second": boxes.seconds, "peer": peer[0]},
        }
    tight = make_boxes(100)
    tight = tight.model_copy(update={"solids": Solids()})
    boxes = _settle(tight, FALLEN, FALLEN + TIMED)
    yield {"quantity": "boxes_100_scene_defaults", "size": f"100 boxes, {boxes.contacts:.0f} contacts", "threads": 1,
           "seconds_per_step": boxes.seconds * TIMED / boxes.steps, "measured": boxes.seconds,
           "detail": {"overlap [m]": boxes.overlap, "solids": "tolerance 1e-5, 50 sweeps"}}  # fmt: skip
