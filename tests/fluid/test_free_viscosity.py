"""Viscosity under a free surface: discrete identities, rigid rotation, the film of Nusselt, walls, energy."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut
from undertow.fluid.viscous_step import ViscousStep


def make(cells: int, shape: object, position: tuple[float, float], **more: object) -> ut.Simulation:
    scene = ut.Scene(
        name="viscous",
        gravity=(0.0, 0.0),
        domain=ut.Domain(
            upper=(2.0, 0.5), resolution=cells, resolution_along="x", sides={"x_low": "open", "x_high": "open"}
        ),
        time=ut.Time(end=1.0, frame_rate=50.0),
        fluid=ut.Fluid(density=1000.0, viscosity=10.0, tolerance=1e-10),
        objects={"pool": ut.Water(shape=shape, position=position), **more},
    )
    return ut.Simulation(scene, threads=1)


def viscous_of(sim: ut.Simulation) -> ViscousStep:
    found = sim.flow.solve.before  # type: ignore[union-attr]
    assert isinstance(found, ViscousStep)
    return found


def prepare(viscous: ViscousStep, dt: float) -> None:
    """Rows of the geometry of now for a step dt [s]."""
    viscous.rebuild()
    viscous.place()
    viscous.set_time_step(dt)


def diffuse(viscous: ViscousStep, u: np.ndarray, dt: float) -> None:
    """A viscous step of dt [s] with no pressure before it."""
    prepare(viscous, dt)
    viscous.solve(u, np.zeros(u.shape[1:]), dt)


@pytest.fixture(scope="module")
def drop() -> ut.Simulation:
    """A drop that touches no wall."""
    return make(32, ut.Sphere(radius=0.17), (1.03, 0.26))


@pytest.mark.parametrize("beside_ball", [False, True])
def test_rows_are_transposes_of_each_other(drop: ut.Simulation, beside_ball: bool) -> None:
    """Also where a solid cuts cells and the two faces of a component are nearer to each other than a cell."""
    ball = ut.RigidBody(shape=ut.Sphere(radius=0.13), position=(0.83, 0.21))
    viscous = viscous_of(make(32, ut.Plane(normal=(0.0, 1.0)), (1.0, 0.4), ball=ball) if beside_ball else drop)
    prepare(viscous, 0.01)
    rows, rng = viscous.form, np.random.default_rng(3)
    wet = rows.inv_mass_f > 0.0
    # rows 0 to 2 are the stretches, row 3 + c the shear across axis c
    there = rows.root[[0, 4, 8, 5, 2, 1]] > 0.0
    u, z = rng.standard_normal(wet.shape) * wet, rng.standard_normal(rows.shape) * there
    out, back = np.zeros(rows.shape), np.zeros(wet.shape)
    rows.apply({"fluid": u}, out)
    rows.add_transpose(z, {"fluid": back})
    assert float(np.sum(out * z)) == pytest.approx(float(np.sum(back * u)), rel=1e-12)
    gram, diagonal = np.zeros(wet.shape), np.zeros(wet.shape)
    rows.add_gram_diagonal({"fluid": diagonal})
    dual = np.zeros(rows.shape)
    rows.add_diagonal({"fluid": rows.inv_mass_f}, dual)
    for face in np.argwhere(wet)[::17]:
        unit = np.zeros(wet.shape)
        unit[tuple(face)] = 1.0
        gram[...] = 0.0
        rows.add_gram({"fluid": unit}, {"fluid": gram})
        assert diagonal[tuple(face)] == pytest.approx(gram[tuple(face)], rel=1e-12)
    for row in np.argwhere(there)[::23]:
        unit = np.zeros(rows.shape)
        unit[tuple(row)] = 1.0
        back[...] = 0.0
        rows.add_transpose(unit, {"fluid": back})
        assert dual[tuple(row)] == pytest.approx(float(np.sum(back**2 * rows.inv_mass_f)), rel=1e-12)


def test_drop_that_turns_feels_nothing(drop: ut.Simulation) -> None:
    """A rigid motion has no strain: it is left as it is whatever the viscosity and the step."""
    drop.flow.state.u[...] = 0.0
    for axis in (0, 1):
        x, y, _ = np.broadcast_arrays(*drop.flow.grid.face_centres(axis))
        drop.flow.state.u[axis][drop.flow.grid.interior_faces(axis)] = (
            0.4 - 3.0 * (y - 0.2) if axis == 0 else 3.0 * (x - 1.0)
        )
    u = drop.flow.state.u.copy()
    diffuse(viscous_of(drop), u, 10.0)
    np.testing.assert_allclose(u, drop.flow.state.u, atol=1e-11)


def test_viscosity_takes_energy_and_keeps_momentum(drop: ut.Simulation) -> None:
    viscous = viscous_of(drop)
    prepare(viscous, 0.2)
    inverse = viscous.form.inv_mass_f
    mass = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0.0)
    u = np.random.default_rng(4).standard_normal(mass.shape) * (mass > 0.0)
    before, energy = (mass * u).sum(axis=(1, 2, 3)), float(np.sum(mass * u * u))
    diffuse(viscous, u, 0.2)
    np.testing.assert_allclose((mass * u).sum(axis=(1, 2, 3)), before, atol=1e-7 * np.abs(mass * u).sum())
    assert 0.0 < float(np.sum(mass * u * u)) < 0.5 * energy


def film_error(cells: int, height: float) -> float:
    """Largest error of a film of ``height`` [m] on the floor that a force drives, relative to its surface speed."""
    sim = make(cells, ut.Plane(normal=(0.0, 1.0)), (1.0, height))
    viscous, grid = viscous_of(sim), sim.flow.grid
    u, drive = sim.flow.state.u, 0.3
    for _ in range(6):  # far longer than the film needs: 10 s each
        u[0] += 10.0 * drive
        diffuse(viscous, u, 10.0)
    _, y, _ = np.broadcast_arrays(*grid.face_centres(0))
    found = u[0][grid.interior_faces(0)][0, :, cells // 2]
    y = y[0, :, 0]
    exact = drive * (2 * height * y - y**2) / (2 * 0.01)
    wet = y < height
    return float(np.abs(found - exact)[wet].max() / exact[wet].max())


def test_film_of_nusselt() -> None:
    """u = rho g (2 H y - y^2) / (2 mu) (Nusselt 1916), wherever the surface lies in its cell."""
    coarse, fine = (max(film_error(cells, height) for height in (0.25, 0.21, 0.265)) for cells in (32, 64))
    assert coarse < 0.04
    assert fine < 0.55 * coarse


def film_on_body_error(cells: int, floor: float) -> float:
    """As ``film_error`` of a film of 0.2 m on a body whose top is at ``floor`` [m]."""
    block = ut.RigidBody(shape=ut.Box(size=(4.0, 1.0)), position=(1.0, floor - 0.5))
    height = floor + 0.2
    sim = make(cells, ut.Plane(normal=(0.0, 1.0)), (1.0, height), block=block)
    viscous, grid = viscous_of(sim), sim.flow.grid
    u, drive = np.zeros_like(sim.flow.state.u), 0.3
    for _ in range(6):
        u[0] += 10.0 * drive
        diffuse(viscous, u, 10.0)
    _, y, _ = np.broadcast_arrays(*grid.face_centres(0))
    found, y = u[0][grid.interior_faces(0)][0, :, cells // 2], y[0, :, 0] - floor
    exact = drive * (2 * 0.2 * y - y**2) / (2 * 0.01)
    wet = (y > 0.5 * grid.dx) & (y < 0.2)
    return float(np.abs(found - exact)[wet].max() / exact[wet].max())


def test_film_on_a_body_wherever_it_cuts_cells() -> None:
    """The open parts of cut faces are nearer to the next faces than a cell."""
    floors = np.array([0.15, 0.2, 0.3, 0.4, 0.45])  # of a cell of 1/16 m
    coarse, fine = (max(film_on_body_error(cells, 0.0625 + f * 2.0 / cells) for f in floors) for cells in (32, 64))
    assert coarse < 0.06
    assert fine < 0.5 * coarse


def layers_error(cells: int) -> float:
    """As ``film_error`` of a film of 0.25 m whose lower 0.125 m have five times the viscosity of the rest."""
    lower = ut.Water(shape=ut.Plane(normal=(0.0, 1.0)), position=(1.0, 0.125), viscosity=50.0)
    sim = make(cells, ut.Plane(normal=(0.0, 1.0)), (1.0, 0.25), lower=lower)
    viscous, grid = viscous_of(sim), sim.flow.grid
    u, drive = sim.flow.state.u, 0.3
    for _ in range(6):
        u[0] += 10.0 * drive
        diffuse(viscous, u, 10.0)
    found = u[0][grid.interior_faces(0)][0, :, cells // 2]
    y = np.broadcast_arrays(*grid.face_centres(0))[1][0, :, 0]
    below, above = np.minimum(y, 0.125), np.maximum(y, 0.125)
    exact = drive * (2 * 0.25 * below - below**2) / (2 * 0.05)
    exact += drive * (2 * 0.25 * (above - 0.125) - (above**2 - 0.125**2)) / (2 * 0.01)
    wet = y < 0.25
    return float(np.abs(found - exact)[wet].max() / exact[wet].max())


def test_layers_of_two_viscosities_have_one_shear_stress() -> None:
    """u' = rho g (H - y) / mu(y), the interface on a row of edges, where the harmonic mean is exact."""
    coarse, fine = layers_error(32), layers_error(64)
    assert coarse < 0.06
    assert fine < 0.5 * coarse


