"""Piles of rigid bodies: time per step and contacts per second; the same boxes in MuJoCo as the peer.

Mixed bodies: 100, 300 and 1000, the mean of the steps of the last half second, when the pile has formed. Boxes: ours at
60 Hz (the step the method is made for), MuJoCo at the 4 ms its contact model needs; seconds of computing per simulated
second, after one second of falling, one thread each.
"""

from __future__ import annotations

import time as clock
import tracemalloc
from collections.abc import Iterator
from typing import Any

import undertow as ut
from undertow.scene import Scene
from undertow.scene.gallery.rigid_pile import make_boxes, make_scene

RECORDED = {100: 0.29, 300: 11.9}
"""Seconds per simulated second of MuJoCo 3 on a two-core x86-64 machine, 2026-11."""


def _settle(scene: Scene, until: float, end: float) -> tuple[float, float, int]:
    """Seconds of computing per simulated second from ``until`` to ``end`` [s], mean contacts, and steps."""
    sim = ut.Simulation(scene, threads=1)
    sim.advance_to(until)
    contacts = steps = 0
    start = clock.perf_counter()
    while sim.time < end - 1e-9:
        contacts += int(sim.step().ledger["contacts"])
        steps += 1
    return (clock.perf_counter() - start) / (end - until), contacts / steps, steps


def _growth(scene: Scene) -> float:
    """Bytes that stay allocated per step once the buffers have grown."""
    sim = ut.Simulation(scene, threads=1)
    sim.advance_to(1.5)
    tracemalloc.start()
    sim.step()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(20):
        sim.step()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return grown / 20


def _mujoco(count: int) -> tuple[float, str]:
    """Seconds per simulated second of the same boxes in MuJoCo, and where the figure comes from."""
    try:
        import mujoco  # type: ignore[import-not-found]
    except ImportError:
        return RECORDED[count], f"MuJoCo 3, recorded {RECORDED[count]} s per simulated second, 2026-11"
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
        '<mujoco><option timestep="0.004" gravity="0 0 -9.81"/><size memory="2G"/><worldbody>'
        '<geom type="plane" size="50 50 1"/>' + "".join(bodies) + "</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    for _ in range(250):
        mujoco.mj_step(model, data)
    start = clock.perf_counter()
    for _ in range(100):
        mujoco.mj_step(model, data)
    return (clock.perf_counter() - start) / 0.4, f"MuJoCo {mujoco.__version__} in the same run"


def run(threads: int) -> Iterator[dict[str, Any]]:
    """Mixed piles of three sizes, then boxes against the peer."""
    ut.Simulation(make_scene(20), threads=1).advance_to(0.1)  # compiles the kernels
    costs = []
    for count in (100, 300, 1000):
        scene = make_scene(count)
        seconds, contacts, steps = _settle(scene, 2.0, 2.5)
        per_step = seconds * 0.5 / steps
        costs.append(per_step / contacts)
        yield {
            "quantity": f"mixed_{count}",
            "size": f"{count} bodies, {contacts:.0f} contacts",
            "threads": 1,
            "seconds_per_step": per_step,
            "throughput": contacts / per_step,
            "unit": "contacts/s",
            "measured": per_step,
        }
    growth = costs[-1] / costs[0]
    yield {"quantity": "cost_per_contact_growth", "size": "100 to 1000 bodies", "threads": 1, "measured": growth,
           "ratio": growth}  # fmt: skip
    grown = _growth(make_scene(100))
    yield {"quantity": "bytes_kept_per_step", "size": "100 bodies", "threads": 1, "measured": grown}
    for count in (100, 300):
        ours, contacts, steps = _settle(make_boxes(count), 1.0, 1.5)
        peer, source = _mujoco(count)
        yield {
            "quantity": f"time_ratio_{count}",
            "size": f"{count} boxes, {contacts:.0f} contacts",
            "threads": 1,
            "seconds_per_step": ours * 0.5 / steps,
            "measured": ours / peer,
            "ratio": ours / peer,
            "against": source,
            "detail": {"seconds_per_simulated_second": ours, "peer": peer},
        }
