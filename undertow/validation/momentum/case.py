"""Momentum that the coupled solve passes between fluid and bodies, in random configurations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.validation.analysis import Array, Quantity, quantity

COUNT = 12
"""Configurations of each kind."""
SMOKE = {"COUNT": 2}


def closed_box(objects: dict[str, Any], dimensions: int, resolution: int, periodic: bool) -> ut.Scene:
    """A unit box full of fluid of density 1 without gravity, walls or periodic sides around it."""
    names = ("x", "y", "z")[:dimensions]
    sides: dict[str, Any] = {f"{a}_{end}": "periodic" for a in names for end in ("low", "high")} if periodic else {}
    return ut.Scene(
        name="random",
        coupling="monolithic",
        gravity=(0.0,) * dimensions,
        domain=ut.Domain(upper=(1.0,) * dimensions, resolution=resolution, sides=sides),
        time=ut.Time(end=1.0, frame_rate=1.0),
        fluid=ut.Fluid(density=1.0, tolerance=1e-9),
        soft=ut.Soft(collisions=not objects.keys() & {"soft"}),
        objects=objects,
    )


def random_scene(rng: np.random.Generator, dimensions: int, periodic: bool, count: int) -> ut.Scene:
    """``count`` boxes, spheres and capsules of random densities in a unit box, in a row, not touching."""
    objects = {}
    for b in range(count):
        place = rng.uniform(0.42, 0.58, dimensions)
        place[0] = (b + 0.5) / count
        size = 0.30 / count
        shapes: list[Any] = [
            ut.Sphere(radius=size),
            ut.Box(size=tuple(size * rng.uniform(0.8, 1.3, dimensions))),
            ut.Capsule(radius=0.6 * size, length=0.7 * size),
        ]
        axis = (0.0, 0.0, 1.0) if dimensions == 2 else tuple(rng.normal(size=3))
        objects[f"b{b}"] = ut.RigidBody(
            shape=shapes[int(rng.integers(3))],
            position=tuple(place),
            rotation=ut.Rotation(axis=axis, degrees=float(rng.uniform(0, 360))),
            density=float(10.0 ** rng.uniform(-2, 2)),
        )
    return closed_box(objects, dimensions, int(rng.integers(14, 20)), periodic)


def shake(sim: ut.Simulation, rng: np.random.Generator) -> tuple[Array, Array]:
    """Random velocity of the free faces and of the bodies; returns the masses of the faces and u*."""
    flow, bodies = sim.flow, sim.scheme.bodies.bodies  # type: ignore[attr-defined]
    inverse = flow.domain.inv_mass_f
    mass = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0)
    u = rng.normal(size=mass.shape) * (mass > 0)
    for b in range(len(sim.scene.bodies)):
        v, omega = rng.normal(size=3), rng.normal(size=3)
        if flow.grid.dimensions == 2:
            v[2] = omega[0] = omega[1] = 0.0
        bodies.set_velocity(b, v, omega)
    flow.solve.place()
    return mass, u


def at_ends(sim: ut.Simulation, u: Array) -> Array:
    """Momentum of the fluid's masses at the ends of the bodies, beside those of the faces (see ``coupling.poles``)."""
    found, poles = np.zeros_like(u), sim.flow.solve.rigid.walls.poles  # type: ignore[attr-defined]
    poles.add_momentum(poles.mean(u), found)
    return found


def linear(seed: int) -> tuple[float, float]:
    """(Change of linear momentum in the solve, momentum that the bodies are given in it), periodic box, relative to the
    sum of all parts."""
    rng = np.random.default_rng(seed)
    sim = ut.Simulation(random_scene(rng, 2 + seed % 2, True, 1 + seed % 3))
    mass, u = shake(sim, rng)
    bodies = sim.scheme.bodies.bodies  # type: ignore[attr-defined]
    size = float(np.abs(mass * u).sum() + np.abs(bodies.p_b).sum())
    before, start = (mass * u + at_ends(sim, u)).sum(axis=(1, 2, 3)) + bodies.p_b.sum(axis=0), bodies.p_b.copy()
    sim.flow.z_c[...] = 0.0
    sim.flow.project(u, 1.0)
    after = (mass * u + at_ends(sim, u)).sum(axis=(1, 2, 3)) + bodies.p_b.sum(axis=0)
    return float(np.abs(after - before).max() / size), float(np.abs(bodies.p_b - start).max() / size)