def test_water_carries_its_viscosity_along(goes_on) -> None:  # type: ignore[no-untyped-def]
    """A thick drop in flight keeps its viscosity and its place in it; resumed, every bit is the same."""
    thick = ut.Water(shape=ut.Sphere(radius=0.1), position=(1.0, 0.3), velocity=(0.5, 0.0), viscosity=50.0)
    sim = make(32, ut.Plane(normal=(0.0, 1.0)), (1.0, 0.1), thick=thick)
    for _ in range(6):
        sim.step()
    goes_on(sim)
    mu, phi = sim.arrays()["viscosity"], sim.flow.state.surface.phi_c
    inside = sim.flow.grid.interior
    x, y, _ = np.broadcast_arrays(*sim.flow.grid.cell_centres())
    drop = (phi[inside] < 0.0) & (y > 0.15)
    assert x[drop].mean() == pytest.approx(1.0 + 0.5 * sim.time, abs=0.02)
    assert mu[inside][drop] == pytest.approx(50.0, rel=1e-4)
    assert mu[inside][y < 0.08] == pytest.approx(10.0)


def test_walls_hold_the_liquid_unless_it_slides() -> None:
    """A solid in the stream slows it; the same solid with slip does not."""
    speeds = {}
    for slip in (False, True):
        wall = ut.RigidBody(shape=ut.Box(size=(3.0, 0.2)), position=(1.0, 0.03), slip=slip)
        sim = make(32, ut.Plane(normal=(0.0, 1.0)), (1.0, 0.35), wall=wall)
        u = sim.flow.state.u
        u[0] = 1.0
        diffuse(viscous_of(sim), u, 2.0)
        speeds[slip] = float(np.mean(u[0][:, :, 15:20][viscous_of(sim).form.inv_mass_f[0][:, :, 15:20] > 0.0]))
    assert speeds[True] == pytest.approx(1.0, abs=1e-6)
    assert speeds[False] < 0.7


