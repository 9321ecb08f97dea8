"""Physics of whole steps on small grids."""

import tracemalloc
from functools import partial

import numba
import numpy as np
import pytest

import undertow as ut
from undertow.fluid import Flow, FlowSettings, Smoke, SmokeEmitter, SmokeSettings
from undertow.geometry import Box, ConstantCurve, MeshShape, Solid, SolidFields, Sphere, Static, VelocityCurves
from undertow.grid import INFLOW, OPEN, OUTFLOW, PERIODIC, WALL, Grid, Sides


def box(n=16, dimensions=2, kind=None, **settings):
    """A closed unit box of inviscid fluid unless told otherwise."""
    cells = (n, n, n) if dimensions == 3 else (n, n, 1)
    grid = Grid(cells, 1.0 / n, dimensions=dimensions)
    sides = Sides(grid, kind or [WALL] * 6, [True] * 6)
    return Flow(grid, sides, None, FlowSettings(**settings))


def swirl(flow, seed=0):
    """A smooth random velocity, made free of divergence by the flow's own projection."""
    rng = np.random.default_rng(seed)
    for axis in flow.grid.axes:
        x, y, z = flow.grid.face_centres(axis)
        a, b, c = rng.uniform(1, 3, 3)
        flow.state.u[axis][flow.grid.interior_faces(axis)] = np.sin(a * x + b * y + c * z * (flow.grid.dimensions == 3))
    flow.sides.exchange.fill(flow.state.u)
    flow.project(flow.state.u, 0.0)
    flow.finish(flow.state.u)


@pytest.mark.parametrize(
    ("form", "no_slip"), [("split", "wall_rows"), ("coupled", "wall_rows"), ("coupled", "extra_faces")]
)
def test_the_solve_never_adds_kinetic_energy(form, no_slip):
    """Thesis 5.8: pressure, viscosity and walls at rest only take energy away."""
    grid = Grid((12, 10, 1), 0.1, dimensions=2)
    solids = SolidFields(grid, [Solid("ball", Sphere(0.2), Static((0.55, 0.45, 0.05)))])
    solids.update(0.0)
    settings = FlowSettings(viscosity=0.2, viscosity_form=form, no_slip=no_slip, tolerance=1e-9)
    flow = Flow(grid, Sides(grid), solids, settings)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        flow.state.u[:2] = rng.normal(size=flow.state.u[:2].shape)
        flow.sides.exchange.fill(flow.state.u)
        mass = np.divide(1.0, flow.domain.inv_mass_f, out=np.zeros_like(flow.state.u), where=flow.domain.inv_mass_f > 0)
        before = np.sum(mass * flow.state.u**2)
        flow.z_c[:] = 0.0
        report = flow.project(flow.state.u, 0.05)
        assert np.sum(mass * flow.state.u**2) < before
        assert report.row_after < 1e-6 * report.row_before


def pushed(solids, no_slip, n=32, dt=10.0, steps=12):
    """Steady flow past solids in a box that is periodic along x, driven by a uniform acceleration of 1 m/s2."""
    grid = Grid((n, n, 1), 1 / n, dimensions=2)
    fields = SolidFields(grid, solids)
    sides = Sides(grid, [PERIODIC, PERIODIC, WALL, WALL, WALL, WALL])
    settings = FlowSettings(
        viscosity=0.1, viscosity_form="coupled", no_slip=no_slip, advection="none", tolerance=1e-8,
        acceleration=(1.0, 0.0, 0.0),
    )  # fmt: skip
    flow = Flow(grid, sides, fields, settings)
    for step in range(steps):
        flow.step(dt * step, dt)
    return flow


