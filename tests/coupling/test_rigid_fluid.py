"""Bodies solved as fluid: the rigidity projection, rest, weight, what is refused, and going on after a stop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import undertow as ut
from undertow.coupling.rigid_fluid import RigidFluidSolve, added_mass_limit

DENSITY = 1000.0


def make(
    share: float,
    height: float,
    buoyancy: str = "predicted",
    cells: int = 24,
    correct: bool = False,
    viscosity: float = 0.0,
    coupling: str = "rigid_fluid",
) -> ut.Simulation:
    """A disc of the relative density ``share`` in (or over) a tank of water 0.5 m deep."""
    scene = ut.Scene(
        name="disc",
        coupling=coupling,
        rigid_fluid={"buoyancy": buoyancy},
        domain=ut.Domain(upper=(1.0, 1.0), resolution=cells, sides={"y_high": "open"}),
        time=ut.Time(end=1.0, frame_rate=100.0),
        fluid=ut.Fluid(density=DENSITY, viscosity=viscosity, tolerance=1e-8),
        surface={"volume_correction": correct},
        objects={
            "pool": ut.Water(shape=ut.Plane(normal=(0.0, 1.0)), position=(0.5, 0.5)),
            "disc": ut.RigidBody(
                shape=ut.Sphere(radius=0.15), position=(0.52, height), density=share * DENSITY, rotation=ut.Rotation()
            ),
        },
    )
    return ut.Simulation(scene, threads=1)


def solve_of(sim: ut.Simulation) -> RigidFluidSolve:
    solve = sim.flow.solve  # type: ignore[attr-defined]
    assert isinstance(solve, RigidFluidSolve)
    return solve


@pytest.fixture(scope="module")
def afloat() -> ut.Simulation:
    """A disc that floats half out of the water."""
    return make(0.5, 0.5)


def test_rigidity_projection_conserves_momentum(afloat: ut.Simulation) -> None:
    """(24), (25): linear and angular momentum of the fluid in the body's place are those of the rigid motion."""
    regions = solve_of(afloat).regions
    u = np.random.default_rng(1).standard_normal(regions.size)
    before = regions.momentum(u)
    after = regions.momentum(regions.velocity(regions.rigid_part(u)))
    assert np.abs(before).max() > 1.0
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-12 * np.abs(before).max())


def test_rigid_motion_is_a_fixed_point(afloat: ut.Simulation) -> None:
    """A field that is rigid already gives its own twist back; (26) gives it to the faces that are the body's alone and
    leaves the water of shared faces its own velocity."""
    solve, bodies = solve_of(afloat), afloat.scheme.bodies.bodies  # type: ignore[attr-defined]
    regions, twist = solve.regions, np.zeros((bodies.count, 6))
    twist[0, [0, 1, 5]] = 0.3, -0.7, 2.0
    np.testing.assert_allclose(regions.rigid_part(regions.velocity(twist))[0], twist[0], atol=1e-12)
    bodies.set_velocity(0, twist[0, :3], twist[0, 3:])
    before = np.random.default_rng(2).standard_normal(afloat.state.u.shape)
    after = before.copy()
    solve.start(after)
    whole, shared = (regions.face[regions.weight == 1.0], regions.face[regions.weight < 1.0])
    assert len(whole) > 20 and len(shared) > 10
    np.testing.assert_allclose(after.reshape(-1)[whole], regions.velocity(twist)[regions.weight == 1.0], atol=1e-12)
    assert np.array_equal(after.reshape(-1)[shared], before.reshape(-1)[shared])
    bodies.set_velocity(0, np.zeros(3), np.zeros(3))


def test_weights_add_up_to_the_body() -> None:
    """Under water the parts of the dual cells along each axis add up to the mass that the body displaces; those of the
    faces, a staircase across the axis, come near it."""
    regions = solve_of(make(1.0, 0.25, cells=40)).regions
    mass = regions.sum_gram(regions.displaced_m)[0]
    assert mass[0, 0] == pytest.approx(DENSITY * np.pi * 0.15**2, rel=0.01)
    assert mass[1, 1] == pytest.approx(DENSITY * np.pi * 0.15**2, rel=0.01)
    assert mass[5, 5] == pytest.approx(0.5 * DENSITY * np.pi * 0.15**4, rel=0.03)
    np.testing.assert_allclose(np.diag(regions.gram_b[0])[[0, 1, 5]], np.diag(mass)[[0, 1, 5]], rtol=0.05)


