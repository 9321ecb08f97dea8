"""What happens at the six sides of the domain: ghost values and prescribed boundary faces.

Side numbers: ``2 * axis + end`` (x_low 0, x_high 1, y_low 2, y_high 3, z_low 4, z_high 5). The velocity wanted at a
wall or inflow is a plane of values per side, so that profiles and moving lids are the same thing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numba import njit

from undertow.grid.grid import GHOSTS, Array, Grid
from undertow.grid.threads import share

WALL, INFLOW, OUTFLOW, OPEN, PERIODIC = range(5)
KIND_NAMES = ("wall", "inflow", "outflow", "open", "periodic")
SIDE_NAMES = ("x_low", "x_high", "y_low", "y_high", "z_low", "z_high")


class SideSpec(NamedTuple):
    """What kernels need of the sides.

    kind (6,), slip (6,): tangential velocity free (1) or prescribed (0).
    velocity (6, 3, m): prescribed velocity over the padded plane of the side, flattened ``[later axis, earlier axis]``
    where the earlier axis is the lower-numbered of the two in-plane axes.
    """

    kind: np.ndarray
    slip: np.ndarray
    velocity: np.ndarray


@dataclass
class Sides:
    """The sides of one grid. ``kind[s]`` per side; walls are no-slip unless ``slip[s]``."""

    grid: Grid
    kind: list[int] = field(default_factory=lambda: [WALL] * 6)
    slip: list[bool] = field(default_factory=lambda: [False] * 6)

    def __post_init__(self) -> None:
        for axis in range(3):
            low, high = self.kind[2 * axis], self.kind[2 * axis + 1]
            if (low == PERIODIC) != (high == PERIODIC):
                raise ValueError(
                    f"sides: {SIDE_NAMES[2 * axis]} and {SIDE_NAMES[2 * axis + 1]} must both be periodic, or neither"
                )
        pz, py, px = self.grid.padded
        plane = max(py * pz, px * pz, px * py)
        self._work = 2 * GHOSTS * plane if self.grid.dimensions == 3 else 0
        self.spec = SideSpec(
            np.array(self.kind, dtype=np.int64),
            np.array(self.slip, dtype=np.int64),
            np.zeros((6, 3, plane)),
        )

    def plane_axes(self, side: int) -> tuple[int, int]:
        """The two in-plane axes, the earlier one first (it is the fast index of the plane)."""
        axis = side // 2
        first, second = (a for a in range(3) if a != axis)
        return first, second

    def set_velocity(self, side: int, velocity: np.ndarray | tuple[float, float, float]) -> None:
        """A constant velocity (3,) or planes (3, n_second, n_first) over the interior cells of the side [m/s].

        Values are constant over a cell's face; ghosts of the plane repeat the nearest value.
        """
        first, second = self.plane_axes(side)
        n1, n2 = self.grid.cells[first], self.grid.cells[second]
        values = np.asarray(velocity, dtype=float)
        if values.shape == (3,):
            values = np.broadcast_to(values[:, None, None], (3, n2, n1))
        if values.shape != (3, n2, n1):
            raise ValueError(f"sides: velocity planes of side {side} have shape {values.shape}, need {(3, n2, n1)}")
        padded = np.pad(values, ((0, 0), (GHOSTS, GHOSTS), (GHOSTS, GHOSTS)), mode="edge")
        self.spec.velocity[side, :, : padded[0].size] = padded.reshape(3, -1)

    def is_periodic(self, axis: int) -> bool:
        return self.kind[2 * axis] == PERIODIC

    def fill_velocity(self, u_f: Array) -> None:
        """Set prescribed boundary faces and all ghosts of a face velocity."""
        # along z after the others: there the edges of planes already filled are read
        planes, rows, _ = self.grid.padded
        share(_fill_velocity_ghosts, planes, 3 * self._work, self.grid.spec, self.spec, u_f, 0, 2)
        if self.grid.dimensions == 3:
            share(_fill_velocity_ghosts, rows, 3 * self._work, self.grid.spec, self.spec, u_f, 2, 3)

    def fill_centred(self, q_c: Array, inflow: float = 0.0, ambient: float = 0.0) -> None:
        """Set all ghosts of a cell field: mirrored at walls, ``inflow`` and ``ambient`` beyond those sides."""
        planes, rows, _ = self.grid.padded
        share(_fill_centred_ghosts, planes, self._work, self.grid.spec, self.spec, q_c, inflow, ambient, 0, 2)
        if self.grid.dimensions == 3:
            share(_fill_centred_ghosts, rows, self._work, self.grid.spec, self.spec, q_c, inflow, ambient, 2, 3)


@njit(cache=True, nogil=True)
def _fill_velocity_ghosts(spec, sides, u, first_axis, last_axis, start, stop):  # type: ignore[no-untyped-def]
    """Ghosts axis by axis, so that edges and corners follow from the planes already filled.

    start, stop: planes along z, or rows along y for the axis z: lines of ghosts do not leave them.
    """
    n = (spec.nx, spec.ny, spec.nz)
    stride = (1, spec.nx + 2 * GHOSTS, (spec.nx + 2 * GHOSTS) * (spec.ny + 2 * GHOSTS))
    flat = u.reshape(3, u.shape[1] * u.shape[2] * u.shape[3])
    for axis in range(first_axis, last_axis):
        first = 1 if axis == 0 else 0
        second = 1 if axis == 2 else 2
        m1 = n[first] + 2 * GHOSTS
        # a 2D field lives in its middle plane alone
        low = max(start, GHOSTS) if spec.dimensions == 2 else start
        high = min(stop, GHOSTS + 1) if spec.dimensions == 2 else stop
        s, s1, s2 = stride[axis], stride[first], stride[second]
        lo = GHOSTS
        hi = GHOSTS + n[axis]
        for c in range(spec.dimensions):
            for end in range(2):
                side = 2 * axis + end
                kind = sides.kind[side]
                prescribed = kind in (WALL, INFLOW)
                out = 2 * end - 1
                # index at which the value is given or continued, and layers beyond it: the high boundary face of the
                # normal component is itself the first ghost, so two layers remain beyond it
                edge = (hi if c == axis else hi - 1) if end == 1 else lo
                layers = GHOSTS - 1 if c == axis and end == 1 else GHOSTS
                if kind == PERIODIC:
                    edge = hi - 1 if end == 1 else lo
                    layers = GHOSTS
                elif c == axis and prescribed:
                    for b in range(low, high):
                        for a in range(m1):
                            flat[c, a * s1 + b * s2 + edge * s] = sides.velocity[side, c, b * m1 + a]
                for turn in range((high - low) * layers):
                    # the layers of a line of cells one after the other: they lie in the same piece of memory
                    b = low + turn // layers
                    m = 1 + turn % layers
                    # ghost = keep * value + sign * source
                    if kind == PERIODIC:
                        source, sign, keep = edge + out * (m - n[axis]), 1.0, 0.0
                    elif not prescribed:
                        source, sign, keep = edge, 1.0, 0.0
                    elif c == axis:
                        source, sign, keep = edge - out * min(m, n[axis]), -1.0, 2.0
                    elif sides.slip[side] == 1:
                        source, sign, keep = edge - out * min(m - 1, n[axis] - 1), 1.0, 0.0
                    else:
                        source, sign, keep = edge - out * min(m - 1, n[axis] - 1), -1.0, 2.0
                    ghost = edge + out * m
                    for a in range(m1 if keep == 0.0 else 0):
                        p = a * s1 + b * s2
                        flat[c, p + ghost * s] = sign * flat[c, p + source * s]
                    for a in range(m1 if keep != 0.0 else 0):
                        p = a * s1 + b * s2
                        value = keep * sides.velocity[side, c, b * m1 + a]
                        flat[c, p + ghost * s] = value + sign * flat[c, p + source * s]


@njit(cache=True, nogil=True)
def _fill_centred_ghosts(spec, sides, q, inflow, ambient, first_axis, last_axis, start, stop):  # type: ignore[no-untyped-def]
    n = (spec.nx, spec.ny, spec.nz)
    stride = (1, spec.nx + 2 * GHOSTS, (spec.nx + 2 * GHOSTS) * (spec.ny + 2 * GHOSTS))
    flat = q.reshape(q.size)
    for axis in range(first_axis, last_axis):
        first = 1 if axis == 0 else 0
        second = 1 if axis == 2 else 2
        low = max(start, GHOSTS) if spec.dimensions == 2 else start
        high = min(stop, GHOSTS + 1) if spec.dimensions == 2 else stop
        s, s1, s2 = stride[axis], stride[first], stride[second]
        lo = GHOSTS
        hi = GHOSTS + n[axis]
        for b in range(low, high):
            for m in range(1, GHOSTS + 1):
                for end in range(2):
                    kind = sides.kind[2 * axis + end]
                    edge = hi - 1 if end == 1 else lo
                    out = 2 * end - 1
                    ghost = (edge + out * m) * s + b * s2
                    if kind in (INFLOW, OPEN):
                        value = inflow if kind == INFLOW else ambient
                        for a in range(n[first] + 2 * GHOSTS):
                            flat[a * s1 + ghost] = value
                        continue
                    inside = edge
                    if kind == PERIODIC:
                        inside = edge + out * (m - n[axis])
                    elif kind != OUTFLOW:
                        inside = edge - out * min(m - 1, n[axis] - 1)
                    source = inside * s + b * s2
                    for a in range(n[first] + 2 * GHOSTS):
                        flat[a * s1 + ghost] = flat[a * s1 + source]