def test_extra_faces_are_the_reference_of_the_wall_rows():
    """Figure 5.2 of the thesis: its walls stand half a cell behind those on grid lines; the same to first order."""
    walls = [Solid(name, Box((4.0, 0.5, 1.0)), Static((0.5, y, 0.0))) for name, y in (("low", 0.0), ("high", 1.0))]
    rows, faces = (pushed(walls, choice) for choice in ("wall_rows", "extra_faces"))
    between = rows.state.u[0][rows.grid.interior] > 0.0
    more = (faces.state.u[0] - rows.state.u[0])[rows.grid.interior]
    slope = 1.0 * 0.25 / 0.1  # acceleration x half of the gap / viscosity
    np.testing.assert_allclose(more, np.where(between, slope * 0.5 / 32, 0.0), atol=1e-7)
    for flow in (rows, faces):
        drag = sum(flow.forces()[name].viscous[0] for name in ("low", "high"))
        assert drag == pytest.approx(0.5, rel=1e-6), "what the acceleration gives half a square metre of fluid"

    disc = [Solid("disc", Sphere(0.2), Static((0.47, 0.53, 0.0)))]
    rows, faces = (pushed(disc, choice, 32, 0.5, 10) for choice in ("wall_rows", "extra_faces"))
    flux, flux_faces = (flow.state.u[0][flow.grid.interior][0, :, 0].mean() for flow in (rows, faces))
    assert flux_faces == pytest.approx(flux, rel=0.12), "a disc of radius 6.4 cells, half a cell farther away"


def test_split_and_coupled_form_agree_as_dt_vanishes():
    """The splitting error is of first order in dt: a tenth of the step, a tenth of the difference."""
    difference = []
    for dt in (0.02, 0.002):
        found = []
        for form in ("split", "coupled"):
            flow = box(16, viscosity=0.05, viscosity_form=form, tolerance=1e-10)
            flow.sides.slip[:] = [False] * 6
            flow.sides.spec.slip[:] = 0
            swirl(flow)
            flow.step(0.0, dt)
            found.append(flow.state.u.copy())
        difference.append(np.abs(found[0] - found[1])[:, flow.grid.interior[0], flow.grid.interior[1]].max())
    assert difference[1] < 0.3 * difference[0]


def test_free_stream_past_a_body_moving_with_it_stays_uniform():
    """Fluid and solid carried at one velocity: nothing happens, and the solid feels no force."""
    grid = Grid((24, 12, 1), 0.1, dimensions=2)
    sides = Sides(grid, [INFLOW, OUTFLOW, WALL, WALL, WALL, WALL], [True] * 6)
    sides.set_velocity(0, (1.0, 0.0, 0.0))
    motion = VelocityCurves(ConstantCurve((1.0, 0.0, 0.0)), position=(0.8, 0.61, 0.05))
    solids = SolidFields(grid, [Solid("ball", Sphere(0.25), motion)])
    solids.update(0.0)
    flow = Flow(grid, sides, solids, FlowSettings(viscosity=0.01, gravity=(0.0, 0.0, 0.0), tolerance=1e-10))
    flow.state.u[0] = 1.0
    sides.exchange.fill(flow.state.u)
    for step in range(4):
        flow.step(0.03 * step, 0.03)
    assert np.abs(flow.state.u[0][grid.interior_faces(0)] - 1.0).max() < 1e-8
    assert np.abs(flow.state.u[1]).max() < 1e-8
    assert max(abs(f) for f in flow.forces()["ball"].total) < 1e-7


def test_hydrostatic_force_is_the_weight_of_the_displaced_fluid():
    grid = Grid((24, 24, 24), 0.05)
    solids = SolidFields(grid, [Solid("ball", Sphere(0.31), Static((0.6, 0.6, 0.6)))])
    flow = Flow(grid, Sides(grid), solids, FlowSettings(density=1000.0))
    flow.step(0.0, 0.01)
    force = flow.forces()["ball"]
    assert force.total[1] == pytest.approx(1000 * 9.81 * 4 / 3 * np.pi * 0.31**3, rel=0.02)
    assert abs(force.total[0]) < 1e-6 and np.abs(flow.state.u).max() == 0.0


