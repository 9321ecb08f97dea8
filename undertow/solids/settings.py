"""What can be chosen of the step of rigid bodies."""

from __future__ import annotations

import math
from dataclasses import dataclass

from undertow.errors import UserError


@dataclass(frozen=True)
class SolidSettings:
    """What can be chosen of the step.

    gravity (3,) [m/s2]; orientation_order 1, 2 or 3 and energy_fix: see ``undertow.rigid.orientation``; clamp: impulses
    never raise the kinetic energy (thesis 2.3.2); iterations: at most so many sweeps up and down of a contact
    solve of up to five bodies on each other, more by the square of the height for higher ones;
    tolerance: of it, largest change of a velocity relative to the largest violation; resolve_iterations: of the
    interpenetration resolution per step; touch: contacts with a gap below this part of a body's size touch; allowed:
    overlap, as a part of a body's size, that is left alone; sleep [s]: groups that rest for so long are left alone
    (``solids.sleep``), infinite: never.
    """

    gravity: tuple[float, float, float] = (0.0, -9.81, 0.0)
    orientation_order: int = 2
    energy_fix: bool = True
    clamp: bool = True
    iterations: int = 50
    tolerance: float = 1e-5
    resolve_iterations: int = 2
    touch: float = 2e-3
    allowed: float = 2e-3
    sleep: float = math.inf

    def __post_init__(self) -> None:
        if self.orientation_order not in (1, 2, 3):
            raise UserError(
                f"orientation_order = {self.orientation_order}: the orientation updates are of order 1, 2 or 3"
            )
        for name in ("iterations", "tolerance", "resolve_iterations", "touch", "allowed", "sleep"):
            if not getattr(self, name) > 0:
                raise UserError(f"{name} = {getattr(self, name)}: must be positive")
