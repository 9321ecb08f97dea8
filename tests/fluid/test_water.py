"""Physics of whole steps of water on small grids."""

from dataclasses import replace

import numba
import numpy as np
import pytest

from undertow.errors import UserError
from undertow.fluid import Flow, FlowSettings
from undertow.fluid.liquid import LiquidSurface, VolumeSource, WaterEmitter
from undertow.geometry import Box, ConstantCurve, Solid, SolidFields, Sphere, Static, VelocityCurves
from undertow.grid import OPEN, WALL, Grid, Sides
from undertow.surface import Surface, SurfaceSettings


def make(f, n=16, dimensions=2, cells=None, kind=None, solids=None, particles=False, **options):
    """Water where f(x, y, z) < 0 in a box one metre wide."""
    grid = Grid(cells or ((n, n, n) if dimensions == 3 else (n, n, 1)), 1.0 / n, dimensions=dimensions)
    sides = Sides(grid, kind or [WALL] * 6, [True] * 6)
    phi_c = grid.cell_field()
    phi_c[grid.interior] = f(*grid.cell_centres())
    surface = Surface(grid, sides, phi_c, SurfaceSettings(particles=particles))
    settings = options.pop("settings", FlowSettings(density=1000.0))
    fields = None if solids is None else SolidFields(grid, solids)
    side_velocity, contents = options.pop("side_velocity", None), options.pop("contents", ())
    return Flow(
        grid, sides, fields, settings, contents, side_velocity,
        make_extent=lambda context: LiquidSurface(context, surface, **options),
    )  # fmt: skip


TIGHT = FlowSettings(density=1000.0, tolerance=1e-11)


def column(x, y, z):
    """A column of water 0.4 wide and 0.6 high at the wall x = 0."""
    return np.maximum(x - 0.4, y - 0.6) + 0 * z


def run(water, steps, dt=0.01, start=0):
    for step in range(start, start + steps):
        report = water.step(step * dt, dt)
    return report


def energy(water):
    ledger = water.ledger()
    return ledger["kinetic_energy"] + ledger["potential_energy"]


@pytest.mark.parametrize("height", [0.5, 0.46875, 0.48])
def test_still_water_over_a_step_and_past_a_ball_keeps_still(height):
    solids = [
        Solid("step", Box((0.5, 0.4, 2.0)), Static((0.75, 0.1, 0.0))),
        Solid("ball", Sphere(0.12), Static((0.22, 0.47, 0.0))),
    ]
    water = make(lambda x, y, z: y - height + 0 * (x + z), solids=solids, particles=True)
    volume = water.extent.volume()
    run(water, 20)
    assert np.abs(water.state.u).max() < 1e-9
    assert water.extent.volume() == pytest.approx(volume, rel=1e-9)


def test_water_that_drifts_through_a_wall_inside_it_stays_on_its_side():
    """The surface inside a wall of four cells, water on its left, has come to its right face."""
    wall = Solid("wall", Box((0.2, 2.0, 2.0)), Static((0.5, 0.5, 0.0)))
    water = make(lambda x, y, z: x - 0.61 + 0 * (y + z), solids=[wall])
    phi = water.state.surface.phi_c[water.grid.interior]
    assert (phi[..., 9] < 0.0).all()
    water.extent.extend_into_solids()
    assert (phi[..., 9:] > 0.0).all()
    assert (phi[..., :9] < 0.0).all()


