"""Fluid and rigid bodies in one solve: identities of the rows, brute force, momentum, energy, added mass."""

from types import SimpleNamespace

import numpy as np
import pytest

from undertow.coupling import added_mass
from undertow.coupling.coupled_bodies import CoupledBodies
from undertow.coupling.motion import BodyMotion
from undertow.coupling.projection import make_projection, monolithic
from undertow.fluid import Flow, FlowSettings
from undertow.fluid.phase import FullTank
from undertow.geometry import Box, Solid, SolidFields, Sphere, rotation_matrix
from undertow.geometry.fractions import face_moment
from undertow.grid import GHOSTS, OPEN, PERIODIC, WALL, Grid, Sides
from undertow.rigid.joints import Joints
from undertow.solids import SolidsWorld


def make_flow(cells, kind, bodies, dx=0.1, tolerance=1e-12, density=2.0):
    """A flow with bodies [(shape, position, rotation, density)]; the fluid has density 2 kg/m3."""
    dimensions = 2 if cells[2] == 1 else 3
    grid = Grid(cells, dx, (0.0, 0.0, -dx / 2 if dimensions == 2 else 0.0), dimensions)
    world = SolidsWorld(dimensions)
    solids = []
    for b, (shape, position, rotation, rho) in enumerate(bodies):
        world.add(f"body {b}", shape, position, rotation, density=rho)
        solids.append(Solid(f"body {b}", shape, BodyMotion(world.bodies, b)))
    volumes = world.bodies.mass_b / np.array([rho for *_, rho in bodies])
    coupled = CoupledBodies(world.bodies, volumes, np.zeros(len(bodies), dtype=np.int64))
    settings = FlowSettings(density=density, gravity=(0.0, 0.0, 0.0), tolerance=tolerance, advection="none")
    flow = Flow(grid, Sides(grid, list(kind)), SolidFields(grid, solids), settings, make_solve=monolithic(coupled))
    return flow, world, coupled


TURN = rotation_matrix((0.3, 0.5, 1.0), 33.0)
FLAT = rotation_matrix((0.0, 0.0, 1.0), 33.0)
CASES = {
    "2d": ((12, 11, 1), [WALL] * 3 + [OPEN] + [WALL] * 2, [(Box((0.33, 0.41, 1.0)), (0.57, 0.52, 0.0), FLAT, 1.0)]),
    "3d": (
        (13, 11, 9), [WALL] * 6,
        [(Box((0.33, 0.41, 0.28)), (0.36, 0.52, 0.47), TURN, 3.0), (Sphere(0.14), (1.03, 0.61, 0.43), np.eye(3), 0.5)],
    ),
    "periodic": ((10, 11, 9), [PERIODIC] * 6, [(Box((0.33, 0.41, 0.28)), (0.06, 0.52, 0.47), TURN, 3.0)]),
}  # fmt: skip


