"""Soft bodies and water with a surface in one solve."""

import numpy as np
import pytest

import undertow as ut
from undertow.coupling.fields_under_surface import _mark_distance, join_inside
from undertow.geometry.pieces import SurfaceSpec
from undertow.grid import GHOSTS, Grid


def block_in_pool(density, depth, stiffness=1e6, **changes):
    """A soft block 0.4 by 0.2 m whose middle is ``depth`` under the surface at 0.5 m of a tank of 1 m."""
    block = {
        "shape": ut.Box(size=(0.4, 0.2)), "position": (0.5, 0.5 - depth), "element_size": 0.08,
        "density": 1000.0 * density, "youngs_modulus": stiffness, "poisson_ratio": 0.4, "model": "neo_hookean",
    }  # fmt: skip
    fields = {
        "name": "pool", "coupling": "monolithic", "gravity": (0.0, -10.0), "fluid": ut.Fluid(density=1000.0),
        "domain": ut.Domain(upper=(1.0, 1.0), resolution=24), "time": ut.Time(end=1.0, frame_rate=20.0),
        "objects": {
            "water": ut.Water(shape=ut.Box(size=(1.0, 0.5)), position=(0.5, 0.25)), "block": ut.SoftBody(**block),
        },
    }  # fmt: skip
    return ut.Scene(**{**fields, **changes})


def height(sim):
    mass = sim.scheme.nodes[0].soft.mass
    return float(mass @ sim.scheme.nodes[0].soft.x[:, 1]) / mass.sum()


@pytest.mark.parametrize(
    ("shape", "cells", "tolerance"),
    [(ut.Sphere(radius=0.25), 16, 1e-4), (ut.Box(size=(0.5, 0.5)), 32, 1e-6), (ut.Box(size=(0.5, 0.5, 0.5)), 12, 1e-4)],
)
def test_a_soft_body_of_the_density_of_water_is_stepped_and_stays(shape, cells, tolerance):
    """Nothing pushes it but rounding and its own compression: 0.13 s of a fall would be 1.3 m/s. cells: across it."""
    solid = isinstance(shape, ut.Box) and len(shape.size) == 3
    dimensions = 3 if solid else 2
    body = ut.SoftBody(
        shape=shape, position=(1.01, 0.8, 1.02)[:dimensions], element_size=0.0625, density=1000.0, youngs_modulus=1e5
    )
    pool = ut.Water(shape=ut.Plane(normal=(0.0, 1.0, 0.0)[:dimensions]), position=(1.0, 1.3, 1.0)[:dimensions])
    domain = ut.Domain(
        upper=(2.0, 1.6, 2.0)[:dimensions], resolution=4 * cells, resolution_along="x", sides={"y_high": "open"}
    )
    sim = ut.Simulation(
        ut.Scene(
            name="neutral", coupling="monolithic", domain=domain, time=ut.Time(end=1.0, frame_rate=30.0),
            fluid=ut.Fluid(density=1000.0, tolerance=tolerance), objects={"pool": pool, "body": body},
        )
    )  # fmt: skip
    for _ in range(4 if dimensions == 2 else 2):
        sim.step()
    assert np.abs(sim.scheme.nodes[0].soft.v).max() < 0.05


@pytest.mark.parametrize("density", [0.3, 0.8])
def test_a_block_at_the_depth_of_archimedes_stays(density):
    """Its lower face is density times its height under the surface; in ten steps it moves by less than 1% of a cell."""
    sim = ut.Simulation(block_in_pool(density, 0.2 * (density - 0.5)))
    start = height(sim)
    for _ in range(10):
        sim.step()
    assert abs(height(sim) - start) < 0.01 * sim.flow.grid.dx
    weight = float(sim.scheme.nodes[0].soft.mass.sum()) * 10.0
    assert sim.body_forces("block").pressure[1] == pytest.approx(weight, rel=0.01)


def test_a_stiff_block_as_heavy_as_water_stays_where_it_is():
    """The known part of the pressure is exactly the weight of the water that it displaces."""
    sim = ut.Simulation(block_in_pool(1.0, 0.25, stiffness=1e10))
    sim.step()
    volume = sim.scheme.nodes[0].soft.volume(sim.scheme.nodes[0].soft.parts[0])
    assert sim.scheme.nodes[0].coupled.buoyancy[:, 1].sum() == pytest.approx(1000.0 * 10.0 * volume, rel=1e-12)
    assert np.abs(sim.scheme.nodes[0].soft.v).max() < 1e-5
    assert np.abs(sim.flow.state.u).max() < 1e-5