@pytest.mark.parametrize("speed", [0.0, 0.4])
def test_the_velocity_of_the_surface_draws_no_water_out_of_solids(speed):
    """Water all around falls past a disc that moves sideways: inside it, below its middle, the velocity that is made up
    has no part that leaves the disc; above, where the water comes on, it stays."""
    motion = VelocityCurves(ConstantCurve((speed, 0.0, 0.0)), None, (0.51, 0.52, 0.0), np.eye(3))
    water = make(lambda x, y, z: -1.0 + 0 * (x + y + z), n=24, solids=[Solid("disc", Sphere(0.2), motion)])
    u = water.state.u
    u[1] = -1.0
    out = water.grid.face_field()
    water.extent.continue_velocity(u, out)
    x, y = (np.arange(24) + 0.5) / 24 - 0.51, np.arange(24) / 24 - 0.52
    X, Y = np.meshgrid(x, y)
    r = np.hypot(X, Y)
    v, n = out[1][water.grid.interior][0], Y / r
    inside = (r < 0.19) & (r > 0.1)
    # -1 + n_y^2 + speed n_x n_y, n_x v_x + n_y v_y being n_x speed along the normal
    slid = -1.0 + n * n + speed * X * Y / r**2
    leaves = inside & (-n - speed * X / r > 0.15)
    comes = inside & (-n - speed * X / r < -0.15)
    assert leaves.sum() > 8 and comes.sum() > 8
    assert np.abs(v - slid)[leaves].max() < 0.06
    assert (v[comes] == -1.0).all()


def test_a_falling_drop_gains_the_energy_it_loses_in_height():
    """Free fall: v = g t at every wet face, the shape stays, the ledger balances."""
    water = make(lambda x, y, z: np.sqrt((x - 0.5) ** 2 + (y - 0.65) ** 2) - 0.2 + 0 * z, n=32)
    volume, start = water.extent.volume(), energy(water)
    run(water, 10, 0.01)
    wet = water.solve.phase.inv_mass_f[1] > 0
    assert np.abs(water.state.u[1][wet] / (-9.81 * 0.1) - 1.0).max() < 2e-3
    assert water.extent.volume() == pytest.approx(volume, rel=2e-3)
    assert energy(water) == pytest.approx(start, rel=0.02)
    ledger = water.ledger()
    assert ledger["momentum_y"] == pytest.approx(-1000.0 * water.extent.volume() * 9.81 * 0.1, rel=0.01)


@pytest.mark.parametrize("at", ["ceiling", "wall", "solid"])
def test_water_does_not_stick(at):
    """A drop that hangs on the ceiling, on a wall or under a solid: suction holds it no longer than air needs to get
    behind it from its edge, and it falls off whole."""
    x0, y0 = (0.05, 0.6) if at == "wall" else (0.5, 0.93)
    beam = [Solid("beam", Box((0.5, 0.3, 1.0)), Static((0.5, 1.1, 0.0)))] if at == "solid" else None
    water = make(lambda x, y, z: np.hypot(x - x0, y - y0) - 0.15, n=32, particles=True, solids=beam)
    volume, grid = water.extent.volume(), water.grid
    run(water, 40)
    wet = water.state.surface.phi_c[grid.interior] < 0.0
    y = np.broadcast_to(grid.cell_centres()[1], wet.shape)
    assert y[wet].max() < 0.7
    assert water.extent.volume() == pytest.approx(volume, rel=0.08)


def test_a_collapsing_column_keeps_volume_and_energy():
    water = make(column, n=32, particles=True)
    volume, start = water.extent.volume(), energy(water)
    report = run(water, 40, 0.005)
    assert report.row_after < 1e-5 * report.row_before
    assert water.extent.volume() == pytest.approx(volume, rel=0.01)
    assert water.ledger()["kinetic_energy"] > 0.1 * start
    assert energy(water) < 1.01 * start


def test_a_splash_keeps_its_volume_and_no_jet_runs_away():
    """A dam break over a wet floor until well after it has hit the far wall and the ceiling."""
    water = make(lambda x, y, z: np.minimum(np.maximum(x - 0.5, y - 0.8), y - 0.1) + 0 * z, 24, cells=(48, 24, 1),
                 particles=True)  # fmt: skip
    volume, time, fastest = water.extent.volume(), 0.0, 0.0
    start = energy(water)
    while time < 1.0:
        dt = 0.7 * min(limit.time_step for limit in water.limits(time))
        water.step(time, dt)
        time += dt
        fastest = max(fastest, np.abs(water.state.u).max())
    assert water.extent.volume() == pytest.approx(volume, rel=0.05)
    assert fastest < 2.0 * np.sqrt(2.0 * 9.81 * 0.8)
    assert energy(water) < 1.01 * start


