"""Bodies in water with a free surface: Archimedes, neutral bodies, exchange of momentum, resume, refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import undertow as ut
from undertow.scene import toml

SCENE = """
name = "pool"
coupling = "monolithic"
[domain]
upper = [0.8, 0.7]
resolution = 24
sides = { y_high = "open" }
[time]
end = 0.8
frame_rate = 20
[fluid]
density = 1000.0
tolerance = 1e-6
[objects.pool]
type = "water"
shape = { type = "plane", normal = [0.0, 1.0] }
position = [0.4, 0.33]
[objects.body]
type = "rigid_body"
shape = { type = "box", size = [0.24, 0.14] }
position = [0.4, 0.33]
density = 500.0
"""


def make(*assignments: str) -> ut.Simulation:
    data = toml.parse(SCENE)
    toml.override(data, assignments)
    return ut.Simulation(toml.scene_from_dict(data))


def test_a_box_that_weighs_what_it_displaces_stays_and_so_does_the_water() -> None:
    sim = make()
    report = sim.advance_to(0.8)
    assert report is not None
    body = sim.body("body")
    assert body.position == pytest.approx([0.4, 0.33, 0.0], abs=2e-4)
    assert body.force[1] == pytest.approx(0.24 * 0.14 * 500.0 * 9.81, rel=5e-3)
    assert np.abs(sim.state.u).max() < 5e-3


@pytest.mark.parametrize("coupling", ["monolithic", "lumped", "rigid_fluid"])
def test_water_that_a_body_falls_into_keeps_its_volume(coupling: str) -> None:
    """Level set, spray and what is owed are the water of the start in every step, to rounding, whatever the body sweeps
    over; and little of it is owed."""
    falls = ("objects.body.position=[0.4, 0.5]", "objects.body.density=700.0", "time.max_step=0.017")
    sim = make(*falls, f"coupling='{coupling}'")
    start, owed = sim.flow.extent.volume(), []
    while sim.time < 0.6:
        row = sim.step().ledger
        held = row["fluid_volume"] + row["spray_volume"]
        assert held + row["volume_error"] == pytest.approx(start, rel=1e-11)
        owed.append(abs(row["volume_error"]) / start)
    assert 1e-4 < max(owed) < 0.02


def test_a_submerged_body_feels_exactly_its_buoyant_weight() -> None:
    disc = ("objects.body.shape={type='sphere', radius=0.09}", "objects.body.position=[0.41, 0.157]")
    neutral = make(*disc, "objects.body.density=1000.0")
    neutral.advance_to(0.8)
    assert neutral.body("body").position == pytest.approx([0.41, 0.157, 0.0], abs=1e-9)
    heavy = make(*disc, "objects.body.density=3000.0")
    heavy.step()
    # added mass of a disc between floor, walls and surface lies between that of an unbounded one and twice as much
    fall = heavy.body("body").velocity[1] / heavy.time
    assert -9.81 * 2000 / (3000 + 1000) < fall < -9.81 * 2000 / (3000 + 2000)


def test_what_the_water_gives_the_body_it_loses() -> None:
    """Without gravity, far from sides that push back only along x, momentum along y passes between body and water."""
    sim = make(
        "gravity=[0.0, 0.0]", "objects.body.velocity=[0.0, -1.0]", "objects.body.position=[0.4, 0.45]",
        "objects.pool.shape={type='box', size=[2.0, 0.2]}", "objects.pool.position=[0.4, 0.35]",
    )  # fmt: skip
    momentum = []
    for _ in range(4):
        sim.step()
        momentum.append(sim.scheme.rigid.momenta_of("body")[0][1])
    kick = sim.scheme.velocity_time - sim.scheme.before_time
    force = sim.body("body").force[1]
    assert force > 0
    assert momentum[-1] - momentum[-2] == pytest.approx(force * kick, rel=1e-6)


def test_a_falling_ball_splashes_and_a_resumed_run_repeats_every_bit(tmp_path: Path) -> None:
    ball = (
        "objects.body.shape={type='sphere', radius=0.08}", "objects.body.position=[0.42, 0.5]",
        "objects.body.density=700.0",
    )  # fmt: skip
    sim = make(*ball)
    sim.advance_to(0.2)
    sim.save(tmp_path / "half.h5")
    half = ut.load(tmp_path / "half.h5")
    report = sim.advance_to(0.4)
    half.advance_to(0.4)
    assert report is not None
    for name, array in sim.arrays().items():
        assert array.tobytes() == half.arrays()[name].tobytes(), name
    assert sim.body("body").position[1] < 0.4
    assert report.ledger["kinetic_energy"] > 0.1
    assert report.ledger["fluid_volume"] == pytest.approx(0.8 * 0.33, rel=0.02)


def test_contact_that_goes_on_is_expected(tmp_path: Path) -> None:
    """A disc on the floor: what carried it in the last step acts in the first solve of the next; one push is left."""
    disc = ("objects.body.shape={type='sphere', radius=0.1}", "objects.body.position=[0.4, 0.1001]")
    sim = make("objects.body.density=3000.0", *disc)
    sim.step()
    sim.save(tmp_path / "rests.h5")
    for _ in range(3):
        report = sim.step()
        body = sim.body("body")
        first, *others = (solve.iterations for solve in report.details.solves)
        assert report.ledger["contacts"] == 1 and sum(others) < first
        assert abs(body.velocity[1]) < 1e-9
        assert body.contact_force[1] + body.force[1] == pytest.approx(np.pi * 0.01 * 3000.0 * 9.81, rel=1e-9)
    again = ut.load(tmp_path / "rests.h5")
    for _ in range(3):
        again.step()
    assert all(np.array_equal(a, again.arrays()[name]) for name, a in sim.arrays().items())


def test_a_disc_between_two_wedges_holds_the_water() -> None:
    """Contact and the common solve leave the disc at rest, and nothing passes where it touches: case plug, coarse."""
    from undertow.validation.plug.case import MIDDLE, make_2d, volumes

    sim = make_2d(20)
    sim.advance_to(0.1)
    below, above = volumes(sim, MIDDLE)
    place = sim.body("ball").position.copy()
    sim.advance_to(0.5)
    found = volumes(sim, MIDDLE)
    assert found[0] - below < 1e-5 * above
    assert abs(found[1] - above) < 1e-3 * above
    assert sim.body("ball").position == pytest.approx(place, abs=1e-6)
    assert abs(sim.body("ball").velocity[1]) < 1e-4


@pytest.mark.parametrize("mass", ("full", "diagonal"))
def test_lumped_bodies_feel_the_pressure_where_they_are(mass: str) -> None:
    """The weight of the carried water makes the force of a flat bottom right anywhere in its cell, but for its corners;
    without it the force is up to 30% too large."""
    for height in (0.33, 0.337, 0.351):
        sim = make("coupling='lumped'", f"lumped={{mass='{mass}'}}", f"objects.body.position=[0.4, {height}]",
                   "objects.body.shape={type='box', size=[0.2666666666666667, 0.14]}")  # fmt: skip
        solve = sim.flow.solve  # type: ignore[attr-defined]
        known = np.zeros_like(solve.rigid.known_b)
        solve.rigid.at_rest.impulse(1.0, known)
        depth = 0.33 - (height - 0.07)
        assert known[0, 1] == pytest.approx(1000.0 * 9.81 * depth * 0.8 / 3, rel=5e-3)
    sim = make("coupling='lumped'", f"lumped={{mass='{mass}'}}")
    sim.advance_to(0.4)
    assert sim.body("body").position == pytest.approx([0.4, 0.33, 0.0], abs=1e-3)
    neutral = make("coupling='lumped'", f"lumped={{mass='{mass}'}}", "objects.body.density=1000.0",
                   "objects.body.position=[0.41, 0.157]")  # fmt: skip
    neutral.advance_to(0.4)
    assert neutral.body("body").position == pytest.approx([0.41, 0.157, 0.0], abs=1e-9)


FLOOR = (
    "domain.upper=[0.1, 0.1]", "objects.pool.position=[0.05, 0.06]",
    "objects.body.shape={type='box', size=[0.02, 0.02]}", "objects.body.density=2120.0",
)  # fmt: skip


def test_a_box_that_sinks_to_the_floor_lies_still() -> None:
    """No film of water is left under it that would have to move at many times its speed (record 096)."""
    falls = "objects.body.position=[0.05, 0.022]", "objects.body.velocity=[0.0, -0.2]"
    sim = make(*FLOOR, "domain.resolution=40", *falls)
    sim.advance_to(0.12)
    body = sim.body("body")
    place = body.position.copy()
    kinetic = [sim.step().ledger["kinetic_energy"] for _ in range(8)]
    # a short step is followed by others as short (record 134)
    assert sim.step_count < 80, "no steps of microseconds"
    assert body.position == pytest.approx(place, abs=1e-6) and abs(body.position[1] - 0.01) < 2e-5
    assert np.linalg.norm(body.velocity) < 1e-5
    assert body.contact_force[1] == pytest.approx(1120.0 * 4e-4 * 9.81, rel=0.05), "the water is still moving"
    assert kinetic[-1] < kinetic[0]


@pytest.mark.parametrize(
    ("more", "carried"),
    [
        ((), 1120.0 * 4e-4),
        (("objects.pool.position=[0.05, 0.012]",), 2120.0 * 4e-4 - 1000.0 * 0.02 * 0.012),
        (("objects.body.position=[0.01, 0.01]",), 1120.0 * 4e-4),
    ],
    ids=["on the floor", "half out of the water", "in a corner"],
)
def test_what_lies_flat_weighs_on_the_floor_with_its_buoyant_weight(more: tuple[str, ...], carried: float) -> None:
    """The slit under it is closed, but the water has its pressure there too."""
    sim = make(*FLOOR, "domain.resolution=24", "objects.body.position=[0.05, 0.01]", *more)
    for _ in range(4):
        sim.step()
    body = sim.body("body")
    assert np.linalg.norm(body.velocity) < 1e-7
    assert np.abs(sim.state.u).max() < 1e-6
    assert body.contact_force == pytest.approx([0.0, carried * 9.81, 0.0], rel=1e-3, abs=1e-6)


def test_what_lies_on_another_weighs_on_it_with_its_buoyant_weight() -> None:
    data = toml.parse(SCENE)
    toml.override(data, (*FLOOR, "domain.resolution=24", "objects.body.position=[0.05, 0.01]"))
    data["objects"]["upper"] = {**data["objects"]["body"], "position": [0.052, 0.03]}
    sim = ut.Simulation(toml.scene_from_dict(data))
    for _ in range(6):
        sim.step()
    weight = 1120.0 * 4e-4 * 9.81
    for name in ("body", "upper"):
        assert np.linalg.norm(sim.body(name).velocity) < 1e-6
        assert sim.body(name).contact_force[1] == pytest.approx(weight, rel=1e-4)
        assert abs(sim.body(name).angular_velocity[2]) < 1e-5


def test_viscous_water_drags_nothing_through_the_air() -> None:
    """A box above the pool falls freely; the velocities that are continued into the air are none of it."""
    sim = make("objects.body.position=[0.4, 0.56]", "fluid.viscosity=50.0", "objects.pool.position=[0.4, 0.2]")
    sim.step()
    sim.step()
    assert sim.body("body").velocity[1] == pytest.approx(-9.81 * sim.time, rel=1e-9)
    assert sim.body_forces("body").viscous == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(("dimensions", "cells"), [(2, 24), (2, 64), (3, 24)])
@pytest.mark.parametrize("kind", ["ball", "box"])
def test_a_body_that_nothing_pushes_stays(dimensions: int, cells: int, kind: str) -> None:
    """Its weight is its buoyancy: what is left is rounding, to which no tolerance is relative."""
    shape = ut.Sphere(radius=0.15) if kind == "ball" else ut.Box(size=(0.3, 0.2, 0.3)[:dimensions])
    body = ut.RigidBody(shape=shape, position=(0.5, 0.3, 0.5)[:dimensions], density=998.2)
    sim = ut.Simulation(still_water(dimensions, cells, body))
    for _ in range(3):
        sim.step()
    assert np.abs(sim.body("body").velocity).max() < 1e-13
    assert np.abs(sim.body("body").angular_velocity).max() < 1e-13


@pytest.mark.parametrize(("dimensions", "cells"), [(2, 24), (2, 48), (3, 24)])
def test_a_couple_alone_rights_a_box_that_floats_at_its_depth(dimensions: int, cells: int) -> None:
    """Heeled by 3 degrees: the weight is balanced, the torque is not."""
    box = ut.Box(size=(0.3, 0.2, 0.3)[:dimensions])
    heel = ut.Rotation(axis=(0.0, 0.0, 1.0), degrees=3.0)
    body = ut.RigidBody(shape=box, position=(0.5, 0.6, 0.5)[:dimensions], density=499.1, rotation=heel)
    sim = ut.Simulation(still_water(dimensions, cells, body))
    for _ in range(3):
        sim.step()
    turn = sim.body("body").angular_velocity[2]
    assert turn < -0.01
    assert np.abs(sim.body("body").velocity).max() < 0.02 * abs(turn)


def still_water(dimensions: int, cells: int, body: ut.RigidBody) -> ut.Scene:
    """A metre of room with water 0.6 m deep and an open top."""
    up = (0.0, 1.0, 0.0)[:dimensions]
    pool = ut.Water(shape=ut.Plane(normal=up), position=(0.5, 0.6, 0.5)[:dimensions])
    return ut.Scene(
        name="still",
        coupling="monolithic",
        domain=ut.Domain(upper=(1.0,) * dimensions, resolution=cells, sides={"y_high": "open"}),
        time=ut.Time(end=1.0, frame_rate=30.0),
        objects={"pool": pool, "body": body},
    )
