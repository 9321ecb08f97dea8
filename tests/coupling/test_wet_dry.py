"""Soft bodies in a fluid that weighs next to nothing move as without fluid: what the solve of all solids in a fluid has
of elasticity, loads, holds, attachments and contact is what the step of solids alone has.

Both move positions with the new velocity, x^n+1 = x^n + dt v, but in a fluid it is v^n+1/2, whose first kick is of
half a step (record 134), and without fluid v^n+1, whose first kick is of a whole one. So without fluid positions are
ahead by the way of a kick dt/2 a^0, to first order dt (v^N - v^0) / 2, which is taken off. Where a body hits another it
loses its velocity at once, at the place where they meet, and positions are compared as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.scene import toml

THIN = 1e-6
"""Density of the fluid [kg/m3]: its mass is 1e-9 to 1e-6 of that of the bodies."""

Table = dict[str, Any]


def box(*size: float) -> Table:
    return {"type": "box", "size": list(size)}


def ball(radius: float) -> Table:
    return {"type": "sphere", "radius": radius}


def soft(shape: Table, position: list[float], **values: Any) -> Table:
    given = {"element_size": 0.1, "density": 100.0, "youngs_modulus": 2e4, "damping": 0.002}
    return {"type": "soft_body", "shape": shape, "position": position, **given, **values}


FLOOR = {"type": "rigid_body", "shape": {"type": "plane", "normal": [0.0, 1.0]}, "position": [0.0, 0.1]}
PIVOT = {"type": "joint", "kind": "hinge", "child": "arm", "position": [0.3, 0.7]}
ARM = {"type": "rigid_body", "shape": box(0.1, 0.2), "position": [0.3, 0.6], "density": 200.0}


def hold(shape: Table, position: list[float], **values: Any) -> Table:
    return {"shape": shape, "position": position, **values}


SCENES: dict[str, tuple[float, int, Table]] = {
    "free": (0.004, 50, {"disc": soft(ball(0.15), [0.4, 0.6], velocity=[0.5, 1.0], angular_velocity=[0.0, 0.0, 2.0])}),
    "beam": (0.004, 60, {"beam": soft(box(0.6, 0.1), [0.5, 0.7], holds=[hold(box(0.1, 0.3), [0.2, 0.7])])}),
    "moved hold": (0.002, 100, {
        "beam": soft(box(0.5, 0.1), [0.5, 0.6], holds=[
            hold(box(0.1, 0.3), [0.25, 0.6], motion={"type": "velocity", "linear": [0.0, 0.5]}),
        ]),
    }),
    "rope": (0.004, 60, {
        "line": {"type": "rope", "position": [0.2, 0.8], "end": [0.8, 0.8], "element_size": 0.1, "density": 0.5,
                 "stretching": 200.0, "damping": 0.01, "holds": [hold(ball(0.02), [0.2, 0.8])]},
    }),
    "loads": (0.004, 50, {
        "beam": soft(box(0.5, 0.1), [0.5, 0.6], holds=[hold(box(0.1, 0.3), [0.25, 0.6])], loads=[
            {"type": "force", "force": [0.0, 40.0], "at": [0.75, 0.6]},
            {"type": "pressure", "pressure": 300.0, "region": {"shape": box(0.6, 0.04), "position": [0.5, 0.55]}},
        ]),
    }),
    "incompressible": (0.004, 50, {
        "disc": soft(ball(0.15), [0.5, 0.6], incompressible=True, youngs_modulus=300.0,
                     holds=[hold(box(0.4, 0.12), [0.5, 0.75])]),
    }),
    "attached": (0.004, 50, {
        "arm": ARM, "pivot": PIVOT,
        "tail": soft(box(0.4, 0.1), [0.5, 0.55], holds=[hold(box(0.1, 0.2), [0.32, 0.55], body="arm")]),
    }),
    "lands": (0.002, 100, {
        "floor": FLOOR, "disc": soft(ball(0.15), [0.4, 0.29], velocity=[0.0, -0.6], damping=0.01, friction=0.0),
    }),
    "carries": (0.002, 100, {
        "floor": FLOOR,
        "cushion": soft(box(0.4, 0.2), [0.5, 0.201], youngs_modulus=2e3, damping=0.02, friction=0.0),
        "brick": {"type": "rigid_body", "shape": box(0.7, 0.1), "position": [0.5, 0.352], "density": 80.0,
                  "friction": 0.0},
    }),
}  # fmt: skip
"""Step [s], number of steps, objects; in 2D.

Corners on soft faces between the nodes: ``test_points_in_fluid``.
"""

HITS = ("lands",)
"""Scenes with an impact."""

CLOTH: Table = {
    "sheet": {"type": "cloth", "size": [0.5, 0.5], "position": [0.5, 0.7, 0.5], "element_size": 0.125, "density": 1.0,
              "stretching": 200.0, "bending": 1e-3, "damping": 0.004,
              "holds": [hold(box(0.6, 0.1, 0.04), [0.5, 0.7, 0.25])]},
}  # fmt: skip


def run(name: str, wet: bool, stepper: str = "implicit") -> tuple[np.ndarray, np.ndarray]:
    """Displacements (n, 3) [m] of all nodes, without those of half a kick, and their velocities (n, 3) [m/s]."""
    dt, steps, objects = SCENES.get(name, (0.004, 50, CLOTH))
    dimensions = 3 if name == "cloth" else 2
    tables: Table = {
        "name": "wet-dry", "objects": objects, "soft": {"stepper": stepper},
        "time": {"end": 10.0, "frame_rate": 0.5, "fixed_step": dt},
    }  # fmt: skip
    if not wet:
        tables["soft"]["tolerance"] = 1e-6
    else:
        tables |= {"domain": {"upper": [1.0] * dimensions, "resolution": 8, "sides": {"y_high": "open"}},
                   "fluid": {"density": THIN, "tolerance": 1e-8}, "coupling": "monolithic"}  # fmt: skip
    sim = ut.Simulation(toml.scene_from_dict(tables), threads=1)
    names = list(sim.scene.softs)
    start = np.concatenate([sim.nodes(one).velocity for one in names])
    for _ in range(steps):
        sim.step()
    found = [sim.nodes(one) for one in names]
    x, v, rest = (np.concatenate([getattr(one, key) for one in found]) for key in ("position", "velocity", "rest"))
    late = 0.0 if wet or name in HITS else -0.5 * dt
    return x + late * (v - start) - rest, v


@pytest.mark.parametrize("name", [*SCENES, "cloth"])
def test_a_soft_body_in_thin_fluid_moves_as_without_fluid(name: str) -> None:
    dry, v = run(name, wet=False)
    wet, w = run(name, wet=True)
    gone = float(np.linalg.norm(dry, axis=1).max())
    print(name, np.linalg.norm(wet - dry, axis=1).max() / gone, gone)
    assert gone > 0.01
    assert np.linalg.norm(wet - dry, axis=1).max() < 0.01 * gone
