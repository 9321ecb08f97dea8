"""Contacts of soft surfaces inside the implicit step: derivatives, and energy that never rises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.soft.implicit import Joined
from undertow.soft.touching import Touching, effective_mass, point_rows
from undertow.solids.soft_part import SoftPart


def _rows() -> tuple[Touching, np.ndarray, np.ndarray]:
    """Stencils of nodes, and of three nodes against points of two carriers; some press, some do not."""
    rng = np.random.default_rng(5)
    m, n = 12, 9
    nodes = np.array([rng.permutation(n)[:4] for _ in range(m)])
    weight = rng.uniform(0.1, 1.0, size=(m, 4)) * np.array([1.0, -1.0, -1.0, -1.0])
    weight[:, 1:] /= -weight[:, 1:].sum(axis=1)[:, None] / weight[:, :1]
    normal = rng.normal(size=(m, 3))
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    body = np.where(np.arange(m) < 6, -1, np.arange(m) % 2)
    weight[6:, 0] = 0.0
    rows = Touching(creep=0.3)
    rows.add(
        nodes,
        weight,
        normal,
        rng.normal(size=m),
        rng.uniform(1.0, 3.0, m),
        np.full(m, 0.5),
        body,
        rng.normal(size=(m, 3)),
    )
    rows.rub = rng.uniform(0.0, 1.0, m)
    return rows, rng.normal(size=(n, 3)), rng.normal(size=(2, 6))


def test_the_gradient_is_that_of_the_potential_and_its_diagonal_that_of_the_product() -> None:
    rows, v, w = _rows()
    free = np.ones_like(w)
    g, push = np.zeros_like(v), np.zeros_like(w)
    rows.add_gradient(v, w, free, g, push)
    none = np.zeros_like(v), np.zeros_like(w)
    rng = np.random.default_rng(0)
    for _ in range(5):
        dv, dw, h = rng.normal(size=v.shape), rng.normal(size=w.shape), 1e-6
        values = [rows.add_gradient(v + s * h * dv, w + s * h * dw, free, *none) for s in (-1, 1)]
        expected = float((g * dv).sum() + (push * dw).sum())
        assert (values[1] - values[0]) / (2 * h) == pytest.approx(expected, rel=1e-6, abs=1e-6)
    # the impulses on nodes and points: linear momentum is kept by every stencil of nodes
    rows.linearise(v, w)
    A = np.zeros((v.size + w.size, v.size + w.size))
    for i in range(len(A)):
        unit = np.zeros(len(A))
        unit[i] = 1.0
        out, turned = np.zeros_like(v), np.zeros_like(w)
        rows.add_product(unit[: v.size].reshape(v.shape), unit[v.size :].reshape(w.shape), free, out, turned)
        A[:, i] = np.concatenate([out.reshape(-1), turned.reshape(-1)])
    assert np.allclose(A, A.T) and np.linalg.eigvalsh(A).min() > -1e-12
    blocks, carried = np.zeros((len(v), 9)), np.zeros((2, 6, 6))
    rows.add_diagonal(blocks, carried, free)
    for i in range(len(v)):
        assert np.allclose(A[3 * i : 3 * i + 3, 3 * i : 3 * i + 3].reshape(-1), blocks[i])
    # without carriers given their points stand still
    still, none6 = np.zeros_like(v), np.zeros((0, 6))
    rows.add_product(v, none6, none6, still, none6.copy())
    assert np.allclose(still.reshape(-1), A[: v.size, : v.size] @ v.reshape(-1))
    for i in range(2):
        b = v.size + 6 * i
        assert np.allclose(A[b : b + 6, b : b + 6], carried[i])


def test_a_point_of_a_body_and_the_mass_behind_a_contact() -> None:
    arm, twist = np.array([[0.3, -0.2, 0.5]]), np.array([1.0, 2.0, 3.0, -0.4, 0.7, 0.1])
    assert np.allclose(point_rows(arm)[0] @ twist, twist[:3] + np.cross(twist[3:], arm[0]))
    # two equal masses that meet: half of one
    assert effective_mass(np.array([[1.0, -1.0]]), np.array([[2.0, 2.0]])) == pytest.approx(1.0)


def _pair(incompressible: bool, solve: Any = "sweeps") -> ut.Scene:
    """Boxes of few stiff elements that fly at each other, at a long step: dt^2 K / m = 50."""
    box = {
        "shape": ut.Box(size=(0.2, 0.2, 0.2)), "element_size": 0.1, "youngs_modulus": 2e5, "poisson_ratio": 0.45,
        "incompressible": incompressible, "damping": 1e-3,
    }  # fmt: skip
    return ut.Scene(
        name="pair", time=ut.Time(end=0.5, frame_rate=10, max_step=0.01), gravity=(0.0, 0.0, 0.0),
        soft=ut.Soft(volume_solve=solve),
        objects={
            "left": ut.SoftBody(position=(-0.13, 0.0, 0.0), velocity=(1.5, 0.0, 0.0), **box),
            "right": ut.SoftBody(
                position=(0.13, 0.03, 0.02), velocity=(-1.5, 0.0, 0.0),
                rotation=ut.Rotation(axis=(1, 0, 0), degrees=30.0), **box,
            ),
        },
    )  # fmt: skip


@pytest.mark.parametrize(("incompressible", "solve"), [(True, "sweeps"), (True, "single"), (False, "sweeps")])
def test_soft_solids_that_meet_do_not_gain_energy(incompressible: bool, solve: Any) -> None:
    """Impulses after the solve would crush them."""
    sim = ut.Simulation(_pair(incompressible, solve))
    rows = [sim.step().ledger for _ in range(16)]
    energy = np.array([row["energy"] for row in rows])
    assert max(row["soft_collisions"] for row in rows) > 3
    assert np.diff(energy).max() < 1e-3 * energy[0]
    assert abs(rows[-1]["momentum_x"]) < 1e-3 * 8.0 * 1.5
    assert max(row["soft_volume_error"] for row in rows) < 0.01
    assert sim.part(SoftPart).soft_solids.surfaces.crossings(sim.part(SoftPart).soft.x) == 0
    # it bounces: the contact stores what it stops
    assert sim.body("left").velocity[0] < -0.05 < 0.05 < sim.body("right").velocity[0]


def test_what_a_correction_would_let_meet_is_joined() -> None:
    """Surfaces that the velocity of the positions leads through each other, once each; the correction of volume then
    leaves them their velocity towards each other."""
    sim = ut.Simulation(_pair(True))
    sim.step()
    solids = sim.part(SoftPart).soft_solids
    soft, none = sim.part(SoftPart).soft, Joined()
    way = np.where(soft.x[:, :1] < 0, 8.0, -8.0) * np.array([1.0, 0.0, 0.0])
    joined = solids.touches.join_met(none, way)
    assert len(joined.nodes) > 3
    assert solids.touches.join_met(joined, way) is None
    assert solids.touches.join_met(none, 0.0 * way) is None
    squeezed, changes = way + 3.0 * np.sin(40.0 * soft.x), []
    for held in (none, joined):
        solids.rings.join(held)
        moved = squeezed.copy()
        solids.rings.correct(moved, 0.01)
        towards = np.einsum("ma,mai,mi->m", joined.weight, (moved - squeezed)[joined.nodes], joined.normal)
        changes.append(float(np.linalg.norm(towards)))
    assert changes[1] < 0.3 * changes[0]


def test_a_solid_alone_touches_itself() -> None:
    """The sides of a soft ring are thrown at each other through its hole: none passes, energy falls."""
    ring = ut.SoftBody(
        shape=ut.Torus(radius=0.2, tube=0.07), position=(0.0, 0.0, 0.0), element_size=0.07, youngs_modulus=2e4,
        damping=1e-3,
    )  # fmt: skip
    scene = ut.Scene(
        name="ring", time=ut.Time(end=1.0, frame_rate=10, max_step=0.005), gravity=(0.0, 0.0, 0.0),
        objects={"ring": ring},
    )  # fmt: skip
    sim = ut.Simulation(scene)
    soft, solids = sim.part(SoftPart).soft, sim.part(SoftPart).soft_solids
    soft.v[:, 0] = -12.0 * soft.x[:, 0]
    rows = []
    for _ in range(16):
        rows.append(sim.step().ledger)
        assert solids.surfaces.crossings(soft.x) == 0
    assert max(row["soft_collisions"] for row in rows) > 20
    assert np.diff([row["energy"] for row in rows]).max() < 0.0
    assert abs(rows[-1]["momentum_x"]) < 1e-12


def test_a_strip_slides_over_a_bar_that_its_friction_cannot_hold() -> None:
    """0.16 and 0.56 m hang down on either side, and exp(0.1 pi) = 1.4: the linearised step must let it go. Friction of
    normal impulses that nothing presses back held it where it was."""
    bar = ut.RigidBody(
        shape=ut.Cylinder(radius=0.15, length=1.0), rotation=ut.Rotation(axis=(1, 0, 0), degrees=90),
        position=(0, 0, 0), friction=0.1,
    )  # fmt: skip
    strip = ut.Cloth(
        size=(1.2, 0.1), position=(0.2, 0.152, 0.0), element_size=0.05, density=0.2, bending=1e-4, damping=0.01,
        friction=0.1, thickness=4e-3,
    )  # fmt: skip
    sim = ut.Simulation(
        ut.Scene(
            name="capstan",
            time=ut.Time(end=2.5, fixed_step=0.01),
            soft=ut.Soft(stepper="linearised", collisions=False),
            objects={"bar": bar, "strip": strip},
        )
    )
    sim.advance_to(2.5)
    # held, its middle would be 0.1 m below that of the bar; it has come down with the longer side
    assert sim.part(SoftPart).soft.x[:, 1].mean() < -0.2
