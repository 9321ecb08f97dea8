"""Room for bodies in a fluid of particles: what is displaced, where it goes, and how it settles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.geometry import Box, Capsule, Solid, Sphere
from undertow.geometry.motion import Static
from undertow.run.assemble_particles import _make_box, _sample
from undertow.run.assemble_solids import read_table
from undertow.run.build import build_grid
from undertow.scene import toml
from undertow.sph import deepest, move_out, share_inside
from undertow.sph.part import SphPart

Distance = Callable[[np.ndarray], np.ndarray]


def lattice(n: int) -> np.ndarray:
    steps = np.arange(n) + 0.5
    return np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)


def turned(shape: Any, centre: np.ndarray, seed: int) -> Distance:
    """Signed distance of a shape turned at random."""
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    solid = Solid("body", shape, Static(tuple(centre), q * np.linalg.det(q)))
    return lambda x: solid.distance(x, 0.0, 3)


BODIES = {
    **{f"sphere {r}": (Sphere(r), 4.0 / 3.0 * np.pi * r**3) for r in (1.2, 1.7, 2.0, 2.5, 3.1, 4.0)},
    "box": (Box((5.3, 3.1, 4.4)), 5.3 * 3.1 * 4.4),
    "plate": (Box((8.2, 1.1, 6.0)), 8.2 * 1.1 * 6.0),
    "capsule": (Capsule(1.6, 3.0), np.pi * 1.6**2 * 3.0 + 4.0 / 3.0 * np.pi * 1.6**3),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_displaces_its_own_volume_wherever_it_is(name: str) -> None:
    shape, volume = BODIES[name]
    places, draw = lattice(14), np.random.default_rng(5)
    for seed in range(4):
        distance = turned(shape, 7.0 + draw.uniform(-0.5, 0.5, 3), seed)
        depth = distance(places)
        total = float(share_inside(distance, depth, places, 1.0, 3).sum())
        assert total == pytest.approx(volume, rel=0.02, abs=0.5)
        gone = deepest(depth, round(total), 1.0)
        assert np.count_nonzero(gone) == round(total) and depth[gone].max() <= depth[~gone].min() + 1e-5
        # what is left near the body finds room just outside it
        crowded = places[~gone & (depth < 0.5)]
        moved, room = move_out(crowded, [distance], 0.5, np.full(3, -np.inf), np.full(3, np.inf))
        assert room.all() and distance(moved).min() > 0.49 and np.linalg.norm(moved - crowded, axis=1).max() < 1.3


def test_equal_places_are_cleared_evenly_and_what_finds_no_room_is_told() -> None:
    gone = deepest(np.zeros(24), 12, 1.0)
    assert gone.reshape(2, 12).sum(axis=1).tolist() == [6, 6] and np.diff(np.flatnonzero(gone)).max() == 2
    assert not deepest(np.array([1.0, 2.0]), 0, 1.0).any() and deepest(np.array([1.0, 2.0]), 5, 1.0).all()
    walls: list[Distance] = [lambda x: x[:, 0], lambda x: 0.8 - x[:, 0]]
    _, room = move_out(np.array([[0.4, 0.0, 0.0]]), walls, 0.5, np.full(3, -np.inf), np.full(3, np.inf))
    assert not room.any()
    # a wall of the domain in the way
    moved, room = move_out(np.array([[0.6, 0.0, 0.0]]), [lambda x: x[:, 0] - 0.3], 0.5, np.zeros(3), np.full(3, 0.7))
    assert moved[0, 0] == 0.7 and not room.any()


def full_box(radius: float, offset: tuple[float, float, float]) -> Any:
    """A periodic box, 12 spacings wide, full of fluid but for a sphere."""
    sides = {f"{axis}_{end}": "periodic" for axis in "xyz" for end in ("low", "high")}
    scene = ut.Scene(
        name="full",
        coupling="direct_forcing",
        gravity=(0.0, 0.0, 0.0),
        domain=ut.Domain(upper=(0.12,) * 3, resolution=12, sides=sides),
        time=ut.Time(end=1.0, frame_rate=100),
        sph=ut.Sph(viscosity=0.1, sound_speed=1.0),
        objects={
            "fluid": ut.SphFluid(shape=ut.Box(size=(0.3,) * 3), position=(0.0,) * 3),
            "ball": ut.RigidBody(
                shape=ut.Sphere(radius=0.01 * radius),
                position=tuple(0.06 + 0.01 * a for a in offset), density=1000.0,
            ),
        },
    )  # fmt: skip
    return ut.Simulation(scene, threads=1)


@pytest.mark.parametrize(("radius", "offset"), [(2.5, (0.0, 0.0, 0.0)), (2.2, (0.3, -0.2, 0.45))])
def test_a_full_box_settles_at_its_rest_density(radius: float, offset: tuple[float, float, float]) -> None:
    sim = full_box(radius, offset)
    fluid = sim.part(SphPart).fluid
    volume = 4.0 / 3.0 * np.pi * radius**3
    assert 12**3 - fluid.totals.particles == pytest.approx(volume, abs=1.0)
    away = np.linalg.norm(fluid.positions() - (0.06 + 0.01 * np.array(offset)), axis=1)
    assert away.min() > (radius + 0.49) * 0.01
    # particles all around the ball, none on another: no gap is left and nothing is crowded
    assert np.count_nonzero(away < (radius + 1.0) * 0.01) > 0.5 * volume ** (2 / 3)
    ratio = fluid.densities() / 1000.0
    assert ratio.min() > 0.93 and ratio.max() < 1.04 and abs(ratio.mean() - 1.0) < 0.01
    # it starts at rest and stays there
    for _ in range(30):
        sim.step()
    assert fluid.totals.speed < 0.02 and np.linalg.norm(sim.body("ball").velocity) < 1e-3


def test_bodies_on_the_lattice_leave_it_as_it_is() -> None:
    objects = {
        "water": ut.SphFluid(shape=ut.Box(size=(0.6, 0.3)), position=(0.3, 0.15), velocity=(0.5, 0.0)),
        "block": ut.RigidBody(shape=ut.Box(size=(0.12, 0.12, 1.0)), position=(0.3, 0.15), density=1000.0),
    }
    scene = ut.Scene(
        name="block", coupling="direct_forcing", gravity=(0.0, 0.0),
        domain=ut.Domain(upper=(0.6, 0.6), resolution=20, sides={"y_high": "open"}),
        time=ut.Time(end=0.2, frame_rate=20), objects=objects,
    )  # fmt: skip
    sim = ut.Simulation(scene, threads=1)
    fluid: Any = sim.part(SphPart).fluid
    assert fluid.totals.particles == 200 - 16
    assert np.allclose(np.mod(fluid.positions()[:, :2] / 0.03, 1.0), 0.5) and np.all(fluid.velocities()[:, 0] == 0.5)
    # half a spacing higher as many are displaced, and velocities are kept while the rest find their places
    block = objects["block"].model_copy(update={"position": (0.3, 0.165)})
    sim = ut.Simulation(scene.model_copy(update={"objects": {**objects, "block": block}}), threads=1)
    fluid = sim.part(SphPart).fluid
    assert fluid.totals.particles == 200 - 16 and np.all(fluid.velocities() == [0.5, 0.0, 0.0])
    assert fluid.densities().max() < 1030.0
    # fluids keep their own velocities, also when some of their particles are gone
    other = ut.SphFluid(shape=ut.Box(size=(0.6, 0.3)), position=(0.3, 0.45), velocity=(0.0, 0.25))
    changed = {"objects": {**objects, "block": block, "other": other}}
    sim = ut.Simulation(scene.model_copy(update=changed), threads=1)
    fluid, forcing = sim.part(SphPart).fluid, sim.scheme.forcing  # type: ignore[attr-defined]
    gone = np.zeros(fluid.count, dtype=bool)
    gone[fluid.fluid_rows()[::7]] = True
    fluid.remove(gone)
    forcing.settle()
    lower = fluid.points.spec.label[fluid.fluid_rows()] < 200 - 16
    assert len(lower) == 329 and np.all(fluid.velocities()[lower, 0] == 0.5)
    assert np.all(fluid.velocities()[~lower, 1] == 0.25)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_part_of_a_box_has_the_particles_of_the_whole(dimensions: int) -> None:
    """Against all points of the lattice, chosen one by one."""
    size, dx = np.array([1.3, 0.75, 0.42]), 0.1
    counts = np.round((size - dx) / dx).astype(int)
    axes = [np.linspace(-0.5 * (a - dx), 0.5 * (a - dx), n + 1) for a, n in zip(size, counts, strict=True)]
    if dimensions == 2:
        axes[2] = np.zeros(1)
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    outer = [np.isclose(np.abs(nodes[:, a]), 0.5 * (size[a] - dx)) for a in range(dimensions)]
    whole = nodes[np.any(outer, axis=0)]
    box = Box(tuple(size))
    assert np.allclose(box.boundary_lattice(dx, dimensions), whole)
    lower, upper = np.array([-0.31, -0.4, -0.2]), np.array([0.9, 0.11, 0.05])
    part = whole[((whole >= lower) & (whole <= upper)).all(axis=1)]
    assert 0 < len(part) < len(whole)
    assert np.allclose(box.boundary_lattice(dx, dimensions, lower, upper), part)


def sampled(dimensions: int = 3, **keys: Any) -> np.ndarray:
    """Boundary particles of a body with the keys in a domain of 1 m with 10 spacings."""
    fluid = {"type": "sph_fluid", "shape": {"type": "box", "size": [0.5] * dimensions}, "position": [0.5] * dimensions}
    scene = toml.scene_from_dict({
        "name": "body", "time": {"end": 0.1}, "domain": {"upper": [1.0] * dimensions, "resolution": 10},
        "objects": {"fluid": fluid, "body": {"type": "rigid_body", **keys}},
    })  # fmt: skip
    return _sample(scene, read_table(scene)["body"], _make_box(scene, build_grid(scene)[0])[0])


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_body_that_rests_ends_at_the_domain(dimensions: int) -> None:
    """However large it is: a ground of 1e8 m has the particles of one that is a little larger than the domain."""
    place = [0.5, -5e7 + 0.1, 0.5][:dimensions]
    ground = sampled(dimensions, shape={"type": "box", "size": [1e8] * dimensions}, position=place)
    # 16 along each side that lies in the domain and three spacings around it
    assert len(ground) in (15 ** (dimensions - 1), 16 ** (dimensions - 1), 17 ** (dimensions - 1))
    assert np.allclose(ground[:, 1], 0.05, atol=1e-6)
    assert ground.min() > -0.31 and ground.max() < 1.31
    turned = sampled(3, shape={"type": "box", "size": [1e6, 1e6, 1e6]}, position=[0.5, -5e5 + 0.1, 0.5],
                     rotation={"axis": [0.0, 1.0, 0.0], "degrees": 30.0})  # fmt: skip
    assert abs(len(turned) - 16**2) < 30 and np.allclose(turned[:, 1], 0.05, atol=1e-6)
    plane = {"type": "plane", "normal": [0.0, 1.0, 0.0][:dimensions]}
    assert len(sampled(dimensions, shape=plane, position=[0.5, -3.0, 0.5][:dimensions])) == 0


@pytest.mark.parametrize("shape", [{"type": "sphere", "radius": 0.3}, {"type": "box", "size": [0.4, 0.4, 0.4]}])
def test_a_body_that_moves_has_all_its_particles(shape: dict[str, Any]) -> None:
    """It starts outside the domain and comes in, with the particles it has from the start."""
    away = sampled(shape=shape, position=[2.0, 0.5, 0.5], motion={"type": "velocity", "linear": [-1.0, 0.0, 0.0]})
    here = sampled(shape=shape, position=[0.5, 0.5, 0.5])
    assert abs(len(away) - len(here)) <= 0.02 * len(here) and len(here) > 50
    assert np.allclose(np.ptp(away, axis=0), np.ptp(here, axis=0), atol=0.02)
    along = {"type": "velocity", "linear": [-1.0, 0.0, 0.0]}
    with pytest.raises(ut.UserError, match=r"objects.body: moves and is 1e\+03 m long, up to .* boundary particles"):
        sampled(shape={"type": "box", "size": [1e3, 1e3, 1e3]}, position=[0.5, -499.9, 0.5], motion=along)
    with pytest.raises(ut.UserError, match=r"objects.body: moves and is 108 m long: its surface is looked for at"):
        sampled(shape={"type": "torus", "radius": 50.0, "tube": 4.0}, position=[0.5, -53.9, 0.5], motion=along)
    # faces of a box need no search: a wall of 1 km in 2D has 4 times 10,000 of them
    wall = sampled(2, shape={"type": "box", "size": [1e3, 1e3]}, position=[0.5, -499.9], motion={"type": "driven"})
    assert len(wall) == pytest.approx(4e4, rel=0.01)
    with pytest.raises(ut.UserError, match=r"objects.body: 0.05 m thick, less than one particle \(0.1 m\)"):
        sampled(shape={"type": "box", "size": [1.0, 0.05, 1.0]}, position=[0.5, 0.5, 0.5])
