"""Soft bodies and fluid in one solve."""

import numpy as np
import pytest
from typer.testing import CliRunner

import undertow as ut
from undertow import geometry
from undertow.cli import app
from undertow.coupling.voxel import VoxelFaces
from undertow.geometry.pieces import SurfacePieces, SurfaceSpec
from undertow.geometry.sheets import outline_of
from undertow.grid import GHOSTS, Grid
from undertow.soft import meshes
from undertow.solids.soft_part import SoftPart

PERIODIC = dict.fromkeys(("x_low", "x_high", "y_low", "y_high"), "periodic")


def disc_in_box(resolution=12, sides=None, **changes):
    """A soft disc in a unit box of fluid."""
    disc = {
        "shape": ut.Sphere(radius=0.23), "position": (0.52, 0.47), "element_size": 0.08, "density": 1.0,
        "youngs_modulus": 3.0, "poisson_ratio": 0.4, "model": "neo_hookean", **changes.pop("disc", {}),
    }  # fmt: skip
    fields = {
        "name": "disc",
        "coupling": "monolithic",
        "gravity": (0.0, 0.0),
        "domain": ut.Domain(upper=(1.0, 1.0), resolution=resolution, sides=PERIODIC if sides is None else sides),
        "time": ut.Time(end=1.0, frame_rate=20.0),
        "fluid": ut.Fluid(density=1.0, tolerance=1e-8),
        "objects": {"disc": ut.SoftBody(**disc)},
    }
    return ut.Scene(**{**fields, **changes})


def brute_force_inside(points, x, edges):
    """Even-odd rule: which points (n, 2) lie inside the closed outline."""
    inside = np.zeros(len(points), dtype=bool)
    for a, b in x[edges][:, :, :2]:
        crosses = (a[1] > points[:, 1]) != (b[1] > points[:, 1])
        with np.errstate(divide="ignore", invalid="ignore"):
            at = a[0] + (points[:, 1] - a[1]) * (b[0] - a[0]) / (b[1] - a[1])
        inside ^= crosses & (points[:, 0] < at)
    return inside


