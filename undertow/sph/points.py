"""All points of an SPH simulation in one set of arrays: fluid, boundary particles, and copies across periodic sides."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from undertow.grid import Array, share

Whole = Any


class PointSpec(NamedTuple):
    """What the kernels see, one row per point, in the order of the cells.

    place (n, 4): position [m] and mass [kg; 2D kg/m]; motion (n, 4): velocity [m/s] and pressure / density^2, for
    boundary particles both as the fluid sees them; change (n, 4): acceleration [m/s2] and density [kg/m3] of fluid;
    label (n,): number of a fluid particle, GHOST, or -1 - k for boundary particle k; built (3, n): coordinates from
    origin (3,) [m] when the lists were made, in single precision and each in a row: the search for neighbours reads
    many of them, one after the other.
    """

    place: Array
    motion: Array
    change: Array
    label: Whole
    built: Array
    origin: Array


class BoundarySpec(NamedTuple):
    """Boundary particles, those of bodies before those of the domain's sides.

    where (n,): their points; velocity (n, 3): of the wall there [m/s]; stick (n,): 1 where viscous fluid sticks, 0
    where it slides; force (bodies, 6): pressure and viscous force of the fluid on those of bodies [N; 2D N/m].
    """

    where: Whole
    velocity: Array
    stick: Array
    force: Array


class Points:
    """The arrays, with room for more points than there are."""

    def __init__(self, origin: Array) -> None:
        self.count = 0
        self._arrays = _make_arrays(0, origin)

    @property
    def spec(self) -> PointSpec:
        """All rows, living ones first; kernels are told how many there are."""
        return self._arrays

    def reserve(self, room: int) -> None:
        """Room for so many points, at least."""
        if room <= len(self._arrays.label):
            return
        larger = _make_arrays(room, self._arrays.origin)
        for old, new in zip(_by_rows(self._arrays), _by_rows(larger), strict=True):
            new[: self.count] = old[: self.count]
        self._arrays = larger

    def append(self, position: Array, mass: Array | float, velocity: Array, label: Whole) -> None:
        """Add points at the end."""
        first, last = self.count, self.count + len(position)
        if last > len(self._arrays.label):
            # sources add a little at a time; what is added before the start should fit closely
            self.reserve(max(last, len(self._arrays.label) + len(self._arrays.label) // 16))
        points = self._arrays
        points.place[first:last, :3] = position
        points.place[first:last, 3] = mass
        points.motion[first:last] = 0.0
        points.motion[first:last, :3] = velocity
        points.change[first:last] = 0.0
        points.label[first:last] = label
        points.built[:, first:last] = np.asarray(position - points.origin).T
        self.count = last

    def keep(self, chosen: Array) -> None:
        """Drop the points that are not chosen (count,)."""
        kept = int(np.count_nonzero(chosen))
        for array in _by_rows(self._arrays):
            array[:kept] = array[: self.count][chosen]
        self.count = kept

    @property
    def order(self) -> Whole:
        """Room for an order of the points (count,); it lies where ``built`` is, which a new order makes void."""
        return self._arrays.built.reshape(-1).view(np.uint32)[: self.count]

    def permute(self, order: Whole) -> None:
        """Put the points in order, where lists are then made; accelerations and densities are lost."""
        n, points = self.count, self._arrays
        # three arrays of four columns go round: no other scratch is needed
        share(_take_rows, n, n, points.place, order, points.change)
        place, spare = points.change, points.place
        share(_take_rows, n, n, points.motion, order, spare)
        motion, spare = spare, points.motion
        label = spare.reshape(-1).view(points.label.dtype)[:n]
        share(_take_rows, n, n, points.label, order, label)
        points.label[:n] = label
        self._arrays = points._replace(place=place, motion=motion, change=spare)
        share(_mark_built, n, n, self._arrays)


def _take_rows(source: Array, order: Whole, out: Array, start: int, stop: int) -> None:
    np.take(source, order[start:stop], axis=0, out=out[start:stop], mode="clip")


def _mark_built(points: PointSpec, start: int, stop: int) -> None:
    points.change[start:stop] = 0.0
    points.built[:, start:stop] = (points.place[start:stop, :3] - points.origin).T


def _make_arrays(room: int, origin: Array) -> PointSpec:
    place, motion, change = (_make_rows(room) for _ in range(3))
    return PointSpec(place, motion, change, np.zeros(room, dtype=np.int32), np.zeros((3, room), np.float32), origin)


def _by_rows(points: PointSpec) -> tuple[Array, ...]:
    """The arrays with one row per point."""
    return (points.place, points.motion, points.change, points.label, points.built.T)


def _make_rows(room: int) -> Array:
    """Four columns, every row within one line of the cache (64 bytes): rows are read in no order."""
    plain = np.zeros(4 * room + 8)
    skip = (-plain.ctypes.data % 64) // 8
    return plain[skip : skip + 4 * room].reshape(room, 4)
