"""Transport of velocities half a step apart from the positions, of second order in time.

Along a path the velocity gains what acts on it where the path is in the middle of the kick. The implicit solve gives it
where the path ends,

    u^{n+3/2} = T[u^{n+1/2}] + kappa A(x),      kappa A(x) = kappa A(x - kappa/2 u) + kappa^2/2 (u . grad) A + ...

A being the acceleration by pressure, gravity and whatever else, a solid's wall included. The difference is of first
order after many steps, and of waves on a current it lets those in one direction grow. It is taken off with the
acceleration of the kick before, in one transport,

    T[u + kappa/2 A] - kappa/2 A,

along the velocity extrapolated to the middle of the kick. What the solve does stays as it is. Where nothing moves
nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from undertow.grid import Array, Grid
from undertow.linalg import VectorSpace

SHORT = 0.1
"""What a kick shorter than this part of the next one did is not taken for an acceleration that goes on."""


class MidpointTransport:
    """The acceleration of the last kick, and the velocity that transport follows in the next one.

    acceleration_f (3, Z, Y, X) [m/s2], before the solve the velocity that it starts from [m/s]. kicked: duration of the
    last kick [s], 0 before the first.
    """

    def __init__(self, grid: Grid, space: VectorSpace) -> None:
        self.space = space
        self.acceleration_f, self.by_f = grid.face_field(), grid.face_field()
        self.kicked = 0.0

    def forget(self) -> None:
        """Nothing is known of what acts on the fluid."""
        self.kicked = 0.0

    def goes_on(self, kick: float) -> bool:
        """Whether what the last kick did tells of one of ``kick`` [s]."""
        return self.kicked > SHORT * kick

    def extrapolate(self, u_f: Array, before_f: Array, since: float, kick: float) -> Array:
        """The velocity in the middle of a kick [s] that begins with u, ``since`` [s] after it was ``before_f``; ghosts
        are left to the caller."""
        ratio = 0.5 * kick / since if self.goes_on(kick) and since > 0.0 else 0.0
        by, u, before = (x.reshape(-1) for x in (self.by_f, u_f, before_f))
        self.space.combine(1.0 + ratio, u, 0.0, by)
        self.space.combine(-ratio, before, 1.0, by)
        return self.by_f

    def add(self, duration: float, u_f: Array) -> None:
        """u += duration A."""
        self.space.combine(duration, self.acceleration_f.reshape(-1), 1.0, u_f.reshape(-1))

    def begin(self, u_f: Array) -> None:
        """The kick changes u from here on."""
        self.space.combine(1.0, u_f.reshape(-1), 0.0, self.acceleration_f.reshape(-1))

    def end(self, u_f: Array, kick: float) -> None:
        """It has made u of it within ``kick`` [s]."""
        self.space.combine(1.0 / kick, u_f.reshape(-1), -1.0 / kick, self.acceleration_f.reshape(-1))
        self.kicked = kick

    def arrays(self) -> dict[str, Array]:
        return {"acceleration": self.acceleration_f}

    def numbers(self) -> dict[str, Any]:
        return {"kicked": self.kicked}

    def restore(self, numbers: Mapping[str, Any]) -> None:
        self.kicked = numbers["kicked"]
