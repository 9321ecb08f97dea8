"""The two schemes of direct forcing side by side: how well they meet the wanted velocities, and what they cost."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity


def make_scene(scheme: str, slip: float, count: int, resolution: int) -> ut.Scene:
    """``count`` cubes drop into a tank of particles."""
    objects: dict[str, Any] = {"water": ut.SphFluid(shape=ut.Box(size=(1.2, 0.4, 0.4)), position=(0.6, 0.2, 0.2))}
    for i in range(count):
        objects[f"cube-{i}"] = ut.RigidBody(
            shape=ut.Box(size=(0.16, 0.16, 0.16)), position=(0.15 + 0.3 * i, 0.42, 0.2), density=500.0 + 300.0 * i
        )
    return ut.Scene(
        name="local-global",
        coupling="direct_forcing",
        domain=ut.Domain(upper=(1.2, 0.8, 0.4), resolution=resolution, sides={"y_high": "open"}),
        time=ut.Time(end=1.0, frame_rate=20),
        sph=ut.Sph(scheme=scheme, slip=slip),
        objects=objects,
    )


class Watch:
    """CPU seconds in a method."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method, self.seconds = method, 0.0

    def __call__(self, *args: Any) -> Any:
        start = clock.process_time()
        found = self.method(*args)
        self.seconds += clock.process_time() - start
        return found


def measure(scheme: str, count: int, resolution: int, steps: int) -> dict[str, float]:
    """Mean error of the velocities [m/s], contacts per step, share of the step and time per contact [s]."""
    sim = ut.Simulation(make_scene(scheme, 0.5, count, resolution), threads=1)
    forcing = sim.model.forcing  # type: ignore[attr-defined]
    while forcing.contacts == 0:  # compiled when bodies first touch the fluid
        sim.step()
    forcing._solve = watch = Watch(forcing._solve)
    errors, contacts, start = [], 0, clock.process_time()
    for _ in range(steps):
        sim.step()
        errors.append(forcing.velocity_error)
        contacts += forcing.contacts
    whole = clock.process_time() - start
    return {
        "error": float(np.mean(errors)), "contacts": contacts / steps, "share": watch.seconds / whole,
        "seconds_per_contact": watch.seconds / max(contacts, 1),
    }  # fmt: skip


def run(full: bool = False) -> Iterator[Quantity]:
    """One and four cubes."""
    resolution, steps = (72, 300) if full else (48, 150)
    found = {(s, n): measure(s, n, resolution, steps) for s in ("local", "global") for n in (1, 4)}
    many = {scheme: found[scheme, 4] for scheme in ("local", "global")}
    errors: dict[str, Any] = {f"error {scheme} [m/s]": value["error"] for scheme, value in many.items()}
    yield quantity("error_ratio", many["global"]["error"] / many["local"]["error"], **errors)
    for scheme in ("local", "global"):
        few, lot = found[scheme, 1], many[scheme]
        yield quantity(
            f"share_{scheme}", lot["share"], contacts=lot["contacts"], contacts_of_one=few["contacts"],
        )  # fmt: skip
        yield quantity(f"growth_{scheme}", lot["seconds_per_contact"] / few["seconds_per_contact"])
