"""Mistakes with makers of waves, beaches and probes are answered with object, value, rule and remedy."""

import pytest

import undertow as ut
from undertow.errors import UserError
from undertow.scene import toml

WATER = {"type": "water", "shape": {"type": "plane", "normal": [0.0, 1.0]}, "position": [1.0, 0.5]}
REGULAR = {"type": "regular", "amplitude": 0.02, "period": 0.6}


def scene(maker=None, beach=None, water=WATER, **tables):
    objects = {"water": water} if water else {}
    if maker is not None:
        objects["maker"] = {"type": "wave_maker", "side": "x_low", "wave": REGULAR, **maker}
    if beach is not None:
        objects["beach"] = {"type": "beach", "side": "x_high", "length": 1.0, **beach}
    data = {
        "name": "waves", "domain": {"upper": [2.0, 1.0], "resolution": 32}, "time": {"end": 1.0}, "objects": objects,
        **tables,
    }  # fmt: skip
    return toml.scene_from_dict(data, "scene")


BAD = [
    ({"beach": {}, "water": None}, "objects.beach: waves need water with a surface; add"),
    ({"beach": {"side": "z_low"}}, "objects.beach.side = 'z_low': a 2D scene has no z sides"),
    ({"beach": {"side": "y_low"}}, "objects.beach.side = 'y_low': unknown choice"),
    ({"beach": {"length": 3.0}}, "objects.beach.length = 3: longer than the domain"),
    ({"beach": {"length": 1.5}, "maker": {"length": 1.0}}, "reaches into objects.maker; shorten one of them"),
    ({"beach": {"side": "x_low"}, "maker": {}}, "objects.maker lies there already; remove one"),
    ({"beach": {"level": 1.5}}, "objects.beach.level = 1.5: not inside the domain"),
    ({"beach": {}, "gravity": [1.0, -9.0]}, r"gravity = \[1.0, -9.0\] does not point along -y"),
    ({"maker": {"wave": {**REGULAR, "period": -1.0}}}, "objects.maker.wave.period = -1.0: must be positive"),
    ({"maker": {"wave": {"type": "choppy"}}}, "objects.maker.wave: unknown type 'choppy'"),
    (
        {"maker": {"wave": {"type": "irregular", "height": 0.1, "period": 1.0, "peakedness": 50.0}}},
        "peakedness = 50: must lie between 1 and 20",
    ),
    (
        {"maker": {"wave": {"type": "irregular", "spectrum": "pierson_moskowitz", "height": 0.1, "period": 1.0,
                            "peakedness": 2.0}}},
        "peakedness has no effect with spectrum = 'pierson_moskowitz'",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("given", "message"), BAD, ids=[m for _, m in BAD])
def test_mistakes_with_waves(given, message):
    with pytest.raises(UserError, match=message):
        scene(**given)


def test_a_beach_needs_a_wall():
    sides = {"domain": {"upper": [2.0, 1.0], "resolution": 32, "sides": {"x_high": "outflow"}}}
    with pytest.raises(UserError, match="objects.beach.side = 'x_high': is 'outflow'"):
        scene(beach={}, **sides)


STARTS = [
    ({"maker": {"wave": {**REGULAR, "amplitude": 0.2}}}, "break at 0.0.* m; lower it"),
    ({"maker": {"wave": {**REGULAR, "period": 5.0}}}, "longer than the domain"),
    ({"beach": {"length": 0.01}}, "objects.beach.length = 0.01: shorter than a cell"),
    (
        {"beach": {"length": 0.5}, "water": {**WATER, "shape": {"type": "box", "size": [0.5, 0.5]}}},
        "objects.beach: no surface of water in its region",
    ),
]


@pytest.mark.parametrize(("given", "message"), STARTS, ids=[m for _, m in STARTS])
def test_what_is_found_when_a_simulation_is_built(given, message):
    with pytest.raises(UserError, match=message):
        ut.Simulation(scene(**given))


def test_notes_tell_what_the_grid_leaves_out():
    sim = ut.Simulation(
        scene(maker={"length": 0.8, "wave": {"type": "irregular", "height": 0.02, "period": 0.8, "seed": 3}})
    )
    assert any("objects.maker: waves shorter than" in note for note in sim.notes)
    assert any("objects.maker.length = 0.8: less than one and a half wavelengths" in note for note in sim.notes)
