"""Contact angles in scenes: where the line goes, what it pulls with, what walls bear; resumption and mistakes."""

import numpy as np
import pytest

import undertow as ut
from undertow.errors import UserError
from undertow.fluid.contact_line import ContactLines
from undertow.fluid.crossed import find_crossings
from undertow.fluid.domain import FluidDomain
from undertow.fluid.tension import SurfaceTension
from undertow.geometry import Plane, Solid, SolidFields, Static
from undertow.grid import GHOSTS, Grid, Sides

SIGMA = 0.07


def cap_on_plane(degrees, dimensions, cells=24):
    """A disc or ball of radius 0.3 that meets a solid floor at the angle, and the lines of contact."""
    grid = Grid((cells, cells, cells if dimensions == 3 else 1), 1.0 / cells, dimensions=dimensions)
    floor = Solid("floor", Plane(np.array([0.0, 1.0, 0.0])), Static(np.array([0.5, 0.31, 0.5]), np.eye(3)))
    solids = SolidFields(grid, [floor])
    solids.update(0.0)
    x, y, z = (grid.coordinates(axis, 0.5 - GHOSTS, grid.padded[2 - axis]) for axis in range(3))
    high, deep = 0.31 - 0.3 * np.cos(np.radians(degrees)), (z - 0.5 if dimensions == 3 else 0.0 * z)
    phi_c = np.sqrt((x[None, None] - 0.5) ** 2 + (y[:, None] - high) ** 2 + deep[:, None, None] ** 2) - 0.3
    return ContactLines(phi_c, solids, SIGMA, np.cos(np.radians([degrees])))


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("degrees", [60.0, 90.0, 120.0])
@pytest.mark.parametrize("given", [True, False])
def test_a_surface_pulls_on_the_solid_that_it_meets(dimensions, degrees, given):
    """sigma sin theta per length, upwards; with the angle, or with the direction in which the surface leaves."""
    lines = cap_on_plane(degrees, dimensions)
    lines.cosine = lines.cosine if given else np.array([np.nan])
    lines.find()
    radius = 0.3 * np.sin(np.radians(degrees))
    length = 2.0 if dimensions == 2 else 2.0 * np.pi * radius
    load = lines.load(1, np.array([[0.5, 0.31, 0.5 if dimensions == 3 else 0.0]]))[0]
    assert lines.length.sum() == pytest.approx(length, rel=0.02)
    assert load[1] == pytest.approx(SIGMA * length * np.sin(np.radians(degrees)), rel=0.03)
    assert np.abs(np.delete(load, 1)).max() < 0.02 * SIGMA
    # at one end the pull goes along the wall by sigma cos theta, towards the water
    outward = lines.place[:, 0] > 0.5
    inward = -lines.force[outward & (np.abs(lines.place[:, 2] - (0.5 if dimensions == 3 else 0.0)) < 0.03), 0]
    size = SIGMA * np.cos(np.radians(degrees))
    where = lines.length[outward & (np.abs(lines.place[:, 2] - (0.5 if dimensions == 3 else 0.0)) < 0.03)]
    assert inward.sum() / where.sum() == pytest.approx(size, abs=0.06 * SIGMA)


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("degrees", [40.0, 60.0, 120.0])
def test_water_and_solid_get_nothing_together(dimensions, degrees):
    """Forces of the crossed faces on the water and of the lines on the solid, and their torques, add up to 0; what that
    changes is small beside the pull."""
    lines = cap_on_plane(degrees, dimensions)
    lines.find()
    before = lines.force.copy()
    domain = FluidDomain(lines.grid, Sides(lines.grid), lines.solids, 1.0)
    tension = SurfaceTension(domain, lines.phi_c, SIGMA)
    tension.find()
    lines.react(tension)
    place = find_crossings(lines.grid, lines.phi_c).places(lines.grid)
    force = np.zeros((len(place), 3))
    axis = tension.face // np.prod(lines.grid.padded)
    size = SIGMA * tension.kappa * domain.area_f.reshape(-1)[tension.face] * lines.grid.face_area
    force[np.arange(len(axis)), axis] = -tension.way * size
    assert np.abs(force.sum(axis=0) + lines.force.sum(axis=0)).max() < 1e-13
    torque = np.cross(place, force).sum(axis=0) + np.cross(lines.place, lines.force).sum(axis=0)
    assert np.abs(torque).max() < 1e-13
    total = np.linalg.norm(before, axis=1).sum()
    assert np.linalg.norm(lines.force - before, axis=1).sum() < 0.1 * total


