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


LOOKS, SOLVES = 10, 40
"""States at which the solve is timed, and how often it is repeated there."""


class Watch:
    """CPU seconds in a method."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method, self.seconds = method, 0.0

    def __call__(self, *args: Any) -> Any:
        start = clock.process_time()
        found = self.method(*args)
        self.seconds += clock.process_time() - start
        return found


def time_solve(forcing: Any, dt: float, contacts: int) -> float:
    """CPU seconds of a solve of the first ``contacts`` that the last step has found, from the velocities it left."""
    found, motion, twists = forcing._contacts, forcing.fluid.points.spec.motion, forcing._twists
    kept = [(array, array.copy()) for array in (motion, twists.v, twists.omega, found.kind, found.impulse)]
    count, forcing.contacts = forcing.contacts, contacts
    taken = []
    for _ in range(SOLVES):
        for array, value in kept:
            array[...] = value
        # what the last solve met is to be done once more
        motion[found.point[:contacts], 1] += 0.01
        start = clock.process_time()
        forcing._solve(dt, forcing.bodies.spec)
        taken.append(clock.process_time() - start)
    forcing.contacts = count
    for array, value in kept:
        array[...] = value
    return float(np.median(taken))


def measure(scheme: str, count: int, resolution: int, steps: int) -> dict[str, float]:
    """Mean error of the velocities [m/s], contacts and dropped ones per step, share of the step, and time per contact
    [s] beyond that of the first."""
    sim = ut.Simulation(make_scene(scheme, 0.5, count, resolution), threads=1)
    forcing = sim.scheme.forcing  # type: ignore[attr-defined]
    while forcing.contacts == 0:  # compiled when bodies first touch the fluid
        sim.step()
    plain, watch = forcing._solve, Watch(forcing._solve)
    errors, contacts, dropped, whole, costs = [], 0, 0, 0.0, []
    for n in range(steps):
        forcing._solve = watch
        start = clock.process_time()
        report = sim.step()
        whole += clock.process_time() - start
        forcing._solve = plain
        errors.append(forcing.velocity_error)
        contacts, dropped = contacts + forcing.contacts, dropped + forcing.dropped
        if (n + 1) % (steps // LOOKS) == 0 and forcing.contacts > 1:
            first, all_of_them = (time_solve(forcing, report.time_step, k) for k in (1, forcing.contacts))
            costs.append((all_of_them - first) / (forcing.contacts - 1))
    return {
        "error": float(np.mean(errors)), "contacts": contacts / steps, "dropped": dropped / steps,
        "share": watch.seconds / whole, "seconds_per_contact": float(np.mean(costs)),
    }  # fmt: skip


def run(full: bool = False) -> Iterator[Quantity]:
    """One and four cubes."""
    resolution, steps = (72, 300) if full else (48, 150)
    found = {(s, n): measure(s, n, resolution, steps) for s in ("local", "global") for n in (1, 4)}
    many = {scheme: found[scheme, 4] for scheme in ("local", "global")}
    errors: dict[str, Any] = {f"error {scheme} [m/s]": value["error"] for scheme, value in many.items()}
    errors |= {f"dropped {scheme}": value["dropped"] / value["contacts"] for scheme, value in many.items()}
    yield quantity("error_ratio", many["global"]["error"] / many["local"]["error"], **errors)
    for scheme in ("local", "global"):
        few, lot = found[scheme, 1], many[scheme]
        yield quantity(
            f"share_{scheme}", lot["share"], contacts=lot["contacts"], contacts_of_one=few["contacts"],
        )  # fmt: skip
        cost = lot["seconds_per_contact"]
        yield quantity(f"growth_{scheme}", cost / few["seconds_per_contact"], seconds_per_contact=cost)
