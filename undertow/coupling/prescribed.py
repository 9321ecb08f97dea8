"""Solids that move as the scene says, whatever the fluid does to them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import undertow.geometry as geometry
from undertow.coupling.motion import MotionAhead
from undertow.fluid import SolidForce
from undertow.fluid.pressure import PressureRows
from undertow.frames import BodyFrame
from undertow.geometry.driven import Driven
from undertow.grid import Array
from undertow.part import BodyForces, BodyState, ForceTable, Limit, Part, Quantity, Target, restore_arrays
from undertow.rigid.table import BodyTable, carry_rows


class SpreadFlux:
    """Says once that prescribed walls leave a closed region with a net flux."""

    def __init__(self, rows: PressureRows) -> None:
        self.rows, self._said = rows, False

    def events(self) -> tuple[str, ...]:
        text = "" if self._said else self.rows.explain_unmet()
        self._said = self._said or bool(text)
        return (text,) if text else ()


class PrescribedSolids(Part):
    """Solids with a motion of their own, and the forces of the fluid on them; table: what they are.

    placed: the solids as the fluid sees them.
    """

    name = "prescribed"

    def __init__(self, solids: Sequence[geometry.Solid], table: BodyTable) -> None:
        self.solids, self.table = list(solids), table
        self._motions = [MotionAhead(solid.motion) for solid in solids]
        self.placed = [
            geometry.Solid(solid.name, solid.shape, motion, solid.slip)
            for solid, motion in zip(solids, self._motions, strict=True)
        ]
        self.rows = {solid.name: row for row, solid in enumerate(self.solids)}
        self.forces = ForceTable(len(self.solids))

    def look_ahead(self, ahead: float) -> None:
        """From now on the fluid sees them with their velocity of ``ahead`` [s] later."""
        for motion in self._motions:
            motion.ahead = ahead

    def set_forces(self, forces: Mapping[str, SolidForce]) -> None:
        """The forces of the fluid over a step."""
        for name, force in forces.items():
            row = self.rows[name]
            self.forces.pressure[row], self.forces.viscous[row] = force.pressure, force.viscous
            self.forces.torque[row] = force.torque

    def _driven(self) -> dict[str, Driven]:
        return {solid.name: solid.motion for solid in self.solids if isinstance(solid.motion, Driven)}

    def drive(self, name: str, time: float, target: Target) -> None:
        if name not in self._driven():
            super().drive(name, time, target)
        self._driven()[name].aim(time, target)

    def limits(self, time: float) -> Iterator[Limit]:
        """Steps end where driven solids reach their targets."""
        for motion in self._driven().values():
            if 0.0 < motion.remaining(time) < math.inf:
                yield Limit("target", motion.remaining(time), "event")

    def arrays(self) -> dict[str, Array]:
        return {"prescribed_forces": self.forces.values}

    def numbers(self) -> dict[str, Any]:
        driven = {name: motion.numbers() for name, motion in self._driven().items()}
        return {"driven": driven, "ahead": [motion.ahead for motion in self._motions]}

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        restore_arrays(self.arrays(), arrays)
        for name, motion in self._driven().items():
            motion.restore(numbers["driven"][name])
        for ahead, seen in zip(numbers["ahead"], self._motions, strict=True):
            seen.ahead = ahead

    def adopt(self, before: Part | None, time: float) -> None:
        """By identity."""
        if isinstance(before, PrescribedSolids):
            old, new = ([entry.identity for entry in part.table] for part in (before, self))
            self.forces.values[...] = carry_rows(before.forces.values, old, new)
            for name, motion in self._driven().items():
                if before.table.entries.get(name) is self.table[name]:
                    motion.restore(before._driven()[name].numbers())

    def quantities(self) -> Iterator[Quantity]:
        yield from self.forces.quantities(self.rows)

    def frames(self, time: float) -> list[object]:
        found: list[object] = []
        for solid in self.solids:
            body = self.table[solid.name].description
            if body.visible:
                vertices, triangles = solid.surface(time)
                velocity = solid.surface_velocity(time, vertices)
                found.append(BodyFrame(solid.name, vertices, triangles, body.color, velocity))
        return found

    def body_names(self) -> list[str]:
        return list(self.rows)

    def body_state(self, name: str, time: float) -> BodyState:
        motion = self.solids[self.rows[name]].motion
        return BodyState(*motion.pose(time), *motion.velocity(time))

    def body_forces(self, name: str) -> BodyForces:
        return self.forces.of(self.rows[name])
