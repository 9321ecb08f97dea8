"""Thin shells in water: what the water's step has to mind where they separate one side from the other."""

from __future__ import annotations

import numpy as np

from undertow.geometry import SolidFields
from undertow.geometry.closing import find_ahead
from undertow.grid import Array
from undertow.surface import Surface
from undertow.transport import Advection, OneSidedExtrapolation, Shells


class ShellSides:
    """Shells as the surface sees them, which follows them in the midst of a step, and as the velocity does, after its
    transport.

    closed: faces that thin solids closed where the surface saw them last. Faces that shells carry along have no mass of
    their own in the solve and count as known where there is water beside them.
    """

    def __init__(self, advection: Advection, solids: SolidFields, surface: Surface) -> None:
        leader = solids.occlusion
        assert leader is not None
        self.solids = solids
        self.surface, self.velocity = Shells(advection, leader), Shells(advection, leader)
        advection.one_sided = self.velocity.transport
        self.extrapolation = OneSidedExtrapolation(
            advection.grid, advection.sides, self.velocity.sight, self.surface.sight
        )
        self._known_f = np.zeros((3, *advection.grid.padded), np.uint8)
        self._carried = self.closed = np.zeros(0, np.int64)
        self.start()
        surface.see(self.surface)

    def start(self) -> None:
        """Both see the shells where they are now."""
        if self.solids.closing is not None:
            self.closed = self.solids.closing.face
        self.surface.start()
        self.velocity.start()

    def uncover(self, u_f: Array, cells_c: Array, rest: tuple[float, ...], dt: float) -> None:
        """Velocities, and cell values (n, Z, Y, X), that shells have passed over, from their new side; dt [s] of the
        step."""
        self.velocity.follow(u_f, cells_c, rest, dt)

    def push_ahead(self, tracked_c: Array) -> None:
        """Volume that is tracked in cells whose centres thin solids pass over goes to the nearest cell before them that
        the centres saw before; the surface has yet to follow."""
        occlusion, leader = self.surface.occlusion, self.surface.leader
        closing = self.solids.closing
        if closing is None:
            return
        self.closed = closing.face
        if np.array_equal(occlusion.x_seen, leader.x_now):
            return
        seen, shift = occlusion.x_seen.copy(), occlusion.shift
        occlusion.place(leader.x_now, leader.shift)
        swept = self.surface.transport.mark_swept()
        cell, ahead = find_ahead(self.solids, occlusion, swept, tracked_c)
        occlusion.place(seen, shift)
        tracked = tracked_c.reshape(-1)
        np.add.at(tracked, ahead, tracked[cell])
        tracked[cell] = 0.0

    def know(self, carried: tuple[np.ndarray, np.ndarray], out_known_f: np.ndarray) -> None:
        """Mark carried faces with water beside them as known, and keep what is known for ``recall``."""
        face, wet = carried
        out_known_f.reshape(-1)[face] = wet
        np.copyto(self._known_f, out_known_f)
        self._carried = face

    def recall(self, carried: tuple[np.ndarray, np.ndarray], out_known_f: np.ndarray) -> None:
        """After the shells have moved: of the faces they carried before, or do now, those are known that were."""
        for face in (self._carried, carried[0]):
            out_known_f.reshape(-1)[face] = self._known_f.reshape(-1)[face]