def test_added_mass_of_an_accelerated_disc():
    """Starting a disc from rest in inviscid fluid needs the impulse of its displaced mass times (b^2+a^2)/(b^2-a^2)."""
    n = 96
    grid = Grid((n, n, 1), 2.0 / n, dimensions=2)
    motion = VelocityCurves(ConstantCurve((1.0, 0.0, 0.0)), position=(1.003, 0.997, 0.01))
    solids = SolidFields(grid, [Solid("disc", Sphere(0.125), motion)])
    flow = Flow(grid, Sides(grid, slip=[True] * 6), solids, FlowSettings(advection="none", tolerance=1e-9))
    dt = 1e-6
    flow.step(0.0, dt)
    impulse = -flow.forces()["disc"].pressure[0] * dt
    # walls of a square box of half width 8 radii act about like a concentric circle of that radius
    assert impulse == pytest.approx(np.pi * 0.125**2 * (64 + 1) / (64 - 1), rel=0.02)


def test_mirrored_scene_gives_the_mirrored_result():
    """Reflection in x of a flow with a solid and smoke buoyancy."""
    states = []
    for mirror in (False, True):
        grid = Grid((20, 16, 1), 0.1, dimensions=2)
        x = 0.83 if not mirror else 2.0 - 0.83
        solids = SolidFields(grid, [Solid("ball", Sphere(0.27), Static((x, 0.8, 0.05)))])
        inside = np.zeros(grid.padded, dtype=bool)
        columns = slice(8, 13) if not mirror else slice(13, 18)
        inside[3, 4:6, columns] = True
        emitter = SmokeEmitter(inside, 1.0, 350.0, (-0.2 if mirror else 0.2, 0.3, 0.0))
        settings, smoke = FlowSettings(tolerance=1e-12), SmokeSettings(0.1, 0.3, confinement=0.2)
        flow = Flow(grid, Sides(grid), solids, settings, [partial(Smoke, settings=smoke, emitters=[emitter])])
        for step in range(6):
            flow.step(0.05 * step, 0.05)
        states.append(flow)
    a, b = (f.state.smoke[f.grid.interior] for f in states)
    np.testing.assert_allclose(a, b[..., ::-1], atol=1e-9)
    ua, ub = (f.state.u[0][f.grid.interior_faces(0)] for f in states)
    np.testing.assert_allclose(ua, -ub[..., ::-1], atol=1e-9)
    assert np.abs(ua).max() > 0.01


def test_a_periodic_scene_does_not_know_where_its_seam_is():
    """Smoke, buoyancy and confinement in a doubly periodic box, rolled by a few cells."""
    found = []
    for shift in (0, 5):
        grid = Grid((16, 12, 1), 0.1, dimensions=2)
        inside = np.zeros(grid.padded, dtype=bool)
        blob = np.zeros((1, 12, 16), dtype=bool)
        blob[0, 3:6, 4:8] = True
        inside[grid.interior] = np.roll(blob, (shift, shift), axis=(1, 2))
        smoke = partial(
            Smoke, settings=SmokeSettings(0.1, 0.3, confinement=0.3), emitters=[SmokeEmitter(inside, 1.0, 350.0)]
        )
        sides = Sides(grid, [PERIODIC] * 4 + [WALL] * 2)
        flow = Flow(grid, sides, None, FlowSettings(tolerance=1e-12), [smoke])
        for step in range(5):
            flow.step(0.05 * step, 0.05)
        found.append(np.roll(flow.state.smoke[grid.interior], (-shift, -shift), axis=(1, 2)))
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)


def test_spinning_disc_drags_the_fluid_round():
    """Couette flow between a spinning disc and a resting box: torque near 4 pi mu omega a^2 b^2 / (b^2 - a^2)."""
    torque = []
    for n in (24, 48):
        grid = Grid((n, n, 1), 2.0 / n, dimensions=2)
        spin = VelocityCurves(ConstantCurve((0.0, 0.0, 0.0)), ConstantCurve((0.0, 0.0, 1.0)), (1.004, 0.997, 1.0 / n))
        solids = SolidFields(grid, [Solid("disc", Sphere(0.3), spin)])
        settings = FlowSettings(viscosity=1.0, advection="none", gravity=(0.0, 0.0, 0.0), tolerance=1e-8)
        flow = Flow(grid, Sides(grid), solids, settings)
        for step in range(6):
            flow.step(0.5 * step, 0.5)
        torque.append(-flow.forces()["disc"].torque[2])
    # a square box of half width 1 acts like a circle of radius about 1.08 (its conformal radius)
    b = 1.0787
    exact = 4 * np.pi * 0.3**2 * b**2 / (b**2 - 0.3**2)
    assert torque[1] == pytest.approx(exact, rel=0.02)
    assert abs(torque[1] - exact) < 0.6 * abs(torque[0] - exact) + 0.002


