"""The one scheme of rigid and soft solids: the order of its steps, and momentum between both in the explicit ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.geometry import Box
from undertow.soft import SoftBodies
from undertow.solids import SolidsWorld
from undertow.solids.scheme import advance
from undertow.solids.soft_part import SoftPart
from undertow.solids.soft_stages import ImpulseRows

STAGES = ["evolve", "collide", "hold", "move", "advance", "settle", "finish"]


def test_every_step_ends_for_all_before_the_next_begins() -> None:
    done: list[tuple[str, str]] = []

    class One:
        def __init__(self, name: str) -> None:
            self.name = name

        def __getattr__(self, stage: str) -> Any:
            return lambda *_: done.append((stage, self.name))

    advance([One("soft"), One("rigid")], 0.0, 0.1)  # type: ignore[list-item]
    assert done == [(stage, name) for stage in STAGES for name in ("soft", "rigid")]


def _momentum(row: dict[str, float]) -> np.ndarray:
    return np.array([row[f"{kind}_{axis}"] for kind in ("momentum", "angular_momentum") for axis in "xyz"])


@pytest.mark.parametrize(
    ("stepper", "solve"), [("newmark", None), ("leapfrog", None), ("newmark", "single"), ("newmark", "sweeps")]
)
def test_a_plate_thrown_on_an_explicit_soft_box_keeps_momentum(stepper: Any, solve: Any) -> None:
    """A light plate, tilted, with friction: it bounces, energy does not grow, and both get the same impulses."""
    volume = {} if solve is None else {"volume_solve": solve}
    box = ut.SoftBody(
        shape=ut.Box(size=(0.2, 0.2, 0.2)), position=(0.0, 0.1, 0.0), element_size=0.1, youngs_modulus=1e5,
        damping=2e-3, velocity=(0.5, 0.0, 0.1), incompressible=solve is not None,
    )  # fmt: skip
    plate = ut.RigidBody(
        shape=ut.Box(size=(0.3, 0.05, 0.3)), position=(0.0, 0.235, 0.01), density=300.0, velocity=(0.2, -1.5, 0.0),
        rotation=ut.Rotation(axis=(1, 0, 0), degrees=4.0),
    )  # fmt: skip
    scene = ut.Scene(
        name="plate", time=ut.Time(end=0.3, frame_rate=10, max_step=0.002), gravity=(0.0, 0.0, 0.0),
        soft=ut.Soft(stepper=stepper, **volume), objects={"box": box, "plate": plate},
    )  # fmt: skip
    sim = ut.Simulation(scene)
    rows = [sim.step().ledger]
    while sim.time < 0.1:
        rows.append(sim.step().ledger)
    assert max(row["soft_contacts"] for row in rows) > 3
    change = np.abs(_momentum(rows[-1]) - _momentum(rows[0]))
    assert change[:3].max() < (1e-13 if solve == "single" else 1e-8)  # damping alone is solved to 1e-8
    assert change[3:].max() < (1e-8 if stepper == "leapfrog" else 1e-3)
    energy = np.array([row["energy"] for row in rows])
    assert np.diff(energy).max() < 1e-3 * energy[0] and energy[-1] < 0.7 * energy[0]
    assert sim.body("plate").velocity[1] > -0.1
    assert max(row["soft_volume_error"] for row in rows) < 5e-3


def test_a_ball_thrown_on_a_linearised_sheet_keeps_momentum(goes_on: Any) -> None:
    """Passes end before the solve does; what they leave over is not lost, and a saved run goes on with its bits."""
    scene = ut.Scene(
        name="sheet", time=ut.Time(end=0.3, frame_rate=10, max_step=0.005), gravity=(0.0, 0.0, 0.0),
        soft=ut.Soft(stepper="linearised"),
        objects={
            "sheet": ut.Cloth(size=(0.4, 0.4), position=(0.0, 0.0, 0.0), element_size=0.04, velocity=(0.1, 0.0, 0.0)),
            "ball": ut.RigidBody(
                shape=ut.Sphere(radius=0.08), position=(0.01, 0.1, 0.02), density=300.0, velocity=(0.0, -1.0, 0.0)
            ),
        },
    )  # fmt: skip
    sim = ut.Simulation(scene)
    rows = [sim.step().ledger]
    while sim.time < 0.12:
        rows.append(sim.step().ledger)
    assert max(row["soft_contacts"] for row in rows) >= 3
    momenta, energy = np.array([_momentum(row) for row in rows]), np.array([row["energy"] for row in rows])
    assert np.abs(momenta - momenta[0])[:, :3].max() < 1e-13
    assert np.diff(energy).max() < 1e-3 * energy[0] and energy[-1] < energy[0]
    assert sim.part(SoftPart).soft.v[:, 1].mean() < -0.3, "the ball takes the sheet along"
    goes_on(sim, 2)


def test_impulses_hold_their_rows_for_any_masses() -> None:
    """Nodes of 1 g to 1 kg and rows of three nodes on one free body: no row is approached, none pulls, friction stays
    within its cone, and momenta are kept."""
    rng = np.random.default_rng(4)
    world = SolidsWorld()
    world.add("plate", Box((1.0, 0.1, 1.0)), (0.0, -0.05, 0.0), density=3.0)
    world.bodies.derive_velocities()
    m, n = 9, 12
    soft = SoftBodies()
    x = np.stack([rng.uniform(-0.5, 0.5, n), np.zeros(n), rng.uniform(-0.5, 0.5, n)], axis=1)
    soft.add("nodes", x, 10.0 ** rng.uniform(-3, 0, n), [], np.zeros((0, 4), int), np.zeros((0, 3), int))
    nodes, weight = np.tile(np.arange(m)[:, None], (1, 4)), np.tile([1.0, 0.0, 0.0, 0.0], (m, 1))
    # the last row: a point of the body under a face of three nodes
    nodes[-1], weight[-1] = [n - 1, n - 1, n - 2, n - 3], [0.0, -0.2, -0.3, -0.5]
    sign = np.where(np.arange(m) < m - 1, -1.0, 1.0)
    normal = np.tile([0.0, 1.0, 0.0], (m, 1)) * -sign[:, None]
    rows = ImpulseRows(nodes, weight, np.zeros(m, int), sign, normal, np.zeros(m), np.full(m, 0.3), np.arange(m))
    v = rng.normal(size=(n, 3)) - [0.0, 1.0, 0.0]
    v_b, omega_b, bodies = np.zeros((1, 3)), np.zeros((1, 3)), world.bodies
    arm = rows.arm(soft.x, bodies)

    def momenta() -> np.ndarray:
        p = soft.mass[:, None] * v
        P = v_b[0] / bodies.inv_mass_b[0]
        L = omega_b[0] / bodies.inv_inertia_b[0] + np.cross(bodies.x_b[0], P)
        return np.concatenate([p.sum(axis=0) + P, np.cross(x, p).sum(axis=0) + L])

    before = momenta()
    impulse = sum(rows.exchange(soft.inv_mass, bodies, arm, v, v_b, omega_b) for _ in range(40))
    assert np.allclose(momenta(), before, atol=1e-12)
    u = np.einsum("ma,mai->mi", weight, v[nodes]) + sign[:, None] * (v_b + np.cross(omega_b[0], arm))
    assert np.einsum("mi,mi->m", u, normal).min() > -0.02
    press = np.einsum("mi,mi->m", impulse, normal)
    assert press.min() >= 0.0
    assert (np.linalg.norm(impulse - press[:, None] * normal, axis=1) <= 0.3 * press + 1e-12).all()