def angular(seed: int) -> float:
    """Angular momentum that a solve's pressure, away from the sides, gives fluid and bodies together, relative.

    The momentum of a cut face sits at the middle of its open part.
    """
    rng = np.random.default_rng(seed)
    sim = ut.Simulation(random_scene(rng, 2 + seed % 2, False, 1 + seed % 3))
    flow, bodies = sim.flow, sim.scheme.bodies.bodies  # type: ignore[attr-defined]
    grid, rows = flow.grid, flow.solve.rows
    _, u = shake(sim, rng)
    flow.z_c[...] = 0.0
    flow.project(u, 1.0)
    z = np.zeros(grid.padded)
    inner = tuple(slice(s.start + 1, s.stop - 1) if s.stop - s.start > 1 else s for s in grid.interior)
    z[inner] = flow.z_c[inner]
    push = {"fluid": np.zeros_like(u), "rigid": np.zeros((bodies.count, 6))}
    rows.add_transpose(z, push)
    rows.walls[0].poles.add_push(z, push["fluid"])
    total = (push["rigid"][:, 3:] + np.cross(bodies.x_b, push["rigid"][:, :3])).sum(axis=0)
    size = 0.0
    assert flow.solids is not None
    for axis in grid.axes:
        for k, j, i in np.argwhere(push["fluid"][axis] != 0.0):
            point = _middle(flow.solids.phi_n, grid, axis, int(k), int(j), int(i))
            p = np.zeros(3)
            p[axis] = push["fluid"][axis, k, j, i]
            total = total + np.cross(point, p)
            size += abs(float(p[axis]))
    return float(np.abs(total).max() / size)


def _middle(phi: Array, grid: Any, axis: int, k: int, j: int, i: int) -> Array:
    """Middle of the open part of a face [m]: phi linear on the four triangles about the face's centre."""
    from undertow.grid import GHOSTS

    point = np.array(grid.lower) + (np.array([i, j, k]) - GHOSTS + 0.5) * grid.dx
    point[axis] -= 0.5 * grid.dx
    others = [a for a in range(3) if a != axis]
    corners = []
    for s, t in ((0, 0), (1, 0), (1, 1), (0, 1)):
        index = [k, j, i]
        index[2 - others[0]] += s
        index[2 - others[1]] += t
        corners.append((np.array([s - 0.5, t - 0.5]), float(phi[tuple(index)])))
    centre = (np.zeros(2), 0.25 * sum(value for _, value in corners))
    area, moment = 0.0, np.zeros(2)
    for n in range(4):
        part = _clip([corners[n], corners[(n + 1) % 4], centre])
        for m in range(1, len(part) - 1):
            a, b, c = part[0], part[m], part[m + 1]
            size = 0.5 * abs(float((b - a)[0] * (c - a)[1] - (b - a)[1] * (c - a)[0]))
            area += size
            moment += size * (a + b + c) / 3.0
    point[others] += grid.dx * moment / area
    if grid.dimensions == 2:
        point[2] = 0.0
    return point


def _clip(triangle: list[tuple[Array, float]]) -> list[Array]:
    """Corners of the part of a triangle where the linear function is positive."""
    part = []
    for (a, fa), (b, fb) in zip(triangle, [*triangle[1:], triangle[0]], strict=True):
        if fa > 0:
            part.append(a)
        if (fa > 0) != (fb > 0):
            part.append(a + fa / (fa - fb) * (b - a))
    return part


