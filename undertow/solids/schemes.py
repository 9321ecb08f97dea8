"""Solids without fluid: the step of rigid and soft bodies together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from undertow.grid import Array
from undertow.part import Part, Scheme, StepOutcome
from undertow.rigid.table import carry_rows
from undertow.solids.rigid_part import RigidPart
from undertow.solids.scheme import advance
from undertow.solids.soft_part import SoftPart
from undertow.solids.step import RigidStages


class RigidScheme(Scheme):
    """Rigid bodies alone, by the five steps of thesis 4.2 [@schroeder2011] (``solids.scheme``)."""

    def __init__(self, rigid: RigidPart) -> None:
        self.rigid = rigid

    def step(self, time: float, time_step: float, next_step: float) -> StepOutcome:
        self.rigid.begin_step(time, time_step)
        load = self.rigid.loads.mean_b
        report = self.rigid.solids.step(time, time_step, load[:, :3], load[:, 3:])  # I to V
        self.rigid.take_report(report)
        return StepOutcome(report.iterations, report, tuple(self.rigid.events(report)))


class SolidsScheme(Scheme):
    """Soft bodies, with rigid ones or without, by the five steps of thesis 4.2 [@schroeder2011] (``solids.scheme``).

    Soft bodies are solved with all that they touch before the rigid ones have met each other. What these will do to
    each other is taken from the last two steps: that lags, and is the state of the scheme.
    """

    def __init__(self, rigid: RigidPart, soft: SoftPart) -> None:
        self.rigid, self.soft = rigid, soft
        self._lagged = np.zeros((2, rigid.bodies.count, 6))
        """Forces and torques of joints and rigid contacts on the rigid bodies in the last two steps."""
        self._warned = False

    def step(self, time: float, time_step: float, next_step: float) -> StepOutcome:
        part, load = self.soft, self.rigid.loads.mean_b
        for solids in (self.rigid, part):
            solids.begin_step(time, time_step)
        rigid = RigidStages(self.rigid.solids, load[:, :3], load[:, 3:]) if self.rigid.bodies.count else None
        external = part.external_force()
        soft = part.soft_solids.stages(external, part.gravity, self._lasting() + load, rigid)
        advance([soft] if rigid is None else [soft, rigid], time, time_step)  # I to V
        part.take_report(soft.report, external, time_step)
        events = self._warn(soft.report.stuck)
        if rigid is None:
            return StepOutcome(soft.report.iterations, soft.report, tuple(events))
        report = rigid.report()
        self.rigid.take_report(report)
        self._remember()
        part.add_forces_on_rigid()
        events = self.rigid.events(report) + events
        return StepOutcome(soft.report.iterations + report.iterations, report, tuple(events))

    def _remember(self) -> None:
        """Forces of joints and of rigid contacts, without those of soft bodies."""
        forces = self.rigid.force_table
        self._lagged[0] = self._lagged[1]
        self._lagged[1, :, :3] = forces.contact + forces.joint
        self._lagged[1, :, 3:] = forces.torque_solids

    def _lasting(self) -> Array:
        """Forces and torques (b, 6) that joints and other rigid bodies will have on rigid ones, of those that last: the
        smaller of the last two steps, nothing where they differ in sign, as in a collision."""
        one, two = self._lagged
        return np.asarray(np.where(one * two > 0, np.sign(one) * np.minimum(np.abs(one), np.abs(two)), 0.0))

    def _warn(self, stuck: int) -> list[str]:
        """Iterations without descent are named once per run."""
        if not stuck or self._warned:
            return []
        self._warned = True
        text = "an iteration of the soft bodies found no descent of their energy; shorten the step"
        return [f"{text} (the ledger counts how often)"]

    def arrays(self) -> dict[str, Array]:
        return {"lagged_contact_force": self._lagged}

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        self._lagged = np.array(arrays["lagged_contact_force"])

    def adopt(self, before: Part | None, time: float) -> None:
        """By identity."""
        if isinstance(before, SolidsScheme):
            old, new = before.rigid.bodies.identity_b, self.rigid.bodies.identity_b
            self._lagged = np.stack([carry_rows(rows, old, new) for rows in before._lagged])