def test_neutral_body_in_still_water_stays_still() -> None:
    sim = make(1.0, 0.25)
    for _ in range(10):
        sim.step()
    body = sim.body("disc")
    np.testing.assert_allclose(body.position[:2], (0.52, 0.25), atol=1e-12)
    assert np.abs(body.velocity).max() < 1e-10
    assert body.force[1] == pytest.approx(DENSITY * 9.81 * np.pi * 0.15**2, rel=1e-9)


def test_a_body_pays_for_the_water_that_sticks_to_it() -> None:
    """Viscous water at faces that a disc has a part of: what it gains the disc loses, to rounding, linear and angular,
    and the more of its slip goes the longer the step."""
    sim = make(1.0, 0.25, viscosity=1.0)
    solve, bodies = solve_of(sim), sim.scheme.bodies.bodies  # type: ignore[attr-defined]
    regions, velocity = solve.regions, (np.array([0.3, -0.7, 0.0]), np.array([0.0, 0.0, 5.0]))
    before, left = np.random.default_rng(3).standard_normal(regions.size), []
    for dt in (0.01, 0.1, 1e6):
        bodies.set_velocity(0, *velocity)
        momentum, after = np.concatenate([bodies.p_b[0], bodies.L_b[0]]), before.copy()
        solve.stick(after, dt)
        bodies.derive_velocities()
        lost = momentum - np.concatenate([bodies.p_b[0], bodies.L_b[0]])
        water = regions.displaced_m / np.maximum(regions.faces.share[: regions.size], 1e-300) * (1.0 - regions.weight)
        assert np.abs(lost).max() > 0.1
        gained = regions.sum_momentum(water, after - before)[0]
        np.testing.assert_allclose(gained, lost, atol=1e-12 * np.abs(momentum).max())
        twist = np.zeros((bodies.count, 6))
        twist[0] = np.concatenate([bodies.v_b[0], bodies.omega_b[0]])
        shared = (regions.weight > 0.0) & (regions.weight < 1.0) & (regions.faces.share[: regions.size] > 0.0)
        left.append(float(np.abs(after - regions.velocity(twist))[shared].max()))
    assert left[0] > left[1] > left[2]
    assert left[2] < 1e-6


def test_a_spinning_body_is_no_pump() -> None:
    """Water without viscosity slips: a disc that spins in it goes on, and nothing drives the water."""
    sim = make(1.0, 0.25)
    bodies = sim.scheme.bodies.bodies  # type: ignore[attr-defined]
    bodies.set_velocity(0, np.zeros(3), np.array([0.0, 0.0, 5.0]))
    spin = float(bodies.L_b[0, 2])
    rows = [sim.step().ledger for _ in range(8)]
    assert rows[-1]["angular_momentum_solids_z"] == pytest.approx(spin, rel=0.01)
    assert max(row["kinetic_energy"] + row["kinetic_energy_solids"] for row in rows) < 2.5 * spin * (1.0 + 1e-6)


def test_dry_body_falls_as_without_water() -> None:
    sim = make(2.0, 0.8)
    for _ in range(5):
        sim.step()
    assert sim.body("disc").velocity[1] == pytest.approx(-9.81 * sim.time, rel=1e-12)
    assert not sim.body("disc").force.any()


@pytest.mark.parametrize("share", [0.5, 3.0])
def test_released_body_feels_its_added_mass(share: float) -> None:
    """a = (s - 1) g / (s + C): C of a disc is 1 without walls, and more in a tank of three diameters."""
    sim = make(share, 0.22, cells=40)
    sim.advance_to(0.04)
    found = sim.body("disc").velocity[1] / sim.time
    low, high = (abs((share - 1.0) * 9.81 / (share + c)) for c in (1.7, 1.0))
    assert low < abs(found) < high
    assert np.sign(found) == np.sign(1.0 - share)


