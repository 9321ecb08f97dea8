"""The one place that decides whether a measured quantity is good enough: bounds come from targets.toml alone."""

from __future__ import annotations

import math
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from undertow.errors import UserError

TARGETS = Path(__file__).with_name("targets.toml")
FORMS = ({"min"}, {"max"}, {"reference", "within"}, {"reference", "absolute"})


@cache
def load_targets() -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    """targets[kind][case][quantity], kind being ``validate`` or ``bench``; every entry has one of the known forms."""
    targets = tomllib.loads(TARGETS.read_text(encoding="utf-8"))
    for kind, cases in targets.items():
        for case, quantities in cases.items():
            for quantity, target in quantities.items():
                if set(target) - {"full"} not in FORMS:
                    raise ValueError(f"targets.toml: {kind}.{case}.{quantity} = {target}: needs min, max, or reference "
                                     f"with within or absolute")  # fmt: skip
    return targets


def find_target(case: str, quantity: str, kind: str = "validate") -> dict[str, float] | None:
    """The target of a quantity, or None."""
    return load_targets().get(kind, {}).get(case, {}).get(quantity)


def unmeasured(case: str, measured: set[str], full: bool, kind: str = "validate") -> list[str]:
    """Quantities with a target that a case should have measured and has not."""
    targets = load_targets().get(kind, {}).get(case, {})
    return [name for name, target in targets.items() if name not in measured and (full or not target.get("full"))]


def judge(case: str, quantity: str, measured: float | None, kind: str = "validate") -> dict[str, Any]:
    """reference, error, tolerance, passed and absolute of a measured value.

    A bound (min, max): reference is the bound, error the shortfall (0 when met), tolerance 0. A band: error is
    |measured - reference| relative to |reference|, or absolute. What is no finite number has not passed.
    """
    target = find_target(case, quantity, kind)
    if target is None:
        raise UserError(f"{kind} {case}: the quantity {quantity!r} has no entry in validation/targets.toml; add one")
    value = math.nan if measured is None else float(measured)
    if "min" in target or "max" in target:
        bound = float(target.get("min", target.get("max", 0.0)))
        shortfall = max(0.0, bound - value if "min" in target else value - bound)
        verdict = {"reference": bound, "error": shortfall, "tolerance": 0.0, "absolute": False}
    else:
        reference = float(target["reference"])
        absolute = "absolute" in target
        error = abs(value - reference) / (1.0 if absolute else abs(reference))
        tolerance = float(target["absolute"] if absolute else target["within"])
        verdict = {"reference": reference, "error": error, "tolerance": tolerance, "absolute": absolute}
    if not math.isfinite(value):
        return {**verdict, "error": None, "passed": False}
    return {**verdict, "passed": bool(verdict["error"] <= verdict["tolerance"])}
