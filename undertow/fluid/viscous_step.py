"""The implicit step of viscosity that comes before the pressure (Chorin splitting), of the fluid and of what it drags.

    w <- V (w + a) - a,      V = (B + C^T C)^-1 B,

C being the rows of viscosity: between faces, to walls that are prescribed, and to solids that move. a is what the last
pressure, and what acts on solids beside the fluid, are expected to give: with them viscosity has balanced the pressure
in a steady state when the projection comes, and what a body ends with does not depend on the step (Van Kan 1986).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from undertow.fluid.domain import FluidDomain
from undertow.fluid.free_surface import FreeSurface
from undertow.fluid.phase import Phase
from undertow.fluid.pressure import PressureRows
from undertow.fluid.strain import StrainRows
from undertow.fluid.surface_phase import SurfacePhase
from undertow.fluid.two_phase import TwoPhase
from undertow.fluid.variable_viscosity import VariableViscosity
from undertow.fluid.viscosity import ViscousRows, WallRows
from undertow.grid import Array
from undertow.linalg import CoupledSystem, SolveStats, VelocityBlock
from undertow.linalg.coupled import MassBlock, RowBlock
from undertow.linalg.krylov import Preconditioner
from undertow.transport import Extrapolation

LAYERS = 3
"""Of faces at the surface to which what the pressure is expected to give is continued."""


class Expectation(Protocol):
    """a of the head, for the fluid; z_c: the impulse of the last pressure that acts on solids [Pa s]."""

    z_c: Array

    def find(self, z_c: Array) -> bool:
        """For the impulse z of the last pressure [Pa s]; False: nothing is known yet."""

    def add(self, sign: float, u_f: Array) -> None:
        """u += sign a; sign: 1 or -1."""


class InTank:
    """a = -B^-1 K^T z, as the solve will give it."""

    def __init__(self, rows: PressureRows) -> None:
        self.rows, self.z_c = rows, np.zeros((0, 0, 0))

    def find(self, z_c: Array) -> bool:
        self.z_c = z_c
        return True

    def add(self, sign: float, u_f: Array) -> None:
        self.z_c *= sign
        self.rows.subtract_impulse(self.z_c, self.rows.phase.inv_mass_f, u_f)
        self.z_c *= sign


class UnderSurface:
    """The same of faces a cell and more below the surface, continued to those above them: where liquid is thin its
    impulses are large."""

    def __init__(self, rows: PressureRows, phase: FreeSurface) -> None:
        grid = phase.domain.grid
        self.rows, self.phase = rows, phase
        self.z_c, self.ahead_f = grid.cell_field(), grid.face_field()
        self._deep_c, self._known_c = np.zeros(grid.padded, dtype=bool), np.zeros(grid.padded, dtype=bool)
        self._deep_f = np.zeros((3, *grid.padded), dtype=bool)
        self._continued = Extrapolation(grid, phase.domain.sides)

    def find(self, z_c: Array) -> bool:
        phase, ahead, grid = self.phase, self.ahead_f, self.phase.domain.grid
        if not z_c.any():
            return False
        ahead[...] = 0.0
        # cells that a body has hardly left may have had no pressure
        deep, known = self._deep_c, self._known_c
        np.less(phase.phi_c, -grid.dx, out=deep)
        np.greater(phase.domain.volume_c, 0.5, out=known)
        np.multiply(z_c, known, out=self.z_c)
        self._continued.centred(self.z_c, known, LAYERS)
        self.rows.subtract_impulse(self.z_c, phase.inv_mass_f, ahead)
        for axis in grid.axes:
            cells, faces = (np.moveaxis(x, 2 - axis, 0) for x in (deep, self._deep_f[axis]))
            np.logical_and(cells[1:], cells[:-1], out=faces[1:])
            faces[0] = False
            ahead[axis] *= self._deep_f[axis]
        self._continued.velocity(ahead, self._deep_f, LAYERS)
        for axis in grid.axes:
            ahead[axis] *= phase.inv_mass_f[axis] > 0.0
        return True

    def add(self, sign: float, u_f: Array) -> None:
        if sign > 0.0:
            u_f += self.ahead_f
        else:
            u_f -= self.ahead_f


class AcrossInterface:
    """The rate of the last projection, where it was: masses at the interface, and the cells of either fluid, are others
    in every step, and the impulse that the old pressure would give with the new ones is none that comes."""

    def __init__(self, phase: TwoPhase) -> None:
        self.phase, self.z_c = phase, np.zeros((0, 0, 0))
        phase.rate_f = phase.domain.grid.face_field()

    def find(self, z_c: Array) -> bool:
        self.z_c = z_c
        return bool(self.phase.rate_f.any())

    def add(self, sign: float, u_f: Array) -> None:
        u_f += sign * self.phase.time_step * self.phase.rate_f * (self.phase.inv_mass_f > 0.0)


def expect(rows: PressureRows) -> Expectation:
    """a of the phase of these rows."""
    if isinstance(rows.phase, TwoPhase):
        return AcrossInterface(rows.phase)
    return UnderSurface(rows, rows.phase) if isinstance(rows.phase, FreeSurface) else InTank(rows)


def rows_between_faces(
    phase: Phase, viscosity: float | VariableViscosity, half: bool = False, domain: FluidDomain | None = None
) -> ViscousRows | StrainRows:
    """Of the whole rate of strain under a free surface, which has no traction; of the Laplacian in a full tank, where
    they give the same motion for fewer rows. domain: with the open fractions that they see; None: that of the
    phase."""
    if isinstance(phase, SurfacePhase):
        return StrainRows(phase, viscosity)
    assert isinstance(viscosity, float)
    return ViscousRows(phase.domain if domain is None else domain, viscosity, folded=True, half=half)


class Dragged(Protocol):
    """Solids that viscosity drags along."""

    @property
    def block(self) -> MassBlock:
        """Their velocities in the step."""

    @property
    def drags(self) -> Sequence[RowBlock]:
        """Rows between faces and solids."""

    @property
    def inverse(self) -> Preconditioner:
        """Of the velocities."""

    def rebuild(self, inv_mass_f: Array) -> None:
        """Rows of the places of now; inv_mass_f: of the fluid's faces in the step."""

    def set_time_step(self, dt: float) -> None:
        """Of the rows [s], for the masses of now."""

    def begin(self, u_f: Array, z_c: Array | None, dt: float) -> Array:
        """Velocities that take part in a step of dt [s]; z_c: the impulse of the last pressure [Pa s], to which they
        add what it and other forces give; None: what they have."""

    def momenta(self, v: Array) -> list[Array]:
        """Of velocities v [N s]."""

    def end(self, w: Mapping[str, Array]) -> None:
        """Take note of what the drag gave, and go on from the velocities without what was expected."""


