"""What couplings ask of the parts that solids are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from undertow.part import BodyState, ForceTable
from undertow.rigid.bodies import RigidBodies
from undertow.rigid.joints import Joints
from undertow.rigid.shapes import CollisionShapes
from undertow.soft import SoftBodies
from undertow.solids import Solids, SolidsReport
from undertow.solids.soft_step import SoftSolids


class RigidSolids(Protocol):
    """Rigid bodies and joints, and their step."""

    bodies: RigidBodies
    shapes: CollisionShapes
    joints: Joints
    solids: Solids

    @property
    def force_table(self) -> ForceTable:
        """Forces on the bodies over the last step."""

    def take_report(self, report: SolidsReport) -> None:
        """What a step did to the bodies among themselves."""

    def events(self, report: SolidsReport) -> Sequence[str]:
        """What happened in it that a user should know."""


class DeformableSolids(Protocol):
    """Soft bodies, cloth and ropes, and the nodes of thin rigid shells."""

    soft: SoftBodies
    soft_solids: SoftSolids
    soft_forces: ForceTable
    element_size: float
    elastic_energy: float

    @property
    def soft_names(self) -> Sequence[str]:
        """Of the soft bodies, in the order of their forces."""

    def body_state(self, name: str, time: float) -> BodyState:
        """Where one of the soft bodies is."""
