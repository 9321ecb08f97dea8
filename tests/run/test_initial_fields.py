"""Surfaces by their height and velocities by tables, for water and particles, against formulas."""

import numpy as np
import pytest

import undertow as ut
from undertow.errors import UserError
from undertow.scene import toml

SINE = ut.Heights(height=ut.HeightSine(mean=0.02, amplitude=0.05, wavelength=1.0, phase=0.3))
X = [0.0, 0.25, 0.5, 0.75, 1.0]
TABLE = ut.Heights(height=ut.HeightTable(x=[x - 0.5 for x in X], values=[0.1, 0.0, 0.05, 0.1, -0.1]))


def water(shape, resolution=64, **values):
    return ut.Scene(
        name="start", domain=ut.Domain(upper=[1.0, 1.0], resolution=resolution), time=ut.Time(end=1.0),
        fluid=ut.Fluid(density=1000.0, viscosity=0.0), surface=ut.Surface(particles=False),
        objects={"water": ut.Water(shape=shape, position=[0.5, 0.5], **values)},
    )  # fmt: skip


def heights(sim):
    phi = np.asarray(sim.field("level_set"))[0]
    top = np.argmax(phi > 0.0, axis=0) - 1
    n = np.arange(phi.shape[1])
    return (top + 0.5 + phi[top, n] / (phi[top, n] - phi[top + 1, n])) / phi.shape[1]


def test_water_starts_under_a_sine():
    sim = ut.Simulation(water(SINE))
    x = (np.arange(64) + 0.5) / 64
    assert np.abs(heights(sim) - (0.52 + 0.05 * np.sin(2 * np.pi * (x - 0.5) + 0.3))).max() < 2e-4
    assert np.isclose(sim.flow.extent.volume(), 0.52, rtol=1e-3)


def test_water_starts_under_a_table():
    sim = ut.Simulation(water(TABLE))
    x = (np.arange(64) + 0.5) / 64
    wanted = 0.5 + np.interp(x, X, [0.1, 0.0, 0.05, 0.1, -0.1])
    assert np.abs(heights(sim) - wanted)[2:-2].max() < 3e-3


def test_water_in_3d_starts_under_a_table_of_two_axes():
    table = ut.HeightTable(x=[0.0, 1.0], z=[0.0, 0.5, 1.0], values=[[0.0, 0.1], [0.1, 0.2], [0.1, 0.2]])
    sim = ut.Simulation(
        ut.Scene(
            name="start", domain=ut.Domain(upper=[1.0, 1.0, 1.0], resolution=16), time=ut.Time(end=1.0),
            objects={"water": ut.Water(shape=ut.Heights(height=table), position=[0.0, 0.4, 0.0])},
        )
    )  # fmt: skip
    # mean of 0.4 + x / 10 + min(2 z, 1) / 10
    assert np.isclose(sim.flow.extent.volume(), 0.4 + 0.05 + 0.075, rtol=2e-3)


def test_particles_start_under_a_sine():
    scene = ut.Scene(
        name="start", domain=ut.Domain(upper=[1.0, 1.0], resolution=40), time=ut.Time(end=1.0),
        objects={"fluid": ut.SphFluid(shape=SINE, position=[0.5, 0.5])},
    )  # fmt: skip
    place = ut.Simulation(scene).particles.position
    assert len(place) / 1600 == pytest.approx(0.52, rel=0.01)
    # the compression to the density of their depth moves them by less than a tenth of a spacing
    assert (place[:, 1] < 0.52 + 0.05 * np.sin(2 * np.pi * (place[:, 0] - 0.5) + 0.3) + 0.003).all()


ROTATION = ut.VelocityTable(x=[0.0, 1.0], y=[0.0, 1.0], values=[[[0.5, -0.5], [0.5, 0.5]], [[-0.5, -0.5], [-0.5, 0.5]]])
"""(0.5 - y, x - 0.5)."""


