"""Smoke rises, falls, fades and enters as its equations say."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut
from undertow.fluid import Flow, FlowSettings, Smoke, SmokeEmitter, SmokeSettings
from undertow.grid import INFLOW, OUTFLOW, PERIODIC, WALL, Grid, Sides

AMBIENT = 293.0


def periodic(smoke: SmokeSettings, emitters: tuple[SmokeEmitter, ...] = (), gravity=(0.0, -9.81, 0.0), n: int = 16):
    """A square metre of still air that repeats itself."""
    grid = Grid((n, n, 1), 1 / n, dimensions=2)
    sides = Sides(grid, [PERIODIC] * 4 + [WALL] * 2)
    contents = [lambda context: Smoke(context, smoke, emitters)]
    return Flow(grid, sides, None, FlowSettings(gravity=gravity, tolerance=1e-10), contents)


@pytest.mark.parametrize(("up", "gravity"), [(1, (0.0, -9.81, 0.0)), (0, (-2.0, 0.0, 0.0))])
def test_heat_lifts_and_smoke_weighs(up: int, gravity: tuple[float, float, float]) -> None:
    """Columns of warm and smoky air, free of divergence: u = dt (beta (T - T0) - alpha s) against gravity."""
    flow = periodic(SmokeSettings(buoyancy_density=0.7, buoyancy_temperature=0.05), gravity=gravity)
    grid, state = flow.grid, flow.state
    column = np.sin(2 * np.pi * (np.arange(16) + 0.5) / 16)
    across = column[None, None, :] if up == 1 else column[None, :, None]
    state.smoke[grid.interior] = 0.5 + 0.4 * across
    state.temperature[grid.interior] = AMBIENT + 10.0 * across
    flow.step(0.0, 0.1)
    wanted = 0.1 * (0.05 * 10.0 * across - 0.7 * (0.5 + 0.4 * across))
    found = state.u[up][grid.interior]
    np.testing.assert_allclose(found, np.broadcast_to(wanted, found.shape), atol=1e-9)
    assert np.abs(state.u[1 - up][grid.interior]).max() < 1e-9


def test_smoke_fades_and_heat_is_lost_by_their_rates() -> None:
    flow = periodic(SmokeSettings(dissipation=2.0, cooling=5.0))
    state, inner = flow.state, flow.grid.interior
    state.smoke[inner], state.temperature[inner] = 0.8, AMBIENT + 40.0
    for step in range(3):
        flow.step(0.1 * step, 0.1)
    np.testing.assert_allclose(state.smoke[inner], 0.8 * np.exp(-0.6), rtol=1e-12)
    np.testing.assert_allclose(state.temperature[inner] - AMBIENT, 40.0 * np.exp(-1.5), rtol=1e-12)


def test_confinement_pushes_round_the_vortex() -> None:
    """f = epsilon h N x omega at the cells, N towards the core (Fedkiw, Stam and Jensen 2001): the vortex spins up."""
    n, epsilon, dt = 24, 0.3, 0.05
    flow = periodic(SmokeSettings(confinement=epsilon), n=n)
    grid = flow.grid
    u = grid.face_field()
    for axis, sign in ((0, -1.0), (1, 1.0)):
        x, y, _ = grid.face_centres(axis)
        swirl = np.exp(-(((x - 0.5) ** 2 + (y - 0.5) ** 2) / 0.02))
        u[axis][grid.interior_faces(axis)] = sign * (y - 0.5 if axis == 0 else x - 0.5) * swirl
    flow.sides.exchange.fill(u)
    before = u.copy()
    flow.state.fields["smoke"].confinement.add(dt, u)
    ux, uy = (before[axis][grid.interior][0] for axis in (0, 1))
    h = 1.0 / n

    def slope(q: np.ndarray, axis: int) -> np.ndarray:
        return (np.roll(q, -1, axis) - np.roll(q, 1, axis)) / (2 * h)

    centre_x, centre_y = 0.5 * (ux + np.roll(ux, -1, 1)), 0.5 * (uy + np.roll(uy, -1, 0))
    omega = slope(centre_y, 1) - slope(centre_x, 0)
    gx, gy = slope(np.abs(omega), 1), slope(np.abs(omega), 0)
    length = np.hypot(gx, gy) + 1e-12
    force = epsilon * h * np.array([gy, -gx]) / length * omega
    strong = np.hypot(gx, gy) > 1e-6 * np.hypot(gx, gy).max()
    for axis in (0, 1):
        mean = 0.5 * (force[axis] + np.roll(force[axis], 1, 1 - axis))
        both = strong & np.roll(strong, 1, 1 - axis)
        pushed = (u - before)[axis][grid.interior][0]
        np.testing.assert_allclose(pushed[both], dt * mean[both], atol=1e-9)
    assert np.sum(u[:2] ** 2) > 1.001 * np.sum(before[:2] ** 2)


def test_an_emitter_works_from_its_start_to_its_stop() -> None:
    """Nothing before, its values and its velocity during, and after it nothing new: what fades is not made up for."""
    smoke = SmokeSettings(dissipation=1.0)
    inside = np.zeros(Grid((16, 16, 1), 1 / 16, dimensions=2).padded, dtype=bool)
    inside[:, 8:11, 8:11] = True
    jet = SmokeEmitter(inside, 0.6, 350.0, (0.0, 0.4, 0.0), start=0.15, stop=0.35)
    flow = periodic(smoke, (jet,), gravity=(0.0, 0.0, 0.0))
    inner, masses, speeds = flow.grid.interior, [], []
    for step in range(6):
        flow.step(0.1 * step, 0.1)
        masses.append(float(flow.state.smoke[inner].sum()))
        speeds.append(float(np.abs(flow.state.u[1][inner]).max()))
    cells = float(inside[inner].sum())
    assert masses[:2] == [0.0, 0.0] and speeds[:2] == [0.0, 0.0]
    assert masses[2] == pytest.approx(0.6 * cells * np.exp(-0.1), rel=0.1)  # on at t = 0.2 and 0.3
    assert flow.state.temperature[inner].max() > AMBIENT + 20.0 and speeds[2] > 0.2
    assert masses[4] == pytest.approx(masses[3] * np.exp(-0.1), rel=0.02)
    assert masses[5] == pytest.approx(masses[4] * np.exp(-0.1), rel=0.02)


def test_smoke_enters_with_the_inflow() -> None:
    """What has entered after t is speed times t times density, and none of it is ahead of the flow."""
    grid = Grid((32, 8, 1), 1 / 32, dimensions=2)
    sides = Sides(grid, [INFLOW, OUTFLOW, WALL, WALL, WALL, WALL], [True] * 6)
    sides.set_velocity(0, (0.5, 0.0, 0.0))
    settings, smoke = FlowSettings(gravity=(0.0, 0.0, 0.0), tolerance=1e-8), SmokeSettings(inflow_density=0.8)
    flow = Flow(grid, sides, None, settings, [lambda context: Smoke(context, smoke)])
    flow.state.u[0] = 0.5
    for step in range(20):
        flow.step(0.05 * step, 0.05)
    smoke = flow.state.smoke[grid.interior]
    assert float(smoke.sum()) * grid.dx**2 == pytest.approx(0.8 * 0.5 * 1.0 * 0.25, rel=0.03)
    assert smoke[..., :10].min() > 0.75 and smoke[..., 24:].max() < 0.02


@pytest.mark.parametrize(
    ("cells", "speed", "stepper"),
    [
        (2.2, 0.0, "first_order"),
        (1.2, 0.1, "first_order"),
        (1.2, 0.1, "second_order"),
        (1.2, 0.1, "implicit"),
    ],
)
def test_a_wall_lets_no_smoke_through(cells: float, speed: float, stepper: str) -> None:
    """Hot smoke rises along it for a second; values inside a wall of two cells come from the side they are nearer to,
    a thinner one, which moves and turns, hides what is behind it."""
    n = 24
    # the implicit iteration converges for short steps and without a limiter, which jumps
    advection, cfl = ("semi_lagrangian", 0.5) if stepper == "implicit" else ("maccormack", 1.0)
    motion = ut.PrescribedVelocity(linear=(speed, 0.0), angular=(0.0, 0.0, speed))
    scene = ut.Scene(
        name="wall",
        domain=ut.Domain(upper=[1.0, 1.0], resolution=n, sides={"y_high": "open"}),
        time=ut.Time(end=1.0, frame_rate=30, stepper=stepper, cfl=cfl),
        fluid=ut.Fluid(material="air", viscosity=0.0, advection=advection),
        smoke=ut.Smoke(buoyancy_temperature=0.04),
        objects={
            "source": ut.Emitter(shape=ut.Sphere(radius=0.12), position=[0.3, 0.2], temperature=400.0),
            "wall": ut.RigidBody(shape=ut.Box(size=[cells / n, 1.6]), position=[0.51, 0.5], motion=motion),
        },
    )
    sim = ut.Simulation(scene)
    sim.advance_to(1.0)
    x = (np.arange(n) + 0.5) / n
    smoke = sim.sample("smoke", [[px, py] for py in x for px in x]).reshape(n, n)
    turned, across = speed * sim.time, x[None, :] - (0.51 + speed * sim.time)
    behind = across * np.cos(turned) + (x[:, None] - 0.5) * np.sin(turned)
    assert smoke[behind < -0.06].max() > 0.5
    assert smoke[behind > 0.6 * cells / n].max() == 0.0
