"""From the description of a scene to grid, sides, solids, sources and flow."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

import numpy as np

import undertow.geometry as geometry
from undertow.errors import UserError
from undertow.fluid import Flow, FlowSettings, Smoke, SmokeEmitter, SmokeSettings
from undertow.fluid.advected import Content
from undertow.geometry.clipped import check_size, clip_to_grid
from undertow.geometry.driven import Driven as DrivenMotion
from undertow.geometry.hiding import ThinSolids
from undertow.grid import KIND_NAMES, SIDE_NAMES, Array, Grid, Sides
from undertow.rigid.table import BodyTable
from undertow.run.shapes import make_shape
from undertow.scene import (
    Bubble,
    Drain,
    Driven,
    Emitter,
    Hold,
    Inflow,
    Keyframes,
    Periodic,
    PrescribedVelocity,
    RigidBody,
    Scene,
    Sine,
    SoftBody,
    SphFluid,
    Static,
    Table,
    Wall,
    Water,
    WaterSource,
)
from undertow.scene import Smoke as SmokeOfScene

Placed = RigidBody | Emitter | Water | WaterSource | Drain | Bubble | SphFluid | SoftBody | Hold


def vector3(values: tuple[float, ...]) -> tuple[float, float, float]:
    """A vector of the scene with its z, which is 0 in 2D."""
    x, y = values[:2]
    return (float(x), float(y), float(values[2]) if len(values) == 3 else 0.0)


def build_grid(scene: Scene) -> tuple[Grid, list[str]]:
    """The grid, and a note for every side that had to grow to a whole number of cells."""
    domain = scene.need_domain()
    lengths = [b - a for a, b in zip(domain.lower, domain.upper, strict=True)]
    dx = lengths["xyz".index(domain.resolution_along)] / domain.resolution
    counts, notes = [], []
    for axis, lower, length in zip("xyz", domain.lower, lengths, strict=False):
        count = max(1, math.ceil(length / dx - 1e-6))
        counts.append(count)
        if abs(count * dx - length) > 1e-6 * dx:
            notes.append(
                f"domain.upper: {axis} grows from {lower + length:g} to {lower + count * dx:g} m, "
                f"a whole number of cells ({count} of {dx:g} m)"
            )
    nx, ny = counts[:2]
    if scene.dimensions == 2:
        # the plane of a 2D scene is z = 0, the middle of its one layer of cells
        return Grid((nx, ny, 1), dx, (domain.lower[0], domain.lower[1], -dx / 2), 2), notes
    x0, y0, z0 = domain.lower
    return Grid((nx, ny, counts[2]), dx, (x0, y0, z0), 3), notes


def initial_velocity(scene: Scene) -> Callable[[Array, Array, Array], tuple[Array, Array, Array]]:
    """Velocity of the fluid at t = 0 [m/s] as a function of places x, y, z [m]."""
    domain, start = scene.need_domain(), vector3(scene.fluid.initial_velocity)
    kx, ky = (2 * math.pi / (b - a) for a, b in zip(domain.lower[:2], domain.upper[:2], strict=True))
    strength = scene.fluid.initial_vortices

    def velocity(x: Array, y: Array, z: Array) -> tuple[Array, Array, Array]:
        px, py = kx * (x - domain.lower[0]), ky * (y - domain.lower[1])
        return (
            start[0] + strength * ky * np.sin(px) * np.cos(py),
            start[1] - strength * kx * np.cos(px) * np.sin(py),
            start[2] + 0.0 * z,
        )

    return velocity


def start_velocity(item: Water | SphFluid) -> Callable[[Array], Array]:
    """Velocity (n, 3) [m/s] at t = 0 of a liquid at places (n, 3) [m]."""
    given = item.velocity_field
    if given is None:
        velocity = np.array(vector3(item.velocity))
        return lambda points: np.broadcast_to(velocity, points.shape)
    axes = [(n, x) for n, x in enumerate((given.x, given.y, given.z)) if x is not None]
    table, width = geometry.PlaceTable(axes, given.values), given.components
    return lambda points: np.column_stack([table(points), np.zeros((len(points), 3 - width))])


def make_curve(curve: object) -> geometry.Curve:
    """A vector curve of the scene, with three components."""
    if isinstance(curve, Table):
        return geometry.TableCurve(curve.times, [vector3(v) for v in curve.values], curve.interpolation)  # type: ignore[arg-type]
    if isinstance(curve, Sine):
        mean, amplitude = vector3(curve.mean), vector3(curve.amplitude)  # type: ignore[arg-type]
        return geometry.SineCurve(mean, amplitude, curve.frequency, curve.phase)
    return geometry.ConstantCurve(vector3(curve))  # type: ignore[arg-type]


def gravity_at_start(scene: Scene) -> tuple[float, float, float]:
    """Gravity at t = 0 (3,) [m/s2]."""
    x, y, z = np.asarray(make_curve(scene.gravity).value(0.0)).tolist()
    return (x, y, z)


@dataclass
class SideValues:
    """Sets the velocity planes of the sides for a time: curve(t) times the profile of the side."""

    sides: Sides
    curves: dict[int, geometry.Curve]
    profiles: dict[int, Array]

    def __call__(self, time: float) -> None:
        for side, curve in self.curves.items():
            value = np.asarray(curve.value(time))
            self.sides.set_velocity(side, value[:, None, None] * self.profiles[side])

    @property
    def varies(self) -> bool:
        return any(not isinstance(curve, geometry.ConstantCurve) for curve in self.curves.values())


def check_room(scene: Scene, table: BodyTable, regions: int) -> None:
    """Bodies that leave no region to the fluid's pressure are a mistake."""
    if regions == 0:
        names = ", ".join(f"objects.{name}" for name in (*table.entries, *scene.softs))
        raise UserError(
            f"{scene.name}: {names} fill the whole domain and leave no fluid; make them smaller, or the domain larger"
        )