@pytest.mark.parametrize("centre", [(0.52, 0.47), (0.05, 0.5), (0.5, 1.02)])
def test_open_fractions_of_a_crooked_outline_against_sampling(centre):
    """Also partly outside the domain; the covered volume is that of the polygon, to rounding."""
    grid = Grid((10, 10, 1), 0.1, (0.0, 0.0, -0.05), 2)
    rng = np.random.default_rng(3)
    x, triangles = meshes.disc_triangles(0.24, 0.08)
    x = x + rng.normal(scale=0.008, size=x.shape) * [1, 1, 0] + [*centre, 0.0]
    edges = outline_of(triangles)
    pieces = SurfacePieces(grid)
    pieces.cut(SurfaceSpec(edges, x, np.zeros((1, 3))))
    found = pieces.arrays()
    assert found.weight[:, :2].sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert found.area.sum(axis=0) == pytest.approx(0.0, abs=1e-14)
    area, volume = np.ones((3, *grid.padded)), np.ones(grid.padded)
    pieces.measure_openings(area, volume)
    n = 400
    s = (np.arange(n) + 0.5) / n
    layer = volume[GHOSTS, GHOSTS:-GHOSTS, GHOSTS:-GHOSTS]
    for j in range(10):
        for i in range(10):
            for axis in (0, 1):
                line = np.zeros((n, 2))
                line[:, axis] = 0.1 * (i, j)[axis]
                line[:, 1 - axis] = 0.1 * ((i, j)[1 - axis] + s)
                covered = brute_force_inside(line, x, edges).mean()
                assert 1.0 - area[axis, GHOSTS, GHOSTS + j, GHOSTS + i] == pytest.approx(covered, abs=4 / n)
    if centre == (0.52, 0.47):
        a, b = x[edges[:, 0]], x[edges[:, 1]]
        polygon = 0.5 * float((a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum())
        assert (1.0 - layer).sum() * 0.01 == pytest.approx(polygon, rel=1e-12)


def test_open_fractions_of_tetrahedra():
    """Covered volume and area vectors of a tilted tetrahedron; a face's part against sampling."""
    grid = Grid((6, 6, 6), 0.2, (0.0, 0.0, 0.0), 3)
    x = np.array([[0.21, 0.3, 0.33], [0.95, 0.28, 0.4], [0.5, 0.9, 0.25], [0.52, 0.5, 0.97]])
    surface = meshes.surface_of(np.array([[0, 1, 2, 3]]))
    pieces = SurfacePieces(grid)
    pieces.cut(SurfaceSpec(surface, x, np.zeros((1, 3))))
    area, volume = np.ones((3, *grid.padded)), np.ones(grid.padded)
    pieces.measure_openings(area, volume)
    whole = abs(np.linalg.det(x[1:] - x[0])) / 6
    assert (1.0 - volume).sum() * 0.2**3 == pytest.approx(whole, rel=1e-12)
    n = 200
    s = 0.2 * (np.arange(n) + 0.5) / n
    inverse = np.linalg.inv((x[1:] - x[0]).T)
    for axis in range(3):
        first, second = (a for a in range(3) if a != axis)
        for cell in ((2, 2, 2), (3, 2, 2), (2, 3, 2), (2, 2, 1), (3, 2, 1)):
            points = np.zeros((n, n, 3))
            points[..., axis] = 0.2 * cell[axis]
            points[..., first] = 0.2 * cell[first] + s[:, None]
            points[..., second] = 0.2 * cell[second] + s[None, :]
            local = (points.reshape(-1, 3) - x[0]) @ inverse.T
            covered = ((local >= 0).all(axis=1) & (local.sum(axis=1) <= 1)).mean()
            i, j, k = (GHOSTS + c for c in cell)
            assert 1.0 - area[axis, k, j, i] == pytest.approx(covered, abs=0.01)


def test_a_surface_in_planes_of_the_grid_belongs_to_one_cell_each():
    """A square whose outline lies on grid lines covers whole faces and cells."""
    grid = Grid((8, 8, 1), 0.125, (0.0, 0.0, -0.0625), 2)
    x, triangles = meshes.grid_triangles((0.25, 0.25), (4, 4))
    x = x + [0.375, 0.5, 0.0]
    pieces = SurfacePieces(grid)
    pieces.cut(SurfaceSpec(outline_of(triangles), x, np.zeros((1, 3))))
    area, volume = np.ones((3, *grid.padded)), np.ones(grid.padded)
    pieces.measure_openings(area, volume)
    covered = 1.0 - volume[GHOSTS, GHOSTS:-GHOSTS, GHOSTS:-GHOSTS]
    expected = np.zeros((8, 8))
    expected[3:5, 2:4] = 1.0
    assert np.array_equal(covered, expected)


def test_transposes_and_a_uniform_flow_across_the_seam():
    """<K w, z> = <w, K^T z>; fluid and body that move alike meet all rows, wherever the body is."""
    sim = ut.Simulation(disc_in_box(disc={"position": (0.97, 0.47)}))
    rows = sim.flow.solve.rows
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=sim.flow.state.u.shape), rng.normal(size=sim.scheme.nodes[0].soft.v.shape)
    u *= sim.flow.domain.inv_mass_f > 0
    v[:, 2] = 0.0
    z = np.zeros(rows.shape)
    z[sim.grid.interior] = rng.normal(size=z[sim.grid.interior].shape)
    z[rows.stencil.diagonal_c <= 0] = 0.0
    out = np.zeros(rows.shape)
    rows.apply({"fluid": u, "solids": v}, out)
    back = {"fluid": np.zeros_like(u), "solids": np.zeros_like(v)}
    rows.add_transpose(z, back)
    left = float((out[sim.grid.interior] * z[sim.grid.interior]).sum())
    right = float((u * back["fluid"]).sum() + (v * back["solids"]).sum())
    assert left == pytest.approx(right, rel=1e-12)
    u[...], v[...] = 0.0, 0.0
    u[0], u[1], v[:, 0], v[:, 1] = 0.7, -0.4, 0.7, -0.4
    rows.apply({"fluid": u, "solids": v}, out)
    assert np.abs(out[sim.grid.interior]).max() < 1e-14


