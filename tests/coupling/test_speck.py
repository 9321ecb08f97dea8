"""A soft speck in a far corner changes nothing of the rigid bodies beyond the tolerance of the solve."""

import numpy as np
import pytest

import undertow as ut

TOLERANCE = 1e-9


def pair(objects, dimensions=2, resolution=16, steps=6, gravity=10.0, fluid=None):
    """What the ledger of each step and the bodies say, without and with the speck."""
    upper = (1.0, 1.0, 1.0)[:dimensions]
    speck = ut.SoftBody(
        shape=ut.Box(size=(0.02,) * dimensions), element_size=0.02, position=(0.93, 0.95, 0.93)[:dimensions],
        density=1000.0, youngs_modulus=1e7,
    )  # fmt: skip
    found = []
    for more in ({}, {"speck": speck}):
        scene = ut.Scene(
            name="speck", coupling="monolithic", gravity=(0.0, -gravity, 0.0)[:dimensions],
            domain=ut.Domain(upper=upper, resolution=resolution, sides={"y_high": "open"}),
            time=ut.Time(end=1.0, frame_rate=100.0, fixed_step=0.01),
            fluid=ut.Fluid(density=1000.0, tolerance=TOLERANCE, **(fluid or {})), objects={**objects, **more},
        )  # fmt: skip
        sim = ut.Simulation(scene)
        rows = []
        for _ in range(steps):
            sim.step()
            rows.append(
                [
                    np.concatenate([body.position, body.velocity, body.angular_velocity])
                    for body in (sim.body(name) for name, item in objects.items() if isinstance(item, ut.RigidBody))
                ]
            )
        found.append(np.array(rows))
        if more:
            dense = sim.flow.solve.rigid.block
            assert not sim.flow.solve.nodes[0].block.member_b.any(), "no body is in the sparse block"
            assert np.abs(dense.inv_mass).max() > 0.0
    return found


def same(found, scale, bound=100.0):
    """Both are the same to ``bound`` times the tolerance, of the velocities there are."""
    alone, beside = found
    assert np.isfinite(alone).all()
    assert np.abs(alone[-1]).max() > 0.1 * scale
    assert np.abs(alone - beside).max() < bound * TOLERANCE * max(scale, np.abs(alone).max())


def test_a_body_of_a_billionth_of_the_density():
    ball = ut.RigidBody(shape=ut.Sphere(radius=0.13), position=(0.42, 0.4), density=1e-6)
    same(pair({"ball": ball}), 1.0)


def test_a_body_that_bounces():
    ball = ut.RigidBody(
        shape=ut.Sphere(radius=0.13), position=(0.42, 0.16), density=2e4, velocity=(0.2, -2.0), restitution=0.8
    )
    found = pair({"ball": ball})
    assert found[0][-1, 0, 4] > 0.5, "it goes up again"
    same(found, 1.0, 1e3)


def test_a_body_that_rolls_to_rest():
    ball = ut.RigidBody(
        shape=ut.Sphere(radius=0.13), position=(0.42, 0.13), density=2e4, velocity=(0.6, 0.0),
        angular_velocity=(0.0, 0.0, -0.6 / 0.13), friction=0.5, rolling_friction=0.02,
    )  # fmt: skip
    same(pair({"ball": ball}), 0.1, 1e3)


@pytest.mark.parametrize(("viscosity", "bound"), [(0.0, 1e3), (20.0, 1e6)])
def test_a_mechanism(viscosity, bound):
    """Two light boxes on hinges, the first at the world; and a box of its own beside them. Viscous fluid sticks to the
    speck, which is felt at its distance: 1e-4 of the velocities."""
    box = ut.Box(size=(0.12, 0.24))
    objects = {
        "upper": ut.RigidBody(shape=box, position=(0.4, 0.62), density=200.0, velocity=(0.3, 0.0)),
        "lower": ut.RigidBody(shape=box, position=(0.4, 0.34), density=3000.0),
        "free": ut.RigidBody(shape=box, position=(0.7, 0.4), density=500.0),
        "pin": ut.Joint(kind="hinge", child="upper", position=(0.4, 0.76)),
        "elbow": ut.Joint(kind="hinge", parent="upper", child="lower", position=(0.4, 0.48)),
    }
    same(pair(objects, fluid={"viscosity": viscosity}), 0.3, bound)


def test_in_space():
    """3D: a ball of a billionth of the density, and one that falls."""
    objects = {
        "light": ut.RigidBody(shape=ut.Sphere(radius=0.16), position=(0.32, 0.4, 0.5), density=1e-6),
        "heavy": ut.RigidBody(shape=ut.Box(size=(0.2, 0.2, 0.3)), position=(0.7, 0.5, 0.4), density=3000.0),
    }
    same(pair(objects, 3, 10, 3), 1.0)