def test_water_starts_with_a_field_of_velocities():
    sim = ut.Simulation(water(ut.Box(size=[2.0, 0.9]), 32, velocity_field=ROTATION))
    u = sim.flow.state.u
    grid = sim.grid
    for axis in (0, 1):
        x, y, _ = np.broadcast_arrays(*grid.face_centres(axis))
        inside = (y < 0.9) & (y > 0.1) & (x > 0.05) & (x < 0.95)
        wanted = (0.5 - y, x - 0.5)[axis]
        assert np.abs(u[axis][grid.interior_faces(axis)] - wanted)[inside].max() < 1e-14


def test_particles_start_with_a_field_of_velocities():
    scene = ut.Scene(
        name="start", domain=ut.Domain(upper=[1.0, 1.0], resolution=20), gravity=[0.0, 0.0], time=ut.Time(end=1.0),
        objects={"fluid": ut.SphFluid(shape=ut.Sphere(radius=0.3), position=[0.5, 0.5], velocity_field=ROTATION)},
    )  # fmt: skip
    particles = ut.Simulation(scene).particles
    x, y = particles.position[:, 0], particles.position[:, 1]
    assert np.abs(particles.velocity[:, :2] - np.column_stack([0.5 - y, x - 0.5])).max() < 1e-12


def test_a_table_that_varies_along_one_axis_is_even_along_the_others():
    field = ut.VelocityTable(y=[0.2, 0.4], values=[[1.0, 0.0], [3.0, 0.0]])
    sim = ut.Simulation(water(ut.Box(size=[2.0, 0.5]), 16, velocity_field=field))
    u = sim.flow.state.u[0][3, 3:19, 10]
    y = (np.arange(16) + 0.5) / 16
    assert np.allclose(u[5:10], np.interp(y, [0.2, 0.4], [1.0, 3.0])[5:10])


def test_scenes_with_tables_are_written_and_read_back():
    scene = water(TABLE, velocity_field=ROTATION)
    assert toml.read(toml.write(scene), "again") == scene


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ut.HeightTable(x=[0.0, 0.0], values=[1.0, 2.0]), "x must increase"),
        (lambda: ut.HeightTable(x=[0.0], values=[1.0]), "needs at least two places; leave x out"),
        (lambda: ut.HeightTable(x=[0.0, 1.0], values=[1.0]), "must be 2 numbers, one height for each place"),
        (lambda: ut.HeightTable(x=[0.0, 1.0], z=[0.0, 1.0], values=[[1.0, 2.0], [1.0]]), "must be equally long"),
        (lambda: ut.HeightTable(x=[0.0, 1.0], values=[1.0, "a"]), "must be a number, or lists of numbers"),
        (lambda: ut.VelocityTable(values=[[0.0, 1.0]]), "needs x, y or z; give velocity"),
        (lambda: ut.VelocityTable(x=[0.0, 1.0], values=[[0.0, 1.0]]), "must be 2 velocities of two"),
        (lambda: water(SINE, velocity=[1.0, 0.0], velocity_field=ROTATION), "give one of them"),
        (
            lambda: water(SINE, velocity_field=ut.VelocityTable(x=[0, 1], values=[[0, 0, 0], [0, 0, 1]])),
            "velocities of 3 components in a 2D scene",
        ),
        (
            lambda: water(ut.Heights(height=ut.HeightSine(amplitude=0.1, wavelength=1.0, along="z"))),
            "objects.water.shape.height.along = 'z': a 2D scene has no z",
        ),
        (
            lambda: water(ut.Heights(height=ut.HeightTable(x=[0, 1], z=[0, 1], values=[[0, 0], [0, 0]]))),
            "objects.water.shape.height.z: a 2D scene has no z",
        ),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(UserError, match=message):
        make()


def test_the_block_that_is_drawn_is_closed_and_wound_outward():
    from undertow.geometry import Below
    from undertow.geometry.moments import integrate_mesh

    block = Below(lambda x, z: 0.1 * np.sin(x), extent=1.0)
    vertices, triangles = block.surface(8)
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    assert {tuple(edge) for edge in edges} == {tuple(edge[::-1]) for edge in edges}
    assert integrate_mesh(vertices, triangles)[0] == pytest.approx(4.0 * (1.0 + vertices[:81, 1].max()), rel=0.02)
