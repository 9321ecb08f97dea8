"""Cases that must fail: physics broken on purpose, so that a judge who would pass anything is found out.

Each case has a ``broken.py`` beside its ``case.py`` with ``DEFECTS``, at least two defects by name, and, where the
quick form is longer than need be, ``small``, an iterator of some of the quantities of the case at the smallest size
that tells right from wrong. A defect changes what is computed, never what judges it: a context that is entered around
the case. It is found when a quantity that the sound case passes fails with it.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.util
import time as clock
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import numpy as np

from undertow.errors import PhysicsError, UserError
from undertow.fluid import Flow, FlowReport
from undertow.solids.rigid_part import RigidPart
from undertow.validation import runner, stepping
from undertow.validation.targets import find_target, judge

Defect = Callable[[], AbstractContextManager[Any]]
"""Makes the context in which the physics is broken."""
FINDS = (PhysicsError, ArithmeticError, AssertionError, IndexError, ValueError)
"""Errors that count as a case that fails; any other one is a mistake of the defect."""


def chosen(names: list[str] | None) -> list[str]:
    """The names given, checked, or all cases."""
    return runner.chosen("validate", names)


def check(names: list[str], say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """A line for the sound case and one for each of its defects: measured is how many quantities fail with it."""
    for name in names:
        say(f"{name} ...")
        package = runner.known("validate")[name].removesuffix(".case")
        if importlib.util.find_spec(f"{package}.broken") is None:
            yield _line(name, "broken", 0, 0.0, {"error": "the case has no broken.py"})
            continue
        module = importlib.import_module(f"{package}.broken")
        measure = getattr(module, "small", None) or functools.partial(
            importlib.import_module(f"{package}.case").run, full=False
        )
        start = clock.monotonic()
        passed = {q: value for q, value, good in _judged(name, measure()) if good}
        yield _line(name, "sound", len(passed), clock.monotonic() - start, {"passed": passed})
        for words, defect in module.DEFECTS.items():
            start = clock.monotonic()
            detail = _find(name, measure, defect, set(passed))
            found = len(detail.get("failed", ()))
            yield _line(name, f"broken: {words}", found, clock.monotonic() - start, detail)


def _find(case: str, measure: Callable[[], Any], defect: Defect, passed: set[str]) -> dict[str, Any]:
    """The first quantity of the sound case that fails with the defect, and its value."""
    values = {}
    try:
        with defect():
            for quantity, value, good in _judged(case, measure()):
                values[quantity] = value
                if quantity in passed and not good:
                    return {"failed": {quantity: value}}
    except UserError as error:
        return {"error": str(error)}
    except FINDS as error:
        return {"failed": {"completed": None}, "ended": runner.describe_error(error)}
    except Exception as error:
        return {"error": runner.describe_error(error)}
    return {"values": values}


def _judged(case: str, quantities: Any) -> Iterator[tuple[str, float | None, bool]]:
    """(quantity, value, passed) of those that have a bound."""
    for found in quantities:
        name = str(found["quantity"])
        if find_target(case, name) is not None:
            value = None if found["measured"] is None else float(found["measured"])
            value = value if value is None or np.isfinite(value) else None
            yield name, value, bool(judge(case, name, value)["passed"])


def _line(case: str, quantity: str, count: int, seconds: float, detail: dict[str, Any]) -> dict[str, Any]:
    return {
        "case": case, "quantity": quantity, "measured": float(count), "reference": 1.0, "error": float(count < 1),
        "tolerance": 0.0, "passed": count >= 1, "seconds": round(seconds, 3), "detail": detail,
    }  # fmt: skip


# defects --------------------------------------------------------------------------------------------------------------


def frozen(steps: int = 1) -> Defect:
    """Everything stands still after the first step; only the clock goes on."""
    return lambda: stepping.hooked(stepping.SkipAfter(steps))


def after_steps(change: Callable[[Any], None]) -> Defect:
    """What is stepped is changed after every step."""

    def hook(stepped: Any, step: stepping.Step, skip: stepping.Step) -> Any:
        report = step()
        change(stepped)
        return report

    return lambda: stepping.hooked(hook)


def replaced(owner: Any, name: str, make: Callable[[Any], Any]) -> Defect:
    """An attribute of a module or class that is ``make(what it was)``."""
    return lambda: stepping.replaced(owner, name, make(getattr(owner, name)))


def left_out(owner: Any, name: str) -> Defect:
    """A method of ``owner``, which gives nothing back, does nothing."""
    return replaced(owner, name, lambda old: lambda *arguments: None)


def scaled(owner: Any, name: str, factor: float) -> Defect:
    """A function that returns a number or an array times ``factor``: 0.5 halves it, -1 is the wrong sign."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: factor * original(*args, **kwargs)

    return replaced(owner, name, make)