def dense_answer(sim, u, v, dt):
    """The saddle point [B, K^T; K, 0] of the inviscid solve, with all matrices formed column by column."""
    solve = sim.flow.solve
    rows, block, domain = solve.rows, solve.nodes[0].block, sim.flow.domain
    cells = np.flatnonzero(rows.stencil.diagonal_c.reshape(-1) > 0)
    faces = np.flatnonzero(domain.inv_mass_f.reshape(-1) > 0)
    K = np.zeros((len(cells), len(faces) + len(block.free)))
    for column in range(K.shape[1]):
        w = {"fluid": np.zeros_like(u), "solids": np.zeros_like(v)}
        if column < len(faces):
            w["fluid"].reshape(-1)[faces[column]] = 1.0
        else:
            w["solids"].reshape(-1)[block.free[column - len(faces)]] = 1.0
        out = np.zeros(rows.shape)
        rows.apply(w, out)
        K[:, column] = out.reshape(-1)[cells]
    B = np.zeros((K.shape[1], K.shape[1]))
    m = len(faces)
    B[range(m), range(m)] = 1.0 / domain.inv_mass_f.reshape(-1)[faces]
    B[m:, m:] = block.matrix.toarray()[np.ix_(block.free, block.free)]
    star = np.concatenate([u.reshape(-1)[faces], v.reshape(-1)[block.free]])
    whole = np.block([[B, K.T], [K, np.zeros((len(cells), len(cells)))]])
    found = np.linalg.lstsq(whole, np.concatenate([B @ star, np.zeros(len(cells))]), rcond=1e-13)[0]
    return faces, found[:m], found[m : K.shape[1]]


@pytest.mark.parametrize("stepper", ["implicit", "newmark"])
def test_the_solve_is_that_of_the_dense_saddle_point(stepper):
    """Random fluid and nodes; momentum is passed without loss and the energy of the solve does not grow."""
    scene = disc_in_box(8, disc={"density": 0.3, "damping": 0.01}, soft=ut.Soft(stepper=stepper))
    sim = ut.Simulation(scene.model_copy(update={"fluid": ut.Fluid(density=1.0, tolerance=1e-12)}))
    flow = sim.flow
    solve, bodies, dt = sim.flow.solve, sim.scheme.nodes[0].soft, 0.05
    rng = np.random.default_rng(1)
    inverse = flow.domain.inv_mass_f
    mass = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0)
    u = rng.normal(size=mass.shape) * (mass > 0)
    bodies.v[:, :2] = rng.normal(size=(bodies.count, 2))
    solve.nodes[0].block.set_masses(dt, {"implicit": 1.0, "newmark": 0.25}[stepper])
    star = bodies.v.copy()
    solve.nodes[0].add_forces(star, dt, np.zeros_like(star))
    faces, u_dense, v_dense = dense_answer(sim, u, star, dt)
    before = (mass * u).sum(axis=(1, 2, 3)) + (bodies.mass[:, None] * bodies.v).sum(axis=0)
    size = np.abs(mass * u).sum() + np.abs(bodies.mass[:, None] * bodies.v).sum()
    matrix = solve.nodes[0].block.matrix
    energy = (mass * u**2).sum() + star.reshape(-1) @ matrix @ star.reshape(-1)
    z = np.zeros(flow.grid.padded)
    solve.place()
    solve.solve(u, z, dt)
    assert u.reshape(-1)[faces] == pytest.approx(u_dense, abs=1e-9)
    assert bodies.v.reshape(-1)[solve.nodes[0].block.free] == pytest.approx(v_dense, abs=1e-9)
    after = (mass * u).sum(axis=(1, 2, 3)) + (bodies.mass[:, None] * bodies.v).sum(axis=0)
    assert np.abs(after - before).max() / size < 1e-12
    assert (mass * u**2).sum() + bodies.v.reshape(-1) @ matrix @ bodies.v.reshape(-1) <= energy


