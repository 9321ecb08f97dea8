"""What happens at the six sides of the domain: ghost values and prescribed boundary faces.

Side numbers: ``2 * axis + end`` (x_low 0, x_high 1, y_low 2, y_high 3, z_low 4, z_high 5). The velocity wanted at a
wall or inflow is a plane of values per side, so that profiles and moving lids are the same thing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from undertow.grid.exchange import PERIODIC, WALL, Exchange, SideSpec
from undertow.grid.grid import GHOSTS, Grid

KIND_NAMES = ("wall", "inflow", "outflow", "open", "periodic")
SIDE_NAMES = ("x_low", "x_high", "y_low", "y_high", "z_low", "z_high")


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
        self.spec = SideSpec(
            np.array(self.kind, dtype=np.int64),
            np.array(self.slip, dtype=np.int64),
            np.zeros((6, 3, max(py * pz, px * pz, px * py))),
        )
        self.exchange = Exchange(self.grid, self.spec)

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