def build_sides(scene: Scene, grid: Grid) -> tuple[Sides, Callable[[float], None] | None]:
    """The sides with their velocities at t = 0, and what sets them for a time when they vary."""
    kind, slip = [0] * 6, [False] * 6
    for name, side in scene.need_domain().sides.items():
        index = SIDE_NAMES.index(name)
        kind[index] = KIND_NAMES.index(side.type)
        # water without viscosity slides along walls
        inviscid = scene.has_surface and not scene.is_viscous
        slip[index] = isinstance(side, Wall | Inflow) and (side.slip or inviscid)
    sides = Sides(grid, kind, slip)
    curves, profiles = {}, {}
    for name, side in scene.need_domain().sides.items():
        if isinstance(side, Wall | Inflow):
            index = SIDE_NAMES.index(name)
            curves[index] = make_curve(side.velocity)
            profiles[index] = _profile(scene, sides, name)
    values = SideValues(sides, curves, profiles)
    values(0.0)
    return sides, values if values.varies else None


def _profile(scene: Scene, sides: Sides, name: str) -> Array:
    """Multiplier of the velocity over the faces of a side, averaged over each face, shape (n_second, n_first)."""
    side = scene.need_domain().sides[name]
    axes = sides.plane_axes(SIDE_NAMES.index(name))
    profile = np.ones([sides.grid.cells[axis] for axis in reversed(axes)])
    if not isinstance(side, Inflow) or side.profile == "uniform":
        return profile
    if side.profile == "parabolic":
        for axis in scene.parabolic_axes(name):
            factor = _mean_parabola(sides.grid.cells[axis])
            profile = profile * (factor[None, :] if axis == axes[0] else factor[:, None])
        return profile
    n = sides.grid.cells[axes[0]]
    assert side.coordinate is not None and side.values is not None
    middle = (np.arange(n) + 0.5) / n
    return profile * np.interp(middle, side.coordinate, side.values)[None, :]