def test_a_mirrored_scene_gives_the_mirrored_result():
    left = make(column, settings=TIGHT)
    right = make(lambda x, y, z: column(1.0 - x, y, z), settings=TIGHT)
    run(left, 15)
    run(right, 15)
    u, v = left.state.u[0], right.state.u[0]
    inside = left.grid.interior_faces(0)
    # redistancing takes equally near neighbours in order, which shows at the column's corner
    assert np.abs(u[inside] + v[inside][..., ::-1]).max() < 2e-3 * np.abs(u).max()


def test_a_plane_scene_in_three_dimensions_repeats_the_flat_one():
    flat = make(column, n=12, settings=TIGHT)
    deep = make(column, n=12, dimensions=3, cells=(12, 12, 4), settings=TIGHT)
    for water in (flat, deep):
        run(water, 10)
    inside = flat.grid.interior
    u = deep.state.u[:2, deep.grid.interior[0], inside[1], inside[2]]
    assert np.abs(u - flat.state.u[:2, inside[0], inside[1], inside[2]]).max() < 1e-6
    assert np.abs(deep.state.u[2]).max() < 1e-8
    assert deep.extent.volume() == pytest.approx(flat.extent.volume() * 4 / 12, rel=1e-6)


def test_gravity_along_x_is_gravity_along_y_turned():
    down = make(column, settings=TIGHT)
    across = make(lambda x, y, z: column(y, x, z), settings=replace(TIGHT, gravity=(-9.81, 0.0, 0.0)))
    run(down, 12)
    run(across, 12)
    inside = down.grid.interior
    assert np.abs(down.state.u[1][inside] - np.swapaxes(across.state.u[0][inside], 1, 2)).max() < 1e-6


def test_continued_water_repeats_every_bit_with_any_number_of_threads(handed_over):
    def scene():
        motion = VelocityCurves(ConstantCurve((0.3, 0.0, 0.0)), position=(0.6, 0.2, 0.0))
        return make(column, n=24, solids=[Solid("ball", Sphere(0.12), motion)], particles=True)

    numba.set_num_threads(1)
    whole = scene()
    run(whole, 4)
    saved = {name: array.copy() for name, array in whole.arrays().items()}
    run(whole, 4, start=4)
    assert not handed_over
    numba.set_num_threads(2)
    half = scene()
    half.restore(saved, half.numbers(), 0.04)
    run(half, 4, start=4)
    assert len(set(handed_over)) > 10, set(handed_over)
    for name, array in whole.arrays().items():
        assert np.array_equal(array, half.arrays()[name]), name


def test_a_source_adds_its_volume_and_a_drain_takes_it():
    """A still pool that fills from below: the level rises by the volume made."""
    source = np.zeros(Grid((16, 16, 1), 1 / 16, dimensions=2).padded, dtype=bool)
    source[3, 4:6, 8:14] = True
    for rate in (0.4, -0.4):
        water = make(lambda x, y, z: y - 0.5 + 0 * (x + z), sources=[VolumeSource("spring", source, rate)])
        before = water.extent.volume()
        run(water, 20, 0.005)
        assert water.ledger()["emitted_volume"] == pytest.approx(rate * 0.1)
        assert water.extent.volume() - before == pytest.approx(rate * 0.1, rel=0.05)


def test_an_emitter_sends_a_jet():
    """Water leaves the nozzle at its velocity: the volume grows by velocity x opening x time."""
    grid = Grid((24, 24, 1), 1 / 24, dimensions=2)
    x = grid.lower[0] + (np.arange(grid.padded[2]) - 2.5) * grid.dx
    y = grid.lower[1] + (np.arange(grid.padded[1]) - 2.5) * grid.dx
    distance = np.maximum(np.abs(x[None, None, :]) - 3.5 * grid.dx, np.abs(y[None, :, None] - 0.7) - 2.5 * grid.dx)
    distance = np.ascontiguousarray(np.broadcast_to(distance, grid.padded))
    emitter = WaterEmitter("nozzle", distance, (2.0, 0.0, 0.0))
    water = make(lambda x, y, z: y - 0.1 + 0 * (x + z), n=24, emitters=[emitter])
    run(water, 10, 0.01)
    before = water.extent.volume()
    run(water, 10, 0.01, start=10)
    grown = water.extent.volume() - before
    assert grown == pytest.approx(2.0 * 5 / 24 * 0.1, rel=0.15)


