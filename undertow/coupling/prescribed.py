"""Solids that move as the scene says, whatever the fluid does to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import undertow.geometry as geometry
from undertow.fluid import SolidForce
from undertow.frames import BodyFrame
from undertow.grid import Array
from undertow.part import BodyForces, BodyState, ForceTable, Part, Quantity, Vector, restore_arrays


class PrescribedSolids(Part):
    """Solids with a motion of their own, and the forces of the fluid on them; colors: of those that are drawn."""

    name = "prescribed"

    def __init__(self, solids: Sequence[geometry.Solid], colors: Mapping[str, Vector]) -> None:
        self.solids, self.colors = list(solids), colors
        self.rows = {solid.name: row for row, solid in enumerate(self.solids)}
        self.forces = ForceTable(len(self.solids))

    def set_forces(self, forces: Mapping[str, SolidForce]) -> None:
        """The forces of the fluid over a step."""
        for name, force in forces.items():
            row = self.rows[name]
            self.forces.pressure[row], self.forces.viscous[row] = force.pressure, force.viscous
            self.forces.torque[row] = force.torque

    def arrays(self) -> dict[str, Array]:
        return {"prescribed_forces": self.forces.values}

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        restore_arrays(self.arrays(), arrays)

    def quantities(self) -> Iterator[Quantity]:
        yield from self.forces.quantities(self.rows)

    def frames(self, time: float) -> list[object]:
        found: list[object] = []
        for solid in self.solids:
            if solid.name in self.colors:
                vertices, triangles = solid.surface(time)
                velocity = solid.surface_velocity(time, vertices)
                found.append(BodyFrame(solid.name, vertices, triangles, self.colors[solid.name], velocity))
        return found

    def body_names(self) -> list[str]:
        return list(self.rows)

    def body_state(self, name: str, time: float) -> BodyState:
        motion = self.solids[self.rows[name]].motion
        return BodyState(*motion.pose(time), *motion.velocity(time))

    def body_forces(self, name: str) -> BodyForces:
        return self.forces.of(self.rows[name])