def _mean_parabola(n: int) -> Array:
    """Mean of 4 s (1 - s) over each of n equal parts of 0 <= s <= 1; the whole flow is exactly 2/3."""
    s = np.arange(n + 1) / n
    return np.asarray(np.diff(2 * s**2 - 4 / 3 * s**3) * n)


def make_motion(item: Placed) -> geometry.Motion:
    """The prescribed motion of an object."""
    position = vector3(item.position)
    rotation = geometry.rotation_matrix(item.rotation.axis, item.rotation.degrees)
    motion = item.motion if isinstance(item, RigidBody | Hold) else Static()
    if isinstance(motion, PrescribedVelocity):
        return geometry.VelocityCurves(make_curve(motion.linear), make_curve(motion.angular), position, rotation)
    if isinstance(motion, Keyframes):
        turns = motion.rotations or (item.rotation,) * len(motion.times)
        positions = [vector3(p) for p in motion.positions]
        return geometry.Keyframes(motion.times, positions, [(r.axis, r.degrees) for r in turns], motion.interpolation)
    if isinstance(motion, Driven):
        return DrivenMotion(np.array(position), rotation)
    return geometry.Static(np.array(position), rotation)


def build_solids(scene: Scene, table: BodyTable, grid: Grid) -> tuple[list[geometry.Solid], list[str]]:
    """The solids in the order of the table, and notes on those the grid sees badly."""
    solids = []
    thin: list[tuple[float, geometry.Solid]] = []
    for body in (entry.description for entry in table):
        solid = geometry.Solid(body.name, body.shape, copy(body.motion), body.slip, body.dynamic)
        if not body.dynamic:
            _check_enters(scene, grid, solid)
        thickness = solid.thickness(grid.dimensions)
        if thickness < 2 * grid.dx and not body.shape.is_sheet:
            thin.append((thickness, solid))
        # along periodic axes a solid is there more than once
        repeats = any(isinstance(side, Periodic) for side in scene.need_domain().sides.values())
        solids.append(check_size(solid, grid) if body.dynamic or repeats else clip_to_grid(solid, grid))
    # other couplings have fractions or cells of their own for what forces move
    closing = [solid for _, solid in thin if not solid.dynamic or scene.coupling == "monolithic"]
    sheets = ThinSolids(grid, closing, closing=True).solids
    plates = [(thickness, solid.name) for thickness, solid in thin if solid in sheets]
    rods = [(thickness, solid.name) for thickness, solid in thin if solid not in sheets]
    return solids, [
        *_notes_of_thin(plates, grid.dx, "they hold the fluid, with walls of whole cells"),
        *_notes_of_thin(rods, grid.dx, "fluid may pass through"),
    ]


def _notes_of_thin(thin: list[tuple[float, str]], dx: float, what: str) -> list[str]:
    """One note for all bodies that are thinner than two cells, and what that does."""
    if not thin:
        return []
    thickness, name = min(thin)
    others = f" and {len(thin) - 1} more" if len(thin) > 1 else ""
    return [
        f"objects.{name}{others}: {thickness:.3g} m thick, less than two cells ({2 * dx:.3g} m): {what}; raise the "
        "resolution or make them thicker"
    ]