@pytest.mark.parametrize("share", [0.5, 3.0])
def test_converges_to_the_coupled_solve(share: float) -> None:
    """The splitting converges over steps: then a body is accelerated as by one solve for water and body."""
    found = {}
    for coupling in ("rigid_fluid", "monolithic"):
        sim = make(share, 0.22, coupling=coupling)
        for _ in range(8):
            sim.step()
        early, time = sim.body("disc").velocity[1], sim.time
        for _ in range(4):
            sim.step()
        found[coupling] = (sim.body("disc").velocity[1] - early) / (sim.time - time)
    assert found["rigid_fluid"] == pytest.approx(found["monolithic"], rel=0.03)


def test_variants_of_buoyancy_differ_in_the_leak() -> None:
    """A floating disc: the paper's source lets water pass through the body, more than the book can repay at once; the
    prediction keeps its volume."""
    change = {}
    for buoyancy in ("source", "body_force", "predicted"):
        sim = make(0.5, 0.5, buoyancy)
        before = sim.step().ledger["fluid_volume"]
        report = sim.advance_to(0.5)
        assert report is not None
        change[buoyancy] = abs(report.ledger["fluid_volume"] / before - 1.0)
        assert abs(sim.body("disc").position[1] - 0.5) < 0.06
    assert change["predicted"] < 3e-4 < 3e-3 < change["source"]
    assert change["body_force"] < 0.1 * change["source"]


def test_volume_correction_keeps_the_water_outside_the_body() -> None:
    sim = make(0.5, 0.47, correct=True)
    report = sim.advance_to(0.3)
    assert report is not None
    submerged = np.pi * 0.15**2 - 0.15**2 * (np.arccos(0.2) - 0.2 * np.sqrt(1 - 0.2**2))
    assert report.ledger["fluid_volume"] == pytest.approx(0.5 - submerged, rel=5e-3)


def test_floating_depth() -> None:
    """A disc of half the density of water floats with its centre at the surface, within half a cell."""
    sim = make(0.5, 0.53)
    heights = []
    while sim.time < 0.99:
        report = sim.advance_to(sim.time + 0.05)
        assert report is not None
        level = report.ledger["fluid_volume"] + 0.5 * np.pi * 0.15**2
        heights.append(sim.body("disc").position[1] - level)
    assert abs(np.mean(heights[5:])) < 0.5 / 24


@pytest.mark.parametrize("offset", [0.25, 0.5])
def test_a_box_that_floats_upright_is_not_turned_wherever_it_cuts_the_grid(offset: float) -> None:
    """What stands out of the water is a staircase of cells, whose weight must not act on the body: its torque here is
    0.83 N, that of 4 degrees of roll."""
    cells = 40
    scene = ut.Scene(
        name="box",
        coupling="rigid_fluid",
        domain=ut.Domain(upper=(1.0, 0.8), resolution=cells, resolution_along="x", sides={"y_high": "open"}),
        time=ut.Time(end=1.0, frame_rate=20.0),
        fluid=ut.Fluid(density=DENSITY, tolerance=1e-5),
        objects={
            "pool": ut.Water(shape=ut.Plane(normal=(0.0, 1.0)), position=(0.5, 0.4)),
            "box": ut.RigidBody(
                shape=ut.Box(size=(0.3, 0.15)), position=(0.5 + offset / cells, 0.4), density=0.5 * DENSITY
            ),
        },
    )
    sim = ut.Simulation(scene, threads=1)
    sim.step()
    assert abs(sim.body("box").torque[2]) < 0.1


def test_body_rests_on_the_floor() -> None:
    """Contact carries the weight in water, and the water around a body that rests comes to rest.

    Cells between body and floor that are all body may press too: part of the weight is theirs.
    """
    sim = make(4.0, 0.151)
    sim.advance_to(0.5)
    body = sim.body("disc")
    weight = 4.0 * DENSITY * 9.81 * np.pi * 0.15**2
    assert body.position[1] == pytest.approx(0.15, abs=1e-3)
    assert body.contact_force[1] + body.force[1] == pytest.approx(weight, rel=1e-3)
    assert body.contact_force[1] == pytest.approx(0.75 * weight, rel=0.15)
    assert np.abs(sim.state.u[1]).max() < 0.1


def test_stops_and_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    sim = make(0.6, 0.45)
    for _ in range(3):
        sim.step()
    sim.save(tmp_path / "state.h5")
    other = ut.load(tmp_path / "state.h5", threads=1)
    for _ in range(3):
        sim.step()
        other.step()
    assert np.array_equal(sim.state.u, other.state.u)
    assert np.array_equal(sim.body("disc").velocity, other.body("disc").velocity)


