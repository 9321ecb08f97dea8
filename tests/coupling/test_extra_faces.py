"""No slip at bodies that are cells: the extra faces of figure 5.2 of the thesis."""

import numpy as np
import pytest

import undertow as ut
from undertow.coupling.coupled_bodies import CoupledBodies
from undertow.coupling.fractions import LumpedFields
from undertow.coupling.lumped import lumped
from undertow.coupling.motion import BodyMotion
from undertow.fluid import Flow, FlowSettings
from undertow.geometry import Box, Solid, SolidFields, Sphere, Static, rotation_matrix
from undertow.grid import GHOSTS, OPEN, PERIODIC, WALL, Grid, Sides
from undertow.solids import SolidsWorld
from undertow.validation.channel_structure.case import EXACT, terminal

TURN = rotation_matrix((0.3, 0.5, 1.0), 33.0)
FLAT = rotation_matrix((0.0, 0.0, 1.0), 33.0)
CASES = {
    "open": ((12, 11, 1), [WALL] * 3 + [OPEN] + [WALL] * 2, [(Box((0.33, 0.9, 1.0)), (0.57, 0.82, 0.0), FLAT, 1.0)]),
    "2d": ((12, 11, 1), [PERIODIC] * 4 + [WALL] * 2, [(Box((0.33, 0.41, 1.0)), (0.07, 0.52, 0.0), FLAT, 1.0)]),
    "3d": (
        (10, 11, 9), [PERIODIC] * 6,
        [(Box((0.33, 0.41, 0.28)), (0.06, 0.52, 0.47), TURN, 3.0), (Sphere(0.14), (0.53, 0.61, 0.43), np.eye(3), 0.5)],
    ),
}  # fmt: skip
VISCOSITY = 0.7


def make_flow(cells, kind, bodies, dx=0.1):
    """A viscous flow of 2 kg/m3 around bodies [(shape, position, rotation, density)] that are cells."""
    dimensions = 2 if cells[2] == 1 else 3
    grid = Grid(cells, dx, (0.0, 0.0, -dx / 2 if dimensions == 2 else 0.0), dimensions)
    world, solids = SolidsWorld(dimensions), []
    for b, (shape, position, rotation, density) in enumerate(bodies):
        world.add(f"body {b}", shape, position, rotation, density=density)
        solids.append(Solid(f"body {b}", shape, BodyMotion(world.bodies, b)))
    volumes = world.bodies.mass_b / np.array([density for *_, density in bodies])
    coupled = CoupledBodies(world.bodies, volumes, np.zeros(len(bodies), dtype=np.int64))
    settings = FlowSettings(
        density=2.0, gravity=(0.0, 0.0, 0.0), tolerance=1e-11, advection="none", viscosity=VISCOSITY,
        no_slip="extra_faces",
    )  # fmt: skip
    fields = LumpedFields(grid, solids)
    flow = Flow(grid, Sides(grid, list(kind)), fields, settings, make_solve=lumped(coupled))
    return flow, world, coupled


def all_exchange(flow, bodies, u, twist):
    """mu A / h times the difference of each pair of an open face and one beside a solid cell, face by face.

    Returns forces on the faces and on the bodies (n, 6).
    """
    grid, domain, solids = flow.grid, flow.domain, flow.solids
    n, periodic = grid.cells, [bool(p) for p in domain.periodic]
    solid = solids.volume_c[grid.interior] == 0.0

    def cell(at):
        """Body of a cell (x, y, z), None where it is fluid or outside."""
        at = [i % m if turns else i for i, m, turns in zip(at, n, periodic, strict=True)]
        if any(i < 0 or i >= m for i, m in zip(at, n, strict=True)) or not solid[at[2], at[1], at[0]]:
            return None
        return int(solids.body_c[grid.interior][at[2], at[1], at[0]])

    on_faces, on_bodies, pairs = np.zeros_like(u), np.zeros((bodies.count, 6)), 0
    for a, k, j, i in np.argwhere(domain.inv_mass_f > 0.0):
        at = np.array([i, j, k]) - GHOSTS
        half = not periodic[a] and at[a] in (0, n[a])
        for b in grid.axes:
            for sign in (-1, 1):
                other = at + sign * np.eye(3, dtype=int)[b]
                beside = [cell(other), cell(other - np.eye(3, dtype=int)[a])]
                owner = next((found for found in beside if found is not None), None)
                if owner is None:
                    continue
                place = np.array(grid.lower) + (other + 0.5 * (1 - np.eye(3)[a])) * grid.dx
                arm = place - bodies.x_b[owner]
                length = np.array(n) * grid.dx
                arm -= np.where(periodic, length * np.round(arm / length), 0.0)
                velocity = twist[owner, :3] + np.cross(twist[owner, 3:], arm)
                flux = VISCOSITY * grid.face_area / grid.dx * (0.5 if half and a != b else 1.0)
                force = flux * (u[a, k, j, i] - velocity[a])
                on_faces[a, k, j, i] += force
                on_bodies[owner, a] -= force
                on_bodies[owner, 3:] -= np.cross(arm, force * np.eye(3)[a])
                pairs += 1
    return on_faces, on_bodies, pairs