def sphere_in_grid(radius=0.31):
    """A grid, and the triangles of a closed shell in it."""
    grid = Grid((9, 9, 9), 1 / 9, (0.0, 0.0, 0.0), 3)
    x, triangles = geometry.Sphere(radius=radius).surface(16)
    return grid, np.ascontiguousarray(x + [0.5, 0.48, 0.51]), np.ascontiguousarray(triangles, dtype=np.int64)


def test_a_closed_shell_leaves_no_way_out():
    """Flood fill from the middle through faces that are not coupled stays inside; rows sum to one."""
    grid, x, triangles = sphere_in_grid()
    voxel = VoxelFaces(grid, len(x))
    voxel.find(SurfaceSpec(triangles, x, np.zeros((1, 3))), np.ones((3, *grid.padded), dtype=np.uint8))
    assert np.asarray(voxel.wall.sum(axis=1)).ravel() == pytest.approx(1.0, abs=1e-12)
    closed = np.zeros((3, *grid.padded), dtype=bool)
    closed.reshape(-1)[voxel.face] = True
    start = (GHOSTS + 4, GHOSTS + 4, GHOSTS + 4)
    seen, front = {start}, [start]
    while front:
        at = front.pop()
        for axis in range(3):
            for step in (-1, 1):
                other = list(at)
                other[2 - axis] += step
                face = at if step < 0 else tuple(other)
                if not closed[(axis, *face)] and tuple(other) not in seen:
                    seen.add(tuple(other))
                    front.append(tuple(other))
    centres = (np.array([(i, j, k) for k, j, i in seen]) - GHOSTS + 0.5) / 9 - [0.5, 0.48, 0.51]
    assert np.linalg.norm(centres, axis=1).max() < 0.31
    assert len(seen) == pytest.approx(4 / 3 * np.pi * (0.31 * 9) ** 3, rel=0.1)


def test_a_flat_sheet_reproduces_linear_velocities():
    """Weights at the middles of the clipped parts: J x is the middle of the dual cell wherever the sheet fills it."""
    grid = Grid((8, 8, 8), 0.125, (0.0, 0.0, 0.0), 3)
    flat, triangles = meshes.grid_triangles((0.9, 0.8), (3, 4), crossed=False)
    x = np.stack([0.43 + 0.0 * flat[:, 0], 0.5 + flat[:, 0], 0.5 + flat[:, 1]], axis=1)
    voxel = VoxelFaces(grid, len(x))
    voxel.find(SurfaceSpec(triangles, x, np.zeros((1, 3))), np.ones((3, *grid.padded), dtype=np.uint8))
    axis, k, j, i = np.unravel_index(voxel.face, (3, *grid.padded))
    assert (axis == 0).all() and (i == GHOSTS + 3).all()
    y, z = (j - GHOSTS + 0.5) / 8, (k - GHOSTS + 0.5) / 8
    inner = (np.abs(y - 0.5) < 0.35) & (np.abs(z - 0.5) < 0.3)
    for coordinate, wanted in ((1, y), (2, z)):
        v = np.zeros_like(x)
        v[:, 0] = x[:, coordinate]
        assert (voxel.wall @ v.reshape(-1))[inner] == pytest.approx(wanted[inner], abs=1e-12)
    equal = VoxelFaces(grid, len(x), equal=True)
    equal.find(SurfaceSpec(triangles, x, np.zeros((1, 3))), np.ones((3, *grid.padded), dtype=np.uint8))
    assert np.asarray(equal.wall.sum(axis=1)).ravel() == pytest.approx(1.0, abs=1e-12)
    assert np.abs((equal.wall @ v.reshape(-1) - wanted)[inner]).max() > 0.01


def test_equal_weights_are_an_option_of_shells():
    rope = ut.Rope(position=(0.47, 0.0), end=(0.53, 1.0), element_size=0.1, density=0.5, stretching=50.0)
    sides = {"x_low": "periodic", "x_high": "periodic"}
    equal = ut.Soft(shell_weights="equal")
    sim = ut.Simulation(disc_in_box(10, sides, objects={"rope": rope}, soft=equal))
    assert sim.flow.solids.voxel.equal
    with pytest.raises(ValueError, match="soft.shell_weights has no effect without a cloth, rope or shell"):
        disc_in_box(10, soft=equal)