def test_two_dimensions_equal_a_periodic_slab_of_three():
    """A z-invariant 3D flow between periodic z sides is the 2D flow."""
    found = []
    for dimensions in (2, 3):
        cells = (14, 12, 1) if dimensions == 2 else (14, 12, 4)
        grid = Grid(cells, 0.1, dimensions=dimensions)
        sides = Sides(grid, [WALL] * 4 + ([PERIODIC] * 2 if dimensions == 3 else [WALL] * 2))
        z = 0.05 if dimensions == 2 else 0.2
        solids = SolidFields(grid, [Solid("block", Box((0.32, 0.27, 9.0)), Static((0.7, 0.6, z)))])
        solids.update(0.0)
        flow = Flow(grid, sides, solids, FlowSettings(viscosity=0.02, tolerance=1e-11, advection="maccormack"))
        for axis in (0, 1):
            x, y, _ = grid.face_centres(axis)
            flow.state.u[axis][grid.interior_faces(axis)] = np.sin(3 * x + axis) * np.cos(2 * y)
        sides.exchange.fill(flow.state.u)
        for step in range(3):
            flow.step(0.02 * step, 0.02)
        found.append(flow.state.u[:2, grid.interior[0].start, 3:16, 3:18])
    np.testing.assert_allclose(found[0], found[1], atol=1e-8)


def test_implicit_iteration_agrees_with_small_explicit_steps():
    """Thesis 5.7: the converged implicit step is first order in dt like the explicit one."""
    reference = box(16, viscosity=0.01, advection="eno3", stepper="second_order", tolerance=1e-10)
    swirl(reference)
    for step in range(40):
        reference.step(0.0025 * step, 0.0025)
    error = []
    for steps in (5, 10):
        flow = box(16, viscosity=0.01, advection="eno3", stepper="implicit", tolerance=1e-10)
        swirl(flow)
        for step in range(steps):
            flow.step(0.1 / steps * step, 0.1 / steps)
        error.append(np.abs(flow.state.u - reference.state.u)[:, reference.grid.interior[0]].max())
    assert error[1] < 0.65 * error[0]


@pytest.mark.parametrize("form", ["split", "coupled"])
def test_force_on_a_solid_across_a_periodic_side(form):
    """The flow past a periodic row of balls does not know where the domain was cut: same force and torque."""
    results = []
    for shift in (0.0, 0.5):
        grid = Grid((16, 12, 1), 1 / 16, dimensions=2)
        sides = Sides(grid, [PERIODIC, PERIODIC, WALL, WALL, WALL, WALL])
        ball = Solid("ball", Sphere(0.17), Static((0.5 + shift, 0.33, 0.0)))
        settings = FlowSettings(viscosity=0.1, acceleration=(1.0, 0.0, 0.0), viscosity_form=form, tolerance=1e-10)
        flow = Flow(grid, sides, SolidFields(grid, [ball]), settings)
        for step in range(3):
            flow.step(0.02 * step, 0.02)
        force = flow.forces()["ball"]
        results.append((*force.pressure, *force.viscous, *force.torque))
    assert results[0][0] + results[0][3] > 0.01
    np.testing.assert_allclose(results[0], results[1], atol=1e-7 * np.abs(results[0]).max())


