"""What water does to solids that move as prescribed: by their true surfaces, and no more than it loses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import undertow as ut

G = 10.0
DENSITY = 1000.0


def make(objects: dict[str, Any], cells: int, step: float | None = None, coupling: str = "none") -> ut.Simulation:
    scene = ut.Scene(
        name="held", gravity=(0.0, -G), objects=objects, coupling=coupling,
        domain=ut.Domain(upper=(1.0, 1.0), resolution=cells, resolution_along="x", sides={"y_high": "open"}),
        time=ut.Time(end=1.0, fixed_step=step), fluid=ut.Fluid(density=DENSITY, tolerance=1e-8),
    )  # fmt: skip
    return ut.Simulation(scene)


def pool(level: float, lean: float = 0.0) -> ut.Water:
    return ut.Water(shape=ut.Plane(normal=(lean, 1.0)), position=(0.5, level))


@pytest.mark.parametrize("joined", [True, False])
@pytest.mark.parametrize("offset", [0.0, 0.011, 0.02])
def test_the_weight_of_still_water_is_on_the_cup_that_holds_it(joined: bool, offset: float) -> None:
    """The outside of it is dry; its floor and walls are one body or three that stand on each other."""
    boxes = (((0.5, 0.12), (0.0, -0.06)), ((0.12, 0.42), (-0.25, 0.09)), ((0.12, 0.42), (0.25, 0.09)))
    x, y = 0.5 + offset, 0.3 + offset
    objects: dict[str, Any] = {
        f"part{n}": ut.RigidBody(shape=ut.Box(size=size), position=(x + at[0], y + at[1]))
        for n, (size, at) in enumerate(boxes)
    }
    if joined:
        parts = tuple(ut.CompoundPart(shape=ut.Box(size=size), position=at) for size, at in boxes)
        objects = {"cup": ut.RigidBody(shape=ut.Compound(parts=parts), position=(x, y))}
    water = ut.Water(shape=ut.Box(size=(0.5, 0.3)), position=(x, y + 0.05))
    sim = make({**objects, "water": water}, 32)
    sim.step()
    force = sum(sim.body(name).force for name in objects)
    assert force[1] == pytest.approx(-DENSITY * G * 0.38 * 0.2, rel=1e-4)
    assert abs(force[0]) < 1e-4 * abs(force[1])


def test_a_held_box_that_floats_feels_what_a_free_one_feels() -> None:
    """Force and torque of the water at rest, heeled by 20 degrees, at 8 cells per height."""
    found = []
    for density in (None, 500.0):
        box = ut.RigidBody(
            shape=ut.Box(size=(0.3, 0.2)), position=(0.51, 0.47), rotation=ut.Rotation(degrees=20.0), density=density
        )
        sim = make({"box": box, "pool": pool(0.5)}, 40, 1e-6, "monolithic" if density else "none")
        if density is None:
            sim.step()
            found.append([*sim.body("box").force[:2], sim.body("box").torque[2]])
        else:
            still = np.zeros((5, 6))[: sim.flow.solve.rigid.coupled.bodies.count]
            sim.flow.solve.rigid.at_rest.impulse(1.0, still)
            found.append([still[0, 0], still[0, 1], still[0, 5]])
    np.testing.assert_allclose(found[0], found[1], atol=2e-5 * DENSITY * G * 0.03)


def test_water_on_a_slope_weighs_on_it() -> None:
    """A half space: from the force on it alone the water cannot tell how far down it goes."""
    slope = ut.RigidBody(shape=ut.Plane(normal=(-0.3, 1.0)), position=(0.5, 0.2))
    sim = make({"slope": slope, "pool": pool(0.6)}, 20)
    sim.step()
    weight = DENSITY * G * 0.4
    np.testing.assert_allclose(sim.body("slope").force, (0.3 * weight, -weight, 0.0), rtol=1e-6)


def test_forces_on_solids_and_sides_are_what_the_water_loses() -> None:
    """Water under a tilted surface, from rest: the momentum that faces gain is that of its weight, less what the walls
    get. In water the first kick is one and a half steps."""
    dt = 1e-5
    held = {
        "ball": ut.RigidBody(shape=ut.Sphere(radius=0.08), position=(0.3, 0.35)),
        "bar": ut.RigidBody(shape=ut.Box(size=(0.3, 0.12)), position=(0.66, 0.25), rotation=ut.Rotation(degrees=-20.0)),
        "mast": ut.RigidBody(shape=ut.Box(size=(0.12, 0.6)), position=(0.13, 0.7), rotation=ut.Rotation(degrees=7.0)),
    }
    sim = make({**held, "pool": pool(0.6, 0.2)}, 40, dt)
    flow, dx = sim.flow, sim.flow.grid.dx
    weight = DENSITY * G * flow.extent.volume()
    sim.step()
    p = flow.state.p[flow.grid.interior][0]
    floor = p[0] + (p[0] != 0.0) * DENSITY * G * 0.5 * dx
    force = sum(sim.body(name).force for name in held)[:2] + dx * np.array(
        [p[:, -1].sum() - p[:, 0].sum(), -floor.sum()]
    )
    mass = np.divide(1.0, flow.phase.inv_mass_f, out=np.zeros_like(flow.state.u), where=flow.phase.inv_mass_f > 0.0)
    gained = (mass * flow.state.u).sum(axis=(1, 2, 3))[:2] / (1.5 * dt)
    np.testing.assert_allclose(gained / weight, -force / weight - (0.0, 1.0), atol=0.005)
    assert abs(gained[0]) > 0.05 * weight