def test_a_rope_across_a_channel_moves_with_the_fluid_around_it():
    """All faces along a line are coupled; a uniform flow through the seam meets all rows; nothing crosses the rope."""
    rope = ut.Rope(position=(0.47, 0.0), end=(0.53, 1.0), element_size=0.1, density=0.5, stretching=50.0)
    scene = disc_in_box(10, {"x_low": "periodic", "x_high": "periodic"}, objects={"rope": rope})
    sim = ut.Simulation(scene.model_copy(update={"fluid": ut.Fluid(density=1.0, initial_velocity=(1.0, 0.0))}))
    axis = sim.flow.solids.voxel.face // int(np.prod(sim.grid.padded))
    assert (axis == 0).sum() == 10
    sim.scheme.nodes[0].soft.v[:, 0] = 1.0
    report = sim.step()
    assert sim.scheme.nodes[0].soft.v[:, 0] == pytest.approx(1.0, abs=1e-6)
    assert report.ledger["kinetic_energy"] == pytest.approx(0.5, rel=1e-6)
    # at rest the rope takes momentum from the stream
    still = ut.Simulation(scene.model_copy(update={"fluid": ut.Fluid(density=1.0, initial_velocity=(1.0, 0.0))}))
    row = still.step().ledger
    assert row["momentum_x"] + row["momentum_solids_x"] == pytest.approx(1.0, rel=1e-9)
    assert row["momentum_x"] == pytest.approx(1.0 / 1.5, rel=0.02)


def test_a_rope_that_divides_a_closed_box_keeps_both_sides():
    """Only the pressure of both pockets together is free: their difference stops the rope's net flux."""
    rope = ut.Rope(position=(0.45, -0.05), end=(0.56, 1.05), element_size=0.1, density=0.5, stretching=50.0)
    sim = ut.Simulation(disc_in_box(10, {}, objects={"rope": rope}))
    rows = sim.flow.solve.rows
    rng = np.random.default_rng(4)
    u = rng.normal(size=sim.flow.state.u.shape) * (sim.flow.domain.inv_mass_f > 0)
    sim.scheme.nodes[0].soft.v[:, 0] = 1.0
    assert rows.stencil.regions == 2
    left = rows.stencil.label[: u[0].size] == 1
    nodes = rows.walls[0].flux[:, : sim.scheme.nodes[0].soft.v.size]
    swept = nodes @ sim.scheme.nodes[0].soft.v.reshape(-1)
    assert abs(swept[left].sum()) > 0.5
    report = sim.flow.project(u, 0.05)
    assert abs((nodes @ sim.scheme.nodes[0].soft.v.reshape(-1))[left].sum()) < 1e-7
    assert report.row_after < 1e-6
    assert report.incompatibility < 1e-10


@pytest.mark.parametrize("ratio", [1e-3, 1.0, 1e3])
def test_iterations_hardly_depend_on_the_density(ratio):
    """Light bodies have their motions taken out, light shells are left open for multigrid."""
    rope = ut.Rope(position=(0.3, 0.3), end=(0.72, 0.64), element_size=0.05, density=0.02 * ratio, stretching=10.0)
    for objects in (None, {"rope": rope}):
        changes = {} if objects is None else {"objects": objects}
        sim = ut.Simulation(disc_in_box(32, {"y_high": "open"}, disc={"density": ratio}, **changes))
        u = np.random.default_rng(0).normal(size=sim.flow.state.u.shape) * (sim.flow.domain.inv_mass_f > 0)
        report = sim.flow.project(u, 1 / 32)
        assert report.iterations <= 16


