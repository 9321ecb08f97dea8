"""Compound shapes, own centres of mass and collision groups, against formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.geometry import Box, Compound, Cylinder, Part, Plane, Sphere, rotation_matrix
from undertow.geometry.collision import AT_CENTRE
from undertow.rigid.bodies import rotation_matrix_of
from undertow.rigid.mass import mass_properties
from undertow.rigid.shapes import CollisionShapes
from undertow.scene.toml import read, scene_from_dict, write
from undertow.solids.rigid_part import RigidPart

G = 9.81
LIE_X = rotation_matrix((0, 0, 1), 90.0)


def _part(shape: Any, *place: float, turn: Any = None, density: float | None = None) -> Part:
    return Part(shape, np.array(place or (0.0, 0.0, 0.0)), np.eye(3) if turn is None else turn, density)


def _scene(objects: dict[str, Any], **tables: Any) -> ut.Scene:
    time = {"end": 20.0, "frame_rate": 10.0, **tables.pop("time", {})}
    scene = scene_from_dict({"name": "compound", "time": time, "objects": objects, **tables})
    assert read(write(scene)) == scene
    return scene


def _body(shape: dict[str, Any], *position: float, **values: Any) -> dict[str, Any]:
    return {"type": "rigid_body", "shape": shape, "position": position, **values}


def _ball(radius: float) -> dict[str, Any]:
    return {"type": "sphere", "radius": radius}


def _compound(*parts: tuple[dict[str, Any], tuple[float, ...]], **values: Any) -> dict[str, Any]:
    return {"type": "compound", "parts": [{"shape": s, "position": p, **values} for s, p in parts]}


FLOOR = _body({"type": "plane", "normal": (0, 1, 0)}, 0.0, 0.0, 0.0)


# moments --------------------------------------------------------------------------------------------------------------


def test_moments_of_a_dumbbell() -> None:
    """Two balls of lead and a rod of wood between them, by Steiner."""
    r, a, rod, half = 0.1, 0.3, 0.02, 0.2
    lead, wood = 11000.0, 600.0
    shape = Compound(
        [_part(Sphere(r), -a, 0, 0, density=lead), _part(Sphere(r), a, 0, 0, density=lead),
         _part(Cylinder(rod, 2 * half), turn=LIE_X)],
    ).with_density(wood)  # fmt: skip
    found = mass_properties(shape, density=wood)
    ball, bar = lead * 4 / 3 * np.pi * r**3, wood * np.pi * rod**2 * 2 * half
    along = 2 * 0.4 * ball * r**2 + 0.5 * bar * rod**2
    across = 2 * ball * (0.4 * r**2 + a**2) + bar * (rod**2 / 4 + (2 * half) ** 2 / 12)
    R = rotation_matrix_of(found.rotation)
    assert found.mass == pytest.approx(2 * ball + bar, rel=1e-12)
    assert found.volume == pytest.approx(2 * 4 / 3 * np.pi * r**3 + np.pi * rod**2 * 2 * half, rel=1e-12)
    assert np.allclose(R @ np.diag(found.inertia) @ R.T, np.diag([along, across, across]), rtol=1e-12)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_what_parts_share_counts_once(dimensions: int) -> None:
    """Two bars that overlap are the bar of their union; a turned frame changes nothing."""
    turn = rotation_matrix((0, 0, 1), 25.0)
    parts = [_part(Box((2.0, 1.0, 1.0)), *(turn @ [x, 0.1, 0]), turn=turn) for x in (-0.75, 0.75)]
    shape = Compound(parts)
    found = mass_properties(shape, density=3.0, dimensions=dimensions)
    whole = mass_properties(Box((3.5, 1.0, 1.0)), density=3.0, dimensions=dimensions)
    assert found.mass == pytest.approx(whole.mass, rel=3e-3) and found.volume == pytest.approx(3.5, rel=3e-3)
    assert np.allclose(found.centre, turn @ [0, 0.1, 0], atol=2e-3)
    assert np.allclose(np.sort(found.inertia), np.sort(whole.inertia), rtol=5e-3)
    # two balls of radius 1 whose centres are 1 apart share 5 pi / 12
    balls = Compound([_part(Sphere(1.0), -0.5, 0, 0), _part(Sphere(1.0), 0.5, 0, 0)])
    assert balls.volume() == pytest.approx(8 / 3 * np.pi - 5 / 12 * np.pi, rel=2e-4)


def test_the_part_that_comes_first_gives_the_density_of_what_is_shared() -> None:
    heavy, light = _part(Box((1.0, 1.0, 1.0)), density=2.0), _part(Box((3.0, 1.0, 1.0)), density=1.0)
    assert Compound([heavy, light]).moments().mass == pytest.approx(2.0 + 2.0, rel=5e-3)
    assert Compound([light, heavy]).moments().mass == pytest.approx(3.0, rel=5e-3)


def test_distance_section_and_field_are_those_of_the_union() -> None:
    shape = Compound([_part(Box((0.6, 0.2, 0.3))), _part(Sphere(0.2), 0.25, 0.15, 0.0)])
    points = np.random.default_rng(1).uniform(-0.6, 0.6, (2000, 3))
    want = np.minimum(Box((0.6, 0.2, 0.3)).distance(points), np.linalg.norm(points - [0.25, 0.15, 0.0], axis=1) - 0.2)
    assert np.array_equal(shape.distance(points), want)
    assert shape.thickness() == 0.2
    lower, upper = shape.bounds()
    assert np.allclose(lower, [-0.3, -0.1, -0.2]) and np.allclose(upper, [0.45, 0.35, 0.2])
    flat = points * [1.0, 1.0, 0.0]
    outside = shape.distance(flat) > 0.0
    section = shape.section(np.eye(3)).distance(flat[:, :2])
    assert np.allclose(section[outside], shape.distance(flat)[outside], atol=1e-3)
    assert np.all(section[~outside] < 1e-3)
    library = CollisionShapes(3)
    index = library.add(shape)
    assert [library.kind_name(s) for s in library.parts(index)] == ["convex", "sphere"]
    assert library.kind_name(index) == "field" and library.add(shape) == index
    assert len(shape.collision_entry(AT_CENTRE, 2).probes) > 20


def test_geometry_that_cannot_be_a_part_is_refused() -> None:
    with pytest.raises(ut.UserError, match="compound: has no parts; give one or more"):
        Compound([])
    with pytest.raises(ut.UserError, match="compound: a plane cannot be a part; use solids"):
        Compound([_part(Plane())])


# motion ---------------------------------------------------------------------------------------------------------------


def _period(sim: ut.Simulation, name: str, periods: int = 1) -> float:
    """Mean period [s] from the times at which the angle passes 0 downwards."""
    times: list[float] = []
    last, when = sim.body(name).angle, sim.time
    while len(times) < periods + 1:
        sim.step()
        angle = sim.body(name).angle
        if last > 0.0 >= angle:
            times.append(when + (sim.time - when) * last / (last - angle))
        last, when = angle, sim.time
    return (times[-1] - times[0]) / periods


def _hung(body: dict[str, Any]) -> ut.Simulation:
    """A body on a hinge at the origin, 5 degrees out of its rest."""
    joint = {"type": "joint", "kind": "hinge", "child": "body", "position": (0.0, 0.0)}
    return ut.Simulation(_scene({"body": body, "hinge": joint}, time={"fixed_step": 2e-3}))


SWING = np.radians(5.0)
SLOWER = 1.0 + SWING**2 / 16.0
"""Of the period by the amplitude, to second order."""


def test_period_of_a_compound_pendulum() -> None:
    """A rod with a heavy disc at its lower end and a light one above the hinge (2D): T = 2 pi sqrt(I / (m g d))."""
    rod, low, high = (0.04, 1.0), (0.12, -0.5, 4000.0), (0.1, 0.3, 500.0)
    shape = {
        "type": "compound",
        "parts": [
            {"shape": _ball(low[0]), "position": (0.0, low[1]), "density": low[2]},
            {"shape": _ball(high[0]), "position": (0.0, high[1]), "density": high[2]},
            {"shape": {"type": "box", "size": (rod[0], 0.58)}, "position": (0.0, -0.09)},
        ],
    }
    sim = _hung(_body(shape, 0.0, 0.0, rotation={"degrees": 5.0}, density=1000.0))
    pieces = [(rho * np.pi * r * r, 0.5 * r * r, y) for r, y, rho in (low, high)]
    pieces.append((1000.0 * rod[0] * 0.58, (rod[0] ** 2 + 0.58**2) / 12.0, -0.09))
    moment = sum(m * (own + y * y) for m, own, y in pieces)
    weight = -G * sum(m * y for m, _, y in pieces)
    # the rod ends where the discs begin; it shares with them 2e-4 of the mass
    assert _period(sim, "body") == pytest.approx(2 * np.pi * np.sqrt(moment / weight) * SLOWER, rel=1e-3)


def test_period_of_a_ball_with_a_centre_of_mass_of_its_own() -> None:
    """A disc hung in its middle, its mass 0.05 below it: T = 2 pi sqrt((I + m d^2) / (m g d))."""
    d, inertia, mass = 0.05, 0.02, 3.0
    body = _body(_ball(0.1), 0.0, 0.0, rotation={"degrees": 5.0}, mass=mass, inertia=inertia, centre_of_mass=(0.0, -d))
    want = 2 * np.pi * np.sqrt((inertia + mass * d * d) / (mass * G * d)) * SLOWER
    assert _period(_hung(body), "body") == pytest.approx(want, rel=1e-3)


def test_inertia_stays_that_of_uniform_density_where_the_centre_alone_is_given() -> None:
    plain, moved = (mass_properties(Sphere(0.2), mass=2.0, centre=c) for c in (None, np.array([0.05, 0.0, 0.0])))
    assert np.array_equal(plain.inertia, moved.inertia) and np.allclose(moved.centre, [0.05, 0.0, 0.0])
    with pytest.raises(ut.UserError, match=r"centre_of_mass = \[0.0, 0.3, 0.0\] m: lies outside the shape"):
        mass_properties(Sphere(0.2), mass=2.0, centre=np.array([0.0, 0.3, 0.0]))


def _settle(sim: ut.Simulation, end: float) -> None:
    while sim.time < end:
        sim.step()


def test_a_dumbbell_rests_on_its_balls(goes_on: Callable[..., Any]) -> None:
    bar = {"shape": {"type": "cylinder", "radius": 0.03, "length": 0.6}, "rotation": {"degrees": 90.0}}
    shape = _compound((_ball(0.1), (-0.3, 0.0, 0.0)), (_ball(0.1), (0.3, 0.0, 0.0)))
    shape["parts"].append(bar)
    sim = ut.Simulation(_scene({"floor": FLOOR, "body": _body(shape, 0.0, 0.11, 0.0, density=500.0)}))
    _settle(sim, 0.1)
    sim = goes_on(sim)
    _settle(sim, 0.5)
    body, found = sim.body("body"), sim.part(RigidPart).bodies.mass_b[1]
    assert body.position[1] == pytest.approx(0.1, abs=1e-3) and np.linalg.norm(body.velocity) < 1e-3
    assert body.contact_force[1] == pytest.approx(G * found, rel=1e-3)
    rigid = sim.part(RigidPart)
    contacts, count = rigid.solids.finder.find(rigid.bodies.x_b, rigid.bodies.q_b, np.full(2, 1e-3))
    # one contact per ball, of one pair of bodies
    assert count == 2 and np.allclose(np.sort(contacts.point[:, 0]), [-0.3, 0.3], atol=1e-3)
    assert set(zip(contacts.a.tolist(), contacts.b.tolist(), strict=True)) == {(0, 1)}
    assert contacts.pair_start.tolist() == [0, 2] and len(set(contacts.feature.tolist())) == 2


def test_a_ball_lies_in_the_notch_between_parts() -> None:
    """In a trough of two walls and a floor, where the convex hull has no room."""
    wall = {"type": "box", "size": (0.1, 0.5, 0.6)}
    bottom = {"type": "box", "size": (0.8, 0.1, 0.6)}
    trough = _compound((bottom, (0.0, 0.05, 0.0)), (wall, (-0.35, 0.35, 0.0)), (wall, (0.35, 0.35, 0.0)))
    objects = {"trough": _body(trough, 0.0, 0.0, 0.0), "ball": _body(_ball(0.15), 0.1, 0.27, 0.0, density=800.0)}
    objects["ball"]["velocity"] = (0.5, 0.0, 0.0)
    sim = ut.Simulation(_scene(objects))
    _settle(sim, 0.6)
    place = sim.body("ball").position
    assert place[1] == pytest.approx(0.25, abs=2e-3) and abs(place[0]) < 0.152


def test_two_halves_fall_as_the_whole() -> None:
    """A box of two boxes side by side, dropped on an edge, moves as the one box does."""
    half = {"type": "box", "size": (0.2, 0.2, 0.3)}
    halves = _compound((half, (-0.1, 0, 0)), (half, (0.1, 0, 0)))
    ends = []
    for shape in ({"type": "box", "size": (0.4, 0.2, 0.3)}, halves):
        body = _body(shape, 0.0, 0.25, 0.0, rotation={"degrees": 20.0}, density=700.0)
        sim = ut.Simulation(_scene({"floor": FLOOR, "body": body}, time={"fixed_step": 1 / 120}))
        _settle(sim, 0.25)
        ends.append(np.concatenate([sim.body("body").position, sim.body("body").matrix.ravel()]))
    assert np.abs(ends[0] - ends[1]).max() < 2e-3


def test_in_fluid_a_compound_takes_the_room_of_its_union_and_hangs_in_it() -> None:
    """As heavy as the water around it, on average, it stays; turned by the weight of its heavy end."""
    half = {"type": "box", "size": (0.2, 0.2)}
    shape = _compound((half, (-0.1, 0.0)), (half, (0.1, 0.0)))
    shape["parts"][0]["density"], shape["parts"][1]["density"] = 500.0, 1500.0
    pool = {"type": "water", "shape": {"type": "plane", "normal": (0, 1)}, "position": (0.5, 0.9)}
    domain = {"upper": (1.0, 1.0), "resolution": 32, "resolution_along": "x", "sides": {"y_high": "open"}}
    objects = {"pool": pool, "body": _body(shape, 0.5, 0.5)}
    sim = ut.Simulation(_scene(objects, domain=domain, fluid={"density": 1000.0}, coupling="monolithic"))
    closed = 1.0 - sim.field("open_fraction")
    assert closed.sum() / 32**2 == pytest.approx(0.08, rel=0.03)
    _settle(sim, 0.1)
    # the heavy end sinks: weight acts in the centre of mass, 0.05 to the right, the water in the middle
    body = sim.body("body")
    centre = body.velocity + np.cross(body.angular_velocity, body.matrix @ [0.05, 0.0, 0.0])
    assert body.angle < -0.02 and abs(centre[1]) < 0.1 * G * sim.time


@pytest.mark.parametrize("surface", [False, True], ids=["tank", "water"])
def test_period_of_a_disc_with_a_keel_under_water(surface: bool) -> None:
    """As heavy as the water, its mass d below its middle, where the water carries it. The disc turns without the water,
    its middle moves with the added mass m_a = m: T = 2 pi sqrt((I + m m_a / (m + m_a) d^2) / (m g d))."""
    r, d, rho = 0.1, 0.05, 1000.0
    body = _body(_ball(r), 0.5, 0.5, density=rho, centre_of_mass=(0.0, -d), rotation={"degrees": 5.0})
    pool = {"type": "water", "shape": {"type": "plane", "normal": (0, 1)}, "position": (0.5, 0.9)}
    domain = {"upper": (1.0, 1.0), "resolution": 32, "resolution_along": "x"}
    domain |= {"sides": {"y_high": "open"}} if surface else {}
    scene = _scene(
        {"body": body} | ({"pool": pool} if surface else {}), domain=domain, fluid={"density": rho},
        coupling="monolithic", time={"fixed_step": 0.01},
    )  # fmt: skip
    want = 2 * np.pi * np.sqrt((0.5 * r * r + 0.5 * d * d) / (G * d)) * SLOWER
    assert _period(ut.Simulation(scene), "body") == pytest.approx(want, rel=1e-2)


# groups ---------------------------------------------------------------------------------------------------------------


def test_groups_that_do_not_collide_pass_through_each_other() -> None:
    """A ghost falls through a shelf that holds another ball, and lies on the floor, which both touch."""
    shelf = _body({"type": "box", "size": (1.0, 0.05, 1.0)}, 0.0, 0.5, 0.0, collision_group="shelf")
    objects = {
        "floor": FLOOR, "shelf": shelf,
        "ball": _body(_ball(0.1), 0.2, 0.7, 0.0, density=500.0),
        "ghost": _body(_ball(0.1), -0.2, 0.7, 0.0, density=500.0, collision_group="ghost", collides_with=["default"]),
    }  # fmt: skip
    sim = ut.Simulation(_scene(objects))
    _settle(sim, 0.8)
    assert sim.body("ball").position[1] == pytest.approx(0.625, abs=1e-3)
    assert sim.body("ghost").position[1] == pytest.approx(0.1, abs=1e-3)


def test_both_groups_must_agree_and_sides_of_the_domain_always_hold() -> None:
    """``left`` collides with nothing, so ``right``, which would, does not meet it; the floor of the tank holds both."""
    domain = {"upper": (1.0, 1.0), "resolution": 16, "resolution_along": "x"}
    body = {"density": 3.0, "collision_group": "a", "collides_with": []}
    objects = {
        "left": _body(_ball(0.15), 0.4, 0.155, **body),
        "right": _body(_ball(0.15), 0.6, 0.155, density=3.0, collision_group="b", collides_with=["a", "b"]),
    }
    sim = ut.Simulation(_scene(objects, domain=domain, fluid={"density": 0.1}, coupling="monolithic"))
    _settle(sim, 0.3)
    for name, x in (("left", 0.4), ("right", 0.6)):
        place = sim.body(name).position
        assert place[1] == pytest.approx(0.15, abs=3e-3) and place[0] == pytest.approx(x, abs=0.02)


# mistakes -------------------------------------------------------------------------------------------------------------

TWO = _compound((_ball(0.1), (0.0, 0.0, 0.0)), (_ball(0.1), (0.2, 0.0, 0.0)))
HALF = {"type": "compound", "parts": [{"shape": _ball(0.1), "density": 5.0}, {"shape": _ball(0.1)}]}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (_body({"type": "compound", "parts": []}, 0, 0, 0), "has 0 parts; give between 1 and 100"),
        (_body(_compound(({"type": "plane", "normal": (0, 1, 0)}, (0, 0, 0))), 0, 0, 0), "unknown type 'plane'"),
        (_body(_compound((TWO, (0, 0, 0))), 0, 0, 0), "unknown type 'compound'"),
        (_body(_compound((_ball(-0.1), (0, 0, 0))), 0, 0, 0), r"shape.parts.0.shape.radius = -0.1: must be positive"),
        (_body(HALF, 0, 0, 0), r"shape.parts.1.density is missing; give every part a density, or the body one"),
        (_body(HALF, 0, 0, 0, mass=1.0), "has a mass, and parts of it have densities; give one of them"),
        (_body(_compound((_ball(0.1), (0.0, 0.0))), 0, 0, 0), r"parts.0.position = .*: must have 3 components"),
        (_body(_compound((_ball(0.1), (0.0, 0.0, 0.3))), 0, 0), r"parts.0.position = .*: a 2D scene has no z"),
        (
            _body(_compound((_ball(0.1), (0.0, 0.0)), rotation={"axis": (1, 0, 0), "degrees": 90.0}), 0, 0),
            "in a 2D scene bodies turn about z only",
        ),
        (_body(_ball(0.1), 0, 0, 0, centre_of_mass=(0, 0, 0)), "centre_of_mass has no effect without a density"),
        (_body(_ball(0.1), 0, 0, 0, density=1.0, centre_of_mass=(0, 0)), "centre_of_mass = .*: must have 3 components"),
        (_body(_ball(0.1), 0, 0, density=1.0, centre_of_mass=(0, 0, 0.1)), "centre_of_mass = .*: a 2D scene has no z"),
        (_body(_ball(0.1), 0, 0, 0, collides_with=["gohst"]), "no body has the collision_group 'gohst'; .*The group"),
        (_body(_ball(0.1), 0, 0, 0, collides_with=["default", "default"]), "names a group twice; name it once"),
    ],
)  # fmt: skip
def test_mistakes_are_named(body: dict[str, Any], message: str) -> None:
    with pytest.raises(ut.UserError, match=message):
        _scene({"body": body})


def test_too_many_groups_and_a_centre_of_mass_elsewhere_are_refused() -> None:
    with pytest.raises(ut.UserError, match="objects: 62 collision groups; at most 60: join some of them"):
        _scene({f"b{n}": _body(_ball(0.1), n, 0, 0, collision_group=f"g{n}") for n in range(61)})
    scene = _scene({"body": _body(_ball(0.1), 3.0, 0, 0, density=1.0, centre_of_mass=(3.0, 0, 0))})
    with pytest.raises(ut.UserError, match=r"objects.body: mass: centre_of_mass = \[3.0, 0.0, 0.0\] m: lies outside"):
        ut.Simulation(scene)


def test_files_of_parts_are_found_beside_the_scene(tmp_path: Any) -> None:
    from undertow.scene.toml import read_tables

    text = 'name = "a"\n[objects.body]\ntype = "rigid_body"\nposition = [0, 0, 0]\n'
    text += 'shape = { type = "compound", parts = [{ shape = { type = "mesh", file = "part.obj" } }] }\n'
    (tmp_path / "a.toml").write_text(text)
    parts = read_tables(tmp_path / "a.toml")["objects"]["body"]["shape"]["parts"]
    assert parts[0]["shape"]["file"] == str(tmp_path / "part.obj")
