"""Bodies that close off regions of fluid: what holds them, and what must not."""

import numpy as np
import pytest

import undertow as ut
from undertow.coupling.walls import BodyWalls
from undertow.linalg.coupled import CANCELLED
from undertow.rigid.bodies import DYNAMIC


def scene(objects, upper=(0.4, 1.0), resolution=20, sides=None, gravity=(0.0, -9.81), **options):
    domain = ut.Domain(upper=upper, resolution=resolution, sides={} if sides is None else sides)
    return ut.Scene(
        name="enclosed", coupling=options.pop("coupling", "monolithic"), domain=domain, gravity=gravity,
        time=ut.Time(end=1.0, frame_rate=30.0), fluid=ut.Fluid(density=1000.0, tolerance=1e-9), objects=objects,
    )  # fmt: skip


def box(width, height, x, y, density=2000.0, **options):
    return ut.RigidBody(shape=ut.Box(size=(width, height, 1.0)), position=(x, y, 0.0), density=density, **options)


def sums_of(sim):
    """Sums of F over the regions (regions + 1, n, 6), as the walls act."""
    rows = sim.flow.solve.rows
    walls, label = rows.walls[-1], rows.stencil.label
    found = np.zeros((rows.stencil.regions + 1, walls.cut.count, 6))
    for b in range(walls.cut.count):
        for c in range(6):
            twist, swept = np.zeros((walls.cut.count, 6)), np.zeros(rows.shape)
            twist[b, c] = 1.0
            walls.add_flux(1.0, twist, swept)
            found[:, b, c] = np.bincount(label, swept.reshape(-1), rows.stencil.regions + 1)
    return found


@pytest.mark.parametrize("coupling", ["monolithic", "lumped", "volume_fraction"])
@pytest.mark.parametrize("density", [0.01, 100.0, 8000.0])
def test_a_piston_is_held_by_what_it_closes_off(coupling, density):
    """However light it is, in few iterations."""
    made = scene({"piston": box(0.4, 0.15, 0.2, 0.5, density)}, sides={"y_high": "open"}, coupling=coupling)
    sim = ut.Simulation(made)
    for _ in range(3):
        iterations = sim.step().iterations
    assert abs(sim.body("piston").position[1] - 0.5) < 1e-8
    assert iterations <= 20
    force = sim.body("piston").force[1]
    assert force == pytest.approx(9.81 * density * 0.06, rel=1e-6, abs=1e-4)


def test_only_what_all_pistons_leave_free_is_a_null_vector():
    """Two pistons in a closed pipe: of three levels one is free, and both stand."""
    pistons = {"low": box(0.4, 0.1, 0.2, 0.3), "high": box(0.4, 0.1, 0.2, 0.7, 500.0)}
    sim = ut.Simulation(scene(pistons))
    sim.step()
    null = sim.flow.solve.null
    assert len(null.regions) == 3 and null.count == 1
    value = np.linalg.eigvalsh(null.gram)
    assert abs(value[0]) < 1e-12 * value[-1] < value[1]
    assert all(np.abs(sim.body(name).velocity).max() < 1e-8 for name in pistons)


def test_pistons_that_share_a_region_trade_it_by_their_areas():
    """A divider from the top down: 0.1 and 0.3 m wide, one level of three columns."""
    objects = {
        "divider": ut.RigidBody(shape=ut.Box(size=(0.1, 0.8, 1.0)), position=(0.15, 0.7, 0.0), motion=ut.Static()),
        "small": box(0.1, 0.1, 0.05, 0.5, 3000.0, friction=0.0),
        "large": box(0.3, 0.1, 0.35, 0.5, 2000.0, friction=0.0),
    }
    sim = ut.Simulation(scene(objects, upper=(0.5, 1.0), sides={"y_high": "open"}))
    for _ in range(2):
        sim.step()
    small, large = (sim.body(name).velocity[1] for name in ("small", "large"))
    assert small < -0.01
    assert small == pytest.approx(-3.0 * large, rel=1e-5)


def test_cells_of_several_solids_are_shared_by_what_each_closes():
    """In a pipe between solids a piston has all of its width, whatever part of a cell it stands in."""
    for y in (0.5, 0.513, 0.5 + 1.0 / 60.0):
        objects = {
            "left": ut.RigidBody(shape=ut.Box(size=(0.1, 2.0, 1.0)), position=(0.05, 0.5, 0.0), motion=ut.Static()),
            "right": ut.RigidBody(shape=ut.Box(size=(0.1, 2.0, 1.0)), position=(0.35, 0.5, 0.0), motion=ut.Static()),
            "piston": box(0.2, 0.15, 0.2, y),
        }
        sim = ut.Simulation(scene(objects, sides={"y_high": "open"}))
        sim.step()
        found = sums_of(sim)[1:, 2, :3]
        assert np.sort(found[np.abs(found[:, 1]) > 1e-3, 1]) == pytest.approx([-0.2, 0.2], rel=1e-9)
        assert np.abs(found[:, 0]).max() < 1e-9


