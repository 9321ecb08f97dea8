"""Piles of rigid bodies: time per step and contacts per second; the same boxes in MuJoCo as the peer.

Mixed bodies: 100, 300 and 1000, the median step of the last half second, when the pile has formed. Boxes: ours at
60 Hz (the step the method is made for), MuJoCo at the 4 ms its contact model needs; seconds of computing per simulated
second between 1 and 1.5 s of falling, one thread each. Without MuJoCo nothing is compared and the line says so.

Piles are solved with 8 sweeps up and down to 1e-3, not the 50 and 1e-5 of a scene that says nothing: those are for
things that must stand for long, such as stacks, where impulses have to travel through many bodies. A pile that still
moves meets other contacts in the next step. What it costs in quality is measured: the deepest overlap at the end
(MuJoCo's beside it), and the same boxes with the scene's defaults (``boxes_100_scene_defaults``).
"""

from __future__ import annotations

import gc
import statistics
import sys
import time as clock
import tracemalloc
from collections.abc import Iterator
from typing import Any, NamedTuple

import undertow as ut
from undertow.run.solids_model import SolidsModel
from undertow.scene import Scene, Solids
from undertow.scene.gallery.rigid_pile import make_boxes, make_scene

WARM, MEASURED = 100, 200
"""Steps of the pile of 100 before and while memory is watched."""
FALLEN, TIMED = 1.0, 0.5
"""Boxes fall for so long [s] and are then timed for so long [s], here and in the peer."""
PEER_STEP = 0.004
"""Step of the peer [s]."""
THINNEST = 0.12
"""Least side of the boxes [m]; the mixed bodies are as large."""


class Settled(NamedTuple):
    """Seconds of computing per simulated second and of the median step, mean contacts, steps, and the deepest overlap
    at the end [m]."""

    seconds: float
    step: float
    contacts: float
    steps: int
    overlap: float


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
    assert isinstance(sim.model, SolidsModel)
    overlap = max((depth for _, _, depth in sim.model.solids.overlapping()), default=0.0)
    steps = len(taken)
    return Settled(sum(taken) / (end - until), statistics.median(taken), contacts / steps, steps, overlap)


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


def _overlap(name: str, pile: Settled, size: str, **detail: Any) -> dict[str, Any]:
    """The deepest overlap at the end, as a part of the boxes' least size."""
    relative = pile.overlap / THINNEST
    return {"quantity": name, "size": size, "threads": 1, "measured": relative,
            "detail": {"overlap [m]": pile.overlap, **detail}}  # fmt: skip


def run(threads: int) -> Iterator[dict[str, Any]]:
    """Mixed piles of three sizes, then boxes against the peer."""
    ut.Simulation(make_scene(20), threads=1).advance_to(0.1)  # compiles the kernels
    costs, deepest = [], Settled(0.0, 0.0, 0.0, 0, 0.0)
    for count in (100, 300, 1000):
        pile = _settle(make_scene(count), 2.0, 2.5)
        costs.append(pile.step / pile.contacts)
        deepest = max(deepest, pile, key=lambda p: p.overlap)
        yield {
            "quantity": f"mixed_{count}",
            "size": f"{count} bodies, {pile.contacts:.0f} contacts",
            "threads": 1,
            "seconds_per_step": pile.step,
            "throughput": pile.contacts / pile.step,
            "unit": "contacts/s",
            "measured": pile.step,
            "detail": {"overlap [m]": pile.overlap},
        }
    yield _overlap("overlap_mixed", deepest, "the deepest of the three")
    growth = costs[-1] / costs[0]
    yield {"quantity": "cost_per_contact_growth", "size": "100 to 1000 bodies", "threads": 1, "measured": growth,
           "ratio": growth}  # fmt: skip
    grown = _growth(make_scene(100))
    yield {"quantity": "bytes_kept_per_step", "size": "100 bodies", "threads": 1, "measured": grown}
    for count in (100, 300):
        pile = _settle(make_boxes(count), FALLEN, FALLEN + TIMED)
        size = f"{count} boxes, {pile.contacts:.0f} contacts"
        peer = _mujoco(count)
        depth = {} if peer is None else {"peer's overlap [m]": peer[1]}
        yield _overlap(f"overlap_boxes_{count}", pile, size, **depth)
        if peer is None:
            missing = "not compared (install mujoco, as with the extra peers-rigid)"
            yield {"quantity": f"time_ratio_{count}_not_compared", "size": size, "threads": 1, "measured": None,
                   "seconds_per_step": pile.seconds * TIMED / pile.steps, "against": missing}  # fmt: skip
            continue
        yield {
            "quantity": f"time_ratio_{count}",
            "size": size,
            "threads": 1,
            "seconds_per_step": pile.seconds * TIMED / pile.steps,
            "measured": pile.seconds / peer[0],
            "ratio": pile.seconds / peer[0],
            "against": peer[2],
            "detail": {"seconds_per_simulated_second": pile.seconds, "peer": peer[0]},
        }
    tight = make_boxes(100)
    tight = tight.model_copy(update={"solids": Solids()})
    pile = _settle(tight, FALLEN, FALLEN + TIMED)
    yield {"quantity": "boxes_100_scene_defaults", "size": f"100 boxes, {pile.contacts:.0f} contacts", "threads": 1,
           "seconds_per_step": pile.seconds * TIMED / pile.steps, "measured": pile.seconds,
           "detail": {"overlap [m]": pile.overlap, "solids": "tolerance 1e-5, 50 sweeps"}}  # fmt: skip