def smoke_flow():
    grid = Grid((40, 40, 40), 1 / 40)
    inside = np.zeros(grid.padded, dtype=bool)
    inside[10:14, 10:14, 10:14] = True
    ball = Solid("ball", Sphere(0.15), VelocityCurves(ConstantCurve((0.3, 0.0, 0.0)), position=(0.4, 0.6, 0.5)))
    smoke = SmokeSettings(buoyancy_temperature=0.1, confinement=0.2)
    settings = FlowSettings(tolerance=1e-4)
    sides = Sides(grid, [WALL, WALL, WALL, OPEN, WALL, WALL])
    contents = [partial(Smoke, settings=smoke, emitters=[SmokeEmitter(inside, 1.0, 350.0)])]
    return Flow(grid, sides, SolidFields(grid, [ball]), settings, contents)


def viscous_flow():
    grid = Grid((160, 120, 1), 1 / 160, dimensions=2)
    ball = Solid("ball", Sphere(0.15), Static((0.4, 0.4, 0.0)))
    settings = FlowSettings(viscosity=0.01, acceleration=(1.0, 0.0, 0.0))
    return Flow(grid, Sides(grid), SolidFields(grid, [ball]), settings)


def swirling_box():
    flow = box(20, 3, viscosity=1e-3, stepper="second_order", tolerance=1e-6)
    swirl(flow)
    return flow


def coupled_flow():
    grid = Grid((40, 30, 1), 1 / 40, dimensions=2)
    ball = Solid("ball", Sphere(0.15), VelocityCurves(ConstantCurve((0.3, 0.1, 0.0)), position=(0.4, 0.4, 0.0)))
    settings = FlowSettings(
        viscosity=0.01, viscosity_form="coupled", advection="eno3", acceleration=(1.0, 0.0, 0.0), tolerance=1e-6
    )
    return Flow(grid, Sides(grid), SolidFields(grid, [ball]), settings)


@pytest.mark.parametrize("make", [swirling_box, coupled_flow, smoke_flow])
def test_same_bits_for_one_and_two_threads(make, handed_over):
    states = []
    for threads in (1, 2):
        assert not handed_over
        numba.set_num_threads(threads)
        flow = make()
        for step in range(2):
            flow.step(0.02 * step, 0.02)
        states.append(b"".join(a.tobytes() for a in flow.arrays().values()))
    assert len(set(handed_over)) > 10, set(handed_over)
    assert states[0] == states[1]


@pytest.mark.parametrize("make", [smoke_flow, viscous_flow])
def test_a_step_allocates_no_field(make):
    """Steps, forces and sums work in what was allocated before: less than half of a cell field at any moment."""
    flow = make()
    for step in range(2):
        flow.step(0.01 * step, 0.01)
        flow.forces(), flow.ledger(), flow.limits(0.01 * step)
    tracemalloc.start()
    flow.step(0.02, 0.01)
    flow.forces(), flow.ledger(), flow.limits(0.03)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.5 * flow.state.p.nbytes, f"{peak} bytes, a cell field has {flow.state.p.nbytes}"


@pytest.mark.parametrize(("form", "no_slip"), [("split", "wall_rows"), ("coupled", "extra_faces")])
def test_buoyancy_turns_a_solid_about_its_position(form, no_slip):
    """Water at rest lifts a box whose middle is 0.2 m beside its position: the torque is 0.2 m times the lift."""
    vertices, triangles = Box((0.2, 0.4, 2.0)).surface()
    grid = Grid((20, 20, 1), 1 / 20, dimensions=2)
    box = MeshShape(vertices + (0.2, 0.0, 0.0), triangles)
    solids = SolidFields(grid, [Solid("box", box, Static((0.3, 0.5, 0.0)))])
    settings = FlowSettings(density=1000.0, viscosity=0.1, viscosity_form=form, no_slip=no_slip)
    flow = Flow(grid, Sides(grid), solids, settings)
    flow.step(0.0, 0.01)
    force = flow.forces()["box"]
    lift = force.pressure[1]
    assert lift == pytest.approx(1000.0 * 9.81 * 0.2 * 0.4, rel=1e-9)
    np.testing.assert_allclose(force.torque, (0.0, 0.0, 0.2 * lift), atol=1e-9 * lift)


