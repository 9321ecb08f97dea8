"""What touched what in a step, for users: the contacts of all its solves, each place once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from undertow.grid import Array


class ContactSet(NamedTuple):
    """n contacts of the last step: places where two bodies touched, or came near enough to touch within it.

    first, second (n,): names of the bodies. point (n, 3) [m]; normal (n, 3): unit, from the second towards the first;
    impulse (n, 3) [N s; 2D N s/m]: what the first got there over the step, the second got its reverse; gap (n,) [m]:
    negative where they overlap. 0 impulse: they did not touch.
    """

    first: Any
    second: Any
    point: Array
    normal: Array
    impulse: Array
    gap: Array

    def of(self, name: str) -> ContactSet:
        """Those of a body, as the first of the two: what it got."""
        own, other = self.first == name, self.second == name
        turned = ContactSet(self.second, self.first, self.point, -self.normal, -self.impulse, self.gap)
        parts = zip(self, turned, strict=True)
        return ContactSet(*(np.concatenate([a[own], b[other]]) for a, b in parts))


def no_contacts() -> ContactSet:
    """None at all."""
    return ContactSet(np.zeros(0, dtype=object), np.zeros(0, dtype=object), np.zeros((0, 3)), np.zeros((0, 3)),
                      np.zeros((0, 3)), np.zeros(0))  # fmt: skip


def join_contacts(parts: Iterable[ContactSet]) -> ContactSet:
    """All of several sets."""
    return ContactSet(*(np.concatenate(arrays) for arrays in zip(no_contacts(), *parts, strict=True)))


def name_array(names: Sequence[str], chosen: Any) -> Any:
    """Names (n,) by their numbers."""
    return np.array([*names, ""], dtype=object)[chosen]


class Solved(NamedTuple):
    """Contacts (m,) of one solve of rigid bodies: numbers of both (m, 2), point, normal, impulse (m, 3), gap (m,)."""

    pair: Any
    point: Array
    normal: Array
    impulse: Array
    gap: Array


class ContactRecord:
    """The contacts of a step of rigid bodies, solve by solve: collisions, positions, those in a fluid, velocities."""

    def __init__(self) -> None:
        self._solved: dict[str, Solved] = {}

    def begin(self) -> None:
        """A step without contacts so far."""
        self._solved.clear()

    def note(self, solve: str, rows: Any, count: int, x: Array, impulse: Array, gap: Array) -> None:
        """What a solve found, in the place of what it had found before: the first ``count`` rows of contact, bodies
        being at x (n, 3) [m], with impulses (m, 3) [N s] in the world."""
        pair = rows.body[:count].copy()
        point = x[pair[:, 0]] + rows.lever[:count, :3]
        normal = rows.frame[:count, :3].copy()
        self._solved[solve] = Solved(pair, point, normal, impulse[:count, :3].copy(), gap[:count])

    def contacts(self, names: Sequence[str], solves: Sequence[str] | None = None) -> ContactSet:
        """Each place once: where solves have a contact of the same pair, what an earlier one did counts with the
        nearest contact of the later one. solves: those alone that are named, None: all."""
        kept = self.solved(solves)
        if kept is None or not len(kept.gap):
            return no_contacts()
        return ContactSet(name_array(names, kept.pair[:, 0]), name_array(names, kept.pair[:, 1]), *kept[1:])

    def keep(self, solve: str, solved: Solved) -> None:
        """Contacts that are as if a solve had found them."""
        self._solved[solve] = solved

    def solved(self, solves: Sequence[str] | None = None) -> Solved | None:
        """The same with numbers of bodies, sorted by pairs; None without any."""
        kept: Solved | None = None
        chosen = [one for name, one in self._solved.items() if solves is None or name in solves]
        for solved in reversed(chosen):
            kept = solved if kept is None else _merge(kept, solved)
        if kept is None:
            return None
        order = np.lexsort((kept.pair[:, 1], kept.pair[:, 0]))
        return Solved(*(array[order] for array in kept))


def _merge(later: Solved, earlier: Solved) -> Solved:
    """Contacts of two solves; of the earlier one those alone whose pair the later one does not have."""
    impulse = later.impulse.copy()
    key, own = (one.pair[:, 0] * (1 << 32) + one.pair[:, 1] for one in (later, earlier))
    order = np.argsort(key, kind="stable")
    start, end = (np.searchsorted(key[order], own, side) for side in ("left", "right"))
    count = end - start
    paired = np.flatnonzero(count)
    if len(paired):
        # for every earlier contact all those that its pair has in the later solve, in their order
        begin = np.concatenate([[0], np.cumsum(count[paired])])
        place = np.repeat(start[paired] - begin[:-1], count[paired]) + np.arange(begin[-1])
        away = later.point[order[place]] - np.repeat(earlier.point[paired], count[paired], axis=0)
        far = np.linalg.norm(away, axis=1)
        least = np.repeat(np.minimum.reduceat(far, begin[:-1]), count[paired])
        nearest = np.minimum.reduceat(np.where(far <= least, place, len(order)), begin[:-1])
        np.add.at(impulse, order[nearest], earlier.impulse[paired])
    both = zip(later._replace(impulse=impulse), earlier, strict=True)
    return Solved(*(np.concatenate([a, b[count == 0]]) for a, b in both))