def random_state(flow, world, seed):
    """A random velocity of the free faces and random twists; returns w."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=flow.state.u.shape) * (flow.domain.inv_mass_f > 0)
    twist = rng.normal(size=(world.bodies.count, 6))
    if flow.grid.dimensions == 2:
        twist[:, [2, 3, 4]] = 0.0
    return {"fluid": u, "rigid": twist}


def momentum(solve, u):
    """Of the fluid by faces, rho dx^d Phi u: that of the ends of the bodies is in it."""
    inv_mass, poles = solve.domain.inv_mass_f, solve.rigid.walls.poles
    found = np.divide(u, inv_mass, out=np.zeros_like(u), where=inv_mass > 0)
    poles.add_momentum(poles.mean(u), found)
    return found


@pytest.mark.parametrize("name", CASES)
def test_walls_close(name):
    """A constant pressure exerts neither force nor torque on a body that the fluid surrounds, also across a seam."""
    flow, world, _ = make_flow(*CASES[name])
    walls = flow.solve.rigid.walls.cut
    force = np.zeros((world.bodies.count, 6))
    walls.add_force(1.0, np.ones(flow.grid.padded), force)
    assert walls.size > 10
    assert np.abs(force).max() < 1e-14 * np.abs(walls.spec.f).sum()


@pytest.mark.parametrize("name", ["2d", "3d"])
def test_walls_of_a_linear_pressure(name):
    """p = a.x acts with the force -a V at the centre of the body, V as the cells have it: no torque."""
    flow, world, coupled = make_flow(*CASES[name])
    grid = flow.grid
    slope = np.array([0.3, -0.7, 0.4 if grid.dimensions == 3 else 0.0])
    x, y, z = grid.cell_centres()
    p = np.zeros(grid.padded)
    p[grid.interior] = slope[0] * x + slope[1] * y + slope[2] * z
    force = np.zeros((world.bodies.count, 6))
    flow.solve.rigid.walls.cut.add_force(1.0, p, force)
    for b in range(world.bodies.count):
        inside = flow.solids.body_c[grid.interior] == b
        volume = float((1.0 - flow.domain.volume_c[grid.interior])[inside].sum()) * grid.cell_volume
        expected = -slope * volume
        assert np.linalg.norm(force[b, :3] - expected) < 1e-12 * np.linalg.norm(expected)
        # three cells across
        assert volume == pytest.approx(coupled.volume_b[b], rel=0.3)
        assert np.linalg.norm(force[b, 3:]) < 0.02 * np.linalg.norm(expected) * 0.2


@pytest.mark.parametrize("name", CASES)
def test_rows_and_transpose_agree(name):
    """z . K w = K^T z . w, the structured operator is K B^-1 K^T, and rigid motion of everything has no divergence."""
    flow, world, _ = make_flow(*CASES[name])
    rows, block = flow.solve.rows, flow.solve.rigid.block
    w = random_state(flow, world, 1)
    rng = np.random.default_rng(2)
    out, z = np.zeros(rows.shape), np.zeros(rows.shape)
    rows.apply(w, out)
    z[flow.grid.interior] = rng.normal(size=z[flow.grid.interior].shape)
    back = {name: np.zeros_like(value) for name, value in w.items()}
    rows.add_transpose(z, back)
    at_ends = np.zeros_like(w["fluid"])
    rows.walls[0].poles.add_push(z, at_ends)
    paired = sum(np.sum(back[name] * w[name]) for name in w) + np.sum(at_ends * w["fluid"])
    assert np.sum(z * out) == pytest.approx(paired, rel=1e-12)
    back["fluid"] *= flow.domain.inv_mass_f
    block.apply_inverse_mass(back["rigid"], back["rigid"])
    expected = np.zeros(rows.shape)
    rows.apply(back, expected)
    flow.solve.system.apply(z.reshape(-1), out.reshape(-1))
    np.testing.assert_allclose(out[flow.grid.interior], expected[flow.grid.interior], atol=1e-12 * np.abs(out).max())
    diagonal = np.zeros(rows.shape)
    rows.add_diagonal({"fluid": flow.domain.inv_mass_f, "rigid": block.inv_mass}, diagonal)
    for cell in rows.walls[0].cut.spec.cell[: rows.walls[0].cut.size : 17]:
        z[...] = 0.0
        z.reshape(-1)[cell] = 1.0
        flow.solve.system.apply(z.reshape(-1), out.reshape(-1))
        assert diagonal.reshape(-1)[cell] == pytest.approx(out.reshape(-1)[cell], rel=1e-10)
    together = {"fluid": np.zeros_like(w["fluid"]), "rigid": np.zeros_like(w["rigid"])}
    velocity = np.array([0.3, -0.2, 0.1 if flow.grid.dimensions == 3 else 0.0])
    together["fluid"][:] = velocity[:, None, None, None]
    together["rigid"][:, :3] = velocity
    rows.apply(together, out)
    assert np.abs(out[flow.grid.interior]).max() < 1e-14


def project(flow, world, coupled, w):
    """The coupled solve on a state; returns what it makes of it."""
    coupled.give_twists(w["rigid"])
    flow.place(0.0)
    u = w["fluid"].copy()
    flow.z_c[...] = 0.0
    flow.project(u, 1.0)
    return {"fluid": u, "rigid": np.hstack([world.bodies.v_b, world.bodies.omega_b])}


@pytest.mark.parametrize("ratio", [1e-3, 1.0, 1e3])
def test_solve_equals_brute_force(ratio):
    """Against dense least squares on K B^-1 K^T, bodies with random twists and impulses."""
    cells, kind, bodies = CASES["2d"]
    flow, world, coupled = make_flow(cells, kind, [(s, x, R, 2.0 * ratio) for s, x, R, _ in bodies])
    w = random_state(flow, world, 3)
    coupled.impulse_b[0, :] = [0.1, -0.2, 0.0, 0.0, 0.0, 0.05]
    found = project(flow, world, coupled, w)
    rows, block = flow.solve.rows, flow.solve.rigid.block
    impulse = coupled.impulse_b.copy()
    block.apply_inverse_mass(impulse, impulse)
    start = {"fluid": w["fluid"], "rigid": w["rigid"] + impulse}
    inside = np.flatnonzero(rows.stencil.diagonal > 0)
    matrix = np.zeros((len(inside), len(inside)))
    z, out = np.zeros(rows.shape), np.zeros(rows.shape)
    for column, cell in enumerate(inside):
        z[...] = 0.0
        z.reshape(-1)[cell] = 1.0
        push = {name: np.zeros_like(value) for name, value in w.items()}
        rows.add_transpose(z, push)
        push["fluid"] *= flow.domain.inv_mass_f
        block.apply_inverse_mass(push["rigid"], push["rigid"])
        rows.apply(push, out)
        matrix[:, column] = out.reshape(-1)[inside]
    rows.apply(start, out)
    z[...] = 0.0
    z.reshape(-1)[inside] = np.linalg.lstsq(matrix, out.reshape(-1)[inside], rcond=None)[0]
    push = {name: np.zeros_like(value) for name, value in w.items()}
    rows.add_transpose(z, push)
    push["fluid"] *= flow.domain.inv_mass_f
    block.apply_inverse_mass(push["rigid"], push["rigid"])
    free = flow.domain.inv_mass_f > 0
    expected = start["fluid"][free] - push["fluid"][free]
    np.testing.assert_allclose(found["fluid"][free], expected, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_allclose(found["rigid"], start["rigid"] - push["rigid"], atol=1e-8 * np.abs(found["rigid"]).max())


@pytest.mark.parametrize("name", ["2d", "3d"])
def test_a_pressure_gives_fluid_and_bodies_opposite_momenta(name):
    """K^T z of any z away from the sides: linear and angular momentum sum to zero, bodies included.

    The momentum of a cut face sits at the middle of the face's open part.
    """
    flow, world, _ = make_flow(*CASES[name])
    grid, rows = flow.grid, flow.solve.rows
    rng = np.random.default_rng(4)
    z = np.zeros(rows.shape)
    inner = tuple(slice(s.start + 1, s.stop - 1) if s.stop - s.start > 1 else s for s in grid.interior)
    z[inner] = rng.normal(size=z[inner].shape)
    push = {"fluid": np.zeros_like(flow.state.u), "rigid": np.zeros((world.bodies.count, 6))}
    rows.add_transpose(z, push)
    rows.walls[0].poles.add_push(z, push["fluid"])
    linear, angular = push["rigid"][:, :3].sum(axis=0), push["rigid"][:, 3:].sum(axis=0)
    angular = angular + np.cross(world.bodies.x_b, push["rigid"][:, :3]).sum(axis=0)
    size = np.abs(push["fluid"]).sum()
    for axis in grid.axes:
        for k, j, i in zip(*np.nonzero(push["fluid"][axis]), strict=True):
            point = np.array(grid.lower) + (np.array([i, j, k]) - GHOSTS + 0.5) * grid.dx
            point[axis] -= 0.5 * grid.dx
            area = flow.domain.area_f[axis, k, j, i]
            others = [a for a in range(3) if a != axis]
            point[others] += np.array(face_moment(flow.solids.phi_n, axis, k, j, i)) * grid.dx / area
            if grid.dimensions == 2:
                point[2] = 0.0
            p = np.zeros(3)
            p[axis] = push["fluid"][axis, k, j, i]
            linear, angular = linear + p, angular + np.cross(point, p)
    assert np.abs(linear).max() < 1e-14 * size
    assert np.abs(angular).max() < 1e-13 * size


def test_momentum_of_the_solve_is_conserved():
    """Closed periodic box with random flow and bodies: linear momentum to 1e-12."""
    cells, _, bodies = CASES["3d"]
    flow, world, coupled = make_flow(cells, [PERIODIC] * 6, bodies, tolerance=1e-9)
    w = random_state(flow, world, 5)
    coupled.give_twists(w["rigid"])
    before, start = momentum(flow.solve, w["fluid"]), world.bodies.p_b.sum(axis=0)
    found = project(flow, world, coupled, w)
    after = momentum(flow.solve, found["fluid"])
    change = (after - before).sum(axis=(1, 2, 3)) + world.bodies.p_b.sum(axis=0) - start
    assert np.abs(change).max() < 1e-12 * np.abs(before).sum()


@pytest.mark.parametrize("seed", range(6))
def test_energy_never_grows(seed):
    """Kinetic energy after the solve is at most that before, bodies from light to heavy."""
    name = list(CASES)[seed % 3]
    cells, kind, bodies = CASES[name]
    ratio = 10.0 ** (seed - 3)
    flow, world, coupled = make_flow(cells, kind, [(s, x, R, rho * ratio) for s, x, R, rho in bodies], tolerance=1e-8)
    w = random_state(flow, world, seed)

    def energy(u):
        return 0.5 * np.sum(momentum(flow.solve, u) * u) + world.solids.energy()[0]

    coupled.give_twists(w["rigid"])
    before = energy(w["fluid"])
    found = project(flow, world, coupled, w)
    assert energy(found["fluid"]) < before


@pytest.mark.parametrize("offset", [(0.0, 0.0), (0.41, 0.13), (0.3, 0.77)])
@pytest.mark.parametrize(("cells", "shape", "turn"), [
    ((16, 15, 1), Sphere(0.3), 0.0), ((16, 15, 1), Box((0.44, 0.3, 1.0)), 0.0),
    ((16, 15, 1), Box((0.44, 0.3, 1.0)), 7.0), ((11, 10, 9), Sphere(0.27), 0.0),
])  # fmt: skip
def test_fluid_in_a_closed_tank_moves_back_what_a_body_displaces(cells, shape, turn, offset):
    """sum x_c (K w)_c = 0: fluid around a body with velocity v has the momentum -rho V v, V as the cells have it."""
    place = np.array([0.5 + 0.1 * offset[0], 0.4 + 0.1 * offset[1], 0.45 if cells[2] > 1 else 0.0])
    flow, world, coupled = make_flow(
        cells, [WALL] * 6, [(shape, place, rotation_matrix((0.0, 0.0, 1.0), turn), 2.0)], tolerance=1e-10
    )
    v = np.array([0.7, -0.4, 0.3 if cells[2] > 1 else 0.0])
    coupled.impulse_b[0, :3] = v
    found = project(flow, world, coupled, {"fluid": np.zeros_like(flow.state.u), "rigid": np.zeros((1, 6))})
    grid = flow.grid
    volume = float((1.0 - flow.domain.volume_c[grid.interior]).sum()) * grid.cell_volume
    assert volume == pytest.approx(coupled.volume_b[0], rel=0.1)
    moved = momentum(flow.solve, found["fluid"]).sum(axis=(1, 2, 3))
    turned = np.abs(found["rigid"][0, 3:]).max() * 0.1
    expected = -flow.domain.density * volume * found["rigid"][0, :3]
    assert moved == pytest.approx(expected, abs=1e-7 * np.abs(expected).max() + turned * volume)


@pytest.mark.parametrize("ratio", [1e-9, 1e-3, 1.0, 1e3])
def test_added_mass_of_a_disc(ratio):
    """A disc in a concentric ring of radius 3 a: added mass (b^2 + a^2)/(b^2 - a^2) = 1.25 of what it displaces."""
    a, dx = 0.5, 0.0625
    cells = (52, 52, 1)
    centre = np.array([26 * dx + 0.013, 26 * dx - 0.021, 0.0])
    grid = Grid(cells, dx, (0.0, 0.0, -dx / 2), 2)
    world = SolidsWorld(2)
    world.add("disc", Sphere(a), centre, density=ratio)
    coupled = CoupledBodies(world.bodies, np.array([np.pi * a * a]), np.zeros(1, dtype=np.int64))
    ring = Ring(3 * a)
    fields = SolidFields(grid, [Solid("disc", Sphere(a), BodyMotion(world.bodies, 0))])
    ring.close(fields, grid, centre)
    flow = Flow(
        grid,
        Sides(grid, [WALL] * 6),
        fields,
        FlowSettings(density=1.0, gravity=(0.0, 0.0, 0.0), tolerance=1e-7),
        make_solve=monolithic(coupled),
    )
    ring.close(fields, grid, centre)
    flow.domain.rebuild()
    flow.solve.rebuild()
    flow.solve.place()
    coupled.impulse_b[0, 1] = 1.0
    flow.z_c[...] = 0.0
    flow.project(flow.u_star, 1.0)
    mass = 1.0 / world.bodies.v_b[0, 1] - world.bodies.mass_b[0]
    assert mass / coupled.volume_b[0] == pytest.approx(1.25, rel=0.01)


class Ring:
    """Solid outside a circle: the open fractions of a flow cut by it as well, for cases with exact values."""

    def __init__(self, radius):
        self.radius = radius

    def close(self, fields, grid, centre):
        from undertow.geometry import measure_fractions

        z, y, x = (np.arange(n) - 3 for n in grid.padded)
        distance = self.radius - np.hypot(
            grid.lower[0] + x[None, None, :] * grid.dx - centre[0],
            grid.lower[1] + y[None, :, None] * grid.dx - centre[1],
        )
        np.minimum(fields.phi_n, np.broadcast_to(distance, grid.padded), out=fields.phi_n)
        measure_fractions(grid, fields.phi_n, fields.area_f, fields.volume_c)


def viscous_solve(flow, tolerance, coupled, viscosity):
    """The solve of a full tank of viscous fluid."""
    solve = make_projection(FullTank(flow.domain), tolerance, coupled)
    solve.set_viscosity(viscosity, coupled.slip_b[: len(flow.domain.solids.solids)])
    return solve


def make_viscous(bodies, cells=(12, 11, 1), viscosity=0.7, joints=None):
    """A viscous solve for bodies in a box with an open top."""
    flow, world, coupled = make_flow(cells, [WALL] * 3 + [OPEN] + [WALL] * 2, bodies)
    coupled.joints = joints
    solve = viscous_solve(flow, 1e-9, coupled, viscosity)
    solve.rebuild()
    solve.place()
    return flow, world, coupled, solve


def test_drag_rows():
    """C^T C by the kernel equals C^T (C w) row by row; bodies moving with the fluid feel none; diagonals agree."""
    flow, world, _, solve = make_viscous(CASES["2d"][2])
    rows = solve.rigid.dragged.drag
    rows.time_step = 0.3
    w = random_state(flow, world, 6)
    z, gram = np.zeros(rows.shape), {name: np.zeros_like(value) for name, value in w.items()}
    rows.apply(w, z)
    expected = {name: np.zeros_like(value) for name, value in w.items()}
    rows.add_transpose(z, expected)
    expected["rigid"][:, 3:] += 0.3 * rows.turning_b[:, None] * w["rigid"][:, 3:]
    rows.add_gram(w, gram)
    for name in w:
        np.testing.assert_allclose(gram[name], expected[name], atol=1e-13 * np.abs(expected[name]).max())
    assert rows.size > 10 and np.abs(z).min() > 0
    diagonal = {name: np.zeros_like(value) for name, value in w.items()}
    rows.add_gram_diagonal(diagonal)
    np.testing.assert_allclose(diagonal["rigid"][0], np.diagonal(rows.bodies_gram()[0]), rtol=1e-12)
    unit = {"fluid": np.zeros_like(w["fluid"]), "rigid": np.zeros_like(w["rigid"])}
    unit["rigid"][0, 5] = 1.0
    gram = {name: np.zeros_like(value) for name, value in w.items()}
    rows.add_gram(unit, gram)
    assert gram["rigid"][0, 5] == pytest.approx(diagonal["rigid"][0, 5], rel=1e-12)
    # rigid motion of fluid and body: u across a face is that of the wall point, so only the offset of the face shows
    unit["fluid"][0], unit["fluid"][1] = 0.4, -0.3
    unit["rigid"][0] = [0.4, -0.3, 0.0, 0.0, 0.0, 0.0]
    rows.apply(unit, z)
    assert np.abs(z).max() < 1e-15


@pytest.mark.parametrize("ratio", [1e-3, 2.0])
def test_viscous_solve_keeps_momentum_and_loses_energy(ratio):
    """Periodic box: viscosity and pressure pass momentum to the body without loss, and energy falls."""
    cells, _, bodies = CASES["2d"]
    bodies = [(s, x, R, 2.0 * ratio) for s, x, R, _ in bodies]
    flow, world, coupled = make_flow(cells, [PERIODIC] * 4 + [WALL] * 2, bodies, tolerance=1e-10)
    solve = viscous_solve(flow, 1e-12, coupled, 0.7)
    solve.rebuild()
    solve.place()
    w = random_state(flow, world, 7)
    coupled.give_twists(w["rigid"])

    def energy(u):
        return 0.5 * np.sum(momentum(solve, u) * u) + world.solids.energy()[0]

    before, lively = momentum(solve, w["fluid"]).sum(axis=(1, 2, 3)) + world.bodies.p_b.sum(axis=0), energy(w["fluid"])
    u = w["fluid"].copy()
    solve.solve(u, np.zeros(flow.grid.padded), 0.05)
    after = momentum(solve, u).sum(axis=(1, 2, 3)) + world.bodies.p_b.sum(axis=0)
    assert np.abs(after - before).max() < 1e-9 * np.abs(momentum(solve, w["fluid"])).sum()
    assert energy(u) < 0.9 * lively
    given = coupled.pressure_b[0] + coupled.viscous_b[0]
    assert given[:3] == pytest.approx(world.bodies.p_b[0] - world.bodies.mass_b[0] * w["rigid"][0, :3], abs=1e-8)


def test_joints_hold_in_the_solve():
    """Two bodies joined by a hinge: after the solve the joint's rows are zero, momentum and divergence too."""
    box = Box((0.2, 0.2, 1.0))
    bodies = [(box, (0.4, 0.52, 0.0), FLAT, 4.0), (box, (0.8, 0.55, 0.0), np.eye(3), 0.1)]
    flow, world, coupled, _ = make_viscous(bodies, cells=(14, 11, 1))
    joints = Joints(world.bodies)
    joints.add("hinge", "hinge", "body 0", "body 1", (0.6, 0.5, 0.0))
    coupled.joints = joints
    for solve in (
        make_projection(FullTank(flow.domain), 1e-10, coupled),
        viscous_solve(flow, 1e-10, coupled, 0.7),
    ):
        w = random_state(flow, world, 8)
        coupled.give_twists(w["rigid"])
        solve.rebuild()
        solve.place()
        coupled.impulse_b[...] = 0.0
        coupled.impulse_b[0, 1] = 0.3
        u = w["fluid"].copy()
        solve.solve(u, np.zeros(flow.grid.padded), 0.05)
        twist = np.hstack([world.bodies.v_b, world.bodies.omega_b])
        assert np.abs(joints.matrix() @ twist.reshape(-1)).max() < 1e-10
        row = np.zeros(solve.rows.shape)
        solve.rows.apply({"fluid": u, "rigid": twist}, row)
        assert np.abs(row[flow.grid.interior]).max() < 1e-9
        gained = world.bodies.p_b - world.bodies.mass_b[:, None] * w["rigid"][:, :3]
        known = coupled.pressure_b + coupled.viscous_b + coupled.joint_b
        assert gained == pytest.approx(known[:, :3] + [[0, 0.3, 0], [0, 0, 0]], abs=1e-9)
        assert np.abs(coupled.joint_b[:, :3].sum(axis=0)).max() < 1e-9


