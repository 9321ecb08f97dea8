"""One time step for all solids: collisions, contact with friction, joints, interpenetration."""

from undertow.solids.settings import SolidSettings
from undertow.solids.step import Solids, SolidsReport
from undertow.solids.world import SolidsWorld, largest_motion

__all__ = ["SolidSettings", "Solids", "SolidsReport", "SolidsWorld", "largest_motion"]