def with_options(owner: Any, name: str, **options: Any) -> Defect:
    """A function or class that is called with other options than the case gives it."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: original(*args, **{**kwargs, **options})

    return replaced(owner, name, make)


def together(*defects: Defect) -> Defect:
    """Several at once."""

    @contextmanager
    def entered() -> Iterator[None]:
        with ExitStack() as stack:
            for defect in defects:
                stack.enter_context(defect())
            yield

    return entered


def scene_changed(change: Callable[[Any], Any]) -> Defect:
    """Simulations are built from ``change(scene)`` while the case believes in its own scene."""
    from undertow.run.simulation import Simulation

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def build(self: Any, scene: Any, *args: Any, **kwargs: Any) -> None:
            original(self, change(scene), *args, **kwargs)

        return build

    return replaced(Simulation, "__init__", make)


def gravity(factor: float) -> Defect:
    """Gravity of simulations times ``factor``: 0 leaves it out, -1 turns it round."""
    return scene_changed(
        lambda scene: scene.model_copy(update={"gravity": tuple(factor * float(g) for g in scene.gravity)})
    )


def fluid(**factors: float) -> Defect:
    """Numbers of the fluid of simulations times factors, such as ``viscosity=2.0``."""

    def change(scene: Any) -> Any:
        values = {name: factor * getattr(scene.fluid, name) for name, factor in factors.items()}
        return scene.model_copy(update={"fluid": scene.fluid.model_copy(update=values)})

    return scene_changed(change)


def fluid_with(**values: Any) -> Defect:
    """Settings of the fluid of simulations, such as ``advection="none"``."""
    return scene_changed(lambda s: s.model_copy(update={"fluid": s.fluid.model_copy(update=values)}))


def objects(kind: str, **changes: Any) -> Defect:
    """Objects of one class (``"RigidBody"``) with other values; a function of the value, or the value itself.

    Values that an object does not have (None) stay.
    """

    def change(scene: Any) -> Any:
        new = {}
        for name, item in scene.objects.items():
            values = {}
            for key, value in changes.items():
                if type(item).__name__ == kind and getattr(item, key) is not None:
                    values[key] = value(getattr(item, key)) if callable(value) else value
            new[name] = item.model_copy(update=values) if values else item
        return scene.model_copy(update={"objects": new})

    return scene_changed(change)


def body_reads(**changes: Callable[[Any], Any]) -> Defect:
    """What ``Simulation.body`` tells of a body, changed: ``position=lambda x: ...``, ``force=lambda f: 0.5 * f``."""
    from undertow.run.simulation import Simulation

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def body(self: Any, name: str) -> Any:
            found = original(self, name)
            return dataclasses.replace(found, **{key: make(getattr(found, key)) for key, make in changes.items()})

        return body

    return replaced(Simulation, "body", make)


def mirrored(axis: int) -> Defect:
    """Velocities of bodies along an axis have the wrong sign."""
    sign = np.ones(3)
    sign[axis] = -1.0
    return body_reads(velocity=lambda v: sign * v)


def sampled(name: str, factor: float) -> Defect:
    """A field that ``Simulation.sample`` reads, times ``factor``: 0 is constant, -1 the wrong sign."""
    from undertow.run.simulation import Simulation

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def sample(self: Any, field: str, points: object) -> Any:
            return original(self, field, points) * (factor if field == name else 1.0)

        return sample

    return replaced(Simulation, "sample", make)


def world(**settings: Any) -> Defect:
    """Other settings of ``SolidsWorld``, such as ``gravity``."""
    from undertow.solids import SolidsWorld

    return with_options(SolidsWorld, "__init__", **settings)


def world_bodies(**options: Any) -> Defect:
    """Other options of the bodies of ``SolidsWorld``, such as ``friction=0.0``."""
    from undertow.solids import SolidsWorld

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, *args, **kwargs: original(self, *args, **{**kwargs, **options})

    return replaced(SolidsWorld, "add", make)


def momentum_lost(share: float) -> Defect:
    """Rigid bodies lose a share of momentum and angular momentum in every step."""

    def change(stepped: Any) -> None:
        bodies = getattr(stepped, "bodies", None) or getattr(getattr(stepped, "model", None), "bodies", None)
        if bodies is not None:
            bodies.p_b *= 1.0 - share
            bodies.L_b *= 1.0 - share
            bodies.derive_velocities()

    return after_steps(change)


def elastic_force(factor: Any) -> Defect:
    """Forces of all soft elements times ``factor``, a number or one for each axis; the energy stays as it is."""
    from undertow.soft.assembly import Forces

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def measure(self: Any, x: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
            energy = original(self, x, f, *args, **kwargs)
            f *= np.asarray(factor)
            return energy

        return measure

    return replaced(Forces, "measure", make)


def equilibrium(case: Any, factor: Any) -> Defect:
    """``find_equilibrium`` of a case, its load times ``factor``, a number or a matrix (3, 3); None: nothing moves."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def find(bodies: Any, force: Any, *args: Any, **kwargs: Any) -> Any:
            if factor is None:
                return None
            turned = force * factor if np.ndim(factor) == 0 else force @ np.asarray(factor).T
            return original(bodies, np.ascontiguousarray(turned), *args, **kwargs)

        return find

    return replaced(case, "find_equilibrium", make)