def random_soft_scene(rng: np.random.Generator, dimensions: int, shell: bool, periodic: bool = True) -> ut.Scene:
    """A soft box or ball, or a sheet (in 2D a rope), of a random density in a unit box."""
    place = tuple(rng.uniform(0.4, 0.6, dimensions))
    axis = (0.0, 0.0, 1.0) if dimensions == 2 else tuple(rng.normal(size=3))
    turn = ut.Rotation(axis=axis, degrees=float(rng.uniform(0, 360)))
    density = float(10.0 ** rng.uniform(-2, 2))
    item: Any
    if shell and dimensions == 3:
        size = tuple(rng.uniform(0.3, 0.5, 2))
        item = ut.Cloth(size=size, position=place, rotation=turn, element_size=0.1, density=0.1 * density)
    elif shell:
        angle = float(rng.uniform(0, np.pi))
        end = (place[0] + 0.35 * np.cos(angle), place[1] + 0.35 * np.sin(angle))
        item = ut.Rope(position=place, end=end, element_size=0.06, density=0.1 * density, stretching=10.0)
    else:
        box = bool(rng.integers(2)) or dimensions == 3
        shape: Any = ut.Box(size=(0.4, 0.35, 0.3)[:dimensions]) if box else ut.Sphere(radius=0.2)
        item = ut.SoftBody(
            shape=shape,
            position=place,
            rotation=turn,
            element_size=0.12,
            density=density,
            youngs_modulus=float(10.0 ** rng.uniform(-1, 3)),
            damping=float(rng.choice([0.0, 0.01])),
        )
    return closed_box({"soft": item}, dimensions, int(rng.integers(9, 14)), periodic)


def shake_soft(sim: ut.Simulation, rng: np.random.Generator) -> tuple[Array, Array]:
    """Random velocity of free and coupled faces and of the nodes; returns the masses of the faces and u*."""
    flow = sim.flow
    fields, soft = sim.flow.solids, sim.scheme.nodes[0].soft  # type: ignore[attr-defined]
    inverse = flow.domain.inv_mass_f
    mass = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0)
    mass.reshape(-1)[fields.voxel.face] = sim.flow.solve.nodes[0].walls.carried_mass()  # type: ignore[attr-defined]
    u = rng.normal(size=mass.shape) * (mass > 0)
    soft.v[:, : flow.grid.dimensions] = rng.normal(size=(soft.count, flow.grid.dimensions))
    return mass, u


def linear_soft(seed: int, shell: bool) -> tuple[float, float]:
    """The same as ``linear`` for a soft body or a shell."""
    rng = np.random.default_rng(seed)
    sim = ut.Simulation(random_soft_scene(rng, 2 + seed % 2, shell))
    mass, u = shake_soft(sim, rng)
    soft = sim.scheme.nodes[0].soft  # type: ignore[attr-defined]
    size = float(np.abs(mass * u).sum() + np.abs(soft.mass[:, None] * soft.v).sum())
    before, start = (mass * u).sum(axis=(1, 2, 3)) + soft.momentum()[0], soft.v.copy()
    sim.flow.z_c[...] = 0.0
    sim.flow.project(u, 0.05)
    after = (mass * u).sum(axis=(1, 2, 3)) + soft.momentum()[0]
    given = np.abs(soft.mass[:, None] * (soft.v - start)).sum()
    return float(np.abs(after - before).max() / size), float(given / size)


def run(full: bool) -> Iterator[Quantity]:
    """Random rigid and soft bodies, shells and flows."""
    count = 60 if full else COUNT
    changes, given = zip(*(linear(seed) for seed in range(count)), strict=True)
    yield quantity("linear_rigid", max(changes), configurations=count)
    # a solve that does nothing keeps momentum too
    yield quantity("given_rigid", min(given))
    turned = [angular(100 + seed) for seed in range(count)]
    yield quantity("angular_rigid", max(turned), configurations=count)
    for name, shell in (("linear_soft", False), ("linear_shell", True)):
        changes, given = zip(*(linear_soft(200 + seed, shell) for seed in range(count)), strict=True)
        yield quantity(name, max(changes), configurations=count)
        yield quantity(name.replace("linear", "given"), min(given))