class ViscousStep:
    """One of a fluid, and of ``dragged`` solids.

    form: the rows between faces. walls: those to walls that move as prescribed; walls_z: their duals sqrt(dt weight)
    (u - v), what they have done. strain_z: duals of the form, where forces on voxels need them. expected: None: nothing
    is. block: the velocities of the fluid where their masses are not those of the form.
    """

    def __init__(
        self, form: ViscousRows | StrainRows, walls: WallRows, tolerance: float, expected: Expectation | None = None,
        dragged: Sequence[Dragged] = (), block: VelocityBlock | None = None,
    ) -> None:  # fmt: skip
        self.form, self.walls, self.tolerance, self.expected, self.dragged = form, walls, tolerance, expected, dragged
        domain = form.domain
        planar = domain.grid.dimensions == 2
        fluid = VelocityBlock("fluid", form.inv_mass_f, planar) if block is None else block
        self.walls_z = np.zeros(walls.shape)
        self.strain_z = np.zeros(form.shape if domain.voxel else 0)
        self._z = {"walls": self.walls_z} | ({form.name: self.strain_z} if domain.voxel else {})
        rows: list[RowBlock] = [form, walls]
        rows += [drag for solids in dragged for drag in solids.drags]
        inverses = {solids.block.name: solids.inverse for solids in dragged}
        self.system = CoupledSystem([fluid, *(solids.block for solids in dragged)], rows, inverses, planar)

    def rebuild(self) -> None:
        """Take over a changed geometry; the rows of the pressure are up to date."""
        self.form.rebuild()

    def place(self) -> None:
        """Take over the present velocities of solids and sides."""
        self.walls.rebuild()
        for solids in self.dragged:
            solids.rebuild(self.form.inv_mass_f)

    def set_time_step(self, dt: float) -> None:
        """Of the solve that follows [s]."""
        self.form.time_step = dt
        self.walls.set_time_step(dt)

    def solve(self, u_f: Array, z_c: Array, dt: float) -> SolveStats:
        """u, and solids, over dt [s] in place; z_c: the impulse of the last pressure [Pa s]."""
        self.set_time_step(dt)
        expected = self.expected if self.expected is not None and self.expected.find(z_c) else None
        w: dict[str, Array] = {"fluid": u_f}
        momenta: list[Array] = []
        for solids in self.dragged:
            v = solids.begin(u_f, None if expected is None else expected.z_c, dt)
            w[solids.block.name] = v
            momenta += solids.momenta(v)
        if expected is not None:
            expected.add(1.0, u_f)
        stats = self.system.solve(w, self._z, self.tolerance, most=self.form.most_of(u_f, momenta))
        for solids in self.dragged:
            solids.end(w)
        if expected is not None:
            expected.add(-1.0, u_f)
        return stats

    def add_explicit(self, u_f: Array, out_f: Array) -> None:
        """out += C^T (C u - s) / dt of the rows that Crank-Nicolson treats half explicitly [N]."""
        assert isinstance(self.form, ViscousRows)
        self.form.add_explicit(u_f, out_f)
        self.walls.add_explicit(u_f, out_f)
