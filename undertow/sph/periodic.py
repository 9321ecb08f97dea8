"""Periodic sides: particles that leave come in at the other side, and those near a side are copied beyond the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from undertow.grid import Array
from undertow.sph.neighbours import GHOST
from undertow.sph.points import Points
from undertow.sph.sides import SphBox


def wrap_points(points: Points, box: SphBox) -> None:
    """Particles that left through a periodic side come in at the other."""
    spec, rows = points.spec, np.flatnonzero(points.spec.label[: points.count] >= 0)
    for axis in np.flatnonzero(box.period):
        x, lower, period = spec.place[rows, axis], box.lower[axis], box.period[axis]
        spec.place[rows, axis] = np.where(x < lower, x + period, np.where(x >= lower + period, x - period, x))


def make_ghosts(points: Points, box: SphBox, reach: float) -> tuple[Any, Array]:
    """Copies of the particles within ``reach`` [m] of periodic sides, at the end of the points.

    What they copy (n,), and how far away they are (n, 3) [m].
    """
    label = points.spec.label[: points.count]
    source = np.flatnonzero(label >= 0)
    every_source, every_shift = [source], [np.zeros((len(source), 3))]
    lower, upper = np.asarray(box.lower), np.asarray(box.upper)
    for axis in np.flatnonzero(box.period):
        old_source, old_shift = np.concatenate(every_source), np.concatenate(every_shift)
        x = points.spec.place[old_source, axis]
        for sign, near in ((1.0, x < lower[axis] + reach), (-1.0, x >= upper[axis] - reach)):
            moved = old_shift[near].copy()
            moved[:, axis] += sign * box.period[axis]
            every_source.append(old_source[near])
            every_shift.append(moved)
    source, shift = np.concatenate(every_source[1:]), np.concatenate(every_shift[1:])
    place = points.spec.place[source]
    points.append(place[:, :3] + shift, place[:, 3], points.spec.motion[source, :3], GHOST)
    return source, shift
