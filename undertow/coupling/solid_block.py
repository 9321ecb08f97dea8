"""What the coupled solve asks of solids: velocities with masses, walls, and what acts on them.

A kind of solids is one ``SolidBlock``, and the projection has a list of them. Rigid bodies are dense
(``coupling.rigid_solids``), nodes of soft bodies and shells, with the bodies that carry or touch them, are sparse
(``coupling.node_solids``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from undertow.fluid.viscous_step import Dragged
from undertow.fluid.wall_flux import WallFlux
from undertow.grid import Array
from undertow.linalg import ActiveSet
from undertow.linalg.coupled import MassBlock


class SolidBlock(ABC):
    """Solids in a coupled solve.

    block: their velocities in the coupled system. walls: F of them. v: velocities of the solve, in the shape of the
    block. dragged: their rows of viscosity, None without. rounding: of their velocities, relative. margin: part of the
    target that a solve aims at, so that rounding of their masses needs no other pass. lightness: how many times lighter
    than what it moves the lightest of them is. one_sided: whether rows may be dropped and taken up, in several passes.
    """

    block: MassBlock
    walls: WallFlux
    v: Array
    dragged: Dragged | None = None
    rounding: float
    margin: float
    lightness: float
    one_sided = False

    @abstractmethod
    def place(self) -> None:
        """Take over where solids are and how they move; what the fluid gave them in the step is nothing so far."""

    @abstractmethod
    def take_known(self, start_c: Array | None, dt: float) -> None:
        """Impulses of a pressure that is known before the solve; see ``ImplicitSolve``."""

    @abstractmethod
    def begin(self, u_f: Array, z_c: Array, dt: float) -> None:
        """Masses of a step dt [s], velocities as joints allow them, and the impulses that act beside the pressure;
        z_c: the guess of its impulse [Pa s]."""

    @abstractmethod
    def begin_push(self) -> None:
        """The same for impulses that act beside the pressure later in the step: masses and rows are as they are."""

    def restart(self) -> None:
        """v before the pressure, in the first or another pass."""
        return

    @abstractmethod
    def expect(self) -> float:
        """The walls' stand-in velocities become those that the fluid about the solids lets them take; the fastest
        [m/s]."""

    @abstractmethod
    def absorb(self, z_c: Array) -> None:
        """v <- v + B^-1 (J + F^T z) of the impulses J beside the pressure that v has not yet."""

    def active_sets(self, z_c: Array) -> Sequence[ActiveSet]:
        """The rows that may be dropped and taken up, in a solve for z_c [Pa s]."""
        return ()

    @abstractmethod
    def change_known(self, u_f: Array, z_c: Array, start_c: Array, dt: float) -> None:
        """Begin anew, the walls having left other cells out: what is known of the pressure is start_c [Pa s]."""

    @abstractmethod
    def note_drag(self, w: Mapping[str, Array]) -> None:
        """Take note of what viscosity in the same system gave the solids."""

    @abstractmethod
    def end(self, w: Mapping[str, Array], z_c: Array) -> None:
        """Solids take their velocities; sums of what pressure, joints and contact did."""

    @abstractmethod
    def hold_all(self, v: Any) -> None:
        """Velocities v, which nothing changes until masses are set again."""

    @abstractmethod
    def poses(self) -> Any:
        """Where the solids are."""

    @abstractmethod
    def motion_since(self, poses: Any, dt: float) -> Array:
        """Velocities that take them from there to where they are, in dt [s]."""

    @abstractmethod
    def put_twists(self, out_b: Array) -> None:
        """Twists of the block's rigid bodies that the last solve found, in their places of out (m, 6)."""