def test_viscous_drop_falls_freely() -> None:
    """A free drop of honey keeps its shape's momentum: its centre falls with g."""
    scene = ut.Scene(
        name="honey",
        domain=ut.Domain(upper=(0.6, 0.8), resolution=32, resolution_along="y"),
        time=ut.Time(end=1.0, frame_rate=50.0),
        fluid=ut.Fluid(density=1400.0, viscosity=10.0, tolerance=1e-8),
        objects={"drop": ut.Water(shape=ut.Sphere(radius=0.12), position=(0.3, 0.6))},
    )
    sim = ut.Simulation(scene, threads=1)
    report = sim.advance_to(0.1)
    assert report is not None
    mass = 1400.0 * report.ledger["fluid_volume"]
    centre = (0.3, 0.6 - 0.5 * 9.81 * 0.1**2)
    assert sim.sample("velocity", [centre])[0][1] == pytest.approx(-9.81 * 0.1, rel=2e-3)
    # the sum over cells is off by up to 2% at eight cells across, by where the drop is in them
    assert report.ledger["momentum_y"] == pytest.approx(-mass * 9.81 * 0.1, rel=0.025)
    assert report.ledger["kinetic_energy"] == pytest.approx(0.5 * mass * 0.981**2, rel=0.02)


def test_refusals() -> None:
    pool = {"pool": ut.Water(shape=ut.Plane(normal=(0.0, 1.0)), position=(0.5, 0.3))}
    base = {"name": "a", "domain": {"upper": (1.0, 1.0), "resolution": 8}, "time": {"end": 1.0}, "objects": pool}
    with pytest.raises(ut.UserError, match="split form of viscosity"):
        ut.Scene(fluid={"viscosity": 1.0, "viscosity_form": "coupled"}, **base)
    with pytest.raises(ut.UserError, match="viscosity"):
        ut.Scene(fluid={"viscosity": -1.0}, **base)
