"""Scalar fields to look at, derived from the cell fields of a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.output.frames import FrameData

DERIVED = ("speed", "vorticity", "velocity_x", "velocity_y", "velocity_z")
"""Fields every frame with a velocity has besides its own."""

UNITS = {
    "speed": "m/s",
    "velocity_x": "m/s",
    "velocity_y": "m/s",
    "velocity_z": "m/s",
    "vorticity": "1/s",
    "pressure": "Pa",
    "density": "kg/m3",
    "temperature": "K",
    "smoke": "",
    "level_set": "m",
}


def field_names(frame: FrameData) -> list[str]:
    """Names that ``scalar_field`` accepts for this frame."""
    own = [name for name, values in frame.cell_fields.items() if values.ndim == 3]
    derived = list(DERIVED) if "velocity" in frame.cell_fields else []
    if frame.dimensions == 2 and derived:
        derived.remove("velocity_z")
    return own + [name for name in derived if name not in own]


def scalar_field(frame: FrameData, name: str) -> np.ndarray:
    """A scalar (nz, ny, nx), float32: a stored one, speed |u| or a velocity component [m/s], or the vorticity [1/s].

    The vorticity is its z component in 2D and its magnitude in 3D; differences are central, one-sided at the edges.
    """
    stored = frame.cell_fields.get(name)
    if stored is not None and stored.ndim == 3:
        return stored
    if stored is not None and name == "vorticity":
        return _vorticity_scalar(stored, frame.dimensions)
    velocity = frame.cell_fields.get("velocity")
    if velocity is None or name not in field_names(frame):
        raise UserError(
            f"field {name!r}: not in frame {frame.index}; it has {', '.join(field_names(frame))}. "
            "Add what you need to the scene's output.fields"
        )
    if name == "speed":
        return np.sqrt(np.sum(velocity * velocity, axis=0))
    if name == "vorticity":
        return _vorticity_scalar(_curl(velocity, frame.need_grid().dx), frame.dimensions)
    return np.ascontiguousarray(velocity["xyz".index(name[-1])])


def default_field(frame: FrameData, wanted: str | None = None) -> str:
    """The field of a picture: the one wanted, or smoke, or in 2D the vorticity and in 3D the speed."""
    if wanted is not None:
        return wanted
    for name in ("smoke", "level_set"):
        if name in frame.cell_fields:
            return name
    if "velocity" not in frame.cell_fields:
        return field_names(frame)[0]
    return "vorticity" if frame.dimensions == 2 else "speed"


def is_signed(name: str, dimensions: int) -> bool:
    """True for fields drawn on a diverging scale around zero."""
    return (
        name.startswith("velocity_") or name in ("pressure", "level_set") or (name == "vorticity" and dimensions == 2)
    )


def middle_slice(values: np.ndarray) -> np.ndarray:
    """The plane z = middle (ny, nx) of a field: between the two middle layers when their number is even."""
    nz = values.shape[0]
    return np.asarray(0.5 * (values[(nz - 1) // 2] + values[nz // 2]))


def refine(field: np.ndarray) -> np.ndarray:
    """A field of cells, of any dimension, on cells of half the edge: quadratic B-spline subdivision (3/4, 1/4).

    Linear samples of the result have no creases at the centres of the coarse cells, and it overshoots nowhere.
    """
    for axis in range(field.ndim):
        moved = np.moveaxis(field, axis, 0)
        padded = np.concatenate([moved[:1], moved, moved[-1:]])
        fine = np.empty((2 * len(moved), *moved.shape[1:]), dtype=np.float32)
        fine[0::2] = 0.75 * moved + 0.25 * padded[:-2]
        fine[1::2] = 0.75 * moved + 0.25 * padded[2:]
        field = np.moveaxis(fine, 0, axis)
    return np.ascontiguousarray(field)


def fade_sides(smoke: np.ndarray) -> np.ndarray:
    """Smoke (nz, ny, nx) that fades out over the outermost cells: beyond the sides of the domain there is none, and a
    picture would show it cut off by a knife."""
    faded = np.array(smoke, dtype=np.float32)
    for axis in range(3):
        moved = np.moveaxis(faded, axis, 0)
        if len(moved) > 4:
            moved[[0, -1]] *= 0.25
            moved[[1, -2]] *= 0.75
    return faded


def soften_sources(
    smoke: np.ndarray, lower: np.ndarray, dx: float, objects: Mapping[str, Any], time: float
) -> np.ndarray:
    """Smoke (nz, ny, nx) in cells of dx [m] from the corner lower (3,) [m] that thins out towards its edge at the
    emitters among the objects of a scene that are at work at a time [s].

    An emitter sets the smoke of its cells: behind it there is none in the next cell, and a picture would show the end
    of a solid rod. Nothing is added: smoke that lies deeper than about two cells stays, the rim is thinner.
    """
    from scipy.ndimage import maximum_filter

    shown = np.array(smoke, dtype=np.float32)
    for item in objects.values():
        if item.get("type") != "emitter" or not item.get("start", 0.0) <= time <= item.get("stop", np.inf):
            continue
        centre, radius = np.asarray(item["position"], dtype=float), _reach(item["shape"]) + 3.0 * dx
        if not np.isfinite(radius):
            continue
        low = np.clip(np.floor((centre - radius - lower) / dx).astype(int), 0, smoke.shape[::-1])
        high = np.clip(np.ceil((centre + radius - lower) / dx).astype(int), 0, smoke.shape[::-1])
        if (high <= low).any():
            continue
        part = tuple(slice(a, b) for a, b in zip(low[::-1], high[::-1], strict=True))
        axes = [lower[a] + (np.arange(low[a], high[a]) + 0.5) * dx - centre[a] for a in (2, 1, 0)]
        away = np.sqrt(sum(np.square(x).reshape([-1 if i == a else 1 for i in range(3)]) for a, x in enumerate(axes)))
        weight = np.clip((radius - away) / (3.0 * dx), 0.0, 1.0)
        sharp = shown[part]
        # of blurred smoke half is left at an edge and all in the middle. A sheet of a cell or two has no such middle:
        # what its densest cells within three of them keep, at least 0.3, is all
        kept = np.minimum(_blur(sharp, 3) / np.maximum(sharp, 1e-30), 1.0)
        dense = np.where(sharp > 0.5 * sharp.max(), kept, 0.0)
        kept = np.minimum(kept / np.maximum(maximum_filter(dense, size=7), 0.3), 1.0)
        shown[part] = sharp * (1.0 - weight * (1.0 - np.clip(2.0 * kept - EDGE, 0.0, 1.0)))
    return shown


EDGE = 0.75
"""Of a flat edge, whose blurred smoke is a half, a quarter is shown."""


def _blur(field: np.ndarray, passes: int) -> np.ndarray:
    """A field of cells, averaged with its neighbours along every axis so many times; the outermost are
    their own neighbours outside."""
    out: np.ndarray = np.asarray(field, dtype=np.float32)
    for axis in list(range(field.ndim)) * passes:
        moved = np.moveaxis(out, axis, 0)
        padded = np.concatenate([moved[:1], moved, moved[-1:]])
        out = np.moveaxis(0.25 * padded[:-2] + 0.5 * moved + 0.25 * padded[2:], 0, axis)
    return out


def _reach(shape: Mapping[str, Any]) -> float:
    """Radius [m] of a ball around a shape of a scene; infinite when its size is not in the scene."""
    half = 0.5 * float(shape.get("length", 0.0))
    if "size" in shape:
        return 0.5 * float(np.linalg.norm(shape["size"]))
    if "radius" not in shape:
        return np.inf
    return float(np.hypot(shape["radius"], half) if shape["type"] == "cylinder" else shape["radius"] + half)


def color_limits(values: Sequence[np.ndarray], name: str, dimensions: int) -> tuple[float, float]:
    """Color limits that leave out the extreme one percent (boundary layers would dim everything else)."""
    pool = np.concatenate([v.reshape(-1)[:: max(1, v.size // 200_000)] for v in values])
    pool = pool[np.isfinite(pool)]
    if is_signed(name, dimensions):
        bound = _round_up(float(np.quantile(np.abs(pool), 0.985)))
        return -bound, bound
    if name == "temperature":
        return float(pool.min()), max(float(pool.max()), float(pool.min()) + 1e-6)
    return 0.0, _round_up(float(np.quantile(pool, 0.998)))


def _round_up(value: float) -> float:
    """The next number of two digits, so that the color bar reads well."""
    if not value > 0.0:
        return 1.0
    power = 10.0 ** (np.floor(np.log10(value)) - 1)
    return float(np.ceil(value / power) * power)


def _vorticity_scalar(w: np.ndarray, dimensions: int) -> np.ndarray:
    return np.ascontiguousarray(w[2]) if dimensions == 2 else np.sqrt(np.sum(w * w, axis=0))


def _curl(u: np.ndarray, dx: float) -> np.ndarray:
    """curl u of a cell-centred velocity (3, nz, ny, nx)."""

    def d(component: int, axis: int) -> np.ndarray:
        values = u[component]
        if values.shape[2 - axis] < 2:
            return np.zeros_like(values)
        return np.asarray(np.gradient(values, dx, axis=2 - axis))

    return np.stack([d(2, 1) - d(1, 2), d(0, 2) - d(2, 0), d(1, 0) - d(0, 1)]).astype(np.float32)