def test_a_neutral_disc_hangs_and_a_heavy_one_sinks():
    """Buoyancy is the weight of the displaced fluid to rounding; a heavy disc starts as its added mass lets it."""
    walls = {}
    neutral = ut.Simulation(disc_in_box(16, walls, gravity=(0.0, -10.0), disc={"youngs_modulus": 1e5}))
    for _ in range(5):
        neutral.step()
    assert np.abs(neutral.body("disc").velocity).max() < 2e-3
    heavy = ut.Simulation(disc_in_box(16, walls, gravity=(0.0, -10.0), disc={"density": 4.0, "youngs_modulus": 1e5}))
    report = heavy.step()
    start = -heavy.body("disc").velocity[1] / report.time_step
    # (rho_s - rho_f) g / (rho_s + C rho_f), C between that of free fluid and of a box of two diameters
    assert 10.0 * 3.0 / (4.0 + 2.1) < start < 10.0 * 3.0 / (4.0 + 1.0)
    area = heavy.scheme.nodes[0].soft.volume(heavy.scheme.nodes[0].soft.parts[0])
    mass = float(heavy.scheme.nodes[0].soft.mass.sum())
    assert report.ledger["soft_volume"] == pytest.approx(area)
    soft, scheme = heavy.scheme.nodes[0].soft, heavy.scheme
    before = soft.momentum()[0][1]
    heavy.step()
    gained = (soft.momentum()[0][1] - before) / (scheme.velocity_time - scheme.before_time)
    assert heavy.body("disc").force[1] == pytest.approx(mass * 10.0 + gained, rel=1e-5)


def test_momentum_and_energy_of_a_viscous_run():
    """Fluid and disc in a periodic box: momentum stays, what kinetic and elastic energy lose is dissipated."""
    scene = disc_in_box(
        16, soft=ut.Soft(stepper="newmark"), time=ut.Time(end=0.2, frame_rate=50.0),
        fluid=ut.Fluid(density=1.0, viscosity=0.01, initial_vortices=0.05, tolerance=1e-8),
    )  # fmt: skip
    sim = ut.Simulation(scene)
    first = sim.step().ledger

    def energy(row):
        return row["kinetic_energy"] + row["kinetic_energy_solids"] + row["soft_elastic_energy"]

    while sim.time < 0.2:
        row = sim.step().ledger
    assert row["soft_volume"] == pytest.approx(first["soft_volume"], rel=5e-3)
    assert energy(row) < energy(first)
    total = energy(row) + row["dissipated_energy"]
    assert total == pytest.approx(energy(first) + first["dissipated_energy"], rel=0.08)


def test_saved_and_loaded_it_goes_on_bit_for_bit(goes_on):
    """With viscosity, held nodes and gravity."""
    hold = ut.Hold(shape=ut.Box(size=(1.0, 0.2)), position=(0.52, 0.2))
    scene = disc_in_box(
        sides={}, disc={"holds": (hold,)}, gravity=(1.0, -1.0), fluid=ut.Fluid(density=1.0, viscosity=0.01)
    )
    sim = ut.Simulation(scene)
    for _ in range(2):
        sim.step()
    again = goes_on(sim)
    assert np.array_equal(sim.body("disc").force, again.body("disc").force)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"coupling": "none"}, "needs coupling = 'monolithic'"),
        ({"soft": {"stepper": "leapfrog"}}, "part of the solve"),
        ({"soft": {"stepper": "linearised"}}, "part of the solve"),
        ({"disc": {"incompressible": True}, "soft": {"stepper": "linearised"}}, "incompressible bodies must be held"),
        ({"disc": {"incompressible": True}, "soft": {"stepper": "newmark"}}, "incompressible: in fluid needs"),
        ({"soft": {"tolerance": 1e-5}}, "soft.tolerance = 1e-05: .* remove it"),
    ],
)
def test_what_is_not_coupled_is_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        disc_in_box(**changes)


SHEET = """
name = "sheet"
coupling = "monolithic"
[domain]
upper = [1.0, 1.0, 1.0]
resolution = 8
[time]
end = 0.1
[fluid]
{fluid}
[soft]
{soft}
[objects.sheet]
type = "cloth"
size = [0.4, 0.4]
position = [0.5, 0.5, 0.5]
element_size = 0.2
"""