def _check_enters(scene: Scene, grid: Grid, solid: geometry.Solid) -> None:
    """A solid that is outside the domain at every frame is a mistake."""
    frames = scene.time.frames
    for frame in range(0, frames + 1, max(1, frames // 200)):
        lower, upper = solid.bounds(scene.time.frame_time(frame))
        if all(lower[a] < grid.upper[a] and upper[a] > grid.lower[a] for a in grid.axes):
            return
    raise UserError(
        f"objects.{solid.name}: outside the domain during the whole run; it reaches from {list(grid.lower)} to "
        f"{list(grid.upper)} m; move it inside, or change its motion"
    )


def build_emitters(scene: Scene, grid: Grid) -> list[SmokeEmitter]:
    """The sources of smoke as sets of cells."""
    emitters = []
    x, y, z = np.broadcast_arrays(*grid.cell_centres())
    points = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
    for name, item in scene.emitters.items():
        assert scene.smoke is not None
        region = geometry.Solid(name, make_shape(name, item), make_motion(item))
        inside_c = np.zeros(grid.padded, dtype=bool)
        inside_c[grid.interior] = (region.distance(points, 0.0) <= 0).reshape(x.shape)
        if not inside_c.any():
            raise UserError(
                f"objects.{name}: the emitter covers no cell of {grid.dx:g} m; make it larger, move it "
                f"inside the domain or raise the resolution"
            )
        emitters.append(
            SmokeEmitter(
                inside_c=inside_c,
                density=item.density,
                temperature=scene.smoke.ambient_temperature if item.temperature is None else item.temperature,
                velocity=None if item.velocity is None else vector3(item.velocity),
                start=item.start,
                stop=math.inf if item.stop is None else item.stop,
            )
        )
    return emitters


def notes_at_start(solids: list[geometry.Solid], flow: Flow, names: list[str]) -> list[str]:
    """What may be a mistake in where prescribed solids and smoke emitters (by their names) start."""
    notes = []
    emitters = [emitter for field in flow.fields if isinstance(field, Smoke) for emitter in field.emitters]
    for a, first in enumerate(solids):
        for second in solids[a + 1 :]:
            (low, high), (lower, upper) = first.bounds(0.0), second.bounds(0.0)
            if np.any(high <= lower) or np.any(upper <= low):
                continue
            depth = min(
                float(one.distance(other.surface(0.0)[0], 0.0, flow.grid.dimensions).min())
                for one, other in ((first, second), (second, first))
            )
            if depth < -0.5 * flow.grid.dx:
                notes.append(
                    f"objects.{first.name} and objects.{second.name} overlap by {-depth:.3g} m at the start: the fluid "
                    f"sees them as one solid; move one of them if that is not meant"
                )
    for name, emitter in zip(names, emitters, strict=True):
        if not np.any(flow.domain.volume_c[emitter.inside_c] > 0.0):
            notes.append(f"objects.{name}: lies inside a solid at the start, nothing comes out of it; move one of them")
    return notes


def flow_settings(scene: Scene) -> FlowSettings:
    """The numbers and methods of the flow."""
    fluid = scene.fluid
    return FlowSettings(
        density=fluid.density,
        viscosity=fluid.viscosity,
        gravity=gravity_at_start(scene),
        acceleration=vector3(fluid.acceleration),
        advection=fluid.advection,
        limiter=fluid.limiter,
        viscosity_form=fluid.viscosity_form,
        no_slip=fluid.no_slip,
        stepper=scene.time.stepper,
        tolerance=fluid.tolerance,
    )


def smoke_contents(scene: Scene, grid: Grid) -> list[Content]:
    """What makes the smoke, or dye, of a scene with its sources; nothing without any."""
    smoke = scene.smoke
    if smoke is None:
        return []
    settings, emitters = _smoke_settings(scene, smoke), build_emitters(scene, grid)
    return [lambda context: Smoke(context, settings, emitters)]


def _smoke_settings(scene: Scene, smoke: SmokeOfScene) -> SmokeSettings:
    ambient = smoke.ambient_temperature
    incoming = {
        (side.smoke, ambient if side.temperature is None else side.temperature)
        for side in scene.need_domain().sides.values()
        if isinstance(side, Inflow)
    }
    if len(incoming) > 1:
        raise UserError("domain.sides: all inflows must bring the same smoke and temperature; make them equal")
    density, temperature = incoming.pop() if incoming else (0.0, ambient)
    return SmokeSettings(
        buoyancy_density=smoke.buoyancy_density,
        buoyancy_temperature=smoke.buoyancy_temperature,
        ambient_temperature=ambient,
        cooling=smoke.cooling,
        dissipation=smoke.dissipation,
        confinement=smoke.confinement,
        inflow_density=density,
        inflow_temperature=temperature,
    )