def test_a_solid_lowered_into_water_lifts_the_level():
    """Archimedes: the water level rises by the volume pushed aside; none is lost through the walls."""
    motion = VelocityCurves(ConstantCurve((0.0, -0.5, 0.0)), position=(0.5, 0.62, 0.0))
    water = make(
        lambda x, y, z: y - 0.5 + 0 * (x + z), n=32, solids=[Solid("box", Box((0.3, 0.2, 1.0)), motion)],
        particles=True,
    )  # fmt: skip
    before = water.extent.volume()
    run(water, 40, 0.01)
    assert water.extent.volume() == pytest.approx(before, rel=0.02)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_submerged_ball_feels_its_buoyancy(dimensions):
    """Archimedes: rho g times the volume of the ball, no torque, wherever it lies within the cells."""
    middle = 0.5 if dimensions == 3 else 0.0
    ball = Solid("ball", Sphere(0.2), Static((0.47, 0.41, middle)))
    water = make(lambda x, y, z: y - 0.83 + 0 * (x + z), n=20, dimensions=dimensions, solids=[ball])
    run(water, 1)
    force = water.forces()["ball"]
    volume = np.pi * 0.2**2 if dimensions == 2 else 4 / 3 * np.pi * 0.2**3
    assert force.total[1] == pytest.approx(9810.0 * volume, rel=1e-6)
    assert abs(force.total[0]) < 1e-6 * force.total[1]
    assert np.abs(force.torque).max() < 1e-6 * force.total[1] * 0.2


def test_pressure_under_still_water_is_linear_and_zero_in_the_air():
    water = make(lambda x, y, z: y - 0.53 + 0 * (x + z))
    run(water, 2)
    p = water.state.p[water.grid.interior][0, :, 3]
    y = water.grid.coordinates(1, 0.5)
    assert p == pytest.approx(np.where(y < 0.53, 9810.0 * (0.53 - y), 0.0), abs=1e-6)


def test_water_leaves_through_an_open_side():
    water = make(lambda x, y, z: y - 0.4 + 0 * (x + z), kind=[WALL, OPEN, WALL, WALL, WALL, WALL])
    before = water.extent.volume()
    run(water, 20)
    assert water.state.u[0][water.grid.interior_faces(0)][0, 2, -1] > 0.5
    assert water.extent.volume() < 0.9 * before


def test_limits_name_the_rules():
    water = make(column)
    (limit,) = water.limits(0.0)
    assert limit == ("surface_waves", pytest.approx(np.sqrt(1 / 16 / 9.81)), "cfl")
    run(water, 3)
    assert {limit.name for limit in water.limits(0.03)} == {"cfl", "surface_waves"}


def test_mistakes_are_named():
    grid = Grid((16, 16, 1), 1 / 16, dimensions=2)
    nowhere = np.full(grid.padded, 1.0)
    with pytest.raises(UserError, match="emitter 'tap' holds no cell"):
        make(column, emitters=[WaterEmitter("tap", nowhere, (1.0, 0.0, 0.0))])
    everywhere = np.full(grid.padded, -1.0)
    block = [Solid("block", Box((3.0, 3.0, 3.0)), Static((0.5, 0.5, 0.0)))]
    with pytest.raises(UserError, match="emitter 'tap' lies inside a solid"):
        make(column, solids=block, emitters=[WaterEmitter("tap", everywhere, (1.0, 0.0, 0.0))])
    high = np.zeros(grid.padded, dtype=bool)
    high[3, 16:18, 16:18] = True
    with pytest.raises(UserError, match="drain 'hole' holds no water"):
        make(column, sources=[VolumeSource("hole", high, -0.1)])
