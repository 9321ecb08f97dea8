"""What water at rest does to bodies: the derivative of its potential energy, wherever they are in their cells."""

import numpy as np
import pytest

import undertow as ut
from undertow.geometry.body_surfaces import enclosed, plane_frame
from undertow.rigid.bodies import rotation_matrix_of
from undertow.validation.added_mass.case import submerged
from undertow.validation.floating_stability.case import arm, float_at, rest_angle
from undertow.validation.water_at_walls.case import force


@pytest.mark.parametrize(
    ("width", "share", "heel", "offset"), [(1.0, 0.25, 12.0, (0.0, 0.0)), (1.15, 0.5, 27.0, (0.37, 0.6))]
)
def test_righting_arm_of_a_box_is_exact(width: float, share: float, heel: float, offset: tuple[float, float]) -> None:
    assert arm(width, share, heel, 8, offset) == pytest.approx(float_at(width, share, heel)[1], abs=1e-10)


def test_angles_at_rest_are_those_of_metacentres() -> None:
    assert rest_angle(1.0, 0.19) == rest_angle(1.0, 0.81) == 0.0
    assert rest_angle(1.0, 0.23) == pytest.approx(19.49, abs=0.01)
    assert rest_angle(1.0, 0.77) == pytest.approx(19.49, abs=0.01)
    assert rest_angle(1.15, 0.5) == pytest.approx(27.39, abs=0.01)


def make(shape: ut.Sphere | ut.Compound | ut.Box, coupling: str = "monolithic", height: float = 0.5) -> ut.Simulation:
    """A tank of 3D water 0.5 m deep with a body of the density of water in it."""
    objects = {
        "pool": ut.Water(shape=ut.Plane(normal=(0.0, 1.0, 0.0)), position=(0.5, 0.5, 0.5)),
        "body": ut.RigidBody(
            shape=shape, position=(0.48, height, 0.53), density=1000.0,
            rotation=ut.Rotation(axis=(1.0, 2.0, 0.5), degrees=23.0),
        ),
    }  # fmt: skip
    domain = ut.Domain(upper=(1.0, 0.8, 1.0), resolution=20, resolution_along="x", sides={"y_high": "open"})
    time = ut.Time(end=1.0, frame_rate=20.0)
    fluid = ut.Fluid(density=1000.0)
    return ut.Simulation(
        ut.Scene(name="rest", coupling=coupling, domain=domain, time=time, fluid=fluid, objects=objects)
    )


def load(sim: ut.Simulation) -> np.ndarray:
    """Force and torque (6,) of the water at rest over rho g."""
    solve = sim.flow.solve
    found = np.zeros((solve.rigid.coupled.bodies.count, 6))
    solve.rigid.at_rest.impulse(1.0, found)
    return found[0] / (1000.0 * 9.81)


@pytest.mark.parametrize("coupling", ["monolithic", "lumped"])
def test_a_half_submerged_box_in_three_dimensions_carries_half_its_volume(coupling: str) -> None:
    found = load(make(ut.Box(size=(0.4, 0.3, 0.2)), coupling))
    assert found[1] == pytest.approx(0.5 * 0.4 * 0.3 * 0.2, rel=1e-9)
    assert abs(found[[0, 2]]).max() < 1e-12


def test_parts_of_a_compound_that_lie_inside_each_other_count_once() -> None:
    parts = tuple(
        ut.CompoundPart(shape=ut.Box(size=size), position=(0.0, 0.0, 0.0))
        for size in ((0.4, 0.1, 0.1), (0.1, 0.1, 0.4))
    )
    sim = make(ut.Compound(parts=parts), height=0.25)
    found = load(sim)
    assert found[1] == pytest.approx(0.4 * 0.01 + 0.3 * 0.01, rel=1e-9)
    assert abs(found[[0, 2]]).max() < 1e-12
    assert abs(found[3:]).max() < 1e-3 * found[1]


def test_chords_of_a_sphere_enclose_its_volume() -> None:
    sim = make(ut.Sphere(radius=0.15), height=0.25)
    surfaces = sim.flow.solve.rigid.at_rest.still._surfaces
    volume, centre = enclosed(surfaces.corners, surfaces.part, np.eye(3))
    assert volume == pytest.approx(4.0 / 3.0 * np.pi * 0.15**3, rel=1e-9)
    assert abs(centre).max() < 1e-9
    assert load(sim)[1] == pytest.approx(volume, rel=1e-9)


def test_a_body_on_the_floor_weighs_its_buoyant_weight() -> None:
    upright = ut.RigidBody(shape=ut.Box(size=(0.3, 0.2)), position=(0.5, 0.1), density=2000.0)
    pool = ut.Water(shape=ut.Plane(normal=(0.0, 1.0)), position=(0.5, 0.5))
    domain = ut.Domain(upper=(1.0, 0.8), resolution=20, resolution_along="x", sides={"y_high": "open"})
    scene = ut.Scene(
        name="floor",
        coupling="monolithic",
        domain=domain,
        time=ut.Time(end=1.0),
        fluid=ut.Fluid(density=1000.0),
        objects={"pool": pool, "body": upright},
    )
    assert load(ut.Simulation(scene))[1] == pytest.approx(0.3 * 0.2, rel=1e-6)


def test_added_mass_under_a_surface_is_that_under_an_open_top() -> None:
    offset = (0.37, 0.11, 0.0)
    assert submerged(8, 2, offset, surface=True) == pytest.approx(submerged(8, 2, offset, surface=False), rel=1e-4)


@pytest.mark.parametrize("kind", ["soft", "rigid"])
def test_water_that_begins_at_a_wall_pushes_it_from_the_first_step_on(kind: str) -> None:
    assert force(2.0, 0.3, kind, steps=3) == pytest.approx(1.0, abs=0.01)


def test_the_section_of_a_body_does_not_depend_on_how_it_has_turned_in_the_plane() -> None:
    rng = np.random.default_rng(3)
    for q in (*rng.normal(size=(20, 4)), np.array([0.0, 1.0, 0.0, 0.0])):
        rotation = rotation_matrix_of(q / np.linalg.norm(q))
        frame = plane_frame(rotation)
        assert np.allclose(frame @ frame.T, np.eye(3), atol=1e-12) and np.linalg.det(frame) > 0.0
        assert np.allclose(frame[2], rotation[2], atol=1e-8)
        turn = rotation_matrix_of(np.array([np.cos(0.4), 0.0, 0.0, np.sin(0.4)]))
        assert np.array_equal(plane_frame(turn @ rotation), frame)