FLATLAND = (
    (14, 13, 1), [WALL] * 3 + [OPEN] + [WALL] * 2,
    [(Sphere(0.16), (0.35, 0.33, 0.0)), (Sphere(0.16), (0.68, 0.36, 0.0)), (Box((0.3, 0.22, 1.0)), (1.05, 0.4, 0.0)),
     (Sphere(0.2), (0.4, 0.82, 0.0)), (Box((0.33, 0.41, 1.0)), (0.95, 0.85, 0.0))],
)  # fmt: skip
MANY = {
    "2d": FLATLAND,
    # one disc touches a side of the closed box
    "closed": (FLATLAND[0], [WALL] * 6, [(Sphere(0.16), (0.13, 0.33, 0.0)), *FLATLAND[2][1:]]),
    "periodic": (
        (9, 8, 9), [PERIODIC] * 6,
        [(Box((0.33, 0.41, 0.28)), (0.06, 0.52, 0.47)), (Sphere(0.2), (0.5, 0.1, 0.1)), (Sphere(0.2), (0.5, 0.5, 0.6))],
    ),
}  # fmt: skip


def make_many(name, ratio):
    """Bodies of ``ratio`` times the density of the fluid, every second one twice that."""
    cells, kind, bodies = MANY[name]
    turn = FLAT if cells[2] == 1 else TURN
    placed = [(shape, x, turn, 2.0 * ratio * (1 + b % 2)) for b, (shape, x) in enumerate(bodies)]
    flow, world, coupled = make_flow(cells, kind, placed)
    flow.solve.rebuild()
    flow.solve.place()
    return flow, world, coupled


