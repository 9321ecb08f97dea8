"""Slip along the ramp of the gallery's scene, and along a periodic one whose frictionless motion is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.sph.part import SphPart
from undertow.validation.analysis import Array, Quantity, quantity

START, END, EVERY = 0.7, 1.0, 0.02
"""Times [s] at which the jet on the ramp is looked at: it has passed the middle of the ramp by then."""
FROM, TO = 0.3, 0.9
"""Part of the way from the upper to the lower end of the ramp that is looked at."""

SLOPE = np.radians(30.0)
LENGTH, PLATE, LAYER = 0.6, 0.1, 0.2
"""Of the periodic ramp, thickness of the plate and of the layer [m]."""
PERIODIC_END = 0.25


def on_ramp(sim: ut.Simulation) -> tuple[Array, Array]:
    """Velocities down the ramp of the particles that touch it [m/s], and their numbers."""
    fluid, ramp = sim.part(SphPart).fluid, sim.body("ramp")
    size = [2.0 * half for half in sim.scene.bodies["ramp"].shape.half_size()]
    # the ramp falls to the right: its own x points down the slope
    place = (fluid.positions() - ramp.position) @ ramp.matrix
    along = place[:, 0] / size[0] + 0.5
    height = place[:, 1] - 0.5 * size[1]
    chosen = np.flatnonzero((height < 2.0 * fluid.radius) & (along > FROM) & (along < TO))
    return (fluid.velocities() @ ramp.matrix)[chosen, 0], fluid.points.spec.label[fluid.fluid_rows()][chosen]


def flow_down(slip: float, resolution: int) -> dict[str, float]:
    """The jet of the scene with eps = slip: mean and largest velocity of particles that touch the ramp [m/s], mean
    acceleration along it of those that touch it at two looks / g sin(slope)."""
    scene = ut.scene("slip-ramp", resolution=resolution)
    sim = ut.Simulation(scene.model_copy(update={"sph": scene.sph.model_copy(update={"slip": slip})}))
    speeds, gains = [], []
    last: dict[int, float] = {}
    for time in np.arange(START, END + 1e-9, EVERY):
        sim.advance_to(float(time))
        u, chosen = on_ramp(sim)
        now = dict(zip(chosen.tolist(), u.tolist(), strict=True))
        gains += [(now[i] - last[i]) / EVERY for i in now if i in last]
        speeds.append(u)
        last = now
    slope = sim.body("ramp").matrix[:, 0] @ np.array([0.0, -9.81, 0.0])
    all_speeds = np.concatenate(speeds)
    if not gains:  # nothing touches the ramp
        return dict.fromkeys(("mean", "largest", "touching", "acceleration"), float("nan"))
    return {"mean": float(all_speeds.mean()), "largest": float(np.abs(all_speeds).max()),
            "touching": len(all_speeds) / len(speeds), "acceleration": float(np.mean(gains) / slope)}  # fmt: skip


def make_layer(resolution: int) -> ut.Scene:
    """A layer on a plate that slides freely, periodic along a slope of 30 degrees: gravity is turned, not the plate."""
    g = 9.81
    return ut.Scene(
        name="slip",
        gravity=(g * float(np.sin(SLOPE)), -g * float(np.cos(SLOPE))),
        domain=ut.Domain(
            upper=(LENGTH, 0.5), resolution=resolution,
            sides={"x_low": "periodic", "x_high": "periodic", "y_high": "open"},
        ),
        time=ut.Time(end=PERIODIC_END, frame_rate=20),
        objects={
            "layer": ut.SphFluid(shape=ut.Box(size=(2 * LENGTH, LAYER)), position=(LENGTH / 2, PLATE + LAYER / 2)),
            "plate": ut.RigidBody(
                shape=ut.Box(size=(2 * LENGTH, PLATE, 1.0)), position=(LENGTH / 2, PLATE / 2), slip=True
            ),
        },
    )  # fmt: skip


def run(full: bool = False) -> Iterator[Quantity]:
    """eps from no slip to full slip."""
    found = {eps: flow_down(eps, 160 if full else 80) for eps in (0.0, 0.25, 0.5, 0.75, 1.0)}
    means = [v["mean"] for v in found.values()]
    detail: dict[str, Any] = {f"eps {eps:g}": m for eps, m in zip(found, means, strict=True)}
    steps = list(zip(means, means[1:], strict=False))
    yield quantity("not_monotone", float(sum(b <= a for a, b in steps)), unit="m/s", **detail)
    # from sticking (0) there is no ratio: the first is that of 0.5 to 0.25
    yield quantity("least_rise", min(b / a for a, b in steps[1:]) if min(means[1:]) > 0 else 0.0)
    yield quantity("frictionless", found[1.0]["acceleration"], touching=found[1.0]["touching"], slip_velocity=means[-1])
    yield quantity("sticking", found[0.0]["largest"], touching=found[0.0]["touching"])
    sim = ut.Simulation(make_layer(60 if full else 30))
    sim.advance_to(PERIODIC_END)
    u = sim.part(SphPart).fluid.velocities()[:, 0]
    yield quantity("frictionless_layer", float(u.mean()) / (9.81 * float(np.sin(SLOPE)) * PERIODIC_END))