@pytest.mark.parametrize("name", CASES)
def test_rows_against_pairs_of_faces(name):
    """C^T C w is the exchange of all pairs, found one by one; it gives no net force, and turning its row beside."""
    flow, world, _ = make_flow(*CASES[name])
    rows, bodies = flow.solve.rigid.dragged.drag, world.bodies
    rows.time_step = 1.0
    rng = np.random.default_rng(5)
    w = {"fluid": rng.normal(size=flow.state.u.shape), "rigid": rng.normal(size=(bodies.count, 6))}
    on_faces, on_bodies, pairs = all_exchange(flow, bodies, w["fluid"], w["rigid"])
    assert rows.size == pairs > 30
    on_bodies[:, 3:] += rows.turning_b[:, None] * w["rigid"][:, 3:]
    found = {name: np.zeros_like(value) for name, value in w.items()}
    rows.add_gram(w, found)
    np.testing.assert_allclose(found["fluid"], on_faces, atol=1e-12)
    np.testing.assert_allclose(found["rigid"], on_bodies, atol=1e-12)
    solid = flow.solids.body_c[flow.grid.interior][flow.solids.volume_c[flow.grid.interior] == 0.0]
    cells = [int((solid == b).sum()) for b in range(bodies.count)]
    assert rows.turning_b == pytest.approx(2.0 * VISCOSITY * flow.grid.cell_volume * np.array(cells))
    assert min(cells) > 5


@pytest.mark.parametrize("name", ["2d", "3d"])
def test_momentum_is_kept_and_energy_lost(name):
    """Fluid, the part of it that bodies carry, and bodies; what the fluid gave a body is what the body has more."""
    flow, world, coupled = make_flow(*CASES[name])
    solve, bodies = flow.solve, world.bodies
    rng = np.random.default_rng(7)
    twist = rng.normal(size=(bodies.count, 6))
    if flow.grid.dimensions == 2:
        twist[:, [2, 3, 4]] = 0.0
    coupled.give_twists(twist)
    free = flow.domain.inv_mass_f > 0
    mass = np.divide(1.0, flow.domain.inv_mass_f, out=np.zeros_like(flow.state.u), where=free)
    mass.reshape(-1)[solve.rigid.walls.wet.face] += solve.rigid.walls.wet.beta
    u = rng.normal(size=mass.shape) * (mass > 0)

    def measure():
        return (mass * u).sum(axis=(1, 2, 3)) + bodies.p_b.sum(axis=0), 0.5 * (mass * u * u).sum()

    before, lively, p, L = *measure(), bodies.p_b.copy(), bodies.L_b.copy()
    kinetic = world.solids.energy()[0]
    solve.solve(u, flow.grid.cell_field(), 0.05)
    after, calm = measure()
    assert np.abs(after - before).max() < 1e-9 * np.abs(mass * u).sum()
    assert calm + world.solids.energy()[0] < 0.9 * (lively + kinetic)
    given = coupled.pressure_b + coupled.viscous_b
    np.testing.assert_allclose(given[:, :3], bodies.p_b - p, atol=1e-9)
    np.testing.assert_allclose(given[:, 3:], bodies.L_b - L, atol=1e-9)
    row = flow.grid.cell_field()
    solve.rows.apply({"fluid": u}, row)
    assert np.abs(row[solve.rows.stencil.diagonal_c > 0.0]).max() < 1e-8, "no divergence with the bodies' new twists"


