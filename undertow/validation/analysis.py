"""Orders, extremes and frequencies: what the cases read off their runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Quantity = dict[str, Any]


def quantity(
    name: str, measured: float, *, info: bool = False, reference: float | None = None, **detail: Any
) -> Quantity:
    """One line of a case's result; ``info`` marks a figure that is reported and not judged."""
    if info:
        detail["info"] = True
    return {"quantity": name, "measured": measured, "reference": reference, "detail": detail}


def observed_order(sizes: Sequence[float], errors: Sequence[float]) -> float:
    """Slope of log error against log cell size by least squares; ``sizes`` are cell counts."""
    slope, _ = np.polyfit(-np.log(np.asarray(sizes, dtype=float)), np.log(np.asarray(errors, dtype=float)), 1)
    return float(slope)


def extrapolate(sizes: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """(limit, order) of v = limit + c h^order through the values on three grids of so many cells, coarse to fine.

    NaN where the values do not close up from one grid to the next as a power of the cell size does.
    """
    h = 1.0 / np.asarray(sizes, dtype=float)
    v = np.asarray(values, dtype=float)

    def ratio(order: float) -> float:
        return float((h[0] ** order - h[1] ** order) / (h[1] ** order - h[2] ** order))

    first, second = v[0] - v[1], v[1] - v[2]
    found = float(first / second) if second else float("nan")
    low, high = 1e-3, 12.0
    if not ratio(low) < found < ratio(high):
        return float("nan"), float("nan")
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if ratio(middle) < found else (low, middle)
    return float(v[2] - second * h[2] ** low / (h[1] ** low - h[2] ** low)), low


def extreme(values: np.ndarray, largest: bool) -> float:
    """Largest or smallest value of equally spaced samples, refined by the parabola through its neighbours."""
    v = np.asarray(values if largest else -values, dtype=float)
    i = int(np.clip(np.argmax(v), 1, v.size - 2))
    a, b, c = v[i - 1], v[i], v[i + 1]
    bend = a - 2 * b + c
    peak = b - (c - a) ** 2 / (8 * bend) if bend < 0 else b
    return float(peak if largest else -peak)


def frequency(times: np.ndarray, signal: np.ndarray) -> float:
    """Mean frequency [1/s] from the upward crossings of the signal's mean, interpolated linearly; NaN without any."""
    s = np.asarray(signal, dtype=float) - np.mean(signal)
    up = np.nonzero((s[:-1] < 0) & (s[1:] >= 0))[0]
    if up.size < 3:
        return float("nan")
    crossings = times[up] + (times[up + 1] - times[up]) * (-s[up]) / (s[up + 1] - s[up])
    return float((crossings.size - 1) / (crossings[-1] - crossings[0]))