def dense(operator, size, active):
    """Its matrix on the active cells."""
    matrix, x, out = np.zeros((len(active), len(active))), np.zeros(size), np.zeros(size)
    for column, cell in enumerate(active):
        x[cell], out[...] = 1.0, 0.0
        operator.apply(x, out)
        x[cell] = 0.0
        matrix[:, column] = out[active]
    return matrix


@pytest.mark.parametrize("name", MANY)
def test_balancing_is_symmetric_positive_and_bounded(name):
    """A0 + F N F^T has eigenvalues from 1 to 1e6; preconditioned from 0.3 to 6."""
    flow, _, _ = make_many(name, 1e-6)
    solve = flow.solve
    solve.added_mass.setup()
    rows, balance = solve.rows, solve.added_mass._balance
    assert solve.added_mass._method is balance
    assert rows.walls[0].cut.has_excess == (name != "2d")
    active = np.flatnonzero(rows.stencil.diagonal > 0.0)
    size = rows.stencil.size
    a, p = dense(solve.system, size, active), dense(balance, size, active)
    assert np.abs(p - p.T).max() < 1e-9 * np.abs(p).max()
    assert np.linalg.eigvalsh(0.5 * (p + p.T)).min() > 0.0
    # P A z = z for every function of a patch
    z = np.zeros((len(balance.chosen), size))
    for column, unit in enumerate(np.eye(len(z))):
        balance.patches.scatter(balance.patches.z, balance._spread(unit), z[column])
    near = z.T[active]
    # the patches do not know the ends of the bodies
    own = a - dense(SimpleNamespace(apply=rows.walls[0].poles.add_answer), size, active)
    assert np.abs(p @ (own @ near) - near).max() < 1e-5 * np.abs(near).max()
    values = np.sort(np.linalg.eigvals(p @ a).real)
    null = 0 if name == "2d" else 1
    assert values[null] > 0.3
    assert values[-1] < 6.0
    plain = np.sort(np.linalg.eigvals(dense(solve.multigrid, size, active) @ a).real)
    assert plain[-1] > 1e4


@pytest.mark.parametrize("ratio", [1e-9, 1e-3])
def test_both_corrections_lead_to_the_same_motion(ratio, monkeypatch):
    """B F stored, and balancing: the same velocities of fluid and bodies."""
    found = []
    for most in (100, 0):
        monkeypatch.setattr(added_mass, "MOST_COLUMNS", most)
        flow, world, coupled = make_many("2d", ratio)
        w = random_state(flow, world, 3)
        coupled.impulse_b[...] = 0.0
        coupled.impulse_b[:, :2] = np.random.default_rng(5).normal(size=(world.bodies.count, 2))
        found.append(project(flow, world, coupled, w))
    stored, balanced = found
    for name in ("fluid", "rigid"):
        assert np.abs(stored[name] - balanced[name]).max() < 1e-8 * np.abs(stored[name]).max()