@pytest.mark.parametrize("form", ["split", "coupled"])
@pytest.mark.parametrize(("stepper", "order"), [("first_order", 1.0), ("second_order", 2.0)])
def test_unsteady_stokes_flow_converges_in_time(form, stepper, order):
    """A shear mode without transport decays by exp(-nu k^2 t), k^2 being that of the grid."""
    n, viscosity, end = 16, 0.05, 0.4
    square = (2.0 * n * np.sin(np.pi / n)) ** 2
    errors = []
    for steps in (4, 8, 16):
        grid = Grid((n, n, 1), 1.0 / n, dimensions=2)
        settings = FlowSettings(
            viscosity=viscosity,
            viscosity_form=form,
            stepper=stepper,
            advection="none",
            gravity=(0.0,) * 3,
            tolerance=1e-12,
        )
        flow = Flow(grid, Sides(grid, [PERIODIC] * 4 + [WALL] * 2), None, settings)
        shape = np.sin(2 * np.pi * (np.arange(n) + 0.5) / n)[None, :, None]
        flow.state.u[0][grid.interior] = shape
        flow.sides.exchange.fill(flow.state.u)
        for step in range(steps):
            flow.step(step * end / steps, end / steps)
        errors.append(np.abs(flow.state.u[0][grid.interior] - np.exp(-viscosity * square * end) * shape).max())
    assert np.log2(errors[1] / errors[2]) == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize("left_open", [0.03, 0.5, 0.97])
def test_a_wall_longer_than_the_period_leaves_the_cells_that_it_cuts_as_open_as_they_are(left_open):
    """Its repetitions lie in each other: they are one solid, and there is no slit between them to be closed."""
    import undertow as ut

    top = 3.0 - left_open  # [cells]
    floor = ut.RigidBody(shape=ut.Box(size=(4.0, 1.0)), position=(0.5, top / 16 - 0.5))
    scene = ut.Scene(
        name="channel",
        domain=ut.Domain(upper=(0.5, 1.0), resolution=16, sides={"x_low": "periodic", "x_high": "periodic"}),
        time=ut.Time(end=1.0, frame_rate=10.0),
        objects={"floor": floor},
    )
    flow = ut.Simulation(scene, threads=1).flow
    volume = flow.domain.volume_c[flow.grid.interior][0]
    assert volume[2] == pytest.approx(left_open, abs=1e-9)
    assert np.all(volume[1] == 0.0) and np.all(volume[3] == 1.0)


def test_steady_drag_is_that_without_splitting() -> None:
    """A disc in a viscous stream: viscosity before the pressure, which it expects, and both in one system. Expecting
    nothing it has 0.904 of the drag in steps of 0.1 s, and 0.949 in those of 0.05 s."""
    slip = ut.Wall(slip=True)
    sides = {"x_low": ut.Inflow(velocity=(1.0, 0.0)), "x_high": "outflow", "y_low": slip, "y_high": slip}
    forces = []
    for form, step in (("split", 0.1), ("split", 0.05), ("coupled", 0.1)):
        scene = ut.Scene(
            name="stream",
            gravity=(0.0, 0.0),
            domain=ut.Domain(lower=(-2.0, -2.0), upper=(4.0, 2.0), resolution=30, resolution_along="x", sides=sides),
            time=ut.Time(end=4.0, fixed_step=step),
            fluid=ut.Fluid(density=1.0, viscosity=0.25, viscosity_form=form, tolerance=1e-6),
            objects={"disc": ut.RigidBody(shape=ut.Sphere(radius=0.5), position=(0.0, 0.0))},
        )
        sim = ut.Simulation(scene)
        sim.set_velocity(lambda x, y, z: (1.0 + 0 * x, 0 * x, 0 * x))
        sim.advance_to(4.0)
        forces.append(sim.body("disc").force[0])
    assert forces[0] == pytest.approx(forces[2], rel=1e-3)
    assert forces[0] == pytest.approx(forces[1], rel=0.015)