def test_the_surface_inside_a_body_moves_with_it():
    """Water and block fall together: nothing inside the block is slowed by walls that do not stand still."""
    sim = ut.Simulation(block_in_pool(0.5, 0.0))
    flow, out = sim.flow, np.zeros_like(sim.flow.state.u)
    sim.scheme.nodes[0].soft.v[:, 1] = flow.state.u[1] = -1.0
    flow.place(sim.time)
    flow.extent.continue_velocity(flow.state.u, out)
    inside = flow.solids.distance_f[1] < 0.0
    assert inside.sum() > 20
    assert out[1][inside] == pytest.approx(-1.0, abs=1e-12)


def energy(row):
    return sum(value for name, value in row.items() if name.startswith(("kinetic_e", "potential_e", "soft_elastic")))


def test_a_splash_gains_no_energy_and_loses_no_water():
    """Of the 40 J of a fall by 0.1 m; what falls freely gains m g^2 dt^2 / 2 in a step of first order, 0.2 J here."""
    sim = ut.Simulation(block_in_pool(0.5, -0.12, time=ut.Time(end=1.0, frame_rate=20.0, max_step=0.01)))
    rows = [sim.step().ledger for _ in range(25)]
    assert min(row["momentum_solids_y"] for row in rows) < -15.0
    assert max(energy(row) for row in rows) < energy(rows[0]) + 1.5
    assert energy(rows[-1]) < energy(rows[0])
    assert rows[-1]["fluid_volume"] + rows[-1]["spray_volume"] == pytest.approx(0.5, rel=0.01)


def test_saved_and_loaded_it_goes_on_bit_for_bit(goes_on):
    sim = ut.Simulation(block_in_pool(0.5, -0.11))
    for _ in range(3):
        sim.step()
    goes_on(sim)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_distance_at_nodes_of_a_body_whose_corners_are_nodes(dimensions):
    """A square or octahedron on its corner: lines of the grid run through its corners and along its edges."""
    axes = np.eye(3)[:dimensions]
    corners = np.concatenate([axes, -axes])
    if dimensions == 2:
        surface = np.array([(0, 1), (1, 2), (2, 3), (3, 0)])
    else:
        half = [(0, 1, 2), (1, 3, 2), (3, 4, 2), (4, 0, 2)]
        surface = np.array([*half, *((b, a, 5) for a, b, _ in half)])
    grid = Grid((12, 12, 1 if dimensions == 2 else 12), 0.1, (0.0,) * 3, dimensions)
    middle = np.array([0.6, 0.6, 0.6 if dimensions == 3 else 0.0])
    x = 0.3 * corners + middle
    square, winding = np.full(grid.padded, 0.09), np.zeros(grid.padded, np.int64)
    phi = np.full(grid.padded, 1.0)
    _mark_distance(grid.spec, SurfaceSpec(surface, x, np.zeros((1, 3))), 0.3, square, winding)
    join_inside(square, winding, phi)
    weights = np.random.default_rng(1).dirichlet(np.ones(dimensions), 4000)
    samples = np.concatenate([np.tensordot(weights, x[e], axes=1) for e in surface])
    k, j, i = np.meshgrid(*(np.arange(n) - GHOSTS for n in grid.padded), indexing="ij")
    places = np.stack([0.1 * i, 0.1 * j, 0.1 * k if dimensions == 3 else 0.0 * k], axis=-1)
    depth = np.abs(places - middle).sum(axis=-1) - 0.3
    for at in np.argwhere((np.abs(depth) < 0.2) & ((k == 0) | (dimensions == 3)))[::3]:
        index = tuple(at)
        nearest = np.linalg.norm(samples - places[index], axis=1).min()
        assert abs(phi[index]) == pytest.approx(nearest, abs=0.01)
        if abs(depth[index]) > 1e-9:
            assert (phi[index] < 0.0) == (depth[index] < 0.0)


