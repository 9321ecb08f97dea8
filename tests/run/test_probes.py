"""Gauges and pressure probes against formulas, on grids and among particles."""

import numpy as np
import pytest

import undertow as ut
from undertow.errors import UserError
from undertow.run.ledger import probe_rows
from undertow.run.sampling import surface_height, wetted_length

GRAVITY, DENSITY, LEVEL = 9.81, 1000.0, 0.47


def water(dimensions=2, **objects):
    normal = [0, 1, 0][:dimensions]
    return ut.Scene(
        name="probes", domain=ut.Domain(upper=[1.0] * dimensions, resolution=16), time=ut.Time(end=1.0),
        fluid=ut.Fluid(density=DENSITY, viscosity=0.0),
        objects={"water": ut.Water(shape=ut.Plane(normal=normal), position=[0.5, LEVEL, 0.5][:dimensions]), **objects},
        probes={
            "floor": ut.FaceProbe(position=[0.5, 0.0, 0.5][:dimensions], normal=normal, size=[0.2] * (dimensions - 1)),
            "wall": ut.FaceProbe(
                position=[0.0, 0.2, 0.5][:dimensions], normal=[2, 0, 0][:dimensions], size=[0.2] * (dimensions - 1)
            ),
            "dry": ut.FaceProbe(position=[1.0, 0.8, 0.5][:dimensions], normal=[-1, 0, 0][:dimensions],
                                size=[0.1, 0.1][: dimensions - 1]),
            "gauge": ut.GaugeProbe(position=[0.5, 0.1, 0.5][:dimensions]),
        },
    )  # fmt: skip


def values(sim):
    return {(row[2], row[4]): row[5] for row in probe_rows(sim)}


@pytest.mark.parametrize("dimensions", [2, 3])
def test_faces_feel_the_hydrostatic_pressure(dimensions):
    sim = ut.Simulation(water(dimensions))
    sim.step()
    found, whole = values(sim), DENSITY * GRAVITY
    assert np.isclose(found["floor", "pressure"], whole * LEVEL, rtol=1e-6)
    assert np.isclose(found["wall", "pressure"], whole * (LEVEL - 0.2), rtol=1e-6)
    assert found["dry", "pressure"] == 0.0
    assert np.isclose(found["gauge", "height"], LEVEL) and np.isclose(found["gauge", "wetted_length"], LEVEL)


def test_a_gauge_counts_what_is_wet_outside_solids():
    """A shelf of water above a pool, and a post in the pool: the highest surface and the wetted length differ."""
    sim = ut.Simulation(
        water(
            shelf=ut.Water(shape=ut.Box(size=[0.4, 0.2]), position=[0.5, 0.75]),
            post=ut.RigidBody(shape=ut.Box(size=[0.25, 0.25]), position=[0.5, 0.125]),
        )
    )
    assert np.isclose(surface_height(sim.flow, (0.5, 0.1)), 0.85, atol=1e-3)
    assert np.isclose(wetted_length(sim.flow, (0.5, 0.1)), 0.2 + LEVEL - 0.25, atol=2e-3)
    assert np.isclose(wetted_length(sim.flow, (0.1, 0.1)), LEVEL, atol=1e-12)


def particles(dimensions):
    normal = [0, 1, 0][:dimensions]
    edges = [0.1, 0.1][: dimensions - 1]
    return ut.Scene(
        name="sph", domain=ut.Domain(upper=[1.0, 1.0, 0.25][:dimensions], resolution=20), time=ut.Time(end=1.0),
        objects={"fluid": ut.SphFluid(shape=ut.Plane(normal=normal), position=[0.5, 0.5, 0.1][:dimensions])},
        probes={
            "floor": ut.FaceProbe(position=[0.5, 0.0, 0.125][:dimensions], normal=normal, size=edges),
            "wall": ut.FaceProbe(position=[0.0, 0.25, 0.125][:dimensions], normal=[1, 0, 0][:dimensions], size=edges),
            "dry": ut.FaceProbe(position=[1.0, 0.8, 0.125][:dimensions], normal=[-1, 0, 0][:dimensions], size=edges),
            "point": ut.PointProbe(position=[0.5, 0.25, 0.125][:dimensions], fields=["pressure", "density"]),
        },
    )  # fmt: skip


@pytest.mark.parametrize("dimensions", [2, 3])
def test_faces_among_particles_are_exact_for_a_linear_pressure(dimensions, monkeypatch):
    sim = ut.Simulation(particles(dimensions))
    fluid, whole = sim._sph(), DENSITY * GRAVITY
    monkeypatch.setattr(fluid, "pressures", lambda: whole * (0.5 - fluid.positions()[:, 1]))
    monkeypatch.setattr(fluid, "densities", lambda: np.full(len(fluid.positions()), DENSITY))
    found = values(sim)
    assert np.isclose(found["floor", "pressure"], whole * 0.5, rtol=1e-12)
    assert np.isclose(found["wall", "pressure"], whole * 0.25, rtol=1e-12)
    assert found["dry", "pressure"] == 0.0


def test_particles_at_rest_have_point_and_face_probes():
    sim = ut.Simulation(particles(2))
    sim.advance_to(0.5)
    found, whole = values(sim), DENSITY * GRAVITY
    assert np.isclose(found["floor", "pressure"], whole * 0.5, rtol=0.05)
    assert np.isclose(found["wall", "pressure"], whole * 0.25, rtol=0.05)
    assert np.isclose(found["point", "pressure"], whole * 0.25, rtol=0.08)
    assert np.isclose(found["point", "density"], DENSITY, rtol=0.05)


BAD = [
    ({"f": ut.FaceProbe(position=[0.0, 0.5], normal=[1, 0], size=[0.1, 0.1])}, "probes.f.size = .*2D scene has 1 edge"),
    ({"f": ut.FaceProbe(position=[0.0, 0.95], normal=[1, 0], size=[0.2])}, "probes.f: the point .* outside the domain"),
]


@pytest.mark.parametrize(("probes", "message"), BAD, ids=[m for _, m in BAD])
def test_faces_that_do_not_fit(probes, message):
    with pytest.raises(UserError, match=message):
        water().model_copy(update={"probes": probes})


def test_faces_need_a_direction_and_edges():
    with pytest.raises(UserError, match="normal must not be zero"):
        ut.FaceProbe(position=[0.0, 0.5], normal=[0, 0], size=[0.1])
    with pytest.raises(UserError, match=r"size = \[0.0\]: must be positive"):
        ut.FaceProbe(position=[0.0, 0.5], normal=[1, 0], size=[0.0])
    sim = ut.Simulation(water())
    with pytest.raises(UserError, match="wall_pressure: the normal is zero"):
        sim.wall_pressure([0.0, 0.5], [0.0, 0.0])


@pytest.mark.parametrize(
    ("probe", "message"),
    [
        (ut.GaugeProbe(position=[0.5, 0.5]), "a wave gauge reads a grid"),
        (ut.FluxProbe(axis="x", position=0.5), "flux counts faces of a grid"),
        (ut.PointProbe(position=[0.5, 0.5], fields=["vorticity"]), "particles have no 'vorticity'"),
    ],
)
def test_what_particles_have_not(probe, message):
    with pytest.raises(UserError, match=message):
        ut.Scene(
            name="sph", domain=ut.Domain(upper=[1.0, 1.0], resolution=20), time=ut.Time(end=1.0),
            objects={"fluid": ut.SphFluid(shape=ut.Plane(normal=[0, 1]), position=[0.5, 0.5])}, probes={"p": probe},
        )  # fmt: skip