@pytest.mark.parametrize(
    ("half", "dimensions", "limit"),
    [((1, 1, 1), 3, 0.25), ((1, 1, 0), 2, 1 / 3), ((1, 1, 1e-4), 3, 0.5), ((2, 1, 1), 3, 0.702 / 2.404)],
)
def test_limit_of_the_density(half: tuple[float, ...], dimensions: int, limit: float) -> None:
    """C / (1 + 2 C): sphere, cylinder, plate, prolate spheroid of axes 2 to 1 (Lamb 1932, article 114: 0.702)."""
    assert added_mass_limit(np.array(half, dtype=float), dimensions) == pytest.approx(limit, abs=2e-3)


def test_light_bodies_are_refused_with_the_reason() -> None:
    with pytest.raises(ut.UserError, match=r"objects.disc: 0.2 of the fluid's density.*unstable below.*0.333.*333"):
        make(0.2, 0.5)


def test_needs_water_and_bodies() -> None:
    fluid = {"domain": {"upper": (1.0, 1.0), "resolution": 8}, "time": {"end": 1.0}}
    ball = {"type": "rigid_body", "shape": {"type": "sphere", "radius": 0.1}, "position": (0.5, 0.5)}
    pool = {"type": "water", "shape": {"type": "box", "size": (1.0, 0.5)}, "position": (0.5, 0.25)}
    with pytest.raises(ut.UserError, match="moves bodies in water"):
        ut.Scene(name="a", coupling="rigid_fluid", objects={"ball": {**ball, "density": 500}}, **fluid)
    with pytest.raises(ut.UserError, match="no body is moved by forces"):
        ut.Scene(name="a", coupling="rigid_fluid", objects={"ball": ball, "pool": pool}, **fluid)
    with pytest.raises(ut.UserError, match="no effect with coupling = 'none'; set coupling = 'rigid_fluid'"):
        ut.Scene(name="a", rigid_fluid={"buoyancy": "source"}, objects={"pool": pool}, **fluid)


@pytest.mark.parametrize("coupling", ["monolithic", "rigid_fluid"])
def test_viscous_water_drags_a_body_along(coupling: str) -> None:
    """A stream takes a neutral disc with it; what the disc gains the stream loses (monolithic: to the tolerance)."""
    sides = {"x_low": "open", "x_high": "open", "y_low": {"type": "wall", "slip": True}}
    scene = ut.Scene(
        name="stream",
        gravity=(0.0, 0.0),
        coupling=coupling,
        domain=ut.Domain(upper=(1.0, 0.6), resolution=30, sides=sides),
        time=ut.Time(end=1.0, frame_rate=50.0),
        fluid=ut.Fluid(density=DENSITY, viscosity=5.0, tolerance=1e-10),
        objects={
            "pool": ut.Water(shape=ut.Plane(normal=(0.0, 1.0)), position=(0.5, 0.45)),
            "disc": ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.5, 0.22), density=DENSITY),
        },
    )
    sim = ut.Simulation(scene, threads=1)
    solve, u = sim.flow.solve, sim.flow.state.u  # type: ignore[attr-defined]
    solve.rebuild()
    solve.place()
    none_c = np.zeros(u.shape[1:])
    u[0] = solve.phase.inv_mass_f[0] > 0.0
    if coupling == "rigid_fluid":
        solve.start(u)
        solve.prepare(u, 0.1)
        before = u.copy()
        solve.before.solve(u, none_c, 0.1)
        gained = solve.regions.momentum((u - before).reshape(-1)[solve.regions.face])[0, 0]
        assert gained > 0.1 * DENSITY * np.pi * 0.1**2
        return
    before = u.copy()
    solve.before.solve(u, none_c, 0.1)
    inverse = solve.before.form.inv_mass_f[0]
    mass = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0.0)
    gained = sim.scheme.bodies.bodies.p_b[0, 0]  # type: ignore[attr-defined]
    assert gained > 0.1 * DENSITY * np.pi * 0.1**2
    face, at_ends = solve.rigid.walls.poles.momentum(before - u)  # masses at the ends of the disc
    lost = float(np.sum(mass * (before - u)[0])) + float(at_ends[face < none_c.size].sum())
    assert lost == pytest.approx(gained, rel=1e-6)