@pytest.mark.parametrize("degrees", [50.0, 90.0])
def test_of_a_surface_that_meets_a_side_the_side_has_its_share(degrees):
    """An arc between a side and a solid floor: what the water gets upwards is what the floor and the side get, and what
    crosses the side is left alone."""
    lines = cap_on_plane(60.0, 2)
    grid = lines.grid
    # the circle about a point from which it meets the side x = 0 at the angle
    x, y = (grid.coordinates(axis, 0.5 - GHOSTS, grid.padded[2 - axis]) for axis in (0, 1))
    lines.phi_c[...] = np.hypot(x[None, :] + 0.3 * np.cos(np.radians(degrees)), y[:, None] - 0.16) - 0.3
    lines.side_cosine = {0: np.cos(np.radians(degrees))} if degrees != 90.0 else {}
    lines.find()
    before = lines.force.copy()
    domain = FluidDomain(grid, Sides(grid), lines.solids, 1.0)
    tension = SurfaceTension(domain, lines.phi_c, SIGMA)
    tension.find()
    lines.react(tension)
    axis = tension.face // np.prod(grid.padded)
    size = -tension.way * SIGMA * tension.kappa * domain.area_f.reshape(-1)[tension.face] * grid.face_area
    on_water = size[axis == 1].sum()
    on_side = -SIGMA * np.cos(np.radians(degrees))
    assert len(before) == 1
    assert on_water + lines.force[:, 1].sum() + on_side == pytest.approx(0.0, abs=1e-12)
    assert np.array_equal(lines.force[:, 0], before[:, 0])
    assert np.abs(lines.force - before).max() < 0.1 * SIGMA


def drop(angle, floor="side", time=0.02, **body):
    """Half a disc of water, 6 cells high, on the floor of a box or on a solid in it."""
    sides = {"y_low": {"type": "wall", "contact_angle": angle}} if floor == "side" else {}
    objects = {"drop": ut.Water(shape=ut.Sphere(radius=0.3), position=[0.5, 0.0 if floor == "side" else 0.31])}
    if floor != "side":
        objects["plate"] = ut.RigidBody(
            shape=ut.Box(size=[2.0, 0.62]), position=[0.5, 0.0], contact_angle=angle, **body
        )
    return ut.Scene(
        name="drop", gravity=[0.0, 0.0], domain=ut.Domain(upper=[1.0, 1.0], resolution=20, sides=sides),
        time=ut.Time(end=time, frame_rate=1.0 / time), fluid=ut.Fluid(density=1.0, viscosity=0.05),
        surface=ut.Surface(tension=1.0, particles=False), objects=objects,
    )  # fmt: skip