def test_momentum_of_whole_steps_beside_a_body_that_turns():
    """What the body carries keeps its velocity from step to step; nothing is transported. Masses do not add up."""
    flow, world, coupled = make_flow(*CASES["2d"])
    solve, bodies = flow.solve, world.bodies
    bodies.set_velocity(0, np.array([0.3, 0.1, 0.0]), np.array([0.0, 0.0, 4.0]))
    totals, masses, free = [], [], flow.domain.inv_mass_f > 0.0
    for n in range(12):
        coupled.impulse_b[...] = 0.0
        flow.step(0.01 * n, 0.01)
        carried = np.zeros((bodies.count, 6))
        solve.rigid.walls.wet.add_impulse(
            solve.rigid.walls.wet.beta * flow.state.u.reshape(-1)[solve.rigid.walls.wet.face], carried
        )
        fluid = np.divide(flow.state.u, flow.domain.inv_mass_f, out=np.zeros_like(flow.state.u), where=free)
        totals.append(fluid.sum(axis=(1, 2, 3)) + bodies.p_b[0] + carried[0, :3])
        masses.append(solve.rigid.block.inv_mass.copy())
    np.testing.assert_allclose(totals[-1], totals[0], atol=1e-8)
    np.testing.assert_allclose(masses[-1], masses[0], rtol=1e-12)
    assert bodies.omega_b[0, 2] < 3.0


def test_bodies_at_rest_are_those_of_the_solids_that_move_as_prescribed():
    """The first step beside a block is that of ``fluid.no_slip`` without a coupling, and so is its drag."""
    cells, dx = (16, 12, 1), 0.1
    grid = Grid(cells, dx, (0.0, 0.0, -dx / 2), 2)
    kind, shape, place = [PERIODIC, PERIODIC] + [WALL] * 4, Box((0.5, 0.4, 1.0)), (0.75, 0.6, 0.0)
    settings = FlowSettings(
        density=2.0, tolerance=1e-11, viscosity=VISCOSITY, no_slip="extra_faces", acceleration=(1.0, 0.0, 0.0)
    )
    alone = Flow(grid, Sides(grid, kind), SolidFields(grid, [Solid("block", shape, Static(place))]), settings)
    world = SolidsWorld(2)
    world.add("block", shape, place, np.eye(3))
    coupled = CoupledBodies(world.bodies, np.zeros(1), np.zeros(1, dtype=np.int64))
    fields = LumpedFields(grid, [Solid("block", shape, Static(place))])
    beside = Flow(grid, Sides(grid, kind), fields, settings, make_solve=lumped(coupled))
    for flow in (alone, beside):
        flow.step(0.0, 0.02)
    np.testing.assert_allclose(beside.state.u[:, *grid.interior], alone.state.u[:, *grid.interior], atol=1e-9)
    drag = alone.forces()["block"].viscous
    assert coupled.viscous_b[0, :3] / 0.02 == pytest.approx(np.array(drag), abs=1e-8)
    assert drag[0] > 0.01


def test_a_plate_in_a_channel():
    """Of first order: the wall is behind the plate's side, by half a cell where that is a line of the grid."""
    errors = [terminal(cells, "lumped") / EXACT - 1.0 for cells in (6, 12)]
    assert errors[0] == pytest.approx(2.0 * errors[1], rel=1e-4)
    # the gap is h/2 wider for the drag, and the fluid of the half cell has no weight
    assert errors[1] == pytest.approx(0.1022727, rel=1e-4)


@pytest.mark.parametrize(
    ("coupling", "no_slip", "words"),
    [
        ("lumped", "wall_rows", "set fluid.no_slip = .extra_faces., or coupling = .monolithic."),
        ("monolithic", "extra_faces", "coupling = .lumped."),
        ("volume_fraction", "extra_faces", "use .monolithic. or .lumped., or remove fluid.viscosity = 1"),
    ],
)
def test_each_coupling_has_its_own_no_slip(coupling, no_slip, words):
    with pytest.raises(ValueError, match=words):
        ut.Scene(
            name="tank", coupling=coupling, domain=ut.Domain(upper=(1.0, 1.0), resolution=8), time=ut.Time(end=1.0),
            fluid=ut.Fluid(viscosity=1.0, no_slip=no_slip),
            objects={"disc": ut.RigidBody(shape=ut.Sphere(radius=0.2), position=(0.5, 0.5), density=2.0)},
        )  # fmt: skip
