"""Runs validation cases and benchmarks by name and judges what they measured."""

from __future__ import annotations

import importlib
import math
import time as clock
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from undertow.errors import PhysicsError, UserError
from undertow.validation import drawing
from undertow.validation.targets import find_target, judge, unmeasured

BENCH_KEYS = (
    "case", "quantity", "size", "threads", "seconds_per_step", "throughput", "unit", "iterations", "memory_mb",
    "compile_seconds", "ratio", "against", "bound", "passed",
)  # fmt: skip
UNMEASURED = "ended without measuring it"


def known(kind: str) -> dict[str, str]:
    """Module of every case (kind ``validate``) or benchmark (kind ``bench``) by its name."""
    package = Path(__file__).resolve().parents[1]
    if kind == "validate":
        names = sorted(path.parent.name for path in (package / "validation").glob("*/case.py"))
        return {name.replace("_", "-"): f"undertow.validation.{name}.case" for name in names}
    names = sorted(path.stem for path in (package / "benchmarks").glob("[a-z]*.py"))
    return {name.replace("_", "-"): f"undertow.benchmarks.{name}" for name in names}


def chosen(kind: str, names: list[str] | None) -> list[str]:
    """The names given, checked, or all."""
    cases = known(kind)
    for name in names or ():
        if name not in cases:
            raise UserError(f"{kind}: there is no case {name!r}; the cases are {', '.join(cases)}")
    return list(names or cases)


def validate(names: list[str], full: bool, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """One line per quantity: case, quantity, measured, reference, error, tolerance, passed, seconds, detail."""
    for name in names:
        say(f"{name} ...")
        module = importlib.import_module(known("validate")[name])
        start = clock.monotonic()
        quantities, found = iter(module.run(full=full)), set()
        while (measured := _next(name, quantities)) is not None:
            seconds, start = clock.monotonic() - start, clock.monotonic()
            found.add(str(measured["quantity"]))
            yield _finite(_judged(name, measured, seconds))
        for missing in unmeasured(name, found, full):
            yield _judged(name, {"quantity": missing, "detail": {"error": UNMEASURED}}, 0.0)


def drawn(results: Iterator[dict[str, Any]], folder: Path, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """The results as they are, the curves of each drawn into the folder."""
    for result in results:
        path = drawing.draw(folder, result)
        if path is not None:
            say(f"wrote {path}")
        yield result


def _next(case: str, quantities: Iterator[dict[str, Any]]) -> dict[str, Any] | None:
    """The next quantity; a case that ends in an error has one that has not passed, and the next case runs."""
    try:
        return next(quantities, None)
    except PhysicsError as error:
        words = str(error)
    except Exception as error:
        words = describe_error(error)
    return {"case": case, "quantity": "completed", "measured": None, "detail": {"error": words}}


def describe_error(error: Exception) -> str:
    """The error in a line, and the line of the package that it comes from."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "undertow" in f.filename]
    where = f" ({frames[-1].filename.rsplit('undertow/', 1)[-1]}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


def _judged(case: str, measured: dict[str, Any], seconds: float) -> dict[str, Any]:
    quantity, value = str(measured["quantity"]), _number(measured.get("measured"))
    detail = dict(measured.get("detail") or {})
    if find_target(case, quantity) is not None:
        verdict = judge(case, quantity, value)
        if verdict.pop("absolute"):
            detail["absolute"] = True
    elif detail.get("info"):
        reference = _number(measured.get("reference"))
        error = None if not reference or value is None else abs(value - reference) / abs(reference)
        verdict = {"reference": reference, "error": error, "tolerance": None, "passed": value is not None}
    elif "error" in detail and value is None:
        verdict = {"reference": None, "error": None, "tolerance": None, "passed": False}
    else:
        raise UserError(f"validate {case}: {quantity!r} has no target and is not marked as information; add a target")
    line = {"case": case, "quantity": quantity, "measured": value, **verdict}
    return {**line, "seconds": round(seconds, 3), "detail": detail}


def bench(names: list[str], threads: int, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """One line per quantity with the keys of ``BENCH_KEYS``; a benchmark gives the value to judge as ``measured``.

    A benchmark whose peer is not in the run gives ``compared`` = False: ratio and passed are then None.
    """
    for name in names:
        say(f"{name} ...")
        module = importlib.import_module(known("bench")[name])
        quantities, seen = iter(module.run(threads)), set()
        while (found := _next(name, quantities)) is not None:
            seen.add(str(found["quantity"]))
            line = (
                {"threads": threads} | {key: found.get(key) for key in BENCH_KEYS if key != "threads"} | {"case": name}
            )
            measured = _number(found.get("measured"))
            target = find_target(name, str(found["quantity"]), "bench")
            if target is not None:
                verdict = judge(name, str(found["quantity"]), measured, "bench")
                # without its peer in the run there is no ratio, and nothing to be passed
                passed = verdict["passed"] if found.get("compared", True) else None
                line |= {"bound": verdict["reference"], "passed": passed}
            else:
                line |= {"bound": None, "passed": found["quantity"] != "completed"}
            yield _finite({**line, "measured": measured, "detail": found.get("detail") or {}})
        for missing in unmeasured(name, seen, True, "bench"):
            line = dict.fromkeys(BENCH_KEYS) | {"case": name, "quantity": missing, "threads": threads}
            bound = judge(name, missing, None, "bench")["reference"]
            yield {**line, "bound": bound, "passed": False, "measured": None, "detail": {"error": UNMEASURED}}


def _number(value: Any) -> float | None:
    """A finite float, or None."""
    if value is None or not math.isfinite(float(value)):
        return None
    return float(value)


def _finite(value: Any) -> Any:
    """NaN and infinity as null, NumPy numbers as plain ones; JSON knows neither."""
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if hasattr(value, "tolist"):
        return _finite(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