def damp_nodes(share: float) -> Callable[[Any], None]:
    """Nodes of what is stepped lose a share of their velocity: for ``after_steps``."""

    def change(stepped: Any) -> None:
        stepped.bodies.v[...] *= 1.0 - share

    return change


def first_argument(owner: Any, name: str, change: Callable[[Any], Any]) -> Defect:
    """A method whose first argument is changed."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, first, *args, **kwargs: original(self, change(first), *args, **kwargs)

    return replaced(owner, name, make)


def last_argument(factor: float) -> Callable[[Any], Any]:
    """For ``replaced``: a function or class whose last argument by position is times ``factor``."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: original(*args[:-1], factor * args[-1], **kwargs)

    return make


def smaller(case: Any, **constants: Any) -> Iterator[Any]:
    """The quantities of a case with smaller constants of its module."""
    with ExitStack() as stack:
        for name, value in constants.items():
            stack.enter_context(stepping.replaced(case, name, value))
        yield from case.run(full=False)


def ledger_column(name: str, least: float) -> Defect:
    """A column of the ledger that is never less than ``least``."""

    def hook(stepped: Any, step: stepping.Step, skip: stepping.Step) -> Any:
        report = step()
        row = {**report.ledger, name: max(report.ledger[name], least)}
        return dataclasses.replace(report, ledger=row)

    return lambda: stepping.hooked(hook)


def ledger_scaled(name: str, factor: float) -> Defect:
    """A column of the ledger times ``factor``."""

    def hook(stepped: Any, step: stepping.Step, skip: stepping.Step) -> Any:
        report = step()
        return dataclasses.replace(report, ledger={**report.ledger, name: factor * report.ledger[name]})

    return lambda: stepping.hooked(hook)


def creep(way: float) -> Callable[[Any], None]:
    """Rigid bodies that move move by ``way`` [m] along x: for ``after_steps``."""

    def change(stepped: Any) -> None:
        bodies = stepped.part(RigidPart).bodies
        bodies.x_b[bodies.inv_mass_b > 0, 0] += way

    return change


def solids_with(**values: Any) -> Defect:
    """Settings of the solids of simulations, such as ``energy_fix=False``."""
    return scene_changed(lambda s: s.model_copy(update={"solids": s.solids.model_copy(update=values)}))


def no_solve() -> Defect:
    """The implicit solve of a flow does nothing."""
    return replaced(Flow, "project", lambda project: lambda self, u_f, viscous_dt: FlowReport())


def solve_scaled(factor: float) -> Defect:
    """The implicit solve of a flow, and velocities times ``factor`` after it."""

    def change(project: Any) -> Any:
        def scaled(self: Flow, u_f: Any, viscous_dt: float) -> FlowReport:
            report: FlowReport = project(self, u_f, viscous_dt)
            u_f *= factor
            return report

        return scaled

    return replaced(Flow, "project", change)
