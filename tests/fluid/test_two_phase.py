"""Two fluids: what is at rest stays, masses in series, volumes, bodies, iterations, and what scenes refuse."""

import numpy as np
import pytest

import undertow as ut
from undertow.errors import UserError
from undertow.fluid.domain import FluidDomain
from undertow.fluid.solve import PressureSolve
from undertow.fluid.tension import SurfaceTension
from undertow.fluid.two_phase import OtherFluid, TwoPhase
from undertow.grid import GHOSTS, OPEN, WALL, Grid, Sides


def solve_of(grid, level, ratio, gravity=(0.0, -9.81, 0.0), kinds=None, sigma=0.0, tolerance=1e-12):
    """The projection of a liquid of 1000 kg/m3 under ``level`` of places, and of a fluid of 1000 / ratio."""
    places = (grid.coordinates(axis, 0.5 - GHOSTS, grid.padded[2 - axis]) for axis in range(3))
    x, y, z = (a.reshape(shape) for a, shape in zip(places, ((1, 1, -1), (1, -1, 1), (-1, 1, 1)), strict=True))
    phi_c = np.broadcast_to(level(x, y, z if grid.dimensions == 3 else 0.0 * z), grid.padded).copy()
    domain = FluidDomain(grid, Sides(grid, kinds or [WALL] * 6, [True] * 6), None, 1000.0)
    solve = PressureSolve(TwoPhase(domain, phi_c, gravity, OtherFluid(1000.0 / ratio)), tolerance)
    if sigma:
        solve.phase.tensions = (SurfaceTension(domain, phi_c, sigma),)
    solve.rebuild()
    solve.place()
    return solve


def project(solve, dt=0.01):
    """Velocity and pressure after the pressure alone has acted on fluids at rest; iterations."""
    phase, grid = solve.phase, solve.phase.domain.grid
    u, p, z = grid.face_field(), grid.cell_field(), grid.cell_field()
    phase.guess(p, dt, z)
    phase.give_known(p, dt, solve.rows.stencil, z, u)
    stats = solve.solve(u, z, dt)
    phase.pressure_of(z, dt, p)
    return u, p, stats[-1].iterations


@pytest.mark.parametrize("ratio", [0.5, 1e3, 1e4])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_fluids_under_a_level_interface_stay_still_to_rounding(dimensions, ratio):
    grid = Grid((8, 12, 8 if dimensions == 3 else 1), 0.1, dimensions=dimensions)
    solve = solve_of(grid, lambda x, y, z: y - 0.543 + 0.0 * (x + z), ratio)
    u, p, _ = project(solve)
    assert np.abs(u).max() < 1e-14
    column = p[grid.interior][0, :, 3]
    assert column[1] - column[2] == pytest.approx(1000.0 * 9.81 * 0.1, rel=1e-9)
    assert column[8] - column[9] == pytest.approx(1000.0 / ratio * 9.81 * 0.1, rel=1e-6)


def test_an_oblique_interface_across_gravity_stays_still_too():
    grid = Grid((16, 16, 1), 0.1, dimensions=2)
    g = np.array([3.0, -4.0, 0.0])
    solve = solve_of(grid, lambda x, y, z: -(g[0] * (x - 0.81) + g[1] * (y - 0.77)) / 5.0 + 0.0 * z, 1000.0, tuple(g))
    assert np.abs(project(solve)[0]).max() < 1e-13


@pytest.mark.parametrize("level", [0.31, 0.4, 0.449])
def test_masses_of_two_fluids_in_series_add_up(level):
    """A tube of 1 m open at both ends: a jump of the pressure moves rho l + rho' (1 - l)."""
    grid, kinds = Grid((4, 10, 1), 0.1, dimensions=2), [WALL, WALL, OPEN, OPEN, WALL, WALL]
    solve = solve_of(grid, lambda x, y, z: y - level + 0.0 * (x + z), 1000.0, (0.0, 0.0, 0.0), kinds, sigma=0.07)
    solve.phase.tensions[0].kappa[...] = 100.0
    u, _, _ = project(solve, 0.01)
    expected = -0.07 * 100.0 * 0.01 / (1000.0 * level + 1.0 * (1.0 - level))
    assert u[1][grid.interior_faces(1)] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("ratio", [1e3, 1e4])