def test_what_soft_bodies_in_water_do_without_is_refused():
    with pytest.raises(ValueError, match="soft.stepper = 'leapfrog': in fluid"):
        block_in_pool(0.5, 0.0, soft=ut.Soft(stepper="leapfrog"))


def viscous_pool(thing, viscosity, **changes):
    """A body in a tank of 1 m, filled to 0.9 m with water of a viscosity; short steps."""
    water = ut.Water(shape=ut.Box(size=(1.0, 0.9)), position=(0.5, 0.45))
    fields = {
        "fluid": ut.Fluid(density=1000.0, viscosity=viscosity), "objects": {"water": water, "block": thing},
        "time": ut.Time(end=1.0, frame_rate=20.0, max_step=0.01),
    }  # fmt: skip
    return ut.Simulation(block_in_pool(1.0, 0.0, **{**fields, **changes}))


def test_a_stiff_block_sinks_in_viscous_water_as_a_rigid_one_does():
    kinds = {"shape": ut.Box(size=(0.2, 0.2)), "position": (0.51, 0.62), "density": 3000.0}
    soft = ut.SoftBody(**kinds, element_size=0.08, youngs_modulus=1e8, poisson_ratio=0.4, model="neo_hookean")
    speeds, dragged = [], []
    for thing in (ut.RigidBody(**kinds), soft):
        sim = viscous_pool(thing, 100.0, domain=ut.Domain(upper=(1.0, 1.0), resolution=32))
        sim.advance_to(0.1)
        speeds.append(sim.body("block").velocity[1])
        dragged.append(sim.body_forces("block").viscous[1])
    assert speeds[1] == pytest.approx(speeds[0], rel=0.01)
    # without viscosity it falls at 0.47 m/s then
    assert -0.35 < speeds[0] < -0.1
    assert dragged[1] == pytest.approx(dragged[0], rel=0.05) and dragged[1] > 0.0


@pytest.mark.parametrize("kind", ["block", "rope"])
def test_what_viscosity_gives_soft_bodies_the_water_loses(kind):
    """Of a drop in the air with a body in it that moves; water that a rope carries counts with the rope."""
    block = {"shape": ut.Box(size=(0.2, 0.2)), "position": (0.5, 0.5), "element_size": 0.08, "density": 2000.0}
    things = {
        "block": ut.SoftBody(**block, youngs_modulus=1e5, poisson_ratio=0.4, model="neo_hookean"),
        "rope": ut.Rope(position=(0.4, 0.43), end=(0.61, 0.52), element_size=0.03, density=2.0, stretching=1e4),
    }
    drop = ut.Water(shape=ut.Sphere(radius=0.35), position=(0.5, 0.5))
    sim = viscous_pool(
        things[kind], 5.0, gravity=(0.0, 0.0), objects={"water": drop, "block": things[kind]},
        fluid=ut.Fluid(density=1000.0, viscosity=5.0, tolerance=1e-11),
    )  # fmt: skip
    sim.step()
    soft, viscous, dt = sim.scheme.nodes[0].solids, sim.flow.solve.before, 0.01
    u = sim.flow.state.u
    soft.coupled.bodies.v[:, 1] = 0.3 + soft.coupled.bodies.x[:, 0]
    viscous.rebuild()
    viscous.place()
    mass = np.divide(1.0, viscous.form.inv_mass_f, out=np.zeros_like(u), where=viscous.form.inv_mass_f > 0.0)
    energy, total = [], []
    for _ in range(2):
        v = np.zeros(soft.block.shape)
        soft.block.take(v)
        soft.set_masses(dt)
        momentum = np.asarray(soft.block.matrix @ v.reshape(-1)).reshape(v.shape)
        momentum += soft.walls.lumped_momentum(u, v)
        total.append([float((mass[a] * u[a]).sum() + momentum[:, a].sum()) for a in range(2)])
        energy.append(float((mass * u * u).sum() + v.reshape(-1) @ (soft.block.matrix @ v.reshape(-1))))
        moved = u.copy()
        viscous.solve(u, np.zeros(u.shape[1:]), dt)
    assert np.abs(u - moved).max() > 1e-3
    assert total[1] == pytest.approx(total[0], rel=1e-8, abs=1e-8 * abs(total[0][1]))
    assert energy[1] < energy[0]