def test_what_solids_have_of_a_shared_cell_closes_it():
    """The walls of all add up to what is closed of the faces, as if all moved alike."""
    still = ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.401, 0.33, 0.0), motion=ut.Static())
    moved = {f"disc{b}": ut.RigidBody(shape=ut.Sphere(radius=0.1), position=x, density=2000.0) for b, x in enumerate(
        ((0.21, 0.31, 0.0), (0.3, 0.49, 0.0))
    )}  # fmt: skip
    sim = ut.Simulation(scene({"still": still, **moved}, upper=(0.6, 0.8), resolution=32))
    sim.step()
    rows = sim.flow.solve.rows
    bodies, domain = rows.walls[-1].bodies, rows.domain
    cut = BodyWalls(domain, bodies.count)
    cut.rebuild((bodies.kind_b == DYNAMIC).astype(np.int64), bodies.x_b, rows.stencil.diagonal_c)
    cell, row = cut.shared, domain.grid.padded[2]
    assert len(cell) > 0
    swept, twist, v = np.zeros(rows.shape), np.zeros((cut.count, 6)), np.array([0.3, 1.0, 0.0])
    twist[:, :3] = v
    cut.add_flux(1.0, twist, swept)
    found = swept.reshape(-1)[cell] + cut.prescribed_area @ v
    area = domain.area_f.reshape(3, -1)
    closed = sum(v[a] * (area[a, cell] - area[a, cell + step]) for a, step in ((0, 1), (1, row)))
    assert np.abs(found - domain.grid.face_area * closed).max() < 1e-12


def test_pockets_between_bodies_that_touch_are_no_pistons():
    """Three discs on a floor: the region that they enclose is felt by none, and no flux is lost of the whole tank."""
    r = 0.1
    place = [(0.3, 0.1), (0.5, 0.1), (0.4, 0.1 + r * np.sqrt(3.0))]
    objects = {
        f"disc{b}": ut.RigidBody(shape=ut.Sphere(radius=r), position=(*x, 0.0), density=2000.0)
        for b, x in enumerate(place)
    }
    sim = ut.Simulation(scene(objects, upper=(0.8, 0.6), resolution=48))
    sim.step()
    stencil, null = sim.flow.solve.rows.stencil, sim.flow.solve.null
    assert stencil.regions > 1 and len(null.regions) == 0 and null.count == stencil.regions
    assert np.abs(sums_of(sim)).max() < 1e-12


@pytest.mark.parametrize("fluid", ["tank", "water"])
def test_a_light_body_leaves_the_floor_and_the_corner(fluid):
    """The floor of a closed tank does not hold what lies flat on it, nor a corner a disc."""
    objects = {
        "box": box(0.16, 0.16, 0.6, 0.08, 300.0),
        "disc": ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.1, 0.1, 0.0), density=300.0),
    }
    if fluid == "water":
        objects["pool"] = ut.Water(shape=ut.Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, 0.7, 0.0))
    sim = ut.Simulation(scene(objects, upper=(0.8, 0.8), resolution=32))
    sim.advance_to(0.2)
    assert sim.body("box").position[1] > 0.1
    assert sim.body("disc").position[1] > 0.11


def test_rounding_of_a_level_is_not_felt():
    """A body of a billionth of the density that touches nothing, in a closed tank."""
    disc = ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.21, 0.52, 0.0), density=1e-6)
    sim = ut.Simulation(scene({"disc": disc}))
    sim.step()
    null = sim.flow.solve.null
    assert null.count == 1 and not len(null.regions) and 0.0 < CANCELLED < 1e-6


@pytest.mark.parametrize("free", [False, True])
def test_prescribed_walls_that_close_off_a_flux_are_explained_once(free):
    """A ram that is driven into a closed pipe: alone, and beside a body that the fluid surrounds."""
    motion = ut.PrescribedVelocity(linear=(0.0, -0.1, 0.0))
    objects = {"ram": ut.RigidBody(shape=ut.Box(size=(0.4, 0.2, 1.0)), position=(0.2, 0.8, 0.0), motion=motion)}
    if free:
        objects["disc"] = ut.RigidBody(shape=ut.Sphere(radius=0.08), position=(0.2, 0.3, 0.0), density=2000.0)
    sim = ut.Simulation(scene(objects, coupling="monolithic" if free else "none"))
    first, second = sim.step(), sim.step()
    (said,) = first.events
    assert "closed region" in said and "0.04 m2/s" in said
    assert not second.events and first.ledger["incompatibility"] > 0.01
    assert np.isfinite(sim.state.u).all()
