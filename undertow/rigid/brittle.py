"""When a body breaks: its strength, and the loads of the last moments that are held against it.

A load on a body is the impulse J [N s] that one other body, or the fluid, gives it in a step: of all contacts of the
pair and all solves of the step together, so that neither the number of contacts nor that of solves counts. Of a pair
that was in touch in the step before, with J' its impulse per time, the part that lasts is

    J_l = J' dt   if |J' dt| < |J|,   else J,          J_s = J - J_l

and J_s is sudden: that of a collision. A pair that meets in the step at the closing speed u of its beginning, to which
weight and forces add du, after a share s of it, has J_l = m (1 - s) du, m being its reduced mass: what is left is the
impulse at the speed u + s du with which the bodies meet, whatever dt. (Where they bounce, J is that of u alone; see
``Meeting``.) A body breaks where |J_s| passes its impulse (thesis 2.4.2 [@schroeder2011]), or where the impulses of the
last T = ``time`` seconds pass its force,

    | sum J_s in the last T  +  sum J_l (overlap of the step with the last T) / dt |  >  force T,

which is the mean force of what lasts where steps are longer than T, and does not depend on dt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from undertow.grid import Array
from undertow.part import Vector

FLUID = -1
"""In the place of the identity of another body: the fluid."""

PARTING = -2
"""The same for what pulls a body apart along its first axis; -3 and -4 along the others."""

OWN, OTHER, UNTIL, DURATION = range(4)
SUDDEN, LASTING = slice(4, 7), slice(7, 10)
"""Columns of the rows of a history: identities, end and length of the step [s], impulses [N s]."""


@dataclass(frozen=True)
class Brittle:
    """How a body breaks: the pattern with its number of ``pieces`` (0: a folder of meshes), seed and options; strength
    as an impulse [N s; 2D N s/m] of one collision and as a force [N; 2D N/m], mean over ``time`` [s]; smallest [m]:
    pieces of less than the volume of its cube are debris; most: pieces at most; method: of ``geometry.fracture``; color
    of the cracks."""

    pattern: str
    pieces: int
    seed: int
    options: tuple[tuple[str, Any], ...] = ()
    impulse: float = math.inf
    force: float = math.inf
    time: float = 0.005
    smallest: float = 0.0
    most: int = 1000
    method: str = "mesh"
    color: Vector = (0.93, 0.87, 0.76)


class Loads(NamedTuple):
    """m pairs of a body and what loads it, in one step: identities (m,), impulse (m, 3) on the body [N s], point (m, 3)
    where it acts [m]; lasting (m,): the part of the impulse that is not that of a collision, if the pair was not in
    touch before [N s]; by whom."""

    own: Any
    other: Any
    impulse: Array
    point: Array
    lasting: Array
    by: tuple[str, ...]


class Meeting(NamedTuple):
    """How pairs (m,) of bodies meet in a step dt [s], or one pair: closing speed [m/s] at its beginning and what forces
    add to it over the step; gap [m]; reduced mass [kg; 2D kg/m]; impulse [N s] by which they bounced; new: one of them
    was not there before the step, or nothing was."""

    speed: Any
    added: Any
    gap: Any
    mass: Any
    bounce: Any
    new: Any

    def lasting(self, impulse: Any, dt: float) -> Any:
        """The part of impulses (m,) [N s] that is not that of their collision."""
        speed, added = np.asarray(self.speed, dtype=float), np.asarray(self.added, dtype=float)
        total, mean = speed + added, speed + 0.5 * added
        s = np.where(mean > 0.0, np.clip(self.gap / np.where(mean > 0.0, mean * dt, 1.0), 0.0, 1.0), 0.0)
        bounced = impulse - self.bounce * (1.0 + s * added / np.where(speed > 0.0, speed, 1.0))
        pressed = (1.0 - s) * added * np.minimum(self.mass, impulse / np.where(total > 0.0, total, 1.0))
        found = np.where((added > 0.0) & (total > 0.0), pressed, 0.0)
        found = np.where((np.asarray(self.bounce) > 0.0) & (speed > 0.0), bounced, found)
        return np.where(np.asarray(self.new, dtype=bool) & (speed <= 0.0), impulse, found)


class Judged(NamedTuple):
    """What loads (m,) amount to: sudden impulse [N s], mean force [N] over the time of the body, the larger of them in
    parts of the strength, above 1 of which the body breaks; met: whether the pair was not in touch before."""

    impulse: Array
    force: Array
    share: Array
    met: Any


class LoadHistory:
    """Loads of the last moments, one row per pair and step; rows (n, 10), see the columns, are state."""

    def __init__(self) -> None:
        self.rows: Array = np.zeros((0, 10))
        self._new: Array = self.rows

    def judge(self, loads: Loads, strength: Array, until: float, dt: float) -> Judged:
        """What the loads of a step dt [s] until a time [s] amount to, with those before; strength (m, 3): impulse [N
        s], force [N] and time [s] of each body. ``keep`` takes them over."""
        new = np.zeros((len(loads.own), 10))
        new[:, OWN], new[:, OTHER], new[:, UNTIL], new[:, DURATION] = loads.own, loads.other, until, dt
        size = np.linalg.norm(loads.impulse, axis=1)
        before, touched = self._last(new, until - dt)
        before *= dt
        less = np.where(np.linalg.norm(before, axis=1) < size, 1.0, 0.0)[:, None]
        meets = (loads.lasting / np.maximum(size, 1e-300))[:, None] * loads.impulse
        again = less * before + (1.0 - less) * loads.impulse
        new[:, LASTING] = np.where(touched[:, None], again, meets)
        new[:, SUDDEN] = loads.impulse - new[:, LASTING]
        self._new = new
        impulse = np.linalg.norm(new[:, SUDDEN], axis=1)
        force = np.linalg.norm(self._within(new, strength[:, 2], until), axis=1) / strength[:, 2]
        share = np.maximum(impulse / strength[:, 0], force / strength[:, 1])
        return Judged(impulse, force, share, ~touched)

    def keep(self, longest: float) -> None:
        """What was judged last has happened; nothing that is older than ``longest`` [s] counts any longer."""
        if len(self._new):
            until = float(self._new[0, UNTIL])
            old = self.rows[self.rows[:, UNTIL] > until - longest]
            self.rows = np.concatenate([old, self._new])
        else:
            self.rows = self.rows[:0]
        self._new = self.rows[:0]

    def knows(self, own: Any) -> Any:
        """Whether bodies (m,) had any load in the last moments (m,)."""
        return np.isin(own, self.rows[:, OWN])

    def _last(self, new: Array, until: float) -> tuple[Array, Any]:
        """Impulse per time (m, 3) [N] of the same pairs in the step that ended at a time [s], and whether they had any
        (m,)."""
        rows = self.rows[np.abs(self.rows[:, UNTIL] - until) <= 1e-9 * np.maximum(1.0, abs(until))]
        found = np.zeros((len(new), 3))
        place = _find(new, rows)
        there = place >= 0
        np.add.at(found, place[there], ((rows[:, SUDDEN] + rows[:, LASTING]) / rows[:, DURATION, None])[there])
        touched = np.zeros(len(new), dtype=bool)
        touched[place[there]] = True
        return found, touched

    def _within(self, new: Array, time: Array, until: float) -> Array:
        """Impulse (m, 3) [N s] of the pairs in the last ``time`` (m,) [s], the new rows among it."""
        rows = np.concatenate([self.rows, new])
        place = _find(new, rows)
        rows, place = rows[place >= 0], place[place >= 0]
        since = until - time[place]
        begin = rows[:, UNTIL] - rows[:, DURATION]
        overlap = np.clip((rows[:, UNTIL] - np.maximum(begin, since)) / rows[:, DURATION], 0.0, 1.0)
        sudden = (rows[:, UNTIL] > since).astype(float)
        found = np.zeros((len(new), 3))
        np.add.at(found, place, sudden[:, None] * rows[:, SUDDEN] + overlap[:, None] * rows[:, LASTING])
        return found


def _find(new: Array, rows: Array) -> Any:
    """For every row the place of its pair among the new ones (n,), -1 without."""
    if not len(new) or not len(rows):
        return np.full(len(rows), -1, dtype=np.int64)
    known, number = np.unique(np.concatenate([new[:, :2], rows[:, :2]]), return_inverse=True)
    number = number.reshape(-1, 2)
    key = number[:, 0] * len(known) + number[:, 1]
    own, order = key[: len(new)], np.argsort(key[: len(new)], kind="stable")
    place = order[np.minimum(np.searchsorted(own[order], key[len(new) :]), len(new) - 1)]
    return np.where(own[place] == key[len(new) :], place, -1)