@pytest.mark.parametrize(
    ("fluid", "soft", "words"),
    [
        ("", "stepper = 'leapfrog'", ("soft.stepper = 'leapfrog'", "part of the solve", "use 'implicit'")),
        ("viscosity = 0.1\nno_slip = 'extra_faces'", "", ("no_slip = 'extra_faces'", "no_slip = 'wall_rows'")),
    ],
)
def test_the_command_line_refuses_what_would_be_ignored(tmp_path, fluid, soft, words):
    """Exit status 2 and one message that names the key, its value, the rule and the remedy."""
    scene = tmp_path / "sheet.toml"
    scene.write_text(SHEET.format(fluid=fluid, soft=soft))
    done = CliRunner().invoke(app, ["run", str(scene), "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    for word in words:
        assert word in " ".join(done.stderr.split()), done.stderr


def test_forces_change_little_as_a_corner_crosses_a_grid_line():
    """A plate two cells thick in a stream, held; moved up and down by 2% of a cell. Its mirror image has the mirrored
    force, and no force jumps: what little of a face a corner leaves open is next to the wall."""
    held = ut.Hold(shape=ut.Sphere(radius=2.0), position=(0.5, 0.5))
    found = []
    for shift in (-1e-3, 0.0, 1e-3):
        plate = ut.SoftBody(
            shape=ut.Box(size=(0.4, 0.1)), position=(0.6, 0.5 + shift), element_size=0.05, holds=(held,)
        )
        sides = {"x_low": ut.Inflow(velocity=(1.0, 0.0)), "x_high": "outflow"}
        sim = ut.Simulation(
            disc_in_box(
                domain=ut.Domain(upper=(1.6, 1.0), resolution=20, resolution_along="y", sides=sides),
                time=ut.Time(end=1.0, frame_rate=1.0, fixed_step=0.2),
                fluid=ut.Fluid(density=1.0, viscosity=0.5, tolerance=1e-7, advection="none"),
                objects={"plate": plate},
            )
        )
        sim.advance_to(1.0)
        found.append(sim.body("plate").force)
    low, middle, high = found
    assert high == pytest.approx(low * [1.0, -1.0, 1.0], abs=1e-5)
    assert np.abs(high - middle).max() < 2e-3 * middle[0]


def test_forces_on_a_solid_and_a_soft_body_that_meet_it_add_up():
    """A rigid disc with a held soft tail against the same with a rigid one: pressure in cells that both cut, and drag
    on faces near both, count once."""
    still = {"shape": ut.Box(size=(0.5, 0.16)), "position": (0.75, 0.5)}
    held = ut.Hold(shape=ut.Sphere(radius=2.0), position=(0.5, 0.5))
    sides = {"x_low": ut.Inflow(velocity=(1.0, 0.0)), "x_high": "outflow"}
    drag = []
    for coupling, tail in (
        ("none", ut.RigidBody(**still)),
        ("monolithic", ut.SoftBody(**still, element_size=0.04, holds=(held,))),
    ):
        scene = disc_in_box(
            coupling=coupling,
            domain=ut.Domain(upper=(1.6, 1.0), resolution=20, resolution_along="y", sides=sides),
            time=ut.Time(end=1.5, frame_rate=1.0, fixed_step=0.05),
            fluid=ut.Fluid(
                density=1.0, viscosity=0.5, tolerance=1e-7, advection="none",
                viscosity_form="coupled" if coupling == "none" else "split",
            ),
            objects={"head": ut.RigidBody(shape=ut.Sphere(radius=0.15), position=(0.47, 0.51)), "tail": tail},
        )  # fmt: skip
        sim = ut.Simulation(scene)
        sim.advance_to(1.5)
        drag.append(float(sim.body("head").force[0] + sim.body("tail").force[0]))
    assert drag[1] == pytest.approx(drag[0], rel=0.03)


def test_nothing_passes_a_soft_wall_of_a_cell():
    """A jet bends it by a third of the domain's width: smoke behind it 0.0 exactly, 0.1 if it hid nothing."""
    n = 20
    ends = [ut.Hold(shape=ut.Box(size=(0.3, 0.28)), position=(0.51, y)) for y in (-0.13, 1.13)]
    wall = ut.SoftBody(
        shape=ut.Box(size=(1.2 / n, 1.3)), position=(0.51, 0.5), element_size=1.2 / n, density=2.0, youngs_modulus=60.0,
        poisson_ratio=0.4, holds=ends,
    )  # fmt: skip
    jet = ut.Emitter(shape=ut.Box(size=(0.2, 0.3)), position=(0.3, 0.4), density=1.0, velocity=(2.0, 0.5))
    scene = ut.Scene(
        name="wall", coupling="monolithic", gravity=(0.0, 0.0), time=ut.Time(end=0.5, frame_rate=30.0),
        domain=ut.Domain(upper=(1.0, 1.0), resolution=n, sides={"x_low": "open", "x_high": "open"}),
        fluid=ut.Fluid(density=1.0, viscosity=0.0), smoke=ut.Smoke(buoyancy_density=0.0, buoyancy_temperature=0.0),
        objects={"jet": jet, "wall": wall},
    )  # fmt: skip
    sim = ut.Simulation(scene)
    sim.advance_to(0.5)
    soft = sim.scheme.nodes[0].soft
    assert np.ptp(soft.x[:, 0]) > 0.25
    front = soft.rest[:, 0] > 0.51
    order = np.argsort(soft.x[front, 1])
    x, y, _ = np.broadcast_arrays(*sim.grid.cell_centres())
    behind = x > np.interp(y, soft.x[front, 1][order], soft.x[front, 0][order])
    smoke = sim.state.smoke[sim.grid.interior]
    assert smoke[~behind].max() > 0.9 and smoke[behind].max() == 0.0


@pytest.mark.parametrize("stepper", ["newmark", "implicit"])
def test_held_nodes_move_as_prescribed_whatever_the_steps(stepper):
    """Their velocity is that of the motion in every step. (Newmark's, whose positions are those of the middle of the
    step, sent them to its end: 5 times as fast in a step a tenth as long as the one before.)"""
    motion = ut.PrescribedVelocity(linear=(0.3, 0.0))
    hold = ut.Hold(shape=ut.Box(size=(0.06, 0.4)), position=(0.3, 0.5), motion=motion)
    body = ut.SoftBody(
        shape=ut.Box(size=(0.4, 0.1)), position=(0.5, 0.5), element_size=0.05, density=1200.0, holds=(hold,)
    )
    scene = ut.Scene(
        name="held", domain=ut.Domain(upper=(1.0, 1.0), resolution=12, sides={"y_high": "open"}), gravity=(0.0, 0.0),
        time=ut.Time(end=1.0, frame_rate=1.0), coupling="monolithic", fluid=ut.Fluid(density=1000.0),
        soft=ut.Soft(stepper=stepper), objects={"beam": body},
    )  # fmt: skip
    sim = ut.Simulation(scene)
    soft = sim.part(SoftPart).soft
    held = soft.inv_mass == 0
    for until in (0.02, 0.022, 0.042, 0.044, 0.046, 0.066):
        sim.advance_to(until)
        assert np.allclose(soft.v[held], [0.3, 0.0, 0.0], atol=1e-9)


def test_a_soft_body_weighs_the_same_in_a_periodic_tank() -> None:
    """Its images have no buoyancy of their own; far from the sides the fluid does not know whether it is periodic."""
    jelly = ut.SoftBody(shape=ut.Box(size=[0.3, 0.2]), position=[0.6, 0.5], element_size=0.1, density=2000.0)
    force = {}
    for sides in ({}, {"x_low": "periodic", "x_high": "periodic"}):
        scene = ut.Scene(
            name="periodic", coupling="monolithic", fluid={"density": 1000.0}, objects={"jelly": jelly},
            domain={"upper": [1.2, 1.2], "resolution": 12, "sides": sides}, time={"end": 1.0, "frame_rate": 50},
        )  # fmt: skip
        sim = ut.Simulation(scene, threads=1)
        sim.step()
        force[len(sides)] = sim.body("jelly").force
    assert force[2] == pytest.approx(force[0], rel=1e-5, abs=1e-3)
    assert 588.6 < force[0][1] < 1177.2  # more than the buoyancy, as it falls, and less than its weight
