"""The fluid's momentum of the ledger in a closed tank is that of the volume that a body has on the grid."""

import numpy as np
import pytest

import undertow as ut


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize(("shape", "offset"), [("ball", 0.0), ("ball", 0.7), ("box", 0.3), ("box", 0.7)])
def test_it_is_the_displaced_volume_times_the_velocity(dimensions, offset, shape):
    n = 24 if dimensions == 2 else 16
    size = 8.0 / n
    form = ut.Sphere(radius=size / 2) if shape == "ball" else ut.Box(size=(size,) * dimensions)
    place = 0.5 + offset * np.array([1.0, 0.6, 0.3])[:dimensions] / n
    scene = ut.Scene(
        name="momentum", coupling="monolithic", gravity=(0.0,) * dimensions,
        domain=ut.Domain(upper=(1.0,) * dimensions, resolution=n), time=ut.Time(end=1.0, fixed_step=1e-4),
        fluid=ut.Fluid(density=1000.0, tolerance=1e-9),
        objects={"body": ut.RigidBody(shape=form, position=tuple(place), density=3000.0,
                                      velocity=(0.3, 0.2, 0.1)[:dimensions])},
    )  # fmt: skip
    sim = ut.Simulation(scene)
    # the ends of the ball lie on lines of the grid: once it has moved other cells have them, and what is seen after the
    # first step is between the velocities of two kicks, which are not those of the same cells
    sim.step()
    row, v = sim.step().ledger, sim.body("body").velocity
    covered = 1.0 - row["fluid_volume"]
    found = np.array([row[f"momentum_{axis}"] for axis in "xyz"[:dimensions]])
    assert np.allclose(found, -1000.0 * covered * v[:dimensions], rtol=1e-3)
