"""Bodies in viscous water under a surface: the step before the pressure sees what weight and pressure will do."""

import numpy as np
import pytest

import undertow as ut


def pool(thing, surface=True, viscosity=100.0, step=1.0 / 60.0, **changes):
    """A tank of 1 m, filled to 0.9 m, under a surface or with an open top there; a body in it."""
    objects = {"body": thing}
    if surface:
        objects["pool"] = ut.Water(shape=ut.Plane(normal=(0.0, 1.0)), position=(0.5, 0.9))
    fields = {
        "name": "pool",
        "coupling": "monolithic",
        "domain": ut.Domain(
            upper=(1.0, 1.0 if surface else 0.9), resolution=20, resolution_along="x",
            sides={} if surface else {"y_high": "open"},
        ),
        "time": ut.Time(end=1.0, fixed_step=step),
        "fluid": ut.Fluid(density=1000.0, viscosity=viscosity, tolerance=1e-7),
        "objects": objects,
    }  # fmt: skip
    return ut.Simulation(ut.Scene(**{**fields, **changes}))


def speed_of(sim, end=0.1):
    sim.advance_to(end)
    return float(sim.body("body").velocity[1])


def test_the_speed_does_not_depend_on_the_step():
    """A disc that sinks in 100 Pa s: steps of 1/60 and 1/480 s. Without a look ahead 0.297 and 0.248 m/s."""
    disc = ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.5, 0.5), density=3000.0)
    coarse, fine = (speed_of(pool(disc, step=step)) for step in (1 / 60, 1 / 480))
    assert coarse == pytest.approx(fine, rel=0.03)
    assert -0.25 < fine < -0.2


@pytest.mark.parametrize("degrees", [0.0, 90.0])
def test_a_thin_plate_sinks_as_in_a_full_tank(degrees):
    """Steel of 1 cm, upright and flat; without a surface fluid and shell have another solve. Flat 7% apart at 20 cells,
    2% at 40."""
    form = ut.Polyline(points=((0.0, -0.15), (0.0, 0.15)))
    plate = ut.RigidBody(
        shape=ut.Shell(form=form, thickness=0.01), position=(0.5, 0.5), rotation=ut.Rotation(degrees=degrees),
        density=8000.0,
    )  # fmt: skip
    speeds = [speed_of(pool(plate, surface)) for surface in (True, False)]
    assert speeds[0] == pytest.approx(speeds[1], rel=0.08)
    # without viscosity 0.98 and 0.20 m/s
    assert -0.25 < speeds[1] < -0.07


def test_thick_water_falls_as_thin_water_does():
    """What the pressure is expected to give is continued to the surface: no layer of it lags behind."""
    found = []
    for viscosity in (0.0, 1000.0):
        drop = {"drop": ut.Water(shape=ut.Sphere(radius=0.2), position=(0.5, 0.65))}
        sim = pool(None, viscosity=viscosity, step=0.01, coupling="none", objects=drop)
        for _ in range(10):
            sim.step()
        wet = sim.flow.solve.phase.inv_mass_f[1] > 0.0
        found.append(sim.state.u[1][wet])
        assert np.ptp(found[-1]) < 0.01 * np.abs(found[-1]).max()
    assert found[1].mean() == pytest.approx(found[0].mean(), rel=1e-3)


@pytest.mark.parametrize("kind", ["rigid", "soft"])
def test_what_rests_is_not_pushed_by_what_is_not_known_yet(kind):
    """A body on the floor of a still pool: before the first pressure nothing is expected, no weight and no contact."""
    fields = {"shape": ut.Box(size=(0.2, 0.2)), "position": (0.5, 0.1), "density": 3000.0}
    block = ut.RigidBody(**fields) if kind == "rigid" else ut.SoftBody(**fields, element_size=0.1, youngs_modulus=1e8)
    sim = pool(block)
    for _ in range(3):
        sim.step()
        assert np.abs(sim.state.u).max() < (1e-6 if kind == "rigid" else 2e-3)


def test_a_second_level_gives_no_push():
    """A disc afloat in the upper one of two pools: what is not known of the pressure is not that of one level. Not more
    moves than without viscosity."""
    shelf = ut.RigidBody(shape=ut.Box(size=(0.52, 0.1)), position=(0.25, 0.45))
    objects = {
        "body": ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.25, 0.7), density=500.0),
        "shelf": shelf,
        "wall": ut.RigidBody(shape=ut.Box(size=(0.08, 0.6)), position=(0.47, 0.7)),
        "upper": ut.Water(shape=ut.Box(size=(0.43, 0.2)), position=(0.215, 0.6)),
        "lower": ut.Water(shape=ut.Box(size=(1.0, 0.2)), position=(0.5, 0.1)),
    }
    found = []
    for viscosity in (0.0, 100.0):
        sim = pool(None, viscosity=viscosity, objects=objects)
        sim.step()
        found.append(float(np.abs(sim.body("body").velocity).max()))
    assert found[1] < found[0] + 1e-3


def test_it_goes_on_where_it_was(goes_on):
    """The last pressure is part of the state: the same bits after a checkpoint."""
    sim = pool(ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.5, 0.5), density=3000.0))
    for _ in range(3):
        sim.step()
    goes_on(sim, 2)


def test_the_drag_of_a_heavy_body_is_that_of_a_light_one():
    """Discs that coast through water: the heavier one's momentum is not what its drag is found to a part of.
    Relative to it the drag of the two was 554 and 88 N/m."""
    drags = []
    for density in (1e6, 1e8):
        disc = ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.5, 0.6), velocity=(0.0, -1.0), density=density)
        fluid = ut.Fluid(density=1000.0, viscosity=5.0, tolerance=1e-4)
        sim = pool(disc, gravity=(0.0, 0.0), fluid=fluid, step=1.0 / 120.0)
        mass, speeds = density * np.pi * 0.01, []
        for _ in range(16):
            sim.step()
            speeds.append(sim.body("body").velocity[1])
        drags.append(mass * (speeds[-1] - speeds[7]) * 15.0)
    assert drags[1] == pytest.approx(drags[0], rel=0.02)
