"""The surface of a liquid: level set, particles and spray, moved together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from undertow.grid import Array, Grid, Sides
from undertow.surface.contact_angle import RIGHT_ANGLES, Angles
from undertow.surface.level_set import MOVED, LevelSet
from undertow.surface.one_sided import OneSidedLevelSet, OneSidedParticles, OneSidedSpray
from undertow.surface.particles import BAND, Particles
from undertow.surface.spray import Spray
from undertow.transport import Extrapolation, Shells

SORT_EVERY = 20
"""Steps between two sortings of the particles."""


@dataclass(frozen=True)
class SurfaceSettings:
    """How the surface is kept.

    particles: repair the level set by particles. per_cell: how many in a cell of the band (64 in 3D, 32 in 2D).
    reseed_every: steps between two reseedings, 0 for never. volume_correction: shift phi every step to keep
    ``target_volume``. redistance_after: phi is made a distance again when the surface may have moved so far since it
    was [cells]; 0: in every step. contact_angles: of the six sides [degrees], of which one is an angle or a pair
    (``SideAngles``).
    """

    particles: bool = True
    per_cell: int | None = None
    reseed_every: int = 20
    volume_correction: bool = False
    redistance_after: float = 0.0
    contact_angles: Sequence[Angles] = RIGHT_ANGLES
    seed: int = 0


class SurfaceReport(NamedTuple):
    """What a step did: escaped particles that repaired phi after the transport and after the redistancing, shift of the
    volume correction [m] (positive takes liquid away), volumes of spray that the liquid took up and that left."""

    escaped: int
    escaped_again: int
    shift: float
    spray_absorbed: float
    spray_left: float


class Surface:
    """One liquid surface. State: ``phi_c`` (signed distance [m], negative in the liquid), particles, spray, step.

    phi_c may be set to any function with the right zero set; it is made a distance at once.
    target_volume: what the volume correction aims at [m^3]; ``add_liquid`` and ``remove_liquid`` change it.
    """

    def __init__(self, grid: Grid, sides: Sides, phi_c: Array, settings: SurfaceSettings | None = None) -> None:
        if phi_c.shape != grid.padded:
            raise ValueError(f"phi_c: shape {phi_c.shape}, a grid of {grid.cells} cells needs {grid.padded}")
        self.grid = grid
        self.settings = settings or SurfaceSettings()
        self.sides = sides
        self.level_set = LevelSet(grid, sides, contact_angles=self.settings.contact_angles)
        self.particles = Particles(grid, sides, self.settings.per_cell, self.settings.seed)
        self.spray = Spray(grid, sides)
        self.phi_c = np.array(phi_c, dtype=np.float64, order="C")
        self.step = 0
        self.moved = 0.0
        """How far the surface may have moved since phi was a distance [m]."""
        self.met = np.zeros((0, 3)), np.zeros(0)
        """Drops that met the liquid in the last step: places (n, 3) [m], volumes (n,) [m^3]; phi has none of them."""
        self._extrapolation = Extrapolation(grid)
        self._valid_f = np.zeros((3, *grid.padded), dtype=bool)
        self._chosen_c = np.zeros(grid.padded, dtype=bool)
        self.rebuild()
        self.target_volume = self.volume()

    def rebuild(self) -> None:
        """After phi was changed from outside: make it a distance and give it particles that agree with it."""
        self.level_set.redistance(self.phi_c)
        self.level_set.angles.hold(self.phi_c, anew=True)
        self.moved = 0.0
        if self.settings.particles:
            self.particles.drop_disagreeing(self.phi_c)
            self.particles.reseed(self.phi_c)

    def see(self, shells: Shells) -> None:
        """From now on level set, particles and spray do not see through thin surfaces."""
        settings, arrays = self.settings, self.particles.arrays()
        self.level_set = OneSidedLevelSet(self.grid, self.sides, shells, settings.contact_angles)
        self.particles = OneSidedParticles(self.grid, self.sides, settings.per_cell, settings.seed, shells)
        self.particles.restore(arrays)
        spray, self.spray = self.spray, OneSidedSpray(self.grid, self.sides, shells)
        self.spray.restore(spray.arrays())
        self.rebuild()

    def look(self) -> None:
        """Thin surfaces have been put elsewhere, not moved there."""
        if isinstance(self.level_set, OneSidedLevelSet):
            self.level_set.look()

    def advance(
        self,
        u_f: Array,
        dt: float,
        solid_c: Array | None = None,
        gravity: tuple[float, float, float] = (0.0, -9.81, 0.0),
        before_c: Array | None = None,
    ) -> SurfaceReport:
        """Move the surface over dt [s] by the frozen velocity u [m/s], known some cells into the air, ghosts filled.

        solid_c: signed distance to the solids at the end of the step [m], ghosts filled; particles and spray keep out.
        before_c: at its start, absent: the same. gravity [m/s^2] moves the spray.
        """
        level_set, phi = self.level_set, self.phi_c
        self.particles.move(u_f, dt, phi, solid_c)
        # before the level set, with which thin surfaces go to where they are now
        left = self.spray.move(dt, gravity, solid_c, before_c)
        reach = level_set.advect(phi, u_f, dt)
        escaped = self.particles.correct(phi)
        self.moved += reach - MOVED * self.grid.dx
        if self.moved >= self.settings.redistance_after * self.grid.dx:
            # as far as the next step, about as long as this one, will ask for, and beyond the band of the particles
            level_set.redistance(phi, max(reach, (BAND + 1.0) * self.grid.dx) + 0.25 * self.grid.dx)
            self.moved = 0.0
        else:
            level_set.fill_ghosts(phi)
        self.met = self.spray.absorb(phi)
        escaped_again = self.particles.correct(phi)
        level_set.fill_ghosts(phi)
        shift = self._correct_volume(solid_c)
        self.particles.adjust_radii(phi)
        level_set.angles.hold(phi)
        self.step += 1
        self._renew_particles()
        return SurfaceReport(escaped, escaped_again, shift, float(self.met[1].sum()), left)

    def add_liquid(self, shape_c: Array, solid_c: Array | None = None) -> float:
        """Fill a shape, given by its signed distance [m], ghosts filled, with liquid (an emitter); the volume added."""
        before = self.volume(solid_c)
        np.minimum(self.phi_c, shape_c, out=self.phi_c)
        return self._settle(shape_c, solid_c, before)

    def remove_liquid(self, shape_c: Array, solid_c: Array | None = None) -> float:
        """Empty a shape, given by its signed distance [m], ghosts filled (a drain); the volume removed."""
        before = self.volume(solid_c)
        np.maximum(self.phi_c, np.negative(shape_c, out=self.level_set.scratch_c), out=self.phi_c)
        return -self._settle(shape_c, solid_c, before)

    def _settle(self, shape_c: Array, solid_c: Array | None, before: float) -> float:
        """Distance and particles after phi was changed inside a shape; the change of volume moves the target too."""
        self.level_set.redistance(self.phi_c)
        self.particles.drop_disagreeing(self.phi_c, shape_c)
        change = self.volume(solid_c) - before
        self.target_volume += change
        return change

    def volume(self, solid_c: Array | None = None) -> float:
        """Volume of the liquid outside solids, spray not included [m^3] (2D: [m^2], per metre of depth)."""
        return self.level_set.liquid_volume(self.phi_c, solid_c=solid_c)

    def extrapolate_velocity(self, u_f: Array, layers: int = 5) -> None:
        """Continue u from the faces of liquid cells into the air, ``layers`` faces far, in place; ghosts are left."""
        np.less_equal(self.phi_c, 0.0, out=self._chosen_c)
        for axis in range(3):
            valid = self._valid_f[axis]
            np.copyto(valid, self._chosen_c)
            low, high = [slice(None)] * 3, [slice(None)] * 3
            low[2 - axis], high[2 - axis] = slice(None, -1), slice(1, None)
            valid[tuple(high)] |= self._chosen_c[tuple(low)]
        self._extrapolation.velocity(u_f, self._valid_f, layers)

    def arrays(self) -> dict[str, np.ndarray]:
        """The state as plain arrays; ``restore`` continues from them to the last bit."""
        return {
            "phi_c": self.phi_c.copy(),
            "surface_step": np.array([self.step], dtype=np.int64),
            "surface_target_volume": np.array([self.target_volume]),
            "surface_moved": np.array([self.moved]),
            **{f"contact_line_{side}": held for side, held in self.level_set.angles.held.items()},
            **self.particles.arrays(),
            **self.spray.arrays(),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Continue from what ``arrays`` gave."""
        np.copyto(self.phi_c, arrays["phi_c"])
        self.step = int(arrays["surface_step"][0])
        self.target_volume = float(arrays["surface_target_volume"][0])
        self.moved = float(arrays["surface_moved"][0])
        for side in self.level_set.angles.held:
            self.level_set.angles.held[side] = np.array(arrays[f"contact_line_{side}"])
        self.particles.restore(arrays)
        self.spray.restore(arrays)

    @property
    def bytes(self) -> int:
        """Memory of state and scratch [bytes]."""
        return self.phi_c.nbytes + self.level_set.scratch_bytes + self.particles.bytes + self._valid_f.nbytes

    def _correct_volume(self, solid_c: Array | None) -> float:
        if not self.settings.volume_correction:
            return 0.0
        target = self.target_volume - self.spray.total_volume
        shift = self.level_set.shift_to_volume(self.phi_c, target, solid_c)
        self.phi_c += shift
        return shift

    def _renew_particles(self) -> None:
        every = self.settings.reseed_every
        if self.settings.particles and every and self.step % every == 0:
            self.particles.reseed(self.phi_c)
        elif self.step % SORT_EVERY == 0:
            self.particles.sort()
