"""A fluid of particles in a box, around and with solids."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import undertow.geometry as geometry
from undertow.coupling.direct_forcing import DirectForcing, ForcingSettings, PenaltyForcing
from undertow.errors import UserError
from undertow.grid import SIDE_NAMES, Array
from undertow.part import ANGULAR_MOMENTUM, ENERGY, MOMENTUM, SPEED, Limit, Quantity, components, vector
from undertow.rigid.bodies import RigidBodies, rotation_matrix_of
from undertow.rigid.shapes import CollisionShapes
from undertow.run import build
from undertow.run.models import Model, ModelStep
from undertow.run.solids_model import SolidsModel
from undertow.run.sph_filling import compression, fill, make_solid
from undertow.scene import Drain, Open, Outflow, Periodic, RigidBody, Scene, Wall, WaterSource
from undertow.scene import SphFluid as SceneFluid
from undertow.sph import (
    OPEN,
    PERIODIC,
    WALL,
    ImplicitFluid,
    SphBox,
    SphDrain,
    SphFluid,
    SphSettings,
    SphSource,
    boundary_volumes,
    make_source,
    sample_surface,
    viscosity_of_alpha,
)

if TYPE_CHECKING:
    from undertow.output import SurfaceFrame
    from undertow.output.particles import ParticleFrame

MACH = 10.0
"""Sound speed over the fastest motion: the density then varies by about one percent."""

LEAST_MACH = 3.0
"""Below this the fluid is compressed by more than a tenth."""


class SphModel(Model):
    """The particles, and the solids among them, of a scene.

    ``settle``: particles that crowd around bodies find their places before the first step; a run that goes on from a
    checkpoint has that behind it.
    """

    def __init__(self, scene: Scene, settle: bool = True) -> None:
        self.scene = scene
        self._drained = 0
        self._said: set[str] = set()
        self._moving: dict[int, geometry.Curve] = {}
        self._grid, self.notes = build.build_grid(scene)
        box = self._make_box()
        shaped = {**scene.sph_fluids, **scene.bodies, **scene.water_regions}
        self._shaped = {name: make_solid(name, item) for name, item in shaped.items()}
        filling = fill(scene, box, self._shaped)
        self.notes += filling.notes
        make = ImplicitFluid if scene.sph.method == "iisph" else SphFluid
        self.fluid = make(box, self._settings(self._fastest(box), filling.full))
        for rows, velocity in filling.regions:
            self.fluid.add_fluid(filling.places[rows] + compression(self.fluid, filling.lattice[rows]), velocity)
        self.forcing = self._add_bodies()
        self.parts = [] if self.forcing is None else [self._solids]
        self._sources, self._drains = self._regions()
        self._tell_surface()
        self.fluid.begin()
        if self.forcing is not None:
            self.forcing.begin()
            if filling.crowded and settle:
                self.forcing.settle()

    def _tell_surface(self) -> None:
        from undertow.output.particles import has_splashsurf

        if self._grid.dimensions == 3 and not has_splashsurf():
            self.notes.append('surface: made by Undertow; for that of pysplashsurf: pip install "undertow[sph]"')

    def _make_box(self) -> SphBox:
        scene, grid = self.scene, self._grid
        kind, stick = [WALL] * 6, [1.0] * 6
        velocity = np.zeros((6, 3))
        for s, side in enumerate(scene.need_domain().sides.values()):
            if isinstance(side, Open | Outflow):
                kind[s] = OPEN
            elif isinstance(side, Periodic):
                kind[s] = PERIODIC
            elif isinstance(side, Wall):
                stick[s] = self._sticks(not side.slip)
                curve = build.make_curve(side.velocity)
                velocity[s] = np.asarray(curve.value(0.0))
                if not isinstance(curve, geometry.ConstantCurve):
                    self._moving[s] = curve
        self._box_kind = kind[: 2 * grid.dimensions]
        lower, upper = np.array(grid.lower), np.array(grid.upper)
        return SphBox(lower, upper, grid.dx, grid.dimensions, tuple(kind), tuple(stick), velocity)

    def _sticks(self, sticks: bool) -> float:
        """1 where viscous fluid sticks; artificial viscosity sticks to nothing, as it stands for none."""
        return 1.0 if sticks and self.scene.sph.viscosity is not None else 0.0

    def _fastest(self, box: SphBox) -> float:
        """Estimate of the fastest motion of the run [m/s]: of fluids, sources, bodies and walls of the domain as the
        scene gives it, and falling to the floor."""
        scene, grid = self.scene, self._grid
        falling: dict[str, RigidBody | SceneFluid | WaterSource] = {**scene.sph_fluids}
        falling |= {name: body for name, body in scene.bodies.items() if body.is_dynamic}
        falling |= {name: item for name, item in scene.water_regions.items() if isinstance(item, WaterSource)}
        fastest = max(float(np.linalg.norm(item.velocity)) for item in falling.values())
        times = [scene.time.frame_time(n) for n in range(0, scene.time.frames + 1, max(1, scene.time.frames // 100))]
        fastest = max(fastest, float(np.linalg.norm(box.velocity, axis=1).max()))
        for curve in self._moving.values():
            fastest = max([fastest, *(float(np.linalg.norm(curve.value(t))) for t in times)])
        for name, body in scene.bodies.items():
            fastest = max(fastest, self._speed_of(name, body, times))
        g = np.array(build.vector3(scene.gravity))
        size = float(np.linalg.norm(g))
        if size == 0:
            return fastest
        down = g / size
        floor = float(down @ np.where(down > 0, grid.upper, grid.lower))
        drops = []
        for name in falling:
            lower, upper = self._shaped[name].bounds(0.0)
            top = np.where(down > 0, np.maximum(lower, grid.lower), np.minimum(upper, grid.upper))
            drops.append(floor - float(down @ np.where(down == 0, 0.0, top)))
        # v^2 = v0^2 + 2 g H of what falls without resistance
        return math.sqrt(fastest**2 + 2.0 * size * max(0.0, *drops))

    def _speed_of(self, name: str, body: RigidBody, times: list[float]) -> float:
        """Largest speed [m/s] of a point of a body: as it starts, or at times [s] of its prescribed motion."""
        solid = self._shaped[name]
        place, (lower, upper) = solid.motion.pose(0.0)[0], solid.bounds(0.0)
        twists = [solid.motion.velocity(t) for t in times]
        if body.is_dynamic:
            twists = [(np.asarray(body.velocity), np.asarray(body.angular_velocity))]
        if not any(np.any(omega) for _, omega in twists):
            return max(float(np.linalg.norm(v)) for v, _ in twists)
        # a plane that turns has no end: what counts is in the domain
        away = np.maximum(np.minimum(upper, self._grid.upper) - place, place - np.maximum(lower, self._grid.lower))
        reach = float(np.linalg.norm(away[: self._grid.dimensions]))
        return max(float(np.linalg.norm(v)) + reach * float(np.linalg.norm(omega)) for v, omega in twists)

    def _settings(self, speed: float, full: bool) -> SphSettings:
        sph, dx, dimensions = self.scene.sph, self._grid.dx, self._grid.dimensions
        # a drop of one spacing has the pressure sigma / dx, which must not compress it either
        speed = math.hypot(speed, math.sqrt(sph.surface_tension / (sph.density * dx)))
        chosen = sph.sound_speed
        sound = MACH * max(speed, 1e-9) if chosen is None else chosen
        if chosen is not None and chosen < LEAST_MACH * speed:
            raise UserError(
                f"sph.sound_speed = {chosen:g} m/s: too low for motions of {speed:.3g} m/s, which would compress the "
                f"fluid by more than a tenth; set it to {MACH * speed:.3g}, or leave it out"
            )
        if chosen is not None and chosen < 0.99 * MACH * speed:
            self.notes.append(
                f"sph.sound_speed: {chosen:g} m/s is less than ten times the fastest motion expected, {speed:.3g} "
                f"m/s; the density may vary by {(speed / chosen) ** 2:.1%}"
            )
        viscosity = viscosity_of_alpha(sph.alpha, dx, sound, dimensions) if sph.viscosity is None else sph.viscosity
        full = full and OPEN not in self._box_kind
        return SphSettings(
            sph.density,
            sound,
            viscosity,
            build.vector3(self.scene.gravity),
            sph.restitution,
            full,
            sph.surface_tension,
            artificial=sph.viscosity is None,
        )

    def _add_bodies(self) -> DirectForcing | None:
        """Solids with their boundary particles; walls of the domain stop bodies too."""
        scene, grid = self.scene, self._grid
        if not scene.bodies:
            return None
        self._solids = SolidsModel(scene)
        self.notes += self._solids.notes
        bodies = self._solids.bodies
        position = [self._sample(name) for name in scene.bodies]
        owner = np.repeat(np.arange(len(position)), [len(p) for p in position])
        stick = np.array([self._sticks(not body.slip) for body in scene.bodies.values()])
        volume = [boundary_volumes(p, grid.dx, grid.dimensions) for p in position]
        if scene.coupling == "penalty":  # boundary particles repel and do nothing else
            volume = [0.0 * v for v in volume]
        local = [(p - bodies.x_b[b]) @ rotation_matrix_of(bodies.q_b[b]) for b, p in enumerate(position)]
        if any(body.is_dynamic for body in scene.bodies.values()):
            self._add_walls(bodies, self._solids.shapes)
        self.fluid.set_bodies(np.concatenate(position), np.concatenate(volume), stick[owner])
        sph = scene.sph
        settings = ForcingSettings(sph.slip, sph.restitution, sph.scheme, one_way=sph.one_way)
        method = PenaltyForcing if scene.coupling == "penalty" else DirectForcing
        return method(self.fluid, self._solids.solids, np.concatenate(local), owner, settings)

    def _add_walls(self, bodies: RigidBodies, shapes: CollisionShapes) -> None:
        box = self.fluid.box
        for s in range(2 * box.dimensions):
            if box.kind[s] == WALL:
                normal = np.zeros(3)
                normal[s // 2] = 1.0 - 2.0 * (s % 2)
                place = np.asarray((box.lower, box.upper)[s % 2]) * np.abs(normal)
                plane = shapes.add(geometry.Plane(vector(normal)))
                bodies.add(f"domain.{SIDE_NAMES[s]}", plane, place, np.array([1.0, 0.0, 0.0, 0.0]))

    def _sample(self, name: str) -> Array:
        """Boundary particles of a body at t = 0 (n, 3) [m]."""
        solid, grid = self._shaped[name], self._grid
        dx, dimensions = grid.dx, grid.dimensions
        thickness = solid.thickness(dimensions)
        if thickness < (1.0 - 1e-3) * dx:
            finer = math.ceil(self.scene.need_domain().resolution * dx / thickness)
            raise UserError(
                f"objects.{name}: {thickness:.3g} m thick, less than one particle ({dx:.3g} m), which cannot feel it; "
                f"make it thicker, or raise domain.resolution to {finer}"
            )
        position, rotation = solid.motion.pose(0.0)
        even = solid.shape.boundary_lattice(dx, dimensions)
        if even is not None and (dimensions == 3 or abs(rotation[2, 2]) > 1.0 - 1e-9):
            return np.asarray(even @ rotation.T + position)
        lower, upper = solid.bounds(0.0)
        margin = 3.0 * dx
        lower = np.maximum(lower, np.array(grid.lower) - margin)
        upper = np.minimum(upper, np.array(grid.upper) + margin)
        meshed = dimensions == 3 and solid.shape_at(0.0).as_mesh() is not None
        nearest = partial(solid.nearest, t=0.0) if meshed else None
        distance = partial(solid.distance, t=0.0, dimensions=dimensions)
        return sample_surface(distance, lower, upper, dx, dimensions, nearest)

    def _regions(self) -> tuple[list[SphSource], list[SphDrain]]:
        """Sources and drains."""
        sources, drains = [], []
        for name, item in self.scene.water_regions.items():
            solid = self._shaped[name]
            distance = partial(solid.distance, t=0.0, dimensions=self._grid.dimensions)
            stop = math.inf if item.stop is None else item.stop
            if isinstance(item, Drain):
                drains.append(SphDrain(name, distance, item.rate, item.start, stop))
                continue
            lower, upper = solid.bounds(0.0)
            centre, velocity = np.array(build.vector3(item.position)), np.array(build.vector3(item.velocity))
            reach = float(np.linalg.norm((upper - lower)[: self._grid.dimensions]))
            sources.append(make_source(name, distance, centre, reach, velocity, self.fluid, item.start, stop))
        return sources, drains

    def limits(self, time: float) -> list[Limit]:
        found = self.fluid.limits() if self.forcing is None else self.forcing.limits()
        return [Limit(name, longest, "cfl" if name == "cfl" else "motion") for name, longest in found.items()]

    def step(self, time: float, time_step: float) -> ModelStep:
        for s, curve in self._moving.items():
            self.fluid.set_side_velocity(s, np.asarray(curve.value(time + time_step)))
        for source in self._sources:
            source.apply(self.fluid, time, time_step)
        for drain in self._drains:
            self._drained += drain.apply(self.fluid, time, time_step)
        if self.forcing is None:
            self.fluid.step(time_step)
            return ModelStep(self._sweeps(), self.fluid.totals, tuple(self._events()))
        report = self.forcing.step(time, time_step)
        self._solids.take_report(report)
        self._take_forces(self.forcing)
        events = (*self._solids.events(report), *self._events())
        return ModelStep(max(report.iterations, self._sweeps()), report, events)

    def _take_forces(self, forcing: DirectForcing) -> None:
        """Pressure and viscous force on boundary particles, control forces of particles that touch."""
        forces, count = self._solids.force_table, len(forcing.pressure_b)
        forces.pressure[:count], forces.viscous[:count] = forcing.pressure_b, forcing.viscous_b
        forces.control[:count], forces.torque[:count] = forcing.control_b, forcing.torque_b

    def _sweeps(self) -> int:
        return self.fluid.sweeps if isinstance(self.fluid, ImplicitFluid) else 0

    def _events(self) -> list[str]:
        """Solves of the step that ended before they were done; each is named once per run."""
        fluid, forcing = self.fluid, self.forcing
        troubles = {}
        if isinstance(fluid, ImplicitFluid) and fluid.unconverged:
            troubles["pressure"] = (
                f"the pressure solve stopped after {fluid.sweeps} sweeps with the density still "
                f"{fluid.density_error:.2%} off on average; lower time.max_step"
            )
        if forcing is not None and forcing.unfinished_rounds:
            troubles["rounds"] = (
                f"control forces and contact among bodies still differ by {forcing.disagreement:.3g} m/s after "
                f"{forcing.rounds} rounds; lower time.max_step"
            )
        if forcing is not None and forcing.unfinished_turns:
            troubles["turns"] = (
                "control forces of particles between two bodies were not found: the bodies squeeze fluid that cannot "
                "get away; raise domain.resolution or leave more room between them"
            )
        new = [kind for kind in troubles if kind not in self._said]
        self._said.update(new)
        return [f"{troubles[kind]} (the ledger counts how often)" for kind in new]

    def quantities(self) -> Iterator[Quantity]:
        fluid, forcing, totals = self.fluid, self.forcing, self.fluid.totals
        yield Quantity("particles", totals.particles)
        yield from components("momentum", totals.momentum, MOMENTUM)
        yield from components("angular_momentum", totals.angular_momentum, ANGULAR_MOMENTUM)
        yield Quantity("kinetic_energy", totals.kinetic, ENERGY)
        yield Quantity("potential_energy", totals.potential, ENERGY)
        yield Quantity("speed_max", totals.speed, SPEED, "max")
        yield Quantity("density_ratio", totals.density / fluid.settings.density, merge="max")
        yield Quantity("lost_particles", fluid.lost)
        yield Quantity("drained_particles", self._drained)
        if isinstance(fluid, ImplicitFluid):
            yield Quantity("sweeps", fluid.sweeps)
            yield Quantity("density_error", fluid.density_error, merge="max")
            yield Quantity("pressure_unconverged", fluid.unconverged)
        if forcing is not None:
            # contacts of particles and bodies, and those that would pull; rounds with the contact of bodies, and what
            # they still change; whether rounds, or turns over bodies that share particles, ended too early
            yield Quantity("forcing_contacts", forcing.contacts)
            yield Quantity("dropped_contacts", forcing.dropped)
            yield Quantity("velocity_error", forcing.velocity_error, SPEED, "max")
            yield Quantity("rounds", forcing.rounds)
            yield Quantity("disagreement", forcing.disagreement, SPEED, "max")
            yield Quantity("unfinished_rounds", forcing.unfinished_rounds)
            yield Quantity("unfinished_turns", forcing.unfinished_turns)

    def frames(self, time: float) -> list[object]:
        surface = self.surface_frame()
        return [self.particle_frame(), *([] if surface is None else [surface])]

    def surface_frame(self) -> SurfaceFrame | None:
        """The surface of the particles; None in 2D."""
        if self._grid.dimensions == 2:
            return None
        from undertow.output import SurfaceFrame
        from undertow.output.particles import particle_surface

        grid, rows, spec = self._grid, self.fluid.fluid_rows(), self.fluid.points.spec
        lower, upper = np.array(grid.lower), np.array(grid.upper)
        return SurfaceFrame(*particle_surface(spec.place[rows, :3], spec.motion[rows, :3], grid.dx, lower, upper))

    def particle_frame(self) -> ParticleFrame:
        """The particles, in the order of their numbers."""
        from undertow.output.particles import ParticleFrame

        fluid, lower, upper = self.fluid, np.array(self._grid.lower), np.array(self._grid.upper)
        return ParticleFrame(
            fluid.positions(), fluid.velocities(), fluid.pressures(), fluid.densities(), fluid.spacing, lower, upper
        )

    def arrays(self) -> dict[str, Array]:
        return {**self.fluid.arrays(), **({} if self.forcing is None else self.forcing.arrays())}

    def numbers(self) -> dict[str, Any]:
        regions = {source.name: source.travelled for source in self._sources}
        regions |= {drain.name: drain.owed for drain in self._drains}
        return {"fluid": self.fluid.scalars(), "regions": regions, "drained": self._drained}

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        self.fluid.restore(arrays, numbers["fluid"])
        self._drained = int(numbers["drained"])
        for source in self._sources:
            source.travelled = float(numbers["regions"][source.name])
        for drain in self._drains:
            drain.owed = float(numbers["regions"][drain.name])
        if self.forcing is not None:
            self.forcing.restore(arrays)

    def locate(self, name: str, index: tuple[int, ...]) -> str:
        if not name.startswith("sph_"):
            return super().locate(name, index)
        spec = self.fluid.points.spec
        place = spec.origin + spec.built[:, index[-1] if name == "sph_built" else index[0]]
        return f"first of a particle near ({', '.join(f'{x:.4g}' for x in place)}) m"