def test_iterations_do_not_grow_with_cells_or_densities(ratio):
    count = []
    for n in (32, 64, 128):
        grid = Grid((n, n, 1), 1.0 / n, dimensions=2)
        bubble = solve_of(
            grid, lambda x, y, z: 0.25 - np.hypot(x - 0.51, y - 0.48) + 0.0 * z, ratio, sigma=0.07, tolerance=1e-6
        )
        count.append(project(bubble)[2])
    assert max(count) <= 25
    assert max(b / a for a, b in zip(count[:-1], count[1:], strict=True)) <= 1.3


@pytest.mark.parametrize("ratio", [1e3, 1e4])
def test_many_small_bubbles_take_few_iterations(ratio):
    grid, random = Grid((32, 32, 32), 1.0 / 32.0), np.random.default_rng(0)
    places = [(np.array([a, b, c]) + random.uniform(-0.3, 0.3, 3) + 0.5) / 3.0
              for a in range(3) for b in range(3) for c in range(3)]  # fmt: skip

    def level(x, y, z):
        away = [0.07 - np.sqrt((x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2) for a, b, c in places]
        return np.max(away, axis=0)

    solve = solve_of(grid, level, ratio, sigma=0.07, tolerance=1e-6)
    _, _, count = project(solve)
    assert solve.multigrid.count == 27
    solve.multigrid.stiff = np.inf
    solve.rebuild()
    assert count <= 25
    assert count < 0.6 * project(solve)[2]


def scene(**changes):
    """A bubble in a closed box of thick liquid."""
    keys = {
        "name": "bubble", "domain": ut.Domain(upper=[1.0, 1.0], resolution=20),
        "time": ut.Time(end=1.0, frame_rate=20.0),
        "fluid": {"density": 1000.0, "viscosity": 10.0, "air": {"density": 1.0, "viscosity": 0.1}},
        "surface": {"tension": 20.0},
        "objects": {
            "liquid": ut.Water(shape=ut.Box(size=[4.0, 4.0]), position=[0.5, 0.5]),
            "bubble": ut.Bubble(shape=ut.Sphere(radius=0.2), position=[0.5, 0.4]),
        },
    }  # fmt: skip
    return ut.Scene(**{**keys, **changes})


def test_a_bubble_rises_keeps_its_volume_and_resumes_bit_for_bit(tmp_path):
    sim = ut.Simulation(scene())
    first = [sim.step() for _ in range(4)]
    sim.save(tmp_path / "bubble.h5")
    again = ut.load(tmp_path / "bubble.h5")
    for one in (sim, again):
        reports = [one.step() for _ in range(4)]
    assert np.array_equal(sim.state.u, again.state.u)
    assert np.array_equal(sim.flow.state.surface.phi_c, again.flow.state.surface.phi_c)
    before, after = first[0].ledger, reports[-1].ledger
    assert after["bubbles"] == 1.0
    assert after["air_volume"] == pytest.approx(before["air_volume"], rel=1e-5)
    assert after["fluid_volume"] + after["volume_error"] == pytest.approx(
        before["fluid_volume"] + before["volume_error"], rel=1e-12
    )
    assert sim.flow.extent.bodies_of_air()[0].centre[1] > 0.41
    assert after["potential_energy"] < before["potential_energy"]


def test_two_bubbles_and_a_drop_keep_a_volume_each():
    objects = {
        "pool": ut.Water(shape=ut.Plane(normal=[0.0, 1.0]), position=[0.5, 0.6]),
        "drop": ut.Water(shape=ut.Sphere(radius=0.12), position=[0.5, 0.8]),
        "left": ut.Bubble(shape=ut.Sphere(radius=0.15), position=[0.25, 0.25]),
        "right": ut.Bubble(shape=ut.Sphere(radius=0.13), position=[0.75, 0.25]),
    }
    domain = ut.Domain(upper=[1.0, 1.0], resolution=32)
    sim = ut.Simulation(scene(domain=domain, objects=objects, surface={"tension": 20.0, "particles": False}))
    sim.step()
    start = [*sim.flow.extent.bodies_of_air(), *sim.waters()]
    for _ in range(8):
        report = sim.step()
    end = [*sim.flow.extent.bodies_of_air(), *sim.waters()]
    assert report.ledger["bubbles"] == 3.0
    assert [body.volume for body in end] == pytest.approx([body.volume for body in start], rel=2e-4)
    assert abs(report.ledger["volume_error"]) < 1e-5


def large_and_small(small, **changes):
    """A bubble of four cells' radius, and one of radius ``small`` [m] in cells of 0.05 m."""
    objects = {
        "liquid": ut.Water(shape=ut.Box(size=[4.0, 4.0]), position=[0.5, 0.5]),
        "large": ut.Bubble(shape=ut.Sphere(radius=0.2), position=[0.3, 0.4]),
        "small": ut.Bubble(shape=ut.Sphere(radius=small), position=[0.775, 0.725]),
    }
    return ut.Simulation(scene(objects=objects, surface={"tension": 0.1, "particles": False}, **changes))


def test_what_a_small_bubble_cannot_give_at_once_the_large_one_gives_meanwhile():
    sim = large_and_small(0.06)
    sim.step()
    extent, cell = sim.flow.extent, sim.flow.grid.cell_volume
    volume, large, small = extent.volume(), *(body.volume for body in extent.bodies_of_air())
    held = extent._held
    extent.air.amount_c.reshape(-1)[held.cell[held.of == 1 + np.argmin(extent.bubbles.sums[1:, 2])]] *= 0.5
    extent._correct_volume()
    assert extent.volume() == pytest.approx(volume, rel=1e-7)
    given, taken = small - extent.bodies_of_air()[1].volume, extent.bodies_of_air()[0].volume - large
    assert 0.3 * cell < given < 0.5 * small
    assert taken == pytest.approx(given, abs=0.01 * cell)
    assert given + extent.lent == pytest.approx(0.5 * small, abs=0.01 * cell)


def test_the_volume_of_a_bubble_that_the_level_set_loses_is_kept_by_the_others():
    sim = large_and_small(0.08)
    before = sim.step().ledger
    assert before["bubbles"] == 2.0
    x, y, _ = sim.flow.grid.cell_centres()
    phi = sim.flow.state.surface.phi_c[sim.flow.grid.interior]
    phi[np.hypot(x - 0.775, y - 0.725) < 0.2] = -0.1
    for _ in range(12):
        after = sim.step().ledger
    assert after["bubbles"] == 1.0
    assert after["air_volume"] == pytest.approx(before["air_volume"], rel=1e-5)
    gained = after["bubble_1_volume"] - before["bubble_1_volume"]
    assert gained == pytest.approx(before["bubble_2_volume"], rel=0.02)


def test_limit_of_capillary_waves_counts_both_fluids():
    air = {"density": 500.0, "viscosity": 0.1}
    sim = ut.Simulation(scene(fluid={"density": 1000.0, "viscosity": 10.0, "air": air}))
    found = {limit.name: limit.time_step for limit in sim.flow.extent.limits()}
    assert found["capillary"] == pytest.approx(np.sqrt(1500.0 * 0.05**3 / (4.0 * np.pi * 20.0)), rel=1e-12)
    assert found["surface_waves"] == pytest.approx(np.sqrt(0.05 / 9.81 * 3.0), rel=1e-12)


def test_a_fluid_that_vanishes_is_told_and_the_other_goes_on():
    sim = ut.Simulation(scene(surface={"particles": False}))
    sim.step()
    surface = sim.flow.state.surface
    surface.phi_c[...] = -1.0
    events = [event for _ in range(3) for event in sim.step().events]
    assert len(events) == 1
    assert "the air has vanished" in events[0]
    assert np.isfinite(sim.state.u).all()


def with_body(density, height, **changes):
    """A cylinder in a tank that is half full of water under air, without viscosity."""
    body = ut.RigidBody(shape=ut.Sphere(radius=0.15), position=[0.5, height], density=density)
    fluid = {"density": 1000.0, "tolerance": 1e-8, "air": {"density": 1.0}}
    water = ut.Water(shape=ut.Plane(normal=[0.0, 1.0]), position=[0.5, 0.5])
    keys = {"coupling": "monolithic", "fluid": fluid, "surface": {}, "objects": {"water": water, "body": body}}
    return ut.Simulation(scene(**{**keys, **changes}))


@pytest.mark.parametrize(("density", "height"), [(500.5, 0.5), (1000.0, 0.25), (1.0, 0.75)])
def test_a_body_of_the_weight_of_what_it_displaces_stays_where_it_is(density, height):
    """Between the two fluids, in the liquid and in the air: Archimedes with both of them."""
    sim = with_body(density, height)
    for _ in range(3):
        sim.step()
    body = sim.body("body")
    assert abs(body.position[1] - height) < 1e-12
    assert np.abs(sim.state.u).max() < 1e-12


def test_equal_fluids_move_a_body_as_one_does():
    """A body that rises in a closed tank of two fluids of one density, and in a tank of one."""
    objects = {"body": ut.RigidBody(shape=ut.Sphere(radius=0.15), position=[0.5, 0.45], density=300.0)}
    one = ut.Simulation(scene(coupling="monolithic", objects=objects, surface={}, fluid={"density": 1000.0}))
    two = with_body(300.0, 0.45, fluid={"density": 1000.0, "air": {"density": 1000.0}}, surface={"tension": 1e-12})
    found = []
    for sim in (one, two):
        sim.advance_to(0.01)
        found.append(sim.body("body").velocity[1])
    assert found[1] == pytest.approx(found[0], rel=1e-4)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"fluid": {"material": "water", "air": {"material": "water"}}}, r"fluid\.air\.material.*two fluids"),
        ({"fluid": {"density": 2.0, "air": {"density": 2.0}}, "surface": {}}, "that is one fluid"),
        ({"fluid": {"air": {"density": -1.0}}}, r"fluid\.air\.density.*-1"),
        ({"fluid": {"pair": "water-wine"}}, r"fluid\.pair = 'water-wine' is unknown.*water-air"),
        ({"fluid": {"density": 1000.0}}, "a bubble is of fluid.air"),
        ({"objects": {}}, r"fluid\.air has no effect without water"),
        (
            {"objects": {
                "pool": ut.Water(shape=ut.Plane(normal=[0.0, 1.0]), position=[0.5, 0.5]),
                "tap": ut.WaterSource(shape=ut.Sphere(radius=0.1), position=[0.5, 0.8], velocity=[0.0, -1.0]),
            }},
            "the tank is closed and both fluids keep their volume",
        ),
    ],
)  # fmt: skip
def test_two_fluids_that_make_no_sense_are_refused(changes, words):
    with pytest.raises(UserError, match=words):
        scene(**changes)


def test_a_pair_of_fluids_has_densities_viscosities_and_tension():
    found = scene(fluid={"pair": "mercury-air"}, surface={})
    assert found.fluid.density == 13546.0
    assert found.fluid.air.density == 1.204
    assert found.surface.tension == pytest.approx(0.4865)


def test_bubbles_of_air_in_water_do_not_gain_energy():
    """Air has many times the speed of water: what is carried across the interface must not push it."""
    objects = {
        "pool": ut.Water(shape=ut.Plane(normal=[0.0, 1.0]), position=[0.06, 0.12]),
        "low": ut.Bubble(shape=ut.Sphere(radius=0.016), position=[0.045, 0.03]),
        "high": ut.Bubble(shape=ut.Sphere(radius=0.018), position=[0.075, 0.075]),
    }
    domain = ut.Domain(upper=[0.12, 0.18], resolution=27)
    sim = ut.Simulation(scene(domain=domain, fluid={"pair": "water-air"}, surface={}, objects=objects))
    energy = []
    for report in sim.steps(until=0.15):
        energy.append(sum(report.ledger[f"{kind}_energy"] for kind in ("kinetic", "potential", "surface")))
    assert max(energy) < 1.02 * energy[0]
    assert energy[-1] < 0.9 * energy[0]