def wetted(sim):
    """Length of the floor under water [m], by the row of cells above it."""
    grid, phi_c = sim.flow.grid, sim.flow.state.surface.phi_c
    row = np.flatnonzero(sim.flow.domain.volume_c[GHOSTS, GHOSTS:-GHOSTS, grid.padded[2] // 2] > 0.5)[0] + GHOSTS
    return float(np.clip(0.5 - phi_c[GHOSTS, row, GHOSTS:-GHOSTS] / grid.dx, 0.0, 1.0).sum() * grid.dx)


@pytest.mark.parametrize("floor", ["side", "solid"])
def test_water_spreads_where_it_wets_and_draws_together_where_it_does_not(floor):
    change = {}
    for angle in (45.0, 90.0, 135.0):
        sim = ut.Simulation(drop(angle, floor, time=0.1))
        before = wetted(sim)
        sim.advance_to(0.1)
        change[angle] = wetted(sim) - before
    assert change[45.0] > 0.02
    assert change[135.0] < -0.02
    assert abs(change[90.0]) < 0.25 * change[45.0]


def test_a_drop_at_rest_does_not_push_the_solid_that_it_sits_on():
    """Without gravity pressure under it and pull of its edge cancel: 2 sigma here."""
    sim = ut.Simulation(drop(90.0, "solid", time=0.01))
    sim.advance_to(0.01)
    report = sim.step() if sim.time < 0.01 else None
    assert report is None
    load = sim.flow.phase.surface_load(np.zeros((1, 3)))[0]
    assert load[1] == pytest.approx(2.0, rel=0.03)
    pressure = sim.flow.forces()["plate"].pressure
    assert abs(pressure[1]) < 0.1
    assert abs(pressure[0]) < 0.05


def test_a_run_with_angles_resumes_bit_for_bit(tmp_path):
    sim = ut.Simulation(drop(60.0, "solid"))
    for _ in range(2):
        sim.step()
    sim.save(tmp_path / "drop.h5")
    again = ut.load(tmp_path / "drop.h5")
    for one in (sim, again):
        one.step()
    assert np.array_equal(sim.state.u, again.state.u)
    assert np.array_equal(sim.flow.state.surface.phi_c, again.flow.state.surface.phi_c)


def test_solids_bear_the_suction_of_adhesion():
    sim = ut.Simulation(drop(60.0, "solid"))
    phase = sim.flow.phase
    cell = np.flatnonzero(sim.flow.solids.body_c.reshape(-1) == 0)[:3]
    assert phase.adhesion_in(cell) == pytest.approx(1.5 / sim.flow.grid.dx)
    far = np.flatnonzero(sim.flow.solids.body_c.reshape(-1) < 0)[:3]
    assert np.all(phase.adhesion_in(far) == 0.0)


HYSTERESIS = {"advancing": 120.0, "receding": 60.0}


def test_a_line_between_its_two_angles_stays_where_it_is():
    """Pushed along the floor a little, a drop leans over; without hysteresis its line goes along."""
    moved = {}
    for angle in (90.0, HYSTERESIS):
        sim = ut.Simulation(drop(angle, time=0.2).replace("gravity", [3.0, 0.0]))
        sim.advance_to(0.2)
        phi = sim.flow.state.surface.phi_c
        line = _line_of(sim)
        moved[str(angle)] = line - 0.2
        high = phi[GHOSTS, GHOSTS + 2, GHOSTS:-GHOSTS]
        leans = np.flatnonzero((high[:-1] > 0.0) & (high[1:] <= 0.0))[0]
        assert leans >= 3
    assert moved["90.0"] > 0.01
    assert abs(moved[str(HYSTERESIS)]) < 0.002


def _line_of(sim):
    """Where the drop begins on the floor [m], by the three lowest rows."""
    phi = sim.flow.state.surface.phi_c[GHOSTS]
    rows = [phi[GHOSTS + n, GHOSTS:-GHOSTS] for n in range(3)]
    held = sim.flow.state.surface.level_set.angles.held.get(2)
    value = held[0, GHOSTS:-GHOSTS] if held is not None else (15 * rows[0] - 10 * rows[1] + 3 * rows[2]) / 8
    at = np.flatnonzero((value[:-1] > 0.0) & (value[1:] <= 0.0))[0]
    return (at + 0.5 + value[at] / (value[at] - value[at + 1])) * sim.flow.grid.dx


def test_a_run_with_hysteresis_resumes_bit_for_bit(tmp_path):
    sim = ut.Simulation(drop(HYSTERESIS).replace("gravity", [3.0, 0.0]))
    for _ in range(2):
        sim.step()
    sim.save(tmp_path / "drop.h5")
    again = ut.load(tmp_path / "drop.h5")
    for one in (sim, again):
        one.step()
    assert np.array_equal(sim.flow.state.surface.phi_c, again.flow.state.surface.phi_c)
    held = (one.flow.state.surface.level_set.angles.held[2] for one in (sim, again))
    assert np.array_equal(*held)


@pytest.mark.parametrize(
    ("angle", "says"),
    [
        ({"advancing": 60.0, "receding": 120.0}, r"receding = 120 is more than advancing = 60 degrees; exchange them"),
        ({"advancing": 190.0, "receding": 120.0}, r"advancing.*at most 180"),
        ({"advancing": 110.0}, r"receding"),
    ],
)
def test_pairs_of_angles_that_make_no_sense_are_refused(angle, says):
    with pytest.raises(UserError, match=says):
        drop(angle)


def test_hysteresis_of_bodies_is_refused():
    with pytest.raises(UserError, match=r"contact_angle: must be a number in degrees"):
        drop(HYSTERESIS, "solid")


def test_hysteresis_without_tension_is_refused():
    with pytest.raises(UserError, match=r"contact_angle has no effect without surface tension"):
        drop(HYSTERESIS).replace("surface.tension", 0.0)


@pytest.mark.parametrize("angle", [-5.0, 190.0])
@pytest.mark.parametrize("floor", ["side", "solid"])
def test_angles_outside_0_to_180_are_refused(angle, floor):
    with pytest.raises(UserError, match=r"contact_angle.*(not be negative|at most 180).*degrees"):
        drop(angle, floor)


@pytest.mark.parametrize("floor", ["side", "solid"])
def test_an_angle_without_tension_is_refused(floor):
    with pytest.raises(UserError, match=r"contact_angle = 60 has no effect without surface tension"):
        drop(60.0, floor).replace("surface.tension", 0.0)


def test_an_angle_of_a_thin_shell_is_refused():
    with pytest.raises(UserError, match=r"objects\.sheet\.contact_angle.*inside"):
        ut.Scene(
            name="sheet", coupling="monolithic", domain=ut.Domain(upper=[1.0, 1.0, 1.0], resolution=8),
            time=ut.Time(end=0.1), surface=ut.Surface(tension=0.07), objects={
                "pool": ut.Water(shape=ut.Plane(normal=[0.0, 1.0, 0.0]), position=[0.5, 0.3, 0.5]),
                "sheet": ut.RigidBody(
                    shape={"type": "shell", "form": {"type": "plate", "size": [0.4, 0.4]}, "thickness": 0.01},
                    position=[0.5, 0.6, 0.5], density=900.0,
                    contact_angle=60.0,
                ),
            },
        )  # fmt: skip


def test_an_angle_without_fluid_is_refused():
    with pytest.raises(UserError, match=r"objects\.ball\.contact_angle: there is no water"):
        ut.Scene(
            name="dry", time=ut.Time(end=0.1),
            objects={"ball": ut.RigidBody(shape=ut.Sphere(radius=0.1), position=[0.0, 0.0, 0.0], density=10.0,
                                          contact_angle=60.0)},
        )  # fmt: skip
