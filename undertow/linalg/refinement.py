"""Rows met to a true residual: solves on what the solve before left.

A Krylov solve knows the residual of its own unknowns, b - A z. What counts is that of the rows on velocities that have
been changed,

    r(w) = K w - s,      less its part in the null space of K B^-1 K^T, which no dual can change,

over the unknowns that there are. Rounding of K^T z leaves the more of it the lighter a velocity is (B^-1 K^T z of a
body a billionth as heavy as what it moves takes nine digits with it). So with a target t for its 2-norm,

    while ||r(w)|| > t:      solve A dz = r(w) to the tolerance max(margin t / ||r(w)||, floor),      z += dz,

floor being what one solve can attain: ROUNDING times how much lighter than what it moves the lightest velocity is.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from undertow.errors import PhysicsError
from undertow.grid import Array
from undertow.linalg.coupled import CoupledSystem, SolveStats

ROUNDING = 1e-14
"""What rounding leaves of a row where velocities weigh as much as what they move, relative to where a solve starts."""

PASSES = 6
"""Of solves: one, and more for velocities so light that rounding ends a solve."""


class Refinement:
    """K w = s for the only dual rows of a system in its dual form, as the head of the module says.

    lightness: how many times lighter than what it moves the lightest velocity is. margin: part of the target that a
    solve aims at.
    """

    def __init__(self, system: CoupledSystem, lightness: float = 1.0, margin: float = 1.0) -> None:
        if system.reduction != "dual" or len(system.dual) != 1:
            raise ValueError(f"refinement: one block of dual rows is refined, the system is {system.reduction!r}")
        self.system, self.lightness, self.margin = system, max(lightness, 1.0), margin
        self.name = system.dual[0].name
        self.z = np.zeros(system.dual_shapes[self.name])
        """Duals of the last solve."""

    def residual(self, w: Mapping[str, Array]) -> float:
        """||r(w)||; r(w) itself is in the system's ``right_hand_side``."""
        return self.system.residual(self.name, w)

    def solve(self, w: Mapping[str, Array], z: Array, target: float) -> list[SolveStats]:
        """w such that ||r(w)|| <= target; what the duals do for that is added to z. Raises PhysicsError."""
        space = self.system.space(self.name)
        solves: list[SolveStats] = []
        for _ in range(PASSES):
            norm = self.residual(w)
            if norm <= target:
                return solves
            space.clear(self.z.reshape(-1))
            tolerance = max(self.margin * target / norm, ROUNDING * self.lightness)
            solves.append(self.system.solve(w, {self.name: self.z}, tolerance, known=True))
            space.combine(1.0, self.z.reshape(-1), 1.0, z.reshape(-1))
        norm = self.residual(w)
        if norm > target:
            raise PhysicsError(
                f"coupled solve: rows of {norm:.3g} are left after {PASSES} passes, wanted {target:.3g}; the lightest "
                f"velocity has {1.0 / self.lightness:.3g} of the mass of what it moves"
            )
        return solves
